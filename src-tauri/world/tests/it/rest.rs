use std::collections::BTreeSet;

use serde_json::{Value, json};
use wloop_world::{AccountKind, CheckOutcome, NewInlineComment, NewPullRequest, ReviewEvent, ReviewState};

use crate::client::Client;
use crate::schema::{OPENAPI, check};
use crate::{REPO, Scene, new_pull, numbered};

const PULL: &str = "/repos/{owner}/{repo}/pulls/{pull_number}";

/// A pull request with something of everything on it.
async fn full_scene() -> (Scene, u64, u64, u64, String) {
    let scene = Scene::new().await;
    let world = &scene.world;
    let review = world
        .submit_review(REPO, 1, "bob", Some(ReviewEvent::RequestChanges), "No", &[NewInlineComment::new("a.txt", 12, "why?")])
        .unwrap();
    let inline = world.reviews(REPO, 1)[0].comments[0].id;
    world.reply(REPO, 1, "ada", inline, "because").unwrap();
    let comment = world.add_comment(REPO, 1, "bob", "hello").unwrap();
    world.request_team_review(REPO, 1, "ada", "acme/backend").unwrap();
    world.add_label(REPO, 1, "bug").unwrap();
    world.assign(REPO, 1, "viewer").unwrap();
    world.set_check(REPO, 1, "unit", CheckOutcome::Completed("failure".to_owned())).unwrap();
    world.set_check(REPO, 1, "lint", CheckOutcome::InProgress).unwrap();
    world.set_check(REPO, 1, "cla", CheckOutcome::Status("success".to_owned())).unwrap();
    let head = world.head(REPO, 1).unwrap();
    (scene, review, inline, comment, head)
}

#[tokio::test]
async fn every_read_is_as_github_describes_it() {
    let (scene, review, inline, comment, head) = full_scene().await;
    let mut routes: Vec<(String, String)> = [
        ("/user", "/user"),
        ("/user/teams", "/user/teams"),
        ("/rate_limit", "/rate_limit"),
        ("/notifications", "/notifications"),
        ("/search/issues", "/search/issues?q=is:pr+is:open+review-requested:@me"),
        ("/repos/{owner}/{repo}", "/repos/acme/api"),
        ("/repos/{owner}/{repo}/pulls", "/repos/acme/api/pulls?state=all"),
        (PULL, "/repos/acme/api/pulls/1"),
        ("/repos/{owner}/{repo}/pulls/{pull_number}/files", "/repos/acme/api/pulls/1/files"),
        ("/repos/{owner}/{repo}/pulls/{pull_number}/commits", "/repos/acme/api/pulls/1/commits"),
        ("/repos/{owner}/{repo}/pulls/{pull_number}/reviews", "/repos/acme/api/pulls/1/reviews"),
        ("/repos/{owner}/{repo}/pulls/{pull_number}/comments", "/repos/acme/api/pulls/1/comments"),
        ("/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers", "/repos/acme/api/pulls/1/requested_reviewers"),
        ("/repos/{owner}/{repo}/issues/{issue_number}", "/repos/acme/api/issues/1"),
        ("/repos/{owner}/{repo}/issues/{issue_number}/comments", "/repos/acme/api/issues/1/comments"),
        ("/repos/{owner}/{repo}/commits/{ref}/status", "/repos/acme/api/commits/change-a/status"),
    ]
    .map(|(template, path)| (template.to_owned(), path.to_owned()))
    .to_vec();
    let mut add = |template: &str, path: String| routes.push((format!("/repos/{{owner}}/{{repo}}{template}"), path));
    add("/pulls/{pull_number}/reviews/{review_id}", format!("/repos/acme/api/pulls/1/reviews/{review}"));
    add("/pulls/{pull_number}/reviews/{review_id}/comments", format!("/repos/acme/api/pulls/1/reviews/{review}/comments"));
    add("/pulls/comments/{comment_id}", format!("/repos/acme/api/pulls/comments/{inline}"));
    add("/issues/comments/{comment_id}", format!("/repos/acme/api/issues/comments/{comment}"));
    add("/compare/{basehead}", format!("/repos/acme/api/compare/main...{head}"));
    add("/commits/{ref}/check-runs", format!("/repos/acme/api/commits/{head}/check-runs"));

    let mut covered = BTreeSet::new();
    for (template, path) in &routes {
        let got = scene.viewer.get(path).await;
        let body = check("get", template, 200, &got);
        assert!(template == "/notifications" || body.as_array().is_none_or(|items| !items.is_empty()), "{path} is empty");
        for name in [
            "date",
            "x-ratelimit-limit",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
            "x-ratelimit-used",
            "x-ratelimit-resource",
            "x-github-request-id",
        ] {
            assert!(!got.header(name).is_empty(), "{path} has no {name}");
        }
        covered.insert(template.clone());
    }
    let described = OPENAPI["paths"].as_object().unwrap();
    let missing: Vec<&String> = described
        .iter()
        .filter(|(template, of)| of.get("get").is_some() && !covered.contains(*template))
        .map(|(template, _)| template)
        .collect();
    assert_eq!(missing, ["/repos/{owner}/{repo}/issues/{issue_number}/timeline"]);
}

