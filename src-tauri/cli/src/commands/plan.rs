//! `wloop plan`: planned rounds, their countdowns, and what the person says of them (WIN-10 to WIN-18).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::MissedTickBehavior;
use wloop_api::types::{PlanAction, PlanItem, PlanRequest};

use crate::args::{PlanArguments, PlanCommand};
use crate::commands::follow::Stream;
use crate::commands::{gates, holds};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Cell, Listing, Tone, width};
use crate::words::{clock, plan_state, round, waits};

/// Runs the command.
pub(crate) async fn run(context: &Context, arguments: &PlanArguments) -> Result<(), Failure> {
    match &arguments.command {
        None if arguments.follow && context.out.terminal && !context.json => live(context).await,
        None if arguments.follow => changes(context).await,
        None if arguments.unit.is_some() => one(context, arguments.unit.as_deref().unwrap_or_default()).await,
        None => {
            let client = context.client()?;
            let plan = context.out.progress("asking the daemon", client.plan()).await?;
            if context.json { context.out.json(&plan) } else { context.out.list(&listing(&plan, (context.now)())) }
        }
        Some(PlanCommand::Apply { unit, guide }) => {
            context.guard("plan apply", "POST /api/plan")?;
            let guidance = context.text(guide.as_deref())?;
            let action = if guidance.is_some() { PlanAction::Guide } else { PlanAction::Apply };
            decide(context, PlanRequest { unit: unit.clone(), action, guidance }).await
        }
        Some(PlanCommand::Dismiss { unit }) => {
            decide(context, PlanRequest { unit: unit.clone(), action: PlanAction::Dismiss, guidance: None }).await
        }
    }
}

/// The rounds of one unit, and why no other round of it runs (GH-FACT-29).
async fn one(context: &Context, unit: &str) -> Result<(), Failure> {
    let client = context.client()?;
    let detail = context.out.progress("asking the daemon", client.unit(unit)).await?;
    if context.json {
        return context.out.json(&detail);
    }
    if !context.out.terminal {
        for item in &detail.rounds {
            context.out.fields(&fields(item))?;
        }
        for skipped in &detail.skipped {
            let skip = ["", "skipped", &detail.unit.id, &detail.unit.label, &skipped.workflow, &skipped.because];
            context.out.fields(&skip.map(str::to_owned))?;
        }
        return Ok(());
    }
    context.out.line(&holds::standing(&detail))?;
    if !detail.rounds.is_empty() {
        context.out.list(&listing(&detail.rounds, (context.now)()))?;
    }
    for skipped in &detail.skipped {
        let workflow = if skipped.workflow.is_empty() { "no round" } else { skipped.workflow.as_str() };
        context.out.line(&format!("{workflow}: skipped because {}", skipped.because))?;
    }
    for text in &detail.guidance_kept {
        context.out.line(&format!("came too late, given to nobody: {text}"))?;
    }
    Ok(())
}

/// One line for each round that was decided, in plan order.
async fn decide(context: &Context, request: PlanRequest) -> Result<(), Failure> {
    let client = context.client()?;
    let answer = context.out.progress("asking the daemon", client.decide_plan(&request)).await?;
    if answer.gates.is_empty() && !answer.guidance_kept {
        return Err(Failure::Refused(format!(
            "no round waits on `{}`; see what does with `{}`, or start one with `{}`",
            request.unit,
            context.command("plan"),
            context.command(&format!("review {}", crate::context::quoted(&request.unit)))
        )));
    }
    if context.json {
        return context.out.json(&answer);
    }
    for gate in &answer.gates {
        gates::answer(context, gate)?;
    }
    if answer.guidance_kept {
        let text = format!("nothing waited on {}; the guidance is kept for its next round", request.unit);
        if context.out.terminal { context.out.line(&text)? } else { context.out.note(&text) }
    }
    Ok(())
}

fn fields(item: &PlanItem) -> Vec<String> {
    vec![
        item.id.clone(),
        item.state.clone(),
        item.unit.id.clone(),
        item.unit.label.clone(),
        item.workflow.clone(),
        item.intent.clone(),
        item.stage.clone(),
        item.deadline.map(|at| at.to_string()).unwrap_or_default(),
        item.gate.clone().unwrap_or_default(),
        item.reason.clone(),
        item.guidance.clone().unwrap_or_default(),
        item.cap.clone().unwrap_or_default(),
        if item.muted { "muted" } else { "" }.to_owned(),
        item.place.map(|place| place.to_string()).unwrap_or_default(),
    ]
}

