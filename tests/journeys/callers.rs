//! Who calls: every road that an unattended agent may try on the real daemon, from where it stands and with what it says it is,
//! and the person beside it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use serde_json::{Value, json};
use wloop_api::client::{DraftFilter, GateFilter, UnitFilter};
use wloop_api::types::{DraftRequest, Gate};
use wloop_tests::puppet::{Puppet, Standing};
use wloop_tests::raw::{RawAnswer, RawRequest};
use wloop_tests::{Stage, until};
use wloop_world::{Fault, FaultKind};

const PUPPET: &str = env!("CARGO_BIN_EXE_wloop-puppet");
pub(crate) const NOBODY: &str = "00000000000000000000000000000001";
const STANDINGS: [Standing; 3] = [Standing::Child, Standing::Orphan, Standing::Escaped];

/// A daemon with an ended round that has a failed post, a round whose agent the test plays, and an open plan gate.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    /// The agent that tries.
    pub(crate) agent: Puppet,
    /// Its pull request.
    own: u64,
    pub(crate) own_turn: String,
    own_gate: String,
    /// The round before, of another session.
    pub(crate) other_session: String,
    other_turn: String,
    other_gate: String,
    pub(crate) failed_post: String,
    /// A draft of the person's with its gate.
    draft: (String, String),
    /// The open gate and its pull request.
    pub(crate) open: Gate,
    pub(crate) open_unit: String,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let mut stage = Stage::new().await;
        stage.use_puppets(PUPPET);
        let ended = stage.pull("First of all");
        stage.start().await;
        let gate = stage.open_gate("plan", ended).await;
        stage.resolve(&gate.id, "run_now").await;
        let mut other = stage.puppet(ended).await;
        other.say("a word of the other session\n", "").await;
        let refusal = json!({ "message": "Validation Failed" });
        stage.world.push_fault(Fault::new("POST", "/repos/*/*/pulls/*/reviews", FaultKind::Status(422, refusal)));
        let review = json!({ "shape": "review", "event": "COMMENT", "text": "Something to see." });
        let (_, refused) = other.tool("github_post", review).await;
        assert!(refused, "the post fails");
        other.end(0);
        let other_turn = stage.turn(ended, &["unrecorded"]).await.id;
        let failed_post = stage.post(ended, &["failed"]).await.id;

        let (own, open) = (stage.pull("Mine to review"), stage.pull("Still planned"));
        let own_gate = stage.open_gate("plan", own).await.id;
        stage.resolve(&own_gate, "run_now").await;
        let agent = stage.puppet(own).await;
        let own_turn = stage.turn(own, &["started"]).await.id;
        let open_unit = stage.unit(open);
        let open = stage.open_gate("plan", open).await;
        let (other_session, other_gate) = (other.session(), gate.id);
        let body = DraftRequest { unit: Some(open_unit.clone()), text: "Thanks!".to_owned(), ..DraftRequest::default() };
        let draft = stage.client().propose_draft(&body).await.unwrap();
        let draft = (draft.id, draft.gate);
        Self { stage, agent, own, own_turn, own_gate, other_session, other_turn, other_gate, failed_post, draft, open, open_unit }
    }

    /// Everything that a writing call could change.
    pub(crate) async fn state(&self) -> Value {
        let client = self.stage.client();
        let events = client.events(0).await.unwrap();
        json!({
            "gates": client.gates(&GateFilter::default()).await.unwrap(),
            "plan": client.plan().await.unwrap(),
            "turns": client.turns(&UnitFilter::default()).await.unwrap(),
            "posts": client.posts(&UnitFilter::default()).await.unwrap(),
            "drafts": client.drafts(&DraftFilter::default()).await.unwrap(),
            "events": events.iter().filter(|e| e.class != "inner").collect::<Vec<_>>(),
            "writes": self.stage.writes(),
        })
    }

    /// Each writing operation of the API, as a program would send it.
    fn writes(&self) -> Vec<RawRequest> {
        let (gate, unit) = (&self.open.id, &self.open_unit);
        let mut all: Vec<RawRequest> = [
            (format!("/api/gates/{gate}/run_now"), json!({})),
            (format!("/api/gates/{gate}/skip"), json!({})),
            (format!("/api/gates/{gate}/guide"), json!({ "text": "be kind" })),
            (format!("/api/gates/{}/retry", self.own_gate), json!({})),
            (format!("/api/gates/{}/run_now", self.own_gate), json!({})),
            (format!("/api/gates/{}/retry", self.other_gate), json!({})),
            ("/api/plan".to_owned(), json!({ "unit": unit, "action": "apply" })),
            ("/api/plan".to_owned(), json!({ "unit": unit, "action": "dismiss" })),
            ("/api/plan".to_owned(), json!({ "unit": unit, "action": "guide", "guidance": "be kind" })),
            ("/api/plan".to_owned(), json!({ "unit": self.stage.unit(self.own), "action": "guide", "guidance": "be kind" })),
            (format!("/api/gates/{}/approve", self.draft.1), json!({})),
            (format!("/api/drafts/{}/edit", self.draft.0), json!({ "text": "Gladly!" })),
            (format!("/api/drafts/{}/discard", self.draft.0), json!({ "reason": "no" })),
            (format!("/api/drafts/{}/retry", self.draft.0), json!({})),
            ("/api/turns".to_owned(), json!({ "unit": unit, "intent": "review" })),
            ("/api/pause".to_owned(), json!({})),
            ("/api/resume".to_owned(), json!({})),
            ("/api/mute".to_owned(), json!({})),
            ("/api/unmute".to_owned(), json!({})),
            (format!("/api/gates/{}/seen", self.own_gate), json!({})),
            (format!("/api/turns/{}/cancel", self.own_turn), json!({})),
            (format!("/api/turns/{}/cancel", self.other_turn), json!({})),
        ]
        .into_iter()
        .map(|(target, body)| RawRequest::post(&target, &body))
        .collect();
        for what in ["sent", "retry", "discard"] {
            all.push(RawRequest::post(&format!("/api/posts/{}/{what}", self.failed_post), &json!({})));
        }
        all
    }
}

