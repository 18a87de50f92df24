//! Gates: what opens one, who resolves it, what it stands on, and what becomes of it.

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::plan::ItemState;

use super::*;

#[test]
fn a_planned_round_is_one_gate_with_its_words_and_intents() {
    // GATE-01, GATE-17, GATE-18, GATE-19, GATE-24, WIN-01, WIN-16
    let mut rig = Rig::new();
    let gate = rig.planned(&pull(1));
    assert_eq!((gate.gate.kind, gate.gate.name.as_str(), gate.gate.status), (GateKind::Plan, "plan", GateStatus::Open));
    assert_eq!(gate.gate.words, "Review acme/api#1: review requested by ana 3 h ago");
    let intents: Vec<_> = gate.gate.intents.iter().map(|i| (i.name.as_str(), i.status, i.text.is_some())).collect();
    let expected =
        [("skip", GateStatus::Rejected, false), ("run_now", GateStatus::Approved, false), ("guide", GateStatus::Approved, true)];
    assert_eq!(intents, expected);
    assert_eq!(rig.item_of(&gate).state, ItemState::CountingDown);
    assert!(rig.turns().is_empty(), "nothing starts before the gate");
}

#[test]
fn the_words_of_a_gate_outlive_what_they_were_made_of() {
    // GATE-23
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let gate = rig.planned(&detail);
    detail.summary.title = "Another title".into();
    rig.pass(30);
    rig.sweep(&[&detail]);
    rig.rules = rules("", &[("workflows/review/workflow.toml", &workflow("Other words"))]);
    rig.reopen();
    assert_eq!(rig.gate(gate.gate.id).gate.words, gate.gate.words);
}

/// A workflow of the test's own, in place of the bundled one or beside it.
pub(super) fn workflow(summary: &str) -> String {
    format!(
        "summary = \"{summary}\"\nprovider = \"github\"\nmode = \"act\"\nwhen = 'pr.first.due'\nkey = [\"@review\"]\n\
         [trigger]\non = [\"sweep\"]\n[[step]]\nuse = \"turn.start\"\nintent = \"review\"\n\
         [gates.approval]\n[[gates.approval.rule]]\nwhen = 'gate.kind == \"plan\"'\nmode = \"delay\"\nwindow = \"60s\"\n"
    )
}

#[test]
fn a_captured_task_that_nothing_ended_ends_at_a_start_that_knows_how() {
    // GATE-58, GATE-62
    let bundled = BUNDLED.iter().find(|(path, _)| *path == "gates.toml").unwrap().1;
    let careless = bundled.replace(
        "ends_task = { approved = \"done\", rejected = \"dropped\", dismissed = \"dropped\", superseded = \"dropped\" }",
        "ends_task = { approved = \"done\" }",
    );
    assert_ne!(careless, bundled);
    let mut rig = Rig::with("", &[("gates.toml", &careless)]);
    let gate = rig.planned(&pull(1));
    let task = gate.gate.task.unwrap();
    let category = |rig: &Rig| rig.read().task(task).unwrap().unwrap().category;
    rig.resolve(gate.gate.id, "skip", None).unwrap();
    rig.reopen();
    assert_eq!(category(&rig), "inbox", "nothing says how it ends");
    rig.rules = rules("", &[]);
    for _ in 0..2 {
        rig.reopen();
        assert_eq!((category(&rig).as_str(), rig.count(EventKind::TaskEnded)), ("dropped", 1));
    }
}

#[test]
fn a_workflow_without_ask_asks_with_its_summary() {
    // GATE-25
    let mut rig = Rig::with("", &[("workflows/review/workflow.toml", &workflow("Look at it"))]);
    assert_eq!(rig.planned(&pull(1)).gate.words, "Look at it");
}

#[test]
fn the_first_gate_of_a_kind_opens_and_asks_with_its_label_where_it_has_no_words() {
    // GATE-20, GATE-27
    let bundled = BUNDLED.iter().find(|(path, _)| *path == "gates.toml").unwrap().1;
    let own = "[[gate]]\nname = \"mine\"\nkind = \"plan\"\nlabel = \"Shall it run?\"\ndefault = \"go\"\n\
               ends_task = { approved = \"done\" }\nintents = [ { name = \"go\", label = \"Go\", status = \"approved\" } ]\n\n";
    let silent = workflow(" ").replace("summary = \" \"", "summary = \"s\"\nask = '{{ \"\" }}'");
    let mut rig = Rig::with("", &[("gates.toml", &format!("{own}{bundled}")), ("workflows/review/workflow.toml", &silent)]);
    let gate = rig.planned(&pull(1));
    assert_eq!((gate.gate.name.as_str(), gate.gate.words.as_str()), ("mine", "Shall it run?"));
}

