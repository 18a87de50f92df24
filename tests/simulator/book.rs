//! What the simulator remembers of the ledger, told by its events, and what must hold of each change. Nothing here asks the engine:
//! the book is what an honest witness would have written down.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::PostOrder;
use wloop_core::github::publish::marker_of;
use wloop_core::id::{GateId, ItemId, PostId, SessionId, TaskId, TurnId};
use wloop_core::post::PostState;
use wloop_store::rows::{EventRow, GateRow, PostRow, TurnRow};
use wloop_store::{PostFilter, Reads};

use crate::life::{Held, hold, read};
use crate::script::Dice;
use crate::witness::Tally;

/// Whose input it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    /// A request of the person's.
    Person,
    /// A request of the person's through a session that they drive.
    Driven(SessionId),
    /// The gates tick.
    Tick,
    /// A job, an agent, a provider, a start.
    Other,
}

/// The rows that events named since they were last looked at.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) gates: BTreeSet<GateId>,
    pub(crate) turns: BTreeSet<TurnId>,
    pub(crate) posts: BTreeSet<PostId>,
    pub(crate) tasks: BTreeSet<TaskId>,
}

/// The book of one home.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// The newest event that was looked at.
    pub(crate) last: i64,
    pub(crate) gates: BTreeMap<GateId, GateRow>,
    pub(crate) turns: BTreeMap<TurnId, TurnRow>,
    pub(crate) posts: BTreeMap<PostId, PostRow>,
    pub(crate) touched: Touched,
    /// Sessions that agents' own hooks told of, in which the person types.
    pub(crate) hooked: BTreeSet<SessionId>,
    /// Posts of which the person said that they were sent.
    pub(crate) said_sent: BTreeSet<PostId>,
    /// Posts that the person settled, or whose turn they cancelled.
    pub(crate) settled: BTreeSet<PostId>,
    decided: BTreeMap<GateId, i64>,
    ran: BTreeMap<GateId, usize>,
    retried: BTreeMap<GateId, usize>,
    turn_of_gate: BTreeMap<GateId, TurnId>,
    turn_of_item: BTreeMap<ItemId, TurnId>,
    given: BTreeSet<TurnId>,
    claimed: BTreeSet<TurnId>,
    sent: BTreeSet<PostId>,
}

/// A turn whose agent would not start is no turn: its round is given again once the question is answered.
pub(crate) fn was_none(turn: &TurnRow) -> bool {
    turn.cause.starts_with("the agent did not start")
}

impl Book {
    /// Takes in what was recorded since the last look.
    pub(crate) fn look(&mut self, reads: &Reads<'_>, hand: Hand) -> Held {
        let events = read(reads.events_after(self.last, 10_000, None))?;
        let opened: BTreeSet<GateId> =
            events.iter().filter(|e| e.event.kind == EventKind::GateOpened).filter_map(|e| e.event.gate).collect();
        let (mut gates, mut turns, mut posts) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for row in &events {
            gates.extend(row.event.gate);
            turns.extend(row.event.turn);
            posts.extend(row.event.post);
            self.touched.tasks.extend(row.event.task);
            self.last = row.id;
        }
        for id in &gates {
            self.see_gate(reads, *id)?;
            turns.extend(self.gates.get(id).and_then(|row| row.turn));
        }
        for id in &turns {
            if let Some(turn) = read(reads.turn(*id))? {
                self.turns.insert(*id, turn);
            }
            // What is told of a turn, or of its gate, may be meant of its posts.
            for post in read(reads.posts(&PostFilter { turn: Some(*id), ..PostFilter::default() }))? {
                posts.remove(&post.id);
                self.touched.posts.insert(post.id);
                self.posts.insert(post.id, post);
            }
        }
        // And what is told of a draft's gate, of the draft.
        posts.extend(self.posts.values().filter(|post| gates.contains(&post.gate)).map(|post| post.id));
        for id in &posts {
            if let Some(post) = read(reads.post(*id))? {
                self.posts.insert(*id, post);
            }
        }
        self.touched.gates.append(&mut gates);
        self.touched.turns.append(&mut turns);
        self.touched.posts.append(&mut posts);
        for row in &events {
            self.event(reads, row, hand, &opened)?;
        }
        Ok(())
    }

    /// A gate that was seen closed is the same for ever.
    pub(crate) fn see_gate(&mut self, reads: &Reads<'_>, id: GateId) -> Held {
        let Some(row) = read(reads.gate(id))? else { return Ok(()) };
        if let Some(before) = self.gates.get(&id).filter(|before| before.gate.status != GateStatus::Open) {
            let same = before.gate.status == row.gate.status && before.gate.closed == row.gate.closed;
            hold!(same, "a closed gate changed: {:?} became {:?}", before.gate, row.gate);
        }
        self.gates.insert(id, row);
        Ok(())
    }

