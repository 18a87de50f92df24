//! Connections: a list cut by `first`, `last`, `after` and `before`.

use apollo_compiler::resolvers::{FieldError, ResolveInfo, ResolvedValue};
use serde_json::{Map, Value, json};

use super::field_error;
use super::objects::{Ctx, Obj, resolve};

/// A part of a list, with what it was cut from.
pub(crate) struct Connection {
    /// Its type in the schema, such as `LabelConnection`.
    pub(crate) type_name: String,
    items: Vec<Value>,
    start: usize,
    total: usize,
    /// Fields of this connection alone, such as `issueCount`.
    extra: Map<String, Value>,
}

fn cursor(index: usize) -> String {
    format!("Y3Vyc29yOnYyOp{index:06}")
}

fn index_of(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("Y3Vyc29yOnYyOp")?.parse().ok()
}

impl Connection {
    /// Cuts a list as the field's arguments say. Like GitHub, insists on `first` or `last` of at most 100.
    pub(crate) fn cut(info: &ResolveInfo<'_>, items: Vec<Value>, extra: Map<String, Value>) -> Result<Self, FieldError> {
        let name = info.field_name();
        let argument = |key: &str| info.arguments().get(key).filter(|value| !value.is_null());
        let size = |key: &str| -> Result<Option<usize>, FieldError> {
            let Some(asked) = argument(key).and_then(|value| value.as_i64()) else { return Ok(None) };
            match usize::try_from(asked) {
                Ok(size) if size > 100 => Err(field_error(
                    "EXCESSIVE_PAGINATION",
                    &format!("Requesting {size} records on the `{name}` connection exceeds the `{key}` limit of 100 records."),
                )),
                Ok(size) => Ok(Some(size)),
                Err(_) => Err(field_error(
                    "INVALID_PAGINATION",
                    &format!("`{key}` on the `{name}` connection cannot be less than zero."),
                )),
            }
        };
        let (first, last) = (size("first")?, size("last")?);
        if first.is_none() && last.is_none() {
            return Err(field_error(
                "MISSING_PAGINATION_BOUNDARIES",
                &format!("You must provide a `first` or `last` value to properly paginate the `{name}` connection."),
            ));
        }
        let place = |key: &str| -> Result<Option<usize>, FieldError> {
            let Some(text) = argument(key).and_then(|value| value.as_str()) else { return Ok(None) };
            index_of(text).map(Some).ok_or_else(|| {
                field_error("INVALID_CURSOR_ARGUMENTS", &format!("`{text}` does not appear to be a valid cursor."))
            })
        };
        let total = items.len();
        let mut start = place("after")?.map_or(0, |index| index + 1).min(total);
        let mut end = place("before")?.unwrap_or(total).clamp(start, total);
        if let Some(first) = first {
            end = end.min(start + first);
        }
        if let Some(last) = last {
            start = start.max(end.saturating_sub(last));
        }
        let items = items.into_iter().skip(start).take(end - start).collect();
        let type_name = info.field_definition().ty.inner_named_type().to_string();
        Ok(Self { type_name, items, start, total, extra })
    }

    pub(crate) fn field<'a>(&'a self, ctx: Ctx<'a>, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        let end = self.start + self.items.len();
        let item_type = info.field_definition().ty.inner_named_type().as_str();
        match info.field_name() {
            "nodes" => {
                let items = self.items.iter().map(move |item| resolve(ctx, item.clone(), item_type));
                Ok(ResolvedValue::List(Box::new(items)))
            }
            "edges" => {
                let edges = self.items.iter().enumerate().map(move |(at, item)| {
                    let edge = json!({"cursor": cursor(self.start + at), "node": item});
                    resolve(ctx, edge, item_type)
                });
                Ok(ResolvedValue::List(Box::new(edges)))
            }
            "pageInfo" => {
                let any = !self.items.is_empty();
                let info = json!({
                    "hasNextPage": end < self.total, "hasPreviousPage": self.start > 0,
                    "startCursor": any.then(|| cursor(self.start)), "endCursor": any.then(|| cursor(end - 1)),
                });
                resolve(ctx, info, "PageInfo")
            }
            "totalCount" | "issueCount" | "filteredCount" => Ok(ResolvedValue::leaf(count(self.total))),
            "pageCount" => Ok(ResolvedValue::leaf(count(self.items.len()))),
            "repositoryCount" | "userCount" | "wikiCount" | "discussionCount" | "codeCount" => Ok(ResolvedValue::leaf(0)),
            name => match self.extra.get(name) {
                Some(value) => resolve(ctx, value.clone(), item_type),
                None => Err(Obj::not_held(&self.type_name, name)),
            },
        }
    }
}

fn count(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
