//! Gates: the one place where a decision waits (spec 15.1). Every transition is a compare-and-set on the present status; a closed
//! gate never changes again (GATE-04).

use jiff::Timestamp;

use crate::id::{GateId, SessionId, TaskId, UnitRef};

/// What a gate holds (GATE-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateKind {
    /// A draft to be posted.
    Draft,
    /// A round or workflow item to be run.
    Plan,
    /// An agent's question.
    Question,
    /// A complete post that a round prepared and stopped on.
    Post,
    /// A change that is proposed.
    Proposal,
    /// An agent's first run in a repository.
    Trust,
    /// A workflow's `gate.open` step.
    Step,
}

impl GateKind {
    /// Every kind with its word.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Draft, "draft"),
        (Self::Plan, "plan"),
        (Self::Question, "question"),
        (Self::Post, "post"),
        (Self::Proposal, "proposal"),
        (Self::Trust, "trust"),
        (Self::Step, "step"),
    ];

    /// The word in files, rows and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Plan => "plan",
            Self::Question => "question",
            Self::Post => "post",
            Self::Proposal => "proposal",
            Self::Trust => "trust",
            Self::Step => "step",
        }
    }

    /// Whether a rule or a window may release a gate of this kind at all: never a trust gate (GATE-54), and never one whose
    /// closing is an answer, a post gate among them.
    #[must_use]
    pub fn may_be_released(self) -> bool {
        match self {
            Self::Draft | Self::Plan | Self::Proposal | Self::Step => true,
            Self::Question | Self::Post | Self::Trust => false,
        }
    }
}

/// How far a gate is (GATE-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateStatus {
    /// It waits.
    Open,
    /// Released.
    Approved,
    /// Refused.
    Rejected,
    /// Answered with text or a choice.
    Answered,
    /// Put aside.
    Dismissed,
    /// What it asked about is gone or another gate took its place.
    Superseded,
}

impl GateStatus {
    /// Every status with its word.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Open, "open"),
        (Self::Approved, "approved"),
        (Self::Rejected, "rejected"),
        (Self::Answered, "answered"),
        (Self::Dismissed, "dismissed"),
        (Self::Superseded, "superseded"),
    ];

    /// The word in files, rows and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Answered => "answered",
            Self::Dismissed => "dismissed",
            Self::Superseded => "superseded",
        }
    }
}

/// One of a gate's buttons (GATE-17 to GATE-19).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its name in routes and commands.
    pub name: String,
    /// Its words.
    pub label: String,
    /// The status it resolves the gate to; never `Open` or `Superseded`.
    pub status: GateStatus,
    /// The placeholder of its text field; `None` when it takes no text.
    pub text: Option<String>,
}

/// Who closed a gate, or acted otherwise (RES-01 to RES-05, EVT-03).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The person, where they acted through a driven session that session too (RES-03).
    Person {
        /// The driven session.
        via: Option<SessionId>,
    },
    /// An unattended session.
    Session(SessionId),
    /// A rule of an approval table, named as `table#n` (RES-04).
    Rule(String),
    /// The gate's window (RES-05).
    Window,
    /// A workflow.
    Workflow(String),
    /// The daemon itself.
    Daemon,
    /// What happened outside.
    Provider(String),
}

impl Actor {
    /// The person, acting directly.
    pub const PERSON: Self = Self::Person { via: None };
}

/// A gate as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// Its id.
    pub id: GateId,
    /// Its kind.
    pub kind: GateKind,
    /// Its name in `gates.toml`.
    pub name: String,
    /// Its status.
    pub status: GateStatus,
    /// The unit it is about.
    pub unit: Option<UnitRef>,
    /// The task it stands on (GATE-28).
    pub task: Option<TaskId>,
    /// What it asks, rendered when it opened and never again (GATE-23).
    pub words: String,
    /// Its intents, in order.
    pub intents: Vec<Intent>,
    /// The intent that a rule or its window takes.
    pub default_intent: Option<String>,
    /// When it opened.
    pub opened_at: Timestamp,
    /// When its window ends, by the wall clock (WIN-19).
    pub deadline: Option<Timestamp>,
    /// How it closed; `None` while it is open.
    pub closed: Option<Closing>,
}

