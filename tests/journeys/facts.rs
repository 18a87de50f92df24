//! `wloop facts` and the routes behind it, over the real programs.

use serde_json::Value;
use wloop_tests::{REPO, Stage, refused, until};
use wloop_world::{CheckOutcome, NewPullRequest, ReviewEvent};

async fn read(stage: &Stage, number: u64) {
    until("the pull request is read", async || {
        let unit = stage.client().unit(&format!("{REPO}#{number}")).await.map_err(|fault| fault.to_string())?;
        if unit.read_at.is_some() { Ok(()) } else { Err(format!("{unit:?}")) }
    })
    .await;
}

/// What `wloop facts --json` prints.
async fn shown(stage: &Stage, number: u64) -> Value {
    let output = stage.wloop(&["facts", &format!("{REPO}#{number}"), "--json"]).output().await.expect("wloop runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

fn fact<'a>(shown: &'a Value, name: &str) -> &'a Value {
    let facts = shown["facts"].as_array().expect("facts");
    &facts.iter().find(|fact| fact["name"] == name).unwrap_or_else(|| panic!("no fact {name}"))["value"]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_says_where_it_stands_and_why_no_round_runs() {
    // FACT-12, GH-FACT-25, GH-FACT-28, GH-FACT-29, INT-03, F36
    let mut stage = Stage::new().await;
    let draft = stage.pull("Guard the sum");
    stage.world.set_draft(REPO, draft, true).expect("a draft");
    let new = NewPullRequest {
        repo: REPO.to_owned(),
        author: "eve".to_owned(),
        title: "From a fork".to_owned(),
        branch: "fork".to_owned(),
        files: vec![("a.txt".to_owned(), Some("a\n".to_owned()))],
        cross_repository: true,
        ..NewPullRequest::default()
    };
    let ghost = stage.world.open_pull_request(new).expect("a pull request");
    stage.world.request_review(REPO, ghost, "eve", wloop_tests::ME).expect("a request");
    stage.world.submit_review(REPO, ghost, "left", Some(ReviewEvent::Approve), "fine", &[]).expect("a review");
    stage.world.set_check(REPO, ghost, "tests", CheckOutcome::Completed("failure".to_owned())).expect("a check");
    stage.world.delete_user("eve").expect("a ghost");
    stage.world.delete_user("left").expect("a ghost");
    stage.world.delete_fork(REPO, ghost).expect("no fork");
    stage.start().await;
    read(&stage, draft).await;
    read(&stage, ghost).await;
    let told = shown(&stage, draft).await;
    let unit = &told["unit"];
    assert_eq!((unit["kind"].as_str(), unit["skipped"][0]["because"].as_str()), (Some("draft"), Some("it is a draft")));
    assert_eq!((unit["waits_on_user"].as_bool(), unit["reason"].as_str()), (Some(false), None));
    let action = &unit["actions"][0];
    assert_eq!(
        (action["intent"].as_str(), action["enabled"].as_bool(), action["primary"].as_bool()),
        (Some("review"), Some(true), Some(false))
    );
    assert_eq!(fact(&told, "pr.first.due"), false);
    assert_eq!(fact(&told, "pr.slug"), format!("{REPO}#{draft}").as_str());
    let untrusted = told["facts"].as_array().expect("facts").iter().filter(|fact| fact["untrusted"] == true);
    assert!(
        untrusted.clone().count() > 5
            && untrusted.clone().all(|fact| fact["name"].as_str().is_some_and(|n| n.starts_with("pr.")))
    );
    // A ghost's pull request from a fork that is gone: shown as such.
    let told = shown(&stage, ghost).await;
    let unit = &told["unit"];
    assert_eq!((&unit["author"], &unit["head_repository"], unit["fork"].as_bool()), (&Value::Null, &Value::Null, Some(true)));
    assert_eq!((&unit["reviews"][0]["by"], unit["reviews"][0]["state"].as_str()), (&Value::Null, Some("APPROVED")));
    assert_eq!((unit["kind"].as_str(), &unit["failing_checks"][0]), (Some("review_requested"), &Value::from("tests")));
    assert!(unit["reason"].as_str().is_some_and(|why| why.starts_with("review requested")), "{unit}");
    assert_eq!(unit["rounds"].as_array().map(Vec::len), Some(1));
    // Piped: one line for each fact.
    let output = stage.wloop(&["facts", &format!("{REPO}#{ghost}")]).output().await.expect("wloop runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.lines().any(|line| line == "pr.cross_repository\tbool\t\ttrue"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("pr.first.due\tbool\tuntrusted\ttrue")), "{text}");
    // Other names of the same unit, and one that is none.
    let id = unit["unit"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(stage.client().unit(&id).await.expect("by its id").unit.id, id);
    let url = unit["unit"]["url"].as_str().expect("an address").to_owned();
    assert_eq!(
        stage.client().unit_facts(&url).await.expect("by its address").len(),
        told["facts"].as_array().map_or(0, Vec::len)
    );
    assert_eq!(refused(stage.client().unit(&format!("{REPO}#999")).await).status, 404);
    assert_eq!(refused(stage.client().unit_facts("github:nothing").await).status, 404);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removing_old_events_changes_no_fact() {
    // EVT-12
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    stage.turn(number, &["recorded"]).await;
    let before = steady(&stage, number).await;
    stage.stop().await;
    let ledger = rusqlite::Connection::open(stage.home().join("state.db")).expect("the ledger opens");
    ledger.execute_batch("DROP TRIGGER event_is_not_removed; DELETE FROM event;").expect("the record is gone");
    drop(ledger);
    stage.start_again().await;
    assert!(before.len() > 50, "{before:?}");
    assert_eq!(steady(&stage, number).await, before);
    stage.stop().await;
}

/// The facts that do not grow with time, once a review of the viewer is among them.
async fn steady(stage: &Stage, number: u64) -> Vec<wloop_api::types::Fact> {
    until("the review is read", async || {
        let facts = stage.client().unit_facts(&format!("{REPO}#{number}")).await.map_err(|fault| fault.to_string())?;
        let read = facts.iter().any(|fact| fact.name == "pr.last_interaction_at")
            && facts.iter().any(|fact| fact.name == "pr.review_requested_me" && fact.value == false);
        let steady = facts.into_iter().filter(|fact| fact.kind != "duration").collect();
        if read { Ok(steady) } else { Err("not yet".to_owned()) }
    })
    .await
}

/// What the specification lists of a fact.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
struct Listed {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    slots: std::collections::BTreeSet<String>,
    #[serde(default)]
    untrusted: bool,
    #[serde(default)]
    on_demand: bool,
}

/// What `wloop workflows … --json` prints, without a daemon.
fn told(arguments: &[&str]) -> Value {
    let home = tempfile::tempdir().expect("a folder");
    let mut command = std::process::Command::new(wloop_tests::program("wloop"));
    command.arg("workflows").args(arguments).arg("--home").arg(home.path());
    let output = command.env_clear().envs(wloop_tests::plain_environment()).output().expect("wloop runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(home.path()).expect("the home").count(), 0, "nothing is made in the home");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[test]
fn those_who_write_rules_are_told_every_fact_and_every_step() {
    // FACT-01, FACT-02, FACT-03
    let list = include_str!("../../src-tauri/core/src/rules/tests/facts.toml");
    let mut listed: std::collections::BTreeMap<String, Vec<Listed>> = toml::from_str(list).expect("the list of facts");
    let mut listed = listed.remove("fact").expect("facts");
    listed.sort();
    let printed: Vec<Listed> = serde_json::from_value(told(&["facts", "--json"])).expect("facts");
    assert_eq!(printed, listed);
    let of = told(&["facts", "slack", "--json"]);
    let names: Vec<&str> = of.as_array().expect("facts").iter().filter_map(|fact| fact["name"].as_str()).collect();
    assert!(names.contains(&"slack.ended") && names.contains(&"trigger.kind") && names.contains(&"brief.goal"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("pr.") || name.starts_with("row.")), "{names:?}");
    let steps = told(&["steps", "--json"]);
    let steps = steps.as_array().expect("steps");
    let start = steps.iter().find(|step| step["name"] == "turn.start").expect("turn.start");
    assert_eq!(start["arguments"][0], serde_json::json!({ "name": "intent", "takes": "a text", "required": true }));
    assert_eq!(start["serves"].as_array().map(Vec::len), Some(5));
    let remove = steps.iter().find(|step| step["name"] == "workspace.remove").expect("workspace.remove");
    assert_eq!((&remove["serves"], &remove["arguments"]), (&serde_json::json!(["workspace"]), &serde_json::json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_says_whether_it_acts_term_by_term() {
    // CEL-08
    let mut stage = Stage::new().await;
    let wanted = stage.pull("Guard the sum");
    let draft = stage.pull("Not ready");
    stage.world.set_draft(REPO, draft, true).expect("a draft");
    stage.start().await;
    stage.open_gate("plan", wanted).await;
    read(&stage, draft).await;
    let explain = async |number: u64, more: &[&str]| {
        let unit = format!("{REPO}#{number}");
        let mut words = vec!["explain", unit.as_str()];
        words.extend(more);
        stage.wloop(&words).output().await.expect("wloop runs")
    };
    let acts = explain(wanted, &["--json"]).await;
    let found: Value = serde_json::from_slice(&acts.stdout).expect("it prints JSON");
    let review = &found[0];
    assert_eq!((&review["workflow"], &review["acts"]), (&"review".into(), &true.into()), "{review}");
    assert!(review["because"].as_str().is_some_and(|why| why.starts_with("a round of it is counting down")), "{review}");
    assert_eq!(review["terms"][0]["term"], "pr.first.due || pr.review.action == \"follow-up\"");
    assert_eq!((&review["terms"][0]["holds"], &review["terms"][1]["term"]), (&true.into(), &"!pr.held".into()));
    assert_eq!(review["terms"][1]["facts"][0]["name"], "pr.held");
    let shown = explain(draft, &["review"]).await;
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.starts_with("review\tfalse\tfalse\tpr.first.due || "), "{shown}");
    assert!(shown.contains("pr.first.due = false, pr.review.action = \"\""), "{shown}");
    let unknown = explain(draft, &["nudge"]).await;
    let words = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(words.contains("there is no workflow `nudge` on this unit; known are `review`"), "{words}");
    stage.stop().await;
}
