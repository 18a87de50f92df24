//! GitHub behind the port.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use wloop_core::github::{Detail, Inventory, LookUp, PostOrder, ReadFault, Reason, RepoName, SendOutcome};

use super::address::Addresses;
use super::client::{Client, GithubConfig};
use super::convert::{self, Notes, Read, Union};
use super::error::ConfigFault;
use super::graphql::{self, Envelope, Fault};
use super::{shapes, write};
use crate::port::{DetailRef, FilePatch, HeadNow, InventoryQuery, Provider, ProviderHealth, Reply, Viewer};

/// Results of a search page.
const SEARCH_PAGE: u64 = 50;
/// GitHub returns no more matches of one search than this.
const SEARCH_CEILING: u64 = 1_000;
/// Node ids in one request (GH-SYNC-13).
const IDS: usize = 100;
/// Searches in one request; only a viewer of many teams needs a second.
const ALIASES: usize = 20;
/// Rounds of further pages; an answer that never ends is a fault.
const ROUNDS: usize = 100;
/// What every search of the sweep starts with.
const OPEN: &str = "is:pr is:open archived:false";
/// The connections of a detail that are read to their end.
const CONNECTIONS: [&str; 7] = ["labels", "assignees", "reviewRequests", "timelineItems", "reviews", "reviewThreads", "comments"];

/// GitHub as a provider. Cheap to ask for health; everything else goes over the network.
#[derive(Debug)]
pub struct GithubProvider {
    client: Client,
}

/// One search of a sweep and how far it has been read.
#[derive(Debug, Clone)]
struct Search {
    reason: Reason,
    query: String,
    after: Option<String>,
}

impl GithubProvider {
    /// Builds the client; makes no request. Must be called on a thread of a tokio runtime.
    ///
    /// # Errors
    /// An address or a token that cannot be used, a client that cannot be built, and a missing runtime.
    pub fn new(config: GithubConfig) -> Result<Self, ConfigFault> {
        Ok(Self { client: Client::new(config)? })
    }

    /// The addresses that follow from the configuration.
    #[must_use]
    pub fn addresses(&self) -> &Addresses {
        &self.client.addresses
    }

    async fn read_viewer(&self) -> Result<Viewer, ReadFault> {
        let answer = self.client.get(self.client.rest(&["user"], &[])).await?;
        let user: shapes::RestUser = convert::parse(&answer.json()?, "the viewer")?;
        let account = convert::rest_user(&user)
            .ok_or_else(|| ReadFault::Unusable(format!("`{}` is an account of the unknown kind `{}`", user.login, user.kind)))?;
        let scopes = answer
            .header("x-oauth-scopes")
            .map(|text| text.split(',').map(str::trim).filter(|scope| !scope.is_empty()).map(str::to_owned).collect());
        let mut notes = Notes::new();
        let mut teams = Vec::new();
        match self.client.list(&["user", "teams"], &[]).await {
            Ok(list) => {
                for item in &list.items {
                    match convert::parse::<shapes::RestTeam>(item, "a team") {
                        Ok(team) => teams.push(format!("{}/{}", team.organization.login, team.slug)),
                        Err(fault) => notes.push(fault.to_string()),
                    }
                }
            }
            // A token without `read:org` may not list them; everything else works.
            Err(ReadFault::NotFound(why)) => notes.push(format!("the token may not list your teams: {why}")),
            Err(other) => return Err(other),
        }
        teams.sort();
        teams.dedup();
        self.client.note(notes);
        Ok(Viewer { account, teams, scopes, skew_ms: answer.skew_ms })
    }

