//! The writes that a round may make, in each of the ways that `gh` has for them, as arguments of `github_post` (GH-PUB-01).

use serde_json::{Map, Value, json};

use super::flags::{Flag, Given, plain, scan, takes};
use super::{ALLOWED, AnswerForm, Call, Fields, Reader, Site, Target, repository, target};

const REVIEW: [Flag; 6] = [
    plain("approve", Some('a')),
    plain("request-changes", Some('r')),
    plain("comment", Some('c')),
    takes("body", Some('b')),
    takes("body-file", Some('F')),
    takes("repo", Some('R')),
];

const COMMENT: [Flag; 9] = [
    takes("body", Some('b')),
    takes("body-file", Some('F')),
    takes("repo", Some('R')),
    plain("editor", Some('e')),
    plain("web", Some('w')),
    plain("edit-last", None),
    plain("delete-last", None),
    plain("create-if-none", None),
    plain("yes", None),
];

fn body(given: &Given<'_>, read: &mut Reader<'_>) -> Result<Option<String>, String> {
    match (given.last("body"), given.last("body-file")) {
        (Some(_), Some(_)) => Err("give one of `--body` and `--body-file`".to_owned()),
        (Some(text), None) => Ok(Some(text.to_owned())),
        (None, Some(file)) => read(file).map(Some),
        (None, None) => Ok(None),
    }
}

/// `gh pr review`.
pub(super) fn review(words: &[&str], site: &Site, read: &mut Reader<'_>) -> Result<Call, String> {
    let given = scan(words, &REVIEW)?;
    let events = [("approve", "APPROVE"), ("request-changes", "REQUEST_CHANGES"), ("comment", "COMMENT")];
    let chosen: Vec<&str> = events.iter().filter(|(flag, _)| given.has(flag)).map(|(_, event)| *event).collect();
    let [event] = chosen.as_slice() else {
        return Err("`gh pr review` takes one of `--approve`, `--request-changes` and `--comment`".to_owned());
    };
    let text = body(&given, read)?.unwrap_or_default();
    if *event != "APPROVE" && text.trim().is_empty() {
        return Err("a review that is no approval needs a `--body`".to_owned());
    }
    let arguments = json!({ "shape": "review", "event": event, "text": text });
    Ok(Call::Write { target: target(&given, site)?, arguments, form: AnswerForm::Address })
}

/// `gh pr comment`.
pub(super) fn comment(words: &[&str], site: &Site, read: &mut Reader<'_>) -> Result<Call, String> {
    let given = scan(words, &COMMENT)?;
    if let Some((flag, _)) = given.flags.iter().find(|(flag, _)| !matches!(*flag, "body" | "body-file" | "repo")) {
        return Err(format!("`gh pr comment --{flag}` is refused: a round writes new comments and changes none; {ALLOWED}"));
    }
    let text = body(&given, read)?.filter(|text| !text.trim().is_empty());
    let text = text.ok_or("`gh pr comment` needs a `--body` or a `--body-file`")?;
    let arguments = json!({ "shape": "comment", "text": text });
    Ok(Call::Write { target: target(&given, site)?, arguments, form: AnswerForm::Address })
}

/// `gh api` with POST.
pub(super) fn api(path: &str, given: &Given<'_>, site: &Site, read: &mut Reader<'_>) -> Result<Call, String> {
    if path.contains(['?', '#', '%']) {
        return Err(format!("`{path}`: a write takes no query; {ALLOWED}"));
    }
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let (owner, repo, shape) = match parts.as_slice() {
        ["repos", owner, repo, rest @ ..] => (*owner, *repo, rest),
        _ => return Err(format!("`gh api` with POST to `{path}` is refused; {ALLOWED}")),
    };
    let form = form(given)?;
    let other = || format!("`gh api` with POST to `{path}` is refused; {ALLOWED}");
    let number = |text: &str| text.parse::<u64>().map_err(|_| other());
    let mut object = sent(given, read)?;
    let (number, mut arguments) = match shape {
        ["issues", n, "comments"] => (number(n)?, json!({ "shape": "comment" })),
        ["pulls", n, "comments", id, "replies"] => (number(n)?, json!({ "shape": "reply", "in_reply_to": number(id)? })),
        ["pulls", n, "comments"] => {
            let first = object.remove("in_reply_to").filter(Value::is_u64);
            let first = first.ok_or("a comment on a line goes into a review: POST to `pulls/N/reviews` with `comments`")?;
            (number(n)?, json!({ "shape": "reply", "in_reply_to": first }))
        }
        ["pulls", n, "reviews"] => (number(n)?, review_body(&mut object)?),
        _ => return Err(other()),
    };
    let text = object.remove("body").unwrap_or_else(|| Value::from(""));
    if !text.is_string() {
        return Err("`body` must be a text".to_owned());
    }
    arguments["text"] = text;
    if let Some(key) = object.keys().next() {
        return Err(format!("the field `{key}` is not taken here; leave it out"));
    }
    let own = |word: &str, name: &str| word == format!("{{{name}}}") || word == format!(":{name}");
    let repo = match (own(owner, "owner"), own(repo, "repo")) {
        (true, true) => None,
        (false, false) => Some(repository(&format!("{owner}/{repo}"), site)?),
        _ => return Err(format!("`{owner}/{repo}` is half a placeholder; write OWNER/REPO or {{owner}}/{{repo}}")),
    };
    Ok(Call::Write { target: Target { repo, number: Some(number) }, arguments, form })
}

