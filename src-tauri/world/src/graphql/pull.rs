//! The fields of a pull request and of what hangs on it.

use std::collections::BTreeMap;

use apollo_compiler::resolvers::{FieldError, ResolveInfo};
use serde_json::{Value, json};

use super::objects::{Ctx, Obj, account, state_word, team};
use crate::clock::iso;
use crate::model::{
    AccountIx, Check, CheckOutcome, Comment, Event, Happening, InlineComment, Pull, PullState, Repo, Request, Review,
    ReviewState, Reviewer, Thread,
};

/// The words of a list argument such as `states`; none when it was not given.
fn words<'i>(info: &'i ResolveInfo<'_>, name: &str) -> Option<Vec<&'i str>> {
    let items = info.arguments().get(name)?.as_array()?;
    Some(items.iter().filter_map(|item| item.as_str()).collect())
}

pub(crate) fn field(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, info: &ResolveInfo<'_>) -> Result<Value, FieldError> {
    let web = || format!("{}/{}/pull/{}", ctx.base, repo.full_name, pull.number);
    Ok(match info.field_name() {
        "id" => json!(pull.node_id),
        "databaseId" => json!(pull.id),
        "fullDatabaseId" => json!(pull.id.to_string()),
        "number" => json!(pull.number),
        "title" => json!(pull.title),
        "titleHTML" => json!(crate::web::escape(&pull.title)),
        "body" | "bodyText" => json!(pull.body),
        "bodyHTML" => json!(crate::web::escape(&pull.body)),
        "url" | "permalink" => json!(web()),
        "resourcePath" => json!(format!("/{}/pull/{}", repo.full_name, pull.number)),
        "state" => json!(state_word(pull.state)),
        "isDraft" => json!(pull.draft),
        "closed" => json!(pull.state != PullState::Open),
        "merged" => json!(pull.state == PullState::Merged),
        "isCrossRepository" => json!(pull.cross_repository),
        "createdAt" | "publishedAt" => json!(iso(pull.created_at)),
        "updatedAt" => json!(iso(pull.updated_at)),
        "mergedAt" => json!(pull.merged_at.map(iso)),
        "closedAt" => json!(pull.closed_at.map(iso)),
        "mergedBy" => pull.merged_by.map_or(Value::Null, |ix| account(ctx, ix)),
        "mergeCommit" => pull.merge_commit.as_ref().map_or(Value::Null, |sha| json!({"$commit": [repo.full_name, sha]})),
        "headRefOid" => json!(pull.head_sha),
        "headRefName" => json!(pull.head_ref),
        "headRef" => git_ref(repo, pull, &pull.head_ref, &pull.head_sha),
        "baseRefName" => json!(pull.base_ref),
        "baseRefOid" => json!(pull.base_sha),
        "baseRef" => git_ref(repo, pull, &pull.base_ref, &pull.base_sha),
        "headRepository" => head_repository(ctx, repo, pull),
        "headRepositoryOwner" => {
            if pull.cross_repository && pull.fork_deleted {
                Value::Null
            } else {
                account(ctx, if pull.cross_repository { pull.author } else { repo.owner })
            }
        }
        "repository" | "baseRepository" => json!({"$repo": [repo.full_name]}),
        "mergeable" => json!(mergeable(pull)),
        "mergeStateStatus" => json!(match mergeable(pull) {
            "MERGEABLE" if pull.draft => "DRAFT",
            "MERGEABLE" => "CLEAN",
            "CONFLICTING" => "DIRTY",
            _ => "UNKNOWN",
        }),
        "reviewDecision" => json!(ctx.state.review_decision(repo, pull)),
        "changedFiles" => json!(pull.files.len()),
        "additions" => json!(pull.additions()),
        "deletions" => json!(pull.deletions()),
        "locked" => json!(pull.locked),
        "activeLockReason" | "milestone" | "autoMergeRequest" | "editor" | "lastEditedAt" => Value::Null,
        "author" => account(ctx, pull.author),
        "authorAssociation" => json!(ctx.state.association(repo, pull, pull.author)),
        "maintainerCanModify" => json!(pull.cross_repository),
        "isInMergeQueue" | "isMergeQueueEnabled" | "includesCreatedEdit" | "createdViaEmail" => json!(false),
        "viewerDidAuthor" => json!(pull.author == ctx.viewer),
        "viewerCanUpdate" | "viewerCanReact" | "viewerCanSubscribe" => json!(true),
        "totalCommentsCount" => json!(pull.comments.len() + pull.inline_published().count()),
        "labels" => pull
            .labels
            .iter()
            .map(|label| {
                json!({
                    "id": label.node_id, "name": label.name, "color": "ededed", "description": null, "isDefault": false,
                    "url": format!("{}/{}/labels/{}", ctx.base, repo.full_name, label.name),
                })
            })
            .collect(),
        "assignees" => pull.assignees.iter().map(|ix| account(ctx, *ix)).filter(|held| !held.is_null()).collect(),
        "participants" => participants(ctx, pull),
        "reviewRequests" => pull.requests.iter().map(|held| request(ctx, repo, pull, held)).collect(),
        "reviews" => {
            let states = words(info, "states");
            let author = info.arguments().get("author").and_then(|value| value.as_str());
            let fits = |held: &&Review| {
                states.as_ref().is_none_or(|states| states.contains(&held.state.as_str()))
                    && author.is_none_or(|login| ctx.state.account_ix(login) == Some(held.author))
            };
            pull.reviews_for(Some(ctx.viewer)).filter(fits).map(|held| review_ref(repo, pull, held.id)).collect()
        }
        "latestReviews" => latest(repo, pull, false),
        "latestOpinionatedReviews" => latest(repo, pull, true),
        "viewerLatestReview" => pull
            .reviews_for(Some(ctx.viewer))
            .filter(|held| held.author == ctx.viewer)
            .last()
            .map_or(Value::Null, |held| review_ref(repo, pull, held.id)),
        "viewerLatestReviewRequest" => pull
            .requests
            .iter()
            .rfind(|held| held.reviewer == Reviewer::User(ctx.viewer))
            .map_or(Value::Null, |held| request(ctx, repo, pull, held)),
        "reviewThreads" => pull.threads.iter().filter_map(|held| thread(ctx, repo, pull, held)).collect(),
        "comments" => pull.comments.iter().map(|held| comment(ctx, repo, pull, held)).collect(),
        "commits" => pull.commits.iter().map(|sha| pull_commit(repo, pull, sha)).collect(),
        "files" => pull
            .files
            .iter()
            .map(|file| {
                json!({
                    "path": file.path, "additions": file.additions, "deletions": file.deletions,
                    "viewerViewedState": "UNVIEWED",
                    "changeType": match file.status {
                        "added" => "ADDED",
                        "removed" => "DELETED",
                        "renamed" => "RENAMED",
                        _ => "MODIFIED",
                    },
                })
            })
            .collect(),
        "statusCheckRollup" => rollup(ctx, repo, &pull.head_sha),
        "timelineItems" => timeline(ctx, repo, pull, info),
        name => return Err(Obj::not_held("PullRequest", name)),
    })
}

