//! Approval tables as files write them (APPR-02), for manifests and for the configuration.

use crate::gate::GateKind;
use crate::rules::policy::{ApprovalOverlay, ApprovalTable, Mode, ModeWord, Rule};
use crate::rules::read::Table;
use crate::rules::registry::{Scope, known};

/// Reads a manifest's table; the caller finishes it.
pub(crate) fn read_table(table: &Table<'_>, name: &str) -> ApprovalTable {
    let mode = read_mode(table).and_then(|(word, window)| with_window(table, word, window));
    ApprovalTable { name: name.to_owned(), rules: read_rules(table, name).unwrap_or_default(), mode, broken: None }
}

/// Reads what the configuration lays over a table; the caller finishes it (APPR-49).
pub(crate) fn read_overlay(table: &Table<'_>, name: &str) -> ApprovalOverlay {
    let word = mode_word(table);
    let window = table.window("window");
    refuse_idle_window(table, word);
    ApprovalOverlay { name: name.to_owned(), mode: word, window, rules: read_rules(table, name) }
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

fn read_rules(table: &Table<'_>, name: &str) -> Option<Vec<Rule>> {
    let rules = table.tables("rule")?;
    Some(rules.iter().filter_map(|rule| read_rule(rule, name)).collect())
}

fn read_rule(rule: &Table<'_>, name: &str) -> Option<Rule> {
    let when = rule.predicate("when", Scope::Rule(None));
    if !rule.has("when") {
        rule.own_fault("the rule has no `when`", "a rule for everything is the table's own `mode`");
    }
    let mode = read_mode(rule).and_then(|(word, window)| with_window(rule, word, window));
    if !rule.has("mode") {
        rule.own_fault("the rule has no `mode`", format!("one of {}", Mode::WORDS.join(", ")));
    }
    rule.finish();
    let (when, mode) = (when?, mode?);
    let reached: Vec<GateKind> = GateKind::ALL.iter().map(|(kind, _)| *kind).filter(|kind| when.reaches(*kind)).collect();
    if reached.is_empty() {
        let kinds = GateKind::ALL.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(", ");
        rule.fault("when", "no kind of gate is reached by it", format!("the kinds are {kinds}"));
    }
    if mode == Mode::DryRun && !reached.contains(&GateKind::Draft) {
        rule.fault("mode", "`dry_run` is for draft gates, and the rule is pinned to others", "write `wait`");
    }
    let drafts = reached.contains(&GateKind::Draft);
    for fact in when.reads().iter().filter_map(|fact| known(fact)) {
        // What an agent or a stranger can move must not release anything, and must not take a draft from a later rule.
        if fact.untrusted && (mode.releases() || drafts) {
            let why = if mode.releases() { "a rule that releases" } else { "a rule that reaches draft gates" };
            rule.fault(
                "when",
                format!("{why} reads `{}`, which others can influence", fact.name),
                "pin `gate.kind` and write `wait`",
            );
        }
        if drafts && (fact.name.starts_with("config.") || fact.name.starts_with("trigger.")) {
            rule.fault(
                "when",
                format!("a rule that reaches draft gates reads `{}`", fact.name),
                "pin `gate.kind` to other kinds",
            );
        }
    }
    Some(Rule { table: name.to_owned(), when, mode })
}
