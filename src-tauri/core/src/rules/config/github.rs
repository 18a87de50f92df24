//! `[plugins.github]`.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::SignedDuration;

use super::SecretSource;
use crate::github::RepoName;
use crate::rules::read::Table;

/// Everything of `[plugins.github]`.
#[derive(Debug, Clone)]
pub struct GithubConfig {
    /// Whether the plugin runs.
    pub enabled: bool,
    /// The REST address, without a slash at its end.
    pub api_url: String,
    /// The address of pages; `None` is derived from `api_url`.
    pub web_url: Option<String>,
    /// Where the token comes from; `None` while there is none.
    pub token: Option<SecretSource>,
    /// Which repositories are watched.
    pub repos: RepoGlobs,
    /// Which teams' requests count.
    pub teams: TeamPolicy,
    /// GraphQL points kept for the person.
    pub budget_reserve: u32,
    /// Working time that an ended pull request stays watched.
    pub retention: SignedDuration,
    /// Caps of automatic rounds (ROUND).
    pub rounds: RoundLimits,
    /// Authors whose pull requests no view shows.
    pub hidden_authors: Vec<String>,
    /// The settings that a repository may have of its own, for all that have none.
    pub everywhere: RepoSettings,
    /// The repositories that have some, each laid over `everywhere`.
    pub repositories: BTreeMap<RepoName, RepoSettings>,
}

/// Which of the viewer's teams count (GH-SYNC).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TeamPolicy {
    /// All.
    All,
    /// None.
    None,
    /// These, as `org/slug`.
    Only(Vec<String>),
}

/// Caps of automatic rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundLimits {
    /// In one local day.
    pub per_day: u32,
    /// On one pull request.
    pub per_pull_request: u32,
    /// On one head.
    pub per_head: u32,
}

/// Whether rounds of a kind run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundMode {
    /// They do.
    Act,
    /// What would be done is told.
    Observe,
    /// They do not.
    Off,
}

/// Whether drafts are reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewDrafts {
    /// Never.
    Never,
    /// Where a review is requested.
    Requested,
    /// Always.
    Always,
}

/// `review.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewSettings {
    /// Whether reviews run.
    pub mode: RoundMode,
    /// Whether drafts are reviewed.
    pub drafts: ReviewDrafts,
    /// Whether pull requests of bots are reviewed.
    pub bot_authors: bool,
    /// The most changed files; 0 is no limit.
    pub max_files: u32,
    /// How long the head must have been quiet.
    pub settle: SignedDuration,
}

/// `address.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundSettings {
    /// Whether they run.
    pub mode: RoundMode,
    /// How long it must have been quiet.
    pub settle: SignedDuration,
}

/// `nudge.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NudgeSettings {
    /// Calendar days of silence before the first.
    pub silent_days: u32,
    /// Between two.
    pub repeat_after: SignedDuration,
    /// The most of them.
    pub max: u32,
}

/// The settings that a repository may have of its own (marked ® in the table of keys).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoSettings {
    /// Logins that count as automated beside the accounts GitHub calls bots.
    pub automated_reviewers: Vec<String>,
    /// Working days until a pull request counts as stalled.
    pub stalled_days: u32,
    /// How long checks may run.
    pub checks_stalled_after: SignedDuration,
    /// How long a conflict must last.
    pub conflict_window: SignedDuration,
    /// Reviews.
    pub review: ReviewSettings,
    /// Rounds that answer reviews and checks.
    pub address: RoundSettings,
    /// Whether reviews are answered.
    pub address_reviews: bool,
    /// Whether failing checks are mended.
    pub address_checks: bool,
    /// How often one thing is tried.
    pub address_attempts: u32,
    /// Whether a follow-up runs where the first review's workspace is gone.
    pub followups_without_workspace: bool,
    /// Whether an answer runs where no workspace of the author exists.
    pub address_without_workspace: bool,
    /// Nudges.
    pub nudge: NudgeSettings,
    /// Added under what is posted.
    pub signature: String,
    /// The person's own profile for this repository (PROF-07); none outside `repositories`.
    pub profile: Option<String>,
}

