//! What the ledger adds to the facts of a pull request, and what holds a round because of where its workspace is.

use wloop_core::github::busy::{Unfinished, Workplace};
use wloop_core::github::facts::row_words;
use wloop_core::github::{Check, CheckKind, Comment};
use wloop_core::rules::value::{Frame, Value};

use super::*;
use crate::engine::book::seen;
use crate::engine::offers::offer;

fn facts(rig: &Rig, detail: &Detail) -> Frame {
    seen(&rig.read(), &rig.rules, &unit(detail), rig.now).unwrap().unwrap().facts
}

fn minutes(frame: &Frame, name: &str) -> i64 {
    let Some(Value::Duration(length)) = frame.get(name) else { panic!("{name} is no length of time") };
    length.as_secs() / 60
}

#[test]
fn a_conflict_is_as_old_as_its_first_sight_over_sweeps_reads_and_restarts() {
    // GH-FACT-15, GH-SYNC-46
    let mut rig = Rig::new();
    let mut detail = pull(1);
    rig.sweep(&[&detail]);
    assert_eq!(minutes(&facts(&rig, &detail), "pr.conflicting_for"), 0);
    rig.pass(600);
    detail.summary.mergeable = Mergeable::Conflicting;
    // The search shows it first; the read that follows comes later.
    rig.inventory(&[&detail], true);
    rig.pass(300);
    rig.show(&detail);
    assert_eq!(minutes(&facts(&rig, &detail), "pr.conflicting_for"), 5);
    rig.reopen();
    rig.pass(300);
    detail.summary.mergeable = Mergeable::Unknown;
    detail.summary.head = head(2);
    rig.sweep(&[&detail]);
    assert_eq!(minutes(&facts(&rig, &detail), "pr.conflicting_for"), 10);
    detail.summary.mergeable = Mergeable::Mergeable;
    rig.sweep(&[&detail]);
    assert_eq!(minutes(&facts(&rig, &detail), "pr.conflicting_for"), 0);
}

#[test]
fn a_push_is_as_old_as_the_answer_that_first_showed_it() {
    // GH-SYNC-46, GH-FACT-13, GH-FACT-19
    let mut rig = Rig::new();
    let mut detail = pull(1);
    rig.sweep(&[&detail]);
    let at = |rig: &Rig, detail: &Detail| facts(rig, detail).get("pr.last_interaction_at").cloned().unwrap();
    assert_eq!(at(&rig, &detail), Value::Time(start() - SignedDuration::from_hours(3)), "found, not pushed");
    rig.pass(600);
    detail.summary.head = head(2);
    rig.inventory(&[&detail], true);
    let pushed = rig.now;
    rig.pass(120);
    rig.show(&detail);
    rig.reopen();
    rig.pass(120);
    rig.sweep(&[&detail]);
    assert_eq!(at(&rig, &detail), Value::Time(pushed));
}

#[test]
fn the_row_follows_the_plan_and_the_turns() {
    // GH-FACT-40, GH-FACT-41, GH-FACT-25, GH-FACT-26, GH-FACT-29
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    let row = |rig: &Rig| facts(rig, &detail);
    let holds = |frame: &Frame, name: &str| frame.get(name) == Some(&Value::Bool(true));
    let planned = row(&rig);
    assert!(holds(&planned, "row.pending") && holds(&planned, "row.tracked") && holds(&planned, "row.open"));
    assert_eq!((row_words(&planned).kind.as_str(), holds(&planned, "row.review_workspace")), ("review_requested", false));
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    assert!(!holds(&row(&rig), "row.pending"), "it was released");
    let turn = rig.prepare(rig.item_of(&gate).id, &detail);
    let running = row(&rig);
    assert_eq!(row_words(&running).kind, "reviewing");
    assert!(holds(&running, "row.review_workspace") && !holds(&running, "row.author_workspace"));
    assert_eq!(row_words(&running).skipped.as_deref(), Some("a turn is open"));
    rig.give(turn.id);
    rig.stop(&rig.turn(turn.id), "The review").unwrap();
    let asked = row(&rig);
    assert!(holds(&asked, "row.question") && row_words(&asked).waits_on_user);
    assert_eq!(row_words(&asked).kind, "review_requested", "a turn that asks is no review that runs");
    rig.inventory(&[], true);
    assert!(!holds(&row(&rig), "row.tracked") && holds(&row(&rig), "row.open"), "untracked: by its stored state");
}

