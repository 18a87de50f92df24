//! The API on the socket: what it answers is what its description says, in many states; who may reach it at all; and how it refuses.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod calls;
mod record;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use wloop_api::client::UnitFilter;
use wloop_api::operation::{self, Method, Operation};
use wloop_tests::raw::{RawAnswer, RawRequest};
use wloop_tests::{Stage, until};
use wloop_world::{Fault, FaultKind};

const PUPPET: &str = env!("CARGO_BIN_EXE_wloop-puppet");

fn socket(stage: &Stage) -> PathBuf {
    stage.home().join("run/wloop.sock")
}

fn ask(stage: &Stage, request: &RawRequest) -> RawAnswer {
    // It blocks, and the small GitHub, which the daemon may ask meanwhile, lives in this process: its tasks go on elsewhere.
    tokio::task::block_in_place(|| request.send(&socket(stage)).unwrap())
}

fn get(stage: &Stage, target: &str) -> RawAnswer {
    ask(stage, &RawRequest::get(target))
}

fn post(stage: &Stage, target: &str, body: &Value) -> RawAnswer {
    ask(stage, &RawRequest::post(target, body))
}

/// The API's description, its schemas made strict: what it does not name is a fault.
struct Description {
    whole: Value,
    components: Value,
}

impl Description {
    async fn of(stage: &Stage) -> Self {
        let whole = stage.client().openapi().await.unwrap();
        let mut components = whole["components"].clone();
        strict(&mut components);
        Self { whole, components }
    }

    fn check(&self, schema: &Value, answer: &Value, what: &str) {
        let mut whole = schema.clone();
        whole["components"] = self.components.clone();
        let validator = jsonschema::validator_for(&whole).unwrap();
        let faults: Vec<String> = validator.iter_errors(answer).map(|f| format!("{}: {f}", f.instance_path())).collect();
        assert!(faults.is_empty(), "{what}: {faults:#?} in {answer:#}");
    }

    fn check_answer(&self, operation: &Operation, answer: &Value) {
        let schema =
            &self.whole["paths"][operation.path][method(operation)]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{} has a schema", operation.name);
        self.check(schema, answer, operation.name);
    }

    /// A refusal as API and RFC 9457 want it.
    fn check_problem(&self, answer: &RawAnswer, status: u16, what: &str) -> String {
        assert_eq!(answer.status, status, "{what}: {:?}", answer.body);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{what}: {:?}", answer.body);
        self.check(&json!({ "$ref": "#/components/schemas/Problem" }), &answer.body, what);
        assert_eq!(answer.body["status"], status, "{what}");
        for key in ["type", "title", "detail"] {
            assert!(answer.body[key].as_str().is_some_and(|t| !t.trim().is_empty()), "{what} has a {key}: {}", answer.body);
        }
        answer.body["detail"].as_str().unwrap().to_owned()
    }
}

fn method(operation: &Operation) -> &'static str {
    match operation.method {
        Method::Get => "get",
        Method::Post => "post",
    }
}

fn strict(schema: &mut Value) {
    if let Value::Object(map) = schema {
        if map.get("type") == Some(&json!("object")) && map.contains_key("properties") {
            map.entry("additionalProperties").or_insert(json!(false));
        }
        map.values_mut().for_each(strict);
    } else if let Value::Array(list) = schema {
        list.iter_mut().for_each(strict);
    }
}

