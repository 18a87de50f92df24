//! The daemon on GitHub's bad days: nobody answers, it asks to wait, it is slow, and what it shows has holes.

use std::process::Output;

use wloop_api::types::{Health, ProviderHealth};
use wloop_tests::{ME, REPO, Stage, clock_past, until};
use wloop_world::{Call, Fault, FaultKind, Match, NewPullRequest};

use super::{start_with, stopped_round, submitted, sweeps, swept_once, unit_ref};

/// The request of a sweep.
fn inventory() -> Match {
    Match::graphql("query Inventory")
}

fn calls_of(stage: &Stage, what: &Match) -> Vec<Call> {
    stage.world.calls().into_iter().filter(|call| what.fits_call(call)).collect()
}

async fn health(stage: &Stage) -> Health {
    stage.client().health().await.expect("the health is read")
}

/// Waits until the provider is in a state.
async fn provider(stage: &Stage, state: &str) -> ProviderHealth {
    until(&format!("github is {state}"), || async {
        let provider = health(stage).await.providers.remove(0);
        if provider.state == state { Ok(provider) } else { Err(format!("{provider:?}")) }
    })
    .await
}

async fn said(stage: &Stage, arguments: &[&str]) -> String {
    let Output { stdout, .. } = stage.wloop(arguments).output().await.expect("the command runs");
    String::from_utf8_lossy(&stdout).into_owned()
}

#[tokio::test]
async fn an_approved_post_goes_by_itself_once_github_can_be_reached() {
    // F13, GH-PUB-06, GH-SYNC-18
    let mut stage = Stage::new().await;
    let (number, _, gate) = stopped_round(&mut stage).await;
    stage.world.refuse_connections(true).await;
    stage.resolve(&gate.id, "publish").await;
    provider(&stage, "failing").await;
    let client = stage.client();
    until("the post waits for github", || async {
        let post = client.posts(&wloop_api::client::UnitFilter::default()).await.map_err(|e| e.to_string())?.remove(0);
        let waits = post.state == "queued" && post.cause.as_deref().is_some_and(|why| why.contains("refuses connections"));
        if waits { Ok(()) } else { Err(format!("{} {:?}", post.state, post.cause)) }
    })
    .await;
    stage.world.refuse_connections(false).await;
    // A sweep is the first to notice, and what waited goes then: nothing is asked of the person.
    stage.turn(number, &["recorded"]).await;
    provider(&stage, "ok").await;
    let events = stage.events().await;
    assert!(events.iter().all(|(kind, _)| kind != "post_failed" && kind != "post_doubtful"), "{events:?}");
    stage.stop().await;
    assert_eq!((submitted(&stage, number).len(), stage.writes()), (1, 1));
}

#[tokio::test]
async fn sweeps_never_overlap_and_one_that_fell_due_follows() {
    // GH-SYNC-17
    let mut stage = Stage::new().await;
    stage.start().await;
    sweeps(&stage, 1).await;
    stage.world.push_fault(Fault { on: inventory(), kind: FaultKind::Delay });
    stage.world.until_held(1).await;
    let began = health(&stage).await.providers[0].last_sync.expect("a sweep");
    let before = calls_of(&stage, &inventory()).len();
    // Three more would have been due.
    clock_past(began + jiff::SignedDuration::from_secs(4)).await;
    assert_eq!((calls_of(&stage, &inventory()).len(), stage.world.held()), (before, 1));
    stage.world.release_held();
    until("the sweep that fell due", || async {
        let calls = calls_of(&stage, &inventory());
        if calls.len() > before { Ok(()) } else { Err(format!("{}", calls.len())) }
    })
    .await;
    stage.stop().await;
}

