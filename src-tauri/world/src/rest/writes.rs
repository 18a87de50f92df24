//! The REST routes that change something.

use serde_json::Value;

use super::shapes::Shapes;
use super::{Outcome, number};
use crate::answer::{Answer, Asked, Content};
use crate::model::{AccountIx, ReviewEvent, ReviewState, Reviewer, Side, State};
use crate::reviews::{AskedComment, AskedReview, Place, Refusal, check_length, check_writable};

pub(crate) fn write(state: &mut State, base: &str, viewer: AccountIx, full_name: &str, rest: &[&str], asked: &Asked) -> Outcome {
    let body = || {
        asked.json().filter(Value::is_object).ok_or_else(|| Refusal {
            status: 400,
            message: "Problems parsing JSON".to_owned(),
            errors: Vec::new(),
        })
    };
    match (asked.method.as_str(), rest) {
        ("POST", ["pulls", n, "reviews"]) => {
            let number = number(n)?;
            state.pull(full_name, number)?;
            let review = asked_review(viewer, &body()?)?;
            let id = state.review(full_name, number, review)?;
            shown_review(state, base, full_name, number, id)
        }
        ("POST", ["pulls", n, "reviews", id, "events"]) => {
            let (number, id) = (number(n)?, number(id)?);
            let event = event(&body()?)?.ok_or_else(|| Refusal::unprocessable("event is missing"))?;
            state.submit_pending(full_name, number, viewer, id, event)?;
            shown_review(state, base, full_name, number, id)
        }
        ("DELETE", ["pulls", n, "reviews", id]) => {
            let (number, id) = (number(n)?, number(id)?);
            let held = state.pull(full_name, number)?.review(id).filter(|held| held.author == viewer);
            if held.is_none_or(|held| held.state != ReviewState::Pending) {
                return Err(Refusal::unprocessable("Can not delete a non-pending pull request review"));
            }
            let answer = shown_review(state, base, full_name, number, id);
            state.discard_pending(full_name, number, viewer)?;
            answer
        }
        ("POST", ["pulls", n, "comments", id, "replies"]) => {
            let (number, to) = (number(n)?, number(id)?);
            state.pull(full_name, number)?;
            let body = body()?;
            let id = state.reply(full_name, number, viewer, to, text(&body, "body")?)?;
            let (repo, pull) = (state.repo(full_name)?, state.pull(full_name, number)?);
            let comment = pull.inline_comment(id).ok_or_else(Refusal::not_found)?;
            Ok(Answer::json(201, Shapes { state, base }.inline(repo, pull, comment)))
        }
        ("POST", ["issues", n, "comments"]) => {
            let number = number(n)?;
            check_writable(state.repo(full_name)?, state.pull(full_name, number)?)?;
            let body = body()?;
            let written = text(&body, "body")?;
            if written.trim().is_empty() || check_length(written).is_err() {
                return Ok(invalid_comment(written));
            }
            let id = state.comment(full_name, number, viewer, written)?;
            let (repo, pull) = (state.repo(full_name)?, state.pull(full_name, number)?);
            let comment = pull.comments.iter().find(|held| held.id == id).ok_or_else(Refusal::not_found)?;
            Ok(Answer::json(201, Shapes { state, base }.comment(repo, pull, comment)))
        }
        ("POST", ["pulls", n, "requested_reviewers"]) => {
            let number = number(n)?;
            state.pull(full_name, number)?;
            request_reviewers(state, viewer, full_name, number, &body()?)?;
            let (repo, pull) = (state.repo(full_name)?, state.pull(full_name, number)?);
            Ok(Answer::json(201, Shapes { state, base }.pull_simple(repo, pull)))
        }
        _ => Err(Refusal::not_found()),
    }
}

fn shown_review(state: &State, base: &str, full_name: &str, number: u64, id: u64) -> Outcome {
    let (repo, pull) = (state.repo(full_name)?, state.pull(full_name, number)?);
    let review = pull.review(id).ok_or_else(Refusal::not_found)?;
    Ok(Answer::json(200, Shapes { state, base }.review(repo, pull, review)))
}

