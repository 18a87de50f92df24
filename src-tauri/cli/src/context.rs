//! What every command gets: where the daemon is, who calls, and how to print. Made once, in `main`.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;

use jiff::Timestamp;
use wloop_api::client::Client;
use wloop_daemon::face;
use wloop_daemon::home::{Home, HomeFault};

use crate::failure::Failure;
use crate::guard::{self, Caller};
use crate::output::Output;

/// The surroundings of one call of `wloop`.
#[derive(Debug)]
pub(crate) struct Context {
    /// The environment, read once.
    pub(crate) environment: BTreeMap<String, String>,
    /// `--home`, as typed.
    pub(crate) home_flag: Option<PathBuf>,
    /// Whether JSON is wanted.
    pub(crate) json: bool,
    /// Whether standard input is a terminal.
    pub(crate) input_terminal: bool,
    /// Where and how to print.
    pub(crate) out: Output,
    /// The clock.
    pub(crate) now: fn() -> Timestamp,
}

impl Context {
    /// A variable of the environment; an empty one counts as none.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The home of the daemon.
    pub(crate) fn home(&self) -> Result<Home, HomeFault> {
        Home::resolve(self.home_flag.as_deref(), &self.environment)
    }

    /// The daemon's socket: `WLOOP_SOCKET`, else the home's.
    pub(crate) fn socket(&self) -> Result<PathBuf, HomeFault> {
        match self.variable("WLOOP_SOCKET") {
            Some(socket) => Ok(PathBuf::from(socket)),
            None => Ok(self.home()?.socket()),
        }
    }

    /// The agent session that calls, where the environment names one.
    pub(crate) fn session(&self) -> Option<String> {
        self.variable("WLOOP_SESSION").map(str::to_owned)
    }

    /// A client for the daemon.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        Ok(Client::connect(self.socket()?, self.session()))
    }

    /// Refuses a command that releases something to a caller that is likely no person (RES-20).
    pub(crate) fn guard(&self, command: &str, route: &str) -> Result<(), Failure> {
        let session = self.session().is_some();
        // The names may come from the configuration, which a session's caller need not be able to read.
        let agents = if session { Vec::new() } else { self.home().map(|home| face::agent_variables(&home)).unwrap_or_default() };
        let caller = Caller { terminal: self.input_terminal, session, environment: &self.environment };
        guard::check(caller, &agents, command, route)
    }

    /// A command as it is to be typed next to reach the same daemon.
    pub(crate) fn command(&self, rest: &str) -> String {
        match &self.home_flag {
            Some(home) => format!("wloop --home {} {rest}", quoted(&home.to_string_lossy())),
            None => format!("wloop {rest}"),
        }
    }

    /// A text of the daemon's whose commands are to be typed next: they get the home that this one was given.
    pub(crate) fn hints(&self, text: &str) -> String {
        if self.home_flag.is_none() {
            return text.to_owned();
        }
        let (ours, plain) = (format!("`{}", self.command("")), "`wloop ");
        let known = text.replace(&ours, plain);
        known.replace(plain, &ours)
    }

    /// Text from an argument, or from standard input for `-`.
    pub(crate) fn text(&self, given: Option<&str>) -> Result<Option<String>, Failure> {
        match given {
            Some("-") => std::io::read_to_string(std::io::stdin()).map(Some).map_err(|error| {
                Failure::Refused(format!("standard input cannot be read: {error}; give the text as an argument"))
            }),
            Some(text) => Ok(Some(text.to_owned())),
            None => Ok(None),
        }
    }

    /// Runs an asynchronous command on this thread.
    pub(crate) fn run(&self, work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(work)
    }
}

/// A word as a shell takes it for one.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%,=#".contains(character);
    if !word.is_empty() && !word.starts_with('#') && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Context, quoted};
    use crate::output::Output;

    #[test]
    fn a_hint_of_the_daemons_keeps_the_home() {
        let out = Output { terminal: false, colour: false, error_terminal: false, error_colour: false };
        let context = |home: Option<&str>| Context {
            environment: std::collections::BTreeMap::new(),
            home_flag: home.map(std::path::PathBuf::from),
            json: false,
            input_terminal: false,
            out,
            now: || jiff::Timestamp::UNIX_EPOCH,
        };
        let hint = "there is no post `abcd`; `wloop posts` lists them, `wloop status` counts";
        assert_eq!(context(None).hints(hint), hint);
        let ours = "there is no post `abcd`; `wloop --home /h posts` lists them, `wloop --home /h status` counts";
        assert_eq!(context(Some("/h")).hints(hint), ours);
        assert_eq!(context(Some("/h")).hints(ours), ours, "once");
    }

    #[test]
    fn a_command_to_type_survives_the_shell() {
        assert_eq!(quoted("acme/api#12"), "acme/api#12");
        assert_eq!(quoted("/my home/x"), "'/my home/x'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
