//! What a workspace holds: read by git, and decided apart from the reading (WS-08, WS-09, WS-11, ROUND-26). What git cannot tell
//! counts as something that is there, so that unknown never looks clean.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use globset::GlobSet;
use wloop_core::turn::TurnState;

use crate::git::Git;
use crate::worktree::covering;

/// What was read of one workspace; what git could not tell is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Modified, added, deleted, renamed and conflicted tracked files.
    pub modified: Option<Vec<String>>,
    /// Untracked files that count, and ignored ones that are precious.
    pub untracked: Option<Vec<String>>,
    /// Commits of the head that are on no remote, in no reference of the loop's and not in the pull request.
    pub unpushed: Option<u64>,
    /// A merge, rebase or the like that is not finished.
    pub unfinished: Option<&'static str>,
    /// Whether git's index is locked.
    pub locked: bool,
}

/// The patterns of `cleanup`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patterns {
    /// `cleanup.disposable`: untracked files that do not count.
    pub disposable: Vec<String>,
    /// `cleanup.precious`: ignored files that do.
    pub precious: Vec<String>,
}

/// What git leaves in its folder while something is unfinished.
const UNFINISHED: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

impl Reading {
    /// `workspace.dirty`.
    #[must_use]
    pub fn dirty(&self) -> u64 {
        self.modified.as_ref().map_or(1, |files| files.len() as u64)
    }

    /// `workspace.untracked`.
    #[must_use]
    pub fn untracked(&self) -> u64 {
        self.untracked.as_ref().map_or(1, |files| files.len() as u64)
    }

    /// `workspace.unpushed`.
    #[must_use]
    pub fn unpushed(&self) -> u64 {
        self.unpushed.unwrap_or(1)
    }

    /// `workspace.pendency`, in its order (WS-09): `newest` is the state of the newest turn of the linked pull request.
    #[must_use]
    pub fn pendency(&self, newest: Option<TurnState>, open_turn: bool) -> Vec<&'static str> {
        let mut all = Vec::new();
        for (holds, word) in [
            (self.dirty() > 0, "modified files"),
            (self.untracked() > 0, "untracked files"),
            (self.unpushed() > 0, "commits on no remote"),
            (newest == Some(TurnState::Asked), "turn asked unanswered"),
            (newest == Some(TurnState::Failed), "turn failed"),
            (newest == Some(TurnState::Unrecorded), "turn unrecorded"),
            (open_turn, "turn open"),
        ] {
            if holds {
                all.push(word);
            }
        }
        all
    }
}

/// Reads a workspace. `pull_head` is the head of the linked pull request, whose commits can be fetched again.
pub async fn read(
    folder: &Path,
    environment: &BTreeMap<String, String>,
    patterns: &Patterns,
    pull_head: Option<&str>,
) -> Reading {
    let git = Git::new(folder, environment, Duration::from_secs(120));
    let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching"];
    let changed = git.run_long(&status).await.ok().map(|text| changes(&text, patterns));
    let (modified, untracked) = changed.map_or((None, None), |(modified, untracked)| (Some(modified), Some(untracked)));
    let own = git.run(&["rev-parse", "--absolute-git-dir"]).await.ok();
    let there = |name: &str| own.as_ref().is_some_and(|own| Path::new(own).join(name).exists());
    let mut count = vec!["rev-list", "--count", "HEAD", "--not", "--remotes", "--glob=refs/wloop/*"];
    // A head that was never fetched here excludes nothing and would only fail the count.
    let known = match pull_head {
        Some(head) if !head.starts_with('-') => git.run(&["cat-file", "-e", &format!("{head}^{{commit}}")]).await.is_ok(),
        _ => false,
    };
    count.extend(pull_head.filter(|_| known));
    Reading {
        modified,
        untracked,
        unpushed: git.run(&count).await.ok().and_then(|text| text.trim().parse().ok()),
        unfinished: UNFINISHED.iter().find(|(name, _)| there(name)).map(|(_, word)| *word),
        locked: own.is_none() || there("index.lock"),
    }
}

