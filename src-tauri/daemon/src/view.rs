//! Rows as the API shows them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use wloop_api::types as api;
use wloop_core::gate::{Actor, Gate, GateKind};
use wloop_core::github::{Shape, Side};
use wloop_core::id::UnitRef;
use wloop_core::post::PostState;
use wloop_core::queue::{self, Queued};
use wloop_core::stops::HoldKind;
use wloop_store::{BlockRow, EventRow, GateRow, IdTable, ItemRow, PostFilter, PostRow, ProviderRow, Reads, StoreError, TurnRow};

use crate::engine::waiting;
use crate::settings::Rules;

mod drafts;

pub(crate) use drafts::{draft, outbox};

/// A unit as lists name it; one that the ledger does not know is named by its reference.
pub(crate) fn unit(reads: &Reads<'_>, unit: &UnitRef) -> Result<api::UnitName, StoreError> {
    Ok(match reads.unit(unit)? {
        Some(row) => api::UnitName { id: unit.to_string(), label: row.label, title: row.title, url: row.url },
        None => api::UnitName { id: unit.to_string(), label: unit.to_string(), title: String::new(), url: String::new() },
    })
}

/// A gate, whole.
pub(crate) fn gate(reads: &Reads<'_>, row: &GateRow) -> Result<api::Gate, StoreError> {
    let gate = &row.gate;
    let held = match gate.kind {
        GateKind::Draft => drafts::asked_by(reads, gate.id)?,
        GateKind::Plan | GateKind::Question | GateKind::Post | GateKind::Proposal | GateKind::Trust | GateKind::Step => None,
    };
    let post = match (gate.kind, &gate.unit) {
        (GateKind::Draft, _) => held.as_ref().map(|p| self::post(reads, p)).transpose()?,
        (GateKind::Post, Some(unit)) => {
            let posts = reads.posts(&PostFilter { unit: Some(unit.clone()), ..PostFilter::default() })?;
            posts.iter().find(|p| p.gate == gate.id).map(|p| self::post(reads, p)).transpose()?
        }
        _ => None,
    };
    Ok(api::Gate {
        id: gate.id.to_string(),
        short: reads.short(IdTable::Gate, &gate.id.to_string())?,
        kind: gate.kind.as_str().to_owned(),
        name: gate.name.clone(),
        status: gate.status.as_str().to_owned(),
        words: gate.words.clone(),
        unit: gate.unit.as_ref().map(|u| unit(reads, u)).transpose()?,
        task: gate.task.map(|t| t.to_string()),
        intents: intents(gate),
        opened_at: gate.opened_at,
        deadline: gate.deadline,
        default_intent: gate.default_intent.clone(),
        policy: row.policy.clone(),
        explanation: row.explanation.clone(),
        closed: gate.closed.as_ref().map(|c| {
            let (actor, actor_ref, via_session) = actor(&c.actor);
            api::Closing {
                intent: c.intent.clone(),
                actor,
                actor_ref,
                via_session,
                text: c.text.clone(),
                at: c.at,
                reason: (!c.reason.is_empty()).then(|| c.reason.clone()),
            }
        }),
        consequence: row.consequence.map(|(state, at)| api::Consequence {
            state: state.as_str().to_owned(),
            at,
            note: post.as_ref().and_then(became).unwrap_or_else(|| row.consequence_note.clone()),
        }),
        post,
        delivery: held.as_ref().map(|p| p.state.as_str().to_owned()).unwrap_or_default(),
        draft: held.map(|p| p.id.to_string()),
        turn: row.turn.map(|t| t.to_string()),
        trust: if gate.kind == GateKind::Trust { reads.block(gate.id)?.map(trust) } else { None },
        muted: gate.unit.as_ref().map(|unit| muted(reads, unit)).transpose()?.unwrap_or(false),
    })
}

/// What became of a post that its gate let out, once it is known.
fn became(post: &api::Post) -> Option<String> {
    match post.state.as_str() {
        "sent" => Some(post.url.as_ref().map_or_else(|| "published".to_owned(), |url| format!("published: {url}"))),
        "failed" => Some(format!("not published: {}", post.cause.as_deref().unwrap_or("no reason is known"))),
        _ => None,
    }
}

fn trust(block: BlockRow) -> api::Trust {
    api::Trust {
        agent: block.agent,
        repo: block.repo,
        folder: block.folder,
        homes: block.homes,
        kind: block.kind.as_str().to_owned(),
    }
}

/// Whether a unit's rounds are not announced. A mute lasts until it is taken away.
pub(crate) fn muted(reads: &Reads<'_>, unit: &UnitRef) -> Result<bool, StoreError> {
    reads.is_held(unit, HoldKind::Mute, Timestamp::UNIX_EPOCH)
}

fn intents(gate: &Gate) -> Vec<api::Intent> {
    gate.intents
        .iter()
        .map(|intent| api::Intent {
            name: intent.name.clone(),
            label: intent.label.clone(),
            status: intent.status.as_str().to_owned(),
            takes_text: intent.text.is_some(),
            placeholder: intent.text.clone(),
        })
        .collect()
}

