//! The situation of a pull request, table F1, and the facts of its row (GH-FACT-25, 26, 40, 41).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{View, int, put, requests, text, truth};
use crate::github::{Account, Mergeable, Review, ReviewState};
use crate::rules::value::{Frame, Value};

/// Where a pull request stands, the first of table F1 that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Situation {
    /// It ended.
    Done,
    /// A review round runs.
    Reviewing,
    /// A draft.
    Draft,
    /// The viewer reviewed it, and something is new.
    FollowUp,
    /// A review is requested from the viewer.
    ReviewRequested,
    /// The viewer approved it.
    Approved,
    /// The viewer reviewed it, and the author is to act.
    WaitingAuthor,
    /// It is watched, and nobody waits.
    Watching,
    /// Changes are requested from the viewer.
    ChangesRequested,
    /// Threads wait for the viewer.
    Comments,
    /// It conflicts with its base.
    Conflict,
    /// Checks failed.
    ChecksFailed,
    /// Checks run.
    ChecksRunning,
    /// It can be merged.
    Ready,
    /// Its reviewers are to act.
    WaitingReview,
}

impl Situation {
    /// Each with its word.
    pub const ALL: [(Self, &'static str); 15] = [
        (Self::Done, "done"),
        (Self::Reviewing, "reviewing"),
        (Self::Draft, "draft"),
        (Self::FollowUp, "follow_up"),
        (Self::ReviewRequested, "review_requested"),
        (Self::Approved, "approved"),
        (Self::WaitingAuthor, "waiting_author"),
        (Self::Watching, "watching"),
        (Self::ChangesRequested, "changes_requested"),
        (Self::Comments, "comments"),
        (Self::Conflict, "conflict"),
        (Self::ChecksFailed, "checks_failed"),
        (Self::ChecksRunning, "checks_running"),
        (Self::Ready, "ready"),
        (Self::WaitingReview, "waiting_review"),
    ];

    /// Its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, word)| word)
    }

    /// Whether it waits on the viewer, who owns it or not.
    #[must_use]
    pub fn waits_on_viewer(self, owned: bool) -> bool {
        match self {
            Self::Draft => owned,
            Self::FollowUp
            | Self::ReviewRequested
            | Self::ChangesRequested
            | Self::Comments
            | Self::Conflict
            | Self::ChecksFailed
            | Self::Ready => true,
            Self::Done
            | Self::Reviewing
            | Self::Approved
            | Self::WaitingAuthor
            | Self::Watching
            | Self::ChecksRunning
            | Self::WaitingReview => false,
        }
    }
}

