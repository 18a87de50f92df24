//! The daemon stopped or killed, and started again, at each stage of a round.

use tokio::time::timeout;
use wloop_tests::{PATIENCE, Stage, TOKEN, clock_past, until};
use wloop_world::{Fault, FaultKind, Match};

use super::{REVIEWS, group_lives, ledger, submitted, sweeps, turns};

#[tokio::test]
async fn a_window_goes_on_over_a_restart() {
    // WIN-24
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let item = stage.plan().await.remove(0);
    for killed in [false, true] {
        if killed {
            stage.kill().await;
        } else {
            stage.stop().await;
        }
        stage.start_again().await;
        sweeps(&stage, 1).await;
        let now = stage.gate(&gate.id).await;
        assert_eq!((now.status.as_str(), now.deadline), ("open", gate.deadline));
        let plan = stage.plan().await;
        assert_eq!((plan.len(), plan[0].id.as_str(), plan[0].deadline), (1, item.id.as_str(), item.deadline));
    }
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!(submitted(&stage, number).len(), 1);
}

#[tokio::test]
async fn a_deadline_that_passed_while_the_daemon_was_down_runs_once() {
    // WIN-25, K15
    let mut stage = Stage::new().await;
    stage.window = "3s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.kill().await;
    clock_past(gate.deadline.unwrap()).await;
    stage.start_again().await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.gate.as_deref(), Some(gate.id.as_str()));
    let closed = stage.gate(&gate.id).await.closed.unwrap();
    assert!(closed.actor == "window" && Some(closed.at) >= gate.deadline, "{closed:?}");
    sweeps(&stage, 2).await;
    assert_eq!(turns(&stage, number).await.len(), 1);
    stage.stop().await;
    assert_eq!(submitted(&stage, number).len(), 1);
}

#[tokio::test]
async fn a_turn_that_a_kill_cut_off_has_failed_and_is_not_given_its_prompt_again() {
    // RUN-35, T6
    let mut stage = Stage::new().await;
    stage.agent_word = "hang".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let before = stage.turn(number, &["started"]).await;
    stage.kill().await;
    stage.start_again().await;
    let turn = stage.turn(number, &["failed"]).await;
    assert_eq!(turn.id, before.id);
    assert!(turn.cause.as_deref().is_some_and(|c| c.starts_with("interrupted")), "{:?}", turn.cause);
    sweeps(&stage, 2).await;
    assert_eq!((turns(&stage, number).await.len(), stage.plan().await.len()), (1, 0));
    stage.stop().await;
    let store = ledger(&stage, turn.created_at);
    until("its process group is gone", || async { if group_lives(&store, &turn) { Err("alive".to_owned()) } else { Ok(()) } })
        .await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn a_stop_waits_for_the_turn_that_runs() {
    // RUN-36
    let mut stage = Stage::new().await;
    stage.agent_word = "slow-before-post".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["started"]).await;
    let (client, go) = (stage.client(), stage.scratch().join("go"));
    let draining = async {
        until("it drains", || async {
            let status = client.status().await.map_err(|e| e.to_string())?;
            if status.draining { Ok(()) } else { Err("it runs".to_owned()) }
        })
        .await;
        std::fs::write(go, "go").unwrap();
    };
    tokio::join!(stage.stop(), draining);
    assert_eq!(submitted(&stage, number).len(), 1);
    stage.start_again().await;
    let after = stage.turn(number, &["recorded"]).await;
    assert_eq!(after.id, turn.id);
    stage.stop().await;
}

/// A post whose call is held when the daemon is killed.
async fn killed_in_the_post(kind: FaultKind) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.world.push_fault(Fault::new("POST", REVIEWS, kind));
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    timeout(PATIENCE, stage.world.until_held(1)).await.expect("the call arrives");
    stage.kill().await;
    stage.world.release_held();
    stage.start_again().await;
    (stage, number)
}

#[tokio::test]
async fn a_post_that_arrived_before_the_kill_is_found_and_not_repeated() {
    // F06, K7, GH-PUB-07
    let (mut stage, number) = killed_in_the_post(FaultKind::ActedThenHang).await;
    let post = stage.post(number, &["sent"]).await;
    assert_eq!((post.attempts, post.url.as_deref()), (1, Some(submitted(&stage, number)[0].url.as_str())));
    stage.turn(number, &["failed"]).await;
    sweeps(&stage, 2).await;
    assert_eq!(stage.plan().await, []);
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), stage.writes()), (1, 1));
}

#[tokio::test]
async fn a_post_that_never_arrived_before_the_kill_is_proved_absent_and_sent_by_a_retry() {
    // F06, K6, GH-PUB-07, DRAFT-11
    let (mut stage, number) = killed_in_the_post(FaultKind::Hang).await;
    let post = stage.post(number, &["failed"]).await;
    assert!(!post.maybe_posted, "{post:?}");
    assert_eq!(stage.writes(), 0);
    stage.client().post_retry(&post.id).await.unwrap();
    stage.post(number, &["sent"]).await;
    stage.stop().await;
    assert_eq!(submitted(&stage, number).len(), 1);
    let posts = stage.world.calls().iter().filter(|c| Match::new("POST", REVIEWS).fits_call(c)).count();
    assert_eq!(posts, 2, "the lost call and the retry");
    assert!(!stage.log().contains(TOKEN));
}
