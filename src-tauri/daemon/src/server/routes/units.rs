//! A unit's detail and its facts: functions of the rows and of now.

use axum::Json;
use axum::extract::{Path, State};
use wloop_api::types as api;
use wloop_core::github::checks::failing;
use wloop_core::github::facts::{Settings, row_words};
use wloop_core::github::{Account, ReviewState};
use wloop_core::id::UnitRef;
use wloop_core::rules::registry::known;
use wloop_core::rules::value::{Frame, Value, to_json};
use wloop_core::stops::HoldKind;
use wloop_store::StoreError;

use super::{Answer, Failure, Shared, ask, known_unit};
use crate::engine::Reply;
use crate::engine::book::{Seen, seen};
use crate::engine::offers::offer;
use crate::engine::plan::NEXT_SWEEP;
use crate::input::{Caller, Request};
use crate::refusal::RefusalKind;
use crate::view;

/// The unit that a path names: the key may be any of the names that people write.
pub(in crate::server) fn named(shared: &Shared, provider: &str, key: &str) -> Result<UnitRef, Failure> {
    if key.contains(['#', '/']) { known_unit(shared, key) } else { known_unit(shared, &format!("{provider}:{key}")) }
}

pub(in crate::server) async fn get_unit(
    State(shared): State<Shared>,
    Path((provider, key)): Path<(String, String)>,
) -> Answer<api::UnitDetail> {
    let unit = named(&shared, &provider, &key)?;
    detail(&shared, &unit).await
}

/// A unit whole: where it stands, its rounds and why no other runs, and what can be started on it.
pub(in crate::server) async fn detail(shared: &Shared, unit: &UnitRef) -> Answer<api::UnitDetail> {
    // Whoever may read may be told why.
    let reply = ask(shared, Caller::Person, Request::Explain(unit.clone())).await?;
    let Reply::Because(because) = reply else {
        return Err(Failure::new(RefusalKind::Unavailable, "the unit could not be looked at; try again in a moment"));
    };
    let (rules, now) = (&shared.outside.rules, shared.outside.hub.now());
    let found = shared.outside.hub.read(|reads| {
        let Some(row) = reads.pull(unit)? else { return Ok::<_, StoreError>(None) };
        let rounds = view::plan(reads, rules, &reads.pending_items_of(unit)?)?;
        let own = reads.holds_on(unit)?;
        let kept = reads.guidance(unit)?;
        let bare = api::UnitDetail {
            unit: view::unit(reads, unit)?,
            watched: row.watched,
            read_at: row.detail_at,
            fault: row.fault,
            state: String::new(),
            draft: row.summary.draft,
            author: None,
            base: String::new(),
            head: row.summary.head,
            head_repository: None,
            fork: false,
            checks: row.summary.checks,
            failing_checks: Vec::new(),
            reviews: Vec::new(),
            kind: String::new(),
            waits_on_user: false,
            yours: false,
            reason: None,
            paused: reads.is_held(unit, HoldKind::Pause, now)?,
            paused_itself: own.iter().any(|hold| hold.unit.is_some() && hold.kind == HoldKind::Pause),
            muted: reads.is_held(unit, HoldKind::Mute, now)?,
            rounds,
            skipped: because.into_iter().map(|(workflow, because)| api::Skipped { workflow, because }).collect(),
            guidance: (!kept.is_empty()).then(|| kept.iter().map(|g| g.text.as_str()).collect::<Vec<_>>().join("\n\n")),
            guidance_kept: reads.guidance_offered(unit)?.into_iter().map(|g| g.text).collect(),
            actions: Vec::new(),
        };
        Ok(Some((bare, seen(reads, rules, unit, now)?)))
    })?;
    let Some((bare, seen)) = found else { return Err(super::unknown_unit(&unit.to_string())) };
    let Some(seen) = seen else { return Ok(Json(bare)) };
    let mut actions: Vec<api::UnitAction> = rules
        .profile
        .intents
        .values()
        .filter(|intent| intent.serves.iter().any(|provider| provider == unit.provider()))
        .filter_map(|intent| Some(offer(&intent.name, intent.action.as_ref()?, &seen.facts, now)))
        .filter(|offer| offer.offered)
        .map(|offer| api::UnitAction {
            intent: offer.intent,
            label: offer.label,
            enabled: offer.enabled,
            disabled: offer.disabled,
            primary: offer.primary,
        })
        .collect();
    actions.sort_by_key(|action| !action.primary);
    Ok(Json(whole(bare, seen, actions)))
}

