//! What a durable commit of the ledger costs, against a bare one of SQLite on the same disk in the same run.
#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up ends")]

use std::path::Path;

use criterion::Criterion;
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_store::{NewEvent, Store, StoreError};

/// A table of one column, written as durably as the ledger is.
fn bare(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a database");
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).expect("a write-ahead log");
    connection.pragma_update(None, "synchronous", "FULL").expect("durable commits");
    connection.execute_batch("CREATE TABLE line (id INTEGER PRIMARY KEY, words TEXT NOT NULL)").expect("a table");
    connection
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    // The folder of the build and not the system's one for what is temporary, which is memory on many machines.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let now = Timestamp::from_second(1_796_083_200).expect("a time");
    let bare = bare(&folder.path().join("bare.db"));
    let mut store = Store::open(&folder.path().join("state.db"), now).expect("a ledger");
    let event = NewEvent {
        kind: EventKind::HealthChanged,
        key: "github".to_owned(),
        data: json!({ "now": "ok" }),
        unit: None,
        task: None,
        gate: None,
        turn: None,
        post: None,
        actor: Actor::Daemon,
        chain: Vec::new(),
    };
    let mut group = criterion.benchmark_group("commit");
    group.bench_function("bare", |bencher| {
        bencher.iter(|| bare.execute("INSERT INTO line (words) VALUES ('ok')", []).expect("a line"));
    });
    group.bench_function("event", |bencher| {
        bencher.iter(|| store.write::<_, StoreError>(|tx| tx.insert_event(&event, now)).expect("an event"));
    });
    group.finish();
    criterion.final_summary();
}
