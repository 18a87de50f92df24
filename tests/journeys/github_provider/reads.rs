//! Reads: the viewer, the sweep, details, the head and the diff.

use super::*;

#[tokio::test]
async fn the_viewer_is_read_with_teams_scopes_and_the_clock() {
    // GH-SYNC-34, GH-SYNC-45
    let bench = Bench::start().await;
    bench.world.add_team("acme", "core", &["me", "ada"]);
    bench.world.add_team("acme", "other", &["ada"]);
    let viewer = bench.viewer().await;
    assert_eq!((viewer.account.login.as_str(), viewer.account.kind), ("me", Kind::User));
    assert_eq!(viewer.teams, ["acme/core"]);
    assert_eq!(viewer.scopes.unwrap(), ["read:org", "repo"]);
    assert_eq!(viewer.skew_ms, 0);
    bench.world.set_now(Some(now() + jiff::SignedDuration::from_secs(300)));
    let skew = bench.viewer().await.skew_ms;
    assert!((298_000..=301_000).contains(&skew), "{skew}");
    let health = bench.provider.health();
    assert!(health.quotas.iter().any(|quota| quota.resource == "core" && quota.limit == 5_000 && quota.remaining < 5_000));
    let (last, error) = (health.skew_ms.unwrap(), health.last_error);
    assert!((last - skew).abs() < 2_000 && error.is_none(), "{last} {error:?}");
    assert!(bench.world.calls().iter().all(|call| call.user_agent.starts_with("wloop/")));
    fits_openapi(&bench.world.calls());
}

#[tokio::test]
async fn a_fast_sweep_unites_the_reasons_in_one_request() {
    // GH-SYNC-01, GH-SYNC-02, GH-SYNC-04, GH-SYNC-05, GH-SYNC-11
    let bench = Bench::start().await;
    let world = &bench.world;
    world.add_team("acme", "core", &["me"]);
    let mine = open(world, "me", "mine");
    let team = open(world, "ada", "team");
    let nobody = open(world, "ada", "nobody");
    world.request_review(REPO, bench.number, "ada", "me").unwrap();
    world.assign(REPO, bench.number, "me").unwrap();
    world.assign(REPO, mine, "me").unwrap();
    world.submit_review(REPO, team, "me", Some(wloop_world::ReviewEvent::Comment), "hm", &[]).unwrap();
    world.request_team_review(REPO, team, "ada", "acme/core").unwrap();
    world.set_check(REPO, mine, "ci", CheckOutcome::Completed("failure".to_owned())).unwrap();
    world.set_mergeable(REPO, mine, Some(Some(false))).unwrap();
    let found = bench.provider.inventory(&everything()).await.unwrap();
    assert_eq!(found.viewer.login, "me");
    let by = |number: u64| found.pull_requests.iter().find(|p| p.number == number);
    assert_eq!(by(bench.number).unwrap().reasons, [Reason::Requested, Reason::Assigned]);
    assert_eq!(by(mine).unwrap().reasons, [Reason::Mine, Reason::Assigned]);
    assert_eq!(by(team).unwrap().reasons, [Reason::Team, Reason::Reviewed]);
    assert_eq!(by(nobody), None);
    let told = by(mine).unwrap();
    assert_eq!((told.mergeable, told.checks.as_str()), (Mergeable::Conflicting, "failure"));
    assert_eq!(told.head, world.head(REPO, mine).unwrap());
    assert_eq!(bench.calls("POST", "/graphql").len(), 1);
    let quotas = bench.provider.health().quotas;
    assert!(quotas.iter().any(|q| q.resource == "graphql" && q.remaining < q.limit), "{quotas:?}");
    let none = InventoryQuery { teams: TeamPolicy::None, ..everything() };
    let found = bench.provider.inventory(&none).await.unwrap();
    assert!(found.pull_requests.iter().all(|p| !p.reasons.contains(&Reason::Team)));
    assert_eq!(bench.provider.health().skipped, Vec::<String>::new());
}

