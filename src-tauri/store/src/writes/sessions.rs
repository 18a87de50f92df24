//! What was typed into sessions, and what hooks report of them.

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::id::{SessionId, TurnId};

use super::Writes;
use crate::convert::{ms, text};
use crate::error::StoreError;

impl Writes<'_> {
    /// Notes that the loop typed a turn's prompt into a session; once for each turn.
    pub fn loop_typed(&self, session: SessionId, turn: TurnId, now: Timestamp) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO prompt (session, typist, turn, at) VALUES (?1, 'loop', ?2, ?3)",
            params![text(session), text(turn), ms(now)],
        )?;
        Ok(())
    }

    /// Notes that the person typed into a session.
    pub fn person_typed(&self, session: SessionId, now: Timestamp) -> Result<(), StoreError> {
        self.run("INSERT INTO prompt (session, typist, at) VALUES (?1, 'person', ?2)", params![text(session), ms(now)])?;
        Ok(())
    }

    /// Notes what a hook reported. That prompts are reported stays so.
    pub fn put_hooked(&self, session: SessionId, reports_prompts: bool, works: bool, now: Timestamp) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO hooked (session, reports_prompts, works, seen_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session) DO UPDATE SET reports_prompts = max(reports_prompts, excluded.reports_prompts),
                 works = excluded.works, seen_at = excluded.seen_at",
            params![text(session), reports_prompts, works, ms(now)],
        )?;
        Ok(())
    }
}