fn git_ref(repo: &Repo, pull: &Pull, name: &str, sha: &str) -> Value {
    json!({
        "id": format!("REF_{}_{name}", pull.node_id), "name": name, "prefix": "refs/heads/",
        "target": {"$commit": [repo.full_name, sha]}, "repository": {"$repo": [repo.full_name]},
    })
}

fn mergeable(pull: &Pull) -> &'static str {
    if pull.state != PullState::Open {
        return "UNKNOWN";
    }
    match pull.mergeable_held.unwrap_or(pull.mergeable) {
        Some(true) => "MERGEABLE",
        Some(false) => "CONFLICTING",
        None => "UNKNOWN",
    }
}

fn head_repository(ctx: Ctx<'_>, repo: &Repo, pull: &Pull) -> Value {
    if !pull.cross_repository {
        return json!({"$repo": [repo.full_name]});
    }
    let owner = account(ctx, pull.author);
    if pull.fork_deleted || owner.is_null() {
        return Value::Null;
    }
    let full_name = format!("{}/{}", ctx.state.login(pull.author), repo.name);
    json!({
        "id": format!("{}F", repo.node_id), "name": repo.name, "nameWithOwner": full_name, "owner": owner,
        "url": format!("{}/{full_name}", ctx.base), "isFork": true, "isArchived": false, "isPrivate": !repo.public,
        "visibility": if repo.public { "PUBLIC" } else { "PRIVATE" }, "parent": {"$repo": [repo.full_name]},
        "viewerPermission": if pull.author == ctx.viewer { "ADMIN" } else { "READ" },
    })
}

