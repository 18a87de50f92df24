//! The record of what happened.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnitName;

/// One event of the record (spec 7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its id: the cursor of `since`.
    pub id: i64,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The kind.
    pub kind: String,
    /// `posted`, `decided`, `done`, `moved` or `inner`.
    pub class: String,
    /// Short and comparable.
    pub key: String,
    /// Text or JSON.
    pub data: serde_json::Value,
    /// The unit.
    pub unit: Option<UnitName>,
    /// The gate.
    pub gate: Option<String>,
    /// The turn.
    pub turn: Option<String>,
    /// The post.
    pub post: Option<String>,
    /// The task.
    pub task: Option<String>,
    /// Who.
    pub actor: String,
    /// Which rule, session, workflow or account.
    pub actor_ref: Option<String>,
    /// The driven session the person acted through.
    pub via_session: Option<String>,
    /// The workflows that led to it, the first first; empty for what none caused.
    #[serde(default)]
    pub chain: Vec<String>,
    /// How many those are.
    #[serde(default)]
    pub depth: u32,
}
