//! The tools that propose drafts and take them back (MCP-14, MCP-16).

use serde_json::{Value, json};
use wloop_core::draft::PURPOSE_LIMIT;

use super::{Args, GITHUB_TEXT, Refusal, Tool, ToolCall, call_key, invalid, kind, object, over};

/// A draft that a session proposes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftWish {
    /// The text.
    pub text: String,
    /// The pull request, as the agent names it; the turn's own when left out.
    pub unit: Option<String>,
    /// Why: a label.
    pub purpose: Option<String>,
    /// What sending it applies.
    pub effects: Vec<String>,
}

const GITHUB_DRAFT: &str = "Propose a comment for the conversation of your task's pull request, or of another one that is watched \
(`unit`). Nothing is sent: it waits in the person's Outbox until they approve it, edit it or discard it. Use it for what is not part \
of the review itself, such as a question to the author or a reminder.";
const DRAFT_WITHDRAW: &str = "Take back a draft of yours that still waits for the person, with the reason. One that was decided is \
answered with `already`.";

/// `github_draft`, as an agent sees it.
pub(super) fn propose(key: &Value) -> Tool {
    Tool {
        name: "github_draft",
        description: GITHUB_DRAFT,
        reads_only: false,
        schema: object(json!({
            "type": "object", "required": ["text"], "additionalProperties": false,
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": GITHUB_TEXT, "description": "Markdown, the whole comment" },
                "unit": { "type": "string", "minLength": 1,
                    "description": "another watched pull request, as `owner/repo#n`; your task's own when left out" },
                "purpose": { "type": "string", "maxLength": PURPOSE_LIMIT,
                    "description": "why, in a word, such as `nudge` or `reply`" },
                "effects": { "type": "array", "items": { "type": "string", "minLength": 1 },
                    "description": "what sending it notes, where your task allows it" },
                "key": key
            }
        })),
    }
}

/// `draft_withdraw`, as an agent sees it.
pub(super) fn withdraw() -> Tool {
    Tool {
        name: "draft_withdraw",
        description: DRAFT_WITHDRAW,
        reads_only: false,
        schema: object(json!({
            "type": "object", "required": ["draft", "reason"], "additionalProperties": false,
            "properties": {
                "draft": { "type": "string", "minLength": 1, "description": "the id that `github_draft` answered" },
                "reason": { "type": "string", "minLength": 1, "description": "one sentence for the person" }
            }
        })),
    }
}

pub(super) fn github_draft(args: &Args<'_>) -> Result<ToolCall, Refusal> {
    args.only(&["text", "unit", "purpose", "effects", "key"])?;
    let text = args.filled("text", args.github_text("text")?)?.to_owned();
    let unit = args.text("unit")?.map(|unit| args.filled("unit", unit)).transpose()?.map(str::to_owned);
    let purpose = args.text("purpose")?.map(str::trim).filter(|purpose| !purpose.is_empty());
    if let Some(length) = purpose.map(|p| p.chars().count()).filter(|n| *n > PURPOSE_LIMIT) {
        return Err(over("purpose", length, PURPOSE_LIMIT, "characters"));
    }
    let mut effects = Vec::new();
    for (n, value) in args.list("effects")?.iter().enumerate() {
        let Some(name) = value.as_str() else {
            return Err(invalid(&format!("effects[{n}]"), &format!("is {}", kind(value)), "give a name"));
        };
        if !effects.iter().any(|known| known == name) {
            effects.push(name.to_owned());
        }
    }
    let wish = DraftWish { text, unit, purpose: purpose.map(str::to_owned), effects };
    Ok(ToolCall::GithubDraft { wish, key: call_key(args)? })
}

pub(super) fn draft_withdraw(args: &Args<'_>) -> Result<ToolCall, Refusal> {
    args.only(&["draft", "reason"])?;
    let word = |key| args.needed(key, args.text(key)?).and_then(|text| args.filled(key, text)).map(str::to_owned);
    Ok(ToolCall::DraftWithdraw { draft: word("draft")?, reason: word("reason")? })
}
