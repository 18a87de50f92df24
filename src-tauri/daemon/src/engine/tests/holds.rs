//! The person's pause and mute.

use wloop_core::gate::{Actor, GateStatus};
use wloop_core::plan::ItemState;
use wloop_core::stops::HoldKind;
use wloop_core::turn::TurnState;

use super::*;

fn hold(unit: Option<UnitRef>, kind: HoldKind) -> Request {
    Request::Hold { unit, kind, until: None }
}

fn pause(rig: &mut Rig, detail: &Detail) {
    rig.ask(hold(Some(unit(detail)), HoldKind::Pause)).unwrap();
}

fn resume(rig: &mut Rig, unit: Option<UnitRef>) {
    rig.ask(Request::Unhold { unit, kind: HoldKind::Pause }).unwrap();
}

fn because(rig: &mut Rig, detail: &Detail) -> Vec<(String, String)> {
    match rig.hand_in(Input::Request { caller: Caller::Unknown("?".into()), request: Request::Explain(unit(detail)) }) {
        Ok(Reply::Because(found)) => found,
        other => panic!("not explained: {other:?}"),
    }
}

#[test]
fn a_pause_takes_a_waiting_round_out_of_the_plan_and_keeps_its_guidance() {
    // WIN-13, WIN-36, P8, G12, K39, GH-FACT-22, GH-FACT-29
    for restart in [false, true] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let gate = rig.planned(&detail);
        rig.ask(Request::ApplyPlan { unit: unit(&detail), guidance: Some("Mind it".into()) }).unwrap();
        // Released, and no agent was given it yet.
        pause(&mut rig, &detail);
        if restart {
            rig.reopen();
        }
        let item = rig.item_of(&gate);
        assert_eq!((item.state, item.reason.as_str()), (ItemState::Gone, "paused"));
        assert_eq!(rig.gate(gate.gate.id).consequence_note, "not started: paused");
        rig.tick_after(7_200);
        rig.sweep(&[&detail]);
        assert!(rig.open_gates().is_empty() && rig.turns().is_empty());
        assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Release(_))));
        assert_eq!(because(&mut rig, &detail), [("review".to_owned(), "paused".to_owned())]);
        resume(&mut rig, Some(unit(&detail)));
        let next = rig.open_gate(&detail);
        assert_eq!(next.gate.deadline, Some(rig.now + SignedDuration::from_secs(60)), "anew, with a full window");
        rig.tick_after(60);
        assert_eq!(rig.prepare(rig.item_of(&next).id, &detail).guidance.as_deref(), Some("Mind it"));
    }
}

#[test]
fn a_pause_wins_over_the_window_that_is_about_to_end() {
    // K39, WIN-13, P8
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    rig.sweep(&[&one, &two]);
    let (gate, other) = (rig.open_gate(&one), rig.open_gate(&two));
    rig.pass(59);
    pause(&mut rig, &one);
    rig.reopen();
    rig.tick_after(1);
    let row = rig.gate(gate.gate.id);
    assert_eq!((row.gate.status, row.gate.closed.unwrap().reason.as_str()), (GateStatus::Superseded, "paused"));
    assert_eq!(rig.item_of(&gate).state, ItemState::Gone);
    assert_eq!(rig.gate(other.gate.id).gate.status, GateStatus::Approved, "the other one goes");
    let told: Vec<_> = rig.events().into_iter().filter(|e| e.event.kind == EventKind::UnitPaused).collect();
    assert_eq!((told.len(), &told[0].event.actor), (1, &Actor::PERSON));
}

#[test]
fn guidance_for_a_gate_that_is_gone_is_kept_as_a_note_and_runs_nothing() {
    // F10
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    pause(&mut rig, &detail);
    rig.reopen();
    let refusal = refused(rig.resolve(gate.gate.id, "guide", Some("be nicer")));
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    assert!(refusal.detail.contains("superseded (paused)") && refusal.detail.contains("kept as a note"), "{}", refusal.detail);
    assert_eq!(rig.read().guidance_offered(&unit(&detail)).unwrap().len(), 1);
    assert!(rig.turns().is_empty() && rig.jobs().iter().all(|job| !matches!(job, Job::Release(_))));
}

