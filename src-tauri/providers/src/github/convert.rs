//! From GitHub's answers to the values of the core: pure. A `null` is absence (GH-SYNC-22); an item that cannot be converted is
//! left out with a note, and everything else is kept (GH-SYNC-27); the order in which GitHub lists things leaves no trace
//! (GH-SYNC-19).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use wloop_core::github::{
    Account, AccountKind, Check, CheckKind, Comment, Detail, Mergeable, PullState, ReadFault, Reason, Requested, Review,
    ReviewRequest, ReviewState, Reviewer, Summary, Thread,
};

use super::shapes;
use crate::port::{FilePatch, HeadNow};

/// What could not be converted, in words.
pub(crate) type Notes = Vec<String>;

/// A clock reading that goes with an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) at: Timestamp,
    pub(crate) skew_ms: i64,
}

fn kind(word: &str) -> Option<AccountKind> {
    match word {
        "User" => Some(AccountKind::User),
        "Bot" => Some(AccountKind::Bot),
        "Organization" => Some(AccountKind::Organization),
        "Mannequin" => Some(AccountKind::Mannequin),
        "EnterpriseUserAccount" => Some(AccountKind::EnterpriseUserAccount),
        _ => None,
    }
}

/// An account in the one spelling of its login (GH-SYNC-48).
fn account(id: String, login: &str, kind: AccountKind) -> Account {
    let suffix = "[bot]";
    let login = match kind {
        AccountKind::Bot if !login.ends_with(suffix) => format!("{login}{suffix}"),
        AccountKind::Bot
        | AccountKind::User
        | AccountKind::Organization
        | AccountKind::Mannequin
        | AccountKind::EnterpriseUserAccount => login.to_owned(),
    };
    Account { id, login, kind }
}

/// An account of GraphQL; one of an unknown kind or without an id counts as gone, with a note.
fn who(who: Option<shapes::Who>, notes: &mut Notes) -> Option<Account> {
    let who = who?;
    match (kind(&who.kind), who.id) {
        (Some(kind), Some(id)) => Some(account(id, &who.login, kind)),
        (None, _) | (_, None) => {
            notes.push(format!("the account `{}` has the unknown kind `{}`", who.login, who.kind));
            None
        }
    }
}

/// The account of the viewer in a GraphQL answer.
pub(crate) fn viewer(value: &Value) -> Result<Account, ReadFault> {
    let mut notes = Notes::new();
    let shape: Option<shapes::Who> = parse(value, "the viewer")?;
    who(shape, &mut notes).ok_or_else(|| ReadFault::Unusable("the answer does not say whose the token is".to_owned()))
}

/// An account of REST.
pub(crate) fn rest_user(user: &shapes::RestUser) -> Option<Account> {
    Some(account(user.node_id.clone(), &user.login, kind(&user.kind)?))
}

/// Reads a shape, naming what it was.
pub(crate) fn parse<T: DeserializeOwned>(value: &Value, what: &str) -> Result<T, ReadFault> {
    T::deserialize(value).map_err(|error| ReadFault::Unusable(format!("{what}: {error}")))
}

/// One node of a search or of a detail, without reasons.
pub(crate) fn summary(value: &Value) -> Result<Summary, ReadFault> {
    let told: shapes::Summary = parse(value, "a pull request")?;
    let state = match told.state.as_str() {
        "OPEN" => PullState::Open,
        "CLOSED" => PullState::Closed,
        "MERGED" => PullState::Merged,
        other => return Err(ReadFault::Unusable(format!("`{}` has the unknown state `{other}`", told.url))),
    };
    let repo = told.repository.name_with_owner.parse().map_err(|error| ReadFault::Unusable(format!("{error}")))?;
    let commits = told.commits.and_then(|c| c.nodes).unwrap_or_default();
    // A rollup of another commit than the head is not the head's (GH-FACT-16).
    let checks = commits
        .into_iter()
        .flatten()
        .find(|node| node.commit.oid == told.head_ref_oid)
        .and_then(|node| node.commit.status_check_rollup)
        .map_or_else(String::new, |rollup| rollup.state.to_ascii_lowercase());
    Ok(Summary {
        id: told.id,
        repo,
        number: told.number,
        title: told.title,
        url: told.url,
        state,
        draft: told.is_draft,
        head: told.head_ref_oid,
        updated_at: told.updated_at,
        mergeable: match told.mergeable.as_str() {
            "MERGEABLE" => Mergeable::Mergeable,
            "CONFLICTING" => Mergeable::Conflicting,
            _ => Mergeable::Unknown,
        },
        checks,
        reasons: Vec::new(),
    })
}

