//! The daily cap.

use wloop_core::cap::Cap;
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateStatus};
use wloop_core::plan::ItemState;

use super::*;

const ONE_A_DAY: &str = "[time]\nzone = \"America/New_York\"\n[plugins.github.rounds]\nper_day = 1\n";
const NONE: &str = "[plugins.github.rounds]\nper_day = 0\n";

/// The round on the first pull request ran by itself; that on the second was counting down when it did, and is held now.
fn capped(config: &str) -> (Rig, Detail, GateRow) {
    let mut rig = Rig::with(config, &[]);
    let (one, two) = (pull(1), pull(2));
    rig.sweep(&[&one, &two]);
    let gate = rig.open_gate(&two);
    rig.tick_after(60);
    for detail in [&one, &two] {
        let item = item_on(&rig, detail);
        if let Reply::Release(_) = rig.start_release(item.id, detail) {
            rig.end_release(item.id, detail);
            let turn = rig.read().open_turn(&unit(detail)).unwrap().unwrap();
            rig.give(turn.id);
        }
    }
    let before = rig.gate(gate.gate.id);
    assert_eq!((before.gate.status, before.consequence.unwrap().0), (GateStatus::Approved, Consequence::Ran));
    let held = rig.open_gate(&two);
    assert_ne!(held.gate.id, gate.gate.id, "a gate of its own");
    (rig, two, held)
}

fn item_on(rig: &Rig, detail: &Detail) -> ItemRow {
    rig.items().into_iter().rfind(|item| item.unit == unit(detail)).unwrap()
}

#[test]
fn a_round_over_the_cap_waits_on_a_gate_of_its_own_whatever_a_rule_says() {
    // WIN-27, WIN-28, ROUND-24, P9, GH-FACT-40
    for policy in ["", "[[workflows.review.gates.approval.rule]]\nwhen = 'true'\nmode = \"run\"\n"] {
        let mut rig = Rig::with(&format!("{ONE_A_DAY}{policy}"), &[]);
        let (one, two) = (pull(1), pull(2));
        rig.sweep(&[&one]);
        rig.tick_after(60);
        let turn = rig.prepare(item_on(&rig, &one).id, &one);
        rig.give(turn.id);
        // Planned when the cap is reached already, it is held from the beginning.
        rig.sweep(&[&one, &two]);
        let gate = rig.open_gate(&two);
        let item = item_on(&rig, &two);
        assert_eq!((item.state, item.cap.unwrap().cap, item.gate), (ItemState::Capped, Cap::PerDay, gate.gate.id));
        assert!(gate.gate.words.contains("`plugins.github.rounds.per_day`"), "{}", gate.gate.words);
        assert!(gate.gate.intents.iter().all(|intent| intent.text.is_none()), "guidance starts nothing here");
        assert_eq!((gate.gate.deadline, rig.count(EventKind::RoundCapped)), (None, 1));
        rig.tick_after(3_600);
        rig.reopen();
        rig.take(Input::Tick);
        rig.sweep(&[&one, &two]);
        assert_eq!(rig.open_gate(&two).gate.id, gate.gate.id);
        assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Release(_))));
    }
}

#[test]
fn each_cap_counts_what_it_is_for() {
    // ROUND-24, WF-10, WIN-11
    let (rig, two, gate) = capped(ONE_A_DAY);
    assert_eq!(item_on(&rig, &two).state, ItemState::Capped);
    assert_eq!(item_on(&rig, &two).cap.unwrap().day.to_string(), "2026-11-30");
    assert!(gate.gate.words.contains("acme/api#2"), "{}", gate.gate.words);

    let bundled = BUNDLED.iter().find(|(path, _)| *path == "workflows/review/workflow.toml").unwrap().1;
    let own = bundled.replace("per_day = 30", "per_day = 0");
    let mut rig = Rig::with("", &[("workflows/review/workflow.toml", &own)]);
    let gate = rig.planned(&two);
    assert_eq!(item_on(&rig, &two).cap.unwrap().cap, Cap::Workflow);
    assert!(gate.gate.words.contains("of the workflow review"), "{}", gate.gate.words);

    let mut rig = Rig::with("[plugins.github.rounds]\nper_pull_request = 1\n", &[]);
    let mut one = pull(1);
    let turn = rig.started(&one);
    rig.record(&turn, "nothing").unwrap();
    rig.end(turn.id, TurnEnd::Well);
    rig.pass(60);
    one.summary.head = head(2);
    one.summary.updated_at = rig.now;
    one.review_requests = vec![request("RR_2", rig.now)];
    rig.sweep(&[&one, &two]);
    assert_eq!(item_on(&rig, &one).cap.unwrap().cap, Cap::PerPullRequest);
    assert_eq!(item_on(&rig, &two).state, ItemState::CountingDown, "another pull request has a count of its own");
    // What the person runs themselves is held by no cap and counts against none.
    let mut rig = Rig::with(NONE, &[]);
    rig.planned(&one);
    rig.by_hand(&one, None).unwrap();
    let turn = rig.prepare(item_on(&rig, &one).id, &one);
    assert!(turn.by_hand);
    rig.give(turn.id);
    assert_eq!(rig.read().rounds_given(start(), None, None).unwrap(), 0);
}

