//! Approval tables and the one function that decides by them (APPR). The answer carries its own explanation.

mod draft;
mod overlay;

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

pub use self::draft::{DraftAsked, Origin, decide_draft};
pub use self::overlay::{ApprovalOverlay, ModeWord, dropped_kinds, hints, overlay};
use super::predicate::Predicate;
use super::registry::{KNOWN, Provider, known};
use super::value::{Facts, Value, to_json};
use crate::gate::GateKind;

/// What an approval does with a gate (APPR-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It waits for the person (APPR-08).
    Wait,
    /// It is released after this time unless the person decides before (APPR-09).
    Delay(SignedDuration),
    /// It is released at once (APPR-10).
    Send,
    /// The same as [`Mode::Send`]; the word as it was written is kept.
    Run,
    /// A draft is dropped at once and kept as what would have been sent (APPR-11).
    DryRun,
}

impl Mode {
    /// The words a file may write.
    pub const WORDS: [&'static str; 5] = ["wait", "delay", "send", "run", "dry_run"];

    /// The word in files and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Delay(_) => "delay",
            Self::Send => "send",
            Self::Run => "run",
            Self::DryRun => "dry_run",
        }
    }

    /// Whether a gate is released by it without the person.
    #[must_use]
    pub fn releases(self) -> bool {
        match self {
            Self::Delay(_) | Self::Send | Self::Run => true,
            Self::Wait | Self::DryRun => false,
        }
    }

    /// The window of a delay.
    #[must_use]
    pub fn window(self) -> Option<SignedDuration> {
        match self {
            Self::Delay(window) => Some(window),
            Self::Wait | Self::Send | Self::Run | Self::DryRun => None,
        }
    }
}

/// One rule of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The table it was written in; an overlay's rules keep their own (RES-04).
    pub table: String,
    /// When it holds.
    pub when: Predicate,
    /// What it does.
    pub mode: Mode,
}

impl Rule {
    /// Whether it is for gates of this kind: its pins admit the kind, and a rule that reads facts of a draft is for drafts alone
    /// (APPR-14, APPR-15, APPR-16).
    #[must_use]
    pub fn reaches(&self, kind: GateKind) -> bool {
        self.when.reaches(kind) && (kind == GateKind::Draft || !self.when.reads().iter().any(|fact| fact.starts_with("draft.")))
    }

    /// The providers whose units it reads facts of; a rule that loads has one at most (APPR-19).
    pub fn providers(&self) -> impl Iterator<Item = Provider> {
        self.when.reads().iter().filter_map(|fact| known(fact)?.provider())
    }

    /// The delivery that it names in the form that lets a post out: a top-level term `draft.delivery == "…"` (APPR-54).
    #[must_use]
    pub fn names_delivery(&self) -> Option<&str> {
        self.when.pinned("draft.delivery")
    }
}

/// An approval table, checked (APPR-02).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApprovalTable {
    /// Where it was written, such as `gates.toml` or `workflows/review`.
    pub name: String,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
    /// What it does where no rule holds.
    pub mode: Option<Mode>,
    /// Why it cannot be used after an overlay was laid over it; every gate it would decide waits (APPR-50).
    pub broken: Option<String>,
}

impl ApprovalTable {
    /// A table that decides nothing.
    #[must_use]
    pub fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Whether it names a draft gate: it has a mode, or a rule that reaches draft gates (APPR-20).
    #[must_use]
    pub fn names_draft_gate(&self) -> bool {
        self.mode.is_some() || self.broken.is_some() || self.rules.iter().any(|rule| rule.reaches(GateKind::Draft))
    }
}

/// Which part of the tables decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecidedBy {
    /// A rule.
    Rule {
        /// The table it stands in.
        table: String,
        /// Its place, from 0.
        index: usize,
        /// Its `when`.
        when: String,
        /// The delivery that it names in the form that lets a post out (APPR-54).
        delivery: Option<String>,
    },
    /// A table's own mode, or a table that cannot be used.
    Table {
        /// The table.
        table: String,
    },
    /// No table: the gate waits.
    Default,
}

/// What became of one rule, or of a table's mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It decided.
    Held,
    /// Its `when` is false.
    DidNotHold,
    /// It is not meant for this gate, and why.
    PassedOver(String),
    /// It could not be evaluated, and why (CEL-07).
    Failed(String),
}

