//! A daemon that dies at a chosen point, or at any, and two that want the same at once: each thing happens once or is shown as open.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use wloop_api::client::{ClientError, UnitFilter};
use wloop_api::types::{Discard, Post, Resolve};
use wloop_tests::{PATIENCE, REPO, Stage, clock_past, refused, until};
use wloop_world::{Fault, FaultKind, Match};

use crate::rounds::{REVIEWS, by_hand, group_lives, ledger, start_with, submitted, sweeps, turns};

/// A started stage with one pull request and its plan gate; the crash point is armed.
async fn armed(point: &str) -> (Stage, u64, String) {
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.variables.insert("FAILPOINTS".to_owned(), format!("{point}=return"));
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    (stage, number, gate.id)
}

/// Says Run now to a daemon that may die of it.
async fn say(stage: &Stage, gate: &str, intent: &str) {
    let answer = stage.client().resolve(gate, intent, &Resolve::default()).await;
    assert!(matches!(answer, Ok(_) | Err(ClientError::Unreachable { .. })), "{answer:?}");
}

/// Starts a daemon again that died at its crash point, without one.
async fn start_whole(stage: &mut Stage) {
    stage.crashed().await;
    stage.variables.remove("FAILPOINTS");
    stage.start_again().await;
}

/// The round ran once, from that gate, and left one review.
async fn ran_once(stage: &mut Stage, number: u64, gate: &str) {
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.gate.as_deref(), Some(gate));
    assert_eq!(stage.gate(gate).await.consequence.expect("its consequence").state, "ran");
    sweeps(stage, 2).await;
    assert_eq!((turns(stage, number).await.len(), stage.plan().await.len()), (1, 0));
    stage.stop().await;
    assert_eq!((submitted(stage, number).len(), stage.writes()), (1, 1));
}

fn posted(stage: &Stage) -> usize {
    stage.world.calls().iter().filter(|call| Match::new("POST", REVIEWS).fits_call(call)).count()
}

