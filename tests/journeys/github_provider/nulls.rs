//! A `null` in every place that GitHub's schema lets be null, and an unknown word in every place that holds one of a list: in the
//! documents that are sent, whatever they ask for.

use std::collections::BTreeMap;

use apollo_compiler::executable::{Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};

use super::*;

/// A pull request with something in every list.
async fn full() -> Bench {
    let bench = Bench::start().await;
    let (world, number) = (&bench.world, bench.number);
    world.add_team("acme", "core", &["me"]);
    world.add_label(REPO, number, "bug").unwrap();
    world.assign(REPO, number, "me").unwrap();
    world.request_review(REPO, number, "ada", "me").unwrap();
    world.request_team_review(REPO, number, "ada", "acme/core").unwrap();
    world.add_comment(REPO, number, "ada", "hello").unwrap();
    let inline = [NewInlineComment::new("src/lib.rs", 2, "why?")];
    world.submit_review(REPO, number, "bob", Some(wloop_world::ReviewEvent::RequestChanges), "no", &inline).unwrap();
    world.set_check(REPO, number, "ci", CheckOutcome::Completed("failure".to_owned())).unwrap();
    bench
}

#[derive(Default)]
struct Places {
    nullable: BTreeMap<String, ()>,
    words: BTreeMap<String, ()>,
}

struct Walk<'a> {
    schema: &'a Valid<Schema>,
    document: &'a Valid<ExecutableDocument>,
}

impl Walk<'_> {
    fn selection(&self, set: &SelectionSet, value: &Value, at: &str, found: &mut Places) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    let Some(held) = value.get(field.response_key().as_str()) else { continue };
                    let at = format!("{at}/{}", field.response_key());
                    self.value(field.ty(), &field.selection_set, held, &at, found);
                }
                Selection::InlineFragment(fragment) => self.selection(&fragment.selection_set, value, at, found),
                Selection::FragmentSpread(spread) => {
                    let fragment = &self.document.fragments[&spread.fragment_name];
                    self.selection(&fragment.selection_set, value, at, found);
                }
            }
        }
    }

    fn value(&self, kind: &apollo_compiler::ast::Type, set: &SelectionSet, value: &Value, at: &str, found: &mut Places) {
        if value.is_null() {
            return;
        }
        if !kind.is_non_null() {
            found.nullable.insert(at.to_owned(), ());
        }
        if let Value::Array(items) = value {
            for (index, item) in items.iter().enumerate() {
                self.value(kind.item_type(), set, item, &format!("{at}/{index}"), found);
            }
            return;
        }
        if matches!(self.schema.types.get(kind.inner_named_type()), Some(ExtendedType::Enum(_))) {
            found.words.insert(at.to_owned(), ());
        }
        self.selection(set, value, at, found);
    }
}

/// The places of the last GraphQL answer, by the document that asked for it.
fn places(bench: &Bench) -> Places {
    let parsed = Schema::parse(fixture("schema.graphql"), "schema.graphql");
    let schema = Valid::assume_valid(parsed.unwrap_or_else(|errors| errors.partial));
    let call = bench.calls("POST", "/graphql").pop().unwrap();
    let (asked, answered) = (call.request.unwrap(), call.response.unwrap());
    let document = ExecutableDocument::parse_and_validate(&schema, asked["query"].as_str().unwrap(), "q").unwrap();
    let mut found = Places::default();
    let operation = document.operations.get(None).unwrap();
    let walk = Walk { schema: &schema, document: &document };
    walk.selection(&operation.selection_set, &answered["data"], "/data", &mut found);
    found
}

fn changed(bench: &Bench, place: &str, to: Value) {
    bench.fault("POST", "/graphql", FaultKind::Changed(vec![(place.to_owned(), to)]));
}