    async fn sweep(&self, query: &InventoryQuery) -> Result<Inventory, ReadFault> {
        let mut waiting = searches(query);
        let mut union = Union::default();
        let mut skipped = Notes::new();
        let mut first: Option<(Value, i64)> = None;
        for _ in 0..ROUNDS {
            let batch: Vec<Search> = waiting.drain(..waiting.len().min(ALIASES)).collect();
            if batch.is_empty() {
                break;
            }
            let (envelope, answer) = self.client.query(&graphql::inventory(batch.len()), variables(&batch)).await?;
            let data = envelope.data.clone().unwrap_or(Value::Null);
            let bad = by_node(&envelope);
            for fault in envelope.errors.iter().filter(|fault| node_of(fault).is_none()) {
                skipped.push(fault.message.clone());
            }
            for (index, search) in batch.into_iter().enumerate() {
                let alias = format!("s{index}");
                let page = data.get(&alias).filter(|page| page.is_object());
                let Some(page) = page else {
                    return Err(ReadFault::Unusable(format!("the search `{}`: {}", search.query, envelope.messages())));
                };
                take_page(page, &alias, &search, &bad, &mut union, &mut skipped);
                if let Some(after) = next_cursor(page) {
                    if search.after.as_ref() == Some(&after) {
                        return Err(ReadFault::Unusable(format!("the search `{}` never ends", search.query)));
                    }
                    waiting.push(Search { after: Some(after), ..search });
                }
            }
            first.get_or_insert((data.get("viewer").cloned().unwrap_or(Value::Null), answer.skew_ms));
        }
        if !waiting.is_empty() {
            return Err(ReadFault::Unusable(format!("the searches do not end after {ROUNDS} requests")));
        }
        let (viewer, skew_ms) = first.unwrap_or((Value::Null, 0));
        let viewer = convert::viewer(&viewer)?;
        self.read_watched(&query.watched, &mut union, &mut skipped).await?;
        let complete = skipped.is_empty();
        self.client.skipped(skipped);
        Ok(Inventory { viewer, pull_requests: union.finish(), skew_ms, complete })
    }

    /// Asks for the watched ones that no search returned, by their ids (GH-SYNC-13). One that is not there, or not to be seen, is left
    /// out with a note and keeps what is stored of it; any other error makes the sweep incomplete.
    async fn read_watched(&self, watched: &[String], union: &mut Union, skipped: &mut Notes) -> Result<(), ReadFault> {
        let missing: Vec<&String> = watched.iter().filter(|id| !union.holds(id)).collect();
        let mut notes = Notes::new();
        for ids in missing.chunks(IDS) {
            let (envelope, _) = self.client.query(&graphql::watched(), json!({ "ids": ids })).await?;
            let nodes = envelope.data.as_ref().and_then(|data| data.get("nodes")).and_then(Value::as_array);
            let Some(nodes) = nodes else {
                return Err(ReadFault::Unusable(format!("the watched pull requests: {}", envelope.messages())));
            };
            for ((id, node), index) in ids.iter().zip(nodes).zip(0_u64..) {
                let fault = envelope.errors.iter().find(|fault| index_of(fault, "nodes") == Some(index));
                match (fault, node.get("__typename").and_then(Value::as_str)) {
                    (Some(fault), _) if fault.is_absence() => notes.push(format!("`{id}`: {}", fault.message)),
                    (Some(fault), _) => skipped.push(format!("`{id}`: {}", fault.message)),
                    (None, Some("PullRequest")) => match convert::summary(node) {
                        Ok(summary) => union.add_watched(summary),
                        Err(fault) => skipped.push(format!("`{id}`: {fault}")),
                    },
                    (None, _) => notes.push(format!("`{id}` is no pull request that the token may see")),
                }
            }
        }
        self.client.note(notes);
        Ok(())
    }

    async fn read_detail(&self, which: &DetailRef) -> Result<Detail, ReadFault> {
        let (document, variables) = match which {
            DetailRef::ById(id) => (graphql::detail_by_id(), json!({ "id": id })),
            DetailRef::ByNumber(repo, number) => {
                (graphql::detail_by_number(), json!({ "owner": repo.owner, "name": repo.name, "number": number }))
            }
        };
        let (envelope, answer) = self.client.query(&document, variables).await?;
        let mut pull = whole(envelope, which)?;
        self.complete(&mut pull).await?;
        let mut notes = Notes::new();
        let detail = convert::detail(&pull, Read { at: answer.at, skew_ms: answer.skew_ms }, &mut notes)?;
        self.client.note(notes.into_iter().map(|note| format!("{}: {note}", detail.slug())).collect());
        Ok(detail)
    }

