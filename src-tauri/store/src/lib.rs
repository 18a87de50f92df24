//! The ledger of wloop: one SQLite file with one writer (F50). It keeps what the engine tells it and answers what it is asked; it
//! decides nothing. What the specification calls a machine stands in the schema as checks and triggers too, so that a row can only
//! be wrong where this crate's caller and the schema are wrong in the same way.
//!
//! Times go into rows in milliseconds: what is finer is cut off. A value comes back from a row as it was put, or as an error that
//! names the table and the column.

mod convert;
mod detail;
mod error;
mod migrate;
mod open;
mod reads;
pub mod rows;
mod writes;

#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use open::{Reader, Store};
pub use reads::{DraftFilter, GateFilter, IdTable, PostFilter, Reads, StatusCounts, TurnFilter};
pub use rows::{
    AttemptRow, BlockRow, CapRow, DraftRow, EventRow, GateRow, GuidanceRow, HoldRow, ItemRow, NewEvent, PostRow, ProcessRow,
    ProviderRow, PullRow, RevisionRow, SessionRow, TaskRow, ToolCallRow, TrustRow, TurnRow, UnitRow,
};
pub use writes::{TurnChange, Writes};
