//! A client for the daemon's socket: one method for each operation, and the event stream. Every call has a time limit.
//!
//! Each call makes a connection of its own. That costs some tens of microseconds, and in return a daemon that was started anew
//! is found at once, and no write is ever sent twice over a connection that turned out to be stale.

mod sse;
mod stream;
mod units;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::timeout;

pub use stream::{Events, PATIENCE};

use crate::operation::{self, Method, Operation};
use crate::problem::Problem;
use crate::types::{
    Discard, Draft, DraftEdit, DraftGroup, DraftRequest, Event, Gate, GhAnswer, GhRequest, Health, HookRequest, PlanAnswer,
    PlanItem, PlanRequest, Post, PromptRequest, Resolve, Session, Status, ToolAnswer, Turn, TurnDetail, TurnRequest,
};

/// What a call may take when nothing else is said. Publishing looks a doubtful post up for up to half a minute, so it is above that.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The longest answer that is read, in bytes. It only keeps a stranger behind the socket from filling the memory.
const ANSWER_LIMIT: usize = 256 << 20;

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Why a call has no answer of the wanted kind.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers on the socket, or not in time.
    #[error("the daemon does not answer on `{}`", socket.display())]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// What the system said. Its kind is `TimedOut` when the daemon took the call and did not answer in time: whether a
        /// write was done is then unknown.
        #[source]
        cause: io::Error,
    },
    /// The daemon refused the call, and said why.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The answer is nothing this version understands; the text says what came.
    #[error("the daemon's answer cannot be read: {0}; command and daemon may be of different versions")]
    Unusable(String),
}

/// Which gates to list; an empty filter lists all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateFilter {
    /// Of this status, such as `open`.
    pub status: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// On this unit, in any spelling that the command line takes.
    pub unit: Option<String>,
    /// On this task.
    pub task: Option<String>,
}

/// Which turns or posts to list; an empty filter lists all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitFilter {
    /// In this state.
    pub state: Option<String>,
    /// Of this unit, in any spelling that the command line takes.
    pub unit: Option<String>,
}

/// Which drafts to list; an empty filter lists those of the Outbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DraftFilter {
    /// Held and failed ones of this task.
    pub task: Option<String>,
    /// All in this state.
    pub state: Option<String>,
}

/// A client for the daemon behind one socket.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    session: Option<String>,
    limit: Duration,
}

impl Client {
    /// A client for the daemon behind `socket`, which calls as the agent session `session` where one is given. Nothing is sent
    /// before the first call.
    #[must_use]
    pub fn connect(socket: PathBuf, session: Option<String>) -> Self {
        Self { socket, session, limit: LIMIT }
    }

