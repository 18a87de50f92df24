//! Holds, trust, blocks, and what counts against the cap.

use jiff::Timestamp;
use wloop_core::consequence::Consequence;
use wloop_core::id::{GateId, TaskId, UnitRef};
use wloop_core::stops::{BlockKind, HoldKind};

use super::Reads;
use crate::convert::{Cols, ms, text};
use crate::error::StoreError;
use crate::rows::{BlockRow, GateRow, HoldRow, TrustRow};

/// What counts against a cap: the loop's own rounds that an agent was given, and those about to be given.
macro_rules! given {
    () => {
        "SELECT (SELECT count(*) FROM turn WHERE started_by = 'loop' AND blocked = 0 AND sent_at >= ?1 AND (?2 = '' OR unit = ?2)
                     AND (?3 = '' OR workflow = ?3))
              + (SELECT count(*) FROM turn WHERE state IN ('starting', 'sent', 'started', 'asked') AND state = 'starting'
                     AND started_by = 'loop' AND (?2 = '' OR unit = ?2) AND (?3 = '' OR workflow = ?3)) AS n"
    };
}

fn hold(row: &Cols<'_, '_>) -> Result<HoldRow, StoreError> {
    let unit = row.text("unit")?;
    Ok(HoldRow {
        unit: if unit.is_empty() { None } else { Some(row.parsed("unit")?) },
        kind: row.word("kind", HoldKind::from_word)?,
        until: row.opt_time("until")?,
        since: row.time("since")?,
    })
}

fn trust(row: &Cols<'_, '_>) -> Result<TrustRow, StoreError> {
    Ok(TrustRow {
        agent: row.text("agent")?,
        repo: row.text("repo")?,
        at: row.time("at")?,
        gate: row.opt_parsed("gate")?,
        folder: row.text("folder")?,
    })
}

fn block(row: &Cols<'_, '_>) -> Result<BlockRow, StoreError> {
    Ok(BlockRow {
        gate: row.parsed("gate")?,
        unit: row.parsed("unit")?,
        agent: row.text("agent")?,
        repo: row.text("repo")?,
        folder: row.text("folder")?,
        homes: serde_json::from_str(&row.text("homes")?).map_err(|fault| row.fault("homes", fault))?,
        words: row.text("words")?,
        kind: row.word("kind", BlockKind::from_word)?,
        opened_at: row.time("opened_at")?,
        lifted_at: row.opt_time("lifted_at")?,
    })
}

impl Reads<'_> {
    /// Every hold, those on everything first.
    pub fn holds(&self) -> Result<Vec<HoldRow>, StoreError> {
        self.many("hold", "SELECT * FROM hold ORDER BY unit, kind", [], hold)
    }

    /// The holds on a unit and those on everything.
    pub fn holds_on(&self, unit: &UnitRef) -> Result<Vec<HoldRow>, StoreError> {
        self.many("hold", "SELECT * FROM hold WHERE unit IN ('', ?1) ORDER BY unit, kind", [text(unit)], hold)
    }

    /// Whether a hold of that kind is in force on the unit, by itself or with everything.
    pub fn is_held(&self, unit: &UnitRef, kind: HoldKind, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.holds_on(unit)?.iter().any(|hold| hold.kind == kind && hold.until.is_none_or(|until| until > now)))
    }

    /// Whether an agent may run in a repository.
    pub fn trust(&self, agent: &str, repo: &str) -> Result<Option<TrustRow>, StoreError> {
        let sql = "SELECT * FROM trust WHERE agent = ?1 AND repo = ?2";
        self.one("trust", sql, (agent, repo.to_ascii_lowercase()), trust)
    }

    /// What a trust gate asks about.
    pub fn block(&self, gate: GateId) -> Result<Option<BlockRow>, StoreError> {
        self.one("block", "SELECT * FROM block WHERE gate = ?1", [text(gate)], block)
    }

    /// What keeps an agent from starting in a repository.
    pub fn block_on(&self, agent: &str, repo: &str) -> Result<Option<BlockRow>, StoreError> {
        let sql = "SELECT * FROM block WHERE agent = ?1 AND repo = ?2 AND lifted_at IS NULL";
        self.one("block", sql, (agent, repo.to_ascii_lowercase()), block)
    }

    /// Every block that is not lifted, the oldest first.
    pub fn blocks(&self) -> Result<Vec<BlockRow>, StoreError> {
        self.many("block", "SELECT * FROM block WHERE lifted_at IS NULL ORDER BY opened_at, gate", [], block)
    }

    /// The captured tasks that have not ended although none of their gates is open (GATE-58), the oldest first.
    pub fn tasks_without_open_gate(&self) -> Result<Vec<TaskId>, StoreError> {
        let sql = "SELECT id FROM task WHERE gate_holder = 1 AND ended_at IS NULL
                   AND EXISTS (SELECT 1 FROM gate WHERE gate.task = task.id)
                   AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.task = task.id AND gate.status = 'open')
                   ORDER BY created_at, id";
        self.many("task", sql, [], |row| row.parsed("id"))
    }

    /// The trust gates that the person approved and of which nothing was carried out yet.
    pub fn trusts_due(&self) -> Result<Vec<GateId>, StoreError> {
        let sql = "SELECT id FROM gate WHERE consequence = 'due' AND consequence IN ('due', 'started', 'failed', 'unknown')
                   AND kind = 'trust' AND status = 'approved' ORDER BY consequence_at, rowid";
        self.many("gate", sql, [], |row| row.parsed("id"))
    }

    /// The automatic rounds that an agent was given at `since` or later, and those about to be given: on all units, and where they
    /// are named of one unit or of one workflow (ROUND-24).
    pub fn rounds_given(&self, since: Timestamp, unit: Option<&UnitRef>, workflow: Option<&str>) -> Result<u64, StoreError> {
        let unit = unit.map(text).unwrap_or_default();
        self.number("turn", given!(), (ms(since), unit, workflow.unwrap_or_default()))
    }

    /// The gates whose consequence is so far and which the person has not looked after yet.
    pub fn consequences_unseen(&self, state: Consequence) -> Result<Vec<GateRow>, StoreError> {
        let sql = "SELECT * FROM gate WHERE consequence = ?1 AND consequence IN ('due', 'started', 'failed', 'unknown')
                   AND seen_at IS NULL ORDER BY consequence_at, rowid";
        self.many("gate", sql, [state.as_str()], super::gates::gate)
    }
}
