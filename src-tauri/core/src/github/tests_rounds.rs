use super::samples::*;
use super::*;

/// `pr.first.due` with its reason.
fn first(pull: &Detail, settings: &Settings, book: &Book) -> (bool, String) {
    let frame = pull_facts(pull, &viewer(), settings, book, now());
    match (&frame["pr.first.due"], &frame["pr.first.reason"]) {
        (Value::Bool(due), Value::Text(why)) => (*due, why.clone()),
        other => panic!("{other:?}"),
    }
}

/// `pr.review.action` with its reason.
pub(super) fn action(pull: &Detail, settings: &Settings, book: &Book) -> (String, String) {
    let frame = pull_facts(pull, &viewer(), settings, book, now());
    match (&frame["pr.review.action"], &frame["pr.review.reason"]) {
        (Value::Text(action), Value::Text(why)) => (action.clone(), why.clone()),
        other => panic!("{other:?}"),
    }
}

pub(super) fn by_round() -> Book {
    Book { reviewed_by_round: true, ..book() }
}

pub(super) fn key_of(pull: &Detail, stage: &str) -> String {
    review_key(pull, &viewer(), &settings(), stage)
}

#[track_caller]
fn not_due(change: impl FnOnce(&mut Detail, &mut Settings, &mut Book), reason: &str) {
    let (mut pull, mut settings, mut book) = (pull(), settings(), book());
    change(&mut pull, &mut settings, &mut book);
    assert_eq!(first(&pull, &settings, &book), (false, reason.to_owned()));
}

#[track_caller]
fn due(change: impl FnOnce(&mut Detail, &mut Settings, &mut Book), reason: &str) {
    let (mut pull, mut settings, mut book) = (pull(), settings(), book());
    change(&mut pull, &mut settings, &mut book);
    assert_eq!(first(&pull, &settings, &book), (true, reason.to_owned()));
}

fn core_team(pull: &mut Detail, settings: &mut Settings) {
    pull.review_requests = vec![of_team("acme/core", "RR_2", 420)];
    settings.admitted_teams = AdmittedTeams::All(vec!["Acme/Core".into()]);
}

#[test]
fn a_request_makes_a_first_review_due() {
    // GH-FACT-28
    due(|_, _, _| {}, "review requested by ana 3 h ago");
    due(|pull, settings, _| core_team(pull, settings), "review requested of acme/core by ana 3 h ago");
    let undated = |pull: &mut Detail, _: &mut Settings, _: &mut Book| pull.review_requests[0].requested = None;
    due(undated, "review requested");
    due(|_, settings, _| settings.review_mode = Mode::Observe, "review requested by ana 3 h ago");
}

#[test]
fn of_several_requests_the_direct_and_newest_one_words_the_reason() {
    // GH-FACT-28
    let several = |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
        settings.admitted_teams = AdmittedTeams::Only(vec!["acme/core".into()]);
        pull.review_requests = vec![of_team("acme/core", "RR_2", 590), direct("RR_1", 420), direct("RR_3", 480)];
    };
    due(several, "review requested by ana 2 h ago");
}

#[test]
fn row_1_an_ended_pull_request() {
    // GH-FACT-28
    not_due(|pull, _, _| pull.summary.state = PullState::Closed, "the pull request is closed");
    not_due(|pull, _, _| pull.summary.state = PullState::Merged, "the pull request is merged");
}

#[test]
fn row_2_an_owned_one() {
    // GH-FACT-28, ROUND-15
    not_due(|pull, _, _| pull.author = Some(viewer()), "it is yours");
    not_due(|_, _, book| book.adopted = true, "you took it over");
    not_due(|_, _, book| book.has_author_workspace = true, "you took it over");
}

#[test]
fn row_3_reviews_are_off() {
    // GH-FACT-28
    not_due(|_, settings, _| settings.review_mode = Mode::Off, "reviews are off for acme/app");
}

#[test]
fn row_4_nobody_asked() {
    // GH-FACT-28, GH-SYNC-05
    not_due(|pull, _, _| pull.review_requests.clear(), "no review is requested from you");
    let others_team = |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
        core_team(pull, settings);
        settings.admitted_teams = AdmittedTeams::All(vec!["acme/web".into()]);
    };
    not_due(others_team, "no review is requested from you");
    let no_team = |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
        core_team(pull, settings);
        settings.admitted_teams = AdmittedTeams::None;
    };
    not_due(no_team, "no review is requested from you");
}

