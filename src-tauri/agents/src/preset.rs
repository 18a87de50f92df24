//! Which command runs an agent: the built-in presets and what a configuration says beside them (RUN-01, RUN-02, table R1).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use wloop_core::id::SessionId;

use crate::environment::names_token;
use crate::output::OutputFormat;
use crate::process::find_program;

/// How long an agent may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// `agents.<name>` as it was read from the configuration; what it says is checked by [`resolve`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentConfig {
    /// The name under `agents`.
    pub name: String,
    /// `preset`.
    pub preset: String,
    /// `headless.command`, instead of the preset's. The words `<cwd>`, `<uuid>`, `<mcp>`, `<mode>` and, standing alone, `<allow>`
    /// and `<deny>` are filled in.
    pub command: Option<Vec<String>>,
    /// `headless.output`, instead of the preset's.
    pub output: Option<String>,
    /// `env.pass`.
    pub env_pass: Vec<String>,
    /// `env.set`.
    pub env_set: BTreeMap<String, String>,
    /// `forks`: run on forks although the preset cannot promise to leave the repository's own settings alone (RUN-33).
    pub forks: bool,
}

/// How an agent reaches the tools of its session, and where it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpWiring {
    /// The absolute path of `wloop`, started with the argument `mcp`.
    pub program: PathBuf,
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The session; its bits also make the id by which the agent knows the conversation.
    pub session: SessionId,
    /// The folder the agent runs in.
    pub folder: PathBuf,
}

/// What an intent's `[permissions]` allow (INT-07). Reading, searching and wloop's own tools are allowed always.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Whether files of the workspace may be edited.
    pub edit: bool,
    /// Command lines that may be run, with stars.
    pub commands: Vec<String>,
    /// Whether pages may be fetched.
    pub fetch: bool,
}

/// What runs, complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Program and arguments.
    pub command: Vec<String>,
    /// How it writes its output.
    pub output: OutputFormat,
    /// The environment names that the preset passes on, with stars (RUN-04).
    pub pass: &'static [&'static str],
    /// Whether it may run on a fork (RUN-33): the preset leaves the repository's own settings alone, or the person said so.
    pub forks: bool,
}

/// What is wrong with an agent's configuration. Each names its key (RUN-01).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetFault {
    /// There is no such preset.
    #[error("`agents.{name}.preset`: `{preset}` is no preset; there are `claude-code` and `command`")]
    UnknownPreset {
        /// The agent.
        name: String,
        /// As given.
        preset: String,
    },
    /// There is no such output format.
    #[error("`agents.{name}.headless.output`: `{output}` is no output; there are `plain`, `claude`, `codex` and `gemini`")]
    UnknownOutput {
        /// The agent.
        name: String,
        /// As given.
        output: String,
    },
    /// The agent has no command.
    #[error("`agents.{name}.headless.command` is missing; give the program and its arguments as a list")]
    NoCommand {
        /// The agent.
        name: String,
    },
}

struct Preset {
    name: &'static str,
    command: &'static [&'static str],
    output: OutputFormat,
    pass: &'static [&'static str],
    version: Option<&'static str>,
    keeps_out_repository: bool,
}

/// Table R1, as far as it runs headless now.
const PRESETS: [Preset; 2] = [
    Preset {
        name: "claude-code",
        command: &[
            "claude",
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--permission-mode",
            "<mode>",
            "--allowedTools",
            "<allow>",
            "--disallowedTools",
            "<deny>",
            "--setting-sources",
            "user",
            "--mcp-config",
            "<mcp>",
            "--strict-mcp-config",
            "--session-id",
            "<uuid>",
        ],
        output: OutputFormat::Claude,
        pass: &["ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*"],
        version: Some("--version"),
        keeps_out_repository: true,
    },
    Preset { name: "command", command: &[], output: OutputFormat::Plain, pass: &[], version: None, keeps_out_repository: false },
];

fn chosen(config: &AgentConfig) -> Result<(&'static Preset, Vec<String>, OutputFormat), PresetFault> {
    let name = || config.name.clone();
    let preset = PRESETS.iter().find(|p| p.name == config.preset);
    let preset = preset.ok_or_else(|| PresetFault::UnknownPreset { name: name(), preset: config.preset.clone() })?;
    let output = match &config.output {
        None => preset.output,
        Some(word) => word.parse().map_err(|_| PresetFault::UnknownOutput { name: name(), output: word.clone() })?,
    };
    let own = || preset.command.iter().map(|word| (*word).to_owned()).collect();
    let command: Vec<String> = config.command.clone().unwrap_or_else(own);
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(PresetFault::NoCommand { name: name() });
    }
    Ok((preset, command, output))
}

