//! From a released gate to a turn, and a turn's life (table R2).

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateStatus};
use wloop_core::plan::ItemState;
use wloop_core::turn::TurnState;

use super::gates::workflow;
use super::*;

#[test]
fn one_round_for_a_request_and_one_more_when_it_is_asked_again() {
    // ROUND-01, ROUND-02
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.summary.draft = true;
    rig.sweep(&[&detail]);
    assert!(rig.gates().is_empty());
    detail.summary.draft = false;
    let turn = rig.started(&detail);
    assert_eq!((turn.stage.as_str(), turn.intent.as_str()), ("first", "review"));
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &detail, 1);
    rig.record(&turn, "published").unwrap();
    rig.end(turn.id, TurnEnd::Well);
    detail.reviews = vec![review_by(viewer(), "N_1", ReviewState::Commented, rig.now, &head(1))];
    detail.review_requests.clear();
    for draft in [true, false, true, false] {
        rig.pass(1_200);
        detail.summary.draft = draft;
        detail.summary.updated_at = rig.now;
        rig.sweep(&[&detail]);
    }
    assert!(rig.open_gates().is_empty(), "ready again, with nothing new");
    rig.pass(1_200);
    detail.review_requests = vec![request("RR_2", rig.now)];
    detail.summary.updated_at = rig.now;
    rig.pass(1);
    let gate = rig.planned(&detail);
    let item = rig.item_of(&gate);
    assert_eq!(item.stage, "follow-up");
    assert_eq!(item.key, format!("follow-up:{}:RR_2", head(1)));
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let again = rig.prepare(item.id, &detail);
    assert_eq!((again.seq, again.covered["since"].as_str()), (2, Some(head(1).as_str())));
    rig.give(again.id);
    rig.end(again.id, TurnEnd::Well);
    for _ in 0..3 {
        rig.pass(1_200);
        rig.sweep(&[&detail]);
    }
    assert!(rig.open_gates().is_empty(), "exactly one more");
}

#[test]
fn a_released_round_is_looked_at_once_more_before_it_starts() {
    // ROUND-06, CONS-15
    type Change = fn(&mut Detail);
    let gone: [(&str, Change); 3] = [
        ("the pull request is merged", |d| d.summary.state = PullState::Merged),
        ("no review is requested from you", |d| d.review_requests.clear()),
        ("you have a pending review; submit or discard it", |d| {
            d.reviews = vec![review_by(viewer(), "P", ReviewState::Pending, start(), &head(1))];
        }),
    ];
    for (why, change) in gone {
        let mut rig = Rig::new();
        let mut detail = pull(1);
        let gate = rig.planned(&detail);
        rig.tick_after(60);
        change(&mut detail);
        let item = rig.item_of(&gate).id;
        assert!(matches!(rig.start_release(item, &detail), Reply::NotNow), "{why}");
        assert_eq!(rig.item(item).state, ItemState::Gone);
        let row = rig.gate(gate.gate.id);
        assert_eq!((row.gate.status, row.consequence.unwrap().0), (GateStatus::Approved, Consequence::Ran));
        assert_eq!(row.consequence_note, format!("not started: {why}"));
        assert!(rig.turns().is_empty());
    }
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.tick_after(60);
    let item = rig.item_of(&gate).id;
    let fault = ReadFault::Unreachable("no route".into());
    let reply = rig.take(Input::Starting(Starting::Release { item, read: Box::new(Err(fault)) }));
    assert!(matches!(reply, Reply::NotNow));
    assert_eq!(rig.item(item).state, ItemState::Released);
    assert!(rig.item(item).reason.contains("no route"));
    assert!(!rig.jobs().contains(&Job::Release(item)), "it rests");
    rig.pass(60);
    assert!(rig.jobs().contains(&Job::Release(item)), "and is tried again");
    rig.prepare(item, &detail);
    assert_eq!(rig.gate(gate.gate.id).consequence.unwrap().0, Consequence::Ran);
}