#[test]
fn row_5_a_review_was_given() {
    // GH-FACT-28
    let reviewed = |pull: &mut Detail, _: &mut Settings, _: &mut Book| {
        pull.reviews = vec![review("viewer", ReviewState::Commented, 430)];
    };
    not_due(reviewed, "you reviewed it before");
    due(|pull, _, _| pull.reviews = vec![review("bo", ReviewState::Approved, 430)], "review requested by ana 3 h ago");
}

#[test]
fn row_6_a_draft() {
    // GH-FACT-28
    let draft = |drafts: Drafts, team: bool| {
        move |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
            pull.summary.draft = true;
            settings.drafts = drafts;
            if team {
                core_team(pull, settings);
            }
        }
    };
    not_due(draft(Drafts::Never, false), "it is a draft");
    not_due(draft(Drafts::Requested, true), "it is a draft");
    due(draft(Drafts::Requested, false), "review requested by ana 3 h ago");
    due(draft(Drafts::Always, true), "review requested of acme/core by ana 3 h ago");
}

#[test]
fn row_7_a_bots_work() {
    // GH-FACT-28, GH-SYNC-47
    let bot = |pull: &mut Detail, _: &mut Settings, _: &mut Book| pull.author = Some(account("dependabot[bot]"));
    not_due(bot, "its author is a bot");
    not_due(|_, settings, _| settings.automated = vec!["ANA".into()], "its author is a bot");
    let wanted = |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
        pull.author = Some(account("dependabot[bot]"));
        settings.bot_authors = true;
    };
    due(wanted, "review requested by ana 3 h ago");
}

#[test]
fn row_8_a_ghosts_work() {
    // GH-FACT-28
    let ghost = |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
        core_team(pull, settings);
        pull.author = None;
    };
    not_due(ghost, "its author's account is gone");
    due(|pull, _, _| pull.author = None, "review requested by ana 3 h ago");
}

#[test]
fn row_9_too_many_files() {
    // GH-FACT-28
    not_due(|pull, _, _| pull.changed_files = 301, "301 files, more than 300");
    due(|pull, _, _| pull.changed_files = 300, "review requested by ana 3 h ago");
    let unlimited = |pull: &mut Detail, settings: &mut Settings, _: &mut Book| {
        pull.changed_files = 9_000;
        settings.max_files = 0;
    };
    due(unlimited, "review requested by ana 3 h ago");
}

#[test]
fn row_10_a_pending_review() {
    // GH-FACT-28
    let pending = |login: &'static str| {
        move |pull: &mut Detail, _: &mut Settings, _: &mut Book| {
            pull.reviews = vec![review(login, ReviewState::Pending, 430)];
        }
    };
    not_due(pending("viewer"), "you have a pending review; submit or discard it");
    due(pending("bo"), "review requested by ana 3 h ago");
}

#[test]
fn row_11_github_was_not_read() {
    // GH-FACT-28
    let reason = "GitHub could not be read: no answer within 20 s";
    not_due(|_, _, book| book.unread = Some("no answer within 20 s".into()), reason);
    let stale = |pull: &mut Detail, _: &mut Settings, book: &mut Book| {
        pull.read_at = at(540);
        book.stale = true;
    };
    not_due(stale, "GitHub could not be read: the last complete answer is 1 h old");
}

#[test]
fn row_12_a_turn_is_open() {
    // GH-FACT-28, ROUND-09
    not_due(|_, _, book| book.open_turn = Some((2, "asked".into())), "a turn is open");
}

#[test]
fn row_13_enough_rounds_ran() {
    // GH-FACT-28
    not_due(|_, _, book| book.rounds_on_head = 2, "2 rounds ran on this commit");
    due(|_, _, book| book.rounds_on_head = 1, "review requested by ana 3 h ago");
    let one = |_: &mut Detail, settings: &mut Settings, book: &mut Book| {
        settings.per_head = 1;
        book.rounds_on_head = 1;
    };
    not_due(one, "1 round ran on this commit");
}

#[test]
fn row_14_it_was_dealt_with() {
    // GH-FACT-28, ROUND-01
    not_due(
        |pull, _, book| {
            book.handled.insert(key_of(pull, "first"));
        },
        "already reviewed",
    );
    let skipped = |pull: &mut Detail, _: &mut Settings, book: &mut Book| {
        book.handled.insert(key_of(pull, "first"));
        book.skipped.insert(key_of(pull, "first"));
    };
    not_due(skipped, "skipped");
    due(
        |pull, _, book| {
            book.handled.insert(key_of(pull, "follow-up"));
        },
        "review requested by ana 3 h ago",
    );
}

