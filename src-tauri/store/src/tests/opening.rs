//! Opening: new, again, twice, by an older and a newer program, and after a kill in the middle.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use wloop_core::gate::{Actor, GateKind, GateStatus};

use super::fixtures::*;
use crate::migrate::{MIGRATIONS, Migration, Step};
use crate::{Store, StoreError};

const HOME: &str = "WLOOP_STORE_TEST_HOME";

/// The number of a step after all that there are.
#[expect(clippy::cast_possible_wrap, reason = "there are few steps")]
pub(super) const NEXT: i64 = MIGRATIONS.len() as i64 + 1;

/// A later step, large enough that it does not fit into memory and reaches the disk before it is committed.
const EXTRA: Migration = Migration {
    version: NEXT,
    name: "extra",
    sql: "CREATE TABLE extra (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
          INSERT INTO extra SELECT i, printf('%0400d', i) FROM n;",
};

fn later() -> Vec<Migration> {
    [MIGRATIONS, &[EXTRA]].concat()
}

fn open_later(path: &Path) -> Result<Store, StoreError> {
    Store::open_with(path, at(1), &later(), &|_| {})
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every file of the home with its bytes; the lock and the index of the log, which say nothing, left out.
fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| !path.to_string_lossy().ends_with(".lock") && !path.to_string_lossy().ends_with("-shm"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect()
}

#[test]
fn a_new_home_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/wloop.db");
    let mut store = Store::open(&path, at(0)).unwrap();
    store.write(|tx| tx.set_last_now(at(1))).unwrap();
    assert_eq!((mode(&folder.path().join("a")), mode(&folder.path().join("a/b"))), (0o700, 0o700));
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let file = entry.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!(store.path(), path);
    assert!(store.bytes() > 0);
    let setting = |name: &str| -> String {
        let value: rusqlite::types::Value = store.raw().query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap();
        format!("{value:?}")
    };
    assert_eq!(setting("journal_mode"), "Text(\"wal\")");
    for (name, value) in [("synchronous", 2), ("foreign_keys", 1), ("trusted_schema", 0), ("busy_timeout", 5000)] {
        assert_eq!(setting(name), format!("Integer({value})"), "{name}");
    }
}

#[test]
fn every_table_is_strict() {
    let home = Home::new();
    let loose: i64 = home
        .store
        .raw()
        .query_row(
            "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(loose, 0);
}

#[test]
fn each_start_has_its_own_number_and_an_orderly_stop_is_noted_once() {
    let mut home = Home::new();
    let path = home.path();
    assert_eq!((home.store.generation(), home.store.stopped_before()), (1, None));
    home.write(|tx| tx.set_stopped(at(7))).unwrap();
    let Home { folder, store } = home;
    drop(store);
    let second = Store::open(&path, at(8)).unwrap();
    assert_eq!((second.generation(), second.stopped_before()), (2, Some(at(7))));
    drop(second);
    let third = Store::open(&path, at(9)).unwrap();
    assert_eq!((third.generation(), third.stopped_before()), (3, None));
    drop(folder);
}

#[test]
fn a_home_is_held_by_one() {
    // F50
    let home = Home::new();
    let path = home.path();
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(matches!(&refused, StoreError::Held { path: held } if *held == path), "{refused:?}");
    let Home { folder, store } = home;
    drop(store);
    drop(Store::open(&path, at(0)).unwrap());
    drop(folder);
}

#[test]
fn a_newer_schema_is_refused_and_not_a_byte_is_touched() {
    // F50
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wloop.db");
    drop(open_later(&path).unwrap());
    let check = |folder: &Path| {
        let before = bytes(folder);
        let refused = Store::open(&folder.join("wloop.db"), at(2)).unwrap_err();
        assert!(matches!(refused, StoreError::Newer { found: NEXT, known, .. } if known == NEXT - 1), "{refused:?}");
        let told = format!("version {NEXT} and this program knows {}", NEXT - 1);
        assert!(refused.to_string().contains(&told), "{refused}");
        assert_eq!(bytes(folder), before);
    };
    check(folder.path());

    // One that was killed: what counts stands in the log.
    let mut store = open_later(&path).unwrap();
    store.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    let killed = tempfile::tempdir().unwrap();
    for (name, content) in bytes(folder.path()) {
        fs::write(killed.path().join(name), content).unwrap();
    }
    assert!(bytes(killed.path()).get("wloop.db-wal").is_some_and(|log| !log.is_empty()), "the log is there");
    check(killed.path());

    // One that never had a log.
    store.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(store);
    let plain = rusqlite::Connection::open(&path).unwrap();
    plain.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).unwrap();
    drop(plain);
    check(folder.path());
}

#[test]
fn a_path_with_odd_characters_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a %41?x=1#y/wloop.db");
    drop(Store::open(&path, at(0)).unwrap());
    assert_eq!(Store::open(&path, at(0)).unwrap().generation(), 2);
}

