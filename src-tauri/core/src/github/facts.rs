//! What follows from a stored pull request, the settings in force for it and the loop's own book: the facts that rules read
//! (GH-FACT). Times are compared by GitHub's clock.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::publish::digest;
use super::{Account, AccountKind, Detail, PullState, Review, ReviewRequest, ReviewState, Reviewer};
use crate::calendar::Calendar;
use crate::rules::value::{Frame, Value};

mod address;
mod rounds;
mod situation;
mod time;
mod words;

pub use address::{Covered, address_key};
pub use situation::Situation;
pub use words::{RowWords, by_hand, row_words};

/// What the loop does with reviews in a repository: `plugins.github.review.mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It plans rounds.
    Act,
    /// It only says what it would do (GH-FACT-31).
    Observe,
    /// Nothing.
    Off,
}

/// Whether drafts are reviewed: `plugins.github.review.drafts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafts {
    /// No.
    Never,
    /// Where the viewer is asked directly.
    Requested,
    /// Yes.
    Always,
}

/// Which teams' requests count as requests to the viewer: `plugins.github.teams`. Names are `org/slug`, in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdmittedTeams {
    /// Every team of the viewer: these.
    All(Vec<String>),
    /// None.
    None,
    /// The ones the configuration lists: these.
    Only(Vec<String>),
}

impl AdmittedTeams {
    /// Whether a request to this team is one to the viewer.
    #[must_use]
    pub fn admits(&self, team: &str) -> bool {
        match self {
            Self::All(teams) | Self::Only(teams) => teams.iter().any(|known| known.eq_ignore_ascii_case(team)),
            Self::None => false,
        }
    }
}

/// The settings in force for the pull request's repository (GH-FACT-46). The default is the one that holds without a configuration,
/// for a viewer without teams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `plugins.github.review.mode`.
    pub review_mode: Mode,
    /// `plugins.github.review.drafts`.
    pub drafts: Drafts,
    /// `plugins.github.review.bot_authors`.
    pub bot_authors: bool,
    /// `plugins.github.review.max_files`; 0 is no limit.
    pub max_files: u64,
    /// `plugins.github.review.settle`: how long a push rests before a follow-up.
    pub settle: SignedDuration,
    /// `plugins.github.rounds.per_head`.
    pub per_head: u32,
    /// `plugins.github.followups_without_workspace`.
    pub followups_without_workspace: bool,
    /// `plugins.github.automated_reviewers`: logins in either spelling (GH-SYNC-48).
    pub automated: Vec<String>,
    /// `plugins.github.teams`.
    pub admitted_teams: AdmittedTeams,
    /// `plugins.github.conflict_window`: how long a conflict may pass by itself.
    pub conflict_window: SignedDuration,
    /// `plugins.github.checks_stalled_after`.
    pub checks_stalled_after: SignedDuration,
    /// `plugins.github.address.mode`.
    pub address_mode: Mode,
    /// `plugins.github.address.settle`: how long the newest review rests before an address round.
    pub address_settle: SignedDuration,
    /// `plugins.github.address_reviews`.
    pub address_reviews: bool,
    /// `plugins.github.address_checks`.
    pub address_checks: bool,
    /// `plugins.github.address_attempts`.
    pub address_attempts: u32,
    /// `plugins.github.address_without_workspace`.
    pub address_without_workspace: bool,
    /// Days and working hours of the person's place.
    pub calendar: Calendar,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            review_mode: Mode::Act,
            drafts: Drafts::Never,
            bot_authors: false,
            max_files: 300,
            settle: SignedDuration::from_mins(10),
            per_head: 2,
            followups_without_workspace: false,
            automated: Vec::new(),
            admitted_teams: AdmittedTeams::All(Vec::new()),
            conflict_window: SignedDuration::from_mins(30),
            checks_stalled_after: SignedDuration::from_hours(2),
            address_mode: Mode::Act,
            address_settle: SignedDuration::from_mins(5),
            address_reviews: true,
            address_checks: true,
            address_attempts: 3,
            address_without_workspace: false,
            calendar: Calendar::default(),
        }
    }
}

