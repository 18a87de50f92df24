//! `wloop doctor`: everything that can be wrong, what was found, and what to do.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use secrecy::ExposeSecret as _;
use wloop_agents::preset;
use wloop_api::client::{Client, ClientError};
use wloop_core::github::ReadFault;
use wloop_providers::{GithubConfig, GithubProvider, Provider as _};
use wloop_store::{Store, StoreError};

use crate::home::Home;
use crate::runner::{chain, rounds};
use crate::settings::Rules;
use crate::{edge, secret};

/// How bad a check's finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// All is well.
    Ok,
    /// It works, but look at it.
    Warn,
    /// It does not work until something is done.
    Fail,
}

/// One finding of `wloop doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at, such as `configuration`.
    pub name: String,
    /// How it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do; empty when all is well.
    pub advice: String,
}

/// A clock that differs from GitHub's by more than this is told (GH-SYNC-45).
const SKEW_LIMIT_MS: i64 = 60_000;

/// Looks at everything that exists so far.
pub(crate) async fn check(home: &Home, environment: &BTreeMap<String, String>) -> Vec<Check> {
    let mut checks = Vec::new();
    if let Some(words) = home.unusable() {
        checks.push(fail("home", words, "name a folder"));
        return checks;
    }
    let rules = match Rules::load(home) {
        Ok(rules) => {
            let found = if home.config.is_file() {
                home.config.display().to_string()
            } else {
                format!("none yet at {}; every key has its default", home.config.display())
            };
            checks.push(fine("configuration", found));
            let count = rules.profile.workflows.len();
            let many = if count == 1 { "" } else { "s" };
            checks.push(fine("profile", format!("`{}`, {count} workflow{many}", rules.profile.name)));
            for fault in &rules.profile.broken {
                checks.push(warn("profile", fault.to_string(), "mend the file; the other workflows go on"));
            }
            for hint in rules.approval_hints() {
                checks.push(warn("approval", hint, "see `docs/configuration.md`"));
            }
            Some(rules)
        }
        Err(faults) => {
            for fault in faults {
                let name = if fault.file == "config.toml" { "configuration" } else { "profile" };
                checks.push(fail(name, fault.to_string(), "mend the file"));
            }
            None
        }
    };
    checks.push(git(environment).await);
    let running = daemon(home, &mut checks).await;
    database(home, running, &mut checks);
    if let Some(rules) = rules {
        github(&rules, environment, &mut checks).await;
        agents(&rules, environment, &mut checks).await;
    }
    checks
}

fn fine(name: &str, found: impl Into<String>) -> Check {
    Check { name: name.to_owned(), level: Level::Ok, found: found.into(), advice: String::new() }
}

