//! Drafts over the real programs: what an agent proposes and the person writes, and a daemon that dies around the answer.

#[cfg(target_os = "linux")]
mod by_hand;
mod rules;

use wloop_api::client::{ClientError, DraftFilter, GateFilter, UnitFilter};
use wloop_api::types::{Discard, Draft, DraftEdit, DraftRequest, Resolve};
use wloop_tests::{ME, REPO, Stage, refused, until};
use wloop_world::CommentSeen;

use crate::rounds::sweeps;

/// Waits for the one draft of the Outbox.
async fn waiting(stage: &Stage) -> Draft {
    let client = stage.client();
    until("a draft in the Outbox", || async {
        let drafts = client.drafts(&DraftFilter::default()).await.map_err(|e| e.to_string())?;
        drafts.into_iter().next().ok_or_else(|| "none".to_owned())
    })
    .await
}

/// Waits until a draft is in that state.
async fn in_state(stage: &Stage, id: &str, state: &str) -> Draft {
    let client = stage.client();
    until(&format!("a draft that is {state}"), || async {
        let draft = client.draft(id).await.map_err(|e| e.to_string())?;
        if draft.state == state { Ok(draft) } else { Err(format!("{} {:?}", draft.state, draft.cause)) }
    })
    .await
}

/// The person's comments at the small GitHub.
fn comments(stage: &Stage, number: u64) -> Vec<CommentSeen> {
    stage.world.comments(REPO, number).into_iter().filter(|comment| comment.author == ME).collect()
}

fn mine(stage: &Stage, number: u64, text: &str) -> DraftRequest {
    DraftRequest { unit: Some(stage.unit(number)), text: text.to_owned(), ..DraftRequest::default() }
}

fn other_text(text: &str) -> Resolve {
    Resolve { text: None, draft_text: Some(text.to_owned()) }
}

