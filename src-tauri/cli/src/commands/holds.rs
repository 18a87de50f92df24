//! `wloop pause`, `resume`, `mute` and `unmute`: of one unit, or of everything (WIN-13, WIN-39).

use jiff::{SignedDuration, Timestamp};
use wloop_api::operation::{MUTE, MUTE_UNIT, Operation, PAUSE_UNIT, RESUME, RESUME_UNIT, UNMUTE, UNMUTE_UNIT};
use wloop_api::types::{Holds, PauseRequest, UnitDetail};

use crate::args::{HoldArguments, PauseArguments};
use crate::context::Context;
use crate::failure::Failure;
use crate::words::{count, day_and_clock};

/// Runs `wloop pause`.
pub(crate) async fn pause(context: &Context, arguments: &PauseArguments) -> Result<(), Failure> {
    let Some(unit) = &arguments.unit else {
        let now = (context.now)();
        let until = arguments.until.as_deref().map(|text| moment(text, now)).transpose()?;
        let client = context.client()?;
        return told(context, &context.out.progress("pausing", client.pause(&PauseRequest { until })).await?);
    };
    of_unit(context, &PAUSE_UNIT, unit).await
}

/// Runs `wloop resume`.
pub(crate) async fn resume(context: &Context, arguments: &HoldArguments) -> Result<(), Failure> {
    run(context, arguments, &RESUME_UNIT, &RESUME).await
}

/// Runs `wloop mute`.
pub(crate) async fn mute(context: &Context, arguments: &HoldArguments) -> Result<(), Failure> {
    run(context, arguments, &MUTE_UNIT, &MUTE).await
}

/// Runs `wloop unmute`.
pub(crate) async fn unmute(context: &Context, arguments: &HoldArguments) -> Result<(), Failure> {
    run(context, arguments, &UNMUTE_UNIT, &UNMUTE).await
}

async fn run(context: &Context, arguments: &HoldArguments, one: &Operation, all: &Operation) -> Result<(), Failure> {
    match &arguments.unit {
        Some(unit) => of_unit(context, one, unit).await,
        None => {
            let client = context.client()?;
            told(context, &context.out.progress("asking the daemon", client.hold_all(all)).await?)
        }
    }
}

async fn of_unit(context: &Context, operation: &Operation, unit: &str) -> Result<(), Failure> {
    let client = context.client()?;
    let detail = context.out.progress("asking the daemon", client.hold_unit(operation, unit)).await?;
    if context.json {
        return context.out.json(&detail);
    }
    if !context.out.terminal {
        return context.out.fields(&[
            detail.unit.id.clone(),
            detail.unit.label.clone(),
            if detail.paused { "paused" } else { "" }.to_owned(),
            if detail.muted { "muted" } else { "" }.to_owned(),
        ]);
    }
    context.out.line(&standing(&detail))
}

/// How a unit stands, in one line.
pub(crate) fn standing(detail: &UnitDetail) -> String {
    let paused = match (detail.paused, detail.paused_itself) {
        (true, true) => "paused: no round of it starts by itself",
        (true, false) => "held, since everything is paused",
        (false, _) => "not paused",
    };
    let muted = if detail.muted { "; muted: its rounds are not announced, and go on" } else { "" };
    format!("{} is {paused}{muted}", detail.unit.label)
}

fn told(context: &Context, holds: &Holds) -> Result<(), Failure> {
    if context.json {
        return context.out.json(holds);
    }
    if !context.out.terminal {
        return context.out.fields(&[
            if holds.paused { "paused" } else { "" }.to_owned(),
            holds.until.map(|at| at.to_string()).unwrap_or_default(),
            if holds.muted { "muted" } else { "" }.to_owned(),
            holds.units.len().to_string(),
        ]);
    }
    context.out.line(&everything(holds).unwrap_or_else(|| "nothing is paused or muted".to_owned()))
}

/// What is paused and muted, in one line; `None` when nothing is.
pub(crate) fn everything(holds: &Holds) -> Option<String> {
    let mut parts = Vec::new();
    match (holds.paused, holds.until) {
        (true, Some(until)) => parts.push(format!("everything is paused until {}", day_and_clock(until))),
        (true, None) => parts.push("everything is paused".to_owned()),
        (false, _) => {}
    }
    if holds.muted {
        parts.push("no round is announced".to_owned());
    }
    for (kind, word) in [("pause", "paused"), ("mute", "muted")] {
        let units: Vec<&str> = holds.units.iter().filter(|held| held.kind == kind).map(|held| held.unit.label.as_str()).collect();
        match units.len() {
            0 => {}
            1..=3 => parts.push(format!("{word}: {}", units.join(", "))),
            many => parts.push(format!("{} {word}", count(many as u64, "unit"))),
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A moment to come, as it is typed: an instant, or a length of time from now.
fn moment(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let refused = || {
        Failure::Refused(format!(
            "`--until {text}` is no time; give an instant (2026-01-31T09:00:00Z) or a length from now (90m, 2h, 3d)"
        ))
    };
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).ok_or_else(refused)?);
    let number: i64 = number.parse().map_err(|_| refused())?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    let length = number.checked_mul(seconds).map(SignedDuration::from_secs).ok_or_else(refused)?;
    now.checked_add(length).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use wloop_api::types::{HeldUnit, Holds, UnitName};

    use super::{everything, moment};

    #[test]
    fn a_pause_ends_at_an_instant_or_after_a_while() {
        let now: Timestamp = "2026-11-30T09:00:00Z".parse().unwrap();
        let at = |text: &str| moment(text, now).ok().map(|at| at.to_string());
        assert_eq!(at("90m").as_deref(), Some("2026-11-30T10:30:00Z"));
        assert_eq!(at("3d").as_deref(), Some("2026-12-03T09:00:00Z"));
        assert_eq!(at("2026-12-01T09:00:00Z").as_deref(), Some("2026-12-01T09:00:00Z"));
        for bad in ["", "tomorrow", "5", "5y", "é", "99999999999999999999h", "9999999999999999d"] {
            assert_eq!(at(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_held_is_said_in_one_line() {
        let held = |label: &str, kind: &str| HeldUnit {
            unit: UnitName { id: "github:x".into(), label: label.into(), title: String::new(), url: String::new() },
            kind: kind.into(),
            since: Timestamp::UNIX_EPOCH,
        };
        assert_eq!(everything(&Holds::default()), None);
        let units = vec![held("acme/api#1", "pause"), held("acme/api#2", "mute")];
        let holds = Holds { paused: true, until: None, muted: false, units };
        assert_eq!(everything(&holds).unwrap(), "everything is paused; paused: acme/api#1; muted: acme/api#2");
    }
}