#[tokio::test]
async fn a_crash_inside_the_opening_of_a_gate_leaves_no_half_of_it() {
    // K0
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.variables.insert("FAILPOINTS".to_owned(), "K0=return".to_owned());
    stage.start().await;
    stage.crashed().await;
    {
        let store = ledger(&stage, jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(store.read().gates(&wloop_store::GateFilter::default()).expect("the gates"), []);
        let events = store.read().events_after(0, 1_000, None).expect("the record");
        let of_it = ["task_created", "gate_opened", "round_planned"];
        assert!(events.iter().all(|row| !of_it.contains(&row.event.kind.as_str())), "{events:?}");
    }
    stage.variables.remove("FAILPOINTS");
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    let plan = stage.plan().await;
    assert_eq!((plan.len(), plan[0].gate.as_ref(), gate.task.is_some()), (1, Some(&gate.id), true));
    stage.resolve(&gate.id, "run_now").await;
    ran_once(&mut stage, number, &gate.id).await;
}

#[tokio::test]
async fn a_resolution_that_was_written_before_the_crash_is_carried_out_once() {
    // K1, CONS-01, CONS-03
    let (mut stage, number, gate) = armed("K1").await;
    say(&stage, &gate, "run_now").await;
    start_whole(&mut stage).await;
    assert_eq!(stage.gate(&gate).await.closed.expect("it is resolved").actor, "person");
    ran_once(&mut stage, number, &gate).await;
}

#[tokio::test]
async fn a_crash_at_the_first_tick_too_changes_nothing() {
    // K2, CONS-04
    let (mut stage, number, gate) = armed("K1").await;
    say(&stage, &gate, "run_now").await;
    stage.crashed().await;
    stage.variables.insert("FAILPOINTS".to_owned(), "K2=return".to_owned());
    stage.start_again().await;
    start_whole(&mut stage).await;
    ran_once(&mut stage, number, &gate).await;
}

#[tokio::test]
async fn a_window_that_ended_before_the_crash_runs_its_round_once() {
    // K1, K15, WIN-25
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.variables.insert("FAILPOINTS".to_owned(), "K1=return".to_owned());
    stage.start().await;
    start_whole(&mut stage).await;
    let turn = stage.turn(number, &["recorded"]).await;
    let gate = turn.gate.expect("its gate");
    assert_eq!(stage.gate(&gate).await.closed.expect("it is resolved").actor, "window");
    ran_once(&mut stage, number, &gate).await;
}

#[tokio::test]
async fn a_crash_before_the_turns_row_makes_one_turn() {
    // K16, CONS-03
    let (mut stage, number, gate) = armed("K16").await;
    say(&stage, &gate, "run_now").await;
    start_whole(&mut stage).await;
    ran_once(&mut stage, number, &gate).await;
}

/// K17 and K17b: the turn has failed, its prompt is not given again, and a round by hand works.
async fn never_given_again(point: &str) {
    let (mut stage, number, gate) = armed(point).await;
    say(&stage, &gate, "run_now").await;
    start_whole(&mut stage).await;
    let lost = stage.turn(number, &["failed"]).await;
    assert!(lost.cause.as_deref().is_some_and(|c| c.starts_with("interrupted")), "{:?}", lost.cause);
    sweeps(&stage, 2).await;
    assert_eq!((turns(&stage, number).await.len(), stage.plan().await.len()), (1, 0));
    assert_eq!(stage.writes(), 0);
    stage.client().start_turn(&by_hand(&stage.unit(number))).await.expect("a round by hand starts");
    let turn = stage.turn(number, &["recorded"]).await;
    assert_ne!(turn.id, lost.id);
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), stage.writes()), (1, 1));
    let store = ledger(&stage, turn.created_at);
    until("what was left of the lost turn is gone", || async {
        if group_lives(&store, &lost) { Err("alive".to_owned()) } else { Ok(()) }
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_was_spawned_and_given_nothing_has_failed() {
    // K17, ROUND-34
    never_given_again("K17").await;
}

#[tokio::test]
async fn a_turn_that_may_have_got_its_prompt_has_failed_and_does_not_get_it_again() {
    // K17, RUN-35
    never_given_again("K17b").await;
}

#[tokio::test]
async fn guidance_of_a_turn_that_was_not_sent_is_back_in_the_queue() {
    // K18, WIN-36
    let (mut stage, number, gate) = armed("K17").await;
    let body = Resolve { text: Some("mind the overflow".to_owned()), draft_text: None };
    let answer = stage.client().resolve(&gate, "guide", &body).await;
    assert!(matches!(answer, Ok(_) | Err(ClientError::Unreachable { .. })), "{answer:?}");
    start_whole(&mut stage).await;
    stage.turn(number, &["failed"]).await;
    stage.client().start_turn(&by_hand(&stage.unit(number))).await.expect("a round by hand starts");
    assert_eq!(stage.turn(number, &["recorded"]).await.guidance.as_deref(), Some("mind the overflow"));
    stage.stop().await;
}

#[tokio::test]
async fn a_crash_between_the_attempt_and_the_call_proves_the_post_absent() {
    // K6, DRAFT-14, GH-PUB-07, DRAFT-11
    let (mut stage, number, gate) = armed("K6").await;
    say(&stage, &gate, "run_now").await;
    start_whole(&mut stage).await;
    let post = stage.post(number, &["failed"]).await;
    assert!(!post.maybe_posted, "{post:?}");
    assert_eq!((posted(&stage), stage.client().status().await.expect("the counters").posts_failed), (0, 1));
    let problem = refused(stage.client().post_sent(&post.id).await);
    assert_eq!(problem.status, 409, "one proved absent was not sent");
    stage.client().post_retry(&post.id).await.expect("it is sent again");
    stage.post(number, &["sent"]).await;
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), posted(&stage)), (1, 1));
}

#[tokio::test]
async fn a_crash_before_the_call_with_a_list_that_cannot_be_read_leaves_it_open() {
    // K6, DRAFT-14, GH-PUB-07
    let (mut stage, number, gate) = armed("K6").await;
    say(&stage, &gate, "run_now").await;
    stage.crashed().await;
    unreadable_list(&stage, 500);
    stage.variables.remove("FAILPOINTS");
    stage.start_again().await;
    let post = stage.post(number, &["failed"]).await;
    assert!(post.maybe_posted, "{post:?}");
    stage.world.clear_faults();
    stage.client().post_retry(&post.id).await.expect("it is looked up and sent");
    stage.post(number, &["sent"]).await;
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), posted(&stage)), (1, 1));
}

