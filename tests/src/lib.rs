//! The stage on which journeys play: the real daemon as a process on a home of its own, the small GitHub, and a person who calls
//! the daemon's API as a program of the same user does.

#![expect(clippy::expect_used, clippy::panic, reason = "a stage that cannot be set up fails its test, with the reason")]

pub mod puppet;
pub mod raw;

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use wloop_api::client::{Client, ClientError, GateFilter, UnitFilter};
use wloop_api::problem::Problem;
use wloop_api::types::{Gate, PlanItem, Post, Resolve, Turn};
use wloop_store::{Store, TrustRow};
use wloop_world::{AccountKind, NewPullRequest, Options, SmallGithub};

/// How long a condition is waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The person on whose behalf the daemon works.
pub const ME: &str = "sam";
/// Their token.
pub const TOKEN: &str = "ghp_a_token_of_the_tests_0001";
/// The repository.
pub const REPO: &str = "acme/api";

/// The built programs, `wloop` and `wloop-demo-agent`; built once where they are missing or old.
///
/// # Panics
/// When they cannot be built.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "cargo tells a test where it is by the environment")]
pub fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's own path");
        let folder = test.parent().and_then(Path::parent).expect("a target folder").to_owned();
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let mut command = std::process::Command::new(cargo);
        // What cargo tells a test about its package would make build scripts that look at it run again, and all that needs them.
        for (name, _) in std::env::vars_os() {
            if ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"]
                .iter()
                .any(|start| name.to_string_lossy().starts_with(start))
            {
                command.env_remove(name);
            }
        }
        let status = command
            // The same command as `make test`, so that nothing is built twice.
            .args(["test", "--quiet", "--no-run", "--workspace", "--features", "wloop-cli/failpoints"])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .status();
        assert!(status.expect("cargo runs").success(), "the programs are built");
        folder
    });
    folder.join(name)
}

/// Environment variables of a person at a plain shell: nothing of wloop's and nothing of an agent's.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "a child gets a clean part of the test's own environment")]
pub fn plain_environment() -> BTreeMap<String, String> {
    let mut plain: BTreeMap<String, String> = BTreeMap::new();
    for name in ["PATH", "HOME", "LANG", "TMPDIR"] {
        if let Ok(value) = std::env::var(name) {
            plain.insert(name.to_owned(), value);
        }
    }
    plain
}

/// Waits until `look` finds what it looks for, and says what it last saw when it does not.
///
/// # Panics
/// When [`PATIENCE`] runs out.
pub async fn until<T, F: Future<Output = Result<T, String>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let start = tokio::time::Instant::now();
    let mut pause = tokio::time::interval(Duration::from_millis(25));
    loop {
        pause.tick().await;
        match look().await {
            Ok(found) => return found,
            Err(seen) => assert!(start.elapsed() < PATIENCE, "waited in vain for {what}; last seen: {seen}"),
        }
    }
}

/// Waits until the machine's clock, which the daemon goes by too, is past a moment.
///
/// # Panics
/// When the moment is further away than [`PATIENCE`].
#[expect(clippy::disallowed_methods, reason = "the test waits for the clock of the daemon's own edge")]
pub async fn clock_past(moment: jiff::Timestamp) {
    until(&format!("the clock to pass {moment}"), || async {
        let now = jiff::Timestamp::now();
        if now > moment { Ok(()) } else { Err(now.to_string()) }
    })
    .await;
}

/// A daemon's process.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    /// What it wrote to standard error.
    pub log: PathBuf,
}

/// One test's stage.
#[derive(Debug)]
pub struct Stage {
    /// The small GitHub.
    pub world: SmallGithub,
    folder: TempDir,
    daemon: Option<Daemon>,
    /// What the agent is told to do, by the demo agent's own word; empty for its work.
    pub agent_word: String,
    /// The agent's command where another than the demo's agent plays.
    pub agent: Vec<String>,
    /// The window of the review workflow, as it is written there.
    pub window: String,
    /// Whole lines that are put into `config.toml` after everything else.
    pub more: String,
    /// Variables beside the plain ones, such as `FAILPOINTS`.
    pub variables: BTreeMap<String, String>,
    /// Agents that are trusted in a repository before the first start, each with `owner/repo`; a test of the trust gate empties it.
    pub trusted: Vec<(String, String)>,
}

