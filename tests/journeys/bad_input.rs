//! Everything that can be wrong around the daemon: each is told once, in words that say what, where and what to do; nothing is lost
//! or changed; and the daemon goes on wherever it can.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod agents;
mod disk;
mod files;
mod github;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use wloop_api::client::UnitFilter;
use wloop_api::types::{Health, PlanItem};
use wloop_tests::raw::RawRequest;
use wloop_tests::{Stage, until};

/// Changes the configuration that [`Stage::write_home`] wrote.
fn edit_config(stage: &Stage, edit: impl FnOnce(String) -> String) {
    let path = stage.home().join("config.toml");
    std::fs::write(&path, edit(std::fs::read_to_string(&path).unwrap())).unwrap();
}

/// Writes a file of the home's profile.
fn write_profile(stage: &Stage, path: &str, text: &str) {
    let file = stage.home().join("profiles/default").join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Starts a daemon that must end by itself, and gives what it said.
async fn does_not_start(stage: &mut Stage) -> String {
    let from = stage.log().len();
    let log = stage.try_start().await.expect_err("it must not start");
    let all = &log[from..];
    assert!(!all.contains("panicked") && !all.contains("RUST_BACKTRACE"), "{all}");
    // What it says to whoever started it, beside the log that the tests turn on.
    let said: Vec<&str> = all.lines().filter(|line| line.starts_with("wloop: ")).collect();
    assert!(!said.is_empty(), "{all}");
    said.join("\n")
}

/// The one line of a failed command.
async fn fails(stage: &Stage, arguments: &[&str], code: i32) -> String {
    let output = stage.wloop(arguments).output().await.unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} prints no result: {output:?}");
    assert_eq!(words.trim().lines().count(), 1, "{arguments:?}: {words}");
    words
}

/// What `wloop doctor` prints, and whether something needs attention.
async fn doctor(stage: &Stage) -> (String, bool) {
    let mut command = stage.wloop(&["doctor"]);
    command.envs(&stage.variables);
    let output = command.output().await.unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code() == Some(1))
}

async fn health(stage: &Stage) -> Health {
    stage.client().health().await.unwrap()
}

/// Waits for the planned round of a pull request to be held for a reason with these words.
async fn held_item(stage: &Stage, number: u64, words: &str) -> PlanItem {
    let unit = stage.unit(number);
    until(&format!("a round that says `{words}`"), || async {
        let plan = stage.client().plan().await.map_err(|e| e.to_string())?;
        let item = plan.into_iter().find(|item| item.unit.label == unit).ok_or("no item")?;
        if item.reason.contains(words) { Ok(item) } else { Err(format!("{}: {}", item.state, item.reason)) }
    })
    .await
}

async fn no_turn(stage: &Stage, number: u64) {
    let turns = stage.client().turns(&UnitFilter { state: None, unit: Some(stage.unit(number)) }).await.unwrap();
    assert_eq!(turns, []);
}

#[tokio::test]
async fn every_command_says_what_it_does_not_know() {
    // CLI-18
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    stage.open_gate("plan", number).await;
    let before = stage.events().await;
    for (arguments, code, words) in [
        (vec!["gates", "show", "ffffffff"], 1, "`ffffffff`"),
        (vec!["gates", "show", "fff"], 2, "4 to 32"),
        (vec!["gates", "show", "no-id"], 2, "hexadecimal"),
        (vec!["gates", "resolve", "ffffffff", "skip"], 1, "`ffffffff`"),
        (vec!["gates", "--unit", "acme/api#999"], 1, "acme/api#999"),
        (vec!["plan", "dismiss", "acme/api#999"], 1, "acme/api#999"),
        (vec!["plan", "dismiss", "acme/api"], 1, "acme/api"),
        (vec!["turns", "show", "ffffffff"], 1, "`ffffffff`"),
        (vec!["turn", "cancel", "ffffffff"], 1, "`ffffffff`"),
        (vec!["posts", "show", "ffffffff"], 1, "`ffffffff`"),
        (vec!["posts", "sent", "ffffffff"], 1, "`ffffffff`"),
        (vec!["posts", "discard", "ffffffff"], 1, "`ffffffff`"),
        (vec!["events", "--unit", "acme/api#999"], 1, "acme/api#999"),
        (vec!["events", "--since", "a while"], 1, "a while"),
    ] {
        let output = stage.wloop(&arguments).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let wrong_usage = code == 2 || (arguments[0] == "events" && output.status.code() == Some(2));
        assert!(output.status.code() == Some(code) || wrong_usage, "{arguments:?}: {output:?}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let resolved = fails(&stage, &["gates", "resolve", &stage.open_gate("plan", number).await.id, "dance"], 1).await;
    assert!(resolved.contains("dance") && resolved.contains("skip"), "{resolved}");
    assert_eq!(stage.events().await, before);
    stage.stop().await;
    for arguments in [
        ["status"].as_slice(),
        &["gates"],
        &["plan"],
        &["turns"],
        &["posts"],
        &["inbox"],
        &["events"],
        &["plan", "dismiss", "acme/api#1"],
    ] {
        let said = fails(&stage, arguments, 3).await;
        assert!(said.contains("daemon") && said.contains("start it with"), "{said}");
    }
}

#[tokio::test]
async fn a_second_daemon_on_the_home_leaves_it_to_the_first() {
    // RES-17
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let output = stage.wloop(&["daemon"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("another wloop process") && said.contains("state.db") && said.trim().lines().count() == 1, "{said}");
    assert!(output.stdout.is_empty(), "it never says that it listens");
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(number, &["recorded"]).await;
    assert!(stage.home().join("run/wloop.sock").exists());
}

#[tokio::test]
async fn what_an_earlier_daemon_left_at_the_socket_is_replaced() {
    // API-01
    let mut stage = Stage::new().await;
    stage.start().await;
    stage.kill().await;
    let socket = stage.home().join("run/wloop.sock");
    assert!(socket.exists(), "a killed daemon leaves its socket");
    let said = fails(&stage, &["status"], 3).await;
    assert!(said.contains("nobody listens there"), "{said}");
    std::fs::set_permissions(stage.home().join("run"), std::fs::Permissions::from_mode(0o777)).unwrap();
    stage.start_again().await;
    assert_eq!(RawRequest::get("/healthz").send(&socket).unwrap().status, 200);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&stage.home().join("run"))), (0o600, 0o700));
}