impl Settings {
    /// Whether an account is on the list of automated ones.
    #[must_use]
    pub fn lists(&self, account: &Account) -> bool {
        let plain = |login: &str| login.strip_suffix("[bot]").unwrap_or(login).to_lowercase();
        let login = plain(&account.login);
        self.automated.iter().any(|listed| plain(listed) == login)
    }

    /// Whether an account is automated: by its type or by the list, never by its name (GH-SYNC-47).
    #[must_use]
    pub fn is_automated(&self, account: &Account) -> bool {
        account.kind == AccountKind::Bot || self.lists(account)
    }
}

/// A review that the post ledger holds as sent (GH-FACT-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentReview {
    /// Its node id.
    pub remote_id: String,
    /// The commit it was given on.
    pub head: String,
    /// Its state.
    pub state: ReviewState,
    /// When it was sent.
    pub at: Timestamp,
}

/// What the loop itself knows about the unit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Book {
    /// Number and state of the newest turn in `starting`, `sent`, `started` or `asked`.
    pub open_turn: Option<(u64, String)>,
    /// Why the newest turn ended without a record, where it did.
    pub last_failure: Option<String>,
    /// Whether the newest turn is `asked`.
    pub newest_turn_asked: bool,
    /// Automatic rounds on the present head.
    pub rounds_on_head: u32,
    /// The keys of the workflow `review` that were dealt with (ROUND-01).
    pub handled: BTreeSet<String>,
    /// The keys that a skip dealt with.
    pub skipped: BTreeSet<String>,
    /// The reviews that the ledger holds as sent.
    pub sent_reviews: Vec<SentReview>,
    /// Whether the viewer's newest review came from a round.
    pub reviewed_by_round: bool,
    /// Whether a workspace of role `review` is linked.
    pub has_review_workspace: bool,
    /// Whether a workspace of role `author` is linked: the pull request is owned then.
    pub has_author_workspace: bool,
    /// Whether the pull request was taken over.
    pub adopted: bool,
    /// Whether a pause is in force on the unit, its repository or everything.
    pub paused: bool,
    /// Whether the daily cap holds a round of it today (WIN-27).
    pub capped: bool,
    /// Whether the stored detail is too old (GH-FACT-21).
    pub stale: bool,
    /// Why GitHub could not be read, when the last read failed or is blocked.
    pub unread: Option<String>,
    /// When the present head was first seen, by GitHub's clock (GH-SYNC-46). Without it the pull request's last change stands in: no
    /// push is newer.
    pub head_seen_at: Option<Timestamp>,
    /// Since when it conflicts, by GitHub's clock (GH-FACT-15).
    pub conflict_since: Option<Timestamp>,
    /// Whether it is in the inventory.
    pub tracked: bool,
    /// Whether a planned round waits or counts down.
    pub pending: bool,
    /// Whether a review turn is `sent` or `started`; one that is `starting` reads as `sent`.
    pub reviewing: bool,
    /// The marks of the address rounds (ROUND-18).
    pub addressed: Addressed,
    /// The failing checks that the address rounds covered, the newest round first.
    pub address_rounds: Vec<Vec<String>>,
    /// The keys of the workflow `address` that were dealt with (ROUND-03).
    pub address_handled: BTreeSet<String>,
}

/// What the newest address rounds covered (ROUND-18).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addressed {
    /// The time of the newest review that was covered.
    pub reviews: Option<Timestamp>,
    /// The head whose checks were covered.
    pub checks: Option<String>,
    /// The head whose conflict was covered.
    pub conflict: Option<String>,
}

/// Everything the facts are computed from, with what several of them need.
struct View<'a> {
    detail: &'a Detail,
    viewer: &'a Account,
    settings: &'a Settings,
    book: &'a Book,
    /// Now by GitHub's clock (GH-SYNC-45).
    now: Timestamp,
    /// GitHub's reviews and those the ledger knows better.
    reviews: Vec<Review>,
}

