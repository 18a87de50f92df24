//! `intents/<name>/`: what a turn is told, may do and must record (INT).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::SignedDuration;
use sha2::{Digest, Sha256};

use super::approval::{Owner, read_table};
use super::{file, is_name, missing};
use crate::rules::fault::Fault;
use crate::rules::policy::ApprovalTable;
use crate::rules::predicate::Predicate;
use crate::rules::read::{self, Table};
use crate::rules::registry::Scope;
use crate::rules::steps::EFFECTS;
use crate::rules::words;

/// How a turn of an intent runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Runner {
    /// A command with the prompt on its input.
    Headless,
    /// A session of the Agent Client Protocol.
    Session,
}

impl Runner {
    /// Each with its word.
    pub const ALL: [(&'static str, Self); 2] = [("headless", Self::Headless), ("session", Self::Session)];
}

/// Whose work a workspace holds (WS).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceRole {
    /// A review: nothing is changed in it.
    Review,
    /// The author's work.
    Author,
}

/// `[workspace]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSpec {
    /// Its role.
    pub role: WorkspaceRole,
    /// Its name, a one-line template over the slot `name`.
    pub name: String,
}

/// What an agent may do of one kind without asking (INT-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// It may.
    Allow,
    /// The person is asked.
    Ask,
    /// It may not.
    Refuse,
}

/// `[permissions]`; what is left out is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions {
    /// Changing files.
    pub edit: Grant,
    /// Running commands beside those of `commands`.
    pub execute: Grant,
    /// Globs over a command line that may run.
    pub commands: Vec<String>,
    /// Reading from the network.
    pub fetch: Grant,
    /// Anything else.
    pub other: Grant,
}

impl Default for Permissions {
    fn default() -> Self {
        Self { edit: Grant::Refuse, execute: Grant::Refuse, commands: Vec::new(), fetch: Grant::Refuse, other: Grant::Refuse }
    }
}

/// The type of an input (INT-04).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputKind {
    /// A text.
    Text,
    /// A truth.
    Bool,
    /// One of these.
    Choice(Vec<String>),
}

/// One `[inputs.<name>]`; kept, not used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its type.
    pub kind: InputKind,
    /// Its words.
    pub label: String,
    /// Whether a start needs it.
    pub required: bool,
}

/// `[action]` (INT-03); kept, not used yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// The button's words.
    pub label: String,
    /// Whether the button is shown.
    pub offered: Option<Predicate>,
    /// Whether it can be pressed.
    pub enabled: Option<Predicate>,
    /// What is shown where it cannot.
    pub disabled: Option<String>,
    /// Whether it comes first.
    pub primary: Option<Predicate>,
}

/// An intent that loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct IntentManifest {
    /// Its name: the folder's.
    pub name: String,
    /// What it does, in one line.
    pub summary: String,
    /// The providers whose units it serves.
    pub serves: Vec<String>,
    /// How it can run, the first first.
    pub runners: Vec<Runner>,
    /// Whether its turns have a stage.
    pub staged: bool,
    /// Whether only the person's own pull requests take it.
    pub owner_only: bool,
    /// Whether its session ends with the turn.
    pub closes_when_done: bool,
    /// The agent it wants; `None` is the default one.
    pub agent: Option<String>,
    /// How long a turn may take (RUN-11).
    pub timeout: SignedDuration,
    /// The session's title, a one-line template over the slot `name`.
    pub session_title: Option<String>,
    /// The workspace; `None` runs in an empty folder.
    pub workspace: Option<WorkspaceSpec>,
    /// What is asked before the start.
    pub inputs: BTreeMap<String, Input>,
    /// Its button.
    pub action: Option<Action>,
    /// The shapes a turn may publish (GH-PUB-25).
    pub publish: Vec<String>,
    /// What its agent may do.
    pub permissions: Permissions,
    /// Effects of sending a turn.
    pub on_send: Vec<String>,
    /// Effects of a record.
    pub on_record: Vec<String>,
    /// Effects a draft may name (EFF-11).
    pub draft_effects: Vec<String>,
    /// The record's JSON Schema.
    pub record_schema: serde_json::Value,
    /// Whether the turn must record; `None` is yes.
    pub record_when: Option<Predicate>,
    /// A turn's headline: the first whose condition holds, one-line templates over the slot `turn` (INT-05).
    pub headlines: Vec<(Predicate, String)>,
    /// Texts of `procedures/` that join the prompt where their condition holds, in order (INT-06).
    pub also: Vec<(String, Predicate)>,
    /// The prompt's template.
    pub prompt: String,
    /// Its approval table, named `intents/<name>`.
    pub approval: ApprovalTable,
    /// A SHA-256 in hexadecimal over its files and the texts they name (INT-13).
    pub version: String,
}

