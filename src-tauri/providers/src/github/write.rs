//! Writes: what is sent for each shape, what an answer to it means, and how a post in doubt is recognised. Pure.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use wloop_core::github::{InlineComment, PostOrder, Refusal, RemotePost, SendOutcome, Shape, Side};

use super::client::Answer;
use super::error::Loss;
use super::shapes::RestPost;

/// How much earlier than the skew a look-up starts (GH-SYNC-45).
const LOOK_UP_MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// The path of a write, as segments after the API address (GH-PUB-01).
pub(crate) fn path(order: &PostOrder) -> Vec<String> {
    let number = order.number.to_string();
    let mut parts = vec!["repos".to_owned(), order.repo.owner.clone(), order.repo.name.clone()];
    match &order.shape {
        Shape::Comment => parts.extend(["issues".to_owned(), number, "comments".to_owned()]),
        Shape::Review { .. } => parts.extend(["pulls".to_owned(), number, "reviews".to_owned()]),
        Shape::Reply { in_reply_to } => {
            parts.extend(["pulls".to_owned(), number, "comments".to_owned(), in_reply_to.to_string(), "replies".to_owned()]);
        }
    }
    parts
}

/// The body of a write. A review carries its commit, event and comments in one call (GH-PUB-16).
pub(crate) fn body(order: &PostOrder) -> Value {
    match &order.shape {
        Shape::Comment | Shape::Reply { .. } => json!({ "body": order.body }),
        Shape::Review { event, comments } => json!({
            "commit_id": order.head,
            "event": event.as_str(),
            "body": order.body,
            "comments": comments.iter().map(inline).collect::<Vec<_>>(),
        }),
    }
}

fn inline(comment: &InlineComment) -> Value {
    let side = match comment.side {
        Side::Left => "LEFT",
        Side::Right => "RIGHT",
    };
    let mut told = json!({ "path": comment.path, "line": comment.line, "side": side, "body": comment.body });
    // A range of one line is refused by GitHub.
    if let (Some(start), Value::Object(fields)) = (comment.start_line.filter(|start| *start < comment.line), &mut told) {
        fields.insert("start_line".to_owned(), json!(start));
        fields.insert("start_side".to_owned(), json!(side));
    }
    told
}

/// The path of a look-up, as segments, and whether it can be narrowed to a time (GH-PUB-07).
pub(crate) fn look_up_path(order: &PostOrder) -> (Vec<String>, bool) {
    let mut parts = path(order);
    match &order.shape {
        Shape::Comment => (parts, true),
        Shape::Review { .. } => (parts, false),
        Shape::Reply { .. } => {
            parts.truncate(6);
            (parts, true)
        }
    }
}

/// From when on a look-up reads, in the form GitHub takes. The difference of the clocks makes it earlier whichever is ahead.
pub(crate) fn since(order: &PostOrder, measured_ms: i64) -> String {
    let skew = order.skew_ms.unsigned_abs().max(measured_ms.unsigned_abs());
    let back = LOOK_UP_MARGIN.saturating_add(SignedDuration::from_millis(i64::try_from(skew).unwrap_or(i64::MAX)));
    let start = order.started_at.checked_sub(back).unwrap_or(Timestamp::UNIX_EPOCH);
    start.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The marker of a post (GH-PUB-03).
pub(crate) fn marker(order: &PostOrder) -> String {
    format!("<!-- wloop:{} -->", order.post)
}

/// Whether a listed item is the post: by the viewer, with the marker alone on its last line (GH-PUB-05, GH-PUB-07).
pub(crate) fn is_post(item: &RestPost, order: &PostOrder) -> bool {
    let ours = item.user.as_ref().is_some_and(|user| user.node_id == order.viewer);
    let last = item.body.as_deref().unwrap_or("").trim_end().lines().next_back().unwrap_or("");
    ours && last.trim() == marker(order) && item.state.as_deref() != Some("PENDING")
}

/// A listed or confirmed item as a remote post.
pub(crate) fn remote(item: RestPost) -> RemotePost {
    RemotePost { node_id: item.node_id, database_id: item.id, url: item.html_url }
}

/// What an answer to a write means (GH-PUB-06, GH-PUB-10 to GH-PUB-14, GH-PUB-20).
pub(crate) fn outcome(order: &PostOrder, result: Result<Answer, Loss>) -> SendOutcome {
    let answer = match result {
        Ok(answer) => answer,
        Err(Loss::NotSent(why)) => return SendOutcome::NotReached { why },
        Err(Loss::Lost(why)) => return SendOutcome::Doubt { why },
        Err(Loss::Wait { until, why }) => return SendOutcome::Wait { until, why },
        Err(Loss::SignedOut(why)) => {
            let why = format!("{why}: sign in to github again, then send it again");
            return SendOutcome::Refused { kind: Refusal::SignedOut, why };
        }
    };
    let refused = |kind, why: String| SendOutcome::Refused { kind, why };
    match answer.status.as_u16() {
        200 | 201 => match serde_json::from_slice::<RestPost>(&answer.body) {
            Ok(item) => SendOutcome::Sent(remote(item)),
            Err(error) => SendOutcome::Doubt { why: format!("github confirmed it with an answer that cannot be read: {error}") },
        },
        300..=399 => {
            let place = answer.header("location").unwrap_or("another address");
            refused(
                Refusal::Gone,
                format!("the repository has moved to `{place}`: read the pull request again, then send it again"),
            )
        }
        403 => refused(
            Refusal::Forbidden,
            format!("{}: unlock the conversation, or give the token the permission it lacks", answer.words()),
        ),
        404 => refused(Refusal::Gone, format!("{}: the pull request is gone, or the token may not see it", answer.words())),
        410 => refused(Refusal::Gone, format!("{}: it was deleted, or comments are turned off", answer.words())),
        422 => {
            let words = answer.words();
            let pending = matches!(order.shape, Shape::Review { .. }) && words.to_ascii_lowercase().contains("pending review");
            if pending {
                refused(Refusal::PendingReview, format!("{words}: submit or discard your pending review first"))
            } else {
                refused(Refusal::Invalid, words)
            }
        }
        // A time limit on the other side says nothing about what it did.
        408 => SendOutcome::Doubt { why: answer.words() },
        400..=499 => refused(Refusal::Invalid, answer.words()),
        status => SendOutcome::Doubt { why: format!("status {status}: {}", answer.words()) },
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
