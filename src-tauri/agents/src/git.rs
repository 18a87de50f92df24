//! Git, as another program: with a time limit, without hooks and without a question it could ask anybody.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::process::Command;

use crate::process::Group;
use crate::redact::REDACTED;

/// The variable by which the askpass answer gets the token. It is in the environment of git's fetch and nowhere else.
const TOKEN: &str = "WLOOP_ASKPASS_TOKEN";

const SCRIPT: &str = r#"#!/bin/sh
# Answers git's question for a name or a password. The token is in the environment of the git that asks.
case "$1" in
*sername*) printf '%s\n' x-access-token ;;
*) printf '%s\n' "$WLOOP_ASKPASS_TOKEN" ;;
esac
"#;

/// Settings that hold for every call: no hook of a repository runs, nothing is tidied up in a repository that is not ours.
const SETTINGS: [&str; 8] =
    ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];

/// Why a git command gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitFault {
    /// It could not be started.
    #[error("git cannot be started; install it or put it on the PATH")]
    Start(#[source] std::io::Error),
    /// It took too long and was ended.
    #[error("`git {command}` took longer than {} s; check the connection and try again", .limit.as_secs())]
    Slow {
        /// Its subcommand.
        command: String,
        /// The limit.
        limit: Duration,
    },
    /// It failed.
    #[error("`git {command}` failed: {words}")]
    Failed {
        /// Its subcommand.
        command: String,
        /// Its exit code; `None` for a signal.
        code: Option<i32>,
        /// The end of what it said.
        words: String,
    },
}

/// A repository or worktree, and how git is called there.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    environment: BTreeMap<String, String>,
    /// For calls that stay on this machine.
    local: Duration,
    /// For calls that fetch.
    network: Duration,
}

impl Git {
    /// `environment` is the daemon's own; what it says to git itself is left out, so that no `GIT_DIR` leads elsewhere.
    pub(crate) fn new(folder: &Path, environment: &BTreeMap<String, String>, network: Duration) -> Self {
        let keeps = |name: &str| matches!(name, "GIT_SSH" | "GIT_SSH_COMMAND") || !name.starts_with("GIT_");
        let mut environment: BTreeMap<String, String> = environment
            .iter()
            .filter(|(name, _)| keeps(name) && name.as_str() != "SSH_ASKPASS")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // An answer that is empty, from a program that says nothing: a question ends as a refusal.
        for (name, value) in [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", "true"),
            ("SSH_ASKPASS_REQUIRE", "never"),
            ("GIT_EDITOR", "true"),
            ("LC_ALL", "C"),
        ] {
            environment.insert(name.to_owned(), value.to_owned());
        }
        Self { folder: folder.to_owned(), environment, local: Duration::from_secs(60), network }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn at(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self.clone() }
    }

    /// Runs a command that stays on this machine and answers its output without the last line break.
    pub(crate) async fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, GitFault> {
        self.call(&[], arguments, &[], self.local).await
    }

    /// Like [`Git::run`] with the longer limit of what writes a whole tree.
    pub(crate) async fn run_long<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, GitFault> {
        self.call(&[], arguments, &[], self.network).await
    }

    /// Fetches `refspecs` from an address: no tag, no pruning, no remote-tracking branch moved, nothing written beside the
    /// references named (WS-03, WS-04). A token is handed over by an askpass answer (WS-02).
    pub(crate) async fn fetch(
        &self,
        address: &str,
        refspecs: &[String],
        token: Option<(&SecretString, &Path)>,
    ) -> Result<(), GitFault> {
        let mut settings = Vec::new();
        let mut variables = Vec::new();
        if let Some((token, askpass)) = token {
            // The person's helpers are left out of it: they would be asked first, and would store our token after it worked.
            settings.extend(["-c", "credential.helper="]);
            variables.push(("GIT_ASKPASS", askpass.to_string_lossy().into_owned()));
            variables.push((TOKEN, token.expose_secret().to_owned()));
        } else if !self.environment.keys().any(|name| name.starts_with("GIT_SSH"))
            && self.run(&["config", "core.sshCommand"]).await.is_err()
        {
            // A key that needs its passphrase typed is refused instead of waited for.
            variables.push(("GIT_SSH_COMMAND", "ssh -o BatchMode=yes".to_owned()));
        }
        let mut arguments: Vec<&str> = vec![
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--refmap=",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
            "--",
            address,
        ];
        arguments.extend(refspecs.iter().map(String::as_str));
        let done = self.call(&settings, &arguments, &variables, self.network).await;
        done.map(|_| ()).map_err(|fault| match (fault, token) {
            (GitFault::Failed { command, code, words }, Some((token, _))) => {
                GitFault::Failed { command, code, words: words.replace(token.expose_secret(), REDACTED) }
            }
            (fault, _) => fault,
        })
    }

    async fn call<S: AsRef<OsStr>>(
        &self,
        settings: &[&str],
        arguments: &[S],
        variables: &[(&str, String)],
        limit: Duration,
    ) -> Result<String, GitFault> {
        let command = arguments.first().map_or_else(String::new, |a| a.as_ref().to_string_lossy().into_owned());
        let child = Command::new("git")
            .args(SETTINGS)
            .args(settings)
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .envs(variables.iter().map(|(name, value)| (*name, OsString::from(value))))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(GitFault::Start)?;
        let group = child.id().map(Group);
        let Ok(done) = tokio::time::timeout(limit, child.wait_with_output()).await else {
            // Git's own children, such as ssh, go with it.
            if let Some(group) = group {
                group.kill();
            }
            return Err(GitFault::Slow { command, limit });
        };
        let output = done.map_err(GitFault::Start)?;
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            return Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines.len().saturating_sub(4);
        let words = lines.get(last..).unwrap_or_default().join("; ").chars().take(1000).collect();
        Err(GitFault::Failed { command, code: output.status.code(), words })
    }
}

/// Writes the askpass answer into `folder`, which only its owner may enter, and answers its path. There is no token in it.
pub(crate) fn askpass(folder: &Path) -> std::io::Result<PathBuf> {
    use std::io::Write as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join("askpass");
    if std::fs::read(&path).is_ok_and(|there| there == SCRIPT.as_bytes()) {
        return Ok(path);
    }
    // Put in its place whole: another preparation may be about to run it.
    let fresh = folder.join(format!("askpass.{}", std::process::id()));
    let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o700).open(&fresh)?;
    file.write_all(SCRIPT.as_bytes())?;
    drop(file);
    std::fs::rename(&fresh, &path)?;
    Ok(path)
}
