//! What is checked before a text goes out, and how a post is known again when it comes back: values in, a verdict out (GH-PUB).

use sha2::{Digest as _, Sha256};

use super::{Account, InlineComment, ReviewEvent, Shape, Side};
use crate::id::{PostId, UnitRef};
use crate::post::{Delivery, PostState};
use crate::words::words;

mod mentions;

pub use mentions::mentions;

/// The most characters GitHub takes in one text, signature and marker included (GH-PUB-04).
pub const TEXT_LIMIT: usize = 65_536;

/// The most posts one turn may ask for (MCP-08).
pub const POSTS_PER_TURN: usize = 40;

const OPENING: &str = "<!--";
const CLOSING: &str = "-->";

/// A text that cannot go out as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextFault {
    /// It is longer than GitHub takes (GH-PUB-04).
    #[error("the text has {length} characters with its signature and marker, and github takes {TEXT_LIMIT}: shorten it")]
    TooLong {
        /// Its length in characters, signature and marker included.
        length: usize,
    },
    /// A comment, a reply or a `COMMENT` review that says nothing.
    #[error("the {shape} has no text: write one")]
    Empty {
        /// The shape's word.
        shape: &'static str,
    },
}

/// The line by which a post is known again (GH-PUB-03).
#[must_use]
pub fn marker(post: PostId) -> String {
    format!("<!-- wloop:{post} -->")
}

/// The post whose marker stands alone on the last line of a text; `None` for any other text.
#[must_use]
pub fn marker_of(body: &str) -> Option<PostId> {
    let last = body.trim_end().rsplit('\n').next()?.trim();
    last.strip_prefix("<!-- wloop:")?.strip_suffix(" -->")?.parse().ok()
}

/// A text without any marker (GH-PUB-05): every comment on one line that starts with `wloop:` goes, also one that would only
/// appear once another is gone.
#[must_use]
pub fn strip_markers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut openings = Vec::new();
    for c in text.chars() {
        kept.push(c);
        if c == '-' && kept.ends_with(OPENING) {
            openings.push(kept.len() - OPENING.len());
        }
        // The opening's own dashes may serve as the closing's (`<!-->`), which is no marker.
        if c != '>' || !kept.ends_with(CLOSING) {
            continue;
        }
        let Some(start) = openings.pop() else {
            continue;
        };
        let inner = kept.get(start + OPENING.len()..kept.len() - CLOSING.len()).unwrap_or_default();
        if inner.trim_start().starts_with("wloop:") && !inner.contains('\n') {
            kept.truncate(start);
        }
    }
    kept
}

/// The text as it goes out: without foreign markers, then the signature, then the marker alone on the last line (GH-PUB-03). A
/// text that is empty, as a review's may be, is the marker alone.
///
/// # Errors
///
/// `TextFault::TooLong` when the whole has more than `TEXT_LIMIT` characters: nothing is cut (GH-PUB-04).
pub fn compose(text: &str, signature: &str, post: PostId) -> Result<String, TextFault> {
    let text = strip_markers(text);
    let signature = strip_markers(signature);
    let mut whole = text.trim_end().to_owned();
    if whole.trim().is_empty() {
        whole.clear();
    } else {
        if !signature.trim().is_empty() {
            whole.push_str("\n\n");
            whole.push_str(signature.trim());
        }
        whole.push_str("\n\n");
    }
    whole.push_str(&marker(post));
    let length = whole.chars().count();
    if length > TEXT_LIMIT { Err(TextFault::TooLong { length }) } else { Ok(whole) }
}

/// Refuses what GitHub would answer with a 422: a comment or reply without text, a `COMMENT` review with neither text nor comments.
///
/// # Errors
///
/// `TextFault::Empty`.
pub fn refuse_empty(shape: &Shape, text: &str) -> Result<(), TextFault> {
    let silent = strip_markers(text).trim().is_empty();
    let refused = match shape {
        Shape::Comment | Shape::Reply { .. } => silent,
        Shape::Review { event: ReviewEvent::Comment, comments } => silent && comments.is_empty(),
        Shape::Review { event: ReviewEvent::Approve | ReviewEvent::RequestChanges, .. } => false,
    };
    if refused { Err(TextFault::Empty { shape: shape.name() }) } else { Ok(()) }
}

