use serde_json::{Value, json};
use wloop_world::{Resource, ReviewEvent, SmallGithub};

use crate::client::Client;
use crate::schema::check;
use crate::{REPO, Scene};

const REVIEWS: &str = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews";
const COMMENTS: &str = "/repos/{owner}/{repo}/issues/{issue_number}/comments";

fn nothing_written(world: &SmallGithub) {
    assert_eq!(world.reviews(REPO, 1), []);
    assert_eq!(world.comments(REPO, 1), []);
}

#[tokio::test]
async fn tokens_are_checked() {
    let scene = Scene::new().await;
    let url = scene.world.api_url();
    let got = Client::new(&url, "wrong").get("/user").await;
    assert_eq!(check("get", "/user", 401, &got)["message"], "Bad credentials");
    assert_eq!(Client::new(&url, "wrong").post("/graphql", json!({"query": "{viewer{login}}"})).await.status, 401);
    assert_eq!(check("get", "/user", 401, &Client::anonymous(&url).get("/user").await)["message"], "Requires authentication");
    scene.world.revoke_token("viewer-token");
    assert_eq!(scene.viewer.get("/user").await.status, 401);
    assert_eq!(scene.ada.get("/user").await.json()["login"], "ada");
}

#[tokio::test]
async fn reviews_that_github_would_refuse_leave_nothing() {
    let scene = Scene::new().await;
    let at = |line: u64| json!([{"path": "a.txt", "line": line, "body": "x"}]);
    for (body, words) in [
        (json!({"event": "MERGE", "body": "x"}), "invalid value"),
        (json!({"event": "COMMENT"}), "blank"),
        (json!({"event": "REQUEST_CHANGES", "body": "  "}), "blank"),
        (json!({"event": "COMMENT", "body": "x".repeat(65_537)}), "too long"),
        (json!({"event": "COMMENT", "body": "x", "commit_id": "0".repeat(40)}), "commit_id"),
        (json!({"event": "COMMENT", "body": "x", "comments": at(1)}), "Line could not be resolved"),
        (
            json!({"event": "COMMENT", "body": "x", "comments": [{"path": "b.txt", "line": 12, "body": "x"}]}),
            "Path could not be resolved",
        ),
        (
            json!({"event": "COMMENT", "body": "x", "comments": [{"path": "a.txt", "line": 12, "start_line": 14, "body": "x"}]}),
            "Start line",
        ),
        (json!({"event": "COMMENT", "body": "x", "comments": [{"path": "a.txt", "position": 99, "body": "x"}]}), "Position"),
        (
            json!({"event": "COMMENT", "body": "x", "comments": [{"path": "a.txt", "line": 12, "side": "UP", "body": "x"}]}),
            "Side",
        ),
        (json!({"event": "COMMENT", "body": "x", "comments": [{"path": "a.txt", "line": 12, "body": ""}]}), "blank"),
    ] {
        let got = scene.viewer.post("/repos/acme/api/pulls/1/reviews", body.clone()).await;
        let error = check("post", REVIEWS, 422, &got);
        assert!(error["errors"][0].as_str().is_some_and(|text| text.contains(words)), "{body}: {error}");
        nothing_written(&scene.world);
    }
    let longest = json!({"event": "COMMENT", "body": "x".repeat(65_536)});
    assert_eq!(scene.viewer.post("/repos/acme/api/pulls/1/reviews", longest).await.status, 200);
}

#[tokio::test]
async fn verdicts_on_an_own_pull_request_are_refused() {
    let scene = Scene::new().await;
    for event in ["APPROVE", "REQUEST_CHANGES"] {
        let got = scene.ada.post("/repos/acme/api/pulls/1/reviews", json!({"event": event, "body": "x"})).await;
        check("post", REVIEWS, 422, &got);
    }
    nothing_written(&scene.world);
    let got = scene.ada.post("/repos/acme/api/pulls/1/reviews", json!({"event": "COMMENT", "body": "x"})).await;
    assert_eq!(got.status, 200);
}

