//! `wloop gates`: list, show, resolve, retry.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;
use wloop_api::client::GateFilter;
use wloop_api::types::{Gate, Intent, Post, Resolve};

use crate::args::{GatesArguments, GatesCommand};
use crate::commands::posts;
use crate::context::{Context, quoted};
use crate::failure::Failure;
use crate::output::{Cell, Listing, Output, Tone, lines};
use crate::words::{age, day_and_clock, how_it_stands, label, unit_id, unit_row, until};

/// Runs the command.
pub(crate) async fn run(context: &Context, arguments: &GatesArguments) -> Result<(), Failure> {
    match &arguments.command {
        None => list(context, arguments).await,
        Some(GatesCommand::Show { id }) => {
            let gate = context.out.progress("asking the daemon", context.client()?.gate(id)).await?;
            if context.json {
                return context.out.json(&gate);
            }
            context.out.raw(&page(context, &gate, (context.now)()))
        }
        Some(GatesCommand::Resolve { id, intent, text, draft_text, draft_file }) => {
            let draft_text = match draft_file {
                Some(file) => Some(std::fs::read_to_string(file).map_err(|error| {
                    Failure::Refused(format!("`{}` cannot be read: {error}; give another file to --draft-file", file.display()))
                })?),
                None => context.text(draft_text.as_deref())?,
            };
            resolve(context, id, intent, Resolve { text: context.text(text.as_deref())?, draft_text }).await
        }
        Some(GatesCommand::Seen { id }) => {
            let gate = context.out.progress("asking the daemon", context.client()?.saw_gate(id)).await?;
            answer(context, &gate)
        }
        Some(GatesCommand::Retry { id }) => {
            context.guard(&format!("gates retry {id}"), &format!("POST /api/gates/{id}/retry"))?;
            let gate = context.out.progress("trying again", context.client()?.retry_gate(id)).await?;
            answer(context, &gate)
        }
    }
}

async fn list(context: &Context, arguments: &GatesArguments) -> Result<(), Failure> {
    let status = if arguments.all { None } else { Some(arguments.status.clone().unwrap_or_else(|| "open".to_owned())) };
    let filter = GateFilter { status, kind: arguments.kind.clone(), unit: arguments.unit.clone(), task: None };
    let client = context.client()?;
    let gates = context.out.progress("asking the daemon", client.gates(&filter)).await?;
    if context.json { context.out.json(&gates) } else { context.out.list(&listing(&gates, (context.now)())) }
}

/// Resolves a gate; the daemon decides whether the caller may. Only what releases something needs a terminal (RES-20).
async fn resolve(context: &Context, id: &str, intent: &str, body: Resolve) -> Result<(), Failure> {
    let client = context.client()?;
    let gate = context.out.progress("asking the daemon", client.gate(id)).await?;
    let Some(known) = gate.intents.iter().find(|known| known.name == intent) else {
        let names: Vec<String> = gate.intents.iter().map(|intent| format!("`{}`", intent.name)).collect();
        return Err(Failure::Refused(format!(
            "gate {} has no intent `{intent}`; it takes {}, see `{}`",
            gate.short,
            names.join(", "),
            context.command(&format!("gates show {}", gate.short))
        )));
    };
    if releases(&gate, known) {
        context.guard(&format!("gates resolve {} {intent}", gate.short), &format!("POST /api/gates/{}/{intent}", gate.id))?;
    }
    // The whole id of the gate that was looked at: a prefix could mean another one by now.
    let gate = context.out.progress("resolving the gate", client.resolve(&gate.id, intent, &body)).await?;
    answer(context, &gate)
}

/// Whether an intent lets something go out or run: it approves, or publishes what a stopped round wrote.
fn releases(gate: &Gate, intent: &Intent) -> bool {
    intent.status == "approved" || intent.name == "publish" || (gate.kind == "post" && intent.status == "answered")
}

/// Prints what became of a gate.
pub(crate) fn answer(context: &Context, gate: &Gate) -> Result<(), Failure> {
    if context.json {
        return context.out.json(gate);
    }
    if !context.out.terminal {
        return context.out.fields(&fields(gate));
    }
    context.out.line(&closing(&context.out, gate))
}

