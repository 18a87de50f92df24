//! `wloop turns`, `wloop turn cancel` and `wloop review`.

use jiff::Timestamp;
use wloop_api::client::UnitFilter;
use wloop_api::types::{Turn, TurnDetail, TurnRequest};

use crate::args::{ReviewArguments, TurnArguments, TurnCommand, TurnsArguments, TurnsCommand};
use crate::commands::{gates, posts};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Cell, Listing, Tone, lines};
use crate::words::{age, clock, day_and_clock, post_state, round, turn_tone, unit_row};

/// `wloop turns`.
pub(crate) async fn run(context: &Context, arguments: &TurnsArguments) -> Result<(), Failure> {
    let (client, out) = (context.client()?, &context.out);
    match &arguments.command {
        None => {
            let filter = UnitFilter { state: arguments.state.clone(), unit: arguments.unit.clone() };
            let turns = out.progress("asking the daemon", client.turns(&filter)).await?;
            if context.json { out.json(&turns) } else { out.list(&listing(&turns, (context.now)())) }
        }
        Some(TurnsCommand::Show { id }) => {
            let detail = out.progress("asking the daemon", client.turn(id)).await?;
            if context.json { out.json(&detail) } else { out.raw(&page(context, &detail)) }
        }
    }
}

/// `wloop turn cancel`: stopping needs no terminal (RES-20).
pub(crate) async fn act(context: &Context, arguments: &TurnArguments) -> Result<(), Failure> {
    let TurnCommand::Cancel { id } = &arguments.command;
    let client = context.client()?;
    let turn = context.out.progress("stopping the round", client.cancel_turn(id)).await?;
    answer(context, &turn)
}

/// `wloop review`: a round by hand.
pub(crate) async fn review(context: &Context, arguments: &ReviewArguments) -> Result<(), Failure> {
    context.guard("review", "POST /api/turns")?;
    let body = TurnRequest {
        unit: arguments.unit.clone(),
        intent: "review".to_owned(),
        stage: None,
        guidance: context.text(arguments.guide.as_deref())?,
    };
    let client = context.client()?;
    let started = context.out.progress("starting the round", client.start_turn(&body)).await?;
    if context.json {
        return context.out.json(&started);
    }
    started.gates.iter().try_for_each(|gate| gates::answer(context, gate))?;
    if !context.out.terminal {
        return Ok(());
    }
    context.out.line(&context.out.paint(Tone::Dim, &format!("see how it goes with `{}`", context.command("turns"))))
}

fn answer(context: &Context, turn: &Turn) -> Result<(), Failure> {
    let out = &context.out;
    if context.json {
        return out.json(turn);
    }
    if !out.terminal {
        return out.fields(&fields(turn));
    }
    let cause = turn.cause.as_deref().map_or(String::new(), |cause| format!(": {cause}"));
    let text =
        format!("{} of {} is {}{cause} (turn {})", round(&turn.intent, &turn.stage), turn.unit.label, turn.state, turn.short);
    out.line(&out.paint(Tone::Plain, &text))
}

fn fields(turn: &Turn) -> Vec<String> {
    vec![
        turn.id.clone(),
        turn.state.clone(),
        turn.unit.id.clone(),
        turn.unit.label.clone(),
        turn.intent.clone(),
        turn.stage.clone(),
        turn.started_by.clone(),
        turn.agent.clone(),
        turn.created_at.to_string(),
        turn.ended_at.map(|at| at.to_string()).unwrap_or_default(),
        turn.verdict.clone().unwrap_or_default(),
        turn.cause.clone().or_else(|| turn.summary.clone()).unwrap_or_default(),
    ]
}

fn listing(turns: &[Turn], now: Timestamp) -> Listing {
    let shown = turns.iter().map(|turn| {
        let detail = turn.cause.as_deref().or(turn.summary.as_deref()).unwrap_or_default();
        vec![
            Cell::new(Tone::Strong, &turn.short),
            Cell::plain(&turn.unit.label),
            Cell::plain(round(&turn.intent, &turn.stage)),
            Cell::new(turn_tone(&turn.state), &turn.state),
            Cell::plain(turn.verdict.as_deref().unwrap_or_default().to_lowercase().replace('_', " ")),
            Cell::new(Tone::Dim, age(now, turn.created_at)),
            Cell::plain(detail),
        ]
    });
    Listing {
        heading: vec!["ID", "UNIT", "ROUND", "STATE", "VERDICT", "AGE", "DETAIL"],
        shown: shown.collect(),
        piped: turns.iter().map(fields).collect(),
        nothing: "no round ran yet",
    }
}

fn page(context: &Context, detail: &TurnDetail) -> String {
    let (out, turn) = (&context.out, &detail.turn);
    let title = format!("{} · {} of {}", turn.short, round(&turn.intent, &turn.stage), unit_row(&turn.unit));
    let mut text = format!("{}\n", out.paint(Tone::Strong, &title));
    let mut row = |name: &str, tone: Tone, value: &str| {
        text.push_str(&out.row(name, tone, value));
        text.push('\n');
    };
    row("id", Tone::Plain, &turn.id);
    row("state", turn_tone(&turn.state), &turn.state);
    let by = if turn.started_by == "hand" { "by hand" } else { "by the loop" };
    row("started", Tone::Plain, &format!("{} {by}, round {} of this pull request", day_and_clock(turn.created_at), turn.seq));
    if let Some(ended) = turn.ended_at {
        row("ended", Tone::Plain, &day_and_clock(ended));
    }
    row("agent", Tone::Plain, &turn.agent);
    row("commit", Tone::Plain, &turn.head);
    for (name, value) in [
        ("verdict", &turn.verdict),
        ("summary", &turn.summary),
        ("why", &turn.cause),
        ("guidance", &turn.guidance),
        ("gate", &turn.gate),
        ("folder", &detail.workspace),
    ] {
        if let Some(value) = value {
            row(name, Tone::Plain, value);
        }
    }
    for post in &turn.posts {
        let (tone, state) = post_state(post);
        text.push_str(&format!("\n{} {}\n", out.paint(Tone::Strong, &format!("post {}:", post.short)), out.paint(tone, &state)));
        text.push_str(&posts::body(out, post));
    }
    if let Some(record) = &detail.record {
        text.push_str(&format!("\n{}\n", out.paint(Tone::Strong, "its record")));
        let pretty = serde_json::to_string_pretty(record).unwrap_or_default();
        lines(&pretty).for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if !detail.transcript.is_empty() {
        text.push_str(&format!("\n{}\n", out.paint(Tone::Strong, "what was said")));
    }
    for said in &detail.transcript {
        let start = out.paint(Tone::Dim, &format!("{} {:<11}", clock(said.at), said.from));
        for (index, line) in lines(&said.text).enumerate() {
            let start = if index == 0 { start.clone() } else { " ".repeat(20) };
            text.push_str(&format!("  {start} {line}\n"));
        }
    }
    text
}
