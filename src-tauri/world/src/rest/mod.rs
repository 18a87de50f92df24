//! The REST routes.

mod page;
pub(crate) mod shapes;
mod writes;

use serde_json::{Value, json};

use crate::answer::{Answer, Asked};
use crate::clock::iso;
use crate::model::{AccountIx, InlineComment, Pull, PullState, Repo, ReviewState, State};
use crate::reviews::Refusal;
use crate::search::search;
use page::page;
use shapes::Shapes;

/// A route's outcome before it is an answer.
type Outcome = Result<Answer, Refusal>;

/// Answers a REST request of `viewer`.
pub(crate) fn answer(state: &mut State, base: &str, viewer: AccountIx, asked: &Asked) -> Answer {
    route(state, base, viewer, asked).unwrap_or_else(Answer::from)
}

fn found(body: Value) -> Outcome {
    Ok(Answer::json(200, body))
}

fn route(state: &mut State, base: &str, viewer: AccountIx, asked: &Asked) -> Outcome {
    let parts = asked.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    if let Some((owner, name, rest, moved)) = repository_of(state, &parts) {
        let full_name = format!("{owner}/{name}");
        if moved {
            return Ok(moved_to(state, base, &full_name, rest, asked));
        }
        if !state.repo(&full_name)?.visible_to(viewer) {
            return Err(Refusal::not_found());
        }
        return match asked.method.as_str() {
            "GET" | "HEAD" => read_repository(state, base, viewer, &full_name, rest, asked),
            _ => writes::write(state, base, viewer, &full_name, rest, asked),
        };
    }
    if !matches!(asked.method.as_str(), "GET" | "HEAD") {
        return Err(Refusal::not_found());
    }
    let shapes = Shapes { state, base };
    match parts.as_slice() {
        ["user"] => found(shapes.viewer(viewer)),
        ["user", "teams"] => {
            let teams = state.teams.iter().filter(|team| team.members.contains(&viewer));
            Ok(page(base, asked, teams.map(|team| shapes.full_team(team)).collect()))
        }
        ["users", login] => {
            let ix = state.account_ix(login).filter(|ix| state.live(*ix).is_some()).ok_or_else(Refusal::not_found)?;
            let mut value = shapes.viewer(ix);
            value["user_view_type"] = json!("public");
            found(value)
        }
        ["rate_limit"] => found(rate_limit(state)),
        ["search", "issues"] => search_issues(state, &shapes, viewer, asked),
        ["notifications"] => found(json!([])),
        _ => Err(Refusal::not_found()),
    }
}

