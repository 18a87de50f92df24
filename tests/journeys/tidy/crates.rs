//! Crates: who uses whom, what is built into which, under which licences.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::{cargo, root, text};

/// Which of our crates each of our crates may use.
pub(super) const TABLE: &[(&str, &[&str])] = &[
    ("wloop-core", &[]),
    ("wloop-api", &[]),
    ("wloop-world", &[]),
    ("wloop-store", &["wloop-core"]),
    ("wloop-providers", &["wloop-core"]),
    ("wloop-agents", &["wloop-core"]),
    ("wloop-daemon", &["wloop-core", "wloop-store", "wloop-providers", "wloop-agents", "wloop-api"]),
    ("wloop-cli", &["wloop-api", "wloop-daemon", "wloop-world"]),
];
/// The one package that may use anything: nothing uses it.
const TESTS: &str = "wloop-tests";
/// The one package that may draw windows, and what draws them.
const DESKTOP: &str = "wloop-desktop";
const DESKTOP_LIBRARIES: &[&str] =
    &["tauri", "wry", "tao", "tray-icon", "muda", "gtk", "gtk4", "webkit2gtk", "winit", "zbus", "notify-rust"];
/// What decisions are made without: a runtime, a database, a network, processes, randomness.
const NOT_IN_CORE: &[&str] = &[
    "tokio",
    "async-std",
    "smol",
    "rusqlite",
    "libsqlite3-sys",
    "octocrab",
    "reqwest",
    "hyper",
    "axum",
    "rustix",
    "rand",
    "getrandom",
    "tracing",
];
/// What nothing uses: a second library for encrypted connections.
const NOWHERE: &[&str] = &["openssl-sys", "native-tls", "aws-lc-sys"];

/// The packages and their resolved graph on this machine's platform, without the network. It is read as plain JSON: the crate
/// `cargo_metadata` turns on a feature of `serde_json`, for which half of the dependencies would be built twice.
struct Metadata {
    all: Value,
}

impl Metadata {
    fn read() -> Self {
        let about = Command::new("rustc").arg("-vV").current_dir(root()).output().unwrap();
        let about = String::from_utf8(about.stdout).unwrap();
        let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let mut command = Command::new(cargo());
        command.args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", host]);
        let output = command.current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self { all: serde_json::from_slice(&output.stdout).unwrap() }
    }

    fn packages(&self) -> &[Value] {
        self.all["packages"].as_array().unwrap()
    }

    /// The packages of the workspace.
    fn ours(&self) -> Vec<&Value> {
        let members = self.all["workspace_members"].as_array().unwrap();
        self.packages().iter().filter(|package| members.contains(&package["id"])).collect()
    }