/// One step of the way to a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainStep {
    /// The table.
    pub table: String,
    /// The rule's place, from 0; `None` for the table's mode.
    pub index: Option<usize>,
    /// The rule's `when`; empty for the table's mode.
    pub when: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What the tables say about one gate, with how they came to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is to be done.
    pub mode: Mode,
    /// Who said so.
    pub by: DecidedBy,
    /// Every rule and mode that was looked at, in order.
    pub steps: Vec<ExplainStep>,
    /// The facts that were read, with their values.
    pub facts: BTreeMap<String, Value>,
    /// Why it waits although a rule or a mode would release it (APPR-53 to APPR-60).
    pub floor: Option<String>,
}

impl Decision {
    /// The name a resolution records (RES-04): `workflows/review#1` for a table's first rule, `gates.toml` for anything of that
    /// file, the table's name for its mode, `default` where nothing decided.
    #[must_use]
    pub fn rule_name(&self) -> String {
        match &self.by {
            DecidedBy::Rule { table, .. } | DecidedBy::Table { table } if table == GATES_TOML => GATES_TOML.to_owned(),
            DecidedBy::Rule { table, index, .. } => format!("{table}#{}", index + 1),
            DecidedBy::Table { table } => table.clone(),
            DecidedBy::Default => "default".to_owned(),
        }
    }

    /// The decision as data, for `explain` and for the row of the gate: `mode`, `window_ms`, `by`, `when`,
    /// `steps`, `facts`, `floor`.
    #[must_use]
    pub fn explanation(&self) -> serde_json::Value {
        let steps: Vec<_> = self
            .steps
            .iter()
            .map(|step| {
                let (outcome, why) = match &step.outcome {
                    Outcome::Held => ("held", ""),
                    Outcome::DidNotHold => ("did_not_hold", ""),
                    Outcome::PassedOver(why) => ("passed_over", why.as_str()),
                    Outcome::Failed(why) => ("failed", why.as_str()),
                };
                json!({
                    "table": step.table, "rule": step.index.map(|i| i + 1), "when": step.when, "outcome": outcome, "why": why,
                })
            })
            .collect();
        let when = match &self.by {
            DecidedBy::Rule { when, .. } => when.as_str(),
            DecidedBy::Table { .. } | DecidedBy::Default => "",
        };
        let facts: serde_json::Map<_, _> = self.facts.iter().map(|(name, value)| (name.clone(), to_json(value))).collect();
        json!({
            "mode": self.mode.as_str(),
            "window_ms": self.mode.window().map(|w| i64::try_from(w.as_millis()).unwrap_or(i64::MAX)),
            "by": self.rule_name(), "when": when, "steps": steps, "facts": facts, "floor": self.floor,
        })
    }
}

/// The name of the table of `gates.toml`.
pub const GATES_TOML: &str = "gates.toml";

/// A gate about which the tables are asked.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "facts have no one form to be shown in")]
pub struct Asked<'a> {
    /// Its kind.
    pub kind: GateKind,
    /// Its name.
    pub name: &'a str,
    /// The provider of its unit.
    pub provider: Provider,
    /// The facts of its unit.
    pub facts: &'a dyn Facts,
    /// Why the facts of its unit cannot be read, where they cannot: rules that need one leave the gate to the person (APPR-36).
    pub unreadable: Option<&'a str>,
}

/// Decides a gate that opens, or one whose window has ended: the tables in order, in each its rules in order, then its mode
/// (APPR-03). What nothing decides waits. A kind that only the person may release waits whatever a table says.
///
/// A rule that cannot be evaluated matches nothing, and so that no later rule releases what it may have meant to hold, the gate
/// waits (CEL-07, APPR-36).
pub fn decide(asked: &Asked<'_>, tables: &[&ApprovalTable], now: Timestamp) -> Decision {
    let facts = GateFacts { kind: asked.kind, name: asked.name, rest: asked.facts };
    let mut trail = Trail { asked, steps: Vec::new(), facts: BTreeMap::new() };
    for table in tables {
        if let Some(why) = &table.broken {
            trail.step(&table.name, None, "", Outcome::Failed(why.clone()));
            return trail.end(Mode::Wait, DecidedBy::Table { table: table.name.clone() });
        }
        for (index, rule) in table.rules.iter().enumerate() {
            let outcome = trail.try_rule(rule, &facts, now);
            trail.step(&rule.table, Some(index), rule.when.text(), outcome.clone());
            let by = || DecidedBy::Rule {
                table: rule.table.clone(),
                index,
                when: rule.when.text().to_owned(),
                delivery: rule.names_delivery().map(str::to_owned),
            };
            match outcome {
                Outcome::Held => return trail.end(rule.mode, by()),
                Outcome::Failed(_) => return trail.end(Mode::Wait, by()),
                Outcome::DidNotHold | Outcome::PassedOver(_) => {}
            }
        }
        match table.mode {
            None => {}
            Some(Mode::DryRun) if asked.kind != GateKind::Draft => {
                trail.step(&table.name, None, "", Outcome::PassedOver(dry_run_is_for_drafts(asked.kind)));
            }
            Some(mode) => {
                trail.step(&table.name, None, "", Outcome::Held);
                return trail.end(mode, DecidedBy::Table { table: table.name.clone() });
            }
        }
    }
    trail.end(Mode::Wait, DecidedBy::Default)
}

