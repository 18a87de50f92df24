//! The facts that exist now: name, type, where each may be read, and whether a rule that releases may trust it (FACT-01).

use super::value::Value;

/// The type of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactType {
    /// A truth.
    Bool,
    /// A whole number.
    Int,
    /// A text.
    Text,
    /// A list of texts.
    List,
    /// A length of time.
    Duration,
    /// A point in time.
    Time,
}

impl FactType {
    /// The word in files and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Text => "string",
            Self::List => "list",
            Self::Duration => "duration",
            Self::Time => "timestamp",
        }
    }

    /// What a fact of this type reads as while it has no value (FACT-05).
    #[must_use]
    pub fn zero(self) -> Value {
        match self {
            Self::Bool => Value::Bool(false),
            Self::Int => Value::Int(0),
            Self::Text => Value::Text(String::new()),
            Self::List => Value::List(Vec::new()),
            Self::Duration => Value::Duration(jiff::SignedDuration::ZERO),
            Self::Time => Value::Time(jiff::Timestamp::UNIX_EPOCH),
        }
    }
}

/// A place in a file where facts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// An intent's `[action]`.
    Action,
    /// A rule of an approval table, and a view over gates.
    Gate,
    /// The title of a session and the name of a workspace.
    Name,
    /// An intent's `[record]` and `[[also_profile]]`.
    Turn,
    /// A workflow's `when`, `key`, `ask` and step arguments.
    Workflow,
}

impl Slot {
    /// How messages call it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Action => "an intent's action",
            Self::Gate => "an approval rule",
            Self::Name => "a title or a workspace's name",
            Self::Turn => "a turn's records and texts",
            Self::Workflow => "a workflow on pull requests",
        }
    }
}

/// One row of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The dotted name.
    pub name: &'static str,
    /// Its type.
    pub kind: FactType,
    /// Where it may be read.
    pub slots: &'static [Slot],
    /// Whether no rule that releases may read it (APPR-38).
    pub untrusted: bool,
}

const fn row(name: &'static str, kind: FactType, slots: &'static [Slot], untrusted: bool) -> Known {
    Known { name, kind, slots, untrusted }
}

