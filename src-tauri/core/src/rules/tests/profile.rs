use std::collections::BTreeMap;

use minijinja::context;

use super::{bundled, changed, only};
use crate::gate::{GateKind, GateStatus};
use crate::rules::fault::Fault;
use crate::rules::policy::Mode;
use crate::rules::profile::{Act, Category, Grant, KeyPart, Profile, Runner, StageSource, Step, WorkspaceRole};
use crate::rules::words::render_text;
use jiff::SignedDuration;

const GATES: &str = "gates.toml";
const REVIEW: &str = "workflows/review/workflow.toml";
const INTENT: &str = "intents/review/intent.toml";

fn load(files: &BTreeMap<String, String>) -> Profile {
    Profile::load(files).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

fn refused(path: &str, from: &str, to: &str) -> Vec<Fault> {
    Profile::load(&changed(path, from, to)).map(|_| panic!("loaded with `{to}`")).unwrap_err()
}

/// The fault of a workflow that is left out.
fn left_out(from: &str, to: &str) -> String {
    let profile = load(&changed(REVIEW, from, to));
    assert!(profile.workflows.is_empty(), "loaded with `{to}`");
    only(&profile.broken)
}

#[test]
fn the_bundled_gates_are_as_required() {
    // GATE-16, GATE-17, GATE-19, GATE-20, GATE-35, GATE-36
    let profile = load(&bundled());
    assert_eq!((profile.name.as_str(), profile.language.as_str(), profile.surfaces.len()), ("default", "en", 5));
    let found: Vec<_> = profile
        .gates
        .entries
        .iter()
        .map(|gate| {
            let intents = gate.intents.iter().map(|i| (i.name.as_str(), i.status, i.text.is_some())).collect::<Vec<_>>();
            (gate.name.as_str(), gate.kind, gate.default.as_deref(), intents)
        })
        .collect();
    use GateStatus::{Answered, Approved, Dismissed, Rejected};
    let expected = [
        ("draft", GateKind::Draft, Some("approve"), vec![("approve", Approved, false), ("discard", Rejected, false)]),
        (
            "plan",
            GateKind::Plan,
            Some("run_now"),
            vec![("skip", Rejected, false), ("run_now", Approved, false), ("guide", Approved, true)],
        ),
        ("question", GateKind::Question, None, vec![("answer", Answered, true), ("dismiss", Dismissed, false)]),
        ("permission", GateKind::Question, None, vec![("allow", Answered, false), ("refuse", Rejected, false)]),
        ("post", GateKind::Post, None, vec![("publish", Answered, false), ("reject", Rejected, false)]),
        ("proposal", GateKind::Proposal, Some("approve"), vec![("approve", Approved, false), ("reject", Rejected, false)]),
        ("trust", GateKind::Trust, None, vec![("trust_run", Approved, false), ("unblock", Dismissed, false)]),
        ("review-diff", GateKind::Step, Some("approve"), vec![("approve", Approved, false), ("dismiss", Dismissed, false)]),
    ];
    assert_eq!(found, expected);
    assert_eq!(profile.first_gate(GateKind::Question).name, "question");
    assert_eq!(profile.first_gate(GateKind::Step).name, "review-diff");
    let draft = profile.gate("draft").unwrap();
    let ends = [Approved, Rejected, GateStatus::Superseded].map(|status| draft.ends_task[&status]);
    assert_eq!(ends, [Category::Done, Category::Dropped, Category::Dropped]);
    let plan = profile.gate("plan").unwrap();
    let ends = [Approved, Rejected, Dismissed, GateStatus::Superseded].map(|status| plan.ends_task[&status]);
    assert_eq!(ends, [Category::Done, Category::Dropped, Category::Dropped, Category::Dropped]);
    assert_eq!((profile.gates.effects.len(), profile.gates.drafts.states.len()), (8, 6));
}

#[test]
fn the_bundled_workflow_is_as_required() {
    // WF-01, WF-02, PROF-01, STEP-08
    let profile = load(&bundled());
    assert_eq!(profile.broken, []);
    let review = &profile.workflows["review"];
    assert_eq!((review.provider.as_str(), review.mode, review.per_day), ("github", Act::Act, Some(30)));
    assert_eq!(review.key, [KeyPart::Provider("review".into())]);
    assert_eq!(review.trigger.on, ["sweep"]);
    let [Step::TurnStart { intent, stage: Some(StageSource::Expression(stage)), .. }] = review.steps.as_slice() else {
        panic!("{:?}", review.steps)
    };
    assert_eq!((intent.as_str(), stage.text()), ("review", " pr.first.due ? \"first\" : \"follow-up\""));
    assert_eq!(review.approval.rules[0].mode, Mode::Delay(SignedDuration::from_secs(60)));
    assert!(!review.approval.names_draft_gate());
}

#[test]
fn the_bundled_intent_is_as_required() {
    // INT-01, INT-02, INT-05, INT-07, INT-08
    let profile = load(&bundled());
    let review = &profile.intents["review"];
    assert_eq!(
        (review.runners.as_slice(), review.timeout),
        ([Runner::Headless, Runner::Session].as_slice(), SignedDuration::from_mins(45))
    );
    assert!(review.staged && !review.owner_only && !review.closes_when_done);
    assert_eq!(
        review.workspace.as_ref().map(|w| (w.role, w.name.as_str())),
        Some((WorkspaceRole::Review, "review {{ unit.label }}"))
    );
    assert_eq!(review.publish, ["review", "reply"]);
    assert_eq!(
        (review.permissions.edit, review.permissions.execute, review.permissions.other),
        (Grant::Refuse, Grant::Refuse, Grant::Ask)
    );
    assert_eq!(review.on_record, ["pr.reviewed"]);
    assert_eq!((review.headlines.len(), review.also.len()), (2, 2));
    assert!(review.record_schema["properties"]["verdict"].is_object());
    assert_eq!(review.version.len(), 64);
}

#[test]
fn the_version_follows_the_intents_files() {
    // INT-13
    let version = |files: &BTreeMap<String, String>| load(files).intents["review"].version.clone();
    let first = version(&bundled());
    assert_eq!(first, version(&bundled()));
    assert_eq!(first, version(&changed("profile.toml", "billing", "payments")));
    for path in ["intents/review/prompt.md.tmpl", "intents/review/record.schema.json", "procedures/forks.md", INTENT] {
        let mut files = bundled();
        files.get_mut(path).unwrap().push('\n');
        assert_ne!(first, version(&files), "{path}");
    }
}

#[test]
fn a_gate_that_cannot_be_is_refused() {
    // GATE-02, GATE-16, GATE-18, GATE-19
    for (from, to, expected) in [
        ("kind = \"trust\"", "kind = \"truts\"", "unknown value `truts`; did you mean `trust`?"),
        ("label = \"A round is planned\"", "", "`label` is missing"),
        ("status = \"dismissed\"", "status = \"superseded\"", "unknown value `superseded`"),
        ("status = \"dismissed\"", "status = \"open\"", "unknown value `open`"),
        ("status = \"answered\"", "status = \"done\"", "unknown value `done`"),
        ("default = \"run_now\"", "default = \"guide\"", "`guide` does not approve without a text"),
        ("default = \"run_now\"", "default = \"skip\"", "`skip` does not approve"),
        ("default = \"run_now\"", "default = \"run\"", "unknown value `run`"),
        ("approved = \"done\", rejected", "aproved = \"done\", rejected", "unknown key `aproved`; did you mean `approved`?"),
        ("name = \"permission\"", "name = \"question\"", "`question` is declared twice"),
        (
            "{ name = \"publish\", label = \"Publish\", status = \"answered\" }",
            "{ name = \"publish\", label = \"Publish\", status = \"approved\" }",
            "`publish` of a post gate is `approved`; `publish` is `answered`",
        ),
        (
            "{ name = \"reject\", label = \"Keep it back\", status = \"rejected\" }",
            "{ name = \"reject\", label = \"Keep it back\", status = \"answered\" }",
            "`reject` of a post gate is `answered`",
        ),
        ("pr.changed_files", "pr.changed_file", "did you mean `pr.changed_files`?"),
        ("by_hand = ", "by_hnd = ", "did you mean `by_hand`?"),
    ] {
        let shown = refused(GATES, from, to)[0].to_string();
        assert!(shown.starts_with("gates.toml:") && shown.contains(expected), "{to}: {shown}");
    }
    let place = refused(GATES, "kind = \"trust\"", "kind = \"truts\"");
    let line = bundled()[GATES].lines().position(|line| line == "kind = \"trust\"").unwrap() + 1;
    assert_eq!((place[0].at, place[0].key.as_str()), (Some((line, 8)), "gate[6].kind"));
}

#[test]
fn each_kind_needs_a_gate() {
    // GATE-21
    let missing = |kind: &str| only(&refused(GATES, &format!("kind = \"{kind}\""), "kind = \"plan\""));
    for kind in ["draft", "question", "post", "proposal", "trust", "step"] {
        assert!(missing(kind).contains(&format!("no gate of the kind `{kind}`")), "{kind}");
    }
    let none = refused(GATES, "kind = \"plan\"", "kind = \"step\"");
    assert!(only(&none).contains("no gate of the kind `plan`"));
}

#[test]
fn a_rule_that_cannot_be_is_refused() {
    // APPR-07, APPR-12, APPR-38, APPR-41
    for (when, mode, expected) in [
        ("gate.kind == \"plan\"", "mode = \"dry_run\"", "`dry_run` is for draft gates"),
        ("gate.kind == \"plan\"", "mode = \"go\"", "unknown value `go`"),
        ("gate.kind == \"plan\"", "mode = \"delay\"", "`delay` needs a window"),
        ("gate.kind == \"plan\"", "mode = \"run\"\nwindow = \"1m\"", "a window is only for the mode `delay`"),
        ("gate.kind == \"plan\"", "", "the rule has no `mode`"),
        ("gate.kind == \"plam\"", "mode = \"run\"", "no kind of gate is reached"),
        ("gate.knd == \"plan\"", "mode = \"run\"", "unknown fact `gate.knd`; did you mean `gate.kind`?"),
        ("gate.kind == \"plan\" && pr.first.due", "mode = \"run\"", "a rule that releases reads `pr.first.due`"),
        ("pr.first.due", "mode = \"wait\"", "a rule that reaches draft gates reads `pr.first.due`"),
        ("row.open", "mode = \"wait\"", "`row.open` cannot be read"),
    ] {
        let files = changed(GATES, "when = 'gate.kind == \"plan\"'\nmode = \"run\"", &format!("when = '{when}'\n{mode}"));
        let shown = Profile::load(&files).map(|_| panic!("loaded: {when} {mode}")).unwrap_err()[0].to_string();
        assert!(shown.contains(expected), "{when} {mode}: {shown}");
    }
    // APPR-13, APPR-42
    for (when, mode) in [("pr.mine", "dry_run"), ("gate.kind == \"plan\" && pr.first.due", "wait")] {
        load(&changed(GATES, "when = 'gate.kind == \"plan\"'\nmode = \"run\"", &format!("when = '{when}'\nmode = \"{mode}\"")));
    }
}

#[test]
fn a_workflow_that_fails_is_left_out_and_the_others_go_on() {
    // WF-11, GATE-22, STEP-17, PROF-02, CEL-02
    for (from, to, expected) in [
        ("!pr.held'", "!pr.hold'", "unknown fact `pr.hold`; did you mean `pr.held`?"),
        ("use = \"turn.start\"", "use = \"gate.open\"", "`step[0].use`: unknown value `gate.open`"),
        ("intent = \"review\"", "intent = \"reveiw\"", "unknown value `reveiw`; did you mean `review`?"),
        ("intent = \"review\"", "intent = \"review\"\nforce = true", "unknown key `force`"),
        ("? \"first\" : \"follow-up\"", "? 1 : 2", "the expression is an int; expected a string"),
        ("[\"@review\"]", "[\"@revew\"]", "unknown value `@revew`; did you mean `@review`?"),
        ("[\"@review\"]", "[\"pr.labels\"]", "`pr.labels` is a list"),
        ("[\"sweep\"]", "[\"swep\"]", "unknown value `swep`; did you mean `sweep`?"),
        ("provider = \"github\"", "provider = \"gitlab\"", "unknown value `gitlab`"),
        ("summary = ", "sumary = ", "`summary` is missing"),
        ("mode = \"act\"", "mode = \"dry\"", "unknown value `dry`"),
        ("per_day = 30", "per_day = -1", "`limits.per_day`"),
        ("Facts[\"pr.first.reason\"]", "Facts[\"pr.first.why\"]", "`pr.first.why` is an unknown fact"),
        ("window = \"60s\"", "", "`delay` needs a window"),
    ] {
        let profile = load(&changed(REVIEW, from, to));
        assert!(profile.workflows.is_empty() && profile.gates.entries.len() == 8, "loaded with `{to}`");
        let shown = profile.broken[0].to_string();
        assert!(shown.starts_with(REVIEW) && shown.contains(expected), "{to}: {shown}");
    }
    let place = left_out("!pr.held'", "!pr.hold'");
    let line = bundled()[REVIEW].lines().position(|line| line.starts_with("when = ")).unwrap() + 1;
    assert!(place.starts_with(&format!("{REVIEW}:{line}:63: `when`: at character 55 ")), "{place}");

    let mut files = bundled();
    let copy = files[REVIEW].clone();
    files.insert("workflows/second/workflow.toml".to_owned(), copy.replace("!pr.held", "!pr.hold"));
    let profile = load(&files);
    assert_eq!(profile.workflows.keys().collect::<Vec<_>>(), ["review"]);
    assert_eq!(profile.broken[0].file, "workflows/second/workflow.toml");
}

#[test]
fn an_intent_that_cannot_be_is_refused() {
    // INT-01, INT-11
    for (from, to, expected) in [
        ("runners = [\"headless\", \"session\"]", "runners = [\"headles\"]", "unknown value `headles`; did you mean `headless`?"),
        ("serves = [\"github\"]", "serves = []", "`serves` names no provider"),
        ("shapes = [\"review\", \"reply\"]", "shapes = [\"revew\"]", "unknown value `revew`"),
        ("dims = [\"stage\"]", "", "`turn.stage` is read and the intent has no stages"),
        ("edit = \"refuse\"", "edit = \"never\"", "unknown value `never`"),
        ("on_record = [\"pr.reviewed\"]", "on_record = [\"pr.review\"]", "unknown value `pr.review`"),
        ("file = \"forks.md\"", "file = \"fork.md\"", "`procedures/fork.md`: the file is missing"),
        ("schema = \"record.schema.json\"", "schema = \"record.json\"", "the file is missing"),
        ("summary = ", "sumary = ", "`summary` is missing"),
        ("'pr.cross_repository'", "'pr.cross'", "unknown fact `pr.cross`"),
        ("'row.open && !row.yours'", "'row.opn'", "unknown fact `row.opn`; did you mean `row.open`?"),
        ("type = \"text\"", "type = \"date\"", "unknown value `date`"),
        ("timeout = \"45m\"", "timeout = \"45\"", "`45` is no length of time"),
        ("{{ unit.label }}", "{{ unit.lable }}", "did you mean `unit.label`?"),
        ("[effects]", "[efects]", "unknown key `efects`; did you mean `effects`?"),
    ] {
        let faults = refused(INTENT, from, to);
        let shown = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(shown.starts_with(INTENT) && shown.contains(expected), "{to}: {shown}");
    }
    let prompt = refused("intents/review/prompt.md.tmpl", "{%- endfor %}", "");
    assert!(only(&prompt).contains("prompt.md.tmpl"), "{prompt:#?}");
    let schema = refused(
        "intents/review/record.schema.json",
        "\"type\": \"object\",\n  \"required\": [\"verdict\"",
        "\"required\": [\"verdict\"",
    );
    assert!(only(&schema).contains("not of the type object"), "{schema:#?}");
}

#[test]
fn every_fault_of_every_file_is_told_at_once() {
    // PROF-05
    let mut files = changed(GATES, "kind = \"trust\"", "kind = \"truts\"");
    files.insert("profile.toml".to_owned(), "nme = \"x\"".to_owned());
    files.remove("intents/review/prompt.md.tmpl");
    let faults = Profile::load(&files).unwrap_err();
    let places: Vec<&str> = faults.iter().map(|fault| fault.file.as_str()).collect();
    assert_eq!(places, ["profile.toml", "profile.toml", GATES, INTENT], "{faults:#?}");
    assert!(Profile::load(&BTreeMap::new()).is_err());
}

fn prompt(stage: &str, own: bool, automated: &[&'static str], guidance: &str) -> String {
    let profile = load(&bundled());
    let context = context! {
        Unit => context! { slug => "acme/api#12", repo => "acme/api", number => 12, viewer => "sam" },
        Turn => context! {
            stage => stage, head => "c0ffee", base => "main", merge_base => "beef", covered => Vec::<String>::new(),
            since => "abad1dea", own => own, runner => "headless", try => false,
        },
        Inputs => context! {},
        Guidance => guidance,
        Profile => context! { surfaces => profile.surfaces, automated => automated.to_vec(), also => vec![profile.intents["review"].also[0].0.clone()] },
        Material => context! { description => "DESCRIPTION {{ 7 * 7 }}", threads => "THREADS", request => "REQUEST" },
    };
    render_text(&profile.intents["review"].prompt, context).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn the_rendered_prompt_holds_each_stop_condition() {
    // AMB-01, AMB-02, AMB-03, AMB-04, AMB-05, AMB-06, AMB-07, AMB-08
    let shown = prompt("first", false, &["lint-bot", "style-bot"], "");
    let line = |word: &str| shown.lines().find(|line| line.contains(&format!("**{word}**"))).unwrap_or_default().to_owned();
    assert!(shown.contains("Publish on your own, without asking, unless one of the four conditions"), "{shown}");
    let unsure = line("unsure");
    assert!(unsure.contains("whether a finding is blocking") && unsure.contains("what the author intends"), "{unsure}");
    let surfaces = line("risky_surface");
    for surface in ["schema migrations", "data deletion", "authentication and authorisation", "billing", "infrastructure"] {
        assert!(surfaces.contains(surface), "{surface}: {surfaces}");
    }
    assert!(surfaces.contains("you would approve"), "{surfaces}");
    assert!(line("security").contains("claims a security problem"));
    let human = line("contradicts_human");
    assert!(human.contains("another human reviewer") && human.contains("Bots do not count"), "{human}");
    assert!(human.contains("neither do lint-bot, style-bot"), "{human}");
    assert!(!prompt("first", false, &[], "").contains("neither do"));
    for tool in ["`github_post`", "`task_read`", "`record`", "`asked`", "`draft`"] {
        assert!(shown.contains(tool), "{tool}");
    }
    for condition in ["unsure", "risky_surface", "security", "contradicts_human"] {
        assert!(bundled()["intents/review/record.schema.json"].contains(&format!("\"{condition}\"")), "{condition}");
    }
}

#[test]
fn the_prompt_tells_what_the_round_is() {
    // INT-09, INT-10
    let first = prompt("first", false, &[], "");
    assert!(first.contains("DESCRIPTION {{ 7 * 7 }}") && first.contains("THREADS") && first.contains("REQUEST"), "{first}");
    assert!(!first.contains("follow-up") && !first.contains("COMMENT") && first.contains("comes from a fork"), "{first}");
    let again = prompt("follow-up", true, &[], "mind the lock");
    assert!(again.contains("covered abad1dea") && again.contains("event of the review is COMMENT"), "{again}");
    assert!(again.contains("mind the lock"));
}