#[test]
fn run_now_on_a_capped_round_is_marked_before_it_starts_and_runs_by_hand() {
    // WIN-29, WIN-31, CONS-08, C4, C5, P10
    let (mut rig, two, gate) = capped(ONE_A_DAY);
    let gate = gate.gate.id;
    rig.ask(Request::ApplyPlan { unit: unit(&two), guidance: None }).unwrap();
    let row = rig.gate(gate);
    assert_eq!((row.gate.closed.unwrap().actor, row.consequence.unwrap().0), (Actor::PERSON, Consequence::Due));
    let item = item_on(&rig, &two);
    assert!(item.by_hand && item.state == ItemState::Released);
    assert!(matches!(rig.start_release(item.id, &two), Reply::Release(_)));
    assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Started);
    rig.end_release(item.id, &two);
    let turn = rig.read().open_turn(&unit(&two)).unwrap().unwrap();
    assert_eq!((turn.by_hand, turn.gate), (true, gate));
    assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Ran);
    rig.give(turn.id);
    assert_eq!(rig.read().rounds_given(start(), None, None).unwrap(), 1, "by hand, it counts against no cap");
}

#[test]
fn a_daemon_that_stops_inside_a_capped_rounds_start_never_runs_it_again() {
    // K19, CONS-10, CONS-11, C7, GH-FACT-29
    for again in [false, true] {
        let (mut rig, two, gate) = capped(ONE_A_DAY);
        let gate = gate.gate.id;
        rig.resolve(gate, "run_now", None).unwrap();
        // Before the mark it is simply tried again.
        rig.reopen();
        let item = item_on(&rig, &two);
        assert!(rig.jobs().contains(&Job::Release(item.id)));
        assert!(matches!(rig.start_release(item.id, &two), Reply::Release(_)));
        rig.reopen();
        let row = rig.gate(gate);
        assert_eq!((row.consequence.unwrap().0, item_on(&rig, &two).state), (Consequence::Unknown, ItemState::Handled));
        assert_eq!(rig.count(EventKind::ConsequenceUnknown), 1);
        rig.end_release(item.id, &two);
        rig.tick_after(600);
        rig.reopen();
        rig.sweep(&[&two]);
        assert!(rig.read().open_turn(&unit(&two)).unwrap().is_none(), "not by an outcome that came late, and not by a sweep");
        assert!(rig.open_gates().iter().all(|gate| gate.gate.unit != Some(unit(&two))));
        let unseen = |rig: &Rig| rig.read().consequences_unseen(Consequence::Unknown).unwrap().len();
        assert_eq!(unseen(&rig), 1, "health names it");
        let explain = Input::Request { caller: Caller::Person, request: Request::Explain(unit(&two)) };
        let Reply::Because(because) = rig.take(explain) else { panic!("not explained") };
        assert!(because[0].1.contains("is not known"), "never shown as reviewed: {because:?}");
        assert_eq!(refused(rig.ask(Request::RetryGate(gate))).kind, RefusalKind::Conflict);
        if again {
            rig.by_hand(&two, None).unwrap();
            rig.prepare(item_on(&rig, &two).id, &two);
        } else {
            forbidden(
                rig.hand_in(Input::Request { caller: Caller::Unknown("?".into()), request: Request::SeeConsequence(gate) }),
            );
            assert_eq!(unseen(&rig), 1);
            rig.ask(Request::SeeConsequence(gate)).unwrap();
            assert_eq!(refused(rig.ask(Request::SeeConsequence(gate))).kind, RefusalKind::Conflict);
        }
        assert_eq!(unseen(&rig), 0);
    }
}

