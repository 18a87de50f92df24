//! Rounds that stop for the person: the held post, its gate, and what each answer does.

use wloop_core::consequence::Consequence;
use wloop_core::gate::{GateKind, GateStatus};
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::*;

#[test]
fn a_stopped_round_holds_its_complete_text_under_one_gate() {
    // AMB-10, AMB-11, MCP-13, GATE-01
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.stop(&turn, "The **whole** review").unwrap();
    let gate = rig.open_gate(&detail);
    assert_eq!((gate.gate.kind, gate.gate.deadline, gate.turn), (GateKind::Post, None, Some(turn.id)));
    assert!(gate.gate.words.contains("unsure"), "{}", gate.gate.words);
    let post = rig.posts().remove(0);
    assert_eq!((post.state, post.gate, post.text.as_str()), (PostState::Held, gate.gate.id, "The **whole** review"));
    let row = rig.turn(turn.id);
    assert_eq!((row.state, row.verdict.as_deref()), (TurnState::Asked, Some("asked")));
    rig.tick_after(7 * 86_400);
    rig.reopen();
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open);
    assert!(rig.jobs().iter().all(|j| !matches!(j, Job::Send(_))));
    assert!(matches!(rig.try_send(post.id, at_head(&detail)), Reply::NotNow), "nothing goes before the person's answer");
}

#[test]
fn publishing_sends_the_text_once_and_records_the_turn() {
    // AMB-12, MCP-13, GATE-33
    for own in [None, Some("In my own words")] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let turn = rig.started(&detail);
        rig.stop(&turn, "The review").unwrap();
        let gate = rig.open_gate(&detail);
        let request =
            Request::Resolve { gate: gate.gate.id, intent: "publish".into(), text: None, draft_text: own.map(str::to_owned) };
        rig.ask(request.clone()).unwrap();
        assert_eq!(refused(rig.ask(request)).kind, RefusalKind::Conflict);
        let post = rig.posts().remove(0);
        assert_eq!((post.state, post.text.as_str()), (PostState::Queued, own.unwrap_or("The review")));
        let row = rig.gate(gate.gate.id);
        assert_eq!((row.gate.status, row.consequence.unwrap().0), (GateStatus::Answered, Consequence::Ran));
        assert_eq!(rig.turn(turn.id).state, TurnState::Asked, "until it is sent");
        rig.send(post.id, &detail, 1);
        let row = rig.turn(turn.id);
        assert_eq!((row.state, row.verdict.as_deref()), (TurnState::Recorded, Some("published")));
        assert_eq!(rig.posts().len(), 1);
        assert_eq!(rig.read().task(gate.gate.task.unwrap()).unwrap().unwrap().category, "done");
    }
}

#[test]
fn a_rewording_that_cannot_go_out_changes_nothing() {
    // RES-15, MCP-13
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.stop(&turn, "The review").unwrap();
    let before = (rig.posts(), rig.gates(), rig.read().last_event_id().unwrap());
    let gate = rig.open_gate(&detail).gate.id;
    let draft_text = Some("x".repeat(70_000));
    let refusal = refused(rig.ask(Request::Resolve { gate, intent: "publish".into(), text: None, draft_text }));
    assert_eq!(refusal.kind, RefusalKind::Invalid);
    assert_eq!((rig.posts(), rig.gates(), rig.read().last_event_id().unwrap()), before);
}

#[test]
fn keeping_it_back_records_the_turn_with_nothing_published() {
    // MCP-13, CONS-15
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.stop(&turn, "The review").unwrap();
    let gate = rig.open_gate(&detail).gate.id;
    rig.resolve(gate, "reject", None).unwrap();
    assert_eq!(rig.posts()[0].state, PostState::Dropped);
    let row = rig.turn(turn.id);
    assert_eq!((row.state, row.verdict.as_deref()), (TurnState::Recorded, Some("nothing")));
    assert!(matches!(rig.try_send(rig.posts()[0].id, at_head(&detail)), Reply::NotNow));
}

