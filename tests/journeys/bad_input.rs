//! Everything that can be wrong around the daemon: each is told once, in words that say what, where and what to do; nothing is lost
//! or changed; and the daemon goes on wherever it can.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use wloop_api::client::{GateFilter, UnitFilter};
use wloop_api::types::{Health, PlanItem, ProviderHealth, Resolve};
use wloop_tests::raw::RawRequest;
use wloop_tests::{REPO, Stage, TOKEN, refused, until};
use wloop_world::{Fault, FaultKind, Match};

const PUPPET: &str = env!("CARGO_BIN_EXE_wloop-puppet");
const REVIEWS: &str = "/repos/*/*/pulls/*/reviews";

/// Changes the configuration that [`Stage::write_home`] wrote.
fn edit_config(stage: &Stage, edit: impl FnOnce(String) -> String) {
    let path = stage.home().join("config.toml");
    std::fs::write(&path, edit(std::fs::read_to_string(&path).unwrap())).unwrap();
}

/// Writes a file of the home's profile.
fn write_profile(stage: &Stage, path: &str, text: &str) {
    let file = stage.home().join("profiles/default").join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Starts a daemon that must end by itself, and gives what it said.
async fn does_not_start(stage: &mut Stage) -> String {
    let from = stage.log().len();
    let log = stage.try_start().await.expect_err("it must not start");
    let all = &log[from..];
    assert!(!all.contains("panicked") && !all.contains("RUST_BACKTRACE"), "{all}");
    // What it says to whoever started it, beside the log that the tests turn on.
    let said: Vec<&str> = all.lines().filter(|line| line.starts_with("wloop: ")).collect();
    assert!(!said.is_empty(), "{all}");
    said.join("\n")
}

/// The one line of a failed command.
async fn fails(stage: &Stage, arguments: &[&str], code: i32) -> String {
    let output = stage.wloop(arguments).output().await.unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{arguments:?} prints no result: {output:?}");
    assert_eq!(words.trim().lines().count(), 1, "{arguments:?}: {words}");
    words
}

/// What `wloop doctor` prints, and whether something needs attention.
async fn doctor(stage: &Stage) -> (String, bool) {
    let mut command = stage.wloop(&["doctor"]);
    command.envs(&stage.variables);
    let output = command.output().await.unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code() == Some(1))
}

/// Waits for the provider to be in that state.
async fn provider(stage: &Stage, state: &str) -> ProviderHealth {
    until(&format!("the provider to be `{state}`"), || async {
        let health = stage.client().health().await.map_err(|e| e.to_string())?;
        let provider = health.providers.into_iter().next().ok_or("none")?;
        if provider.state == state { Ok(provider) } else { Err(format!("{provider:?}")) }
    })
    .await
}

async fn health(stage: &Stage) -> Health {
    stage.client().health().await.unwrap()
}

/// Waits for the planned round of a pull request to be held for a reason with these words.
async fn held_item(stage: &Stage, number: u64, words: &str) -> PlanItem {
    let unit = stage.unit(number);
    until(&format!("a round that says `{words}`"), || async {
        let plan = stage.client().plan().await.map_err(|e| e.to_string())?;
        let item = plan.into_iter().find(|item| item.unit.label == unit).ok_or("no item")?;
        if item.reason.contains(words) { Ok(item) } else { Err(format!("{}: {}", item.state, item.reason)) }
    })
    .await
}

async fn no_turn(stage: &Stage, number: u64) {
    let turns = stage.client().turns(&UnitFilter { state: None, unit: Some(stage.unit(number)) }).await.unwrap();
    assert_eq!(turns, []);
}

