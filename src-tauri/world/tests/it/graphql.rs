use serde_json::{Value, json};
use wloop_world::{CheckOutcome, NewInlineComment, ReviewEvent};

use crate::{REPO, Scene, new_pull, numbered};

const DETAIL: &str = r"
query($owner: String!, $name: String!, $number: Int!) {
  rateLimit { cost limit remaining resetAt used }
  viewer { id login __typename }
  repository(owner: $owner, name: $name) { nameWithOwner pullRequest(number: $number) { ...detail } }
}
fragment actor on Actor { __typename login ... on User { id } ... on Bot { id } }
fragment detail on PullRequest {
  id databaseId fullDatabaseId number title body url state isDraft isCrossRepository createdAt updatedAt mergedAt closedAt
  headRefOid headRefName baseRefName baseRefOid headRepository { nameWithOwner owner { login } }
  repository { id nameWithOwner visibility isArchived url }
  mergeable reviewDecision changedFiles additions deletions locked authorAssociation
  author { ...actor }
  labels(first: 100) { nodes { name } pageInfo { hasNextPage endCursor } }
  assignees(first: 100) { nodes { id login } }
  reviewRequests(first: 100) { totalCount nodes { id requestedReviewer {
    __typename ... on User { id login } ... on Bot { id login } ... on Mannequin { id login }
    ... on Team { id slug organization { login } combinedSlug } } } }
  reviews(first: 100) { totalCount pageInfo { hasNextPage endCursor } nodes {
    id databaseId fullDatabaseId state body submittedAt updatedAt createdAt url commit { oid } author { ...actor } } }
  reviewThreads(first: 100) { nodes { id isResolved isOutdated path line comments(first: 100) { nodes {
    id databaseId body author { ...actor } createdAt url path replyTo { id } } } } }
  comments(first: 100) { nodes { id databaseId body createdAt url author { ...actor } } }
  timelineItems(first: 100, itemTypes: [REVIEW_REQUESTED_EVENT, PULL_REQUEST_COMMIT, HEAD_REF_FORCE_PUSHED_EVENT, READY_FOR_REVIEW_EVENT, CONVERT_TO_DRAFT_EVENT]) {
    totalCount pageInfo { hasNextPage endCursor } nodes { __typename
      ... on ReviewRequestedEvent { id createdAt actor { ...actor } requestedReviewer { __typename ... on User { login } ... on Team { slug } } }
      ... on PullRequestCommit { id commit { oid committedDate } }
      ... on HeadRefForcePushedEvent { id createdAt actor { login } beforeCommit { oid } afterCommit { oid } }
      ... on ReadyForReviewEvent { id createdAt } ... on ConvertToDraftEvent { id createdAt } } }
  commits(last: 1) { nodes { commit { oid statusCheckRollup { state contexts(first: 100) { nodes { __typename
    ... on CheckRun { id name status conclusion startedAt completedAt checkSuite { app { slug } } }
    ... on StatusContext { id context state createdAt } } } } } } }
}";

async fn detail(scene: &Scene) -> Value {
    let variables = json!({"owner": "acme", "name": "api", "number": 1});
    scene.viewer.data(DETAIL, variables).await["repository"]["pullRequest"].clone()
}

