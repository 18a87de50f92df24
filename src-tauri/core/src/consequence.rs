//! What becomes of a resolution (spec 15.2): it is due once the resolution is written, and runs once.

use crate::words::words;

/// How far a gate's consequence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consequence {
    /// Written with the resolution; nothing of it has started (C1).
    Due,
    /// Marked run before it runs, because no row of its own would tell afterwards (C4).
    Started,
    /// Done, or found already done (C2, C5).
    Ran,
    /// It returned an error; only the person runs it again (C3, C6).
    Failed,
    /// The daemon stopped inside it: the person looks (C7).
    Unknown,
}

words!(Consequence { Due = "due", Started = "started", Ran = "ran", Failed = "failed", Unknown = "unknown" });

/// What happens to a consequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsequenceEvent {
    /// It is about to run and leaves no other record (CONS-08, CONS-09).
    Mark,
    /// It was done.
    Done,
    /// It returned an error.
    Fail,
    /// A daemon that had marked it stopped before it returned.
    Lost,
    /// The person asks for it once more (CONS-13).
    Retry,
}

/// A step that the machine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a consequence that is {from} takes no such step")]
pub struct NoStep {
    /// The present state.
    pub from: Consequence,
}

impl Consequence {
    /// The next state.
    ///
    /// # Errors
    /// [`NoStep`] where spec 15.2 has no such row.
    pub fn step(self, event: ConsequenceEvent) -> Result<Self, NoStep> {
        match (self, event) {
            (Self::Due, ConsequenceEvent::Mark) => Ok(Self::Started),
            (Self::Due | Self::Started, ConsequenceEvent::Done) => Ok(Self::Ran),
            (Self::Due | Self::Started, ConsequenceEvent::Fail) => Ok(Self::Failed),
            (Self::Started, ConsequenceEvent::Lost) => Ok(Self::Unknown),
            (Self::Failed, ConsequenceEvent::Retry) => Ok(Self::Due),
            (Self::Due, ConsequenceEvent::Lost | ConsequenceEvent::Retry)
            | (Self::Started, ConsequenceEvent::Mark | ConsequenceEvent::Retry)
            | (Self::Ran | Self::Unknown, _)
            | (Self::Failed, ConsequenceEvent::Mark | ConsequenceEvent::Done | ConsequenceEvent::Fail | ConsequenceEvent::Lost) => {
                Err(NoStep { from: self })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ConsequenceEvent::{Done, Fail, Lost, Mark, Retry};

    #[test]
    fn a_consequence_that_ran_or_cannot_be_told_never_runs_again() {
        // CONS-02, CONS-10, CONS-12, CONS-13
        for event in [Mark, Done, Fail, Lost, Retry] {
            assert!(Consequence::Ran.step(event).is_err());
            assert!(Consequence::Unknown.step(event).is_err());
        }
        assert_eq!(Consequence::Due.step(Mark), Ok(Consequence::Started));
        assert_eq!(Consequence::Started.step(Lost), Ok(Consequence::Unknown));
        assert_eq!(Consequence::Due.step(Done), Ok(Consequence::Ran));
        assert_eq!(Consequence::Due.step(Fail), Ok(Consequence::Failed));
        assert_eq!(Consequence::Failed.step(Retry), Ok(Consequence::Due));
        assert!(Consequence::Failed.step(Done).is_err(), "no tick runs a failed one again");
        assert!(Consequence::Due.step(Lost).is_err(), "one that never started is not lost");
    }
}
