//! The GraphQL documents, and the envelope of their answers: data and errors side by side (GH-SYNC-24).

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use wloop_core::github::ReadFault;

use crate::port::Quota;

const SUMMARY: &str = include_str!("queries/summary.graphql");
const INVENTORY: &str = include_str!("queries/inventory.graphql");
const CONNECTIONS: &str = include_str!("queries/connections.graphql");
const DETAIL: &str = include_str!("queries/detail.graphql");
const BY_ID: &str = include_str!("queries/detail_by_id.graphql");
const BY_NUMBER: &str = include_str!("queries/detail_by_number.graphql");
const MORE: &str = include_str!("queries/detail_more.graphql");
const WATCHED: &str = include_str!("queries/watched.graphql");
const THREAD_MORE: &str = include_str!("queries/thread_more.graphql");
const CHECKS: &str = include_str!("queries/checks.graphql");
const CHECKS_MORE: &str = include_str!("queries/checks_more.graphql");

/// One request with `searches` aliases `s0`, `s1` … over the variables `$q0`, `$after0` …, and the viewer (GH-SYNC-11).
pub(crate) fn inventory(searches: usize) -> String {
    let parameters: String = (0..searches).map(|n| format!(", $q{n}: String!, $after{n}: String")).collect();
    let aliases: String = (0..searches)
        .map(|n| format!("  s{n}: search(query: $q{n}, type: ISSUE, first: $first, after: $after{n}) {{ ...Found }}\n"))
        .collect();
    let head = format!(
        "query Inventory($first: Int!{parameters}) {{\n  viewer {{ __typename id login }}\n  rateLimit {{ ...Quota }}\n{aliases}}}\n"
    );
    format!("{head}{INVENTORY}{SUMMARY}")
}

/// The summaries of pull requests by their node ids (GH-SYNC-13).
pub(crate) fn watched() -> String {
    format!("{WATCHED}{SUMMARY}")
}

pub(crate) fn detail_by_id() -> String {
    format!("{BY_ID}{DETAIL}{CONNECTIONS}{CHECKS}{SUMMARY}")
}

pub(crate) fn detail_by_number() -> String {
    format!("{BY_NUMBER}{DETAIL}{CONNECTIONS}{CHECKS}{SUMMARY}")
}

/// The rest of the connections.
pub(crate) fn detail_more() -> String {
    format!("{MORE}{CONNECTIONS}{}", fragment(SUMMARY, "Quota"))
}

pub(crate) fn thread_more() -> String {
    let used = ["Who", "Page", "ThreadComments"].map(|name| fragment(CONNECTIONS, name));
    format!("{THREAD_MORE}{}{}", used.concat(), fragment(SUMMARY, "Quota"))
}

pub(crate) fn checks_more() -> String {
    format!("{CHECKS_MORE}{CHECKS}{}{}", fragment(CONNECTIONS, "Page"), fragment(SUMMARY, "Quota"))
}

/// Every document that is ever sent, with a name: for a check against GitHub's schema.
#[must_use]
pub fn documents() -> Vec<(&'static str, String)> {
    vec![
        ("inventory of one search", inventory(1)),
        ("inventory of twenty searches", inventory(20)),
        ("watched", watched()),
        ("detail_by_id", detail_by_id()),
        ("detail_by_number", detail_by_number()),
        ("detail_more", detail_more()),
        ("thread_more", thread_more()),
        ("checks_more", checks_more()),
    ]
}

fn fragment(text: &str, name: &str) -> String {
    let head = format!("fragment {name} ");
    text.split_inclusive("\n}\n").filter(|part| part.trim_start().starts_with(&head)).collect()
}

/// An entry of `errors`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Fault {
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    pub(crate) path: Option<Vec<Value>>,
    #[serde(default)]
    extensions: Option<Value>,
}

