//! Values of facts, and the face through which predicates and templates read them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::registry::{KNOWN, place};

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

impl Value {
    /// The value as a part of a key: what a workflow remembers having dealt with (PROF-01).
    #[must_use]
    pub fn key_text(&self) -> String {
        match self {
            Self::Bool(v) => v.to_string(),
            Self::Int(v) => v.to_string(),
            Self::Text(v) => v.clone(),
            Self::List(v) => v.join(","),
            Self::Duration(v) => v.to_string(),
            Self::Time(v) => v.to_string(),
        }
    }
}

/// What a mark on a unit covers (CEL-04).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Everything up to that time.
    Until(Timestamp),
    /// These values, as parts of keys.
    Keys(BTreeSet<String>),
}

impl Mark {
    fn covers(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Until(mark), Value::Time(at)) => at <= mark,
            (Self::Until(_), _) => false,
            (Self::Keys(keys), value) => keys.contains(&value.key_text()),
        }
    }
}

/// Where a predicate or a template finds facts by their dotted names, such as `pr.first.due`.
pub trait Facts {
    /// The fact's value; `None` for a name that is no fact here.
    fn fact(&self, name: &str) -> Option<Value>;

    /// The same for the fact at `place` in the registry, lent where it is ready, so that reading it costs no search for its name
    /// and no copy of its text or list.
    fn lent(&self, _place: usize, name: &str) -> Option<Cow<'_, Value>> {
        self.fact(name).map(Cow::Owned)
    }

    /// The value of the fact at `place` where it is ready in memory; `None` says nothing of whether there is one.
    fn ready(&self, _place: usize) -> Option<&Value> {
        None
    }

    /// Whether the mark of that name on the unit covers the value; a unit without it has nothing covered (CEL-04).
    fn covers(&self, _mark: &str, _value: &Value) -> bool {
        false
    }
}

/// Facts that are all computed already, each of the registry's at its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    known: Vec<Option<Value>>,
    others: BTreeMap<String, Value>,
    marks: BTreeMap<String, Mark>,
}

impl Default for Frame {
    fn default() -> Self {
        Self { known: vec![None; KNOWN.len()], others: BTreeMap::new(), marks: BTreeMap::new() }
    }
}

impl Frame {
    /// No facts yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a fact in the place of an earlier value.
    pub fn insert(&mut self, name: &str, value: Value) {
        match place(name).and_then(|at| self.known.get_mut(at)) {
            Some(slot) => *slot = Some(value),
            None => drop(self.others.insert(name.to_owned(), value)),
        }
    }

    /// Puts a mark on the unit.
    pub fn mark(&mut self, name: &str, mark: Mark) {
        self.marks.insert(name.to_owned(), mark);
    }

    /// The fact's value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        match place(name) {
            Some(at) => self.known.get(at)?.as_ref(),
            None => self.others.get(name),
        }
    }

    /// Every fact that has a value, by their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let known = KNOWN.iter().zip(&self.known).filter_map(|(row, value)| Some((row.name, value.as_ref()?)));
        let all = known.chain(self.others.iter().map(|(name, value)| (name.as_str(), value)));
        all.collect::<BTreeMap<_, _>>().into_iter()
    }
}

#[cfg(test)]
impl std::ops::Index<&str> for Frame {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap()
    }
}

impl<N: AsRef<str>> FromIterator<(N, Value)> for Frame {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(facts: I) -> Self {
        let mut frame = Self::new();
        for (name, value) in facts {
            frame.insert(name.as_ref(), value);
        }
        frame
    }
}

impl<N: AsRef<str>, const COUNT: usize> From<[(N, Value); COUNT]> for Frame {
    fn from(facts: [(N, Value); COUNT]) -> Self {
        facts.into_iter().collect()
    }
}

impl Facts for Frame {
    fn fact(&self, name: &str) -> Option<Value> {
        self.get(name).cloned()
    }

    fn lent(&self, place: usize, _name: &str) -> Option<Cow<'_, Value>> {
        self.known.get(place)?.as_ref().map(Cow::Borrowed)
    }

    fn ready(&self, place: usize) -> Option<&Value> {
        self.known.get(place)?.as_ref()
    }

    fn covers(&self, mark: &str, value: &Value) -> bool {
        self.marks.get(mark).is_some_and(|mark| mark.covers(value))
    }
}

/// Two sources read as one: the first wins.
#[derive(Debug, Clone, Copy)]
pub struct Both<'a, A: ?Sized, B: ?Sized>(pub &'a A, pub &'a B);

impl<A: Facts + ?Sized, B: Facts + ?Sized> Facts for Both<'_, A, B> {
    fn fact(&self, name: &str) -> Option<Value> {
        self.0.fact(name).or_else(|| self.1.fact(name))
    }

    fn lent(&self, place: usize, name: &str) -> Option<Cow<'_, Value>> {
        self.0.lent(place, name).or_else(|| self.1.lent(place, name))
    }

    fn covers(&self, mark: &str, value: &Value) -> bool {
        self.0.covers(mark, value) || self.1.covers(mark, value)
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
