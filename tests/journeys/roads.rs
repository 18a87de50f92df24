//! The roads that an unattended agent may try to resolve, start, pause, edit or configure something: each is tried by a real process
//! of a real agent on the real daemon, each is refused, and nothing changes by any of them. The writing routes come from the table of
//! operations, so that a new one is tried by itself.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wloop_api::operation::{ALL, Callers, Method};
use wloop_tests::puppet::{Act, Done, Standing};
use wloop_tests::raw::RawRequest;

use crate::callers::{NOBODY, Scene};

/// How a road ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The daemon answers 403.
    Forbidden,
    /// The daemon answers that there is no such thing: 404 or 405.
    Nowhere,
    /// A command that exits with another code than 0 and says why.
    Fails,
    /// A tool that answers with a refusal.
    ToolRefuses,
    /// Its answer is 200 and tells a refusal (`gh`).
    Code1,
}

struct Road {
    name: String,
    from: Standing,
    act: Act,
    end: End,
}

/// A body that each writing operation would take, by the name of its type, so that none is refused for its form.
fn body(request: &str, scene: &Scene) -> Value {
    let unit = &scene.open_unit;
    match request {
        "PlanRequest" => json!({ "unit": unit, "action": "apply" }),
        "TurnRequest" => json!({ "unit": unit, "intent": "review" }),
        "NewDraft" | "DraftRequest" => json!({ "unit": unit, "text": "x" }),
        "EditDraft" | "DraftEdit" => json!({ "text": "x" }),
        "HookRequest" => {
            json!({ "event": "SessionStart", "agent": "claude-code", "payload": { "session_id": "x", "cwd": "/tmp" } })
        }
        "PromptRequest" => json!({ "text": "x" }),
        _ => json!({}),
    }
}

/// The path of an operation with something that is there in each of its places.
fn path(pattern: &str, scene: &Scene) -> String {
    let mut parts = Vec::new();
    let mut before = "";
    for part in pattern.split('/') {
        parts.push(match (part, before) {
            ("{id}", "gates") => scene.open.id.clone(),
            ("{id}", "turns") => scene.own_turn.clone(),
            ("{id}", "posts") => scene.failed_post.clone(),
            ("{id}", "sessions") => scene.agent.session(),
            ("{id}", _) => NOBODY.to_owned(),
            ("{intent}", _) => "run_now".to_owned(),
            ("{provider}", _) => "github".to_owned(),
            ("{key}", _) => scene.open.unit.as_ref().unwrap().id.trim_start_matches("github:").to_owned(),
            ("{workflow}" | "{name}", _) => "review".to_owned(),
            (part, _) if part.starts_with('{') => "x".to_owned(),
            (part, _) => part.to_owned(),
        });
        before = part;
    }
    parts.join("/")
}

fn run(argv: &[&str], bare: bool, unset: &[&str], set: &[(&str, &str)]) -> Act {
    let own = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
    let set: BTreeMap<String, String> = set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Act::Run { argv: own(argv), bare, unset: own(unset), set }
}