/// A refusal of API-04: 403 as a problem that says why and who may.
fn assert_refused(answer: &RawAnswer, what: &str) {
    assert_eq!(answer.status, 403, "{what}: {:?}", answer.body);
    assert_eq!(answer.header("content-type"), "application/problem+json", "{what}");
    assert_eq!(answer.body["type"], "forbidden", "{what}");
    let detail = answer.body["detail"].as_str().unwrap();
    assert!(detail.contains("unattended") || detail.contains("its own session"), "{what}: {detail}");
}

#[tokio::test]
async fn an_agent_changes_nothing_over_the_socket_whatever_it_says_it_is() {
    // RES-11, RES-15, RES-19, RES-21, API-04, API-05
    let mut scene = Scene::new().await;
    let before = scene.state().await;
    let names =
        [None, Some(scene.agent.session()), Some(scene.other_session.clone()), Some(NOBODY.to_owned()), Some(String::new())];
    for from in STANDINGS {
        for name in &names {
            for request in scene.writes() {
                let what = format!("{} as {name:?} from {from:?}", request.target);
                let request = match name {
                    Some(name) => request.header("Wloop-Session", name),
                    None => request,
                };
                assert_refused(&scene.agent.http(from, request, false).await, &what);
            }
        }
        assert_eq!(scene.state().await, before, "after the calls from {from:?}");
    }
    assert_eq!(scene.stage.gate(&scene.open.id).await.status, "open");
}

/// What a command is called with: a name for it, whether its environment is empty, and what is taken out and set there.
type Way<'a> = (&'a str, bool, Vec<&'a str>, Vec<(&'a str, &'a str)>);

