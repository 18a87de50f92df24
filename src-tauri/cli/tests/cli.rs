//! `wloop` as a process: exit codes, the one line on standard error, the guard without a terminal, and what a pipe is given.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use support::{Answer, Asked, Place, Ran};

const GATE_ID: &str = "3a9f21ff00000000000000000000aaaa";

fn unit() -> Value {
    json!({"id": "github:PR_1", "label": "acme/api#1", "title": "Round\tdiscounts", "url": "https://github.com/acme/api/pull/1"})
}

fn gate() -> Value {
    json!({
        "id": GATE_ID, "short": "3a9f21", "kind": "plan", "name": "plan", "status": "open", "words": "Review acme/api#1:\nfirst",
        "unit": unit(),
        "intents": [
            {"name": "skip", "label": "Skip", "status": "rejected", "takes_text": false},
            {"name": "run_now", "label": "Run now", "status": "approved", "takes_text": false}
        ],
        "opened_at": "2026-01-05T10:00:00Z", "deadline": "2026-01-05T10:01:00Z", "policy": "delay 60s", "explanation": []
    })
}

fn plan_item(state: &str) -> Value {
    json!({
        "id": "a1", "unit": unit(), "workflow": "review", "intent": "review", "stage": "first", "state": state,
        "reason": "you were asked", "gate": GATE_ID, "planned_at": "2026-01-05T10:00:00Z"
    })
}

fn turn() -> Value {
    json!({
        "id": "7777777700000000000000000000aaaa", "short": "777777", "seq": 1, "unit": unit(), "intent": "review", "stage": "first",
        "state": "recorded", "started_by": "loop", "head": "abc", "agent": "demo", "created_at": "2026-01-05T10:00:00Z",
        "ended_at": "2026-01-05T10:00:09Z", "verdict": "published", "summary": "one finding", "posts": []
    })
}

fn post() -> Value {
    json!({
        "id": "dddddddd00000000000000000000aaaa", "short": "dddddd", "unit": unit(), "shape": "review", "event": "COMMENT",
        "state": "failed", "maybe_posted": true, "text": "x", "comments": [], "mentions": [], "head": "abc",
        "cause": "the answer was lost", "attempts": 2, "created_at": "2026-01-05T10:00:00Z", "changed_at": "2026-01-05T10:00:05Z"
    })
}

fn event(id: i64, class: &str) -> Value {
    json!({
        "id": id, "at": "2026-01-05T10:00:00Z", "kind": "gate_opened", "class": class, "key": "plan", "data": "delay 60s",
        "unit": unit(), "actor": "workflow", "actor_ref": "review"
    })
}

/// Answers each route of the daemon with one sample.
fn sample(asked: &Asked) -> Answer {
    let (method, target) = asked.line.split_once(' ').unwrap();
    let path = target.split('?').next().unwrap();
    let parts: Vec<&str> = path.trim_start_matches("/api/").split('/').collect();
    let body = match (method, &parts[..]) {
        ("GET", ["status"]) => json!({
            "pending_rounds": 1, "open_gates": {"draft": 0, "plan": 1}, "drafts_held": 0, "drafts_failed": 0, "posts_failed": 1,
            "running_turns": 0, "draining": false, "providers": [], "warnings": []
        }),
        ("GET", ["gates"]) => json!([gate()]),
        ("GET" | "POST", ["gates", ..]) => gate(),
        ("GET", ["plan"]) => json!([plan_item("waiting")]),
        ("POST", ["plan"]) => json!({"gates": [gate()], "guidance_kept": false}),
        ("GET", ["turns"]) => json!([turn()]),
        ("POST", ["turns"]) => json!({"gates": [gate()], "guidance_kept": false}),
        ("GET", ["posts"]) => json!([post()]),
        ("GET", ["posts", id]) if id.starts_with("dddd") => post(),
        ("POST", ["posts", ..]) => post(),
        ("GET", ["events"]) if target.ends_with("since=0") => json!([event(1, "moved"), event(2, "inner")]),
        ("GET", ["events"]) => json!([]),
        _ => {
            return Answer::problem(
                "404 Not Found",
                &json!({"type": "not_found", "title": "", "status": 404, "detail": "no such thing"}),
            );
        }
    };
    Answer::json(&body)
}

