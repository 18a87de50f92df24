//! Everything that can happen to the engine, as one closed set: what a caller asks, what a provider showed, what a turn's process
//! did, what a job is about to do or came to, and the passing of time. Nothing else writes.

use jiff::Timestamp;
use serde_json::Value;
use wloop_agents::tools::ToolCall;
use wloop_core::draft::Delivery;
use wloop_core::github::busy::Workplace;
use wloop_core::github::{Detail, Inventory, LookUp, ReadFault, RepoName, SendOutcome};
use wloop_core::id::{GateId, ItemId, PostId, SessionId, TaskId, TurnId, UnitRef};
use wloop_core::stops::{BlockKind, HoldKind};
use wloop_store::rows::ProcessRow;

/// Who asks (RES-21).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// The person.
    Person,
    /// An unattended session that the daemon knows.
    Session(SessionId),
    /// A caller that cannot be told and is therefore unattended, with the reason.
    Unknown(String),
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Input {
    /// A caller asks for something.
    Request {
        /// Who.
        caller: Caller,
        /// For what.
        request: Request,
    },
    /// A provider was read.
    Observed(Observation),
    /// Something happened to a turn's process.
    Turn {
        /// The turn.
        turn: TurnId,
        /// What.
        event: AgentEvent,
    },
    /// A job is about to act and claims its row.
    Starting(Starting),
    /// A job came to an end.
    Done(Done),
    /// Time passed.
    Tick,
}

/// What a caller can ask for.
#[derive(Debug, Clone)]
pub enum Request {
    /// Resolve a gate.
    Resolve {
        /// Which.
        gate: GateId,
        /// By which intent.
        intent: String,
        /// With which text.
        text: Option<String>,
        /// Another body for a held post.
        draft_text: Option<String>,
    },
    /// Run a failed consequence once more.
    RetryGate(GateId),
    /// Run the planned rounds of a unit, with guidance where some is given.
    ApplyPlan {
        /// The unit.
        unit: UnitRef,
        /// The guidance.
        guidance: Option<String>,
    },
    /// Skip the planned rounds of a unit.
    DismissPlan {
        /// The unit.
        unit: UnitRef,
    },
    /// A round by hand.
    StartTurn {
        /// The unit.
        unit: UnitRef,
        /// The intent.
        intent: String,
        /// The stage.
        stage: Option<String>,
        /// Guidance.
        guidance: Option<String>,
    },
    /// Pause or mute a unit, or everything.
    Hold {
        /// The unit; `None` is everything.
        unit: Option<UnitRef>,
        /// What.
        kind: HoldKind,
        /// When it ends by itself.
        until: Option<Timestamp>,
    },
    /// Take a pause or a mute away.
    Unhold {
        /// The unit; `None` is everything.
        unit: Option<UnitRef>,
        /// What.
        kind: HoldKind,
    },
    /// The person has looked after a consequence that failed or cannot be told (CONS-11).
    SeeConsequence(GateId),
    /// Why no round of a unit runs; changes nothing.
    Explain(UnitRef),
    /// Stop a running turn.
    CancelTurn(TurnId),
    /// Propose a draft of the person's own.
    ProposeDraft(Box<NewDraft>),
    /// Give a held draft another text.
    EditDraft {
        /// Which.
        draft: PostId,
        /// The text.
        text: String,
        /// The gate that the person looked at; another one by now refuses the edit.
        gate: Option<GateId>,
    },
    /// Discard a draft: a held one through its gate, an approved one only with a reason.
    DiscardDraft {
        /// Which.
        draft: PostId,
        /// Why.
        reason: Option<String>,
    },
    /// Send a failed draft again.
    RetryDraft(PostId),
    /// An agent's own hook tells of its session (SES-03).
    Hook {
        /// The agent's name.
        agent: String,
        /// What it tells.
        report: HookReport,
    },
    /// Close a session.
    CloseSession(SessionId),
    /// Type into a session.
    PromptSession(SessionId),
    /// The person says that a doubtful post was sent.
    PostSent(PostId),
    /// Send a failed post again.
    PostRetry(PostId),
    /// Drop a failed post.
    PostDiscard {
        /// Which.
        post: PostId,
        /// Why.
        reason: Option<String>,
    },
    /// A session's tool.
    Tool {
        /// The session that the route names.
        session: SessionId,
        /// The call, its arguments checked.
        call: ToolCall,
        /// The arguments as they came, for telling calls apart.
        arguments: Value,
    },
}

/// A draft to be proposed (DRAFT-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDraft {
    /// Where it goes.
    pub unit: UnitRef,
    /// Its text.
    pub text: String,
    /// Why it is proposed: a label, or empty.
    pub purpose: String,
    /// The delivery that is asked for.
    pub delivery: Delivery,
    /// Whether it is asked to be broadcast; a comment is in no thread and ignores it (DRAFT-32).
    pub broadcast: bool,
    /// What sending it applies.
    pub effects: Vec<String>,
    /// The task it belongs to, where one is named.
    pub task: Option<TaskId>,
    /// The caller's own name for it: the same once more is the same draft (API-10).
    pub key: Option<String>,
}

/// What an agent's own hook tells (SES-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReport {
    /// What happened.
    pub event: HookEvent,
    /// The agent's own id of the conversation.
    pub remote: String,
    /// The folder.
    pub folder: String,
}

