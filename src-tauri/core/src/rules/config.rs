//! `config.toml` as checked values: every key has its default here, and every unknown one is refused (PROF-05).

mod github;
mod tables;

use std::collections::BTreeMap;
use std::fmt;

use jiff::SignedDuration;

pub use self::github::{
    GithubConfig, NudgeSettings, RepoGlobs, RepoSettings, ReviewDrafts, ReviewSettings, RoundLimits, RoundMode, RoundSettings,
    TeamPolicy,
};
use super::fault::Fault;
use super::policy::ApprovalOverlay;
use super::profile::Act;
use super::read;
use crate::github::RepoName;

/// The person's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The profile's name.
    pub profile: String,
    /// The language of the interface; `None` is the system's.
    pub language: Option<String>,
    /// The time zone's IANA name; `None` is the system's (FACT-11).
    pub zone: Option<String>,
    /// Working days as `Mon` to `Sun`.
    pub working_days: Vec<String>,
    /// Working hours as `HH:MM-HH:MM`.
    pub working_hours: String,
    /// GitHub.
    pub github: GithubConfig,
    /// The agents by name (RUN-01).
    pub agents: BTreeMap<String, AgentEntry>,
    /// The agent that runs where an intent names none.
    pub agents_default: Option<String>,
    /// How many turns run at once (RUN-28).
    pub agents_max_running: u32,
    /// Names of variables that mark an agent's environment, beside the built-in ones.
    pub agents_environment: Vec<String>,
    /// Where workspaces are made and main checkouts are found.
    pub workspaces: WorkspacesConfig,
    /// How often the providers are read.
    pub sweep: SweepConfig,
    /// The daemon.
    pub daemon: DaemonConfig,
    /// Windows.
    pub windows: WindowsConfig,
    /// Automatic turns in one local day on units whose provider keeps no count (WF-10).
    pub turns_per_day: u32,
    /// What the configuration lays over workflows, by name.
    pub workflows: BTreeMap<String, WorkflowOverlay>,
    /// What the configuration sets for the drafts of a plugin's own rules, by plugin (APPR-24).
    pub plugin_approvals: BTreeMap<String, ApprovalOverlay>,
}

/// A value that is never shown: where it comes from, or the literal itself.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// Written in the file.
    Literal(String),
    /// A variable of the environment.
    Env(String),
    /// The output of a command, split into its arguments at blanks.
    Command(Vec<String>),
    /// The system's keychain, with what follows the colon.
    Keychain(String),
}

impl fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(_) => f.write_str("Literal(..)"),
            Self::Env(name) => write!(f, "Env({name})"),
            Self::Command(command) => write!(f, "Command({})", command.join(" ")),
            Self::Keychain(entry) => write!(f, "Keychain({entry})"),
        }
    }
}

impl SecretSource {
    /// Reads `env:NAME`, `cmd:COMMAND`, `keychain:` or a literal; `None` for one that names nothing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(name) = text.strip_prefix("env:") {
            return (!name.trim().is_empty()).then(|| Self::Env(name.trim().to_owned()));
        }
        if let Some(command) = text.strip_prefix("cmd:") {
            let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
            return (!words.is_empty()).then_some(Self::Command(words));
        }
        if let Some(entry) = text.strip_prefix("keychain:") {
            return Some(Self::Keychain(entry.to_owned()));
        }
        (!text.trim().is_empty()).then(|| Self::Literal(text.trim().to_owned()))
    }
}

/// A set of known keys for one agent program (table R1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preset {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Any agent of the Agent Client Protocol, as given.
    Acp,
    /// Any command, as given.
    Command,
}

impl Preset {
    /// Each with its word.
    pub const ALL: [(&'static str, Self); 5] = [
        ("claude-code", Self::ClaudeCode),
        ("codex", Self::Codex),
        ("gemini", Self::Gemini),
        ("acp", Self::Acp),
        ("command", Self::Command),
    ];
}

/// How an agent's output is read (RUN-09).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Output {
    /// Claude Code's lines.
    Claude,
    /// Codex' lines.
    Codex,
    /// Gemini CLI's lines.
    Gemini,
    /// Text.
    Plain,
}

