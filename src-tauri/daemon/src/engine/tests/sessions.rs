//! Sessions: who acts through one, what is typed into one, what hooks tell and when one is closed.

use wloop_core::gate::{Actor, GateKind};
use wloop_core::id::SessionId;
use wloop_core::post::PostState;

use super::*;
use crate::input::{HookEvent, HookReport};

impl Rig {
    fn hook(&mut self, event: HookEvent, remote: &str) -> SessionId {
        let report = HookReport { event, remote: remote.to_owned(), folder: "/home/sam/api".to_owned() };
        let reply = self.ask(Request::Hook { agent: "claude-code".to_owned(), report }).unwrap();
        let Reply::Session(session) = reply else { panic!("{reply:?}") };
        session
    }

    fn through(&mut self, session: SessionId, request: Request) -> Answer<Reply> {
        self.hand_in(Input::Request { caller: Caller::Session(session), request })
    }

    /// Types into a session that the loop started, as the person will once there are such.
    fn person_types_into(&mut self, session: SessionId) {
        let now = self.now;
        self.engine().store_mut().write::<_, wloop_store::StoreError>(|tx| tx.person_typed(session, now)).unwrap();
    }
}

fn resolve(gate: GateId, intent: &str) -> Request {
    Request::Resolve { gate, intent: intent.to_owned(), text: None, draft_text: None }
}

#[test]
fn a_driven_session_resolves_as_the_person_and_the_gate_names_it() {
    // RES-03, RES-06, RES-10, SES-02, SES-03
    let mut rig = Rig::new();
    let gate = rig.planned(&pull(1)).gate.id;
    let session = rig.hook(HookEvent::SessionStart, "one");
    // Whether its agent tells of prompts is not known yet: it acts for nobody (SES-04).
    forbidden(rig.through(session, resolve(gate, "skip")));
    assert_eq!(rig.hook(HookEvent::UserPromptSubmit, "one"), session, "the same conversation is the same session");
    rig.through(session, resolve(gate, "skip")).unwrap();
    let closed = rig.gate(gate).gate.closed.unwrap();
    assert_eq!(closed.actor, Actor::Person { via: Some(session) });
    let decided = rig.events().into_iter().find(|e| e.event.kind == EventKind::GateDecided).unwrap();
    assert_eq!(decided.event.actor, Actor::Person { via: Some(session) });
}

#[test]
fn a_worker_is_driven_once_the_person_typed_into_it_and_no_longer_when_its_turn_runs() {
    // RES-07, RES-08, RES-09, RES-12, SES-01, SES-02
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let turn = rig.started(&one);
    rig.sweep(&[&one, &two]);
    let plan = rig.open_gate(&two).gate.id;
    let row = rig.read().session(turn.session).unwrap().unwrap();
    assert_eq!((row.manager.as_str(), row.state.as_str()), ("wloop", "active"));
    let typed = rig.read().newest_prompt(turn.session, false).unwrap().unwrap();
    assert_eq!((typed.turn, typed.by_person), (Some(turn.id), false), "the loop's own prompt is stored");
    assert!(rig.read().newest_prompt(turn.session, true).unwrap().is_none());
    // A turn of the loop's runs: not driven, whoever typed last.
    rig.person_types_into(turn.session);
    forbidden(rig.through(turn.session, resolve(plan, "skip")));
    // It stopped and asks: what it asked itself is not answered through it, and other gates are.
    rig.stop(&turn, "Look here.").unwrap();
    let asked = rig.open_gates().into_iter().find(|g| g.turn == Some(turn.id)).unwrap().gate.id;
    for intent in ["publish", "reject"] {
        let refusal = refused(rig.through(turn.session, resolve(asked, intent)));
        assert!(refusal.kind == RefusalKind::Forbidden && refusal.detail.contains("asked this itself"), "{refusal:?}");
    }
    assert_eq!(rig.posts()[0].state, PostState::Held);
    rig.through(turn.session, resolve(plan, "skip")).unwrap();
    assert_eq!(rig.gate(plan).gate.closed.unwrap().actor, Actor::Person { via: Some(turn.session) });
}