fn warn(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Check {
    Check { name: name.to_owned(), level: Level::Warn, found: found.into(), advice: advice.into() }
}

fn fail(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Check {
    Check { name: name.to_owned(), level: Level::Fail, found: found.into(), advice: advice.into() }
}

async fn git(environment: &BTreeMap<String, String>) -> Check {
    let output = tokio::process::Command::new("git").arg("--version").env_clear().envs(environment).output().await;
    match output {
        Ok(output) if output.status.success() => fine("git", String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => fail("git", format!("`git --version` ended with {}", output.status), "install git"),
        Err(fault) => fail("git", format!("git cannot be run: {fault}"), "install git"),
    }
}

/// Whether a daemon answers on the home's socket; its own warnings are among the findings.
async fn daemon(home: &Home, checks: &mut Vec<Check>) -> bool {
    let socket = home.socket();
    match Client::connect(socket.clone(), None).health().await {
        Ok(health) => {
            checks.push(fine("daemon", format!("answers on {}, version {}", socket.display(), health.version)));
            if health.version != env!("CARGO_PKG_VERSION") {
                let found = format!("the daemon has version {} and this command {}", health.version, env!("CARGO_PKG_VERSION"));
                checks.push(warn("daemon", found, "start the daemon again with this version"));
            }
            if let Ok(status) = Client::connect(socket.clone(), None).status().await {
                checks.push(drafts(status.drafts_held, status.drafts_failed));
            }
            for warning in health.warnings {
                checks.push(warn("daemon", warning, "see what it says"));
            }
            if let Ok(meta) = std::fs::metadata(&socket)
                && meta.permissions().mode() & 0o077 != 0
            {
                checks.push(fail(
                    "socket",
                    format!("{} can be reached by others", socket.display()),
                    format!("chmod 600 {}", socket.display()),
                ));
            }
            true
        }
        Err(ClientError::Unreachable { .. }) => {
            checks.push(warn("daemon", format!("none answers on {}", socket.display()), "start it: `wloop daemon`"));
            false
        }
        Err(fault) => {
            checks.push(fail("daemon", chain(&fault), "start it again: `wloop daemon`"));
            true
        }
    }
}

fn database(home: &Home, running: bool, checks: &mut Vec<Check>) {
    if running {
        checks.push(fine("database", format!("{}, held by the daemon", home.database.display())));
        return;
    }
    if !home.database.exists() {
        checks.push(fine("database", format!("{}, made at the first start", home.database.display())));
        return;
    }
    match Store::open(&home.database, edge::now()).and_then(|store| store.check().map(|()| store)) {
        Ok(store) => {
            checks.push(fine("database", format!("{}, {} kB", home.database.display(), store.bytes() / 1024)));
            outbox(&store, checks);
        }
        Err(fault @ StoreError::Held { .. }) => {
            checks.push(fail(
                "database",
                chain(&fault),
                "a daemon holds the home and does not answer; end it and start it again",
            ));
        }
        Err(fault) => checks.push(fail("database", chain(&fault), "see what it says; nothing was changed")),
    }
}

/// The drafts of a ledger that no daemon holds; one that was decided and not carried out is counted (F08).
fn outbox(store: &Store, checks: &mut Vec<Check>) {
    let reads = store.read();
    let counted = reads.status_counts().and_then(|counts| Ok((counts, reads.stuck_drafts()?.len())));
    match counted {
        Ok((counts, 0)) => checks.push(drafts(counts.drafts_held, counts.drafts_failed)),
        Ok((_, stuck)) => {
            let found = format!("{stuck} drafts are decided and were neither queued nor dropped");
            checks.push(warn("outbox", found, "start the daemon: `wloop daemon` carries them out"));
        }
        Err(fault) => checks.push(fail("outbox", chain(&fault), "see what it says; nothing was changed")),
    }
}

/// How many drafts wait for the person.
fn drafts(held: u64, failed: u64) -> Check {
    let found = format!("drafts held: {held}, failed: {failed}");
    if failed > 0 { warn("outbox", found, "`wloop outbox` lists them") } else { fine("outbox", found) }
}

async fn github(rules: &Rules, environment: &BTreeMap<String, String>, checks: &mut Vec<Check>) {
    let config = &rules.config.github;
    let Some(source) = &config.token else {
        checks.push(warn(
            "github",
            "no token is set",
            "set `plugins.github.token` in `config.toml`, such as `cmd:gh auth token`",
        ));
        return;
    };
    let token = match secret::token(source, environment).await {
        Ok(token) => token,
        Err(words) => {
            checks.push(fail("github", words, "set a source that gives a token"));
            return;
        }
    };
    debug_assert!(!token.expose_secret().is_empty(), "an empty token is refused above");
    let mut wanted = GithubConfig::new(config.api_url.clone(), token, std::sync::Arc::new(edge::now));
    wanted.web_url.clone_from(&config.web_url);
    let provider = match GithubProvider::new(wanted) {
        Ok(provider) => provider,
        Err(fault) => {
            checks.push(fail("github", fault.to_string(), "mend `plugins.github.api_url`"));
            return;
        }
    };
    let address = provider.addresses().api.clone();
    match provider.viewer().await {
        Ok(viewer) => {
            checks.push(fine("github", format!("{address} knows the token as `{}`", viewer.account.login)));
            if let Some(scopes) = viewer.scopes.filter(|s| !s.iter().any(|scope| scope == "repo")) {
                let found = format!("the token has the scopes {scopes:?}, `repo` not among them");
                checks.push(warn("github", found, "a review of a private repository needs the scope `repo`"));
            }
            if viewer.skew_ms.abs() > SKEW_LIMIT_MS {
                let found = format!("this machine's clock differs from github's by {} s", viewer.skew_ms / 1000);
                checks.push(warn("clock", found, "set the clock, or turn on network time"));
            }
        }
        Err(fault) => {
            let advice = match fault {
                ReadFault::SignedOut(_) => "set a token that github accepts in `plugins.github.token`",
                ReadFault::Wait { .. } => "wait; nothing is lost meanwhile",
                ReadFault::NotFound(_) | ReadFault::Unreachable(_) | ReadFault::Unusable(_) => {
                    "look at `plugins.github.api_url` and the network"
                }
            };
            checks.push(fail("github", format!("{address}: {fault}"), advice));
        }
    }
}

async fn agents(rules: &Rules, environment: &BTreeMap<String, String>, checks: &mut Vec<Check>) {
    let mut configs: Vec<_> = rules.config.agents.iter().map(|(name, entry)| rounds::agent_of(name, entry)).collect();
    let default = rules.agent_for(None);
    if !configs.iter().any(|c| c.name == default) {
        if default == "claude-code" {
            configs.push(preset::AgentConfig {
                name: default.clone(),
                preset: default.clone(),
                ..preset::AgentConfig::default()
            });
        } else {
            checks.push(fail(
                "agents",
                format!("`agents.default` names `{default}`, which is not configured"),
                format!("add `[agents.{default}]`"),
            ));
        }
    }
    for config in configs {
        let found = wloop_agents::doctor::doctor(&config, environment).await;
        let what = match (&found.found, &found.version) {
            (Some(path), Some(version)) => {
                let signed = match found.signed_in {
                    Some(true) => ", signed in",
                    Some(false) => ", nobody is signed in",
                    None => "",
                };
                format!("`{}`: {} ({version}){signed}; runs {}", found.name, path.display(), found.runners.join(" and "))
            }
            (Some(path), None) => format!("`{}`: {}", found.name, path.display()),
            (None, _) => format!("`{}`: `{}` is not found", found.name, found.program),
        };
        let is_default = found.name == default;
        match (found.attention.is_empty(), found.found.is_some() || !is_default) {
            (true, _) => checks.push(fine("agent", what)),
            (false, true) => checks.push(warn("agent", what, found.attention.join("; "))),
            (false, false) => checks.push(fail("agent", what, found.attention.join("; "))),
        }
    }
}