#[test]
fn a_head_that_moved_before_the_release_asks_again_unless_the_person_ran_it() {
    // ROUND-07
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let gate = rig.planned(&detail);
    rig.tick_after(60);
    detail.summary.head = head(2);
    detail.summary.updated_at = rig.now;
    let item = rig.item_of(&gate).id;
    assert!(matches!(rig.start_release(item, &detail), Reply::NotNow));
    let row = rig.gate(gate.gate.id);
    assert_eq!((row.gate.status, row.consequence_note.as_str()), (GateStatus::Approved, "not started: the head moved"));
    let again = rig.open_gate(&detail);
    assert_eq!(again.gate.deadline, Some(rig.now + SignedDuration::from_secs(60)), "a full window");
    assert_eq!(rig.item_of(&again).head, head(2));

    for (intent, text) in [("run_now", None), ("guide", Some("Mind it"))] {
        let mut rig = Rig::new();
        let mut detail = pull(1);
        let gate = rig.planned(&detail);
        rig.resolve(gate.gate.id, intent, text).unwrap();
        detail.summary.head = head(2);
        detail.summary.updated_at = rig.now;
        let turn = rig.prepare(rig.item_of(&gate).id, &detail);
        assert_eq!(turn.head, head(2), "the person's word holds for the new head");
        rig.give(turn.id);
        rig.end(turn.id, TurnEnd::Badly("it broke".into()));
        rig.pass(1_200);
        rig.sweep(&[&detail]);
        assert!(rig.open_gates().is_empty(), "and this head was dealt with by it");
    }
}

#[test]
fn a_turns_row_pins_what_it_is_about() {
    // ROUND-08, ROUND-12
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let asked = start() - SignedDuration::from_hours(1);
    let said = |id: &str, who: &str, minutes: i64| wloop_core::github::Comment {
        id: id.into(),
        database_id: 70 + u64::try_from(minutes).unwrap(),
        author: Some(account(who)),
        body: "hm".into(),
        created_at: asked + SignedDuration::from_mins(minutes),
        url: String::new(),
        review: String::new(),
    };
    detail.threads = vec![wloop_core::github::Thread {
        id: "T_1".into(),
        resolved: false,
        outdated: false,
        path: "src/gulls.rs".into(),
        line: Some(2),
        comments: vec![said("C_1", "bo", 1), said("C_2", "ana", 2)],
    }];
    detail.reviews = vec![review_by(account("bo"), "R_bo", ReviewState::Commented, asked, &head(1))];
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "guide", Some("Mind it")).unwrap();
    let turn = rig.prepare(rig.item_of(&gate).id, &detail);
    assert_eq!((turn.head.clone(), turn.base.clone(), turn.merge_base.clone()), (head(1), head(0xbb), Some(head(0xbb))));
    assert_eq!((turn.stage.as_str(), turn.agent.as_str(), turn.state), ("first", "claude-code", TurnState::Starting));
    assert_eq!(turn.covered, json!({ "review": "R_bo", "comment": "C_2", "threads": [71], "since": null }));
    assert_eq!((turn.guidance.as_deref(), turn.workspace.as_deref()), (Some("Mind it"), Some("/trees/review-1")));
    assert!(!turn.claimed && turn.process.is_none() && turn.sent_at.is_none(), "written before anything is given");
    assert!(rig.jobs().contains(&Job::StartTurn(turn.id)));
    // What comes later moves no pin, and the prompt uses the pins.
    detail.summary.head = head(2);
    detail.summary.updated_at = rig.now;
    rig.show(&detail);
    let order = rig.give(turn.id);
    assert!(order.prompt.contains(&head(1)) && !order.prompt.contains(&head(2)));
    let after = rig.turn(turn.id);
    assert_eq!((after.head, after.covered), (turn.head, turn.covered));
}

#[test]
fn a_unit_has_one_open_turn() {
    // ROUND-09, WIN-17
    let mut rig = Rig::with("", &[("workflows/second/workflow.toml", &workflow("And again"))]);
    let detail = pull(1);
    rig.sweep(&[&detail]);
    rig.ask(Request::ApplyPlan { unit: unit(&detail), guidance: None }).unwrap();
    let items = rig.items();
    assert_eq!(items.len(), 2);
    let turn = rig.prepare(items[0].id, &detail);
    let refusal = refused(rig.by_hand(&detail, None));
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    assert!(refusal.detail.contains("turn 1 of acme/api#1 is starting"), "{}", refusal.detail);
    assert!(matches!(rig.start_release(items[1].id, &detail), Reply::NotNow));
    rig.end_release(items[1].id, &detail);
    assert_eq!(rig.item(items[1].id).state, ItemState::Released, "a waiting item stays");
    assert_eq!(rig.turns().len(), 1);
    assert!(!rig.jobs().contains(&Job::Release(items[1].id)), "it rests, it does not spin");
    // The prompt drops whatever else was planned on the unit.
    rig.give(turn.id);
    assert_eq!(rig.item(items[1].id).state, ItemState::Gone);
    assert_eq!(rig.gate(items[1].gate).consequence_note, "not started: another round was sent");
}

