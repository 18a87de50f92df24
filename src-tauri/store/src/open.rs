//! Opening the ledger, its lock, and its two kinds of connection.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::StoreError;
use crate::migrate::{self, MIGRATIONS, Migration, Step};
use crate::reads::Reads;
use crate::writes::Writes;

/// How long a statement waits for a lock of another connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often the home's lock is tried, 20 ms apart.
const LOCK_TRIES: u32 = 15;

/// Prepared statements that a connection keeps.
const STATEMENTS: usize = 256;

/// The ledger's one writer. It holds the home's lock as long as it lives.
pub struct Store {
    // The connection goes before the lock, so that nobody opens the file while the last pages are written back.
    connection: Connection,
    path: PathBuf,
    generation: i64,
    stopped: Option<Timestamp>,
    on_events: Option<Box<dyn Fn(i64) + Send>>,
    _lock: File,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).field("generation", &self.generation).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the ledger at `path` for writing, makes it where there is none, and brings its schema up (F50).
    ///
    /// # Errors
    /// [`StoreError::Held`] when another process has it; [`StoreError::Newer`] and [`StoreError::Altered`] when another wloop wrote
    /// it; [`StoreError::NotADatabase`], [`StoreError::Foreign`], [`StoreError::Damaged`], [`StoreError::ReadOnly`],
    /// [`StoreError::Full`] or [`StoreError::Io`]. The data are then as they were.
    pub fn open(path: &Path, now: Timestamp) -> Result<Self, StoreError> {
        Self::open_with(path, now, MIGRATIONS, &|_| {})
    }

    /// The same with other schema steps; `at` is told where the start could be interrupted.
    pub(crate) fn open_with(path: &Path, now: Timestamp, known: &[Migration], at: &dyn Fn(Step)) -> Result<Self, StoreError> {
        let fault = |source| StoreError::of_sql(path, source);
        make_folder(path)?;
        let lock = lock(path)?;
        let version = inspect(path, known)?;
        create_private(path)?;
        let mut connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
                .map_err(fault)?;
        if connection.is_readonly(rusqlite::MAIN_DB).map_err(fault)? {
            return Err(StoreError::ReadOnly { path: path.to_path_buf() });
        }
        prepare(&connection).map_err(fault)?;
        connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
            .and_then(|_| connection.pragma_update(None, "synchronous", "FULL"))
            .and_then(|()| connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024))
            // A step that rebuilds a table drops the old one; what it leaves is checked before it is committed.
            .and_then(|()| connection.pragma_update(None, "foreign_keys", false))
            .map_err(fault)?;
        migrate::migrate(&mut connection, path, known, version, now, at)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(fault)?;
        let (generation, stopped) = begin_generation(&mut connection).map_err(fault)?;
        let stopped = stopped.and_then(|at| Timestamp::from_millisecond(at).ok());
        Ok(Self { connection, path: path.to_path_buf(), generation, stopped, on_events: None, _lock: lock })
    }

    /// How often the ledger was opened for writing, this time included: what an older number wrote and did not end belongs to a
    /// daemon that is gone.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// When the daemon before this one was stopped in order; `None` when it was not.
    #[must_use]
    pub fn stopped_before(&self) -> Option<Timestamp> {
        self.stopped
    }

    /// Where the ledger lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The schema version that this program writes.
    #[must_use]
    pub fn schema_version() -> i64 {
        migrate::newest(MIGRATIONS)
    }

    /// Runs `f` in one transaction and commits what it wrote; all of it, or on an error nothing (CONS-01).
    ///
    /// # Errors
    /// What `f` returns; [`StoreError`] where the transaction cannot begin or end.
    pub fn write<T, E: From<StoreError>>(&mut self, f: impl FnOnce(&Writes<'_>) -> Result<T, E>) -> Result<T, E> {
        let path = &self.path;
        let fault = |source| E::from(StoreError::of_sql(path, source));
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
        let (value, last_event) = {
            let writes = Writes::new(&transaction);
            let value = f(&writes)?;
            (value, writes.last_event())
        };
        transaction.commit().map_err(fault)?;
        if let (Some(id), Some(hook)) = (last_event, &self.on_events) {
            hook(id);
        }
        Ok(value)
    }

    /// Reads on the writer's own connection, outside a transaction: each read sees what was last committed.
    #[must_use]
    pub fn read(&self) -> Reads<'_> {
        Reads::new(&self.connection)
    }

    /// A separate connection that only reads, for another thread.
    ///
    /// # Errors
    /// [`StoreError`] when the file does not open.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        let fault = |source| StoreError::of_sql(&self.path, source);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags).map_err(fault)?;
        prepare(&connection).map_err(fault)?;
        Ok(Reader { connection, path: self.path.clone() })
    }

    /// Names what is told after each committed write that recorded events: it is given the last one's id (EVT-13). A later hook
    /// replaces an earlier one.
    pub fn on_events(&mut self, hook: Box<dyn Fn(i64) + Send>) {
        self.on_events = Some(hook);
    }

    /// The bytes that the ledger takes on the disk, its write-ahead log included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        size(&self.path) + size(&migrate::suffixed(&self.path, "-wal"))
    }

    /// Copies what is committed to `target`, complete or not at all; a file that is there is replaced.
    ///
    /// # Errors
    /// [`StoreError`] naming the file that failed.
    pub fn backup_to(&self, target: &Path) -> Result<(), StoreError> {
        migrate::back_up(&self.connection, &self.path, target)
    }

    /// Reads every page and looks whether the file is whole; it takes as long as reading the file does.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not, or what reading it says.
    pub fn check(&self) -> Result<(), StoreError> {
        let found = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        match found {
            Ok(word) if word == "ok" => Ok(()),
            Ok(_) => Err(StoreError::Damaged { path: self.path.clone() }),
            Err(source) => Err(StoreError::of_sql(&self.path, source)),
        }
    }

    /// Moves the write-ahead log into the file and empties it, as far as readers let it.
    ///
    /// # Errors
    /// [`StoreError`] when the disk fails or is full.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(|source| StoreError::of_sql(&self.path, source))
    }

    /// Lets the ledger grow no more, as on a full disk, or lets it grow again; until it is opened the next time.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be asked for its size.
    #[cfg(feature = "failpoints")]
    pub fn hold_size(&mut self, held: bool) -> Result<(), StoreError> {
        let fault = |source| StoreError::of_sql(&self.path, source);
        let pages: i64 = self.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(fault)?;
        let most = if held { pages } else { i64::from(u32::MAX) - 1 };
        self.connection.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(())).map_err(fault)
    }

    /// The bare connection, to try what the schema refuses.
    #[cfg(test)]
    pub(crate) fn raw(&self) -> &Connection {
        &self.connection
    }
}

