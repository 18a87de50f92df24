//! The rules in force: configuration and profile of a home, checked. Files are read here and nowhere else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use wloop_core::calendar::Calendar;
use wloop_core::github::RepoName;
use wloop_core::github::facts::{AdmittedTeams, Drafts, Mode, Settings};
use wloop_core::rules::config::{Config, ReviewDrafts, RoundMode, TeamPolicy};
use wloop_core::rules::fault::Fault;
use wloop_core::rules::policy::{ApprovalOverlay, ApprovalTable, dropped_kinds, hints, overlay};
use wloop_core::rules::profile::{Act, Profile, Workflow};
use wloop_core::rules::registry::Provider;

use crate::home::Home;
use crate::runner::rounds::agent_of;

/// The bundled profile: path inside the profile, text.
pub(crate) const BUNDLED: &[(&str, &str)] = &[
    ("profile.toml", include_str!("../../../profiles/default/profile.toml")),
    ("gates.toml", include_str!("../../../profiles/default/gates.toml")),
    ("workflows/review/workflow.toml", include_str!("../../../profiles/default/workflows/review/workflow.toml")),
    ("intents/review/intent.toml", include_str!("../../../profiles/default/intents/review/intent.toml")),
    ("intents/review/prompt.md.tmpl", include_str!("../../../profiles/default/intents/review/prompt.md.tmpl")),
    ("procedures/forks.md", include_str!("../../../profiles/default/procedures/forks.md")),
    ("procedures/public.md", include_str!("../../../profiles/default/procedures/public.md")),
    ("intents/review/record.schema.json", include_str!("../../../profiles/default/intents/review/record.schema.json")),
];

/// Configuration and profile together.
#[derive(Debug, Clone)]
pub struct Rules {
    /// `config.toml`.
    pub config: Config,
    /// The profile.
    pub profile: Profile,
    /// Whether a provider can be asked at all: a token is configured.
    pub has_provider: bool,
    /// The time zone that days are counted by (FACT-11).
    pub zone: TimeZone,
    /// Where worktrees are made, and the folder of each repository under it (WS-05).
    pub workspaces_root: PathBuf,
}

