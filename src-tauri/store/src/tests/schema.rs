//! The machines of the specification, as the schema itself holds them: also against SQL that no code of ours writes.

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::draft::{Delivery, Proposer};
use wloop_core::event::{EventClass, EventKind};
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::{RemotePost, Shape};
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::fixtures::*;
use crate::rows::{DraftRow, GateRow, ItemRow, PostRow, RevisionRow, ToolCallRow, TurnRow};
use crate::{StoreError, TurnChange};

fn change() -> TurnChange<'static> {
    TurnChange { cause: None, verdict: None, record: None, now: at(20) }
}

#[test]
fn a_closed_gate_never_changes() {
    // GATE-04, GATE-23
    let mut home = Home::with_turns();
    let row = gate_row(50, GateKind::Draft);
    let taken = closed(&row, GateStatus::Approved, Actor::PERSON);
    let late = closed(&row, GateStatus::Rejected, Actor::PERSON);
    home.write(|tx| tx.insert_gate(&row)).unwrap();
    home.write(|tx| tx.close_gate(id(50), &taken)).unwrap();
    conflict(home.write(|tx| tx.close_gate(id(50), &late)));
    conflict(home.write(|tx| tx.set_gate_deadline(id(50), Some(at(60)))));
    for change in ["status = 'rejected'", "status = 'open', closed_at = NULL", "closed_intent = 'no'", "closed_reason = 'x'"] {
        home.refuses_sql("never changes", &format!("UPDATE gate SET {change} WHERE id LIKE '000032%'"));
    }
    home.refuses_sql("keeps its words", "UPDATE gate SET words = 'other'");
    home.refuses_sql("kept for good", "DELETE FROM gate");
    assert_eq!(home.store.read().gate(id(50)).unwrap().unwrap().gate, taken);
}

#[test]
fn neither_a_rule_nor_a_window_decides_what_is_the_persons() {
    // GATE-54, RES-05
    let mut home = Home::with_turns();
    let rule = || Actor::Rule("reviews#2".into());
    for (n, kind) in [(60, GateKind::Trust), (61, GateKind::Post), (62, GateKind::Question)] {
        let row = gate_row(n, kind);
        home.write(|tx| tx.insert_gate(&row)).unwrap();
        for actor in [rule(), Actor::Window] {
            home.refuses("CHECK", |tx| tx.close_gate(id(n), &closed(&row, GateStatus::Approved, actor)));
        }
    }
    let plan = gate_row(63, GateKind::Plan);
    home.write(|tx| tx.insert_gate(&plan)).unwrap();
    home.refuses("CHECK", |tx| tx.close_gate(id(63), &closed(&plan, GateStatus::Rejected, rule())));
    home.write(|tx| tx.close_gate(id(63), &closed(&plan, GateStatus::Approved, rule()))).unwrap();
}

#[test]
fn a_rule_discards_a_draft_and_nothing_else_and_a_window_discards_nothing() {
    // APPR-11, APPR-12, RES-05
    let mut home = Home::with_turns();
    let rule = || Actor::Rule("config.toml workflows.review#2".into());
    for (n, (kind, _)) in GateKind::ALL.into_iter().enumerate() {
        let n = 60 + u32::try_from(n).unwrap();
        let row = gate_row(n, kind);
        home.write(|tx| tx.insert_gate(&row)).unwrap();
        home.refuses("CHECK", |tx| tx.close_gate(id(n), &closed(&row, GateStatus::Rejected, Actor::Window)));
        if kind == GateKind::Draft {
            home.write(|tx| tx.close_gate(id(n), &closed(&row, GateStatus::Rejected, rule()))).unwrap();
        } else {
            home.refuses("CHECK", |tx| tx.close_gate(id(n), &closed(&row, GateStatus::Rejected, rule())));
        }
    }
}

#[test]
fn whoever_is_not_the_person_resolves_nothing_but_may_supersede() {
    // RES-01, RES-11
    let mut home = Home::with_turns();
    let row = gate_row(50, GateKind::Plan);
    home.write(|tx| tx.insert_gate(&row)).unwrap();
    let others = [Actor::Session(id(1)), Actor::Workflow("w".into()), Actor::Daemon, Actor::Provider("github".into())];
    for actor in others {
        home.refuses("CHECK", |tx| tx.close_gate(id(50), &closed(&row, GateStatus::Approved, actor)));
    }
    home.write(|tx| tx.close_gate(id(50), &closed(&row, GateStatus::Superseded, Actor::Daemon))).unwrap();
}

