use serde_json::{Value, json};
use wloop_world::{Fault, FaultKind, Match};

use crate::client::Client;
use crate::{REPO, Scene, bounded};

const COMMENTS: &str = "/repos/*/*/issues/*/comments";
const PATH: &str = "/repos/acme/api/issues/1/comments";

fn body() -> Value {
    json!({"body": "once"})
}

#[tokio::test]
async fn an_act_may_be_done_and_its_answer_lost() {
    for kind in [FaultKind::ActedThen502, FaultKind::ActedThenDropped, FaultKind::Truncated] {
        let scene = Scene::new().await;
        scene.world.push_fault(Fault::new("POST", COMMENTS, kind.clone()));
        let got = scene.viewer.send("POST", PATH, Some(body())).await;
        if kind == FaultKind::ActedThen502 {
            assert_eq!(got.unwrap().status, 502);
        } else {
            assert!(got.is_err(), "{kind:?}: {got:?}");
        }
        assert_eq!(scene.world.comments(REPO, 1).len(), 1, "{kind:?}");
        let calls = bounded("the end of the call", scene.world.calls_until(|calls| calls.iter().all(|call| call.ended))).await;
        assert!(calls.len() == 1 && calls[0].acted, "{calls:?}");
        assert_eq!(calls[0].response.as_ref().unwrap()["body"], "once");
        assert_eq!(calls[0].request, Some(body()));
        assert_eq!(scene.viewer.post(PATH, body()).await.status, 201, "a fault is used once");
    }
}

#[tokio::test]
async fn an_act_may_never_happen() {
    let scene = Scene::new().await;
    let limited = FaultKind::Answer {
        status: 429,
        headers: vec![("retry-after".to_owned(), "60".to_owned()), ("x-ratelimit-remaining".to_owned(), "0".to_owned())],
        body: json!({"message": "You have exceeded a secondary rate limit."}),
    };
    for kind in [FaultKind::Dropped, FaultKind::Status(500, json!({"message": "no"})), limited] {
        scene.world.push_fault(Fault::new("POST", COMMENTS, kind));
    }
    assert_eq!(scene.viewer.get(PATH).await.status, 200, "a fault waits for the request that fits");
    assert!(scene.viewer.send("POST", PATH, Some(body())).await.is_err());
    assert_eq!(scene.viewer.post(PATH, body()).await.status, 500);
    let got = scene.viewer.post(PATH, body()).await;
    assert_eq!((got.status, got.header("retry-after"), got.header("x-ratelimit-remaining")), (429, "60", "0"));
    assert_eq!(scene.world.comments(REPO, 1), []);
    assert!(scene.world.calls().iter().filter(|call| call.method == "POST").all(|call| !call.acted));
    assert_eq!(scene.world.faults_left(), []);
}

#[tokio::test]
async fn a_truncated_answer_shows_its_head() {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault::new("GET", "/repos/**", FaultKind::Truncated));
    // Read by hand: what arrives is a good status, the full length, and half a body.
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let address = scene.world.api_url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let request = format!("GET /repos/acme/api HTTP/1.1\r\nhost: {address}\r\nauthorization: token viewer-token\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    drop(bounded("the end of the connection", stream.read_to_end(&mut bytes)).await);
    let text = String::from_utf8(bytes).unwrap();
    let (head, half) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    assert!(!half.is_empty() && half.len() < length, "{} of {length}", half.len());
}

#[tokio::test]
async fn a_delayed_act_happens_after_its_caller_left() {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault::new("POST", COMMENTS, FaultKind::Delay));
    let caller = tokio::spawn({
        let viewer = scene.viewer.clone();
        async move { viewer.send("POST", PATH, Some(body())).await.map(|got| got.status) }
    });
    let call = bounded("the call", scene.world.on_call(&Match::new("POST", COMMENTS))).await;
    assert!(!call.ended && !call.acted);
    bounded("the request being held", scene.world.until_held(1)).await;
    caller.abort();
    assert!(caller.await.is_err());
    assert_eq!(scene.world.comments(REPO, 1), []);
    scene.world.release_held();
    bounded("the act", scene.world.calls_until(|calls| calls.iter().any(|call| call.acted))).await;
    assert_eq!(scene.world.comments(REPO, 1).len(), 1);
}

