//! Every cell of gate kind × origin × delivery × mode × form × place against an oracle that was written from the requirements alone.

use super::{now, text};
use crate::draft::{Delivery, Proposer};
use crate::gate::GateKind;
use crate::rules::policy::{
    ApprovalOverlay, ApprovalTable, Asked, DraftAsked, Mode, ModeWord, Origin, Rule, decide, decide_draft,
};
use crate::rules::predicate::Predicate;
use crate::rules::registry::{Provider, Scope};
use crate::rules::value::Frame;
use jiff::SignedDuration;

const MINUTE: SignedDuration = SignedDuration::from_secs(60);
const MODES: [Mode; 5] = [Mode::Wait, Mode::Delay(MINUTE), Mode::Send, Mode::Run, Mode::DryRun];

/// How the one thing that decides is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    TablesMode,
    CatchAll,
    Named,
    Turned,
    Among,
    Either,
    Denied,
}

const FORMS: [Form; 7] = [Form::TablesMode, Form::CatchAll, Form::Named, Form::Turned, Form::Among, Form::Either, Form::Denied];

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Gates,
    Intent,
    Workflow,
    Configuration,
}

const PLACES: [Place; 4] = [Place::Gates, Place::Intent, Place::Workflow, Place::Configuration];

/// Whence the draft comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Person,
    SessionAlone,
    TurnByHand,
    TurnOfWorkflow,
    TurnOfWorkflowOnDrafts,
    Workflow,
    WorkflowOnDrafts,
    Plugin,
}

const FROMS: [From; 8] = [
    From::Person,
    From::SessionAlone,
    From::TurnByHand,
    From::TurnOfWorkflow,
    From::TurnOfWorkflowOnDrafts,
    From::Workflow,
    From::WorkflowOnDrafts,
    From::Plugin,
];

/// One cell.
#[derive(Debug, Clone, Copy)]
struct Cell {
    from: From,
    elsewhere: bool,
    delivery: Delivery,
    mode: Mode,
    form: Form,
    place: Place,
}

/// What the requirements say, by tables of yes and no.
fn should_be(cell: Cell) -> &'static str {
    let is_asked = match (cell.from, cell.place) {
        // APPR-25, APPR-58
        (From::Person | From::SessionAlone, _) => false,
        // What nothing else decides falls to the default (APPR-01).
        (_, Place::Gates) => true,
        // APPR-21, APPR-35
        (From::TurnByHand | From::TurnOfWorkflow, Place::Intent) => true,
        // APPR-20, APPR-23, APPR-24
        (From::TurnOfWorkflowOnDrafts | From::Workflow | From::WorkflowOnDrafts | From::Plugin, Place::Intent) => false,
        // A turn that a person began has no workflow behind it.
        (From::TurnByHand | From::Plugin, Place::Workflow) => false,
        // With what the cell puts into it, such a table names a draft gate (APPR-20).
        (From::TurnOfWorkflow | From::TurnOfWorkflowOnDrafts | From::Workflow | From::WorkflowOnDrafts, Place::Workflow) => true,
        // APPR-46 to APPR-48, APPR-24
        (From::TurnByHand, Place::Configuration) => false,
        (_, Place::Configuration) => true,
    };
    let word = match (is_asked, cell.mode) {
        (false, _) | (true, Mode::Wait) => return "wait",
        // APPR-57: also on a unit that is not the turn's.
        (true, Mode::DryRun) => return "dry_run",
        (true, Mode::Delay(_)) => "delay",
        (true, Mode::Send) => "send",
        (true, Mode::Run) => "run",
    };
    let by_a_turn = matches!(cell.from, From::TurnByHand | From::TurnOfWorkflow | From::TurnOfWorkflowOnDrafts);
    if cell.elsewhere && by_a_turn {
        return "wait";
    }
    // APPR-54, APPR-55, APPR-56
    let others_see_it = !matches!(cell.delivery, Delivery::Reaction);
    let says_so = matches!(cell.form, Form::Named | Form::Turned);
    if others_see_it && !says_so { "wait" } else { word }
}

