//! A pull request of the author `ana` in `acme/app`, reviewed by `viewer`, for the tests of this folder.

use jiff::{SignedDuration, Timestamp};

use super::{Book, SentReview, Settings};
use crate::github::{
    Account, AccountKind, Check, CheckKind, Comment, Detail, Mergeable, PullState, RepoName, Requested, Review, ReviewRequest,
    ReviewState, Reviewer, Summary, Thread,
};

pub(crate) const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
pub(crate) const OLD: &str = "0123456789012345678901234567890123456789";

/// A time, in minutes after the pull request was opened.
pub(crate) fn at(minutes: i64) -> Timestamp {
    let opened: Timestamp = "2026-03-02T09:00:00Z".parse().unwrap();
    opened + SignedDuration::from_mins(minutes)
}

/// When the facts are asked for.
pub(crate) fn now() -> Timestamp {
    at(600)
}

pub(crate) fn account(login: &str) -> Account {
    let kind = if login.ends_with("[bot]") { AccountKind::Bot } else { AccountKind::User };
    Account { id: format!("U_{login}"), login: login.to_owned(), kind }
}

pub(crate) fn viewer() -> Account {
    account("viewer")
}

pub(crate) fn settings() -> Settings {
    Settings::default()
}

pub(crate) fn book() -> Book {
    Book::default()
}

/// Open, ready, its review requested from the viewer by `ana` three hours before `now`.
pub(crate) fn pull() -> Detail {
    Detail {
        summary: Summary {
            id: "PR_1".into(),
            repo: RepoName { owner: "acme".into(), name: "app".into() },
            number: 7,
            title: "Count the gulls".into(),
            url: "https://github.test/acme/app/pull/7".into(),
            state: PullState::Open,
            draft: false,
            head: HEAD.into(),
            updated_at: at(420),
            mergeable: Mergeable::Mergeable,
            checks: "success".into(),
            reasons: vec![],
        },
        body: "What and why".into(),
        author: Some(account("ana")),
        association: "MEMBER".into(),
        created_at: at(0),
        merged_at: None,
        closed_at: None,
        base: "main".into(),
        base_oid: "b".into(),
        head_branch: "gulls".into(),
        head_repo: Some("acme/app".into()),
        cross_repository: false,
        visibility: "private".into(),
        archived: false,
        locked: false,
        changed_files: 3,
        review_decision: String::new(),
        labels: vec![],
        assignees: vec![],
        review_requests: vec![direct("RR_1", 420)],
        reviews: vec![],
        threads: vec![],
        comments: vec![],
        checks: vec![],
        last_requested_at: None,
        head_forced_at: None,
        maintainer_can_modify: false,
        can_push: true,
        read_at: at(599),
        skew_ms: 0,
    }
}

/// One that the viewer commented on at `OLD`, two hours before `now`: the request is gone with it, the head has moved.
pub(crate) fn reviewed_pull() -> Detail {
    let mut pull = pull();
    pull.review_requests.clear();
    pull.reviews = vec![review("viewer", ReviewState::Commented, 480)];
    pull.summary.updated_at = at(500);
    pull
}

pub(crate) fn direct(id: &str, minutes: i64) -> ReviewRequest {
    ReviewRequest { reviewer: Reviewer::Account(viewer()), requested: Some(requested(id, minutes)) }
}

pub(crate) fn of_team(team: &str, id: &str, minutes: i64) -> ReviewRequest {
    ReviewRequest { reviewer: Reviewer::Team(team.into()), requested: Some(requested(id, minutes)) }
}

fn requested(id: &str, minutes: i64) -> Requested {
    Requested { id: id.into(), by: "ana".into(), at: at(minutes) }
}

pub(crate) fn review(login: &str, state: ReviewState, minutes: i64) -> Review {
    Review {
        id: format!("R_{login}_{minutes}"),
        database_id: u64::try_from(minutes).unwrap(),
        author: Some(account(login)),
        state,
        body: String::new(),
        submitted_at: (state != ReviewState::Pending).then(|| at(minutes)),
        commit: OLD.into(),
        url: String::new(),
    }
}

pub(crate) fn sent(remote_id: &str, state: ReviewState, minutes: i64) -> SentReview {
    SentReview { remote_id: remote_id.into(), head: HEAD.into(), state, at: at(minutes) }
}

pub(crate) fn comment(login: &str, body: &str, minutes: i64) -> Comment {
    Comment {
        id: format!("C_{login}_{minutes}"),
        database_id: u64::try_from(minutes).unwrap(),
        author: Some(account(login)),
        body: body.into(),
        created_at: at(minutes),
        url: format!("https://github.test/acme/app/pull/7#c{minutes}"),
        review: String::new(),
    }
}

pub(crate) fn thread(comments: Vec<Comment>) -> Thread {
    Thread { id: "T_1".into(), resolved: false, outdated: false, path: "src/gulls.rs".into(), line: Some(12), comments }
}

/// A check run of the app `ci`; without a conclusion it runs.
pub(crate) fn check(name: &str, conclusion: &str, minutes: i64) -> Check {
    Check {
        kind: CheckKind::Run,
        app: "ci".into(),
        name: name.into(),
        outcome: conclusion.into(),
        started_at: Some(at(minutes)),
        completed_at: (!conclusion.is_empty()).then(|| at(minutes + 1)),
        database_id: u64::try_from(minutes).unwrap(),
    }
}

pub(crate) fn status(context: &str, state: &str, minutes: i64) -> Check {
    let kind = CheckKind::Context;
    Check { kind, app: String::new(), completed_at: None, database_id: 0, ..check(context, state, minutes) }
}

/// One of the viewer's own, without requests.
pub(crate) fn own_pull() -> Detail {
    Detail { author: Some(viewer()), review_requests: vec![], ..pull() }
}

/// A comment that came with a review.
pub(crate) fn comment_of(review: &Review, body: &str, minutes: i64) -> Comment {
    let login = review.author.as_ref().map_or("ghost", |author| author.login.as_str());
    Comment { review: review.id.clone(), ..comment(login, body, minutes) }
}
