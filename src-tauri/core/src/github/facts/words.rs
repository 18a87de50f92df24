//! What a row says in words: its situation, why a round is wanted or not (GH-FACT-29), and what a person may do by hand.

use crate::rules::value::{Frame, Value};

/// What a row shows beside its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowWords {
    /// `row.kind`.
    pub kind: String,
    /// Whether it waits on the viewer.
    pub waits_on_user: bool,
    /// Why a review round is wanted, where one is; or that the review is finished.
    pub reason: Option<String>,
    /// Why no review round runs: shown as `skipped because …`.
    pub skipped: Option<String>,
}

fn text_of(frame: &Frame, name: &str) -> String {
    match frame.get(name) {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Bool(_) | Value::Int(_) | Value::List(_) | Value::Duration(_) | Value::Time(_)) | None => String::new(),
    }
}

fn holds(frame: &Frame, name: &str) -> bool {
    frame.get(name) == Some(&Value::Bool(true))
}

/// The words of a row, from its facts. A round that did not run is never among the reasons: it was skipped, and why.
#[must_use]
pub fn row_words(frame: &Frame) -> RowWords {
    let action = text_of(frame, "pr.review.action");
    let (reason, skipped) = if holds(frame, "pr.first.due") {
        (Some(text_of(frame, "pr.first.reason")), None)
    } else if !action.is_empty() {
        (Some(text_of(frame, "pr.review.reason")), None)
    } else if holds(frame, "pr.last_review.exists") {
        (None, Some(text_of(frame, "pr.review.reason")))
    } else {
        (None, Some(text_of(frame, "pr.first.reason")))
    };
    RowWords { kind: text_of(frame, "row.kind"), waits_on_user: holds(frame, "pr.waits_on_user"), reason, skipped }
}

/// The facts as an action reads them when the person runs it by name: a pause, a cap, a draft and a missing request hold only what runs by
/// itself (ROUND-31).
#[must_use]
pub fn by_hand(facts: &Frame) -> Frame {
    let mut frame = facts.clone();
    for (name, favourable) in
        [("row.capped", false), ("row.pending", false), ("pr.held", false), ("pr.draft", false), ("pr.review_requested_me", true)]
    {
        frame.insert(name, Value::Bool(favourable));
    }
    frame
}
