//! `wloop inbox`: what waits for the person, oldest first, each with the next command to type.

use jiff::Timestamp;
use serde::Serialize;
use wloop_api::client::{GateFilter, UnitFilter};
use wloop_api::types::{Gate, Post, UnitName};

use crate::context::{Context, quoted};
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::words::{age, label, post_state, unit_id, unit_row, until};

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Waiting {
    /// `gate` or `post`.
    what: &'static str,
    kind: String,
    id: String,
    short: String,
    unit: Option<UnitName>,
    since: Timestamp,
    deadline: Option<Timestamp>,
    words: String,
    command: String,
}

/// Prints what waits.
pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let client = context.client()?;
    let open = GateFilter { status: Some("open".to_owned()), ..GateFilter::default() };
    let failed = UnitFilter { state: Some("failed".to_owned()), ..UnitFilter::default() };
    let work = async { tokio::try_join!(client.gates(&open), client.posts(&failed)) };
    let (gates, posts) = context.out.progress("asking the daemon", work).await?;
    let waiting = waiting(context, &gates, &posts);
    if context.json {
        return context.out.json(&waiting);
    }
    if context.out.terminal {
        return context.out.raw(&shown(&context.out, &waiting, (context.now)()));
    }
    for item in &waiting {
        context.out.fields(&[
            item.id.clone(),
            item.what.to_owned(),
            item.kind.clone(),
            unit_id(item.unit.as_ref()),
            label(item.unit.as_ref()),
            item.since.to_string(),
            item.deadline.map(|at| at.to_string()).unwrap_or_default(),
            item.words.clone(),
            item.command.clone(),
        ])?;
    }
    Ok(())
}

fn waiting(context: &Context, gates: &[Gate], posts: &[Post]) -> Vec<Waiting> {
    let gates = gates.iter().map(|gate| Waiting {
        what: "gate",
        kind: gate.kind.clone(),
        id: gate.id.clone(),
        short: gate.short.clone(),
        unit: gate.unit.clone(),
        since: gate.opened_at,
        deadline: gate.deadline,
        words: gate.words.clone(),
        command: match (&gate.unit, gate.kind.as_str()) {
            (Some(unit), "plan") => context.command(&format!("plan apply {}", quoted(&unit.label))),
            _ => context.command(&format!("gates show {}", gate.short)),
        },
    });
    let posts = posts.iter().map(|post| {
        let (_, state) = post_state(post);
        let why = post.cause.as_deref().map_or(String::new(), |cause| format!(": {cause}"));
        Waiting {
            what: "post",
            kind: post.shape.clone(),
            id: post.id.clone(),
            short: post.short.clone(),
            unit: Some(post.unit.clone()),
            since: post.changed_at,
            deadline: None,
            words: format!("{} {state}{why}", post.shape),
            command: context.command(&format!("posts show {}", post.short)),
        }
    });
    let mut all: Vec<Waiting> = gates.chain(posts).collect();
    all.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
    all
}

fn shown(out: &Output, waiting: &[Waiting], now: Timestamp) -> String {
    if waiting.is_empty() {
        return out.paint(Tone::Dim, "nothing waits for you") + "\n";
    }
    let mut text = String::new();
    for item in waiting {
        let unit = item.unit.as_ref().map(unit_row).unwrap_or_default();
        let tone = if item.what == "post" { Tone::Bad } else { Tone::Warn };
        text.push_str(&format!(
            "{}  {}  {}  {}\n",
            out.paint(Tone::Strong, &item.short),
            out.paint(tone, &item.kind),
            out.paint(Tone::Plain, &unit),
            out.paint(Tone::Dim, &age(now, item.since))
        ));
        let ends = item.deadline.map_or(String::new(), |at| format!(" · runs {}", until(now, at)));
        text.push_str(&format!("        {}{}\n", out.paint(Tone::Plain, &item.words), out.paint(Tone::Warn, &ends)));
        text.push_str(&format!("        → {}\n", out.paint(Tone::Plain, &item.command)));
    }
    text
}

#[cfg(test)]
#[path = "inbox_tests.rs"]
mod tests;