#[tokio::test]
async fn a_limit_is_told_with_its_time_and_nothing_is_asked_meanwhile_not_even_by_a_new_start() {
    // GH-SYNC-34, GH-SYNC-36, GH-SYNC-37, GH-SYNC-38, F33
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    let known = health(&stage).await.providers.remove(0).quotas;
    for resource in ["core", "graphql"] {
        let quota = known.iter().find(|quota| quota.resource == resource);
        assert!(quota.is_some_and(|quota| quota.remaining > 0 && quota.remaining < 5_000), "{resource}: {known:?}");
    }
    stage.world.push_fault(Fault { on: inventory(), kind: FaultKind::secondary_limit(Some(9)) });
    let waiting = provider(&stage, "waiting").await;
    let until_then = waiting.waiting_until.expect("until when");
    assert_eq!(stage.plan().await[0].waiting_until, Some(until_then), "the unit says so");
    assert!(said(&stage, &["status"]).await.contains(&format!("provider.github.waiting_until\t{until_then}")));
    // What was in flight beside the refused one has ended; from here on nothing goes out.
    until("quiet", || async {
        let open = stage.world.calls().iter().filter(|call| !call.ended).count();
        if open == 0 { Ok(()) } else { Err(format!("{open} open")) }
    })
    .await;
    let asked = stage.world.calls().len();
    stage.resolve(&gate.id, "run_now").await;
    stage.stop().await;
    stage.start_again().await;
    clock_past(until_then - jiff::SignedDuration::from_millis(1_500)).await;
    assert_eq!(stage.world.calls().split_off(asked), [], "no request of any kind");
    // Then one goes first, the rest follow, and nothing failed for it.
    stage.turn(number, &["recorded"]).await;
    provider(&stage, "ok").await;
    let events = stage.events().await;
    assert!(events.iter().all(|(kind, _)| !kind.ends_with("_failed") && kind != "post_doubtful"), "{events:?}");
    stage.stop().await;
    assert_eq!(submitted(&stage, number).len(), 1);
}

#[tokio::test]
async fn a_pull_request_full_of_holes_is_shown_and_treated_as_a_fork() {
    // F36, GH-SYNC-22, GH-SYNC-23
    let mut stage = Stage::new().await;
    let world = &stage.world;
    let number = world
        .open_pull_request(NewPullRequest {
            repo: REPO.to_owned(),
            author: "gone".to_owned(),
            title: "From a fork".to_owned(),
            branch: "fork".to_owned(),
            files: vec![("a.txt".to_owned(), Some("a\n".to_owned()))],
            cross_repository: true,
            ..NewPullRequest::default()
        })
        .unwrap();
    world.submit_review(REPO, number, "left", Some(wloop_world::ReviewEvent::Approve), "fine", &[]).unwrap();
    world.add_comment(REPO, number, "left", "bye").unwrap();
    world.request_review(REPO, number, "ines", ME).unwrap();
    for login in ["gone", "left"] {
        world.delete_user(login).unwrap();
    }
    world.delete_fork(REPO, number).unwrap();
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    assert_eq!(stage.plan().await[0].unit.title, "From a fork");
    stage.resolve(&gate.id, "run_now").await;
    // The agent of this home does not promise to leave a fork's own settings alone.
    let turn = stage.turn(number, &["failed"]).await;
    assert!(turn.cause.as_deref().is_some_and(|why| why.contains("fork")), "{turn:?}");
    assert_eq!(provider(&stage, "ok").await.error, None);
    stage.stop().await;
}

/// A pull request that only the person's word keeps watched; one that ended stays so long.
async fn asked_for(retention: &str) -> (Stage, u64) {
    let mut stage = Stage::new().await;
    // A round that leaves no review behind, which a search would find it by.
    stage.agent_word = "crash".to_owned();
    let number = super::unasked(&stage, "ines", "Nobody asked");
    let keys = format!("[plugins.github]\nretention = \"{retention}\"\n");
    start_with(&mut stage, |config| config.replace("slow = \"30s\"", "slow = \"2s\"").replace("[plugins.github]\n", &keys)).await;
    stage.client().start_turn(&super::by_hand(&stage.unit(number))).await.expect("a round");
    stage.turn(number, &["failed"]).await;
    (stage, number)
}

