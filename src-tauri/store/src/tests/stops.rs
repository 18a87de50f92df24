//! Holds, trust, blocks and caps: what goes in comes out, and what the schema refuses.

use wloop_core::cap::Cap;
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::plan::ItemState;
use wloop_core::stops::{BlockKind, HoldKind};
use wloop_core::turn::TurnState;

use super::fixtures::{Home, approved, at, conflict, gate_row, id, item_row, pull_row, turn_row, unit, unit_row};
use crate::rows::{BlockRow, CapRow, GateRow, HoldRow, ItemRow, TrustRow, TurnRow};

fn held(unit_of: Option<u32>, kind: HoldKind, until: Option<i64>) -> HoldRow {
    HoldRow { unit: unit_of.map(unit), kind, until: until.map(at), since: at(1) }
}

fn trust(gate: Option<u32>) -> TrustRow {
    TrustRow { agent: "a".into(), repo: "Acme/API".into(), at: at(5), gate: gate.map(id), folder: "/w/acme/api".into() }
}

fn block(gate: u32) -> BlockRow {
    BlockRow {
        gate: id(gate),
        unit: unit(1),
        agent: "a".into(),
        repo: "acme/api".into(),
        folder: "/w/acme/api".into(),
        homes: vec!["~/.a".into()],
        words: "may I?".into(),
        kind: BlockKind::Folder,
        opened_at: at(2),
        lifted_at: None,
    }
}

fn cap(home: &mut Home, gate: u32) {
    let row = CapRow { cap: Cap::PerDay, day: "2026-12-01".parse().unwrap() };
    home.write(|tx| tx.cap_item(id(50), ItemState::Released, id(gate), &row, "held", at(9))).unwrap();
}

#[test]
fn a_pause_holds_its_unit_or_everything_until_it_is_over() {
    // WIN-13, GH-FACT-22
    let mut home = Home::with_turns();
    let rows =
        [held(None, HoldKind::Pause, Some(100)), held(Some(1), HoldKind::Mute, None), held(Some(2), HoldKind::Pause, None)];
    home.write(|tx| rows.iter().try_for_each(|row| tx.put_hold(row))).unwrap();
    let read = home.store.read();
    assert_eq!(read.holds().unwrap(), rows);
    assert_eq!(read.holds_on(&unit(1)).unwrap(), rows[..2]);
    let paused = |n, now| read.is_held(&unit(n), HoldKind::Pause, at(now)).unwrap();
    assert!(paused(1, 99) && !paused(1, 100) && paused(2, 100));
    assert!(read.is_held(&unit(1), HoldKind::Mute, at(1)).unwrap() && !read.is_held(&unit(2), HoldKind::Mute, at(1)).unwrap());
    home.write(|tx| tx.put_hold(&HoldRow { until: None, since: at(50), ..rows[0].clone() })).unwrap();
    assert_eq!(home.store.read().holds().unwrap()[0], HoldRow { until: None, ..rows[0].clone() });
    assert!(home.write(|tx| tx.remove_hold(None, HoldKind::Pause)).unwrap());
    assert!(!home.write(|tx| tx.remove_hold(None, HoldKind::Pause)).unwrap());
}

#[test]
fn only_the_persons_approval_of_a_trust_gate_is_trust() {
    // GATE-54, GATE-56, RUN-32
    let mut home = Home::with_turns();
    home.write(|tx| tx.insert_gate(&gate_row(50, GateKind::Trust))).unwrap();
    home.refuses("only the person trusts", |tx| tx.put_trust(&trust(Some(50))));
    home.refuses("only the person trusts", |tx| tx.put_trust(&trust(Some(1))));
    let closed = approved(51, GateKind::Trust);
    assert_eq!(closed.gate.closed.as_ref().unwrap().actor, Actor::PERSON);
    home.write(|tx| {
        tx.insert_gate(&closed)?;
        tx.put_trust(&trust(Some(51)))
    })
    .unwrap();
    let stored = home.store.read().trust("a", "ACME/api").unwrap().unwrap();
    assert_eq!(stored, TrustRow { repo: "acme/api".into(), ..trust(Some(51)) });
    assert_eq!(home.store.read().trust("b", "acme/api").unwrap(), None);
    // The first note stays.
    home.write(|tx| tx.put_trust(&TrustRow { at: at(9), ..trust(None) })).unwrap();
    assert_eq!(home.store.read().trust("a", "acme/api").unwrap().unwrap(), stored);
}

#[test]
fn no_agent_runs_where_it_is_not_trusted() {
    // RUN-32
    let mut home = Home::with_turns();
    let turn = TurnRow { id: id(60), unit: unit(9), seq: 1, state: TurnState::Starting, ..turn_row(1) };
    home.write(|tx| {
        tx.put_unit(&unit_row(9), at(0))?;
        tx.put_pull(&pull_row(9))
    })
    .unwrap();
    home.refuses("a turn needs trust", |tx| tx.insert_turn(&turn));
    home.write(|tx| {
        tx.put_trust(&TrustRow { agent: turn.agent.clone(), ..trust(None) })?;
        tx.insert_turn(&turn)
    })
    .unwrap();
}

