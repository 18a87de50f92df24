//! `wloop demo --once` as a process: the real daemon, the scripted agent and the small GitHub, played through by itself.

use std::process::{Command, Stdio};

// WIN-15, WIN-20, AMB-10, AMB-11: one round runs when its window ends, one is guided at once, one stops and is published by the person
#[test]
fn the_demo_plays_through_and_finds_one_review_on_each_pull_request() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wloop"));
    // Surroundings that would lead astray: another home, and an agent around it.
    command.env("WLOOP_HOME", "/nowhere").env("WLOOP_SESSION", "none").env("CLAUDECODE", "1").env("TMPDIR", temporary.path());
    let output = command.args(["demo", "--once"]).stdin(Stdio::null()).output().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    for part in [
        "by workflows/review#1",
        "the window that ended",
        "you: publish it as it is",
        "guide: Look at the error handling",
        "you: approve",
        "all well",
    ] {
        assert!(said.contains(part), "{part:?} is not in\n{said}");
    }
    assert_eq!(said.matches("read back acme/api#").count(), 4, "{said}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "the throw-away home is left behind");
}
