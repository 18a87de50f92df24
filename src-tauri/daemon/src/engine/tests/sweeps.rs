//! When github is read, what is asked for by id, and what a limit stops and what it does not.

use wloop_core::post::PostState;

use super::*;

/// One that the person named, so that no search needs to return it.
fn asked(rig: &mut Rig, n: u64) -> Detail {
    let mut detail = pull(n);
    detail.review_requests.clear();
    rig.sweep(&[&detail]);
    rig.by_hand(&detail, None).unwrap();
    let item = rig.items().into_iter().find(|i| i.unit == unit(&detail)).unwrap();
    let turn = rig.prepare(item.id, &detail);
    rig.give(turn.id);
    rig.record(&turn, "nothing").unwrap();
    rig.end(turn.id, TurnEnd::Well);
    detail
}

pub(super) fn summary_by_id(detail: &Detail) -> Detail {
    let mut told = detail.clone();
    told.summary.reasons.clear();
    told
}

fn row(rig: &Rig, detail: &Detail) -> wloop_store::rows::PullRow {
    rig.read().pull(&unit(detail)).unwrap().unwrap()
}

fn provider(rig: &Rig) -> wloop_store::rows::ProviderRow {
    rig.read().provider("github").unwrap().unwrap()
}

/// The details that are asked for, in the order in which they are.
fn order(rig: &Rig) -> Vec<String> {
    let unit = |job| if let Job::ReadDetail(unit) = job { Some(unit.key().to_owned()) } else { None };
    rig.jobs().into_iter().filter_map(unit).collect()
}

#[test]
fn a_slow_sweep_reads_every_open_one_and_the_oldest_read_first() {
    // GH-SYNC-13
    let mut rig = Rig::new();
    let mut all = [pull(1), pull(2), pull(3)];
    for detail in &mut all {
        detail.summary.draft = true;
        detail.review_requests.clear();
    }
    rig.inventory(&all.each_ref(), true);
    for n in [1, 2, 0] {
        rig.pass(1);
        rig.show(&all[n]);
    }
    rig.pass(60);
    rig.inventory(&all.each_ref(), true);
    assert_eq!(order(&rig), Vec::<String>::new(), "a fast one reads what moved");
    rig.pass(15 * 60);
    rig.inventory(&all.each_ref(), true);
    assert_eq!(order(&rig), ["PR_2", "PR_3", "PR_1"]);
    assert!(provider(&rig).next_slow_at > rig.now);
}

#[test]
fn a_watched_one_that_no_search_returned_is_as_its_id_answers() {
    // GH-SYNC-13, GH-SYNC-02
    let mut rig = Rig::new();
    let detail = asked(&mut rig, 1);
    rig.show(&detail);
    rig.pass(60);
    // Its summary moved, which its id told and no search.
    let mut told = summary_by_id(&detail);
    told.summary.title = "Count the terns".into();
    told.summary.updated_at = rig.now;
    rig.inventory(&[&told], true);
    let stored = row(&rig, &detail);
    assert_eq!((stored.summary.title.as_str(), stored.watched, stored.wants_detail), ("Count the terns", true, true));
    assert_eq!(stored.summary.reasons, [Reason::Asked], "an id is no reason, and takes none away");
    rig.show(&told);
    // A sweep that left something out takes nothing away, and still takes in what an id told.
    rig.pass(60);
    told.summary.title = "Count the gannets".into();
    rig.inventory(&[&told], false);
    assert_eq!(row(&rig, &detail).summary.title, "Count the gannets");
    // It ended: it leaves, though its stored detail is still open.
    told.summary.state = PullState::Merged;
    rig.inventory(&[&told], false);
    assert!(row(&rig, &detail).watched, "not by a sweep that is not complete");
    rig.inventory(&[&told], true);
    assert!(!row(&rig, &detail).watched);
    assert!(rig.to_read().contains("PR_1"), "its end is read once more");
}

#[test]
fn one_that_is_known_by_its_id_alone_and_has_no_reason_leaves() {
    // GH-SYNC-02, GH-SYNC-13
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.summary.draft = true;
    rig.sweep(&[&detail]);
    rig.inventory(&[&summary_by_id(&detail)], true);
    assert!(!row(&rig, &detail).watched);
    // And an id of one that was never watched makes nothing.
    rig.inventory(&[&summary_by_id(&pull(9))], true);
    assert!(rig.read().pull(&unit(&pull(9))).unwrap().is_none());
}

