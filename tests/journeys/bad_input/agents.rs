//! The programs a round needs: git and an agent that are missing, and agents that misbehave.

use wloop_tests::Stage;

use super::{doctor, edit_config, held_item, no_turn, write_profile};

#[tokio::test]
async fn without_git_a_round_waits_and_says_so() {
    // RUN-03
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.variables.insert("PATH".to_owned(), stage.scratch().join("nothing").display().to_string());
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let item = held_item(&stage, number, "git").await;
    assert!(
        item.reason.contains("install") || item.reason.contains("PATH") || item.reason.contains("not found"),
        "{}",
        item.reason
    );
    no_turn(&stage, number).await;
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("install git"), "{found}");
    stage.stop().await;
    stage.variables.clear();
    stage.start_again().await;
    stage.turn(number, &["recorded"]).await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_leaves_its_round_in_the_plan() {
    // RUN-03
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.agent = vec!["no-such-agent-here".to_owned(), "--go".to_owned()];
    stage.trusted.push(("nobody".to_owned(), wloop_tests::REPO.to_owned()));
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let item = held_item(&stage, number, "no-such-agent-here").await;
    assert!(item.reason.contains("`demo`") && item.reason.contains("agents.demo.headless.command"), "{}", item.reason);
    no_turn(&stage, number).await;
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("no-such-agent-here"), "{found}");
    stage.stop().await;

    stage.write_home();
    edit_config(&stage, |text| text.replace("default = \"demo\"", "default = \"nobody\""));
    match stage.try_start().await {
        // Refused at once, with its key …
        Err(said) => assert!(said.contains("nobody") && said.contains("agents.default"), "{said}"),
        // … or told on the round.
        Ok(()) => {
            let item = held_item(&stage, number, "`nobody`").await;
            assert!(item.reason.contains("[agents.nobody]"), "{}", item.reason);
            no_turn(&stage, number).await;
            let (found, attention) = doctor(&stage).await;
            assert!(attention && found.contains("`nobody`") && found.contains("[agents.nobody]"), "{found}");
            stage.stop().await;
        }
    }
    // Mended, it goes on by itself: the decision was kept.
    stage.agent = Vec::new();
    stage.start().await;
    assert_eq!(stage.turn(number, &["recorded"]).await.gate.as_deref(), Some(gate.id.as_str()));
}

/// Runs one round of the demo's agent that misbehaves by this word.
async fn misbehaves(word: &str, timeout: Option<&str>) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    stage.agent_word = word.to_owned();
    let number = stage.pull("Guard the sum");
    stage.write_home();
    if let Some(timeout) = timeout {
        let intent = include_str!("../../../profiles/default/intents/review/intent.toml");
        assert!(intent.contains("timeout = \"45m\""));
        write_profile(
            &stage,
            "intents/review/intent.toml",
            &intent.replace("timeout = \"45m\"", &format!("timeout = \"{timeout}\"")),
        );
    }
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    (stage, number)
}

#[tokio::test]
async fn an_agent_that_never_ends_is_ended_by_its_limit() {
    // RUN-11, RUN-10
    let (mut stage, number) = misbehaves("hang", Some("3s")).await;
    let turn = stage.turn(number, &["failed"]).await;
    let cause = turn.cause.unwrap();
    assert!(cause.contains("limit") && cause.contains("timeout"), "{cause}");
    assert_eq!(turn.posts, []);
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn an_agent_that_prints_rubbish_and_one_that_forgets_its_record_are_unrecorded() {
    // RUN-09, RUN-10
    let (stage, number) = misbehaves("rubbish", None).await;
    let turn = stage.turn(number, &["unrecorded"]).await;
    assert_eq!(turn.cause.as_deref(), Some("the agent ended without a record"));
    let detail = stage.client().turn(&turn.id).await.unwrap();
    assert!(detail.transcript.iter().any(|line| line.from == "stdout"), "what it said is kept");
    let shown = stage.wloop(&["turns", "show", &turn.id]).output().await.unwrap();
    assert!(shown.status.success() && !shown.stdout.contains(&0x1b), "nothing of it reaches the terminal raw");

    let (stage, number) = misbehaves("no-record", None).await;
    let turn = stage.turn(number, &["unrecorded"]).await;
    assert_eq!((turn.posts.len(), stage.my_reviews(number).len()), (1, 1), "the review it made is known");
}

#[tokio::test]
async fn an_agent_that_floods_its_output_costs_no_memory() {
    // RUN-12
    let (stage, number) = misbehaves("flood", None).await;
    let turn = stage.turn(number, &["recorded"]).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", stage.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(peak < 150 * 1024, "the daemon took {peak} kB at most");
    let transcript = stage.home().join(format!("logs/transcripts/{}.jsonl", turn.id));
    let kept = std::fs::metadata(&transcript).unwrap().len();
    assert!(kept < 80 << 20, "{kept} bytes are kept of 200 MB");
    let detail = stage.client().turn(&turn.id).await.unwrap();
    assert!(
        detail.transcript.iter().any(|line| line.from == "note" && line.text.contains("not kept")),
        "what was dropped is noted"
    );
    assert_eq!(stage.my_reviews(number).len(), 1);
}

#[tokio::test]
async fn an_agent_that_crashes_has_its_code_and_last_words_told() {
    // RUN-10
    let (stage, number) = misbehaves("crash", None).await;
    let turn = stage.turn(number, &["failed"]).await;
    let cause = turn.cause.unwrap();
    assert!(cause.contains("code 3") && cause.contains("crashes, as it was told to"), "{cause}");
    let item = stage.plan().await.into_iter().find(|item| item.unit.label == stage.unit(number));
    assert_eq!(item, None, "a round that was given is not given again by itself");
    let output = stage.wloop(&["turns", "show", &turn.id]).output().await.unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("code 3"), "{shown}");
}
