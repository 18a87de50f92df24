//! The table of operations: every route once, with who may call it. The server, the client and the description are made from it.

/// The method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Writes.
    Post,
}

/// Who may call an operation ("What an agent may do").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// Anyone on this machine as this person, an unattended session too.
    Anyone,
    /// The person and driven sessions.
    Person,
    /// The person; a session as itself, for what is its own.
    SessionToo,
    /// The session that the route names, and nobody else.
    ThatSession,
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// A stable name.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// The path, with `{name}` for each part that varies.
    pub path: &'static str,
    /// Who may.
    pub callers: Callers,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The name of the type of the request's body; empty for none.
    pub request: &'static str,
    /// The name of the type of the answer, `[T]` for a list.
    pub answer: &'static str,
    /// The names of the parameters that its query takes, each one of [`QUERY`].
    pub query: &'static [&'static str],
}

/// A parameter of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a number; else it is a text.
    pub number: bool,
    /// What it does.
    pub summary: &'static str,
}

/// Every parameter that a query can have; which ones an operation takes stands in the table.
pub const QUERY: &[Parameter] = &[
    Parameter { name: "status", number: false, summary: "Only those of this status." },
    Parameter { name: "kind", number: false, summary: "Only those of this kind." },
    Parameter { name: "state", number: false, summary: "Only those in this state." },
    Parameter { name: "unit", number: false, summary: "Only those of this unit: an address, `owner/repo#n` or `provider:key`." },
    Parameter { name: "task", number: false, summary: "Only those of the task with this id or this start of one." },
    Parameter { name: "since", number: true, summary: "Only what came after the event of this id." },
    Parameter { name: "limit", number: true, summary: "At most so many rows; 500 at the very most, and without it." },
];

macro_rules! operations {
    ($($const:ident = $method:ident $path:literal $callers:ident $request:literal -> $answer:literal $(? ($($query:literal),*))?, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $const: Operation = Operation {
                name: stringify!($const),
                method: Method::$method,
                path: $path,
                callers: Callers::$callers,
                summary: $summary,
                request: $request,
                answer: $answer,
                query: &[$($($query),*)?],
            };
        )*
        /// Every operation, in the order the description lists them.
        pub const ALL: &[Operation] = &[$($const),*];
    };
}