#[tokio::test]
async fn the_values_are_those_of_the_world() {
    let (scene, review, inline, ..) = full_scene().await;
    let pull = scene.viewer.get("/repos/acme/api/pulls/1").await.json();
    assert_eq!(pull["head"]["ref"], "change-a");
    assert_eq!(pull["mergeable"], true);
    assert_eq!((pull["additions"].as_u64(), pull["deletions"].as_u64()), (Some(1), Some(1)));
    assert_eq!(pull["requested_reviewers"][0]["login"], "viewer");
    assert_eq!(pull["requested_teams"][0]["slug"], "backend");
    let files = scene.viewer.get("/repos/acme/api/pulls/1/files").await.json();
    let patch = files[0]["patch"].as_str().unwrap();
    assert!(patch.starts_with("@@ -9,7 +9,7 @@") && patch.contains("-line 12\n+changed\n"), "{patch}");
    let reviews = scene.viewer.get("/repos/acme/api/pulls/1/reviews").await.json();
    assert_eq!((&reviews[0]["id"], &reviews[0]["state"]), (&json!(review), &json!("CHANGES_REQUESTED")));
    let comments = scene.viewer.get("/repos/acme/api/pulls/1/comments").await.json();
    assert_eq!((&comments[0]["line"], &comments[0]["side"]), (&json!(12), &json!("RIGHT")));
    assert_eq!(comments[1]["in_reply_to_id"], json!(inline));
    let compare = scene.viewer.get("/repos/acme/api/compare/main...change-a").await.json();
    assert_eq!((&compare["status"], &compare["ahead_by"]), (&json!("ahead"), &json!(1)));
    let diff = scene.viewer.with("accept", "application/vnd.github.diff").get("/repos/acme/api/pulls/1").await;
    assert!(diff.text.starts_with("diff --git a/a.txt b/a.txt"), "{}", diff.text);
}

