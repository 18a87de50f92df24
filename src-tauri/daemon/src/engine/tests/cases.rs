//! Field cases that need nothing but the engine: what people report of tools that do parts of this job.

use serde_json::json;
use wloop_core::gate::GateStatus;
use wloop_core::github::publish::marker;
use wloop_core::github::{Comment, Refusal as No, ReviewEvent, Shape};
use wloop_core::post::PostState;
use wloop_core::rules::value::Value;
use wloop_core::turn::TurnState;

use super::*;

fn comment(id: &str, author: Account, body: &str) -> Comment {
    Comment {
        id: id.into(),
        database_id: id.bytes().map(u64::from).sum(),
        author: Some(author),
        body: body.into(),
        created_at: start(),
        url: String::new(),
        review: String::new(),
    }
}

fn fact(rig: &Rig, detail: &Detail, name: &str) -> Option<Value> {
    let seen = crate::engine::book::seen(&rig.read(), &rig.rules, &unit(detail), rig.now).unwrap().unwrap();
    seen.facts.get(name).cloned()
}

#[test]
fn an_agent_that_comes_back_puts_nothing_in_the_place_of_what_was_answered() {
    // F02
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    rig.stop(&turn, "The review as it was shown").unwrap();
    let gate = rig.open_gate(&detail).gate.id;
    let post = rig.posts()[0].id;
    // While it asks, it does not exchange what is asked about.
    refused(rig.stop(&turn, "Another review"));
    refused(rig.tool(&turn, "github_post", json!({ "shape": "review", "event": "APPROVE", "text": "Another review" })));
    rig.resolve(gate, "publish", None).unwrap();
    // Nor after the answer, before it goes and after it went.
    for sent in [false, true] {
        if sent {
            rig.send(post, &detail, 1);
        }
        refused(rig.stop(&turn, "Another review"));
        refused(rig.tool(&turn, "github_post", json!({ "shape": "review", "event": "APPROVE", "text": "Another review" })));
        refused(rig.record(&turn, "published"));
    }
    let row = rig.post(post);
    assert_eq!((row.text.as_str(), row.state, row.gate), ("The review as it was shown", PostState::Sent, gate));
    assert!(matches!(row.shape, Shape::Review { event: ReviewEvent::RequestChanges, .. }));
    assert_eq!((rig.posts().len(), rig.open_gates().len()), (1, 0));
    // What it has to say besides goes under a gate of its own.
    let mut rig = Rig::new();
    let turn = rig.started(&detail);
    rig.stop(&turn, "The review").unwrap();
    let asked = rig.open_gate(&detail).gate.id;
    let Ok(Reply::Tool(answer)) = rig.tool(&turn, "github_draft", json!({ "text": "And this" })) else { panic!("no draft") };
    let other: GateId = answer["gate"].as_str().unwrap().parse().unwrap();
    rig.resolve(asked, "publish", None).unwrap();
    assert_ne!(other, asked);
    assert_eq!(rig.gate(other).gate.status, GateStatus::Open, "the answer to one is no answer to the other");
}

#[test]
fn a_branch_that_is_forced_elsewhere_around_the_answer_is_never_posted_on_as_if_it_were_the_old_one() {
    // F29, GH-PUB-17
    for (approved_first, looked) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut rig = Rig::new();
        let mut detail = pull(1);
        let turn = rig.started(&detail);
        rig.stop(&turn, "Written for the first").unwrap();
        let gate = rig.open_gate(&detail).gate.id;
        let post = rig.posts()[0].id;
        let told = format!("approved first: {approved_first}, the new head was seen: {looked}");
        if approved_first {
            rig.resolve(gate, "publish", None).unwrap();
        }
        detail.summary.head = head(2);
        detail.head_forced_at = Some(rig.now);
        if looked {
            detail.summary.updated_at = rig.now;
            rig.sweep(&[&detail]);
        }
        if !approved_first {
            assert_eq!(rig.gate(gate).gate.status, GateStatus::Open, "{told}");
            rig.resolve(gate, "publish", None).unwrap();
        }
        assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::NotNow), "{told}");
        assert_eq!((rig.post(post).state, rig.read().attempts(post).unwrap().len()), (PostState::Held, 0), "{told}");
        let again = rig.open_gate(&detail).gate;
        assert!(again.id != gate && again.words.contains(&head(1)[..7]) && again.words.contains(&head(2)[..7]), "{told}");
        assert_eq!((again.deadline, rig.gate(gate).gate.status), (None, GateStatus::Answered), "{told}");
        // Kept back, the round is offered anew, on the head as it is.
        rig.resolve(again.id, "reject", None).unwrap();
        assert_eq!((rig.turn(turn.id).state, rig.post(post).state), (TurnState::Recorded, PostState::Dropped), "{told}");
        rig.end(turn.id, TurnEnd::Well);
        rig.pass(60);
        detail.summary.updated_at = rig.now;
        detail.review_requests = vec![request("RR_2", rig.now)];
        rig.sweep(&[&detail]);
        let offer = rig.open_gate(&detail);
        assert_eq!(rig.item_of(&offer).head, head(2), "{told}");
    }
}

