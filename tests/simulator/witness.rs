//! A second pair of eyes on the ledger: a connection of its own, past the store's reads, which says whether anything was committed and
//! how many rows stand in which state. Looking costs little, so that it is done after every step.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::life::{Broken, Held};

/// Rows by table and state.
pub(crate) type Tally = BTreeMap<(&'static str, Cow<'static, str>), i64>;

/// Tables with the column that says how far a row is.
const STATES: [(&str, &str); 3] = [
    ("gate", "SELECT status, count(*) FROM gate GROUP BY status"),
    ("post", "SELECT state, count(*) FROM post GROUP BY state"),
    ("turn", "SELECT state, count(*) FROM turn GROUP BY state"),
];

fn unseen(fault: &rusqlite::Error) -> Broken {
    Broken(format!("the ledger's file cannot be looked at: {fault}"))
}

/// The connection, and the version of the data that it saw last.
pub(crate) struct Witness {
    connection: Connection,
    version: i64,
}

impl Witness {
    /// Looks at the ledger at `path`, which is there.
    pub(crate) fn of(path: &Path) -> Held<Self> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|fault| unseen(&fault))?;
        Ok(Self { connection, version: -1 })
    }

    /// Whether the engine committed anything since the last look.
    pub(crate) fn saw_a_change(&mut self) -> Held<bool> {
        let mut version = self.connection.prepare_cached("PRAGMA data_version").map_err(|fault| unseen(&fault))?;
        let version: i64 = version.query_row([], |row| row.get(0)).map_err(|fault| unseen(&fault))?;
        Ok(std::mem::replace(&mut self.version, version) != version)
    }

    /// How many rows there are in which state.
    pub(crate) fn tally(&self) -> Held<Tally> {
        let mut tally = Tally::new();
        for (table, sql) in STATES {
            let mut statement = self.connection.prepare_cached(sql).map_err(|fault| unseen(&fault))?;
            let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)));
            for row in rows.map_err(|fault| unseen(&fault))? {
                let (state, count) = row.map_err(|fault| unseen(&fault))?;
                tally.insert((table, Cow::Owned(state)), count);
            }
        }
        Ok(tally)
    }
}
