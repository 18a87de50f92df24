//! The worktree of a review (WS-01 to WS-05): commits are fetched into references of our own, and a detached worktree at the
//! pinned head is made or used again. In the person's checkout nothing else changes.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use secrecy::SecretString;
use wloop_core::github::RepoName;

use crate::git::{Git, GitFault, askpass};

/// The longest name of a worktree's folder.
const NAME_LENGTH: usize = 60;
/// How deep main checkouts are looked for under a folder of `workspaces.repos`: host, owner, repository and one more.
const DEPTH: usize = 4;
/// How many folders are looked at in all.
const FOLDERS: usize = 20_000;
/// How many `-2`, `-3` are tried for a taken name.
const NAMES: usize = 1000;

/// What a review needs.
#[derive(Debug, Clone)]
pub struct WorktreeSpec {
    /// `workspaces.root`.
    pub root: PathBuf,
    /// `workspaces.repos`: folders in which main checkouts are looked for.
    pub repos: Vec<PathBuf>,
    /// The main checkout that the configuration names for this repository.
    pub checkout: Option<PathBuf>,
    /// The repository.
    pub repo: RepoName,
    /// The address it is fetched from with the token.
    pub clone_url: String,
    /// The pull request.
    pub number: u64,
    /// The pinned head, a full commit id.
    pub head: String,
    /// The base branch, without `refs/heads/`.
    pub base: String,
    /// The worktree that is linked to this pull request and role, if there is one.
    pub linked: Option<PathBuf>,
    /// The manifest's template for the folder's name, rendered.
    pub name: String,
    /// The token for `clone_url`; without one the person's own way to the remote is used.
    pub token: Option<SecretString>,
    /// The daemon's environment.
    pub environment: BTreeMap<String, String>,
    /// Patterns of untracked files that do not count (`cleanup.disposable`).
    pub disposable: Vec<String>,
    /// The limit of a git command that fetches or writes a tree; others have a minute at most.
    pub limit: Duration,
}

/// A worktree that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// Its folder.
    pub path: PathBuf,
    /// The commit it is at.
    pub head: String,
    /// Where the head's history leaves the base's.
    pub merge_base: String,
    /// The repository it belongs to: the person's checkout or our bare one.
    pub source: PathBuf,
    /// Whether the linked one was used again.
    pub reused: bool,
}

/// Why there is no worktree.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeFault {
    /// The linked worktree holds work that would be lost; the round is busy (WS-06).
    #[error("the workspace `{}` holds {}; commit, move or remove it", .path.display(), .what.join(", "))]
    Busy {
        /// The worktree.
        path: PathBuf,
        /// Files, or `commits on no remote`.
        what: Vec<String>,
    },
    /// The pinned commit can no longer be fetched.
    #[error("the commit `{head}` can no longer be fetched; the pull request was rewritten, plan the round again")]
    HeadGone {
        /// The commit.
        head: String,
    },
    /// Head and base have no common history.
    #[error("the commit `{head}` and the branch `{base}` share no history; review it by hand")]
    Unrelated {
        /// The commit.
        head: String,
        /// The base branch.
        base: String,
    },
    /// The configured checkout is not one of this repository (WS-02).
    #[error("`{}` is no main checkout of {repo}; correct `plugins.github.repositories.\"{repo}\".path`", .path.display())]
    WrongCheckout {
        /// The folder.
        path: PathBuf,
        /// The repository.
        repo: RepoName,
    },
    /// A name that would lead out of its folder, or no commit id.
    #[error("`{text}` cannot be used as {what}")]
    Unusable {
        /// What was given.
        text: String,
        /// What it was to be.
        what: &'static str,
    },
    /// A folder or file cannot be made.
    #[error("`{}` cannot be made; check its permissions and the free space", .path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitFault),
}

