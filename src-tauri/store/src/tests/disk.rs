//! Disks that are full or may not be written. They are made with `mount`, which needs the rights of root: without them the full
//! disk is skipped with a word, and the read-only ones are made with file rights.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fixtures::*;
use super::opening::NEXT;
use crate::migrate::{MIGRATIONS, Migration};
use crate::{Store, StoreError};

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

fn mount(arguments: &[&str], on: &Path) -> bool {
    let done = Command::new("mount").args(arguments).arg(on).output();
    done.is_ok_and(|output| output.status.success())
}

/// Something mounted, taken away at the end.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("--lazy").arg(&self.0).output();
        assert!(done.is_ok_and(|output| output.status.success()), "`{}` stays mounted", self.0.display());
    }
}

/// Lets nobody write the file or the folder, as long as the answer lives.
fn read_only(path: &Path) -> Option<Mounted> {
    if !is_root() {
        let mode = if path.is_dir() { 0o500 } else { 0o400 };
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        return None;
    }
    let name = path.to_str().unwrap();
    if !mount(&["--bind", name], path) {
        return None;
    }
    let mounted = Mounted(path.to_path_buf());
    assert!(mount(&["-o", "remount,bind,ro"], path), "`{name}` does not become read-only");
    Some(mounted)
}

fn skipped(path: &Path) -> bool {
    let probe = if path.is_dir() { path.join("probe") } else { path.to_path_buf() };
    let writable = fs::OpenOptions::new().append(true).create(path.is_dir()).open(probe).is_ok();
    if writable {
        println!("skipped: `{}` cannot be made read-only here", path.display());
    }
    writable
}

#[test]
fn a_read_only_file_is_refused_and_says_so() {
    // F50
    let mut home = Home::new();
    let path = home.path();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    let Home { folder, store } = home;
    drop(store);
    let before = fs::read(&path).unwrap();
    let held = read_only(&path);
    if skipped(&path) {
        return;
    }
    let refused = Store::open(&path, at(1)).unwrap_err();
    assert!(matches!(&refused, StoreError::ReadOnly { path: named } if *named == path), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(held);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert!(Store::open(&path, at(1)).unwrap().read().unit(&unit(1)).unwrap().is_some());
    drop(folder);
}

#[test]
fn a_read_only_folder_is_refused_and_says_so() {
    // F50
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("home");
    let path = inside.join("wloop.db");
    drop(Store::open(&path, at(0)).unwrap());
    fs::remove_file(inside.join("wloop.db.lock")).unwrap();
    let before = fs::read(&path).unwrap();
    let held = read_only(&inside);
    if skipped(&inside) {
        return;
    }
    let refused = Store::open(&path, at(1)).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused:?}");
    assert!(refused.to_string().contains("read-only"), "{refused}");
    let refused = Store::open(&inside.join("deeper/wloop.db"), at(1)).unwrap_err();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    drop(held);
    fs::set_permissions(&inside, Permissions::from_mode(0o700)).unwrap();
    drop(Store::open(&path, at(1)).unwrap());
}

/// Takes all the room that is left.
fn fill(file: &Path) {
    let mut filler = fs::File::create(file).unwrap();
    for size in [65_536, 4096, 1] {
        let block = vec![7_u8; size];
        while filler.write_all(&block).is_ok() {}
    }
}

#[test]
fn a_disk_that_fills_up_inside_a_part_ends_the_whole_change() {
    // F50, CONS-01: the failure takes back the whole transaction, and what follows it must not be kept by itself.
    let mut home = Home::new();
    let pages: i64 = home.store.raw().query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    home.store.raw().query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    let mut seen_ended = false;
    let fault = home.store.write(|tx| {
        for n in 1..10_000 {
            let part = tx.sheltered(|| tx.put_unit(&unit_row(n), at(0)));
            seen_ended |= !tx.is_under_way();
            part?;
        }
        Ok::<_, StoreError>(())
    });
    assert!(matches!(fault, Err(StoreError::Full { .. })), "{fault:?}");
    assert!(seen_ended, "the transaction goes on after all");
    assert_eq!(home.store.read().watched_count().unwrap(), 0);
}

#[test]
fn a_full_disk_says_so_and_loses_nothing() {
    // F50
    let folder = tempfile::tempdir().unwrap();
    if !is_root() || !mount(&["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs"], folder.path()) {
        println!("skipped: a small disk needs the rights of root to be mounted");
        return;
    }
    let mounted = Mounted(folder.path().to_path_buf());
    let path = folder.path().join("wloop.db");
    let filler = folder.path().join("filler");
    let is_full = |fault: &StoreError| matches!(fault, StoreError::Full { .. });

    // No room for a new one.
    fill(&filler);
    let refused = Store::open(&path, at(0)).unwrap_err();
    assert!(is_full(&refused), "{refused:?}");
    assert!(refused.to_string().contains("is full"), "{refused}");
    fs::remove_file(&filler).unwrap();

    // It goes on where it failed, and writes until the room is gone; each write is there as a whole or not at all.
    let mut store = Store::open(&path, at(0)).unwrap();
    store.checkpoint().unwrap();
    fill(&filler);
    let mut kept = 0;
    let fault = loop {
        let n = kept + 1;
        match store.write(|tx| tx.put_unit(&unit_row(n), at(0))) {
            Ok(()) => kept = n,
            Err(fault) => break fault,
        }
        assert!(kept < 10_000, "the disk never fills");
    };
    assert!(is_full(&fault), "{fault:?}");
    assert_eq!(store.read().watched_count().unwrap(), u64::from(kept));
    fs::remove_file(&filler).unwrap();
    store.write(|tx| tx.put_unit(&unit_row(kept + 1), at(0))).unwrap();
    store.checkpoint().unwrap();
    drop(store);

    // No room for the backup: no step is taken, and nothing half made stays.
    let later =
        [MIGRATIONS, &[Migration { version: NEXT, name: "extra", sql: "CREATE TABLE extra (n INTEGER) STRICT;" }]].concat();
    fill(&filler);
    let refused = Store::open_with(&path, at(1), &later, &|_| {}).unwrap_err();
    assert!(is_full(&refused), "{refused:?}");
    let made = |name: &str| folder.path().join(name).exists();
    assert!(!made(&format!("wloop.db.before-{NEXT}")) && !made(&format!("wloop.db.before-{NEXT}.part")));
    fs::remove_file(&filler).unwrap();
    let store = Store::open(&path, at(2)).unwrap();
    assert_eq!(store.read().watched_count().unwrap(), u64::from(kept) + 1);
    drop(store);
    let store = Store::open_with(&path, at(3), &later, &|_| {}).unwrap();
    assert!(made(&format!("wloop.db.before-{NEXT}")));
    assert_eq!(store.read().watched_count().unwrap(), u64::from(kept) + 1);
    drop(store);
    drop(mounted);
}
