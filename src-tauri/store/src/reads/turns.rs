//! Sessions, turns, their tool calls and their effects.

use wloop_core::id::{SessionId, TurnId, UnitRef};
use wloop_core::turn::TurnState;

use super::{Conditions, Reads};
use crate::convert::{Cols, opt_str, text};
use crate::error::StoreError;
use crate::rows::{ProcessRow, SessionRow, ToolCallRow, TurnRow};

/// The open states, as the indexes of the schema name them.
const OPEN: &str = "state IN ('starting', 'sent', 'started', 'asked')";

/// Which turns; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnFilter {
    /// On this unit.
    pub unit: Option<UnitRef>,
    /// In this state.
    pub state: Option<TurnState>,
    /// Only those that still hold their unit.
    pub open_only: bool,
    /// At most so many.
    pub limit: Option<usize>,
}

pub(super) fn session(row: &Cols<'_, '_>) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        id: row.parsed("id")?,
        agent: row.text("agent")?,
        manager: row.text("manager")?,
        state: row.text("state")?,
        folder: row.text("folder")?,
        remote: row.opt_text("remote")?,
        created_at: row.time("created_at")?,
    })
}

fn process(row: &Cols<'_, '_>) -> Result<Option<ProcessRow>, StoreError> {
    let ids = row.opt_int("pid")?.zip(row.opt_text("pid_start")?).zip(row.opt_int("pgid")?);
    Ok(ids.map(|((pid, start), pgid)| ProcessRow { pid, start, pgid }))
}

pub(super) fn turn(row: &Cols<'_, '_>) -> Result<TurnRow, StoreError> {
    Ok(TurnRow {
        id: row.parsed("id")?,
        unit: row.parsed("unit")?,
        seq: row.count("seq")?,
        intent: row.text("intent")?,
        intent_version: row.text("intent_version")?,
        stage: row.text("stage")?,
        state: row.word("state", TurnState::from_word)?,
        by_hand: row.text("started_by")? == "hand",
        workflow: row.text("workflow")?,
        item: row.parsed("item")?,
        gate: row.parsed("gate")?,
        session: row.parsed("session")?,
        agent: row.text("agent")?,
        head: row.text("head")?,
        base: row.text("base")?,
        merge_base: row.opt_text("merge_base")?,
        covered: row.json("covered")?,
        guidance: row.opt_text("guidance")?,
        workspace: row.opt_text("workspace")?,
        generation: row.int("generation")?,
        claimed: row.flag("claimed")?,
        process: process(row)?,
        group_ended: row.flag("group_ended")?,
        cancel_by: row.opt_text("cancel_by")?,
        created_at: row.time("created_at")?,
        sent_at: row.opt_time("sent_at")?,
        started_at: row.opt_time("started_at")?,
        ended_at: row.opt_time("ended_at")?,
        verdict: row.opt_text("verdict")?,
        record: row.opt_json("record")?,
        cause: row.text("cause")?,
    })
}