// interfaces.md, "Command line": 2 wrong usage
#[test]
fn wrong_usage_ends_with_2_and_one_line() {
    let place = Place::empty();
    for words in [
        &["gatse"][..],
        &["gates", "show"],
        &["gates", "show", "xyzz"],
        &["gates", "show", "abc"],
        &["gates", "--status", "shut"],
        &["plan", "apply"],
        &["posts", "retry", "zz"],
        &["events", "--since", "yesterday"],
        &["--nonsense"],
        &["completions", "tcl"],
    ] {
        let ran = place.run(words);
        let line = ran.failed(2);
        assert!(line.contains('`'), "{words:?}: {line}");
    }
    let bare = place.run(&[]);
    assert_eq!(bare.code, 2);
    assert!(bare.err.contains("inbox"), "{bare:?}");
    assert!(place.run(&["--help"]).done().contains("inbox"));
    assert!(place.run(&["--version"]).done().starts_with("wloop "));
}

// interfaces.md, "Command line": 3 the daemon does not answer
#[test]
fn no_daemon_ends_with_3_and_says_how_to_start_it() {
    let place = Place::empty();
    for words in [
        &["status"][..],
        &["gates"],
        &["inbox"],
        &["plan"],
        &["plan", "--follow"],
        &["turns"],
        &["posts"],
        &["events"],
        &["events", "--follow"],
        &["--json", "status"],
    ] {
        let ran = place.run(words);
        let line = ran.failed(3);
        assert!(line.contains(place.socket().to_str().unwrap()), "{line}");
        assert!(line.contains("there is no such socket") && line.ends_with("start it with `wloop daemon`"), "{line}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let home = elsewhere.path().to_str().unwrap();
    let ran = place.run(&["--home", home, "status"]);
    assert!(ran.failed(3).ends_with(&format!("start it with `wloop --home {home} daemon`")), "{ran:?}");
}

// RES-20, CLI-14, CLI-17
#[test]
fn what_releases_something_is_refused_without_a_terminal_and_the_rest_is_not() {
    let place = Place::answering(sample);
    for words in [
        &["plan", "apply", "acme/api#1"][..],
        &["plan", "apply", "acme/api#1", "--guide", "be brief"],
        &["review", "acme/api#1"],
        &["posts", "retry", "dddddd"],
        &["gates", "resolve", "3a9f21", "run_now"],
    ] {
        let ran = place.run(words);
        let line = ran.failed(1);
        assert!(line.contains("standard input is no terminal") && line.contains("guard against mistakes"), "{line}");
        assert!(line.contains("`POST /api/"), "{line}");
    }
    assert!(place.lines().iter().all(|line| line.starts_with("GET ")), "{:?}", place.lines());

    for words in [
        &["plan", "dismiss", "acme/api#1"][..],
        &["gates", "resolve", "3a9f21", "skip"],
        &["posts", "discard", "dddddd", "--reason", "old"],
        &["posts", "sent", "dddddd"],
    ] {
        place.run(words).done();
    }
    let writes: Vec<Asked> = place.asked().into_iter().filter(|asked| asked.line.starts_with("POST ")).collect();
    let told: Vec<(&str, &str)> = writes.iter().map(|asked| (asked.line.as_str(), asked.body.as_str())).collect();
    let resolve = format!("POST /api/gates/{GATE_ID}/skip");
    assert_eq!(
        told,
        [
            ("POST /api/plan", r#"{"unit":"acme/api#1","action":"dismiss"}"#),
            (resolve.as_str(), "{}"),
            ("POST /api/posts/dddddd/discard", r#"{"reason":"old"}"#),
            ("POST /api/posts/dddddd/sent", "{}"),
        ]
    );
}

// CLI-16
#[test]
fn a_session_with_a_handle_is_left_to_the_daemon() {
    let place = Place::answering(sample);
    let run =
        |words: &[&str]| Ran::of(&place.command(words).env("WLOOP_SESSION", "s-1").env("CLAUDECODE", "1").output().unwrap());
    run(&["plan", "apply", "acme/api#1", "--guide", "be brief"]).done();
    let asked = place.asked().pop().unwrap();
    assert!(asked.head.contains("\r\nwloop-session: s-1"), "{asked:?}");
    assert_eq!(asked.body, r#"{"unit":"acme/api#1","action":"guide","guidance":"be brief"}"#);
    run(&["review", "acme/api#1"]).done();
    assert_eq!(place.asked().pop().unwrap().body, r#"{"unit":"acme/api#1","intent":"review"}"#);
}

// CLI-15
#[test]
fn an_agent_without_a_handle_is_refused_by_name() {
    let place = Place::answering(sample);
    let output = place.command(&["plan", "apply", "acme/api#1"]).env("CLAUDECODE", "1").output().unwrap();
    let ran = Ran::of(&output);
    assert!(ran.failed(1).contains("`CLAUDECODE`"), "{ran:?}");
    assert_eq!(place.lines(), Vec::<String>::new());
}

// interfaces.md, "Home and environment"
#[test]
fn the_socket_of_the_environment_wins_over_the_home() {
    let (here, there) = (Place::answering(sample), Place::empty());
    let output =
        there.command(&["--home", there.home().to_str().unwrap(), "status"]).env("WLOOP_SOCKET", here.socket()).output().unwrap();
    Ran::of(&output).done();
    assert_eq!(here.lines(), ["GET /api/status"]);
}

// CLI-04, interfaces.md "Command line": tab-separated when piped, no heading
#[test]
fn a_pipe_is_given_tab_separated_lines() {
    let place = Place::answering(sample);
    let lines = |words: &[&str]| place.run(words).done().to_owned();
    assert_eq!(
        lines(&["gates"]),
        format!(
            "{GATE_ID}\tplan\topen\tplan\tgithub:PR_1\tacme/api#1\t2026-01-05T10:00:00Z\t2026-01-05T10:01:00Z\tdelay 60s\tReview acme/api#1: first\n"
        )
    );
    assert_eq!(
        lines(&["plan"]),
        format!("a1\twaiting\tgithub:PR_1\tacme/api#1\treview\treview\tfirst\t\t{GATE_ID}\tyou were asked\t\t\t\t\n")
    );
    assert_eq!(
        lines(&["turns"]),
        "7777777700000000000000000000aaaa\trecorded\tgithub:PR_1\tacme/api#1\treview\tfirst\tloop\tdemo\t2026-01-05T10:00:00Z\t\
         2026-01-05T10:00:09Z\tpublished\tone finding\n"
    );
    assert_eq!(
        lines(&["posts"]),
        "dddddddd00000000000000000000aaaa\tfailed\tmaybe\tgithub:PR_1\tacme/api#1\treview\tCOMMENT\t2026-01-05T10:00:00Z\t\
         2026-01-05T10:00:05Z\t2\t\tthe answer was lost\n"
    );
    let one = "1\t2026-01-05T10:00:00Z\tgate_opened\tmoved\tplan\tgithub:PR_1\tacme/api#1\tworkflow\treview\t\t\"delay 60s\"\n";
    assert_eq!(lines(&["events"]), one);
    assert_eq!(lines(&["events", "--all"]).lines().count(), 2);
    assert_eq!(lines(&["events", "--unit", "acme/api#2"]), "");
    assert_eq!(
        lines(&["inbox"]),
        format!(
            "{GATE_ID}\tgate\tplan\tgithub:PR_1\tacme/api#1\t2026-01-05T10:00:00Z\t2026-01-05T10:01:00Z\tReview acme/api#1: first\twloop plan apply acme/api#1\n\
             dddddddd00000000000000000000aaaa\tpost\treview\tgithub:PR_1\tacme/api#1\t2026-01-05T10:00:05Z\t\treview cannot be told: the answer was lost\twloop posts show dddddd\n"
        )
    );
    assert_eq!(
        lines(&["status"]),
        "pending_rounds\t1\nnext_deadline\t\ncapped_rounds\t0\nblocked_rounds\t0\nmuted_rounds\t0\npaused\tfalse\npaused_until\t\nopen_gates.draft\t0\nopen_gates.plan\t1\ndrafts_held\t0\ndrafts_failed\t0\n\
         posts_failed\t1\nrunning_turns\t0\ndraining\tfalse\n"
    );
    assert!(place.lines().contains(&"GET /api/gates?status=open".to_owned()), "{:?}", place.lines());
}

// interfaces.md: `--json` prints the same for programs
#[test]
fn json_is_what_the_daemon_said() {
    let place = Place::answering(sample);
    for (words, key) in [
        (&["status", "--json"][..], None),
        (&["gates", "--json"], Some("policy")),
        (&["gates", "show", "3a9f", "--json"], None),
        (&["plan", "--json"], Some("workflow")),
        (&["turns", "--json"], Some("seq")),
        (&["posts", "--json"], Some("maybe_posted")),
        (&["posts", "show", "dddd", "--json"], None),
        (&["events", "--json"], Some("class")),
        (&["inbox", "--json"], Some("command")),
        (&["plan", "dismiss", "acme/api#1", "--json"], None),
    ] {
        let value: Value = serde_json::from_str(place.run(words).done()).unwrap();
        match key {
            Some(key) => assert!(value[0].get(key).is_some(), "{words:?}: {value}"),
            None => assert!(value.is_object(), "{words:?}: {value}"),
        }
    }
}

// API-02, RES-16: a prefix goes to the daemon as it was typed, and its refusal is one line with what became of the gate
#[test]
fn the_daemons_refusals_are_one_line() {
    let place = Place::answering(|asked| {
        if asked.line.starts_with("GET /api/gates/abcd") {
            let detail = "`abcd` begins 2 gates: `abcd01`, `abcd02`;\ntype more of the id";
            Answer::problem("409 Conflict", &json!({"type": "ambiguous", "title": "", "status": 409, "detail": detail}))
        } else if asked.line.starts_with("POST ") {
            let mut ended = gate();
            ended["status"] = json!("superseded");
            ended["closed"] = json!({"actor": "daemon", "at": "2026-01-05T10:00:30Z", "reason": "gone"});
            Answer::problem(
                "409 Conflict",
                &json!({"type": "not_open", "title": "", "status": 409, "detail": "it is no longer open", "gate": ended}),
            )
        } else {
            sample(asked)
        }
    });
    let ran = place.run(&["gates", "show", "ABCD"]);
    assert_eq!(ran.failed(1), "error: `abcd` begins 2 gates: `abcd01`, `abcd02`; type more of the id");
    let ran = place.run(&["gates", "resolve", "3a9f", "skip"]);
    assert!(ran.failed(1).starts_with("error: it is no longer open; the gate is superseded by wloop at "), "{ran:?}");
    let ran = place.run(&["gates", "resolve", "3a9f", "explode"]);
    assert!(ran.failed(1).contains("`skip`, `run_now`"), "{ran:?}");
    let ran = place.run(&["posts", "show", "eeee"]);
    assert_eq!(ran.failed(1), "error: no such thing", "what the daemon says of an id that it does not know");
}

// EVT-13, WIN-06
#[test]
fn following_prints_a_line_for_each_event_and_each_change_of_the_plan() {
    let states = std::sync::atomic::AtomicUsize::new(0);
    let place = Place::answering(move |asked| {
        if asked.head.contains("text/event-stream") {
            let body = format!("data: {}\n\ndata: {}\n\n", event(8, "moved"), event(9, "decided"));
            return Answer { status: "200 OK", kind: "text/event-stream", body, hold: true };
        }
        if asked.line == "GET /api/plan" {
            let state = ["waiting", "released"][states.fetch_add(1, std::sync::atomic::Ordering::SeqCst).min(1)];
            return Answer::json(&json!([plan_item(state)]));
        }
        sample(asked)
    });
    let first_two = |words: &[&str]| {
        let mut child = place.command(words).stderr(Stdio::null()).spawn().unwrap();
        let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap()).lines().take(2).map(Result::unwrap).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        lines
    };
    let events = first_two(&["events", "--follow", "--since", "7"]);
    assert!(events[0].starts_with("8\t") && events[1].starts_with("9\t"), "{events:?}");
    let plan = first_two(&["plan", "--follow"]);
    assert!(plan[0].contains("\ta1\twaiting\t") && plan[1].contains("\ta1\treleased\t"), "{plan:?}");
}

#[test]
fn completions_know_the_commands() {
    let place = Place::empty();
    for shell in ["bash", "zsh", "fish"] {
        let ran = place.run(&["completions", shell]);
        let script = ran.done();
        for word in ["inbox", "completions", "resolve", "dismiss", "draft-file"] {
            assert!(script.contains(word), "{shell} lacks {word}");
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::answering(sample);
    let mut child = place.command(&["gates", "--json"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn the_demo_wants_a_folder_of_its_own() {
    let place = Place::answering(sample);
    let home = place.home().to_str().unwrap().to_owned();
    let ran = place.run(&["--home", &home, "demo", "--once"]);
    assert!(ran.failed(1).contains("is not empty"), "{ran:?}");
}
