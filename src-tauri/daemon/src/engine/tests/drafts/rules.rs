//! Drafts that a rule decides: sent, delayed, discarded, held by a floor, and what a change of the rules does to one that counts down.

use wloop_store::rows::RevisionRow;

use super::*;

/// The workflow's own rule for rounds, kept beside rules for drafts.
const PLAN: &str = "[[workflows.review.gates.approval.rule]]\nwhen = 'gate.kind == \"plan\"'\nmode = 'delay'\nwindow = '60s'\n";

fn with_rule(when: &str, mode: &str) -> String {
    format!("{PLAN}[[workflows.review.gates.approval.rule]]\nwhen = '{when}'\n{mode}\n")
}

const COMMENT: &str = "draft.delivery == \"comment\"";

impl Rig {
    /// A round of the workflow's, whose agent drafts.
    fn ruled(config: &str) -> (Self, Detail, TurnRow) {
        let mut rig = Self::with(config, &[]);
        let detail = pull(1);
        let turn = rig.started(&detail);
        (rig, detail, turn)
    }

    /// The draft, its gate, and what the agent was told of it.
    #[track_caller]
    fn drafts(&mut self, turn: &TurnRow, arguments: serde_json::Value) -> (PostId, GateId, String) {
        match self.tool(turn, "github_draft", arguments) {
            Ok(Reply::Tool(answer)) => {
                let id = |key: &str| answer[key].as_str().unwrap().to_owned();
                (id("draft").parse().unwrap(), id("gate").parse().unwrap(), id("status"))
            }
            other => panic!("no draft: {other:?}"),
        }
    }

    /// A round that the person asked for.
    #[track_caller]
    fn started_by_hand(&mut self, detail: &Detail) -> TurnRow {
        let planned = self.planned(detail);
        self.resolve(planned.gate.id, "skip", None).unwrap();
        self.by_hand(detail, None).unwrap();
        let item = self.items().into_iter().find(|item| item.state == ItemState::Released).unwrap().id;
        let turn = self.prepare(item, detail);
        self.give(turn.id);
        self.turn(turn.id)
    }

    /// The same home under other rules.
    fn under(&mut self, config: &str, files: &[(&str, &str)]) {
        self.rules = rules(config, files);
        self.reopen();
    }
}

#[test]
fn a_rule_that_names_the_delivery_sends_a_draft_at_once_and_once() {
    // DRAFT-21, APPR-10, APPR-62, CONS-01, GATE-08
    let by_ana = with_rule(&format!("{COMMENT} && pr.author == \"ana\""), "mode = 'send'");
    let (mut rig, detail, turn) = Rig::ruled(&by_ana);
    let (draft, gate, status) = rig.drafts(&turn, json!({ "text": "Thanks!" }));
    let closed = rig.gate(gate);
    assert_eq!((status.as_str(), rig.post(draft).state), ("approved", PostState::Queued));
    let closing = closed.gate.closed.clone().unwrap();
    assert_eq!(closing.actor, Actor::Rule("config.toml workflows.review#2".into()));
    assert_eq!(
        (closed.policy.as_str(), closed.consequence.unwrap().0),
        ("send by config.toml workflows.review#2", Consequence::Ran)
    );
    // What was read is kept with the gate, and in its event.
    assert_eq!(closed.explanation["facts"], json!({ "draft.delivery": "comment", "pr.author": "ana" }));
    let opened = rig.events().into_iter().rfind(|e| e.event.kind == EventKind::GateOpened).unwrap();
    assert_eq!(opened.event.data["explanation"], closed.explanation);
    rig.reopen();
    let Reply::Send(_) = rig.try_send(draft, at_head(&detail)) else { panic!("it is to be sent") };
    rig.outcome(draft, SendOutcome::Sent(remote(5)));
    assert_eq!(rig.post(draft).state, PostState::Sent);
    let sent = rig.events().into_iter().find(|e| e.event.kind == EventKind::DraftSent).unwrap();
    assert_eq!(sent.event.actor, closing.actor);

    // Another author's waits.
    let (mut rig, _, turn) = Rig::ruled(&with_rule(&format!("{COMMENT} && pr.author == \"bob\""), "mode = 'send'"));
    let (draft, _, status) = rig.drafts(&turn, json!({ "text": "Thanks!" }));
    assert_eq!((status.as_str(), rig.post(draft).state), ("open", PostState::Held));
}

