//! Drafts, their texts and their effects.

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::id::{PostId, TaskId};

use super::Writes;
use super::units::unwritable;
use crate::convert::{ms, opt_ms, opt_str, text};
use crate::error::StoreError;
use crate::rows::{DraftRow, RevisionRow};

impl Writes<'_> {
    /// Writes a new draft beside its post, which is held.
    pub fn insert_draft(&self, row: &DraftRow) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO draft (id, purpose, delivery, broadcast, task, proposer, proposer_name, session, turn, key, reason, edited_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                text(row.id),
                row.purpose,
                row.delivery.as_str(),
                row.broadcast,
                opt_str(row.task.as_ref()),
                row.proposer.kind(),
                row.proposer.name(),
                opt_str(row.session.as_ref()),
                opt_str(row.turn.as_ref()),
                row.key,
                row.reason,
                opt_ms(row.edited_at),
            ],
        )?;
        Ok(())
    }

    /// Writes a text with the gate that asks about it; neither changes any more.
    pub fn insert_revision(&self, row: &RevisionRow) -> Result<(), StoreError> {
        let mentions = serde_json::to_string(&row.mentions).map_err(unwritable("draft_revision", "mentions"))?;
        self.run(
            "INSERT INTO draft_revision (draft, n, gate, text, mentions, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![text(row.draft), row.n, text(row.gate), row.text, mentions, ms(row.at)],
        )?;
        Ok(())
    }

    /// Notes that the person edited a draft.
    pub fn set_draft_edited(&self, id: PostId, broadcast: bool, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE draft SET edited_at = ?2, broadcast = ?3 WHERE id = ?1";
        self.set("draft", id, sql, params![text(id), ms(now), broadcast])
    }

    /// Notes why a draft was dropped.
    pub fn set_draft_reason(&self, id: PostId, reason: &str) -> Result<(), StoreError> {
        self.set("draft", id, "UPDATE draft SET reason = ?2 WHERE id = ?1", params![text(id), reason])
    }

    /// Puts a draft on a task (GATE-30).
    pub fn set_draft_task(&self, id: PostId, task: Option<TaskId>) -> Result<(), StoreError> {
        self.set("draft", id, "UPDATE draft SET task = ?2 WHERE id = ?1", params![text(id), opt_str(task.as_ref())])
    }

    /// Declares an effect of a draft (E1).
    pub fn declare_draft_effect(&self, draft: PostId, name: &str, now: Timestamp) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO draft_effect (draft, name, state, at) VALUES (?1, ?2, 'declared', ?3) ON CONFLICT (draft, name) DO NOTHING",
            params![text(draft), name, ms(now)],
        )?;
        Ok(())
    }

    /// Settles a declared or due effect as `applied` or `void`, once (E2, E4).
    pub fn settle_draft_effect(&self, draft: PostId, name: &str, to: &str, now: Timestamp) -> Result<(), StoreError> {
        let sql = "UPDATE draft_effect SET state = ?3, at = ?4 WHERE draft = ?1 AND name = ?2 AND state IN ('declared', 'due')";
        self.set("draft_effect", name, sql, params![text(draft), name, to, ms(now)])
    }
}
