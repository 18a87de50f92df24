//! What an agent says on its standard output, as far as it decides anything: its session's id, an error, what it used (RUN-09).
//! Everything else is kept in the transcript and read by people only.

use std::str::FromStr;

use serde_json::Value;

/// How an agent writes its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text: nothing in it decides anything.
    Plain,
    /// Claude Code's lines of JSON.
    Claude,
    /// Codex's lines of JSON.
    Codex,
    /// Gemini's lines of JSON.
    Gemini,
}

impl OutputFormat {
    /// Each format with the word a configuration uses for it.
    pub const ALL: [(Self, &'static str); 4] =
        [(Self::Plain, "plain"), (Self::Claude, "claude"), (Self::Codex, "codex"), (Self::Gemini, "gemini")];
}

/// A word that is no output format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no output format; there are `plain`, `claude`, `codex` and `gemini`")]
pub struct UnknownFormat(pub String);

impl FromStr for OutputFormat {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.into_iter().find(|(_, word)| *word == text);
        known.map(|(format, _)| format).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// What kind of an end an agent reported; table R2 treats them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportedKind {
    /// It could not go on.
    Failed,
    /// It used up its tokens or steps.
    RanOut,
    /// It declined the task.
    Refused,
    /// It is not signed in: a block of the start, no failure of the turn (RUN-30).
    SignIn,
}

/// An error that the agent reported itself; it wins over exit code 0 (RUN-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedError {
    /// The kind.
    pub kind: ReportedKind,
    /// The agent's words.
    pub text: String,
}

/// What the agent says it used. Shown on the turn; limits nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
    /// US dollars, as the agent reckons.
    pub cost_usd: Option<f64>,
    /// Steps of the conversation.
    pub steps: Option<u64>,
}

/// What one line tells.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) session: Option<String>,
    /// `Some(None)`: the agent says that all went well, which takes back an earlier error of the same run.
    pub(crate) verdict: Option<Option<ReportedError>>,
    pub(crate) usage: Option<Usage>,
}

/// Reads one line. A line that is no JSON, or of a type that is not known, tells nothing.
pub(crate) fn hear(format: OutputFormat, line: &str) -> Heard {
    let read: fn(&Value) -> Heard = match format {
        OutputFormat::Plain => return Heard::default(),
        OutputFormat::Claude => claude,
        OutputFormat::Codex => codex,
        OutputFormat::Gemini => gemini,
    };
    if !line.starts_with('{') {
        return Heard::default();
    }
    serde_json::from_str(line).map(|value| read(&value)).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(str::to_owned)
}

/// The words of an error, which agents write as a text or as an object with a message.
fn words(value: &Value) -> Option<String> {
    let message = &value["message"];
    value.as_str().or_else(|| message.as_str()).map(str::to_owned)
}

fn fault(kind: ReportedKind, text: String) -> Option<Option<ReportedError>> {
    let kind = if kind == ReportedKind::Failed && asks_for_sign_in(&text) { ReportedKind::SignIn } else { kind };
    Some(Some(ReportedError { kind, text }))
}

fn asks_for_sign_in(text: &str) -> bool {
    let text = text.to_lowercase();
    ["please run /login", "not logged in", "codex login", "invalid api key", "oauth token has expired"]
        .iter()
        .any(|sign| text.contains(sign))
}

fn claude(line: &Value) -> Heard {
    let session = text(line, "session_id");
    if line["type"] != "result" {
        return Heard { session: session.filter(|_| line["type"] == "system"), ..Heard::default() };
    }
    let subtype = line["subtype"].as_str().unwrap_or_default();
    let listed = line["errors"].as_array().map(|all| all.iter().filter_map(words).collect::<Vec<_>>().join("; "));
    let said = text(line, "result").or(listed).filter(|t| !t.trim().is_empty());
    let verdict = match (subtype, line["stop_reason"].as_str()) {
        ("error_max_turns" | "error_max_budget_usd", _) => fault(ReportedKind::RanOut, said.unwrap_or(subtype.to_owned())),
        (_, Some("refusal")) => fault(ReportedKind::Refused, said.unwrap_or_else(|| "the agent declined".to_owned())),
        (_, Some("max_tokens")) => fault(ReportedKind::RanOut, said.unwrap_or_else(|| "max_tokens".to_owned())),
        _ if line["is_error"] == true || subtype.starts_with("error") => {
            fault(ReportedKind::Failed, said.unwrap_or(subtype.to_owned()))
        }
        _ => Some(None),
    };
    let used = &line["usage"];
    let input: Vec<u64> = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
        .iter()
        .filter_map(|key| used[key].as_u64())
        .collect();
    let usage = Usage {
        input_tokens: (!input.is_empty()).then(|| input.iter().fold(0, |sum: u64, n| sum.saturating_add(*n))),
        output_tokens: used["output_tokens"].as_u64(),
        cost_usd: line["total_cost_usd"].as_f64(),
        steps: line["num_turns"].as_u64(),
    };
    Heard { session, verdict, usage: Some(usage).filter(|u| *u != Usage::default()) }
}

