//! What the approval rules say of a draft: when it is proposed, when its window ends, and before it is sent (APPR-20 to APPR-60,
//! DRAFT-16 to DRAFT-18).

use wloop_core::draft::{self, Delivery, Proposer};
use wloop_core::gate::{Actor, GateKind};
use wloop_core::id::UnitRef;
use wloop_core::rules::policy::{ApprovalTable, Decision, DraftAsked, Origin, decide_draft};
use wloop_core::rules::registry::Provider;
use wloop_core::rules::value::{Frame, Value};
use wloop_store::rows::{DraftRow, GateRow, PostRow, TurnRow};

use super::Cx;
use super::drafts::By;
use super::requests::BY_PERSON;
use crate::input::Seen;
use crate::refusal::Answer;

/// What the rules are asked about.
pub(super) struct DraftOf<'a> {
    unit: &'a UnitRef,
    delivery: Delivery,
    purpose: &'a str,
    effects: &'a [String],
}

impl<'a> DraftOf<'a> {
    pub(super) fn new(unit: &'a UnitRef, delivery: Delivery, purpose: &'a str, effects: &'a [String]) -> Self {
        Self { unit, delivery, purpose, effects }
    }
}

impl Cx<'_> {
    /// What the rules in force say of a draft.
    pub(super) fn decide_draft(&self, by: By<'_>, proposer: &Proposer, of: &DraftOf<'_>) -> Answer<Decision> {
        let rules = self.rules;
        let none = ApprovalTable::empty("no intent");
        let gone = |name: &str| ApprovalTable {
            broken: Some(format!("the workflow `{name}` does not load")),
            ..ApprovalTable::empty(&format!("workflows/{name}"))
        };
        let lost = match by {
            By::Person => None,
            By::Turn(turn) => self.behind(turn).filter(|name| !rules.profile.workflows.contains_key(*name)).map(gone),
        };
        let origin = match by {
            By::Person => Origin::Person,
            By::Turn(turn) => Origin::Turn {
                workflow: match self.behind(turn).and_then(|name| rules.profile.workflows.get(name)) {
                    Some(workflow) => Some((&workflow.approval, rules.overlay(&workflow.name))),
                    None => lost.as_ref().map(|table| (table, None)),
                },
                intent: rules.profile.intents.get(&turn.intent).map_or(&none, |intent| &intent.approval),
                elsewhere: turn.unit != *of.unit,
            },
        };
        let seen = self.seen(of.unit)?;
        let nothing = Frame::new();
        let asked = DraftAsked {
            name: &rules.profile.first_gate(GateKind::Draft).name,
            provider: Provider::Github,
            delivery: of.delivery,
            posts: draft::posts(of.delivery),
            proposer,
            purpose: of.purpose,
            effects: of.effects,
            facts: seen.as_ref().map_or(&nothing, |seen| &seen.facts),
            unreadable: seen.is_none().then_some("the pull request was not read whole yet, so its facts are not known"),
        };
        Ok(decide_draft(&asked, origin, &rules.profile.gates.approval, self.now))
    }

    /// The workflow behind a turn; none is behind one that the person started (APPR-20, APPR-35).
    fn behind<'t>(&self, turn: &'t TurnRow) -> Option<&'t str> {
        (!turn.by_hand).then_some(turn.workflow.as_str())
    }

    /// Why a draft whose window is over waits for the person after all. A draft whose workflow does not load is let through here, and
    /// fails as it is queued (DRAFT-18).
    pub(super) fn draft_window_closed(&self, row: &GateRow) -> Answer<Option<String>> {
        let Some((draft, post)) = self.draft_of_gate(row.gate.id)? else { return Ok(None) };
        if self.workflow_gone(&draft)?.is_some() {
            return Ok(None);
        }
        let ended = self.tx.pull(&post.unit)?.and_then(|row| row.detail).is_some_and(|detail| !detail.is_open());
        let why = if ended { Some("its pull request has ended".to_owned()) } else { self.no_rule_lets_go(&draft, &post)? };
        Ok(why.map(|why| format!("its window is over and {why}; it waits for you")))
    }

    /// Whether what is known of a draft's unit is too old for a window to end by it, as after sleep.
    pub(super) fn is_known_too_little(&self, unit: &UnitRef) -> Answer<bool> {
        let Some(row) = self.tx.pull(unit)? else { return Ok(false) };
        let stale = self.seen(unit)?.is_some_and(|seen| seen.facts.get("pr.stale") == Some(&Value::Bool(true)));
        Ok(row.fault.is_some() || stale)
    }

    /// Why no rule lets a draft go any more: its round was cancelled, or the rules or the facts have changed.
    fn no_rule_lets_go(&self, draft: &DraftRow, post: &PostRow) -> Answer<Option<String>> {
        let turn = draft.turn.map(|turn| self.a_turn(turn)).transpose()?;
        if turn.as_ref().is_some_and(|turn| turn.cancel_by.as_deref() == Some(BY_PERSON)) {
            return Ok(Some("you cancelled the round that drafted it".to_owned()));
        }
        let by = turn.as_ref().map_or(By::Person, By::Turn);
        let effects: Vec<String> = self.tx.draft_effects(draft.id)?.into_iter().map(|(effect, _)| effect).collect();
        let of = DraftOf::new(&post.unit, draft.delivery, &draft.purpose, &effects);
        let decision = self.decide_draft(by, &draft.proposer, &of)?;
        Ok((!decision.mode.releases()).then(|| {
            let why =
                decision.floor.clone().unwrap_or_else(|| format!("{} says `{}`", decision.rule_name(), decision.mode.as_str()));
            format!("the rules, or what they read, have changed: {why}")
        }))
    }

    /// Why a draft that a rule or a window released must not be queued by that release (DRAFT-16, DRAFT-17, DRAFT-18). What the person
    /// approved, or asked to be sent again, goes by their word.
    pub(super) fn why_not_by_rule(&self, draft: &DraftRow, post: &PostRow, gate: &GateRow) -> Answer<Option<String>> {
        let by_rule = gate.gate.closed.as_ref().is_some_and(|c| matches!(c.actor, Actor::Rule(_) | Actor::Window));
        if !by_rule || post.retried_at.is_some() {
            return Ok(None);
        }
        if let Some(why) = self.workflow_gone(draft)? {
            return Ok(Some(why));
        }
        if draft::on_github(draft.delivery) != Ok(draft.delivery) {
            let was = draft.delivery.as_str();
            return Ok(Some(format!("it was released as a {was} and would be posted otherwise now; look at it and retry it")));
        }
        Ok(self.no_rule_lets_go(draft, post)?.map(|why| format!("{why}; look at it and retry it")))
    }

    /// The same right before it is sent, with what the pull request is at this moment.
    pub(super) fn why_not_now(&self, draft: &DraftRow, post: &PostRow, seen: &Seen) -> Answer<Option<String>> {
        let gate = self.gate(post.gate)?;
        let by_rule = gate.gate.closed.as_ref().is_some_and(|c| matches!(c.actor, Actor::Rule(_) | Actor::Window));
        if by_rule && post.retried_at.is_none() && !seen.takes_words {
            return Ok(Some("its pull request is closed or locked by now; look at it and retry it".to_owned()));
        }
        self.why_not_by_rule(draft, post, &gate)
    }

    /// Why the workflow behind a draft does not stand behind it any more.
    fn workflow_gone(&self, draft: &DraftRow) -> Answer<Option<String>> {
        let turn = draft.turn.map(|turn| self.a_turn(turn)).transpose()?;
        let workflow = match (&draft.proposer, &turn) {
            (Proposer::Workflow(name), _) => Some(name.as_str()),
            (Proposer::Intent(_), Some(turn)) => self.behind(turn),
            (Proposer::Person | Proposer::Rule(_), _) | (Proposer::Intent(_), None) => None,
        };
        Ok(workflow.filter(|name| !self.rules.profile.workflows.contains_key(*name)).map(|name| {
            format!("its workflow `{name}` does not load, so no rule of it counts; mend it, or retry the draft yourself")
        }))
    }
}