fn participants(ctx: Ctx<'_>, pull: &Pull) -> Value {
    let mut seen: Vec<AccountIx> = vec![pull.author];
    let published = pull.reviews_for(None).map(|held| held.author);
    for ix in pull.comments.iter().map(|held| held.author).chain(published) {
        if !seen.contains(&ix) {
            seen.push(ix);
        }
    }
    seen.into_iter().map(|ix| account(ctx, ix)).filter(|held| held["__typename"] == "User").collect()
}

fn reviewer(ctx: Ctx<'_>, held: Reviewer) -> Value {
    match held {
        Reviewer::User(ix) => account(ctx, ix),
        Reviewer::Team(ix) => ctx.state.teams.get(ix).map_or(Value::Null, |held| team(ctx, held)),
    }
}

fn request(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, held: &Request) -> Value {
    json!({
        "__typename": "ReviewRequest", "id": held.node_id, "databaseId": held.id, "asCodeOwner": false,
        "requestedReviewer": reviewer(ctx, held.reviewer), "pullRequest": {"$pull": [repo.full_name, pull.number]},
    })
}

fn review_ref(repo: &Repo, pull: &Pull, id: u64) -> Value {
    json!({"$review": [repo.full_name, pull.number, id]})
}

/// The newest review of each account, or its newest with a verdict.
fn latest(repo: &Repo, pull: &Pull, opinionated: bool) -> Value {
    let mut newest: BTreeMap<AccountIx, u64> = BTreeMap::new();
    for held in pull.reviews_for(None) {
        if !opinionated || matches!(held.state, ReviewState::Approved | ReviewState::ChangesRequested) {
            newest.insert(held.author, held.id);
        }
    }
    let mut ids: Vec<u64> = newest.into_values().collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| review_ref(repo, pull, id)).collect()
}

pub(crate) fn review(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, held: &Review) -> Value {
    let web = format!("{}/{}/pull/{}#pullrequestreview-{}", ctx.base, repo.full_name, pull.number, held.id);
    let comments = pull.inline.iter().filter(|comment| comment.review == held.id);
    json!({
        "__typename": "PullRequestReview", "id": held.node_id, "databaseId": held.id,
        "fullDatabaseId": held.id.to_string(), "state": held.state.as_str(), "body": held.body,
        "bodyText": held.body, "bodyHTML": crate::web::escape(&held.body), "createdAt": iso(held.created_at),
        "updatedAt": iso(held.updated_at), "submittedAt": held.submitted_at.map(iso),
        "publishedAt": held.submitted_at.map(iso), "url": web, "author": account(ctx, held.author),
        "authorAssociation": ctx.state.association(repo, pull, held.author), "authorCanPushToRepository": true,
        "commit": {"$commit": [repo.full_name, held.commit]}, "isMinimized": false, "onBehalfOf": [],
        "viewerDidAuthor": held.author == ctx.viewer, "lastEditedAt": null, "editor": null,
        "includesCreatedEdit": false, "pullRequest": {"$pull": [repo.full_name, pull.number]},
        "repository": {"$repo": [repo.full_name]},
        "comments": comments.map(|comment| inline_ref(repo, pull, comment.id)).collect::<Vec<_>>(),
    })
}

fn inline_ref(repo: &Repo, pull: &Pull, id: u64) -> Value {
    json!({"$inline": [repo.full_name, pull.number, id]})
}

pub(crate) fn inline(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, held: &InlineComment) -> Value {
    let web = format!("{}/{}/pull/{}#discussion_r{}", ctx.base, repo.full_name, pull.number, held.id);
    json!({
        "__typename": "PullRequestReviewComment", "id": held.node_id, "databaseId": held.id,
        "fullDatabaseId": held.id.to_string(), "body": held.body, "bodyText": held.body,
        "bodyHTML": crate::web::escape(&held.body), "author": account(ctx, held.author),
        "authorAssociation": ctx.state.association(repo, pull, held.author), "createdAt": iso(held.created_at),
        "updatedAt": iso(held.updated_at), "publishedAt": iso(held.created_at), "url": web, "path": held.path,
        "line": held.line, "startLine": held.start_line, "originalLine": held.original_line,
        "originalStartLine": held.original_start_line, "position": held.position,
        "originalPosition": held.original_position, "diffHunk": held.hunk, "outdated": held.line.is_none(),
        "replyTo": held.in_reply_to.map(|id| inline_ref(repo, pull, id)),
        "commit": {"$commit": [repo.full_name, held.commit]},
        "originalCommit": {"$commit": [repo.full_name, held.original_commit]},
        "pullRequestReview": review_ref(repo, pull, held.review), "subjectType": "LINE", "isMinimized": false,
        "state": if pull.is_published(held) { "SUBMITTED" } else { "PENDING" },
        "viewerDidAuthor": held.author == ctx.viewer, "lastEditedAt": null, "editor": null,
        "pullRequest": {"$pull": [repo.full_name, pull.number]}, "repository": {"$repo": [repo.full_name]},
    })
}

