//! Drafts with their posts, and every text that was asked about.

use jiff::Timestamp;
use wloop_core::draft::{Delivery, Proposer};
use wloop_core::id::{GateId, PostId, TaskId, TurnId};
use wloop_core::post::PostState;

use super::Reads;
use super::posts::post;
use crate::convert::{Cols, ms, text};
use crate::error::StoreError;
use crate::rows::{DraftRow, PostRow, RevisionRow, TaskRow};

/// The states of the schema's index of posts that still want something.
const MOVING: &str = "post.state IN ('queued', 'sending', 'failed', 'held')";

/// A draft's own columns, under names that its post's columns leave free.
const COLUMNS: &str = "post.*, draft.id AS draft_id, draft.purpose, draft.delivery, draft.broadcast, draft.task, draft.proposer,
    draft.proposer_name, draft.session, draft.turn AS draft_turn, draft.key, draft.reason, draft.edited_at";

/// Which drafts of the Outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftFilter {
    /// Those that want something of the person: held, failed, in doubt, and queued since before this instant, the daemon's start
    /// (OUT-01).
    Waiting(Timestamp),
    /// Held and failed ones of a task (API-06).
    OfTask(TaskId),
    /// All in a state.
    In(PostState),
    /// All that a turn proposed.
    OfTurn(TurnId),
}

fn draft(row: &Cols<'_, '_>) -> Result<DraftRow, StoreError> {
    let name = row.text("proposer_name")?;
    let session = row.opt_parsed("session")?;
    let proposer = match row.text("proposer")?.as_str() {
        "person" => Proposer::Person,
        "session" => Proposer::Intent(name),
        "workflow" => Proposer::Workflow(name),
        "rule" => Proposer::Rule(name),
        other => return Err(row.fault("proposer", format_args!("`{other}` proposes nothing"))),
    };
    Ok(DraftRow {
        id: row.parsed("draft_id")?,
        purpose: row.text("purpose")?,
        delivery: row.word("delivery", Delivery::from_word)?,
        broadcast: row.flag("broadcast")?,
        task: row.opt_parsed("task")?,
        proposer,
        session,
        turn: row.opt_parsed("draft_turn")?,
        key: row.opt_text("key")?,
        reason: row.text("reason")?,
        edited_at: row.opt_time("edited_at")?,
    })
}

fn both(row: &Cols<'_, '_>) -> Result<(DraftRow, PostRow), StoreError> {
    Ok((draft(row)?, post(row)?))
}

fn revision(row: &Cols<'_, '_>) -> Result<RevisionRow, StoreError> {
    Ok(RevisionRow {
        draft: row.parsed("draft")?,
        n: row.small("n")?,
        gate: row.parsed("gate")?,
        text: row.text("text")?,
        mentions: serde_json::from_str(&row.text("mentions")?).map_err(|fault| row.fault("mentions", fault))?,
        at: row.time("at")?,
    })
}

impl Reads<'_> {
    /// A draft with its post.
    pub fn draft(&self, id: PostId) -> Result<Option<(DraftRow, PostRow)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM draft JOIN post ON post.id = draft.id WHERE draft.id = ?1");
        self.one("draft", &sql, [text(id)], both)
    }

    /// The draft that the person proposed under a name of theirs.
    pub fn draft_by_key(&self, key: &str) -> Result<Option<(DraftRow, PostRow)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM draft JOIN post ON post.id = draft.id WHERE draft.key = ?1");
        self.one("draft", &sql, [key], both)
    }

    /// Drafts with their posts, newest first (OUT-10).
    pub fn drafts(&self, filter: DraftFilter) -> Result<Vec<(DraftRow, PostRow)>, StoreError> {
        let (condition, value) = match filter {
            DraftFilter::Waiting(start) => (
                format!(
                    "{MOVING} AND (post.state IN ('held', 'failed') OR (post.state = 'queued' AND post.changed_at < ?1)
                     OR (post.state = 'sending' AND post.doubt_at IS NOT NULL
                         AND NOT EXISTS (SELECT 1 FROM post_attempt WHERE post_attempt.post = post.id AND ended_at IS NULL)))"
                ),
                rusqlite::types::Value::Integer(ms(start)),
            ),
            DraftFilter::OfTask(task) => (
                format!("draft.task = ?1 AND {MOVING} AND post.state IN ('held', 'failed')"),
                rusqlite::types::Value::Text(text(task)),
            ),
            DraftFilter::In(state) => {
                let moving = match state {
                    PostState::Held | PostState::Queued | PostState::Sending | PostState::Failed => format!(" AND {MOVING}"),
                    PostState::Sent | PostState::Dropped => String::new(),
                };
                (format!("post.state = ?1{moving}"), rusqlite::types::Value::Text(state.as_str().to_owned()))
            }
            DraftFilter::OfTurn(turn) => ("draft.turn = ?1".to_owned(), rusqlite::types::Value::Text(text(turn))),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM post JOIN draft ON draft.id = post.id WHERE {condition}
             ORDER BY post.created_at DESC, post.rowid DESC"
        );
        self.many("draft", &sql, [value], both)
    }

    /// The text that a draft gate asks, or asked, about.
    pub fn revision_of_gate(&self, gate: GateId) -> Result<Option<RevisionRow>, StoreError> {
        self.one("draft_revision", "SELECT * FROM draft_revision WHERE gate = ?1", [text(gate)], revision)
    }

    /// Every text of a draft, in order.
    pub fn revisions(&self, draft: PostId) -> Result<Vec<RevisionRow>, StoreError> {
        self.many("draft_revision", "SELECT * FROM draft_revision WHERE draft = ?1 ORDER BY n", [text(draft)], revision)
    }

    /// The effects of a draft with how far each is: `declared`, `due`, `applied` or `void`.
    pub fn draft_effects(&self, draft: PostId) -> Result<Vec<(String, String)>, StoreError> {
        let sql = "SELECT name, state FROM draft_effect WHERE draft = ?1 ORDER BY name";
        self.many("draft_effect", sql, [text(draft)], |row| Ok((row.text("name")?, row.text("state")?)))
    }

    /// Held drafts whose gate is closed: decided, and neither queued nor dropped (F08).
    pub fn stuck_drafts(&self) -> Result<Vec<(DraftRow, PostRow)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM post JOIN draft ON draft.id = post.id JOIN gate ON gate.id = post.gate
             WHERE post.state = 'held' AND {MOVING} AND gate.status <> 'open' ORDER BY post.created_at, post.rowid"
        );
        self.many("draft", &sql, [], both)
    }

    /// Open tasks that exist only to hold gates and hold no open one, oldest first (GATE-58).
    pub fn idle_gate_holders(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.many(
            "task",
            "SELECT * FROM task WHERE ended_at IS NULL AND gate_holder = 1
                 AND EXISTS (SELECT 1 FROM gate WHERE gate.task = task.id)
                 AND NOT EXISTS (SELECT 1 FROM gate WHERE gate.task = task.id AND gate.status = 'open')
             ORDER BY created_at, rowid",
            [],
            super::gates::task,
        )
    }
}
