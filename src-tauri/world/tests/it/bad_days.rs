//! Each thing that goes wrong at GitHub, over the wire, as a client meets it.

use serde_json::{Value, json};
use wloop_world::{Fault, FaultKind, Match, Resource, ReviewEvent, ReviewState};

use crate::client::Got;
use crate::{REPO, Scene, bounded};

const COMMENTS: &str = "/repos/*/*/issues/*/comments";
const PATH: &str = "/repos/acme/api/issues/1/comments";
const REVIEW: &str = "/repos/acme/api/pulls/1/reviews";
const RESET: i64 = 4_102_444_800;

/// One comment is tried under a fault: what is answered, and how many comments there are then.
async fn tried(kind: FaultKind) -> (Result<Got, String>, usize) {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault::new("POST", COMMENTS, kind));
    let got = scene.viewer.send("POST", PATH, Some(json!({"body": "once"}))).await;
    (got, scene.world.comments(REPO, 1).len())
}

/// A refusal: nothing is done.
async fn refused(kind: FaultKind) -> Got {
    let (got, comments) = tried(kind).await;
    assert_eq!(comments, 0);
    got.unwrap()
}

fn words(got: &Got) -> String {
    got.json()["message"].as_str().unwrap().to_owned()
}

async fn pull(scene: &Scene, fields: &str) -> Value {
    let query = format!("{{ repository(owner: \"acme\", name: \"api\") {{ pullRequest(number: 1) {{ {fields} }} }} }}");
    scene.viewer.post("/graphql", json!({"query": query})).await.json()
}

#[tokio::test]
async fn a_secondary_limit_with_a_time() {
    let got = refused(FaultKind::secondary_limit(Some(60))).await;
    assert_eq!((got.status, got.header("retry-after"), got.header("x-ratelimit-remaining")), (403, "60", "5000"));
    assert!(words(&got).contains("secondary rate limit"));
}

#[tokio::test]
async fn a_secondary_limit_without_a_time() {
    let got = refused(FaultKind::secondary_limit(None)).await;
    assert_eq!((got.status, got.header("retry-after")), (403, ""));
    assert!(words(&got).contains("secondary rate limit"));
}

#[tokio::test]
async fn a_spent_quota_with_its_reset() {
    let got = refused(FaultKind::spent_quota(RESET)).await;
    let told = (got.status, got.header("x-ratelimit-remaining"), got.header("x-ratelimit-reset"));
    assert_eq!(told, (403, "0", RESET.to_string().as_str()));
}

#[tokio::test]
async fn a_429_with_and_without_a_time() {
    let got = refused(FaultKind::too_many_requests(Some(7))).await;
    assert_eq!((got.status, got.header("retry-after")), (429, "7"));
    assert_eq!(refused(FaultKind::too_many_requests(None)).await.status, 429);
}

#[tokio::test]
async fn a_graphql_limit_comes_as_a_success() {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault { on: Match::graphql("viewer"), kind: FaultKind::rate_limited(RESET) });
    let got = scene.viewer.post("/graphql", json!({"query": "{ viewer { login } }"})).await;
    assert_eq!((got.status, got.header("x-ratelimit-remaining")), (200, "0"));
    assert_eq!(got.json()["errors"][0]["type"], "RATE_LIMITED");
    // The same from a quota that is truly spent.
    scene.world.set_remaining(Resource::Graphql, 0);
    let got = scene.viewer.post("/graphql", json!({"query": "{ viewer { login } }"})).await;
    assert_eq!((got.status, got.header("x-ratelimit-remaining"), got.header("x-ratelimit-resource")), (200, "0", "graphql"));
    assert_eq!(got.json()["errors"][0]["type"], "RATE_LIMITED");
}

#[tokio::test]
async fn each_resource_has_a_quota_of_its_own() {
    let scene = Scene::new().await;
    scene.world.set_remaining(Resource::Search, 3);
    let search = scene.viewer.get("/search/issues?q=is:pr").await;
    assert_eq!((search.header("x-ratelimit-resource"), search.header("x-ratelimit-remaining")), ("search", "2"));
    let core = scene.viewer.get("/user").await;
    assert_eq!((core.header("x-ratelimit-resource"), core.header("x-ratelimit-limit")), ("core", "5000"));
}

#[tokio::test]
async fn a_token_without_the_permission() {
    let got = refused(FaultKind::no_permission()).await;
    assert!(got.status == 403 && words(&got).contains("not accessible"));
}