#[test]
fn the_first_condition_that_fails_is_the_reason() {
    // GH-FACT-28
    let (mut pull, mut settings, mut book) = (pull(), settings(), book());
    let mut reasons = Vec::new();
    book.handled.insert(key_of(&pull, "first"));
    reasons.push(first(&pull, &settings, &book).1);
    book.rounds_on_head = 7;
    reasons.push(first(&pull, &settings, &book).1);
    book.open_turn = Some((1, "sent".into()));
    reasons.push(first(&pull, &settings, &book).1);
    book.unread = Some("why".into());
    reasons.push(first(&pull, &settings, &book).1);
    pull.reviews = vec![review("viewer", ReviewState::Pending, 1)];
    reasons.push(first(&pull, &settings, &book).1);
    pull.changed_files = 400;
    reasons.push(first(&pull, &settings, &book).1);
    pull.author = None;
    core_team(&mut pull, &mut settings);
    reasons.push(first(&pull, &settings, &book).1);
    pull.author = Some(account("x[bot]"));
    reasons.push(first(&pull, &settings, &book).1);
    pull.summary.draft = true;
    reasons.push(first(&pull, &settings, &book).1);
    pull.reviews.push(review("viewer", ReviewState::Commented, 1));
    reasons.push(first(&pull, &settings, &book).1);
    pull.review_requests.clear();
    reasons.push(first(&pull, &settings, &book).1);
    settings.review_mode = Mode::Off;
    reasons.push(first(&pull, &settings, &book).1);
    book.adopted = true;
    reasons.push(first(&pull, &settings, &book).1);
    pull.summary.state = PullState::Closed;
    reasons.push(first(&pull, &settings, &book).1);
    let expected = [
        "already reviewed",
        "7 rounds ran on this commit",
        "a turn is open",
        "GitHub could not be read: why",
        "you have a pending review; submit or discard it",
        "400 files, more than 300",
        "its author's account is gone",
        "its author is a bot",
        "it is a draft",
        "you reviewed it before",
        "no review is requested from you",
        "reviews are off for acme/app",
        "you took it over",
        "the pull request is closed",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn a_key_is_stage_head_and_request() {
    // ROUND-01
    let mut pull = pull();
    let key = key_of(&pull, "first");
    assert_eq!(key, format!("first:{HEAD}:RR_1"));
    assert_ne!(key_of(&pull, "follow-up"), key);
    pull.review_requests.push(of_team("acme/web", "RR_5", 500));
    assert_eq!(key_of(&pull, "first"), key, "a team that is not admitted asks nothing of the viewer");
    pull.review_requests.insert(0, direct("RR_6", 500));
    assert_eq!(key_of(&pull, "first"), format!("first:{HEAD}:RR_6"));
    pull.summary.head = OLD.into();
    assert_eq!(key_of(&pull, "first"), format!("first:{OLD}:RR_6"));
    pull.review_requests.clear();
    assert_eq!(key_of(&pull, "first"), format!("first:{OLD}:-"));
}

#[test]
fn drafts_turned_to_and_fro_make_one_review() {
    // ROUND-02
    let (mut pull, mut book) = (pull(), book());
    let mut rounds = 0;
    for draft in [true, false, true, false, false, true, false] {
        pull.summary.draft = draft;
        if first(&pull, &settings(), &book).0 {
            rounds += 1;
            book.handled.insert(key_of(&pull, "first"));
        }
    }
    assert_eq!(rounds, 1);
}

#[test]
fn a_review_requested_again_makes_exactly_one_more() {
    // ROUND-02, ROUND-10
    let mut pull = pull();
    pull.reviews = vec![Review { commit: HEAD.into(), ..review("viewer", ReviewState::Approved, 430) }];
    pull.review_requests.clear();
    let mut book = Book { handled: BTreeSet::from([format!("first:{HEAD}:RR_1")]), ..by_round() };
    assert_eq!(action(&pull, &settings(), &book).0, "complete");
    pull.review_requests = vec![direct("RR_2", 480)];
    let (again, why) = action(&pull, &settings(), &book);
    assert_eq!((again.as_str(), why.as_str()), ("follow-up", "review requested again by ana 2 h ago"));
    book.handled.insert(key_of(&pull, "follow-up"));
    assert_eq!(action(&pull, &settings(), &book), (String::new(), "already reviewed".to_owned()));
    assert!(!first(&pull, &settings(), &book).0);
}
