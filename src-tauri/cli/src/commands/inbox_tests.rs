//! What waits, oldest first, with the next command.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use wloop_api::types::{Gate, Post};

use super::{shown, waiting};
use crate::context::Context;
use crate::output::Output;

const OUT: Output = Output { terminal: true, colour: false, error_terminal: false, error_colour: false };

fn now() -> Timestamp {
    Timestamp::from_second(1_767_607_200).unwrap()
}

fn gate(short: &str, kind: &str, opened: &str) -> Gate {
    serde_json::from_value(json!({
        "id": format!("{short}00"), "short": short, "kind": kind, "name": kind, "status": "open", "words": format!("a {kind} asks"),
        "unit": {"id": "github:PR_1", "label": "acme/api#1", "title": "Round discounts", "url": "u"},
        "intents": [], "opened_at": opened, "deadline": if kind == "plan" { Some("2026-01-05T10:00:42Z") } else { None },
        "policy": "", "explanation": null
    }))
    .unwrap()
}

fn doubtful() -> Post {
    serde_json::from_value(json!({
        "id": "dddddd00", "short": "dddddd", "unit": {"id": "github:PR_9", "label": "acme/api#9", "title": "", "url": "u"},
        "shape": "review", "state": "failed", "maybe_posted": true, "text": "x", "comments": [], "mentions": [], "head": "h",
        "cause": "the answer was lost", "attempts": 1, "created_at": "2026-01-05T08:00:00Z", "changed_at": "2026-01-05T09:59:00Z"
    }))
    .unwrap()
}

// interfaces.md, `wloop inbox`; spec 15.7: a failed or doubtful post shows until it is settled
#[test]
fn the_oldest_comes_first_and_each_names_its_next_command() {
    let context = Context { environment: BTreeMap::new(), home_flag: None, json: false, input_terminal: true, out: OUT, now };
    let gates = [gate("aaaaaa", "plan", "2026-01-05T09:59:30Z"), gate("bbbbbb", "post", "2026-01-05T09:00:00Z")];
    let items = waiting(&context, &gates, &[doubtful()], &[]);
    assert_eq!(
        shown(&OUT, &items, now()),
        "bbbbbb  post  acme/api#1 · Round discounts  60 min\n        a post asks\n        → wloop gates show bbbbbb\n\
         dddddd  review  acme/api#9  60 s\n        review cannot be told: the answer was lost\n        → wloop posts show dddddd\n\
         aaaaaa  plan  acme/api#1 · Round discounts  30 s\n        a plan asks · runs in 42 s\n        → wloop plan apply acme/api#1\n"
    );
    assert_eq!(shown(&OUT, &[], now()), "nothing waits for you\n");
    // What is in the Outbox is looked at there, whole.
    let held = Gate { draft: Some("eeeeeeee00".into()), ..gate("cccccc", "draft", "2026-01-05T09:00:00Z") };
    let failed = Post { draft: true, ..doubtful() };
    let commands: Vec<String> = waiting(&context, &[held], &[failed], &[]).into_iter().map(|item| item.command).collect();
    assert_eq!(commands, ["wloop outbox show eeeeeeee", "wloop outbox show dddddd"]);
}

#[test]
fn a_round_that_broke_off_is_told_and_an_older_one_of_its_unit_is_not() {
    // GH-FACT-29
    let context = Context { environment: BTreeMap::new(), home_flag: None, json: false, input_terminal: true, out: OUT, now };
    let turn = |id: &str, state: &str| -> wloop_api::types::Turn {
        serde_json::from_value(json!({
            "id": format!("{id}00"), "short": id, "seq": 1, "intent": "review", "stage": "first", "state": state,
            "unit": {"id": "github:PR_3", "label": "acme/api#3", "title": "", "url": "u"}, "started_by": "loop", "gate": null,
            "head": "h", "agent": "a", "created_at": "2026-01-05T09:00:00Z", "ended_at": "2026-01-05T09:58:00Z", "verdict": null,
            "summary": null, "cause": "the agent ended with code 3", "guidance": null, "posts": []
        }))
        .unwrap()
    };
    let broken = waiting(&context, &[], &[], &[turn("eeeeee", "failed"), turn("ffffff", "failed")]);
    assert_eq!(
        shown(&OUT, &broken, now()),
        "eeeeee  review  acme/api#3  2 min\n        the review broke off: the agent ended with code 3\n        → wloop review acme/api#3\n"
    );
    assert!(waiting(&context, &[], &[], &[turn("eeeeee", "recorded"), turn("ffffff", "failed")]).is_empty());
}