#[tokio::test]
async fn an_agent_changes_nothing_by_the_command_line() {
    // RES-11, RES-19, RES-20, RES-21, CLI-16
    let mut scene = Scene::new().await;
    let before = scene.state().await;
    let home = scene.stage.home().display().to_string();
    let (gate, unit, post) = (scene.open.id.clone(), scene.open_unit.clone(), scene.failed_post.clone());
    let (own_turn, own_gate) = (scene.own_turn.clone(), scene.own_gate.clone());
    let (draft, asks) = scene.draft.clone();
    let commands: Vec<Vec<&str>> = vec![
        vec!["outbox", "approve", &draft, "--gate", &asks],
        vec!["outbox", "edit", &draft, "Gladly!"],
        vec!["outbox", "discard", &draft],
        vec!["outbox", "retry", &draft],
        vec!["outbox", "new", &unit, "Hello", "--send"],
        vec!["gates", "resolve", &gate, "run_now"],
        vec!["gates", "resolve", &gate, "skip"],
        vec!["gates", "resolve", &gate, "guide", "--text", "be kind"],
        vec!["gates", "retry", &own_gate],
        vec!["plan", "apply", &unit],
        vec!["plan", "dismiss", &unit],
        vec!["review", &unit],
        vec!["pause", &unit],
        vec!["resume", &unit],
        vec!["mute", &unit],
        vec!["pause"],
        vec!["resume"],
        vec!["gates", "seen", &own_gate],
        vec!["turn", "cancel", &own_turn],
        vec!["posts", "sent", &post],
        vec!["posts", "retry", &post],
        vec!["posts", "discard", &post],
    ];
    let agents = ["WLOOP_SESSION", "WLOOP_SOCKET", "WLOOP_HOME", "CLAUDECODE", "NO_COLOR", "GH_CONFIG_DIR"];
    let other = scene.other_session.clone();
    // As it is; without its session; with everything of wloop's cleared; from an empty environment; under other names.
    let ways: [Way<'_>; 6] = [
        ("as it is", false, vec![], vec![]),
        ("without its session", false, vec!["WLOOP_SESSION"], vec![]),
        ("cleared", false, agents.to_vec(), vec![]),
        ("env -i", true, vec![], vec![]),
        ("another session", false, vec![], vec![("WLOOP_SESSION", &other)]),
        ("a forged session", false, vec![], vec![("WLOOP_SESSION", NOBODY)]),
    ];
    for (way, bare, unset, set) in &ways {
        for from in [Standing::Child, Standing::Escaped] {
            for command in &commands {
                let line: Vec<&str> = ["--home", &home].into_iter().chain(command.iter().copied()).collect();
                let done = scene.agent.wloop_with(from, &line, *bare, unset, set).await;
                let what = format!("{command:?} {way} from {from:?}: {done:?}");
                assert_eq!(done.code, Some(1), "{what}");
                assert!(done.out.is_empty(), "{what}");
                assert_eq!(done.err.trim().lines().count(), 1, "{what}");
                // Refused by the daemon, or before that by the command line because nobody sits at a terminal.
                assert!(done.err.contains("unattended") || done.err.contains("no terminal"), "{what}");
                // What releases nothing is never refused for the terminal: the daemon itself said no (RES-20).
                if matches!(command.last(), Some(&"skip"))
                    || ["pause", "resume", "mute"].contains(&command[0])
                    || command.get(1).is_some_and(|word| ["dismiss", "cancel", "sent", "discard", "seen"].contains(word))
                {
                    assert!(done.err.contains("unattended"), "{what}");
                }
            }
        }
        assert_eq!(scene.state().await, before, "after the calls {way}");
    }
}

#[tokio::test]
async fn a_session_does_not_resolve_the_gate_that_its_own_turn_opened_and_the_person_does() {
    // RES-12, RES-02, API-04
    let mut scene = Scene::new().await;
    let draft = json!({ "event": "COMMENT", "body": "Look at the sum." });
    let record = json!({ "verdict": "asked", "summary": "Not sure.", "condition": "unsure", "draft": draft });
    let (answer, refused) = scene.agent.tool("record", record).await;
    assert!(!refused, "{answer}");
    let gate = scene.stage.open_gate("post", scene.own).await;
    let before = scene.state().await;
    for from in STANDINGS {
        for own in [true, false] {
            for intent in ["publish", "reject"] {
                let request = RawRequest::post(&format!("/api/gates/{}/{intent}", gate.id), &json!({}));
                assert_refused(&scene.agent.http(from, request, own).await, &format!("{intent} from {from:?}"));
            }
            let request = RawRequest::post(&format!("/api/gates/{}/publish", gate.id), &json!({ "draft_text": "Fine." }));
            assert_refused(&scene.agent.http(from, request, own).await, "another text");
        }
    }
    let done = scene.agent.wloop(&["gates", "resolve", &gate.id, "publish"]).await;
    assert_eq!(done.code, Some(1), "{done:?}");
    assert_eq!(scene.state().await, before);
    assert_eq!(scene.stage.gate(&gate.id).await.status, "open");
    // The person's own command, in the same daemon, while that agent still runs.
    let output = scene.stage.wloop(&["gates", "resolve", &gate.id, "reject"]).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let closed = scene.stage.gate(&gate.id).await.closed.unwrap();
    assert_eq!((closed.actor.as_str(), closed.via_session), ("person", None));
}