/// One line on how a gate ended and what it released.
pub(crate) fn closing(out: &Output, gate: &Gate) -> String {
    let of = gate.unit.as_ref().map_or(String::new(), |unit| format!(" on {}", unit.label));
    let mut text = format!("{} gate {}{of}: {}", gate.kind, gate.short, how_it_stands(gate));
    if let Some(consequence) = &gate.consequence {
        let _ = write!(text, "; {}", consequence_words(&consequence.state));
        if !consequence.note.is_empty() {
            let _ = write!(text, ": {}", consequence.note);
        }
    }
    out.paint(Tone::Plain, &text)
}

fn consequence_words(state: &str) -> &str {
    match state {
        "due" => "about to start",
        "started" => "under way",
        "ran" => "done",
        "failed" => "failed",
        "unknown" => "whether it was done is unknown",
        other => other,
    }
}

fn fields(gate: &Gate) -> Vec<String> {
    vec![
        gate.id.clone(),
        gate.kind.clone(),
        gate.status.clone(),
        gate.name.clone(),
        unit_id(gate.unit.as_ref()),
        label(gate.unit.as_ref()),
        gate.opened_at.to_string(),
        gate.deadline.map(|at| at.to_string()).unwrap_or_default(),
        gate.policy.clone(),
        gate.words.clone(),
    ]
}

fn listing(gates: &[Gate], now: Timestamp) -> Listing {
    // A column appears only where the rows differ in it.
    let closed = gates.iter().any(|gate| gate.status != "open");
    let deadlines = gates.iter().any(|gate| gate.deadline.is_some() && gate.status == "open");
    let mut heading = vec!["ID", "KIND"];
    if closed {
        heading.push("STATUS");
    }
    heading.extend(["UNIT", "AGE"]);
    if deadlines {
        heading.push("ENDS");
    }
    heading.push("ASKS");
    let shown = gates.iter().map(|gate| {
        let mut row = vec![Cell::new(Tone::Strong, &gate.short), Cell::plain(&gate.kind)];
        if closed {
            row.push(Cell::new(if gate.status == "open" { Tone::Warn } else { Tone::Plain }, &gate.status));
        }
        row.extend([Cell::plain(label(gate.unit.as_ref())), Cell::new(Tone::Dim, age(now, gate.opened_at))]);
        if deadlines {
            let ends = gate.deadline.filter(|_| gate.status == "open").map(|at| until(now, at));
            row.push(Cell::new(Tone::Warn, ends.unwrap_or_default()));
        }
        row.push(Cell::plain(&gate.words));
        row
    });
    Listing { heading, shown: shown.collect(), piped: gates.iter().map(fields).collect(), nothing: "no gates here" }
}

/// Everything about one gate: the text it holds whole, how the policy decided, and what can be typed.
fn page(context: &Context, gate: &Gate, now: Timestamp) -> String {
    let out = &context.out;
    let mut text = String::new();
    push(&mut text, &out.paint(Tone::Strong, &format!("{} · {}", gate.short, gate.words)));
    let mut row = |name: &str, value: &str| {
        push(&mut text, &out.row(name, Tone::Plain, value));
    };
    row("id", &gate.id);
    row("gate", &format!("{} ({})", gate.name, gate.kind));
    if let Some(unit) = &gate.unit {
        row("unit", &unit_row(unit));
        row("address", &unit.url);
    }
    row("opened", &format!("{} (age {})", day_and_clock(gate.opened_at), age(now, gate.opened_at)));
    if let Some(trust) = &gate.trust {
        row("agent", &format!("{} in {}", trust.agent, trust.repo));
        if !trust.folder.is_empty() {
            row("folder", &trust.folder);
        }
        for home in &trust.homes {
            row("writes", home);
        }
    }
    if gate.muted {
        row("muted", "its rounds are not announced, and go on");
    }
    match (gate.status.as_str(), gate.deadline) {
        ("open", Some(deadline)) => {
            let takes = gate.default_intent.as_deref().map_or(String::new(), |intent| format!(", then `{intent}`"));
            row("window", &format!("ends {} ({}){takes}", until(now, deadline), day_and_clock(deadline)));
        }
        ("open", None) => row("window", "none; it waits for you"),
        _ => row("closed", &how_it_stands(gate)),
    }
    if let Some(text) = gate.closed.as_ref().and_then(|closed| closed.text.as_deref()) {
        row("said", text);
    }
    if let Some(consequence) = &gate.consequence {
        let note = if consequence.note.is_empty() { String::new() } else { format!(": {}", consequence.note) };
        row("after", &context.hints(&format!("{}{note}", consequence_words(&consequence.state))));
    }
    if let Some(turn) = &gate.turn {
        row("turn", &format!("{} — `{}`", turn, context.command(&format!("turns show {}", start(turn)))));
    }
    row("policy", &gate.policy);
    for line in explanation(&gate.explanation) {
        push(&mut text, &format!("          {}", out.paint(Tone::Dim, &line)));
    }
    if let Some(post) = &gate.post {
        push(&mut text, "");
        text.push_str(&posts::body(out, post));
    }
    if gate.status == "open" {
        push(&mut text, "");
        push(&mut text, &out.paint(Tone::Strong, "what you can type"));
        let commands = commands(context, gate);
        let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        for (command, what) in commands {
            push(
                &mut text,
                &format!("  {}  {}", out.paint(Tone::Plain, &format!("{command:<width$}")), out.paint(Tone::Dim, &what)),
            );
        }
    }
    text
}

