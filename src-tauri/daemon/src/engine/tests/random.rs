//! Random lives: observations, decisions of two hands, jumps of time, jobs that end late, twice or never, and power cuts, with what
//! must hold after every single input. Only the seed is random; a life can be lived again.

mod checks;

use serde_json::json;
use wloop_core::gate::{Gate, GateStatus};
use wloop_core::github::publish::marker;
use wloop_core::github::{Comment, LookUp, Refusal as No, Shape, Thread};
use wloop_core::id::IdSource as _;
use wloop_core::post::PostState;
use wloop_core::stops::{BlockKind, HoldKind};

use super::*;

const LIVES: u64 = 200;
const INPUTS: usize = 60;
const PLACES: usize = 2;

/// A job that is under way in the engine's process.
#[derive(Debug, Clone)]
enum Flying {
    Release(ItemId, Box<Detail>),
    /// A turn's process, and how far it is: claimed, spawned, given its prompt.
    Turn(TurnId, u8),
    /// A call, and what will come back of it: what was written there is written already.
    Call(PostId, SendOutcome),
    LookUp(PostId),
}

struct Life {
    rig: Rig,
    dice: Ids,
    pulls: Vec<Detail>,
    flying: Vec<Flying>,
    /// What the provider holds of each post, in truth.
    there: BTreeMap<PostId, Vec<RemotePost>>,
    /// Every gate that was seen closed.
    closed: BTreeMap<GateId, Gate>,
    written: u64,
    log: Vec<String>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut rules = rules("", &[]);
        rules.config.agents_max_running = u32::try_from(PLACES).unwrap();
        let comment = Comment {
            id: "C_1".into(),
            database_id: 71,
            author: Some(account("ana")),
            body: "hm".into(),
            created_at: start(),
            url: String::new(),
            review: String::new(),
        };
        let thread =
            Thread { id: "T_1".into(), resolved: false, outdated: false, path: "a".into(), line: None, comments: vec![comment] };
        let pulls: Vec<Detail> = (1..=3).map(|n| Detail { threads: vec![thread.clone()], ..pull(n) }).collect();
        // Some lives meet their caps, and those that begin with no agent at work its first run in the repository.
        if seed % 5 < 2 {
            rules.config.github.rounds.per_pull_request = 2;
            rules.config.github.rounds.per_day = 3;
        }
        let mut rig = Rig::made(seed + 10, rules, !seed.is_multiple_of(3));
        rig.sweep(&pulls.iter().collect::<Vec<_>>());
        let mut flying = Vec::new();
        // Most lives begin with an agent at work, so that they come to what an agent does.
        for detail in pulls.iter().take(usize::try_from(seed % 3).unwrap()) {
            let gate = rig.open_gate(detail);
            rig.resolve(gate.gate.id, "run_now", None).unwrap();
            let turn = rig.prepare(rig.item_of(&gate).id, detail);
            rig.give(turn.id);
            flying.push(Flying::Turn(turn.id, 2));
        }
        Self {
            rig,
            dice: Ids::seeded(seed),
            pulls,
            flying,
            there: BTreeMap::new(),
            closed: BTreeMap::new(),
            written: 0,
            log: Vec::new(),
        }
    }

    fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.dice.next_bits() % sides as u128).unwrap()
    }

    fn chance(&mut self, of: usize) -> bool {
        self.roll(of) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() {
            None
        } else {
            let n = self.roll(from.len());
            from.get(n).cloned()
        }
    }

    fn hand_in(&mut self, input: Input) -> Answer<Reply> {
        self.log.push(format!("{} {input:?}", self.rig.now).chars().take(300).collect());
        let answer = self.rig.hand_in(input);
        self.check();
        answer
    }

    fn ask(&mut self, request: Request) -> Answer<Reply> {
        self.hand_in(Input::Request { caller: Caller::Person, request })
    }

    fn seen(&self, detail: &Detail) -> Detail {
        Detail { read_at: self.rig.now, ..detail.clone() }
    }

    fn fault(&mut self) -> ReadFault {
        let until = self.rig.now + SignedDuration::from_secs(90);
        match self.roll(12) {
            0 => ReadFault::SignedOut("401".into()),
            1 | 2 => ReadFault::Wait { until, why: "limit".into() },
            3 | 4 => ReadFault::NotFound("404".into()),
            5 | 6 => ReadFault::Unusable("half".into()),
            _ => ReadFault::Unreachable("no route".into()),
        }
    }

    fn step(&mut self) {
        match self.roll(20) {
            0 | 1 => self.time(),
            2 => self.world(),
            3 => self.observe(),
            4..=8 => self.begin(),
            9..=13 => self.finish(),
            14 | 15 => self.person(),
            16..=18 => self.agent(),
            _ => {
                if self.chance(2) {
                    self.log.push("power cut".into());
                    self.flying.clear();
                    self.rig.reopen();
                    self.check();
                } else {
                    self.stranger();
                }
            }
        }
    }

    fn time(&mut self) {
        let step = match self.roll(8) {
            0 => 7_200,
            1 => -3_600,
            2 | 3 => 61,
            n => i64::try_from(n).unwrap() * 4,
        };
        self.rig.pass(step);
        self.hand_in(Input::Tick).unwrap();
    }

    fn world(&mut self) {
        let n = self.roll(self.pulls.len());
        let act = self.roll(7);
        let now = self.rig.now;
        self.written += 1;
        let id = format!("RR_x{}", self.written);
        let new_head = head(u8::try_from(self.written % 200).unwrap() + 2);
        let detail = &mut self.pulls[n];
        detail.summary.updated_at = now;
        match act {
            0 | 1 => detail.summary.head = new_head,
            2 | 3 => detail.review_requests = vec![request(&id, now)],
            4 => detail.summary.draft = !detail.summary.draft,
            5 => {
                let open = detail.is_open();
                detail.summary.state = if open { PullState::Closed } else { PullState::Open };
            }
            _ => {
                let had = detail.reviews.len();
                detail.reviews.retain(|r| r.state != ReviewState::Pending);
                if had == detail.reviews.len() {
                    detail.reviews.push(review_by(viewer(), &id, ReviewState::Pending, now, &head(1)));
                }
            }
        }
    }

    fn observe(&mut self) {
        let shown: Vec<Detail> = self.pulls.clone();
        let kept: Vec<Detail> = shown.into_iter().filter(|_| !self.chance(8)).collect();
        if self.chance(3) {
            let Some(detail) = self.pick(&kept) else { return };
            let result = if self.chance(5) { Err(self.fault()) } else { Ok(self.seen(&detail)) };
            let observation = Observation::Detail { unit: unit(&detail), result: Box::new(result) };
            self.hand_in(Input::Observed(observation)).unwrap();
            return;
        }
        let inventory = if self.chance(8) {
            Err(self.fault())
        } else {
            let pull_requests = kept.iter().map(|d| d.summary.clone()).collect();
            Ok(Inventory { viewer: viewer(), pull_requests, skew_ms: 0, complete: !self.chance(4) })
        };
        self.hand_in(Input::Observed(Observation::Inventory(inventory))).unwrap();
    }

    fn pull_of(&self, unit: &UnitRef) -> Detail {
        self.pulls.iter().find(|d| d.summary.id == unit.key()).unwrap().clone()
    }

    /// Begins one of the jobs that are due.
    fn begin(&mut self) {
        let mut jobs = self.rig.jobs();
        if !self.chance(4) && jobs.iter().any(|job| !matches!(job, Job::Sweep | Job::ReadDetail(_))) {
            jobs.retain(|job| !matches!(job, Job::Sweep | Job::ReadDetail(_)));
        }
        let Some(job) = self.pick(&jobs) else { return };
        match job {
            Job::Sweep => self.observe(),
            Job::ReadDetail(unit) => {
                let detail = self.seen(&self.pull_of(&unit));
                self.hand_in(Input::Observed(Observation::Detail { unit, result: Box::new(Ok(detail)) })).unwrap();
            }
            Job::Release(item) => {
                if self.flying.iter().any(|f| matches!(f, Flying::Release(id, _) if *id == item)) {
                    return;
                }
                let detail = self.seen(&self.pull_of(&self.rig.item(item).unit));
                let read = if self.chance(6) { Err(self.fault()) } else { Ok(detail.clone()) };
                let reply = self.hand_in(Input::Starting(Starting::Release { item, read: Box::new(read) })).unwrap();
                if let Reply::Release(_) = reply {
                    self.flying.push(Flying::Release(item, Box::new(detail)));
                }
            }
            Job::StartTurn(turn) => {
                // Claimed by two at once, and by one of them alone.
                let replies = [0, 1].map(|_| {
                    if let Reply::Start(_) = self.hand_in(Input::Starting(Starting::Turn(turn))).unwrap() {
                        self.flying.push(Flying::Turn(turn, 0));
                        1
                    } else {
                        0
                    }
                });
                assert!(replies.iter().sum::<i32>() <= 1, "a turn was claimed twice");
            }
            Job::CancelTurn(turn) => {
                self.flying.retain(|f| !matches!(f, Flying::Turn(id, _) if *id == turn));
                let event = AgentEvent::Ended(TurnEnd::Cancelled("cancelled by you".into()));
                self.hand_in(Input::Turn { turn, event }).unwrap();
            }
            Job::EndGroup(turn) => {
                self.hand_in(Input::Done(Done::GroupEnded(turn))).unwrap();
            }
            Job::Trust(gate) => {
                let written = if self.chance(4) { Err("read only".into()) } else { Ok(()) };
                self.hand_in(Input::Done(Done::Trusted { gate, written })).unwrap();
            }
            Job::Send(post) => self.call_out(post),
            Job::LookUp(post) => {
                if self.flying.iter().any(|f| matches!(f, Flying::LookUp(id) if *id == post)) {
                    return;
                }
                if let Reply::LookUp(_) = self.hand_in(Input::Starting(Starting::LookUp(post))).unwrap() {
                    self.flying.push(Flying::LookUp(post));
                }
            }
        }
    }

    fn call_out(&mut self, post: PostId) {
        let row = self.rig.post(post);
        let detail = self.pull_of(&row.unit);
        let seen = if self.chance(8) { Err(self.fault()) } else { Ok(at_head(&detail)) };
        let Reply::Send(order) = self.hand_in(Input::Starting(Starting::Post { post, seen })).unwrap() else { return };
        let why = || "so it is".to_owned();
        let until = self.rig.now + SignedDuration::from_secs(45);
        let outcome = match self.roll(10) {
            0 => SendOutcome::Refused { kind: No::PendingReview, why: why() },
            1 => SendOutcome::Refused { kind: No::Invalid, why: why() },
            2 => SendOutcome::Wait { until, why: why() },
            3 => SendOutcome::NotReached { why: why() },
            4 => SendOutcome::Doubt { why: why() },
            n => {
                self.written += 1;
                let remote = remote(self.written);
                self.there.entry(post).or_default().push(remote.clone());
                let now = self.rig.now;
                let detail = self.pulls.iter_mut().find(|d| unit(d) == row.unit).unwrap();
                match order.shape {
                    Shape::Review { .. } => {
                        let review = review_by(viewer(), &remote.node_id, ReviewState::Commented, now, &order.head);
                        detail.reviews.push(Review { body: order.body.clone(), ..review });
                        detail.review_requests.clear();
                    }
                    Shape::Comment | Shape::Reply { .. } => detail.threads[0].comments.push(Comment {
                        id: remote.node_id.clone(),
                        database_id: remote.database_id,
                        author: Some(viewer()),
                        body: order.body.clone(),
                        created_at: now,
                        url: String::new(),
                        review: String::new(),
                    }),
                }
                if n < 7 { SendOutcome::Doubt { why: why() } } else { SendOutcome::Sent(remote) }
            }
        };
        assert!(order.body.ends_with(&marker(post)), "{}", order.body);
        self.flying.push(Flying::Call(post, outcome));
    }

    /// One of the jobs under way comes a step further, or to its end; what it tells is sometimes told twice.
    fn finish(&mut self) {
        if self.flying.is_empty() {
            return;
        }
        let n = self.roll(self.flying.len());
        let flying = self.flying.remove(n);
        let input = match flying {
            Flying::Release(item, detail) => {
                let prepared = if self.chance(6) {
                    Err("the workspace is busy".into())
                } else {
                    Ok(Prepared {
                        folder: "/trees/x".into(),
                        head: detail.summary.head,
                        merge_base: head(0xbb),
                        workplace: wloop_core::github::busy::Workplace::default(),
                    })
                };
                Input::Done(Done::Release { item, prepared })
            }
            Flying::Turn(turn, stage) => {
                let event = match (stage, self.roll(12)) {
                    (0, 0) => AgentEvent::Ended(TurnEnd::NotStarted("no such program".into())),
                    (0, _) => AgentEvent::Spawned(ProcessRow { pid: 9, start: "1".into(), pgid: 9 }),
                    (1, 0) => blocked(BlockKind::Folder),
                    (2, 2) => blocked(BlockKind::SignIn),
                    (1, _) => AgentEvent::PromptGiven,
                    (_, 0) => AgentEvent::Ended(TurnEnd::Well),
                    (_, 1) => AgentEvent::Ended(TurnEnd::Badly("code 3".into())),
                    (_, _) => AgentEvent::TookUp,
                };
                if !matches!(event, AgentEvent::Ended(_)) {
                    self.flying.push(Flying::Turn(turn, (stage + 1).min(2)));
                }
                Input::Turn { turn, event }
            }
            Flying::Call(post, outcome) => Input::Done(Done::Sent { post, outcome }),
            Flying::LookUp(post) => {
                let until = self.rig.now + SignedDuration::from_secs(20);
                let found = match (self.roll(8), self.there.get(&post).and_then(|all| all.first())) {
                    (0, _) => LookUp::Wait { until, why: "limit".into() },
                    (1 | 2, _) => LookUp::Incomplete { why: "no".into() },
                    (_, Some(remote)) => LookUp::Found(remote.clone()),
                    (_, None) => LookUp::Absent,
                };
                Input::Done(Done::LookedUp { post, found })
            }
        };
        let twice = self.chance(4);
        // A process that a cancelled turn still has may tell of itself; that is refused, and changes nothing.
        let _first = self.hand_in(input.clone());
        if twice {
            let _second = self.hand_in(input);
        }
    }

    fn person(&mut self) {
        let units: Vec<UnitRef> = self.pulls.iter().map(unit).collect();
        let unit = self.pick(&units).unwrap();
        let posts: Vec<PostId> = self.rig.posts().iter().map(|p| p.id).collect();
        let turns: Vec<TurnId> = self.rig.turns().iter().map(|t| t.id).collect();
        let guidance = self.chance(3).then(|| "Mind it".to_owned());
        let gates: Vec<GateId> = self.rig.gates().iter().map(|g| g.gate.id).collect();
        let request = match self.roll(13) {
            10 => {
                let unit = (!self.chance(3)).then_some(unit);
                let until = self.chance(2).then(|| self.rig.now + SignedDuration::from_secs(200));
                let kind = if self.chance(3) { HoldKind::Mute } else { HoldKind::Pause };
                Request::Hold { unit, kind, until }
            }
            11 => {
                let unit = (!self.chance(3)).then_some(unit);
                Request::Unhold { unit, kind: HoldKind::Pause }
            }
            12 => match self.pick(&gates) {
                Some(gate) if self.chance(4) => Request::SeeConsequence(gate),
                Some(gate) => Request::RetryGate(gate),
                None => return,
            },
            0..=4 => return self.two_persons(),
            5 => Request::ApplyPlan { unit, guidance },
            6 => Request::DismissPlan { unit },
            7 => Request::StartTurn { unit, intent: "review".into(), stage: None, guidance },
            8 => match self.pick(&turns) {
                Some(turn) => Request::CancelTurn(turn),
                None => return,
            },
            _ => match (self.pick(&posts), self.roll(3)) {
                (Some(post), 0) => Request::PostRetry(post),
                (Some(post), 1) => Request::PostDiscard { post, reason: None },
                (Some(post), _) => Request::PostSent(post),
                (None, _) => return,
            },
        };
        let _answer = self.ask(request);
    }

    /// Two hands resolve one gate: at most one of them does.
    fn two_persons(&mut self) {
        let gates = self.rig.gates();
        let open: Vec<GateRow> = gates.iter().filter(|g| g.gate.status == GateStatus::Open).cloned().collect();
        let Some(row) = (if self.chance(4) { self.pick(&gates) } else { self.pick(&open) }) else { return };
        let mut taken = 0;
        for _ in 0..2 {
            let intent = self.pick(&row.gate.intents).unwrap();
            let text = intent.text.as_ref().map(|_| "Mind it".to_owned());
            let resolve = Request::Resolve { gate: row.gate.id, intent: intent.name, text, draft_text: None };
            taken += usize::from(self.ask(resolve).is_ok());
        }
        assert_eq!(taken, usize::from(row.gate.status == GateStatus::Open), "resolutions of one gate");
    }

    fn agent(&mut self) {
        let given = |f: &Flying| if let Flying::Turn(turn, 2) = f { Some(*turn) } else { None };
        let turns: Vec<TurnId> = self.flying.iter().filter_map(given).collect();
        let Some(turn) = self.pick(&turns) else { return };
        let turn = self.rig.turn(turn);
        let (name, arguments) = match self.roll(8) {
            0 => ("task_read", json!({})),
            1..=3 => ("github_post", json!({ "shape": "review", "event": "COMMENT", "text": format!("Fine {}", self.roll(2)) })),
            4 => ("github_post", json!({ "shape": "reply", "text": "Done", "in_reply_to": 71 })),
            5 => ("record", json!({ "verdict": "nothing", "summary": "x" })),
            6 => ("record", json!({ "verdict": "published", "summary": "x" })),
            _ => (
                "record",
                json!({ "verdict": "asked", "summary": "x", "condition": "unsure",
                "draft": { "event": "COMMENT", "body": "The review" } }),
            ),
        };
        let call = check_arguments(name, &arguments).unwrap();
        let request = Request::Tool { session: turn.session, call, arguments };
        let _answer = self.hand_in(Input::Request { caller: Caller::Session(turn.session), request });
    }

    /// An unattended caller changes nothing.
    fn stranger(&mut self) {
        let Some(row) = self.pick(&self.rig.gates()) else { return };
        let before = self.rig.read().last_event_id().unwrap();
        let intent = self.pick(&row.gate.intents).unwrap().name;
        let request = Request::Resolve { gate: row.gate.id, intent, text: None, draft_text: None };
        let caller = match self.pick(&self.rig.turns()) {
            Some(turn) => Caller::Session(turn.session),
            None => Caller::Unknown("?".into()),
        };
        forbidden(self.hand_in(Input::Request { caller, request }));
        assert_eq!(self.rig.read().last_event_id().unwrap(), before);
    }
}