/// A thread; none when its first comment is in another's pending review.
fn thread(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, held: &Thread) -> Option<Value> {
    let visible = |comment: &&InlineComment| pull.is_published(comment) || comment.author == ctx.viewer;
    let root = pull.inline_comment(held.root).filter(visible)?;
    let comments = pull.inline.iter().filter(visible);
    let comments = comments.filter(|comment| comment.id == held.root || comment.in_reply_to == Some(held.root));
    Some(json!({
        "__typename": "PullRequestReviewThread", "id": held.node_id, "isResolved": held.resolved_by.is_some(),
        "isOutdated": root.line.is_none(), "isCollapsed": held.resolved_by.is_some(), "path": root.path,
        "line": root.line, "startLine": root.start_line, "originalLine": root.original_line,
        "originalStartLine": root.original_start_line, "diffSide": root.side.as_str(),
        "startDiffSide": root.original_start_line.map(|_| root.side.as_str()), "subjectType": "LINE",
        "resolvedBy": held.resolved_by.map(|ix| account(ctx, ix)), "viewerCanReply": true,
        "viewerCanResolve": held.resolved_by.is_none(), "viewerCanUnresolve": held.resolved_by.is_some(),
        "comments": comments.map(|comment| inline_ref(repo, pull, comment.id)).collect::<Vec<_>>(),
        "pullRequest": {"$pull": [repo.full_name, pull.number]}, "repository": {"$repo": [repo.full_name]},
    }))
}

fn comment(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, held: &Comment) -> Value {
    let web = format!("{}/{}/pull/{}#issuecomment-{}", ctx.base, repo.full_name, pull.number, held.id);
    json!({
        "__typename": "IssueComment", "id": held.node_id, "databaseId": held.id,
        "fullDatabaseId": held.id.to_string(), "body": held.body, "bodyText": held.body,
        "bodyHTML": crate::web::escape(&held.body), "author": account(ctx, held.author),
        "authorAssociation": ctx.state.association(repo, pull, held.author), "createdAt": iso(held.created_at),
        "updatedAt": iso(held.updated_at), "publishedAt": iso(held.created_at), "url": web, "isMinimized": false,
        "viewerDidAuthor": held.author == ctx.viewer, "lastEditedAt": null, "editor": null,
        "pullRequest": {"$pull": [repo.full_name, pull.number]}, "repository": {"$repo": [repo.full_name]},
    })
}

fn pull_commit(repo: &Repo, pull: &Pull, sha: &str) -> Value {
    json!({
        "__typename": "PullRequestCommit", "id": format!("PURC_{}_{sha}", pull.node_id),
        "commit": {"$commit": [repo.full_name, sha]}, "pullRequest": {"$pull": [repo.full_name, pull.number]},
    })
}

pub(crate) fn commit(ctx: Ctx<'_>, repo: &Repo, sha: &str) -> Value {
    let Some(held) = repo.commits.get(sha).cloned().or_else(|| repo.git.info(sha)) else { return Value::Null };
    let at = jiff::Timestamp::from_second(held.at).map_or_else(|_| iso(repo.created_at), iso);
    let user = ctx.state.account_ix(&held.author).map_or(Value::Null, |ix| account(ctx, ix));
    let user = if user["__typename"] == "User" { user } else { Value::Null };
    let who = json!({"name": held.author, "email": held.email, "date": at, "user": user});
    json!({
        "__typename": "Commit", "id": format!("C_kw{sha}"), "oid": sha, "abbreviatedOid": sha.get(..7),
        "message": held.message, "messageHeadline": held.message.lines().next().unwrap_or_default(),
        "committedDate": at, "authoredDate": at, "author": who, "committer": who,
        "url": format!("{}/{}/commit/{sha}", ctx.base, repo.full_name), "repository": {"$repo": [repo.full_name]},
        "parents": held.parents.iter().map(|sha| json!({"$commit": [repo.full_name, sha]})).collect::<Vec<_>>(),
        "statusCheckRollup": rollup(ctx, repo, sha),
    })
}

