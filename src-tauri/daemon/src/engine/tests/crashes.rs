//! Power cuts: everything up to the point is committed, the engine is dropped without a word, and the next one on the same ledger
//! finds what is to be done, against the table of crash points.

use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateStatus};
use wloop_core::github::LookUp;
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::*;

#[test]
fn a_gate_is_never_without_its_round_and_its_task() {
    // K0
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.inventory(&[&detail], true);
    // One input is one transaction: a power cut lies before it, or after it.
    let count =
        |rig: &Rig| (rig.gates().len(), rig.items().len(), rig.count(EventKind::TaskCreated), rig.count(EventKind::GateOpened));
    rig.reopen();
    assert_eq!(count(&rig), (0, 0, 0, 0));
    assert_eq!(rig.to_read().len(), 1, "the read is still to be made");
    rig.show(&detail);
    rig.reopen();
    assert_eq!(count(&rig), (1, 1, 1, 1));
    let gate = rig.open_gate(&detail);
    assert_eq!(rig.item_of(&gate).state, ItemState::CountingDown);
    assert_eq!(rig.read().task(gate.gate.task.unwrap()).unwrap().unwrap().ended_at, None);
    // An input whose ledger fails leaves nothing of itself.
    let before = (count(&rig), rig.read().last_event_id().unwrap());
    let rolled: Result<(), wloop_store::StoreError> = {
        let row = rig.gates().remove(0);
        rig.engine().store_mut().write(|tx| {
            let other = GateRow {
                gate: wloop_core::gate::Gate { id: "0000000000000000000000000000000c".parse().unwrap(), ..row.gate.clone() },
                ..row
            };
            tx.insert_gate(&other)?;
            tx.insert_gate(&other)
        })
    };
    assert!(rolled.is_err());
    assert_eq!((count(&rig), rig.read().last_event_id().unwrap()), before);
}

#[test]
fn a_resolution_whose_round_did_not_start_is_carried_out_after_the_start() {
    // K1, K16, CONS-03, WIN-24
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "guide", Some("Mind it")).unwrap();
    let item = rig.item_of(&gate).id;
    rig.reopen();
    assert_eq!(rig.gate(gate.gate.id).consequence.unwrap().0, Consequence::Due);
    assert!(rig.jobs().contains(&Job::Release(item)));
    // It had been looked at, and its workspace was being made.
    assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Release(item)));
    let turn = rig.prepare(item, &detail);
    assert_eq!(turn.guidance.as_deref(), Some("Mind it"));
    rig.reopen();
    assert!(!rig.jobs().contains(&Job::Release(item)), "once");
    assert_eq!((rig.turns().len(), rig.count(EventKind::GateDecided)), (1, 1));
}

#[test]
fn a_prompt_is_never_given_again() {
    // K17, RUN-35
    for (point, spawned, given) in [("row written", false, false), ("process made", true, false), ("prompt given", true, true)] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let gate = rig.planned(&detail);
        rig.resolve(gate.gate.id, "run_now", None).unwrap();
        let turn = rig.prepare(rig.item_of(&gate).id, &detail).id;
        if spawned {
            rig.claim(turn);
            rig.spawn(turn);
        }
        if given {
            rig.agent(turn, AgentEvent::PromptGiven);
        }
        rig.reopen();
        let row = rig.turn(turn);
        assert_eq!(row.state, TurnState::Failed, "{point}");
        assert!(row.cause.starts_with("interrupted"), "{}", row.cause);
        assert!(!rig.jobs().contains(&Job::StartTurn(turn)));
        assert!(matches!(rig.take(Input::Starting(Starting::Turn(turn))), Reply::NotNow));
        assert_eq!(rig.jobs().contains(&Job::EndGroup(turn)), spawned, "what is left of its processes is ended");
        rig.take(Input::Done(Done::GroupEnded(turn)));
        assert!(!rig.jobs().contains(&Job::EndGroup(turn)));
        rig.pass(3_600);
        rig.sweep(&[&detail]);
        assert!(rig.open_gates().is_empty(), "nothing is planned of it by itself");
        rig.by_hand(&detail, None).unwrap();
        let again = rig.items().into_iter().find(|i| i.by_hand).unwrap();
        assert_eq!(rig.prepare(again.id, &detail).seq, 2, "the person may run it");
    }
}

#[test]
fn guidance_is_back_when_the_prompt_was_not_given() {
    // K18, EFFECT-04
    for given in [false, true] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let gate = rig.planned(&detail);
        rig.resolve(gate.gate.id, "guide", Some("Mind it")).unwrap();
        let turn = rig.prepare(rig.item_of(&gate).id, &detail).id;
        rig.claim(turn);
        rig.spawn(turn);
        if given {
            rig.agent(turn, AgentEvent::PromptGiven);
        }
        rig.reopen();
        assert_eq!(rig.read().guidance(&unit(&detail)).unwrap().len(), usize::from(!given));
        let state = if given { "applied" } else { "void" };
        assert!(rig.read().effects(turn).unwrap().iter().all(|(_, is)| is == state));
    }
}

