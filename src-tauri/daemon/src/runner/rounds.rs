//! From a released round to a turn's process and its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wloop_agents::block::{BlockKind as Asks, Signs, recognise};
use wloop_agents::environment::{Added, agent_environment};
use wloop_agents::headless::{Ended, Limit, Limits, RunEnd, RunEvent, RunSpec, spawn};
use wloop_agents::home::AgentHome;
use wloop_agents::output::OutputFormat;
use wloop_agents::preset::{AgentConfig, Allowed, McpWiring, codex_servers, resolve};
use wloop_agents::process::{ProcessStart, end_group as end_process_group, find_program};
use wloop_agents::readings;
use wloop_agents::worktree::{WorktreeSpec, prepare};
use wloop_core::github::busy::{Branch, Unfinished, Workplace};
use wloop_core::id::{ItemId, TurnId};
use wloop_core::rules::config::{AgentEntry, Output, Preset};
use wloop_core::rules::profile::Grant;
use wloop_core::stops::BlockKind;
use wloop_providers::DetailRef;
use wloop_store::{ProcessRow, TurnFilter};

use super::{Outside, REST, read, record};
use crate::edge::crash_point;
use crate::engine::{ReleaseOrder, Reply, StartOrder};
use crate::input::{AgentEvent, Done, Input, Prepared, Starting, TurnEnd};

/// The limit of a git command that fetches or writes a tree.
const GIT_LIMIT: Duration = Duration::from_secs(15 * 60);
/// What an earlier daemon left is given this long to end by itself.
const GRACE: Duration = Duration::from_secs(10);

/// Makes a released round ready: the pull request is read once more, the agent is looked for, the workspace is prepared.
pub(super) async fn release(outside: &Outside, item: ItemId) {
    crash_point!("K2");
    let Some(provider) = &outside.provider else { return };
    let unit = read(outside, |reads| Ok(reads.item(item)?.map(|row| row.unit)));
    let Some(Some(unit)) = unit else { return };
    let detail = provider.detail(&DetailRef::ById(unit.key().to_owned())).await;
    if let Err(fault) = &detail {
        super::note_quiet(outside, fault).await;
    }
    let starting = Starting::Release { item, read: Box::new(detail) };
    let order = match outside.hub.ask(Input::Starting(starting)).await {
        Ok(Reply::Release(order)) => order,
        Ok(_) => return,
        Err(fault) => {
            tracing::error!(%fault, "a released round could not be looked at");
            tokio::time::sleep(REST).await;
            return;
        }
    };
    let prepared = ready(outside, &unit, &order).await;
    crash_point!("K16");
    crash_point!("K19");
    if prepared.is_err() {
        crash_point!("K20");
    }
    // A daemon that goes down starts no turn: the round stays released, and the next daemon makes it ready again.
    if outside.draining.is_cancelled() {
        return;
    }
    record(outside, Done::Release { item, prepared }).await;
}

/// What somebody does in a workspace right now.
async fn workplace(outside: &Outside, folder: &Path, head: &str) -> Workplace {
    let found = readings::read(folder, &outside.environment, &readings::Patterns::default(), Some(head)).await;
    let path = folder.to_string_lossy().into_owned();
    let typed_at = read(outside, |reads| {
        let mut newest = None;
        for session in reads.sessions(false, 1_000)?.iter().filter(|session| session.folder == path) {
            newest = newest.max(reads.newest_prompt(session.id, true)?.map(|prompt| prompt.at));
        }
        Ok(newest)
    });
    Workplace {
        // Rounds of an author's own work have no workspaces yet: every linked one is a review's.
        author: false,
        typed_at: typed_at.flatten(),
        unfinished: match found.unfinished {
            Some("rebase") => Some(Unfinished::Rebase),
            Some(_) => Some(Unfinished::Merge),
            // A folder that git cannot read is no lock: it is made anew.
            None if found.locked && found.modified.is_some() => Some(Unfinished::IndexLock),
            None => None,
        },
        modified: found.dirty(),
        branch: Branch::AtHead,
    }
}