#[tokio::test]
async fn a_search_of_more_than_one_page_is_read_to_its_end() {
    // GH-SYNC-11
    let bench = Bench::start().await;
    for n in 0..53 {
        let number = open(&bench.world, "ada", &format!("b{n}"));
        bench.world.assign(REPO, number, "me").unwrap();
    }
    let found = bench.provider.inventory(&everything()).await.unwrap();
    assert_eq!(found.pull_requests.len(), 53);
    assert_eq!(bench.calls("POST", "/graphql").len(), 2);
}

#[tokio::test]
async fn an_inventory_with_errors_keeps_what_has_none() {
    // GH-SYNC-24, GH-SYNC-27
    let bench = Bench::start().await;
    bench.world.assign(REPO, bench.number, "me").unwrap();
    let whole = bench.provider.inventory(&everything()).await.unwrap();
    let answered = bench.calls("POST", "/graphql").pop().and_then(|call| call.response).unwrap();
    // The same answer with a second result that GitHub could not make.
    let mut partial = answered.clone();
    partial["data"]["s2"]["nodes"].as_array_mut().unwrap().insert(0, Value::Null);
    partial["errors"] = json!([{"type": "FORBIDDEN", "message": "Resource protected", "path": ["s2", "nodes", 0]}]);
    bench.fault("POST", "/graphql", FaultKind::Status(200, partial));
    let told = bench.provider.inventory(&everything()).await.unwrap();
    assert_eq!(told.pull_requests, whole.pull_requests);
    let skipped = bench.provider.health().skipped;
    assert!(skipped.len() == 1 && skipped[0].contains("Resource protected"), "{skipped:?}");
    // A search that failed as a whole is no inventory.
    let mut failed = answered;
    failed["data"]["s2"] = Value::Null;
    failed["errors"] = json!([{"message": "Something went wrong", "path": ["s2"]}]);
    bench.fault("POST", "/graphql", FaultKind::Status(200, failed));
    assert!(matches!(bench.provider.inventory(&everything()).await, Err(ReadFault::Unusable(why)) if why.contains("went wrong")));
}

#[tokio::test]
async fn a_detail_of_many_pages_is_complete() {
    // GH-SYNC-14, GH-SYNC-15
    let bench = Bench::start().await;
    let world = &bench.world;
    for n in 0..130 {
        let event = if n % 2 == 0 { wloop_world::ReviewEvent::Comment } else { wloop_world::ReviewEvent::RequestChanges };
        world.submit_review(REPO, bench.number, "bob", Some(event), &format!("review {n}"), &[]).unwrap();
        world.add_comment(REPO, bench.number, "ada", &format!("comment {n}")).unwrap();
    }
    let inline = [NewInlineComment::new("src/lib.rs", 2, "thread 0")];
    let event = Some(wloop_world::ReviewEvent::Comment);
    world.submit_review(REPO, bench.number, "bob", event, "", &inline).unwrap();
    let first = world.reviews(REPO, bench.number).into_iter().flat_map(|r| r.comments).next().unwrap();
    for n in 1..130 {
        world.reply(REPO, bench.number, "ada", first.id, &format!("thread {n}")).unwrap();
    }
    let told = bench.detail().await;
    let bodies: BTreeSet<&str> =
        told.reviews.iter().map(|review| review.body.as_str()).filter(|b| b.starts_with("review ")).collect();
    assert_eq!(bodies.len(), 130);
    assert_eq!(told.comments.len(), 130);
    assert_eq!(told.threads.len(), 1);
    let thread: Vec<String> = told.threads[0].comments.iter().map(|comment| comment.body.clone()).collect();
    assert_eq!(thread, (0..130).map(|n| format!("thread {n}")).collect::<Vec<_>>());
    assert_eq!(told.threads[0].comments[0].database_id, first.id);
    let id = world.node_id(REPO, bench.number).unwrap();
    let again = bench.provider.detail(&DetailRef::ById(id)).await.unwrap();
    assert_eq!(Detail { read_at: told.read_at, skew_ms: told.skew_ms, ..again }, told);
}

