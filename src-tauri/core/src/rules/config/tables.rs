//! The tables of `config.toml`, one function each.

use super::github::{github, set};
use super::{AgentEntry, Config, Headless, Late, Output, Preset, WorkflowOverlay};
use crate::rules::policy::ApprovalOverlay;
use crate::rules::profile::{ACTS, read_overlay};
use crate::rules::read::Table;

/// Reads the whole file over the defaults.
pub(super) fn config(root: &Table<'_>) -> Config {
    let mut config = Config::empty();
    set(&mut config.profile, root.text("profile"));
    config.language = root.text("language");
    if let Some(time) = root.table("time") {
        config.zone = time.text("zone");
        working_days(&time, &mut config);
        if let Some(hours) = time.text("working_hours") {
            if hours_are_valid(&hours) {
                config.working_hours = hours;
            } else {
                time.fault("working_hours", format!("`{hours}` are no hours"), "such as `09:00-18:00`");
            }
        }
        time.finish();
    }
    if let Some(windows) = root.table("windows") {
        set(&mut config.windows.late, windows.word("late", &[("run", Late::Run), ("announce", Late::Announce)]));
        windows.finish();
    }
    if let Some(daemon) = root.table("daemon") {
        set(&mut config.daemon.drain_deadline, daemon.duration("drain_deadline"));
        daemon.finish();
    }
    if let Some(sweep) = root.table("sweep") {
        set(&mut config.sweep.fast, sweep.window("fast"));
        set(&mut config.sweep.slow, sweep.window("slow"));
        sweep.finish();
    }
    if let Some(turns) = root.table("turns") {
        set(&mut config.turns_per_day, turns.count("per_day"));
        turns.finish();
    }
    workflows(root, &mut config);
    plugins(root, &mut config);
    agents(root, &mut config);
    if let Some(workspaces) = root.table("workspaces") {
        config.workspaces.root = workspaces.text("root");
        set(&mut config.workspaces.repos, workspaces.texts("repos"));
        workspaces.finish();
    }
    not_yet(root);
    config
}

fn working_days(time: &Table<'_>, config: &mut Config) {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    if let Some(days) = time.words("working_days", &DAYS.map(|day| (day, day.to_owned()))) {
        if days.is_empty() {
            time.fault("working_days", "no day is a working day", "name at least one, such as `\"Mon\"`");
        }
        config.working_days = days;
    }
}

fn hours_are_valid(text: &str) -> bool {
    let minute = |clock: &str| {
        let (hour, minute) = clock.split_once(':')?;
        let two = |digits: &str| (digits.len() == 2).then(|| digits.parse::<u32>().ok()).flatten();
        let (hour, minute) = (two(hour)?, two(minute)?);
        (hour < 24 && minute < 60).then_some(hour * 60 + minute)
    };
    text.split_once('-').is_some_and(|(from, to)| match (minute(from), minute(to)) {
        (Some(from), Some(to)) => from < to,
        (None, _) | (_, None) => false,
    })
}

fn workflows(root: &Table<'_>, config: &mut Config) {
    let Some(workflows) = root.table("workflows") else { return };
    for (name, table) in workflows.rest() {
        let mut overlay = WorkflowOverlay::default();
        set(&mut overlay.enabled, table.bool("enabled"));
        overlay.mode = table.word("mode", &ACTS);
        overlay.approval = approval(&table, &format!("config.toml workflows.{name}"));
        table.finish();
        config.workflows.insert(name, overlay);
    }
    workflows.finish();
}

fn approval(table: &Table<'_>, name: &str) -> Option<ApprovalOverlay> {
    let gates = table.table("gates")?;
    let approval = gates.table("approval").map(|approval| {
        let overlay = read_overlay(&approval, name);
        approval.finish();
        overlay
    });
    gates.finish();
    approval
}

fn plugins(root: &Table<'_>, config: &mut Config) {
    let Some(plugins) = root.table("plugins") else { return };
    if let Some(table) = plugins.table("github") {
        if let Some(overlay) = approval(&table, "config.toml plugins.github") {
            config.plugin_approvals.insert("github".to_owned(), overlay);
        }
        config.github = github(&table);
        table.finish();
    }
    // Slack is not built yet: its table is accepted, so that one file serves both versions.
    plugins.anything("slack");
    plugins.finish();
}

