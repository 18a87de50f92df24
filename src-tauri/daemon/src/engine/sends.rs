//! Around a post's call: the attempt that is committed before it, what its outcome means, and the look-ups after a doubt (GH-PUB-02,
//! GH-PUB-07, GH-PUB-10 to 20, K6, K7).

use jiff::SignedDuration;
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_core::github::diff::{fold_into_body, place, spot};
use wloop_core::github::{LookUp, PostOrder, ReadFault, Refusal as Refused, SendOutcome, Shape};
use wloop_core::id::PostId;
use wloop_core::post::{AfterLookUp, LOOK_UPS, PostEvent, PostState, after_look_up};
use wloop_core::turn::TurnState;
use wloop_store::rows::{NewEvent, PostRow};

use super::observe::after;
use super::requests::BY_PERSON;
use super::{Cx, Reply};
use crate::input::Seen;
use crate::refusal::{Answer, EngineError};

/// How long a queued post rests when the pull request could not be read before it.
const REST: SignedDuration = SignedDuration::from_secs(20);

impl Cx<'_> {
    /// A queued post is about to go: the head is compared with the one it was written for, its comments are placed in the diff,
    /// and the attempt is committed (O5).
    pub(super) fn start_post(&mut self, id: PostId, seen: Result<Seen, ReadFault>) -> Answer<Reply> {
        let Some(post) = self.tx.post(id)? else { return Ok(Reply::NotNow) };
        if post.state != PostState::Queued || post.next_at.is_some_and(|at| at > self.now) {
            return Ok(Reply::NotNow);
        }
        if self.drop_if_cancelled(&post)? {
            return Ok(Reply::NotNow);
        }
        let seen = match seen {
            Ok(seen) => seen,
            Err(ReadFault::NotFound(why)) => {
                self.post_failed(&post, PostEvent::CannotTake, &format!("the pull request is gone: {why}"))?;
                return Ok(Reply::NotNow);
            }
            Err(fault) => {
                let until = match &fault {
                    ReadFault::Wait { until, .. } => *until,
                    ReadFault::SignedOut(_) | ReadFault::NotFound(_) | ReadFault::Unreachable(_) | ReadFault::Unusable(_) => {
                        after(self.now, REST)
                    }
                };
                let mut waits = post.clone();
                waits.next_at = Some(until);
                waits.cause = fault.to_string();
                self.tx.update_post(id, PostState::Queued, &waits)?;
                return Ok(Reply::NotNow);
            }
        };
        if let Some((draft, _)) = self.tx.draft(id)?
            && let Some(why) = self.why_not_now(&draft, &post, &seen)?
        {
            self.post_failed(&post, PostEvent::CannotTake, &why)?;
            return Ok(Reply::NotNow);
        }
        // A draft is a comment on the conversation, whatever the head is.
        if seen.head != post.head && !self.is_draft(id)? {
            return self.head_moved(&post, seen.head);
        }
        let (Some(viewer), Some(pull)) = (self.viewer()?, self.tx.pull(&post.unit)?) else {
            let mut waits = post.clone();
            waits.next_at = Some(after(self.now, REST));
            self.tx.update_post(id, PostState::Queued, &waits)?;
            return Ok(Reply::NotNow);
        };
        let (shape, text, moved) = match post.shape.clone() {
            Shape::Review { event, comments } => {
                let placed = place(comments, &seen.files);
                let moved = placed.moved.iter().map(spot).collect();
                (Shape::Review { event, comments: placed.inline }, fold_into_body(&post.text, &placed.moved), moved)
            }
            shape @ (Shape::Comment | Shape::Reply { .. }) => (shape, post.text.clone(), Vec::new()),
        };
        let body = match self.body_of(&post.unit, id, &text) {
            Ok(body) => body,
            Err(EngineError::Refused(refusal)) => {
                self.post_failed(&post, PostEvent::CannotTake, &refusal.detail)?;
                return Ok(Reply::NotNow);
            }
            Err(fault) => return Err(fault),
        };
        let now = self.now;
        let row = self.step_post(&post, PostEvent::Try, |row| {
            row.shape = shape;
            // What was moved is part of the text from here on: a second try must not lose it.
            row.text = text;
            row.body = body;
            row.moved.extend(moved);
            row.started_at = row.started_at.or(Some(now));
            row.next_at = None;
            row.cause = String::new();
        })?;
        let attempt = self.tx.insert_attempt(id, self.generation, now)?;
        self.event(NewEvent {
            data: json!({ "attempt": attempt }),
            ..self.of_post(&row, EventKind::PostSending, Actor::Daemon)
        })?;
        Ok(Reply::Send(Box::new(self.order(&row, &pull, &viewer.id)?)))
    }

    fn order(&self, post: &PostRow, pull: &wloop_store::rows::PullRow, viewer: &str) -> Answer<PostOrder> {
        Ok(PostOrder {
            post: post.id,
            repo: pull.summary.repo.clone(),
            number: pull.summary.number,
            head: post.head.clone(),
            shape: post.shape.clone(),
            body: post.body.clone(),
            viewer: viewer.to_owned(),
            started_at: post.started_at.unwrap_or(self.now),
            skew_ms: self.github()?.skew_ms,
        })
    }

    /// The head is another than the one a post was written for: nothing is sent (GH-PUB-17). An agent that still runs is told; what
    /// the person had released is asked again, on the new head.
    fn head_moved(&mut self, post: &PostRow, head: String) -> Answer<Reply> {
        // A stopped turn whose question is open asks no second one.
        let running = match post.turn {
            Some(turn) => self.a_turn(turn)?.state == TurnState::Started || self.open_gate_of(turn)?.is_some(),
            None => false,
        };
        let (old, new) = (short(&post.head), short(&head));
        if running {
            self.post_failed(post, PostEvent::CannotTake, &format!("the head moved: written for {old}, now {new}"))?;
        } else {
            let mut moved = post.clone();
            moved.head.clone_from(&head);
            self.tx.update_post(post.id, PostState::Queued, &moved)?;
            self.hold_post(&moved, &format!("Drafted on {old}, now {new}: publish it on {new}?"))?;
        }
        self.read_soon(&post.unit)?;
        Ok(Reply::NotNow)
    }

    /// A post's call ended.
    pub(super) fn end_post(&mut self, id: PostId, outcome: SendOutcome) -> Answer<()> {
        let post = self.a_post(id)?;
        let attempt = self.tx.open_attempt(id)?;
        let result = match &outcome {
            SendOutcome::Sent(_) => "sent",
            SendOutcome::Refused { .. } => "refused",
            SendOutcome::Wait { .. } => "wait",
            SendOutcome::NotReached { .. } => "not_reached",
            SendOutcome::Doubt { .. } => "doubt",
        };
        let words = match &outcome {
            SendOutcome::Sent(remote) => remote.url.clone(),
            SendOutcome::Refused { why, .. }
            | SendOutcome::Wait { why, .. }
            | SendOutcome::NotReached { why }
            | SendOutcome::Doubt { why } => why.clone(),
        };
        if let Some(attempt) = attempt {
            self.tx.end_attempt(id, attempt.n, result, &words, self.now)?;
        }
        if post.state != PostState::Sending {
            // Settled meanwhile, by an echo of it: the answer comes too late to matter.
            return Ok(());
        }
        match outcome {
            SendOutcome::Sent(remote) => self.post_is_sent(post, PostEvent::Confirm, Some(remote), &Actor::Daemon),
            SendOutcome::Refused { kind: Refused::PendingReview, why } => {
                self.hold_post(
                    &post,
                    &format!("You have a pending review there; submit or discard it, then publish this one. {why}"),
                )?;
                Ok(())
            }
            SendOutcome::Refused { kind, why } => {
                if kind == Refused::SignedOut {
                    let mut provider = self.github()?;
                    provider.signed_out = true;
                    provider.error = Some(why.clone());
                    self.tx.put_provider(&provider)?;
                }
                self.post_failed(&post, PostEvent::Refuse, &why)
            }
            SendOutcome::Wait { until, why } => self.post_waits(&post, until, &why),
            SendOutcome::NotReached { why } => self.post_waits(&post, after(self.now, REST), &why),
            SendOutcome::Doubt { why } => self.doubt(&post, &why, LOOK_UPS[0]),
        }
    }

    /// Nothing was written and it will be tried again (O8).
    fn post_waits(&mut self, post: &PostRow, until: jiff::Timestamp, why: &str) -> Answer<()> {
        let row = self.step_post(post, PostEvent::Wait, |row| {
            row.next_at = Some(until);
            row.cause = why.to_owned();
        })?;
        self.drop_if_cancelled(&row)?;
        Ok(())
    }

    /// A post that has not gone does not go any more once the person cancelled its turn (RUN-13); whether it was one. What stands under
    /// a gate of its own was let out by the person after that, and goes.
    fn drop_if_cancelled(&mut self, post: &PostRow) -> Answer<bool> {
        let Some(turn) = post.turn else { return Ok(false) };
        let turn = self.a_turn(turn)?;
        // What the person asked for again after that goes by their word.
        let cancelled = turn.cancel_by.as_deref() == Some(BY_PERSON) && post.gate == turn.gate && post.retried_at.is_none();
        if !cancelled || post.state != PostState::Queued {
            return Ok(false);
        }
        self.drop_post(post, Some("its turn was cancelled"))?;
        self.close_asked_turn(&turn)?;
        Ok(true)
    }

    /// It may have been written: the first look-up is due after `wait`.
    fn doubt(&mut self, post: &PostRow, why: &str, wait: SignedDuration) -> Answer<()> {
        let now = self.now;
        let mut row = post.clone();
        row.doubt_at = Some(now);
        row.look_ups = 0;
        row.complete_look_ups = 0;
        row.next_at = Some(after(now, wait));
        row.cause = why.to_owned();
        row.changed_at = now;
        self.tx.update_post(post.id, PostState::Sending, &row)?;
        Ok(())
    }

    /// A post's outcome is not to be had any more, although its call ended in this daemon: it is in doubt.
    pub(super) fn lose_post(&mut self, id: PostId) -> Answer<()> {
        let post = self.a_post(id)?;
        if let Some(attempt) = self.tx.open_attempt(id)? {
            self.tx.end_attempt(id, attempt.n, "lost", "the outcome could not be written", self.now)?;
        }
        if post.state == PostState::Sending { self.doubt(&post, "the outcome could not be written", LOOK_UPS[0]) } else { Ok(()) }
    }

    /// Calls that an earlier daemon made and whose answers nobody waits for any more: each becomes a look-up (K6, K7).
    pub(super) fn settle_lost_calls(&mut self) -> Answer<()> {
        for post in self.tx.posts_in(PostState::Sending)? {
            let Some(attempt) = self.tx.open_attempt(post.id)? else { continue };
            if attempt.generation == self.generation {
                continue;
            }
            let why = "the daemon stopped during the call";
            self.tx.end_attempt(post.id, attempt.n, "lost", why, self.now)?;
            self.doubt(&post, why, SignedDuration::ZERO)?;
        }
        Ok(())
    }

    /// A look-up is about to be made.
    pub(super) fn start_look_up(&mut self, id: PostId) -> Answer<Reply> {
        let Some(post) = self.tx.post(id)? else { return Ok(Reply::NotNow) };
        let due = post.state == PostState::Sending
            && post.next_at.is_some_and(|at| at <= self.now)
            && self.tx.open_attempt(id)?.is_none();
        let (Some(viewer), Some(pull)) = (self.viewer()?, self.tx.pull(&post.unit)?) else {
            let mut waits = post.clone();
            waits.next_at = Some(after(self.now, REST));
            self.tx.update_post(id, post.state, &waits)?;
            return Ok(Reply::NotNow);
        };
        if due { Ok(Reply::LookUp(Box::new(self.order(&post, &pull, &viewer.id)?))) } else { Ok(Reply::NotNow) }
    }

    /// A look-up ended: found, or one more that did not show it (GH-PUB-07).
    pub(super) fn end_look_up(&mut self, id: PostId, found: LookUp) -> Answer<()> {
        let post = self.a_post(id)?;
        if post.state != PostState::Sending {
            return Ok(());
        }
        let (complete, why) = match found {
            LookUp::Found(remote) => return self.post_is_sent(post, PostEvent::Confirm, Some(remote), &Actor::Daemon),
            LookUp::Absent => (1, String::new()),
            LookUp::Incomplete { why } => (0, why),
            LookUp::Wait { until, .. } => {
                // A wait for a limit is no attempt (GH-SYNC-37).
                let mut row = post.clone();
                row.next_at = Some(until);
                self.tx.update_post(id, PostState::Sending, &row)?;
                return Ok(());
            }
        };
        let (look_ups, complete_look_ups) = (post.look_ups + 1, post.complete_look_ups + complete);
        let doubt_at = post.doubt_at.unwrap_or(self.now);
        match after_look_up(doubt_at, look_ups as usize, complete_look_ups as usize, self.now) {
            AfterLookUp::Again(at) => {
                let mut row = post.clone();
                row.look_ups = look_ups;
                row.complete_look_ups = complete_look_ups;
                row.next_at = Some(at);
                self.tx.update_post(id, PostState::Sending, &row)?;
                Ok(())
            }
            AfterLookUp::Absent if post.send_if_absent => {
                self.step_post(&post, PostEvent::Wait, |row| {
                    row.next_at = None;
                    row.doubt_at = None;
                    row.send_if_absent = false;
                })?;
                Ok(())
            }
            AfterLookUp::Absent => {
                let why =
                    format!("it is not at github ({}); send it again with `wloop posts retry {}`", post.cause, short_id(id));
                self.post_failed(&post, PostEvent::Refuse, &why)
            }
            AfterLookUp::CannotTell => {
                let why = format!("it cannot be told whether it was sent ({}; {why})", post.cause);
                self.post_failed(&post, PostEvent::CannotTell, &why)
            }
        }
    }

    /// A post did not go, or it cannot be told (O6, O9).
    pub(super) fn post_failed(&mut self, post: &PostRow, step: PostEvent, why: &str) -> Answer<()> {
        let row = self.step_post(post, step, |row| {
            row.cause = why.to_owned();
            row.next_at = None;
            row.send_if_absent = false;
        })?;
        let kind = if row.maybe_posted { EventKind::PostDoubtful } else { EventKind::PostFailed };
        self.event(NewEvent { data: json!({ "cause": why }), ..self.of_post(&row, kind, Actor::Daemon) })?;
        self.draft_failed(&row)?;
        if let Some(turn) = row.turn {
            let turn = self.a_turn(turn)?;
            self.close_asked_turn(&turn)?;
        }
        self.read_soon(&post.unit)
    }
}

fn short(head: &str) -> &str {
    head.get(..7).unwrap_or(head)
}

fn short_id(id: PostId) -> String {
    id.to_string()[..6].to_owned()
}