#[test]
fn an_altered_step_is_refused() {
    // F50
    let home = Home::new();
    let path = home.path();
    let Home { folder, store } = home;
    drop(store);
    let altered = [&[Migration { sql: "SELECT 1;", ..MIGRATIONS[0] }], &MIGRATIONS[1..]].concat();
    let before = bytes(folder.path());
    let refused = Store::open_with(&path, at(0), &altered, &|_| {}).unwrap_err();
    assert!(matches!(&refused, StoreError::Altered { version: 1, name, .. } if name == "ledger"), "{refused:?}");
    assert_eq!(bytes(folder.path()), before);
}

#[test]
fn the_steps_count_from_one_without_gaps() {
    let versions: Vec<i64> = MIGRATIONS.iter().map(|migration| migration.version).collect();
    let expected: Vec<i64> = (1..).take(MIGRATIONS.len()).collect();
    assert_eq!(versions, expected);
    assert_eq!(Some(&Store::schema_version()), expected.last());
}

#[test]
fn a_backup_is_made_before_a_step_and_opens_with_the_older_program() {
    // F50
    let mut home = Home::new();
    let path = home.path();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    let Home { folder, store } = home;
    drop(store);
    let backup = folder.path().join(format!("wloop.db.before-{NEXT}"));
    assert!(!folder.path().join("wloop.db.before-1").exists(), "an empty ledger needs none");
    let steps = std::cell::RefCell::new(Vec::new());
    let store = Store::open_with(&path, at(1), &later(), &|step| steps.borrow_mut().push(step)).unwrap();
    assert_eq!(*steps.borrow(), [Step::BackedUp(NEXT), Step::Uncommitted(NEXT)], "the backup comes first");
    assert!(store.read().unit(&unit(1)).unwrap().is_some());
    assert_eq!(mode(&backup), 0o600);
    let names: Vec<String> = bytes(folder.path()).into_keys().filter(|name| name.contains("before")).collect();
    assert_eq!(names, [format!("wloop.db.before-{NEXT}")], "nothing half made is left");
    let restored = Store::open(&backup, at(2)).unwrap();
    assert_eq!(restored.generation(), 2);
    assert!(restored.read().unit(&unit(1)).unwrap().is_some());
}

#[test]
fn a_backup_by_hand_is_complete() {
    let mut home = Home::new();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    let target = home.folder.path().join("copy.db");
    fs::write(&target, "something older").unwrap();
    home.store.backup_to(&target).unwrap();
    home.write(|tx| tx.put_unit(&unit_row(2), at(0))).unwrap();
    home.store.checkpoint().unwrap();
    let copy = Store::open(&target, at(2)).unwrap();
    assert!(copy.read().unit(&unit(1)).unwrap().is_some());
    assert!(copy.read().unit(&unit(2)).unwrap().is_none());
}

#[test]
#[ignore = "another test starts it as a process of its own and lets it die"]
#[expect(clippy::disallowed_methods, reason = "the test that starts this process names the home this way")]
fn dies_in_the_middle_of_a_step() {
    let Ok(path) = std::env::var(HOME) else {
        return;
    };
    let opened = Store::open_with(Path::new(&path), at(1), &later(), &|step| {
        if step == Step::Uncommitted(NEXT) {
            std::process::abort();
        }
    });
    panic!("it was to die: {opened:?}");
}

#[test]
fn killed_in_the_middle_of_a_step_the_data_are_as_before_and_the_next_start_goes_on() {
    // F50
    let mut home = Home::new();
    let path = home.path();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    let Home { folder, store } = home;
    drop(store);
    let died = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::opening::dies_in_the_middle_of_a_step", "--ignored", "--nocapture"])
        .env(HOME, &path)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(died.status.code(), None, "it ends by a signal: {}", String::from_utf8_lossy(&died.stderr));
    let log = fs::metadata(folder.path().join("wloop.db-wal")).unwrap().len();
    assert!(log > 1_000_000, "the step had reached the disk: {log} bytes");

    let old = Store::open(&path, at(2)).unwrap();
    assert!(old.read().unit(&unit(1)).unwrap().is_some(), "the older program goes on with the data as before");
    drop(old);
    let new = open_later(&path).unwrap();
    assert!(new.read().unit(&unit(1)).unwrap().is_some());
    let rows: i64 = new.raw().query_row("SELECT count(*) FROM extra", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 20_000);
    drop(new);
    drop(open_later(&path).unwrap());
}

