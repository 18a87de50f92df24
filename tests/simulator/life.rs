//! One life: the real engine over a real ledger, the model of GitHub, and everything that is under way between them. Claims, acts and
//! outcomes go as the runner makes them go; only their order, their faults and the clock are the script's.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use wloop_core::github::busy::Workplace;
use wloop_core::github::{PostOrder, SendOutcome};
use wloop_core::id::{ItemId, PostId, SessionId, TurnId};
use wloop_core::rules::policy::ApprovalOverlay;
use wloop_core::stops::BlockKind;
use wloop_daemon::edge::Ids;
use wloop_daemon::engine::{Engine, Reply};
use wloop_daemon::input::{AgentEvent, Caller, Done, Input, Job, Observation, Prepared, Request, Starting, TurnEnd};
use wloop_daemon::refusal::{Answer, EngineError};
use wloop_daemon::settings::Rules;
use wloop_store::rows::{ProcessRow, TrustRow};
use wloop_store::{Reads, Store, StoreError};

use crate::book::{Book, Hand};
use crate::outside::{Github, Weather};
use crate::rules::{blocked, drafts_by_rule, start};
use crate::script::{Dice, Kind, Step};
use crate::witness::Witness;

/// A rule that did not hold, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) String);

impl Broken {
    /// Which rule it was, told apart by its first words.
    pub(crate) fn kind(&self) -> &str {
        self.0.get(..18).unwrap_or(&self.0)
    }
}

pub(crate) type Held<T = ()> = Result<T, Broken>;

/// Ends a check with words where a condition does not hold.
macro_rules! hold {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::life::Broken(format!($($words)+)));
        }
    };
}
pub(crate) use hold;

/// A read of the ledger that must work.
pub(crate) fn read<T>(found: Result<T, StoreError>) -> Held<T> {
    found.map_err(|fault| Broken(format!("the ledger cannot be read: {fault} ({fault:?})")))
}

/// As many agents run at once.
pub(crate) const PLACES: u32 = 2;
/// Steps from one look at the whole ledger to the next; what may still move is looked at after each.
const WHOLE: usize = 24;
/// Inputs that matter in one life: all but sweeps, reads and ticks that the ledger recorded nothing of, and those of strangers.
pub(crate) const INPUTS: usize = 1_000;

/// What is under way outside of the engine, in the daemon's process.
#[derive(Debug, Clone)]
pub(crate) enum Flying {
    /// A workspace is being prepared at that head.
    Release(ItemId, String),
    /// A turn's process, and how far it is: claimed, there, given its prompt.
    Turn(TurnId, SessionId, u8),
    /// A call: what it came to, once it was made.
    Call(PostId, Box<PostOrder>, Option<SendOutcome>),
    /// A look-up.
    LookUp(PostId, Box<PostOrder>),
    /// What a full disk did not take and is told again.
    Telling(Box<Input>),
}

/// One home from its first day to its last.
pub(crate) struct Life {
    pub(crate) rules: Rules,
    pub(crate) wall: Timestamp,
    pub(crate) github: Github,
    pub(crate) flying: Vec<Flying>,
    pub(crate) letters: Vec<Request>,
    pub(crate) book: Book,
    pub(crate) inputs: usize,
    pub(crate) disk_full: bool,
    pub(crate) log: Option<Vec<String>>,
    /// The time, and how much was under way, when the ledger was last looked at.
    pub(crate) looked: Option<(Timestamp, usize)>,
    witness: Option<Witness>,
    /// What the configuration says of approvals after the next start, in a life with a rule for drafts.
    other_rule: Option<ApprovalOverlay>,
    engine: Option<Engine>,
    seed: u64,
    path: PathBuf,
    _folder: TempDir,
}

