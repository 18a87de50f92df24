//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Runs review rounds for you, asks before it acts, and remembers what it did.
#[derive(Debug, Parser)]
#[command(name = "wloop", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Arguments {
    /// The folder of configuration, profiles, database and socket
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the daemon in the foreground; SIGTERM or Ctrl-C lets running work end
    Daemon,
    /// Show a complete loop with no account: a small local GitHub, sample pull requests, a scripted agent
    Demo(DemoArguments),
    /// Count what waits, runs and failed
    Status,
    /// Check configuration, tokens, socket and database: what is wrong and what to do
    Doctor,
    /// List what waits for you, oldest first, with the next command to type
    Inbox,
    /// List, show and resolve gates
    Gates(GatesArguments),
    /// List, run and skip planned rounds
    Plan(PlanArguments),
    /// Let no round of a pull request, or of anything, start by itself
    Pause(PauseArguments),
    /// Let rounds of a paused pull request, or of everything, go on
    Resume(HoldArguments),
    /// Announce no round of a pull request, or of anything; they go on
    Mute(HoldArguments),
    /// Announce rounds again
    Unmute(HoldArguments),
    /// Show where a pull request stands, why no round runs on it, and every fact that rules read of it
    Facts(FactsArguments),
    /// Say of each workflow whether it would act on a pull request now, term by term of its condition
    Explain(ExplainArguments),
    /// Tell what rules can be written with: facts and steps
    Workflows(WorkflowsArguments),
    /// Review a pull request now; it does not wait for a window
    Review(ReviewArguments),
    /// List and show the rounds that ran
    Turns(TurnsArguments),
    /// Act on one round
    Turn(TurnArguments),
    /// List, show, write and answer drafts: nothing of them goes out before you approve it
    Outbox(OutboxArguments),
    /// List sessions with agents
    Sessions,
    /// Act on one session
    Session(SessionArguments),
    /// Tell the daemon what an agent's own hook tells; for the agent's settings
    Hook(HookArguments),
    /// List what went out, and settle what failed or cannot be told
    Posts(PostsArguments),
    /// Print the record of what happened
    Events(EventsArguments),
    /// Serve the tools of an agent session on standard input and output
    Mcp,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `wloop demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    /// The port of the small GitHub on 127.0.0.1; any free one by default
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Play through once without you, print what happened and end; so it does by itself without a terminal
    #[arg(long)]
    pub(crate) once: bool,
}

/// `wloop gates`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct GatesArguments {
    /// What to do; lists them when left out.
    #[command(subcommand)]
    pub(crate) command: Option<GatesCommand>,
    /// Only gates of this status; open ones by default
    #[arg(long, value_name = "STATUS", value_parser = ["open", "approved", "rejected", "answered", "dismissed", "superseded"])]
    pub(crate) status: Option<String>,
    /// Gates of every status
    #[arg(long, conflicts_with = "status")]
    pub(crate) all: bool,
    /// Only gates of this kind
    #[arg(long, value_name = "KIND", value_parser = ["draft", "plan", "question", "post", "proposal", "trust", "step"])]
    pub(crate) kind: Option<String>,
    /// Only gates on this unit
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
}

/// What can be done with a gate.
#[derive(Debug, Subcommand)]
pub(crate) enum GatesCommand {
    /// Show one gate whole, with the text it holds and what can be answered
    Show {
        /// The gate's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Answer a gate by one of its intents
    Resolve {
        /// The gate's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
        /// The intent, as `wloop gates show` lists them
        intent: String,
        /// The text of an intent that takes one; `-` reads standard input
        #[arg(long, value_name = "T")]
        text: Option<String>,
        /// Another body for the text that the gate holds; `-` reads standard input
        #[arg(long, value_name = "T")]
        draft_text: Option<String>,
        /// The same from a file
        #[arg(long, value_name = "FILE", conflicts_with = "draft_text")]
        draft_file: Option<PathBuf>,
    },
    /// Say that you looked after what failed or cannot be told; it is warned of no more
    Seen {
        /// The gate's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Run a consequence that failed once more
    Retry {
        /// The gate's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
}

/// `wloop plan`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PlanArguments {
    /// What to do; lists the plan when left out.
    #[command(subcommand)]
    pub(crate) command: Option<PlanCommand>,
    /// Go on showing it, with its countdowns, until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    /// Only this pull request, and why no other round of it runs
    #[arg(long, value_name = "UNIT", conflicts_with = "follow")]
    pub(crate) unit: Option<String>,
}

/// `wloop pause`.
#[derive(Debug, Args)]
pub(crate) struct PauseArguments {
    /// The pull request: its address, `owner/repo#n` or `github:<key>`; everything when left out
    pub(crate) unit: Option<String>,
    /// Everything, said out loud
    #[arg(long, conflicts_with = "unit")]
    pub(crate) all: bool,
    /// Everything, until this instant (2026-01-31T09:00:00Z) or for so long (90m, 2h, 3d)
    #[arg(long, value_name = "WHEN", conflicts_with = "unit")]
    pub(crate) until: Option<String>,
}

