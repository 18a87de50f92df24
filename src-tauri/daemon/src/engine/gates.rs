//! Opening, resolving and superseding gates, and the captured tasks that hold them.

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, Closing, Gate, GateEvent, GateKind, GateRefusal, GateStatus, Intent};
use wloop_core::github::material::visible;
use wloop_core::id::{GateId, TaskId, TurnId, UnitRef};
use wloop_core::plan::ItemEvent;
use wloop_core::rules::config::Late;
use wloop_core::rules::policy::{Decision, Mode};
use wloop_core::rules::profile::GateEntry;
use wloop_core::window;
use wloop_store::rows::{GateRow, ItemRow, NewEvent, TaskRow};

use super::{Cx, event};
use crate::edge::crash_point;
use crate::refusal::{Answer, EngineError, Refusal, RefusalKind};

/// How a gate opens.
pub(super) enum Policy<'a> {
    /// As the policy decided.
    Decided(&'a Decision),
    /// It waits for the person, whatever a table says, with the reason.
    Waits(&'a str),
    /// The daily cap holds it: it waits for the person, whatever a table says, and takes no text, since guidance is kept for the
    /// next round (WIN-28, WIN-32).
    Capped(&'a str),
    /// Written already approved by the person, who asked for what it releases (G19).
    ByPerson(&'a Actor),
}

/// A gate to open.
pub(super) struct NewGate<'a> {
    pub(super) kind: GateKind,
    pub(super) unit: &'a UnitRef,
    pub(super) words: String,
    pub(super) policy: Policy<'a>,
    pub(super) turn: Option<TurnId>,
}

/// The longest title a task takes (TASK-10).
const TITLE_LIMIT: usize = 300;

impl Cx<'_> {
    /// Opens a gate of that kind on the unit's task, or writes it already closed where the policy says so (G1, G2, G19).
    pub(super) fn open_gate(&mut self, new: NewGate<'_>) -> Answer<GateRow> {
        self.open_gate_on(new, None)
    }

    /// The same on a task that is named, which is open and wins over every other (GATE-28).
    pub(super) fn open_gate_on(&mut self, new: NewGate<'_>, named: Option<TaskId>) -> Answer<GateRow> {
        let entry = self.rules.profile.first_gate(new.kind);
        let words = if new.words.trim().is_empty() { entry.label.clone() } else { new.words };
        let now = self.now;
        let (deadline, closing, policy, explanation) = match &new.policy {
            Policy::Waits(why) | Policy::Capped(why) => (None, None, format!("wait: {why}"), json!([{ "decided": *why }])),
            Policy::ByPerson(actor) => {
                let taken = entry.default.clone().or_else(|| approving(entry)).unwrap_or_else(|| "run_now".to_owned());
                let closing = (Some(taken), (*actor).clone());
                (None, Some(closing), "run: asked for by hand".to_owned(), json!([{ "decided": "asked for by hand" }]))
            }
            Policy::Decided(decision) => {
                let by = decision.rule_name();
                // A gate that has nothing for a rule to take waits for the person, whatever the rule says.
                let rule = |intent: &str| Some((Some(intent.to_owned()), Actor::Rule(by.clone())));
                let (deadline, closing) = match (decision.mode, &entry.default) {
                    (Mode::Delay(length), Some(_)) => (Some(window::deadline(now, length)), None),
                    (Mode::Run | Mode::Send, Some(default)) => (None, rule(default)),
                    (Mode::DryRun, _) if new.kind == GateKind::Draft => {
                        (None, refusing(&entry.intents).and_then(|intent| rule(&intent.name)))
                    }
                    (Mode::Wait | Mode::DryRun, _) | (Mode::Delay(_) | Mode::Run | Mode::Send, None) => (None, None),
                };
                let mode = match decision.mode {
                    Mode::Delay(length) => format!("delay {length:#}"),
                    Mode::Run | Mode::Send | Mode::Wait | Mode::DryRun => decision.mode.as_str().to_owned(),
                };
                let policy = match &decision.floor {
                    Some(floor) => format!("{mode}: {floor}"),
                    None => format!("{mode} by {by}"),
                };
                (deadline, closing, policy, decision.explanation())
            }
        };
        let task = match named {
            Some(task) => Some(task),
            None => self.task_for(new.kind, new.unit, &words, closing.is_some())?,
        };
        let mut gate = Gate {
            id: GateId::draw(self.ids),
            kind: new.kind,
            name: entry.name.clone(),
            status: GateStatus::Open,
            unit: Some(new.unit.clone()),
            task,
            words,
            intents: match new.policy {
                Policy::Capped(_) => entry.intents.iter().filter(|intent| intent.text.is_none()).cloned().collect(),
                Policy::Decided(_) | Policy::Waits(_) | Policy::ByPerson(_) => entry.intents.clone(),
            },
            default_intent: entry.default.clone(),
            opened_at: now,
            deadline,
            closed: None,
        };
        let mut consequence = None;
        if let Some((intent, actor)) = closing {
            let taken = intent.as_deref().and_then(|name| entry.intents.iter().find(|intent| intent.name == name));
            gate.status = taken.map_or(GateStatus::Approved, |intent| intent.status);
            gate.closed = Some(Closing { intent, actor, text: None, at: now, reason: String::new() });
            consequence = Some((Consequence::Due, now));
        }
        let row = GateRow {
            ends_task: entry.ends_task.iter().map(|(status, category)| (*status, category.as_str().to_owned())).collect(),
            policy,
            explanation,
            turn: new.turn,
            consequence,
            consequence_note: String::new(),
            gate,
        };
        self.tx.insert_gate(&row)?;
        crash_point!("K0");
        self.event(NewEvent {
            data: json!({ "words": row.gate.words, "policy": row.policy, "explanation": row.explanation }),
            ..self.about(&row, EventKind::GateOpened, Actor::Daemon)
        })?;
        if row.gate.closed.is_some() {
            self.tell_decision(&row)?;
        }
        Ok(row)
    }

    /// An event about a gate and what it stands on.
    pub(super) fn about(&self, row: &GateRow, kind: EventKind, actor: Actor) -> NewEvent {
        NewEvent {
            unit: row.gate.unit.clone(),
            task: row.gate.task,
            gate: Some(row.gate.id),
            turn: row.turn,
            actor,
            ..event(kind, row.gate.kind.as_str())
        }
    }

    fn tell_decision(&self, row: &GateRow) -> Answer<()> {
        let Some(closing) = &row.gate.closed else { return Ok(()) };
        let (kind, data) = match &closing.intent {
            Some(intent) => {
                let late = row.gate.deadline.map(|deadline| window::lateness(deadline, closing.at).as_secs());
                let late = late.filter(|s| *s > 1 && closing.actor == Actor::Window);
                (EventKind::GateDecided, json!({ "intent": intent, "text": closing.text, "late_seconds": late }))
            }
            None => (EventKind::GateSuperseded, json!({ "reason": closing.reason })),
        };
        self.event(NewEvent { data, ..self.about(row, kind, closing.actor.clone()) })
    }

    /// The task a gate of that unit stands on (GATE-28): the oldest open task that holds the unit, else a new captured one. A gate
    /// that is written already closed captures none of its own.
    fn task_for(&mut self, kind: GateKind, unit: &UnitRef, words: &str, closed: bool) -> Answer<Option<TaskId>> {
        if let Some(task) = self.tx.open_task_of(unit)? {
            return Ok(Some(task.id));
        }
        if closed {
            return Ok(None);
        }
        let mut id = TaskId::draw(self.ids);
        // The first six digits tell tasks apart (TASK-02).
        while !self.tx.ids_with_prefix(wloop_store::IdTable::Task, &id.to_string()[..6])?.is_empty() {
            id = TaskId::draw(self.ids);
        }
        let title: String = visible(words).lines().next().unwrap_or("decide").chars().take(TITLE_LIMIT).collect();
        let row = TaskRow {
            id,
            origin: "loop".to_owned(),
            kind: if kind == GateKind::Draft { "draft" } else { "capture" }.to_owned(),
            title: if title.trim().is_empty() { "decide".to_owned() } else { title },
            category: "inbox".to_owned(),
            gate_holder: true,
            created_at: self.now,
            ended_at: None,
        };
        self.tx.insert_task(&row, &[(unit.clone(), "captured")])?;
        self.event(NewEvent {
            unit: Some(unit.clone()),
            task: Some(id),
            data: json!({ "title": row.title }),
            ..event(EventKind::TaskCreated, "loop")
        })?;
        Ok(Some(id))
    }

    /// Ends the captured task of a gate that closed, when it holds no open gate any more (GATE-33 to GATE-36).
    pub(super) fn end_task_of(&mut self, row: &GateRow, status: GateStatus) -> Answer<()> {
        let Some(task) = row.gate.task else { return Ok(()) };
        let Some(holder) = self.tx.task(task)? else { return Ok(()) };
        if !holder.gate_holder || holder.ended_at.is_some() || self.tx.open_gates_of_task(task)? > 0 {
            return Ok(());
        }
        let Some(category) = row.ends_task.get(&status) else { return Ok(()) };
        if self.tx.end_task(task, category, self.now)? {
            self.event(NewEvent {
                unit: row.gate.unit.clone(),
                task: Some(task),
                gate: Some(row.gate.id),
                data: json!({ "state": category }),
                ..event(EventKind::TaskEnded, "gates")
            })?;
        }
        Ok(())
    }

    /// Closes a gate by an intent and writes what follows from it in the ledger; what follows outside becomes due.
    pub(super) fn resolve(&mut self, row: &GateRow, intent: &str, text: Option<&str>, actor: &Actor) -> Answer<GateRow> {
        self.may_resolve(row, actor)?;
        let event = GateEvent::Resolve { intent, text, actor };
        let gate = row.gate.close(&event, self.now).map_err(|refusal| self.explain(row, &refusal))?;
        self.tx.close_gate(row.gate.id, &gate)?;
        let row = GateRow { gate, consequence: Some((Consequence::Due, self.now)), ..row.clone() };
        self.tell_decision(&row)?;
        match row.gate.kind {
            GateKind::Plan => self.plan_gate_closed(&row)?,
            GateKind::Post => self.post_gate_closed(&row)?,
            GateKind::Trust => self.trust_gate_closed(&row)?,
            GateKind::Draft => self.draft_gate_closed(&row)?,
            // Nothing opens one of these yet; a resolution of one would stay due and visible.
            GateKind::Question | GateKind::Proposal | GateKind::Step => {}
        }
        Ok(row)
    }

    /// Refuses the session whose turn proposed the draft of a gate, also where the person acts through it (RES-12, API-04).
    fn may_resolve(&self, row: &GateRow, actor: &Actor) -> Answer<()> {
        let (GateKind::Draft, Actor::Person { via: Some(via) }) = (row.gate.kind, actor) else { return Ok(()) };
        let proposed_by = self.draft_of_gate(row.gate.id)?.and_then(|(draft, _)| draft.session);
        if wloop_core::draft::may_resolve(proposed_by, Some(*via)) {
            return Ok(());
        }
        let words = "the session that proposed a draft does not resolve its gate; the person does, elsewhere";
        Err(Refusal::new(RefusalKind::Forbidden, words).about(row.gate.id).into())
    }

    /// The words for a gate that did not close.
    fn explain(&self, row: &GateRow, refusal: &GateRefusal) -> EngineError {
        let short = &row.gate.id.to_string()[..6];
        let (kind, detail, field) = match refusal {
            GateRefusal::NotOpen(_) => {
                (RefusalKind::Conflict, format!("gate `{short}` is already resolved: {}", how_it_ended(&row.gate)), None)
            }
            GateRefusal::UnknownIntent { .. } => (RefusalKind::Invalid, refusal.to_string(), Some("intent")),
            GateRefusal::TextNotTaken(_) | GateRefusal::TextMissing(_) => {
                (RefusalKind::Invalid, refusal.to_string(), Some("text"))
            }
            GateRefusal::OnlyPerson(_) | GateRefusal::NotApproving(_) | GateRefusal::MayNot => {
                (RefusalKind::Forbidden, refusal.to_string(), None)
            }
        };
        let mut answer = Refusal::new(kind, detail).about(row.gate.id);
        answer.field = field;
        answer.into()
    }

    /// A gate whose subject is gone closes by itself (G12).
    pub(super) fn supersede(&mut self, row: &GateRow, reason: &str, actor: &Actor) -> Answer<()> {
        if row.gate.status != GateStatus::Open {
            return Ok(());
        }
        let gate = row.gate.close(&GateEvent::Supersede { reason, actor }, self.now).map_err(|r| self.explain(row, &r))?;
        self.tx.close_gate(row.gate.id, &gate)?;
        let row = GateRow { gate, ..row.clone() };
        self.tell_decision(&row)?;
        self.end_task_of(&row, GateStatus::Superseded)
    }

    /// Marks a gate's consequence as run, with a word about it (C2, C5); one that ran, failed or cannot be told stays so.
    pub(super) fn consequence_ran(&mut self, row: &GateRow, note: &str) -> Answer<()> {
        let from = match self.gate(row.gate.id)?.consequence {
            Some((from @ (Consequence::Due | Consequence::Started), _)) => from,
            Some((Consequence::Ran | Consequence::Failed | Consequence::Unknown, _)) | None => return Ok(()),
        };
        self.tx.set_consequence(row.gate.id, from, Consequence::Ran, note, self.now)?;
        self.event(NewEvent { data: json!({ "note": note }), ..self.about(row, EventKind::ConsequenceRan, Actor::Daemon) })
    }

    /// A gate that is there.
    pub(super) fn gate(&self, id: GateId) -> Answer<GateRow> {
        let found = self.tx.gate(id)?;
        found.ok_or_else(|| {
            let short = &id.to_string()[..6];
            Refusal::new(RefusalKind::NotFound, format!("there is no gate `{short}`; `wloop gates` lists them")).into()
        })
    }

    /// A window that is over takes the gate's default intent (G6).
    pub(super) fn window_ends(&mut self, id: GateId) -> Answer<()> {
        let row = self.gate(id)?;
        let (Some(intent), GateStatus::Open) = (row.gate.default_intent.clone(), row.gate.status) else {
            self.tx.set_gate_deadline(id, None)?;
            return Ok(());
        };
        if let Some(item) = self.tx.item_by_gate(id)? {
            match self.window_of(&item)? {
                Window::Holds if self.announced_again(&row, &item)? => return Ok(()),
                Window::Holds => {}
                Window::Unknown => {
                    tracing::warn!(workflow = item.workflow, "the window of a workflow that does not load waits for the person");
                    self.tx.set_gate_deadline(id, None)?;
                    return Ok(());
                }
                Window::Gone(why) => {
                    self.leave_plan(&item, why)?;
                    return self.plan_unit(&item.unit);
                }
            }
        }
        if let (GateKind::Draft, Some(unit)) = (row.gate.kind, &row.gate.unit)
            && self.is_known_too_little(unit)?
        {
            // It is read first, and the window ends right after that.
            self.read_soon(unit)?;
            self.tx.set_gate_deadline(id, Some(super::observe::after(self.now, window::BOUND)))?;
            return Ok(());
        }
        if row.gate.kind == GateKind::Draft
            && let Some(why) = self.draft_window_closed(&row)?
        {
            self.tx.set_gate_deadline(id, None)?;
            return self
                .event(NewEvent { data: json!({ "why": why }), ..self.about(&row, EventKind::RoundDeferred, Actor::Daemon) });
        }
        self.resolve(&row, &intent, None, &Actor::Window)?;
        Ok(())
    }

    /// A window that ended while nobody could see it starts again, with its full length, where the configuration wants that (F11).
    fn announced_again(&mut self, row: &GateRow, item: &ItemRow) -> Answer<bool> {
        let Some(deadline) = row.gate.deadline else { return Ok(false) };
        let late = window::lateness(deadline, self.now);
        if self.rules.config.windows.late == Late::Run || late <= window::BOUND {
            return Ok(false);
        }
        let workflow = self.rules.profile.workflows.get(&item.workflow);
        let length = match (workflow, self.seen(&item.unit)?) {
            (Some(workflow), Some(seen)) => match self.decide_plan(workflow, &seen).mode {
                Mode::Delay(length) => length,
                Mode::Run | Mode::Send | Mode::Wait | Mode::DryRun => return Ok(false),
            },
            (None, _) | (_, None) => deadline.duration_since(row.gate.opened_at),
        };
        self.tx.set_gate_deadline(row.gate.id, Some(window::deadline(self.now, length)))?;
        let why = format!("its window ended {} ago and starts again", window::words(late));
        self.event(NewEvent {
            unit: Some(item.unit.clone()),
            gate: Some(row.gate.id),
            data: json!({ "why": why, "late_seconds": late.as_secs() }),
            ..event(EventKind::RoundDeferred, item.workflow.clone())
        })?;
        Ok(true)
    }

    /// Whether the rules in force still release by themselves what an item's window was opened for.
    fn window_of(&self, item: &ItemRow) -> Answer<Window> {
        let Some(workflow) = self.rules.profile.workflows.get(&item.workflow) else { return Ok(Window::Unknown) };
        if self.is_paused(&item.unit)? {
            return Ok(Window::Gone(super::holds::PAUSED));
        }
        let Some(seen) = self.seen(&item.unit)? else { return Ok(Window::Holds) };
        if !self.acts_on(workflow, &seen) {
            return Ok(Window::Gone("its workflow does not act any more"));
        }
        let decision = self.decide_plan(workflow, &seen);
        Ok(if decision.mode.releases() { Window::Holds } else { Window::Gone("its approval rule changed") })
    }

    /// What a plan gate's resolution does to its item; a release leaves the consequence due until the turn row is written.
    fn plan_gate_closed(&mut self, row: &GateRow) -> Answer<()> {
        let Some(item) = self.tx.item_by_gate(row.gate.id)? else { return Ok(()) };
        let text = row.gate.closed.as_ref().and_then(|c| c.text.clone());
        match row.gate.status {
            GateStatus::Approved => {
                if let Some(text) = text {
                    self.tx.keep_guidance(&item.unit, &text, false, self.now)?;
                }
                self.step_item(&item, ItemEvent::Release, None)?;
                // What the cap held runs as if the person had started it (WIN-29).
                if item.cap.is_some() {
                    self.tx.set_item_by_hand(item.id)?;
                }
            }
            GateStatus::Rejected | GateStatus::Dismissed | GateStatus::Answered => {
                self.step_item(&item, ItemEvent::Skip, Some("skipped"))?;
                self.tx.put_handled(&item.unit, &item.workflow, &item.key, "skipped", self.now)?;
                self.consequence_ran(row, "skipped")?;
                self.end_task_of(row, row.gate.status)?;
            }
            GateStatus::Open | GateStatus::Superseded => {}
        }
        Ok(())
    }
}

/// What became of a window's rule by its end.
enum Window {
    /// It still releases.
    Holds,
    /// It cannot be told: its workflow does not load.
    Unknown,
    /// It does not, with the reason.
    Gone(&'static str),
}

/// An intent that approves without text, for a gate that declares no default.
fn approving(entry: &GateEntry) -> Option<String> {
    entry.intents.iter().find(|i| i.status == GateStatus::Approved && i.text.is_none()).map(|i| i.name.clone())
}

/// An intent that refuses without text.
pub(super) fn refusing(intents: &[Intent]) -> Option<&Intent> {
    intents.iter().find(|i| matches!(i.status, GateStatus::Rejected | GateStatus::Dismissed) && i.text.is_none())
}

/// How a gate ended, in one line: what, when, by whom (F03).
pub(crate) fn how_it_ended(gate: &Gate) -> String {
    let Some(closing) = &gate.closed else { return "it is open".to_owned() };
    let who = match &closing.actor {
        Actor::Person { via: None } => "you".to_owned(),
        Actor::Person { via: Some(session) } => format!("you, through session {session}"),
        Actor::Rule(rule) => format!("the rule {rule}"),
        Actor::Window => "its window".to_owned(),
        Actor::Workflow(name) => format!("the workflow {name}"),
        Actor::Session(session) => format!("session {session}"),
        Actor::Daemon => "the daemon".to_owned(),
        Actor::Provider(name) => name.clone(),
    };
    let what = match &closing.intent {
        Some(intent) => format!("{} by `{intent}`", gate.status.as_str()),
        None => format!("superseded ({})", closing.reason),
    };
    format!("{what} at {:.0} by {who}", closing.at)
}
