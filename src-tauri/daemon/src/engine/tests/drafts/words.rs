//! What a draft is: a gate that decides, a delivery that is made, and effects that are declared; nothing follows from its name.

use super::*;

/// A home whose draft gate asks in other words and is answered by other names.
fn reworded() -> Rig {
    let bundled = BUNDLED.iter().find(|(path, _)| *path == "gates.toml").unwrap().1;
    let own = bundled
        .replace(
            "{ name = \"approve\", label = \"Approve\", status = \"approved\" },\n  { name = \"discard\"",
            "{ name = \"off\", label = \"Off it goes\", status = \"approved\" },\n  { name = \"bin\"",
        )
        .replacen("label = \"Discard\"", "label = \"Into the bin\"", 1)
        .replacen("default = \"approve\"", "default = \"off\"", 1);
    assert!(own.contains("Off it goes") && own.contains("Into the bin") && own.contains("default = \"off\""));
    Rig::with("", &[("gates.toml", &own)])
}

#[test]
fn the_gate_alone_holds_the_decision_in_the_words_of_the_profile() {
    // DRAFT-02, GATE-16, GATE-17, RES-18
    for (intent, status, state) in
        [("off", GateStatus::Approved, PostState::Queued), ("bin", GateStatus::Rejected, PostState::Dropped)]
    {
        let mut rig = reworded();
        let detail = pull(1);
        let turn = rig.started(&detail);
        let (draft, gate) = rig.drafted(&turn, "Is it 20?");
        let offered: Vec<_> = rig.gate(gate).gate.intents.into_iter().map(|i| (i.name, i.label)).collect();
        assert_eq!(offered, [("off".to_owned(), "Off it goes".to_owned()), ("bin".to_owned(), "Into the bin".to_owned())]);
        for bundled in ["approve", "discard"] {
            assert_eq!(refused(rig.resolve(gate, bundled, None)).field, Some("intent"), "{bundled} is no word of this profile");
        }
        let (row, post) = (rig.draft(draft), rig.post(draft));
        rig.resolve(gate, intent, None).unwrap();
        let closed = rig.gate(gate).gate;
        assert_eq!((closed.status, closed.closed.as_ref().unwrap().intent.as_deref()), (status, Some(intent)));
        assert_eq!(closed.closed.unwrap().actor, Actor::PERSON);
        // The draft's row says what it is, and its post how far it got: who decided what stands in neither.
        let after = DraftRow { reason: String::new(), ..rig.draft(draft) };
        assert_eq!(after, row);
        let moved = rig.post(draft);
        assert_eq!(moved.state, state);
        let unmoved = PostRow { state: post.state, changed_at: post.changed_at, next_at: post.next_at, ..moved };
        assert_eq!(unmoved, post);
    }
    // A start carries the gate's word out, and needs no word of the draft's own for it.
    let mut rig = reworded();
    let turn = rig.started(&pull(1));
    let (draft, gate) = rig.drafted(&turn, "Is it 20?");
    rig.resolve(gate, "off", None).unwrap();
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Send(draft)));
    // And what became of its sending takes nothing of the decision back.
    rig.try_send(draft, at_head(&pull(1)));
    rig.outcome(draft, SendOutcome::Refused { kind: No::Invalid, why: "Validation Failed".into() });
    assert_eq!((rig.gate(gate).gate.status, rig.post(draft).state), (GateStatus::Approved, PostState::Failed));
}

