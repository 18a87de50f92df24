//! `workflows/<name>/workflow.toml` (WF-02, PROF-01 to PROF-04).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::approval::{Owner, read_table};
use super::intent::IntentManifest;
use super::is_name;
use crate::rules::fault::Fault;
use crate::rules::policy::ApprovalTable;
use crate::rules::predicate::{EvalFault, Expression, Predicate};
use crate::rules::read::{self, Table};
use crate::rules::registry::{FactType, Provider, Scope};
use crate::rules::value::{Facts, Value};
use crate::rules::words;

/// Whether a workflow acts (WF-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It does.
    Act,
    /// It records what it would do.
    Observe,
}

/// Each [`Act`] with its word.
pub const ACTS: [(&str, Act); 2] = [("act", Act::Act), ("observe", Act::Observe)];

/// A part of the key by which a handled unit is known (PROF-01).
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPart {
    /// A key that the provider declares, without its `@`.
    Provider(String),
    /// An expression over the workflow's facts.
    Expression(Expression),
}

/// What makes a workflow look (WF-03).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trigger {
    /// `sweep`, `schedule` or kinds of events.
    pub on: Vec<String>,
    /// Five fields, with `schedule`.
    pub cron: Option<String>,
    /// How far a chain of events goes.
    pub depth: Option<u32>,
}

/// Where the stage of a turn comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum StageSource {
    /// The word itself.
    Literal(String),
    /// An expression over the workflow's facts.
    Expression(Expression),
}

/// One `[[step]]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `turn.start` (STEP-08).
    TurnStart {
        /// The intent's name.
        intent: String,
        /// The stage; `None` is `first`.
        stage: Option<StageSource>,
        /// The runner, where the step chooses one.
        runner: Option<super::Runner>,
        /// Leaves the step out where it is false (PROF-02).
        when: Option<Predicate>,
    },
}

impl Workflow {
    /// The provider whose units it reads.
    #[must_use]
    pub fn provider_kind(&self) -> Provider {
        // The reader takes no other so far.
        Provider::ALL.iter().find(|(word, _)| *word == self.provider).map_or(Provider::Github, |(_, provider)| *provider)
    }

    /// The marks that its conditions and expressions ask for (CEL-04).
    pub fn marks(&self) -> impl Iterator<Item = &String> {
        let keys = self.key.iter().filter_map(|part| match part {
            KeyPart::Expression(expression) => Some(expression.marks()),
            KeyPart::Provider(_) => None,
        });
        let steps = self.steps.iter().flat_map(|step| match step {
            Step::TurnStart { stage, when, .. } => {
                let stage = match stage {
                    Some(StageSource::Expression(expression)) => Some(expression.marks()),
                    Some(StageSource::Literal(_)) | None => None,
                };
                [stage, when.as_ref().map(Predicate::marks)]
            }
        });
        std::iter::once(self.when.marks()).chain(keys).chain(steps.flatten()).flatten()
    }
}

impl Step {
    /// The intent that it starts.
    #[must_use]
    pub fn intent(&self) -> &str {
        match self {
            Self::TurnStart { intent, .. } => intent,
        }
    }

    /// The stage of the turn it starts; `first` where the step names none.
    ///
    /// # Errors
    /// What the stage's expression could not be evaluated for.
    pub fn stage(&self, facts: &dyn Facts, now: Timestamp) -> Result<String, EvalFault> {
        match self {
            Self::TurnStart { stage: None, .. } => Ok("first".to_owned()),
            Self::TurnStart { stage: Some(StageSource::Literal(stage)), .. } => Ok(stage.clone()),
            Self::TurnStart { stage: Some(StageSource::Expression(expression)), .. } => {
                Ok(match expression.evaluate(facts, now)? {
                    Value::Text(stage) => stage,
                    // The type was checked at load, so nothing else comes.
                    Value::Bool(_) | Value::Int(_) | Value::List(_) | Value::Duration(_) | Value::Time(_) => "first".to_owned(),
                })
            }
        }
    }
}

