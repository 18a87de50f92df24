//! What the executor walks over: roots, repositories, pull requests, and smaller things as JSON.
//!
//! A JSON object may be a reference, such as `{"$review": ["acme/api", 1, 17]}`: it is looked up only when a query
//! asks for something in it, so that things that know each other do not unfold without end.

use std::cell::RefCell;

use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use apollo_compiler::response::JsonValue;
use serde_json::{Map, Value, json};

use super::connection::Connection;
use super::{MESSAGE_END, TYPE_END, field_error, pull};
use crate::clock::iso;
use crate::model::{AccountIx, AccountKind, Pull, PullState, Repo, State, Team};
use crate::search::search;

/// Who asks, and what there is.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'s> {
    pub(crate) state: &'s State,
    pub(crate) base: &'s str,
    pub(crate) viewer: AccountIx,
}

/// Threads that a mutation resolves, or opens again.
pub(crate) type Resolutions = RefCell<Vec<(String, bool)>>;

/// An object that a query can go into.
pub(crate) enum Obj<'s> {
    Query(Ctx<'s>),
    Mutation(Ctx<'s>, &'s Resolutions),
    Repo(Ctx<'s>, &'s Repo),
    Pull(Ctx<'s>, &'s Repo, &'s Pull),
    Json(Ctx<'s>, String, Map<String, Value>),
    Connection(Ctx<'s>, Connection),
    /// Nothing, and why. The executor makes one item of a list null only when it is an object that it refuses, and it
    /// refuses one whose type the schema lacks: the type's name is the error.
    Missing(String),
}

impl ObjectValue for Obj<'_> {
    fn type_name(&self) -> &str {
        match self {
            Self::Query(_) => "Query",
            Self::Mutation(..) => "Mutation",
            Self::Repo(..) => "Repository",
            Self::Pull(..) => "PullRequest",
            Self::Json(_, name, _) => name,
            Self::Connection(_, connection) => &connection.type_name,
            Self::Missing(error) => error,
        }
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        let (ctx, value) = match self {
            Self::Query(ctx) => (*ctx, query(*ctx, info)?),
            Self::Mutation(ctx, resolutions) => (*ctx, mutation(*ctx, resolutions, info)?),
            Self::Repo(ctx, repo) => (*ctx, repository(*ctx, repo, info)?),
            Self::Pull(ctx, repo, pull) => (*ctx, pull::field(*ctx, repo, pull, info)?),
            Self::Json(ctx, name, held) => {
                let field = info.field_name();
                (*ctx, held.get(field).cloned().ok_or_else(|| Self::not_held(name, field))?)
            }
            Self::Connection(ctx, connection) => return connection.field(*ctx, info),
            Self::Missing(_) => return Ok(ResolvedValue::null()),
        };
        finish(ctx, value, info)
    }
}

impl Obj<'_> {
    /// The error for what GitHub knows and this world does not.
    pub(crate) fn not_held(type_name: &str, field: &str) -> FieldError {
        field_error("NOT_SIMULATED", &format!("the small GitHub holds no `{type_name}.{field}`"))
    }
}

/// A list where the schema has a connection is cut as the arguments say; all else goes as it is.
fn finish<'a>(ctx: Ctx<'a>, value: Value, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
    let hint = info.field_definition().ty.inner_named_type().as_str();
    if hint.ends_with("Connection") {
        let (items, extra) = match value {
            Value::Array(items) => (items, Map::new()),
            Value::Object(mut extra) => match extra.remove("$items") {
                Some(Value::Array(items)) => (items, extra),
                Some(_) | None => return Err(Obj::not_held(hint, info.field_name())),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(ResolvedValue::null()),
        };
        return Ok(ResolvedValue::object(Obj::Connection(ctx, Connection::cut(info, items, extra)?)));
    }
    resolve(ctx, value, hint)
}

/// A value as the executor takes it; `hint` is the type of an object that does not say its own.
pub(crate) fn resolve<'a>(ctx: Ctx<'a>, value: Value, hint: &'a str) -> Result<ResolvedValue<'a>, FieldError> {
    match value {
        Value::Array(items) => Ok(ResolvedValue::List(Box::new(items.into_iter().map(move |item| resolve(ctx, item, hint))))),
        Value::Object(map) => {
            if let Some(error) = map.get("$error").and_then(Value::as_str) {
                return Ok(ResolvedValue::object(Obj::Missing(format!("NOT_FOUND{TYPE_END}{error}{MESSAGE_END}"))));
            }
            match reference(ctx, &map) {
                Some(Looked::Object(object)) => Ok(ResolvedValue::object(object)),
                Some(Looked::Json(value)) => resolve(ctx, value, hint),
                None => {
                    let name = map.get("__typename").and_then(Value::as_str).unwrap_or(hint).to_owned();
                    Ok(ResolvedValue::object(Obj::Json(ctx, name, map)))
                }
            }
        }
        leaf @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            Ok(ResolvedValue::Leaf(JsonValue::from(leaf)))
        }
    }
}

enum Looked<'s> {
    Object(Obj<'s>),
    Json(Value),
}