#[test]
fn a_rule_that_does_not_name_the_delivery_lets_nothing_out() {
    // APPR-54, APPR-55, APPR-61
    for when in ["true", "draft.delivery in [\"comment\"]", "pr.author == \"ana\""] {
        let (mut rig, _, turn) = Rig::ruled(&with_rule(when, "mode = 'send'"));
        let (draft, gate, status) = rig.drafts(&turn, json!({ "text": "Thanks!" }));
        assert_eq!((status.as_str(), rig.post(draft).state), ("open", PostState::Held), "{when}");
        let floor = rig.gate(gate).explanation["floor"].as_str().unwrap().to_owned();
        assert!(floor.contains("`draft.delivery == \"comment\"`"), "{when}: {floor}");
    }
    let hints = rules(&with_rule("draft.delivery in [\"comment\"]", "mode = 'send'"), &[]).approval_hints();
    assert!(hints.len() == 1 && hints[0].contains("names no delivery"), "{hints:?}");
}

#[test]
fn a_delayed_draft_goes_at_the_end_of_its_window_unless_the_person_decides_first() {
    // DRAFT-20, APPR-09, WIN-20
    let delayed = with_rule(COMMENT, "mode = 'delay'\nwindow = '10m'");
    let (mut rig, detail, turn) = Rig::ruled(&delayed);
    let (first, gate, status) = rig.drafts(&turn, json!({ "text": "One." }));
    let (second, other, _) = rig.drafts(&turn, json!({ "text": "Two." }));
    assert_eq!((status.as_str(), rig.gate(gate).gate.deadline), ("open", Some(rig.now + SignedDuration::from_mins(10))));
    rig.resolve(other, "discard", None).unwrap();
    rig.tick_after(599);
    assert_eq!(rig.post(first).state, PostState::Held);
    rig.tick_after(1);
    assert_eq!((rig.post(first).state, rig.post(second).state), (PostState::Queued, PostState::Dropped));
    assert_eq!(rig.gate(gate).gate.closed.unwrap().actor, Actor::Window);
    let Reply::Send(_) = rig.try_send(first, at_head(&detail)) else { panic!("it is to be sent") };
}

#[test]
fn a_window_over_on_a_pull_request_that_ended_lets_nothing_out() {
    // DRAFT-20
    let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'delay'\nwindow = '10m'"));
    let (draft, gate, _) = rig.drafts(&turn, json!({ "text": "One." }));
    let merged =
        Detail { summary: Summary { state: PullState::Merged, ..detail.summary.clone() }, merged_at: Some(rig.now), ..detail };
    rig.show(&merged);
    rig.tick_after(601);
    assert_eq!((rig.post(draft).state, rig.gate(gate).gate.status), (PostState::Held, GateStatus::Open));
    rig.resolve(gate, "approve", None).unwrap();
    assert_eq!(rig.post(draft).state, PostState::Queued);
}

#[test]
fn a_dry_run_drops_a_draft_and_keeps_what_would_have_gone() {
    // DRAFT-22, APPR-11, APPR-57
    let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'dry_run'"));
    let (draft, gate, status) = rig.drafts(&turn, json!({ "text": "Would have said this." }));
    assert_eq!((status.as_str(), rig.post(draft).state), ("rejected", PostState::Dropped));
    assert_eq!((rig.draft(draft).reason.as_str(), rig.post(draft).text.as_str()), ("dry_run", "Would have said this."));
    let closed = rig.gate(gate).gate.closed.unwrap();
    assert_eq!((closed.intent.as_deref(), closed.actor), (Some("discard"), Actor::Rule("config.toml workflows.review#2".into())));
    // Also on another unit than the turn's, where nothing else is followed.
    let elsewhere = pull(2);
    rig.sweep(&[&detail, &elsewhere]);
    let (there, _, status) = rig.drafts(&turn, json!({ "text": "There.", "unit": "acme/api#2" }));
    assert_eq!((status.as_str(), rig.post(there).state), ("rejected", PostState::Dropped));
    rig.reopen();
    for dropped in [draft, there] {
        assert!(!rig.jobs().contains(&Job::Send(dropped)));
        assert!(matches!(rig.try_send(dropped, at_head(&detail)), Reply::NotNow));
    }
}

