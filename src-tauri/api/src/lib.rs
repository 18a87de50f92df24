//! The contract of wloop's local API: wire types, the table of operations, and a client for the socket.

pub mod client;
pub mod operation;
pub mod problem;
pub mod types;
