//! The routes of agent sessions: the list, what hooks tell, closing, their tools, and the `gh` on their path.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use wloop_agents::tools::check_arguments;
use wloop_api::types as api;
use wloop_core::id::SessionId;
use wloop_store::IdTable;

use super::Shared;
use super::answer::{Calling, Failure};
use super::routes::{Answer, Queried, ask, id, missing, narrow, parse};
use crate::engine::Reply;
use crate::input::{Caller, HookEvent, HookReport, Input, Request};
use crate::refusal::{EngineError, Refusal, RefusalKind};
use crate::{gh, tool, view};

pub(super) async fn list(State(shared): State<Shared>, query: Queried) -> Answer<Vec<api::Session>> {
    let narrow = narrow(query)?;
    let state = narrow.session_state()?;
    let sessions = shared.outside.hub.read(|reads| {
        let rows = reads.sessions(state.is_some(), narrow.limit())?;
        let rows = rows.iter().filter(|row| state.is_none_or(|state| row.state == state));
        rows.map(|row| view::session(reads, row)).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(Json(sessions))
}

fn the_session(shared: &Shared, session: SessionId) -> Answer<api::Session> {
    let found = shared.outside.hub.read(|reads| reads.session(session)?.map(|row| view::session(reads, &row)).transpose())?;
    found.map(Json).ok_or_else(|| missing("session", &session.to_string()))
}

/// Asks for something about a session and shows it as it is then.
async fn asked(shared: &Shared, caller: Caller, request: Request) -> Answer<api::Session> {
    let Reply::Session(session) = ask(shared, caller, request).await? else {
        return Err(Failure::new(RefusalKind::Unavailable, "the session could not be looked at; try again in a moment"));
    };
    the_session(shared, session)
}

pub(super) async fn hook(State(shared): State<Shared>, Calling(caller): Calling, body: Bytes) -> Answer<api::Session> {
    let told: api::HookRequest = parse(&body)?;
    let invalid = |field: &str, words: String| Failure::new(RefusalKind::Invalid, words).field(field);
    let event = HookEvent::ALL.iter().find(|(_, word)| *word == told.event).map(|(event, _)| *event);
    let Some(event) = event else {
        let words = HookEvent::ALL.map(|(_, word)| format!("`{word}`")).join(", ");
        return Err(invalid("event", format!("`event` is one of {words}, not `{}`", told.event)));
    };
    let text = |key: &str| {
        let text = told.payload.get(key).and_then(serde_json::Value::as_str).map(str::trim).filter(|t| !t.is_empty());
        let fits = text.filter(|t| t.chars().count() <= 4096 && !t.chars().any(char::is_control));
        fits.map(str::to_owned)
            .ok_or_else(|| invalid("payload", format!("`payload.{key}` is no line of text; hand over what the agent wrote")))
    };
    let report = HookReport { event, remote: text("session_id")?, folder: text("cwd")? };
    let agent = told.agent.unwrap_or_else(|| "claude-code".to_owned());
    if agent.is_empty() || agent.chars().count() > 60 || agent.chars().any(char::is_control) {
        return Err(invalid("agent", "`agent` is no agent's name".to_owned()));
    }
    asked(&shared, caller, Request::Hook { agent, report }).await
}

pub(super) async fn close(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
) -> Answer<api::Session> {
    let session = id::<SessionId>(&shared, IdTable::Session, "session", &text)?;
    asked(&shared, caller, Request::CloseSession(session)).await
}

pub(super) async fn prompt(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(text): Path<String>,
    body: Bytes,
) -> Answer<api::Session> {
    let _words: api::PromptRequest = parse(&body)?;
    let session = id::<SessionId>(&shared, IdTable::Session, "session", &text)?;
    asked(&shared, caller, Request::PromptSession(session)).await
}

/// The session that a route names, which is the caller or the call is refused.
fn that_session(caller: Caller, named: &str) -> Result<(Caller, SessionId), Failure> {
    let session: SessionId =
        named.parse().map_err(|_| Failure::new(RefusalKind::NotFound, format!("there is no session `{named}`")))?;
    if caller != Caller::Session(session) {
        let words = "a tool is called by its own session alone; this caller is another";
        return Err(Failure::new(RefusalKind::Forbidden, words));
    }
    Ok((caller, session))
}

pub(super) async fn call_tool(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path((session, name)): Path<(String, String)>,
    body: Bytes,
) -> Answer<api::ToolAnswer> {
    let (caller, session) = that_session(caller, &session)?;
    let arguments: serde_json::Value = if body.is_empty() { serde_json::json!({}) } else { parse(&body)? };
    let call = match check_arguments(&name, &arguments) {
        Ok(call) => call,
        Err(refusal) => {
            return Ok(Json(api::ToolAnswer::Refused(api::ToolRefusal {
                code: refusal.code.as_str().to_owned(),
                message: refusal.message,
                hint: refusal.hint,
            })));
        }
    };
    if let Some(refusal) = tool::holds_a_token(&shared.outside, &arguments) {
        return Ok(Json(tool::refused(refusal)));
    }
    let reply = shared.outside.hub.ask(Input::Request { caller, request: Request::Tool { session, call, arguments } }).await;
    let answer = match reply {
        Ok(Reply::Tool(value)) => api::ToolAnswer::Done(value),
        Ok(Reply::ToolWaits { post, repeated }) => {
            let mut answer = tool::settled(&shared.outside, post, Duration::from_secs(150)).await?;
            if let (api::ToolAnswer::Done(value), true) = (&mut answer, repeated) {
                value["repeated"] = true.into();
            }
            answer
        }
        Ok(_) => {
            tool::refused(Refusal::new(RefusalKind::Unavailable, "the call came to nothing; call again").code("unavailable"))
        }
        Err(EngineError::Refused(refusal)) => tool::refused(refusal),
        Err(EngineError::Store(fault)) => return Err(fault.into()),
    };
    Ok(Json(answer))
}

pub(super) async fn call_gh(
    State(shared): State<Shared>,
    Calling(caller): Calling,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<api::GhAnswer> {
    let (_, session) = that_session(caller, &session)?;
    let asked: api::GhRequest = parse(&body)?;
    Ok(Json(gh::call(&shared.outside, session, &asked).await?))
}