    /// The packages that this platform needs: the others may lie nowhere on this machine.
    fn needed(&self) -> Vec<&Value> {
        let nodes = self.all["resolve"]["nodes"].as_array().unwrap();
        let needed: BTreeSet<&str> = nodes.iter().map(|node| word(&node["id"])).collect();
        self.packages().iter().filter(|package| needed.contains(word(&package["id"]))).collect()
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn crates_use_each_other_as_the_table_says() {
    let metadata = Metadata::read();
    let mut wrong = Vec::new();
    for package in metadata.ours() {
        let name = word(&package["name"]);
        let uses = package["dependencies"].as_array().unwrap().iter().map(|dependency| word(&dependency["name"]));
        let uses: BTreeSet<&str> = uses.filter(|used| used.starts_with("wloop-")).collect();
        if uses.contains(TESTS) || uses.contains(DESKTOP) {
            wrong.push(format!("{name} uses {TESTS} or {DESKTOP}, which nothing may use"));
        }
        if matches!(name, TESTS | DESKTOP) {
            continue;
        }
        let Some((_, allowed)) = TABLE.iter().find(|(crate_name, _)| *crate_name == name) else {
            wrong.push(format!("{name} does not stand in the table of crates; add it here and in ARCHITECTURE.md"));
            continue;
        };
        // What a crate's own tests use counts as well: a wall with a door in it is none.
        wrong.extend(uses.iter().filter(|used| !allowed.contains(used)).map(|used| format!("{name} must not use {used}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names of everything that is built into this crate. `cargo metadata` would also name what no feature turns on.
fn built_with(name: &str) -> BTreeSet<String> {
    let mut command = Command::new(cargo());
    command.args(["tree", "--offline", "--locked", "--package", name, "--all-features", "--edges", "normal"]);
    let output = command.args(["--prefix", "none", "--format", "{p}"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn libraries_stay_where_they_belong() {
    let metadata = Metadata::read();
    let mut wrong = Vec::new();
    for package in metadata.ours() {
        let name = word(&package["name"]);
        let used = built_with(name);
        assert!(used.contains(name) && used.len() > 1, "the graph of {name} was read");
        let mut refuse = |names: &[&str], why: &str| {
            wrong.extend(names.iter().filter(|n| used.contains(**n)).map(|n| format!("{name} is built with `{n}`: {why}")));
        };
        refuse(NOWHERE, "one TLS library is in the whole build, rustls with ring");
        if name != DESKTOP {
            refuse(DESKTOP_LIBRARIES, "a desktop library belongs to the desktop package alone");
        }
        if name == "wloop-core" {
            refuse(NOT_IN_CORE, "core decides and does nothing else");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_takes_lints_version_and_licence_from_the_workspace() {
    let metadata = Metadata::read();
    for package in metadata.ours() {
        let name = word(&package["name"]);
        let manifest = toml_like::read(&std::fs::read_to_string(word(&package["manifest_path"])).unwrap());
        let has = |table: &str, line: &str| manifest.get(table).is_some_and(|lines| lines.contains(line));
        assert!(has("[lints]", "workspace = true"), "{name} lacks `[lints] workspace = true`");
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            assert!(has("[package]", &format!("{key}.workspace = true")), "{name}: `{key}` is not the workspace's");
        }
        assert_eq!(package["license"], "MIT OR Apache-2.0", "{name}");
        assert_eq!(package["publish"], serde_json::json!([]), "{name} could be published by mistake");
    }
}

/// Just enough of a manifest: its lines by table.
mod toml_like {
    use std::collections::{BTreeMap, BTreeSet};

    pub(super) type Table = BTreeMap<String, BTreeSet<String>>;

    pub(super) fn read(text: &str) -> Table {
        let (mut tables, mut name) = (Table::new(), String::new());
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                line.clone_into(&mut name);
            }
            tables.entry(name.clone()).or_default().insert(line.to_owned());
        }
        tables
    }
}

/// Whether one of the choices that a licence expression gives consists of allowed licences only.
fn may_be_used(expression: &str, allowed: &BTreeSet<String>) -> bool {
    /// Splits at a word that stands outside parentheses.
    fn split<'a>(expression: &'a str, word: &str) -> Vec<&'a str> {
        let (mut depth, mut from, mut parts) = (0i32, 0, Vec::new());
        for (at, c) in expression.char_indices() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 && at >= from && expression[at..].starts_with(word) {
                parts.push(&expression[from..at]);
                from = at + word.len();
            }
        }
        parts.push(&expression[from..]);
        parts
    }
    let expression = expression.trim();
    // `A/B` is an old way to write `A OR B`.
    for word in [" OR ", "/"] {
        let choices = split(expression, word);
        if choices.len() > 1 {
            return choices.into_iter().any(|choice| may_be_used(choice, allowed));
        }
    }
    let needed = split(expression, " AND ");
    if needed.len() > 1 {
        return needed.into_iter().all(|part| may_be_used(part, allowed));
    }
    match expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => may_be_used(inner, allowed),
        None => allowed.contains(expression),
    }
}

#[test]
fn licence_expressions_are_read_right() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "ISC".to_owned()]);
    for good in ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND ISC", "ISC AND (GPL-3.0 OR MIT)"] {
        assert!(may_be_used(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT AND GPL-3.0) OR GPL-2.0", "ISC AND (GPL-3.0 OR GPL-2.0)", ""] {
        assert!(!may_be_used(bad, &allowed), "{bad}");
    }
}

#[test]
fn every_licence_is_one_that_deny_toml_allows() {
    let deny = text("deny.toml");
    let list = deny.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let allowed: BTreeSet<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(allowed.contains("MIT"), "the list of `deny.toml` was read: {allowed:?}");
    let metadata = Metadata::read();
    let mut wrong = Vec::new();
    for package in metadata.needed() {
        let name = word(&package["name"]);
        match package["license"].as_str() {
            Some(expression) if may_be_used(expression, &allowed) => {}
            Some(expression) => wrong.push(format!("{name}: `{expression}`")),
            None if deny.contains(&format!("crate = \"{name}\"")) => {}
            None => wrong.push(format!("{name}: no licence is named, and `deny.toml` does not clarify it")),
        }
    }
    assert!(wrong.is_empty(), "not allowed by `deny.toml`:\n{}", wrong.join("\n"));
}

#[test]
fn licences_are_there() {
    assert!(text("LICENSE-MIT").starts_with("MIT License"));
    assert!(text("LICENSE-APACHE").contains("Apache License") && text("LICENSE-APACHE").contains("END OF TERMS AND CONDITIONS"));
    assert!(text("README.md").contains("LICENSE-MIT") && text("README.md").contains("LICENSE-APACHE"));
    // What was taken from elsewhere says from where, and under which terms.
    for fixtures in ["src-tauri/providers/fixtures", "src-tauri/world/fixtures"] {
        assert!(text(&format!("{fixtures}/SOURCES.md")).contains("LICENSE"), "{fixtures}");
    }
}
