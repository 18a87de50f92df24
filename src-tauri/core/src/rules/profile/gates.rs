//! `gates.toml`: each gate by name, what no table decides, and the words of drafts (GATE-16 to GATE-22).

use std::collections::{BTreeMap, BTreeSet};

use super::approval::{Owner, read_table};
use super::is_name;
use crate::gate::{GateKind, GateStatus, Intent};
use crate::rules::fault::Fault;
use crate::rules::policy::{ApprovalTable, GATES_TOML};
use crate::rules::read::{self, Table};
use crate::rules::registry::Scope;
use crate::rules::words;

/// What becomes of a task that was only a place for gates (GATE-34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Done.
    Done,
    /// The trash.
    Dropped,
}

impl Category {
    /// The word in rows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dropped => "dropped",
        }
    }
}

/// One `[[gate]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GateEntry {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: GateKind,
    /// What a gate without words of its own asks (GATE-27).
    pub label: String,
    /// A one-line template for what it asks (GATE-26).
    pub text: Option<String>,
    /// The intent that a rule or a window takes: the one that is named, else the first that approves and takes no text; `None`
    /// where nothing but the person can close it.
    pub default: Option<String>,
    /// How a captured task ends, by the status with which its gate closed.
    pub ends_task: BTreeMap<GateStatus, Category>,
    /// Its buttons, in order (GATE-17).
    pub intents: Vec<Intent>,
}

/// The words of drafts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DraftWords {
    /// The heading of drafts the person wrote.
    pub by_hand: String,
    /// What that heading is about.
    pub by_hand_about: String,
    /// By purpose.
    pub purposes: BTreeMap<String, String>,
    /// By state.
    pub states: BTreeMap<String, String>,
}

/// `gates.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct Gates {
    /// Every gate, in order.
    pub entries: Vec<GateEntry>,
    /// `[approval]`: what no other table decides (APPR-01).
    pub approval: ApprovalTable,
    /// One sentence for each effect.
    pub effects: BTreeMap<String, String>,
    /// The words of drafts.
    pub drafts: DraftWords,
    firsts: [GateEntry; 7],
}

impl Gates {
    pub(super) fn first(&self, kind: GateKind) -> &GateEntry {
        let [draft, plan, question, post, proposal, trust, step] = &self.firsts;
        match kind {
            GateKind::Draft => draft,
            GateKind::Plan => plan,
            GateKind::Question => question,
            GateKind::Post => post,
            GateKind::Proposal => proposal,
            GateKind::Trust => trust,
            GateKind::Step => step,
        }
    }
}

/// The statuses an intent may resolve to (GATE-18).
const RESOLVING: [(&str, GateStatus); 4] = [
    ("approved", GateStatus::Approved),
    ("rejected", GateStatus::Rejected),
    ("answered", GateStatus::Answered),
    ("dismissed", GateStatus::Dismissed),
];

pub(super) fn read(text: &str) -> Result<Gates, Vec<Fault>> {
    read::read(GATES_TOML, text, |root| {
        let mut entries: Vec<GateEntry> = Vec::new();
        let mut names = BTreeSet::new();
        let tables = root.tables("gate").unwrap_or_default();
        let given = tables.len();
        for table in tables {
            let entry = entry(&table);
            table.finish();
            if let Some(entry) = entry {
                if !names.insert(entry.name.clone()) {
                    table.fault("name", format!("`{}` is declared twice", entry.name), "give each gate its own name");
                }
                entries.push(entry);
            }
        }
        let approval = root.table("approval").map(|table| {
            let approval = read_table(&table, GATES_TOML, Owner::Gates);
            table.finish();
            approval
        });
        let effects = root.table("effects").map(|table| texts(&table)).unwrap_or_default();
        let drafts = root.table("drafts").map(|table| draft_words(&table)).unwrap_or_default();
        // Kinds are counted only where every entry could be read: a misspelt one would be told twice.
        let firsts = (given == entries.len()).then(|| firsts(root, &entries)).flatten()?;
        let approval = approval.unwrap_or_else(|| ApprovalTable::empty(GATES_TOML));
        Some(Gates { entries, approval, effects, drafts, firsts })
    })
}

/// The first gate of each kind, in the order of [`GateKind::ALL`] (GATE-20, GATE-21).
fn firsts(root: &Table<'_>, entries: &[GateEntry]) -> Option<[GateEntry; 7]> {
    let mut found = Vec::new();
    for (kind, word) in GateKind::ALL {
        match entries.iter().find(|entry| entry.kind == kind) {
            Some(entry) => found.push(entry.clone()),
            None => root.own_fault(
                format!("no gate of the kind `{word}` is declared"),
                format!("add a `[[gate]]` with `kind = \"{word}\"`"),
            ),
        }
    }
    found.try_into().ok()
}