#[test]
fn a_draft_carries_its_purpose_one_delivery_and_the_effects_that_sending_it_applies() {
    // DRAFT-03, EFF-12
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.planned(&detail);
    let long = "p".repeat(wloop_core::draft::PURPOSE_LIMIT);
    for (n, purpose) in ["nudge", "close", "ask_owner", "a thank-you", "", &long].into_iter().enumerate() {
        for effects in [vec![], vec!["pr.nudged".to_owned()]] {
            let new = NewDraft {
                purpose: purpose.into(),
                effects: effects.clone(),
                ..mine(&detail, &format!("Text {n} {}", effects.len()))
            };
            let (draft, _) = rig.wrote(new);
            rig.reopen();
            let row = rig.draft(draft);
            assert_eq!((row.purpose.as_str(), row.delivery), (purpose, Delivery::Comment));
            let kept: Vec<_> = rig.read().draft_effects(draft).unwrap();
            assert_eq!(kept, effects.iter().map(|effect| (effect.clone(), "declared".to_owned())).collect::<Vec<_>>());
            let told = rig.events().into_iter().rfind(|e| e.event.kind == EventKind::DraftProposed).unwrap().event;
            assert_eq!(
                (told.key.as_str(), &told.data["delivery"], &told.data["effects"]),
                (purpose, &json!("comment"), &json!(effects))
            );
        }
    }
    // One of five deliveries, and on a pull request it is a comment.
    let known: Vec<_> = Delivery::ALL.iter().map(|(_, word)| *word).collect();
    assert_eq!(known, ["comment", "message", "reaction", "edit", "deletion"]);
    let before = rig.posts().len();
    for wrong in [
        NewDraft { purpose: format!("{long}p"), ..mine(&detail, "x") },
        NewDraft { purpose: "two\nlines".into(), ..mine(&detail, "x") },
        NewDraft { effects: vec!["pr.nudged".into(), "unit.closed".into()], ..mine(&detail, "x") },
        NewDraft { delivery: Delivery::Reaction, ..mine(&detail, "x") },
    ] {
        assert_eq!(refused(rig.ask(Request::ProposeDraft(Box::new(wrong)))).kind, RefusalKind::Invalid);
    }
    assert_eq!(rig.posts().len(), before);
}

#[test]
fn nothing_follows_from_what_a_draft_is_for() {
    // DRAFT-04, EFF-01
    for purpose in ["close", "nudge", "ask_owner"] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let turn = rig.started(&detail);
        let arguments = json!({ "text": "Closing this, @ana.", "purpose": purpose });
        let Ok(Reply::Tool(answer)) = rig.tool(&turn, "github_draft", arguments) else { panic!("no draft") };
        let draft: PostId = answer["draft"].as_str().unwrap().parse().unwrap();
        rig.record(&turn, "nothing").unwrap();
        rig.end(turn.id, TurnEnd::Well);
        let gate = rig.post(draft).gate;
        // Another gate of the same unit and task stays what it is.
        let (other, _) = rig.wrote(mine(&detail, "Something else"));
        rig.resolve(gate, "approve", None).unwrap();
        let known = rig.read().pull(&unit(&detail)).unwrap().unwrap();
        let events = rig.events().len();
        rig.send(draft, &detail, 5);
        rig.reopen();
        rig.tick_after(60);
        assert_eq!(rig.post(draft).state, PostState::Sent);
        let row = rig.read().pull(&unit(&detail)).unwrap().unwrap();
        assert_eq!((row.watched, row.summary.state), (known.watched, PullState::Open), "{purpose}: it stays open and watched");
        assert_eq!(rig.read().mark(&unit(&detail), "nudged").unwrap(), None, "{purpose}");
        assert_eq!(rig.read().draft_effects(draft).unwrap(), []);
        assert_eq!(rig.post(other).state, PostState::Held, "{purpose}");
        let task = rig.read().task(rig.draft(other).task.unwrap()).unwrap().unwrap();
        assert_eq!(task.ended_at, None, "{purpose}: no task of it ended");
        let told: BTreeSet<_> = rig.events().split_off(events).into_iter().map(|e| e.event.kind.as_str().to_owned()).collect();
        let sending = ["post_sending", "post_sent", "draft_sent", "daemon_started"].map(str::to_owned);
        assert_eq!(told, BTreeSet::from(sending), "{purpose}: what is told of a post, and no more");
        assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Send(_) | Job::Release(_))), "{:?}", rig.jobs());
    }
}
