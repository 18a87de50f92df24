//! Drafts at a terminal: what the person writes, sees whole, approves, and sends again.

use std::process::Stdio;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use wloop_api::client::DraftFilter;
use wloop_tests::{ME, REPO, Stage};
use wloop_world::{Fault, FaultKind};

use super::{comments, in_state, wloop};

/// One word of a shell's command.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Runs `wloop` at a terminal and types what is given; its exit code and what the terminal shows. `None` where no terminal can be had.
async fn at_terminal(stage: &Stage, arguments: &[&str], typed: &str) -> Option<(Option<i32>, String)> {
    let command = stage.wloop(arguments);
    let command = command.as_std();
    let line: Vec<String> =
        std::iter::once(command.get_program()).chain(command.get_args()).map(|word| quoted(&word.to_string_lossy())).collect();
    let mut terminal = tokio::process::Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line.join(" "), "/dev/null"]);
    terminal.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let spawned = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn();
    let mut child = spawned.ok()?;
    let mut input = child.stdin.take().expect("its input");
    input.write_all(typed.as_bytes()).await.expect("it is typed");
    let done = child.wait_with_output().await.expect("it ends");
    drop(input);
    Some((done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned()))
}

#[tokio::test]
async fn what_the_person_writes_is_held_shown_whole_approved_and_sent_again_at_a_terminal() {
    // CLI-06, CLI-08, CLI-10, CLI-13, DRAFT-28, DRAFT-29, DRAFT-30, F16
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    stage.open_gate("plan", number).await;
    let unit = stage.unit(number);
    if at_terminal(&stage, &["status"], "").await.is_none() {
        println!("not run: no `script` here to make a terminal with");
        return;
    }
    // Written, and held until it is approved.
    let long = format!("{}\n@channel deploy now", "A line that says little.\n".repeat(640));
    assert!(long.len() > 16_000);
    let (code, out, errors) = wloop(&stage, &["outbox", "new", &unit, &long]).await;
    assert_eq!(code, Some(0), "{errors}");
    let id = out.split('\t').next().expect("an id").to_owned();
    assert_eq!(in_state(&stage, &id, "held").await.text, long);
    assert!(comments(&stage, number).is_empty());
    // Shown to its last line before the question, which takes only a yes.
    let (code, shown) = at_terminal(&stage, &["outbox", "approve", &id], "no\n").await.expect("a terminal");
    assert!(code == Some(1) && shown.contains("@channel deploy now") && shown.contains("still waits"), "{shown}");
    assert!(shown.contains("mentions channel"), "{shown}");
    in_state(&stage, &id, "held").await;
    let (code, shown) = at_terminal(&stage, &["outbox", "approve", &id], "yes\n").await.expect("a terminal");
    assert_eq!(code, Some(0), "{shown}");
    in_state(&stage, &id, "sent").await;
    assert_eq!(comments(&stage, number).len(), 1);
    // Sent at once, and again after GitHub refused it.
    let path = format!("/repos/{REPO}/issues/{number}/comments");
    stage.world.push_fault(Fault::new("POST", &path, FaultKind::Status(410, json!({ "message": "Issues are disabled" }))));
    let (code, shown) = at_terminal(&stage, &["outbox", "new", &unit, "At once.", "--send"], "").await.expect("a terminal");
    assert_eq!(code, Some(0), "{shown}");
    let client = stage.client();
    let failed = wloop_tests::until("the refused draft", || async {
        let filter = DraftFilter { state: Some("failed".to_owned()), ..DraftFilter::default() };
        client.drafts(&filter).await.map_err(|e| e.to_string())?.into_iter().next().ok_or_else(|| "none".to_owned())
    })
    .await;
    assert!(!failed.maybe_posted, "{failed:?}");
    let (code, _, errors) = wloop(&stage, &["outbox", "retry", &failed.id]).await;
    assert!(code == Some(1) && errors.contains("no terminal"), "{errors}");
    let (code, shown) = at_terminal(&stage, &["outbox", "retry", &failed.id], "").await.expect("a terminal");
    assert_eq!(code, Some(0), "{shown}");
    in_state(&stage, &failed.id, "sent").await;
    stage.stop().await;
    let bodies: Vec<String> = comments(&stage, number).into_iter().map(|comment| comment.body).collect();
    assert!(bodies.len() == 2 && bodies[1].starts_with("At once.\n"), "{ME}: {bodies:?}");
}
