//! Writes and their look-ups.

use super::*;

#[tokio::test]
async fn each_shape_is_sent_once_and_confirmed() {
    // GH-PUB-01, GH-PUB-03, GH-PUB-10, GH-PUB-16
    let bench = Bench::start().await;
    let inline =
        InlineComment { path: "src/lib.rs".to_owned(), line: 4, start_line: Some(2), side: Side::Right, body: "why?".to_owned() };
    let order = bench.order(review(ReviewEvent::RequestChanges, vec![inline])).await;
    let SendOutcome::Sent(sent) = bench.provider.publish(&order).await else { unreachable!("not sent") };
    let reviews = bench.world.reviews(REPO, bench.number);
    assert_eq!((reviews.len(), reviews[0].node_id.as_str(), reviews[0].id), (1, sent.node_id.as_str(), sent.database_id));
    assert_eq!((reviews[0].commit.as_str(), reviews[0].body.as_str()), (order.head.as_str(), order.body.as_str()));
    assert_eq!((reviews[0].comments[0].line, reviews[0].comments[0].start_line), (4, Some(2)));
    assert_eq!(sent.url, reviews[0].url);
    assert_eq!(bench.provider.look_up(&order).await, LookUp::Found(sent));

    let reply = bench.order(Shape::Reply { in_reply_to: reviews[0].comments[0].id }).await;
    let SendOutcome::Sent(sent) = bench.provider.publish(&reply).await else { unreachable!("not sent") };
    assert_eq!(bench.provider.look_up(&reply).await, LookUp::Found(sent));

    let comment = bench.order(Shape::Comment).await;
    let SendOutcome::Sent(sent) = bench.provider.publish(&comment).await else { unreachable!("not sent") };
    assert_eq!(bench.world.comments(REPO, bench.number)[0].url, sent.url);
    assert_eq!(bench.provider.look_up(&comment).await, LookUp::Found(sent));
    assert_eq!(bench.calls("POST", "/repos/**").len(), 3);
    fits_openapi(&bench.world.calls());
}

#[tokio::test]
async fn an_answer_that_is_lost_after_the_act_is_a_doubt_that_a_look_up_settles() {
    // GH-PUB-06, GH-PUB-07, GH-PUB-10
    for kind in [FaultKind::ActedThen502, FaultKind::ActedThenDropped, FaultKind::Truncated, FaultKind::Garbled] {
        for shape in [Shape::Comment, review(ReviewEvent::Comment, Vec::new())] {
            let bench = Bench::start().await;
            let order = bench.order(shape).await;
            bench.fault("POST", "/repos/**", kind.clone());
            let told = bench.provider.publish(&order).await;
            assert!(matches!(told, SendOutcome::Doubt { .. }), "{kind:?}: {told:?}");
            assert_eq!(bench.calls("POST", "/repos/**").len(), 1, "{kind:?}");
            assert!(matches!(bench.provider.look_up(&order).await, LookUp::Found(_)), "{kind:?}");
            assert_eq!(bench.world.comments(REPO, bench.number).len() + bench.world.reviews(REPO, bench.number).len(), 1);
        }
    }
}

#[tokio::test]
async fn a_write_without_an_answer_in_time_is_a_doubt() {
    // GH-PUB-06, GH-PUB-07
    let bench = Bench::with(|config| config.write_limit = Duration::from_millis(300)).await;
    let order = bench.order(Shape::Comment).await;
    bench.fault("POST", POST, FaultKind::Hang);
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Doubt { .. }));
    assert_eq!(bench.provider.look_up(&order).await, LookUp::Absent);
    bench.fault("POST", POST, FaultKind::Dropped);
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Doubt { .. }));
    assert_eq!(bench.provider.look_up(&order).await, LookUp::Absent);
}

#[tokio::test]
async fn a_refused_connection_sent_nothing() {
    // GH-PUB-06
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let nowhere = provider(&format!("http://127.0.0.1:{port}"), "good", &bench.ahead_ms, |_| {});
    let told = nowhere.publish(&order).await;
    assert!(matches!(&told, SendOutcome::NotReached { why } if why.contains("refuses connections")), "{told:?}");
    assert!(matches!(nowhere.viewer().await, Err(ReadFault::Unreachable(_))));
    assert!(matches!(nowhere.look_up(&order).await, LookUp::Incomplete { .. }));
    // Plain HTTP answers where TLS is expected: the handshake fails before the request.
    let tls = provider(&bench.world.api_url().replace("http:", "https:"), "good", &bench.ahead_ms, |_| {});
    assert!(matches!(tls.publish(&order).await, SendOutcome::NotReached { .. }));
    assert_eq!(bench.calls("POST", "/repos/**").len(), 0);
}

#[tokio::test]
async fn a_marker_by_anybody_else_means_nothing() {
    // GH-PUB-05, GH-PUB-07
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.world.add_comment(REPO, bench.number, "mallory", &order.body).unwrap();
    bench.world.add_comment(REPO, bench.number, "ghost-to-be", &order.body).unwrap();
    bench.world.add_comment(REPO, bench.number, "me", "a comment of mine").unwrap();
    bench.world.delete_user("ghost-to-be").unwrap();
    assert_eq!(bench.provider.look_up(&order).await, LookUp::Absent);
    let id = bench.world.add_comment(REPO, bench.number, "me", &order.body).unwrap();
    let LookUp::Found(found) = bench.provider.look_up(&order).await else { unreachable!("not found") };
    assert_eq!(found.database_id, id);
}