/// Pull requests by node id while the searches of one sweep come in: each once, its reasons united.
#[derive(Debug, Default)]
pub(crate) struct Union {
    found: BTreeMap<String, (Summary, BTreeSet<Reason>)>,
}

impl Union {
    /// Adds what a search returned; of two answers about one pull request the newer one counts.
    pub(crate) fn add(&mut self, summary: Summary, reason: Reason) {
        let entry = self.found.entry(summary.id.clone()).or_insert_with(|| (summary.clone(), BTreeSet::new()));
        entry.1.insert(reason);
        if summary.updated_at > entry.0.updated_at {
            entry.0 = summary;
        }
    }

    /// Whether a search returned it.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.found.contains_key(id)
    }

    /// Adds one that no search returned: it has no reason.
    pub(crate) fn add_watched(&mut self, summary: Summary) {
        self.found.entry(summary.id.clone()).or_insert_with(|| (summary, BTreeSet::new()));
    }

    /// All of them, by repository and number.
    pub(crate) fn finish(self) -> Vec<Summary> {
        let mut all: Vec<Summary> = self
            .found
            .into_values()
            .map(|(summary, reasons)| Summary { reasons: reasons.into_iter().collect(), ..summary })
            .collect();
        all.sort_by(|a, b| (&a.repo, a.number).cmp(&(&b.repo, b.number)));
        all
    }
}

/// The nodes of a complete connection that could be converted.
fn nodes<T: DeserializeOwned>(parent: &Value, connection: &str, notes: &mut Notes) -> Vec<T> {
    let list = parent.get(connection).and_then(|c| c.get("nodes")).and_then(Value::as_array);
    let mut read = Vec::new();
    for node in list.into_iter().flatten().filter(|node| !node.is_null()) {
        match T::deserialize(node) {
            Ok(item) => read.push(item),
            Err(error) => {
                let id = node.get("id").and_then(Value::as_str).unwrap_or("without an id");
                notes.push(format!("one of `{connection}` ({id}) was left out: {error}"));
            }
        }
    }
    read
}

fn reviewer(asked: Option<shapes::Asked>) -> Option<(String, Reviewer)> {
    let asked = asked?;
    match (asked.team, kind(&asked.kind), asked.id, asked.login) {
        (Some(slug), ..) => Some((format!("team:{}", slug.to_ascii_lowercase()), Reviewer::Team(slug))),
        (None, Some(kind), Some(id), Some(login)) => Some((id.clone(), Reviewer::Account(account(id, &login, kind)))),
        (None, ..) => None,
    }
}

/// What the timeline tells of a pull request.
#[derive(Default)]
struct Timeline {
    /// The newest act of requesting, by reviewer.
    requested: BTreeMap<String, Requested>,
    /// When a review was last requested from anyone.
    last_requested_at: Option<Timestamp>,
    /// When the force push happened that made the head.
    head_forced_at: Option<Timestamp>,
}

fn timeline(pull: &Value, head: &str, notes: &mut Notes) -> Timeline {
    let mut told = Timeline::default();
    let newest = &mut told.requested;
    for event in nodes::<shapes::TimelineItem>(pull, "timelineItems", notes) {
        if event.kind == "HeadRefForcePushedEvent" {
            if event.after_commit.is_some_and(|commit| commit.oid == head) {
                told.head_forced_at = told.head_forced_at.max(Some(event.created_at));
            }
            continue;
        }
        told.last_requested_at = told.last_requested_at.max(Some(event.created_at));
        let Some((key, _)) = reviewer(event.requested_reviewer) else { continue };
        let by = who(event.actor, notes).map_or_else(String::new, |account| account.login);
        let act = Requested { id: event.id, by, at: event.created_at };
        match newest.get(&key) {
            Some(known) if (known.at, &known.id) >= (act.at, &act.id) => {}
            Some(_) | None => {
                newest.insert(key, act);
            }
        }
    }
    told
}

/// The requests that stand, each with the newest act of requesting that same reviewer.
fn review_requests(pull: &Value, newest: &BTreeMap<String, Requested>, notes: &mut Notes) -> Vec<ReviewRequest> {
    let mut standing: BTreeMap<String, ReviewRequest> = BTreeMap::new();
    for request in nodes::<shapes::ReviewRequest>(pull, "reviewRequests", notes) {
        if let Some((key, reviewer)) = reviewer(request.requested_reviewer) {
            let requested = newest.get(&key).cloned();
            standing.insert(key, ReviewRequest { reviewer, requested });
        }
    }
    standing.into_values().collect()
}

