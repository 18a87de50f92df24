//! The port: what the daemon asks of a provider. Every read and every write is one future with a time limit of its own.

use std::future::Future;
use std::pin::Pin;

use jiff::Timestamp;
use wloop_core::github::{Account, Detail, Inventory, LookUp, PostOrder, PullState, ReadFault, RepoName, SendOutcome};

/// The answer of a provider, to be awaited; boxed so that a provider can be held as `Arc<dyn Provider>`.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the daemon can ask. All errors are values: a provider never panics on what the outside answers.
pub trait Provider: Send + Sync {
    /// Who the token belongs to, and the teams of that account.
    fn viewer(&self) -> Reply<'_, Result<Viewer, ReadFault>>;

    /// One fast sweep: the searches, complete (GH-SYNC-11). What had to be left out stands in [`ProviderHealth::skipped`].
    fn inventory<'a>(&'a self, query: &'a InventoryQuery) -> Reply<'a, Result<Inventory, ReadFault>>;

    /// Everything about one pull request, complete or not at all (GH-SYNC-14, GH-SYNC-15).
    fn detail<'a>(&'a self, which: &'a DetailRef) -> Reply<'a, Result<Detail, ReadFault>>;

    /// One cheap read before a post: is the pinned head still the head (GH-PUB-17)?
    fn head<'a>(&'a self, repo: &'a RepoName, number: u64) -> Reply<'a, Result<HeadNow, ReadFault>>;

    /// The changed files with their patches, all pages (GH-PUB-18).
    fn diff<'a>(&'a self, repo: &'a RepoName, number: u64) -> Reply<'a, Result<Vec<FilePatch>, ReadFault>>;

    /// Makes a post: one request at most, never repeated (GH-PUB-06).
    fn publish<'a>(&'a self, order: &'a PostOrder) -> Reply<'a, SendOutcome>;

    /// Looks for a post whose outcome is in doubt: one complete read (GH-PUB-07).
    fn look_up<'a>(&'a self, order: &'a PostOrder) -> Reply<'a, LookUp>;

    /// What is known of quotas, clocks and trouble. Makes no request.
    fn health(&self) -> ProviderHealth;

    /// Lets calls go again after the provider was signed out (GH-SYNC-43): a person's "try again". Makes no request.
    fn try_again(&self);

    /// GitHub asked an earlier start to make no request of any kind before `until` (GH-SYNC-37). Makes no request.
    fn keep_quiet(&self, until: Timestamp);
}

/// Whom the token belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The account.
    pub account: Account,
    /// Its teams as `org/slug`, sorted; empty where the token may not list them, which [`ProviderHealth::notes`] then says.
    pub teams: Vec<String>,
    /// The scopes of a classic token; `None` where GitHub does not tell them (a fine-grained token).
    pub scopes: Option<Vec<String>>,
    /// GitHub's clock minus ours, in milliseconds (GH-SYNC-45).
    pub skew_ms: i64,
}

/// Which teams' review requests make a pull request watched (`plugins.github.teams`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamPolicy {
    /// Every team of the viewer.
    All,
    /// No team.
    None,
    /// These of the viewer's teams, as `org/slug`; compared without regard to case.
    Only(Vec<String>),
}

/// What a fast sweep searches for, beside what is always searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryQuery {
    /// The configured choice.
    pub teams: TeamPolicy,
    /// The viewer's teams as [`Viewer::teams`] last read them.
    pub include_viewer_teams: Vec<String>,
    /// Node ids of watched pull requests, for a slow sweep: those of them that no search returns are asked for by id, and come
    /// without a reason (GH-SYNC-13).
    pub watched: Vec<String>,
}

impl InventoryQuery {
    /// The teams that are searched for: the viewer's that the policy admits, sorted, each once.
    #[must_use]
    pub fn admitted(&self) -> Vec<String> {
        let mut teams: Vec<String> = match &self.teams {
            TeamPolicy::All => self.include_viewer_teams.clone(),
            TeamPolicy::None => Vec::new(),
            TeamPolicy::Only(named) => self
                .include_viewer_teams
                .iter()
                .filter(|team| named.iter().any(|name| name.eq_ignore_ascii_case(team)))
                .cloned()
                .collect(),
        };
        teams.sort();
        teams.dedup();
        teams
    }
}

/// Names a pull request to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetailRef {
    /// By its node id.
    ById(String),
    /// By repository and number.
    ByNumber(RepoName, u64),
}

/// A pull request at this moment, as far as a post depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadNow {
    /// The node id.
    pub id: String,
    /// The head commit.
    pub head: String,
    /// The state.
    pub state: PullState,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether the conversation is locked.
    pub locked: bool,
    /// Whether the repository is archived.
    pub archived: bool,
}

/// A changed file of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// The path at the head (at the base, for a removed file).
    pub path: String,
    /// The path before a rename.
    pub previous_path: Option<String>,
    /// GitHub's word: `added`, `modified`, `removed`, `renamed`, `copied`, `changed`, `unchanged`.
    pub status: String,
    /// The patch; `None` for a binary file, a very large one or a pure rename.
    pub patch: Option<String>,
}

/// What is left of a quota (GH-SYNC-34).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// `core`, `graphql`, `search`, or another that GitHub names.
    pub resource: String,
    /// Points in one window.
    pub limit: u64,
    /// Points left.
    pub remaining: u64,
    /// When the window ends, by GitHub's clock.
    pub reset: Timestamp,
}

/// What is known without asking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderHealth {
    /// The last quota of each resource, sorted by name.
    pub quotas: Vec<Quota>,
    /// GitHub's clock minus ours at the last answer, in milliseconds.
    pub skew_ms: Option<i64>,
    /// The last failure and when, by our clock; stays until another replaces it.
    pub last_error: Option<(Timestamp, String)>,
    /// When the last usable answer came, by our clock.
    pub last_success: Option<Timestamp>,
    /// GitHub's words when it did not accept the token; every call is refused until [`Provider::try_again`].
    pub signed_out: Option<String>,
    /// GitHub asked to wait: no request of any kind goes before this, by our clock (GH-SYNC-36).
    pub waiting_until: Option<Timestamp>,
    /// A spent quota: no request of that resource goes before its reset, by our clock (GH-SYNC-36 c and d).
    pub spent_until: Vec<(String, Timestamp)>,
    /// What the last inventory had to leave out, each with its cause. While it is not empty, a pull request that the inventory
    /// lacks has not left the searches (GH-SYNC-24).
    pub skipped: Vec<String>,
    /// What could not be converted lately, oldest first, at most 20 (GH-SYNC-27).
    pub notes: Vec<String>,
}
