//! The steps that a workflow's `[[step]]` may use, the effects that a sent draft applies, and the marks that rounds leave on a unit
//! (STEP, EFFECT, CEL-04): as data, for the reader of manifests, for commands and for the reference.

use super::registry::{FactType, Provider};

/// What an argument of a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A text; one that begins with `=` is an expression over the workflow's facts (PROF-02).
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// True or false.
    Truth,
    /// A length of time, or a word that stands for one.
    Duration,
    /// A list of texts.
    Texts,
    /// The name of a file beside the manifest.
    File,
    /// The name of a list fact.
    ListFact,
}

impl Takes {
    /// The words in pages and messages.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
            Self::Truth => "true or false".to_owned(),
            Self::Duration => "a length of time, or `forever`".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::File => "a file beside the manifest".to_owned(),
            Self::ListFact => "the name of a list fact".to_owned(),
        }
    }
}

/// One argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its key in the step's table.
    pub name: &'static str,
    /// What it is.
    pub takes: Takes,
    /// Whether the step needs it.
    pub required: bool,
}

const fn may(name: &'static str, takes: Takes) -> Argument {
    Argument { name, takes, required: false }
}

const fn must(name: &'static str, takes: Takes) -> Argument {
    Argument { name, takes, required: true }
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepKind {
    /// The name that `use` gives.
    pub name: &'static str,
    /// Whose units it serves.
    pub serves: &'static [Provider],
    /// Its arguments, beside `use` and `when`.
    pub arguments: &'static [Argument],
    /// Whether it can run now.
    pub ready: bool,
    /// What it does.
    pub about: &'static str,
}

const ANY: &[Provider] = &[Provider::Github, Provider::Session, Provider::Slack, Provider::Task, Provider::Workspace];

/// Every step, by name.
pub const STEPS: [StepKind; 15] = [
    StepKind {
        name: "answer.refuse",
        serves: &[Provider::Github],
        arguments: &[],
        ready: false,
        about: "Refuses an answer that waits for a turn which is gone.",
    },
    StepKind {
        name: "classify",
        serves: ANY,
        arguments: &[may("prompt", Takes::File), may("schema", Takes::File), may("with", Takes::ListFact)],
        ready: false,
        about: "Lets an agent sort the event by a prompt; what it answers becomes the facts `classify.<workflow>.<field>`. For workflows \
                that events trigger.",
    },
    StepKind {
        name: "draft.propose",
        serves: ANY,
        arguments: &[
            may("purpose", Takes::Text),
            may("delivery", Takes::Word(&["message", "reaction", "comment"])),
            may("text", Takes::File),
            may("reaction", Takes::Text),
            may("items", Takes::Word(&["owed", "resolved", "unowned", "unowned_aged", "all"])),
            may("per", Takes::Word(&["unit", "person"])),
            may("target", Takes::Word(&["unit", "item"])),
            may("effects", Takes::Texts),
            may("repeat_after", Takes::Duration),
            may("repeat_after_sent", Takes::Duration),
            may("ended", Takes::Word(&["hold", "repeat"])),
        ],
        ready: false,
        about: "Puts a draft into the Outbox. It goes out as the approval rules say, and never by the step itself.",
    },
    StepKind {
        name: "gate.open",
        serves: ANY,
        arguments: &[must("name", Takes::Text)],
        ready: false,
        about: "Opens a gate of `gates.toml` on the unit and waits for your answer.",
    },
    StepKind {
        name: "items.resolve",
        serves: &[Provider::Task],
        arguments: &[must("resolution", Takes::Text)],
        ready: false,
        about: "Resolves the open items of a task, the workflow as evidence; what you confirmed yourself is only suggested.",
    },
    StepKind {
        name: "notify.self",
        serves: ANY,
        arguments: &[may("text", Takes::File)],
        ready: false,
        about: "Tells you something, and nobody else.",
    },
    StepKind {
        name: "session.close",
        serves: &[Provider::Session],
        arguments: &[],
        ready: false,
        about: "Closes a session with an agent.",
    },
    StepKind {
        name: "session.close_orphan",
        serves: &[Provider::Session],
        arguments: &[],
        ready: false,
        about: "Ends the process of a session that is proved to be left behind.",
    },
    StepKind {
        name: "session.mark_dormant",
        serves: &[Provider::Session],
        arguments: &[],
        ready: false,
        about: "Notes that a session has no process any more; it ends none.",
    },
    StepKind {
        name: "task.set",
        serves: &[Provider::Task],
        arguments: &[must("prop", Takes::Text), must("value", Takes::Text)],
        ready: false,
        about: "Sets a property of a task that the profile leaves to workflows.",
    },
    StepKind {
        name: "task.verb",
        serves: &[Provider::Task],
        arguments: &[
            must("verb", Takes::Text),
            may("until", Takes::Text),
            may("on_activity", Takes::Truth),
            may("on", Takes::Text),
            may("resurface", Takes::Text),
            may("set", Takes::Text),
            may("by", Takes::Text),
            may("task", Takes::Text),
        ],
        ready: false,
        about: "Runs a verb on a task, or suggests it where the profile says so.",
    },
    StepKind {
        name: "turn.dismiss",
        serves: &[Provider::Session, Provider::Github],
        arguments: &[may("reason", Takes::Text)],
        ready: false,
        about: "Dismisses the open turn, with the reason on record.",
    },
    StepKind {
        name: "turn.start",
        serves: ANY,
        arguments: &[
            must("intent", Takes::Text),
            may("stage", Takes::Word(&["first", "follow-up"])),
            may("runner", Takes::Word(&["session", "headless"])),
        ],
        ready: true,
        about: "Starts a turn of an intent that serves the unit, under the day's caps.",
    },
    StepKind {
        name: "workspace.remove",
        serves: &[Provider::Workspace],
        arguments: &[],
        ready: false,
        about: "Removes a worktree in which nothing would be lost; it is never forced.",
    },
    StepKind {
        name: "workspace.unregister",
        serves: &[Provider::Workspace],
        arguments: &[],
        ready: false,
        about: "Forgets a workspace whose folder is gone.",
    },
];

/// The step of that name.
#[must_use]
pub fn step(name: &str) -> Option<&'static StepKind> {
    STEPS.iter().find(|step| step.name == name)
}