#[test]
fn what_a_round_does_on_sending_is_done_with_its_prompt() {
    // EFFECT-03, EFFECT-04
    let mut rig = Rig::with("", &[("workflows/second/workflow.toml", &workflow("And again"))]);
    let detail = pull(1);
    rig.sweep(&[&detail]);
    let gates = rig.open_gates();
    rig.resolve(gates[0].gate.id, "guide", Some("Mind it")).unwrap();
    let turn = rig.prepare(rig.item_of(&gates[0]).id, &detail);
    assert_eq!(rig.gate(gates[1].gate.id).gate.status, GateStatus::Open, "nothing was sent yet");
    rig.give(turn.id);
    assert_eq!(rig.gate(gates[1].gate.id).gate.status, GateStatus::Superseded);
    assert!(rig.read().effects(turn.id).unwrap().iter().all(|(_, state)| state == "applied"));
    // A second telling of the same changes nothing.
    let before = rig.read().last_event_id().unwrap();
    rig.agent(turn.id, AgentEvent::PromptGiven);
    assert_eq!(rig.read().last_event_id().unwrap(), before);
    rig.end(turn.id, TurnEnd::Badly("it broke".into()));
    assert!(rig.read().guidance(&unit(&detail)).unwrap().is_empty(), "it was given");
}

#[test]
fn a_round_by_hand_runs_where_an_automatic_one_would_not() {
    // ROUND-31, WIN-38, ROUND-15
    type Change = fn(&mut Detail);
    let runs: [Change; 4] =
        [|d| d.summary.draft = true, |d| d.review_requests.clear(), |d| d.changed_files = 5_000, |d| d.author = Some(viewer())];
    for change in runs {
        let mut rig = Rig::with("[workflows.review]\nmode = \"observe\"", &[]);
        let mut detail = pull(1);
        change(&mut detail);
        rig.sweep(&[&detail]);
        assert!(rig.gates().is_empty());
        rig.by_hand(&detail, Some("Mind it")).unwrap();
        let gate = rig.gates().remove(0);
        assert_eq!((gate.gate.closed.as_ref().unwrap().actor.clone(), gate.gate.deadline), (Actor::PERSON, None));
        let turn = rig.prepare(rig.item_of(&gate).id, &detail);
        assert!(turn.by_hand);
        let order = rig.give(turn.id);
        assert_eq!(
            order.prompt.contains("takes no verdict"),
            detail.author == Some(viewer()),
            "an own pull request is named as such"
        );
    }
    let never: [(&str, Change); 3] = [
        ("is merged", |d| d.summary.state = PullState::Merged),
        ("is closed", |d| d.summary.state = PullState::Closed),
        ("pending review", |d| d.reviews = vec![review_by(viewer(), "P", ReviewState::Pending, start(), &head(1))]),
    ];
    for (why, change) in never {
        let mut rig = Rig::new();
        let mut detail = pull(1);
        change(&mut detail);
        rig.take(Input::Observed(Observation::Viewer { account: viewer(), teams: vec![] }));
        rig.take(Input::Observed(Observation::Asked(Box::new(detail.clone()))));
        let refusal = refused(rig.by_hand(&detail, None));
        assert!(refusal.detail.contains(why), "{}", refusal.detail);
        assert!(rig.items().is_empty());
    }
    // Skipped or handled, and asked for all the same.
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "skip", None).unwrap();
    rig.by_hand(&detail, None).unwrap();
    let item = rig.items().into_iter().find(|i| i.by_hand).unwrap();
    rig.prepare(item.id, &detail);
}

