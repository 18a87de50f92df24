//! The budgets that only the whole program shows: the release build's daemon and command line as processes of their own, on a ledger
//! with 100,000 gates, 1,000,000 events and 10,000 watched pull requests, and on an empty one.
//!
//! It prints a Markdown table; with `--write` it puts the table into the README too. The lines about predicates come from the last
//! run of `cargo bench -p wloop-core --bench predicate`.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark that cannot be set up ends, and one that is done says what it found"
)]

mod fill;
mod home;
mod table;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rusqlite::Connection;
use wloop_api::client::Client;
use wloop_api::types::Resolve;
use wloop_tests::{ME, TOKEN, plain_environment};
use wloop_world::{AccountKind, Options, SmallGithub};

use crate::home::{Daemon, clock};
use crate::table::{Table, criterion, mib, ms, quantile};

/// Gates that are resolved.
const RESOLVED: usize = 2_000;
/// Those before them that are not counted.
const WARM_UP: usize = 100;
/// Calls of a whole process.
const CALLS: usize = 200;
/// Starts of the daemon.
const STARTS: usize = 11;
/// How long an idle daemon is watched.
const IDLE: Duration = Duration::from_secs(20);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo names the mode: a test run of all targets only wants to know that this builds.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    assert!(home::program().is_file(), "build the program first: cargo build --release -p wloop-cli");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut table = Table::default();
    predicates(&mut table);
    runtime.block_on(whole(&mut table));
    let shown = table.shown();
    println!("{shown}");
    if arguments.iter().any(|argument| argument == "--write") {
        let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
        match table::write(&readme, &shown) {
            Ok(()) => eprintln!("written into README.md"),
            Err(why) => eprintln!("not written: {why}"),
        }
    }
}

/// What criterion found out about predicates.
fn predicates(table: &mut Table) {
    for (what, group, part) in
        [("a predicate of two terms", "predicate_two_terms", 4.0), ("a predicate of ten terms", "predicate_ten_terms", 15.0)]
    {
        let budget = format!("at most 1/{part} of the `cel` crate");
        match (criterion(group, "wloop"), criterion(group, "cel")) {
            (Some(ours), Some(theirs)) => {
                let measured = format!("{:.2} µs, 1/{:.1} of `cel` ({:.2} µs)", ours / 1e3, theirs / ours, theirs / 1e3);
                table.add(what, measured, &budget, ours * part <= theirs);
            }
            _ => eprintln!("{what}: not measured; run `cargo bench -p wloop-core --bench predicate` first"),
        }
    }
}

async fn whole(table: &mut Table) {
    // The folder of the build and not the system's one for what is temporary, which is memory on many machines.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let world =
        SmallGithub::start(Options { dir: folder.path().join("world"), port: 0, seed: 7 }).await.expect("the small github");
    world.add_user(ME, AccountKind::User);
    world.add_token(ME, TOKEN);
    let size = std::fs::metadata(home::program()).expect("the program").len();
    table.add("size of the release binary", format!("{:.1} MB", size as f64 / 1e6), "< 25 MB", size < 25_000_000);

    let empty = folder.path().join("empty");
    home::make(&empty, &world.api_url());
    idle(table, &empty).await;

    let full = folder.path().join("full");
    home::make(&full, &world.api_url());
    eprintln!("filling a ledger with {} gates, {} events and {} units", fill::GATES, fill::EVENTS, fill::UNITS);
    let start = clock();
    let open = fill::fill(&full.join("state.db"), now());
    eprintln!("filled in {:.1} s", start.elapsed().as_secs_f64());
    let (daemon, _) = Daemon::start(&full).await;
    let started = daemon.resident().await;
    daemon.swept().await;
    let swept = daemon.resident().await;
    resolving(table, &daemon.client(), &open, folder.path()).await;
    status(table, &full);
    let worked = daemon.resident().await;
    let most = started.max(swept).max(worked);
    let measured = format!(
        "{} (at its start {}, after a sweep {}, after {RESOLVED} decisions {})",
        mib(most),
        mib(started),
        mib(swept),
        mib(worked)
    );
    table.add("daemon memory, 10,000 units watched", measured, "< 64 MiB", most < 64 << 20);
    daemon.stop().await;
    starts(table, &full).await;
}

