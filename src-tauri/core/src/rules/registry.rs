//! The fact registry: every fact a rule may read, with its type, where it may be read, and whether a rule that releases may trust it
//! (FACT-01).

use super::value::Value;

mod gate;
mod pull;
mod session;
mod task;
mod turn;

/// The type of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactType {
    /// A truth.
    Bool,
    /// A whole number.
    Int,
    /// A text.
    Text,
    /// A list of texts.
    List,
    /// A length of time.
    Duration,
    /// A point in time.
    Time,
}

impl FactType {
    /// The word in files and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Text => "string",
            Self::List => "list",
            Self::Duration => "duration",
            Self::Time => "timestamp",
        }
    }

    /// What a fact of this type reads as while it has no value (FACT-05).
    #[must_use]
    pub fn zero(self) -> Value {
        match self {
            Self::Bool => Value::Bool(false),
            Self::Int => Value::Int(0),
            Self::Text => Value::Text(String::new()),
            Self::List => Value::List(Vec::new()),
            Self::Duration => Value::Duration(jiff::SignedDuration::ZERO),
            Self::Time => Value::Time(jiff::Timestamp::UNIX_EPOCH),
        }
    }
}

/// Whose units a fact describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// Pull requests.
    Github,
    /// Sessions of agents.
    Session,
    /// Conversations in Slack.
    Slack,
    /// Tasks.
    Task,
    /// Workspaces.
    Workspace,
}

impl Provider {
    /// Each with the word that files and commands use.
    pub const ALL: [(&'static str, Self); 5] = [
        ("github", Self::Github),
        ("session", Self::Session),
        ("slack", Self::Slack),
        ("task", Self::Task),
        ("workspace", Self::Workspace),
    ];

    /// The word in files and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Session => "session",
            Self::Slack => "slack",
            Self::Task => "task",
            Self::Workspace => "workspace",
        }
    }

    /// Whether its units have a brief, so that its workflows read `brief.*`.
    #[must_use]
    pub fn has_briefs(self) -> bool {
        matches!(self, Self::Github | Self::Slack)
    }
}

/// A place in a file where facts are read, as the registry counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// An intent's `[action]`.
    Action,
    /// An intent's `[record]` and `[[also_profile]]`.
    Turn,
    /// The title of a session and the name of a workspace.
    Name,
    /// The words of a suggestion for an item.
    Proposal,
    /// What an action copies of a unit.
    Copy,
    /// The actions of a draft.
    DraftAction,
    /// A workflow's conditions, for units of that provider.
    Workflow(Provider),
    /// The same, for a provider whose units have a brief.
    Brief,
    /// Every workflow's conditions: what made it look.
    Trigger,
    /// Every workflow's conditions: the configuration.
    Config,
    /// A workflow's `[drafts.withdraw]`.
    DraftsWithdraw,
    /// Views over gates; kind and name in approval rules, too.
    Gate,
    /// An approval rule of a draft gate.
    Approval,
}

impl Slot {
    /// The word by which data names it, such as `workflow.github`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Turn => "turn",
            Self::Name => "name",
            Self::Proposal => "proposal",
            Self::Copy => "copy",
            Self::DraftAction => "draft_action",
            Self::Workflow(Provider::Github) => "workflow.github",
            Self::Workflow(Provider::Session) => "workflow.session",
            Self::Workflow(Provider::Slack) => "workflow.slack",
            Self::Workflow(Provider::Task) => "workflow.task",
            Self::Workflow(Provider::Workspace) => "workflow.workspace",
            Self::Brief => "workflow.brief",
            Self::Trigger => "workflow.trigger",
            Self::Config => "workflow.config",
            Self::DraftsWithdraw => "drafts_withdraw",
            Self::Gate => "gate",
            Self::Approval => "approval",
        }
    }
}

const GITHUB: Slot = Slot::Workflow(Provider::Github);
const SESSION: Slot = Slot::Workflow(Provider::Session);
const SLACK: Slot = Slot::Workflow(Provider::Slack);
const TASK: Slot = Slot::Workflow(Provider::Task);
const WORKSPACE: Slot = Slot::Workflow(Provider::Workspace);

/// What an expression may read: the slots that are open where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every fact.
    Anything,
    /// An intent's `[action]`.
    Action,
    /// An intent's conditions on a turn.
    Turn,
    /// The title of a session and the name of a workspace; they may tell of the turn.
    Name,
    /// A workflow's `when`, `key`, `ask` and step arguments.
    Workflow(Provider),
    /// A workflow's `[drafts.withdraw]`.
    DraftsWithdraw(Provider),
    /// A rule of an approval table; the provider where the table belongs to a workflow or a plugin.
    Rule(Option<Provider>),
    /// The words of a gate on a unit of any provider.
    Unit,
    /// A view over gates.
    Gates,
}