impl Stage {
    /// A stage with the repository [`REPO`], the person [`ME`] and a colleague `ines`; the daemon is not started.
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options { dir: folder.path().join("world"), port: 0, seed: 7 };
        let world = SmallGithub::start(options).await.expect("the small github starts");
        for login in [ME, "ines"] {
            world.add_user(login, AccountKind::User);
        }
        world.add_token(ME, TOKEN);
        let files = [("README.md", "# api\n"), ("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n")];
        world.add_repository(REPO, &files).expect("a repository");
        Self {
            world,
            folder,
            daemon: None,
            agent_word: String::new(),
            agent: Vec::new(),
            window: "600s".to_owned(),
            more: String::new(),
            variables: BTreeMap::new(),
            trusted: ["demo", "claude-code"].map(|agent| (agent.to_owned(), REPO.to_owned())).to_vec(),
        }
    }

    /// The home's folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// A folder for the test's own files.
    #[must_use]
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// A pull request of `ines` that asks for the person's review: it adds one line to `src/lib.rs` and a file.
    #[must_use]
    pub fn pull(&self, title: &str) -> u64 {
        self.pull_with(title, &[("src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    // TODO overflow\n    a + b\n}\n")])
    }

    /// A pull request that touches a schema migration, before which the demo's agent stops.
    #[must_use]
    pub fn risky_pull(&self, title: &str) -> u64 {
        self.pull_with(title, &[("migrations/0002_drop.sql", "ALTER TABLE customer DROP COLUMN phone;\n")])
    }

    /// A pull request of `ines` with these files.
    ///
    /// # Panics
    /// When the small GitHub refuses it.
    #[must_use]
    pub fn pull_with(&self, title: &str, files: &[(&str, &str)]) -> u64 {
        let number = self
            .world
            .open_pull_request(NewPullRequest {
                repo: REPO.to_owned(),
                author: "ines".to_owned(),
                title: title.to_owned(),
                body: format!("{title}, please."),
                branch: title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-"),
                files: files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect(),
                ..NewPullRequest::default()
            })
            .expect("a pull request");
        self.world.request_review(REPO, number, "ines", ME).expect("a request");
        number
    }

    /// How the person names a pull request.
    #[must_use]
    pub fn unit(&self, number: u64) -> String {
        format!("{REPO}#{number}")
    }

    /// Writes `config.toml` and the workflow with its window.
    ///
    /// # Panics
    /// When the home cannot be written.
    pub fn write_home(&self) {
        let home = self.home();
        let agent = program("wloop-demo-agent").display().to_string();
        let command = if self.agent.is_empty() { std::slice::from_ref(&agent) } else { self.agent.as_slice() };
        let command = serde_json::to_string(command).expect("a list of texts");
        let config = format!(
            "[sweep]\nfast = \"1s\"\nslow = \"30s\"\n\n[plugins.github]\napi_url = \"{}\"\ntoken = \"{TOKEN}\"\n\n\
             [agents]\ndefault = \"demo\"\n\n[agents.demo]\npreset = \"command\"\n\n[agents.demo.headless]\ncommand = {command}\n\n\
             [agents.demo.env.set]\nWLOOP_DEMO_AGENT = \"{}\"\nWLOOP_DEMO_WAIT = \"{}\"\n{}\n",
            self.world.api_url(),
            self.agent_word,
            self.scratch().join("go").display(),
            self.more,
        );
        let review = home.join("profiles/default/workflows/review");
        std::fs::create_dir_all(&review).expect("a home");
        std::fs::write(home.join("config.toml"), config).expect("a configuration");
        let bundled = include_str!("../../profiles/default/workflows/review/workflow.toml");
        assert!(bundled.contains("window = \"60s\""), "the bundled window");
        let workflow = bundled.replace("window = \"60s\"", &format!("window = \"{}\"", self.window));
        std::fs::write(review.join("workflow.toml"), workflow).expect("a workflow");
    }

    /// Lets an agent go on that waits before its post (`slow-before-post`).
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn let_agent_post(&self) {
        std::fs::write(self.scratch().join("go"), "go").expect("the file is written");
    }

    /// Writes the home and starts the daemon.
    ///
    /// # Panics
    /// When it does not listen.
    pub async fn start(&mut self) {
        self.write_home();
        self.start_again().await;
    }

    /// Starts the daemon on the home as it is.
    ///
    /// # Panics
    /// When it does not listen.
    pub async fn start_again(&mut self) {
        match self.try_start().await {
            Ok(()) => {}
            Err(log) => panic!("the daemon does not start: {log}"),
        }
    }

    /// Starts the daemon on the home as it is; what it said where it ended instead of listening.
    ///
    /// # Errors
    /// Its standard error.
    ///
    /// # Panics
    /// When it neither listens nor ends.
    pub async fn try_start(&mut self) -> Result<(), String> {
        self.trust();
        let log = self.scratch().join("daemon.log");
        let errors = std::fs::File::options().create(true).append(true).open(&log).expect("a log");
        let mut command = Command::new(program("wloop"));
        command.args(["daemon", "--home"]).arg(self.home()).env_clear().envs(plain_environment()).envs(&self.variables);
        command.env("WLOOP_LOG", "info").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).kill_on_drop(true);
        let mut child = command.spawn().expect("the daemon is spawned");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("the daemon speaks or ends").expect("a line");
        // What it prints later is read away, so that it never blocks.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        if first.is_some_and(|line| line.starts_with("listening on ")) {
            self.daemon = Some(Daemon { child, log });
            return Ok(());
        }
        let _status = child.wait().await;
        Err(std::fs::read_to_string(&log).unwrap_or_default())
    }

    /// Writes the trust of a home that has been in use into a ledger that is not there yet; one that cannot be made is the daemon's
    /// to complain of.
    fn trust(&self) {
        let path = self.home().join("state.db");
        if self.trusted.is_empty() || path.exists() || !self.home().join("config.toml").exists() {
            return;
        }
        let long_ago = jiff::Timestamp::UNIX_EPOCH;
        let row = |agent: &str, repo: &str| TrustRow {
            agent: agent.to_owned(),
            repo: repo.to_owned(),
            at: long_ago,
            gate: None,
            folder: self.home().join("workspaces").join(repo).display().to_string(),
        };
        if let Ok(mut store) = Store::open(&path, long_ago) {
            let written = store.write(|tx| self.trusted.iter().try_for_each(|(agent, repo)| tx.put_trust(&row(agent, repo))));
            written.expect("the trust is written");
        }
    }

    /// The daemon's process id.
    ///
    /// # Panics
    /// When it does not run.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.daemon.as_ref().and_then(|d| d.child.id()).expect("a running daemon")
    }

    /// What the daemon wrote to standard error so far.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.scratch().join("daemon.log")).unwrap_or_default()
    }

    /// Ends the daemon in order and waits for its end.
    ///
    /// # Panics
    /// When it does not end well.
    pub async fn stop(&mut self) {
        self.terminate();
        self.ended().await;
    }

    /// Asks the daemon to end in order.
    ///
    /// # Panics
    /// When it does not run.
    pub fn terminate(&self) {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("its id"), rustix::process::Signal::TERM).expect("it is signalled");
    }

    /// Waits until the daemon that was asked to end has ended.
    ///
    /// # Panics
    /// When it does not end well.
    pub async fn ended(&mut self) {
        let mut daemon = self.daemon.take().expect("a running daemon");
        let status = tokio::time::timeout(PATIENCE, daemon.child.wait()).await.expect("it drains").expect("its status");
        assert!(status.success(), "the daemon drained with {status}: {}", self.log());
    }

    /// Kills the daemon as a power cut would.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub async fn kill(&mut self) {
        let mut daemon = self.daemon.take().expect("a running daemon");
        daemon.child.kill().await.expect("it is killed");
    }

    /// Waits until the daemon ends by itself, as at a crash point.
    ///
    /// # Panics
    /// When it does not end.
    pub async fn crashed(&mut self) {
        let mut daemon = self.daemon.take().expect("a running daemon");
        let waited = tokio::time::timeout(PATIENCE, daemon.child.wait()).await;
        let status = waited.unwrap_or_else(|_| panic!("the daemon did not die at its crash point: {}", self.log()));
        assert!(!status.expect("its status").success(), "the daemon died at its crash point");
    }

    /// The person, who calls the daemon.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::connect(self.home().join("run/wloop.sock"), None)
    }

    /// The command line in the person's hands, without a terminal and with a plain environment.
    #[must_use]
    pub fn wloop(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("wloop"));
        command.arg("--home").arg(self.home()).args(arguments);
        command.env_clear().envs(plain_environment()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Waits for an open gate of that kind on a pull request.
    pub async fn open_gate(&self, kind: &str, number: u64) -> Gate {
        let (client, unit) = (self.client(), self.unit(number));
        let filter = GateFilter { status: Some("open".into()), kind: Some(kind.into()), unit: Some(unit), task: None };
        until(&format!("an open {kind} gate on #{number}"), || async {
            let gates = client.gates(&filter).await.map_err(|e| e.to_string())?;
            gates.into_iter().next().ok_or_else(|| "no gate".to_owned())
        })
        .await
    }

    /// One gate as it is now.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn gate(&self, id: &str) -> Gate {
        self.client().gate(id).await.expect("the gate is read")
    }

    /// Resolves a gate by an intent without text.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn resolve(&self, id: &str, intent: &str) -> Gate {
        self.client().resolve(id, intent, &Resolve::default()).await.expect("the gate is resolved")
    }

    /// Waits until the newest turn of a pull request is in one of these states.
    pub async fn turn(&self, number: u64, states: &[&str]) -> Turn {
        let (client, unit) = (self.client(), self.unit(number));
        let filter = UnitFilter { state: None, unit: Some(unit) };
        until(&format!("a turn of #{number} that is {states:?}"), || async {
            let turns = client.turns(&filter).await.map_err(|e| e.to_string())?;
            match turns.into_iter().next() {
                Some(turn) if states.contains(&turn.state.as_str()) => Ok(turn),
                Some(turn) => Err(format!("{} {:?}", turn.state, turn.cause)),
                None => Err("no turn".to_owned()),
            }
        })
        .await
    }

    /// Waits until a pull request has a post in one of these states.
    pub async fn post(&self, number: u64, states: &[&str]) -> Post {
        let (client, unit) = (self.client(), self.unit(number));
        let filter = UnitFilter { state: None, unit: Some(unit) };
        until(&format!("a post of #{number} that is {states:?}"), || async {
            let posts = client.posts(&filter).await.map_err(|e| e.to_string())?;
            match posts.into_iter().next() {
                Some(post) if states.contains(&post.state.as_str()) => Ok(post),
                Some(post) => Err(format!("{} {:?}", post.state, post.cause)),
                None => Err("no post".to_owned()),
            }
        })
        .await
    }

    /// The plan as it is now.
    ///
    /// # Panics
    /// When it cannot be read.
    pub async fn plan(&self) -> Vec<PlanItem> {
        self.client().plan().await.expect("the plan is read")
    }

    /// The kinds of all events so far, in order, each with its data.
    ///
    /// # Panics
    /// When they cannot be read.
    pub async fn events(&self) -> Vec<(String, Value)> {
        let events = self.client().events(0).await.expect("the record is read");
        events.into_iter().map(|event| (event.kind, event.data)).collect()
    }

    /// Submitted reviews of the person that the small GitHub holds on a pull request.
    #[must_use]
    pub fn my_reviews(&self, number: u64) -> Vec<wloop_world::ReviewSeen> {
        self.world.reviews(REPO, number).into_iter().filter(|r| r.author == ME).collect()
    }

    /// Writing calls that the small GitHub acted on.
    #[must_use]
    pub fn writes(&self) -> usize {
        self.world.calls().iter().filter(|c| c.acted && c.method == "POST" && c.path.starts_with("/repos/")).count()
    }
}

/// The problem of a refused call.
///
/// # Panics
/// When the call was not refused.
pub fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> Problem {
    match answer {
        Err(ClientError::Problem(problem)) => *problem,
        other => panic!("a refusal was expected, not {other:?}"),
    }
}
