//! Which command runs an agent: the built-in presets and what a configuration says beside them (RUN-01, RUN-02, table R1).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use wloop_core::id::SessionId;

use crate::output::OutputFormat;

/// The variable by which Gemini is told of settings that win over every other.
const GEMINI_SETTINGS: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// `agents.<name>` as it was read from the configuration; what it says is checked by [`resolve`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentConfig {
    /// The name under `agents`.
    pub name: String,
    /// `preset`.
    pub preset: String,
    /// `headless.command`, instead of the preset's. The words `<cwd>`, `<uuid>`, `<mcp>`, `<mode>` and, standing alone, `<allow>`,
    /// `<deny>` and `<codex>` are filled in.
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
    /// A folder of the session's own, for what an agent can only be told by a file.
    pub own: PathBuf,
    /// The names of other servers in the person's own settings of an agent that can only leave them out by name (RUN-33).
    pub others: Vec<String>,
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
    /// Variables that it gets beside its environment, which win over every other.
    pub environment: BTreeMap<String, String>,
    /// Files that must be there before it starts, each with its text.
    pub files: Vec<(PathBuf, String)>,
    /// Whether it may run on a fork (RUN-33): the preset leaves the repository's own settings alone, or the person said so.
    pub forks: bool,
}

/// What is wrong with an agent's configuration. Each names its key (RUN-01).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetFault {
    /// There is no such preset.
    #[error(
        "`agents.{name}.preset`: `{preset}` is no preset that runs headless; there are `claude-code`, `codex`, `gemini` and `command`"
    )]
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

/// A row of table R1.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    command: &'static [&'static str],
    output: OutputFormat,
    pub(crate) pass: &'static [&'static str],
    pub(crate) version: Option<&'static str>,
    /// The agent's modes: the one that denies what is not allowed, and the one that lets files be edited. One that skips all
    /// permissions is in no preset.
    modes: [&'static str; 2],
    /// Whether its own command leaves the repository's settings of the agent alone (RUN-33).
    keeps_out_repository: bool,
}

/// Table R1, as far as it runs headless now.
const PRESETS: [Preset; 4] = [
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
        modes: ["dontAsk", "acceptEdits"],
        keeps_out_repository: true,
    },
    Preset {
        name: "codex",
        command: &["codex", "exec", "--json", "--cd", "<cwd>", "--sandbox", "<mode>", "<codex>", "-"],
        output: OutputFormat::Codex,
        pass: &["OPENAI_*", "CODEX_*"],
        version: Some("--version"),
        modes: ["read-only", "workspace-write"],
        keeps_out_repository: true,
    },
    Preset {
        name: "gemini",
        command: &[
            "gemini",
            "--output-format",
            "stream-json",
            "--approval-mode",
            "<mode>",
            "--allowed-mcp-server-names",
            "wloop",
        ],
        output: OutputFormat::Gemini,
        pass: &["GEMINI_*", "GOOGLE_*"],
        version: Some("--version"),
        modes: ["default", "auto_edit"],
        // In a folder that it trusts it reads the repository's settings, and in another it does not run.
        keeps_out_repository: false,
    },
    Preset {
        name: "command",
        command: &[],
        output: OutputFormat::Plain,
        pass: &[],
        version: None,
        modes: ["dontAsk", "acceptEdits"],
        keeps_out_repository: false,
    },
];

/// What a configuration chose: the preset, the command's words and the output.
pub(crate) fn chosen(config: &AgentConfig) -> Result<(&'static Preset, Vec<String>, OutputFormat), PresetFault> {
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
            "<codex>" => command.extend(codex_settings(wiring, allowed)),
            _ => command.push(fill(&word, preset, wiring, allowed)),
        }
    }
    // A flag whose list came out empty would take the next flag for its value.
    for flag in ["--allowedTools", "--disallowedTools"] {
        let empty = |at: usize| command.get(at + 1).is_none_or(|next| next.starts_with("--"));
        if let Some(at) = command.iter().position(|word| word == flag).filter(|at| empty(*at)) {
            command.remove(at);
        }
    }
    let mut environment = BTreeMap::new();
    let mut files = Vec::new();
    if preset.name == "gemini" {
        let path = wiring.own.join("gemini-settings.json");
        environment.insert(GEMINI_SETTINGS.to_owned(), path.to_string_lossy().into_owned());
        files.push((path, gemini_settings(wiring, allowed)));
    }
    // What another command than the preset's does is not known.
    let keeps_out = preset.keeps_out_repository && config.command.is_none();
    Ok(Resolved { command, output, pass: preset.pass, environment, files, forks: keeps_out || config.forks })
}