#[test]
fn a_sweep_is_due_once_and_at_once_when_it_is_wanted() {
    // GH-SYNC-17, GH-SYNC-18
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.sweep(&[&detail]);
    assert!(!rig.jobs().contains(&Job::Sweep));
    // The machine woke, or the time of one passed while another ran.
    rig.take(Input::Observed(Observation::SweepSoon));
    rig.take(Input::Observed(Observation::SweepSoon));
    assert_eq!(rig.jobs().iter().filter(|job| **job == Job::Sweep).count(), 1);
    rig.sweep(&[&detail]);
    assert!(!rig.jobs().contains(&Job::Sweep), "once");
    assert_eq!(provider(&rig).next_sweep_at, rig.now + SignedDuration::from_secs(60));
}

#[test]
fn a_sweep_that_reached_nobody_is_tried_within_five_seconds() {
    // GH-SYNC-18
    let mut rig = Rig::new();
    let detail = pull(1);
    rig.sweep(&[&detail]);
    rig.pass(60);
    for _ in 0..3 {
        let fault = ReadFault::Unreachable("the name `api.github.com` cannot be resolved".into());
        rig.take(Input::Observed(Observation::Inventory(Err(fault))));
        assert!(!rig.jobs().contains(&Job::Sweep), "not in a storm");
        assert!(rig.wake().is_some_and(|at| at <= rig.now + SignedDuration::from_secs(5)), "{:?}", rig.wake());
        rig.pass(5);
        assert!(rig.jobs().contains(&Job::Sweep));
    }
    assert_eq!(rig.count(EventKind::HealthChanged), 1, "one fault is told once");
    rig.sweep(&[&detail]);
    assert_eq!(rig.count(EventKind::HealthChanged), 2);
    // A server that answers badly is asked at the usual pace.
    rig.pass(60);
    rig.take(Input::Observed(Observation::Inventory(Err(ReadFault::Unusable("status 500".into())))));
    rig.pass(59);
    assert!(!rig.jobs().contains(&Job::Sweep));
}

#[test]
fn a_token_that_is_there_again_is_used_at_once() {
    // GH-SYNC-18, GH-SYNC-43
    let mut rig = Rig::new();
    rig.sweep(&[&pull(1)]);
    rig.take(Input::Observed(Observation::Inventory(Err(ReadFault::SignedOut("401".into())))));
    rig.take(Input::Observed(Observation::SweepSoon));
    assert!(rig.jobs().is_empty(), "waking signs nobody in");
    rig.take(Input::Observed(Observation::TryAgain));
    assert!(rig.jobs().contains(&Job::Sweep));
}

/// A post that waits to be sent, of a round on `detail`.
fn queued(rig: &mut Rig, detail: &Detail) -> PostId {
    let turn = rig.started(detail);
    rig.review(&turn, "Fine").id
}

#[test]
fn a_wait_for_everything_stops_every_call_and_outlives_a_restart() {
    // GH-SYNC-36, GH-SYNC-37
    let mut rig = Rig::new();
    let (detail, other) = (pull(1), pull(2));
    let post = queued(&mut rig, &detail);
    rig.inventory(&[&detail, &other], true);
    let until = rig.now + SignedDuration::from_mins(5);
    rig.take(Input::Observed(Observation::Quiet { until }));
    rig.take(Input::Observed(Observation::Quiet { until: until - SignedDuration::from_mins(1) }));
    let calls = |rig: &Rig| rig.jobs().into_iter().filter(|job| !matches!(job, Job::EndGroup(_))).collect::<Vec<_>>();
    assert_eq!(calls(&rig), []);
    rig.take(Input::Observed(Observation::SweepSoon));
    rig.tick_after(299);
    rig.reopen();
    assert_eq!(calls(&rig), [], "a shorter wait takes nothing off the longer one, nor does waking or a start");
    assert_eq!(rig.wake(), Some(until));
    rig.pass(1);
    let jobs = rig.jobs();
    assert!(jobs.contains(&Job::Sweep) && jobs.contains(&Job::Send(post)), "{jobs:?}");
}