/// Checks an agent's configuration, without running anything.
///
/// # Errors
/// What is wrong with it, by its key (RUN-01).
pub fn check(config: &AgentConfig) -> Result<(), PresetFault> {
    chosen(config).map(|_| ())
}

/// The command that runs an agent for one session.
///
/// # Errors
/// What is wrong with the configuration, by its key (RUN-01).
pub fn resolve(config: &AgentConfig, wiring: &McpWiring, allowed: &Allowed) -> Result<Resolved, PresetFault> {
    let (preset, words, output) = chosen(config)?;
    let mut command = Vec::new();
    for word in words {
        match word.as_str() {
            "<allow>" => command.extend(allow_list(allowed)),
            "<deny>" => command.extend(deny_list(allowed)),
            _ => command.push(fill(&word, wiring, allowed)),
        }
    }
    // A flag whose list came out empty would take the next flag for its value.
    for flag in ["--allowedTools", "--disallowedTools"] {
        let empty = |at: usize| command.get(at + 1).is_none_or(|next| next.starts_with("--"));
        if let Some(at) = command.iter().position(|word| word == flag).filter(|at| empty(*at)) {
            command.remove(at);
        }
    }
    Ok(Resolved { command, output, pass: preset.pass, forks: preset.keeps_out_repository || config.forks })
}

fn fill(word: &str, wiring: &McpWiring, allowed: &Allowed) -> String {
    if !word.contains('<') {
        return word.to_owned();
    }
    // The mode that denies what is not allowed, or the one that lets files be edited. One that skips permissions is in no preset.
    let mode = if allowed.edit { "acceptEdits" } else { "dontAsk" };
    word.replace("<cwd>", &wiring.folder.to_string_lossy())
        .replace("<uuid>", &uuid(wiring.session))
        .replace("<mode>", mode)
        .replace("<mcp>", &servers(wiring))
}

/// The one server an agent may know, as the JSON that agents read (RUN-33).
fn servers(wiring: &McpWiring) -> String {
    json!({ "mcpServers": { "wloop": {
        "type": "stdio",
        "command": wiring.program,
        "args": ["mcp"],
        "env": { "WLOOP_SESSION": wiring.session.to_string(), "WLOOP_SOCKET": wiring.socket },
    } } })
    .to_string()
}

fn allow_list(allowed: &Allowed) -> Vec<String> {
    let mut list: Vec<String> = ["mcp__wloop", "Read", "Grep", "Glob", "TodoWrite"].map(str::to_owned).to_vec();
    list.extend(allowed.commands.iter().map(|line| format!("Bash({line})")));
    if allowed.edit {
        list.extend(["Edit", "Write", "NotebookEdit"].map(str::to_owned));
    }
    if allowed.fetch {
        list.extend(["WebFetch", "WebSearch"].map(str::to_owned));
    }
    list
}

/// What is refused in so many words. The person's own settings may allow more than an intent does, and a refusal wins over them.
fn deny_list(allowed: &Allowed) -> Vec<String> {
    let edit = ["Edit", "Write", "NotebookEdit"].into_iter().filter(|_| !allowed.edit);
    let fetch = ["WebFetch", "WebSearch"].into_iter().filter(|_| !allowed.fetch);
    let execute = std::iter::once("Bash").filter(|_| allowed.commands.is_empty());
    edit.chain(fetch).chain(execute).map(str::to_owned).collect()
}

/// The session's bits in the form of a random UUID, which is what agents take for a conversation's id.
fn uuid(session: SessionId) -> String {
    let hex = session.to_string();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// What `doctor` says of one agent (RUN-02).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCheck {
    /// The name under `agents`.
    pub name: String,
    /// The program of its command.
    pub program: String,
    /// Where the program is.
    pub found: Option<PathBuf>,
    /// The first line that its version command says.
    pub version: Option<String>,
    /// The runners it can serve.
    pub runners: Vec<&'static str>,
    /// What needs attention: what is wrong and what to do, one sentence each.
    pub attention: Vec<String>,
}

