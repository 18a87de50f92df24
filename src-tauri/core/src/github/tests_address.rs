//! What an address round covers, and when one is due.

use super::samples::*;
use super::*;
use crate::github::Thread;

/// The viewer's own, with a workspace of theirs.
fn facts_after(change: impl FnOnce(&mut Detail, &mut Settings, &mut Book)) -> Frame {
    let ours = Book { has_author_workspace: true, head_seen_at: Some(at(1)), ..book() };
    let (mut pull, mut settings, mut book) = (own_pull(), settings(), ours);
    change(&mut pull, &mut settings, &mut book);
    pull_facts(&pull, &viewer(), &settings, &book, now())
}

#[track_caller]
fn list(frame: &Frame, name: &str) -> Vec<String> {
    match frame.get(name) {
        Some(Value::List(items)) => items.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

fn reviewers(change: impl FnOnce(&mut Detail, &mut Settings, &mut Book)) -> Vec<String> {
    list(&facts_after(change), "pr.address.reviewers")
}

fn said(login: &str, body: &str, minutes: i64) -> Review {
    Review { body: body.into(), ..review(login, ReviewState::Commented, minutes) }
}

#[test]
fn the_reviewers_are_those_with_an_unanswered_review() {
    // GH-FACT-32
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed};
    let of = |reviews: Vec<Review>| reviewers(|pull, _, _| pull.reviews = reviews);
    assert_eq!(of(vec![review("cy", ChangesRequested, 20), said("bo", "think", 10)]), ["bo", "cy"], "sorted");
    assert_eq!(of(vec![said("bo", "think", 10), said("bo", "again", 12)]), ["bo"], "each once");
    let none: [&str; 0] = [];
    assert_eq!(of(vec![review("bo", Commented, 10)]), none, "a comment without a word");
    assert_eq!(of(vec![review("bo", Approved, 10)]), none);
    assert_eq!(of(vec![said("viewer", "note", 10)]), none);
    assert_eq!(of(vec![Review { author: None, ..said("gone", "x", 10) }]), none, "a ghost has no login");
    assert_eq!(of(vec![review("bo", ChangesRequested, 10), review("bo", Approved, 20)]), none, "taken back by the same reviewer");
    assert_eq!(of(vec![review("bo", ChangesRequested, 10), review("bo", Dismissed, 20)]), none);
    assert_eq!(of(vec![said("lint[bot]", "beep", 10)]), none);
    let listed = reviewers(|pull, settings, _| {
        pull.reviews = vec![said("lint[bot]", "beep", 10)];
        settings.automated = vec!["lint".into()];
    });
    assert_eq!(listed, ["lint[bot]"]);
    let off = reviewers(|pull, settings, _| {
        pull.reviews = vec![review("bo", ChangesRequested, 10)];
        settings.address_reviews = false;
    });
    assert_eq!(off, none);
}

#[test]
fn an_open_thread_makes_even_an_approval_work_until_it_is_answered() {
    // GH-FACT-32
    let with = |comments: fn(&Review) -> Vec<crate::github::Comment>, resolved: bool| {
        reviewers(|pull, _, _| {
            let review = review("bo", ReviewState::Approved, 10);
            pull.threads = vec![Thread { resolved, ..thread(comments(&review)) }];
            pull.reviews = vec![review];
        })
    };
    assert_eq!(with(|review| vec![comment_of(review, "why?", 10)], false), ["bo"]);
    assert!(with(|review| vec![comment_of(review, "why?", 10)], true).is_empty(), "resolved");
    assert!(with(|review| vec![comment("viewer", "so", 11), comment_of(review, "why?", 10)], false).is_empty(), "answered");
    assert!(with(|_| vec![comment("cy", "why?", 10)], false).is_empty(), "another's thread");
    // A reply in an older thread came with a review of its own.
    let replied = reviewers(|pull, _, book| {
        let (first, reply) = (said("bo", "first", 10), review("bo", ReviewState::Commented, 30));
        let comments = vec![comment_of(&first, "why?", 10), comment("viewer", "so", 11), comment_of(&reply, "no", 30)];
        pull.threads = vec![thread(comments)];
        pull.reviews = vec![first, reply];
        book.addressed.reviews = Some(at(10));
    });
    assert_eq!(replied, ["bo"]);
}

#[test]
fn what_a_round_covered_is_not_covered_again() {
    // GH-FACT-32, GH-FACT-33, GH-FACT-34
    let covered = |mark: i64, head: &str| {
        facts_after(|pull, _, book| {
            pull.reviews = vec![review("bo", ReviewState::ChangesRequested, 10)];
            pull.checks = vec![check("tests", "FAILURE", 10)];
            book.conflict_since = Some(at(500));
            book.addressed =
                Addressed { reviews: Some(at(mark)), checks: Some(head.to_owned()), conflict: Some(head.to_owned()) };
        })
    };
    let old = covered(9, OLD);
    assert_eq!((list(&old, "pr.address.reviewers").len(), list(&old, "pr.address.checks").len()), (1, 1));
    assert_eq!(old["pr.address.conflict"], Value::Bool(true));
    let done = covered(10, HEAD);
    assert!(list(&done, "pr.address.reviewers").is_empty() && list(&done, "pr.address.checks").is_empty());
    assert_eq!(done["pr.address.conflict"], Value::Bool(false));
}

#[test]
fn failing_checks_are_work_once_all_have_run() {
    // GH-FACT-33
    let of = |change: &dyn Fn(&mut Detail, &mut Settings, &mut Book)| {
        list(
            &facts_after(|pull, settings, book| {
                pull.checks = vec![check("tests", "FAILURE", 10), check("lint", "TIMED_OUT", 10), check("docs", "SUCCESS", 10)];
                change(pull, settings, book);
            }),
            "pr.address.checks",
        )
    };
    assert_eq!(of(&|_, _, _| {}), ["lint", "tests"]);
    assert!(of(&|pull, _, _| pull.checks.push(check("slow", "", 11))).is_empty(), "one still runs");
    assert!(of(&|_, settings, _| settings.address_checks = false).is_empty());
    let tried = |rounds: &[&[&str]]| -> Vec<Vec<String>> {
        rounds.iter().map(|names| names.iter().map(|name| (*name).to_owned()).collect()).collect()
    };
    let same: &[&str] = &["lint", "tests"];
    assert!(of(&|_, _, book| book.address_rounds = tried(&[same, same, same])).is_empty(), "three attempts did not mend them");
    assert_eq!(of(&|_, _, book| book.address_rounds = tried(&[same, same])).len(), 2);
    assert_eq!(of(&|_, _, book| book.address_rounds = tried(&[same, &["lint"], same, same])).len(), 2, "not in a row");
    assert!(
        of(&|_, _, book| book.address_rounds = tried(&[same, same, same, &["lint"]])).is_empty(),
        "only the last three count"
    );
}

#[test]
fn a_conflict_is_work_once_it_lasted() {
    // GH-FACT-34
    let conflict = |since| facts_after(|_, _, book| book.conflict_since = since)["pr.address.conflict"].clone();
    assert_eq!(conflict(Some(at(570))), Value::Bool(true));
    assert_eq!(conflict(Some(at(571))), Value::Bool(false));
    assert_eq!(conflict(None), Value::Bool(false));
    let at_once = facts_after(|_, settings, _| settings.conflict_window = SignedDuration::ZERO);
    assert_eq!(at_once["pr.address.conflict"], Value::Bool(false), "no conflict, however short the window");
}

#[test]
fn a_turn_reads_what_it_covers_and_any_other_intent_nothing() {
    // GH-FACT-35
    let mut frame = facts_after(|pull, _, book| {
        pull.reviews = vec![review("bo", ReviewState::ChangesRequested, 10)];
        pull.checks = vec![check("tests", "FAILURE", 10)];
        book.conflict_since = Some(at(1));
    });
    let pinned = Covered { reviewers: vec!["cy".into()], checks: vec![], conflict: false };
    pinned.put_into(&mut frame);
    assert_eq!(list(&frame, "pr.address.reviewers"), ["cy"]);
    assert!(list(&frame, "pr.address.checks").is_empty());
    assert_eq!(frame["pr.address.conflict"], Value::Bool(false));
    Covered::default().put_into(&mut frame);
    assert!(list(&frame, "pr.address.reviewers").is_empty());
}

/// `pr.address.due` with its reason.
fn due(change: impl FnOnce(&mut Detail, &mut Settings, &mut Book)) -> (bool, String) {
    let frame = facts_after(|pull, settings, book| {
        pull.reviews = vec![review("bo", ReviewState::ChangesRequested, 10), said("cy", "hm", 20)];
        pull.checks = vec![check("tests", "FAILURE", 10)];
        change(pull, settings, book);
    });
    match (&frame["pr.address.due"], &frame["pr.address.reason"]) {
        (Value::Bool(due), Value::Text(why)) => (*due, why.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_address_round_is_due_when_every_condition_holds() {
    // GH-FACT-36
    assert_eq!(due(|_, _, _| {}), (true, "2 reviewers, 1 failing check".into()));
    assert_eq!(due(|_, _, book| book.conflict_since = Some(at(1))).1, "2 reviewers, 1 failing check, a conflict");
    assert_eq!(due(|_, settings, _| settings.address_mode = Mode::Observe), (true, "2 reviewers, 1 failing check".into()));
    assert!(due(|_, _, book| book.paused = true).0, "a pause is the workflow's to read");
    let without = due(|_, settings, book| {
        book.has_author_workspace = false;
        settings.address_without_workspace = true;
    });
    assert!(without.0);
    let no = |why: &str, change: &dyn Fn(&mut Detail, &mut Settings, &mut Book)| {
        assert_eq!(due(|pull, settings, book| change(pull, settings, book)), (false, why.to_owned()));
    };
    no("the pull request is merged", &|pull, _, _| pull.summary.state = PullState::Merged);
    no("it is not yours", &|pull, _, book| {
        pull.author = Some(account("ana"));
        book.has_author_workspace = false;
    });
    no("address rounds are off for acme/app", &|_, settings, _| settings.address_mode = Mode::Off);
    no("nothing is to be addressed", &|pull, settings, _| {
        pull.reviews.clear();
        settings.address_checks = false;
    });
    no("the newest review is 4 min old and rests 5 min", &|pull, _, _| pull.reviews.push(said("dan", "and", 596)));
    no("no workspace of yours is linked", &|_, _, book| book.has_author_workspace = false);
    no("a turn is open", &|_, _, book| book.open_turn = Some((3, "asked".into())));
    no("you cannot push to `gulls`", &|pull, _, _| pull.can_push = false);
    no("2 rounds ran on this commit", &|_, _, book| book.rounds_on_head = 2);
    let covered = Covered { reviewers: vec!["bo".into(), "cy".into()], checks: vec!["tests".into()], conflict: false };
    let key = address_key(HEAD, &covered);
    no("already addressed", &|_, _, book| {
        book.address_handled.insert(key.clone());
    });
    let print = facts_after(|pull, _, _| {
        pull.reviews = vec![review("bo", ReviewState::ChangesRequested, 10), said("cy", "hm", 20)];
        pull.checks = vec![check("tests", "FAILURE", 10)];
    });
    let Value::Text(print) = print["pr.fingerprint"].clone() else { panic!("no text") };
    no("already addressed", &|_, _, book| {
        book.address_handled.insert(print.clone());
    });
    // Something else to do is another round.
    assert!(
        due(|pull, _, book| {
            pull.checks.push(check("lint", "FAILURE", 10));
            book.address_handled.insert(key.clone());
        })
        .0
    );
}

#[test]
fn four_settings_read_as_they_are_in_force() {
    // GH-FACT-46
    let names = ["address_reviews", "address_checks", "followups_without_workspace", "address_without_workspace"];
    for (at, set) in names.iter().enumerate() {
        let frame = facts_after(|_, settings, _| {
            settings.address_reviews = at == 0;
            settings.address_checks = at == 1;
            settings.followups_without_workspace = at == 2;
            settings.address_without_workspace = at == 3;
        });
        for name in names {
            assert_eq!(frame[format!("config.plugins.github.{name}").as_str()], Value::Bool(name == *set), "{name} of {set}");
        }
    }
}
