//! What an agent's process gets and what becomes of what it does: its prompt, its environment, its folder, its transcript, its
//! tools, and the end of its run.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wloop_api::types::Turn;
use wloop_tests::puppet::{Act, Puppet, Standing};
use wloop_tests::{REPO, Stage, TOKEN, plain_environment, until};

const PUPPET: &str = env!("CARGO_BIN_EXE_wloop-puppet");

/// A stage whose one round is played by a puppet.
async fn playing() -> (Stage, u64, Puppet) {
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let puppet = begin(&stage, number).await;
    (stage, number, puppet)
}

/// Releases the planned round of a pull request and gives its agent.
async fn begin(stage: &Stage, number: u64) -> Puppet {
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.puppet(number).await
}

async fn shell(puppet: &mut Puppet, script: &str) -> String {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let act = Act::Run { argv, bare: false, unset: Vec::new(), set: std::collections::BTreeMap::new() };
    let done = puppet.order(Standing::Child, act).await;
    done.out.trim().to_owned()
}

fn transcript(stage: &Stage, turn: &str) -> PathBuf {
    stage.home().join("logs/transcripts").join(format!("{turn}.jsonl"))
}

/// Every file under a folder that holds the text.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_with(&entry.path(), text)),
            Ok(kind) if kind.is_file() => {
                let bytes = std::fs::read(entry.path()).unwrap_or_default();
                if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                    found.push(entry.path());
                }
            }
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn the_prompt_is_on_standard_input_and_nowhere_else() {
    // RUN-08
    let (stage, number, mut puppet) = playing().await;
    let prompt = puppet.start.prompt.clone();
    assert!(
        prompt.contains(&format!("# Review {}", stage.unit(number))) && prompt.contains("Guard the sum, please."),
        "{prompt}"
    );
    let (arguments, environment) = (puppet.start.argv.join(" "), format!("{:?}", puppet.start.environment));
    for text in ["# Review", "Guard the sum, please."] {
        assert!(!arguments.contains(text) && !environment.contains(text), "{text} in {arguments} or {environment}");
    }
    // The stream was closed, or the puppet had not read to its end; it has none of a terminal's.
    puppet.end(0);
    let turn = stage.turn(number, &["unrecorded"]).await;
    assert!(!stage.log().contains("Guard the sum, please."), "no log holds it: {}", stage.log());
    assert!(std::fs::read_to_string(transcript(&stage, &turn.id)).unwrap().contains("Guard the sum, please."));
}