#[test]
fn a_capped_round_that_fails_to_start_is_tried_again_by_the_person_alone() {
    // CONS-12, CONS-13, C6, C8, K20
    let (mut rig, two, gate) = capped(ONE_A_DAY);
    let gate = gate.gate.id;
    rig.resolve(gate, "run_now", None).unwrap();
    let item = item_on(&rig, &two).id;
    rig.start_release(item, &two);
    rig.take(Input::Done(Done::Release { item, prepared: Err("no such program".into()) }));
    for _ in 0..2 {
        let row = rig.gate(gate);
        assert_eq!((row.consequence.unwrap().0, row.consequence_note.as_str()), (Consequence::Failed, "no such program"));
        rig.tick_after(600);
        assert!(!rig.jobs().contains(&Job::Release(item)));
        rig.reopen();
    }
    rig.ask(Request::RetryGate(gate)).unwrap();
    rig.prepare(item, &two);
    assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Ran);

    // Or it is taken back, and nothing is left to look after.
    let (mut rig, two, gate) = capped(ONE_A_DAY);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let item = item_on(&rig, &two).id;
    rig.start_release(item, &two);
    rig.take(Input::Done(Done::Release { item, prepared: Err("no such program".into()) }));
    rig.ask(Request::DismissPlan { unit: unit(&two) }).unwrap();
    assert_eq!(item_on(&rig, &two).state, ItemState::Gone);
    assert!(rig.read().consequences_unseen(Consequence::Failed).unwrap().is_empty());
    // What left the plan is not made due again by an answer that comes late: nobody would start it.
    let refusal = refused(rig.ask(Request::RetryGate(gate.gate.id)));
    assert!(refusal.kind == RefusalKind::Conflict && refusal.detail.contains("left the plan"), "{refusal:?}");
    assert_eq!(consequence(&rig, gate.gate.id), Consequence::Failed);
}

#[test]
fn the_next_local_day_takes_a_capped_round_over_in_one_step() {
    // WIN-30, K40, G16, P11, F26
    for config in [ONE_A_DAY, &format!("[time]\nzone = \"America/New_York\"\n{NONE}")] {
        let (mut rig, two, gate) = if config == ONE_A_DAY {
            capped(config)
        } else {
            let (mut rig, two) = (Rig::with(config, &[]), pull(2));
            let gate = rig.planned(&two);
            (rig, two, gate)
        };
        let gate = gate.gate.id;
        // Midnight has gone by in UTC, and not in New York.
        rig.now = "2026-12-01T04:59:00Z".parse().unwrap();
        rig.sweep(&[&two]);
        assert_eq!(rig.open_gate(&two).gate.id, gate);
        rig.now = "2026-12-01T05:01:00Z".parse().unwrap();
        rig.inventory(&[&two], true);
        let closed = rig.gate(gate);
        assert_eq!(
            (closed.gate.status, closed.gate.closed.unwrap().reason.as_str()),
            (GateStatus::Superseded, "another day began")
        );
        // One transaction: whoever looks finds one open gate of the round, never two and never none.
        rig.reopen();
        let next = rig.open_gate(&two);
        let item = item_on(&rig, &two);
        if config == ONE_A_DAY {
            assert_eq!((item.state, next.gate.deadline.is_some()), (ItemState::CountingDown, true), "a new day, a full window");
        } else {
            assert_eq!((item.state, item.cap.unwrap().day.to_string()), (ItemState::Capped, "2026-12-01".to_owned()));
        }
        assert_eq!(refused(rig.resolve(gate, "run_now", None)).kind, RefusalKind::Conflict);
    }
}

