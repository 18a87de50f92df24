//! The post ledger's state machine (spec 15.7): what goes outside, once.

use jiff::{SignedDuration, Timestamp};

use crate::words::words;

/// How far a post is. A draft's delivery state is its post's (15.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PostState {
    /// Under an open gate (O1).
    Held,
    /// Released; not yet tried, or to be tried again (O2, O3).
    Queued,
    /// An attempt is committed; the call is in flight or its outcome is in doubt (O5).
    Sending,
    /// At the provider (O7).
    Sent,
    /// Not sent, or it cannot be told (O6, O9).
    Failed,
    /// Refused, withdrawn or discarded (O4).
    Dropped,
}

words!(PostState {
    Held = "held",
    Queued = "queued",
    Sending = "sending",
    Sent = "sent",
    Failed = "failed",
    Dropped = "dropped",
});

/// What happens to a post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostEvent {
    /// Its gate let it out (O3).
    Release,
    /// It moves (back) under a gate before any call (O12).
    Hold,
    /// The sender commits an attempt (O5).
    Try,
    /// It cannot be taken, before any call (O6).
    CannotTake,
    /// Confirmed, or found by a look-up or in a sync (O7, GH-PUB-30).
    Confirm,
    /// The provider wrote nothing and asks to wait (O8).
    Wait,
    /// Refused for good, or proved absent (O9).
    Refuse,
    /// It cannot be told (O9).
    CannotTell,
    /// The person tries again (O10).
    Retry,
    /// The person says that it was sent; only of one that may have been (O11).
    WasSent,
    /// Refused, withdrawn or discarded (O4).
    Drop,
}

/// State and doubt of a post together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The state.
    pub state: PostState,
    /// Whether a failed one may have reached the provider (DRAFT-15).
    pub maybe_posted: bool,
}

/// A step that the machine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a post that is {from} takes no such step")]
pub struct NoStep {
    /// The present state.
    pub from: PostState,
}

impl Delivery {
    /// A post that was never tried.
    #[must_use]
    pub fn new(state: PostState) -> Self {
        Self { state, maybe_posted: false }
    }

    /// The next state.
    ///
    /// # Errors
    /// [`NoStep`] where spec 15.7 has no such row.
    pub fn step(self, event: PostEvent) -> Result<Self, NoStep> {
        use PostEvent as E;
        use PostState as S;
        let to = |state| Ok(Self { state, maybe_posted: false });
        // A retry keeps the doubt readable until it is settled (K11).
        let keep = |state| Ok(Self { state, maybe_posted: self.maybe_posted });
        match (self.state, event) {
            (S::Held, E::Release) => to(S::Queued),
            (S::Held | S::Queued, E::Hold) => keep(S::Held),
            (S::Queued, E::Try) | (S::Sending, E::Try) => keep(S::Sending),
            (S::Queued, E::CannotTake) => keep(S::Failed),
            // A sync may show a post that was given up, or is about to be tried again.
            (S::Queued | S::Sending | S::Failed, E::Confirm) => to(S::Sent),
            (S::Sending, E::Wait) => to(S::Queued),
            (S::Sending, E::Hold) => to(S::Held),
            (S::Sending, E::Refuse) => to(S::Failed),
            (S::Sending, E::CannotTell) => Ok(Self { state: S::Failed, maybe_posted: true }),
            (S::Failed, E::Retry) => keep(if self.maybe_posted { S::Sending } else { S::Queued }),
            (S::Failed, E::WasSent) if self.maybe_posted => keep(S::Sent),
            (S::Held | S::Queued | S::Failed, E::Drop) => keep(S::Dropped),
            (S::Held, E::Try | E::CannotTake | E::Confirm | E::Wait | E::Refuse | E::CannotTell | E::Retry | E::WasSent)
            | (S::Queued, E::Release | E::Wait | E::Refuse | E::CannotTell | E::Retry | E::WasSent)
            | (S::Sending, E::Release | E::CannotTake | E::Retry | E::WasSent | E::Drop)
            | (S::Failed, E::Release | E::Hold | E::Try | E::CannotTake | E::Wait | E::Refuse | E::CannotTell | E::WasSent)
            | (S::Sent | S::Dropped, _) => Err(NoStep { from: self.state }),
        }
    }
}