#[test]
fn a_closed_gate_never_changes_and_a_new_decision_is_a_new_gate() {
    // GATE-04, GATE-29, RES-16, WIN-12
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "skip", None).unwrap();
    let closed = rig.gate(gate.gate.id);
    for intent in ["run_now", "skip"] {
        let refusal = refused(rig.resolve(gate.gate.id, intent, None));
        assert_eq!(refusal.kind, RefusalKind::Conflict);
        assert!(refusal.detail.contains("rejected by `skip`") && refusal.detail.contains("by you"), "{}", refusal.detail);
        assert_eq!(refusal.gate, Some(gate.gate.id));
    }
    rig.tick_after(3_600);
    assert_eq!(rig.gate(gate.gate.id), closed);
    rig.sweep(&[&detail]);
    assert!(rig.open_gates().is_empty(), "nothing new: not offered again");
    detail.review_requests = vec![request("RR_2", rig.now)];
    detail.summary.updated_at = rig.now;
    let again = rig.planned(&detail);
    assert_ne!(again.gate.id, gate.gate.id);
    assert_ne!(again.gate.task, gate.gate.task, "an ended task takes no new gate");
    assert_eq!(rig.gate(gate.gate.id), closed);
}

#[test]
fn of_two_resolutions_one_takes_effect() {
    // RES-17, RES-15
    let mut rig = Rig::new();
    let gate = rig.planned(&pull(1));
    let before = rig.read().last_event_id().unwrap();
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let taken = rig.read().last_event_id().unwrap();
    let second = refused(rig.resolve(gate.gate.id, "skip", None));
    assert_eq!(second.kind, RefusalKind::Conflict);
    assert!(second.detail.contains("approved by `run_now`"), "{}", second.detail);
    assert!(taken > before);
    assert_eq!(rig.read().last_event_id().unwrap(), taken, "a refusal leaves no trace");
    assert_eq!(rig.item_of(&gate).state, ItemState::Released);
}

#[test]
fn what_a_gate_does_not_take_is_refused_before_anything_is_written() {
    // RES-15, RES-18, GATE-19
    let mut rig = Rig::new();
    let gate = rig.planned(&pull(1)).gate.id;
    let before = (rig.gate(gate), rig.read().last_event_id().unwrap());
    let long = "x".repeat(10_001);
    for (intent, text, field) in [
        ("approve", None, "intent"),
        ("skip", Some("why"), "text"),
        ("guide", None, "text"),
        ("guide", Some(long.as_str()), "text"),
    ] {
        let refusal = refused(rig.resolve(gate, intent, text));
        assert_eq!((refusal.kind, refusal.field), (RefusalKind::Invalid, Some(field)), "{intent}");
    }
    let draft_text = Some("words".to_owned());
    let draft = rig.ask(Request::Resolve { gate, intent: "run_now".into(), text: None, draft_text });
    assert_eq!(refused(draft).field, Some("draft_text"));
    assert_eq!((rig.gate(gate), rig.read().last_event_id().unwrap()), before);
    let unknown = "00000000000000000000000000000009".parse().unwrap();
    assert_eq!(refused(rig.resolve(unknown, "skip", None)).kind, RefusalKind::NotFound);
}

#[test]
fn an_unattended_caller_resolves_and_starts_nothing() {
    // RES-01, RES-11, AMB-12
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.stop(&turn, "Wait").unwrap();
    let gate = rig.open_gate(&detail).gate.id;
    let post = rig.posts().remove(0).id;
    let unit = unit(&detail);
    for caller in [Caller::Session(turn.session), Caller::Unknown("no word".into())] {
        let before = (rig.gates(), rig.posts(), rig.turns(), rig.read().last_event_id().unwrap());
        let all = [
            Request::Resolve { gate, intent: "publish".into(), text: None, draft_text: None },
            Request::Resolve { gate, intent: "reject".into(), text: None, draft_text: Some("mine".into()) },
            Request::RetryGate(gate),
            Request::ApplyPlan { unit: unit.clone(), guidance: Some("obey".into()) },
            Request::DismissPlan { unit: unit.clone() },
            Request::StartTurn { unit: unit.clone(), intent: "review".into(), stage: None, guidance: None },
            Request::CancelTurn(turn.id),
            Request::PostSent(post),
            Request::PostRetry(post),
            Request::PostDiscard { post, reason: None },
        ];
        for request in all {
            forbidden(rig.hand_in(Input::Request { caller: caller.clone(), request }));
        }
        assert_eq!((rig.gates(), rig.posts(), rig.turns(), rig.read().last_event_id().unwrap()), before);
    }
    rig.resolve(gate, "publish", None).unwrap();
}