#[tokio::test]
async fn a_locked_conversation() {
    let got = refused(FaultKind::locked_conversation()).await;
    assert!(got.status == 403 && words(&got).contains("locked"));
    let scene = Scene::new().await;
    scene.world.lock(REPO, 1, true).unwrap();
    let got = scene.viewer.post(PATH, json!({"body": "x"})).await;
    assert!(got.status == 403 && words(&got).contains("locked"), "{}", got.text);
    assert_eq!(pull(&scene, "locked").await["data"]["repository"]["pullRequest"]["locked"], true);
}

#[tokio::test]
async fn an_archived_repository() {
    let got = refused(FaultKind::archived_repository()).await;
    assert!(got.status == 403 && words(&got).contains("archived"));
    let scene = Scene::new().await;
    scene.world.set_archived(REPO, true).unwrap();
    let got = scene.viewer.post(PATH, json!({"body": "x"})).await;
    assert!(got.status == 403 && words(&got).contains("archived"), "{}", got.text);
}

#[tokio::test]
async fn what_is_not_there_or_not_to_be_seen() {
    assert_eq!(refused(FaultKind::not_found()).await.status, 404);
    let scene = Scene::new().await;
    scene.world.set_hidden(REPO, "viewer", true).unwrap();
    assert_eq!(scene.viewer.post(PATH, json!({"body": "x"})).await.status, 404);
    assert_eq!(pull(&scene, "id").await["errors"][0]["type"], "NOT_FOUND");
}

#[tokio::test]
async fn what_was_there() {
    assert_eq!(refused(FaultKind::gone()).await.status, 410);
}

#[tokio::test]
async fn a_review_beside_a_pending_one() {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault::new("POST", "/repos/*/*/pulls/*/reviews", FaultKind::pending_review()));
    let faked = scene.viewer.post(REVIEW, json!({"event": "APPROVE"})).await;
    scene.world.submit_review(REPO, 1, "viewer", None, "half", &[]).unwrap();
    let real = scene.viewer.post(REVIEW, json!({"event": "APPROVE"})).await;
    for got in [faked, real] {
        assert_eq!(got.status, 422);
        assert_eq!(got.json()["errors"][0], "User can only have one pending review per pull request");
    }
    let left = scene.world.reviews(REPO, 1);
    assert_eq!((left.len(), left[0].state), (1, ReviewState::Pending));
}

#[tokio::test]
async fn a_comment_off_the_diff() {
    let got = refused(FaultKind::off_the_diff()).await;
    assert!(got.status == 422 && got.json()["errors"][0].as_str().unwrap().contains("diff"));
}

#[tokio::test]
async fn a_token_that_is_not_accepted() {
    let got = refused(FaultKind::bad_credentials()).await;
    assert_eq!((got.status, words(&got).as_str()), (401, "Bad credentials"));
}

#[tokio::test]
async fn a_broken_server_before_and_after_the_act() {
    for status in [500, 502, 503, 504] {
        assert_eq!(refused(FaultKind::broken_server(status)).await.status, status);
    }
    let (got, comments) = tried(FaultKind::ActedThen502).await;
    assert_eq!((got.unwrap().status, comments), (502, 1));
}

#[tokio::test]
async fn a_connection_that_breaks_before_and_after_the_act() {
    let (got, comments) = tried(FaultKind::Dropped).await;
    assert!(got.is_err() && comments == 0);
    let (got, comments) = tried(FaultKind::ActedThenDropped).await;
    assert!(got.is_err() && comments == 1);
}

#[tokio::test]
async fn a_body_that_is_none() {
    let (got, comments) = tried(FaultKind::Garbled).await;
    let got = got.unwrap();
    assert_eq!((got.status, comments), (201, 1));
    assert!(serde_json::from_str::<Value>(&got.text).is_err(), "{}", got.text);
}

#[tokio::test]
async fn another_place() {
    for status in [301, 302, 307, 308] {
        let got = refused(FaultKind::redirect(status, "/elsewhere")).await;
        assert_eq!((got.status, got.header("location")), (status, "/elsewhere"));
    }
}

