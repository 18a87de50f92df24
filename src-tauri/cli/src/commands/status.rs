//! `wloop status`: the counters, in a few short lines.

use jiff::Timestamp;
use wloop_api::types::{ProviderHealth, Status};

use crate::commands::holds::everything;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, Tone};
use crate::words::{age, count, until, waits};

/// Prints the counters.
pub(crate) async fn run(context: &Context) -> Result<(), Failure> {
    let client = context.client()?;
    let mut status = context.out.progress("asking the daemon", client.status()).await?;
    for warning in &mut status.warnings {
        *warning = context.hints(warning);
    }
    if context.json {
        return context.out.json(&status);
    }
    if context.out.terminal {
        return context.out.raw(&shown(&context.out, &status, (context.now)()));
    }
    for (name, value) in piped(&status) {
        context.out.fields(&[name, value])?;
    }
    Ok(())
}

fn piped(status: &Status) -> Vec<(String, String)> {
    let mut lines = vec![
        ("pending_rounds".to_owned(), status.pending_rounds.to_string()),
        ("next_deadline".to_owned(), status.next_deadline.map(|at| at.to_string()).unwrap_or_default()),
    ];
    lines.extend([
        ("capped_rounds".to_owned(), status.capped_rounds.to_string()),
        ("blocked_rounds".to_owned(), status.blocked_rounds.to_string()),
        ("muted_rounds".to_owned(), status.muted_rounds.to_string()),
        ("paused".to_owned(), status.holds.paused.to_string()),
        ("paused_until".to_owned(), status.holds.until.map(|at| at.to_string()).unwrap_or_default()),
    ]);
    lines.extend(status.open_gates.iter().map(|(kind, number)| (format!("open_gates.{kind}"), number.to_string())));
    lines.extend([
        ("drafts_held".to_owned(), status.drafts_held.to_string()),
        ("drafts_failed".to_owned(), status.drafts_failed.to_string()),
        ("posts_failed".to_owned(), status.posts_failed.to_string()),
        ("running_turns".to_owned(), status.running_turns.to_string()),
        ("draining".to_owned(), status.draining.to_string()),
    ]);
    lines.extend(status.providers.iter().map(|provider| (format!("provider.{}", provider.name), provider.state.clone())));
    let waiting = status.providers.iter().filter_map(|provider| Some((provider, provider.waiting_until?)));
    lines.extend(waiting.map(|(provider, until)| (format!("provider.{}.waiting_until", provider.name), until.to_string())));
    lines.extend(status.warnings.iter().map(|warning| ("warning".to_owned(), warning.clone())));
    lines
}

fn shown(out: &Output, status: &Status, now: Timestamp) -> String {
    let mut text = String::new();
    let mut line = |name: &str, tone: Tone, value: String| {
        text.push_str(&out.row(name, tone, &value));
        text.push('\n');
    };
    if status.draining {
        line("wloop", Tone::Warn, "is going down and starts nothing new".to_owned());
    }
    let mut rounds = format!("{} pending", status.pending_rounds);
    if let Some(deadline) = status.next_deadline {
        rounds.push_str(&format!(", the next starts {}", until(now, deadline)));
    }
    for (number, what) in
        [(status.capped_rounds, "held by the daily cap"), (status.blocked_rounds, "blocked"), (status.muted_rounds, "muted")]
    {
        if number > 0 {
            rounds.push_str(&format!(", {number} {what}"));
        }
    }
    line("rounds", if status.pending_rounds > 0 { Tone::Strong } else { Tone::Plain }, rounds);
    if let Some(held) = everything(&status.holds) {
        line("held", Tone::Warn, held);
    }
    let open: u64 = status.open_gates.values().sum();
    let kinds: Vec<String> =
        status.open_gates.iter().filter(|(_, number)| **number > 0).map(|(kind, number)| format!("{number} {kind}")).collect();
    let gates = if kinds.is_empty() { "none open".to_owned() } else { format!("{open} open: {}", kinds.join(", ")) };
    line("gates", if open > 0 { Tone::Strong } else { Tone::Plain }, gates);
    let failed = status.drafts_failed + status.posts_failed;
    line(
        "outbox",
        if failed > 0 { Tone::Bad } else { Tone::Plain },
        format!("{} held, {} failed", count(status.drafts_held, "draft"), count(failed, "post")),
    );
    line("turns", Tone::Plain, format!("{} running", status.running_turns));
    for provider in &status.providers {
        let tone = match provider.state.as_str() {
            "ok" => Tone::Good,
            "starting" | "waiting" | "off" => Tone::Plain,
            _ => Tone::Bad,
        };
        line(&provider.name, tone, provider_words(provider, now));
    }
    for warning in &status.warnings {
        line("look", Tone::Warn, warning.clone());
    }
    text
}

