//! The demo with a person at the terminal: how to watch and drive it, then what happens, in plain words.

use wloop_api::types::Event;

use super::Stage;
use crate::commands::events::sentence;
use crate::commands::follow::Stream;
use crate::failure::Failure;
use crate::output::Tone;

/// Prints what to do, then follows the events until the caller ends it.
pub(super) async fn run(stage: &Stage<'_>, mut stream: Stream) -> Result<(), Failure> {
    let out = &stage.context.out;
    for line in instructions(stage) {
        out.line(&line)?;
    }
    out.line(&out.paint(Tone::Dim, super::TRUSTED))?;
    out.line("")?;
    loop {
        let event = stream.next().await?;
        if worth_telling(&event) {
            out.line(&sentence(out, &event, false))?;
            if let Some(hint) = hint(stage, &event) {
                out.line(&out.paint(Tone::Dim, &format!("          → {hint}")))?;
            }
        }
    }
}

/// Six lines, whose commands work as they stand in another terminal.
fn instructions(stage: &Stage<'_>) -> Vec<String> {
    let (out, program) = (&stage.context.out, &stage.program);
    let address = |index: usize| stage.world.pulls.get(index).map(|pull| pull.url.clone()).unwrap_or_default();
    let third = stage.world.pulls.get(2).map_or(3, |pull| pull.number);
    let unit = format!("{}#{third}", stage.world.repository);
    let line = |name: &str, text: String| {
        format!("{}  {}", out.paint(Tone::Strong, &format!("{name:<6}")), out.paint(Tone::Plain, &text))
    };
    vec![
        line(
            "look",
            format!(
                "open {} and the pull requests after it: three ask `{}` for a review (home: {})",
                address(0),
                stage.world.viewer,
                stage.home.display()
            ),
        ),
        line(
            "watch",
            format!("{program} plan --follow   a round starts 15 s after it is planned; again: {program} review {unit}"),
        ),
        line("drive", format!("{program} plan apply {unit} --guide 'Be brief.'   or skip it: {program} plan dismiss {unit}")),
        line(
            "drafts",
            format!("{program} outbox   what an agent would like to say beside a review: outbox show ID, outbox approve ID"),
        ),
        line("decide", format!("{program} inbox   then {program} gates show ID and {program} gates resolve ID publish")),
        line(
            "end",
            format!(
                "Ctrl-C here; rounds that run may finish, then {}",
                if stage.throw_away { "the home is gone" } else { "the home stays" }
            ),
        ),
    ]
}

/// Leaves out upkeep, the tasks that only hold a gate, and the post that the round's own event tells of.
pub(super) fn worth_telling(event: &Event) -> bool {
    event.class != "inner" && !event.kind.starts_with("task_") && !matches!(event.kind.as_str(), "post_sent" | "draft_failed")
}

/// What the person can type now, where an event asks for something.
fn hint(stage: &Stage<'_>, event: &Event) -> Option<String> {
    let gate = event.gate.as_deref().and_then(|id| id.get(..8))?;
    match (event.kind.as_str(), event.key.as_str()) {
        ("gate_opened", "draft") => Some(format!("{} outbox", stage.program)),
        ("gate_opened", "post" | "question" | "trust") => Some(format!("{} gates show {gate}", stage.program)),
        _ => None,
    }
}
