use super::*;
use crate::port::TeamPolicy;

fn query(teams: TeamPolicy) -> InventoryQuery {
    InventoryQuery { teams, include_viewer_teams: vec!["acme/core".to_owned(), "acme/web".to_owned()], watched: vec![] }
}

#[test]
fn the_searches_are_those_of_the_five_reasons() {
    // GH-SYNC-01, GH-SYNC-04, GH-SYNC-05, GH-SYNC-11
    let of = |teams| searches(&query(teams)).into_iter().map(|s| (s.reason, s.query)).collect::<Vec<_>>();
    let plain = of(TeamPolicy::None);
    assert_eq!(plain.len(), 4);
    assert!(plain.iter().all(|(reason, text)| text.starts_with("is:pr is:open archived:false ") && *reason != Reason::Team));
    assert!(plain.contains(&(Reason::Requested, format!("{OPEN} user-review-requested:@me"))));
    assert_eq!(of(TeamPolicy::All).len(), 6);
    let only = of(TeamPolicy::Only(vec!["ACME/Core".to_owned(), "acme/not-mine".to_owned()]));
    assert_eq!(only.last().unwrap(), &(Reason::Team, format!("{OPEN} team-review-requested:acme/core")));
    assert_eq!(only.len(), 5);
}

#[test]
fn an_error_in_one_search_result_leaves_the_others() {
    // GH-SYNC-24, GH-SYNC-27
    let node = |id: &str| {
        json!({"__typename": "PullRequest", "id": id, "number": 1, "title": "t", "url": format!("https://x/{id}"), "state": "OPEN",
               "isDraft": false, "headRefOid": "h", "updatedAt": "2026-05-01T08:00:00Z", "mergeable": "MERGEABLE",
               "repository": {"nameWithOwner": "acme/web"}, "commits": null})
    };
    let mut unknown = node("PR_4");
    unknown["state"] = json!("FROZEN");
    let page = json!({"issueCount": 5, "pageInfo": {"hasNextPage": false, "endCursor": null},
                      "nodes": [node("PR_1"), node("PR_2"), null, unknown, node("PR_5")]});
    let envelope = graphql::envelope(json!({"data": {}, "errors": [
        {"message": "went wrong", "path": ["s0", "nodes", 1, "commits"]},
        {"message": "of another search", "path": ["s1", "nodes", 0]},
    ]}))
    .unwrap();
    let (mut union, mut skipped) = (Union::default(), Notes::new());
    let search = &searches(&query(TeamPolicy::None))[0];
    take_page(&page, "s0", search, &by_node(&envelope), &mut union, &mut skipped);
    let ids: Vec<String> = union.finish().into_iter().map(|s| s.id).collect();
    assert_eq!(ids, ["PR_1", "PR_5"]);
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert_eq!(skipped[0], "https://x/PR_2: went wrong");
}

#[test]
fn a_detail_with_an_error_in_it_is_a_fault() {
    // GH-SYNC-15, GH-SYNC-24
    let which = DetailRef::ById("PR_1".to_owned());
    let read = |body: Value| whole(graphql::envelope(body).unwrap(), &which);
    let node = json!({"__typename": "PullRequest", "id": "PR_1"});
    assert!(read(json!({"data": {"node": node}})).is_ok());
    let partial = json!({"data": {"node": node}, "errors": [{"message": "m", "path": ["node", "reviews"]}]});
    assert_eq!(read(partial), Err(ReadFault::Unusable("m".to_owned())));
    let gone = json!({"data": {"node": null}, "errors": [{"type": "NOT_FOUND", "message": "no such node", "path": ["node"]}]});
    assert_eq!(read(gone), Err(ReadFault::NotFound("no such node".to_owned())));
    assert!(matches!(read(json!({"data": {"node": {"__typename": "Issue"}}})), Err(ReadFault::NotFound(_))));
    assert!(matches!(read(json!({"data": {"node": null}})), Err(ReadFault::NotFound(_))));
}

#[test]
fn a_further_page_that_does_not_move_on_is_a_fault() {
    // GH-SYNC-14
    let page = |cursor: &str, more: bool, n: u64| json!({"reviews": {"pageInfo": {"hasNextPage": more, "endCursor": cursor}, "nodes": [n]}});
    let mut pull = page("c1", true, 1);
    assert_eq!(rest_of(&pull, "PR_1").unwrap()["reviewsAfter"], json!("c1"));
    assert!(join(&mut pull, &page("c1", true, 2), "reviews").is_err());
    join(&mut pull, &page("c2", false, 2), "reviews").unwrap();
    assert_eq!(pull["reviews"]["nodes"], json!([1, 2]));
    assert_eq!(rest_of(&pull, "PR_1"), None);
    assert!(join(&mut pull, &json!({}), "reviews").is_err());
}