#[tokio::test]
async fn a_detail_that_fails_half_way_is_none() {
    // GH-SYNC-15, GH-SYNC-24
    let bench = Bench::start().await;
    for n in 0..101 {
        bench.world.add_comment(REPO, bench.number, "ada", &format!("comment {n}")).unwrap();
    }
    let which = DetailRef::ByNumber(repo(), bench.number);
    bench.world.push_fault(Fault { on: Match::graphql("DetailMore"), kind: FaultKind::Status(502, json!({})) });
    assert!(matches!(bench.provider.detail(&which).await, Err(ReadFault::Unusable(_))));
    bench.world.push_fault(Fault { on: Match::graphql("DetailMore"), kind: FaultKind::Truncated });
    assert!(matches!(bench.provider.detail(&which).await, Err(ReadFault::Unreachable(_))));
    let broken = json!({"data": {"node": {"__typename": "PullRequest"}}, "errors": [{"message": "timeout", "path": ["node", "comments"]}]});
    bench.world.push_fault(Fault { on: Match::graphql("DetailMore"), kind: FaultKind::Status(200, broken) });
    assert!(matches!(bench.provider.detail(&which).await, Err(ReadFault::Unusable(why)) if why == "timeout"));
    assert_eq!(bench.detail().await.comments.len(), 101);
}

#[tokio::test]
async fn ghosts_bots_and_deleted_forks_are_read() {
    // GH-SYNC-22, GH-SYNC-23, GH-SYNC-48
    let bench = Bench::start().await;
    let world = &bench.world;
    world.add_user("dependabot", AccountKind::Bot);
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
    world.add_comment(REPO, number, "dependabot", "bump").unwrap();
    world.add_comment(REPO, number, "gone", "bye").unwrap();
    world.submit_review(REPO, number, "left", Some(wloop_world::ReviewEvent::Approve), "fine", &[]).unwrap();
    world.delete_user("gone").unwrap();
    world.delete_user("left").unwrap();
    world.delete_fork(REPO, number).unwrap();
    let told = bench.provider.detail(&DetailRef::ByNumber(repo(), number)).await.unwrap();
    assert_eq!((told.author, told.head_repo, told.cross_repository), (None, None, true));
    assert_eq!((told.body.as_str(), told.summary.checks.as_str()), ("", ""));
    assert_eq!((told.reviews.len(), told.reviews[0].author.clone(), told.reviews[0].state), (1, None, ReviewState::Approved));
    let authors: Vec<Option<&str>> = told.comments.iter().map(|c| c.author.as_ref().map(|a| a.login.as_str())).collect();
    assert!(authors.contains(&Some("dependabot[bot]")) && authors.contains(&None), "{authors:?}");
    assert_eq!(bench.provider.health().notes, Vec::<String>::new());
}

#[tokio::test]
async fn a_request_made_again_is_another_request() {
    // GH-SYNC-04, GH-SYNC-20
    let bench = Bench::start().await;
    let world = &bench.world;
    world.add_user("bob", AccountKind::User);
    world.add_team("acme", "core", &["me"]);
    world.request_review(REPO, bench.number, "ada", "me").unwrap();
    world.request_team_review(REPO, bench.number, "ada", "acme/core").unwrap();
    let request = |detail: &Detail| {
        let mine = |r: &&wloop_core::github::ReviewRequest| matches!(&r.reviewer, Reviewer::Account(a) if a.login == "me");
        detail.review_requests.iter().find(mine).and_then(|r| r.requested.clone()).unwrap()
    };
    let first = bench.detail().await;
    assert!(first.review_requests.iter().any(|r| r.reviewer == Reviewer::Team("acme/core".to_owned()) && r.requested.is_some()));
    world.remove_review_request(REPO, bench.number, "ada", "me").unwrap();
    world.set_now(Some(now() + jiff::SignedDuration::from_secs(60)));
    world.request_review(REPO, bench.number, "bob", "me").unwrap();
    let second = bench.detail().await;
    assert_eq!((request(&first).by.as_str(), request(&second).by.as_str()), ("ada", "bob"));
    assert_ne!(request(&first).id, request(&second).id);
}