#[tokio::test]
async fn the_environment_is_a_fresh_one_without_tokens_and_other_sessions() {
    // RUN-04, RUN-05, RUN-06, RUN-07
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    stage.more = "MINE = \"kept\"\nGITHUB_TOKEN = \"set by hand\"\n".to_owned();
    for (name, value) in [
        ("GH_TOKEN", "ghp_of_the_person"),
        ("GITHUB_TOKEN", "ghp_of_the_person"),
        ("GH_ENTERPRISE_TOKEN", "ghp_of_the_person"),
        ("SLACK_BOT_TOKEN", "xoxb"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("LC_MESSAGES", "C"),
        ("XDG_DATA_HOME", "/nowhere"),
        ("XDG_ODD", TOKEN),
        ("PASSED", "through"),
        ("WLOOP_SESSION", "00000000000000000000000000000009"),
        ("WLOOP_TEST_SEED", "1"),
        ("CLAUDECODE", "1"),
    ] {
        stage.variables.insert(name.to_owned(), value.to_owned());
    }
    stage.write_home();
    let config = stage.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace("[agents.demo.env.set]", "[agents.demo.env]\npass = [\"PASSED\", \"ODD\"]\n\n[agents.demo.env.set]");
    std::fs::write(&config, text).unwrap();
    stage.start_again().await;
    let number = stage.pull("Guard the sum");
    let mut puppet = begin(&stage, number).await;
    let got = puppet.start.environment.clone();
    for name in
        ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "SLACK_BOT_TOKEN", "AWS_SECRET_ACCESS_KEY", "XDG_ODD", "CLAUDECODE"]
    {
        assert!(!got.contains_key(name), "{name} reached the agent");
    }
    let wloop: Vec<&str> =
        got.keys().map(String::as_str).filter(|n| n.starts_with("WLOOP_") && !n.starts_with("WLOOP_DEMO_")).collect();
    assert_eq!(wloop, ["WLOOP_HOME", "WLOOP_SESSION", "WLOOP_SOCKET"]);
    assert_ne!(got["WLOOP_SESSION"], "00000000000000000000000000000009");
    assert_eq!(got["WLOOP_SOCKET"], stage.home().join("run/wloop.sock").display().to_string());
    for (name, value) in [("MINE", "kept"), ("PASSED", "through"), ("LC_MESSAGES", "C"), ("XDG_DATA_HOME", "/nowhere")] {
        assert_eq!(got.get(name).map(String::as_str), Some(value), "{name}");
    }
    for (name, value) in [("GH_PROMPT_DISABLED", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("NO_COLOR", "1")] {
        assert_eq!(got[name], value);
    }
    let empty = PathBuf::from(&got["GH_CONFIG_DIR"]);
    assert_eq!(std::fs::read_dir(empty).unwrap().count(), 0, "an empty folder");
    let first = got["PATH"].split(':').next().unwrap();
    assert!(Path::new(first).join("wloop").exists(), "{first} comes first and holds `wloop`");
    assert!(!format!("{got:?}").contains(TOKEN));
    // A group of its own and no terminal, as the system tells it: fields 5 and 7 of `stat`.
    let stat = shell(&mut puppet, "cat /proc/$$/stat").await;
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let daemon = std::fs::read_to_string(format!("/proc/{}/stat", stage.pid())).unwrap();
    let daemons: Vec<&str> = daemon.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_ne!(fields[2], daemons[2], "its group is not the daemon's");
    assert_eq!(fields[4], "0", "it has no terminal");
}

#[tokio::test]
async fn it_works_in_a_worktree_of_its_own_detached_at_the_pinned_head() {
    // WS-01, WS-02, RUN-05, RUN-07
    let (stage, number, mut puppet) = playing().await;
    let folder = puppet.start.folder.clone();
    assert!(folder.starts_with(stage.home().canonicalize().unwrap()), "{}", folder.display());
    let head = stage.world.head(REPO, number).unwrap();
    assert_eq!(shell(&mut puppet, "git rev-parse HEAD").await, head);
    assert_eq!(shell(&mut puppet, "git symbolic-ref -q HEAD || echo detached").await, "detached");
    assert_eq!(shell(&mut puppet, "git status --porcelain").await, "");
    assert_eq!(shell(&mut puppet, "git rev-parse --show-toplevel").await, folder.display().to_string());
    let turn = stage.turn(number, &["started"]).await;
    assert_eq!(stage.client().turn(&turn.id).await.unwrap().workspace.map(PathBuf::from), Some(folder));
    // The token reached no file beside the configuration that it was written in.
    let holders = files_with(&stage.home(), TOKEN);
    assert_eq!(holders, [stage.home().join("config.toml")]);
    let git = shell(&mut puppet, "git config --list; env; cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '").await;
    assert!(!git.contains(TOKEN));
}

#[tokio::test]
async fn a_follow_up_works_in_the_same_folder_at_the_new_head() {
    // WS-01
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    stage.more = "[plugins.github.review]\nsettle = \"0s\"\n".to_owned();
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let mut first = begin(&stage, number).await;
    let review = json!({ "shape": "review", "event": "COMMENT", "text": "One thing." });
    assert!(!first.tool("github_post", review).await.1);
    assert!(!first.tool("record", json!({ "verdict": "published", "summary": "One thing." })).await.1);
    first.end(0);
    stage.turn(number, &["recorded"]).await;
    let head = stage.world.push_commit(REPO, number, "Answer", &[("src/more.rs", Some("pub fn more() {}\n"))]).unwrap();
    stage.world.request_review(REPO, number, "ines", wloop_tests::ME).unwrap();
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let mut second = stage.puppet(number).await;
    assert_eq!(second.start.folder, first.start.folder);
    assert_ne!(second.session(), "");
    assert_eq!(shell(&mut second, "git rev-parse HEAD").await, head);
    assert!(second.start.prompt.contains("This is a follow-up"), "{}", second.start.prompt);
}

#[tokio::test]
async fn the_transcript_is_the_person_s_alone_and_hides_tokens() {
    // RUN-29, RUN-05, EVT-14
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    let number = stage.pull(&format!("Uses {TOKEN} as it is"));
    stage.start().await;
    let mut puppet = begin(&stage, number).await;
    assert!(!puppet.start.prompt.contains(TOKEN), "{}", puppet.start.prompt);
    puppet.say(&format!("found {TOKEN} in a file\nplain words\n"), &format!("error with {TOKEN}\n")).await;
    let turn = stage.turn(number, &["started"]).await.id;
    // It can be read while the agent runs.
    let shown = until("the line in the transcript", || async {
        let detail = stage.client().turn(&turn).await.map_err(|e| e.to_string())?;
        let text: Vec<(String, String)> = detail.transcript.into_iter().map(|line| (line.from, line.text)).collect();
        if text.iter().any(|(_, t)| t.contains("plain words")) { Ok(text) } else { Err(format!("{text:?}")) }
    })
    .await;
    let of = |from: &str| shown.iter().filter(|(f, _)| f == from).map(|(_, t)| t.as_str()).collect::<Vec<_>>().join("\n");
    assert!(of("command").contains("wloop-puppet play"));
    assert!(of("environment").contains("WLOOP_SESSION") && !of("environment").contains(&puppet.session()), "names, no values");
    assert!(of("prompt").contains("# Review"));
    assert!(of("stdout").contains("found ") && !format!("{shown:?}").contains(TOKEN), "{shown:?}");
    puppet.end(3);
    let ended = stage.turn(number, &["failed"]).await;
    assert!(
        ended.cause.as_ref().is_some_and(|cause| cause.contains("error with") && !cause.contains(TOKEN)),
        "{:?}",
        ended.cause
    );
    let file = transcript(&stage, &turn);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains(TOKEN));
    for (kind, data) in stage.events().await {
        assert!(!data.to_string().contains(TOKEN), "{kind} holds it: {data}");
    }
    assert!(!stage.log().contains(TOKEN), "no log holds it");
}

