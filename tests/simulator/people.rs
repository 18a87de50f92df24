//! The person, the agents, and those who may not.

use jiff::SignedDuration;
use serde_json::{Value, json};
use wloop_agents::tools::check_arguments;
use wloop_core::draft::Delivery;
use wloop_core::gate::{GateKind, GateStatus};
use wloop_core::id::{SessionId, UnitRef};
use wloop_core::post::PostState;
use wloop_core::stops::HoldKind;
use wloop_daemon::engine::Reply;
use wloop_daemon::input::{Caller, Input, NewDraft, Observation, Request, UnitName};
use wloop_daemon::refusal::{Answer, EngineError, RefusalKind};
use wloop_store::DraftFilter;
use wloop_store::rows::GateRow;

use crate::life::{Flying, Held, Life, hold, read};
use crate::outside::unit_of;
use crate::script::Dice;

impl Life {
    fn units(&self) -> Vec<UnitRef> {
        self.github.pulls.iter().map(unit_of).collect()
    }

    /// A request of the person's, followed as the server follows it.
    pub(crate) fn ask(&mut self, request: Request, dice: &mut Dice) -> Held<Answer<Reply>> {
        let before = if let Request::Resolve { gate, .. } = &request {
            read(self.reads()?.gate(*gate))?.map(|row| row.gate.status)
        } else {
            None
        };
        if let Request::PostSent(post) = &request {
            self.book.said_sent.insert(*post);
        }
        let input = Input::Request { caller: Caller::Person, request: request.clone() };
        let mut answer = self.hand_in(input.clone())?;
        if let Ok(Reply::ReadFirst(UnitName::Ref(unit))) = &answer {
            let wall = self.wall;
            if let Ok(detail) = self.github.detail(unit, dice, wall) {
                self.hand_in(Input::Observed(Observation::Asked(Box::new(detail))))?.ok();
                answer = self.hand_in(input)?;
            }
        }
        if let Some(before) = before {
            let open = before == GateStatus::Open;
            hold!(open || answer.is_err(), "of two resolutions both won: {request:?} of a gate that was {}", before.as_str());
        }
        Ok(answer)
    }

    /// What the person may say to a gate.
    fn answer_to(row: &GateRow, dice: &mut Dice) -> Option<Request> {
        let intent = dice.pick(&row.gate.intents)?;
        let text = intent.text.as_ref().map(|_| "Mind the gulls".to_owned());
        let own = row.gate.kind == GateKind::Post && intent.name == "publish" && dice.chance(3);
        let draft_text = own.then(|| "In my own words".to_owned());
        Some(Request::Resolve { gate: row.gate.id, intent: intent.name, text, draft_text })
    }

    pub(crate) fn person(&mut self, dice: &mut Dice) -> Held {
        let guidance = dice.chance(3).then(|| format!("Mind it {}", dice.roll(9)));
        let unit = dice.pick(&self.units());
        let (Some(unit), what) = (unit, dice.roll(28)) else { return Ok(()) };
        let of_posts = |state: PostState, life: &Self| life.book.posts_in(state);
        let request = match what {
            0..=9 => {
                let open = self.book.open_gates();
                // Sometimes an old list is looked at, whose gates are closed by now.
                let row = if dice.chance(5) { self.book.any_gate(dice) } else { dice.pick(&open) };
                row.and_then(|row| Self::answer_to(&row, dice))
            }
            10 => Some(Request::ApplyPlan { unit, guidance }),
            11 => Some(Request::DismissPlan { unit }),
            12 | 13 => Some(Request::StartTurn { unit, intent: "review".to_owned(), stage: None, guidance }),
            14 => self.book.any_turn(dice, true).map(|turn| Request::CancelTurn(turn.id)),
            15 => self.book.any_gate(dice).map(|row| Request::RetryGate(row.gate.id)),
            16 => {
                self.hand_in(Input::Observed(Observation::TryAgain))?.ok();
                return Ok(());
            }
            17 | 18 => {
                let failed = of_posts(PostState::Failed, self);
                dice.pick(&failed).map(|post| match dice.roll(4) {
                    0 => Request::PostSent(post),
                    1 => Request::PostDiscard { post, reason: dice.chance(2).then(|| "not needed".to_owned()) },
                    _ => Request::PostRetry(post),
                })
            }
            20 | 21 => {
                let until = dice.chance(2).then(|| self.wall + SignedDuration::from_secs(200));
                let kind = if dice.chance(3) { HoldKind::Mute } else { HoldKind::Pause };
                Some(Request::Hold { unit: (!dice.chance(3)).then_some(unit), kind, until })
            }
            22..=24 => {
                let held = read(self.reads()?.holds())?;
                dice.pick(&held).map(|hold| Request::Unhold { unit: hold.unit, kind: hold.kind })
            }
            25 => self.book.any_gate(dice).map(|row| Request::SeeConsequence(row.gate.id)),
            26 | 27 => self.of_drafts(unit, dice)?,
            _ => {
                let queued = of_posts(PostState::Queued, self);
                dice.pick(&queued).map(|post| Request::PostDiscard { post, reason: None })
            }
        };
        let Some(request) = request else {
            // With nothing to decide, the others go on, so that there will be.
            let what = self.github.act(dice);
            self.note(|| what);
            return Ok(());
        };
        // An answer may be long on its way, or come twice.
        match dice.roll(8) {
            0 => {
                self.letters.push(request);
                Ok(())
            }
            1 => {
                self.letters.push(request.clone());
                self.ask(request, dice)?.ok();
                Ok(())
            }
            _ => {
                self.ask(request, dice)?.ok();
                Ok(())
            }
        }
    }

