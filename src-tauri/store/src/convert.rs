//! Between the columns of a row and values.

use std::fmt::Display;
use std::str::FromStr;

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::FromSql;
use serde_json::Value;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::{AccountKind, ReviewEvent};

use crate::error::StoreError;

/// A row with the name of its table, for errors.
pub(crate) struct Cols<'r, 's> {
    row: &'r Row<'s>,
    table: &'static str,
}

impl<'r, 's> Cols<'r, 's> {
    pub(crate) fn new(table: &'static str, row: &'r Row<'s>) -> Self {
        Self { row, table }
    }

    pub(crate) fn fault(&self, column: &'static str, why: impl Display) -> StoreError {
        StoreError::Row { table: self.table, column, why: why.to_string() }
    }

    fn get<T: FromSql>(&self, column: &'static str) -> Result<T, StoreError> {
        self.row.get(column).map_err(|fault| self.fault(column, fault))
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn opt_text(&self, column: &'static str) -> Result<Option<String>, StoreError> {
        self.get(column)
    }

    pub(crate) fn int(&self, column: &'static str) -> Result<i64, StoreError> {
        self.get(column)
    }

    pub(crate) fn opt_int(&self, column: &'static str) -> Result<Option<i64>, StoreError> {
        self.get(column)
    }

    pub(crate) fn count(&self, column: &'static str) -> Result<u64, StoreError> {
        let number = self.int(column)?;
        u64::try_from(number).map_err(|fault| self.fault(column, fault))
    }

    pub(crate) fn small(&self, column: &'static str) -> Result<u32, StoreError> {
        let number = self.int(column)?;
        u32::try_from(number).map_err(|fault| self.fault(column, fault))
    }

    pub(crate) fn flag(&self, column: &'static str) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn time(&self, column: &'static str) -> Result<Timestamp, StoreError> {
        let at = self.int(column)?;
        Timestamp::from_millisecond(at).map_err(|fault| self.fault(column, fault))
    }

    pub(crate) fn opt_time(&self, column: &'static str) -> Result<Option<Timestamp>, StoreError> {
        self.opt_int(column)?.map(|at| Timestamp::from_millisecond(at).map_err(|fault| self.fault(column, fault))).transpose()
    }

    /// An id, a unit, a repository: whatever is written as a text.
    pub(crate) fn parsed<T>(&self, column: &'static str) -> Result<T, StoreError>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.text(column)?.parse().map_err(|fault| self.fault(column, fault))
    }

    pub(crate) fn opt_parsed<T>(&self, column: &'static str) -> Result<Option<T>, StoreError>
    where
        T: FromStr,
        T::Err: Display,
    {
        self.opt_text(column)?.map(|text| text.parse().map_err(|fault| self.fault(column, fault))).transpose()
    }

    /// A word of a closed set.
    pub(crate) fn word<T>(&self, column: &'static str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, StoreError> {
        let word = self.text(column)?;
        read(&word).ok_or_else(|| self.fault(column, format_args!("`{word}` is not known to this program")))
    }

    pub(crate) fn opt_word<T>(
        &self,
        column: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, StoreError> {
        let Some(word) = self.opt_text(column)? else {
            return Ok(None);
        };
        read(&word).map(Some).ok_or_else(|| self.fault(column, format_args!("`{word}` is not known to this program")))
    }

    pub(crate) fn json(&self, column: &'static str) -> Result<Value, StoreError> {
        serde_json::from_str(&self.text(column)?).map_err(|fault| self.fault(column, fault))
    }

    pub(crate) fn opt_json(&self, column: &'static str) -> Result<Option<Value>, StoreError> {
        self.opt_text(column)?.map(|text| serde_json::from_str(&text).map_err(|fault| self.fault(column, fault))).transpose()
    }

    /// Who acted, from three columns (EVT-03).
    pub(crate) fn actor(&self, what: &'static str, reference: &'static str, via: &'static str) -> Result<Actor, StoreError> {
        let named =
            || -> Result<String, StoreError> { self.opt_text(reference)?.ok_or_else(|| self.fault(reference, "it is missing")) };
        let word = self.text(what)?;
        match word.as_str() {
            "person" => Ok(Actor::Person { via: self.opt_parsed(via)? }),
            "session" => Ok(Actor::Session(named()?.parse().map_err(|fault| self.fault(reference, fault))?)),
            "rule" => Ok(Actor::Rule(named()?)),
            "window" => Ok(Actor::Window),
            "workflow" => Ok(Actor::Workflow(named()?)),
            "daemon" => Ok(Actor::Daemon),
            "provider" => Ok(Actor::Provider(named()?)),
            _ => Err(self.fault(what, format_args!("`{word}` is nobody"))),
        }
    }
}

/// The three columns of who acted.
pub(crate) fn actor_columns(actor: &Actor) -> (&'static str, Option<String>, Option<String>) {
    match actor {
        Actor::Person { via } => ("person", None, via.map(|session| session.to_string())),
        Actor::Session(session) => ("session", Some(session.to_string()), None),
        Actor::Rule(rule) => ("rule", Some(rule.clone()), None),
        Actor::Window => ("window", None, None),
        Actor::Workflow(name) => ("workflow", Some(name.clone()), None),
        Actor::Daemon => ("daemon", None, None),
        Actor::Provider(name) => ("provider", Some(name.clone()), None),
    }
}

/// A time as it stands in a row.
pub(crate) fn ms(at: Timestamp) -> i64 {
    at.as_millisecond()
}

/// A time that may be missing.
pub(crate) fn opt_ms(at: Option<Timestamp>) -> Option<i64> {
    at.map(ms)
}

/// A number as it stands in a row.
pub(crate) fn int(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::TooLarge { number })
}

/// An id, a unit or a repository as it stands in a row.
pub(crate) fn text(value: impl Display) -> String {
    value.to_string()
}

/// One of those that may be missing.
pub(crate) fn opt_str<T: Display>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

pub(crate) fn gate_kind(word: &str) -> Option<GateKind> {
    GateKind::ALL.into_iter().find(|(_, w)| *w == word).map(|(kind, _)| kind)
}

pub(crate) fn gate_status(word: &str) -> Option<GateStatus> {
    GateStatus::ALL.into_iter().find(|(_, w)| *w == word).map(|(status, _)| status)
}

pub(crate) fn review_event(word: &str) -> Option<ReviewEvent> {
    [ReviewEvent::Approve, ReviewEvent::RequestChanges, ReviewEvent::Comment].into_iter().find(|event| event.as_str() == word)
}

const ACCOUNT_KINDS: [(AccountKind, &str); 5] = [
    (AccountKind::User, "user"),
    (AccountKind::Bot, "bot"),
    (AccountKind::Organization, "organization"),
    (AccountKind::Mannequin, "mannequin"),
    (AccountKind::EnterpriseUserAccount, "enterprise_user_account"),
];

pub(crate) fn account_kind(word: &str) -> Option<AccountKind> {
    ACCOUNT_KINDS.into_iter().find(|(_, w)| *w == word).map(|(kind, _)| kind)
}

pub(crate) fn account_word(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::User => "user",
        AccountKind::Bot => "bot",
        AccountKind::Organization => "organization",
        AccountKind::Mannequin => "mannequin",
        AccountKind::EnterpriseUserAccount => "enterprise_user_account",
    }
}
