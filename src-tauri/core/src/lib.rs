//! What wloop decides, and nothing else: facts, predicates, gates, windows, posts and turns as values and pure functions. Time,
//! ids and everything that was read come in as arguments.

pub mod calendar;
pub mod cap;
pub mod consequence;
pub mod draft;
pub mod event;
pub mod gate;
pub mod github;
pub mod id;
pub mod plan;
pub mod post;
pub mod queue;
pub mod rules;
pub mod session;
pub mod stops;
pub mod turn;
pub mod window;
mod words;
