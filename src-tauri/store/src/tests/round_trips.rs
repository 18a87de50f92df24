//! Each row comes back as it was put.

use serde_json::json;
use wloop_core::consequence::Consequence;
use wloop_core::event::EventKind;
use wloop_core::gate::{Actor, GateKind, GateStatus};
use wloop_core::github::{
    Account, AccountKind, Check, CheckKind, Comment, Detail, InlineComment, Mergeable, PullState, Reason, RemotePost, Requested,
    Review, ReviewEvent, ReviewRequest, ReviewState, Reviewer, Shape, Side, Sightings, Thread,
};
use wloop_core::post::PostState;
use wloop_core::turn::TurnState;

use super::fixtures::*;
use crate::detail::{from_json, to_json};
use crate::rows::{
    EventRow, GateRow, ItemRow, NewEvent, PostRow, ProcessRow, ProviderRow, PullRow, SessionRow, TaskRow, TurnRow, UnitRow,
};
use crate::{PostFilter, StoreError};

fn account(login: &str, kind: AccountKind) -> Account {
    Account { id: format!("U_{login}"), login: login.into(), kind }
}

fn detail(n: u32) -> Detail {
    let comment = |id: &str, author| Comment {
        id: id.into(),
        database_id: u64::from(u32::MAX) + 1,
        author,
        body: "Why \"this\"?\n\u{1f980}".into(),
        created_at: at(-50),
        url: "u".into(),
        review: "PRR_1".into(),
    };
    let review = |state| Review {
        id: format!("PRR_{state:?}"),
        database_id: 3,
        author: Some(account("ann", AccountKind::EnterpriseUserAccount)),
        state,
        body: String::new(),
        submitted_at: (state != ReviewState::Pending).then(|| at(-40)),
        commit: "aaaa".into(),
        url: "u".into(),
    };
    Detail {
        summary: summary(n),
        body: "Text".into(),
        author: Some(account("ann", AccountKind::User)),
        association: "MEMBER".into(),
        created_at: at(-100),
        merged_at: None,
        closed_at: Some(at(-1)),
        base: "main".into(),
        base_oid: "bbbb".into(),
        head_branch: "retries".into(),
        head_repo: None,
        cross_repository: true,
        visibility: "private".into(),
        archived: false,
        locked: true,
        changed_files: 4,
        review_decision: "REVIEW_REQUIRED".into(),
        labels: vec!["bug".into()],
        assignees: vec![account("ops", AccountKind::Organization), account("old", AccountKind::Mannequin)],
        review_requests: vec![
            ReviewRequest { reviewer: Reviewer::Team("acme/core".into()), requested: None },
            ReviewRequest {
                reviewer: Reviewer::Account(account("bot[bot]", AccountKind::Bot)),
                requested: Some(Requested { id: "E_1".into(), by: String::new(), at: at(-30) }),
            },
        ],
        reviews: [
            ReviewState::Pending,
            ReviewState::Commented,
            ReviewState::Approved,
            ReviewState::ChangesRequested,
            ReviewState::Dismissed,
        ]
        .map(review)
        .to_vec(),
        threads: vec![Thread {
            id: "T_1".into(),
            resolved: false,
            outdated: true,
            path: "src/lib.rs".into(),
            line: None,
            comments: vec![comment("C_1", None)],
        }],
        comments: vec![comment("C_2", Some(account("ann", AccountKind::User)))],
        checks: [(CheckKind::Run, "FAILURE"), (CheckKind::Context, "PENDING")]
            .map(|(kind, outcome)| Check {
                kind,
                app: "ci".into(),
                name: "tests".into(),
                outcome: outcome.into(),
                started_at: Some(at(-20)),
                completed_at: None,
                database_id: 9,
            })
            .to_vec(),
        last_requested_at: Some(at(-30)),
        head_forced_at: Some(at(-31)),
        maintainer_can_modify: true,
        can_push: true,
        read_at: at(1),
        skew_ms: -250,
    }
}

