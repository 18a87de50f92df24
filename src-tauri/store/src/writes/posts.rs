//! The post ledger.

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::github::{InlineComment, Shape};
use wloop_core::id::PostId;
use wloop_core::post::PostState;

use super::Writes;
use super::units::unwritable;
use crate::convert::{int, ms, opt_ms, opt_str, text};
use crate::detail::to_json;
use crate::error::StoreError;
use crate::rows::PostRow;

/// A shape's columns: its event, its comments as JSON, and what it replies to.
fn shape_columns(shape: &Shape) -> Result<(Option<&'static str>, String, Option<i64>), StoreError> {
    let none: Vec<InlineComment> = Vec::new();
    let (event, comments, reply) = match shape {
        Shape::Review { event, comments } => (Some(event.as_str()), comments, None),
        Shape::Comment => (None, &none, None),
        Shape::Reply { in_reply_to } => (None, &none, Some(int(*in_reply_to)?)),
    };
    Ok((event, to_json(comments).map_err(unwritable("post", "comments"))?, reply))
}

impl Writes<'_> {
    /// Writes a new post. Queued it needs a gate that let it out, and a turn has one review that may stand at the provider
    /// (DRAFT-06, GH-PUB-02).
    pub fn insert_post(&self, row: &PostRow) -> Result<(), StoreError> {
        let (event, comments, reply) = shape_columns(&row.shape)?;
        let mentions = serde_json::to_string(&row.mentions).map_err(unwritable("post", "mentions"))?;
        let moved = serde_json::to_string(&row.moved).map_err(unwritable("post", "moved"))?;
        let remote = row.remote.as_ref();
        self.run(
            "INSERT INTO post (id, unit, turn, gate, shape, event, in_reply_to, text, body, comments, mentions, head, state,
                 maybe_posted, remote_node_id, remote_database_id, url, cause, started_at, doubt_at, look_ups, complete_look_ups,
                 next_at, send_if_absent, created_at, changed_at, moved, retried_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23,
                 ?24, ?25, ?26, ?27, ?28)",
            params![
                text(row.id),
                text(&row.unit),
                opt_str(row.turn.as_ref()),
                text(row.gate),
                row.shape.name(),
                event,
                reply,
                row.text,
                row.body,
                comments,
                mentions,
                row.head,
                row.state.as_str(),
                row.maybe_posted,
                remote.map(|post| &post.node_id),
                remote.map(|post| int(post.database_id)).transpose()?,
                remote.map(|post| &post.url),
                row.cause,
                opt_ms(row.started_at),
                opt_ms(row.doubt_at),
                row.look_ups,
                row.complete_look_ups,
                opt_ms(row.next_at),
                row.send_if_absent,
                ms(row.created_at),
                ms(row.changed_at),
                moved,
                opt_ms(row.retried_at),
            ],
        )?;
        Ok(())
    }

    /// Writes everything of a post that may change, only while it is in `from`. Its id, unit, turn and the time it was written stay.
    pub fn update_post(&self, id: PostId, from: PostState, row: &PostRow) -> Result<(), StoreError> {
        let (event, comments, reply) = shape_columns(&row.shape)?;
        let mentions = serde_json::to_string(&row.mentions).map_err(unwritable("post", "mentions"))?;
        let moved = serde_json::to_string(&row.moved).map_err(unwritable("post", "moved"))?;
        let remote = row.remote.as_ref();
        self.set(
            "post",
            id,
            "UPDATE post SET gate = ?3, shape = ?4, event = ?5, in_reply_to = ?6, text = ?7, body = ?8, comments = ?9,
                 mentions = ?10, head = ?11, state = ?12, maybe_posted = ?13, remote_node_id = ?14, remote_database_id = ?15,
                 url = ?16, cause = ?17, started_at = ?18, doubt_at = ?19, look_ups = ?20, complete_look_ups = ?21, next_at = ?22,
                 send_if_absent = ?23, changed_at = ?24, moved = ?25, retried_at = ?26
             WHERE id = ?1 AND state = ?2",
            params![
                text(id),
                from.as_str(),
                text(row.gate),
                row.shape.name(),
                event,
                reply,
                row.text,
                row.body,
                comments,
                mentions,
                row.head,
                row.state.as_str(),
                row.maybe_posted,
                remote.map(|post| &post.node_id),
                remote.map(|post| int(post.database_id)).transpose()?,
                remote.map(|post| &post.url),
                row.cause,
                opt_ms(row.started_at),
                opt_ms(row.doubt_at),
                row.look_ups,
                row.complete_look_ups,
                opt_ms(row.next_at),
                row.send_if_absent,
                ms(row.changed_at),
                moved,
                opt_ms(row.retried_at),
            ],
        )
    }

    /// Writes the start of the next attempt of a post and gives its number, from 1; refused while one has not ended.
    pub fn insert_attempt(&self, post: PostId, generation: i64, now: Timestamp) -> Result<u32, StoreError> {
        let next = self.one(
            "post_attempt",
            "SELECT coalesce(max(n), 0) + 1 AS n FROM post_attempt WHERE post = ?1",
            [text(post)],
            |row| row.small("n"),
        )?;
        let n = next.unwrap_or(1);
        self.run(
            "INSERT INTO post_attempt (post, n, generation, started_at) VALUES (?1, ?2, ?3, ?4)",
            params![text(post), n, generation, ms(now)],
        )?;
        Ok(n)
    }

    /// Writes how an attempt ended: `sent`, `refused`, `wait`, `not_reached`, `doubt` or `lost`; once.
    pub fn end_attempt(&self, post: PostId, n: u32, result: &str, detail: &str, now: Timestamp) -> Result<(), StoreError> {
        self.set(
            "post_attempt",
            format_args!("{post}/{n}"),
            "UPDATE post_attempt SET ended_at = ?3, result = ?4, detail = ?5 WHERE post = ?1 AND n = ?2 AND ended_at IS NULL",
            params![text(post), n, ms(now), result, detail],
        )
    }
}
