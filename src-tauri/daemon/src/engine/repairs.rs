//! What a start mends in the rows themselves (GATE-58, GATE-62). Any number of times it comes to the same.

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_store::GateFilter;
use wloop_store::rows::{GateRow, NewEvent};

use super::{Cx, event};
use crate::refusal::Answer;

impl Cx<'_> {
    /// A captured task whose gates all closed before their `ends_task` named a category ends now, where it names one by now.
    pub(super) fn end_left_tasks(&mut self) -> Answer<()> {
        for task in self.tx.tasks_without_open_gate()? {
            let gates = self.tx.gates(&GateFilter { task: Some(task), ..GateFilter::default() })?;
            // What is released and did not run keeps its task.
            let runs = |row: &GateRow| {
                row.consequence.is_some_and(|(state, _)| match state {
                    Consequence::Due | Consequence::Started | Consequence::Failed => true,
                    Consequence::Ran | Consequence::Unknown => false,
                })
            };
            if gates.iter().any(runs) {
                continue;
            }
            let ends = |row: &GateRow| {
                let entry = self.rules.profile.gate(&row.gate.name)?;
                entry.ends_task.get(&row.gate.status).map(|category| category.as_str())
            };
            let last = gates.iter().max_by_key(|row| row.gate.closed.as_ref().map(|closing| closing.at));
            let Some((last, category)) = last.and_then(|row| Some((row, ends(row)?))) else { continue };
            if self.tx.end_task(task, category, self.now)? {
                self.event(NewEvent {
                    unit: last.gate.unit.clone(),
                    task: Some(task),
                    gate: Some(last.gate.id),
                    data: json!({ "state": category }),
                    ..event(EventKind::TaskEnded, "gates")
                })?;
            }
        }
        Ok(())
    }
}