/// The post that something read from GitHub is (GH-PUB-29): `sent` finds a sent post by its remote id, and otherwise the marker
/// names it, under the viewer's name only. The name alone makes nothing ours: what the person typed is theirs. An id from a marker
/// counts once the caller finds it in the ledger; one that is not there is another home's post.
#[must_use]
pub fn own_post(
    remote_id: &str,
    author: Option<&Account>,
    body: &str,
    viewer: &Account,
    sent: impl FnOnce(&str) -> Option<PostId>,
) -> Option<PostId> {
    if let Some(post) = sent(remote_id) {
        return Some(post);
    }
    if author?.id == viewer.id { marker_of(body) } else { None }
}

/// The event a review may carry, and whether that differs from the one asked for: on an own pull request only `COMMENT` goes
/// (GH-PUB-21), and a changed one waits for the person.
#[must_use]
pub fn limit_event(event: ReviewEvent, mine: bool) -> (ReviewEvent, bool) {
    match event {
        ReviewEvent::Approve | ReviewEvent::RequestChanges if mine => (ReviewEvent::Comment, true),
        ReviewEvent::Approve | ReviewEvent::RequestChanges | ReviewEvent::Comment => (event, false),
    }
}

/// Where on its unit a write goes: empty for the pull request itself, else the comment that a reply answers.
#[must_use]
pub fn target(shape: &Shape) -> String {
    match shape {
        Shape::Review { .. } | Shape::Comment => String::new(),
        Shape::Reply { in_reply_to } => in_reply_to.to_string(),
    }
}

/// What makes two writes of one shape and target the same (GH-PUB-26): a hash over the text, and for a review over its event and
/// its comments too. Markers and blanks at the end do not count.
#[must_use]
pub fn text_hash(shape: &Shape, text: &str) -> String {
    let mut parts = vec![strip_markers(text).trim_end().to_owned()];
    if let Shape::Review { event, comments } = shape {
        parts.push(event.as_str().to_owned());
        for InlineComment { path, line, start_line, side, body } in comments {
            let side = match side {
                Side::Left => "left",
                Side::Right => "right",
            };
            let start = start_line.map(|start| start.to_string()).unwrap_or_default();
            parts.extend([path.clone(), line.to_string(), start, side.to_owned(), strip_markers(body)]);
        }
    }
    digest(parts.iter().map(String::as_str))
}

/// SHA-256 over parts, each with its length before it, in lower-case hexadecimal: 64 characters.
pub(super) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why an agent's call is refused (MCP-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The session has no open turn.
    NotInTurn,
    /// The turn's state does not allow it.
    TurnState,
    /// It is about another unit than the turn.
    UnitScope,
    /// A limit of the turn or of a text is reached.
    Limit,
    /// An argument is missing, unknown or wrong.
    Invalid,
    /// There is no such thing.
    NotFound,
    /// It was done before.
    Already,
    /// The pull request's head is another one than the pinned.
    HeadMoved,
    /// It is not allowed.
    Refused,
    /// What it needs does not answer.
    Unavailable,
}

words!(Code {
    NotInTurn = "not_in_turn",
    TurnState = "turn_state",
    UnitScope = "unit_scope",
    Limit = "limit",
    Invalid = "invalid",
    NotFound = "not_found",
    Already = "already",
    HeadMoved = "head_moved",
    Refused = "refused",
    Unavailable = "unavailable",
});

/// A refusal, as an agent reads it (MCP-05). It leaves no post row (GH-PUB-25).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    /// The code.
    pub code: Code,
    /// What is refused and why.
    pub message: String,
    /// What to do instead.
    pub hint: String,
}

/// Whether a post takes the place of a write that a turn may make once: not one that surely never reached GitHub.
fn counts(delivery: Delivery) -> bool {
    match delivery.state {
        PostState::Held | PostState::Queued | PostState::Sending | PostState::Sent => true,
        PostState::Failed => delivery.maybe_posted,
        PostState::Dropped => false,
    }
}

/// One post of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnPost {
    /// Its row.
    pub id: PostId,
    /// Its shape's word.
    pub shape: String,
    /// `target` of its shape.
    pub target: String,
    /// `text_hash` of what was asked for.
    pub text_hash: String,
    /// How far it is.
    pub delivery: Delivery,
    /// Its address, empty until GitHub told one.
    pub url: String,
}

/// What decides whether a turn may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnView {
    /// The turn's unit.
    pub unit: UnitRef,
    /// Its state's word, such as `started`.
    pub state: String,
    /// The shapes its intent may publish: `[publish] shapes` (INT-07).
    pub publish: Vec<String>,
    /// The database ids of the first comments of the threads it may reply to (GH-PUB-22); `None` allows every thread of the unit.
    pub threads: Option<Vec<u64>>,
    /// Its posts so far, oldest first.
    pub posts: Vec<TurnPost>,
    /// The words of a gate of this turn that is open.
    pub open_gate: Option<String>,
    /// Whether the person asked for the round by hand.
    pub by_hand: bool,
    /// The address of a review that the ledger holds for the turn's head and review request, from any turn (ROUND-13).
    pub review_before: Option<String>,
}