impl Default for RepoSettings {
    fn default() -> Self {
        Self {
            automated_reviewers: Vec::new(),
            stalled_days: 3,
            checks_stalled_after: SignedDuration::from_hours(2),
            conflict_window: SignedDuration::from_mins(30),
            review: ReviewSettings {
                mode: RoundMode::Act,
                drafts: ReviewDrafts::Never,
                bot_authors: false,
                max_files: 300,
                settle: SignedDuration::from_mins(10),
            },
            address: RoundSettings { mode: RoundMode::Act, settle: SignedDuration::from_mins(5) },
            address_reviews: true,
            address_checks: true,
            address_attempts: 3,
            followups_without_workspace: false,
            address_without_workspace: false,
            nudge: NudgeSettings { silent_days: 3, repeat_after: SignedDuration::from_hours(72), max: 3 },
            signature: String::new(),
            profile: None,
        }
    }
}

impl Default for GithubConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            api_url: "https://api.github.com".to_owned(),
            web_url: None,
            token: None,
            repos: RepoGlobs::default(),
            teams: TeamPolicy::All,
            budget_reserve: 500,
            retention: SignedDuration::from_hours(80),
            rounds: RoundLimits { per_day: 30, per_pull_request: 6, per_head: 2 },
            hidden_authors: Vec::new(),
            everywhere: RepoSettings::default(),
            repositories: BTreeMap::new(),
        }
    }
}

/// Which repositories are watched: globs over `owner/repo`, without regard to case.
#[derive(Debug, Clone)]
pub struct RepoGlobs {
    /// The globs that let in.
    pub include: Vec<String>,
    /// The globs that keep out.
    pub exclude: Vec<String>,
    inside: GlobSet,
    outside: GlobSet,
}

impl Default for RepoGlobs {
    fn default() -> Self {
        let include = vec!["*/*".to_owned()];
        let inside = globs(&include).unwrap_or_default();
        Self { include, exclude: Vec::new(), inside, outside: GlobSet::empty() }
    }
}

impl RepoGlobs {
    /// Whether this repository is watched.
    #[must_use]
    pub fn admits(&self, repo: &RepoName) -> bool {
        let name = repo.to_string();
        self.inside.is_match(&name) && !self.outside.is_match(&name)
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, (String, String)> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .case_insensitive(true)
            .build()
            .map_err(|why| (pattern.clone(), why.kind().to_string()))?;
        set.add(glob);
    }
    set.build().map_err(|why| (patterns.join(", "), why.to_string()))
}

const MODES: [(&str, RoundMode); 3] = [("act", RoundMode::Act), ("observe", RoundMode::Observe), ("off", RoundMode::Off)];
const DRAFTS: [(&str, ReviewDrafts); 3] =
    [("never", ReviewDrafts::Never), ("requested", ReviewDrafts::Requested), ("always", ReviewDrafts::Always)];

