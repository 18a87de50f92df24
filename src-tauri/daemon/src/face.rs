//! What the command line uses of the daemon: running it, checking a home without it, and the tools' server of an agent session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use wloop_core::rules::registry::{KNOWN, Provider, Scope};
use wloop_core::rules::steps;
use wloop_store::{Store, TrustRow};

use crate::edge::{self, complain};
use crate::home::Home;
use crate::settings::Rules;
use crate::{doctor as checks, mcp, run};

pub use crate::doctor::{Check, Level};

/// The names of environment variables that mark an agent's environment (profile-files.md).
const AGENT_VARIABLES: [&str; 8] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
    "AIDER_MODEL",
];

/// Runs the daemon core in the foreground until it is told to stop; prints `listening on <socket>` once ready.
#[must_use]
pub fn run_daemon(home: &Home, environment: BTreeMap<String, String>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(run::daemon(home, environment)),
        Err(fault) => {
            complain(&format!("the runtime cannot be started: {fault}"));
            ExitCode::FAILURE
        }
    }
}

/// Lets an agent run in a repository of a home that was just made, as its first start would ask: the demo trusts its own scripted
/// agent so. A home that is in use is not touched.
///
/// # Errors
/// What is wrong with the home, in words.
pub fn trust_from_the_start(home: &Home, agent: &str, repo: &str) -> Result<(), String> {
    if home.database.exists() {
        return Err(format!("`{}` is in use already", home.database.display()));
    }
    let now = edge::now();
    let folder = home.data.join("workspaces").join(repo).to_string_lossy().into_owned();
    let row = TrustRow { agent: agent.to_owned(), repo: repo.to_owned(), at: now, gate: None, folder };
    let mut store = Store::open(&home.database, now).map_err(|fault| crate::runner::chain(&fault))?;
    store.write(|tx| tx.put_trust(&row)).map_err(|fault| crate::runner::chain(&fault))
}

/// Every check that can be made without a running daemon, and the running one's own findings where it answers.
#[must_use]
pub fn doctor(home: &Home, environment: &BTreeMap<String, String>) -> Vec<Check> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(checks::check(home, environment)),
        Err(fault) => vec![Check {
            name: "system".to_owned(),
            level: Level::Fail,
            found: format!("the runtime cannot be started: {fault}"),
            advice: "free some memory or open files and try again".to_owned(),
        }],
    }
}

/// Serves the tools of the session `session` on standard streams, each call passed to the daemon behind `socket`.
#[must_use]
pub fn run_mcp(socket: PathBuf, session: Option<String>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => runtime.block_on(mcp::serve(socket, session)).map_err(|fault| crate::runner::chain(&fault)),
        Err(fault) => Err(format!("the runtime cannot be started: {fault}")),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            complain(&words);
            ExitCode::FAILURE
        }
    }
}

/// The files that a call of the `gh` on an agent's path names; `-` is standard input.
#[must_use]
pub fn gh_files(arguments: &[String]) -> Vec<String> {
    wloop_agents::gh::files(arguments)
}

/// The names of environment variables by which the command line takes itself for an agent's (CLI-15), with the configuration's own.
/// A configuration that does not load adds none.
#[must_use]
pub fn agent_variables(home: &Home) -> Vec<String> {
    let mut names: Vec<String> = AGENT_VARIABLES.iter().map(|name| (*name).to_owned()).collect();
    if let Ok(rules) = Rules::load(home) {
        names.extend(rules.config.agents_environment);
    }
    names
}

/// A fact of the registry, for those who write rules (FACT-02).
#[derive(Debug, Clone, serde::Serialize)]
pub struct FactRow {
    /// The dotted name.
    pub name: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where it may be read.
    pub slots: Vec<&'static str>,
    /// Whether no rule that releases may read it.
    pub untrusted: bool,
    /// Whether it is computed only where it is named.
    pub on_demand: bool,
    /// Whether what it tells of exists now; until then it reads as its type's zero.
    pub ready: bool,
    /// What it means.
    pub about: &'static str,
}

/// The facts that workflows on a provider's units read; without a provider every fact there is.
#[must_use]
pub fn facts(provider: Option<&str>) -> Vec<FactRow> {
    let scope = Provider::ALL.iter().find(|(word, _)| Some(*word) == provider).map(|(_, of)| Scope::Workflow(*of));
    KNOWN
        .iter()
        .filter(|row| scope.is_none_or(|scope| scope.admits(row)))
        .map(|row| FactRow {
            name: row.name,
            kind: row.kind.as_str(),
            slots: row.slots.iter().map(|slot| slot.as_str()).collect(),
            untrusted: row.untrusted,
            on_demand: row.on_demand,
            ready: row.ready,
            about: row.about,
        })
        .collect()
}

/// A step of a workflow, for those who write them (FACT-03).
#[derive(Debug, Clone, serde::Serialize)]
pub struct StepRow {
    /// The name that `use` gives.
    pub name: &'static str,
    /// Whose units it serves.
    pub serves: Vec<&'static str>,
    /// Its arguments.
    pub arguments: Vec<ArgumentRow>,
    /// Whether it can run now.
    pub ready: bool,
    /// What it does.
    pub about: &'static str,
}

/// An argument of a step.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ArgumentRow {
    /// Its key.
    pub name: &'static str,
    /// What it is, in words.
    pub takes: String,
    /// Whether the step needs it.
    pub required: bool,
}

/// Every step, by name.
#[must_use]
pub fn steps() -> Vec<StepRow> {
    let argument = |argument: &steps::Argument| ArgumentRow {
        name: argument.name,
        takes: argument.takes.words(),
        required: argument.required,
    };
    steps::STEPS
        .iter()
        .map(|step| StepRow {
            name: step.name,
            serves: step.serves.iter().map(|provider| provider.as_str()).collect(),
            arguments: step.arguments.iter().map(argument).collect(),
            ready: step.ready,
            about: step.about,
        })
        .collect()
}