fn blocked(kind: BlockKind) -> AgentEvent {
    AgentEvent::Ended(TurnEnd::Blocked { kind, folder: String::new(), words: "may I?".into() })
}

#[test]
fn whatever_happens_in_whatever_order() {
    // CONS-01, CONS-04, GATE-04, GATE-07, RES-01, RES-11, RES-17, GH-PUB-02, ROUND-09, RUN-28, RUN-32, WIN-03, WIN-28
    let one: Option<u64> = option_env!("WLOOP_LIFE").and_then(|text| text.parse().ok());
    let (mut sent, mut turns) = (0, 0);
    for seed in one.map_or(0..LIVES, |seed| seed..seed + 1) {
        let mut life = Life::new(seed);
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..INPUTS * 2 {
                if life.log.len() >= INPUTS {
                    break;
                }
                life.step();
            }
            life.check_record();
        }));
        if lived.is_err() {
            let last = life.log.len().saturating_sub(25);
            panic!("the life of seed {seed} broke a rule (see above) after:\n{}", life.log[last..].join("\n"));
        }
        turns += life.rig.turns().len();
        sent += life.rig.posts().iter().filter(|p| p.state == PostState::Sent).count();
    }
    let enough = sent >= 30 && turns >= 300;
    assert!(one.is_some() || enough, "too little happened in these lives: {turns} turns, {sent} posts sent");
}