#[test]
fn a_round_by_hand_runs_the_waiting_one() {
    // WIN-18, WIN-38, ROUND-32
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.by_hand(&detail, Some("Mind it")).unwrap();
    let closing = rig.gate(gate.gate.id).gate.closed.unwrap();
    assert_eq!((closing.intent.as_deref(), closing.text.as_deref()), (Some("guide"), Some("Mind it")));
    assert_eq!(rig.gates().len(), 1, "no second gate");
    let refusal = refused(rig.by_hand(&detail, None));
    assert!(refusal.detail.contains("about to start"), "{}", refusal.detail);
}

#[test]
fn no_round_is_planned_for_an_own_pull_request() {
    // ROUND-15
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.author = Some(viewer());
    rig.sweep(&[&detail]);
    assert!(rig.gates().is_empty());
}

#[test]
fn at_most_so_many_turns_run_at_once_and_by_hand_goes_first() {
    // RUN-28
    let mut rig = Rig::with("[agents]\nmax_running = 1", &[]);
    let (one, two) = (pull(1), pull(2));
    let mut three = pull(3);
    three.review_requests.clear();
    rig.sweep(&[&one, &two, &three]);
    rig.tick_after(60);
    let releases = |rig: &Rig| rig.jobs().into_iter().filter(|j| matches!(j, Job::Release(_))).collect::<Vec<_>>();
    let item = |rig: &Rig, d: &Detail| rig.items().into_iter().find(|i| i.unit == unit(d)).unwrap().id;
    let first = releases(&rig);
    assert_eq!(first.len(), 1);
    // One is being prepared when the person asks for another, which may go before it.
    let (Job::Release(early), Some(detail)) =
        (first[0].clone(), [&one, &two].into_iter().find(|d| first[0] == Job::Release(item(&rig, d))))
    else {
        panic!("{first:?}")
    };
    assert!(matches!(rig.start_release(early, detail), Reply::Release(_)));
    rig.by_hand(&three, None).unwrap();
    let hand = item(&rig, &three);
    assert_eq!(releases(&rig), [Job::Release(hand)]);
    assert!(matches!(rig.start_release(hand, &three), Reply::Release(_)));
    rig.end_release(hand, &three);
    rig.end_release(early, detail);
    assert_eq!(rig.turns().len(), 1, "one runs; the other waits for its place");
    assert!(releases(&rig).is_empty());
    let turn = rig.turns().remove(0);
    assert_eq!(turn.unit, unit(&three));
    rig.give(turn.id);
    rig.end(turn.id, TurnEnd::Well);
    assert_eq!(releases(&rig).len(), 1, "its place is free");
}

#[test]
fn released_rounds_start_in_the_order_of_their_release() {
    // RUN-28
    let mut rig = Rig::with("[agents]\nmax_running = 1", &[]);
    let (one, two, three) = (pull(1), pull(2), pull(3));
    rig.sweep(&[&one, &two, &three]);
    for detail in [&three, &one, &two] {
        rig.pass(1);
        let gate = rig.open_gate(detail).gate.id;
        rig.resolve(gate, "run_now", None).unwrap();
    }
    let item = |rig: &Rig, d: &Detail| rig.items().into_iter().find(|i| i.unit == unit(d)).unwrap().id;
    let queue = crate::engine::waiting(&rig.read(), &rig.rules).unwrap();
    let order: Vec<_> = queue.iter().map(|round| round.item).collect();
    assert_eq!(order, [&three, &one, &two].map(|d| item(&rig, d)), "not in the order of their planning");
    let first = item(&rig, &three);
    assert_eq!(rig.jobs().into_iter().filter(|j| matches!(j, Job::Release(_))).collect::<Vec<_>>(), [Job::Release(first)]);
}

#[test]
fn one_agent_has_a_limit_of_its_own() {
    // RUN-28
    let mut rig = Rig::with("[agents]\nmax_running = 4\n\n[agents.claude-code]\npreset = \"claude-code\"\nmax_running = 1", &[]);
    let (one, two) = (pull(1), pull(2));
    rig.sweep(&[&one, &two]);
    rig.tick_after(60);
    let item = |rig: &Rig, d: &Detail| rig.items().into_iter().find(|i| i.unit == unit(d)).unwrap();
    for detail in [&one, &two] {
        let id = item(&rig, detail).id;
        assert!(matches!(rig.start_release(id, detail), Reply::Release(_)));
        rig.end_release(id, detail);
    }
    assert_eq!(rig.turns().len(), 1);
    assert!(item(&rig, &two).reason.contains("`agents.claude-code.max_running`"), "{:?}", item(&rig, &two));
    rig.pass(3);
    assert!(!rig.jobs().contains(&Job::Release(item(&rig, &two).id)), "it waits for its place and is not tried again and again");
    let turn = rig.turns().remove(0);
    rig.give(turn.id);
    rig.end(turn.id, TurnEnd::Well);
    rig.pass(3);
    let id = item(&rig, &two).id;
    assert!(matches!(rig.start_release(id, &two), Reply::Release(_)));
    rig.end_release(id, &two);
    assert_eq!(rig.turns().len(), 2, "its place is free");
}

