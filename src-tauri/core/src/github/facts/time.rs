//! What follows from when things happened: pushes, conflicts, checks, the last interaction (GH-FACT-13 to 20).

use jiff::{SignedDuration, Timestamp};

use super::{View, int, put, text, truth};
use crate::github::checks::{any_running, failing, that_count};
use crate::github::{Review, ReviewState};
use crate::rules::value::{Frame, Value};

impl View<'_> {
    pub(super) fn over_time(&self, frame: &mut Frame) {
        text(frame, "pr.checks", self.rollup());
        put(frame, "pr.conflicting_for", Value::Duration(self.conflicting_for()));
        put(frame, "pr.finished_for", Value::Duration(self.finished_for()));
        truth(frame, "pr.stalled", self.stalled());
        let last = self.last_interaction();
        put(frame, "pr.last_interaction_at", Value::Time(last));
        let days = self.settings.calendar.dates_between(last, self.now);
        int(frame, "pr.silent_days", u64::try_from(days).unwrap_or(0));
    }

    /// The rollup of the head, in lower case; empty for none.
    pub(super) fn rollup(&self) -> String {
        self.detail.summary.checks.to_lowercase()
    }

    /// When the head was pushed, as late as that can have been: when it was first seen, or earlier where something shows that it was
    /// there before, or the force push that made it (GH-FACT-13).
    pub(super) fn pushed_at(&self) -> Timestamp {
        let head = &self.detail.summary.head;
        let seen = self.book.head_seen_at.unwrap_or(self.detail.summary.updated_at);
        let on_head = |review: &&Review| review.commit == *head && review.state != ReviewState::Pending;
        let reviewed = self.reviews.iter().filter(on_head).filter_map(|review| review.submitted_at);
        let checked = self.detail.checks.iter().filter_map(|check| check.started_at);
        let there = reviewed.chain(checked).min().map_or(seen, |shown| shown.min(seen));
        self.detail.head_forced_at.map_or(there, |forced| forced.max(there))
    }

    /// How long it has conflicted; zero while it does not.
    pub(super) fn conflicting_for(&self) -> SignedDuration {
        self.book.conflict_since.map_or(SignedDuration::ZERO, |since| self.age(since))
    }

    /// Whether it conflicts for longer than may pass by itself.
    pub(super) fn conflicts(&self) -> bool {
        self.book.conflict_since.is_some() && self.conflicting_for() >= self.settings.conflict_window
    }

    pub(super) fn failing_checks(&self) -> Vec<String> {
        failing(&self.detail.checks)
    }

    pub(super) fn checks_run(&self) -> bool {
        any_running(&self.detail.checks)
    }

    /// The working time since it ended; zero while it is open, and again once it was reopened.
    fn finished_for(&self) -> SignedDuration {
        self.detail.ended_at().map_or(SignedDuration::ZERO, |ended| self.settings.calendar.working_time(ended, self.now))
    }

    /// Whether its checks are to run and nothing of them has moved for long (GH-FACT-18).
    fn stalled(&self) -> bool {
        let checks = that_count(&self.detail.checks);
        let moved = checks.iter().flat_map(|check| [check.started_at, check.completed_at]).flatten().max();
        let moved = moved.map_or(self.pushed_at(), |at| at.max(self.pushed_at()));
        matches!(self.rollup().as_str(), "pending" | "expected") && self.age(moved) >= self.settings.checks_stalled_after
    }

    /// When anyone last did something that speaks to others: edits, labels, reactions and checks do not.
    fn last_interaction(&self) -> Timestamp {
        let pending = |id: &str| self.reviews.iter().any(|r| r.state == ReviewState::Pending && r.id == id);
        let said = self.detail.comments.iter().map(|comment| comment.created_at);
        let answered = self.detail.threads.iter().flat_map(|thread| &thread.comments);
        let answered = answered.filter(|comment| !pending(&comment.review)).map(|comment| comment.created_at);
        let submitted = self.reviews.iter().filter(|r| r.state != ReviewState::Pending).filter_map(|review| review.submitted_at);
        let others = [Some(self.pushed_at()), self.detail.last_requested_at];
        let all = said.chain(answered).chain(submitted).chain(others.into_iter().flatten());
        all.fold(self.detail.created_at, Timestamp::max)
    }
}
