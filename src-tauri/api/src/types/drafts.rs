//! Drafts and the Outbox.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnitName;

/// A draft: a post that was proposed and waits for the person, or came out of that (`GET /api/drafts`). Its id is that of its post.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Draft {
    /// The id.
    pub id: String,
    /// The shortest prefix of six digits or more that only this draft has.
    pub short: String,
    /// Where it goes.
    pub unit: UnitName,
    /// Why it was proposed; empty where its proposer did not say.
    pub purpose: String,
    /// The purpose in the profile's words (OUT-14).
    pub purpose_words: String,
    /// `comment`.
    pub delivery: String,
    /// Whether a broadcast was asked for.
    pub broadcast: bool,
    /// `held`, `queued`, `sending`, `sent`, `failed` or `dropped`.
    pub state: String,
    /// The state in the profile's words (OUT-15).
    pub state_words: String,
    /// Whether a failed one may have reached the provider (DRAFT-15).
    pub maybe_posted: bool,
    /// The text, whole, without the marker.
    pub text: String,
    /// Everyone whom the text mentions (GH-PUB-15).
    pub mentions: Vec<String>,
    /// What sending it applies.
    pub effects: Vec<DraftEffect>,
    /// The gate that asks about it, or that decided it.
    pub gate: String,
    /// That gate's status.
    pub gate_status: String,
    /// The intent that approves it; absent once the gate is closed.
    pub approve: Option<String>,
    /// When it goes out by itself, unless the person says something before; absent where it waits for them.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// What the approval rules said of it, in one line.
    #[serde(default)]
    pub policy: String,
    /// Its task.
    pub task: Option<String>,
    /// `person`, `session`, `workflow` or `rule`.
    pub proposer: String,
    /// Who proposed it, in words: `you`, `turn 3 (review)`, `turn 3 (review) on acme/api#7` (AGENT-09).
    pub proposed_by: String,
    /// The session that proposed it.
    pub session: Option<String>,
    /// The turn that proposed it.
    pub turn: Option<String>,
    /// Why it was dropped.
    pub reason: Option<String>,
    /// Why it failed, or waits in the queue.
    pub cause: Option<String>,
    /// Its address once sent.
    pub url: Option<String>,
    /// How often it was tried.
    pub attempts: u64,
    /// When the person last edited it.
    #[schemars(with = "Option<String>")]
    pub edited_at: Option<Timestamp>,
    /// When it was proposed.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When it came to its present state.
    #[schemars(with = "String")]
    pub changed_at: Timestamp,
    /// Every text it had, each with the gate that asked about it, oldest first.
    pub revisions: Vec<DraftRevision>,
    /// What can be done with it now: `approve`, `edit`, `discard`, `retry`, `sent`.
    pub actions: Vec<String>,
}

/// What sending a draft applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DraftEffect {
    /// Its name.
    pub name: String,
    /// What it does, in the profile's words (EFF-09).
    pub words: String,
    /// `declared`, `due`, `applied` or `void`.
    pub state: String,
}

/// A text of a draft with the gate that asked about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DraftRevision {
    /// Its number, from 1.
    pub n: u32,
    /// The gate.
    pub gate: String,
    /// The gate's status.
    pub gate_status: String,
    /// The text.
    pub text: String,
    /// When it was written.
    #[schemars(with = "String")]
    pub at: Timestamp,
}

/// Drafts of one reason (`GET /api/outbox`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DraftGroup {
    /// A stable name: `by_hand`, `workflow:<name>` or `purpose:<purpose>`.
    pub key: String,
    /// Its heading.
    pub title: String,
    /// What it is about; may be empty.
    pub about: String,
    /// The workflow that proposed these.
    pub workflow: Option<String>,
    /// The drafts, newest first.
    pub drafts: Vec<Draft>,
}

/// The body of `POST /api/drafts`: a draft of the person's, or one that a session proposes in its open turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftRequest {
    /// Where it goes: an address, `owner/repo#n` or `provider:key`. A session may leave it out: its turn's own pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The text, in Markdown.
    pub text: String,
    /// Why, as a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// `comment` or `message`; GitHub takes no other and makes a comment of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// Asks for a broadcast of a thread's reply; elsewhere it is ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    /// What sending it applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
    /// The open task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Approves it right after it is proposed (DRAFT-30); a caller who approves nothing is refused before anything is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub send: bool,
    /// A name of the caller's own, of at most 64 characters: the same once more answers with the same draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The body of `POST /api/drafts/{id}/edit`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftEdit {
    /// The text; the present one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether a thread's reply is broadcast; a comment is in no thread and ignores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<bool>,
    /// The gate that was looked at: with another one by now the edit is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
}
