//! `wloop posts`: what went out, and what the person says of a post that failed or cannot be told (GH-PUB-09).

use jiff::Timestamp;
use wloop_api::client::UnitFilter;
use wloop_api::types::{Discard, Post};

use crate::args::{PostsArguments, PostsCommand};
use crate::commands::gates::post_text;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Cell, Listing, Output, Tone};
use crate::words::{age, count, day_and_clock, post_state, unit_row};

/// Runs the command.
pub(crate) async fn run(context: &Context, arguments: &PostsArguments) -> Result<(), Failure> {
    let out = &context.out;
    match &arguments.command {
        None => {
            let filter = UnitFilter { state: arguments.state.clone(), unit: arguments.unit.clone() };
            let posts = out.progress("asking the daemon", context.client()?.posts(&filter)).await?;
            if context.json { out.json(&posts) } else { out.list(&listing(&posts, (context.now)())) }
        }
        Some(PostsCommand::Show { id }) => {
            let post = out.progress("asking the daemon", context.client()?.post(id)).await?;
            if context.json { out.json(&post) } else { out.raw(&page(context, &post)) }
        }
        Some(PostsCommand::Sent { id }) => {
            let client = context.client()?;
            answer(context, &out.progress("settling the post", client.post_sent(id)).await?)
        }
        Some(PostsCommand::Retry { id }) => {
            context.guard(&format!("posts retry {id}"), &format!("POST /api/posts/{id}/retry"))?;
            let client = context.client()?;
            answer(context, &out.progress("sending the post again", client.post_retry(id)).await?)
        }
        Some(PostsCommand::Discard { id, reason }) => {
            let client = context.client()?;
            let body = Discard { reason: reason.clone() };
            answer(context, &out.progress("dropping the post", client.post_discard(id, &body)).await?)
        }
    }
}

fn answer(context: &Context, post: &Post) -> Result<(), Failure> {
    if context.json {
        return context.out.json(post);
    }
    if !context.out.terminal {
        return context.out.fields(&fields(post));
    }
    let (tone, state) = post_state(post);
    let at = post.url.as_deref().map_or(String::new(), |url| format!(" · {url}"));
    let why = post.cause.as_deref().map_or(String::new(), |cause| format!(": {}", context.hints(cause)));
    let what = context.out.paint(Tone::Plain, &format!("{} {} on {}:", post.shape, post.short, post.unit.label));
    context.out.line(&format!("{what} {}", context.out.paint(tone, &format!("{state}{why}{at}"))))
}

fn fields(post: &Post) -> Vec<String> {
    vec![
        post.id.clone(),
        post.state.clone(),
        if post.maybe_posted { "maybe" } else { "" }.to_owned(),
        post.unit.id.clone(),
        post.unit.label.clone(),
        post.shape.clone(),
        post.event.clone().unwrap_or_default(),
        post.created_at.to_string(),
        post.changed_at.to_string(),
        post.attempts.to_string(),
        post.url.clone().unwrap_or_default(),
        post.cause.clone().unwrap_or_default(),
    ]
}

fn listing(posts: &[Post], now: Timestamp) -> Listing {
    let shown = posts.iter().map(|post| {
        let (tone, state) = post_state(post);
        let last = post.cause.clone().or_else(|| post.url.clone()).or_else(|| post.text.lines().next().map(str::to_owned));
        vec![
            Cell::new(Tone::Strong, &post.short),
            Cell::plain(&post.unit.label),
            Cell::plain(kind(post)),
            Cell::new(tone, state),
            Cell::new(Tone::Dim, age(now, post.changed_at)),
            Cell::plain(last.unwrap_or_default()),
        ]
    });
    Listing {
        heading: vec!["ID", "UNIT", "WHAT", "STATE", "AGE", "DETAIL"],
        shown: shown.collect(),
        piped: posts.iter().map(fields).collect(),
        nothing: "nothing was posted",
    }
}

fn kind(post: &Post) -> String {
    match &post.event {
        Some(event) => format!("{}: {}", post.shape, event.to_lowercase().replace('_', " ")),
        None => post.shape.clone(),
    }
}

/// What a post is and says, whole: whom it mentions, its text and its comments on lines.
pub(crate) fn body(out: &Output, post: &Post) -> String {
    let comments = match post.comments.len() {
        0 => String::new(),
        1 => ", with 1 comment on the diff".to_owned(),
        number => format!(", with {number} comments on the diff"),
    };
    let mut text = format!("{}\n", out.paint(Tone::Strong, &format!("{} for {}{comments}", kind(post), post.unit.label)));
    let ten = |head: &str| head.get(..10).unwrap_or(head).to_owned();
    text.push_str(&format!("{}\n", out.paint(Tone::Dim, &format!("written for commit {}", ten(&post.head)))));
    if let Some(now) = &post.head_now {
        let words = format!("the head is {} by now; publishing it asks once more, on that one", ten(now));
        text.push_str(&format!("{}\n", out.paint(Tone::Warn, &words)));
    }
    let mentions = if post.mentions.is_empty() { "nobody".to_owned() } else { post.mentions.join(", ") };
    text.push_str(&format!("{}\n\n", out.paint(Tone::Dim, &format!("mentions {mentions}"))));
    text.push_str(&post_text(out, post));
    text
}

fn page(context: &Context, post: &Post) -> String {
    let out = &context.out;
    let (tone, state) = post_state(post);
    let mut text = format!(
        "{} {}\n",
        out.paint(Tone::Strong, &format!("{} · {}:", post.short, unit_row(&post.unit))),
        out.paint(tone, &state)
    );
    let mut row = |name: &str, value: &str| {
        text.push_str(&out.row(name, Tone::Plain, value));
        text.push('\n');
    };
    row("id", &post.id);
    row("changed", &format!("{}, tried {}", day_and_clock(post.changed_at), count(post.attempts, "time")));
    if let Some(cause) = &post.cause {
        row("why", &context.hints(cause));
    }
    if let Some(url) = &post.url {
        row("address", url);
    }
    text.push('\n');
    text.push_str(&body(out, post));
    if post.state == "failed" {
        text.push_str(&format!("\n{}\n", out.paint(Tone::Strong, "what you can type")));
        for (verb, what) in choices(post) {
            let command = context.command(&format!("posts {verb} {}", post.short));
            text.push_str(&format!("  {}  {}\n", out.paint(Tone::Plain, &command), out.paint(Tone::Dim, what)));
        }
    }
    text
}

/// What the person can say of a failed post: one that cannot be told may have been sent.
fn choices(post: &Post) -> Vec<(&'static str, &'static str)> {
    let mut choices = Vec::new();
    if post.maybe_posted {
        choices.push(("sent", "it was sent"));
        choices.push(("retry", "send it again, after a look whether it is there"));
    } else {
        choices.push(("retry", "send it again"));
    }
    choices.push(("discard", "drop it"));
    choices
}
