//! The routes of what stops rounds: pause and mute, a unit with the reasons why no round of it runs, and what the person looked
//! after.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use wloop_api::types as api;
use wloop_core::id::{GateId, UnitRef};
use wloop_core::stops::HoldKind;
use wloop_store::{IdTable, Reads, StoreError};

use super::Shared;
use super::answer::Calling;
use super::routes::{Answer, ask, id, parse, the_gate, units};
use crate::input::{Caller, Request};
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

pub(super) async fn pause_unit(State(shared): State<Shared>, Calling(caller): Calling, named: Named) -> Answer<api::UnitDetail> {
    of_unit(&shared, caller, named, PAUSE).await
}

pub(super) async fn resume_unit(State(shared): State<Shared>, Calling(caller): Calling, named: Named) -> Answer<api::UnitDetail> {
    of_unit(&shared, caller, named, RESUME).await
}

pub(super) async fn mute_unit(State(shared): State<Shared>, Calling(caller): Calling, named: Named) -> Answer<api::UnitDetail> {
    of_unit(&shared, caller, named, MUTE).await
}

pub(super) async fn unmute_unit(State(shared): State<Shared>, Calling(caller): Calling, named: Named) -> Answer<api::UnitDetail> {
    of_unit(&shared, caller, named, UNMUTE).await
}

pub(super) async fn pause(State(shared): State<Shared>, Calling(caller): Calling, body: Bytes) -> Answer<api::Holds> {
    let wanted: api::PauseRequest = parse(&body)?;
    let request = Request::Hold { unit: None, kind: HoldKind::Pause, until: wanted.until };
    ask(&shared, caller, request).await?;
    holds(&shared)
}

pub(super) async fn resume(State(shared): State<Shared>, Calling(caller): Calling) -> Answer<api::Holds> {
    everything(&shared, caller, RESUME).await
}

pub(super) async fn mute(State(shared): State<Shared>, Calling(caller): Calling) -> Answer<api::Holds> {
    everything(&shared, caller, MUTE).await
}

pub(super) async fn unmute(State(shared): State<Shared>, Calling(caller): Calling) -> Answer<api::Holds> {
    everything(&shared, caller, UNMUTE).await
}

pub(super) async fn saw_gate(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
) -> Answer<api::Gate> {
    let gate = id::<GateId>(&shared, IdTable::Gate, "gate", &text)?;
    ask(&shared, caller, Request::SeeConsequence(gate)).await?;
    the_gate(&shared, gate)
}

fn request(unit: Option<UnitRef>, wanted: Wanted) -> Request {
    if wanted.on { Request::Hold { unit, kind: wanted.kind, until: None } } else { Request::Unhold { unit, kind: wanted.kind } }
}

async fn everything(shared: &Shared, caller: Caller, wanted: Wanted) -> Answer<api::Holds> {
    ask(shared, caller, request(None, wanted)).await?;
    holds(shared)
}

async fn of_unit(shared: &Shared, caller: Caller, named: Named, wanted: Wanted) -> Answer<api::UnitDetail> {
    let Path((provider, key)) = named;
    let unit = units::named(shared, &provider, &key)?;
    ask(shared, caller, request(Some(unit.clone()), wanted)).await?;
    units::detail(shared, &unit).await
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
