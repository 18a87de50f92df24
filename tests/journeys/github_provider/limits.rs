//! Refused tokens and limits.

use super::*;

#[tokio::test]
async fn a_refused_token_stops_all_calls_until_somebody_tries_again() {
    // GH-SYNC-43, GH-PUB-13
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.world.revoke_token("good");
    assert!(matches!(bench.provider.viewer().await, Err(ReadFault::SignedOut(_))));
    bench.world.forget_calls();
    assert!(matches!(bench.provider.inventory(&everything()).await, Err(ReadFault::SignedOut(_))));
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Refused { kind: Refusal::SignedOut, .. }));
    assert!(matches!(bench.provider.look_up(&order).await, LookUp::Incomplete { .. }));
    assert_eq!(bench.world.calls(), []);
    assert!(bench.provider.health().signed_out.is_some());
    bench.world.add_token("me", "good");
    bench.provider.try_again();
    assert!(bench.provider.viewer().await.is_ok());
    assert_eq!(bench.provider.health().signed_out, None);
}

#[tokio::test]
async fn a_write_with_a_refused_token_is_final() {
    // GH-PUB-13, GH-SYNC-43
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.world.revoke_token("good");
    let told = bench.provider.publish(&order).await;
    assert!(matches!(&told, SendOutcome::Refused { kind: Refusal::SignedOut, why } if why.contains("sign in")), "{told:?}");
    assert!(!format!("{told:?}{:?}{:?}", bench.provider, bench.provider.health()).contains("good"));
}

#[tokio::test]
async fn a_named_wait_stops_every_request_and_then_one_goes_first() {
    // GH-SYNC-36, GH-SYNC-37, GH-SYNC-38
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.fault("POST", POST, limit(403, &[("retry-after", "30")], "You have exceeded a secondary rate limit."));
    let before = now();
    let SendOutcome::Wait { until: told, .. } = bench.provider.publish(&order).await else { unreachable!("no wait") };
    assert!((29..=31).contains(&told.duration_since(before).as_secs()), "{told}");
    assert_eq!(bench.provider.health().waiting_until, Some(told));
    bench.world.forget_calls();
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Wait { .. }));
    assert!(matches!(bench.provider.inventory(&everything()).await, Err(ReadFault::Wait { .. })));
    assert!(matches!(bench.provider.look_up(&order).await, LookUp::Wait { .. }));
    assert_eq!(bench.world.calls(), []);
    bench.wait(32);
    bench.fault("GET", "/repos/**", FaultKind::Delay);
    let reads: Vec<_> = (0..3)
        .map(|_| {
            let (provider, number) = (Arc::clone(&bench.provider), bench.number);
            tokio::spawn(async move { provider.head(&repo(), number).await.is_ok() })
        })
        .collect();
    until("the first request", || bench.world.held() == 1).await;
    // A whole exchange of somebody else later there still is one.
    let other = provider(&bench.world.api_url(), "good", &bench.ahead_ms, |_| {});
    assert!(other.viewer().await.is_ok());
    assert_eq!(bench.calls("GET", "/repos/**").len(), 1);
    bench.world.release_held();
    for read in reads {
        assert!(read.await.unwrap());
    }
    assert_eq!(bench.calls("GET", "/repos/**").len(), 3);
    assert_eq!(bench.world.comments(REPO, bench.number), []);
}

#[tokio::test]
async fn a_secondary_limit_without_a_time_waits_a_minute_and_then_two() {
    // GH-SYNC-36
    let bench = Bench::start().await;
    for (nth, seconds) in [(1, 60), (2, 120)] {
        bench.fault("GET", "/user", limit(403, &[], "You have exceeded a secondary rate limit. Please wait a few minutes."));
        let now = now() + jiff::SignedDuration::from_millis(bench.ahead_ms.load(Ordering::SeqCst));
        let Err(ReadFault::Wait { until, .. }) = bench.provider.viewer().await else { unreachable!("no wait") };
        let wait = until.duration_since(now).as_secs();
        assert!((seconds - 1..=seconds + 1).contains(&wait), "{nth}: {wait}");
        bench.wait(seconds + 1);
    }
    assert!(bench.provider.viewer().await.is_ok());
}

#[tokio::test]
async fn a_spent_quota_stops_its_own_resource_only() {
    // GH-SYNC-34, GH-SYNC-36
    let bench = Bench::start().await;
    bench.world.set_remaining(Resource::Core, 0);
    let Err(ReadFault::Wait { until, .. }) = bench.provider.viewer().await else { unreachable!("no wait") };
    assert!(until.duration_since(now()).as_secs() > 3_000, "{until}");
    bench.world.forget_calls();
    assert!(matches!(bench.provider.viewer().await, Err(ReadFault::Wait { .. })));
    assert_eq!(bench.world.calls(), []);
    assert!(bench.provider.inventory(&everything()).await.is_ok());
    assert_eq!(bench.provider.health().waiting_until, None);
    bench.world.set_remaining(Resource::Graphql, 0);
    assert!(matches!(bench.provider.inventory(&everything()).await, Err(ReadFault::Wait { .. })));
    let asked = bench.calls("POST", "/graphql").len();
    assert!(matches!(bench.provider.inventory(&everything()).await, Err(ReadFault::Wait { .. })));
    assert_eq!(bench.calls("POST", "/graphql").len(), asked);
}

#[tokio::test]
async fn any_other_403_is_no_limit() {
    // GH-SYNC-36, GH-PUB-13
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.fault("POST", POST, limit(403, &[], "Resource not accessible by personal access token"));
    let told = bench.provider.publish(&order).await;
    assert!(
        matches!(&told, SendOutcome::Refused { kind: Refusal::Forbidden, why } if why.contains("not accessible")),
        "{told:?}"
    );
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Sent(_)));
}