/// What a turn may write (INT-07).
pub const SHAPES: [&str; 4] = ["review", "reply", "comment", "resolve"];
const GRANTS: [(&str, Grant); 3] = [("allow", Grant::Allow), ("ask", Grant::Ask), ("refuse", Grant::Refuse)];

pub(super) fn read(name: &str, files: &BTreeMap<String, String>) -> Result<IntentManifest, Vec<Fault>> {
    let folder = format!("intents/{name}/");
    let path = format!("{folder}intent.toml");
    let mut used = Vec::new();
    let intent = read::read(&path, file(files, &path)?, |root| manifest(name, root, files, &mut used))?;
    let mut digest = Sha256::new();
    let own = files.iter().filter(|(path, _)| path.starts_with(&folder) || used.contains(*path));
    for (path, text) in own {
        for part in [path, text] {
            digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(part.as_bytes());
        }
    }
    let version = digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing into a text cannot fail.
        let _written = write!(hex, "{byte:02x}");
        hex
    });
    Ok(IntentManifest { version, ..intent })
}

fn manifest(name: &str, root: &Table<'_>, files: &BTreeMap<String, String>, used: &mut Vec<String>) -> Option<IntentManifest> {
    if !is_name(name) {
        root.own_fault(format!("`{name}` is no name"), "lower-case letters, digits and `-`, a letter first");
    }
    let summary = root.required("summary");
    let serves = root.words("serves", &[("github", "github".to_owned())]).unwrap_or_default();
    if serves.is_empty() {
        root.own_fault("`serves` names no provider", "such as `serves = [\"github\"]`");
    }
    let runners = root.words("runners", &Runner::ALL).unwrap_or_default();
    if runners.is_empty() {
        root.own_fault("`runners` names no runner", "such as `runners = [\"headless\"]`");
    }
    let staged = root.words("dims", &[("stage", ())]).is_some_and(|dims| !dims.is_empty());
    let (owner_only, closes) = (root.bool("owner_only"), root.bool("closes_when_done"));
    let agent = root.text("agent");
    let timeout = root.window("timeout").unwrap_or(SignedDuration::from_mins(45));
    let folder = format!("intents/{name}/");
    let prompt_file = root.text("prompt").unwrap_or_else(|| "prompt.md.tmpl".to_owned());
    let prompt = text_of(root, "prompt", &format!("{folder}{prompt_file}"), files);
    if let Some(fault) = prompt.as_deref().and_then(|prompt| words::check_text(prompt).err()) {
        root.fault("prompt", format!("`{prompt_file}`: {fault}"), "");
    }
    let session_title = root.table("session").and_then(|table| {
        let title = line(&table, "title", Scope::Name);
        table.finish();
        title
    });
    let workspace = root.table("workspace").and_then(|table| workspace(&table));
    let inputs = root.table("inputs").map(|table| inputs(&table)).unwrap_or_default();
    let action = root.table("action").and_then(|table| action(&table));
    let publish = root.table("publish").and_then(|table| {
        let shapes = table.words("shapes", &SHAPES.map(|shape| (shape, shape.to_owned())));
        table.finish();
        shapes
    });
    let permissions = root.table("permissions").map(|table| permissions(&table)).unwrap_or_default();
    let (on_send, on_record) = root.table("effects").map(|table| effects(&table)).unwrap_or_default();
    let record = root.table("record").map(|table| record(&table, &folder, files, staged));
    if record.is_none() {
        root.own_fault("`[record]` is missing", "say what a turn records, such as `schema = \"record.schema.json\"`");
    }
    let also = root.tables("also_profile").unwrap_or_default();
    let also = also.iter().filter_map(|table| also_text(table, files, used, staged)).collect();
    let draft_effects = root.table("drafts").and_then(|table| {
        let found = effect_names(&table, "allowed_effects");
        table.finish();
        found
    });
    let approval = approval(root, name);
    let (record_schema, record_when, headlines) = record?;
    Some(IntentManifest {
        name: name.to_owned(),
        summary: summary?,
        serves,
        runners,
        staged,
        owner_only: owner_only.unwrap_or(false),
        closes_when_done: closes.unwrap_or(false),
        agent,
        timeout,
        session_title,
        workspace,
        inputs,
        action,
        publish: publish.unwrap_or_default(),
        permissions,
        on_send,
        on_record,
        draft_effects: draft_effects.unwrap_or_default(),
        record_schema: record_schema?,
        record_when,
        headlines,
        also,
        prompt: prompt?,
        approval,
        version: String::new(),
    })
}

