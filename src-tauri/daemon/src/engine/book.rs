//! A pull request with what the ledger knows of it, and the facts that follow: a function of the rows and of now, for the engine and
//! for whoever reads beside it.

use jiff::Timestamp;
use wloop_core::cap::day;
use wloop_core::consequence::Consequence;
use wloop_core::github::facts::{Addressed, Book, SentReview, Settings, pull_facts};
use wloop_core::github::{Account, Detail, ReviewEvent, ReviewState, Shape};
use wloop_core::id::UnitRef;
use wloop_core::plan::ItemState;
use wloop_core::rules::profile::WorkspaceRole;
use wloop_core::rules::value::{Frame, Mark, Value};
use wloop_core::stops::HoldKind;
use wloop_core::turn::TurnState;
use wloop_store::rows::{PullRow, TurnRow};
use wloop_store::{Reads, StoreError, TurnFilter};

use super::observe::GITHUB;
use crate::settings::Rules;

/// A unit with what rules read of it.
pub(crate) struct Seen {
    pub(crate) detail: Detail,
    pub(crate) viewer: Account,
    pub(crate) settings: Settings,
    pub(crate) facts: Frame,
}

/// A pull request with its facts as the rules read them at `now`; `None` before it was read whole.
///
/// # Errors
/// [`StoreError`] of the reads.
pub(crate) fn seen(reads: &Reads<'_>, rules: &Rules, unit: &UnitRef, now: Timestamp) -> Result<Option<Seen>, StoreError> {
    let Some(row) = reads.pull(unit)? else { return Ok(None) };
    let provider = reads.provider(GITHUB)?;
    let teams = provider.as_ref().map(|row| row.teams.clone()).unwrap_or_default();
    let (Some(viewer), Some(detail)) = (provider.and_then(|row| row.viewer), row.detail.clone()) else { return Ok(None) };
    let settings = rules.settings(&detail.summary.repo, &teams);
    let book = book(reads, rules, &row, &detail, &viewer, now)?;
    let mut facts = pull_facts(&detail, &viewer, &settings, &book, now);
    around(&mut facts, rules, &detail, &settings);
    marks(&mut facts, reads, rules, unit, &book)?;
    Ok(Some(Seen { detail, viewer, settings, facts }))
}

/// What stands around the unit: what made a workflow look, and the configuration.
fn around(facts: &mut Frame, rules: &Rules, detail: &Detail, settings: &Settings) {
    let set = rules.config.github_for(&detail.summary.repo);
    for (name, value) in [
        ("trigger.kind", Value::Text("sweep".to_owned())),
        ("config.plugins.github.address_checks", Value::Bool(settings.address_checks)),
        ("config.plugins.github.address_reviews", Value::Bool(settings.address_reviews)),
        ("config.plugins.github.address_without_workspace", Value::Bool(settings.address_without_workspace)),
        ("config.plugins.github.followups_without_workspace", Value::Bool(settings.followups_without_workspace)),
        ("config.plugins.github.nudge.silent_days", Value::Int(i64::from(set.nudge.silent_days))),
        ("config.turns.per_day", Value::Int(i64::from(rules.config.turns_per_day))),
    ] {
        facts.insert(name, value);
    }
}

/// The marks on the unit that a workflow asks for: those of the rounds, and the keys that a workflow of that name dealt with (CEL-04).
fn marks(facts: &mut Frame, reads: &Reads<'_>, rules: &Rules, unit: &UnitRef, book: &Book) -> Result<(), StoreError> {
    for name in rules.profile.marks_read() {
        let of = &book.addressed;
        let mark = match name {
            "addressed.reviews" => of.reviews.map(Mark::Until),
            "addressed.checks" => of.checks.clone().map(|head| Mark::Keys([head].into())),
            "addressed.conflict" => of.conflict.clone().map(|head| Mark::Keys([head].into())),
            workflow => Some(Mark::Keys(reads.handled(unit, workflow)?.into_iter().map(|(key, _)| key).collect())),
        };
        if let Some(mark) = mark {
            facts.mark(name, mark);
        }
    }
    Ok(())
}

