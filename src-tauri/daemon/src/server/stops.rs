//! The routes of what stops rounds: pause and mute, a unit with the reasons why no round of it runs, and what the person looked
//! after.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::HeaderMap;
use wloop_api::types as api;
use wloop_core::id::{GateId, UnitRef};
use wloop_core::stops::HoldKind;
use wloop_store::{IdTable, Reads, StoreError};

use super::answer::{Failure, caller};
use super::routes::{Answer, ask, id, known_unit, parse, the_gate};
use super::{Peer, Shared};
use crate::engine::Reply;
use crate::input::{Caller, Request};
use crate::refusal::RefusalKind;
use crate::view;

/// Which hold a route sets or takes away.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    kind: HoldKind,
    on: bool,
}

const PAUSE: Wanted = Wanted { kind: HoldKind::Pause, on: true };
const RESUME: Wanted = Wanted { kind: HoldKind::Pause, on: false };
const MUTE: Wanted = Wanted { kind: HoldKind::Mute, on: true };
const UNMUTE: Wanted = Wanted { kind: HoldKind::Mute, on: false };

type Named = Path<(String, String)>;

pub(super) async fn pause_unit(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    named: Named,
) -> Answer<api::UnitDetail> {
    of_unit(&shared, peer, &headers, named, PAUSE).await
}

pub(super) async fn resume_unit(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    named: Named,
) -> Answer<api::UnitDetail> {
    of_unit(&shared, peer, &headers, named, RESUME).await
}

pub(super) async fn mute_unit(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    named: Named,
) -> Answer<api::UnitDetail> {
    of_unit(&shared, peer, &headers, named, MUTE).await
}

pub(super) async fn unmute_unit(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    named: Named,
) -> Answer<api::UnitDetail> {
    of_unit(&shared, peer, &headers, named, UNMUTE).await
}

pub(super) async fn pause(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer<api::Holds> {
    let wanted: api::PauseRequest = parse(&body)?;
    let caller = caller(&shared, peer, &headers)?;
    let request = Request::Hold { unit: None, kind: HoldKind::Pause, until: wanted.until };
    ask(&shared, caller, request).await?;
    holds(&shared)
}

pub(super) async fn resume(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Answer<api::Holds> {
    everything(&shared, peer, &headers, RESUME).await
}

pub(super) async fn mute(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Answer<api::Holds> {
    everything(&shared, peer, &headers, MUTE).await
}

pub(super) async fn unmute(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Answer<api::Holds> {
    everything(&shared, peer, &headers, UNMUTE).await
}

pub(super) async fn get_unit(State(shared): State<Shared>, named: Named) -> Answer<api::UnitDetail> {
    let unit = named_unit(&shared, named)?;
    detail(&shared, &unit).await
}

pub(super) async fn saw_gate(
    State(shared): State<Shared>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path(text): Path<String>,
) -> Answer<api::Gate> {
    let caller = caller(&shared, peer, &headers)?;
    let gate = id::<GateId>(&shared, IdTable::Gate, "gate", &text)?;
    ask(&shared, caller, Request::SeeConsequence(gate)).await?;
    the_gate(&shared, gate)
}

fn request(unit: Option<UnitRef>, wanted: Wanted) -> Request {
    if wanted.on { Request::Hold { unit, kind: wanted.kind, until: None } } else { Request::Unhold { unit, kind: wanted.kind } }
}

async fn everything(shared: &Shared, peer: Peer, headers: &HeaderMap, wanted: Wanted) -> Answer<api::Holds> {
    let caller = caller(shared, peer, headers)?;
    ask(shared, caller, request(None, wanted)).await?;
    holds(shared)
}

async fn of_unit(shared: &Shared, peer: Peer, headers: &HeaderMap, named: Named, wanted: Wanted) -> Answer<api::UnitDetail> {
    let caller = caller(shared, peer, headers)?;
    let unit = named_unit(shared, named)?;
    ask(shared, caller, request(Some(unit.clone()), wanted)).await?;
    detail(shared, &unit).await
}

/// A unit by provider and key; the key of a pull request may also be its address or `owner/repo#n`.
fn named_unit(shared: &Shared, Path((provider, key)): Named) -> Result<UnitRef, Failure> {
    let plain = format!("{provider}:{key}");
    if key.contains(['#', '/']) && provider == "github" { known_unit(shared, &key) } else { known_unit(shared, &plain) }
}

async fn detail(shared: &Shared, unit: &UnitRef) -> Answer<api::UnitDetail> {
    // Whoever may read may be told why.
    let reply = ask(shared, Caller::Person, Request::Explain(unit.clone())).await?;
    let Reply::Because(because) = reply else {
        return Err(Failure::new(RefusalKind::Unavailable, "the unit could not be looked at; try again in a moment"));
    };
    let now = shared.outside.hub.now();
    let found = shared.outside.hub.read(|reads| {
        let row = reads.unit(unit)?;
        let pending = reads.pending_items_of(unit)?;
        let rounds = pending.iter().map(|item| view::item(reads, item)).collect::<Result<Vec<_>, _>>()?;
        let own = reads.holds_on(unit)?;
        let paused = reads.is_held(unit, HoldKind::Pause, now)?;
        let kept = reads.guidance(unit)?;
        Ok::<_, StoreError>(api::UnitDetail {
            unit: view::unit(reads, unit)?,
            watched: row.is_some_and(|row| row.watched),
            paused,
            paused_itself: own.iter().any(|hold| hold.unit.is_some() && hold.kind == HoldKind::Pause),
            muted: reads.is_held(unit, HoldKind::Mute, now)?,
            rounds,
            skipped: because.into_iter().map(|(workflow, because)| api::Skipped { workflow, because }).collect(),
            guidance: (!kept.is_empty()).then(|| kept.iter().map(|g| g.text.as_str()).collect::<Vec<_>>().join("\n\n")),
            guidance_kept: reads.guidance_offered(unit)?.into_iter().map(|g| g.text).collect(),
        })
    })?;
    Ok(Json(found))
}

fn holds(shared: &Shared) -> Answer<api::Holds> {
    let now = shared.outside.hub.now();
    Ok(Json(shared.outside.hub.read(|reads| held(reads, now))?))
}

/// What is paused and muted.
pub(crate) fn held(reads: &Reads<'_>, now: jiff::Timestamp) -> Result<api::Holds, StoreError> {
    let all = reads.holds()?;
    let of = |kind| all.iter().filter(move |hold| hold.kind == kind && hold.until.is_none_or(|until| until > now));
    let everything = of(HoldKind::Pause).find(|hold| hold.unit.is_none());
    let mut units = Vec::new();
    for hold in &all {
        if let Some(unit) = &hold.unit {
            units.push(api::HeldUnit { unit: view::unit(reads, unit)?, kind: hold.kind.as_str().to_owned(), since: hold.since });
        }
    }
    Ok(api::Holds {
        paused: everything.is_some(),
        until: everything.and_then(|hold| hold.until),
        muted: of(HoldKind::Mute).any(|hold| hold.unit.is_none()),
        units,
    })
}
