//! Drafts: proposed, edited, discarded, withdrawn, and what their gates decide. The gate alone decides; how far the delivery is stands
//! in the post's row, and the sender is that of every post (spec 7, 15.3).

use serde_json::json;
use wloop_core::draft::{self, Delivery, NotProposed, Proposer};
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::Shape;
use wloop_core::github::publish::{refuse_empty, strip_markers};
use wloop_core::id::{GateId, PostId, SessionId, TaskId, TurnId, UnitRef};
use wloop_core::post::{self, PostEvent, PostState};
use wloop_store::DraftFilter;
use wloop_store::rows::{DraftRow, GateRow, NewEvent, PostRow, PullRow, RevisionRow, TurnRow};

use super::Cx;
use super::draft_rules::DraftOf;
use super::gates::{NewGate, Policy, how_it_ended, refusing};
use super::posts::mentions_of;
#[cfg(feature = "failpoints")]
use crate::edge::crash_point;
use crate::input::NewDraft;
use crate::refusal::{Answer, EngineError, Refusal, RefusalKind};

/// The longest reason, in characters.
const REASON_LIMIT: usize = 1_000;

/// Why a draft was dropped that a rule discards: it is kept as what would have been sent (DRAFT-22).
const DRY_RUN: &str = "dry_run";

/// Who proposes.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    /// The person.
    Person,
    /// A session, in this turn of its own.
    Turn(&'a TurnRow),
}

