//! The first run of an agent in a repository, and what an agent asks before it starts.

use wloop_core::consequence::Consequence;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::plan::ItemState;
use wloop_core::stops::BlockKind;
use wloop_core::turn::TurnState;
use wloop_store::Store;

use super::*;

/// A home where no agent has run yet; the rounds of these pull requests are released and were looked at once.
fn asked(rig: &mut Rig, pulls: &[&Detail]) -> GateRow {
    rig.sweep(pulls);
    rig.tick_after(60);
    for detail in pulls {
        let item = rig.items().into_iter().find(|item| item.unit == unit(detail)).unwrap();
        assert!(matches!(rig.start_release(item.id, detail), Reply::NotNow));
    }
    the_trust_gate(rig)
}

fn the_trust_gate(rig: &Rig) -> GateRow {
    let mut open = rig.open_gates();
    open.retain(|gate| gate.gate.kind == GateKind::Trust);
    assert_eq!(open.len(), 1, "{open:?}");
    open.remove(0)
}

fn item_on(rig: &Rig, detail: &Detail) -> ItemRow {
    rig.items().into_iter().rfind(|item| item.unit == unit(detail)).unwrap()
}

fn trusted(rig: &Rig) -> bool {
    rig.read().trust("claude-code", "acme/api").unwrap().is_some()
}

fn written(rig: &mut Rig, gate: GateId, written: Result<(), String>) {
    rig.take(Input::Done(Done::Trusted { gate, written }));
}

#[test]
fn the_first_run_of_an_agent_in_a_repository_asks_once_and_every_round_waits() {
    // RUN-32, GATE-01, GATE-51, GATE-53, C2
    let mut rig = Rig::untrusted("");
    let (one, two) = (pull(1), pull(2));
    let gate = asked(&mut rig, &[&one, &two]);
    assert_eq!(gate.gate.unit, Some(unit(&one)));
    for named in ["claude-code", "acme/api", "/trees/acme/api", "could run commands"] {
        assert!(gate.gate.words.contains(named), "{}", gate.gate.words);
    }
    let intents: Vec<_> = gate.gate.intents.iter().map(|intent| (intent.name.as_str(), intent.status)).collect();
    assert_eq!(intents, [("trust_run", GateStatus::Approved), ("unblock", GateStatus::Dismissed)]);
    for detail in [&one, &two] {
        let item = item_on(&rig, detail);
        assert_eq!(item.state, ItemState::Blocked);
        assert!(item.reason.contains("has never run in acme/api") && item.reason.contains(&gate.gate.id.to_string()[..6]));
        let plan = rig.gate(item.gate);
        assert_eq!((plan.gate.status, plan.consequence.unwrap().0), (GateStatus::Approved, Consequence::Ran));
    }
    assert!(rig.turns().is_empty() && !rig.jobs().iter().any(|job| matches!(job, Job::Release(_) | Job::Trust(_))));
    let block = rig.read().block(gate.gate.id).unwrap().unwrap();
    assert_eq!((block.kind, block.folder.as_str()), (BlockKind::FirstRun, "/trees/acme/api"));
    // A round by hand waits as well: it is the agent's first run there all the same.
    let three = pull(3);
    rig.show(&three);
    rig.sweep(&[&one, &two, &three]);
    rig.by_hand(&three, None).unwrap();
    assert!(matches!(rig.start_release(item_on(&rig, &three).id, &three), Reply::NotNow));
    assert_eq!(item_on(&rig, &three).state, ItemState::Blocked);
    assert_eq!(the_trust_gate(&rig).gate.id, gate.gate.id);
}

