use wloop_world::{NewInlineComment, ReviewEvent, demo};

use crate::client::Client;
use crate::{REPO, Scene, new_pull, numbered};

#[tokio::test]
async fn pages_show_a_pull_request_and_escape_what_people_wrote() {
    let scene = Scene::new().await;
    let evil = "<script>alert('x')</script>\u{1b}[2J";
    scene
        .world
        .submit_review(REPO, 1, "bob", Some(ReviewEvent::Comment), evil, &[NewInlineComment::new("a.txt", 12, "inline words")])
        .unwrap();
    scene.world.add_comment(REPO, 1, "bob", evil).unwrap();
    scene.world.submit_review(REPO, 1, "viewer", None, "secret draft", &[]).unwrap();
    let anyone = Client::anonymous(&scene.world.api_url());
    let page = anyone.get("/acme/api/pull/1").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(!page.text.contains("<script") && page.text.contains("&lt;script&gt;alert(&#39;x&#39;)"), "{}", page.text);
    for words in ["Change change-a", "Why &amp; how &lt;b&gt;", "inline words", "+changed", "COMMENTED"] {
        assert!(page.text.contains(words), "no {words} in {}", page.text);
    }
    for text in [anyone.get("/acme/api/pull/1?plain").await, anyone.with("accept", "text/plain").get("/acme/api/pull/1").await] {
        assert_eq!(text.header("content-type"), "text/plain; charset=utf-8");
        assert!(text.text.contains("inline words") && text.text.contains("+changed"), "{}", text.text);
        assert!(!text.text.contains('\u{1b}') && !text.text.contains("secret draft"), "{}", text.text);
    }
    assert!(!page.text.contains("secret draft"));
    let list = anyone.get("/").await;
    assert!(list.text.contains("href=\"/acme/api/pull/1\""), "{}", list.text);
    assert!(anyone.get("/?plain").await.text.contains("/acme/api/pull/1  open  Change change-a (by ada)"));
    assert_eq!(anyone.get("/acme/api/pull/9").await.status, 404);
}

#[tokio::test]
async fn the_demo_asks_the_viewer_for_three_reviews() {
    let scene = Scene::new().await;
    let second = tempfile::tempdir().unwrap();
    let options = wloop_world::Options { dir: second.path().to_owned(), port: 0, seed: 1 };
    let world = wloop_world::SmallGithub::start(options).await.unwrap();
    let seeded = demo::seed(&world, "sam").unwrap();
    assert_eq!(seeded.pulls.iter().map(|pull| pull.number).collect::<Vec<_>>(), [1, 2, 3]);
    let sam = Client::new(&world.api_url(), &seeded.token);
    let found = sam.get("/search/issues?q=is:pr+is:open+user-review-requested:@me").await.json();
    assert_eq!(found["total_count"], 3);
    let files = sam.get("/repos/acme/api/pulls/2/files").await.json();
    assert_eq!(files[0]["filename"], "migrations/0007_drop_customer_phone.sql");
    assert!(files[0]["patch"].as_str().unwrap().contains("DROP COLUMN phone"));
    let files = sam.get("/repos/acme/api/pulls/3/files").await.json();
    assert!(files.as_array().unwrap().iter().any(|file| file["patch"].as_str().unwrap().contains("TODO")));
    for pull in &seeded.pulls {
        let path = pull.url.strip_prefix(&world.api_url()).unwrap();
        assert!(sam.get(path).await.text.contains(&pull.title));
    }
    assert!(demo::seed(&world, "sam").is_err(), "a world is seeded once");
    drop(scene);
}

#[tokio::test]
async fn dropping_the_last_handle_stops_the_server() {
    let scene = Scene::new().await;
    scene.world.open_pull_request(new_pull("second", &numbered("second"))).unwrap();
    let other = scene.world.clone();
    drop(scene.world);
    assert_eq!(scene.viewer.get("/user").await.status, 200);
    drop(other);
    let stopped = async { while scene.viewer.send("GET", "/user", None).await.is_ok() {} };
    crate::bounded("the end of the server", stopped).await;
}