#[test]
fn a_turn_is_taken_up_by_its_first_line_or_its_first_tool() {
    // RUN-20
    for by_tool in [false, true] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let gate = rig.planned(&detail);
        rig.resolve(gate.gate.id, "run_now", None).unwrap();
        let turn = rig.prepare(rig.item_of(&gate).id, &detail);
        rig.claim(turn.id);
        rig.spawn(turn.id);
        assert_eq!(rig.turn(turn.id).state, TurnState::Starting);
        rig.agent(turn.id, AgentEvent::PromptGiven);
        assert_eq!(rig.turn(turn.id).state, TurnState::Sent);
        if by_tool {
            rig.tool(&turn, "task_read", json!({})).unwrap();
        } else {
            rig.agent(turn.id, AgentEvent::TookUp);
        }
        assert_eq!(rig.turn(turn.id).state, TurnState::Started);
        assert!(rig.turn(turn.id).started_at.is_some());
        rig.agent(turn.id, AgentEvent::TookUp);
        assert_eq!(rig.count(EventKind::TurnStarted), 1);
    }
}

#[test]
fn how_a_run_ends_its_turn() {
    // R2, RUN-10, RUN-13
    let badly = || TurnEnd::Badly("the agent ended with code 3".into());
    let cancelled = || TurnEnd::Cancelled("cancelled by you".into());
    let cases = [
        (false, TurnEnd::Well, TurnState::Unrecorded, "without a record"),
        (false, badly(), TurnState::Failed, "code 3"),
        (false, cancelled(), TurnState::Dismissed, "cancelled by you"),
        (true, TurnEnd::Well, TurnState::Recorded, ""),
        (true, badly(), TurnState::Recorded, "afterwards: the agent ended with code 3"),
        (true, cancelled(), TurnState::Recorded, ""),
    ];
    for (recorded, end, state, cause) in cases {
        let mut rig = Rig::new();
        let turn = rig.started(&pull(1)).id;
        if recorded {
            let row = rig.turn(turn);
            rig.record(&row, "nothing").unwrap();
        }
        rig.end(turn, end.clone());
        let row = rig.turn(turn);
        assert_eq!(row.state, state, "{end:?}");
        assert!(row.cause.contains(cause), "{}", row.cause);
        assert!(row.group_ended);
        // What is told twice or late changes nothing.
        rig.end(turn, TurnEnd::Badly("again".into()));
        assert_eq!(rig.turn(turn).state, state);
        rig.reopen();
        assert_eq!(rig.turn(turn).state, state);
    }
    // With an open gate of the turn it stays `asked`, however its process ended.
    for end in [TurnEnd::Well, badly(), cancelled()] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let turn = rig.started(&detail);
        rig.stop(&turn, "Wait").unwrap();
        rig.end(turn.id, end);
        assert_eq!(rig.turn(turn.id).state, TurnState::Asked);
        assert_eq!(rig.open_gate(&detail).turn, Some(turn.id));
    }
}

#[test]
fn a_start_that_never_took_the_prompt_gives_its_guidance_back() {
    // R2, EFFECT-04, K18
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "guide", Some("Mind it")).unwrap();
    let item = rig.item_of(&gate).id;
    let turn = rig.prepare(item, &detail);
    rig.claim(turn.id);
    rig.end(turn.id, TurnEnd::NotStarted("there is no such program".into()));
    let row = rig.turn(turn.id);
    assert_eq!((row.state, row.cause.as_str()), (TurnState::Failed, "there is no such program"));
    assert_eq!(rig.item(item).state, ItemState::Handled);
    assert_eq!(rig.read().guidance(&unit(&detail)).unwrap()[0].text, "Mind it");
    assert!(rig.read().effects(turn.id).unwrap().iter().all(|(_, state)| state == "void"));
    rig.by_hand(&detail, None).unwrap();
    let again = rig.items().into_iter().find(|i| i.by_hand).unwrap();
    assert_eq!(rig.prepare(again.id, &detail).guidance.as_deref(), Some("Mind it"));
}

