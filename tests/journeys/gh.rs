//! The `gh` on an agent's path: what a round may write with it goes through the daemon's ledger, what only reads goes to the real one
//! away from the agent, and everything else is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use wloop_tests::puppet::{Act, Done, Puppet, Standing};
use wloop_tests::{ME, REPO, Stage, TOKEN, plain_environment};

const PUPPET: &str = env!("CARGO_BIN_EXE_wloop-puppet");

/// A running round whose agent the test plays, and a program that stands for the real `gh` where there `is` one.
async fn scene(real: Option<&str>) -> (Stage, u64, Puppet) {
    let mut stage = Stage::new().await;
    stage.use_puppets(PUPPET);
    let bin = stage.scratch().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    // Only what is needed, so that no `gh` of this machine is found.
    let mut path = format!("{}:/nowhere", bin.display());
    if let Some(script) = real {
        let program = bin.join("gh");
        std::fs::write(&program, format!("#!/bin/sh\n{}\n", script.replace("$SCRATCH", &stage.scratch().display().to_string())))
            .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        path = format!("{}:{}", bin.display(), plain_environment()["PATH"]);
    } else {
        for name in ["git", "sh", "cat"] {
            let found = plain_environment()["PATH"].split(':').map(|p| std::path::Path::new(p).join(name)).find(|p| p.exists());
            std::os::unix::fs::symlink(found.unwrap(), bin.join(name)).unwrap();
        }
    }
    stage.variables.insert("PATH".to_owned(), path);
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let puppet = stage.puppet(number).await;
    (stage, number, puppet)
}

async fn gh(puppet: &mut Puppet, arguments: &[&str]) -> Done {
    let argv = std::iter::once("gh").chain(arguments.iter().copied()).map(str::to_owned).collect();
    puppet.order(Standing::Child, Act::Run { argv, bare: false, unset: Vec::new(), set: BTreeMap::new() }).await
}

/// A refusal: exit code 1, nothing printed, one line that says why.
fn assert_refused(done: &Done, words: &str) {
    assert_eq!((done.code, done.out.as_str()), (Some(1), ""), "{done:?}");
    assert_eq!(done.err.trim().lines().count(), 1, "{done:?}");
    assert!(done.err.contains(words), "{words}: {done:?}");
}

#[tokio::test]
async fn a_review_by_gh_is_made_by_the_daemon_once_and_answers_as_gh_does() {
    // GH-PUB-23, GH-PUB-25, GH-PUB-26, GH-PUB-28, RUN-06, AGENT-01, MCP-18
    let (stage, number, mut puppet) = scene(None).await;
    let first = puppet.start.environment["PATH"].split(':').next().unwrap().to_owned();
    assert!(std::path::Path::new(&first).join("gh").exists(), "the first folder of its path holds `gh`");
    let text = stage.scratch().join("review.md");
    std::fs::write(&text, "Look at the sum.\n").unwrap();
    // The tools' folder comes first, and so does this `gh`.
    let done = gh(&mut puppet, &["pr", "review", &number.to_string(), "--comment", "-F", &text.display().to_string()]).await;
    let reviews = stage.my_reviews(number);
    assert_eq!((done.code, reviews.len()), (Some(0), 1), "{done:?}");
    let post = stage.post(number, &["sent"]).await;
    assert_eq!(done.out.trim(), post.url.clone().unwrap(), "it prints the address");
    assert!(reviews[0].body.starts_with("Look at the sum.") && reviews[0].body.contains("<!-- wloop:"), "{:?}", reviews[0].body);
    let turn = stage.turn(number, &["started"]).await;
    assert!(turn.posts.iter().any(|p| p.id == post.id), "it is the turn's");
    let gates = stage.client().gates(&wloop_api::client::GateFilter::default()).await.unwrap();
    assert_eq!(gates.iter().map(|g| g.kind.as_str()).collect::<Vec<_>>(), ["plan"], "no draft and no gate of its own");
    // Repeated in another spelling: the first result, and no second post. The tool gives the same one.
    let again = gh(&mut puppet, &["pr", "review", "-cb", "Look at the sum.\n", "-R", REPO]).await;
    assert_eq!((again.code, again.out), (Some(0), done.out.clone()), "{}", again.err);
    let by_tool = json!({ "shape": "review", "event": "COMMENT", "text": "Look at the sum.\n" });
    let (answer, refused) = puppet.tool("github_post", by_tool).await;
    assert!(!refused && answer["url"] == done.out.trim() && answer["repeated"] == true, "{answer}");
    // Another one is one too many, and a shape that the intent does not publish is none of its.
    assert_refused(&gh(&mut puppet, &["pr", "review", "-a"]).await, "already");
    assert_refused(&gh(&mut puppet, &["pr", "comment", "-b", "And another thing."]).await, "comment");
    assert_eq!((stage.my_reviews(number).len(), stage.writes()), (1, 1));
    let events = stage.client().events(0).await.unwrap();
    let sent = events.iter().find(|e| e.kind == "post_sent").unwrap();
    assert_eq!((sent.class.as_str(), sent.turn.as_ref()), ("posted", Some(&turn.id)));
    puppet.end(0);
    stage.turn(number, &["unrecorded"]).await;
}

