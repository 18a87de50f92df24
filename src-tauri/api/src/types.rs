//! What travels over the socket. Times are RFC 3339 instants; ids are the full 32 hexadecimal digits, with the shortest prefix
//! that a list may show beside them.

mod drafts;
mod record;
mod stops;
mod unit;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use drafts::{Draft, DraftEdit, DraftEffect, DraftGroup, DraftRequest, DraftRevision};
pub use record::Event;
pub use stops::{HeldUnit, Holds, PauseRequest, Skipped, Trust};
pub use unit::{Explained, ExplainedTerm, Fact, Reviewed, Reviewer, UnitAction, UnitDetail};

/// `GET /healthz`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Whether it takes work and nothing needs attention.
    pub ok: bool,
    /// Whether it is going down and starts nothing new.
    pub draining: bool,
    /// The version of the program.
    pub version: String,
    /// How many times this home's daemon was started.
    pub generation: i64,
    /// When this daemon started.
    #[schemars(with = "String")]
    pub started_at: Timestamp,
    /// Turns that run.
    pub running_turns: u64,
    /// The providers.
    pub providers: Vec<ProviderHealth>,
    /// The database.
    pub database: DatabaseHealth,
    /// Resident memory of the process in bytes; 0 where the system does not tell.
    pub resident_bytes: u64,
    /// The nearest instant the daemon wakes for, and why.
    #[schemars(with = "Option<String>")]
    pub next_wake: Option<Timestamp>,
    /// Why it wakes then.
    pub next_wake_reason: Option<String>,
    /// What needs attention, in words; empty when all is well.
    pub warnings: Vec<String>,
}

/// One provider's health.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderHealth {
    /// Its name.
    pub name: String,
    /// `ok`, `starting`, `signed out`, `waiting`, `failing` or `off`.
    pub state: String,
    /// The account it reads as.
    pub login: Option<String>,
    /// The address it speaks to.
    pub address: Option<String>,
    /// When it last read everything it wanted.
    #[schemars(with = "Option<String>")]
    pub last_sync: Option<Timestamp>,
    /// The last error, with what to do.
    pub error: Option<String>,
    /// It asked to wait: nothing is read of it, or sent to it, before this (GH-SYNC-38).
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub waiting_until: Option<Timestamp>,
    /// Units that are watched.
    pub watched: u64,
    /// What is left of each quota.
    pub quotas: Vec<Quota>,
}

/// What a provider said is left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    /// Of which resource.
    pub resource: String,
    /// Calls or points left.
    pub remaining: u64,
    /// Until when.
    #[schemars(with = "String")]
    pub resets_at: Timestamp,
}

/// The database's health.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseHealth {
    /// The schema's version.
    pub schema: i64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether the last commit went through.
    pub ok: bool,
}

/// `GET /api/status`: the counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Rounds that wait or count down.
    pub pending_rounds: u64,
    /// Those of them that the daily cap holds.
    #[serde(default)]
    pub capped_rounds: u64,
    /// Those of them that wait on a trust gate.
    #[serde(default)]
    pub blocked_rounds: u64,
    /// Those of them that are not announced.
    #[serde(default)]
    pub muted_rounds: u64,
    /// What is paused and muted.
    #[serde(default)]
    pub holds: Holds,
    /// Open gates by kind, every kind listed.
    pub open_gates: std::collections::BTreeMap<String, u64>,
    /// Drafts held in the Outbox.
    pub drafts_held: u64,
    /// Drafts that failed.
    pub drafts_failed: u64,
    /// Posts of rounds that failed or cannot be told (15.7).
    pub posts_failed: u64,
    /// Turns that run.
    pub running_turns: u64,
    /// Whether the daemon is going down.
    pub draining: bool,
    /// The providers.
    pub providers: Vec<ProviderHealth>,
    /// The next countdown that ends.
    #[schemars(with = "Option<String>")]
    pub next_deadline: Option<Timestamp>,
    /// What needs attention, in words.
    pub warnings: Vec<String>,
}

/// A unit as lists name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitName {
    /// `provider:key`.
    pub id: String,
    /// How a row names it, such as `acme/api#12`.
    pub label: String,
    /// Its title, control characters made visible.
    pub title: String,
    /// Its address.
    pub url: String,
}

/// One of a gate's intents, in the order clients show them (GATE-17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// Its name in the route.
    pub name: String,
    /// Its words.
    pub label: String,
    /// The status it resolves to.
    pub status: String,
    /// Whether it takes text (GATE-19).
    pub takes_text: bool,
    /// The text field's placeholder.
    pub placeholder: Option<String>,
}

