//! `POST /graphql`: GitHub's own schema, executed over the state.

mod connection;
mod objects;
mod pull;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use apollo_compiler::collections::HashMap;
use apollo_compiler::executable::OperationType;
use apollo_compiler::resolvers::Execution;
use apollo_compiler::response::{GraphQLError, JsonMap};
use apollo_compiler::schema::Implementers;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Name, Schema};
use serde_json::{Value, json};

use crate::answer::{Answer, Asked};
use crate::model::{AccountIx, State};
use objects::{Ctx, Obj, Resolutions};

/// Between the type and the text of a field's error, which the executor carries as one text.
const TYPE_END: char = '\u{1f}';

/// After the text, where the executor may go on with words of its own.
const MESSAGE_END: char = '\u{1e}';

/// How many parsed queries are kept.
const KEPT_QUERIES: usize = 64;

struct Official {
    schema: Valid<Schema>,
    implementers: HashMap<Name, Implementers>,
}

static OFFICIAL: LazyLock<Official> = LazyLock::new(|| {
    // The published schema defines two fields twice, which makes its parse partial and harms nothing here.
    let parsed = Schema::parse(include_str!("../../fixtures/schema.graphql"), "schema.graphql");
    let schema = Valid::assume_valid(parsed.unwrap_or_else(|errors| errors.partial));
    let implementers = schema.implementers_map();
    Official { schema, implementers }
});

type Document = Arc<Valid<ExecutableDocument>>;
type Faults = Vec<Value>;

static QUERIES: LazyLock<Mutex<BTreeMap<String, Document>>> = LazyLock::new(Mutex::default);

/// The error of a field, with GitHub's type for it.
fn field_error(kind: &str, message: &str) -> apollo_compiler::resolvers::FieldError {
    apollo_compiler::resolvers::FieldError { message: format!("{kind}{TYPE_END}{message}") }
}

/// Answers a GraphQL request of `viewer`.
pub(crate) fn answer(state: &mut State, base: &str, viewer: AccountIx, asked: &Asked) -> Answer {
    if asked.method != "POST" {
        return Answer::not_found();
    }
    let Some(body) = asked.json().filter(Value::is_object) else {
        return Answer::error(400, "Problems parsing JSON");
    };
    let Some(query) = body.get("query").and_then(Value::as_str) else {
        return Answer::json(200, json!({"errors": [{"message": "A query attribute must be specified and must be a string."}]}));
    };
    if !state.spend("graphql") {
        let message = format!("API rate limit exceeded for user ID {}.", state.accounts[viewer].id);
        return Answer::json(200, json!({"errors": [{"type": "RATE_LIMITED", "message": message}]}));
    }
    let document = match document(query) {
        Ok(document) => document,
        Err(errors) => return Answer::json(200, json!({"errors": errors})),
    };
    let body = execute(state, base, viewer, &document, &body).unwrap_or_else(|error| json!({"errors": [error]}));
    Answer::json(200, body)
}

/// The query, parsed and checked against the schema, or GitHub's errors about it.
fn document(query: &str) -> Result<Document, Faults> {
    let mut queries = QUERIES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(document) = queries.get(query) {
        return Ok(Arc::clone(document));
    }
    let parsed = ExecutableDocument::parse_and_validate(&OFFICIAL.schema, query, "query");
    let document = Arc::new(parsed.map_err(|errors| {
        let diagnostics = errors.errors.iter().map(|found| {
            let name = found.error.unstable_error_name().unwrap_or("ParseError");
            let mut entry = json!({"path": ["query"], "extensions": {"code": name}});
            let json = found.unstable_to_json_compat();
            entry["message"] = json.message.into();
            entry["locations"] = serde_json::to_value(json.locations).unwrap_or_default();
            entry
        });
        diagnostics.collect::<Faults>()
    })?);
    if queries.len() >= KEPT_QUERIES {
        queries.clear();
    }
    queries.insert(query.to_owned(), Arc::clone(&document));
    Ok(document)
}

fn execute(
    state: &mut State,
    base: &str,
    viewer: AccountIx,
    document: &Valid<ExecutableDocument>,
    body: &Value,
) -> Result<Value, Value> {
    let request_error = |message: String| json!({"message": message});
    let name = body.get("operationName").and_then(Value::as_str);
    let operation = document.operations.get(name).map_err(|error| request_error(error.message().to_string()))?;
    let variables = match body.get("variables") {
        None | Some(Value::Null) => JsonMap::new(),
        Some(value) => serde_json::from_value(value.clone()).map_err(|_| request_error("Variables are no object".to_owned()))?,
    };
    let resolutions = Resolutions::default();
    let ctx = Ctx { state, base, viewer };
    let root = match operation.operation_type {
        OperationType::Mutation => Obj::Mutation(ctx, &resolutions),
        OperationType::Query | OperationType::Subscription => Obj::Query(ctx),
    };
    let response = Execution::new(&OFFICIAL.schema, document)
        .operation(operation)
        .implementers_map(&OFFICIAL.implementers)
        .raw_variable_values(&variables)
        .enable_schema_introspection(true)
        .execute_sync(&root)
        .map_err(|error| request_error(error.message().to_string()))?;
    drop(root);
    for (thread, resolved) in resolutions.into_inner() {
        state.resolve_thread(&thread, resolved.then_some(viewer));
    }
    let mut answer = json!({"data": serde_json::to_value(response.data).unwrap_or_default()});
    if !response.errors.is_empty() {
        answer["errors"] = response.errors.into_iter().map(shown_error).collect();
    }
    Ok(answer)
}

/// A field's error as GitHub writes it: the type beside the message.
fn shown_error(error: GraphQLError) -> Value {
    let message = error.message.clone();
    let mut value = serde_json::to_value(error).unwrap_or_default();
    // The executor puts its own words around ours.
    let parts = message.split_once(TYPE_END);
    if let Some((kind, text)) = parts {
        let kind = kind.rsplit(' ').next().unwrap_or(kind);
        value["type"] = kind.into();
        value["message"] = text.split(MESSAGE_END).next().unwrap_or(text).into();
    }
    value
}
