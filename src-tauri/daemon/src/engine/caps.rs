//! The daily cap: what it holds waits on a gate of its own that belongs to one local day, and runs by hand alone (WIN-27 to WIN-32,
//! CONS-08 to CONS-13).

use serde_json::json;
use wloop_core::cap::{Given, Limits, began, day, holding, reason};
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind};
use wloop_core::id::UnitRef;
use wloop_core::plan::{ItemEvent, ItemState};
use wloop_core::rules::profile::Workflow;
use wloop_store::rows::{CapRow, GateRow, ItemRow, NewEvent};

use super::book::Seen;
use super::gates::{NewGate, Policy};
use super::{Cx, event};
use crate::refusal::Answer;

/// A cap that is reached, with its words.
pub(super) struct Reached {
    pub(super) row: CapRow,
    pub(super) reason: String,
    limit: u32,
}

impl Cx<'_> {
    /// The cap that holds one more automatic round of a workflow on a unit today.
    pub(super) fn cap_on(&self, unit: &UnitRef, workflow: &Workflow) -> Answer<Option<Reached>> {
        let today = day(self.now, &self.rules.zone);
        let since = began(today, &self.rules.zone);
        let rounds = self.rules.config.github.rounds;
        let limits = Limits { per_day: rounds.per_day, per_pull_request: rounds.per_pull_request, workflow: workflow.per_day };
        let given = Given {
            everywhere: self.tx.rounds_given(since, None, None)?,
            here: self.tx.rounds_given(since, Some(unit), None)?,
            workflow: self.tx.rounds_given(since, None, Some(&workflow.name))?,
        };
        Ok(holding(limits, given).map(|(cap, limit)| Reached {
            row: CapRow { cap, day: today },
            reason: reason(cap, limit, &workflow.name),
            limit,
        }))
    }

    /// A released round that the cap holds moves to a gate of its own; the one that released it has done what it could (P9, C2).
    pub(super) fn hold_by_cap(&mut self, item: &ItemRow, workflow: &Workflow, seen: &Seen, reached: &Reached) -> Answer<()> {
        let words = format!("{}; {}", self.plan_words(workflow, seen), reached.reason);
        let policy = Policy::Capped(&reached.reason);
        let gate = self.open_gate(NewGate { kind: GateKind::Plan, unit: &item.unit, words, policy, turn: None })?;
        let before = self.gate(item.gate)?;
        match item.state.step(ItemEvent::Cap) {
            Ok(_) => self.tx.cap_item(item.id, item.state, gate.gate.id, &reached.row, &reached.reason, self.now)?,
            Err(fault) => tracing::error!(item = %item.id, %fault, "a round could not be held by the cap"),
        }
        self.consequence_ran(&before, &reached.reason)?;
        self.tell_cap(&item.unit, workflow, &gate, reached)
    }

    /// The cap holds a round; told once for each gate.
    pub(super) fn tell_cap(&mut self, unit: &UnitRef, workflow: &Workflow, gate: &GateRow, reached: &Reached) -> Answer<()> {
        self.event(NewEvent {
            unit: Some(unit.clone()),
            gate: Some(gate.gate.id),
            task: gate.gate.task,
            data: json!({
                "cap": reached.row.cap.as_str(),
                "limit": reached.limit,
                "day": reached.row.day.to_string(),
                "why": reached.reason,
            }),
            ..event(EventKind::RoundCapped, workflow.name.clone())
        })
    }

    /// The first sweep of a local day takes over what the cap held the day before: each such gate is superseded, and its round is
    /// planned anew, all in one transaction (WIN-30, K40).
    pub(super) fn end_capped_days(&mut self) -> Answer<()> {
        let today = day(self.now, &self.rules.zone);
        for item in self.tx.items_in(ItemState::Capped)? {
            if item.cap.is_none_or(|held| held.day == today) {
                continue;
            }
            let taken = self.sheltered(|cx| {
                cx.leave_plan(&item, "another day began")?;
                cx.plan_unit(&item.unit)
            })?;
            if let Err(fault) = taken {
                tracing::error!(unit = %item.unit, %fault, "what the cap held could not be taken over");
            }
        }
        Ok(())
    }

    /// A round that the cap held and the person ran is marked before it starts: it acts in their name, and nothing else would tell
    /// afterwards that it was begun (CONS-08, C4).
    pub(super) fn mark_started(&mut self, item: &ItemRow) -> Answer<()> {
        let row = self.gate(item.gate)?;
        if item.cap.is_some() && row.consequence.is_some_and(|(state, _)| state == Consequence::Due) {
            self.tx.set_consequence(row.gate.id, Consequence::Due, Consequence::Started, "", self.now)?;
        }
        Ok(())
    }

    /// Whether what released a round has neither run nor failed yet.
    pub(super) fn awaits_its_start(&self, item: &ItemRow) -> Answer<bool> {
        let state = self.gate(item.gate)?.consequence.map(|(state, _)| state);
        Ok(matches!(state, Some(Consequence::Due | Consequence::Started)))
    }

    /// A marked round that is known not to have started waits again, so that a stop does not lose it (CONS-08).
    pub(super) fn unmark_started(&mut self, item: &ItemRow) -> Answer<()> {
        let row = self.gate(item.gate)?;
        if row.consequence.is_some_and(|(state, _)| state == Consequence::Started) {
            self.tx.set_consequence(row.gate.id, Consequence::Started, Consequence::Due, "", self.now)?;
        }
        Ok(())
    }

    /// At the end of a drain nothing starts any more: what was marked and made no turn waits for the next daemon.
    pub(super) fn unmark_all(&mut self) -> Answer<()> {
        for row in self.tx.gates_with_consequence(Consequence::Started)? {
            if let Some(item) = self.tx.item_by_gate(row.gate.id)?.filter(|item| item.state == ItemState::Released) {
                self.unmark_started(&item)?;
            }
        }
        Ok(())
    }

    /// What an earlier daemon had marked and did not end: whether it ran cannot be told, so it is not run again; health names the
    /// gate until the person has looked (CONS-10, CONS-11, K19).
    pub(super) fn settle_started(&mut self) -> Answer<()> {
        for row in self.tx.gates_with_consequence(Consequence::Started)? {
            let note = "the daemon stopped while it was about to start it; whether it ran is not known";
            self.tx.set_consequence(row.gate.id, Consequence::Started, Consequence::Unknown, note, self.now)?;
            self.event(NewEvent {
                data: json!({ "cause": note }),
                ..self.about(&row, EventKind::ConsequenceUnknown, Actor::Daemon)
            })?;
            if let Some(item) = self.tx.item_by_gate(row.gate.id)?.filter(|item| item.state == ItemState::Released) {
                self.step_item(&item, ItemEvent::Abandon, Some(note))?;
                self.tx.put_handled(&item.unit, &item.workflow, &item.key, "ran", self.now)?;
            }
            self.end_task_of(&row, row.gate.status)?;
        }
        Ok(())
    }

    /// What a gate released came to an error: only the person runs it again (CONS-12, C3, C6).
    pub(super) fn consequence_failed(&mut self, row: &GateRow, why: &str) -> Answer<()> {
        let Some((state, _)) = self.gate(row.gate.id)?.consequence else { return Ok(()) };
        match state {
            Consequence::Due | Consequence::Started => {}
            Consequence::Ran | Consequence::Failed | Consequence::Unknown => return Ok(()),
        }
        self.tx.set_consequence(row.gate.id, state, Consequence::Failed, why, self.now)?;
        self.event(NewEvent { data: json!({ "cause": why }), ..self.about(row, EventKind::ConsequenceFailed, Actor::Daemon) })
    }

    /// The person acts on a unit again: what could not be told or failed there before is looked after (CONS-11).
    pub(super) fn see_consequences(&mut self, unit: &UnitRef) -> Answer<()> {
        for state in [Consequence::Unknown, Consequence::Failed] {
            for row in self.tx.consequences_unseen(state)? {
                if row.gate.unit.as_ref() == Some(unit) {
                    self.see_consequence(&row)?;
                }
            }
        }
        Ok(())
    }

    /// The person looked after one consequence that failed or cannot be told; false where there was nothing to look after.
    pub(super) fn see_consequence(&mut self, row: &GateRow) -> Answer<bool> {
        let seen = self.tx.set_consequence_seen(row.gate.id, self.now)?;
        if seen {
            self.event(self.about(row, EventKind::ConsequenceSeen, self.acting.clone()))?;
        }
        Ok(seen)
    }
}
