//! Providers, units and what is known of pull requests.

use jiff::Timestamp;
use rusqlite::params;
use serde_json::Value;
use wloop_core::id::{TurnId, UnitRef};

use super::Writes;
use crate::convert::{account_word, int, ms, opt_ms, opt_str, text};
use crate::detail::to_json;
use crate::error::StoreError;
use crate::rows::{ProviderRow, PullRow, UnitRow};

/// A value that does not go into JSON; none of ours does that.
pub(super) fn unwritable(table: &'static str, column: &'static str) -> impl Fn(serde_json::Error) -> StoreError {
    move |fault| StoreError::Row { table, column, why: fault.to_string() }
}

impl Writes<'_> {
    /// Puts what is known of a provider.
    pub fn put_provider(&self, row: &ProviderRow) -> Result<(), StoreError> {
        let teams = serde_json::to_string(&row.teams).map_err(unwritable("provider", "teams"))?;
        let viewer = row.viewer.as_ref();
        self.run(
            "INSERT INTO provider (name, viewer_id, viewer_login, viewer_kind, teams, skew_ms, last_sweep_at, next_sweep_at,
                 next_slow_at, blocked_until, signed_out, error)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (name) DO UPDATE SET viewer_id = excluded.viewer_id, viewer_login = excluded.viewer_login,
                 viewer_kind = excluded.viewer_kind, teams = excluded.teams, skew_ms = excluded.skew_ms,
                 last_sweep_at = excluded.last_sweep_at, next_sweep_at = excluded.next_sweep_at,
                 next_slow_at = excluded.next_slow_at, blocked_until = excluded.blocked_until,
                 signed_out = excluded.signed_out, error = excluded.error",
            params![
                row.name,
                viewer.map(|account| &account.id),
                viewer.map(|account| &account.login),
                viewer.map(|account| account_word(account.kind)),
                teams,
                row.skew_ms,
                opt_ms(row.last_sweep_at),
                ms(row.next_sweep_at),
                ms(row.next_slow_at),
                opt_ms(row.blocked_until),
                row.signed_out,
                row.error,
            ],
        )?;
        Ok(())
    }

    /// Puts a unit; `now` becomes the time it was first seen, where it is new.
    pub fn put_unit(&self, row: &UnitRow, now: Timestamp) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO unit (id, label, title, url, watched, first_seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (id) DO UPDATE SET label = excluded.label, title = excluded.title, url = excluded.url,
                 watched = excluded.watched",
            params![text(&row.unit), row.label, row.title, row.url, row.watched, ms(now)],
        )?;
        Ok(())
    }

    /// Puts what was read of a pull request, and on its unit, which must be there, whether it is watched.
    pub fn put_pull(&self, row: &PullRow) -> Result<(), StoreError> {
        let unit = text(&row.unit);
        let reasons = to_json(&row.summary.reasons).map_err(unwritable("pull_request", "reasons"))?;
        let summary = to_json(&row.summary).map_err(unwritable("pull_request", "summary"))?;
        let detail = row.detail.as_ref().map(to_json).transpose().map_err(unwritable("pull_request", "detail"))?;
        self.run(
            "INSERT INTO pull_request (unit, repo, number, reasons, summary, detail, detail_at, wants_detail, read_after, fault,
                 seen_head, seen_head_at, conflict_since)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
             ON CONFLICT (unit) DO UPDATE SET repo = excluded.repo, number = excluded.number, reasons = excluded.reasons,
                 summary = excluded.summary, detail = excluded.detail, detail_at = excluded.detail_at,
                 wants_detail = excluded.wants_detail, read_after = excluded.read_after, fault = excluded.fault,
                 seen_head = excluded.seen_head, seen_head_at = excluded.seen_head_at, conflict_since = excluded.conflict_since",
            params![
                unit,
                text(&row.summary.repo),
                int(row.summary.number)?,
                reasons,
                summary,
                detail,
                opt_ms(row.detail_at),
                row.wants_detail,
                ms(row.read_after),
                row.fault,
                row.sightings.head,
                opt_ms(row.sightings.head_at),
                opt_ms(row.sightings.conflict_since),
            ],
        )?;
        self.run("UPDATE unit SET watched = ?2 WHERE id = ?1 AND watched <> ?2", params![unit, row.watched])?;
        Ok(())
    }

    /// Puts a mark on a unit in the place of an earlier one of that name.
    pub fn put_mark(
        &self,
        unit: &UnitRef,
        name: &str,
        value: &Value,
        turn: Option<TurnId>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.run(
            "INSERT INTO mark (unit, name, value, turn, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (unit, name) DO UPDATE SET value = excluded.value, turn = excluded.turn, at = excluded.at",
            params![text(unit), name, value.to_string(), opt_str(turn.as_ref()), ms(now)],
        )?;
        Ok(())
    }
}
