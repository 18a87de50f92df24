use serde_json::json;

use super::*;

fn read() -> Read {
    Read { at: "2026-05-04T10:00:00Z".parse().unwrap(), skew_ms: 1_500 }
}

fn person(login: &str) -> Value {
    json!({"__typename": "User", "login": login, "id": format!("U_{login}")})
}

fn contexts() -> Value {
    json!({"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": [
        {"__typename": "StatusContext", "context": "ci/build", "state": "PENDING", "createdAt": "2026-05-01T08:10:00Z"},
        {"__typename": "CheckRun", "databaseId": 51, "name": "tests", "status": "COMPLETED", "conclusion": "FAILURE",
         "startedAt": "2026-05-01T08:01:00Z", "completedAt": "2026-05-01T08:05:00Z", "checkSuite": {"app": {"slug": "ci"}}},
        {"__typename": "CheckRun", "databaseId": 52, "name": "lint", "status": "IN_PROGRESS", "conclusion": null,
         "startedAt": null, "completedAt": null, "checkSuite": {"app": null}},
    ]})
}

/// A pull request whose every nullable place is filled.
fn pull() -> Value {
    let page = json!({"hasNextPage": false, "endCursor": null});
    let mut pull = json!({
        "__typename": "PullRequest",
        "id": "PR_1", "number": 7, "title": "Teach it to count", "url": "https://github.com/acme/web/pull/7",
        "state": "OPEN", "isDraft": false, "headRefOid": "h1", "updatedAt": "2026-05-01T08:00:00Z", "mergeable": "CONFLICTING",
        "repository": {"nameWithOwner": "acme/web", "visibility": "PRIVATE", "isArchived": false, "viewerPermission": "WRITE"},
        "commits": {"nodes": [{"commit": {"oid": "h1", "statusCheckRollup": {"state": "FAILURE", "contexts": contexts()}}}]},
        "body": "why", "authorAssociation": "MEMBER", "createdAt": "2026-04-30T08:00:00Z", "mergedAt": null, "closedAt": null,
        "baseRefName": "main", "baseRefOid": "b1", "headRefName": "count", "isCrossRepository": false, "locked": true,
        "changedFiles": 3, "reviewDecision": "CHANGES_REQUESTED", "author": person("ada"),
        "headRepository": {"nameWithOwner": "acme/web", "viewerPermission": "READ"}, "maintainerCanModify": true,
    });
    let connections = json!({
        "labels": {"pageInfo": page, "nodes": [{"name": "z"}, {"name": "a"}]},
        "assignees": {"pageInfo": page, "nodes": [person("zoe"), person("ada")]},
        "reviewRequests": {"pageInfo": page, "nodes": [
            {"id": "RR_1", "requestedReviewer": person("me")},
            {"id": "RR_2", "requestedReviewer": {"__typename": "Team", "id": "T_1", "combinedSlug": "acme/Core"}},
            {"id": "RR_3", "requestedReviewer": null},
        ]},
        "timelineItems": {"pageInfo": page, "nodes": [
            {"__typename": "ReviewRequestedEvent", "id": "E_2", "createdAt": "2026-05-02T08:00:00Z", "actor": person("ada"), "requestedReviewer": person("me")},
            {"__typename": "ReviewRequestedEvent", "id": "E_1", "createdAt": "2026-05-01T08:00:00Z", "actor": person("bob"), "requestedReviewer": person("me")},
            {"__typename": "ReviewRequestedEvent", "id": "E_3", "createdAt": "2026-05-03T08:00:00Z", "actor": null,
             "requestedReviewer": {"__typename": "Team", "id": "T_1", "combinedSlug": "acme/core"}},
            {"__typename": "ReviewRequestedEvent", "id": "E_4", "createdAt": "2026-05-03T09:00:00Z", "actor": null, "requestedReviewer": null},
            {"__typename": "HeadRefForcePushedEvent", "id": "E_5", "createdAt": "2026-05-03T10:00:00Z", "afterCommit": {"oid": "h1"}},
            {"__typename": "HeadRefForcePushedEvent", "id": "E_6", "createdAt": "2026-05-03T11:00:00Z", "afterCommit": {"oid": "h0"}},
            {"__typename": "HeadRefForcePushedEvent", "id": "E_7", "createdAt": "2026-05-03T12:00:00Z", "afterCommit": null},
        ]},
        "reviews": {"pageInfo": page, "nodes": [
            {"id": "R_2", "fullDatabaseId": "9007199254740993", "state": "PENDING", "body": "", "submittedAt": null, "url": "u", "author": person("me"), "commit": {"oid": "h1"}},
            {"id": "R_1", "fullDatabaseId": "11", "state": "APPROVED", "body": "good", "submittedAt": "2026-05-01T09:00:00Z", "url": "u",
             "author": {"__typename": "Bot", "login": "dependabot", "id": "B_1"}, "commit": {"oid": "h0"}},
        ]},
        "reviewThreads": {"pageInfo": page, "nodes": [
            {"id": "TH_1", "isResolved": false, "isOutdated": true, "path": "src/a.rs", "line": null, "comments": {"pageInfo": page, "nodes": [
                {"id": "C_2", "fullDatabaseId": "22", "body": "second", "createdAt": "2026-05-01T11:00:00Z", "url": "u", "author": person("me")},
                {"id": "C_1", "fullDatabaseId": "21", "body": "first", "createdAt": "2026-05-01T10:00:00Z", "url": "u", "author": person("bob"), "pullRequestReview": {"id": "R_1"}},
            ]}},
        ]},
        "comments": {"pageInfo": page, "nodes": [
            {"id": "IC_1", "fullDatabaseId": 31, "body": "hi", "createdAt": "2026-05-01T10:00:00Z", "url": "u",
             "author": {"__typename": "Mannequin", "login": "old", "id": "M_1"}},
        ]},
    });
    for (name, connection) in connections.as_object().unwrap() {
        pull[name] = connection.clone();
    }
    pull
}

