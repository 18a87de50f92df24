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
}

macro_rules! operations {
    ($($const:ident = $method:ident $path:literal $callers:ident $request:literal -> $answer:literal, $summary:literal;)*) => {
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
            };
        )*
        /// Every operation, in the order the description lists them.
        pub const ALL: &[Operation] = &[$($const),*];
    };
}

operations! {
    HEALTH = Get "/healthz" Anyone "" -> "Health", "How the daemon is.";
    STATUS = Get "/api/status" Anyone "" -> "Status", "The counters.";
    GATES = Get "/api/gates" Anyone "" -> "[Gate]", "Gates, oldest first; `status`, `kind`, `unit` and `task` narrow.";
    GATE = Get "/api/gates/{id}" Anyone "" -> "Gate", "One gate, whole.";
    RETRY_GATE = Post "/api/gates/{id}/retry" Person "" -> "Gate", "A failed consequence once more.";
    RESOLVE_GATE = Post "/api/gates/{id}/{intent}" Person "Resolve" -> "Gate", "Resolves a gate by one of its intents.";
    PLAN = Get "/api/plan" Anyone "" -> "[PlanItem]", "Planned rounds, in order of their planning.";
    DECIDE_PLAN = Post "/api/plan" Person "PlanRequest" -> "PlanAnswer", "Runs, skips or guides the planned rounds of a unit.";
    TURNS = Get "/api/turns" Anyone "" -> "[Turn]", "Turns, newest first; `unit` and `state` narrow.";
    TURN = Get "/api/turns/{id}" Anyone "" -> "TurnDetail", "One turn with its record and transcript.";
    START_TURN = Post "/api/turns" Person "TurnRequest" -> "PlanAnswer", "A round by hand; it does not wait: the gate that was written for it, already approved.";
    CANCEL_TURN = Post "/api/turns/{id}/cancel" Person "" -> "Turn", "Stops a turn that runs.";
    POSTS = Get "/api/posts" Anyone "" -> "[Post]", "What went out, goes out or cannot be told; `state` and `unit` narrow.";
    POST_SENT = Post "/api/posts/{id}/sent" Person "" -> "Post", "The person says that a doubtful post was sent.";
    POST_RETRY = Post "/api/posts/{id}/retry" Person "" -> "Post", "Sends a failed post again; a doubtful one is looked up first.";
    POST_DISCARD = Post "/api/posts/{id}/discard" Person "Discard" -> "Post", "Drops a failed post.";
    EVENTS = Get "/api/events" Anyone "" -> "[Event]", "The record after `since`; live with `Accept: text/event-stream`.";
    SESSIONS = Get "/api/sessions" Anyone "" -> "[Session]", "Sessions, newest first; `state` narrows, and closed ones are left out without it.";
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
