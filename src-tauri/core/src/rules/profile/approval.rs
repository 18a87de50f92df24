//! Approval tables as files write them (APPR-02), for manifests and for the configuration.

use std::collections::BTreeSet;

use crate::gate::GateKind;
use crate::rules::policy::{ApprovalOverlay, ApprovalTable, Mode, ModeWord, Rule};
use crate::rules::read::Table;
use crate::rules::registry::{Provider, Scope, known};

/// Whose table it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// `gates.toml`.
    Gates,
    /// An intent, which may serve units of several providers.
    Intent,
    /// A workflow on units of this provider.
    Workflow(Provider),
    /// The configuration, for a workflow: its provider is known once the profile is (APPR-52).
    Configuration,
}

impl Owner {
    fn provider(self) -> Option<Provider> {
        match self {
            Self::Workflow(provider) => Some(provider),
            Self::Gates | Self::Intent | Self::Configuration => None,
        }
    }
}

/// Reads a manifest's table; the caller finishes it.
pub(crate) fn read_table(table: &Table<'_>, name: &str, owner: Owner) -> ApprovalTable {
    let mode = read_mode(table).and_then(|(word, window)| with_window(table, word, window));
    ApprovalTable { name: name.to_owned(), rules: read_rules(table, name, owner).unwrap_or_default(), mode, broken: None }
}

/// Reads what the configuration lays over a table; the caller finishes it (APPR-49).
pub(crate) fn read_overlay(table: &Table<'_>, name: &str) -> ApprovalOverlay {
    let word = mode_word(table);
    let window = table.window("window");
    refuse_idle_window(table, word);
    ApprovalOverlay { name: name.to_owned(), mode: word, window, rules: read_rules(table, name, Owner::Configuration) }
}

fn mode_word(table: &Table<'_>) -> Option<ModeWord> {
    let text = table.text("mode")?;
    let word = ModeWord::parse(&text);
    if word.is_none() {
        table.unknown_word("mode", &text, Mode::WORDS.iter().copied());
    }
    word
}

/// A window belongs to `delay` alone (APPR-49b).
fn refuse_idle_window(table: &Table<'_>, word: Option<ModeWord>) {
    if table.has("window") && word.is_some_and(|word| word != ModeWord::Delay) {
        table.fault("window", "a window is only for the mode `delay`", "remove it, or write `mode = \"delay\"`");
    }
}

fn read_mode(table: &Table<'_>) -> Option<(ModeWord, Option<jiff::SignedDuration>)> {
    let word = mode_word(table);
    let window = table.window("window");
    refuse_idle_window(table, word);
    if word.is_none() && !table.has("mode") && table.has("window") {
        table.fault("window", "a window without a mode", "write `mode = \"delay\"` beside it");
    }
    word.map(|word| (word, window))
}

fn with_window(table: &Table<'_>, word: ModeWord, window: Option<jiff::SignedDuration>) -> Option<Mode> {
    let mode = word.with(window);
    if mode.is_none() && !table.has("window") {
        table.fault("mode", "`delay` needs a window", "add one, such as `window = \"60s\"`");
    }
    mode
}

fn read_rules(table: &Table<'_>, name: &str, owner: Owner) -> Option<Vec<Rule>> {
    let rules = table.tables("rule")?;
    Some(rules.iter().filter_map(|rule| read_rule(rule, name, owner)).collect())
}

fn read_rule(rule: &Table<'_>, name: &str, owner: Owner) -> Option<Rule> {
    let when = rule.predicate("when", Scope::Rule(owner.provider()));
    if !rule.has("when") {
        rule.own_fault("the rule has no `when`", "a rule for everything is the table's own `mode`");
    }
    let mode = read_mode(rule).and_then(|(word, window)| with_window(rule, word, window));
    if !rule.has("mode") {
        rule.own_fault("the rule has no `mode`", format!("one of {}", Mode::WORDS.join(", ")));
    }
    rule.finish();
    let made = Rule { table: name.to_owned(), when: when?, mode: mode? };
    check_reach(rule, &made);
    check_reads(rule, &made, owner);
    Some(made)
}

/// The kinds of gates a rule is for (APPR-12, APPR-14, APPR-15).
fn check_reach(rule: &Table<'_>, made: &Rule) {
    let reached: Vec<GateKind> = GateKind::ALL.iter().map(|(kind, _)| *kind).filter(|kind| made.reaches(*kind)).collect();
    if reached.is_empty() {
        let kinds = GateKind::ALL.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ");
        let what = "no kind of gate is reached by it";
        rule.fault("when", what, format!("the kinds are {kinds}; a rule that reads `draft.*` is for drafts alone"));
    } else if made.mode == Mode::DryRun && !reached.contains(&GateKind::Draft) {
        rule.fault("mode", "`dry_run` is for draft gates, and the rule is pinned to others", "write `wait`");
    }
}

/// What a rule may not read (APPR-19, APPR-26, APPR-27, APPR-33, APPR-38 to APPR-42).
fn check_reads(rule: &Table<'_>, made: &Rule, owner: Owner) {
    let drafts = made.reaches(GateKind::Draft);
    let providers: BTreeSet<&str> = made.providers().map(Provider::as_str).collect();
    if providers.len() > 1 {
        let both = providers.into_iter().map(|of| format!("`{of}`")).collect::<Vec<_>>().join(" and ");
        rule.fault("when", format!("the rule reads facts of {both}, and a gate is about a unit of one"), "make two rules of it");
    }
    if drafts && made.when.reads_now() {
        rule.fault("when", "a rule that reaches draft gates reads `now`", "pin `gate.kind` to other kinds, or leave it out");
    }
    for fact in made.when.reads().iter().filter_map(|fact| known(fact)) {
        // What an agent or a stranger can move must not release anything, and must not take a draft from a later rule.
        if fact.untrusted && (made.mode.releases() || drafts) {
            let why = if made.mode.releases() { "a rule that releases" } else { "a rule that reaches draft gates" };
            let what = format!("{why} reads `{}`, which others can influence", fact.name);
            rule.fault("when", what, "pin `gate.kind` to other kinds and write `wait`");
        } else if drafts && ["brief.", "classify.", "trigger.", "config."].iter().any(|root| fact.name.starts_with(root)) {
            let what = format!("a rule that reaches draft gates reads `{}`", fact.name);
            rule.fault("when", what, "pin `gate.kind` to other kinds");
        }
        if matches!(fact.name, "gate.status" | "gate.delivery") {
            let what = format!("`{}` is for views: a gate that is decided is open", fact.name);
            rule.fault("when", what, "read `gate.kind` or `gate.name`");
        }
        if owner == Owner::Intent && matches!(fact.name, "draft.purpose" | "draft.effects") {
            let what = format!("a rule of an intent reads `{}`, which is empty for every draft of a turn", fact.name);
            rule.fault("when", what, "put the rule into a workflow, or leave it out");
        }
    }
}
