use proptest::prelude::*;

use super::samples::*;
use super::*;
use crate::github::RepoName;

fn facts(detail: &Detail) -> Frame {
    pull_facts(detail, &viewer(), &settings(), &book(), now())
}

#[track_caller]
fn text_of(frame: &Frame, name: &str) -> String {
    match frame.get(name) {
        Some(Value::Text(text)) => text.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

#[track_caller]
fn truth_of(frame: &Frame, name: &str) -> bool {
    match frame.get(name) {
        Some(Value::Bool(truth)) => *truth,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn every_fact_has_a_registered_name_and_type() {
    // FACT-01
    let frame = facts(&pull());
    let expected = [
        ("config.plugins.github.address_checks", "bool"),
        ("config.plugins.github.address_reviews", "bool"),
        ("config.plugins.github.address_without_workspace", "bool"),
        ("config.plugins.github.followups_without_workspace", "bool"),
        ("pr.address.checks", "list"),
        ("pr.address.conflict", "bool"),
        ("pr.address.due", "bool"),
        ("pr.address.observed", "bool"),
        ("pr.address.reason", "string"),
        ("pr.address.reviewers", "list"),
        ("pr.adopted", "bool"),
        ("pr.age", "duration"),
        ("pr.association", "string"),
        ("pr.author", "string"),
        ("pr.base", "string"),
        ("pr.changed_files", "int"),
        ("pr.checks", "string"),
        ("pr.closed_at", "timestamp"),
        ("pr.conflicting_for", "duration"),
        ("pr.cross_repository", "bool"),
        ("pr.draft", "bool"),
        ("pr.ended", "bool"),
        ("pr.fingerprint", "string"),
        ("pr.finished_for", "duration"),
        ("pr.first.due", "bool"),
        ("pr.first.reason", "string"),
        ("pr.has_workspace", "bool"),
        ("pr.head", "string"),
        ("pr.held", "bool"),
        ("pr.labels", "list"),
        ("pr.last_interaction_at", "timestamp"),
        ("pr.last_review.decision", "string"),
        ("pr.last_review.exists", "bool"),
        ("pr.last_review.verdict", "string"),
        ("pr.merged_at", "timestamp"),
        ("pr.mine", "bool"),
        ("pr.nudge.refusal", "string"),
        ("pr.nudge.who", "list"),
        ("pr.nudge.why", "string"),
        ("pr.open_turn", "string"),
        ("pr.open_turn_seq", "int"),
        ("pr.orphan_answer_id", "int"),
        ("pr.owner", "string"),
        ("pr.repo", "string"),
        ("pr.repo_name", "string"),
        ("pr.requested_teams", "list"),
        ("pr.review.action", "string"),
        ("pr.review.observed", "bool"),
        ("pr.review.reason", "string"),
        ("pr.review_requested_me", "bool"),
        ("pr.silent_days", "int"),
        ("pr.slug", "string"),
        ("pr.stale", "bool"),
        ("pr.stalled", "bool"),
        ("pr.state", "string"),
        ("pr.visibility", "string"),
        ("pr.waits_on_user", "bool"),
        ("row.author_workspace", "bool"),
        ("row.capped", "bool"),
        ("row.intake", "bool"),
        ("row.intake_seq", "int"),
        ("row.kind", "string"),
        ("row.open", "bool"),
        ("row.pending", "bool"),
        ("row.question", "bool"),
        ("row.recommended", "string"),
        ("row.remove_refusal", "string"),
        ("row.review_workspace", "bool"),
        ("row.tracked", "bool"),
        ("row.trust_folder", "string"),
        ("row.trust_homes", "list"),
        ("row.yours", "bool"),
        ("unit.label", "string"),
        ("unit.ref", "string"),
    ];
    let found: Vec<(&str, &str)> = frame
        .iter()
        .map(|(name, value)| {
            let kind = match value {
                Value::Bool(_) => "bool",
                Value::Int(_) => "int",
                Value::Text(_) => "string",
                Value::List(_) => "list",
                Value::Duration(_) => "duration",
                Value::Time(_) => "timestamp",
            };
            if name != "unit.ref" && name != "unit.label" {
                let row = crate::rules::registry::known(name).unwrap_or_else(|| panic!("`{name}` is not in the registry"));
                assert_eq!(row.kind.as_str(), kind, "{name}");
            }
            (name, kind)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn plain_facts_read_as_they_stand() {
    // GH-FACT-01, GH-FACT-14, GH-FACT-16
    let mut pull = pull();
    pull.summary.state = PullState::Merged;
    pull.summary.draft = true;
    pull.summary.checks = "FAILURE".into();
    pull.visibility = "PUBLIC".into();
    pull.merged_at = Some(at(30));
    pull.closed_at = Some(at(31));
    let frame = facts(&pull);
    for (name, value) in [
        ("pr.state", "MERGED"),
        ("pr.base", "main"),
        ("pr.head", HEAD),
        ("pr.association", "MEMBER"),
        ("pr.visibility", "public"),
        ("pr.checks", "failure"),
    ] {
        assert_eq!(text_of(&frame, name), value, "{name}");
    }
    assert!(truth_of(&frame, "pr.draft") && truth_of(&frame, "pr.ended") && !truth_of(&frame, "row.open"));
    assert_eq!(frame["pr.changed_files"], Value::Int(3));
    assert_eq!(frame["pr.merged_at"], Value::Time(at(30)));
    assert_eq!(frame["pr.closed_at"], Value::Time(at(31)));
    pull.merged_at = None;
    assert_eq!(facts(&pull)["pr.merged_at"], Value::Time(Timestamp::UNIX_EPOCH));
}

#[test]
fn age_goes_by_githubs_clock_and_is_never_negative() {
    // GH-FACT-01, GH-SYNC-45
    let mut pull = pull();
    assert_eq!(facts(&pull)["pr.age"], Value::Duration(SignedDuration::from_hours(10)));
    pull.skew_ms = -120_000;
    assert_eq!(facts(&pull)["pr.age"], Value::Duration(SignedDuration::from_mins(598)));
    pull.created_at = at(700);
    assert_eq!(facts(&pull)["pr.age"], Value::Duration(SignedDuration::ZERO));
}

#[test]
fn names_come_from_the_present_repository() {
    // GH-FACT-02, GH-FACT-45
    let mut pull = pull();
    pull.summary.repo = RepoName { owner: "acme".into(), name: "birds".into() };
    let frame = facts(&pull);
    for (name, value) in [
        ("pr.owner", "acme"),
        ("pr.repo_name", "birds"),
        ("pr.repo", "acme/birds"),
        ("pr.slug", "acme/birds#7"),
        ("unit.ref", "acme/birds#7"),
        ("unit.label", "acme/birds#7"),
    ] {
        assert_eq!(text_of(&frame, name), value, "{name}");
    }
}

#[test]
fn mine_goes_by_node_id_and_a_ghost_is_nobody() {
    // GH-FACT-03
    let mut pull = pull();
    assert_eq!(text_of(&facts(&pull), "pr.author"), "ana");
    pull.author = Some(Account { login: "viewer".into(), ..account("other") });
    assert!(!truth_of(&facts(&pull), "pr.mine"), "the login alone is not the viewer");
    pull.author = Some(Account { login: "renamed".into(), ..viewer() });
    let frame = facts(&pull);
    assert!(truth_of(&frame, "pr.mine") && truth_of(&frame, "row.yours"));
    pull.author = None;
    let frame = facts(&pull);
    assert!(!truth_of(&frame, "pr.mine"));
    assert_eq!(text_of(&frame, "pr.author"), "");
}

#[test]
fn a_deleted_fork_is_another_repository() {
    // GH-FACT-04
    let mut pull = pull();
    assert!(!truth_of(&facts(&pull), "pr.cross_repository"));
    pull.head_repo = None;
    assert!(truth_of(&facts(&pull), "pr.cross_repository"));
    pull.head_repo = Some("ana/app".into());
    pull.cross_repository = true;
    assert!(truth_of(&facts(&pull), "pr.cross_repository"));
}

#[test]
fn labels_and_teams_are_sorted_and_teams_complete() {
    // GH-FACT-05
    let mut pull = pull();
    pull.labels = vec!["zeta".into(), "alpha".into()];
    pull.review_requests = vec![of_team("acme/web", "RR_2", 1), direct("RR_1", 1), of_team("acme/core", "RR_3", 1)];
    let frame = facts(&pull);
    assert_eq!(frame["pr.labels"], Value::List(vec!["alpha".into(), "zeta".into()]));
    assert_eq!(frame["pr.requested_teams"], Value::List(vec!["acme/core".into(), "acme/web".into()]));
}

#[test]
fn only_a_direct_request_is_a_request_to_me() {
    // GH-FACT-06
    let mut pull = pull();
    assert!(truth_of(&facts(&pull), "pr.review_requested_me"));
    pull.review_requests = vec![of_team("acme/core", "RR_2", 1)];
    let teams = Settings { admitted_teams: AdmittedTeams::All(vec!["acme/core".into()]), ..settings() };
    let frame = pull_facts(&pull, &viewer(), &teams, &book(), now());
    assert!(!truth_of(&frame, "pr.review_requested_me"));
    let namesake = Account { login: "viewer".into(), ..account("other") };
    pull.review_requests = vec![ReviewRequest { reviewer: Reviewer::Account(namesake), requested: None }];
    assert!(!truth_of(&facts(&pull), "pr.review_requested_me"));
}

#[test]
fn the_standing_verdict_is_the_newest_that_counts() {
    // GH-FACT-07, GH-FACT-08
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed, Pending};
    let cases: [(&[ReviewState], Option<ReviewState>); 8] = [
        (&[], None),
        (&[Commented, Pending], None),
        (&[Approved, Commented], Some(Approved)),
        (&[Approved, Pending], Some(Approved)),
        (&[ChangesRequested, Dismissed], None),
        (&[ChangesRequested, Approved], Some(Approved)),
        (&[Approved, ChangesRequested, Commented], Some(ChangesRequested)),
        (&[Dismissed, Approved], Some(Approved)),
    ];
    for (states, expected) in cases {
        let mut reviews: Vec<Review> = states.iter().zip(10..).map(|(state, minute)| review("bo", *state, minute)).collect();
        reviews.push(review("cy", Approved, 5));
        reviews.push(Review { author: None, ..review("ghost", ChangesRequested, 99) });
        // The order of the list decides nothing, the times do.
        reviews.reverse();
        assert_eq!(standing_verdict(&reviews, "U_bo"), expected, "{states:?}");
    }
}

#[test]
fn of_two_verdicts_at_one_time_the_higher_database_id_is_newer() {
    // GH-FACT-07
    let first = Review { database_id: 1, ..review("bo", ReviewState::ChangesRequested, 10) };
    let second = Review { database_id: 2, ..review("bo", ReviewState::Approved, 10) };
    assert_eq!(standing_verdict(&[second.clone(), first.clone()], "U_bo"), Some(ReviewState::Approved));
    assert_eq!(standing_verdict(&[first, second], "U_bo"), Some(ReviewState::Approved));
}

#[test]
fn the_authors_own_review_is_no_verdict() {
    // GH-FACT-08
    let mut pull = pull();
    pull.author = Some(viewer());
    pull.reviews = vec![review("viewer", ReviewState::Approved, 10)];
    let frame = facts(&pull);
    assert_eq!(text_of(&frame, "pr.last_review.decision"), "");
    assert_eq!(text_of(&frame, "pr.last_review.verdict"), "APPROVED");
}

#[test]
fn the_last_review_is_the_viewers_newest_submitted_one() {
    // GH-FACT-09
    let mut pull = pull();
    pull.reviews = vec![review("bo", ReviewState::Approved, 5), review("viewer", ReviewState::Pending, 6)];
    let frame = facts(&pull);
    assert!(!truth_of(&frame, "pr.last_review.exists"));
    assert_eq!(text_of(&frame, "pr.last_review.verdict"), "");
    pull.reviews.push(review("viewer", ReviewState::ChangesRequested, 7));
    pull.reviews.push(review("viewer", ReviewState::Commented, 8));
    let frame = facts(&pull);
    assert!(truth_of(&frame, "pr.last_review.exists"));
    assert_eq!(text_of(&frame, "pr.last_review.verdict"), "COMMENTED");
    assert_eq!(text_of(&frame, "pr.last_review.decision"), "CHANGES_REQUESTED");
}

#[test]
fn the_ledgers_review_counts_when_a_read_lacks_it() {
    // GH-FACT-10
    let pull = pull();
    let book = Book { sent_reviews: vec![sent("R_lost", ReviewState::Approved, 500)], ..book() };
    let frame = pull_facts(&pull, &viewer(), &settings(), &book, now());
    assert_eq!(text_of(&frame, "pr.last_review.decision"), "APPROVED");
    assert!(!truth_of(&frame, "pr.first.due"));
}

#[test]
fn a_dismissal_that_github_lists_outweighs_the_ledger() {
    // GH-FACT-07, GH-FACT-10
    let mut pull = pull();
    pull.reviews = vec![review("viewer", ReviewState::Dismissed, 500)];
    let book = Book { sent_reviews: vec![sent("R_viewer_500", ReviewState::Approved, 500)], ..book() };
    let frame = pull_facts(&pull, &viewer(), &settings(), &book, now());
    assert_eq!(text_of(&frame, "pr.last_review.decision"), "");
    assert_eq!(text_of(&frame, "pr.last_review.verdict"), "DISMISSED");
}

#[test]
fn a_starting_turn_reads_as_sent() {
    // GH-FACT-22, GH-FACT-23, GH-FACT-21
    let book = Book { open_turn: Some((4, "starting".into())), paused: true, stale: true, adopted: true, ..book() };
    let frame = pull_facts(&pull(), &viewer(), &settings(), &book, now());
    assert_eq!(text_of(&frame, "pr.open_turn"), "sent");
    assert_eq!(frame["pr.open_turn_seq"], Value::Int(4));
    for name in ["pr.held", "pr.stale", "pr.adopted", "row.yours"] {
        assert!(truth_of(&frame, name), "{name}");
    }
    let frame = facts(&pull());
    assert_eq!((text_of(&frame, "pr.open_turn"), &frame["pr.open_turn_seq"]), (String::new(), &Value::Int(0)));
}

/// The fingerprint after a change of the pull request.
fn print_of(change: impl FnOnce(&mut Detail)) -> String {
    let mut pull = pull();
    pull.threads = vec![thread(vec![comment("bo", "why?", 50)])];
    change(&mut pull);
    text_of(&facts(&pull), "pr.fingerprint")
}

#[test]
fn the_fingerprint_moves_with_what_others_do() {
    // GH-FACT-24
    let still = print_of(|_| {});
    let moved = [
        print_of(|pull| pull.summary.head = OLD.into()),
        print_of(|pull| pull.base = "next".into()),
        print_of(|pull| pull.summary.state = PullState::Closed),
        print_of(|pull| pull.summary.draft = true),
        print_of(|pull| pull.reviews.push(review("bo", ReviewState::Commented, 60))),
        print_of(|pull| pull.reviews.push(review("bo", ReviewState::Approved, 60))),
        print_of(|pull| pull.reviews.push(Review { author: None, ..review("gone", ReviewState::Approved, 60) })),
        print_of(|pull| pull.threads[0].comments.push(comment("ana", "because", 61))),
        print_of(|pull| pull.checks = vec![check("tests", "FAILURE", 400)]),
        print_of(|pull| pull.review_requests = vec![direct("RR_9", 500)]),
    ];
    let mut all: BTreeSet<&str> = moved.iter().map(String::as_str).collect();
    assert_eq!(all.len(), moved.len());
    assert!(all.insert(&still) && all.iter().all(|print| print.len() == 64));
}

#[test]
fn the_fingerprint_rests_through_our_own_acts_and_noise() {
    // GH-FACT-24, GH-PUB-30
    let still = print_of(|_| {});
    let same = [
        print_of(|pull| pull.reviews.push(review("viewer", ReviewState::Approved, 60))),
        print_of(|pull| pull.reviews.push(review("bo", ReviewState::Pending, 60))),
        print_of(|pull| pull.reviews.push(review("noise[bot]", ReviewState::ChangesRequested, 60))),
        print_of(|pull| pull.threads[0].comments.push(comment("viewer", "see", 61))),
        print_of(|pull| pull.threads[0].comments.push(comment("noise[bot]", "beep", 62))),
        print_of(|pull| pull.summary.title = "other".into()),
        print_of(|pull| pull.body = "other".into()),
        print_of(|pull| pull.labels = vec!["new".into()]),
        print_of(|pull| pull.summary.checks = "pending".into()),
        print_of(|pull| pull.checks = vec![check("tests", "", 400), check("lint", "SUCCESS", 401)]),
        print_of(|pull| pull.summary.updated_at = at(599)),
    ];
    assert!(same.iter().all(|print| *print == still), "{same:?} {still}");
}

#[test]
fn a_listed_bot_and_a_skip_move_the_fingerprint() {
    // GH-FACT-24, GH-SYNC-48
    let mut pull = pull();
    pull.reviews.push(review("Lint[bot]", ReviewState::Commented, 60));
    let print =
        |settings: &Settings, book: &Book| text_of(&pull_facts(&pull, &viewer(), settings, book, now()), "pr.fingerprint");
    let listed = Settings { automated: vec!["lint".into()], ..settings() };
    assert_ne!(print(&settings(), &book()), print(&listed, &book()));
    let skipped = Book { skipped: BTreeSet::from(["first:x:-".to_owned()]), ..book() };
    assert_ne!(print(&settings(), &book()), print(&settings(), &skipped));
    let since = |minutes| Book { conflict_since: Some(at(minutes)), ..book() };
    assert_eq!(print(&settings(), &book()), print(&settings(), &since(571)), "a conflict may pass by itself for half an hour");
    assert_ne!(print(&settings(), &book()), print(&settings(), &since(570)));
}

#[test]
fn a_bot_is_one_by_type_or_list_never_by_name() {
    // GH-SYNC-47, GH-SYNC-48
    let listing = Settings { automated: vec!["Crawler[bot]".into()], ..settings() };
    assert!(listing.is_automated(&account("dependabot[bot]")));
    assert!(!listing.is_automated(&account("foo-bot")) && !listing.is_automated(&account("robot")));
    assert!(listing.is_automated(&account("crawler")), "listed, in the other spelling");
}

#[test]
fn ages_read_as_people_say_them() {
    // GH-FACT-28
    let cases = [
        (-5, "under 1 min"),
        (59, "under 1 min"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3 * 3_600, "3 h"),
        (172_799, "47 h"),
        (172_800, "2 d"),
    ];
    for (secs, words) in cases {
        assert_eq!(age_words(SignedDuration::from_secs(secs)), words);
    }
}

fn any_state() -> impl Strategy<Value = ReviewState> {
    use ReviewState::{Approved, ChangesRequested, Commented, Dismissed, Pending};
    prop::sample::select(vec![Pending, Commented, Approved, ChangesRequested, Dismissed])
}

proptest! {
    #[test]
    fn order_and_comments_never_change_a_verdict(
        states in prop::collection::vec(any_state(), 0..8),
        seed in any::<prop::sample::Index>(),
    ) {
        // GH-FACT-07, GH-SYNC-20
        let mut reviews: Vec<Review> = states.iter().zip(10..).map(|(state, at)| review("bo", *state, at)).collect();
        let verdict = standing_verdict(&reviews, "U_bo");
        if !reviews.is_empty() {
            let by = seed.index(reviews.len());
            reviews.rotate_left(by);
        }
        reviews.push(review("bo", ReviewState::Commented, 900));
        prop_assert_eq!(standing_verdict(&reviews, "U_bo"), verdict);
        prop_assert!(matches!(verdict, None | Some(ReviewState::Approved | ReviewState::ChangesRequested)));
    }
}
