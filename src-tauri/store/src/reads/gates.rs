//! Gates, and the tasks that hold them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Closing, Gate, GateKind, GateStatus};
use wloop_core::id::{GateId, TaskId, UnitRef};

use super::{Conditions, Reads};
use crate::convert::{Cols, gate_kind, gate_status, ms, opt_str, text};
use crate::detail::from_json;
use crate::error::StoreError;
use crate::rows::{GateRow, TaskRow};

/// Which gates; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateFilter {
    /// Of this status.
    pub status: Option<GateStatus>,
    /// Of this kind.
    pub kind: Option<GateKind>,
    /// About this unit.
    pub unit: Option<UnitRef>,
    /// On this task.
    pub task: Option<TaskId>,
    /// At most so many.
    pub limit: Option<usize>,
}

impl GateFilter {
    /// The open ones.
    #[must_use]
    pub fn open() -> Self {
        Self { status: Some(GateStatus::Open), ..Self::default() }
    }
}

fn closing(row: &Cols<'_, '_>) -> Result<Option<Closing>, StoreError> {
    let Some(at) = row.opt_time("closed_at")? else {
        return Ok(None);
    };
    Ok(Some(Closing {
        intent: row.opt_text("closed_intent")?,
        actor: row.actor("closed_actor", "closed_ref", "closed_via")?,
        text: row.opt_text("closed_text")?,
        at,
        reason: row.text("closed_reason")?,
    }))
}

fn ends_task(row: &Cols<'_, '_>) -> Result<BTreeMap<GateStatus, String>, StoreError> {
    let words: BTreeMap<String, String> =
        serde_json::from_str(&row.text("ends_task")?).map_err(|fault| row.fault("ends_task", fault))?;
    let read = |(word, category): (String, String)| match gate_status(&word) {
        Some(status) => Ok((status, category)),
        None => Err(row.fault("ends_task", format_args!("`{word}` is no status"))),
    };
    words.into_iter().map(read).collect()
}

pub(super) fn gate(row: &Cols<'_, '_>) -> Result<GateRow, StoreError> {
    let consequence = row.opt_word("consequence", Consequence::from_word)?.zip(row.opt_time("consequence_at")?);
    Ok(GateRow {
        gate: Gate {
            id: row.parsed("id")?,
            kind: row.word("kind", gate_kind)?,
            name: row.text("name")?,
            status: row.word("status", gate_status)?,
            unit: row.opt_parsed("unit")?,
            task: row.opt_parsed("task")?,
            words: row.text("words")?,
            intents: from_json(&row.text("intents")?).map_err(|fault| row.fault("intents", fault))?,
            default_intent: row.opt_text("default_intent")?,
            opened_at: row.time("opened_at")?,
            deadline: row.opt_time("deadline")?,
            closed: closing(row)?,
        },
        ends_task: ends_task(row)?,
        policy: row.text("policy")?,
        explanation: row.json("explanation")?,
        turn: row.opt_parsed("turn")?,
        consequence,
        consequence_note: row.text("consequence_note")?,
    })
}

pub(super) fn task(row: &Cols<'_, '_>) -> Result<TaskRow, StoreError> {
    Ok(TaskRow {
        id: row.parsed("id")?,
        origin: row.text("origin")?,
        kind: row.text("kind")?,
        title: row.text("title")?,
        category: row.text("category")?,
        gate_holder: row.flag("gate_holder")?,
        created_at: row.time("created_at")?,
        ended_at: row.opt_time("ended_at")?,
    })
}

