//! What a start, and each tick, finds of drafts that were decided and not carried out, and what a start repairs of drafts and of the
//! tasks that hold gates (F08, GATE-58 to 62).

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateStatus};
use wloop_core::post::{PostEvent, PostState};
use wloop_store::rows::{GateRow, NewEvent};
use wloop_store::{DraftFilter, GateFilter};

use super::{Cx, event};
use crate::refusal::Answer;

impl Cx<'_> {
    /// Held drafts whose gate was decided are carried out: what a decision released is never left lying (F08, CONS-03, CONS-04). One
    /// whose rows cannot be moved is told and stops no other.
    pub(super) fn carry_out_drafts(&mut self) -> Answer<()> {
        for (row, post) in self.tx.stuck_drafts()? {
            let done = self.sheltered(|cx| {
                let gate = cx.gate(post.gate)?;
                match gate.consequence {
                    Some((Consequence::Due, _)) => cx.draft_gate_closed(&gate),
                    _ if gate.gate.status == GateStatus::Approved => {
                        let queued = cx.step_post(&post, PostEvent::Release, |_| {})?;
                        cx.fail_without_provider(&queued)
                    }
                    _ => cx.drop_draft(&row, &post, &gate.gate.closed.map(|c| c.reason).unwrap_or_default(), Actor::Daemon),
                }
            })?;
            if let Err(fault) = done {
                tracing::error!(draft = %row.id, %fault, "a decided draft could not be carried out");
            }
        }
        Ok(())
    }

    /// What a start repairs of drafts and the tasks that hold gates; as often as it runs, the result is the same (GATE-58 to 62).
    pub(super) fn repair_drafts(&mut self) -> Answer<()> {
        self.carry_out_drafts()?;
        for (row, post) in self.tx.drafts(DraftFilter::In(PostState::Held))? {
            let gate = self.gate(post.gate)?;
            let task = match (row.task, gate.gate.task) {
                (None, Some(task)) => {
                    self.tx.set_draft_task(row.id, Some(task))?;
                    Some(task)
                }
                (task, _) => task,
            };
            let ended = match task {
                Some(task) => self.tx.task(task)?.is_some_and(|task| task.ended_at.is_some()),
                None => false,
            };
            if ended {
                self.withdraw_draft(&row, &post, "ended", &Actor::Daemon)?;
            }
        }
        for (_, post) in self.tx.drafts(DraftFilter::In(PostState::Queued))? {
            self.fail_without_provider(&post)?;
        }
        self.end_idle_tasks()
    }

    /// Ends the tasks that exist only to hold gates and hold no open one, in the category that the profile names now for the gate that
    /// closed last (GATE-58, GATE-61). One whose gate still has something to carry out goes on.
    fn end_idle_tasks(&mut self) -> Answer<()> {
        for task in self.tx.idle_gate_holders()? {
            let filter = GateFilter { task: Some(task.id), ..GateFilter::default() };
            let gates = self.tx.gates(&filter)?;
            let unfinished = |row: &GateRow| row.consequence.is_some_and(|(state, _)| state != Consequence::Ran);
            if gates.iter().any(unfinished) {
                continue;
            }
            let Some(last) = gates.iter().filter_map(|row| row.gate.closed.as_ref().map(|c| c.at)).max() else { continue };
            let named = gates.iter().filter(|row| row.gate.closed.as_ref().is_some_and(|c| c.at == last)).filter_map(|row| {
                let entry = self.rules.profile.gate(&row.gate.name);
                let category = entry.and_then(|entry| entry.ends_task.get(&row.gate.status)).map(|c| c.as_str());
                category.map(|category| (category, row))
            });
            // Where two closed at once, `done` wins.
            let Some((category, row)) = named.max_by_key(|(category, _)| *category == "done") else { continue };
            if self.tx.end_task(task.id, category, self.now)? {
                self.event(NewEvent {
                    unit: row.gate.unit.clone(),
                    task: Some(task.id),
                    gate: Some(row.gate.id),
                    data: json!({ "state": category }),
                    ..event(EventKind::TaskEnded, "gates")
                })?;
            }
        }
        Ok(())
    }
}
