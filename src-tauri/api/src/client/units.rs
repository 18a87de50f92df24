//! Calls about one unit, and about what holds its rounds.

use super::{Client, ClientError};
use crate::operation::{self, Operation};
use crate::types::{Explained, Fact, Holds, PauseRequest, UnitDetail};

impl Client {
    /// A unit, in any spelling that the command line takes: its rounds, and why no other runs.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn unit(&self, unit: &str) -> Result<UnitDetail, ClientError> {
        let (provider, key) = provider_and_key(unit);
        self.read(&operation::UNIT, &[provider, key], &[]).await
    }

    /// Every fact of a unit.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn unit_facts(&self, unit: &str) -> Result<Vec<Fact>, ClientError> {
        let (provider, key) = provider_and_key(unit);
        self.read(&operation::UNIT_FACTS, &[provider, key], &[]).await
    }

    /// Whether each workflow would act on a unit now, and why, in any spelling that the command line takes.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn unit_explain(&self, unit: &str) -> Result<Vec<Explained>, ClientError> {
        let (provider, key) = provider_and_key(unit);
        self.read(&operation::UNIT_EXPLAIN, &[provider, key], &[]).await
    }

    /// Pauses, resumes, mutes or unmutes a unit, in any spelling that the command line takes: `operation` is one of the four.
    ///
    /// # Errors
    /// See [`ClientError`]; an unknown unit is a [`Problem`] of status 404.
    pub async fn hold_unit(&self, operation: &Operation, unit: &str) -> Result<UnitDetail, ClientError> {
        let (provider, key) = provider_and_key(unit);
        self.write(operation, &[provider, key], None::<&()>).await
    }

    /// Pauses all rounds.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pause(&self, body: &PauseRequest) -> Result<Holds, ClientError> {
        self.write(&operation::PAUSE, &[], Some(body)).await
    }

    /// Resumes, mutes or unmutes everything: `operation` is one of the three.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn hold_all(&self, operation: &Operation) -> Result<Holds, ClientError> {
        self.write(operation, &[], None::<&()>).await
    }
}

/// What the routes of a unit take: `provider:key` as it is, any other spelling as a pull request's.
fn provider_and_key(unit: &str) -> (&str, &str) {
    let unit = unit.trim();
    match unit.split_once(':') {
        Some((provider, key)) if !key.starts_with("//") && !unit.contains('#') => (provider, key),
        _ => ("github", unit),
    }
}
