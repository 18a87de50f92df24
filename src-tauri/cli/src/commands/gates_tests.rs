//! What a gate looks like in front of a person, and which answers need one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use wloop_api::types::Gate;

use super::{closing, commands, explanation, fields, listing, page, releases};
use crate::context::Context;
use crate::output::{Output, tabbed};

const OUT: Output = Output { terminal: true, colour: false, error_terminal: false, error_colour: false };

fn now() -> Timestamp {
    Timestamp::from_second(1_767_607_200).unwrap()
}

fn context() -> Context {
    Context {
        environment: BTreeMap::new(),
        home_flag: Some("/tmp/a home".into()),
        json: false,
        input_terminal: true,
        out: OUT,
        now,
    }
}

fn post_gate() -> Gate {
    serde_json::from_value(json!({
        "id": "3a9f21ff00000000000000000000aaaa", "short": "3a9f21", "kind": "post", "name": "post", "status": "open",
        "words": "A round stopped and shows you its text",
        "unit": {"id": "github:PR_2", "label": "acme/api#2", "title": "Drop a column", "url": "http://127.0.0.1:1/acme/api/pull/2"},
        "intents": [
            {"name": "publish", "label": "Publish", "status": "answered", "takes_text": false},
            {"name": "reject", "label": "Do not publish", "status": "rejected", "takes_text": false}
        ],
        "opened_at": "2026-01-05T09:58:00Z",
        "policy": "wait by the default",
        "explanation": [
            "no table of the configuration decides",
            {"rule": "gates.toml#1", "holds": false, "why": null},
            {"floor": {"name": "risky", "facts": ["pr.risky"]}}
        ],
        "post": {
            "id": "bb", "short": "bb0000",
            "unit": {"id": "github:PR_2", "label": "acme/api#2", "title": "Drop a column", "url": "u"},
            "shape": "review", "event": "REQUEST_CHANGES", "state": "held", "maybe_posted": false,
            "text": "Please keep the column.\n\nIt is read by @acme/billing.\u{1b}[2J",
            "comments": [
                {"path": "migrations/0007.sql", "line": 4, "start_line": 2, "side": "RIGHT", "body": "This cannot be undone.\nKeep it."},
                {"path": "shop/store.py", "line": 9, "side": "LEFT", "body": "Still read here."}
            ],
            "mentions": ["@acme/billing"], "head": "0123456789abcdef0123", "attempts": 0,
            "created_at": "2026-01-05T09:58:00Z", "changed_at": "2026-01-05T09:58:00Z"
        },
        "turn": "7777777700000000000000000000aaaa"
    }))
    .unwrap()
}

