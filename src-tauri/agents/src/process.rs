//! Processes by identity: a pid together with when it started, and the process group that everything an agent starts belongs to.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};
use tokio::time::Instant;

/// How often a group that was told to end is looked at. Nothing announces that a group is empty.
const LOOK: Duration = Duration::from_millis(20);

/// When a process started, in the system's own words: equal for one process during its life, different for a later process that
/// got the same pid, also after a restart of the machine (RUN-07). Stored as text and only ever compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProcessStart(String);

impl ProcessStart {
    /// Takes back what was stored.
    #[must_use]
    pub fn stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The start of the process with this pid; `None` when there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        start_of(pid).map(Self)
    }
}

impl fmt::Display for ProcessStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The fields of `/proc/<pid>/stat` that matter here.
#[cfg(target_os = "linux")]
struct Stat {
    state: String,
    group: u32,
    ticks: String,
}

#[cfg(target_os = "linux")]
fn stat(pid: &str) -> Option<Stat> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in parentheses and may hold anything, also spaces and parentheses.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat { state: (*fields.first()?).to_owned(), group: fields.get(2)?.parse().ok()?, ticks: (*fields.get(19)?).to_owned() })
}

#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<String> {
    let ticks = stat(&pid.to_string())?.ticks;
    // Ticks count from the machine's start, so the start itself has to be part of the text.
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Some(format!("{}:{ticks}", boot.trim()))
}

#[cfg(not(target_os = "linux"))]
fn start_of(pid: u32) -> Option<String> {
    let answer =
        std::process::Command::new("/bin/ps").args(["-o", "lstart=", "-p", &pid.to_string()]).env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Whether a process of the group is running. One that has ended and only waits to be collected does not count.
#[cfg(target_os = "linux")]
fn group_lives(group: u32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return signal_reaches(group);
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let Some(pid) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else {
            return false;
        };
        stat(pid).is_some_and(|s| s.group == group && !matches!(s.state.as_str(), "Z" | "X"))
    })
}

#[cfg(not(target_os = "linux"))]
fn group_lives(group: u32) -> bool {
    signal_reaches(group)
}

fn as_pid(number: u32) -> Option<Pid> {
    // A group of 0 or 1 would be our own or everybody.
    i32::try_from(number).ok().filter(|n| *n > 1).and_then(Pid::from_raw)
}

fn signal_reaches(group: u32) -> bool {
    as_pid(group).is_some_and(|p| rustix::process::test_kill_process_group(p).is_ok())
}

fn signal(group: u32, signal: Signal) {
    let Some(pid) = as_pid(group) else { return };
    match rustix::process::kill_process_group(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => tracing::warn!(group, %error, "a process group could not be signalled"),
    }
}

/// A process group and what is asked of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group(pub(crate) u32);

impl Group {
    /// Asks every process of the group to end.
    pub(crate) fn ask(self) {
        signal(self.0, Signal::TERM);
    }

    /// Ends every process of the group, and lets a stopped one see it.
    pub(crate) fn kill(self) {
        signal(self.0, Signal::KILL);
    }

    /// Whether any process of it runs.
    pub(crate) fn lives(self) -> bool {
        group_lives(self.0)
    }

    /// Collects ended processes of the group that have become our children (Linux: the daemon is the subreaper of what it starts).
    /// Only after the leader was collected, whose exit is awaited elsewhere.
    pub(crate) fn collect(self) {
        if let Some(pid) = as_pid(self.0) {
            while let Ok(Some(_)) = rustix::process::waitpgid(pid, WaitOptions::NOHANG) {}
        }
    }
}

/// Ends a process group that an earlier daemon left behind (RUN-35): asks it, and kills it after `grace`. Answers whether something
/// of it ran and was ended.
///
/// Nothing is signalled when the leader's pid belongs to a process with another start: the system hands out a pid again only when
/// no group of that number is left, so then nothing of ours can be. A leader that is gone does not stop this, because what it
/// started lives on in its group.
pub async fn end_group(pgid: u32, pid: u32, started: &ProcessStart, grace: Duration) -> bool {
    match ProcessStart::of(pid) {
        Some(now) if now != *started => return false,
        None if !same_boot(started) => return false,
        Some(_) | None => {}
    }
    let group = Group(pgid);
    if as_pid(pgid).is_none() || !group.lives() {
        return false;
    }
    group.ask();
    if gone_within(group, grace).await {
        return true;
    }
    group.kill();
    if !gone_within(group, Duration::from_secs(2)).await {
        tracing::warn!(pgid, "a process group outlives its kill");
    }
    true
}