fn list() -> Value {
    json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/list" })
}

#[tokio::test]
async fn the_tools_are_listed_alike_in_every_state_and_refused_where_they_do_not_fit() {
    // MCP-01, MCP-02, MCP-03, MCP-05
    let (stage, number, mut puppet) = playing().await;
    let started = puppet.mcp(vec![list()], &[]).await;
    let names: Vec<&str> =
        started[0]["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["task_read", "github_post", "github_draft", "draft_withdraw", "record"]);
    let nobody = puppet.mcp(vec![list()], &[("WLOOP_SESSION", "")]).await;
    let (answer, refused) = puppet.tool("record", json!({ "verdict": "nothing", "summary": "Nothing." })).await;
    assert!(!refused, "{answer}");
    assert_eq!(answer["state"], "recorded");
    let ended = puppet.mcp(vec![list()], &[]).await;
    assert_eq!(started, nobody);
    assert_eq!(started, ended);
    // After its record the turn is over: the same record is answered again, another is `already`, and nothing else goes.
    let again = puppet.tool("record", json!({ "verdict": "nothing", "summary": "Nothing." })).await;
    assert_eq!((again.1, &again.0["repeated"]), (false, &json!(true)));
    let other = puppet.tool("record", json!({ "verdict": "nothing", "summary": "Changed my mind." })).await;
    assert_eq!((other.1, &other.0["code"]), (true, &json!("already")));
    for (tool, arguments) in [("task_read", json!({})), ("github_post", json!({ "shape": "comment", "text": "late" }))] {
        let (answer, refused) = puppet.tool(tool, arguments).await;
        assert_eq!((refused, &answer["code"]), (true, &json!("not_in_turn")), "{tool}: {answer}");
        for key in ["message", "hint"] {
            assert!(answer[key].as_str().is_some_and(|t| !t.is_empty()), "{tool} has a {key}: {answer}");
        }
    }
    // A result is an object and the same as text; only a malformed request is an error of the protocol.
    let messages = vec![
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "dance", "arguments": {} } }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "task_read", "arguments": { "includ": [] } } }),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "no/such/method" }),
    ];
    let answers = puppet.mcp(messages, &[]).await;
    for (answer, code) in answers.iter().zip(["not_found", "invalid"]) {
        let result = &answer["result"];
        assert_eq!((&result["isError"], &result["structuredContent"]["code"]), (&json!(true), &json!(code)), "{answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(result["structuredContent"]["message"].as_str().unwrap()), "{answer}");
    }
    assert!(answers[2]["error"]["code"].is_number() && answers[2].get("result").is_none(), "{}", answers[2]);
    puppet.end(0);
    stage.turn(number, &["recorded"]).await;
}

