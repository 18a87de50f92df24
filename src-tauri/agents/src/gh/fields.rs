//! The fields of `gh api`: `key=value`, with `key[sub]=` for a member, `key[]=` for an item, and `key[][sub]=` for a member of the
//! last item that has none of that name yet, as the real one builds its body.

use serde_json::{Map, Value};

/// A body that is built of fields.
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// The body.
    #[must_use]
    pub fn into_object(self) -> Map<String, Value> {
        self.0
    }

    /// Adds one field. `typed` is `-F`, whose values are numbers, truth values and null where they look like it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add(&mut self, field: &str, typed: bool, read: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<(), String> {
        let (key, value) = field.split_once('=').ok_or_else(|| format!("the field `{field}` has no `=`"))?;
        let value = match (typed, value) {
            (true, "true") => Value::Bool(true),
            (true, "false") => Value::Bool(false),
            (true, "null") => Value::Null,
            (true, text) if text.starts_with('@') => Value::from(read(text.trim_start_matches('@'))?),
            (true, text) => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
            (false, text) => Value::from(text),
        };
        let odd = || format!("the field `{key}` has an odd name");
        let (name, mut rest) = key.split_at(key.find('[').unwrap_or(key.len()));
        if name.is_empty() {
            return Err(odd());
        }
        let mut path = Vec::new();
        while !rest.is_empty() {
            let (part, after) = rest.strip_prefix('[').and_then(|r| r.split_once(']')).ok_or_else(odd)?;
            path.push(part);
            rest = after;
        }
        if path.len() > 4 {
            return Err(odd());
        }
        put(self.0.entry(name).or_insert(Value::Null), &path, value).ok_or_else(odd)
    }
}

/// Puts a value at a path; `None` where something of another kind stands in the way.
fn put(place: &mut Value, path: &[&str], value: Value) -> Option<()> {
    let Some((part, rest)) = path.split_first() else {
        *place = value;
        return Some(());
    };
    if part.is_empty() {
        if place.is_null() {
            *place = Value::Array(Vec::new());
        }
        let items = place.as_array_mut()?;
        let fits =
            |item: &Value| rest.first().is_some_and(|name| !name.is_empty() && item.is_object() && item.get(name).is_none());
        if !items.last().is_some_and(fits) {
            items.push(Value::Null);
        }
        return put(items.last_mut()?, rest, value);
    }
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
    put(place.as_object_mut()?.entry(*part).or_insert(Value::Null), rest, value)
}
