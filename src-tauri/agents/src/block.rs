//! A start that an agent blocks on a question of its own: that it does not trust the folder, that nobody is signed in, that
//! something is to be accepted first (RUN-30). Told from what it wrote and how it ended; anything else is a failed start.

use crate::headless::{Ended, RunEnd};
use crate::output::{OutputFormat, ReportedKind};

/// What an agent asks before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Whether the folder is trusted.
    Folder,
    /// To sign in.
    SignIn,
    /// Something else that a person answers in the agent itself, such as terms to accept.
    Other,
}

impl BlockKind {
    /// Each kind with its word.
    pub const ALL: [(Self, &'static str); 3] = [(Self::Folder, "folder"), (Self::SignIn, "sign_in"), (Self::Other, "other")];

    /// The word in rows and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::SignIn => "sign_in",
            Self::Other => "other",
        }
    }
}

/// A blocked start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What is asked.
    pub kind: BlockKind,
    /// The folder that is asked about; empty for any other question (GATE-51).
    pub folder: String,
    /// The agent's own words, one line.
    pub words: String,
}

/// What is looked at: how an agent ended and what it said.
#[derive(Debug, Clone, Copy)]
pub struct Signs<'a> {
    /// How it writes its output.
    pub output: OutputFormat,
    /// How it ended.
    pub exit: &'a Ended,
    /// The error that it reported, with its kind.
    pub reported: Option<(ReportedKind, &'a str)>,
    /// The last lines of its standard error.
    pub stderr: &'a [String],
}

impl<'a> Signs<'a> {
    /// The signs of a run.
    #[must_use]
    pub fn of(output: OutputFormat, end: &'a RunEnd) -> Self {
        let reported = end.reported.as_ref().map(|error| (error.kind, error.text.as_str()));
        Self { output, exit: &end.exit, reported, stderr: &end.stderr_tail }
    }
}

/// Gemini's exit code for a folder that it does not trust.
const GEMINI_UNTRUSTED: i32 = 55;
/// Gemini's exit code for an account that it does not have.
const GEMINI_SIGN_IN: i32 = 41;

/// What agents say of a folder.
const FOLDER: [&str; 2] = ["not inside a trusted directory", "not running in a trusted directory"];
/// What agents say where an account is missing.
const SIGN_IN: [&str; 9] = [
    "not logged in",
    "please run /login",
    "codex login",
    "401 unauthorized",
    "invalid api key",
    "oauth token has expired",
    "please set an auth method",
    "authentication_failed",
    "not authenticated",
];
/// What agents say where something is to be accepted or answered by hand first.
const OTHER: [&str; 4] = ["terms of service", "accept the terms", "usage policy update", "run it interactively"];