/// The agent that needs no entry: its preset says everything.
const BUILT_IN: &str = "claude-code";

fn agents(root: &Table<'_>, config: &mut Config) {
    let Some(agents) = root.table("agents") else { return };
    config.agents_default = agents.text("default");
    set(&mut config.agents_max_running, agents.count("max_running"));
    if config.agents_max_running == 0 {
        agents.fault("max_running", "no turn could ever run", "at least 1");
    }
    set(&mut config.agents_environment, agents.texts("environment"));
    for (name, table) in agents.rest() {
        let entry = agent(&table);
        table.finish();
        config.agents.insert(name, entry);
    }
    agents.finish();
    if let Some(name) = &config.agents_default
        && !config.agents.contains_key(name)
        && name != BUILT_IN
    {
        agents.unknown_word("default", name, config.agents.keys().map(String::as_str).chain([BUILT_IN]));
    }
}

fn agent(table: &Table<'_>) -> AgentEntry {
    let mut entry = AgentEntry { preset: table.word("preset", &Preset::ALL), ..AgentEntry::default() };
    entry.headless = table.table("headless").map(|headless| {
        let found = Headless {
            command: command(&headless, "command"),
            output: headless.word("output", &Output::ALL),
            resume: command(&headless, "resume"),
        };
        headless.finish();
        found
    });
    if let Some(session) = table.table("session") {
        entry.session_command = command(&session, "command");
        session.finish();
    }
    if let Some(env) = table.table("env") {
        set(&mut entry.env_pass, env.texts("pass"));
        if let Some(pairs) = env.table("set") {
            for name in pairs.keys() {
                if let Some(value) = pairs.text(&name) {
                    entry.env_set.insert(name, value);
                }
            }
            pairs.finish();
        }
        env.finish();
    }
    entry.max_running = table.count("max_running");
    if entry.max_running == Some(0) {
        table.fault("max_running", "no turn of it could ever run", "at least 1");
    }
    set(&mut entry.forks, table.bool("forks"));
    can_run(table, &entry);
    entry
}

/// An agent needs a command for one of its runners, its preset's or its own (RUN-01).
fn can_run(table: &Table<'_>, entry: &AgentEntry) {
    let headless = entry.headless.as_ref().is_some_and(|headless| headless.command.is_some());
    let session = entry.session_command.is_some();
    let (enough, help) = match entry.preset {
        Some(Preset::ClaudeCode | Preset::Codex | Preset::Gemini) => (true, ""),
        Some(Preset::Acp) => (session, "add `session.command`"),
        Some(Preset::Command) => (headless, "add `headless.command`"),
        // An unknown preset has its own fault.
        None if table.has("preset") => (true, ""),
        None => (headless || session, "add a `preset`, `headless.command` or `session.command`"),
    };
    if !enough {
        table.own_fault("the agent has no command to run", help);
    }
}

fn command(table: &Table<'_>, key: &str) -> Option<Vec<String>> {
    let command = table.texts(key)?;
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        table.fault(key, "it names no program", "a list of the program and its arguments");
        return None;
    }
    Some(command)
}

/// What belongs to features that do not exist yet: checked where the keys are few, else accepted without a look inside.
fn not_yet(root: &Table<'_>) {
    for key in ["notifications", "tasks", "cleanup"] {
        root.anything(key);
    }
    for (name, durations, counts) in [
        ("drafts", &["repeat_after"] as &[&str], &[] as &[&str]),
        ("classify", &[], &["per_day"]),
        ("events", &["keep"], &[]),
        ("extraction", &["debounce", "max_wait"], &["per_day"]),
    ] {
        if let Some(table) = root.table(name) {
            for key in durations {
                table.duration(key);
            }
            for key in counts {
                table.count(key);
            }
            table.finish();
        }
    }
    if let Some(artifacts) = root.table("artifacts") {
        if let Some(inbound) = artifacts.table("inbound") {
            inbound.anything("max_bytes_per_message");
            inbound.finish();
        }
        artifacts.finish();
    }
    if let Some(people) = root.table("people") {
        for (_, person) in people.rest() {
            person.texts("keys");
            person.finish();
        }
        people.finish();
    }
}