/// What a reference names; one that leads nowhere is null.
fn reference<'s>(ctx: Ctx<'s>, map: &Map<String, Value>) -> Option<Looked<'s>> {
    let (key, place) = map.iter().next().filter(|(key, _)| key.starts_with('$'))?;
    let text = |at: usize| place.get(at).and_then(Value::as_str).unwrap_or_default();
    let number = |at: usize| place.get(at).and_then(Value::as_u64).unwrap_or_default();
    let Ok(repo) = ctx.state.repo(text(0)) else { return Some(Looked::Json(Value::Null)) };
    let on = repo.pulls.get(&number(1));
    let json = match key.as_str() {
        "$repo" => return Some(Looked::Object(Obj::Repo(ctx, repo))),
        "$pull" => return on.map(|on| Looked::Object(Obj::Pull(ctx, repo, on))),
        "$commit" => Some(pull::commit(ctx, repo, text(1))),
        "$review" => on.and_then(|on| Some(pull::review(ctx, repo, on, on.review(number(2))?))),
        "$inline" => on.and_then(|on| Some(pull::inline(ctx, repo, on, on.inline_comment(number(2))?))),
        _ => None,
    };
    Some(Looked::Json(json.unwrap_or_default()))
}

fn text_argument<'i>(info: &'i ResolveInfo<'_>, name: &str) -> Option<&'i str> {
    info.arguments().get(name).and_then(|value| value.as_str())
}

fn not_found(message: String) -> FieldError {
    field_error("NOT_FOUND", &message)
}

fn query(ctx: Ctx<'_>, info: &ResolveInfo<'_>) -> Result<Value, FieldError> {
    let state = ctx.state;
    match info.field_name() {
        "viewer" => Ok(account(ctx, ctx.viewer)),
        "rateLimit" => {
            let quota = state.quota("graphql");
            let reset = jiff::Timestamp::from_second(quota.reset).unwrap_or_else(|_| state.now());
            Ok(json!({
                "cost": 1, "limit": quota.limit, "remaining": quota.remaining(), "used": quota.used,
                "nodeCount": 0, "resetAt": iso(reset),
            }))
        }
        "search" => {
            let kind = text_argument(info, "type").unwrap_or_default();
            if kind != "ISSUE" && kind != "ISSUE_ADVANCED" {
                return Ok(json!([]));
            }
            let found = search(state, ctx.viewer, text_argument(info, "query").unwrap_or_default());
            Ok(found.into_iter().map(|(repo, on)| json!({"$pull": [repo.full_name, on.number]})).collect())
        }
        "repository" => {
            let owner = text_argument(info, "owner").unwrap_or_default();
            let name = text_argument(info, "name").unwrap_or_default();
            let full_name = format!("{owner}/{name}");
            let repo = state.repo(&full_name).ok().filter(|repo| repo.visible_to(ctx.viewer));
            repo.map(|repo| json!({"$repo": [repo.full_name]}))
                .ok_or_else(|| not_found(format!("Could not resolve to a Repository with the name '{full_name}'.")))
        }
        "node" => {
            let value = node(ctx, text_argument(info, "id").unwrap_or_default());
            Ok(value)
        }
        "nodes" => {
            let ids = info.arguments().get("ids").and_then(|ids| ids.as_array());
            let ids = ids.map(Vec::as_slice).unwrap_or_default();
            if ids.len() > 100 {
                return Err(field_error(
                    "ARGUMENT_LIMIT",
                    &format!("You may not provide more than 100 node ids; you provided {}.", ids.len()),
                ));
            }
            Ok(ids.iter().map(|id| node(ctx, id.as_str().unwrap_or_default())).collect())
        }
        "user" | "organization" => {
            let login = text_argument(info, "login").unwrap_or_default();
            let wanted = if info.field_name() == "user" { AccountKind::User } else { AccountKind::Organization };
            let found = state.account_ix(login).filter(|ix| state.live(*ix).is_some_and(|held| held.kind == wanted));
            found
                .map(|ix| account(ctx, ix))
                .ok_or_else(|| not_found(format!("Could not resolve to a {} with the login of '{login}'.", wanted.type_name())))
        }
        name => Err(Obj::not_held("Query", name)),
    }
}

fn mutation(ctx: Ctx<'_>, resolutions: &Resolutions, info: &ResolveInfo<'_>) -> Result<Value, FieldError> {
    let resolved = match info.field_name() {
        "resolveReviewThread" => true,
        "unresolveReviewThread" => false,
        name => return Err(Obj::not_held("Mutation", name)),
    };
    let input = info.arguments().get("input");
    let given = |key: &str| input.and_then(|input| input.get(key)).and_then(|value| value.as_str());
    let id = given("threadId").unwrap_or_default();
    let mut thread = node(ctx, id);
    if thread.get("isResolved").is_none() {
        return Err(not_found(format!("Could not resolve to a node with the global id of '{id}'.")));
    }
    thread["isResolved"] = resolved.into();
    thread["resolvedBy"] = if resolved { account(ctx, ctx.viewer) } else { Value::Null };
    resolutions.borrow_mut().push((id.to_owned(), resolved));
    Ok(json!({"clientMutationId": given("clientMutationId"), "thread": thread}))
}

