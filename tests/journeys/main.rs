//! Journeys: parts of wloop together, and against the outside that the world plays.

mod github_provider;
