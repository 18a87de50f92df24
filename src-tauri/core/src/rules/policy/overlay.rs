//! What the configuration lays over an approval table (APPR-45 to APPR-52).

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::{ApprovalTable, Mode, Rule};
use crate::gate::GateKind;
use crate::rules::registry::Provider;

/// What the configuration lays over a workflow's table, key by key (APPR-45).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApprovalOverlay {
    /// Where it was written, such as `config.toml workflows.review`.
    pub name: String,
    /// The mode's word, where one is given; the window comes from here or from the table.
    pub mode: Option<ModeWord>,
    /// The window, where one is given.
    pub window: Option<SignedDuration>,
    /// The complete list of rules, where one is given; an empty one empties the table's.
    pub rules: Option<Vec<Rule>>,
}

/// A mode before it has met its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeWord {
    /// `wait`.
    Wait,
    /// `delay`.
    Delay,
    /// `send`.
    Send,
    /// `run`.
    Run,
    /// `dry_run`.
    DryRun,
}

impl ModeWord {
    /// Reads one of [`Mode::WORDS`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "wait" => Some(Self::Wait),
            "delay" => Some(Self::Delay),
            "send" => Some(Self::Send),
            "run" => Some(Self::Run),
            "dry_run" => Some(Self::DryRun),
            _ => None,
        }
    }

    /// The mode, with the window a delay needs; `None` for a delay without one.
    #[must_use]
    pub fn with(self, window: Option<SignedDuration>) -> Option<Mode> {
        match self {
            Self::Wait => Some(Mode::Wait),
            Self::Delay => window.map(Mode::Delay),
            Self::Send => Some(Mode::Send),
            Self::Run => Some(Mode::Run),
            Self::DryRun => Some(Mode::DryRun),
        }
    }
}

/// Lays an overlay over a table (APPR-45); `here` is the provider of the workflow or plugin it belongs to. What fits only one by one
/// but not together, and a rule on units of another provider, makes the result broken: all of its gates wait (APPR-50, APPR-52).
#[must_use]
pub fn overlay(table: &ApprovalTable, overlay: &ApprovalOverlay, here: Provider) -> ApprovalTable {
    let mut merged = table.clone();
    for (index, rule) in overlay.rules.iter().flatten().enumerate() {
        if let Some(of) = rule.providers().find(|of| *of != here) {
            merged.broken = Some(format!(
                "rule {} of `{}` reads facts of `{}`, and it is about units of `{}`",
                index + 1,
                overlay.name,
                of.as_str(),
                here.as_str()
            ));
        }
    }
    if let Some(rules) = &overlay.rules {
        merged.rules.clone_from(rules);
    }
    let inherited = table.mode.and_then(Mode::window);
    match (overlay.mode, overlay.window) {
        (None, None) => {}
        (Some(word), window) => match word.with(window.or(inherited)) {
            Some(mode) => merged.mode = Some(mode),
            None => {
                merged.broken = Some(format!("`{}` gives the mode `delay` and nothing gives a `window`", overlay.name));
            }
        },
        (None, Some(window)) => {
            if inherited.is_some() {
                merged.mode = Some(Mode::Delay(window));
            } else {
                merged.broken = Some(format!("`{}` gives a `window` and the mode beneath it is no `delay`", overlay.name));
            }
        }
    }
    merged
}

/// The kinds for which the table beneath has rules that the overlay drops without naming the kind itself: worth a warning, for
/// a default may decide them from then on.
#[must_use]
pub fn dropped_kinds(table: &ApprovalTable, overlay: &ApprovalOverlay) -> BTreeSet<GateKind> {
    let Some(rules) = &overlay.rules else { return BTreeSet::new() };
    GateKind::ALL
        .iter()
        .map(|(kind, _)| *kind)
        .filter(|kind| {
            let reached = |rules: &[Rule]| rules.iter().any(|rule| rule.reaches(*kind));
            reached(&table.rules) && !reached(rules)
        })
        .collect()
}

/// What in a table loads and is hardly meant, in words for the log and for `doctor` (APPR-61).
#[must_use]
pub fn hints(table: &ApprovalTable) -> Vec<String> {
    let mut found = Vec::new();
    for (index, rule) in table.rules.iter().enumerate() {
        let meant_for_drafts = rule.when.reads().iter().any(|fact| fact.starts_with("draft."));
        if rule.mode.releases() && meant_for_drafts && rule.names_delivery().is_none() {
            found.push(format!(
                "rule {} of `{}` lets no comment or message out, for it names no delivery; add `draft.delivery == \"comment\" && …` \
                 to its `when`",
                index + 1,
                rule.table
            ));
        }
    }
    if let Some(mode) = table.mode.filter(|mode| mode.releases()) {
        found.push(format!(
            "the mode `{}` of `{}` lets no comment or message out; a rule with `draft.delivery == \"comment\"` does",
            mode.as_str(),
            table.name
        ));
    }
    found
}
