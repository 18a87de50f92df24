//! Around a post's call: claimed before it, settled after it, looked up where its answer was lost.

use serde_json::json;
use wloop_core::gate::GateStatus;
use wloop_core::github::publish::marker;
use wloop_core::github::{LookUp, Refusal as No, ReviewEvent, Shape};
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::*;

/// A turn with its review queued.
fn queued(rig: &mut Rig, detail: &Detail) -> (TurnRow, PostId) {
    let turn = rig.started(detail);
    let post = rig.review(&turn, "Fine").id;
    (turn, post)
}

fn look_up(rig: &mut Rig, post: PostId, found: LookUp) {
    assert!(rig.jobs().contains(&Job::LookUp(post)));
    assert!(matches!(rig.take(Input::Starting(Starting::LookUp(post))), Reply::LookUp(_)));
    rig.take(Input::Done(Done::LookedUp { post, found }));
}

fn incomplete() -> LookUp {
    LookUp::Incomplete { why: "page 2 did not come".into() }
}

#[test]
fn the_attempt_is_written_before_the_call_with_all_that_goes_out() {
    // GH-PUB-02, GH-PUB-16, CONS-05
    let mut rig = Rig::with("[plugins.github]\nsignature = \"_by wloop_\"", &[]);
    let detail = pull(1);
    let (turn, post) = queued(&mut rig, &detail);
    let row = rig.post(post);
    assert_eq!((row.state, row.gate, row.started_at), (PostState::Queued, turn.gate, None));
    rig.pass(5);
    let order = rig.call(post, &detail);
    let row = rig.post(post);
    assert_eq!((row.state, row.started_at), (PostState::Sending, Some(rig.now)));
    assert_eq!(row.body, format!("Fine\n\n_by wloop_\n\n{}", marker(post)));
    assert_eq!((order.body, order.head, order.started_at), (row.body, head(1), rig.now));
    assert!(matches!(order.shape, Shape::Review { event: ReviewEvent::Approve, .. }));
    let attempt = rig.read().open_attempt(post).unwrap().unwrap();
    assert_eq!((attempt.n, attempt.ended), (1, None));
    // A second sender, or a second outcome, comes to nothing.
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow));
    assert!(!rig.jobs().contains(&Job::Send(post)));
    rig.outcome(post, SendOutcome::Sent(remote(1)));
    rig.outcome(post, SendOutcome::Sent(remote(1)));
    rig.outcome(post, SendOutcome::Doubt { why: "late".into() });
    let row = rig.post(post);
    assert_eq!((row.state, row.remote), (PostState::Sent, Some(remote(1))));
    assert_eq!((rig.count(EventKind::PostSent), rig.read().attempts(post).unwrap().len()), (1, 1));
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow));
}

#[test]
fn a_marker_in_a_text_is_taken_out_when_it_is_proposed() {
    // GH-PUB-05
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    let forged = marker("0000000000000000000000000000000a".parse().unwrap());
    let comments = json!([{ "path": "src/gulls.rs", "line": 2, "body": format!("Here {forged}") }]);
    let post = rig
        .posted(&turn, json!({ "shape": "review", "event": "COMMENT", "text": format!("A {forged} b"), "comments": comments }));
    assert_eq!(post.text, "A  b");
    assert!(post.body.ends_with(&marker(post.id)) && !post.body.contains(&forged));
    let Shape::Review { comments, .. } = post.shape else { panic!("a review") };
    assert_eq!(comments[0].body, "Here ");
}

#[test]
fn a_doubt_is_looked_up_three_times() {
    // GH-PUB-07
    let mut rig = Rig::new();
    let detail = pull(1);
    let (_, post) = queued(&mut rig, &detail);
    rig.call(post, &detail);
    rig.outcome(post, SendOutcome::Doubt { why: "the answer was lost".into() });
    for (wait, found) in [(2, LookUp::Absent), (3, incomplete()), (10, LookUp::Found(remote(4)))] {
        assert_eq!(rig.wake(), Some(rig.now + SignedDuration::from_secs(wait)));
        rig.pass(wait - 1);
        assert!(!rig.jobs().contains(&Job::LookUp(post)), "not before its time");
        assert!(matches!(rig.take(Input::Starting(Starting::LookUp(post))), Reply::NotNow));
        rig.pass(1);
        assert!(!rig.jobs().contains(&Job::Send(post)));
        look_up(&mut rig, post, found);
    }
    let row = rig.post(post);
    assert_eq!((row.state, row.remote, row.maybe_posted), (PostState::Sent, Some(remote(4)), false));
    assert_eq!(rig.read().attempts(post).unwrap().len(), 1, "it was sent once");
}

