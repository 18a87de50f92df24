//! Drafts and the Outbox, as the API shows them.

use jiff::Timestamp;
use wloop_api::types as api;
use wloop_core::draft::outbox::groups;
use wloop_core::gate::GateStatus;
use wloop_core::id::GateId;
use wloop_core::post::PostState;
use wloop_store::{DraftFilter, DraftRow, IdTable, PostRow, Reads, StoreError};

use super::unit;
use crate::settings::Rules;

/// The post of a draft gate as that gate asked about it: a text that was replaced since is shown as it was.
pub(super) fn asked_by(reads: &Reads<'_>, gate: GateId) -> Result<Option<PostRow>, StoreError> {
    let Some(revision) = reads.revision_of_gate(gate)? else { return Ok(None) };
    let Some((_, post)) = reads.draft(revision.draft)? else { return Ok(None) };
    Ok(Some(PostRow { text: revision.text, mentions: revision.mentions, gate, ..post }))
}

/// A draft, whole.
pub(crate) fn draft(reads: &Reads<'_>, rules: &Rules, row: &DraftRow, post: &PostRow) -> Result<api::Draft, StoreError> {
    let words = &rules.profile.gates.drafts;
    let gate = reads.gate(post.gate)?;
    let open = gate.as_ref().filter(|g| g.gate.status == GateStatus::Open);
    let approve = open.and_then(|g| {
        let approves = |i: &&wloop_core::gate::Intent| i.status == GateStatus::Approved && i.text.is_none();
        g.gate.default_intent.clone().or_else(|| g.gate.intents.iter().find(approves).map(|i| i.name.clone()))
    });
    let turn = row.turn.map(|turn| reads.turn(turn)).transpose()?.flatten();
    let proposed_by = match (&turn, row.proposer.name()) {
        (Some(turn), _) => {
            let place = if turn.unit == post.unit { String::new() } else { format!(" on {}", unit(reads, &turn.unit)?.label) };
            format!("turn {} ({}){place}", turn.seq, turn.intent)
        }
        (None, "") => "you".to_owned(),
        (None, name) => format!("{} {name}", row.proposer.kind()),
    };
    let mut effects = Vec::new();
    for (name, state) in reads.draft_effects(row.id)? {
        let words = rules.profile.gates.effects.get(&name).cloned().unwrap_or_default();
        effects.push(api::DraftEffect { name, words, state });
    }
    let mut revisions = Vec::new();
    for revision in reads.revisions(row.id)? {
        let status = reads.gate(revision.gate)?.map_or("", |g| g.gate.status.as_str());
        revisions.push(api::DraftRevision {
            n: revision.n,
            gate: revision.gate.to_string(),
            gate_status: status.to_owned(),
            text: revision.text,
            at: revision.at,
        });
    }
    Ok(api::Draft {
        id: row.id.to_string(),
        short: reads.short(IdTable::Draft, &row.id.to_string())?,
        unit: unit(reads, &post.unit)?,
        purpose: row.purpose.clone(),
        purpose_words: words.purposes.get(&row.purpose).unwrap_or(&row.purpose).clone(),
        delivery: row.delivery.as_str().to_owned(),
        broadcast: row.broadcast,
        state: post.state.as_str().to_owned(),
        state_words: words.states.get(post.state.as_str()).map_or(post.state.as_str(), String::as_str).to_owned(),
        maybe_posted: post.maybe_posted,
        text: post.text.clone(),
        mentions: post.mentions.clone(),
        effects,
        gate: post.gate.to_string(),
        gate_status: gate.as_ref().map_or("", |g| g.gate.status.as_str()).to_owned(),
        approve,
        deadline: gate.as_ref().and_then(|g| g.gate.deadline).filter(|_| post.state == PostState::Held),
        policy: gate.as_ref().map(|g| g.policy.clone()).unwrap_or_default(),
        task: row.task.map(|t| t.to_string()),
        proposer: row.proposer.kind().to_owned(),
        proposed_by,
        session: row.session.map(|s| s.to_string()),
        turn: row.turn.map(|t| t.to_string()),
        reason: (!row.reason.is_empty()).then(|| row.reason.clone()),
        cause: (!post.cause.is_empty()).then(|| post.cause.clone()),
        url: post.remote.as_ref().map(|r| r.url.clone()),
        attempts: reads.attempts(row.id)?.len() as u64,
        edited_at: row.edited_at,
        created_at: post.created_at,
        changed_at: post.changed_at,
        revisions,
        actions: actions(post),
    })
}

/// What the person can do with a draft now (OUT-02, F07).
fn actions(post: &PostRow) -> Vec<String> {
    let words: &[&str] = match (post.state, post.maybe_posted) {
        (PostState::Held, _) => &["approve", "edit", "discard"],
        (PostState::Queued, _) => &["discard"],
        (PostState::Failed, true) => &["sent", "retry", "discard"],
        (PostState::Failed, false) => &["retry", "discard"],
        (PostState::Sending | PostState::Sent | PostState::Dropped, _) => &[],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The Outbox in its groups; `start` is when the daemon started (OUT-01, OUT-04).
pub(crate) fn outbox(reads: &Reads<'_>, rules: &Rules, start: Timestamp) -> Result<Vec<api::DraftGroup>, StoreError> {
    let drafts = reads.drafts(DraftFilter::Waiting(start))?;
    let found =
        groups(drafts.iter().map(|(row, _)| (&row.proposer, row.purpose.as_str())), &rules.profile.gates.drafts, |name| {
            (name.to_owned(), rules.profile.workflows.get(name).map(|w| w.summary.clone()).unwrap_or_default())
        });
    let mut shown = Vec::new();
    for group in found {
        let within = group.places.iter().filter_map(|place| drafts.get(*place));
        shown.push(api::DraftGroup {
            key: group.key,
            title: group.title,
            about: group.about,
            workflow: group.workflow,
            drafts: within.map(|(row, post)| draft(reads, rules, row, post)).collect::<Result<_, _>>()?,
        });
    }
    Ok(shown)
}