/// Makes or reuses the worktree (WS-01 to WS-05).
///
/// # Errors
/// Why there is none; the person's checkout is as it was then, but for references under `refs/wloop/`.
pub async fn prepare(spec: &WorktreeSpec) -> Result<Worktree, WorktreeFault> {
    refuse_odd_input(spec)?;
    let root = made(&spec.root)?;
    let git = Git::new(&root, &spec.environment, spec.limit);
    let source = match main_checkout(spec, &git).await? {
        Some((path, remote)) => Source { git: git.at(&path), remote: Some(remote) },
        None => Source { git: git.at(&bare(spec, &root, &git).await?), remote: None },
    };
    let merge_base = fetch(spec, &root, &source).await?;
    let place = made(&root.join(&spec.repo.owner).join(&spec.repo.name))?;
    let registered = worktrees(&source.git).await?;
    let linked = spec.linked.as_ref().and_then(|path| path.canonicalize().ok());
    // Only below our own root: a worktree that the person made elsewhere is not moved.
    if let Some(path) = linked.filter(|path| path.starts_with(&place) && registered.contains(path)) {
        reuse(spec, &source.git.at(&path)).await?;
        return Ok(ready(spec, path, merge_base, &source, true));
    }
    let path = add(spec, &source.git, &place, &registered).await?;
    Ok(ready(spec, path, merge_base, &source, false))
}

struct Source {
    git: Git,
    /// The address of the remote by which a main checkout was known.
    remote: Option<String>,
}

fn ready(spec: &WorktreeSpec, path: PathBuf, merge_base: String, source: &Source, reused: bool) -> Worktree {
    Worktree { path, head: spec.head.clone(), merge_base, source: source.git.folder().to_owned(), reused }
}

fn refuse_odd_input(spec: &WorktreeSpec) -> Result<(), WorktreeFault> {
    let refuse = |text: &str, what| Err(WorktreeFault::Unusable { text: text.to_owned(), what });
    if spec.repo.to_string().parse::<RepoName>().is_err() {
        return refuse(&spec.repo.to_string(), "a repository's name");
    }
    if !matches!(spec.head.len(), 40 | 64) || !spec.head.bytes().all(|b| b.is_ascii_hexdigit()) {
        return refuse(&spec.head, "a full commit id");
    }
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, ':' | '*' | '?' | '[' | '\\' | '^' | '~');
    if spec.base.is_empty() || spec.base.starts_with('-') || spec.base.contains("..") || spec.base.contains(odd) {
        return refuse(&spec.base, "a branch's name");
    }
    Ok(())
}

fn made(folder: &Path) -> Result<PathBuf, WorktreeFault> {
    let done = std::fs::create_dir_all(folder).and_then(|()| folder.canonicalize());
    done.map_err(|source| WorktreeFault::Folder { path: folder.to_owned(), source })
}

// ---- where the objects are -------------------------------------------------------------------------------------------------

/// The person's main checkout of the repository, and the address of its remote (WS-02).
async fn main_checkout(spec: &WorktreeSpec, git: &Git) -> Result<Option<(PathBuf, String)>, WorktreeFault> {
    if let Some(path) = &spec.checkout {
        let remote = if path.join(".git").is_dir() { remote_of(spec, &git.at(path)).await } else { None };
        return match remote {
            Some(remote) => Ok(Some((path.clone(), remote))),
            None => Err(WorktreeFault::WrongCheckout { path: path.clone(), repo: spec.repo.clone() }),
        };
    }
    let mut budget = FOLDERS;
    for folder in &spec.repos {
        for path in checkouts(folder, &spec.repo.name, &mut budget) {
            let git = git.at(&path);
            let Some(remote) = remote_of(spec, &git).await else { continue };
            // A shallow one has no merge base, and to deepen it would be a change the person did not ask for.
            if git.run(&["rev-parse", "--is-shallow-repository"]).await.is_ok_and(|answer| answer == "false") {
                return Ok(Some((path, remote)));
            }
        }
    }
    Ok(None)
}

/// Main checkouts below a folder whose settings name the repository at all; sorted, so that the same one is found again.
fn checkouts(folder: &Path, name: &str, budget: &mut usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if *budget == 0 {
            tracing::warn!("too many folders under `workspaces.repos`; name the checkout in the configuration instead");
            break;
        }
        *budget -= 1;
        if folder.join(".git").exists() {
            // A `.git` that is a file belongs to a worktree or a submodule.
            let settings = std::fs::read_to_string(folder.join(".git/config")).unwrap_or_default();
            if settings.to_lowercase().contains(&name.to_lowercase()) {
                found.push(folder);
            }
            continue;
        }
        if depth == DEPTH {
            continue;
        }
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut below: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| !matches!(entry.file_name().to_str(), None | Some("node_modules" | "target")))
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| entry.path())
            .collect();
        below.sort();
        open.extend(below.into_iter().rev().map(|path| (path, depth + 1)));
    }
    found
}