impl Scope {
    /// How messages call the place.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anything => "an expression",
            Self::Action => "an intent's action",
            Self::Turn => "a turn's records and texts",
            Self::Name => "a title or a workspace's name",
            Self::Workflow(Provider::Github) => "a workflow on pull requests",
            Self::Workflow(Provider::Session) => "a workflow on sessions",
            Self::Workflow(Provider::Slack) => "a workflow on conversations",
            Self::Workflow(Provider::Task) => "a workflow on tasks",
            Self::Workflow(Provider::Workspace) => "a workflow on workspaces",
            Self::DraftsWithdraw(_) => "a condition that withdraws drafts",
            Self::Rule(_) => "an approval rule",
            Self::Unit => "a gate's words",
            Self::Gates => "a view over gates",
        }
    }

    /// Whether a fact of that slot may be read here.
    #[must_use]
    pub fn opens(self, slot: Slot) -> bool {
        match self {
            Self::Anything => true,
            Self::Action => slot == Slot::Action,
            Self::Turn => slot == Slot::Turn,
            Self::Name => matches!(slot, Slot::Name | Slot::Turn),
            Self::Workflow(provider) => of_workflow(provider, slot),
            Self::DraftsWithdraw(provider) => slot == Slot::DraftsWithdraw || of_workflow(provider, slot),
            Self::Rule(provider) => match slot {
                Slot::Gate | Slot::Approval => true,
                Slot::Workflow(of) => provider.is_none_or(|provider| provider == of),
                Slot::Brief | Slot::Trigger | Slot::Config => true,
                Slot::Action
                | Slot::Turn
                | Slot::Name
                | Slot::Proposal
                | Slot::Copy
                | Slot::DraftAction
                | Slot::DraftsWithdraw => false,
            },
            Self::Unit => matches!(slot, Slot::Workflow(_)),
            Self::Gates => slot == Slot::Gate,
        }
    }

    /// Whether this fact may be read here.
    #[must_use]
    pub fn admits(self, row: &Known) -> bool {
        row.slots.iter().any(|slot| self.opens(*slot))
    }
}

fn of_workflow(provider: Provider, slot: Slot) -> bool {
    match slot {
        Slot::Workflow(of) => of == provider,
        Slot::Brief => provider.has_briefs(),
        Slot::Trigger | Slot::Config => true,
        Slot::Action
        | Slot::Turn
        | Slot::Name
        | Slot::Proposal
        | Slot::Copy
        | Slot::DraftAction
        | Slot::DraftsWithdraw
        | Slot::Gate
        | Slot::Approval => false,
    }
}

/// One row of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The dotted name.
    pub name: &'static str,
    /// Its type.
    pub kind: FactType,
    /// Where it may be read.
    pub slots: &'static [Slot],
    /// Whether no rule that releases may read it, for others can move it (APPR-38).
    pub untrusted: bool,
    /// Whether it is computed only for an expression that names it (FACT-06).
    pub on_demand: bool,
    /// Whether what it tells of exists now; until then it reads as its type's zero.
    pub ready: bool,
    /// What it means, in a sentence or two.
    pub about: &'static str,
}

impl Known {
    const fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    const fn on_demand(mut self) -> Self {
        self.on_demand = true;
        self
    }

    const fn later(mut self) -> Self {
        self.ready = false;
        self
    }

    /// The provider whose workflows read it as a fact of their unit; `None` for what stands around a unit.
    #[must_use]
    pub fn provider(&self) -> Option<Provider> {
        self.slots.iter().find_map(|slot| match slot {
            Slot::Workflow(provider) => Some(*provider),
            Slot::Action
            | Slot::Turn
            | Slot::Name
            | Slot::Proposal
            | Slot::Copy
            | Slot::DraftAction
            | Slot::Brief
            | Slot::Trigger
            | Slot::Config
            | Slot::DraftsWithdraw
            | Slot::Gate
            | Slot::Approval => None,
        })
    }
}

const fn row(name: &'static str, kind: FactType, slots: &'static [Slot], about: &'static str) -> Known {
    Known { name, kind, slots, untrusted: false, on_demand: false, ready: true, about }
}

const COUNT: usize = gate::AROUND.len() + pull::PULL.len() + session::TALK.len() + task::TASKS.len() + turn::WORK.len();

/// The parts one after the other: they are cut so that names stay in order.
const fn joined() -> [Known; COUNT] {
    let parts: [&[Known]; 5] = [&gate::AROUND, &pull::PULL, &session::TALK, &task::TASKS, &turn::WORK];
    let mut all = [gate::AROUND[0]; COUNT];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            all[at] = parts[part][row];
            at += 1;
            row += 1;
        }
        part += 1;
    }
    all
}

static ALL: [Known; COUNT] = joined();

/// Every fact, sorted by name.
pub static KNOWN: &[Known] = &ALL;

/// The row of that name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    place(name).and_then(|at| KNOWN.get(at))
}

/// The place of that name's row in [`KNOWN`].
#[must_use]
pub fn place(name: &str) -> Option<usize> {
    KNOWN.binary_search_by(|row| row.name.cmp(name)).ok()
}

/// The name among `names` that is nearest to `given`, when one is near enough to be what was meant.
#[must_use]
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let bound = (given.chars().count() / 3).clamp(1, 3);
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, _)| *distance <= bound)
        .min()
        .map(|(_, name)| name)
}