/// Modified and untracked files of what `git status --porcelain -z --ignored` says.
fn changes(status: &str, patterns: &Patterns) -> (Vec<String>, Vec<String>) {
    let (disposable, precious): (GlobSet, GlobSet) = (covering(&patterns.disposable), covering(&patterns.precious));
    let (mut modified, mut untracked) = (Vec::new(), Vec::new());
    let mut entries = status.split('\0').filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let (Some(state), Some(file)) = (entry.get(..2), entry.get(3..)) else { continue };
        match state {
            "??" if !disposable.is_match(file) => untracked.push(file.to_owned()),
            "!!" if precious.is_match(file.trim_end_matches('/')) => untracked.push(file.to_owned()),
            "??" | "!!" => {}
            _ => {
                modified.push(file.to_owned());
                // A rename or copy names where it came from next.
                if state.contains(['R', 'C']) {
                    let _from = entries.next();
                }
            }
        }
    }
    (modified, untracked)
}

/// Everything that is looked at before a workspace is removed (WS-11).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// Whether it is a main checkout.
    pub main: bool,
    /// Whether git knows it as a worktree.
    pub registered: bool,
    /// Whether it lies under `workspaces.root`, or the loop made it.
    pub ours: bool,
    /// What is in it.
    pub reading: Reading,
    /// Whether a session is active in it.
    pub session: bool,
    /// Whether a turn is open on it.
    pub turn: bool,
    /// Whether a process works in it.
    pub process: bool,
    /// Whether a submodule holds work.
    pub submodule: bool,
}

/// The guard that refuses a removal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{guard}{}{}", if .what.is_empty() { "" } else { ": " }, .what.join(", "))]
pub struct Guard {
    /// Its name.
    pub guard: &'static str,
    /// The files, or how many commits.
    pub what: Vec<String>,
}

