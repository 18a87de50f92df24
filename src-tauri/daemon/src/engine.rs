//! The engine: the only place that writes. An input is loaded against the ledger, decided by the pure functions of `core`, and
//! committed with its event and everything that follows from it in one transaction. What is to be done outside is not kept in
//! memory: [`Engine::jobs`] reads it from the rows.

mod blocks;
pub(crate) mod book;
mod caps;
mod draft_repairs;
mod draft_rules;
mod draft_tools;
mod drafts;
mod gates;
mod holds;
mod jobs;
mod observe;
pub(crate) mod offers;
pub(crate) mod plan;
mod posts;
mod release;
mod repairs;
mod requests;
mod sends;
mod sessions;
#[cfg(test)]
mod tests;
mod tools;
mod turns;

use jiff::{SignedDuration, Timestamp};
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_core::github::PostOrder;
use wloop_core::id::{GateId, IdSource, PostId, SessionId, TurnId};
use wloop_store::rows::NewEvent;
use wloop_store::{Reads, Store, Writes};

use crate::input::{AgentEvent, Done, Input, Job, Observation, Starting, UnitName, Wake};
use crate::refusal::{Answer, EngineError};
use crate::settings::Rules;

pub(crate) use jobs::waiting;
pub use release::ReleaseOrder;
pub use tools::settled_answer;
pub use turns::StartOrder;

/// A clock that went back by less than this is only jitter.
const CLOCK_JITTER: SignedDuration = SignedDuration::from_secs(2);

/// Whether the clock was set back since the ledger last took something in.
fn clock_went_back(last: Timestamp, now: Timestamp) -> bool {
    last.duration_since(now) > CLOCK_JITTER
}

/// What an input came to.
#[derive(Debug)]
pub enum Reply {
    /// Nothing more to say.
    Nothing,
    /// A claim came too late: the row is not what the job thought, so nothing is to be done.
    NotNow,
    /// A gate, as it is now.
    Gate(GateId),
    /// Gates of a unit, in plan order, and whether guidance was kept for the next round.
    Plan {
        /// The gates.
        gates: Vec<GateId>,
        /// Whether guidance was kept.
        guidance_kept: bool,
    },
    /// A turn, as it is now, or the gate under which it is about to start.
    Round {
        /// The gate that was written for it.
        gate: GateId,
    },
    /// Why no round of a unit runs: workflow and reason, for each workflow that has none planned (GH-FACT-29).
    Because(Vec<(String, String)>),
    /// A turn.
    Turn(TurnId),
    /// A draft.
    Draft(PostId),
    /// A post.
    Post(PostId),
    /// A session.
    Session(SessionId),
    /// A tool's answer.
    Tool(serde_json::Value),
    /// A tool's answer comes when this post is settled.
    ToolWaits {
        /// The post.
        post: PostId,
        /// Whether an earlier call asked for it already (MCP-06).
        repeated: bool,
    },
    /// The unit is not known yet: read it, hand it in, and ask again.
    ReadFirst(UnitName),
    /// Prepare this round.
    Release(Box<ReleaseOrder>),
    /// Start this turn's process.
    Start(Box<StartOrder>),
    /// Make this call.
    Send(Box<PostOrder>),
    /// Make this look-up.
    LookUp(Box<PostOrder>),
}

/// The engine of one home.
pub struct Engine {
    store: Store,
    rules: Rules,
    ids: Box<dyn IdSource + Send>,
    generation: i64,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("generation", &self.generation).finish_non_exhaustive()
    }
}

/// What one transaction works with.
pub(crate) struct Cx<'a> {
    pub(crate) tx: &'a Writes<'a>,
    pub(crate) rules: &'a Rules,
    pub(crate) ids: &'a mut (dyn IdSource + Send),
    pub(crate) now: Timestamp,
    pub(crate) generation: i64,
    /// Who asks, while a request is carried out: the person, through a session where one is driven (RES-03).
    pub(crate) acting: Actor,
    /// The workflow that is being carried out: what is recorded meanwhile is its doing (EVT-07).
    pub(crate) causing: Option<String>,
}