#[test]
fn a_pause_stops_no_turn_that_runs_and_nothing_that_the_person_asks_for() {
    // ROUND-28, WIN-13, ROUND-31
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let turn = rig.started(&one);
    rig.sweep(&[&one, &two]);
    pause(&mut rig, &one);
    rig.ask(hold(None, HoldKind::Pause)).unwrap();
    assert_eq!(rig.turn(turn.id).state, TurnState::Started);
    assert!(!rig.jobs().contains(&Job::CancelTurn(turn.id)));
    assert!(rig.open_gates().is_empty());
    rig.by_hand(&two, None).unwrap();
    let item = rig.items().into_iter().rfind(|item| item.unit == unit(&two)).unwrap();
    rig.prepare(item.id, &two);
    assert_eq!(rig.turns().len(), 2);
}

#[test]
fn all_rounds_pause_until_a_time_and_go_on_by_themselves() {
    // WIN-13, GH-FACT-22
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    rig.sweep(&[&one, &two]);
    let until = rig.now + SignedDuration::from_secs(45);
    rig.ask(Request::Hold { unit: None, kind: HoldKind::Pause, until: Some(until) }).unwrap();
    rig.ask(Request::Hold { unit: None, kind: HoldKind::Pause, until: Some(until) }).unwrap();
    assert_eq!((rig.count(EventKind::Paused), rig.open_gates().len()), (1, 0), "said twice, told once");
    assert_eq!(rig.wake(), Some(until));
    rig.reopen();
    rig.pass(44);
    rig.sweep(&[&one, &two]);
    assert!(rig.open_gates().is_empty());
    rig.tick_after(1);
    let told: Vec<_> = rig.events().into_iter().filter(|e| e.event.kind == EventKind::Resumed).collect();
    assert_eq!((told.len(), &told[0].event.actor), (1, &Actor::Daemon));
    assert!(rig.jobs().contains(&Job::Sweep), "at once");
    rig.sweep(&[&one, &two]);
    assert_eq!(rig.open_gates().len(), 2);
    let past = Request::Hold { unit: None, kind: HoldKind::Pause, until: Some(rig.now) };
    let refusal = refused(rig.ask(past));
    assert_eq!((refusal.kind, refusal.field), (RefusalKind::Invalid, Some("until")));
    assert_eq!((rig.open_gates().len(), rig.count(EventKind::Paused)), (2, 1));
    // A unit that is paused by itself stays so when everything goes on.
    rig.ask(hold(None, HoldKind::Pause)).unwrap();
    pause(&mut rig, &one);
    resume(&mut rig, None);
    rig.sweep(&[&one, &two]);
    assert_eq!(rig.open_gates().iter().map(|g| g.gate.unit.clone()).collect::<Vec<_>>(), [Some(unit(&two))]);
}

#[test]
fn a_muted_units_round_goes_at_its_deadline() {
    // WIN-40, GH-FACT-22
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.ask(hold(Some(unit(&detail)), HoldKind::Mute)).unwrap();
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open);
    rig.sweep(&[&detail]);
    rig.tick_after(60);
    rig.prepare(rig.item_of(&gate).id, &detail);
    assert!(rig.read().is_held(&unit(&detail), HoldKind::Mute, rig.now).unwrap(), "the mute itself stays");
    assert_eq!(because(&mut rig, &detail)[0].1, "turn 1 is starting");
    rig.ask(Request::Unhold { unit: Some(unit(&detail)), kind: HoldKind::Mute }).unwrap();
    assert_eq!((rig.count(EventKind::UnitMuted), rig.count(EventKind::UnitUnmuted)), (1, 1));
}

#[test]
fn what_is_not_known_and_who_is_unattended_pauses_nothing() {
    // CLI-18, RES-19, RES-15, WIN-33
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.planned(&detail);
    let before = rig.read().last_event_id().unwrap();
    let unknown = UnitRef::github("PR_99");
    for kind in [HoldKind::Pause, HoldKind::Mute] {
        assert_eq!(refused(rig.ask(hold(Some(unknown.clone()), kind))).kind, RefusalKind::NotFound);
        let undo = Request::Unhold { unit: Some(unknown.clone()), kind };
        assert_eq!(refused(rig.ask(undo)).kind, RefusalKind::NotFound);
        for unit in [None, Some(unit(&detail))] {
            let caller = Caller::Unknown("?".into());
            forbidden(rig.hand_in(Input::Request { caller: caller.clone(), request: hold(unit.clone(), kind) }));
            forbidden(rig.hand_in(Input::Request { caller, request: Request::Unhold { unit, kind } }));
        }
    }
    // Taking away what is not there is no change.
    resume(&mut rig, None);
    assert!(rig.read().holds().unwrap().is_empty());
    assert_eq!(rig.read().last_event_id().unwrap(), before);
    rig.open_gate(&detail);
}
