//! What a draft's record says, and what it does not.

use super::*;

#[test]
fn the_gate_alone_holds_the_decision_in_the_profile_s_words() {
    // DRAFT-02
    let (mut rig, detail, draft, gate) = Rig::with_draft("Is it 20?");
    let entry = rig.rules.profile.gate("draft").unwrap().clone();
    let asks = rig.gate(gate).gate;
    let named =
        |intents: &[wloop_core::gate::Intent]| intents.iter().map(|i| (i.name.clone(), i.label.clone())).collect::<Vec<_>>();
    assert_eq!(named(&asks.intents), named(&entry.intents));
    // The draft tells how far its delivery got: the same word before and after it is decided by another intent's gate.
    assert_eq!(rig.post(draft).state, PostState::Held);
    rig.resolve(gate, "approve", None).unwrap();
    assert_eq!((rig.gate(gate).gate.status, rig.post(draft).state), (GateStatus::Approved, PostState::Queued));
    rig.try_send(draft, at_head(&detail));
    rig.outcome(draft, SendOutcome::Refused { kind: No::Invalid, why: "Validation Failed".into() });
    assert_eq!(
        (rig.gate(gate).gate.status, rig.post(draft).state),
        (GateStatus::Approved, PostState::Failed),
        "approved it stays"
    );
}

#[test]
fn a_draft_carries_its_purpose_its_delivery_and_its_effects() {
    // DRAFT-03
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.sweep(&[&detail]);
    for (purpose, effects) in [("nudge", vec!["pr.nudged".to_owned()]), ("a label of my own", vec![]), ("", vec![])] {
        let new = NewDraft { purpose: purpose.to_owned(), effects: effects.clone(), ..mine(&detail, &format!("For {purpose}")) };
        let (draft, _) = rig.wrote(new);
        let row = rig.draft(draft);
        assert_eq!((row.purpose.as_str(), row.delivery), (purpose, Delivery::Comment));
        let declared: Vec<String> = rig.read().draft_effects(draft).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(declared, effects);
    }
    for delivery in [Delivery::Reaction, Delivery::Edit, Delivery::Deletion] {
        let refusal = refused(rig.ask(Request::ProposeDraft(Box::new(NewDraft { delivery, ..mine(&detail, "x") }))));
        assert!(refusal.detail.contains("github takes comments only"), "{refusal:?}");
    }
}

#[test]
fn nothing_follows_from_the_purpose() {
    // DRAFT-04
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.sweep(&[&detail]);
    for purpose in ["close", "nudge", "ask_owner"] {
        let new = NewDraft { purpose: purpose.to_owned(), ..mine(&detail, &format!("A {purpose} message")) };
        let (draft, gate) = rig.wrote(new);
        rig.resolve(gate, "approve", None).unwrap();
        rig.try_send(draft, at_head(&detail));
        rig.outcome(draft, SendOutcome::Sent(remote(draft_number(&rig))));
        assert_eq!(rig.post(draft).state, PostState::Sent, "{purpose}");
        assert!(rig.read().draft_effects(draft).unwrap().is_empty());
    }
    let row = rig.read().pull(&unit(&detail)).unwrap().unwrap();
    assert!(row.watched && row.detail.unwrap().is_open(), "a closing message closes nothing by itself");
    assert_eq!(rig.read().mark(&unit(&detail), "nudged").unwrap(), None);
}

/// A number that no remote post of the rig has yet.
fn draft_number(rig: &Rig) -> u64 {
    100 + u64::try_from(rig.posts().iter().filter(|post| post.state == PostState::Sent).count()).unwrap()
}

#[test]
fn a_turn_that_proposed_a_draft_did_start() {
    // RUN-30, DRAFT-01
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    let (draft, _) = rig.drafted(&turn, "Is it 20?");
    let kind = wloop_core::stops::BlockKind::Folder;
    rig.end(turn.id, TurnEnd::Blocked { kind, folder: String::new(), words: "trust?".into() });
    assert!(rig.open_gates().iter().all(|g| g.gate.kind != GateKind::Trust), "it is not put back to run a second time");
    assert!(!rig.turn(turn.id).state.is_open());
    assert_eq!(rig.post(draft).state, PostState::Held, "and its draft waits for the person");
}