/// The address of a remote that is the repository, `origin` before others.
async fn remote_of(spec: &WorktreeSpec, git: &Git) -> Option<String> {
    let wanted = place_of(&spec.clone_url)?;
    let listed = git.run(&["remote", "-v"]).await.ok()?;
    let mut fitting: Vec<(&str, &str)> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, rest)| Some((name, rest.split_once(" (fetch)")?.0)))
        .filter(|(_, address)| place_of(address).as_ref() == Some(&wanted))
        .collect();
    fitting.sort_by_key(|(name, _)| *name != "origin");
    fitting.first().map(|(_, address)| (*address).to_owned())
}

/// Host and path of an address, so that the ways to write one repository are equal: with a scheme, as `user@host:path`, with a
/// port, with `.git`, in capitals. A folder has no host.
fn place_of(address: &str) -> Option<(String, String)> {
    let (host, path) = match address.split_once("://") {
        Some(("file", path)) => ("", path),
        Some((_, rest)) => rest.split_once('/')?,
        None if address.starts_with(['/', '.']) => ("", address),
        None => address.split_once(':')?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host).to_lowercase();
    let host = host.strip_prefix("ssh.").unwrap_or(&host).to_owned();
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_start_matches('/').to_lowercase();
    (!path.is_empty()).then_some((host, path))
}

/// Our bare repository, empty at first: what a round needs is fetched into it. It holds whole blobs, because an agent that reads
/// history has no way to fetch what is missing.
async fn bare(spec: &WorktreeSpec, root: &Path, git: &Git) -> Result<PathBuf, WorktreeFault> {
    let owner = made(&root.join(".bare").join(&spec.repo.owner))?;
    let path = owner.join(format!("{}.git", spec.repo.name));
    if !path.join("HEAD").is_file() {
        // Does nothing to one that is there, so two rounds may do it at once.
        git.run(&["init".as_ref(), "--quiet".as_ref(), "--bare".as_ref(), "--".as_ref(), path.as_os_str()]).await?;
    }
    Ok(path)
}

// ---- commits ----------------------------------------------------------------------------------------------------------------

/// Fetches head and base (WS-03) and answers the merge base.
async fn fetch(spec: &WorktreeSpec, root: &Path, source: &Source) -> Result<String, WorktreeFault> {
    let git = &source.git;
    let own = format!("refs/wloop/pull/{}", spec.number);
    let pinned = format!("{own}/at/{}", spec.head);
    let script;
    let (address, token) = match (&spec.token, &source.remote) {
        (Some(token), _) => {
            let folder = root.join(".askpass");
            script = askpass(&folder).map_err(|source| WorktreeFault::Folder { path: folder, source })?;
            (spec.clone_url.as_str(), Some((token, script.as_path())))
        }
        (None, Some(remote)) => (remote.as_str(), None),
        (None, None) => (spec.clone_url.as_str(), None),
    };
    let refspecs = [format!("+refs/pull/{}/head:{own}/head", spec.number), format!("+refs/heads/{}:{own}/base", spec.base)];
    git.fetch(address, &refspecs, token).await?;
    let commit = format!("{}^{{commit}}", spec.head);
    if git.run(&["cat-file", "-e", &commit]).await.is_err() {
        // Pushed over since it was pinned; many servers still give a commit by its id.
        let by_id = [format!("+{}:{pinned}", spec.head)];
        if git.fetch(address, &by_id, token).await.is_err() {
            return Err(WorktreeFault::HeadGone { head: spec.head.clone() });
        }
    }
    // Keeps the commit, which the next fetch may leave without a name.
    git.run(&["update-ref", &pinned, &spec.head]).await?;
    match git.run(&["merge-base", &spec.head, &format!("{own}/base")]).await {
        Ok(merge_base) => Ok(merge_base),
        Err(GitFault::Failed { code: Some(1), .. }) => {
            Err(WorktreeFault::Unrelated { head: spec.head.clone(), base: spec.base.clone() })
        }
        Err(fault) => Err(fault.into()),
    }
}

// ---- the worktree -----------------------------------------------------------------------------------------------------------

