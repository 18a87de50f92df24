//! The `gh` that an agent finds first on its path, as far as it is a decision: what a call of it is (GH-PUB-23, GH-PUB-24). A call
//! that writes one of the shapes that a round may publish becomes the arguments of `github_post`; one that only reads becomes the
//! arguments for the real `gh`, built anew from what was understood; every other call is refused with one line. Nothing is guessed: a
//! command or a flag that is not in the tables below does not pass.

mod fields;
mod flags;
mod read;
mod write;

use std::collections::BTreeMap;

use serde_json::Value;

pub use fields::Fields;

/// What a round may do with `gh`, in one line.
pub const ALLOWED: &str = "a round may use `gh pr review`, `gh pr comment`, `gh api` with POST to the reviews, comments or replies of \
its own pull request, and commands that only read";

/// Which pull request a call names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// `owner/repo`, without a host; `None` is the repository of the turn.
    pub repo: Option<String>,
    /// Its number; `None` is the pull request of the turn.
    pub number: Option<u64>,
}

/// How a write is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerForm {
    /// The address, on a line of its own.
    Address,
    /// GitHub's JSON for that shape.
    Json,
    /// One member of that JSON: `--jq .name`.
    Member(String),
    /// Nothing: `--silent`.
    Silent,
}

/// What a call of `gh` is.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// A write that a round may make, if its turn may.
    Write {
        /// On which pull request.
        target: Target,
        /// The arguments of `github_post`.
        arguments: Value,
        /// How it is answered.
        form: AnswerForm,
    },
    /// A command that only reads, complete, for the real `gh`.
    Read(Vec<String>),
    /// It asks what there is.
    Help,
}

/// Where GitHub is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The host of its web pages, such as `github.com`.
    pub host: String,
}

/// The files that a call names, `-` standing for standard input, so that the program at the agent's side reads them with the
/// agent's own rights. A call that is refused names none.
#[must_use]
pub fn files(arguments: &[String]) -> Vec<String> {
    let mut named = Vec::new();
    let mut note = |name: &str| -> Result<String, String> {
        if !named.iter().any(|n| n == name) {
            named.push(name.to_owned());
        }
        // Something that goes on being right wherever a text or a JSON is wanted.
        Ok("{}".to_owned())
    };
    let _what_it_is = classify_with(arguments, &Site { host: String::new() }, &mut note);
    named
}

/// What a call is; `files` holds the contents of the files that it names.
///
/// # Errors
/// Why it is refused, in one line.
pub fn classify(arguments: &[String], site: &Site, files: &BTreeMap<String, String>) -> Result<Call, String> {
    classify_with(arguments, site, &mut |name| {
        files.get(name).cloned().ok_or_else(|| format!("`{name}` cannot be read; give the text itself"))
    })
}

/// Reads a file by its name; `-` is standard input.
type Reader<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

fn classify_with(arguments: &[String], site: &Site, read: &mut Reader<'_>) -> Result<Call, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.iter().any(|word| word.contains('\0')) {
        return Err("an argument holds a zero byte".to_owned());
    }
    let asks = |word: &&str| matches!(*word, "--help" | "-h");
    match words.as_slice() {
        [] | ["help", ..] | ["--help" | "-h", ..] => Ok(Call::Help),
        ["--version" | "version"] => Ok(Call::Read(vec!["--version".to_owned()])),
        ["auth", ..] => Err("`gh auth` is refused: wloop signs in for its rounds, and no token is given to an agent".to_owned()),
        ["api", rest @ ..] if rest.first().is_some_and(asks) => Ok(Call::Help),
        ["api", rest @ ..] => api(rest, site, read),
        [group, rest @ ..] if !group.starts_with('-') => {
            let (before, rest) = flags::leading_repo(rest);
            let Some((command, rest)) = rest.split_first() else {
                return if read::is_group(group) { Ok(Call::Help) } else { Err(format!("`gh {group}` is refused; {ALLOWED}")) };
            };
            if asks(command) || rest.first().is_some_and(asks) {
                return Ok(Call::Help);
            }
            let rest: Vec<&str> = before.iter().chain(rest).copied().collect();
            match (*group, *command) {
                ("pr", "review") => write::review(&rest, site, read),
                ("pr", "comment") => write::comment(&rest, site, read),
                (group, command) => read::command(group, command, &rest, site),
            }
        }
        [first, ..] => Err(format!("`{first}` is not known here; {ALLOWED}")),
    }
}

/// `gh api`: what it does follows from its method and its fields, as with the real one.
fn api(words: &[&str], site: &Site, read: &mut Reader<'_>) -> Result<Call, String> {
    let given = flags::scan(words, &flags::API)?;
    if given.has("hostname") || given.has("cache") || given.has("verbose") {
        return Err("`--hostname`, `--cache` and `--verbose` of `gh api` are refused; leave them out".to_owned());
    }
    let [endpoint] = given.free.as_slice() else {
        return Err("`gh api` takes one endpoint".to_owned());
    };
    if endpoint.contains("://") || endpoint.starts_with("//") || endpoint.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("`{endpoint}` is no path of the API, such as `repos/OWNER/REPO/pulls/1`"));
    }
    let path = endpoint.trim_start_matches('/');
    let sends = given.has("raw-field") || given.has("field") || given.has("input");
    let method = given.last("method").map_or_else(|| if sends { "POST" } else { "GET" }.to_owned(), str::to_uppercase);
    let graphql = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').eq_ignore_ascii_case("graphql");
    match method.as_str() {
        _ if graphql => read::graphql(&given),
        "GET" => read::get(path, &given),
        "POST" => write::api(path, &given, site, read),
        other => Err(format!("`gh api` with {other} is refused; {ALLOWED}")),
    }
}