#[test]
fn a_worker_that_nobody_typed_into_stays_unattended_after_its_turn() {
    // RES-07, RES-11, SES-04
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let turn = rig.started(&one);
    rig.sweep(&[&one, &two]);
    let plan = rig.open_gate(&two).gate.id;
    rig.record(&turn, "nothing").unwrap();
    forbidden(rig.through(turn.session, resolve(plan, "skip")));
    let report = HookReport { event: HookEvent::UserPromptSubmit, remote: "forged".to_owned(), folder: "/".to_owned() };
    // Nor does it make itself a session of the person's.
    forbidden(rig.through(turn.session, Request::Hook { agent: "claude-code".to_owned(), report }));
    assert!(rig.read().hooked_session("claude-code", "forged").unwrap().is_none());
}

#[test]
fn a_turn_s_prompt_is_typed_once() {
    // SES-02, RUN-35
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    let now = rig.now;
    let again = rig.engine().store_mut().write::<_, wloop_store::StoreError>(|tx| tx.loop_typed(turn.session, turn.id, now));
    assert!(again.is_err(), "the ledger itself refuses a second one");
}

#[test]
fn a_hook_s_session_comes_and_goes_with_what_it_tells() {
    // SES-01, SES-03
    let mut rig = Rig::new();
    let session = rig.hook(HookEvent::SessionStart, "one");
    let other = rig.hook(HookEvent::SessionStart, "two");
    assert_ne!(session, other);
    let state = |rig: &Rig| rig.read().session(session).unwrap().unwrap().state;
    rig.hook(HookEvent::UserPromptSubmit, "one");
    assert!(rig.read().hooked(session).unwrap().unwrap().works);
    rig.hook(HookEvent::Stop, "one");
    let hooked = rig.read().hooked(session).unwrap().unwrap();
    assert!(!hooked.works && hooked.reports_prompts, "that prompts are told of is not forgotten");
    rig.hook(HookEvent::SessionEnd, "one");
    assert_eq!(state(&rig), "dormant");
    rig.hook(HookEvent::SessionStart, "one");
    assert_eq!(state(&rig), "active");
    assert_eq!(rig.count(EventKind::SessionOpened), 2, "told of once each");
    assert_eq!(rig.read().sessions(false, 10).unwrap().len(), 2);
}

#[test]
fn a_session_in_use_is_not_closed_and_none_takes_a_prompt_yet() {
    // SES-10
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    let conflict = |rig: &mut Rig, request: Request, words: &str| {
        let refusal = refused(rig.ask(request));
        assert!(refusal.kind == RefusalKind::Conflict && refusal.detail.contains(words), "{words}: {refusal:?}");
    };
    conflict(&mut rig, Request::CloseSession(turn.session), "a turn runs in it");
    conflict(&mut rig, Request::PromptSession(turn.session), "runs headless");
    let session = rig.hook(HookEvent::UserPromptSubmit, "one");
    conflict(&mut rig, Request::CloseSession(session), "its agent works");
    rig.hook(HookEvent::Stop, "one");
    conflict(&mut rig, Request::CloseSession(session), "you typed into it");
    conflict(&mut rig, Request::PromptSession(session), "wloop did not start it");
    rig.pass(15 * 60);
    rig.ask(Request::CloseSession(session)).unwrap();
    assert_eq!(rig.read().session(session).unwrap().unwrap().state, "closed");
    assert_eq!(rig.count(EventKind::SessionClosed), 1);
    conflict(&mut rig, Request::CloseSession(session), "closed already");
    // A closed one acts for nobody.
    let gate = rig.open_gates().first().map(|g| g.gate.id);
    assert!(gate.is_none());
    forbidden(rig.through(session, Request::CloseSession(turn.session)));
    let nobody = "000000000000000000000000000000aa".parse().unwrap();
    assert_eq!(refused(rig.ask(Request::CloseSession(nobody))).kind, RefusalKind::NotFound);
}

