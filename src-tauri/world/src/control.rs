//! `/_world/…`: faults, calls and acts for processes other than this one. No token: it is nobody's account.

use serde_json::{Value, json};

use crate::answer::{Answer, Asked};
use crate::error::WorldError;
use crate::faults::{Call, Fault, FaultKind, Match};
use crate::model::{AccountKind, CheckOutcome, Reviewer};
use crate::rest;
use crate::world::World;

/// Why a control request cannot be done, in words for its author.
type Refused = String;

pub(crate) fn answer(world: &World, asked: &Asked) -> Answer {
    let parts = asked.parts();
    let parts: Vec<&str> = parts.iter().skip(1).map(String::as_str).collect();
    let body = asked.json().unwrap_or_default();
    let done = match (asked.method.as_str(), parts.as_slice()) {
        ("GET", ["calls"]) => Ok(Value::Array(world.calls().iter().map(shown_call).collect())),
        ("DELETE", ["calls"]) => {
            world.forget_calls();
            Ok(json!({}))
        }
        ("GET", ["state"]) => Ok(shown_state(world)),
        ("POST", ["faults"]) => fault(&body).map(|fault| {
            world.push_fault(fault);
            json!({"waiting": world.faults_left().len()})
        }),
        ("DELETE", ["faults"]) => {
            world.clear_faults();
            Ok(json!({}))
        }
        ("POST", ["release"]) => {
            world.releases.send_modify(|releases| *releases += 1);
            Ok(json!({}))
        }
        ("POST", ["push"]) => push(world, &body),
        ("POST", ["request-review"]) => request_review(world, &body),
        ("POST", ["comment"]) => comment(world, &body),
        ("POST", ["check"]) => check(world, &body),
        _ => {
            return Answer::error(
                404,
                "no such control; there are GET calls, GET state, POST faults, POST release, POST push, POST request-review, POST comment, POST check",
            );
        }
    };
    match done {
        Ok(value) => Answer::json(200, value),
        Err(why) => Answer::error(400, &why),
    }
}

fn text<'v>(body: &'v Value, key: &str) -> Result<&'v str, Refused> {
    body.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` must be a text"))
}

fn pull_of(body: &Value) -> Result<(&str, u64), Refused> {
    let number = body.get("number").and_then(Value::as_u64).ok_or("`number` must be a number")?;
    Ok((text(body, "repo")?, number))
}

fn said(error: WorldError) -> Refused {
    error.to_string()
}

/// `{"method": "POST", "path": "/repos/*/*/pulls/*/reviews", "text": "", "kind": "acted-then-502"}`, and for the kind
/// `status` also `"status": 502, "headers": {"retry-after": "60"}, "body": {…}`.
fn fault(body: &Value) -> Result<Fault, Refused> {
    let optional = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = match text(body, "kind")? {
        "acted-then-502" => FaultKind::ActedThen502,
        "acted-then-dropped" => FaultKind::ActedThenDropped,
        "acted-then-hang" => FaultKind::ActedThenHang,
        "hang" => FaultKind::Hang,
        "dropped" => FaultKind::Dropped,
        "truncated" => FaultKind::Truncated,
        "garbled" => FaultKind::Garbled,
        "delay" => FaultKind::Delay,
        "status" => {
            let status = body.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
            let headers = body.get("headers").and_then(Value::as_object).into_iter().flatten();
            FaultKind::Answer {
                status: status.filter(|status| (200..600).contains(status)).ok_or("`status` must be from 200 to 599")?,
                headers: headers.filter_map(|(name, value)| Some((name.to_lowercase(), value.as_str()?.to_owned()))).collect(),
                body: body.get("body").cloned().unwrap_or_else(|| json!({"message": "fault"})),
            }
        }
        other => {
            return Err(format!(
                "`{other}` is no kind of fault; use acted-then-502, acted-then-dropped, acted-then-hang, hang, dropped, truncated, garbled, delay or status"
            ));
        }
    };
    Ok(Fault { on: Match { method: optional("method"), path: optional("path"), text: optional("text") }, kind })
}

fn shown_call(call: &Call) -> Value {
    json!({
        "number": call.number, "method": call.method, "path": call.path, "query": call.query,
        "user_agent": call.user_agent, "status": call.status, "ended": call.ended, "acted": call.acted,
        "request": call.request, "response": call.response,
    })
}

fn shown_state(world: &World) -> Value {
    let state = world.state();
    let pulls = state.repos.values().flat_map(|repo| repo.pulls.values().map(move |pull| (repo, pull)));
    let pulls: Vec<Value> = pulls.map(|(repo, pull)| rest::summary(&state, repo, pull)).collect();
    json!({"pulls": pulls})
}

/// `{"repo": "acme/api", "number": 1, "message": "…", "files": {"a.txt": "text", "gone.txt": null}}`
fn push(world: &World, body: &Value) -> Result<Value, Refused> {
    let (repo, number) = pull_of(body)?;
    let files = body.get("files").and_then(Value::as_object).ok_or("`files` must map paths to texts, or to null")?;
    let files: Vec<(&str, Option<&str>)> = files.iter().map(|(path, content)| (path.as_str(), content.as_str())).collect();
    let head = world.state().push(repo, number, text(body, "message")?, &files, false).map_err(said)?;
    Ok(json!({"head": head}))
}

/// `{"repo": "acme/api", "number": 1, "by": "ada", "reviewer": "you"}`
fn request_review(world: &World, body: &Value) -> Result<Value, Refused> {
    let (repo, number) = pull_of(body)?;
    let mut state = world.state();
    let by = state.known_account(text(body, "by")?).map_err(said)?;
    let reviewer = state.known_account(text(body, "reviewer")?).map_err(said)?;
    state.request(repo, number, by, Reviewer::User(reviewer)).map_err(said)?;
    Ok(json!({}))
}

/// `{"repo": "acme/api", "number": 1, "by": "ada", "body": "…"}`
fn comment(world: &World, body: &Value) -> Result<Value, Refused> {
    let (repo, number) = pull_of(body)?;
    let (by, written) = (text(body, "by")?, text(body, "body")?);
    let mut state = world.state();
    let by = state.add_account(by, AccountKind::User);
    let id = state.comment(repo, number, by, written).map_err(said)?;
    Ok(json!({"id": id}))
}

/// `{"repo": "acme/api", "number": 1, "name": "tests", "outcome": "failure"}`: `queued`, `in_progress` or a conclusion of a check
/// run on the head; with `"status": true` the state of a status context.
fn check(world: &World, body: &Value) -> Result<Value, Refused> {
    let (repo, number) = pull_of(body)?;
    let outcome = match (text(body, "outcome")?, body.get("status").and_then(Value::as_bool)) {
        (state, Some(true)) => CheckOutcome::Status(state.to_owned()),
        ("queued", _) => CheckOutcome::Queued,
        ("in_progress", _) => CheckOutcome::InProgress,
        (conclusion, _) => CheckOutcome::Completed(conclusion.to_owned()),
    };
    world.state().set_check(repo, number, text(body, "name")?, outcome).map_err(said)?;
    Ok(json!({}))
}
