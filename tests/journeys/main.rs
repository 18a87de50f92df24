//! Journeys: the real daemon, the real command line and the small GitHub together.

mod github_provider;
mod rounds;
mod tidy;