#[test]
fn an_agents_draft_elsewhere_and_the_persons_own_wait_whatever_a_rule_says() {
    // APPR-25, APPR-57, AGENT-12, DRAFT-25
    let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'send'"));
    let elsewhere = pull(2);
    rig.sweep(&[&detail, &elsewhere]);
    let (there, gate, status) = rig.drafts(&turn, json!({ "text": "There.", "unit": "acme/api#2" }));
    assert_eq!((status.as_str(), rig.post(there).state), ("open", PostState::Held));
    assert!(rig.gate(gate).explanation["floor"].as_str().unwrap().contains("another unit"));
    let (own, gate) = rig.wrote(mine(&detail, "Mine."));
    assert_eq!(rig.post(own).state, PostState::Held);
    assert!(rig.gate(gate).explanation["floor"].as_str().unwrap().contains("you wrote it"));
    // An edited text waits, though its first gate had a window.
    let (mut rig, _, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'delay'\nwindow = '10m'"));
    let (draft, _, _) = rig.drafts(&turn, json!({ "text": "One." }));
    rig.edit(draft, "Another.", None).unwrap();
    rig.tick_after(3_600);
    assert_eq!(rig.post(draft).state, PostState::Held);
}

#[test]
fn the_table_is_the_workflows_before_the_intents() {
    // APPR-20, APPR-21, APPR-35, APPR-46, APPR-48
    let intent = BUNDLED.iter().find(|(path, _)| *path == "intents/review/intent.toml").unwrap().1;
    let intent = format!("{intent}\n[gates.approval]\n[[gates.approval.rule]]\nwhen = '{COMMENT}'\nmode = 'send'\n");
    let files = [("intents/review/intent.toml", intent.as_str())];
    let status = |config: &str, by_hand: bool| {
        let mut rig = Rig::with(config, &files);
        let detail = pull(1);
        let turn = if by_hand { rig.started_by_hand(&detail) } else { rig.started(&detail) };
        rig.drafts(&turn, json!({ "text": "Hm." })).2
    };
    // The bundled workflow says nothing of drafts, so that its turn's draft takes the intent's table.
    assert_eq!(status("", false), "approved");
    assert_eq!(status("", true), "approved");
    // The configuration lies over the intent's table then; a turn by hand is not the workflow's.
    let dry = with_rule(COMMENT, "mode = 'dry_run'");
    assert_eq!((status(&dry, false).as_str(), status(&dry, true).as_str()), ("rejected", "approved"));
}

#[test]
fn rules_that_changed_under_a_window_leave_the_draft_to_the_person() {
    // APPR-50, APPR-51, APPR-52
    let delayed = with_rule(COMMENT, "mode = 'delay'\nwindow = '10m'");
    let waits = with_rule(COMMENT, "mode = 'wait'");
    let misfit = "[workflows.review.gates.approval]\nwindow = '5m'\n";
    let foreign = with_rule(&format!("{COMMENT} && slack.ended"), "mode = 'send'");
    for config in ["", &waits, misfit, &foreign] {
        let (mut rig, _, turn) = Rig::ruled(&delayed);
        let (draft, gate, _) = rig.drafts(&turn, json!({ "text": "One." }));
        rig.under(config, &[]);
        rig.tick_after(601);
        assert_eq!((rig.post(draft).state, rig.gate(gate).gate.status), (PostState::Held, GateStatus::Open), "{config}");
        assert_eq!(rig.gate(gate).gate.deadline, None, "{config}");
        let told = rig.events().into_iter().rfind(|e| e.event.gate == Some(gate)).unwrap();
        assert!(told.event.data["why"].as_str().unwrap().contains("the rules, or what they read, have changed"), "{told:?}");
        // It is the person's from here on, also when the old rule comes back.
        rig.under(&delayed, &[]);
        rig.tick_after(3_600);
        assert_eq!(rig.post(draft).state, PostState::Held, "{config}");
        rig.resolve(gate, "approve", None).unwrap();
        assert_eq!(rig.post(draft).state, PostState::Queued, "{config}");
    }
    for (config, expected) in [
        (misfit, "gives a `window` and the mode beneath it is no `delay`"),
        (foreign.as_str(), "reads facts of `slack`, and it is about units of `github`"),
    ] {
        let hints = rules(config, &[]).approval_hints();
        let named = hints.iter().find(|hint| hint.contains(expected)).unwrap_or_else(|| panic!("{hints:?}"));
        assert!(named.contains("every gate of the workflow `review` waits for you"), "{named}");
        // A draft that is proposed under it waits.
        let (mut rig, _, turn) = Rig::ruled(config);
        let (draft, _, status) = rig.drafts(&turn, json!({ "text": "Two." }));
        assert_eq!((status.as_str(), rig.post(draft).state), ("open", PostState::Held), "{config}");
    }
}

#[test]
fn an_overlay_that_drops_a_workflows_own_rule_is_told() {
    // APPR-45, CFG-09
    let only_drafts = format!("[[workflows.review.gates.approval.rule]]\nwhen = '{COMMENT}'\nmode = 'wait'\n");
    let hints = rules(&only_drafts, &[]).approval_hints();
    assert!(hints.iter().any(|hint| hint.contains("none of them is for its plan gates")), "{hints:?}");
    assert_eq!(rules(&with_rule(COMMENT, "mode = 'wait'"), &[]).approval_hints(), [] as [&str; 0]);
}

/// A manifest that does not load.
const BROKEN: [(&str, &str); 1] = [("workflows/review/workflow.toml", "summary = 1\n")];

#[test]
fn a_window_of_a_workflow_that_does_not_load_fails_its_draft_for_the_person_to_retry() {
    // DRAFT-18, WF-11, DRAFT-11
    let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'delay'\nwindow = '10m'"));
    let (draft, gate, _) = rig.drafts(&turn, json!({ "text": "One." }));
    rig.under("", &BROKEN);
    rig.tick_after(601);
    let post = rig.post(draft);
    assert_eq!((post.state, post.maybe_posted), (PostState::Failed, false));
    assert!(post.cause.contains("its workflow `review` does not load"), "{}", post.cause);
    assert_eq!(rig.gate(gate).gate.closed.unwrap().actor, Actor::Window);
    rig.tick_after(3_600);
    assert_eq!(rig.post(draft).state, PostState::Failed);
    // The person's own word sends it.
    rig.ask(Request::RetryDraft(draft)).unwrap();
    let Reply::Send(_) = rig.try_send(draft, at_head(&detail)) else { panic!("it is to be sent") };
}

#[test]
fn a_draft_that_a_rule_released_does_not_go_when_its_workflow_is_gone() {
    // DRAFT-17
    let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'send'"));
    let (draft, _, status) = rig.drafts(&turn, json!({ "text": "One." }));
    assert_eq!(status, "approved");
    rig.under("", &BROKEN);
    assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::NotNow));
    let post = rig.post(draft);
    assert_eq!((post.state, post.maybe_posted), (PostState::Failed, false));
    rig.ask(Request::RetryDraft(draft)).unwrap();
    let Reply::Send(_) = rig.try_send(draft, at_head(&detail)) else { panic!("it is to be sent") };
    // What the person approved goes whatever became of the workflow.
    let (mut rig, detail, turn) = Rig::ruled("");
    let (draft, gate, _) = rig.drafts(&turn, json!({ "text": "One." }));
    rig.under("", &BROKEN);
    rig.resolve(gate, "approve", None).unwrap();
    let Reply::Send(_) = rig.try_send(draft, at_head(&detail)) else { panic!("it is to be sent") };
}

