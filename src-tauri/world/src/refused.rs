//! What GitHub answers when it refuses, ready to be queued as faults: words and headers as GitHub gives them.

use serde_json::{Value, json};

use crate::faults::FaultKind;

impl FaultKind {
    /// A refusal for a secondary limit, with the seconds to wait or without.
    fn limited(status: u16, retry_after: Option<u64>) -> Self {
        let seconds = retry_after.map(|seconds| seconds.to_string());
        let headers: Vec<(&str, &str)> = seconds.iter().map(|seconds| ("retry-after", seconds.as_str())).collect();
        Self::refusal(
            status,
            &headers,
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        )
    }

    fn refusal(status: u16, headers: &[(&str, &str)], message: &str) -> Self {
        Self::Answer {
            status,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: json!({
                "message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string(),
            }),
        }
    }

    /// A secondary limit, which leaves the quota as it is: 403, with the seconds to wait or without.
    #[must_use]
    pub fn secondary_limit(retry_after: Option<u64>) -> Self {
        Self::limited(403, retry_after)
    }

    /// A 429 with the seconds to wait or without.
    #[must_use]
    pub fn too_many_requests(retry_after: Option<u64>) -> Self {
        Self::limited(429, retry_after)
    }

    /// A spent quota: 403 with nothing left until `reset`, in seconds since 1970 by GitHub's clock.
    #[must_use]
    pub fn spent_quota(reset: i64) -> Self {
        let reset = reset.to_string();
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset.as_str())];
        Self::refusal(403, &headers, "API rate limit exceeded for user ID 1.")
    }

    /// A GraphQL limit, which comes as a success, with nothing left until `reset`.
    #[must_use]
    pub fn rate_limited(reset: i64) -> Self {
        Self::Answer {
            status: 200,
            headers: vec![
                ("x-ratelimit-remaining".to_owned(), "0".to_owned()),
                ("x-ratelimit-reset".to_owned(), reset.to_string()),
                ("x-ratelimit-resource".to_owned(), "graphql".to_owned()),
            ],
            body: json!({ "errors": [{ "type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1." }] }),
        }
    }

    /// A token that may not do this.
    #[must_use]
    pub fn no_permission() -> Self {
        Self::refusal(403, &[], "Resource not accessible by personal access token")
    }

    /// A conversation that is locked.
    #[must_use]
    pub fn locked_conversation() -> Self {
        Self::refusal(403, &[], "Unable to create comment because issue is locked.")
    }

    /// A repository that is archived.
    #[must_use]
    pub fn archived_repository() -> Self {
        Self::refusal(403, &[], "Repository was archived so is read-only.")
    }

    /// No such thing, or it may not be seen.
    #[must_use]
    pub fn not_found() -> Self {
        Self::refusal(404, &[], "Not Found")
    }

    /// Something that was there.
    #[must_use]
    pub fn gone() -> Self {
        Self::refusal(410, &[], "Issues are disabled for this repo")
    }

    /// A review that meets a pending one of its author.
    #[must_use]
    pub fn pending_review() -> Self {
        Self::unprocessable("User can only have one pending review per pull request")
    }

    /// A review with a comment on a line that the diff does not have.
    #[must_use]
    pub fn off_the_diff() -> Self {
        Self::unprocessable("Pull request review thread line must be part of the diff")
    }

    fn unprocessable(why: &str) -> Self {
        Self::Status(422, json!({ "message": "Unprocessable Entity", "errors": [why], "status": "422" }))
    }

    /// A token that is not accepted.
    #[must_use]
    pub fn bad_credentials() -> Self {
        Self::refusal(401, &[], "Bad credentials")
    }

    /// A fault of the server before it did anything.
    #[must_use]
    pub fn broken_server(status: u16) -> Self {
        Self::refusal(status, &[], "Server Error")
    }

    /// Another place, with 301, 302, 307 or 308.
    #[must_use]
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::refusal(status, &[("location", to)], "Moved")
    }

    /// The answer with a `null` at each of these JSON pointers.
    #[must_use]
    pub fn nulls(places: &[&str]) -> Self {
        Self::Changed(places.iter().map(|place| ((*place).to_owned(), Value::Null)).collect())
    }

    /// A GraphQL answer in which the thing at a path could not be made: it is `null`, and `errors` says why.
    #[must_use]
    pub fn partial(path: &[Value], kind: &str, message: &str) -> Self {
        let text = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
        let place: String = path.iter().map(|part| format!("/{}", text(part))).collect();
        let error = json!([{ "type": kind, "message": message, "path": path }]);
        Self::Changed(vec![(format!("/data{place}"), Value::Null), ("/errors".to_owned(), error)])
    }
}

/// Puts a value at a JSON pointer; one of a new name is added to the object that would hold it. A place that is not there stays so.
pub(crate) fn put(answer: &mut Value, place: &str, value: Value) {
    if let Some(held) = answer.pointer_mut(place) {
        *held = value;
        return;
    }
    if let Some((parent, name)) = place.rsplit_once('/')
        && let Some(fields) = answer.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        fields.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_put_where_a_pointer_says() {
        let mut answer = json!({ "a": [{ "b": 1 }] });
        put(&mut answer, "/a/0/b", json!(2));
        put(&mut answer, "/c", json!(3));
        put(&mut answer, "/a/7/b", json!(4));
        assert_eq!(answer, json!({ "a": [{ "b": 2 }], "c": 3 }));
    }
}