/// `owner/repo` of what `-R` takes: that, the same after the host, or an address.
fn repository(text: &str, site: &Site) -> Result<String, String> {
    let plain = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let plain = plain.trim_end_matches('/');
    let parts: Vec<&str> = plain.split('/').collect();
    let (owner, repo) = match parts.as_slice() {
        [owner, repo] if plain == text.trim_end_matches('/') => (owner, repo),
        [host, owner, repo] if site.host.is_empty() || host.eq_ignore_ascii_case(&site.host) => (owner, repo),
        [_, _, _] => return Err(format!("`{text}` is on another host than `{}`", site.host)),
        _ => return Err(format!("`{text}` is no repository; write OWNER/REPO")),
    };
    let repo = repo.strip_suffix(".git").unwrap_or(repo);
    let plain = |word: &str| {
        !word.is_empty()
            && !matches!(word, "." | "..")
            && !word.starts_with('-')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    if plain(owner) && plain(repo) {
        Ok(format!("{owner}/{repo}"))
    } else {
        Err(format!("`{text}` is no repository; write OWNER/REPO"))
    }
}

/// The pull request that a call names: its number or its address beside `-R`, or none of them.
fn target(given: &flags::Given<'_>, site: &Site) -> Result<Target, String> {
    let mut found = Target { repo: given.last("repo").map(|text| repository(text, site)).transpose()?, number: None };
    match given.free.as_slice() {
        [] => {}
        [one] => {
            if one.contains("://") {
                let odd = || format!("`{one}` is no address of a pull request");
                let (repo, rest) = one.split_once("/pull/").ok_or_else(odd)?;
                let number = rest.split(['/', '?', '#']).next().unwrap_or_default();
                let repo = repository(repo, site)?;
                if found.repo.as_ref().is_some_and(|other| !other.eq_ignore_ascii_case(&repo)) {
                    return Err(format!("`{one}` is in another repository than `-R` says"));
                }
                found = Target { repo: Some(repo), number: Some(number.parse().map_err(|_| odd())?) };
            } else {
                let number = one.strip_prefix('#').unwrap_or(one).parse();
                found.number = Some(number.map_err(|_| format!("`{one}` is no number; name the pull request by its number"))?);
            }
        }
        [_, extra, ..] => return Err(format!("`{extra}` is too much: one pull request is written on at a time")),
    }
    Ok(found)
}

/// GitHub's answer to a write, as far as its fields are known: each is what the schema of that answer says of it.
#[must_use]
pub fn answer_json(shape: &str, post: &Posted<'_>) -> Value {
    let web = post.url.split("/pull/").next().unwrap_or_default();
    let pull = format!("{}/repos/{}/pulls/{}", post.api.trim_end_matches('/'), post.repo, post.number);
    let mut answer = serde_json::json!({
        "id": post.database_id,
        "node_id": post.node_id,
        "html_url": post.url,
        "body": post.body,
        "user": { "login": post.login, "node_id": post.login_id, "type": "User", "html_url": web_of(web, post.login) },
    });
    let issue = format!("{}/repos/{}/issues/{}", post.api.trim_end_matches('/'), post.repo, post.number);
    match shape {
        "review" => {
            answer["state"] = post.state.into();
            answer["commit_id"] = post.head.into();
            answer["pull_request_url"] = pull.as_str().into();
            answer["_links"] = serde_json::json!({ "html": { "href": post.url }, "pull_request": { "href": pull } });
            answer["submitted_at"] = post.at.into();
        }
        "reply" => {
            answer["url"] =
                format!("{}/repos/{}/pulls/comments/{}", post.api.trim_end_matches('/'), post.repo, post.database_id).into();
            answer["pull_request_url"] = pull.into();
            answer["in_reply_to_id"] = post.in_reply_to.into();
            answer["created_at"] = post.at.into();
            answer["updated_at"] = post.at.into();
        }
        _ => {
            answer["url"] =
                format!("{}/repos/{}/issues/comments/{}", post.api.trim_end_matches('/'), post.repo, post.database_id).into();
            answer["issue_url"] = issue.into();
            answer["created_at"] = post.at.into();
            answer["updated_at"] = post.at.into();
        }
    }
    answer
}

fn web_of(repo_address: &str, login: &str) -> String {
    let mut parts = repo_address.rsplitn(3, '/');
    let web = parts.nth(2).unwrap_or_default();
    format!("{web}/{login}")
}

/// What is known of a post that was made.
#[derive(Debug, Clone, Copy)]
pub struct Posted<'a> {
    /// The base address of the API.
    pub api: &'a str,
    /// `owner/repo`.
    pub repo: &'a str,
    /// The pull request.
    pub number: u64,
    /// GitHub's number of the post.
    pub database_id: u64,
    /// GitHub's id of the post.
    pub node_id: &'a str,
    /// Its address.
    pub url: &'a str,
    /// Its text as it went out.
    pub body: &'a str,
    /// The account.
    pub login: &'a str,
    /// The account's id.
    pub login_id: &'a str,
    /// A review's state, such as `APPROVED`; empty for another shape.
    pub state: &'a str,
    /// The commit.
    pub head: &'a str,
    /// The comment that a reply answers.
    pub in_reply_to: Option<u64>,
    /// When it was made, in GitHub's form.
    pub at: &'a str,
}

#[cfg(test)]
#[path = "gh_tests.rs"]
mod tests;