impl View<'_> {
    pub(super) fn row(&self, frame: &mut Frame) {
        let kind = self.situation();
        let waits = kind.waits_on_viewer(self.owned()) || self.book.newest_turn_asked;
        text(frame, "row.kind", kind.as_str());
        truth(frame, "pr.waits_on_user", waits);
        let open = if self.book.tracked { kind != Situation::Done } else { self.detail.is_open() };
        truth(frame, "row.open", open);
        for (name, holds) in [
            ("row.tracked", self.book.tracked),
            ("row.question", self.book.newest_turn_asked),
            ("row.pending", self.book.pending),
            ("row.capped", self.book.capped),
            ("row.yours", self.owned()),
            ("row.author_workspace", self.book.has_author_workspace),
            ("row.review_workspace", self.book.has_review_workspace),
            // Their sources are not built yet; they read as their zero (FACT-05).
            ("row.intake", false),
        ] {
            truth(frame, name, holds);
        }
        int(frame, "row.intake_seq", 0);
        for name in ["row.trust_folder", "row.remove_refusal", "row.recommended", "pr.nudge.why", "pr.nudge.refusal"] {
            text(frame, name, "");
        }
        for name in ["row.trust_homes", "pr.nudge.who"] {
            put(frame, name, Value::List(Vec::new()));
        }
    }

    fn situation(&self) -> Situation {
        if !self.detail.is_open() {
            return Situation::Done;
        }
        let owned = self.owned();
        if !owned && self.book.reviewing {
            return Situation::Reviewing;
        }
        if self.detail.summary.draft {
            return Situation::Draft;
        }
        if owned { self.of_the_owner() } else { self.of_a_reviewer() }
    }

    fn of_a_reviewer(&self) -> Situation {
        let last = self.last_review();
        if last.is_some_and(|last| self.followed() && self.news(last).is_some()) {
            Situation::FollowUp
        } else if self.request_unanswered() {
            Situation::ReviewRequested
        } else if self.decision().is_some_and(|review| review.state == ReviewState::Approved) {
            Situation::Approved
        } else if last.is_some() {
            Situation::WaitingAuthor
        } else {
            Situation::Watching
        }
    }

    fn of_the_owner(&self) -> Situation {
        let rollup = self.rollup();
        if self.changes_wanted() {
            Situation::ChangesRequested
        } else if self.thread_waits() {
            Situation::Comments
        } else if self.conflicts() {
            Situation::Conflict
        } else if !self.failing_checks().is_empty() && !self.checks_run() {
            Situation::ChecksFailed
        } else if matches!(rollup.as_str(), "pending" | "expected") {
            Situation::ChecksRunning
        } else if self.accepted()
            && self.detail.summary.mergeable == Mergeable::Mergeable
            && matches!(rollup.as_str(), "success" | "")
        {
            Situation::Ready
        } else {
            Situation::WaitingReview
        }
    }

    /// A request to the viewer or an admitted team, and no submitted review of the viewer that is newer.
    fn request_unanswered(&self) -> bool {
        let reviewed = self.last_review().and_then(|review| review.submitted_at);
        requests(self.detail, self.viewer, &self.settings.admitted_teams).iter().any(|(request, _)| {
            let asked = request.requested.as_ref().map(|made| made.at);
            // One of which the timeline does not tell stands, so nothing answered it.
            asked.is_none_or(|asked| reviewed.is_none_or(|reviewed| reviewed <= asked))
        })
    }

    /// Whether what an account does makes a row wait: that of people, and of automated accounts on the list (GH-SYNC-49).
    pub(super) fn counts(&self, account: &Account) -> bool {
        account.id != self.viewer.id && (!self.settings.is_automated(account) || self.settings.lists(account))
    }

    /// The reviews whose verdict stands, one for each reviewer but the author (GH-FACT-07, GH-FACT-08).
    pub(super) fn standing_reviews(&self) -> Vec<&Review> {
        let author = self.detail.author.as_ref().map(|author| author.id.as_str());
        let mut newest: BTreeMap<&str, &Review> = BTreeMap::new();
        let age = |review: &Review| (review.submitted_at, review.database_id);
        for review in &self.reviews {
            let (Some(by), true) = (&review.author, review.submitted_at.is_some()) else { continue };
            match review.state {
                ReviewState::Pending | ReviewState::Commented => continue,
                ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed => {}
            }
            if Some(by.id.as_str()) == author {
                continue;
            }
            let held = newest.entry(&by.id).or_insert(review);
            if age(review) > age(held) {
                *held = review;
            }
        }
        newest.into_values().filter(|review| review.state != ReviewState::Dismissed).collect()
    }

    /// Somebody's request for changes that neither a push nor the viewer's answer in its threads came after.
    fn changes_wanted(&self) -> bool {
        let pushed = self.pushed_at();
        self.standing_reviews().into_iter().any(|review| {
            review.state == ReviewState::ChangesRequested
                && review.author.as_ref().is_some_and(|by| self.counts(by))
                && review.submitted_at > Some(pushed)
                && review.submitted_at > self.answered_at(&review.id)
        })
    }

    /// When the viewer last answered in the threads of a review.
    fn answered_at(&self, review: &str) -> Option<Timestamp> {
        let threads = self.detail.threads.iter().filter(|thread| thread.comments.iter().any(|c| c.review == review));
        let own = threads.flat_map(|thread| &thread.comments).filter(|c| self.wrote(c.author.as_ref()));
        own.map(|comment| comment.created_at).max()
    }

    pub(super) fn wrote(&self, author: Option<&Account>) -> bool {
        author.is_some_and(|by| by.id == self.viewer.id)
    }

    /// An unresolved thread whose newest word is another's; a ghost's counts as a person's.
    fn thread_waits(&self) -> bool {
        self.detail.threads.iter().filter(|thread| !thread.resolved).any(|thread| {
            let newest = thread.comments.iter().max_by_key(|comment| (comment.created_at, comment.database_id));
            newest.is_some_and(|comment| comment.author.as_ref().is_none_or(|by| self.counts(by)))
        })
    }

    /// GitHub says that it is approved, or it asks for no approval and a person gave one.
    fn accepted(&self) -> bool {
        match self.detail.review_decision.as_str() {
            "APPROVED" => true,
            "" => self.standing_reviews().into_iter().any(|review| {
                let person = review.author.as_ref().is_some_and(|by| !self.settings.is_automated(by));
                review.state == ReviewState::Approved && person
            }),
            _ => false,
        }
    }
}
