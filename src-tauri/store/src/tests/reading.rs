//! What is asked is what is answered, in order, without walking over what is done with.

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::{RepoName, Shape, Summary};
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::fixtures::*;
use crate::reads::scanned;
use crate::rows::{GateRow, ItemRow, NewEvent, PostRow, ProcessRow, PullRow, TaskRow, TurnRow, UnitRow};
use crate::{GateFilter, IdTable, PostFilter, Reader, Reads, Store, StoreError, TurnFilter};

#[test]
fn the_pull_requests_to_read_come_oldest_first() {
    let mut home = Home::new();
    let rows = [
        PullRow { detail: None, read_after: at(50), ..pull_row(1) },
        PullRow { detail: None, ..pull_row(2) },
        PullRow { wants_detail: false, ..pull_row(3) },
    ];
    home.write(|tx| {
        for (n, row) in (1..).zip(&rows) {
            tx.put_unit(&unit_row(n), at(0))?;
            tx.put_pull(row)?;
        }
        Ok(())
    })
    .unwrap();
    let read = home.store.read();
    assert_eq!(read.pulls_to_read(at(10), 9).unwrap(), [unit(2)]);
    assert_eq!(read.pulls_to_read(at(50), 9).unwrap(), [unit(1), unit(2)]);
    assert_eq!(read.pulls_to_read(at(50), 1).unwrap(), [unit(1)]);
    assert_eq!(read.next_read_after().unwrap(), Some(at(0)));
    assert_eq!(read.watched_count().unwrap(), 3);
    let watched: Vec<_> = read.watched_pulls().unwrap().into_iter().map(|(unit, summary)| (unit, summary.number)).collect();
    assert_eq!(watched, [(unit(1), 1), (unit(2), 2), (unit(3), 3)]);
}

#[test]
fn a_pull_request_is_found_by_its_name_in_any_letter_case() {
    let mut home = Home::new();
    home.write(|tx| {
        tx.put_unit(&unit_row(1), at(0))?;
        tx.put_pull(&PullRow { watched: false, ..pull_row(1) })?;
        tx.put_unit(&UnitRow { watched: true, ..unit_row(2) }, at(0))?;
        tx.put_pull(&PullRow { summary: Summary { number: 1, ..summary(2) }, ..pull_row(2) })
    })
    .unwrap();
    let repo = RepoName { owner: "ACME".into(), name: "Api".into() };
    let found = home.store.read().pull_by_name(&repo, 1).unwrap().unwrap();
    assert_eq!(found.unit, unit(2), "the watched one of two");
    assert_eq!(home.store.read().pull_by_name(&repo, 2).unwrap(), None);
}

#[test]
fn gates_are_listed_counted_and_due() {
    let mut home = Home::with_turns();
    let with = |n, kind, deadline: Option<i64>| {
        let mut row = gate_row(n, kind);
        row.gate.deadline = deadline.map(at);
        row
    };
    home.write(|tx| {
        tx.insert_task(&task_row(9), &[(unit(1), "captured")])?;
        tx.insert_gate(&with(52, GateKind::Plan, Some(200)))?;
        tx.insert_gate(&with(51, GateKind::Plan, Some(100)))?;
        tx.insert_gate(&with(50, GateKind::Trust, None))?;
        tx.set_gate_task(id(50), id(9))
    })
    .unwrap();
    let ids = |filter: GateFilter| -> Vec<String> {
        let gates = home.store.read().gates(&filter).unwrap();
        gates.iter().map(|row| row.gate.id.to_string()[4..6].to_owned()).collect()
    };
    assert_eq!(ids(GateFilter::open()), ["32", "33", "34"]);
    assert_eq!(ids(GateFilter { limit: Some(1), ..GateFilter::open() }), ["32"]);
    assert_eq!(ids(GateFilter { kind: Some(GateKind::Plan), ..GateFilter::open() }), ["33", "34"]);
    assert_eq!(ids(GateFilter { task: Some(id(9)), ..GateFilter::default() }), ["32"]);
    assert_eq!(ids(GateFilter { status: Some(GateStatus::Approved), ..GateFilter::default() }), ["01", "02", "03"]);
    assert_eq!(ids(GateFilter { unit: Some(unit(2)), ..GateFilter::default() }), [""; 0]);
    let read = home.store.read();
    assert_eq!(read.gates_due(at(99)).unwrap(), []);
    assert_eq!(read.gates_due(at(100)).unwrap(), [id(51)]);
    assert_eq!(read.gates_due(at(900)).unwrap(), [id(51), id(52)]);
    assert_eq!(read.next_deadline().unwrap(), Some((at(100), id(51))));
    assert_eq!(read.open_gates_by_kind().unwrap().into_iter().collect::<Vec<_>>(), [(GateKind::Plan, 2), (GateKind::Trust, 1)]);
    assert_eq!(read.gates_with_consequence(Consequence::Ran).unwrap().len(), 3);
    assert_eq!(read.open_gates_of_task(id(9)).unwrap(), 1);
    home.write(|tx| tx.set_gate_deadline(id(52), Some(at(50)))).unwrap();
    assert_eq!(home.store.read().next_deadline().unwrap(), Some((at(50), id(52))));
}