#[test]
fn an_agent_is_kept_from_a_repository_by_one_block_which_asks_on_an_open_trust_gate() {
    // GATE-51, GATE-52, GATE-55, K27
    let mut home = Home::with_turns();
    home.write(|tx| (50..53).try_for_each(|n| tx.insert_gate(&gate_row(n, GateKind::Trust)))).unwrap();
    home.refuses("a block asks on an open trust gate", |tx| tx.insert_block(&block(1)));
    home.write(|tx| tx.insert_block(&block(50))).unwrap();
    assert_eq!(home.store.read().block(id(50)).unwrap(), Some(block(50)));
    home.refuses("", |tx| tx.insert_block(&block(51)));
    home.write(|tx| {
        tx.lift_block(id(50), at(7))?;
        tx.insert_block(&block(51))
    })
    .unwrap();
    let read = home.store.read();
    assert_eq!(read.block_on("a", "Acme/Api").unwrap(), Some(block(51)));
    assert_eq!(read.blocks().unwrap(), [block(51)]);
    assert_eq!(read.block(id(50)).unwrap().unwrap().lifted_at, Some(at(7)));
    conflict(home.write(|tx| tx.lift_block(id(50), at(8))));
    home.refuses_sql("a lifted block never changes", "UPDATE block SET lifted_at = NULL WHERE lifted_at IS NOT NULL");
    home.refuses("", |tx| tx.insert_block(&BlockRow { folder: String::new(), repo: "acme/other".into(), ..block(52) }));
}

#[test]
fn what_the_cap_holds_is_closed_by_no_rule_and_no_window() {
    // WIN-27, WIN-28
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_gate(&approved(50, GateKind::Plan))?;
        tx.insert_gate(&gate_row(51, GateKind::Plan))?;
        tx.insert_item(&ItemRow { id: id(50), gate: id(50), unit: unit(3), state: ItemState::Released, ..item_row(1) })
    })
    .unwrap();
    home.refuses("waits on an open gate", |tx| {
        let row = CapRow { cap: Cap::PerDay, day: "2026-12-01".parse().unwrap() };
        tx.cap_item(id(50), ItemState::Released, id(50), &row, "held", at(9))
    });
    cap(&mut home, 51);
    let item = home.store.read().item(id(50)).unwrap().unwrap();
    assert_eq!((item.state, item.cap.unwrap().day.to_string()), (ItemState::Capped, "2026-12-01".to_owned()));
    for actor in [Actor::Rule("gates.toml".into()), Actor::Window] {
        let mut gate = gate_row(51, GateKind::Plan).gate;
        gate.status = GateStatus::Approved;
        let closing = approved(51, GateKind::Plan).gate.closed.unwrap();
        gate.closed = Some(wloop_core::gate::Closing { actor, ..closing });
        home.refuses("the cap held is the person's", |tx| tx.close_gate(id(51), &gate));
    }
    home.refuses("the cap held has no window", |tx| tx.set_gate_deadline(id(51), Some(at(90))));
    let GateRow { gate, .. } = approved(51, GateKind::Plan);
    home.write(|tx| tx.close_gate(id(51), &gate)).unwrap();
}

#[test]
fn a_cap_counts_what_the_loop_gave_or_is_about_to_give() {
    // ROUND-24, WIN-11
    let mut home = Home::with_turns();
    let ended = TurnRow { state: TurnState::Failed, ended_at: Some(at(9)), ..turn_row(1) };
    home.write(|tx| {
        tx.insert_turn(&TurnRow { id: id(11), seq: 2, sent_at: Some(at(100)), ..ended.clone() })?;
        tx.insert_turn(&TurnRow { id: id(12), seq: 3, ..ended.clone() })?;
        tx.insert_turn(&TurnRow { id: id(13), seq: 4, by_hand: true, sent_at: Some(at(200)), ..ended.clone() })?;
        tx.insert_turn(&TurnRow { id: id(14), seq: 5, sent_at: Some(at(200)), ..ended.clone() })?;
        tx.put_unit(&unit_row(8), at(0))?;
        tx.insert_turn(&TurnRow { id: id(15), unit: unit(8), workflow: "own".into(), state: TurnState::Starting, ..turn_row(1) })
    })
    .unwrap();
    let given = |home: &Home, unit_of: Option<u32>, workflow| {
        home.store.read().rounds_given(at(50), unit_of.map(unit).as_ref(), workflow).unwrap()
    };
    assert_eq!(given(&home, None, None), 3);
    assert_eq!((given(&home, Some(1), None), given(&home, Some(8), None), given(&home, Some(2), None)), (2, 1, 0));
    assert_eq!((given(&home, None, Some("own")), given(&home, None, Some("review"))), (1, 2));
    home.write(|tx| tx.set_turn_blocked(id(14))).unwrap();
    assert_eq!(given(&home, Some(1), None), 1, "an agent that would not start was given nothing");
    assert_eq!(home.store.read().rounds_on(&unit(1), &ended.head).unwrap(), 2);
}

#[test]
fn what_the_person_has_looked_after_is_not_told_again() {
    // CONS-11
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_gate(&GateRow { consequence: Some((Consequence::Unknown, at(1))), ..approved(50, GateKind::Plan) })?;
        tx.insert_gate(&GateRow { consequence: Some((Consequence::Due, at(1))), ..approved(51, GateKind::Trust) })
    })
    .unwrap();
    let unseen = |home: &Home| home.store.read().consequences_unseen(Consequence::Unknown).unwrap().len();
    assert_eq!(unseen(&home), 1);
    assert!(!home.write(|tx| tx.set_consequence_seen(id(51), at(2))).unwrap(), "it is only due");
    assert!(home.write(|tx| tx.set_consequence_seen(id(50), at(2))).unwrap());
    assert!(!home.write(|tx| tx.set_consequence_seen(id(50), at(3))).unwrap());
    assert_eq!(unseen(&home), 0);
    assert_eq!(home.store.read().trusts_due().unwrap(), [id(51)]);
}