/// K7: the call came back, with whatever answer, and the daemon died before it wrote that down.
async fn found_after_the_crash(kind: Option<FaultKind>) {
    let (mut stage, number, gate) = armed("K7").await;
    if let Some(kind) = kind {
        stage.world.push_fault(Fault::new("POST", REVIEWS, kind));
    }
    say(&stage, &gate, "run_now").await;
    start_whole(&mut stage).await;
    let post = stage.post(number, &["sent"]).await;
    assert_eq!((post.attempts, post.url.as_deref()), (1, Some(submitted(&stage, number)[0].url.as_str())));
    sweeps(&stage, 2).await;
    assert_eq!(stage.plan().await, []);
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), posted(&stage)), (1, 1));
}

#[tokio::test]
async fn a_post_whose_answer_was_not_written_down_is_found() {
    // K7, F06, DRAFT-13, GH-PUB-07
    found_after_the_crash(None).await;
}

#[tokio::test]
async fn a_post_whose_answer_was_cut_off_before_the_crash_is_found() {
    // K7, DRAFT-13, GH-PUB-07
    found_after_the_crash(Some(FaultKind::ActedThenDropped)).await;
}

#[tokio::test]
async fn a_post_that_was_answered_by_a_gateway_before_the_crash_is_found() {
    // K7, DRAFT-13, GH-PUB-07
    found_after_the_crash(Some(FaultKind::ActedThen502)).await;
}

#[tokio::test]
async fn a_post_without_a_clear_answer_is_looked_up_by_the_same_daemon() {
    // GH-PUB-07, GH-PUB-10
    let mut stage = Stage::new().await;
    let kinds = [FaultKind::ActedThenDropped, FaultKind::ActedThen502, FaultKind::Truncated];
    let numbers: Vec<u64> = (0..kinds.len()).map(|n| stage.pull(&format!("Pull {n}"))).collect();
    for (number, kind) in numbers.iter().zip(kinds) {
        stage.world.push_fault(Fault::new("POST", &format!("/repos/{REPO}/pulls/{number}/reviews"), kind));
    }
    stage.start().await;
    for number in &numbers {
        let gate = stage.open_gate("plan", *number).await;
        stage.resolve(&gate.id, "run_now").await;
    }
    for number in &numbers {
        assert_eq!(stage.turn(*number, &["recorded"]).await.posts[0].attempts, 1);
    }
    stage.stop().await;
    for number in &numbers {
        assert_eq!(submitted(&stage, *number).len(), 1);
    }
    assert_eq!(posted(&stage), numbers.len());
}

/// The list that a look-up reads answers with this status.
fn unreadable_list(stage: &Stage, status: u16) {
    for _ in 0..40 {
        let answer = FaultKind::Status(status, json!({ "message": "Resource not accessible by personal access token" }));
        stage.world.push_fault(Fault::new("GET", REVIEWS, answer));
    }
}

/// A post whose call was cut off, and which no look-up can tell of.
async fn doubtful(status: u16) -> (Stage, u64, Post) {
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.world.push_fault(Fault::new("POST", REVIEWS, FaultKind::Dropped));
    unreadable_list(&stage, status);
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let post = stage.post(number, &["failed"]).await;
    assert!(post.maybe_posted && post.cause.as_deref().is_some_and(|c| c.contains("cannot be told")), "{post:?}");
    sweeps(&stage, 2).await;
    assert_eq!(posted(&stage), 1, "it is not sent again by itself");
    assert_eq!(stage.client().status().await.expect("the counters").posts_failed, 1);
    (stage, number, post)
}

#[tokio::test]
async fn a_post_that_cannot_be_told_is_sent_when_the_person_says_so() {
    // F07, GH-PUB-09, D19
    let (mut stage, number, post) = doubtful(403).await;
    stage.client().post_sent(&post.id).await.expect("it is settled");
    assert_eq!(stage.post(number, &["sent"]).await.url, None);
    sweeps(&stage, 2).await;
    assert_eq!(stage.client().status().await.expect("the counters").posts_failed, 0);
    stage.stop().await;
    assert_eq!((posted(&stage), stage.writes()), (1, 0));
}

