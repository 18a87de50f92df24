//! What stops a round: an agent's first run in a repository, the person's pause, the daily cap.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use serde_json::Value;
use wloop_api::client::{ClientError, GateFilter};
use wloop_api::types::{Gate, PlanAction, PlanRequest, Resolve};
use wloop_tests::{Stage, refused, until};

use crate::rounds::{by_hand, submitted, sweeps, turns};

/// What a command printed; it must have done what it was asked.
async fn said(stage: &Stage, arguments: &[&str]) -> String {
    let output = stage.wloop(arguments).output().await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

async fn json(stage: &Stage, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["--json"].into_iter().chain(arguments.iter().copied()).collect();
    serde_json::from_str(&said(stage, &arguments).await).unwrap()
}

/// What a command that was refused said.
async fn refusal(stage: &Stage, arguments: &[&str]) -> String {
    let output = stage.wloop(arguments).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn trust_gate(stage: &Stage) -> Gate {
    let (client, filter) =
        (stage.client(), GateFilter { status: Some("open".into()), kind: Some("trust".into()), ..GateFilter::default() });
    until("a trust gate", || async {
        let gates = client.gates(&filter).await.map_err(|e| e.to_string())?;
        assert!(gates.len() < 2, "{gates:?}");
        gates.into_iter().next().ok_or_else(|| "none".to_owned())
    })
    .await
}

async fn states(stage: &Stage, wanted: &[&str]) {
    until(&format!("rounds that are {wanted:?}"), || async {
        let mut found: Vec<String> = stage.plan().await.into_iter().map(|item| item.state).collect();
        found.sort();
        if found == wanted { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
}

async fn apply(stage: &Stage, number: u64) -> Result<Vec<Gate>, ClientError> {
    let request = PlanRequest { unit: stage.unit(number), action: PlanAction::Apply, guidance: None };
    Ok(stage.client().decide_plan(&request).await?.gates)
}

#[tokio::test]
async fn the_first_run_in_a_repository_asks_and_runs_what_waited_once_it_is_trusted() {
    // RUN-32, GATE-13, GATE-51, GATE-52, GATE-53
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    stage.trusted.clear();
    let pulls = [stage.pull("Guard the sum"), stage.pull("Name the sum")];
    stage.start().await;
    let gate = trust_gate(&stage).await;
    states(&stage, &["blocked", "blocked"]).await;
    let folder = stage.home().join("workspaces/acme/api").display().to_string();
    for named in ["demo", "acme/api", &folder, "could run commands"] {
        assert!(gate.words.contains(named), "{named} in {}", gate.words);
    }
    let about = gate.trust.clone().unwrap();
    assert_eq!((about.agent.as_str(), about.folder.as_str(), about.kind.as_str()), ("demo", folder.as_str(), "first_run"));
    assert!(pulls.iter().all(|number| stage.my_reviews(*number).is_empty()));
    // The command line shows it, and trusts without a terminal as little as it releases anything else.
    let shown = json(&stage, &["gates", "show", &gate.id]).await;
    assert_eq!(shown["trust"]["folder"], folder.as_str());
    assert!(said(&stage, &["plan"]).await.contains("has never run in acme/api"));
    assert_eq!(json(&stage, &["status"]).await["blocked_rounds"], 2);
    assert!(refusal(&stage, &["gates", "resolve", &gate.id, "trust_run"]).await.contains("no terminal"));
    sweeps(&stage, 2).await;
    assert_eq!(trust_gate(&stage).await.id, gate.id, "asked once");

    stage.resolve(&gate.id, "trust_run").await;
    for number in pulls {
        stage.turn(number, &["recorded"]).await;
    }
    let closed = stage.gate(&gate.id).await;
    assert_eq!((closed.closed.unwrap().actor.as_str(), closed.consequence.unwrap().state.as_str()), ("person", "ran"));
    assert_eq!(stage.events().await.iter().filter(|(kind, _)| kind == "trust_written").count(), 1);
    // From now on nothing is asked there.
    let third = stage.pull("Test the sum");
    stage.turn(third, &["recorded"]).await;
    stage.stop().await;
    for number in [pulls[0], pulls[1], third] {
        assert_eq!(submitted(&stage, number).len(), 1);
    }
}

#[tokio::test]
async fn trust_that_was_resolved_before_a_crash_is_written_and_each_round_starts_once() {
    // K26, GATE-13
    for point in ["K26", "K26b"] {
        let mut stage = Stage::new().await;
        stage.window = "1s".to_owned();
        stage.trusted.clear();
        let pulls = [stage.pull("Guard the sum"), stage.pull("Name the sum")];
        stage.variables.insert("FAILPOINTS".to_owned(), format!("{point}=return"));
        stage.start().await;
        states(&stage, &["blocked", "blocked"]).await;
        let gate = trust_gate(&stage).await;
        let answer = stage.client().resolve(&gate.id, "trust_run", &Resolve::default()).await;
        assert!(matches!(answer, Ok(_) | Err(ClientError::Unreachable { .. })), "{answer:?}");
        stage.crashed().await;
        stage.variables.clear();
        stage.start_again().await;
        for number in pulls {
            stage.turn(number, &["recorded"]).await;
            assert_eq!(turns(&stage, number).await.len(), 1, "{point}");
        }
        assert_eq!(stage.gate(&gate.id).await.consequence.unwrap().state, "ran");
        stage.stop().await;
        assert!(pulls.iter().all(|number| submitted(&stage, *number).len() == 1), "{point}");
    }
}

#[tokio::test]
async fn pause_resume_mute_and_unmute_by_the_command_line() {
    // WIN-13, WIN-39, CLI-18, GH-FACT-29, RES-20
    let mut stage = Stage::new().await;
    let (number, other) = (stage.pull("Guard the sum"), stage.pull("Name the sum"));
    stage.start().await;
    let (gate, _) = (stage.open_gate("plan", number).await, stage.open_gate("plan", other).await);
    let (unit, url) = (stage.unit(number), gate.unit.clone().unwrap().url);
    // An unknown one changes nothing.
    for command in ["pause", "resume", "mute", "unmute"] {
        for unknown in ["acme/api#999", "github:PR_nothing"] {
            assert!(refusal(&stage, &[command, unknown]).await.contains(unknown), "{command}");
        }
    }
    assert_eq!(stage.gate(&gate.id).await.status, "open");

    // Muted: it is in the plan, and not among what waits.
    said(&stage, &["mute", &url]).await;
    assert!(stage.gate(&gate.id).await.muted && said(&stage, &["plan"]).await.contains("\tmuted"));
    let inbox = said(&stage, &["inbox"]).await;
    assert!(!inbox.contains(&unit) && inbox.contains(&stage.unit(other)), "{inbox}");
    assert_eq!(json(&stage, &["status"]).await["muted_rounds"], 1);
    said(&stage, &["unmute", &unit]).await;
    assert!(said(&stage, &["inbox"]).await.contains(&unit));

    said(&stage, &["pause", &unit]).await;
    let closed = stage.gate(&gate.id).await;
    assert_eq!((closed.status.as_str(), closed.closed.unwrap().reason.as_deref()), ("superseded", Some("paused")));
    sweeps(&stage, 2).await;
    assert_eq!(stage.plan().await.len(), 1, "the other one");
    let why = json(&stage, &["plan", "--unit", &unit]).await;
    assert_eq!((why["paused"].as_bool(), why["skipped"][0]["because"].as_str()), (Some(true), Some("paused")));
    said(&stage, &["resume", &unit]).await;
    assert_ne!(stage.open_gate("plan", number).await.id, gate.id);

    let later = json(&stage, &["pause", "--until", "2h"]).await;
    assert!(later["paused"].as_bool().unwrap() && later["until"].is_string());
    assert!(stage.plan().await.is_empty());
    assert_eq!(json(&stage, &["status"]).await["holds"]["paused"], true);
    assert!(refusal(&stage, &["pause", "--until", "2020-01-01T00:00:00Z"]).await.contains("past"));
    assert!(refusal(&stage, &["pause", "--until", "soon"]).await.contains("soon"));
    // What the person asks for runs all the same.
    stage.client().start_turn(&by_hand(&unit)).await.unwrap();
    stage.turn(number, &["recorded"]).await;
    said(&stage, &["resume"]).await;
    stage.open_gate("plan", other).await;
    let kinds: Vec<String> = stage.events().await.into_iter().map(|(kind, _)| kind).collect();
    for kind in ["unit_muted", "unit_unmuted", "unit_paused", "unit_resumed", "paused", "resumed"] {
        assert_eq!(kinds.iter().filter(|found| *found == kind).count(), 1, "{kind}");
    }
}

#[tokio::test]
async fn a_pause_that_was_stored_wins_over_the_window_after_a_crash() {
    // K39, WIN-13
    let mut stage = Stage::new().await;
    stage.window = "2s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.variables.insert("FAILPOINTS".to_owned(), "K39=return".to_owned());
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let answer = stage.client().hold_unit(&wloop_api::operation::PAUSE_UNIT, &stage.unit(number)).await;
    assert!(matches!(answer, Ok(_) | Err(ClientError::Unreachable { .. })), "{answer:?}");
    stage.crashed().await;
    stage.variables.clear();
    stage.start_again().await;
    wloop_tests::clock_past(gate.deadline.unwrap()).await;
    sweeps(&stage, 2).await;
    assert_eq!(stage.gate(&gate.id).await.closed.unwrap().reason.as_deref(), Some("paused"));
    assert!(stage.plan().await.is_empty() && turns(&stage, number).await.is_empty());
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn a_round_over_the_cap_runs_by_hand_alone() {
    // WIN-27, WIN-28, WIN-29, WIN-31, WIN-32, ROUND-24
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    stage.more = "[plugins.github.rounds]\nper_day = 1\n".to_owned();
    let first = stage.pull("Guard the sum");
    stage.start().await;
    stage.turn(first, &["recorded"]).await;
    let second = stage.pull("Name the sum");
    states(&stage, &["capped"]).await;
    let gate = stage.open_gate("plan", second).await;
    assert!(gate.words.contains("plugins.github.rounds.per_day") && gate.deadline.is_none(), "{gate:?}");
    assert_eq!(json(&stage, &["status"]).await["capped_rounds"], 1);
    assert!(said(&stage, &["plan"]).await.contains("\tper_day"));
    sweeps(&stage, 2).await;
    assert!(turns(&stage, second).await.is_empty());
    // Guidance starts nothing and is kept.
    let guide = PlanRequest { unit: stage.unit(second), action: PlanAction::Guide, guidance: Some("Be brief".to_owned()) };
    let kept = stage.client().decide_plan(&guide).await.unwrap();
    assert!(kept.guidance_kept && kept.gates.is_empty());
    assert_eq!(apply(&stage, second).await.unwrap()[0].id, gate.id);
    let turn = stage.turn(second, &["recorded"]).await;
    assert_eq!((turn.started_by.as_str(), turn.guidance.as_deref()), ("hand", Some("Be brief")));
    assert_eq!(stage.gate(&gate.id).await.consequence.unwrap().state, "ran");
    stage.stop().await;
    assert_eq!((submitted(&stage, first).len(), submitted(&stage, second).len()), (1, 1));
}

#[tokio::test]
async fn a_crash_inside_the_start_of_a_capped_round_is_shown_and_never_repeated() {
    // K19, K20, CONS-08, CONS-10, CONS-11
    for point in ["K19", "K20"] {
        let mut stage = Stage::new().await;
        if point == "K20" {
            stage.agent = vec!["no-such-agent-here".to_owned()];
        }
        stage.more = "[plugins.github.rounds]\nper_day = 0\n".to_owned();
        let number = stage.pull("Guard the sum");
        stage.variables.insert("FAILPOINTS".to_owned(), format!("{point}=return"));
        stage.start().await;
        let gate = stage.open_gate("plan", number).await;
        let answer = apply(&stage, number).await;
        assert!(matches!(answer, Ok(_) | Err(ClientError::Unreachable { .. })), "{answer:?}");
        stage.crashed().await;
        stage.variables.clear();
        stage.agent.clear();
        stage.write_home();
        stage.start_again().await;
        sweeps(&stage, 2).await;
        assert_eq!(stage.gate(&gate.id).await.consequence.unwrap().state, "unknown", "{point}");
        assert!(turns(&stage, number).await.is_empty() && stage.plan().await.is_empty(), "{point}");
        let short = gate.id[..6].to_owned();
        let warned = |warnings: &[String]| warnings.iter().any(|warning| warning.contains(&short));
        assert!(warned(&stage.client().health().await.unwrap().warnings));
        let doctor = stage.wloop(&["doctor"]).output().await.unwrap();
        assert!(String::from_utf8_lossy(&doctor.stdout).contains(&short), "{doctor:?}");
        assert_eq!(refused(stage.client().retry_gate(&gate.id).await).status, 409, "it is never run again");
        if point == "K19" {
            said(&stage, &["gates", "seen", &gate.id]).await;
        } else {
            stage.client().start_turn(&by_hand(&stage.unit(number))).await.unwrap();
            stage.turn(number, &["recorded"]).await;
        }
        assert!(!warned(&stage.client().health().await.unwrap().warnings), "looked after, or acted on again");
        stage.stop().await;
    }
}

/// A `git` that comes before the machine's own and stands still in a fetch while a file is there.
fn slow_git(stage: &mut Stage) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, wait, stands) = (stage.scratch().join("bin"), stage.scratch().join("wait"), stage.scratch().join("stands"));
    let path = wloop_tests::plain_environment().remove("PATH").expect("a PATH");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' fetch '*) while [ -e '{}' ]; do : >'{}'; sleep 0.05; done ;; esac\nPATH='{path}' exec git \"$@\"\n",
        wait.display(),
        stands.display(),
    );
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("git"), script).unwrap();
    std::fs::set_permissions(folder.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(&wait, "").unwrap();
    stage.variables.insert("PATH".to_owned(), format!("{}:{path}", folder.display()));
    stands
}

#[tokio::test]
async fn a_capped_round_whose_daemon_is_stopped_in_its_start_starts_with_the_next_one() {
    // CONS-08, CONS-10, WIN-29
    let mut stage = Stage::new().await;
    stage.more = "[plugins.github.rounds]\nper_day = 0\n".to_owned();
    let number = stage.pull("Guard the sum");
    let stands = slow_git(&mut stage);
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    apply(&stage, number).await.unwrap();
    until("its workspace is being made", || async {
        if stands.exists() { Ok(()) } else { Err("nothing is fetched".to_owned()) }
    })
    .await;
    assert_eq!(stage.gate(&gate.id).await.consequence.unwrap().state, "started");
    stage.stop().await;
    std::fs::remove_file(stage.scratch().join("wait")).unwrap();
    stage.start_again().await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!((turn.started_by.as_str(), turn.gate.as_deref()), ("hand", Some(gate.id.as_str())));
    assert_eq!(stage.gate(&gate.id).await.consequence.unwrap().state, "ran");
    sweeps(&stage, 2).await;
    assert_eq!((turns(&stage, number).await.len(), stage.client().health().await.unwrap().warnings.len()), (1, 0));
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), stage.writes()), (1, 1));
}