impl Rules {
    /// The rules of a home: its `config.toml`, and the bundled profile with the person's files of the same name laid over it.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn load(home: &Home) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let config = match read_config(&home.config) {
            Ok(config) => Some(config),
            Err(mut found) => {
                faults.append(&mut found);
                None
            }
        };
        let name = config.as_ref().map_or_else(|| "default".to_owned(), |c| c.profile.clone());
        let mut files: BTreeMap<String, String> =
            BUNDLED.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let own = home.profiles.join(&name);
        if name != "default" && !own.is_dir() {
            faults.push(fault(
                "config.toml",
                "profile",
                format!("there is no profile `{name}` under the home's `profiles`"),
                "make the folder, or leave the key out",
            ));
        }
        if let Err(mut found) = lay_over(&own, Path::new(""), &mut files) {
            faults.append(&mut found);
        }
        let profile = match Profile::load(&files) {
            Ok(profile) => Some(profile),
            Err(mut found) => {
                faults.append(&mut found);
                None
            }
        };
        // An agent that could not run is told now, and not by its first round.
        for (name, entry) in config.iter().flat_map(|c| &c.agents) {
            if let Err(found) = wloop_agents::preset::check(&agent_of(name, entry)) {
                faults.push(fault("config.toml", &format!("agents.{name}"), found.to_string(), "see `docs/configuration.md`"));
            }
        }
        let zone = config.as_ref().and_then(|c| c.zone.as_deref()).map(TimeZone::get);
        if let Some(Err(found)) = &zone {
            faults.push(fault("config.toml", "time.zone", found.to_string(), "an IANA name, such as `Europe/Berlin`"));
        }
        match (config, profile, faults.is_empty()) {
            (Some(config), Some(profile), true) => {
                let has_provider = config.github.token.is_some();
                let zone = zone.and_then(Result::ok).unwrap_or_else(TimeZone::system);
                let workspaces_root = config.workspaces.root.as_ref().map_or_else(|| home.data.join("workspaces"), PathBuf::from);
                Ok(Self { config, profile, has_provider, zone, workspaces_root })
            }
            _ => Err(faults),
        }
    }

    /// Whether a repository's pull requests are watched.
    #[must_use]
    pub fn admits(&self, repo: &RepoName) -> bool {
        self.config.github.repos.admits(repo)
    }

    /// The settings in force for a repository.
    #[must_use]
    pub fn settings(&self, repo: &RepoName, teams: &[String]) -> Settings {
        let set = self.config.github_for(repo);
        Settings {
            review_mode: match set.review.mode {
                RoundMode::Act => Mode::Act,
                RoundMode::Observe => Mode::Observe,
                RoundMode::Off => Mode::Off,
            },
            drafts: match set.review.drafts {
                ReviewDrafts::Never => Drafts::Never,
                ReviewDrafts::Requested => Drafts::Requested,
                ReviewDrafts::Always => Drafts::Always,
            },
            bot_authors: set.review.bot_authors,
            max_files: u64::from(set.review.max_files),
            settle: set.review.settle,
            per_head: self.config.github.rounds.per_head,
            followups_without_workspace: set.followups_without_workspace,
            automated: set.automated_reviewers,
            conflict_window: set.conflict_window,
            checks_stalled_after: set.checks_stalled_after,
            address_mode: match set.address.mode {
                RoundMode::Act => Mode::Act,
                RoundMode::Observe => Mode::Observe,
                RoundMode::Off => Mode::Off,
            },
            address_settle: set.address.settle,
            address_reviews: set.address_reviews,
            address_checks: set.address_checks,
            address_attempts: set.address_attempts,
            address_without_workspace: set.address_without_workspace,
            calendar: self.calendar(),
            admitted_teams: match &self.config.github.teams {
                TeamPolicy::All => AdmittedTeams::All(teams.to_vec()),
                TeamPolicy::None => AdmittedTeams::None,
                TeamPolicy::Only(only) => AdmittedTeams::Only(only.clone()),
            },
        }
    }

    /// Days and working hours of the person's place.
    #[must_use]
    pub fn calendar(&self) -> Calendar {
        Calendar::new(self.zone.clone(), &self.config.working_days, &self.config.working_hours)
    }

    /// A workflow's approval table with the configuration laid over it (APPR-45).
    #[must_use]
    pub fn approval(&self, workflow: &Workflow) -> ApprovalTable {
        match self.overlay(&workflow.name) {
            Some(over) => overlay(&workflow.approval, over, workflow.provider_kind()),
            None => workflow.approval.clone(),
        }
    }

    /// What the configuration lays over a workflow's approval table.
    #[must_use]
    pub fn overlay(&self, workflow: &str) -> Option<&ApprovalOverlay> {
        self.config.workflows.get(workflow)?.approval.as_ref()
    }

    /// What in the approval rules holds drafts without stopping the daemon, and what is hardly meant, in words (APPR-51, APPR-52,
    /// APPR-61, CFG-09).
    #[must_use]
    pub fn approval_hints(&self) -> Vec<String> {
        let mut found = Vec::new();
        for workflow in self.profile.workflows.values() {
            let (own, merged) = (&workflow.approval, self.approval(workflow));
            if let Some(why) = &merged.broken {
                found.push(format!("{why}; every gate of the workflow `{}` waits for you until that is mended", workflow.name));
            }
            found.extend(hints(&merged));
            let dropped = self.overlay(&workflow.name).map(|over| dropped_kinds(own, over)).unwrap_or_default();
            if !dropped.is_empty() {
                let kinds = dropped.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
                found.push(format!(
                    "the rules of `config.toml workflows.{}` take the place of all rules of the workflow, and none of them is for its \
                     {kinds} gates: `gates.toml` decides those now; repeat the workflow's own rule to keep it",
                    workflow.name
                ));
            }
        }
        for intent in self.profile.intents.values() {
            found.extend(hints(&intent.approval));
        }
        found.extend(hints(&self.profile.gates.approval));
        for over in self.config.plugin_approvals.values() {
            let merged = overlay(&ApprovalTable::empty(&over.name), over, Provider::Github);
            if let Some(why) = &merged.broken {
                found.push(format!("{why}; the plugin's drafts wait for you until that is mended"));
            }
            found.extend(hints(&merged));
        }
        found
    }

    /// Whether a workflow plans rounds: enabled, and not only watching (WF-06, WF-09).
    #[must_use]
    pub fn acts(&self, workflow: &Workflow) -> bool {
        let over = self.config.workflow(&workflow.name);
        over.enabled && over.mode.unwrap_or(workflow.mode) == Act::Act
    }

    /// How many turns of an agent run at once (RUN-28).
    #[must_use]
    pub fn most_of(&self, agent: &str) -> usize {
        let most = self.config.agents.get(agent).and_then(|entry| entry.max_running);
        most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    /// The agent that runs: the one an intent names, else the configuration's default, else `claude-code`.
    #[must_use]
    pub fn agent_for(&self, intent: Option<&str>) -> String {
        intent.or(self.config.agents_default.as_deref()).unwrap_or("claude-code").to_owned()
    }
}

fn read_config(path: &Path) -> Result<Config, Vec<Fault>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Config::parse("config.toml", &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Config::empty()),
        Err(error) => {
            Err(vec![fault("config.toml", "", format!("the file cannot be read: {error}"), "make it readable text in UTF-8")])
        }
    }
}

/// Lays the person's files over the bundled ones, file by file (PROF-07).
fn lay_over(root: &Path, below: &Path, files: &mut BTreeMap<String, String>) -> Result<(), Vec<Fault>> {
    let folder = root.join(below);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(vec![fault(
                &folder.to_string_lossy(),
                "",
                format!("the folder cannot be read: {error}"),
                "make it readable",
            )]);
        }
    };
    let mut faults = Vec::new();
    for entry in entries.flatten() {
        let path = below.join(entry.file_name());
        let name = path.to_string_lossy().into_owned();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if let Err(mut found) = lay_over(root, &path, files) {
                    faults.append(&mut found);
                }
            }
            Ok(_) => match std::fs::read_to_string(entry.path()) {
                Ok(text) => {
                    files.insert(name, text);
                }
                Err(error) => {
                    faults.push(fault(&name, "", format!("the file cannot be read: {error}"), "make it readable text in UTF-8"))
                }
            },
            Err(error) => faults.push(fault(&name, "", format!("cannot be looked at: {error}"), "mend it or take it away")),
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

fn fault(file: &str, key: &str, what: String, help: &str) -> Fault {
    Fault { file: file.to_owned(), at: None, key: key.to_owned(), what, help: help.to_owned() }
}
