//! Holds, trust, blocks, and what the cap held.

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::id::{GateId, ItemId, TurnId, UnitRef};
use wloop_core::plan::ItemState;
use wloop_core::stops::HoldKind;

use super::Writes;
use super::units::unwritable;
use crate::convert::{ms, opt_ms, opt_str, text};
use crate::error::StoreError;
use crate::rows::{BlockRow, CapRow, HoldRow, TrustRow};

impl Writes<'_> {
    /// Lays a hold on a unit or on everything; an earlier one of its kind gets the new end and keeps its beginning.
    pub fn put_hold(&self, row: &HoldRow) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO hold (unit, kind, until, since) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (unit, kind) DO UPDATE SET until = excluded.until",
            params![opt_str(row.unit.as_ref()).unwrap_or_default(), row.kind.as_str(), opt_ms(row.until), ms(row.since)],
        )?;
        Ok(())
    }

    /// Takes a hold away; false when there was none.
    pub fn remove_hold(&self, unit: Option<&UnitRef>, kind: HoldKind) -> Result<bool, StoreError> {
        let unit = opt_str(unit).unwrap_or_default();
        Ok(self.run("DELETE FROM hold WHERE unit = ?1 AND kind = ?2", params![unit, kind.as_str()])? == 1)
    }

    /// Notes that an agent may run in a repository; the first note stays. A gate it names must be a trust gate that the person
    /// approved.
    pub fn put_trust(&self, row: &TrustRow) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO trust (agent, repo, at, gate, folder) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (agent, repo) DO NOTHING",
            params![row.agent, row.repo.to_ascii_lowercase(), ms(row.at), opt_str(row.gate.as_ref()), row.folder],
        )?;
        Ok(())
    }

    /// Writes what keeps an agent from starting in a repository; one at most is not lifted.
    pub fn insert_block(&self, row: &BlockRow) -> Result<(), StoreError> {
        let homes = serde_json::to_string(&row.homes).map_err(unwritable("block", "homes"))?;
        self.run(
            "INSERT INTO block (gate, unit, agent, repo, folder, homes, words, kind, opened_at, lifted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                text(row.gate),
                text(&row.unit),
                row.agent,
                row.repo.to_ascii_lowercase(),
                row.folder,
                homes,
                row.words,
                row.kind.as_str(),
                ms(row.opened_at),
                opt_ms(row.lifted_at),
            ],
        )?;
        Ok(())
    }

    /// Lifts a block; only one that is not lifted.
    pub fn lift_block(&self, gate: GateId, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE block SET lifted_at = ?2 WHERE gate = ?1 AND lifted_at IS NULL";
        self.set("block", gate, sql, params![text(gate), ms(now)])
    }

    /// Puts a planned round on a gate of the cap's own, only from `from`.
    pub fn cap_item(
        &self,
        id: ItemId,
        from: ItemState,
        gate: GateId,
        held: &CapRow,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.set(
            "plan_item",
            id,
            "UPDATE plan_item SET state = 'capped', gate = ?3, cap = ?4, cap_day = ?5, reason = ?6, changed_at = ?7
             WHERE id = ?1 AND state = ?2",
            params![text(id), from.as_str(), text(gate), held.cap.as_str(), held.day.to_string(), reason, ms(now)],
        )
    }

    /// Notes that a planned round runs because the person said so (WIN-29).
    pub fn set_item_by_hand(&self, id: ItemId) -> Result<(), StoreError> {
        self.set("plan_item", id, "UPDATE plan_item SET by_hand = 1 WHERE id = ?1", params![text(id)])
    }

    /// Forgets what a turn that never started dealt with, so that it can be planned again.
    pub fn forget_handled(&self, unit: &UnitRef, workflow: &str, since: Timestamp) -> Result<usize, StoreError> {
        let sql = "DELETE FROM handled WHERE unit = ?1 AND workflow = ?2 AND how = 'ran' AND at >= ?3";
        self.run(sql, params![text(unit), workflow, ms(since)])
    }

    /// Notes that a turn's agent did not take the prompt because of a question of its own: it counts nowhere.
    pub fn set_turn_blocked(&self, id: TurnId) -> Result<(), StoreError> {
        self.set("turn", id, "UPDATE turn SET blocked = 1 WHERE id = ?1", params![text(id)])
    }

    /// Notes that the person has looked after a consequence that failed or cannot be told; false when they had, or there is none.
    pub fn set_consequence_seen(&self, id: GateId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE gate SET seen_at = ?2 WHERE id = ?1 AND consequence IN ('failed', 'unknown') AND seen_at IS NULL";
        Ok(self.run(sql, params![text(id), ms(now)])? == 1)
    }
}