fn reviews(pull: &Value, notes: &mut Notes) -> Vec<Review> {
    let mut all: BTreeMap<String, Review> = BTreeMap::new();
    for told in nodes::<shapes::Review>(pull, "reviews", notes) {
        let state = match told.state.as_str() {
            "PENDING" => ReviewState::Pending,
            "COMMENTED" => ReviewState::Commented,
            "APPROVED" => ReviewState::Approved,
            "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
            "DISMISSED" => ReviewState::Dismissed,
            other => {
                notes.push(format!("the review `{}` was left out: unknown state `{other}`", told.url));
                continue;
            }
        };
        let review = Review {
            id: told.id.clone(),
            database_id: told.full_database_id.unwrap_or(0),
            author: who(told.author, notes),
            state,
            body: told.body.unwrap_or_default(),
            submitted_at: told.submitted_at,
            commit: told.commit.map_or_else(String::new, |commit| commit.oid),
            url: told.url,
        };
        all.insert(told.id, review);
    }
    let mut sorted: Vec<Review> = all.into_values().collect();
    // A pending one has no time and comes last.
    sorted.sort_by_key(|r| (r.submitted_at.unwrap_or(Timestamp::MAX), r.database_id));
    sorted
}

fn comments(parent: &Value, notes: &mut Notes) -> Vec<Comment> {
    let mut all: BTreeMap<String, Comment> = BTreeMap::new();
    for told in nodes::<shapes::Comment>(parent, "comments", notes) {
        let comment = Comment {
            id: told.id.clone(),
            database_id: told.full_database_id.unwrap_or(0),
            author: who(told.author, notes),
            body: told.body.unwrap_or_default(),
            created_at: told.created_at,
            url: told.url,
            review: told.pull_request_review.map_or_else(String::new, |review| review.id),
        };
        all.insert(told.id, comment);
    }
    let mut sorted: Vec<Comment> = all.into_values().collect();
    sorted.sort_by_key(|c| (c.created_at, c.database_id));
    sorted
}

fn threads(pull: &Value, notes: &mut Notes) -> Vec<Thread> {
    let mut all: BTreeMap<String, Thread> = BTreeMap::new();
    for node in nodes::<Value>(pull, "reviewThreads", notes) {
        match parse::<shapes::Thread>(&node, "a review thread") {
            Ok(told) => {
                let thread = Thread {
                    id: told.id.clone(),
                    resolved: told.is_resolved,
                    outdated: told.is_outdated,
                    path: told.path,
                    line: told.line,
                    comments: comments(&node, notes),
                };
                all.insert(told.id, thread);
            }
            Err(fault) => notes.push(fault.to_string()),
        }
    }
    let mut sorted: Vec<Thread> = all.into_values().collect();
    sorted.sort_by_key(|t| t.comments.first().map(|c| (c.created_at, c.database_id)));
    sorted
}

/// The checks of the commit that is the head; what a rollup of another commit holds is not the head's (GH-FACT-16).
fn checks(pull: &Value, head: &str, notes: &mut Notes) -> Vec<Check> {
    let commits = pull.pointer("/commits/nodes").and_then(Value::as_array);
    let of_head = |node: &&Value| node.pointer("/commit/oid").and_then(Value::as_str) == Some(head);
    let rollup = commits.into_iter().flatten().find(of_head).and_then(|node| node.pointer("/commit/statusCheckRollup"));
    let mut all: Vec<Check> = nodes::<shapes::Check>(rollup.unwrap_or(&Value::Null), "contexts", notes)
        .into_iter()
        .map(|told| match told {
            shapes::Check::Run { database_id, name, status, conclusion, started_at, completed_at, check_suite } => Check {
                kind: CheckKind::Run,
                app: check_suite.and_then(|suite| suite.app).and_then(|app| app.slug).unwrap_or_default(),
                name,
                outcome: if status == "COMPLETED" { conclusion.unwrap_or_else(|| "NEUTRAL".to_owned()) } else { String::new() },
                started_at,
                completed_at,
                database_id: database_id.unwrap_or(0),
            },
            shapes::Check::Context { context, state, created_at } => Check {
                kind: CheckKind::Context,
                app: String::new(),
                name: context,
                outcome: state,
                started_at: Some(created_at),
                completed_at: None,
                database_id: 0,
            },
        })
        .collect();
    all.sort_by(|a, b| {
        (a.kind, &a.app, &a.name, a.started_at, a.database_id).cmp(&(b.kind, &b.app, &b.name, b.started_at, b.database_id))
    });
    all
}

