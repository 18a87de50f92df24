//! The bare repositories: commits made without a working tree, diffs and merges read back.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;

use crate::diff::FileDiff;
use crate::error::WorldError;

/// One bare repository.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    pub(crate) dir: PathBuf,
}

/// Who a commit is by, and when.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) name: String,
    pub(crate) at: Timestamp,
}

impl Signature {
    fn email(&self) -> String {
        format!("{}@users.noreply.example.com", self.name)
    }
}

/// What is shown of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommitInfo {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author: String,
    pub(crate) email: String,
    /// Seconds since the epoch.
    pub(crate) at: i64,
    pub(crate) message: String,
}

/// A change to one file: its path, and its new content or none to delete it.
pub(crate) type Change<'a> = (&'a str, Option<&'a str>);

/// A git command that no configuration of the machine reaches.
pub(crate) fn command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    command
}

fn run(dir: &Path, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Result<(bool, Vec<u8>, String), WorldError> {
    let missing = |source| WorldError::GitMissing { command: args.first().copied().unwrap_or_default().to_owned(), source };
    let mut child = command(dir)
        .args(args)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut pipe) = child.stdin.take() {
        // A command that ends before it has read everything says why on its standard error.
        drop(pipe.write_all(stdin));
    }
    let output = child.wait_with_output().map_err(missing)?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok((output.status.success(), output.stdout, said))
}

/// Refuses what could leave the repository or confuse the stream of `fast-import`.
fn checked_path(path: &str) -> Result<&str, WorldError> {
    let bad = path.is_empty()
        || path.starts_with(['/', '"'])
        || path.contains(['\n', '\0'])
        || path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"));
    if bad { Err(WorldError::Path(path.to_owned())) } else { Ok(path) }
}

impl Git {
    /// Makes an empty bare repository whose default branch is `main`.
    pub(crate) fn init(dir: PathBuf) -> Result<Self, WorldError> {
        std::fs::create_dir_all(&dir).map_err(|source| WorldError::Folder { path: dir.display().to_string(), source })?;
        let git = Self { dir };
        git.text(&["init", "--quiet", "--bare", "--initial-branch=main", "."])?;
        for (key, value) in [
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("http.receivepack", "true"),
            ("receive.hideRefs", "refs/pull"),
            ("gc.auto", "0"),
        ] {
            git.text(&["config", key, value])?;
        }
        Ok(git)
    }

    fn bytes(&self, args: &[&str], stdin: &[u8], env: &[(&str, &str)]) -> Result<Vec<u8>, WorldError> {
        let (ok, out, said) = run(&self.dir, args, stdin, env)?;
        if ok { Ok(out) } else { Err(WorldError::Git { command: args.join(" "), detail: said }) }
    }

    pub(crate) fn text(&self, args: &[&str]) -> Result<String, WorldError> {
        let out = self.bytes(args, b"", &[])?;
        Ok(String::from_utf8_lossy(&out).trim_end_matches('\n').to_owned())
    }

