//! A draft's decision against its delivery (spec 15.3): the gate alone decides; the draft's post only tells how far delivery got.

use crate::gate::GateStatus;
use crate::post::{Delivery, NoStep, PostEvent};

/// What a draft's post does when the draft's gate closes with `status` (D3, D4, D6, D7).
///
/// # Errors
/// [`NoStep`] when the draft is not held any more, so that running the consequence again queues nothing twice (CONS-05).
pub fn on_gate(delivery: Delivery, status: GateStatus) -> Result<Delivery, NoStep> {
    match status {
        GateStatus::Approved => delivery.step(PostEvent::Release),
        GateStatus::Rejected | GateStatus::Dismissed | GateStatus::Superseded | GateStatus::Answered => {
            delivery.step(PostEvent::Drop)
        }
        GateStatus::Open => Err(NoStep { from: delivery.state }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::post::PostState;

    #[test]
    fn only_an_approval_queues_a_draft_and_only_once() {
        // DRAFT-06, DRAFT-07, CONS-05
        let held = Delivery::new(PostState::Held);
        for (status, _) in GateStatus::ALL {
            let after = on_gate(held, status).map(|d| d.state);
            match status {
                GateStatus::Approved => assert_eq!(after, Ok(PostState::Queued)),
                GateStatus::Open => assert!(after.is_err()),
                GateStatus::Rejected | GateStatus::Answered | GateStatus::Dismissed | GateStatus::Superseded => {
                    assert_eq!(after, Ok(PostState::Dropped));
                }
            }
        }
        for state in [PostState::Queued, PostState::Sending, PostState::Sent] {
            assert!(on_gate(Delivery::new(state), GateStatus::Approved).is_err(), "{state}");
        }
    }
}