impl Cx<'_> {
    /// Records an event in the transaction of what it tells (EVT-01).
    pub(crate) fn event(&self, event: NewEvent) -> Answer<()> {
        let chain = self.chain_of(&event)?;
        self.tx.insert_event(&NewEvent { chain, ..event }, self.now)?;
        Ok(())
    }

    /// The workflows that led to an event: the one that is being carried out, or the one whose round it is about. What the person
    /// does, no workflow does (EVT-07).
    fn chain_of(&self, event: &NewEvent) -> Answer<Vec<String>> {
        if let Actor::Workflow(name) = &event.actor {
            return Ok(vec![name.clone()]);
        }
        if let Actor::Person { .. } = &event.actor {
            return Ok(Vec::new());
        }
        if let Some(name) = &self.causing {
            return Ok(vec![name.clone()]);
        }
        if let Some(turn) = event.turn {
            let turn = self.tx.turn(turn)?.filter(|turn| !turn.by_hand);
            return Ok(turn.map(|turn| turn.workflow).into_iter().collect());
        }
        let Some(gate) = event.gate else { return Ok(Vec::new()) };
        let item = self.tx.item_by_gate(gate)?.filter(|item| !item.by_hand);
        Ok(item.map(|item| item.workflow).into_iter().collect())
    }
}

/// An event of the daemon itself, about nothing yet.
pub(crate) fn event(kind: EventKind, key: impl Into<String>) -> NewEvent {
    NewEvent {
        kind,
        key: key.into(),
        data: serde_json::Value::Null,
        unit: None,
        task: None,
        gate: None,
        turn: None,
        post: None,
        actor: Actor::Daemon,
        chain: Vec::new(),
    }
}

impl Engine {
    /// An engine over an opened store. What an earlier daemon left in flight is settled here, in one transaction: a turn that was
    /// being started or run has failed, a call that nobody waits for any more is to be looked up, a round that was marked and left no
    /// other record is not run again (K6, K7, K17, K19, RUN-35).
    ///
    /// # Errors
    /// [`EngineError::Store`] when the ledger fails.
    pub fn open(store: Store, rules: Rules, ids: Box<dyn IdSource + Send>, now: Timestamp) -> Answer<Self> {
        let generation = store.generation();
        let mut engine = Self { store, rules, ids, generation };
        engine.transaction(now, |cx| {
            cx.forget_sign_out()?;
            cx.settle_lost_turns()?;
            cx.settle_started()?;
            cx.settle_blocks()?;
            cx.end_left_tasks()?;
            cx.wake_released()?;
            cx.settle_lost_calls()?;
            cx.repair_drafts()?;
            cx.event(NewEvent { data: serde_json::json!({ "generation": cx.generation }), ..event(EventKind::DaemonStarted, "") })
        })?;
        Ok(engine)
    }

    /// Takes one input. Either everything that follows from it is committed, or nothing is.
    ///
    /// # Errors
    /// [`EngineError::Refused`] where it was refused, [`EngineError::Store`] when the ledger failed; then nothing was written, save
    /// guidance that came too late (F10).
    pub fn handle(&mut self, input: Input, now: Timestamp) -> Answer<Reply> {
        // A refusal may come with something to keep, so it travels inside the transaction's success.
        self.transaction(now, |cx| {
            let reply = match input {
                Input::Request { caller, request } => return cx.request(&caller, request),
                Input::Observed(observation) => cx.observed(observation),
                Input::Turn { turn, event } => cx.turn_event(turn, event),
                Input::Starting(starting) => cx.starting(starting),
                Input::Done(done) => cx.done(done),
                Input::Tick => cx.tick(),
            };
            reply.map(Ok)
        })?
    }

    fn transaction<T>(&mut self, now: Timestamp, work: impl FnOnce(&mut Cx<'_>) -> Answer<T>) -> Answer<T> {
        let Self { store, rules, ids, generation } = self;
        store.write(|tx| {
            let mut cx = Cx { tx, rules, ids: ids.as_mut(), now, generation: *generation, acting: Actor::PERSON, causing: None };
            cx.notice_clock()?;
            work(&mut cx)
        })
    }

    /// Every job that is due at `now`, from the rows alone.
    ///
    /// # Errors
    /// [`EngineError::Store`] when the ledger cannot be read.
    pub fn jobs(&self, now: Timestamp) -> Answer<Vec<Job>> {
        jobs::due(&self.store.read(), &self.rules, self.generation, now)
    }

    /// The next instant at which something falls due by time alone.
    ///
    /// # Errors
    /// [`EngineError::Store`] when the ledger cannot be read.
    pub fn next_wake(&self, now: Timestamp) -> Answer<Option<Wake>> {
        jobs::next_wake(&self.store.read(), &self.rules, now)
    }

    /// What the ledger holds now.
    #[must_use]
    pub fn read(&self) -> Reads<'_> {
        self.store.read()
    }