    /// The same client with another time limit for each of its calls.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The socket that it calls.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// How the daemon is.
    ///
    /// # Errors
    /// As every call: see [`ClientError`].
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.read(&operation::HEALTH, &[], &[]).await
    }

    /// The counters.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn status(&self) -> Result<Status, ClientError> {
        self.read(&operation::STATUS, &[], &[]).await
    }

    /// Gates, oldest first.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn gates(&self, filter: &GateFilter) -> Result<Vec<Gate>, ClientError> {
        let query = [("status", &filter.status), ("kind", &filter.kind), ("unit", &filter.unit), ("task", &filter.task)];
        self.read(&operation::GATES, &[], &given(&query)).await
    }

    /// One gate, whole; `id` may be a prefix.
    ///
    /// # Errors
    /// See [`ClientError`]; an unknown id is a [`Problem`] of status 404.
    pub async fn gate(&self, id: &str) -> Result<Gate, ClientError> {
        self.read(&operation::GATE, &[id], &[]).await
    }

    /// Runs a failed consequence of a gate once more.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn retry_gate(&self, id: &str) -> Result<Gate, ClientError> {
        self.write(&operation::RETRY_GATE, &[id], None::<&()>).await
    }

    /// Resolves a gate by one of its intents.
    ///
    /// # Errors
    /// See [`ClientError`]; a gate that is no longer open is a [`Problem`] of status 409 that holds the gate.
    pub async fn resolve(&self, id: &str, intent: &str, body: &Resolve) -> Result<Gate, ClientError> {
        self.write(&operation::RESOLVE_GATE, &[id, intent], Some(body)).await
    }

    /// Planned rounds.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn plan(&self) -> Result<Vec<PlanItem>, ClientError> {
        self.read(&operation::PLAN, &[], &[]).await
    }

    /// Runs, skips or guides the planned rounds of a unit.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn decide_plan(&self, body: &PlanRequest) -> Result<PlanAnswer, ClientError> {
        self.write(&operation::DECIDE_PLAN, &[], Some(body)).await
    }

    /// The person looked after a consequence that failed or cannot be told.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn saw_gate(&self, id: &str) -> Result<Gate, ClientError> {
        self.write(&operation::SAW_GATE, &[id], None::<&()>).await
    }

    /// Turns, newest first.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn turns(&self, filter: &UnitFilter) -> Result<Vec<Turn>, ClientError> {
        let query = [("state", &filter.state), ("unit", &filter.unit)];
        self.read(&operation::TURNS, &[], &given(&query)).await
    }

    /// One turn with its record and transcript.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn turn(&self, id: &str) -> Result<TurnDetail, ClientError> {
        self.read(&operation::TURN, &[id], &[]).await
    }

    /// Starts a round by hand.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn start_turn(&self, body: &TurnRequest) -> Result<PlanAnswer, ClientError> {
        self.write(&operation::START_TURN, &[], Some(body)).await
    }

    /// Stops a turn that runs.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn cancel_turn(&self, id: &str) -> Result<Turn, ClientError> {
        self.write(&operation::CANCEL_TURN, &[id], None::<&()>).await
    }

    /// The Outbox, in groups.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn outbox(&self) -> Result<Vec<DraftGroup>, ClientError> {
        self.read(&operation::OUTBOX, &[], &[]).await
    }

    /// Drafts: those of the Outbox, of a task, or in a state.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn drafts(&self, filter: &DraftFilter) -> Result<Vec<Draft>, ClientError> {
        self.read(&operation::DRAFTS, &[], &given(&[("task", &filter.task), ("state", &filter.state)])).await
    }

    /// One draft, whole.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn draft(&self, id: &str) -> Result<Draft, ClientError> {
        self.read(&operation::DRAFT, &[id], &[]).await
    }

    /// Proposes a draft.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn propose_draft(&self, body: &DraftRequest) -> Result<Draft, ClientError> {
        self.write(&operation::PROPOSE_DRAFT, &[], Some(body)).await
    }

    /// Gives a held draft another text.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn edit_draft(&self, id: &str, body: &DraftEdit) -> Result<Draft, ClientError> {
        self.write(&operation::EDIT_DRAFT, &[id], Some(body)).await
    }

    /// Discards a draft.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn discard_draft(&self, id: &str, body: &Discard) -> Result<Draft, ClientError> {
        self.write(&operation::DISCARD_DRAFT, &[id], Some(body)).await
    }

    /// Sends a failed draft again.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn retry_draft(&self, id: &str) -> Result<Draft, ClientError> {
        self.write(&operation::RETRY_DRAFT, &[id], None::<&()>).await
    }

    /// What went out, goes out or cannot be told.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn posts(&self, filter: &UnitFilter) -> Result<Vec<Post>, ClientError> {
        let query = [("state", &filter.state), ("unit", &filter.unit)];
        self.read(&operation::POSTS, &[], &given(&query)).await
    }

    /// One post, by its id or the start of one.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn post(&self, id: &str) -> Result<Post, ClientError> {
        self.read(&operation::ONE_POST, &[id], &[]).await
    }

    /// Says that a doubtful post was sent.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn post_sent(&self, id: &str) -> Result<Post, ClientError> {
        self.write(&operation::POST_SENT, &[id], None::<&()>).await
    }

    /// Sends a failed post again.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn post_retry(&self, id: &str) -> Result<Post, ClientError> {
        self.write(&operation::POST_RETRY, &[id], None::<&()>).await
    }

    /// Drops a failed post.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn post_discard(&self, id: &str, body: &Discard) -> Result<Post, ClientError> {
        self.write(&operation::POST_DISCARD, &[id], Some(body)).await
    }

    /// The record after the event `since` (0 for all of it), oldest first. The daemon may answer in pages: go on from the last
    /// id until an answer is empty.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn events(&self, since: i64) -> Result<Vec<Event>, ClientError> {
        self.read(&operation::EVENTS, &[], &[("since", since.to_string())]).await
    }

    /// The id of the newest event; 0 when there is none. The API has no route for it, so it is searched for: some forty short
    /// calls for a million events.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn newest_event(&self) -> Result<i64, ClientError> {
        let after = async |id: i64| -> Result<Option<i64>, ClientError> {
            let query = [("since", id.to_string()), ("limit", "1".to_owned())];
            let events: Vec<Event> = self.read(&operation::EVENTS, &[], &query).await?;
            Ok(events.iter().map(|event| event.id).min())
        };
        // There is an event `low`, and none after `high`.
        let Some(mut low) = after(0).await? else { return Ok(0) };
        let mut step = 1_i64;
        while let Some(id) = after(low.saturating_add(step)).await? {
            low = id;
            step = step.saturating_mul(2);
        }
        let mut high = low.saturating_add(step);
        while low < high {
            let middle = low + (high - low) / 2;
            match after(middle).await? {
                Some(id) => low = id,
                None => high = middle,
            }
        }
        Ok(low)
    }

    /// Follows the record from the event after `since`, or from now on without it.
    #[must_use]
    pub fn follow(&self, since: Option<i64>) -> Events {
        Events::new(self.clone(), since)
    }

    /// One call of a tool of the agent session `session`, which must be the caller's own.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn tool(&self, session: &str, tool: &str, arguments: &serde_json::Value) -> Result<ToolAnswer, ClientError> {
        self.write(&operation::TOOL, &[session, tool], Some(arguments)).await
    }

    /// Sessions, newest first; of this state, or without the closed ones.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn sessions(&self, state: Option<&str>) -> Result<Vec<Session>, ClientError> {
        let query: Vec<(&str, String)> = state.iter().map(|state| ("state", (*state).to_owned())).collect();
        self.read(&operation::SESSIONS, &[], &query).await
    }

    /// Tells what an agent's own hook told.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn hook(&self, report: &HookRequest) -> Result<Session, ClientError> {
        self.write(&operation::HOOK, &[], Some(report)).await
    }

    /// Closes a session.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn close_session(&self, session: &str) -> Result<Session, ClientError> {
        self.write(&operation::CLOSE_SESSION, &[session], None::<&()>).await
    }

    /// Types into a session.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn prompt_session(&self, session: &str, text: &str) -> Result<Session, ClientError> {
        self.write(&operation::PROMPT_SESSION, &[session], Some(&PromptRequest { text: text.to_owned() })).await
    }

    /// Makes one call of the `gh` on the path of an agent session.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn gh(&self, session: &str, request: &GhRequest) -> Result<GhAnswer, ClientError> {
        self.write(&operation::GH, &[session], Some(request)).await
    }

    /// The description of the API.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn openapi(&self) -> Result<serde_json::Value, ClientError> {
        self.read(&operation::OPENAPI, &[], &[]).await
    }

    async fn read<T: DeserializeOwned>(
        &self,
        operation: &Operation,
        parts: &[&str],
        query: &[(&str, String)],
    ) -> Result<T, ClientError> {
        self.call(operation, parts, query, None).await
    }

    async fn write<T: DeserializeOwned, B: Serialize + ?Sized>(
        &self,
        operation: &Operation,
        parts: &[&str],
        body: Option<&B>,
    ) -> Result<T, ClientError> {
        let body = match body {
            Some(body) => serde_json::to_vec(body)
                .map_err(|error| ClientError::Unusable(format!("the request could not be written: {error}")))?,
            None => b"{}".to_vec(),
        };
        self.call(operation, parts, &[], Some(body)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        operation: &Operation,
        parts: &[&str],
        query: &[(&str, String)],
        body: Option<Vec<u8>>,
    ) -> Result<T, ClientError> {
        let exchange = async {
            let request = self.request(operation, parts, query, body, "application/json")?;
            let (status, incoming) = self.send(request).await?;
            let bytes = self.collect(incoming).await?;
            Ok((status, bytes))
        };
        let (status, bytes) = match timeout(self.limit, exchange).await {
            Ok(answer) => answer?,
            Err(_) => return Err(self.too_late()),
        };
        if !status.is_success() {
            return Err(problem(status, &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Unusable(format!("{} answered {error}", operation.path)))
    }

    fn request(
        &self,
        operation: &Operation,
        parts: &[&str],
        query: &[(&str, String)],
        body: Option<Vec<u8>>,
        accept: &str,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut builder = Request::builder()
            .method(match operation.method {
                Method::Get => http::Method::GET,
                Method::Post => http::Method::POST,
            })
            .uri(target(operation.path, parts, query))
            .header(header::HOST, operation::HOST)
            .header(header::ACCEPT, accept);
        if let Some(session) = &self.session {
            builder = builder.header(operation::SESSION_HEADER, session);
        }
        if body.is_some() {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
        }
        builder
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|error| ClientError::Unusable(format!("the request could not be written: {error}")))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Incoming), ClientError> {
        let stream = UnixStream::connect(&self.socket).await.map_err(|cause| self.unreachable(cause))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.unreachable(io::Error::other(error)))?;
        // The connection lives as long as the answer's body is read; its own errors come out there too.
        drop(tokio::spawn(connection));
        let response = sender.send_request(request).await.map_err(|error| self.unreachable(io::Error::other(error)))?;
        let (head, body) = response.into_parts();
        Ok((head.status, body))
    }

    async fn collect(&self, body: Incoming) -> Result<Bytes, ClientError> {
        let limited = http_body_util::Limited::new(body, ANSWER_LIMIT);
        match limited.collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) => Err(self.unreachable(io::Error::other(error))),
        }
    }

    fn unreachable(&self, cause: io::Error) -> ClientError {
        ClientError::Unreachable { socket: self.socket.clone(), cause }
    }

    fn too_late(&self) -> ClientError {
        self.unreachable(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {:?}", self.limit)))
    }
}

