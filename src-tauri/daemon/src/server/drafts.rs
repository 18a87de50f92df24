//! The routes of drafts and the Outbox.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use serde_json::{Value, json};
use wloop_agents::tools::check_arguments;
use wloop_api::types as api;
use wloop_core::draft::{Delivery, on_github};
use wloop_core::github::publish::strip_markers;
use wloop_core::id::{GateId, PostId, SessionId, TaskId, UnitRef};
use wloop_core::post::PostState;
use wloop_store::{DraftFilter, IdTable};

use super::Shared;
use super::answer::{Calling, Failure};
use super::routes::{Answer, Narrow, Queried, ask, id, narrow, parse, read_named};
use crate::engine::Reply;
use crate::input::{Caller, NewDraft, Request};
use crate::refusal::RefusalKind;
use crate::view;

pub(super) async fn get_outbox(State(shared): State<Shared>) -> Answer<Vec<api::DraftGroup>> {
    let outside = &shared.outside;
    Ok(Json(outside.hub.read(|reads| view::outbox(reads, &outside.rules, shared.started_at))?))
}

pub(super) async fn get_drafts(State(shared): State<Shared>, query: Queried) -> Answer<Vec<api::Draft>> {
    let asked = narrow(query)?;
    let state = Narrow::word(asked.state.as_ref(), "state", PostState::ALL)?;
    let task = match &asked.task {
        Some(text) => Some(id::<TaskId>(&shared, IdTable::Task, "task", text)?),
        None => None,
    };
    let (filter, rest) = match (task, state) {
        (Some(task), state) => (DraftFilter::OfTask(task), state),
        (None, Some(state)) => (DraftFilter::In(state), None),
        (None, None) => (DraftFilter::Waiting(shared.started_at), None),
    };
    let unit = asked.unit(&shared)?;
    let limit = asked.limit();
    let outside = &shared.outside;
    let drafts = outside.hub.read(|reads| {
        let rows = reads.drafts(filter)?;
        let wanted = rows.iter().filter(|(_, post)| {
            rest.is_none_or(|state| post.state == state) && unit.as_ref().is_none_or(|unit| post.unit == *unit)
        });
        wanted.take(limit).map(|(row, post)| view::draft(reads, &outside.rules, row, post)).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Json(drafts))
}

pub(super) async fn get_draft(State(shared): State<Shared>, Path(text): Path<String>) -> Answer<api::Draft> {
    let draft = draft_id(&shared, &text)?;
    the_draft(&shared, draft)
}

fn draft_id(shared: &Shared, text: &str) -> Result<PostId, Failure> {
    id::<PostId>(shared, IdTable::Draft, "draft", text)
}

fn the_draft(shared: &Shared, draft: PostId) -> Answer<api::Draft> {
    let outside = &shared.outside;
    let found = outside.hub.read(|reads| match reads.draft(draft)? {
        Some((row, post)) => view::draft(reads, &outside.rules, &row, &post).map(Some),
        None => Ok(None),
    })?;
    found.map(Json).ok_or_else(|| super::routes::missing("draft", &draft.to_string()))
}

pub(super) async fn propose_draft(State(shared): State<Shared>, Calling(caller): Calling, body: Bytes) -> Answer<api::Draft> {
    let wanted: api::DraftRequest = parse(&body)?;
    let delivery = match &wanted.delivery {
        None => Delivery::Comment,
        Some(word) => Delivery::from_word(word).ok_or_else(|| {
            let known = Delivery::ALL.iter().map(|(_, word)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            Failure::new(RefusalKind::Invalid, format!("`delivery` is one of {known}, not `{word}`")).field("delivery")
        })?,
    };
    match caller {
        Caller::Session(session) => propose_as_session(&shared, session, &wanted, delivery).await,
        Caller::Person => propose_as_person(&shared, wanted, delivery).await,
        Caller::Unknown(_) => {
            // Said before anything is read for it.
            let new = NewDraft {
                unit: UnitRef::github("-"),
                text: String::new(),
                purpose: String::new(),
                delivery,
                broadcast: false,
                effects: Vec::new(),
                task: None,
                key: None,
            };
            ask(&shared, caller, Request::ProposeDraft(Box::new(new))).await?;
            Err(Failure::new(RefusalKind::Forbidden, "this caller proposes nothing"))
        }
    }
}

async fn propose_as_person(shared: &Shared, wanted: api::DraftRequest, delivery: Delivery) -> Answer<api::Draft> {
    // The same limits as an agent's: what is too long never gets as far as a read.
    let checked = json!({ "text": wanted.text, "purpose": wanted.purpose, "key": wanted.key });
    checked_call("github_draft", &checked)?;
    let Some(named) = &wanted.unit else {
        return Err(Failure::new(RefusalKind::Invalid, "`unit` is missing: name the pull request").field("unit"));
    };
    let task = match &wanted.task {
        Some(text) => Some(id::<TaskId>(shared, IdTable::Task, "task", text)?),
        None => None,
    };
    let send = wanted.send;
    let new = NewDraft {
        unit: read_named(shared, named).await?,
        text: wanted.text.clone(),
        purpose: wanted.purpose.map(|p| p.trim().to_owned()).unwrap_or_default(),
        delivery,
        broadcast: wanted.broadcast,
        effects: wanted.effects,
        task,
        key: wanted.key,
    };
    let Reply::Draft(draft) = ask(shared, Caller::Person, Request::ProposeDraft(Box::new(new))).await? else {
        return Err(Failure::new(RefusalKind::Unavailable, "the draft could not be proposed; try again in a moment"));
    };
    let proposed = the_draft(shared, draft)?;
    let (true, Some(intent)) = (send, proposed.0.approve.clone()) else { return Ok(proposed) };
    // The same call once more finds its draft, which the person may have put otherwise meanwhile: what was not in the call is not sent.
    if proposed.0.text != strip_markers(&wanted.text) {
        let words = format!("draft `{}` has another text by now; look at it and approve that one", proposed.0.short);
        return Err(Failure::new(RefusalKind::Conflict, words));
    }
    // Send now is two steps, each whole: a stop between them leaves the draft held (K14).
    let gate = id::<GateId>(shared, IdTable::Gate, "gate", &proposed.0.gate)?;
    ask(shared, Caller::Person, Request::Resolve { gate, intent, text: None, draft_text: None }).await?;
    the_draft(shared, draft)
}

/// A session proposes as by its tool, in its open turn, with the tool's checks and limits.
async fn propose_as_session(
    shared: &Shared,
    session: SessionId,
    wanted: &api::DraftRequest,
    delivery: Delivery,
) -> Answer<api::Draft> {
    if wanted.send {
        let words = "this session is unattended and approves nothing; leave `send` out, and the person decides";
        return Err(Failure::new(RefusalKind::Forbidden, words).field("send"));
    }
    on_github(delivery).map_err(|why| Failure::new(RefusalKind::Invalid, why.to_string()).field("delivery"))?;
    if wanted.task.is_some() {
        let words = "a session's draft goes to the task of its pull request; leave `task` out";
        return Err(Failure::new(RefusalKind::Invalid, words).field("task"));
    }
    let arguments = json!({
        "text": wanted.text, "unit": wanted.unit, "purpose": wanted.purpose, "effects": wanted.effects, "key": wanted.key,
    });
    let answer = call(shared, session, "github_draft", arguments).await?;
    let draft = answer["draft"].as_str().and_then(|id| id.parse().ok());
    let draft: PostId = draft.ok_or_else(|| Failure::new(RefusalKind::Unavailable, "the draft was not proposed; try again"))?;
    the_draft(shared, draft)
}

fn checked_call(tool: &str, arguments: &Value) -> Result<wloop_agents::tools::ToolCall, Failure> {
    check_arguments(tool, arguments).map_err(|refusal| {
        let field = refusal.message.split('`').nth(1).unwrap_or_default().to_owned();
        let failure = Failure::new(RefusalKind::Invalid, format!("{}; {}", refusal.message, refusal.hint));
        if field.is_empty() { failure } else { failure.field(&field) }
    })
}

/// One call of a tool for a session that came by another route.
async fn call(shared: &Shared, session: SessionId, tool: &str, arguments: Value) -> Result<Value, Failure> {
    let call = checked_call(tool, &arguments)?;
    if let Some(refusal) = crate::tool::holds_a_token(&shared.outside, &arguments) {
        return Err(Failure::refused(shared, refusal));
    }
    let Reply::Tool(answer) = ask(shared, Caller::Session(session), Request::Tool { session, call, arguments }).await? else {
        return Err(Failure::new(RefusalKind::Unavailable, "the call came to nothing; call again"));
    };
    Ok(answer)
}

pub(super) async fn edit_draft(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
    body: Bytes,
) -> Answer<api::Draft> {
    let edit: api::DraftEdit = parse(&body)?;
    let draft = draft_id(&shared, &text)?;
    let gate = edit.gate.as_deref().map(|gate| id::<GateId>(&shared, IdTable::Gate, "gate", gate)).transpose()?;
    let text = match (edit.text, caller == Caller::Person) {
        (Some(text), true) => {
            checked_call("github_draft", &json!({ "text": text }))?;
            text
        }
        (Some(text), false) => text,
        // A comment is in no thread, so another broadcast alone changes nothing (DRAFT-32).
        (None, _) if edit.broadcast.is_some() => the_draft(&shared, draft)?.0.text,
        (None, _) => return Err(Failure::new(RefusalKind::Invalid, "`text` is missing: give the new text").field("text")),
    };
    ask(&shared, caller, Request::EditDraft { draft, text, gate }).await?;
    the_draft(&shared, draft)
}

pub(super) async fn discard_draft(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
    body: Bytes,
) -> Answer<api::Draft> {
    let discard: api::Discard = parse(&body)?;
    let draft = draft_id(&shared, &text)?;
    if let Caller::Session(session) = caller {
        let reason = discard.reason.filter(|r| !r.trim().is_empty()).unwrap_or_else(|| "withdrawn".to_owned());
        call(&shared, session, "draft_withdraw", json!({ "draft": draft.to_string(), "reason": reason })).await?;
    } else {
        ask(&shared, caller, Request::DiscardDraft { draft, reason: discard.reason }).await?;
    }
    the_draft(&shared, draft)
}

pub(super) async fn retry_draft(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
) -> Answer<api::Draft> {
    let draft = draft_id(&shared, &text)?;
    ask(&shared, caller, Request::RetryDraft(draft)).await?;
    super::routes::try_again(&shared).await?;
    the_draft(&shared, draft)
}
