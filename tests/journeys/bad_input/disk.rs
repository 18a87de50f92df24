//! The home on the disk: not writable, full, or with a database that cannot be used.

use std::path::{Path, PathBuf};

use wloop_api::types::Resolve;
use wloop_tests::{Stage, refused, until};
use wloop_world::{Fault, FaultKind};

use super::{doctor, does_not_start, fails, health};
use crate::rounds::REVIEWS;

#[tokio::test]
async fn a_home_that_is_a_file_or_cannot_be_written_is_told() {
    // RUN-02
    let mut stage = Stage::new().await;
    std::fs::write(stage.home(), "not a folder").unwrap();
    let said = does_not_start(&mut stage).await;
    assert!(said.contains(&stage.home().display().to_string()), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    assert_eq!(std::fs::read_to_string(stage.home()).unwrap(), "not a folder");
    std::fs::remove_file(stage.home()).unwrap();

    stage.write_home();
    let Some(_mounted) = Mounted::over(&stage.home(), "ro") else {
        println!("not run: a read-only file system needs the right to mount one");
        return;
    };
    let said = does_not_start(&mut stage).await;
    assert!(said.to_lowercase().contains("read-only") && said.contains(&stage.home().display().to_string()), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

/// A small file system of its own over a folder, as long as it is held.
struct Mounted(PathBuf);

impl Mounted {
    /// `None` where this process may not mount.
    fn over(folder: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).unwrap();
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).output().ok()?;
        mounted.status.success().then(|| Self(folder.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily: the daemon may still stand in it.
        drop(std::process::Command::new("umount").arg("-l").arg(&self.0).output());
    }
}

/// Takes all that is left of a small file system.
fn fill(folder: &Path) -> PathBuf {
    use std::io::Write as _;
    let path = folder.join("filling");
    let mut file = std::fs::File::create(&path).unwrap();
    for chunk in [64 * 1024, 4096, 512, 1] {
        while file.write_all(&vec![7; chunk]).is_ok() {}
    }
    path
}

#[tokio::test]
async fn a_full_disk_refuses_a_decision_and_keeps_the_outcome_of_a_post() {
    // RES-15, API-10, GH-PUB-02
    let mut stage = Stage::new().await;
    let (number, other) = (stage.pull("Guard the sum"), stage.pull("Name the sum"));
    let Some(_mounted) = Mounted::over(&stage.home(), "size=24m") else {
        println!("not run: a small file system needs the right to mount one");
        return;
    };
    stage.start().await;
    let (gate, beside) = (stage.open_gate("plan", number).await, stage.open_gate("plan", other).await);

    let filling = fill(&stage.home());
    let problem = refused(stage.client().resolve(&gate.id, "run_now", &Resolve::default()).await);
    assert_eq!(problem.status, 500);
    assert!(
        problem.detail.contains("full") && problem.detail.contains("state.db") && problem.detail.contains("free"),
        "{problem:?}"
    );
    assert_eq!(stage.gate(&gate.id).await, gate, "nothing changed");
    let sick = health(&stage).await;
    assert!(!sick.ok && !sick.database.ok && sick.warnings.iter().any(|w| w.contains("space")), "{sick:?}");
    let said = fails(&stage, &["gates", "resolve", &beside.id, "skip"], 1).await;
    assert!(said.contains("full") && said.contains("free"), "{said}");
    std::fs::remove_file(&filling).unwrap();

    stage.world.push_fault(Fault::new("POST", REVIEWS, FaultKind::ActedThenHang));
    stage.resolve(&gate.id, "run_now").await;
    stage.world.until_held(1).await;
    let filling = fill(&stage.home());
    stage.world.release_held();
    // The outcome cannot be written: it is kept, and told.
    until("the outcome that is kept", || async {
        let log = stage.log();
        if log.contains("an outcome could not be written yet") { Ok(()) } else { Err(log) }
    })
    .await;
    assert_eq!(stage.post(number, &["sending"]).await.state, "sending");
    std::fs::remove_file(&filling).unwrap();
    stage.post(number, &["sent"]).await;
    stage.turn(number, &["recorded"]).await;
    let well = until("the ledger to be well again", || async {
        let health = health(&stage).await;
        if health.database.ok { Ok(health) } else { Err(format!("{:?}", health.warnings)) }
    })
    .await;
    assert!(!well.draining);
    stage.resolve(&beside.id, "skip").await;
    stage.stop().await;
    assert_eq!((stage.my_reviews(number).len(), stage.writes()), (1, 1));
}

#[tokio::test]
async fn a_database_that_is_newer_damaged_or_none_is_left_as_it_is() {
    // GH-SYNC-43
    let mut stage = Stage::new().await;
    stage.start().await;
    stage.stop().await;
    let path = stage.home().join("state.db");
    // What the daemon left in the log beside the file belongs into the copy.
    let (busy, ..): (bool, i64, i64) = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    assert!(!busy, "the log is in the file");
    let good = std::fs::read(&path).unwrap();
    {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("INSERT INTO migration SELECT 999, 'from the future', hash, at FROM migration LIMIT 1").unwrap();
    }
    let newer = std::fs::read(&path).unwrap();
    let garbage = b"this is no database at all, whatever its name says".repeat(100);
    let mut torn = good.clone();
    // The page that every read begins with, its header left whole.
    for byte in torn.iter_mut().skip(100).take(3900) {
        *byte = 0x5a;
    }
    for (bytes, words) in [(newer, "newer"), (garbage, "not a database"), (torn, "damaged")] {
        put_alone(&path, &bytes);
        let said = does_not_start(&mut stage).await;
        assert!(said.contains(words) && said.contains("state.db"), "{words}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
        let (found, attention) = doctor(&stage).await;
        assert!(attention && found.contains(words), "{found}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{words}: the file is left as it is");
    }
    put_alone(&path, &good);
    stage.start_again().await;
}

/// A database without the log and the index of the one that lay there: a log of another file would be read into it.
fn put_alone(path: &Path, bytes: &[u8]) {
    for extra in ["state.db-wal", "state.db-shm"] {
        drop(std::fs::remove_file(path.with_file_name(extra)));
    }
    std::fs::write(path, bytes).unwrap();
}
