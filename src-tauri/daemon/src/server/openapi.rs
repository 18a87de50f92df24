//! The description of the API, made from the operation table and the wire types.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use wloop_api::operation::{ALL, Callers, Method, QUERY};
use wloop_api::{problem::Problem, types};

/// The whole description (OpenAPI 3.1).
#[must_use]
pub(crate) fn description() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    macro_rules! add {
        ($($name:ident),* $(,)?) => {
            $(let _reference = generator.subschema_for::<types::$name>();)*
        };
    }
    add!(
        Health,
        Status,
        Gate,
        Resolve,
        PlanItem,
        PlanRequest,
        PlanAnswer,
        UnitDetail,
        PauseRequest,
        Holds,
        Explained,
        ExplainedTerm,
        Fact,
        Turn,
        TurnRequest,
        TurnDetail,
        Draft,
        DraftGroup,
        DraftRequest,
        DraftEdit,
        Post,
        Discard,
        Event,
        ToolAnswer,
        GhRequest,
        GhAnswer,
        Session,
        HookRequest,
        PromptRequest
    );
    let _reference = generator.subschema_for::<Problem>();
    let mut paths = serde_json::Map::new();
    for operation in ALL {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        let method = match operation.method {
            Method::Get => "get",
            Method::Post => "post",
        };
        let callers = match operation.callers {
            Callers::Anyone => "anyone, an unattended session too",
            Callers::Person => "the person",
            Callers::SessionToo => "the person, and a session as itself",
            Callers::ThatSession => "the session that the path names",
        };
        let parameters: Vec<Value> = operation
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
            .chain(QUERY.iter().filter(|known| operation.query.contains(&known.name)).map(|known| {
                let kind = if known.number { "integer" } else { "string" };
                json!({ "name": known.name, "in": "query", "description": known.summary, "schema": { "type": kind } })
            }))
            .collect();
        let mut described = json!({
            "operationId": operation.name.to_lowercase(),
            "summary": operation.summary,
            "description": format!("Called by {callers}."),
            "parameters": parameters,
            "responses": {
                "200": { "description": "done", "content": { "application/json": { "schema": schema_of(operation.answer) } } },
                "default": { "description": "refused or failed", "content": { "application/problem+json": { "schema": schema_of("Problem") } } },
            },
        });
        if !operation.request.is_empty() {
            described["requestBody"] = json!({ "content": { "application/json": { "schema": schema_of(operation.request) } } });
        }
        path[method] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "wloop", "version": env!("CARGO_PKG_VERSION"), "description": "The local API of wloop, over its Unix socket." },
        "paths": paths,
        "components": { "schemas": generator.take_definitions(true) },
    })
}

fn schema_of(name: &str) -> Value {
    if name.is_empty() {
        return json!({});
    }
    match name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
        Some(item) => json!({ "type": "array", "items": schema_of(item) }),
        None => json!({ "$ref": format!("#/components/schemas/{name}") }),
    }
}