/// A workflow that loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// Its name: the folder's.
    pub name: String,
    /// What it does, in one line.
    pub summary: String,
    /// Whose units it reads.
    pub provider: String,
    /// The words of its plan gate, a one-line template; without it the summary (GATE-24, GATE-25).
    pub ask: Option<String>,
    /// Whether it acts.
    pub mode: Act,
    /// When it acts.
    pub when: Predicate,
    /// The parts of its key; empty takes the provider's fingerprint.
    pub key: Vec<KeyPart>,
    /// What makes it look.
    pub trigger: Trigger,
    /// What it does, in order.
    pub steps: Vec<Step>,
    /// Its approval table, named `workflows/<name>`.
    pub approval: ApprovalTable,
    /// Its automatic turns in one local day (WF-10).
    pub per_day: Option<u32>,
}

/// The keys that GitHub declares (PROF-01).
const GITHUB_KEYS: [(&str, &str); 3] = [("@review", "review"), ("@address", "address"), ("@nudge", "nudge")];
/// The steps that exist now.
const STEPS: [&str; 1] = ["turn.start"];

pub(super) fn read(
    name: &str,
    text: &str,
    intents: &BTreeMap<String, IntentManifest>,
    beside: &[String],
) -> Result<Workflow, Vec<Fault>> {
    let file = format!("workflows/{name}/workflow.toml");
    read::read_beside(&file, text, beside, |root| {
        if !is_name(name) {
            root.own_fault(format!("`{name}` is no name"), "lower-case letters, digits and `-`, a letter first");
        }
        let summary = root.required("summary");
        let provider = root.word("provider", &[("github", "github".to_owned())]);
        if !root.has("provider") {
            root.own_fault("`provider` is missing", "say whose units `when` reads, such as `provider = \"github\"`");
        }
        let ask = root.text("ask");
        if let Some(fault) = ask.as_deref().and_then(|ask| words::check_line(ask, Scope::Workflow(Provider::Github)).err()) {
            root.fault("ask", fault.to_string(), "");
        }
        let mode = root.word("mode", &ACTS).unwrap_or(Act::Act);
        let when = root.predicate("when", Scope::Workflow(Provider::Github));
        if !root.has("when") {
            root.own_fault("`when` is missing", "say when it acts");
        }
        let key = key(root);
        let trigger = trigger(root);
        let steps = steps(root, intents);
        let approval = approval(root, name);
        let per_day = root.table("limits").and_then(|limits| {
            let per_day = limits.count("per_day");
            limits.finish();
            per_day
        });
        not_yet(root);
        Some(Workflow {
            name: name.to_owned(),
            summary: summary?,
            provider: provider?,
            ask,
            mode,
            when: when?,
            key,
            trigger,
            steps,
            approval,
            per_day,
        })
    })
}

fn key(root: &Table<'_>) -> Vec<KeyPart> {
    let mut parts = Vec::new();
    for text in root.texts("key").unwrap_or_default() {
        if text.starts_with('@') {
            match GITHUB_KEYS.iter().find(|(word, _)| *word == text) {
                Some((_, key)) => parts.push(KeyPart::Provider((*key).to_owned())),
                None => root.unknown_word("key", &text, GITHUB_KEYS.iter().map(|(word, _)| *word)),
            }
            continue;
        }
        match Expression::parse_among(&text, Scope::Workflow(Provider::Github), root.workflows()) {
            Ok(part) if matches!(part.kind(), FactType::List | FactType::Duration) => {
                root.fault(
                    "key",
                    format!("`{text}` is {}", read::article(part.kind().as_str())),
                    "expected a string, an int, a bool or a timestamp",
                );
            }
            Ok(part) => parts.push(KeyPart::Expression(part)),
            Err(fault) => root.fault("key", format!("`{text}`, {}", fault_text(&fault)), fault.help),
        }
    }
    parts
}

fn fault_text(fault: &crate::rules::predicate::PredicateFault) -> String {
    format!("at character {} of the expression: {}", fault.position, fault.what)
}

