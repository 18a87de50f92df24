use super::*;

const FOLDER: &str = "/data/workspaces/acme/api";

/// Sets the entry, and checks that setting it again writes nothing.
fn once(home: AgentHome, text: &str) -> String {
    let new = home.with_entry(text, FOLDER).unwrap().expect("the entry was not there");
    assert_eq!(home.with_entry(&new, FOLDER).unwrap(), None, "the second time writes nothing: {new}");
    new
}

#[test]
fn an_empty_home_gets_the_entry_alone() {
    // RUN-31
    for text in ["", "  \n", "{}", "{ }\n"] {
        let new: Value = serde_json::from_str(&once(AgentHome::Claude, text)).unwrap();
        assert_eq!(new, serde_json::json!({ "projects": { FOLDER: { "hasTrustDialogAccepted": true } } }), "{text:?}");
        let new: Value = serde_json::from_str(&once(AgentHome::Gemini, text)).unwrap();
        assert_eq!(new, serde_json::json!({ FOLDER: "TRUST_FOLDER" }), "{text:?}");
    }
    assert_eq!(once(AgentHome::Codex, ""), format!("[projects.\"{FOLDER}\"]\ntrust_level = \"trusted\"\n"));
}

#[test]
fn every_other_key_and_the_layout_of_claude_s_file_stay() {
    // RUN-31
    let text = "{\n  \"numStartups\": 12,\n  \"big\": 12345678901234567890123,\n  \"odd\" : [ 1,2 ],\n  \"projects\": {\n    \"/one\": {\n      \
                \"allowedTools\": [],\n      \"hasTrustDialogAccepted\": false\n    }\n  },\n  \"last\": \"a\\\"}\"\n}\n";
    let new = once(AgentHome::Claude, text);
    let expected = text.replace(
        "false\n    }\n  }",
        &format!("false\n    }},\n    \"{FOLDER}\": {{\n      \"hasTrustDialogAccepted\": true\n    }}\n  }}"),
    );
    assert_eq!(new, expected);
    // The folder is known and not trusted: only its value changes.
    let known = AgentHome::Claude.with_entry(text, "/one").unwrap().unwrap();
    assert_eq!(known, text.replace("\"hasTrustDialogAccepted\": false", "\"hasTrustDialogAccepted\": true"));
    // Known without the entry.
    let bare = text.replace(",\n      \"hasTrustDialogAccepted\": false", "");
    let known = AgentHome::Claude.with_entry(&bare, "/one").unwrap().unwrap();
    assert_eq!(known, bare.replace("[]\n    }", "[],\n      \"hasTrustDialogAccepted\": true\n    }"));
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    // RUN-31
    let new = once(AgentHome::Gemini, "{\"/a\":\"DO_NOT_TRUST\"}");
    assert_eq!(new, format!("{{\"/a\":\"DO_NOT_TRUST\",\"{FOLDER}\":\"TRUST_FOLDER\"}}"));
    let new = once(AgentHome::Gemini, "{ \"/a\": \"TRUST_PARENT\" }\n");
    assert_eq!(new, format!("{{ \"/a\": \"TRUST_PARENT\", \"{FOLDER}\": \"TRUST_FOLDER\" }}\n"));
    let distrusted = format!("{{\n\t\"{FOLDER}\": \"DO_NOT_TRUST\"\n}}");
    assert_eq!(once(AgentHome::Gemini, &distrusted), distrusted.replace("DO_NOT_TRUST", "TRUST_FOLDER"));
}