fn entry(table: &Table<'_>) -> Option<GateEntry> {
    let name = table.required("name");
    if name.as_deref().is_some_and(|name| !is_name(name)) {
        table.fault("name", "it is no name", "lower-case letters, digits and `-`, a letter first");
    }
    let kind = table.word("kind", &GateKind::ALL.map(|(kind, word)| (word, kind)));
    if !table.has("kind") {
        table.own_fault("`kind` is missing", "say what it holds, such as `kind = \"plan\"`");
    }
    let label = table.required("label");
    let text = table.text("text");
    if let Some(fault) = text.as_deref().and_then(|text| words::check_line(text, Scope::Unit).err()) {
        table.fault("text", fault.to_string(), "");
    }
    let mut ends_task = BTreeMap::new();
    if let Some(ends) = table.table("ends_task") {
        let closed = RESOLVING.iter().copied().chain([("superseded", GateStatus::Superseded)]);
        for (word, status) in closed {
            if let Some(category) = ends.word(word, &[("done", Category::Done), ("dropped", Category::Dropped)]) {
                ends_task.insert(status, category);
            }
        }
        ends.finish();
    }
    let intents = intents(table);
    let given = table.text("default");
    let (name, kind, label) = (name?, kind?, label?);
    if kind == GateKind::Post {
        check_post(table, &intents);
    }
    let default = match given {
        Some(given) => {
            check_default(table, &given, &intents);
            Some(given)
        }
        None => intents.iter().find(|intent| releases(intent)).map(|intent| intent.name.clone()),
    };
    let default = default.filter(|_| kind.may_be_released() || table.has("default"));
    Some(GateEntry { name, kind, label, text, default, ends_task, intents })
}

fn releases(intent: &Intent) -> bool {
    intent.status == GateStatus::Approved && intent.text.is_none()
}

/// The gate of a round that stopped publishes by `publish`, which answers it, and by nothing else.
fn check_post(table: &Table<'_>, intents: &[Intent]) {
    for intent in intents {
        let publishes = intent.name == "publish";
        let lets_out = matches!(intent.status, GateStatus::Answered | GateStatus::Approved);
        if publishes != (intent.status == GateStatus::Answered) || (lets_out && !publishes) {
            table.fault(
                "intents",
                format!("`{}` of a post gate is `{}`", intent.name, intent.status.as_str()),
                "`publish` is `answered`, and every other intent `rejected` or `dismissed`",
            );
        }
    }
}

/// A default must approve and take no text: a rule and a window have none to give.
fn check_default(table: &Table<'_>, given: &str, intents: &[Intent]) {
    match intents.iter().find(|intent| intent.name == given) {
        None => table.unknown_word("default", given, intents.iter().map(|intent| intent.name.as_str())),
        Some(intent) if !releases(intent) => {
            table.fault(
                "default",
                format!("`{given}` does not approve without a text"),
                "name an intent that does, or leave it out",
            );
        }
        Some(_) => {}
    }
}

fn intents(table: &Table<'_>) -> Vec<Intent> {
    let mut found: Vec<Intent> = Vec::new();
    for intent in table.tables("intents").unwrap_or_default() {
        let name = intent.required("name");
        let label = intent.required("label");
        let status = intent.word("status", &RESOLVING);
        if !intent.has("status") {
            intent.own_fault("`status` is missing", "say how the gate closes, such as `status = \"approved\"`");
        }
        let text = intent.text("text");
        intent.finish();
        let (Some(name), Some(label), Some(status)) = (name, label, status) else { continue };
        if name == "retry" || name == "seen" {
            intent.fault("name", format!("`{name}` is a route of its own and no intent's name"), "choose another");
        }
        if found.iter().any(|other| other.name == name) {
            intent.fault("name", format!("`{name}` is declared twice"), "give each intent its own name");
        }
        found.push(Intent { name, label, status, text });
    }
    if !table.has("intents") || table.tables("intents").is_some_and(|intents| intents.is_empty()) {
        table.own_fault("the gate has no intents", "add `intents = [{ name = \"...\", label = \"...\", status = \"...\" }]`");
    }
    found
}

fn texts(table: &Table<'_>) -> BTreeMap<String, String> {
    table.keys().into_iter().filter_map(|key| table.text(&key).map(|text| (key, text))).collect()
}

fn draft_words(table: &Table<'_>) -> DraftWords {
    let words = DraftWords {
        by_hand: table.text("by_hand").unwrap_or_default(),
        by_hand_about: table.text("by_hand_about").unwrap_or_default(),
        purposes: table.table("purposes").map(|purposes| texts(&purposes)).unwrap_or_default(),
        states: table.table("states").map(|states| texts(&states)).unwrap_or_default(),
    };
    table.finish();
    words
}
