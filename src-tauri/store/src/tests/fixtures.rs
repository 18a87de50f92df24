//! A home with a ledger, and rows to put into it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, Closing, Gate, GateKind, GateStatus, Intent};
use wloop_core::github::{Mergeable, PullState, Reason, RepoName, ReviewEvent, Shape, Sightings, Summary};
use wloop_core::id::UnitRef;
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use crate::rows::{GateRow, ItemRow, NewEvent, PostRow, PullRow, SessionRow, TaskRow, TurnRow, UnitRow};
use crate::{Store, StoreError, Writes};

/// 1 December 2026 and so many seconds.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_796_083_200 + seconds).unwrap()
}

/// An id whose first six digits are `n`.
pub(super) fn id<T: FromStr<Err: Debug>>(n: u32) -> T {
    format!("{n:06x}{:026x}", 0).parse().unwrap()
}

pub(super) fn unit(n: u32) -> UnitRef {
    UnitRef::github(&format!("PR_{n}"))
}

/// A folder with a ledger in it.
pub(super) struct Home {
    pub(super) folder: TempDir,
    pub(super) store: Store,
}

impl Home {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("wloop.db"), at(0)).unwrap();
        Self { folder, store }
    }

    /// With the units 1 to 3, each with a turn that is started: gate, item, session and turn have the unit's number.
    pub(super) fn with_turns() -> Self {
        let mut home = Self::new();
        home.write(|tx| {
            for n in 1..=3 {
                tx.put_unit(&unit_row(n), at(0))?;
                tx.insert_gate(&approved(n, GateKind::Plan))?;
                tx.insert_item(&ItemRow { state: ItemState::Turned, ..item_row(n) })?;
                tx.insert_session(&session_row(n))?;
                tx.insert_turn(&TurnRow { state: TurnState::Started, sent_at: Some(at(2)), ..turn_row(n) })?;
            }
            Ok(())
        })
        .unwrap();
        home
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("wloop.db")
    }

    pub(super) fn write<T>(&mut self, f: impl FnOnce(&Writes<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.store.write(f)
    }

    /// Writes what the schema has to refuse with these words.
    pub(super) fn refuses<T: Debug>(&mut self, words: &str, f: impl FnOnce(&Writes<'_>) -> Result<T, StoreError>) {
        match self.write(f) {
            Err(StoreError::Refused { rule }) if rule.contains(words) => {}
            other => panic!("expected a refusal with `{words}`, got {other:?}"),
        }
    }

    /// Runs SQL that the schema has to refuse with these words.
    pub(super) fn refuses_sql(&mut self, words: &str, sql: &str) {
        let path = self.path();
        self.refuses(words, |tx| tx.connection().execute_batch(sql).map_err(|source| StoreError::of_sql(&path, source)));
    }
}

pub(super) fn conflict<T: Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Conflict { .. })), "expected a conflict, got {result:?}");
}

pub(super) fn unit_row(n: u32) -> UnitRow {
    UnitRow {
        unit: unit(n),
        label: format!("acme/api#{n}"),
        title: "Add retries".into(),
        url: format!("https://github.example/acme/api/pull/{n}"),
        watched: true,
    }
}

pub(super) fn summary(n: u32) -> Summary {
    Summary {
        id: format!("PR_{n}"),
        repo: RepoName { owner: "acme".into(), name: "api".into() },
        number: u64::from(n),
        title: "Add retries".into(),
        url: format!("https://github.example/acme/api/pull/{n}"),
        state: PullState::Open,
        draft: false,
        head: "aaaa".into(),
        updated_at: at(-60),
        mergeable: Mergeable::Unknown,
        checks: "success".into(),
        reasons: vec![Reason::Requested, Reason::Mine],
    }
}

pub(super) fn pull_row(n: u32) -> PullRow {
    PullRow {
        unit: unit(n),
        watched: true,
        summary: summary(n),
        detail: None,
        detail_at: None,
        wants_detail: true,
        read_after: at(0),
        fault: None,
        sightings: Sightings::default(),
    }
}

pub(super) fn task_row(n: u32) -> TaskRow {
    TaskRow {
        id: id(n),
        origin: "loop".into(),
        kind: "capture".into(),
        title: "Review acme/api#1".into(),
        category: "waiting".into(),
        gate_holder: true,
        created_at: at(i64::from(n)),
        ended_at: None,
    }
}