impl Life {
    /// A new home, its ledger in memory where the system has a folder there.
    pub(crate) fn new(seed: u64, rules: &Rules, told: bool) -> Held<Self> {
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder.map_err(|fault| Broken(format!("no folder for a life: {fault}")))?;
        let mut rules = rules.clone();
        // In some lives the daily caps are small, so that much is held by them.
        match seed % 5 {
            1 => rules.config.github.rounds.per_day = 3,
            2 => rules.config.github.rounds.per_pull_request = 1,
            _ => {}
        }
        rules.config.workflows.extend(drafts_by_rule(seed)?);
        let mut life = Self {
            rules,
            wall: start(),
            github: Github::new(start()),
            flying: Vec::new(),
            letters: Vec::new(),
            book: Book::default(),
            inputs: 0,
            disk_full: false,
            log: told.then(Vec::new),
            looked: None,
            witness: None,
            other_rule: None,
            engine: None,
            seed: seed.wrapping_mul(100_003),
            path: folder.path().join("state.db"),
            _folder: folder,
        };
        life.open()?;
        life.hand_in(Input::Observed(Observation::Viewer { account: crate::outside::viewer(), teams: Vec::new() }))?.ok();
        Ok(life)
    }

    /// Drops the engine without a word, as a power cut does, and opens the next one on the same ledger.
    pub(crate) fn open(&mut self) -> Held {
        self.engine = None;
        self.disk_full = false;
        self.seed += 1;
        // A rule for drafts is taken away and comes back between two starts, also under drafts that count down.
        if let Some(review) = self.rules.config.workflows.get_mut("review") {
            std::mem::swap(&mut review.approval, &mut self.other_rule);
        }
        let refused = |fault: &dyn std::fmt::Debug| Broken(format!("the ledger does not open again: {fault:?}"));
        let first = !self.path.exists();
        let mut store = Store::open(&self.path, self.wall).map_err(|fault| refused(&fault))?;
        if first && !self.seed.is_multiple_of(3) {
            // A home that has been in use; in the others the agent's first run in the repository is asked about.
            let (agent, repo) = (self.rules.agent_for(None), "acme/api".to_owned());
            let trust = TrustRow { agent, repo, at: self.wall, gate: None, folder: "/trees/acme/api".to_owned() };
            read(store.write(|tx| tx.put_trust(&trust)))?;
        }
        let ids = Box::new(Ids::seeded(self.seed));
        let engine = Engine::open(store, self.rules.clone(), ids, self.wall).map_err(|fault| refused(&fault))?;
        self.engine = Some(engine);
        if self.witness.is_none() {
            self.witness = Some(Witness::of(&self.path)?);
        }
        self.look(Hand::Other)
    }

    pub(crate) fn witness(&mut self) -> Held<&mut Witness> {
        self.witness.as_mut().ok_or_else(|| Broken("no witness".to_owned()))
    }

    pub(crate) fn engine(&self) -> Held<&Engine> {
        self.engine.as_ref().ok_or_else(|| Broken("no engine".to_owned()))
    }

    fn engine_mut(&mut self) -> Held<&mut Engine> {
        self.engine.as_mut().ok_or_else(|| Broken("no engine".to_owned()))
    }