/// The block that an agent's end shows; `None` for an end of any other kind. `folder` is the one it was started in.
///
/// An agent that ended well is never blocked, whatever it wrote: a review may speak of logins.
#[must_use]
pub fn recognise(signs: &Signs<'_>, folder: &str) -> Option<Block> {
    let code = match signs.exit {
        Ended::Exit(0) if signs.reported.is_none() => return None,
        Ended::Exit(code) => Some(*code),
        Ended::Signal(_) | Ended::Unknown(_) => None,
    };
    // Text without a form decides nothing, save where a known program says it in its own words.
    let said: Vec<&str> =
        signs.reported.iter().map(|(_, text)| *text).chain(signs.stderr.iter().rev().map(String::as_str)).collect();
    let finds = |marks: &[&str]| {
        let has = |line: &&&str| marks.iter().any(|mark| line.to_lowercase().contains(mark));
        said.iter().find(has).map(|line| (*line).to_owned())
    };
    let any = || said.iter().find(|line| !line.trim().is_empty()).map_or_else(String::new, |line| (*line).to_owned());
    let block = |kind, folder: &str, words: String| {
        Some(Block { kind, folder: folder.to_owned(), words: words.split_whitespace().collect::<Vec<_>>().join(" ") })
    };
    let gemini = signs.output == OutputFormat::Gemini;
    if let Some(words) = finds(&FOLDER) {
        return block(BlockKind::Folder, folder, words);
    }
    if gemini && code == Some(GEMINI_UNTRUSTED) {
        return block(BlockKind::Folder, folder, any());
    }
    if let Some((ReportedKind::SignIn, text)) = signs.reported {
        return block(BlockKind::SignIn, "", text.to_owned());
    }
    if let Some(words) = finds(&SIGN_IN) {
        return block(BlockKind::SignIn, "", words);
    }
    if gemini && code == Some(GEMINI_SIGN_IN) {
        return block(BlockKind::SignIn, "", any());
    }
    finds(&OTHER).and_then(|words| block(BlockKind::Other, "", words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::hear;

    /// An end as the recordings have it: standard output is heard line by line, standard error kept.
    fn seen(output: OutputFormat, code: i32, out: &str, err: &str) -> Option<Block> {
        let reported = out.lines().filter_map(|line| hear(output, line).verdict).next_back().flatten();
        let stderr: Vec<String> = err.lines().map(str::to_owned).collect();
        let signs = Signs {
            output,
            exit: &Ended::Exit(code),
            reported: reported.as_ref().map(|e| (e.kind, e.text.as_str())),
            stderr: &stderr,
        };
        recognise(&signs, "/trees/one")
    }

    #[test]
    fn the_recorded_questions_of_the_real_programs_are_recognised() {
        // RUN-30
        use BlockKind::{Folder, SignIn};
        use OutputFormat::{Claude, Codex, Gemini};
        let cases = [
            (Claude, 1, include_str!("../fixtures/claude-not-signed-in.jsonl"), "", SignIn, "Please run /login"),
            (Codex, 1, "", include_str!("../fixtures/codex-untrusted.stderr"), Folder, "Not inside a trusted directory"),
            (Codex, 1, include_str!("../fixtures/codex-not-signed-in.jsonl"), "", SignIn, "401 Unauthorized"),
            (Gemini, 41, "", include_str!("../fixtures/gemini-not-signed-in.stderr"), SignIn, "Please set an Auth method"),
            (Gemini, 55, "", include_str!("../fixtures/gemini-untrusted.stderr"), Folder, "not running in a trusted directory"),
        ];
        for (output, code, out, err, kind, words) in cases {
            let block = seen(output, code, out, err).unwrap_or_else(|| panic!("{words}"));
            assert_eq!(block.kind, kind, "{words}");
            assert!(block.words.contains(words) && !block.words.contains('\n'), "{block:?}");
            assert_eq!(block.folder, if kind == Folder { "/trees/one" } else { "" });
        }
    }

    #[test]
    fn a_code_tells_what_words_do_not_and_other_questions_have_no_folder() {
        // RUN-30
        assert_eq!(seen(OutputFormat::Gemini, 55, "", "x").unwrap().kind, BlockKind::Folder);
        assert_eq!(seen(OutputFormat::Gemini, 41, "", "").unwrap().kind, BlockKind::SignIn);
        let terms = seen(OutputFormat::Claude, 1, "", "You must accept the Terms of Service first").unwrap();
        assert_eq!((terms.kind, terms.folder.as_str()), (BlockKind::Other, ""));
        let words: Vec<&str> =
            BlockKind::ALL.iter().map(|(kind, word)| if kind.as_str() == *word { *word } else { "" }).collect();
        assert_eq!(words, ["folder", "sign_in", "other"]);
    }

    #[test]
    fn an_end_that_is_not_recognised_is_no_block() {
        // RUN-30
        assert_eq!(seen(OutputFormat::Claude, 0, "{\"type\":\"result\",\"subtype\":\"success\"}", "not logged in"), None);
        assert_eq!(seen(OutputFormat::Codex, 1, "{\"type\":\"turn.failed\",\"error\":{\"message\":\"overloaded\"}}", ""), None);
        // The codes are Gemini's alone.
        assert_eq!(seen(OutputFormat::Plain, 55, "", "x"), None);
        assert_eq!(seen(OutputFormat::Codex, 41, "", "x"), None);
        let killed = Signs { output: OutputFormat::Gemini, exit: &Ended::Signal(9), reported: None, stderr: &[] };
        assert_eq!(recognise(&killed, "/x"), None);
    }
}