/// Reads `[plugins.github]`; the approval of its rules is read by the caller.
pub(super) fn github(table: &Table<'_>) -> GithubConfig {
    let mut config = GithubConfig::default();
    set(&mut config.enabled, table.bool("enabled"));
    if let Some(url) = address(table, "api_url") {
        config.api_url = url;
    }
    config.web_url = address(table, "web_url");
    if let Some(text) = table.text("token") {
        config.token = SecretSource::parse(&text);
        if config.token.is_none() {
            table.fault("token", "it names no token", "a token, `env:NAME`, `cmd:gh auth token` or `keychain:`");
        }
    }
    if let Some(repos) = table.table("repos") {
        set(&mut config.repos.include, repos.texts("include"));
        set(&mut config.repos.exclude, repos.texts("exclude"));
        for (key, patterns, into) in [
            ("include", &config.repos.include, &mut config.repos.inside),
            ("exclude", &config.repos.exclude, &mut config.repos.outside),
        ] {
            match globs(patterns) {
                Ok(set) => *into = set,
                Err((pattern, why)) => repos.fault(key, format!("`{pattern}` is no pattern: {why}"), "such as `acme/*`"),
            }
        }
        repos.finish();
    }
    if let Some(teams) = teams(table) {
        config.teams = teams;
    }
    set(&mut config.budget_reserve, table.count("budget_reserve"));
    set(&mut config.retention, table.duration("retention"));
    if let Some(rounds) = table.table("rounds") {
        set(&mut config.rounds.per_day, rounds.count("per_day"));
        set(&mut config.rounds.per_pull_request, rounds.count("per_pull_request"));
        set(&mut config.rounds.per_head, rounds.count("per_head"));
        rounds.finish();
    }
    set(&mut config.hidden_authors, table.texts("hidden_authors"));
    repo_settings(table, &mut config.everywhere);
    if let Some(repositories) = table.table("repositories") {
        for (name, own) in repositories.rest() {
            let Ok(repo) = name.parse::<RepoName>() else {
                own.own_fault(format!("`{name}` is no repository"), "written `owner/name`");
                continue;
            };
            let mut settings = config.everywhere.clone();
            settings.profile = own.text("profile");
            repo_settings(&own, &mut settings);
            own.finish();
            config.repositories.insert(repo, settings);
        }
        repositories.finish();
    }
    config
}

/// Reads the keys that stand in `[plugins.github]` and in one repository's table alike.
fn repo_settings(table: &Table<'_>, into: &mut RepoSettings) {
    set(&mut into.automated_reviewers, table.texts("automated_reviewers"));
    set(&mut into.stalled_days, table.count("stalled_days"));
    set(&mut into.checks_stalled_after, table.duration("checks_stalled_after"));
    set(&mut into.conflict_window, table.duration("conflict_window"));
    if let Some(review) = table.table("review") {
        set(&mut into.review.mode, review.word("mode", &MODES));
        set(&mut into.review.drafts, review.word("drafts", &DRAFTS));
        set(&mut into.review.bot_authors, review.bool("bot_authors"));
        set(&mut into.review.max_files, review.count("max_files"));
        set(&mut into.review.settle, review.duration("settle"));
        review.finish();
    }
    if let Some(address) = table.table("address") {
        set(&mut into.address.mode, address.word("mode", &MODES));
        set(&mut into.address.settle, address.duration("settle"));
        address.finish();
    }
    set(&mut into.address_reviews, table.bool("address_reviews"));
    set(&mut into.address_checks, table.bool("address_checks"));
    set(&mut into.address_attempts, table.count("address_attempts"));
    set(&mut into.followups_without_workspace, table.bool("followups_without_workspace"));
    set(&mut into.address_without_workspace, table.bool("address_without_workspace"));
    if let Some(nudge) = table.table("nudge") {
        set(&mut into.nudge.silent_days, nudge.count("silent_days"));
        set(&mut into.nudge.repeat_after, nudge.duration("repeat_after"));
        set(&mut into.nudge.max, nudge.count("max"));
        nudge.finish();
    }
    set(&mut into.signature, table.text("signature"));
}

fn teams(table: &Table<'_>) -> Option<TeamPolicy> {
    if table.is_list("teams") {
        let teams = table.texts("teams")?;
        if let Some(wrong) = teams.iter().find(|team| team.split('/').filter(|part| !part.is_empty()).count() != 2) {
            table.fault("teams", format!("`{wrong}` is no team"), "written `org/slug`");
        }
        return Some(TeamPolicy::Only(teams));
    }
    table.word("teams", &[("all", TeamPolicy::All), ("none", TeamPolicy::None)])
}

/// An address, without a slash at its end.
fn address(table: &Table<'_>, key: &str) -> Option<String> {
    let text = table.text(key)?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/') || rest.contains(char::is_whitespace)) {
        table.fault(key, format!("`{text}` is no address"), "such as `https://github.example.com/api/v3`");
        return None;
    }
    Some(text.trim_end_matches('/').to_owned())
}

/// Takes the value over where there is one.
pub(super) fn set<T>(into: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *into = value;
    }
}
