//! The rows of the ledger as values. JSON columns whose shape belongs to somebody else are carried as text or `serde_json::Value`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;
use wloop_core::cap::Cap;
use wloop_core::consequence::Consequence;
use wloop_core::draft::{Delivery, Proposer};
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, Gate, GateStatus};
use wloop_core::github::{Account, Detail, RemotePost, Shape, Sightings, Summary};
use wloop_core::id::{GateId, ItemId, PostId, SessionId, TaskId, TurnId, UnitRef};
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::stops::{BlockKind, HoldKind};
use wloop_core::turn::TurnState;

/// What is known of a provider (GH-SYNC-43, GH-SYNC-45).
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderRow {
    /// Its name.
    pub name: String,
    /// The account the token belongs to.
    pub viewer: Option<Account>,
    /// The viewer's teams, `org/slug`.
    pub teams: Vec<String>,
    /// Its clock minus ours, in milliseconds.
    pub skew_ms: i64,
    /// When a sweep last ended well.
    pub last_sweep_at: Option<Timestamp>,
    /// When the next sweep is due.
    pub next_sweep_at: Timestamp,
    /// When every detail is read again.
    pub next_slow_at: Timestamp,
    /// No call before this.
    pub blocked_until: Option<Timestamp>,
    /// Whether the token was refused.
    pub signed_out: bool,
    /// The last error.
    pub error: Option<String>,
}

/// A unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRow {
    /// Its reference.
    pub unit: UnitRef,
    /// How rows name it.
    pub label: String,
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// Whether it is in the inventory.
    pub watched: bool,
}

/// A pull request as it was last read.
#[derive(Debug, Clone, PartialEq)]
pub struct PullRow {
    /// The unit.
    pub unit: UnitRef,
    /// Whether it is in the inventory.
    pub watched: bool,
    /// The summary.
    pub summary: Summary,
    /// The last complete detail.
    pub detail: Option<Detail>,
    /// When it was read, by our clock.
    pub detail_at: Option<Timestamp>,
    /// Whether it is to be read.
    pub wants_detail: bool,
    /// Not before this.
    pub read_after: Timestamp,
    /// Why the last read failed.
    pub fault: Option<String>,
    /// When its head and its conflict were first seen (GH-SYNC-46).
    pub sightings: Sightings,
}

/// A task, as far as gates need one (GATE-28 to GATE-37).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its id.
    pub id: TaskId,
    /// `user`, `agent`, `loop`, `unit` or `service` (TASK-04).
    pub origin: String,
    /// Its kind (TASK-05).
    pub kind: String,
    /// Its title, one line of at most 300 characters.
    pub title: String,
    /// Its category.
    pub category: String,
    /// Whether it exists only to hold gates (TASK-08).
    pub gate_holder: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// A gate with everything the ledger keeps beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRow {
    /// The gate.
    pub gate: Gate,
    /// In which category its captured task ends, by closing status: `done` or `dropped` (GATE-34).
    pub ends_task: BTreeMap<GateStatus, String>,
    /// Mode and rule it opened under.
    pub policy: String,
    /// How the policy came to that.
    pub explanation: Value,
    /// The turn that stopped here.
    pub turn: Option<TurnId>,
    /// What became of what it released, and since when.
    pub consequence: Option<(Consequence, Timestamp)>,
    /// A word about the consequence.
    pub consequence_note: String,
}

/// A planned round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRow {
    /// Its id.
    pub id: ItemId,
    /// Its unit.
    pub unit: UnitRef,
    /// The workflow.
    pub workflow: String,
    /// The key under which it is handled.
    pub key: String,
    /// The intent it starts.
    pub intent: String,
    /// The stage.
    pub stage: String,
    /// Its state.
    pub state: ItemState,
    /// Its plan gate.
    pub gate: GateId,
    /// The head it was planned on.
    pub head: String,
    /// Why it was planned, or what holds it.
    pub reason: String,
    /// Whether the person asked for it (WIN-38).
    pub by_hand: bool,
    /// The cap that holds it, or held it until the person let it go.
    pub cap: Option<CapRow>,
    /// A released one is not tried before this.
    pub try_after: Timestamp,
    /// When it was planned.
    pub planned_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// Which cap holds a round, and on which local day (WIN-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapRow {
    /// The cap.
    pub cap: Cap,
    /// The day, in the configured zone.
    pub day: Date,
}

