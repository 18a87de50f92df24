//! `wloop demo`: a complete loop with no account. A small GitHub runs in this process, the real daemon beside it as a child on a
//! home of its own, and a scripted agent does the reviews. With a terminal the person drives; without one it plays through once
//! as the person over the API and checks what came of it.

mod daemon;
mod home;
mod play;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use wloop_api::client::Client;
use wloop_world::demo::DemoWorld;
use wloop_world::{Options, SmallGithub};

use crate::args::DemoArguments;
use crate::commands::follow::Stream;
use crate::context::{Context, quoted};
use crate::demo::daemon::Daemon;
use crate::demo::home::DemoHome;
use crate::failure::Failure;
use crate::output::Tone;

/// The login that the demo reviews as.
const VIEWER: &str = "sam";

/// What the demo does without asking, and a home of the person's own would ask.
const TRUSTED: &str = "this throw-away home trusts the demo's own scripted agent in its own repository; in yours, the first run of an \
                       agent in a repository asks you";

/// What every part of the demo holds.
struct Stage<'a> {
    context: &'a Context,
    github: SmallGithub,
    world: DemoWorld,
    client: Client,
    /// `wloop --home DIR`, as it works in another terminal.
    program: String,
    home: PathBuf,
    /// Whether the home goes with the demo.
    throw_away: bool,
}

/// Runs the demo to its end.
pub(crate) fn run(context: &Context, arguments: &DemoArguments) -> Result<(), Failure> {
    let once = arguments.once || !context.out.terminal || !context.input_terminal;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let done = runtime.block_on(demo(context, arguments, once));
    // Git children of the small GitHub may still be read; nothing of the demo is worth waiting for them.
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

async fn demo(context: &Context, arguments: &DemoArguments, once: bool) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::Refused(format!("the path of this program is unknown ({error}); start it by its whole path"))
    })?;
    let home = DemoHome::make(context.home_flag.as_deref())?;
    let world_fault = |error: wloop_world::WorldError| Failure::Refused(format!("the small GitHub does not start: {error}"));
    let options = Options { dir: home.path().join("github"), port: arguments.port.unwrap_or(0), seed: 1 };
    let github = SmallGithub::start(options).await.map_err(|error| match arguments.port {
        Some(port) => Failure::Refused(format!("the small GitHub does not start on port {port}: {error}; give another --port")),
        None => world_fault(error),
    })?;
    let world = wloop_world::demo::seed(&github, VIEWER).map_err(world_fault)?;
    home.write(&github.api_url(), &world.token, &home::agent_beside(&program)?)?;

    // This home is the demo's own, its agent a script and its repository a sample: there is nothing to ask about. In a home of yours
    // the first run of an agent in a repository asks you.
    let own = wloop_daemon::home::Home::resolve(Some(home.path()), &context.environment)
        .map_err(|fault| Failure::Refused(fault.to_string()))?;
    wloop_daemon::face::trust_from_the_start(&own, "demo", &world.repository).map_err(Failure::Refused)?;
    let mut daemon = Daemon::start(context, &program, home.path()).await?;
    let client = Client::connect(daemon.socket().to_path_buf(), None);
    let stage = Stage {
        context,
        github,
        world,
        client,
        program: format!("{} --home {}", quoted(&program.to_string_lossy()), quoted(&home.path().to_string_lossy())),
        home: home.path().to_path_buf(),
        throw_away: matches!(home, DemoHome::ThrowAway(_)),
    };
    let shown = async {
        // From the first event on: what happened before this line is part of the story.
        let stream = Stream::open(&stage.client, Some(0)).await?;
        if once { play::run(&stage, stream).await } else { watch::run(&stage, stream).await }
    };
    let done = tokio::select! {
        done = shown => done,
        failure = daemon.ended() => Err(failure),
        stop = stopped() => stop.and_then(|()| {
            // Without a terminal an interruption means that it was not played to its end.
            if once { Err(Failure::Refused("the demo was interrupted; start it again".to_owned())) } else { Ok(()) }
        }),
    };
    if !once {
        context.out.line(&context.out.paint(Tone::Dim, "ending: running rounds may finish first"))?;
    }
    daemon.drain().await;
    stage.github.shutdown().await;
    if once && done.is_err() {
        let kept = home.keep();
        context.out.note(&format!("kept for a look: {} (the daemon's log is {})", kept.display(), daemon::LOG));
    }
    done
}

/// Ends at Ctrl-C, at SIGTERM and when the terminal is closed.
async fn stopped() -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut hangup) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}