/// A call that was being made when the daemon died.
fn cut_in_call() -> (Rig, Detail, TurnRow, PostId) {
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.call(post, &detail);
    rig.pass(30);
    rig.reopen();
    (rig, detail, turn, post)
}

#[test]
fn a_call_that_nobody_waits_for_is_looked_up_and_never_made_twice() {
    // K6, K7, RUN-35, ROUND-16
    let look = |rig: &mut Rig, post: PostId, found: LookUp| {
        assert!(rig.jobs().contains(&Job::LookUp(post)) && !rig.jobs().contains(&Job::Send(post)));
        assert!(matches!(rig.take(Input::Starting(Starting::LookUp(post))), Reply::LookUp(_)));
        rig.take(Input::Done(Done::LookedUp { post, found }));
    };
    let (mut rig, detail, turn, post) = cut_in_call();
    assert_eq!(rig.post(post).state, PostState::Sending);
    assert_eq!(rig.read().attempts(post).unwrap()[0].ended.as_ref().unwrap().1, "lost");
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow));
    look(&mut rig, post, LookUp::Found(remote(1)));
    assert_eq!(rig.post(post).state, PostState::Sent);
    assert_eq!(rig.turn(turn.id).state, TurnState::Failed);
    assert_eq!(rig.read().mark(&unit(&detail), "reviewed").unwrap().unwrap()["review"], "N_1");

    let (mut rig, detail, _, post) = cut_in_call();
    for wait in [0, 5, 15] {
        rig.pass(wait);
        look(&mut rig, post, LookUp::Absent);
    }
    assert_eq!((rig.post(post).state, rig.post(post).maybe_posted), (PostState::Failed, false), "absent for certain");
    assert_eq!(rig.read().mark(&unit(&detail), "reviewed").unwrap(), None);

    let (mut rig, _, _, post) = cut_in_call();
    for wait in [0, 5, 15] {
        rig.pass(wait);
        look(&mut rig, post, LookUp::Incomplete { why: "no".into() });
        // Another cut in the middle of it loses no look-up that was made.
        rig.reopen();
    }
    assert_eq!((rig.post(post).state, rig.post(post).maybe_posted), (PostState::Failed, true));
    assert_eq!(rig.read().attempts(post).unwrap().len(), 1);
}

#[test]
fn a_queued_post_goes_out_after_a_restart_and_a_stopped_turn_stays_stopped() {
    // CONS-03, CONS-05, RUN-35
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.reopen();
    rig.reopen();
    assert_eq!(rig.jobs().iter().filter(|j| **j == Job::Send(post)).count(), 1);
    rig.send(post, &detail, 1);
    assert_eq!(rig.read().attempts(post).unwrap().len(), 1);

    let mut rig = Rig::new();
    let turn = rig.started(&detail);
    rig.stop(&turn, "Wait").unwrap();
    rig.reopen();
    assert_eq!(rig.turn(turn.id).state, TurnState::Asked);
    assert!(rig.jobs().contains(&Job::EndGroup(turn.id)));
    let gate = rig.open_gate(&detail).gate.id;
    rig.resolve(gate, "publish", None).unwrap();
    rig.reopen();
    let post = rig.posts()[0].id;
    rig.send(post, &detail, 1);
    assert_eq!(rig.turn(turn.id).state, TurnState::Recorded);
}

#[test]
fn a_window_that_passed_while_nothing_ran_releases_once_after_the_same_checks() {
    // K15, WIN-25, ROUND-06
    let mut rig = Rig::new();
    let (one, mut two) = (pull(1), pull(2));
    rig.sweep(&[&one, &two]);
    let (first, second) = (rig.open_gate(&one), rig.open_gate(&two));
    rig.pass(3_600);
    rig.reopen();
    rig.take(Input::Tick);
    rig.reopen();
    rig.take(Input::Tick);
    assert_eq!(rig.count(EventKind::GateDecided), 2);
    two.summary.state = PullState::Merged;
    rig.prepare(rig.item_of(&first).id, &one);
    let item = rig.item_of(&second).id;
    assert!(matches!(rig.start_release(item, &two), Reply::NotNow));
    assert_eq!(rig.item(item).state, ItemState::Gone);
    assert_eq!(rig.gate(second.gate.id).gate.closed.unwrap().actor, Actor::Window);
    assert_eq!(rig.turns().len(), 1);
}

#[test]
fn a_skip_and_what_is_handled_are_one() {
    // K38, CONS-15
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "skip", None).unwrap();
    rig.reopen();
    assert_eq!((rig.gate(gate.gate.id).gate.status, rig.item_of(&gate).state), (GateStatus::Rejected, ItemState::Handled));
    assert_eq!(rig.read().handled(&unit(&detail), "review").unwrap().len(), 1);
    rig.tick_after(3_600);
    assert!(rig.jobs().iter().all(|j| !matches!(j, Job::Release(_))));
}