#[test]
fn absence_is_certain_after_three_complete_reads_alone() {
    // GH-PUB-07, GH-PUB-09
    for (looks, maybe) in
        [([LookUp::Absent, LookUp::Absent, LookUp::Absent], false), ([incomplete(), incomplete(), incomplete()], true)]
    {
        let mut rig = Rig::new();
        let detail = pull(1);
        let (_, post) = queued(&mut rig, &detail);
        rig.call(post, &detail);
        rig.outcome(post, SendOutcome::Doubt { why: "the answer was lost".into() });
        for found in looks {
            rig.pass(15);
            // A wait for a limit is no look-up.
            let until = rig.now + SignedDuration::from_secs(30);
            look_up(&mut rig, post, LookUp::Wait { until, why: "limit".into() });
            rig.pass(30);
            look_up(&mut rig, post, found);
        }
        let row = rig.post(post);
        assert_eq!((row.state, row.maybe_posted), (PostState::Failed, maybe));
        rig.tick_after(86_400);
        rig.reopen();
        assert_eq!(rig.post(post).state, PostState::Failed, "only the person's choice ends it");
        assert!(rig.jobs().iter().all(|j| !matches!(j, Job::Send(_) | Job::LookUp(_))));
        // What is certain is not said to have been sent.
        let said = rig.ask(Request::PostSent(post));
        assert_eq!(said.is_ok(), maybe);
    }
}

/// A post of which it cannot be told whether it was sent.
fn doubtful(rig: &mut Rig, detail: &Detail) -> (TurnRow, PostId) {
    let (turn, post) = queued(rig, detail);
    rig.call(post, detail);
    rig.outcome(post, SendOutcome::Doubt { why: "the answer was lost".into() });
    for _ in 0..3 {
        rig.pass(15);
        look_up(rig, post, incomplete());
    }
    assert!(rig.post(post).maybe_posted);
    (turn, post)
}

#[test]
fn the_person_says_what_became_of_a_doubt() {
    // GH-PUB-09
    let detail = pull(1);
    let mut rig = Rig::new();
    let (_, post) = doubtful(&mut rig, &detail);
    rig.ask(Request::PostSent(post)).unwrap();
    assert_eq!(rig.post(post).state, PostState::Sent);
    assert_eq!(refused(rig.ask(Request::PostSent(post))).kind, RefusalKind::Conflict);

    let mut rig = Rig::new();
    let (_, post) = doubtful(&mut rig, &detail);
    rig.ask(Request::PostDiscard { post, reason: Some("no".into()) }).unwrap();
    assert_eq!(rig.post(post).state, PostState::Dropped);

    // Sent again: a look-up first, and no second call when it is there.
    let mut rig = Rig::new();
    let (_, post) = doubtful(&mut rig, &detail);
    rig.ask(Request::PostRetry(post)).unwrap();
    assert!(!rig.jobs().contains(&Job::Send(post)));
    look_up(&mut rig, post, LookUp::Found(remote(2)));
    assert_eq!((rig.post(post).state, rig.read().attempts(post).unwrap().len()), (PostState::Sent, 1));

    let mut rig = Rig::new();
    let (_, post) = doubtful(&mut rig, &detail);
    rig.ask(Request::PostRetry(post)).unwrap();
    for _ in 0..3 {
        look_up(&mut rig, post, LookUp::Absent);
        rig.pass(15);
    }
    assert!(rig.jobs().contains(&Job::Send(post)), "it is not there, so it goes");
    rig.send(post, &detail, 3);
    assert_eq!(rig.read().attempts(post).unwrap().len(), 2);
    assert_eq!(rig.post(post).body.matches("wloop:").count(), 1, "the same marker");
}

#[test]
fn a_doubtful_post_blocks_no_other() {
    // GH-PUB-09
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    doubtful(&mut rig, &one);
    rig.sweep(&[&one, &two]);
    let gate = rig.open_gate(&two);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let turn = rig.prepare(rig.item_of(&gate).id, &two);
    rig.give(turn.id);
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &two, 9);
    assert_eq!(rig.post(post).state, PostState::Sent);
}

#[test]
fn a_refusal_is_final_and_the_person_may_send_again() {
    // GH-PUB-12, GH-PUB-13, GH-PUB-14, GH-SYNC-43
    for kind in [No::Gone, No::Forbidden, No::Invalid, No::SignedOut] {
        let mut rig = Rig::new();
        let detail = pull(1);
        let (_, post) = queued(&mut rig, &detail);
        rig.call(post, &detail);
        rig.outcome(post, SendOutcome::Refused { kind, why: "github's own words".into() });
        let row = rig.post(post);
        assert_eq!((row.state, row.maybe_posted, row.cause.as_str()), (PostState::Failed, false, "github's own words"));
        assert_eq!(rig.count(EventKind::PostFailed), 1);
        let signed_out = kind == No::SignedOut;
        assert_eq!(rig.read().provider("github").unwrap().unwrap().signed_out, signed_out);
        assert_eq!(rig.to_read().contains("PR_1"), !signed_out, "the unit is read again at once");
        rig.tick_after(3_600);
        assert!(!rig.jobs().contains(&Job::Send(post)), "nothing sends it again by itself");
        rig.ask(Request::PostRetry(post)).unwrap();
        assert_eq!(rig.post(post).state, PostState::Queued);
    }
}

