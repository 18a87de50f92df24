//! Planned rounds, what is handled, and guidance that waits.

use wloop_core::cap::Cap;
use wloop_core::id::{GateId, ItemId, UnitRef};
use wloop_core::plan::ItemState;

use super::Reads;
use crate::convert::{Cols, text};
use crate::error::StoreError;
use crate::rows::{CapRow, GuidanceRow, ItemRow};

/// The pending states, as the index of the schema names them.
macro_rules! pending {
    () => {
        "state IN ('waiting', 'counting_down', 'released', 'capped', 'blocked')"
    };
}

fn item(row: &Cols<'_, '_>) -> Result<ItemRow, StoreError> {
    let cap = row.opt_word("cap", Cap::from_word)?.zip(row.opt_parsed("cap_day")?);
    Ok(ItemRow {
        cap: cap.map(|(cap, day)| CapRow { cap, day }),
        id: row.parsed("id")?,
        unit: row.parsed("unit")?,
        workflow: row.text("workflow")?,
        key: row.text("key")?,
        intent: row.text("intent")?,
        stage: row.text("stage")?,
        state: row.word("state", ItemState::from_word)?,
        gate: row.parsed("gate")?,
        head: row.text("head")?,
        reason: row.text("reason")?,
        by_hand: row.flag("by_hand")?,
        try_after: row.time("try_after")?,
        planned_at: row.time("planned_at")?,
        changed_at: row.time("changed_at")?,
    })
}

fn guidance(row: &Cols<'_, '_>) -> Result<GuidanceRow, StoreError> {
    Ok(GuidanceRow {
        id: row.int("id")?,
        unit: row.parsed("unit")?,
        text: row.text("text")?,
        kept_at: row.time("kept_at")?,
        offered: row.flag("offered")?,
        turn: row.opt_parsed("turn")?,
    })
}

impl Reads<'_> {
    /// A planned round.
    pub fn item(&self, id: ItemId) -> Result<Option<ItemRow>, StoreError> {
        self.one("plan_item", "SELECT * FROM plan_item WHERE id = ?1", [text(id)], item)
    }

    /// The planned round of a plan gate.
    pub fn item_by_gate(&self, gate: GateId) -> Result<Option<ItemRow>, StoreError> {
        self.one("plan_item", "SELECT * FROM plan_item WHERE gate = ?1", [text(gate)], item)
    }

    /// The round of the unit and the workflow that still wants something; there is at most one.
    pub fn pending_item(&self, unit: &UnitRef, workflow: &str) -> Result<Option<ItemRow>, StoreError> {
        let sql = concat!("SELECT * FROM plan_item WHERE unit = ?1 AND workflow = ?2 AND ", pending!());
        self.one("plan_item", sql, (text(unit), workflow), item)
    }

    /// Every round that still wants something, in the order they were planned.
    pub fn pending_items(&self) -> Result<Vec<ItemRow>, StoreError> {
        let sql = concat!("SELECT * FROM plan_item WHERE ", pending!(), " ORDER BY planned_at, rowid");
        self.many("plan_item", sql, [], item)
    }

    /// Those of one unit.
    pub fn pending_items_of(&self, unit: &UnitRef) -> Result<Vec<ItemRow>, StoreError> {
        let sql = concat!("SELECT * FROM plan_item WHERE unit = ?1 AND ", pending!(), " ORDER BY planned_at, rowid");
        self.many("plan_item", sql, [text(unit)], item)
    }

    /// The rounds in a state, in the order they were planned.
    pub fn items_in(&self, state: ItemState) -> Result<Vec<ItemRow>, StoreError> {
        let sql = if state.is_pending() {
            concat!("SELECT * FROM plan_item WHERE state = ?1 AND ", pending!(), " ORDER BY planned_at, rowid")
        } else {
            "SELECT * FROM plan_item WHERE state = ?1 ORDER BY planned_at, rowid"
        };
        self.many("plan_item", sql, [state.as_str()], item)
    }

    /// The keys of a unit and a workflow that are not planned again, each with `ran` or `skipped`.
    pub fn handled(&self, unit: &UnitRef, workflow: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.many(
            "handled",
            "SELECT key, how FROM handled WHERE unit = ?1 AND workflow = ?2 ORDER BY key",
            (text(unit), workflow),
            |row| Ok((row.text("key")?, row.text("how")?)),
        )
    }

    /// Guidance for the unit's next round: what no turn took and did not come too late, oldest first.
    pub fn guidance(&self, unit: &UnitRef) -> Result<Vec<GuidanceRow>, StoreError> {
        self.many(
            "guidance",
            "SELECT * FROM guidance WHERE unit = ?1 AND turn IS NULL AND offered = 0 ORDER BY id",
            [text(unit)],
            guidance,
        )
    }

    /// Guidance for the unit that came too late for its round: shown, never handed over unasked (F10).
    pub fn guidance_offered(&self, unit: &UnitRef) -> Result<Vec<GuidanceRow>, StoreError> {
        self.many(
            "guidance",
            "SELECT * FROM guidance WHERE unit = ?1 AND turn IS NULL AND offered = 1 ORDER BY id",
            [text(unit)],
            guidance,
        )
    }

    /// Whether guidance of just these words came too late and is being offered for the unit.
    pub fn has_offered_guidance(&self, unit: &UnitRef, words: &str) -> Result<bool, StoreError> {
        let sql = "SELECT count(*) AS n FROM guidance WHERE unit = ?1 AND text = ?2 AND turn IS NULL AND offered = 1";
        Ok(self.number("guidance", sql, (text(unit), words))? > 0)
    }
}
