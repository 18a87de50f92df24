use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::{REPO, Scene};

/// Runs the real git with a configuration of its own, away from the runtime's thread.
async fn git(dir: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args);
    for (key, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ASKPASS", "true"),
        ("GIT_AUTHOR_NAME", "ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.com"),
        ("GIT_COMMITTER_NAME", "ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.com"),
    ] {
        command.env(key, value);
    }
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[tokio::test]
async fn the_real_git_clones_and_fetches_a_pull_request_s_head() {
    let scene = Scene::new().await;
    let url = format!("{}/{REPO}.git", scene.world.api_url());
    git(scene.dir.path(), &["-c", "protocol.version=2", "clone", "--quiet", &url, "clone"]).await.unwrap();
    let clone = scene.dir.path().join("clone");
    assert!(std::fs::read_to_string(clone.join("a.txt")).unwrap().contains("line 12"));
    git(&clone, &["fetch", "--quiet", "origin", "refs/pull/1/head"]).await.unwrap();
    assert_eq!(git(&clone, &["rev-parse", "FETCH_HEAD"]).await.unwrap(), scene.world.head(REPO, 1).unwrap());
    let new = scene.world.push_commit(REPO, 1, "More", &[("b.txt", Some("b\n")), ("README.md", None)]).unwrap();
    git(&clone, &["fetch", "--quiet", "origin", "refs/pull/1/head"]).await.unwrap();
    assert_eq!(git(&clone, &["rev-parse", "FETCH_HEAD"]).await.unwrap(), new);
    assert_eq!(git(&clone, &["ls-tree", "--name-only", "FETCH_HEAD"]).await.unwrap(), "a.txt\nb.txt");
    let protocol =
        scene.viewer.with("git-protocol", "version=2").get(&format!("/{REPO}.git/info/refs?service=git-upload-pack")).await;
    assert!(protocol.text.contains("version 2"), "{}", protocol.text);
}

#[tokio::test]
async fn a_private_repository_wants_a_token() {
    let scene = Scene::new().await;
    scene.world.set_public(REPO, false).unwrap();
    let url = format!("{}/{REPO}.git", scene.world.api_url());
    let refused = git(scene.dir.path(), &["ls-remote", &url]).await.unwrap_err();
    assert!(refused.contains("Authentication failed"), "{refused}");
    let with = |token: &str| url.replace("http://", &format!("http://x-access-token:{token}@"));
    assert!(git(scene.dir.path(), &["ls-remote", &with("wrong")]).await.is_err());
    let refs = git(scene.dir.path(), &["ls-remote", &with("viewer-token")]).await.unwrap();
    assert!(refs.contains("refs/pull/1/head"), "{refs}");
    scene.world.set_hidden(REPO, "viewer", true).unwrap();
    assert!(git(scene.dir.path(), &["ls-remote", &with("viewer-token")]).await.is_err());
}

#[tokio::test]
async fn a_push_moves_the_pull_request() {
    let scene = Scene::new().await;
    let url = format!("{}/{REPO}.git", scene.world.api_url());
    git(scene.dir.path(), &["clone", "--quiet", "--branch", "change-a", &url, "clone"]).await.unwrap();
    let clone = scene.dir.path().join("clone");
    std::fs::write(clone.join("b.txt"), "b\n").unwrap();
    git(&clone, &["add", "b.txt"]).await.unwrap();
    git(&clone, &["commit", "--quiet", "-m", "Add b"]).await.unwrap();
    assert!(git(&clone, &["push", "--quiet"]).await.is_err(), "nobody pushes without a token");
    let with = url.replace("http://", "http://ada:ada-token@");
    git(&clone, &["push", "--quiet", &with, "change-a"]).await.unwrap();
    let head = git(&clone, &["rev-parse", "HEAD"]).await.unwrap();
    assert_eq!(scene.world.head(REPO, 1).unwrap(), head);
    let pull = scene.viewer.get("/repos/acme/api/pulls/1").await.json();
    assert_eq!((&pull["head"]["sha"], &pull["commits"], &pull["changed_files"]), (&json!(head), &json!(2), &json!(2)));
    assert!(git(&clone, &["push", "--quiet", &with, "HEAD:refs/pull/1/head"]).await.is_err());
}

#[tokio::test]
async fn update_branch_keeps_the_diff() {
    let scene = Scene::new().await;
    let patch = async || scene.viewer.get("/repos/acme/api/pulls/1/files").await.json();
    let before = patch().await;
    let old = scene.world.head(REPO, 1).unwrap();
    scene.world.commit_to_branch(REPO, "main", "Elsewhere", &[("c.txt", Some("c\n"))]).unwrap();
    let new = scene.world.update_branch(REPO, 1).unwrap();
    assert_ne!(old, new);
    assert_eq!(before[0]["patch"], patch().await[0]["patch"]);
    let compare = scene.viewer.get(&format!("/repos/acme/api/compare/{old}...{new}")).await.json();
    assert_eq!((&compare["status"], &compare["behind_by"]), (&json!("ahead"), &json!(0)));
}
