//! What a round publishes: where it stops, what it moves, and what it never repeats.

use std::path::PathBuf;

use serde_json::{Value, json};
use wloop_tests::{ME, REPO, Stage, TOKEN, program, until};
use wloop_world::{Fault, FaultKind, ReviewState};

use super::{REVIEWS, by_hand, start_with, stopped_round, submitted, sweeps, turns, unasked};

/// An agent that makes these calls of tools, one after the other, and ends when the test lets it.
fn scripted(stage: &Stage, calls: &[(&str, Value)]) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "scripted", "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let calls = calls.iter().enumerate().map(|(n, (tool, arguments))| {
        json!({ "jsonrpc": "2.0", "id": n + 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
    });
    let lines: Vec<String> = [hello, ready].into_iter().chain(calls).map(|line| line.to_string()).collect();
    let input = stage.scratch().join("calls.jsonl");
    std::fs::write(&input, format!("{}\n", lines.join("\n"))).expect("the calls are written");
    let script = format!(
        "#!/bin/sh\ncat >/dev/null\n{{ cat '{}'; until [ -e \"$WLOOP_DEMO_WAIT\" ]; do sleep 0.05; done; }} | wloop mcp\n",
        input.display()
    );
    let path = stage.scratch().join("scripted.sh");
    std::fs::write(&path, script).expect("the script is written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    path
}

async fn start_scripted(stage: &mut Stage, calls: &[(&str, Value)]) {
    let script = scripted(stage, calls);
    let demo = program("wloop-demo-agent").display().to_string();
    start_with(stage, |config| config.replace(&demo, &script.display().to_string())).await;
}

