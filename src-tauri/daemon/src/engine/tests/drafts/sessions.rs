//! What an agent's session may propose, and take back.

use super::*;

/// A turn whose intent allows its drafts the effect `pr.nudged`.
fn nudging() -> Rig {
    let manifest = BUNDLED.iter().find(|(path, _)| *path == "intents/review/intent.toml").unwrap().1;
    let manifest = manifest.replace("allowed_effects = []", "allowed_effects = [\"pr.nudged\"]");
    assert!(manifest.contains("pr.nudged"));
    Rig::with("", &[("intents/review/intent.toml", &manifest)])
}

#[track_caller]
fn code(answer: Answer<Reply>) -> (&'static str, String) {
    let refusal = refused(answer);
    (refusal.code.unwrap(), refusal.detail)
}

#[test]
fn an_agent_drafts_only_what_its_intent_and_the_pull_request_allow() {
    // EFF-11, EFF-12, AGENT-11, AGENT-12, APPR-57, MCP-14
    let mut rig = Rig::new();
    let (own, other, stranger) = (pull(1), pull(2), pull(3));
    rig.sweep(&[&own, &other, &stranger]);
    let gate = rig.open_gate(&own);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let item = rig.item_of(&gate).id;
    let turn = rig.prepare(item, &own);
    rig.give(turn.id);
    let draft = |rig: &mut Rig, arguments: Value| rig.tool(&turn, "github_draft", arguments);

    let (word, why) = code(draft(&mut rig, json!({ "text": "Ping", "effects": ["pr.nudged"] })));
    assert!(word == "refused" && why.starts_with("effects: ") && why.contains("`review`"), "{why}");
    let (word, why) = code(draft(&mut rig, json!({ "text": "Ping", "effects": ["unit.closed"] })));
    assert!(word == "refused" && why.contains("`unit.closed`"), "{why}");
    let (word, _) = code(draft(&mut rig, json!({ "text": "Ping", "unit": "acme/api#404" })));
    assert_eq!(word, "not_found");
    // Another one that is watched takes a draft, which waits; by its name, its reference and its address.
    for name in ["acme/api#2", "github:PR_2", "https://github.test/acme/api/pull/2"] {
        let Ok(Reply::Tool(answer)) = draft(&mut rig, json!({ "text": format!("See {name}"), "unit": name })) else {
            panic!("no draft on {name}")
        };
        let id: PostId = answer["draft"].as_str().unwrap().parse().unwrap();
        assert_eq!((rig.post(id).unit, rig.post(id).state), (unit(&other), PostState::Held));
        assert_eq!(rig.gate(rig.post(id).gate).gate.deadline, None);
    }
    // One that is not watched any more, one that ended, one that is locked.
    rig.inventory(&[&own, &other], true);
    rig.show(&Detail { summary: Summary { state: PullState::Merged, ..stranger.summary.clone() }, ..stranger.clone() });
    let (word, _) = code(draft(&mut rig, json!({ "text": "Ping", "unit": "acme/api#3" })));
    assert!(["unit_scope", "refused"].contains(&word), "{word}");
    rig.show(&Detail { locked: true, ..own.clone() });
    let (word, why) = code(draft(&mut rig, json!({ "text": "Ping" })));
    assert!(word == "refused" && why.starts_with("locked: "), "{why}");
    rig.show(&Detail { summary: Summary { state: PullState::Closed, ..own.summary.clone() }, ..own.clone() });
    let (word, why) = code(draft(&mut rig, json!({ "text": "Ping" })));
    assert!(word == "refused" && why.starts_with("ended: "), "{why}");
    assert_eq!(rig.posts().len(), 3);
}

#[test]
fn a_turn_proposes_twenty_drafts_and_reads_their_ids() {
    // MCP-08, MCP-10
    let (mut rig, _, first, _) = Rig::with_draft("Number 0");
    let turn = rig.turns().remove(0);
    for n in 1..20 {
        rig.drafted(&turn, &format!("Number {n}"));
    }
    let (word, why) = code(rig.tool(&turn, "github_draft", json!({ "text": "Number 20" })));
    assert!(word == "limit" && why.contains("20"), "{why}");
    let Ok(Reply::Tool(read)) = rig.tool(&turn, "task_read", json!({ "include": ["drafts"] })) else { panic!("no answer") };
    let drafts = read["drafts"].as_array().unwrap();
    assert_eq!((drafts.len(), &drafts[19]["draft"], &drafts[19]["state"]), (20, &json!(first.to_string()), &json!("held")));
    assert_eq!(read["posts"], json!([]), "a draft is no post of the turn's own");
}

