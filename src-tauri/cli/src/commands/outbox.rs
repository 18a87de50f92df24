//! `wloop outbox`: the drafts that wait for the person, each shown whole before it goes (CLI-01 to CLI-17, F16).

use std::fmt::Write as _;

use jiff::Timestamp;
use wloop_api::types::{Discard, Draft, DraftEdit, DraftGroup, DraftRequest, Resolve};

use crate::args::{OutboxArguments, OutboxCommand};
use crate::commands::gates;
use crate::context::{Context, quoted};
use crate::failure::Failure;
use crate::output::{Cell, Listing, Output, Tone, lines};
use crate::words::{age, count, day_and_clock, unit_row, until};

/// Runs the command.
pub(crate) async fn run(context: &Context, arguments: &OutboxArguments) -> Result<(), Failure> {
    let (client, out) = (context.client()?, &context.out);
    match &arguments.command {
        None => {
            let groups = out.progress("asking the daemon", client.outbox()).await?;
            if context.json {
                return out.json(&groups);
            }
            out.raw(&listed(context, &groups, (context.now)()))
        }
        Some(OutboxCommand::Show { id }) => {
            let draft = out.progress("asking the daemon", client.draft(id)).await?;
            if context.json { out.json(&draft) } else { out.raw(&page(context, &draft)) }
        }
        Some(OutboxCommand::New { unit, markdown, react, send, broadcast, purpose }) => {
            if *send {
                context.guard("outbox new --send", "POST /api/drafts")?;
            }
            let (text, delivery) = match react {
                Some(emoji) => (emoji.clone(), Some("reaction".to_owned())),
                None => (context.text(markdown.as_deref())?.unwrap_or_default(), None),
            };
            let body = DraftRequest {
                unit: Some(unit.clone()),
                text,
                purpose: purpose.clone(),
                delivery,
                broadcast: *broadcast,
                // The person has just written it, and knows what it says (DRAFT-30).
                send: *send,
                ..DraftRequest::default()
            };
            let draft = out.progress("writing the draft", client.propose_draft(&body)).await?;
            answer(context, &draft)
        }
        Some(OutboxCommand::Approve { id, gate }) => approve(context, id, gate.as_deref()).await,
        Some(OutboxCommand::Edit { id, markdown, gate }) => {
            let text = context.text(Some(markdown))?;
            let draft = out.progress("asking the daemon", client.draft(id)).await?;
            let body = DraftEdit { text, gate: Some(gate.clone().unwrap_or(draft.gate)), broadcast: None };
            answer(context, &out.progress("editing the draft", client.edit_draft(&draft.id, &body)).await?)
        }
        Some(OutboxCommand::Discard { id, reason }) => {
            let body = Discard { reason: reason.clone() };
            answer(context, &out.progress("discarding the draft", client.discard_draft(id, &body)).await?)
        }
        Some(OutboxCommand::Retry { id }) => retry(context, id).await,
    }
}

/// Shows a draft whole and approves the gate that was shown once the person says yes; a session without a terminal says it by
/// naming that gate (CLI-10, CLI-14 to CLI-16).
async fn approve(context: &Context, id: &str, gate: Option<&str>) -> Result<(), Failure> {
    context.guard(&format!("outbox approve {id}"), "POST /api/gates/{id}/approve")?;
    let (client, out) = (context.client()?, &context.out);
    let draft = out.progress("asking the daemon", client.draft(id)).await?;
    if draft.approve.is_none() {
        let why = format!(
            "draft {} is {} and waits for no approval; look at it with `{}`",
            draft.short,
            draft.state,
            context.command(&format!("outbox show {}", draft.short))
        );
        return Err(Failure::Refused(why));
    }
    if let Some(gate) = gate.filter(|gate| !draft.gate.starts_with(gate)) {
        return Err(Failure::Refused(format!(
            "gate `{gate}` does not ask about draft {} any more; gate {} does: look at the draft again",
            draft.short, draft.gate
        )));
    }
    if context.input_terminal {
        out.raw(&page(context, &draft))?;
        if !yes(out, &format!("Send this to {} as {}?", draft.unit.label, what(&draft)))? {
            return Err(Failure::Refused(format!("not approved: draft {} still waits", draft.short)));
        }
    } else if gate.is_none() {
        out.raw(&page(context, &draft))?;
        return Err(Failure::Refused(format!(
            "nothing is approved unseen: without a terminal, say which gate was shown with --gate {}",
            draft.gate
        )));
    }
    let draft = release(context, &draft).await?;
    answer(context, &draft)
}