#[test]
fn what_waits_is_run_before_what_the_cap_holds_and_guidance_is_kept() {
    // WIN-31, WIN-32, WIN-36
    let (mut rig, two, gate) = capped(ONE_A_DAY);
    let reply = rig.ask(Request::ApplyPlan { unit: unit(&two), guidance: Some("Mind it".into()) }).unwrap();
    assert!(matches!(reply, Reply::Plan { guidance_kept: true, ref gates } if gates.is_empty()), "{reply:?}");
    assert_eq!(rig.open_gate(&two).gate.id, gate.gate.id);
    // With a round that waits for the person beside it, Run now takes that one.
    let own = super::gates::workflow("Mine").replace("mode = \"delay\"\nwindow = \"60s\"", "mode = \"wait\"");
    rig.rules = rules(ONE_A_DAY, &[("workflows/own/workflow.toml", &own)]);
    rig.reopen();
    rig.show(&two);
    let waits = rig.open_gates().into_iter().find(|g| g.gate.unit == Some(unit(&two)) && g.gate.id != gate.gate.id).unwrap();
    let reply = rig.ask(Request::ApplyPlan { unit: unit(&two), guidance: None }).unwrap();
    assert!(matches!(reply, Reply::Plan { ref gates, .. } if *gates == [waits.gate.id]), "{reply:?}");
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open);
    let turn = rig.prepare(rig.item_of(&waits).id, &two);
    assert_eq!(turn.guidance.as_deref(), Some("Mind it"), "the text goes with the next round");
}

#[test]
fn a_capped_round_is_skipped_paused_and_outlived_like_any_other() {
    // WIN-10, WIN-13, GATE-40, WIN-34
    let (mut rig, two, gate) = capped(ONE_A_DAY);
    let run = Request::Resolve { gate: gate.gate.id, intent: "run_now".into(), text: None, draft_text: None };
    forbidden(rig.hand_in(Input::Request { caller: Caller::Unknown("?".into()), request: run }));
    rig.ask(Request::DismissPlan { unit: unit(&two) }).unwrap();
    assert_eq!((rig.gate(gate.gate.id).gate.status, item_on(&rig, &two).state), (GateStatus::Rejected, ItemState::Handled));

    let (mut rig, two, gate) = capped(ONE_A_DAY);
    rig.ask(Request::Hold { unit: Some(unit(&two)), kind: wloop_core::stops::HoldKind::Pause, until: None }).unwrap();
    assert_eq!((rig.gate(gate.gate.id).gate.status, item_on(&rig, &two).state), (GateStatus::Superseded, ItemState::Gone));

    let (mut rig, mut two, gate) = capped(ONE_A_DAY);
    two.summary.state = PullState::Merged;
    rig.show(&two);
    assert_eq!((rig.gate(gate.gate.id).gate.status, item_on(&rig, &two).state), (GateStatus::Superseded, ItemState::Gone));
}

/// A round that the cap held from the beginning, on which the person said Run now.
fn run_by_hand(rig: &mut Rig, detail: &Detail) -> (GateId, ItemId) {
    let gate = rig.planned(detail).gate.id;
    assert_eq!(item_on(rig, detail).state, ItemState::Capped);
    rig.resolve(gate, "run_now", None).unwrap();
    (gate, item_on(rig, detail).id)
}

fn consequence(rig: &Rig, gate: GateId) -> Consequence {
    rig.gate(gate).consequence.unwrap().0
}

/// Its round runs, and nothing of it is left or comes again, not by a start and not by a sweep.
#[track_caller]
fn runs_once(rig: &mut Rig, detail: &Detail, gate: GateId, item: ItemId) {
    let turn = rig.prepare(item, detail);
    assert_eq!((turn.gate, turn.by_hand, consequence(rig, gate)), (gate, true, Consequence::Ran));
    rig.give(turn.id);
    rig.record(&turn, "nothing").unwrap();
    rig.end(turn.id, TurnEnd::Well);
    rig.reopen();
    rig.tick_after(600);
    rig.sweep(&[detail]);
    assert_eq!((rig.turns().len(), rig.count(EventKind::ConsequenceUnknown)), (1, 0));
    assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Release(_))), "{:?}", rig.jobs());
}