/// Looks whether an agent could run: `environment` is the daemon's own, of which the version command gets `HOME` and `PATH`.
pub async fn doctor(config: &AgentConfig, environment: &BTreeMap<String, String>) -> AgentCheck {
    let mut check = AgentCheck {
        name: config.name.clone(),
        program: String::new(),
        found: None,
        version: None,
        runners: Vec::new(),
        attention: config.env_pass.iter().filter(|name| names_token(name)).map(|name| token_warning(config, name)).collect(),
    };
    let (preset, command) = match chosen(config) {
        Ok((preset, command, _)) => (preset, command),
        Err(fault) => {
            check.attention.push(fault.to_string());
            return check;
        }
    };
    check.program = command.into_iter().next().unwrap_or_default();
    let path = environment.get("PATH").map_or("", String::as_str);
    check.found = find_program(&check.program, path, Path::new("/"));
    let Some(program) = &check.found else {
        let what = format!("the program `{}` of the agent `{}` is not on the PATH; install it", check.program, check.name);
        check.attention.push(what);
        return check;
    };
    check.runners.push("headless");
    if let Some(argument) = preset.version {
        match version(program, argument, environment).await {
            Ok(version) => check.version = Some(version),
            Err(why) => check.attention.push(format!("`{} {argument}` {why}; run it by hand", program.display())),
        }
    }
    check
}

fn token_warning(config: &AgentConfig, variable: &str) -> String {
    format!("`agents.{}.env.pass` hands `{variable}` to the agent; take it out unless the agent must have it", config.name)
}