#[tokio::test]
async fn one_query_reads_a_whole_pull_request() {
    let scene = Scene::new().await;
    let world = &scene.world;
    let first = world.head(REPO, 1).unwrap();
    world.request_team_review(REPO, 1, "ada", "acme/backend").unwrap();
    world
        .submit_review(REPO, 1, "bob", Some(ReviewEvent::RequestChanges), "No", &[NewInlineComment::new("a.txt", 12, "why?")])
        .unwrap();
    let inline = world.reviews(REPO, 1)[0].comments[0].clone();
    world.reply(REPO, 1, "ada", inline.id, "because").unwrap();
    world.add_comment(REPO, 1, "viewer", "hello").unwrap();
    world.add_label(REPO, 1, "bug").unwrap();
    world.set_draft(REPO, 1, true).unwrap();
    world.set_draft(REPO, 1, false).unwrap();
    world.set_check(REPO, 1, "unit", CheckOutcome::Completed("failure".to_owned())).unwrap();
    world.set_check(REPO, 1, "cla", CheckOutcome::Status("pending".to_owned())).unwrap();

    let pull = detail(&scene).await;
    assert_eq!(pull["id"], json!(world.node_id(REPO, 1).unwrap()));
    assert_eq!(
        (&pull["state"], &pull["mergeable"], &pull["reviewDecision"]),
        (&json!("OPEN"), &json!("MERGEABLE"), &json!("CHANGES_REQUESTED"))
    );
    assert_eq!(pull["author"]["login"], "ada");
    assert_eq!(pull["labels"]["nodes"], json!([{"name": "bug"}]));
    let requests = &pull["reviewRequests"]["nodes"];
    assert_eq!(requests[0]["requestedReviewer"]["login"], "viewer");
    assert_eq!(requests[1]["requestedReviewer"]["combinedSlug"], "acme/backend");
    assert_eq!(pull["reviews"]["totalCount"], 2, "a reply has a review around it");
    assert_eq!(pull["reviews"]["nodes"][0]["commit"]["oid"], json!(first));
    let threads = pull["reviewThreads"]["nodes"].as_array().unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!((&threads[0]["isResolved"], &threads[0]["line"]), (&json!(false), &json!(12)));
    assert_eq!(threads[0]["comments"]["nodes"][1]["replyTo"]["id"], json!(inline.node_id));
    assert_eq!(pull["comments"]["nodes"][0]["body"], "hello");
    let rollup = &pull["commits"]["nodes"][0]["commit"]["statusCheckRollup"];
    assert_eq!(rollup["state"], "FAILURE");
    assert_eq!(rollup["contexts"]["nodes"][0]["conclusion"], "FAILURE");
    assert_eq!(
        rollup["contexts"]["nodes"][1],
        json!({"__typename": "StatusContext", "id": rollup["contexts"]["nodes"][1]["id"], "context": "cla", "state": "PENDING", "createdAt": rollup["contexts"]["nodes"][1]["createdAt"]})
    );
    let kinds: Vec<&str> =
        pull["timelineItems"]["nodes"].as_array().unwrap().iter().map(|item| item["__typename"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["PullRequestCommit", "ReviewRequestedEvent", "ReviewRequestedEvent", "ConvertToDraftEvent", "ReadyForReviewEvent"]
    );

    // The line is gone after this push, so its thread is outdated; the rollup of the new head is empty.
    let new = world.force_push(REPO, 1, "Anew", &[("b.txt", Some("b\n"))]).unwrap();
    let pull = detail(&scene).await;
    assert_eq!(pull["headRefOid"], json!(new));
    assert_eq!(pull["commits"]["nodes"][0]["commit"], json!({"oid": new, "statusCheckRollup": null}));
    assert_eq!(
        (&pull["reviewThreads"]["nodes"][0]["isOutdated"], &pull["reviewThreads"]["nodes"][0]["line"]),
        (&json!(true), &Value::Null)
    );
    let pushed = pull["timelineItems"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["__typename"] == "HeadRefForcePushedEvent")
        .unwrap();
    assert_eq!((&pushed["beforeCommit"]["oid"], &pushed["afterCommit"]["oid"]), (&json!(first), &json!(new)));
}

#[tokio::test]
async fn connections_are_read_on_by_cursor() {
    let scene = Scene::new().await;
    for n in 0..7 {
        scene.world.submit_review(REPO, 1, "bob", Some(ReviewEvent::Comment), &n.to_string(), &[]).unwrap();
    }
    let query = "query($after: String) { repository(owner: \"acme\", name: \"api\") { pullRequest(number: 1) {
        reviews(first: 3, after: $after) { totalCount nodes { body } edges { cursor node { body } } pageInfo { hasNextPage endCursor hasPreviousPage } }
        newest: reviews(last: 2, states: [COMMENTED]) { nodes { body } } approvals: reviews(first: 5, states: [APPROVED]) { totalCount } } } }";
    let (mut after, mut bodies, mut pages) = (Value::Null, Vec::new(), 0);
    loop {
        let pull = scene.viewer.data(query, json!({"after": after})).await["repository"]["pullRequest"].clone();
        let page = &pull["reviews"];
        assert_eq!(page["totalCount"], 7);
        assert_eq!(page["edges"][0]["node"], page["nodes"][0]);
        assert_eq!(pull["newest"]["nodes"], json!([{"body": "5"}, {"body": "6"}]));
        assert_eq!(pull["approvals"]["totalCount"], 0);
        bodies.extend(page["nodes"].as_array().unwrap().iter().map(|node| node["body"].as_str().unwrap().to_owned()));
        pages += 1;
        after = page["pageInfo"]["endCursor"].clone();
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!((pages, bodies.concat().as_str()), (3, "0123456"));
    let unbounded = scene
        .viewer
        .graphql(
            "{ repository(owner: \"acme\", name: \"api\") { pullRequest(number: 1) { title reviews { totalCount } } } }",
            json!({}),
        )
        .await;
    assert_eq!(unbounded["errors"][0]["type"], "MISSING_PAGINATION_BOUNDARIES");
    assert_eq!(unbounded["data"]["repository"]["pullRequest"]["title"], "Change change-a");
    let many = scene.viewer.graphql("{ search(type: ISSUE, query: \"is:pr\", first: 101) { issueCount } }", json!({})).await;
    assert_eq!(many["errors"][0]["type"], "EXCESSIVE_PAGINATION");
}

