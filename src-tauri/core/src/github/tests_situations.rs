//! Table F1, and the facts of a row.

use proptest::prelude::*;

use super::samples::*;
use super::*;
use crate::github::{Comment, Mergeable, Thread};

type Change<'a> = &'a dyn Fn(&mut Detail, &mut Settings, &mut Book);

/// `row.kind` and `pr.waits_on_user` after a change.
fn kind_of(start: Detail, change: Change<'_>) -> (String, bool) {
    let (mut pull, mut settings, mut book) = (start, settings(), Book { tracked: true, head_seen_at: Some(at(1)), ..book() });
    change(&mut pull, &mut settings, &mut book);
    let frame = pull_facts(&pull, &viewer(), &settings, &book, now());
    match (&frame["row.kind"], &frame["pr.waits_on_user"]) {
        (Value::Text(kind), Value::Bool(waits)) => (kind.clone(), *waits),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn of_another(expected: &str, you: bool, change: Change<'_>) {
    assert_eq!(kind_of(pull(), change), (expected.to_owned(), you));
}

#[track_caller]
fn of_mine(expected: &str, you: bool, change: Change<'_>) {
    assert_eq!(kind_of(own_pull(), change), (expected.to_owned(), you));
}

#[test]
fn one_of_another_is_in_the_first_situation_that_holds() {
    // GH-FACT-25, GH-FACT-26
    use ReviewState::{Approved, ChangesRequested, Commented};
    of_another("done", false, &|pull, _, _| pull.summary.state = PullState::Closed);
    of_another("done", false, &|pull, _, book| {
        pull.summary.state = PullState::Merged;
        book.reviewing = true;
    });
    of_another("reviewing", false, &|pull, _, book| {
        pull.summary.draft = true;
        book.reviewing = true;
    });
    of_another("draft", false, &|pull, _, _| pull.summary.draft = true);
    of_another("follow_up", true, &|pull, _, book| {
        *pull = reviewed_pull();
        book.reviewed_by_round = true;
    });
    of_another("waiting_author", false, &|pull, _, _| *pull = reviewed_pull());
    of_another("review_requested", true, &|_, _, _| {});
    of_another("review_requested", true, &|pull, settings, _| {
        pull.review_requests = vec![of_team("acme/core", "RR_2", 420)];
        settings.admitted_teams = AdmittedTeams::Only(vec!["acme/core".into()]);
    });
    of_another("watching", false, &|pull, _, _| pull.review_requests = vec![of_team("acme/core", "RR_2", 420)]);
    of_another("review_requested", true, &|pull, _, _| pull.reviews = vec![review("viewer", Approved, 400)]);
    of_another("approved", false, &|pull, _, _| {
        pull.review_requests = vec![];
        pull.reviews = vec![review("viewer", Approved, 400), review("viewer", Commented, 401)];
    });
    of_another("approved", false, &|pull, _, _| pull.reviews = vec![review("viewer", Approved, 430)]);
    of_another("waiting_author", false, &|pull, _, _| {
        pull.review_requests = vec![];
        pull.reviews = vec![review("viewer", ChangesRequested, 400)];
    });
    of_another("watching", false, &|pull, _, _| pull.review_requests = vec![]);
}

#[test]
fn one_of_mine_is_in_the_first_situation_that_holds() {
    // GH-FACT-25, GH-FACT-26, GH-SYNC-49
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed};
    let wanted = |pull: &mut Detail| pull.reviews = vec![review("bo", ChangesRequested, 100)];
    of_mine("done", false, &|pull, _, _| pull.summary.state = PullState::Closed);
    of_mine("draft", true, &|pull, _, _| {
        pull.summary.draft = true;
        wanted(pull);
    });
    of_mine("changes_requested", true, &|pull, _, book| {
        wanted(pull);
        // It is yours: a round that addresses it is no review.
        book.reviewing = true;
        pull.summary.checks = "failure".into();
        pull.checks = vec![check("tests", "FAILURE", 50)];
    });
    let answered = |pull: &mut Detail, minutes: i64| {
        let review = review("bo", ChangesRequested, 100);
        let answer = comment("viewer", "done", minutes);
        pull.threads = vec![thread(vec![comment_of(&review, "why?", 100), answer])];
        pull.reviews = vec![review];
    };
    of_mine("changes_requested", true, &|pull, _, _| answered(pull, 99));
    of_mine("waiting_review", false, &|pull, _, _| answered(pull, 101));
    of_mine("changes_requested", true, &|pull, _, _| {
        // An answer in the threads of somebody else's review is none to this one.
        let other = review("cy", Commented, 90);
        pull.threads = vec![thread(vec![comment_of(&other, "and?", 90), comment("viewer", "so", 120)])];
        pull.reviews = vec![other, review("bo", ChangesRequested, 100)];
    });
    of_mine("waiting_review", false, &|pull, _, book| {
        wanted(pull);
        book.head_seen_at = Some(at(101));
    });
    of_mine("waiting_review", false, &|pull, _, _| {
        pull.reviews = vec![review("bo", ChangesRequested, 100), review("bo", Dismissed, 110)];
    });
    let noise = |pull: &mut Detail| pull.reviews = vec![review("noise[bot]", ChangesRequested, 100)];
    of_mine("waiting_review", false, &|pull, _, _| noise(pull));
    of_mine("changes_requested", true, &|pull, settings, _| {
        noise(pull);
        settings.automated = vec!["noise".into()];
    });
    of_mine("comments", true, &|pull, _, _| pull.threads = vec![thread(vec![comment("bo", "why?", 100)])]);
    let silent: [fn() -> Thread; 3] = [
        || thread(vec![comment("bo", "why?", 100), comment("viewer", "so", 101)]),
        || thread(vec![comment("noise[bot]", "beep", 100)]),
        || Thread { resolved: true, ..thread(vec![comment("bo", "why?", 100)]) },
    ];
    for silent in silent {
        of_mine("waiting_review", false, &|pull, _, _| pull.threads = vec![silent()]);
    }
    of_mine("conflict", true, &|_, _, book| book.conflict_since = Some(at(570)));
    of_mine("waiting_review", false, &|_, _, book| book.conflict_since = Some(at(571)));
    let red = |pull: &mut Detail| pull.checks = vec![check("tests", "FAILURE", 50)];
    of_mine("checks_failed", true, &|pull, _, _| red(pull));
    of_mine("checks_running", false, &|pull, _, _| {
        red(pull);
        pull.checks.push(check("lint", "", 60));
        pull.summary.checks = "pending".into();
    });
    of_mine("checks_running", false, &|pull, _, _| pull.summary.checks = "expected".into());
    let approved = |pull: &mut Detail| pull.reviews = vec![review("bo", Approved, 100)];
    of_mine("ready", true, &|pull, _, _| approved(pull));
    of_mine("ready", true, &|pull, _, _| pull.review_decision = "APPROVED".into());
    of_mine("waiting_review", false, &|pull, _, _| {
        approved(pull);
        pull.review_decision = "REVIEW_REQUIRED".into();
    });
    of_mine("waiting_review", false, &|pull, _, _| pull.reviews = vec![review("lint[bot]", Approved, 100)]);
    of_mine("waiting_review", false, &|pull, _, _| {
        approved(pull);
        pull.summary.mergeable = Mergeable::Unknown;
    });
    of_mine("waiting_review", false, &|pull, _, _| {
        approved(pull);
        pull.summary.checks = "error".into();
    });
    of_mine("ready", true, &|pull, _, _| {
        approved(pull);
        pull.summary.checks = String::new();
    });
}

#[test]
fn a_turn_that_asks_makes_any_situation_wait_on_the_person() {
    // GH-FACT-26
    let asks = |pull: &mut Detail, _: &mut Settings, book: &mut Book| {
        pull.summary.state = PullState::Merged;
        book.newest_turn_asked = true;
    };
    of_another("done", true, &asks);
}

#[test]
fn one_taken_over_is_judged_as_owned_and_its_authors_own_review_is_no_verdict() {
    // GH-FACT-25, GH-FACT-08
    of_another("changes_requested", true, &|pull, _, book| {
        book.adopted = true;
        pull.reviews = vec![review("bo", ReviewState::ChangesRequested, 100)];
    });
    of_another("waiting_review", false, &|pull, _, book| {
        book.has_author_workspace = true;
        pull.reviews = vec![review("ana", ReviewState::ChangesRequested, 100)];
    });
}

#[test]
fn the_row_says_what_is_tracked_pending_held_and_where() {
    // GH-FACT-40, GH-FACT-41
    let row = |pull: &Detail, book: &Book| pull_facts(pull, &viewer(), &settings(), book, now());
    let names = ["row.tracked", "row.question", "row.pending", "row.capped", "row.author_workspace", "row.review_workspace"];
    let none = row(&pull(), &book());
    assert!(names.iter().all(|name| none[name] == Value::Bool(false)));
    let all = Book {
        tracked: true,
        newest_turn_asked: true,
        pending: true,
        capped: true,
        has_author_workspace: true,
        has_review_workspace: true,
        ..book()
    };
    let all = row(&pull(), &all);
    assert!(names.iter().all(|name| all[name] == Value::Bool(true)));
    assert_eq!(
        (&none["row.yours"], &all["row.yours"]),
        (&Value::Bool(false), &Value::Bool(true)),
        "a workspace of the author owns it"
    );
    for tracked in [true, false] {
        let book = Book { tracked, ..book() };
        assert_eq!(row(&pull(), &book)["row.open"], Value::Bool(true));
        let mut ended = pull();
        ended.summary.state = PullState::Closed;
        assert_eq!(row(&ended, &book)["row.open"], Value::Bool(false));
    }
}

#[test]
fn what_no_source_tells_yet_reads_as_its_zero() {
    // GH-FACT-40, FACT-05
    let frame = pull_facts(&pull(), &viewer(), &settings(), &book(), now());
    for name in ["row.intake", "row.intake_seq", "row.trust_folder", "row.trust_homes", "row.remove_refusal", "pr.nudge.who"] {
        let zero = crate::rules::registry::known(name).unwrap().kind.zero();
        assert_eq!(frame[name], zero, "{name}");
    }
}

#[test]
fn a_row_says_why_no_round_runs_and_never_that_one_did() {
    // GH-FACT-29
    let words = |change: Change<'_>| {
        let (mut pull, mut settings, mut book) = (pull(), settings(), book());
        change(&mut pull, &mut settings, &mut book);
        row_words(&pull_facts(&pull, &viewer(), &settings, &book, now()))
    };
    let due = words(&|_, _, _| {});
    assert_eq!((due.reason.as_deref(), due.skipped), (Some("review requested by ana 3 h ago"), None));
    let cases: [(&str, Change<'_>); 6] = [
        ("it is a draft", &|pull, _, _| pull.summary.draft = true),
        ("400 files, more than 300", &|pull, _, _| pull.changed_files = 400),
        ("a turn is open", &|_, _, book| book.open_turn = Some((1, "sent".into()))),
        ("2 rounds ran on this commit", &|_, _, book| book.rounds_on_head = 2),
        ("skipped", &|pull, settings, book| {
            let key = review_key(pull, &viewer(), settings, "first");
            book.handled.insert(key.clone());
            book.skipped.insert(key);
        }),
        ("its round ended without a review: it crashed", &|pull, settings, book| {
            book.handled.insert(review_key(pull, &viewer(), settings, "first"));
            book.last_failure = Some("it crashed".into());
        }),
    ];
    for (why, change) in cases {
        let shown = words(change);
        assert_eq!((shown.reason, shown.skipped.as_deref()), (None, Some(why)));
    }
    let followed = words(&|pull, _, _| *pull = reviewed_pull());
    assert_eq!(followed.skipped.as_deref(), Some("you reviewed it by hand, and no review workspace is linked"));
}

fn any_review() -> impl Strategy<Value = Review> {
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed, Pending};
    let who = prop::sample::select(vec!["viewer", "bo", "cy", "ana", "lint[bot]", ""]);
    let state = prop::sample::select(vec![Pending, Commented, Approved, ChangesRequested, Dismissed]);
    (who, state, 1_i64..6, 1_u64..1_000, any::<bool>()).prop_map(|(who, state, minutes, id, said)| Review {
        id: format!("R_{id}"),
        // No two reviews have one database id.
        database_id: id,
        author: (!who.is_empty()).then(|| account(who)),
        body: if said { "words".into() } else { String::new() },
        ..review("x", state, minutes * 100)
    })
}

