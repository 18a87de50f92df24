//! Error answers: `application/problem+json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every answer that is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// A stable word for the kind of error, such as `not_open`, `not_found`, `invalid`, `forbidden`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What, where and what to do next.
    pub detail: String,
    /// The gate it is about, as it stands now, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Box<crate::types::Gate>>,
    /// The field or argument that was wrong, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// The content type of a [`Problem`].
pub const CONTENT_TYPE: &str = "application/problem+json";