#[test]
fn no_rule_no_window_and_no_session_trusts() {
    // GATE-54, RES-11
    let run = "[[workflows.review.gates.approval.rule]]\nwhen = 'true'\nmode = \"run\"\n";
    let mut rig = Rig::untrusted(run);
    let detail = pull(1);
    rig.sweep(&[&detail]);
    let item = item_on(&rig, &detail);
    assert!(matches!(rig.start_release(item.id, &detail), Reply::NotNow));
    let gate = the_trust_gate(&rig);
    assert_eq!((gate.gate.deadline, gate.gate.closed), (None, None));
    rig.tick_after(48 * 3_600);
    let resolve = Request::Resolve { gate: gate.gate.id, intent: "trust_run".into(), text: None, draft_text: None };
    forbidden(rig.hand_in(Input::Request { caller: Caller::Unknown("?".into()), request: resolve }));
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open);
    assert!(!trusted(&rig) && rig.jobs().iter().all(|job| !matches!(job, Job::Trust(_))));
}

#[test]
fn trust_is_written_once_and_each_waiting_round_starts_once() {
    // GATE-13, GATE-52, K26, C1, C2, P13
    for cut in 0..3 {
        let mut rig = Rig::untrusted("");
        let (one, two) = (pull(1), pull(2));
        let gate = asked(&mut rig, &[&one, &two]).gate.id;
        rig.resolve(gate, "trust_run", None).unwrap();
        assert!(!trusted(&rig), "the resolution comes before what follows from it");
        if cut > 0 {
            rig.reopen();
        }
        assert_eq!(rig.jobs().iter().filter(|job| **job == Job::Trust(gate)).count(), 1);
        written(&mut rig, gate, Ok(()));
        if cut > 1 {
            rig.reopen();
        }
        // The same outcome once more, of a job that was begun before a power cut, changes nothing.
        let events = rig.events().len();
        written(&mut rig, gate, Ok(()));
        assert!(trusted(&rig) && !rig.jobs().contains(&Job::Trust(gate)));
        assert!(rig.events().len() <= events + usize::from(cut > 1));
        assert_eq!(rig.count(EventKind::TrustWritten), 1);
        let row = rig.gate(gate);
        assert_eq!((row.gate.closed.unwrap().actor, row.consequence.unwrap().0), (Actor::PERSON, Consequence::Ran));
        let read = rig.read().task(row.gate.task.unwrap()).unwrap().unwrap();
        assert!(read.ended_at.is_some(), "the captured task ended with it");
        for detail in [&one, &two] {
            let item = item_on(&rig, detail);
            assert_eq!(item.state, ItemState::Released);
            rig.prepare(item.id, detail);
        }
        assert_eq!(rig.turns().len(), 2);
        assert!(rig.jobs().iter().all(|job| !matches!(job, Job::Release(_))));
        // Another agent is another question, and so is another repository.
        assert!(rig.read().trust("codex", "acme/api").unwrap().is_none());
        assert!(rig.read().trust("claude-code", "acme/web").unwrap().is_none());
    }
}

#[test]
fn a_dismissed_block_writes_no_trust_and_gives_the_rounds_up() {
    // GATE-53, P14, CONS-15
    let mut rig = Rig::untrusted("");
    let (mut one, two) = (pull(1), pull(2));
    let gate = asked(&mut rig, &[&one, &two]).gate.id;
    rig.resolve(gate, "unblock", None).unwrap();
    let row = rig.gate(gate);
    assert_eq!((row.gate.status, row.consequence.unwrap().0), (GateStatus::Dismissed, Consequence::Ran));
    assert!(!trusted(&rig) && rig.read().blocks().unwrap().is_empty());
    for detail in [&one, &two] {
        assert_eq!(item_on(&rig, detail).state, ItemState::Gone);
    }
    rig.pass(120);
    rig.sweep(&[&one, &two]);
    assert!(rig.open_gates().is_empty() && rig.turns().is_empty(), "it does not ask again every minute");
    one.summary.head = head(2);
    one.summary.updated_at = rig.now;
    rig.planned(&one);
}

