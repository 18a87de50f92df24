//! The record.

use jiff::Timestamp;
use rusqlite::params;
use wloop_core::event::EventClass;

use super::Writes;
use crate::convert::{actor_columns, ms, opt_str};
use crate::error::StoreError;
use crate::rows::NewEvent;

impl Writes<'_> {
    /// Records an event and gives its id, which grows and is never used again (EVT-01, EVT-02). Its class follows from its kind.
    pub fn insert_event(&self, event: &NewEvent, now: Timestamp) -> Result<i64, StoreError> {
        let (actor, reference, via) = actor_columns(&event.actor);
        self.run(
            "INSERT INTO event (at, kind, class, key, data, unit, task, gate, turn, post, actor, actor_ref, via_session, chain)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            params![
                ms(now),
                event.kind.as_str(),
                event.kind.class().as_str(),
                event.key,
                event.data.to_string(),
                opt_str(event.unit.as_ref()),
                opt_str(event.task.as_ref()),
                opt_str(event.gate.as_ref()),
                opt_str(event.turn.as_ref()),
                opt_str(event.post.as_ref()),
                actor,
                reference,
                via,
                serde_json::Value::from(event.chain.clone()).to_string(),
            ],
        )?;
        let id = self.connection().last_insert_rowid();
        self.last_event.set(Some(id));
        Ok(id)
    }

    /// Removes the events of a class from before a time, at most `limit`, and tells how many went; one whose gate is open stays.
    /// What was posted or decided is kept for good: the schema refuses to remove it (EVT-11).
    pub fn remove_events(&self, class: EventClass, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
        self.run(
            "DELETE FROM event WHERE id IN (
                 SELECT event.id FROM event LEFT JOIN gate ON gate.id = event.gate
                 WHERE event.class = ?1 AND event.at < ?2 AND gate.status IS NOT 'open' ORDER BY event.id LIMIT ?3)",
            params![class.as_str(), ms(before), limit],
        )
    }
}