impl Fault {
    /// GitHub's word for it, from either of the places it uses.
    pub(crate) fn kind(&self) -> &str {
        let told = |key: &str| self.extensions.as_ref().and_then(|e| e.get(key)).and_then(Value::as_str);
        self.kind.as_deref().or_else(|| told("type")).or_else(|| told("code")).unwrap_or("")
    }

    /// Whether it says that the thing is not there, or not to be seen.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self.kind(), "NOT_FOUND" | "FORBIDDEN")
    }

    /// What a read of one thing makes of it.
    pub(crate) fn of_one_thing(&self) -> ReadFault {
        if self.is_absence() { ReadFault::NotFound(self.message.clone()) } else { ReadFault::Unusable(self.message.clone()) }
    }
}

/// The answer to a GraphQL request.
#[derive(Debug, Clone)]
pub(crate) struct Envelope {
    pub(crate) data: Option<Value>,
    pub(crate) errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct RawEnvelope {
    #[serde(default)]
    data: Option<Value>,
    #[serde(default)]
    errors: Option<Vec<Fault>>,
}

/// Reads the envelope.
pub(crate) fn envelope(body: Value) -> Result<Envelope, ReadFault> {
    if !body.is_object() {
        return Err(ReadFault::Unusable("not a graphql answer: no object".to_owned()));
    }
    let raw: RawEnvelope =
        serde_json::from_value(body).map_err(|error| ReadFault::Unusable(format!("not a graphql answer: {error}")))?;
    let errors = raw.errors.unwrap_or_default();
    if raw.data.is_none() && errors.is_empty() {
        return Err(ReadFault::Unusable("a graphql answer with neither data nor errors".to_owned()));
    }
    Ok(Envelope { data: raw.data, errors })
}

impl Envelope {
    /// GitHub's words when the answer is a limit.
    pub(crate) fn rate_limited(&self) -> Option<String> {
        self.errors.iter().find(|e| e.kind() == "RATE_LIMITED").map(|e| e.message.clone())
    }

    /// All messages, for an answer that cannot be used.
    pub(crate) fn messages(&self) -> String {
        let all: Vec<&str> = self.errors.iter().map(|e| e.message.as_str()).collect();
        if all.is_empty() { "the answer lacks what was asked for".to_owned() } else { all.join("; ") }
    }

    /// What the answer's own `rateLimit` tells.
    pub(crate) fn quota(&self) -> Option<Quota> {
        let told = self.data.as_ref()?.get("rateLimit")?;
        Some(Quota {
            resource: "graphql".to_owned(),
            limit: told.get("limit")?.as_u64()?,
            remaining: told.get("remaining")?.as_u64()?,
            reset: told.get("resetAt")?.as_str()?.parse::<Timestamp>().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_fragment_of_a_document_is_there_once_and_used() {
        // GH-SYNC-11, GH-SYNC-14: GitHub refuses a document with an unused or a missing fragment.
        for (name, text) in documents() {
            let defined: Vec<&str> = text.split("fragment ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
            for fragment in &defined {
                assert_eq!(defined.iter().filter(|f| f == &fragment).count(), 1, "{name}: {fragment}");
                assert!(text.contains(&format!("...{fragment}")), "{name}: {fragment} is not used");
            }
        }
    }

    #[test]
    fn data_and_errors_are_both_kept_and_a_limit_is_seen() {
        // GH-SYNC-24, GH-SYNC-36
        let both = envelope(json!({"data": {"viewer": null}, "errors": [{"message": "m", "path": ["s0", "nodes", 2]}]})).unwrap();
        assert!(both.data.is_some() && both.rate_limited().is_none());
        assert_eq!(both.errors.len(), 1);
        for limit in [
            json!({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}),
            json!({"data": null, "errors": [{"extensions": {"code": "RATE_LIMITED"}, "message": "API rate limit exceeded"}]}),
        ] {
            assert_eq!(envelope(limit).unwrap().rate_limited().unwrap(), "API rate limit exceeded");
        }
        assert!(envelope(json!({})).is_err());
        assert!(envelope(json!([1])).is_err());
    }
}
