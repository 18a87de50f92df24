//! `wloop sessions`, `wloop session` and `wloop hook`.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use jiff::Timestamp;
use wloop_api::client::Client;
use wloop_api::types::{HookRequest, Session};

use crate::args::{HookArguments, SessionArguments, SessionCommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Cell, Listing, Tone};
use crate::words::age;

/// How long a hook waits for the daemon: an agent stands still meanwhile (SES-03).
const HOOK_LIMIT: Duration = Duration::from_millis(40);
/// How much a hook reads of what its agent writes, in bytes.
const HOOK_INPUT: u64 = 1 << 20;

/// `wloop sessions`.
pub(crate) async fn list(context: &Context) -> Result<(), Failure> {
    let (client, out) = (context.client()?, &context.out);
    let sessions = out.progress("asking the daemon", client.sessions(None)).await?;
    if context.json { out.json(&sessions) } else { out.list(&listing(&sessions, (context.now)())) }
}

/// `wloop session close` and `wloop session prompt`.
pub(crate) async fn act(context: &Context, arguments: &SessionArguments) -> Result<(), Failure> {
    let (client, out) = (context.client()?, &context.out);
    let session = match &arguments.command {
        SessionCommand::Close { id } => out.progress("closing the session", client.close_session(id)).await?,
        SessionCommand::Prompt { id, text } => {
            let text = context.text(Some(text))?.unwrap_or_default();
            out.progress("typing", client.prompt_session(id, &text)).await?
        }
    };
    if context.json {
        return out.json(&session);
    }
    if !out.terminal {
        return out.fields(&fields(&session));
    }
    out.line(&out.paint(Tone::Plain, &format!("session {} of {} is {}", session.short, session.agent, session.state)))
}

/// `wloop hook`: tells the daemon and is silent, also where no daemon answers or what the agent wrote is not understood. An agent is
/// never held up or stopped by it.
pub(crate) fn hook(context: &Context, arguments: &HookArguments) {
    // A session that the loop started is known by itself.
    if context.session().is_none() {
        let _nobody = tell(context, arguments);
    }
}

fn tell(context: &Context, arguments: &HookArguments) -> Option<()> {
    let mut payload = Vec::new();
    std::io::stdin().take(HOOK_INPUT).read_to_end(&mut payload).ok()?;
    let mut payload: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    // What the person typed is nobody's business here.
    let kept = ["session_id", "cwd"].map(|key| (key.to_owned(), payload[key].take()));
    let payload = serde_json::Value::Object(kept.into_iter().collect());
    let report = HookRequest { event: arguments.event.clone(), agent: arguments.agent.clone(), payload };
    let client = Client::connect(context.socket().ok()?, None).with_limit(HOOK_LIMIT);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let session = runtime.block_on(client.hook(&report)).ok()?;
    // The agent offers a file whose lines its commands find in their environment: so that they speak as this session.
    let file = context.variable("CLAUDE_ENV_FILE").filter(|_| report.event == "SessionStart")?;
    let mut file = std::fs::File::options().append(true).create(true).open(file).ok()?;
    writeln!(file, "export WLOOP_SESSION={}", session.id).ok()
}

fn fields(session: &Session) -> Vec<String> {
    vec![
        session.id.clone(),
        session.state.clone(),
        session.agent.clone(),
        session.manager.clone(),
        if session.driven { "driven" } else { "unattended" }.to_owned(),
        session.folder.clone(),
        session.seen_at.to_string(),
    ]
}

fn listing(sessions: &[Session], now: Timestamp) -> Listing {
    let shown = sessions.iter().map(|session| {
        let tone = if session.driven { Tone::Good } else { Tone::Plain };
        vec![
            Cell::new(Tone::Strong, &session.short),
            Cell::plain(&session.agent),
            Cell::plain(&session.state),
            Cell::plain(if session.managed { "wloop's own" } else { "found by its hooks" }),
            Cell::new(tone, if session.driven { "acts for you" } else { "unattended" }),
            Cell::new(Tone::Dim, age(now, session.seen_at)),
            Cell::plain(&session.folder),
        ]
    });
    Listing {
        heading: vec!["ID", "AGENT", "STATE", "FROM", "ACTS", "SEEN", "FOLDER"],
        shown: shown.collect(),
        piped: sessions.iter().map(fields).collect(),
        nothing: "no session is open",
    }
}