#[test]
fn a_draft_that_would_be_posted_otherwise_than_its_rule_decided_fails() {
    // DRAFT-16
    let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, "mode = 'send'"));
    let (draft, _, _) = rig.drafts(&turn, json!({ "text": "One." }));
    // As it would stand had its rule decided about a message.
    let (row, post) = (rig.draft(draft), rig.post(draft));
    let (gate, other) = (rig.gate(post.gate), "d".repeat(32));
    let first = rig.read().revisions(draft).unwrap().remove(0);
    let draft: PostId = other.parse().unwrap();
    let id: GateId = other.parse().unwrap();
    rig.forge(|tx| {
        tx.insert_gate(&GateRow { gate: wloop_core::gate::Gate { id, ..gate.gate.clone() }, ..gate.clone() })?;
        tx.insert_post(&PostRow { id: draft, gate: id, state: PostState::Held, ..post.clone() })?;
        tx.insert_draft(&DraftRow { id: draft, delivery: Delivery::Message, ..row.clone() })?;
        tx.insert_revision(&RevisionRow { draft, gate: id, ..first.clone() })?;
        tx.update_post(draft, PostState::Held, &PostRow { id: draft, gate: id, ..post.clone() })
    });
    assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::NotNow));
    assert!(rig.post(draft).cause.contains("released as a message"), "{}", rig.post(draft).cause);
    rig.ask(Request::RetryDraft(draft)).unwrap();
    let Reply::Send(_) = rig.try_send(draft, at_head(&detail)) else { panic!("it is to be sent") };
}