fn converted(pull: &Value) -> (Detail, Notes) {
    let mut notes = Notes::new();
    (detail(pull, read(), &mut notes).unwrap(), notes)
}

#[test]
fn a_whole_detail_is_converted() {
    // GH-SYNC-14, GH-SYNC-46, GH-FACT-01
    let (told, notes) = converted(&pull());
    assert_eq!(notes, Notes::new());
    assert_eq!(told.slug(), "acme/web#7");
    assert_eq!((told.summary.mergeable, told.summary.checks.as_str()), (Mergeable::Conflicting, "failure"));
    assert_eq!((told.labels.clone(), told.visibility.as_str()), (vec!["a".to_owned(), "z".to_owned()], "private"));
    assert_eq!(told.assignees.iter().map(|a| a.login.as_str()).collect::<Vec<_>>(), ["ada", "zoe"]);
    assert!(told.locked && !told.archived && !told.cross_repository);
    assert_eq!(told.reviews.iter().map(|r| r.database_id).collect::<Vec<_>>(), [11, 9_007_199_254_740_993]);
    assert_eq!(told.threads[0].comments.iter().map(|c| c.body.as_str()).collect::<Vec<_>>(), ["first", "second"]);
    assert_eq!(told.comments[0].author.as_ref().unwrap().kind, AccountKind::Mannequin);
    assert_eq!((told.read_at, told.skew_ms), (read().at, 1_500));
}

#[test]
fn checks_and_pushes_are_those_of_the_head() {
    // GH-FACT-13, GH-FACT-16, GH-FACT-17, GH-FACT-19
    let (told, notes) = converted(&pull());
    assert_eq!(notes, Notes::new());
    let shown = told.checks.iter().map(|c| (c.kind, c.app.as_str(), c.name.as_str(), c.outcome.as_str(), c.database_id));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            (CheckKind::Run, "", "lint", "", 52),
            (CheckKind::Run, "ci", "tests", "FAILURE", 51),
            (CheckKind::Context, "", "ci/build", "PENDING", 0)
        ]
    );
    assert_eq!(told.head_forced_at, Some("2026-05-03T10:00:00Z".parse().unwrap()), "not that of another commit");
    assert_eq!(told.last_requested_at, Some("2026-05-03T09:00:00Z".parse().unwrap()), "of anyone, though they are gone");
    assert_eq!(told.threads[0].comments.iter().map(|c| c.review.as_str()).collect::<Vec<_>>(), ["R_1", ""]);
    let mut other = pull();
    other["commits"]["nodes"][0]["commit"]["oid"] = json!("h0");
    let (told, _) = converted(&other);
    assert_eq!((told.checks.len(), told.summary.checks.as_str()), (0, ""), "checks of another commit are not the head's");
}

