//! Planned rounds, what is handled, and guidance that waits.

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::id::{ItemId, TurnId, UnitRef};
use wloop_core::plan::ItemState;

use super::Writes;
use crate::convert::{ms, opt_ms, text};
use crate::error::StoreError;
use crate::rows::ItemRow;

impl Writes<'_> {
    /// Writes a newly planned round; of a unit and a workflow one at most wants something.
    pub fn insert_item(&self, row: &ItemRow) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO plan_item (id, unit, workflow, key, intent, stage, state, gate, head, reason, by_hand, try_after,
                 planned_at, changed_at, cap, cap_day)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            params![
                text(row.id),
                text(&row.unit),
                row.workflow,
                row.key,
                row.intent,
                row.stage,
                row.state.as_str(),
                text(row.gate),
                row.head,
                row.reason,
                row.by_hand,
                ms(row.try_after),
                ms(row.planned_at),
                ms(row.changed_at),
                row.cap.map(|held| held.cap.as_str()),
                row.cap.map(|held| held.day.to_string()),
            ],
        )?;
        Ok(())
    }

    /// Moves a planned round on, only from `from`; a reason or a time that is not given stays.
    pub fn set_item(
        &self,
        id: ItemId,
        from: ItemState,
        to: ItemState,
        reason: Option<&str>,
        try_after: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.set(
            "plan_item",
            id,
            "UPDATE plan_item SET state = ?3, reason = coalesce(?4, reason), try_after = coalesce(?5, try_after), changed_at = ?6
             WHERE id = ?1 AND state = ?2",
            params![text(id), from.as_str(), to.as_str(), reason, opt_ms(try_after), ms(now)],
        )
    }

    /// Notes that a key is not planned again, `ran` or `skipped`; the first note stays.
    pub fn put_handled(&self, unit: &UnitRef, workflow: &str, key: &str, how: &str, now: Timestamp) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO handled (unit, workflow, key, how, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (unit, workflow, key) DO NOTHING",
            params![text(unit), workflow, key, how, ms(now)],
        )?;
        Ok(())
    }

    /// Keeps guidance for a round of the unit and gives its number (WIN-36); `offered` when it came too late for its round.
    pub fn keep_guidance(&self, unit: &UnitRef, words: &str, offered: bool, now: Timestamp) -> Result<i64, StoreError> {
        self.run(
            "INSERT INTO guidance (unit, text, kept_at, offered) VALUES (?1, ?2, ?3, ?4)",
            params![text(unit), words, ms(now), offered],
        )?;
        Ok(self.connection().last_insert_rowid())
    }

    /// Hands kept guidance to a turn; only what no turn has.
    pub fn take_guidance(&self, id: i64, turn: TurnId) -> Result<(), StoreError> {
        let sql = "UPDATE guidance SET turn = ?2 WHERE id = ?1 AND turn IS NULL";
        self.set("guidance", id, sql, params![id, text(turn)])
    }

    /// Takes back what was handed to a turn that never gave it to an agent, and tells how many texts that were.
    pub fn return_guidance(&self, turn: TurnId) -> Result<usize, StoreError> {
        self.run("UPDATE guidance SET turn = NULL WHERE turn = ?1", [text(turn)])
    }
}