#[tokio::test]
async fn the_session_of_a_stopped_round_cannot_answer_for_the_person_whose_answer_is_carried_out_once() {
    // AMB-12, RES-12
    let mut scene = Scene::new().await;
    let draft = json!({ "event": "COMMENT", "body": "Look at the sum." });
    let record = json!({ "verdict": "asked", "summary": "Not sure.", "condition": "unsure", "draft": draft });
    let (answer, refused) = scene.agent.tool("record", record).await;
    assert!(!refused, "{answer}");
    let gate = scene.stage.open_gate("post", scene.own).await;
    assert_eq!(gate.turn.as_ref(), Some(&scene.own_turn), "its own turn stopped here");
    let publish = RawRequest::post(&format!("/api/gates/{}/publish", gate.id), &json!({}));
    // While it runs, and from behind the end of its process.
    assert_refused(&scene.agent.http(Standing::Child, publish.clone(), true).await, "while it runs");
    let go = scene.stage.scratch().join("late");
    let late = wloop_tests::puppet::Act::Http(publish.clone());
    let late = scene.agent.plan(Standing::Escaped, Some(go.clone()), late);
    scene.agent.end(0);
    scene.stage.turn(scene.own, &["asked"]).await;
    std::fs::write(&go, "").unwrap();
    assert_refused(&scene.agent.done(&late).await.http, "after its end");
    assert_eq!((scene.stage.gate(&gate.id).await.status.as_str(), scene.stage.my_reviews(scene.own).len()), ("open", 0));
    // The person's answer is carried out once, however often it is given.
    let socket = scene.stage.home().join("run/wloop.sock");
    scene.stage.resolve(&gate.id, "publish").await;
    let again = tokio::task::spawn_blocking(move || publish.send(&socket).unwrap()).await.unwrap();
    assert_eq!(again.status, 409, "{:?}", again.body);
    let turn = scene.stage.turn(scene.own, &["recorded"]).await;
    assert_eq!((turn.id.as_str(), turn.verdict.as_deref()), (scene.own_turn.as_str(), Some("published")));
    scene.stage.stop().await;
    assert_eq!(scene.stage.my_reviews(scene.own).len(), 1);
}

#[tokio::test]
async fn a_tool_is_called_by_its_own_session_alone() {
    // RES-19, MCP-01, MCP-09
    let mut scene = Scene::new().await;
    let before = scene.state().await;
    let (mine, other) = (scene.agent.session(), scene.other_session.clone());
    for from in STANDINGS {
        for session in [other.as_str(), NOBODY] {
            for tool in ["task_read", "record", "github_post"] {
                let request = RawRequest::post(&format!("/api/sessions/{session}/tools/{tool}"), &json!({}));
                let request = request.header("Wloop-Session", session);
                assert_refused(&scene.agent.http(from, request, false).await, &format!("{tool} of {session} from {from:?}"));
            }
        }
    }
    // An orphan that left its group belongs to no session any more, and so has no tools; one that did not, has.
    let request = RawRequest::post(&format!("/api/sessions/{mine}/tools/task_read"), &json!({}));
    assert_refused(&scene.agent.http(Standing::Escaped, request.clone(), true).await, "its own tool after an escape");
    let answer = scene.agent.http(Standing::Orphan, request, false).await;
    assert!(answer.status == 200 && answer.body["done"]["unit"].is_object(), "{:?}", answer.body);
    // The tools' server with another name, with none and with one that nobody knows: each call says why it is refused.
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "task_read", "arguments": {} } });
    for (name, code) in [(other.as_str(), "refused"), (NOBODY, "refused"), ("", "not_in_turn")] {
        let answers = scene.agent.mcp(vec![call.clone()], &[("WLOOP_SESSION", name)]).await;
        let result = &answers[0]["result"];
        assert_eq!(result["isError"], true, "{name}: {result}");
        assert_eq!(result["structuredContent"]["code"], code, "{name}: {result}");
        assert!(result["structuredContent"]["message"].as_str().unwrap().contains("session"), "{name}: {result}");
    }
    assert_eq!(scene.state().await, before);
    // A person is no session either, and neither is a name that nobody knows.
    let socket = scene.stage.home().join("run/wloop.sock");
    for request in [
        RawRequest::post(&format!("/api/sessions/{mine}/tools/task_read"), &json!({})),
        RawRequest::post(&format!("/api/sessions/{NOBODY}/tools/task_read"), &json!({})).header("Wloop-Session", NOBODY),
    ] {
        assert_refused(&request.send(&socket).unwrap(), "a tool for the person");
    }
}