/// Whether the viewer may push to the head's branch: by their own rights there, or because the author lets maintainers of the base.
fn can_push(base: &shapes::Repository, head: Option<&shapes::Repository>, maintainers: bool) -> bool {
    let writes =
        |repository: &shapes::Repository| matches!(repository.viewer_permission.as_deref(), Some("ADMIN" | "MAINTAIN" | "WRITE"));
    head.is_some_and(|head| writes(head) || (maintainers && writes(base))) && base.is_archived != Some(true)
}

/// A pull request whose connections are complete.
pub(crate) fn detail(pull: &Value, read: Read, notes: &mut Notes) -> Result<Detail, ReadFault> {
    let summary = summary(pull)?;
    let plain: shapes::Plain = parse(pull, "a pull request")?;
    let repository: shapes::Repository = parse(pull.get("repository").unwrap_or(&Value::Null), "its repository")?;
    let mut labels: Vec<String> = nodes::<shapes::Label>(pull, "labels", notes).into_iter().map(|label| label.name).collect();
    labels.sort();
    labels.dedup();
    let mut assignees: Vec<Account> =
        nodes::<shapes::Who>(pull, "assignees", notes).into_iter().filter_map(|told| who(Some(told), notes)).collect();
    assignees.sort_by(|a, b| (&a.login, &a.id).cmp(&(&b.login, &b.id)));
    assignees.dedup();
    let maintainer_can_modify = plain.maintainer_can_modify.unwrap_or(false);
    let can_push = can_push(&repository, plain.head_repository.as_ref(), maintainer_can_modify);
    let head_repo = plain.head_repository.map(|repository| repository.name_with_owner);
    let timeline = timeline(pull, &summary.head, notes);
    Ok(Detail {
        body: plain.body.unwrap_or_default(),
        author: who(plain.author, notes),
        association: plain.author_association.unwrap_or_default(),
        created_at: plain.created_at,
        merged_at: plain.merged_at,
        closed_at: plain.closed_at,
        base: plain.base_ref_name,
        base_oid: plain.base_ref_oid,
        head_branch: plain.head_ref_name,
        cross_repository: plain.is_cross_repository || head_repo.is_none(),
        head_repo,
        visibility: repository.visibility.unwrap_or_default().to_ascii_lowercase(),
        archived: repository.is_archived.unwrap_or(false),
        locked: plain.locked,
        changed_files: plain.changed_files,
        review_decision: plain.review_decision.unwrap_or_default(),
        labels,
        assignees,
        review_requests: review_requests(pull, &timeline.requested, notes),
        reviews: reviews(pull, notes),
        threads: threads(pull, notes),
        comments: comments(pull, notes),
        checks: checks(pull, &summary.head, notes),
        last_requested_at: timeline.last_requested_at,
        head_forced_at: timeline.head_forced_at,
        maintainer_can_modify,
        can_push,
        read_at: read.at,
        skew_ms: read.skew_ms,
        summary,
    })
}

/// A pull request of REST, as far as a post depends on it.
pub(crate) fn head_now(value: &Value) -> Result<HeadNow, ReadFault> {
    let pull: shapes::RestPull = parse(value, "a pull request")?;
    let state = match (pull.state.as_str(), pull.merged_at) {
        ("open", _) => PullState::Open,
        ("closed", None) => PullState::Closed,
        ("closed", Some(_)) => PullState::Merged,
        (other, _) => return Err(ReadFault::Unusable(format!("a pull request of the unknown state `{other}`"))),
    };
    Ok(HeadNow {
        id: pull.node_id,
        head: pull.head.sha,
        state,
        draft: pull.draft.unwrap_or(false),
        locked: pull.locked,
        archived: pull.base.repo.is_some_and(|repo| repo.archived),
    })
}

/// A changed file of REST.
pub(crate) fn file_patch(value: &Value) -> Result<FilePatch, ReadFault> {
    let file: shapes::RestFile = parse(value, "a changed file")?;
    Ok(FilePatch { path: file.filename, previous_path: file.previous_filename, status: file.status, patch: file.patch })
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
