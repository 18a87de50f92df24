//! One pull request from its announcement to its review, with each answer of the person.

use wloop_tests::Stage;

#[tokio::test]
async fn a_round_that_nobody_answers_runs_at_its_deadline_and_posts_one_review() {
    // WIN-01, WIN-19, WIN-20, AGENT-01, GH-PUB-02
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let turn = stage.turn(number, &["recorded"]).await;
    assert_eq!(turn.verdict.as_deref(), Some("published"));
    assert_eq!(stage.my_reviews(number).len(), 1);
    let gate = stage.gate(turn.gate.as_deref().unwrap()).await;
    let closed = gate.closed.unwrap();
    assert_eq!((closed.actor.as_str(), closed.intent.as_deref()), ("window", Some("run_now")));
    assert_eq!(gate.consequence.unwrap().state, "ran");
    stage.stop().await;
}