/// Runs `wloop` without a terminal; its exit code, output and errors.
async fn wloop(stage: &Stage, arguments: &[&str]) -> (Option<i32>, String, String) {
    let done = stage.wloop(arguments).output().await.expect("it runs");
    (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[tokio::test]
async fn what_an_agent_proposes_goes_out_as_the_person_put_it() {
    // DRAFT-01, DRAFT-23, DRAFT-26, DRAFT-27, F01, OUT-01, OUT-04, OUT-08, API-02, API-03, API-06, CLI-04, CLI-11, CLI-14, GATE-06
    let mut stage = Stage::new().await;
    stage.agent_word = "draft".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let plan = stage.open_gate("plan", number).await;
    stage.resolve(&plan.id, "run_now").await;
    let draft = waiting(&stage).await;
    stage.turn(number, &["recorded"]).await;
    assert_eq!(
        (draft.state.as_str(), draft.proposed_by.as_str(), draft.mentions.join(",")),
        ("held", "turn 1 (review)", "ines".into())
    );
    let (client, first) = (stage.client(), draft.gate.clone());
    let asks = stage.gate(&first).await;
    assert_eq!((asks.delivery.as_str(), asks.post.expect("its text").text), ("held", draft.text.clone()));
    assert_eq!(client.status().await.expect("the counters").drafts_held, 1);
    let groups = client.outbox().await.expect("the Outbox");
    assert_eq!((groups.len(), groups[0].title.as_str(), &groups[0].drafts), (1, "Questions", &vec![draft.clone()]));

    let (code, out, _) = wloop(&stage, &["outbox"]).await;
    let line = format!(
        "{}\tquestion\theld\t{}\t{}\tines\t{}\tIs the limit meant to be that high, @ines?\n",
        draft.id,
        draft.unit.id,
        stage.unit(number),
        draft.created_at
    );
    assert_eq!((code, out), (Some(0), line));
    let (code, out, errors) = wloop(&stage, &["outbox", "approve", &draft.id]).await;
    assert_eq!((code, out.as_str()), (Some(1), ""), "{errors}");
    assert!(errors.contains("no terminal") && errors.contains("guard against mistakes"), "{errors}");
    let (code, _, errors) = wloop(&stage, &["outbox", "edit", &draft.short, "Is the limit *meant*?"]).await;
    assert_eq!(code, Some(0), "{errors}");

    let problem = refused(client.resolve(&first, "approve", &Resolve::default()).await);
    assert_eq!((problem.status, problem.gate.map(|gate| gate.status)), (409, Some("superseded".to_owned())));
    let edited = client.draft(&draft.id).await.expect("the draft");
    let gate = client.resolve(&edited.gate, "approve", &other_text("Is the limit meant?")).await.expect("it is approved");
    assert_ne!(gate.id, edited.gate, "another text has a gate of its own");
    let sent = in_state(&stage, &draft.id, "sent").await;
    let statuses: Vec<&str> = sent.revisions.iter().map(|revision| revision.gate_status.as_str()).collect();
    assert_eq!(statuses, ["superseded", "superseded", "approved"]);
    assert_eq!(stage.gate(&first).await.post.expect("its text").text, draft.text, "the record shows what was asked");
    stage.stop().await;
    let there = comments(&stage, number);
    assert_eq!(there.len(), 1);
    assert!(there[0].body.starts_with("Is the limit meant?\n"), "{}", there[0].body);
    assert_eq!(Some(&there[0].url), sent.url.as_ref());
}

/// A daemon on a home with a swept pull request, which dies at a point of its next life.
async fn armed(point: &str) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.variables.insert("FAILPOINTS".to_owned(), format!("{point}=return"));
    stage.start().await;
    stage.open_gate("plan", number).await;
    (stage, number)
}

async fn start_whole(stage: &mut Stage) {
    stage.crashed().await;
    stage.variables.remove("FAILPOINTS");
    stage.start_again().await;
}

fn died<T: std::fmt::Debug>(answer: Result<T, ClientError>) {
    assert!(matches!(answer, Err(ClientError::Unreachable { .. })), "{answer:?}");
}

#[tokio::test]
async fn an_approval_before_the_crash_sends_its_draft_once() {
    // K3, K5, CONS-05, DRAFT-28
    let (mut stage, number) = armed("K1").await;
    let draft = stage.client().propose_draft(&mine(&stage, number, "Thanks!")).await.expect("a draft");
    died(stage.client().resolve(&draft.gate, "approve", &Resolve::default()).await);
    start_whole(&mut stage).await;
    in_state(&stage, &draft.id, "sent").await;
    assert_eq!(stage.gate(&draft.gate).await.consequence.expect("it ran").state, "ran");
    sweeps(&stage, 2).await;
    stage.stop().await;
    assert_eq!(comments(&stage, number).len(), 1);
}

#[tokio::test]
async fn a_refusal_before_the_crash_sends_nothing() {
    // K4
    let (mut stage, number) = armed("K1").await;
    let draft = stage.client().propose_draft(&mine(&stage, number, "Thanks!")).await.expect("a draft");
    died(stage.client().resolve(&draft.gate, "discard", &Resolve::default()).await);
    start_whole(&mut stage).await;
    in_state(&stage, &draft.id, "dropped").await;
    sweeps(&stage, 2).await;
    stage.stop().await;
    assert_eq!((comments(&stage, number).len(), stage.writes()), (0, 0));
}

#[tokio::test]
async fn a_crash_inside_a_proposal_leaves_neither_gate_nor_draft() {
    // K0
    let (mut stage, number) = armed("K0b").await;
    let body = DraftRequest { key: Some("once".to_owned()), ..mine(&stage, number, "Thanks!") };
    died(stage.client().propose_draft(&body).await);
    start_whole(&mut stage).await;
    sweeps(&stage, 1).await;
    let client = stage.client();
    let of_drafts = GateFilter { kind: Some("draft".to_owned()), ..GateFilter::default() };
    assert_eq!(client.gates(&of_drafts).await.expect("the gates"), []);
    assert_eq!(client.drafts(&DraftFilter::default()).await.expect("the drafts"), []);
    assert_eq!(client.posts(&UnitFilter::default()).await.expect("the posts"), []);
    let draft = client.propose_draft(&body).await.expect("a draft");
    assert_eq!(stage.gate(&draft.gate).await.status, "open");
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn a_crash_around_the_effects_of_a_sent_draft_applies_them_once() {
    // K7, K8, K9, EFF-01, DRAFT-13
    for point in ["K7", "K8", "K9"] {
        let (mut stage, number) = armed(point).await;
        let nudge = DraftRequest { effects: vec!["pr.nudged".to_owned()], ..mine(&stage, number, "Ping, @ines?") };
        let draft = stage.client().propose_draft(&nudge).await.expect("a draft");
        assert_eq!(draft.effects[0].state, "declared", "{point}");
        let answer = stage.client().resolve(&draft.gate, "approve", &Resolve::default()).await;
        assert!(matches!(answer, Ok(_) | Err(ClientError::Unreachable { .. })), "{answer:?}");
        start_whole(&mut stage).await;
        let sent = in_state(&stage, &draft.id, "sent").await;
        assert_eq!((sent.attempts, sent.effects.len(), sent.effects[0].state.as_str()), (1, 1, "applied"), "{point}");
        sweeps(&stage, 2).await;
        let events = stage.events().await;
        let told = |kind: &str| events.iter().filter(|(told, _)| told == kind).count();
        assert_eq!((told("nudged"), told("draft_sent"), told("post_sent")), (1, 1, 1), "{point}: {events:?}");
        stage.stop().await;
        assert_eq!((comments(&stage, number).len(), stage.writes()), (1, 1), "{point}");
    }
}

#[tokio::test]
async fn a_call_that_sends_at_once_sends_its_own_text_and_that_once() {
    // DRAFT-28, DRAFT-30, API-10
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    stage.open_gate("plan", number).await;
    let client = stage.client();
    let call = |key: &str, text: &str, send: bool| DraftRequest { key: Some(key.to_owned()), send, ..mine(&stage, number, text) };
    // The same call, again and again, while it goes and after it went.
    let first = client.propose_draft(&call("a", "Thanks!", true)).await.expect("it is sent");
    assert_eq!(client.propose_draft(&call("a", "Thanks!", true)).await.expect("it answers").id, first.id);
    in_state(&stage, &first.id, "sent").await;
    let again = client.propose_draft(&call("a", "Thanks!", true)).await.expect("it answers");
    assert_eq!((again.id, again.state.as_str()), (first.id, "sent"));
    // Its name for another text is a mistake, which sends neither.
    let problem = refused(client.propose_draft(&call("a", "No thanks!", true)).await);
    assert_eq!((problem.status, problem.field.as_deref()), (422, Some("key")), "{problem:?}");
    // One that was put otherwise meanwhile is not let out by whoever still has the old words, nor by the new ones under its name.
    let held = client.propose_draft(&call("b", "One", false)).await.expect("a draft");
    let edit = DraftEdit { text: Some("Two".to_owned()), gate: None, broadcast: None };
    client.edit_draft(&held.id, &edit).await.expect("it is edited");
    let problem = refused(client.propose_draft(&call("b", "One", true)).await);
    assert!(problem.status == 409 && problem.detail.contains(&held.short), "{problem:?}");
    let problem = refused(client.propose_draft(&call("b", "Two", true)).await);
    assert_eq!((problem.status, problem.field.as_deref()), (422, Some("key")), "{problem:?}");
    let still = client.draft(&held.id).await.expect("the draft");
    assert_eq!((still.state.as_str(), still.text.as_str(), still.gate_status.as_str()), ("held", "Two", "open"));
    // One that was discarded stays so.
    let gone = client.propose_draft(&call("c", "Three", false)).await.expect("a draft");
    client.discard_draft(&gone.id, &Discard { reason: Some("not now".to_owned()) }).await.expect("it is dropped");
    let answer = client.propose_draft(&call("c", "Three", true)).await.expect("it answers");
    assert_eq!((answer.id, answer.state.as_str()), (gone.id, "dropped"));
    sweeps(&stage, 1).await;
    stage.stop().await;
    let bodies: Vec<String> = comments(&stage, number).into_iter().map(|comment| comment.body).collect();
    assert!(bodies.len() == 1 && bodies[0].starts_with("Thanks!\n") && stage.writes() == 1, "{bodies:?}");
}

#[tokio::test]
async fn a_crash_inside_an_edit_leaves_the_old_draft_with_its_open_gate() {
    // K12, K13
    for point in ["K12", "K13"] {
        let (mut stage, number) = armed(point).await;
        let client = stage.client();
        let draft = client.propose_draft(&mine(&stage, number, "Thanks!")).await.expect("a draft");
        if point == "K12" {
            let edit = DraftEdit { text: Some("Thank you!".to_owned()), gate: Some(draft.gate.clone()), broadcast: None };
            died(client.edit_draft(&draft.id, &edit).await);
        } else {
            died(client.resolve(&draft.gate, "approve", &other_text("Thank you!")).await);
        }
        start_whole(&mut stage).await;
        let after = stage.client().draft(&draft.id).await.expect("the draft");
        assert_eq!((after.state.as_str(), after.text.as_str(), &after.gate), ("held", "Thanks!", &draft.gate));
        assert_eq!((after.gate_status.as_str(), after.revisions.len()), ("open", 1));
        sweeps(&stage, 1).await;
        stage.stop().await;
        assert_eq!(comments(&stage, number).len(), 0);
    }
}

#[tokio::test]
async fn a_crash_between_the_proposal_and_its_approval_leaves_the_draft_held() {
    // K14, DRAFT-29, DRAFT-30, API-10
    let (mut stage, number) = armed("K14").await;
    let body = DraftRequest { key: Some("once".to_owned()), send: true, ..mine(&stage, number, "Thanks!") };
    died(stage.client().propose_draft(&body).await);
    start_whole(&mut stage).await;
    let draft = waiting(&stage).await;
    assert_eq!((draft.state.as_str(), draft.gate_status.as_str(), draft.proposed_by.as_str()), ("held", "open", "you"));
    // The same proposal once more is the same draft.
    let body = DraftRequest { send: false, ..body };
    assert_eq!(stage.client().propose_draft(&body).await.expect("it answers").id, draft.id);
    // Edited meanwhile, it is not let out by a call that holds another text: nobody asked for the edited one to go at once.
    let edit = DraftEdit { text: Some("Thanks a lot!".to_owned()), broadcast: None, gate: None };
    stage.client().edit_draft(&draft.id, &edit).await.expect("it is edited");
    let body = DraftRequest { send: true, ..body };
    let refused = stage.client().propose_draft(&body).await.expect_err("another text").to_string();
    assert!(refused.contains("has another text by now"), "{refused}");
    assert_eq!(waiting(&stage).await.text, "Thanks a lot!");
    let discard = Discard { reason: Some("not now".to_owned()) };
    let dropped = stage.client().discard_draft(&draft.id, &discard).await.expect("it is dropped");
    assert_eq!((dropped.state.as_str(), dropped.reason.as_deref()), ("dropped", Some("not now")));
    stage.stop().await;
    assert_eq!(comments(&stage, number).len(), 0);
}
