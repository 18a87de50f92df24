//! What the engine tells the ledger, inside one transaction.

use std::cell::Cell;
use std::ops::Deref;

use jiff::Timestamp;
use rusqlite::{Connection, Params};

use crate::convert::ms;
use crate::error::StoreError;
use crate::reads::Reads;

mod events;
mod gates;
mod plan;
mod posts;
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

    /// Notes the latest time that was seen.
    pub fn set_last_now(&self, now: Timestamp) -> Result<(), StoreError> {
        self.set("home", 1, "UPDATE home SET last_now = ?1 WHERE only = 1", [ms(now)])
    }

    /// Notes that the daemon stopped in order; the next open takes the note away.
    pub fn set_stopped(&self, now: Timestamp) -> Result<(), StoreError> {
        self.set("home", 1, "UPDATE home SET stopped_at = ?1 WHERE only = 1", [ms(now)])
    }
}
