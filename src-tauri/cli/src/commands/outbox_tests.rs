//! What the Outbox looks like in front of a person, and in a pipe.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use wloop_api::types::{Draft, DraftGroup};

use super::{commands, listed, page};
use crate::context::Context;
use crate::output::Output;

const OUT: Output = Output { terminal: true, colour: false, error_terminal: false, error_colour: false };

fn now() -> Timestamp {
    Timestamp::from_second(1_767_607_200).unwrap()
}

fn context(terminal: bool) -> Context {
    let out = Output { terminal, ..OUT };
    Context { environment: BTreeMap::new(), home_flag: None, json: false, input_terminal: true, out, now }
}

fn draft(short: &str, text: &str, mentions: &[&str]) -> Draft {
    serde_json::from_value(json!({
        "id": format!("{short}00000000000000000000000000"), "short": short,
        "unit": {"id": "github:PR_7", "label": "acme/api#7", "title": "Round discounts", "url": "https://x/acme/api/pull/7"},
        "purpose": "nudge", "purpose_words": "Reminders", "delivery": "comment", "broadcast": false, "state": "held",
        "state_words": "waits for you", "maybe_posted": false, "text": text, "mentions": mentions,
        "effects": [{"name": "pr.nudged", "words": "Notes the reminder on the pull request.", "state": "declared"}],
        "gate": "99999999000000000000000000000000", "gate_status": "open", "approve": "approve", "proposer": "session",
        "proposed_by": "turn 3 (review)", "attempts": 0, "created_at": "2026-01-05T09:58:00Z", "changed_at": "2026-01-05T09:58:00Z",
        "revisions": [], "actions": ["approve", "edit", "discard"]
    }))
    .unwrap()
}

fn group(title: &str, drafts: Vec<Draft>) -> DraftGroup {
    DraftGroup { key: title.to_lowercase(), title: title.into(), about: String::new(), workflow: None, drafts }
}

// CLI-01, CLI-02, CLI-03
#[test]
fn a_terminal_shows_groups_and_a_column_only_where_the_drafts_differ() {
    let groups = [
        group("Reminders", vec![draft("aaaaaa", "\nPing\nmore", &["ana", "@acme/core"])]),
        group("Yours", vec![draft("bbbbbb", "Thanks", &[])]),
    ];
    assert_eq!(
        listed(&context(true), &groups, now()),
        "Reminders (1)\nID      UNIT                          MENTIONS         AGE    SAYS\n\
         aaaaaa  acme/api#7 · Round discounts  ana, @acme/core  2 min  Ping\n\n\
         Yours (1)\nID      UNIT                          MENTIONS  AGE    SAYS\n\
         bbbbbb  acme/api#7 · Round discounts  nobody    2 min  Thanks\n"
    );
    let failed = Draft { state: "failed".into(), state_words: "could not be sent".into(), ..draft("cccccc", "x", &[]) };
    let text = listed(&context(true), &[group("Reminders", vec![failed])], now());
    assert!(text.contains("STATE") && text.contains("could not be sent"), "{text}");
    let at = now() + jiff::SignedDuration::from_secs(125);
    let leaves =
        Draft { deadline: Some(at), policy: "delay 10m by config.toml workflows.review#2".into(), ..draft("dddddd", "x", &[]) };
    let page = page(&context(true), &leaves);
    assert!(page.contains("goes out in 2 min 05 s") && page.contains("rule      delay 10m by config.toml"), "{page}");
    let text = listed(&context(true), &[group("Reminders", vec![leaves])], now());
    assert!(text.contains("STATE") && text.contains("goes out in 2 min 05 s"), "{text}");
    assert_eq!(listed(&context(true), &[], now()), "the outbox is empty\n");
}

// CLI-04
#[test]
fn a_pipe_gets_a_line_of_fields_for_each_draft_the_newest_first() {
    let newer =
        Draft { created_at: "2026-01-05T09:59:00Z".parse().unwrap(), ..draft("bbbbbb", "Tab\there\nmore", &["ana", "ben"]) };
    let groups = [group("Reminders", vec![draft("aaaaaa", "Ping", &[])]), group("Yours", vec![newer])];
    assert_eq!(
        listed(&context(false), &groups, now()),
        "bbbbbb00000000000000000000000000\tnudge\theld\tgithub:PR_7\tacme/api#7\tana,ben\t2026-01-05T09:59:00Z\tTab here\n\
         aaaaaa00000000000000000000000000\tnudge\theld\tgithub:PR_7\tacme/api#7\t\t2026-01-05T09:58:00Z\tPing\n"
    );
    assert_eq!(listed(&context(false), &[], now()), "");
}

// F16, CLI-05, AGENT-09, EFF-09
#[test]
fn the_page_shows_the_whole_text_and_everyone_it_mentions() {
    let text = format!("{}\n@channel deploy now", "word ".repeat(3_196));
    assert!(text.chars().count() > 15_980);
    let mentions: Vec<String> = (0..60).map(|n| format!("person-{n}")).chain(["channel".to_owned()]).collect();
    let names: Vec<&str> = mentions.iter().map(String::as_str).collect();
    let shown = page(&context(true), &draft("aaaaaa", &text, &names));
    assert!(shown.contains("  @channel deploy now\n") && shown.contains(&"word ".repeat(3_190)), "it is cut");
    assert!(names.iter().all(|name| shown.contains(name)), "a name is left out");
    for part in [
        "aaaaaa · comment on acme/api#7 · Round discounts: waits for you\n",
        "from      turn 3 (review)\n",
        "effect    Notes the reminder on the pull request.\n",
        "wloop outbox approve aaaaaa ",
        "wloop outbox discard aaaaaa ",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
}

// F07, GH-PUB-09
#[test]
fn a_draft_that_cannot_be_told_offers_its_three_ways_out() {
    let actions = ["sent", "retry", "discard"].map(str::to_owned).to_vec();
    let doubtful = Draft { state: "failed".into(), maybe_posted: true, actions, ..draft("aaaaaa", "x", &[]) };
    let typed: Vec<String> = commands(&context(true), &doubtful).into_iter().map(|(command, _)| command).collect();
    assert_eq!(typed, ["wloop posts sent aaaaaa", "wloop outbox retry aaaaaa", "wloop outbox discard aaaaaa --reason why"]);
    assert!(page(&context(true), &doubtful).contains("cannot be told"));
}