    fn event(&mut self, reads: &Reads<'_>, row: &EventRow, hand: Hand, opened: &BTreeSet<GateId>) -> Held {
        let event = &row.event;
        match (event.kind, event.gate, event.turn, event.post) {
            (EventKind::GateDecided, Some(gate), _, _) => {
                hold!(!self.decided.contains_key(&gate), "a gate was decided twice: {gate}");
                self.decided.insert(gate, row.id);
                self.by_somebody_who_may(gate, &event.actor, hand, opened.contains(&gate))?;
            }
            (EventKind::ConsequenceRan, Some(gate), _, _) => {
                let times = self.ran.entry(gate).or_default();
                *times += 1;
                let most = 1 + self.retried.get(&gate).copied().unwrap_or(0);
                hold!(*times <= most, "a consequence ran twice: of gate {gate}");
                hold!(self.decided.contains_key(&gate), "a consequence ran before its resolution: of gate {gate}");
            }
            (EventKind::ConsequenceRetried, Some(gate), _, _) => *self.retried.entry(gate).or_default() += 1,
            (EventKind::TurnStarting, Some(gate), Some(turn), _) => {
                self.may_run(gate)?;
                let before = self.turn_of_gate.insert(gate, turn);
                hold!(self.never_began(before), "two turns of one gate: {gate}");
                if let Some(item) = self.turns.get(&turn).map(|t| t.item) {
                    let before = self.turn_of_item.insert(item, turn);
                    hold!(self.never_began(before), "two turns of one planned round: {item}");
                }
            }
            (EventKind::TurnSent, _, Some(turn), _) => {
                hold!(self.given.insert(turn), "a prompt was given twice: turn {turn}");
            }
            (EventKind::PostSending, _, _, Some(post)) => self.released(post)?,
            (EventKind::PostSent, _, _, Some(post)) => {
                hold!(self.sent.insert(post), "a post was recorded as sent twice: {post}");
                self.released(post)?;
            }
            (EventKind::PostSettled, _, _, Some(post)) => {
                hold!(matches!(event.actor, Actor::Person { .. }), "a post was settled by {:?}", event.actor);
                self.settled.insert(post);
            }
            (EventKind::DraftDropped, _, _, Some(post)) => {
                self.settled.insert(post);
            }
            (EventKind::TaskEnded, _, _, _) => {
                if let Some(task) = event.task {
                    hold!(read(reads.open_gates_of_task(task))? == 0, "a captured task ended under an open gate: {task}");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a turn, if there was one, was none: its agent would not start before the person answered it.
    fn never_began(&self, turn: Option<TurnId>) -> bool {
        turn.and_then(|turn| self.turns.get(&turn)).is_none_or(|turn| was_none(turn) && !self.given.contains(&turn.id))
    }

    /// A resolution is the person's own, a rule's at the opening, or a window's at its end; the last two never for what is the
    /// person's alone.
    fn by_somebody_who_may(&self, gate: GateId, actor: &Actor, hand: Hand, opened: bool) -> Held {
        let Some(row) = self.gates.get(&gate) else { return Err(crate::life::Broken(format!("no such gate: {gate}"))) };
        let closing = row.gate.closed.as_ref();
        hold!(closing.map(|c| &c.actor) == Some(actor), "the record and the gate name two actors: {row:?}");
        let kind = row.gate.kind;
        match actor {
            Actor::Person { via: Some(session) } => {
                hold!(hand == Hand::Driven(*session), "the person resolved nothing through {session}: {row:?}");
                let own = row.turn.and_then(|turn| self.turns.get(&turn)).map(|turn| turn.session);
                hold!(own != Some(*session), "a session answered what its own turn asked: {row:?}");
            }
            Actor::Person { via: None } => hold!(hand == Hand::Person, "the person resolved nothing here: {row:?}"),
            Actor::Window => {
                let late = closing.zip(row.gate.deadline).is_some_and(|(closing, deadline)| closing.at >= deadline);
                hold!(hand == Hand::Tick && late, "a window ended that was not over: {row:?}");
                hold!(kind.may_be_released() && row.gate.status == GateStatus::Approved, "a window took: {row:?}");
            }
            Actor::Rule(_) => {
                hold!(opened, "a rule resolved a gate that waited already: {row:?}");
                let dry_run = kind == GateKind::Draft && row.gate.status == GateStatus::Rejected;
                let takes = kind.may_be_released() && row.gate.status == GateStatus::Approved;
                hold!(takes || dry_run, "a rule took: {row:?}");
            }
            Actor::Session(_) | Actor::Workflow(_) | Actor::Daemon | Actor::Provider(_) => {
                return Err(crate::life::Broken(format!("a gate was resolved by {actor:?}: {row:?}")));
            }
        }
        if matches!(kind, GateKind::Post | GateKind::Trust | GateKind::Question) {
            hold!(matches!(actor, Actor::Person { .. }), "only the person resolves: {row:?}");
        }
        Ok(())
    }

    /// Something of a round is about to begin: its gate's approval stands in the record.
    pub(crate) fn may_run(&self, gate: GateId) -> Held {
        let approved = self.gates.get(&gate).is_some_and(|row| row.gate.status == GateStatus::Approved);
        hold!(approved && self.decided.contains_key(&gate), "a round began before its release was written: gate {gate}");
        Ok(())
    }

    /// A turn's process is about to be started, for the only time.
    pub(crate) fn starts(&mut self, turn: TurnId) -> Held {
        hold!(self.claimed.insert(turn), "a turn's process was started twice: {turn}");
        let gate = self.turns.get(&turn).map(|t| t.gate);
        gate.map_or_else(|| Err(crate::life::Broken(format!("a turn without a row: {turn}"))), |gate| self.may_run(gate))
    }

    fn released(&self, post: PostId) -> Held {
        let Some(row) = self.posts.get(&post) else { return Err(crate::life::Broken(format!("no such post: {post}"))) };
        // A post that was put back under a gate in the same breath stands under the new one by now.
        if row.state == PostState::Held {
            return Ok(());
        }
        let gate = self.gates.get(&row.gate);
        let let_out = gate.is_some_and(|g| matches!(g.gate.status, GateStatus::Approved | GateStatus::Answered));
        hold!(let_out && self.decided.contains_key(&row.gate), "a post went without a resolution before it: {row:?}");
        Ok(())
    }

    /// A call is about to be made: released, its attempt committed by this daemon, its text with its own marker.
    pub(crate) fn may_go(&self, reads: &Reads<'_>, post: PostId, order: &PostOrder, generation: i64) -> Held {
        self.released(post)?;
        let row = read(reads.post(post))?;
        let sending = row.as_ref().is_some_and(|row| row.state == PostState::Sending);
        let attempt = read(reads.open_attempt(post))?.filter(|attempt| attempt.generation == generation);
        hold!(sending && attempt.is_some(), "a call without its attempt: {row:?} {attempt:?}");
        hold!(marker_of(&order.body) == Some(post), "a post without its marker: {}", order.body);
        let open = read(reads.attempts(post))?.iter().filter(|a| a.ended.is_none()).count();
        hold!(open == 1, "two calls of one post at once: {post}");
        Ok(())
    }

    pub(crate) fn open_gates(&self) -> Vec<GateRow> {
        self.gates.values().filter(|row| row.gate.status == GateStatus::Open).cloned().collect()
    }

    pub(crate) fn any_gate(&self, dice: &mut Dice) -> Option<GateRow> {
        self.gates.values().nth(dice.roll(self.gates.len())).cloned()
    }

    pub(crate) fn any_turn(&self, dice: &mut Dice, running: bool) -> Option<&TurnRow> {
        let fits: Vec<&TurnRow> = self.turns.values().filter(|t| !running || t.state.is_running()).collect();
        dice.pick(&fits)
    }

    pub(crate) fn posts_in(&self, state: PostState) -> Vec<PostId> {
        self.posts.values().filter(|post| post.state == state).map(|post| post.id).collect()
    }

    /// How many rows of each kind are in which state, by what the events told.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::new();
        let gates = self.gates.values().map(|row| ("gate", row.gate.status.as_str()));
        let turns = self.turns.values().map(|row| ("turn", row.state.as_str()));
        let posts = self.posts.values().map(|row| ("post", row.state.as_str()));
        for (table, state) in gates.chain(turns).chain(posts) {
            match tally.get_mut(&(table, Cow::Borrowed(state))) {
                Some(count) => *count += 1,
                None => {
                    tally.insert((table, Cow::Borrowed(state)), 1);
                }
            }
        }
        tally
    }

    /// Gates whose consequence is due.
    pub(crate) fn due(&self) -> impl Iterator<Item = &GateRow> {
        self.gates.values().filter(|row| row.consequence.is_some_and(|(state, _)| state == Consequence::Due))
    }
}