#[tokio::test]
async fn a_post_that_cannot_be_told_is_looked_up_before_it_is_sent_again() {
    // F07, GH-PUB-09, DRAFT-11, O10
    let (mut stage, number, post) = doubtful(500).await;
    stage.world.clear_faults();
    let before = stage.world.calls().len();
    stage.client().post_retry(&post.id).await.expect("it is tried again");
    stage.post(number, &["sent"]).await;
    let calls = stage.world.calls().split_off(before);
    let first = calls.iter().find(|c| Match::new("", REVIEWS).fits_call(c)).expect("a call");
    assert_eq!(first.method, "GET");
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), posted(&stage)), (1, 2));
}

#[tokio::test]
async fn a_post_that_cannot_be_told_is_dropped_when_the_person_says_so() {
    // F07, GH-PUB-09
    let (mut stage, number, post) = doubtful(500).await;
    stage.client().post_discard(&post.id, &Discard { reason: Some("not needed".to_owned()) }).await.expect("it is settled");
    stage.post(number, &["dropped"]).await;
    stage.stop().await;
    assert_eq!((posted(&stage), stage.writes()), (1, 0));
}

#[tokio::test]
async fn a_doubtful_post_that_is_there_is_settled_by_its_echo() {
    // GH-PUB-30, GH-PUB-29
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.world.push_fault(Fault::new("POST", REVIEWS, FaultKind::ActedThenDropped));
    unreadable_list(&stage, 500);
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let post = stage.post(number, &["sent"]).await;
    assert_eq!((post.attempts, post.url.as_deref()), (1, Some(submitted(&stage, number)[0].url.as_str())));
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), posted(&stage)), (1, 1));
}

#[tokio::test]
async fn a_published_post_whose_daemon_died_before_the_call_goes_once() {
    // F06, K5, CONS-03
    let mut stage = Stage::new().await;
    let number = stage.risky_pull("Drop the phone");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let gate = stage.open_gate("post", number).await;
    stage.stop().await;
    stage.variables.insert("FAILPOINTS".to_owned(), "K1=return".to_owned());
    stage.start_again().await;
    say(&stage, &gate.id, "publish").await;
    start_whole(&mut stage).await;
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), posted(&stage)), (1, 1));
}

/// One home whose daemon is killed once the small GitHub has seen that many calls; at the end one review, or something to see.
async fn killed_at(calls: usize) -> String {
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    timeout(PATIENCE, stage.world.calls_until(|seen| seen.len() >= calls)).await.expect("the calls come");
    stage.kill().await;
    stage.start_again().await;
    let (client, unit) = (stage.client(), stage.unit(number));
    let filter = UnitFilter { state: None, unit: Some(unit) };
    let end = until(&format!("the end of the one killed at call {calls}"), || async {
        let turns = client.turns(&filter).await.map_err(|e| e.to_string())?;
        let posts = client.posts(&filter).await.map_err(|e| e.to_string())?;
        let seen = (
            turns.iter().map(|t| t.state.as_str()).collect::<Vec<_>>(),
            posts.iter().map(|p| p.state.as_str()).collect::<Vec<_>>(),
        );
        match (seen.0.as_slice(), seen.1.as_slice()) {
            (["recorded" | "failed"], ["sent" | "failed"]) | (["failed"], []) => Ok((turns, posts)),
            _ => Err(format!("{seen:?}")),
        }
    })
    .await;
    sweeps(&stage, 1).await;
    assert_eq!(turns(&stage, number).await.len(), 1, "killed at call {calls}");
    stage.stop().await;
    let (reviews, sent) = (submitted(&stage, number).len(), end.1.iter().filter(|p| p.state == "sent").count());
    assert_eq!(reviews, sent, "killed at call {calls}: {end:?}");
    assert!(reviews <= 1 && (reviews == 1 || end.0[0].state == "failed"), "killed at call {calls}: {end:?}");
    format!("{calls}: {} {reviews}", end.0[0].state)
}

#[tokio::test]
async fn a_kill_at_any_moment_leaves_one_review_or_something_to_see() {
    // F06, K5, K6, K7, K16, K17, WIN-25
    let mut ends = Vec::new();
    for four in [[1, 3, 5, 6], [7, 8, 9, 10], [11, 12, 13, 14]] {
        let [a, b, c, d] = four.map(killed_at);
        let (a, b, c, d) = tokio::join!(a, b, c, d);
        ends.extend([a, b, c, d]);
    }
    println!("{ends:?}");
}