#[test]
fn a_resolution_leaves_its_consequence_due_and_it_runs_once() {
    // CONS-01, CONS-02, CONS-10, CONS-12
    let mut home = Home::with_turns();
    for n in 50..53 {
        home.write(|tx| tx.insert_gate(&gate_row(n, GateKind::Plan))).unwrap();
    }
    let open = gate_row(50, GateKind::Plan);
    home.refuses("CHECK", |tx| {
        tx.insert_gate(&GateRow { consequence: Some((Consequence::Due, at(1))), ..gate_row(59, GateKind::Plan) })
    });
    home.refuses("with nothing that closed it", |tx| tx.close_gate(id(50), &open.gate));
    home.write(|tx| {
        tx.close_gate(id(50), &closed(&gate_row(50, GateKind::Plan), GateStatus::Superseded, Actor::Daemon))?;
        tx.close_gate(id(51), &closed(&gate_row(51, GateKind::Plan), GateStatus::Approved, Actor::PERSON))?;
        tx.close_gate(id(52), &closed(&gate_row(52, GateKind::Plan), GateStatus::Approved, Actor::PERSON))
    })
    .unwrap();
    let state = |home: &Home, n| home.store.read().gate(id(n)).unwrap().unwrap().consequence.map(|(state, _)| state);
    assert_eq!((state(&home, 50), state(&home, 51)), (None, Some(Consequence::Due)));
    use Consequence::{Due, Failed, Ran, Started, Unknown};
    home.write(|tx| tx.set_consequence(id(51), Due, Ran, "turn 1", at(10))).unwrap();
    conflict(home.write(|tx| tx.set_consequence(id(51), Due, Failed, "", at(11))));
    home.refuses("runs once", |tx| tx.set_consequence(id(51), Ran, Due, "", at(11)));
    home.write(|tx| tx.set_consequence(id(52), Due, Started, "", at(10))).unwrap();
    home.write(|tx| tx.set_consequence(id(52), Started, Unknown, "stopped", at(10))).unwrap();
    home.refuses("runs once", |tx| tx.set_consequence(id(52), Unknown, Due, "", at(11)));
    let unknown = home.store.read().gates_with_consequence(Unknown).unwrap();
    assert_eq!((unknown.len(), unknown[0].consequence_note.as_str()), (1, "stopped"));
}

#[test]
fn one_row_that_fails_takes_back_its_own_part_alone() {
    let mut home = Home::with_turns();
    let row = gate_row(50, GateKind::Post);
    home.write(|tx| {
        tx.insert_gate(&row)?;
        let failed: Result<(), StoreError> = tx.sheltered(|| {
            tx.insert_gate(&gate_row(51, GateKind::Post))?;
            tx.insert_gate(&row)
        });
        assert!(matches!(failed, Err(StoreError::Refused { .. })), "{failed:?}");
        Ok(())
    })
    .unwrap();
    let reads = home.store.read();
    assert!(reads.gate(id(50)).unwrap().is_some() && reads.gate(id(51)).unwrap().is_none());
}

#[test]
fn a_clock_set_back_takes_every_future_time_along() {
    // WIN-19
    let mut home = Home::with_turns();
    let mut row = gate_row(50, GateKind::Plan);
    row.gate.deadline = Some(at(5000));
    row.gate.opened_at = at(4500);
    home.write(|tx| tx.insert_gate(&row)).unwrap();
    home.write(|tx| tx.move_times_back(jiff::SignedDuration::from_secs(4000), at(600))).unwrap();
    let moved = home.store.read().gate(id(50)).unwrap().unwrap();
    assert_eq!(moved.gate.deadline, Some(at(1000)));
}

#[test]
fn a_post_is_looked_for_from_when_it_began_at_the_latest_after_a_clock_was_set_back() {
    // WIN-19, GH-PUB-07
    let mut home = Home::with_turns();
    // Begun under a clock that was an hour fast, and a while before it was set right.
    let begun = PostRow { state: PostState::Queued, started_at: Some(at(5000)), ..post_row(80) };
    home.write(|tx| tx.insert_post(&begun)).unwrap();
    home.write(|tx| tx.move_times_back(jiff::SignedDuration::from_secs(3600), at(6000))).unwrap();
    assert_eq!(home.store.read().post(id(80)).unwrap().unwrap().started_at, Some(at(1400)));
}

