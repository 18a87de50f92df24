//! The reference pages of those who write rules: made from the registry, and as it would make them now (FACT-04).

use std::fmt::Write as _;

use wloop_core::rules::registry::{KNOWN, Known, Provider, Scope};
use wloop_core::rules::steps::{EFFECTS, MARKS, STEPS};

use super::is_as_made;

const MADE: &str = "<!-- Made from the registry by `make generate`; change it there. -->";

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn serves(of: &[Provider]) -> String {
    if of.len() == Provider::ALL.len() {
        "any".to_owned()
    } else {
        of.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(", ")
    }
}

fn facts() -> String {
    let mut page = format!(
        "# Facts\n\n{MADE}\n\nWhat a rule can read. A fact without a value reads as its type's zero: `false`, `0`, `\"\"`, `[]`, \
         `duration(\"0s\")`, `timestamp(0)`.\n\n- *untrusted*: others can move it. No rule that releases a gate reads it, and no rule \
         that reaches drafts.\n- *on demand*: worked out only for a rule that names it.\n- *empty so far*: what it tells of does not \
         exist yet; it reads as zero.\n\n`wloop workflows facts` prints the same, `wloop facts <unit>` what each is now.\n"
    );
    let mut left: Vec<&Known> = KNOWN.iter().collect();
    let mut part = |page: &mut String, heading: &str, words: &str, takes: &dyn Fn(&Known) -> bool| {
        let (here, rest): (Vec<&Known>, Vec<&Known>) = left.iter().partition(|row| takes(row));
        left = rest;
        write!(page, "\n## {heading}\n\n{words}\n\n| fact | type | | means |\n|---|---|---|---|\n").unwrap();
        for row in here {
            let notes = [(row.untrusted, "untrusted"), (row.on_demand, "on demand"), (!row.ready, "empty so far")];
            let notes: Vec<&str> = notes.iter().filter(|(is, _)| *is).map(|(_, note)| *note).collect();
            writeln!(page, "| `{}` | {} | {} | {} |", row.name, row.kind.as_str(), notes.join(", "), cell(row.about)).unwrap();
        }
    };
    for (heading, of) in [
        ("Pull requests", Provider::Github),
        ("Conversations in Slack", Provider::Slack),
        ("Tasks", Provider::Task),
        ("Sessions", Provider::Session),
        ("Workspaces", Provider::Workspace),
    ] {
        let words = format!("Read by workflows with `provider = \"{}\"`.", of.as_str());
        part(&mut page, heading, &words, &|row| row.provider() == Some(of));
    }
    let around = Scope::Workflow(Provider::Github);
    part(&mut page, "Around a unit", "Read by every workflow; briefs where its units have one.", &|row| around.admits(row));
    let gates = Scope::Rule(None);
    part(&mut page, "Gates and drafts", "Read by approval rules.", &|row| gates.admits(row));
    part(&mut page, "Elsewhere", "Read by intents and by the words of actions.", &|_| true);
    assert!(left.is_empty());
    page
}

fn steps() -> String {
    let mut page = format!(
        "# Steps\n\n{MADE}\n\nWhat a workflow's `[[step]]` can `use`. Each may have a `when` of its own beside its arguments.\n"
    );
    for step in &STEPS {
        write!(page, "\n## `{}`\n\n{}\n\nUnits: {}.", step.name, step.about, serves(step.serves)).unwrap();
        page.push_str(if step.ready { "\n" } else { " It cannot run yet: a workflow that uses it does not load.\n" });
        if !step.arguments.is_empty() {
            page.push_str("\n| argument | takes | |\n|---|---|---|\n");
        }
        for argument in step.arguments {
            let needed = if argument.required { "needed" } else { "" };
            writeln!(page, "| `{}` | {} | {needed} |", argument.name, cell(&argument.takes.words())).unwrap();
        }
    }
    page
}

fn effects() -> String {
    let mut page = format!(
        "# Effects\n\n{MADE}\n\nWhat a draft or a turn applies once it was sent, each once.\n\n| effect | units | does |\n|---|---|---|\n"
    );
    for effect in &EFFECTS {
        writeln!(page, "| `{}` | {} | {} |", effect.name, serves(effect.serves), cell(effect.about)).unwrap();
    }
    page
}

fn marks() -> String {
    let mut page = format!(
        "# Marks\n\n{MADE}\n\nWhat rounds leave on a unit. A workflow's condition asks for one with `handled(\"<mark>\", <value>)`. \
         Each workflow leaves a mark of its own name, too: it covers the keys that the workflow has dealt with.\n\n\
         | mark | units | compared with | covers |\n|---|---|---|---|\n"
    );
    for mark in &MARKS {
        writeln!(page, "| `{}` | {} | {} | {} |", mark.name, mark.serves.as_str(), mark.covers.as_str(), cell(mark.about))
            .unwrap();
    }
    page
}

#[test]
fn the_reference_pages_are_up_to_date() {
    // FACT-04
    for (name, made) in [("facts", facts()), ("steps", steps()), ("effects", effects()), ("marks", marks())] {
        is_as_made(&format!("docs/reference/{name}.md"), &made);
    }
}