#[test]
fn codex_s_file_keeps_its_remarks_and_its_order() {
    // RUN-31
    let text = "# mine\nmodel = \"o9\" # the best\n\n[projects.\"/one\"]\ntrust_level = \"untrusted\" # no\n\n[mcp_servers.x]\ncommand = \"x\"\n";
    let new = once(AgentHome::Codex, text);
    assert!(new.contains("# mine\nmodel = \"o9\" # the best\n") && new.contains("[mcp_servers.x]\ncommand = \"x\"\n"), "{new}");
    assert!(new.contains(&format!("[projects.\"{FOLDER}\"]\ntrust_level = \"trusted\"\n")), "{new}");
    assert!(new.contains("trust_level = \"untrusted\" # no"), "another folder stays as it is: {new}");
    let gone: String = new.replace(&format!("[projects.\"{FOLDER}\"]\ntrust_level = \"trusted\"\n"), "");
    assert_eq!(gone.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
    let known = AgentHome::Codex.with_entry(text, "/one").unwrap().unwrap();
    assert_eq!(known, text.replace("\"untrusted\" # no", "\"trusted\" # no"));
    let inline =
        AgentHome::Codex.with_entry("projects = { \"/one\" = { trust_level = \"trusted\" } }\n", FOLDER).unwrap().unwrap();
    let read: toml_edit::DocumentMut = inline.parse().unwrap();
    assert_eq!(read["projects"]["/one"]["trust_level"].as_str(), Some("trusted"));
    assert_eq!(read["projects"][FOLDER]["trust_level"].as_str(), Some("trusted"));
}

#[test]
fn a_file_that_is_not_right_is_left_alone() {
    // RUN-31
    let dir = tempfile::tempdir().unwrap();
    for (home, text) in [
        (AgentHome::Claude, "{\"projects\": 7}"),
        (AgentHome::Claude, "{"),
        (AgentHome::Claude, "[]"),
        (AgentHome::Claude, "// a remark\n{}"),
        (AgentHome::Gemini, "\"x\""),
        (AgentHome::Codex, "projects = 1\n"),
        (AgentHome::Codex, "[x"),
    ] {
        let file = dir.path().join("file");
        std::fs::write(&file, text).unwrap();
        let fault = trust(home, &file, Path::new(FOLDER)).unwrap_err();
        assert!(matches!(fault, HomeFault::Odd { .. }) && fault.to_string().contains("mend it"), "{text}: {fault}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    for folder in ["relative", "/a\nb"] {
        assert!(
            matches!(trust(AgentHome::Codex, &dir.path().join("x"), Path::new(folder)), Err(HomeFault::Folder(_))),
            "{folder}"
        );
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn the_file_is_replaced_whole_with_its_rights_and_through_its_link() {
    // RUN-31
    use std::os::unix::fs::MetadataExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
    std::fs::write(&real, "{}").unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let before = std::fs::metadata(&real).unwrap().ino();
    assert!(trust(AgentHome::Gemini, &link, Path::new(FOLDER)).unwrap());
    let after = std::fs::metadata(&real).unwrap();
    assert_ne!(after.ino(), before, "another file in its place");
    assert_eq!(after.permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    // The second time nothing is written at all.
    assert!(!trust(AgentHome::Gemini, &link, Path::new(FOLDER)).unwrap());
    assert_eq!(std::fs::metadata(&real).unwrap().ino(), after.ino());
    // A home that is not there yet is made, for its owner alone.
    let fresh = dir.path().join("new/.codex/config.toml");
    assert!(trust(AgentHome::Codex, &fresh, Path::new(FOLDER)).unwrap());
    assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_agent_s_file_is_where_its_environment_says() {
    // RUN-31
    let at = |home: AgentHome, pairs: &[(&str, &str)]| {
        let environment = pairs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        home.file(&environment).map(|path| path.display().to_string())
    };
    assert_eq!(at(AgentHome::Claude, &[("HOME", "/h")]).as_deref(), Some("/h/.claude.json"));
    assert_eq!(at(AgentHome::Claude, &[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")]).as_deref(), Some("/c/.claude.json"));
    assert_eq!(at(AgentHome::Codex, &[("HOME", "/h"), ("CODEX_HOME", "")]).as_deref(), Some("/h/.codex/config.toml"));
    assert_eq!(at(AgentHome::Codex, &[("CODEX_HOME", "/c")]).as_deref(), Some("/c/config.toml"));
    assert_eq!(at(AgentHome::Gemini, &[("HOME", "/h")]).as_deref(), Some("/h/.gemini/trustedFolders.json"));
    assert_eq!(at(AgentHome::Gemini, &[("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "/t.json")]).as_deref(), Some("/t.json"));
    assert_eq!(at(AgentHome::Gemini, &[]), None);
    let presets = ["claude-code", "codex", "gemini", "command", "acp"].map(AgentHome::of_preset);
    assert_eq!(presets.map(|h| h.is_some()), [true, true, true, false, false]);
}
