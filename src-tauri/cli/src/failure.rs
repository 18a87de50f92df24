//! Why a command did not do what it was asked for: one line, and the exit code.

use std::io;

use wloop_api::client::ClientError;
use wloop_daemon::home::HomeFault;

use crate::output::one_line;

/// A command that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// It was refused or failed, here; the text says what, why and what to do.
    #[error("{0}")]
    Refused(String),
    /// It was typed wrongly.
    #[error("{0}")]
    Usage(String),
    /// The daemon did not do it.
    #[error(transparent)]
    Daemon(#[from] ClientError),
    /// No home is known.
    #[error(transparent)]
    Home(#[from] HomeFault),
    /// Whoever read the output has seen enough.
    #[error("standard output was closed")]
    Closed,
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Output(io::Error),
    /// What there is to say was printed already.
    #[error("something needs attention")]
    Said,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Output(error) }
    }
}

impl Failure {
    /// The exit code (interfaces.md, "Command line").
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Usage(_) => 2,
            Self::Daemon(ClientError::Unreachable { .. }) => 3,
            Self::Refused(_) | Self::Daemon(_) | Self::Home(_) | Self::Output(_) | Self::Said => 1,
        }
    }

    /// The line for standard error; none where nothing more is to be said. `daemon` is the command that starts the daemon.
    pub(crate) fn line(&self, daemon: &str) -> Option<String> {
        let text = match self {
            Self::Closed | Self::Said => return None,
            Self::Daemon(ClientError::Unreachable { cause, .. }) if cause.kind() == io::ErrorKind::TimedOut => {
                format!("{self} ({cause}); whether it was done is unknown, look with `wloop status` or `wloop doctor`")
            }
            Self::Daemon(ClientError::Unreachable { cause, .. }) => {
                let known = [
                    (io::ErrorKind::NotFound, "there is no such socket"),
                    (io::ErrorKind::ConnectionRefused, "nobody listens there"),
                    (io::ErrorKind::PermissionDenied, "it belongs to somebody else"),
                ];
                let why = known.into_iter().find(|(kind, _)| *kind == cause.kind());
                let why = why.map_or_else(|| cause.to_string(), |(_, words)| words.to_owned());
                format!("{self} ({why}); start it with `{daemon}`")
            }
            Self::Daemon(ClientError::Problem(problem)) => {
                let ended = problem.gate.as_ref().filter(|gate| !problem.detail.contains(&gate.status));
                match ended {
                    Some(gate) => format!("{}; the gate is {}", problem.detail, crate::words::how_it_stands(gate)),
                    None => problem.detail.clone(),
                }
            }
            Self::Refused(_) | Self::Usage(_) | Self::Daemon(_) | Self::Home(_) | Self::Output(_) => self.to_string(),
        };
        Some(one_line(&text))
    }
}
