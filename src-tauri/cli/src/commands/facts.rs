//! `wloop facts`: where a pull request stands, and what rules read of it.

use serde::Serialize;
use wloop_api::types::{Fact, Reviewer, UnitDetail};

use crate::args::FactsArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Cell, Listing, Tone};
use crate::words::{queued, unit_row};

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Both<'a> {
    unit: &'a UnitDetail,
    facts: &'a [Fact],
}

/// `wloop facts <unit>`.
pub(crate) async fn run(context: &Context, arguments: &FactsArguments) -> Result<(), Failure> {
    let (client, out) = (context.client()?, &context.out);
    let unit = out.progress("asking the daemon", client.unit(&arguments.unit)).await?;
    let facts = out.progress("asking the daemon", client.unit_facts(&arguments.unit)).await?;
    if context.json {
        return out.json(&Both { unit: &unit, facts: &facts });
    }
    if out.terminal {
        out.raw(&page(context, &unit))?;
    }
    out.list(&listing(&facts))
}

/// A value in a line: a text as it is, a list with commas.
pub(crate) fn words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        other @ (serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Object(_)) => other.to_string(),
    }
}

fn listing(facts: &[Fact]) -> Listing {
    let trust = |fact: &Fact| if fact.untrusted { "untrusted" } else { "" };
    Listing {
        heading: vec!["FACT", "TYPE", "TRUST", "VALUE"],
        shown: facts
            .iter()
            .map(|fact| {
                vec![
                    Cell::plain(&fact.name),
                    Cell::new(Tone::Dim, &fact.kind),
                    Cell::new(Tone::Warn, trust(fact)),
                    Cell::plain(words(&fact.value)),
                ]
            })
            .collect(),
        piped: facts.iter().map(|f| vec![f.name.clone(), f.kind.clone(), trust(f).to_owned(), words(&f.value)]).collect(),
        nothing: "nothing is known of it yet",
    }
}

fn who(account: Option<&Reviewer>) -> String {
    match account {
        Some(account) if account.automated => format!("{} (automated)", account.login),
        Some(account) => account.login.clone(),
        None => "somebody whose account is gone".to_owned(),
    }
}

fn page(context: &Context, unit: &UnitDetail) -> String {
    let out = &context.out;
    let mut text = format!("{}\n", out.paint(Tone::Strong, &unit_row(&unit.unit)));
    let mut row = |name: &str, tone: Tone, value: &str| {
        text.push_str(&format!("{}  {}\n", out.paint(Tone::Dim, &format!("{name:<9}")), out.paint(tone, value)));
    };
    let waits = if unit.waits_on_user { ", waits on you" } else { "" };
    row(
        "situation",
        if unit.waits_on_user { Tone::Warn } else { Tone::Plain },
        &format!("{}{waits}", unit.kind.replace('_', " ")),
    );
    row("author", Tone::Plain, &who(unit.author.as_ref()));
    if unit.fork {
        row("from", Tone::Plain, unit.head_repository.as_deref().unwrap_or("a fork that is gone"));
    }
    if let Some(reason) = &unit.reason {
        row("review", Tone::Plain, reason);
    }
    if unit.paused {
        row("paused", Tone::Warn, "no round of it starts by itself");
    }
    for skipped in &unit.skipped {
        let workflow = if skipped.workflow.is_empty() { "round" } else { skipped.workflow.as_str() };
        row(workflow, Tone::Dim, &format!("skipped because {}", skipped.because));
    }
    for item in &unit.rounds {
        let place = item.place.map(|place| format!(" ({})", queued(place))).unwrap_or_default();
        row("planned", Tone::Warn, &format!("{} is {}{place}: {}", item.intent, item.state.replace('_', " "), item.reason));
    }
    for action in &unit.actions {
        let how = match (&action.disabled, action.enabled) {
            // The intents that have a command of their own.
            (_, true) if action.intent == "review" => context.command(&format!("review {}", unit.unit.label)),
            (_, true) => format!("starts a round of `{}`", action.intent),
            (Some(why), false) => why.clone(),
            (None, false) => "not now".to_owned(),
        };
        row("action", if action.enabled { Tone::Plain } else { Tone::Dim }, &format!("{}: {how}", action.label));
    }
    if let Some(fault) = &unit.fault {
        row("fault", Tone::Bad, fault);
    }
    text.push('\n');
    text
}
