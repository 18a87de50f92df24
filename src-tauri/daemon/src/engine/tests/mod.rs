//! The engine from the inside: the real engine over a real ledger in a folder of its own, with ids from a seed and a clock that only
//! the test moves. What a provider shows and what a job came to is handed in as values; nothing here reaches a network or a process.

mod caps;
mod cases;
mod crashes;
mod drafts;
mod facts;
mod gates;
mod holds;
mod ledger;
mod rounds;
mod sends;
mod sessions;
mod stops;
mod sweeps;
mod sync;
mod tools;
mod trust;
mod windows;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;
use wloop_agents::tools::check_arguments;
use wloop_core::event::EventKind;
use wloop_core::github::{
    Account, AccountKind, Detail, Inventory, Mergeable, PullState, ReadFault, Reason, RemotePost, RepoName, Requested, Review,
    ReviewRequest, ReviewState, Reviewer, SendOutcome, Summary,
};
use wloop_core::id::{GateId, ItemId, PostId, TurnId, UnitRef};
use wloop_core::plan::ItemState;
use wloop_core::rules::config::Config;
use wloop_core::rules::profile::Profile;
use wloop_store::rows::{EventRow, GateRow, ItemRow, PostRow, ProcessRow, TurnRow};
use wloop_store::{GateFilter, PostFilter, Reads, Store, TurnFilter};

use super::{Engine, Reply, StartOrder};
use crate::edge::Ids;
use crate::input::{AgentEvent, Caller, Done, Input, Job, Observation, Prepared, Request, Seen, Starting, TurnEnd};
use crate::refusal::{Answer, EngineError, Refusal, RefusalKind};
use crate::settings::{BUNDLED, Rules};

/// A commit's name, one for each number.
pub(super) fn head(n: u8) -> String {
    format!("{n:02x}").repeat(20)
}

pub(super) fn start() -> Timestamp {
    "2026-11-30T09:00:00Z".parse().unwrap()
}

pub(super) fn account(login: &str) -> Account {
    let kind = if login.ends_with("[bot]") { AccountKind::Bot } else { AccountKind::User };
    Account { id: format!("U_{login}"), login: login.to_owned(), kind }
}

pub(super) fn viewer() -> Account {
    account("viewer")
}

/// Open, ready, by `ana`, its review requested from the viewer three hours ago.
pub(super) fn pull(n: u64) -> Detail {
    let asked = start() - SignedDuration::from_hours(3);
    Detail {
        summary: Summary {
            id: format!("PR_{n}"),
            repo: RepoName { owner: "acme".into(), name: "api".into() },
            number: n,
            title: format!("Count the gulls {n}"),
            url: format!("https://github.test/acme/api/pull/{n}"),
            state: PullState::Open,
            draft: false,
            head: head(1),
            updated_at: asked,
            mergeable: Mergeable::Mergeable,
            checks: "success".into(),
            reasons: vec![Reason::Requested],
        },
        body: "What and why".into(),
        author: Some(account("ana")),
        association: "MEMBER".into(),
        created_at: asked,
        merged_at: None,
        closed_at: None,
        base: "main".into(),
        base_oid: head(0xbb),
        head_branch: "gulls".into(),
        head_repo: Some("acme/api".into()),
        cross_repository: false,
        visibility: "private".into(),
        archived: false,
        locked: false,
        changed_files: 3,
        review_decision: String::new(),
        labels: vec![],
        assignees: vec![],
        review_requests: vec![request("RR_1", asked)],
        reviews: vec![],
        threads: vec![],
        comments: vec![],
        checks: vec![],
        last_requested_at: None,
        head_forced_at: None,
        maintainer_can_modify: false,
        can_push: true,
        read_at: start(),
        skew_ms: 0,
    }
}

pub(super) fn request(id: &str, at: Timestamp) -> ReviewRequest {
    let requested = Some(Requested { id: id.to_owned(), by: "ana".into(), at });
    ReviewRequest { reviewer: Reviewer::Account(viewer()), requested }
}

