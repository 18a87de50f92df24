//! Planning: what the rules want of a unit as it stands (WF-05), and what of the plan no longer holds.

use jiff::SignedDuration;
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::facts::{Mode, review_key};
use wloop_core::id::{ItemId, UnitRef};
use wloop_core::plan::{ItemEvent, ItemState};
use wloop_core::rules::policy::{Asked, Decision, decide};
use wloop_core::rules::profile::{KeyPart, Workflow};
use wloop_core::rules::value::{Frame, Value};
use wloop_core::rules::words::render_line;
use wloop_store::rows::{ItemRow, NewEvent};

use super::book::{self, Seen};
use super::gates::{NewGate, Policy};
use super::{Cx, event};
use crate::refusal::Answer;

/// Why no round is planned yet of what a workflow wants.
pub(crate) const NEXT_SWEEP: &str = "it is planned at the next sweep";

/// What a workflow wants of a unit.
pub(super) struct Wanted {
    pub(super) key: String,
    pub(super) intent: String,
    pub(super) stage: String,
    pub(super) reason: String,
}

impl Cx<'_> {
    /// A pull request with its facts as the rules read them now; `None` before it was read whole.
    pub(super) fn seen(&self, unit: &UnitRef) -> Answer<Option<Seen>> {
        Ok(book::seen(self.tx, self.rules, unit, self.now)?)
    }

    /// What a workflow wants of the unit now; `None` when its `when` does not hold. A `when` that fails holds nothing (CEL-07).
    pub(super) fn wants(&self, workflow: &Workflow, seen: &Seen) -> Option<Wanted> {
        match workflow.when.holds(&seen.facts, self.now) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(fault) => {
                tracing::warn!(workflow = workflow.name, unit = seen.detail.slug(), %fault, "a `when` could not be evaluated");
                return None;
            }
        }
        let step = workflow.steps.first()?;
        let stage = match step.stage(&seen.facts, self.now) {
            Ok(stage) => stage,
            Err(fault) => {
                tracing::warn!(workflow = workflow.name, unit = seen.detail.slug(), %fault, "a step's stage could not be evaluated");
                return None;
            }
        };
        Some(Wanted {
            key: self.key(workflow, seen, &stage)?,
            intent: step.intent().to_owned(),
            reason: reason(&seen.facts, &stage),
            stage,
        })
    }

    fn key(&self, workflow: &Workflow, seen: &Seen, stage: &str) -> Option<String> {
        let mut parts = Vec::new();
        for part in &workflow.key {
            parts.push(match part {
                // The provider declares `@review` alone so far; the profile refuses any other.
                KeyPart::Provider(_) => review_key(&seen.detail, &seen.viewer, &seen.settings, stage),
                KeyPart::Expression(expression) => match expression.evaluate(&seen.facts, self.now) {
                    Ok(value) => value.key_text(),
                    Err(fault) => {
                        tracing::warn!(workflow = workflow.name, %fault, "a key could not be evaluated");
                        return None;
                    }
                },
            });
        }
        if parts.is_empty() {
            parts.push(seen.facts.get("pr.fingerprint").map(Value::key_text).unwrap_or_default());
        }
        Some(parts.join("|"))
    }

    /// Brings the plan of one unit in line with what the rules want of it (WF-05, GATE-40).
    pub(super) fn plan_unit(&mut self, unit: &UnitRef) -> Answer<()> {
        let Some(seen) = self.seen(unit)? else { return Ok(()) };
        let watched = self.tx.pull(unit)?.is_some_and(|row| row.watched);
        let paused = self.is_paused(unit)?;
        let rules = self.rules;
        for workflow in rules.profile.workflows.values() {
            if workflow.provider != "github" {
                continue;
            }
            // A pause holds whatever a workflow's own condition says (ROUND-28).
            let wanted = if watched && !paused && self.acts_on(workflow, &seen) { self.wants(workflow, &seen) } else { None };
            let pending = self.tx.pending_item(unit, &workflow.name)?;
            if let Some(item) = &pending {
                match item.state {
                    ItemState::Waiting | ItemState::CountingDown | ItemState::Capped => {}
                    // What is new on it is looked at when it starts; it keeps its place until nothing wants it.
                    ItemState::Blocked if wanted.is_some() => continue,
                    ItemState::Blocked if !item.by_hand => {}
                    ItemState::Blocked => match super::release::by_hand_refusal(&seen.detail, &seen) {
                        Some(why) => {
                            self.leave_plan(item, &why)?;
                            continue;
                        }
                        None => continue,
                    },
                    // A released round is looked at when it is tried (ROUND-06).
                    ItemState::Released | ItemState::Turned | ItemState::Handled | ItemState::Gone => continue,
                }
                match &wanted {
                    Some(wanted) if wanted.key == item.key => continue,
                    Some(_) => self.leave_plan(item, "something new on the pull request")?,
                    None if paused => self.leave_plan(item, super::holds::PAUSED)?,
                    None => {
                        let why = reason(&seen.facts, &item.stage);
                        self.leave_plan(item, &why)?;
                    }
                }
            }
            let Some(wanted) = wanted else { continue };
            let handled = self.tx.handled(unit, &workflow.name)?.into_iter().any(|(key, _)| key == wanted.key);
            if handled || self.tx.open_turn(unit)?.is_some() {
                continue;
            }
            self.plan(unit, workflow, &seen, wanted)?;
        }
        Ok(())
    }

    /// Whether a workflow acts on a unit by itself: it is enabled, not only watching, and neither is its repository (WIN-04, WF-06).
    pub(super) fn acts_on(&self, workflow: &Workflow, seen: &Seen) -> bool {
        let observed = seen.settings.review_mode == Mode::Observe && workflow.steps.iter().any(|s| s.intent() == "review");
        !observed && self.rules.acts(workflow)
    }

    /// What the approval rules in force say of a workflow's plan gate.
    pub(super) fn decide_plan(&self, workflow: &Workflow, seen: &Seen) -> Decision {
        let table = self.rules.approval(workflow);
        let tables = [&table, &self.rules.profile.gates.approval];
        let asked = Asked {
            kind: GateKind::Plan,
            name: &self.rules.profile.first_gate(GateKind::Plan).name,
            provider: workflow.provider_kind(),
            facts: &seen.facts,
            unreadable: None,
        };
        decide(&asked, &tables, self.now)
    }

    /// What a workflow's plan gate asks.
    pub(super) fn plan_words(&self, workflow: &Workflow, seen: &Seen) -> String {
        let template = workflow.ask.as_deref().unwrap_or(&workflow.summary);
        render_line(template, &seen.facts).unwrap_or_else(|fault| {
            tracing::warn!(workflow = workflow.name, %fault, "the words of a gate could not be rendered");
            workflow.summary.clone()
        })
    }

    fn plan(&mut self, unit: &UnitRef, workflow: &Workflow, seen: &Seen, wanted: Wanted) -> Answer<()> {
        let decision = self.decide_plan(workflow, seen);
        // What would start by itself and cannot today waits under the cap from the beginning (P9); what waits for the person does
        // so anyway.
        let capped = if decision.mode.releases() { self.cap_on(unit, workflow)? } else { None };
        let mut words = self.plan_words(workflow, seen);
        if let Some(reached) = &capped {
            words = format!("{words}; {}", reached.reason);
        }
        let policy = capped.as_ref().map_or(Policy::Decided(&decision), |reached| Policy::Capped(&reached.reason));
        self.causing = Some(workflow.name.clone());
        let opened = self.open_gate(NewGate { kind: GateKind::Plan, unit, words, policy, turn: None });
        self.causing = None;
        let gate = opened?;
        let state = match (gate.gate.status, gate.gate.deadline) {
            (GateStatus::Open, _) if capped.is_some() => ItemState::Capped,
            (GateStatus::Open, Some(_)) => ItemState::CountingDown,
            (GateStatus::Open, None) => ItemState::Waiting,
            (GateStatus::Approved, _) => ItemState::Released,
            (GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed | GateStatus::Superseded, _) => ItemState::Gone,
        };
        let item = ItemRow {
            id: ItemId::draw(self.ids),
            unit: unit.clone(),
            workflow: workflow.name.clone(),
            key: wanted.key,
            intent: wanted.intent,
            stage: wanted.stage,
            state,
            gate: gate.gate.id,
            head: seen.detail.summary.head.clone(),
            reason: capped.as_ref().map_or(wanted.reason, |reached| reached.reason.clone()),
            by_hand: false,
            cap: capped.as_ref().map(|reached| reached.row),
            try_after: self.now,
            planned_at: self.now,
            changed_at: self.now,
        };
        self.tx.insert_item(&item)?;
        self.event(NewEvent {
            unit: Some(unit.clone()),
            gate: Some(gate.gate.id),
            task: gate.gate.task,
            data: json!({ "why": item.reason, "stage": item.stage, "deadline": gate.gate.deadline }),
            actor: Actor::Workflow(workflow.name.clone()),
            ..event(EventKind::RoundPlanned, workflow.name.clone())
        })?;
        match &capped {
            Some(reached) => self.tell_cap(unit, workflow, &gate, reached),
            None => Ok(()),
        }
    }

    /// Why no round of a unit is planned, for each workflow that has none (GH-FACT-29). It changes nothing.
    pub(super) fn why_no_round(&self, unit: &UnitRef) -> Answer<Vec<(String, String)>> {
        self.label(unit)?;
        let Some(seen) = self.seen(unit)? else {
            return Ok(vec![(String::new(), "it was not read yet".to_owned())]);
        };
        let watched = self.tx.pull(unit)?.is_some_and(|row| row.watched);
        let open = self.tx.open_turn(unit)?;
        let reviewed = seen.facts.get("pr.last_review.exists") == Some(&Value::Bool(true));
        let stage = if reviewed { "follow-up" } else { "first" };
        let mut found = Vec::new();
        for workflow in self.rules.profile.workflows.values().filter(|workflow| workflow.provider == "github") {
            if self.tx.pending_item(unit, &workflow.name)?.is_some() {
                continue;
            }
            let why = if let Some(turn) = &open {
                format!("turn {} is {}", turn.seq, turn.state)
            } else if self.is_paused(unit)? {
                super::holds::PAUSED.to_owned()
            } else if !watched {
                "it is not watched".to_owned()
            } else if !self.acts_on(workflow, &seen) {
                "its workflow is off, or only watches".to_owned()
            } else {
                match self.wants(workflow, &seen) {
                    None => reason(&seen.facts, stage),
                    Some(wanted) => {
                        let handled = self.tx.handled(unit, &workflow.name)?;
                        match handled.iter().find(|(key, _)| *key == wanted.key) {
                            Some((_, how)) if how == "skipped" => "skipped".to_owned(),
                            Some(_) => "it was dealt with".to_owned(),
                            None => NEXT_SWEEP.to_owned(),
                        }
                    }
                }
            };
            found.push((workflow.name.clone(), why));
        }
        Ok(found)
    }

    /// Moves an item along its machine; a step that the machine lacks is a fault of ours and changes nothing.
    pub(super) fn step_item(&mut self, item: &ItemRow, step: ItemEvent, reason: Option<&str>) -> Answer<()> {
        match item.state.step(step) {
            Ok(next) => {
                self.tx.set_item(item.id, item.state, next, reason, None, self.now)?;
            }
            Err(fault) => tracing::error!(item = %item.id, %fault, "a planned round took no step"),
        }
        Ok(())
    }

    /// Holds a released round back for a while, with the reason shown (P16).
    pub(super) fn defer_item(&mut self, item: &ItemRow, reason: &str, wait: SignedDuration) -> Answer<()> {
        self.unmark_started(item)?;
        let until = super::observe::after(self.now, wait);
        self.tx.set_item(item.id, item.state, item.state, Some(reason), Some(until), self.now)?;
        if item.reason != reason {
            self.event(NewEvent {
                unit: Some(item.unit.clone()),
                gate: Some(item.gate),
                data: json!({ "why": reason }),
                ..event(EventKind::RoundDeferred, item.workflow.clone())
            })?;
        }
        Ok(())
    }
}

/// Why a round is wanted, or not, in the words of the facts.
pub(super) fn reason(facts: &Frame, stage: &str) -> String {
    let fact = if stage == "follow-up" { "pr.review.reason" } else { "pr.first.reason" };
    facts.get(fact).map(Value::key_text).filter(|text| !text.is_empty()).unwrap_or_else(|| "it is no longer due".to_owned())
}
