//! Files of the person that do not load: the configuration and the profile.

use wloop_tests::{Stage, TOKEN};

use super::{doctor, does_not_start, edit_config, health, write_profile};

const PUPPET: &str = env!("CARGO_BIN_EXE_wloop-puppet");

#[tokio::test]
async fn a_broken_configuration_is_refused_with_its_place() {
    // RUN-01
    let mut stage = Stage::new().await;
    // No ledger before the first start: nothing is to be made.
    stage.trusted.clear();
    stage.write_home();
    let good = std::fs::read_to_string(stage.home().join("config.toml")).unwrap();
    for (from, to, words) in [
        ("[sweep]", "[sweep", vec!["config.toml:1:"]),
        ("fast = \"1s\"", "fats = \"1s\"", vec!["config.toml:2:", "fats", "fast"]),
        ("fast = \"1s\"", "fast = true", vec!["config.toml:2:", "sweep.fast"]),
        ("fast = \"1s\"", "fast = \"soon\"", vec!["config.toml:2:", "sweep.fast", "soon"]),
        ("[agents.demo]\n", "[agents.demo]\nmax_runing = 2\n", vec!["max_runing"]),
        ("preset = \"command\"", "preset = \"comand\"", vec!["agents.demo.preset", "comand", "command"]),
        ("[plugins.github]", "[plugins.githup]", vec!["githup", "github"]),
        ("default = \"demo\"", "default = \"demo\"\ndefault = \"two\"", vec!["config.toml:", "default"]),
    ] {
        assert!(good.contains(from), "{from}");
        edit_config(&stage, |_| good.replacen(from, to, 1));
        let said = does_not_start(&mut stage).await;
        let (found, attention) = doctor(&stage).await;
        assert!(attention, "{found}");
        for word in words {
            assert!(said.contains(word), "{to}: `{word}` in {said}");
            assert!(found.contains(word), "{to}: `{word}` in {found}");
        }
        assert!(said.contains("does not start with these faults"), "{said}");
        assert!(!said.contains(TOKEN), "no token: {said}");
    }
    // Bytes that are no text.
    std::fs::write(stage.home().join("config.toml"), [0xff, 0xfe, 0x00]).unwrap();
    let said = does_not_start(&mut stage).await;
    assert!(said.contains("config.toml") && said.contains("UTF-8"), "{said}");
    assert!(!stage.home().join("state.db").exists(), "nothing was made");
}

#[tokio::test]
async fn a_workflow_that_does_not_load_is_named_and_the_others_go_on() {
    // WF-11
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.write_home();
    let good = include_str!("../../../profiles/default/workflows/review/workflow.toml");
    write_profile(&stage, "workflows/second/workflow.toml", &good.replace("pr.first.due", "pr.frist.due"));
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(number, &["recorded"]).await;
    let warnings = health(&stage).await.warnings.join("\n");
    assert!(warnings.contains("workflows/second/workflow.toml") && warnings.contains("pr.frist.due"), "{warnings}");
    assert!(stage.log().contains("workflows/second/workflow.toml"), "the log repeats it: {}", stage.log());
    let (found, _) = doctor(&stage).await;
    assert!(found.contains("workflows/second/workflow.toml") && found.contains("when"), "{found}");
}

#[tokio::test]
async fn a_broken_file_of_the_profile_is_refused_with_its_name() {
    // WF-11
    let mut stage = Stage::new().await;
    let gates = include_str!("../../../profiles/default/gates.toml");
    let intent = include_str!("../../../profiles/default/intents/review/intent.toml");
    for (path, text, words) in [
        ("gates.toml", gates.replacen("kind = \"draft\"", "kind = \"daft\"", 1), vec!["gates.toml:", "daft"]),
        ("gates.toml", "[[gate\n".to_owned(), vec!["gates.toml:1:"]),
        (
            "intents/review/intent.toml",
            intent.replace("timeout = \"45m\"", "timeout = \"long\""),
            vec!["intents/review/intent.toml:", "timeout"],
        ),
        (
            "intents/review/intent.toml",
            intent.replace("role = \"review\"", "roll = \"review\""),
            vec!["intents/review/intent.toml", "roll", "role"],
        ),
    ] {
        stage.write_home();
        write_profile(&stage, path, &text);
        let said = does_not_start(&mut stage).await;
        let (found, attention) = doctor(&stage).await;
        assert!(attention, "{found}");
        for word in words {
            assert!(said.contains(word) && found.contains(word), "{path}: `{word}` in {said} and {found}");
        }
        std::fs::remove_file(stage.home().join("profiles/default").join(path)).unwrap();
    }
    stage.start().await;
}

#[tokio::test]
async fn a_prompt_that_cannot_be_rendered_fails_its_turn_before_an_agent_runs() {
    // RUN-10
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.use_puppets(PUPPET);
    stage.write_home();
    write_profile(&stage, "intents/review/prompt.md.tmpl", "# Review {{ Unit.slug }}\n{{ Unit.colour.depth }}\n");
    let started = stage.try_start().await;
    let words = match started {
        Err(log) => log,
        Ok(()) => {
            let gate = stage.open_gate("plan", number).await;
            stage.resolve(&gate.id, "run_now").await;
            let turn = stage.turn(number, &["failed"]).await;
            assert_eq!(turn.posts, []);
            turn.cause.unwrap()
        }
    };
    assert!(words.contains("review") && words.contains("prompt"), "{words}");
    assert!(!stage.scratch().join("puppets").exists(), "no agent ran");
    assert_eq!(stage.writes(), 0);
}