    pub(crate) fn reads(&self) -> Held<Reads<'_>> {
        Ok(self.engine()?.read())
    }

    pub(crate) fn jobs(&self) -> Held<Vec<Job>> {
        self.engine()?.jobs(self.wall).map_err(|fault| Broken(format!("no jobs: {fault:?}")))
    }

    pub(crate) fn wake(&self) -> Held<Option<Timestamp>> {
        let wake = self.engine()?.next_wake(self.wall).map_err(|fault| Broken(format!("no wake: {fault:?}")))?;
        Ok(wake.map(|wake| wake.at))
    }

    pub(crate) fn note(&mut self, words: impl FnOnce() -> String) {
        if let Some(log) = &mut self.log {
            log.push(words());
        }
    }

    /// Lives the script and comes to rest; the answer is a hash of the whole ledger.
    pub(crate) fn live(&mut self, script: &[Step]) -> Held<u64> {
        for (n, step) in script.iter().enumerate() {
            if self.inputs >= INPUTS {
                break;
            }
            self.note(|| format!("-- {n}: {step}"));
            self.step(*step).map_err(|broken| Broken(format!("{}\n  at step {n} of the script", broken.0)))?;
            if n % WHOLE == 0 {
                self.check_all()?;
            } else {
                self.check_step()?;
            }
        }
        self.note(|| "-- the end: faults cease".to_owned());
        self.check_all()?;
        self.come_to_rest()?;
        self.hash()
    }

    fn step(&mut self, step: Step) -> Held {
        let dice = &mut Dice::new(step.dice);
        match step.kind {
            Kind::Time => self.pass(1 + i64::try_from(dice.roll(75)).unwrap_or(0), dice),
            Kind::Sleep => self.pass(600 + i64::try_from(dice.roll(32_000)).unwrap_or(0), dice),
            Kind::Jump => self.jump(dice),
            Kind::Outside => {
                let what = self.github.act(dice);
                self.note(|| what);
                Ok(())
            }
            Kind::Weather => {
                self.weather(dice);
                Ok(())
            }
            Kind::Begin => self.begin_one(dice),
            Kind::Finish => self.finish_one(dice),
            Kind::Settle => self.settle(dice, 6),
            Kind::Person => self.person(dice),
            Kind::Letter => self.letter(dice),
            Kind::Agent => self.agent(dice),
            Kind::Stranger => self.stranger(dice),
            Kind::Crash => self.crash(dice),
            Kind::Restart => {
                let wall = self.wall;
                let stopped = self.engine_mut()?.stopped(wall);
                hold!(stopped.is_ok() || self.disk_full, "an orderly stop failed: {stopped:?}");
                // The end of the daemon may be recorded although the disk is as good as full.
                self.look(Hand::Other)?;
                self.flying.retain(|f| matches!(f, Flying::Call(..)));
                // A drain waits for calls, and for nothing else.
                for at in (0..self.flying.len()).rev() {
                    for _ in 0..2 {
                        if at < self.flying.len() {
                            self.finish(at, dice)?;
                        }
                    }
                }
                self.flying.clear();
                self.open()
            }
            Kind::Disk => self.disk(dice),
        }
    }

    /// Hands one input in, and looks at what the ledger recorded of it. Only a refusal, and a full disk while it is full, may come back.
    pub(crate) fn hand_in(&mut self, input: Input) -> Held<Answer<Reply>> {
        let hand = match &input {
            Input::Request { caller: Caller::Person, .. } => Hand::Person,
            Input::Request { caller: Caller::Session(session), .. } if self.book.hooked.contains(session) => {
                Hand::Driven(*session)
            }
            Input::Tick => Hand::Tick,
            Input::Request { .. } | Input::Observed(_) | Input::Turn { .. } | Input::Starting(_) | Input::Done(_) => Hand::Other,
        };
        let matters = match &input {
            Input::Request { caller, .. } => !matches!(caller, Caller::Unknown(_)),
            Input::Turn { .. } | Input::Starting(_) | Input::Done(_) => true,
            Input::Observed(_) | Input::Tick => false,
        };
        let wall = self.wall;
        let told = self.log.is_some().then(|| format!("{input:?}").chars().take(260).collect::<String>());
        let answer = self.engine_mut()?.handle(input, wall);
        if let Some(told) = told {
            let came = match &answer {
                Ok(reply) => format!("{reply:?}").chars().take(90).collect(),
                Err(fault) => fault.to_string(),
            };
            self.note(|| format!("   {wall} {told} => {came}"));
        }
        let before = self.book.last;
        match &answer {
            Err(EngineError::Store(fault)) => {
                let full = matches!(fault, StoreError::Full { .. }) && self.disk_full;
                hold!(full, "the ledger did not take an input: {fault:?}");
                let after = read(self.reads()?.last_event_id())?;
                hold!(after == before, "a full disk kept half of an input");
            }
            Ok(_) | Err(EngineError::Refused(_)) => self.look(hand)?,
        }
        self.inputs += usize::from(self.book.last != before || matters);
        Ok(answer)
    }

    fn look(&mut self, hand: Hand) -> Held {
        let Some(engine) = &self.engine else { return Ok(()) };
        self.book.look(&engine.read(), hand)
    }

    /// Hands in what must not be lost: a ledger that is full is told again later.
    pub(crate) fn tell(&mut self, input: Input) -> Held<Answer<Reply>> {
        let answer = self.hand_in(input.clone())?;
        if matches!(answer, Err(EngineError::Store(_))) {
            self.flying.push(Flying::Telling(Box::new(input)));
        }
        Ok(answer)
    }

    pub(crate) fn pass(&mut self, seconds: i64, dice: &mut Dice) -> Held {
        let by = SignedDuration::from_secs(seconds);
        self.wall += by;
        self.github.clock += by;
        // The timer may be late.
        if !dice.chance(6) {
            self.hand_in(Input::Tick)?.ok();
        }
        Ok(())
    }

    fn jump(&mut self, dice: &mut Dice) -> Held {
        let length = [3, 30, 600, 4_000, 12_000].get(dice.roll(5)).copied().unwrap_or(3);
        let by = SignedDuration::from_secs(if dice.chance(2) { length } else { -length });
        self.wall += by;
        self.note(|| format!("the wall clock jumps by {by:#}"));
        self.hand_in(Input::Tick)?.ok();
        Ok(())
    }

    fn weather(&mut self, dice: &mut Dice) {
        let until = self.github.clock + SignedDuration::from_secs(30 + i64::try_from(dice.roll(600)).unwrap_or(0));
        self.github.weather = match dice.roll(9) {
            0..=2 => Weather::Fair,
            3..=5 => Weather::Patchy(2 + dice.roll(8)),
            6 => Weather::Limited(until),
            7 => Weather::Down,
            _ => Weather::SignedOut,
        };
        let words = format!("github: {:?}", self.github.weather);
        self.note(|| words);
    }

    fn disk(&mut self, dice: &mut Dice) -> Held {
        let full = !self.disk_full && dice.chance(2);
        self.fill_disk(full)
    }

    /// Takes the ledger all room to grow, or gives it back.
    pub(crate) fn fill_disk(&mut self, full: bool) -> Held {
        let held = self.engine_mut()?.store_mut().hold_size(full);
        read(held)?;
        self.disk_full = full;
        self.note(|| format!("the disk is full: {full}"));
        Ok(())
    }

    /// The daemon is killed: what was under way is forgotten. A call that is on the wire may still act.
    fn crash(&mut self, dice: &mut Dice) -> Held {
        let wall = self.wall;
        for flying in std::mem::take(&mut self.flying) {
            if let Flying::Call(post, order, None) = flying
                && dice.chance(3)
            {
                let before = self.github.copies(post);
                self.github.publish(&order, dice, wall);
                hold!(self.github.copies(post) <= before.max(1), "posted twice: {post}");
            }
        }
        self.note(|| "killed".to_owned());
        if dice.chance(4) {
            let away = SignedDuration::from_secs(i64::try_from(dice.roll(9_000)).unwrap_or(0));
            self.wall += away;
            self.github.clock += away;
        }
        self.open()?;
        // And sometimes at once again, before it did anything.
        if dice.chance(5) { self.open() } else { Ok(()) }
    }

    fn is_flying(&self, job: &Job) -> bool {
        self.flying.iter().any(|flying| match (flying, job) {
            (Flying::Release(a, _), Job::Release(b)) => a == b,
            (Flying::Turn(a, ..), Job::StartTurn(b)) => a == b,
            (Flying::Call(a, ..), Job::Send(b)) | (Flying::LookUp(a, _), Job::LookUp(b)) => a == b,
            _ => false,
        })
    }

    fn begin_one(&mut self, dice: &mut Dice) -> Held {
        let mut jobs: Vec<Job> = self.jobs()?;
        jobs.retain(|job| !self.is_flying(job));
        let reads = |job: &Job| matches!(job, Job::Sweep | Job::ReadDetail(_));
        if !dice.chance(3) && !jobs.iter().all(reads) {
            jobs.retain(|job| !reads(job));
        }
        match dice.pick(&jobs) {
            Some(job) => self.begin(job, dice),
            None if !self.flying.is_empty() && !dice.chance(4) => {
                let at = dice.roll(self.flying.len());
                self.finish(at, dice)
            }
            None => self.wait(dice),
        }
    }

    /// Nothing is due: time passes to the next wake, or a little.
    fn wait(&mut self, dice: &mut Dice) -> Held {
        let until = self.wake()?.map_or(1, |at| at.duration_since(self.wall).as_secs() + 1);
        self.pass(until.clamp(1, 90), dice)
    }

    /// Claims a job and begins it; a read is done at once.
    pub(crate) fn begin(&mut self, job: Job, dice: &mut Dice) -> Held {
        let wall = self.wall;
        match job {
            Job::Sweep => {
                let result = self.github.inventory(dice, wall);
                self.hand_in(Input::Observed(Observation::Inventory(result)))?.ok();
            }
            Job::ReadDetail(unit) => {
                let result = Box::new(self.github.detail(&unit, dice, wall));
                self.hand_in(Input::Observed(Observation::Detail { unit, result }))?.ok();
            }
            Job::Release(item) => {
                let Some(row) = read(self.reads()?.item(item))? else { return Ok(()) };
                let detail = Box::new(self.github.detail(&row.unit, dice, wall));
                if let Ok(Reply::Release(order)) = self.hand_in(Input::Starting(Starting::Release { item, read: detail }))? {
                    self.book.may_run(row.gate)?;
                    self.flying.push(Flying::Release(item, order.head));
                }
            }
            Job::StartTurn(turn) => {
                for again in [false, true] {
                    if again && !dice.chance(4) {
                        break;
                    }
                    if let Ok(Reply::Start(order)) = self.hand_in(Input::Starting(Starting::Turn(turn)))? {
                        hold!(!again, "a turn was claimed twice: {turn}");
                        self.book.starts(turn)?;
                        self.flying.push(Flying::Turn(turn, order.session, 0));
                    }
                }
            }
            Job::CancelTurn(turn) => {
                self.flying.retain(|f| !matches!(f, Flying::Turn(id, ..) if *id == turn));
                let by = read(self.reads()?.turn(turn))?.and_then(|t| t.cancel_by).unwrap_or_default();
                self.tell(Input::Turn { turn, event: AgentEvent::Ended(TurnEnd::Cancelled(by)) })?.ok();
            }
            Job::Trust(gate) => {
                let written = if dice.chance(6) { Err("the agent's home is read-only".to_owned()) } else { Ok(()) };
                self.tell(Input::Done(Done::Trusted { gate, written }))?.ok();
            }
            Job::EndGroup(turn) => {
                self.tell(Input::Done(Done::GroupEnded(turn)))?.ok();
            }
            Job::Send(post) => {
                let Some(row) = read(self.reads()?.post(post))? else { return Ok(()) };
                let seen = self.github.seen(&row.unit, dice, wall);
                if let Ok(Reply::Send(order)) = self.hand_in(Input::Starting(Starting::Post { post, seen }))? {
                    let engine = self.engine()?;
                    self.book.may_go(&engine.read(), post, &order, engine.generation())?;
                    self.flying.push(Flying::Call(post, order, None));
                }
            }
            Job::LookUp(post) => {
                if let Ok(Reply::LookUp(order)) = self.hand_in(Input::Starting(Starting::LookUp(post)))? {
                    self.flying.push(Flying::LookUp(post, order));
                }
            }
        }
        Ok(())
    }

    fn finish_one(&mut self, dice: &mut Dice) -> Held {
        if self.flying.is_empty() {
            let nothing = self.jobs()?.is_empty();
            return if nothing { self.wait(dice) } else { self.begin_one(dice) };
        }
        let at = dice.roll(self.flying.len());
        self.finish(at, dice)
    }

    /// One of the things under way comes a step further, or to its end; what it tells is sometimes told twice.
    pub(crate) fn finish(&mut self, at: usize, dice: &mut Dice) -> Held {
        let wall = self.wall;
        let input = match self.flying.remove(at) {
            Flying::Release(item, head) => {
                let ready = Prepared {
                    folder: "/trees/x".to_owned(),
                    head,
                    merge_base: format!("{:040x}", 0xbb),
                    workplace: Workplace::default(),
                };
                let prepared = if dice.chance(8) { Err("the workspace is busy".to_owned()) } else { Ok(ready) };
                Input::Done(Done::Release { item, prepared })
            }
            Flying::Turn(turn, session, stage) => return self.finish_turn(turn, session, stage, dice),
            Flying::Call(post, order, None) => {
                let before = self.github.copies(post);
                let outcome = self.github.publish(&order, dice, wall);
                hold!(self.github.copies(post) <= before.max(1), "posted twice: {post}");
                self.note(|| format!("   github is called for {post}: {outcome:?}"));
                self.flying.push(Flying::Call(post, order, Some(outcome)));
                return Ok(());
            }
            Flying::Call(post, _, Some(_)) if dice.chance(30) => Input::Done(Done::Lost(post)),
            Flying::Call(post, _, Some(outcome)) => Input::Done(Done::Sent { post, outcome }),
            Flying::LookUp(post, order) => {
                let found = self.github.look_up(&order, dice, wall);
                Input::Done(Done::LookedUp { post, found })
            }
            Flying::Telling(input) => *input,
        };
        self.tell(input.clone())?.ok();
        if dice.chance(8) && !self.disk_full {
            self.hand_in(input)?.ok();
        }
        Ok(())
    }

    fn finish_turn(&mut self, turn: TurnId, session: SessionId, stage: u8, dice: &mut Dice) -> Held {
        let event = match (stage, dice.roll(16)) {
            (0, 0) => AgentEvent::Ended(TurnEnd::NotStarted("no such program".to_owned())),
            (0, _) => AgentEvent::Spawned(ProcessRow { pid: 9, start: "1".to_owned(), pgid: 9 }),
            (1, 0) => blocked(BlockKind::Folder),
            (1, 1) => blocked(BlockKind::SignIn),
            (1, _) => AgentEvent::PromptGiven,
            (_, 0..=2) => AgentEvent::Ended(TurnEnd::Well),
            (_, 3) => AgentEvent::Ended(TurnEnd::Badly("the agent ended with code 3".to_owned())),
            (_, 4) => AgentEvent::Conversation("c-1".to_owned()),
            (_, 5..=9) => AgentEvent::TookUp,
            // It goes on working, or hangs.
            (_, _) => {
                self.flying.push(Flying::Turn(turn, session, 2));
                return Ok(());
            }
        };
        let ended = matches!(event, AgentEvent::Ended(_));
        let spawned = matches!(event, AgentEvent::Spawned(_));
        let answer = self.tell(Input::Turn { turn, event })?;
        match answer {
            Err(_) if spawned => {
                // Nothing was given to it: its group is ended.
                let end = TurnEnd::NotStarted("the process could not be written down".to_owned());
                self.flying.retain(|f| !matches!(f, Flying::Telling(_)));
                self.tell(Input::Turn { turn, event: AgentEvent::Ended(end) })?.ok();
            }
            Ok(_) | Err(_) if !ended => self.flying.push(Flying::Turn(turn, session, (stage + 1).min(2))),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }

    /// The daemon is left alone for a moment: it does what is due, and what it waits for comes. Agents go on.
    pub(crate) fn settle(&mut self, dice: &mut Dice, rounds: usize) -> Held {
        for _ in 0..rounds {
            let mut moved = false;
            for job in self.jobs()? {
                if !self.is_flying(&job) {
                    moved = true;
                    self.begin(job, dice)?;
                }
            }
            let works = |f: &Flying| matches!(f, Flying::Turn(_, _, 2));
            let mut left = self.flying.len();
            let mut at = 0;
            while left > 0 && at < self.flying.len() {
                left -= 1;
                if self.flying.get(at).is_some_and(works) {
                    at += 1;
                } else {
                    moved = true;
                    self.finish(at, dice)?;
                }
            }
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// A hash of everything that the ledger holds.
    fn hash(&self) -> Held<u64> {
        use std::hash::{Hash as _, Hasher as _};
        let reads = self.reads()?;
        let mut hasher = std::hash::DefaultHasher::new();
        for event in read(reads.events_after(0, 1_000_000, None))? {
            format!("{event:?}").hash(&mut hasher);
        }
        format!("{:?}", read(reads.gates(&wloop_store::GateFilter::default()))?).hash(&mut hasher);
        format!("{:?}", read(reads.posts(&wloop_store::PostFilter::default()))?).hash(&mut hasher);
        format!("{:?}", read(reads.turns(&wloop_store::TurnFilter::default()))?).hash(&mut hasher);
        Ok(hasher.finish())
    }
}