/// `wloop resume`, `wloop mute` and `wloop unmute`.
#[derive(Debug, Args)]
pub(crate) struct HoldArguments {
    /// The pull request: its address, `owner/repo#n` or `github:<key>`; everything when left out
    pub(crate) unit: Option<String>,
    /// Everything, said out loud
    #[arg(long, conflicts_with = "unit")]
    pub(crate) all: bool,
}

/// What can be done with planned rounds.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Run the planned rounds of a pull request now
    Apply {
        /// Its address, `owner/repo#n` or `github:<key>`
        unit: String,
        /// What the agent should know; `-` reads standard input
        #[arg(long, value_name = "T")]
        guide: Option<String>,
    },
    /// Skip the planned rounds of a pull request, until something new happens on it
    Dismiss {
        /// Its address, `owner/repo#n` or `github:<key>`
        unit: String,
    },
}

/// `wloop facts`.
#[derive(Debug, Args)]
pub(crate) struct FactsArguments {
    /// The pull request: its address, `owner/repo#n` or `github:<key>`
    pub(crate) unit: String,
}

/// `wloop explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The pull request: its address, `owner/repo#n` or `github:<key>`
    pub(crate) unit: String,
    /// Only this workflow
    pub(crate) workflow: Option<String>,
}

/// `wloop review`.
#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// The pull request: its address, `owner/repo#n` or `github:<key>`
    pub(crate) unit: String,
    /// What the agent should know; `-` reads standard input
    #[arg(long, value_name = "T")]
    pub(crate) guide: Option<String>,
}

/// `wloop turns`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TurnsArguments {
    /// What to do; lists them when left out.
    #[command(subcommand)]
    pub(crate) command: Option<TurnsCommand>,
    /// Only turns of this unit
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// Only turns in this state
    #[arg(long, value_name = "STATE", value_parser = ["starting", "sent", "started", "asked", "recorded", "failed", "dismissed", "unrecorded"])]
    pub(crate) state: Option<String>,
}

/// What can be seen of a turn.
#[derive(Debug, Subcommand)]
pub(crate) enum TurnsCommand {
    /// Show one turn: its record, its posts and what was said
    Show {
        /// The turn's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
}

/// `wloop turn`.
#[derive(Debug, Args)]
pub(crate) struct TurnArguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: TurnCommand,
}

