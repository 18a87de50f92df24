//! When a review round is due, and what else a review is waiting for: table F2, ROUND-10, ROUND-11.

use super::{Drafts, Mode, View, age_words, requests, review_key, text, truth};
use crate::github::material::started_by;
use crate::github::{PullState, Review, ReviewRequest, ReviewState};
use crate::rules::value::Frame;

/// What the loop would do with a pull request that the viewer has reviewed.
enum Action {
    /// Nothing, for this reason.
    None(String),
    /// Another round, for this reason.
    FollowUp(String),
    /// Its review is finished, for this reason.
    Complete(String),
}

impl View<'_> {
    pub(super) fn rounds(&self, frame: &mut Frame) {
        let (due, first) = match self.first_review() {
            Ok(why) => (true, why),
            Err(why) => (false, why),
        };
        let (action, reason) = match self.action() {
            Action::None(why) => ("", why),
            Action::FollowUp(why) => ("follow-up", why),
            Action::Complete(why) => ("complete", why),
        };
        truth(frame, "pr.first.due", due);
        text(frame, "pr.first.reason", first);
        text(frame, "pr.review.action", action);
        text(frame, "pr.review.reason", reason);
        let observing = self.settings.review_mode == Mode::Observe;
        truth(frame, "pr.review.observed", observing && (due || !action.is_empty()));
    }

    /// Table F2: the request when a first review is due, else the first condition that does not hold.
    fn first_review(&self) -> Result<String, String> {
        let asked = requests(self.detail, self.viewer, &self.settings.admitted_teams);
        let direct = self.directly_requested();
        self.open()?;
        self.not_owned()?;
        self.mode_on()?;
        let Some((request, team)) = newest_of(&asked) else {
            return Err("no review is requested from you".to_owned());
        };
        if self.last_review().is_some() {
            return Err("you reviewed it before".to_owned());
        }
        let draft_counts = match self.settings.drafts {
            Drafts::Never => false,
            Drafts::Requested => direct,
            Drafts::Always => true,
        };
        if self.detail.summary.draft && !draft_counts {
            return Err("it is a draft".to_owned());
        }
        let bot = self.detail.author.as_ref().is_some_and(|author| self.settings.is_automated(author));
        if bot && !self.settings.bot_authors {
            return Err("its author is a bot".to_owned());
        }
        if self.detail.author.is_none() && !direct {
            return Err("its author's account is gone".to_owned());
        }
        self.unhindered("first")?;
        Ok(self.requested("review requested", request, team))
    }

    fn open(&self) -> Result<(), String> {
        match self.detail.summary.state {
            PullState::Open => Ok(()),
            PullState::Closed => Err("the pull request is closed".to_owned()),
            PullState::Merged => Err("the pull request is merged".to_owned()),
        }
    }

    fn not_owned(&self) -> Result<(), String> {
        if self.mine() {
            Err("it is yours".to_owned())
        } else if self.owned() {
            Err("you took it over".to_owned())
        } else {
            Ok(())
        }
    }

    fn mode_on(&self) -> Result<(), String> {
        match self.settings.review_mode {
            Mode::Act | Mode::Observe => Ok(()),
            Mode::Off => Err(format!("reviews are off for {}", self.detail.summary.repo)),
        }
    }

    /// Conditions 9 to 14 of table F2, which hold for every review round.
    fn unhindered(&self, stage: &str) -> Result<(), String> {
        let (files, most) = (self.detail.changed_files, self.settings.max_files);
        if most > 0 && files > most {
            return Err(format!("{files} files, more than {most}"));
        }
        let pending = |review: &Review| review.state == ReviewState::Pending && super::by(review, &self.viewer.id);
        if self.detail.reviews.iter().any(pending) {
            return Err("you have a pending review; submit or discard it".to_owned());
        }
        if let Some(why) = &self.book.unread {
            return Err(format!("GitHub could not be read: {why}"));
        }
        if self.book.stale {
            let age = age_words(self.age(self.detail.read_at));
            return Err(format!("GitHub could not be read: the last complete answer is {age} old"));
        }
        if self.book.open_turn.is_some() {
            return Err("a turn is open".to_owned());
        }
        self.rounds_left()?;
        let key = review_key(self.detail, self.viewer, self.settings, stage);
        if self.book.skipped.contains(&key) {
            return Err("skipped".to_owned());
        }
        if self.book.handled.contains(&key) {
            // A round that did not come to its end is never shown as a review (GH-FACT-29).
            return Err(match &self.book.last_failure {
                Some(why) => format!("its round ended without a review: {why}"),
                None => "already reviewed".to_owned(),
            });
        }
        Ok(())
    }

    /// Whether another automatic round may run on this head (ROUND-25).
    pub(super) fn rounds_left(&self) -> Result<(), String> {
        match self.book.rounds_on_head {
            ran if ran < self.settings.per_head => Ok(()),
            1 => Err("1 round ran on this commit".to_owned()),
            ran => Err(format!("{ran} rounds ran on this commit")),
        }
    }

    /// `review requested of <team> by <login> <age> ago`, as far as it is known.
    fn requested(&self, words: &str, request: &ReviewRequest, team: Option<&str>) -> String {
        let mut reason = words.to_owned();
        if let Some(team) = team {
            reason.push_str(" of ");
            reason.push_str(team);
        }
        if let Some(asked) = &request.requested {
            if !asked.by.is_empty() {
                reason.push_str(" by ");
                reason.push_str(&asked.by);
            }
            reason.push_str(&format!(" {} ago", age_words(self.age(asked.at))));
        }
        reason
    }

    /// ROUND-10 and ROUND-11.
    fn action(&self) -> Action {
        if let Err(why) = self.not_owned() {
            return Action::None(why);
        }
        let Some(last) = self.last_review() else {
            return Action::None("you have not reviewed it".to_owned());
        };
        if let Err(why) = self.open() {
            return Action::Complete(why);
        }
        let news = self.news(last);
        let approval = self.decision().filter(|review| review.state == ReviewState::Approved);
        if let (None, Some(approval)) = (&news, approval) {
            let at = short(&approval.commit);
            return if approval.commit == self.detail.summary.head {
                Action::Complete(format!("you approved it at {at}"))
            } else {
                Action::None(format!("approved at {at}, and new commits since"))
            };
        }
        match self.follow_up(last, news) {
            Ok(why) => Action::FollowUp(why),
            Err(why) => Action::None(why),
        }
    }

    /// Conditions (2) to (5) of ROUND-10, and those of table F2 that it takes over.
    fn follow_up(&self, last: &Review, news: Option<String>) -> Result<String, String> {
        if self.detail.summary.draft {
            return Err("it is a draft".to_owned());
        }
        if !self.followed() {
            return Err("you reviewed it by hand, and no review workspace is linked".to_owned());
        }
        let Some(news) = news else {
            return Err("nothing is new since your review".to_owned());
        };
        let pushed = self.pushed_at();
        let asked_since = self.asked_again(last).and_then(|(request, _)| request.requested.as_ref());
        let age = self.age(pushed);
        if age < self.settings.settle && asked_since.is_none_or(|asked| asked.at <= pushed) {
            let (age, rest) = (age_words(age), age_words(self.settings.settle));
            return Err(format!("the last push is {age} old and rests {rest}"));
        }
        self.mode_on()?;
        self.unhindered("follow-up")?;
        Ok(news)
    }

    /// Whether the loop follows a pull request that the viewer has reviewed: condition (3) of ROUND-10.
    pub(super) fn followed(&self) -> bool {
        self.book.reviewed_by_round || self.book.has_review_workspace || self.settings.followups_without_workspace
    }

    /// A review request that is newer than the viewer's newest review.
    fn asked_again(&self, last: &Review) -> Option<(&ReviewRequest, Option<&str>)> {
        let mut asked = requests(self.detail, self.viewer, &self.settings.admitted_teams);
        asked.retain(|(request, _)| request.requested.as_ref().is_some_and(|made| Some(made.at) > last.submitted_at));
        newest_of(&asked)
    }

    /// What is new since the viewer's newest review, in words: condition (4) of ROUND-10.
    pub(super) fn news(&self, last: &Review) -> Option<String> {
        if let Some((request, team)) = self.asked_again(last) {
            return Some(self.requested("review requested again", request, team));
        }
        if last.state == ReviewState::Dismissed {
            return Some("your verdict was dismissed".to_owned());
        }
        if self.decision().is_some_and(|review| review.state == ReviewState::Approved) {
            return None;
        }
        if last.commit.is_empty() {
            // GitHub forgets a commit that a force push threw away.
            return Some("the commit you reviewed is gone".to_owned());
        }
        if last.commit != self.detail.summary.head {
            return Some(format!("new commits since your review at {}", short(&last.commit)));
        }
        let author = self.detail.author.as_ref()?;
        let threads = self.detail.threads.iter().filter(|thread| started_by(thread, self.viewer));
        let answered = threads.flat_map(|thread| &thread.comments).any(|comment| {
            comment.author.as_ref().is_some_and(|by| by.id == author.id) && Some(comment.created_at) > last.submitted_at
        });
        answered.then(|| format!("{} answered in your thread", author.login))
    }
}

/// The request that words a reason: the newest direct one, else the newest of a team.
fn newest_of<'a>(asked: &[(&'a ReviewRequest, Option<&'a str>)]) -> Option<(&'a ReviewRequest, Option<&'a str>)> {
    let when = |request: &ReviewRequest| request.requested.as_ref().map(|made| made.at);
    asked.iter().copied().max_by_key(|(request, team)| (team.is_none(), when(request)))
}

/// A commit as people write it.
fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}
