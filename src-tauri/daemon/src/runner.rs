//! The job runner: it takes what is due, claims each job in the ledger, acts outside, and hands the outcome in. It decides nothing.

mod posts;
pub(crate) mod rounds;
mod timer;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wloop_agents::redact::Redactor;
use wloop_core::github::{ReadFault, RepoName};
use wloop_core::id::TurnId;
use wloop_providers::{Addresses, DetailRef, InventoryQuery, Provider, TeamPolicy};
use wloop_store::StoreError;

use crate::home::Home;
use crate::hub::Hub;
use crate::input::{AgentEvent, Done, Input, Job, Observation, TurnEnd};
use crate::settings::Rules;

pub(crate) use rounds::chain;

/// How long a job rests that came to nothing although it is still due, so that no fault makes a storm.
const REST: Duration = Duration::from_secs(1);

/// Everything that jobs work with.
pub(crate) struct Outside {
    /// The way to the engine.
    pub(crate) hub: Hub,
    /// The provider; `None` without a token.
    pub(crate) provider: Option<Arc<dyn Provider>>,
    /// The rules in force.
    pub(crate) rules: Rules,
    /// The home.
    pub(crate) home: Home,
    /// The daemon's environment as it was started with.
    pub(crate) environment: BTreeMap<String, String>,
    /// The token, for git alone.
    pub(crate) token: Option<secrecy::SecretString>,
    /// Hides every token that the daemon knows.
    pub(crate) redactor: Redactor,
    /// The tokens themselves, for the transcripts' writer.
    pub(crate) secrets: Vec<String>,
    /// The folder that comes first on an agent's `PATH`.
    pub(crate) tools: PathBuf,
    /// Where the provider and its git are.
    pub(crate) addresses: Addresses,
    /// One lock a repository: git takes one writer at a time.
    pub(crate) repositories: Mutex<BTreeMap<RepoName, Arc<tokio::sync::Mutex<()>>>>,
    /// How often in a row the ledger took nothing.
    pub(crate) failures: AtomicU32,
    /// Set once nothing new is to be started.
    pub(crate) draining: CancellationToken,
    /// Set once the daemon ends: who listens is let go.
    pub(crate) stopping: CancellationToken,
    /// The turns that run here, each with its way to be cancelled.
    pub(crate) turns: Mutex<BTreeMap<TurnId, CancellationToken>>,
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outside").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Outside {
    /// The turns that run here, each with its way to be cancelled.
    pub(crate) fn running(&self) -> std::sync::MutexGuard<'_, BTreeMap<TurnId, CancellationToken>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs jobs until `stop`; a job in flight is not started twice.
pub(crate) async fn run(outside: Arc<Outside>, stop: CancellationToken) {
    let mut pending = outside.hub.pending();
    let mut flying: BTreeSet<Job> = BTreeSet::new();
    let (done_tx, mut done) = mpsc::unbounded_channel::<Job>();
    let timer = tokio::spawn(timer::run(outside.hub.clone(), stop.clone()));
    loop {
        let jobs = pending.borrow_and_update().jobs.clone();
        for job in jobs {
            let starts = matches!(job, Job::Release(_) | Job::StartTurn(_) | Job::Sweep | Job::ReadDetail(_));
            if flying.contains(&job) || (starts && outside.draining.is_cancelled()) {
                continue;
            }
            flying.insert(job.clone());
            let (outside, after, hub, done) = (outside.clone(), outside.clone(), outside.hub.clone(), done_tx.clone());
            tokio::spawn(async move {
                let work = job.clone();
                // A job that fails in an unforeseen way is told and is due again; it does not stay in flight for ever.
                if let Err(fault) = tokio::spawn(async move { perform(&outside, &work).await }).await {
                    tracing::error!(%fault, ?job, "a job broke off");
                    broken_off(&after, &job).await;
                    tokio::time::sleep(REST).await;
                }
                // It stays in flight until the due jobs know its outcome, so that none is taken for due that was just done.
                hub.poke().await;
                let _runner_left = done.send(job);
            });
        }
        tokio::select! {
            changed = pending.changed() => {
                if changed.is_err() {
                    break;
                }
            }
            Some(job) = done.recv() => {
                flying.remove(&job);
            }
            () = stop.cancelled() => break,
        }
    }
    timer.abort();
}

/// What a job that broke off had claimed is given back: a call is in doubt, a turn has failed.
async fn broken_off(outside: &Outside, job: &Job) {
    match job {
        Job::Send(post) => {
            record(outside, Done::Lost(*post)).await;
        }
        Job::StartTurn(turn) => {
            outside.running().remove(turn);
            let event = AgentEvent::Ended(TurnEnd::Badly("the run broke off inside wloop; look at the log".to_owned()));
            outside.hub.record(Input::Turn { turn: *turn, event }).await;
        }
        Job::Sweep
        | Job::ReadDetail(_)
        | Job::Release(_)
        | Job::CancelTurn(_)
        | Job::EndGroup(_)
        | Job::Trust(_)
        | Job::LookUp(_) => {}
    }
}

async fn perform(outside: &Outside, job: &Job) {
    // While the ledger takes nothing, nothing is read from outside for it either: the reads would be lost and cost their quota.
    if !outside.hub.healthy() && outside.hub.ask(Input::Tick).await.is_err() {
        let failures = outside.failures.fetch_add(1, Ordering::Relaxed).min(6);
        tokio::time::sleep(REST * 2u32.pow(failures)).await;
        return;
    }
    outside.failures.store(0, Ordering::Relaxed);
    match job {
        Job::Sweep => sweep(outside).await,
        Job::ReadDetail(unit) => {
            let Some(provider) = &outside.provider else { return };
            let result = provider.detail(&DetailRef::ById(unit.key().to_owned())).await;
            if let Err(fault) = &result {
                note_quiet(outside, fault).await;
            }
            let observation = Observation::Detail { unit: unit.clone(), result: Box::new(result) };
            hand_in(outside, Input::Observed(observation)).await;
        }
        Job::Release(item) => rounds::release(outside, *item).await,
        Job::StartTurn(turn) => rounds::start(outside, *turn).await,
        Job::CancelTurn(turn) => rounds::cancel(outside, *turn).await,
        Job::EndGroup(turn) => rounds::end_group(outside, *turn).await,
        Job::Trust(gate) => trust::write(outside, *gate).await,
        Job::Send(post) => posts::send(outside, *post).await,
        Job::LookUp(post) => posts::look_up(outside, *post).await,
    }
}

/// A wait that concerns every request is written down before what it stopped, so that nothing else is tried meanwhile and a new start
/// waits too (GH-SYNC-36, GH-SYNC-37).
async fn note_quiet(outside: &Outside, fault: &ReadFault) {
    if matches!(fault, ReadFault::Wait { .. }) {
        stay_quiet(outside).await;
    }
}

async fn stay_quiet(outside: &Outside) {
    if let Some(until) = outside.provider.as_ref().and_then(|p| p.health().waiting_until) {
        hand_in(outside, Input::Observed(Observation::Quiet { until })).await;
    }
}

/// One sweep. It never runs beside another, since a job in flight is not started twice; one that fell due meanwhile follows at once
/// (GH-SYNC-17).
async fn sweep(outside: &Outside) {
    let began = outside.hub.now();
    read_inventory(outside).await;
    if outside.hub.now().duration_since(began) >= outside.rules.config.sweep.fast {
        hand_in(outside, Input::Observed(Observation::SweepSoon)).await;
    }
}

async fn read_inventory(outside: &Outside) {
    let Some(provider) = &outside.provider else { return };
    let known = read(outside, |reads| reads.provider("github")).flatten();
    let mut teams = known.as_ref().map(|row| row.teams.clone()).unwrap_or_default();
    // The viewer's teams are read at the first sweep and with every slow one (GH-SYNC-13).
    let policy = match &outside.rules.config.github.teams {
        wloop_core::rules::config::TeamPolicy::All => TeamPolicy::All,
        wloop_core::rules::config::TeamPolicy::None => TeamPolicy::None,
        wloop_core::rules::config::TeamPolicy::Only(only) => TeamPolicy::Only(only.clone()),
    };
    let slow = known.as_ref().is_none_or(|row| row.next_slow_at <= outside.hub.now());
    if slow && policy != TeamPolicy::None {
        match provider.viewer().await {
            Ok(viewer) => {
                teams = viewer.teams;
                hand_in(outside, Input::Observed(Observation::Viewer { account: viewer.account, teams: teams.clone() })).await;
            }
            // A spent quota of what the account is read with stops no sweep (GH-SYNC-36 c).
            Err(ReadFault::Wait { .. }) if provider.health().waiting_until.is_none() => {}
            Err(fault) => {
                note_quiet(outside, &fault).await;
                hand_in(outside, Input::Observed(Observation::Inventory(Err(fault)))).await;
                return;
            }
        }
    }
    // With a slow sweep, what no search returns is asked for by its id (GH-SYNC-13).
    let watched = if slow { read(outside, |reads| reads.watched_pulls()).unwrap_or_default() } else { Vec::new() };
    let watched = watched.into_iter().map(|(_, summary)| summary.id).collect();
    let query = InventoryQuery { teams: policy, include_viewer_teams: teams, watched };
    let result = provider.inventory(&query).await;
    if let Err(fault) = &result {
        note_quiet(outside, fault).await;
    }
    hand_in(outside, Input::Observed(Observation::Inventory(result))).await;
}

/// Hands in what a later read would show again; a ledger that does not take it only costs that read.
async fn hand_in(outside: &Outside, input: Input) {
    if let Err(fault) = outside.hub.ask(input).await {
        tracing::error!(%fault, "what was read could not be written");
        tokio::time::sleep(REST).await;
    }
}

/// A read of the ledger for a job; one that fails is told and gives nothing.
fn read<T>(outside: &Outside, work: impl FnOnce(&wloop_store::Reads<'_>) -> Result<T, StoreError>) -> Option<T> {
    match outside.hub.read(work) {
        Ok(found) => Some(found),
        Err(fault) => {
            tracing::error!(%fault, "the ledger could not be read");
            None
        }
    }
}

/// Records an outcome that must not be lost; `false` when the ledger will never take it as it is.
async fn record(outside: &Outside, done: Done) -> bool {
    outside.hub.record(Input::Done(done)).await
}