#[test]
fn a_driven_session_answers_for_plan_and_trust_and_never_for_its_own_drafts() {
    // WIN-35, RES-12
    let mut rig = Rig::untrusted("");
    let one = pull(1);
    rig.sweep(&[&one]);
    let plan = rig.open_gate(&one).gate.id;
    let session = rig.hook(HookEvent::SessionStart, "one");
    rig.hook(HookEvent::UserPromptSubmit, "one");
    rig.through(session, resolve(plan, "run_now")).unwrap();
    let item = rig.items().remove(0);
    assert!(matches!(rig.start_release(item.id, &one), Reply::NotNow));
    let trust = rig.open_gates().into_iter().find(|g| g.gate.kind == GateKind::Trust).unwrap().gate.id;
    rig.through(session, resolve(trust, "trust_run")).unwrap();
    for gate in [plan, trust] {
        assert_eq!(rig.gate(gate).gate.closed.unwrap().actor, Actor::Person { via: Some(session) });
    }

    // What a turn of the session drafted is not let out, reworded or dropped through it, also once the person types there.
    let mut rig = Rig::new();
    let turn = rig.started(&pull(1));
    let Ok(Reply::Tool(answer)) = rig.tool(&turn, "github_draft", json!({ "text": "Is it 20?" })) else { panic!("no draft") };
    let draft: wloop_core::id::PostId = answer["draft"].as_str().unwrap().parse().unwrap();
    let gate: GateId = answer["gate"].as_str().unwrap().parse().unwrap();
    rig.record(&turn, "nothing").unwrap();
    rig.person_types_into(turn.session);
    let own = [
        resolve(gate, "approve"),
        resolve(gate, "discard"),
        Request::EditDraft { draft, text: "Yes.".to_owned(), gate: None },
        Request::DiscardDraft { draft, reason: Some("no".to_owned()) },
        Request::RetryDraft(draft),
        Request::PostRetry(draft),
        Request::PostSent(draft),
        Request::PostDiscard { post: draft, reason: None },
    ];
    for request in own {
        let told = format!("{request:?}");
        let refusal = refused(rig.through(turn.session, request));
        assert!(refusal.kind == RefusalKind::Forbidden && refusal.detail.contains("asked this itself"), "{told}: {refusal:?}");
    }
    assert_eq!(rig.post(draft).state, PostState::Held);
    // Nor through the same conversation, gone on with somewhere else; another one acts for the person.
    rig.agent(turn.id, AgentEvent::Conversation("the-same".to_owned()));
    let elsewhere = rig.hook(HookEvent::UserPromptSubmit, "the-same");
    let refusal = refused(rig.through(elsewhere, resolve(gate, "approve")));
    assert!(refusal.detail.contains("asked this itself"), "{refusal:?}");
    assert_eq!(rig.post(draft).state, PostState::Held);
    let other = rig.hook(HookEvent::UserPromptSubmit, "another");
    rig.through(other, resolve(gate, "approve")).unwrap();
    assert_eq!(rig.post(draft).state, PostState::Queued);
}