// AMB-11: the gate of a stopped round shows the full draft
#[test]
fn a_held_post_is_shown_whole_with_every_comment_and_the_commands() {
    let text = page(&context(), &post_gate(), now());
    for part in [
        "3a9f21 · A round stopped and shows you its text\n",
        "unit      acme/api#2 · Drop a column\n",
        "window    none; it waits for you\n",
        "policy    wait by the default\n          no table of the configuration decides\n",
        "review: request changes for acme/api#2, with 2 comments on the diff\nwritten for commit 0123456789\nmentions @acme/billing\n",
        "  Please keep the column.\n\n  It is read by @acme/billing.\\u{1b}[2J\n",
        "  migrations/0007.sql:2-4\n    This cannot be undone.\n    Keep it.\n",
        "  shop/store.py:9 (old side)\n    Still read here.\n",
        "  wloop --home '/tmp/a home' gates resolve 3a9f21 publish                    Publish\n",
        "  wloop --home '/tmp/a home' gates resolve 3a9f21 publish --draft-file FILE  Publish, with the body of a file instead\n",
        "  wloop --home '/tmp/a home' gates resolve 3a9f21 reject                     Do not publish\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let rule = text.lines().find(|line| line.contains("rule gates.toml#1")).unwrap();
    assert!(rule.contains("holds false") && !rule.contains("why"), "{rule}");
    assert!(!text.contains('\u{1b}'), "a text from outside reaches the terminal raw");
}

// F29, GH-PUB-17
#[test]
fn a_held_post_whose_head_moved_tells_both_commits() {
    let mut gate = post_gate();
    assert!(!page(&context(), &gate, now()).contains("by now"));
    gate.post.as_mut().unwrap().head_now = Some("fedcba9876543210fedc".to_owned());
    let text = page(&context(), &gate, now());
    let both = "written for commit 0123456789\nthe head is fedcba9876 by now; publishing it asks once more, on that one\n";
    assert!(text.contains(both), "{text}");
}

// RES-20
#[test]
fn only_what_lets_something_out_needs_a_terminal() {
    let mut gate = post_gate();
    assert!(releases(&gate, &gate.intents[0]), "publish");
    assert!(!releases(&gate, &gate.intents[1]), "reject");
    gate.kind = "question".to_owned();
    gate.intents[0].name = "answer".to_owned();
    assert!(!releases(&gate, &gate.intents[0]), "an answer");
    gate.kind = "plan".to_owned();
    gate.intents[0].name = "run_now".to_owned();
    gate.intents[0].status = "approved".to_owned();
    assert!(releases(&gate, &gate.intents[0]), "run now");
}

// GATE-19
#[test]
fn an_intent_that_takes_text_is_offered_with_a_text() {
    let mut gate = post_gate();
    gate.kind = "plan".to_owned();
    gate.post = None;
    gate.intents[0].takes_text = true;
    let typed: Vec<String> = commands(&context(), &gate).into_iter().map(|(command, _)| command).collect();
    assert_eq!(
        typed,
        [
            "wloop --home '/tmp/a home' gates resolve 3a9f21 publish --text '…'",
            "wloop --home '/tmp/a home' gates resolve 3a9f21 reject",
            "wloop --home '/tmp/a home' plan apply acme/api#2",
        ]
    );
}

// API-09
#[test]
fn a_closed_gate_says_how_and_by_whom_and_what_came_of_it() {
    let mut gate = post_gate();
    gate.status = "answered".to_owned();
    gate.closed = serde_json::from_value(json!({
        "intent": "publish", "actor": "person", "via_session": "5555555500", "at": "2026-01-05T10:00:00Z"
    }))
    .unwrap();
    gate.consequence =
        serde_json::from_value(json!({"state": "failed", "at": "2026-01-05T10:00:00Z", "note": "the head moved"})).unwrap();
    let line = closing(&OUT, &gate);
    assert!(
        line.starts_with("post gate 3a9f21 on acme/api#2: answered (publish) by you, through session 55555555 at 2026-01-05"),
        "{line}"
    );
    assert!(line.ends_with("; failed: the head moved"), "{line}");
}

// interfaces.md, "Command line"
#[test]
fn a_list_shows_the_columns_that_differ_and_a_pipe_every_field() {
    let gates = [post_gate()];
    assert_eq!(
        OUT.list_text(&listing(&gates, now()), Some(100)),
        "ID      KIND  UNIT        AGE    ASKS\n\
         3a9f21  post  acme/api#2  2 min  A round stopped and shows you its text\n"
    );
    assert_eq!(
        tabbed(&fields(&gates[0])),
        "3a9f21ff00000000000000000000aaaa\tpost\topen\tpost\tgithub:PR_2\tacme/api#2\t2026-01-05T09:58:00Z\t\twait by the default\t\
         A round stopped and shows you its text"
    );
    let mut both = [post_gate(), post_gate()];
    both[1].deadline = Some(Timestamp::from_second(1_767_607_242).unwrap());
    both[0].status = "superseded".to_owned();
    let text = OUT.list_text(&listing(&both, now()), Some(100));
    assert!(text.starts_with("ID      KIND  STATUS      UNIT        AGE    ENDS     ASKS\n"), "{text}");
    assert!(text.contains("in 42 s"), "{text}");
}

#[test]
fn an_explanation_of_any_shape_becomes_lines() {
    assert_eq!(explanation(&json!(null)), Vec::<String>::new());
    let lines = explanation(&json!({"table": "workflows/review", "rules": [{"when": "true", "holds": true}], "mode": "delay"}));
    for line in ["table: workflows/review", "rules:", "mode: delay"] {
        assert!(lines.iter().any(|found| found == line), "{line:?} is not in {lines:?}");
    }
    assert!(
        lines.iter().any(|line| line.starts_with("  ") && line.contains("when true") && line.contains("holds true")),
        "{lines:?}"
    );
}
