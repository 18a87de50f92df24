//! Pages for people: the list of pull requests, and one pull request, as HTML or as text for a terminal.

use crate::answer::{Answer, Asked};
use crate::clock::iso;
use crate::model::{InlineComment, Pull, PullState, Repo, Review, ReviewState, Reviewer, State};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#1f2328;background:#fff}pre{background:#f6f8fa;padding:.8rem;overflow:auto;white-space:pre-wrap;\
font:13px/1.45 ui-monospace,monospace;border-radius:6px}article{border:1px solid #d1d9e0;border-radius:6px;\
padding:.6rem 1rem;margin:1rem 0}small{color:#59636e}.add{color:#116329;background:#dafbe1}\
.del{color:#82071e;background:#ffebe9}.hunk{color:#59636e}";

/// Text made safe inside HTML, in an attribute too.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

pub(crate) fn answer(state: &State, base: &str, asked: &Asked) -> Answer {
    if !matches!(asked.method.as_str(), "GET" | "HEAD") {
        return Answer::not_found();
    }
    let plain = asked.has_parameter("plain") || asked.header("accept").is_some_and(|accept| accept.starts_with("text/plain"));
    let parts = asked.parts();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        [] => list(state, base, plain),
        [owner, name, "pull", number, ..] => {
            let number = number.split('.').next().and_then(|number| number.parse().ok());
            let repo = state.repo(&format!("{owner}/{name}")).ok();
            match repo.zip(number).and_then(|(repo, number)| Some((repo, repo.pulls.get(&number)?))) {
                Some((repo, pull)) if plain => Answer::text(200, "text/plain; charset=utf-8", pull_text(state, base, repo, pull)),
                Some((repo, pull)) => html(&pull_html(state, repo, pull), &pull.title),
                None => missing(),
            }
        }
        _ => missing(),
    }
}

fn missing() -> Answer {
    Answer::text(404, "text/plain; charset=utf-8", "not found; `/` lists the pull requests\n".to_owned())
}

fn html(body: &str, title: &str) -> Answer {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{}</title><style>{STYLE}</style>{body}</html>",
        escape(title)
    );
    Answer::text(200, "text/html; charset=utf-8", page)
        .with("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'")
}

fn word(pull: &Pull) -> &'static str {
    match pull.state {
        PullState::Open if pull.draft => "draft",
        PullState::Open => "open",
        PullState::Closed => "closed",
        PullState::Merged => "merged",
    }
}

fn list(state: &State, base: &str, plain: bool) -> Answer {
    let pulls = || state.repos.values().flat_map(|repo| repo.pulls.values().map(move |pull| (repo, pull)));
    if plain {
        let mut text = String::new();
        for (repo, pull) in pulls() {
            let author = state.login(pull.author);
            let at = format!("{base}/{}/pull/{}", repo.full_name, pull.number);
            text += &format!("{at}  {}  {} (by {author})\n", word(pull), tame(&pull.title));
        }
        return Answer::text(200, "text/plain; charset=utf-8", text);
    }
    let mut body = "<h1>Pull requests</h1><ul>".to_owned();
    for (repo, pull) in pulls() {
        let at = format!("/{}/pull/{}", repo.full_name, pull.number);
        let (title, author) = (escape(&pull.title), escape(state.login(pull.author)));
        body += &format!(
            "<li><a href=\"{}\">{}#{}</a> {title} <small>{}, by {author}</small></li>",
            escape(&at),
            escape(&repo.full_name),
            pull.number,
            word(pull)
        );
    }
    html(&(body + "</ul>"), "Pull requests")
}

fn requested(state: &State, pull: &Pull) -> String {
    let names = pull.requests.iter().map(|held| match held.reviewer {
        Reviewer::User(ix) => state.login(ix).to_owned(),
        Reviewer::Team(ix) => {
            state.teams.get(ix).map_or_else(String::new, |team| format!("{}/{}", state.login(team.org), team.slug))
        }
    });
    names.collect::<Vec<_>>().join(", ")
}

/// The reviews that anyone may see; the empty ones that GitHub wraps around replies are their comments alone.
fn shown_reviews(pull: &Pull) -> impl Iterator<Item = (&Review, Vec<&InlineComment>)> {
    pull.reviews
        .iter()
        .filter(|review| review.state != ReviewState::Pending)
        .map(|review| (review, pull.inline.iter().filter(|comment| comment.review == review.id).collect()))
}

