//! The engine's own thread and the way to it: inputs go in one after the other, each answered once it is committed, and after each
//! the due jobs and the next wake-up are told to the runner.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use wloop_store::{Reader, Reads, StoreError};

#[cfg(feature = "failpoints")]
use crate::edge::crash_point;
use crate::engine::{Engine, Reply};
use crate::input::{Input, Job, Wake};
use crate::refusal::{Answer, EngineError, Refusal, RefusalKind};

/// Inputs that wait at most; a full queue makes callers wait.
const QUEUE: usize = 256;
/// When due jobs that could not be read are read again.
const UNREADABLE: jiff::SignedDuration = jiff::SignedDuration::from_secs(5);
/// Connections that read beside the writer.
const READERS: usize = 3;

/// The clock that inputs are stamped with.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What is due now, and when time alone makes something due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Grows with each input, so that a job which is due again is seen again.
    pub(crate) round: u64,
    /// Due jobs.
    pub(crate) jobs: Vec<Job>,
    /// The next wake-up.
    pub(crate) wake: Option<Wake>,
}

enum Message {
    Input(Box<Input>, oneshot::Sender<Answer<Reply>>),
    Poke(oneshot::Sender<()>),
    Stop(oneshot::Sender<()>),
}

/// The way to the engine; cheap to clone.
#[derive(Clone)]
pub(crate) struct Hub {
    messages: mpsc::Sender<Message>,
    pending: watch::Receiver<Pending>,
    events: watch::Receiver<i64>,
    readers: Arc<(Mutex<Vec<Reader>>, Condvar)>,
    path: std::path::PathBuf,
    healthy: watch::Receiver<bool>,
    clock: Clock,
    generation: i64,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Hub {
    /// Puts an engine on a thread of its own.
    ///
    /// # Errors
    /// When the readers cannot be opened or the thread cannot be started.
    pub(crate) fn start(mut engine: Engine, clock: Clock) -> Result<Self, StoreError> {
        let (messages, inbox) = mpsc::channel(QUEUE);
        let (pending_tx, pending) = watch::channel(Pending::default());
        let (healthy_tx, healthy) = watch::channel(true);
        let (events_tx, events) = watch::channel(engine.read().last_event_id()?);
        let path = engine.store().path().to_owned();
        let generation = engine.generation();
        let readers = (0..READERS).map(|_| engine.store().reader()).collect::<Result<Vec<_>, _>>()?;
        engine.store_mut().on_events(Box::new(move |id| {
            events_tx.send_replace(id);
        }));
        let worker = Worker { engine, clock: clock.clone(), pending: pending_tx, healthy: healthy_tx };
        let spawned = std::thread::Builder::new().name("engine".to_owned()).spawn(move || worker.work(inbox));
        spawned.map_err(|source| StoreError::Io { doing: "start the engine's thread for", path: path.clone(), source })?;
        Ok(Self {
            messages,
            pending,
            events,
            readers: Arc::new((Mutex::new(readers), Condvar::new())),
            path,
            healthy,
            clock,
            generation,
        })
    }

    /// Hands an input in and waits until it is committed.
    ///
    /// # Errors
    /// As [`Engine::handle`]; `Unavailable` when the engine is gone.
    pub(crate) async fn ask(&self, input: Input) -> Answer<Reply> {
        let (reply, answer) = oneshot::channel();
        let gone =
            || EngineError::from(Refusal::new(RefusalKind::Unavailable, "the daemon is going down; try again once it runs"));
        self.messages.send(Message::Input(Box::new(input), reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Hands in what must not be lost, such as the outcome of a call: a ledger that is full or locked is asked again until it takes
    /// it. `false` when it never will.
    pub(crate) async fn record(&self, input: Input) -> bool {
        let mut wait = std::time::Duration::from_millis(200);
        loop {
            match self.ask(input.clone()).await {
                Err(EngineError::Store(fault)) if fault.may_pass() => {
                    tracing::error!(%fault, "an outcome could not be written yet; it is kept and written again");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(std::time::Duration::from_secs(10));
                }
                Err(fault) => {
                    tracing::error!(%fault, "an outcome was not taken");
                    return false;
                }
                Ok(_) => return true,
            }
        }
    }

    /// Waits until the engine is gone, which it is not before [`Hub::stop`] unless it failed.
    pub(crate) async fn gone(&self) {
        self.messages.closed().await;
    }

    /// Has the due jobs told once more, and waits until they are: what was handed in before is then part of them.
    pub(crate) async fn poke(&self) {
        let (done, told) = oneshot::channel();
        if self.messages.send(Message::Poke(done)).await.is_ok() {
            let _gone = told.await;
        }
    }

    /// Stops the engine in order, after everything that was handed in before.
    pub(crate) async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.messages.send(Message::Stop(done)).await.is_ok() {
            let _gone = stopped.await;
        }
    }

    /// Reads the ledger as it was last committed.
    ///
    /// # Errors
    /// [`StoreError`] of the read.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reads<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let (readers, freed) = &*self.readers;
        let reader = {
            let mut free = readers.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match free.pop() {
                    Some(reader) => break reader,
                    // A read is short: the next one waits for it.
                    None => free = freed.wait(free).unwrap_or_else(PoisonError::into_inner),
                }
            }
        };
        let result = reader.read(work);
        readers.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
        freed.notify_one();
        result
    }

    /// What is due, as it changes.
    #[must_use]
    pub(crate) fn pending(&self) -> watch::Receiver<Pending> {
        self.pending.clone()
    }

    /// The id of the newest event, as it grows.
    #[must_use]
    pub(crate) fn events(&self) -> watch::Receiver<i64> {
        self.events.clone()
    }

    /// Whether the last commit went through.
    #[must_use]
    pub(crate) fn healthy(&self) -> bool {
        *self.healthy.borrow()
    }

    /// Now.
    #[must_use]
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// How often this home's daemon was started.
    #[must_use]
    pub(crate) fn generation(&self) -> i64 {
        self.generation
    }
}

/// Whether an input proposes a draft of the person's: the place of K14.
#[cfg(feature = "failpoints")]
fn proposes(input: &Input) -> bool {
    use crate::input::Request;
    matches!(input, Input::Request { request: Request::ProposeDraft(_), .. })
}

struct Worker {
    engine: Engine,
    clock: Clock,
    pending: watch::Sender<Pending>,
    healthy: watch::Sender<bool>,
}

impl Worker {
    /// Whether an input resolves a gate: the place of K1. A tick does only where a window is over.
    #[cfg(feature = "failpoints")]
    fn resolves(&self, input: &Input, now: Timestamp) -> bool {
        use crate::input::Request;
        let asked = matches!(input, Input::Request { request: Request::Resolve { .. } | Request::ApplyPlan { .. }, .. });
        asked || (matches!(input, Input::Tick) && self.engine.read().gates_due(now).is_ok_and(|due| !due.is_empty()))
    }