#[tokio::test]
async fn the_head_and_the_diff_are_read() {
    // GH-PUB-17, GH-PUB-18
    let bench = Bench::start().await;
    let now = bench.provider.head(&repo(), bench.number).await.unwrap();
    assert_eq!((now.head, now.state), (bench.world.head(REPO, bench.number).unwrap(), PullState::Open));
    assert_eq!(now.id, bench.world.node_id(REPO, bench.number).unwrap());
    let files = bench.provider.diff(&repo(), bench.number).await.unwrap();
    let changed = files.iter().find(|file| file.path == "src/lib.rs").unwrap();
    assert!(changed.status == "modified" && changed.patch.as_deref().unwrap().contains("+fn four() {}"));
    bench.world.lock(REPO, bench.number, true).unwrap();
    bench.world.merge(REPO, bench.number, "ada").unwrap();
    let now = bench.provider.head(&repo(), bench.number).await.unwrap();
    assert!(now.locked && now.state == PullState::Merged);
    assert!(matches!(bench.provider.head(&repo(), 999).await, Err(ReadFault::NotFound(_))));
    assert!(matches!(bench.provider.detail(&DetailRef::ByNumber(repo(), 999)).await, Err(ReadFault::NotFound(_))));
    assert!(matches!(bench.provider.detail(&DetailRef::ById("PR_none".to_owned())).await, Err(ReadFault::NotFound(_))));
    fits_openapi(&bench.world.calls());
}

#[tokio::test]
async fn a_read_follows_a_redirect_on_the_same_host_only_and_three_times_at_most() {
    // GH-SYNC-41
    let bench = Bench::start().await;
    bench.world.rename_repository(REPO, "acme/site").unwrap();
    assert!(bench.provider.head(&repo(), bench.number).await.is_ok());
    let other = Bench::start().await;
    let away = |url: &str| limit(302, &[("location", url)], "Found");
    bench.fault("GET", "/user", away(&format!("{}/user", other.world.api_url())));
    assert!(matches!(bench.provider.viewer().await, Err(ReadFault::Unusable(_))));
    assert_eq!(other.world.calls(), []);
    for _ in 0..4 {
        bench.fault("GET", "/user", away("/user"));
    }
    bench.world.forget_calls();
    assert!(matches!(bench.provider.viewer().await, Err(ReadFault::Unusable(_))));
    assert_eq!(bench.calls("GET", "/user").len(), 4);
}

#[tokio::test]
async fn reads_run_at_most_four_at_once() {
    // GH-SYNC-39
    let bench = Bench::start().await;
    for _ in 0..6 {
        bench.fault("GET", "/repos/acme/web/pulls/*", FaultKind::Delay);
    }
    let order = bench.order(Shape::Comment).await;
    let reads: Vec<_> = (0..6)
        .map(|_| {
            let (provider, number) = (Arc::clone(&bench.provider), bench.number);
            tokio::spawn(async move { provider.head(&repo(), number).await.is_ok() })
        })
        .collect();
    let arrived = || bench.calls("GET", "/repos/acme/web/pulls/*").len();
    until("four reads in flight", || bench.world.held() == 4).await;
    // A whole exchange later there still are four.
    assert!(matches!(bench.provider.publish(&order).await, SendOutcome::Sent(_)));
    assert_eq!((arrived(), bench.world.held()), (4, 4));
    bench.world.release_held();
    until("the other two", || arrived() == 6 && bench.world.held() == 2).await;
    bench.world.release_held();
    for read in reads {
        assert!(read.await.unwrap());
    }
}

#[tokio::test]
async fn the_graphql_of_an_enterprise_server_is_beside_its_rest() {
    // GH-SYNC-40
    let bench = Bench::start().await;
    bench.world.assign(REPO, bench.number, "me").unwrap();
    let server = provider(&format!("{}/api/v3", bench.world.api_url()), "good", &bench.ahead_ms, |_| {});
    assert_eq!(server.inventory(&everything()).await.unwrap().pull_requests.len(), 1);
    assert_eq!(bench.calls("POST", "/api/graphql").len(), 1);
    bench.fault("GET", "/api/v3/user", FaultKind::Status(500, json!({"message": "asked at the right place"})));
    let told = server.viewer().await;
    assert!(matches!(&told, Err(ReadFault::Unusable(why)) if why.contains("right place")), "{told:?}");
}
