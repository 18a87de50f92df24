//! Drafts: proposed, approved, edited, discarded, withdrawn, sent, and what a crash or a bad row leaves of them.

mod repairs;
mod rules;
mod sessions;
mod words;

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::draft::Delivery;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::publish::marker;
use wloop_core::github::{LookUp, Refusal as No, Shape};
use wloop_core::post::PostState;
use wloop_store::rows::DraftRow;

use super::*;
use crate::input::NewDraft;

impl Rig {
    /// The draft that an agent's tool came to, with the gate that asks about it.
    #[track_caller]
    fn drafted(&mut self, turn: &TurnRow, text: &str) -> (PostId, GateId) {
        match self.tool(turn, "github_draft", json!({ "text": text })) {
            Ok(Reply::Tool(answer)) => {
                let id = |key: &str| answer[key].as_str().unwrap().to_owned();
                assert_eq!(answer["status"], "open");
                (id("draft").parse().unwrap(), id("gate").parse().unwrap())
            }
            other => panic!("no draft: {other:?}"),
        }
    }

    /// A draft of the person's own.
    #[track_caller]
    fn wrote(&mut self, new: NewDraft) -> (PostId, GateId) {
        match self.ask(Request::ProposeDraft(Box::new(new))) {
            Ok(Reply::Draft(id)) => (id, self.post(id).gate),
            other => panic!("no draft: {other:?}"),
        }
    }

    fn draft(&self, id: PostId) -> DraftRow {
        self.read().draft(id).unwrap().unwrap().0
    }

    fn approve_as(&mut self, gate: GateId, text: &str) -> Answer<Reply> {
        let draft_text = Some(text.to_owned());
        self.ask(Request::Resolve { gate, intent: "approve".into(), text: None, draft_text })
    }

    fn edit(&mut self, draft: PostId, text: &str, gate: Option<GateId>) -> Answer<Reply> {
        self.ask(Request::EditDraft { draft, text: text.to_owned(), gate })
    }

    fn discard(&mut self, draft: PostId, reason: Option<&str>) -> Answer<Reply> {
        self.ask(Request::DiscardDraft { draft, reason: reason.map(str::to_owned) })
    }

    /// A watched pull request, with a draft of an agent's on it.
    fn with_draft(text: &str) -> (Self, Detail, PostId, GateId) {
        let mut rig = Self::new();
        let detail = pull(1);
        let turn = rig.started(&detail);
        let (draft, gate) = rig.drafted(&turn, text);
        (rig, detail, draft, gate)
    }

    /// A draft that was approved.
    fn with_queued() -> (Self, Detail, PostId) {
        let (mut rig, detail, draft, gate) = Self::with_draft("Is the limit meant to be 20?");
        rig.resolve(gate, "approve", None).unwrap();
        assert_eq!(rig.post(draft).state, PostState::Queued);
        (rig, detail, draft)
    }
}

fn mine(detail: &Detail, text: &str) -> NewDraft {
    NewDraft {
        unit: unit(detail),
        text: text.to_owned(),
        purpose: String::new(),
        delivery: Delivery::Comment,
        broadcast: false,
        effects: vec![],
        task: None,
        key: None,
    }
}

