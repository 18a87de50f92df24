//! What happens to a turn: its claim, its process, its end (spec 15.6, table R2), and what an earlier daemon left behind.

use jiff::SignedDuration;
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_core::github::facts::Covered;
use wloop_core::github::material::{Part, boundary, material, texts};
use wloop_core::id::{SessionId, TurnId};
use wloop_core::plan::ItemEvent;
use wloop_core::turn::{TurnEvent, TurnState};
use wloop_store::rows::{NewEvent, ProcessRow, TurnRow};
use wloop_store::{DraftFilter, PostFilter, TurnChange};

use super::book::texts as texts_of;
use super::{Cx, Reply, event};
use crate::input::TurnEnd;
use crate::refusal::{Answer, Refusal, RefusalKind};

/// Everything that a turn's process needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartOrder {
    /// The turn.
    pub turn: TurnId,
    /// Its session: `WLOOP_SESSION` of the process.
    pub session: SessionId,
    /// The agent's name in the configuration.
    pub agent: String,
    /// The prompt.
    pub prompt: String,
    /// The folder it runs in.
    pub folder: String,
    /// How long it may take in all.
    pub timeout: SignedDuration,
    /// The intent, whose permissions hold.
    pub intent: String,
    /// Whether the pull request comes from a fork (RUN-33).
    pub fork: bool,
}