#[test]
fn a_busy_unit_gets_no_round_until_it_is_free_and_its_guidance_stays() {
    // ROUND-26, ROUND-27
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "guide", Some("Mind it")).unwrap();
    let item = rig.item_of(&gate).id;
    let busy = Workplace { unfinished: Some(Unfinished::Rebase), ..Workplace::default() };
    let windows = rig.gates().len();
    for sweep in 0..3 {
        assert!(matches!(rig.start_release(item, &detail), Reply::Release(_)));
        let prepared = Prepared {
            folder: "/trees/review-1".into(),
            head: detail.summary.head.clone(),
            merge_base: head(0xbb),
            workplace: busy.clone(),
        };
        rig.take(Input::Done(Done::Release { item, prepared: Ok(prepared) }));
        let row = rig.item(item);
        assert_eq!((row.state, row.reason.as_str()), (ItemState::Released, "its workspace has an unfinished rebase"), "{sweep}");
        assert!(!rig.jobs().contains(&Job::Release(item)), "it rests until the next sweep");
        rig.pass(60);
        rig.sweep(&[&detail]);
        assert!(rig.jobs().contains(&Job::Release(item)), "and is tried with it");
    }
    assert_eq!((rig.gates().len(), rig.turns().len(), rig.count(EventKind::RoundDeferred)), (windows, 0, 1), "no new window");
    rig.start_release(item, &detail);
    rig.end_release(item, &detail);
    assert_eq!(rig.turns()[0].guidance.as_deref(), Some("Mind it"));
}

/// The bundled review intent with other lines in its `[action]`.
fn with_action(lines: &str) -> String {
    let (_, text) = BUNDLED.iter().find(|(path, _)| *path == "intents/review/intent.toml").unwrap();
    let (before, rest) = text.split_once("[action]").unwrap();
    let (_, after) = rest.split_once("\n[").unwrap();
    format!("{before}[action]\nlabel = \"Look\"\n{lines}\n[{after}")
}

#[test]
fn an_action_is_what_its_conditions_say_of_the_row() {
    // INT-03
    let text = with_action(
        "offered = 'row.open'\nenabled = 'pr.base == \"main\"'\ndisabled = \"Not on {{ pr.base }}\"\nprimary = 'pr.draft'",
    );
    let mut rig = Rig::with("", &[("intents/review/intent.toml", &text)]);
    let mut detail = pull(1);
    rig.sweep(&[&detail]);
    let offered = |rig: &Rig, detail: &Detail| {
        let action = rig.rules.profile.intents["review"].action.clone().unwrap();
        let offer = offer("review", &action, &facts(rig, detail), rig.now);
        (offer.label, offer.offered, offer.enabled, offer.disabled, offer.primary)
    };
    assert_eq!(offered(&rig, &detail), ("Look".into(), true, true, None, false));
    detail.base = "next".into();
    detail.summary.draft = true;
    rig.show(&detail);
    assert_eq!(offered(&rig, &detail), ("Look".into(), true, false, Some("Not on next".into()), true));
    // Evaluated again when it is run, on the row as it is then.
    let refusal = refused(rig.by_hand(&detail, None));
    assert!(refusal.detail.contains("Not on next"), "{}", refusal.detail);
    assert!(rig.items().iter().all(|item| !item.by_hand));
    detail.base = "main".into();
    rig.show(&detail);
    rig.by_hand(&detail, None).unwrap();
    detail.summary.state = PullState::Closed;
    rig.show(&detail);
    assert!(!offered(&rig, &detail).1);
}

#[test]
fn what_holds_only_rounds_that_run_by_themselves_holds_no_action_of_the_persons() {
    // INT-03, ROUND-31
    let text = with_action("enabled = '!pr.draft && pr.review_requested_me && !row.capped'\ndisabled = \"Not now\"");
    let mut rig = Rig::with("", &[("intents/review/intent.toml", &text)]);
    let mut detail = pull(1);
    detail.summary.draft = true;
    detail.review_requests.clear();
    rig.sweep(&[&detail]);
    rig.by_hand(&detail, None).unwrap();
}

#[test]
fn draft_and_ready_and_draft_and_ready_offer_one_review() {
    // F38, ROUND-02
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let mut gates = BTreeSet::new();
    for draft in [true, false, true, false, true, false] {
        detail.summary.draft = draft;
        detail.summary.updated_at = rig.now;
        rig.sweep(&[&detail]);
        if let Some(gate) = rig.open_gates().first() {
            gates.insert(gate.gate.id);
            assert_eq!(rig.open_gates().len(), 1);
        }
        rig.pass(20);
    }
    // The one that stands is run; the same again offers nothing more.
    let gate = rig.open_gate(&detail);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let turn = rig.prepare(rig.item_of(&gate).id, &detail);
    rig.give(turn.id);
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &detail, 1);
    rig.record(&turn, "published").unwrap();
    rig.end(turn.id, TurnEnd::Well);
    let known = rig.gates().len();
    for draft in [true, false, true, false] {
        detail.summary.draft = draft;
        detail.summary.updated_at = rig.now;
        rig.sweep(&[&detail]);
        rig.pass(20);
    }
    assert_eq!((rig.gates().len(), rig.turns().len()), (known, 1));
}

