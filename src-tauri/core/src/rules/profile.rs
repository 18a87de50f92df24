//! A profile as checked values: its gates, its workflows and its intents.

mod approval;
mod gates;
mod intent;
mod workflow;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use self::approval::read_overlay;
pub use self::gates::{Category, DraftWords, GateEntry, Gates};
pub use self::intent::{
    Action, Grant, Input, InputKind, IntentManifest, Permissions, Runner, SHAPES, WorkspaceRole, WorkspaceSpec,
};
pub use self::workflow::{ACTS, Act, KeyPart, StageSource, Step, Trigger, Workflow};
use super::fault::Fault;
use super::read;
use crate::gate::GateKind;

/// A profile that loaded.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The language of its words.
    pub language: String,
    /// The surfaces before whose change a round stops (AMB-04).
    pub surfaces: Vec<String>,
    /// `gates.toml`.
    pub gates: Gates,
    /// The workflows that loaded, by name.
    pub workflows: BTreeMap<String, Workflow>,
    /// The intents, by name.
    pub intents: BTreeMap<String, IntentManifest>,
    /// The faults of workflows that were left out (WF-11).
    pub broken: Vec<Fault>,
}

impl Profile {
    /// Checks the files of a profile: path inside the profile to text, layers laid over each other already.
    ///
    /// # Errors
    /// Every fault of every file, when `profile.toml`, `gates.toml` or an intent is wrong. A workflow that is wrong is left out
    /// and told in `broken`; the others go on (WF-11).
    pub fn load(files: &BTreeMap<String, String>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let head = take(&mut faults, head(files));
        let gates = take(&mut faults, file(files, "gates.toml").and_then(gates::read));
        let mut intents = BTreeMap::new();
        for name in folders(files, "intents/") {
            if let Some(intent) = take(&mut faults, intent::read(&name, files)) {
                intents.insert(name, intent);
            }
        }
        let (Some((name, language, surfaces)), Some(gates), true) = (head, gates, faults.is_empty()) else {
            return Err(faults);
        };
        let mut broken = Vec::new();
        let mut workflows = BTreeMap::new();
        let beside = folders(files, "workflows/");
        for name in &beside {
            let path = format!("workflows/{name}/workflow.toml");
            let read = file(files, &path).and_then(|text| workflow::read(name, text, &intents, &beside));
            if let Some(workflow) = take(&mut broken, read) {
                workflows.insert(name.clone(), workflow);
            }
        }
        Ok(Self { name, language, surfaces, gates, workflows, intents, broken })
    }

    /// The gate that the loop opens for a kind: the first of it (GATE-20). Every profile that loads has one (GATE-21).
    #[must_use]
    pub fn first_gate(&self, kind: GateKind) -> &GateEntry {
        self.gates.first(kind)
    }

    /// The marks that any workflow asks for (CEL-04).
    #[must_use]
    pub fn marks_read(&self) -> BTreeSet<&str> {
        self.workflows.values().flat_map(Workflow::marks).map(String::as_str).collect()
    }

    /// The gate of that name.
    #[must_use]
    pub fn gate(&self, name: &str) -> Option<&GateEntry> {
        self.gates.entries.iter().find(|gate| gate.name == name)
    }
}

fn head(files: &BTreeMap<String, String>) -> Result<(String, String, Vec<String>), Vec<Fault>> {
    read::read("profile.toml", file(files, "profile.toml")?, |root| {
        let name = root.required("name");
        let language = root.text("language").unwrap_or_else(|| "en".to_owned());
        let surfaces = root.texts("surfaces").unwrap_or_default();
        name.map(|name| (name, language, surfaces))
    })
}

fn file<'f>(files: &'f BTreeMap<String, String>, path: &str) -> Result<&'f str, Vec<Fault>> {
    files.get(path).map(String::as_str).ok_or_else(|| vec![missing(path)])
}

fn missing(path: &str) -> Fault {
    Fault {
        file: path.to_owned(),
        at: None,
        key: String::new(),
        what: "the file is missing".to_owned(),
        help: "add it, or remove its folder".to_owned(),
    }
}

fn take<T>(faults: &mut Vec<Fault>, read: Result<T, Vec<Fault>>) -> Option<T> {
    read.map_err(|mut found| faults.append(&mut found)).ok()
}

/// The names of the folders right under `prefix` that hold a file.
fn folders(files: &BTreeMap<String, String>, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> =
        files.keys().filter_map(|path| path.strip_prefix(prefix)?.split_once('/')).map(|(folder, _)| folder.to_owned()).collect();
    names.dedup();
    names
}

/// Whether a name may be a folder's and a command's word: `[a-z][a-z0-9-]*` (INT-01).
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}