impl Cx<'_> {
    /// A runner claims a turn that is to be started and gets its order; the prompt is rendered here, once.
    pub(super) fn start_turn(&mut self, id: TurnId) -> Answer<Reply> {
        let Some(turn) = self.tx.turn(id)? else { return Ok(Reply::NotNow) };
        if turn.state != TurnState::Starting || turn.claimed || turn.generation != self.generation {
            return Ok(Reply::NotNow);
        }
        match self.prompt(&turn) {
            Ok((prompt, timeout)) => {
                if !self.tx.claim_turn(id, self.generation)? {
                    return Ok(Reply::NotNow);
                }
                let fork = self.tx.pull(&turn.unit)?.and_then(|p| p.detail).is_none_or(|d| d.cross_repository);
                Ok(Reply::Start(Box::new(StartOrder {
                    fork,
                    intent: turn.intent,
                    turn: id,
                    session: turn.session,
                    agent: turn.agent,
                    prompt,
                    folder: turn.workspace.unwrap_or_default(),
                    timeout,
                })))
            }
            Err(why) => {
                self.turn_ended(id, TurnEnd::NotStarted(why))?;
                Ok(Reply::NotNow)
            }
        }
    }

    fn prompt(&mut self, turn: &TurnRow) -> Result<(String, SignedDuration), String> {
        let intent = self.rules.profile.intents.get(&turn.intent);
        let intent = intent.ok_or_else(|| format!("the profile has no intent `{}` any more", turn.intent))?;
        let seen = self.seen(&turn.unit).map_err(|e| e.to_string())?;
        let seen = seen.ok_or_else(|| "the pull request is not known any more".to_owned())?;
        let part = if turn.stage == "follow-up" { Part::FollowUp } else { Part::Whole };
        let word = boundary(|| format!("{:012x}", self.ids.next_bits() & 0xffff_ffff_ffff), &texts(&seen.detail));
        let turn = turn.clone();
        let material = material(&seen.detail, &seen.viewer, part, &seen.settings.admitted_teams, &word);
        let own = seen.detail.author.as_ref().is_some_and(|a| a.id == seen.viewer.id);
        let mut facts = seen.facts.clone();
        facts.insert("turn.stage", wloop_core::rules::value::Value::Text(turn.stage.clone()));
        facts.insert("turn.automated", wloop_core::rules::value::Value::Bool(!turn.by_hand));
        // A turn reads what it was started for, whatever happened since (GH-FACT-35).
        let pinned = Covered {
            reviewers: texts_of(&turn.covered, "reviewers"),
            checks: texts_of(&turn.covered, "checks"),
            conflict: turn.covered.get("conflict").and_then(serde_json::Value::as_bool).unwrap_or(false),
        };
        pinned.put_into(&mut facts);
        let also: Vec<String> = intent
            .also
            .iter()
            .filter(|(_, when)| when.holds(&facts, self.now).unwrap_or(false))
            .map(|(text, _)| text.clone())
            .collect();
        let since = turn.covered.get("since").and_then(|v| v.as_str()).unwrap_or("an earlier commit").to_owned();
        let context = minijinja::context! {
            Unit => minijinja::context! {
                slug => seen.detail.slug(),
                repo => seen.detail.summary.repo.to_string(),
                number => seen.detail.summary.number,
                viewer => seen.viewer.login,
                url => seen.detail.summary.url,
            },
            Turn => minijinja::context! {
                stage => turn.stage,
                head => turn.head,
                base => turn.base,
                merge_base => turn.merge_base,
                covered => minijinja::Value::from(minijinja::value::Serde(&turn.covered)),
                since => since,
                own => own,
                runner => "headless",
                try => false,
            },
            Inputs => minijinja::context! { focus => "" },
            Guidance => turn.guidance,
            Profile => minijinja::context! {
                surfaces => self.rules.profile.surfaces.clone(),
                automated => seen.settings.automated,
                also => also,
            },
            Material => minijinja::context! {
                description => material.description,
                threads => material.threads,
                request => material.request,
            },
        };
        let prompt = wloop_core::rules::words::render_text(&intent.prompt, context)
            .map_err(|e| format!("the prompt of `{}` cannot be rendered: {e}", intent.name))?;
        Ok((prompt, intent.timeout))
    }

    /// The turn's process exists; nothing was given to it yet (RUN-07).
    pub(super) fn turn_spawned(&mut self, id: TurnId, process: ProcessRow) -> Answer<()> {
        let turn = self.a_turn(id)?;
        if turn.state != TurnState::Starting {
            return Err(Refusal::new(RefusalKind::Conflict, format!("the turn is {} and takes no process", turn.state)).into());
        }
        self.tx.set_turn_process(id, process)?;
        Ok(())
    }

    /// The prompt was given: what the turn does on sending is done with it (T1, EFF-15).
    pub(super) fn turn_given(&mut self, id: TurnId) -> Answer<()> {
        let turn = self.a_turn(id)?;
        // Its own tool call may have told it first.
        if turn.state != TurnState::Starting || !self.step_turn(&turn, TurnEvent::Give, EventKind::TurnSent, "")? {
            return Ok(());
        }
        self.tx.loop_typed(turn.session, id, self.now)?;
        for (name, _) in self.tx.effects(id)? {
            match name.as_str() {
                // Drops whatever else is planned on the unit (EFFECT-03).
                "plan.cleared" => self.withdraw_items(&turn.unit, "another round was sent")?,
                "turn.round_sent" => {
                    let actor = self.gate(turn.gate)?.gate.closed.map(|c| c.actor);
                    if let Some(actor @ Actor::Person { .. }) = actor {
                        self.event(NewEvent {
                            data: json!({ "stage": turn.stage }),
                            ..self.of_turn(&turn, EventKind::RoundSent, actor)
                        })?;
                    }
                }
                // The guidance was taken with the row and stays taken now (EFFECT-04).
                _ => {}
            }
            self.tx.apply_effect(id, &name, self.now)?;
        }
        Ok(())
    }

    /// The agent took the prompt up (T2, RUN-20).
    pub(super) fn turn_taken_up(&mut self, id: TurnId) -> Answer<()> {
        let turn = self.a_turn(id)?;
        if turn.state == TurnState::Sent {
            self.step_turn(&turn, TurnEvent::TakeUp, EventKind::TurnStarted, "")?;
            self.agent_started(&turn.agent)?;
        }
        Ok(())
    }

    pub(super) fn turn_conversation(&mut self, id: TurnId, remote: &str) -> Answer<()> {
        let turn = self.a_turn(id)?;
        self.tx.set_session_remote(turn.session, remote)?;
        Ok(())
    }

    /// The turn's process ended, or never began (table R2).
    pub(super) fn turn_ended(&mut self, id: TurnId, end: TurnEnd) -> Answer<()> {
        let turn = self.a_turn(id)?;
        self.tx.set_group_ended(id)?;
        self.tx.set_session_state(turn.session, "closed")?;
        match turn.state {
            TurnState::Starting | TurnState::Sent | TurnState::Started => {}
            // A stopped turn stays stopped: its post waits for the person. An ended one keeps its end, with a warning.
            TurnState::Asked | TurnState::Recorded => {
                if let TurnEnd::Badly(why) = &end {
                    self.tx.set_turn_cause(id, &format!("afterwards: {why}"))?;
                }
                return Ok(());
            }
            TurnState::Failed | TurnState::Dismissed | TurnState::Unrecorded => return Ok(()),
        }
        // One that has posted, or proposed a draft, did start, whatever it says at its end.
        let started = || self.tx.posts(&PostFilter { turn: Some(id), limit: Some(1), ..PostFilter::default() });
        if let TurnEnd::Blocked { kind, words, .. } = &end
            && started()?.is_empty()
            && self.tx.drafts(DraftFilter::OfTurn(id))?.is_empty()
        {
            return self.turn_blocked(&turn, *kind, words);
        }
        let (step, kind, cause) = match &end {
            TurnEnd::Well if turn.state == TurnState::Starting => {
                (TurnEvent::Fail, EventKind::TurnFailed, "the agent ended before it took the prompt".to_owned())
            }
            TurnEnd::Well => (TurnEvent::EndSilently, EventKind::TurnUnrecorded, "the agent ended without a record".to_owned()),
            TurnEnd::NotStarted(why) | TurnEnd::Badly(why) | TurnEnd::Blocked { words: why, .. } => {
                (TurnEvent::Fail, EventKind::TurnFailed, why.clone())
            }
            TurnEnd::Cancelled(by) => (TurnEvent::Dismiss, EventKind::TurnDismissed, by.clone()),
        };
        if self.step_turn(&turn, step, kind, &cause)? {
            self.after_end(&turn)?;
        }
        Ok(())
    }

    /// What follows when a turn ended without its record: a start that never was gives its guidance back, a review that was sent
    /// all the same is marked (RUN-35).
    fn after_end(&mut self, turn: &TurnRow) -> Answer<()> {
        if turn.state == TurnState::Starting {
            self.tx.return_guidance(turn.id)?;
            for (name, _) in self.tx.effects(turn.id)? {
                self.tx.void_effect(turn.id, &name, self.now)?;
            }
            if let Some(item) = self.tx.item(turn.item)? {
                self.step_item(&item, ItemEvent::Abandon, Some("its turn did not start"))?;
            }
        }
        self.mark_reviewed(turn.id)
    }

    /// Turns that an earlier daemon was starting or running: none is ever given its prompt again (K17, RUN-35).
    pub(super) fn settle_lost_turns(&mut self) -> Answer<()> {
        for turn in self.tx.running_turns()? {
            if turn.generation == self.generation {
                continue;
            }
            let cause = if turn.state == TurnState::Starting {
                "interrupted: the daemon stopped before the prompt was given"
            } else {
                "interrupted: the daemon stopped while it ran"
            };
            if self.step_turn(&turn, TurnEvent::Fail, EventKind::TurnFailed, cause)? {
                self.after_end(&turn)?;
            }
            self.tx.set_session_state(turn.session, "closed")?;
            if turn.process.is_none() {
                self.tx.set_group_ended(turn.id)?;
            }
        }
        Ok(())
    }

    /// Moves a turn along its machine with its event; `false` when the machine has no such step, and nothing changed.
    pub(super) fn step_turn(&mut self, turn: &TurnRow, step: TurnEvent, kind: EventKind, cause: &str) -> Answer<bool> {
        let next = match turn.state.step(step) {
            Ok(next) => next,
            Err(fault) => {
                tracing::warn!(turn = %turn.id, %fault, "a turn took no step");
                return Ok(false);
            }
        };
        let change = TurnChange { cause: (!cause.is_empty()).then_some(cause), verdict: None, record: None, now: self.now };
        self.tx.set_turn_state(turn.id, turn.state, next, &change)?;
        self.event(NewEvent { data: json!({ "cause": cause }), ..self.of_turn(turn, kind, Actor::Session(turn.session)) })?;
        Ok(true)
    }

    /// An event of a turn.
    pub(super) fn of_turn(&self, turn: &TurnRow, kind: EventKind, actor: Actor) -> NewEvent {
        NewEvent {
            unit: Some(turn.unit.clone()),
            turn: Some(turn.id),
            gate: Some(turn.gate),
            actor,
            ..event(kind, turn.intent.clone())
        }
    }

    /// A turn that is there.
    pub(super) fn a_turn(&self, id: TurnId) -> Answer<TurnRow> {
        let found = self.tx.turn(id)?;
        found.ok_or_else(|| {
            let short = &id.to_string()[..6];
            Refusal::new(RefusalKind::NotFound, format!("there is no turn `{short}`; `wloop turns` lists them")).into()
        })
    }

    /// Writes the mark `reviewed` once a turn has ended and its review is sent, whichever comes last (ROUND-16, EFFECT-08).
    pub(super) fn mark_reviewed(&mut self, id: TurnId) -> Answer<()> {
        let turn = self.a_turn(id)?;
        let marks = self.rules.profile.intents.get(&turn.intent).is_some_and(|i| i.on_record.iter().any(|e| e == "pr.reviewed"));
        if turn.state.is_open() || !marks {
            return Ok(());
        }
        let posts = self.tx.posts(&PostFilter { turn: Some(id), ..PostFilter::default() })?;
        let sent = posts.iter().find(|p| p.shape.name() == "review" && p.state == wloop_core::post::PostState::Sent);
        if let Some(post) = sent {
            let value = json!({
                "head": post.head,
                "review": post.remote.as_ref().map(|r| r.node_id.clone()),
                "covered_review": turn.covered.get("review"),
                "covered_comment": turn.covered.get("comment"),
            });
            self.tx.put_mark(&turn.unit, "reviewed", &value, Some(id), self.now)?;
        }
        Ok(())
    }
}