#[test]
fn the_oldest_open_task_holds_the_unit() {
    // GATE-28
    let mut home = Home::with_turns();
    home.write(|tx| {
        for n in [12, 11, 10] {
            tx.insert_task(&TaskRow { ..task_row(n) }, &[(unit(1), "captured")])?;
        }
        tx.end_task(id(10), "dropped", at(50))
    })
    .unwrap();
    assert_eq!(home.store.read().open_task_of(&unit(1)).unwrap().unwrap().id, id(11));
    assert_eq!(home.store.read().open_task_of(&unit(2)).unwrap(), None);
}

#[test]
fn an_id_is_named_by_its_beginning() {
    // TASK-03
    let mut home = Home::with_turns();
    home.write(|tx| {
        for n in 0..8 {
            let gate = gate_row(50, GateKind::Plan).gate;
            let id = format!("abcdef{n}0{:024x}", 0).parse().unwrap();
            tx.insert_gate(&GateRow { gate: wloop_core::gate::Gate { id, ..gate }, ..gate_row(50, GateKind::Plan) })?;
        }
        Ok(())
    })
    .unwrap();
    let read = home.store.read();
    assert_eq!(read.ids_with_prefix(IdTable::Gate, "abcd").unwrap().len(), 6);
    assert_eq!(read.ids_with_prefix(IdTable::Gate, "ABCDEF3").unwrap(), [format!("abcdef30{:024x}", 0)]);
    assert_eq!(read.ids_with_prefix(IdTable::Gate, "%").unwrap(), [""; 0]);
    assert_eq!(read.ids_with_prefix(IdTable::Task, "abcd").unwrap(), [""; 0]);
    assert_eq!(read.short(IdTable::Gate, &format!("abcdef30{:024x}", 0)).unwrap(), "abcdef3");
    assert_eq!(read.short(IdTable::Turn, &format!("000001{:026x}", 0)).unwrap(), "000001");
}

#[test]
fn the_plan_is_in_the_order_of_planning() {
    let mut home = Home::with_turns();
    home.write(|tx| {
        for (n, unit_of, state) in [(52, 1, ItemState::Released), (51, 2, ItemState::CountingDown), (50, 3, ItemState::Gone)] {
            tx.insert_gate(&gate_row(n, GateKind::Plan))?;
            let planned_at = at(i64::from(n));
            tx.insert_item(&ItemRow { id: id(n), gate: id(n), unit: unit(unit_of), state, planned_at, ..item_row(1) })?;
        }
        Ok(())
    })
    .unwrap();
    let read = home.store.read();
    let ids = |items: Vec<ItemRow>| items.into_iter().map(|item| item.id).collect::<Vec<_>>();
    assert_eq!(ids(read.pending_items().unwrap()), [id(51), id(52)]);
    assert_eq!(ids(read.pending_items_of(&unit(1)).unwrap()), [id(52)]);
    assert_eq!(ids(read.items_in(ItemState::Released).unwrap()), [id(52)]);
    assert_eq!(ids(read.items_in(ItemState::Gone).unwrap()), [id(50)]);
    assert_eq!(read.pending_item(&unit(2), "review").unwrap().unwrap().id, id(51));
    assert_eq!(read.pending_item(&unit(3), "review").unwrap(), None);
}

