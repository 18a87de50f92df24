//! Drafts that a rule of the configuration decides, over the real programs.

use super::{comments, in_state, waiting, wloop};
use crate::rounds::sweeps;
use wloop_tests::{Stage, refused, until};

/// A home whose configuration says what becomes of comments that agents draft, after a round in which one was drafted.
async fn ruled(mode: &str) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    stage.agent_word = "draft".to_owned();
    stage.more = format!(
        "[[workflows.review.gates.approval.rule]]\nwhen = 'gate.kind == \"plan\"'\nmode = 'wait'\n\
         [[workflows.review.gates.approval.rule]]\nwhen = 'draft.delivery == \"comment\" && pr.author == \"ines\"'\n{mode}\n"
    );
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let plan = stage.open_gate("plan", number).await;
    stage.resolve(&plan.id, "run_now").await;
    (stage, number)
}

/// Waits until the one draft came to that state; its id.
async fn drafted(stage: &Stage, state: &str) -> String {
    let client = stage.client();
    until(&format!("a draft that is {state}"), || async {
        let every = wloop_api::client::UnitFilter { state: Some(state.to_owned()), ..Default::default() };
        let posts = client.posts(&every).await.map_err(|e| e.to_string())?;
        posts.into_iter().find(|post| post.draft).map(|post| post.id).ok_or_else(|| "none".to_owned())
    })
    .await
}

#[tokio::test]
async fn a_rule_sends_what_it_names_once_and_the_record_says_why() {
    // DRAFT-21, APPR-10, APPR-62
    let (mut stage, number) = ruled("mode = 'send'").await;
    let id = drafted(&stage, "sent").await;
    let draft = stage.client().draft(&id).await.expect("the draft");
    assert_eq!((draft.gate_status.as_str(), draft.policy.as_str()), ("approved", "send by config.toml workflows.review#2"));
    let (code, shown, errors) = wloop(&stage, &["gates", "show", &draft.gate]).await;
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.contains("pr.author") && shown.contains("ines") && shown.contains("workflows.review"), "{shown}");
    sweeps(&stage, 2).await;
    stage.stop().await;
    assert_eq!(comments(&stage, number).len(), 1);
}

#[tokio::test]
async fn a_window_of_a_rule_sends_after_a_kill_too_and_once() {
    // DRAFT-20, K3, K5
    let (mut stage, number) = ruled("mode = 'delay'\nwindow = '5s'").await;
    let draft = waiting(&stage).await;
    let deadline = draft.deadline.expect("a window");
    let (_, shown, _) = wloop(&stage, &["outbox", "show", &draft.short]).await;
    assert!(shown.contains("goes out in") && shown.contains("delay 5s by config.toml workflows.review#2"), "{shown}");
    // Nobody is there when the window ends.
    stage.kill().await;
    wloop_tests::clock_past(deadline).await;
    assert_eq!(comments(&stage, number), []);
    stage.start_again().await;
    in_state(&stage, &draft.id, "sent").await;
    sweeps(&stage, 2).await;
    stage.stop().await;
    assert_eq!(comments(&stage, number).len(), 1);
}

#[tokio::test]
async fn a_dry_run_is_kept_and_a_rule_that_names_nothing_waits() {
    // DRAFT-22, APPR-55, APPR-61
    let (mut stage, number) = ruled("mode = 'dry_run'").await;
    let id = drafted(&stage, "dropped").await;
    let draft = stage.client().draft(&id).await.expect("the draft");
    assert_eq!((draft.gate_status.as_str(), draft.reason.as_deref()), ("rejected", Some("dry_run")));
    assert!(draft.text.contains("Is the limit meant"), "{}", draft.text);
    sweeps(&stage, 1).await;
    stage.stop().await;
    assert_eq!(comments(&stage, number), []);

    let mut stage = Stage::new().await;
    stage.agent_word = "draft".to_owned();
    stage.more = "[workflows.review.gates.approval]\nmode = 'send'\n[[workflows.review.gates.approval.rule]]\n\
                  when = 'gate.kind == \"plan\"'\nmode = 'wait'\n"
        .to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let plan = stage.open_gate("plan", number).await;
    stage.resolve(&plan.id, "run_now").await;
    let draft = waiting(&stage).await;
    assert!(draft.policy.contains("only a rule with `draft.delivery == \"comment\"` does"), "{}", draft.policy);
    let (_, found, _) = wloop(&stage, &["doctor"]).await;
    assert!(found.contains("the mode `send`") && found.contains("lets no comment or message out"), "{found}");
    let problem = refused(stage.client().retry_draft(&draft.id).await);
    assert_eq!(problem.status, 409);
    stage.stop().await;
    assert_eq!(comments(&stage, number), []);
}