    /// Reads every connection to its end and joins the pages (GH-SYNC-14).
    async fn complete(&self, pull: &mut Value) -> Result<(), ReadFault> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
        let (id, head) = (text(pull.get("id")), text(pull.get("headRefOid")));
        for _ in 0..ROUNDS {
            let Some(variables) = rest_of(pull, &id) else {
                self.complete_checks(pull, &id, &head).await?;
                return self.complete_threads(pull).await;
            };
            let (envelope, _) = self.client.query(&graphql::detail_more(), variables.clone()).await?;
            let more = one_node(envelope, &id)?;
            if text(more.get("headRefOid")) != head {
                return Err(ReadFault::Unusable("the pull request got new commits while it was read".to_owned()));
            }
            for name in CONNECTIONS {
                if variables.get(name) == Some(&Value::Bool(true)) {
                    join(pull, &more, name)?;
                }
            }
        }
        Err(ReadFault::Unusable(format!("its lists do not end after {ROUNDS} requests")))
    }

    /// The checks of the head: they hang on its commit, not on the pull request itself.
    async fn complete_checks(&self, pull: &mut Value, id: &str, head: &str) -> Result<(), ReadFault> {
        const ROLLUP: &str = "/commits/nodes/0/commit/statusCheckRollup";
        let Some(rollup) = pull.pointer_mut(ROLLUP) else { return Ok(()) };
        for _ in 0..ROUNDS {
            let Some(after) = rollup.get("contexts").and_then(next_cursor) else { return Ok(()) };
            let (envelope, _) = self.client.query(&graphql::checks_more(), json!({ "id": id, "after": after })).await?;
            let more = one_node(envelope, id)?;
            if more.get("headRefOid").and_then(Value::as_str) != Some(head) {
                return Err(ReadFault::Unusable("the pull request got new commits while it was read".to_owned()));
            }
            join(rollup, more.pointer(ROLLUP).unwrap_or(&Value::Null), "contexts")?;
        }
        Err(ReadFault::Unusable(format!("its checks do not end after {ROUNDS} requests")))
    }

    async fn complete_threads(&self, pull: &mut Value) -> Result<(), ReadFault> {
        let threads = pull.pointer_mut("/reviewThreads/nodes").and_then(Value::as_array_mut);
        for thread in threads.into_iter().flatten() {
            let id = thread.get("id").and_then(Value::as_str).unwrap_or("").to_owned();
            let mut rounds = 0;
            while let Some(after) = thread.get("comments").and_then(next_cursor) {
                rounds += 1;
                if rounds > ROUNDS {
                    return Err(ReadFault::Unusable(format!("a thread does not end after {ROUNDS} requests")));
                }
                let variables = json!({ "id": id, "after": after });
                let (envelope, _) = self.client.query(&graphql::thread_more(), variables).await?;
                let more = one_node(envelope, &id)?;
                join(thread, &more, "comments")?;
            }
        }
        Ok(())
    }

    async fn read_head(&self, repo: &RepoName, number: u64) -> Result<HeadNow, ReadFault> {
        let url = self.client.rest(&["repos", &repo.owner, &repo.name, "pulls", &number.to_string()], &[]);
        convert::head_now(&self.client.get(url).await?.json()?)
    }

    async fn read_diff(&self, repo: &RepoName, number: u64) -> Result<Vec<FilePatch>, ReadFault> {
        let number = number.to_string();
        let list = self.client.list(&["repos", &repo.owner, &repo.name, "pulls", &number, "files"], &[]).await?;
        list.items.iter().map(convert::file_patch).collect()
    }

    async fn send(&self, order: &PostOrder) -> SendOutcome {
        let path = write::path(order);
        let segments: Vec<&str> = path.iter().map(String::as_str).collect();
        let url = self.client.rest(&segments, &[]);
        write::outcome(order, self.client.write(url, &write::body(order)).await)
    }

    async fn find(&self, order: &PostOrder) -> LookUp {
        let (path, narrowed) = write::look_up_path(order);
        let segments: Vec<&str> = path.iter().map(String::as_str).collect();
        let since = write::since(order, self.client.skew_ms());
        let query: &[(&str, &str)] = if narrowed { &[("since", since.as_str())] } else { &[] };
        let list = match self.client.list(&segments, query).await {
            Ok(list) => list,
            // A wait makes no request, so that it is no look-up that found nothing (GH-SYNC-37).
            Err(ReadFault::Wait { until, why }) => return LookUp::Wait { until, why },
            Err(fault) => return LookUp::Incomplete { why: fault.to_string() },
        };
        let mut unreadable = None;
        for item in &list.items {
            match convert::parse::<shapes::RestPost>(item, "a listed post") {
                Ok(post) if write::is_post(&post, order) => return LookUp::Found(write::remote(post)),
                Ok(_) => {}
                Err(fault) => unreadable = Some(fault.to_string()),
            }
        }
        unreadable.map_or(LookUp::Absent, |why| LookUp::Incomplete { why })
    }
}