/// Every fact of a pull request that follows from its detail, by name (GH-FACT). One whose source is not built yet reads as its
/// type's zero. `now` is by our clock.
#[must_use]
pub fn pull_facts(detail: &Detail, viewer: &Account, settings: &Settings, book: &Book, now: Timestamp) -> Frame {
    let view = View::new(detail, viewer, settings, book, now);
    let mut frame = Frame::new();
    view.plain(&mut frame);
    view.reviewed(&mut frame);
    view.own(&mut frame);
    view.over_time(&mut frame);
    view.row(&mut frame);
    view.rounds(&mut frame);
    view.address(&mut frame);
    frame
}

/// What a review item is known by (ROUND-01): its stage, the head, and the newest review request to the viewer or an admitted team.
#[must_use]
pub fn review_key(detail: &Detail, viewer: &Account, settings: &Settings, stage: &str) -> String {
    let newest = newest_request(detail, viewer, &settings.admitted_teams);
    format!("{stage}:{}:{}", detail.summary.head, newest.unwrap_or("-"))
}

/// The verdict of a reviewer that counts now, by node id (GH-FACT-07): `Approved`, `ChangesRequested`, or none.
#[must_use]
pub fn standing_verdict(reviews: &[Review], account: &str) -> Option<ReviewState> {
    standing(reviews, account).map(|review| review.state)
}

/// The review whose verdict stands.
fn standing<'a>(reviews: &'a [Review], account: &str) -> Option<&'a Review> {
    let verdicts = reviews.iter().filter(|review| match review.state {
        ReviewState::Approved | ReviewState::ChangesRequested | ReviewState::Dismissed => by(review, account),
        ReviewState::Pending | ReviewState::Commented => false,
    });
    newest(verdicts).filter(|review| review.state != ReviewState::Dismissed)
}

fn by(review: &Review, account: &str) -> bool {
    review.author.as_ref().is_some_and(|author| author.id == account)
}

/// The newest of the reviews that were submitted; of one time, the one with the higher database id.
fn newest<'a>(reviews: impl Iterator<Item = &'a Review>) -> Option<&'a Review> {
    let submitted = reviews.filter_map(|review| Some((review.submitted_at?, review)));
    submitted.max_by_key(|(at, review)| (*at, review.database_id)).map(|(_, review)| review)
}

/// The requests that stand and count as requests to the viewer, those to the viewer directly first; a team's comes with its name.
pub(super) fn requests<'a>(
    detail: &'a Detail,
    viewer: &Account,
    teams: &AdmittedTeams,
) -> Vec<(&'a ReviewRequest, Option<&'a str>)> {
    let mut direct = Vec::new();
    let mut team = Vec::new();
    for request in &detail.review_requests {
        match &request.reviewer {
            Reviewer::Account(account) if account.id == viewer.id => direct.push((request, None)),
            Reviewer::Team(name) if teams.admits(name) => team.push((request, Some(name.as_str()))),
            Reviewer::Account(_) | Reviewer::Team(_) => {}
        }
    }
    direct.append(&mut team);
    direct
}

fn newest_request<'a>(detail: &'a Detail, viewer: &Account, teams: &AdmittedTeams) -> Option<&'a str> {
    let dated = requests(detail, viewer, teams).into_iter().filter_map(|(request, _)| request.requested.as_ref());
    dated.max_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id))).map(|asked| asked.id.as_str())
}

/// A length of time in words: `under 1 min`, `12 min`, `3 h` up to two days, then `4 d`.
#[must_use]
pub fn age_words(age: SignedDuration) -> String {
    match age.as_secs() {
        i64::MIN..60 => "under 1 min".to_owned(),
        secs @ 60..3_600 => format!("{} min", secs / 60),
        secs @ 3_600..172_800 => format!("{} h", secs / 3_600),
        secs => format!("{} d", secs / 86_400),
    }
}

fn state_word(state: PullState) -> &'static str {
    match state {
        PullState::Open => "OPEN",
        PullState::Closed => "CLOSED",
        PullState::Merged => "MERGED",
    }
}

fn put(frame: &mut Frame, name: &str, value: Value) {
    frame.insert(name, value);
}

fn text(frame: &mut Frame, name: &str, value: impl Into<String>) {
    put(frame, name, Value::Text(value.into()));
}