/// After a doubt, how long until each look-up (GH-PUB-07).
pub const LOOK_UPS: [SignedDuration; 3] =
    [SignedDuration::from_secs(2), SignedDuration::from_secs(5), SignedDuration::from_secs(15)];

/// What follows from a look-up that did not find the post.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLookUp {
    /// Look again at this instant.
    Again(Timestamp),
    /// Three complete reads do not show it: it is not there.
    Absent,
    /// No way to tell.
    CannotTell,
}

/// What follows when look-up number `done` (from 1) did not show the post; `complete` of them were complete reads, this one
/// included. Waits are counted from the doubt (GH-PUB-07).
#[must_use]
pub fn after_look_up(doubt_at: Timestamp, done: usize, complete: usize, now: Timestamp) -> AfterLookUp {
    match LOOK_UPS.get(done) {
        Some(wait) => {
            let due = doubt_at.checked_add(*wait).unwrap_or(now);
            AfterLookUp::Again(due.max(now))
        }
        None if complete >= LOOK_UPS.len() => AfterLookUp::Absent,
        None => AfterLookUp::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [PostEvent; 11] = [
        PostEvent::Release,
        PostEvent::Hold,
        PostEvent::Try,
        PostEvent::CannotTake,
        PostEvent::Confirm,
        PostEvent::Wait,
        PostEvent::Refuse,
        PostEvent::CannotTell,
        PostEvent::Retry,
        PostEvent::WasSent,
        PostEvent::Drop,
    ];

    #[test]
    fn nothing_is_tried_that_was_not_released() {
        // DRAFT-06, DRAFT-08, GH-PUB-02
        for (state, _) in PostState::ALL {
            let tried = Delivery::new(*state).step(PostEvent::Try);
            assert_eq!(tried.is_ok(), matches!(state, PostState::Queued | PostState::Sending), "{state}");
        }
    }

    #[test]
    fn a_sent_or_dropped_post_is_final() {
        for state in [PostState::Sent, PostState::Dropped] {
            for event in ALL {
                assert!(Delivery::new(state).step(event).is_err(), "{state} {event:?}");
            }
        }
    }

    #[test]
    fn a_doubtful_post_is_looked_up_before_it_is_sent_again() {
        // DRAFT-11, GH-PUB-09, K11
        let sending = Delivery::new(PostState::Sending);
        let doubtful = sending.step(PostEvent::CannotTell).unwrap();
        assert_eq!(doubtful, Delivery { state: PostState::Failed, maybe_posted: true });
        let again = doubtful.step(PostEvent::Retry).unwrap();
        assert_eq!(again, Delivery { state: PostState::Sending, maybe_posted: true });
        let refused = sending.step(PostEvent::Refuse).unwrap();
        assert_eq!(refused.step(PostEvent::Retry).unwrap().state, PostState::Queued);
        assert!(refused.step(PostEvent::WasSent).is_err(), "one proved absent was not sent");
        assert_eq!(doubtful.step(PostEvent::WasSent).unwrap().state, PostState::Sent);
    }

    #[test]
    fn absence_needs_three_complete_reads() {
        // GH-PUB-07, K6, K7
        let doubt: Timestamp = "2026-11-30T09:00:00Z".parse().unwrap();
        let at = |s: i64| doubt + SignedDuration::from_secs(s);
        assert_eq!(after_look_up(doubt, 1, 1, at(2)), AfterLookUp::Again(at(5)));
        assert_eq!(after_look_up(doubt, 2, 2, at(5)), AfterLookUp::Again(at(15)));
        assert_eq!(after_look_up(doubt, 2, 2, at(60)), AfterLookUp::Again(at(60)), "a late look-up is not in the past");
        assert_eq!(after_look_up(doubt, 3, 3, at(15)), AfterLookUp::Absent);
        assert_eq!(after_look_up(doubt, 3, 2, at(15)), AfterLookUp::CannotTell);
        assert_eq!(after_look_up(doubt, 3, 0, at(15)), AfterLookUp::CannotTell);
    }
}