/// The text of a file that a key names.
fn text_of(table: &Table<'_>, key: &str, path: &str, files: &BTreeMap<String, String>) -> Option<String> {
    let text = files.get(path).cloned();
    if text.is_none() {
        table.fault(key, format!("`{path}`: {}", missing(path).what), "add it, or name another");
    }
    text
}

fn line(table: &Table<'_>, key: &str, scope: Scope) -> Option<String> {
    let text = table.text(key)?;
    if let Err(fault) = words::check_line(&text, scope) {
        table.fault(key, fault.to_string(), "");
    }
    Some(text)
}

fn workspace(table: &Table<'_>) -> Option<WorkspaceSpec> {
    let role = table.word("role", &[("review", WorkspaceRole::Review), ("author", WorkspaceRole::Author)]);
    if !table.has("role") {
        table.own_fault("`role` is missing", "`review` or `author`");
    }
    let name = line(table, "name", Scope::Name);
    if !table.has("name") {
        table.own_fault("`name` is missing", "such as `name = \"review {{ unit.label }}\"`");
    }
    table.finish();
    Some(WorkspaceSpec { role: role?, name: name? })
}

fn inputs(table: &Table<'_>) -> BTreeMap<String, Input> {
    let mut found = BTreeMap::new();
    for (name, input) in table.rest() {
        let options = input.texts("options");
        let kind = input.word(
            "type",
            &[
                ("text", InputKind::Text),
                ("bool", InputKind::Bool),
                ("choice", InputKind::Choice(options.clone().unwrap_or_default())),
            ],
        );
        if !input.has("type") {
            input.own_fault("`type` is missing", "`text`, `bool` or `choice`");
        }
        if matches!(&kind, Some(InputKind::Choice(options)) if options.is_empty()) {
            input.own_fault("a choice without `options`", "list them");
        }
        let label = input.required("label");
        input.anything("default");
        input.word("before", &[("take_over", ())]);
        let required = input.bool("required").unwrap_or(false);
        input.finish();
        if let (Some(kind), Some(label)) = (kind, label) {
            found.insert(name, Input { kind, label, required });
        }
    }
    table.finish();
    found
}

fn action(table: &Table<'_>) -> Option<Action> {
    let action = Scope::Action;
    let offered = table.predicate("offered", action);
    let enabled = table.predicate("enabled", action);
    let primary = table.predicate("primary", action);
    let disabled = line(table, "disabled", action);
    let label = table.required("label");
    table.finish();
    Some(Action { label: label?, offered, enabled, disabled, primary })
}