/// How the answer is wanted; refused before anything is written where that cannot be done.
fn form(given: &Given<'_>) -> Result<AnswerForm, String> {
    for flag in ["template", "include", "paginate", "slurp", "header", "preview"] {
        // What a client says it accepts changes nothing of a write.
        let harmless = flag == "header"
            && given.flags.iter().filter(|(name, _)| *name == flag).all(|(_, value)| super::read::harmless(value));
        if given.has(flag) && !harmless {
            return Err(format!("`--{flag}` of `gh api` is not taken with a write; leave it out"));
        }
    }
    if given.has("silent") {
        return Ok(AnswerForm::Silent);
    }
    let Some(filter) = given.last("jq") else { return Ok(AnswerForm::Json) };
    let member =
        filter.trim().strip_prefix('.').filter(|m| !m.is_empty() && m.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    match member {
        Some(member) => Ok(AnswerForm::Member(member.to_owned())),
        None if filter.trim() == "." => Ok(AnswerForm::Json),
        None => Err("`--jq` of a write takes one member, such as `.html_url`".to_owned()),
    }
}

/// The body of a call: its fields, or what `--input` names.
fn sent(given: &Given<'_>, read: &mut Reader<'_>) -> Result<Map<String, Value>, String> {
    let fields: Vec<(bool, &str)> =
        given.flags.iter().filter(|(n, _)| matches!(*n, "raw-field" | "field")).map(|(n, v)| (*n == "field", *v)).collect();
    let Some(input) = given.last("input") else {
        let mut body = Fields::default();
        for (typed, field) in fields {
            body.add(field, typed, read)?;
        }
        return Ok(body.into_object());
    };
    if !fields.is_empty() {
        return Err("give the body by `--input` or by fields, not by both".to_owned());
    }
    match serde_json::from_str(&read(input)?) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("`{input}` holds no JSON object")),
        Err(fault) => Err(format!("`{input}` holds no JSON: {fault}")),
    }
}

/// A review's own fields, as `github_post` takes them. A review without an event would stay pending, which wloop never leaves behind.
fn review_body(object: &mut Map<String, Value>) -> Result<Value, String> {
    let event = object.remove("event").filter(Value::is_string);
    let event = event.ok_or("a review needs an `event`: `APPROVE`, `REQUEST_CHANGES` or `COMMENT`")?;
    let mut arguments = json!({ "shape": "review", "event": event });
    if let Some(commit) = object.remove("commit_id").filter(|c| !c.is_null()) {
        arguments["head"] = commit;
    }
    let comments = match object.remove("comments") {
        None | Some(Value::Null) => return Ok(arguments),
        Some(Value::Array(comments)) => comments,
        Some(_) => return Err("`comments` must be a list".to_owned()),
    };
    let mut all = Vec::new();
    for (n, comment) in comments.into_iter().enumerate() {
        let Value::Object(mut comment) = comment else { return Err(format!("`comments[{n}]` must be an object")) };
        if comment.contains_key("position") {
            return Err(format!("`comments[{n}].position` is the old way; give `line` and `side`"));
        }
        let start_side = comment.remove("start_side").filter(|s| !s.is_null());
        if start_side.is_some_and(|start| Some(&start) != comment.get("side").or(Some(&Value::from("RIGHT")))) {
            return Err(format!("`comments[{n}]` begins on one side of the diff and ends on the other; choose one"));
        }
        all.push(Value::Object(comment));
    }
    arguments["comments"] = Value::Array(all);
    Ok(arguments)
}
