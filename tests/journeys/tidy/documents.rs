//! The documents: links that lead somewhere, examples that load, commands that exist, statements that hold.

use std::collections::BTreeSet;
use std::process::Command;

use wloop_core::rules::config::Config;

use super::crates::TABLE;
use super::{files, root, sources, text};

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
    let lists =
        |help: &str, word: &str| help.lines().any(|line| line.split_whitespace().next() == Some(word) && line.starts_with("  "));
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
                    && let Some(second) =
                        rest.iter().skip_while(|word| *word != command).nth(1).filter(|word| !word.starts_with('-'))
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
    let own: String = files().iter().filter(|path| path.starts_with("tests/journeys/tidy/")).map(|path| text(path)).collect();
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
        let is_path = name.starts_with("src-tauri/")
            || name.starts_with("tests/")
            || name.starts_with("profiles/")
            || name.starts_with("docs/");
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