#[tokio::test]
async fn an_agent_reads_everything_but_the_transcripts_of_others() {
    // RES-19
    let mut scene = Scene::new().await;
    scene.agent.say("a word of my own\n", "").await;
    let (own, other) = (format!("/api/turns/{}", scene.own_turn), format!("/api/turns/{}", scene.other_turn));
    let says = |answer: &RawAnswer, words: &str| {
        assert_eq!(answer.status, 200);
        answer.body["transcript"].as_array().unwrap().iter().any(|line| line["text"].as_str().unwrap().contains(words))
    };
    let other_name = scene.other_session.clone();
    for from in [Standing::Child, Standing::Orphan] {
        assert!(says(&scene.agent.http(from, RawRequest::get(&own), false).await, "a word of my own"), "from {from:?}");
    }
    for from in STANDINGS {
        for name in [other_name.as_str(), NOBODY, ""] {
            let request = RawRequest::get(&other).header("Wloop-Session", name);
            let answer = scene.agent.http(from, request, false).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.body["transcript"], json!([]), "as {name} from {from:?}");
        }
        for target in
            ["/healthz", "/api/status", "/api/gates", "/api/plan", "/api/turns", "/api/posts", "/api/events", "/api/openapi.json"]
        {
            assert_eq!(scene.agent.http(from, RawRequest::get(target), true).await.status, 200, "{target} from {from:?}");
        }
    }
    let shown = scene.agent.wloop(&["gates", "show", &scene.open.id.clone()]).await;
    assert_eq!(shown.code, Some(0), "{shown:?}");
    // The person reads both.
    let socket = scene.stage.home().join("run/wloop.sock");
    assert!(says(&RawRequest::get(&other).send(&socket).unwrap(), "a word of the other session"));
    assert!(says(&RawRequest::get(&own).send(&socket).unwrap(), "a word of my own"));
}

#[tokio::test]
async fn what_an_agent_leaves_behind_is_still_no_person_after_its_turn() {
    // RES-11, RES-21
    let mut scene = Scene::new().await;
    let go = scene.stage.scratch().join("late");
    let targets = [format!("/api/gates/{}/run_now", scene.open.id), format!("/api/gates/{}/skip", scene.open.id)];
    let planned: Vec<_> = targets
        .iter()
        .map(|target| {
            let act = wloop_tests::puppet::Act::Http(RawRequest::post(target, &json!({})));
            scene.agent.plan(Standing::Escaped, Some(go.clone()), act)
        })
        .collect();
    scene.agent.end(0);
    scene.stage.turn(scene.own, &["unrecorded"]).await;
    let before = scene.state().await;
    std::fs::write(&go, "").unwrap();
    for answer in &planned {
        assert_refused(&scene.agent.done(answer).await.http, "from behind an ended turn");
    }
    assert_eq!(scene.state().await, before);
}