#[tokio::test]
async fn a_wrong_call_of_a_tool_names_its_argument_and_writes_nothing() {
    // MCP-04, MCP-08, MCP-12
    let (mut stage, number, mut puppet) = playing().await;
    let long = "a".repeat(65_001);
    let big = json!({ "verdict": "nothing", "summary": "s", "findings": [{ "title": "b".repeat(300_000), "blocking": false }] });
    let review = |more: Value| {
        let mut call = json!({ "shape": "review", "event": "COMMENT", "text": "x" });
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let draft = json!({ "event": "COMMENT", "body": "x" });
    let cases = [
        ("task_read", json!({ "include": ["everything"] }), "invalid", "include"),
        ("task_read", json!({ "include": "brief" }), "invalid", "include"),
        ("task_read", json!({ "depth": 1 }), "invalid", "depth"),
        ("github_post", json!({ "text": "x" }), "invalid", "shape"),
        ("github_post", json!({ "shape": "essay", "text": "x" }), "invalid", "shape"),
        ("github_post", json!({ "shape": "review", "text": "x" }), "invalid", "event"),
        ("github_post", review(json!({ "event": "LGTM" })), "invalid", "event"),
        ("github_post", review(json!({ "text": 7 })), "invalid", "text"),
        ("github_post", review(json!({ "head": "main" })), "invalid", "head"),
        ("github_post", review(json!({ "comments": [{ "path": "src/lib.rs", "body": "x" }] })), "invalid", "line"),
        ("github_post", review(json!({ "key": "k".repeat(65) })), "invalid", "key"),
        ("github_post", review(json!({ "colour": "red" })), "invalid", "colour"),
        ("github_post", review(json!({ "text": long })), "limit", "65000"),
        ("record", json!({ "verdict": "published" }), "invalid", "summary"),
        ("record", json!({ "verdict": "published", "summary": "s" }), "invalid", "published"),
        ("record", json!({ "verdict": "splendid", "summary": "s" }), "invalid", "/verdict"),
        ("record", json!({ "verdict": "nothing", "summary": "s", "findings": [{ "title": 1 }] }), "invalid", "/findings/0"),
        ("record", json!({ "verdict": "nothing", "summary": "s", "mood": "good" }), "invalid", "mood"),
        ("record", json!({ "verdict": "asked", "summary": "s", "draft": draft }), "invalid", "condition"),
        ("record", json!({ "verdict": "asked", "summary": "s", "condition": "unsure" }), "invalid", "draft"),
        (
            "record",
            json!({ "verdict": "asked", "summary": "s", "condition": "unsure", "draft": { "event": "COMMENT" } }),
            "invalid",
            "/draft",
        ),
        ("record", big, "limit", "262144"),
    ];
    stage.turn(number, &["started"]).await;
    let before = stage.events().await;
    for (tool, arguments, code, words) in cases {
        let what = format!("{tool} {}", arguments.to_string().chars().take(120).collect::<String>());
        let (answer, refused) = puppet.tool(tool, arguments).await;
        assert!(refused, "{what}: {answer}");
        assert_eq!(answer["code"], code, "{what}: {answer}");
        let said = format!("{} {}", answer["message"].as_str().unwrap(), answer["hint"].as_str().unwrap());
        assert!(said.replace([',', '_'], "").contains(&words.replace('_', "")), "{what}: `{words}` in {said}");
    }
    assert_eq!(stage.events().await, before, "nothing was written");
    assert_eq!(stage.turn(number, &["started"]).await.posts.len(), 0);
    puppet.end(0);
    stage.turn(number, &["unrecorded"]).await;
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn a_token_of_this_machine_goes_out_by_no_tool_and_into_no_record() {
    // RUN-34
    let (mut stage, number, mut puppet) = playing().await;
    let told = format!("It reads {TOKEN} there");
    for (name, arguments) in [
        ("github_post", json!({ "shape": "review", "event": "COMMENT", "text": told })),
        ("github_draft", json!({ "text": told })),
        ("record", json!({ "verdict": "published", "summary": told })),
    ] {
        let (answer, refused) = puppet.tool(name, arguments).await;
        assert!(refused && answer.to_string().contains("holds a token"), "{name}: {answer}");
    }
    puppet.end(0);
    stage.turn(number, &["unrecorded"]).await;
    assert!(!format!("{:?}", stage.events().await).contains(TOKEN), "no event holds it");
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn the_same_call_again_answers_with_the_first_result_and_posts_once() {
    // MCP-06, MCP-12
    let (mut stage, number, mut puppet) = playing().await;
    let review = json!({ "shape": "review", "event": "COMMENT", "text": "One thing.", "key": "mine" });
    let (first, refused) = puppet.tool("github_post", review.clone()).await;
    assert!(!refused && first["state"] == "sent" && first.get("repeated").is_none(), "{first}");
    let (again, refused) = puppet.tool("github_post", review).await;
    assert!(!refused, "{again}");
    assert_eq!((&again["post"], &again["url"], &again["repeated"]), (&first["post"], &first["url"], &json!(true)));
    // The same key with other words is refused; the same words without a key count as the same call.
    let (other, refused) =
        puppet.tool("github_post", json!({ "shape": "review", "event": "COMMENT", "text": "Two.", "key": "mine" })).await;
    assert_eq!((refused, &other["code"]), (true, &json!("invalid")), "{other}");
    let (plain, refused) =
        puppet.tool("github_post", json!({ "shape": "review", "event": "COMMENT", "text": "One thing." })).await;
    assert!(!refused, "{plain}");
    assert_eq!((&plain["post"], &plain["repeated"]), (&first["post"], &json!(true)));
    let (recorded, refused) = puppet.tool("record", json!({ "verdict": "published", "summary": "One thing." })).await;
    assert!(!refused, "{recorded}");
    puppet.end(0);
    stage.turn(number, &["recorded"]).await;
    stage.stop().await;
    assert_eq!(stage.my_reviews(number).len(), 1);
    assert_eq!(stage.writes(), 1);
}

#[tokio::test]
async fn the_task_is_read_with_its_guidance_and_what_others_wrote_is_marked() {
    // MCP-09, MCP-10
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    let number = stage.pull("Guard the sum");
    let other = stage.pull("Name the sum");
    stage.start().await;
    stage.open_gate("plan", other).await;
    let gate = stage.open_gate("plan", number).await;
    let text = wloop_api::types::Resolve { text: Some("Look at the overflow".to_owned()), draft_text: None };
    stage.client().resolve(&gate.id, "guide", &text).await.unwrap();
    let mut puppet = stage.puppet(number).await;
    let (task, refused) = puppet.tool("task_read", json!({})).await;
    assert!(!refused, "{task}");
    let turn = stage.turn(number, &["started"]).await;
    assert_eq!(task["unit"]["slug"], stage.unit(number));
    assert_eq!(
        (&task["turn"]["id"], &task["turn"]["head"], &task["turn"]["stage"]),
        (&json!(turn.id), &json!(turn.head), &json!("first"))
    );
    assert_eq!(task["guidance"], "Look at the overflow");
    assert_eq!(task["material"]["third_party"], true);
    assert!(task["material"]["description"].as_str().unwrap().contains("Guard the sum, please."));
    assert!(task["covered"].is_object(), "{task}");
    assert_eq!((&task["answers"], &task["posts"]), (&json!([]), &json!([])));
    let whole = task.to_string();
    assert!(!whole.contains(TOKEN) && !whole.contains("Name the sum"), "nothing of another pull request and no token: {whole}");
    let (again, _) = puppet.tool("task_read", json!({ "include": ["brief", "brief"] })).await;
    assert_eq!(again["guidance"], task["guidance"]);
    assert!(again.get("material").is_none() && again.get("covered").is_none(), "{again}");
    // A held post and its gate are told.
    let draft = json!({ "event": "COMMENT", "body": "Look at the sum." });
    let record = json!({ "verdict": "asked", "summary": "Not sure.", "condition": "unsure", "draft": draft });
    assert!(!puppet.tool("record", record).await.1);
    let held = stage.open_gate("post", number).await;
    let (task, _) = puppet.tool("task_read", json!({ "include": ["drafts", "answers"] })).await;
    assert_eq!((&task["posts"][0]["state"], &task["posts"][0]["gate"]), (&json!("held"), &json!(held.id)), "{task}");
}

/// How a round ends whose agent does this and then ends with that code.
async fn ends(act: impl AsyncFnOnce(&mut Puppet), code: i32, states: &[&str]) -> Turn {
    let (stage, number, mut puppet) = playing().await;
    act(&mut puppet).await;
    puppet.end(code);
    let turn = stage.turn(number, states).await;
    // A remark on how the process ended comes after its record.
    if code == 0 {
        return turn;
    }
    until("the end of the process", || async {
        let turn = stage.turn(number, states).await;
        if turn.cause.is_some() { Ok(turn) } else { Err("no cause yet".to_owned()) }
    })
    .await
}

#[tokio::test]
async fn the_end_of_the_process_ends_the_turn_as_its_table_says() {
    // RUN-10
    let silent = ends(async |_: &mut Puppet| {}, 0, &["unrecorded"]).await;
    assert_eq!(silent.cause.as_deref(), Some("the agent ended without a record"));
    let lines: String = (1..=12).map(|n| format!("line {n}\n")).collect();
    let crashed = ends(async |p: &mut Puppet| p.say("", &lines).await, 7, &["failed"]).await;
    let cause = crashed.cause.unwrap();
    assert!(
        cause.contains("code 7") && cause.contains("line 12") && cause.contains("line 3 ") && !cause.contains("line 2 "),
        "{cause}"
    );
    let nothing = json!({ "verdict": "nothing", "summary": "Nothing." });
    let recorded = ends(async |p: &mut Puppet| assert!(!p.tool("record", nothing.clone()).await.1), 7, &["recorded"]).await;
    assert_eq!(recorded.verdict.as_deref(), Some("nothing"));
    assert!(recorded.cause.as_ref().unwrap().contains("code 7"), "a warning: {:?}", recorded.cause);
    let draft = json!({ "event": "COMMENT", "body": "Look." });
    let asked = json!({ "verdict": "asked", "summary": "Not sure.", "condition": "unsure", "draft": draft });
    let stopped = ends(async |p: &mut Puppet| assert!(!p.tool("record", asked.clone()).await.1), 7, &["asked"]).await;
    assert!(stopped.posts.iter().any(|post| post.state == "held"), "{:?}", stopped.posts);
}

#[tokio::test]
async fn an_agent_that_cannot_start_its_tools_is_told_why() {
    // MCP-01
    let (stage, number, mut puppet) = playing().await;
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "task_read", "arguments": {} } });
    let nowhere = stage.scratch().join("nobody.sock").display().to_string();
    let answers = puppet.mcp(vec![call], &[("WLOOP_SOCKET", &nowhere)]).await;
    let refusal = &answers[0]["result"]["structuredContent"];
    assert_eq!(refusal["code"], "unavailable", "{answers:?}");
    assert!(refusal["hint"].as_str().unwrap().contains("repeated"), "{refusal}");
    puppet.end(0);
    stage.turn(number, &["unrecorded"]).await;
}