async fn version(program: &Path, argument: &str, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let asked = tokio::process::Command::new(program)
        .arg(argument)
        .env_clear()
        .envs(environment.iter().filter(|(name, _)| ["HOME", "PATH"].contains(&name.as_str())))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(VERSION_LIMIT, asked).await {
        Err(_) => Err("does not answer".to_owned()),
        Ok(Err(error)) => Err(format!("cannot be started: {error}")),
        Ok(Ok(answer)) if !answer.status.success() => Err(format!("fails with {}", answer.status)),
        Ok(Ok(answer)) => {
            let text = String::from_utf8_lossy(&answer.stdout);
            Ok(text.lines().next().unwrap_or_default().trim().chars().take(100).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wiring() -> McpWiring {
        McpWiring {
            program: "/opt/wloop".into(),
            socket: "/run/w.sock".into(),
            session: "0123456789abcdef0123456789abcdef".parse().unwrap(),
            folder: "/trees/one".into(),
        }
    }

    fn config(preset: &str, command: Option<&[&str]>) -> AgentConfig {
        AgentConfig {
            name: "a".to_owned(),
            preset: preset.to_owned(),
            command: command.map(|c| c.iter().map(|w| (*w).to_owned()).collect()),
            ..AgentConfig::default()
        }
    }

    fn after(command: &[String], flag: &str) -> Vec<String> {
        let mut rest = command.iter().skip_while(|word| *word != flag).skip(1);
        rest.by_ref().take_while(|word| !word.starts_with("--")).cloned().collect()
    }

    #[test]
    fn claude_code_gets_only_what_a_review_needs() {
        // RUN-02, RUN-33
        let allowed = Allowed { commands: vec!["git diff *".to_owned(), "rg *".to_owned()], ..Allowed::default() };
        let got = resolve(&config("claude-code", None), &wiring(), &allowed).unwrap();
        let command = &got.command;
        assert_eq!(command[..2], ["claude", "-p"]);
        assert_eq!(after(command, "--permission-mode"), ["dontAsk"]);
        assert_eq!(after(command, "--setting-sources"), ["user"]);
        assert!(command.contains(&"--strict-mcp-config".to_owned()));
        assert_eq!(after(command, "--session-id"), ["01234567-89ab-4def-8123-456789abcdef"]);
        let servers: serde_json::Value = serde_json::from_str(&after(command, "--mcp-config")[0]).unwrap();
        assert_eq!(servers["mcpServers"].as_object().unwrap().len(), 1);
        assert_eq!(servers["mcpServers"]["wloop"]["command"], "/opt/wloop");
        assert_eq!(servers["mcpServers"]["wloop"]["args"], json!(["mcp"]));
        assert_eq!(servers["mcpServers"]["wloop"]["env"]["WLOOP_SOCKET"], "/run/w.sock");
        let allow = after(command, "--allowedTools");
        assert!(allow.contains(&"mcp__wloop".to_owned()) && allow.contains(&"Bash(git diff *)".to_owned()), "{allow:?}");
        let deny = after(command, "--disallowedTools");
        assert!(deny.contains(&"Edit".to_owned()) && deny.contains(&"WebFetch".to_owned()) && !deny.contains(&"Bash".to_owned()));
        assert!(!command.iter().any(|word| word.contains("bypass") || word.contains("skip-permissions") || word.contains('<')));
        assert!((got.output, got.forks) == (OutputFormat::Claude, true) && got.pass.contains(&"ANTHROPIC_*"));
        let edits = Allowed { edit: true, fetch: true, commands: vec!["make".to_owned()] };
        let command = resolve(&config("claude-code", None), &wiring(), &edits).unwrap().command;
        assert_eq!(after(&command, "--permission-mode"), ["acceptEdits"]);
        assert!(!command.contains(&"--disallowedTools".to_owned()), "an empty list has no flag");
    }

    #[test]
    fn a_command_is_run_as_given_and_its_words_are_filled_in() {
        // RUN-01
        let got =
            resolve(&config("command", Some(&["x", "--in=<cwd>", "<uuid>", "a<b"])), &wiring(), &Allowed::default()).unwrap();
        assert_eq!(got.command, ["x", "--in=/trees/one", "01234567-89ab-4def-8123-456789abcdef", "a<b"]);
        assert_eq!((got.output, got.forks), (OutputFormat::Plain, false));
        let beside = AgentConfig { output: Some("codex".to_owned()), forks: true, ..config("claude-code", Some(&["mine"])) };
        let got = resolve(&beside, &wiring(), &Allowed::default()).unwrap();
        assert_eq!((got.command, got.output), (vec!["mine".to_owned()], OutputFormat::Codex));
        assert!(got.pass.contains(&"CLAUDE_CONFIG_DIR"), "a key beside a preset replaces only that key");
    }

    #[test]
    fn what_is_wrong_is_refused_by_its_key() {
        // RUN-01
        let odd_output = AgentConfig { output: Some("xml".to_owned()), ..config("command", Some(&["x"])) };
        for (wrong, key) in [
            (config("cursor", None), "`agents.a.preset`"),
            (config("", Some(&["x"])), "`agents.a.preset`"),
            (config("command", None), "`agents.a.headless.command`"),
            (config("command", Some(&[])), "`agents.a.headless.command`"),
            (config("command", Some(&[" "])), "`agents.a.headless.command`"),
            (odd_output, "`agents.a.headless.output`"),
        ] {
            let fault = check(&wrong).unwrap_err();
            assert!(fault.to_string().starts_with(key), "{fault}");
            assert_eq!(resolve(&wrong, &wiring(), &Allowed::default()).unwrap_err(), fault);
        }
    }

    #[tokio::test]
    async fn doctor_says_where_an_agent_is_and_what_is_wrong() {
        // RUN-02, RUN-05
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("claude");
        std::fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.0 (Claude Code)'\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let environment: BTreeMap<String, String> =
            [("PATH".to_owned(), format!("{}:/bin:/usr/bin", dir.path().display()))].into();
        let good = AgentConfig { env_pass: vec!["GH_TOKEN".to_owned(), "MINE".to_owned()], ..config("claude-code", None) };
        let check = doctor(&good, &environment).await;
        assert_eq!((check.found.as_deref(), check.version.as_deref()), (Some(program.as_path()), Some("2.1.0 (Claude Code)")));
        assert_eq!(check.runners, ["headless"]);
        assert!(matches!(check.attention.as_slice(), [one] if one.contains("`GH_TOKEN`")), "{:?}", check.attention);
        let none = doctor(&config("command", Some(&["no-such-agent"])), &environment).await;
        assert!(none.found.is_none() && none.runners.is_empty() && none.attention[0].contains("`no-such-agent`"));
        let broken = doctor(&config("claude-code", Some(&["false"])), &environment).await;
        assert!(broken.version.is_none() && broken.attention[0].contains("--version"));
        assert!(doctor(&config("odd", None), &environment).await.attention[0].contains("`agents.a.preset`"));
    }
}