#[test]
fn a_provider_comes_back() {
    let mut home = Home::new();
    let row = ProviderRow {
        name: "github".into(),
        viewer: Some(account("me", AccountKind::User)),
        teams: vec!["acme/core".into()],
        skew_ms: -3,
        last_sweep_at: Some(at(1)),
        next_sweep_at: at(2),
        next_slow_at: at(3),
        blocked_until: Some(at(4)),
        signed_out: true,
        error: Some("gone".into()),
    };
    let empty =
        ProviderRow { viewer: None, teams: Vec::new(), last_sweep_at: None, blocked_until: None, error: None, ..row.clone() };
    for row in [&empty, &row, &empty] {
        home.write(|tx| tx.put_provider(row)).unwrap();
        assert_eq!(home.store.read().provider("github").unwrap().as_ref(), Some(row));
    }
    assert_eq!(home.store.read().provider("slack").unwrap(), None);
}

#[test]
fn a_unit_and_its_pull_request_come_back() {
    let mut home = Home::new();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    let renamed = UnitRow { title: "Other".into(), watched: false, ..unit_row(1) };
    home.write(|tx| tx.put_unit(&renamed, at(5))).unwrap();
    assert_eq!(home.store.read().unit(&unit(1)).unwrap(), Some(renamed));
    let sightings = Sightings { head: "aaaa".into(), head_at: Some(at(-3)), conflict_since: Some(at(-2)) };
    let full = PullRow { sightings, detail: Some(detail(1)), detail_at: Some(at(1)), fault: Some("x".into()), ..pull_row(1) };
    let gone = PullRow { watched: false, wants_detail: false, ..full.clone() };
    for row in [pull_row(1), full, gone] {
        home.write(|tx| tx.put_pull(&row)).unwrap();
        assert_eq!(home.store.read().pull(&unit(1)).unwrap(), Some(row.clone()));
        assert_eq!(home.store.read().unit(&unit(1)).unwrap().unwrap().watched, row.watched);
    }
    let loose = home.write(|tx| tx.put_pull(&pull_row(2)));
    assert!(matches!(loose, Err(StoreError::Refused { .. })), "a pull request has a unit: {loose:?}");
}

#[test]
fn every_word_of_a_closed_set_reads_back_as_core_writes_it() {
    for (reason, word) in Reason::ALL {
        assert_eq!(to_json(&reason).unwrap(), format!("\"{word}\""));
        assert_eq!(from_json::<Reason>(&format!("\"{word}\"")).unwrap(), reason);
    }
    for (status, word) in GateStatus::ALL {
        assert_eq!(to_json(&status).unwrap(), format!("\"{word}\""));
    }
    for state in [PullState::Open, PullState::Closed, PullState::Merged] {
        assert_eq!(from_json::<PullState>(&to_json(&state).unwrap()).unwrap(), state);
    }
    for state in [Mergeable::Mergeable, Mergeable::Conflicting, Mergeable::Unknown] {
        assert_eq!(from_json::<Mergeable>(&to_json(&state).unwrap()).unwrap(), state);
    }
    for (kind, word) in [
        (AccountKind::User, "user"),
        (AccountKind::Bot, "bot"),
        (AccountKind::Organization, "organization"),
        (AccountKind::Mannequin, "mannequin"),
        (AccountKind::EnterpriseUserAccount, "enterprise_user_account"),
    ] {
        assert_eq!(crate::convert::account_word(kind), word);
        assert_eq!(crate::convert::account_kind(word), Some(kind));
        assert_eq!(from_json::<AccountKind>(&to_json(&kind).unwrap()).unwrap(), kind);
    }
}

