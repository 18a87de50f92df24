//! The schema's steps. They are only added to: a step that was ever released keeps its number and its bytes, which its hash in the
//! table `migration` shows at each start. A step runs in one transaction, after a backup, so that a daemon killed in the middle
//! finds the data as before and does the step again (F50).

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use sha2::{Digest, Sha256};

use crate::convert::ms;
use crate::error::StoreError;

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    /// Its number, from 1 without gaps.
    pub(crate) version: i64,
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does.
    pub(crate) sql: &'static str,
}

/// Every step of this program, in order.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "ledger", sql: include_str!("migrations/0001_ledger.sql") },
    Migration { version: 2, name: "stops", sql: include_str!("migrations/0002_stops.sql") },
    Migration { version: 3, name: "drafts", sql: include_str!("migrations/0003_drafts.sql") },
    Migration { version: 4, name: "sightings", sql: include_str!("migrations/0004_sightings.sql") },
    Migration { version: 5, name: "sessions", sql: include_str!("migrations/0005_sessions.sql") },
    Migration { version: 6, name: "chains", sql: include_str!("migrations/0006_chains.sql") },
    Migration { version: 7, name: "dry_runs", sql: include_str!("migrations/0007_dry_runs.sql") },
];

/// Where a start may be interrupted; tests end the process there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The backup before this version is complete.
    BackedUp(i64),
    /// The step of this version has run and is not committed.
    Uncommitted(i64),
}

impl Migration {
    /// The SHA-256 of its SQL, in hexadecimal.
    pub(crate) fn hash(&self) -> String {
        Sha256::digest(self.sql.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The newest version that `known` leads to.
pub(crate) fn newest(known: &[Migration]) -> i64 {
    known.last().map_or(0, |migration| migration.version)
}

/// Compares what ran on the file with what this program has, and gives the version that the file is at; 0 for an empty one. It
/// only reads.
pub(crate) fn inspect(connection: &Connection, path: &Path, known: &[Migration]) -> Result<i64, StoreError> {
    let fault = |source| StoreError::of_sql(path, source);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fault)?;
    if tables == 0 {
        return Ok(0);
    }
    let ours = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'", [], |_| Ok(()))
        .optional()
        .map_err(fault)?;
    if ours.is_none() {
        return Err(StoreError::Foreign { path: path.to_path_buf() });
    }
    let mut statement = connection.prepare("SELECT version, name, hash FROM migration ORDER BY version").map_err(|source| {
        let fault = StoreError::of_sql(path, source);
        // A table of that name with other columns is somebody else's.
        if matches!(fault, StoreError::Sql { .. }) { StoreError::Foreign { path: path.to_path_buf() } } else { fault }
    })?;
    let found = statement
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
        .map_err(fault)?;
    let version = found.last().map_or(0, |(version, _, _)| *version);
    if version > newest(known) {
        return Err(StoreError::Newer { path: path.to_path_buf(), found: version, known: newest(known) });
    }
    for migration in known.iter().filter(|migration| migration.version <= version) {
        let same = found.iter().any(|(number, _, hash)| *number == migration.version && *hash == migration.hash());
        if !same {
            return Err(StoreError::Altered {
                path: path.to_path_buf(),
                version: migration.version,
                name: migration.name.to_owned(),
            });
        }
    }
    Ok(version)
}

/// Brings the file from `version` to the newest one; a backup is made before each step on a file that was not empty.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    known: &[Migration],
    mut version: i64,
    now: Timestamp,
    at: &dyn Fn(Step),
) -> Result<(), StoreError> {
    // A file that was empty at this start holds nothing worth a backup between its first steps.
    let empty = version == 0;
    for migration in known {
        if migration.version <= version {
            continue;
        }
        if !empty {
            back_up(connection, path, &before(path, migration.version))?;
            at(Step::BackedUp(migration.version));
        }
        apply(connection, path, migration, now, at)?;
        tracing::info!(version = migration.version, name = migration.name, "the ledger's schema was brought up");
        version = migration.version;
    }
    Ok(())
}

fn apply(
    connection: &mut Connection,
    path: &Path,
    migration: &Migration,
    now: Timestamp,
    at: &dyn Fn(Step),
) -> Result<(), StoreError> {
    let fault = |source| StoreError::of_sql(path, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(fault)?;
    transaction
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS migration (
                 version INTEGER PRIMARY KEY,
                 name    TEXT NOT NULL,
                 hash    TEXT NOT NULL CHECK (length(hash) = 64),
                 at      INTEGER NOT NULL
             ) STRICT",
        )
        .map_err(fault)?;
    transaction.execute_batch(migration.sql).map_err(fault)?;
    let lost = transaction
        .query_row("SELECT \"table\" FROM pragma_foreign_key_check LIMIT 1", [], |row| row.get::<_, String>(0))
        .optional()
        .map_err(fault)?;
    if let Some(table) = lost {
        return Err(StoreError::Refused { rule: format!("a row of `{table}` names a row that is not there") });
    }
    transaction
        .execute(
            "INSERT INTO migration (version, name, hash, at) VALUES (?1, ?2, ?3, ?4)",
            params![migration.version, migration.name, migration.hash(), ms(now)],
        )
        .map_err(fault)?;
    at(Step::Uncommitted(migration.version));
    transaction.commit().map_err(fault)
}

/// The backup's file before a version.
pub(crate) fn before(path: &Path, version: i64) -> PathBuf {
    suffixed(path, &format!(".before-{version}"))
}

/// The path with something added to its name.
pub(crate) fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies the whole database as it is committed to `target`; the file there is complete or not there at all.
pub(crate) fn back_up(connection: &Connection, path: &Path, target: &Path) -> Result<(), StoreError> {
    let part = suffixed(target, ".part");
    let made = copy(connection, path, &part).and_then(|()| {
        fs::rename(&part, target).map_err(|source| StoreError::of_io("put a backup at", target, source))?;
        sync_folder(target)
    });
    if made.is_err() {
        // What is half there must not be taken for a backup; that it could not be removed either changes nothing.
        fs::remove_file(&part).ok();
    }
    made
}

fn copy(connection: &Connection, path: &Path, part: &Path) -> Result<(), StoreError> {
    if let Err(source) = fs::remove_file(part)
        && source.kind() != std::io::ErrorKind::NotFound
    {
        return Err(StoreError::of_io("replace", part, source));
    }
    crate::open::create_private(part)?;
    let mut target = Connection::open(part).map_err(|source| StoreError::of_sql(part, source))?;
    {
        let backup = rusqlite::backup::Backup::new(connection, &mut target).map_err(|source| StoreError::of_sql(path, source))?;
        let step = backup.step(-1).map_err(|source| StoreError::of_sql(part, source))?;
        if step != rusqlite::backup::StepResult::Done {
            return Err(StoreError::Busy { path: path.to_path_buf() });
        }
    }
    target.close().map_err(|(_, source)| StoreError::of_sql(part, source))
}

/// Makes a rename last.
fn sync_folder(file: &Path) -> Result<(), StoreError> {
    let folder = crate::open::folder_of(file);
    fs::File::open(folder)
        .and_then(|open| open.sync_all())
        .map_err(|source| StoreError::of_io("keep a new name in", folder, source))
}
