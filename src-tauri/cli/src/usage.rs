//! Wrong usage as one line, with exit code 2; help and the version as they are.

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::output::Output;

/// Says what the parser found.
pub(crate) fn answer(error: &clap::Error, out: Output) -> ExitCode {
    let kind = error.kind();
    if matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        drop(std::io::stdout().lock().write_all(rendered(error, out.colour).as_bytes()));
        return ExitCode::SUCCESS;
    }
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        drop(std::io::stderr().lock().write_all(rendered(error, out.error_colour).as_bytes()));
    } else {
        out.error(&line(&error.render().to_string()));
    }
    ExitCode::from(2)
}

fn rendered(error: &clap::Error, colour: bool) -> String {
    let styled = error.render();
    if colour { styled.ansi().to_string() } else { styled.to_string() }
}

/// The parser's message on one line: what is wrong, its tips, and where to read on.
fn line(message: &str) -> String {
    let mut parts = Vec::new();
    let mut command = "wloop".to_owned();
    for text in message.lines().map(str::trim).filter(|text| !text.is_empty()) {
        if let Some(usage) = text.strip_prefix("Usage: ") {
            command = usage
                .split(' ')
                .take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
                .collect::<Vec<_>>()
                .join(" ");
        } else if !text.starts_with("For more information") {
            parts.push(text.trim_start_matches("error: ").trim_start_matches("tip: "));
        }
    }
    let mut text = parts.join("; ").replace(":; ", ": ").replace('\'', "`");
    text.push_str(&format!("; see `{command} --help`"));
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::line;
    use crate::args::Arguments;

    fn of(words: &[&str]) -> String {
        line(&Arguments::try_parse_from(words).unwrap_err().render().to_string())
    }

    // interfaces.md, "Command line": one line on standard error
    #[test]
    fn wrong_usage_is_one_line_that_says_where_to_read_on() {
        for words in [
            &["wloop", "gatse"][..],
            &["wloop", "gates", "show", "xyz"],
            &["wloop", "gates", "show", "abc"],
            &["wloop", "gates", "--kind", "x"],
            &["wloop", "plan", "apply"],
            &["wloop", "plan", "--follow", "apply", "x"],
        ] {
            let text = of(words);
            assert!(!text.contains('\n') && text.contains("--help`"), "{text}");
        }
        assert!(of(&["wloop", "gatse"]).contains("`gates`"), "{}", of(&["wloop", "gatse"]));
        assert!(of(&["wloop", "gates", "show", "abc"]).contains("4 to 32 hexadecimal digits"));
        assert!(
            of(&["wloop", "plan", "apply"]).ends_with("see `wloop plan apply --help`"),
            "{}",
            of(&["wloop", "plan", "apply"])
        );
    }

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
