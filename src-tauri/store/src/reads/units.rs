//! Providers, units and what is known of pull requests.

use jiff::Timestamp;
use serde_json::Value;
use wloop_core::github::{Account, RepoName, Sightings, Summary};
use wloop_core::id::UnitRef;

use super::{Reads, limit_of};
use crate::convert::{Cols, account_kind, int, ms, text};
use crate::detail::from_json;
use crate::error::StoreError;
use crate::rows::{ProviderRow, PullRow, UnitRow};

const PULL: &str = "SELECT pull_request.*, unit.watched FROM pull_request JOIN unit ON unit.id = pull_request.unit";

fn provider(row: &Cols<'_, '_>) -> Result<ProviderRow, StoreError> {
    let viewer = match (row.opt_text("viewer_id")?, row.opt_text("viewer_login")?, row.opt_word("viewer_kind", account_kind)?) {
        (Some(id), Some(login), Some(kind)) => Some(Account { id, login, kind }),
        (None, _, _) | (_, None, _) | (_, _, None) => None,
    };
    Ok(ProviderRow {
        name: row.text("name")?,
        viewer,
        teams: serde_json::from_str(&row.text("teams")?).map_err(|fault| row.fault("teams", fault))?,
        skew_ms: row.int("skew_ms")?,
        last_sweep_at: row.opt_time("last_sweep_at")?,
        next_sweep_at: row.time("next_sweep_at")?,
        next_slow_at: row.time("next_slow_at")?,
        blocked_until: row.opt_time("blocked_until")?,
        signed_out: row.flag("signed_out")?,
        error: row.opt_text("error")?,
    })
}

fn unit(row: &Cols<'_, '_>) -> Result<UnitRow, StoreError> {
    Ok(UnitRow {
        unit: row.parsed("id")?,
        label: row.text("label")?,
        title: row.text("title")?,
        url: row.text("url")?,
        watched: row.flag("watched")?,
    })
}

fn summary(row: &Cols<'_, '_>) -> Result<Summary, StoreError> {
    from_json(&row.text("summary")?).map_err(|fault| row.fault("summary", fault))
}

fn pull(row: &Cols<'_, '_>) -> Result<PullRow, StoreError> {
    Ok(PullRow {
        unit: row.parsed("unit")?,
        watched: row.flag("watched")?,
        summary: summary(row)?,
        detail: row.opt_text("detail")?.map(|json| from_json(&json).map_err(|fault| row.fault("detail", fault))).transpose()?,
        detail_at: row.opt_time("detail_at")?,
        wants_detail: row.flag("wants_detail")?,
        read_after: row.time("read_after")?,
        fault: row.opt_text("fault")?,
        sightings: Sightings {
            head: row.text("seen_head")?,
            head_at: row.opt_time("seen_head_at")?,
            conflict_since: row.opt_time("conflict_since")?,
        },
    })
}

impl Reads<'_> {
    /// A provider by its name.
    pub fn provider(&self, name: &str) -> Result<Option<ProviderRow>, StoreError> {
        self.one("provider", "SELECT * FROM provider WHERE name = ?1", [name], provider)
    }

    /// A unit.
    pub fn unit(&self, of: &UnitRef) -> Result<Option<UnitRow>, StoreError> {
        self.one("unit", "SELECT * FROM unit WHERE id = ?1", [text(of)], unit)
    }

    /// A pull request as it was last read.
    pub fn pull(&self, of: &UnitRef) -> Result<Option<PullRow>, StoreError> {
        self.one("pull_request", &format!("{PULL} WHERE unit = ?1"), [text(of)], pull)
    }

    /// A pull request by its name, letter case aside; of two with one name (a repository made anew) the watched, then the newer one.
    pub fn pull_by_name(&self, repo: &RepoName, number: u64) -> Result<Option<PullRow>, StoreError> {
        let sql = format!(
            "{PULL} WHERE repo = ?1 COLLATE NOCASE AND number = ?2 ORDER BY unit.watched DESC, pull_request.rowid DESC LIMIT 1"
        );
        self.one("pull_request", &sql, (text(repo), int(number)?), pull)
    }

    /// The pull requests whose detail is wanted and may be read now: those never read first, then the oldest detail.
    pub fn pulls_to_read(&self, now: Timestamp, limit: usize) -> Result<Vec<UnitRef>, StoreError> {
        self.many(
            "pull_request",
            "SELECT unit FROM pull_request WHERE wants_detail = 1 AND read_after <= ?1
             ORDER BY detail_at NULLS FIRST, rowid LIMIT ?2",
            (ms(now), limit_of(limit)),
            |row| row.parsed("unit"),
        )
    }

    /// When the next wanted detail may be read; `None` when none is wanted.
    pub fn next_read_after(&self) -> Result<Option<Timestamp>, StoreError> {
        let sql = "SELECT read_after FROM pull_request WHERE wants_detail = 1 ORDER BY read_after LIMIT 1";
        self.one("pull_request", sql, [], |row| row.time("read_after"))
    }

    /// Every pull request of the inventory with its summary.
    pub fn watched_pulls(&self) -> Result<Vec<(UnitRef, Summary)>, StoreError> {
        self.many(
            "pull_request",
            "SELECT pull_request.unit, pull_request.summary FROM pull_request JOIN unit ON unit.id = pull_request.unit
             WHERE unit.watched = 1 ORDER BY pull_request.rowid",
            [],
            |row| Ok((row.parsed("unit")?, summary(row)?)),
        )
    }

    /// How many units are in the inventory.
    pub fn watched_count(&self) -> Result<u64, StoreError> {
        self.number("unit", "SELECT count(*) AS n FROM unit WHERE watched = 1", [])
    }

    /// A mark of a unit.
    pub fn mark(&self, of: &UnitRef, name: &str) -> Result<Option<Value>, StoreError> {
        self.one("mark", "SELECT value FROM mark WHERE unit = ?1 AND name = ?2", (text(of), name), |row| row.json("value"))
    }
}
