//! Jobs are a function of the ledger: whatever happened, an engine on a copy of the ledger finds the same ones.

use serde_json::json;
use wloop_core::github::{LookUp, Refusal as No};

use super::gates::workflow;
use super::*;

#[test]
fn after_each_input_of_a_life_a_copy_of_the_ledger_has_the_same_jobs() {
    // CONS-03, CONS-04, K1, K16, WIN-24
    // Places enough, so that turns that are lost with a daemon free none for others.
    let mut rig = Rig::with("[agents]\nmax_running = 20", &[("workflows/second/workflow.toml", &workflow("And again"))]);
    rig.mirrored = true;
    let (mut one, two, mut three, four) = (pull(1), pull(2), pull(3), pull(4));
    three.review_requests.clear();
    rig.sweep(&[&one, &two, &three, &four]);
    rig.tick_after(20);
    let gates = rig.open_gates();
    assert_eq!(gates.len(), 6);
    // Decisions of each kind, and what is refused.
    rig.ask(Request::ApplyPlan { unit: unit(&one), guidance: Some("Mind it".into()) }).unwrap();
    refused(rig.ask(Request::ApplyPlan { unit: unit(&one), guidance: None }));
    let of_four = gates.iter().find(|g| g.gate.unit == Some(unit(&four))).unwrap().gate.id;
    rig.resolve(of_four, "skip", None).unwrap();
    rig.ask(Request::DismissPlan { unit: unit(&four) }).unwrap();
    rig.tick_after(41);
    rig.by_hand(&three, None).unwrap();
    rig.fail_read(&two, ReadFault::Unreachable("no route".into()));
    rig.pass(31);
    rig.show(&two);
    // Releases: one that fails to prepare, one that fails to be read, and those that become turns.
    let item = |rig: &Rig, d: &Detail| {
        let of = rig.items().into_iter().find(|i| i.unit == unit(d) && i.state == ItemState::Released);
        of.unwrap().id
    };
    let first = item(&rig, &one);
    rig.start_release(first, &one);
    rig.take(Input::Done(Done::Release { item: first, prepared: Err("busy".into()) }));
    let fault = ReadFault::Unreachable("no route".into());
    rig.take(Input::Starting(Starting::Release { item: item(&rig, &two), read: Box::new(Err(fault)) }));
    rig.tick_after(60);
    let a = rig.prepare(first, &one);
    let b = rig.prepare(item(&rig, &two), &two);
    let c = rig.prepare(item(&rig, &three), &three);
    rig.give(a.id);
    rig.give(b.id);
    rig.claim(c.id);
    rig.end(c.id, TurnEnd::NotStarted("no such program".into()));
    // Posts: a limit, a doubt that is found, a refusal that is sent again, a stop that is published.
    rig.tool(&a, "task_read", json!({})).unwrap();
    let post = rig.review(&a, "Fine").id;
    rig.call(post, &one);
    let until = rig.now + SignedDuration::from_secs(40);
    rig.outcome(post, SendOutcome::Wait { until, why: "limit".into() });
    rig.take(Input::Observed(Observation::Inventory(Err(ReadFault::Wait { until, why: "limit".into() }))));
    rig.tick_after(40);
    rig.call(post, &one);
    rig.outcome(post, SendOutcome::Doubt { why: "lost".into() });
    rig.tick_after(2);
    rig.take(Input::Starting(Starting::LookUp(post)));
    rig.take(Input::Done(Done::LookedUp { post, found: LookUp::Absent }));
    rig.tick_after(3);
    rig.take(Input::Starting(Starting::LookUp(post)));
    rig.take(Input::Done(Done::LookedUp { post, found: LookUp::Found(remote(1)) }));
    rig.record(&a, "published").unwrap();
    rig.end(a.id, TurnEnd::Well);
    rig.stop(&b, "Wait").unwrap();
    rig.end(b.id, TurnEnd::Badly("code 3".into()));
    let stopped = rig.open_gate(&two).gate.id;
    rig.resolve(stopped, "publish", None).unwrap();
    let held = rig.posts().into_iter().find(|p| p.turn == Some(b.id)).unwrap().id;
    rig.call(held, &two);
    rig.outcome(held, SendOutcome::Refused { kind: No::Forbidden, why: "locked".into() });
    rig.ask(Request::PostRetry(held)).unwrap();
    rig.call(held, &two);
    rig.outcome(held, SendOutcome::NotReached { why: "no route".into() });
    rig.tick_after(20);
    rig.send(held, &two, 2);
    // The world moves on.
    rig.inventory(&[&one, &two, &four], true);
    one.summary.head = head(2);
    one.summary.updated_at = rig.now;
    one.review_requests = vec![request("RR_2", rig.now)];
    rig.tick_after(60);
    rig.sweep(&[&one, &two]);
    rig.mirrored = false;
    // A start tries a token again that was refused, so there the jobs do differ.
    rig.take(Input::Observed(Observation::Inventory(Err(ReadFault::SignedOut("401".into())))));
    assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Sweep)));
    assert!(rig.copies >= 60, "{} inputs", rig.copies);
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Sweep));
}

#[test]
fn what_a_workflow_caused_names_it_and_what_the_person_did_does_not() {
    // EVT-07
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.record(&turn, "nothing").unwrap();
    rig.by_hand(&detail, None).unwrap();
    let events = rig.events();
    let chains = |kind: EventKind| -> Vec<Vec<String>> {
        events.iter().filter(|row| row.event.kind == kind).map(|row| row.event.chain.clone()).collect()
    };
    let review = ["review".to_owned()];
    // The second was asked for by hand.
    for kind in [EventKind::RoundPlanned, EventKind::GateOpened] {
        assert_eq!(chains(kind), [review.to_vec(), Vec::new()], "{kind:?}");
    }
    assert_eq!(chains(EventKind::TurnRecorded), [review]);
    assert!(chains(EventKind::GateDecided).iter().all(Vec::is_empty), "the person decided");
    assert!(chains(EventKind::DaemonStarted).iter().all(Vec::is_empty));
}
