//! What the files of a person may say, and what is refused.

mod approval;
mod config;
mod oracle;
mod policy;
mod predicate;
mod profile;
mod registry;
mod words;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::fault::Fault;
use super::value::{Frame, Value};

fn now() -> Timestamp {
    "2026-11-30T09:00:00Z".parse().unwrap()
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn frame<const N: usize>(facts: [(&str, Value); N]) -> Frame {
    facts.into()
}

macro_rules! bundled {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/default/", $path)))),*]
    };
}

/// The bundled profile's files.
fn bundled() -> BTreeMap<String, String> {
    bundled![
        "profile.toml",
        "gates.toml",
        "workflows/review/workflow.toml",
        "intents/review/intent.toml",
        "intents/review/prompt.md.tmpl",
        "intents/review/record.schema.json",
        "procedures/forks.md",
        "procedures/public.md",
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .collect()
}

/// The bundled files with one text of one file replaced; the text must be there.
fn changed(path: &str, from: &str, to: &str) -> BTreeMap<String, String> {
    let mut files = bundled();
    let file = files.get_mut(path).unwrap();
    assert!(file.contains(from), "`{path}` does not hold `{from}`");
    *file = file.replace(from, to);
    files
}

/// The one fault of a list, as it is shown.
fn only(faults: &[Fault]) -> String {
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults[0].to_string()
}
