//! The routes of agent sessions: their tools, and the `gh` on their path.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, Path, State};
use axum::http::HeaderMap;
use wloop_agents::tools::check_arguments;
use wloop_api::types as api;
use wloop_core::id::SessionId;

use super::answer::{Failure, caller};
use super::routes::{Answer, parse};
use super::{Peer, Shared};
use crate::engine::Reply;
use crate::input::{Caller, Input, Request};
use crate::refusal::{EngineError, Refusal, RefusalKind};
use crate::{gh, tool};

/// The session that a route names, which is the caller or the call is refused.
fn that_session(shared: &Shared, peer: Peer, headers: &HeaderMap, named: &str) -> Result<(Caller, SessionId), Failure> {
    let caller = caller(shared, peer, headers)?;
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
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path((session, name)): Path<(String, String)>,
    body: Bytes,
) -> Answer<api::ToolAnswer> {
    let (caller, session) = that_session(&shared, peer, &headers, &session)?;
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
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Path(session): Path<String>,
    body: Bytes,
) -> Answer<api::GhAnswer> {
    let (_, session) = that_session(&shared, peer, &headers, &session)?;
    let asked: api::GhRequest = parse(&body)?;
    Ok(Json(gh::call(&shared.outside, session, &asked).await?))
}
