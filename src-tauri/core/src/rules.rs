//! What a person wrote, as checked values: configuration, profile, predicates, approval tables.

pub mod config;
pub mod fault;
pub mod policy;
pub mod predicate;
pub mod profile;
mod read;
pub mod registry;
pub mod steps;
pub mod value;
pub mod words;

#[cfg(test)]
mod tests;
