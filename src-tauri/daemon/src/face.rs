//! What the command line uses of the daemon: running it, checking a home without it, and the tools' server of an agent session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

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
