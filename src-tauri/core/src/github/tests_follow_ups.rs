use super::samples::*;
use super::tests_rounds::{action, by_round, key_of};
use super::*;

#[test]
fn new_commits_after_a_review_are_followed_up() {
    // ROUND-10, GH-FACT-30
    let (follow, why) = action(&reviewed_pull(), &settings(), &by_round());
    assert_eq!((follow.as_str(), why.as_str()), ("follow-up", "new commits since your review at 0123456"));
    let mut gone = reviewed_pull();
    gone.reviews[0].commit.clear();
    assert_eq!(action(&gone, &settings(), &by_round()).1, "the commit you reviewed is gone");
}

#[track_caller]
fn no_action(change: impl FnOnce(&mut Detail, &mut Settings, &mut Book), reason: &str) {
    let (mut pull, mut settings, mut book) = (reviewed_pull(), settings(), by_round());
    change(&mut pull, &mut settings, &mut book);
    assert_eq!(action(&pull, &settings, &book), (String::new(), reason.to_owned()));
}

#[test]
fn each_condition_holds_a_follow_up() {
    // ROUND-10
    no_action(|pull, _, _| pull.author = Some(viewer()), "it is yours");
    no_action(|_, _, book| book.adopted = true, "you took it over");
    no_action(|pull, _, _| pull.reviews.clear(), "you have not reviewed it");
    no_action(|pull, _, _| pull.summary.draft = true, "it is a draft");
    let by_hand = "you reviewed it by hand, and no review workspace is linked";
    no_action(|_, _, book| book.reviewed_by_round = false, by_hand);
    no_action(|pull, _, _| pull.summary.head = OLD.into(), "nothing is new since your review");
    no_action(|_, settings, _| settings.review_mode = Mode::Off, "reviews are off for acme/app");
    no_action(|pull, _, _| pull.changed_files = 301, "301 files, more than 300");
    let pending = "you have a pending review; submit or discard it";
    no_action(|pull, _, _| pull.reviews.push(review("viewer", ReviewState::Pending, 1)), pending);
    no_action(|_, _, book| book.unread = Some("why".into()), "GitHub could not be read: why");
    no_action(|_, _, book| book.open_turn = Some((1, "started".into())), "a turn is open");
    no_action(|_, _, book| book.rounds_on_head = 2, "2 rounds ran on this commit");
    no_action(
        |pull, _, book| {
            book.handled.insert(key_of(pull, "follow-up"));
        },
        "already reviewed",
    );
    no_action(
        |pull, _, book| {
            book.skipped.insert(key_of(pull, "follow-up"));
        },
        "skipped",
    );
}

#[test]
fn a_workspace_or_the_setting_makes_the_loop_follow() {
    // ROUND-10
    let workspace = Book { has_review_workspace: true, ..book() };
    assert_eq!(action(&reviewed_pull(), &settings(), &workspace).0, "follow-up");
    let always = Settings { followups_without_workspace: true, ..settings() };
    assert_eq!(action(&reviewed_pull(), &always, &book()).0, "follow-up");
}

#[test]
fn a_push_settles_first_unless_a_review_is_requested_after_it() {
    // ROUND-10
    let seen = |minutes| Book { head_seen_at: Some(at(minutes)), ..by_round() };
    let fresh = action(&reviewed_pull(), &settings(), &seen(591));
    assert_eq!(fresh, (String::new(), "the last push is 9 min old and rests 10 min".to_owned()));
    assert_eq!(action(&reviewed_pull(), &settings(), &seen(590)).0, "follow-up");
    let mut asked = reviewed_pull();
    asked.review_requests = vec![direct("RR_2", 592)];
    assert_eq!(action(&asked, &settings(), &seen(591)).0, "follow-up");
    asked.review_requests = vec![direct("RR_2", 590)];
    assert_eq!(action(&asked, &settings(), &seen(591)).0, "");
    let mut unseen = reviewed_pull();
    unseen.summary.updated_at = at(595);
    assert_eq!(action(&unseen, &settings(), &by_round()).0, "", "no push is newer than the last change");
}

#[test]
fn an_answer_of_the_author_in_the_viewers_thread_is_news() {
    // ROUND-10
    let answered = |opener: &str, answerer: &str, minutes| {
        let mut pull = reviewed_pull();
        pull.reviews[0].commit = HEAD.into();
        pull.threads = vec![thread(vec![comment(opener, "why?", 480), comment(answerer, "so", minutes)])];
        action(&pull, &settings(), &by_round())
    };
    assert_eq!(answered("viewer", "ana", 500), ("follow-up".to_owned(), "ana answered in your thread".to_owned()));
    for other in [answered("bo", "ana", 500), answered("viewer", "bo", 500), answered("viewer", "ana", 479)] {
        assert_eq!(other, (String::new(), "nothing is new since your review".to_owned()));
    }
}

#[test]
fn an_approval_that_stands_waits_for_a_request_or_a_dismissal() {
    // ROUND-10, ROUND-11
    let mut pull = reviewed_pull();
    pull.reviews[0].state = ReviewState::Approved;
    let waits = (String::new(), "approved at 0123456, and new commits since".to_owned());
    assert_eq!(action(&pull, &settings(), &by_round()), waits);
    pull.reviews[0].state = ReviewState::Dismissed;
    let back = ("follow-up".to_owned(), "your verdict was dismissed".to_owned());
    assert_eq!(action(&pull, &settings(), &by_round()), back);
}

#[test]
fn a_review_is_complete_with_its_approval_or_the_end() {
    // ROUND-11, GH-FACT-30
    let mut pull = reviewed_pull();
    pull.reviews[0].state = ReviewState::Approved;
    pull.reviews[0].commit = HEAD.into();
    let complete = |pull: &Detail| action(pull, &settings(), &by_round());
    assert_eq!(complete(&pull), ("complete".to_owned(), "you approved it at aaaaaaa".to_owned()));
    pull.reviews[0].state = ReviewState::Commented;
    pull.summary.state = PullState::Merged;
    assert_eq!(complete(&pull), ("complete".to_owned(), "the pull request is merged".to_owned()));
    pull.reviews.clear();
    assert_eq!(complete(&pull).0, "");
}

#[test]
fn the_ledger_tells_which_commit_was_reviewed() {
    // ROUND-10, GH-FACT-10
    let mut pull = reviewed_pull();
    pull.reviews.clear();
    let lost = Book { sent_reviews: vec![sent("R_1", ReviewState::Commented, 500)], ..by_round() };
    let quiet = (String::new(), "nothing is new since your review".to_owned());
    assert_eq!(action(&pull, &settings(), &lost), quiet);
    pull.reviews = vec![Review { id: "R_1".into(), commit: String::new(), ..review("viewer", ReviewState::Commented, 500) }];
    assert_eq!(action(&pull, &settings(), &lost), quiet);
}

#[test]
fn observing_keeps_the_facts_and_says_so() {
    // GH-FACT-31
    let observe = Settings { review_mode: Mode::Observe, ..settings() };
    let observed = |pull: &Detail, settings: &Settings, book: &Book| {
        pull_facts(pull, &viewer(), settings, book, now())["pr.review.observed"] == Value::Bool(true)
    };
    assert!(observed(&pull(), &observe, &book()));
    assert!(observed(&reviewed_pull(), &observe, &by_round()));
    assert!(!observed(&reviewed_pull(), &observe, &book()));
    assert!(!observed(&pull(), &settings(), &book()));
}