#[tokio::test]
async fn two_who_answer_one_gate_at_once_get_one_answer_carried_out() {
    // F03, RES-01, CONS-02
    let mut stage = Stage::new().await;
    stage.agent_word = "hang".to_owned();
    let numbers: Vec<u64> = (0..40).map(|n| stage.pull(&format!("Pull {n}"))).collect();
    start_with(&mut stage, |config| config.replace("[agents]\n", "[agents]\nmax_running = 1\n")).await;
    let (mut raced, mut run) = (0, 0);
    for number in &numbers {
        let gate = stage.open_gate("plan", *number).await.id;
        let mut callers = tokio::task::JoinSet::new();
        for intent in ["run_now", "skip", "run_now", "skip", "run_now", "skip"] {
            let (client, gate) = (stage.client(), gate.clone());
            callers.spawn(async move { (intent, client.resolve(&gate, intent, &Resolve::default()).await) });
        }
        let (mut won, mut lost) = (Vec::new(), 0);
        while let Some(answer) = callers.join_next().await {
            match answer.expect("a caller") {
                (intent, Ok(gate)) => won.push((intent, gate.status)),
                (_, refusal) => {
                    let problem = refused(refusal);
                    assert_eq!(problem.status, 409);
                    assert!(
                        problem.detail.contains("already resolved: ") && problem.detail.contains(" by you"),
                        "{}",
                        problem.detail
                    );
                    lost += 1;
                }
            }
        }
        raced += lost;
        assert_eq!((won.len(), lost), (1, 5), "{won:?}");
        let (intent, status) = won.remove(0);
        assert_eq!(status, if intent == "run_now" { "approved" } else { "rejected" });
        assert_eq!(stage.gate(&gate).await.closed.expect("it is closed").intent.as_deref(), Some(intent));
        run += usize::from(intent == "run_now");
    }
    assert_eq!(raced, 200);
    let (all, started) = (stage.plan().await, stage.client().turns(&UnitFilter::default()).await.expect("the turns"));
    assert!(all.iter().all(|item| item.state == "released"), "{all:?}");
    assert_eq!(all.len() + started.len(), run, "what was run waits or runs, and what was skipped does not");
    let events = stage.events().await;
    assert_eq!(events.iter().filter(|(kind, _)| kind == "gate_decided").count(), 40);
    stage.kill().await;
}

#[tokio::test]
async fn the_same_answer_twice_is_one_round() {
    // F04
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let (one, two) = (stage.client(), stage.client());
    let nothing = Resolve::default();
    let answers = tokio::join!(one.resolve(&gate.id, "run_now", &nothing), two.resolve(&gate.id, "run_now", &nothing));
    let answers = [answers.0, answers.1];
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), 1, "{answers:?}");
    for refusal in answers.into_iter().filter(Result::is_err) {
        assert_eq!(refused(refusal).status, 409);
    }
    ran_once(&mut stage, number, &gate.id).await;
}

#[tokio::test]
async fn a_window_that_ends_as_run_now_arrives_makes_one_round() {
    // F05, WIN-20
    let mut stage = Stage::new().await;
    stage.window = "2s".to_owned();
    let numbers: Vec<u64> = (0..6).map(|n| stage.pull(&format!("Pull {n}"))).collect();
    stage.start().await;
    let mut races = tokio::task::JoinSet::new();
    for (n, number) in numbers.iter().enumerate() {
        let gate = stage.open_gate("plan", *number).await;
        let client = stage.client();
        // Around the deadline, the later ones a little later: the moment is what is tried out here.
        let moment = gate.deadline.expect("a window") - Duration::from_millis(100) + Duration::from_millis(25 * n as u64);
        races.spawn(async move {
            clock_past(moment).await;
            client.resolve(&gate.id, "run_now", &Resolve::default()).await
        });
    }
    while let Some(answer) = races.join_next().await {
        if let Err(fault) = answer.expect("a caller") {
            assert_eq!(refused(Err::<(), _>(fault)).status, 409);
        }
    }
    for number in &numbers {
        stage.turn(*number, &["recorded"]).await;
    }
    sweeps(&stage, 1).await;
    for number in &numbers {
        assert_eq!(turns(&stage, *number).await.len(), 1);
    }
    stage.stop().await;
    for number in &numbers {
        assert_eq!(submitted(&stage, *number).len(), 1);
    }
}
