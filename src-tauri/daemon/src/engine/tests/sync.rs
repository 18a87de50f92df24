//! What a provider shows, and what follows from it.

use wloop_core::gate::GateStatus;
use wloop_core::github::publish::marker;
use wloop_core::github::{Comment, LookUp};
use wloop_core::post::PostState;

use super::*;

#[test]
fn a_pull_request_leaves_at_the_first_complete_sweep_without_a_reason() {
    // GH-SYNC-02
    let mut rig = Rig::new();
    let (one, mut two) = (pull(1), pull(2));
    two.review_requests.clear();
    rig.sweep(&[&one, &two]);
    rig.by_hand(&two, None).unwrap();
    let watched = |rig: &Rig, d: &Detail| rig.read().pull(&unit(d)).unwrap().unwrap().watched;
    rig.inventory(&[], false);
    assert!(watched(&rig, &one), "not by one that broke off");
    rig.inventory(&[], true);
    assert!(!watched(&rig, &one) && watched(&rig, &two), "one that the person named stays while it is open");
    let row = rig.read().pull(&unit(&two)).unwrap().unwrap();
    assert!(row.summary.reasons.contains(&Reason::Asked));
    two.summary.state = PullState::Merged;
    rig.show(&two);
    rig.inventory(&[], true);
    assert!(!watched(&rig, &two));
    assert!(rig.read().pull(&unit(&one)).unwrap().unwrap().detail.is_some(), "its record stays");
}

#[test]
fn one_that_ended_stays_for_a_while_of_working_time() {
    // GH-SYNC-01, GH-SYNC-02
    let mut rig = Rig::new();
    let (mut merged, dropped) = (pull(1), pull(2));
    rig.sweep(&[&merged, &dropped]);
    let gate = rig.open_gate(&merged);
    let watched = |rig: &Rig, d: &Detail| rig.read().pull(&unit(d)).unwrap().unwrap().watched;
    // No search returns them any more; what became of them is read.
    rig.inventory(&[], true);
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Superseded, "nothing starts meanwhile");
    assert_eq!(rig.to_read(), ["PR_1", "PR_2"].map(str::to_owned).into());
    merged.summary.state = PullState::Merged;
    merged.merged_at = Some(rig.now);
    rig.show(&merged);
    rig.show(&dropped);
    assert!(watched(&rig, &merged) && !watched(&rig, &dropped), "only the one that ended is kept");
    assert!(rig.open_gates().is_empty());
    // Three nights and a weekend are no working time; 80 hours of work are: nine working days.
    rig.pass(9 * 24 * 3_600);
    rig.inventory(&[], true);
    assert!(watched(&rig, &merged), "not yet");
    assert!(rig.to_read().is_empty(), "what ended and does not move is not read");
    let mut told = sweeps::summary_by_id(&merged);
    told.summary.updated_at = rig.now;
    rig.inventory(&[&told], true);
    assert_eq!(rig.to_read(), ["PR_1"].map(str::to_owned).into(), "what moved is");
    rig.show(&merged);
    rig.reopen();
    rig.pass(6 * 24 * 3_600);
    rig.inventory(&[], false);
    assert!(watched(&rig, &merged), "not by a sweep that is not complete");
    rig.inventory(&[], true);
    assert!(!watched(&rig, &merged));
    rig.show(&merged);
    assert!(!watched(&rig, &merged), "it does not come back by being read");
    // One that was reopened is open, and the searches say whether it is watched.
    merged.summary.state = PullState::Open;
    rig.sweep(&[&merged]);
    assert!(watched(&rig, &merged));
}

#[test]
fn a_fast_sweep_reads_what_moved_and_what_is_attended() {
    // GH-SYNC-12
    let mut rig = Rig::new();
    let mut quiet = pull(1);
    quiet.review_requests.clear();
    let mut moved = pull(2);
    moved.review_requests.clear();
    let mut checks = pull(3);
    checks.review_requests.clear();
    let counting = pull(4);
    let all =
        |quiet: &Detail, moved: &Detail, checks: &Detail, counting: &Detail| [quiet, moved, checks, counting].map(Clone::clone);
    let first = all(&quiet, &moved, &checks, &counting);
    rig.inventory(&first.each_ref(), true);
    assert_eq!(rig.to_read().len(), 4, "what was never read is read");
    for detail in &first {
        rig.show(detail);
    }
    rig.pass(30);
    moved.summary.updated_at = rig.now;
    checks.summary.checks = "failure".into();
    let second = all(&quiet, &moved, &checks, &counting);
    rig.inventory(&second.each_ref(), true);
    let read = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(rig.to_read(), read(&["PR_2", "PR_3", "PR_4"]));
    for detail in [&moved, &checks] {
        rig.show(detail);
    }
    // One whose read failed is read again, though nothing moved.
    rig.fail_read(&counting, ReadFault::Unreachable("no route".into()));
    assert_eq!(rig.to_read(), read(&[]), "it rests");
    rig.pass(30);
    rig.inventory(&second.each_ref(), true);
    assert_eq!(rig.to_read(), read(&["PR_4"]));
    rig.show(&counting);
    let gate = rig.open_gate(&counting);
    rig.resolve(gate.gate.id, "run_now", None).unwrap();
    rig.prepare(rig.item_of(&gate).id, &counting);
    rig.inventory(&second.each_ref(), true);
    assert_eq!(rig.to_read(), read(&["PR_4"]), "an open turn is looked at each time");
}