#[test]
fn a_draft_waits_until_the_person_approves_it_and_goes_out_once() {
    // DRAFT-01, DRAFT-05, DRAFT-06, DRAFT-08, DRAFT-09, DRAFT-19, GATE-08, GATE-30, GATE-35, APPR-06, AGENT-09
    let (mut rig, detail, draft, gate) = Rig::with_draft("Is the limit meant to be 20, @ana?\n\nThe test says 19.");
    let (row, post, asks) = (rig.draft(draft), rig.post(draft), rig.gate(gate));
    assert_eq!((post.state, post.turn, post.gate), (PostState::Held, None, gate));
    assert_eq!((asks.gate.kind, asks.gate.deadline, asks.turn), (GateKind::Draft, None, None));
    assert_eq!(asks.gate.words, "Comment on acme/api#1: Is the limit meant to be 20, @ana?");
    assert_eq!((post.mentions.as_slice(), post.body.ends_with(&marker(draft))), (&["ana".to_owned()][..], true));
    let turn = rig.turns().remove(0);
    assert_eq!((row.turn, row.session), (Some(turn.id), Some(turn.session)));
    let task = row.task.unwrap();
    assert_eq!(asks.gate.task, Some(task));
    let captured = rig.read().task(task).unwrap().unwrap();
    assert_eq!((captured.kind.as_str(), captured.ended_at), ("draft", None));
    rig.tick_after(86_400);
    rig.reopen();
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::NotNow));

    rig.resolve(gate, "approve", None).unwrap();
    let closed = rig.gate(gate);
    assert_eq!((closed.gate.status, closed.consequence.unwrap().0), (GateStatus::Approved, Consequence::Ran));
    assert_eq!(rig.read().task(task).unwrap().unwrap().category, "done");
    assert!(rig.jobs().contains(&Job::Send(draft)));
    // The head moved since: a comment on the conversation goes all the same.
    let reply = rig.try_send(draft, Seen { head: head(9), ..at_head(&detail) });
    let Reply::Send(order) = reply else { panic!("{reply:?}") };
    assert!(matches!(order.shape, Shape::Comment));
    rig.outcome(draft, SendOutcome::Sent(remote(5)));
    assert_eq!(rig.post(draft).state, PostState::Sent);
    assert_eq!(refused(rig.resolve(gate, "approve", None)).kind, RefusalKind::Conflict);
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    assert_eq!((rig.count(EventKind::DraftProposed), rig.count(EventKind::DraftSent)), (1, 1));
    let sent = rig.events().into_iter().find(|e| e.event.kind == EventKind::DraftSent).unwrap();
    assert_eq!(sent.event.actor, Actor::PERSON);
}

#[test]
fn a_discarded_draft_is_dropped_and_nothing_goes_out() {
    // GATE-09, DRAFT-07, GATE-35, K4
    let (mut rig, detail, draft, gate) = Rig::with_draft("Hm.");
    rig.discard(draft, Some("not now")).unwrap();
    let closed = rig.gate(gate);
    assert_eq!((closed.gate.status, closed.consequence.unwrap().0), (GateStatus::Rejected, Consequence::Ran));
    assert_eq!((rig.post(draft).state, rig.draft(draft).reason.as_str()), (PostState::Dropped, "not now"));
    assert_eq!(rig.read().task(rig.draft(draft).task.unwrap()).unwrap().unwrap().category, "dropped");
    rig.reopen();
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::NotNow));
    assert_eq!(refused(rig.discard(draft, Some("again"))).kind, RefusalKind::Conflict);
    assert_eq!(rig.count(EventKind::DraftDropped), 1);
}

#[test]
fn an_edit_asks_anew_and_the_old_approval_lets_nothing_out() {
    // F01, DRAFT-23, DRAFT-25, DRAFT-26, GATE-37, G10, D2
    let (mut rig, _, draft, old) = Rig::with_draft("LGTM, merging");
    rig.edit(draft, "LGTM @ben", Some(old)).unwrap();
    let new = rig.post(draft).gate;
    assert_ne!(new, old);
    let (superseded, asks) = (rig.gate(old), rig.gate(new));
    assert_eq!((superseded.gate.status, superseded.gate.closed.unwrap().reason), (GateStatus::Superseded, "edited".into()));
    assert_eq!((asks.gate.status, asks.gate.deadline), (GateStatus::Open, None));
    let task = asks.gate.task.unwrap();
    assert_eq!((superseded.gate.task, rig.read().task(task).unwrap().unwrap().ended_at), (Some(task), None));
    assert_eq!((rig.post(draft).text.as_str(), rig.post(draft).mentions.as_slice()), ("LGTM @ben", &["ben".to_owned()][..]));
    let late = refused(rig.resolve(old, "approve", None));
    assert_eq!((late.kind, late.gate), (RefusalKind::Conflict, Some(old)));
    assert!(late.detail.contains("superseded (edited)") && late.detail.contains(&new.to_string()[..6]), "{}", late.detail);
    assert_eq!((rig.post(draft).state, rig.gate(new).gate.status), (PostState::Held, GateStatus::Open));
    // An edit that looked at the gate before is refused as well; the same text once more changes nothing.
    assert_eq!(refused(rig.edit(draft, "Other", Some(old))).kind, RefusalKind::Conflict);
    rig.edit(draft, "LGTM @ben", Some(old)).unwrap();
    assert_eq!((rig.post(draft).gate, rig.count(EventKind::DraftEdited)), (new, 1));
    // The record shows each text with what was decided on it.
    let texts: Vec<_> = rig.read().revisions(draft).unwrap().into_iter().map(|r| (r.text, r.gate)).collect();
    assert_eq!(texts, [("LGTM, merging".to_owned(), old), ("LGTM @ben".to_owned(), new)]);
    rig.resolve(new, "approve", None).unwrap();
    assert_eq!(rig.post(draft).state, PostState::Queued);
}