fn rollup(ctx: Ctx<'_>, repo: &Repo, sha: &str) -> Value {
    let checks = repo.checks_on(sha);
    if checks.is_empty() {
        return Value::Null;
    }
    let words: Vec<&str> = checks.iter().map(|check| rollup_word(&check.outcome)).collect();
    let state = ["ERROR", "FAILURE", "PENDING"].into_iter().find(|word| words.contains(word)).unwrap_or("SUCCESS");
    json!({
        "__typename": "StatusCheckRollup", "id": format!("SCR_kw{sha}"), "state": state,
        "commit": {"$commit": [repo.full_name, sha]},
        "contexts": checks.iter().map(|held| check(ctx, repo, sha, held)).collect::<Vec<_>>(),
    })
}

fn rollup_word(outcome: &CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Queued | CheckOutcome::InProgress => "PENDING",
        CheckOutcome::Completed(conclusion) => match conclusion.as_str() {
            "success" | "neutral" | "skipped" => "SUCCESS",
            _ => "FAILURE",
        },
        CheckOutcome::Status(state) => match state.as_str() {
            "success" => "SUCCESS",
            "failure" => "FAILURE",
            "error" => "ERROR",
            _ => "PENDING",
        },
    }
}

fn check(ctx: Ctx<'_>, repo: &Repo, sha: &str, held: &Check) -> Value {
    let (status, conclusion) = match &held.outcome {
        CheckOutcome::Status(state) => {
            return json!({
                "__typename": "StatusContext", "id": held.node_id, "context": held.name,
                "state": state.to_uppercase(), "description": null, "targetUrl": null, "creator": null,
                "createdAt": iso(held.started_at), "isRequired": false,
                "commit": {"$commit": [repo.full_name, sha]},
            });
        }
        CheckOutcome::Queued => ("QUEUED", None),
        CheckOutcome::InProgress => ("IN_PROGRESS", None),
        CheckOutcome::Completed(conclusion) => ("COMPLETED", Some(conclusion.to_uppercase())),
    };
    let web = format!("{}/{}/runs/{}", ctx.base, repo.full_name, held.id);
    json!({
        "__typename": "CheckRun", "id": held.node_id, "databaseId": held.id, "name": held.name, "status": status,
        "startedAt": iso(held.started_at), "completedAt": conclusion.as_ref().map(|_| iso(held.changed_at)),
        "conclusion": conclusion, "detailsUrl": web, "url": web, "permalink": web, "isRequired": false,
        "title": null, "summary": null, "text": null, "externalId": null,
        "checkSuite": {
            "id": format!("CS_kw{sha}"), "workflowRun": null,
            "app": {"id": "A_kwci", "databaseId": 15_368, "name": "CI", "slug": "ci"},
        },
    })
}

fn timeline(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, info: &ResolveInfo<'_>) -> Value {
    let kinds = words(info, "itemTypes");
    let since = info.arguments().get("since").and_then(|value| value.as_str());
    let since: Option<jiff::Timestamp> = since.and_then(|text| text.parse().ok());
    let events = pull.timeline.iter().filter(|event| since.is_none_or(|since| event.at >= since));
    let items: Vec<Value> = events
        .filter(|event| kinds.as_ref().is_none_or(|kinds| kinds.contains(&item_type(&event.what))))
        .filter_map(|event| item(ctx, repo, pull, event))
        .collect();
    json!({"$items": items, "updatedAt": iso(pull.updated_at)})
}