#[tokio::test]
async fn writes_are_as_github_describes_them_and_change_the_world() {
    let scene = Scene::new().await;
    let viewer = &scene.viewer;
    scene.world.set_now(Some("2026-03-01T10:00:00Z".parse().unwrap()));
    let head = scene.world.head(REPO, 1).unwrap();
    let before = viewer.get("/repos/acme/api/pulls/1").await.json()["updated_at"].clone();
    let got = viewer
        .post(
            "/repos/acme/api/pulls/1/reviews",
            json!({"event": "REQUEST_CHANGES", "body": "Please", "commit_id": head, "comments": [
                {"path": "a.txt", "line": 12, "body": "why?"},
                {"path": "a.txt", "line": 14, "start_line": 10, "side": "RIGHT", "body": "these"},
                {"path": "a.txt", "line": 12, "side": "LEFT", "body": "was better"},
                {"path": "a.txt", "position": 1, "body": "by position"},
            ]}),
        )
        .await;
    let review = check("post", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", 200, &got);
    assert_eq!((&review["state"], &review["submitted_at"]), (&json!("CHANGES_REQUESTED"), &json!("2026-03-01T10:00:00Z")));
    let seen = scene.world.reviews(REPO, 1);
    assert_eq!(seen.len(), 1);
    assert_eq!(
        (seen[0].id, seen[0].author.as_str(), seen[0].state),
        (review["id"].as_u64().unwrap(), "viewer", ReviewState::ChangesRequested)
    );
    assert_eq!((&seen[0].commit, seen[0].comments.len()), (&head, 4));
    assert_eq!((seen[0].comments[1].start_line, seen[0].comments[3].line), (Some(10), 9));

    let requested = viewer.get("/repos/acme/api/pulls/1/requested_reviewers").await.json();
    assert_eq!(requested["users"], json!([]), "a review given ends its request");
    let after = viewer.get("/repos/acme/api/pulls/1").await.json()["updated_at"].clone();
    assert_ne!(before, after);

    let first = seen[0].comments[0].id;
    let got = viewer.post(&format!("/repos/acme/api/pulls/1/comments/{first}/replies"), json!({"body": "also"})).await;
    let reply = check("post", "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies", 201, &got);
    assert_eq!(reply["in_reply_to_id"], json!(first));
    let got = viewer.post("/repos/acme/api/issues/1/comments", json!({"body": "hello"})).await;
    let comment = check("post", "/repos/{owner}/{repo}/issues/{issue_number}/comments", 201, &got);
    let held = scene.world.comments(REPO, 1);
    assert_eq!(
        (held[0].id, held[0].body.as_str(), held[0].author.as_str()),
        (comment["id"].as_u64().unwrap(), "hello", "viewer")
    );
    assert_eq!(comment["html_url"], json!(held[0].url));
}

#[tokio::test]
async fn a_review_without_an_event_is_seen_by_its_author_alone_until_it_is_submitted() {
    let scene = Scene::new().await;
    let got = scene
        .viewer
        .post("/repos/acme/api/pulls/1/reviews", json!({"comments": [{"path": "a.txt", "line": 12, "body": "x"}]}))
        .await;
    let review = check("post", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", 200, &got);
    assert_eq!(review["state"], "PENDING");
    let path = "/repos/acme/api/pulls/1/reviews";
    assert_eq!(scene.viewer.get(path).await.json().as_array().unwrap().len(), 1);
    assert_eq!(scene.ada.get(path).await.json(), json!([]));
    assert_eq!(scene.ada.get("/repos/acme/api/pulls/1/comments").await.json(), json!([]));
    let threads = "query { repository(owner: \"acme\", name: \"api\") { pullRequest(number: 1) {
        reviews(first: 5) { totalCount } reviewThreads(first: 5) { totalCount } } } }";
    let count = |data: Value| {
        let pull = &data["repository"]["pullRequest"];
        (pull["reviews"]["totalCount"].clone(), pull["reviewThreads"]["totalCount"].clone())
    };
    assert_eq!(count(scene.viewer.data(threads, json!({})).await), (json!(1), json!(1)));
    assert_eq!(count(scene.ada.data(threads, json!({})).await), (json!(0), json!(0)));
    let requested = scene.viewer.get("/repos/acme/api/pulls/1/requested_reviewers").await.json();
    assert_eq!(requested["users"][0]["login"], "viewer", "a pending review answers no request");
    let submit = format!("{path}/{}/events", review["id"]);
    let got = scene.viewer.post(&submit, json!({"event": "COMMENT"})).await;
    assert_eq!((got.status, &got.json()["state"]), (200, &json!("COMMENTED")));
    assert_eq!(scene.ada.get(path).await.json().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn lists_are_paged_with_links() {
    let scene = Scene::new().await;
    for n in 0..7 {
        scene.world.add_comment(REPO, 1, "bob", &format!("comment {n}")).unwrap();
        scene.world.submit_review(REPO, 1, "bob", Some(ReviewEvent::Comment), &format!("review {n}"), &[]).unwrap();
    }
    for (list, key) in [("issues/1/comments", "comment"), ("pulls/1/reviews", "review")] {
        let mut path = format!("/repos/acme/api/{list}?per_page=3");
        let mut bodies = Vec::new();
        let mut pages = 0;
        loop {
            let got = scene.viewer.get(&path).await;
            bodies.extend(got.json().as_array().unwrap().iter().map(|item| item["body"].as_str().unwrap().to_owned()));
            pages += 1;
            let link = got.header("link").to_owned();
            assert_eq!(link.contains("rel=\"prev\""), pages > 1, "{link}");
            let next = link.split(", ").find(|part| part.ends_with("rel=\"next\""));
            let Some(next) = next else { break };
            assert!(link.contains("page=3>; rel=\"last\""), "{link}");
            let url = next.split(['<', '>']).nth(1).unwrap();
            path = url.strip_prefix(&scene.world.api_url()).unwrap().to_owned();
        }
        assert_eq!(pages, 3);
        assert_eq!(bodies, (0..7).map(|n| format!("{key} {n}")).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn since_leaves_out_what_is_older() {
    let scene = Scene::new().await;
    for (at, body) in [("2026-03-01T10:00:00Z", "old"), ("2026-03-01T11:00:00Z", "new")] {
        scene.world.set_now(Some(at.parse().unwrap()));
        scene.world.add_comment(REPO, 1, "bob", body).unwrap();
    }
    let got = scene.viewer.get("/repos/acme/api/issues/1/comments?since=2026-03-01T11:00:00Z").await.json();
    assert_eq!(got.as_array().unwrap().len(), 1);
    assert_eq!(got[0]["body"], "new");
    assert_eq!(scene.viewer.get("/repos/acme/api/issues/1/comments?since=soon").await.status, 422);
}

#[tokio::test]
async fn searches_find_what_the_viewer_asks_for() {
    let scene = Scene::new().await;
    let world = &scene.world;
    world.open_pull_request(new_pull("team", &numbered("team"))).unwrap();
    world.request_team_review(REPO, 2, "ada", "acme/backend").unwrap();
    world.open_pull_request(NewPullRequest { author: "viewer".to_owned(), ..new_pull("mine", &numbered("mine")) }).unwrap();
    world.assign(REPO, 3, "viewer").unwrap();
    world.submit_review(REPO, 3, "bob", Some(ReviewEvent::Approve), "", &[]).unwrap();
    world.open_pull_request(new_pull("closed", &numbered("closed"))).unwrap();
    world.close(REPO, 4, "ada").unwrap();
    for (query, expected) in [
        ("is:pr+is:open+archived:false+review-requested:@me", vec![2, 1]),
        ("is:pr+is:open+user-review-requested:@me", vec![1]),
        ("is:pr+team-review-requested:acme/backend", vec![2]),
        ("is:pr+author:@me", vec![3]),
        ("is:pr+assignee:viewer", vec![3]),
        ("is:pr+reviewed-by:bob", vec![3]),
        ("is:pr+is:closed+repo:acme/api", vec![4]),
        ("is:pr+-author:@me+sort:created-asc", vec![1, 2, 4]),
        ("is:pr+updated:%3C2020-01-01", vec![]),
        ("is:pr+archived:true", vec![]),
    ] {
        let body = scene.viewer.get(&format!("/search/issues?q={query}")).await.json();
        let numbers: Vec<u64> = body["items"].as_array().unwrap().iter().map(|item| item["number"].as_u64().unwrap()).collect();
        assert_eq!((numbers, body["total_count"].as_u64()), (expected.clone(), Some(expected.len() as u64)), "{query}");
    }
}

#[tokio::test]
async fn ids_follow_from_the_seed_and_the_acts() {
    let (one, two) = (Scene::new().await, Scene::new().await);
    assert_eq!(one.world.node_id(REPO, 1).unwrap(), two.world.node_id(REPO, 1).unwrap());
    let a = one.world.add_comment(REPO, 1, "bob", "x").unwrap();
    let b = one.world.add_comment(REPO, 1, "bob", "y").unwrap();
    assert!(b > a);
    assert_eq!(a, two.world.add_comment(REPO, 1, "bob", "x").unwrap());
}

#[tokio::test]
async fn forks_bots_and_ghosts_keep_their_shapes() {
    let scene = Scene::new().await;
    let world = &scene.world;
    world.add_user("dependabot[bot]", AccountKind::Bot);
    let bot = NewPullRequest { author: "dependabot".to_owned(), ..new_pull("bump", &numbered("bump")) };
    let fork = NewPullRequest { author: "eve".to_owned(), cross_repository: true, ..new_pull("patch-1", &numbered("fork")) };
    assert_eq!((world.open_pull_request(bot).unwrap(), world.open_pull_request(fork).unwrap()), (2, 3));
    let pull = check("get", PULL, 200, &scene.viewer.get("/repos/acme/api/pulls/2").await);
    assert_eq!((&pull["user"]["login"], &pull["user"]["type"]), (&json!("dependabot[bot]"), &json!("Bot")));
    let pull = check("get", PULL, 200, &scene.viewer.get("/repos/acme/api/pulls/3").await);
    assert_eq!(pull["head"]["repo"]["full_name"], "eve/api");
    let query = "query { repository(owner: \"acme\", name: \"api\") { bot: pullRequest(number: 2) { author { __typename login ... on Bot { id } } }
        fork: pullRequest(number: 3) { isCrossRepository author { login } headRepository { nameWithOwner owner { login } } } } }";
    let data = scene.viewer.data(query, json!({})).await;
    assert_eq!(data["repository"]["bot"]["author"]["login"], "dependabot");
    assert_eq!(data["repository"]["bot"]["author"]["__typename"], "Bot");
    assert_eq!(data["repository"]["fork"]["headRepository"]["owner"]["login"], "eve");
    world.delete_user("eve").unwrap();
    let data = scene.viewer.data(query, json!({})).await;
    assert_eq!(data["repository"]["fork"], json!({"isCrossRepository": true, "author": null, "headRepository": null}));
    let pull = scene.viewer.get("/repos/acme/api/pulls/3").await.json();
    assert_eq!((&pull["user"]["login"], &pull["head"]["repo"]), (&json!("ghost"), &Value::Null));
}

#[tokio::test]
async fn a_known_etag_costs_nothing() {
    let scene = Scene::new().await;
    let first = scene.viewer.get("/repos/acme/api/pulls/1").await;
    let again = scene.viewer.with("if-none-match", first.header("etag")).get("/repos/acme/api/pulls/1").await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    assert_eq!(again.header("x-ratelimit-remaining"), first.header("x-ratelimit-remaining"));
    scene.world.add_comment(REPO, 1, "bob", "news").unwrap();
    let again = scene.viewer.with("if-none-match", first.header("etag")).get("/repos/acme/api/pulls/1").await;
    assert_eq!(again.status, 200);
}

#[tokio::test]
async fn a_renamed_repository_redirects() {
    let scene = Scene::new().await;
    scene.world.rename_repository(REPO, "acme/core").unwrap();
    let got = scene.viewer.get("/repos/acme/api/pulls/1?x=1").await;
    assert_eq!(got.status, 301);
    let to = got.header("location").strip_prefix(&scene.world.api_url()).unwrap().to_owned();
    assert!(to.ends_with("/pulls/1?x=1"), "{to}");
    let pull = scene.viewer.get(&to).await.json();
    assert_eq!(pull["base"]["repo"]["full_name"], "acme/core");
    assert_eq!(scene.viewer.post("/repos/acme/api/issues/1/comments", json!({"body": "x"})).await.status, 307);
    assert_eq!(scene.world.comments("acme/core", 1).len(), 0);
    assert!(scene.world.add_repository(REPO, &[]).is_err(), "the old name is not free");
}

#[tokio::test]
async fn accounts_see_what_they_may() {
    let scene = Scene::new().await;
    scene.world.set_hidden(REPO, "viewer", true).unwrap();
    assert_eq!(scene.viewer.get("/repos/acme/api").await.status, 404);
    assert_eq!(scene.viewer.get("/search/issues?q=is:pr").await.json()["total_count"], 0);
    assert_eq!(scene.ada.get("/repos/acme/api").await.status, 200);
    let anonymous = Client::anonymous(&scene.world.api_url());
    assert_eq!(anonymous.get("/repos/acme/api").await.status, 401);
}