fn listing(plan: &[PlanItem], now: Timestamp) -> Listing {
    let guided = plan.iter().any(|item| item.guidance.is_some());
    let shown = plan.iter().map(|item| {
        let (tone, mut state) = plan_state(now, item);
        if item.muted {
            state.push_str(", muted");
        }
        let mut row = vec![
            Cell::new(Tone::Strong, &item.unit.label),
            Cell::plain(round(&item.intent, &item.stage)),
            Cell::new(tone, state),
        ];
        if guided {
            let guidance: String = item.guidance.as_deref().unwrap_or_default().chars().take(30).collect();
            row.push(Cell::plain(guidance));
        }
        let waits = item.waiting_until.map(waits);
        // What it asks for is said once, in the person's own time.
        let reason =
            Some(&item.reason).filter(|reason| !(reason.is_empty() || waits.is_some() && reason.contains("asks to wait")));
        let mut what = waits.iter().map(String::as_str).collect::<Vec<_>>();
        what.push(&item.unit.title);
        what.extend(reason.map(String::as_str));
        let what = what.join(" · ");
        row.push(Cell::plain(what));
        row
    });
    let mut heading = vec!["UNIT", "ROUND", "STATE"];
    if guided {
        heading.push("GUIDANCE");
    }
    heading.push("WHAT");
    Listing { heading, shown: shown.collect(), piped: plan.iter().map(fields).collect(), nothing: "no round is planned" }
}

/// A pipe gets one line for each change; a round that left the plan comes once more, as `gone`.
async fn changes(context: &Context) -> Result<(), Failure> {
    let client = context.client()?;
    let mut stream = Stream::open(&client, None).await?;
    let mut known: BTreeMap<String, PlanItem> = BTreeMap::new();
    loop {
        let plan = client.plan().await?;
        for item in changed(&mut known, plan) {
            if context.json {
                context.out.json_line(&item)?;
            } else {
                let mut line = vec![(context.now)().to_string()];
                line.extend(fields(&item));
                context.out.fields(&line)?;
            }
        }
        stream.next().await?;
        stream.drain()?;
    }
}

/// What differs from what was known, in plan order, then what is gone; `known` is brought up to date.
fn changed(known: &mut BTreeMap<String, PlanItem>, plan: Vec<PlanItem>) -> Vec<PlanItem> {
    let mut lines = Vec::new();
    let mut before = std::mem::take(known);
    for item in plan {
        if before.remove(&item.id).as_ref() != Some(&item) {
            lines.push(item.clone());
        }
        known.insert(item.id.clone(), item);
    }
    lines.extend(before.into_values().map(|item| PlanItem { state: "gone".to_owned(), ..item }));
    lines
}

/// The plan on a terminal, drawn in place: anew at each event, and each second while something counts down.
async fn live(context: &Context) -> Result<(), Failure> {
    let client = context.client()?;
    let mut stream = Stream::open(&client, None).await?;
    let mut plan = client.plan().await?;
    let mut screen = Screen::new(context)?;
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    loop {
        screen.draw(&plan)?;
        let counting = plan.iter().any(|item| item.deadline.is_some());
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                return Ok(());
            }
            _ = terminated.recv() => return Ok(()),
            event = stream.next() => {
                event?;
                stream.drain()?;
                plan = client.plan().await?;
            }
            _ = second.tick(), if counting => {}
        }
    }
}

/// A few lines of a terminal that are drawn over and over; the cursor comes back when it is dropped, whatever happened.
struct Screen<'a> {
    context: &'a Context,
    lines: usize,
}

impl<'a> Screen<'a> {
    fn new(context: &'a Context) -> Result<Self, Failure> {
        // The cursor is hidden, and a line that is too long is cut instead of breaking the count of lines.
        context.out.raw("\u{1b}[?25l\u{1b}[?7l")?;
        Ok(Self { context, lines: 0 })
    }

    fn draw(&mut self, plan: &[PlanItem]) -> Result<(), Failure> {
        let now = (self.context.now)();
        let table = self.context.out.list_text(&listing(plan, now), width());
        let foot = format!("{} · {} runs, `dismiss` skips · Ctrl-C ends", clock(now), self.context.command("plan apply UNIT"));
        let foot = self.context.out.folded(&foot, 0);
        let below = foot.len();
        let foot = foot.iter().map(|line| self.context.out.paint(Tone::Dim, line)).collect::<Vec<_>>().join("\n");
        // Each line is cleared as it is written and the rest below afterwards, which flickers less than clearing first.
        let text = format!("{}{table}{foot}\n", up(self.lines)).replace('\n', "\u{1b}[K\n");
        self.context.out.raw(&format!("{text}\u{1b}[J"))?;
        self.lines = table.lines().count() + below;
        Ok(())
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no cursor.
        drop(self.context.out.raw("\u{1b}[?7h\u{1b}[?25h"));
    }
}

/// Moves to the start of the line that many lines up.
fn up(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\u{1b}[{lines}F") }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
