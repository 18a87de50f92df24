//! `wloop doctor`.

use serde::Serialize;
use wloop_daemon::face::{self, Check, Level};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Tone;

/// A check for programs.
#[derive(Debug, Serialize)]
struct Found<'a> {
    name: &'a str,
    level: &'static str,
    found: &'a str,
    advice: &'a str,
}

/// Makes every check; fails when something needs attention.
pub(crate) fn run(context: &Context) -> Result<(), Failure> {
    let home = context.home()?;
    let spinner = context.out.spinner("checking");
    let checks = face::doctor(&home, &context.environment);
    spinner.finish_and_clear();
    if context.json {
        context.out.json(&checks.iter().map(found).collect::<Vec<_>>())?;
    } else if context.out.terminal {
        for check in &checks {
            let (sign, tone) = match check.level {
                Level::Ok => ("ok  ", Tone::Good),
                Level::Warn => ("look", Tone::Warn),
                Level::Fail => ("FAIL", Tone::Bad),
            };
            let name = context.out.paint(Tone::Strong, &check.name);
            context.out.line(&format!(
                "{}  {name}  {}",
                context.out.paint(tone, sign),
                context.out.paint(Tone::Plain, &check.found)
            ))?;
            if !check.advice.is_empty() {
                context.out.line(&format!("      → {}", context.out.paint(Tone::Plain, &check.advice)))?;
            }
        }
    } else {
        for check in checks.iter().map(found) {
            context.out.fields(&[check.level, check.name, check.found, check.advice].map(str::to_owned))?;
        }
    }
    // What is wrong was printed; the exit code says the rest.
    if checks.iter().all(|check| check.level == Level::Ok) { Ok(()) } else { Err(Failure::Said) }
}

fn found(check: &Check) -> Found<'_> {
    Found {
        name: &check.name,
        level: match check.level {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail => "fail",
        },
        found: &check.found,
        advice: &check.advice,
    }
}
