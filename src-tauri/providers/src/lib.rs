//! What wloop reads from and writes to the outside. Each provider is a client (the only place that does input and output), a pure
//! conversion into the values of `wloop-core`, and an adapter that puts both behind the [`Provider`] port.

pub mod github;
pub mod port;

pub use github::{Addresses, ConfigFault, GithubConfig, GithubProvider};
pub use port::{DetailRef, FilePatch, HeadNow, InventoryQuery, Provider, ProviderHealth, Quota, Reply, TeamPolicy, Viewer};