fn written(cell: Cell) -> String {
    let word = cell.delivery.as_str();
    match cell.form {
        Form::TablesMode | Form::CatchAll => "true".to_owned(),
        Form::Named => format!("gate.kind == \"draft\" && (draft.delivery == \"{word}\")"),
        Form::Turned => format!("\"{word}\" == draft.delivery"),
        Form::Among => format!("draft.delivery in [\"{word}\"]"),
        Form::Either => format!("draft.delivery == \"{word}\" || gate.name == \"draft\""),
        Form::Denied => format!("!(draft.delivery != \"{word}\")"),
    }
}

fn rule(table: &str, when: &str, mode: Mode) -> Rule {
    Rule { table: table.to_owned(), when: Predicate::parse_in(when, Scope::Rule(None)).unwrap(), mode }
}

fn table(name: &str, cell: Cell, here: Place) -> ApprovalTable {
    let mut table = ApprovalTable::empty(name);
    if cell.place != here {
        return table;
    }
    if cell.form == Form::TablesMode {
        table.mode = Some(cell.mode);
    } else {
        table.rules.push(rule(name, &written(cell), cell.mode));
    }
    table
}

fn configured(cell: Cell) -> Option<ApprovalOverlay> {
    let name = "config.toml".to_owned();
    match (cell.place, cell.form) {
        (Place::Configuration, Form::TablesMode) => {
            Some(ApprovalOverlay { name, mode: ModeWord::parse(cell.mode.as_str()), window: cell.mode.window(), rules: None })
        }
        (Place::Configuration, _) => {
            let rules = Some(vec![rule("config.toml", &written(cell), cell.mode)]);
            Some(ApprovalOverlay { name, rules, ..ApprovalOverlay::default() })
        }
        (Place::Gates | Place::Intent | Place::Workflow, _) => None,
    }
}

fn is(cell: Cell) -> &'static str {
    let (mut gates, intent) = (table("gates.toml", cell, Place::Gates), table("intents/x", cell, Place::Intent));
    if gates.mode.is_none() {
        gates.mode = Some(Mode::Wait);
    }
    let mut workflow = table("workflows/x", cell, Place::Workflow);
    if matches!(cell.from, From::TurnOfWorkflowOnDrafts | From::WorkflowOnDrafts) {
        workflow.rules.insert(0, rule("workflows/x", "draft.delivery == \"none\"", Mode::Wait));
    }
    let over = configured(cell);
    let elsewhere = cell.elsewhere;
    let (origin, proposer) = match cell.from {
        From::Person => (Origin::Person, Proposer::Person),
        From::SessionAlone => (Origin::Session, Proposer::Intent(String::new())),
        From::TurnByHand => (Origin::Turn { workflow: None, intent: &intent, elsewhere }, Proposer::Intent("x".into())),
        From::TurnOfWorkflow | From::TurnOfWorkflowOnDrafts => {
            let workflow = Some((&workflow, over.as_ref()));
            (Origin::Turn { workflow, intent: &intent, elsewhere }, Proposer::Intent("x".into()))
        }
        From::Workflow | From::WorkflowOnDrafts => {
            (Origin::Workflow { table: &workflow, overlay: over.as_ref() }, Proposer::Workflow("x".into()))
        }
        From::Plugin => (Origin::Plugin { overlay: over.as_ref() }, Proposer::Rule("github.nudge".into())),
    };
    let asked = DraftAsked {
        name: "draft",
        provider: Provider::Github,
        delivery: cell.delivery,
        posts: crate::draft::posts(cell.delivery),
        proposer: &proposer,
        purpose: "",
        effects: &[],
        facts: &Frame::new(),
        unreadable: None,
    };
    decide_draft(&asked, origin, &gates, now()).mode.as_str()
}

