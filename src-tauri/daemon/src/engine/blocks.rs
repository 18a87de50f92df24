//! An agent's first run in a repository, and what an agent asks before it starts: one trust gate for each agent and repository, on
//! which every round of that repository and agent waits (GATE-51 to GATE-56, RUN-30 to RUN-32).

use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::RepoName;
use wloop_core::id::{GateId, UnitRef};
use wloop_core::plan::{ItemEvent, ItemState};
use wloop_core::stops::{BlockKind, question, waits};
use wloop_core::turn::TurnEvent;
use wloop_store::rows::{BlockRow, GateRow, ItemRow, NewEvent, TrustRow, TurnRow};

use super::gates::{NewGate, Policy};
use super::{Cx, event};
use crate::refusal::Answer;

/// What keeps an agent from starting in a repository, before a gate asks about it.
struct Question<'a> {
    agent: &'a str,
    repo: &'a RepoName,
    kind: BlockKind,
    said: &'a str,
}

impl Cx<'_> {
    /// Whether an agent may start a round in a repository; a round that may not waits on the trust gate, which is opened where there
    /// is none. A round that the person asked for tries again what trust does not settle, such as a sign-in.
    pub(super) fn may_start(&mut self, item: &ItemRow, agent: &str, repo: &RepoName) -> Answer<bool> {
        let name = repo.to_string();
        if let Some(block) = self.tx.block_on(agent, &name)?
            && (block.kind.is_about_trust() || !(item.by_hand || self.is_persons(item)?))
        {
            self.wait_on(item, &block)?;
            return Ok(false);
        }
        if self.tx.trust(agent, &name)?.is_some() {
            return Ok(true);
        }
        let block = self.ask(&item.unit, &Question { agent, repo, kind: BlockKind::FirstRun, said: "" })?;
        self.wait_on(item, &block)?;
        Ok(false)
    }

    /// Whether the person released a round.
    fn is_persons(&self, item: &ItemRow) -> Answer<bool> {
        let closed = self.gate(item.gate)?.gate.closed;
        Ok(closed.is_some_and(|closing| matches!(closing.actor, Actor::Person { .. })))
    }

    /// An agent that was given its prompt, or was about to be, did not start because of a question of its own: its round waits
    /// under a trust gate, and nothing of it counts as done (P12).
    pub(super) fn turn_blocked(&mut self, turn: &TurnRow, kind: BlockKind, said: &str) -> Answer<()> {
        self.tx.set_turn_blocked(turn.id)?;
        let cause = format!("the agent did not start: {}", wloop_core::github::material::visible(said.trim()));
        if !self.step_turn(turn, TurnEvent::Fail, EventKind::TurnFailed, &cause)? {
            return Ok(());
        }
        self.tx.return_guidance(turn.id)?;
        for (name, state) in self.tx.effects(turn.id)? {
            if state == "declared" || state == "due" {
                self.tx.void_effect(turn.id, &name, self.now)?;
            }
        }
        let (Some(item), Some(repo)) = (self.tx.item(turn.item)?, self.repo_of(&turn.unit)?) else { return Ok(()) };
        self.tx.forget_handled(&turn.unit, &turn.workflow, turn.created_at)?;
        let block = self.ask(&turn.unit, &Question { agent: &turn.agent, repo: &repo, kind, said })?;
        self.wait_on(&item, &block)
    }

    /// The agent took a prompt up: whatever it asked elsewhere that trust does not settle is settled (RUN-17).
    pub(super) fn agent_started(&mut self, agent: &str) -> Answer<()> {
        for block in self.tx.blocks()? {
            if block.agent == agent && !block.kind.is_about_trust() {
                self.lift(&block, "the agent started again", &Actor::Daemon)?;
                self.let_go(&block, "the agent started again")?;
            }
        }
        Ok(())
    }

    /// The block of an agent in a repository with its open trust gate; another question takes the place of the one before
    /// (GATE-55).
    fn ask(&mut self, unit: &UnitRef, asked: &Question<'_>) -> Answer<BlockRow> {
        match self.tx.block_on(asked.agent, &asked.repo.to_string())? {
            Some(block) if block.kind == asked.kind => Ok(block),
            old => self.put_question(unit, asked, old.as_ref(), "another question of the agent took its place"),
        }
    }

    /// Opens a trust gate on a unit in the place of an older one, if there is one.
    fn put_question(&mut self, unit: &UnitRef, asked: &Question<'_>, old: Option<&BlockRow>, reason: &str) -> Answer<BlockRow> {
        let name = asked.repo.to_string();
        let root = &self.rules.workspaces_root;
        let folder = root.join(&asked.repo.owner).join(&asked.repo.name).to_string_lossy().into_owned();
        let words = question(asked.kind, asked.agent, &name, &folder, asked.said);
        let policy = Policy::Waits("only you trust an agent in a repository");
        let gate = self.open_gate(NewGate { kind: GateKind::Trust, unit, words, policy, turn: None })?;
        // The new gate first, so that a captured task that holds both goes on.
        if let Some(old) = old {
            self.lift(old, reason, &Actor::Daemon)?;
        }
        let block = BlockRow {
            gate: gate.gate.id,
            unit: unit.clone(),
            agent: asked.agent.to_owned(),
            repo: name.to_ascii_lowercase(),
            folder: if asked.kind.is_about_trust() { folder } else { String::new() },
            homes: Vec::new(),
            words: asked.said.to_owned(),
            kind: asked.kind,
            opened_at: self.now,
            lifted_at: None,
        };
        self.tx.insert_block(&block)?;
        self.event(NewEvent {
            unit: Some(unit.clone()),
            gate: Some(block.gate),
            data: json!({ "repo": name, "kind": block.kind.as_str(), "folder": block.folder }),
            ..event(EventKind::BlockRecorded, block.agent.clone())
        })?;
        for item in self.waiting_on(&block)? {
            let why = self.waits_because(&block);
            self.tx.set_item(item.id, item.state, item.state, Some(&why), None, self.now)?;
        }
        Ok(block)
    }

    fn waits_because(&self, block: &BlockRow) -> String {
        waits(block.kind, &block.agent, &block.repo, &block.gate.to_string()[..6])
    }

    /// A released round, or one whose agent did not start, waits on a trust gate; its plan gate has done what it could (C2).
    fn wait_on(&mut self, item: &ItemRow, block: &BlockRow) -> Answer<()> {
        let why = self.waits_because(block);
        self.step_item(item, ItemEvent::Block, Some(&why))?;
        let gate = self.gate(item.gate)?;
        self.consequence_ran(&gate, &format!("blocked: {why}"))?;
        self.end_task_of(&gate, gate.gate.status)?;
        self.event(NewEvent {
            unit: Some(item.unit.clone()),
            gate: Some(block.gate),
            data: json!({ "why": why }),
            ..event(EventKind::RoundDeferred, item.workflow.clone())
        })
    }

    /// The rounds that wait on a block, in the order they were planned.
    fn waiting_on(&self, block: &BlockRow) -> Answer<Vec<ItemRow>> {
        let mut waiting = Vec::new();
        for item in self.tx.items_in(ItemState::Blocked)? {
            if self.agent_of(&item) == block.agent && self.is_in(&item.unit, &block.repo)? {
                waiting.push(item);
            }
        }
        Ok(waiting)
    }

    fn agent_of(&self, item: &ItemRow) -> String {
        self.rules.agent_for(self.rules.profile.intents.get(&item.intent).and_then(|intent| intent.agent.as_deref()))
    }

    fn repo_of(&self, unit: &UnitRef) -> Answer<Option<RepoName>> {
        Ok(self.tx.pull(unit)?.map(|row| row.summary.repo))
    }

    fn is_in(&self, unit: &UnitRef, repo: &str) -> Answer<bool> {
        Ok(self.repo_of(unit)?.is_some_and(|of| of.to_string().eq_ignore_ascii_case(repo)))
    }

    /// A block is over; a gate that still asks about it is superseded (GATE-52).
    fn lift(&mut self, block: &BlockRow, reason: &str, actor: &Actor) -> Answer<()> {
        self.tx.lift_block(block.gate, self.now)?;
        self.event(NewEvent {
            unit: Some(block.unit.clone()),
            gate: Some(block.gate),
            data: json!({ "repo": block.repo, "why": reason }),
            actor: actor.clone(),
            ..event(EventKind::BlockLifted, block.agent.clone())
        })?;
        let gate = self.gate(block.gate)?;
        self.supersede(&gate, reason, &Actor::Daemon)
    }

    /// Every round that waited on a block goes on, each once (P13, K26).
    fn let_go(&mut self, block: &BlockRow, reason: &str) -> Answer<()> {
        for item in self.waiting_on(block)? {
            self.unblock(&item, reason)?;
        }
        Ok(())
    }

    fn unblock(&mut self, item: &ItemRow, reason: &str) -> Answer<()> {
        match item.state.step(ItemEvent::Unblock) {
            Ok(next) => Ok(self.tx.set_item(item.id, item.state, next, Some(reason), Some(self.now), self.now)?),
            Err(fault) => {
                tracing::error!(item = %item.id, %fault, "a blocked round took no step");
                Ok(())
            }
        }
    }

    /// What the person's answer to a trust gate does in the ledger: `trust_run` leaves its consequence due until the agent's home is
    /// written; any other answer lifts the block, writes no trust and gives the waiting rounds up (P14).
    pub(super) fn trust_gate_closed(&mut self, row: &GateRow) -> Answer<()> {
        match row.gate.status {
            GateStatus::Approved | GateStatus::Open | GateStatus::Superseded => return Ok(()),
            GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed => {}
        }
        let Some(block) = self.tx.block(row.gate.id)?.filter(|block| block.lifted_at.is_none()) else { return Ok(()) };
        let waiting = self.waiting_on(&block)?;
        self.lift(&block, "you did not let it run", &self.acting.clone())?;
        let why = format!("you did not let the agent {} run in {}", block.agent, block.repo);
        for item in &waiting {
            self.leave(item, &why)?;
            // It is offered again when something new happens, and not every minute (P17).
            self.tx.put_handled(&item.unit, &item.workflow, &item.key, "skipped", self.now)?;
        }
        self.consequence_ran(row, "no trust was written, and what waited was given up")?;
        self.end_task_of(row, row.gate.status)
    }

    /// The agent's home holds the trust now, or could not be written. Trust stands in the ledger from here on, and the waiting rounds
    /// go on (GATE-13, K26).
    pub(super) fn trust_written(&mut self, gate: GateId, written: Result<(), String>) -> Answer<()> {
        use wloop_core::consequence::Consequence;
        let row = self.gate(gate)?;
        let due = row.gate.status == GateStatus::Approved && row.consequence.is_some_and(|(state, _)| state == Consequence::Due);
        let Some(block) = self.tx.block(gate)?.filter(|_| due) else { return Ok(()) };
        if let Err(why) = written {
            let words = format!("the agent's home could not be written: {why}");
            for item in self.waiting_on(&block)? {
                let told = format!("{words}; `wloop gates retry {}` tries again", &gate.to_string()[..6]);
                self.tx.set_item(item.id, item.state, item.state, Some(&told), None, self.now)?;
            }
            return self.consequence_failed(&row, &words);
        }
        let trust = TrustRow {
            agent: block.agent.clone(),
            repo: block.repo.clone(),
            at: self.now,
            gate: Some(gate),
            folder: block.folder.clone(),
        };
        self.tx.put_trust(&trust)?;
        self.event(NewEvent {
            data: json!({ "agent": block.agent, "repo": block.repo, "folder": block.folder, "homes": block.homes }),
            ..self.about(&row, EventKind::TrustWritten, row.gate.closed.as_ref().map_or(Actor::PERSON, |c| c.actor.clone()))
        })?;
        // Another question may have taken its place meanwhile: then the rounds wait on that.
        if block.lifted_at.is_none() {
            self.lift(&block, "you trusted it", &self.acting.clone())?;
            self.let_go(&block, "you let it run")?;
        }
        self.consequence_ran(&row, &format!("{} is trusted in {}", block.agent, block.repo))?;
        self.end_task_of(&row, row.gate.status)
    }

    /// A blocked round left the plan: where it was the one that asks, the next one asks (RUN-32).
    pub(super) fn blocked_left(&mut self, item: &ItemRow) -> Answer<()> {
        let (agent, Some(repo)) = (self.agent_of(item), self.repo_of(&item.unit)?) else { return Ok(()) };
        match self.tx.block_on(&agent, &repo.to_string())? {
            Some(block) => self.settle_block(&block),
            None => Ok(()),
        }
    }

    fn settle_block(&mut self, block: &BlockRow) -> Answer<()> {
        if self.gate(block.gate)?.gate.status != GateStatus::Open {
            return Ok(());
        }
        let waiting = self.waiting_on(block)?;
        if waiting.iter().any(|item| item.unit == block.unit) {
            return Ok(());
        }
        let Some(next) = waiting.first() else { return self.lift(block, "nothing waits for it any more", &Actor::Daemon) };
        let Some(repo) = self.repo_of(&next.unit)? else { return Ok(()) };
        let asked = Question { agent: &block.agent, repo: &repo, kind: block.kind, said: &block.words };
        self.put_question(&next.unit, &asked, Some(block), "the round that asked left the plan")?;
        Ok(())
    }

    /// Brings blocks and what waits on them in line: at a start, where the configuration may name another agent, and after many
    /// rounds left together. Any number of times it comes to the same (GATE-62, K27).
    pub(super) fn settle_blocks(&mut self) -> Answer<()> {
        for item in self.tx.items_in(ItemState::Blocked)? {
            let (agent, repo) = (self.agent_of(&item), self.repo_of(&item.unit)?);
            let held = match repo {
                Some(repo) => self.tx.block_on(&agent, &repo.to_string())?.is_some(),
                None => false,
            };
            if !held {
                self.unblock(&item, "nothing blocks it any more")?;
            }
        }
        for block in self.tx.blocks()? {
            self.settle_block(&block)?;
        }
        Ok(())
    }
}