/// What can be done with a turn.
#[derive(Debug, Subcommand)]
pub(crate) enum TurnCommand {
    /// Stop a turn that runs
    Cancel {
        /// The turn's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
}

/// `wloop outbox`.
#[derive(Debug, Args)]
pub(crate) struct OutboxArguments {
    /// What to do; lists them when left out.
    #[command(subcommand)]
    pub(crate) command: Option<OutboxCommand>,
}

/// What can be done with drafts.
#[derive(Debug, Subcommand)]
pub(crate) enum OutboxCommand {
    /// Show one draft whole, with everyone it mentions
    Show {
        /// The draft's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Write a draft of your own; it is held until you approve it
    New {
        /// The pull request: its address, `owner/repo#n` or `github:<key>`
        unit: String,
        /// The text, in Markdown; `-` reads standard input
        #[arg(required_unless_present = "react")]
        markdown: Option<String>,
        /// A reaction instead, on a Slack message
        #[arg(long, value_name = "E", conflicts_with = "markdown")]
        react: Option<String>,
        /// Approve it at once
        #[arg(long)]
        send: bool,
        /// Show a reply in a Slack thread in its conversation too
        #[arg(long)]
        broadcast: bool,
        /// Why, as a label such as `nudge`
        #[arg(long, value_name = "P")]
        purpose: Option<String>,
    },
    /// Show a draft whole and send it once you say yes
    Approve {
        /// The draft's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
        /// The gate that was shown; needed where no terminal can ask
        #[arg(long, value_name = "G", value_parser = id)]
        gate: Option<String>,
    },
    /// Give a held draft another text; it is asked about anew
    Edit {
        /// The draft's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
        /// The text, in Markdown; `-` reads standard input
        markdown: String,
        /// The gate that was shown; another one by now refuses the edit
        #[arg(long, value_name = "G", value_parser = id)]
        gate: Option<String>,
    },
    /// Drop a draft; one that you approved already needs a reason
    Discard {
        /// The draft's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
        /// Why
        #[arg(long, value_name = "R")]
        reason: Option<String>,
    },
    /// Send a failed draft again; one of which nobody could tell is looked up first
    Retry {
        /// The draft's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
}

/// `wloop session`.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

/// What can be done with a session.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Close a session that is not in use
    Close {
        /// The session's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Type into a session
    Prompt {
        /// The session's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
        /// The text; `-` reads it from standard input
        text: String,
    },
}

/// `wloop hook`.
#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// What happened: SessionStart, UserPromptSubmit, Stop or SessionEnd
    pub(crate) event: String,
    /// The agent's name
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

/// `wloop workflows`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowsArguments {
    /// What to tell.
    #[command(subcommand)]
    pub(crate) command: WorkflowsCommand,
}

/// What is told of workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowsCommand {
    /// List every fact that a rule can read, with its type, where it may be read and what it means
    Facts {
        /// Only those that workflows on the units of this provider read
        #[arg(value_parser = ["github", "session", "slack", "task", "workspace"])]
        provider: Option<String>,
    },
    /// List every step that a workflow can use, with its arguments
    Steps,
}

/// `wloop posts`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct PostsArguments {
    /// What to do; lists them when left out.
    #[command(subcommand)]
    pub(crate) command: Option<PostsCommand>,
    /// Only posts in this state
    #[arg(long, value_name = "STATE", value_parser = ["held", "queued", "sending", "sent", "failed", "dropped"])]
    pub(crate) state: Option<String>,
    /// Only posts on this unit
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
}

/// What can be done with a post.
#[derive(Debug, Subcommand)]
pub(crate) enum PostsCommand {
    /// Show one post whole
    Show {
        /// The post's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Say that a post of which nobody could tell was sent
    Sent {
        /// The post's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Send a failed post again; one of which nobody could tell is looked up first
    Retry {
        /// The post's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
    },
    /// Drop a failed post
    Discard {
        /// The post's id, or at least its first four characters
        #[arg(value_parser = id)]
        id: String,
        /// Why
        #[arg(long, value_name = "R")]
        reason: Option<String>,
    },
}

/// `wloop events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArguments {
    /// Go on printing what happens, until Ctrl-C
    #[arg(long)]
    pub(crate) follow: bool,
    /// Only events of this unit
    #[arg(long, value_name = "UNIT")]
    pub(crate) unit: Option<String>,
    /// After this event's id, this instant (2026-01-31T09:00:00Z) or this long ago (90m, 2h, 3d)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Upkeep too
    #[arg(long)]
    pub(crate) all: bool,
}

/// An id as it may be typed: its start, of four hexadecimal digits at least.
fn id(text: &str) -> Result<String, String> {
    // A unit in the place of an id goes on to the daemon, which says what would list it.
    if text.contains(['#', '/', ':']) {
        return Ok(text.to_owned());
    }
    let lower = text.to_ascii_lowercase();
    if (4..=32).contains(&lower.len()) && lower.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(lower)
    } else {
        Err("an id is 4 to 32 hexadecimal digits, as the lists show them".to_owned())
    }
}