#[test]
fn an_approval_with_another_text_sends_that_text_under_a_gate_of_its_own() {
    // DRAFT-27, API-03, K13
    let (mut rig, detail, draft, old) = Rig::with_draft("Please fix it");
    let reply = rig.approve_as(old, "Could you have a look?").unwrap();
    let Reply::Gate(new) = reply else { panic!("{reply:?}") };
    assert_eq!(rig.gate(old).gate.status, GateStatus::Superseded);
    assert_eq!((rig.gate(new).gate.status, rig.post(draft).gate), (GateStatus::Approved, new));
    let order = rig.call(draft, &detail);
    assert!(order.body.starts_with("Could you have a look?\n"), "{}", order.body);
    // The same text is no edit.
    let (mut rig, _, draft, gate) = Rig::with_draft("Please fix it");
    assert!(matches!(rig.approve_as(gate, "Please fix it").unwrap(), Reply::Gate(id) if id == gate));
    assert_eq!((rig.post(draft).state, rig.read().revisions(draft).unwrap().len()), (PostState::Queued, 1));
    // What is refused changes nothing, the edit included.
    let (mut rig, _, draft, gate) = Rig::with_draft("Please fix it");
    for text in ["  ", &"x".repeat(65_600)] {
        assert_eq!(refused(rig.approve_as(gate, text)).kind, RefusalKind::Invalid);
    }
    let other = rig.ask(Request::Resolve { gate, intent: "discard".into(), text: None, draft_text: Some("Other".into()) });
    assert_eq!(refused(other).field, Some("draft_text"));
    assert_eq!((rig.post(draft).text.as_str(), rig.gate(gate).gate.status), ("Please fix it", GateStatus::Open));
}

#[test]
fn what_was_approved_is_not_replaced_by_an_agent_that_comes_back() {
    // F02, MCP-06
    let (mut rig, _, draft, gate) = Rig::with_draft("First thought");
    rig.resolve(gate, "approve", None).unwrap();
    let turn = rig.turns().remove(0);
    let (second, asks) = rig.drafted(&turn, "Second thought");
    assert_ne!((second, asks), (draft, gate));
    assert_eq!((rig.post(draft).text.as_str(), rig.post(second).state), ("First thought", PostState::Held));
    assert_eq!(refused(rig.edit(draft, "Second thought", None)).kind, RefusalKind::Conflict);
    // The same call again is the same draft.
    let Ok(Reply::Tool(again)) = rig.tool(&turn, "github_draft", json!({ "text": "First thought" })) else { panic!("no answer") };
    assert_eq!((again["draft"].as_str(), &again["repeated"]), (Some(draft.to_string().as_str()), &json!(true)));
    assert_eq!(again["status"], "approved");
    assert_eq!(rig.posts().len(), 2);
}

#[test]
fn an_approved_draft_is_dropped_only_with_a_reason_and_never_once_it_is_called() {
    // DRAFT-12, CLI-12, D10, D16
    let (mut rig, detail, draft) = Rig::with_queued();
    for reason in [None, Some("  ")] {
        let refusal = refused(rig.discard(draft, reason));
        assert!(refusal.kind == RefusalKind::Conflict && refusal.detail.contains("--reason"), "{}", refusal.detail);
    }
    rig.discard(draft, Some("too late for that")).unwrap();
    assert_eq!((rig.post(draft).state, rig.draft(draft).reason.as_str()), (PostState::Dropped, "too late for that"));
    assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::NotNow));

    let (mut rig, detail, draft) = Rig::with_queued();
    rig.call(draft, &detail);
    assert_eq!(refused(rig.discard(draft, Some("stop"))).kind, RefusalKind::Conflict);
    rig.outcome(draft, SendOutcome::Refused { kind: No::Invalid, why: "Validation Failed".into() });
    assert_eq!(rig.post(draft).state, PostState::Failed);
    assert_eq!(refused(rig.ask(Request::PostDiscard { post: draft, reason: None })).field, Some("reason"));
    rig.ask(Request::PostDiscard { post: draft, reason: Some("leave it".into()) }).unwrap();
    assert_eq!(rig.draft(draft).reason, "leave it");
}

