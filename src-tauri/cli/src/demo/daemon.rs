//! The real daemon as a child of the demo, on the demo's home.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::context::Context;
use crate::failure::Failure;

/// The file in the demo's home that holds what the daemon says.
pub(super) const LOG: &str = "daemon.log";

/// How long the daemon may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How long it may take to end; a scripted round takes a moment.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);

/// The running daemon; it is killed when this is dropped before [`Daemon::drain`].
#[derive(Debug)]
pub(super) struct Daemon {
    child: Child,
    socket: PathBuf,
    log: PathBuf,
    // Kept open, so that a later line of the daemon's does not end it.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Daemon {
    /// Starts it and waits until it listens.
    pub(super) async fn start(context: &Context, program: &Path, home: &Path) -> Result<Self, Failure> {
        let log = home.join(LOG);
        let refused = |why: String| Failure::Refused(format!("the demo's daemon does not start: {why}"));
        let errors = File::create(&log).map_err(|error| refused(error.to_string()))?;
        let mut command = Command::new(program);
        command.arg("--home").arg(home).arg("daemon").env_clear();
        let agents = context.home().map(|home| wloop_daemon::face::agent_variables(&home)).unwrap_or_default();
        command.envs(inherited(&context.environment, &agents));
        // A group of its own: Ctrl-C in the terminal reaches the demo alone, which then lets the daemon end in its own way.
        command.process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut child = command.spawn().map_err(|error| refused(error.to_string()))?;
        let Some(output) = child.stdout.take() else { return Err(refused("it has no output".to_owned())) };
        let mut lines = BufReader::new(output).lines();
        let ready = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(socket) = line.strip_prefix("listening on ") {
                    return Some(PathBuf::from(socket.trim()));
                }
            }
            None
        };
        match timeout(START_LIMIT, ready).await {
            Ok(Some(socket)) => Ok(Self { child, socket, log, _lines: lines }),
            Ok(None) => {
                let status = child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
                Err(refused(format!("it ended with {status}{}", last_words(&log))))
            }
            Err(_) => Err(refused(format!("it does not listen after {} s{}", START_LIMIT.as_secs(), last_words(&log)))),
        }
    }

    /// Its socket, as it printed it.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Waits until it ends by itself, which it should not.
    pub(super) async fn ended(&mut self) -> Failure {
        let status = self.child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
        Failure::Refused(format!("the demo's daemon ended with {status}{}", last_words(&self.log)))
    }

    /// Asks it to end, lets running work finish, and ends it by force when that takes too long or Ctrl-C comes again.
    pub(super) async fn drain(mut self) {
        let pid = self.child.id().and_then(|pid| rustix::process::Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            // An error means that it is gone already.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let ended = tokio::select! {
            ended = timeout(DRAIN_LIMIT, self.child.wait()) => ended.is_ok(),
            // The person does not want to wait for it.
            _ = tokio::signal::ctrl_c() => false,
        };
        if !ended {
            drop(self.child.kill().await);
        }
    }
}

/// The environment of the child: the person's own without what would lead it to another home, or tell it that an agent calls.
fn inherited<'a>(environment: &'a BTreeMap<String, String>, agents: &[String]) -> Vec<(&'a String, &'a String)> {
    environment.iter().filter(|(name, _)| !name.starts_with("WLOOP_") && !agents.contains(name)).collect()
}

/// The end of the daemon's log, for a failure's one line.
fn last_words(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    if last.is_empty() { String::new() } else { format!(": {}", last.into_iter().rev().collect::<Vec<_>>().join(" | ")) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{inherited, last_words};

    // interfaces.md, `wloop demo`: a home of its own, whatever surrounds it
    #[test]
    fn the_daemon_of_the_demo_is_led_to_no_other_home_and_is_nobodys_agent() {
        let names = ["PATH", "WLOOP_HOME", "WLOOP_SOCKET", "WLOOP_SESSION", "CLAUDECODE"];
        let environment: BTreeMap<String, String> = names.map(|name| (name.to_owned(), "x".to_owned())).into();
        let left: Vec<&str> =
            inherited(&environment, &["CLAUDECODE".to_owned()]).into_iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["PATH"]);
    }

    #[test]
    fn a_daemon_that_failed_has_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert_eq!(last_words(&log), "");
        std::fs::write(&log, "one\ntwo\n\nthree\nfour\n").unwrap();
        assert_eq!(last_words(&log), ": two | three | four");
    }
}