#[test]
fn when_the_round_that_asks_leaves_the_next_one_asks() {
    // RUN-32, GATE-55, GATE-56, G15
    let mut rig = Rig::untrusted("");
    let (mut one, two) = (pull(1), pull(2));
    let first = asked(&mut rig, &[&one, &two]).gate.id;
    one.summary.state = PullState::Closed;
    one.summary.updated_at = rig.now;
    rig.show(&one);
    assert_eq!((rig.gate(first).gate.status, item_on(&rig, &one).state), (GateStatus::Superseded, ItemState::Gone));
    let second = the_trust_gate(&rig);
    assert_eq!(second.gate.unit, Some(unit(&two)));
    assert!(item_on(&rig, &two).reason.contains(&second.gate.id.to_string()[..6]));
    let refusal = refused(rig.resolve(first, "trust_run", None));
    assert_eq!((refusal.kind, refusal.gate), (RefusalKind::Conflict, Some(first)));
    assert!(!trusted(&rig) && rig.jobs().iter().all(|job| !matches!(job, Job::Trust(_))));
    rig.ask(Request::DismissPlan { unit: unit(&two) }).unwrap();
    assert!(rig.open_gates().is_empty(), "with nothing that waits, nothing is asked");
    assert_eq!(rig.gate(second.gate.id).gate.status, GateStatus::Superseded);
}

#[test]
fn a_home_that_cannot_be_written_is_a_failure_that_only_the_person_repeats() {
    // CONS-12, CONS-13, C3, C8, K20
    let mut rig = Rig::untrusted("");
    let detail = pull(1);
    let gate = asked(&mut rig, &[&detail]).gate.id;
    rig.resolve(gate, "trust_run", None).unwrap();
    // The daemon stopped before the failure was written down: it is tried once more by itself.
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Trust(gate)));
    written(&mut rig, gate, Err("read-only".into()));
    for _ in 0..2 {
        assert_eq!(rig.gate(gate).consequence.unwrap().0, Consequence::Failed);
        assert!(!rig.jobs().contains(&Job::Trust(gate)) && !trusted(&rig));
        assert_eq!(rig.read().consequences_unseen(Consequence::Failed).unwrap().len(), 1);
        rig.tick_after(600);
        rig.reopen();
    }
    assert!(item_on(&rig, &detail).reason.contains("wloop gates retry"), "{}", item_on(&rig, &detail).reason);
    rig.ask(Request::RetryGate(gate)).unwrap();
    written(&mut rig, gate, Ok(()));
    assert!(trusted(&rig) && rig.read().consequences_unseen(Consequence::Failed).unwrap().is_empty());
    assert_eq!(item_on(&rig, &detail).state, ItemState::Released);
}

/// A turn that was given its prompt, and whose agent then asks something of its own.
fn would_not_start(rig: &mut Rig, detail: &Detail, kind: BlockKind) -> (TurnRow, GateRow) {
    let gate = rig.planned(detail);
    rig.resolve(gate.gate.id, "guide", Some("Mind it")).unwrap();
    let turn = rig.prepare(rig.item_of(&gate).id, detail);
    rig.claim(turn.id);
    rig.spawn(turn.id);
    rig.agent(turn.id, AgentEvent::PromptGiven);
    let words = "Not inside a trusted directory".to_owned();
    rig.end(turn.id, TurnEnd::Blocked { kind, folder: "/trees/acme/api/review-1".into(), words });
    (rig.turn(turn.id), the_trust_gate(rig))
}

#[test]
fn an_agent_that_asks_before_it_starts_puts_its_round_back_under_a_trust_gate() {
    // GATE-51, RUN-30, RUN-31, P12, ROUND-24
    let mut rig = Rig::new();
    let detail = pull(1);
    let (turn, gate) = would_not_start(&mut rig, &detail, BlockKind::Folder);
    assert_eq!(turn.state, TurnState::Failed);
    assert!(turn.cause.contains("Not inside a trusted directory"), "{}", turn.cause);
    assert!(gate.gate.words.contains("Not inside a trusted directory") && gate.gate.words.contains("/trees/acme/api"));
    assert_eq!(rig.read().block(gate.gate.id).unwrap().unwrap().folder, "/trees/acme/api", "the repository's own folder");
    let item = item_on(&rig, &detail);
    assert_eq!(item.state, ItemState::Blocked);
    let read = rig.read();
    assert_eq!(read.guidance(&item.unit).unwrap().len(), 1, "its guidance is back");
    assert!(read.handled(&item.unit, "review").unwrap().is_empty());
    assert_eq!((read.rounds_on(&item.unit, &head(1)).unwrap(), read.rounds_given(start(), None, None).unwrap()), (0, 0));
    rig.reopen();
    assert_eq!(the_trust_gate(&rig).gate.id, gate.gate.id);
    rig.resolve(gate.gate.id, "trust_run", None).unwrap();
    written(&mut rig, gate.gate.id, Ok(()));
    let again = rig.prepare(item.id, &detail);
    assert_eq!((again.guidance.as_deref(), again.seq), (Some("Mind it"), 2));
}