/// A gate (API-09).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// The id.
    pub id: String,
    /// The shortest prefix of six digits or more that only this gate has.
    pub short: String,
    /// The kind.
    pub kind: String,
    /// The name in `gates.toml`.
    pub name: String,
    /// The status.
    pub status: String,
    /// What it asks.
    pub words: String,
    /// The unit.
    pub unit: Option<UnitName>,
    /// The task it stands on.
    pub task: Option<String>,
    /// What can be answered; also on a closed gate, for reading.
    pub intents: Vec<Intent>,
    /// When it opened.
    #[schemars(with = "String")]
    pub opened_at: Timestamp,
    /// When its window ends.
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// The intent a rule or the window takes.
    pub default_intent: Option<String>,
    /// The mode it opened under, and by what: `delay 60s by workflows/review#1`.
    pub policy: String,
    /// How the policy came to that, step by step.
    pub explanation: serde_json::Value,
    /// How it closed.
    pub closed: Option<Closing>,
    /// What became of what it released.
    pub consequence: Option<Consequence>,
    /// The complete post that a `post` gate holds (AMB-11), or that a `draft` gate asks, or asked, about.
    pub post: Option<Post>,
    /// The delivery state of a draft gate's draft; empty on every other gate (GATE-06).
    #[serde(default)]
    pub delivery: String,
    /// The draft of a draft gate.
    #[serde(default)]
    pub draft: Option<String>,
    /// The turn that stopped here, where there is one.
    pub turn: Option<String>,
    /// What a `trust` gate is about (GATE-51).
    pub trust: Option<Trust>,
    /// Whether its unit is muted: a plan gate is then not announced (WIN-39).
    #[serde(default)]
    pub muted: bool,
}

/// How a gate closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Closing {
    /// The intent; absent when it was superseded.
    pub intent: Option<String>,
    /// `person`, `rule`, `window`, `workflow`, `daemon`.
    pub actor: String,
    /// Which rule, workflow or session.
    pub actor_ref: Option<String>,
    /// The driven session that the person acted through.
    pub via_session: Option<String>,
    /// The text given with it.
    pub text: Option<String>,
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Why it was superseded.
    pub reason: Option<String>,
}

/// What became of a gate's consequence (spec 15.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Consequence {
    /// `due`, `started`, `ran`, `failed` or `unknown`.
    pub state: String,
    /// When it came to that.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// What happened, such as `not started: the head moved`; empty where there is nothing to say.
    pub note: String,
}

/// The body of `POST /api/gates/{id}/{intent}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The intent's text, where it takes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Another body for the held post of a `post` gate, or the draft of a `draft` gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_text: Option<String>,
}

/// A planned round (`GET /api/plan`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanItem {
    /// The id.
    pub id: String,
    /// The unit.
    pub unit: UnitName,
    /// The workflow that planned it.
    pub workflow: String,
    /// The intent it would start, and its stage.
    pub intent: String,
    /// The stage.
    pub stage: String,
    /// `waiting`, `counting_down`, `released`, `blocked` or `capped`.
    pub state: String,
    /// Why it was planned, or what holds it.
    pub reason: String,
    /// Its gate.
    pub gate: Option<String>,
    /// When its window ends.
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Timestamp>,
    /// When it was planned.
    #[schemars(with = "String")]
    pub planned_at: Timestamp,
    /// Guidance that goes with it.
    pub guidance: Option<String>,
    /// GitHub asked to wait: the unit is not read and the round does not start before this (GH-SYNC-38).
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub waiting_until: Option<Timestamp>,
    /// Which daily cap holds it, or held it until you let it go: `per_day`, `per_pull_request` or `workflow`.
    pub cap: Option<String>,
    /// The local day of that cap, as YYYY-MM-DD.
    pub cap_day: Option<String>,
    /// Whether its unit is muted: it is not announced (WIN-39).
    #[serde(default)]
    pub muted: bool,
    /// The place of a released round among those that wait to start, from 1 (RUN-28).
    #[serde(default)]
    pub place: Option<u64>,
}

/// What to do with the planned rounds of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    /// Run now.
    Apply,
    /// Skip.
    Dismiss,
    /// Run now with guidance; without a waiting round the text is kept for the next one.
    Guide,
}

/// The body of `POST /api/plan`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// An address, `owner/repo#n` or `provider:key`.
    pub unit: String,
    /// What to do.
    pub action: PlanAction,
    /// The guidance of `guide`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
}

/// The answer of `POST /api/plan`: each gate that was resolved, in plan order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanAnswer {
    /// The gates as they are now.
    pub gates: Vec<Gate>,
    /// Whether the guidance was kept for the next round because nothing waited.
    pub guidance_kept: bool,
}

/// The body of `POST /api/turns`: a round by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnRequest {
    /// The unit.
    pub unit: String,
    /// The intent, such as `review`.
    pub intent: String,
    /// The stage; chosen by the daemon when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Guidance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
}