#[tokio::test]
async fn a_token_that_is_taken_back_signs_out_and_loses_nothing() {
    // GH-SYNC-43, RUN-02
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.world.revoke_token(TOKEN);
    let signed_out = provider(&stage, "signed out").await;
    let error = signed_out.error.unwrap();
    assert!(error.contains("token"), "{error}");
    assert!(error.contains("plugins.github.token"), "it says where to mend it: {error}");
    assert_eq!(signed_out.watched, 1, "what is known is kept");
    let asked = stage.world.calls().len();
    assert_eq!(stage.gate(&gate.id).await, gate);
    let status = stage.wloop(&["status"]).output().await.unwrap();
    assert!(status.status.success());
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("signed out"), "{status}");
    // A decision still works; what it released waits for the token.
    stage.resolve(&gate.id, "run_now").await;
    stage.stop().await;
    let later: Vec<String> = stage.world.calls().iter().skip(asked).map(|c| format!("{} {}", c.method, c.path)).collect();
    assert_eq!(later, Vec::<String>::new(), "a 401 stops all calls");
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("does not accept the token") && found.contains("plugins.github.token"), "{found}");
    // Another token and a start: it goes on where it was.
    stage.world.add_token(wloop_tests::ME, "ghp_a_new_one_of_the_person");
    edit_config(&stage, |text| text.replace(TOKEN, "ghp_a_new_one_of_the_person"));
    stage.start_again().await;
    stage.turn(number, &["recorded"]).await;
    provider(&stage, "ok").await;
}

#[tokio::test]
async fn a_token_that_was_never_right_is_told_and_the_daemon_stays_up() {
    // GH-SYNC-43
    let mut stage = Stage::new().await;
    stage.write_home();
    edit_config(&stage, |text| text.replace(TOKEN, "ghp_of_nobody"));
    stage.start_again().await;
    let error = provider(&stage, "signed out").await.error.unwrap();
    assert!(error.contains("plugins.github.token"), "{error}");
    assert!(!health(&stage).await.ok);
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("does not accept the token"), "{found}");
    assert!(!format!("{found}{}{error}", stage.log()).contains("ghp_of_nobody"), "no word holds the token");
}

#[tokio::test]
async fn a_source_that_gives_no_token_is_named() {
    // EVT-14
    let mut stage = Stage::new().await;
    for (source, words) in [
        ("env:WLOOP_TESTS_NO_SUCH_NAME", vec!["plugins.github.token", "`WLOOP_TESTS_NO_SUCH_NAME`", "not set"]),
        ("cmd:false", vec!["`false`", "run it by hand"]),
        ("cmd:no-such-program-here auth token", vec!["`no-such-program-here auth token`", "could not be run"]),
        ("cmd:echo", vec!["empty token"]),
        ("cmd:echo two words", vec!["blanks"]),
        ("keychain:", vec!["keychain", "env:NAME"]),
    ] {
        stage.write_home();
        edit_config(&stage, |text| text.replace(TOKEN, source));
        let said = does_not_start(&mut stage).await;
        assert_eq!(said.trim().lines().count(), 1, "{source}: {said}");
        let (found, attention) = doctor(&stage).await;
        assert!(attention, "{source}: {found}");
        for word in words {
            assert!(said.contains(word), "{source}: `{word}` in {said}");
            assert!(found.contains(word), "{source}: `{word}` in {found}");
        }
    }
}

#[tokio::test]
async fn a_command_that_never_tells_the_token_is_given_up() {
    // GH-SYNC-43
    let mut stage = Stage::new().await;
    stage.write_home();
    edit_config(&stage, |text| text.replace(TOKEN, "cmd:sleep 3600"));
    let said = does_not_start(&mut stage).await;
    assert!(said.contains("`sleep 3600`") && said.contains("20 s") && said.contains("by hand"), "{said}");
}