/// A 422 of a conversation comment names the field, other than that of a review.
fn invalid_comment(written: &str) -> Answer {
    let blank = written.trim().is_empty();
    let mut answer = Answer::error(422, "Validation Failed");
    if let Content::Json(body) = &mut answer.content {
        body["errors"] = serde_json::json!([if blank {
            serde_json::json!({"resource": "IssueComment", "code": "unprocessable", "field": "data",
                "message": "Body cannot be blank"})
        } else {
            serde_json::json!({"resource": "IssueComment", "code": "unprocessable", "field": "data",
                "message": "Body is too long (maximum is 65536 characters)"})
        }]);
    }
    answer
}

fn text<'v>(body: &'v Value, key: &str) -> Result<&'v str, Refusal> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(value) => value.as_str().ok_or_else(|| Refusal {
            status: 422,
            message: format!("Invalid request.\n\nFor 'properties/{key}', {value} is not a string."),
            errors: Vec::new(),
        }),
    }
}

fn event(body: &Value) -> Result<Option<ReviewEvent>, Refusal> {
    let word = text(body, "event")?;
    if word.is_empty() || word == "PENDING" {
        return Ok(None);
    }
    ReviewEvent::parse(word)
        .map(Some)
        .ok_or_else(|| Refusal::unprocessable("Variable $event of type PullRequestReviewEvent was provided invalid value"))
}

fn asked_review(author: AccountIx, body: &Value) -> Result<AskedReview, Refusal> {
    let comments = match body.get("comments") {
        None | Some(Value::Null) => Vec::new(),
        Some(value) => value
            .as_array()
            .ok_or_else(|| Refusal::unprocessable("comments is no list"))?
            .iter()
            .map(asked_comment)
            .collect::<Result<_, _>>()?,
    };
    let commit = text(body, "commit_id")?;
    Ok(AskedReview {
        author,
        event: event(body)?,
        body: text(body, "body")?.to_owned(),
        commit: (!commit.is_empty()).then(|| commit.to_owned()),
        comments,
    })
}

fn asked_comment(value: &Value) -> Result<AskedComment, Refusal> {
    let side = |key: &str| match text(value, key)? {
        "" => Ok(None),
        word => Side::parse(word).map(Some).ok_or_else(|| Refusal::unprocessable("Side is not LEFT or RIGHT")),
    };
    let whole = |key: &str| value.get(key).and_then(Value::as_u64);
    let end_side = side("side")?.unwrap_or(Side::Right);
    let place = match (whole("line"), whole("position")) {
        (Some(line), _) => {
            let start_side = side("start_side")?.unwrap_or(end_side);
            Place::Line { line, side: end_side, start: whole("start_line").map(|start| (start, start_side)) }
        }
        (None, Some(position)) => Place::Position(position),
        (None, None) => return Err(Refusal::unprocessable("Line could not be resolved")),
    };
    Ok(AskedComment { path: text(value, "path")?.to_owned(), body: text(value, "body")?.to_owned(), place })
}

fn request_reviewers(state: &mut State, viewer: AccountIx, full_name: &str, number: u64, body: &Value) -> Result<(), Refusal> {
    let listed = |key: &str| -> Vec<String> {
        let items = body.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let owner = state.login(state.repo(full_name)?.owner).to_owned();
    let unknown = || Refusal::unprocessable("Reviews may only be requested from collaborators.");
    let mut reviewers = Vec::new();
    for login in listed("reviewers") {
        reviewers.push(Reviewer::User(state.account_ix(&login).ok_or_else(unknown)?));
    }
    for slug in listed("team_reviewers") {
        reviewers.push(Reviewer::Team(state.team_ix(&owner, &slug).ok_or_else(unknown)?));
    }
    for reviewer in reviewers {
        state.request(full_name, number, viewer, reviewer)?;
    }
    Ok(())
}