/// Every read of the API, each object of each list by itself too, against the description.
fn check_reads(stage: &Stage, description: &Description) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for (operation, target) in [
        (&operation::HEALTH, "/healthz"),
        (&operation::STATUS, "/api/status"),
        (&operation::GATES, "/api/gates"),
        (&operation::PLAN, "/api/plan"),
        (&operation::TURNS, "/api/turns"),
        (&operation::POSTS, "/api/posts"),
        (&operation::EVENTS, "/api/events?since=0"),
    ] {
        let answer = get(stage, target);
        assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"), "{target}");
        description.check_answer(operation, &answer.body);
        for row in answer.body.as_array().into_iter().flatten() {
            let state = row["status"].as_str().or(row["state"].as_str()).or(row["kind"].as_str()).unwrap();
            seen.insert(format!("{target} {state}"));
            let detail = match target {
                "/api/gates" => (&operation::GATE, format!("/api/gates/{}", row["id"].as_str().unwrap())),
                "/api/turns" => (&operation::TURN, format!("/api/turns/{}", row["id"].as_str().unwrap())),
                "/api/plan" => {
                    let key = row["unit"]["id"].as_str().unwrap().strip_prefix("github:").unwrap().to_owned();
                    let facts = get(stage, &format!("/api/units/github/{key}/facts"));
                    description.check_answer(&operation::UNIT_FACTS, &facts.body);
                    (&operation::UNIT, format!("/api/units/github/{key}"))
                }
                _ => continue,
            };
            let answer = get(stage, &detail.1);
            assert_eq!(answer.status, 200);
            description.check_answer(detail.0, &answer.body);
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_as_the_description_says_in_every_state() {
    // API-01, API-02, API-09
    let mut stage = Stage::new().await;
    let (honest, risky, planned) =
        (stage.pull("Guard the sum"), stage.risky_pull("Drop a column"), stage.pull("Left in the plan"));
    stage.start().await;
    let description = Description::of(&stage).await;
    assert_eq!(description.whole["openapi"], "3.1.0");
    let mut seen = BTreeSet::new();

    let waiting = stage.open_gate("plan", planned).await;
    assert!(waiting.deadline.is_some() && waiting.closed.is_none());
    let shown: Vec<_> = waiting.intents.iter().map(|i| (i.name.as_str(), i.label.as_str(), i.takes_text)).collect();
    assert_eq!(shown, [("skip", "Skip", false), ("run_now", "Run now", false), ("guide", "Guide", true)]);
    seen.append(&mut check_reads(&stage, &description));

    let gate = stage.open_gate("plan", risky).await;
    let guided = post(&stage, &format!("/api/gates/{}/guide", gate.id), &json!({ "text": "Look at the column first" }));
    assert_eq!(guided.status, 200);
    description.check_answer(&operation::RESOLVE_GATE, &guided.body);
    assert_eq!(guided.body["closed"]["text"], "Look at the column first");
    let held = stage.open_gate("post", risky).await;
    assert!(held.post.is_some(), "the complete post is with its gate");
    seen.append(&mut check_reads(&stage, &description));
    let published = post(&stage, &format!("/api/gates/{}/publish", held.id), &json!({ "draft_text": "Please keep the column." }));
    assert_eq!(published.status, 200);
    description.check_answer(&operation::RESOLVE_GATE, &published.body);
    stage.post(risky, &["sent"]).await;

    let refusal = json!({ "message": "Validation Failed" });
    stage.world.push_fault(Fault::new("POST", "/repos/*/*/pulls/*/reviews", FaultKind::Status(422, refusal)));
    let applied = post(&stage, "/api/plan", &json!({ "unit": stage.unit(honest), "action": "apply" }));
    assert_eq!(applied.status, 200);
    description.check_answer(&operation::DECIDE_PLAN, &applied.body);
    let failed = stage.post(honest, &["failed"]).await;
    stage.turn(honest, &["failed"]).await;
    seen.append(&mut check_reads(&stage, &description));
    let dropped = post(&stage, &format!("/api/posts/{}/discard", failed.id), &json!({ "reason": "not worth it" }));
    assert_eq!(dropped.status, 200);
    description.check_answer(&operation::POST_DISCARD, &dropped.body);

    let again = post(&stage, "/api/turns", &json!({ "unit": stage.unit(honest), "intent": "review" }));
    assert_eq!(again.status, 200, "{:?}", again.body);
    description.check_answer(&operation::START_TURN, &again.body);
    stage.turn(honest, &["recorded"]).await;
    let dismissed = post(&stage, "/api/plan", &json!({ "unit": stage.unit(planned), "action": "dismiss" }));
    assert_eq!(dismissed.status, 200);
    description.check_answer(&operation::DECIDE_PLAN, &dismissed.body);
    let unit = format!("/api/units/github/{}", stage.unit(planned).replace('/', "%2F").replace('#', "%23"));
    for (operation, target) in [
        (&operation::PAUSE_UNIT, format!("{unit}/pause")),
        (&operation::MUTE_UNIT, format!("{unit}/mute")),
        (&operation::RESUME_UNIT, format!("{unit}/resume")),
        (&operation::UNMUTE_UNIT, format!("{unit}/unmute")),
        (&operation::PAUSE, "/api/pause".to_owned()),
        (&operation::RESUME, "/api/resume".to_owned()),
        (&operation::MUTE, "/api/mute".to_owned()),
        (&operation::UNMUTE, "/api/unmute".to_owned()),
    ] {
        let held = post(&stage, &target, &json!({}));
        assert_eq!(held.status, 200, "{target}: {:?}", held.body);
        description.check_answer(operation, &held.body);
    }
    let looked_at = ask(&stage, &RawRequest::get(&unit));
    assert_eq!((looked_at.status, looked_at.body["skipped"][0]["because"].as_str()), (200, Some("skipped")));
    description.check_answer(&operation::UNIT, &looked_at.body);
    seen.append(&mut check_reads(&stage, &description));

    for state in [
        "/api/gates open",
        "/api/gates approved",
        "/api/gates answered",
        "/api/gates rejected",
        "/api/plan counting_down",
        "/api/turns asked",
        "/api/turns failed",
        "/api/turns recorded",
        "/api/posts held",
        "/api/posts sent",
        "/api/posts failed",
        "/api/posts dropped",
    ] {
        assert!(seen.contains(state), "{state} was looked at; {seen:?}");
    }
    // A closed gate says who closed it (API-09).
    let closed = stage.gate(&waiting.id).await.closed.unwrap();
    assert_eq!((closed.actor.as_str(), closed.intent.as_deref()), ("person", Some("skip")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_description_holds_every_route_and_stands_by_itself() {
    // API-01
    let mut stage = Stage::new().await;
    stage.start().await;
    let description = Description::of(&stage).await;
    let mut names = BTreeSet::new();
    for operation in operation::ALL {
        let described = &description.whole["paths"][operation.path][method(operation)];
        assert!(names.insert(described["operationId"].as_str().unwrap().to_owned()), "{} has an id of its own", operation.name);
        assert!(described["responses"]["default"]["content"]["application/problem+json"].is_object());
        let wanted: Vec<&str> = operation.path.split('/').filter(|part| part.starts_with('{')).collect();
        let parameters = described["parameters"].as_array().unwrap();
        let in_path: Vec<String> =
            parameters.iter().filter(|p| p["in"] == "path").map(|p| format!("{{{}}}", p["name"].as_str().unwrap())).collect();
        assert_eq!(in_path, wanted);
        assert_eq!(described["requestBody"].is_object(), !operation.request.is_empty());
        // The route is there: what it says of a made-up id is not that the route is unknown.
        let target = operation
            .path
            .replace("{id}", "ffffffffffffffffffffffffffffffff")
            .replace("{intent}", "run_now")
            .replace("{tool}", "record")
            .replace("{provider}", "github")
            .replace("{key}", "PR_nothing");
        let answer = ask(&stage, &RawRequest { method: method(operation).to_uppercase(), target, ..RawRequest::default() });
        let detail = answer.body["detail"].as_str().unwrap_or_default();
        assert!(!detail.contains("openapi.json"), "{}: {detail}", operation.name);
    }
    let paths: usize = description.whole["paths"].as_object().unwrap().values().map(|p| p.as_object().unwrap().len()).sum();
    assert_eq!(paths, operation::ALL.len());
    let text = description.whole.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(description.whole.pointer(reference).is_some(), "{reference} leads somewhere");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_call_is_answered_with_one_problem_and_changes_nothing() {
    // API-01, API-02, RES-15, RES-16, RES-18
    let mut stage = Stage::new().await;
    let (number, skipped) = (stage.pull("Guard the sum"), stage.pull("Not now"));
    stage.start().await;
    let description = Description::of(&stage).await;
    let (open, closed) = (stage.open_gate("plan", number).await, stage.open_gate("plan", skipped).await);
    stage.resolve(&closed.id, "skip").await;
    let before = (stage.events().await, stage.gate(&open.id).await);
    let unit = stage.unit(number);
    let gate = |intent: &str| format!("/api/gates/{}/{intent}", open.id);
    let none = "ffffffffffffffffffffffffffffffff";
    let cases = [
        (gate("approve"), json!({}), 422, Some("intent"), "run_now"),
        (gate("publish"), json!({}), 422, Some("intent"), "skip"),
        (gate("guide"), json!({}), 422, Some("text"), "text"),
        (gate("guide"), json!({ "text": "  " }), 422, Some("text"), "text"),
        (gate("guide"), json!({ "text": "a".repeat(10_001) }), 422, Some("text"), "10001"),
        (gate("run_now"), json!({ "text": "hello" }), 422, Some("text"), "text"),
        (gate("run_now"), json!({ "draft_text": "hello" }), 422, Some("draft_text"), "draft_text"),
        (gate("run_now"), json!({ "txet": "hello" }), 422, Some("txet"), "txet"),
        (gate("run_now"), json!({ "text": 7 }), 422, None, "body"),
        (gate("run_now"), json!([]), 422, None, "body"),
        (format!("/api/gates/{none}/run_now"), json!({}), 404, None, "wloop gates"),
        ("/api/gates/xyz/run_now".to_owned(), json!({}), 404, Some("id"), "xyz"),
        ("/api/gates/abc/run_now".to_owned(), json!({}), 404, Some("id"), "4"),
        (format!("/api/gates/{}/retry", open.id), json!({}), 409, None, "released nothing"),
        (format!("/api/gates/{}/seen", open.id), json!({}), 409, None, "released nothing"),
        ("/api/pause".to_owned(), json!({ "until": "soon" }), 422, None, "body"),
        ("/api/pause".to_owned(), json!({ "until": "2020-01-01T00:00:00Z" }), 422, Some("until"), "past"),
        ("/api/pause".to_owned(), json!({ "untli": "x" }), 422, Some("untli"), "untli"),
        ("/api/units/github/PR_nothing/pause".to_owned(), json!({}), 404, Some("unit"), "PR_nothing"),
        ("/api/units/gitlab/x/mute".to_owned(), json!({}), 404, Some("unit"), "gitlab:x"),
        ("/api/plan".to_owned(), json!({}), 422, Some("unit"), "unit"),
        ("/api/plan".to_owned(), json!({ "unit": unit, "action": "explode" }), 422, None, "explode"),
        ("/api/plan".to_owned(), json!({ "unit": unit, "action": "guide" }), 422, Some("guidance"), "guidance"),
        (
            "/api/plan".to_owned(),
            json!({ "unit": unit, "action": "dismiss", "guidance": "x" }),
            422,
            Some("guidance"),
            "guidance",
        ),
        ("/api/plan".to_owned(), json!({ "unit": "acme/api#999", "action": "apply" }), 404, Some("unit"), "acme/api#999"),
        ("/api/plan".to_owned(), json!({ "unit": "nonsense", "action": "apply" }), 422, Some("unit"), "nonsense"),
        ("/api/turns".to_owned(), json!({ "unit": "acme/api#999", "intent": "review" }), 404, Some("unit"), "acme/api#999"),
        ("/api/turns".to_owned(), json!({ "unit": unit, "intent": "dance" }), 422, Some("intent"), "dance"),
        (format!("/api/turns/{none}/cancel"), json!({}), 404, None, "wloop turns"),
        (format!("/api/posts/{none}/retry"), json!({}), 404, None, "wloop posts"),
        (format!("/api/posts/{none}/sent"), json!({}), 404, None, "wloop posts"),
        (format!("/api/sessions/{none}/tools/record"), json!({}), 403, None, "session"),
        ("/api/nothing".to_owned(), json!({}), 404, None, "/api/nothing"),
        (gate("run_now").replace("/api", "/api/.."), json!({}), 404, None, "there is no"),
        ("/api/status".to_owned(), json!({}), 405, None, "POST"),
        ("/api/gates/%FF%FE/run_now".to_owned(), json!({}), 400, None, "UTF-8"),
    ];
    for (target, body, status, field, words) in cases {
        let what = format!("POST {target} {}", body.to_string().chars().take(80).collect::<String>());
        let answer = post(&stage, &target, &body);
        let detail = description.check_problem(&answer, status, &what);
        assert!(detail.contains(words), "{what}: `{words}` in {detail}");
        if let Some(field) = field {
            assert_eq!(answer.body["field"], field, "{what}: {detail}");
        }
    }
    for (target, status, words) in [
        ("/api/gates?status=ajar", 422, "`open`"),
        ("/api/gates?colour=red", 422, "colour"),
        ("/api/gates?kind=door", 422, "`plan`"),
        ("/api/turns?state=asleep", 422, "`recorded`"),
        ("/api/turns/zzzz", 404, "zzzz"),
        ("/api/events?since=yesterday", 422, "since"),
        ("/api/gates?unit=acme/api%23999", 404, "acme/api#999"),
    ] {
        let detail = description.check_problem(&get(&stage, target), status, target);
        assert!(detail.contains(words), "{target}: {detail}");
    }
    let torn =
        RawRequest { method: "POST".to_owned(), target: gate("run_now"), body: "{\"text\":".to_owned(), ..RawRequest::default() };
    description.check_problem(&ask(&stage, &torn), 422, "half a body");
    let huge = RawRequest { body: format!("{{\"text\":\"{}\"}}", "a".repeat(2 << 20)), ..torn };
    // The daemon may close the connection before all of it is written: then there is no answer to look at.
    if let Ok(answer) = huge.send(&socket(&stage))
        && answer.status != 0
    {
        description.check_problem(&answer, 413, "two megabytes");
    }
    // A closed gate: refused with how it ended, whatever intent is named (RES-16).
    for intent in ["run_now", "skip", "dance"] {
        let answer = post(&stage, &format!("/api/gates/{}/{intent}", closed.id), &json!({}));
        let detail = description.check_problem(&answer, 409, intent);
        assert_eq!(
            (answer.body["gate"]["status"].as_str(), answer.body["gate"]["id"].as_str()),
            (Some("rejected"), Some(closed.id.as_str()))
        );
        assert!(detail.contains("already resolved"), "{detail}");
    }
    assert_eq!((stage.events().await, stage.gate(&open.id).await), before, "nothing changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_socket_answers_its_owner_s_programs_and_no_web_page() {
    // API-01
    let mut stage = Stage::new().await;
    stage.start().await;
    let description = Description::of(&stage).await;
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(socket(&stage)), mode(stage.home().join("run"))), (0o600, 0o700));
    for (name, value) in [
        ("Origin", "http://localhost:3000"),
        ("Origin", "null"),
        ("Referer", "http://evil.example/page"),
        ("Host", "evil.example"),
        ("Host", "wloop.evil.example"),
        ("Host", ""),
    ] {
        for request in [RawRequest::get("/healthz"), RawRequest::post("/api/plan", &json!({}))] {
            let what = format!("{} with {name}: {value}", request.target);
            description.check_problem(&ask(&stage, &request.header(name, value)), 403, &what);
        }
    }
    assert_eq!(ask(&stage, &RawRequest::get("/healthz").header("Host", "localhost")).status, 200);
    stage.stop().await;
    assert!(!socket(&stage).exists(), "the socket goes with the daemon");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draining_daemon_says_so_and_answers_until_its_round_has_ended() {
    // RUN-36
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    let (number, other) = (stage.pull("Guard the sum"), stage.pull("Name the sum"));
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let beside = stage.open_gate("plan", other).await;
    stage.resolve(&gate.id, "run_now").await;
    let mut puppet = stage.puppet(number).await;
    stage.terminate();
    let client = stage.client();
    let health = until("the drain to be told", || async {
        let health = client.health().await.map_err(|e| e.to_string())?;
        if health.draining { Ok(health) } else { Err("not yet".to_owned()) }
    })
    .await;
    assert_eq!((health.ok, health.running_turns), (false, 1));
    assert!(client.status().await.unwrap().draining);
    // Deciding still works and is kept for the next start; nothing new begins.
    stage.resolve(&beside.id, "run_now").await;
    let record = json!({ "verdict": "nothing", "summary": "Nothing to say." });
    let (answer, refused) = puppet.tool("record", record).await;
    assert!(!refused, "{answer}");
    puppet.end(0);
    stage.ended().await;
    stage.start_again().await;
    assert_eq!(stage.turn(number, &["recorded"]).await.verdict.as_deref(), Some("nothing"));
    let turns = client.turns(&UnitFilter { state: None, unit: Some(stage.unit(other)) }).await.unwrap();
    assert!(turns.iter().all(|turn| turn.seq == 1), "{turns:?}");
    stage.puppet(other).await.end(0);
    stage.turn(other, &["unrecorded"]).await;
}
