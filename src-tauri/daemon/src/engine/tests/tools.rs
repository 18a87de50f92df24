//! What an agent's tools do, and what they refuse.

use serde_json::json;
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::*;

fn answer(reply: Answer<Reply>) -> Value {
    let reply = reply.unwrap();
    let Reply::Tool(value) = reply else { panic!("no answer: {reply:?}") };
    value
}

#[test]
fn a_call_belongs_to_the_open_turn_of_its_own_session() {
    // MCP-03, GH-PUB-25
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let turn = rig.started(&one);
    rig.sweep(&[&one, &two]);
    let gate = rig.open_gate(&two);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let other = rig.prepare(rig.item_of(&gate).id, &two);
    let review = json!({ "shape": "review", "event": "APPROVE", "text": "Fine" });
    // Another session's name is no key to it.
    for caller in [Caller::Session(other.session), Caller::Person, Caller::Unknown("?".into())] {
        let call = check_arguments("github_post", &review).unwrap();
        let request = Request::Tool { session: turn.session, call, arguments: review.clone() };
        forbidden(rig.hand_in(Input::Request { caller, request }));
    }
    // A turn that was not given its prompt yet.
    assert_eq!(refused(rig.tool(&other, "github_post", review.clone())).code, Some("turn_state"));
    assert_eq!(refused(rig.record(&other, "nothing")).code, Some("turn_state"));
    rig.record(&turn, "nothing").unwrap();
    for (name, arguments) in [("github_post", review), ("task_read", json!({}))] {
        assert_eq!(refused(rig.tool(&turn, name, arguments)).code, Some("not_in_turn"), "{name}");
    }
    let stranger = TurnRow { session: "000000000000000000000000000000aa".parse().unwrap(), ..turn };
    assert_eq!(refused(rig.tool(&stranger, "task_read", json!({}))).code, Some("not_in_turn"));
    assert!(rig.posts().is_empty(), "a refused write leaves no row");
}

#[test]
fn arguments_that_are_not_right_are_refused_by_name() {
    // MCP-04
    for (tool, arguments, names) in [
        ("github_post", json!({ "shape": "review", "event": "APPROVE", "text": "x", "colour": 1 }), "colour"),
        ("github_post", json!({ "shape": "review", "text": "x" }), "event"),
        ("github_post", json!({ "shape": "comment" }), "text"),
        ("record", json!({ "verdict": 3, "summary": "x" }), "verdict"),
        ("task_read", json!({ "include": "all" }), "include"),
    ] {
        let refusal = check_arguments(tool, &arguments).unwrap_err();
        assert_eq!(refusal.code.as_str(), "invalid");
        assert!(refusal.message.contains(names), "{}", refusal.message);
    }
}

#[test]
fn a_turn_posts_what_its_intent_lists_once_and_in_its_threads() {
    // GH-PUB-22, GH-PUB-25, MCP-03
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    let refuse = |rig: &mut Rig, arguments: Value| refused(rig.tool(&turn, "github_post", arguments)).code.unwrap();
    assert_eq!(refuse(&mut rig, json!({ "shape": "comment", "text": "Hello" })), "refused");
    assert_eq!(refuse(&mut rig, json!({ "shape": "reply", "text": "Hello", "in_reply_to": 5 })), "refused");
    assert_eq!(refuse(&mut rig, json!({ "shape": "reply", "text": "Hello", "thread": "T_9" })), "not_found");
    assert_eq!(refuse(&mut rig, json!({ "shape": "review", "event": "COMMENT", "text": "<!-- wloop:x -->" })), "invalid");
    assert!(rig.posts().is_empty());
    rig.review(&turn, "Fine");
    assert_eq!(refuse(&mut rig, json!({ "shape": "review", "event": "APPROVE", "text": "More" })), "already");
    rig.stop(&turn, "x").unwrap_err();
    assert_eq!(rig.posts().len(), 1);
}

#[test]
fn nothing_is_posted_while_a_gate_of_the_turn_is_open() {
    // GH-PUB-25, AMB-11, M1
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    rig.stop(&turn, "Wait").unwrap();
    let refusal = refused(rig.tool(&turn, "github_post", json!({ "shape": "review", "event": "APPROVE", "text": "Fine" })));
    assert_eq!(refusal.code, Some("turn_state"));
    assert_eq!(rig.posts().len(), 1);
    answer(rig.tool(&turn, "task_read", json!({})));
}

#[test]
fn the_same_write_again_is_the_first_one() {
    // GH-PUB-26, MCP-06
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let call = json!({ "shape": "review", "event": "APPROVE", "text": "Fine" });
    let first = rig.posted(&turn, call.clone()).id;
    assert_eq!(rig.posted(&turn, call.clone()).id, first);
    rig.send(first, &detail, 1);
    assert_eq!(rig.posted(&turn, call).id, first, "also once it is sent");
    // Blanks and markers make no other text.
    let blank = json!({ "shape": "review", "event": "APPROVE", "text": "Fine \n" });
    assert_eq!(rig.posted(&turn, blank).id, first);
    assert_eq!(rig.posts().len(), 1);
}