fn truth(frame: &mut Frame, name: &str, value: bool) {
    put(frame, name, Value::Bool(value));
}

fn int(frame: &mut Frame, name: &str, value: u64) {
    put(frame, name, Value::Int(i64::try_from(value).unwrap_or(i64::MAX)));
}

impl<'a> View<'a> {
    fn new(detail: &'a Detail, viewer: &'a Account, settings: &'a Settings, book: &'a Book, now: Timestamp) -> Self {
        let skew = SignedDuration::from_millis(detail.skew_ms);
        let now = now.checked_add(skew).unwrap_or(now);
        Self { detail, viewer, settings, book, now, reviews: with_ledger(detail, viewer, book) }
    }

    fn age(&self, since: Timestamp) -> SignedDuration {
        self.now.duration_since(since).max(SignedDuration::ZERO)
    }

    fn mine(&self) -> bool {
        self.detail.author.as_ref().is_some_and(|author| author.id == self.viewer.id)
    }

    fn owned(&self) -> bool {
        self.mine() || self.book.adopted || self.book.has_author_workspace
    }

    fn directly_requested(&self) -> bool {
        requests(self.detail, self.viewer, &AdmittedTeams::None).iter().any(|(_, team)| team.is_none())
    }

    /// The viewer's newest review of any state but pending (GH-FACT-09).
    fn last_review(&self) -> Option<&Review> {
        newest(self.reviews.iter().filter(|review| review.state != ReviewState::Pending && by(review, &self.viewer.id)))
    }

    /// The viewer's standing verdict; on an own pull request there is none (GH-FACT-08).
    fn decision(&self) -> Option<&Review> {
        if self.mine() { None } else { standing(&self.reviews, &self.viewer.id) }
    }

    fn plain(&self, frame: &mut Frame) {
        let Detail { summary, .. } = self.detail;
        text(frame, "pr.repo", summary.repo.to_string());
        text(frame, "pr.repo_name", &summary.repo.name);
        text(frame, "pr.owner", &summary.repo.owner);
        for name in ["pr.slug", "unit.ref", "unit.label"] {
            text(frame, name, self.detail.slug());
        }
        let author = self.detail.author.as_ref().map(|author| author.login.clone());
        text(frame, "pr.author", author.unwrap_or_default());
        truth(frame, "pr.mine", self.mine());
        text(frame, "pr.state", state_word(summary.state));
        truth(frame, "pr.ended", !self.detail.is_open());
        text(frame, "pr.base", &self.detail.base);
        text(frame, "pr.head", &summary.head);
        truth(frame, "pr.draft", summary.draft);
        int(frame, "pr.changed_files", self.detail.changed_files);
        text(frame, "pr.association", &self.detail.association);
        text(frame, "pr.visibility", self.detail.visibility.to_lowercase());
        put(frame, "pr.age", Value::Duration(self.age(self.detail.created_at)));
        let merged = self.detail.merged_at.unwrap_or(Timestamp::UNIX_EPOCH);
        let closed = self.detail.closed_at.unwrap_or(Timestamp::UNIX_EPOCH);
        put(frame, "pr.merged_at", Value::Time(merged));
        put(frame, "pr.closed_at", Value::Time(closed));
        truth(frame, "pr.cross_repository", self.detail.cross_repository || self.detail.head_repo.is_none());
        let mut labels = self.detail.labels.clone();
        labels.sort();
        put(frame, "pr.labels", Value::List(labels));
        let teams = self.detail.review_requests.iter().filter_map(|request| match &request.reviewer {
            Reviewer::Team(team) => Some(team.clone()),
            Reviewer::Account(_) => None,
        });
        let mut teams: Vec<String> = teams.collect();
        teams.sort();
        put(frame, "pr.requested_teams", Value::List(teams));
        truth(frame, "pr.review_requested_me", self.directly_requested());
    }

    fn reviewed(&self, frame: &mut Frame) {
        let last = self.last_review();
        truth(frame, "pr.last_review.exists", last.is_some());
        text(frame, "pr.last_review.verdict", last.map_or("", |review| review.state.as_str()));
        text(frame, "pr.last_review.decision", self.decision().map_or("", |review| review.state.as_str()));
    }

