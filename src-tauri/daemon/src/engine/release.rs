//! From a released plan gate to a turn's row: the consequence of a plan gate (ROUND-06 to ROUND-09, K1, K16).

use jiff::SignedDuration;
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::{Detail, PullState, ReadFault, RepoName, ReviewState};
use wloop_core::id::{ItemId, SessionId, TurnId, UnitRef};
use wloop_core::plan::{ItemEvent, ItemState};
use wloop_core::rules::value::to_json;
use wloop_core::turn::TurnState;
use wloop_store::rows::{ItemRow, NewEvent, SessionRow, TurnRow};

use super::book::Seen;
use super::gates::{NewGate, Policy};
use super::offers::offer;
use super::{Cx, Reply, event};
use crate::edge::planted;
use crate::input::Prepared;
use crate::refusal::{Answer, Refusal, RefusalKind};

/// How long a released round rests when something it needs is missing.
const REST: SignedDuration = SignedDuration::from_secs(60);

/// How long a round rests that found every agent busy.
const SLOT: SignedDuration = SignedDuration::from_secs(2);

/// What a released round needs before its turn's row is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseOrder {
    /// The item.
    pub item: ItemId,
    /// The repository.
    pub repo: RepoName,
    /// The pull request's number.
    pub number: u64,
    /// The commit to check out.
    pub head: String,
    /// The base branch.
    pub base_branch: String,
    /// The base commit.
    pub base: String,
    /// The name of the workspace's folder, before it is reduced to plain letters (WS-05).
    pub folder: String,
    /// The agent that is to run.
    pub agent: String,
}