#[expect(clippy::disallowed_methods, reason = "the rows of the ledger end about now, as the daemon's clock shows it")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// An empty daemon: its memory, and what it does while there is nothing to do.
async fn idle(table: &mut Table, home: &Path) {
    let (daemon, _) = Daemon::start(home).await;
    daemon.swept().await;
    // What the first sweep left behind ends.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let resident = daemon.resident().await;
    let mapped =
        daemon.mapped().map(|mapped| format!(" ({} of it pages of the program's file)", mib(mapped))).unwrap_or_default();
    table.add("daemon memory, nothing watched", mib(resident) + &mapped, "< 16 MiB", resident < 16 << 20);
    let before = daemon.processor_time();
    tokio::time::sleep(IDLE).await;
    if let Some((after, before)) = daemon.processor_time().zip(before) {
        let part = after.saturating_sub(before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
        table.add("idle daemon over 20 s", format!("{part:.3} % of one core"), "< 0.2 %", part < 0.2);
    }
    daemon.stop().await;
}

/// Resolving gates over the socket, each beside a bare durable commit of SQLite.
async fn resolving(table: &mut Table, client: &Client, open: &[String], folder: &Path) {
    let bare = Connection::open(folder.join("bare.db")).expect("a database");
    bare.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).expect("a write-ahead log");
    bare.pragma_update(None, "synchronous", "FULL").expect("durable commits");
    bare.execute_batch("CREATE TABLE line (id INTEGER PRIMARY KEY, words TEXT NOT NULL)").expect("a table");
    let (mut commits, mut resolved) = (Vec::new(), Vec::new());
    for (n, id) in open.iter().take(WARM_UP + RESOLVED).enumerate() {
        let start = clock();
        bare.execute("INSERT INTO line (words) VALUES (?1)", [id]).expect("a line");
        let commit = start.elapsed();
        let start = clock();
        let gate = client.resolve(id, "skip", &Resolve::default()).await.expect("the gate is resolved");
        let took = start.elapsed();
        assert_eq!(gate.status, "rejected", "gate {id}");
        if n >= WARM_UP {
            commits.push(commit);
            resolved.push(took);
        }
    }
    commits.sort_unstable();
    resolved.sort_unstable();
    let [bare, half, most] = [quantile(&commits, 0.5), quantile(&resolved, 0.5), quantile(&resolved, 0.99)];
    let ratio = half.as_secs_f64() / bare.as_secs_f64();
    let measured = format!("{}, {ratio:.1} × a bare commit ({})", ms(half), ms(bare));
    table.add("resolving a gate, 100,000 in the store: p50", measured, "at most 8 × a bare durable commit", ratio <= 8.0);
    let last = quantile(&resolved, 1.0);
    let measured =
        format!("{} (p99 of the bare commit {}, the longest of {RESOLVED} {})", ms(most), ms(quantile(&commits, 0.99)), ms(last));
    table.add("resolving a gate: p99", measured, "< 5 ms", most < Duration::from_millis(5));
}

/// One call of a program as a whole process, its output thrown away.
fn call(program: &Path, arguments: &[&str]) -> Duration {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(plain_environment());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = clock();
    let status = command.status().expect("the program runs");
    let took = start.elapsed();
    assert!(status.success(), "`{}` ended with {status}", program.display());
    took
}

/// `wloop status` against the running daemon, beside `gh --version` where there is one.
fn status(table: &mut Table, home: &Path) {
    let gh = Path::new("gh");
    let has_gh = Command::new(gh).arg("--version").stdin(Stdio::null()).output().is_ok_and(|output| output.status.success());
    let home = home.to_str().expect("a folder with a plain name");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        ours.push(call(&home::program(), &["--home", home, "status"]));
        if has_gh {
            theirs.push(call(gh, &["--version"]));
        }
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    let (half, most) = (quantile(&ours, 0.5), quantile(&ours, 0.95));
    let what = "`wloop status` as a whole process: p50";
    if has_gh {
        let beside = quantile(&theirs, 0.5);
        let measured = format!("{} (p95 {}), `gh --version` {}", ms(half), ms(most), ms(beside));
        table.add(what, measured, "at most 1/4 of `gh --version`", half * 4 <= beside);
    } else {
        table.add(what, format!("{} (p95 {})", ms(half), ms(most)), "< 7 ms", half < Duration::from_millis(7));
    }
}

/// Starts of the daemon on the filled ledger, from the spawn to its first answer.
async fn starts(table: &mut Table, home: &Path) {
    let mut took = Vec::new();
    for _ in 0..STARTS {
        let (daemon, start) = Daemon::start(home).await;
        took.push(start);
        daemon.stop().await;
    }
    took.sort_unstable();
    let (half, most) = (quantile(&took, 0.5), quantile(&took, 1.0));
    let measured = format!("{} (the longest of {STARTS} {})", ms(half), ms(most));
    table.add("daemon start to its first answer, 1,000,000 events", measured, "< 300 ms", half < Duration::from_millis(300));
}