#[test]
fn a_limit_makes_nothing_fail() {
    // GH-SYNC-38
    let mut rig = Rig::new();
    let detail = pull(1);
    let (_, post) = queued(&mut rig, &detail);
    let until = rig.now + SignedDuration::from_mins(30);
    rig.call(post, &detail);
    rig.outcome(post, SendOutcome::Wait { until, why: "secondary limit".into() });
    let row = rig.post(post);
    assert_eq!((row.state, row.next_at, row.maybe_posted), (PostState::Queued, Some(until), false));
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow), "not before the limit ends");
    let wait = ReadFault::Wait { until, why: "limit".into() };
    rig.take(Input::Observed(Observation::Quiet { until }));
    rig.take(Input::Observed(Observation::Inventory(Err(wait))));
    rig.tick_after(1_799);
    assert!(rig.jobs().iter().all(|j| !matches!(j, Job::Sweep | Job::Send(_) | Job::ReadDetail(_))), "{:?}", rig.jobs());
    rig.pass(1);
    let jobs = rig.jobs();
    assert!(jobs.contains(&Job::Sweep) && jobs.contains(&Job::Send(post)));
    rig.send(post, &detail, 1);
    assert_eq!(rig.post(post).state, PostState::Sent);
}

#[test]
fn what_never_left_is_tried_again() {
    // GH-PUB-06, GH-SYNC-38
    let mut rig = Rig::new();
    let detail = pull(1);
    let (_, post) = queued(&mut rig, &detail);
    let fault = ReadFault::Unreachable("no route".into());
    let reply = rig.take(Input::Starting(Starting::Post { post, seen: Err(fault) }));
    assert!(matches!(reply, Reply::NotNow));
    assert_eq!((rig.post(post).state, rig.read().attempts(post).unwrap().len()), (PostState::Queued, 0));
    rig.pass(20);
    rig.call(post, &detail);
    rig.outcome(post, SendOutcome::NotReached { why: "no route".into() });
    assert_eq!(rig.post(post).state, PostState::Queued);
    rig.pass(20);
    rig.send(post, &detail, 1);
    assert_eq!(rig.read().attempts(post).unwrap().len(), 2);
    let fault = ReadFault::NotFound("404".into());
    let (_, other) = {
        let two = pull(2);
        rig.sweep(&[&detail, &two]);
        let gate = rig.open_gate(&two);
        rig.resolve(gate.gate.id, "run_now", None).unwrap();
        let turn = rig.prepare(rig.item_of(&gate).id, &two);
        rig.give(turn.id);
        let post = rig.review(&turn, "x").id;
        (turn, post)
    };
    rig.take(Input::Starting(Starting::Post { post: other, seen: Err(fault) }));
    assert_eq!((rig.post(other).state, rig.post(other).maybe_posted), (PostState::Failed, false), "a gone pull request is final");
}

#[test]
fn a_head_that_moved_stops_a_post_before_its_call() {
    // GH-PUB-17
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let (turn, post) = queued(&mut rig, &detail);
    detail.summary.head = head(2);
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow));
    let row = rig.post(post);
    assert_eq!((row.state, row.maybe_posted), (PostState::Failed, false));
    assert!(row.cause.starts_with("the head moved") && row.cause.contains(&head(2)[..7]), "{}", row.cause);
    assert!(rig.read().attempts(post).unwrap().is_empty());
    // A later call that names the new head goes.
    let again = rig.posted(&turn, json!({ "shape": "review", "event": "APPROVE", "text": "Looked again", "head": head(2) }));
    let order = rig.call(again.id, &detail);
    assert_eq!(order.head, head(2));

    // A turn that is over cannot look again: the person is asked, on the new head.
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let (turn, post) = queued(&mut rig, &detail);
    rig.end(turn.id, TurnEnd::Well);
    detail.summary.head = head(2);
    rig.try_send(post, at_head(&detail));
    let gate = rig.open_gate(&detail);
    assert_eq!(rig.post(post).state, PostState::Held);
    assert!(gate.gate.words.contains(&head(1)[..7]) && gate.gate.words.contains(&head(2)[..7]), "{}", gate.gate.words);
    rig.resolve(gate.gate.id, "publish", None).unwrap();
    assert_eq!(rig.call(post, &detail).head, head(2));
}

