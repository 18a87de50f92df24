//! A turn: one prompt given to an agent (spec 15.6).

use crate::words::words;

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnState {
    /// Its row and pins are written; nothing was given to an agent (T0).
    Starting,
    /// The prompt was given (T1).
    Sent,
    /// The agent took it up (T2).
    Started,
    /// It stopped and asks (T3, T9).
    Asked,
    /// It recorded its outcome (T5, T10).
    Recorded,
    /// The start or the run failed (T6).
    Failed,
    /// Somebody ended it (T7, T11).
    Dismissed,
    /// The agent ended without a record (T8).
    Unrecorded,
}

words!(TurnState {
    Starting = "starting",
    Sent = "sent",
    Started = "started",
    Asked = "asked",
    Recorded = "recorded",
    Failed = "failed",
    Dismissed = "dismissed",
    Unrecorded = "unrecorded",
});

/// What happens to a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEvent {
    /// The prompt was given.
    Give,
    /// The agent's first line or first call.
    TakeUp,
    /// It recorded `asked`, or its post must be asked.
    Ask,
    /// An answer reached the session.
    Answer,
    /// It recorded its outcome, or its post gate was settled.
    Record,
    /// The start or the run failed.
    Fail,
    /// Cancelled, drained, or its unit is gone.
    Dismiss,
    /// The agent ended without a record.
    EndSilently,
}

/// A step that the machine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a turn that is {from} takes no such step")]
pub struct NoStep {
    /// The present state.
    pub from: TurnState,
}

impl TurnState {
    /// Whether it still holds its unit (ROUND-09).
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Starting | Self::Sent | Self::Started | Self::Asked => true,
            Self::Recorded | Self::Failed | Self::Dismissed | Self::Unrecorded => false,
        }
    }

    /// Whether a process works on it, so that its session is not driven (RES-08).
    #[must_use]
    pub fn is_running(self) -> bool {
        match self {
            Self::Starting | Self::Sent | Self::Started => true,
            Self::Asked | Self::Recorded | Self::Failed | Self::Dismissed | Self::Unrecorded => false,
        }
    }

    /// The next state.
    ///
    /// # Errors
    /// [`NoStep`] where spec 15.6 has no such row.
    pub fn step(self, event: TurnEvent) -> Result<Self, NoStep> {
        use TurnEvent as E;
        match (self, event) {
            (Self::Starting, E::Give) => Ok(Self::Sent),
            (Self::Sent, E::TakeUp) | (Self::Asked, E::Answer) => Ok(Self::Started),
            (Self::Started, E::Ask) => Ok(Self::Asked),
            (Self::Started | Self::Asked, E::Record) => Ok(Self::Recorded),
            (Self::Starting | Self::Sent | Self::Started | Self::Asked, E::Fail) => Ok(Self::Failed),
            (Self::Starting | Self::Sent | Self::Started | Self::Asked, E::Dismiss) => Ok(Self::Dismissed),
            (Self::Sent | Self::Started, E::EndSilently) => Ok(Self::Unrecorded),
            (Self::Starting, E::TakeUp | E::Ask | E::Answer | E::Record | E::EndSilently)
            | (Self::Sent, E::Give | E::Ask | E::Answer | E::Record)
            | (Self::Started, E::Give | E::TakeUp | E::Answer)
            | (Self::Asked, E::Give | E::TakeUp | E::Ask | E::EndSilently)
            | (Self::Recorded | Self::Failed | Self::Dismissed | Self::Unrecorded, _) => Err(NoStep { from: self }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_given_once_and_an_ended_turn_stays_ended() {
        // K17, RES-08
        for (state, _) in TurnState::ALL {
            assert_eq!(state.step(TurnEvent::Give).is_ok(), *state == TurnState::Starting, "{state}");
            if !state.is_open() {
                for event in [TurnEvent::Record, TurnEvent::Fail, TurnEvent::Dismiss, TurnEvent::Ask, TurnEvent::Answer] {
                    assert!(state.step(event).is_err(), "{state} {event:?}");
                }
            }
        }
        assert!(!TurnState::Asked.is_running());
    }

    #[test]
    fn a_stopped_turn_is_recorded_or_answered() {
        // AMB-10, AMB-12
        assert_eq!(TurnState::Started.step(TurnEvent::Ask), Ok(TurnState::Asked));
        assert_eq!(TurnState::Asked.step(TurnEvent::Record), Ok(TurnState::Recorded));
        assert_eq!(TurnState::Asked.step(TurnEvent::Answer), Ok(TurnState::Started));
        assert!(TurnState::Asked.step(TurnEvent::EndSilently).is_err(), "the process of a stopped turn may end");
    }
}