fn codex(line: &Value) -> Heard {
    let mut heard = Heard::default();
    match line["type"].as_str().unwrap_or_default() {
        "thread.started" => heard.session = text(line, "thread_id"),
        "turn.failed" => {
            heard.verdict = fault(ReportedKind::Failed, words(&line["error"]).unwrap_or_else(|| "turn.failed".to_owned()));
        }
        "error" => heard.verdict = fault(ReportedKind::Failed, words(line).unwrap_or_else(|| "error".to_owned())),
        // A lost connection that was made again is written as an error too; a turn that completed takes it back.
        "turn.completed" => {
            heard.verdict = Some(None);
            heard.usage = Some(Usage {
                input_tokens: line["usage"]["input_tokens"].as_u64(),
                output_tokens: line["usage"]["output_tokens"].as_u64(),
                ..Usage::default()
            });
        }
        _ => {}
    }
    heard
}

fn gemini(line: &Value) -> Heard {
    let mut heard = Heard::default();
    match line["type"].as_str().unwrap_or_default() {
        "init" => heard.session = text(line, "session_id"),
        "error" => heard.verdict = fault(ReportedKind::Failed, words(line).unwrap_or_else(|| "error".to_owned())),
        "result" if line["status"] == "error" => {
            heard.verdict = fault(ReportedKind::Failed, words(&line["error"]).unwrap_or_else(|| "error".to_owned()));
        }
        "result" => heard.verdict = Some(None),
        _ => {}
    }
    heard
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(format: OutputFormat, line: &str) -> Option<(ReportedKind, String)> {
        hear(format, line).verdict.flatten().map(|e| (e.kind, e.text))
    }

    #[test]
    fn each_format_s_session_is_found() {
        // RUN-09
        for (format, line) in [
            (OutputFormat::Claude, r#"{"type":"system","subtype":"init","session_id":"s"}"#),
            (OutputFormat::Codex, r#"{"type":"thread.started","thread_id":"s"}"#),
            (OutputFormat::Gemini, r#"{"type":"init","session_id":"s"}"#),
        ] {
            assert_eq!(hear(format, line).session.as_deref(), Some("s"), "{line}");
            assert_eq!(hear(OutputFormat::Plain, line), Heard::default());
        }
    }

    #[test]
    fn each_format_s_errors_are_found() {
        // RUN-10
        use OutputFormat::{Claude, Codex, Gemini};
        use ReportedKind::{Failed, RanOut, Refused, SignIn};
        for (format, line, kind, text) in [
            (Claude, r#"{"type":"result","subtype":"success","is_error":true,"result":"overloaded"}"#, Failed, "overloaded"),
            (
                Claude,
                r#"{"type":"result","subtype":"error_during_execution","is_error":false,"errors":["a","b"]}"#,
                Failed,
                "a; b",
            ),
            (Claude, r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#, RanOut, "error_max_turns"),
            (Claude, r#"{"type":"result","subtype":"success","stop_reason":"refusal","result":"no"}"#, Refused, "no"),
            (Claude, r#"{"type":"result","is_error":true,"result":"Not logged in"}"#, SignIn, "Not logged in"),
            (Codex, r#"{"type":"turn.failed","error":{"message":"m"}}"#, Failed, "m"),
            (Codex, r#"{"type":"error","message":"m"}"#, Failed, "m"),
            (Gemini, r#"{"type":"result","status":"error","error":{"message":"m"}}"#, Failed, "m"),
        ] {
            assert_eq!(error(format, line), Some((kind, text.to_owned())), "{line}");
        }
        assert_eq!(hear(Codex, r#"{"type":"turn.completed","usage":{}}"#).verdict, Some(None));
    }

    #[test]
    fn what_is_not_known_decides_nothing() {
        // RUN-09
        for line in [
            "",
            "{",
            "[1]",
            "null",
            r#"{"type":"new_thing","session_id":"x"}"#,
            r#"{"type":7}"#,
            "plain text",
            "{\"type\":\"assistant\"}",
        ] {
            for (format, _) in OutputFormat::ALL {
                assert_eq!(hear(format, line), Heard::default(), "{line}");
            }
        }
    }

    #[test]
    fn use_and_cost_are_read() {
        // RUN-09
        let line = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":3,"total_cost_usd":0.25,
            "usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":7}}"#;
        let heard = hear(OutputFormat::Claude, line);
        let usage = Usage { input_tokens: Some(15), output_tokens: Some(7), cost_usd: Some(0.25), steps: Some(3) };
        assert_eq!((heard.verdict, heard.usage), (Some(None), Some(usage)));
    }
}