#[test]
fn a_gate_comes_back_open_and_closed_by_anybody() {
    // EVT-03
    let mut home = Home::with_turns();
    home.write(|tx| tx.insert_task(&task_row(9), &[(unit(1), "captured")])).unwrap();
    let mut open = gate_row(50, GateKind::Post);
    open.gate.task = Some(id(9));
    open.gate.deadline = Some(at(300));
    open.turn = Some(id(1));
    home.write(|tx| tx.insert_gate(&open)).unwrap();
    assert_eq!(home.store.read().gate(id(50)).unwrap(), Some(open));
    let actors = [
        (GateStatus::Answered, Actor::Person { via: Some(id(1)) }),
        (GateStatus::Dismissed, Actor::PERSON),
        (GateStatus::Approved, Actor::Rule("reviews#1".into())),
        (GateStatus::Approved, Actor::Window),
        (GateStatus::Superseded, Actor::Session(id(1))),
        (GateStatus::Superseded, Actor::Workflow("review".into())),
        (GateStatus::Superseded, Actor::Daemon),
        (GateStatus::Superseded, Actor::Provider("github".into())),
    ];
    for (n, (status, actor)) in (100..).zip(actors) {
        let row = gate_row(n, GateKind::Plan);
        let mut shut = closed(&row, status, actor);
        if let Some(closing) = &mut shut.closed {
            closing.text = Some("because".into());
        }
        home.write(|tx| tx.insert_gate(&row)).unwrap();
        home.write(|tx| tx.close_gate(id(n), &shut)).unwrap();
        let read = home.store.read().gate(id(n)).unwrap().unwrap();
        let due = (status != GateStatus::Superseded).then(|| (Consequence::Due, at(9)));
        assert_eq!(read, GateRow { gate: shut, consequence: due, ..row });
    }
}

#[test]
fn a_task_an_item_and_a_session_come_back() {
    let mut home = Home::with_turns();
    let task = TaskRow { category: "done".into(), ended_at: Some(at(90)), gate_holder: false, ..task_row(9) };
    let session = SessionRow { remote: Some("abc".into()), manager: "hook".into(), state: "dormant".into(), ..session_row(50) };
    let item = ItemRow { id: id(50), gate: id(50), by_hand: true, try_after: at(77), ..item_row(1) };
    home.write(|tx| {
        tx.insert_task(&task, &[(unit(1), "captured"), (unit(2), "attached")])?;
        tx.insert_session(&session)?;
        tx.insert_gate(&gate_row(50, GateKind::Plan))?;
        tx.insert_item(&item)
    })
    .unwrap();
    let read = home.store.read();
    assert_eq!(read.task(id(9)).unwrap(), Some(task));
    let units = read.task_units(id(9)).unwrap();
    assert_eq!(units, [(unit(1), "captured".to_owned()), (unit(2), "attached".to_owned())]);
    assert_eq!(read.session(id(50)).unwrap(), Some(session));
    assert_eq!(read.item(id(50)).unwrap(), Some(item.clone()));
    assert_eq!(read.item_by_gate(id(50)).unwrap(), Some(item));
}