pub(super) fn review_by(who: Account, id: &str, state: ReviewState, at: Timestamp, commit: &str) -> Review {
    Review {
        id: id.to_owned(),
        database_id: id.bytes().map(u64::from).sum(),
        author: Some(who),
        state,
        body: String::new(),
        submitted_at: (state != ReviewState::Pending).then_some(at),
        commit: commit.to_owned(),
        url: format!("https://github.test/r/{id}"),
    }
}

pub(super) fn unit(detail: &Detail) -> UnitRef {
    UnitRef::github(&detail.summary.id)
}

pub(super) fn remote(n: u64) -> RemotePost {
    RemotePost { node_id: format!("N_{n}"), database_id: n, url: format!("https://github.test/p/{n}") }
}

pub(super) fn at_head(detail: &Detail) -> Seen {
    Seen {
        head: detail.summary.head.clone(),
        files: vec![("src/gulls.rs".into(), Some("@@ -1,2 +1,3 @@\n a\n+b\n c".into()))],
        takes_words: true,
    }
}

/// The rules of a home with that configuration, and with those files laid over the bundled profile.
pub(super) fn rules(config: &str, files: &[(&str, &str)]) -> Rules {
    let mut all: BTreeMap<String, String> = BUNDLED.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    let config = Config::parse("config.toml", config).unwrap();
    let zone = config.zone.as_deref().map_or(jiff::tz::TimeZone::UTC, |name| jiff::tz::TimeZone::get(name).unwrap());
    Rules { config, profile: Profile::load(&all).unwrap(), has_provider: true, zone, workspaces_root: "/trees".into() }
}

