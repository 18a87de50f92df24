//! What goes wrong with the ledger.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the ledger did not do what it was asked. After any of them the data are as before the call (F50).
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the home.
    #[error("`{path}` is held by another wloop process; use that one, or stop it first", path = .path.display())]
    Held {
        /// The ledger's file.
        path: PathBuf,
    },
    /// A newer wloop wrote it.
    #[error(
        "`{path}` was written by a newer wloop: its schema is version {found} and this program knows {known}; install the newer \
         program again, or restore the backup that was made before version {}", .known + 1, path = .path.display()
    )]
    Newer {
        /// The ledger's file.
        path: PathBuf,
        /// Its schema's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// A migration that ran on it is not the one that this program has under that number.
    #[error(
        "`{path}` was set up by another build of wloop: its schema step {version} (`{name}`) is not the one of this program; run the \
         program that made it", path = .path.display()
    )]
    Altered {
        /// The ledger's file.
        path: PathBuf,
        /// The migration's version.
        version: i64,
        /// The migration's name.
        name: String,
    },
    /// The file is something else.
    #[error("`{path}` is not a database; move it away, or name another home", path = .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("`{path}` is a database of another program; name another home", path = .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is broken.
    #[error("`{path}` is damaged; stop wloop and restore a backup of it", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder may not be written.
    #[error("`{path}` cannot be written: the file or its folder is read-only; give yourself the right to write there", path = .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No room is left.
    #[error("the disk of `{path}` is full and nothing of this change was kept; free some space and try again", path = .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Some other program locks the file for longer than the time limit.
    #[error("`{path}` is locked by another program; close what reads it and try again", path = .path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The system refused something else about a file.
    #[error("cannot {doing} `{path}`; look at the folder and its rights", path = .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A compare-and-set met another state than the one it was to leave, or no row: somebody else was first (GATE-04, F03).
    #[error("the {table} `{id}` has changed in the meantime; look at it again")]
    Conflict {
        /// The table.
        table: &'static str,
        /// The row.
        id: String,
    },
    /// The schema refused the row: a rule of the specification would be broken.
    #[error("the ledger refuses this change: {rule}; nothing of it was kept")]
    Refused {
        /// The check, the key or the trigger's words.
        rule: String,
    },
    /// A row does not read as what it should be.
    #[error("the column `{column}` of a {table} row cannot be read: {why}; restore a backup of the ledger")]
    Row {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// A value is too large for a row.
    #[error("the number {number} does not fit into a row of the ledger")]
    TooLarge {
        /// The number.
        number: u64,
    },
    /// SQLite failed in another way.
    #[error("the ledger `{path}` failed; run `wloop doctor`", path = .path.display())]
    Sql {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Whether a task was refused because another has the same first six digits: draw another id (TASK-01).
    #[must_use]
    pub fn is_short_taken(&self) -> bool {
        matches!(self, Self::Refused { rule } if rule.contains("task_short"))
    }

    /// Whether trying the same again later can help: what is missing is room, a right or a lock, and not another row.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Busy { .. } | Self::Io { .. } | Self::ReadOnly { .. } | Self::Sql { .. })
    }

    /// Names what SQLite says.
    pub(crate) fn of_sql(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let rusqlite::Error::SqliteFailure(code, words) = &source else {
            return Self::Sql { path, source };
        };
        if code.code == ErrorCode::ReadOnly {
            Self::ReadOnly { path }
        } else if code.code == ErrorCode::DiskFull || is_full(code.extended_code) {
            Self::Full { path }
        } else if code.code == ErrorCode::NotADatabase {
            Self::NotADatabase { path }
        } else if code.code == ErrorCode::DatabaseCorrupt {
            Self::Damaged { path }
        } else if matches!(code.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) {
            Self::Busy { path }
        } else if code.code == ErrorCode::ConstraintViolation {
            Self::Refused { rule: words.clone().unwrap_or_else(|| code.to_string()) }
        } else {
            Self::Sql { path, source }
        }
    }

    /// Names what the system says.
    pub(crate) fn of_io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) {
            Self::ReadOnly { path }
        } else if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            Self::Full { path }
        } else {
            Self::Io { doing, path, source }
        }
    }
}

/// The index of the write-ahead log could not grow: on a file system without room this comes before the plain answer.
fn is_full(extended: i32) -> bool {
    extended == rusqlite::ffi::SQLITE_IOERR_SHMSIZE
}