#[test]
fn a_turn_comes_back_and_notes_its_times() {
    let mut home = Home::with_turns();
    let full = TurnRow {
        id: id(70),
        seq: 2,
        state: TurnState::Recorded,
        by_hand: true,
        merge_base: Some("cccc".into()),
        guidance: Some("look at the tests".into()),
        workspace: Some("/w".into()),
        claimed: true,
        process: Some(ProcessRow { pid: 7, start: "12345".into(), pgid: 8 }),
        group_ended: true,
        cancel_by: Some("you".into()),
        sent_at: Some(at(5)),
        started_at: Some(at(6)),
        ended_at: Some(at(7)),
        verdict: Some("approve".into()),
        record: Some(json!({ "a": [1, null] })),
        cause: "w".into(),
        ..turn_row(1)
    };
    home.write(|tx| tx.insert_turn(&full)).unwrap();
    assert_eq!(home.store.read().turn(id(70)).unwrap(), Some(full));

    home.write(|tx| tx.set_turn_state(id(1), TurnState::Started, TurnState::Dismissed, &change(19))).unwrap();
    home.write(|tx| tx.insert_turn(&TurnRow { id: id(71), seq: 3, ..turn_row(1) })).unwrap();
    let record = json!({ "verdict": "approve" });
    home.write(|tx| {
        tx.set_turn_workspace(id(71), "/w", Some("mmmm"))?;
        tx.set_turn_process(id(71), ProcessRow { pid: 7, start: "9".into(), pgid: 7 })?;
        tx.set_turn_state(id(71), TurnState::Starting, TurnState::Sent, &change(20))?;
        tx.set_turn_state(id(71), TurnState::Sent, TurnState::Started, &change(21))?;
        tx.set_turn_record(id(71), "asked", &json!({}))?;
        tx.set_turn_state(id(71), TurnState::Started, TurnState::Asked, &change(22))?;
        tx.set_turn_state(id(71), TurnState::Asked, TurnState::Started, &change(23))?;
        tx.set_turn_cancel(id(71), "you")?;
        let recorded = crate::TurnChange { cause: None, verdict: Some("approve"), record: Some(&record), now: at(24) };
        tx.set_turn_state(id(71), TurnState::Started, TurnState::Recorded, &recorded)?;
        tx.set_turn_cause(id(71), "afterwards")?;
        tx.set_group_ended(id(71))
    })
    .unwrap();
    let expected = TurnRow {
        id: id(71),
        seq: 3,
        state: TurnState::Recorded,
        workspace: Some("/w".into()),
        merge_base: Some("mmmm".into()),
        process: Some(ProcessRow { pid: 7, start: "9".into(), pgid: 7 }),
        group_ended: true,
        cancel_by: Some("you".into()),
        sent_at: Some(at(20)),
        started_at: Some(at(21)),
        ended_at: Some(at(24)),
        verdict: Some("approve".into()),
        record: Some(record),
        cause: "afterwards".into(),
        ..turn_row(1)
    };
    assert_eq!(home.store.read().turn(id(71)).unwrap(), Some(expected));
    conflict(home.write(|tx| tx.set_turn_cause(id(99), "x")));
}

fn change(seconds: i64) -> crate::TurnChange<'static> {
    crate::TurnChange { cause: None, verdict: None, record: None, now: at(seconds) }
}

#[test]
fn a_post_of_each_shape_comes_back_and_changes() {
    let mut home = Home::with_turns();
    let comments = vec![
        InlineComment { path: "a.rs".into(), line: 4, start_line: Some(2), side: Side::Left, body: "x".into() },
        InlineComment { path: "b.rs".into(), line: 1, start_line: None, side: Side::Right, body: "y".into() },
    ];
    let shapes = [
        Shape::Review { event: ReviewEvent::RequestChanges, comments },
        Shape::Comment,
        Shape::Reply { in_reply_to: 99 },
        Shape::Comment,
    ];
    for (n, shape) in (80..).zip(shapes) {
        let row = PostRow { shape, mentions: vec!["ann".into()], moved: vec!["a.rs:4".into()], ..post_row(n) };
        home.write(|tx| tx.insert_post(&row)).unwrap();
        assert_eq!(home.store.read().post(id(n)).unwrap(), Some(row));
    }
    let review = Shape::Review { event: ReviewEvent::Approve, comments: Vec::new() };
    let changed = PostRow {
        shape: review,
        text: "t".into(),
        body: "b".into(),
        head: "dddd".into(),
        state: PostState::Failed,
        maybe_posted: true,
        cause: "lost".into(),
        started_at: Some(at(1)),
        doubt_at: Some(at(2)),
        look_ups: 3,
        complete_look_ups: 2,
        next_at: Some(at(3)),
        send_if_absent: true,
        retried_at: Some(at(7)),
        changed_at: at(100),
        ..post_row(80)
    };
    home.write(|tx| tx.update_post(id(80), PostState::Queued, &changed)).unwrap();
    assert_eq!(home.store.read().post(id(80)).unwrap(), Some(changed.clone()));
    let remote = RemotePost { node_id: "PRR_9".into(), database_id: 12, url: "https://github.example/r".into() };
    let sent = PostRow { state: PostState::Sent, maybe_posted: false, remote: Some(remote), ..changed };
    home.write(|tx| tx.update_post(id(80), PostState::Failed, &sent)).unwrap();
    assert_eq!(home.store.read().post_by_remote("PRR_9").unwrap(), Some(sent.clone()));
    assert_eq!(home.store.read().sent_reviews(&unit(1)).unwrap(), [sent]);
    assert_eq!(home.store.read().posts(&PostFilter::default()).unwrap().len(), 4);
}