impl Cx<'_> {
    /// A released round was looked at once more: it goes on, is gone, or waits (ROUND-06, ROUND-07).
    pub(super) fn start_release(&mut self, id: ItemId, read: Result<Detail, ReadFault>) -> Answer<Reply> {
        let Some(item) = self.tx.item(id)? else { return Ok(Reply::NotNow) };
        let early = planted!("consequence_before_its_record") && item.state == ItemState::CountingDown;
        if item.state != ItemState::Released && !early {
            return Ok(Reply::NotNow);
        }
        let detail = match read {
            Ok(detail) => detail,
            Err(fault) => {
                self.see_detail(&item.unit, Err(fault.clone()))?;
                let wait = match &fault {
                    // A wait for a limit is waited for, and nothing is tried meanwhile (GH-SYNC-37).
                    ReadFault::Wait { until, .. } => until.duration_since(self.now).max(REST),
                    ReadFault::SignedOut(_) | ReadFault::NotFound(_) | ReadFault::Unreachable(_) | ReadFault::Unusable(_) => REST,
                };
                self.defer_item(&item, &format!("the pull request could not be read: {fault}"), wait)?;
                return Ok(Reply::NotNow);
            }
        };
        self.see_detail(&item.unit, Ok(detail))?;
        let Some(item) = self.tx.item(id)?.filter(|i| early || i.state == ItemState::Released) else { return Ok(Reply::NotNow) };
        let Some(seen) = self.seen(&item.unit)? else {
            self.defer_item(&item, "the account of the token is not known yet", REST)?;
            return Ok(Reply::NotNow);
        };
        if !self.still_due(&item, &seen)? {
            return Ok(Reply::NotNow);
        }
        let intent = self.rules.profile.intents.get(&item.intent);
        let Some(intent) = intent else {
            self.leave_plan(&item, &format!("the profile has no intent `{}`", item.intent))?;
            return Ok(Reply::NotNow);
        };
        let agent = self.rules.agent_for(intent.agent.as_deref());
        if !self.may_start(&item, &agent, &seen.detail.summary.repo)? {
            return Ok(Reply::NotNow);
        }
        self.mark_started(&item)?;
        let folder = intent
            .workspace
            .as_ref()
            .and_then(|w| wloop_core::rules::words::render_line(&w.name, &seen.facts).ok())
            .unwrap_or_else(|| seen.detail.slug());
        Ok(Reply::Release(Box::new(ReleaseOrder {
            item: id,
            repo: seen.detail.summary.repo.clone(),
            number: seen.detail.summary.number,
            head: seen.detail.summary.head.clone(),
            base_branch: seen.detail.base.clone(),
            base: seen.detail.base_oid.clone(),
            folder,
            agent,
        })))
    }

    /// Whether a released round may still start; one that may not leaves the plan or waits, with its reason.
    fn still_due(&mut self, item: &ItemRow, seen: &Seen) -> Answer<bool> {
        if let Some(open) = self.tx.open_turn(&item.unit)? {
            self.defer_item(item, &format!("turn {} is {}", open.seq, open.state), REST)?;
            return Ok(false);
        }
        let by_person = {
            let gate = self.gate(item.gate)?;
            matches!(gate.gate.closed.map(|c| c.actor), Some(Actor::Person { .. }))
        };
        if item.by_hand {
            if let Some(why) = by_hand_refusal(&seen.detail, seen) {
                self.leave_plan(item, &why)?;
                return Ok(false);
            }
            return Ok(true);
        }
        if self.is_paused(&item.unit)? {
            self.leave_plan(item, super::holds::PAUSED)?;
            return Ok(false);
        }
        let rules = self.rules;
        let Some(workflow) = rules.profile.workflows.get(&item.workflow) else {
            self.defer_item(item, &format!("the workflow `{}` does not load", item.workflow), REST)?;
            return Ok(false);
        };
        if !self.acts_on(workflow, seen) && !by_person {
            self.leave_plan(item, "its workflow does not act any more")?;
            return Ok(false);
        }
        let wanted = self.wants(workflow, seen);
        let moved = seen.detail.summary.head != item.head;
        match wanted {
            None => {
                self.leave_plan(item, &super::plan::reason(&seen.facts, &item.stage))?;
                Ok(false)
            }
            Some(_) if moved && !by_person => {
                self.leave_plan(item, "the head moved")?;
                self.plan_unit(&item.unit)?;
                Ok(false)
            }
            // What the person ran is theirs; what would start by itself is held by the cap (WIN-27).
            Some(_) if by_person => Ok(true),
            Some(_) => match self.cap_on(&item.unit, workflow)? {
                Some(reached) => {
                    self.hold_by_cap(item, workflow, seen, &reached)?;
                    Ok(false)
                }
                None => Ok(true),
            },
        }
    }

    /// A round's workspace is ready: its turn's row is written with every pin, and the gate's consequence ran (T0, C2).
    pub(super) fn end_release(&mut self, id: ItemId, prepared: Result<Prepared, String>) -> Answer<()> {
        let Some(item) = self.tx.item(id)?.filter(|i| i.state == ItemState::Released) else { return Ok(()) };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            // What the cap had held acts in the person's name: it is tried again on their word alone (CONS-12).
            Err(why) if item.cap.is_some() && self.awaits_its_start(&item)? => {
                let gate = self.gate(item.gate)?;
                self.consequence_failed(&gate, &why)?;
                let told = format!("{why}; `wloop gates retry {}` tries again", &gate.gate.id.to_string()[..6]);
                return Ok(self.tx.set_item(item.id, item.state, item.state, Some(&told), None, self.now)?);
            }
            Err(why) => return self.defer_item(&item, &why, REST),
        };
        let Some(seen) = self.seen(&item.unit)? else { return Ok(()) };
        if seen.detail.summary.head != prepared.head {
            return self.unmark_started(&item);
        }
        if !self.still_due(&item, &seen)? {
            return Ok(());
        }
        // Whoever works in its workspace goes first; what was released stays so, and its guidance stays (ROUND-27).
        if let Some(why) = prepared.workplace.busy(self.now) {
            let next = self.github()?.next_sweep_at.duration_since(self.now);
            return self.defer_item(&item, &why, next.max(SLOT));
        }
        let most = usize::try_from(self.rules.config.agents_max_running).unwrap_or(usize::MAX);
        let running = self.tx.running_turns()?;
        if running.len() >= most {
            return self.defer_item(&item, "as many agents run as `agents.max_running` allows", SLOT);
        }
        let Some(intent) = self.rules.profile.intents.get(&item.intent) else { return Ok(()) };
        let gate = self.gate(item.gate)?;
        let agent = self.rules.agent_for(intent.agent.as_deref());
        if running.iter().filter(|turn| turn.agent == agent).count() >= self.rules.most_of(&agent) {
            let why = format!("as many of them run as `agents.{agent}.max_running` allows");
            return self.defer_item(&item, &why, SLOT);
        }
        if !self.may_start(&item, &agent, &seen.detail.summary.repo)? {
            return Ok(());
        }
        let session = SessionRow {
            id: SessionId::draw(self.ids),
            agent: agent.clone(),
            manager: "wloop".to_owned(),
            state: "active".to_owned(),
            folder: prepared.folder.clone(),
            remote: None,
            created_at: self.now,
        };
        self.tx.insert_session(&session)?;
        let kept = self.tx.guidance(&item.unit)?;
        let guidance = kept.iter().map(|g| g.text.as_str()).collect::<Vec<_>>().join("\n\n");
        let turn = TurnRow {
            id: TurnId::draw(self.ids),
            unit: item.unit.clone(),
            seq: self.tx.next_seq(&item.unit)?,
            intent: item.intent.clone(),
            intent_version: intent.version.clone(),
            stage: item.stage.clone(),
            state: TurnState::Starting,
            by_hand: item.by_hand,
            workflow: item.workflow.clone(),
            item: item.id,
            gate: item.gate,
            session: session.id,
            agent,
            head: prepared.head.clone(),
            base: seen.detail.base_oid.clone(),
            merge_base: Some(prepared.merge_base.clone()),
            covered: covered(&seen, &item.intent),
            guidance: (!guidance.is_empty()).then_some(guidance),
            workspace: Some(prepared.folder),
            generation: self.generation,
            claimed: false,
            process: None,
            group_ended: false,
            cancel_by: None,
            created_at: self.now,
            sent_at: None,
            started_at: None,
            ended_at: None,
            verdict: None,
            record: None,
            cause: String::new(),
        };
        self.tx.insert_turn(&turn)?;
        for text in kept {
            self.tx.take_guidance(text.id, turn.id)?;
        }
        for name in &intent.on_send {
            self.tx.declare_effect(turn.id, name, self.now)?;
        }
        self.step_item(&item, ItemEvent::Start, None)?;
        self.tx.put_handled(&item.unit, &item.workflow, &item.key, "ran", self.now)?;
        // It deals with the pull request as it is now, which may be newer than the plan was (ROUND-02, ROUND-07).
        let rules = self.rules;
        let wanted = rules.profile.workflows.get(&item.workflow).and_then(|workflow| self.wants(workflow, &seen));
        if let Some(wanted) = wanted.filter(|wanted| wanted.key != item.key) {
            self.tx.put_handled(&item.unit, &item.workflow, &wanted.key, "ran", self.now)?;
        }
        self.consequence_ran(&gate, &format!("turn {} was written", turn.seq))?;
        self.end_task_of(&gate, GateStatus::Approved)?;
        self.event(NewEvent {
            unit: Some(turn.unit.clone()),
            gate: Some(turn.gate),
            turn: Some(turn.id),
            data: json!({ "stage": turn.stage, "head": turn.head, "agent": turn.agent }),
            actor: if item.by_hand { Actor::PERSON } else { Actor::Workflow(item.workflow.clone()) },
            ..event(EventKind::TurnStarting, turn.intent)
        })
    }

    /// At a start, a released round that rested because something was missing is looked at anew: it may have been mended.
    pub(super) fn wake_released(&mut self) -> Answer<()> {
        for item in self.tx.items_in(ItemState::Released)? {
            if item.try_after > self.now {
                self.tx.set_item(item.id, item.state, item.state, None, Some(self.now), self.now)?;
            }
        }
        Ok(())
    }

    /// A round that the person asks for: a pending one of the unit is run now, else a gate is written that they have approved (G19).
    pub(super) fn round_by_hand(
        &mut self,
        unit: &UnitRef,
        intent: &str,
        stage: Option<&str>,
        guidance: Option<&str>,
    ) -> Answer<Reply> {
        let rules = self.rules;
        if !rules.profile.intents.contains_key(intent) {
            let known = rules.profile.intents.keys().cloned().collect::<Vec<_>>().join("`, `");
            let words = format!("the profile has no intent `{intent}`; it has `{known}`");
            return Err(Refusal::new(RefusalKind::Invalid, words).field("intent").into());
        }
        let workflow = rules.profile.workflows.values().find(|w| w.steps.iter().any(|s| s.intent() == intent));
        let name = workflow.map_or(intent, |w| w.name.as_str()).to_owned();
        let Some(seen) = self.seen(unit)? else {
            return Err(
                Refusal::new(RefusalKind::Unavailable, format!("`{unit}` was not read yet; try again in a moment")).into()
            );
        };
        if let Some(open) = self.tx.open_turn(unit)? {
            let words = format!(
                "turn {} of {} is {}; `wloop turns show {}` shows it",
                open.seq,
                seen.detail.slug(),
                open.state,
                &open.id.to_string()[..6]
            );
            return Err(Refusal::new(RefusalKind::Conflict, words).into());
        }
        let refused = by_hand_refusal(&seen.detail, &seen).or_else(|| self.action_refusal(intent, &seen));
        if let Some(why) = refused {
            return Err(Refusal::new(RefusalKind::Conflict, format!("no round starts on {}: {why}", seen.detail.slug())).into());
        }
        if let Some(pending) = self.tx.pending_item(unit, &name)? {
            let gate = self.gate(pending.gate)?;
            // What the cap holds is run by hand all the same, and a text goes with it (WIN-29, ROUND-31).
            if pending.state == ItemState::Capped {
                if let Some(text) = guidance {
                    self.tx.keep_guidance(unit, text, false, self.now)?;
                }
                self.resolve(&gate, "run_now", None, &self.acting.clone())?;
                return Ok(Reply::Round { gate: gate.gate.id });
            }
            if gate.gate.closed.is_none() {
                let (intent, text) = match guidance {
                    Some(text) => ("guide", Some(text)),
                    None => ("run_now", None),
                };
                self.resolve(&gate, intent, text, &self.acting.clone())?;
                return Ok(Reply::Round { gate: gate.gate.id });
            }
            let words = format!("a round on {} is about to start: {}", seen.detail.slug(), pending.reason);
            return Err(Refusal::new(RefusalKind::Conflict, words).about(gate.gate.id).into());
        }
        if let Some(text) = guidance {
            self.tx.keep_guidance(unit, text, false, self.now)?;
        }
        let reviewed = seen.facts.get("pr.last_review.exists") == Some(&wloop_core::rules::value::Value::Bool(true));
        let stage = stage.map_or_else(|| if reviewed { "follow-up" } else { "first" }.to_owned(), str::to_owned);
        let gate = self.open_gate(NewGate {
            kind: GateKind::Plan,
            unit,
            words: format!("{intent} {} by hand", seen.detail.slug()),
            policy: Policy::ByPerson(&self.acting.clone()),
            turn: None,
        })?;
        let item = ItemRow {
            id: ItemId::draw(self.ids),
            unit: unit.clone(),
            workflow: name.clone(),
            key: wloop_core::github::facts::review_key(&seen.detail, &seen.viewer, &seen.settings, &stage),
            intent: intent.to_owned(),
            stage,
            state: ItemState::Released,
            gate: gate.gate.id,
            head: seen.detail.summary.head.clone(),
            reason: "you asked for it".to_owned(),
            by_hand: true,
            cap: None,
            try_after: self.now,
            planned_at: self.now,
            changed_at: self.now,
        };
        self.tx.insert_item(&item)?;
        self.event(NewEvent {
            unit: Some(unit.clone()),
            gate: Some(gate.gate.id),
            data: json!({ "why": item.reason, "stage": item.stage }),
            actor: self.acting.clone(),
            ..event(EventKind::RoundPlanned, name)
        })?;
        Ok(Reply::Round { gate: gate.gate.id })
    }
}

