//! The official conformance cases of CEL: those whose expression lies inside what rules may be written with come out as they should.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value as Json;
use wloop_core::rules::predicate::Expression;
use wloop_core::rules::value::{Frame, Value};

/// The cases, where they are at hand: they are read in place and not kept here.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says where the cases lie")]
fn cases() -> Option<Vec<Json>> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/fixtures");
    let folder = std::env::var_os("WLOOP_FIXTURES").map_or(beside, PathBuf::from);
    let text = std::fs::read_to_string(folder.join("cel/conformance.json")).ok()?;
    Some(serde_json::from_str(&text).expect("a list of cases"))
}

/// Whether a value is the expected one.
fn is(value: &Value, expected: &Json) -> bool {
    let (kind, wanted) = (expected["t"].as_str().unwrap_or_default(), &expected["v"]);
    match value {
        Value::Bool(truth) => kind == "bool" && wanted.as_bool() == Some(*truth),
        Value::Int(number) => kind == "int" && wanted.as_str() == Some(number.to_string().as_str()),
        Value::Text(text) => kind == "string" && wanted.as_str() == Some(text),
        Value::List(items) => {
            let texts: Option<Vec<&str>> =
                wanted.as_array().map(|all| all.iter().filter_map(|item| item["v"].as_str()).collect());
            kind == "list"
                && texts.is_some_and(|texts| texts.len() == items.len() && texts.iter().zip(items).all(|(a, b)| a == b))
        }
        Value::Duration(_) | Value::Time(_) => false,
    }
}

#[test]
fn the_official_cases_inside_the_language_of_rules_pass() {
    // CEL-03
    let Some(cases) = cases() else {
        eprintln!("skipped: the conformance cases are not at hand; `WLOOP_FIXTURES` says where they lie");
        return;
    };
    let (mut inside, mut wrong) = (0, Vec::new());
    for case in &cases {
        let bound = case["b"].as_object().is_some_and(|bound| !bound.is_empty());
        let text = case["expr"].as_str().expect("an expression");
        let Ok(expression) = Expression::parse(text) else { continue };
        if bound {
            continue;
        }
        inside += 1;
        let found = expression.evaluate(&Frame::new(), Timestamp::UNIX_EPOCH);
        let fits = match (&found, &case["ex"]) {
            (Err(_), expected) => expected.get("err").is_some(),
            (Ok(value), expected) => expected.get("v").is_some_and(|wanted| is(value, wanted)),
        };
        if !fits {
            wrong.push(format!("{text} came to {found:?} and should be {}", case["ex"]));
        }
    }
    println!("{inside} of {} conformance cases lie inside the language of rules, {} pass", cases.len(), inside - wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(inside >= 300, "only {inside} cases lie inside");
}