/// Approves the very gate that asked about the draft as it is here.
async fn release(context: &Context, draft: &Draft) -> Result<Draft, Failure> {
    let client = context.client()?;
    let intent = draft.approve.as_deref().unwrap_or("approve");
    let resolve = Resolve::default();
    context.out.progress("approving the draft", client.resolve(&draft.gate, intent, &resolve)).await?;
    Ok(client.draft(&draft.id).await?)
}

async fn retry(context: &Context, id: &str) -> Result<(), Failure> {
    context.guard(&format!("outbox retry {id}"), &format!("POST /api/drafts/{id}/retry"))?;
    let (client, out) = (context.client()?, &context.out);
    let draft = out.progress("asking the daemon", client.draft(id)).await?;
    if draft.maybe_posted && context.input_terminal {
        let asked = format!(
            "Draft {} may be at {} already; wloop looks for it first and sends it only when it is not there. Go on?",
            draft.short, draft.unit.label
        );
        if !yes(out, &asked)? {
            return Err(Failure::Refused(format!("not sent again: draft {} stays as it is", draft.short)));
        }
    }
    answer(context, &out.progress("sending the draft again", client.retry_draft(&draft.id)).await?)
}

/// Asks, and takes nothing but a yes for one.
fn yes(out: &Output, question: &str) -> Result<bool, Failure> {
    out.raw(&format!("{} [y/N] ", out.paint(Tone::Strong, question)))?;
    let mut said = String::new();
    std::io::stdin().read_line(&mut said)?;
    Ok(matches!(said.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn what(draft: &Draft) -> String {
    let mentions = if draft.mentions.is_empty() { "nobody".to_owned() } else { draft.mentions.join(", ") };
    format!("a {} that mentions {mentions}", draft.delivery)
}

fn answer(context: &Context, draft: &Draft) -> Result<(), Failure> {
    let out = &context.out;
    if context.json {
        return out.json(draft);
    }
    if !out.terminal {
        return out.fields(&fields(draft));
    }
    let (tone, state) = state(draft, (context.now)());
    let more = [&draft.reason, &draft.cause, &draft.url].into_iter().flatten().next();
    let more = more.map_or(String::new(), |text| format!(" · {text}"));
    let next = match draft.state.as_str() {
        "held" => format!(" · `{}`", context.command(&format!("outbox approve {}", draft.short))),
        "queued" => format!(" · `{}` shows how it went", context.command(&format!("outbox show {}", draft.short))),
        _ => String::new(),
    };
    let about = out.paint(Tone::Plain, &format!("draft {} for {}:", draft.short, draft.unit.label));
    out.line(&format!("{about} {}{}", out.paint(tone, &state), out.paint(Tone::Dim, &format!("{more}{next}"))))
}

/// How a draft stands, in words.
fn state(draft: &Draft, now: Timestamp) -> (Tone, String) {
    match (draft.state.as_str(), draft.deadline) {
        ("held", Some(at)) => (Tone::Warn, format!("goes out {}", until(now, at))),
        ("failed", _) if draft.maybe_posted => (Tone::Bad, "it cannot be told whether it was sent".to_owned()),
        ("failed", _) => (Tone::Bad, draft.state_words.clone()),
        ("held", None) => (Tone::Warn, draft.state_words.clone()),
        ("sent", _) => (Tone::Good, draft.state_words.clone()),
        _ => (Tone::Plain, draft.state_words.clone()),
    }
}

/// The fields of a piped line, in the order of CLI-04.
fn fields(draft: &Draft) -> Vec<String> {
    vec![
        draft.id.clone(),
        draft.purpose.clone(),
        draft.state.clone(),
        draft.unit.id.clone(),
        draft.unit.label.clone(),
        draft.mentions.join(","),
        draft.created_at.to_string(),
        first_line(&draft.text),
    ]
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// The Outbox: groups with their headings on a terminal, lines of fields in a pipe.
fn listed(context: &Context, groups: &[DraftGroup], now: Timestamp) -> String {
    let out = &context.out;
    if !out.terminal {
        let mut drafts: Vec<&Draft> = groups.iter().flat_map(|group| &group.drafts).collect();
        // No grouping in a pipe: the newest first (OUT-10).
        drafts.sort_by_key(|draft| std::cmp::Reverse(draft.created_at));
        let piped = drafts.into_iter().map(fields).collect();
        return out.list_text(&Listing { piped, ..Listing::default() }, None);
    }
    if groups.is_empty() {
        return out.paint(Tone::Dim, "the outbox is empty") + "\n";
    }
    // A column appears only where the drafts differ in it (CLI-03).
    let every: Vec<&Draft> = groups.iter().flat_map(|group| &group.drafts).collect();
    let states = every.iter().any(|draft| draft.state != "held" || draft.deadline.is_some());
    let mut text = String::new();
    for (place, group) in groups.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        let about = if group.about.is_empty() { String::new() } else { format!(" · {}", group.about) };
        let head = out.paint(Tone::Strong, &format!("{} ({})", group.title, group.drafts.len()));
        let _ = writeln!(text, "{head}{}", out.paint(Tone::Dim, &about));
        let mut heading = vec!["ID"];
        if states {
            heading.push("STATE");
        }
        heading.extend(["UNIT", "MENTIONS", "AGE", "SAYS"]);
        let shown = group.drafts.iter().map(|draft| {
            let mut row = vec![Cell::new(Tone::Strong, &draft.short)];
            if states {
                let (tone, words) = state(draft, now);
                row.push(Cell::new(tone, words));
            }
            let mentions = if draft.mentions.is_empty() { "nobody".to_owned() } else { draft.mentions.join(", ") };
            row.extend([
                Cell::plain(unit_row(&draft.unit)),
                Cell::plain(mentions),
                Cell::new(Tone::Dim, age(now, draft.created_at)),
                Cell::plain(first_line(&draft.text)),
            ]);
            row
        });
        let listing = Listing { heading, shown: shown.collect(), piped: Vec::new(), nothing: "" };
        text.push_str(&out.list_text(&listing, crate::output::width()));
    }
    text
}

/// Everything about one draft: its whole text, everyone it mentions, what sending it does, and what can be typed (F16, CLI-05).
pub(crate) fn page(context: &Context, draft: &Draft) -> String {
    let out = &context.out;
    let (tone, state) = state(draft, (context.now)());
    let mut text = format!(
        "{} {}\n",
        out.paint(Tone::Strong, &format!("{} · {} on {}:", draft.short, draft.delivery, unit_row(&draft.unit))),
        out.paint(tone, &state)
    );
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{}  {}", out.paint(Tone::Dim, &format!("{name:<8}")), out.paint(Tone::Plain, value));
    };
    row("id", &draft.id);
    row("address", &draft.unit.url);
    row("from", &draft.proposed_by);
    if !draft.purpose.is_empty() {
        row("why", &draft.purpose_words);
    }
    row("gate", &format!("{} ({})", draft.gate, draft.gate_status));
    if !draft.policy.is_empty() {
        row("rule", &draft.policy);
    }
    row("written", &day_and_clock(draft.created_at));
    if let Some(at) = draft.edited_at {
        row("edited", &format!("{}, {}", day_and_clock(at), count(draft.revisions.len() as u64, "text")));
    }
    for (name, value) in [("dropped", &draft.reason), ("cause", &draft.cause), ("sent", &draft.url)] {
        if let Some(value) = value {
            row(name, value);
        }
    }
    for effect in &draft.effects {
        row("effect", if effect.words.is_empty() { &effect.name } else { &effect.words });
    }
    row("mentions", &if draft.mentions.is_empty() { "nobody".to_owned() } else { draft.mentions.join(", ") });
    text.push('\n');
    for line in lines(&draft.text) {
        let _ = writeln!(text, "  {line}");
    }
    let commands = commands(context, draft);
    if !commands.is_empty() {
        let _ = writeln!(text, "\n{}", out.paint(Tone::Strong, "what you can type"));
        let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        for (command, what) in commands {
            let command = out.paint(Tone::Plain, &format!("{command:<width$}"));
            let _ = writeln!(text, "  {command}  {}", out.paint(Tone::Dim, what));
        }
    }
    text
}

/// The commands that can be used on a draft now, with what each does.
fn commands(context: &Context, draft: &Draft) -> Vec<(String, &'static str)> {
    let id = &draft.short;
    let known = draft.actions.iter().filter_map(|action| {
        Some(match action.as_str() {
            "approve" => (format!("outbox approve {id}"), "send it, after one more look"),
            "edit" => (format!("outbox edit {id} {}", quoted("new text")), "put it otherwise; it is asked about anew"),
            "discard" if draft.state == "held" => (format!("outbox discard {id}"), "drop it"),
            "discard" => (format!("outbox discard {id} --reason {}", quoted("why")), "drop it all the same"),
            "retry" if draft.maybe_posted => (format!("outbox retry {id}"), "send it again, after a look whether it is there"),
            "retry" => (format!("outbox retry {id}"), "send it again"),
            "sent" => (format!("posts sent {id}"), "it was sent"),
            _ => return None,
        })
    });
    let mut commands: Vec<(String, &'static str)> = known.map(|(command, what)| (context.command(&command), what)).collect();
    if draft.revisions.len() > 1 {
        let gate = gates::start(&draft.revisions.first().map(|first| first.gate.clone()).unwrap_or_default()).to_owned();
        commands.push((context.command(&format!("gates show {gate}")), "the text before, as it was asked about"));
    }
    commands
}

#[cfg(test)]
#[path = "outbox_tests.rs"]
mod tests;