#[tokio::test]
async fn one_that_ended_is_listed_for_a_while_with_its_end() {
    // GH-SYNC-01
    let (mut stage, number) = asked_for("80h").await;
    stage.world.close(REPO, number, "ines").unwrap();
    let unit = stage.unit(number);
    let ended = || async {
        let detail = stage.client().unit(&unit).await.map_err(|e| e.to_string())?;
        if detail.state == "CLOSED" && detail.watched { Ok(()) } else { Err(format!("{}, {}", detail.state, detail.watched)) }
    };
    until("its end is known", ended).await;
    sweeps(&stage, 3).await;
    ended().await.expect("sweeps after it leave it where it is");
    assert_eq!(stage.client().health().await.unwrap().providers[0].watched, 1);
    stage.stop().await;
}

#[tokio::test]
async fn a_watched_one_that_no_search_returns_is_read_by_its_id() {
    // GH-SYNC-13, GH-SYNC-02
    let (mut stage, number) = asked_for("0s").await;
    let id = unit_ref(&stage, number).key().to_owned();
    until("it is asked for by its id", || async {
        let asked = calls_of(&stage, &Match::graphql("query Watched"));
        let ids = asked.last().and_then(|call| call.request.as_ref()).map(|body| body["variables"]["ids"].to_string());
        if ids.as_deref().is_some_and(|ids| ids.contains(&id)) { Ok(()) } else { Err(format!("{ids:?}")) }
    })
    .await;
    stage.world.close(REPO, number, "ines").unwrap();
    let client = stage.client();
    until("it left", || async {
        let watched = client.health().await.map_err(|e| e.to_string())?.providers[0].watched;
        if watched == 0 { Ok(()) } else { Err(format!("{watched} watched")) }
    })
    .await;
    stage.stop().await;
}

#[tokio::test]
async fn a_comment_that_the_person_typed_is_a_persons() {
    // F27, GH-PUB-29
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    start_with(&mut stage, |config| config).await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let turn = stage.turn(number, &["recorded"]).await;
    // The same words as the round's, and another marker than any that was made.
    let typed = format!("{}\n\n<!-- wloop:{} -->", turn.posts[0].text, "f".repeat(32));
    stage.world.add_comment(REPO, number, ME, &turn.posts[0].text).unwrap();
    stage.world.add_comment(REPO, number, ME, &typed).unwrap();
    sweeps(&stage, 2).await;
    let posts = stage.client().posts(&wloop_api::client::UnitFilter::default()).await.unwrap();
    assert_eq!((posts.len(), posts[0].url.as_ref()), (1, turn.posts[0].url.as_ref()), "it is nobody's post of ours");
    let sent = stage.events().await.iter().filter(|(kind, _)| kind == "post_sent").count();
    assert_eq!(sent, 1);
    assert_eq!(stage.plan().await, [], "and makes nothing due");
    stage.stop().await;
}

#[tokio::test]
async fn an_id_is_found_by_its_start_and_a_unit_in_its_place_is_told() {
    // CLI-09, GH-SYNC-06
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    start_with(&mut stage, swept_once).await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let post = stage.post(number, &["sent"]).await;
    assert_eq!(stage.client().post(&post.id[..6]).await.unwrap(), post);
    let shown = said(&stage, &["--json", "posts", "show", &post.short]).await;
    assert!(shown.contains(&post.id), "{shown}");
    // Each way to name the unit names it.
    for name in [
        stage.unit(number),
        stage.world.pull_url(REPO, number),
        unit_ref(&stage, number).to_string(),
        format!("github:{REPO}#{number}"),
    ] {
        let listed = said(&stage, &["posts", "--unit", &name]).await;
        assert!(listed.contains(&post.id), "{name}: {listed}");
    }
    let unit = stage.unit(number);
    for command in [["gates", "show"], ["posts", "show"], ["turns", "show"]] {
        let told = stage.wloop(&[command[0], command[1], &unit]).output().await.unwrap();
        let words = String::from_utf8_lossy(&told.stderr).into_owned();
        let home = stage.home().display().to_string();
        assert_eq!(told.status.code(), Some(1), "{words}");
        assert!(words.contains(&format!("`wloop --home {home} {} --unit {unit}`", command[0])), "{words}");
    }
    stage.stop().await;
}