#[tokio::test]
async fn a_pending_review_stands_in_the_way_of_another() {
    let scene = Scene::new().await;
    scene.world.submit_review(REPO, 1, "viewer", None, "half done", &[]).unwrap();
    let body = json!({"event": "APPROVE"});
    let got = scene.viewer.post("/repos/acme/api/pulls/1/reviews", body.clone()).await;
    assert!(check("post", REVIEWS, 422, &got)["errors"][0].as_str().unwrap().contains("pending"));
    scene.world.discard_pending_review(REPO, 1, "viewer").unwrap();
    assert_eq!(scene.viewer.post("/repos/acme/api/pulls/1/reviews", body).await.status, 200);
}

#[tokio::test]
async fn a_commit_that_a_force_push_removed_is_no_longer_in_the_pull_request() {
    let scene = Scene::new().await;
    let old = scene.world.head(REPO, 1).unwrap();
    scene.world.push_commit(REPO, 1, "More", &[("b.txt", Some("b\n"))]).unwrap();
    let body = json!({"event": "COMMENT", "body": "x", "commit_id": old, "comments": [{"path": "a.txt", "line": 12, "body": "on the old commit"}]});
    assert_eq!(scene.viewer.post("/repos/acme/api/pulls/1/reviews", body.clone()).await.status, 200);
    scene.world.force_push(REPO, 1, "Anew", &[("b.txt", Some("b\n"))]).unwrap();
    assert_eq!(scene.viewer.post("/repos/acme/api/pulls/1/reviews", body).await.status, 422);
}

#[tokio::test]
async fn locked_archived_and_unknown_are_told_apart() {
    let scene = Scene::new().await;
    let review = json!({"event": "APPROVE"});
    let comment = json!({"body": "x"});
    let both = async |status: u16, number: u64| {
        let got = scene.viewer.post(&format!("/repos/acme/api/pulls/{number}/reviews"), review.clone()).await;
        check("post", REVIEWS, status, &got);
        let got = scene.viewer.post(&format!("/repos/acme/api/issues/{number}/comments"), comment.clone()).await;
        check("post", COMMENTS, status, &got)["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(both(404, 9).await, "Not Found");
    scene.world.lock(REPO, 1, true).unwrap();
    assert!(both(403, 1).await.contains("locked"));
    scene.world.lock(REPO, 1, false).unwrap();
    scene.world.set_archived(REPO, true).unwrap();
    assert!(both(403, 1).await.contains("archived"));
    nothing_written(&scene.world);
}

#[tokio::test]
async fn comments_and_replies_are_checked() {
    let scene = Scene::new().await;
    for body in [json!({"body": ""}), json!({"body": "x".repeat(65_537)})] {
        check("post", COMMENTS, 422, &scene.viewer.post("/repos/acme/api/issues/1/comments", body).await);
    }
    assert_eq!(scene.viewer.post("/repos/acme/api/issues/1/comments", Value::Null).await.status, 400);
    assert_eq!(scene.viewer.post("/repos/acme/api/pulls/1/comments/5/replies", json!({"body": "x"})).await.status, 404);
    assert_eq!(scene.viewer.send("DELETE", "/repos/acme/api", None).await.unwrap().status, 404);
    nothing_written(&scene.world);
    assert!(scene.world.submit_review(REPO, 1, "ada", Some(ReviewEvent::Approve), "", &[]).is_err());
    assert!(scene.world.request_review(REPO, 1, "ada", "ada").is_err());
}

#[tokio::test]
async fn a_spent_quota_refuses_in_each_face_s_way() {
    let scene = Scene::new().await;
    scene.world.set_remaining(Resource::Core, 1);
    assert_eq!(scene.viewer.get("/user").await.header("x-ratelimit-remaining"), "0");
    let got = scene.viewer.post("/repos/acme/api/issues/1/comments", json!({"body": "x"})).await;
    assert_eq!((got.status, got.header("x-ratelimit-remaining")), (403, "0"));
    nothing_written(&scene.world);
    assert_eq!(scene.viewer.get("/rate_limit").await.json()["resources"]["core"]["remaining"], 0);
    scene.world.set_remaining(Resource::Graphql, 0);
    let body = scene.viewer.graphql("{ viewer { login } }", json!({})).await;
    assert_eq!(body["errors"][0]["type"], "RATE_LIMITED");
}