#[test]
fn a_key_names_one_call() {
    // MCP-06
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let call = |text: &str| json!({ "shape": "review", "event": "APPROVE", "text": text, "key": "mine" });
    let first = rig.posted(&turn, call("Fine")).id;
    assert_eq!(rig.posted(&turn, call("Fine")).id, first);
    assert_eq!(refused(rig.tool(&turn, "github_post", call("Other"))).code, Some("invalid"));
    assert_eq!(rig.posts().len(), 1);
    // The same key in another turn is another call.
    let kept = rig.read().tool_call(turn.id, "github_post", "mine").unwrap().unwrap();
    assert_eq!(kept.post, Some(first));
}

#[test]
fn a_turn_makes_at_most_forty_posts() {
    // MCP-08
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let comment = |n: u64| wloop_core::github::Comment {
        id: format!("C_{n}"),
        database_id: n,
        author: Some(account("ana")),
        body: "hm".into(),
        created_at: start(),
        url: String::new(),
        review: String::new(),
    };
    let thread = |n: u64| wloop_core::github::Thread {
        id: format!("T_{n}"),
        resolved: false,
        outdated: false,
        path: "a".into(),
        line: None,
        comments: vec![comment(n)],
    };
    detail.threads = (1..=41).map(thread).collect();
    let turn = rig.started(&detail);
    for n in 1..=40 {
        rig.posted(&turn, json!({ "shape": "reply", "text": "Done", "in_reply_to": n }));
    }
    let refusal = refused(rig.tool(&turn, "github_post", json!({ "shape": "reply", "text": "Done", "in_reply_to": 41 })));
    assert_eq!(refusal.code, Some("limit"));
    assert!(refusal.detail.contains("40"), "{}", refusal.detail);
    let long = json!({ "shape": "comment", "text": "x".repeat(65_001) });
    assert_eq!(check_arguments("github_post", &long).unwrap_err().code.as_str(), "limit");
}

#[test]
fn the_task_tells_what_there_is_to_do() {
    // MCP-10, ROUND-32
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.body = "Please approve".into();
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "guide", Some("Mind the lock")).unwrap();
    let turn = rig.prepare(rig.item_of(&gate).id, &detail);
    rig.give(turn.id);
    let read = answer(rig.tool(&turn, "task_read", json!({})));
    assert_eq!(read["guidance"], "Mind the lock");
    assert_eq!((read["unit"]["slug"].as_str(), read["turn"]["head"].as_str()), (Some("acme/api#1"), Some(head(1).as_str())));
    assert_eq!(read["covered"]["threads"], json!([]));
    assert_eq!(read["material"]["third_party"], true);
    assert!(read["material"]["description"].as_str().unwrap().contains("Please approve"));
    assert_eq!(read["answers"], json!([]));
    rig.stop(&turn, "Wait").unwrap();
    let again = answer(rig.tool(&turn, "task_read", json!({ "include": ["drafts"] })));
    assert_eq!(again["posts"][0]["state"], "held");
    assert_eq!(again["posts"][0]["gate"], rig.open_gate(&detail).gate.id.to_string());
}

#[test]
fn a_record_is_checked_and_ends_the_turn_once() {
    // MCP-12, MCP-13
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let code = |answer: Answer<Reply>| {
        let refusal = refused(answer);
        (refusal.code.unwrap(), refusal.detail)
    };
    assert_eq!(code(rig.record(&turn, "published")).0, "invalid", "nothing was published");
    let (word, path) =
        code(rig.tool(&turn, "record", json!({ "verdict": "nothing", "summary": "x", "findings": [{ "title": 3 }] })));
    assert!(word == "invalid" && path.contains("/findings/0"), "{path}");
    let asked = |more: Value| {
        let mut object = json!({ "verdict": "asked", "summary": "x" });
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let draft = json!({ "event": "COMMENT", "body": "b" });
    for (object, names) in [
        (asked(json!({ "draft": draft })), "condition"),
        (asked(json!({ "condition": "unsure" })), "draft"),
        (asked(json!({ "condition": "unsure", "draft": { "event": "COMMENT", "body": "" } })), "draft"),
    ] {
        let (word, words) = code(rig.tool(&turn, "record", object));
        assert!(word == "invalid" && words.contains(names), "{words}");
    }
    assert_eq!(rig.turn(turn.id).record, None);
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &detail, 1);
    assert_eq!(answer(rig.record(&turn, "published"))["state"], "recorded");
    assert_eq!(rig.turn(turn.id).verdict.as_deref(), Some("published"));
    let again = answer(rig.record(&turn, "published"));
    assert_eq!(again["repeated"], true);
    assert_eq!(code(rig.record(&turn, "nothing")).0, "already");
    assert_eq!(rig.count(EventKind::TurnRecorded), 1);
}

#[test]
fn a_stopped_turn_records_the_same_again_and_nothing_else() {
    // MCP-12
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    rig.stop(&turn, "Wait").unwrap();
    assert_eq!(answer(rig.stop(&turn, "Wait"))["repeated"], true);
    assert_eq!(refused(rig.record(&turn, "nothing")).code, Some("turn_state"));
    assert_eq!((rig.turn(turn.id).state, rig.posts()[0].state), (TurnState::Asked, PostState::Held));
    assert_eq!(rig.gates().iter().filter(|g| g.turn == Some(turn.id)).count(), 1);
}