fn roads(scene: &Scene) -> Vec<Road> {
    use Standing::{Child, Escaped, Orphan};
    let mut roads = Vec::new();
    let mut add = |name: &str, from: Standing, act: Act, end: End| roads.push(Road { name: name.to_owned(), from, act, end });
    let home = scene.stage.home().display().to_string();
    let (gate, unit, other) = (scene.open.id.as_str(), scene.open_unit.as_str(), scene.other_session.as_str());
    let resolve = RawRequest::post(&format!("/api/gates/{gate}/run_now"), &json!({}));
    let wloop: Vec<&str> = vec!["wloop", "--home", &home, "gates", "resolve", gate, "skip"];
    let line = format!("wloop --home {home} gates resolve {gate} skip");

    // Every writing operation that is the person's, from each standing.
    for operation in ALL.iter().filter(|o| o.method != Method::Get && o.callers == Callers::Person) {
        let request = RawRequest::post(&path(operation.path, scene), &body(operation.request, scene));
        for from in [Child, Orphan, Escaped] {
            add(&format!("{} from {from:?}", operation.name), from, Act::Http(request.clone()), End::Forbidden);
        }
    }
    // The socket, by other names.
    for (what, name) in [("another session", other), ("a forged session", NOBODY), ("no name", ""), ("no id", "me")] {
        add(&format!("the socket as {what}"), Child, Act::Http(resolve.clone().header("Wloop-Session", name)), End::Forbidden);
        add(
            &format!("the socket as {what}, escaped"),
            Escaped,
            Act::Http(resolve.clone().header("Wloop-Session", name)),
            End::Forbidden,
        );
    }
    add("the socket as a web page", Child, Act::Http(resolve.header("Origin", "http://localhost")), End::Forbidden);
    let disguised = RawRequest::get(&format!("/api/gates/{gate}")).header("X-HTTP-Method-Override", "POST");
    add("a read that calls itself a write", Child, Act::Http(disguised), End::Code1);
    add(
        "a route for the configuration",
        Child,
        Act::Http(RawRequest::post("/api/config", &json!({ "sweep": {} }))),
        End::Nowhere,
    );
    add("a write on a route that reads", Child, Act::Http(RawRequest::post("/api/status", &json!({}))), End::Nowhere);
    // The tools of another, and tools that are none.
    let tool = RawRequest::post(&format!("/api/sessions/{other}/tools/record"), &json!({ "verdict": "nothing", "summary": "x" }));
    add("a tool of another session", Child, Act::Http(tool.header("Wloop-Session", other)), End::Forbidden);
    let shim = RawRequest::post(&format!("/api/sessions/{other}/gh"), &json!({ "arguments": ["pr", "review", "-a"] }));
    add("the `gh` of another session", Child, Act::Http(shim.header("Wloop-Session", other)), End::Forbidden);
    for name in ["gates_resolve", "plan_apply", "config_set"] {
        let call =
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": name, "arguments": { "id": gate } } });
        add(&format!("a tool `{name}`"), Child, mcp(call, &[]), End::ToolRefuses);
    }
    let record = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "record", "arguments": { "verdict": "nothing", "summary": "x" } } });
    add("the tools' server under another name", Child, mcp(record, &[("WLOOP_SESSION", other)]), End::ToolRefuses);
    // The command line: as it is, and in every disguise.
    let clear = ["WLOOP_SESSION", "WLOOP_SOCKET", "WLOOP_HOME", "NO_COLOR", "GH_CONFIG_DIR"];
    for from in [Child, Orphan, Escaped] {
        add(&format!("the command line from {from:?}"), from, run(&wloop, false, &[], &[]), End::Fails);
        add(&format!("the command line without its session from {from:?}"), from, run(&wloop, false, &clear, &[]), End::Fails);
        add(&format!("the command line from an empty environment from {from:?}"), from, run(&wloop, true, &[], &[]), End::Fails);
    }
    add("the command line as another session", Child, run(&wloop, false, &[], &[("WLOOP_SESSION", other)]), End::Fails);
    for words in [
        vec!["plan", "dismiss", unit],
        vec!["review", unit],
        vec!["turn", "cancel", &scene.own_turn],
        vec!["posts", "discard", &scene.failed_post],
    ] {
        let argv: Vec<&str> = ["wloop", "--home", &home].into_iter().chain(words.iter().copied()).collect();
        add(&format!("`wloop {}`", words.join(" ")), Child, run(&argv, false, &["WLOOP_SESSION"], &[]), End::Fails);
    }
    for (what, shell) in [
        ("a shell", line.clone()),
        ("a shell behind a shell", format!("sh -c \"sh -c '{line}'\"")),
        ("nohup", format!("nohup {line}")),
        ("setsid", format!("setsid -w {line}")),
        ("a terminal of its own making", format!("script -qec '{line}' /dev/null </dev/null")),
        ("an alias of git", format!("git -c alias.x='!{line}' x")),
        ("xargs", format!("echo skip | xargs wloop --home {home} gates resolve {gate}")),
    ] {
        let unset: &[&str] = &["WLOOP_SESSION"];
        add(what, Child, run(&["/bin/sh", "-c", &format!("{shell} || exit 1")], false, unset, &[]), End::Fails);
    }
    add("a second daemon", Child, run(&["wloop", "daemon", "--home", &home], false, &clear, &[]), End::Fails);
    add(
        "a command that configures",
        Child,
        run(&["wloop", "--home", &home, "config", "set", "sweep.fast", "1s"], false, &[], &[]),
        End::Fails,
    );
    // `gh`, for what a round may not write.
    for words in [
        vec!["gh", "pr", "merge", "1"],
        vec!["gh", "api", "-X", "PUT", "repos/acme/api/pulls/1/merge"],
        vec!["gh", "pr", "review", "999", "-a"],
        vec!["gh", "api", "graphql", "-f", "query=mutation { a }"],
        vec!["gh", "auth", "token"],
    ] {
        add(&format!("`{}`", words.join(" ")), Child, run(&words, false, &[], &[]), End::Fails);
    }
    roads
}

fn mcp(message: Value, set: &[(&str, &str)]) -> Act {
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": { "name": "road", "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let set = set.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    Act::Mcp { messages: vec![opening, ready, message], set }
}

fn assert_ends(road: &Road, done: &Done) {
    let (name, http) = (&road.name, &done.http);
    match road.end {
        End::Forbidden => {
            assert_eq!(http.status, 403, "{name}: {:?}; where a body is not right, give `body` one", http.body);
        }
        End::Nowhere => assert!(matches!(http.status, 404 | 405), "{name}: {} {:?}", http.status, http.body),
        End::Fails => {
            assert!(done.code.is_some_and(|code| code != 0), "{name}: {done:?}");
            assert!(!done.err.trim().is_empty() || !done.out.trim().is_empty(), "{name} says why: {done:?}");
        }
        End::ToolRefuses => {
            let answer = done.mcp.last().unwrap();
            let refused = answer["result"]["isError"] == true || answer["error"].is_object();
            assert!(refused, "{name}: {answer}");
        }
        End::Code1 => assert_eq!((http.status, &http.body["status"]), (200, &json!("open")), "{name}: only read"),
    }
}

#[tokio::test]
async fn no_road_of_an_unattended_agent_leads_to_a_decision() {
    // RES-11, RES-15, RES-19, RES-21, API-04, CLI-16: the lists of "What an agent may do"
    let mut scene = Scene::new().await;
    let config = scene.stage.home().join("config.toml");
    let (before, configured) = (scene.state().await, std::fs::read(&config).unwrap());
    let roads = roads(&scene);
    assert!(roads.len() >= 20, "{} roads", roads.len());
    for road in roads {
        let done = scene.agent.order(road.from, road.act.clone()).await;
        assert_ends(&road, &done);
        assert_eq!(scene.state().await, before, "after {}", road.name);
    }
    assert_eq!(std::fs::read(&config).unwrap(), configured, "the configuration is as it was");
    assert_eq!(scene.stage.gate(&scene.open.id).await.status, "open");
    // The road that is left open is the person's.
    let closed = scene.stage.resolve(&scene.open.id, "skip").await;
    assert_eq!(closed.status, "rejected");
}
