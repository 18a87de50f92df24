//! What the daemon tells about itself.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use wloop_agents::transcript::{Said, read_tail};
use wloop_api::types as api;
use wloop_core::consequence::Consequence;
use wloop_core::plan::ItemState;
use wloop_core::stops::HoldKind;
use wloop_store::{GateRow, Store, StoreError};

use crate::runner::Outside;
use crate::view;

/// `GET /healthz`.
pub(crate) fn health(outside: &Outside, started_at: Timestamp) -> Result<api::Health, StoreError> {
    let now = outside.hub.now();
    let port = outside.provider.as_ref().map(|p| p.health());
    let (provider, running_turns, warnings) = outside.hub.read(|reads| {
        let row = reads.provider("github")?;
        let provider = view::provider(row.as_ref(), port.as_ref(), &outside.addresses.api, reads.watched_count()?, now);
        Ok::<_, StoreError>((provider, reads.status_counts()?.running_turns, warnings(reads)?))
    })?;
    let mut warnings = warnings;
    warnings.extend(provider.error.iter().map(|error| of_github(error)));
    warnings.extend(port.iter().flat_map(|p| p.notes.iter().chain(&p.skipped)).map(|note| format!("github: {note}")));
    warnings.extend(outside.rules.profile.broken.iter().map(|fault| format!("a workflow does not load: {fault}")));
    let healthy = outside.hub.healthy();
    if !healthy {
        warnings.push(
            "the last change could not be written to the ledger; free some space, or look at its folder's rights".to_owned(),
        );
    }
    let draining = outside.draining.is_cancelled();
    let wake = outside.hub.pending().borrow().wake.clone();
    let bytes = ["", "-wal"].iter().map(|suffix| {
        let mut path = outside.home.database.clone().into_os_string();
        path.push(suffix);
        std::fs::metadata(path).map_or(0, |m| m.len())
    });
    Ok(api::Health {
        ok: healthy && !draining && warnings.is_empty(),
        draining,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        generation: outside.hub.generation(),
        started_at,
        running_turns,
        providers: vec![provider],
        database: api::DatabaseHealth { schema: Store::schema_version(), bytes: bytes.sum(), ok: healthy },
        resident_bytes: resident_bytes(),
        next_wake: wake.as_ref().map(|w| w.at),
        next_wake_reason: wake.map(|w| w.reason),
        warnings,
    })
}

/// `GET /api/status`.
pub(crate) fn status(outside: &Outside) -> Result<api::Status, StoreError> {
    let now = outside.hub.now();
    let port = outside.provider.as_ref().map(|p| p.health());
    outside.hub.read(|reads| {
        let counts = reads.status_counts()?;
        let row = reads.provider("github")?;
        let provider = view::provider(row.as_ref(), port.as_ref(), &outside.addresses.api, reads.watched_count()?, now);
        let mut warnings = warnings(reads)?;
        warnings.extend(provider.error.iter().map(|error| of_github(error)));
        let in_state = |state| Ok::<_, StoreError>(reads.items_in(state)?.len() as u64);
        let holds = crate::server::held(reads, now)?;
        let mut muted = 0;
        // Where nothing is muted, no row is looked at for it.
        if holds.muted || holds.units.iter().any(|held| held.kind == HoldKind::Mute.as_str()) {
            for item in reads.pending_items()? {
                muted += u64::from(view::muted(reads, &item.unit)?);
            }
        }
        Ok(api::Status {
            pending_rounds: counts.pending_rounds,
            capped_rounds: in_state(ItemState::Capped)?,
            blocked_rounds: in_state(ItemState::Blocked)?,
            muted_rounds: muted,
            holds,
            open_gates: view::open_gates(&reads.open_gates_by_kind()?),
            drafts_held: counts.drafts_held,
            drafts_failed: counts.drafts_failed,
            posts_failed: counts.posts_failed,
            running_turns: counts.running_turns,
            draining: outside.draining.is_cancelled(),
            providers: vec![provider],
            next_deadline: reads.next_deadline()?.map(|(at, _)| at),
            warnings,
        })
    })
}

