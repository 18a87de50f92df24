//! Waiting for a post that a tool asked for, so that the agent hears how it ended.

use std::time::Duration;

use wloop_api::types::{ToolAnswer, ToolRefusal};
use wloop_core::id::PostId;
use wloop_store::StoreError;

use crate::engine::settled_answer;
use crate::refusal::{Refusal, RefusalKind};
use crate::runner::Outside;

/// The answer of a tool once its post has come to rest; a post that takes longer than `limit` is answered as not known yet, and
/// the same call later answers with it.
pub(crate) async fn settled(outside: &Outside, post: PostId, limit: Duration) -> Result<ToolAnswer, StoreError> {
    let mut pending = outside.hub.pending();
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        // Marked as seen before the read, so that nothing committed after it is missed.
        pending.borrow_and_update();
        if let Some(row) = outside.hub.read(|reads| reads.post(post))?
            && let Some(answer) = settled_answer(&row)
        {
            return Ok(match answer {
                Ok(value) => ToolAnswer::Done(value),
                Err(refusal) => refused(refusal),
            });
        }
        tokio::select! {
            changed = pending.changed() => {
                if changed.is_err() {
                    return Ok(refused(late()));
                }
            }
            () = tokio::time::sleep_until(deadline) => return Ok(refused(late())),
        }
    }
}

/// The refusal of a call whose text holds a token of this machine: what an agent writes goes out, and into the record (RUN-34).
pub(crate) fn holds_a_token(outside: &Outside, arguments: &serde_json::Value) -> Option<Refusal> {
    let words = "the call holds a token of this machine, which never goes out; leave it out";
    outside.redactor.finds(&arguments.to_string()).then(|| Refusal::new(RefusalKind::Invalid, words).code("invalid"))
}

fn late() -> Refusal {
    Refusal::new(RefusalKind::Unavailable, "github has not answered yet; the same call again asks for the result")
        .code("unavailable")
}

/// A refusal as a tool tells it (MCP-05).
pub(crate) fn refused(refusal: Refusal) -> ToolAnswer {
    let code = refusal.code.unwrap_or(match refusal.kind {
        RefusalKind::NotFound => "not_found",
        RefusalKind::Invalid => "invalid",
        RefusalKind::Unavailable => "unavailable",
        RefusalKind::Forbidden | RefusalKind::Conflict => "refused",
    });
    let hint = match code {
        "unavailable" => "call it again with the same arguments",
        "head_moved" => "look at the new commits; a call that names the new head goes",
        "invalid" => "correct the arguments and call again",
        _ => "do not try another way",
    };
    ToolAnswer::Refused(ToolRefusal { code: code.to_owned(), message: refusal.detail, hint: hint.to_owned() })
}