#[tokio::test]
async fn a_review_by_the_api_answers_with_its_json() {
    // GH-PUB-23
    let (stage, number, mut puppet) = scene(None).await;
    let head = stage.turn(number, &["sent", "started"]).await.head;
    let body = json!({ "event": "REQUEST_CHANGES", "body": "Not yet.", "commit_id": head,
        "comments": [{ "path": "src/lib.rs", "line": 2, "side": "RIGHT", "body": "Is there an issue for it?" }] });
    let file = stage.scratch().join("review.json");
    std::fs::write(&file, body.to_string()).unwrap();
    let path = format!("repos/{REPO}/pulls/{number}/reviews");
    let done = gh(&mut puppet, &["api", &path, "--input", &file.display().to_string()]).await;
    assert_eq!(done.code, Some(0), "{done:?}");
    let answer: Value = serde_json::from_str(&done.out).unwrap();
    let [review] = stage.my_reviews(number).try_into().unwrap();
    assert_eq!(answer["html_url"], stage.post(number, &["sent"]).await.url.unwrap());
    assert_eq!(
        (&answer["state"], &answer["commit_id"], &answer["body"]),
        (&json!("CHANGES_REQUESTED"), &json!(head), &json!(review.body))
    );
    assert_eq!(answer["user"]["login"], ME);
    assert!(answer["id"].is_u64() && answer["node_id"].is_string(), "{answer}");
    let member = gh(&mut puppet, &["api", &path, "--input", &file.display().to_string(), "--jq", ".html_url"]).await;
    assert_eq!((member.code, member.out.trim()), (Some(0), answer["html_url"].as_str().unwrap()), "the same call again");
    assert_eq!(stage.writes(), 1);
}

#[tokio::test]
async fn every_other_write_and_another_pull_request_are_refused_and_write_nothing() {
    // GH-PUB-24, GH-PUB-25
    let (stage, number, mut puppet) = scene(None).await;
    let other = stage.pull("Another one");
    for (line, words) in [
        (vec!["pr", "merge", "1"], "a round may use"),
        (vec!["api", "-X", "PUT", "repos/acme/api/pulls/1/merge"], "a round may use"),
        (vec!["api", "graphql", "-f", "query=mutation { a }"], "no mutation"),
        (vec!["auth", "token"], "`gh auth` is refused"),
        (vec!["pr", "review", "-a", "-R", "acme/web"], "writes on no other"),
        (vec!["pr", "review", &other.to_string(), "-a"], "writes on no other"),
        (vec!["pr", "review", "https://evil.example/acme/api/pull/1", "-a"], "another host"),
        (vec!["pr", "review", "-r", "-F", "/no/such/file"], "cannot be read"),
        (vec!["pr", "review", "-r"], "needs a `--body`"),
        (vec!["pr", "view", "1", "--json", "title", "-q", "env.GH_TOKEN"], "env"),
        // What only reads needs the real one, which is not here.
        (vec!["pr", "view", "1"], "not installed"),
    ] {
        assert_refused(&gh(&mut puppet, &line).await, words);
    }
    assert_eq!(stage.client().posts(&Default::default()).await.unwrap().len(), 0, "a refused one leaves no post");
    // While a gate of its turn is open, and once the turn is over.
    let draft = json!({ "event": "COMMENT", "body": "Look at the sum." });
    let record = json!({ "verdict": "asked", "summary": "Not sure.", "condition": "unsure", "draft": draft });
    let (answer, refused) = puppet.tool("record", record).await;
    assert!(!refused, "{answer}");
    assert_refused(&gh(&mut puppet, &["pr", "review", "-a"]).await, "`asked`");
    assert_eq!((stage.writes(), stage.my_reviews(number).len()), (0, 0));
}

