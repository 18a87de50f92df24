//! What must hold of the ledger after every input of a random life.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::id::GateId;
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;
use wloop_store::rows::{EventRow, GateRow, PostRow};

use super::{Flying, Life, PLACES};
use crate::input::Job;

impl Life {
    pub(super) fn check(&mut self) {
        let gates = self.rig.gates();
        let of: BTreeMap<GateId, &GateRow> = gates.iter().map(|g| (g.gate.id, g)).collect();
        for row in &gates {
            self.check_gate(row);
        }
        let turns = self.rig.turns();
        for turn in &turns {
            assert!(self.rig.read().trust(&turn.agent, "acme/api").unwrap().is_some(), "a turn without trust");
        }
        for gate in of.keys() {
            // One whose agent would not start was none.
            let ran = |t: &&wloop_store::TurnRow| t.gate == *gate && !t.cause.starts_with("the agent did not start");
            assert!(turns.iter().filter(ran).count() <= 1, "two turns of {gate}");
        }
        let posts = self.rig.posts();
        for post in &posts {
            let gate = of[&post.gate];
            if matches!(post.state, PostState::Queued | PostState::Sending | PostState::Sent) {
                let by = &gate.gate.closed.as_ref().expect("a post went out under an open gate").actor;
                assert!(matches!(by, Actor::Person { .. } | Actor::Rule(_) | Actor::Window), "let out by {by:?}");
                assert!(matches!(gate.gate.status, GateStatus::Approved | GateStatus::Answered));
            }
            let attempts = self.rig.read().attempts(post.id).unwrap();
            assert!(attempts.iter().filter(|a| a.ended.is_none()).count() <= 1, "two calls at once");
            assert!(self.there.get(&post.id).map_or(0, Vec::len) <= 1, "posted twice: {post:?}");
        }
        for turn in turns {
            let sent =
                posts.iter().filter(|p| p.turn == Some(turn.id) && p.shape.name() == "review" && p.state == PostState::Sent);
            assert!(sent.count() <= 1, "two reviews of one turn");
        }
        self.check_counts(&gates, &posts);
        self.check_nothing_is_stranded(&gates, &posts);
        for row in gates {
            if row.gate.status != GateStatus::Open {
                self.closed.insert(row.gate.id, row.gate);
            }
        }
    }

    /// What a whole life must not have done: the record tells of each consequence once.
    pub(super) fn check_record(&self) {
        let events = self.rig.events();
        for row in self.rig.gates() {
            let ran = |e: &&EventRow| e.event.kind == EventKind::ConsequenceRan && e.event.gate == Some(row.gate.id);
            assert!(events.iter().filter(ran).count() <= 1, "two consequences of {}", row.gate.id);
        }
    }

    fn check_gate(&self, row: &GateRow) {
        if let Some(before) = self.closed.get(&row.gate.id) {
            assert_eq!(&row.gate, before, "a closed gate changed");
        }
        match row.gate.status {
            GateStatus::Open | GateStatus::Superseded => assert_eq!(row.consequence, None),
            GateStatus::Approved | GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed => {
                let by = &row.gate.closed.as_ref().unwrap().actor;
                assert!(matches!(by, Actor::Person { .. } | Actor::Rule(_) | Actor::Window), "resolved by {by:?}");
                let due = matches!(row.consequence.unwrap().0, Consequence::Due | Consequence::Started);
                let runs = || match row.gate.kind {
                    GateKind::Plan => self.rig.item_of(row).state == ItemState::Released,
                    GateKind::Trust => self.rig.jobs().contains(&Job::Trust(row.gate.id)),
                    GateKind::Draft | GateKind::Question | GateKind::Post | GateKind::Proposal | GateKind::Step => false,
                };
                assert!(!due || runs(), "a consequence that nobody runs: {row:?}");
                let held = self.rig.read().item_by_gate(row.gate.id).unwrap().is_some_and(|item| item.cap.is_some());
                let by_person = matches!(by, Actor::Person { .. });
                assert!(by_person || !(held || row.gate.kind == GateKind::Trust), "what is the person's: {row:?}");
            }
        }
    }

    fn check_counts(&self, gates: &[GateRow], posts: &[PostRow]) {
        let read = self.rig.read();
        let counts = read.status_counts().unwrap();
        let open = gates.iter().filter(|g| g.gate.status == GateStatus::Open).count() as u64;
        assert_eq!(counts.open_gates, open);
        assert_eq!(read.open_gates_by_kind().unwrap().values().sum::<u64>(), open);
        assert_eq!(counts.pending_rounds, self.rig.items().iter().filter(|i| i.state.is_pending()).count() as u64);
        assert_eq!(counts.posts_failed, posts.iter().filter(|p| p.state == PostState::Failed).count() as u64);
        assert_eq!(counts.running_turns, self.rig.turns().iter().filter(|t| t.state.is_running()).count() as u64);
        let tasks: BTreeSet<_> = gates.iter().filter_map(|g| g.gate.task).collect();
        for task in tasks {
            let of = gates.iter().filter(|g| g.gate.task == Some(task) && g.gate.status == GateStatus::Open).count() as u64;
            assert_eq!(read.open_gates_of_task(task).unwrap(), of);
            let open_end = |c: Consequence| !matches!(c, Consequence::Ran | Consequence::Unknown);
            let due = gates.iter().any(|g| g.gate.task == Some(task) && g.consequence.is_some_and(|(c, _)| open_end(c)));
            let ended = read.task(task).unwrap().unwrap().ended_at.is_some();
            // It ends with the last gate that closes, and not before; a released round keeps it until it ran.
            assert!(!ended || of == 0, "a captured task ended under an open gate");
            assert!(ended || of > 0 || due, "a captured task stays without a gate");
        }
    }