impl Output {
    /// Each with its word.
    pub const ALL: [(&'static str, Self); 4] =
        [("claude", Self::Claude), ("codex", Self::Codex), ("gemini", Self::Gemini), ("plain", Self::Plain)];
}

/// How an agent is run without a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headless {
    /// Program and arguments; `None` takes the preset's.
    pub command: Option<Vec<String>>,
    /// How its output is read; `None` takes the preset's.
    pub output: Option<Output>,
    /// Program and arguments that resume a session; `None` takes the preset's.
    pub resume: Option<Vec<String>>,
}

/// One agent (RUN-01).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentEntry {
    /// Its preset.
    pub preset: Option<Preset>,
    /// Its headless runner, as far as it is written out.
    pub headless: Option<Headless>,
    /// The command of its session runner, where it is written out.
    pub session_command: Option<Vec<String>>,
    /// Names or patterns of variables that it gets as well (RUN-04).
    pub env_pass: Vec<String>,
    /// Variables that are set for it.
    pub env_set: BTreeMap<String, String>,
    /// How many of its turns run at once; `None` bounds it by all agents' number only.
    pub max_running: Option<u32>,
    /// Whether it may run on forks though its preset cannot keep the repository's settings out (RUN-33).
    pub forks: bool,
}

/// `[workspaces]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspacesConfig {
    /// Where worktrees are made; `None` is `workspaces` in the data folder.
    pub root: Option<String>,
    /// Folders that are searched for main checkouts.
    pub repos: Vec<String>,
}

/// `[sweep]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepConfig {
    /// Between two fast sweeps.
    pub fast: SignedDuration,
    /// Between two slow sweeps.
    pub slow: SignedDuration,
}

/// `[daemon]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaemonConfig {
    /// How long a drain waits for running turns (RUN-36).
    pub drain_deadline: SignedDuration,
}

/// What happens to a window that ended while nobody could see it (F11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// It counts as ended.
    Run,
    /// It is announced and starts again.
    Announce,
}

/// `[windows]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowsConfig {
    /// What happens to a late one.
    pub late: Late,
}

/// What the configuration lays over one workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowOverlay {
    /// Whether it plans anything new (WF-09).
    pub enabled: bool,
    /// Whether it acts or only observes; `None` leaves the manifest's.
    pub mode: Option<Act>,
    /// What is laid over its approval table (APPR-45).
    pub approval: Option<ApprovalOverlay>,
}

impl Default for WorkflowOverlay {
    fn default() -> Self {
        Self { enabled: true, mode: None, approval: None }
    }
}

impl Config {
    /// Every default: the configuration of an empty file.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            profile: "default".to_owned(),
            language: None,
            zone: None,
            working_days: ["Mon", "Tue", "Wed", "Thu", "Fri"].map(str::to_owned).to_vec(),
            working_hours: "09:00-18:00".to_owned(),
            github: GithubConfig::default(),
            agents: BTreeMap::new(),
            agents_default: None,
            agents_max_running: 2,
            agents_environment: Vec::new(),
            workspaces: WorkspacesConfig::default(),
            sweep: SweepConfig { fast: SignedDuration::from_secs(60), slow: SignedDuration::from_mins(15) },
            daemon: DaemonConfig { drain_deadline: SignedDuration::from_mins(15) },
            windows: WindowsConfig { late: Late::Run },
            turns_per_day: 40,
            workflows: BTreeMap::new(),
            plugin_approvals: BTreeMap::new(),
        }
    }

    /// Reads the text of `config.toml`; `file` is the name that faults carry.
    ///
    /// # Errors
    /// Every fault of the file, each with its position (PROF-05, APPR-49).
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Fault>> {
        read::read(file, text, |root| Some(tables::config(root)))
    }

    /// The settings of one repository: its own where it has some, else those of all (GitHub's names do not differ by case).
    #[must_use]
    pub fn github_for(&self, repo: &RepoName) -> RepoSettings {
        let same =
            |other: &RepoName| other.owner.eq_ignore_ascii_case(&repo.owner) && other.name.eq_ignore_ascii_case(&repo.name);
        let own = self.github.repositories.iter().find(|(name, _)| same(name)).map(|(_, settings)| settings);
        own.unwrap_or(&self.github.everywhere).clone()
    }

    /// What is laid over this workflow.
    #[must_use]
    pub fn workflow(&self, name: &str) -> WorkflowOverlay {
        self.workflows.get(name).cloned().unwrap_or_default()
    }
}
