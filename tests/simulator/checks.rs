//! What must hold of the whole ledger and of GitHub, looked at again and again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::id::{GateId, ItemId, PostId, TaskId, TurnId};
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;
use wloop_daemon::input::Job;
use wloop_store::rows::{BlockRow, GateRow, ItemRow, PostRow, TurnRow};
use wloop_store::{GateFilter, PostFilter, Reads, TurnFilter};

use crate::book::{Touched, was_none};
use crate::life::{Flying, Held, Life, PLACES, hold, read};

/// The ledger as it is now.
pub(crate) struct Now {
    pub(crate) gates: Vec<GateRow>,
    pub(crate) items: Vec<ItemRow>,
    pub(crate) turns: Vec<TurnRow>,
    pub(crate) posts: Vec<PostRow>,
}

impl Now {
    fn read(reads: &Reads<'_>) -> Held<Self> {
        let mut items = Vec::new();
        for (state, _) in ItemState::ALL {
            items.extend(read(reads.items_in(*state))?);
        }
        Ok(Self {
            gates: read(reads.gates(&GateFilter::default()))?,
            items,
            turns: read(reads.turns(&TurnFilter::default()))?,
            posts: read(reads.posts(&PostFilter::default()))?,
        })
    }

    /// What may still move and what an event named since the last look, with the gates that it stands on. The rest is at its end: it
    /// was looked at when it came there, and the tally says that it stays.
    fn near(reads: &Reads<'_>, touched: &Touched) -> Held<Self> {
        let mut items = Vec::new();
        for (state, _) in ItemState::ALL.iter().filter(|(state, _)| state.is_pending()) {
            items.extend(read(reads.items_in(*state))?);
        }
        let mut posts = Vec::new();
        for state in [PostState::Held, PostState::Queued, PostState::Sending, PostState::Failed] {
            posts.extend(read(reads.posts_in(state))?);
        }
        let known: BTreeSet<PostId> = posts.iter().map(|p| p.id).collect();
        for post in touched.posts.difference(&known) {
            posts.extend(read(reads.post(*post))?);
        }
        let mut turns = read(reads.turns(&TurnFilter { open_only: true, ..TurnFilter::default() }))?;
        let known: BTreeSet<TurnId> = turns.iter().map(|t| t.id).collect();
        for turn in touched.turns.difference(&known) {
            turns.extend(read(reads.turn(*turn))?);
        }
        let mut gates = read(reads.gates(&GateFilter::open()))?;
        let known: BTreeSet<GateId> = gates.iter().map(|g| g.gate.id).collect();
        let blocks = read(reads.blocks())?;
        let under = items.iter().map(|i| i.gate).chain(posts.iter().map(|p| p.gate)).chain(turns.iter().map(|t| t.gate));
        let under = under.chain(blocks.iter().map(|block| block.gate)).chain(touched.gates.iter().copied());
        for gate in under.collect::<BTreeSet<_>>().difference(&known) {
            gates.extend(read(reads.gate(*gate))?);
        }
        let known: BTreeSet<ItemId> = items.iter().map(|i| i.id).collect();
        for gate in &touched.gates {
            items.extend(read(reads.item_by_gate(*gate))?.filter(|item| !known.contains(&item.id)));
        }
        Ok(Self { gates, items, turns, posts })
    }

    fn is_open(&self, id: GateId) -> bool {
        self.gates.iter().any(|g| g.gate.id == id && g.gate.status == GateStatus::Open)
    }
}

impl Life {
    /// Everything at once.
    pub(crate) fn check_all(&mut self) -> Held<Now> {
        let now = Now::read(&self.reads()?)?;
        self.check_tally(&now)?;
        let jobs = self.jobs()?;
        self.check_gates(&now, &jobs)?;
        hold!(self.book.gates.len() == now.gates.len(), "a gate is gone");
        self.check_posts(&now)?;
        self.check_github(&now)?;
        self.check_turns(&now)?;
        self.check_counts(&now)?;
        self.check_tasks(now.gates.iter().filter_map(|g| g.gate.task).collect())?;
        self.check_nothing_is_stranded(&now, &jobs)?;
        for row in &now.posts {
            self.book.posts.insert(row.id, row.clone());
        }
        for row in &now.turns {
            self.book.turns.insert(row.id, row.clone());
        }
        self.book.touched = Touched::default();
        Ok(now)
    }

