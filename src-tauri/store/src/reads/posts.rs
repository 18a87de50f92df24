//! The post ledger.

use wloop_core::github::{RemotePost, Shape};
use wloop_core::id::{PostId, TurnId, UnitRef};
use wloop_core::post::PostState;

use super::{Conditions, Reads};
use crate::convert::{Cols, opt_str, review_event, text};
use crate::detail::from_json;
use crate::error::StoreError;
use crate::rows::{AttemptRow, PostRow};

/// The states of the schema's index of posts that still want something.
const MOVING: &str = "state IN ('queued', 'sending', 'failed', 'held')";

/// Which posts; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostFilter {
    /// On this unit.
    pub unit: Option<UnitRef>,
    /// Of this turn.
    pub turn: Option<TurnId>,
    /// In this state.
    pub state: Option<PostState>,
    /// At most so many.
    pub limit: Option<usize>,
}

fn is_moving(state: PostState) -> bool {
    match state {
        PostState::Held | PostState::Queued | PostState::Sending | PostState::Failed => true,
        PostState::Sent | PostState::Dropped => false,
    }
}

fn shape(row: &Cols<'_, '_>) -> Result<Shape, StoreError> {
    let word = row.text("shape")?;
    match word.as_str() {
        "review" => Ok(Shape::Review {
            event: row.word("event", review_event)?,
            comments: from_json(&row.text("comments")?).map_err(|fault| row.fault("comments", fault))?,
        }),
        "comment" => Ok(Shape::Comment),
        "reply" => Ok(Shape::Reply { in_reply_to: row.count("in_reply_to")? }),
        _ => Err(row.fault("shape", format_args!("`{word}` is no shape"))),
    }
}

fn remote(row: &Cols<'_, '_>) -> Result<Option<RemotePost>, StoreError> {
    let Some(node_id) = row.opt_text("remote_node_id")? else {
        return Ok(None);
    };
    Ok(Some(RemotePost { node_id, database_id: row.count("remote_database_id")?, url: row.opt_text("url")?.unwrap_or_default() }))
}

pub(super) fn post(row: &Cols<'_, '_>) -> Result<PostRow, StoreError> {
    Ok(PostRow {
        id: row.parsed("id")?,
        unit: row.parsed("unit")?,
        turn: row.opt_parsed("turn")?,
        gate: row.parsed("gate")?,
        shape: shape(row)?,
        text: row.text("text")?,
        body: row.text("body")?,
        mentions: serde_json::from_str(&row.text("mentions")?).map_err(|fault| row.fault("mentions", fault))?,
        moved: serde_json::from_str(&row.text("moved")?).map_err(|fault| row.fault("moved", fault))?,
        head: row.text("head")?,
        state: row.word("state", PostState::from_word)?,
        maybe_posted: row.flag("maybe_posted")?,
        remote: remote(row)?,
        cause: row.text("cause")?,
        started_at: row.opt_time("started_at")?,
        doubt_at: row.opt_time("doubt_at")?,
        look_ups: row.small("look_ups")?,
        complete_look_ups: row.small("complete_look_ups")?,
        next_at: row.opt_time("next_at")?,
        send_if_absent: row.flag("send_if_absent")?,
        retried_at: row.opt_time("retried_at")?,
        created_at: row.time("created_at")?,
        changed_at: row.time("changed_at")?,
    })
}

fn attempt(row: &Cols<'_, '_>) -> Result<AttemptRow, StoreError> {
    Ok(AttemptRow {
        post: row.parsed("post")?,
        n: row.small("n")?,
        generation: row.int("generation")?,
        started_at: row.time("started_at")?,
        ended: row.opt_time("ended_at")?.zip(row.opt_text("result")?),
        detail: row.text("detail")?,
    })
}

impl Reads<'_> {
    /// A post.
    pub fn post(&self, id: PostId) -> Result<Option<PostRow>, StoreError> {
        self.one("post", "SELECT * FROM post WHERE id = ?1", [text(id)], post)
    }

    /// Posts, newest first.
    pub fn posts(&self, filter: &PostFilter) -> Result<Vec<PostRow>, StoreError> {
        let mut conditions = Conditions::default();
        conditions.equal("unit", opt_str(filter.unit.as_ref()));
        conditions.equal("turn", opt_str(filter.turn.as_ref()));
        conditions.equal("state", filter.state.map(|state| state.as_str().to_owned()));
        if filter.state.is_some_and(is_moving) {
            conditions.also(MOVING);
        }
        let (sql, values) = conditions.statement("post", "created_at DESC, rowid DESC", filter.limit);
        self.many("post", &sql, rusqlite::params_from_iter(values), post)
    }

    /// The posts in a state, oldest first.
    pub fn posts_in(&self, state: PostState) -> Result<Vec<PostRow>, StoreError> {
        let moving = if is_moving(state) { format!(" AND {MOVING}") } else { String::new() };
        let sql = format!("SELECT * FROM post WHERE state = ?1{moving} ORDER BY created_at, rowid");
        self.many("post", &sql, [state.as_str()], post)
    }

    /// How many posts of rounds failed.
    pub fn posts_failed_of_rounds(&self) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) AS n FROM post WHERE state = 'failed' AND {MOVING} AND turn IS NOT NULL");
        self.number("post", &sql, [])
    }

    /// The post that the provider calls so: what comes back in a read and is our own (GH-PUB-10).
    pub fn post_by_remote(&self, node_id: &str) -> Result<Option<PostRow>, StoreError> {
        self.one("post", "SELECT * FROM post WHERE remote_node_id = ?1", [node_id], post)
    }

    /// The reviews of the unit that reached the provider, oldest first.
    pub fn sent_reviews(&self, unit: &UnitRef) -> Result<Vec<PostRow>, StoreError> {
        let sql = "SELECT * FROM post WHERE unit = ?1 AND shape = 'review' AND state = 'sent' ORDER BY created_at, rowid";
        self.many("post", sql, [text(unit)], post)
    }

    /// The attempts of a post, in order.
    pub fn attempts(&self, of: PostId) -> Result<Vec<AttemptRow>, StoreError> {
        self.many("post_attempt", "SELECT * FROM post_attempt WHERE post = ?1 ORDER BY n", [text(of)], attempt)
    }

    /// The attempt of a post that has not ended; there is at most one.
    pub fn open_attempt(&self, of: PostId) -> Result<Option<AttemptRow>, StoreError> {
        self.one("post_attempt", "SELECT * FROM post_attempt WHERE post = ?1 AND ended_at IS NULL", [text(of)], attempt)
    }
}
