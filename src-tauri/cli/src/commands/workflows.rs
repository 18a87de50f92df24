//! `wloop workflows`: what rules can be written with. It needs no daemon: this program knows.

use wloop_daemon::face::{self, ArgumentRow, FactRow, StepRow};

use crate::args::{WorkflowsArguments, WorkflowsCommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Cell, Listing, Tone};

/// Prints facts or steps.
pub(crate) fn run(context: &Context, arguments: &WorkflowsArguments) -> Result<(), Failure> {
    match &arguments.command {
        WorkflowsCommand::Facts { provider } => {
            let facts = face::facts(provider.as_deref());
            if context.json { context.out.json(&facts) } else { context.out.list(&of_facts(&facts)) }
        }
        WorkflowsCommand::Steps => {
            let steps = face::steps();
            if context.json { context.out.json(&steps) } else { context.out.list(&of_steps(&steps)) }
        }
    }
}

fn of_facts(facts: &[FactRow]) -> Listing {
    Listing {
        heading: vec!["FACT", "TYPE", "NOTE", "MEANS"],
        shown: facts
            .iter()
            .map(|fact| {
                vec![
                    Cell::plain(fact.name),
                    Cell::new(Tone::Dim, fact.kind),
                    Cell::new(Tone::Warn, notes(fact)),
                    Cell::plain(fact.about),
                ]
            })
            .collect(),
        piped: facts
            .iter()
            .map(|fact| {
                vec![fact.name.to_owned(), fact.kind.to_owned(), fact.slots.join(","), notes(fact), fact.about.to_owned()]
            })
            .collect(),
        nothing: "there are no facts",
    }
}

fn notes(fact: &FactRow) -> String {
    let notes = [(fact.untrusted, "untrusted"), (fact.on_demand, "on demand"), (!fact.ready, "always empty so far")];
    notes.iter().filter(|(is, _)| *is).map(|(_, note)| *note).collect::<Vec<_>>().join(", ")
}

fn of_steps(steps: &[StepRow]) -> Listing {
    let note = |step: &StepRow| if step.ready { "" } else { "not yet" };
    Listing {
        heading: vec!["STEP", "UNITS", "NOTE", "ARGUMENTS", "DOES"],
        shown: steps
            .iter()
            .map(|step| {
                vec![
                    Cell::plain(step.name),
                    Cell::new(Tone::Dim, serves(step)),
                    Cell::new(Tone::Warn, note(step)),
                    Cell::new(Tone::Dim, arguments(step)),
                    Cell::plain(step.about),
                ]
            })
            .collect(),
        piped: steps
            .iter()
            .map(|step| vec![step.name.to_owned(), serves(step), note(step).to_owned(), arguments(step), step.about.to_owned()])
            .collect(),
        nothing: "there are no steps",
    }
}

fn serves(step: &StepRow) -> String {
    if step.serves.len() == 5 { "any".to_owned() } else { step.serves.join(",") }
}

/// The arguments, those a step can do without in brackets.
fn arguments(step: &StepRow) -> String {
    let one = |argument: &ArgumentRow| if argument.required { argument.name.to_owned() } else { format!("[{}]", argument.name) };
    step.arguments.iter().map(one).collect::<Vec<_>>().join(" ")
}