#[test]
fn half_a_read_is_kept_nowhere() {
    // GH-SYNC-15, GH-SYNC-21
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    let stored = rig.read().pull(&unit(&detail)).unwrap().unwrap();
    for fault in
        [ReadFault::Unusable("half".into()), ReadFault::Unreachable("no route".into()), ReadFault::NotFound("404".into())]
    {
        rig.fail_read(&detail, fault);
        let row = rig.read().pull(&unit(&detail)).unwrap().unwrap();
        assert_eq!((&row.detail, row.detail_at), (&stored.detail, stored.detail_at));
        assert!(row.fault.is_some());
    }
    assert_eq!(rig.gate(gate.gate.id).gate.status, GateStatus::Open, "nothing follows from a read that failed");
    rig.reopen();
    assert_eq!(rig.read().pull(&unit(&detail)).unwrap().unwrap().detail, stored.detail, "it is there before the first sweep");
}

#[test]
fn nothing_is_planned_from_what_is_too_old() {
    // GH-SYNC-21
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.summary.draft = true;
    rig.sweep(&[&detail]);
    rig.pass(3_600);
    rig.reopen();
    let stored = rig.read().pull(&unit(&detail)).unwrap().unwrap();
    assert!(stored.detail.is_some());
    let mut ready = detail.clone();
    ready.summary.draft = false;
    rig.inventory(&[&ready], true);
    assert!(rig.gates().is_empty(), "the summary alone plans nothing");
    rig.show(&ready);
    assert_eq!(rig.open_gates().len(), 1);
}

#[test]
fn the_same_read_again_changes_nothing() {
    // GH-SYNC-20, EVT-08
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    let before = (rig.gates(), rig.items(), rig.read().last_event_id().unwrap());
    for _ in 0..3 {
        rig.show(&detail);
        rig.inventory(&[&detail], true);
    }
    assert_eq!((rig.gates(), rig.items(), rig.read().last_event_id().unwrap()), before);
    // In any order of what it holds.
    let mut turned = detail.clone();
    turned.review_requests.push(request("RR_0", start() - SignedDuration::from_hours(9)));
    rig.show(&turned);
    turned.review_requests.reverse();
    rig.show(&turned);
    assert_eq!(rig.open_gate(&detail).gate.id, gate.gate.id);
}

#[test]
fn what_is_missing_at_github_is_absence_and_no_fault() {
    // GH-SYNC-22
    let mut rig = Rig::new();
    let mut detail = pull(1);
    detail.author = None;
    detail.head_repo = None;
    detail.body = String::new();
    detail.checks_gone();
    detail.reviews =
        vec![Review { author: None, commit: String::new(), ..review_by(account("x"), "R", ReviewState::Commented, start(), "") }];
    let turn = rig.started(&detail);
    assert_eq!(turn.covered["review"], "R");
}

trait Without {
    fn checks_gone(&mut self);
}

impl Without for Detail {
    fn checks_gone(&mut self) {
        self.summary.checks = String::new();
        self.summary.mergeable = Mergeable::Unknown;
    }
}

#[test]
fn a_list_that_lacks_our_own_review_plans_nothing_from_it() {
    // GH-SYNC-26
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.send(post, &detail, 1);
    rig.record(&turn, "published").unwrap();
    // GitHub still shows the request, and not the review.
    rig.show(&detail);
    assert!(rig.open_gates().is_empty());
    rig.pass(60);
    assert!(rig.to_read().contains("PR_1"), "the read is repeated");
    let mut whole = detail.clone();
    whole.review_requests.clear();
    whole.reviews = vec![review_by(viewer(), "N_1", ReviewState::Approved, rig.now, &head(1))];
    rig.show(&whole);
    rig.pass(60);
    assert!(!rig.to_read().contains("PR_1"), "until it is whole");
    assert!(rig.open_gates().is_empty());
}

