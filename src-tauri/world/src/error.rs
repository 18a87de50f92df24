//! What can go wrong in the small GitHub itself, apart from what it answers over HTTP.

use std::io;

/// Why an act in the world could not be done.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The address could not be listened on.
    #[error("cannot listen on 127.0.0.1:{port}; choose another port or 0 for any")]
    Listen {
        /// The port asked for.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// A file or folder could not be used.
    #[error("cannot use `{path}` for bare repositories; check that the folder can be written")]
    Folder {
        /// The path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// Git could not be started.
    #[error("cannot start `git {command}`; install git 2.38 or newer")]
    GitMissing {
        /// The subcommand.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// Git ran and refused.
    #[error("`git {command}` failed: {detail}")]
    Git {
        /// The subcommand and its arguments.
        command: String,
        /// Git's words.
        detail: String,
    },
    /// No such repository.
    #[error("no repository `{0}` in the small GitHub; add it first")]
    UnknownRepository(String),
    /// A repository's name is not `owner/name`, or it is taken.
    #[error("`{name}` cannot be a repository here: {why}")]
    RepositoryName {
        /// The name given.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No such pull request.
    #[error("no pull request `{repo}#{number}` in the small GitHub")]
    UnknownPull {
        /// `owner/name`.
        repo: String,
        /// Its number.
        number: u64,
    },
    /// No such account.
    #[error("no account `{0}` in the small GitHub; add it with `add_user`")]
    UnknownAccount(String),
    /// No such team.
    #[error("no team `{0}` in the small GitHub; add it with `add_team`")]
    UnknownTeam(String),
    /// A file's path cannot be committed.
    #[error("`{0}` is no path inside a repository")]
    Path(String),
    /// GitHub itself would refuse the act.
    #[error("refused with {status}: {message}")]
    Refused {
        /// The status GitHub answers.
        status: u16,
        /// GitHub's words.
        message: String,
    },
}