impl Cx<'_> {
    /// Proposes a draft: its gate, its post, its row and its first text in one transaction (D1, O1, K0).
    pub(super) fn propose_draft(&mut self, new: &NewDraft, by: By<'_>) -> Answer<PostId> {
        let text = strip_markers(&new.text);
        if let (Some(key), By::Person) = (&new.key, by)
            && let Some((row, post)) = self.tx.draft_by_key(key)?
        {
            let first = self.tx.revisions(row.id)?.into_iter().next();
            return if post.unit == new.unit && first.is_some_and(|first| first.text == text) {
                Ok(row.id)
            } else {
                let words = format!("`{key}` named another draft, {}; give each its own `key`", short(row.id));
                Err(Refusal::new(RefusalKind::Invalid, words).field("key").into())
            };
        }
        let Some(pull) = self.tx.pull(&new.unit)? else {
            let words = format!("wloop does not know `{}`; name a pull request it can read", new.unit);
            return Err(Refusal::new(RefusalKind::NotFound, words).field("unit").into());
        };
        let delivery = self.check_draft(new, &text, by, &pull)?;
        let task = new.task.map(|task| self.an_open_task(task)).transpose()?;
        let label = self.label_of(&new.unit)?;
        let proposer = match by {
            By::Person => Proposer::Person,
            By::Turn(turn) => Proposer::Intent(turn.intent.clone()),
        };
        let decision = self.decide_draft(by, &proposer, &DraftOf::new(&new.unit, delivery, &new.purpose, &new.effects))?;
        let gate = self.open_gate_on(
            NewGate {
                kind: GateKind::Draft,
                unit: &new.unit,
                words: draft::words_of(&label, &text),
                policy: Policy::Decided(&decision),
                // A draft does not stop its turn, whose own gate is another matter.
                turn: None,
            },
            task,
        )?;
        let post = self.fresh_post(&new.unit, None, gate.gate.id, Shape::Comment, &text, pull.summary.head, PostState::Held)?;
        self.tx.insert_post(&post)?;
        #[cfg(feature = "failpoints")]
        crash_point!("K0b");
        let (session, turn) = match by {
            By::Person => (None, None),
            By::Turn(turn) => (Some(turn.session), Some(turn.id)),
        };
        let row = DraftRow {
            id: post.id,
            purpose: new.purpose.clone(),
            delivery,
            broadcast: new.broadcast,
            // The gate's task becomes the draft's, so that it carries the draft (GATE-30).
            task: gate.gate.task,
            proposer,
            session,
            turn,
            key: new.key.clone().filter(|_| session.is_none()),
            reason: String::new(),
            edited_at: None,
        };
        self.tx.insert_draft(&row)?;
        self.revise(&post, 1)?;
        for effect in &new.effects {
            self.tx.declare_draft_effect(row.id, effect, self.now)?;
        }
        let actor = session.map_or_else(|| self.acting.clone(), Actor::Session);
        self.event(NewEvent {
            data: json!({ "delivery": row.delivery.as_str(), "mentions": post.mentions, "effects": new.effects }),
            ..self.of_draft(&row, &post, EventKind::DraftProposed, actor)
        })?;
        if gate.gate.closed.is_some() {
            self.draft_gate_closed(&gate)?;
        }
        Ok(row.id)
    }

    /// What is checked before anything is written; the delivery that it will have.
    fn check_draft(&self, new: &NewDraft, text: &str, by: By<'_>, pull: &PullRow) -> Answer<Delivery> {
        let delivery = draft::on_github(new.delivery).map_err(|why| not_proposed(&why))?;
        refuse_empty(&Shape::Comment, text)
            .map_err(|fault| Refusal::new(RefusalKind::Invalid, fault.to_string()).field("text").code("invalid"))?;
        let purpose = new.purpose.chars().count();
        if purpose > draft::PURPOSE_LIMIT || new.purpose.chars().any(char::is_control) {
            let words = format!("`purpose` is a label of at most {} characters on one line", draft::PURPOSE_LIMIT);
            return Err(Refusal::new(RefusalKind::Invalid, words).field("purpose").code("invalid").into());
        }
        let provider = new.unit.provider();
        let By::Turn(turn) = by else {
            draft::check_effects(&new.effects, provider, None, false).map_err(|why| not_proposed(&why))?;
            return Ok(delivery);
        };
        let elsewhere = turn.unit != new.unit;
        let allowed = self.rules.profile.intents.get(&turn.intent).map(|i| i.draft_effects.as_slice()).unwrap_or_default();
        draft::check_effects(&new.effects, provider, Some((&turn.intent, allowed)), elsewhere)
            .map_err(|why| not_proposed(&why))?;
        if elsewhere && !pull.watched {
            let words =
                format!("`{}` is not watched, and a draft goes to the turn's pull request or to another watched one", new.unit);
            return Err(Refusal::new(RefusalKind::Conflict, words).field("unit").code("unit_scope").into());
        }
        let label = self.label_of(&new.unit)?;
        if let Some(detail) = &pull.detail {
            if !detail.is_open() {
                return Err(not_proposed(&NotProposed::Ended(label)));
            }
            if detail.locked || detail.archived {
                return Err(not_proposed(&NotProposed::Locked(label)));
            }
        }
        if self.tx.drafts(DraftFilter::OfTurn(turn.id))?.len() >= draft::DRAFTS_PER_TURN {
            let words = format!("a turn proposes at most {} drafts", draft::DRAFTS_PER_TURN);
            return Err(Refusal::new(RefusalKind::Conflict, words).code("limit").into());
        }
        Ok(delivery)
    }

    /// A task that a draft names: it must be open (GATE-29).
    fn an_open_task(&self, id: TaskId) -> Answer<TaskId> {
        match self.tx.task(id)? {
            Some(task) if task.ended_at.is_none() => Ok(id),
            Some(task) => {
                let words = format!("task `{}` is {}; name an open one, or none", &id.to_string()[..6], task.category);
                Err(Refusal::new(RefusalKind::Conflict, words).field("task").into())
            }
            None => {
                let words = format!("there is no task `{}`", &id.to_string()[..6]);
                Err(Refusal::new(RefusalKind::NotFound, words).field("task").into())
            }
        }
    }

    fn label_of(&self, unit: &UnitRef) -> Answer<String> {
        Ok(self.tx.unit(unit)?.map_or_else(|| unit.to_string(), |row| row.label))
    }

    /// Keeps a draft's text beside the gate that asks about it.
    fn revise(&self, post: &PostRow, n: u32) -> Answer<()> {
        let row = RevisionRow {
            draft: post.id,
            n,
            gate: post.gate,
            text: post.text.clone(),
            mentions: post.mentions.clone(),
            at: self.now,
        };
        Ok(self.tx.insert_revision(&row)?)
    }

    /// An event of a draft.
    fn of_draft(&self, row: &DraftRow, post: &PostRow, kind: EventKind, actor: Actor) -> NewEvent {
        NewEvent {
            key: row.purpose.clone(),
            unit: Some(post.unit.clone()),
            task: row.task,
            gate: Some(post.gate),
            turn: row.turn,
            post: Some(post.id),
            actor,
            ..super::event(kind, "")
        }
    }

    /// A draft that is there, with its post.
    pub(super) fn a_draft(&self, id: PostId) -> Answer<(DraftRow, PostRow)> {
        let found = self.tx.draft(id)?;
        found.ok_or_else(|| {
            Refusal::new(RefusalKind::NotFound, format!("there is no draft {}; `wloop outbox` lists them", short(id))).into()
        })
    }

    /// The person edits a held draft: the new text opens a new gate that waits, and the old gate is superseded, in one transaction
    /// (D2, DRAFT-23, DRAFT-25, K12). `seen` is the gate that the person looked at. The draft's gate as it is now; the same text
    /// changes nothing.
    pub(super) fn edit_draft(&mut self, id: PostId, text: &str, seen: Option<GateId>) -> Answer<GateId> {
        let (row, post) = self.a_draft(id)?;
        let text = strip_markers(text);
        if text == post.text {
            return Ok(post.gate);
        }
        if post.state != PostState::Held {
            let words =
                format!("draft {} is {}, and only a held one is edited; discard it and write a new one", short(id), post.state);
            return Err(Refusal::new(RefusalKind::Conflict, words).about(post.gate).into());
        }
        if let Some(seen) = seen.filter(|seen| *seen != post.gate) {
            return Err(self.asked_anew(&self.gate(seen)?)?);
        }
        let old = self.gate(post.gate)?;
        if old.gate.status != GateStatus::Open {
            return Err(self.asked_anew(&old)?);
        }
        refuse_empty(&Shape::Comment, &text)
            .map_err(|fault| Refusal::new(RefusalKind::Invalid, fault.to_string()).field("text"))?;
        let label = self.label_of(&post.unit)?;
        // The new gate opens first, so that the task that holds both never stands without one (GATE-37).
        let gate = self.open_gate_on(
            NewGate {
                kind: GateKind::Draft,
                unit: &post.unit,
                words: draft::words_of(&label, &text),
                policy: Policy::Waits("you edited it, so the new text is asked about"),
                turn: None,
            },
            old.gate.task,
        )?;
        self.supersede(&old, "edited", &self.acting.clone())?;
        #[cfg(feature = "failpoints")]
        crash_point!("K12");
        let mut changed = post.clone();
        changed.body = self.body_of(&post.unit, id, &text)?;
        changed.mentions = mentions_of(&text, &post.shape);
        changed.text = text;
        changed.gate = gate.gate.id;
        changed.changed_at = self.now;
        self.tx.update_post(id, PostState::Held, &changed)?;
        let n = self.tx.revisions(id)?.last().map_or(0, |last| last.n);
        self.revise(&changed, n + 1)?;
        self.tx.set_draft_edited(id, row.broadcast, self.now)?;
        self.event(NewEvent {
            data: json!({ "revision": n + 1, "mentions": changed.mentions }),
            ..self.of_draft(&row, &changed, EventKind::DraftEdited, self.acting.clone())
        })?;
        Ok(gate.gate.id)
    }

    /// The refusal of whoever answers a gate of a draft that is closed: how it ended, and where the draft is asked about now
    /// (DRAFT-26, F01).
    pub(super) fn asked_anew(&self, row: &GateRow) -> Answer<EngineError> {
        let mut words = format!("gate `{}` is already resolved: {}", &row.gate.id.to_string()[..6], how_it_ended(&row.gate));
        if let Some((_, post)) = self.draft_of_gate(row.gate.id)?
            && post.gate != row.gate.id
        {
            words.push_str(&format!(
                "; its draft {} has another text by now, and gate `{}` asks about that",
                short(post.id),
                &post.gate.to_string()[..6]
            ));
        }
        Ok(Refusal::new(RefusalKind::Conflict, words).about(row.gate.id).into())
    }

    /// The draft that a gate asks, or asked, about.
    pub(super) fn draft_of_gate(&self, gate: GateId) -> Answer<Option<(DraftRow, PostRow)>> {
        match self.tx.revision_of_gate(gate)? {
            Some(revision) => Ok(self.tx.draft(revision.draft)?),
            None => Ok(None),
        }
    }

    /// The person's other text for an open draft gate: the edit comes first, and the answer is for the gate that it opened
    /// (DRAFT-27, API-03).
    pub(super) fn reword_draft(&mut self, row: &GateRow, text: &str) -> Answer<GateRow> {
        let Some((draft, _)) = self.draft_of_gate(row.gate.id)? else { return Ok(row.clone()) };
        let gate = self.edit_draft(draft.id, text, Some(row.gate.id))?;
        #[cfg(feature = "failpoints")]
        crash_point!("K13");
        self.gate(gate)
    }

    /// What a draft gate's resolution does to its draft: approved it is queued, refused it is dropped (D3, D4, GATE-08, GATE-09).
    /// Once more it does nothing (CONS-05).
    pub(super) fn draft_gate_closed(&mut self, row: &GateRow) -> Answer<()> {
        let Some((draft, post)) = self.draft_of_gate(row.gate.id)? else {
            return self.consequence_ran(row, "there was no draft left");
        };
        if post.gate != row.gate.id {
            return self.consequence_ran(row, "its draft has another text by now");
        }
        let delivery = post::Delivery { state: post.state, maybe_posted: post.maybe_posted };
        match draft::on_gate(delivery, row.gate.status) {
            Err(_) => self.consequence_ran(row, &format!("its draft was {} already", post.state))?,
            Ok(next) if next.state == PostState::Queued => {
                let queued = self.step_post(&post, PostEvent::Release, |_| {})?;
                self.consequence_ran(row, "queued")?;
                match self.why_not_by_rule(&draft, &queued, row)? {
                    Some(why) => self.post_failed(&queued, PostEvent::CannotTake, &why)?,
                    None => self.fail_without_provider(&queued)?,
                }
            }
            Ok(_) => {
                let by = row.gate.closed.as_ref().map_or(Actor::Daemon, |c| c.actor.clone());
                let reason = if matches!(by, Actor::Rule(_)) { DRY_RUN } else { "discarded" };
                self.drop_draft(&draft, &post, reason, by)?;
                self.consequence_ran(row, "dropped")?;
            }
        }
        self.end_task_of(row, row.gate.status)
    }

    /// A draft that nobody can send fails at once, so that no start looks for a post that was never made (DRAFT-10, D9).
    pub(super) fn fail_without_provider(&mut self, post: &PostRow) -> Answer<()> {
        if self.rules.has_provider {
            return Ok(());
        }
        let why = "github is off: no token is set; set `plugins.github.token`, start again and retry it";
        self.post_failed(post, PostEvent::CannotTake, why)
    }

    /// A draft does not go: refused, withdrawn or discarded; its effects never come (D4, D6, D10, D16, E4).
    pub(super) fn drop_draft(&mut self, row: &DraftRow, post: &PostRow, reason: &str, actor: Actor) -> Answer<()> {
        let dropped = self.step_post(post, PostEvent::Drop, |post| post.next_at = None)?;
        self.tx.set_draft_reason(row.id, reason)?;
        for (effect, state) in self.tx.draft_effects(row.id)? {
            if state == "declared" || state == "due" {
                self.tx.settle_draft_effect(row.id, &effect, "void", self.now)?;
            }
        }
        self.event(NewEvent { data: json!({ "reason": reason }), ..self.of_draft(row, &dropped, EventKind::DraftDropped, actor) })
    }

    /// The person discards a draft: a held one through its gate, one that was approved only with a reason (DRAFT-12, CLI-12).
    pub(super) fn discard_draft(&mut self, id: PostId, reason: Option<&str>) -> Answer<()> {
        let reason = check_reason(reason)?;
        let (row, post) = self.a_draft(id)?;
        match post.state {
            PostState::Held => {
                let gate = self.gate(post.gate)?;
                match refusing(&gate.gate.intents).map(|intent| intent.name.clone()) {
                    Some(intent) => {
                        self.resolve(&gate, &intent, None, &self.acting.clone())?;
                        if let Some(reason) = reason {
                            self.tx.set_draft_reason(id, reason)?;
                        }
                        Ok(())
                    }
                    None => self.withdraw_draft(&row, &post, reason.unwrap_or("discarded"), &self.acting.clone()),
                }
            }
            PostState::Queued | PostState::Failed => {
                let Some(reason) = reason else {
                    let words = format!(
                        "draft {} is approved and {}; say why it is dropped all the same, with `--reason`",
                        short(id),
                        post.state
                    );
                    return Err(Refusal::new(RefusalKind::Conflict, words).about(post.gate).field("reason").into());
                };
                self.drop_draft(&row, &post, reason, self.acting.clone())
            }
            PostState::Sending | PostState::Sent | PostState::Dropped => {
                let words = format!("draft {} is {} already and is not discarded any more", short(id), post.state);
                Err(Refusal::new(RefusalKind::Conflict, words).about(post.gate).into())
            }
        }
    }

    /// The person has a failed draft sent again; a doubtful one is looked up first (DRAFT-11).
    pub(super) fn retry_draft(&mut self, id: PostId) -> Answer<()> {
        let (_, post) = self.a_draft(id)?;
        if post.state != PostState::Failed {
            let words = format!("draft {} is {}; only a failed one is sent again", short(id), post.state);
            return Err(Refusal::new(RefusalKind::Conflict, words).about(post.gate).into());
        }
        self.retry_post(id)?;
        let post = self.a_post(id)?;
        if post.state == PostState::Queued { self.fail_without_provider(&post) } else { Ok(()) }
    }

    /// Takes a held draft back: it is dropped, and its gate is superseded (D6, G11).
    pub(super) fn withdraw_draft(&mut self, row: &DraftRow, post: &PostRow, reason: &str, actor: &Actor) -> Answer<()> {
        self.drop_draft(row, post, reason, actor.clone())?;
        let gate = self.gate(post.gate)?;
        self.supersede(&gate, reason, actor)
    }

    /// A session takes its own held draft back (MCP-16).
    pub(super) fn withdraw_own(&mut self, session: SessionId, id: PostId, reason: &str) -> Answer<PostRow> {
        let reason = check_reason(Some(reason))?.unwrap_or("withdrawn");
        let (row, post) = self.a_draft(id)?;
        if row.session != Some(session) {
            let words = format!("draft {} is not this session's, and an unattended session withdraws only its own", short(id));
            return Err(Refusal::new(RefusalKind::Forbidden, words).code("refused").into());
        }
        if post.state != PostState::Held {
            let words = format!("draft {} is {} already", short(id), post.state);
            return Err(Refusal::new(RefusalKind::Conflict, words).code("already").into());
        }
        self.withdraw_draft(&row, &post, reason, &Actor::Session(session))?;
        self.a_post(id)
    }

    /// What follows once a draft's post is sent: the record tells of it, and each of its effects is applied, in the same transaction
    /// and so once (D11, E2, EFF-01).
    pub(super) fn draft_is_sent(&mut self, post: &PostRow, by: &Actor) -> Answer<()> {
        let Some((row, _)) = self.tx.draft(post.id)? else { return Ok(()) };
        self.event(NewEvent {
            data: json!({
                "delivery": row.delivery.as_str(),
                "remote": post.remote.as_ref().map(|r| r.node_id.clone()),
                "url": post.remote.as_ref().map(|r| r.url.clone()),
            }),
            ..self.of_draft(&row, post, EventKind::DraftSent, by.clone())
        })?;
        #[cfg(feature = "failpoints")]
        crash_point!("K8");
        for (effect, state) in self.tx.draft_effects(row.id)? {
            if !(state == "declared" || state == "due") {
                continue;
            }
            if effect == "pr.nudged" {
                self.note_nudge(&row, post, by)?;
            }
            #[cfg(feature = "failpoints")]
            crash_point!("K9");
            self.tx.settle_draft_effect(row.id, &effect, "applied", self.now)?;
        }
        Ok(())
    }

    /// Notes a reminder on its pull request, for whatever asks whether the next one may go (EFF-07, EFF-08).
    fn note_nudge(&mut self, row: &DraftRow, post: &PostRow, by: &Actor) -> Answer<()> {
        let value = json!({ "at": self.now.to_string(), "draft": row.id.to_string(), "mentions": post.mentions });
        self.tx.put_mark(&post.unit, "nudged", &value, row.turn, self.now)?;
        self.event(NewEvent {
            key: "draft".to_owned(),
            data: json!({ "mentions": post.mentions }),
            ..self.of_draft(row, post, EventKind::Nudged, by.clone())
        })
    }

    /// The record tells of a draft that was not sent.
    pub(super) fn draft_failed(&mut self, post: &PostRow) -> Answer<()> {
        let Some((row, _)) = self.tx.draft(post.id)? else { return Ok(()) };
        self.event(NewEvent {
            data: json!({ "cause": post.cause, "maybe_posted": post.maybe_posted }),
            ..self.of_draft(&row, post, EventKind::DraftFailed, Actor::Daemon)
        })
    }

    /// Whether a post is a draft's.
    pub(super) fn is_draft(&self, post: PostId) -> Answer<bool> {
        Ok(self.tx.draft(post)?.is_some())
    }

    /// The drafts of a turn as its own agent reads of them (MCP-10).
    pub(super) fn drafts_of_turn(&self, turn: TurnId) -> Answer<Vec<serde_json::Value>> {
        let drafts = self.tx.drafts(DraftFilter::OfTurn(turn))?;
        let told = |(row, post): &(DraftRow, PostRow)| {
            json!({
                "draft": row.id.to_string(), "state": post.state.as_str(), "unit": post.unit.to_string(),
                "purpose": row.purpose, "reason": row.reason, "url": post.remote.as_ref().map(|r| r.url.clone()),
            })
        };
        Ok(drafts.iter().map(told).collect())
    }
}

/// A draft's id as people read it.
fn short(id: PostId) -> String {
    format!("`{}`", &id.to_string()[..6])
}

fn not_proposed(why: &NotProposed) -> EngineError {
    let (kind, field) = match why {
        NotProposed::Delivery(_) => (RefusalKind::Invalid, "delivery"),
        NotProposed::UnknownEffect { .. } | NotProposed::EffectNotAllowed { .. } | NotProposed::EffectElsewhere => {
            (RefusalKind::Invalid, "effects")
        }
        NotProposed::Ended(_) | NotProposed::Locked(_) => (RefusalKind::Conflict, "unit"),
    };
    Refusal::new(kind, why.to_string()).field(field).code("refused").into()
}

/// A reason that says something, or none.
fn check_reason(reason: Option<&str>) -> Answer<Option<&str>> {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    match reason.map(|reason| reason.chars().count()) {
        Some(length) if length > REASON_LIMIT => {
            let words = format!("`reason` has {length} characters; at most {REASON_LIMIT} are taken");
            Err(Refusal::new(RefusalKind::Invalid, words).field("reason").code("limit").into())
        }
        _ => Ok(reason),
    }
}
