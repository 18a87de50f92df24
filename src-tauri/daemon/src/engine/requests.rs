//! What callers ask for. Who may ask is decided here, before anything is written (RES-11, RES-19, API-04).

use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::{GateKind, GateStatus};
use wloop_core::github::Reason;
use wloop_core::id::{GateId, PostId, TurnId, UnitRef};
use wloop_core::plan::ItemState;
use wloop_core::post::PostState;
use wloop_store::rows::{GateRow, ItemRow, NewEvent};
use wloop_store::{DraftFilter, PostFilter};

use super::drafts::By;
use super::{Cx, Reply, event};
use crate::edge::planted;
use crate::input::{Caller, Request, UnitName};
use crate::refusal::{Answer, EngineError, Refusal, RefusalKind};

/// The outcome of a request: the transaction commits in both cases, so that a refusal can keep what came with it (F10).
type Outcome = Answer<Answer<Reply>>;

/// How a turn is marked that the person cancelled.
pub(super) const BY_PERSON: &str = "cancelled by you";

/// The longest guidance, in characters.
const GUIDANCE_LIMIT: usize = 10_000;

impl Cx<'_> {
    /// Carries out a request, or refuses it. Only a refusal that has something to keep commits; every other leaves no trace.
    pub(super) fn request(&mut self, caller: &Caller, request: Request) -> Outcome {
        if let Request::Tool { session, call, arguments } = request {
            if caller != &Caller::Session(session) {
                let words = "a tool is called by its own session alone, and this caller is another";
                return Err(Refusal::new(RefusalKind::Forbidden, words).code("refused").into());
            }
            return self.tool(session, call, &arguments).map(Ok);
        }
        if let Request::Explain(unit) = &request {
            return self.why_no_round(unit).map(|because| Ok(Reply::Because(because)));
        }
        self.acting = self.may_write(caller)?;
        if let Request::PostSent(post)
        | Request::PostRetry(post)
        | Request::PostDiscard { post, .. }
        | Request::EditDraft { draft: post, .. }
        | Request::DiscardDraft { draft: post, .. }
        | Request::RetryDraft(post) = &request
        {
            self.not_its_own(self.turn_behind(*post)?)?;
        }
        let reply = match request {
            Request::Resolve { gate, intent, text, draft_text } => {
                return self.resolve_gate(gate, &intent, text.as_deref(), draft_text.as_deref());
            }
            Request::RetryGate(gate) => self.retry_gate(gate),
            Request::ApplyPlan { unit, guidance } => self.apply_plan(&unit, guidance.as_deref()),
            Request::DismissPlan { unit } => self.dismiss_plan(&unit),
            Request::StartTurn { unit, intent, stage, guidance } => {
                check_guidance(guidance.as_deref())?;
                if self.tx.pull(&unit)?.is_none_or(|row| row.detail.is_none()) {
                    return Ok(Ok(Reply::ReadFirst(UnitName::Ref(unit))));
                }
                self.name_unit(&unit)?;
                self.see_consequences(&unit)?;
                self.round_by_hand(&unit, &intent, stage.as_deref(), guidance.as_deref())
            }
            Request::Hold { unit, kind, until } => self.hold(unit.as_ref(), kind, until),
            Request::Unhold { unit, kind } => self.unhold(unit.as_ref(), kind),
            Request::SeeConsequence(gate) => self.look_after(gate),
            Request::CancelTurn(turn) => self.cancel_turn(turn),
            Request::ProposeDraft(new) => self.propose_draft(&new, By::Person).map(Reply::Draft),
            Request::EditDraft { draft, text, gate } => self.edit_draft(draft, &text, gate).map(|_| Reply::Draft(draft)),
            Request::DiscardDraft { draft, reason } => self.discard_draft(draft, reason.as_deref()).map(|()| Reply::Draft(draft)),
            Request::RetryDraft(draft) => self.retry_draft(draft).map(|()| Reply::Draft(draft)),
            Request::Hook { agent, report } => self.hook_reported(&agent, &report),
            Request::CloseSession(session) => self.close_session(session),
            Request::PromptSession(session) => self.prompt_session(session),
            Request::PostSent(post) => self.post_was_sent(post).map(|()| Reply::Post(post)),
            Request::PostRetry(post) => self.retry_post(post).map(|()| Reply::Post(post)),
            Request::PostDiscard { post, reason } => self.discard_post(post, reason.as_deref()).map(|()| Reply::Post(post)),
            Request::Tool { .. } | Request::Explain(_) => Ok(Reply::NotNow),
        };
        reply.map(Ok)
    }

    fn resolve_gate(&mut self, id: GateId, intent: &str, text: Option<&str>, draft_text: Option<&str>) -> Outcome {
        check_guidance(text)?;
        let row = self.gate(id)?;
        let behind = match (row.turn, row.gate.kind) {
            (None, GateKind::Draft) => self.draft_of_gate(id)?.and_then(|(draft, _)| draft.turn),
            (turn, _) => turn,
        };
        self.not_its_own(behind)?;
        let goes_out = match row.gate.kind {
            GateKind::Post => intent == "publish",
            GateKind::Draft => row.gate.intent(intent).is_some_and(|known| known.status == GateStatus::Approved),
            GateKind::Plan | GateKind::Question | GateKind::Proposal | GateKind::Trust | GateKind::Step => false,
        };
        if draft_text.is_some() && !goes_out {
            let words = format!(
                "`draft_text` goes with `publish` of a post gate or the approval of a draft gate, not with `{intent}` of a {} gate",
                row.gate.kind.as_str()
            );
            return Err(Refusal::new(RefusalKind::Invalid, words).about(id).field("draft_text").into());
        }
        if row.gate.status != GateStatus::Open {
            if planted!("late_reject") && row.gate.intent(intent).is_some_and(|i| i.status == GateStatus::Rejected) {
                return self.late_reject(&row).map(Ok);
            }
            let refused = self.resolve(&row, intent, text, &self.acting.clone()).map(|_| Reply::Gate(id));
            return self.keep_late_guidance(&row, intent, text, refused);
        }
        let row = match draft_text {
            Some(text) if row.gate.kind == GateKind::Draft => self.reword_draft(&row, text)?,
            Some(text) => {
                self.reword(&row, text)?;
                row
            }
            None => row,
        };
        self.resolve(&row, intent, text, &self.acting.clone())?;
        // Another text has a gate of its own.
        Ok(Ok(Reply::Gate(row.gate.id)))
    }

    /// The bug of that name: an answer that comes too late takes back what was approved. See [`planted`].
    fn late_reject(&mut self, row: &GateRow) -> Answer<Reply> {
        if let Some(item) = self.tx.item_by_gate(row.gate.id)?.filter(|item| item.state == ItemState::Released) {
            self.leave_plan(&item, "skipped")?;
        }
        for post in self.tx.posts_in(PostState::Queued)? {
            if post.gate == row.gate.id {
                self.drop_post(&post, Some("rejected"))?;
            }
        }
        Ok(Reply::Gate(row.gate.id))
    }

    /// The turn that made a post, or that proposed it as a draft (RES-12).
    fn turn_behind(&self, post: PostId) -> Answer<Option<TurnId>> {
        let made = self.tx.post(post)?.and_then(|post| post.turn);
        Ok(match made {
            Some(turn) => Some(turn),
            None => self.tx.draft(post)?.and_then(|(draft, _)| draft.turn),
        })
    }

    /// A Guide text for a gate that is closed is kept on its unit, offered and never handed over unasked (F10).
    fn keep_late_guidance(&mut self, row: &GateRow, intent: &str, text: Option<&str>, refused: Answer<Reply>) -> Outcome {
        let (EngineError::Refused(mut refusal), Some(unit), Some(text)) = (
            match refused {
                Ok(reply) => return Ok(Ok(reply)),
                Err(fault) => fault,
            },
            &row.gate.unit,
            text.filter(|t| !t.trim().is_empty()),
        ) else {
            return Err(self.asked_anew(row)?);
        };
        let guides = row.gate.kind == GateKind::Plan && row.gate.intent(intent).is_some_and(|i| i.text.is_some());
        // The same words again, after an answer that was lost, are kept once.
        let kept = guides && !self.tx.has_offered_guidance(unit, text)?;
        if kept {
            self.tx.keep_guidance(unit, text, true, self.now)?;
            self.event(NewEvent {
                data: json!({ "text": text, "late": true }),
                ..self.about(row, EventKind::GuidanceKept, self.acting.clone())
            })?;
        }
        if guides {
            refusal.detail.push_str("; your text is kept as a note on the pull request and was given to nobody");
        }
        Ok(Err(refusal.into()))
    }

    fn retry_gate(&mut self, id: GateId) -> Answer<Reply> {
        use wloop_core::consequence::Consequence;
        let row = self.gate(id)?;
        self.not_its_own(row.turn)?;
        match row.consequence {
            Some((Consequence::Failed, _)) => {
                // A round that left the plan meanwhile would be due for ever, and nobody would start it.
                let waits = |item: ItemRow| matches!(item.state, ItemState::Released | ItemState::Blocked);
                if row.gate.kind == GateKind::Plan && !self.tx.item_by_gate(id)?.is_some_and(waits) {
                    let words = format!(
                        "the round of gate `{}` has left the plan; `wloop review` asks for a new one",
                        &id.to_string()[..6]
                    );
                    return Err(Refusal::new(RefusalKind::Conflict, words).about(id).into());
                }
                self.tx.set_consequence(id, Consequence::Failed, Consequence::Due, "tried again", self.now)?;
                self.event(self.about(&row, EventKind::ConsequenceRetried, self.acting.clone()))?;
                Ok(Reply::Gate(id))
            }
            Some((state, _)) => {
                let words = format!("what gate `{}` released is {state}; only what failed is tried again", &id.to_string()[..6]);
                Err(Refusal::new(RefusalKind::Conflict, words).about(id).into())
            }
            None => {
                let words = format!("gate `{}` released nothing", &id.to_string()[..6]);
                Err(Refusal::new(RefusalKind::Conflict, words).about(id).into())
            }
        }
    }

    /// The person has looked after what failed or cannot be told, and does not want to be told of it again (CONS-11).
    fn look_after(&mut self, id: GateId) -> Answer<Reply> {
        let row = self.gate(id)?;
        if self.see_consequence(&row)? {
            return Ok(Reply::Gate(id));
        }
        let short = &id.to_string()[..6];
        let words = match row.consequence {
            Some((wloop_core::consequence::Consequence::Failed | wloop_core::consequence::Consequence::Unknown, _)) => {
                format!("you looked after gate `{short}` already")
            }
            Some((state, _)) => format!("what gate `{short}` released is {state}; there is nothing to look after"),
            None => format!("gate `{short}` released nothing"),
        };
        Err(Refusal::new(RefusalKind::Conflict, words).about(id).into())
    }

    /// Runs every waiting round of a unit, in plan order, or what the cap holds where none waits (WIN-31); with guidance and nothing waiting, the text is kept (WIN-18, WIN-32).
    fn apply_plan(&mut self, unit: &UnitRef, guidance: Option<&str>) -> Answer<Reply> {
        check_guidance(guidance)?;
        let label = self.label(unit)?;
        let mut gates = self.open_plan_gates(unit)?;
        // Guidance starts nothing that the cap holds: it is kept for the next round (WIN-32).
        if gates.is_empty() && guidance.is_none() {
            gates = self.capped_gates(unit)?;
        }
        if gates.is_empty() {
            return match guidance {
                Some(text) => {
                    self.tx.keep_guidance(unit, text, false, self.now)?;
                    self.event(NewEvent {
                        unit: Some(unit.clone()),
                        data: json!({ "text": text }),
                        actor: self.acting.clone(),
                        ..event(EventKind::GuidanceKept, "")
                    })?;
                    Ok(Reply::Plan { gates: Vec::new(), guidance_kept: true })
                }
                None => Err(self.nothing_waits(unit, &label)?),
            };
        }
        self.see_consequences(unit)?;
        let mut resolved = Vec::new();
        for (n, gate) in gates.iter().enumerate() {
            // One text guides one round: the first.
            match guidance.filter(|_| n == 0) {
                Some(text) => self.resolve(gate, "guide", Some(text), &self.acting.clone())?,
                None => self.resolve(gate, "run_now", None, &self.acting.clone())?,
            };
            resolved.push(gate.gate.id);
        }
        Ok(Reply::Plan { gates: resolved, guidance_kept: false })
    }

    fn dismiss_plan(&mut self, unit: &UnitRef) -> Answer<Reply> {
        let label = self.label(unit)?;
        let mut gates = self.open_plan_gates(unit)?;
        gates.extend(self.capped_gates(unit)?);
        let mut resolved = Vec::new();
        // A released round that has not become a turn, because something it needs is missing, can be taken back.
        for item in self.tx.pending_items_of(unit)? {
            if matches!(item.state, ItemState::Released | ItemState::Blocked) {
                self.see_consequences(unit)?;
                self.leave_plan(&item, "you took it back")?;
                self.tx.put_handled(&item.unit, &item.workflow, &item.key, "skipped", self.now)?;
                resolved.push(item.gate);
            }
        }
        if gates.is_empty() && resolved.is_empty() {
            return Err(self.nothing_waits(unit, &label)?);
        }
        for gate in gates {
            self.resolve(&gate, "skip", None, &self.acting.clone())?;
            resolved.push(gate.gate.id);
        }
        Ok(Reply::Plan { gates: resolved, guidance_kept: false })
    }

    fn open_plan_gates(&self, unit: &UnitRef) -> Answer<Vec<GateRow>> {
        let mut gates = Vec::new();
        for item in self.tx.pending_items_of(unit)? {
            if matches!(item.state, ItemState::Waiting | ItemState::CountingDown) {
                gates.push(self.gate(item.gate)?);
            }
        }
        Ok(gates)
    }

    fn capped_gates(&self, unit: &UnitRef) -> Answer<Vec<GateRow>> {
        let items = self.tx.pending_items_of(unit)?;
        items.iter().filter(|item| item.state == ItemState::Capped).map(|item| self.gate(item.gate)).collect()
    }

    /// Why there is no round to decide on, with what there is instead.
    fn nothing_waits(&self, unit: &UnitRef, label: &str) -> Answer<EngineError> {
        let mut refusal =
            Refusal::new(RefusalKind::Conflict, format!("no round waits on {label}; `wloop review {label}` starts one"));
        if let Some(item) = self.tx.pending_items_of(unit)?.into_iter().next() {
            refusal =
                Refusal::new(RefusalKind::Conflict, format!("the round on {label} is already {}: {}", item.state, item.reason))
                    .about(item.gate);
        } else if let Some(turn) = self.tx.open_turn(unit)? {
            let asks = self.open_gate_of(turn.id)?;
            let words = match asks {
                Some(gate) => {
                    format!(
                        "the round on {label} has stopped and asks you; `wloop gates show {}` shows what",
                        &gate.to_string()[..6]
                    )
                }
                None => format!(
                    "turn {} of {label} is {}; `wloop turns show {}` shows it",
                    turn.seq,
                    turn.state,
                    &turn.id.to_string()[..6]
                ),
            };
            refusal = Refusal::new(RefusalKind::Conflict, words).about(asks.unwrap_or(turn.gate));
        }
        Ok(refusal.into())
    }

    pub(super) fn label(&self, unit: &UnitRef) -> Answer<String> {
        match self.tx.unit(unit)? {
            Some(row) => Ok(row.label),
            None => {
                let words = format!("wloop does not know `{unit}`; `wloop plan` lists what it watches");
                Err(Refusal::new(RefusalKind::NotFound, words).field("unit").into())
            }
        }
    }

    /// A pull request that the person names stays watched while it is open (GH-SYNC-01 h).
    fn name_unit(&mut self, unit: &UnitRef) -> Answer<()> {
        if let Some(mut row) = self.tx.pull(unit)?
            && !row.summary.reasons.contains(&Reason::Asked)
            && row.detail.as_ref().is_some_and(wloop_core::github::Detail::is_open)
        {
            row.summary.reasons.push(Reason::Asked);
            row.summary.reasons.sort_unstable();
            row.watched = true;
            self.tx.put_pull(&row)?;
        }
        Ok(())
    }

    fn cancel_turn(&mut self, id: TurnId) -> Answer<Reply> {
        let turn = self.a_turn(id)?;
        if !turn.state.is_running() {
            let words = match self.open_gate_of(id)? {
                Some(gate) => {
                    format!("turn `{}` has stopped and waits for you at gate `{}`", &id.to_string()[..6], &gate.to_string()[..6])
                }
                None => format!("turn `{}` is {} already", &id.to_string()[..6], turn.state),
            };
            return Err(Refusal::new(RefusalKind::Conflict, words).into());
        }
        self.tx.set_turn_cancel(id, BY_PERSON)?;
        // What it asked to post and has not gone yet does not go any more (RUN-13).
        let posts = self.tx.posts(&PostFilter { turn: Some(id), state: Some(PostState::Queued), ..PostFilter::default() })?;
        for post in posts {
            self.drop_post(&post, Some("its turn was cancelled"))?;
        }
        // What it drafted waits for the person; what a rule has queued already fails before it is sent.
        for (_, post) in self.tx.drafts(DraftFilter::OfTurn(id))? {
            if post.state == PostState::Held {
                self.tx.set_gate_deadline(post.gate, None)?;
            }
        }
        Ok(Reply::Turn(id))
    }

    /// The gate that a turn stopped at.
    pub(super) fn open_gate_of(&self, turn: TurnId) -> Answer<Option<GateId>> {
        let open = self.tx.gates(&wloop_store::GateFilter::open())?;
        Ok(open.into_iter().find(|g| g.turn == Some(turn)).map(|g| g.gate.id))
    }
}

fn check_guidance(text: Option<&str>) -> Result<(), EngineError> {
    match text.map(|t| t.chars().count()) {
        Some(length) if length > GUIDANCE_LIMIT => {
            let words = format!("the text has {length} characters; at most {GUIDANCE_LIMIT} are taken");
            Err(Refusal::new(RefusalKind::Invalid, words).field("text").into())
        }
        _ => Ok(()),
    }
}
