//! A home and the release build's daemon on it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use wloop_api::client::Client;
use wloop_tests::{PATIENCE, TOKEN, plain_environment, until};

/// Now, for what is measured.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures how long something takes")]
pub(crate) fn clock() -> Instant {
    Instant::now()
}

/// The program of the release build.
pub(crate) fn program() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder of the build");
    target.join("release/wloop")
}

/// A home that watches the small GitHub at `api_url`, with everything else as it is without a configuration.
pub(crate) fn make(home: &Path, api_url: &str) {
    std::fs::create_dir_all(home).expect("a home");
    let config = format!("[plugins.github]\napi_url = \"{api_url}\"\ntoken = \"{TOKEN}\"\n");
    std::fs::write(home.join("config.toml"), config).expect("a configuration");
}

/// A running daemon.
pub(crate) struct Daemon {
    home: PathBuf,
    child: Child,
}

impl Daemon {
    /// Starts it and waits until it answers; tells how long that took.
    pub(crate) async fn start(home: &Path) -> (Self, Duration) {
        let start = clock();
        let mut command = Command::new(program());
        command.args(["daemon", "--home"]).arg(home).env_clear().envs(plain_environment());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().expect("the daemon is spawned");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("the daemon speaks or ends").expect("a line");
        assert!(line.is_some_and(|line| line.starts_with("listening on ")), "the daemon does not start");
        let daemon = Self { home: home.to_owned(), child };
        daemon.client().status().await.expect("it answers");
        (daemon, start.elapsed())
    }

    /// The person, who calls it.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.home.join("run/wloop.sock"), None)
    }

    /// Waits until a sweep of the provider has ended well.
    pub(crate) async fn swept(&self) {
        let client = self.client();
        until("a sweep", || async {
            let status = client.status().await.map_err(|fault| fault.to_string())?;
            let github = status.providers.first().ok_or("no provider")?;
            github.last_sync.ok_or_else(|| format!("{} {:?}", github.state, github.error))
        })
        .await;
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("a running daemon")
    }

    /// Its resident memory in bytes, by its own word.
    pub(crate) async fn resident(&self) -> u64 {
        self.client().health().await.expect("its health").resident_bytes
    }

    /// The part of its resident memory that is pages of the program's and the libraries' files; `None` where the system does not tell.
    pub(crate) fn mapped(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
    }

    /// The processor time that it has used, all its threads together; `None` where the system does not tell.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        let mut used = Duration::ZERO;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.pid())).ok()? {
            let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            used += Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?);
        }
        Some(used)
    }

    /// Ends it in order.
    pub(crate) async fn stop(mut self) {
        let pid = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("its id");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is signalled");
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it drains").expect("its status");
        assert!(status.success(), "the daemon ended with {status}");
    }
}
