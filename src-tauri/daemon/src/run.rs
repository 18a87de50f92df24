//! The daemon in the foreground: opens the home, starts engine, runner and server, and goes down in order.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use wloop_agents::redact::Redactor;
use wloop_providers::{Addresses, GithubConfig, GithubProvider, Provider};
use wloop_store::Store;

use crate::edge::{self, Ids, complain};
use crate::engine::Engine;
use crate::home::Home;
use crate::hub::Hub;
use crate::input::{AgentEvent, Input};
use crate::runner::{self, Outside, chain};
use crate::secret;
use crate::server::{self, Shared};
use crate::settings::Rules;

/// How long the last answers of the server may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs until SIGTERM or SIGINT, then drains; a second signal ends at once.
pub(crate) async fn daemon(home: &Home, environment: BTreeMap<String, String>) -> ExitCode {
    start_log(&environment);
    // The points are armed as long as this is held.
    let _armed = fail::FailScenario::setup();
    if let Some(words) = home.unusable() {
        complain(&words);
        return ExitCode::FAILURE;
    }
    let rules = match Rules::load(home) {
        Ok(rules) => rules,
        Err(faults) => {
            for fault in &faults {
                complain(&fault.to_string());
            }
            complain("the daemon does not start with these faults; mend the files above and start it again");
            return ExitCode::FAILURE;
        }
    };
    // A leading `~/` is the person's home folder, which the environment names.
    let root = runner::rounds::expand(&rules.workspaces_root.to_string_lossy(), &environment);
    let rules = Rules { workspaces_root: root.into(), ..rules };
    for fault in &rules.profile.broken {
        tracing::warn!("a workflow does not load, and the others go on: {fault}");
    }
    for hint in rules.approval_hints() {
        tracing::warn!("approval rules: {hint}");
    }
    match serve(home, environment, rules).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            complain(&words);
            ExitCode::FAILURE
        }
    }
}

/// The log goes to standard error; `WLOOP_LOG` chooses how much of it. What the client library says of a failed call the provider's
/// health says in better words.
fn start_log(environment: &BTreeMap<String, String>) {
    let wanted = environment.get("WLOOP_LOG").map_or("warn,octocrab=off", String::as_str);
    let filter = tracing_subscriber::EnvFilter::builder().parse_lossy(wanted);
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).with_ansi(false);
    // A second daemon in one process keeps the first one's log.
    let _already = log.try_init();
}

async fn serve(home: &Home, environment: BTreeMap<String, String>, rules: Rules) -> Result<(), String> {
    for folder in [home.database.parent(), Some(home.logs.as_path()), Some(home.data.as_path())].into_iter().flatten() {
        make_folder(folder)?;
    }
    make_folder(&home.data.join("gh-empty"))?;
    let tools = make_tools(home)?;
    let now = edge::now();
    let store = Store::open(&home.database, now).map_err(|fault| chain(&fault))?;
    let ids: Box<Ids> = Box::new(match environment.get("WLOOP_TEST_SEED").and_then(|s| s.parse().ok()) {
        Some(seed) => Ids::seeded(seed),
        None => Ids::random(),
    });
    let config = &rules.config.github;
    let api_url = config.api_url.clone();
    let addresses = wloop_providers::github::addresses(&api_url, config.web_url.as_deref()).map_err(|fault| fault.to_string())?;
    let token = match &config.token {
        None => None,
        Some(source) => Some(secret::token(source, &environment).await?),
    };
    let provider = match &token {
        None => None,
        Some(token) => Some(provider(&rules, &addresses, token.clone())?),
    };
    let secrets: Vec<String> = token.iter().map(|t| t.expose_secret().to_owned()).collect();
    let engine = Engine::open(store, rules.clone(), ids, now).map_err(|fault| chain(&fault))?;
    keep_quiet(&engine, provider.as_deref(), now)?;
    let hub = Hub::start(engine, Arc::new(edge::now)).map_err(|fault| chain(&fault))?;
    adopt_orphans();
    let listener = server::bind(&home.socket()).map_err(|fault| chain(&fault))?;
    let stopping = CancellationToken::new();
    let outside = Arc::new(Outside {
        hub: hub.clone(),
        provider,
        rules,
        home: home.clone(),
        environment,
        token,
        redactor: Redactor::new(&secrets),
        secrets,
        tools,
        addresses,
        repositories: Mutex::default(),
        failures: AtomicU32::new(0),
        draining: CancellationToken::new(),
        stopping: stopping.clone(),
        turns: Mutex::default(),
    });
    let jobs_stop = CancellationToken::new();
    let jobs = tokio::spawn(runner::run(outside.clone(), jobs_stop.clone()));
    let mut server =
        tokio::spawn(server::serve(listener, Shared { outside: outside.clone(), started_at: now }, stopping.clone()));
    let mut term = signal(SignalKind::terminate()).map_err(|fault| fault.to_string())?;
    let mut int = signal(SignalKind::interrupt()).map_err(|fault| fault.to_string())?;
    announce(&home.socket());
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
        () = hub.gone() => return Err("the engine stopped; look at the log and start the daemon again".to_owned()),
        _ = &mut server => return Err("the server stopped; look at the log and start the daemon again".to_owned()),
    }
    tokio::select! {
        () = drain(&outside) => {}
        _ = term.recv() => complain("ending at once; what runs is settled at the next start"),
        _ = int.recv() => complain("ending at once; what runs is settled at the next start"),
    }
    jobs_stop.cancel();
    stopping.cancel();
    let _ended = tokio::time::timeout(FAREWELL, &mut server).await;
    let _ended = tokio::time::timeout(FAREWELL, jobs).await;
    hub.stop().await;
    let _gone = std::fs::remove_file(home.socket());
    Ok(())
}

