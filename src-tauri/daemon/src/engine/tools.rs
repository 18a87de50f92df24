//! What an agent's tools do (MCP-06 to MCP-13): `task_read`, `github_post`, `record`. Each belongs to the session's open turn.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use wloop_agents::tools::{Part as Wanted, PostWish, ToolCall};
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind};
use wloop_core::github::material::{Part, boundary, material, texts};
use wloop_core::github::publish::{self, Allowed, Asked, TurnPost, TurnView, limit_event, refuse_empty, target, text_hash};
use wloop_core::github::{InlineComment, ReviewEvent, Shape, Side};
use wloop_core::id::SessionId;
use wloop_core::post::{Delivery, PostState};
use wloop_core::turn::{TurnEvent, TurnState};
use wloop_store::rows::{NewEvent, PostRow, ToolCallRow, TurnRow};
use wloop_store::{GateFilter, PostFilter, TurnChange};

use super::gates::{NewGate, Policy};
use super::posts::NewPost;
use super::{Cx, Reply};
use crate::refusal::{Answer, Refusal, RefusalKind};

/// The most calls of posting tools in one turn (MCP-08).
const POSTING_CALLS: usize = 40;

impl Cx<'_> {
    /// One call of a tool by the session's own process.
    pub(super) fn tool(&mut self, session: SessionId, call: ToolCall, arguments: &Value) -> Answer<Reply> {
        if self.tx.session(session)?.is_none() {
            return Err(denied("not_in_turn", "this session is not known; start it through wloop"));
        }
        if let ToolCall::DraftWithdraw { draft, reason } = &call {
            return self.draft_withdraw(session, draft, reason);
        }
        let Some(turn) = self.tx.open_turn_of_session(session)? else {
            return match self.repeated_record(session, &call)? {
                Some(reply) => Ok(reply),
                None => Err(denied("not_in_turn", "this session has no open turn")),
            };
        };
        if turn.cancel_by.is_some() && !matches!(call, ToolCall::TaskRead { .. }) {
            return Err(denied("turn_state", "the turn is being cancelled; nothing more is written for it"));
        }
        // Who calls has read the prompt, also where the word of it is still on its way; the first call takes the turn up (RUN-20).
        if turn.state == TurnState::Starting && turn.process.is_some() {
            self.turn_given(turn.id)?;
        }
        self.turn_taken_up(turn.id)?;
        let turn = self.a_turn(turn.id)?;
        match call {
            ToolCall::TaskRead { include } => self.task_read(&turn, &include),
            ToolCall::GithubPost { wish, text, head, key } => self.github_post(&turn, wish, &text, head, key, arguments),
            ToolCall::GithubDraft { wish, key } => self.github_draft(&turn, wish, key, arguments),
            ToolCall::DraftWithdraw { draft, reason } => self.draft_withdraw(session, &draft, &reason),
            ToolCall::Record { verdict, summary, object } => self.record(&turn, &verdict, &summary, object),
        }
    }

    fn task_read(&mut self, turn: &TurnRow, include: &[Wanted]) -> Answer<Reply> {
        let Some(seen) = self.seen(&turn.unit)? else {
            return Err(denied("not_found", "the pull request is not known any more"));
        };
        let word = boundary(|| format!("{:012x}", self.ids.next_bits() & 0xffff_ffff_ffff), &texts(&seen.detail));
        let part = if turn.stage == "follow-up" { Part::FollowUp } else { Part::Whole };
        let material = material(&seen.detail, &seen.viewer, part, &seen.settings.admitted_teams, &word);
        let mut answer = serde_json::Map::new();
        for part in include {
            match part {
                Wanted::Brief => {
                    let summary = &seen.detail.summary;
                    answer.insert(
                        "unit".into(),
                        json!({
                            "id": turn.unit.to_string(), "slug": seen.detail.slug(), "repo": summary.repo.to_string(),
                            "number": summary.number, "title": publish_title(&summary.title), "url": summary.url,
                        }),
                    );
                    answer.insert(
                        "turn".into(),
                        json!({
                            "id": turn.id.to_string(), "state": turn.state.as_str(), "stage": turn.stage, "head": turn.head,
                            "base": turn.base, "merge_base": turn.merge_base,
                        }),
                    );
                    answer.insert("guidance".into(), json!(turn.guidance));
                    answer.insert(
                        "profile".into(),
                        json!({
                            "surfaces": self.rules.profile.surfaces, "automated": seen.settings.automated,
                        }),
                    );
                }
                Wanted::Items => {
                    answer.insert("covered".into(), turn.covered.clone());
                }
                Wanted::Material => {
                    answer.insert(
                        "material".into(),
                        json!({
                            "third_party": true, "description": material.description, "threads": material.threads,
                            "request": material.request,
                        }),
                    );
                }
                Wanted::Answers => {
                    let gates = self.tx.gates(&GateFilter { unit: Some(turn.unit.clone()), ..GateFilter::default() })?;
                    let answers: Vec<Value> = gates
                        .iter()
                        .filter(|g| g.turn == Some(turn.id) && g.gate.closed.is_some())
                        .map(|g| {
                            json!({ "gate": g.gate.id.to_string(), "status": g.gate.status.as_str(),
                            "text": g.gate.closed.as_ref().and_then(|c| c.text.clone()) })
                        })
                        .collect();
                    answer.insert("answers".into(), Value::Array(answers));
                }
                Wanted::Drafts => {
                    let posts = self.tx.posts(&PostFilter { turn: Some(turn.id), ..PostFilter::default() })?;
                    let posts: Vec<Value> = posts.iter().map(post_answer).collect();
                    answer.insert("posts".into(), Value::Array(posts));
                    answer.insert("drafts".into(), Value::Array(self.drafts_of_turn(turn.id)?));
                }
            }
        }
        Ok(Reply::Tool(Value::Object(answer)))
    }

    fn github_post(
        &mut self,
        turn: &TurnRow,
        wish: PostWish,
        text: &str,
        head: Option<String>,
        key: Option<String>,
        arguments: &Value,
    ) -> Answer<Reply> {
        let Some(seen) = self.seen(&turn.unit)? else {
            return Err(denied("not_found", "the pull request is not known any more"));
        };
        let hash = hash_of(arguments);
        let key = key.unwrap_or_else(|| hash.clone());
        if let Some(before) = self.tx.tool_call(turn.id, "github_post", &key)? {
            if before.arguments != hash {
                return Err(denied("invalid", "this `key` was used for another call; give each call its own"));
            }
            if let Some(post) = before.post {
                return Ok(Reply::ToolWaits { post, repeated: true });
            }
        }
        let posts = self.tx.posts(&PostFilter { turn: Some(turn.id), ..PostFilter::default() })?;
        if posts.len() >= POSTING_CALLS {
            return Err(denied("limit", format!("a turn makes at most {POSTING_CALLS} posts")));
        }
        let first_comment = |thread: &str| {
            seen.detail.threads.iter().find(|t| t.id == thread).and_then(|t| t.comments.first()).map(|c| c.database_id)
        };
        let Some(shape) = wish.into_shape(first_comment) else {
            return Err(denied("not_found", "there is no such review thread on the pull request"));
        };
        let head = head.unwrap_or_else(|| turn.head.clone());
        // One that failed for certain on another head is not what is asked for now (GH-PUB-17).
        let for_this_head = |p: &PostRow| p.state != PostState::Failed || p.maybe_posted || p.head == head;
        let view = self.turn_view(turn, &posts.into_iter().filter(for_this_head).collect::<Vec<_>>())?;
        let asked = Asked { unit: &turn.unit, shape: &shape, text };
        let allowed = publish::allowed(Some(&view), &asked)
            .map_err(|d| Refusal::new(RefusalKind::Conflict, format!("{}; {}", d.message, d.hint)).code(d.code.as_str()))?;
        if let Allowed::Repeat(post) = allowed {
            return Ok(Reply::ToolWaits { post, repeated: true });
        }
        refuse_empty(&shape, text).map_err(|fault| denied("invalid", fault.to_string()))?;
        let mine = seen.detail.author.as_ref().is_some_and(|a| a.id == seen.viewer.id);
        let (shape, changed) = match shape {
            Shape::Review { event, comments } => {
                let (event, changed) = limit_event(event, mine);
                (Shape::Review { event, comments }, changed)
            }
            shape @ (Shape::Comment | Shape::Reply { .. }) => (shape, false),
        };
        let post = if changed {
            // Another verdict than the one released is asked again (GH-PUB-21).
            self.ask_post(turn, shape, text, head, "Your own pull request takes no verdict: publish it as a comment?")?
        } else {
            self.insert_post(NewPost { unit: &turn.unit, turn, gate: turn.gate, shape, text, head, state: PostState::Queued })?
        };
        self.tx.put_tool_call(
            &ToolCallRow {
                turn: turn.id,
                tool: "github_post".to_owned(),
                key,
                arguments: hash,
                post: Some(post.id),
                answer: None,
            },
            self.now,
        )?;
        Ok(Reply::ToolWaits { post: post.id, repeated: false })
    }

    /// What decides whether a turn may write.
    fn turn_view(&self, turn: &TurnRow, posts: &[PostRow]) -> Answer<TurnView> {
        let intent = self.rules.profile.intents.get(&turn.intent);
        let open = self.tx.gates(&GateFilter { unit: Some(turn.unit.clone()), ..GateFilter::open() })?;
        let threads = turn.covered.get("threads").and_then(Value::as_array).map(|t| t.iter().filter_map(Value::as_u64).collect());
        let before = self.tx.sent_reviews(&turn.unit)?.into_iter().find(|p| p.head == turn.head && p.turn != Some(turn.id));
        // A review of this head from another turn counts only for the same request: a request that came after it asks anew.
        let before = match (&before, self.tx.item(turn.item)?) {
            (Some(post), Some(item)) if item.planned_at > post.changed_at => None,
            _ => before,
        };
        Ok(TurnView {
            unit: turn.unit.clone(),
            state: turn.state.as_str().to_owned(),
            publish: intent.map(|i| i.publish.clone()).unwrap_or_default(),
            threads,
            posts: posts
                .iter()
                .rev()
                .filter(|post| post.state != PostState::Dropped)
                .map(|post| TurnPost {
                    id: post.id,
                    shape: post.shape.name().to_owned(),
                    target: target(&post.shape),
                    text_hash: text_hash(&post.shape, &post.text),
                    delivery: Delivery { state: post.state, maybe_posted: post.maybe_posted },
                    url: post.remote.as_ref().map(|r| r.url.clone()).unwrap_or_default(),
                })
                .collect(),
            open_gate: open.into_iter().find(|g| g.turn == Some(turn.id)).map(|g| g.gate.words),
            by_hand: turn.by_hand,
            review_before: before.map(|p| p.remote.map_or_else(|| "an earlier post".to_owned(), |r| r.url)),
        })
    }

    /// A complete post is held under a gate of its own and the turn stops (AMB-10, AMB-11, T3, T9).
    fn ask_post(&mut self, turn: &TurnRow, shape: Shape, text: &str, head: String, words: &str) -> Answer<PostRow> {
        let gate = self.open_gate(NewGate {
            kind: GateKind::Post,
            unit: &turn.unit,
            words: words.to_owned(),
            policy: Policy::Waits("only the person lets out a post that a round stopped on"),
            turn: Some(turn.id),
        })?;
        let post =
            self.insert_post(NewPost { unit: &turn.unit, turn, gate: gate.gate.id, shape, text, head, state: PostState::Held })?;
        self.step_turn(turn, TurnEvent::Ask, EventKind::TurnAsked, words)?;
        Ok(post)
    }

    fn record(&mut self, turn: &TurnRow, verdict: &str, summary: &str, object: Value) -> Answer<Reply> {
        if turn.state == TurnState::Asked {
            let same = turn.record.as_ref() == Some(&object);
            return if same {
                Ok(recorded(turn, turn.state, true))
            } else {
                Err(denied("turn_state", "the turn has stopped and waits for the person; it records nothing more until then"))
            };
        }
        if turn.state != TurnState::Started {
            return Err(denied("turn_state", format!("the turn is {}", turn.state)));
        }
        self.check_record(turn, &object)?;
        let posts = self.tx.posts(&PostFilter { turn: Some(turn.id), ..PostFilter::default() })?;
        if posts.iter().any(|p| matches!(p.state, PostState::Queued | PostState::Sending)) {
            return Err(denied("unavailable", "a post of this turn is still on its way; call `record` again in a moment"));
        }
        let stands = |p: &PostRow| p.shape.name() == "review" && (p.maybe_posted || p.state == PostState::Sent);
        if verdict == "asked" && posts.iter().any(stands) {
            return Err(denied("already", "this turn has published its review, so it cannot ask about one; record `published`"));
        }
        match verdict {
            "asked" => self.record_asked(turn, summary, object),
            "published" => {
                if !posts.iter().any(|p| p.state == PostState::Sent) {
                    return Err(denied(
                        "invalid",
                        "`verdict`: nothing of this turn was published; publish first, or record `nothing`",
                    ));
                }
                self.record_ended(turn, verdict, object)
            }
            _ => self.record_ended(turn, verdict, object),
        }
    }

    fn record_ended(&mut self, turn: &TurnRow, verdict: &str, object: Value) -> Answer<Reply> {
        let next = turn.state.step(TurnEvent::Record).map_err(|fault| denied("turn_state", fault.to_string()))?;
        let change = TurnChange { cause: None, verdict: Some(verdict), record: Some(&object), now: self.now };
        self.tx.set_turn_state(turn.id, turn.state, next, &change)?;
        self.event(NewEvent {
            data: json!({ "verdict": verdict }),
            ..self.of_turn(turn, EventKind::TurnRecorded, Actor::Session(turn.session))
        })?;
        self.mark_reviewed(turn.id)?;
        Ok(recorded(turn, next, false))
    }

    fn record_asked(&mut self, turn: &TurnRow, summary: &str, object: Value) -> Answer<Reply> {
        if object.get("condition").is_none() && object.get("question").is_none() {
            return Err(denied("invalid", "`condition`: say which condition stopped you, or ask a `question`"));
        }
        let Some(draft) = object.get("draft") else {
            return Err(denied("invalid", "`draft`: give the complete review that you would have published"));
        };
        let (shape, text) = draft_review(draft)?;
        refuse_empty(&shape, &text).map_err(|fault| denied("invalid", format!("`draft`: {fault}")))?;
        let seen = self.seen(&turn.unit)?;
        let mine = seen.is_some_and(|s| s.detail.author.as_ref().is_some_and(|a| a.id == s.viewer.id));
        let shape = match shape {
            Shape::Review { event, comments } => Shape::Review { event: limit_event(event, mine).0, comments },
            shape @ (Shape::Comment | Shape::Reply { .. }) => shape,
        };
        let label = self.tx.unit(&turn.unit)?.map_or_else(|| turn.unit.to_string(), |u| u.label);
        let condition = object.get("condition").and_then(Value::as_str).map_or("it asks", condition_words);
        let question = object.get("question").and_then(Value::as_str).unwrap_or(summary);
        let words = wloop_core::rules::words::one_line(&format!("{label}: {condition}. {question}"));
        self.tx.set_turn_record(turn.id, "asked", &object)?;
        self.ask_post(turn, shape, &text, turn.head.clone(), &words)?;
        Ok(recorded(turn, TurnState::Asked, false))
    }

    /// Checks a record against its intent's schema, each fault with its path (MCP-12).
    fn check_record(&self, turn: &TurnRow, object: &Value) -> Answer<()> {
        let Some(intent) = self.rules.profile.intents.get(&turn.intent) else { return Ok(()) };
        let validator = jsonschema::validator_for(&intent.record_schema).map_err(|fault| {
            Refusal::new(RefusalKind::Unavailable, format!("the record schema of `{}` is not right: {fault}", intent.name))
        })?;
        let faults: Vec<String> =
            validator.iter_errors(object).take(10).map(|fault| format!("`{}`: {fault}", fault.instance_path())).collect();
        if faults.is_empty() { Ok(()) } else { Err(denied("invalid", faults.join("; "))) }
    }

    /// A record that was made before and whose answer was lost: equal to the first, it is answered again (MCP-12).
    fn repeated_record(&self, session: SessionId, call: &ToolCall) -> Answer<Option<Reply>> {
        let ToolCall::Record { object, .. } = call else { return Ok(None) };
        let Some(turn) = self.tx.newest_turn_of_session(session)? else { return Ok(None) };
        match (&turn.record, turn.state) {
            (Some(record), TurnState::Recorded) if record == object => Ok(Some(recorded(&turn, turn.state, true))),
            (Some(_), TurnState::Recorded) => Err(denied("already", "the turn is recorded; it takes no second record")),
            _ => Ok(None),
        }
    }
}