fn trigger(root: &Table<'_>) -> Trigger {
    let Some(table) = root.table("trigger") else {
        root.own_fault("`[trigger]` is missing", "say what makes it look, such as `on = [\"sweep\"]`");
        return Trigger::default();
    };
    // Events and schedules do not exist yet; a workflow that waits for one would sleep for ever without a word.
    let on = table.words("on", &[("sweep", "sweep".to_owned())]).unwrap_or_default();
    if on.is_empty() && !table.has("on") {
        table.own_fault("`on` is missing", "such as `on = [\"sweep\"]`");
    }
    let trigger = Trigger { on, cron: table.text("cron"), depth: table.count("depth") };
    if trigger.cron.is_some() {
        table.fault("cron", "a time table belongs to the trigger `schedule`", "remove it");
    }
    table.finish();
    trigger
}

fn steps(root: &Table<'_>, intents: &BTreeMap<String, IntentManifest>) -> Vec<Step> {
    let tables = root.tables("step").unwrap_or_default();
    if tables.is_empty() {
        root.own_fault("the workflow has no step", "add a `[[step]]`");
    }
    let mut steps = Vec::new();
    for table in &tables {
        let Some(name) = table.required("use") else { continue };
        if name != "turn.start" {
            table.unknown_word("use", &name, STEPS.iter().copied());
            // Its arguments are another step's: nothing can be said about them.
            continue;
        }
        let step = turn_start(table, intents);
        table.finish();
        steps.extend(step);
    }
    steps
}

fn turn_start(table: &Table<'_>, intents: &BTreeMap<String, IntentManifest>) -> Option<Step> {
    let when = table.predicate("when", Scope::Workflow(Provider::Github));
    let runner = table.word("runner", &super::Runner::ALL);
    let stage = stage(table);
    let intent = table.required("intent")?;
    match intents.get(&intent) {
        None => table.unknown_word("intent", &intent, intents.keys().map(String::as_str)),
        Some(manifest) if !manifest.serves.iter().any(|provider| provider == "github") => {
            table.fault("intent", format!("`{intent}` does not serve `github`"), "name one that does");
        }
        Some(manifest) if runner.is_some_and(|runner| !manifest.runners.contains(&runner)) => {
            table.fault("runner", format!("`{intent}` cannot run so"), "one of the intent's `runners`");
        }
        Some(_) => {}
    }
    Some(Step::TurnStart { intent, stage, runner, when })
}

fn stage(table: &Table<'_>) -> Option<StageSource> {
    const STAGES: [&str; 2] = ["first", "follow-up"];
    let text = table.placed("stage")?;
    let Some(expression) = text.value.strip_prefix('=') else {
        if !STAGES.contains(&text.value.as_str()) {
            table.unknown_word("stage", &text.value, STAGES.iter().copied());
        }
        return Some(StageSource::Literal(text.value));
    };
    match Expression::parse_among(expression, Scope::Workflow(Provider::Github), table.workflows()) {
        Ok(expression) if expression.kind() != FactType::Text => {
            table.fault("stage", format!("the expression is {}", read::article(expression.kind().as_str())), "expected a string");
            None
        }
        Ok(expression) => Some(StageSource::Expression(expression)),
        Err(fault) => {
            table.expression_fault("stage", &text, 1, &fault);
            None
        }
    }
}

fn approval(root: &Table<'_>, name: &str) -> ApprovalTable {
    let own = format!("workflows/{name}");
    let Some(gates) = root.table("gates") else { return ApprovalTable::empty(&own) };
    let approval = gates.table("approval").map(|table| {
        let approval = read_table(&table, &own, Owner::Workflow(Provider::Github));
        table.finish();
        approval
    });
    if let Some(withdraw) = gates.table("withdraw") {
        check_withdraw(&withdraw);
    }
    gates.finish();
    approval.unwrap_or_else(|| ApprovalTable::empty(&own))
}

/// `[gates.withdraw]` and `[drafts.withdraw]` are checked for their shape; nothing uses them yet (PROF-04).
fn check_withdraw(table: &Table<'_>) {
    table.text("when");
    table.text("reason");
    table.finish();
}

fn not_yet(root: &Table<'_>) {
    if let Some(drafts) = root.table("drafts") {
        if let Some(withdraw) = drafts.table("withdraw") {
            check_withdraw(&withdraw);
        }
        drafts.finish();
    }
    if let Some(outbox) = root.table("outbox") {
        outbox.text("title");
        outbox.text("about");
        outbox.finish();
    }
}