fn item_type(what: &Happening) -> &'static str {
    match what {
        Happening::ReviewRequested(_) => "REVIEW_REQUESTED_EVENT",
        Happening::ReviewRequestRemoved(_) => "REVIEW_REQUEST_REMOVED_EVENT",
        Happening::Commit(_) => "PULL_REQUEST_COMMIT",
        Happening::ForcePushed { .. } => "HEAD_REF_FORCE_PUSHED_EVENT",
        Happening::ReadyForReview => "READY_FOR_REVIEW_EVENT",
        Happening::ConvertToDraft => "CONVERT_TO_DRAFT_EVENT",
        Happening::Closed => "CLOSED_EVENT",
        Happening::Reopened => "REOPENED_EVENT",
        Happening::Merged(_) => "MERGED_EVENT",
        Happening::Locked => "LOCKED_EVENT",
        Happening::Unlocked => "UNLOCKED_EVENT",
        Happening::Labeled(_) => "LABELED_EVENT",
        Happening::Assigned(_) => "ASSIGNED_EVENT",
        Happening::Reviewed(_) => "PULL_REQUEST_REVIEW",
        Happening::Commented(_) => "ISSUE_COMMENT",
    }
}

fn item(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, event: &Event) -> Option<Value> {
    let at = |sha: &str| json!({"$commit": [repo.full_name, sha]});
    let (name, more) = match &event.what {
        Happening::ReviewRequested(who) => ("ReviewRequestedEvent", json!({"requestedReviewer": reviewer(ctx, *who)})),
        Happening::ReviewRequestRemoved(who) => ("ReviewRequestRemovedEvent", json!({"requestedReviewer": reviewer(ctx, *who)})),
        Happening::Commit(sha) => return Some(pull_commit(repo, pull, sha)),
        Happening::ForcePushed { before, after } => {
            ("HeadRefForcePushedEvent", json!({"beforeCommit": at(before), "afterCommit": at(after), "ref": null}))
        }
        Happening::ReadyForReview => ("ReadyForReviewEvent", json!({})),
        Happening::ConvertToDraft => ("ConvertToDraftEvent", json!({})),
        Happening::Closed => ("ClosedEvent", json!({"closer": null, "stateReason": null})),
        Happening::Reopened => ("ReopenedEvent", json!({"stateReason": null})),
        Happening::Merged(sha) => ("MergedEvent", json!({"commit": at(sha), "mergeRefName": pull.base_ref})),
        Happening::Locked => ("LockedEvent", json!({"lockReason": null})),
        Happening::Unlocked => ("UnlockedEvent", json!({})),
        Happening::Labeled(name) => (
            "LabeledEvent",
            json!({"label": {
                "id": pull.labels.iter().find(|label| label.name == *name).map_or("", |label| label.node_id.as_str()),
                "name": name, "color": "ededed",
            }}),
        ),
        Happening::Assigned(ix) => ("AssignedEvent", json!({"assignee": account(ctx, *ix), "user": account(ctx, *ix)})),
        Happening::Reviewed(id) => return pull.review(*id).map(|held| review_ref(repo, pull, held.id)),
        Happening::Commented(id) => {
            return pull.comments.iter().find(|held| held.id == *id).map(|held| comment(ctx, repo, pull, held));
        }
    };
    let mut value = json!({
        "__typename": name, "id": event.node_id, "databaseId": event.id, "createdAt": iso(event.at),
        "actor": account(ctx, event.actor), "pullRequest": {"$pull": [repo.full_name, pull.number]},
    });
    if let (Some(into), Value::Object(more)) = (value.as_object_mut(), more) {
        into.extend(more);
    }
    Some(value)
}

/// What a node id names on this pull request.
pub(crate) fn node(ctx: Ctx<'_>, repo: &Repo, pull: &Pull, id: &str) -> Option<Value> {
    if pull.node_id == id {
        return Some(json!({"$pull": [repo.full_name, pull.number]}));
    }
    let seen = |held: &&Review| held.node_id == id;
    if let Some(held) = pull.reviews_for(Some(ctx.viewer)).find(seen) {
        return Some(review_ref(repo, pull, held.id));
    }
    if let Some(held) = pull.inline.iter().find(|held| held.node_id == id) {
        let visible = pull.is_published(held) || held.author == ctx.viewer;
        return visible.then(|| inline_ref(repo, pull, held.id));
    }
    if let Some(held) = pull.threads.iter().find(|held| held.node_id == id) {
        return thread(ctx, repo, pull, held);
    }
    if let Some(held) = pull.comments.iter().find(|held| held.node_id == id) {
        return Some(comment(ctx, repo, pull, held));
    }
    if let Some(held) = pull.requests.iter().find(|held| held.node_id == id) {
        return Some(request(ctx, repo, pull, held));
    }
    pull.timeline.iter().find(|held| held.node_id == id).and_then(|held| item(ctx, repo, pull, held))
}
