//! Sending posts and looking them up. The attempt is in the ledger before the call, its outcome after it; between the two lies the
//! provider, and a crash there is settled by the look-up (K6, K7).

use std::time::Duration;

use wloop_core::github::{LookUp, PullState, ReadFault, SendOutcome, Shape};
use wloop_core::id::PostId;

use super::{Outside, REST, read, record};
use crate::edge::crash_point;
use crate::engine::Reply;
use crate::input::{Done, Input, Seen, Starting};

/// The first wait after a failure before any byte was sent (GH-PUB-06), and how long the same attempt goes on in all: after that the
/// post waits in the queue, and the pull request is looked at anew before it goes.
const WAITS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Sends one queued post.
pub(super) async fn send(outside: &Outside, id: PostId) {
    let Some(provider) = &outside.provider else { return };
    let post = read(outside, |reads| {
        let Some(post) = reads.post(id)? else { return Ok(None) };
        Ok(reads.pull(&post.unit)?.map(|pull| (post, pull)))
    });
    let Some(Some((post, pull))) = post else { return };
    let seen = look(provider.as_ref(), &pull.summary, &post.shape).await;
    if let Err(fault) = &seen {
        super::note_quiet(outside, fault).await;
    }
    let order = match outside.hub.ask(Input::Starting(Starting::Post { post: id, seen })).await {
        Ok(Reply::Send(order)) => order,
        Ok(_) => return,
        Err(fault) => {
            tracing::error!(%fault, post = %id, "an attempt could not be written, so nothing is sent");
            tokio::time::sleep(REST).await;
            return;
        }
    };
    crash_point!("K6");
    let mut wait = WAITS.0;
    let begun = outside.hub.now();
    // By the wall clock, which goes on while the machine sleeps.
    let fresh = || Duration::try_from(outside.hub.now().duration_since(begun)).is_ok_and(|gone| gone < WAITS.1);
    let outcome = loop {
        match provider.publish(&order).await {
            // Nothing left this machine: the same sender tries again, and a drain leaves the rest to the next start.
            SendOutcome::NotReached { why } if !outside.draining.is_cancelled() && fresh() => {
                tracing::info!(post = %id, why, "github was not reached; trying again");
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = outside.draining.cancelled() => break SendOutcome::NotReached { why },
                }
                // What the person took back meanwhile is not tried again (RUN-13).
                if is_taken_back(outside, id) {
                    break SendOutcome::NotReached { why };
                }
                wait *= 2;
            }
            outcome @ (SendOutcome::Sent(_)
            | SendOutcome::Refused { .. }
            | SendOutcome::Wait { .. }
            | SendOutcome::NotReached { .. }
            | SendOutcome::Doubt { .. }) => break outcome,
        }
    };
    crash_point!("K7");
    if let SendOutcome::Wait { .. } = &outcome {
        super::stay_quiet(outside).await;
    }
    if !record(outside, Done::Sent { post: id, outcome }).await {
        record(outside, Done::Lost(id)).await;
    }
}

/// Whether the person cancelled the turn that a post came from. A ledger that cannot be read says nothing.
fn is_taken_back(outside: &Outside, id: PostId) -> bool {
    let cancelled = outside.hub.read(|reads| {
        let turn = reads.post(id)?.and_then(|post| post.turn).map(|turn| reads.turn(turn)).transpose()?.flatten();
        Ok::<_, wloop_store::StoreError>(turn.is_some_and(|turn| turn.cancel_by.is_some()))
    });
    cancelled.unwrap_or(false)
}

/// The pull request right before a post: its head, and for comments on lines its files.
async fn look(
    provider: &dyn wloop_providers::Provider,
    summary: &wloop_core::github::Summary,
    shape: &Shape,
) -> Result<Seen, ReadFault> {
    let head = provider.head(&summary.repo, summary.number).await?;
    let needs_files = matches!(shape, Shape::Review { comments, .. } if !comments.is_empty());
    let files = if needs_files { provider.diff(&summary.repo, summary.number).await? } else { Vec::new() };
    let takes_words = head.state == PullState::Open && !head.locked && !head.archived;
    Ok(Seen { head: head.head, files: files.into_iter().map(|f| (f.path, f.patch)).collect(), takes_words })
}

/// Looks for one post in doubt.
pub(super) async fn look_up(outside: &Outside, id: PostId) {
    let Some(provider) = &outside.provider else { return };
    match outside.hub.ask(Input::Starting(Starting::LookUp(id))).await {
        Ok(Reply::LookUp(order)) => {
            let found = provider.look_up(&order).await;
            if let LookUp::Wait { .. } = &found {
                super::stay_quiet(outside).await;
            }
            if !record(outside, Done::LookedUp { post: id, found }).await {
                tokio::time::sleep(REST).await;
            }
        }
        Ok(_) => {}
        Err(fault) => {
            tracing::error!(%fault, post = %id, "a look-up could not be started");
            tokio::time::sleep(REST).await;
        }
    }
}
