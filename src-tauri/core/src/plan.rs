//! A planned round (spec 15.5): it waits on its plan gate, counts down, is released, and becomes a turn or goes away.

use crate::words::words;

/// How far a plan item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemState {
    /// Its gate waits for the person (P1).
    Waiting,
    /// Its gate has a window (P2).
    CountingDown,
    /// Its gate was approved; the round has not become a turn yet (P3 to P5).
    Released,
    /// The daily cap holds it (P9).
    Capped,
    /// The agent blocks the start on a question of its own (P12).
    Blocked,
    /// It became a turn (P15).
    Turned,
    /// Skipped, or run: its key is not planned again (P6, P19).
    Handled,
    /// It left the plan without running (P7, P8, P11, P14, P18).
    Gone,
}

words!(ItemState {
    Waiting = "waiting",
    CountingDown = "counting_down",
    Released = "released",
    Capped = "capped",
    Blocked = "blocked",
    Turned = "turned",
    Handled = "handled",
    Gone = "gone",
});

/// What happens to a plan item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemEvent {
    /// Its gate was approved.
    Release,
    /// The person skipped it.
    Skip,
    /// Its unit, its condition or its key is gone, or it was paused.
    Leave,
    /// The daily cap holds it at release.
    Cap,
    /// The agent blocks the start.
    Block,
    /// The block lifted, or was trusted.
    Unblock,
    /// Its turn row was written.
    Start,
    /// Its turn never took the prompt and is not repeated by itself (K17), or the daemon stopped while it was about to be started
    /// and left no record of it (K19).
    Abandon,
}

/// A step that the machine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a planned round that is {from} takes no such step")]
pub struct NoStep {
    /// The present state.
    pub from: ItemState,
}

impl ItemState {
    /// Whether it still wants something: shown in the plan.
    #[must_use]
    pub fn is_pending(self) -> bool {
        match self {
            Self::Waiting | Self::CountingDown | Self::Released | Self::Capped | Self::Blocked => true,
            Self::Turned | Self::Handled | Self::Gone => false,
        }
    }

    /// The next state.
    ///
    /// # Errors
    /// [`NoStep`] where spec 15.5 has no such row.
    pub fn step(self, event: ItemEvent) -> Result<Self, NoStep> {
        use ItemEvent as E;
        match (self, event) {
            (Self::Waiting | Self::CountingDown | Self::Capped, E::Release) | (Self::Blocked, E::Unblock) => Ok(Self::Released),
            (Self::Waiting | Self::CountingDown | Self::Capped, E::Skip) => Ok(Self::Handled),
            (Self::Waiting | Self::CountingDown | Self::Released | Self::Capped | Self::Blocked, E::Leave) => Ok(Self::Gone),
            (Self::Released, E::Cap) => Ok(Self::Capped),
            (Self::Released | Self::Turned, E::Block) => Ok(Self::Blocked),
            (Self::Released, E::Start) => Ok(Self::Turned),
            (Self::Turned | Self::Released, E::Abandon) => Ok(Self::Handled),
            (Self::Waiting | Self::CountingDown, E::Cap | E::Block | E::Unblock | E::Start | E::Abandon)
            | (Self::Released, E::Release | E::Skip | E::Unblock)
            | (Self::Capped, E::Cap | E::Block | E::Unblock | E::Start | E::Abandon)
            | (Self::Blocked, E::Release | E::Skip | E::Cap | E::Block | E::Start | E::Abandon)
            | (Self::Turned, E::Release | E::Skip | E::Leave | E::Cap | E::Unblock | E::Start)
            | (Self::Handled | Self::Gone, _) => Err(NoStep { from: self }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_starts_only_after_its_release_and_once() {
        // WIN-01, WIN-10, WIN-18
        for (state, _) in ItemState::ALL {
            let starts = state.step(ItemEvent::Start).is_ok();
            assert_eq!(starts, *state == ItemState::Released, "{state}");
        }
        assert_eq!(ItemState::CountingDown.step(ItemEvent::Skip), Ok(ItemState::Handled));
        assert!(ItemState::Released.step(ItemEvent::Skip).is_err());
        assert!(ItemState::Turned.step(ItemEvent::Release).is_err());
        assert_eq!(ItemState::Turned.step(ItemEvent::Abandon), Ok(ItemState::Handled));
    }

    #[test]
    fn what_holds_a_round_lets_it_go_by_its_own_way_alone() {
        // WIN-28, WIN-29, WIN-30, GATE-51, GATE-52
        let reaches = |from: ItemState, to| -> Vec<ItemEvent> {
            let all = [
                ItemEvent::Release,
                ItemEvent::Skip,
                ItemEvent::Leave,
                ItemEvent::Cap,
                ItemEvent::Block,
                ItemEvent::Unblock,
                ItemEvent::Start,
                ItemEvent::Abandon,
            ];
            all.into_iter().filter(|event| from.step(*event) == Ok(to)).collect()
        };
        assert_eq!(reaches(ItemState::Capped, ItemState::Released), [ItemEvent::Release]);
        assert_eq!(reaches(ItemState::Capped, ItemState::Handled), [ItemEvent::Skip]);
        assert_eq!(reaches(ItemState::Blocked, ItemState::Released), [ItemEvent::Unblock]);
        for held in [ItemState::Capped, ItemState::Blocked] {
            assert_eq!(reaches(held, ItemState::Gone), [ItemEvent::Leave]);
            assert_eq!(reaches(held, ItemState::Turned), []);
        }
        assert_eq!(reaches(ItemState::Released, ItemState::Capped), [ItemEvent::Cap]);
        assert_eq!(ItemState::Turned.step(ItemEvent::Block), Ok(ItemState::Blocked), "an agent that would not start");
    }
}
