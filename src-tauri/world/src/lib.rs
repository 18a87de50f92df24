//! The outside of wloop in small: a GitHub with state, reached over real HTTP, on which things go wrong on request.
//!
//! The demo shows it, tests drive it, and a simulator breaks it. It knows nothing of wloop. See [`SmallGithub`] for
//! what it holds and [`Fault`] for what it can be made to do wrong.

// The wide objects of REST answers are written as one literal each.
#![recursion_limit = "512"]

mod acts;
pub mod agent;
mod answer;
mod clock;
mod control;
pub mod demo;
mod diff;
mod error;
mod faults;
mod git;
mod github;
mod graphql;
mod model;
mod quota;
mod refused;
mod rest;
mod reviews;
mod search;
mod seen;
mod server;
mod smart_http;
mod web;
mod world;

pub use error::WorldError;
pub use faults::{Call, Fault, FaultKind, Match};
pub use github::{Options, Resource, SmallGithub};
pub use model::{
    Account, AccountKind, CheckOutcome, NewInlineComment, NewPullRequest, PullState, ReviewEvent, ReviewState, Side,
};
pub use seen::{CommentSeen, InlineSeen, ReviewSeen};
