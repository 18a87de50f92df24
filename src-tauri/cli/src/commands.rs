//! The commands, one file for each group.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod follow;
pub(crate) mod gates;
pub(crate) mod inbox;
pub(crate) mod plan;
pub(crate) mod posts;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod turns;