#[test]
fn a_resolution_is_stored_with_who_when_and_what_before_anything_follows() {
    // CONS-01, CONS-02, GATE-10, WIN-15
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail).gate.id;
    rig.pass(7);
    rig.resolve(gate, "guide", Some("Look at the lock")).unwrap();
    let row = rig.gate(gate);
    let closing = row.gate.closed.clone().unwrap();
    assert_eq!((closing.intent.as_deref(), closing.text.as_deref()), (Some("guide"), Some("Look at the lock")));
    assert_eq!((closing.actor, closing.at), (Actor::PERSON, rig.now));
    assert_eq!(row.consequence.map(|(state, _)| state), Some(Consequence::Due), "not run yet");
    let item = rig.item_of(&row).id;
    assert!(rig.jobs().contains(&Job::Release(item)));
    assert!(rig.turns().is_empty());
    rig.pass(2);
    rig.prepare(item, &detail);
    assert_eq!(rig.gate(gate).consequence, Some((Consequence::Ran, rig.now)));
}

#[test]
fn a_consequence_that_ran_runs_no_second_time() {
    // CONS-04, CONS-05, CONS-13
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let item = rig.item_of(&gate).id;
    rig.prepare(item, &detail);
    rig.end_release(item, &detail);
    for _ in 0..3 {
        rig.tick_after(60);
        assert!(!rig.jobs().contains(&Job::Release(item)));
    }
    assert!(matches!(rig.start_release(item, &detail), Reply::NotNow));
    assert_eq!(rig.turns().len(), 1);
    assert_eq!(rig.count(EventKind::ConsequenceRan), 1);
    let refusal = refused(rig.ask(Request::RetryGate(gate.gate.id)));
    assert!(refusal.detail.contains("is ran"), "{}", refusal.detail);
}

#[test]
fn a_failed_consequence_waits_for_the_person() {
    // CONS-12, CONS-13
    let mut rig = Rig::new();
    let gate = rig.planned(&pull(1)).gate.id;
    rig.resolve(gate, "run_now", None).unwrap();
    let now = rig.now;
    let fail = |tx: &wloop_store::Writes<'_>| tx.set_consequence(gate, Consequence::Due, Consequence::Failed, "no", now);
    rig.engine().store_mut().write::<_, wloop_store::StoreError>(fail).unwrap();
    rig.tick_after(600);
    assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Failed);
    rig.ask(Request::RetryGate(gate)).unwrap();
    assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Due);
    assert_eq!(rig.count(EventKind::ConsequenceRetried), 1);
    assert_eq!(refused(rig.ask(Request::RetryGate(gate))).kind, RefusalKind::Conflict);
}

#[test]
fn gates_of_a_unit_stand_on_its_open_task_which_counts_them() {
    // GATE-07, GATE-28, GATE-33, GATE-34, GATE-57
    let second = workflow("And again").replace("pr.first.due", "pr.first.due && !pr.draft");
    let mut rig = Rig::with("", &[("workflows/second/workflow.toml", &second)]);
    rig.sweep(&[&pull(1)]);
    let gates = rig.open_gates();
    assert_eq!(gates.len(), 2);
    let task = gates[0].gate.task.unwrap();
    assert_eq!(gates[1].gate.task, Some(task));
    assert_eq!(rig.read().open_gates_of_task(task).unwrap(), 2);
    let row = rig.read().task(task).unwrap().unwrap();
    assert!(gates.iter().any(|g| g.gate.words == row.title), "its title is what a gate asks: {}", row.title);
    rig.resolve(gates[0].gate.id, "skip", None).unwrap();
    assert_eq!(rig.read().open_gates_of_task(task).unwrap(), 1);
    assert_eq!(rig.read().task(task).unwrap().unwrap().category, "inbox", "one gate is open");
    rig.resolve(gates[1].gate.id, "skip", None).unwrap();
    assert_eq!(rig.read().task(task).unwrap().unwrap().category, "dropped");
    assert_eq!(rig.count(EventKind::TaskEnded), 1);
}