/// The answer of `github_post` for a post that has come to rest; `None` while it is still on its way.
#[must_use]
pub fn settled_answer(post: &PostRow) -> Option<Result<Value, Refusal>> {
    match post.state {
        PostState::Sent | PostState::Held => Some(Ok(post_answer(post))),
        PostState::Failed => {
            let code = if post.cause.starts_with("the head moved") { "head_moved" } else { "refused" };
            let hint = if post.maybe_posted { "; the person decides, do not try again" } else { "" };
            Some(Err(Refusal::new(RefusalKind::Conflict, format!("{}{hint}", post.cause)).code(code)))
        }
        PostState::Dropped => Some(Err(Refusal::new(RefusalKind::Conflict, "the person dropped it").code("refused"))),
        PostState::Queued | PostState::Sending => None,
    }
}

fn recorded(turn: &TurnRow, state: TurnState, repeated: bool) -> Reply {
    let mut answer = json!({ "turn": turn.id.to_string(), "state": state.as_str() });
    if repeated {
        answer["repeated"] = Value::Bool(true);
    }
    Reply::Tool(answer)
}

/// What a tool tells about a post.
fn post_answer(post: &PostRow) -> Value {
    let mut answer = json!({
        "post": post.id.to_string(),
        "state": post.state.as_str(),
        "url": post.remote.as_ref().map(|r| r.url.clone()),
        "mentions": post.mentions,
        "moved": post.moved,
    });
    if post.state == PostState::Held {
        answer["gate"] = json!(post.gate.to_string());
    }
    answer
}