/// Who, in words: the kind, which one, and the driven session that the person acted through.
fn actor(actor: &Actor) -> (String, Option<String>, Option<String>) {
    let (kind, which, via) = match actor {
        Actor::Person { via } => ("person", None, via.map(|s| s.to_string())),
        Actor::Session(session) => ("session", Some(session.to_string()), None),
        Actor::Rule(rule) => ("rule", Some(rule.clone()), None),
        Actor::Window => ("window", None, None),
        Actor::Workflow(name) => ("workflow", Some(name.clone()), None),
        Actor::Daemon => ("daemon", None, None),
        Actor::Provider(account) => ("provider", Some(account.clone()), None),
    };
    (kind.to_owned(), which, via)
}

/// Planned rounds, the released ones with their place (RUN-28).
pub(crate) fn plan(reads: &Reads<'_>, rules: &Rules, rows: &[ItemRow]) -> Result<Vec<api::PlanItem>, StoreError> {
    let queue = waiting(reads, rules)?;
    rows.iter().map(|row| item(reads, &queue, row)).collect()
}

/// A planned round.
fn item(reads: &Reads<'_>, queue: &[Queued], row: &ItemRow) -> Result<api::PlanItem, StoreError> {
    let guidance: Vec<String> = reads.guidance(&row.unit)?.into_iter().map(|g| g.text).collect();
    Ok(api::PlanItem {
        id: row.id.to_string(),
        unit: unit(reads, &row.unit)?,
        workflow: row.workflow.clone(),
        intent: row.intent.clone(),
        stage: row.stage.clone(),
        state: row.state.as_str().to_owned(),
        reason: row.reason.clone(),
        gate: Some(row.gate.to_string()),
        deadline: reads.gate(row.gate)?.filter(|g| g.gate.closed.is_none()).and_then(|g| g.gate.deadline),
        planned_at: row.planned_at,
        guidance: (!guidance.is_empty()).then(|| guidance.join("\n\n")),
        waiting_until: None,
        cap: row.cap.map(|held| held.cap.as_str().to_owned()),
        cap_day: row.cap.map(|held| held.day.to_string()),
        muted: muted(reads, &row.unit)?,
        place: queue::place(queue, row.id).and_then(|place| u64::try_from(place).ok()),
    })
}

/// A turn.
pub(crate) fn turn(reads: &Reads<'_>, row: &TurnRow) -> Result<api::Turn, StoreError> {
    let posts = reads.posts(&PostFilter { turn: Some(row.id), ..PostFilter::default() })?;
    let summary = row.record.as_ref().and_then(|r| r.get("summary")).and_then(|s| s.as_str()).map(str::to_owned);
    Ok(api::Turn {
        id: row.id.to_string(),
        short: reads.short(IdTable::Turn, &row.id.to_string())?,
        seq: row.seq,
        unit: unit(reads, &row.unit)?,
        intent: row.intent.clone(),
        stage: row.stage.clone(),
        state: row.state.as_str().to_owned(),
        started_by: if row.by_hand { "hand" } else { "loop" }.to_owned(),
        gate: Some(row.gate.to_string()),
        head: row.head.clone(),
        agent: row.agent.clone(),
        created_at: row.created_at,
        ended_at: row.ended_at,
        verdict: row.verdict.clone(),
        summary,
        cause: (!row.cause.is_empty()).then(|| row.cause.clone()),
        guidance: row.guidance.clone(),
        posts: posts.iter().map(|p| post(reads, p)).collect::<Result<_, _>>()?,
    })
}

/// A post, whole.
pub(crate) fn post(reads: &Reads<'_>, row: &PostRow) -> Result<api::Post, StoreError> {
    let (event, comments) = match &row.shape {
        Shape::Review { event, comments } => (Some(event.as_str().to_owned()), comments.as_slice()),
        Shape::Comment | Shape::Reply { .. } => (None, [].as_slice()),
    };
    let draft = reads.draft(row.id)?.is_some();
    // A draft is a comment on the conversation, and what has gone stands where it stands.
    let goes = !draft && !matches!(row.state, PostState::Sent | PostState::Dropped);
    let head = if goes { reads.pull(&row.unit)?.map(|pull| pull.summary.head) } else { None };
    Ok(api::Post {
        id: row.id.to_string(),
        short: reads.short(IdTable::Post, &row.id.to_string())?,
        unit: unit(reads, &row.unit)?,
        shape: row.shape.name().to_owned(),
        event,
        state: row.state.as_str().to_owned(),
        maybe_posted: row.maybe_posted,
        text: row.text.clone(),
        comments: comments
            .iter()
            .map(|c| api::InlineComment {
                path: c.path.clone(),
                line: c.line,
                start_line: c.start_line,
                side: match c.side {
                    Side::Left => "LEFT",
                    Side::Right => "RIGHT",
                }
                .to_owned(),
                body: c.body.clone(),
            })
            .collect(),
        mentions: row.mentions.clone(),
        draft,
        head: row.head.clone(),
        head_now: head.filter(|head| *head != row.head),
        turn: row.turn.map(|t| t.to_string()),
        gate: Some(row.gate.to_string()),
        url: row.remote.as_ref().map(|r| r.url.clone()),
        cause: (!row.cause.is_empty()).then(|| row.cause.clone()),
        attempts: reads.attempts(row.id)?.len() as u64,
        created_at: row.created_at,
        changed_at: row.changed_at,
    })
}