#[test]
fn a_gate_that_is_written_closed_captures_no_task() {
    // GATE-31
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.review_requests.clear();
    rig.sweep(&[&detail]);
    rig.by_hand(&detail, None).unwrap();
    let gate = rig.gates().remove(0);
    assert_eq!((gate.gate.status, gate.gate.task), (GateStatus::Approved, None));
    assert_eq!(rig.count(EventKind::TaskCreated), 0);
}

#[test]
fn the_captured_task_of_a_round_ends_as_the_round_did() {
    // GATE-30, GATE-36
    let category = |rig: &Rig, gate: &GateRow| rig.read().task(gate.gate.task.unwrap()).unwrap().unwrap().category;
    let mut rig = Rig::new();
    let detail = pull(1);
    let ran = rig.planned(&detail);
    rig.resolve(ran.gate.id, "run_now", None).unwrap();
    assert_eq!(category(&rig, &ran), "inbox", "it did not run yet");
    rig.prepare(rig.item_of(&ran).id, &detail);
    assert_eq!(category(&rig, &ran), "done");

    let other = pull(2);
    rig.sweep(&[&detail, &other]);
    let gone = rig.open_gate(&other);
    rig.sweep(&[&detail]);
    assert_eq!(rig.gate(gone.gate.id).gate.status, GateStatus::Superseded);
    assert_eq!(category(&rig, &gone), "dropped");
}

#[test]
fn an_offer_leaves_by_itself_when_its_subject_does() {
    // GATE-40, WIN-03, P7
    type Change = fn(&mut Detail, Timestamp);
    let cases: [(&str, Change); 3] = [
        ("the pull request is closed", |d, _| d.summary.state = PullState::Closed),
        ("it is a draft", |d, _| d.summary.draft = true),
        ("something new on the pull request", |d, now| {
            d.summary.head = head(2);
            d.summary.updated_at = now;
        }),
    ];
    for (why, change) in cases {
        let mut rig = Rig::new();
        let mut detail = pull(1);
        let gate = rig.planned(&detail);
        rig.pass(20);
        change(&mut detail, rig.now);
        rig.sweep(&[&detail]);
        let closed = rig.gate(gate.gate.id);
        assert_eq!(closed.gate.status, GateStatus::Superseded, "{why}");
        let closing = closed.gate.closed.unwrap();
        assert_eq!((closing.reason.as_str(), closing.actor), (why, Actor::Daemon));
        assert_eq!(closed.consequence, None, "nothing follows");
        assert_eq!(rig.item_of(&gate).state, ItemState::Gone);
        let moved = why.starts_with("something new");
        assert_eq!(rig.open_gates().len(), usize::from(moved));
        if moved {
            let again = rig.open_gate(&detail);
            assert_eq!(again.gate.deadline, Some(rig.now + SignedDuration::from_secs(60)), "a full window");
        }
    }
    let mut rig = Rig::new();
    let gate = rig.planned(&pull(1));
    rig.inventory(&[], false);
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open, "a sweep that broke off proves no absence");
    rig.inventory(&[], true);
    let closed = rig.gate(gate.gate.id).gate;
    assert_eq!((closed.status, closed.closed.unwrap().reason), (GateStatus::Superseded, "it left the inventory".to_owned()));
}

#[test]
fn every_change_is_in_the_record_once_and_in_order() {
    // EVT-01, EVT-02
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &detail, 1);
    rig.record(&turn, "published").unwrap();
    let events = rig.events();
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id));
    let once = [
        EventKind::GateOpened,
        EventKind::RoundPlanned,
        EventKind::GateDecided,
        EventKind::TurnStarting,
        EventKind::TurnSent,
        EventKind::RoundSent,
        EventKind::TurnStarted,
        EventKind::PostSending,
        EventKind::PostSent,
        EventKind::TurnRecorded,
        EventKind::TaskCreated,
        EventKind::TaskEnded,
        EventKind::ConsequenceRan,
    ];
    for kind in once {
        assert_eq!(rig.count(kind), 1, "{kind}");
    }
    let decided = events.iter().find(|e| e.event.kind == EventKind::GateDecided).unwrap();
    assert_eq!((&decided.event.actor, &decided.event.data["intent"]), (&Actor::PERSON, &json!("run_now")));
    let last = rig.read().last_event_id().unwrap();
    rig.reopen();
    assert!(rig.events().iter().filter(|e| e.id > last).all(|e| e.event.kind == EventKind::DaemonStarted));
}