pub(super) fn denied(code: &'static str, words: impl Into<String>) -> crate::refusal::EngineError {
    Refusal::new(RefusalKind::Conflict, words).code(code).into()
}

pub(super) fn hash_of(arguments: &Value) -> String {
    // A key of the agent's own is no part of what the call says.
    let mut plain = arguments.clone();
    if let Some(map) = plain.as_object_mut() {
        map.remove("key");
    }
    Sha256::digest(plain.to_string()).iter().map(|b| format!("{b:02x}")).collect()
}

fn publish_title(title: &str) -> String {
    wloop_core::github::material::visible(title)
}

fn condition_words(condition: &str) -> &'static str {
    match condition {
        "unsure" => "it is unsure whether a finding blocks",
        "risky_surface" => "it would approve a risky change",
        "security" => "a finding speaks of security",
        "contradicts_human" => "it goes against another reviewer",
        _ => "it stopped",
    }
}

/// The complete review of a record (MCP-13); its form was checked against the schema.
fn draft_review(draft: &Value) -> Answer<(Shape, String)> {
    let text = draft.get("body").and_then(Value::as_str).unwrap_or_default().to_owned();
    let event = match draft.get("event").and_then(Value::as_str) {
        Some("APPROVE") => ReviewEvent::Approve,
        Some("REQUEST_CHANGES") => ReviewEvent::RequestChanges,
        Some("COMMENT") => ReviewEvent::Comment,
        _ => return Err(denied("invalid", "`draft.event`: one of `APPROVE`, `REQUEST_CHANGES`, `COMMENT`")),
    };
    let mut comments = Vec::new();
    for (n, value) in draft.get("comments").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|t| !t.trim().is_empty());
        let (Some(path), Some(body), Some(line)) = (text("path"), text("body"), value.get("line").and_then(Value::as_u64)) else {
            return Err(denied("invalid", format!("`draft.comments[{n}]`: give `path`, `line` and `body`")));
        };
        comments.push(InlineComment {
            path: path.to_owned(),
            line,
            start_line: value.get("start_line").and_then(Value::as_u64),
            side: if value.get("side").and_then(Value::as_str) == Some("LEFT") { Side::Left } else { Side::Right },
            body: body.to_owned(),
        });
    }
    Ok((Shape::Review { event, comments }, text))
}
