use super::{frame, now, text};
use crate::gate::GateKind;
use crate::rules::policy::{
    ApprovalOverlay, ApprovalTable, Asked, DecidedBy, Decision, Mode, ModeWord, Outcome, Rule, decide, dropped_kinds, overlay,
};
use crate::rules::predicate::Predicate;
use crate::rules::registry::Provider;
use crate::rules::value::{Frame, Value};
use jiff::SignedDuration;

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

fn rule(table: &str, when: &str, mode: Mode) -> Rule {
    Rule { table: table.to_owned(), when: Predicate::parse(when).unwrap(), mode }
}

fn table(name: &str, rules: &[(&str, Mode)], mode: Option<Mode>) -> ApprovalTable {
    let rules = rules.iter().map(|(when, mode)| rule(name, when, *mode)).collect();
    ApprovalTable { rules, mode, ..ApprovalTable::empty(name) }
}

fn overlay_here(table: &ApprovalTable, over: &ApprovalOverlay) -> ApprovalTable {
    overlay(table, over, Provider::Github)
}

fn ask_named(kind: GateKind, name: &str, tables: &[&ApprovalTable], facts: &Frame) -> Decision {
    decide(&Asked { kind, name, provider: Provider::Github, facts, unreadable: None }, tables, now())
}

fn ask(kind: GateKind, tables: &[&ApprovalTable], facts: &Frame) -> Decision {
    ask_named(kind, kind.as_str(), tables, facts)
}

#[test]
fn the_first_rule_that_holds_decides_then_the_mode_then_the_next_table() {
    // APPR-03
    let mine = frame([("pr.mine", Value::Bool(true))]);
    let first =
        table("workflows/review", &[("pr.draft", Mode::Send), ("pr.mine", Mode::Delay(MINUTE)), ("pr.mine", Mode::Run)], None);
    let gates = table("gates.toml", &[("gate.kind == \"plan\"", Mode::Run)], Some(Mode::Wait));
    let decision = ask(GateKind::Plan, &[&first, &gates], &mine);
    assert_eq!(decision.mode, Mode::Delay(MINUTE));
    assert_eq!(decision.rule_name(), "workflows/review#2");
    assert_eq!(decision.facts, [("pr.mine".to_owned(), Value::Bool(true))].into());
    let outcomes: Vec<_> = decision.steps.iter().map(|step| step.outcome.clone()).collect();
    assert_eq!(outcomes, [Outcome::DidNotHold, Outcome::Held]);

    let nothing = Frame::new();
    let decision = ask(GateKind::Plan, &[&first, &gates], &nothing);
    assert_eq!((decision.mode, decision.rule_name().as_str()), (Mode::Run, "gates.toml"));
    let with_mode = ApprovalTable { mode: Some(Mode::Wait), ..first.clone() };
    let decision = ask(GateKind::Plan, &[&with_mode, &gates], &nothing);
    assert_eq!((decision.mode, decision.rule_name().as_str()), (Mode::Wait, "workflows/review"));
    let decision = ask(GateKind::Plan, &[&first], &nothing);
    assert_eq!((decision.mode, decision.by.clone(), decision.rule_name().as_str()), (Mode::Wait, DecidedBy::Default, "default"));
}

#[test]
fn the_bundled_default_runs_a_round_and_lets_all_else_wait() {
    // APPR-04, APPR-05, APPR-06
    let profile = crate::rules::profile::Profile::load(&super::bundled()).unwrap();
    for (kind, _) in GateKind::ALL {
        let decision = ask(kind, &[&profile.gates.approval], &Frame::new());
        let expected = if kind == GateKind::Plan { Mode::Run } else { Mode::Wait };
        assert_eq!((decision.mode, decision.rule_name().as_str()), (expected, "gates.toml"), "{kind:?}");
    }
    let review = &profile.workflows["review"].approval;
    let decision = ask(GateKind::Plan, &[review, &profile.gates.approval], &Frame::new());
    assert_eq!((decision.mode, decision.rule_name().as_str()), (Mode::Delay(MINUTE), "workflows/review#1"));
    assert_eq!(ask(GateKind::Draft, &[review, &profile.gates.approval], &Frame::new()).mode, Mode::Wait);
}

#[test]
fn a_rule_reaches_the_kinds_it_pins() {
    // APPR-14, APPR-16, APPR-17
    let pinned = table("t", &[("gate.kind == \"plan\"", Mode::Run)], None);
    for (kind, _) in GateKind::ALL {
        let decision = ask(kind, &[&pinned], &frame([("pr.slug", text("a/b#1"))]));
        assert_eq!(decision.mode == Mode::Run, kind == GateKind::Plan, "{kind:?}");
        if kind != GateKind::Plan {
            assert!(matches!(decision.steps[0].outcome, Outcome::PassedOver(_)), "{kind:?}");
        }
    }
    let named = table("t", &[("gate.name == \"review-diff\"", Mode::Run)], None);
    assert_eq!(ask_named(GateKind::Step, "review-diff", &[&named], &Frame::new()).mode, Mode::Run);
    assert_eq!(ask_named(GateKind::Step, "other", &[&named], &Frame::new()).mode, Mode::Wait);
}