#[test]
fn a_unit_has_one_open_turn() {
    // ROUND-09
    let mut home = Home::with_turns();
    let second = TurnRow { id: id(70), seq: 2, ..turn_row(1) };
    home.refuses("turn.unit", |tx| tx.insert_turn(&second));
    home.write(|tx| tx.set_turn_state(id(1), TurnState::Started, TurnState::Asked, &change())).unwrap();
    home.refuses("turn.unit", |tx| tx.insert_turn(&second));
    home.write(|tx| tx.set_turn_state(id(1), TurnState::Asked, TurnState::Dismissed, &change())).unwrap();
    home.refuses("turn.unit, turn.seq", |tx| tx.insert_turn(&TurnRow { seq: 1, ..second.clone() }));
    home.write(|tx| tx.insert_turn(&second)).unwrap();
    assert_eq!(home.store.read().open_turn(&unit(1)).unwrap().unwrap().seq, 2);
}

#[test]
fn an_ended_turn_stays_ended_and_a_turn_keeps_its_pins() {
    // ROUND-08
    let mut home = Home::with_turns();
    home.refuses_sql("keeps its pins", "UPDATE turn SET head = 'cccc'");
    home.refuses_sql("CHECK", "UPDATE turn SET pid = 4");
    home.refuses("CHECK", |tx| tx.set_turn_state(id(1), TurnState::Started, TurnState::Recorded, &change()));
    home.write(|tx| tx.set_turn_state(id(1), TurnState::Started, TurnState::Failed, &change())).unwrap();
    conflict(home.write(|tx| tx.set_turn_state(id(1), TurnState::Started, TurnState::Asked, &change())));
    home.refuses("an ended turn never changes", |tx| tx.set_turn_state(id(1), TurnState::Failed, TurnState::Started, &change()));
}

#[test]
fn a_turn_is_taken_once_and_only_by_the_daemon_that_wrote_it() {
    let mut home = Home::with_turns();
    let fail = |tx: &crate::Writes<'_>| tx.set_turn_state(id(1), TurnState::Started, TurnState::Failed, &change());
    home.write(fail).unwrap();
    home.write(|tx| tx.insert_turn(&TurnRow { id: id(70), seq: 2, generation: 4, ..turn_row(1) })).unwrap();
    let mut claim = |n, generation| home.write(|tx| tx.claim_turn(id(n), generation)).unwrap();
    assert!(!claim(70, 5), "of another daemon");
    assert!(claim(70, 4));
    assert!(!claim(70, 4), "taken");
    assert!(!claim(2, 1), "no longer starting");
    assert!(!claim(99, 1), "not there");
}

#[test]
fn every_turn_has_a_gate_before_it() {
    // CONS-01
    let mut home = Home::with_turns();
    home.write(|tx| tx.put_unit(&unit_row(4), at(0))).unwrap();
    let turn = TurnRow { unit: unit(4), gate: id(99), ..turn_row(1) };
    home.refuses("FOREIGN KEY", |tx| tx.insert_turn(&TurnRow { id: id(70), ..turn }));
}

#[test]
fn nothing_goes_out_that_no_gate_let_out() {
    // DRAFT-06
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_gate(&gate_row(50, GateKind::Post))?;
        tx.insert_gate(&gate_row(51, GateKind::Draft))?;
        tx.close_gate(id(51), &closed(&gate_row(51, GateKind::Draft), GateStatus::Rejected, Actor::PERSON))
    })
    .unwrap();
    for gate in [50, 51] {
        let row = |state| PostRow { gate: id(gate), state, started_at: Some(at(3)), ..post_row(80) };
        for state in [PostState::Queued, PostState::Sending, PostState::Sent] {
            home.refuses("needs its release", |tx| tx.insert_post(&row(state)));
        }
        home.write(|tx| tx.insert_post(&row(PostState::Held))).unwrap();
        for state in [PostState::Queued, PostState::Sending, PostState::Sent] {
            home.refuses("needs its release", |tx| tx.update_post(id(80), PostState::Held, &row(state)));
        }
        home.refuses("needs its release", |tx| {
            tx.update_post(id(80), PostState::Held, &PostRow { gate: id(1), ..row(PostState::Queued) })?;
            tx.update_post(id(80), PostState::Queued, &row(PostState::Queued))
        });
        home.store.raw().execute("DELETE FROM post", []).unwrap();
    }
    home.write(|tx| tx.insert_post(&post_row(80))).unwrap();
    let sending = PostRow { state: PostState::Sending, ..post_row(80) };
    home.refuses("CHECK", |tx| tx.update_post(id(80), PostState::Queued, &sending));
}

