//! What the repository promises about itself: who may use whom, how long a file is, what is generated, what the documents say.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use wloop_core::rules::config::Config;

/// Which of our crates each of our crates may use.
const TABLE: &[(&str, &[&str])] = &[
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
const DESKTOP_LIBRARIES: &[&str] = &["tauri", "wry", "tao", "tray-icon", "muda", "gtk", "gtk4", "webkit2gtk", "winit", "zbus", "notify-rust"];
/// What decisions are made without: a runtime, a database, a network, processes, randomness.
const NOT_IN_CORE: &[&str] =
    &["tokio", "async-std", "smol", "rusqlite", "libsqlite3-sys", "octocrab", "reqwest", "hyper", "axum", "rustix", "rand", "getrandom", "tracing"];
/// What nothing uses: a second library for encrypted connections.
const NOWHERE: &[&str] = &["openssl-sys", "native-tls", "aws-lc-sys"];

/// The most lines of a Rust file.
const LINES: usize = 600;
/// The files that are longer, each with the most it may have and why it is not split.
const LONGER: &[(&str, usize, &str)] = &[("src-tauri/world/src/agent.rs", 640, "the demo's agent and its tests are one script")];

/// The description of the API, made from what a running daemon says.
const OPENAPI: &str = "docs/reference/openapi.json";
/// How long a daemon may take until it listens.
const PATIENCE: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|fault| panic!("`{path}` cannot be read: {fault}"))
}

/// Every file of the repository that people write, by its path from the root, with `/` between the parts.
fn files() -> Vec<String> {
    fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                if !matches!(name.as_str(), "target" | "node_modules" | ".git" | "fixtures" | "dist") {
                    walk(&path, root, found);
                }
            } else if entry.file_type().unwrap().is_file() {
                found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    walk(&root, &root, &mut found);
    found.sort();
    found
}

/// The files with one of these endings, each with its text; this file is left out, because it names what it looks for.
fn sources(endings: &[&str]) -> Vec<(String, String)> {
    let mut all = files();
    all.retain(|path| endings.iter().any(|end| path.ends_with(end)) && path != "tests/journeys/tidy.rs");
    all.into_iter().map(|path| (text(&path), path)).map(|(text, path)| (path, text)).collect()
}

fn is_test_code(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs")
}

// ---- crates

#[expect(clippy::disallowed_methods, reason = "cargo tells a test where it is by the environment")]
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// The packages and their resolved graph on this machine's platform, without the network.
fn metadata() -> Metadata {
    let about = Command::new("rustc").arg("-vV").current_dir(root()).output().unwrap();
    let about = String::from_utf8(about.stdout).unwrap();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let options = ["--offline", "--locked", "--filter-platform", host].map(str::to_owned);
    MetadataCommand::new().cargo_path(cargo()).current_dir(root()).other_options(options).exec().unwrap()
}

fn ours(metadata: &Metadata) -> Vec<&Package> {
    metadata.workspace_packages()
}

#[test]
fn crates_use_each_other_as_the_table_says() {
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in ours(&metadata) {
        let name = package.name.as_str();
        let uses: BTreeSet<&str> = package.dependencies.iter().map(|d| d.name.as_str()).filter(|n| n.starts_with("wloop-")).collect();
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

/// The names of everything that ends up in what `package` builds.
fn built_with<'a>(metadata: &'a Metadata, package: &'a PackageId) -> BTreeSet<&'a str> {
    let resolve = metadata.resolve.as_ref().unwrap();
    let nodes: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut seen: BTreeSet<&PackageId> = BTreeSet::new();
    let mut next = vec![package];
    while let Some(id) = next.pop() {
        if seen.insert(id) {
            let kept = nodes[id].deps.iter().filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal));
            next.extend(kept.map(|dep| &dep.pkg));
        }
    }
    metadata.packages.iter().filter(|p| seen.contains(&p.id)).map(|p| p.name.as_str()).collect()
}