#[test]
fn a_failed_draft_is_sent_again_by_hand_alone() {
    // DRAFT-09, DRAFT-11, DRAFT-15, D12, D15
    let (mut rig, detail, draft) = Rig::with_queued();
    assert_eq!(refused(rig.ask(Request::RetryDraft(draft))).kind, RefusalKind::Conflict);
    rig.call(draft, &detail);
    rig.outcome(draft, SendOutcome::Refused { kind: No::Invalid, why: "Validation Failed".into() });
    let row = rig.post(draft);
    assert_eq!((row.state, row.maybe_posted, rig.count(EventKind::DraftFailed)), (PostState::Failed, false, 1));
    rig.tick_after(86_400);
    rig.reopen();
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    rig.ask(Request::RetryDraft(draft)).unwrap();
    rig.send(draft, &detail, 7);
    assert_eq!((rig.post(draft).state, rig.count(EventKind::DraftSent)), (PostState::Sent, 1));
}

/// A draft of which it cannot be told whether it was sent.
fn doubtful() -> (Rig, Detail, PostId) {
    let (mut rig, detail, draft) = Rig::with_queued();
    rig.call(draft, &detail);
    rig.outcome(draft, SendOutcome::Doubt { why: "the answer was lost".into() });
    for _ in 0..3 {
        rig.pass(15);
        assert!(matches!(rig.take(Input::Starting(Starting::LookUp(draft))), Reply::LookUp(_)));
        rig.take(Input::Done(Done::LookedUp { post: draft, found: LookUp::Incomplete { why: "403".into() } }));
    }
    let row = rig.post(draft);
    assert_eq!((row.state, row.maybe_posted), (PostState::Failed, true));
    (rig, detail, draft)
}

#[test]
fn the_person_settles_a_draft_that_cannot_be_told() {
    // F07, DRAFT-14, DRAFT-15, GH-PUB-09, D14, D19
    let (mut rig, _, draft) = doubtful();
    rig.tick_after(86_400);
    rig.reopen();
    assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Send(_) | Job::LookUp(_))), "never again by itself");
    rig.ask(Request::PostSent(draft)).unwrap();
    assert_eq!((rig.post(draft).state, rig.count(EventKind::DraftSent)), (PostState::Sent, 1));

    let (mut rig, _, draft) = doubtful();
    rig.discard(draft, Some("gone by now")).unwrap();
    assert_eq!(rig.post(draft).state, PostState::Dropped);

    let (mut rig, _, draft) = doubtful();
    rig.ask(Request::RetryDraft(draft)).unwrap();
    assert!(!rig.jobs().contains(&Job::Send(draft)), "it is looked up first");
    assert!(matches!(rig.take(Input::Starting(Starting::LookUp(draft))), Reply::LookUp(_)));
    rig.take(Input::Done(Done::LookedUp { post: draft, found: LookUp::Found(remote(3)) }));
    assert_eq!((rig.post(draft).state, rig.read().attempts(draft).unwrap().len()), (PostState::Sent, 1));
}

#[test]
fn a_draft_that_never_left_the_machine_goes_out_by_itself() {
    // F13, GH-PUB-06
    let (mut rig, detail, draft) = Rig::with_queued();
    rig.call(draft, &detail);
    rig.outcome(draft, SendOutcome::NotReached { why: "the name does not resolve".into() });
    let row = rig.post(draft);
    assert_eq!((row.state, row.cause.as_str()), (PostState::Queued, "the name does not resolve"));
    let wake = rig.wake().unwrap();
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    rig.now = wake;
    // Nor does a network that is still away before the call.
    let away = Err(ReadFault::Unreachable("the name does not resolve".into()));
    rig.take(Input::Starting(Starting::Post { post: draft, seen: away }));
    rig.pass(20);
    rig.send(draft, &detail, 8);
    assert_eq!((rig.post(draft).state, rig.count(EventKind::DraftSent)), (PostState::Sent, 1));
    assert_eq!(rig.read().attempts(draft).unwrap().iter().filter(|a| a.ended.as_ref().unwrap().1 == "sent").count(), 1);
}

#[test]
fn a_draft_that_nobody_can_send_fails_without_a_call() {
    // DRAFT-10, D9
    let (mut rig, detail, draft, gate) = Rig::with_draft("Hm.");
    rig.rules.has_provider = false;
    rig.reopen();
    rig.resolve(gate, "approve", None).unwrap();
    let row = rig.post(draft);
    assert_eq!((row.state, row.maybe_posted, row.started_at), (PostState::Failed, false, None));
    assert!(row.cause.contains("plugins.github.token"), "{}", row.cause);
    rig.rules.has_provider = true;
    rig.reopen();
    rig.ask(Request::RetryDraft(draft)).unwrap();
    // The pull request is gone: it cannot be placed.
    let gone = Err(ReadFault::NotFound("404".into()));
    rig.take(Input::Starting(Starting::Post { post: draft, seen: gone }));
    assert_eq!((rig.post(draft).state, rig.read().attempts(draft).unwrap().len()), (PostState::Failed, 0));
    rig.ask(Request::RetryDraft(draft)).unwrap();
    rig.send(draft, &detail, 4);
}

