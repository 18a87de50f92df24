//! Checks answers against GitHub's own description of its API.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::client::Got;

pub(crate) static OPENAPI: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../fixtures/openapi-subset.json");
    rewritten(serde_json::from_str(text).unwrap())
});

/// `nullable` becomes a choice, and what only OpenAPI knows goes.
fn rewritten(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(rewritten).collect(),
        Value::Object(map) => {
            let is_schema = map.contains_key("type")
                || map.contains_key("$ref")
                || map.contains_key("oneOf")
                || map.contains_key("anyOf")
                || map.contains_key("allOf");
            let nullable = is_schema && map.get("nullable") == Some(&Value::Bool(true));
            let kept: Map<String, Value> = map
                .into_iter()
                // A property may itself be called so; then its value is a schema.
                .filter(|(key, value)| match key.as_str() {
                    "discriminator" => false,
                    "example" | "nullable" => value.get("type").is_some(),
                    _ => true,
                })
                .map(|(key, value)| (key, rewritten(value)))
                .collect();
            if nullable { json!({"anyOf": [{"type": "null"}, kept]}) } else { Value::Object(kept) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// What is wrong with an answer to `method template`, by the description of that status; nothing when it is right.
pub(crate) fn faults(method: &str, template: &str, status: u16, body: &Value) -> Vec<String> {
    let response = &OPENAPI["paths"][template][method]["responses"][status.to_string()];
    let response = match response["$ref"].as_str() {
        Some(reference) => OPENAPI.pointer(reference.strip_prefix('#').unwrap()).unwrap(),
        None => response,
    };
    let mut schema = response["content"]["application/json"]["schema"].clone();
    if schema.is_null() {
        assert!(status >= 400, "{method} {template} describes no {status}");
        schema = json!({"$ref": "#/components/schemas/basic-error"});
    }
    let root = json!({"allOf": [schema], "components": OPENAPI["components"]});
    let validator = jsonschema::validator_for(&root).unwrap();
    validator.iter_errors(body).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[track_caller]
pub(crate) fn check(method: &str, template: &str, status: u16, got: &Got) -> Value {
    assert_eq!(got.status, status, "{method} {template}: {}", got.text);
    let body = got.json();
    let found = faults(method, template, status, &body);
    assert!(found.is_empty(), "{method} {template} {status}: {found:#?}");
    body
}

#[test]
fn the_validator_accepts_github_s_examples_and_refuses_broken_ones() {
    let example: Value = serde_json::from_str(include_str!("../../fixtures/openapi-examples/pulls.create-review.json")).unwrap();
    let mut review = example["200/default"].clone();
    let template = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews";
    assert_eq!(faults("post", template, 200, &review), Vec::<String>::new());
    review["user"]["login"] = Value::Null;
    review["id"] = "80".into();
    assert!(!faults("post", template, 200, &review).is_empty());
    let example: Value = serde_json::from_str(include_str!("../../fixtures/openapi-examples/issues.list-comments.json")).unwrap();
    let template = "/repos/{owner}/{repo}/issues/{issue_number}/comments";
    assert_eq!(faults("get", template, 200, &example["200/default"]), Vec::<String>::new());
}
