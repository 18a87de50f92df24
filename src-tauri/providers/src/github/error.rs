//! What goes wrong: a configuration, a connection, an answer. Nothing here ever holds the token.

use std::error::Error as StdError;
use std::io::ErrorKind;

use jiff::Timestamp;
use serde_json::Value;
use wloop_core::github::ReadFault;

/// A provider that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFault {
    /// An address that cannot be used.
    #[error("`{key}`: `{shown}` {problem}")]
    Address {
        /// The configuration key.
        key: &'static str,
        /// What was given, without a user or password.
        shown: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A token that cannot be sent at all.
    #[error("`plugins.github.token` is empty or holds characters that cannot be sent; take it again from where it was made")]
    Token,
    /// The client could not be built, such as for want of root certificates.
    #[error("the https client cannot be built: {0}")]
    Client(String),
    /// There is no tokio runtime on the calling thread.
    #[error("the github client needs a running tokio runtime")]
    NoRuntime,
}

/// Why an exchange brought no answer to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loss {
    /// 401, now or before (GH-SYNC-43).
    SignedOut(String),
    /// A limit; nothing was written (GH-SYNC-36).
    Wait { until: Timestamp, why: String },
    /// Not a byte of the request was sent (GH-PUB-06).
    NotSent(String),
    /// The request may have arrived: a lost connection, a cut answer, a time limit.
    Lost(String),
}

impl From<Loss> for ReadFault {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::SignedOut(why) => Self::SignedOut(why),
            Loss::Wait { until, why } => Self::Wait { until, why },
            Loss::NotSent(why) | Loss::Lost(why) => Self::Unreachable(why),
        }
    }
}

/// Classes a failed exchange: only what failed while connecting is known not to have been sent.
pub(crate) fn transport(error: &(dyn StdError + 'static), host: &str) -> Loss {
    let connecting = chain(error)
        .filter_map(|e| e.downcast_ref::<hyper_util::client::legacy::Error>())
        .any(hyper_util::client::legacy::Error::is_connect);
    let why = plain_cause(error, host);
    if connecting { Loss::NotSent(why) } else { Loss::Lost(why) }
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |e: &&(dyn StdError + 'static)| (*e).source())
}

/// The cause in words a person can act on.
fn plain_cause(error: &(dyn StdError + 'static), host: &str) -> String {
    let kind = chain(error).filter_map(|e| e.downcast_ref::<std::io::Error>()).map(std::io::Error::kind).last();
    let texts: Vec<String> = chain(error).map(ToString::to_string).collect();
    let says = |word: &str| texts.iter().any(|text| text.contains(word));
    let deepest = texts.last().map_or("unknown cause", String::as_str);
    if says("dns error") {
        return format!("the name `{host}` cannot be resolved");
    }
    if says("certificate") || says("HandshakeFailure") {
        return format!("no trusted connection to `{host}`: {deepest}");
    }
    if kind == Some(ErrorKind::ConnectionRefused) {
        return format!("`{host}` refuses connections");
    }
    if kind == Some(ErrorKind::TimedOut) {
        return format!("`{host}` does not answer a connection");
    }
    format!("the connection to `{host}` failed: {deepest}")
}

/// GitHub's words in the body of a refusal: its message, and each of its `errors` as given (GH-PUB-14).
pub(crate) fn words(body: &[u8], status: u16) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_slice::<Value>(body) else {
        return format!("status {status} without an explanation");
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(message) = fields.get("message").and_then(Value::as_str) {
        parts.push(message.to_owned());
    }
    match fields.get("errors") {
        Some(Value::Array(errors)) => parts.extend(errors.iter().map(one_error)),
        Some(other @ (Value::String(_) | Value::Object(_))) => parts.push(one_error(other)),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
    }
    if parts.is_empty() { format!("status {status} without an explanation") } else { parts.join("; ") }
}

fn one_error(error: &Value) -> String {
    if let Some(text) = error.as_str() {
        return text.to_owned();
    }
    let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or("");
    if let Some(text) = error.get("message").and_then(Value::as_str) {
        return text.to_owned();
    }
    let place = [field("resource"), field("field")].iter().filter(|s| !s.is_empty()).copied().collect::<Vec<_>>().join(".");
    match (place.as_str(), field("code")) {
        ("", "") => error.to_string(),
        (place, "") => place.to_owned(),
        ("", code) => code.to_owned(),
        (place, code) => format!("{place}: {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_refusal_are_kept() {
        // GH-PUB-14
        let body = br#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"invalid","field":"color"},"plain",
            {"message":"said"}],"documentation_url":"x"}"#;
        assert_eq!(words(body, 422), "Validation Failed; Label.color: invalid; plain; said");
        assert_eq!(words(br#"{"message":"Unprocessable Entity","errors":"one"}"#, 422), "Unprocessable Entity; one");
        assert_eq!(words(b"<html>", 502), "status 502 without an explanation");
    }

    #[test]
    fn a_lost_connection_is_not_taken_for_one_that_was_never_made() {
        // GH-PUB-06
        let reset = std::io::Error::new(ErrorKind::ConnectionReset, "reset");
        assert!(matches!(transport(&reset, "h"), Loss::Lost(_)));
        // Not even a refusal counts when it is not known to come from connecting.
        let refused = std::io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(transport(&refused, "h"), Loss::Lost("`h` refuses connections".to_owned()));
    }
}