/// A server that is no GitHub: it answers everything with a page. Its address.
async fn page_server() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                let mut bytes = vec![0; 16 * 1024];
                while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {
                    let page = "<html><body>Welcome to the guest network</body></html>";
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", page.len());
                    if stream.write_all(format!("{head}{page}").as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn an_address_where_nobody_or_no_github_answers_is_told_and_tried_again() {
    // RUN-02
    let mut stage = Stage::new().await;
    let right = stage.world.api_url();
    for (address, words) in [("http://127.0.0.1:1".to_owned(), "cannot be reached"), (page_server().await, "cannot be used")] {
        stage.write_home();
        edit_config(&stage, |text| text.replace(&right, &address));
        stage.start_again().await;
        // The last error of the address before may still be told until the first read of this one.
        let error = until(&format!("an error with `{words}`"), || async {
            let failing = provider(&stage, "failing").await;
            let error = failing.error.unwrap_or_default();
            if error.contains(words) { Ok(error) } else { Err(error) }
        })
        .await;
        assert_eq!(provider(&stage, "failing").await.address.as_deref(), Some(address.as_str()));
        assert!(!error.contains("<html>"), "a page is not repeated: {error}");
        let output = stage.wloop(&["status"]).output().await.unwrap();
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains(words), "{output:?}");
        let (found, attention) = doctor(&stage).await;
        assert!(attention && found.contains(words) && found.contains("plugins.github.api_url"), "{found}");
        stage.stop().await;
    }
    stage.write_home();
    stage.start_again().await;
    provider(&stage, "ok").await;
    let number = stage.pull("Guard the sum");
    stage.open_gate("plan", number).await;
}

#[tokio::test]
async fn a_broken_configuration_is_refused_with_its_place() {
    // RUN-01
    let mut stage = Stage::new().await;
    stage.write_home();
    let good = std::fs::read_to_string(stage.home().join("config.toml")).unwrap();
    for (from, to, words) in [
        ("[sweep]", "[sweep", vec!["config.toml:1:"]),
        ("fast = \"1s\"", "fats = \"1s\"", vec!["config.toml:2:", "fats", "fast"]),
        ("fast = \"1s\"", "fast = true", vec!["config.toml:2:", "sweep.fast"]),
        ("fast = \"1s\"", "fast = \"soon\"", vec!["config.toml:2:", "sweep.fast", "soon"]),
        ("[agents.demo]\n", "[agents.demo]\nmax_runing = 2\n", vec!["max_runing"]),
        ("preset = \"command\"", "preset = \"comand\"", vec!["agents.demo.preset", "comand", "command"]),
        ("[plugins.github]", "[plugins.githup]", vec!["githup", "github"]),
        ("default = \"demo\"", "default = \"demo\"\ndefault = \"two\"", vec!["config.toml:", "default"]),
    ] {
        assert!(good.contains(from), "{from}");
        edit_config(&stage, |_| good.replacen(from, to, 1));
        let said = does_not_start(&mut stage).await;
        let (found, attention) = doctor(&stage).await;
        assert!(attention, "{found}");
        for word in words {
            assert!(said.contains(word), "{to}: `{word}` in {said}");
            assert!(found.contains(word), "{to}: `{word}` in {found}");
        }
        assert!(said.contains("does not start with these faults"), "{said}");
        assert!(!said.contains(TOKEN), "no token: {said}");
    }
    // Bytes that are no text.
    std::fs::write(stage.home().join("config.toml"), [0xff, 0xfe, 0x00]).unwrap();
    let said = does_not_start(&mut stage).await;
    assert!(said.contains("config.toml") && said.contains("UTF-8"), "{said}");
    assert!(!stage.home().join("state.db").exists(), "nothing was made");
}

#[tokio::test]
async fn a_workflow_that_does_not_load_is_named_and_the_others_go_on() {
    // WF-11
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.write_home();
    let good = include_str!("../../profiles/default/workflows/review/workflow.toml");
    write_profile(&stage, "workflows/second/workflow.toml", &good.replace("pr.first.due", "pr.frist.due"));
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(number, &["recorded"]).await;
    let warnings = health(&stage).await.warnings.join("\n");
    assert!(warnings.contains("workflows/second/workflow.toml") && warnings.contains("pr.frist.due"), "{warnings}");
    assert!(stage.log().contains("workflows/second/workflow.toml"), "the log repeats it: {}", stage.log());
    let (found, _) = doctor(&stage).await;
    assert!(found.contains("workflows/second/workflow.toml") && found.contains("when"), "{found}");
}

#[tokio::test]
async fn a_broken_file_of_the_profile_is_refused_with_its_name() {
    // WF-11
    let mut stage = Stage::new().await;
    let gates = include_str!("../../profiles/default/gates.toml");
    let intent = include_str!("../../profiles/default/intents/review/intent.toml");
    for (path, text, words) in [
        ("gates.toml", gates.replacen("kind = \"draft\"", "kind = \"daft\"", 1), vec!["gates.toml:", "daft"]),
        ("gates.toml", "[[gate\n".to_owned(), vec!["gates.toml:1:"]),
        (
            "intents/review/intent.toml",
            intent.replace("timeout = \"45m\"", "timeout = \"long\""),
            vec!["intents/review/intent.toml:", "timeout"],
        ),
        (
            "intents/review/intent.toml",
            intent.replace("role = \"review\"", "roll = \"review\""),
            vec!["intents/review/intent.toml", "roll", "role"],
        ),
    ] {
        stage.write_home();
        write_profile(&stage, path, &text);
        let said = does_not_start(&mut stage).await;
        let (found, attention) = doctor(&stage).await;
        assert!(attention, "{found}");
        for word in words {
            assert!(said.contains(word) && found.contains(word), "{path}: `{word}` in {said} and {found}");
        }
        std::fs::remove_file(stage.home().join("profiles/default").join(path)).unwrap();
    }
    stage.start().await;
}

#[tokio::test]
async fn a_prompt_that_cannot_be_rendered_fails_its_turn_before_an_agent_runs() {
    // RUN-10
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.use_puppets(PUPPET);
    stage.write_home();
    write_profile(&stage, "intents/review/prompt.md.tmpl", "# Review {{ Unit.slug }}\n{{ Unit.colour.depth }}\n");
    let started = stage.try_start().await;
    let words = match started {
        Err(log) => log,
        Ok(()) => {
            let gate = stage.open_gate("plan", number).await;
            stage.resolve(&gate.id, "run_now").await;
            let turn = stage.turn(number, &["failed"]).await;
            assert_eq!(turn.posts, []);
            turn.cause.unwrap()
        }
    };
    assert!(words.contains("review") && words.contains("prompt"), "{words}");
    assert!(!stage.scratch().join("puppets").exists(), "no agent ran");
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn every_command_says_what_it_does_not_know() {
    // CLI-18
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    stage.open_gate("plan", number).await;
    let before = stage.events().await;
    for (arguments, code, words) in [
        (vec!["gates", "show", "ffffffff"], 1, "`ffffffff`"),
        (vec!["gates", "show", "fff"], 2, "4 to 32"),
        (vec!["gates", "show", "no-id"], 2, "hexadecimal"),
        (vec!["gates", "resolve", "ffffffff", "skip"], 1, "`ffffffff`"),
        (vec!["gates", "--unit", "acme/api#999"], 1, "acme/api#999"),
        (vec!["plan", "dismiss", "acme/api#999"], 1, "acme/api#999"),
        (vec!["plan", "dismiss", "acme/api"], 1, "acme/api"),
        (vec!["turns", "show", "ffffffff"], 1, "`ffffffff`"),
        (vec!["turn", "cancel", "ffffffff"], 1, "`ffffffff`"),
        (vec!["posts", "show", "ffffffff"], 1, "`ffffffff`"),
        (vec!["posts", "sent", "ffffffff"], 1, "`ffffffff`"),
        (vec!["posts", "discard", "ffffffff"], 1, "`ffffffff`"),
        (vec!["events", "--unit", "acme/api#999"], 1, "acme/api#999"),
        (vec!["events", "--since", "a while"], 1, "a while"),
    ] {
        let output = stage.wloop(&arguments).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let wrong_usage = code == 2 || (arguments[0] == "events" && output.status.code() == Some(2));
        assert!(output.status.code() == Some(code) || wrong_usage, "{arguments:?}: {output:?}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let resolved = fails(&stage, &["gates", "resolve", &stage.open_gate("plan", number).await.id, "dance"], 1).await;
    assert!(resolved.contains("dance") && resolved.contains("skip"), "{resolved}");
    assert_eq!(stage.events().await, before);
    stage.stop().await;
    for arguments in [
        ["status"].as_slice(),
        &["gates"],
        &["plan"],
        &["turns"],
        &["posts"],
        &["inbox"],
        &["events"],
        &["plan", "dismiss", "acme/api#1"],
    ] {
        let said = fails(&stage, arguments, 3).await;
        assert!(said.contains("daemon") && said.contains("start it with"), "{said}");
    }
}

#[tokio::test]
async fn a_second_daemon_on_the_home_leaves_it_to_the_first() {
    // RES-17
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let output = stage.wloop(&["daemon"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("another wloop process") && said.contains("state.db") && said.trim().lines().count() == 1, "{said}");
    assert!(output.stdout.is_empty(), "it never says that it listens");
    stage.resolve(&gate.id, "run_now").await;
    stage.turn(number, &["recorded"]).await;
    assert!(stage.home().join("run/wloop.sock").exists());
}

#[tokio::test]
async fn a_home_that_is_a_file_or_cannot_be_written_is_told() {
    // RUN-02
    let mut stage = Stage::new().await;
    std::fs::write(stage.home(), "not a folder").unwrap();
    let said = does_not_start(&mut stage).await;
    assert!(said.contains(&stage.home().display().to_string()), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    assert_eq!(std::fs::read_to_string(stage.home()).unwrap(), "not a folder");
    std::fs::remove_file(stage.home()).unwrap();

    stage.write_home();
    let Some(_mounted) = Mounted::over(&stage.home(), "ro") else {
        println!("not run: a read-only file system needs the right to mount one");
        return;
    };
    let said = does_not_start(&mut stage).await;
    assert!(said.to_lowercase().contains("read-only") && said.contains(&stage.home().display().to_string()), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

/// A small file system of its own over a folder, as long as it is held.
struct Mounted(PathBuf);

impl Mounted {
    /// `None` where this process may not mount.
    fn over(folder: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).output().ok()?;
        mounted.status.success().then(|| Self(folder.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: the daemon may still stand in it.
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

/// Takes all that is left of a small file system.
fn fill(folder: &Path) -> PathBuf {
    use std::io::Write as _;
    let path = folder.join("filling");
    let mut file = std::fs::File::create(&path).unwrap();
    for chunk in [64 * 1024, 4096, 512, 1] {
        while file.write_all(&vec![7; chunk]).is_ok() {}
    }
    path
}

#[tokio::test]
async fn a_full_disk_refuses_a_decision_and_keeps_the_outcome_of_a_post() {
    // RES-15, API-10, GH-PUB-02
    let mut stage = Stage::new().await;
    let (number, other) = (stage.pull("Guard the sum"), stage.pull("Name the sum"));
    let Some(_mounted) = Mounted::over(&stage.home(), "size=24m") else {
        println!("not run: a small file system needs the right to mount one");
        return;
    };
    stage.start().await;
    let (gate, beside) = (stage.open_gate("plan", number).await, stage.open_gate("plan", other).await);

    let filling = fill(&stage.home());
    let problem = refused(stage.client().resolve(&gate.id, "run_now", &Resolve::default()).await);
    assert_eq!(problem.status, 500);
    assert!(
        problem.detail.contains("full") && problem.detail.contains("state.db") && problem.detail.contains("free"),
        "{problem:?}"
    );
    assert_eq!(stage.gate(&gate.id).await, gate, "nothing changed");
    let sick = health(&stage).await;
    assert!(!sick.ok && !sick.database.ok && sick.warnings.iter().any(|w| w.contains("space")), "{sick:?}");
    let said = fails(&stage, &["gates", "resolve", &beside.id, "skip"], 1).await;
    assert!(said.contains("full") && said.contains("free"), "{said}");
    std::fs::remove_file(&filling).unwrap();

    stage.world.push_fault(Fault::new("POST", REVIEWS, FaultKind::ActedThenHang));
    stage.resolve(&gate.id, "run_now").await;
    stage.world.until_held(1).await;
    let filling = fill(&stage.home());
    stage.world.release_held();
    // The outcome cannot be written: it is kept, and told.
    until("the outcome that is kept", || async {
        let log = stage.log();
        if log.contains("an outcome could not be written yet") { Ok(()) } else { Err(log) }
    })
    .await;
    assert_eq!(stage.post(number, &["sending"]).await.state, "sending");
    std::fs::remove_file(&filling).unwrap();
    stage.post(number, &["sent"]).await;
    stage.turn(number, &["recorded"]).await;
    let well = until("the ledger to be well again", || async {
        let health = health(&stage).await;
        if health.database.ok { Ok(health) } else { Err(format!("{:?}", health.warnings)) }
    })
    .await;
    assert!(!well.draining);
    stage.resolve(&beside.id, "skip").await;
    stage.stop().await;
    assert_eq!((stage.my_reviews(number).len(), stage.writes()), (1, 1));
}

#[tokio::test]
async fn a_database_that_is_newer_damaged_or_none_is_left_as_it_is() {
    // GH-SYNC-43
    let mut stage = Stage::new().await;
    stage.start().await;
    stage.stop().await;
    let path = stage.home().join("state.db");
    let good = std::fs::read(&path).unwrap();
    {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("INSERT INTO migration SELECT 999, 'from the future', hash, at FROM migration LIMIT 1").unwrap();
    }
    let newer = std::fs::read(&path).unwrap();
    let garbage = b"this is no database at all, whatever its name says".repeat(100);
    let mut torn = good.clone();
    // The page that every read begins with, its header left whole.
    for byte in torn.iter_mut().skip(100).take(3900) {
        *byte = 0x5a;
    }
    for (bytes, words) in [(newer, "newer"), (garbage, "not a database"), (torn, "damaged")] {
        for extra in ["state.db-wal", "state.db-shm"] {
            drop(std::fs::remove_file(stage.home().join(extra)));
        }
        std::fs::write(&path, &bytes).unwrap();
        let said = does_not_start(&mut stage).await;
        assert!(said.contains(words) && said.contains("state.db"), "{words}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        let (found, attention) = doctor(&stage).await;
        assert!(attention && found.contains(words), "{found}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{words}: the file is left as it is");
    }
    std::fs::write(&path, &good).unwrap();
    stage.start_again().await;
}

#[tokio::test]
async fn what_an_earlier_daemon_left_at_the_socket_is_replaced() {
    // API-01
    let mut stage = Stage::new().await;
    stage.start().await;
    stage.kill().await;
    let socket = stage.home().join("run/wloop.sock");
    assert!(socket.exists(), "a killed daemon leaves its socket");
    let said = fails(&stage, &["status"], 3).await;
    assert!(said.contains("nobody listens there"), "{said}");
    std::fs::set_permissions(stage.home().join("run"), std::fs::Permissions::from_mode(0o777)).unwrap();
    stage.start_again().await;
    assert_eq!(RawRequest::get("/healthz").send(&socket).unwrap().status, 200);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&stage.home().join("run"))), (0o600, 0o700));
}

#[tokio::test]
async fn without_git_a_round_waits_and_says_so() {
    // RUN-03
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.variables.insert("PATH".to_owned(), stage.scratch().join("nothing").display().to_string());
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let item = held_item(&stage, number, "git").await;
    assert!(
        item.reason.contains("install") || item.reason.contains("PATH") || item.reason.contains("not found"),
        "{}",
        item.reason
    );
    no_turn(&stage, number).await;
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("install git"), "{found}");
    stage.stop().await;
    stage.variables.clear();
    stage.start_again().await;
    stage.turn(number, &["recorded"]).await;
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_leaves_its_round_in_the_plan() {
    // RUN-03
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.agent = vec!["no-such-agent-here".to_owned(), "--go".to_owned()];
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let item = held_item(&stage, number, "no-such-agent-here").await;
    assert!(item.reason.contains("`demo`") && item.reason.contains("agents.demo.headless.command"), "{}", item.reason);
    no_turn(&stage, number).await;
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("no-such-agent-here"), "{found}");
    stage.stop().await;

    stage.write_home();
    edit_config(&stage, |text| text.replace("default = \"demo\"", "default = \"nobody\""));
    match stage.try_start().await {
        // Refused at once, with its key …
        Err(said) => assert!(said.contains("nobody") && said.contains("agents.default"), "{said}"),
        // … or told on the round.
        Ok(()) => {
            let item = held_item(&stage, number, "`nobody`").await;
            assert!(item.reason.contains("[agents.nobody]"), "{}", item.reason);
            no_turn(&stage, number).await;
            let (found, attention) = doctor(&stage).await;
            assert!(attention && found.contains("`nobody`") && found.contains("[agents.nobody]"), "{found}");
            stage.stop().await;
        }
    }
    // Mended, it goes on by itself: the decision was kept.
    stage.agent = Vec::new();
    stage.start().await;
    assert_eq!(stage.turn(number, &["recorded"]).await.gate.as_deref(), Some(gate.id.as_str()));
}

/// Runs one round of the demo's agent that misbehaves by this word.
async fn misbehaves(word: &str, timeout: Option<&str>) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    stage.agent_word = word.to_owned();
    let number = stage.pull("Guard the sum");
    stage.write_home();
    if let Some(timeout) = timeout {
        let intent = include_str!("../../profiles/default/intents/review/intent.toml");
        assert!(intent.contains("timeout = \"45m\""));
        write_profile(
            &stage,
            "intents/review/intent.toml",
            &intent.replace("timeout = \"45m\"", &format!("timeout = \"{timeout}\"")),
        );
    }
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    (stage, number)
}

#[tokio::test]
async fn an_agent_that_never_ends_is_ended_by_its_limit() {
    // RUN-11, RUN-10
    let (mut stage, number) = misbehaves("hang", Some("3s")).await;
    let turn = stage.turn(number, &["failed"]).await;
    let cause = turn.cause.unwrap();
    assert!(cause.contains("limit") && cause.contains("timeout"), "{cause}");
    assert_eq!(turn.posts, []);
    stage.stop().await;
    assert_eq!(stage.writes(), 0);
}

#[tokio::test]
async fn an_agent_that_prints_rubbish_and_one_that_forgets_its_record_are_unrecorded() {
    // RUN-09, RUN-10
    let (stage, number) = misbehaves("rubbish", None).await;
    let turn = stage.turn(number, &["unrecorded"]).await;
    assert_eq!(turn.cause.as_deref(), Some("the agent ended without a record"));
    let detail = stage.client().turn(&turn.id).await.unwrap();
    assert!(detail.transcript.iter().any(|line| line.from == "stdout"), "what it said is kept");
    let shown = stage.wloop(&["turns", "show", &turn.id]).output().await.unwrap();
    assert!(shown.status.success() && !shown.stdout.contains(&0x1b), "nothing of it reaches the terminal raw");

    let (stage, number) = misbehaves("no-record", None).await;
    let turn = stage.turn(number, &["unrecorded"]).await;
    assert_eq!((turn.posts.len(), stage.my_reviews(number).len()), (1, 1), "the review it made is known");
}

#[tokio::test]
async fn an_agent_that_floods_its_output_costs_no_memory() {
    // RUN-12
    let (stage, number) = misbehaves("flood", None).await;
    let turn = stage.turn(number, &["recorded"]).await;
    let status = std::fs::read_to_string(format!("/proc/{}/status", stage.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(peak < 150 * 1024, "the daemon took {peak} kB at most");
    let transcript = stage.home().join(format!("logs/transcripts/{}.jsonl", turn.id));
    let kept = std::fs::metadata(&transcript).unwrap().len();
    assert!(kept < 80 << 20, "{kept} bytes are kept of 200 MB");
    let detail = stage.client().turn(&turn.id).await.unwrap();
    assert!(
        detail.transcript.iter().any(|line| line.from == "note" && line.text.contains("not kept")),
        "what was dropped is noted"
    );
    assert_eq!(stage.my_reviews(number).len(), 1);
}

#[tokio::test]
async fn an_agent_that_crashes_has_its_code_and_last_words_told() {
    // RUN-10
    let (stage, number) = misbehaves("crash", None).await;
    let turn = stage.turn(number, &["failed"]).await;
    let cause = turn.cause.unwrap();
    assert!(cause.contains("code 3") && cause.contains("crashes, as it was told to"), "{cause}");
    let item = stage.plan().await.into_iter().find(|item| item.unit.label == stage.unit(number));
    assert_eq!(item, None, "a round that was given is not given again by itself");
    let output = stage.wloop(&["turns", "show", &turn.id]).output().await.unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("code 3"), "{shown}");
}

#[tokio::test]
async fn a_repository_that_cannot_be_cloned_holds_its_round_with_the_reason() {
    // WS-02
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let refuse = |count: usize| {
        for _ in 0..count {
            stage.world.push_fault(Fault {
                on: Match::new("", &format!("/{REPO}.git/**")),
                kind: FaultKind::Status(403, json!({ "message": "Forbidden" })),
            });
        }
    };
    refuse(2);
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let item = held_item(&stage, number, REPO).await;
    assert!(!item.reason.contains(TOKEN), "{}", item.reason);
    no_turn(&stage, number).await;
    let shown = stage.client().gates(&GateFilter { unit: Some(stage.unit(number)), ..GateFilter::default() }).await.unwrap();
    assert_eq!(shown.len(), 1, "the decision was kept, and is not asked again");
    stage.world.clear_faults();
    // A round that rested is looked at anew at a start, and else after its rest.
    stage.stop().await;
    stage.start_again().await;
    stage.turn(number, &["recorded"]).await;
}