/// What a sent draft applies (EFFECT-01).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectKind {
    /// Its name.
    pub name: &'static str,
    /// Whose units it serves.
    pub serves: &'static [Provider],
    /// What it does.
    pub about: &'static str,
}

/// Every effect, by name.
pub const EFFECTS: [EffectKind; 8] = [
    EffectKind { name: "plan.cleared", serves: ANY, about: "Takes what is planned on the unit off the plan." },
    EffectKind {
        name: "pr.addressed",
        serves: &[Provider::Github],
        about: "Leaves the marks `addressed.*` for what the round dealt with.",
    },
    EffectKind {
        name: "pr.nudged",
        serves: &[Provider::Github],
        about: "Notes the nudge, so that the next one keeps its distance.",
    },
    EffectKind {
        name: "pr.reviewed",
        serves: &[Provider::Github],
        about: "Leaves the mark `reviewed` for the reviews the round took in, once its own is submitted.",
    },
    EffectKind {
        name: "task.nudged",
        serves: ANY,
        about: "Notes the reminder on the draft's task and on the open tasks that hold its items. It needs the post.",
    },
    EffectKind {
        name: "turn.guidance_handed",
        serves: ANY,
        about: "Hands the guidance that waits on the unit to the turn, and takes it back when the turn is not sent.",
    },
    EffectKind { name: "turn.round_sent", serves: ANY, about: "Notes on the unit that you sent the round." },
    EffectKind {
        name: "unit.closed",
        serves: ANY,
        about: "Closes the unit at its provider and ends the open tasks that hold it. It applies without a post, too.",
    },
];

/// A mark that rounds leave on a unit, which `handled` asks for (CEL-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkKind {
    /// Its name.
    pub name: &'static str,
    /// Whose units carry it.
    pub serves: Provider,
    /// What is compared with it.
    pub covers: FactType,
    /// What it covers.
    pub about: &'static str,
}

/// The marks that providers declare, by name.
pub const MARKS: [MarkKind; 3] = [
    MarkKind {
        name: "addressed.checks",
        serves: Provider::Github,
        covers: FactType::Text,
        about: "The head whose failed checks a round dealt with: `handled(\"addressed.checks\", pr.head)`.",
    },
    MarkKind {
        name: "addressed.conflict",
        serves: Provider::Github,
        covers: FactType::Text,
        about: "The head whose conflict a round dealt with: `handled(\"addressed.conflict\", pr.head)`.",
    },
    MarkKind {
        name: "addressed.reviews",
        serves: Provider::Github,
        covers: FactType::Time,
        about: "The time of the newest review a round dealt with: every earlier one is covered.",
    },
];

/// The mark of that name.
#[must_use]
pub fn mark(name: &str) -> Option<&'static MarkKind> {
    MARKS.iter().find(|mark| mark.name == name)
}
