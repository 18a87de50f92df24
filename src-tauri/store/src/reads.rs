//! What the ledger answers.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Params};

use crate::convert::Cols;
use crate::error::StoreError;

mod drafts;
mod events;
mod gates;
mod plan;
mod posts;
mod sessions;
mod stops;
mod turns;
mod units;

pub use drafts::DraftFilter;
pub use events::StatusCounts;
pub use gates::GateFilter;
pub use posts::PostFilter;
pub use turns::TurnFilter;

/// The reads of one connection. Every one of them fails with [`StoreError`]: [`StoreError::Row`] where a row does not read as what it
/// should be, else what the file or the disk says.
#[derive(Debug, Clone, Copy)]
pub struct Reads<'a>(&'a Connection);

/// A table whose rows a person names by the beginning of the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdTable {
    /// Gates.
    Gate,
    /// Turns.
    Turn,
    /// Posts.
    Post,
    /// Drafts.
    Draft,
    /// Planned rounds.
    Item,
    /// Sessions.
    Session,
    /// Tasks.
    Task,
}

impl IdTable {
    fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Turn => "turn",
            Self::Post => "post",
            Self::Draft => "draft",
            Self::Item => "plan_item",
            Self::Session => "session",
            Self::Task => "task",
        }
    }
}

/// The fewest digits that an id is shown with.
const SHORTEST: usize = 6;

impl<'a> Reads<'a> {
    pub(crate) fn new(connection: &'a Connection) -> Self {
        Self(connection)
    }

    pub(crate) fn connection(&self) -> &'a Connection {
        self.0
    }

    pub(crate) fn fault(&self, source: rusqlite::Error) -> StoreError {
        StoreError::of_sql(Path::new(self.0.path().unwrap_or_default()), source)
    }

    pub(crate) fn many<T>(
        &self,
        table: &'static str,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Cols<'_, '_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.0.prepare_cached(sql).map_err(|source| self.fault(source))?;
        let mut rows = statement.query(params).map_err(|source| self.fault(source))?;
        let mut values = Vec::new();
        while let Some(row) = rows.next().map_err(|source| self.fault(source))? {
            values.push(read(&Cols::new(table, row))?);
        }
        drop(rows);
        #[cfg(test)]
        scanned::note(&statement);
        Ok(values)
    }

    pub(crate) fn one<T>(
        &self,
        table: &'static str,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Cols<'_, '_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.0.prepare_cached(sql).map_err(|source| self.fault(source))?;
        let mut rows = statement.query(params).map_err(|source| self.fault(source))?;
        let value = rows.next().map_err(|source| self.fault(source))?.map(|row| read(&Cols::new(table, row))).transpose()?;
        drop(rows);
        #[cfg(test)]
        scanned::note(&statement);
        Ok(value)
    }

    /// A number that a statement gives as its only value `n`; 0 where it gives none.
    pub(crate) fn number(&self, table: &'static str, sql: &str, params: impl Params) -> Result<u64, StoreError> {
        Ok(self.one(table, sql, params, |row| row.count("n"))?.unwrap_or_default())
    }

    /// The ids of a table that begin with `prefix`, in order; at most six, since more are never told apart to a person (TASK-03).
    pub fn ids_with_prefix(&self, table: IdTable, prefix: &str) -> Result<Vec<String>, StoreError> {
        if !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let prefix = prefix.to_ascii_lowercase();
        let sql = format!("SELECT id FROM {} WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 6", table.name());
        self.many(table.name(), &sql, [prefix], |row| row.text("id"))
    }

    /// The shortest beginning of `id`, of at least six digits, that no other row of the table has.
    pub fn short(&self, table: IdTable, id: &str) -> Result<String, StoreError> {
        let name = table.name();
        let below = format!("SELECT id FROM {name} WHERE id < ?1 ORDER BY id DESC LIMIT 1");
        let above = format!("SELECT id FROM {name} WHERE id > ?1 ORDER BY id LIMIT 1");
        let mut length = SHORTEST;
        for sql in [below, above] {
            if let Some(other) = self.one(name, &sql, [id], |row| row.text("id"))? {
                let shared = id.bytes().zip(other.bytes()).take_while(|(ours, theirs)| ours == theirs).count();
                length = length.max(shared + 1);
            }
        }
        Ok(id.get(..length).unwrap_or(id).to_owned())
    }

    /// The latest time that was noted, to notice a clock that was set back; the epoch before the first note.
    pub fn last_now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.one("home", "SELECT last_now FROM home", [], |row| row.time("last_now"))?.unwrap_or_default())
    }
}

/// Conditions that a filter adds up.
#[derive(Default)]
pub(crate) struct Conditions {
    terms: Vec<String>,
    values: Vec<Sql>,
}

impl Conditions {
    /// Adds `column = value` where there is a value.
    pub(crate) fn equal(&mut self, column: &str, value: Option<String>) {
        if let Some(value) = value {
            self.values.push(Sql::Text(value));
            self.terms.push(format!("{column} = ?{}", self.values.len()));
        }
    }

    /// Adds a condition without a value.
    pub(crate) fn also(&mut self, term: &str) {
        self.terms.push(term.to_owned());
    }

    /// The statement, ready to be run with the values.
    pub(crate) fn statement(mut self, table: &str, order: &str, limit: Option<usize>) -> (String, Vec<Sql>) {
        let mut sql = format!("SELECT * FROM {table}");
        for (place, term) in self.terms.iter().enumerate() {
            sql.push_str(if place == 0 { " WHERE " } else { " AND " });
            sql.push_str(term);
        }
        sql.push_str(" ORDER BY ");
        sql.push_str(order);
        if let Some(limit) = limit {
            self.values.push(Sql::Integer(limit_of(limit)));
            sql.push_str(&format!(" LIMIT ?{}", self.values.len()));
        }
        (sql, self.values)
    }
}

/// A limit as SQLite takes it.
pub(crate) fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// How many rows the reads of this thread stepped over without an index, for the test that holds the budgets of quality.md.
#[cfg(test)]
pub(crate) mod scanned {
    use std::cell::Cell;

    use rusqlite::{Statement, StatementStatus};

    thread_local! {
        static ROWS: Cell<i32> = const { Cell::new(0) };
    }

    pub(super) fn note(statement: &Statement<'_>) {
        ROWS.set(ROWS.get() + statement.reset_status(StatementStatus::FullscanStep));
    }

    /// The rows since the last call.
    pub(crate) fn take() -> i32 {
        ROWS.replace(0)
    }
}
