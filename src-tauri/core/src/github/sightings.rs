//! When something of a pull request was first seen. A commit's own dates, which its author sets, decide nothing: what counts is
//! GitHub's clock of the answer that showed it first (GH-SYNC-46).

use jiff::Timestamp;

use super::{Mergeable, Summary};

/// What was seen of a pull request so far, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sightings {
    /// The head that was seen last; empty before the first answer.
    pub head: String,
    /// When that head was first seen, by GitHub's clock.
    pub head_at: Option<Timestamp>,
    /// Since when it conflicts, by GitHub's clock; `None` while it does not (GH-FACT-15).
    pub conflict_since: Option<Timestamp>,
}

impl Sightings {
    /// What is known after an answer that GitHub gave at `at`, by its own clock.
    ///
    /// The head of a pull request that was never seen before is older than this answer: its push moved `updated_at`, which is then
    /// the latest that it can have been.
    #[must_use]
    pub fn see(&self, summary: &Summary, at: Timestamp) -> Self {
        let head_at = match self.head_at {
            Some(seen) if self.head == summary.head => seen,
            Some(_) => at,
            None => at.min(summary.updated_at),
        };
        let conflict_since = match summary.mergeable {
            Mergeable::Conflicting => Some(self.conflict_since.unwrap_or(at)),
            Mergeable::Mergeable => None,
            // GitHub works it out anew after each push to either branch: nothing follows meanwhile.
            Mergeable::Unknown => self.conflict_since,
        };
        Self { head: summary.head.clone(), head_at: Some(head_at), conflict_since }
    }
}
