//! The `gh` on an agent's path, at the daemon's side (GH-PUB-23 to GH-PUB-26): a write becomes a call of `github_post` of the same
//! session, with the same checks and the same ledger; a command that only reads is run here, by the real `gh`, away from the agent:
//! its token is in the environment of that one process, its folder is an empty one of the daemon's, so that no configuration that
//! an agent could write is read, and what it prints goes back with every token hidden.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use wloop_agents::gh::{self, AnswerForm, Call, Posted, Site, Target};
use wloop_agents::process::find_program;
use wloop_agents::tools::check_arguments;
use wloop_api::types::{GhAnswer, GhRequest, ToolAnswer};
use wloop_core::github::{ReviewEvent, Shape};
use wloop_core::id::{PostId, SessionId};
use wloop_store::StoreError;

use crate::engine::Reply;
use crate::input::{Caller, Input, Request};
use crate::refusal::EngineError;
use crate::runner::Outside;
use crate::tool;

/// How long the real `gh` may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How much of its output is given back, in bytes.
const OUTPUT: usize = 8 << 20;
/// What it gets of the daemon's environment: how the network is reached, and nothing else.
const NETWORK: [&str; 10] = [
    "PATH",
    "LANG",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

fn refused(words: impl std::fmt::Display) -> GhAnswer {
    // One line, whatever the words hold.
    let words = words.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    GhAnswer { code: 1, out: String::new(), err: format!("gh: {words}\n") }
}

/// One call of `gh` by a session.
///
/// # Errors
/// When the ledger fails.
pub(crate) async fn call(outside: &Outside, session: SessionId, asked: &GhRequest) -> Result<GhAnswer, StoreError> {
    let site = Site { host: host(&outside.addresses.web) };
    let call = match gh::classify(&asked.arguments, &site, &asked.files) {
        Ok(call) => call,
        Err(why) => return Ok(refused(why)),
    };
    match call {
        Call::Help => Ok(GhAnswer { code: 0, out: format!("{}\n", gh::ALLOWED), err: String::new() }),
        Call::Write { target, arguments, form } => write(outside, session, &target, arguments, &form).await,
        Call::Read(argv) => match brief(outside, session).await? {
            Ok((repo, _)) => Ok(read(outside, &site, &repo, &argv).await),
            Err(why) => Ok(refused(why)),
        },
    }
}

fn host(web: &str) -> String {
    let rest = web.split_once("://").map_or(web, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// A call of a tool by that session, as the route for tools makes it.
async fn ask(outside: &Outside, session: SessionId, name: &str, arguments: Value) -> Result<Result<Reply, String>, StoreError> {
    let call = match check_arguments(name, &arguments) {
        Ok(call) => call,
        Err(refusal) => return Ok(Err(format!("{}; {}", refusal.message, refusal.hint))),
    };
    if let Some(refusal) = crate::tool::holds_a_token(outside, &arguments) {
        return Ok(Err(refusal.detail));
    }
    let request = Request::Tool { session, call, arguments };
    match outside.hub.ask(Input::Request { caller: Caller::Session(session), request }).await {
        Ok(reply) => Ok(Ok(reply)),
        Err(EngineError::Refused(refusal)) => Ok(Err(refusal.detail)),
        Err(EngineError::Store(fault)) => Err(fault),
    }
}

/// The repository and the pull request of the session's turn. The first call of an agent takes its turn up (RUN-20).
async fn brief(outside: &Outside, session: SessionId) -> Result<Result<(String, u64), String>, StoreError> {
    Ok(ask(outside, session, "task_read", json!({ "include": ["brief"] })).await?.and_then(|reply| {
        let Reply::Tool(task) = reply else { return Err("the turn is not known; call again".to_owned()) };
        let (repo, number) = (task["unit"]["repo"].as_str(), task["unit"]["number"].as_u64());
        repo.map(str::to_owned).zip(number).ok_or_else(|| "the turn's pull request is not known".to_owned())
    }))
}

async fn write(
    outside: &Outside,
    session: SessionId,
    target: &Target,
    arguments: Value,
    form: &AnswerForm,
) -> Result<GhAnswer, StoreError> {
    let (repo, number) = match brief(outside, session).await? {
        Ok(unit) => unit,
        Err(why) => return Ok(refused(why)),
    };
    let other = target.repo.as_ref().is_some_and(|named| !named.eq_ignore_ascii_case(&repo))
        || target.number.is_some_and(|named| named != number);
    if other {
        return Ok(refused(format!("this round is about {repo}#{number} and writes on no other pull request")));
    }
    let post = match ask(outside, session, "github_post", arguments).await? {
        Ok(Reply::ToolWaits { post, .. }) => post,
        Ok(_) => return Ok(refused("the call came to nothing; call it again")),
        Err(why) => return Ok(refused(why)),
    };
    match tool::settled(outside, post, Duration::from_secs(150)).await? {
        ToolAnswer::Refused(refusal) => Ok(refused(format!("{}; {}", refusal.message, refusal.hint))),
        ToolAnswer::Done(answer) if answer["state"] == "held" => {
            let note =
                "it is not posted: it waits for the person at a gate of its own; end your task, and do not try another way";
            Ok(GhAnswer { code: 0, out: String::new(), err: format!("gh: {note}\n") })
        }
        ToolAnswer::Done(_) => {
            let (url, json) = made(outside, post, &repo, number)?;
            let out = match form {
                AnswerForm::Silent => String::new(),
                AnswerForm::Address => format!("{url}\n"),
                AnswerForm::Json => format!("{json}\n"),
                AnswerForm::Member(name) => match &json[name] {
                    Value::Null => "\n".to_owned(),
                    Value::String(text) => format!("{text}\n"),
                    other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => format!("{other}\n"),
                },
            };
            Ok(GhAnswer { code: 0, out, err: String::new() })
        }
    }
}

/// The address of a post that was made, and the JSON in which the API would have answered.
fn made(outside: &Outside, id: PostId, repo: &str, number: u64) -> Result<(String, Value), StoreError> {
    let (post, viewer) = outside.hub.read(|reads| Ok::<_, StoreError>((reads.post(id)?, reads.provider("github")?)))?;
    let viewer = viewer.and_then(|row| row.viewer);
    let Some((post, remote)) = post.and_then(|post| post.remote.clone().map(|remote| (post, remote))) else {
        // Found again without its numbers: that it is there is all that is known.
        return Ok((String::new(), json!({})));
    };
    let state = match &post.shape {
        Shape::Review { event: ReviewEvent::Approve, .. } => "APPROVED",
        Shape::Review { event: ReviewEvent::RequestChanges, .. } => "CHANGES_REQUESTED",
        Shape::Review { event: ReviewEvent::Comment, .. } => "COMMENTED",
        Shape::Comment | Shape::Reply { .. } => "",
    };
    let in_reply_to = if let Shape::Reply { in_reply_to } = &post.shape { Some(*in_reply_to) } else { None };
    let at = post.changed_at.round(jiff::Unit::Second).unwrap_or(post.changed_at).to_string();
    let posted = Posted {
        api: &outside.addresses.api,
        repo,
        number,
        database_id: remote.database_id,
        node_id: &remote.node_id,
        url: &remote.url,
        body: &post.body,
        login: viewer.as_ref().map_or("", |v| v.login.as_str()),
        login_id: viewer.as_ref().map_or("", |v| v.id.as_str()),
        state,
        head: &post.head,
        in_reply_to,
        at: &at,
    };
    Ok((remote.url.clone(), gh::answer_json(post.shape.name(), &posted)))
}

/// Runs the real `gh` on a command that only reads.
async fn read(outside: &Outside, site: &Site, repo: &str, argv: &[String]) -> GhAnswer {
    let path = outside.environment.get("PATH").map_or("", String::as_str);
    // A daemon that was started by an agent's shell may have our own `gh` first on its path.
    let path: Vec<&str> = path.split(':').filter(|folder| !is_ours(&Path::new(folder).join("gh"))).collect();
    let Some(program) = find_program("gh", &path.join(":"), Path::new("/")) else {
        return refused(
            "the real `gh` is not installed, and this command needs it; use `task_read` and git instead, or ask the person to install it",
        );
    };
    let Some(token) = &outside.token else {
        return refused("wloop has no token for github; the person sets `plugins.github.token`");
    };
    let folder = match empty_folder(outside) {
        Ok(folder) => folder,
        Err(fault) => return refused(format!("a folder for `gh` cannot be made: {fault}; look at the rights of the home")),
    };
    let mut environment: BTreeMap<String, String> = outside
        .environment
        .iter()
        .filter(|(name, _)| NETWORK.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let own = folder.display().to_string();
    for name in ["HOME", "GH_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        environment.insert(name.to_owned(), own.clone());
    }
    // As `gh` itself tells them apart: a token is for github.com and its tenants, or for the host of an enterprise.
    let hosted = site.host == "github.com" || site.host.ends_with(".ghe.com");
    let token_name = if hosted { "GH_TOKEN" } else { "GH_ENTERPRISE_TOKEN" };
    for (name, value) in [
        (token_name, token.expose_secret()),
        ("GH_HOST", &site.host),
        ("GH_REPO", &format!("{}/{repo}", site.host)),
        ("GH_PROMPT_DISABLED", "1"),
        ("GH_NO_UPDATE_NOTIFIER", "1"),
        ("GH_NO_EXTENSION_UPDATE_NOTIFIER", "1"),
        ("GH_SPINNER_DISABLED", "1"),
        ("GH_PAGER", "cat"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("NO_COLOR", "1"),
        ("CLICOLOR", "0"),
    ] {
        environment.insert(name.to_owned(), value.to_owned());
    }
    let ran = run(&program, argv, &environment, &folder).await;
    let _gone = std::fs::remove_dir_all(&folder);
    match ran {
        Ok((code, out, err)) => GhAnswer { code, out: outside.redactor.apply(out), err: outside.redactor.apply(err) },
        Err(why) => refused(why),
    }
}

/// Whether a program is this one under another name.
fn is_ours(program: &Path) -> bool {
    let same = |me: PathBuf| program.canonicalize().is_ok_and(|real| me.canonicalize().is_ok_and(|me| me == real));
    std::env::current_exe().is_ok_and(same)
}

/// A folder of one call's own, for its owner alone.
fn empty_folder(outside: &Outside) -> std::io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    use std::sync::atomic::{AtomicU64, Ordering};
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let all = outside.home.run.join("gh");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
    let folder = all.join(format!("{}-{}", outside.hub.generation(), CALLS.fetch_add(1, Ordering::Relaxed)));
    // What an earlier daemon left under this name is not looked at.
    let _old = std::fs::remove_dir_all(&folder);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

async fn run(
    program: &Path,
    argv: &[String],
    environment: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<(i32, String, String), String> {
    let child = tokio::process::Command::new(program)
        .args(argv)
        .env_clear()
        .envs(environment)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|fault| format!("`{}` cannot be started: {fault}", program.display()))?;
    let done = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    let output = done.map_err(|_| format!("`gh` took longer than {} s; ask for less", LIMIT.as_secs()))?;
    let output = output.map_err(|fault| format!("`gh` was lost: {fault}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.get(..OUTPUT).unwrap_or(bytes)).into_owned();
    Ok((output.status.code().unwrap_or(1), text(&output.stdout), text(&output.stderr)))
}