    /// A draft of the person's own, or what becomes of one that is there.
    fn of_drafts(&self, unit: UnitRef, dice: &mut Dice) -> Held<Option<Request>> {
        let text = format!("A word {}", dice.roll(5));
        let states = [PostState::Held, PostState::Held, PostState::Queued, PostState::Failed];
        let state = dice.pick(&states).unwrap_or(PostState::Held);
        let drafts = read(self.reads()?.drafts(DraftFilter::In(state)))?;
        let known = dice.pick(&drafts).filter(|_| !dice.chance(2));
        Ok(Some(match known {
            Some((draft, post)) => match dice.roll(4) {
                0 | 1 => Request::EditDraft { draft: draft.id, text, gate: dice.chance(2).then_some(post.gate) },
                2 => Request::DiscardDraft { draft: draft.id, reason: dice.chance(2).then(|| "no more".to_owned()) },
                _ => Request::RetryDraft(draft.id),
            },
            None => Request::ProposeDraft(Box::new(NewDraft {
                unit,
                text,
                purpose: String::new(),
                delivery: Delivery::Comment,
                broadcast: false,
                effects: Vec::new(),
                task: None,
                key: dice.chance(3).then(|| format!("key-{}", dice.roll(4))),
            })),
        }))
    }

    /// An answer that was on its way arrives.
    pub(crate) fn letter(&mut self, dice: &mut Dice) -> Held {
        if self.letters.is_empty() {
            return self.person(dice);
        }
        let letter = self.letters.remove(dice.roll(self.letters.len()));
        self.ask(letter, dice)?.ok();
        Ok(())
    }

    fn call(&mut self, session: SessionId, name: &str, arguments: Value) -> Held<Answer<Reply>> {
        let call = check_arguments(name, &arguments);
        hold!(call.is_ok(), "the arguments of a script are wrong: {name} {arguments}");
        let Ok(call) = call else { return Ok(Ok(Reply::Nothing)) };
        let request = Request::Tool { session, call, arguments };
        self.hand_in(Input::Request { caller: Caller::Session(session), request })
    }