#[tokio::test]
async fn searches_as_aliases_in_one_query() {
    let scene = Scene::new().await;
    scene.world.open_pull_request(new_pull("second", &numbered("second"))).unwrap();
    scene.world.request_team_review(REPO, 2, "ada", "acme/backend").unwrap();
    let query = "query($n: Int!) {
        requested: search(type: ISSUE, query: \"is:pr is:open archived:false review-requested:@me\", first: $n) { ...page }
        mine: search(type: ISSUE, query: \"is:pr is:open archived:false author:@me\", first: $n) { ...page }
        reviewed: search(type: ISSUE, query: \"is:pr is:open archived:false reviewed-by:@me\", first: $n) { ...page } }
        fragment page on SearchResultItemConnection { issueCount pageInfo { hasNextPage endCursor } nodes { ... on PullRequest {
          id number isDraft headRefOid updatedAt mergeable repository { nameWithOwner } commits(last: 1) { nodes { commit { statusCheckRollup { state } } } } } } }";
    let data = scene.viewer.data(query, json!({"n": 1})).await;
    assert_eq!((&data["requested"]["issueCount"], &data["requested"]["pageInfo"]["hasNextPage"]), (&json!(2), &json!(true)));
    assert_eq!(data["requested"]["nodes"][0]["number"], 2);
    assert_eq!(data["mine"]["nodes"], json!([]));
    scene.world.submit_review(REPO, 1, "viewer", Some(ReviewEvent::Approve), "", &[]).unwrap();
    let data = scene.viewer.data(query, json!({"n": 50})).await;
    assert_eq!(data["reviewed"]["nodes"][0]["number"], 1);
    assert_eq!(data["requested"]["issueCount"], 1, "the request went with the review");
}

#[tokio::test]
async fn nodes_are_found_by_id_and_unknown_ones_are_errors() {
    let scene = Scene::new().await;
    let id = scene.world.node_id(REPO, 1).unwrap();
    let query =
        "query($id: ID!, $ids: [ID!]!) { node(id: $id) { __typename ... on PullRequest { number } } nodes(ids: $ids) { id } }";
    let body = scene.viewer.graphql(query, json!({"id": id, "ids": [id, "PR_nothing"]})).await;
    assert_eq!(body["data"]["node"], json!({"__typename": "PullRequest", "number": 1}), "{body}");
    assert_eq!(body["data"]["nodes"], json!([{"id": id}, null]));
    assert_eq!((&body["errors"][0]["type"], &body["errors"][0]["path"]), (&json!("NOT_FOUND"), &json!(["nodes", 1])));
    assert_eq!(body["errors"][0]["message"], "Could not resolve to a node with the global id of 'PR_nothing'");
    let body = scene.viewer.graphql("{ repository(owner: \"acme\", name: \"none\") { id } }", json!({})).await;
    assert_eq!((&body["data"], &body["errors"][0]["type"]), (&json!({"repository": null}), &json!("NOT_FOUND")));
    let body = scene
        .viewer
        .graphql("{ repository(owner: \"acme\", name: \"api\") { pullRequest(number: 99) { id } } }", json!({}))
        .await;
    assert_eq!(body["errors"][0]["path"], json!(["repository", "pullRequest"]));
    let review = scene.world.submit_review(REPO, 1, "bob", Some(ReviewEvent::Approve), "", &[]).unwrap();
    let node = scene.world.reviews(REPO, 1)[0].node_id.clone();
    let body = scene
        .viewer
        .data(
            "query($id: ID!) { node(id: $id) { ... on PullRequestReview { databaseId pullRequest { number } } } }",
            json!({"id": node}),
        )
        .await;
    assert_eq!(body["node"], json!({"databaseId": review, "pullRequest": {"number": 1}}));
}

#[tokio::test]
async fn bad_queries_get_errors_and_no_data() {
    let scene = Scene::new().await;
    for query in ["{ viewer { nose } }", "{ viewer { login ", "query($x: Int!) { repository(owner: $x, name: \"a\") { id } }"] {
        let body = scene.viewer.graphql(query, json!({"x": 1})).await;
        assert!(body.get("data").is_none(), "{body}");
        let error = &body["errors"][0];
        assert!(
            error["message"].is_string() && error["locations"][0]["line"] == 1 && error["extensions"]["code"].is_string(),
            "{body}"
        );
    }
    let body = scene.viewer.graphql("query($id: ID!) { node(id: $id) { id } }", json!({})).await;
    assert!(body["errors"][0]["message"].is_string() && body.get("data").is_none(), "{body}");
    assert_eq!(scene.viewer.post("/graphql", json!([])).await.status, 400);
    let body = scene.viewer.graphql("{ viewer { bioHTML } }", json!({})).await;
    assert_eq!(body["errors"][0]["type"], "NOT_SIMULATED");
}

#[tokio::test]
async fn a_thread_is_resolved_by_a_mutation() {
    let scene = Scene::new().await;
    scene
        .world
        .submit_review(REPO, 1, "bob", Some(ReviewEvent::Comment), "", &[NewInlineComment::new("a.txt", 12, "why?")])
        .unwrap();
    let thread = detail(&scene).await["reviewThreads"]["nodes"][0]["id"].clone();
    let query =
        "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id isResolved resolvedBy { login } } } }";
    let data = scene.viewer.data(query, json!({"id": thread})).await;
    assert_eq!(
        data["resolveReviewThread"]["thread"],
        json!({"id": thread, "isResolved": true, "resolvedBy": {"login": "viewer"}})
    );
    assert_eq!(detail(&scene).await["reviewThreads"]["nodes"][0]["isResolved"], true);
    let body = scene.viewer.graphql(query, json!({"id": "PRRT_none"})).await;
    assert_eq!(body["errors"][0]["type"], "NOT_FOUND");
}

#[tokio::test]
async fn states_and_conflicts_are_read() {
    let scene = Scene::new().await;
    let world = &scene.world;
    world.open_pull_request(new_pull("rival", &numbered("rival"))).unwrap();
    world.merge(REPO, 2, "ada").unwrap();
    let pull = detail(&scene).await;
    assert_eq!(pull["mergeable"], "CONFLICTING");
    world.set_mergeable(REPO, 1, Some(None)).unwrap();
    assert_eq!(detail(&scene).await["mergeable"], "UNKNOWN");
    assert!(world.merge(REPO, 1, "ada").is_err());
    world.set_mergeable(REPO, 1, None).unwrap();
    world.close(REPO, 1, "ada").unwrap();
    let pull = detail(&scene).await;
    assert!(pull["state"] == "CLOSED" && pull["closedAt"].is_string() && pull["mergedAt"].is_null());
    world.reopen(REPO, 1, "ada").unwrap();
    world.push_commit(REPO, 1, "Give in", &[("a.txt", Some(&numbered("rival"))), ("b.txt", Some("b\n"))]).unwrap();
    let clean = world.force_push(REPO, 1, "Again", &[("b.txt", Some("b\n"))]).unwrap();
    let merged = world.merge(REPO, 1, "ada").unwrap();
    let query = "{ repository(owner: \"acme\", name: \"api\") { pullRequest(number: 1) { state merged headRefOid mergeCommit { oid } mergedBy { login } changedFiles } } }";
    let pull = scene.viewer.data(query, json!({})).await["repository"]["pullRequest"].clone();
    assert_eq!(
        pull,
        json!({"state": "MERGED", "merged": true, "headRefOid": clean, "mergeCommit": {"oid": merged}, "mergedBy": {"login": "ada"}, "changedFiles": 1})
    );
}