    fn work(mut self, mut inbox: mpsc::Receiver<Message>) {
        self.tell();
        while let Some(message) = inbox.blocking_recv() {
            match message {
                Message::Input(input, reply) => {
                    let now = (self.clock)();
                    #[cfg(feature = "failpoints")]
                    let resolves = self.resolves(&input, now);
                    #[cfg(feature = "failpoints")]
                    let holds = matches!(*input, Input::Request { request: crate::input::Request::Hold { .. }, .. });
                    #[cfg(feature = "failpoints")]
                    let proposes = proposes(&input);
                    let answer = self.engine.handle(*input, now);
                    self.healthy.send_replace(!matches!(answer, Err(EngineError::Store(_))));
                    #[cfg(feature = "failpoints")]
                    if resolves && answer.is_ok() {
                        crash_point!("K1");
                    }
                    #[cfg(feature = "failpoints")]
                    if holds && answer.is_ok() {
                        crash_point!("K39");
                    }
                    #[cfg(feature = "failpoints")]
                    if proposes && answer.is_ok() {
                        crash_point!("K14");
                    }
                    let _asker_left = reply.send(answer);
                    self.tell();
                }
                Message::Poke(done) => {
                    self.tell();
                    let _asker_left = done.send(());
                }
                Message::Stop(done) => {
                    if let Err(fault) = self.engine.stopped((self.clock)()) {
                        tracing::error!(%fault, "the end could not be recorded");
                    }
                    let _asker_left = done.send(());
                    return;
                }
            }
        }
    }

    fn tell(&self) {
        let now = (self.clock)();
        match (self.engine.jobs(now), self.engine.next_wake(now)) {
            (Ok(jobs), Ok(wake)) => {
                self.pending.send_modify(|pending| *pending = Pending { round: pending.round + 1, jobs, wake });
            }
            (Err(fault), _) | (_, Err(fault)) => {
                self.healthy.send_replace(false);
                tracing::error!(%fault, "the due jobs could not be read");
                // What was due before may not be any more: nothing is done until they can be read again.
                let at = now.checked_add(UNREADABLE).unwrap_or(now);
                let wake = Some(Wake { at, reason: "the due jobs could not be read".to_owned() });
                self.pending.send_modify(|pending| *pending = Pending { round: pending.round + 1, jobs: Vec::new(), wake });
            }
        }
    }
}