#[test]
fn a_conversation_that_the_person_goes_on_with_elsewhere_is_the_session_it_was() {
    // SES-01, SES-02, RES-07, RES-08, RES-12
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let turn = rig.started(&one);
    rig.agent(turn.id, AgentEvent::Conversation("conversation-7".into()));
    rig.sweep(&[&one, &two]);
    let plan = rig.open_gate(&two).gate.id;
    // While its turn runs the person has typed nothing that counts, wherever they did.
    assert_eq!(rig.hook(HookEvent::UserPromptSubmit, "conversation-7"), turn.session);
    forbidden(rig.through(turn.session, resolve(plan, "skip")));
    let Ok(Reply::Tool(answer)) = rig.tool(&turn, "github_draft", json!({ "text": "Is it 20?" })) else { panic!("no draft") };
    let drafted: GateId = answer["gate"].as_str().unwrap().parse().unwrap();
    rig.stop(&turn, "Look here.").unwrap();
    let asked = rig.open_gates().into_iter().find(|g| g.turn == Some(turn.id)).unwrap().gate.id;
    rig.end(turn.id, TurnEnd::Well);
    assert_eq!(rig.read().session(turn.session).unwrap().unwrap().state, "closed");
    // They resume it at a terminal: no second session comes of that, and it is open again.
    assert_eq!(rig.hook(HookEvent::SessionStart, "conversation-7"), turn.session);
    assert_eq!(rig.hook(HookEvent::UserPromptSubmit, "conversation-7"), turn.session);
    let row = rig.read().session(turn.session).unwrap().unwrap();
    assert_eq!((row.manager.as_str(), row.state.as_str(), row.folder.as_str()), ("wloop", "active", "/trees/review-1"));
    assert_eq!((rig.read().sessions(true, 10).unwrap().len(), rig.count(EventKind::SessionOpened)), (1, 0));
    // It acts for the person now, except on what its own turn asked and drafted.
    for (gate, intent) in [(asked, "publish"), (asked, "reject"), (drafted, "approve"), (drafted, "discard")] {
        let refusal = refused(rig.through(turn.session, resolve(gate, intent)));
        assert!(refusal.kind == RefusalKind::Forbidden && refusal.detail.contains("asked this itself"), "{refusal:?}");
    }
    rig.through(turn.session, resolve(plan, "skip")).unwrap();
    assert_eq!(rig.gate(plan).gate.closed.unwrap().actor, Actor::Person { via: Some(turn.session) });
    rig.hook(HookEvent::SessionEnd, "conversation-7");
    assert_eq!(rig.read().session(turn.session).unwrap().unwrap().state, "dormant");
}

#[test]
fn two_sessions_of_one_conversation_answer_nothing_that_the_other_asked() {
    // RES-12
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    // The hook told of it before the turn said which conversation it is.
    let hooked = rig.hook(HookEvent::UserPromptSubmit, "conversation-8");
    let stranger = rig.hook(HookEvent::UserPromptSubmit, "conversation-9");
    let turn = rig.started(&one);
    rig.sweep(&[&one, &two]);
    let plan = rig.open_gate(&two).gate.id;
    let Ok(Reply::Tool(answer)) = rig.tool(&turn, "github_draft", json!({ "text": "Is it 20?" })) else { panic!("no draft") };
    let drafted: GateId = answer["gate"].as_str().unwrap().parse().unwrap();
    let draft: wloop_core::id::PostId = answer["draft"].as_str().unwrap().parse().unwrap();
    rig.stop(&turn, "Look here.").unwrap();
    let asked = rig.open_gates().into_iter().find(|g| g.turn == Some(turn.id)).unwrap().gate.id;
    rig.agent(turn.id, AgentEvent::Conversation("conversation-8".into()));
    assert_ne!(hooked, turn.session);
    let edit = Request::EditDraft { draft, text: "It is 20.".to_owned(), gate: None };
    for request in [resolve(asked, "publish"), resolve(asked, "reject"), resolve(drafted, "approve"), edit] {
        let told = format!("{request:?}");
        let refusal = refused(rig.through(hooked, request));
        assert!(refusal.kind == RefusalKind::Forbidden && refusal.detail.contains("asked this itself"), "{told}: {refusal:?}");
    }
    assert_eq!((rig.gate(asked).gate.closed, rig.post(draft).state), (None, PostState::Held));
    // What nobody of that conversation asked it may answer; and another conversation may answer this.
    rig.through(hooked, resolve(plan, "skip")).unwrap();
    rig.through(stranger, resolve(drafted, "discard")).unwrap();
    rig.through(stranger, resolve(asked, "publish")).unwrap();
}
