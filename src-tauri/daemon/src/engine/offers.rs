//! The buttons of a row: what each intent's `[action]` says of it (INT-03).

use jiff::Timestamp;
use wloop_core::rules::predicate::Predicate;
use wloop_core::rules::profile::Action;
use wloop_core::rules::value::Frame;
use wloop_core::rules::words::render_line;

/// A button of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The intent that it starts.
    pub(crate) intent: String,
    /// Its words.
    pub(crate) label: String,
    /// Whether it is shown.
    pub(crate) offered: bool,
    /// Whether it can be pressed.
    pub(crate) enabled: bool,
    /// What is shown where it cannot.
    pub(crate) disabled: Option<String>,
    /// Whether it comes first.
    pub(crate) primary: bool,
}

/// An action on a row with these facts. A condition that is left out holds, but for `primary`; one that fails does not.
pub(crate) fn offer(intent: &str, action: &Action, facts: &Frame, now: Timestamp) -> Offer {
    let holds = |condition: &Option<Predicate>, without: bool| {
        let Some(condition) = condition else { return without };
        condition.holds(facts, now).unwrap_or_else(|fault| {
            tracing::warn!(intent, condition = condition.text(), %fault, "a condition of an action could not be evaluated");
            false
        })
    };
    let enabled = holds(&action.enabled, true);
    let disabled = action.disabled.as_ref().filter(|_| !enabled).map(|template| {
        render_line(template, facts).unwrap_or_else(|fault| {
            tracing::warn!(intent, %fault, "the words of an action could not be rendered");
            template.clone()
        })
    });
    Offer {
        intent: intent.to_owned(),
        label: action.label.clone(),
        offered: holds(&action.offered, true),
        enabled,
        disabled,
        primary: holds(&action.primary, false),
    }
}
