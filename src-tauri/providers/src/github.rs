//! GitHub: github.com, GitHub Enterprise Server and a local server that speaks the same protocol.

mod adapter;
mod address;
mod client;
mod convert;
mod error;
mod graphql;
mod limits;
mod shapes;
mod write;

pub use adapter::GithubProvider;
pub use address::{AddressFault, Addresses, addresses};
pub use client::{Clock, GithubConfig, Jitter};
pub use error::ConfigFault;
pub use graphql::documents;
