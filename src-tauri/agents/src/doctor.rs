//! What `doctor` says of a configured agent (RUN-02): where its program is, which version, whether somebody is signed in as far as
//! that can be told without a model call, and what to do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::environment::names_token;
use crate::preset::{AgentConfig, Preset, chosen};
use crate::process::find_program;

/// How long an agent may take for one answer.
const LIMIT: Duration = Duration::from_secs(10);

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
    /// Whether somebody is signed in; `None` where that cannot be told without a model call.
    pub signed_in: Option<bool>,
    /// The runners it can serve.
    pub runners: Vec<&'static str>,
    /// What needs attention: what is wrong and what to do, one sentence each.
    pub attention: Vec<String>,
}

/// Looks whether an agent could run: `environment` is the daemon's own, of which the agent's program gets what it would get.
pub async fn doctor(config: &AgentConfig, environment: &BTreeMap<String, String>) -> AgentCheck {
    let mut check = AgentCheck {
        name: config.name.clone(),
        program: String::new(),
        found: None,
        version: None,
        signed_in: None,
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
    let Some(program) = check.found.clone() else {
        let how =
            package(preset.name).map_or_else(|| "install it".to_owned(), |npm| format!("install it: `npm install -g {npm}`"));
        let what = format!("the program `{}` of the agent `{}` is not on the PATH; {how}", check.program, check.name);
        check.attention.push(what);
        return check;
    };
    check.runners.push("headless");
    let environment = surroundings(config, preset, environment);
    if let Some(argument) = preset.version {
        match said(&program, &[argument], &environment).await {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout);
                check.version = Some(text.lines().next().unwrap_or_default().trim().chars().take(100).collect());
            }
            Ok(output) => check.attention.push(by_hand(&program, argument, &format!("fails with {}", output.status))),
            Err(why) => check.attention.push(by_hand(&program, argument, &why)),
        }
    }
    check.signed_in = match preset.name {
        "claude-code" => claude(said(&program, &["auth", "status"], &environment).await),
        "codex" => codex(said(&program, &["login", "status"], &environment).await),
        "gemini" => gemini(&environment),
        _ => None,
    };
    if check.signed_in == Some(false) {
        check.attention.push(format!("nobody is signed in with `{}`; {}", check.program, how_to_sign_in(preset.name, config)));
    }
    check
}

/// The package that brings a preset's program.
fn package(preset: &str) -> Option<&'static str> {
    match preset {
        "claude-code" => Some("@anthropic-ai/claude-code"),
        "codex" => Some("@openai/codex"),
        "gemini" => Some("@google/gemini-cli"),
        _ => None,
    }
}

fn how_to_sign_in(preset: &str, config: &AgentConfig) -> String {
    match preset {
        "claude-code" => "run `claude auth login` once".to_owned(),
        "codex" => "run `codex login` once".to_owned(),
        _ => format!("run `gemini` once and choose how to sign in, or set `GEMINI_API_KEY` in `agents.{}.env.set`", config.name),
    }
}

/// What the agent's program gets of the environment, as far as it tells who is signed in.
fn surroundings(config: &AgentConfig, preset: &Preset, environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let passed = |name: &str| {
        let fits = |pattern: &str| pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start));
        ["HOME", "PATH", "USER", "TMPDIR", "XDG_*"].into_iter().any(fits)
            || preset.pass.iter().any(|pattern| fits(pattern))
            || config.env_pass.iter().any(|pattern| fits(pattern))
    };
    let kept = environment.iter().filter(|(name, _)| passed(name) && !names_token(name));
    kept.chain(&config.env_set).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn by_hand(program: &Path, argument: &str, why: &str) -> String {
    format!("`{} {argument}` {why}; run it by hand", program.display())
}

fn token_warning(config: &AgentConfig, variable: &str) -> String {
    format!("`agents.{}.env.pass` hands `{variable}` to the agent; take it out unless the agent must have it", config.name)
}

async fn said(program: &Path, arguments: &[&str], environment: &BTreeMap<String, String>) -> Result<Output, String> {
    let asked = tokio::process::Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match tokio::time::timeout(LIMIT, asked).await {
        Err(_) => Err("does not answer".to_owned()),
        Ok(Err(error)) => Err(format!("cannot be started: {error}")),
        Ok(Ok(output)) => Ok(output),
    }
}

/// `claude auth status` answers in JSON; an older version knows no such command and tells nothing.
fn claude(said: Result<Output, String>) -> Option<bool> {
    let answer: Value = serde_json::from_slice(&said.ok()?.stdout).ok()?;
    answer["loggedIn"].as_bool()
}

