//! What states, times and events are called in front of people.

use jiff::Timestamp;
use wloop_api::types::{Event, Gate, PlanItem, Post, UnitName};

use crate::output::{Tone, one_line};

/// How old something is: `new`, `42 s`, `5 min`, `3 h`, `2 d`.
pub(crate) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second());
    match seconds {
        i64::MIN..=1 => "new".to_owned(),
        2..=99 => format!("{seconds} s"),
        100..=5_999 => format!("{} min", seconds / 60),
        6_000..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// How long until a deadline, in whole seconds that end at it: `in 42 s`, `in 2 min 05 s`, `in 3 h 20 min`, or `now`.
pub(crate) fn until(now: Timestamp, deadline: Timestamp) -> String {
    let left = deadline.as_millisecond().saturating_sub(now.as_millisecond());
    // Rounded up, so that `in 1 s` is the last thing before `now`.
    let seconds = left.saturating_add(999) / 1_000;
    match seconds {
        i64::MIN..=0 => "now".to_owned(),
        1..=90 => format!("in {seconds} s"),
        91..=5_999 => format!("in {} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("in {} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// An instant as a table shows it, in the machine's zone.
pub(crate) fn clock(at: Timestamp) -> String {
    at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// An instant with its day.
pub(crate) fn day_and_clock(at: Timestamp) -> String {
    at.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A unit in row form: `acme/api#7 · its title` (CLI-02).
pub(crate) fn unit_row(unit: &UnitName) -> String {
    if unit.title.is_empty() { unit.label.clone() } else { format!("{} · {}", unit.label, unit.title) }
}

/// The label of a unit, where there is one.
pub(crate) fn label(unit: Option<&UnitName>) -> String {
    unit.map(|unit| unit.label.clone()).unwrap_or_default()
}

/// The id of a unit, where there is one.
pub(crate) fn unit_id(unit: Option<&UnitName>) -> String {
    unit.map(|unit| unit.id.clone()).unwrap_or_default()
}

/// Whether what the person typed names this unit: `provider:key`, its label, or an address of it or of a page under it.
pub(crate) fn names_unit(typed: &str, unit: &UnitName) -> bool {
    let typed = typed.trim();
    let address = unit.url.trim_end_matches('/');
    let under = || {
        let Some(rest) = typed.get(address.len()..) else { return false };
        !address.is_empty()
            && typed.is_char_boundary(address.len())
            && typed[..address.len()].eq_ignore_ascii_case(address)
            && (rest.is_empty() || rest.starts_with(['/', '?', '#']))
    };
    typed == unit.id || typed.eq_ignore_ascii_case(&unit.label) || under()
}

/// How a planned round stands, with its countdown.
pub(crate) fn plan_state(now: Timestamp, item: &PlanItem) -> (Tone, String) {
    match (item.state.as_str(), item.deadline) {
        ("counting_down", Some(deadline)) => match until(now, deadline) {
            due if due == "now" => (Tone::Strong, "starts now".to_owned()),
            left => (Tone::Warn, format!("starts {left}")),
        },
        ("counting_down" | "waiting", _) => (Tone::Warn, "waits for you".to_owned()),
        ("released", _) => (Tone::Good, item.place.map_or_else(|| "released".to_owned(), queued)),
        ("blocked", _) => (Tone::Warn, "blocked".to_owned()),
        ("capped", _) => (Tone::Warn, "held by the daily cap".to_owned()),
        (other, _) => (Tone::Plain, other.replace('_', " ")),
    }
}

/// The place of a released round among those that wait to start (RUN-28).
pub(crate) fn queued(place: u64) -> String {
    if place == 1 { "starts next".to_owned() } else { format!("queued, number {place}") }
}

/// That GitHub asked to wait, and until when (GH-SYNC-38).
pub(crate) fn waits(until: Timestamp) -> String {
    let zoned = until.to_zoned_datetime(jiff::tz::TimeZone::system());
    format!("GitHub asks to wait until {}", zoned.strftime("%H:%M"))
}

/// What a planned round would do: `review`, `review (follow-up)`.
pub(crate) fn round(intent: &str, stage: &str) -> String {
    if stage.is_empty() || stage == "first" { intent.to_owned() } else { format!("{intent} ({stage})") }
}

/// The state of a turn with its tone.
pub(crate) fn turn_tone(state: &str) -> Tone {
    match state {
        "recorded" => Tone::Good,
        "failed" => Tone::Bad,
        "asked" | "unrecorded" => Tone::Warn,
        "starting" | "sent" | "started" => Tone::Strong,
        _ => Tone::Plain,
    }
}

/// How a post stands.
pub(crate) fn post_state(post: &Post) -> (Tone, String) {
    match post.state.as_str() {
        "failed" if post.maybe_posted => (Tone::Bad, "cannot be told".to_owned()),
        "failed" => (Tone::Bad, "failed".to_owned()),
        "sent" => (Tone::Good, "sent".to_owned()),
        "held" => (Tone::Warn, "held".to_owned()),
        other => (Tone::Plain, other.to_owned()),
    }
}

/// How a gate stands: `open`, or how and by whom it closed.
pub(crate) fn how_it_stands(gate: &Gate) -> String {
    let Some(closed) = &gate.closed else { return gate.status.clone() };
    let mut text = gate.status.clone();
    if let Some(intent) = &closed.intent {
        text.push_str(&format!(" ({intent})"));
    }
    let by = actor(&closed.actor, closed.actor_ref.as_deref(), closed.via_session.as_deref());
    text.push_str(&format!(" by {by} at {}", day_and_clock(closed.at)));
    // A window that was acted on long after its end, as after a sleep (F11).
    let late = gate.deadline.map(|deadline| closed.at.duration_since(deadline)).filter(|late| late.as_secs() >= 60);
    if let ("window", Some(late)) = (closed.actor.as_str(), late) {
        text.push_str(&format!(", {} late", long(late)));
    }
    if let Some(reason) = closed.reason.as_deref().filter(|reason| !reason.is_empty()) {
        text.push_str(&format!(": {reason}"));
    }
    text
}

/// A length of time of a minute or more: `12 min`, `13 h 15 min`.
fn long(length: jiff::SignedDuration) -> String {
    match length.as_secs() {
        secs @ ..3_600 => format!("{} min", secs / 60),
        secs => format!("{} h {:02} min", secs / 3_600, secs % 3_600 / 60),
    }
}

/// Who did something (EVT-03).
pub(crate) fn actor(actor: &str, reference: Option<&str>, via_session: Option<&str>) -> String {
    let reference = reference.filter(|text| !text.is_empty());
    let start = |id: &str| id.chars().take(8).collect::<String>();
    match (actor, reference) {
        ("person", _) => match via_session {
            Some(session) => format!("you, through session {}", start(session)),
            None => "you".to_owned(),
        },
        ("window", _) => "the window that ended".to_owned(),
        ("rule", Some(rule)) => format!("the rule {rule}"),
        ("workflow", Some(name)) => format!("the workflow {name}"),
        ("session", Some(session)) => format!("agent session {}", start(session)),
        ("daemon", _) => "wloop".to_owned(),
        ("provider", Some(account)) => account.to_owned(),
        (other, Some(reference)) => format!("{other} {reference}"),
        (other, None) => other.to_owned(),
    }
}

/// What an event says, in one sentence without its time and unit.
pub(crate) fn happening(event: &Event) -> String {
    let key = event.key.as_str();
    let said = data(&event.data);
    let field =
        |name: &str| event.data.get(name).and_then(serde_json::Value::as_str).map(one_line).filter(|text| !text.is_empty());
    let after = |text: String, name: &str| match field(name) {
        Some(value) => format!("{text}: {}", short(&value)),
        None if event.data.is_string() && !said.is_empty() => format!("{text}: {said}"),
        None => text,
    };
    let with = |text: &str| if said.is_empty() { text.to_owned() } else { format!("{text}: {said}") };
    match event.kind.as_str() {
        "gate_opened" => {
            let policy = field("policy").map_or(String::new(), |policy| format!(" ({policy})"));
            after(format!("a {key} gate opened{policy}"), "words")
        }
        "gate_decided" => {
            let intent = field("intent").map_or(String::new(), |intent| format!(", {intent}"));
            let late = event.data.get("late_seconds").and_then(serde_json::Value::as_i64).filter(|late| *late >= 60);
            let late = late.map_or(String::new(), |late| format!(", {} late", long(jiff::SignedDuration::from_secs(late))));
            after(format!("the {key} gate was decided{intent}{late}"), "text")
        }
        "gate_resolved" => with(&format!("the gate {key} was resolved")),
        "gate_superseded" => after(format!("the {key} gate was withdrawn"), "reason"),
        "gate_withdrawn" => with(&format!("the gate {key} was withdrawn")),
        "round_planned" => {
            let deadline = field("deadline").and_then(|text| text.parse::<Timestamp>().ok());
            let starts = deadline.map_or(String::new(), |at| format!(", to start at {}", clock(at)));
            after(format!("a round is planned{starts}"), "why")
        }
        "round_capped" => after(format!("a round is held ({key})"), "why"),
        "round_gone" => with(&format!("a planned round is gone ({key})")),
        "round_deferred" => with(&format!("a round was put off ({key})")),
        "paused" => after("all rounds are paused".to_owned(), "until"),
        "resumed" => "all rounds go on".to_owned(),
        "unit_paused" => "its rounds are paused".to_owned(),
        "unit_resumed" => "its rounds go on".to_owned(),
        "unit_muted" if key == "everything" => "no round is announced".to_owned(),
        "unit_muted" => "its rounds are not announced".to_owned(),
        "unit_unmuted" if key == "everything" => "rounds are announced again".to_owned(),
        "unit_unmuted" => "its rounds are announced again".to_owned(),
        "block_recorded" => after(format!("the agent {key} does not start"), "repo"),
        "block_lifted" => after(format!("what kept the agent {key} from starting is gone"), "why"),
        "consequence_seen" => format!("you looked after what the {key} gate released"),
        "round_sent" => format!("a {key} round was sent by hand"),
        "round_posted" => after(format!("the {key} round posted"), "url"),
        "turn_starting" => after(format!("the {key} round is about to start"), "agent"),
        "turn_sent" => with(&format!("the agent was given the {key} round")),
        "turn_started" => with(&format!("the agent works on the {key} round")),
        "turn_asked" => after(format!("the {key} round stopped and asks"), "cause"),
        "turn_recorded" => with(&format!("the {key} round is recorded")),
        "turn_failed" => with(&format!("the {key} round failed")),
        "turn_dismissed" => with(&format!("the {key} round was dismissed")),
        "turn_unrecorded" => with(&format!("the {key} round ended without a record")),
        "guidance_kept" => with("guidance was kept for the next round"),
        "answer_given" => with(&format!("an answer was given ({key})")),
        "draft_proposed" => "a draft was proposed; it waits for you".to_owned(),
        "draft_edited" => "a draft got another text and is asked about anew".to_owned(),
        "draft_sent" => after("a draft was sent".to_owned(), "url"),
        "draft_failed" => after("a draft was not sent".to_owned(), "cause"),
        "draft_dropped" => after("a draft was dropped".to_owned(), "reason"),
        "nudged" => "a reminder was noted".to_owned(),
        "post_sending" => with("a post is being sent"),
        // Its actor is who let it out; that the round posted it is told beside.
        "post_sent" => after("a post that was let out was sent".to_owned(), "url"),
        "post_failed" => with("a post failed"),
        "post_doubtful" => with("whether a post was sent cannot be told"),
        "post_settled" => with("a post was settled"),
        "agent_posted" => with(&format!("the agent posted ({key})")),
        "consequence_failed" => with(&format!("what the {key} gate released failed")),
        "consequence_unknown" => with(&format!("whether what the {key} gate released was done is unknown")),
        "consequence_ran" => with(&format!("what the {key} gate released was done")),
        "unit_moved" => match said.as_str() {
            "" => "it moved".to_owned(),
            said => format!("it moved: {said}"),
        },
        "unit_situation" | "unit_signal" => with(key),
        "trust_written" => match (field("agent"), field("repo")) {
            (Some(agent), Some(repo)) => format!("the agent {agent} is trusted in {repo}"),
            (_, _) => with(&format!("trust was stored for {key}")),
        },
        "health_changed" => with(&format!("health of {key} changed")),
        "daemon_started" => with("wloop started"),
        "daemon_stopped" => with("wloop stopped"),
        other => {
            let name = other.replace('_', " ");
            with(&if key.is_empty() { name } else { format!("{name} {key}") })
        }
    }
}

/// The data of an event in a few words: a text as it is, an object as `name value, name value`, without what is empty.
fn data(value: &serde_json::Value) -> String {
    let plain = |value: &serde_json::Value| match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => one_line(text),
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) => value.to_string(),
        serde_json::Value::Array(_) | serde_json::Value::Object(_) => one_line(&value.to_string()),
    };
    let text = match value {
        serde_json::Value::Object(fields) => fields
            .iter()
            .filter_map(|(name, value)| {
                let value = plain(value);
                (!value.is_empty()).then(|| format!("{} {value}", name.replace('_', " ")))
            })
            .collect::<Vec<_>>()
            .join(", "),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_)
        | serde_json::Value::Array(_) => plain(value),
    };
    short(&text)
}

fn short(text: &str) -> String {
    if text.chars().count() > 160 { text.chars().take(159).chain(['…']).collect() } else { text.to_owned() }
}

/// A count with its noun: `1 round`, `2 rounds`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use wloop_api::types::UnitName;

    use super::{age, happening, names_unit, until};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn ages_and_countdowns_read_naturally() {
        let ages: Vec<String> = [0, 5, 130, 7_300, 200_000].iter().map(|then| age(at(200_000), at(200_000 - then))).collect();
        assert_eq!(ages, ["new", "5 s", "2 min", "2 h", "2 d"]);
        let left: Vec<String> = [-5, 0, 1, 59, 125, 7_260].iter().map(|then| until(at(100), at(100 + then))).collect();
        assert_eq!(left, ["now", "now", "in 1 s", "in 59 s", "in 2 min 05 s", "in 2 h 01 min"]);
        let nearly = Timestamp::from_millisecond(100_001).unwrap();
        assert_eq!(until(at(100), nearly), "in 1 s");
    }

    // CLI-09
    #[test]
    fn a_unit_is_known_by_each_of_its_spellings() {
        let unit = UnitName {
            id: "github:PR_kw1".to_owned(),
            label: "acme/api#1".to_owned(),
            title: "x".to_owned(),
            url: "https://github.com/acme/api/pull/1".to_owned(),
        };
        for typed in
            ["github:PR_kw1", "Acme/api#1", "https://github.com/acme/api/pull/1", "https://github.com/acme/api/pull/1/files"]
        {
            assert!(names_unit(typed, &unit), "{typed}");
        }
        for typed in ["acme/api#12", "https://github.com/acme/api/pull/12", "", "github:PR_kw12", "é"] {
            assert!(!names_unit(typed, &unit), "{typed}");
        }
    }

    // EVT-09
    #[test]
    fn an_event_of_an_unknown_kind_still_says_something() {
        let event = serde_json::from_value(serde_json::json!({
            "id": 1, "at": "2026-01-05T10:00:00Z", "kind": "pr_renamed", "class": "moved", "key": "acme/api#1",
            "data": {"new": "acme/core#1", "note": ""}, "actor": "provider"
        }))
        .unwrap();
        assert_eq!(happening(&event), "pr renamed acme/api#1: new acme/core#1");
    }

    #[test]
    fn an_event_is_told_by_what_matters_in_it() {
        let say = |kind: &str, data: serde_json::Value| {
            let event = serde_json::json!({
                "id": 1, "at": "2026-01-05T10:00:00Z", "kind": kind, "class": "moved", "key": "review", "data": data, "actor": "daemon"
            });
            happening(&serde_json::from_value(event).unwrap())
        };
        let url = serde_json::json!({"found": false, "remote": "PRR_1", "url": "http://x/1"});
        assert_eq!(say("round_posted", url), "the review round posted: http://x/1");
        let decided = serde_json::json!({"intent": "guide", "text": "be\nbrief"});
        assert_eq!(say("gate_decided", decided), "the review gate was decided, guide: be brief");
        assert_eq!(say("gate_opened", serde_json::json!("wait")), "a review gate opened: wait");
        assert_eq!(say("turn_failed", serde_json::json!({"cause": "it ended"})), "the review round failed: cause it ended");
    }
}
