//! Power cuts, and rows that no life of ours leaves: what a start makes of them.

use wloop_core::gate::{Closing, Gate};
use wloop_store::Writes;

use super::*;

impl Rig {
    /// Writes what the engine never would.
    pub(super) fn forge(&mut self, change: impl FnOnce(&Writes<'_>) -> Result<(), wloop_store::StoreError>) {
        self.engine().store.write(|tx| change(tx)).unwrap();
    }
}

/// A gate as the person closed it.
fn closed(gate: &Gate, status: GateStatus, intent: &str, at: Timestamp) -> Gate {
    let closing = Closing { intent: Some(intent.into()), actor: Actor::PERSON, text: None, at, reason: String::new() };
    Gate { status, closed: Some(closing), ..gate.clone() }
}

#[test]
fn an_approval_without_its_consequence_is_carried_out_once() {
    // F08, K3, K4, CONS-03, CONS-04, CONS-05
    for (status, intent, state) in
        [(GateStatus::Approved, "approve", PostState::Queued), (GateStatus::Rejected, "discard", PostState::Dropped)]
    {
        for ran in [false, true] {
            for start in [false, true] {
                let (mut rig, detail, draft, gate) = Rig::with_draft("Hm.");
                let (now, row) = (rig.now, rig.gate(gate));
                rig.forge(|tx| {
                    tx.close_gate(gate, &closed(&row.gate, status, intent, now))?;
                    if ran { tx.set_consequence(gate, Consequence::Due, Consequence::Ran, "", now) } else { Ok(()) }
                });
                assert_eq!(rig.read().stuck_drafts().unwrap().len(), 1);
                if start {
                    rig.reopen();
                } else {
                    rig.take(Input::Tick);
                }
                assert_eq!((rig.post(draft).state, rig.read().stuck_drafts().unwrap().len()), (state, 0));
                assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Ran);
                if state == PostState::Queued {
                    rig.send(draft, &detail, 1);
                }
                rig.reopen();
                rig.take(Input::Tick);
                assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Send(_))));
                assert_eq!(rig.count(EventKind::ConsequenceRan), 2 - usize::from(ran), "the plan's and the draft's");
            }
        }
    }
}

#[test]
fn a_power_cut_leaves_a_draft_where_it_was() {
    // K5, K6, K7, K11, K12, K14, DRAFT-13, DRAFT-14
    let (mut rig, detail, draft, gate) = Rig::with_draft("Hm.");
    rig.reopen();
    assert_eq!((rig.post(draft).state, rig.gate(gate).gate.status), (PostState::Held, GateStatus::Open));
    rig.edit(draft, "Hm?", None).unwrap();
    let gate = rig.post(draft).gate;
    rig.reopen();
    assert_eq!((rig.post(draft).text.as_str(), rig.gate(gate).gate.status), ("Hm?", GateStatus::Open));
    rig.resolve(gate, "approve", None).unwrap();
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Send(draft)));
    rig.call(draft, &detail);
    rig.reopen();
    // The call's answer is lost: it is looked up, and proved absent.
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    for _ in 0..3 {
        rig.pass(15);
        assert!(matches!(rig.take(Input::Starting(Starting::LookUp(draft))), Reply::LookUp(_)));
        rig.take(Input::Done(Done::LookedUp { post: draft, found: LookUp::Absent }));
    }
    let row = rig.post(draft);
    assert_eq!((row.state, row.maybe_posted), (PostState::Failed, false));
    rig.ask(Request::RetryDraft(draft)).unwrap();
    rig.reopen();
    // An earlier call of it was lost, so it is looked for once more; this time it is there.
    assert!(!rig.jobs().contains(&Job::Send(draft)));
    assert!(matches!(rig.take(Input::Starting(Starting::LookUp(draft))), Reply::LookUp(_)));
    rig.take(Input::Done(Done::LookedUp { post: draft, found: LookUp::Found(remote(2)) }));
    assert_eq!((rig.post(draft).state, rig.read().attempts(draft).unwrap().len()), (PostState::Sent, 1));
}

#[test]
fn a_start_mends_drafts_and_the_tasks_that_hold_gates() {
    // GATE-58, GATE-59, GATE-60, GATE-61, GATE-62
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    rig.sweep(&[&one, &two]);
    for detail in [&one, &two] {
        let gate = rig.open_gate(detail).gate.id;
        rig.resolve(gate, "skip", None).unwrap();
    }
    let (lost, lost_gate) = rig.wrote(mine(&one, "Without its task"));
    let (late, late_gate) = rig.wrote(mine(&two, "On a task that ended"));
    let (task, ended) = (rig.draft(lost).task.unwrap(), rig.draft(late).task.unwrap());
    assert_ne!(task, ended);
    let now = rig.now;
    rig.forge(|tx| {
        tx.set_draft_task(lost, None)?;
        tx.end_task(ended, "done", now).map(|_| ())
    });
    for _ in 0..2 {
        rig.reopen();
        assert_eq!((rig.draft(lost).task, rig.post(lost).state), (Some(task), PostState::Held));
        assert_eq!(rig.gate(lost_gate).gate.status, GateStatus::Open);
        let closing = rig.gate(late_gate).gate.closed.unwrap();
        assert_eq!((rig.post(late).state, closing.reason.as_str()), (PostState::Dropped, "ended"));
        assert_eq!((rig.draft(late).reason.as_str(), rig.count(EventKind::DraftDropped)), ("ended", 1));
    }
    // A captured task whose gates all closed without ending it, because its category was not named then.
    let row = rig.gate(lost_gate);
    rig.forge(|tx| tx.close_gate(lost_gate, &closed(&row.gate, GateStatus::Rejected, "discard", now)));
    for _ in 0..2 {
        rig.reopen();
        assert_eq!(rig.read().task(task).unwrap().unwrap().category, "dropped");
    }
    let (kept, kept_gate) = rig.wrote(mine(&one, "One more"));
    let task = rig.draft(kept).task.unwrap();
    let gate = rig.gate(kept_gate).gate;
    rig.forge(|tx| {
        tx.close_gate(kept_gate, &closed(&gate, GateStatus::Approved, "approve", now))?;
        tx.set_consequence(kept_gate, Consequence::Due, Consequence::Ran, "", now)
    });
    rig.reopen();
    assert_eq!((rig.read().task(task).unwrap().unwrap().category, rig.post(kept).state), ("done".into(), PostState::Queued));
    let ends = rig.count(EventKind::TaskEnded);
    rig.reopen();
    assert_eq!(rig.count(EventKind::TaskEnded), ends);
}