/// What an agent's own hook tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookEvent {
    /// A session began, or went on.
    SessionStart,
    /// The person typed.
    UserPromptSubmit,
    /// The agent is done with it.
    Stop,
    /// The session ended.
    SessionEnd,
}

impl HookEvent {
    /// Each with its word.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::SessionStart, "SessionStart"),
        (Self::UserPromptSubmit, "UserPromptSubmit"),
        (Self::Stop, "Stop"),
        (Self::SessionEnd, "SessionEnd"),
    ];
}

/// What a provider showed.
#[derive(Debug, Clone)]
pub enum Observation {
    /// The person asks for another try after the token was refused (GH-SYNC-43).
    TryAgain,
    /// A sweep is wanted now: the machine woke, or one fell due while another ran (GH-SYNC-17, GH-SYNC-18).
    SweepSoon,
    /// GitHub asked for no request of any kind before this (GH-SYNC-36).
    Quiet {
        /// Not before this.
        until: Timestamp,
    },
    /// Whose token it is, and the teams of that account.
    Viewer {
        /// The account.
        account: wloop_core::github::Account,
        /// Its teams, `org/slug`.
        teams: Vec<String>,
    },
    /// A fast sweep.
    Inventory(Result<Inventory, ReadFault>),
    /// One unit.
    Detail {
        /// Which.
        unit: UnitRef,
        /// What.
        result: Box<Result<Detail, ReadFault>>,
    },
    /// A pull request that the person named and that was not watched (GH-SYNC-01 h).
    Asked(Box<Detail>),
}

/// What happened to a turn's process.
#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// It exists; the prompt was not given yet.
    Spawned(ProcessRow),
    /// The prompt was given.
    PromptGiven,
    /// Its first line.
    TookUp,
    /// It told its own id of the conversation.
    Conversation(String),
    /// The daemon goes down and it did not end in time.
    Drained,
    /// It ended, or could not be started.
    Ended(TurnEnd),
}

/// How a run ended, for table R2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// Exit code 0 and no error reported.
    Well,
    /// It never took the prompt.
    NotStarted(String),
    /// It did not start because of a question of its own (RUN-30).
    Blocked {
        /// What it is about.
        kind: BlockKind,
        /// The folder it named; empty where it named none. What is trusted is the repository's own folder (RUN-31).
        folder: String,
        /// Its own words.
        words: String,
    },
    /// An error that it reported, another exit code, a signal, or a limit.
    Badly(String),
    /// It was cancelled, and by whom.
    Cancelled(String),
}

/// A job that is about to act.
#[derive(Debug, Clone)]
pub enum Starting {
    /// A released round, with the read that was made for it (ROUND-06).
    Release {
        /// The item.
        item: ItemId,
        /// The read.
        read: Box<Result<Detail, ReadFault>>,
    },
    /// A turn's process.
    Turn(TurnId),
    /// A post, with the pull request as it is at this moment (GH-PUB-17, GH-PUB-18).
    Post {
        /// The post.
        post: PostId,
        /// What was seen.
        seen: Result<Seen, ReadFault>,
    },
    /// The look-up of a post in doubt.
    LookUp(PostId),
}

/// A pull request right before a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its head.
    pub head: String,
    /// Its files with their patches.
    pub files: Vec<(String, Option<String>)>,
    /// Whether it is open, its conversation not locked and its repository not archived.
    pub takes_words: bool,
}

/// What a job came to.
#[derive(Debug, Clone)]
pub enum Done {
    /// A round's workspace and agent are ready, or not.
    Release {
        /// The item.
        item: ItemId,
        /// What was prepared, or why not.
        prepared: Result<Prepared, String>,
    },
    /// A post's call ended.
    Sent {
        /// The post.
        post: PostId,
        /// How.
        outcome: SendOutcome,
    },
    /// A look-up ended.
    LookedUp {
        /// The post.
        post: PostId,
        /// With what.
        found: LookUp,
    },
    /// A post's outcome could not be written as it came: it is in doubt (GH-PUB-07).
    Lost(PostId),
    /// An agent's home was written for a trust gate that the person approved, or not.
    Trusted {
        /// The trust gate.
        gate: GateId,
        /// Why not, where it was not.
        written: Result<(), String>,
    },
    /// Nothing of a turn's process group is left.
    GroupEnded(TurnId),
}

/// A workspace at a pinned head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The folder.
    pub folder: String,
    /// The commit that is checked out.
    pub head: String,
    /// The merge base.
    pub merge_base: String,
    /// Whether somebody works in it: a round is not given to an agent in a busy one (ROUND-27).
    pub workplace: Workplace,
}

/// Which read is needed before a request can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnitName {
    /// A unit by its reference.
    Ref(UnitRef),
    /// A pull request by repository and number.
    Pull(RepoName, u64),
}

/// A job that is due: a function of the rows alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// Ask for the inventory.
    Sweep,
    /// Read one unit.
    ReadDetail(UnitRef),
    /// Turn a released round into a turn.
    Release(ItemId),
    /// Start a turn's process.
    StartTurn(TurnId),
    /// Stop a turn's process.
    CancelTurn(TurnId),
    /// End what is left of the process group of an earlier daemon's turn.
    EndGroup(TurnId),
    /// Write the trust of a trust gate to the agent's home.
    Trust(GateId),
    /// Send a post.
    Send(PostId),
    /// Look a post up.
    LookUp(PostId),
}

/// The next instant at which a job falls due by time alone, and why (for the timer and for health).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}