fn whole(bare: api::UnitDetail, seen: Seen, actions: Vec<api::UnitAction>) -> api::UnitDetail {
    let words = row_words(&seen.facts);
    let Seen { detail, settings, facts, .. } = seen;
    let account = |of: &Account| reviewer(of, &settings);
    let submitted = detail.reviews.iter().filter(|review| review.state != ReviewState::Pending);
    api::UnitDetail {
        state: text(&facts, "pr.state"),
        draft: detail.summary.draft,
        author: detail.author.as_ref().map(account),
        base: detail.base,
        head: detail.summary.head,
        head_repository: detail.head_repo,
        fork: facts.get("pr.cross_repository") == Some(&Value::Bool(true)),
        checks: text(&facts, "pr.checks"),
        failing_checks: failing(&detail.checks),
        reviews: submitted
            .map(|review| api::Reviewed {
                by: review.author.as_ref().map(account),
                state: review.state.as_str().to_owned(),
                at: review.submitted_at,
            })
            .collect(),
        kind: words.kind,
        waits_on_user: words.waits_on_user,
        yours: facts.get("row.yours") == Some(&Value::Bool(true)),
        reason: words.reason,
        actions,
        ..bare
    }
}

fn reviewer(account: &Account, settings: &Settings) -> api::Reviewer {
    api::Reviewer { login: account.login.clone(), automated: settings.is_automated(account) }
}

fn text(facts: &Frame, name: &str) -> String {
    match facts.get(name) {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Bool(_) | Value::Int(_) | Value::List(_) | Value::Duration(_) | Value::Time(_)) | None => String::new(),
    }
}

pub(in crate::server) async fn get_facts(
    State(shared): State<Shared>,
    Path((provider, key)): Path<(String, String)>,
) -> Answer<Vec<api::Fact>> {
    let unit = named(&shared, &provider, &key)?;
    let (rules, now) = (&shared.outside.rules, shared.outside.hub.now());
    let Some(seen) = shared.outside.hub.read(|reads| seen(reads, rules, &unit, now))? else {
        let words = format!("`{key}` was not read whole yet; try again in a moment");
        return Err(Failure::new(RefusalKind::Unavailable, words));
    };
    Ok(Json(seen.facts.iter().filter_map(|(name, value)| fact(name, value)).collect()))
}

fn fact(name: &str, value: &Value) -> Option<api::Fact> {
    let row = known(name)?;
    Some(api::Fact { name: name.to_owned(), kind: row.kind.as_str().to_owned(), value: to_json(value), untrusted: row.untrusted })
}

/// What each workflow makes of a unit now (CEL-08).
pub(in crate::server) async fn get_explained(
    State(shared): State<Shared>,
    Path((provider, key)): Path<(String, String)>,
) -> Answer<Vec<api::Explained>> {
    let unit = named(&shared, &provider, &key)?;
    let reply = ask(&shared, Caller::Person, Request::Explain(unit.clone())).await?;
    let Reply::Because(because) = reply else {
        return Err(Failure::new(RefusalKind::Unavailable, "the unit could not be looked at; try again in a moment"));
    };
    let (rules, now) = (&shared.outside.rules, shared.outside.hub.now());
    let found = shared
        .outside
        .hub
        .read(|reads| Ok::<_, StoreError>((seen(reads, rules, &unit, now)?, reads.pending_items_of(&unit)?)))?;
    let (Some(seen), items) = found else {
        let words = format!("`{key}` was not read whole yet; try again in a moment");
        return Err(Failure::new(RefusalKind::Unavailable, words));
    };
    let of_its_own = rules.profile.workflows.values().filter(|workflow| workflow.provider == unit.provider());
    let explained = of_its_own.map(|workflow| {
        let item = items.iter().find(|item| item.workflow == workflow.name);
        let why = because.iter().find(|(name, _)| *name == workflow.name).map(|(_, why)| why.as_str());
        let terms = workflow.when.told(&seen.facts, now).into_iter().map(|term| api::ExplainedTerm {
            term: term.text,
            failed: term.holds.as_ref().err().map(ToString::to_string),
            holds: term.holds.ok(),
            facts: term.facts.iter().filter_map(|(name, value)| fact(name, value)).collect(),
        });
        api::Explained {
            workflow: workflow.name.clone(),
            summary: workflow.summary.clone(),
            acts: item.is_some() || why == Some(NEXT_SWEEP),
            because: match item {
                Some(item) => format!("a round of it is {}: {}", item.state.as_str().replace('_', " "), item.reason),
                None => why.unwrap_or_default().to_owned(),
            },
            when: workflow.when.text().to_owned(),
            terms: terms.collect(),
        }
    });
    Ok(Json(explained.collect()))
}