#[tokio::test]
async fn a_look_up_reads_every_page_or_says_that_it_could_not() {
    // GH-PUB-07
    let bench = Bench::start().await;
    let order = bench.order(review(ReviewEvent::Comment, Vec::new())).await;
    for n in 0..130 {
        let event = Some(wloop_world::ReviewEvent::Comment);
        bench.world.submit_review(REPO, bench.number, "bob", event, &format!("review {n}"), &[]).unwrap();
    }
    assert_eq!(bench.provider.look_up(&order).await, LookUp::Absent);
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Sent(_)));
    assert!(matches!(bench.provider.look_up(&order).await, LookUp::Found(_)));
    let pages = "/repos/*/*/pulls/*/reviews";
    for kind in [
        FaultKind::Dropped,
        FaultKind::Status(500, json!({})),
        FaultKind::Truncated,
        FaultKind::Status(200, json!({"no": "list"})),
    ] {
        bench.fault("GET", pages, kind);
        assert!(matches!(bench.provider.look_up(&order).await, LookUp::Incomplete { .. }));
    }
    fits_openapi(&bench.calls("POST", pages));
}

#[tokio::test]
async fn a_look_up_starts_before_the_first_attempt_by_a_minute_and_the_clocks_difference() {
    // GH-PUB-07, GH-SYNC-45
    let bench = Bench::start().await;
    // GitHub's clock is five minutes behind: what it makes now looks older than our start.
    bench.world.set_now(Some(now() - jiff::SignedDuration::from_secs(300)));
    let order = bench.order(Shape::Comment).await;
    assert_eq!(order.skew_ms, 0);
    bench.fault("POST", POST, FaultKind::ActedThenDropped);
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Doubt { .. }));
    assert!(matches!(bench.provider.look_up(&order).await, LookUp::Found(_)));
}

#[tokio::test]
async fn a_final_refusal_wrote_nothing_and_gives_githubs_words() {
    // GH-PUB-12, GH-PUB-14, GH-PUB-20
    let bench = Bench::start().await;
    let world = &bench.world;
    let comment = bench.order(Shape::Comment).await;
    world.lock(REPO, bench.number, true).unwrap();
    let mut told = vec![(Refusal::Forbidden, bench.provider.publish(&comment).await)];
    world.lock(REPO, bench.number, false).unwrap();
    world.set_archived(REPO, true).unwrap();
    told.push((Refusal::Forbidden, bench.provider.publish(&comment).await));
    world.set_archived(REPO, false).unwrap();
    world.set_hidden(REPO, "me", true).unwrap();
    told.push((Refusal::Gone, bench.provider.publish(&comment).await));
    world.set_hidden(REPO, "me", false).unwrap();
    bench.fault("POST", POST, FaultKind::Status(410, json!({"message": "Issues are disabled for this repo"})));
    told.push((Refusal::Gone, bench.provider.publish(&comment).await));
    let outside =
        InlineComment { path: "none.rs".to_owned(), line: 1, start_line: None, side: Side::Right, body: "x".to_owned() };
    let shape = review(ReviewEvent::Comment, vec![outside]);
    told.push((Refusal::Invalid, bench.provider.publish(&PostOrder { shape, ..comment.clone() }).await));
    world.submit_review(REPO, bench.number, "me", None, "unfinished", &[]).unwrap();
    let shape = review(ReviewEvent::Approve, Vec::new());
    told.push((Refusal::PendingReview, bench.provider.publish(&PostOrder { shape, ..comment.clone() }).await));
    for (expected, outcome) in told {
        let SendOutcome::Refused { kind, why } = &outcome else { unreachable!("{outcome:?}") };
        assert_eq!(*kind, expected, "{why}");
        assert!(!why.contains("without an explanation"), "{why}");
    }
    assert_eq!(world.comments(REPO, bench.number), []);
    let left = world.reviews(REPO, bench.number);
    assert_eq!((left.len(), left[0].body.as_str()), (1, "unfinished"));
}

#[tokio::test]
async fn a_write_is_never_redirected() {
    // GH-PUB-06, GH-SYNC-41
    let bench = Bench::start().await;
    let order = bench.order(Shape::Comment).await;
    bench.world.rename_repository(REPO, "acme/site").unwrap();
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Refused { kind: Refusal::Gone, .. }));
    assert_eq!(bench.world.comments("acme/site", bench.number), []);
    assert_eq!(bench.calls("POST", "/**").len(), 1);
    // The look-up is a read and finds its way.
    assert_eq!(bench.provider.look_up(&order).await, LookUp::Absent);
}

#[tokio::test]
async fn writes_go_one_at_a_time_with_a_pause_between() {
    // GH-SYNC-39
    let pause = Duration::from_millis(200);
    let bench = Bench::with(|config| config.write_pause = pause).await;
    let order = bench.order(Shape::Comment).await;
    bench.fault("POST", POST, FaultKind::Delay);
    let writes: Vec<_> = (0..2)
        .map(|_| {
            let (provider, order) = (Arc::clone(&bench.provider), order.clone());
            tokio::spawn(async move { matches!(provider.publish(&order).await, SendOutcome::Sent(_)) })
        })
        .collect();
    until("the first write", || bench.world.held() == 1).await;
    // A whole exchange later there still is one.
    assert!(bench.provider.head(&repo(), bench.number).await.is_ok());
    assert_eq!(bench.calls("POST", POST).len(), 1);
    let released = tokio::time::Instant::now();
    bench.world.release_held();
    for write in writes {
        assert!(write.await.unwrap());
    }
    assert!(released.elapsed() >= pause, "{:?}", released.elapsed());
    assert_eq!(bench.calls("POST", POST).len(), 2);
}