/// What the person laid on a unit or on everything (WIN-13, WIN-39).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRow {
    /// The unit; `None` is everything.
    pub unit: Option<UnitRef>,
    /// What.
    pub kind: HoldKind,
    /// When it is over by itself.
    pub until: Option<Timestamp>,
    /// Since when.
    pub since: Timestamp,
}

/// An agent that may run in a repository (RUN-32).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRow {
    /// The agent's name.
    pub agent: String,
    /// `owner/repo`; letters are not told apart by case.
    pub repo: String,
    /// Since when.
    pub at: Timestamp,
    /// The trust gate; `None` where a home was made with it.
    pub gate: Option<GateId>,
    /// The folder that the gate showed.
    pub folder: String,
}

/// What keeps an agent from starting in a repository (GATE-51, RUN-30, RUN-32).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRow {
    /// The trust gate that asks about it.
    pub gate: GateId,
    /// The unit whose gate that is.
    pub unit: UnitRef,
    /// The agent's name.
    pub agent: String,
    /// `owner/repo`; letters are not told apart by case.
    pub repo: String,
    /// The folder that is to be trusted; empty where it is about something else.
    pub folder: String,
    /// The agent homes that trust is written to, where they are known.
    pub homes: Vec<String>,
    /// The agent's own words.
    pub words: String,
    /// What it is about.
    pub kind: BlockKind,
    /// Since when.
    pub opened_at: Timestamp,
    /// When it was lifted.
    pub lifted_at: Option<Timestamp>,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The agent's name.
    pub agent: String,
    /// `wloop` or `hook` (SES-01).
    pub manager: String,
    /// `active`, `dormant` or `closed`.
    pub state: String,
    /// The folder.
    pub folder: String,
    /// The agent's own id of it.
    pub remote: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Something that was typed into a session (SES-02).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRow {
    /// Its number; a later prompt has a higher one.
    pub id: i64,
    /// The session.
    pub session: SessionId,
    /// Whether the person typed it; the loop did otherwise.
    pub by_person: bool,
    /// The turn whose prompt it was.
    pub turn: Option<TurnId>,
    /// When.
    pub at: Timestamp,
}

/// What an agent's own hooks report of a session (SES-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookedRow {
    /// The session.
    pub session: SessionId,
    /// Whether its agent tells of prompts.
    pub reports_prompts: bool,
    /// Whether its agent works on one.
    pub works: bool,
    /// When it was last told of.
    pub seen_at: Timestamp,
}

/// The process of a turn (RUN-07).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRow {
    /// The process id.
    pub pid: i64,
    /// When it started, in the system's words, which tells a reused id apart.
    pub start: String,
    /// Its group.
    pub pgid: i64,
}

/// A turn with its pins (ROUND-08).
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// Its id.
    pub id: TurnId,
    /// Its unit.
    pub unit: UnitRef,
    /// Its number in the unit's book, from 1.
    pub seq: u64,
    /// The intent.
    pub intent: String,
    /// The intent's version (INT-13).
    pub intent_version: String,
    /// The stage.
    pub stage: String,
    /// Its state.
    pub state: TurnState,
    /// Whether the person started it.
    pub by_hand: bool,
    /// The workflow.
    pub workflow: String,
    /// The plan item it came from.
    pub item: ItemId,
    /// The gate that released it.
    pub gate: GateId,
    /// Its session.
    pub session: SessionId,
    /// The agent's name.
    pub agent: String,
    /// The pinned head.
    pub head: String,
    /// The pinned base commit.
    pub base: String,
    /// The pinned merge base, once the workspace told it.
    pub merge_base: Option<String>,
    /// The covered set.
    pub covered: Value,
    /// The person's guidance.
    pub guidance: Option<String>,
    /// The folder it runs in.
    pub workspace: Option<String>,
    /// The daemon that wrote it.
    pub generation: i64,
    /// Whether a runner took it.
    pub claimed: bool,
    /// Its process.
    pub process: Option<ProcessRow>,
    /// Whether nothing of its process group is left.
    pub group_ended: bool,
    /// Who asked to cancel it.
    pub cancel_by: Option<String>,
    /// When its row was written.
    pub created_at: Timestamp,
    /// When the prompt was given.
    pub sent_at: Option<Timestamp>,
    /// When the agent took it up.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The verdict it recorded.
    pub verdict: Option<String>,
    /// Its record.
    pub record: Option<Value>,
    /// Why it failed or was dismissed, or a warning.
    pub cause: String,
}

