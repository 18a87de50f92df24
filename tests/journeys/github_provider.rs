//! The GitHub provider over real HTTP, against the small GitHub and against GitHub's own descriptions.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod bad_days;
mod facts;
mod limits;
mod nulls;
mod reads;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use wloop_core::github::{
    AccountKind as Kind, Detail, InlineComment, LookUp, Mergeable, PostOrder, PullState, ReadFault, Reason, Refusal, RepoName,
    ReviewEvent, ReviewState, Reviewer, SendOutcome, Shape, Side,
};
use wloop_core::id::{IdSource, PostId};
use wloop_providers::{DetailRef, GithubConfig, GithubProvider, InventoryQuery, Provider, TeamPolicy, Viewer};
use wloop_world::{
    AccountKind, Call, CheckOutcome, Fault, FaultKind, Match, NewInlineComment, NewPullRequest, Options, Resource, SmallGithub,
};

const REPO: &str = "acme/web";
const OLD: &str = "fn one() {}\nfn two() {}\nfn three() {}\n";
const NEW: &str = "fn one() {}\nfn two() { body() }\nfn three() {}\nfn four() {}\n";
const POST: &str = "/repos/*/*/issues/*/comments";

/// A small GitHub with one pull request of `ada`, our provider as `me`, and a clock that the test moves.
struct Bench {
    world: SmallGithub,
    provider: Arc<GithubProvider>,
    number: u64,
    ahead_ms: Arc<AtomicI64>,
    _dir: TempDir,
}

impl Bench {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut GithubConfig)) -> Self {
        let dir = TempDir::new().unwrap();
        let world = SmallGithub::start(Options { dir: dir.path().to_owned(), port: 0, seed: 7 }).await.unwrap();
        world.add_user("me", AccountKind::User);
        world.add_token("me", "good");
        world.add_repository(REPO, &[("src/lib.rs", OLD)]).unwrap();
        let ahead_ms = Arc::new(AtomicI64::new(0));
        let number = open(&world, "ada", "teach");
        let provider = Arc::new(provider(&world.api_url(), "good", &ahead_ms, change));
        Self { world, provider, number, ahead_ms, _dir: dir }
    }

    async fn viewer(&self) -> Viewer {
        self.provider.viewer().await.unwrap()
    }

    async fn detail(&self) -> Detail {
        self.provider.detail(&DetailRef::ByNumber(repo(), self.number)).await.unwrap()
    }

    /// Moves our clock forwards; GitHub's stays.
    fn wait(&self, seconds: i64) {
        self.ahead_ms.fetch_add(seconds * 1_000, Ordering::SeqCst);
    }

    async fn order(&self, shape: Shape) -> PostOrder {
        let viewer = self.viewer().await.account.id;
        let post = PostId::draw(&mut Counted(u128::from(self.number) << 64 | 0xab));
        PostOrder {
            post,
            repo: repo(),
            number: self.number,
            head: self.world.head(REPO, self.number).unwrap(),
            shape,
            body: format!("Looks right.\n\n<!-- wloop:{post} -->"),
            viewer,
            started_at: now(),
            skew_ms: 0,
        }
    }

    fn calls(&self, method: &str, path: &str) -> Vec<Call> {
        let wanted = Match::new(method, path);
        self.world.calls().into_iter().filter(|call| wanted.fits_call(call)).collect()
    }

    fn fault(&self, method: &str, path: &str, kind: FaultKind) {
        self.world.push_fault(Fault::new(method, path, kind));
    }
}

struct Counted(u128);

impl IdSource for Counted {
    fn next_bits(&mut self) -> u128 {
        self.0
    }
}

