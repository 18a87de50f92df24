//! What the repository promises about itself: who may use whom, how long a file is, what is generated, what the documents say.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod crates;
mod documents;
mod files;
mod generated;
mod reference;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|fault| panic!("`{path}` cannot be read: {fault}"))
}

/// Holds a generated file to what it would be now; writes it anew where that was asked for.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests asks for new files by the environment")]
fn is_as_made(path: &str, made: &str) {
    if std::env::var("WLOOP_BLESS").is_ok_and(|value| value == "1") {
        let file = root().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, made).unwrap();
    }
    let kept = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    assert!(kept == made, "`{path}` is stale; write it anew with `make generate`");
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

/// The files with one of these endings, each with its text; the files of this module are left out, because they name
/// what they look for.
fn sources(endings: &[&str]) -> Vec<(String, String)> {
    let mut all = files();
    all.retain(|path| endings.iter().any(|end| path.ends_with(end)) && !path.starts_with("tests/journeys/tidy"));
    all.into_iter().map(|path| (text(&path), path)).map(|(text, path)| (path, text)).collect()
}

fn is_test_code(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs")
}

#[expect(clippy::disallowed_methods, reason = "cargo tells a test where it is by the environment")]
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