async fn ready(outside: &Outside, unit: &wloop_core::id::UnitRef, order: &ReleaseOrder) -> Result<Prepared, String> {
    // A missing program is a refusal of the start, told before anything else is done (RUN-03).
    let config = agent_config(outside, &order.agent)?;
    let nobody = wloop_core::id::SessionId::draw(&mut Zero);
    let command = resolve(&config, &wiring(outside, &config, nobody, Path::new("/")), &Allowed::default());
    let program = command.map_err(|fault| fault.to_string())?.command.into_iter().next().unwrap_or_default();
    let path = outside.environment.get("PATH").map_or("", String::as_str);
    if find_program(&program, path, Path::new("/")).is_none() {
        return Err(format!(
            "the agent `{}` cannot start: the program `{program}` is not found; install it or set `agents.{}.headless.command`",
            order.agent, order.agent
        ));
    }
    let root = outside.rules.workspaces_root.clone();
    let linked = read(outside, |reads| reads.turns(&TurnFilter { unit: Some(unit.clone()), ..TurnFilter::default() }));
    let linked = linked.into_iter().flatten().find_map(|turn| turn.workspace).map(PathBuf::from).filter(|path| path.is_dir());
    // Whoever works in the linked workspace goes first; it is not touched then (ROUND-26, WS-06).
    let workplace = match &linked {
        Some(folder) => workplace(outside, folder, &order.head).await,
        None => Workplace::default(),
    };
    if workplace.busy(outside.hub.now()).is_some() {
        let folder = linked.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(Prepared { folder, head: order.head.clone(), merge_base: order.base.clone(), workplace });
    }
    let spec = WorktreeSpec {
        root,
        repos: outside.rules.config.workspaces.repos.iter().map(|r| PathBuf::from(expand(r, &outside.environment))).collect(),
        checkout: None,
        repo: order.repo.clone(),
        clone_url: format!("{}/{}.git", outside.addresses.web.trim_end_matches('/'), order.repo),
        number: order.number,
        head: order.head.clone(),
        base: order.base_branch.clone(),
        linked,
        name: order.folder.clone(),
        token: outside.token.clone(),
        environment: outside.environment.clone(),
        disposable: vec![".DS_Store".to_owned(), "*.log".to_owned(), ".wloop/**".to_owned()],
        limit: GIT_LIMIT,
    };
    let lock = {
        let mut locks = outside.repositories.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        locks.entry(order.repo.clone()).or_default().clone()
    };
    let _alone = lock.lock().await;
    let made = prepare(&spec).await.map_err(|fault| outside.redactor.apply(chain(&fault)))?;
    Ok(Prepared { folder: made.path.to_string_lossy().into_owned(), head: made.head, merge_base: made.merge_base, workplace })
}

