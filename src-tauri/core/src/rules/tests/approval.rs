//! Approval tables as files write them: what loads, what is refused and in which words, and what an overlay makes of them.

use super::{bundled, frame, now, text};
use crate::draft::{Delivery, Proposer};
use crate::gate::GateKind;
use crate::rules::config::Config;
use crate::rules::policy::{
    ApprovalOverlay, ApprovalTable, DraftAsked, Mode, Origin, Outcome, Rule, decide_draft, hints, overlay,
};
use crate::rules::predicate::Predicate;
use crate::rules::profile::Profile;
use crate::rules::registry::{Provider, Scope};
use crate::rules::value::{Frame, Value};
use jiff::SignedDuration;

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// Where a rule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Gates,
    Intent,
    Workflow,
    Configuration,
}

const EVERYWHERE: [Where; 4] = [Where::Gates, Where::Intent, Where::Workflow, Where::Configuration];

/// The faults of a rule written there; none when it loads.
fn faults(place: Where, when: &str, mode: &str) -> Vec<String> {
    let rule = format!("when = '{when}'\n{mode}\n");
    let file = match place {
        Where::Gates => "gates.toml",
        Where::Intent => "intents/review/intent.toml",
        Where::Workflow => "workflows/review/workflow.toml",
        Where::Configuration => {
            let text = format!("[[workflows.review.gates.approval.rule]]\n{rule}");
            let found = Config::parse("config.toml", &text).err().unwrap_or_default();
            return found.iter().map(ToString::to_string).collect();
        }
    };
    let mut files = bundled();
    let text = files.get_mut(file).unwrap();
    match place {
        Where::Gates => text.push_str(&format!("\n[[approval.rule]]\n{rule}")),
        Where::Intent | Where::Workflow | Where::Configuration => text.push_str(&format!("\n[[gates.approval.rule]]\n{rule}")),
    }
    match Profile::load(&files) {
        Ok(profile) => profile.broken.iter().map(ToString::to_string).collect(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_rule_stands_in_four_places_and_is_read_alike() {
    // APPR-01, APPR-02, APPR-26, APPR-62
    for place in EVERYWHERE {
        for (when, mode) in [
            ("draft.delivery == \"comment\" && pr.author == \"dependabot[bot]\"", "mode = \"send\""),
            ("draft.delivery == \"comment\" && draft.proposer == \"intent:review\"", "mode = \"delay\"\nwindow = \"10m\""),
            ("gate.kind == \"plan\" && pr.draft", "mode = \"wait\""),
            ("gate.name == \"plan\"", "mode = \"run\""),
        ] {
            assert_eq!(faults(place, when, mode), [] as [&str; 0], "{place:?} {when}");
        }
    }
}

#[test]
fn what_a_rule_may_not_read_is_refused_with_its_place_and_its_fact() {
    // APPR-19, APPR-26, APPR-27, APPR-38, APPR-39, APPR-41, APPR-43, APPR-49
    for place in EVERYWHERE {
        for (when, mode, expected) in [
            ("pr.waits_on_user", "mode = \"send\"", "a rule that releases reads `pr.waits_on_user`, which others can influence"),
            ("gate.kind == \"plan\" && pr.first.due", "mode = \"run\"", "a rule that releases reads `pr.first.due`"),
            ("gate.kind == \"plan\" && trigger.event.data != \"\"", "mode = \"run\"", "reads `trigger.event.data`"),
            ("pr.review.action == \"complete\"", "mode = \"wait\"", "a rule that reaches draft gates reads `pr.review.action`"),
            ("brief.risk == \"high\"", "mode = \"wait\"", "a rule that reaches draft gates reads `brief.risk`"),
            ("trigger.kind == \"sweep\"", "mode = \"wait\"", "a rule that reaches draft gates reads `trigger.kind`"),
            ("config.turns.per_day > 3", "mode = \"wait\"", "a rule that reaches draft gates reads `config.turns.per_day`"),
            ("now > timestamp(0)", "mode = \"wait\"", "a rule that reaches draft gates reads `now`"),
            ("gate.status == \"open\"", "mode = \"wait\"", "`gate.status` is for views"),
            ("gate.kind == \"plan\" && draft.purpose == \"x\"", "mode = \"wait\"", "no kind of gate is reached by it"),
            ("row.open", "mode = \"wait\"", "`row.open` cannot be read in an approval rule; it is open in `action`"),
            ("draft.items_owed > 0", "mode = \"wait\"", "`draft.items_owed` cannot be read in an approval rule"),
            ("pr.auther == \"me\"", "mode = \"wait\"", "unknown fact `pr.auther`; did you mean `pr.author`?"),
            ("draft[pr.base] == \"x\"", "mode = \"wait\"", "`draft` with a computed key"),
            ("draft == \"x\"", "mode = \"wait\"", "`draft` alone is no fact"),
            ("true", "mode = \"delay\"", "`delay` needs a window"),
            ("true", "mode = \"wait\"\nwindow = \"1m\"", "a window is only for the mode `delay`"),
            ("true", "mode = \"later\"", "unknown value `later`"),
            ("true", "", "the rule has no `mode`"),
        ] {
            let found = faults(place, when, mode);
            let shown = found.join("\n");
            assert!(shown.contains(expected), "{place:?} {when}: {shown}");
            assert!(shown.contains("approval.rule["), "{place:?} {when} names its rule: {shown}");
        }
    }
    // Two providers: a workflow knows its own, elsewhere they are counted.
    let both = "pr.mine && slack.conversation == \"dm\"";
    for place in [Where::Gates, Where::Intent, Where::Configuration] {
        let shown = faults(place, both, "mode = \"wait\"").join("\n");
        assert!(shown.contains("reads facts of `github` and `slack`"), "{place:?}: {shown}");
    }
    let shown = faults(Where::Workflow, both, "mode = \"wait\"").join("\n");
    assert!(shown.contains("`slack.conversation` cannot be read in an approval rule; it is a fact of `slack`"), "{shown}");
}

#[test]
fn a_rule_that_only_holds_other_kinds_may_read_what_others_move() {
    // APPR-40, APPR-42, APPR-44
    for when in ["gate.kind == \"plan\" && pr.waits_on_user", "gate.kind != \"draft\" && trigger.event.data == \"x\""] {
        for place in EVERYWHERE {
            assert_eq!(faults(place, when, "mode = \"wait\""), [] as [&str; 0], "{place:?} {when}");
        }
    }
    assert!(Predicate::parse_in("pr.first.due || trigger.event.data == \"x\"", Scope::Workflow(Provider::Github)).is_ok());
}

#[test]
fn a_rule_of_an_intent_does_not_ask_what_no_turn_tells() {
    // APPR-33
    for (when, fact) in [
        ("draft.delivery == \"comment\" && draft.purpose == \"nudge\"", "draft.purpose"),
        ("draft.delivery == \"comment\" && \"pr.nudged\" in draft.effects", "draft.effects"),
        ("has(draft.purpose)", "draft.purpose"),
        ("draft[\"purpose\"] == \"\"", "draft.purpose"),
    ] {
        let shown = faults(Where::Intent, when, "mode = \"wait\"").join("\n");
        assert!(shown.contains(&format!("a rule of an intent reads `{fact}`")), "{when}: {shown}");
        for place in [Where::Gates, Where::Workflow, Where::Configuration] {
            assert_eq!(faults(place, when, "mode = \"wait\""), [] as [&str; 0], "{place:?} {when}");
        }
    }
}

fn rule(when: &str, mode: Mode) -> Rule {
    Rule { table: "t".to_owned(), when: Predicate::parse_in(when, Scope::Rule(None)).unwrap(), mode }
}

fn table(rules: Vec<Rule>, mode: Option<Mode>) -> ApprovalTable {
    ApprovalTable { rules, mode, ..ApprovalTable::empty("t") }
}

/// A draft of a workflow on a unit of that provider.
fn ask(
    table: &ApprovalTable,
    provider: Provider,
    delivery: Delivery,
    facts: &Frame,
    unreadable: Option<&str>,
) -> (String, String) {
    let asked = DraftAsked {
        name: "draft",
        provider,
        delivery,
        posts: crate::draft::posts(delivery),
        proposer: &Proposer::Workflow("w".into()),
        purpose: "",
        effects: &[],
        facts,
        unreadable,
    };
    let gates = ApprovalTable { mode: Some(Mode::Wait), ..ApprovalTable::empty("gates.toml") };
    let decision = decide_draft(&asked, Origin::Workflow { table, overlay: None }, &gates, now());
    (decision.mode.as_str().to_owned(), decision.rule_name())
}

#[test]
fn worked_cases_come_out_as_told() {
    // APPR-10, APPR-62, APPR-63, APPR-09
    let bot = table(vec![rule("draft.delivery == \"comment\" && pr.author == \"dependabot[bot]\"", Mode::Send)], None);
    let by = |author: &str| frame([("pr.author", text(author))]);
    let ask_bot = |author: &str| ask(&bot, Provider::Github, Delivery::Comment, &by(author), None);
    assert_eq!(ask_bot("dependabot[bot]"), ("send".into(), "t#1".into()));
    assert_eq!(ask_bot("ana"), ("wait".into(), "gates.toml".into()));

    let direct =
        table(vec![rule("draft.delivery == \"message\" && slack.conversation == \"dm\"", Mode::Delay(MINUTE * 10))], None);
    let inside = |kind: &str| frame([("slack.conversation", text(kind))]);
    let ask_slack = |kind: &str| ask(&direct, Provider::Slack, Delivery::Message, &inside(kind), None);
    assert_eq!(ask_slack("dm"), ("delay".into(), "t#1".into()));
    assert_eq!(ask_slack("channel"), ("wait".into(), "gates.toml".into()));
}

#[test]
fn the_questions_of_a_workflow_follow_its_overlay() {
    // APPR-64, APPR-46
    let own = ApprovalTable::empty("workflows/slack-ask-owner");
    let gates = ApprovalTable { mode: Some(Mode::Wait), ..ApprovalTable::empty("gates.toml") };
    for (mode, expected) in [(Mode::Delay(MINUTE), "delay"), (Mode::Send, "send")] {
        let over = ApprovalOverlay {
            name: "config.toml workflows.slack-ask-owner".to_owned(),
            rules: Some(vec![rule("draft.delivery == \"message\"", mode)]),
            ..ApprovalOverlay::default()
        };
        let asked = DraftAsked {
            name: "draft",
            provider: Provider::Slack,
            delivery: Delivery::Message,
            posts: true,
            proposer: &Proposer::Workflow("slack-ask-owner".into()),
            purpose: "ask_owner",
            effects: &[],
            facts: &Frame::new(),
            unreadable: None,
        };
        let decision = decide_draft(&asked, Origin::Workflow { table: &own, overlay: Some(&over) }, &gates, now());
        assert_eq!(decision.mode.as_str(), expected);
    }
}

#[test]
fn a_rule_on_another_providers_units_is_passed_over() {
    // APPR-18
    let both = table(
        vec![
            rule("draft.delivery in [\"comment\", \"message\"] && slack.ended == false", Mode::DryRun),
            rule("draft.delivery == \"comment\" && pr.mine", Mode::Send),
        ],
        None,
    );
    let mine = frame([("pr.mine", Value::Bool(true))]);
    assert_eq!(ask(&both, Provider::Github, Delivery::Comment, &mine, None), ("send".into(), "t#2".into()));
    assert_eq!(ask(&both, Provider::Slack, Delivery::Message, &Frame::new(), None), ("dry_run".into(), "t#1".into()));
}

#[test]
fn facts_that_cannot_be_read_leave_the_draft_to_the_person() {
    // APPR-36
    let lost = Some("the pull request was not read yet");
    let needs = table(vec![rule("pr.mine || true", Mode::DryRun), rule("draft.delivery == \"comment\"", Mode::Send)], None);
    assert_eq!(ask(&needs, Provider::Github, Delivery::Comment, &Frame::new(), lost), ("wait".into(), "t#1".into()));
    let does_not = table(vec![rule("draft.delivery == \"comment\"", Mode::Send)], None);
    assert_eq!(ask(&does_not, Provider::Github, Delivery::Comment, &Frame::new(), lost).0, "send");
}

#[test]
fn a_floor_says_what_would_lift_it() {
    // APPR-53, APPR-54, APPR-55, APPR-59
    let catch_all = table(vec![rule("true", Mode::Send)], None);
    let asked = DraftAsked {
        name: "draft",
        provider: Provider::Github,
        delivery: Delivery::Comment,
        posts: true,
        proposer: &Proposer::Workflow("w".into()),
        purpose: "",
        effects: &[],
        facts: &Frame::new(),
        unreadable: None,
    };
    let gates = ApprovalTable::empty("gates.toml");
    let decision = decide_draft(&asked, Origin::Workflow { table: &catch_all, overlay: None }, &gates, now());
    assert_eq!((decision.mode, decision.steps[0].outcome.clone()), (Mode::Wait, Outcome::Held));
    assert_eq!(
        decision.explanation()["floor"],
        "the rule that would let it out does not name its delivery: only a rule with `draft.delivery == \"comment\"` does"
    );
}

#[test]
fn what_is_hardly_meant_is_told() {
    // APPR-61
    let loose = table(
        vec![
            rule("draft.delivery in [\"comment\"]", Mode::Send),
            rule("draft.delivery == \"comment\" && pr.mine", Mode::Send),
            rule("draft.delivery in [\"comment\"]", Mode::Wait),
            rule("gate.kind == \"plan\"", Mode::Run),
        ],
        Some(Mode::Send),
    );
    let found = hints(&loose);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found[0].starts_with("rule 1 of `t` lets no comment or message out")
            && found[0].contains("draft.delivery == \"comment\"")
    );
    assert!(found[1].starts_with("the mode `send` of `t` lets no comment or message out"), "{}", found[1]);
    assert_eq!(hints(&Profile::load(&bundled()).unwrap().gates.approval), [] as [&str; 0]);
}

#[test]
fn an_overlay_on_units_of_another_provider_holds_all_drafts() {
    // APPR-52
    let own = table(vec![rule("draft.delivery == \"comment\"", Mode::Send)], None);
    let over = ApprovalOverlay {
        name: "config.toml workflows.w".to_owned(),
        rules: Some(vec![rule("pr.mine", Mode::Wait), rule("draft.delivery == \"comment\" && slack.ended", Mode::Send)]),
        ..ApprovalOverlay::default()
    };
    let merged = overlay(&own, &over, Provider::Github);
    let why = merged.broken.clone().unwrap();
    assert_eq!(why, "rule 2 of `config.toml workflows.w` reads facts of `slack`, and it is about units of `github`");
    let mine = frame([("pr.mine", Value::Bool(true))]);
    assert_eq!(ask(&merged, Provider::Github, Delivery::Comment, &mine, None).0, "wait");
    assert!(overlay(&own, &over, Provider::Slack).broken.unwrap().contains("rule 1 of"));
}

#[test]
fn a_workflow_names_a_draft_gate_by_a_mode_or_a_rule_for_drafts() {
    // APPR-15, APPR-17, APPR-20
    let plan = rule("gate.kind == \"plan\"", Mode::Run);
    assert!(!table(vec![plan.clone()], None).names_draft_gate());
    assert!(table(vec![plan.clone()], Some(Mode::Wait)).names_draft_gate());
    let draft = rule("draft.proposer == \"x\"", Mode::Wait);
    assert!(table(vec![plan, draft.clone()], None).names_draft_gate());
    let kinds: Vec<GateKind> = GateKind::ALL.iter().map(|(kind, _)| *kind).filter(|kind| draft.reaches(*kind)).collect();
    assert_eq!(kinds, [GateKind::Draft]);
}