/// The request target of a route: its varying parts in order, each percent-encoded as one segment, and the query.
fn target(path: &str, parts: &[&str], query: &[(&str, String)]) -> String {
    let mut parts = parts.iter();
    let mut out = String::with_capacity(path.len() + 40);
    for segment in path.split('/').skip(1) {
        out.push('/');
        match segment.starts_with('{').then(|| parts.next()).flatten() {
            Some(part) => out.extend(utf8_percent_encode(part, SEGMENT)),
            None => out.push_str(segment),
        }
    }
    for (position, (name, value)) in query.iter().enumerate() {
        out.push(if position == 0 { '?' } else { '&' });
        out.push_str(name);
        out.push('=');
        out.extend(utf8_percent_encode(value, SEGMENT));
    }
    out
}

fn given<'a>(query: &[(&'a str, &Option<String>)]) -> Vec<(&'a str, String)> {
    query.iter().filter_map(|(name, value)| value.as_ref().map(|value| (*name, value.clone()))).collect()
}

fn problem(status: StatusCode, bytes: &[u8]) -> ClientError {
    match serde_json::from_slice::<Problem>(bytes) {
        Ok(problem) => ClientError::Problem(Box::new(problem)),
        Err(_) => {
            let text: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
            ClientError::Unusable(format!("status {status} with {text:?}"))
        }
    }
}

#[cfg(test)]
mod tests;
