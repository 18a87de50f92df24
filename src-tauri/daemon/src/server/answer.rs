//! Error answers, and who may ask at all.

use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use wloop_api::problem::{CONTENT_TYPE, Problem};
use wloop_store::StoreError;

use super::{Peer, Shared};
use crate::caller::{identify, kin_of};
use crate::input::Caller;
use crate::refusal::{EngineError, Refusal, RefusalKind};
use crate::view;

/// An error on its way out.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Problem);

impl Failure {
    pub(crate) fn new(kind: RefusalKind, detail: impl Into<String>) -> Self {
        let (word, title) = kind.words();
        Self(Problem {
            kind: word.to_owned(),
            title: title.to_owned(),
            status: kind.status(),
            detail: detail.into(),
            gate: None,
            field: None,
        })
    }

    pub(crate) fn field(mut self, field: &str) -> Self {
        self.0.field = Some(field.to_owned());
        self
    }

    /// A refusal of the engine, with the gate as it stands now.
    pub(crate) fn refused(shared: &Shared, refusal: Refusal) -> Self {
        let mut failure = Self::new(refusal.kind, refusal.detail);
        failure.0.field = refusal.field.map(str::to_owned);
        if let Some(id) = refusal.gate {
            let gate = shared.outside.hub.read(|reads| match reads.gate(id)? {
                Some(row) => view::gate(reads, &row).map(Some),
                None => Ok(None),
            });
            failure.0.gate = gate.ok().flatten().map(Box::new);
        }
        failure
    }

    pub(crate) fn of(shared: &Shared, error: EngineError) -> Self {
        match error {
            EngineError::Refused(refusal) => Self::refused(shared, refusal),
            EngineError::Store(fault) => fault.into(),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(fault: StoreError) -> Self {
        let words = crate::runner::chain(&fault);
        tracing::error!(fault = words, "the ledger failed");
        Self(Problem {
            kind: "ledger".to_owned(),
            title: "the ledger did not take it; nothing was changed".to_owned(),
            status: 500,
            detail: words,
            gate: None,
            field: None,
        })
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        (status, [(header::CONTENT_TYPE, CONTENT_TYPE)], body).into_response()
    }
}

/// Refuses what no program of the person on this machine would send: another user's process, a page of a browser, a foreign host.
pub(crate) async fn guard(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    let forbid = |why: &str| Failure::new(RefusalKind::Forbidden, why).into_response();
    if peer.uid != Some(rustix::process::getuid().as_raw()) {
        return forbid("the socket serves its owner alone");
    }
    let headers = request.headers();
    if headers.contains_key(header::ORIGIN) || headers.contains_key(header::REFERER) {
        return forbid("a request of a web page is not answered here");
    }
    let host = headers.get(header::HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    if host != wloop_api::operation::HOST && host != "localhost" {
        return forbid("the `Host` must be `wloop`");
    }
    let asked = format!("{} {}", request.method(), request.uri().path());
    as_problem(next.run(request).await, &asked).await
}

/// What the framework itself refused, such as a method that a route does not have, as a problem like every other.
async fn as_problem(response: Response, asked: &str) -> Response {
    let status = response.status();
    let is_problem = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == CONTENT_TYPE);
    if is_problem || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let allow = response.headers().get(header::ALLOW).cloned();
    let said = axum::body::to_bytes(response.into_body(), 1024).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let why = match status {
        StatusCode::METHOD_NOT_ALLOWED => "this route has no such method; `GET /api/openapi.json` lists what there is".to_owned(),
        _ if said.is_empty() => format!("the request is refused ({status})"),
        _ => said,
    };
    let mut failure = Failure::new(RefusalKind::Invalid, format!("`{asked}`: {why}"));
    failure.0.status = status.as_u16();
    let mut answer = failure.into_response();
    if let Some(allow) = allow {
        answer.headers_mut().insert(header::ALLOW, allow);
    }
    answer
}

/// Who calls, as a route takes it.
pub(crate) struct Calling(pub(crate) Caller);

impl FromRequestParts<Shared> for Calling {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Failure> {
        // Each connection comes with its peer; one that did not would be nobody the daemon knows.
        let peer = parts.extensions.get::<ConnectInfo<Peer>>().and_then(|info| info.0.pid);
        // A header that is no text names no session, and so nobody the daemon knows.
        let header = parts.headers.get(wloop_api::operation::SESSION_HEADER).map(|value| value.to_str().unwrap_or("?"));
        let own = rustix::process::getpid().as_raw_nonzero().get().unsigned_abs();
        Ok(Self(shared.outside.hub.read(|reads| identify(reads, peer, header, own, &kin_of))?))
    }
}

/// A route that is not there.
pub(crate) async fn nowhere(State(_shared): State<Shared>, request: Request) -> Failure {
    let words =
        format!("there is no `{} {}`; `GET /api/openapi.json` lists what there is", request.method(), request.uri().path());
    Failure::new(RefusalKind::NotFound, words)
}