async fn gone_within(group: Group, limit: Duration) -> bool {
    let until = Instant::now() + limit;
    while group.lives() {
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(LOOK).await;
    }
    true
}

/// Whether the machine still runs as it did when `started` was taken.
#[cfg(target_os = "linux")]
fn same_boot(started: &ProcessStart) -> bool {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    started.0.split_once(':').is_some_and(|(then, _)| then == boot.trim())
}

/// Elsewhere a leader that is gone proves nothing about its group, so the group is left alone.
#[cfg(not(target_os = "linux"))]
fn same_boot(_started: &ProcessStart) -> bool {
    false
}

/// Where a program is: a name with a slash from `folder`, any other on the `PATH` given (RUN-03). Only files that may be executed.
#[must_use]
pub fn find_program(program: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    if program.is_empty() {
        return None;
    }
    if program.contains('/') {
        return Some(folder.join(program)).filter(|p| executable(p));
    }
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(program)).find(|p| executable(p))
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_equal_only_to_itself() {
        // RUN-07
        let me = std::process::id();
        let mine = ProcessStart::of(me).unwrap();
        assert_eq!(ProcessStart::stored(&mine.to_string()), mine);
        assert_ne!(ProcessStart::of(1).unwrap(), mine);
        assert_eq!(ProcessStart::of(u32::MAX - 1), None);
    }

    #[test]
    fn a_program_is_found_on_the_path_given_and_only_where_it_may_run() {
        // RUN-03
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("plain"), "no").unwrap();
        let path = format!("relative:{}:/bin:/usr/bin", dir.path().display());
        assert_eq!(find_program("plain", &path, dir.path()), None);
        assert!(find_program("sh", &path, dir.path()).is_some());
        assert_eq!(find_program("sh", "", dir.path()), None);
        assert_eq!(find_program("./plain", &path, dir.path()), None);
        assert!(find_program("/bin/sh", "", dir.path()).is_some());
    }

    async fn gone(pid: u32) {
        let mut pause = tokio::time::interval(LOOK);
        for _ in 0..500 {
            pause.tick().await;
            if ProcessStart::of(pid).is_none() || stat(&pid.to_string()).is_some_and(|s| s.state == "Z") {
                return;
            }
        }
        panic!("process {pid} still runs");
    }

    fn start(script: &str) -> std::process::Child {
        use std::os::unix::process::CommandExt as _;
        std::process::Command::new("sh")
            .args(["-c", script])
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    #[tokio::test]
    async fn what_an_earlier_daemon_left_is_ended_with_all_it_started() {
        // RUN-35
        use std::io::BufRead as _;
        let mut child = start("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait");
        let pid = child.id();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        let started = ProcessStart::of(pid).unwrap();
        assert!(end_group(pid, pid, &started, Duration::from_millis(100)).await);
        child.wait().unwrap();
        gone(grandchild).await;
        assert!(!end_group(pid, pid, &started, Duration::from_millis(100)).await, "nothing is left to end");
    }

    #[tokio::test]
    async fn a_group_without_its_leader_is_ended_too() {
        // RUN-35
        use std::io::BufRead as _;
        let mut child = start("sh -c 'echo $$; exec sleep 1000' & sleep 1000");
        let pid = child.id();
        let started = ProcessStart::of(pid).unwrap();
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let grandchild: u32 = line.trim().parse().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(end_group(pid, pid, &started, Duration::from_secs(5)).await);
        gone(grandchild).await;
    }

    #[tokio::test]
    async fn a_reused_pid_is_left_alone() {
        // RUN-35
        let mut child = start("exec sleep 1000");
        let pid = child.id();
        let earlier = ProcessStart::stored("another-boot:12");
        assert!(!end_group(pid, pid, &earlier, Duration::from_millis(50)).await);
        assert!(child.try_wait().unwrap().is_none(), "it was not ours to end");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!end_group(0, pid, &earlier, Duration::from_millis(50)).await);
    }
}
