//! What a round that addresses reviews, checks and a conflict would cover, and whether one is due (GH-FACT-32 to 36).

use super::{Mode, View, digest, put, text, truth};
use crate::github::{PullState, Review, ReviewState};
use crate::rules::value::{Frame, Value};

/// What an address round covers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Covered {
    /// The logins of those with an unanswered review, sorted.
    pub reviewers: Vec<String>,
    /// The names of the failing checks, sorted.
    pub checks: Vec<String>,
    /// Whether it conflicts with its base.
    pub conflict: bool,
}

impl Covered {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reviewers.is_empty() && self.checks.is_empty() && !self.conflict
    }

    /// Puts it in the place of what a frame says: a turn reads what it covers, whatever happened since, and a turn of any other
    /// intent covers nothing of this (GH-FACT-35).
    pub fn put_into(&self, frame: &mut Frame) {
        put(frame, "pr.address.reviewers", Value::List(self.reviewers.clone()));
        put(frame, "pr.address.checks", Value::List(self.checks.clone()));
        truth(frame, "pr.address.conflict", self.conflict);
    }

    /// What is to be done, such as `2 reviewers, 1 failing check`.
    fn words(&self) -> String {
        let count = |n: usize, one: &str, many: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }));
        let parts = [
            count(self.reviewers.len(), "reviewer", "reviewers"),
            count(self.checks.len(), "failing check", "failing checks"),
            self.conflict.then(|| "a conflict".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl View<'_> {
    pub(super) fn address(&self, frame: &mut Frame) {
        let covered = self.covered();
        covered.put_into(frame);
        let (due, reason) = match self.address_due(&covered, frame) {
            Ok(why) => (true, why),
            Err(why) => (false, why),
        };
        truth(frame, "pr.address.due", due);
        text(frame, "pr.address.reason", reason);
        truth(frame, "pr.address.observed", due && self.settings.address_mode == Mode::Observe);
        for (name, set) in [
            ("address_reviews", self.settings.address_reviews),
            ("address_checks", self.settings.address_checks),
            ("followups_without_workspace", self.settings.followups_without_workspace),
            ("address_without_workspace", self.settings.address_without_workspace),
        ] {
            truth(frame, &format!("config.plugins.github.{name}"), set);
        }
    }

    /// What a turn started now would cover.
    fn covered(&self) -> Covered {
        let mut reviewers: Vec<String> =
            self.unanswered().into_iter().filter_map(|review| Some(review.author.as_ref()?.login.clone())).collect();
        reviewers.sort();
        reviewers.dedup();
        let head = Some(&self.detail.summary.head);
        let conflict = self.conflicts() && self.book.addressed.conflict.as_ref() != head;
        Covered { reviewers, checks: self.unmended(), conflict }
    }

    /// The reviews that want an answer and have none.
    fn unanswered(&self) -> Vec<&Review> {
        if !self.settings.address_reviews {
            return Vec::new();
        }
        let standing = self.standing_reviews();
        let wants = |review: &&Review| {
            let (Some(by), Some(at)) = (&review.author, review.submitted_at) else { return false };
            if !self.counts(by) || self.book.addressed.reviews.is_some_and(|mark| at <= mark) {
                return false;
            }
            match review.state {
                ReviewState::Pending => false,
                // A request for changes that the same reviewer's later verdict took back wants nothing.
                ReviewState::ChangesRequested if standing.iter().any(|held| held.id == review.id) => true,
                ReviewState::Commented if !review.body.trim().is_empty() => true,
                ReviewState::ChangesRequested | ReviewState::Commented | ReviewState::Approved | ReviewState::Dismissed => {
                    self.has_open_thread(&review.id)
                }
            }
        };
        self.reviews.iter().filter(wants).collect()
    }

    /// Whether an unresolved thread with a comment of that review waits for the viewer's word.
    fn has_open_thread(&self, review: &str) -> bool {
        self.detail.threads.iter().filter(|thread| !thread.resolved).any(|thread| {
            let newest = thread.comments.iter().max_by_key(|comment| (comment.created_at, comment.database_id));
            thread.comments.iter().any(|comment| comment.review == review)
                && newest.is_some_and(|comment| !self.wrote(comment.author.as_ref()))
        })
    }

    /// The failing checks, once all have run, unless this head was dealt with or the same ones outlasted every attempt.
    fn unmended(&self) -> Vec<String> {
        let covered = self.book.addressed.checks.as_ref() == Some(&self.detail.summary.head);
        if !self.settings.address_checks || covered || self.checks_run() {
            return Vec::new();
        }
        let failing = self.failing_checks();
        let attempts = usize::try_from(self.settings.address_attempts).unwrap_or(usize::MAX);
        let tried = &self.book.address_rounds;
        let same = tried.iter().take(attempts).all(|checks| *checks == failing);
        if tried.len() >= attempts && same { Vec::new() } else { failing }
    }

    fn address_due(&self, covered: &Covered, frame: &Frame) -> Result<String, String> {
        match self.detail.summary.state {
            PullState::Open => {}
            PullState::Closed => return Err("the pull request is closed".to_owned()),
            PullState::Merged => return Err("the pull request is merged".to_owned()),
        }
        if !self.owned() {
            return Err("it is not yours".to_owned());
        }
        if self.settings.address_mode == Mode::Off {
            return Err(format!("address rounds are off for {}", self.detail.summary.repo));
        }
        if covered.is_empty() {
            return Err("nothing is to be addressed".to_owned());
        }
        let newest = self.unanswered().into_iter().filter_map(|review| review.submitted_at).max();
        if let Some(newest) = newest.filter(|at| self.age(*at) < self.settings.address_settle) {
            let (age, rest) = (super::age_words(self.age(newest)), super::age_words(self.settings.address_settle));
            return Err(format!("the newest review is {age} old and rests {rest}"));
        }
        if !self.book.has_author_workspace && !self.settings.address_without_workspace {
            return Err("no workspace of yours is linked".to_owned());
        }
        if self.book.open_turn.is_some() {
            return Err("a turn is open".to_owned());
        }
        if !self.detail.can_push {
            return Err(format!("you cannot push to `{}`", self.detail.head_branch));
        }
        self.rounds_left()?;
        let fingerprint = match frame.get("pr.fingerprint") {
            Some(Value::Text(print)) => print.as_str(),
            _ => "",
        };
        let key = address_key(&self.detail.summary.head, covered);
        if self.book.address_handled.contains(&key) || self.book.address_handled.contains(fingerprint) {
            return Err("already addressed".to_owned());
        }
        Ok(covered.words())
    }
}

/// What an address item is known by (ROUND-03): the head and what it covers.
#[must_use]
pub fn address_key(head: &str, covered: &Covered) -> String {
    let lists = [covered.reviewers.join("\n"), covered.checks.join("\n"), covered.conflict.to_string()];
    format!("{head}:{}", digest(lists.iter().map(String::as_str)))
}