/// The person submits their pending review, as they do on the web.
async fn submit_pending(stage: &Stage, number: u64, review: u64) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let api = stage.world.api_url();
    let host = api.trim_start_matches("http://");
    let body = r#"{"event":"COMMENT"}"#;
    let request = format!(
        "POST /repos/{REPO}/pulls/{number}/reviews/{review}/events HTTP/1.1\r\nhost: {host}\r\nuser-agent: sam\r\n\
         authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(host).await.expect("the small github listens");
    stream.write_all(request.as_bytes()).await.expect("the call goes out");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_post_whose_head_moved_after_the_word_is_asked_again_on_the_new_one() {
    // F29, GH-PUB-17
    let mut stage = Stage::new().await;
    let (number, turn, gate) = stopped_round(&mut stage).await;
    let files = [("migrations/0002_drop.sql", Some("ALTER TABLE customer DROP COLUMN fax;\n"))];
    let head = stage.world.force_push(REPO, number, "Another", &files).unwrap();
    // The open gate tells of it as soon as it is seen.
    until("the gate tells both commits", || async {
        let post = stage.gate(&gate.id).await.post.ok_or_else(|| "no post".to_owned())?;
        if post.head == turn.head && post.head_now.as_ref() == Some(&head) { Ok(()) } else { Err(format!("{:?}", post.head_now)) }
    })
    .await;
    stage.resolve(&gate.id, "publish").await;
    let again = stage.open_gate("post", number).await;
    assert_ne!(again.id, gate.id);
    assert!(again.words.contains(&turn.head[..7]) && again.words.contains(&head[..7]), "{}", again.words);
    assert_eq!(stage.writes(), 0);
    stage.resolve(&again.id, "publish").await;
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!(submitted(&stage, number).iter().map(|r| r.commit.as_str()).collect::<Vec<_>>(), [head]);
}

#[tokio::test]
async fn a_half_written_review_of_the_person_is_left_alone_and_waited_for() {
    // F30, GH-PUB-20
    let mut stage = Stage::new().await;
    stage.agent_word = "slow-before-post".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(number, &["started"]).await;
    let pending = stage.world.submit_review(REPO, number, ME, None, "half a thought", &[]).unwrap();
    stage.let_agent_post();
    let held = stage.open_gate("post", number).await;
    assert!(held.words.contains("pending review"), "{}", held.words);
    assert_eq!(stage.turn(number, &["asked"]).await.posts[0].state, "held");
    let theirs = stage.my_reviews(number);
    assert_eq!((theirs.len(), theirs[0].state, theirs[0].body.as_str()), (1, ReviewState::Pending, "half a thought"));
    submit_pending(&stage, number, pending).await;
    stage.resolve(&held.id, "publish").await;
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    let reviews = submitted(&stage, number);
    assert_eq!(reviews.len(), 2, "theirs and the round's");
    assert_eq!(reviews[0].body, "half a thought");
}

#[tokio::test]
async fn an_own_pull_request_gets_a_comment_and_no_verdict() {
    // ROUND-15
    let mut stage = Stage::new().await;
    let number = unasked(&stage, ME, "My own");
    stage.start().await;
    sweeps(&stage, 2).await;
    assert_eq!(stage.plan().await, [], "no round is planned for it");
    stage.client().start_turn(&by_hand(&stage.unit(number))).await.unwrap();
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!(submitted(&stage, number).iter().map(|r| r.state).collect::<Vec<_>>(), [ReviewState::Commented]);
}

#[tokio::test]
async fn a_verdict_on_an_own_pull_request_becomes_a_comment_and_is_asked() {
    // F32, GH-PUB-21, T9
    let mut stage = Stage::new().await;
    let number = unasked(&stage, ME, "My own");
    start_scripted(&mut stage, &[("github_post", json!({ "shape": "review", "event": "APPROVE", "text": "Looks right." }))])
        .await;
    stage.client().start_turn(&by_hand(&stage.unit(number))).await.unwrap();
    let gate = stage.open_gate("post", number).await;
    let post = gate.post.clone().expect("the post");
    assert_eq!((post.event.as_deref(), post.text.as_str(), post.state.as_str()), (Some("COMMENT"), "Looks right.", "held"));
    stage.turn(number, &["asked"]).await;
    assert_eq!(stage.writes(), 0);
    stage.let_agent_post();
    stage.resolve(&gate.id, "publish").await;
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!(submitted(&stage, number).iter().map(|r| r.state).collect::<Vec<_>>(), [ReviewState::Commented]);
}

#[tokio::test]
async fn a_comment_off_the_diff_moves_into_the_body() {
    // GH-PUB-18, GH-PUB-16
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    let comments = json!([
        { "path": "src/lib.rs", "line": 2, "body": "on the diff" },
        { "path": "src/lib.rs", "line": 400, "body": "far away" },
        { "path": "README.md", "line": 1, "body": "untouched file" },
    ]);
    let post = json!({ "shape": "review", "event": "COMMENT", "text": "Three things.", "comments": comments });
    start_scripted(&mut stage, &[("github_post", post)]).await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.post(number, &["sent"]).await;
    stage.let_agent_post();
    stage.turn(number, &["unrecorded"]).await;
    stage.stop().await;
    let reviews = submitted(&stage, number);
    assert_eq!(reviews.len(), 1);
    let inline: Vec<(&str, u64)> = reviews[0].comments.iter().map(|c| (c.path.as_str(), c.line)).collect();
    assert_eq!(inline, [("src/lib.rs", 2)]);
    for moved in ["src/lib.rs:400", "far away", "README.md:1", "untouched file"] {
        assert!(reviews[0].body.contains(moved), "{moved} in {}", reviews[0].body);
    }
}

#[tokio::test]
async fn our_own_echo_makes_no_work_and_a_new_request_makes_one_follow_up() {
    // F27, GH-PUB-29, GH-PUB-30, ROUND-02, ROUND-10
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let first = stage.turn(number, &["recorded"]).await;
    sweeps(&stage, 3).await;
    assert_eq!(stage.plan().await, [], "our own review is no news");
    stage.world.request_review(REPO, number, "ines", ME).unwrap();
    let gate = stage.open_gate("plan", number).await;
    assert_eq!(stage.plan().await[0].stage, "follow-up");
    stage.resolve(&gate.id, "run_now").await;
    let client = stage.client();
    let filter = wloop_api::client::UnitFilter { state: Some("recorded".to_owned()), unit: Some(stage.unit(number)) };
    until("the follow-up is recorded", || async {
        let turns = client.turns(&filter).await.map_err(|e| e.to_string())?;
        if turns.len() == 2 { Ok(()) } else { Err(format!("{} recorded", turns.len())) }
    })
    .await;
    let follow_up = &turns(&stage, number).await[0];
    assert_eq!((follow_up.stage.as_str(), follow_up.head.as_str()), ("follow-up", first.head.as_str()));
    sweeps(&stage, 3).await;
    assert_eq!(stage.plan().await, []);
    stage.stop().await;
    assert_eq!(submitted(&stage, number).len(), 2);
}

#[tokio::test]
async fn a_limit_makes_the_post_wait_and_go_once() {
    // GH-SYNC-36, GH-SYNC-38
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    let limited = FaultKind::Answer {
        status: 403,
        headers: vec![("retry-after".to_owned(), "3".to_owned())],
        body: json!({ "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again." }),
    };
    stage.world.push_fault(Fault::new("POST", REVIEWS, limited));
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.posts[0].attempts, 2);
    assert!(turn.posts[0].changed_at.duration_since(turn.posts[0].created_at).as_secs() >= 3, "{:?}", turn.posts[0]);
    let events = stage.events().await;
    assert!(
        events.iter().all(|(kind, _)| kind != "post_failed" && kind != "post_doubtful" && kind != "turn_failed"),
        "{events:?}"
    );
    stage.stop().await;
    assert_eq!(submitted(&stage, number).len(), 1);
}

#[tokio::test]
async fn the_same_post_twice_is_one_review() {
    // GH-PUB-26
    let mut stage = Stage::new().await;
    stage.agent_word = "double".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!((turn.posts.len(), turn.posts[0].attempts), (1, 1));
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), stage.writes()), (1, 1));
}