#[test]
fn turns_are_found_and_counted() {
    let mut home = Home::with_turns();
    let ended = TurnRow { state: TurnState::Failed, ended_at: Some(at(9)), head: "cccc".into(), ..turn_row(1) };
    home.write(|tx| {
        // Given by the loop on `cccc`: 11 and 13; 12 failed before its prompt, 14 is the person's own.
        tx.insert_turn(&TurnRow { id: id(11), seq: 2, sent_at: Some(at(100)), ..ended.clone() })?;
        tx.insert_turn(&TurnRow { id: id(12), seq: 3, ..ended.clone() })?;
        tx.insert_turn(&TurnRow { id: id(13), seq: 4, state: TurnState::Dismissed, sent_at: Some(at(200)), ..ended.clone() })?;
        tx.insert_turn(&TurnRow { id: id(14), seq: 5, by_hand: true, sent_at: Some(at(300)), ..ended.clone() })?;
        tx.set_turn_process(id(2), ProcessRow { pid: 5, start: "1".into(), pgid: 5 })?;
        tx.set_turn_process(id(3), ProcessRow { pid: 6, start: "1".into(), pgid: 6 })?;
        tx.set_group_ended(id(3))?;
        let asked = crate::TurnChange { cause: None, verdict: None, record: None, now: at(9) };
        tx.set_turn_state(id(2), TurnState::Started, TurnState::Asked, &asked)
    })
    .unwrap();
    let read = home.store.read();
    assert_eq!(read.rounds_on(&unit(1), "cccc").unwrap(), 2);
    assert_eq!(read.rounds_on(&unit(1), "aaaa").unwrap(), 1);
    assert_eq!(read.rounds_given(at(100), None, None).unwrap(), 2);
    assert_eq!(read.rounds_given(at(101), None, None).unwrap(), 1);
    assert_eq!(read.next_seq(&unit(1)).unwrap(), 6);
    assert_eq!(read.next_seq(&unit(9)).unwrap(), 1);
    assert_eq!(read.newest_turn(&unit(1)).unwrap().unwrap().seq, 5);
    assert_eq!(read.open_turn(&unit(1)).unwrap().unwrap().id, id(1));
    assert_eq!(read.open_turn_of_session(id(2)).unwrap().unwrap().id, id(2));
    assert_eq!(read.newest_turn_of_session(id(1)).unwrap().unwrap().id, id(14));
    let ids = |turns: Vec<TurnRow>| turns.into_iter().map(|turn| turn.id).collect::<Vec<_>>();
    assert_eq!(ids(read.running_turns().unwrap()), [id(1), id(3)]);
    assert_eq!(ids(read.turns_with_live_group().unwrap()), [id(2)]);
    assert_eq!(ids(read.turns(&TurnFilter { open_only: true, ..TurnFilter::default() }).unwrap()), [id(3), id(2), id(1)]);
    let failed = TurnFilter { unit: Some(unit(1)), state: Some(TurnState::Failed), limit: Some(2), ..TurnFilter::default() };
    assert_eq!(ids(read.turns(&failed).unwrap()), [id(14), id(12)]);
}

#[test]
fn posts_are_found_and_counted_as_the_lists_show_them() {
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_post(&PostRow { shape: Shape::Comment, state: PostState::Failed, ..post_row(80) })?;
        tx.insert_post(&PostRow { shape: Shape::Comment, state: PostState::Failed, turn: None, ..post_row(81) })?;
        tx.insert_post(&PostRow { shape: Shape::Comment, ..post_row(83) })?;
        tx.insert_post(&PostRow { shape: Shape::Comment, ..post_row(82) })
    })
    .unwrap();
    let read = home.store.read();
    let ids = |posts: Vec<PostRow>| posts.into_iter().map(|post| post.id).collect::<Vec<_>>();
    assert_eq!(ids(read.posts_in(PostState::Queued).unwrap()), [id(82), id(83)]);
    assert_eq!(ids(read.posts(&PostFilter { limit: Some(3), ..PostFilter::default() }).unwrap()), [id(83), id(82), id(81)]);
    let of_turn = PostFilter { turn: Some(id(1)), state: Some(PostState::Failed), ..PostFilter::default() };
    assert_eq!(ids(read.posts(&of_turn).unwrap()), [id(80)]);
    assert_eq!(read.posts_failed_of_rounds().unwrap(), 1);
    let counts = read.status_counts().unwrap();
    assert_eq!((counts.posts_failed, counts.running_turns, counts.open_gates, counts.pending_rounds), (2, 3, 0, 0));
}