#[test]
fn a_spent_quota_of_reads_stops_no_post() {
    // GH-SYNC-36, GH-SYNC-38
    let mut rig = Rig::new();
    let detail = pull(1);
    let post = queued(&mut rig, &detail);
    let until = rig.now + SignedDuration::from_mins(40);
    let spent = || ReadFault::Wait { until, why: "API rate limit exceeded".into() };
    rig.take(Input::Observed(Observation::Inventory(Err(spent()))));
    rig.inventory(&[&detail], true);
    rig.fail_read(&detail, spent());
    assert!(!rig.jobs().contains(&Job::Sweep) && rig.to_read().is_empty(), "{:?}", rig.jobs());
    assert!(row(&rig, &detail).fault.is_some_and(|fault| fault.contains("asks to wait until")), "the unit says so");
    rig.send(post, &detail, 1);
    assert_eq!(rig.post(post).state, PostState::Sent);
    rig.tick_after(2_400);
    assert!(rig.jobs().contains(&Job::Sweep));
    assert!(rig.events().iter().all(|e| !matches!(e.event.kind, EventKind::PostFailed | EventKind::TurnFailed)));
}

#[test]
fn a_released_round_waits_for_the_limit_and_for_nothing_else() {
    // GH-SYNC-37, GH-SYNC-38
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    let item = rig.item_of(&gate).id;
    let until = rig.now + SignedDuration::from_mins(10);
    let read = Err(ReadFault::Wait { until, why: "limit".into() });
    rig.take(Input::Starting(Starting::Release { item, read: Box::new(read) }));
    let waits = rig.item(item);
    assert_eq!((waits.state, waits.try_after), (ItemState::Released, until));
    assert!(waits.reason.contains("github asks to wait until"), "{}", waits.reason);
    rig.pass(599);
    assert!(!rig.jobs().contains(&Job::Release(item)));
    rig.pass(1);
    rig.prepare(item, &detail);
}

#[test]
fn a_close_with_a_comment_is_one_thing_however_it_is_told() {
    // F40, GH-SYNC-20
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    let comment = |id: &str| wloop_core::github::Comment {
        id: id.into(),
        database_id: 7,
        author: Some(account("ana")),
        body: "Not needed any more.".into(),
        created_at: rig.now,
        url: "u".into(),
        review: String::new(),
    };
    let mut closed = detail.clone();
    closed.summary.state = PullState::Closed;
    closed.closed_at = Some(rig.now);
    closed.summary.updated_at = rig.now;
    closed.comments = vec![comment("C_1"), comment("C_2")];
    // The comment is told before the end, then both, then both in the other order, each twice.
    let mut before = closed.clone();
    (before.summary.state, before.closed_at) = (PullState::Open, None);
    let mut turned = closed.clone();
    turned.comments.reverse();
    for told in [&before, &before, &closed, &closed, &turned, &turned] {
        rig.show(told);
    }
    rig.inventory(&[], true);
    assert_eq!((rig.count(EventKind::RoundGone), rig.count(EventKind::GateSuperseded)), (1, 1));
    assert_eq!(rig.gate(gate.gate.id).gate.status, wloop_core::gate::GateStatus::Superseded);
    assert_eq!((rig.gates().len(), rig.items().len()), (1, 1), "one unit of work");
}

#[test]
fn a_post_of_a_round_is_told_in_its_turn_and_on_its_unit() {
    // GH-PUB-28, AGENT-01
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine, and @ana knows").id;
    rig.send(post, &detail, 1);
    let of_unit = rig.read().events_after(0, 1_000, Some(&unit(&detail))).unwrap();
    let posted: Vec<_> = of_unit.iter().filter(|e| e.event.kind == EventKind::PostSent).collect();
    assert_eq!(posted.len(), 1);
    let event = &posted[0].event;
    assert_eq!((event.post, event.turn), (Some(post), Some(turn.id)));
    assert_eq!(event.data["url"], remote(1).url);
    assert_eq!(event.data["text"], "Fine, and @ana knows");
    assert_eq!(rig.read().posts(&PostFilter { turn: Some(turn.id), ..PostFilter::default() }).unwrap().len(), 1);
    // It is a post of the round's plan gate: no gate and no draft of its own.
    assert_eq!((rig.gates().len(), rig.post(post).gate), (1, turn.gate));
}
