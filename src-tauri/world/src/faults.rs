//! What may go wrong on the way, on purpose, and the record of what was asked.

use serde_json::Value;

/// Which request a fault, or a wait, is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// The method; empty matches each.
    pub method: String,
    /// The path, in which `*` stands for one part and `**` for any number of them; empty matches each.
    pub path: String,
    /// A text that the request's body must hold, such as a part of a GraphQL query; empty matches each.
    pub text: String,
}

impl Match {
    /// A method and a path, such as `POST` and `/repos/*/*/pulls/*/reviews`.
    pub fn new(method: &str, path: &str) -> Self {
        Self { method: method.to_owned(), path: path.to_owned(), text: String::new() }
    }

    /// A GraphQL request whose body holds `text`.
    pub fn graphql(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::new("POST", "/graphql") }
    }

    pub(crate) fn fits(&self, method: &str, path: &str, body: &str) -> bool {
        (self.method.is_empty() || self.method.eq_ignore_ascii_case(method))
            && (self.path.is_empty() || fits_path(&parts(&self.path), &parts(path)))
            && (self.text.is_empty() || body.contains(&self.text))
    }

    /// Whether a recorded call is one of these.
    pub fn fits_call(&self, call: &Call) -> bool {
        let body = call.request.as_ref().map_or(String::new(), request_text);
        self.fits(&call.method, &call.path, &body)
    }
}

/// The text of a body that a [`Match`] looks into: a GraphQL query by itself, any other body as JSON.
pub(crate) fn request_text(body: &Value) -> String {
    body.get("query").and_then(Value::as_str).map_or_else(|| body.to_string(), str::to_owned)
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

fn fits_path(glob: &[&str], path: &[&str]) -> bool {
    match (glob, path) {
        ([], []) => true,
        (["**"], _) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| fits_path(rest, &path[skipped..])),
        ([first, glob @ ..], [part, path @ ..]) => (*first == "*" || first == part) && fits_path(glob, path),
        ([], [_, ..]) | ([_, ..], []) => false,
    }
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The act is done, and the answer is a 502.
    ActedThen502,
    /// The act is done, and the connection closes without an answer.
    ActedThenDropped,
    /// The act is done, and no answer comes until [`release_held`](crate::SmallGithub::release_held), which gives it.
    ActedThenHang,
    /// Nothing is done, and this is the answer.
    Status(u16, Value),
    /// Nothing is done, and this is the answer, with headers such as `retry-after`.
    Answer {
        /// The status.
        status: u16,
        /// Names and values of headers; they win over the usual ones.
        headers: Vec<(String, String)>,
        /// The body.
        body: Value,
    },
    /// Nothing is done, and no answer comes; a release closes the connection.
    Hang,
    /// Nothing is done, and the connection closes.
    Dropped,
    /// The act is done, and the answer breaks off in the middle of its body.
    Truncated,
    /// The act is done, and the answer has a good status and a body that is none.
    Garbled,
    /// The act is done, and the answer has these values at these JSON pointers: nulls, unknown words, errors beside data.
    Changed(Vec<(String, Value)>),
    /// Nothing is done until a release; then it is, whether or not the caller still waits, and answered as usual.
    Delay,
}

/// One thing that goes wrong, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The first request that fits uses it up.
    pub on: Match,
    /// What happens to it.
    pub kind: FaultKind,
}

impl Fault {
    /// A fault on a method and a path.
    pub fn new(method: &str, path: &str, kind: FaultKind) -> Self {
        Self { on: Match::new(method, path), kind }
    }
}

/// A request that arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Counted from 1 in the order of arrival.
    pub number: u64,
    /// The method in upper case.
    pub method: String,
    /// The path without its query.
    pub path: String,
    /// The query as it was sent, empty without one.
    pub query: String,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The status sent; none while it is open and when the connection was closed without one.
    pub status: Option<u16>,
    /// Whether the request ended, with an answer or without.
    pub ended: bool,
    /// Whether it was carried out: it reached the state and was not refused there.
    pub acted: bool,
    /// The body sent, where it is JSON.
    pub request: Option<Value>,
    /// The answer made, where it is JSON, even when it never reached the caller.
    pub response: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_fit_whole_paths() {
        let fits = |glob: &str, path: &str| Match::new("", glob).fits("GET", path, "");
        assert!(fits("/repos/*/*/pulls/*/reviews", "/repos/acme/api/pulls/1/reviews"));
        assert!(!fits("/repos/*/*/pulls/*/reviews", "/repos/acme/api/pulls/1/reviews/7"));
        assert!(fits("/repos/**", "/repos/acme/api/pulls/1/reviews/7"));
        assert!(fits("/**/reviews", "/repos/acme/api/pulls/1/reviews"));
        assert!(!fits("/graphql", "/"));
        assert!(Match::default().fits("POST", "/x", ""));
        assert!(!Match::graphql("viewer").fits("POST", "/graphql", "{rateLimit{cost}}"));
    }
}