/// How a gate closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// The intent that was taken; `None` when it was superseded.
    pub intent: Option<String>,
    /// Who.
    pub actor: Actor,
    /// The person's text.
    pub text: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Why it was superseded; empty otherwise.
    pub reason: String,
}

/// What closes a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateEvent<'a> {
    /// An intent, by name, with its text.
    Resolve {
        /// The intent's name.
        intent: &'a str,
        /// The text given with it.
        text: Option<&'a str>,
        /// Who resolves it.
        actor: &'a Actor,
    },
    /// Its subject is gone, or another gate takes its place (GATE-40, WIN-03).
    Supersede {
        /// Why, in one or two words.
        reason: &'a str,
        /// Who.
        actor: &'a Actor,
    },
}

/// Why a gate did not close.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateRefusal {
    /// It is closed already (RES-16, F03).
    #[error("the gate is already {}", .0.as_str())]
    NotOpen(GateStatus),
    /// No intent of that name (RES-18).
    #[error("the gate has no intent `{given}`; it takes {known}")]
    UnknownIntent {
        /// What was given.
        given: String,
        /// What there is.
        known: String,
    },
    /// Text for an intent that takes none.
    #[error("the intent `{0}` takes no text")]
    TextNotTaken(String),
    /// No text for an intent that takes it.
    #[error("the intent `{0}` needs a text")]
    TextMissing(String),
    /// A rule or a window took what only the person may decide (GATE-54).
    #[error("only the person resolves a gate of the kind `{}`", .0.as_str())]
    OnlyPerson(GateKind),
    /// A rule or a window took an intent that does not approve (RES-05).
    #[error("a rule or a window takes only the approving intent, not `{0}`")]
    NotApproving(String),
    /// Somebody who resolves nothing (RES-01, RES-11).
    #[error("this caller resolves no gate")]
    MayNot,
}

impl Gate {
    /// The intent of that name.
    #[must_use]
    pub fn intent(&self, name: &str) -> Option<&Intent> {
        self.intents.iter().find(|intent| intent.name == name)
    }

    /// Closes the gate, or says why not; an open gate is the only one that changes (G5 to G17).
    ///
    /// # Errors
    /// [`GateRefusal`]; the gate is then as before.
    pub fn close(&self, event: &GateEvent<'_>, now: Timestamp) -> Result<Gate, GateRefusal> {
        match self.status {
            GateStatus::Open => {}
            closed @ (GateStatus::Approved
            | GateStatus::Rejected
            | GateStatus::Answered
            | GateStatus::Dismissed
            | GateStatus::Superseded) => return Err(GateRefusal::NotOpen(closed)),
        }
        let (status, closing) = match *event {
            GateEvent::Supersede { reason, actor } => (
                GateStatus::Superseded,
                Closing { intent: None, actor: actor.clone(), text: None, at: now, reason: reason.to_owned() },
            ),
            GateEvent::Resolve { intent, text, actor } => {
                let status = self.resolve(intent, text, actor)?;
                (
                    status,
                    Closing {
                        intent: Some(intent.to_owned()),
                        actor: actor.clone(),
                        text: text.map(str::to_owned),
                        at: now,
                        reason: String::new(),
                    },
                )
            }
        };
        Ok(Gate { status, closed: Some(closing), ..self.clone() })
    }