/// A connection that only reads; it may go to another thread.
pub struct Reader {
    connection: Connection,
    path: PathBuf,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Reader {
    /// Runs `f` on one unchanging view of the ledger: what is committed meanwhile is not seen.
    ///
    /// # Errors
    /// What `f` returns; [`StoreError`] where the transaction cannot begin.
    pub fn read<T, E: From<StoreError>>(&self, f: impl FnOnce(&Reads<'_>) -> Result<T, E>) -> Result<T, E> {
        let fault = |source| E::from(StoreError::of_sql(&self.path, source));
        let transaction = self.connection.unchecked_transaction().map_err(fault)?;
        // Nothing was written: the transaction ends when it is dropped.
        f(&Reads::new(&transaction))
    }
}

/// What every connection of ours is set to.
fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // A statement is planned once. Without this, the bundled build plans it anew for each value that is bound to it, which costs a
    // fifth of the engine's time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Counts this start, and takes the note of an orderly stop away.
fn begin_generation(connection: &mut Connection) -> rusqlite::Result<(i64, Option<i64>)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let stopped = transaction.query_row("SELECT stopped_at FROM home", [], |row| row.get(0))?;
    let generation = transaction.query_row(
        "UPDATE home SET generation = generation + 1, stopped_at = NULL WHERE only = 1 RETURNING generation",
        [],
        |row| row.get(0),
    )?;
    transaction.commit()?;
    Ok((generation, stopped))
}

/// Looks at what is there without changing a byte of it, and gives its version.
fn inspect(path: &Path, known: &[Migration]) -> Result<i64, StoreError> {
    match std::fs::metadata(path) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(fault) => return Err(StoreError::of_io("look at", path, fault)),
        Ok(data) if data.is_file() && data.len() == 0 => return Ok(0),
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(StoreError::NotADatabase { path: path.to_path_buf() }),
    }
    let fault = |source| StoreError::of_sql(path, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match still(path) {
        Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI),
        None => Connection::open_with_flags(path, flags),
    }
    .map_err(fault)?;
    prepare(&connection).map_err(fault)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fault)?;
    migrate::inspect(&connection, path, known)
}

/// How to open a file that was closed in order without making a log beside it: nobody else writes it, since we hold its lock. `None`
/// where a log tells of more than the file does.
fn still(path: &Path) -> Option<String> {
    let logs = ["-wal", "-journal"].iter().any(|log| migrate::suffixed(path, log).exists());
    let name = path.to_str().filter(|_| !logs)?;
    let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    // A path that begins with two slashes would be taken for a host.
    let root = if name.starts_with('/') { "//" } else { "" };
    Some(format!("file:{root}{name}?immutable=1"))
}

/// The folder that a file lies in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Makes the home with room for its owner only; a folder that is there keeps its rights.
fn make_folder(path: &Path) -> Result<(), StoreError> {
    let folder = folder_of(path);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| StoreError::of_io("make the folder", folder, source))
}

/// Makes a file that only its owner reads and writes, where there is none.
pub(crate) fn create_private(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => narrow(path),
        Err(fault) => Err(StoreError::of_io("make", path, fault)),
    }
}

/// Takes everybody else's rights from a file that is there.
fn narrow(path: &Path) -> Result<(), StoreError> {
    let data = std::fs::metadata(path).map_err(|source| StoreError::of_io("look at", path, source))?;
    let mode = data.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(mode & 0o700))
        .map_err(|source| StoreError::of_io("narrow the rights of", path, source))
}

/// Takes the home's lock. The system gives it back when the process ends, however it ends.
fn lock(path: &Path) -> Result<File, StoreError> {
    let name = migrate::suffixed(path, ".lock");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&name)
        .map_err(|source| StoreError::of_io("open the lock", &name, source))?;
    for _ in 0..LOCK_TRIES {
        match fs4::FileExt::try_lock(&file) {
            Ok(()) => return Ok(file),
            Err(fs4::TryLockError::WouldBlock) => pause(),
            Err(fs4::TryLockError::Error(source)) => return Err(StoreError::of_io("lock", &name, source)),
        }
    }
    Err(StoreError::Held { path: path.to_path_buf() })
}

/// A process that a holder was just starting shares its lock until it runs its own program, also when the holder is gone by then.
#[expect(clippy::disallowed_methods, reason = "nothing announces that a lock came free")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}
