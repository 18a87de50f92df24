//! What the ledger keeps, refuses and survives.

mod disk;
mod fixtures;
mod opening;
mod reading;
mod round_trips;
mod schema;
mod stops;