#[test]
fn a_turn_is_claimed_once() {
    // WIN-01, ROUND-09
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let turn = rig.prepare(rig.item_of(&gate).id, &detail).id;
    rig.claim(turn);
    assert!(matches!(rig.take(Input::Starting(Starting::Turn(turn))), Reply::NotNow));
    assert!(!rig.jobs().contains(&Job::StartTurn(turn)));
}

#[test]
fn a_cancelled_turn_writes_nothing_more() {
    // RUN-13, R2
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.ask(Request::CancelTurn(turn.id)).unwrap();
    assert!(rig.jobs().contains(&Job::CancelTurn(turn.id)));
    let refusal = refused(rig.tool(&turn, "github_post", json!({ "shape": "review", "event": "APPROVE", "text": "Fine" })));
    assert_eq!(refusal.code, Some("turn_state"));
    assert_eq!(refused(rig.record(&turn, "nothing")).code, Some("turn_state"));
    assert!(rig.posts().is_empty());
    rig.end(turn.id, TurnEnd::Cancelled("cancelled by you".into()));
    assert_eq!(rig.turn(turn.id).state, TurnState::Dismissed);
    assert_eq!(refused(rig.ask(Request::CancelTurn(turn.id))).kind, RefusalKind::Conflict);
    assert_eq!(rig.read().session(turn.session).unwrap().unwrap().state, "closed");
}

#[test]
fn the_mark_is_written_once_the_turn_has_ended_and_its_review_is_sent() {
    // ROUND-16, EFFECT-08
    let mark = |rig: &Rig| rig.read().mark(&UnitRef::github("PR_1"), "reviewed").unwrap();
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.reviews = vec![review_by(account("bo"), "R_bo", ReviewState::Commented, start(), &head(1))];
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &detail, 1);
    assert_eq!(mark(&rig), None, "the turn runs");
    // What came since the start is not covered.
    detail.reviews.push(review_by(account("cy"), "R_cy", ReviewState::Commented, rig.now, &head(1)));
    rig.show(&detail);
    rig.record(&turn, "published").unwrap();
    let expected = json!({ "head": head(1), "review": "N_1", "covered_review": "R_bo", "covered_comment": null });
    assert_eq!(mark(&rig), Some(expected.clone()));

    // The other way round: the turn failed while its review was in doubt, which is found.
    let mut rig = Rig::new();
    detail.reviews.pop();
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.call(post, &detail);
    rig.outcome(post, SendOutcome::Doubt { why: "no answer".into() });
    rig.end(turn.id, TurnEnd::Badly("code 3".into()));
    assert_eq!(mark(&rig), None);
    rig.pass(2);
    rig.take(Input::Done(Done::LookedUp { post, found: wloop_core::github::LookUp::Found(remote(1)) }));
    assert_eq!(mark(&rig), Some(expected));

    let mut rig = Rig::new();
    let turn = rig.started(&detail);
    rig.record(&turn, "nothing").unwrap();
    assert_eq!(mark(&rig), None, "nothing was sent");
}

#[test]
fn a_follow_up_is_planned_for_what_is_new_and_for_nothing_else() {
    // ROUND-10
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.posted(&turn, json!({ "shape": "review", "event": "REQUEST_CHANGES", "text": "No" })).id;
    rig.send(post, &detail, 1);
    rig.record(&turn, "published").unwrap();
    detail.review_requests.clear();
    detail.reviews = vec![review_by(viewer(), "N_1", ReviewState::ChangesRequested, rig.now, &head(1))];
    rig.pass(1_200);
    rig.sweep(&[&detail]);
    assert!(rig.open_gates().is_empty());
    detail.summary.head = head(2);
    detail.summary.updated_at = rig.now;
    rig.sweep(&[&detail]);
    assert!(rig.open_gates().is_empty(), "a push rests first");
    rig.pass(601);
    rig.sweep(&[&detail]);
    let item = rig.item_of(&rig.open_gate(&detail));
    assert_eq!((item.stage.as_str(), item.head), ("follow-up", head(2)));
}