proptest! {
    #[test]
    fn the_order_of_an_answer_never_matters(
        mut reviews in prop::collection::vec(any_review(), 0..9),
        mine in any::<bool>(),
        turn in any::<prop::sample::Index>(),
    ) {
        // GH-FACT-07, GH-FACT-08, GH-FACT-25, GH-FACT-32, GH-SYNC-20
        reviews.sort_by_key(|review| review.database_id);
        reviews.dedup_by_key(|review| review.database_id);
        let mut pull = if mine { own_pull() } else { pull() };
        pull.threads = reviews.iter().take(2).map(|review| {
            let said = comment_of(review, "why?", 50);
            thread(vec![Comment { database_id: review.database_id, ..said }])
        }).collect();
        pull.checks = vec![check("b", "FAILURE", 1), check("b", "SUCCESS", 2), check("a", "FAILURE", 3)];
        pull.reviews = reviews;
        let book = Book { reviewed_by_round: true, head_seen_at: Some(at(150)), has_author_workspace: mine, ..book() };
        let before = pull_facts(&pull, &viewer(), &settings(), &book, now());
        if !pull.reviews.is_empty() {
            let by = turn.index(pull.reviews.len());
            pull.reviews.rotate_left(by);
            pull.reviews.reverse();
        }
        pull.threads.reverse();
        pull.checks.reverse();
        prop_assert_eq!(&pull_facts(&pull, &viewer(), &settings(), &book, now()), &before);
        // Every verdict that stands belongs to one reviewer who is neither a ghost nor the author.
        let view = View::new(&pull, &viewer(), &settings(), &book, now()).standing_reviews().len();
        let reviewers: BTreeSet<&str> =
            pull.reviews.iter().filter_map(|review| Some(review.author.as_ref()?.id.as_str())).collect();
        prop_assert!(view <= reviewers.len());
    }
}