/// Every fact that exists now, sorted by name.
#[rustfmt::skip]
pub const KNOWN: &[Known] = &[
    row("config.plugins.github.address_checks", FactType::Bool, &[Slot::Action, Slot::Turn], false),
    row("config.plugins.github.address_reviews", FactType::Bool, &[Slot::Action, Slot::Turn], false),
    row("config.plugins.github.address_without_workspace", FactType::Bool, &[Slot::Action, Slot::Turn], false),
    row("config.plugins.github.followups_without_workspace", FactType::Bool, &[Slot::Action, Slot::Turn], false),
    row("gate.kind", FactType::Text, &[Slot::Gate], false),
    row("gate.name", FactType::Text, &[Slot::Gate], false),
    row("pr.address.checks", FactType::List, &[Slot::Turn, Slot::Workflow], true),
    row("pr.address.conflict", FactType::Bool, &[Slot::Turn, Slot::Workflow], true),
    row("pr.address.due", FactType::Bool, &[Slot::Workflow], true),
    row("pr.address.observed", FactType::Bool, &[Slot::Workflow], true),
    row("pr.address.reason", FactType::Text, &[Slot::Workflow], true),
    row("pr.address.reviewers", FactType::List, &[Slot::Turn, Slot::Workflow], true),
    row("pr.adopted", FactType::Bool, &[Slot::Action, Slot::Workflow], false),
    row("pr.age", FactType::Duration, &[Slot::Workflow], false),
    row("pr.association", FactType::Text, &[Slot::Turn, Slot::Workflow], false),
    row("pr.author", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.base", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.changed_files", FactType::Int, &[Slot::Workflow], false),
    row("pr.checks", FactType::Text, &[Slot::Workflow], false),
    row("pr.closed_at", FactType::Time, &[Slot::Workflow], false),
    row("pr.conflicting_for", FactType::Duration, &[Slot::Workflow], false),
    row("pr.cross_repository", FactType::Bool, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.draft", FactType::Bool, &[Slot::Action, Slot::Workflow], false),
    row("pr.ended", FactType::Bool, &[Slot::Workflow], false),
    row("pr.fingerprint", FactType::Text, &[Slot::Workflow], true),
    row("pr.finished_for", FactType::Duration, &[Slot::Workflow], false),
    row("pr.first.due", FactType::Bool, &[Slot::Workflow], true),
    row("pr.first.reason", FactType::Text, &[Slot::Workflow], true),
    row("pr.has_workspace", FactType::Bool, &[Slot::Workflow], false),
    row("pr.head", FactType::Text, &[Slot::Workflow], false),
    row("pr.held", FactType::Bool, &[Slot::Action, Slot::Workflow], false),
    row("pr.labels", FactType::List, &[Slot::Turn, Slot::Workflow], false),
    row("pr.last_interaction_at", FactType::Time, &[Slot::Workflow], false),
    row("pr.last_review.decision", FactType::Text, &[Slot::Turn, Slot::Workflow], false),
    row("pr.last_review.exists", FactType::Bool, &[Slot::Turn, Slot::Workflow], false),
    row("pr.last_review.verdict", FactType::Text, &[Slot::Turn, Slot::Workflow], false),
    row("pr.merged_at", FactType::Time, &[Slot::Workflow], false),
    row("pr.mine", FactType::Bool, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.nudge.refusal", FactType::Text, &[Slot::Action, Slot::Workflow], false),
    row("pr.nudge.who", FactType::List, &[Slot::Action, Slot::Workflow], false),
    row("pr.nudge.why", FactType::Text, &[Slot::Action, Slot::Workflow], false),
    row("pr.open_turn", FactType::Text, &[Slot::Workflow], true),
    row("pr.open_turn_seq", FactType::Int, &[Slot::Workflow], true),
    row("pr.orphan_answer_id", FactType::Int, &[Slot::Workflow], true),
    row("pr.owner", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.repo", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.repo_name", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.requested_teams", FactType::List, &[Slot::Turn, Slot::Workflow], false),
    row("pr.review.action", FactType::Text, &[Slot::Workflow], true),
    row("pr.review.observed", FactType::Bool, &[Slot::Workflow], true),
    row("pr.review.reason", FactType::Text, &[Slot::Workflow], true),
    row("pr.review_requested_me", FactType::Bool, &[Slot::Action, Slot::Workflow], false),
    row("pr.silent_days", FactType::Int, &[Slot::Workflow], false),
    row("pr.slug", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.stale", FactType::Bool, &[Slot::Workflow], false),
    row("pr.stalled", FactType::Bool, &[Slot::Workflow], false),
    row("pr.state", FactType::Text, &[Slot::Action, Slot::Turn, Slot::Workflow], false),
    row("pr.visibility", FactType::Text, &[Slot::Turn, Slot::Workflow], false),
    row("pr.waits_on_user", FactType::Bool, &[Slot::Workflow], true),
    row("row.author_workspace", FactType::Bool, &[Slot::Action], false),
    row("row.capped", FactType::Bool, &[Slot::Action], false),
    row("row.intake", FactType::Bool, &[Slot::Action], false),
    row("row.intake_seq", FactType::Int, &[Slot::Action], false),
    row("row.kind", FactType::Text, &[Slot::Action], false),
    row("row.open", FactType::Bool, &[Slot::Action], false),
    row("row.pending", FactType::Bool, &[Slot::Action], false),
    row("row.question", FactType::Bool, &[Slot::Action], false),
    row("row.recommended", FactType::Text, &[Slot::Action], false),
    row("row.remove_refusal", FactType::Text, &[Slot::Action], false),
    row("row.review_workspace", FactType::Bool, &[Slot::Action], false),
    row("row.tracked", FactType::Bool, &[Slot::Action], false),
    row("row.trust_folder", FactType::Text, &[Slot::Action], false),
    row("row.trust_homes", FactType::List, &[Slot::Action], false),
    row("row.yours", FactType::Bool, &[Slot::Action], false),
    row("session.started", FactType::Time, &[Slot::Name], false),
    row("session.title", FactType::Text, &[Slot::Name], false),
    row("trigger.event.data", FactType::Text, &[Slot::Workflow], true),
    row("trigger.event.id", FactType::Int, &[Slot::Workflow], false),
    row("trigger.event.key", FactType::Text, &[Slot::Workflow], false),
    row("trigger.event.kind", FactType::Text, &[Slot::Workflow], false),
    row("trigger.fired_at", FactType::Time, &[Slot::Workflow], false),
    row("trigger.kind", FactType::Text, &[Slot::Workflow], false),
    row("turn.automated", FactType::Bool, &[Slot::Turn], false),
    row("turn.needs_take_over", FactType::Bool, &[Slot::Turn], false),
    row("turn.owned", FactType::Bool, &[Slot::Turn], false),
    row("turn.planned", FactType::Text, &[Slot::Turn], false),
    row("turn.resume", FactType::Bool, &[Slot::Turn], false),
    row("turn.stage", FactType::Text, &[Slot::Turn], false),
    row("turn.try", FactType::Bool, &[Slot::Turn], false),
    row("unit.label", FactType::Text, &[Slot::Name], false),
    row("unit.ref", FactType::Text, &[Slot::Turn], false),
    row("workspace.name", FactType::Text, &[Slot::Name], false),
];

/// The row of that name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    place(name).and_then(|at| KNOWN.get(at))
}

/// The place of that name's row in [`KNOWN`].
#[must_use]
pub fn place(name: &str) -> Option<usize> {
    KNOWN.binary_search_by(|row| row.name.cmp(name)).ok()
}

/// The name among `names` that is nearest to `given`, when one is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (given.chars().count() / 3).clamp(1, 3);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, name)| name)
}