fn provider(url: &str, token: &str, ahead_ms: &Arc<AtomicI64>, change: impl FnOnce(&mut GithubConfig)) -> GithubProvider {
    let ahead = Arc::clone(ahead_ms);
    let clock = move || now() + jiff::SignedDuration::from_millis(ahead.load(Ordering::SeqCst));
    let mut config = GithubConfig::new(url.to_owned(), token.to_owned().into(), Arc::new(clock));
    config.write_pause = Duration::ZERO;
    config.jitter = Arc::new(|| 0.0);
    change(&mut config);
    GithubProvider::new(config).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the small GitHub goes by the machine's clock, and so does who asks it")]
fn now() -> Timestamp {
    Timestamp::now()
}

fn repo() -> RepoName {
    REPO.parse().unwrap()
}

fn open(world: &SmallGithub, author: &str, branch: &str) -> u64 {
    world
        .open_pull_request(NewPullRequest {
            repo: REPO.to_owned(),
            author: author.to_owned(),
            title: format!("Change {branch}"),
            body: "why".to_owned(),
            branch: branch.to_owned(),
            files: vec![("src/lib.rs".to_owned(), Some(NEW.to_owned())), ("docs/new.md".to_owned(), Some("# New\n".to_owned()))],
            ..NewPullRequest::default()
        })
        .unwrap()
}

fn everything() -> InventoryQuery {
    InventoryQuery { teams: TeamPolicy::All, include_viewer_teams: vec!["acme/core".to_owned()], watched: vec![] }
}

fn review(event: ReviewEvent, comments: Vec<InlineComment>) -> Shape {
    Shape::Review { event, comments }
}

/// Waits for a condition of the world.
async fn until(what: &str, condition: impl Fn() -> bool) {
    wloop_tests::until(what, || async { if condition() { Ok(()) } else { Err("not yet".to_owned()) } }).await;
}

fn limit(status: u16, headers: &[(&str, &str)], message: &str) -> FaultKind {
    FaultKind::Answer {
        status,
        headers: headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        body: json!({"message": message}),
    }
}

// ---- what is sent fits what GitHub publishes -------------------------------------------------------------------------------

fn fixture(name: &str) -> String {
    let path = format!("{}/../src-tauri/world/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| format!("{path}: {error}"))
}

/// OpenAPI's `nullable` as JSON Schema.
fn rewrite(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Object(fields) => {
            fields.values_mut().for_each(rewrite);
            if fields.remove("nullable") == Some(Value::Bool(true)) {
                if let Some(Value::Array(choices)) = fields.get_mut("enum") {
                    choices.push(Value::Null);
                }
                if let Some(kind) = fields.get("type").and_then(Value::as_str).map(str::to_owned) {
                    fields.insert("type".to_owned(), json!([kind, "null"]));
                } else {
                    let inner = Value::Object(std::mem::take(fields));
                    fields.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Checks every REST call so far, its body and its answer, against GitHub's own description.
fn fits_openapi(calls: &[Call]) {
    let mut document: Value = serde_json::from_str(&fixture("openapi-subset.json")).unwrap();
    rewrite(&mut document);
    let paths = document["paths"].as_object().unwrap();
    let check = |schema: &Value, instance: &Value, what: &str| {
        let mut root = schema.clone();
        root["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&root).unwrap();
        let faults: Vec<String> = validator.iter_errors(instance).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(faults.is_empty(), "{what}: {faults:?}");
    };
    let mut checked = 0;
    for call in calls.iter().filter(|call| call.path != "/graphql") {
        let what = format!("{} {}", call.method, call.path);
        let described = paths.iter().find(|(template, _)| {
            let (a, b): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), call.path.split('/').collect());
            a.len() == b.len() && a.iter().zip(&b).all(|(t, p)| t.starts_with('{') || t == p)
        });
        let operation = &described.unwrap_or_else(|| unreachable!("{what} is not described")).1[call.method.to_lowercase()];
        assert!(operation.is_object(), "{what} is not described");
        if let Some(body) = &call.request {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            check(schema, body, &format!("the body of {what}"));
            let known = schema["properties"].as_object().unwrap();
            assert!(body.as_object().unwrap().keys().all(|key| known.contains_key(key)), "{what}: {body}");
        }
        let answered =
            call.status.map(|status| &operation["responses"][status.to_string()]["content"]["application/json"]["schema"]);
        if let (Some(schema), Some(answer)) = (answered.filter(|schema| schema.is_object()), &call.response) {
            check(schema, answer, &format!("the answer to {what}"));
            checked += 1;
        }
    }
    assert!(checked > 0, "no call was checked");
}

#[test]
fn every_graphql_document_fits_githubs_schema() {
    // GH-SYNC-11, GH-SYNC-14
    use apollo_compiler::validation::Valid;
    use apollo_compiler::{ExecutableDocument, Schema};
    // The published schema defines two fields twice; what is left of it is whole.
    let parsed = Schema::parse(fixture("schema.graphql"), "schema.graphql");
    let schema = Valid::assume_valid(parsed.unwrap_or_else(|errors| errors.partial));
    for (name, text) in wloop_providers::github::documents() {
        let checked = ExecutableDocument::parse_and_validate(&schema, text, name);
        assert!(checked.is_ok(), "{name}: {}", checked.unwrap_err());
    }
}
