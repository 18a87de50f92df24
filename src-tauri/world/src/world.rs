//! The shared inside of a running small GitHub: state, faults, and the record of calls.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::answer::Asked;
use crate::faults::{Call, Fault, FaultKind, request_text};
use crate::model::State;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) base: String,
    pub(crate) stop: CancellationToken,
    state: Mutex<State>,
    faults: Mutex<VecDeque<Fault>>,
    calls: Mutex<Calls>,
    /// Moves whenever the record of calls changes.
    pub(crate) news: watch::Sender<u64>,
    /// Moves whenever held requests are released.
    pub(crate) releases: watch::Sender<u64>,
    pub(crate) held: AtomicUsize,
    /// Whether connections are to be refused.
    pub(crate) wanted_shut: watch::Sender<bool>,
    /// Whether they are.
    pub(crate) shut: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    kept: Vec<Call>,
}

/// A panic in another thread leaves the state as it was at that moment, which is good enough to go on with.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(base: String, state: State) -> Self {
        Self {
            base,
            stop: CancellationToken::new(),
            state: Mutex::new(state),
            faults: Mutex::default(),
            calls: Mutex::default(),
            news: watch::Sender::new(0),
            releases: watch::Sender::new(0),
            held: AtomicUsize::new(0),
            wanted_shut: watch::Sender::new(false),
            shut: watch::Sender::new(false),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn push_fault(&self, fault: Fault) {
        lock(&self.faults).push_back(fault);
    }

    pub(crate) fn faults_left(&self) -> Vec<Fault> {
        lock(&self.faults).iter().cloned().collect()
    }

    pub(crate) fn clear_faults(&self) {
        lock(&self.faults).clear();
    }

    /// Records an arrival and takes the fault that is meant for it, if one is.
    pub(crate) fn arrived(&self, asked: &Asked) -> (u64, Option<FaultKind>) {
        let request = asked.json();
        let text = request.as_ref().map_or_else(String::new, request_text);
        let fault = {
            let mut faults = lock(&self.faults);
            let first = faults.iter().position(|fault| fault.on.fits(&asked.method, &asked.path, &text));
            first.and_then(|at| faults.remove(at)).map(|fault| fault.kind)
        };
        let number = {
            let mut calls = lock(&self.calls);
            calls.last += 1;
            let number = calls.last;
            calls.kept.push(Call {
                number,
                method: asked.method.clone(),
                path: asked.path.clone(),
                query: asked.query.clone(),
                user_agent: asked.header("user-agent").unwrap_or_default().to_owned(),
                status: None,
                ended: false,
                acted: false,
                request,
                response: None,
            });
            number
        };
        self.news.send_modify(|news| *news += 1);
        (number, fault)
    }

    pub(crate) fn update_call(&self, number: u64, change: impl FnOnce(&mut Call)) {
        if let Some(call) = lock(&self.calls).kept.iter_mut().find(|call| call.number == number) {
            change(call);
        }
        self.news.send_modify(|news| *news += 1);
    }

    pub(crate) fn carried_out(&self, number: u64, acted: bool, response: Option<&Value>) {
        self.update_call(number, |call| {
            call.acted = acted;
            call.response = response.cloned();
        });
    }

    pub(crate) fn ended(&self, number: u64, status: Option<u16>) {
        self.update_call(number, |call| {
            call.status = status;
            call.ended = true;
        });
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        lock(&self.calls).kept.clone()
    }

    pub(crate) fn forget_calls(&self) {
        lock(&self.calls).kept.clear();
    }

    /// Waits until held requests are released; a stop of the server releases them too.
    pub(crate) async fn until_released(&self, mut releases: watch::Receiver<u64>) {
        self.held.fetch_add(1, Ordering::SeqCst);
        self.news.send_modify(|news| *news += 1);
        tokio::select! {
            changed = releases.changed() => drop(changed),
            () = self.stop.cancelled() => {}
        }
        self.held.fetch_sub(1, Ordering::SeqCst);
        self.news.send_modify(|news| *news += 1);
    }
}