/// Until when GitHub asked to wait (GH-SYNC-38).
pub(crate) fn waiting_until(outside: &Outside) -> Result<Option<Timestamp>, StoreError> {
    let port = outside.provider.as_ref().map(|p| p.health());
    let row = outside.hub.read(|reads| reads.provider("github"))?;
    Ok(view::waiting_until(row.as_ref(), port.as_ref(), outside.hub.now()))
}

/// What the ledger itself says needs attention.
fn warnings(reads: &wloop_store::Reads<'_>) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for gate in reads.consequences_unseen(Consequence::Unknown)? {
        let (short, on) = named(reads, &gate)?;
        found.push(format!(
            "gate `{short}`{on}: the daemon stopped while carrying out what it released; look whether it ran, act again if it did \
             not, or put this aside with `wloop gates seen {short}`",
        ));
    }
    for gate in reads.consequences_unseen(Consequence::Failed)? {
        let (short, on) = named(reads, &gate)?;
        let why = gate.consequence_note;
        found.push(format!("gate `{short}`{on}: what it released failed: {why}; `wloop gates retry {short}` tries again"));
    }
    let failed = reads.status_counts()?.drafts_failed;
    if failed > 0 {
        found.push(format!("{failed} drafts failed or cannot be told; `wloop outbox` shows them"));
    }
    let stuck = reads.stuck_drafts()?.len();
    if stuck > 0 {
        found.push(format!("{stuck} drafts are decided and were neither queued nor dropped; a new start carries them out"));
    }
    let failed = reads.posts_failed_of_rounds()?;
    if failed > 0 {
        found.push(format!("{failed} posts failed or cannot be told; `wloop inbox` shows them"));
    }
    Ok(found)
}

/// How a warning names a gate: the start of its id, and its unit.
fn named(reads: &wloop_store::Reads<'_>, gate: &GateRow) -> Result<(String, String), StoreError> {
    let id = gate.gate.id.to_string();
    let unit = gate.gate.unit.as_ref().map(|unit| view::unit(reads, unit)).transpose()?;
    Ok((id[..6].to_owned(), unit.map_or(String::new(), |unit| format!(" on {}", unit.label))))
}

/// An error of the provider as a sentence of its own; most name it already.
fn of_github(error: &str) -> String {
    if error.starts_with("github") { error.to_owned() } else { format!("github: {error}") }
}

/// Resident memory of this process.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.as_deref().and_then(|t| t.split_whitespace().nth(1)).and_then(|p| p.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

/// The end of a turn's transcript; empty while there is none.
pub(crate) fn transcript(path: &Path, since: Timestamp, (lines, bytes): (usize, u64)) -> Vec<api::TranscriptLine> {
    let Ok(tail) = read_tail(path, lines, bytes) else { return Vec::new() };
    tail.entries
        .into_iter()
        .flat_map(|entry| {
            let at = since.checked_add(SignedDuration::from_millis(i64::try_from(entry.ms).unwrap_or(0))).unwrap_or(since);
            said(entry.said).into_iter().map(move |(from, text)| api::TranscriptLine { at, from: from.to_owned(), text })
        })
        .collect()
}

/// One entry of a transcript as lines with their source.
fn said(said: Said) -> Vec<(&'static str, String)> {
    match said {
        Said::Start { command, folder, environment } => {
            vec![("command", command.join(" ")), ("note", format!("in {folder}")), ("environment", environment.join(" "))]
        }
        Said::Prompt { text } => vec![("prompt", text)],
        Said::Out { line } => vec![("stdout", line)],
        Said::Err { line } => vec![("stderr", line)],
        Said::Note { text } | Said::End { text } => vec![("note", text)],
    }
}