#[tokio::test]
async fn the_person_is_whoever_descends_from_no_session() {
    // RES-02, RES-21, CLI-16
    let scene = Scene::new().await;
    let before = scene.state().await;
    let socket = scene.stage.home().join("run/wloop.sock");
    // A name in the environment that nobody knows makes the caller unattended, and so does the name of a real session.
    for name in [NOBODY, "forged", scene.other_session.as_str()] {
        let request = RawRequest::post(&format!("/api/gates/{}/skip", scene.open.id), &json!({})).header("Wloop-Session", name);
        assert_refused(&request.send(&socket).unwrap(), name);
        for arguments in [["gates", "resolve", &scene.open.id, "skip"].as_slice(), &["plan", "apply", &scene.open_unit]] {
            let output = scene.stage.wloop(arguments).env("WLOOP_SESSION", name).output().await.unwrap();
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            assert!(String::from_utf8_lossy(&output.stderr).contains("unattended"), "{output:?}");
        }
    }
    assert_eq!(scene.state().await, before);
    let output = scene.stage.wloop(&["gates", "resolve", &scene.open.short, "skip"]).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let gate = scene.stage.gate(&scene.open.id).await;
    let closed = gate.closed.unwrap();
    assert_eq!(
        (gate.status.as_str(), closed.actor.as_str(), closed.actor_ref, closed.via_session),
        ("rejected", "person", None, None)
    );
    let decided = until("the decision's event", || async {
        let events = scene.stage.client().events(0).await.map_err(|e| e.to_string())?;
        let found = events.into_iter().find(|e| e.kind == "gate_decided" && e.gate.as_ref() == Some(&scene.open.id));
        found.ok_or_else(|| "none".to_owned())
    })
    .await;
    assert_eq!((decided.actor.as_str(), decided.class.as_str()), ("person", "decided"));
}

#[tokio::test]
async fn a_session_that_the_person_types_into_acts_for_them_and_hooks_never_hold_an_agent_up() {
    // RES-03, RES-06, SES-02, SES-03, SES-10
    let scene = Scene::new().await;
    let env_file = scene.stage.scratch().join("session-environment");
    let hook = async |event: &str, input: &str, away: bool| {
        let mut command = scene.stage.wloop(&["hook", event]);
        command.env("CLAUDE_ENV_FILE", &env_file).stdin(std::process::Stdio::piped());
        if away {
            command.env("WLOOP_SOCKET", "/no/such/socket");
        }
        let mut child = command.spawn().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).await.unwrap();
        let output = child.wait_with_output().await.unwrap();
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{event}: {output:?}");
    };
    let said = json!({ "session_id": "conversation-1", "cwd": "/home/sam/api", "prompt": "a word of mine alone" }).to_string();
    hook("SessionStart", &said, true).await;
    hook("SessionStart", "no JSON", false).await;
    hook("Unheard", &said, false).await;
    assert!(scene.stage.client().sessions(None).await.unwrap().iter().all(|s| s.manager == "wloop"), "nothing came of these");
    // A machine that is busy may be slower than a hook waits: it is told again then.
    let session = until("the hooked session", || async {
        hook("SessionStart", &said, false).await;
        let sessions = scene.stage.client().sessions(None).await.map_err(|e| e.to_string())?;
        sessions.into_iter().find(|s| s.manager == "hook").ok_or_else(|| "none".to_owned())
    })
    .await;
    assert!(!session.driven && !session.prompt_knowable, "{session:?}");
    let driven = until("the driven session", || async {
        hook("UserPromptSubmit", &said, false).await;
        let sessions = scene.stage.client().sessions(None).await.map_err(|e| e.to_string())?;
        sessions.into_iter().find(|s| s.id == session.id && s.driven).ok_or_else(|| "not driven".to_owned())
    })
    .await;
    assert_eq!((driven.folder.as_str(), driven.agent.as_str()), ("/home/sam/api", "claude-code"));
    let lines = std::fs::read_to_string(&env_file).unwrap_or_default();
    assert!(lines.is_empty() || lines.contains(&format!("export WLOOP_SESSION={}\n", session.id)), "{lines}");
    // Through it the person decides, and the gate says so.
    let skip = scene.stage.wloop(&["gates", "resolve", &scene.open.id, "skip"]).env("WLOOP_SESSION", &session.id).output().await;
    assert!(skip.as_ref().unwrap().status.success(), "{skip:?}");
    let closed = scene.stage.gate(&scene.open.id).await.closed.unwrap();
    assert_eq!((closed.actor.as_str(), closed.via_session.as_ref()), ("person", Some(&session.id)));
    let shown = format!("{:?}", scene.stage.client().events(0).await.unwrap());
    assert!(!shown.contains("a word of mine alone"), "no word of a prompt is kept");
    let refused = scene.stage.wloop(&["session", "close", &session.short]).output().await.unwrap();
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && words.contains("works"), "{words}");
    let listed = scene.stage.wloop(&["sessions"]).output().await.unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains(&session.id) && listed.contains("driven"), "{listed}");
}