/// Puts a program named `claude` first on the daemon's path and makes the preset the default.
async fn with_claude(script: &str) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    let bin = stage.scratch().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let claude = bin.join("claude");
    let script = script.replace("$SCRATCH", &stage.scratch().display().to_string());
    std::fs::write(&claude, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), plain_environment()["PATH"]);
    stage.variables.insert("PATH".to_owned(), path);
    stage.variables.insert("ANTHROPIC_MODEL".to_owned(), "some-model".to_owned());
    let number = stage.pull("Guard the sum");
    stage.write_home();
    let config = stage.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap().replace("default = \"demo\"", "default = \"claude-code\"");
    std::fs::write(&config, text).unwrap();
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    (stage, number)
}

#[tokio::test]
async fn claude_is_started_with_its_tools_alone_and_its_error_wins_over_a_good_code() {
    // RUN-02, RUN-09, RUN-10
    let script = r#"printf '%s\n' "$@" > "$SCRATCH/arguments"
env > "$SCRATCH/environment"
cat > "$SCRATCH/prompt"
echo '{"type":"system","subtype":"init","session_id":"0001-claude"}'
echo 'no JSON at all'
echo '{"type":"from_the_future","x":1}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"looking"}]}}'
echo '{"type":"result","subtype":"success","is_error":true,"result":"Overloaded"}'
exit 0"#;
    let (stage, number) = with_claude(script).await;
    let turn = stage.turn(number, &["failed"]).await;
    assert_eq!(turn.cause.as_deref(), Some("the agent reported an error: Overloaded"));
    assert_eq!(turn.agent, "claude-code");
    let arguments = std::fs::read_to_string(stage.scratch().join("arguments")).unwrap();
    let list: Vec<&str> = arguments.lines().collect();
    let after = |flag: &str| list.iter().position(|a| *a == flag).and_then(|at| list.get(at + 1)).copied().unwrap_or_default();
    assert_eq!(list[0], "-p");
    assert_eq!((after("--output-format"), after("--setting-sources")), ("stream-json", "user"));
    assert!(list.contains(&"--strict-mcp-config") && list.contains(&"mcp__wloop"), "{list:?}");
    assert!(!arguments.contains("dangerously") && !arguments.contains("bypass"), "{arguments}");
    let denied = list.iter().position(|a| *a == "--disallowedTools").unwrap();
    assert!(list[denied..].contains(&"Edit") && list[denied..].contains(&"Write"), "a review edits nothing: {list:?}");
    let servers: Value = serde_json::from_str(after("--mcp-config")).unwrap();
    let server = &servers["mcpServers"]["wloop"];
    assert_eq!(servers["mcpServers"].as_object().unwrap().len(), 1);
    assert!(Path::new(server["command"].as_str().unwrap()).is_absolute() && server["args"] == json!(["mcp"]), "{servers}");
    assert_eq!(server["env"]["WLOOP_SOCKET"], json!(stage.home().join("run/wloop.sock")));
    assert!(!arguments.contains(TOKEN) && !arguments.contains("# Review"));
    assert!(std::fs::read_to_string(stage.scratch().join("prompt")).unwrap().contains("# Review"));
    let environment = std::fs::read_to_string(stage.scratch().join("environment")).unwrap();
    assert!(environment.contains("ANTHROPIC_MODEL=some-model"), "{environment}");
    // What it said is kept, also what nobody understands.
    let detail = stage.client().turn(&turn.id).await.unwrap();
    let said: Vec<&str> = detail.transcript.iter().filter(|l| l.from == "stdout").map(|l| l.text.as_str()).collect();
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(said[1] == "no JSON at all" && said[2].contains("from_the_future"), "{said:?}");
}

#[tokio::test]
async fn a_stream_that_says_nothing_of_an_error_records_nothing_by_itself() {
    // RUN-09, RUN-10, RUN-20
    let script = r#"cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"0001-claude"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"I recorded it, honestly"}'"#;
    let (stage, number) = with_claude(script).await;
    let turn = stage.turn(number, &["unrecorded"]).await;
    assert_eq!((turn.verdict, turn.posts.len()), (None, 0));
    let kinds: Vec<String> = stage.events().await.into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.contains(&"turn_started".to_owned()), "its first line took the turn up: {kinds:?}");
}

#[tokio::test]
async fn an_agent_that_runs_out_of_turns_has_failed() {
    // RUN-10
    let script = r#"cat > /dev/null
echo '{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":10}'
exit 0"#;
    let (stage, number) = with_claude(script).await;
    let turn = stage.turn(number, &["failed", "unrecorded"]).await;
    assert_eq!(turn.state, "failed", "{:?}", turn.cause);
    assert!(turn.cause.as_ref().unwrap().contains("turns"), "{:?}", turn.cause);
}
