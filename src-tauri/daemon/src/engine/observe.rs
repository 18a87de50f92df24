//! What a provider showed: the inventory, one unit, and the echoes of our own posts in it.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_core::github::publish::own_post;
use wloop_core::github::{Account, Detail, Inventory, PullState, ReadFault, Reason, RemotePost, ReviewState, Sightings, Summary};
use wloop_core::id::UnitRef;
use wloop_core::plan::{ItemEvent, ItemState};
use wloop_core::post::{PostEvent, PostState};
use wloop_store::PostFilter;
use wloop_store::rows::{NewEvent, PostRow, ProviderRow, PullRow, UnitRow};

use super::{Cx, event};
use crate::refusal::Answer;

/// How long a unit that could not be read rests.
const READ_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// How long a sweep rests that did not reach github, so that one runs within 5 s of a regained network (GH-SYNC-18).
const REACH_AGAIN: SignedDuration = SignedDuration::from_secs(4);

/// The one provider there is.
pub(crate) const GITHUB: &str = "github";

impl Cx<'_> {
    /// The provider's row, or a new one.
    pub(super) fn github(&self) -> Answer<ProviderRow> {
        let row = self.tx.provider(GITHUB)?;
        Ok(row.unwrap_or_else(|| ProviderRow {
            name: GITHUB.to_owned(),
            viewer: None,
            teams: Vec::new(),
            skew_ms: 0,
            last_sweep_at: None,
            next_sweep_at: Timestamp::UNIX_EPOCH,
            next_slow_at: Timestamp::UNIX_EPOCH,
            blocked_until: None,
            signed_out: false,
            error: None,
        }))
    }

    /// The account that the token belongs to, once a sweep told it.
    pub(super) fn viewer(&self) -> Answer<Option<Account>> {
        Ok(self.github()?.viewer)
    }

    /// A token that was refused is tried again: at a start, and when the person asks (GH-SYNC-43).
    pub(super) fn forget_sign_out(&mut self) -> Answer<()> {
        let mut row = self.github()?;
        if row.signed_out {
            row.signed_out = false;
            row.next_sweep_at = self.now;
            self.tx.put_provider(&row)?;
        }
        Ok(())
    }

    /// A sweep is wanted now instead of at its time: the machine woke, or one fell due while another ran (GH-SYNC-17, GH-SYNC-18). What
    /// github asked to wait for stays waited for.
    pub(super) fn sweep_soon(&mut self) -> Answer<()> {
        let mut row = self.github()?;
        let waits = row.blocked_until.is_some_and(|until| until > self.now);
        if !waits && !row.signed_out && row.next_sweep_at > self.now {
            row.next_sweep_at = self.now;
            self.tx.put_provider(&row)?;
        }
        Ok(())
    }

    /// GitHub answers again: what waited because it did not goes on at once (GH-SYNC-18, F13).
    fn wake_unreached(&mut self) -> Answer<()> {
        self.wake_released()?;
        for post in self.tx.posts_in(PostState::Queued)? {
            if post.next_at.is_some_and(|at| at > self.now) {
                let row = PostRow { next_at: Some(self.now), ..post.clone() };
                self.tx.update_post(post.id, PostState::Queued, &row)?;
            }
        }
        Ok(())
    }

    /// GitHub asked for no request of any kind before `until` (GH-SYNC-36 a and b); kept, so that a new start waits as well.
    pub(super) fn keep_quiet(&mut self, until: Timestamp) -> Answer<()> {
        let mut row = self.github()?;
        if row.blocked_until.is_none_or(|known| known < until) {
            row.blocked_until = Some(until);
            row.next_sweep_at = row.next_sweep_at.max(until);
            self.tx.put_provider(&row)?;
        }
        Ok(())
    }

    /// A fast sweep came back (GH-SYNC-11 to 13).
    pub(super) fn see_inventory(&mut self, result: Result<Inventory, ReadFault>) -> Answer<()> {
        let mut row = self.github()?;
        let inventory = match result {
            Ok(inventory) => inventory,
            Err(fault) => return self.note_read_fault(row, &fault),
        };
        let slow = self.now >= row.next_slow_at;
        let recovered = row.error.is_some();
        row.viewer = Some(inventory.viewer.clone());
        row.skew_ms = inventory.skew_ms;
        row.last_sweep_at = Some(self.now);
        row.next_sweep_at = after(self.now, self.rules.config.sweep.fast);
        if slow {
            row.next_slow_at = after(self.now, self.rules.config.sweep.slow);
        }
        row.error = None;
        row.blocked_until = None;
        row.signed_out = false;
        self.tx.put_provider(&row)?;
        if recovered {
            self.wake_unreached()?;
            self.event(NewEvent { data: json!({ "now": "ok" }), ..event(EventKind::HealthChanged, GITHUB) })?;
        }
        let skew = SignedDuration::from_millis(inventory.skew_ms);
        let before = self.tx.watched_pulls()?;
        let mut seen = std::collections::BTreeSet::new();
        // Those that no search returned and that were asked for by their ids (GH-SYNC-13).
        let (by_id, found): (Vec<_>, Vec<_>) = inventory.pull_requests.into_iter().partition(|s| s.reasons.is_empty());
        let mut by_id: std::collections::BTreeMap<_, _> = by_id.into_iter().map(|s| (UnitRef::github(&s.id), s)).collect();
        for summary in found {
            if !self.rules.admits(&summary.repo) {
                continue;
            }
            let unit = UnitRef::github(&summary.id);
            seen.insert(unit.clone());
            if let Err(fault) = self.sheltered(|cx| cx.see_summary(&unit, summary, slow, skew))? {
                tracing::error!(%unit, %fault, "a pull request could not be taken in; the others are");
            }
        }
        for (unit, summary) in before {
            if seen.contains(&unit) {
                continue;
            }
            let told = by_id.remove(&unit);
            if (inventory.complete || told.is_some())
                && let Err(fault) = self.sheltered(|cx| cx.not_returned(&unit, &summary, told, slow, inventory.complete))?
            {
                tracing::error!(%unit, %fault, "a pull request could not be let go");
            }
        }
        self.end_capped_days()
    }

    fn see_summary(&mut self, unit: &UnitRef, summary: Summary, slow: bool, skew: SignedDuration) -> Answer<()> {
        let stored = self.tx.pull(unit)?;
        let mut reasons = summary.reasons.clone();
        if let Some(stored) = &stored
            && stored.summary.reasons.contains(&Reason::Asked)
            && !reasons.contains(&Reason::Asked)
        {
            reasons.push(Reason::Asked);
            reasons.sort_unstable();
        }
        let summary = Summary { reasons, ..summary };
        let moved = stored.as_ref().is_none_or(|s| !s.watched || s.summary != summary || s.detail.is_none() || s.fault.is_some());
        // A countdown, an open turn and a post in doubt are looked at each time (GH-SYNC-12).
        let attended = moved
            || slow
            || !self.tx.pending_items_of(unit)?.is_empty()
            || self.tx.open_turn(unit)?.is_some()
            || self.has_post_in_doubt(unit)?;
        self.put_names(unit, &summary, true)?;
        let row = PullRow {
            unit: unit.clone(),
            watched: true,
            detail: stored.as_ref().and_then(|s| s.detail.clone()),
            detail_at: stored.as_ref().and_then(|s| s.detail_at),
            wants_detail: attended || stored.as_ref().is_some_and(|s| s.wants_detail),
            read_after: stored.as_ref().map_or(Timestamp::UNIX_EPOCH, |s| s.read_after),
            sightings: sightings(stored.as_ref(), &summary, after(self.now, skew)),
            fault: stored.and_then(|s| s.fault),
            summary,
        };
        self.tx.put_pull(&row)?;
        if !row.wants_detail {
            // Time alone may have made something due.
            self.plan_unit(unit)?;
        }
        Ok(())
    }

    /// A watched pull request that no search returned: it leaves, unless the person named it and it is open (GH-SYNC-02), or it ended
    /// a short while ago (GH-SYNC-01). `told` is what it answered when it was asked for by its id; without that the last read counts.
    fn not_returned(
        &mut self,
        unit: &UnitRef,
        summary: &Summary,
        told: Option<Summary>,
        slow: bool,
        complete: bool,
    ) -> Answer<()> {
        let Some(mut row) = self.tx.pull(unit)? else { return Ok(()) };
        let open = match &told {
            Some(told) => told.state == PullState::Open,
            None => row.detail.as_ref().is_none_or(Detail::is_open),
        };
        if summary.reasons.contains(&Reason::Asked) && open {
            if let Some(told) = told {
                let skew = SignedDuration::from_millis(self.github()?.skew_ms);
                return self.see_summary(unit, Summary { reasons: vec![Reason::Asked], ..told }, slow, skew);
            }
            if slow {
                row.wants_detail = true;
                self.tx.put_pull(&row)?;
            }
            return Ok(());
        }
        if !complete {
            return Ok(());
        }
        let moved = told.as_ref().is_some_and(|told| told.state != summary.state || told.updated_at != summary.updated_at);
        let retention = self.rules.config.github.retention;
        if !open && row.detail.as_ref().is_some_and(|d| d.just_ended(&self.rules.calendar(), retention, self.now)) {
            if moved {
                row.wants_detail = true;
                self.tx.put_pull(&row)?;
            }
            return Ok(());
        }
        row.watched = false;
        // Its end is read once more, so that what is stored of it is true.
        row.wants_detail = true;
        self.put_names(unit, &row.summary, false)?;
        self.tx.put_pull(&row)?;
        self.withdraw_items(unit, "it left the inventory")?;
        self.event(NewEvent {
            unit: Some(unit.clone()),
            data: json!({ "after": "not watched" }),
            ..event(EventKind::UnitSituation, "watched")
        })
    }

    fn put_names(&mut self, unit: &UnitRef, summary: &Summary, watched: bool) -> Answer<()> {
        let row = UnitRow {
            unit: unit.clone(),
            label: format!("{}#{}", summary.repo, summary.number),
            title: wloop_core::github::material::visible(&summary.title),
            url: summary.url.clone(),
            watched,
        };
        self.tx.put_unit(&row, self.now)?;
        Ok(())
    }

    /// One unit was read, or not.
    pub(super) fn see_detail(&mut self, unit: &UnitRef, result: Result<Detail, ReadFault>) -> Answer<()> {
        match result {
            Ok(detail) => {
                let watched = self.tx.pull(unit)?.is_some_and(|row| row.watched);
                // One that no search returns any more turns out to have ended: the inventory keeps it for a while (GH-SYNC-01).
                let kept = detail.just_ended(&self.rules.calendar(), self.rules.config.github.retention, self.now);
                self.put_detail(unit, detail, watched || kept, None)?;
                if kept && !watched {
                    self.event(NewEvent {
                        unit: Some(unit.clone()),
                        data: json!({ "after": "watched", "why": "it ended" }),
                        ..event(EventKind::UnitSituation, "watched")
                    })?;
                }
                self.settle_echoes(unit)?;
                self.repeat_incomplete(unit)?;
                self.plan_unit(unit)
            }
            Err(fault) => {
                if let Some(mut row) = self.tx.pull(unit)? {
                    row.fault = Some(fault.to_string());
                    row.read_after = after(self.now, READ_AGAIN);
                    match &fault {
                        ReadFault::NotFound(_) => {
                            row.wants_detail = row.watched;
                            row.read_after = after(self.now, self.rules.config.sweep.slow);
                        }
                        ReadFault::Wait { until, .. } => row.read_after = *until,
                        ReadFault::SignedOut(_) | ReadFault::Unreachable(_) | ReadFault::Unusable(_) => {}
                    }
                    self.tx.put_pull(&row)?;
                }
                let provider = self.github()?;
                match fault {
                    ReadFault::SignedOut(_) | ReadFault::Wait { .. } => self.note_read_fault(provider, &fault),
                    ReadFault::NotFound(_) | ReadFault::Unreachable(_) | ReadFault::Unusable(_) => Ok(()),
                }
            }
        }
    }

    /// A pull request that the person named (GH-SYNC-01 h).
    pub(super) fn see_asked(&mut self, detail: Detail) -> Answer<()> {
        let unit = UnitRef::github(&detail.summary.id);
        let kept = detail.is_open() || detail.just_ended(&self.rules.calendar(), self.rules.config.github.retention, self.now);
        self.put_detail(&unit, detail, kept, Some(Reason::Asked))?;
        self.settle_echoes(&unit)?;
        self.plan_unit(&unit)
    }

    fn put_detail(&mut self, unit: &UnitRef, detail: Detail, watched: bool, because: Option<Reason>) -> Answer<()> {
        let stored = self.tx.pull(unit)?;
        let mut reasons = stored.as_ref().map(|s| s.summary.reasons.clone()).unwrap_or_default();
        reasons.extend(because);
        reasons.sort_unstable();
        reasons.dedup();
        let summary = Summary { reasons, ..detail.summary.clone() };
        let detail = Detail { summary: summary.clone(), ..detail };
        let sightings = sightings(stored.as_ref(), &summary, detail.read_at);
        self.put_names(unit, &summary, watched)?;
        self.tx.put_pull(&PullRow {
            unit: unit.clone(),
            watched,
            summary,
            detail: Some(detail),
            detail_at: Some(self.now),
            wants_detail: false,
            read_after: Timestamp::UNIX_EPOCH,
            fault: None,
            sightings,
        })?;
        Ok(())
    }

    /// A read that brought nothing: what it says about the provider as a whole (GH-SYNC-38, GH-SYNC-43).
    fn note_read_fault(&mut self, mut row: ProviderRow, fault: &ReadFault) -> Answer<()> {
        let words = fault.to_string();
        let changed = row.error.as_deref() != Some(words.as_str());
        row.error = Some(words.clone());
        row.next_sweep_at = after(self.now, self.rules.config.sweep.fast);
        match fault {
            ReadFault::SignedOut(_) => row.signed_out = true,
            // A spent quota stops its own resource: what goes elsewhere goes on, and what is read waits for its own time.
            ReadFault::Wait { until, .. } => row.next_sweep_at = *until,
            ReadFault::Unreachable(_) => row.next_sweep_at = after(self.now, REACH_AGAIN.min(self.rules.config.sweep.fast)),
            ReadFault::NotFound(_) | ReadFault::Unusable(_) => {}
        }
        self.tx.put_provider(&row)?;
        if changed {
            self.event(NewEvent { data: json!({ "now": words }), ..event(EventKind::HealthChanged, GITHUB) })?;
        }
        Ok(())
    }

    fn has_post_in_doubt(&self, unit: &UnitRef) -> Answer<bool> {
        let posts = self.tx.posts(&PostFilter { unit: Some(unit.clone()), ..PostFilter::default() })?;
        Ok(posts.iter().any(|p| p.state == PostState::Sending || (p.state == PostState::Failed && p.maybe_posted)))
    }

    /// Our own posts that a read shows: one that was in doubt is settled by it (GH-PUB-29, GH-PUB-30). A post whose call is in
    /// flight is left to that call.
    fn settle_echoes(&mut self, unit: &UnitRef) -> Answer<()> {
        let (Some(row), Some(viewer)) = (self.tx.pull(unit)?, self.viewer()?) else { return Ok(()) };
        let Some(detail) = row.detail else { return Ok(()) };
        let posts = self.tx.posts(&PostFilter { unit: Some(unit.clone()), ..PostFilter::default() })?;
        let reviews = detail.reviews.iter().filter(|r| r.state != ReviewState::Pending);
        let shown = reviews
            .map(|r| (&r.id, r.database_id, &r.author, &r.body, &r.url))
            .chain(detail.comments.iter().map(|c| (&c.id, c.database_id, &c.author, &c.body, &c.url)))
            .chain(detail.threads.iter().flat_map(|t| &t.comments).map(|c| (&c.id, c.database_id, &c.author, &c.body, &c.url)));
        for (node_id, database_id, author, body, url) in shown {
            let sent = |id: &str| posts.iter().find(|p| p.remote.as_ref().is_some_and(|r| r.node_id == id)).map(|p| p.id);
            let Some(id) = own_post(node_id, author.as_ref(), body, &viewer, sent) else { continue };
            if !posts.iter().any(|p| p.id == id) {
                continue;
            }
            // As it is now: what it shows twice is settled by the first.
            let Some(post) = self.tx.post(id)? else { continue };
            let unsettled = match post.state {
                PostState::Sending => self.tx.open_attempt(id)?.is_none(),
                // One that look-ups did not show, and one that is about to be tried again, may be there all the same.
                PostState::Failed | PostState::Queued => post.started_at.is_some(),
                PostState::Held | PostState::Sent | PostState::Dropped => false,
            };
            if unsettled {
                let remote = RemotePost { node_id: node_id.clone(), database_id, url: url.clone() };
                let actor = Actor::Provider(viewer.login.clone());
                let settled = self.sheltered(|cx| cx.post_is_sent(post.clone(), PostEvent::Confirm, Some(remote), &actor))?;
                if let Err(fault) = settled {
                    tracing::error!(post = %id, %fault, url, "a post is there that cannot be counted as sent");
                    self.tell_of_second(&post, url)?;
                }
            }
        }
        Ok(())
    }

    /// A post that was given up is there after all, beside another review of its round: the person is told, and it stays failed.
    fn tell_of_second(&mut self, post: &PostRow, url: &str) -> Answer<()> {
        let cause =
            format!("it is at github all the same, beside another post of its round: {url}; take back the one you do not want");
        if post.cause == cause {
            return Ok(());
        }
        let row = PostRow { cause: cause.clone(), changed_at: self.now, ..post.clone() };
        self.tx.update_post(post.id, post.state, &row)?;
        self.event(NewEvent { data: json!({ "cause": cause }), ..self.of_post(&row, EventKind::PostDoubtful, Actor::Daemon) })
    }

    /// A list that lacks a review which the ledger holds as sent is not whole yet, and is read again soon (GH-SYNC-26). One that is
    /// still missing after a slow sweep's time will not come.
    fn repeat_incomplete(&mut self, unit: &UnitRef) -> Answer<()> {
        let Some(mut row) = self.tx.pull(unit)? else { return Ok(()) };
        let Some(detail) = &row.detail else { return Ok(()) };
        let patience = self.rules.config.sweep.slow;
        let missing = self.tx.sent_reviews(unit)?.into_iter().any(|post| {
            let shown = |id: &str| detail.reviews.iter().any(|review| review.id == id);
            self.now.duration_since(post.changed_at) < patience && post.remote.is_some_and(|remote| !shown(&remote.node_id))
        });
        if missing {
            row.wants_detail = true;
            row.read_after = after(self.now, READ_AGAIN);
            self.tx.put_pull(&row)?;
        }
        Ok(())
    }

    /// Everything pending on a unit leaves the plan (P7), its open gates superseded.
    pub(super) fn withdraw_items(&mut self, unit: &UnitRef, reason: &str) -> Answer<()> {
        for item in self.tx.pending_items_of(unit)? {
            self.leave_plan(&item, reason)?;
        }
        Ok(())
    }

    /// One item leaves the plan; where it was the one that asked for trust, the next one asks.
    pub(super) fn leave_plan(&mut self, item: &wloop_store::rows::ItemRow, reason: &str) -> Answer<()> {
        self.leave(item, reason)?;
        if item.state == ItemState::Blocked { self.blocked_left(item) } else { Ok(()) }
    }

    /// One item leaves the plan: an open gate is superseded, a released one keeps its status and says why nothing started.
    pub(super) fn leave(&mut self, item: &wloop_store::rows::ItemRow, reason: &str) -> Answer<()> {
        self.step_item(item, ItemEvent::Leave, Some(reason))?;
        let row = self.gate(item.gate)?;
        if row.gate.closed.is_none() {
            self.supersede(&row, reason, &Actor::Daemon)?;
        } else {
            self.consequence_ran(&row, &format!("not started: {reason}"))?;
            self.end_task_of(&row, wloop_core::gate::GateStatus::Superseded)?;
        }
        self.event(NewEvent {
            unit: Some(item.unit.clone()),
            gate: Some(item.gate),
            data: json!({ "why": reason }),
            ..event(EventKind::RoundGone, item.workflow.clone())
        })
    }
}

/// What was seen of a pull request when, after an answer that GitHub gave at `at` by its own clock (GH-SYNC-46).
fn sightings(stored: Option<&PullRow>, summary: &Summary, at: Timestamp) -> Sightings {
    stored.map(|row| row.sightings.clone()).unwrap_or_default().see(summary, at)
}

/// An instant a while later.
pub(super) fn after(now: Timestamp, wait: SignedDuration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}