/// Whether a workspace may be removed (WS-11). Asked again right before it is.
///
/// # Errors
/// The first guard that refuses it.
pub fn may_remove(removal: &Removal) -> Result<(), Guard> {
    let reading = &removal.reading;
    let some = |files: &Option<Vec<String>>| files.clone().unwrap_or_else(|| vec!["git cannot tell".to_owned()]);
    let unpushed = reading.unpushed.map_or_else(|| "git cannot tell".to_owned(), |n| format!("{n} commits"));
    let none = Vec::new;
    for (refuses, guard, what) in [
        (removal.main, "main checkout", none()),
        (!removal.registered, "no registered worktree", none()),
        (!removal.ours, "not made by wloop", none()),
        (reading.dirty() > 0, "modified files", some(&reading.modified)),
        (reading.untracked() > 0, "untracked files", some(&reading.untracked)),
        (reading.unpushed() > 0, "commits on no remote", vec![unpushed]),
        (reading.unfinished.is_some(), "unfinished", reading.unfinished.iter().map(|w| (*w).to_owned()).collect()),
        (reading.locked, "index is locked", none()),
        (removal.session, "active session", none()),
        (removal.turn, "open turn", none()),
        (removal.process, "a process works in it", none()),
        (removal.submodule, "submodule with work", none()),
    ] {
        if refuses {
            return Err(Guard { guard, what });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns() -> Patterns {
        Patterns { disposable: vec![".DS_Store".into(), "*.log".into(), ".wloop/**".into()], precious: vec![".env*".into()] }
    }

    fn clean() -> Reading {
        Reading { modified: Some(vec![]), untracked: Some(vec![]), unpushed: Some(0), unfinished: None, locked: false }
    }

    #[test]
    fn git_s_words_are_read_as_files_that_count() {
        // WS-08
        let status = " M a b.rs\0A  new.rs\0D  gone.rs\0R  to.rs\0from.rs\0UU both.rs\0?? note.txt\0?? deep/x.log\0?? .wloop/t\0\
                      !! target/\0!! .env.local\0!! deep/.env\0";
        let (modified, untracked) = changes(status, &patterns());
        assert_eq!(modified, ["a b.rs", "new.rs", "gone.rs", "to.rs", "both.rs"]);
        assert_eq!(untracked, ["note.txt", ".env.local", "deep/.env"]);
        assert_eq!(changes("", &patterns()), (vec![], vec![]));
    }

    #[test]
    fn what_git_cannot_tell_never_looks_clean() {
        // WS-08
        let unknown = Reading::default();
        assert_eq!((unknown.dirty(), unknown.untracked(), unknown.unpushed()), (1, 1, 1));
        assert_eq!((clean().dirty(), clean().untracked(), clean().unpushed()), (0, 0, 0));
    }

    #[test]
    fn pendency_names_what_is_so_in_its_order() {
        // WS-09
        assert!(clean().pendency(Some(TurnState::Recorded), false).is_empty());
        assert!(clean().pendency(None, false).is_empty());
        let all = Reading::default().pendency(Some(TurnState::Asked), true);
        assert_eq!(all, ["modified files", "untracked files", "commits on no remote", "turn asked unanswered", "turn open"]);
        assert_eq!(clean().pendency(Some(TurnState::Failed), false), ["turn failed"]);
        assert_eq!(clean().pendency(Some(TurnState::Unrecorded), false), ["turn unrecorded"]);
        assert_eq!(clean().pendency(Some(TurnState::Started), true), ["turn open"]);
    }

    #[test]
    fn every_guard_holds_a_removal_and_says_its_name() {
        // WS-11
        let fine = Removal { registered: true, ours: true, reading: clean(), ..Removal::default() };
        assert_eq!(may_remove(&fine), Ok(()));
        let with = |change: fn(&mut Removal)| {
            let mut removal = fine.clone();
            change(&mut removal);
            may_remove(&removal).unwrap_err().to_string()
        };
        assert_eq!(with(|r| r.main = true), "main checkout");
        assert_eq!(with(|r| r.registered = false), "no registered worktree");
        assert_eq!(with(|r| r.ours = false), "not made by wloop");
        assert_eq!(with(|r| r.reading.modified = Some(vec!["a".into(), "b".into()])), "modified files: a, b");
        assert_eq!(with(|r| r.reading.modified = None), "modified files: git cannot tell");
        assert_eq!(with(|r| r.reading.untracked = Some(vec!["x".into()])), "untracked files: x");
        assert_eq!(with(|r| r.reading.unpushed = Some(2)), "commits on no remote: 2 commits");
        assert_eq!(with(|r| r.reading.unfinished = Some("rebase")), "unfinished: rebase");
        assert_eq!(with(|r| r.reading.locked = true), "index is locked");
        assert_eq!(with(|r| r.session = true), "active session");
        assert_eq!(with(|r| r.turn = true), "open turn");
        assert_eq!(with(|r| r.process = true), "a process works in it");
        assert_eq!(with(|r| r.submodule = true), "submodule with work");
    }

    #[tokio::test]
    async fn a_real_workspace_is_read() {
        // WS-08, ROUND-26
        let dir = tempfile::tempdir().unwrap();
        let environment: BTreeMap<String, String> = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nonexistent")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments).current_dir(dir.path());
            let output = command.output().unwrap();
            assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        let look = async |head: Option<&str>| read(dir.path(), &environment, &patterns(), head).await;
        assert_eq!(look(None).await, Reading { locked: true, ..Reading::default() }, "no repository: nothing is known");
        git(&["init", "-q"]);
        std::fs::write(dir.path().join("a"), "1\n").unwrap();
        git(&["add", "."]);
        git(&["commit", "-qm", "c"]);
        let head = git(&["rev-parse", "HEAD"]);
        assert_eq!(look(None).await, Reading { unpushed: Some(1), ..clean() });
        assert_eq!(look(Some(&head)).await, clean(), "what the pull request holds can be fetched again");
        assert_eq!(look(Some(&"0".repeat(40))).await.unpushed, Some(1), "a head that is not here excludes nothing");
        git(&["update-ref", "refs/wloop/x", &head]);
        assert_eq!(look(None).await, clean(), "a reference of the loop's keeps it");
        std::fs::write(dir.path().join("a"), "2\n").unwrap();
        std::fs::write(dir.path().join(".env"), "X=1\n").unwrap();
        std::fs::write(dir.path().join(".git/info/exclude"), ".env\n").unwrap();
        std::fs::write(dir.path().join(".git/MERGE_HEAD"), &head).unwrap();
        std::fs::write(dir.path().join(".git/index.lock"), "").unwrap();
        let reading = look(None).await;
        assert_eq!((reading.dirty(), reading.untracked), (1, Some(vec![".env".to_owned()])));
        assert_eq!((reading.unfinished, reading.locked), (Some("merge"), true));
    }
}