#[tokio::test]
async fn what_only_reads_is_run_away_from_the_agent_with_a_token_it_never_sees() {
    // GH-PUB-24, RUN-05
    let script = "env | sort > \"$SCRATCH/gh-environment\"\nprintf '%s\\n' \"$@\" > \"$SCRATCH/gh-arguments\"\npwd > \"$SCRATCH/gh-folder\"\n\
                  ps -o pgid= -p $$ > /dev/null\necho \"title and $GH_TOKEN$GH_ENTERPRISE_TOKEN\"\necho \"a warning\" >&2\nexit 4";
    let (stage, number, mut puppet) = scene(Some(script)).await;
    // An agent that writes a configuration for `gh`, and one for git, changes nothing of it.
    let config = std::path::PathBuf::from(&puppet.start.environment["GH_CONFIG_DIR"]);
    std::fs::write(config.join("config.yml"), "aliases:\n  pr: '!env'\n").unwrap();
    let done = gh(&mut puppet, &["pr", "view", &number.to_string(), "--json", "title", "-R", REPO]).await;
    assert_eq!((done.code, done.err.as_str()), (Some(4), "a warning\n"), "its exit code and its words: {done:?}");
    assert_eq!(done.out, "title and [redacted]\n", "what it prints has no token in it");
    let read = |name: &str| std::fs::read_to_string(stage.scratch().join(name)).unwrap();
    assert_eq!(read("gh-arguments"), format!("pr\nview\n--json=title\n--repo={REPO}\n--\n{number}\n"));
    let environment = read("gh-environment");
    assert!(environment.contains(TOKEN), "it has the daemon's token: {environment}");
    let host = stage.world.api_url();
    let host = host.split("://").nth(1).unwrap().split('/').next().unwrap();
    for line in [format!("GH_REPO={host}/{REPO}"), format!("GH_HOST={host}"), "GH_PROMPT_DISABLED=1".to_owned()] {
        assert!(environment.lines().any(|l| l == line), "{line} in {environment}");
    }
    assert!(!environment.contains("WLOOP_SESSION") && !environment.contains(&config.display().to_string()), "{environment}");
    let folder = read("gh-folder");
    assert!(
        !folder.contains("workspaces") && !std::path::Path::new(folder.trim()).exists(),
        "an empty folder of its own: {folder}"
    );
    assert!(!format!("{:?}", puppet.start.environment).contains(TOKEN));
    // The raw route screens as well: an agent that leaves the program out gets no further.
    let target = format!("/api/sessions/{}/gh", puppet.session());
    let request = wloop_tests::raw::RawRequest::post(&target, &json!({ "arguments": ["auth", "token"] }));
    let answer = puppet.http(Standing::Child, request, true).await;
    assert_eq!((answer.status, answer.body["code"].as_i64()), (200, Some(1)), "{:?}", answer.body);
    assert!(answer.body["err"].as_str().unwrap().contains("refused"));
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn outside_a_session_it_sends_the_person_to_their_own_gh() {
    // GH-PUB-23
    let (stage, _, puppet) = scene(None).await;
    let program = std::path::PathBuf::from(puppet.start.environment["PATH"].split(':').next().unwrap()).join("gh");
    let output = tokio::process::Command::new(program)
        .args(["pr", "view"])
        .env_clear()
        .env("WLOOP_SOCKET", stage.home().join("run/wloop.sock"))
        .output()
        .await
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("your own `gh`"), "{output:?}");
}