#[test]
fn a_half_written_review_is_waited_for_as_often_as_it_is_in_the_way() {
    // F30, GH-PUB-20
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    let mut asked = BTreeSet::new();
    for n in 0..3 {
        rig.call(post, &detail);
        rig.outcome(post, SendOutcome::Refused { kind: No::PendingReview, why: "422: one pending review".into() });
        let gate = rig.open_gate(&detail).gate;
        assert!(asked.insert(gate.id), "each answer is for one try");
        assert!(gate.words.contains("pending review") && gate.words.contains("422"), "{}", gate.words);
        let row = rig.post(post);
        assert_eq!((row.state, row.text.as_str(), row.maybe_posted), (PostState::Held, "Fine", false));
        // Theirs shows in a read, and stays theirs: it is no post of ours and settles nothing.
        detail.reviews = vec![review_by(viewer(), "R_half", ReviewState::Pending, rig.now, &head(1))];
        rig.show(&detail);
        assert_eq!((rig.post(post).state, rig.posts().len()), (PostState::Held, 1));
        rig.reopen();
        rig.tick_after(86_400);
        assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Send(_))), "{n}: nothing tries it by itself");
        rig.resolve(gate.id, "publish", None).unwrap();
    }
    // They submitted it: now it goes, once and whole.
    detail.reviews = vec![review_by(viewer(), "R_half", ReviewState::Commented, rig.now, &head(1))];
    rig.show(&detail);
    rig.send(post, &detail, 1);
    assert_eq!((rig.post(post).state, rig.count(EventKind::PostSent)), (PostState::Sent, 1));
    assert_eq!(rig.turn(turn.id).state, TurnState::Recorded);
}

#[test]
fn what_we_said_comes_back_as_no_news_and_what_the_person_types_is_theirs() {
    // F27, GH-PUB-29, GH-PUB-30, GH-FACT-24
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let turn = rig.started(&detail);
    let Ok(Reply::Tool(answer)) = rig.tool(&turn, "github_draft", json!({ "text": "Is it 20?" })) else { panic!("no draft") };
    let draft: PostId = answer["draft"].as_str().unwrap().parse().unwrap();
    rig.record(&turn, "nothing").unwrap();
    rig.end(turn.id, TurnEnd::Well);
    let gate = rig.post(draft).gate;
    rig.resolve(gate, "approve", None).unwrap();
    rig.call(draft, &detail);
    rig.show(&detail);
    let before = (fact(&rig, &detail, "pr.fingerprint"), rig.gates().len(), rig.turns().len());
    // Its answer is lost; the next sweep shows a comment under the person's name, once with our marker and twice without.
    rig.outcome(draft, SendOutcome::Doubt { why: "lost".into() });
    detail.comments = vec![
        comment("C_typed", viewer(), "Is it 20?"),
        comment("C_forged", viewer(), &format!("Is it 20?\n\n{}", marker("0000000000000000000000000000000a".parse().unwrap()))),
    ];
    rig.show(&detail);
    assert_eq!(rig.post(draft).state, PostState::Sending, "the same words, typed by hand, are the person's");
    detail.comments.push(comment("C_ours", viewer(), &format!("Is it 20?\n\n{}", marker(draft))));
    for _ in 0..2 {
        rig.pass(1_200);
        detail.summary.updated_at = rig.now;
        rig.sweep(&[&detail]);
        rig.show(&detail);
        let row = rig.post(draft);
        assert_eq!((row.state, row.remote.unwrap().node_id.as_str()), (PostState::Sent, "C_ours"));
        assert_eq!((fact(&rig, &detail, "pr.fingerprint"), rig.gates().len(), rig.turns().len()), before, "no new work");
    }
    assert_eq!(rig.count(EventKind::DraftSent), 1);
}
