//! Journeys: the real daemon, the real command line and the small GitHub together.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails it, with the reason")]

mod agents;
mod api;
mod bad_input;
mod callers;
mod conformance;
mod crashes;
mod facts;
mod gh;
mod github_provider;
mod outbox;
mod real_agents;
mod roads;
mod rounds;
mod stops;
mod tidy;
