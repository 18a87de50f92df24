//! The event stream: each event once, in order, going on after a break.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Client, ClientError, problem, sse};
use crate::operation;
use crate::types::Event;

/// How long an event stream tries to come back after a break when nothing else is said.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long an event stream must have held before its loss counts as a new break.
const HELD: Duration = Duration::from_secs(5);

/// The event stream of a daemon: each event once, in order, going on from the last id after a break (EVT-13).
pub struct Events {
    client: Client,
    last: Option<i64>,
    body: Option<Incoming>,
    parser: sse::Parser,
    ready: VecDeque<Event>,
    patience: Duration,
    /// When the present connection was made.
    since: Option<Instant>,
    break_: Option<Break>,
}

/// A connection that was lost and is tried again.
#[derive(Debug)]
struct Break {
    /// When it is given up.
    until: Instant,
    /// When it is tried next.
    next: Instant,
    /// The pause after the next try.
    pause: Duration,
}

impl Break {
    fn starting(now: Instant, patience: Duration) -> Self {
        Self { until: now + patience, next: now, pause: Duration::from_millis(100) }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events")
            .field("client", &self.client)
            .field("last", &self.last)
            .field("connected", &self.body.is_some())
            .finish_non_exhaustive()
    }
}

impl Events {
    pub(super) fn new(client: Client, since: Option<i64>) -> Self {
        Self {
            client,
            last: since,
            body: None,
            parser: sse::Parser::default(),
            ready: VecDeque::new(),
            patience: PATIENCE,
            since: None,
            break_: None,
        }
    }

    /// The same stream with another time for which it tries to come back after a break; zero gives up at once.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The id of the last event that was handed out, or what it started from.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// Connects when it is not connected. [`Events::next`] does so by itself; calling it first makes sure that no event after
    /// this moment is missed.
    ///
    /// # Errors
    /// See [`ClientError`]; there is one try, without patience.
    pub async fn open(&mut self) -> Result<(), ClientError> {
        if self.body.is_some() {
            return Ok(());
        }
        let last = match self.last {
            Some(last) => last,
            None => self.client.newest_event().await?,
        };
        self.last = Some(last);
        let query = [("since", last.to_string())];
        let mut request = self.client.request(&operation::EVENTS, &[], &query, None, "text/event-stream")?;
        request.headers_mut().insert("last-event-id", last.into());
        let exchange = self.client.send(request);
        let (status, body) = timeout(self.client.limit, exchange).await.map_err(|_| self.client.too_late())??;
        if !status.is_success() {
            let bytes = timeout(self.client.limit, self.client.collect(body)).await.map_err(|_| self.client.too_late())??;
            return Err(problem(status, &bytes));
        }
        self.parser = sse::Parser::default();
        self.body = Some(body);
        self.since = Some(Instant::now());
        Ok(())
    }

    /// The next event; waits for it, and comes back by itself after a break. Dropping the future loses no event.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`] when nobody answered the first time, or for the whole of the patience after a break; the
    /// other kinds at once. It may be called again after an error.
    pub async fn next(&mut self) -> Result<Event, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                // The daemon may repeat what was sent before the break.
                if self.last.is_some_and(|last| event.id <= last) {
                    continue;
                }
                self.last = Some(event.id);
                return Ok(event);
            }
            self.reconnect().await?;
            let Some(body) = &mut self.body else { continue };
            match body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        for text in self.parser.feed(&data) {
                            let event = serde_json::from_str(&text)
                                .map_err(|error| ClientError::Unusable(format!("an event of the stream: {error}")))?;
                            self.ready.push_back(event);
                            self.break_ = None;
                        }
                    }
                }
                Some(Err(_)) | None => {
                    self.body = None;
                    let now = Instant::now();
                    // One that held for a while had come back; one that ends at once is the same break going on.
                    if self.since.is_some_and(|since| now.duration_since(since) > HELD) {
                        self.break_ = None;
                    }
                    let patience = self.patience;
                    let pending = self.break_.get_or_insert_with(|| Break::starting(now, patience));
                    // A server that accepts and closes again and again is no server either.
                    if pending.next > pending.until {
                        self.break_ = None;
                        return Err(self.client.unreachable(io::Error::from(io::ErrorKind::UnexpectedEof)));
                    }
                }
            }
        }
    }

    async fn reconnect(&mut self) -> Result<(), ClientError> {
        while self.body.is_none() {
            // The instant is kept in `self`, so that a caller who drops this future again and again does not put it off.
            if let Some(next) = self.break_.as_ref().map(|pending| pending.next) {
                sleep_until(next).await;
            }
            let tried = self.open().await;
            let lost = matches!(tried, Err(ClientError::Unreachable { .. }));
            if let Some(pending) = &mut self.break_ {
                pending.next = Instant::now() + pending.pause;
                pending.pause = (pending.pause * 2).min(Duration::from_secs(2));
                if lost && pending.next <= pending.until {
                    continue;
                }
            }
            if tried.is_err() {
                self.break_ = None;
            }
            return tried;
        }
        Ok(())
    }
}