fn place(comment: &InlineComment) -> String {
    let reply = if comment.in_reply_to.is_some() { " (reply)" } else { "" };
    match comment.original_start_line {
        Some(start) => format!("{}:{start}-{}{reply}", comment.path, comment.original_line),
        None => format!("{}:{}{reply}", comment.path, comment.original_line),
    }
}

fn pull_html(state: &State, repo: &Repo, pull: &Pull) -> String {
    let mut body = format!(
        "<p><a href=\"/\">Pull requests</a></p><h1>{} <small>{}#{}</small></h1>",
        escape(&pull.title),
        escape(&repo.full_name),
        pull.number
    );
    body += &format!(
        "<p><small>{}, by {}, {} into {}, at {}; review requested from: {}</small></p><article><pre>{}</pre></article>",
        word(pull),
        escape(state.login(pull.author)),
        escape(&pull.head_ref),
        escape(&pull.base_ref),
        escape(&pull.head_sha),
        escape(&requested(state, pull)),
        escape(&pull.body)
    );
    body += "<h2>Reviews</h2>";
    for (review, comments) in shown_reviews(pull) {
        body += &format!(
            "<article id=\"pullrequestreview-{}\"><small>{} by {}, {}, on {}</small><pre>{}</pre>",
            review.id,
            review.state.as_str(),
            escape(state.login(review.author)),
            review.submitted_at.map(iso).unwrap_or_default(),
            escape(&review.commit),
            escape(&review.body)
        );
        for comment in comments {
            body += &format!(
                "<div id=\"discussion_r{}\"><small>{}</small><pre class=\"hunk\">{}</pre><pre>{}</pre></div>",
                comment.id,
                escape(&place(comment)),
                escape(&comment.hunk),
                escape(&comment.body)
            );
        }
        body += "</article>";
    }
    body += "<h2>Conversation</h2>";
    for comment in &pull.comments {
        body += &format!(
            "<article id=\"issuecomment-{}\"><small>{}, {}</small><pre>{}</pre></article>",
            comment.id,
            escape(state.login(comment.author)),
            iso(comment.created_at),
            escape(&comment.body)
        );
    }
    body += "<h2>Changes</h2>";
    for file in &pull.files {
        body += &format!("<h3>{} <small>{}</small></h3><pre>", escape(&file.path), file.status);
        for line in file.patch.as_deref().unwrap_or("no text to show").lines() {
            let class = match line.as_bytes().first() {
                Some(b'+') => "add",
                Some(b'-') => "del",
                Some(b'@') => "hunk",
                Some(_) | None => "",
            };
            body += &format!("<span class=\"{class}\">{}</span>\n", escape(line));
        }
        body += "</pre>";
    }
    body
}

/// Control characters would let a text move the cursor of the terminal that shows it.
fn tame(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

fn indented(text: &str) -> String {
    tame(text).lines().map(|line| format!("    {line}\n")).collect()
}

fn pull_text(state: &State, base: &str, repo: &Repo, pull: &Pull) -> String {
    let mut text = format!(
        "{}\n{base}/{}/pull/{}\n{}, by {}, {} into {}, at {}\n",
        tame(&pull.title),
        repo.full_name,
        pull.number,
        word(pull),
        state.login(pull.author),
        pull.head_ref,
        pull.base_ref,
        pull.head_sha
    );
    let waiting = requested(state, pull);
    if !waiting.is_empty() {
        text += &format!("review requested from: {waiting}\n");
    }
    text += &format!("\n{}\n", indented(&pull.body));
    for (review, comments) in shown_reviews(pull) {
        text += &format!(
            "review: {} by {} on {}\n{}",
            review.state.as_str(),
            state.login(review.author),
            review.commit.get(..7).unwrap_or_default(),
            indented(&review.body)
        );
        for comment in comments {
            text += &format!("  {}\n{}", tame(&place(comment)), indented(&comment.body));
        }
        text += "\n";
    }
    for comment in &pull.comments {
        text += &format!("comment: by {}\n{}\n", state.login(comment.author), indented(&comment.body));
    }
    for file in &pull.files {
        let patch = tame(file.patch.as_deref().unwrap_or("no text to show"));
        text += &format!("--- {} ({})\n{patch}\n\n", tame(&file.path), file.status);
    }
    text
}