#[test]
fn whether_the_head_can_be_pushed_to_follows_from_rights_and_consent() {
    // GH-FACT-36
    let of = |change: fn(&mut Value)| {
        let mut pull = pull();
        change(&mut pull);
        converted(&pull).0.can_push
    };
    assert!(of(|_| {}), "maintainers may, and the viewer is one");
    assert!(!of(|pull| pull["maintainerCanModify"] = json!(false)));
    assert!(!of(|pull| pull["repository"]["viewerPermission"] = json!("TRIAGE")));
    assert!(!of(|pull| pull["repository"]["viewerPermission"] = Value::Null));
    assert!(of(|pull| {
        pull["maintainerCanModify"] = json!(false);
        pull["headRepository"]["viewerPermission"] = json!("ADMIN");
    }));
    assert!(!of(|pull| pull["headRepository"] = Value::Null), "the fork is gone");
    assert!(!of(|pull| pull["repository"]["isArchived"] = json!(true)));
}

#[test]
fn a_request_is_paired_with_the_newest_act_of_requesting_that_reviewer() {
    // GH-SYNC-04, GH-SYNC-20
    let (told, _) = converted(&pull());
    let of =
        |reviewer: &Reviewer| told.review_requests.iter().find(|r| &r.reviewer == reviewer).and_then(|r| r.requested.clone());
    let me = Account { id: "U_me".to_owned(), login: "me".to_owned(), kind: AccountKind::User };
    let direct = of(&Reviewer::Account(me)).unwrap();
    assert_eq!((direct.id.as_str(), direct.by.as_str()), ("E_2", "ada"));
    let team = of(&Reviewer::Team("acme/Core".to_owned())).unwrap();
    assert_eq!((team.id.as_str(), team.by.as_str()), ("E_3", ""));
    assert_eq!(told.review_requests.len(), 2);
}

#[test]
fn every_null_is_absence() {
    // GH-SYNC-22, GH-SYNC-23, GH-FACT-04
    let mut nulled = pull();
    for pointer in [
        "/author",
        "/headRepository",
        "/body",
        "/reviewDecision",
        "/reviews/nodes/1/author",
        "/reviews/nodes/1/commit",
        "/reviews/nodes/1/fullDatabaseId",
        "/comments/nodes/0/author",
        "/reviewThreads/nodes/0/comments/nodes/1/author",
        "/commits/nodes/0/commit/statusCheckRollup",
        "/timelineItems/nodes/4/afterCommit",
        "/maintainerCanModify",
        "/reviews/nodes/0",
        "/labels",
    ] {
        *nulled.pointer_mut(pointer).unwrap() = Value::Null;
    }
    let (told, notes) = converted(&nulled);
    assert_eq!(notes, Notes::new());
    assert_eq!((told.author.clone(), told.head_repo.clone(), told.cross_repository), (None, None, true));
    assert_eq!((told.body.as_str(), told.review_decision.as_str(), told.summary.checks.as_str()), ("", "", ""));
    assert_eq!(told.reviews.len(), 1);
    assert_eq!((told.reviews[0].author.clone(), told.reviews[0].commit.as_str()), (None, ""));
    assert!(told.comments[0].author.is_none() && told.threads[0].comments[0].author.is_none());
    for pointer in ["/commits", "/reviewRequests", "/reviews"] {
        *nulled.pointer_mut(pointer).unwrap() = Value::Null;
    }
    assert!(converted(&nulled).0.review_requests.is_empty());
}

#[test]
fn what_cannot_be_converted_is_left_out_with_a_note_and_the_rest_is_kept() {
    // GH-SYNC-27
    let mut odd = pull();
    odd["reviews"]["nodes"][0]["state"] = json!("ENDORSED");
    odd["comments"]["nodes"][0]["createdAt"] = json!("yesterday");
    odd["reviewThreads"]["nodes"][0]["comments"]["nodes"][0]["author"]["__typename"] = json!("Robot");
    odd["mergeable"] = json!("PERHAPS");
    let (told, notes) = converted(&odd);
    assert_eq!((told.reviews.len(), told.comments.len(), told.threads[0].comments.len()), (1, 0, 2));
    assert_eq!(told.summary.mergeable, Mergeable::Unknown);
    assert_eq!(notes.len(), 3, "{notes:?}");
    odd["state"] = json!("FROZEN");
    assert!(summary(&odd).is_err());
}