/// A turn (`GET /api/turns`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// The id.
    pub id: String,
    /// The shortest prefix of six digits or more that only this turn has.
    pub short: String,
    /// Its number in the unit's book.
    pub seq: u64,
    /// The unit.
    pub unit: UnitName,
    /// The intent.
    pub intent: String,
    /// The stage.
    pub stage: String,
    /// `starting`, `sent`, `started`, `asked`, `recorded`, `failed`, `dismissed` or `unrecorded`.
    pub state: String,
    /// `hand` or `loop`.
    pub started_by: String,
    /// The gate that released it.
    pub gate: Option<String>,
    /// The pinned head.
    pub head: String,
    /// The agent's name.
    pub agent: String,
    /// When its row was written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When it ended.
    #[schemars(with = "Option<String>")]
    pub ended_at: Option<Timestamp>,
    /// The verdict it recorded.
    pub verdict: Option<String>,
    /// The summary it recorded.
    pub summary: Option<String>,
    /// Why it failed, was dismissed, or what to know.
    pub cause: Option<String>,
    /// Guidance it was given.
    pub guidance: Option<String>,
    /// Its posts.
    pub posts: Vec<Post>,
}

/// `GET /api/turns/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnDetail {
    /// The turn.
    pub turn: Turn,
    /// The folder it ran in.
    pub workspace: Option<String>,
    /// The record as the agent made it.
    pub record: Option<serde_json::Value>,
    /// The end of its transcript: what it was given and what it said.
    pub transcript: Vec<TranscriptLine>,
}

/// A line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptLine {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// `command`, `environment`, `prompt`, `stdout`, `stderr` or `note`.
    pub from: String,
    /// The text.
    pub text: String,
}

/// A row of the post ledger (`GET /api/posts`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Post {
    /// The id, which its marker carries.
    pub id: String,
    /// The shortest prefix of six digits or more that only this post has.
    pub short: String,
    /// The unit.
    pub unit: UnitName,
    /// `review`, `comment` or `reply`.
    pub shape: String,
    /// The verdict of a review.
    pub event: Option<String>,
    /// `held`, `queued`, `sending`, `sent`, `failed` or `dropped`.
    pub state: String,
    /// Whether a failed one may have reached the provider (DRAFT-15).
    pub maybe_posted: bool,
    /// The text, whole, without the marker.
    pub text: String,
    /// Its comments on lines.
    pub comments: Vec<InlineComment>,
    /// Whom it mentions (GH-PUB-15).
    pub mentions: Vec<String>,
    /// Whether it is a draft of the Outbox.
    #[serde(default)]
    pub draft: bool,
    /// The commit it was written for.
    pub head: String,
    /// The head of the pull request as it was last read, where that is another and the post has not gone: it is asked about once more
    /// on that one (GH-PUB-17).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_now: Option<String>,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// The gate that holds or released it.
    pub gate: Option<String>,
    /// Its address once sent.
    pub url: Option<String>,
    /// Why it failed, with what to do.
    pub cause: Option<String>,
    /// How often it was tried.
    pub attempts: u64,
    /// When the row was written.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When it came to its present state.
    #[schemars(with = "String")]
    pub changed_at: Timestamp,
}

/// A comment on lines of the diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InlineComment {
    /// The file.
    pub path: String,
    /// The line.
    pub line: u64,
    /// The first line of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u64>,
    /// `LEFT` or `RIGHT`.
    pub side: String,
    /// The text.
    pub body: String,
}

/// The body of `POST /api/posts/{id}/discard`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Discard {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a tool of an agent session answers (MCP-05).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolAnswer {
    /// It was done.
    Done(serde_json::Value),
    /// It was refused and nothing changed.
    Refused(ToolRefusal),
}

/// A refusal of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRefusal {
    /// A word of MCP-05.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// One call of the `gh` on an agent's path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GhRequest {
    /// Its arguments, without the program.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// What the files that it names hold; `-` is standard input.
    #[serde(default)]
    pub files: std::collections::BTreeMap<String, String>,
}

/// What a call of `gh` prints, and how it exits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GhAnswer {
    /// Its exit code.
    pub code: i32,
    /// For standard output.
    pub out: String,
    /// For standard error.
    pub err: String,
}

/// A session: one conversation with one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The id.
    pub id: String,
    /// The shortest prefix of six digits or more that only this session has.
    pub short: String,
    /// The agent's name.
    pub agent: String,
    /// `wloop` for one that the loop started, `hook` for one that an agent's own hooks told of.
    pub manager: String,
    /// Whether the loop started it.
    pub managed: bool,
    /// `active`, `dormant` or `closed`.
    pub state: String,
    /// The folder.
    pub folder: String,
    /// Whether it acts for the person.
    pub driven: bool,
    /// Whether it can be known that the person typed into it.
    pub prompt_knowable: bool,
    /// The newest turn that ran in it.
    pub turn: Option<String>,
    /// When it was made.
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// When it was last seen to be alive.
    #[schemars(with = "String")]
    pub seen_at: Timestamp,
}

/// What an agent's own hook tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookRequest {
    /// `SessionStart`, `UserPromptSubmit`, `Stop` or `SessionEnd`.
    pub event: String,
    /// The agent's name; `claude-code` without one.
    #[serde(default)]
    pub agent: Option<String>,
    /// What the agent wrote to the hook, of which `session_id` and `cwd` are read and no word of a prompt is kept.
    pub payload: serde_json::Value,
}

/// Something to be typed into a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptRequest {
    /// The text.
    pub text: String,
}