/// The commands that can be used on an open gate, with what each does.
pub(crate) fn commands(context: &Context, gate: &Gate) -> Vec<(String, String)> {
    let mut commands = Vec::new();
    for intent in &gate.intents {
        let resolve = context.command(&format!("gates resolve {} {}", gate.short, quoted(&intent.name)));
        if intent.takes_text {
            commands.push((format!("{resolve} --text '…'"), format!("{}, with a text", intent.label)));
        } else {
            commands.push((resolve.clone(), intent.label.clone()));
        }
        if gate.post.is_some() && releases(gate, intent) {
            commands.push((format!("{resolve} --draft-file FILE"), format!("{}, with the body of a file instead", intent.label)));
        }
    }
    if let (Some(unit), "plan") = (&gate.unit, gate.kind.as_str()) {
        commands
            .push((context.command(&format!("plan apply {}", quoted(&unit.label))), "the same by its pull request".to_owned()));
    }
    commands
}

/// How the policy decided, as indented lines, whatever shape the explanation has.
pub(crate) fn explanation(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    explain(value, 0, "", &mut lines);
    lines
}

fn explain(value: &Value, depth: usize, name: &str, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let start = if name.is_empty() { String::new() } else { format!("{}: ", name.replace('_', " ")) };
    match value {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {}
        Value::String(text) => lines.push(format!("{indent}{start}{text}")),
        Value::Bool(_) | Value::Number(_) => lines.push(format!("{indent}{start}{value}")),
        Value::Array(items) => {
            if !start.is_empty() && !items.is_empty() {
                lines.push(format!("{indent}{}", start.trim_end()));
            }
            let depth = depth + usize::from(!start.is_empty());
            for item in items {
                explain(item, depth, "", lines);
            }
        }
        Value::Object(fields) => {
            let plain = fields.values().all(|value| !value.is_array() && !value.is_object());
            if plain {
                let parts: Vec<String> = fields
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(name, value)| {
                        format!("{} {}", name.replace('_', " "), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                    })
                    .collect();
                lines.push(format!("{indent}{start}{}", parts.join(", ")));
            } else {
                if !start.is_empty() {
                    lines.push(format!("{indent}{}", start.trim_end()));
                }
                let depth = depth + usize::from(!start.is_empty());
                for (name, value) in fields {
                    explain(value, depth, name, lines);
                }
            }
        }
    }
}

/// The whole text of a post with each comment on lines, safe for a terminal.
pub(crate) fn post_text(out: &Output, post: &Post) -> String {
    let mut text = String::new();
    for line in lines(&post.text) {
        push(&mut text, &format!("  {line}"));
    }
    for comment in &post.comments {
        push(&mut text, "");
        let from = comment.start_line.filter(|start| *start != comment.line).map_or(String::new(), |start| format!("{start}-"));
        let side = if comment.side == "LEFT" { " (old side)" } else { "" };
        push(&mut text, &format!("  {}", out.paint(Tone::Strong, &format!("{}:{from}{}{side}", comment.path, comment.line))));
        for line in lines(&comment.body) {
            push(&mut text, &format!("    {line}"));
        }
    }
    text
}

fn push(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The start of an id, long enough to be typed.
pub(crate) fn start(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

#[cfg(test)]
#[path = "gates_tests.rs"]
mod tests;
