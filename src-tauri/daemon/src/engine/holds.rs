//! The person's pause and mute, on a unit and on everything (WIN-13, WIN-39, WIN-40, ROUND-28).

use jiff::Timestamp;
use serde_json::json;
use wloop_core::event::EventKind;
use wloop_core::gate::Actor;
use wloop_core::id::UnitRef;
use wloop_core::plan::ItemState;
use wloop_core::stops::HoldKind;
use wloop_store::rows::{HoldRow, NewEvent};

use super::{Cx, Reply, event};
use crate::refusal::{Answer, Refusal, RefusalKind};

/// Why a round left the plan that the person paused.
pub(super) const PAUSED: &str = "paused";

impl Cx<'_> {
    /// Whether the person paused a unit, or everything.
    pub(super) fn is_paused(&self, unit: &UnitRef) -> Answer<bool> {
        Ok(self.tx.is_held(unit, HoldKind::Pause, self.now)?)
    }

    /// Pauses or mutes. A pause takes every automatic round out of the plan that no agent was given yet; its guidance is kept, and
    /// what runs goes on (P8, K39). Asked for twice, nothing more happens.
    pub(super) fn hold(&mut self, unit: Option<&UnitRef>, kind: HoldKind, until: Option<Timestamp>) -> Answer<Reply> {
        if let Some(unit) = unit {
            self.label(unit)?;
        }
        if let Some(until) = until.filter(|until| *until <= self.now) {
            let words = format!("`until` is {until}, which is past; give a time to come, or none");
            return Err(Refusal::new(RefusalKind::Invalid, words).field("until").into());
        }
        let before = self.tx.holds()?.into_iter().find(|hold| hold.unit.as_ref() == unit && hold.kind == kind);
        if before.as_ref().is_none_or(|hold| hold.until != until) {
            self.tx.put_hold(&HoldRow { unit: unit.cloned(), kind, until, since: self.now })?;
            self.tell_hold(unit, kind, true, until, self.acting.clone())?;
        }
        if kind == HoldKind::Pause {
            self.drop_automatic(unit)?;
        }
        Ok(Reply::Nothing)
    }

    /// Takes a pause or a mute away; what is due then is planned anew, with a full window (WIN-13).
    pub(super) fn unhold(&mut self, unit: Option<&UnitRef>, kind: HoldKind) -> Answer<Reply> {
        if let Some(unit) = unit {
            self.label(unit)?;
        }
        if self.tx.remove_hold(unit, kind)? {
            self.tell_hold(unit, kind, false, None, self.acting.clone())?;
            self.hold_is_over(unit, kind)?;
        }
        Ok(Reply::Nothing)
    }

    /// Holds that end by themselves.
    pub(super) fn end_holds(&mut self) -> Answer<()> {
        for hold in self.tx.holds()? {
            if hold.until.is_some_and(|until| until <= self.now) && self.tx.remove_hold(hold.unit.as_ref(), hold.kind)? {
                self.tell_hold(hold.unit.as_ref(), hold.kind, false, hold.until, Actor::Daemon)?;
                self.hold_is_over(hold.unit.as_ref(), hold.kind)?;
            }
        }
        Ok(())
    }

    fn hold_is_over(&mut self, unit: Option<&UnitRef>, kind: HoldKind) -> Answer<()> {
        match (kind, unit) {
            (HoldKind::Mute, _) => Ok(()),
            (HoldKind::Pause, Some(unit)) => self.plan_unit(unit),
            // A sweep looks at every unit.
            (HoldKind::Pause, None) => {
                let mut row = self.github()?;
                row.next_sweep_at = row.next_sweep_at.min(self.now);
                Ok(self.tx.put_provider(&row)?)
            }
        }
    }

    fn tell_hold(
        &mut self,
        unit: Option<&UnitRef>,
        kind: HoldKind,
        on: bool,
        until: Option<Timestamp>,
        actor: Actor,
    ) -> Answer<()> {
        let told = match (kind, unit.is_some(), on) {
            (HoldKind::Pause, false, true) => EventKind::Paused,
            (HoldKind::Pause, false, false) => EventKind::Resumed,
            (HoldKind::Pause, true, true) => EventKind::UnitPaused,
            (HoldKind::Pause, true, false) => EventKind::UnitResumed,
            (HoldKind::Mute, _, true) => EventKind::UnitMuted,
            (HoldKind::Mute, _, false) => EventKind::UnitUnmuted,
        };
        let key = if unit.is_none() { "everything" } else { "" };
        self.event(NewEvent { unit: unit.cloned(), data: json!({ "until": until }), actor, ..event(told, key) })
    }

    /// Automatic rounds that became no turn leave the plan. What the person asked for by hand stays (WIN-13).
    fn drop_automatic(&mut self, unit: Option<&UnitRef>) -> Answer<()> {
        let items = match unit {
            Some(unit) => self.tx.pending_items_of(unit)?,
            None => self.tx.pending_items()?,
        };
        let mut blocked = false;
        for item in items.iter().filter(|item| !item.by_hand) {
            self.leave(item, PAUSED)?;
            blocked |= item.state == ItemState::Blocked;
        }
        if blocked { self.settle_blocks() } else { Ok(()) }
    }
}