#[test]
fn libraries_stay_where_they_belong() {
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in ours(&metadata) {
        let name = package.name.as_str();
        let used = built_with(&metadata, &package.id);
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
    let metadata = metadata();
    for package in ours(&metadata) {
        let manifest = std::fs::read_to_string(&package.manifest_path).unwrap();
        let manifest: toml_like::Table = toml_like::read(&manifest);
        let has = |table: &str, line: &str| manifest.get(table).is_some_and(|lines| lines.contains(line));
        assert!(has("[lints]", "workspace = true"), "{} lacks `[lints] workspace = true`", package.name);
        for key in ["version", "edition", "rust-version", "license", "publish"] {
            assert!(has("[package]", &format!("{key}.workspace = true")), "{}: `{key}` is not the workspace's", package.name);
        }
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{}", package.name);
        assert!(package.publish.as_ref().is_some_and(Vec::is_empty), "{} could be published by mistake", package.name);
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

// ---- licences

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
    let metadata = metadata();
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let clarified = deny.contains(&format!("crate = \"{}\"", package.name));
        match &package.license {
            Some(expression) if may_be_used(expression, &allowed) => {}
            Some(expression) => wrong.push(format!("{}: `{expression}`", package.name)),
            None if clarified => {}
            None => wrong.push(format!("{}: no licence is named, and `deny.toml` does not clarify it", package.name)),
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

// ---- files

#[test]
fn files_stay_short() {
    let mut wrong = Vec::new();
    for (path, text) in sources(&[".rs"]) {
        let lines = text.lines().count();
        match LONGER.iter().find(|(known, _, _)| *known == path) {
            Some((_, most, _)) if lines > *most => wrong.push(format!("{path}: {lines} lines, and its exception ends at {most}")),
            Some(_) if lines <= LINES => wrong.push(format!("{path}: {lines} lines; take it off the list of longer files")),
            Some(_) => {}
            None if lines > LINES => wrong.push(format!("{path}: {lines} lines, more than {LINES}: split it by subject")),
            None => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_left_unfinished() {
    let words = ["TODO", "FIXME", "XXX", "HACK"];
    let macros = ["todo!", "unimplemented!", "dbg!"];
    let mut wrong = Vec::new();
    for (path, text) in sources(&[".rs", ".toml", ".sql", ".md", ".tmpl", "Makefile", ".ci/run"]) {
        // The demo's sample code is meant to give a reviewer something to say.
        if path.starts_with("src-tauri/world/src/demo/files/") {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            let comment = if path.ends_with(".rs") { comment_of(line) } else { line };
            let word = words.iter().find(|word| comment.split(|c: char| !c.is_ascii_alphanumeric()).any(|found| found == **word));
            let code = &line[..line.len() - comment.len()];
            let left = macros.iter().find(|name| path.ends_with(".rs") && code.contains(*name));
            if let Some(found) = word.or(left) {
                wrong.push(format!("{path}:{}: `{found}`", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "left unfinished:\n{}", wrong.join("\n"));
}

/// The comment at the end of a line of Rust, empty where there is none. Two slashes after an odd number of quotes stand in a string.
fn comment_of(line: &str) -> &str {
    let mut quotes = 0;
    for (at, c) in line.char_indices() {
        quotes += usize::from(c == '"');
        if quotes % 2 == 0 && line[at..].starts_with("//") {
            return &line[at..];
        }
    }
    ""
}

#[test]
fn only_the_two_voices_of_the_daemon_print() {
    // The command line writes through its own `output`; everybody else writes to the log.
    let may = ["src-tauri/daemon/src/face.rs", "src-tauri/daemon/src/run.rs"];
    let mut found = BTreeSet::new();
    for (path, text) in sources(&[".rs"]) {
        let prints = text.lines().any(|line| {
            let code = &line[..line.len() - comment_of(line).len()];
            ["println!(", "print!(", "eprintln!(", "eprint!("].iter().any(|name| code.contains(name))
        });
        if prints && !is_test_code(&path) {
            found.insert(path);
        }
    }
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), may);
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    let here = root();
    let here = here.to_string_lossy();
    // A path of one part, such as `/src`, is too common a word to be looked for.
    let here = (here.matches('/').count() > 1).then_some(here.as_ref());
    let mut wrong = Vec::new();
    for (path, text) in sources(&[".rs", ".toml", ".sql", ".md", ".tmpl", ".svg", ".json", ".py", "Makefile", ".ci/run", ".graphql"]) {
        for (n, line) in text.lines().enumerate() {
            // A home that a test makes up is called `/home/w`.
            let line = line.replace("/home/w\"", "");
            let found = ["/Users/", "/root/", "/home/"].into_iter().chain(here).find(|place| line.contains(place));
            if let Some(place) = found {
                wrong.push(format!("{path}:{}: `{place}`", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

// ---- what is made from something else

#[test]
fn the_bundled_profile_is_the_folder_of_profiles() {
    let settings = text("src-tauri/daemon/src/settings.rs");
    let mut bundled = BTreeSet::new();
    for line in settings.lines().filter(|line| line.contains("include_str!")) {
        let words: Vec<&str> = line.split('"').collect();
        let (name, source) = (words[1], words[3]);
        assert!(source.ends_with(&format!("/profiles/default/{name}")), "`{name}` is bundled from `{source}`");
        bundled.insert(name.to_owned());
    }
    let there = files().into_iter().filter_map(|path| path.strip_prefix("profiles/default/").map(str::to_owned)).collect();
    assert_eq!(bundled, there, "the files that `settings.rs` bundles, and those of `profiles/default`");
}

/// A daemon on a home of its own, killed when the test is done with it.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// What a daemon without any configuration says on its socket.
fn ask_a_daemon(path: &str) -> serde_json::Value {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(wloop_tests::program("wloop"));
    command.args(["daemon", "--home"]).arg(home.path()).env_clear().envs(wloop_tests::plain_environment());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
    let mut daemon = Daemon(child);
    let output = daemon.0.stdout.take().unwrap();
    let (tell, told) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _left = tell.send(read.map(|_| line));
    });
    let line = told.recv_timeout(PATIENCE).expect("the daemon listens in time").unwrap();
    reader.join().unwrap();
    let socket = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("the daemon said `{line}`"));
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: wloop\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    serde_json::from_str(body).unwrap_or_else(|fault| panic!("{fault}: {head}"))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests asks for new files by the environment")]
fn the_description_of_the_api_is_up_to_date() {
    // API-09
    let served = ask_a_daemon("/api/openapi.json");
    assert!(served["paths"].as_object().is_some_and(|paths| paths.len() > 10), "{served}");
    let path = root().join(OPENAPI);
    if std::env::var("WLOOP_BLESS").is_ok_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{served:#}\n")).unwrap();
    }
    let kept: serde_json::Value = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    assert!(kept == served, "`{OPENAPI}` is stale; write it anew with `WLOOP_BLESS=1 cargo test -p wloop-tests tidy`");
}

// ---- documents

/// The parts of a Markdown text that stand between fences, each with the fence's word.
fn fenced(text: &str) -> Vec<(String, String)> {
    let (mut found, mut open): (Vec<(String, String)>, bool) = (Vec::new(), false);
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), open) {
            (Some(word), false) => {
                found.push((word.trim().to_owned(), String::new()));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                if let Some((_, body)) = found.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    assert!(!open, "a fence is not closed");
    found
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let mut wrong = Vec::new();
    for (path, text) in sources(&[".md"]) {
        let folder = root().join(&path).parent().unwrap().to_owned();
        for rest in text.split("](").skip(1) {
            let target = rest.split(')').next().unwrap();
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            let to = if file.is_empty() { root().join(&path) } else { folder.join(file) };
            if !to.exists() {
                wrong.push(format!("{path}: `{target}` is not there"));
                continue;
            }
            let has_heading = || {
                let there = std::fs::read_to_string(&to).unwrap();
                there.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor)
            };
            if !anchor.is_empty() && !has_heading() {
                wrong.push(format!("{path}: `{target}` has no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A heading as a link names it.
fn slug(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn configuration_in_the_documents_loads() {
    // PROF-05
    let mut seen = 0;
    for (path, text) in sources(&[".md"]) {
        for (word, body) in fenced(&text) {
            // A file of a profile is marked by its name in the first line.
            if word == "toml" && !body.starts_with("# profiles/") {
                seen += 1;
                if let Err(faults) = Config::parse("config.toml", &body) {
                    let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                    panic!("{path}: this does not load:\n{body}\n{}", faults.join("\n"));
                }
            }
        }
    }
    assert!(seen > 3, "only {seen} examples were found");
}

#[test]
fn commands_in_the_documents_exist() {
    let help = |arguments: &[&str]| {
        let output = Command::new(wloop_tests::program("wloop")).args(arguments).arg("--help").output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let lists = |help: &str, word: &str| help.lines().any(|line| line.split_whitespace().next() == Some(word) && line.starts_with("  "));
    let top = help(&[]).unwrap();
    let mut seen = BTreeSet::new();
    for (path, text) in sources(&[".md"]) {
        for (_, body) in fenced(&text) {
            for line in body.lines() {
                let line = line.trim_start_matches("$ ");
                let words: Vec<&str> = line.split_whitespace().collect();
                let Some((&"wloop", rest)) = words.split_first() else { continue };
                let Some(command) = rest.iter().find(|word| !word.starts_with('-')) else { continue };
                assert!(lists(&top, command), "{path}: there is no `wloop {command}`");
                let own = help(&[command]).unwrap();
                if own.contains("Commands:")
                    && let Some(second) = rest.iter().skip_while(|word| *word != command).nth(1).filter(|word| !word.starts_with('-'))
                {
                    assert!(lists(&own, second), "{path}: there is no `wloop {command} {second}`");
                }
                for flag in rest.iter().filter(|word| word.starts_with("--")) {
                    let second = rest.iter().skip_while(|word| *word != command).nth(1).filter(|word| lists(&own, word));
                    let all = [own.clone(), second.and_then(|word| help(&[command, word])).unwrap_or_default()].concat();
                    assert!(all.contains(flag), "{path}: `wloop {command}` takes no `{flag}`");
                }
                seen.insert((*command).to_owned());
            }
        }
    }
    assert!(seen.len() > 8, "only {seen:?} were found");
}

#[test]
fn every_invariant_names_what_holds_it() {
    let architecture = text("ARCHITECTURE.md");
    let section = architecture.split("\n## Invariants\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let code: String = sources(&[".rs", ".sql", "Cargo.toml", "clippy.toml"]).into_iter().map(|(_, text)| text).collect();
    let own = text("tests/journeys/tidy.rs");
    let mut seen = 0;
    for part in section.split("\n- ").skip(1) {
        assert!(part.starts_with("Invariant: "), "an invariant begins with its word: {part}");
        let names: Vec<&str> = part.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "what holds this one? {part}");
        for name in names {
            assert!(code.contains(name) || own.contains(&format!("fn {name}()")), "`{name}` is not there any more: {part}");
        }
        seen += 1;
    }
    assert!(seen > 8, "only {seen} invariants were found");
}

#[test]
fn the_code_map_is_true() {
    let architecture = text("ARCHITECTURE.md");
    let mut seen = 0;
    for name in architecture.split('`').skip(1).step_by(2) {
        let is_path = name.starts_with("src-tauri/") || name.starts_with("tests/") || name.starts_with("profiles/") || name.starts_with("docs/");
        if is_path {
            assert!(root().join(name).exists(), "`{name}` is not there");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} paths were found");
    for (name, _) in TABLE {
        let folder = format!("src-tauri/{}", name.trim_start_matches("wloop-"));
        assert!(architecture.contains(&folder), "`{folder}` is not in the code map");
    }
}

#[test]
fn automatic_checks_run_what_people_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let run = text(".ci/run");
    assert!(run.starts_with("#!/usr/bin/env bash\n") && run.contains("set -euo pipefail") && run.contains("make test"), "{run}");
    assert!(!run.contains("|| true"), "nothing is let pass");
    let mode = std::fs::metadata(root().join(".ci/run")).unwrap().permissions().mode();
    assert!(mode & 0o111 == 0o111, "`.ci/run` can be run");
}