#[test]
fn a_bot_has_one_spelling_and_its_kind_comes_from_its_type() {
    // GH-SYNC-47, GH-SYNC-48
    let mut notes = Notes::new();
    let graphql = json!({"__typename": "Bot", "login": "dependabot", "id": "B"});
    let told = who(serde_json::from_value(graphql).unwrap(), &mut notes).unwrap();
    let rest = json!({"login": "dependabot[bot]", "node_id": "B", "type": "Bot"});
    assert_eq!(rest_user(&serde_json::from_value(rest).unwrap()), Some(told.clone()));
    assert_eq!(told.login, "dependabot[bot]");
    let named = json!({"login": "foo-bot", "node_id": "U", "type": "User"});
    assert_eq!(rest_user(&serde_json::from_value(named).unwrap()).unwrap().login, "foo-bot");
}

#[test]
fn order_and_repetition_leave_no_trace() {
    // GH-SYNC-19, GH-SYNC-20
    let mut shuffled = pull();
    for connection in ["labels", "assignees", "reviewRequests", "timelineItems", "reviews", "reviewThreads", "comments"] {
        let nodes = shuffled[connection]["nodes"].as_array_mut().unwrap();
        nodes.reverse();
        let again = nodes.clone();
        nodes.extend(again);
    }
    assert_eq!(converted(&shuffled).0, converted(&pull()).0);
}

#[test]
fn a_rollup_of_another_commit_is_not_the_heads() {
    // GH-FACT-16
    let mut moved = pull();
    moved["headRefOid"] = json!("h2");
    assert_eq!(summary(&moved).unwrap().checks, "");
}

#[test]
fn the_reasons_of_one_pull_request_are_united() {
    // GH-SYNC-01, GH-SYNC-02, GH-SYNC-11
    let mut union = Union::default();
    let old = summary(&pull()).unwrap();
    let mut newer = pull();
    newer["updatedAt"] = json!("2026-05-03T08:00:00Z");
    newer["headRefOid"] = json!("h9");
    union.add(old.clone(), Reason::Reviewed);
    union.add(summary(&newer).unwrap(), Reason::Requested);
    union.add(old, Reason::Reviewed);
    let all = union.finish();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].reasons.clone(), all[0].head.as_str()), (vec![Reason::Requested, Reason::Reviewed], "h9"));
}

fn example(name: &str) -> Value {
    let path = format!("{}/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn githubs_own_examples_are_read() {
    // GH-SYNC-22, GH-PUB-10
    // A file holds one list, or an answer per case, which may be a list again.
    let cases = |name: &str| -> Vec<Value> {
        let whole = example(name);
        whole.as_object().map_or_else(|| vec![whole.clone()], |by_case| by_case.values().cloned().collect())
    };
    let all = |name: &str| -> Vec<Value> {
        cases(name).into_iter().flat_map(|case| case.as_array().cloned().unwrap_or_else(|| vec![case])).collect()
    };
    for name in [
        "pulls.create-review",
        "pulls.list-reviews",
        "issues.create-comment",
        "issues.list-comments",
        "pulls.list-review-comments",
        "pulls.create-reply-for-review-comment",
    ] {
        let posts = all(name);
        assert!(!posts.is_empty(), "{name}");
        for post in posts {
            let read: shapes::RestPost = parse(&post, name).unwrap();
            assert!(read.id > 0 && !read.node_id.is_empty() && read.html_url.starts_with("https://"), "{name}");
        }
    }
    for file in all("pulls.list-files") {
        assert_eq!(file_patch(&file).unwrap().path, "file1.txt");
    }
    for value in all("pulls.get") {
        let head = head_now(&value).unwrap();
        assert_eq!((head.state, head.locked, head.head.len()), (PullState::Open, true, 40));
    }
    for user in all("users.get-authenticated") {
        assert_eq!(rest_user(&parse(&user, "user").unwrap()).unwrap().login, "octocat");
    }
    for team in all("teams.list-for-authenticated-user") {
        let team: shapes::RestTeam = parse(&team, "team").unwrap();
        assert_eq!((team.organization.login.as_str(), team.slug.as_str()), ("github", "justice-league"));
    }
}
