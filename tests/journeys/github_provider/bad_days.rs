//! The provider on GitHub's bad days: limits of every kind, watched pull requests by their ids, lists of more than a hundred.

use super::*;

/// How one refusal for a limit is to be waited for.
struct Refused {
    kind: FaultKind,
    /// Seconds from now; none for no limit.
    wait: Option<i64>,
    /// Whether every request waits, and not those of its resource alone.
    all: bool,
}

fn five_refusals() -> Vec<Refused> {
    let reset = now().as_second() + 1_200;
    vec![
        Refused { kind: FaultKind::secondary_limit(Some(60)), wait: Some(60), all: true },
        Refused { kind: FaultKind::secondary_limit(None), wait: Some(60), all: true },
        Refused { kind: FaultKind::spent_quota(reset), wait: Some(1_200), all: false },
        Refused { kind: FaultKind::too_many_requests(Some(90)), wait: Some(90), all: true },
        Refused { kind: FaultKind::no_permission(), wait: None, all: false },
    ]
}

#[tokio::test]
async fn five_refusals_of_a_write_wait_as_each_asks() {
    // F33, GH-SYNC-36, GH-SYNC-37, GH-PUB-13
    for Refused { kind, wait, all } in five_refusals() {
        let bench = Bench::start().await;
        let order = bench.order(Shape::Comment).await;
        bench.fault("POST", POST, kind.clone());
        let before = now();
        let told = bench.provider.publish(&order).await;
        bench.world.forget_calls();
        let Some(seconds) = wait else {
            assert!(matches!(told, SendOutcome::Refused { kind: Refusal::Forbidden, .. }), "{kind:?}: {told:?}");
            assert!(bench.viewer().await.account.login == "me", "no limit: the next request goes");
            continue;
        };
        let SendOutcome::Wait { until, .. } = told else { unreachable!("{kind:?}: {told:?}") };
        let waits = until.duration_since(before).as_secs();
        assert!((seconds - 2..=seconds + 2).contains(&waits), "{kind:?}: {waits}");
        // Nothing is asked meanwhile: no probe, no look, no attempt.
        for _ in 0..3 {
            assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Wait { .. }), "{kind:?}");
            assert!(matches!(bench.provider.head(&repo(), bench.number).await, Err(ReadFault::Wait { .. })), "{kind:?}");
            assert!(matches!(bench.provider.look_up(&order).await, LookUp::Wait { .. }), "{kind:?}");
        }
        assert_eq!(bench.world.calls(), [], "{kind:?}");
        // A limit of one resource leaves the others alone.
        let swept = bench.provider.inventory(&everything()).await;
        assert_eq!(swept.is_ok(), !all, "{kind:?}: {swept:?}");
        assert_eq!((bench.provider.health().waiting_until.is_some(), bench.provider.health().spent_until.is_empty()), (all, all));
        // Then one request goes first, and the others after it succeeded.
        bench.wait(seconds + 2);
        bench.world.forget_calls();
        bench.fault("GET", "/repos/**", FaultKind::Delay);
        let reads: Vec<_> = (0..3)
            .map(|_| {
                let (provider, number) = (Arc::clone(&bench.provider), bench.number);
                tokio::spawn(async move { provider.head(&repo(), number).await.is_ok() })
            })
            .collect();
        until_held(&bench).await;
        let other = provider(&bench.world.api_url(), "good", &bench.ahead_ms, |_| {});
        assert!(other.viewer().await.is_ok());
        assert_eq!(bench.calls("GET", "/repos/**").len(), 1, "{kind:?}");
        bench.world.release_held();
        for read in reads {
            assert!(read.await.unwrap(), "{kind:?}");
        }
        assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Sent(_)), "{kind:?}");
        assert_eq!(bench.world.comments(REPO, bench.number).len(), 1, "{kind:?}");
    }
}

async fn until_held(bench: &Bench) {
    until("the first request", || bench.world.held() == 1).await;
}