/// The repository that a path is about, the parts after it, and whether it goes by an old name.
fn repository_of<'p>(state: &State, parts: &'p [&'p str]) -> Option<(String, String, &'p [&'p str], bool)> {
    let (repo, rest, moved) = match parts {
        ["repos", owner, name, rest @ ..] => {
            let asked = format!("{owner}/{name}").to_lowercase();
            let Ok(repo) = state.repo(&asked) else {
                return Some(((*owner).to_owned(), (*name).to_owned(), rest, false));
            };
            (repo, rest, repo.full_name.to_lowercase() != asked)
        }
        ["repositories", id, rest @ ..] => {
            let id: u64 = id.parse().ok()?;
            (state.repos.values().find(|repo| repo.id == id)?, rest, false)
        }
        _ => return None,
    };
    let (owner, name) = repo.full_name.split_once('/')?;
    Some((owner.to_owned(), name.to_owned(), rest, moved))
}

fn moved_to(state: &State, base: &str, full_name: &str, rest: &[&str], asked: &Asked) -> Answer {
    let id = state.repo(full_name).map_or(0, |repo| repo.id);
    let mut url = format!("{base}/repositories/{id}");
    for part in rest {
        url = format!("{url}/{part}");
    }
    if !asked.query.is_empty() {
        url = format!("{url}?{}", asked.query);
    }
    let status = if asked.method == "GET" { 301 } else { 307 };
    Answer::json(status, json!({"message": "Moved Permanently", "url": url, "documentation_url": "https://docs.github.com/rest"}))
        .with("location", &url)
}

fn number(text: &str) -> Result<u64, Refusal> {
    text.parse().map_err(|_| Refusal::not_found())
}

fn since(asked: &Asked) -> Result<Option<jiff::Timestamp>, Refusal> {
    asked
        .parameter("since")
        .map(|text| text.parse().map_err(|_| Refusal::unprocessable("since is no time in ISO 8601")))
        .transpose()
}

fn read_repository(state: &State, base: &str, viewer: AccountIx, full_name: &str, rest: &[&str], asked: &Asked) -> Outcome {
    let shapes = Shapes { state, base };
    let repo = state.repo(full_name)?;
    let pull = |text: &str| -> Result<&Pull, Refusal> { Ok(state.pull(full_name, number(text)?)?) };
    let listed = |items: Vec<Value>| Ok(page(base, asked, items));
    match rest {
        [] => found(shapes.repository(repo)),
        ["pulls"] => listed(list_pulls(repo, &shapes, asked)),
        ["pulls", "comments", id] => {
            let (pull, comment) = inline_of(repo, viewer, number(id)?)?;
            found(shapes.inline(repo, pull, comment))
        }
        ["pulls", n] => read_pull(repo, &shapes, pull(n)?, asked),
        ["pulls", n, "files"] => {
            let pull = pull(n)?;
            listed(pull.files.iter().map(|file| shapes.file(repo, &pull.head_sha, file)).collect())
        }
        ["pulls", n, "commits"] => {
            let commits = pull(n)?.commits.iter().filter_map(|sha| repo.commits.get(sha));
            listed(commits.map(|commit| shapes.commit(repo, commit)).collect())
        }
        ["pulls", n, "reviews"] => {
            let pull = pull(n)?;
            listed(pull.reviews_for(Some(viewer)).map(|review| shapes.review(repo, pull, review)).collect())
        }
        ["pulls", n, "reviews", id] => {
            let pull = pull(n)?;
            let id = number(id)?;
            let review = pull.reviews_for(Some(viewer)).find(|review| review.id == id);
            found(shapes.review(repo, pull, review.ok_or_else(Refusal::not_found)?))
        }
        ["pulls", n, "reviews", id, "comments"] => {
            let pull = pull(n)?;
            let id = number(id)?;
            pull.reviews_for(Some(viewer)).find(|review| review.id == id).ok_or_else(Refusal::not_found)?;
            let comments = pull.inline.iter().filter(|comment| comment.review == id);
            listed(comments.map(|comment| shapes.inline(repo, pull, comment)).collect())
        }
        ["pulls", n, "comments"] => {
            let pull = pull(n)?;
            let since = since(asked)?;
            let comments = pull.inline_published().filter(|held| since.is_none_or(|since| held.updated_at >= since));
            listed(comments.map(|comment| shapes.inline(repo, pull, comment)).collect())
        }
        ["pulls", n, "requested_reviewers"] => found(shapes.requested_reviewers(pull(n)?)),
        ["issues", "comments", id] => {
            let id = number(id)?;
            let held = repo
                .pulls
                .values()
                .find_map(|pull| pull.comments.iter().find(|comment| comment.id == id).map(|comment| (pull, comment)));
            let (pull, comment) = held.ok_or_else(Refusal::not_found)?;
            found(shapes.comment(repo, pull, comment))
        }
        ["issues", n] => found(shapes.issue(repo, pull(n)?, false)),
        ["issues", n, "comments"] => {
            let pull = pull(n)?;
            let since = since(asked)?;
            let comments = pull.comments.iter().filter(|held| since.is_none_or(|since| held.updated_at >= since));
            listed(comments.map(|comment| shapes.comment(repo, pull, comment)).collect())
        }
        ["compare", ends @ ..] => compare(repo, &shapes, &ends.join("/")),
        ["commits", reference @ .., "check-runs"] => {
            let sha = resolve(repo, &reference.join("/"))?;
            let runs: Vec<Value> = repo.checks_on(&sha).iter().filter_map(|check| shapes.check_run(repo, &sha, check)).collect();
            found(json!({"total_count": runs.len(), "check_runs": runs}))
        }
        ["commits", reference @ .., "status"] => {
            let sha = resolve(repo, &reference.join("/"))?;
            found(shapes.combined_status(repo, &sha))
        }
        _ => Err(Refusal::not_found()),
    }
}

fn inline_of(repo: &Repo, viewer: AccountIx, id: u64) -> Result<(&Pull, &InlineComment), Refusal> {
    repo.pulls
        .values()
        .find_map(|pull| pull.inline_comment(id).map(|comment| (pull, comment)))
        .filter(|(pull, comment)| pull.is_published(comment) || comment.author == viewer)
        .ok_or_else(Refusal::not_found)
}

fn resolve(repo: &Repo, reference: &str) -> Result<String, Refusal> {
    repo.git.resolve(&format!("refs/heads/{reference}")).or_else(|| repo.git.resolve(reference)).ok_or_else(|| Refusal {
        status: 404,
        message: format!("No commit found for SHA: {reference}"),
        errors: Vec::new(),
    })
}

fn list_pulls(repo: &Repo, shapes: &Shapes<'_>, asked: &Asked) -> Vec<Value> {
    let wanted = asked.parameter("state").unwrap_or_else(|| "open".to_owned());
    let mut pulls: Vec<&Pull> = repo
        .pulls
        .values()
        .filter(|pull| match wanted.as_str() {
            "all" => true,
            "closed" => pull.state != PullState::Open,
            _ => pull.state == PullState::Open,
        })
        .filter(|pull| asked.parameter("base").is_none_or(|base| pull.base_ref == base))
        .filter(|pull| asked.parameter("head").is_none_or(|head| head.rsplit(':').next() == Some(pull.head_ref.as_str())))
        .collect();
    let by_update = asked.parameter("sort").as_deref() == Some("updated");
    pulls.sort_by_key(|pull| (if by_update { pull.updated_at } else { pull.created_at }, pull.number));
    if asked.parameter("direction").as_deref() != Some("asc") {
        pulls.reverse();
    }
    pulls.into_iter().map(|pull| shapes.pull_simple(repo, pull)).collect()
}

fn read_pull(repo: &Repo, shapes: &Shapes<'_>, pull: &Pull, asked: &Asked) -> Outcome {
    let accept = asked.header("accept").unwrap_or_default();
    if accept.contains("diff") || accept.contains("patch") {
        let from = repo.git.merge_base(&pull.base_sha, &pull.head_sha).unwrap_or_else(|| pull.base_sha.clone());
        let text = repo.git.diff_text(&from, &pull.head_sha)? + "\n";
        return Ok(Answer::text(200, "application/vnd.github.diff; charset=utf-8", text));
    }
    found(shapes.pull(repo, pull))
}

fn compare(repo: &Repo, shapes: &Shapes<'_>, ends: &str) -> Outcome {
    let (base, head) = ends.split_once("...").ok_or_else(Refusal::not_found)?;
    let (base, head) = (resolve(repo, base)?, resolve(repo, head)?);
    let merge_base = repo.git.merge_base(&base, &head).ok_or_else(Refusal::not_found)?;
    let (behind, ahead) = repo.git.ahead_behind(&base, &head)?;
    let commits = repo.git.log(&format!("{base}..{head}"))?;
    let files = repo.git.diff(&merge_base, &head)?;
    let (base_commit, base_of_merge) = repo.git.info(&base).zip(repo.git.info(&merge_base)).ok_or_else(Refusal::not_found)?;
    let url = format!("{}/compare/{base}...{head}", shapes.repo_api(repo));
    let web = format!("{}/{}/compare/{base}...{head}", shapes.base, repo.full_name);
    found(json!({
        "url": url, "html_url": web, "permalink_url": web, "diff_url": format!("{web}.diff"),
        "patch_url": format!("{web}.patch"), "base_commit": shapes.commit(repo, &base_commit),
        "merge_base_commit": shapes.commit(repo, &base_of_merge),
        "status": match (ahead, behind) {
            (0, 0) => "identical",
            (_, 0) => "ahead",
            (0, _) => "behind",
            _ => "diverged",
        },
        "ahead_by": ahead, "behind_by": behind, "total_commits": commits.len(),
        "commits": commits.iter().map(|commit| shapes.commit(repo, commit)).collect::<Vec<_>>(),
        "files": files.iter().map(|file| shapes.file(repo, &head, file)).collect::<Vec<_>>(),
    }))
}

fn search_issues(state: &State, shapes: &Shapes<'_>, viewer: AccountIx, asked: &Asked) -> Outcome {
    let Some(query) = asked.parameter("q").filter(|query| !query.trim().is_empty()) else {
        let mut answer = Answer::error(422, "Validation Failed");
        if let crate::answer::Content::Json(body) = &mut answer.content {
            body["errors"] = json!([{"resource": "Search", "field": "q", "code": "missing"}]);
        }
        return Ok(answer);
    };
    let mut query = query;
    if let Some(sort) = asked.parameter("sort") {
        let order = asked.parameter("order").unwrap_or_else(|| "desc".to_owned());
        query = format!("{query} sort:{sort}-{order}");
    }
    let hits = search(state, viewer, &query);
    let total = hits.len();
    let items = hits.into_iter().take(1_000).map(|(repo, pull)| shapes.issue(repo, pull, true)).collect();
    let mut answer = page(shapes.base, asked, items);
    if let crate::answer::Content::Json(body) = &mut answer.content {
        *body = json!({
            "total_count": total, "incomplete_results": false, "items": body.take(), "search_type": "lexical",
        });
    }
    Ok(answer)
}

fn rate_limit(state: &State) -> Value {
    let one = |name: &str| {
        let quota = state.quota(name);
        json!({"limit": quota.limit, "used": quota.used, "remaining": quota.remaining(), "reset": quota.reset})
    };
    json!({
        "resources": {"core": one("core"), "graphql": one("graphql"), "search": one("search")},
        "rate": one("core"),
    })
}

/// What the control face and assertions show of a pull request.
pub(crate) fn summary(state: &State, repo: &Repo, pull: &Pull) -> Value {
    json!({
        "repo": repo.full_name, "number": pull.number, "node_id": pull.node_id, "title": pull.title,
        "state": match pull.state {
            PullState::Open => "OPEN",
            PullState::Closed => "CLOSED",
            PullState::Merged => "MERGED",
        },
        "draft": pull.draft, "head": pull.head_sha, "updated_at": iso(pull.updated_at),
        "reviews": pull.reviews.iter().map(|review| json!({
            "id": review.id, "author": state.login(review.author), "state": review.state.as_str(),
            "pending": review.state == ReviewState::Pending, "body": review.body, "commit": review.commit,
            "comments": pull.inline.iter().filter(|held| held.review == review.id).map(|held| json!({
                "id": held.id, "path": held.path, "line": held.original_line, "body": held.body,
                "in_reply_to": held.in_reply_to,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "comments": pull.comments.iter().map(|comment| json!({
            "id": comment.id, "author": state.login(comment.author), "body": comment.body,
        })).collect::<Vec<_>>(),
    })
}