#[test]
fn a_dry_run_is_passed_over_for_all_but_drafts() {
    // APPR-11, APPR-13
    let dry = table("t", &[("true", Mode::DryRun), ("true", Mode::Run)], Some(Mode::Wait));
    assert_eq!(ask(GateKind::Draft, &[&dry], &Frame::new()).mode, Mode::DryRun);
    let plan = ask(GateKind::Plan, &[&dry], &Frame::new());
    assert_eq!((plan.mode, plan.rule_name().as_str()), (Mode::Run, "t#2"));
    let by_mode = table("t", &[], Some(Mode::DryRun));
    assert_eq!(ask(GateKind::Plan, &[&by_mode], &Frame::new()).by, DecidedBy::Default);
}

#[test]
fn no_table_releases_what_only_the_person_may() {
    // GATE-54, APPR-08
    for mode in [Mode::Run, Mode::Send, Mode::Delay(MINUTE)] {
        let releasing = table("t", &[("true", mode)], Some(mode));
        for (kind, _) in GateKind::ALL {
            assert_eq!(ask(kind, &[&releasing], &Frame::new()).mode.releases(), kind.may_be_released(), "{kind:?}");
        }
    }
}

#[test]
fn a_rule_that_fails_matches_nothing_and_the_gate_waits() {
    // CEL-07, APPR-36
    let failing = table("t", &[("1 / pr.changed_files == 1", Mode::Run), ("true", Mode::Run)], Some(Mode::Run));
    let decision = ask(GateKind::Plan, &[&failing], &Frame::new());
    assert_eq!(decision.mode, Mode::Wait);
    assert!(matches!(&decision.steps[0].outcome, Outcome::Failed(why) if why.contains("division")), "{decision:?}");
    let shown = decision.explanation();
    assert_eq!(shown["steps"][0]["outcome"], "failed");
    assert_eq!(shown["mode"], "wait");
}

#[test]
fn an_explanation_tells_the_way() {
    // RES-04
    let delay = table("workflows/review", &[("pr.draft", Mode::Wait), ("pr.changed_files < 9", Mode::Delay(MINUTE))], None);
    let shown = ask(GateKind::Plan, &[&delay], &frame([("pr.changed_files", Value::Int(4))])).explanation();
    let expected = serde_json::json!({
        "mode": "delay", "window_ms": 60_000, "by": "workflows/review#2", "when": "pr.changed_files < 9",
        "steps": [
            { "table": "workflows/review", "rule": 1, "when": "pr.draft", "outcome": "did_not_hold", "why": "" },
            { "table": "workflows/review", "rule": 2, "when": "pr.changed_files < 9", "outcome": "held", "why": "" },
        ],
        "facts": { "pr.changed_files": 4 },
        "floor": null,
    });
    assert_eq!(shown, expected);
}

#[test]
fn an_overlay_goes_key_by_key() {
    // APPR-45
    let own = table("workflows/review", &[("pr.draft", Mode::Wait)], Some(Mode::Delay(MINUTE)));
    let hour = SignedDuration::from_hours(1);
    let base = ApprovalOverlay { name: "config.toml workflows.review".to_owned(), ..ApprovalOverlay::default() };
    assert_eq!(overlay_here(&own, &base), own);
    let window = overlay_here(&own, &ApprovalOverlay { window: Some(hour), ..base.clone() });
    assert_eq!((window.mode, &window.rules), (Some(Mode::Delay(hour)), &own.rules));
    let mode = overlay_here(&own, &ApprovalOverlay { mode: Some(ModeWord::Run), ..base.clone() });
    assert_eq!((mode.mode, &mode.rules), (Some(Mode::Run), &own.rules));
    let empty = overlay_here(&own, &ApprovalOverlay { rules: Some(Vec::new()), ..base.clone() });
    assert_eq!((empty.mode, empty.rules.len()), (own.mode, 0));
    let rules = Some(vec![rule("config.toml workflows.review", "gate.kind == \"step\"", Mode::Run)]);
    let replaced = ApprovalOverlay { rules, ..base };
    let merged = overlay_here(&own, &replaced);
    assert_eq!(ask(GateKind::Step, &[&merged], &Frame::new()).rule_name(), "config.toml workflows.review#1");
    let dropped = dropped_kinds(&own, &replaced);
    assert!(dropped.contains(&GateKind::Plan) && !dropped.contains(&GateKind::Step), "{dropped:?}");
}

#[test]
fn an_overlay_that_does_not_fit_makes_everything_wait() {
    // APPR-50
    let waiting = table("workflows/review", &[("true", Mode::Run)], Some(Mode::Wait));
    let gates = table("gates.toml", &[], Some(Mode::Run));
    let base = ApprovalOverlay { name: "config.toml workflows.review".to_owned(), ..ApprovalOverlay::default() };
    for misfit in
        [ApprovalOverlay { window: Some(MINUTE), ..base.clone() }, ApprovalOverlay { mode: Some(ModeWord::Delay), ..base }]
    {
        let merged = overlay_here(&waiting, &misfit);
        let decision = ask(GateKind::Plan, &[&merged, &gates], &Frame::new());
        assert_eq!(decision.mode, Mode::Wait);
        assert!(matches!(&decision.steps[0].outcome, Outcome::Failed(why) if why.contains("config.toml")), "{decision:?}");
    }
}
