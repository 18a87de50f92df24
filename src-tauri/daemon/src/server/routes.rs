//! The routes.

pub(super) mod units;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::de::DeserializeOwned;
use wloop_api::operation as op;
use wloop_api::types as api;
use wloop_core::gate::{GateKind, GateStatus};
use wloop_core::github::ReadFault;
use wloop_core::id::{GateId, PostId, TaskId, TurnId, UnitRef};
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;
use wloop_providers::DetailRef;
use wloop_store::{GateFilter, IdTable, PostFilter, TurnFilter};

use super::answer::{Calling, Failure, guard, nowhere};
use super::{Shared, drafts, live, openapi, sessions, stops};
use crate::caller::acts_for_person;
use crate::engine::Reply;
use crate::input::{Caller, Input, Observation, Request, UnitName};
use crate::refusal::RefusalKind;
use crate::{health, view};

pub(super) type Answer<T> = Result<Json<T>, Failure>;

/// The shortest prefix of an id that is taken.
const PREFIX: usize = 4;
/// How many rows a list gives unless asked for fewer.
const ROWS: usize = 500;
/// Lines of a transcript that a turn's detail shows, and the bytes they may take.
const TRANSCRIPT: (usize, u64) = (400, 512 * 1024);
/// The largest body that is read.
const BODY: usize = 1024 * 1024;

/// Every route, as the operation table lists them.
pub(super) fn router(shared: Shared) -> Router {
    Router::new()
        .route(op::HEALTH.path, get(get_health))
        .route(op::STATUS.path, get(get_status))
        .route(op::GATES.path, get(get_gates))
        .route(op::GATE.path, get(get_gate))
        .route(op::RETRY_GATE.path, post(retry_gate))
        .route(op::SAW_GATE.path, post(stops::saw_gate))
        .route(op::RESOLVE_GATE.path, post(resolve_gate))
        .route(op::PLAN.path, get(get_plan).post(decide_plan))
        .route(op::UNIT.path, get(units::get_unit))
        .route(op::UNIT_FACTS.path, get(units::get_facts))
        .route(op::UNIT_EXPLAIN.path, get(units::get_explained))
        .route(op::PAUSE_UNIT.path, post(stops::pause_unit))
        .route(op::RESUME_UNIT.path, post(stops::resume_unit))
        .route(op::MUTE_UNIT.path, post(stops::mute_unit))
        .route(op::UNMUTE_UNIT.path, post(stops::unmute_unit))
        .route(op::PAUSE.path, post(stops::pause))
        .route(op::RESUME.path, post(stops::resume))
        .route(op::MUTE.path, post(stops::mute))
        .route(op::UNMUTE.path, post(stops::unmute))
        .route(op::TURNS.path, get(get_turns).post(start_turn))
        .route(op::TURN.path, get(get_turn))
        .route(op::CANCEL_TURN.path, post(cancel_turn))
        .route(op::OUTBOX.path, get(drafts::get_outbox))
        .route(op::DRAFTS.path, get(drafts::get_drafts).post(drafts::propose_draft))
        .route(op::DRAFT.path, get(drafts::get_draft))
        .route(op::EDIT_DRAFT.path, post(drafts::edit_draft))
        .route(op::DISCARD_DRAFT.path, post(drafts::discard_draft))
        .route(op::RETRY_DRAFT.path, post(drafts::retry_draft))
        .route(op::POSTS.path, get(get_posts))
        .route(op::ONE_POST.path, get(get_post))
        .route(op::POST_SENT.path, post(post_sent))
        .route(op::POST_RETRY.path, post(post_retry))
        .route(op::POST_DISCARD.path, post(post_discard))
        .route(op::EVENTS.path, get(get_events))
        .route(op::SESSIONS.path, get(sessions::list))
        .route(op::HOOK.path, post(sessions::hook))
        .route(op::CLOSE_SESSION.path, post(sessions::close))
        .route(op::PROMPT_SESSION.path, post(sessions::prompt))
        .route(op::TOOL.path, post(sessions::call_tool))
        .route(op::GH.path, post(sessions::call_gh))
        .route(op::OPENAPI.path, get(|| async { Json(openapi::description()) }))
        .fallback(nowhere)
        .layer(axum::extract::DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn(guard))
        .with_state(shared)
}

