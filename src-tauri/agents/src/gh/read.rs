//! Commands that only read. What passes is built anew from what was understood, so that no word reaches the real `gh` that nobody
//! looked at: a filter that could read the environment, a host that is not ours, a method, a file.

use super::flags::{Flag, Given, plain, scan, takes};
use super::{ALLOWED, Call, Site, repository};

/// How a command's words that are no flags are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    /// A number, a branch or an address on our host.
    Named,
    /// A repository.
    Repository,
    /// What is searched for.
    Free,
}

const COMMON: [Flag; 4] = [takes("json", None), takes("jq", Some('q')), takes("template", Some('t')), takes("repo", Some('R'))];

const LIST: [Flag; 15] = [
    takes("limit", Some('L')),
    takes("state", Some('s')),
    takes("label", Some('l')),
    takes("author", Some('A')),
    takes("assignee", Some('a')),
    takes("search", Some('S')),
    takes("base", Some('B')),
    takes("head", Some('H')),
    takes("milestone", Some('m')),
    takes("mention", None),
    takes("app", None),
    takes("order", None),
    takes("sort", None),
    plain("draft", Some('d')),
    plain("all", None),
];

const RUN: [Flag; 14] = [
    takes("branch", Some('b')),
    takes("commit", Some('c')),
    takes("event", Some('e')),
    takes("limit", Some('L')),
    takes("status", Some('s')),
    takes("user", Some('u')),
    takes("workflow", Some('w')),
    takes("job", Some('j')),
    takes("attempt", Some('a')),
    takes("created", None),
    plain("log", None),
    plain("log-failed", None),
    plain("verbose", Some('v')),
    plain("exit-status", None),
];

const SEARCH: [Flag; 22] = [
    takes("limit", Some('L')),
    takes("owner", None),
    takes("language", None),
    takes("extension", None),
    takes("filename", None),
    takes("match", None),
    takes("size", None),
    takes("state", None),
    takes("author", None),
    takes("assignee", None),
    takes("label", None),
    takes("created", None),
    takes("updated", None),
    takes("closed", None),
    takes("merged-at", None),
    takes("author-date", None),
    takes("hash", None),
    takes("visibility", None),
    takes("sort", None),
    takes("order", None),
    plain("merged", None),
    plain("draft", None),
];

/// What is known to read only: group, command, its flags beside the common ones, its other words.
const READS: [(&str, &str, &[Flag], Words); 26] = [
    ("pr", "view", &[plain("comments", Some('c'))], Words::Named),
    ("pr", "diff", &[takes("color", None), plain("name-only", None), plain("patch", None)], Words::Named),
    ("pr", "checks", &[plain("required", None)], Words::Named),
    ("pr", "list", &LIST, Words::Named),
    ("pr", "status", &[plain("conflict-status", Some('c'))], Words::Named),
    ("issue", "view", &[plain("comments", Some('c'))], Words::Named),
    ("issue", "list", &LIST, Words::Named),
    ("issue", "status", &[], Words::Named),
    ("run", "list", &RUN, Words::Named),
    ("run", "view", &RUN, Words::Named),
    ("workflow", "list", &[takes("limit", Some('L')), plain("all", Some('a'))], Words::Named),
    ("workflow", "view", &[takes("ref", Some('r')), plain("yaml", Some('y'))], Words::Named),
    ("release", "list", &[takes("limit", Some('L')), takes("order", Some('O')), plain("exclude-drafts", None)], Words::Named),
    ("release", "view", &[], Words::Named),
    (
        "label",
        "list",
        &[takes("limit", Some('L')), takes("search", Some('S')), takes("sort", None), takes("order", None)],
        Words::Named,
    ),
    ("ruleset", "list", &[takes("limit", Some('L')), plain("parents", Some('p'))], Words::Named),
    ("ruleset", "view", &[plain("parents", Some('p'))], Words::Named),
    ("ruleset", "check", &[plain("default", None)], Words::Named),
    ("repo", "view", &[takes("branch", Some('b'))], Words::Repository),
    ("repo", "list", &[takes("limit", Some('L')), takes("language", Some('l')), takes("visibility", None)], Words::Named),
    ("search", "code", &SEARCH, Words::Free),
    ("search", "commits", &SEARCH, Words::Free),
    ("search", "issues", &SEARCH, Words::Free),
    ("search", "prs", &SEARCH, Words::Free),
    ("search", "repos", &SEARCH, Words::Free),
    ("org", "list", &[takes("limit", Some('L'))], Words::Named),
];

/// Whether commands of a group are known.
pub(super) fn is_group(group: &str) -> bool {
    READS.iter().any(|(known, ..)| *known == group)
}

