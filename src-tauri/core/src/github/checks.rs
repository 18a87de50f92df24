//! The checks of a commit: check runs and status contexts, and which of them count (GH-FACT-16 to 18).

use std::collections::BTreeMap;

use jiff::Timestamp;

/// What sort of check it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckKind {
    /// A check run of an app.
    Run,
    /// A status that somebody set on the commit.
    Context,
}

/// One check on a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its sort.
    pub kind: CheckKind,
    /// The app's slug; empty for a status context and where GitHub does not tell.
    pub app: String,
    /// Its name, or its context.
    pub name: String,
    /// A run's conclusion or a context's state, as GitHub writes it; empty while a run is not complete.
    pub outcome: String,
    /// When it started, by GitHub's clock.
    pub started_at: Option<Timestamp>,
    /// When it was complete, by GitHub's clock.
    pub completed_at: Option<Timestamp>,
    /// The database id; 0 for a status context.
    pub database_id: u64,
}

impl Check {
    /// Whether it has not come to an end.
    #[must_use]
    pub fn is_running(&self) -> bool {
        match self.kind {
            CheckKind::Run => self.outcome.is_empty(),
            CheckKind::Context => matches!(self.outcome.as_str(), "PENDING" | "EXPECTED"),
        }
    }

    /// Whether it failed: one that was cancelled, skipped or waits for an approval did not (GH-FACT-17).
    #[must_use]
    pub fn is_failing(&self) -> bool {
        match self.kind {
            CheckKind::Run => matches!(self.outcome.as_str(), "FAILURE" | "TIMED_OUT" | "STARTUP_FAILURE"),
            CheckKind::Context => matches!(self.outcome.as_str(), "FAILURE" | "ERROR"),
        }
    }

    /// One that has not started yet is newer than all that have.
    fn age_key(&self) -> (Timestamp, u64) {
        (self.started_at.or(self.completed_at).unwrap_or(Timestamp::MAX), self.database_id)
    }
}

/// Of several checks of one name in one app, the newest (GH-FACT-17).
#[must_use]
pub fn that_count(checks: &[Check]) -> Vec<&Check> {
    let mut newest: BTreeMap<(CheckKind, &str, &str), &Check> = BTreeMap::new();
    for check in checks {
        newest
            .entry((check.kind, &check.app, &check.name))
            .and_modify(|held| {
                if check.age_key() > held.age_key() {
                    *held = check;
                }
            })
            .or_insert(check);
    }
    newest.into_values().collect()
}

/// The names of the failing ones, sorted, each once.
#[must_use]
pub fn failing(checks: &[Check]) -> Vec<String> {
    let mut names: Vec<String> = that_count(checks).into_iter().filter(|c| c.is_failing()).map(|c| c.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Whether one of them still runs.
#[must_use]
pub fn any_running(checks: &[Check]) -> bool {
    that_count(checks).into_iter().any(Check::is_running)
}
