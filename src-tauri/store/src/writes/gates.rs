//! Gates, and the tasks that hold them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Gate, GateStatus};
use wloop_core::id::{GateId, TaskId, UnitRef};

use super::Writes;
use super::units::unwritable;
use crate::convert::{actor_columns, ms, opt_ms, opt_str, text};
use crate::detail::to_json;
use crate::error::StoreError;
use crate::rows::{GateRow, TaskRow};

impl Writes<'_> {
    /// Writes a new gate, open or closed from the start (G19).
    pub fn insert_gate(&self, row: &GateRow) -> Result<(), StoreError> {
        let gate = &row.gate;
        let intents = to_json(&gate.intents).map_err(unwritable("gate", "intents"))?;
        let ends: BTreeMap<&str, &String> = row.ends_task.iter().map(|(status, category)| (status.as_str(), category)).collect();
        let ends_task = serde_json::to_string(&ends).map_err(unwritable("gate", "ends_task"))?;
        let closed = gate.closed.as_ref();
        let (actor, reference, via) = match closed.map(|closing| actor_columns(&closing.actor)) {
            Some((actor, reference, via)) => (Some(actor), reference, via),
            None => (None, None, None),
        };
        self.run(
            "INSERT INTO gate (id, kind, name, status, unit, task, words, intents, ends_task, default_intent, opened_at, deadline,
                 policy, explanation, turn, closed_intent, closed_actor, closed_ref, closed_via, closed_text, closed_reason,
                 closed_at, consequence, consequence_at, consequence_note)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
                 ?24, ?25)",
            params![
                text(gate.id),
                gate.kind.as_str(),
                gate.name,
                gate.status.as_str(),
                opt_str(gate.unit.as_ref()),
                opt_str(gate.task.as_ref()),
                gate.words,
                intents,
                ends_task,
                gate.default_intent,
                ms(gate.opened_at),
                opt_ms(gate.deadline),
                row.policy,
                row.explanation.to_string(),
                opt_str(row.turn.as_ref()),
                closed.and_then(|closing| closing.intent.as_ref()),
                actor,
                reference,
                via,
                closed.and_then(|closing| closing.text.as_ref()),
                closed.map_or("", |closing| &closing.reason),
                opt_ms(closed.map(|closing| closing.at)),
                row.consequence.map(|(state, _)| state.as_str()),
                opt_ms(row.consequence.map(|(_, at)| at)),
                row.consequence_note,
            ],
        )?;
        Ok(())
    }

    /// Writes how an open gate closed: `gate` is the closed one. A resolution leaves its consequence due; what is superseded has none
    /// (GATE-04, CONS-01).
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it is closed already; [`StoreError::Refused`] when the schema forbids the resolution.
    pub fn close_gate(&self, id: GateId, gate: &Gate) -> Result<(), StoreError> {
        let Some(closing) = &gate.closed else {
            return Err(StoreError::Refused { rule: format!("the gate `{id}` closes with nothing that closed it") });
        };
        let due = match gate.status {
            GateStatus::Approved | GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed => Some(Consequence::Due),
            GateStatus::Open | GateStatus::Superseded => None,
        };
        let (actor, reference, via) = actor_columns(&closing.actor);
        self.set(
            "gate",
            id,
            "UPDATE gate SET status = ?2, closed_intent = ?3, closed_actor = ?4, closed_ref = ?5, closed_via = ?6,
                 closed_text = ?7, closed_reason = ?8, closed_at = ?9, consequence = ?10, consequence_at = ?11
             WHERE id = ?1 AND status = 'open'",
            params![
                text(id),
                gate.status.as_str(),
                closing.intent,
                actor,
                reference,
                via,
                closing.text,
                closing.reason,
                ms(closing.at),
                due.map(Consequence::as_str),
                due.map(|_| ms(closing.at)),
            ],
        )
    }

    /// Moves a gate's consequence on, with a word about it; only from `from`.
    pub fn set_consequence(
        &self,
        id: GateId,
        from: Consequence,
        to: Consequence,
        note: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.set(
            "gate",
            id,
            "UPDATE gate SET consequence = ?3, consequence_note = ?4, consequence_at = ?5, seen_at = NULL
             WHERE id = ?1 AND consequence = ?2",
            params![text(id), from.as_str(), to.as_str(), note, ms(now)],
        )
    }

    /// Moves the end of an open gate's window.
    pub fn set_gate_deadline(&self, id: GateId, deadline: Option<Timestamp>) -> Result<(), StoreError> {
        let sql = "UPDATE gate SET deadline = ?2 WHERE id = ?1 AND status = 'open'";
        self.set("gate", id, sql, params![text(id), deadline.map(ms)])
    }

    /// Puts a gate on a task (GATE-30, GATE-32).
    pub fn set_gate_task(&self, id: GateId, task: TaskId) -> Result<(), StoreError> {
        self.set("gate", id, "UPDATE gate SET task = ?2 WHERE id = ?1", params![text(id), text(task)])
    }

    /// Writes a new task with its units, each with `captured`, `derived` or `attached`. An id whose first six digits another task has
    /// is refused ([`StoreError::is_short_taken`]): draw another.
    pub fn insert_task(&self, row: &TaskRow, units: &[(UnitRef, &str)]) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO task (id, origin, kind, title, category, gate_holder, created_at, ended_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                text(row.id),
                row.origin,
                row.kind,
                row.title,
                row.category,
                row.gate_holder,
                ms(row.created_at),
                opt_ms(row.ended_at),
            ],
        )?;
        for (unit, how) in units {
            self.run("INSERT INTO task_unit (task, unit, how) VALUES (?1, ?2, ?3)", params![text(row.id), text(unit), how])?;
        }
        Ok(())
    }

    /// Ends an open task in `done` or `dropped`; false when it has ended already, or there is none.
    pub fn end_task(&self, id: TaskId, category: &str, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE task SET category = ?2, ended_at = ?3 WHERE id = ?1 AND ended_at IS NULL";
        Ok(self.run(sql, params![text(id), category, ms(now)])? == 1)
    }
}