    /// Every row that is not at its end has a job, a wake, an open gate, or a place where the person sees it.
    fn check_nothing_is_stranded(&self, gates: &[GateRow], posts: &[PostRow]) {
        let (rig, now) = (&self.rig, self.rig.now);
        let jobs = rig.jobs();
        let open = |id: GateId| gates.iter().any(|g| g.gate.id == id && g.gate.status == GateStatus::Open);
        let wakes_by = |at: Timestamp| rig.wake().is_some_and(|wake| wake <= at);
        let provider = rig.read().provider("github").unwrap();
        // A provider that is signed out, or asked to wait, is shown; the second ends by itself.
        let shut = provider.as_ref().is_some_and(|p| p.signed_out);
        let blocked = provider.as_ref().and_then(|p| p.blocked_until).filter(|until| *until > now);
        if let Some(until) = blocked.filter(|_| !shut) {
            assert!(wakes_by(until), "nothing wakes at the end of the limit");
        }
        let rests = shut || blocked.is_some();
        let later = |at: Option<Timestamp>| at.is_some_and(|at| at > now && wakes_by(at));
        for item in rig.items() {
            let running = rig.turns().iter().filter(|t| t.state.is_running()).count();
            let fine = match item.state {
                ItemState::Waiting | ItemState::CountingDown => open(item.gate),
                ItemState::Released => {
                    let ahead = jobs.iter().filter(|j| matches!(j, Job::Release(_))).count();
                    let place = ahead + running >= PLACES;
                    // One that the cap had held, and that failed, is told until the person tries it again.
                    let told = rig.gate(item.gate).consequence.is_some_and(|(c, _)| c == Consequence::Failed);
                    told || rests || later(Some(item.try_after)) || jobs.contains(&Job::Release(item.id)) || place
                }
                ItemState::Capped => open(item.gate),
                ItemState::Blocked => {
                    let blocks = rig.read().blocks().unwrap();
                    assert!(blocks.len() <= 1, "two questions of one agent in one repository: {blocks:?}");
                    blocks.iter().any(|block| {
                        let asks = rig.gate(block.gate);
                        asks.gate.status == GateStatus::Open || asks.consequence.is_some()
                    })
                }
                ItemState::Turned | ItemState::Handled | ItemState::Gone => !open(item.gate),
            };
            assert!(fine, "stranded: {item:?}");
        }
        for post in posts {
            let in_call = self.flying.iter().any(|f| matches!(f, Flying::Call(id, _) if *id == post.id));
            let fine = match post.state {
                PostState::Held => open(post.gate),
                PostState::Queued => rests || later(post.next_at) || jobs.contains(&Job::Send(post.id)),
                PostState::Sending => {
                    let attempt = rig.read().open_attempt(post.id).unwrap();
                    // The outcome of a call is on its way from the moment of its claim.
                    let mine = attempt.is_some_and(|attempt| attempt.generation == rig.engine.as_ref().unwrap().generation());
                    mine || in_call || rests || later(post.next_at) || jobs.contains(&Job::LookUp(post.id))
                }
                PostState::Failed | PostState::Sent | PostState::Dropped => true,
            };
            assert!(fine, "stranded: {post:?}");
        }
        for turn in rig.turns() {
            let works = turn.claimed && turn.generation == rig.engine.as_ref().unwrap().generation();
            let fine = match turn.state {
                TurnState::Starting => {
                    works || jobs.contains(&Job::StartTurn(turn.id)) || jobs.contains(&Job::CancelTurn(turn.id))
                }
                TurnState::Sent | TurnState::Started => works,
                TurnState::Asked => {
                    posts.iter().any(|p| p.turn == Some(turn.id) && !matches!(p.state, PostState::Sent | PostState::Dropped))
                }
                TurnState::Recorded | TurnState::Failed | TurnState::Dismissed | TurnState::Unrecorded => true,
            };
            assert!(fine, "stranded: {turn:?}");
        }
        for row in gates.iter().filter(|g| g.gate.status == GateStatus::Open) {
            let has_item = rig.read().item_by_gate(row.gate.id).unwrap().is_some_and(|i| i.state.is_pending());
            let has_post = posts.iter().any(|p| p.gate == row.gate.id && p.state == PostState::Held);
            let block = rig.read().block(row.gate.id).unwrap().filter(|block| block.lifted_at.is_none());
            let has_block = block
                .is_some_and(|block| rig.items().iter().any(|item| item.state == ItemState::Blocked && item.unit == block.unit));
            assert!(has_item || has_post || has_block, "a gate about nothing: {row:?}");
            if let Some(deadline) = row.gate.deadline {
                assert!(wakes_by(deadline), "nothing wakes at the end of a window");
            }
        }
        if let Some(provider) = provider.filter(|_| !rests) {
            let soon = later(Some(provider.next_sweep_at)) || jobs.contains(&Job::Sweep);
            assert!(soon, "no sweep comes");
            assert!(
                provider.next_sweep_at <= now + SignedDuration::from_mins(2),
                "the next sweep is at {}",
                provider.next_sweep_at
            );
        }
    }
}