    fn resolve(&self, name: &str, text: Option<&str>, actor: &Actor) -> Result<GateStatus, GateRefusal> {
        let intent = self.intent(name).ok_or_else(|| GateRefusal::UnknownIntent {
            given: name.to_owned(),
            known: self.intents.iter().map(|i| format!("`{}`", i.name)).collect::<Vec<_>>().join(", "),
        })?;
        let text = text.filter(|t| !t.trim().is_empty());
        match (&intent.text, text) {
            (None, Some(_)) => return Err(GateRefusal::TextNotTaken(name.to_owned())),
            (Some(_), None) => return Err(GateRefusal::TextMissing(name.to_owned())),
            (None, None) | (Some(_), Some(_)) => {}
        }
        match actor {
            Actor::Person { .. } => Ok(intent.status),
            Actor::Rule(_) | Actor::Window => {
                if !self.kind.may_be_released() {
                    Err(GateRefusal::OnlyPerson(self.kind))
                } else if intent.status == GateStatus::Approved {
                    Ok(intent.status)
                } else {
                    Err(GateRefusal::NotApproving(name.to_owned()))
                }
            }
            Actor::Session(_) | Actor::Workflow(_) | Actor::Daemon | Actor::Provider(_) => Err(GateRefusal::MayNot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(kind: GateKind) -> Gate {
        let intent = |name: &str, status, text: Option<&str>| Intent {
            name: name.into(),
            label: name.into(),
            status,
            text: text.map(Into::into),
        };
        Gate {
            id: "00000000000000000000000000000001".parse().unwrap(),
            kind,
            name: kind.as_str().into(),
            status: GateStatus::Open,
            unit: None,
            task: None,
            words: "Review acme/api#1".into(),
            intents: vec![
                intent("skip", GateStatus::Rejected, None),
                intent("run_now", GateStatus::Approved, None),
                intent("guide", GateStatus::Approved, Some("What should it know?")),
            ],
            default_intent: Some("run_now".into()),
            opened_at: "2026-11-30T09:00:00Z".parse().unwrap(),
            deadline: None,
            closed: None,
        }
    }

    fn now() -> Timestamp {
        "2026-11-30T09:01:00Z".parse().unwrap()
    }

    fn resolve<'a>(intent: &'a str, text: Option<&'a str>, actor: &'a Actor) -> GateEvent<'a> {
        GateEvent::Resolve { intent, text, actor }
    }

    #[test]
    fn a_closed_gate_never_changes() {
        // GATE-03, GATE-04, RES-16
        let supersede = GateEvent::Supersede { reason: "moot", actor: &Actor::Daemon };
        for first in [resolve("skip", None, &Actor::PERSON), resolve("run_now", None, &Actor::Window), supersede.clone()] {
            let closed = gate(GateKind::Plan).close(&first, now()).unwrap();
            for again in [resolve("run_now", None, &Actor::PERSON), resolve("skip", None, &Actor::PERSON), supersede.clone()] {
                assert_eq!(closed.close(&again, now()), Err(GateRefusal::NotOpen(closed.status)));
            }
        }
    }

    #[test]
    fn an_intent_gives_its_status_and_takes_text_only_where_declared() {
        // GATE-18, GATE-19, RES-18
        let open = gate(GateKind::Plan);
        let closed = open.close(&resolve("guide", Some("look at the lock"), &Actor::PERSON), now()).unwrap();
        assert_eq!(closed.status, GateStatus::Approved);
        assert_eq!(closed.closed.unwrap().text.as_deref(), Some("look at the lock"));
        let refuse = |intent, text| open.close(&resolve(intent, text, &Actor::PERSON), now()).unwrap_err();
        assert_eq!(refuse("guide", Some("  ")), GateRefusal::TextMissing("guide".into()));
        assert_eq!(refuse("skip", Some("why")), GateRefusal::TextNotTaken("skip".into()));
        assert!(matches!(refuse("open", None), GateRefusal::UnknownIntent { .. }));
    }

    #[test]
    fn only_the_person_a_rule_or_a_window_resolves() {
        // RES-01, RES-05, RES-11, GATE-54
        let session = Actor::Session("000000000000000000000000000000aa".parse().unwrap());
        for nobody in [session, Actor::Workflow("review".into()), Actor::Daemon, Actor::Provider("sam".into())] {
            let refused = gate(GateKind::Plan).close(&resolve("run_now", None, &nobody), now());
            assert_eq!(refused, Err(GateRefusal::MayNot));
        }
        for (kind, _) in GateKind::ALL {
            let released = gate(kind).close(&resolve("run_now", None, &Actor::Window), now());
            assert_eq!(released.is_ok(), kind.may_be_released(), "{kind:?}");
        }
        let skip = gate(GateKind::Plan).close(&resolve("skip", None, &Actor::Window), now());
        assert_eq!(skip, Err(GateRefusal::NotApproving("skip".into())));
    }
}