/// An open gate about unit 1.
pub(super) fn gate_row(n: u32, kind: GateKind) -> GateRow {
    let intent = |name: &str, status, text: Option<&str>| Intent {
        name: name.into(),
        label: name.to_uppercase(),
        status,
        text: text.map(Into::into),
    };
    GateRow {
        gate: Gate {
            id: id(n),
            kind,
            name: kind.as_str().into(),
            status: GateStatus::Open,
            unit: Some(unit(1)),
            task: None,
            words: "Review acme/api#1?".into(),
            intents: vec![
                intent("go", GateStatus::Approved, None),
                intent("no", GateStatus::Rejected, Some("why")),
                intent("say", GateStatus::Answered, Some("what")),
            ],
            default_intent: Some("go".into()),
            opened_at: at(i64::from(n)),
            deadline: None,
            closed: None,
        },
        ends_task: BTreeMap::from([(GateStatus::Approved, "done".into()), (GateStatus::Superseded, "dropped".into())]),
        policy: "ask".into(),
        explanation: json!({ "mode": "ask", "rule": null }),
        turn: None,
        consequence: None,
        consequence_note: String::new(),
    }
}

/// The gate, closed so.
pub(super) fn closed(row: &GateRow, status: GateStatus, actor: Actor) -> Gate {
    let intent = match status {
        GateStatus::Superseded => None,
        GateStatus::Open | GateStatus::Approved | GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed => {
            Some("go".to_owned())
        }
    };
    let reason = if intent.is_none() { "gone".to_owned() } else { String::new() };
    Gate { status, closed: Some(Closing { intent, actor, text: None, at: at(9), reason }), ..row.gate.clone() }
}

/// A gate that the person approved before it was written (G19).
pub(super) fn approved(n: u32, kind: GateKind) -> GateRow {
    let row = gate_row(n, kind);
    GateRow { gate: closed(&row, GateStatus::Approved, Actor::PERSON), consequence: Some((Consequence::Ran, at(9))), ..row }
}

/// A waiting item of unit `n` with the gate `n`.
pub(super) fn item_row(n: u32) -> ItemRow {
    ItemRow {
        id: id(n),
        unit: unit(n),
        workflow: "review".into(),
        key: "aaaa".into(),
        intent: "review".into(),
        stage: "first".into(),
        state: ItemState::Waiting,
        gate: id(n),
        head: "aaaa".into(),
        reason: "requested".into(),
        by_hand: false,
        cap: None,
        try_after: at(0),
        planned_at: at(i64::from(n)),
        changed_at: at(i64::from(n)),
    }
}

pub(super) fn session_row(n: u32) -> SessionRow {
    SessionRow {
        id: id(n),
        agent: "helper".into(),
        manager: "wloop".into(),
        state: "active".into(),
        folder: "/home/me/work".into(),
        remote: None,
        created_at: at(1),
    }
}

/// A starting turn of unit `n` with item, gate and session `n`.
pub(super) fn turn_row(n: u32) -> TurnRow {
    TurnRow {
        id: id(n),
        unit: unit(n),
        seq: 1,
        intent: "review".into(),
        intent_version: "2".into(),
        stage: "first".into(),
        state: TurnState::Starting,
        by_hand: false,
        workflow: "review".into(),
        item: id(n),
        gate: id(n),
        session: id(n),
        agent: "helper".into(),
        head: "aaaa".into(),
        base: "bbbb".into(),
        merge_base: None,
        covered: json!({ "threads": [1, 2] }),
        guidance: None,
        workspace: None,
        generation: 1,
        claimed: false,
        process: None,
        group_ended: false,
        cancel_by: None,
        created_at: at(i64::from(n)),
        sent_at: None,
        started_at: None,
        ended_at: None,
        verdict: None,
        record: None,
        cause: String::new(),
    }
}

/// A queued review of the turn 1, released by the gate 1.
pub(super) fn post_row(n: u32) -> PostRow {
    PostRow {
        id: id(n),
        unit: unit(1),
        turn: Some(id(1)),
        gate: id(1),
        shape: Shape::Review { event: ReviewEvent::Comment, comments: Vec::new() },
        text: "Fine.".into(),
        body: "Fine.\n<!-- marker -->".into(),
        mentions: Vec::new(),
        moved: Vec::new(),
        head: "aaaa".into(),
        state: PostState::Queued,
        maybe_posted: false,
        remote: None,
        cause: String::new(),
        started_at: None,
        doubt_at: None,
        look_ups: 0,
        complete_look_ups: 0,
        next_at: None,
        send_if_absent: false,
        retried_at: None,
        created_at: at(i64::from(n)),
        changed_at: at(i64::from(n)),
    }
}

pub(super) fn event(kind: EventKind) -> NewEvent {
    NewEvent {
        kind,
        key: "k".into(),
        data: json!("words"),
        unit: None,
        task: None,
        gate: None,
        turn: None,
        post: None,
        actor: Actor::Daemon,
        chain: Vec::new(),
    }
}