/// A leading `~/` stands for the person's home folder.
pub(crate) fn expand(path: &str, environment: &BTreeMap<String, String>) -> String {
    match (path.strip_prefix("~/"), environment.get("HOME")) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

/// Looking whether a command resolves needs a session's id; none is drawn for it.
struct Zero;

impl wloop_core::id::IdSource for Zero {
    fn next_bits(&mut self) -> u128 {
        0
    }
}

fn wiring(outside: &Outside, config: &AgentConfig, session: wloop_core::id::SessionId, folder: &Path) -> McpWiring {
    let mut others = Vec::new();
    if config.preset == "codex" {
        let mut environment = outside.environment.clone();
        environment.extend(config.env_set.clone());
        let settings = AgentHome::Codex.file(&environment).and_then(|file| std::fs::read_to_string(file).ok());
        others = settings.map(|text| codex_servers(&text)).unwrap_or_default();
    }
    McpWiring {
        program: outside.tools.join("wloop"),
        socket: outside.home.socket(),
        session,
        folder: folder.to_owned(),
        own: own_folder(outside, session),
        others,
    }
}

/// A folder of one session's own, for what its agent can only be told by a file.
fn own_folder(outside: &Outside, session: wloop_core::id::SessionId) -> PathBuf {
    outside.home.data.join("sessions").join(session.to_string())
}

/// Writes what must be there before an agent starts, for its owner alone.
fn lay_out(own: &Path, files: &[(PathBuf, String)]) -> std::io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    if !files.is_empty() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(own)?;
    }
    for (path, text) in files {
        let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// The agent of that name as the configuration has it; `claude-code` needs no entry.
pub(crate) fn agent_config(outside: &Outside, name: &str) -> Result<AgentConfig, String> {
    match outside.rules.config.agents.get(name) {
        Some(entry) => Ok(agent_of(name, entry)),
        None if name == "claude-code" => {
            Ok(AgentConfig { name: name.to_owned(), preset: name.to_owned(), ..AgentConfig::default() })
        }
        None => Err(format!("no agent `{name}` is configured; add `[agents.{name}]` with a `preset` to `config.toml`")),
    }
}

/// An agent's entry as the presets read it.
pub(crate) fn agent_of(name: &str, entry: &AgentEntry) -> AgentConfig {
    let preset = entry.preset.unwrap_or(Preset::Command);
    let preset = Preset::ALL.iter().find(|(_, p)| *p == preset).map_or("command", |(word, _)| *word);
    let output = entry.headless.as_ref().and_then(|h| h.output);
    AgentConfig {
        name: name.to_owned(),
        preset: preset.to_owned(),
        command: entry.headless.as_ref().and_then(|h| h.command.clone()),
        output: output.and_then(|o| Output::ALL.iter().find(|(_, known)| *known == o)).map(|(word, _)| (*word).to_owned()),
        env_pass: entry.env_pass.clone(),
        env_set: entry.env_set.clone(),
        forks: entry.forks,
    }
}

/// Starts a turn's process, gives it its prompt and follows it to its end.
pub(super) async fn start(outside: &Outside, turn: TurnId) {
    let order = match outside.hub.ask(Input::Starting(Starting::Turn(turn))).await {
        Ok(Reply::Start(order)) => order,
        Ok(_) => return,
        Err(fault) => {
            tracing::error!(%fault, %turn, "a turn could not be claimed");
            tokio::time::sleep(REST).await;
            return;
        }
    };
    let cancel = CancellationToken::new();
    outside.running().insert(turn, cancel.clone());
    let end = follow(outside, &order, cancel).await;
    let _none = std::fs::remove_dir_all(own_folder(outside, order.session));
    outside.running().remove(&turn);
    tell(outside, turn, AgentEvent::Ended(end)).await;
}

async fn tell(outside: &Outside, turn: TurnId, event: AgentEvent) {
    outside.hub.record(Input::Turn { turn, event }).await;
}

async fn follow(outside: &Outside, order: &StartOrder, cancel: CancellationToken) -> TurnEnd {
    let turn = order.turn;
    let spec = match run_spec(outside, order) {
        Ok(spec) => spec,
        Err(why) => return TurnEnd::NotStarted(why),
    };
    let output = spec.output;
    let spawned = match spawn(spec) {
        Ok(spawned) => spawned,
        Err(fault) => return TurnEnd::NotStarted(outside.redactor.apply(chain(&fault))),
    };
    let process = ProcessRow { pid: spawned.pid.into(), start: spawned.started.to_string(), pgid: spawned.pgid.into() };
    if let Err(fault) = outside.hub.ask(Input::Turn { turn, event: AgentEvent::Spawned(process) }).await {
        // Nothing was given to it: dropping it ends its group.
        drop(spawned);
        return TurnEnd::NotStarted(format!("the process could not be written down, so it was not given anything: {fault}"));
    }
    crash_point!("K17");
    let (events_tx, mut events) = mpsc::channel(64);
    // In a task of its own: its limits hold also while the ledger does not take what is told of it. The drop of this future ends it.
    let run = AbortOnDrop(tokio::spawn(spawned.run(events_tx, cancel)));
    // The events are told in order, and the end only after all of them.
    while let Some(event) = events.recv().await {
        match event {
            RunEvent::PromptGiven => {
                crash_point!("K17b");
                tell(outside, turn, AgentEvent::PromptGiven).await;
            }
            RunEvent::FirstLine => tell(outside, turn, AgentEvent::TookUp).await,
            RunEvent::AgentSession(remote) => tell(outside, turn, AgentEvent::Conversation(remote)).await,
            RunEvent::Reported(_) => {}
        }
    }
    let mut run = run;
    match (&mut run.0).await {
        Ok(end) => verdict(outside, order, output, &end),
        Err(fault) => TurnEnd::Badly(format!("the run was lost: {fault}")),
    }
}

struct AbortOnDrop(tokio::task::JoinHandle<RunEnd>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Table R2: what a run's end makes of a turn that made no record.
fn verdict(outside: &Outside, order: &StartOrder, output: OutputFormat, end: &RunEnd) -> TurnEnd {
    let turn = order.turn;
    if end.cancelled {
        let by = read(outside, |reads| Ok(reads.turn(turn)?.and_then(|t| t.cancel_by))).flatten();
        return TurnEnd::Cancelled(by.unwrap_or_else(|| "drained: the daemon went down".to_owned()));
    }
    // A question of the agent's own is no failure of the round (RUN-30).
    if let (None, Some(block)) = (&end.limit, recognise(&Signs::of(output, end), &order.folder)) {
        let kind = match block.kind {
            Asks::Folder => BlockKind::Folder,
            Asks::SignIn => BlockKind::SignIn,
            Asks::Other => BlockKind::Other,
        };
        return TurnEnd::Blocked { kind, folder: block.folder, words: outside.redactor.apply(block.words) };
    }
    let minutes = |limit: &str| format!("it ran into its limit: {limit}");
    let tail =
        if end.stderr_tail.is_empty() { String::new() } else { format!("; its last words: {}", end.stderr_tail.join(" / ")) };
    let badly = match (&end.limit, &end.reported, &end.exit) {
        (Some(Limit::Total), _, _) => minutes("the intent's `timeout`"),
        (Some(Limit::Silence), _, _) => minutes("too long without output"),
        (None, Some(reported), _) => format!("the agent reported an error: {}", reported.text),
        (None, None, Ended::Exit(0)) if end.prompt_given => return TurnEnd::Well,
        (None, None, Ended::Exit(code)) => format!("the agent ended with code {code}{tail}"),
        (None, None, Ended::Signal(signal)) => format!("the agent was ended by signal {signal}{tail}"),
        (None, None, Ended::Unknown(why)) => format!("the agent's end is not known: {why}{tail}"),
    };
    if end.prompt_given { TurnEnd::Badly(badly) } else { TurnEnd::NotStarted(badly) }
}

fn run_spec(outside: &Outside, order: &StartOrder) -> Result<RunSpec, String> {
    let config = agent_config(outside, &order.agent)?;
    let folder = PathBuf::from(&order.folder);
    let permissions = outside.rules.profile.intents.get(&order.intent).map(|i| i.permissions.clone()).unwrap_or_default();
    let allowed = Allowed {
        edit: permissions.edit == Grant::Allow,
        commands: permissions.commands,
        fetch: permissions.fetch == Grant::Allow,
    };
    let resolved =
        resolve(&config, &wiring(outside, &config, order.session, &folder), &allowed).map_err(|fault| fault.to_string())?;
    if order.fork && !resolved.forks {
        return Err(format!(
            "the agent `{}` cannot promise to leave a fork's own settings alone; set `agents.{}.forks = true` to run it there all the same",
            order.agent, order.agent
        ));
    }
    let added = Added {
        session: order.session.to_string(),
        socket: outside.home.socket(),
        home: outside.home.given.clone(),
        path_first: outside.tools.clone(),
        gh_config_dir: outside.home.data.join("gh-empty"),
        tokens: outside.redactor.clone(),
    };
    let mut environment = agent_environment(&outside.environment, resolved.pass, &config.env_pass, &config.env_set, &added);
    environment.extend(resolved.environment);
    lay_out(&own_folder(outside, order.session), &resolved.files)
        .map_err(|fault| format!("the agent's settings cannot be written: {fault}; look at the rights of the home"))?;
    Ok(RunSpec {
        command: resolved.command,
        output: resolved.output,
        folder,
        environment,
        prompt: outside.redactor.apply(order.prompt.clone()),
        transcript: outside.home.transcripts().join(format!("{}.jsonl", order.turn)),
        limits: Limits { total: Duration::try_from(order.timeout).unwrap_or(Duration::from_secs(45 * 60)), ..Limits::default() },
        redact: outside.secrets.clone(),
    })
}

/// Cancels a turn: its process is asked to end, then killed; one that never began is told so at once (RUN-13).
pub(super) async fn cancel(outside: &Outside, turn: TurnId) {
    let token = outside.running().get(&turn).cloned();
    match token {
        Some(token) => {
            token.cancel();
            let mut pending = outside.hub.pending();
            while outside.running().contains_key(&turn) {
                if pending.changed().await.is_err() {
                    return;
                }
            }
        }
        None => {
            let by = read(outside, |reads| Ok(reads.turn(turn)?.and_then(|t| t.cancel_by))).flatten().unwrap_or_default();
            tell(outside, turn, AgentEvent::Ended(TurnEnd::Cancelled(by))).await;
        }
    }
}

/// Ends what is left of the process group of a turn that an earlier daemon started (RUN-35).
pub(super) async fn end_group(outside: &Outside, turn: TurnId) {
    let row = read(outside, |reads| reads.turn(turn)).flatten();
    if let Some(process) = row.and_then(|t| t.process)
        && let (Ok(pgid), Ok(pid)) = (u32::try_from(process.pgid), u32::try_from(process.pid))
    {
        let gone = end_process_group(pgid, pid, &ProcessStart::stored(&process.start), GRACE).await;
        if !gone {
            tracing::warn!(%turn, pgid, "something of an earlier turn's process group is still there");
        }
    }
    record(outside, Done::GroupEnded(turn)).await;
}