/// What the ledger knows of the unit.
fn book(
    reads: &Reads<'_>,
    rules: &Rules,
    row: &PullRow,
    detail: &Detail,
    viewer: &Account,
    now: Timestamp,
) -> Result<Book, StoreError> {
    let unit = &row.unit;
    let sent = reads.sent_reviews(unit)?;
    let sweep = &rules.config.sweep;
    let stale_after = sweep.slow + sweep.fast + sweep.fast;
    let newest_own = detail
        .reviews
        .iter()
        .filter(|r| r.state != ReviewState::Pending && r.author.as_ref().is_some_and(|by| by.id == viewer.id))
        .max_by_key(|r| r.submitted_at);
    let by_round = |id: &str| sent.iter().any(|p| p.remote.as_ref().is_some_and(|r| r.node_id == id));
    let mut turns = reads.turns(&TurnFilter { unit: Some(unit.clone()), ..TurnFilter::default() })?;
    // Newest first, whatever the clock did.
    turns.sort_by_key(|turn| std::cmp::Reverse(turn.seq));
    let newest = turns.first();
    let open = turns.iter().find(|turn| turn.state.is_open());
    let items = reads.pending_items_of(unit)?;
    let pending = |state| items.iter().any(|item| item.state == state);
    let mut book = Book {
        open_turn: open.map(|turn| {
            // A turn that is being started reads as sent (GH-FACT-23).
            let state = if turn.state == TurnState::Starting { "sent" } else { turn.state.as_str() };
            (turn.seq, state.to_owned())
        }),
        reviewing: open.is_some_and(|turn| turn.intent == "review" && turn.state != TurnState::Asked),
        newest_turn_asked: newest.is_some_and(|t| t.state == TurnState::Asked),
        last_failure: newest
            .filter(|t| matches!(t.state, TurnState::Failed | TurnState::Unrecorded | TurnState::Dismissed))
            .map(|t| t.cause.clone()),
        rounds_on_head: u32::try_from(reads.rounds_on(unit, &detail.summary.head)?).unwrap_or(u32::MAX),
        reviewed_by_round: newest_own.map_or(!sent.is_empty(), |r| by_round(&r.id)),
        has_review_workspace: has_workspace(rules, &turns, WorkspaceRole::Review),
        has_author_workspace: has_workspace(rules, &turns, WorkspaceRole::Author),
        stale: row.detail_at.is_none_or(|at| now.duration_since(at) > stale_after),
        unread: row.fault.clone(),
        head_seen_at: row.sightings.head_at.filter(|_| row.sightings.head == detail.summary.head),
        conflict_since: row.sightings.conflict_since,
        tracked: row.watched,
        pending: pending(ItemState::Waiting) || pending(ItemState::CountingDown),
        capped: items
            .iter()
            .any(|item| item.state == ItemState::Capped && item.cap.is_some_and(|held| held.day == day(now, &rules.zone))),
        paused: reads.is_held(unit, HoldKind::Pause, now)?,
        addressed: addressed(reads, unit)?,
        address_rounds: turns.iter().filter(|turn| turn.intent == "address").map(|turn| texts(&turn.covered, "checks")).collect(),
        address_handled: reads.handled(unit, "address")?.into_iter().map(|(key, _)| key).collect(),
        sent_reviews: sent
            .into_iter()
            .filter_map(|post| {
                let Shape::Review { event, .. } = post.shape else { return None };
                let state = match event {
                    ReviewEvent::Approve => ReviewState::Approved,
                    ReviewEvent::RequestChanges => ReviewState::ChangesRequested,
                    ReviewEvent::Comment => ReviewState::Commented,
                };
                // One that the person said was sent has no remote id; its own stands in.
                let remote_id = post.remote.map_or_else(|| post.id.to_string(), |r| r.node_id);
                Some(SentReview { remote_id, head: post.head, state, at: post.changed_at })
            })
            .collect(),
        ..Book::default()
    };
    // A start that cannot be told is no review (GH-FACT-29).
    if book.last_failure.is_none() {
        book.last_failure = lost_start(reads, unit, newest.map(|turn| turn.created_at))?;
    }
    for (key, how) in reads.handled(unit, "review")? {
        if how == "skipped" {
            book.skipped.insert(key.clone());
        }
        book.handled.insert(key);
    }
    Ok(book)
}

/// What became of a round whose start cannot be told and that no turn came after (K19); `None` when there is none.
fn lost_start(reads: &Reads<'_>, unit: &UnitRef, since: Option<Timestamp>) -> Result<Option<String>, StoreError> {
    let lost = reads.gates_with_consequence(Consequence::Unknown)?.into_iter().rfind(|row| {
        let at = row.consequence.map(|(_, at)| at);
        row.gate.unit.as_ref() == Some(unit) && since.is_none_or(|since| at.is_some_and(|at| at > since))
    });
    Ok(lost.map(|row| row.consequence_note))
}

/// Whether a turn's workspace of that role is linked. An intent that is gone from the profile made reviews.
fn has_workspace(rules: &Rules, turns: &[TurnRow], role: WorkspaceRole) -> bool {
    turns.iter().filter(|turn| turn.workspace.is_some()).any(|turn| {
        let intent = rules.profile.intents.get(&turn.intent).and_then(|intent| intent.workspace.as_ref());
        intent.map_or(WorkspaceRole::Review, |workspace| workspace.role) == role
    })
}

/// The marks of the address rounds (ROUND-18): an instant, and two heads.
fn addressed(reads: &Reads<'_>, unit: &UnitRef) -> Result<Addressed, StoreError> {
    let mark = |name: &str| Ok(reads.mark(unit, name)?.and_then(|value| value.as_str().map(str::to_owned)));
    Ok(Addressed {
        reviews: mark("addressed.reviews")?.and_then(|at| at.parse().ok()),
        checks: mark("addressed.checks")?,
        conflict: mark("addressed.conflict")?,
    })
}

/// A list of texts in what a turn covers.
pub(super) fn texts(covered: &serde_json::Value, name: &str) -> Vec<String> {
    let list = covered.get(name).and_then(serde_json::Value::as_array);
    list.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}