    /// An agent calls a tool: one that works, or one whose turn has ended.
    pub(crate) fn agent(&mut self, dice: &mut Dice) -> Held {
        let at_work = |f: &Flying| if let Flying::Turn(_, session, 2) = f { Some(*session) } else { None };
        let working: Vec<SessionId> = self.flying.iter().filter_map(at_work).collect();
        let late = dice.chance(10);
        let ended = self.book.any_turn(dice, false).filter(|turn| !turn.state.is_open());
        let session = if late { ended.map(|turn| turn.session) } else { dice.pick(&working) };
        // With no agent at work, the daemon goes on, so that there will be one.
        let Some(session) = session else { return if late { Ok(()) } else { self.settle(dice, 1) } };
        let text = format!("Fine {}", dice.roll(3));
        let event = ["COMMENT", "APPROVE", "REQUEST_CHANGES"].get(dice.roll(3)).copied().unwrap_or("COMMENT");
        let line = if dice.chance(2) { 2 } else { 99 };
        let inline = json!([{ "path": "src/gulls.rs", "line": line, "body": "Here" }]);
        let comments = if dice.chance(4) { inline } else { json!([]) };
        let unit_thread = 70 + 1 + dice.roll(5);
        let (name, arguments) = match dice.roll(12) {
            0 => ("task_read", json!({})),
            1..=5 => ("github_post", json!({ "shape": "review", "event": event, "text": text, "comments": comments })),
            6 => ("github_post", json!({ "shape": "review", "event": event, "text": text, "key": "k" })),
            7 => ("github_post", json!({ "shape": "reply", "text": text, "in_reply_to": unit_thread })),
            8 => ("record", json!({ "verdict": "published", "summary": "It counts." })),
            9 if dice.chance(3) => ("record", json!({ "verdict": "nothing", "summary": "It counts." })),
            _ => (
                "record",
                json!({ "verdict": "asked", "summary": "Unsure", "condition": "unsure",
                    "draft": { "event": event, "body": text, "comments": [] } }),
            ),
        };
        let before = self.book.last;
        let open = read(self.reads()?.open_turn_of_session(session))?.is_some();
        let answer = self.call(session, name, arguments.clone())?;
        hold!(open || self.book.last == before, "a tool of an ended turn wrote something: {name} {arguments}");
        if dice.chance(4) {
            // The answer was lost and the same call is made again.
            let posts = self.book.posts.len();
            self.call(session, name, arguments)?.ok();
            hold!(answer.is_err() || self.book.posts.len() == posts, "a repeated call made a second post");
        }
        Ok(())
    }

    /// Sessions and callers that cannot be told try whatever only the person may do: each is refused, and nothing changes.
    pub(crate) fn stranger(&mut self, dice: &mut Dice) -> Held {
        let Some(row) = self.book.any_gate(dice) else { return Ok(()) };
        // Its own gate, where it has one.
        let own = row.turn.and_then(|turn| self.book.turns.get(&turn)).map(|turn| turn.session);
        let other = self.book.any_turn(dice, false).map(|turn| turn.session);
        let caller = match own.or(other) {
            Some(session) if !dice.chance(5) => Caller::Session(session),
            Some(_) | None => Caller::Unknown("no such process".to_owned()),
        };
        let unit = self.units().into_iter().next();
        let gate = row.gate.id;
        let mut requests: Vec<Request> = Vec::new();
        for intent in &row.gate.intents {
            let text = intent.text.as_ref().map(|_| "x".to_owned());
            requests.push(Request::Resolve { gate, intent: intent.name.clone(), text, draft_text: None });
        }
        requests.push(Request::RetryGate(gate));
        if let Some(unit) = unit {
            requests.push(Request::ApplyPlan { unit: unit.clone(), guidance: None });
            requests.push(Request::DismissPlan { unit: unit.clone() });
            requests.push(Request::Hold { unit: Some(unit.clone()), kind: HoldKind::Pause, until: None });
            requests.push(Request::Unhold { unit: None, kind: HoldKind::Pause });
            requests.push(Request::StartTurn { unit, intent: "review".to_owned(), stage: None, guidance: None });
        }
        if let Some(turn) = self.book.any_turn(dice, false) {
            requests.push(Request::CancelTurn(turn.id));
        }
        if let Some(post) = self.book.posts.keys().next().copied() {
            requests.push(Request::PostSent(post));
            requests.push(Request::PostRetry(post));
            requests.push(Request::EditDraft { draft: post, text: "x".to_owned(), gate: None });
            requests.push(Request::RetryDraft(post));
            requests.push(Request::PostDiscard { post, reason: None });
        }
        if let Some(turn) = self.book.any_turn(dice, false)
            && caller != Caller::Session(turn.session)
        {
            let arguments = json!({ "verdict": "nothing", "summary": "x" });
            if let Ok(call) = check_arguments("record", &arguments) {
                requests.push(Request::Tool { session: turn.session, call, arguments });
            }
        }
        let (before, inputs) = (read(self.reads()?.last_event_id())?, self.inputs);
        for request in requests {
            let told = format!("{request:?}");
            let answer = self.hand_in(Input::Request { caller: caller.clone(), request })?;
            let refused = matches!(&answer, Err(EngineError::Refused(refusal)) if refusal.kind == RefusalKind::Forbidden);
            hold!(refused || self.disk_full, "an unattended caller was let through: {told} by {caller:?}");
        }
        self.inputs = inputs;
        hold!(read(self.reads()?.last_event_id())? == before, "an unattended caller left a trace");
        Ok(())
    }
}