/// An event.
pub(crate) fn event(reads: &Reads<'_>, row: &EventRow) -> Result<api::Event, StoreError> {
    let (actor, actor_ref, via_session) = actor(&row.event.actor);
    Ok(api::Event {
        id: row.id,
        at: row.at,
        kind: row.event.kind.as_str().to_owned(),
        class: row.event.kind.class().as_str().to_owned(),
        key: row.event.key.clone(),
        data: row.event.data.clone(),
        unit: row.event.unit.as_ref().map(|u| unit(reads, u)).transpose()?,
        gate: row.event.gate.map(|g| g.to_string()),
        turn: row.event.turn.map(|t| t.to_string()),
        post: row.event.post.map(|p| p.to_string()),
        task: row.event.task.map(|t| t.to_string()),
        actor,
        actor_ref,
        via_session,
        chain: row.event.chain.clone(),
        depth: u32::try_from(row.event.chain.len()).unwrap_or(u32::MAX),
    })
}

/// Until when GitHub asked to wait, as far as reads are concerned: with everything, or until a spent quota is there again
/// (GH-SYNC-38).
pub(crate) fn waiting_until(
    row: Option<&ProviderRow>,
    port: Option<&wloop_providers::port::ProviderHealth>,
    now: Timestamp,
) -> Option<Timestamp> {
    let spent = port.into_iter().flat_map(|p| &p.spent_until).map(|(_, until)| *until);
    let all = port.and_then(|p| p.waiting_until).into_iter().chain(row.and_then(|r| r.blocked_until)).chain(spent);
    all.filter(|until| *until > now).max()
}

/// The provider's health from what the ledger and the provider itself know.
pub(crate) fn provider(
    row: Option<&ProviderRow>,
    port: Option<&wloop_providers::port::ProviderHealth>,
    address: &str,
    watched: u64,
    now: Timestamp,
) -> api::ProviderHealth {
    let waiting_until = waiting_until(row, port, now);
    let state = match (port, row) {
        (None, _) => "off",
        (Some(_), None) => "starting",
        (Some(_), Some(row)) if row.signed_out => "signed out",
        (Some(_), Some(_)) if waiting_until.is_some() => "waiting",
        (Some(_), Some(row)) if row.error.is_some() => "failing",
        (Some(_), Some(row)) if row.last_sweep_at.is_none() => "starting",
        (Some(_), Some(_)) => "ok",
    };
    let error = match port {
        None => Some("no token is set; set `plugins.github.token` in `config.toml`, such as `cmd:gh auth token`".to_owned()),
        Some(_) => row.and_then(|r| r.error.clone()).map(|error| match row {
            Some(row) if row.signed_out => {
                format!("{error}; set a token that github accepts in `plugins.github.token` and start again")
            }
            _ => error,
        }),
    };
    api::ProviderHealth {
        name: "github".to_owned(),
        state: state.to_owned(),
        login: row.and_then(|r| r.viewer.as_ref()).map(|v| v.login.clone()),
        address: Some(address.to_owned()),
        last_sync: row.and_then(|r| r.last_sweep_at),
        error,
        waiting_until,
        watched,
        quotas: port
            .map(|p| {
                p.quotas
                    .iter()
                    .map(|q| api::Quota { resource: q.resource.clone(), remaining: q.remaining, resets_at: q.reset })
                    .collect()
            })
            .unwrap_or_default(),
    }
}

/// Open gates by kind, every kind listed.
pub(crate) fn open_gates(counted: &BTreeMap<GateKind, u64>) -> BTreeMap<String, u64> {
    GateKind::ALL.iter().map(|(kind, word)| ((*word).to_owned(), counted.get(kind).copied().unwrap_or(0))).collect()
}

/// A session.
pub(crate) fn session(reads: &Reads<'_>, row: &wloop_store::rows::SessionRow) -> Result<api::Session, StoreError> {
    let typing = crate::caller::typing(reads, row)?;
    Ok(api::Session {
        id: row.id.to_string(),
        short: reads.short(IdTable::Session, &row.id.to_string())?,
        agent: row.agent.clone(),
        manager: row.manager.clone(),
        managed: typing.managed,
        state: row.state.clone(),
        folder: row.folder.clone(),
        driven: wloop_core::session::driven(&typing),
        prompt_knowable: typing.prompt_knowable,
        turn: reads.newest_turn_of_session(row.id)?.map(|turn| turn.id.to_string()),
        created_at: row.created_at,
        seen_at: reads.session_seen(row)?,
    })
}
