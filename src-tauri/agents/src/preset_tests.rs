use super::*;

fn wiring() -> McpWiring {
    McpWiring {
        program: "/opt/wloop".into(),
        socket: "/run/w.sock".into(),
        session: "0123456789abcdef0123456789abcdef".parse().unwrap(),
        folder: "/trees/one".into(),
        own: "/w/session".into(),
        others: vec!["mine".to_owned(), "wloop".to_owned(), "odd \"name".to_owned()],
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
    assert_eq!(servers["mcpServers"].as_object().unwrap().len(), 1, "and no other server");
    assert_eq!(servers["mcpServers"]["wloop"]["command"], "/opt/wloop");
    assert_eq!(servers["mcpServers"]["wloop"]["args"], json!(["mcp"]));
    assert_eq!(servers["mcpServers"]["wloop"]["env"]["WLOOP_SOCKET"], "/run/w.sock");
    let allow = after(command, "--allowedTools");
    assert!(allow.contains(&"mcp__wloop".to_owned()) && allow.contains(&"Bash(git diff *)".to_owned()), "{allow:?}");
    let deny = after(command, "--disallowedTools");
    assert!(deny.contains(&"Edit".to_owned()) && deny.contains(&"WebFetch".to_owned()) && !deny.contains(&"Bash".to_owned()));
    // INT-07: what only reads cannot be made to write.
    assert!(deny.contains(&"Bash(*--out*)".to_owned()) && deny.contains(&"Bash(*--ext-d*)".to_owned()), "{deny:?}");
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
    let got = resolve(&config("command", Some(&["x", "--in=<cwd>", "<uuid>", "a<b"])), &wiring(), &Allowed::default()).unwrap();
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

fn settings(command: &[String]) -> toml_edit::DocumentMut {
    let at = command.iter().enumerate().filter(|(_, word)| *word == "-c").map(|(n, _)| command[n + 1].as_str());
    at.collect::<Vec<_>>().join("\n").parse().unwrap()
}

#[test]
fn codex_knows_one_server_and_nothing_of_the_repository() {
    // RUN-02, RUN-33
    let got = resolve(&config("codex", None), &wiring(), &Allowed::default()).unwrap();
    let command = &got.command;
    assert_eq!(command[..7], ["codex", "exec", "--json", "--cd", "/trees/one", "--sandbox", "read-only"]);
    assert_eq!(command.last().map(String::as_str), Some("-"), "the prompt is read from standard input");
    let set = settings(command);
    let servers = set["mcp_servers"].as_inline_table().unwrap();
    assert_eq!(servers.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["wloop", "mine", "odd \"name"]);
    let ours = servers["wloop"].as_inline_table().unwrap();
    assert_eq!(ours["command"].as_str(), Some("/opt/wloop"));
    assert_eq!(ours["args"].as_array().unwrap().get(0).unwrap().as_str(), Some("mcp"));
    assert_eq!(ours["env"].as_inline_table().unwrap()["WLOOP_SOCKET"].as_str(), Some("/run/w.sock"));
    assert_eq!(ours["env"].as_inline_table().unwrap()["WLOOP_SESSION"].as_str(), Some("0123456789abcdef0123456789abcdef"));
    assert_eq!(
        ours["default_tools_approval_mode"].as_str(),
        Some("approve"),
        "else its calls are refused where nobody can be asked"
    );
    for other in ["mine", "odd \"name"] {
        assert_eq!(servers[other].as_inline_table().unwrap()["enabled"].as_bool(), Some(false), "{other}");
    }
    assert_eq!(set["projects"]["/trees/one"]["trust_level"].as_str(), Some("untrusted"));
    assert_eq!((set["approval_policy"].as_str(), set["web_search"].as_str()), (Some("never"), Some("disabled")));
    assert!(set.get("sandbox_workspace_write").is_none());
    assert!((got.output, got.forks) == (OutputFormat::Codex, true) && got.pass.contains(&"CODEX_*"));
    assert!(!command.iter().any(|word| word.contains("bypass") || word.contains("full-access")), "{command:?}");
    let edits = Allowed { edit: true, fetch: true, commands: Vec::new() };
    let command = resolve(&config("codex", None), &wiring(), &edits).unwrap().command;
    assert_eq!(after(&command, "--sandbox")[0], "workspace-write");
    let set = settings(&command);
    assert_eq!(set["sandbox_workspace_write"]["network_access"].as_bool(), Some(true));
    assert!(set.get("web_search").is_none());
}

#[test]
fn the_person_s_other_servers_of_codex_are_found_by_name() {
    // RUN-33
    assert_eq!(codex_servers("model = \"x\"\n[mcp_servers.one]\ncommand = \"a\"\n[mcp_servers.\"t w\"]\n"), ["one", "t w"]);
    assert_eq!(codex_servers("mcp_servers = { a = { command = \"x\" } }\n"), ["a"]);
    assert!(codex_servers("").is_empty() && codex_servers("mcp_servers = 3\n").is_empty() && codex_servers("[").is_empty());
}

#[test]
fn gemini_gets_settings_that_win_over_all_others_and_runs_on_no_fork() {
    // RUN-02, RUN-33
    let allowed = Allowed { commands: vec!["git diff *".to_owned(), "*".to_owned(), "rg *".to_owned()], ..Allowed::default() };
    let got = resolve(&config("gemini", None), &wiring(), &allowed).unwrap();
    assert_eq!(
        got.command,
        ["gemini", "--output-format", "stream-json", "--approval-mode", "default", "--allowed-mcp-server-names", "wloop"]
    );
    assert_eq!(got.environment["GEMINI_CLI_SYSTEM_SETTINGS_PATH"], "/w/session/gemini-settings.json");
    let [(path, text)] = got.files.as_slice() else { panic!("{:?}", got.files) };
    assert_eq!(path.display().to_string(), "/w/session/gemini-settings.json");
    let set: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(set["mcpServers"].as_object().unwrap().len(), 1);
    assert_eq!((&set["mcpServers"]["wloop"]["args"], &set["mcp"]["allowed"]), (&json!(["mcp"]), &json!(["wloop"])));
    assert_eq!(set["hooksConfig"]["enabled"], false);
    assert_eq!(set["tools"]["allowed"], json!(["run_shell_command(git diff)", "run_shell_command(rg)"]));
    assert_eq!(set["tools"]["exclude"], json!(["replace", "write_file", "web_fetch", "google_web_search"]));
    assert!(!got.forks, "it cannot promise to leave the repository's settings alone");
    assert!(resolve(&AgentConfig { forks: true, ..config("gemini", None) }, &wiring(), &allowed).unwrap().forks);
    let none = resolve(&config("gemini", None), &wiring(), &Allowed::default()).unwrap();
    assert!(none.files[0].1.contains("\"run_shell_command\""), "no command is allowed: {}", none.files[0].1);
    let edits = Allowed { edit: true, fetch: true, commands: Vec::new() };
    assert!(resolve(&config("gemini", None), &wiring(), &edits).unwrap().command.contains(&"auto_edit".to_owned()));
}

#[test]
fn a_command_of_one_s_own_promises_nothing_about_a_fork() {
    // RUN-33
    let own = resolve(&config("claude-code", Some(&["claude", "-p"])), &wiring(), &Allowed::default()).unwrap();
    assert!(!own.forks, "what it reads of the repository is not known");
    assert!(own.environment.is_empty() && own.files.is_empty());
}