#[test]
fn what_a_rule_released_is_asked_about_again_right_before_it_is_sent() {
    // APPR-36, K15
    let rule = with_rule(&format!("{COMMENT} && \"ready\" in pr.labels"), "mode = 'send'");
    let labelled = Detail { labels: vec!["ready".into()], ..pull(1) };
    let queued = || {
        let mut rig = Rig::with(&rule, &[]);
        let turn = rig.started(&labelled);
        let (draft, _, status) = rig.drafts(&turn, json!({ "text": "One." }));
        assert_eq!(status, "approved");
        (rig, draft)
    };
    // The rule does not hold any more.
    let (mut rig, draft) = queued();
    rig.show(&Detail { labels: vec![], ..labelled.clone() });
    assert!(matches!(rig.try_send(draft, at_head(&labelled)), Reply::NotNow));
    let post = rig.post(draft);
    assert_eq!((post.state, post.maybe_posted), (PostState::Failed, false));
    assert!(post.cause.contains("the rules, or what they read, have changed"), "{}", post.cause);
    rig.ask(Request::RetryDraft(draft)).unwrap();
    assert!(matches!(rig.try_send(draft, at_head(&labelled)), Reply::Send(_)), "the person's own word sends it");
    // It was merged or locked a moment ago, which nothing stored says yet.
    let (mut rig, draft) = queued();
    assert!(matches!(rig.try_send(draft, Seen { takes_words: false, ..at_head(&labelled) }), Reply::NotNow));
    assert!(rig.post(draft).cause.contains("closed or locked by now"), "{}", rig.post(draft).cause);
    let (mut rig, draft) = queued();
    assert!(matches!(rig.try_send(draft, at_head(&labelled)), Reply::Send(_)));
}

#[test]
fn a_window_that_ends_after_sleep_waits_for_a_fresh_look() {
    // DRAFT-20, APPR-36
    let rule = with_rule(&format!("{COMMENT} && \"ready\" in pr.labels"), "mode = 'delay'\nwindow = '10m'");
    let labelled = Detail { labels: vec!["ready".into()], ..pull(1) };
    for (shown, state) in
        [(labelled.clone(), PostState::Queued), (Detail { labels: vec![], ..labelled.clone() }, PostState::Held)]
    {
        let mut rig = Rig::with(&rule, &[]);
        let turn = rig.started(&labelled);
        let (draft, gate, _) = rig.drafts(&turn, json!({ "text": "One." }));
        // The lid was closed for half a day.
        rig.tick_after(43_200);
        assert_eq!(rig.post(draft).state, PostState::Held);
        assert!(rig.jobs().contains(&Job::ReadDetail(unit(&labelled))), "it is read first");
        rig.show(&shown);
        rig.tick_after(31);
        assert_eq!(rig.post(draft).state, state);
        assert_eq!(rig.gate(gate).gate.status == GateStatus::Open, state == PostState::Held);
    }
}

#[test]
fn the_drafts_of_a_cancelled_round_go_by_no_rule() {
    // RUN-13
    for mode in ["mode = 'delay'\nwindow = '10m'", "mode = 'send'"] {
        let (mut rig, detail, turn) = Rig::ruled(&with_rule(COMMENT, mode));
        let (draft, gate, _) = rig.drafts(&turn, json!({ "text": "One." }));
        rig.ask(Request::CancelTurn(turn.id)).unwrap();
        assert_eq!(rig.gate(gate).gate.deadline, None);
        rig.tick_after(601);
        assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::NotNow));
        let post = rig.post(draft);
        match post.state {
            PostState::Held => rig.resolve(gate, "approve", None).unwrap(),
            PostState::Failed => {
                assert!(post.cause.contains("you cancelled the round"), "{}", post.cause);
                rig.ask(Request::RetryDraft(draft)).unwrap()
            }
            other @ (PostState::Queued | PostState::Sending | PostState::Sent | PostState::Dropped) => panic!("{other}"),
        };
        assert!(matches!(rig.try_send(draft, at_head(&detail)), Reply::Send(_)), "the person lets it go all the same");
    }
}

#[test]
fn a_post_of_a_cancelled_round_that_the_person_retries_goes() {
    // O10, GH-PUB-09, RUN-13
    let mut rig = Rig::new();
    let detail = pull(1);
    let turn = rig.started(&detail);
    let post = rig.review(&turn, "Looks right.").id;
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::Send(_)));
    rig.outcome(post, SendOutcome::Refused { kind: No::Forbidden, why: "no write access".into() });
    assert_eq!(rig.post(post).state, PostState::Failed);
    rig.ask(Request::CancelTurn(turn.id)).unwrap();
    rig.ask(Request::PostRetry(post)).unwrap();
    assert!(matches!(rig.try_send(post, at_head(&detail)), Reply::Send(_)), "{:?}", rig.post(post));
}
