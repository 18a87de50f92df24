//! Which tables a draft is asked of, and the floors under what they say (APPR-20 to APPR-25, APPR-53 to APPR-59).

use std::borrow::Cow;

use jiff::Timestamp;

use super::{ApprovalOverlay, ApprovalTable, Asked, DecidedBy, Decision, Mode, decide, is_of, overlay};
use crate::draft::{Delivery, Proposer};
use crate::gate::GateKind;
use crate::rules::registry::Provider;
use crate::rules::value::{Facts, Value};

/// Where a draft comes from, with the tables that may be asked.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    /// The person wrote it: it waits, whatever any table says (APPR-25).
    Person,
    /// A session on a unit on which it has no turn: no intent's table is for it (APPR-58).
    Session,
    /// A turn.
    Turn {
        /// The table of the workflow that began it, with what the configuration lays over it; `None` for one that the person began.
        workflow: Option<(&'a ApprovalTable, Option<&'a ApprovalOverlay>)>,
        /// The table of its intent.
        intent: &'a ApprovalTable,
        /// Whether the draft is for another unit than the turn's.
        elsewhere: bool,
    },
    /// A workflow proposes it itself: its intent's table never applies (APPR-23).
    Workflow {
        /// Its table.
        table: &'a ApprovalTable,
        /// What the configuration lays over it.
        overlay: Option<&'a ApprovalOverlay>,
    },
    /// A rule of a plugin proposes it (APPR-24).
    Plugin {
        /// `plugins.<id>.gates.approval` of the configuration.
        overlay: Option<&'a ApprovalOverlay>,
    },
}

/// A draft about whose gate the tables are asked.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "facts have no one form to be shown in")]
pub struct DraftAsked<'a> {
    /// The gate's name.
    pub name: &'a str,
    /// The provider of its unit.
    pub provider: Provider,
    /// How its provider will post it, which may differ from what was asked for (APPR-28).
    pub delivery: Delivery,
    /// Whether that delivery posts something others see, as its provider's manifest says (APPR-53).
    pub posts: bool,
    /// Who proposed it.
    pub proposer: &'a Proposer,
    /// What it is for, in its proposer's word.
    pub purpose: &'a str,
    /// The effects that its proposer named.
    pub effects: &'a [String],
    /// The facts of its unit.
    pub facts: &'a dyn Facts,
    /// Why they cannot be read, where they cannot (APPR-36).
    pub unreadable: Option<&'a str>,
}

/// Decides the gate of a draft.
#[must_use]
pub fn decide_draft(asked: &DraftAsked<'_>, origin: Origin<'_>, gates: &ApprovalTable, now: Timestamp) -> Decision {
    let tables = match tables(origin, gates, asked.provider) {
        Ok(tables) => tables,
        Err(why) => return waits(why),
    };
    let facts = DraftFacts::of(asked);
    let question =
        Asked { kind: GateKind::Draft, name: asked.name, provider: asked.provider, facts: &facts, unreadable: asked.unreadable };
    let mut decision = decide(&question, &tables.iter().map(Cow::as_ref).collect::<Vec<_>>(), now);
    // A dry run drops the draft, which no floor needs to hold.
    if decision.mode.releases()
        && let Some(why) = floor(asked, origin, &decision.by)
    {
        decision.mode = Mode::Wait;
        decision.floor = Some(why);
    }
    decision
}

/// The tables in the order in which they are asked (APPR-20 to APPR-24, APPR-46 to APPR-48), or why none is.
fn tables<'a>(
    origin: Origin<'a>,
    gates: &'a ApprovalTable,
    provider: Provider,
) -> Result<Vec<Cow<'a, ApprovalTable>>, &'static str> {
    let laid = |table: &'a ApprovalTable, over: Option<&ApprovalOverlay>| match over {
        Some(over) => Cow::Owned(overlay(table, over, provider)),
        None => Cow::Borrowed(table),
    };
    let first = match origin {
        Origin::Person => return Err("you wrote it, so it waits for your word"),
        Origin::Session => return Err("a session without a turn on it proposed it, and no rule is for that"),
        Origin::Turn { workflow: Some((own, over)), .. } if own.names_draft_gate() => laid(own, over),
        Origin::Turn { workflow, intent, .. } => laid(intent, workflow.and_then(|(_, over)| over)),
        Origin::Workflow { table, overlay: over } if table.names_draft_gate() => laid(table, over),
        // What a workflow without a word on drafts is given lies over the default itself.
        Origin::Workflow { overlay: over, .. } => return Ok(vec![laid(gates, over)]),
        Origin::Plugin { overlay: Some(over) } => Cow::Owned(overlay(&ApprovalTable::empty(&over.name), over, provider)),
        Origin::Plugin { overlay: None } => return Ok(vec![Cow::Borrowed(gates)]),
    };
    Ok(vec![first, Cow::Borrowed(gates)])
}

/// Why a draft waits that a table would let out.
fn floor(asked: &DraftAsked<'_>, origin: Origin<'_>, by: &DecidedBy) -> Option<String> {
    if let Origin::Turn { elsewhere: true, .. } = origin {
        return Some("an agent's draft for another unit than its turn's waits for you".to_owned());
    }
    if !asked.posts {
        return None;
    }
    let (named, what) = match by {
        DecidedBy::Rule { delivery, .. } => (delivery.as_deref(), "the rule"),
        DecidedBy::Table { .. } | DecidedBy::Default => (None, "the mode"),
    };
    let word = asked.delivery.as_str();
    (named != Some(word)).then(|| {
        format!("{what} that would let it out does not name its delivery: only a rule with `draft.delivery == \"{word}\"` does")
    })
}

fn waits(why: &str) -> Decision {
    Decision {
        mode: Mode::Wait,
        by: DecidedBy::Default,
        steps: Vec::new(),
        facts: std::collections::BTreeMap::new(),
        floor: Some(why.to_owned()),
    }
}

/// The draft's own facts before those of its unit (APPR-26, APPR-28, APPR-31, APPR-32).
struct DraftFacts<'a> {
    own: [(&'static str, Value); 4],
    rest: &'a dyn Facts,
}

impl<'a> DraftFacts<'a> {
    fn of(asked: &DraftAsked<'a>) -> Self {
        // What an agent names is its own word: no rule reads it.
        let told = match asked.proposer {
            Proposer::Workflow(_) | Proposer::Rule(_) => true,
            Proposer::Person | Proposer::Intent(_) => false,
        };
        let (purpose, effects) = if told { (asked.purpose, asked.effects.to_vec()) } else { ("", Vec::new()) };
        let own = [
            ("draft.delivery", Value::Text(asked.delivery.as_str().to_owned())),
            ("draft.proposer", Value::Text(asked.proposer.fact())),
            ("draft.effects", Value::List(effects)),
            ("draft.purpose", Value::Text(purpose.to_owned())),
        ];
        Self { own, rest: asked.facts }
    }

    fn own(&self, name: &str) -> Option<&Value> {
        self.own.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

impl Facts for DraftFacts<'_> {
    fn fact(&self, name: &str) -> Option<Value> {
        self.own(name).cloned().or_else(|| self.rest.fact(name))
    }

    fn lent(&self, place: usize, name: &str) -> Option<Cow<'_, Value>> {
        self.own(name).map(Cow::Borrowed).or_else(|| self.rest.lent(place, name))
    }

    fn ready(&self, place: usize) -> Option<&Value> {
        if is_of("draft.", place) { None } else { self.rest.ready(place) }
    }

    fn covers(&self, mark: &str, value: &Value) -> bool {
        self.rest.covers(mark, value)
    }
}
