//! What an agent's session does with drafts: `github_draft` and `draft_withdraw` (MCP-14, MCP-16, AGENT-09 to 12).

use serde_json::{Value, json};
use wloop_agents::tools::DraftWish;
use wloop_core::draft::Delivery;
use wloop_core::github::RepoName;
use wloop_core::id::{PostId, SessionId, UnitRef};
use wloop_core::turn::TurnState;
use wloop_store::rows::{ToolCallRow, TurnRow};

use super::drafts::By;
use super::tools::{denied, hash_of};
use super::{Cx, Reply};
use crate::input::NewDraft;
use crate::refusal::{Answer, Refusal, RefusalKind};

impl Cx<'_> {
    /// Proposes a comment on the turn's pull request, or on another watched one.
    pub(super) fn github_draft(
        &mut self,
        turn: &TurnRow,
        wish: DraftWish,
        key: Option<String>,
        arguments: &Value,
    ) -> Answer<Reply> {
        let hash = hash_of(arguments);
        let key = key.unwrap_or_else(|| hash.clone());
        if let Some(before) = self.tx.tool_call(turn.id, "github_draft", &key)? {
            if before.arguments != hash {
                return Err(denied("invalid", "this `key` was used for another call; give each call its own"));
            }
            if let Some(post) = before.post {
                return self.draft_answer(post, true);
            }
        }
        if !matches!(turn.state, TurnState::Started | TurnState::Asked) {
            return Err(denied("turn_state", format!("the turn is {}", turn.state)));
        }
        let unit = match &wish.unit {
            Some(text) => self.unit_named(text)?,
            None => turn.unit.clone(),
        };
        let new = NewDraft {
            unit,
            text: wish.text,
            purpose: wish.purpose.unwrap_or_default(),
            delivery: Delivery::Comment,
            broadcast: false,
            effects: wish.effects,
            task: None,
            key: None,
        };
        let id = self.propose_draft(&new, By::Turn(turn))?;
        self.tx.put_tool_call(
            &ToolCallRow { turn: turn.id, tool: "github_draft".to_owned(), key, arguments: hash, post: Some(id), answer: None },
            self.now,
        )?;
        self.draft_answer(id, false)
    }

    /// Takes back a held draft of the session's own; it needs no turn.
    pub(super) fn draft_withdraw(&mut self, session: SessionId, draft: &str, reason: &str) -> Answer<Reply> {
        let Ok(id) = draft.parse::<PostId>() else {
            return Err(denied("not_found", format!("`{draft}` is no draft's id; give it as `github_draft` answered it")));
        };
        let post = self.withdraw_own(session, id, reason)?;
        Ok(Reply::Tool(json!({ "draft": id.to_string(), "state": post.state.as_str() })))
    }

    fn draft_answer(&self, id: PostId, repeated: bool) -> Answer<Reply> {
        let (_, post) = self.a_draft(id)?;
        let gate = self.gate(post.gate)?;
        let mut answer = json!({
            "draft": id.to_string(),
            "gate": gate.gate.id.to_string(),
            "status": gate.gate.status.as_str(),
            "mentions": post.mentions,
        });
        if repeated {
            answer["repeated"] = Value::Bool(true);
        }
        Ok(Reply::Tool(answer))
    }

    /// A pull request as an agent names it: `github:<key>`, `owner/repo#n` or its address. It must be known.
    fn unit_named(&self, text: &str) -> Answer<UnitRef> {
        let text = text.trim();
        if let Ok(unit) = text.parse::<UnitRef>()
            && self.tx.unit(&unit)?.is_some()
        {
            return Ok(unit);
        }
        let path = text.split_once("://").map_or(text, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
        let named = path.split_once('#').or_else(|| path.split_once("/pull/"));
        let number = |n: &str| n.split(['/', '?', '#']).next().and_then(|n| n.parse::<u64>().ok());
        if let Some((repo, n)) = named
            && let (Some((owner, name)), Some(number)) = (repo.split_once('/'), number(n))
        {
            let repo = RepoName { owner: owner.to_owned(), name: name.to_owned() };
            if let Some(row) = self.tx.pull_by_name(&repo, number)? {
                return Ok(row.unit);
            }
        }
        let words = format!("`{text}` is no pull request that wloop watches; leave `unit` out for the task's own");
        Err(Refusal::new(RefusalKind::NotFound, words).field("unit").code("not_found").into())
    }
}
