//! How long a predicate takes on facts that are ready, against the `cel` crate on the same facts in the same run.
//!
//! The budget: two terms in at most a quarter of its time, ten terms with durations and lists in a fifteenth.
#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up ends")]

use std::collections::HashMap;
use std::hint::black_box;

use criterion::Criterion;
use jiff::{SignedDuration, Timestamp};
use wloop_core::rules::predicate::Predicate;
use wloop_core::rules::value::{Frame, Value};

/// The clock of both.
const NOW: &str = "2026-11-30T09:00:00Z";

/// Each group with its predicate, which holds, so that every term is evaluated. The last has no budget: it is here to be seen.
const CASES: [(&str, &str); 3] = [
    ("predicate_two_terms", r#"pr.state == "open" && pr.author == "ines""#),
    (
        "predicate_ten_terms",
        r#"pr.first.due && !pr.held && pr.state == "open" && pr.changed_files < 50 && pr.age > duration("24h")
           && "api" in pr.labels && !("wip" in pr.labels) && now - pr.closed_at < duration("72h")
           && pr.author in ["omar", "sam", "ines"] && pr.slug.startsWith("acme/")"#,
    ),
    ("predicate_over_a_list", r#"pr.labels.exists(label, label.startsWith("team/"))"#),
];

fn texts(of: &[&str]) -> Value {
    Value::List(of.iter().map(|text| (*text).to_owned()).collect())
}

fn facts() -> Frame {
    let at = |text: &str| Value::Time(text.parse().expect("a timestamp"));
    [
        ("pr.author", Value::Text("ines".to_owned())),
        ("pr.age", Value::Duration(SignedDuration::from_hours(30))),
        ("pr.changed_files", Value::Int(12)),
        ("pr.closed_at", at("2026-11-29T20:00:00Z")),
        ("pr.first.due", Value::Bool(true)),
        ("pr.held", Value::Bool(false)),
        ("pr.labels", texts(&["api", "bug", "size/m", "team/core"])),
        ("pr.slug", Value::Text("acme/api#12".to_owned())),
        ("pr.state", Value::Text("open".to_owned())),
    ]
    .into()
}

/// What the `cel` crate makes of a text without variables: its own values of times are made so.
fn literal(text: &str) -> cel::Value {
    let program = cel::Program::compile(text).expect("a literal");
    program.execute(&cel::Context::default()).expect("its value")
}

fn theirs(value: &Value) -> cel::Value {
    match value {
        Value::Bool(truth) => (*truth).into(),
        Value::Int(number) => (*number).into(),
        Value::Text(text) => text.clone().into(),
        Value::List(items) => items.clone().into(),
        Value::Duration(length) => literal(&format!("duration(\"{}s\")", length.as_secs())),
        Value::Time(at) => literal(&format!("timestamp(\"{at}\")")),
    }
}

/// A fact's value at its place in the maps that a dotted name walks through.
fn put(map: &mut HashMap<String, Branch>, name: &str, value: cel::Value) {
    match name.split_once('.') {
        None => drop(map.insert(name.to_owned(), Branch::Leaf(value))),
        Some((first, rest)) => {
            if let Branch::Map(below) = map.entry(first.to_owned()).or_insert_with(|| Branch::Map(HashMap::new())) {
                put(below, rest, value);
            }
        }
    }
}

enum Branch {
    Leaf(cel::Value),
    Map(HashMap<String, Branch>),
}

fn grown(branch: Branch) -> cel::Value {
    match branch {
        Branch::Leaf(value) => value,
        Branch::Map(map) => {
            map.into_iter().map(|(name, below)| (name, grown(below))).collect::<HashMap<String, cel::Value>>().into()
        }
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let facts = facts();
    let now: Timestamp = NOW.parse().expect("a timestamp");
    let mut variables = HashMap::new();
    for (name, value) in facts.iter() {
        put(&mut variables, name, theirs(value));
    }
    let mut context = cel::Context::default();
    for (name, branch) in variables {
        context.add_variable_from_value(name, grown(branch));
    }
    context.add_variable_from_value("now", theirs(&Value::Time(now)));
    for (name, text) in CASES {
        let predicate = Predicate::parse(text).expect("a predicate");
        let program = cel::Program::compile(text).expect("the same for cel");
        assert_eq!(predicate.holds(&facts, now), Ok(true), "{name}");
        assert_eq!(program.execute(&context), Ok(cel::Value::Bool(true)), "{name}");
        let mut group = criterion.benchmark_group(name);
        group.bench_function("wloop", |bencher| bencher.iter(|| black_box(&predicate).holds(black_box(&facts), now)));
        group.bench_function("cel", |bencher| bencher.iter(|| black_box(&program).execute(black_box(&context))));
        group.finish();
    }
    criterion.final_summary();
}