#[tokio::test]
async fn the_first_request_after_a_wait_that_meets_the_limit_again_keeps_the_others_back() {
    // GH-SYNC-36, GH-SYNC-37: no retry eats the remaining quota
    let bench = Bench::start().await;
    bench.fault("GET", "/user", FaultKind::secondary_limit(None));
    assert!(matches!(bench.provider.viewer().await, Err(ReadFault::Wait { .. })));
    bench.wait(61);
    bench.world.forget_calls();
    bench.fault("GET", "/repos/**", FaultKind::secondary_limit(None));
    let reads: Vec<_> = (0..4)
        .map(|_| {
            let (provider, number) = (Arc::clone(&bench.provider), bench.number);
            tokio::spawn(async move { provider.head(&repo(), number).await })
        })
        .collect();
    for read in reads {
        let told = read.await.unwrap();
        assert!(matches!(told, Err(ReadFault::Wait { .. })), "{told:?}");
    }
    assert_eq!(bench.world.calls().len(), 1, "one request tried it");
}

#[tokio::test]
async fn a_graphql_limit_in_a_success_stops_graphql_until_its_reset() {
    // GH-SYNC-36, F33
    let bench = Bench::start().await;
    let reset = now().as_second() + 900;
    bench.fault("POST", "/graphql", FaultKind::rate_limited(reset));
    let Err(ReadFault::Wait { until, .. }) = bench.provider.inventory(&everything()).await else { unreachable!("no wait") };
    assert!((until.as_second() - reset).abs() <= 2, "{until}");
    bench.world.forget_calls();
    assert!(matches!(bench.provider.inventory(&everything()).await, Err(ReadFault::Wait { .. })));
    assert_eq!(bench.world.calls(), []);
    let order = bench.order(Shape::Comment).await;
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Sent(_)), "what is no graphql goes on");
    assert_eq!(bench.provider.health().spent_until.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["graphql"]);
    bench.wait(902);
    assert!(bench.provider.inventory(&everything()).await.is_ok());
}

#[tokio::test]
async fn quotas_are_kept_apart() {
    // GH-SYNC-34
    let bench = Bench::start().await;
    bench.world.set_remaining(Resource::Core, 41);
    bench.world.set_remaining(Resource::Graphql, 31);
    bench.viewer().await;
    bench.provider.inventory(&everything()).await.unwrap();
    let quotas = bench.provider.health().quotas;
    let left = |name: &str| quotas.iter().find(|quota| quota.resource == name).map(|quota| quota.remaining);
    assert_eq!((left("core").is_some_and(|n| n < 41), left("graphql")), (true, Some(30)), "{quotas:?}");
    // An answer of another resource is counted under its own name.
    let search = [("x-ratelimit-resource", "search"), ("x-ratelimit-limit", "30"), ("x-ratelimit-remaining", "7")];
    bench.fault("GET", "/user", limit(500, &search, "no"));
    assert!(bench.provider.viewer().await.is_err());
    let quotas = bench.provider.health().quotas;
    assert!(quotas.iter().any(|quota| quota.resource == "search" && quota.remaining == 7), "{quotas:?}");
    assert!(quotas.iter().all(|quota| quota.reset > now()), "{quotas:?}");
}

#[tokio::test]
async fn what_an_earlier_start_was_asked_to_wait_for_is_waited_for() {
    // GH-SYNC-37
    let bench = Bench::start().await;
    bench.provider.keep_quiet(now() + jiff::SignedDuration::from_secs(40));
    assert!(matches!(bench.provider.viewer().await, Err(ReadFault::Wait { .. })));
    assert_eq!(bench.world.calls(), []);
    bench.wait(41);
    assert!(bench.provider.viewer().await.is_ok());
}

