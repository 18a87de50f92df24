//! Facts over time: conflicts, checks, the last interaction, and what was first seen when.

use super::samples::*;
use super::*;
use crate::calendar::{Calendar, DAYS};
use crate::github::checks::{any_running, failing};
use crate::github::{Check, Mergeable, Sightings};

fn facts_of(pull: &Detail, settings: &Settings, book: &Book) -> Frame {
    pull_facts(pull, &viewer(), settings, book, now())
}

#[track_caller]
fn time_of(frame: &Frame, name: &str) -> Timestamp {
    match frame.get(name) {
        Some(Value::Time(at)) => *at,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn a_conflict_is_counted_from_the_answer_that_first_showed_it() {
    // GH-FACT-15, GH-SYNC-46
    let mut summary = pull().summary;
    let mut seen = Sightings::default().see(&summary, at(500));
    let mut after = |mergeable, head: &str, minutes, expected: Option<i64>| {
        summary.mergeable = mergeable;
        summary.head = head.to_owned();
        seen = seen.see(&summary, at(minutes));
        assert_eq!(seen.conflict_since, expected.map(at), "{mergeable:?} at {minutes}");
    };
    after(Mergeable::Unknown, HEAD, 505, None);
    after(Mergeable::Conflicting, HEAD, 510, Some(510));
    after(Mergeable::Conflicting, HEAD, 520, Some(510));
    after(Mergeable::Unknown, HEAD, 530, Some(510));
    after(Mergeable::Unknown, OLD, 540, Some(510));
    after(Mergeable::Conflicting, OLD, 545, Some(510));
    after(Mergeable::Mergeable, OLD, 550, None);
    after(Mergeable::Unknown, OLD, 551, None);
    after(Mergeable::Conflicting, OLD, 552, Some(552));
    let book = Book { conflict_since: seen.conflict_since, ..book() };
    assert_eq!(facts_of(&pull(), &settings(), &book)["pr.conflicting_for"], Value::Duration(SignedDuration::from_mins(48)));
    assert_eq!(
        facts_of(&pull(), &settings(), &super::samples::book())["pr.conflicting_for"],
        Value::Duration(SignedDuration::ZERO)
    );
}

#[test]
fn a_head_is_as_old_as_the_answer_that_first_showed_it() {
    // GH-SYNC-46, GH-FACT-13
    let mut summary = pull().summary;
    let first = Sightings::default().see(&summary, at(500));
    assert_eq!(first.head_at, Some(at(420)), "found, not pushed: no push is newer than the last change");
    summary.updated_at = at(509);
    assert_eq!(first.see(&summary, at(510)).head_at, Some(at(420)), "other changes do not move it");
    summary.head = OLD.into();
    let moved = first.see(&summary, at(510));
    assert_eq!(moved.head_at, Some(at(510)));
    assert_eq!(moved.see(&summary, at(520)), moved);
    // Back to the first head, by a force push: a push as any other.
    summary.head = HEAD.into();
    assert_eq!(moved.see(&summary, at(530)).head_at, Some(at(530)));
}

#[test]
fn the_rollup_is_the_heads_and_empty_without_one() {
    // GH-FACT-16
    let mut pull = pull();
    pull.summary.checks = "EXPECTED".into();
    assert_eq!(facts_of(&pull, &settings(), &book())["pr.checks"], Value::Text("expected".into()));
    pull.summary.checks = String::new();
    assert_eq!(facts_of(&pull, &settings(), &book())["pr.checks"], Value::Text(String::new()));
}

#[test]
fn a_check_fails_by_its_conclusion_and_the_newest_of_a_name_counts() {
    // GH-FACT-17
    let names = |checks: &[Check]| failing(checks);
    for conclusion in ["FAILURE", "TIMED_OUT", "STARTUP_FAILURE"] {
        assert_eq!(names(&[check("tests", conclusion, 1)]), ["tests"], "{conclusion}");
    }
    for conclusion in ["SUCCESS", "CANCELLED", "SKIPPED", "NEUTRAL", "STALE", "ACTION_REQUIRED", "SOMETHING_NEW", ""] {
        assert!(names(&[check("tests", conclusion, 1)]).is_empty(), "{conclusion}");
    }
    assert_eq!(names(&[status("ci/b", "ERROR", 1), status("ci/a", "FAILURE", 1)]), ["ci/a", "ci/b"]);
    assert!(names(&[status("ci", "PENDING", 1), status("ci2", "EXPECTED", 1)]).is_empty());
    assert!(any_running(&[status("ci", "PENDING", 1)]) && any_running(&[check("t", "", 1)]));
    assert!(!any_running(&[check("t", "CANCELLED", 1), status("ci", "SUCCESS", 1)]));
    // A second run of a name in one app: the newest, in any order of the answer.
    let (old, new) = (check("tests", "FAILURE", 1), check("tests", "SUCCESS", 5));
    assert!(names(&[old.clone(), new.clone()]).is_empty() && names(&[new, old.clone()]).is_empty());
    let again = Check { started_at: None, completed_at: None, ..check("tests", "", 9) };
    assert!(
        names(&[again.clone(), old.clone()]).is_empty() && any_running(&[old.clone(), again]),
        "one that waits is the newest"
    );
    let other = Check { app: "other".into(), ..check("tests", "SUCCESS", 9) };
    assert_eq!(names(&[old.clone(), other]), ["tests"], "another app's does not replace it");
    let twin = Check { database_id: 2, ..check("tests", "SUCCESS", 1) };
    assert!(names(&[twin.clone(), old.clone()]).is_empty() && names(&[old, twin]).is_empty(), "of one time, by database id");
}

#[test]
fn the_last_interaction_is_anyones_newest_word_push_or_request() {
    // GH-FACT-19
    let quiet = {
        let mut pull = own_pull();
        pull.summary.updated_at = at(100);
        pull
    };
    let last = |change: &dyn Fn(&mut Detail), book: &Book| {
        let mut pull = quiet.clone();
        change(&mut pull);
        time_of(&facts_of(&pull, &settings(), book), "pr.last_interaction_at")
    };
    let seen = Book { head_seen_at: Some(at(10)), ..book() };
    assert_eq!(last(&|_| {}, &seen), at(10), "the push");
    assert_eq!(last(&|pull| pull.created_at = at(15), &seen), at(15), "creation");
    assert_eq!(last(&|pull| pull.comments = vec![comment("ana", "x", 20)], &seen), at(20));
    assert_eq!(last(&|pull| pull.comments = vec![comment("viewer", "x", 21)], &seen), at(21));
    assert_eq!(last(&|pull| pull.reviews = vec![review("noise[bot]", ReviewState::Commented, 22)], &seen), at(22));
    assert_eq!(last(&|pull| pull.threads = vec![thread(vec![comment("bo", "x", 23)])], &seen), at(23));
    assert_eq!(last(&|pull| pull.last_requested_at = Some(at(24)), &seen), at(24));
    assert_eq!(last(&|pull| pull.head_forced_at = Some(at(25)), &seen), at(25));
    let pushed = Book { head_seen_at: Some(at(30)), ..book() };
    assert_eq!(last(&|_| {}, &pushed), at(30));
    // A half-written review was seen by nobody.
    let pending = Review { id: "R_p".into(), ..review("viewer", ReviewState::Pending, 50) };
    let half = |pull: &mut Detail| {
        pull.threads = vec![thread(vec![comment_of(&pending, "hm", 50)])];
        pull.reviews = vec![pending.clone()];
    };
    assert_eq!(last(&half, &seen), at(10));
    // Edits, labels and checks do not count.
    let noise = |pull: &mut Detail| {
        pull.summary.updated_at = at(599);
        pull.labels = vec!["new".into()];
        pull.checks = vec![check("tests", "SUCCESS", 590)];
    };
    assert_eq!(last(&noise, &seen), at(10));
}

#[test]
fn silent_days_are_dates_of_the_configured_zone() {
    // GH-FACT-20
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(-9));
    let west = Settings { calendar: Calendar::new(zone, &DAYS.map(str::to_owned), "09:00-18:00"), ..settings() };
    let seen = Book { head_seen_at: Some(at(-60)), ..book() };
    // Opened at 09:00, asked at 19:00 of one day in UTC; nine hours further west midnight lies between them.
    let mut pull = own_pull();
    pull.created_at = at(-60);
    assert_eq!(facts_of(&pull, &west, &seen)["pr.silent_days"], Value::Int(1));
    assert_eq!(facts_of(&pull, &settings(), &seen)["pr.silent_days"], Value::Int(0));
}

#[test]
fn a_finished_one_counts_working_time_and_a_reopened_one_none() {
    // GH-FACT-14
    let mut pull = pull();
    pull.summary.state = PullState::Merged;
    // Opened on a Monday at 09:00; merged at 16:00, closed with it a minute later, and it is 19:00.
    (pull.merged_at, pull.closed_at) = (Some(at(420)), Some(at(421)));
    let finished = |pull: &Detail| facts_of(pull, &settings(), &book())["pr.finished_for"].clone();
    assert_eq!(finished(&pull), Value::Duration(SignedDuration::from_mins(119)));
    pull.summary.state = PullState::Open;
    pull.merged_at = None;
    assert_eq!(finished(&pull), Value::Duration(SignedDuration::ZERO));
}