impl Reads<'_> {
    /// A gate.
    pub fn gate(&self, id: GateId) -> Result<Option<GateRow>, StoreError> {
        self.one("gate", "SELECT * FROM gate WHERE id = ?1", [text(id)], gate)
    }

    /// Gates, oldest first.
    pub fn gates(&self, filter: &GateFilter) -> Result<Vec<GateRow>, StoreError> {
        let mut conditions = Conditions::default();
        // Written out, so that the index of the open ones serves.
        match filter.status {
            Some(GateStatus::Open) => conditions.also("status = 'open'"),
            other => conditions.equal("status", other.map(|status| status.as_str().to_owned())),
        }
        conditions.equal("kind", filter.kind.map(|kind| kind.as_str().to_owned()));
        conditions.equal("unit", opt_str(filter.unit.as_ref()));
        conditions.equal("task", opt_str(filter.task.as_ref()));
        let (sql, values) = conditions.statement("gate", "opened_at, rowid", filter.limit);
        self.many("gate", &sql, rusqlite::params_from_iter(values), gate)
    }

    /// The open gates whose window has ended, the earliest first (WIN-19).
    pub fn gates_due(&self, now: Timestamp) -> Result<Vec<GateId>, StoreError> {
        self.many(
            "gate",
            "SELECT id FROM gate WHERE status = 'open' AND deadline <= ?1 ORDER BY deadline, rowid",
            [ms(now)],
            |row| row.parsed("id"),
        )
    }

    /// The window that ends next.
    pub fn next_deadline(&self) -> Result<Option<(Timestamp, GateId)>, StoreError> {
        self.one(
            "gate",
            "SELECT deadline, id FROM gate WHERE status = 'open' AND deadline IS NOT NULL ORDER BY deadline, rowid LIMIT 1",
            [],
            |row| Ok((row.time("deadline")?, row.parsed("id")?)),
        )
    }

    /// How many gates of each kind are open; a kind without one is left out.
    pub fn open_gates_by_kind(&self) -> Result<BTreeMap<GateKind, u64>, StoreError> {
        let sql = "SELECT kind, count(*) AS n FROM gate WHERE status = 'open' GROUP BY kind";
        let rows = self.many("gate", sql, [], |row| Ok((row.word("kind", gate_kind)?, row.count("n")?)))?;
        Ok(rows.into_iter().collect())
    }

    /// The gates whose consequence is so far, those that waited longest first.
    pub fn gates_with_consequence(&self, state: Consequence) -> Result<Vec<GateRow>, StoreError> {
        let unfinished = match state {
            Consequence::Due | Consequence::Started | Consequence::Failed | Consequence::Unknown => {
                " AND consequence IN ('due', 'started', 'failed', 'unknown')"
            }
            Consequence::Ran => "",
        };
        let sql = format!("SELECT * FROM gate WHERE consequence = ?1{unfinished} ORDER BY consequence_at, rowid");
        self.many("gate", &sql, [state.as_str()], gate)
    }

    /// A task.
    pub fn task(&self, id: TaskId) -> Result<Option<TaskRow>, StoreError> {
        self.one("task", "SELECT * FROM task WHERE id = ?1", [text(id)], task)
    }

    /// The units of a task with how each came to it.
    pub fn task_units(&self, id: TaskId) -> Result<Vec<(UnitRef, String)>, StoreError> {
        self.many("task_unit", "SELECT unit, how FROM task_unit WHERE task = ?1 ORDER BY unit", [text(id)], |row| {
            Ok((row.parsed("unit")?, row.text("how")?))
        })
    }

    /// The oldest task that holds the unit and has not ended (GATE-28).
    pub fn open_task_of(&self, unit: &UnitRef) -> Result<Option<TaskRow>, StoreError> {
        self.one(
            "task",
            "SELECT task.* FROM task JOIN task_unit ON task_unit.task = task.id
             WHERE task_unit.unit = ?1 AND task.ended_at IS NULL ORDER BY task.created_at, task.rowid LIMIT 1",
            [text(unit)],
            task,
        )
    }

    /// How many open gates stand on the task (GATE-33).
    pub fn open_gates_of_task(&self, id: TaskId) -> Result<u64, StoreError> {
        self.number("gate", "SELECT count(*) AS n FROM gate WHERE task = ?1 AND status = 'open'", [text(id)])
    }
}