/// What a node id names, as JSON or a reference, or the error that nothing does.
fn node(ctx: Ctx<'_>, id: &str) -> Value {
    let state = ctx.state;
    if let Some(ix) = state.accounts.iter().position(|held| held.node_id == id && !held.deleted) {
        return account(ctx, ix);
    }
    if let Some(held) = state.teams.iter().find(|held| held.node_id == id) {
        return team(ctx, held);
    }
    for repo in state.repos.values().filter(|repo| repo.visible_to(ctx.viewer)) {
        if repo.node_id == id {
            return json!({"$repo": [repo.full_name]});
        }
        if let Some(found) = repo.pulls.values().find_map(|on| pull::node(ctx, repo, on, id)) {
            return found;
        }
    }
    json!({"$error": format!("Could not resolve to a node with the global id of '{id}'")})
}

/// An account; null for one that was deleted.
pub(crate) fn account(ctx: Ctx<'_>, ix: AccountIx) -> Value {
    let Some(held) = ctx.state.live(ix) else { return Value::Null };
    json!({
        "__typename": held.kind.type_name(), "id": held.node_id, "databaseId": held.id, "login": held.login,
        "name": null, "email": "", "url": format!("{}/{}", ctx.base, held.login),
        "resourcePath": format!("/{}", held.login), "avatarUrl": format!("{}/avatars/{}", ctx.base, held.login),
        "createdAt": iso(held.created_at), "isViewer": ix == ctx.viewer,
    })
}

pub(crate) fn team(ctx: Ctx<'_>, held: &Team) -> Value {
    let org = ctx.state.login(held.org);
    json!({
        "__typename": "Team", "id": held.node_id, "databaseId": held.id, "name": held.slug, "slug": held.slug,
        "combinedSlug": format!("{org}/{}", held.slug), "organization": account(ctx, held.org),
        "url": format!("{}/orgs/{org}/teams/{}", ctx.base, held.slug), "description": null, "privacy": "VISIBLE",
        "members": held.members.iter().map(|ix| account(ctx, *ix)).filter(|held| !held.is_null()).collect::<Vec<_>>(),
    })
}

fn repository(ctx: Ctx<'_>, repo: &Repo, info: &ResolveInfo<'_>) -> Result<Value, FieldError> {
    Ok(match info.field_name() {
        "id" => json!(repo.node_id),
        "databaseId" => json!(repo.id),
        "name" => json!(repo.name),
        "nameWithOwner" => json!(repo.full_name),
        "owner" => account(ctx, repo.owner),
        "url" => json!(format!("{}/{}", ctx.base, repo.full_name)),
        "resourcePath" => json!(format!("/{}", repo.full_name)),
        "sshUrl" => json!(format!("{}/{}.git", ctx.base, repo.full_name)),
        "visibility" => json!(if repo.public { "PUBLIC" } else { "PRIVATE" }),
        "isPrivate" => json!(!repo.public),
        "isArchived" => json!(repo.archived),
        "isFork" | "isDisabled" | "isEmpty" | "isLocked" | "isMirror" | "isTemplate" => json!(false),
        "description" | "homepageUrl" | "parent" | "primaryLanguage" | "licenseInfo" => Value::Null,
        "createdAt" => json!(iso(repo.created_at)),
        "updatedAt" => json!(iso(repo.updated_at)),
        "pushedAt" => json!(iso(repo.pushed_at)),
        "viewerPermission" => json!("WRITE"),
        "viewerCanAdminister" => json!(false),
        "hasIssuesEnabled" | "mergeCommitAllowed" | "squashMergeAllowed" | "rebaseMergeAllowed" => json!(true),
        "defaultBranchRef" => {
            let name = &repo.default_branch;
            json!({"id": format!("REF_{}", repo.node_id), "name": name, "prefix": "refs/heads/"})
        }
        "pullRequest" => {
            let number = info.arguments().get("number").and_then(|number| number.as_u64()).unwrap_or_default();
            if !repo.pulls.contains_key(&number) {
                return Err(not_found(format!("Could not resolve to a PullRequest with the number of {number}.")));
            }
            json!({"$pull": [repo.full_name, number]})
        }
        "pullRequests" => {
            let wanted: Vec<&str> = info
                .arguments()
                .get("states")
                .and_then(|states| states.as_array())
                .map(|states| states.iter().filter_map(|state| state.as_str()).collect())
                .unwrap_or_default();
            let fits = |on: &&Pull| wanted.is_empty() || wanted.contains(&state_word(on.state));
            repo.pulls.values().filter(fits).map(|on| json!({"$pull": [repo.full_name, on.number]})).collect()
        }
        name => return Err(Obj::not_held("Repository", name)),
    })
}

pub(crate) fn state_word(state: PullState) -> &'static str {
    match state {
        PullState::Open => "OPEN",
        PullState::Closed => "CLOSED",
        PullState::Merged => "MERGED",
    }
}
