//! `wloop events`: the record of what happened, who did it and why.

use jiff::{SignedDuration, Timestamp};
use wloop_api::client::{Client, UnitFilter};
use wloop_api::types::Event;

use crate::args::EventsArguments;
use crate::commands::follow::Stream;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::words::{actor, clock, day_and_clock, happening, label, names_unit, unit_id};

/// From where the record is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    /// After the event of this id.
    Id(i64),
    /// From this instant on.
    At(Timestamp),
}

/// Prints the record, and goes on with it when asked to.
pub(crate) async fn run(context: &Context, arguments: &EventsArguments) -> Result<(), Failure> {
    let since = arguments.since.as_deref().map(|text| parse_since(text, (context.now)())).transpose()?;
    let client = context.client()?;
    if arguments.unit.is_some() {
        // The record is narrowed here, so that a unit nobody knows would look like one of which nothing is recorded.
        client.posts(&UnitFilter { state: None, unit: arguments.unit.clone() }).await?;
    }
    if arguments.follow && since.is_none() {
        return follow(context, arguments, &client, None, since).await;
    }
    let mut last = match since {
        Some(Since::Id(id)) => id,
        Some(Since::At(_)) | None => 0,
    };
    let mut whole = Vec::new();
    // The daemon may answer in pages.
    loop {
        let page = context.out.progress("reading the record", client.events(last)).await?;
        let before = last;
        last = page.iter().map(|event| event.id).max().map_or(last, |id| id.max(last));
        let wanted = page.into_iter().filter(|event| wanted(event, arguments, since));
        if context.json && !arguments.follow {
            whole.extend(wanted);
        } else {
            for event in wanted {
                print(context, &event, true)?;
            }
        }
        if last == before {
            break;
        }
    }
    if arguments.follow {
        return follow(context, arguments, &client, Some(last), since).await;
    }
    if context.json { context.out.json(&whole) } else { Ok(()) }
}

async fn follow(
    context: &Context,
    arguments: &EventsArguments,
    client: &Client,
    last: Option<i64>,
    since: Option<Since>,
) -> Result<(), Failure> {
    let mut stream = Stream::open(client, last).await?;
    if context.out.terminal && context.out.error_terminal {
        context.out.note("following the record; Ctrl-C ends it");
    }
    loop {
        let event = stream.next().await?;
        if wanted(&event, arguments, since) {
            print(context, &event, false)?;
        }
    }
}

/// Whether an event is asked for: upkeep only with `--all` (EVT-10).
fn wanted(event: &Event, arguments: &EventsArguments, since: Option<Since>) -> bool {
    let late = match since {
        Some(Since::At(at)) => event.at >= at,
        Some(Since::Id(id)) => event.id > id,
        None => true,
    };
    let on_unit = arguments.unit.as_deref().is_none_or(|typed| event.unit.as_ref().is_some_and(|unit| names_unit(typed, unit)));
    late && on_unit && (arguments.all || event.class != "inner")
}

fn print(context: &Context, event: &Event, with_day: bool) -> Result<(), Failure> {
    if context.json {
        return context.out.json_line(event);
    }
    if context.out.terminal {
        return context.out.line(&sentence(&context.out, event, with_day));
    }
    context.out.fields(&fields(event))
}

fn fields(event: &Event) -> Vec<String> {
    vec![
        event.id.to_string(),
        event.at.to_string(),
        event.kind.clone(),
        event.class.clone(),
        event.key.clone(),
        unit_id(event.unit.as_ref()),
        label(event.unit.as_ref()),
        event.actor.clone(),
        event.actor_ref.clone().unwrap_or_default(),
        event.via_session.clone().unwrap_or_default(),
        if event.data.is_null() { String::new() } else { event.data.to_string() },
    ]
}