fn fill(word: &str, preset: &Preset, wiring: &McpWiring, allowed: &Allowed) -> String {
    if !word.contains('<') {
        return word.to_owned();
    }
    let [denies, edits] = preset.modes;
    word.replace("<cwd>", &wiring.folder.to_string_lossy())
        .replace("<uuid>", &uuid(wiring.session))
        .replace("<mode>", if allowed.edit { edits } else { denies })
        .replace("<mcp>", &json!({ "mcpServers": { "wloop": server(wiring) } }).to_string())
}

/// The one server an agent may know, in the form of most agents (RUN-33).
fn server(wiring: &McpWiring) -> Value {
    json!({
        "type": "stdio",
        "command": wiring.program,
        "args": ["mcp"],
        "env": { "WLOOP_SESSION": wiring.session.to_string(), "WLOOP_SOCKET": wiring.socket },
    })
}

/// Codex's settings by the command line, each as `-c key=value` with a value in TOML: our server and none of the person's others,
/// the folder not trusted whatever is said of the checkout it belongs to, so that nothing of `.codex/` in it is read, nothing
/// asked, and the network as the intent has it (RUN-33).
fn codex_settings(wiring: &McpWiring, allowed: &Allowed) -> Vec<String> {
    // A JSON text is a basic string of TOML as well.
    let text = |value: &str| Value::from(value).to_string();
    let path = |path: &std::path::Path| text(&path.to_string_lossy());
    let mut servers = vec![format!(
        "wloop={{command={},args=[\"mcp\"],env={{WLOOP_SESSION={},WLOOP_SOCKET={}}},default_tools_approval_mode=\"approve\",enabled=true}}",
        path(&wiring.program),
        text(&wiring.session.to_string()),
        path(&wiring.socket),
    )];
    servers.extend(wiring.others.iter().filter(|name| *name != "wloop").map(|name| format!("{}={{enabled=false}}", text(name))));
    let mut settings = vec![
        format!("mcp_servers={{{}}}", servers.join(",")),
        format!("projects={{{}={{trust_level=\"untrusted\"}}}}", path(&wiring.folder)),
        "approval_policy=\"never\"".to_owned(),
    ];
    if allowed.edit {
        // For `git push`.
        settings.push("sandbox_workspace_write.network_access=true".to_owned());
    }
    if !allowed.fetch {
        settings.push("web_search=\"disabled\"".to_owned());
    }
    settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]).collect()
}

/// The names of the servers in Codex's own settings, which a start leaves out by name; none in a text that is not right.
#[must_use]
pub fn codex_servers(config: &str) -> Vec<String> {
    let document: Result<toml_edit::DocumentMut, _> = config.parse();
    let names = |table: &dyn toml_edit::TableLike| table.iter().map(|(name, _)| name.to_owned()).collect();
    document.ok().and_then(|d| d.get("mcp_servers").and_then(|s| s.as_table_like()).map(names)).unwrap_or_default()
}

/// Gemini's settings that win over all others, of the person and of the repository: our server alone, no hooks, no extensions'
/// servers, and what the intent allows.
fn gemini_settings(wiring: &McpWiring, allowed: &Allowed) -> String {
    let mut wloop = server(wiring);
    // Its calls are never asked about: there is nobody to ask.
    wloop["trust"] = Value::Bool(true);
    // A prefix of the command line; what follows a star is left to the profile's own words.
    let prefix = |line: &String| line.split('*').next().unwrap_or_default().trim_end().to_owned();
    let commands: Vec<String> = allowed.commands.iter().map(prefix).filter(|p| !p.is_empty()).collect();
    let mut granted: Vec<String> = commands.iter().map(|line| format!("run_shell_command({line})")).collect();
    let mut refused: Vec<&str> = Vec::new();
    let mut decide = |may: bool, tools: &[&'static str]| {
        if may { granted.extend(tools.iter().map(|t| (*t).to_owned())) } else { refused.extend(tools) }
    };
    decide(allowed.edit, &["replace", "write_file"]);
    decide(allowed.fetch, &["web_fetch", "google_web_search"]);
    if commands.is_empty() {
        refused.push("run_shell_command");
    }
    json!({
        "mcpServers": { "wloop": wloop },
        "mcp": { "allowed": ["wloop"] },
        "hooksConfig": { "enabled": false },
        "tools": { "allowed": granted, "exclude": refused },
    })
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
    // What reads with git writes a file of any name by this option, also where it is cut short; and runs a program by the other.
    let writes = ["Bash(*--out*)", "Bash(*--ext-d*)"].into_iter().filter(|_| !allowed.edit && !allowed.commands.is_empty());
    edit.chain(fetch).chain(execute).chain(writes).map(str::to_owned).collect()
}

/// The session's bits in the form of a random UUID, which is what agents take for a conversation's id.
fn uuid(session: SessionId) -> String {
    let hex = session.to_string();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

#[cfg(test)]
#[path = "preset_tests.rs"]
mod tests;