#[test]
fn a_token_that_is_not_accepted_stops_all_calls_until_the_next_start() {
    // GH-SYNC-43
    let mut rig = Rig::new();
    let detail = pull(1);
    let gate = rig.planned(&detail);
    rig.take(Input::Observed(Observation::Inventory(Err(ReadFault::SignedOut("401".into())))));
    let row = rig.read().provider("github").unwrap().unwrap();
    assert!(row.signed_out && row.error.unwrap().contains("401"));
    rig.tick_after(3_600);
    assert!(rig.jobs().is_empty(), "{:?}", rig.jobs());
    assert!(rig.read().pull(&unit(&detail)).unwrap().unwrap().detail.is_some(), "what is stored is kept");
    assert_eq!(rig.count(EventKind::HealthChanged), 1);
    // The next start tries again, with the token it has then.
    rig.reopen();
    assert!(rig.jobs().contains(&Job::Sweep), "{:?}", rig.jobs());
    rig.sweep(&[&detail]);
    rig.prepare(rig.item_of(&gate).id, &detail);
}

/// A comment as the provider shows it.
fn comment(id: &str, who: Account, body: String) -> Comment {
    Comment {
        id: id.into(),
        database_id: 90,
        author: Some(who),
        body,
        created_at: start(),
        url: "u".into(),
        review: String::new(),
    }
}

/// A review of a turn whose answer was lost.
fn in_doubt(rig: &mut Rig, detail: &Detail) -> PostId {
    let turn = rig.started(detail);
    let post = rig.review(&turn, "Fine").id;
    rig.call(post, detail);
    rig.outcome(post, SendOutcome::Doubt { why: "lost".into() });
    post
}

#[test]
fn our_own_post_is_known_by_id_or_marker_under_our_name() {
    // GH-PUB-29, GH-PUB-30, GH-PUB-05
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let post = in_doubt(&mut rig, &detail);
    // Somebody else's marker, and our name without one, say nothing.
    detail.comments = vec![comment("X", account("ana"), marker(post)), comment("Y", viewer(), "Fine".into())];
    rig.show(&detail);
    assert_eq!(rig.post(post).state, PostState::Sending);
    let mut echo = review_by(viewer(), "R_echo", ReviewState::Approved, rig.now, &head(1));
    echo.body = format!("Fine\n\n{}", marker(post));
    detail.reviews = vec![echo];
    rig.show(&detail);
    let row = rig.post(post);
    assert_eq!((row.state, row.remote.unwrap().node_id.as_str()), (PostState::Sent, "R_echo"));
    let settled = rig.count(EventKind::PostSent);
    rig.show(&detail);
    rig.show(&detail);
    assert_eq!((settled, rig.count(EventKind::PostSent)), (1, 1));
    // A look-up that was under way comes too late to matter.
    rig.take(Input::Done(Done::LookedUp { post, found: LookUp::Absent }));
    assert_eq!(rig.post(post).state, PostState::Sent);
    let gates = rig.gates().len();
    rig.pass(1_200);
    rig.sweep(&[&detail]);
    assert_eq!(rig.gates().len(), gates, "an echo makes nothing due");
}

#[test]
fn a_post_that_is_there_twice_is_settled_once() {
    // GH-PUB-30
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let post = in_doubt(&mut rig, &detail);
    let echo = |id: &str| Review { body: marker(post), ..review_by(viewer(), id, ReviewState::Approved, start(), &head(1)) };
    detail.reviews = vec![echo("R_a"), echo("R_b")];
    rig.show(&detail);
    assert_eq!(rig.post(post).remote.unwrap().node_id, "R_a");
    assert_eq!(rig.count(EventKind::PostSent), 1);
}

#[test]
fn an_echo_of_a_call_in_flight_is_left_to_the_call() {
    // GH-PUB-30, GH-PUB-02
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Fine").id;
    rig.call(post, &detail);
    detail.reviews = vec![Review { body: marker(post), ..review_by(viewer(), "N_1", ReviewState::Approved, rig.now, &head(1)) }];
    rig.show(&detail);
    assert_eq!(rig.post(post).state, PostState::Sending);
    rig.outcome(post, SendOutcome::Sent(remote(1)));
    assert_eq!((rig.post(post).state, rig.count(EventKind::PostSent)), (PostState::Sent, 1));
}

#[test]
fn an_echo_settles_a_post_of_which_it_could_not_be_told() {
    // GH-PUB-30, GH-PUB-09
    let mut rig = Rig::new();
    let mut detail = pull(1);
    let post = in_doubt(&mut rig, &detail);
    for _ in 0..3 {
        rig.pass(15);
        rig.take(Input::Done(Done::LookedUp { post, found: LookUp::Incomplete { why: "no".into() } }));
    }
    assert!(rig.post(post).maybe_posted);
    detail.reviews = vec![Review { body: marker(post), ..review_by(viewer(), "N_1", ReviewState::Approved, rig.now, &head(1)) }];
    rig.show(&detail);
    assert_eq!((rig.post(post).state, rig.post(post).maybe_posted), (PostState::Sent, false));
}