#[test]
fn events_go_on_after_an_id_each_once_and_in_order() {
    // EVT-02, EVT-13
    let mut home = Home::with_turns();
    home.write(|tx| {
        for n in 0..6 {
            let of = NewEvent { unit: Some(unit(1 + n % 2)), ..event(EventKind::PrGone) };
            tx.insert_event(&of, at(i64::from(10 - n)))?;
        }
        Ok(())
    })
    .unwrap();
    let ids = |after, limit, of: Option<u32>| -> Vec<i64> {
        let of = of.map(unit);
        home.store.read().events_after(after, limit, of.as_ref()).unwrap().iter().map(|event| event.id).collect()
    };
    assert_eq!(ids(0, 4, None), [1, 2, 3, 4]);
    assert_eq!(ids(4, 4, None), [5, 6]);
    assert_eq!(ids(1, 9, Some(1)), [3, 5]);
    assert_eq!(home.store.read().last_event_id().unwrap(), 6);
}

#[test]
fn due_effects_wait_in_line() {
    let mut home = Home::with_turns();
    home.write(|tx| {
        for (n, when) in [(1, 30), (2, 20)] {
            tx.declare_effect(id(n), "reviewed", at(1))?;
            tx.set_effect(id(n), "reviewed", "declared", "due", at(when))?;
        }
        tx.declare_effect(id(3), "reviewed", at(1))
    })
    .unwrap();
    assert_eq!(home.store.read().due_effects().unwrap(), [(id(2), "reviewed".to_owned()), (id(1), "reviewed".to_owned())]);
    conflict(home.write(|tx| tx.set_effect(id(3), "reviewed", "due", "applied", at(9))));
}

#[test]
fn a_reader_has_one_unchanging_view_and_never_writes() {
    fn is_send<T: Send>() {}
    is_send::<Store>();
    is_send::<Reader>();
    let mut home = Home::new();
    let reader = home.store.reader().unwrap();
    let seen: Result<_, StoreError> = reader.read(|view| {
        let before = view.unit(&unit(1))?;
        home.write(|tx| tx.put_unit(&unit_row(1), at(0)))?;
        Ok((before, view.unit(&unit(1))?))
    });
    assert_eq!(seen.unwrap(), (None, None), "what is committed meanwhile is not seen");
    let later: Result<_, StoreError> = reader.read(|view| view.unit(&unit(1)));
    assert!(later.unwrap().is_some());
    let refused: Result<(), StoreError> =
        reader.read(|view| view.connection().execute("DELETE FROM unit", []).map(|_| ()).map_err(|fault| view.fault(fault)));
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
}

/// What the engine asks in each tick or request, by a name for the message.
type Read = (&'static str, fn(&Reads<'_>) -> Result<(), StoreError>);

