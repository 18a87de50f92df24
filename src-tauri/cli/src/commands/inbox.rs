//! `wloop inbox`: what waits for the person, oldest first, each with the next command to type.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use wloop_api::client::{GateFilter, UnitFilter};
use wloop_api::types::{Gate, Post, Turn, UnitName};

use crate::commands::gates::start;
use crate::context::{Context, quoted};
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::words::{age, label, post_state, unit_id, unit_row, until};

/// How long a round that broke off is told of.
const FRESH: SignedDuration = SignedDuration::from_hours(7 * 24);

/// One thing that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Waiting {
    /// `gate`, `draft`, `post` or `turn`.
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
    let every = UnitFilter::default();
    let work = async { tokio::try_join!(client.gates(&open), client.posts(&failed), client.turns(&every)) };
    let (gates, posts, turns) = context.out.progress("asking the daemon", work).await?;
    let waiting = waiting(context, &gates, &posts, &turns);
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

fn waiting(context: &Context, gates: &[Gate], posts: &[Post], turns: &[Turn]) -> Vec<Waiting> {
    // A muted unit's round is not announced; its other gates are (WIN-39, DEC-06).
    let gates = gates.iter().filter(|gate| !(gate.muted && gate.kind == "plan")).map(|gate| Waiting {
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
            _ => match &gate.draft {
                Some(draft) => context.command(&format!("outbox show {}", start(draft))),
                None => context.command(&format!("gates show {}", gate.short)),
            },
        },
    });
    let posts = posts.iter().map(|post| {
        let (_, state) = post_state(post);
        let why = post.cause.as_deref().map_or(String::new(), |cause| format!(": {cause}"));
        Waiting {
            what: if post.draft { "draft" } else { "post" },
            kind: post.shape.clone(),
            id: post.id.clone(),
            short: post.short.clone(),
            unit: Some(post.unit.clone()),
            since: post.changed_at,
            deadline: None,
            words: format!("{} {state}{why}", post.shape),
            command: context.command(&if post.draft {
                format!("outbox show {}", post.short)
            } else {
                format!("posts show {}", post.short)
            }),
        }
    });
    let mut seen = BTreeSet::new();
    // Of each unit the newest turn, which is listed first; one that broke off is never taken for a review (GH-FACT-29).
    let newest = turns.iter().filter(|turn| seen.insert(turn.unit.id.as_str()));
    let now = (context.now)();
    let broken = newest.filter(|turn| matches!(turn.state.as_str(), "failed" | "unrecorded")).filter_map(|turn| {
        let since = turn.ended_at?;
        let why = turn.cause.as_deref().map_or(String::new(), |cause| format!(": {cause}"));
        (now.duration_since(since) < FRESH).then(|| Waiting {
            what: "turn",
            kind: turn.intent.clone(),
            id: turn.id.clone(),
            short: turn.short.clone(),
            unit: Some(turn.unit.clone()),
            since,
            deadline: None,
            words: format!("the {} broke off{why}", turn.intent),
            command: context.command(&format!("{} {}", turn.intent, quoted(&turn.unit.label))),
        })
    });
    let mut all: Vec<Waiting> = gates.chain(posts).chain(broken).collect();
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
        let tone = if item.what == "gate" { Tone::Warn } else { Tone::Bad };
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