fn provider_words(provider: &ProviderHealth, now: Timestamp) -> String {
    let mut text = provider.state.clone();
    if let Some(login) = &provider.login {
        text.push_str(&format!(" as {login}"));
    }
    text.push_str(&format!(", {} watched", count(provider.watched, "unit")));
    match provider.last_sync.map(|at| age(now, at)) {
        Some(since) if since == "new" => text.push_str(", read just now"),
        Some(since) => text.push_str(&format!(", read {since} ago")),
        None => text.push_str(", not read yet"),
    }
    if let Some(until) = provider.waiting_until {
        text.push_str(&format!("; {}", waits(until)));
    }
    // What it asked for is said in its place.
    if let Some(error) = provider.error.as_ref().filter(|error| !error.starts_with("github asks to wait")) {
        text.push_str(&format!("; {error}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use wloop_api::types::{ProviderHealth, Status};

    use super::{piped, shown};
    use crate::output::Output;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn status() -> Status {
        Status {
            pending_rounds: 2,
            capped_rounds: 0,
            blocked_rounds: 0,
            muted_rounds: 0,
            holds: wloop_api::types::Holds::default(),
            open_gates: BTreeMap::from([("draft".to_owned(), 0), ("plan".to_owned(), 2), ("post".to_owned(), 1)]),
            drafts_held: 1,
            drafts_failed: 0,
            posts_failed: 1,
            running_turns: 1,
            draining: false,
            providers: vec![ProviderHealth {
                name: "github".to_owned(),
                state: "ok".to_owned(),
                login: Some("sam".to_owned()),
                address: None,
                last_sync: Some(at(995)),
                error: None,
                waiting_until: None,
                watched: 3,
                quotas: Vec::new(),
            }],
            next_deadline: Some(at(1_042)),
            warnings: vec!["a post cannot be told".to_owned()],
        }
    }

    // interfaces.md, `wloop status`
    #[test]
    fn a_terminal_shows_short_lines_and_a_pipe_every_counter() {
        let out = Output { terminal: true, colour: false, error_terminal: false, error_colour: false };
        assert_eq!(
            shown(&out, &status(), at(1_000)),
            "rounds    2 pending, the next starts in 42 s\n\
             gates     3 open: 2 plan, 1 post\n\
             outbox    1 draft held, 1 post failed\n\
             turns     1 running\n\
             github    ok as sam, 3 units watched, read 5 s ago\n\
             look      a post cannot be told\n"
        );
        let mut waiting = status();
        waiting.providers[0].state = "waiting".to_owned();
        waiting.providers[0].waiting_until = Some(at(1_500));
        waiting.providers[0].error = Some("github asks to wait until 1970-01-01T00:25:00Z: slow".to_owned());
        // GH-SYNC-38
        let text = shown(&out, &waiting, at(1_000));
        let line = format!("waiting as sam, 3 units watched, read 5 s ago; {}\n", crate::words::waits(at(1_500)));
        assert!(text.contains(&line), "{text}");
        assert!(piped(&waiting).contains(&("provider.github.waiting_until".to_owned(), "1970-01-01T00:25:00Z".to_owned())));
        let lines: Vec<String> = piped(&status()).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(lines[..4], ["pending_rounds=2", "next_deadline=1970-01-01T00:17:22Z", "capped_rounds=0", "blocked_rounds=0"]);
        assert!(lines.contains(&"posts_failed=1".to_owned()) && lines.contains(&"provider.github=ok".to_owned()));
    }
}
