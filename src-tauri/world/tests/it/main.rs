//! The small GitHub over real HTTP and with the real git.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails with what it met")]

mod bad_days;
mod client;
mod faults;
mod git;
mod graphql;
mod refusals;
mod rest;
mod schema;
mod web;

use std::time::Duration;

use wloop_world::{AccountKind, NewPullRequest, Options, SmallGithub};

use client::Client;

pub(crate) const REPO: &str = "acme/api";

/// Twelve numbered lines, so that a change in the middle leaves lines that are in no hunk.
pub(crate) fn numbered(changed: &str) -> String {
    (1..=24).map(|n| if n == 12 { format!("{changed}\n") } else { format!("line {n}\n") }).collect()
}

pub(crate) struct Scene {
    pub(crate) world: SmallGithub,
    pub(crate) viewer: Client,
    pub(crate) ada: Client,
    pub(crate) dir: tempfile::TempDir,
}

impl Scene {
    /// A repository with one pull request of ada's, which asks the viewer for a review.
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { dir: dir.path().join("repos"), port: 0, seed: 7 };
        let world = SmallGithub::start(options).await.unwrap();
        world.add_user("viewer", AccountKind::User);
        world.add_token("viewer", "viewer-token");
        world.add_token("ada", "ada-token");
        world.add_repository(REPO, &[("a.txt", &numbered("line 12")), ("README.md", "# api\n")]).unwrap();
        world.add_team("acme", "backend", &["viewer", "ada"]);
        let number = world.open_pull_request(new_pull("change-a", &numbered("changed"))).unwrap();
        assert_eq!(number, 1);
        world.request_review(REPO, 1, "ada", "viewer").unwrap();
        let url = world.api_url();
        Self { viewer: Client::new(&url, "viewer-token"), ada: Client::new(&url, "ada-token"), world, dir }
    }
}

pub(crate) fn new_pull(branch: &str, content: &str) -> NewPullRequest {
    NewPullRequest {
        repo: REPO.to_owned(),
        author: "ada".to_owned(),
        title: format!("Change {branch}"),
        body: "Why & how <b>".to_owned(),
        branch: branch.to_owned(),
        files: vec![("a.txt".to_owned(), Some(content.to_owned()))],
        ..NewPullRequest::default()
    }
}

/// Waits for something that must come, and says what did not.
pub(crate) async fn bounded<T>(what: &str, wait: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(20), wait).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within 20 s"),
    }
}