#[tokio::test]
async fn held_requests_end_when_they_are_released() {
    for (kind, status, comments) in
        [(FaultKind::Delay, Some(201), 1), (FaultKind::ActedThenHang, Some(201), 1), (FaultKind::Hang, None, 0)]
    {
        let scene = Scene::new().await;
        scene.world.push_fault(Fault::new("POST", COMMENTS, kind.clone()));
        let caller = tokio::spawn({
            let viewer = scene.viewer.clone();
            async move { viewer.send("POST", PATH, Some(body())).await.map(|got| got.status) }
        });
        bounded("the request being held", scene.world.until_held(1)).await;
        let expected = usize::from(kind == FaultKind::ActedThenHang);
        assert_eq!(scene.world.comments(REPO, 1).len(), expected, "{kind:?}");
        scene.world.release_held();
        assert_eq!(bounded("the caller", caller).await.unwrap().ok(), status, "{kind:?}");
        assert_eq!(scene.world.comments(REPO, 1).len(), comments, "{kind:?}");
        assert_eq!(scene.world.held(), 0);
    }
}

#[tokio::test]
async fn a_graphql_fault_is_chosen_by_the_query() {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault { on: Match::graphql("rateLimit"), kind: FaultKind::Status(502, json!({"message": "no"})) });
    assert_eq!(scene.viewer.post("/graphql", json!({"query": "{ viewer { login } }"})).await.status, 200);
    assert_eq!(scene.viewer.post("/graphql", json!({"query": "{ rateLimit { cost } }"})).await.status, 502);
}

#[tokio::test]
async fn other_processes_steer_it_over_http() {
    let scene = Scene::new().await;
    let control = Client::anonymous(&scene.world.api_url());
    let fault = json!({"method": "POST", "path": COMMENTS, "kind": "status", "status": 429, "headers": {"Retry-After": "7"}, "body": {"message": "slow"}});
    assert_eq!(control.post("/_world/faults", fault).await.status, 200);
    let got = scene.viewer.post(PATH, body()).await;
    assert_eq!((got.status, got.header("retry-after")), (429, "7"));
    let got = control.post("/_world/faults", json!({"kind": "sulk"})).await;
    assert!(got.status == 400 && got.json()["message"].as_str().unwrap().contains("`sulk`"), "{}", got.text);
    let pushed =
        control.post("/_world/push", json!({"repo": REPO, "number": 1, "message": "More", "files": {"b.txt": "b\n"}})).await;
    assert_eq!(pushed.json()["head"], json!(scene.world.head(REPO, 1).unwrap()));
    let asked =
        control.post("/_world/request-review", json!({"repo": REPO, "number": 1, "by": "ada", "reviewer": "viewer"})).await;
    assert_eq!(asked.status, 200);
    let asked = control.post("/_world/comment", json!({"repo": REPO, "number": 1, "by": "bob", "body": "hi"})).await;
    assert_eq!(asked.status, 200);
    let state = control.get("/_world/state").await.json();
    assert_eq!(state["pulls"][0]["comments"][0]["body"], "hi");
    let calls = control.get("/_world/calls").await.json();
    assert_eq!(calls.as_array().unwrap().len(), 1, "the control face is not in its own record");
    assert_eq!((&calls[0]["status"], &calls[0]["acted"]), (&json!(429), &json!(false)));
    assert_eq!(control.get("/_world/nothing").await.status, 404);
}

#[tokio::test]
async fn a_stopped_server_answers_nobody() {
    let scene = Scene::new().await;
    scene.world.push_fault(Fault::new("GET", "/user", FaultKind::Hang));
    let caller = tokio::spawn({
        let viewer = scene.viewer.clone();
        async move { viewer.send("GET", "/user", None).await.is_err() }
    });
    bounded("the request being held", scene.world.until_held(1)).await;
    bounded("the end of the server", scene.world.shutdown()).await;
    assert!(bounded("the caller", caller).await.unwrap());
    assert!(scene.viewer.send("GET", "/user", None).await.is_err());
}
