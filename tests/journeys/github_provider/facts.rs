//! What facts are made of, as the small GitHub shows it over real HTTP.

use wloop_core::github::checks::{any_running, failing};
use wloop_core::github::facts::{Book, Settings, pull_facts, row_words};
use wloop_core::rules::value::Value as Fact;

use super::*;

async fn of(bench: &Bench, number: u64) -> Detail {
    bench.provider.detail(&DetailRef::ByNumber(repo(), number)).await.unwrap()
}

fn from_fork(world: &SmallGithub, author: &str) -> u64 {
    let files = vec![("a.txt".to_owned(), Some("a\n".to_owned()))];
    let (repo, title, branch) = (REPO.to_owned(), "From a fork".to_owned(), "fork".to_owned());
    let new =
        NewPullRequest { repo, author: author.to_owned(), title, branch, files, cross_repository: true, ..Default::default() };
    world.open_pull_request(new).unwrap()
}

#[tokio::test]
async fn the_checks_of_the_head_are_read_to_their_end() {
    // GH-FACT-16, GH-FACT-17, GH-SYNC-14
    let bench = Bench::start().await;
    let world = &bench.world;
    for n in 0..230 {
        let conclusion = if n == 229 { "failure" } else { "success" };
        let name = format!("job {n:03}");
        world.set_check(REPO, bench.number, &name, CheckOutcome::Completed(conclusion.to_owned())).unwrap();
    }
    let told = bench.detail().await;
    assert_eq!((told.checks.len(), told.summary.checks.as_str()), (230, "failure"));
    assert_eq!((failing(&told.checks), any_running(&told.checks)), (vec!["job 229".to_owned()], false));
    assert!(told.checks.iter().all(|check| check.app == "ci" && check.started_at.is_some()));
    world.set_check(REPO, bench.number, "ci/build", CheckOutcome::Status("error".to_owned())).unwrap();
    world.set_check(REPO, bench.number, "slow", CheckOutcome::InProgress).unwrap();
    let told = bench.detail().await;
    assert_eq!(failing(&told.checks), ["ci/build", "job 229"]);
    assert!(any_running(&told.checks));
    // A push: the checks are another commit's.
    world.push_commit(REPO, bench.number, "More", &[("src/lib.rs", Some(OLD))]).unwrap();
    let told = bench.detail().await;
    assert_eq!((told.checks.len(), told.summary.checks.as_str()), (0, ""));
    // A page that fails half way makes the whole of it unusable.
    for n in 0..101 {
        world.set_check(REPO, bench.number, &format!("job {n}"), CheckOutcome::Queued).unwrap();
    }
    world.push_fault(Fault { on: Match::graphql("ChecksMore"), kind: FaultKind::Status(502, json!({})) });
    let which = DetailRef::ByNumber(repo(), bench.number);
    assert!(matches!(bench.provider.detail(&which).await, Err(ReadFault::Unusable(_))));
    assert_eq!(bench.detail().await.checks.len(), 101);
}

#[tokio::test]
async fn pushes_requests_and_rights_are_read() {
    // GH-FACT-13, GH-FACT-19, GH-FACT-36
    let bench = Bench::start().await;
    let world = &bench.world;
    let first = bench.detail().await;
    assert_eq!((first.head_forced_at, first.last_requested_at, first.can_push), (None, None, true));
    world.add_user("bob", AccountKind::User);
    world.request_review(REPO, bench.number, "ada", "bob").unwrap();
    world.remove_review_request(REPO, bench.number, "ada", "bob").unwrap();
    world.force_push(REPO, bench.number, "Again", &[("src/lib.rs", Some(OLD))]).unwrap();
    let told = bench.detail().await;
    assert!(told.last_requested_at.is_some() && told.review_requests.is_empty(), "though it stands no more");
    assert!(told.head_forced_at.is_some());
    world.push_commit(REPO, bench.number, "On top", &[("src/lib.rs", Some(NEW))]).unwrap();
    assert_eq!(bench.detail().await.head_forced_at, None, "the head was pushed as any other");
    let inline = [NewInlineComment::new("src/lib.rs", 2, "why?")];
    world.submit_review(REPO, bench.number, "bob", Some(wloop_world::ReviewEvent::Comment), "", &inline).unwrap();
    let told = bench.detail().await;
    assert_eq!(told.threads[0].comments[0].review, told.reviews[0].id, "a comment names the review it came with");
    let fork = from_fork(world, "eve");
    assert!(of(&bench, fork).await.maintainer_can_modify && of(&bench, fork).await.can_push);
    world.delete_fork(REPO, fork).unwrap();
    assert!(!of(&bench, fork).await.can_push);
}

#[tokio::test]
async fn a_pull_request_of_a_ghost_from_a_deleted_fork_reviewed_by_nobody_is_shown_as_such() {
    // F36, GH-FACT-03, GH-FACT-04, GH-FACT-08
    let bench = Bench::start().await;
    let world = &bench.world;
    let number = from_fork(world, "gone");
    world.request_review(REPO, number, "gone", "me").unwrap();
    world.submit_review(REPO, number, "left", Some(wloop_world::ReviewEvent::RequestChanges), "no", &[]).unwrap();
    for login in ["gone", "left"] {
        world.delete_user(login).unwrap();
    }
    world.delete_fork(REPO, number).unwrap();
    let told = of(&bench, number).await;
    let me = bench.viewer().await.account;
    let facts = pull_facts(&told, &me, &Settings::default(), &Book { tracked: true, ..Book::default() }, now());
    for (name, value) in [
        ("pr.author", Fact::Text(String::new())),
        ("pr.mine", Fact::Bool(false)),
        ("pr.cross_repository", Fact::Bool(true)),
        ("pr.address.reviewers", Fact::List(vec![])),
        ("pr.first.due", Fact::Bool(true)),
    ] {
        assert_eq!(facts.get(name), Some(&value), "{name}");
    }
    assert_eq!(row_words(&facts).kind, "review_requested");
    // Taken over, the review by nobody is no verdict either.
    let taken = Book { adopted: true, tracked: true, ..Book::default() };
    let facts = pull_facts(&told, &me, &Settings::default(), &taken, now());
    assert_eq!(row_words(&facts).kind, "waiting_review");
}

#[tokio::test]
async fn accounts_are_told_apart_by_their_type() {
    // F42, GH-SYNC-47, GH-SYNC-48
    let bench = Bench::start().await;
    let world = &bench.world;
    world.add_user("dependabot", AccountKind::Bot);
    for who in ["dependabot", "robot", "machine"] {
        world.submit_review(REPO, bench.number, who, Some(wloop_world::ReviewEvent::Comment), "see", &[]).unwrap();
    }
    let told = bench.detail().await;
    let settings = Settings { automated: vec!["machine".to_owned()], ..Settings::default() };
    let automated: Vec<(&str, bool)> = told
        .reviews
        .iter()
        .filter_map(|review| review.author.as_ref())
        .map(|by| (by.login.as_str(), settings.is_automated(by)))
        .collect();
    assert_eq!(automated, [("dependabot[bot]", true), ("robot", false), ("machine", true)]);
}