    /// What may have become otherwise by one step.
    pub(crate) fn check_step(&mut self) -> Held {
        let changed = self.witness()?.saw_a_change()?;
        let here = (self.wall, self.flying.len());
        let moved = self.looked.replace(here) != Some(here);
        if !changed && !moved {
            return self.check_copies();
        }
        let touched = std::mem::take(&mut self.book.touched);
        let now = Now::near(&self.reads()?, &touched)?;
        if changed {
            self.check_tally(&now)?;
        }
        let jobs = self.jobs()?;
        self.check_gates(&now, &jobs)?;
        self.check_posts(&now)?;
        self.check_turns(&now)?;
        self.check_counts(&now)?;
        self.check_tasks(now.gates.iter().filter_map(|g| g.gate.task).chain(touched.tasks).collect())?;
        self.check_nothing_is_stranded(&now, &jobs)
    }

    /// The ledger is as its events tell it: no row is gone, and none came to its end without one. What is closed, sent or ended stays
    /// so. That a post begins, or may go, is told by its turn's or its gate's event or by none.
    fn check_tally(&mut self, now: &Now) -> Held {
        for post in now.posts.iter().filter(|post| !matches!(post.state, PostState::Sent | PostState::Dropped)) {
            self.book.posts.insert(post.id, post.clone());
        }
        let (there, told) = (self.witness()?.tally()?, self.book.tally());
        hold!(there == told, "the ledger moved without an event: it has {there:?}, and was told {told:?}");
        Ok(())
    }

    fn check_gates(&mut self, now: &Now, jobs: &[Job]) -> Held {
        for row in &now.gates {
            if let Some(before) = self.book.gates.get(&row.gate.id).filter(|b| b.gate.status != GateStatus::Open) {
                hold!(before.gate == row.gate, "a closed gate changed: {:?} became {:?}", before.gate, row.gate);
            }
            match row.gate.status {
                GateStatus::Open | GateStatus::Superseded => {
                    hold!(row.consequence.is_none(), "a consequence of what was not resolved: {row:?}");
                }
                GateStatus::Approved | GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed => {
                    let due = row.consequence.is_some_and(|(c, _)| matches!(c, Consequence::Due | Consequence::Started));
                    let item = now.items.iter().find(|i| i.gate == row.gate.id);
                    let waits = item.is_some_and(|i| matches!(i.state, ItemState::Released | ItemState::Blocked));
                    let runs = match row.gate.kind {
                        GateKind::Plan => waits,
                        GateKind::Trust => jobs.contains(&Job::Trust(row.gate.id)),
                        GateKind::Draft | GateKind::Question | GateKind::Post | GateKind::Proposal | GateKind::Step => false,
                    };
                    hold!(!due || runs, "a consequence that nobody runs: {row:?}");
                }
            }
            self.book.gates.insert(row.gate.id, row.clone());
        }
        Ok(())
    }

    fn check_posts(&self, now: &Now) -> Held {
        let gates: BTreeMap<GateId, &GateRow> = now.gates.iter().map(|g| (g.gate.id, g)).collect();
        for post in &now.posts {
            if matches!(post.state, PostState::Queued | PostState::Sending | PostState::Sent) {
                let status = gates.get(&post.gate).map(|g| g.gate.status);
                let out = matches!(status, Some(GateStatus::Approved | GateStatus::Answered));
                hold!(out, "a post is out that nobody let out: {post:?}");
            }
        }
        self.check_drafts(now)?;
        self.check_copies()
    }

    /// A draft's effects come once it is sent, and never where it is dropped.
    fn check_drafts(&self, now: &Now) -> Held {
        let reads = self.reads()?;
        for post in now.posts.iter().filter(|post| post.turn.is_none()) {
            for (name, state) in read(reads.draft_effects(post.id))? {
                let fits = match post.state {
                    PostState::Sent => state == "applied",
                    PostState::Dropped => state == "void",
                    PostState::Held | PostState::Queued | PostState::Sending | PostState::Failed => state == "declared",
                };
                hold!(fits, "the effect `{name}` is {state} of a draft that is {}", post.state);
            }
            let Some((draft, _)) = read(reads.draft(post.id))? else { continue };
            let Some(gate) = now.gates.iter().find(|gate| gate.gate.id == post.gate) else { continue };
            let by_rule = gate.gate.closed.as_ref().is_some_and(|c| matches!(c.actor, Actor::Rule(_) | Actor::Window));
            if by_rule && gate.gate.status == GateStatus::Approved {
                let turn = draft.turn.map(|turn| read(reads.turn(turn))).transpose()?.flatten();
                let its_own = turn.is_some_and(|turn| turn.unit == post.unit);
                hold!(its_own, "a rule let out what is the person's, or for another unit than its turn's: {draft:?}");
                hold!(draft.edited_at.is_none(), "a rule let out a text that the person edited: {draft:?}");
            } else if by_rule {
                let dry = post.state == PostState::Dropped && draft.reason == "dry_run";
                hold!(dry, "a rule refused a draft otherwise than as a dry run: {draft:?} {post:?}");
            }
        }
        Ok(())
    }