/// A command of a group.
pub(super) fn command(group: &str, command: &str, words: &[&str], site: &Site) -> Result<Call, String> {
    let known = READS.iter().find(|(g, c, ..)| *g == group && *c == command);
    let Some((group, command, flags, kind)) = known else {
        let shown: String = format!("gh {group} {command}").chars().filter(|c| !c.is_control()).take(60).collect();
        return Err(format!("`{shown}` is refused; {ALLOWED}"));
    };
    let table: Vec<Flag> = flags.iter().chain(&COMMON).copied().collect();
    let given = scan(words, &table)?;
    let mut argv = vec![(*group).to_owned(), (*command).to_owned()];
    for (name, value) in &given.flags {
        match *name {
            "repo" => argv.push(format!("--repo={}", repository(value, site)?)),
            "jq" => argv.push(format!("--jq={}", filter(value)?)),
            name => match table.iter().find(|flag| flag.long == name) {
                Some(flag) if flag.value => argv.push(format!("--{name}={value}")),
                _ => argv.push(format!("--{name}")),
            },
        }
    }
    if !given.free.is_empty() {
        argv.push("--".to_owned());
    }
    for word in &given.free {
        let word = match kind {
            Words::Free => (*word).to_owned(),
            Words::Repository => repository(word, site)?,
            Words::Named if word.contains("://") => on_our_host(word, site)?,
            Words::Named if word.contains(':') && word.contains('@') => {
                return Err(format!("`{word}` is no name that is taken here"));
            }
            Words::Named => (*word).to_owned(),
        };
        argv.push(word);
    }
    Ok(Call::Read(argv))
}

fn on_our_host(address: &str, site: &Site) -> Result<String, String> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://")).unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if site.host.is_empty() || host.eq_ignore_ascii_case(&site.host) {
        Ok(address.to_owned())
    } else {
        Err(format!("`{address}` is on another host than `{}`", site.host))
    }
}

/// A `--jq` filter that does not look at the environment, where the real `gh` has its token.
fn filter(text: &str) -> Result<&str, String> {
    if text.to_ascii_lowercase().contains("env") {
        return Err(
            "a `--jq` filter that speaks of `env` is refused, for it could read the environment; name the fields another way"
                .to_owned(),
        );
    }
    Ok(text)
}

/// A header that changes nothing but the form of the answer.
pub(super) fn harmless(header: &str) -> bool {
    let name = header.split(':').next().unwrap_or_default().trim();
    let plain = !header.chars().any(char::is_control);
    plain && (name.eq_ignore_ascii_case("accept") || name.eq_ignore_ascii_case("x-github-api-version"))
}

/// The flags of `gh api` that shape an answer, looked at one by one.
fn shaped(given: &Given<'_>, argv: &mut Vec<String>) -> Result<(), String> {
    for (name, value) in &given.flags {
        match *name {
            "header" if harmless(value) => argv.push(format!("--header={value}")),
            "header" => {
                return Err(format!(
                    "the header `{}` is refused; `Accept` is taken",
                    value.split(':').next().unwrap_or_default()
                ));
            }
            "jq" => argv.push(format!("--jq={}", filter(value)?)),
            "template" | "preview" => argv.push(format!("--{name}={value}")),
            "include" | "paginate" | "silent" | "slurp" => argv.push(format!("--{name}")),
            "method" | "raw-field" | "field" => {}
            other => return Err(format!("`--{other}` is refused where something is read; leave it out")),
        }
    }
    Ok(())
}

/// `gh api` with GET.
pub(super) fn get(path: &str, given: &Given<'_>) -> Result<Call, String> {
    let mut argv = vec!["api".to_owned(), "--method=GET".to_owned()];
    for (name, value) in &given.flags {
        let field = matches!(*name, "field" | "raw-field");
        if field && *name == "field" && value.split_once('=').is_some_and(|(_, v)| v.starts_with('@')) {
            return Err(format!("the field `{value}` names a file, which is refused where something is read"));
        }
        if field {
            argv.push(format!("--{name}={value}"));
        }
    }
    shaped(given, &mut argv)?;
    argv.push("--".to_owned());
    argv.push(path.to_owned());
    Ok(Call::Read(argv))
}

/// `gh api graphql` with a query that only reads.
pub(super) fn graphql(given: &Given<'_>) -> Result<Call, String> {
    let refused = |why: &str| Err(format!("`gh api graphql`: {why}; {ALLOWED}"));
    if given.last("method").is_some_and(|m| !m.eq_ignore_ascii_case("POST")) {
        return refused("it is asked with POST");
    }
    if given.has("input") {
        return refused("give the query by `-f query=…`, not by `--input`");
    }
    let mut argv = vec!["api".to_owned()];
    let mut queries = 0;
    for (name, value) in &given.flags {
        if !matches!(*name, "field" | "raw-field") {
            continue;
        }
        let (key, text) = value.split_once('=').unwrap_or((value, ""));
        if *name == "field" && text.starts_with('@') {
            return refused("a field that names a file is refused");
        }
        if key == "query" {
            queries += 1;
            if !reads_only(text) {
                return refused("only a query is passed on, no mutation");
            }
        } else if key.starts_with("query[") {
            return refused("`query` is one text");
        }
        argv.push(format!("--{name}={value}"));
    }
    if queries != 1 {
        return refused("give one `query`");
    }
    shaped(given, &mut argv)?;
    argv.extend(["--".to_owned(), "graphql".to_owned()]);
    Ok(Call::Read(argv))
}

/// Whether a GraphQL text can only read: the words that begin any other operation stand nowhere in it, neither in a text nor in a
/// remark, so that it does not matter how whoever runs it tells those from code. What is searched for goes into a variable.
pub(super) fn reads_only(text: &str) -> bool {
    !["mutation", "subscription"].iter().any(|word| text.contains(word))
}