#[test]
fn every_cell_of_a_drafts_policy_is_as_required() {
    // APPR-20, APPR-21, APPR-22, APPR-23, APPR-24, APPR-25, APPR-46, APPR-47, APPR-48, APPR-54, APPR-55, APPR-56, APPR-57, APPR-58
    let mut cells = 0;
    for from in FROMS {
        for elsewhere in [false, true] {
            for delivery in [Delivery::Comment, Delivery::Message, Delivery::Reaction] {
                for mode in MODES {
                    for form in FORMS {
                        for place in PLACES {
                            let cell = Cell { from, elsewhere, delivery, mode, form, place };
                            assert_eq!(is(cell), should_be(cell), "{cell:?}");
                            cells += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(cells, 8 * 2 * 3 * 5 * 7 * 4);
}

#[test]
fn every_cell_of_the_other_kinds_is_as_required() {
    // APPR-10, APPR-12, APPR-13, APPR-15, APPR-16, GATE-54
    for (kind, word) in GateKind::ALL {
        if kind == GateKind::Draft {
            continue;
        }
        for mode in MODES {
            for (when, is_for_it) in [
                (None, true),
                (Some("true".to_owned()), true),
                (Some(format!("gate.kind == \"{word}\"")), true),
                (Some("gate.kind != \"draft\"".to_owned()), true),
                (Some("gate.kind == \"draft\"".to_owned()), false),
                (Some("draft.delivery == \"\"".to_owned()), false),
            ] {
                let mut table = ApprovalTable::empty("t");
                match &when {
                    Some(when) => table.rules.push(rule("t", when, mode)),
                    None => table.mode = Some(mode),
                }
                let asked = Asked { kind, name: word, provider: Provider::Github, facts: &Frame::new(), unreadable: None };
                let found = decide(&asked, &[&table], now()).mode.as_str();
                // Only these can be let go without the person.
                let lets_go = matches!(kind, GateKind::Plan | GateKind::Proposal | GateKind::Step);
                let expected = match mode {
                    Mode::Delay(_) | Mode::Send | Mode::Run if is_for_it && lets_go => mode.as_str(),
                    Mode::Wait | Mode::Delay(_) | Mode::Send | Mode::Run | Mode::DryRun => "wait",
                };
                assert_eq!(found, expected, "{kind:?} {mode:?} {when:?}");
            }
        }
    }
}

#[test]
fn a_rule_sees_what_the_loop_named_and_not_what_an_agent_did() {
    // APPR-28, APPR-31, APPR-32, APPR-37
    let facts = super::frame([("pr.author", text("ana"))]);
    let effects = ["pr.nudged".to_owned()];
    let holds = |proposer: &Proposer, when: &str| {
        let mut gates = ApprovalTable::empty("gates.toml");
        gates.rules.push(rule("gates.toml", when, Mode::DryRun));
        let empty = ApprovalTable::empty("none");
        let asked = DraftAsked {
            name: "draft",
            provider: Provider::Github,
            delivery: Delivery::Comment,
            posts: true,
            proposer,
            purpose: "nudge",
            effects: &effects,
            facts: &facts,
            unreadable: None,
        };
        let origin = match proposer {
            Proposer::Workflow(_) => Origin::Workflow { table: &empty, overlay: None },
            Proposer::Rule(_) => Origin::Plugin { overlay: None },
            Proposer::Person | Proposer::Intent(_) => Origin::Turn { workflow: None, intent: &empty, elsewhere: false },
        };
        decide_draft(&asked, origin, &gates, now()).mode == Mode::DryRun
    };
    let (agent, flow, plugin) =
        (Proposer::Intent("review".into()), Proposer::Workflow("nag".into()), Proposer::Rule("github.nudge".into()));
    for (proposer, name) in [(&agent, "intent:review"), (&flow, "workflow:nag"), (&plugin, "rule:github.nudge")] {
        assert!(holds(proposer, &format!("draft.proposer == \"{name}\"")), "{name}");
        assert!(holds(proposer, "draft.delivery == \"comment\" && pr.author == \"ana\" && pr.base == \"\""), "{name}");
    }
    let named = "draft.purpose == \"nudge\" && \"pr.nudged\" in draft.effects";
    assert!(holds(&flow, named) && holds(&plugin, named));
    assert!(!holds(&agent, named) && holds(&agent, "draft.purpose == \"\" && draft.effects == []"));
}