    /// The store, for its file's figures and for readers of their own.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store, to be told about committed events.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How often this home's daemon was started.
    #[must_use]
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Records that the daemon goes down in order.
    ///
    /// # Errors
    /// [`EngineError::Store`] when the ledger fails.
    pub fn stopped(&mut self, now: Timestamp) -> Answer<()> {
        self.transaction(now, |cx| {
            cx.unmark_all()?;
            cx.tx.set_stopped(cx.now)?;
            cx.event(event(EventKind::DaemonStopped, ""))
        })
    }
}

impl Cx<'_> {
    /// A clock that was set back takes every time along that something waits for, so that no window gets longer than it was
    /// announced and nothing waits for the length of the jump (WIN-19).
    fn notice_clock(&mut self) -> Answer<()> {
        let last = self.tx.last_now()?;
        if clock_went_back(last, self.now) {
            self.tx.move_times_back(last.duration_since(self.now), self.now)?;
        }
        self.tx.set_last_now(self.now)?;
        Ok(())
    }

    /// Does a part that concerns one unit or one gate. A fault that lies in its rows takes back that part and is told, so that it
    /// stops nothing else; one that concerns the whole ledger, such as a full disk, ends the transaction.
    pub(crate) fn sheltered(&mut self, part: impl FnOnce(&mut Self) -> Answer<()>) -> Answer<Answer<()>> {
        let tx = self.tx;
        match tx.sheltered(|| part(self)) {
            Err(fault) if !tx.is_under_way() => Err(fault),
            Err(EngineError::Store(fault)) if fault.may_pass() => Err(fault.into()),
            done => Ok(done),
        }
    }

    fn tick(&mut self) -> Answer<Reply> {
        self.end_holds()?;
        self.carry_out_drafts()?;
        for gate in self.tx.gates_due(self.now)? {
            if let Err(fault) = self.sheltered(|cx| cx.window_ends(gate))? {
                // It waits for the person instead, and no other window waits for it.
                tracing::error!(%gate, %fault, "a window could not end");
                self.tx.set_gate_deadline(gate, None)?;
            }
        }
        Ok(Reply::Nothing)
    }

    fn observed(&mut self, observation: Observation) -> Answer<Reply> {
        match observation {
            Observation::TryAgain => self.forget_sign_out()?,
            Observation::SweepSoon => self.sweep_soon()?,
            Observation::Quiet { until } => self.keep_quiet(until)?,
            Observation::Viewer { account, teams } => {
                let mut row = self.github()?;
                row.viewer = Some(account);
                row.teams = teams;
                self.tx.put_provider(&row)?;
            }
            Observation::Inventory(result) => self.see_inventory(result)?,
            Observation::Detail { unit, result } => self.see_detail(&unit, *result)?,
            Observation::Asked(detail) => self.see_asked(*detail)?,
        }
        Ok(Reply::Nothing)
    }

    fn starting(&mut self, starting: Starting) -> Answer<Reply> {
        match starting {
            Starting::Release { item, read } => self.start_release(item, *read),
            Starting::Turn(turn) => self.start_turn(turn),
            Starting::Post { post, seen } => self.start_post(post, seen),
            Starting::LookUp(post) => self.start_look_up(post),
        }
    }

    fn done(&mut self, done: Done) -> Answer<Reply> {
        match done {
            Done::Release { item, prepared } => self.end_release(item, prepared)?,
            Done::Sent { post, outcome } => self.end_post(post, outcome)?,
            Done::LookedUp { post, found } => self.end_look_up(post, found)?,
            Done::Trusted { gate, written } => self.trust_written(gate, written)?,
            Done::Lost(post) => self.lose_post(post)?,
            Done::GroupEnded(turn) => self.tx.set_group_ended(turn).map_err(EngineError::from)?,
        }
        Ok(Reply::Nothing)
    }

    fn turn_event(&mut self, turn: TurnId, event: AgentEvent) -> Answer<Reply> {
        match event {
            AgentEvent::Spawned(process) => self.turn_spawned(turn, process)?,
            AgentEvent::PromptGiven => self.turn_given(turn)?,
            AgentEvent::TookUp => self.turn_taken_up(turn)?,
            AgentEvent::Conversation(remote) => self.turn_conversation(turn, &remote)?,
            AgentEvent::Drained => self.tx.set_turn_cancel(turn, "drained: the daemon went down").map_err(EngineError::from)?,
            AgentEvent::Ended(end) => self.turn_ended(turn, end)?,
        }
        Ok(Reply::Nothing)
    }
}