impl Provider for GithubProvider {
    fn viewer(&self) -> Reply<'_, Result<Viewer, ReadFault>> {
        Box::pin(self.read_viewer())
    }

    fn inventory<'a>(&'a self, query: &'a InventoryQuery) -> Reply<'a, Result<Inventory, ReadFault>> {
        Box::pin(self.sweep(query))
    }

    fn detail<'a>(&'a self, which: &'a DetailRef) -> Reply<'a, Result<Detail, ReadFault>> {
        Box::pin(self.read_detail(which))
    }

    fn head<'a>(&'a self, repo: &'a RepoName, number: u64) -> Reply<'a, Result<HeadNow, ReadFault>> {
        Box::pin(self.read_head(repo, number))
    }

    fn diff<'a>(&'a self, repo: &'a RepoName, number: u64) -> Reply<'a, Result<Vec<FilePatch>, ReadFault>> {
        Box::pin(self.read_diff(repo, number))
    }

    fn publish<'a>(&'a self, order: &'a PostOrder) -> Reply<'a, SendOutcome> {
        Box::pin(self.send(order))
    }

    fn look_up<'a>(&'a self, order: &'a PostOrder) -> Reply<'a, LookUp> {
        Box::pin(self.find(order))
    }

    fn health(&self) -> ProviderHealth {
        self.client.health()
    }

    fn try_again(&self) {
        self.client.try_again();
    }

    fn keep_quiet(&self, until: Timestamp) {
        self.client.keep_quiet(until);
    }
}

/// The searches of a sweep (GH-SYNC-01 a to e). A direct request and a team's are searched for apart.
fn searches(query: &InventoryQuery) -> Vec<Search> {
    let search = |reason, with: &str| Search { reason, query: format!("{OPEN} {with}"), after: None };
    let mut all = vec![
        search(Reason::Requested, "user-review-requested:@me"),
        search(Reason::Mine, "author:@me"),
        search(Reason::Assigned, "assignee:@me"),
        search(Reason::Reviewed, "reviewed-by:@me"),
    ];
    all.extend(query.admitted().iter().map(|team| search(Reason::Team, &format!("team-review-requested:{team}"))));
    all
}

fn variables(batch: &[Search]) -> Value {
    let mut all = Map::from_iter([("first".to_owned(), json!(SEARCH_PAGE))]);
    for (index, search) in batch.iter().enumerate() {
        all.insert(format!("q{index}"), json!(search.query));
        all.insert(format!("after{index}"), json!(search.after));
    }
    Value::Object(all)
}

/// The alias and the index of the search result that an error lies in.
fn node_of(fault: &Fault) -> Option<(String, u64)> {
    match fault.path.as_deref()? {
        [alias, nodes, index, ..] if nodes == "nodes" => Some((alias.as_str()?.to_owned(), index.as_u64()?)),
        _ => None,
    }
}

/// The index under a list of the answer's own that an error lies in.
fn index_of(fault: &Fault, list: &str) -> Option<u64> {
    match fault.path.as_deref()? {
        [name, index, ..] if name == list => index.as_u64(),
        _ => None,
    }
}

fn by_node(envelope: &Envelope) -> Vec<((String, u64), String)> {
    envelope.errors.iter().filter_map(|fault| Some((node_of(fault)?, fault.message.clone()))).collect()
}

/// Takes the good nodes of a page and says which were left out (GH-SYNC-24, GH-SYNC-27).
fn take_page(
    page: &Value,
    alias: &str,
    search: &Search,
    bad: &[((String, u64), String)],
    union: &mut Union,
    skipped: &mut Notes,
) {
    let matches = page.get("issueCount").and_then(Value::as_u64).unwrap_or(0);
    if search.after.is_none() && matches > SEARCH_CEILING {
        skipped.push(format!("the search `{}` has {matches} matches, and github returns {SEARCH_CEILING}", search.query));
    }
    let nodes = page.get("nodes").and_then(Value::as_array);
    if nodes.is_none() && matches > 0 {
        skipped.push(format!("the search `{}` has {matches} matches and returned none of them", search.query));
    }
    for (node, index) in nodes.into_iter().flatten().zip(0_u64..) {
        let name = || node.get("url").and_then(Value::as_str).unwrap_or("a pull request").to_owned();
        let fault = bad.iter().find(|((a, i), _)| a == alias && *i == index);
        if let Some((_, why)) = fault {
            skipped.push(format!("{}: {why}", name()));
            continue;
        }
        // A search may return what the token may not see as nothing.
        if node.is_null() || node.get("__typename").and_then(Value::as_str) != Some("PullRequest") {
            skipped.push(format!("the search `{}` returned something that is no pull request", search.query));
            continue;
        }
        match convert::summary(node) {
            Ok(summary) => union.add(summary, search.reason),
            Err(fault) => skipped.push(format!("{}: {fault}", name())),
        }
    }
}

