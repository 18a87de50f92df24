//! What the engine tells the ledger, inside one transaction.

use std::cell::Cell;
use std::ops::Deref;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, Params};

use crate::convert::ms;
use crate::error::StoreError;
use crate::reads::Reads;

mod drafts;
mod events;
mod gates;
mod plan;
mod posts;
mod sessions;
mod stops;
mod turns;
mod units;

pub use turns::TurnChange;

/// The writes of one transaction; its reads see what it has written. Every write fails with [`StoreError::Refused`] where the schema
/// forbids the row, and with [`StoreError::Conflict`] where it is a compare-and-set and the row is not, or no longer, as expected.
#[derive(Debug)]
pub struct Writes<'a> {
    reads: Reads<'a>,
    last_event: Cell<Option<i64>>,
}

impl<'a> Deref for Writes<'a> {
    type Target = Reads<'a>;

    fn deref(&self) -> &Self::Target {
        &self.reads
    }
}

impl<'a> Writes<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self { reads: Reads::new(connection), last_event: Cell::new(None) }
    }

    /// The last event that the transaction recorded.
    pub(crate) fn last_event(&self) -> Option<i64> {
        self.last_event.get()
    }

    /// Runs a statement and gives how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        let mut statement = self.connection().prepare_cached(sql).map_err(|source| self.fault(source))?;
        statement.execute(params).map_err(|source| self.fault(source))
    }

    /// Runs a compare-and-set of one row.
    fn set(&self, table: &'static str, id: impl ToString, sql: &str, params: impl Params) -> Result<(), StoreError> {
        if self.run(sql, params)? == 1 {
            return Ok(());
        }
        Err(StoreError::Conflict { table, id: id.to_string() })
    }

    /// Whether the transaction still stands. Some failures end it at once: what is written after one of these would be kept by itself.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        !self.connection().is_autocommit()
    }

    /// Runs a part of the transaction whose failure takes back that part alone: one bad row then stops nothing else.
    ///
    /// # Errors
    /// What `part` returns; what it wrote is then taken back.
    pub fn sheltered<T, E: From<StoreError>>(&self, part: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let batch = |sql: &str| self.connection().execute_batch(sql).map_err(|source| E::from(self.fault(source)));
        batch("SAVEPOINT part")?;
        let result = part();
        // A full disk, among others, takes back the whole transaction by itself: what went wrong is told, and nothing is written past it.
        if result.is_err() && !self.is_under_way() {
            return result;
        }
        batch(if result.is_ok() { "RELEASE part" } else { "ROLLBACK TO part; RELEASE part" })?;
        result
    }

    /// Moves every time that something waits for back along with a clock that was set back: sweeps, waits and look-ups keep what was
    /// left of them, and so does a window that was opened under the clock as it was before (WIN-19); a post is looked for from when it
    /// began at the latest. What else was written before the clock went wrong stays: its times were right.
    pub fn move_times_back(&self, back: SignedDuration, now: Timestamp) -> Result<(), StoreError> {
        let back = i64::try_from(back.as_millis()).unwrap_or(i64::MAX);
        for sql in [
            "UPDATE provider SET next_sweep_at = max(0, next_sweep_at - ?1), next_slow_at = max(0, next_slow_at - ?1),
                                 blocked_until = blocked_until - ?1",
            "UPDATE pull_request SET read_after = max(0, read_after - ?1) WHERE wants_detail = 1",
            "UPDATE plan_item SET try_after = max(0, try_after - ?1)
             WHERE state IN ('waiting', 'counting_down', 'released', 'capped', 'blocked')",
            "UPDATE post SET next_at = next_at - ?1 WHERE state IN ('queued', 'sending')",
            // A look-up that begins too early finds all the same; one that begins too late does not.
            "UPDATE post SET started_at = max(0, started_at - ?1) WHERE state IN ('queued', 'sending', 'failed')",
        ] {
            self.run(sql, [back])?;
        }
        for sql in [
            "UPDATE gate SET deadline = deadline - ?1 WHERE status = 'open' AND deadline IS NOT NULL AND opened_at > ?2",
            "UPDATE post SET doubt_at = doubt_at - ?1 WHERE state IN ('queued', 'sending', 'failed') AND doubt_at > ?2",
        ] {
            self.run(sql, [back, ms(now)])?;
        }
        Ok(())
    }

    /// Notes the latest time that was seen.
    pub fn set_last_now(&self, now: Timestamp) -> Result<(), StoreError> {
        self.set("home", 1, "UPDATE home SET last_now = ?1 WHERE only = 1", [ms(now)])
    }

    /// Notes that the daemon stopped in order; the next open takes the note away.
    pub fn set_stopped(&self, now: Timestamp) -> Result<(), StoreError> {
        self.set("home", 1, "UPDATE home SET stopped_at = ?1 WHERE only = 1", [ms(now)])
    }
}