async fn get_health(State(shared): State<Shared>) -> Answer<api::Health> {
    Ok(Json(health::health(&shared.outside, shared.started_at)?))
}

async fn get_status(State(shared): State<Shared>) -> Answer<api::Status> {
    Ok(Json(health::status(&shared.outside)?))
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Narrow {
    status: Option<String>,
    kind: Option<String>,
    unit: Option<String>,
    pub(super) task: Option<String>,
    pub(super) state: Option<String>,
    since: Option<i64>,
    limit: Option<usize>,
}

impl Narrow {
    pub(super) fn unit(&self, shared: &Shared) -> Result<Option<UnitRef>, Failure> {
        self.unit.as_deref().map(|text| known_unit(shared, text)).transpose()
    }

    pub(super) fn word<T>(text: Option<&String>, field: &str, known: &[(T, &'static str)]) -> Result<Option<T>, Failure>
    where
        T: Copy,
    {
        let Some(text) = text else { return Ok(None) };
        match known.iter().find(|(_, word)| word == text) {
            Some((value, _)) => Ok(Some(*value)),
            None => {
                let words = known.iter().map(|(_, w)| format!("`{w}`")).collect::<Vec<_>>().join(", ");
                Err(Failure::new(RefusalKind::Invalid, format!("`{field}` is one of {words}, not `{text}`")).field(field))
            }
        }
    }

    /// A session's state.
    pub(super) fn session_state(&self) -> Result<Option<&'static str>, Failure> {
        let known = ["active", "dormant", "closed"].map(|word| (word, word));
        Self::word(self.state.as_ref(), "state", &known)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(ROWS).min(ROWS)
    }
}

pub(super) fn narrow(query: Result<Query<Narrow>, axum::extract::rejection::QueryRejection>) -> Result<Narrow, Failure> {
    match query {
        Ok(Query(narrow)) => Ok(narrow),
        Err(fault) => Err(Failure::new(RefusalKind::Invalid, format!("the query is not right: {}", fault.body_text()))),
    }
}

pub(super) type Queried = Result<Query<Narrow>, axum::extract::rejection::QueryRejection>;

async fn get_gates(State(shared): State<Shared>, query: Queried) -> Answer<Vec<api::Gate>> {
    let narrow = narrow(query)?;
    let task = match &narrow.task {
        Some(text) => Some(id::<TaskId>(&shared, IdTable::Task, "task", text)?),
        None => None,
    };
    let filter = GateFilter {
        status: Narrow::word(narrow.status.as_ref(), "status", &GateStatus::ALL)?,
        kind: Narrow::word(narrow.kind.as_ref(), "kind", &GateKind::ALL)?,
        unit: narrow.unit(&shared)?,
        task,
        limit: Some(narrow.limit()),
    };
    let gates = shared.outside.hub.read(|reads| reads.gates(&filter)?.iter().map(|row| view::gate(reads, row)).collect())?;
    Ok(Json(gates))
}

async fn get_gate(State(shared): State<Shared>, Path(text): Path<String>) -> Answer<api::Gate> {
    let gate = id::<GateId>(&shared, IdTable::Gate, "gate", &text)?;
    the_gate(&shared, gate)
}

pub(super) fn the_gate(shared: &Shared, gate: GateId) -> Answer<api::Gate> {
    let found = shared.outside.hub.read(|reads| reads.gate(gate)?.map(|row| view::gate(reads, &row)).transpose())?;
    found.map(Json).ok_or_else(|| missing("gate", &gate.to_string()))
}

/// Hands a request of this caller in.
pub(super) async fn ask(shared: &Shared, caller: Caller, request: Request) -> Result<Reply, Failure> {
    let reply = shared.outside.hub.ask(Input::Request { caller, request }).await;
    reply.map_err(|error| Failure::of(shared, error))
}

async fn retry_gate(State(shared): State<Shared>, Calling(caller): Calling, Path(text): Path<String>) -> Answer<api::Gate> {
    let gate = id::<GateId>(&shared, IdTable::Gate, "gate", &text)?;
    ask(&shared, caller, Request::RetryGate(gate)).await?;
    the_gate(&shared, gate)
}

async fn resolve_gate(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path((text, intent)): Path<(String, String)>,
    body: Bytes,
) -> Answer<api::Gate> {
    let resolve: api::Resolve = parse(&body)?;
    let gate = id::<GateId>(&shared, IdTable::Gate, "gate", &text)?;
    let request = Request::Resolve { gate, intent, text: resolve.text, draft_text: resolve.draft_text };
    // Another text of a draft has a gate of its own, and that is the one that was resolved (DRAFT-27).
    let reply = ask(&shared, caller, request).await?;
    let gate = if let Reply::Gate(resolved) = reply { resolved } else { gate };
    the_gate(&shared, gate)
}

async fn get_plan(State(shared): State<Shared>) -> Answer<Vec<api::PlanItem>> {
    let mut items: Vec<api::PlanItem> =
        shared.outside.hub.read(|reads| view::plan(reads, &shared.outside.rules, &reads.pending_items()?))?;
    let waits = health::waiting_until(&shared.outside)?;
    for item in &mut items {
        item.waiting_until = waits;
    }
    Ok(Json(items))
}

async fn decide_plan(State(shared): State<Shared>, Calling(caller): Calling, body: Bytes) -> Answer<api::PlanAnswer> {
    let plan: api::PlanRequest = parse(&body)?;
    let unit = known_unit(&shared, &plan.unit)?;
    let guidance = plan.guidance.filter(|g| !g.trim().is_empty());
    let request = match (plan.action, guidance) {
        (api::PlanAction::Apply, guidance) => Request::ApplyPlan { unit, guidance },
        (api::PlanAction::Guide, Some(guidance)) => Request::ApplyPlan { unit, guidance: Some(guidance) },
        (api::PlanAction::Guide, None) => {
            return Err(Failure::new(RefusalKind::Invalid, "`guide` needs a `guidance`").field("guidance"));
        }
        (api::PlanAction::Dismiss, None) => Request::DismissPlan { unit },
        (api::PlanAction::Dismiss, Some(_)) => {
            return Err(Failure::new(RefusalKind::Invalid, "`dismiss` takes no `guidance`").field("guidance"));
        }
    };
    let Reply::Plan { gates, guidance_kept } = ask(&shared, caller, request).await? else {
        return Err(Failure::new(RefusalKind::Unavailable, "the plan could not be decided; try again in a moment"));
    };
    let gates = shared.outside.hub.read(|reads| {
        let rows = gates.iter().filter_map(|gate| reads.gate(*gate).transpose()).collect::<Result<Vec<_>, _>>()?;
        rows.iter().map(|row| view::gate(reads, row)).collect()
    })?;
    Ok(Json(api::PlanAnswer { gates, guidance_kept }))
}

async fn get_turns(State(shared): State<Shared>, query: Queried) -> Answer<Vec<api::Turn>> {
    let narrow = narrow(query)?;
    let filter = TurnFilter {
        unit: narrow.unit(&shared)?,
        state: Narrow::word(narrow.state.as_ref(), "state", TurnState::ALL)?,
        limit: Some(narrow.limit()),
        ..TurnFilter::default()
    };
    let turns = shared.outside.hub.read(|reads| reads.turns(&filter)?.iter().map(|row| view::turn(reads, row)).collect())?;
    Ok(Json(turns))
}

async fn get_turn(State(shared): State<Shared>, Calling(caller): Calling, Path(text): Path<String>) -> Answer<api::TurnDetail> {
    let turn = id::<TurnId>(&shared, IdTable::Turn, "turn", &text)?;
    let found = shared.outside.hub.read(|reads| match reads.turn(turn)? {
        Some(row) => Ok(Some((view::turn(reads, &row)?, row))),
        None => Ok(None),
    })?;
    let (shown, row) = found.ok_or_else(|| missing("turn", &text))?;
    // A session reads no other session's transcript ("What an agent may do").
    let own = match &caller {
        Caller::Person => true,
        Caller::Session(session) if *session == row.session => true,
        Caller::Session(_) | Caller::Unknown(_) => shared.outside.hub.read(|reads| acts_for_person(reads, &caller))?,
    };
    let path = shared.outside.home.transcripts().join(format!("{turn}.jsonl"));
    let transcript = if own { health::transcript(&path, row.created_at, TRANSCRIPT) } else { Vec::new() };
    Ok(Json(api::TurnDetail { turn: shown, workspace: row.workspace, record: row.record, transcript }))
}

async fn start_turn(State(shared): State<Shared>, Calling(caller): Calling, body: Bytes) -> Answer<api::PlanAnswer> {
    let wanted: api::TurnRequest = parse(&body)?;
    if !shared.outside.hub.read(|reads| acts_for_person(reads, &caller))? {
        // Said before anything is read for it.
        let unit = UnitRef::github("-");
        let request = Request::StartTurn { unit, intent: wanted.intent, stage: wanted.stage, guidance: None };
        ask(&shared, caller, request).await?;
        return Err(Failure::new(RefusalKind::Forbidden, "this caller starts no round"));
    }
    try_again(&shared).await?;
    know_viewer(&shared).await?;
    let unit = read_named(&shared, &wanted.unit).await?;
    let request = |unit| Request::StartTurn {
        unit,
        intent: wanted.intent.clone(),
        stage: wanted.stage.clone(),
        guidance: wanted.guidance.clone().filter(|g| !g.trim().is_empty()),
    };
    let mut reply = ask(&shared, caller.clone(), request(unit.clone())).await?;
    if let Reply::ReadFirst(UnitName::Ref(unit)) = reply {
        let unit = read_unit(&shared, DetailRef::ById(unit.key().to_owned()), &wanted.unit).await?;
        reply = ask(&shared, caller, request(unit)).await?;
    }
    let Reply::Round { gate } = reply else {
        return Err(Failure::new(
            RefusalKind::Unavailable,
            format!("`{}` could not be read; try again in a moment", wanted.unit),
        ));
    };
    Ok(Json(api::PlanAnswer { gates: vec![the_gate(&shared, gate)?.0], guidance_kept: false }))
}

/// A unit that the person names: one that is not known is read and handed in first.
pub(super) async fn read_named(shared: &Shared, text: &str) -> Result<UnitRef, Failure> {
    match find_unit(shared, text)? {
        Found::Known(unit) => Ok(unit),
        Found::Unknown(which) => {
            try_again(shared).await?;
            know_viewer(shared).await?;
            read_unit(shared, which, text).await
        }
    }
}

/// A person who asks for something outside also asks for another try of a token that was refused (GH-SYNC-43).
pub(super) async fn try_again(shared: &Shared) -> Result<(), Failure> {
    let signed_out = shared.outside.hub.read(|reads| reads.provider("github"))?.is_some_and(|row| row.signed_out);
    if let (true, Some(provider)) = (signed_out, &shared.outside.provider) {
        provider.try_again();
        let again = shared.outside.hub.ask(Input::Observed(Observation::TryAgain)).await;
        again.map_err(|error| Failure::of(shared, error))?;
    }
    Ok(())
}

/// Right after the first start nothing is known of the account yet, which a round needs: it is asked for then.
async fn know_viewer(shared: &Shared) -> Result<(), Failure> {
    let known = shared.outside.hub.read(|reads| reads.provider("github"))?.is_some_and(|row| row.viewer.is_some());
    if let (false, Some(provider)) = (known, &shared.outside.provider) {
        let viewer = provider.viewer().await.map_err(|fault| Failure::new(RefusalKind::Unavailable, fault.to_string()))?;
        let seen = Observation::Viewer { account: viewer.account, teams: viewer.teams };
        shared.outside.hub.ask(Input::Observed(seen)).await.map_err(|error| Failure::of(shared, error))?;
    }
    Ok(())
}

/// Reads a pull request that the person named and hands it in.
async fn read_unit(shared: &Shared, which: DetailRef, text: &str) -> Result<UnitRef, Failure> {
    let Some(provider) = &shared.outside.provider else {
        return Err(Failure::new(RefusalKind::Unavailable, "no token is set; set `plugins.github.token` in `config.toml`"));
    };
    let detail = provider.detail(&which).await.map_err(|fault| match fault {
        ReadFault::NotFound(why) => {
            Failure::new(RefusalKind::NotFound, format!("`{text}` is not there, or the token may not see it: {why}"))
                .field("unit")
        }
        fault @ (ReadFault::SignedOut(_) | ReadFault::Wait { .. } | ReadFault::Unreachable(_) | ReadFault::Unusable(_)) => {
            Failure::new(RefusalKind::Unavailable, fault.to_string())
        }
    })?;
    let unit = UnitRef::github(&detail.summary.id);
    let seen = shared.outside.hub.ask(Input::Observed(Observation::Asked(Box::new(detail)))).await;
    seen.map_err(|error| Failure::of(shared, error))?;
    Ok(unit)
}

async fn cancel_turn(State(shared): State<Shared>, Calling(caller): Calling, Path(text): Path<String>) -> Answer<api::Turn> {
    let turn = id::<TurnId>(&shared, IdTable::Turn, "turn", &text)?;
    ask(&shared, caller, Request::CancelTurn(turn)).await?;
    let found = shared.outside.hub.read(|reads| reads.turn(turn)?.map(|row| view::turn(reads, &row)).transpose())?;
    found.map(Json).ok_or_else(|| missing("turn", &text))
}

async fn get_posts(State(shared): State<Shared>, query: Queried) -> Answer<Vec<api::Post>> {
    let narrow = narrow(query)?;
    let filter = PostFilter {
        unit: narrow.unit(&shared)?,
        state: Narrow::word(narrow.state.as_ref(), "state", PostState::ALL)?,
        limit: Some(narrow.limit()),
        ..PostFilter::default()
    };
    let posts = shared.outside.hub.read(|reads| reads.posts(&filter)?.iter().map(|row| view::post(reads, row)).collect())?;
    Ok(Json(posts))
}

async fn get_post(State(shared): State<Shared>, Path(text): Path<String>) -> Answer<api::Post> {
    let post = id::<PostId>(&shared, IdTable::Post, "post", &text)?;
    the_post(&shared, post)
}

fn the_post(shared: &Shared, post: PostId) -> Answer<api::Post> {
    let found = shared.outside.hub.read(|reads| reads.post(post)?.map(|row| view::post(reads, &row)).transpose())?;
    found.map(Json).ok_or_else(|| missing("post", &post.to_string()))
}

async fn post_sent(State(shared): State<Shared>, Calling(caller): Calling, Path(text): Path<String>) -> Answer<api::Post> {
    settle(&shared, caller, &text, Request::PostSent).await
}

async fn post_retry(State(shared): State<Shared>, Calling(caller): Calling, Path(text): Path<String>) -> Answer<api::Post> {
    let retried = settle(&shared, caller, &text, Request::PostRetry).await?;
    try_again(&shared).await?;
    Ok(retried)
}

async fn post_discard(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
    body: Bytes,
) -> Answer<api::Post> {
    let discard: api::Discard = parse(&body)?;
    settle(&shared, caller, &text, |post| Request::PostDiscard { post, reason: discard.reason }).await
}

async fn settle(shared: &Shared, caller: Caller, text: &str, request: impl FnOnce(PostId) -> Request) -> Answer<api::Post> {
    let post = id::<PostId>(shared, IdTable::Post, "post", text)?;
    ask(shared, caller, request(post)).await?;
    the_post(shared, post)
}

async fn get_events(State(shared): State<Shared>, headers: HeaderMap, query: Queried) -> Result<Response, Failure> {
    let narrow = narrow(query)?;
    let unit = narrow.unit(&shared)?;
    let wants = headers.get(header::ACCEPT).and_then(|a| a.to_str().ok()).unwrap_or_default();
    let last = headers.get("last-event-id").and_then(|l| l.to_str().ok()).and_then(|l| l.parse().ok());
    let since = last.or(narrow.since).unwrap_or(0);
    if wants.contains("text/event-stream") {
        return Ok(live::stream(shared, since, unit).into_response());
    }
    let events = shared.outside.hub.read(|reads| {
        let rows = reads.events_after(since, narrow.limit(), unit.as_ref())?;
        rows.iter().map(|row| view::event(reads, row)).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Json(events).into_response())
}

/// A body as JSON; an empty one is an empty object.
pub(super) fn parse<T: DeserializeOwned>(body: &Bytes) -> Result<T, Failure> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    // A list would be taken for an object's fields in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Failure::new(RefusalKind::Invalid, "the body is not right: it must be one JSON object"));
    }
    serde_json::from_slice(body).map_err(|fault| {
        let words = fault.to_string();
        let field = words.split('`').nth(1).unwrap_or_default().to_owned();
        let failure = Failure::new(RefusalKind::Invalid, format!("the body is not right: {words}"));
        if field.is_empty() { failure } else { failure.field(&field) }
    })
}

pub(super) fn missing(what: &str, text: &str) -> Failure {
    let list = if what == "draft" { "outbox".to_owned() } else { format!("{what}s") };
    Failure::new(RefusalKind::NotFound, format!("there is no {what} `{text}`; `wloop {list}` lists them"))
}

/// An id, or a prefix of at least four digits that only one object has.
pub(super) fn id<T: std::str::FromStr>(shared: &Shared, table: IdTable, what: &str, text: &str) -> Result<T, Failure> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    // A pull request is easily given in the place of what stands on it.
    if text.contains(['#', ':', '/']) {
        let words =
            format!("`{text}` names a unit, and a {what} is wanted by its id; `wloop {what}s --unit {text}` lists its {what}s");
        return Err(Failure::new(RefusalKind::NotFound, words).field("id"));
    }
    if text.len() < PREFIX || text.len() > 32 || !hex {
        let words = format!("`{text}` is no {what}: give its id, or at least {PREFIX} of its first digits");
        return Err(Failure::new(RefusalKind::NotFound, words).field("id"));
    }
    let found = shared.outside.hub.read(|reads| reads.ids_with_prefix(table, text))?;
    match found.as_slice() {
        [] => Err(missing(what, text)),
        [one] => one.parse().map_err(|_| missing(what, text)),
        several => {
            let some = several.iter().take(5).map(|id| format!("`{}`", &id[..12.min(id.len())])).collect::<Vec<_>>().join(", ");
            let words = format!("`{text}` fits several {what}s: {some}; give more digits");
            Err(Failure::new(RefusalKind::Invalid, words).field("id"))
        }
    }
}

/// A unit that is known, or how to read it.
enum Found {
    Known(UnitRef),
    Unknown(DetailRef),
}

/// A unit as people write it: an address, `owner/repo#n` or `provider:key` (CLI-09).
fn find_unit(shared: &Shared, text: &str) -> Result<Found, Failure> {
    let text = text.trim();
    if let Ok(unit) = text.parse::<UnitRef>()
        && !text.contains("://")
        && !text.contains('#')
    {
        let known = shared.outside.hub.read(|reads| reads.unit(&unit))?.is_some();
        return match (known, unit.provider()) {
            (true, _) => Ok(Found::Known(unit)),
            (false, "github") => Ok(Found::Unknown(DetailRef::ById(unit.key().to_owned()))),
            (false, _) => Err(unknown_unit(text)),
        };
    }
    let named = shared.outside.addresses.pull_request(text);
    let (repo, number) = named.map_err(|fault| Failure::new(RefusalKind::Invalid, fault.to_string()).field("unit"))?;
    let row = shared.outside.hub.read(|reads| reads.pull_by_name(&repo, number))?;
    Ok(row.map_or_else(|| Found::Unknown(DetailRef::ByNumber(repo, number)), |row| Found::Known(row.unit)))
}

/// A unit that the daemon knows; any other is refused with nothing changed (CLI-18).
pub(super) fn known_unit(shared: &Shared, text: &str) -> Result<UnitRef, Failure> {
    match find_unit(shared, text)? {
        Found::Known(unit) => Ok(unit),
        Found::Unknown(_) => Err(unknown_unit(text)),
    }
}

fn unknown_unit(text: &str) -> Failure {
    let words = format!("wloop does not know `{text}`; `wloop plan` lists what waits, `wloop review {text}` makes it known");
    Failure::new(RefusalKind::NotFound, words).field("unit")
}