/// The refusal that an answer must be.
#[track_caller]
pub(super) fn refused(answer: Answer<Reply>) -> Refusal {
    match answer {
        Err(EngineError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// One home with its engine.
pub(super) struct Rig {
    pub(super) now: Timestamp,
    pub(super) rules: Rules,
    folder: TempDir,
    engine: Option<Engine>,
    seed: u64,
    copies: u32,
    /// Whether each input is followed by a look at a copy of the ledger.
    pub(super) mirrored: bool,
    /// Whether the agent is trusted in the repository from the beginning, as in a home that has been in use.
    trusts: bool,
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with("", &[])
    }

    pub(super) fn with(config: &str, files: &[(&str, &str)]) -> Self {
        Self::seeded(1, rules(config, files))
    }

    /// A home where no agent has run in the repository yet.
    pub(super) fn untrusted(config: &str) -> Self {
        Self::made(1, rules(config, &[]), false)
    }

    pub(super) fn seeded(seed: u64, rules: Rules) -> Self {
        Self::made(seed, rules, true)
    }

    pub(super) fn made(seed: u64, rules: Rules, trusts: bool) -> Self {
        // Where the system has a folder in memory, the many lives of these tests wait for no disk.
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let mut rig = Self { now: start(), rules, folder, engine: None, seed: seed * 1_000, copies: 0, mirrored: false, trusts };
        rig.reopen();
        rig
    }

    /// Drops the engine without a word and opens the next one on the same ledger.
    pub(super) fn reopen(&mut self) {
        self.engine = None;
        let mut store = Store::open(&self.folder.path().join("state.db"), self.now).unwrap();
        if self.trusts {
            let trust = wloop_store::TrustRow {
                agent: self.rules.agent_for(None),
                repo: "acme/api".into(),
                at: self.now,
                gate: None,
                folder: "/trees/acme/api".into(),
            };
            store.write(|tx| tx.put_trust(&trust)).unwrap();
        }
        self.seed += 1;
        let engine = Engine::open(store, self.rules.clone(), Box::new(Ids::seeded(self.seed)), self.now).unwrap();
        self.engine = Some(engine);
    }

    pub(super) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().unwrap()
    }

    pub(super) fn read(&self) -> Reads<'_> {
        self.engine.as_ref().unwrap().read()
    }

    pub(super) fn jobs(&self) -> Vec<Job> {
        self.engine.as_ref().unwrap().jobs(self.now).unwrap()
    }

    pub(super) fn wake(&self) -> Option<Timestamp> {
        self.engine.as_ref().unwrap().next_wake(self.now).unwrap().map(|wake| wake.at)
    }

    /// Hands one input in. Only a refusal may come back as an error.
    pub(super) fn hand_in(&mut self, input: Input) -> Answer<Reply> {
        let now = self.now;
        let told = format!("{input:?}");
        let answer = self.engine().handle(input, now);
        if let Err(EngineError::Store(fault)) = &answer {
            panic!("the ledger did not take {told}: {fault:?}");
        }
        if self.mirrored {
            self.compare_with_a_copy(&told);
        }
        answer
    }

    /// The same, for what must be taken.
    #[track_caller]
    pub(super) fn take(&mut self, input: Input) -> Reply {
        self.hand_in(input).unwrap()
    }

    pub(super) fn ask(&mut self, request: Request) -> Answer<Reply> {
        self.hand_in(Input::Request { caller: Caller::Person, request })
    }

    pub(super) fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Time passes, and the engine is told.
    pub(super) fn tick_after(&mut self, seconds: i64) {
        self.pass(seconds);
        self.take(Input::Tick);
    }

    pub(super) fn inventory(&mut self, pulls: &[&Detail], complete: bool) {
        let pull_requests = pulls.iter().map(|d| d.summary.clone()).collect();
        let inventory = Inventory { viewer: viewer(), pull_requests, skew_ms: 0, complete };
        self.take(Input::Observed(Observation::Inventory(Ok(inventory))));
    }

    /// The units that are to be read now.
    pub(super) fn to_read(&self) -> BTreeSet<String> {
        let unit = |job| if let Job::ReadDetail(unit) = job { Some(unit.key().to_owned()) } else { None };
        self.jobs().into_iter().filter_map(unit).collect()
    }

    /// A complete sweep, and the reads that it asks for.
    pub(super) fn sweep(&mut self, pulls: &[&Detail]) {
        self.inventory(pulls, true);
        for detail in pulls {
            if self.to_read().contains(&detail.summary.id) {
                self.show(detail);
            }
        }
    }

    pub(super) fn show(&mut self, detail: &Detail) {
        let read = Detail { read_at: self.now, ..detail.clone() };
        self.take(Input::Observed(Observation::Detail { unit: unit(detail), result: Box::new(Ok(read)) }));
    }

    pub(super) fn fail_read(&mut self, detail: &Detail, fault: ReadFault) {
        self.take(Input::Observed(Observation::Detail { unit: unit(detail), result: Box::new(Err(fault)) }));
    }

    pub(super) fn gates(&self) -> Vec<GateRow> {
        self.read().gates(&GateFilter::default()).unwrap()
    }

    pub(super) fn gate(&self, id: GateId) -> GateRow {
        self.read().gate(id).unwrap().unwrap()
    }

    pub(super) fn open_gates(&self) -> Vec<GateRow> {
        self.read().gates(&GateFilter::open()).unwrap()
    }

    /// The one open gate of a unit.
    #[track_caller]
    pub(super) fn open_gate(&self, detail: &Detail) -> GateRow {
        let mut open = self.open_gates();
        open.retain(|g| g.gate.unit.as_ref() == Some(&unit(detail)));
        assert_eq!(open.len(), 1, "open gates of {}: {open:?}", detail.slug());
        open.remove(0)
    }

    pub(super) fn items(&self) -> Vec<ItemRow> {
        let mut items: Vec<ItemRow> =
            ItemState::ALL.iter().flat_map(|(state, _)| self.read().items_in(*state).unwrap()).collect();
        items.sort_by_key(|item| (item.planned_at, item.id));
        items
    }

    pub(super) fn item(&self, id: ItemId) -> ItemRow {
        self.read().item(id).unwrap().unwrap()
    }

    pub(super) fn item_of(&self, gate: &GateRow) -> ItemRow {
        self.read().item_by_gate(gate.gate.id).unwrap().unwrap()
    }

    pub(super) fn turns(&self) -> Vec<TurnRow> {
        self.read().turns(&TurnFilter::default()).unwrap()
    }

    pub(super) fn turn(&self, id: TurnId) -> TurnRow {
        self.read().turn(id).unwrap().unwrap()
    }

    pub(super) fn posts(&self) -> Vec<PostRow> {
        self.read().posts(&PostFilter::default()).unwrap()
    }

    pub(super) fn post(&self, id: PostId) -> PostRow {
        self.read().post(id).unwrap().unwrap()
    }

    pub(super) fn events(&self) -> Vec<EventRow> {
        self.read().events_after(0, 100_000, None).unwrap()
    }

    pub(super) fn count(&self, kind: EventKind) -> usize {
        self.events().iter().filter(|e| e.event.kind == kind).count()
    }

    /// A swept pull request with its plan gate open.
    #[track_caller]
    pub(super) fn planned(&mut self, detail: &Detail) -> GateRow {
        self.sweep(&[detail]);
        self.open_gate(detail)
    }

    pub(super) fn resolve(&mut self, gate: GateId, intent: &str, text: Option<&str>) -> Answer<Reply> {
        self.ask(Request::Resolve { gate, intent: intent.to_owned(), text: text.map(str::to_owned), draft_text: None })
    }

    pub(super) fn by_hand(&mut self, detail: &Detail, guidance: Option<&str>) -> Answer<Reply> {
        let guidance = guidance.map(str::to_owned);
        self.ask(Request::StartTurn { unit: unit(detail), intent: "review".into(), stage: None, guidance })
    }

    pub(super) fn start_release(&mut self, item: ItemId, detail: &Detail) -> Reply {
        let read = Detail { read_at: self.now, ..detail.clone() };
        self.take(Input::Starting(Starting::Release { item, read: Box::new(Ok(read)) }))
    }

    pub(super) fn end_release(&mut self, item: ItemId, detail: &Detail) {
        let prepared = Prepared {
            folder: "/trees/review-1".into(),
            head: detail.summary.head.clone(),
            merge_base: head(0xbb),
            workplace: wloop_core::github::busy::Workplace::default(),
        };
        self.take(Input::Done(Done::Release { item, prepared: Ok(prepared) }));
    }

    /// A released item becomes its turn's row.
    #[track_caller]
    pub(super) fn prepare(&mut self, item: ItemId, detail: &Detail) -> TurnRow {
        let reply = self.start_release(item, detail);
        assert!(matches!(reply, Reply::Release(_)), "{reply:?}");
        self.end_release(item, detail);
        let open = self.read().open_turn(&unit(detail)).unwrap();
        open.unwrap()
    }

    pub(super) fn agent(&mut self, turn: TurnId, event: AgentEvent) {
        self.take(Input::Turn { turn, event });
    }

    pub(super) fn claim(&mut self, turn: TurnId) -> Box<StartOrder> {
        let reply = self.take(Input::Starting(Starting::Turn(turn)));
        let Reply::Start(order) = reply else { panic!("not to be started: {reply:?}") };
        order
    }

    pub(super) fn spawn(&mut self, turn: TurnId) {
        self.agent(turn, AgentEvent::Spawned(ProcessRow { pid: 4_321, start: "7".into(), pgid: 4_321 }));
    }

    /// Starts a turn's process and gives it its prompt; the agent has taken it up.
    pub(super) fn give(&mut self, turn: TurnId) -> Box<StartOrder> {
        let order = self.claim(turn);
        self.spawn(turn);
        self.agent(turn, AgentEvent::PromptGiven);
        self.agent(turn, AgentEvent::TookUp);
        order
    }

    /// A turn of a round that the person ran at once, taken up by its agent.
    pub(super) fn started(&mut self, detail: &Detail) -> TurnRow {
        let gate = self.planned(detail);
        self.resolve(gate.gate.id, "run_now", None).unwrap();
        let item = self.item_of(&gate).id;
        let turn = self.prepare(item, detail);
        self.give(turn.id);
        self.turn(turn.id)
    }

    pub(super) fn tool(&mut self, turn: &TurnRow, name: &str, arguments: Value) -> Answer<Reply> {
        let call = check_arguments(name, &arguments).unwrap();
        let request = Request::Tool { session: turn.session, call, arguments };
        self.hand_in(Input::Request { caller: Caller::Session(turn.session), request })
    }

    pub(super) fn record(&mut self, turn: &TurnRow, verdict: &str) -> Answer<Reply> {
        self.tool(turn, "record", json!({ "verdict": verdict, "summary": "It counts gulls." }))
    }

    /// A review that stops for the person, with its complete text.
    pub(super) fn stop(&mut self, turn: &TurnRow, body: &str) -> Answer<Reply> {
        let draft = json!({ "event": "REQUEST_CHANGES", "body": body, "comments": [] });
        self.tool(turn, "record", json!({ "verdict": "asked", "summary": "Unsure.", "condition": "unsure", "draft": draft }))
    }

    /// A post that a tool's call came to.
    #[track_caller]
    pub(super) fn posted(&mut self, turn: &TurnRow, arguments: Value) -> PostRow {
        match self.tool(turn, "github_post", arguments) {
            Ok(Reply::ToolWaits { post, .. }) => self.post(post),
            other => panic!("no post: {other:?}"),
        }
    }

    pub(super) fn review(&mut self, turn: &TurnRow, text: &str) -> PostRow {
        self.posted(turn, json!({ "shape": "review", "event": "APPROVE", "text": text }))
    }

    /// Claims a post's call.
    pub(super) fn try_send(&mut self, post: PostId, seen: Seen) -> Reply {
        self.take(Input::Starting(Starting::Post { post, seen: Ok(seen) }))
    }

    /// Claims a post's call, which must be made.
    #[track_caller]
    pub(super) fn call(&mut self, post: PostId, detail: &Detail) -> Box<wloop_core::github::PostOrder> {
        let reply = self.try_send(post, at_head(detail));
        let Reply::Send(order) = reply else { panic!("not to be sent: {reply:?}") };
        order
    }

    pub(super) fn outcome(&mut self, post: PostId, outcome: SendOutcome) {
        self.take(Input::Done(Done::Sent { post, outcome }));
    }

    /// A post goes out at its first call.
    pub(super) fn send(&mut self, post: PostId, detail: &Detail, n: u64) {
        self.call(post, detail);
        self.outcome(post, SendOutcome::Sent(remote(n)));
    }

    pub(super) fn end(&mut self, turn: TurnId, end: TurnEnd) {
        self.agent(turn, AgentEvent::Ended(end));
    }

    /// An engine on a copy of the ledger, as after a power cut, finds the same jobs; those of work that was lost with the first
    /// one aside.
    fn compare_with_a_copy(&mut self, after: &str) {
        self.copies += 1;
        let path = self.folder.path().join(format!("copy-{}.db", self.copies));
        self.engine.as_ref().unwrap().store().backup_to(&path).unwrap();
        let store = Store::open(&path, self.now).unwrap();
        let copy = Engine::open(store, self.rules.clone(), Box::new(Ids::seeded(self.seed + 500)), self.now).unwrap();
        let in_flight = |post: &PostId| self.read().open_attempt(*post).unwrap().is_some();
        let lost = |job: &Job| match job {
            // A turn that was being started or run failed with its daemon; what is left of its processes is ended.
            Job::StartTurn(_) | Job::CancelTurn(_) | Job::EndGroup(_) => true,
            // A call whose answer nobody waits for is looked up.
            Job::LookUp(post) => in_flight(post),
            Job::Sweep | Job::ReadDetail(_) | Job::Release(_) | Job::Trust(_) | Job::Send(_) => false,
        };
        // A round that rests because something is missing is tried at once by a new start.
        let rests = |job: &Job| if let Job::Release(item) = job { self.item(*item).try_after > self.now } else { false };
        let kept = |jobs: Vec<Job>| jobs.into_iter().filter(|job| !lost(job) && !rests(job)).collect::<BTreeSet<_>>();
        assert_eq!(kept(self.jobs()), kept(copy.jobs(self.now).unwrap()), "after {after}");
    }
}

/// What a refusal of an unattended caller must be.
#[track_caller]
pub(super) fn forbidden(answer: Answer<Reply>) {
    assert_eq!(refused(answer).kind, RefusalKind::Forbidden);
}
