//! A ledger as a busy person has it after some years: watched pull requests, decided gates with their tasks, items and events, and
//! gates that are open.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, Closing, Gate, GateKind, GateStatus, Intent};
use wloop_core::github::{
    Account, AccountKind, Check, CheckKind, Comment, Detail, Mergeable, PullState, Reason, RepoName, Review, ReviewState,
    Sightings, Summary, Thread,
};
use wloop_core::id::UnitRef;
use wloop_core::plan::ItemState;
use wloop_store::{GateRow, ItemRow, NewEvent, ProviderRow, PullRow, Store, StoreError, TaskRow, UnitRow, Writes};
use wloop_tests::ME;

/// Gates in the ledger.
pub(crate) const GATES: u32 = 100_000;
/// Events in the ledger.
pub(crate) const EVENTS: u32 = 10 * GATES;
/// Pull requests that are watched.
pub(crate) const UNITS: u32 = 10_000;
/// Gates that are open, each on a pull request of its own.
pub(crate) const OPEN: u32 = 3_000;

/// Rows of a kind that go into one transaction.
const BATCH: u32 = 2_000;

/// Fills a new ledger and gives the ids of its open gates.
pub(crate) fn fill(path: &Path, now: Timestamp) -> Vec<String> {
    let mut store = Store::open(path, now).expect("a new ledger");
    let write = |store: &mut Store, range: std::ops::Range<u32>, put: &dyn Fn(&Writes<'_>, u32) -> Result<(), StoreError>| {
        let written = store.write(|tx| range.into_iter().try_for_each(|n| put(tx, n)));
        written.expect("the rows fit the schema");
    };
    write(&mut store, 0..1, &|tx, _| tx.put_provider(&provider(now)));
    for start in (0..UNITS).step_by(BATCH as usize) {
        write(&mut store, start..(start + BATCH).min(UNITS), &|tx, n| watched(tx, n, now));
    }
    for start in (0..GATES).step_by(BATCH as usize) {
        write(&mut store, start..(start + BATCH).min(GATES), &|tx, n| decision(tx, n, now));
    }
    // As after an orderly stop, so that the start is the usual one.
    write(&mut store, 0..1, &|tx, _| tx.set_stopped(now));
    store.checkpoint().expect("the log goes into the file");
    (GATES - OPEN..GATES).map(id_text).collect()
}

/// Ids as the daemon draws them, all over the number space; the first six digits differ.
fn id_text(n: u32) -> String {
    let first = n.wrapping_mul(0x9e_37b1) & 0xff_ffff;
    let rest = u128::from(n).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 24;
    format!("{first:06x}{rest:026x}")
}

fn id<T: FromStr<Err: Debug>>(n: u32) -> T {
    id_text(n).parse().expect("an id")
}

fn unit(n: u32) -> UnitRef {
    UnitRef::github(&format!("PR_kwDOAbenchmark{n:06}"))
}

fn before(now: Timestamp, minutes: u32) -> Timestamp {
    now.checked_sub(SignedDuration::from_mins(minutes.into())).expect("a time within these years")
}

fn account(login: &str) -> Account {
    Account { id: format!("U_kgDOA{login}"), login: login.to_owned(), kind: AccountKind::User }
}

/// A sweep is due at once, and a slow one, which reads every detail anew, is not.
fn provider(now: Timestamp) -> ProviderRow {
    ProviderRow {
        name: "github".to_owned(),
        viewer: Some(account(ME)),
        teams: Vec::new(),
        skew_ms: 0,
        last_sweep_at: None,
        next_sweep_at: now,
        next_slow_at: now.checked_add(SignedDuration::from_hours(24)).expect("a day later"),
        blocked_until: None,
        signed_out: false,
        error: None,
    }
}

/// A pull request that the person named, so that it stays watched although no search returns it, with a detail of some kilobytes.
fn watched(tx: &Writes<'_>, n: u32, now: Timestamp) -> Result<(), StoreError> {
    let url = format!("https://github.example/acme/service-{}/pull/{n}", n % 40);
    let summary = Summary {
        id: unit(n).key().to_owned(),
        repo: RepoName { owner: "acme".to_owned(), name: format!("service-{}", n % 40) },
        number: n.into(),
        title: format!("Retry the call to the ledger, part {n}"),
        url: url.clone(),
        state: PullState::Open,
        draft: false,
        head: format!("{n:040x}"),
        updated_at: before(now, n),
        mergeable: Mergeable::Mergeable,
        checks: "success".to_owned(),
        reasons: vec![Reason::Asked],
    };
    let text = "The client gave up after the first refusal, which the queue behind it took for an answer. ".repeat(4);
    let comment = |k: u32| Comment {
        id: format!("IC_kwDOA{n:06}{k:02}"),
        database_id: (n * 100 + k).into(),
        author: Some(account("ines")),
        body: text.clone(),
        created_at: before(now, n + k),
        url: format!("{url}#issuecomment-{k}"),
        review: String::new(),
    };
    let detail = Detail {
        summary: summary.clone(),
        body: text.repeat(2),
        author: Some(account("ines")),
        association: "MEMBER".to_owned(),
        created_at: before(now, n + 600),
        merged_at: None,
        closed_at: None,
        base: "main".to_owned(),
        base_oid: format!("{:040x}", n + 1),
        head_branch: format!("retry-{n}"),
        head_repo: Some(summary.repo.to_string()),
        cross_repository: false,
        visibility: "private".to_owned(),
        archived: false,
        locked: false,
        changed_files: 12,
        review_decision: "REVIEW_REQUIRED".to_owned(),
        labels: vec!["api".to_owned(), "size/m".to_owned()],
        assignees: vec![account("ines")],
        review_requests: Vec::new(),
        reviews: vec![Review {
            id: format!("PRR_kwDOA{n:06}"),
            database_id: n.into(),
            author: Some(account("omar")),
            state: ReviewState::Commented,
            body: text.clone(),
            submitted_at: Some(before(now, n)),
            commit: format!("{n:040x}"),
            url: format!("{url}#pullrequestreview-{n}"),
        }],
        threads: vec![Thread {
            id: format!("PRRT_kwDOA{n:06}"),
            resolved: false,
            outdated: false,
            path: "src/lib.rs".to_owned(),
            line: Some(12),
            comments: vec![comment(3), comment(4)],
        }],
        comments: vec![comment(1), comment(2)],
        checks: vec![Check {
            kind: CheckKind::Run,
            app: "ci".to_owned(),
            name: "tests".to_owned(),
            outcome: "SUCCESS".to_owned(),
            started_at: Some(before(now, n)),
            completed_at: Some(before(now, n)),
            database_id: n.into(),
        }],
        last_requested_at: None,
        head_forced_at: None,
        maintainer_can_modify: false,
        can_push: false,
        read_at: now,
        skew_ms: 0,
    };
    let (label, title) = (format!("{}#{n}", summary.repo), summary.title.clone());
    tx.put_unit(&UnitRow { unit: unit(n), label, title, url, watched: true }, now)?;
    tx.put_pull(&PullRow {
        unit: unit(n),
        watched: true,
        summary,
        detail: Some(detail),
        detail_at: Some(now),
        wants_detail: false,
        read_after: Timestamp::UNIX_EPOCH,
        fault: None,
        sightings: Sightings::default(),
    })
}