    fn own(&self, frame: &mut Frame) {
        let (seq, state) = match &self.book.open_turn {
            // A turn that is starting reads as sent everywhere (GH-FACT-23).
            Some((seq, state)) if state == "starting" => (*seq, "sent"),
            Some((seq, state)) => (*seq, state.as_str()),
            None => (0, ""),
        };
        text(frame, "pr.open_turn", state);
        int(frame, "pr.open_turn_seq", seq);
        truth(frame, "pr.held", self.book.paused);
        truth(frame, "pr.adopted", self.book.adopted);
        truth(frame, "pr.has_workspace", self.book.has_review_workspace || self.book.has_author_workspace);
        truth(frame, "pr.stale", self.book.stale);
        text(frame, "pr.fingerprint", self.fingerprint());
        // No answer is queued for a turn that is over, as long as turns are not answered while they run.
        int(frame, "pr.orphan_answer_id", 0);
    }

    /// What others have done that a round may answer, as a hash (GH-FACT-24).
    fn fingerprint(&self) -> String {
        let Detail { summary, .. } = self.detail;
        let foreign = |author: &Option<Account>| {
            author.as_ref().is_none_or(|author| {
                author.id != self.viewer.id && (author.kind != AccountKind::Bot || self.settings.lists(author))
            })
        };
        let submitted = self.detail.reviews.iter().filter(|review| {
            let ours = self.book.sent_reviews.iter().any(|sent| sent.remote_id == review.id);
            review.state != ReviewState::Pending && !ours && foreign(&review.author)
        });
        let review = newest(submitted).map(|review| format!("{} {}", review.id, review.state.as_str()));
        let replies = self.detail.threads.iter().flat_map(|thread| &thread.comments);
        let reply = replies
            .filter(|comment| foreign(&comment.author))
            .max_by_key(|comment| (comment.created_at, comment.database_id))
            .map(|comment| comment.id.clone());
        // A running check moves nothing.
        let failing = self.failing_checks().join("\n");
        let request = newest_request(self.detail, self.viewer, &self.settings.admitted_teams);
        digest([
            summary.head.as_str(),
            self.detail.base.as_str(),
            state_word(summary.state),
            if summary.draft { "draft" } else { "ready" },
            review.as_deref().unwrap_or_default(),
            reply.as_deref().unwrap_or_default(),
            failing.as_str(),
            if self.conflicts() { "conflict" } else { "" },
            request.unwrap_or_default(),
            self.book.skipped.len().to_string().as_str(),
        ])
    }
}

/// The reviews as GitHub lists them, and those it leaves out although the ledger holds them as sent (GH-FACT-10, GH-SYNC-26). What
/// GitHub does list counts as GitHub lists it: a dismissal is known only there.
fn with_ledger(detail: &Detail, viewer: &Account, book: &Book) -> Vec<Review> {
    let mut reviews = detail.reviews.clone();
    for sent in &book.sent_reviews {
        if let Some(listed) = reviews.iter_mut().find(|review| review.id == sent.remote_id) {
            listed.commit.clone_from(&sent.head);
            continue;
        }
        reviews.push(Review {
            id: sent.remote_id.clone(),
            // Of two at one time the one that the read does not have yet is the newer.
            database_id: u64::MAX,
            author: Some(viewer.clone()),
            state: sent.state,
            body: String::new(),
            submitted_at: Some(sent.at),
            commit: sent.head.clone(),
            url: String::new(),
        });
    }
    reviews
}

#[cfg(test)]
#[path = "tests_samples.rs"]
pub(super) mod samples;

#[cfg(test)]
#[path = "tests_facts.rs"]
mod tests;

#[cfg(test)]
#[path = "tests_rounds.rs"]
mod tests_rounds;

#[cfg(test)]
#[path = "tests_situations.rs"]
mod tests_situations;

#[cfg(test)]
#[path = "tests_time.rs"]
mod tests_time;

#[cfg(test)]
#[path = "tests_address.rs"]
mod tests_address;

#[cfg(test)]
#[path = "tests_follow_ups.rs"]
mod tests_follow_ups;
