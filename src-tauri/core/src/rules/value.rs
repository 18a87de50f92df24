//! Values of facts, and the face through which predicates and templates read them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// The value of a fact (FACT-01). A fact without a value reads as its type's zero (FACT-05).
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A truth.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// A length of time.
    Duration(SignedDuration),
    /// A point in time.
    Time(Timestamp),
}

/// Where a predicate or a template finds facts by their dotted names, such as `pr.first.due`.
pub trait Facts {
    /// The fact's value; `None` for a name that is no fact here.
    fn fact(&self, name: &str) -> Option<Value>;
}

/// Facts that are all computed already.
pub type Frame = BTreeMap<String, Value>;

impl Facts for Frame {
    fn fact(&self, name: &str) -> Option<Value> {
        self.get(name).cloned()
    }
}

/// Two sources read as one: the first wins.
#[derive(Debug, Clone, Copy)]
pub struct Both<'a, A: ?Sized, B: ?Sized>(pub &'a A, pub &'a B);

impl<A: Facts + ?Sized, B: Facts + ?Sized> Facts for Both<'_, A, B> {
    fn fact(&self, name: &str) -> Option<Value> {
        self.0.fact(name).or_else(|| self.1.fact(name))
    }
}

/// A value as JSON: a length of time as a text such as `1h 30m`, a time as RFC 3339.
#[must_use]
pub fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::Text(t) => t.clone().into(),
        Value::List(l) => l.clone().into(),
        Value::Duration(d) => format!("{d:#}").into(),
        Value::Time(t) => t.to_string().into(),
    }
}