/// What github asked an earlier start to wait for is waited for by this one (GH-SYNC-37).
fn keep_quiet(engine: &Engine, provider: Option<&dyn Provider>, now: jiff::Timestamp) -> Result<(), String> {
    let row = engine.read().provider("github").map_err(|fault| chain(&fault))?;
    if let (Some(until), Some(provider)) = (row.and_then(|r| r.blocked_until).filter(|until| *until > now), provider) {
        provider.keep_quiet(until);
    }
    Ok(())
}

fn provider(rules: &Rules, addresses: &Addresses, token: secrecy::SecretString) -> Result<Arc<dyn Provider>, String> {
    let mut config = GithubConfig::new(addresses.api.clone(), token, Arc::new(edge::now));
    config.web_url.clone_from(&rules.config.github.web_url);
    let provider = GithubProvider::new(config).map_err(|fault| fault.to_string())?;
    Ok(Arc::new(provider))
}

/// Starts nothing more, gives what runs until the configured deadline, then cancels it (RUN-36).
async fn drain(outside: &Outside) {
    outside.draining.cancel();
    let deadline = Duration::try_from(outside.rules.config.daemon.drain_deadline).unwrap_or(Duration::from_secs(900));
    if tokio::time::timeout(deadline, quiet(outside)).await.is_ok() {
        return;
    }
    let turns: Vec<_> = outside.running().keys().copied().collect();
    for turn in turns {
        let cancelled = outside.hub.ask(Input::Turn { turn, event: AgentEvent::Drained }).await;
        if let Err(fault) = cancelled {
            tracing::warn!(%fault, %turn, "a turn could not be cancelled");
        }
    }
    let _rest = tokio::time::timeout(Duration::from_secs(15), quiet(outside)).await;
}

/// Waits until no turn runs and no call of a post is in flight.
async fn quiet(outside: &Outside) {
    let mut pending = outside.hub.pending();
    loop {
        pending.borrow_and_update();
        let calls = outside.hub.read(|reads| {
            let sending = reads.posts_in(wloop_core::post::PostState::Sending)?;
            let mut open = 0;
            for post in sending {
                open += usize::from(reads.open_attempt(post.id)?.is_some());
            }
            Ok::<_, wloop_store::StoreError>(open)
        });
        if outside.running().is_empty() && calls.unwrap_or(0) == 0 {
            return;
        }
        if pending.changed().await.is_err() {
            return;
        }
    }
}

/// An orphaned grandchild of an agent becomes a child of the daemon, and so is still known as one (RES-21).
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(fault) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!(%fault, "orphans of agents cannot be told apart");
    }
}

/// The folder that comes first on an agent's `PATH`: it holds `wloop`, also under the name `gh` (GH-PUB-23).
fn make_tools(home: &Home) -> Result<std::path::PathBuf, String> {
    let tools = home.data.join("tools");
    make_folder(&tools)?;
    let me = std::env::current_exe().map_err(|fault| format!("the program's own path is not known: {fault}"))?;
    for link in ["wloop", "gh"].map(|name| tools.join(name)) {
        if std::fs::read_link(&link).ok().as_deref() != Some(me.as_path()) {
            let _old = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(&me, &link).map_err(|fault| format!("`{}` cannot be made: {fault}", link.display()))?;
        }
    }
    Ok(tools)
}

fn make_folder(folder: &Path) -> Result<(), String> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|fault| {
        format!("the folder `{}` cannot be made: {fault}; look at its rights, or name another home", folder.display())
    })
}

#[expect(clippy::print_stdout, reason = "whoever started the daemon waits for this line")]
fn announce(socket: &Path) {
    println!("listening on {}", socket.display());
}