#[test]
fn an_answered_gate_whose_head_moved_is_confirmed_on_the_new_one() {
    // GH-PUB-17, GATE-04
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let turn = rig.started(&detail);
    rig.stop(&turn, "The review").unwrap();
    let first = rig.open_gate(&detail).gate.id;
    rig.resolve(first, "publish", None).unwrap();
    detail.summary.head = head(2);
    let post = rig.posts()[0].id;
    rig.try_send(post, at_head(&detail));
    let second = rig.open_gate(&detail).gate;
    assert_ne!(second.id, first);
    assert_eq!(second.words, format!("Drafted on {}, now {}: publish it on {}?", &head(1)[..7], &head(2)[..7], &head(2)[..7]));
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow));
    rig.resolve(second.id, "publish", None).unwrap();
    assert_eq!(rig.call(post, &detail).head, head(2));
}

/// A turn that stopped with a review, and whose reply, refused before, the person then sent again.
fn replied_and_stopped(rig: &mut Rig, detail: &Detail) -> (TurnRow, PostId) {
    let turn = rig.started(detail);
    let reply = rig.posted(&turn, json!({ "shape": "reply", "text": "Done", "in_reply_to": 71 })).id;
    assert_eq!(refused(rig.stop(&turn, "The review")).code, Some("unavailable"), "while a post is on its way");
    rig.call(reply, detail);
    let kind = wloop_core::github::Refusal::Invalid;
    rig.outcome(reply, SendOutcome::Refused { kind, why: "422".into() });
    rig.stop(&turn, "The review").unwrap();
    rig.ask(Request::PostRetry(reply)).unwrap();
    (turn, reply)
}

fn with_thread() -> Detail {
    let mut detail = pull(1);
    let first = wloop_core::github::Comment {
        id: "C_1".into(),
        database_id: 71,
        author: Some(account("ana")),
        body: "hm".into(),
        created_at: start(),
        url: String::new(),
        review: String::new(),
    };
    detail.threads = vec![wloop_core::github::Thread {
        id: "T_1".into(),
        resolved: false,
        outdated: false,
        path: "src/gulls.rs".into(),
        line: Some(2),
        comments: vec![first],
    }];
    detail
}

#[test]
fn a_stopped_turn_waits_for_its_held_post_whatever_else_of_it_is_sent() {
    // AMB-11, AMB-12
    let mut rig = Rig::new();
    let detail = with_thread();
    let (turn, reply) = replied_and_stopped(&mut rig, &detail);
    rig.send(reply, &detail, 1);
    assert_eq!(rig.turn(turn.id).state, TurnState::Asked);
    let gate = rig.open_gate(&detail).gate.id;
    rig.resolve(gate, "reject", None).unwrap();
    assert_eq!(rig.turn(turn.id).state, TurnState::Recorded);
}

#[test]
fn a_head_that_moved_under_a_reply_opens_no_second_gate_of_a_stopped_turn() {
    // GH-PUB-17, AMB-11
    let mut rig = Rig::new();
    let mut detail = with_thread();
    let (_, reply) = replied_and_stopped(&mut rig, &detail);
    let gate = rig.open_gate(&detail).gate.id;
    detail.summary.head = head(2);
    rig.try_send(reply, at_head(&detail));
    assert_eq!(rig.post(reply).state, PostState::Failed);
    assert_eq!(rig.open_gate(&detail).gate.id, gate);
}

#[test]
fn a_turn_that_made_its_review_stops_with_no_second_one() {
    // GH-PUB-22, MCP-12
    for sent in [false, true] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let turn = rig.started(&detail);
        let post = rig.review(&turn, "Fine").id;
        if sent {
            rig.send(post, &detail, 1);
        }
        let refusal = refused(rig.stop(&turn, "Another"));
        assert_eq!(refusal.code, Some(if sent { "already" } else { "unavailable" }), "{}", refusal.detail);
        assert_eq!((rig.posts().len(), rig.open_gates().len()), (1, 0));
        assert_eq!(rig.turn(turn.id).record, None, "nothing of it was kept");
    }
}