#[tokio::test]
async fn watched_ones_that_no_search_returns_are_asked_for_by_their_ids() {
    // GH-SYNC-13, GH-SYNC-24
    let bench = Bench::start().await;
    let world = &bench.world;
    let mut watched = Vec::new();
    for n in 0..103 {
        let number = open(world, "ada", &format!("w{n}"));
        watched.push(world.node_id(REPO, number).unwrap());
    }
    let (found, closed) = (open(world, "ada", "found"), open(world, "ada", "closed"));
    world.assign(REPO, found, "me").unwrap();
    world.close(REPO, closed, "ada").unwrap();
    watched.extend([world.node_id(REPO, found).unwrap(), world.node_id(REPO, closed).unwrap(), "PR_nobody".to_owned()]);
    let query = InventoryQuery { watched, ..everything() };
    let told = bench.provider.inventory(&query).await.unwrap();
    assert!(told.complete, "{:?}", bench.provider.health().skipped);
    let by_id: Vec<_> = told.pull_requests.iter().filter(|p| p.reasons.is_empty()).collect();
    assert_eq!(by_id.len(), 104, "the one that a search returned has its reason");
    assert!(by_id.iter().any(|p| p.number == closed && p.state == PullState::Closed));
    assert!(told.pull_requests.iter().any(|p| p.number == found && p.reasons == [Reason::Assigned]));
    let asked: Vec<usize> = bench
        .calls("POST", "/graphql")
        .iter()
        .filter_map(|call| Some(call.request.as_ref()?["variables"]["ids"].as_array()?.len()))
        .collect();
    assert_eq!(asked, [100, 5], "at most a hundred, and none that a search returned");
    let notes = bench.provider.health().notes;
    assert!(notes.iter().any(|note| note.contains("PR_nobody")), "{notes:?}");
    // One that GitHub could not make leaves the others, and the sweep is not complete.
    let query = InventoryQuery { watched: query.watched[..3].to_vec(), ..everything() };
    let path = [json!("nodes"), json!(1)];
    let broken = FaultKind::partial(&path, "INTERNAL", "timeout");
    bench.world.push_fault(Fault { on: Match::graphql("query Watched"), kind: broken });
    let told = bench.provider.inventory(&query).await.unwrap();
    assert_eq!((told.complete, told.pull_requests.iter().filter(|p| p.reasons.is_empty()).count()), (false, 2));
    // A request that failed as a whole makes no inventory.
    bench.world.push_fault(Fault { on: Match::graphql("query Watched"), kind: FaultKind::broken_server(502) });
    assert!(matches!(bench.provider.inventory(&query).await, Err(ReadFault::Unusable(_))));
}

#[tokio::test]
async fn every_list_of_a_detail_is_read_beyond_a_hundred() {
    // GH-SYNC-14
    let bench = Bench::start().await;
    let (world, number) = (&bench.world, bench.number);
    for n in 0..103 {
        world.add_label(REPO, number, &format!("label-{n}")).unwrap();
        world.assign(REPO, number, &format!("user-{n}")).unwrap();
        world.request_review(REPO, number, "ada", &format!("user-{n}")).unwrap();
        let inline = [NewInlineComment::new("src/lib.rs", 2, &format!("thread {n}"))];
        world.submit_review(REPO, number, "bob", Some(wloop_world::ReviewEvent::Comment), "", &inline).unwrap();
    }
    let told = bench.detail().await;
    assert_eq!((told.labels.len(), told.assignees.len(), told.review_requests.len()), (103, 103, 103));
    assert_eq!((told.reviews.len(), told.threads.len()), (103, 103));
    // The acts of requesting are the timeline: each request knows its own.
    assert!(told.review_requests.iter().all(|request| request.requested.is_some()));
}

#[tokio::test]
async fn a_write_follows_no_redirect_of_any_kind_and_a_broken_server_is_a_doubt() {
    // GH-SYNC-41, GH-PUB-06, GH-PUB-07
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    for status in [301, 302, 307, 308] {
        bench.world.forget_calls();
        bench.fault("POST", POST, FaultKind::redirect(status, &format!("{}/elsewhere", bench.world.api_url())));
        let told = bench.provider.publish(&order).await;
        assert!(!matches!(told, SendOutcome::Sent(_)), "{status}: {told:?}");
        assert_eq!(bench.world.calls().len(), 1, "{status}");
    }
    for status in [500, 502, 503, 504] {
        bench.fault("POST", POST, FaultKind::broken_server(status));
        let told = bench.provider.publish(&order).await;
        assert!(matches!(told, SendOutcome::Doubt { .. }), "{status}: {told:?}");
        assert_eq!(bench.provider.look_up(&order).await, LookUp::Absent);
    }
    assert_eq!(bench.world.comments(REPO, bench.number), []);
}

#[tokio::test]
async fn nothing_leaves_while_nobody_listens_and_the_same_sender_goes_on() {
    // F13, GH-PUB-06
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.world.refuse_connections(true).await;
    let told = bench.provider.publish(&order).await;
    assert!(matches!(&told, SendOutcome::NotReached { why } if why.contains("refuses connections")), "{told:?}");
    bench.world.refuse_connections(false).await;
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Sent(_)));
    assert_eq!(bench.world.comments(REPO, bench.number).len(), 1);
}