/// A plan gate with its captured task, its item and ten events; the last ones are open and count down.
fn decision(tx: &Writes<'_>, n: u32, now: Timestamp) -> Result<(), StoreError> {
    let open = n >= GATES - OPEN;
    let opened_at = before(now, (GATES - n) * 10);
    let about = unit(n % UNITS);
    let words = format!("Review acme/service-{}#{}: Retry the call to the ledger?", n % 40, n % UNITS);
    let (task, category) = (id(n), if open { "inbox" } else { "done" });
    tx.insert_task(
        &TaskRow {
            id: task,
            origin: "loop".to_owned(),
            kind: "capture".to_owned(),
            title: words.clone(),
            category: category.to_owned(),
            gate_holder: true,
            created_at: opened_at,
            ended_at: (!open).then_some(opened_at),
        },
        &[(about.clone(), "captured")],
    )?;
    tx.insert_gate(&GateRow {
        gate: Gate {
            id: id(n),
            kind: GateKind::Plan,
            name: "plan".to_owned(),
            status: if open { GateStatus::Open } else { GateStatus::Approved },
            unit: Some(about.clone()),
            task: Some(task),
            words: words.clone(),
            intents: intents(),
            default_intent: Some("run_now".to_owned()),
            opened_at,
            deadline: open.then(|| now.checked_add(SignedDuration::from_hours(12)).expect("half a day later")),
            closed: (!open).then(|| Closing {
                intent: Some("run_now".to_owned()),
                actor: if n.is_multiple_of(2) { Actor::Window } else { Actor::PERSON },
                text: None,
                at: opened_at,
                reason: String::new(),
            }),
        },
        ends_task: BTreeMap::from([
            (GateStatus::Approved, "done".to_owned()),
            (GateStatus::Rejected, "dropped".to_owned()),
            (GateStatus::Superseded, "dropped".to_owned()),
        ]),
        policy: "delay 10m by review#1".to_owned(),
        explanation: json!([{ "rule": "review#1", "when": "pr.first.due", "held": true }, { "decided": "delay 10m" }]),
        turn: None,
        consequence: (!open).then_some((Consequence::Ran, opened_at)),
        consequence_note: String::new(),
    })?;
    tx.insert_item(&ItemRow {
        id: id(n),
        unit: about.clone(),
        workflow: "review".to_owned(),
        key: format!("{n:040x}"),
        intent: "review".to_owned(),
        stage: "first".to_owned(),
        state: if open { ItemState::CountingDown } else { ItemState::Handled },
        gate: id(n),
        head: format!("{n:040x}"),
        reason: "your review is requested".to_owned(),
        by_hand: false,
        try_after: Timestamp::UNIX_EPOCH,
        cap: None,
        planned_at: opened_at,
        changed_at: opened_at,
    })?;
    for k in 0..EVENTS / GATES {
        let (kind, actor) = match k {
            0 => (EventKind::GateOpened, Actor::Daemon),
            1 => (EventKind::RoundPlanned, Actor::Workflow("review".to_owned())),
            2 => (EventKind::GateDecided, Actor::PERSON),
            _ => (EventKind::ConsequenceRan, Actor::Daemon),
        };
        let event = NewEvent {
            kind,
            key: "plan".to_owned(),
            data: json!({ "words": words, "policy": "delay 10m by review#1" }),
            unit: Some(about.clone()),
            task: Some(task),
            gate: Some(id(n)),
            turn: None,
            post: None,
            actor,
            chain: Vec::new(),
        };
        tx.insert_event(&event, opened_at)?;
    }
    Ok(())
}

/// The buttons of a plan gate in the bundled profile.
fn intents() -> Vec<Intent> {
    let intent = |name: &str, status, text: Option<&str>| Intent {
        name: name.to_owned(),
        label: name.to_owned(),
        status,
        text: text.map(str::to_owned),
    };
    vec![
        intent("skip", GateStatus::Rejected, None),
        intent("run_now", GateStatus::Approved, None),
        intent("guide", GateStatus::Approved, Some("Anything it should know?")),
    ]
}