#[tokio::test]
async fn data_and_errors_side_by_side() {
    let scene = Scene::new().await;
    let path = [json!("repository"), json!("pullRequest"), json!("author")];
    scene.world.push_fault(Fault { on: Match::graphql("author"), kind: FaultKind::partial(&path, "FORBIDDEN", "protected") });
    let got = pull(&scene, "title author { login }").await;
    let shown = &got["data"]["repository"]["pullRequest"];
    assert_eq!((&shown["title"], &shown["author"]), (&json!("Change change-a"), &Value::Null));
    assert_eq!(got["errors"], json!([{"type": "FORBIDDEN", "message": "protected", "path": path}]));
}

#[tokio::test]
async fn nulls_and_words_that_nobody_knows() {
    let scene = Scene::new().await;
    let at = "/data/repository/pullRequest";
    let null = FaultKind::nulls(&[&format!("{at}/author")]);
    scene.world.push_fault(Fault { on: Match::graphql("author"), kind: null });
    assert_eq!(pull(&scene, "author { login }").await["data"]["repository"]["pullRequest"]["author"], Value::Null);
    let word = FaultKind::Changed(vec![(format!("{at}/state"), json!("FROZEN"))]);
    scene.world.push_fault(Fault { on: Match::graphql("state"), kind: word });
    assert_eq!(pull(&scene, "state").await["data"]["repository"]["pullRequest"]["state"], "FROZEN");
}

#[tokio::test]
async fn more_than_a_hundred_of_everything() {
    let scene = Scene::new().await;
    let world = &scene.world;
    for n in 0..101 {
        world.add_label(REPO, 1, &format!("label-{n}")).unwrap();
        world.assign(REPO, 1, &format!("user-{n}")).unwrap();
        world.request_review(REPO, 1, "ada", &format!("user-{n}")).unwrap();
        world.add_comment(REPO, 1, "ada", "x").unwrap();
        world.submit_review(REPO, 1, "bob", Some(ReviewEvent::Comment), "x", &[]).unwrap();
    }
    let names = ["labels", "assignees", "reviewRequests", "comments", "reviews"];
    let fields: String =
        names.map(|n| format!("{n}(first: 100) {{ totalCount nodes {{ __typename }} pageInfo {{ hasNextPage }} }} ")).concat();
    let got = pull(&scene, &fields).await;
    for name in names {
        let told = &got["data"]["repository"]["pullRequest"][name];
        assert!(told["totalCount"].as_u64().unwrap() >= 101, "{name}: {told}");
        assert_eq!((told["nodes"].as_array().unwrap().len(), &told["pageInfo"]["hasNextPage"]), (100, &json!(true)), "{name}");
    }
}

#[tokio::test]
async fn nobody_listens_for_a_while() {
    let scene = Scene::new().await;
    bounded("the closed door", scene.world.refuse_connections(true)).await;
    let refused = scene.viewer.send("GET", "/user", None).await;
    assert!(refused.as_ref().is_err_and(|why| why.contains("refused")), "{refused:?}");
    assert_eq!(scene.world.calls(), [], "nothing arrived");
    bounded("the open door", scene.world.refuse_connections(false)).await;
    assert_eq!(scene.viewer.get("/user").await.status, 200);
}

#[tokio::test]
async fn a_clock_that_goes_wrong() {
    let scene = Scene::new().await;
    scene.world.set_now(Some("2031-02-03T04:05:06Z".parse().unwrap()));
    assert_eq!(scene.viewer.get("/user").await.header("date"), "Mon, 03 Feb 2031 04:05:06 GMT");
}

#[tokio::test]
async fn each_state_of_a_pull_request() {
    let scene = Scene::new().await;
    let state = |got: &Value| got["data"]["repository"]["pullRequest"].clone();
    scene.world.set_draft(REPO, 1, true).unwrap();
    assert_eq!(state(&pull(&scene, "isDraft state").await), json!({"isDraft": true, "state": "OPEN"}));
    scene.world.set_draft(REPO, 1, false).unwrap();
    scene.world.close(REPO, 1, "ada").unwrap();
    let closed = state(&pull(&scene, "state closedAt mergedAt").await);
    assert!(closed["state"] == "CLOSED" && closed["closedAt"].is_string() && closed["mergedAt"].is_null(), "{closed}");
    scene.world.reopen(REPO, 1, "ada").unwrap();
    scene.world.merge(REPO, 1, "ada").unwrap();
    let merged = state(&pull(&scene, "state closedAt mergedAt").await);
    assert!(merged["state"] == "MERGED" && merged["closedAt"].is_string() && merged["mergedAt"].is_string(), "{merged}");
}