    /// GitHub has nothing twice.
    fn check_copies(&self) -> Held {
        for (post, copies) in self.github.posts() {
            hold!(copies <= 1, "posted twice: github has {copies} of post {post}");
        }
        Ok(())
    }

    /// GitHub has nothing that the ledger did not try.
    fn check_github(&self, now: &Now) -> Held {
        for (post, copies) in self.github.posts() {
            let row = now.posts.iter().find(|row| row.id == post);
            hold!(copies <= 1 && row.is_some(), "github has {copies} of a post: {row:?}");
            let tried = row.is_some_and(|row| row.started_at.is_some());
            hold!(tried, "github has a post that was never tried: {row:?}");
        }
        Ok(())
    }

    fn check_turns(&self, now: &Now) -> Held {
        let mut by_gate = BTreeSet::new();
        let mut by_item = BTreeSet::new();
        let mut open = BTreeSet::new();
        for turn in &now.turns {
            let trusted = read(self.reads()?.trust(&turn.agent, "acme/api"))?.is_some();
            hold!(trusted, "a turn in a repository where its agent is not trusted: {turn:?}");
            if !was_none(turn) {
                hold!(by_gate.insert(turn.gate), "two turns of one gate: {turn:?}");
                hold!(by_item.insert(turn.item), "two turns of one planned round: {turn:?}");
            }
            hold!(!turn.state.is_open() || open.insert(turn.unit.clone()), "two open turns on one unit: {turn:?}");
            let reviews = self.book.posts.values().filter(|p| p.turn == Some(turn.id) && p.shape.name() == "review");
            let sent = reviews.filter(|p| p.state == PostState::Sent).count();
            hold!(sent <= 1, "two reviews of one turn: {turn:?}");
            let given = turn.sent_at.is_some();
            for (name, state) in read(self.reads()?.effects(turn.id))? {
                let fits = match state.as_str() {
                    "applied" => given,
                    "void" => !given,
                    _ => turn.state == TurnState::Starting,
                };
                hold!(fits, "the effect `{name}` is {state} of a turn that is {}", turn.state);
            }
        }
        Ok(())
    }

    fn check_counts(&self, now: &Now) -> Held {
        let reads = self.reads()?;
        let counts = read(reads.status_counts())?;
        let open = now.gates.iter().filter(|g| g.gate.status == GateStatus::Open).count() as u64;
        let by_kind = read(reads.open_gates_by_kind())?.values().sum::<u64>();
        let pending = now.items.iter().filter(|i| i.state.is_pending()).count() as u64;
        let failed = now.posts.iter().filter(|p| p.state == PostState::Failed).count() as u64;
        let running = now.turns.iter().filter(|t| t.state.is_running()).count() as u64;
        let lists = (open, open, pending, failed, running);
        let told =
            (counts.open_gates, by_kind, counts.pending_rounds, counts.posts_failed + counts.drafts_failed, counts.running_turns);
        hold!(told == lists, "the counts {told:?} are not the lists {lists:?}");
        Ok(())
    }

    fn check_tasks(&self, tasks: BTreeSet<TaskId>) -> Held {
        let reads = self.reads()?;
        for task in tasks {
            let of = read(reads.gates(&GateFilter { task: Some(task), ..GateFilter::default() }))?;
            let open = of.iter().filter(|g| g.gate.status == GateStatus::Open).count() as u64;
            hold!(read(reads.open_gates_of_task(task))? == open, "the open gates of task {task} are not counted right");
            let unended = |state: Consequence| !matches!(state, Consequence::Ran | Consequence::Unknown);
            let due = of.iter().any(|g| g.consequence.is_some_and(|(state, _)| unended(state)));
            let Some(row) = read(reads.task(task))? else { continue };
            let ended = row.ended_at.is_some();
            hold!(!ended || open == 0, "a captured task ended under an open gate: {row:?}");
            hold!(ended || open > 0 || due || !row.gate_holder, "a captured task outlives its gates: {row:?}");
        }
        Ok(())
    }