#[test]
fn a_draft_stops_nothing_that_its_turn_does() {
    // AGENT-01, AGENT-10, MCP-14
    let (mut rig, detail, draft, _) = Rig::with_draft("A question beside the review");
    let turn = rig.turns().remove(0);
    let review = rig.review(&turn, "Fine").id;
    rig.send(review, &detail, 2);
    rig.record(&turn, "published").unwrap();
    assert_eq!((rig.turn(turn.id).state, rig.post(draft).state), (wloop_core::turn::TurnState::Recorded, PostState::Held));
    // In a turn that stopped and asks, a draft can still be proposed.
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    rig.stop(&turn, "Unsure").unwrap();
    rig.drafted(&turn, "A question meanwhile");
    assert_eq!(rig.open_gates().len(), 2);
    rig.end(turn.id, TurnEnd::Well);
    let other = rig.started(&pull(2));
    rig.record(&other, "nothing").unwrap();
    assert_eq!(code(rig.tool(&other, "github_draft", json!({ "text": "Too late" }))).0, "not_in_turn");
}

#[test]
fn a_session_takes_back_its_own_held_draft_and_no_other() {
    // MCP-16, G11, D6
    let (mut rig, detail, draft, gate) = Rig::with_draft("Hm.");
    let turn = rig.turns().remove(0);
    let withdraw = |rig: &mut Rig, by: &TurnRow, draft: PostId| {
        rig.tool(by, "draft_withdraw", json!({ "draft": draft.to_string(), "reason": "answered by now" }))
    };
    let (kept, _) = rig.wrote(mine(&detail, "Mine"));
    forbidden(withdraw(&mut rig, &turn, kept));
    let other = rig.started(&pull(2));
    forbidden(withdraw(&mut rig, &other, draft));
    // Its turn may have ended meanwhile.
    rig.record(&turn, "nothing").unwrap();
    let Ok(Reply::Tool(answer)) = withdraw(&mut rig, &turn, draft) else { panic!("not taken back") };
    assert_eq!(answer["state"], "dropped");
    let closed = rig.gate(gate).gate;
    assert_eq!((closed.status, closed.closed.unwrap().reason), (GateStatus::Superseded, "answered by now".into()));
    assert_eq!((rig.draft(draft).reason.as_str(), rig.post(kept).state), ("answered by now", PostState::Held));
    assert_eq!(code(withdraw(&mut rig, &turn, draft)).0, "already");
}

#[test]
fn a_sent_reminder_is_noted_once_and_a_dropped_one_never() {
    // EFF-01, EFF-07, EFF-08, E1, E2, E4
    let mut rig = nudging();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let mut drafts = Vec::new();
    for text in ["Ping @ana", "Ping again"] {
        let Ok(Reply::Tool(answer)) =
            rig.tool(&turn, "github_draft", json!({ "text": text, "purpose": "nudge", "effects": ["pr.nudged"] }))
        else {
            panic!("no draft")
        };
        drafts.push(answer["draft"].as_str().unwrap().parse::<PostId>().unwrap());
    }
    let state = |rig: &Rig, n: usize| rig.read().draft_effects(drafts[n]).unwrap().remove(0).1;
    let gate = rig.post(drafts[0]).gate;
    rig.resolve(gate, "approve", None).unwrap();
    assert_eq!((state(&rig, 0).as_str(), rig.count(EventKind::Nudged)), ("declared", 0), "not before it is sent");
    rig.send(drafts[0], &detail, 6);
    rig.outcome(drafts[0], SendOutcome::Sent(remote(6)));
    rig.reopen();
    rig.tick_after(60);
    assert_eq!((state(&rig, 0).as_str(), rig.count(EventKind::Nudged)), ("applied", 1));
    let mark = rig.read().mark(&unit(&detail), "nudged").unwrap().unwrap();
    assert_eq!((&mark["draft"], &mark["mentions"]), (&json!(drafts[0].to_string()), &json!(["ana"])));
    rig.discard(drafts[1], None).unwrap();
    assert_eq!((state(&rig, 1).as_str(), rig.count(EventKind::Nudged)), ("void", 1));
}

#[test]
fn a_turn_that_proposed_a_draft_did_start_whatever_its_agent_says_at_the_end() {
    // RUN-30, RUN-31, ROUND-24, P12
    use wloop_core::stops::BlockKind;
    use wloop_core::turn::TurnState;
    for drafted in [false, true] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let turn = rig.started(&detail);
        if drafted {
            rig.drafted(&turn, "Is it 20?");
        }
        let words = "do you trust the files in this folder?".to_owned();
        rig.end(turn.id, TurnEnd::Blocked { kind: BlockKind::Folder, folder: String::new(), words });
        let row = rig.turn(turn.id);
        assert_eq!(row.state, TurnState::Failed);
        let given = rig.read().rounds_given(start(), None, None).unwrap();
        let asks = rig.open_gates().iter().filter(|gate| gate.gate.kind == GateKind::Trust).count();
        let item = rig.item(turn.item).state;
        assert_eq!(
            (given, asks, item),
            if drafted { (1, 0, ItemState::Turned) } else { (0, 1, ItemState::Blocked) },
            "{drafted}"
        );
        // What did start is not started again by itself; what it drafted waits for the person as before.
        rig.reopen();
        rig.tick_after(600);
        rig.sweep(&[&detail]);
        assert_eq!((rig.turns().len(), rig.open_gates().len()), (1, 1), "{drafted}");
        assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Release(_) | Job::StartTurn(_))), "{:?}", rig.jobs());
    }
}