/// The folders of the worktrees that git knows, also those that are gone.
async fn worktrees(git: &Git) -> Result<Vec<PathBuf>, GitFault> {
    let listed = git.run(&["worktree", "list", "--porcelain", "-z"]).await?;
    Ok(listed.split('\0').filter_map(|field| field.strip_prefix("worktree ")).map(PathBuf::from).collect())
}

/// Moves a clean worktree of ours to the pinned head. One that holds work stays as it is (WS-06).
async fn reuse(spec: &WorktreeSpec, git: &Git) -> Result<(), WorktreeFault> {
    let status = git.run_long(&["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"]).await?;
    let disposable = covering(&spec.disposable);
    let mut what: Vec<String> = status
        .split('\0')
        .filter_map(|entry| Some((entry.get(..2)?, entry.get(3..)?)))
        .filter(|(state, file)| *state != "??" || !disposable.is_match(file))
        .map(|(_, file)| format!("`{file}`"))
        .collect();
    let left = git.run(&["rev-list", "--max-count=1", "HEAD", "--not", "--remotes", "--glob=refs/wloop/*"]).await?;
    if !left.is_empty() {
        what.push("commits on no remote".to_owned());
    }
    if !what.is_empty() {
        return Err(WorktreeFault::Busy { path: git.folder().to_owned(), what });
    }
    git.run_long(&["checkout", "--quiet", "--detach", "--no-recurse-submodules", &spec.head]).await?;
    Ok(())
}

/// The files that `cleanup.disposable` covers: a pattern without a slash by name in any folder, another by path. One that is no
/// pattern covers nothing, so that a file too many is kept.
pub(crate) fn covering(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let anywhere = if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
        match GlobBuilder::new(&anywhere).literal_separator(true).build() {
            Ok(glob) => drop(set.add(glob)),
            Err(error) => tracing::warn!(%pattern, %error, "a pattern of `cleanup.disposable` is skipped"),
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// Makes a detached worktree in a folder whose name is free.
async fn add(spec: &WorktreeSpec, git: &Git, place: &Path, registered: &[PathBuf]) -> Result<PathBuf, WorktreeFault> {
    let slug = format!("{}#{}", spec.repo, spec.number);
    let name = folder_name(&spec.name, &slug);
    for n in 1..=NAMES {
        let path = place.join(numbered(&name, n));
        if registered.contains(&path) {
            continue;
        }
        // To make the folder is to take the name; git puts the worktree into an empty folder.
        match std::fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
            Err(source) => return Err(WorktreeFault::Folder { path, source }),
        }
        let arguments = ["worktree", "add", "--quiet", "--detach", "--"].map(std::ffi::OsStr::new);
        let arguments = [&arguments[..], &[path.as_os_str(), spec.head.as_ref()]].concat();
        if let Err(fault) = git.run_long(&arguments).await {
            // Half a worktree is not left; the folder was empty when it was taken.
            let remove = ["worktree", "remove", "--force", "--"].map(std::ffi::OsStr::new);
            let removed = git.run(&[&remove[..], &[path.as_os_str()]].concat()).await;
            if removed.is_err() && std::fs::remove_dir(&path).is_err() {
                tracing::warn!(path = %path.display(), "a workspace that could not be made is left over");
            }
            return Err(fault.into());
        }
        return Ok(path);
    }
    Err(WorktreeFault::Unusable { text: name, what: "a folder's name, which is taken too often" })
}

fn numbered(name: &str, n: usize) -> String {
    if n == 1 {
        return name.to_owned();
    }
    let end = format!("-{n}");
    let start = name.get(..NAME_LENGTH - end.len()).unwrap_or(name).trim_end_matches('-');
    format!("{start}{end}")
}

/// The folder's name for what the manifest's template gave (WS-05): lower-case letters, digits and single dashes, at most 60.
/// Of the slug, when nothing is left or the text would lead elsewhere.
#[must_use]
pub fn folder_name(rendered: &str, slug: &str) -> String {
    let leads_away = Path::new(rendered.trim())
        .components()
        .any(|part| matches!(part, Component::ParentDir | Component::RootDir | Component::Prefix(_)));
    let name = if leads_away { String::new() } else { reduced(rendered) };
    if name.is_empty() { reduced(slug) } else { name }
}

fn reduced(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if name.len() == NAME_LENGTH {
            break;
        }
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
#[path = "worktree_tests.rs"]
mod tests;
