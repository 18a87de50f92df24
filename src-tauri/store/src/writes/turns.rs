//! Sessions, turns, their tool calls and their effects.

use jiff::Timestamp;
use rusqlite::params;
use serde_json::Value;
use wloop_core::id::{SessionId, TurnId};
use wloop_core::turn::TurnState;

use super::Writes;
use crate::convert::{int, ms, opt_ms, opt_str, text};
use crate::error::StoreError;
use crate::rows::{ProcessRow, SessionRow, ToolCallRow, TurnRow};

/// What changes with a turn's state; what is `None` stays.
#[derive(Debug, Clone, Copy)]
pub struct TurnChange<'a> {
    /// Why it failed or was dismissed.
    pub cause: Option<&'a str>,
    /// The verdict it recorded.
    pub verdict: Option<&'a str>,
    /// Its record.
    pub record: Option<&'a Value>,
    /// When.
    pub now: Timestamp,
}

impl Writes<'_> {
    /// Writes a new session.
    pub fn insert_session(&self, row: &SessionRow) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO session (id, agent, manager, state, folder, remote, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![text(row.id), row.agent, row.manager, row.state, row.folder, row.remote, ms(row.created_at)],
        )?;
        Ok(())
    }

    /// Sets a session to `active`, `dormant` or `closed`.
    pub fn set_session_state(&self, id: SessionId, state: &str) -> Result<(), StoreError> {
        self.set("session", id, "UPDATE session SET state = ?2 WHERE id = ?1", params![text(id), state])
    }

    /// Notes the agent's own id of a session.
    pub fn set_session_remote(&self, id: SessionId, remote: &str) -> Result<(), StoreError> {
        self.set("session", id, "UPDATE session SET remote = ?2 WHERE id = ?1", params![text(id), remote])
    }

    /// Writes a new turn with its pins; a unit has one open turn at most (ROUND-09).
    pub fn insert_turn(&self, row: &TurnRow) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO turn (id, unit, seq, intent, intent_version, stage, state, started_by, workflow, item, gate, session,
                 agent, head, base, merge_base, covered, guidance, workspace, generation, claimed, pid, pid_start, pgid,
                 group_ended, cancel_by, created_at, sent_at, started_at, ended_at, verdict, record, cause)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
                 ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33)",
            params![
                text(row.id),
                text(&row.unit),
                int(row.seq)?,
                row.intent,
                row.intent_version,
                row.stage,
                row.state.as_str(),
                if row.by_hand { "hand" } else { "loop" },
                row.workflow,
                text(row.item),
                text(row.gate),
                text(row.session),
                row.agent,
                row.head,
                row.base,
                row.merge_base,
                row.covered.to_string(),
                row.guidance,
                row.workspace,
                row.generation,
                row.claimed,
                row.process.as_ref().map(|process| &process.pid),
                row.process.as_ref().map(|process| &process.start),
                row.process.as_ref().map(|process| &process.pgid),
                row.group_ended,
                row.cancel_by,
                ms(row.created_at),
                opt_ms(row.sent_at),
                opt_ms(row.started_at),
                opt_ms(row.ended_at),
                row.verdict,
                opt_str(row.record.as_ref()),
                row.cause,
            ],
        )?;
        Ok(())
    }

    /// Takes a turn that is starting for its runner. False when it was taken, has moved on, is of another daemon, or is not there:
    /// then nothing may be started.
    pub fn claim_turn(&self, id: TurnId, generation: i64) -> Result<bool, StoreError> {
        let sql = "UPDATE turn SET claimed = 1 WHERE id = ?1 AND generation = ?2 AND claimed = 0 AND state = 'starting'";
        Ok(self.run(sql, params![text(id), generation])? == 1)
    }

    /// Notes where a turn runs, and the merge base that its workspace told.
    pub fn set_turn_workspace(&self, id: TurnId, path: &str, merge_base: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE turn SET workspace = ?2, merge_base = coalesce(?3, merge_base) WHERE id = ?1";
        self.set("turn", id, sql, params![text(id), path, merge_base])
    }

    /// Notes a turn's process (RUN-07); of its group something may be left from then on.
    pub fn set_turn_process(&self, id: TurnId, process: ProcessRow) -> Result<(), StoreError> {
        let sql = "UPDATE turn SET pid = ?2, pid_start = ?3, pgid = ?4, group_ended = 0 WHERE id = ?1";
        self.set("turn", id, sql, params![text(id), process.pid, process.start, process.pgid])
    }

    /// Moves a turn on, only from `from`, and notes when it was sent, first taken up or ended.
    pub fn set_turn_state(&self, id: TurnId, from: TurnState, to: TurnState, change: &TurnChange<'_>) -> Result<(), StoreError> {
        let now = ms(change.now);
        let sent = (to == TurnState::Sent).then_some(now);
        let started = (to == TurnState::Started).then_some(now);
        let ended = (!to.is_open()).then_some(now);
        self.set(
            "turn",
            id,
            "UPDATE turn SET state = ?3, cause = coalesce(?4, cause), verdict = coalesce(?5, verdict),
                 record = coalesce(?6, record), sent_at = coalesce(sent_at, ?7), started_at = coalesce(started_at, ?8),
                 ended_at = ?9
             WHERE id = ?1 AND state = ?2",
            params![
                text(id),
                from.as_str(),
                to.as_str(),
                change.cause,
                change.verdict,
                opt_str(change.record),
                sent,
                started,
                ended,
            ],
        )
    }

    /// Notes what a turn recorded, while its state stays.
    pub fn set_turn_record(&self, id: TurnId, verdict: &str, record: &Value) -> Result<(), StoreError> {
        let sql = "UPDATE turn SET verdict = ?2, record = ?3 WHERE id = ?1";
        self.set("turn", id, sql, params![text(id), verdict, record.to_string()])
    }

    /// Notes a cause or a warning on a turn.
    pub fn set_turn_cause(&self, id: TurnId, cause: &str) -> Result<(), StoreError> {
        self.set("turn", id, "UPDATE turn SET cause = ?2 WHERE id = ?1", params![text(id), cause])
    }

    /// Notes who asked to cancel a turn.
    pub fn set_turn_cancel(&self, id: TurnId, by: &str) -> Result<(), StoreError> {
        self.set("turn", id, "UPDATE turn SET cancel_by = ?2 WHERE id = ?1", params![text(id), by])
    }

    /// Notes that nothing is left of a turn's process group.
    pub fn set_group_ended(&self, id: TurnId) -> Result<(), StoreError> {
        self.set("turn", id, "UPDATE turn SET group_ended = 1 WHERE id = ?1", [text(id)])
    }

    /// Writes a call of a tool, once for a turn, a tool and a key (MCP-06).
    pub fn put_tool_call(&self, row: &ToolCallRow, now: Timestamp) -> Result<(), StoreError> {
        let sql = "INSERT INTO tool_call (turn, tool, key, arguments, post, answer, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (turn, tool, key) DO NOTHING";
        self.set(
            "tool_call",
            &row.key,
            sql,
            params![
                text(row.turn),
                row.tool,
                row.key,
                row.arguments,
                opt_str(row.post.as_ref()),
                opt_str(row.answer.as_ref()),
                ms(now),
            ],
        )
    }

    /// Notes the answer of a recorded call.
    pub fn set_tool_answer(&self, turn: TurnId, tool: &str, key: &str, answer: &Value) -> Result<(), StoreError> {
        let sql = "UPDATE tool_call SET answer = ?4 WHERE turn = ?1 AND tool = ?2 AND key = ?3";
        self.set("tool_call", key, sql, params![text(turn), tool, key, answer.to_string()])
    }

    /// Declares an effect of a turn; one that is declared already stays as it is.
    pub fn declare_effect(&self, turn: TurnId, name: &str, now: Timestamp) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO effect (turn, name, state, at) VALUES (?1, ?2, 'declared', ?3) ON CONFLICT (turn, name) DO NOTHING",
            params![text(turn), name, ms(now)],
        )?;
        Ok(())
    }

    /// Moves an effect on, only from `from`; one that was applied or is void never changes.
    pub fn set_effect(&self, turn: TurnId, name: &str, from: &str, to: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE effect SET state = ?4, at = ?5 WHERE turn = ?1 AND name = ?2 AND state = ?3";
        self.set("effect", name, sql, params![text(turn), name, from, to, ms(now)])
    }

    /// Notes that a declared or due effect was applied.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it was before, is void, or was never declared.
    pub fn apply_effect(&self, turn: TurnId, name: &str, now: Timestamp) -> Result<(), StoreError> {
        self.settle_effect(turn, name, "applied", now)
    }

    /// Notes that a declared or due effect never comes.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it is void already, was applied, or was never declared.
    pub fn void_effect(&self, turn: TurnId, name: &str, now: Timestamp) -> Result<(), StoreError> {
        self.settle_effect(turn, name, "void", now)
    }

    fn settle_effect(&self, turn: TurnId, name: &str, to: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE effect SET state = ?3, at = ?4 WHERE turn = ?1 AND name = ?2 AND state IN ('declared', 'due')";
        self.set("effect", name, sql, params![text(turn), name, to, ms(now)])
    }
}