/// A post.
#[derive(Debug, Clone, PartialEq)]
pub struct PostRow {
    /// Its id, which its marker carries.
    pub id: PostId,
    /// Its unit.
    pub unit: UnitRef,
    /// Its turn.
    pub turn: Option<TurnId>,
    /// The gate that holds or released it.
    pub gate: GateId,
    /// What it is.
    pub shape: Shape,
    /// The text as proposed.
    pub text: String,
    /// The text as it goes out.
    pub body: String,
    /// Whom it mentions.
    pub mentions: Vec<String>,
    /// The places of comments that could not stand in the diff and went into the text (GH-PUB-18).
    pub moved: Vec<String>,
    /// The pinned head.
    pub head: String,
    /// Its state.
    pub state: PostState,
    /// Whether a failed one may be at the provider.
    pub maybe_posted: bool,
    /// What the provider calls it.
    pub remote: Option<RemotePost>,
    /// Why it failed.
    pub cause: String,
    /// When the first attempt started.
    pub started_at: Option<Timestamp>,
    /// Since when it is in doubt.
    pub doubt_at: Option<Timestamp>,
    /// Look-ups since the doubt.
    pub look_ups: u32,
    /// Those that were complete.
    pub complete_look_ups: u32,
    /// The next look-up, or not to be tried before.
    pub next_at: Option<Timestamp>,
    /// Whether a look-up that finds nothing sends it again.
    pub send_if_absent: bool,
    /// When the person last asked for it to be sent again, so that it goes by their word alone.
    pub retried_at: Option<Timestamp>,
    /// When it was written.
    pub created_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// A draft: what there is to know of it beside its post, whose id it shares (DRAFT-02, DRAFT-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftRow {
    /// Its id: that of its post.
    pub id: PostId,
    /// Why it was proposed; empty where its proposer did not say.
    pub purpose: String,
    /// How it is delivered.
    pub delivery: Delivery,
    /// Whether a broadcast is asked for (DRAFT-31).
    pub broadcast: bool,
    /// Its task.
    pub task: Option<TaskId>,
    /// Who proposed it.
    pub proposer: Proposer,
    /// The session that proposed it (RES-12).
    pub session: Option<SessionId>,
    /// The turn that proposed it (AGENT-09).
    pub turn: Option<TurnId>,
    /// The person's own name for the proposal.
    pub key: Option<String>,
    /// Why it was dropped.
    pub reason: String,
    /// When the person last edited it.
    pub edited_at: Option<Timestamp>,
}

/// A text of a draft with the gate that asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRow {
    /// The draft.
    pub draft: PostId,
    /// Its number, from 1.
    pub n: u32,
    /// The gate.
    pub gate: GateId,
    /// The text.
    pub text: String,
    /// Whom it mentions.
    pub mentions: Vec<String>,
    /// When it was written.
    pub at: Timestamp,
}

/// One try of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptRow {
    /// The post.
    pub post: PostId,
    /// Its number, from 1.
    pub n: u32,
    /// The daemon whose call it is.
    pub generation: i64,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended and how: `sent`, `refused`, `wait`, `not_reached`, `doubt`, `lost`.
    pub ended: Option<(Timestamp, String)>,
    /// The provider's words.
    pub detail: String,
}

/// A recorded call of a tool (MCP-06).
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRow {
    /// The turn.
    pub turn: TurnId,
    /// The tool.
    pub tool: String,
    /// The caller's key, else a hash of the arguments.
    pub key: String,
    /// The hash of the arguments.
    pub arguments: String,
    /// The post it made.
    pub post: Option<PostId>,
    /// The answer, once known.
    pub answer: Option<Value>,
}

/// Guidance that waits for a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuidanceRow {
    /// Its number.
    pub id: i64,
    /// The unit.
    pub unit: UnitRef,
    /// The text.
    pub text: String,
    /// When it was kept.
    pub kept_at: Timestamp,
    /// Came too late: shown, never handed over unasked (F10).
    pub offered: bool,
    /// The turn it was taken for.
    pub turn: Option<TurnId>,
}

/// An event to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The kind.
    pub kind: EventKind,
    /// Short and comparable.
    pub key: String,
    /// Text or JSON.
    pub data: Value,
    /// The unit.
    pub unit: Option<UnitRef>,
    /// The task.
    pub task: Option<TaskId>,
    /// The gate.
    pub gate: Option<GateId>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The post.
    pub post: Option<PostId>,
    /// Who.
    pub actor: Actor,
    /// The workflows that led to it, the first first; empty for what none caused. Its depth is its length (EVT-07).
    pub chain: Vec<String>,
}

/// A recorded event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRow {
    /// Its id, which grows.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: NewEvent,
}