#[test]
fn a_draft_goes_as_it_was_approved_and_is_edited_under_a_new_gate() {
    // DRAFT-06, DRAFT-08, DRAFT-23, F01, EFF-01
    let mut home = Home::with_turns();
    let held = PostRow { shape: Shape::Comment, turn: None, gate: id(50), state: PostState::Held, ..post_row(80) };
    let draft = DraftRow {
        id: id(80),
        purpose: String::new(),
        delivery: Delivery::Comment,
        broadcast: false,
        task: None,
        proposer: Proposer::Person,
        session: None,
        turn: None,
        key: None,
        reason: String::new(),
        edited_at: None,
    };
    let revision = |n: u32, text: &str| RevisionRow {
        draft: id(80),
        n,
        gate: id(49 + n),
        text: text.into(),
        mentions: vec![],
        at: at(n.into()),
    };
    home.write(|tx| {
        for gate in [50, 51] {
            tx.insert_gate(&gate_row(gate, GateKind::Draft))?;
        }
        tx.insert_post(&held)?;
        tx.insert_draft(&draft)?;
        tx.insert_revision(&revision(1, &held.text))
    })
    .unwrap();
    assert_eq!(home.store.read().draft(id(80)).unwrap(), Some((draft, held.clone())));
    home.refuses("under a new gate", |tx| {
        tx.update_post(id(80), PostState::Held, &PostRow { text: "other".into(), ..held.clone() })
    });
    let edited = PostRow { text: "other".into(), gate: id(51), ..held.clone() };
    home.write(|tx| {
        tx.update_post(id(80), PostState::Held, &edited)?;
        tx.insert_revision(&revision(2, "other"))?;
        tx.close_gate(id(50), &closed(&gate_row(50, GateKind::Draft), GateStatus::Approved, Actor::PERSON))
    })
    .unwrap();
    // The approval of the text before does not let out the text after.
    let queued = PostRow { state: PostState::Queued, ..edited.clone() };
    home.refuses("as it was approved", |tx| tx.update_post(id(80), PostState::Held, &queued));
    let forged = PostRow { gate: id(50), ..queued };
    home.refuses("as it was approved", |tx| tx.update_post(id(80), PostState::Held, &forged));
    home.refuses_sql("is kept", "DELETE FROM draft_revision");
    home.refuses_sql("never changes", "UPDATE draft_revision SET text = 'x'");
    home.write(|tx| tx.declare_draft_effect(id(80), "pr.nudged", at(9))).unwrap();
    home.refuses("needs its post", |tx| tx.settle_draft_effect(id(80), "pr.nudged", "applied", at(9)));
    home.write(|tx| tx.settle_draft_effect(id(80), "pr.nudged", "void", at(9))).unwrap();
    home.refuses_sql("applies once", "UPDATE draft_effect SET state = 'declared'");
}

#[test]
fn a_turn_has_one_review_that_may_stand() {
    let mut home = Home::with_turns();
    home.write(|tx| tx.insert_post(&post_row(80))).unwrap();
    home.refuses("UNIQUE", |tx| tx.insert_post(&post_row(81)));
    home.write(|tx| tx.insert_post(&PostRow { shape: Shape::Comment, ..post_row(82) })).unwrap();
    let doubtful = PostRow { state: PostState::Failed, maybe_posted: true, ..post_row(80) };
    home.write(|tx| tx.update_post(id(80), PostState::Queued, &doubtful)).unwrap();
    home.refuses("UNIQUE", |tx| tx.insert_post(&post_row(81)));
    let absent = PostRow { maybe_posted: false, ..doubtful };
    home.write(|tx| tx.update_post(id(80), PostState::Failed, &absent)).unwrap();
    home.write(|tx| tx.insert_post(&post_row(81))).unwrap();
    home.refuses("UNIQUE", |tx| tx.update_post(id(80), PostState::Failed, &post_row(80)));
}

