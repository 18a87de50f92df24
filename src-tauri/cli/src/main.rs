//! `wloop`: the command line. The environment, the clock and the terminals are looked at here and nowhere else.

mod args;
mod commands;
mod context;
mod demo;
mod failure;
mod gh;
mod guard;
mod output;
mod usage;
mod words;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use jiff::Timestamp;

use crate::args::{Arguments, Command};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

#[expect(clippy::disallowed_methods, reason = "the one place of the command line that reads the environment and names the clock")]
fn main() -> ExitCode {
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect::<std::collections::BTreeMap<String, String>>();
    let takes_colour = environment.get("NO_COLOR").is_none_or(String::is_empty)
        && environment.get("TERM").is_none_or(|terminal| terminal != "dumb");
    let (terminal, error_terminal) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
    let out = Output { terminal, colour: terminal && takes_colour, error_terminal, error_colour: error_terminal && takes_colour };
    let input_terminal = std::io::stdin().is_terminal();
    let mut context = Context { environment, home_flag: None, json: false, input_terminal, out, now: Timestamp::now };
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if gh::is_called(&words) {
        return gh::run(&context, &words);
    }
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return usage::answer(&error, out),
    };
    context.home_flag = arguments.home;
    context.json = arguments.json;
    match run(&context, arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            if let Some(line) = failure.line(&context.command("daemon")) {
                out.error(&context.hints(&line));
            }
            ExitCode::from(failure.code())
        }
    }
}

fn run(context: &Context, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Daemon => return Ok(wloop_daemon::face::run_daemon(&context.home()?, context.environment.clone())),
        Command::Mcp => return Ok(wloop_daemon::face::run_mcp(context.socket()?, context.session())),
        Command::Demo(arguments) => demo::run(context, &arguments)?,
        Command::Doctor => commands::doctor::run(context)?,
        Command::Completions { shell } => commands::completions::run(shell)?,
        Command::Status => context.run(commands::status::run(context))?,
        Command::Inbox => context.run(commands::inbox::run(context))?,
        Command::Gates(arguments) => context.run(commands::gates::run(context, &arguments))?,
        Command::Plan(arguments) => context.run(commands::plan::run(context, &arguments))?,
        Command::Pause(arguments) => context.run(commands::holds::pause(context, &arguments))?,
        Command::Resume(arguments) => context.run(commands::holds::resume(context, &arguments))?,
        Command::Mute(arguments) => context.run(commands::holds::mute(context, &arguments))?,
        Command::Unmute(arguments) => context.run(commands::holds::unmute(context, &arguments))?,
        Command::Facts(arguments) => context.run(commands::facts::run(context, &arguments))?,
        Command::Explain(arguments) => context.run(commands::explain::run(context, &arguments))?,
        Command::Workflows(arguments) => commands::workflows::run(context, &arguments)?,
        Command::Review(arguments) => context.run(commands::turns::review(context, &arguments))?,
        Command::Turns(arguments) => context.run(commands::turns::run(context, &arguments))?,
        Command::Turn(arguments) => context.run(commands::turns::act(context, &arguments))?,
        Command::Outbox(arguments) => context.run(commands::outbox::run(context, &arguments))?,
        Command::Sessions => context.run(commands::sessions::list(context))?,
        Command::Session(arguments) => context.run(commands::sessions::act(context, &arguments))?,
        Command::Hook(arguments) => commands::sessions::hook(context, &arguments),
        Command::Posts(arguments) => context.run(commands::posts::run(context, &arguments))?,
        Command::Events(arguments) => context.run(commands::events::run(context, &arguments))?,
    }
    Ok(ExitCode::SUCCESS)
}