/// A write that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The unit it is for.
    pub unit: &'a UnitRef,
    /// Its shape.
    pub shape: &'a Shape,
    /// Its text as given.
    pub text: &'a str,
}

/// A write that may be made, or was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// It may go.
    New,
    /// The turn asked for the same before: answer with that post's result (GH-PUB-26).
    Repeat(PostId),
}

/// Whether a turn may make a write (GH-PUB-22, 25, 26, ROUND-13). `turn` is `None` for a caller without an open turn.
///
/// # Errors
///
/// `Denied`, with the first reason that holds.
pub fn allowed(turn: Option<&TurnView>, asked: &Asked<'_>) -> Result<Allowed, Denied> {
    let Some(turn) = turn else {
        return deny(Code::NotInTurn, "this session has no open turn".into(), "posts belong to a turn: wait for the next one");
    };
    if turn.state != "started" {
        let message = format!("the turn is `{}`, and posts are made while it is `started`", turn.state);
        return deny(Code::TurnState, message, "make no further posts in this turn");
    }
    if turn.unit != *asked.unit {
        let message = format!("the turn is about `{}`, not `{}`", turn.unit, asked.unit);
        return deny(Code::UnitScope, message, "write on the turn's own pull request");
    }
    let shape = asked.shape.name();
    let goal = target(asked.shape);
    let hash = text_hash(asked.shape, asked.text);
    let same = |post: &&TurnPost| post.shape == shape && post.target == goal && post.text_hash == hash;
    if let Some(post) = turn.posts.iter().find(same) {
        return Ok(Allowed::Repeat(post.id));
    }
    if !turn.publish.iter().any(|listed| listed == shape) {
        let message = format!("this turn does not publish the shape `{shape}`");
        let hint = match turn.publish.as_slice() {
            [] => "it publishes nothing: say it in the record".to_owned(),
            listed => format!("it publishes: {}", listed.join(", ")),
        };
        return deny(Code::Refused, message, &hint);
    }
    if let Some(words) = &turn.open_gate {
        let message = format!("a gate of this turn is open: {words}");
        return deny(Code::Refused, message, "record what you have and end the turn; the person's answer comes later");
    }
    once(turn, asked.shape)?;
    in_scope(turn, asked.shape)?;
    if turn.posts.len() >= POSTS_PER_TURN {
        let message = format!("the turn made {POSTS_PER_TURN} posts, which is the most");
        return deny(Code::Limit, message, "say the rest in the record");
    }
    Ok(Allowed::New)
}

/// One review and one comment at most (GH-PUB-22), and one review for a head and request over all turns (ROUND-13).
fn once(turn: &TurnView, shape: &Shape) -> Result<(), Denied> {
    let single = match shape {
        Shape::Review { .. } | Shape::Comment => true,
        Shape::Reply { .. } => false,
    };
    let name = shape.name();
    if single && let Some(first) = turn.posts.iter().find(|post| post.shape == name && counts(post.delivery)) {
        let place = if first.url.is_empty() { format!("post `{}`", first.id) } else { first.url.clone() };
        let message = format!("this turn made its {name} already: {place}");
        return deny(Code::Already, message, "say the rest in the record");
    }
    if let (Shape::Review { .. }, false, Some(before)) = (shape, turn.by_hand, &turn.review_before) {
        let message = format!("this commit was reviewed for this request already: {before}");
        return deny(Code::Already, message, "record that nothing was published");
    }
    Ok(())
}

/// Replies go to the threads that the turn covers (GH-PUB-22).
fn in_scope(turn: &TurnView, shape: &Shape) -> Result<(), Denied> {
    if let (Shape::Reply { in_reply_to }, Some(threads)) = (shape, &turn.threads)
        && !threads.contains(in_reply_to)
    {
        let message = format!("the thread of comment `{in_reply_to}` is not one this turn covers");
        return deny(Code::Refused, message, "reply in the threads that the prompt lists");
    }
    Ok(())
}

fn deny<T>(code: Code, message: String, hint: &str) -> Result<T, Denied> {
    Err(Denied { code, message, hint: hint.to_owned() })
}

#[cfg(test)]
#[path = "tests_publish.rs"]
mod tests;
