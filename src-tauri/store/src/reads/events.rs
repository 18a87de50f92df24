//! The record, and the counts that `wloop status` shows.

use wloop_core::event::EventKind;
use wloop_core::id::UnitRef;

use super::{Reads, limit_of};
use crate::convert::{Cols, text};
use crate::error::StoreError;
use crate::rows::{EventRow, NewEvent};

/// What is waiting and what is going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Planned rounds that still want something.
    pub pending_rounds: u64,
    /// Open gates.
    pub open_gates: u64,
    /// Drafts that wait for the person.
    pub drafts_held: u64,
    /// Drafts that failed.
    pub drafts_failed: u64,
    /// Failed posts of rounds.
    pub posts_failed: u64,
    /// Turns that a process works on.
    pub running_turns: u64,
}

fn event(row: &Cols<'_, '_>) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        id: row.int("id")?,
        at: row.time("at")?,
        event: NewEvent {
            kind: row.word("kind", EventKind::from_word)?,
            key: row.text("key")?,
            data: row.json("data")?,
            unit: row.opt_parsed("unit")?,
            task: row.opt_parsed("task")?,
            gate: row.opt_parsed("gate")?,
            turn: row.opt_parsed("turn")?,
            post: row.opt_parsed("post")?,
            actor: row.actor("actor", "actor_ref", "via_session")?,
            chain: serde_json::from_str(&row.text("chain")?).map_err(|fault| row.fault("chain", fault))?,
        },
    })
}

impl Reads<'_> {
    /// The events after `id` in order, at most `limit`; all of them, or those that name the unit (EVT-13).
    pub fn events_after(&self, id: i64, limit: usize, unit: Option<&UnitRef>) -> Result<Vec<EventRow>, StoreError> {
        match unit {
            Some(unit) => self.many(
                "event",
                "SELECT * FROM event WHERE unit = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
                (text(unit), id, limit_of(limit)),
                event,
            ),
            None => self.many("event", "SELECT * FROM event WHERE id > ?1 ORDER BY id LIMIT ?2", (id, limit_of(limit)), event),
        }
    }

    /// The highest id that an event ever had, 0 before the first: removing events does not lower it (EVT-02).
    pub fn last_event_id(&self) -> Result<i64, StoreError> {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'event'";
        Ok(self.one("event", sql, [], |row| row.int("seq"))?.unwrap_or_default())
    }

    /// The counts of `wloop status`, all of one moment.
    pub fn status_counts(&self) -> Result<StatusCounts, StoreError> {
        let counts = self.one(
            "status",
            "SELECT
                 (SELECT count(*) FROM plan_item
                  WHERE state IN ('waiting', 'counting_down', 'released', 'capped', 'blocked')) AS pending_rounds,
                 (SELECT count(*) FROM gate WHERE status = 'open') AS open_gates,
                 (SELECT count(*) FROM post
                  WHERE state = 'failed' AND state IN ('queued', 'sending', 'failed', 'held')
                      AND NOT EXISTS (SELECT 1 FROM draft WHERE draft.id = post.id)) AS posts_failed,
                 (SELECT count(*) FROM post JOIN draft ON draft.id = post.id
                  WHERE state = 'held' AND state IN ('queued', 'sending', 'failed', 'held')) AS drafts_held,
                 (SELECT count(*) FROM post JOIN draft ON draft.id = post.id
                  WHERE state = 'failed' AND state IN ('queued', 'sending', 'failed', 'held')) AS drafts_failed,
                 (SELECT count(*) FROM turn
                  WHERE state IN ('starting', 'sent', 'started', 'asked') AND state <> 'asked') AS running_turns",
            [],
            |row| {
                Ok(StatusCounts {
                    pending_rounds: row.count("pending_rounds")?,
                    open_gates: row.count("open_gates")?,
                    drafts_held: row.count("drafts_held")?,
                    drafts_failed: row.count("drafts_failed")?,
                    posts_failed: row.count("posts_failed")?,
                    running_turns: row.count("running_turns")?,
                })
            },
        )?;
        Ok(counts.unwrap_or_default())
    }
}
