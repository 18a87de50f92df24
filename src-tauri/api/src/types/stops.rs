//! What stops rounds: trust, holds, and why no round of a unit runs.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnitName;

/// What a trust gate is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// The agent's name.
    pub agent: String,
    /// `owner/repo`, in small letters.
    pub repo: String,
    /// The folder that would be trusted; empty where it is about something else.
    pub folder: String,
    /// The agent's homes that trust is written to, where they are known.
    pub homes: Vec<String>,
    /// `first_run`, `folder`, `sign_in` or `other`.
    pub kind: String,
}

/// Why a workflow has no round on a unit (GH-FACT-29).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The workflow.
    pub workflow: String,
    /// Why, such as `paused` or `it is a draft`.
    pub because: String,
}

/// The body of `POST /api/pause`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// When rounds go on by themselves; without it when they are resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
}

/// What is paused and muted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Holds {
    /// Whether everything is paused.
    pub paused: bool,
    /// Until when, where it goes on by itself.
    #[schemars(with = "Option<String>")]
    pub until: Option<Timestamp>,
    /// Whether nothing is announced.
    pub muted: bool,
    /// Units that are paused or muted by themselves.
    pub units: Vec<HeldUnit>,
}

/// A unit that is paused or muted by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldUnit {
    /// The unit.
    pub unit: UnitName,
    /// `pause` or `mute`.
    pub kind: String,
    /// Since when.
    #[schemars(with = "String")]
    pub since: Timestamp,
}