#[test]
fn what_the_person_writes_waits_too_and_is_proposed_once() {
    // DRAFT-28, DRAFT-29, APPR-25, APPR-29, APPR-30, API-10, EFF-12, GATE-28, GATE-29
    let mut rig = Rig::new();
    let detail = pull(1);
    let planned = rig.planned(&detail);
    let task = planned.gate.task.unwrap();
    let keyed = NewDraft { key: Some("a1".into()), purpose: "reply".into(), ..mine(&detail, "Thanks!") };
    let (draft, gate) = rig.wrote(keyed.clone());
    assert_eq!((rig.wrote(keyed.clone()), rig.posts().len()), ((draft, gate), 1));
    assert_eq!(refused(rig.ask(Request::ProposeDraft(Box::new(NewDraft { text: "Other".into(), ..keyed })))).field, Some("key"));
    let row = rig.draft(draft);
    assert_eq!((row.session, row.turn, row.task), (None, None, Some(task)), "the task that holds the unit");
    assert_eq!((rig.gate(gate).gate.status, rig.gate(gate).gate.deadline), (GateStatus::Open, None));
    // A message becomes a comment; what changes something that is there is refused with its name.
    let (other, _) = rig.wrote(NewDraft { delivery: Delivery::Message, task: Some(task), ..mine(&detail, "Hello") });
    assert_eq!(rig.draft(other).delivery, Delivery::Comment);
    for delivery in [Delivery::Reaction, Delivery::Edit, Delivery::Deletion] {
        let refusal = refused(rig.ask(Request::ProposeDraft(Box::new(NewDraft { delivery, ..mine(&detail, "x") }))));
        assert!(refusal.detail.contains(delivery.as_str()), "{}", refusal.detail);
    }
    let wrong = [
        NewDraft { text: " \n".into(), ..mine(&detail, "") },
        NewDraft { effects: vec!["unit.closed".into()], ..mine(&detail, "x") },
        NewDraft { task: Some("00000000000000000000000000000009".parse().unwrap()), ..mine(&detail, "x") },
        NewDraft { unit: UnitRef::github("PR_404"), ..mine(&detail, "x") },
        NewDraft { purpose: "p".repeat(41), ..mine(&detail, "x") },
        mine(&detail, &"x".repeat(65_600)),
    ];
    for new in wrong {
        refused(rig.ask(Request::ProposeDraft(Box::new(new))));
    }
    assert_eq!((rig.posts().len(), rig.count(EventKind::DraftProposed)), (2, 2));
    // An unattended session resolves, edits and sends nothing.
    let session = "000000000000000000000000000000aa".parse().unwrap();
    let requests = [
        Request::Resolve { gate, intent: "approve".into(), text: None, draft_text: None },
        Request::ProposeDraft(Box::new(mine(&detail, "x"))),
        Request::EditDraft { draft, text: "y".into(), gate: None },
        Request::DiscardDraft { draft, reason: None },
        Request::RetryDraft(draft),
    ];
    for request in requests {
        for caller in [Caller::Session(session), Caller::Unknown("it cannot be told".into())] {
            forbidden(rig.hand_in(Input::Request { caller, request: request.clone() }));
        }
    }
    assert_eq!((rig.post(draft).state, rig.post(draft).text.as_str()), (PostState::Held, "Thanks!"));
}

#[test]
fn two_answers_to_one_draft_have_one_winner() {
    // F03, F04, RES-17
    let (mut rig, detail, draft, gate) = Rig::with_draft("Hm.");
    rig.resolve(gate, "approve", None).unwrap();
    let late = refused(rig.resolve(gate, "discard", None));
    assert!(late.detail.contains("approved by `approve`") && late.detail.contains("by you"), "{}", late.detail);
    refused(rig.resolve(gate, "approve", None));
    rig.send(draft, &detail, 1);
    assert_eq!((rig.count(EventKind::GateDecided), rig.count(EventKind::PostSending)), (2, 1), "the plan's and the draft's");
}