#[test]
fn a_comment_outside_the_diff_moves_into_the_text_and_stays_there() {
    // GH-PUB-18
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let comments = json!([
        { "path": "src/gulls.rs", "line": 2, "body": "In the diff" },
        { "path": "src/gulls.rs", "line": 90, "body": "Far away" },
        { "path": "other.rs", "line": 1, "body": "Elsewhere" }
    ]);
    let post = rig.posted(&turn, json!({ "shape": "review", "event": "COMMENT", "text": "See", "comments": comments })).id;
    for _ in 0..2 {
        let order = rig.call(post, &detail);
        let Shape::Review { comments, .. } = order.shape else { panic!("a review") };
        assert_eq!(comments.iter().map(|c| c.body.as_str()).collect::<Vec<_>>(), ["In the diff"]);
        for part in ["src/gulls.rs:90", "Far away", "other.rs:1", "Elsewhere"] {
            assert_eq!(order.body.matches(part).count(), 1, "{}", order.body);
        }
        rig.outcome(post, SendOutcome::NotReached { why: "no route".into() });
        rig.pass(20);
    }
    assert_eq!(rig.post(post).moved, ["src/gulls.rs:90", "other.rs:1"]);
}

#[test]
fn a_pending_review_of_the_person_holds_the_post_whole() {
    // GH-PUB-20, GATE-01
    let mut rig = Rig::new();
    let detail = pull(1);
    let (turn, post) = queued(&mut rig, &detail);
    rig.call(post, &detail);
    rig.outcome(post, SendOutcome::Refused { kind: No::PendingReview, why: "422".into() });
    let gate = rig.open_gate(&detail);
    let row = rig.post(post);
    assert_eq!((row.state, row.gate, row.text.as_str()), (PostState::Held, gate.gate.id, "Fine"));
    assert!(gate.gate.words.contains("submit or discard"), "{}", gate.gate.words);
    assert_eq!((gate.gate.deadline, rig.turn(turn.id).state), (None, TurnState::Asked));
    rig.tick_after(86_400);
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open, "no window lets it out");
    rig.resolve(gate.gate.id, "publish", None).unwrap();
    rig.send(post, &detail, 1);
    assert_eq!((rig.post(post).state, rig.turn(turn.id).state), (PostState::Sent, TurnState::Recorded));
}

#[test]
fn a_verdict_on_the_persons_own_work_becomes_a_comment_and_waits() {
    // GH-PUB-21
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.author = Some(viewer());
    rig.sweep(&[&detail]);
    rig.by_hand(&detail, None).unwrap();
    let item = rig.items().remove(0).id;
    let turn = rig.prepare(item, &detail);
    rig.give(turn.id);
    let post = rig.review(&turn, "Fine");
    assert!(matches!(post.shape, Shape::Review { event: ReviewEvent::Comment, .. }));
    assert_eq!((post.state, rig.turn(turn.id).state), (PostState::Held, TurnState::Asked));
    assert_eq!(rig.open_gate(&detail).gate.id, post.gate);
    assert!(matches!(rig.try_send(post.id, at_head(&detail)), Reply::NotNow));
}

#[test]
fn only_what_cannot_have_been_sent_is_sent_again_and_one_review_of_a_turn_stays_one() {
    // GH-PUB-22, GH-PUB-25
    let mut rig = Rig::new();
    let detail = pull(1);
    let (turn, first) = queued(&mut rig, &detail);
    rig.call(first, &detail);
    rig.outcome(first, SendOutcome::Refused { kind: No::Invalid, why: "422".into() });
    let second = rig.review(&turn, "Better").id;
    rig.send(second, &detail, 1);
    let refusal = refused(rig.ask(Request::PostRetry(first)));
    assert_eq!(refusal.kind, RefusalKind::Conflict);
    assert_eq!(rig.post(first).state, PostState::Failed);
    rig.ask(Request::PostDiscard { post: first, reason: None }).unwrap();
}

#[test]
fn what_the_person_lets_out_after_a_cancel_goes() {
    // GH-PUB-20, RUN-13, MCP-13
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.call(post, &detail);
    rig.ask(Request::CancelTurn(turn.id)).unwrap();
    let why = "you have a pending review".to_owned();
    rig.outcome(post, SendOutcome::Refused { kind: No::PendingReview, why });
    let gate = rig.post(post).gate;
    assert_ne!(gate, turn.gate, "it is asked about");
    rig.resolve(gate, "publish", None).unwrap();
    rig.send(post, &detail, 5);
    assert_eq!(rig.post(post).state, PostState::Sent, "the later word counts");
    assert!(!rig.turn(turn.id).state.is_open(), "its turn does not hold the unit for ever");
}