    /// The commit that a ref, a short id or an expression names, if it does.
    pub(crate) fn resolve(&self, name: &str) -> Option<String> {
        if name.starts_with('-') {
            return None;
        }
        self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]).ok()
    }

    pub(crate) fn set_ref(&self, name: &str, sha: &str) -> Result<(), WorldError> {
        self.text(&["update-ref", name, sha]).map(drop)
    }

    /// Makes a commit on `to`, whatever it was before, with `changes` on top of `from`.
    pub(crate) fn commit(
        &self,
        to: &str,
        from: Option<&str>,
        by: &Signature,
        message: &str,
        changes: &[Change<'_>],
    ) -> Result<String, WorldError> {
        let mut stream = Vec::new();
        let who = format!("{} <{}> {} +0000", by.name, by.email(), by.at.as_second());
        stream.extend_from_slice(
            format!("commit {to}\nauthor {who}\ncommitter {who}\ndata {}\n{message}\n", message.len()).as_bytes(),
        );
        if let Some(from) = from {
            stream.extend_from_slice(format!("from {from}\n").as_bytes());
        }
        for (path, content) in changes {
            let path = checked_path(path)?;
            match content {
                Some(content) => {
                    stream.extend_from_slice(format!("M 100644 inline {path}\ndata {}\n{content}\n", content.len()).as_bytes())
                }
                None => stream.extend_from_slice(format!("D {path}\n").as_bytes()),
            }
        }
        stream.extend_from_slice(b"\ndone\n");
        self.bytes(&["fast-import", "--quiet", "--force", "--done"], &stream, &[])?;
        self.text(&["rev-parse", to])
    }

    pub(crate) fn merge_base(&self, a: &str, b: &str) -> Option<String> {
        self.text(&["merge-base", a, b]).ok()
    }

    pub(crate) fn is_ancestor(&self, older: &str, newer: &str) -> bool {
        self.text(&["merge-base", "--is-ancestor", older, newer]).is_ok()
    }

    /// The tree of a merge of two commits, or none when they conflict.
    pub(crate) fn merge_tree(&self, ours: &str, theirs: &str) -> Option<String> {
        let out = self.text(&["merge-tree", "--write-tree", ours, theirs]).ok()?;
        out.lines().next().map(str::to_owned)
    }

    /// A commit of a tree with these parents; moves no ref.
    pub(crate) fn commit_tree(&self, tree: &str, parents: &[&str], by: &Signature, message: &str) -> Result<String, WorldError> {
        let mut args = vec!["commit-tree", tree, "-m", message];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        let email = by.email();
        let date = format!("{} +0000", by.at.as_second());
        let env = [
            ("GIT_AUTHOR_NAME", by.name.as_str()),
            ("GIT_AUTHOR_EMAIL", &email),
            ("GIT_AUTHOR_DATE", &date),
            ("GIT_COMMITTER_NAME", &by.name),
            ("GIT_COMMITTER_EMAIL", &email),
            ("GIT_COMMITTER_DATE", &date),
        ];
        let out = self.bytes(&args, b"", &env)?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    /// The commits of `from..to`, oldest first.
    pub(crate) fn log(&self, range: &str) -> Result<Vec<CommitInfo>, WorldError> {
        let format = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ct%x1f%B%x1e";
        let out = self.text(&["log", "--reverse", "--topo-order", format, "--end-of-options", range])?;
        Ok(out.split('\u{1e}').filter_map(commit_info).collect())
    }

    pub(crate) fn info(&self, sha: &str) -> Option<CommitInfo> {
        let format = "--format=%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%ct%x1f%B%x1e";
        let out = self.text(&["log", "-1", format, "--end-of-options", sha]).ok()?;
        commit_info(out.trim_end_matches('\u{1e}'))
    }

    /// How many commits are only in `a`, and only in `b`.
    pub(crate) fn ahead_behind(&self, a: &str, b: &str) -> Result<(u64, u64), WorldError> {
        let out = self.text(&["rev-list", "--left-right", "--count", &format!("{a}...{b}")])?;
        let mut counts = out.split_whitespace().map(|count| count.parse().unwrap_or(0));
        Ok((counts.next().unwrap_or(0), counts.next().unwrap_or(0)))
    }

    /// The whole diff as text.
    pub(crate) fn diff_text(&self, from: &str, to: &str) -> Result<String, WorldError> {
        self.text(&["diff", "-M", "--no-color", "--no-ext-diff", from, to])
    }

    /// The diff of two commits, file by file.
    pub(crate) fn diff(&self, from: &str, to: &str) -> Result<Vec<FileDiff>, WorldError> {
        let raw = self.text(&["diff", "--raw", "-z", "-M", "--no-abbrev", from, to])?;
        let text = self.diff_text(from, to)?;
        let mut patches = split_patches(&text).into_iter();
        let mut fields = raw.split('\0');
        let mut files = Vec::new();
        while let Some(head) = fields.next().filter(|head| head.starts_with(':')) {
            let words: Vec<&str> = head.split(' ').collect();
            let (Some(blob), Some(letter), Some(path)) = (words.get(3), words.get(4), fields.next()) else { break };
            let patch = patches.next().flatten();
            let (status, previous, path) = match letter.as_bytes().first() {
                Some(b'A') => ("added", None, path),
                Some(b'D') => ("removed", None, path),
                Some(b'R') => ("renamed", Some(path.to_owned()), fields.next().unwrap_or(path)),
                Some(_) | None => ("modified", None, path),
            };
            let count = |sign: char| {
                let lines = patch.as_deref().unwrap_or_default().lines();
                u64::try_from(lines.filter(|line| line.starts_with(sign)).count()).unwrap_or(0)
            };
            files.push(FileDiff {
                additions: count('+'),
                deletions: count('-'),
                path: path.to_owned(),
                previous,
                status,
                sha: (status != "removed").then(|| (*blob).to_owned()),
                patch,
            });
        }
        Ok(files)
    }
}

fn commit_info(record: &str) -> Option<CommitInfo> {
    let mut fields = record.trim_start_matches('\n').split('\u{1f}');
    let mut next = || fields.next();
    Some(CommitInfo {
        sha: next().filter(|sha| !sha.is_empty())?.to_owned(),
        tree: next()?.to_owned(),
        parents: next()?.split_whitespace().map(str::to_owned).collect(),
        author: next()?.to_owned(),
        email: next()?.to_owned(),
        at: next()?.parse().ok()?,
        message: next()?.trim_end().to_owned(),
    })
}

/// The patch of each file from its first `@@`; none for a file without one.
fn split_patches(text: &str) -> Vec<Option<String>> {
    let mut patches: Vec<Option<String>> = Vec::new();
    for line in text.lines() {
        // Lines of a file's content start with a sign, so this is a header and nothing else.
        if line.starts_with("diff --git ") {
            patches.push(None);
        } else if let Some(last) = patches.last_mut() {
            match last {
                Some(patch) => {
                    patch.push('\n');
                    patch.push_str(line);
                }
                None if line.starts_with("@@ ") => *last = Some(line.to_owned()),
                None => {}
            }
        }
    }
    patches
}