fn dry_run_is_for_drafts(kind: GateKind) -> String {
    format!("`dry_run` is for draft gates, and this is a {} gate", kind.as_str())
}

struct Trail<'a> {
    asked: &'a Asked<'a>,
    steps: Vec<ExplainStep>,
    facts: BTreeMap<String, Value>,
}

impl Trail<'_> {
    fn step(&mut self, table: &str, index: Option<usize>, when: &str, outcome: Outcome) {
        self.steps.push(ExplainStep { table: table.to_owned(), index, when: when.to_owned(), outcome });
    }

    fn try_rule(&mut self, rule: &Rule, facts: &GateFacts<'_>, now: Timestamp) -> Outcome {
        let (kind, here) = (self.asked.kind, self.asked.provider);
        if !rule.reaches(kind) {
            return Outcome::PassedOver(format!("it is for other gates than {} ones", kind.as_str()));
        }
        if rule.mode == Mode::DryRun && kind != GateKind::Draft {
            return Outcome::PassedOver(dry_run_is_for_drafts(kind));
        }
        if let Some(of) = rule.providers().find(|of| *of != here) {
            let why = format!("it reads facts of `{}`, and this is about a unit of `{}`", of.as_str(), here.as_str());
            return Outcome::PassedOver(why);
        }
        if let (Some(why), Some(_)) = (self.asked.unreadable, rule.providers().next()) {
            return Outcome::Failed(why.to_owned());
        }
        for name in rule.when.reads() {
            if let Some(value) = facts.fact(name) {
                self.facts.insert(name.clone(), value);
            }
        }
        match rule.when.holds(facts, now) {
            Ok(true) => Outcome::Held,
            Ok(false) => Outcome::DidNotHold,
            Err(fault) => Outcome::Failed(fault.to_string()),
        }
    }

    fn end(self, mode: Mode, by: DecidedBy) -> Decision {
        let kind = self.asked.kind;
        let floor = (mode.releases() && !kind.may_be_released())
            .then(|| format!("only you resolve a {} gate, whatever a rule says", kind.as_str()));
        let mode = if floor.is_some() { Mode::Wait } else { mode };
        Decision { mode, by, steps: self.steps, facts: self.facts, floor }
    }
}

/// Whether the fact at that place of the registry stands under this root.
fn is_of(root: &str, place: usize) -> bool {
    KNOWN.get(place).is_some_and(|row| row.name.starts_with(root))
}

/// The gate's own facts before those of its unit.
struct GateFacts<'a> {
    kind: GateKind,
    name: &'a str,
    rest: &'a dyn Facts,
}

impl Facts for GateFacts<'_> {
    fn fact(&self, name: &str) -> Option<Value> {
        match name {
            "gate.kind" => Some(Value::Text(self.kind.as_str().to_owned())),
            "gate.name" => Some(Value::Text(self.name.to_owned())),
            _ => self.rest.fact(name),
        }
    }

    fn lent(&self, place: usize, name: &str) -> Option<Cow<'_, Value>> {
        match name {
            "gate.kind" | "gate.name" => self.fact(name).map(Cow::Owned),
            _ => self.rest.lent(place, name),
        }
    }

    fn ready(&self, place: usize) -> Option<&Value> {
        if is_of("gate.", place) { None } else { self.rest.ready(place) }
    }

    fn covers(&self, mark: &str, value: &Value) -> bool {
        self.rest.covers(mark, value)
    }
}