#[tokio::test]
async fn a_detail_with_a_null_in_any_nullable_place_is_read() {
    // GH-SYNC-22, F36
    let bench = full().await;
    let whole = bench.detail().await;
    let found = places(&bench);
    assert!(found.nullable.len() > 40, "{}", found.nullable.len());
    let itself = ["/data/repository", "/data/repository/pullRequest"];
    let which = DetailRef::ByNumber(repo(), bench.number);
    for place in found.nullable.keys() {
        changed(&bench, place, Value::Null);
        let told = bench.provider.detail(&which).await;
        if itself.contains(&place.as_str()) {
            assert!(matches!(told, Err(ReadFault::NotFound(_))), "{place}: {told:?}");
        } else {
            let told = told.unwrap_or_else(|fault| unreachable!("{place}: {fault}"));
            assert_eq!(told.summary.id, whole.summary.id, "{place}");
        }
        assert_eq!(bench.world.faults_left(), [], "{place}");
    }
    // What each kind of absence is.
    let pull = "/data/repository/pullRequest";
    changed(&bench, &format!("{pull}/author"), Value::Null);
    assert_eq!(bench.detail().await.author, None);
    changed(&bench, &format!("{pull}/reviews/nodes/0/author"), Value::Null);
    assert_eq!(bench.detail().await.reviews[0].author, None);
    changed(&bench, &format!("{pull}/reviews/nodes/0/commit"), Value::Null);
    assert_eq!(bench.detail().await.reviews[0].commit, "", "a review of an unknown head");
    changed(&bench, &format!("{pull}/comments/nodes/0/author"), Value::Null);
    assert_eq!(bench.detail().await.comments[0].author, None);
    changed(&bench, &format!("{pull}/headRepository"), Value::Null);
    let told = bench.detail().await;
    assert_eq!((told.head_repo, told.cross_repository), (None, true));
    changed(&bench, &format!("{pull}/reviewRequests/nodes/0/requestedReviewer"), Value::Null);
    assert_eq!(bench.detail().await.review_requests.len(), whole.review_requests.len() - 1);
    changed(&bench, &format!("{pull}/commits/nodes/0/commit/statusCheckRollup"), Value::Null);
    assert_eq!(bench.detail().await.summary.checks, "");
}

#[tokio::test]
async fn a_detail_with_an_unknown_word_is_read_and_the_word_is_noted() {
    // GH-SYNC-27
    let bench = full().await;
    let whole = bench.detail().await;
    let found = places(&bench);
    assert!(found.words.len() > 4, "{:?}", found.words.keys());
    let which = DetailRef::ByNumber(repo(), bench.number);
    for place in found.words.keys() {
        changed(&bench, place, json!("A_NEW_WORD"));
        match bench.provider.detail(&which).await {
            Ok(told) => assert_eq!(told.summary.id, whole.summary.id, "{place}"),
            // Of one whose own state is unknown nothing can be said, and that is said.
            Err(ReadFault::Unusable(why)) if place.ends_with("/pullRequest/state") => {
                assert!(why.contains("A_NEW_WORD"), "{why}")
            }
            Err(fault) => unreachable!("{place}: {fault}"),
        }
    }
    changed(&bench, "/data/repository/pullRequest/reviews/nodes/0/state", json!("A_NEW_WORD"));
    let told = bench.detail().await;
    assert!(told.reviews.iter().all(|review| !matches!(review.state, ReviewState::Approved | ReviewState::ChangesRequested)));
    let notes = bench.provider.health().notes;
    assert!(notes.iter().any(|note| note.contains("A_NEW_WORD")), "{notes:?}");
}

#[tokio::test]
async fn an_inventory_with_a_null_in_any_nullable_place_keeps_the_others() {
    // GH-SYNC-22, GH-SYNC-27
    let bench = full().await;
    let other = open(&bench.world, "ada", "other");
    bench.world.assign(REPO, other, "me").unwrap();
    let whole = bench.provider.inventory(&everything()).await.unwrap();
    assert_eq!(whole.pull_requests.len(), 2);
    let found = places(&bench);
    let nulls = found.nullable.keys().map(|place| (place, Value::Null));
    let words = found.words.keys().map(|place| (place, json!("A_NEW_WORD")));
    for (place, to) in nulls.chain(words) {
        changed(&bench, place, to);
        let told = match bench.provider.inventory(&everything()).await {
            Ok(told) => told,
            // A search that is not there as a whole says nothing about what it would return.
            Err(ReadFault::Unusable(_)) if place.matches('/').count() == 2 => continue,
            Err(fault) => unreachable!("{place}: {fault}"),
        };
        // Whatever is left out, the sweep says so: nothing has left the searches for it.
        let kept = told.pull_requests.len();
        assert!(kept == 2 || !told.complete, "{place}: {kept}");
        assert_eq!(bench.world.faults_left(), [], "{place}");
    }
}