#[test]
fn a_sent_post_never_changes_and_two_are_never_one_at_the_provider() {
    let mut home = Home::with_turns();
    let remote = Some(RemotePost { node_id: "PRR_1".into(), database_id: 7, url: "u".into() });
    let sent = PostRow { state: PostState::Sent, started_at: Some(at(3)), remote, ..post_row(80) };
    home.refuses("CHECK", |tx| tx.insert_post(&PostRow { state: PostState::Queued, ..sent.clone() }));
    home.write(|tx| tx.insert_post(&post_row(80))).unwrap();
    home.write(|tx| tx.update_post(id(80), PostState::Queued, &sent)).unwrap();
    conflict(home.write(|tx| tx.update_post(id(80), PostState::Queued, &sent)));
    let again = PostRow { state: PostState::Queued, remote: None, ..sent.clone() };
    home.refuses("sent or dropped", |tx| tx.update_post(id(80), PostState::Sent, &again));
    home.refuses("sent or dropped", |tx| tx.update_post(id(80), PostState::Sent, &PostRow { body: "x".into(), ..sent.clone() }));
    home.write(|tx| tx.update_post(id(80), PostState::Sent, &PostRow { cause: "seen".into(), ..sent.clone() })).unwrap();
    let twin = PostRow { id: id(81), unit: unit(2), turn: Some(id(2)), ..sent };
    home.refuses("remote_node_id", |tx| tx.insert_post(&twin));
}

#[test]
fn a_post_has_one_call_in_flight_and_each_ends_once() {
    let mut home = Home::with_turns();
    home.write(|tx| tx.insert_post(&post_row(80))).unwrap();
    assert_eq!(home.write(|tx| tx.insert_attempt(id(80), 1, at(3))).unwrap(), 1);
    home.refuses("UNIQUE", |tx| tx.insert_attempt(id(80), 1, at(4)));
    home.refuses("CHECK", |tx| tx.end_attempt(id(80), 1, "perhaps", "", at(5)));
    home.write(|tx| tx.end_attempt(id(80), 1, "wait", "slow down", at(5))).unwrap();
    conflict(home.write(|tx| tx.end_attempt(id(80), 1, "sent", "", at(6))));
    assert_eq!(home.write(|tx| tx.insert_attempt(id(80), 2, at(7))).unwrap(), 2);
    let read = home.store.read();
    assert_eq!(read.open_attempt(id(80)).unwrap().map(|a| (a.n, a.generation)), Some((2, 2)));
    assert_eq!(read.attempts(id(80)).unwrap()[0].ended, Some((at(5), "wait".to_owned())));
}

#[test]
fn the_record_is_only_added_to() {
    // EVT-01, EVT-02, EVT-11
    let mut home = Home::new();
    home.write(|tx| {
        tx.insert_event(&event(EventKind::PostSent), at(1))?;
        tx.insert_event(&event(EventKind::GateDecided), at(1))?;
        tx.insert_event(&event(EventKind::TaskEnded), at(1))?;
        tx.insert_event(&event(EventKind::HealthChanged), at(1))
    })
    .unwrap();
    home.refuses_sql("only added to", "UPDATE event SET data = '1'");
    home.refuses_sql("only added to", "DELETE FROM event WHERE kind = 'post_sent'");
    for class in [EventClass::Posted, EventClass::Decided] {
        home.refuses("only added to", |tx| tx.remove_events(class, at(9), 100));
    }
    assert_eq!(home.write(|tx| tx.remove_events(EventClass::Inner, at(1), 100)).unwrap(), 0, "not old enough");
    assert_eq!(home.write(|tx| tx.remove_events(EventClass::Inner, at(2), 100)).unwrap(), 1);
    assert_eq!(home.write(|tx| tx.remove_events(EventClass::Done, at(2), 100)).unwrap(), 1);
    assert_eq!(home.store.read().last_event_id().unwrap(), 4);
    assert_eq!(home.write(|tx| tx.insert_event(&event(EventKind::PrGone), at(3))).unwrap(), 5, "no id is used twice");
}

#[test]
fn an_event_that_an_open_gate_needs_stays() {
    // EVT-11
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_gate(&gate_row(50, GateKind::Plan))?;
        tx.insert_event(&crate::rows::NewEvent { gate: Some(id(50)), ..event(EventKind::GateOpened) }, at(1))
    })
    .unwrap();
    assert_eq!(home.write(|tx| tx.remove_events(EventClass::Moved, at(9), 100)).unwrap(), 0);
    let gone = closed(&gate_row(50, GateKind::Plan), GateStatus::Superseded, Actor::Daemon);
    home.write(|tx| tx.close_gate(id(50), &gone)).unwrap();
    assert_eq!(home.write(|tx| tx.remove_events(EventClass::Moved, at(9), 100)).unwrap(), 1);
}