/// `codex login status` says it in words and by its code.
fn codex(said: Result<Output, String>) -> Option<bool> {
    let output = said.ok()?;
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)).to_lowercase();
    match (output.status.success(), words.contains("not logged in")) {
        (true, false) if words.contains("logged in") => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

/// Gemini has no command that says it; it is signed in where it is told how, by a variable or in the person's settings.
fn gemini(environment: &BTreeMap<String, String>) -> Option<bool> {
    let told = |name: &str| environment.get(name).is_some_and(|value| !value.is_empty());
    if ["GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"].iter().any(|name| told(name)) {
        return Some(true);
    }
    let home = environment.get("GEMINI_CLI_HOME").filter(|h| !h.is_empty()).or_else(|| environment.get("HOME"))?;
    let settings = std::fs::read(Path::new(home).join(".gemini/settings.json")).unwrap_or_default();
    let Ok(settings) = serde_json::from_slice::<Value>(&settings) else { return Some(false) };
    let chosen = settings["security"]["auth"]["selectedType"].as_str().or_else(|| settings["selectedAuthType"].as_str());
    match chosen {
        None => Some(false),
        Some("oauth-personal") => Some(Path::new(home).join(".gemini/oauth_creds.json").exists()),
        // A key may be in the system's own store, into which nobody looks here.
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn config(preset: &str, command: Option<&[&str]>) -> AgentConfig {
        AgentConfig {
            name: "a".to_owned(),
            preset: preset.to_owned(),
            command: command.map(|c| c.iter().map(|w| (*w).to_owned()).collect()),
            ..AgentConfig::default()
        }
    }

    /// A folder with programs of these names, and an environment that finds them and has its home there.
    fn with(programs: &[(&str, &str)]) -> (tempfile::TempDir, BTreeMap<String, String>) {
        let dir = tempfile::tempdir().unwrap();
        for (name, script) in programs {
            let program = dir.path().join(name);
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let text = dir.path().display().to_string();
        let environment = [("PATH".to_owned(), format!("{text}:/bin:/usr/bin")), ("HOME".to_owned(), text)].into();
        (dir, environment)
    }

    #[tokio::test]
    async fn doctor_says_where_an_agent_is_and_what_is_wrong() {
        // RUN-02, RUN-05
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

    #[tokio::test]
    async fn doctor_tells_who_is_signed_in_without_a_model_call() {
        // RUN-02: the answers of the real programs, as they were recorded
        let claude = r#"case "$*" in --version) echo '2.1.197 (Claude Code)';; 'auth status') printf '{\n  "loggedIn": IN\n}\n'; exit 1;; *) exit 9;; esac"#;
        let codex = r#"case "$*" in --version) echo 'codex-cli 0.171.0';; 'login status') echo 'WORDS' >&2; exit CODE;; *) exit 9;; esac"#;
        let cases = [
            ("claude-code", "claude", claude.replace("IN", "false"), Some(false), "`claude auth login`"),
            ("claude-code", "claude", claude.replace("IN", "true"), Some(true), ""),
            ("claude-code", "claude", "[ \"$1\" = --version ] && echo 1.0 || echo odd".to_owned(), None, ""),
            ("codex", "codex", codex.replace("WORDS", "Not logged in").replace("CODE", "1"), Some(false), "`codex login`"),
            ("codex", "codex", codex.replace("WORDS", "Logged in using ChatGPT").replace("CODE", "0"), Some(true), ""),
            ("codex", "codex", codex.replace("WORDS", "what?").replace("CODE", "2"), None, ""),
            ("gemini", "gemini", "echo 0.61.0".to_owned(), Some(false), "`GEMINI_API_KEY`"),
        ];
        for (preset, program, script, signed_in, advice) in cases {
            let (_dir, environment) = with(&[(program, &script)]);
            let check = doctor(&config(preset, None), &environment).await;
            assert_eq!(check.signed_in, signed_in, "{check:?}");
            assert!(check.version.is_some() && check.runners == ["headless"], "{check:?}");
            assert_eq!(check.attention.is_empty(), advice.is_empty(), "{check:?}");
            assert!(check.attention.iter().all(|words| words.contains(advice)), "{check:?}");
        }
        let missing = doctor(&config("codex", None), &with(&[]).1).await;
        assert!(missing.attention[0].contains("`npm install -g @openai/codex`"), "{missing:?}");
    }

    #[test]
    fn gemini_s_settings_say_how_somebody_is_signed_in() {
        // RUN-02
        let (dir, environment) = with(&[]);
        let folder = dir.path().join(".gemini");
        std::fs::create_dir_all(&folder).unwrap();
        let told = |text: &str| {
            std::fs::write(folder.join("settings.json"), text).unwrap();
            gemini(&environment)
        };
        assert_eq!(told("{}"), Some(false));
        assert_eq!(told("{"), Some(false));
        assert_eq!(told(r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#), Some(false), "chosen and not done");
        std::fs::write(folder.join("oauth_creds.json"), "{}").unwrap();
        assert_eq!(told(r#"{"security":{"auth":{"selectedType":"oauth-personal"}}}"#), Some(true));
        assert_eq!(told(r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#), None);
        let mut with_key = environment.clone();
        with_key.insert("GEMINI_API_KEY".to_owned(), "k".to_owned());
        assert_eq!(gemini(&with_key), Some(true));
    }
}