impl Cx<'_> {
    /// Why the profile does not let an intent's action be run now, evaluated once more on the row as it is (INT-03). What holds only
    /// a round that runs by itself is no part of it (ROUND-31).
    fn action_refusal(&self, intent: &str, seen: &Seen) -> Option<String> {
        let action = self.rules.profile.intents.get(intent)?.action.as_ref()?;
        let facts = wloop_core::github::facts::by_hand(&seen.facts);
        let offered = offer(intent, action, &facts, self.now);
        (!offered.enabled).then(|| offered.disabled.unwrap_or_else(|| format!("`{intent}` is not enabled on it")))
    }
}

/// Why not even the person's wish starts a round (ROUND-31).
pub(super) fn by_hand_refusal(detail: &Detail, seen: &Seen) -> Option<String> {
    match detail.summary.state {
        PullState::Closed => return Some("the pull request is closed".to_owned()),
        PullState::Merged => return Some("the pull request is merged".to_owned()),
        PullState::Open => {}
    }
    let pending = detail
        .reviews
        .iter()
        .any(|r| r.state == ReviewState::Pending && r.author.as_ref().is_some_and(|a| a.id == seen.viewer.id));
    pending.then(|| "you have a pending review; submit or discard it".to_owned())
}

/// The covered set of a review: what is there now, so that marks and follow-ups speak of it and of nothing newer (ROUND-08, ROUND-12).
fn covered(seen: &Seen, intent: &str) -> serde_json::Value {
    let foreign = |author: Option<&wloop_core::github::Account>| author.is_none_or(|a| a.id != seen.viewer.id);
    let newest_review = seen
        .detail
        .reviews
        .iter()
        .filter(|r| foreign(r.author.as_ref()) && r.submitted_at.is_some())
        .max_by_key(|r| r.submitted_at);
    let comments = seen.detail.threads.iter().flat_map(|t| &t.comments).filter(|c| foreign(c.author.as_ref()));
    let newest_comment = comments.max_by_key(|c| c.created_at);
    let threads: Vec<u64> = seen.detail.threads.iter().filter_map(|t| t.comments.first()).map(|c| c.database_id).collect();
    let since = seen
        .detail
        .reviews
        .iter()
        .filter(|r| r.author.as_ref().is_some_and(|a| a.id == seen.viewer.id) && r.submitted_at.is_some())
        .max_by_key(|r| r.submitted_at)
        .map(|r| r.commit.clone());
    let mut covered = json!({
        "review": newest_review.map(|r| r.id.clone()),
        "comment": newest_comment.map(|c| c.id.clone()),
        "threads": threads,
        "since": since,
    });
    if intent == "address" {
        for name in ["reviewers", "checks", "conflict"] {
            covered[name] = seen.facts.get(&format!("pr.address.{name}")).map(to_json).unwrap_or_default();
        }
    }
    covered
}