#[test]
fn a_unit_has_one_pending_round_of_a_workflow() {
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_gate(&gate_row(50, GateKind::Plan))?;
        tx.insert_gate(&gate_row(51, GateKind::Plan))?;
        tx.insert_item(&ItemRow { id: id(50), gate: id(50), ..item_row(1) })
    })
    .unwrap();
    let second = ItemRow { id: id(51), gate: id(51), ..item_row(1) };
    home.refuses("UNIQUE", |tx| tx.insert_item(&second));
    home.refuses("plan_item.gate", |tx| tx.insert_item(&ItemRow { gate: id(50), workflow: "nudge".into(), ..second.clone() }));
    let set = |from, to| move |tx: &crate::Writes<'_>| tx.set_item(id(50), from, to, Some("skipped"), None, at(8));
    home.write(set(ItemState::Waiting, ItemState::Handled)).unwrap();
    conflict(home.write(set(ItemState::Waiting, ItemState::Gone)));
    home.write(|tx| tx.insert_item(&second)).unwrap();
}

#[test]
fn an_effect_is_applied_once() {
    let mut home = Home::with_turns();
    home.write(|tx| tx.declare_effect(id(1), "plan.cleared", at(1))).unwrap();
    home.write(|tx| tx.apply_effect(id(1), "plan.cleared", at(2))).unwrap();
    conflict(home.write(|tx| tx.apply_effect(id(1), "plan.cleared", at(3))));
    conflict(home.write(|tx| tx.void_effect(id(1), "plan.cleared", at(3))));
    home.write(|tx| tx.declare_effect(id(1), "plan.cleared", at(4))).unwrap();
    assert_eq!(home.store.read().effects(id(1)).unwrap(), [("plan.cleared".to_owned(), "applied".to_owned())]);
    home.refuses_sql("applies once", "UPDATE effect SET state = 'due'");
}

#[test]
fn the_first_six_digits_tell_tasks_apart() {
    // TASK-01, TASK-03
    let mut home = Home::with_turns();
    home.write(|tx| tx.insert_task(&task_row(9), &[(unit(1), "captured")])).unwrap();
    let twin = crate::rows::TaskRow { id: "00000900000000000000000000000001".parse().unwrap(), ..task_row(9) };
    let refusal = home.write(|tx| tx.insert_task(&twin, &[])).unwrap_err();
    assert!(refusal.is_short_taken(), "{refusal}");
    assert!(home.write(|tx| tx.end_task(id(9), "done", at(5))).unwrap());
    assert!(!home.write(|tx| tx.end_task(id(9), "dropped", at(6))).unwrap(), "it has ended");
    home.refuses("CHECK", |tx| tx.insert_task(&crate::rows::TaskRow { title: String::new(), ..task_row(10) }, &[]));
}

#[test]
fn a_call_of_a_tool_is_recorded_once() {
    let mut home = Home::with_turns();
    let call = ToolCallRow {
        turn: id(1),
        tool: "github_post".into(),
        key: "k".into(),
        arguments: "hash".into(),
        post: None,
        answer: None,
    };
    home.write(|tx| tx.put_tool_call(&call, at(1))).unwrap();
    conflict(home.write(|tx| tx.put_tool_call(&ToolCallRow { arguments: "other".into(), ..call.clone() }, at(2))));
    home.write(|tx| tx.set_tool_answer(id(1), "github_post", "k", &json!({ "state": "sent" }))).unwrap();
    let kept = home.store.read().tool_call(id(1), "github_post", "k").unwrap().unwrap();
    assert_eq!(kept, ToolCallRow { answer: Some(json!({ "state": "sent" })), ..call });
}

#[test]
fn a_refused_write_keeps_nothing_of_its_transaction() {
    // CONS-01
    let mut home = Home::new();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ids = told.clone();
    home.store.on_events(Box::new(move |id| ids.lock().unwrap().push(id)));
    let failed: Result<(), StoreError> = home.write(|tx| {
        tx.put_unit(&unit_row(1), at(0))?;
        tx.insert_event(&event(EventKind::PrGone), at(0))?;
        Err(StoreError::Conflict { table: "unit", id: "1".into() })
    });
    conflict(failed);
    assert_eq!(home.store.read().unit(&unit(1)).unwrap(), None);
    assert!(told.lock().unwrap().is_empty(), "no event that was not committed is told of");
    home.write(|tx| tx.insert_event(&event(EventKind::PrGone), at(0))).unwrap();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    home.write(|tx| {
        tx.insert_event(&event(EventKind::PrGone), at(0))?;
        tx.insert_event(&event(EventKind::PrGone), at(0))
    })
    .unwrap();
    let read = home.store.read().events_after(0, 10, None).unwrap();
    assert_eq!(*told.lock().unwrap(), [read[0].id, read[2].id], "the last of each committed write");
}
