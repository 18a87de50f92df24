//! The real command-line programs of agents, without an account: each is started by its preset through the real daemon, up to the
//! point where it asks to sign in, and `doctor` says what to do. `make real-agents` installs them and runs this.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test stops at what it did not expect, and shows what was said")]

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use wloop_tests::{Stage, plain_environment};

/// The folder with the programs `claude`, `codex` and `gemini`.
#[expect(clippy::disallowed_methods, reason = "the script that installed them tells where they are")]
fn programs() -> PathBuf {
    PathBuf::from(std::env::var("WLOOP_REAL_AGENTS").expect("`make real-agents` sets WLOOP_REAL_AGENTS"))
}

/// A service that knows nobody: what `codex` asks without an account, also where the real one is not reached.
fn service_without_accounts() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            std::thread::spawn(move || {
                let mut request = [0; 65_536];
                let _taken = stream.read(&mut request);
                let body = r#"{"error":{"message":"Missing bearer or basic authentication in header"}}"#;
                let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let _sent = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
            });
        }
    });
    format!("http://{address}/v1")
}

/// A stage on which the agent of that preset is the default and has a home of its own.
async fn stage(preset: &str, more: &str) -> Stage {
    let mut stage = Stage::new().await;
    let home = stage.scratch().join("person");
    std::fs::create_dir_all(home.join(".codex")).unwrap();
    let codex = format!(
        "model_provider = \"none\"\n[model_providers.none]\nname = \"none\"\nbase_url = \"{}\"\nwire_api = \"responses\"\n",
        service_without_accounts()
    );
    std::fs::write(home.join(".codex/config.toml"), codex).unwrap();
    let path = format!("{}:{}", programs().display(), plain_environment()["PATH"]);
    // These rounds are about what the program says; the gate of its first run has journeys of its own.
    stage.trusted.push((preset.to_owned(), wloop_tests::REPO.to_owned()));
    for (name, value) in [("HOME", home.display().to_string()), ("PATH", path)] {
        stage.variables.insert(name.to_owned(), value);
    }
    stage.more = format!("\n[agents.{preset}]\npreset = \"{preset}\"\n{more}");
    stage.write_home();
    let config = stage.home().join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("default = \"demo\"", &format!("default = \"{preset}\""))).unwrap();
    stage.start_again().await;
    stage
}

/// Runs one round and gives the cause of its end.
async fn cause(stage: &Stage) -> String {
    let number = stage.pull("Guard the sum");
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["failed"]).await;
    turn.cause.unwrap_or_default()
}

async fn asks_to_sign_in(preset: &str, words: &str, advice: &str) {
    let stage = stage(preset, "").await;
    let cause = cause(&stage).await;
    println!("{preset}: the round ended: {cause}");
    assert!(cause.contains(words), "{cause}");
    let doctor = stage.wloop(&["doctor"]).envs(&stage.variables).output().await.unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    for line in said.lines().filter(|line| line.contains(preset)) {
        println!("{preset}: doctor says: {line}");
    }
    assert!(said.contains("nobody is signed in") && said.contains(advice), "{said}");
    assert_eq!(doctor.status.code(), Some(1), "it needs attention");
}

#[tokio::test]
#[ignore = "needs the real programs: `make real-agents`"]
async fn claude_code_starts_by_its_preset_and_asks_to_sign_in() {
    // RUN-02, RUN-30
    asks_to_sign_in("claude-code", "Please run /login", "claude auth login").await;
}

#[tokio::test]
#[ignore = "needs the real programs: `make real-agents`"]
async fn codex_starts_by_its_preset_and_asks_to_sign_in() {
    // RUN-02, RUN-30
    asks_to_sign_in("codex", "401 Unauthorized", "codex login").await;
}

#[tokio::test]
#[ignore = "needs the real programs: `make real-agents`"]
async fn gemini_starts_by_its_preset_and_asks_to_sign_in() {
    // RUN-02, RUN-30
    asks_to_sign_in("gemini", "Please set an Auth method", "GEMINI_API_KEY").await;
}

#[tokio::test]
#[ignore = "needs the real programs: `make real-agents`"]
async fn gemini_with_a_key_asks_whether_the_folder_is_trusted() {
    // RUN-30
    let stage = stage("gemini", "[agents.gemini.env.set]\nGEMINI_API_KEY = \"none\"\n").await;
    let cause = cause(&stage).await;
    println!("gemini with a key: the round ended: {cause}");
    assert!(cause.contains("not running in a trusted directory"), "{cause}");
}

#[tokio::test]
#[ignore = "needs the real programs: `make real-agents`"]
async fn gemini_asks_no_more_once_the_person_trusted_the_folder() {
    // RUN-31, RUN-32, GATE-52
    let service = service_without_accounts().replace("/v1", "");
    let more = format!("[agents.gemini.env.set]\nGEMINI_API_KEY = \"none\"\nGOOGLE_GEMINI_BASE_URL = \"{service}\"\n");
    let mut stage = stage("gemini", &more).await;
    stage.stop().await;
    stage.trusted.clear();
    std::fs::remove_file(stage.home().join("state.db")).unwrap();
    stage.start_again().await;
    let number = stage.pull("Guard the sum");
    let plan = stage.open_gate("plan", number).await;
    stage.resolve(&plan.id, "run_now").await;
    let trust = stage.open_gate("trust", number).await;
    stage.resolve(&trust.id, "trust_run").await;
    let cause = stage.turn(number, &["failed"]).await.cause.unwrap_or_default();
    println!("gemini in a trusted folder: the round ended: {cause}");
    assert!(!cause.contains("trusted directory") && cause.contains("auth"), "it went on to its sign-in: {cause}");
}