#[test]
fn a_capped_round_that_was_blocked_rests_between_its_tries_and_starts_once() {
    // CONS-12, RUN-31, P12, P13, P16
    let mut rig = Rig::untrusted(NONE);
    let detail = pull(1);
    let (gate, item) = run_by_hand(&mut rig, &detail);
    assert!(matches!(rig.start_release(item, &detail), Reply::NotNow));
    assert_eq!(
        (rig.item(item).state, consequence(&rig, gate)),
        (ItemState::Blocked, Consequence::Ran),
        "it has done what it could"
    );
    let trust = rig.open_gate(&detail).gate.id;
    rig.resolve(trust, "trust_run", None).unwrap();
    rig.take(Input::Done(Done::Trusted { gate: trust, written: Ok(()) }));
    // Let through, its workspace cannot be made: it is tried again like any round, a while later each time.
    for _ in 0..3 {
        assert!(rig.jobs().contains(&Job::Release(item)));
        assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
        rig.take(Input::Done(Done::Release { item, prepared: Err("no space left".into()) }));
        let rests = rig.item(item);
        assert_eq!((rests.state, rests.reason.as_str()), (ItemState::Released, "no space left"));
        assert!(rests.try_after > rig.now && !rig.jobs().contains(&Job::Release(item)), "it rests: {:?}", rig.jobs());
        assert_eq!((rig.wake(), consequence(&rig, gate)), (Some(rests.try_after), Consequence::Ran));
        rig.now = rests.try_after;
    }
    assert_eq!(refused(rig.ask(Request::RetryGate(gate))).kind, RefusalKind::Conflict, "nothing of the gate's failed");
    // Neither an end of the daemon nor its sudden death makes it unknown or lost.
    assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
    rig.reopen();
    runs_once(&mut rig, &detail, gate, item);
}

#[test]
fn a_capped_round_that_an_orderly_stop_caught_in_its_start_waits_for_the_next_daemon() {
    // CONS-08, CONS-10, RUN-36
    let mut rig = Rig::with(NONE, &[]);
    let detail = pull(1);
    let (gate, item) = run_by_hand(&mut rig, &detail);
    for _ in 0..2 {
        assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
        assert_eq!(consequence(&rig, gate), Consequence::Started);
        let now = rig.now;
        rig.engine().stopped(now).unwrap();
        rig.reopen();
        assert_eq!((consequence(&rig, gate), rig.item(item).state), (Consequence::Due, ItemState::Released));
        assert!(rig.jobs().contains(&Job::Release(item)));
    }
    runs_once(&mut rig, &detail, gate, item);
}

#[test]
fn a_capped_round_whose_start_was_put_off_is_known_not_to_have_run() {
    // CONS-08, CONS-10, P16, ROUND-06, ROUND-27
    let rooms = ["", "[agents]\nmax_running = 1\n"];
    for (n, more) in rooms.iter().enumerate() {
        let mut rig = Rig::with(&format!("{NONE}{more}"), &[]);
        let (detail, other) = (pull(1), pull(2));
        rig.sweep(&[&detail, &other]);
        let gate = rig.open_gate(&detail).gate.id;
        rig.resolve(gate, "run_now", None).unwrap();
        let item = item_on(&rig, &detail).id;
        assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
        assert_eq!(consequence(&rig, gate), Consequence::Started);
        if n == 0 {
            // The person works where it would.
            let workplace = wloop_core::github::busy::Workplace { typed_at: Some(rig.now), ..Default::default() };
            let prepared = Prepared { folder: "/trees/1".into(), head: head(1), merge_base: head(0xbb), workplace };
            rig.take(Input::Done(Done::Release { item, prepared: Ok(prepared) }));
        } else {
            // Another round took the last place meanwhile.
            rig.by_hand(&other, None).unwrap();
            let turn = rig.prepare(item_on(&rig, &other).id, &other);
            rig.give(turn.id);
            rig.end_release(item, &detail);
        }
        let waits = rig.item(item);
        assert_eq!((waits.state, consequence(&rig, gate)), (ItemState::Released, Consequence::Due), "{more}: {}", waits.reason);
        assert!(waits.try_after > rig.now);
        rig.reopen();
        assert_eq!((consequence(&rig, gate), rig.item(item).state), (Consequence::Due, ItemState::Released), "{more}");
        let before = rig.turns().len();
        rig.pass(3_600);
        let turn = rig.prepare(item, &detail);
        assert_eq!((turn.gate, consequence(&rig, gate), rig.turns().len()), (gate, Consequence::Ran, before + 1), "{more}");
    }
    // The head moved while its workspace was made: it is made again, for the head as it is then.
    let mut rig = Rig::with(NONE, &[]);
    let mut detail = pull(1);
    let (gate, item) = run_by_hand(&mut rig, &detail);
    let old = detail.clone();
    assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
    detail.summary.head = head(2);
    rig.show(&detail);
    rig.end_release(item, &old);
    assert_eq!((consequence(&rig, gate), rig.turns().len()), (Consequence::Due, 0));
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Release(item)));
    runs_once(&mut rig, &detail, gate, item);
    assert_eq!(rig.turns()[0].head, head(2));
}