#[test]
fn closed_with_a_comment_is_one_piece_of_work_in_any_order_and_number() {
    // F40
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let gate = rig.planned(&detail);
    rig.pass(60);
    let said = |id: &str, n: u64| Comment {
        id: id.into(),
        database_id: n,
        author: Some(account("ana")),
        body: "Not needed any more".into(),
        created_at: rig.now,
        url: "u".into(),
        review: String::new(),
    };
    detail.comments = vec![said("C_1", 1), said("C_2", 2)];
    detail.summary.state = PullState::Closed;
    detail.closed_at = Some(rig.now);
    detail.summary.updated_at = rig.now;
    let mut turned = detail.clone();
    turned.comments.reverse();
    for shown in [&turned, &detail, &turned, &detail] {
        rig.show(shown);
    }
    assert_eq!(rig.count(EventKind::RoundGone), 1);
    assert_eq!((rig.gates().len(), rig.item_of(&gate).state), (1, ItemState::Gone));
    assert_eq!(facts(&rig, &detail), {
        rig.show(&turned);
        facts(&rig, &turned)
    });
}

#[test]
fn who_is_automated_follows_from_type_and_list_and_what_they_do_from_that() {
    // F42, GH-SYNC-47, GH-SYNC-49
    let mut rig = Rig::with("[plugins.github]\nautomated_reviewers = [\"machine\"]", &[]);
    let mut detail = pull(1);
    detail.author = Some(viewer());
    detail.review_requests.clear();
    let kind_after = |rig: &mut Rig, who: &str| {
        let asks = review_by(account(who), &format!("R_{who}"), ReviewState::ChangesRequested, rig.now, &head(1));
        let shown = Detail { reviews: vec![asks], ..detail.clone() };
        rig.sweep(&[&shown]);
        rig.show(&shown);
        let frame = facts(rig, &shown);
        (row_words(&frame).kind, frame.get("pr.address.reviewers").cloned().unwrap())
    };
    let none = || Value::List(vec![]);
    assert_eq!(kind_after(&mut rig, "dependabot[bot]"), ("waiting_review".into(), none()), "an app, and not listed");
    for who in ["robot", "machine"] {
        assert_eq!(kind_after(&mut rig, who), ("changes_requested".into(), Value::List(vec![who.into()])), "{who}");
    }
    // A pull request of an automated author is reviewed only where that is set; a person called robot is a person.
    for (who, due) in [("dependabot[bot]", false), ("machine", false), ("robot", true)] {
        let shown = Detail { author: Some(account(who)), ..pull(2) };
        rig.sweep(&[&shown]);
        rig.show(&shown);
        assert_eq!(facts(&rig, &shown).get("pr.first.due"), Some(&Value::Bool(due)), "{who}");
    }
}

#[test]
fn checks_that_fail_on_an_own_pull_request_wait_on_the_person() {
    // GH-FACT-17, GH-FACT-25
    let mut rig = Rig::new();
    let mut detail = Detail { author: Some(viewer()), review_requests: vec![], ..pull(1) };
    let check = |outcome: &str| Check {
        kind: CheckKind::Run,
        app: "ci".into(),
        name: "tests".into(),
        outcome: outcome.into(),
        started_at: Some(start()),
        completed_at: None,
        database_id: 1,
    };
    detail.checks = vec![check("FAILURE")];
    rig.sweep(&[&detail]);
    assert_eq!(row_words(&facts(&rig, &detail)).kind, "checks_failed");
    rig.reopen();
    assert_eq!(row_words(&facts(&rig, &detail)).kind, "checks_failed", "it is stored");
    detail.checks = vec![check("")];
    detail.summary.checks = "pending".into();
    rig.sweep(&[&detail]);
    assert_eq!(row_words(&facts(&rig, &detail)).kind, "checks_running");
}

#[test]
fn an_events_key_is_short_and_its_data_is_data() {
    // EVT-06
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, &"A long review. ".repeat(200)).id;
    rig.send(post, &detail, 1);
    rig.record(&turn, "published").unwrap();
    rig.end(turn.id, TurnEnd::Badly("a long cause ".repeat(50)));
    rig.ask(Request::ApplyPlan { unit: unit(&detail), guidance: Some("words ".repeat(300)) }).unwrap();
    for row in rig.events() {
        assert!(row.event.key.chars().count() <= 64 && !row.event.key.contains('\n'), "{:?}", row.event);
    }
    // Whatever stands in it, no rule that releases reads it.
    let known = |name: &str| wloop_core::rules::registry::known(name).unwrap();
    assert!(known("trigger.event.data").untrusted);
    assert!(!known("trigger.event.kind").untrusted && !known("trigger.event.key").untrusted);
}