    /// Every row that is not at its end has a job, a wake, an open gate, or a place where the person sees it.
    fn check_nothing_is_stranded(&self, now: &Now, jobs: &[Job]) -> Held {
        let (wake, at) = (self.wake()?, self.wall);
        let reads = self.reads()?;
        let generation = self.engine()?.generation();
        if read(reads.last_now())?.duration_since(at) > SignedDuration::from_secs(2) {
            // The clock was set back and the ledger has not taken anything since: what waits is moved along then, and no later.
            hold!(wake.is_some_and(|wake| wake <= at), "nothing moves the times of a clock that was set back");
            return Ok(());
        }
        let wakes_by = |at: Timestamp| wake.is_some_and(|wake| wake <= at);
        let later = |when: Option<Timestamp>| when.is_some_and(|when| when > at && wakes_by(when));
        let provider = read(reads.provider("github"))?;
        // A provider that is signed out, or asked to wait, is shown; the second ends by itself.
        let shut = provider.as_ref().is_some_and(|p| p.signed_out);
        let blocked = provider.as_ref().and_then(|p| p.blocked_until).filter(|until| *until > at);
        if let Some(until) = blocked.filter(|_| !shut) {
            hold!(wakes_by(until), "nothing wakes at the end of the limit");
        }
        let rests = shut || blocked.is_some();
        let running = now.turns.iter().filter(|t| t.state.is_running()).count();
        let releases = jobs.iter().filter(|j| matches!(j, Job::Release(_))).count();
        let full = releases + running >= usize::try_from(PLACES).unwrap_or(usize::MAX);
        for item in &now.items {
            let fine = match item.state {
                ItemState::Waiting | ItemState::CountingDown => now.is_open(item.gate),
                ItemState::Released => {
                    let gate = now.gates.iter().find(|g| g.gate.id == item.gate);
                    // One that the cap had held, and that failed, is told until the person tries it again.
                    let told = gate.and_then(|g| g.consequence).is_some_and(|(state, _)| state == Consequence::Failed);
                    told || rests || full || later(Some(item.try_after)) || jobs.contains(&Job::Release(item.id))
                }
                ItemState::Capped => now.is_open(item.gate),
                ItemState::Blocked => {
                    let blocks = read(reads.blocks())?;
                    hold!(blocks.len() <= 1, "two questions of one agent in one repository: {blocks:?}");
                    let asks = blocks.first().and_then(|block| now.gates.iter().find(|g| g.gate.id == block.gate));
                    asks.is_some_and(|g| g.gate.status == GateStatus::Open || g.consequence.is_some())
                }
                ItemState::Turned | ItemState::Handled | ItemState::Gone => !now.is_open(item.gate),
            };
            hold!(fine, "stranded: {item:?}");
        }
        for post in &now.posts {
            let fine = match post.state {
                PostState::Held => now.is_open(post.gate),
                PostState::Queued => rests || later(post.next_at) || jobs.contains(&Job::Send(post.id)),
                PostState::Sending => {
                    let mine = read(reads.open_attempt(post.id))?.is_some_and(|a| a.generation == generation);
                    let under_way = self.flying.iter().any(|f| match f {
                        Flying::Call(id, ..) => *id == post.id,
                        Flying::Telling(_) => true,
                        Flying::Release(..) | Flying::Turn(..) | Flying::LookUp(..) => false,
                    });
                    (mine && under_way) || rests || later(post.next_at) || jobs.contains(&Job::LookUp(post.id))
                }
                PostState::Failed => !post.cause.is_empty(),
                PostState::Sent | PostState::Dropped => true,
            };
            hold!(fine, "stranded: {post:?}");
        }
        for turn in &now.turns {
            let works = turn.claimed && turn.generation == generation;
            let fine = match turn.state {
                TurnState::Starting => {
                    works || jobs.contains(&Job::StartTurn(turn.id)) || jobs.contains(&Job::CancelTurn(turn.id))
                }
                TurnState::Sent | TurnState::Started => works,
                TurnState::Asked => {
                    now.posts.iter().any(|p| p.turn == Some(turn.id) && !matches!(p.state, PostState::Sent | PostState::Dropped))
                }
                TurnState::Recorded | TurnState::Failed | TurnState::Dismissed | TurnState::Unrecorded => true,
            };
            hold!(fine, "stranded: {turn:?}");
        }
        for row in now.gates.iter().filter(|g| g.gate.status == GateStatus::Open) {
            let has_item = now.items.iter().any(|i| i.gate == row.gate.id && i.state.is_pending());
            let has_post = now.posts.iter().any(|p| p.gate == row.gate.id && p.state == PostState::Held);
            let block = read(reads.block(row.gate.id))?.filter(|block| block.lifted_at.is_none());
            let blocks = |block: &BlockRow| now.items.iter().any(|i| i.state == ItemState::Blocked && i.unit == block.unit);
            hold!(has_item || has_post || block.is_some_and(|b| blocks(&b)), "a gate about nothing: {row:?}");
            if let Some(deadline) = row.gate.deadline {
                hold!(wakes_by(deadline), "nothing wakes at the end of a window: {row:?}");
            }
        }
        if let Some(provider) = provider.filter(|_| !rests) {
            let soon = later(Some(provider.next_sweep_at)) || jobs.contains(&Job::Sweep);
            let bound = at + SignedDuration::from_mins(2);
            // One that github asked to wait for says so until then.
            let asked = provider.error.is_some();
            hold!(
                soon && (asked || provider.next_sweep_at <= bound),
                "no sweep comes: the next is at {}",
                provider.next_sweep_at
            );
        }
        Ok(())
    }
}