impl Reads<'_> {
    /// A session.
    pub fn session(&self, id: SessionId) -> Result<Option<SessionRow>, StoreError> {
        self.one("session", "SELECT * FROM session WHERE id = ?1", [text(id)], session)
    }

    /// A turn.
    pub fn turn(&self, id: TurnId) -> Result<Option<TurnRow>, StoreError> {
        self.one("turn", "SELECT * FROM turn WHERE id = ?1", [text(id)], turn)
    }

    /// Turns, newest first.
    pub fn turns(&self, filter: &TurnFilter) -> Result<Vec<TurnRow>, StoreError> {
        let mut conditions = Conditions::default();
        conditions.equal("unit", opt_str(filter.unit.as_ref()));
        conditions.equal("state", filter.state.map(|state| state.as_str().to_owned()));
        if filter.open_only || filter.state.is_some_and(TurnState::is_open) {
            conditions.also(OPEN);
        }
        let (sql, values) = conditions.statement("turn", "created_at DESC, rowid DESC", filter.limit);
        self.many("turn", &sql, rusqlite::params_from_iter(values), turn)
    }

    /// The open turn of the unit; there is at most one (ROUND-09).
    pub fn open_turn(&self, unit: &UnitRef) -> Result<Option<TurnRow>, StoreError> {
        self.one("turn", &format!("SELECT * FROM turn WHERE unit = ?1 AND {OPEN}"), [text(unit)], turn)
    }

    /// The open turn of the session, the newest where there are several.
    pub fn open_turn_of_session(&self, id: SessionId) -> Result<Option<TurnRow>, StoreError> {
        let sql = format!("SELECT * FROM turn WHERE session = ?1 AND {OPEN} ORDER BY created_at DESC, rowid DESC LIMIT 1");
        self.one("turn", &sql, [text(id)], turn)
    }

    /// The turn that the session was given last, open or not.
    pub fn newest_turn_of_session(&self, id: SessionId) -> Result<Option<TurnRow>, StoreError> {
        let sql = "SELECT * FROM turn WHERE session = ?1 ORDER BY created_at DESC, rowid DESC LIMIT 1";
        self.one("turn", sql, [text(id)], turn)
    }

    /// The unit's turn with the highest number.
    pub fn newest_turn(&self, unit: &UnitRef) -> Result<Option<TurnRow>, StoreError> {
        self.one("turn", "SELECT * FROM turn WHERE unit = ?1 ORDER BY seq DESC LIMIT 1", [text(unit)], turn)
    }

    /// The number that the unit's next turn has, from 1.
    pub fn next_seq(&self, unit: &UnitRef) -> Result<u64, StoreError> {
        self.number("turn", "SELECT coalesce(max(seq), 0) + 1 AS n FROM turn WHERE unit = ?1", [text(unit)])
    }

    /// The turns of which a process is known and something of its group may be left (RUN-07).
    pub fn turns_with_live_group(&self) -> Result<Vec<TurnRow>, StoreError> {
        let sql = "SELECT * FROM turn WHERE pid IS NOT NULL AND group_ended = 0 ORDER BY created_at, rowid";
        self.many("turn", sql, [], turn)
    }

    /// The turns that a process works on: starting, sent or started; oldest first.
    pub fn running_turns(&self) -> Result<Vec<TurnRow>, StoreError> {
        let sql = format!("SELECT * FROM turn WHERE {OPEN} AND state <> 'asked' ORDER BY created_at, rowid");
        self.many("turn", &sql, [], turn)
    }

    /// How many rounds the loop itself gave on this head of the unit; one that failed before its prompt was given does not count.
    pub fn rounds_on(&self, unit: &UnitRef, head: &str) -> Result<u64, StoreError> {
        self.number(
            "turn",
            "SELECT count(*) AS n FROM turn
             WHERE unit = ?1 AND head = ?2 AND started_by = 'loop' AND NOT (state = 'failed' AND sent_at IS NULL) AND blocked = 0",
            (text(unit), head),
        )
    }

    /// A recorded call of a tool (MCP-06).
    pub fn tool_call(&self, of: TurnId, tool: &str, key: &str) -> Result<Option<ToolCallRow>, StoreError> {
        let sql = "SELECT * FROM tool_call WHERE turn = ?1 AND tool = ?2 AND key = ?3";
        self.one("tool_call", sql, (text(of), tool, key), |row| {
            Ok(ToolCallRow {
                turn: row.parsed("turn")?,
                tool: row.text("tool")?,
                key: row.text("key")?,
                arguments: row.text("arguments")?,
                post: row.opt_parsed("post")?,
                answer: row.opt_json("answer")?,
            })
        })
    }

    /// The effects of a turn, each with `declared`, `due`, `applied` or `void`.
    pub fn effects(&self, of: TurnId) -> Result<Vec<(String, String)>, StoreError> {
        self.many("effect", "SELECT name, state FROM effect WHERE turn = ?1 ORDER BY name", [text(of)], |row| {
            Ok((row.text("name")?, row.text("state")?))
        })
    }

    /// Every effect that is due, the one that waited longest first.
    pub fn due_effects(&self) -> Result<Vec<(TurnId, String)>, StoreError> {
        self.many("effect", "SELECT turn, name FROM effect WHERE state = 'due' ORDER BY at, turn, name", [], |row| {
            Ok((row.parsed("turn")?, row.text("name")?))
        })
    }
}