/// An event as one line for people: when, where, what, who.
pub(crate) fn sentence(out: &Output, event: &Event, with_day: bool) -> String {
    let when = if with_day { day_and_clock(event.at) } else { clock(event.at) };
    let tone = match (event.class.as_str(), event.kind.as_str()) {
        (_, kind) if kind.ends_with("_failed") || kind.ends_with("_doubtful") || kind.ends_with("_unknown") => Tone::Bad,
        ("posted", _) => Tone::Good,
        ("decided", _) => Tone::Strong,
        ("inner", _) => Tone::Dim,
        _ => Tone::Plain,
    };
    let unit = event.unit.as_ref().map_or(String::new(), |unit| format!("{}  ", unit.label));
    let by = actor(&event.actor, event.actor_ref.as_deref(), event.via_session.as_deref());
    format!(
        "{}  {}{}  {}",
        out.paint(Tone::Dim, &when),
        out.paint(Tone::Plain, &unit),
        out.paint(tone, &happening(event)),
        out.paint(Tone::Dim, &format!("· {by}"))
    )
}

/// An event's id, an instant, or a span before now.
fn parse_since(text: &str, now: Timestamp) -> Result<Since, Failure> {
    if let Ok(id) = text.parse::<i64>()
        && id >= 0
    {
        return Ok(Since::Id(id));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(Since::At(at));
    }
    span(text).and_then(|span| now.checked_sub(span).ok()).map(Since::At).ok_or_else(|| {
        Failure::Usage(format!(
            "`{text}` is no event's id, no instant and no span; write --since 1200, --since 2026-01-31T09:00:00Z or --since 2h"
        ))
    })
}

/// One or more of a number with `s`, `m`, `h` or `d`, as the configuration writes durations.
fn span(text: &str) -> Option<SignedDuration> {
    let (mut total, mut number) = (0_i64, String::new());
    for character in text.chars() {
        let unit = match character {
            '0'..='9' => {
                number.push(character);
                continue;
            }
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return None,
        };
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        number.clear();
    }
    (number.is_empty() && !text.is_empty()).then(|| SignedDuration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Since, parse_since, sentence, wanted};
    use crate::args::EventsArguments;
    use crate::output::Output;

    #[test]
    fn since_is_an_id_an_instant_or_a_span() {
        let now = Timestamp::from_second(10_000).unwrap();
        let at = |seconds| Since::At(Timestamp::from_second(seconds).unwrap());
        assert_eq!(parse_since("1200", now).unwrap(), Since::Id(1_200));
        assert_eq!(parse_since("1970-01-01T00:00:10Z", now).unwrap(), at(10));
        assert_eq!(parse_since("1h30m", now).unwrap(), at(4_600));
        for wrong in ["", "yesterday", "1x", "-5", "h", "99999999999999999999d"] {
            assert_eq!(parse_since(wrong, now).unwrap_err().code(), 2, "{wrong}");
        }
    }

    // EVT-09, EVT-10
    #[test]
    fn upkeep_is_left_out_and_a_line_says_who_and_when() {
        let mut event = serde_json::from_value(serde_json::json!({
            "id": 7, "at": "2026-01-05T10:00:00Z", "kind": "gate_decided", "class": "decided", "key": "plan",
            "data": {"intent": "run_now", "text": ""}, "actor": "window",
            "unit": {"id": "github:a", "label": "acme/api#1", "title": "x", "url": ""}
        }))
        .unwrap();
        let arguments = EventsArguments { follow: false, unit: Some("acme/api#1".to_owned()), since: None, all: false };
        assert!(wanted(&event, &arguments, None));
        assert!(!wanted(&event, &arguments, Some(Since::Id(7))));
        let out = Output { terminal: true, colour: false, error_terminal: false, error_colour: false };
        let line = sentence(&out, &event, false);
        assert!(line.ends_with("acme/api#1  the plan gate was decided, run_now  · the window that ended"), "{line}");
        event.class = "inner".to_owned();
        assert!(!wanted(&event, &arguments, None));
        assert!(wanted(&event, &EventsArguments { all: true, ..arguments }, None));
    }
}