#[test]
fn what_is_done_with_is_not_walked_over() {
    // quality.md, budgets: 100,000 gates and 1,000,000 events in the store
    const DONE: u32 = 400;
    let mut home = Home::with_turns();
    home.write(|tx| {
        for n in 1000..1000 + DONE {
            tx.put_unit(&unit_row(n), at(0))?;
            tx.insert_task(&TaskRow { category: "done".into(), ended_at: Some(at(1)), ..task_row(n) }, &[(unit(n), "captured")])?;
            tx.insert_gate(&approved(n, GateKind::Plan))?;
            tx.insert_item(&ItemRow { state: ItemState::Turned, ..item_row(n) })?;
            tx.insert_session(&session_row(n))?;
            let record = Some(json!({}));
            tx.insert_turn(&TurnRow { state: TurnState::Recorded, ended_at: Some(at(5)), record, ..turn_row(n) })?;
            tx.insert_post(&PostRow { state: PostState::Dropped, turn: Some(id(n)), unit: unit(n), ..post_row(n) })?;
            tx.insert_event(&NewEvent { unit: Some(unit(n)), ..event(EventKind::GateDecided) }, at(5))?;
        }
        Ok(())
    })
    .unwrap();
    let reads: &[Read] = &[
        ("gates", |r| r.gates(&GateFilter::open()).map(drop)),
        ("gates of a unit", |r| r.gates(&GateFilter { unit: Some(unit(2)), ..GateFilter::open() }).map(drop)),
        ("gates due", |r| r.gates_due(at(1)).map(drop)),
        ("next deadline", |r| r.next_deadline().map(drop)),
        ("open gates by kind", |r| r.open_gates_by_kind().map(drop)),
        ("due consequences", |r| r.gates_with_consequence(Consequence::Due).map(drop)),
        ("unknown consequences", |r| r.gates_with_consequence(Consequence::Unknown).map(drop)),
        ("prefix", |r| r.ids_with_prefix(IdTable::Gate, "0003").map(drop)),
        ("short", |r| r.short(IdTable::Gate, "000001").map(drop)),
        ("item by gate", |r| r.item_by_gate(id(1)).map(drop)),
        ("pending item", |r| r.pending_item(&unit(1), "review").map(drop)),
        ("pending items", |r| r.pending_items().map(drop)),
        ("pending items of a unit", |r| r.pending_items_of(&unit(1)).map(drop)),
        ("released items", |r| r.items_in(ItemState::Released).map(drop)),
        ("open task", |r| r.open_task_of(&unit(1)).map(drop)),
        ("open gates of a task", |r| r.open_gates_of_task(id(1)).map(drop)),
        ("open turn", |r| r.open_turn(&unit(1)).map(drop)),
        ("open turns", |r| r.turns(&TurnFilter { open_only: true, ..TurnFilter::default() }).map(drop)),
        ("newest turns", |r| r.turns(&TurnFilter { limit: Some(5), ..TurnFilter::default() }).map(drop)),
        ("turn of a session", |r| r.open_turn_of_session(id(1)).map(drop)),
        ("newest turn", |r| r.newest_turn(&unit(1)).map(drop)),
        ("next number", |r| r.next_seq(&unit(1)).map(drop)),
        ("live groups", |r| r.turns_with_live_group().map(drop)),
        ("running turns", |r| r.running_turns().map(drop)),
        ("rounds on a head", |r| r.rounds_on(&unit(1), "aaaa").map(drop)),
        ("rounds given", |r| r.rounds_given(at(1), None, None).map(drop)),
        ("rounds given on a unit", |r| r.rounds_given(at(1), Some(&unit(1)), Some("review")).map(drop)),
        ("holds on a unit", |r| r.holds_on(&unit(1)).map(drop)),
        ("tasks without an open gate", |r| r.tasks_without_open_gate().map(drop)),
        ("trust", |r| r.trust("a", "acme/api").map(drop)),
        ("block", |r| r.block_on("a", "acme/api").map(drop)),
        ("trusts due", |r| r.trusts_due().map(drop)),
        ("consequences unseen", |r| r.consequences_unseen(Consequence::Failed).map(drop)),
        ("queued posts", |r| r.posts_in(PostState::Queued).map(drop)),
        ("newest posts", |r| r.posts(&PostFilter { limit: Some(5), ..PostFilter::default() }).map(drop)),
        ("posts of a turn", |r| r.posts(&PostFilter { turn: Some(id(1)), ..PostFilter::default() }).map(drop)),
        ("failed posts of rounds", |r| r.posts_failed_of_rounds().map(drop)),
        ("post by remote", |r| r.post_by_remote("x").map(drop)),
        ("sent reviews", |r| r.sent_reviews(&unit(1)).map(drop)),
        ("due effects", |r| r.due_effects().map(drop)),
        ("events", |r| r.events_after(395, 10, None).map(drop)),
        ("events of a unit", |r| r.events_after(0, 10, Some(&unit(1000))).map(drop)),
        ("last event", |r| r.last_event_id().map(drop)),
        ("counts", |r| r.status_counts().map(drop)),
    ];
    for (name, read) in reads {
        scanned::take();
        read(&home.store.read()).unwrap();
        let walked = scanned::take();
        assert!(walked < 20, "`{name}` stepped over {walked} rows without an index");
    }
    // The counter counts: a read that has no index walks over them all.
    home.store.read().gates(&GateFilter { status: Some(GateStatus::Rejected), ..GateFilter::default() }).unwrap();
    assert!(scanned::take() >= i32::try_from(DONE).unwrap());
    let gate = gate_row(50, GateKind::Plan);
    home.write(|tx| {
        tx.insert_gate(&gate)?;
        tx.close_gate(id(50), &closed(&gate, GateStatus::Approved, Actor::PERSON))
    })
    .unwrap();
}