fn permissions(table: &Table<'_>) -> Permissions {
    let grant = |key| table.word(key, &GRANTS).unwrap_or(Grant::Refuse);
    let found = Permissions {
        edit: grant("edit"),
        execute: grant("execute"),
        commands: table.texts("commands").unwrap_or_default(),
        fetch: grant("fetch"),
        other: grant("other"),
    };
    for pattern in &found.commands {
        if let Err(why) = globset::Glob::new(pattern) {
            table.fault("commands", format!("`{pattern}` is no pattern: {}", why.kind()), "such as `git log *`");
        }
    }
    table.finish();
    found
}

fn effects(table: &Table<'_>) -> (Vec<String>, Vec<String>) {
    let (send, record) = (effect_names(table, "on_send"), effect_names(table, "on_record"));
    table.finish();
    (send.unwrap_or_default(), record.unwrap_or_default())
}

fn effect_names(table: &Table<'_>, key: &str) -> Option<Vec<String>> {
    table.words(key, &EFFECTS.map(|effect| (effect.name, effect.name.to_owned())))
}

type Record = (Option<serde_json::Value>, Option<Predicate>, Vec<(Predicate, String)>);

fn record(table: &Table<'_>, folder: &str, files: &BTreeMap<String, String>, staged: bool) -> Record {
    let name = table.required("schema");
    let text = name.as_deref().and_then(|name| text_of(table, "schema", &format!("{folder}{name}"), files));
    let schema = text.and_then(|text| match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(schema) if schema.get("type").and_then(serde_json::Value::as_str) == Some("object") => Some(schema),
        Ok(_) => {
            table.fault("schema", "the schema is not of the type object", "write `\"type\": \"object\"` in it");
            None
        }
        Err(why) => {
            table.fault("schema", format!("the schema is no JSON: {why}"), "");
            None
        }
    });
    let when = turn_predicate(table, "when", staged);
    let mut headlines = Vec::new();
    for case in table.tables("headline").unwrap_or_default() {
        let when = turn_predicate(&case, "when", staged);
        if !case.has("when") {
            case.own_fault("the headline has no `when`", "a headline for everything is the summary");
        }
        let text = line(&case, "text", Scope::Turn);
        if !case.has("text") {
            case.own_fault("`text` is missing", "the headline's words");
        }
        case.finish();
        if let (Some(when), Some(text)) = (when, text) {
            headlines.push((when, text));
        }
    }
    table.finish();
    (schema, when, headlines)
}

/// A predicate of the slot `turn`; the stage is read only by an intent that has one (INT-11).
fn turn_predicate(table: &Table<'_>, key: &str, staged: bool) -> Option<Predicate> {
    let predicate = table.predicate(key, Scope::Turn)?;
    if !staged && predicate.reads().contains("turn.stage") {
        table.fault(key, "`turn.stage` is read and the intent has no stages", "add `dims = [\"stage\"]`");
    }
    Some(predicate)
}

fn also_text(
    table: &Table<'_>,
    files: &BTreeMap<String, String>,
    used: &mut Vec<String>,
    staged: bool,
) -> Option<(String, Predicate)> {
    let when = turn_predicate(table, "when", staged);
    if !table.has("when") {
        table.own_fault("`when` is missing", "say when the text joins the prompt");
    }
    let file = table.required("file");
    table.finish();
    let path = format!("procedures/{}", file?);
    let text = text_of(table, "file", &path, files);
    used.push(path);
    Some((text?, when?))
}

fn approval(root: &Table<'_>, name: &str) -> ApprovalTable {
    let own = format!("intents/{name}");
    let Some(gates) = root.table("gates") else { return ApprovalTable::empty(&own) };
    let approval = gates.table("approval").map(|table| {
        let approval = read_table(&table, &own, Owner::Intent);
        table.finish();
        approval
    });
    gates.finish();
    approval.unwrap_or_else(|| ApprovalTable::empty(&own))
}