operations! {
    HEALTH = Get "/healthz" Anyone "" -> "Health", "How the daemon is.";
    STATUS = Get "/api/status" Anyone "" -> "Status", "The counters.";
    GATES = Get "/api/gates" Anyone "" -> "[Gate]" ? ("status", "kind", "unit", "task", "limit"), "Gates, oldest first; `status`, `kind`, `unit` and `task` narrow.";
    GATE = Get "/api/gates/{id}" Anyone "" -> "Gate", "One gate, whole.";
    RETRY_GATE = Post "/api/gates/{id}/retry" Person "" -> "Gate", "A failed consequence once more.";
    SAW_GATE = Post "/api/gates/{id}/seen" Person "" -> "Gate", "The person looked after a consequence that failed or cannot be told; health names it no more.";
    RESOLVE_GATE = Post "/api/gates/{id}/{intent}" Person "Resolve" -> "Gate", "Resolves a gate by one of its intents.";
    PLAN = Get "/api/plan" Anyone "" -> "[PlanItem]", "Planned rounds, in order of their planning.";
    DECIDE_PLAN = Post "/api/plan" Person "PlanRequest" -> "PlanAnswer", "Runs, skips or guides the planned rounds of a unit.";
    UNIT = Get "/api/units/{provider}/{key}" Anyone "" -> "UnitDetail", "One pull request: where it stands, its rounds, why no other runs, and what can be started on it.";
    UNIT_FACTS = Get "/api/units/{provider}/{key}/facts" Anyone "" -> "[Fact]", "Every fact of a pull request, as the next sweep would read it.";
    UNIT_EXPLAIN = Get "/api/units/{provider}/{key}/explain" Anyone "" -> "[Explained]", "For each workflow: whether it would act on the pull request now, and what each term of its condition comes to.";
    PAUSE_UNIT = Post "/api/units/{provider}/{key}/pause" Person "" -> "UnitDetail", "No round of this unit starts by itself.";
    RESUME_UNIT = Post "/api/units/{provider}/{key}/resume" Person "" -> "UnitDetail", "Rounds of this unit are planned anew.";
    MUTE_UNIT = Post "/api/units/{provider}/{key}/mute" Person "" -> "UnitDetail", "Rounds of this unit are not announced, and go on.";
    UNMUTE_UNIT = Post "/api/units/{provider}/{key}/unmute" Person "" -> "UnitDetail", "Rounds of this unit are announced again.";
    PAUSE = Post "/api/pause" Person "PauseRequest" -> "Holds", "No round starts by itself, until then where a time is given.";
    RESUME = Post "/api/resume" Person "" -> "Holds", "Rounds are planned anew; units that are paused by themselves stay so.";
    MUTE = Post "/api/mute" Person "" -> "Holds", "No round is announced.";
    UNMUTE = Post "/api/unmute" Person "" -> "Holds", "Rounds are announced again.";
    TURNS = Get "/api/turns" Anyone "" -> "[Turn]" ? ("unit", "state", "limit"), "Turns, newest first; `unit` and `state` narrow.";
    TURN = Get "/api/turns/{id}" Anyone "" -> "TurnDetail", "One turn with its record and transcript.";
    START_TURN = Post "/api/turns" Person "TurnRequest" -> "PlanAnswer", "A round by hand; it does not wait: the gate that was written for it, already approved.";
    CANCEL_TURN = Post "/api/turns/{id}/cancel" Person "" -> "Turn", "Stops a turn that runs.";
    OUTBOX = Get "/api/outbox" Anyone "" -> "[DraftGroup]", "The drafts that want something of the person, grouped by why they were drafted.";
    DRAFTS = Get "/api/drafts" Anyone "" -> "[Draft]" ? ("state", "task", "limit"), "The Outbox's drafts, newest first; `task` gives a task's held and failed ones, `state` all in a state.";
    PROPOSE_DRAFT = Post "/api/drafts" SessionToo "DraftRequest" -> "Draft", "Proposes a draft; it is held until its gate is approved.";
    DRAFT = Get "/api/drafts/{id}" Anyone "" -> "Draft", "One draft, whole.";
    EDIT_DRAFT = Post "/api/drafts/{id}/edit" Person "DraftEdit" -> "Draft", "Gives a held draft another text, under a new gate that waits.";
    DISCARD_DRAFT = Post "/api/drafts/{id}/discard" SessionToo "Discard" -> "Draft", "Discards a draft: a held one through its gate, an approved one only with a reason; a session withdraws its own held one.";
    RETRY_DRAFT = Post "/api/drafts/{id}/retry" Person "" -> "Draft", "Sends a failed draft again; a doubtful one is looked up first.";
    POSTS = Get "/api/posts" Anyone "" -> "[Post]" ? ("state", "unit", "limit"), "What went out, goes out or cannot be told; `state` and `unit` narrow.";
    ONE_POST = Get "/api/posts/{id}" Anyone "" -> "Post", "One post, whole.";
    POST_SENT = Post "/api/posts/{id}/sent" Person "" -> "Post", "The person says that a doubtful post was sent.";
    POST_RETRY = Post "/api/posts/{id}/retry" Person "" -> "Post", "Sends a failed post again; a doubtful one is looked up first.";
    POST_DISCARD = Post "/api/posts/{id}/discard" Person "Discard" -> "Post", "Drops a failed post.";
    EVENTS = Get "/api/events" Anyone "" -> "[Event]" ? ("since", "unit", "limit"), "The record after `since`; live with `Accept: text/event-stream`.";
    SESSIONS = Get "/api/sessions" Anyone "" -> "[Session]" ? ("state", "limit"), "Sessions, newest first; `state` narrows, and closed ones are left out without it.";
    HOOK = Post "/api/sessions/hook" Person "HookRequest" -> "Session", "What an agent's own hook tells of its session.";
    CLOSE_SESSION = Post "/api/sessions/{id}/close" Person "" -> "Session", "Closes a session that is not in use.";
    PROMPT_SESSION = Post "/api/sessions/{id}/prompt" Person "PromptRequest" -> "Session", "Types into a session; a headless one takes none.";
    TOOL = Post "/api/sessions/{id}/tools/{tool}" ThatSession "" -> "ToolAnswer", "One call of a tool of an agent session.";
    GH = Post "/api/sessions/{id}/gh" ThatSession "GhRequest" -> "GhAnswer", "One call of the `gh` on the path of an agent session.";
    OPENAPI = Get "/api/openapi.json" Anyone "" -> "", "The description of this API.";
}

/// The header by which a session's command line tells which session it is.
pub const SESSION_HEADER: &str = "wloop-session";

/// The `Host` that the client sends and the server expects.
pub const HOST: &str = "wloop";