#[test]
fn an_event_of_each_kind_comes_back() {
    // EVT-03
    let mut home = Home::with_turns();
    home.write(|tx| {
        tx.insert_task(&task_row(9), &[(unit(1), "captured")])?;
        tx.insert_post(&post_row(80))
    })
    .unwrap();
    let full = |kind| NewEvent {
        kind,
        key: "key".into(),
        data: json!({ "why": "x" }),
        unit: Some(unit(1)),
        task: Some(id(9)),
        gate: Some(id(1)),
        turn: Some(id(1)),
        post: Some(id(80)),
        actor: Actor::Person { via: Some(id(1)) },
        chain: vec!["review".to_owned()],
    };
    for (kind, _) in EventKind::ALL {
        let written = home.write(|tx| tx.insert_event(&full(*kind), at(5))).unwrap();
        let read = home.store.read().events_after(written - 1, 10, None).unwrap();
        assert_eq!(read, [EventRow { id: written, at: at(5), event: full(*kind) }]);
    }
}

#[test]
fn guidance_marks_and_notes_come_back() {
    let mut home = Home::with_turns();
    let first = home.write(|tx| tx.keep_guidance(&unit(1), "tests first", false, at(1))).unwrap();
    home.write(|tx| tx.keep_guidance(&unit(1), "too late", true, at(2))).unwrap();
    let words = |home: &Home| home.store.read().guidance(&unit(1)).unwrap().into_iter().map(|g| g.text).collect::<Vec<_>>();
    assert_eq!(words(&home), ["tests first"]);
    assert_eq!(home.store.read().guidance_offered(&unit(1)).unwrap()[0].text, "too late");
    assert!(home.store.read().has_offered_guidance(&unit(1), "too late").unwrap());
    assert!(!home.store.read().has_offered_guidance(&unit(1), "tests first").unwrap());
    home.write(|tx| tx.take_guidance(first, id(1))).unwrap();
    conflict(home.write(|tx| tx.take_guidance(first, id(2))));
    assert_eq!(words(&home), [""; 0]);
    assert_eq!(home.write(|tx| tx.return_guidance(id(1))).unwrap(), 1);
    assert_eq!(words(&home), ["tests first"]);

    home.write(|tx| tx.put_mark(&unit(1), "reviewed", &json!({ "head": "aaaa" }), Some(id(1)), at(1))).unwrap();
    home.write(|tx| tx.put_mark(&unit(1), "reviewed", &json!({ "head": "bbbb" }), None, at(2))).unwrap();
    assert_eq!(home.store.read().mark(&unit(1), "reviewed").unwrap(), Some(json!({ "head": "bbbb" })));

    home.write(|tx| {
        tx.put_handled(&unit(1), "review", "aaaa", "ran", at(1))?;
        tx.put_handled(&unit(1), "review", "aaaa", "skipped", at(2))
    })
    .unwrap();
    let handled = home.store.read().handled(&unit(1), "review").unwrap();
    assert_eq!(handled, [("aaaa".to_owned(), "ran".to_owned())], "the first note stays");
    home.write(|tx| tx.set_last_now(at(44))).unwrap();
    assert_eq!(home.store.read().last_now().unwrap(), at(44));
}

#[test]
fn a_row_that_does_not_read_says_where() {
    let mut home = Home::new();
    home.write(|tx| tx.put_unit(&unit_row(1), at(0))).unwrap();
    home.write(|tx| tx.put_pull(&pull_row(1))).unwrap();
    home.store.raw().execute("UPDATE pull_request SET summary = '{}'", []).unwrap();
    let fault = home.store.read().pull(&unit(1)).unwrap_err().to_string();
    assert!(fault.starts_with("the column `summary` of a pull_request row cannot be read"), "{fault}");
}