#[test]
fn a_step_that_loses_a_reference_is_not_kept() {
    // F50
    let mut home = Home::with_turns();
    let path = home.path();
    home.write(|tx| tx.set_last_now(at(3))).unwrap();
    let Home { folder, store } = home;
    drop(store);
    let careless = [MIGRATIONS, &[Migration { version: NEXT, name: "careless", sql: "DELETE FROM session;" }]].concat();
    let refused = Store::open_with(&path, at(1), &careless, &|_| {}).unwrap_err();
    assert!(matches!(&refused, StoreError::Refused { rule } if rule.contains("`turn`")), "{refused:?}");
    let store = Store::open(&path, at(2)).unwrap();
    assert!(store.read().session(id(1)).unwrap().is_some());
    drop(folder);
}

#[test]
fn what_is_no_ledger_is_refused_and_left_alone() {
    // F50
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wloop.db");
    fs::write(
        &path,
        "my shopping list, which is longer than a header of a hundred bytes and is surely not a database of any kind",
    )
    .unwrap();
    let before = bytes(folder.path());
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused:?}");
    assert_eq!(bytes(folder.path()), before);

    fs::remove_file(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE song (name TEXT)").unwrap();
    drop(other);
    let before = bytes(folder.path());
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(matches!(refused, StoreError::Foreign { .. }), "{refused:?}");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE migration (id TEXT)").unwrap();
    drop(other);
    assert_ne!(bytes(folder.path()), before);
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(matches!(refused, StoreError::Foreign { .. }), "{refused:?}");

    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused:?}");
}

#[test]
fn a_damaged_ledger_is_called_damaged() {
    // F50
    let home = Home::with_turns();
    let path = home.path();
    let Home { folder, store } = home;
    drop(store);
    let mut content = fs::read(&path).unwrap();
    for byte in &mut content[4096..] {
        *byte = 0xa5;
    }
    fs::write(&path, &content).unwrap();
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), content);
    drop(folder);
}

#[test]
fn a_check_finds_a_damaged_page_that_the_opening_does_not_read() {
    // F50
    let home = Home::with_turns();
    let path = home.path();
    let Home { folder, store } = home;
    assert!(store.check().is_ok());
    store.checkpoint().unwrap();
    drop(store);
    let mut content = fs::read(&path).unwrap();
    let last = content.len() - 4096;
    for byte in &mut content[last..] {
        *byte = 0xa5;
    }
    fs::write(&path, &content).unwrap();
    let found = Store::open(&path, at(0)).and_then(|store| store.check());
    assert!(matches!(found, Err(StoreError::Damaged { .. })), "{found:?}");
    drop(folder);
}

#[test]
fn gates_that_an_older_program_wrote_are_as_they_were_and_as_well_kept() {
    // F50, GATE-04
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wloop.db");
    let (open, plan) = (gate_row(1, GateKind::Draft), approved(2, GateKind::Plan));
    {
        let mut old = Store::open_with(&path, at(0), &MIGRATIONS[..6], &|_| {}).unwrap();
        let rows = [&open, &plan];
        old.write(|tx| {
            tx.put_unit(&unit_row(1), at(0))?;
            rows.into_iter().try_for_each(|row| tx.insert_gate(row))
        })
        .unwrap();
    }
    let mut now = Store::open(&path, at(1)).unwrap();
    assert_eq!(now.read().gate(id(1)).unwrap().as_ref(), Some(&open));
    assert_eq!(now.read().gate(id(2)).unwrap().as_ref(), Some(&plan));
    let reopened = now.write(|tx| tx.close_gate(id(2), &closed(&plan, GateStatus::Superseded, Actor::Daemon)));
    assert!(reopened.is_err(), "a closed gate stays closed");
    now.write(|tx| tx.close_gate(id(1), &closed(&open, GateStatus::Rejected, Actor::Rule("r".into())))).unwrap();
    now.check().unwrap();
}

#[test]
fn the_steps_of_the_schema_are_as_they_were_released() {
    // F50
    let known: Vec<(i64, String)> = MIGRATIONS.iter().map(|step| (step.version, step.hash())).collect();
    let released = [
        (1, "1b6f29a70e96563411274b1382fd9025f5ac1e89cb57cbeb885129e3c3ce9983".to_owned()),
        (2, "9530003298f3c3638983d3b5703c6a5d84985d7a0b197a568345aa843ef3d500".to_owned()),
        (3, "49cb9522bf5601993d72d8a4e937a94477e7aed28c76bfc170c90a0473fafb89".to_owned()),
        (4, "8068384ce923ece3c72ad81efb2b758a8d43de805a21072020e5d14bd781c8d6".to_owned()),
        (5, "53148079738a09e6e3722677b70b3d963037cddc8ee0b4359b18eabfdc850d43".to_owned()),
        (6, "567740736596c208879ff12a96388139a5efddafce568c8903c0b0bee9f33c30".to_owned()),
        (7, "2468b64730c49b6012b5a38b5514c32e4be2e318edb39fc05ecffe5e8950928a".to_owned()),
    ];
    assert_eq!(known, released, "a step that was released keeps its bytes: add a new one instead");
}
