//! Sessions with what was typed into them.

use jiff::Timestamp;
use wloop_core::id::SessionId;

use super::Reads;
use crate::convert::{Cols, text};
use crate::error::StoreError;
use crate::rows::{HookedRow, PromptRow, SessionRow};

fn prompt(row: &Cols<'_, '_>) -> Result<PromptRow, StoreError> {
    Ok(PromptRow {
        id: row.int("id")?,
        session: row.parsed("session")?,
        by_person: row.text("typist")? == "person",
        turn: row.opt_parsed("turn")?,
        at: row.time("at")?,
    })
}

fn hooked(row: &Cols<'_, '_>) -> Result<HookedRow, StoreError> {
    Ok(HookedRow {
        session: row.parsed("session")?,
        reports_prompts: row.int("reports_prompts")? == 1,
        works: row.int("works")? == 1,
        seen_at: row.time("seen_at")?,
    })
}

impl Reads<'_> {
    /// Sessions, newest first; without the closed ones unless `all`.
    pub fn sessions(&self, all: bool, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let which = if all { "" } else { "WHERE state <> 'closed'" };
        let sql = format!("SELECT * FROM session {which} ORDER BY created_at DESC, rowid DESC LIMIT {limit}");
        self.many("session", &sql, [], super::turns::session)
    }

    /// The session in which an agent's own hooks report that conversation.
    pub fn hooked_session(&self, agent: &str, remote: &str) -> Result<Option<SessionRow>, StoreError> {
        let sql = "SELECT * FROM session WHERE manager = 'hook' AND agent = ?1 AND remote = ?2";
        self.one("session", sql, [agent, remote], super::turns::session)
    }

    /// The session of the loop's in which an agent's conversation was begun; the newest where it was gone on with in another.
    pub fn managed_conversation(&self, remote: &str) -> Result<Option<SessionRow>, StoreError> {
        let sql = "SELECT * FROM session WHERE manager = 'wloop' AND remote = ?1 ORDER BY created_at DESC, rowid DESC LIMIT 1";
        self.one("session", sql, [remote], super::turns::session)
    }

    /// What hooks report of a session; `None` for one of which they told nothing.
    pub fn hooked(&self, id: SessionId) -> Result<Option<HookedRow>, StoreError> {
        self.one("hooked", "SELECT * FROM hooked WHERE session = ?1", [text(id)], hooked)
    }

    /// The newest prompt of a session by that typist.
    pub fn newest_prompt(&self, id: SessionId, by_person: bool) -> Result<Option<PromptRow>, StoreError> {
        let typist = if by_person { "person" } else { "loop" };
        let sql = "SELECT * FROM prompt WHERE session = ?1 AND typist = ?2 ORDER BY id DESC LIMIT 1";
        self.one("prompt", sql, [text(id), typist.to_owned()], prompt)
    }

    /// Whether a turn of the session is on its way: its row is written, and it has neither stopped nor ended.
    pub fn turn_runs_in(&self, id: SessionId) -> Result<bool, StoreError> {
        let sql = "SELECT * FROM turn WHERE session = ?1 AND state IN ('starting', 'sent', 'started') LIMIT 1";
        Ok(self.one("turn", sql, [text(id)], super::turns::turn)?.is_some())
    }

    /// When a session was last seen to be alive: its newest prompt or report, else its beginning.
    pub fn session_seen(&self, row: &SessionRow) -> Result<Timestamp, StoreError> {
        let prompts = [self.newest_prompt(row.id, true)?, self.newest_prompt(row.id, false)?];
        let seen = self.hooked(row.id)?.map(|hooked| hooked.seen_at);
        Ok(prompts.into_iter().flatten().map(|prompt| prompt.at).chain(seen).max().unwrap_or(row.created_at))
    }
}