/// The cursor of the next page of a connection, when there is one.
fn next_cursor(connection: &Value) -> Option<String> {
    let info = connection.get("pageInfo")?;
    let more = info.get("hasNextPage").and_then(Value::as_bool).unwrap_or(false);
    more.then(|| info.get("endCursor").and_then(Value::as_str).unwrap_or("").to_owned())
}

/// The pull request of a detail answer. Any error in it makes the whole of it unusable (GH-SYNC-15, GH-SYNC-24).
fn whole(envelope: Envelope, which: &DetailRef) -> Result<Value, ReadFault> {
    if let Some(fault) = envelope.errors.first() {
        return Err(fault.of_one_thing());
    }
    let place = match which {
        DetailRef::ById(_) => "/node",
        DetailRef::ByNumber(..) => "/repository/pullRequest",
    };
    let mut data = envelope.data.unwrap_or(Value::Null);
    let pull = data.pointer_mut(place).map(Value::take).unwrap_or(Value::Null);
    match pull.get("__typename").and_then(Value::as_str) {
        Some("PullRequest") => Ok(pull),
        Some(_) | None => Err(ReadFault::NotFound(match which {
            DetailRef::ById(id) => format!("there is no pull request with the id `{id}`"),
            DetailRef::ByNumber(repo, number) => format!("there is no pull request `{repo}#{number}`"),
        })),
    }
}

fn one_node(envelope: Envelope, id: &str) -> Result<Value, ReadFault> {
    whole_node(envelope).map_err(|fault| match fault {
        Some(fault) => fault.of_one_thing(),
        None => ReadFault::NotFound(format!("`{id}` went away while it was read")),
    })
}

fn whole_node(mut envelope: Envelope) -> Result<Value, Option<Fault>> {
    if !envelope.errors.is_empty() {
        return Err(Some(envelope.errors.swap_remove(0)));
    }
    let node = envelope.data.as_mut().and_then(|data| data.get_mut("node")).map(Value::take);
    node.filter(Value::is_object).ok_or(None)
}

/// The variables that ask for what is missing yet; `None` when nothing is.
fn rest_of(pull: &Value, id: &str) -> Option<Value> {
    let mut variables = Map::from_iter([("id".to_owned(), json!(id))]);
    let mut any = false;
    for name in CONNECTIONS {
        let after = pull.get(name).and_then(next_cursor);
        any |= after.is_some();
        variables.insert(name.to_owned(), json!(after.is_some()));
        variables.insert(format!("{name}After"), json!(after));
    }
    any.then_some(Value::Object(variables))
}

/// Puts the nodes of a further page behind those of `parent`, and takes over where it ended.
fn join(parent: &mut Value, more: &Value, name: &str) -> Result<(), ReadFault> {
    let fault = |what: &str| ReadFault::Unusable(format!("a further page of `{name}` {what}"));
    let page = more.get(name).filter(|page| page.is_object()).ok_or_else(|| fault("is missing"))?;
    let known = parent.get_mut(name).and_then(Value::as_object_mut).ok_or_else(|| fault("belongs to nothing"))?;
    let info = page.get("pageInfo").cloned().unwrap_or(Value::Null);
    if next_cursor(page).is_some() && known.get("pageInfo").and_then(|i| i.get("endCursor")) == info.get("endCursor") {
        return Err(fault("starts where it ended"));
    }
    known.insert("pageInfo".to_owned(), info);
    let further = page.get("nodes").and_then(Value::as_array).cloned().unwrap_or_default();
    match known.get_mut("nodes").and_then(Value::as_array_mut) {
        Some(nodes) => nodes.extend(further),
        None => {
            known.insert("nodes".to_owned(), Value::Array(further));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "adapter_tests.rs"]
mod tests;
