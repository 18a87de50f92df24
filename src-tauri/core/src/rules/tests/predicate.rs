use super::{frame, now, text};
use crate::gate::GateKind;
use crate::rules::predicate::{EvalFault, Expression, Predicate};
use crate::rules::registry::{FactType, KNOWN, Provider, Scope};
use crate::rules::value::{Frame, Mark, Value};
use jiff::SignedDuration;

fn refusal(expression: &str) -> String {
    Predicate::parse(expression).map(|p| format!("loaded: {}", p.text())).unwrap_err().to_string()
}

fn holds(expression: &str, facts: &Frame) -> bool {
    Predicate::parse(expression).unwrap_or_else(|why| panic!("{expression}: {why}")).holds(facts, now()).unwrap()
}

#[test]
fn a_condition_is_a_bool_and_reads_what_it_names() {
    // CEL-01
    for (wrong, what) in
        [("pr.changed_files", "an int"), ("pr.slug", "a string"), ("[true]", "a list of bool"), ("now", "a timestamp")]
    {
        assert!(refusal(wrong).contains(&format!("the expression is {what}")), "{wrong}");
    }
    let bundled = Predicate::parse(r#"(pr.first.due || pr.review.action == "follow-up") && !pr.held"#).unwrap();
    let reads: Vec<&str> = bundled.reads().iter().map(String::as_str).collect();
    assert_eq!(reads, ["pr.first.due", "pr.held", "pr.review.action"]);
    let due = frame([("pr.first.due", Value::Bool(true))]);
    assert_eq!(bundled.holds(&due, now()), Ok(true));
    let held = frame([("pr.first.due", Value::Bool(true)), ("pr.held", Value::Bool(true))]);
    assert_eq!(bundled.holds(&held, now()), Ok(false));
    let follow = frame([("pr.review.action", text("follow-up"))]);
    assert_eq!(bundled.holds(&follow, now()), Ok(true));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    // CEL-02
    for (wrong, expected) in [
        ("pr.hold", "at character 1: unknown fact `pr.hold`; did you mean `pr.held`?"),
        ("pr.held && pr.hold", "at character 12: unknown fact `pr.hold`; did you mean `pr.held`?"),
        ("pr.slug == \"\u{e4}\u{f6}\" || pr.hold", "at character 20: unknown fact `pr.hold`"),
        ("true ||\npr.hold", "at character 9: unknown fact `pr.hold`"),
        ("pr.held && )", "at character 12"),
        ("pr.held &&\n ) ", "at character 13"),
        ("pr.slug == \"\u{e4}\u{f6}\" && )", "at character 20"),
        ("pr.slug == 3", "at character 9: no operator string == int"),
        ("pr.held && pr.slug", "no operator bool && string"),
        ("size(pr.changed_files) > 1", "`size` of an int; expected a string or a list"),
        ("pr.slug.startWith(\"a\")", "unknown function `startWith`; did you mean `startsWith`?"),
        ("pr.first", "`pr.first` alone is no fact; name one, such as `pr.first.due`"),
        ("pr[pr.slug] == \"\"", "`pr` with a computed key"),
        ("pr.labels == [1]", "no operator list of string == list of int"),
        ("pr.slug.matches(\"(?=a)\")", "the pattern cannot be used"),
        ("pr.slug.matches(pr.base)", "`matches` with a computed pattern"),
        ("pr.age > duration(\"2 days\")", "`2 days` is no duration"),
        ("pr.changed_files > 1.5", "only whole numbers"),
        ("pr.held &&", "at character"),
        ("", "the expression is empty"),
    ] {
        let shown = refusal(wrong);
        assert!(shown.contains(expected), "{wrong}: {shown}");
    }
    let elsewhere = Predicate::parse_in("row.open", Scope::Workflow(Provider::Github)).unwrap_err();
    assert!(elsewhere.what.contains("cannot be read in a workflow"), "{elsewhere}");
}

#[test]
fn a_hidden_name_is_a_read() {
    // CEL-02
    for hidden in ["pr[\"held\"]", "has(pr.held)", "pr.labels.exists(x, pr.held)"] {
        assert!(Predicate::parse(hidden).unwrap().reads().contains("pr.held"), "{hidden}");
    }
}

#[test]
fn the_language_works() {
    // CEL-03
    let facts = frame([
        ("pr.labels", Value::List(vec!["bug".into(), "api".into()])),
        ("pr.changed_files", Value::Int(7)),
        ("pr.slug", text("acme/api#12")),
        ("pr.age", Value::Duration(SignedDuration::from_hours(30))),
        ("pr.closed_at", Value::Time("2026-11-30T08:00:00Z".parse().unwrap())),
    ]);
    for (expression, expected) in [
        ("\"bug\" in pr.labels && !(\"x\" in pr.labels)", true),
        ("pr.labels.exists(l, l.startsWith(\"a\"))", true),
        ("pr.labels.all(l, size(l) == 3)", true),
        ("pr.labels.exists_one(l, l == \"bug\")", true),
        ("pr.labels.filter(l, l != \"bug\") == [\"api\"]", true),
        ("pr.labels.map(l, size(l)) == [3, 3]", true),
        ("size(pr.labels.map(l, l != \"bug\", l + \"!\")) == 1", true),
        ("pr.changed_files * 2 - 1 == 13 && pr.changed_files % 4 == 3 && pr.changed_files / 2 == 3", true),
        ("-pr.changed_files < 0 && pr.changed_files >= 7 && pr.changed_files <= 7", true),
        ("pr.slug.contains(\"/\") && pr.slug.endsWith(\"12\") && pr.slug.matches(\"^acme/[a-z]+#[0-9]+$\")", true),
        ("pr.age > duration(\"24h\") && pr.age == duration(\"1h\") + duration(\"29h\")", true),
        ("now - pr.closed_at == duration(\"60m\") && pr.closed_at + duration(\"2h\") > now", true),
        ("timestamp(0) < timestamp(\"2020-01-01T00:00:00Z\")", true),
        ("(pr.held ? \"a\" : \"b\") == \"b\"", true),
        ("pr.labels[1] == \"api\" && pr.labels + [\"x\"] != pr.labels", true),
        ("pr.held", false),
    ] {
        assert_eq!(holds(expression, &facts), expected, "{expression}");
    }
}

#[test]
fn a_missing_value_is_its_types_zero() {
    // FACT-05
    let zero = "!pr.held && pr.slug == \"\" && pr.changed_files == 0 && pr.labels == [] && pr.age == duration(\"0s\") && \
                pr.merged_at == timestamp(0)";
    assert!(holds(zero, &Frame::new()));
}

#[test]
fn a_deciding_side_wins_over_a_failing_one() {
    // CEL-01, CEL-07
    let fails = "1 / pr.changed_files == 1";
    let facts = Frame::new();
    assert!(!holds(&format!("{fails} && pr.held"), &facts));
    assert!(holds(&format!("{fails} || !pr.held"), &facts));
    let failing = Predicate::parse(&format!("{fails} && !pr.held")).unwrap();
    assert_eq!(failing.holds(&facts, now()), Err(EvalFault::DivisionByZero));
}

#[test]
fn bounds_hold_before_anything_recurses() {
    // CEL-06
    let deep = |n: usize| format!("{}pr.held{}", "(".repeat(n), ")".repeat(n));
    assert!(Predicate::parse(&deep(20)).is_ok());
    for hostile in [
        deep(25),
        deep(10_000),
        format!("{}pr.held", "!".repeat(17)),
        format!("pr.changed_files{} == 0", " + 1".repeat(10_000)),
        format!("pr.changed_files{} == 0", " + 1".repeat(390)),
        format!("pr.labels{} == \"\"", "[0]".repeat(390)),
        format!("pr.slug == \"{}\"", "x".repeat(9_000)),
        format!("// it's\n{}", deep(200)),
        format!("pr.slug == r'\\' || {}", deep(200)),
        format!("pr.slug == \"\"\"a\"b\"\"\" || {}", deep(200)),
        "pr.labels.all(a, pr.labels.all(b, pr.labels.all(c, a == c)))".to_owned(),
        "pr.changed_files == 9223372036854775807 + 1".to_owned(),
        "pr.changed_files == 9223372036854775808".to_owned(),
        "pr.changed_files / 0 == 1".to_owned(),
        "pr.slug.matches(\"(a{1000}){1000}\")".to_owned(),
        "pr.age > duration(\"922337203912233720368547758076s\")".to_owned(),
        "'".to_owned(),
        "\"\\".to_owned(),
        "pr.held ? ".repeat(60),
    ] {
        let shown = refusal(&hostile);
        assert!(!shown.is_empty() && !shown.starts_with("loaded"), "{shown}");
    }
    // What only its values make impossible is a failed evaluation.
    let facts = frame([
        ("pr.changed_files", Value::Int(i64::MAX)),
        ("pr.labels", Value::List(vec!["x".to_owned(); 2_000])),
        ("pr.closed_at", Value::Time(jiff::Timestamp::MAX)),
        ("pr.age", Value::Duration(SignedDuration::MAX)),
    ]);
    for (expression, fault) in [
        ("pr.changed_files + 1 > 0", EvalFault::Overflow("+")),
        ("pr.labels[5000] == \"\"", EvalFault::NoSuchPlace(5000)),
        ("pr.closed_at + pr.age > now", EvalFault::Overflow("+")),
        ("pr.labels.all(a, pr.labels.all(b, a == b))", EvalFault::TooMuchWork),
    ] {
        assert_eq!(Predicate::parse(expression).unwrap().holds(&facts, now()), Err(fault), "{expression}");
    }
    let mistyped = frame([("pr.held", text("yes"))]);
    assert!(matches!(Predicate::parse("pr.held").unwrap().holds(&mistyped, now()), Err(EvalFault::WrongType { .. })));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_text_makes_it_panic(text in "[a-z0-9.\"'()!&|=+<>?: \\[\\]{}\\\\/-]{0,80}") {
        // CEL-06
        if let Ok(predicate) = Predicate::parse(&text) {
            let _outcome = predicate.holds(&Frame::new(), now());
        }
    }
}

#[test]
fn kinds_are_pinned_by_terms_over_the_kind_alone() {
    // APPR-14, APPR-16
    let reached = |text: &str| -> Vec<&str> {
        let predicate = Predicate::parse(text).unwrap();
        GateKind::ALL.iter().filter(|(kind, _)| predicate.reaches(*kind)).map(|(_, word)| *word).collect()
    };
    let all: Vec<&str> = GateKind::ALL.iter().map(|(_, word)| *word).collect();
    assert_eq!(reached("gate.kind == \"plan\""), ["plan"]);
    assert_eq!(reached("(pr.mine && (gate.kind in [\"plan\", \"step\"])) && !pr.draft"), ["plan", "step"]);
    assert_eq!(reached("gate.kind != \"draft\" && pr.mine").len(), 6);
    assert_eq!(reached("pr.mine"), all);
    assert_eq!(reached("gate.kind == \"plan\" || pr.mine"), all);
}

#[test]
fn an_expression_has_its_facts_type() {
    // PROF-01, PROF-02
    let stage = Expression::parse_in(" pr.first.due ? \"first\" : \"follow-up\"", Scope::Workflow(Provider::Github)).unwrap();
    assert_eq!(stage.kind(), FactType::Text);
    assert_eq!(stage.evaluate(&Frame::new(), now()), Ok(text("follow-up")));
    assert_eq!(stage.evaluate(&frame([("pr.first.due", Value::Bool(true))]), now()), Ok(text("first")));
    assert!(Expression::parse("[1, 2]").is_err());
}

#[test]
fn the_registry_is_sorted_and_spelt_as_the_requirements() {
    // FACT-08
    assert!(KNOWN.is_sorted_by(|a, b| a.name < b.name));
    for (name, kind) in [("pr.repo", FactType::Text), ("pr.repo_name", FactType::Text), ("pr.slug", FactType::Text)] {
        assert_eq!(crate::rules::registry::known(name).map(|row| row.kind), Some(kind), "{name}");
    }
}

#[test]
fn the_parsers_own_evaluation_agrees() {
    // CEL-03
    for expression in [
        "1 + 2 * 3 == 7",
        "7 / -2 == -3 && 7 % -2 == 1 && -7 % 2 == -1",
        "!(true && false) || false",
        "\"b\" in [\"a\", \"b\"] && !(3 in [1, 2])",
        "[1, 2] + [3] == [1, 2, 3] && [1, 2][1] == 2",
        "size(\"h\u{e9}llo\") == 5 && size([1, 2]) == 2 && \"abc\".size() == 3",
        "[1, 2, 3].exists(x, x > 2) && [1, 2, 3].all(x, x < 4) && [1, 2, 3].exists_one(x, x == 2)",
        "![1, 1].exists_one(x, x == 1) && ![].exists(x, x) && [].all(x, x)",
        "[1, 2, 3, 4].filter(x, x % 2 == 0).map(x, x * x) == [4, 16]",
        "[1, 0].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2)",
        "\"a\" < \"b\" && \"a\" + \"b\" == \"ab\" && false < true",
        "\"pull\".startsWith(\"pu\") && \"pull\".endsWith(\"ll\") && \"pull\".contains(\"ul\") && \"pull\".matches(\"^p.*l$\")",
        "\"xpullx\".matches(\"pull\") && !\"pul\".matches(\"pull\")",
        "duration(\"1h30m\") == duration(\"90m\") && duration(\"1.5s\") == duration(\"1500ms\") && duration(\"-1s\") < duration(\"0s\")",
        "timestamp(\"2026-01-01T00:00:00Z\") + duration(\"24h\") == timestamp(\"2026-01-02T00:00:00Z\")",
        "timestamp(\"2026-01-02T00:00:00Z\") - timestamp(\"2026-01-01T00:00:00Z\") == duration(\"24h\")",
        "timestamp(0) == timestamp(\"1970-01-01T00:00:00Z\")",
        "(1 < 2 ? \"a\" : \"b\") == \"a\"",
        "r\"\\d\" == \"\\\\d\" && \'a\\n\' == \"a\\n\"",
    ] {
        let program = cel::Program::compile(expression).unwrap_or_else(|why| panic!("{expression}: {why}"));
        let theirs = program.execute(&cel::Context::default());
        assert_eq!(theirs, Ok(cel::Value::Bool(holds(expression, &Frame::new()))), "{expression}");
        assert_eq!(theirs, Ok(cel::Value::Bool(true)), "{expression}");
    }
}

#[test]
fn a_mark_covers_what_was_dealt_with() {
    // CEL-04
    let scope = Scope::Workflow(Provider::Github);
    let own = ["review".to_owned()];
    let parse = |text: &str| Predicate::parse_among(text, scope, &own);
    let mut facts = frame([("pr.head", text("abc")), ("pr.last_interaction_at", Value::Time(now()))]);
    let holds = |text: &str, facts: &Frame| parse(text).unwrap().holds(facts, now()).unwrap();
    let (head, time, own_key) = (
        "handled(\"addressed.checks\", pr.head)",
        "handled(\"addressed.reviews\", pr.last_interaction_at)",
        "handled(\"review\", pr.head + \"|first\")",
    );
    // A unit without marks has nothing covered.
    for condition in [head, time, own_key] {
        assert!(!holds(condition, &facts), "{condition}");
    }
    facts.mark("addressed.checks", Mark::Keys(["abc".to_owned()].into()));
    facts.mark("addressed.reviews", Mark::Until(now()));
    facts.mark("review", Mark::Keys(["abc|first".to_owned()].into()));
    for condition in [head, time, own_key] {
        assert!(holds(condition, &facts), "{condition}");
    }
    facts.insert("pr.head", text("def"));
    facts.insert("pr.last_interaction_at", Value::Time(now() + SignedDuration::from_secs(1)));
    for condition in [head, time, own_key] {
        assert!(!holds(condition, &facts), "{condition}");
    }
    assert!(parse(head).unwrap().marks().contains("addressed.checks"));
    for (wrong, expected) in [
        ("handled(\"adressed.checks\", pr.head)", "unknown mark `adressed.checks`; did you mean `addressed.checks`?"),
        (
            "handled(\"nudge\", pr.head)",
            "unknown mark `nudge`; known are `addressed.checks`, `addressed.conflict`, `addressed.reviews`, `review`",
        ),
        ("handled(\"addressed.reviews\", pr.head)", "the mark `addressed.reviews` covers no string; expected timestamp"),
        ("handled(\"review\", pr.labels)", "the mark `review` covers no list of string; expected a part of its key"),
        ("handled(pr.head, pr.head)", "`handled` with a computed mark"),
        ("handled(\"review\")", "`handled` does not take 1 arguments"),
    ] {
        let shown = parse(wrong).unwrap_err().to_string();
        assert!(shown.contains(expected), "{wrong}: {shown}");
    }
    let elsewhere = Predicate::parse_among(head, Scope::Rule(None), &own).unwrap_err();
    assert_eq!(elsewhere.what, "marks are for the conditions of workflows");
}

#[test]
fn terms_are_those_of_the_top_whatever_their_order_and_parentheses() {
    // CEL-05, APPR-54
    let pinned = |text: &str| Predicate::parse(text).unwrap().pinned("draft.delivery").map(str::to_owned);
    let term = "draft.delivery == \"comment\"";
    for text in [
        term.to_owned(),
        "\"comment\" == draft.delivery".to_owned(),
        format!("((({term})))"),
        format!("pr.mine && {term}"),
        format!("(pr.mine && !pr.draft) && ({term} && (pr.held || pr.stale))"),
        format!("pr.mine && (pr.draft && (pr.held && {term}))"),
        "draft[\"delivery\"] == \"comment\" && pr.mine".to_owned(),
    ] {
        assert_eq!(pinned(&text).as_deref(), Some("comment"), "{text}");
        assert!(Predicate::parse(&text).unwrap().reads().contains("draft.delivery"), "{text}");
    }
    for text in [
        format!("{term} || pr.mine"),
        format!("!({term})"),
        format!("({term}) == true"),
        format!("pr.mine ? {term} : {term}"),
        format!("pr.labels.all(l, {term})"),
        "draft.delivery in [\"comment\"]".to_owned(),
        "draft.delivery.startsWith(\"comment\")".to_owned(),
        "draft.delivery != \"message\"".to_owned(),
        "draft.delivery == pr.base".to_owned(),
    ] {
        assert_eq!(pinned(&text), None, "{text}");
    }
}

#[test]
fn a_condition_is_told_term_by_term() {
    // CEL-05, CEL-08
    let facts = frame([("pr.mine", Value::Bool(true)), ("pr.slug", text("a/b && c")), ("pr.changed_files", Value::Int(0))]);
    let told = |text: &str| -> Vec<(String, Result<bool, EvalFault>)> {
        let terms = Predicate::parse(text).unwrap().told(&facts, now());
        terms.into_iter().map(|term| (term.text, term.holds)).collect()
    };
    let all = told(" (pr.mine && (pr.draft || pr.held)) && pr.slug == \"a/b && c\" && (1 / pr.changed_files == 1)\n");
    assert_eq!(
        all,
        [
            ("pr.mine".to_owned(), Ok(true)),
            ("pr.draft || pr.held".to_owned(), Ok(false)),
            ("pr.slug == \"a/b && c\"".to_owned(), Ok(true)),
            ("1 / pr.changed_files == 1".to_owned(), Err(EvalFault::DivisionByZero)),
        ]
    );
    assert_eq!(told("pr.mine && pr.draft || pr.held"), [("pr.mine && pr.draft || pr.held".to_owned(), Ok(false))]);
    assert_eq!(told("(pr.mine) && !(pr.draft && pr.held)").len(), 2);
    assert_eq!(told("pr.labels.all(l, l == \"x\" && pr.mine)").len(), 1);
    assert_eq!(told("r'\\' == pr.base && pr.mine")[0], ("r'\\' == pr.base".to_owned(), Ok(false)));
    let read = &Predicate::parse("pr.mine && pr.age > duration(\"1h\")").unwrap().told(&facts, now())[1].facts;
    assert_eq!(*read, [("pr.age".to_owned(), Value::Duration(SignedDuration::ZERO))].into());
}
