//! The commands, one file for each group.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod facts;
pub(crate) mod follow;
pub(crate) mod gates;
pub(crate) mod holds;
pub(crate) mod inbox;
pub(crate) mod outbox;
pub(crate) mod plan;
pub(crate) mod posts;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod turns;
pub(crate) mod workflows;