#[test]
fn another_question_takes_the_place_of_the_one_before() {
    // GATE-55, GATE-56, K27
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let (_, first) = would_not_start(&mut rig, &one, BlockKind::SignIn);
    assert_eq!(rig.read().block(first.gate.id).unwrap().unwrap().folder, "", "it is not about a folder");
    rig.sweep(&[&one, &two]);
    let waits = rig.open_gates().into_iter().find(|gate| gate.gate.unit == Some(unit(&two))).unwrap();
    rig.resolve(waits.gate.id, "skip", None).unwrap();
    // A round by hand tries what trust does not settle, and meets another question.
    rig.by_hand(&two, None).unwrap();
    let turn = rig.prepare(item_on(&rig, &two).id, &two);
    rig.claim(turn.id);
    rig.end(turn.id, TurnEnd::Blocked { kind: BlockKind::Folder, folder: String::new(), words: "trust?".into() });
    for _ in 0..2 {
        let second = the_trust_gate(&rig);
        assert_eq!((rig.gate(first.gate.id).gate.status, second.gate.unit), (GateStatus::Superseded, Some(unit(&two))));
        assert_eq!(rig.read().blocks().unwrap().len(), 1);
        rig.reopen();
    }
    assert_eq!(refused(rig.resolve(first.gate.id, "trust_run", None)).kind, RefusalKind::Conflict);
    assert_eq!((item_on(&rig, &one).state, item_on(&rig, &two).state), (ItemState::Blocked, ItemState::Blocked));
}

#[test]
fn a_later_start_lifts_what_trust_does_not_settle() {
    // GATE-52, RUN-17, P13
    let mut rig = Rig::new();
    let (one, two) = (pull(1), pull(2));
    let (_, gate) = would_not_start(&mut rig, &one, BlockKind::SignIn);
    rig.sweep(&[&one, &two]);
    rig.by_hand(&two, None).unwrap();
    let turn = rig.prepare(item_on(&rig, &two).id, &two);
    rig.give(turn.id);
    let row = rig.gate(gate.gate.id);
    assert_eq!(row.gate.status, GateStatus::Superseded);
    assert_eq!(row.gate.closed.unwrap().reason, "the agent started again");
    assert_eq!(item_on(&rig, &one).state, ItemState::Released);
    assert!(rig.jobs().contains(&Job::Release(item_on(&rig, &one).id)));
}

#[test]
fn a_configuration_that_names_another_agent_asks_for_that_one() {
    // RUN-32, GATE-62
    let mut rig = Rig::untrusted("");
    let detail = pull(1);
    let first = asked(&mut rig, &[&detail]).gate.id;
    rig.rules = rules("[agents]\ndefault = \"other\"\n[agents.other]\npreset = \"command\"\nheadless.command = [\"x\"]", &[]);
    for _ in 0..2 {
        rig.reopen();
        assert_eq!(item_on(&rig, &detail).state, ItemState::Released);
        assert_eq!(rig.gate(first).gate.status, GateStatus::Superseded, "nothing waits for the first any more");
    }
    rig.start_release(item_on(&rig, &detail).id, &detail);
    assert!(the_trust_gate(&rig).gate.words.contains("other"));
    // What the ledger holds is a ledger that opens again.
    let path = rig.engine().store().path().to_owned();
    rig.engine = None;
    drop(Store::open(&path, rig.now).unwrap());
}
