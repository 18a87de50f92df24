//! The post ledger from the inside: how a post is written, held, released, and settled (spec 15.7). What happens around its call
//! is in `sends`.

use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::publish::{compose, mentions, strip_markers};
use wloop_core::github::{RemotePost, Shape};
use wloop_core::id::{GateId, PostId, TurnId, UnitRef};
use wloop_core::post::{Delivery, PostEvent, PostState};
use wloop_core::turn::{TurnEvent, TurnState};
use wloop_store::rows::{GateRow, NewEvent, PostRow, TurnRow};
use wloop_store::{PostFilter, TurnChange};

use super::gates::{NewGate, Policy};
use super::{Cx, event};
use crate::edge::planted;
use crate::refusal::{Answer, Refusal, RefusalKind};

/// A post to be written.
pub(super) struct NewPost<'a> {
    pub(super) unit: &'a UnitRef,
    pub(super) turn: &'a TurnRow,
    pub(super) gate: GateId,
    pub(super) shape: Shape,
    pub(super) text: &'a str,
    pub(super) head: String,
    pub(super) state: PostState,
}

impl Cx<'_> {
    /// Writes a post's row (O1, O2): its text without anybody's marker, with the signature of its repository.
    pub(super) fn insert_post(&mut self, new: NewPost<'_>) -> Answer<PostRow> {
        let NewPost { unit, turn, gate, shape, text, head, state } = new;
        let row = self.fresh_post(unit, Some(turn.id), gate, shape, text, head, state)?;
        self.tx.insert_post(&row)?;
        Ok(row)
    }

    /// The row of a post that is to be written.
    #[expect(clippy::too_many_arguments, reason = "each is a column of the row")]
    pub(super) fn fresh_post(
        &mut self,
        unit: &UnitRef,
        turn: Option<TurnId>,
        gate: GateId,
        shape: Shape,
        text: &str,
        head: String,
        state: PostState,
    ) -> Answer<PostRow> {
        let id = PostId::draw(self.ids);
        let text = strip_markers(text);
        let body = self.body_of(unit, id, &text)?;
        let shape = match shape {
            Shape::Review { event, mut comments } => {
                for comment in &mut comments {
                    comment.body = strip_markers(&comment.body);
                }
                Shape::Review { event, comments }
            }
            shape @ (Shape::Comment | Shape::Reply { .. }) => shape,
        };
        Ok(PostRow {
            id,
            unit: unit.clone(),
            turn,
            gate,
            mentions: mentions_of(&text, &shape),
            shape,
            text,
            body,
            moved: Vec::new(),
            head,
            state,
            maybe_posted: false,
            remote: None,
            cause: String::new(),
            started_at: None,
            doubt_at: None,
            look_ups: 0,
            complete_look_ups: 0,
            next_at: None,
            send_if_absent: false,
            retried_at: None,
            created_at: self.now,
            changed_at: self.now,
        })
    }

    /// The text as it goes out: signature and marker under it (GH-PUB-03, GH-PUB-04).
    pub(super) fn body_of(&self, unit: &UnitRef, post: PostId, text: &str) -> Answer<String> {
        let repo = self.tx.pull(unit)?.map(|row| row.summary.repo);
        let signature = repo.map(|repo| self.rules.config.github_for(&repo).signature).unwrap_or_default();
        compose(text, &signature, post)
            .map_err(|fault| Refusal::new(RefusalKind::Invalid, fault.to_string()).field("text").code("limit").into())
    }

    /// A post that is there.
    pub(super) fn a_post(&self, id: PostId) -> Answer<PostRow> {
        let found = self.tx.post(id)?;
        found.ok_or_else(|| {
            let short = &id.to_string()[..6];
            Refusal::new(RefusalKind::NotFound, format!("there is no post `{short}`; `wloop posts` lists them")).into()
        })
    }

    /// Moves a post along its machine and writes the row.
    pub(super) fn step_post(&mut self, post: &PostRow, step: PostEvent, change: impl FnOnce(&mut PostRow)) -> Answer<PostRow> {
        let delivery = Delivery { state: post.state, maybe_posted: post.maybe_posted };
        let next = delivery
            .step(step)
            .map_err(|fault| Refusal::new(RefusalKind::Conflict, format!("post `{}`: {fault}", &post.id.to_string()[..6])))?;
        let mut row = post.clone();
        row.state = next.state;
        row.maybe_posted = next.maybe_posted;
        row.changed_at = self.now;
        change(&mut row);
        self.tx.update_post(post.id, post.state, &row)?;
        Ok(row)
    }

    /// An event of a post.
    pub(super) fn of_post(&self, post: &PostRow, kind: EventKind, actor: Actor) -> NewEvent {
        NewEvent {
            unit: Some(post.unit.clone()),
            gate: Some(post.gate),
            turn: post.turn,
            post: Some(post.id),
            actor,
            ..event(kind, post.id.to_string())
        }
    }

    /// Who let a post out: the actor of its gate's resolution.
    pub(super) fn released_by(&self, post: &PostRow) -> Answer<Actor> {
        Ok(self.gate(post.gate)?.gate.closed.map_or(Actor::Daemon, |c| c.actor))
    }

    /// A post reached the provider: confirmed, found, or said by the person (O7, O11). Its turn's end and mark follow.
    pub(super) fn post_is_sent(
        &mut self,
        post: PostRow,
        step: PostEvent,
        remote: Option<RemotePost>,
        actor: &Actor,
    ) -> Answer<()> {
        let doubtful = step == PostEvent::WasSent || post.doubt_at.is_some();
        let row = self.step_post(&post, step, |row| {
            row.remote = remote;
            row.next_at = None;
            row.cause = String::new();
            row.send_if_absent = false;
        })?;
        let data = json!({
            "remote": row.remote.as_ref().map(|r| r.node_id.clone()),
            "url": row.remote.as_ref().map(|r| r.url.clone()),
            "found": doubtful,
            "text": row.text,
        });
        if let Actor::Person { .. } = actor {
            self.event(NewEvent { data: json!({ "as": "sent" }), ..self.of_post(&row, EventKind::PostSettled, actor.clone()) })?;
        }
        let by = self.released_by(&row)?;
        self.event(NewEvent { data: data.clone(), ..self.of_post(&row, EventKind::PostSent, by.clone()) })?;
        self.draft_is_sent(&row, &by)?;
        if let Some(id) = row.turn {
            let turn = self.a_turn(id)?;
            self.event(NewEvent {
                post: Some(row.id),
                data,
                ..self.of_turn(&turn, EventKind::RoundPosted, Actor::Session(turn.session))
            })?;
            self.close_asked_turn(&turn)?;
            self.mark_reviewed(id)?;
        }
        // What the provider shows now is read again, so that the row's facts are true.
        self.read_soon(&row.unit)
    }

    /// The unit is read at the next chance.
    pub(super) fn read_soon(&mut self, unit: &UnitRef) -> Answer<()> {
        if let Some(mut row) = self.tx.pull(unit)? {
            row.wants_detail = true;
            row.read_after = self.now;
            self.tx.put_pull(&row)?;
        }
        Ok(())
    }

    /// A stopped turn is recorded once nothing of it is open any more: what it asked about is sent or dropped, and no other post of it
    /// is on its way (T10).
    pub(super) fn close_asked_turn(&mut self, turn: &TurnRow) -> Answer<()> {
        if turn.state != TurnState::Asked {
            return Ok(());
        }
        let posts = self.tx.posts(&PostFilter { turn: Some(turn.id), ..PostFilter::default() })?;
        // What stands under another gate than the turn's own is what it stopped on.
        let asked = |post: &&PostRow| post.gate != turn.gate;
        let open = |post: &PostRow| match post.state {
            PostState::Held | PostState::Queued | PostState::Sending => true,
            PostState::Failed => post.maybe_posted || post.gate != turn.gate,
            PostState::Sent | PostState::Dropped => false,
        };
        if posts.iter().any(open) {
            return Ok(());
        }
        let next = match turn.state.step(TurnEvent::Record) {
            Ok(next) => next,
            Err(fault) => {
                tracing::error!(turn = %turn.id, %fault, "a stopped turn took no step");
                return Ok(());
            }
        };
        let published = posts.iter().filter(asked).any(|post| post.state == PostState::Sent);
        let verdict = if published { "published" } else { "nothing" };
        // A post that the daemon had to ask about may come before any record of the agent's.
        let record = turn.record.clone().unwrap_or_else(|| json!({ "verdict": verdict, "summary": "settled by the person" }));
        let change = TurnChange { cause: None, verdict: Some(verdict), record: Some(&record), now: self.now };
        self.tx.set_turn_state(turn.id, turn.state, next, &change)?;
        self.event(NewEvent { data: json!({ "verdict": verdict }), ..self.of_turn(turn, EventKind::TurnRecorded, Actor::Daemon) })
    }

    /// Puts a post (back) under a post gate, with the reason, and stops its turn if it still runs (O12, T9, GH-PUB-17, 20, 21).
    pub(super) fn hold_post(&mut self, post: &PostRow, words: &str) -> Answer<GateRow> {
        let gate = self.open_gate(NewGate {
            kind: GateKind::Post,
            unit: &post.unit,
            words: words.to_owned(),
            policy: Policy::Waits("only the person lets out a post that a round stopped on"),
            turn: post.turn,
        })?;
        self.step_post(post, PostEvent::Hold, |row| {
            row.gate = gate.gate.id;
            row.next_at = None;
        })?;
        if let Some(id) = post.turn {
            let turn = self.a_turn(id)?;
            if turn.state == TurnState::Started {
                self.step_turn(&turn, TurnEvent::Ask, EventKind::TurnAsked, words)?;
            }
        }
        Ok(gate)
    }

    /// What a post gate's resolution does to its post: `publish` queues it, anything else drops it and records the turn (MCP-13).
    pub(super) fn post_gate_closed(&mut self, row: &GateRow) -> Answer<()> {
        let posts =
            self.tx.posts(&PostFilter { state: Some(PostState::Held), unit: row.gate.unit.clone(), ..PostFilter::default() })?;
        let Some(post) = posts.into_iter().find(|p| p.gate == row.gate.id) else {
            return self.consequence_ran(row, "there was nothing left to publish");
        };
        if row.gate.status == GateStatus::Answered {
            let released = self.step_post(&post, PostEvent::Release, |_| {})?;
            if self.was_doubted(post.id)? {
                // An earlier call of it may have come through after all: it is looked for before it goes.
                let now = self.now;
                self.step_post(&released, PostEvent::Try, |row| {
                    row.look_ups = 0;
                    row.complete_look_ups = 0;
                    row.send_if_absent = true;
                    row.doubt_at = Some(now);
                    row.next_at = Some(now);
                })?;
            }
            self.consequence_ran(row, "queued for publication")?;
        } else {
            let dropped = self.step_post(&post, PostEvent::Drop, |_| {})?;
            self.consequence_ran(row, "nothing is published")?;
            if let Some(id) = dropped.turn {
                let turn = self.a_turn(id)?;
                self.close_asked_turn(&turn)?;
            }
        }
        self.end_task_of(row, row.gate.status)
    }

    /// Replaces the body of a held post by the person's own words, before its gate is answered (MCP-13).
    pub(super) fn reword(&mut self, row: &GateRow, text: &str) -> Answer<()> {
        let posts =
            self.tx.posts(&PostFilter { state: Some(PostState::Held), unit: row.gate.unit.clone(), ..PostFilter::default() })?;
        let Some(post) = posts.into_iter().find(|p| p.gate == row.gate.id) else { return Ok(()) };
        let text = strip_markers(text);
        wloop_core::github::publish::refuse_empty(&post.shape, &text)
            .map_err(|fault| Refusal::new(RefusalKind::Invalid, fault.to_string()).field("draft_text"))?;
        let mut changed = post.clone();
        changed.body = self.body_of(&post.unit, post.id, &text)?;
        changed.mentions = mentions_of(&text, &post.shape);
        changed.text = text;
        changed.changed_at = self.now;
        self.tx.update_post(post.id, PostState::Held, &changed)?;
        Ok(())
    }

    /// The person says that a doubtful post was sent (O11, GH-PUB-09).
    pub(super) fn post_was_sent(&mut self, id: PostId) -> Answer<()> {
        let post = self.a_post(id)?;
        if post.state != PostState::Failed || !post.maybe_posted {
            let words =
                format!("post `{}` is {}; only one that may have been sent is settled so", &id.to_string()[..6], post.state);
            return Err(Refusal::new(RefusalKind::Conflict, words).into());
        }
        self.post_is_sent(post, PostEvent::WasSent, None, &self.acting.clone())
    }

    /// Whether the outcome of a call of a post was ever unknown: then it is looked for before it is sent again, also when look-ups did
    /// not show it at the time (K11).
    fn was_doubted(&self, id: PostId) -> Answer<bool> {
        let doubted = |attempt: &wloop_store::AttemptRow| {
            attempt.ended.as_ref().is_some_and(|(_, result)| result == "doubt" || result == "lost")
        };
        Ok(self.tx.attempts(id)?.iter().any(doubted))
    }

    /// The person sends a failed post again; one that may have been sent is looked up first (O10, DRAFT-11).
    pub(super) fn retry_post(&mut self, id: PostId) -> Answer<()> {
        let post = self.a_post(id)?;
        if post.state != PostState::Failed {
            let words = format!("post `{}` is {}; only a failed one is sent again", &id.to_string()[..6], post.state);
            return Err(Refusal::new(RefusalKind::Conflict, words).into());
        }
        if let Some(turn) = post.turn.filter(|_| post.shape.name() == "review") {
            let others = self.tx.posts(&PostFilter { turn: Some(turn), ..PostFilter::default() })?;
            let stands = |p: &&PostRow| {
                let out = matches!(p.state, PostState::Held | PostState::Queued | PostState::Sending | PostState::Sent);
                p.id != id && p.shape.name() == "review" && (out || (p.maybe_posted && p.state != PostState::Dropped))
            };
            if let Some(other) = others.iter().find(stands) {
                let words = format!(
                    "the round of post `{}` made another review, `{}`, which is {}; drop this one",
                    &id.to_string()[..6],
                    &other.id.to_string()[..6],
                    other.state
                );
                return Err(Refusal::new(RefusalKind::Conflict, words).into());
            }
        }
        let now = self.now;
        let doubtful = !planted!("retry_without_a_look") && (post.maybe_posted || self.was_doubted(id)?);
        let post = PostRow { maybe_posted: doubtful, ..post };
        let row = self.step_post(&post, PostEvent::Retry, |row| {
            row.cause = String::new();
            row.look_ups = 0;
            row.complete_look_ups = 0;
            row.retried_at = Some(now);
            row.send_if_absent = row.maybe_posted;
            row.doubt_at = row.maybe_posted.then_some(now);
            row.next_at = row.maybe_posted.then_some(now);
        })?;
        self.event(NewEvent {
            data: json!({ "as": "sent again" }),
            ..self.of_post(&row, EventKind::PostSettled, self.acting.clone())
        })
    }

    /// A post that does not go by the person's word (O4).
    pub(super) fn drop_post(&mut self, post: &PostRow, reason: Option<&str>) -> Answer<PostRow> {
        let row = self.step_post(post, PostEvent::Drop, |row| row.next_at = None)?;
        let data = json!({ "as": "dropped", "reason": reason });
        self.event(NewEvent { data, ..self.of_post(&row, EventKind::PostSettled, self.acting.clone()) })?;
        Ok(row)
    }

    /// The person drops a failed or waiting post (O4); a stopped turn of it is recorded with nothing published.
    pub(super) fn discard_post(&mut self, id: PostId, reason: Option<&str>) -> Answer<()> {
        if self.is_draft(id)? {
            return self.discard_draft(id, reason);
        }
        let post = self.a_post(id)?;
        if !matches!(post.state, PostState::Failed | PostState::Queued) {
            let words = format!(
                "post `{}` is {}; only a failed or a waiting one is dropped here, a held one through its gate `{}`",
                &id.to_string()[..6],
                post.state,
                &post.gate.to_string()[..6]
            );
            return Err(Refusal::new(RefusalKind::Conflict, words).into());
        }
        let row = self.drop_post(&post, reason)?;
        if let Some(turn) = row.turn {
            let turn = self.a_turn(turn)?;
            self.close_asked_turn(&turn)?;
        }
        Ok(())
    }
}

/// Whom a post mentions, in its body and in its comments on lines (GH-PUB-15).
pub(super) fn mentions_of(text: &str, shape: &Shape) -> Vec<String> {
    let mut all = mentions(text);
    if let Shape::Review { comments, .. } = shape {
        for comment in comments {
            all.extend(mentions(&comment.body));
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
