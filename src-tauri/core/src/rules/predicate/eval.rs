//! Evaluation of a checked expression against facts.
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of any other type than checked is one failure")]

use std::borrow::Cow;
use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};

use super::EvalFault;
use super::tree::{Arithmetic, Comparison, Fold, Node, TextTest};
use crate::rules::registry::FactType;
use crate::rules::value::{Facts, Value};

/// How many nodes one evaluation may visit, list elements that are copied included.
const WORK: u32 = 500_000;

/// A value while evaluating: as [`Value`], with lists of anything. Texts and lists of facts are lent, not copied.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum V<'a> {
    Bool(bool),
    Int(i64),
    Text(Cow<'a, str>),
    Duration(SignedDuration),
    Time(Timestamp),
    List(List<'a>),
}

/// A list while evaluating.
#[derive(Debug, Clone)]
pub(super) enum List<'a> {
    /// A fact's.
    Lent(&'a [String]),
    /// One that the expression made.
    Made(Vec<V<'a>>),
}

impl<'a> List<'a> {
    fn len(&self) -> usize {
        match self {
            Self::Lent(texts) => texts.len(),
            Self::Made(items) => items.len(),
        }
    }

    fn contains(&self, item: &V<'_>) -> bool {
        match (self, item) {
            (Self::Lent(texts), V::Text(text)) => texts.iter().any(|one| one == text),
            (Self::Lent(_), _) => false,
            (Self::Made(items), _) => items.iter().any(|one| one == item),
        }
    }

    fn into_items(self) -> Vec<V<'a>> {
        match self {
            Self::Lent(texts) => texts.iter().map(|text| V::Text(Cow::Borrowed(text))).collect(),
            Self::Made(items) => items,
        }
    }
}

impl PartialEq for List<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |texts: &[String], items: &[V<'_>]| {
            texts.len() == items.len() && texts.iter().zip(items).all(|(text, item)| matches!(item, V::Text(t) if t == text))
        };
        match (self, other) {
            (Self::Lent(a), Self::Lent(b)) => a == b,
            (Self::Made(a), Self::Made(b)) => a == b,
            (Self::Lent(texts), Self::Made(items)) | (Self::Made(items), Self::Lent(texts)) => same(texts, items),
        }
    }
}

impl<'a> V<'a> {
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Bool(b) => Value::Bool(b),
            Self::Int(n) => Value::Int(n),
            Self::Text(t) => Value::Text(t.into_owned()),
            Self::Duration(d) => Value::Duration(d),
            Self::Time(t) => Value::Time(t),
            // The checker lets only lists of texts out.
            Self::List(items) => Value::List(
                items
                    .into_items()
                    .into_iter()
                    .filter_map(|item| match item {
                        Self::Text(text) => Some(text.into_owned()),
                        Self::Bool(_) | Self::Int(_) | Self::Duration(_) | Self::Time(_) | Self::List(_) => None,
                    })
                    .collect(),
            ),
        }
    }
}

/// One side of a comparison. What is ready is compared where it lies: most conditions read facts and constants alone.
enum Operand<'a> {
    Ready(&'a Value),
    Text(&'a str),
    Made(V<'a>),
}

impl<'a> Operand<'a> {
    fn into_v(self) -> V<'a> {
        match self {
            Self::Ready(value) => lend(value),
            Self::Text(text) => V::Text(Cow::Borrowed(text)),
            Self::Made(value) => value,
        }
    }

    fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Ready(a), Self::Ready(b)) => a == b,
            (Self::Text(a), Self::Ready(Value::Text(b))) | (Self::Ready(Value::Text(b)), Self::Text(a)) => a == b,
            (a, b) => a.into_v() == b.into_v(),
        }
    }

    fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Ready(Value::Int(a)), Self::Ready(Value::Int(b))) => Some(a.cmp(b)),
            (Self::Ready(Value::Duration(a)), Self::Ready(Value::Duration(b))) => Some(a.cmp(b)),
            (Self::Ready(Value::Time(a)), Self::Ready(Value::Time(b))) => Some(a.cmp(b)),
            (a, b) => order(&a.into_v(), &b.into_v()),
        }
    }
}

fn of_type(value: &Value, kind: FactType) -> bool {
    matches!(
        (value, kind),
        (Value::Bool(_), FactType::Bool)
            | (Value::Int(_), FactType::Int)
            | (Value::Text(_), FactType::Text)
            | (Value::List(_), FactType::List)
            | (Value::Duration(_), FactType::Duration)
            | (Value::Time(_), FactType::Time)
    )
}

/// The value, its text or list lent.
pub(super) fn lend(value: &Value) -> V<'_> {
    match value {
        Value::Bool(b) => V::Bool(*b),
        Value::Int(n) => V::Int(*n),
        Value::Text(t) => V::Text(Cow::Borrowed(t)),
        Value::List(l) => V::List(List::Lent(l)),
        Value::Duration(d) => V::Duration(*d),
        Value::Time(t) => V::Time(*t),
    }
}

fn taken(value: Value) -> V<'static> {
    match value {
        Value::Bool(b) => V::Bool(b),
        Value::Int(n) => V::Int(n),
        Value::Text(t) => V::Text(Cow::Owned(t)),
        Value::List(l) => V::List(List::Made(l.into_iter().map(|text| V::Text(Cow::Owned(text))).collect())),
        Value::Duration(d) => V::Duration(d),
        Value::Time(t) => V::Time(t),
    }
}

/// One evaluation.
pub(super) struct Evaluation<'a> {
    facts: &'a dyn Facts,
    now: Timestamp,
    work: u32,
    locals: Vec<Answer<'a>>,
}

/// A fault on its way out; it is rare, and a small one keeps every answer small.
type Fault = Box<EvalFault>;

type Answer<'a> = Result<V<'a>, Fault>;

/// A checked tree holds no such pair of types; the answer is a failure, never a panic.
fn misfit() -> Fault {
    Box::new(EvalFault::Misfit)
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(facts: &'a dyn Facts, now: Timestamp) -> Self {
        Self { facts, now, work: WORK, locals: Vec::new() }
    }

    fn spend(&mut self, amount: usize) -> Result<(), Fault> {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        self.work = self.work.checked_sub(amount).ok_or(EvalFault::TooMuchWork)?;
        Ok(())
    }

    /// The value of an expression.
    pub(super) fn value(mut self, node: &'a Node) -> Result<Value, EvalFault> {
        self.run(node).map(V::into_value).map_err(|fault| *fault)
    }

    /// Whether a condition holds.
    pub(super) fn holds(mut self, node: &'a Node) -> Result<bool, EvalFault> {
        self.bool(node).map_err(|fault| *fault)
    }

    fn list(&mut self, node: &'a Node) -> Result<List<'a>, Fault> {
        match self.run(node)? {
            V::List(items) => {
                self.spend(items.len())?;
                Ok(items)
            }
            _ => Err(misfit()),
        }
    }

    fn text(&mut self, node: &'a Node) -> Result<Cow<'a, str>, Fault> {
        if let Some(Value::Text(text)) = self.ready(node) {
            self.spend(text.len() / 64)?;
            return Ok(Cow::Borrowed(text));
        }
        let text = match self.operand(node)? {
            Operand::Text(text) => Cow::Borrowed(text),
            Operand::Ready(Value::Text(text)) => Cow::Borrowed(text.as_str()),
            Operand::Made(V::Text(text)) => text,
            Operand::Ready(_) | Operand::Made(_) => return Err(misfit()),
        };
        self.spend(text.len() / 64)?;
        Ok(text)
    }

    fn operand(&mut self, node: &'a Node) -> Result<Operand<'a>, Fault> {
        match node {
            Node::Const(value) => {
                self.spend(1)?;
                Ok(Operand::Ready(value))
            }
            Node::Fact(name, kind, place) => {
                self.spend(1)?;
                self.fact(name, *kind, *place)
            }
            Node::Local(slot) => match self.locals.get(*slot) {
                Some(Ok(V::Text(Cow::Borrowed(text)))) => {
                    let text = *text;
                    self.spend(1)?;
                    Ok(Operand::Text(text))
                }
                _ => self.run(node).map(Operand::Made),
            },
            _ => self.run(node).map(Operand::Made),
        }
    }

    /// A constant, or a fact that lies ready: most conditions compare nothing else, and these are compared where they lie.
    fn ready(&self, node: &'a Node) -> Option<&'a Value> {
        match node {
            Node::Const(value) => Some(value),
            Node::Fact(_, kind, place) => self.facts.ready(*place).filter(|value| of_type(value, *kind)),
            _ => None,
        }
    }

    /// The order of two sides that lie ready, or of the time that has passed since a ready one.
    fn quick_order(&self, left: &'a Node, right: &'a Node) -> Option<Ordering> {
        if let Node::Arithmetic(Arithmetic::Subtract, minuend, subtrahend) = left {
            return match (&**minuend, self.ready(subtrahend)?, self.ready(right)?) {
                (Node::Now, Value::Time(since), Value::Duration(length)) => Some(self.now.duration_since(*since).cmp(length)),
                _ => None,
            };
        }
        let (left, right) = self.both_ready(left, right)?;
        quick_order(left, right)
    }

    fn both_ready(&self, left: &'a Node, right: &'a Node) -> Option<(&'a Value, &'a Value)> {
        Some((self.ready(left)?, self.ready(right)?))
    }

    /// A condition; the nodes that can only be one are answered without a value between.
    fn bool(&mut self, node: &'a Node) -> Result<bool, Fault> {
        self.spend(1)?;
        match node {
            Node::Not(inner) => Ok(!self.bool(inner)?),
            Node::And(terms) => self.absorbing(terms, false),
            Node::Or(terms) => self.absorbing(terms, true),
            Node::Equal(left, right) => match self.both_ready(left, right) {
                Some((left, right)) => {
                    self.spend(length(left).min(length(right)))?;
                    Ok(left == right)
                }
                None => Ok(self.operand(left)?.equals(self.operand(right)?)),
            },
            Node::Compare(how, left, right) => {
                let order = match self.quick_order(left, right) {
                    Some(order) => order,
                    None => {
                        let (left, right) = (self.operand(left)?, self.operand(right)?);
                        left.order(right).ok_or_else(misfit)?
                    }
                };
                Ok(match how {
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                })
            }
            Node::In(item, list) => {
                if let Some((Value::Text(text), Value::List(texts))) = self.both_ready(item, list) {
                    self.spend(texts.len())?;
                    return Ok(texts.iter().any(|one| one == text));
                }
                let item = self.operand(item)?;
                match (item, self.operand(list)?) {
                    (Operand::Ready(Value::Text(text)), Operand::Ready(Value::List(texts))) => {
                        self.spend(texts.len())?;
                        Ok(texts.contains(text))
                    }
                    (item, list) => {
                        let V::List(items) = list.into_v() else { return Err(misfit()) };
                        self.spend(items.len())?;
                        Ok(items.contains(&item.into_v()))
                    }
                }
            }
            Node::TextTest(test, text, part) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                Ok(match test {
                    TextTest::StartsWith => text.starts_with(&*part),
                    TextTest::EndsWith => text.ends_with(&*part),
                    TextTest::Contains => text.contains(&*part),
                })
            }
            Node::Matches(text, pattern) => Ok(pattern.is_match(&self.text(text)?)),
            Node::Handled(mark, value) => {
                let value = self.run(value)?.into_value();
                Ok(self.facts.covers(mark, &value))
            }
            Node::NotStrictlyFalse(inner) => Ok(self.bool(inner).unwrap_or(true)),
            Node::Const(Value::Bool(truth)) => Ok(*truth),
            Node::Fact(name, kind, place) => {
                if let Some(Value::Bool(truth)) = self.facts.ready(*place) {
                    return Ok(*truth);
                }
                match self.fact(name, *kind, *place)? {
                    Operand::Ready(Value::Bool(truth)) => Ok(*truth),
                    Operand::Made(V::Bool(truth)) => Ok(truth),
                    Operand::Ready(_) | Operand::Text(_) | Operand::Made(_) => Err(misfit()),
                }
            }
            Node::Local(slot) => match self.locals.get(*slot) {
                Some(Ok(V::Bool(truth))) => Ok(*truth),
                Some(Err(fault)) => Err(fault.clone()),
                Some(Ok(_)) | None => Err(misfit()),
            },
            _ => match self.other(node)? {
                V::Bool(truth) => Ok(truth),
                _ => Err(misfit()),
            },
        }
    }

    fn run(&mut self, node: &'a Node) -> Answer<'a> {
        match node {
            Node::Not(_)
            | Node::And(..)
            | Node::Or(..)
            | Node::Equal(..)
            | Node::Compare(..)
            | Node::In(..)
            | Node::TextTest(..)
            | Node::Matches(..)
            | Node::Handled(..)
            | Node::NotStrictlyFalse(_) => self.bool(node).map(V::Bool),
            _ => {
                self.spend(1)?;
                self.other(node)
            }
        }
    }

    /// A node that is not a condition by its kind.
    fn other(&mut self, node: &'a Node) -> Answer<'a> {
        match node {
            Node::Const(value) => Ok(lend(value)),
            Node::Fact(name, kind, place) => self.fact(name, *kind, *place).map(Operand::into_v),
            Node::Local(slot) => self.locals.get(*slot).cloned().unwrap_or_else(|| Err(misfit())),
            Node::Now => Ok(V::Time(self.now)),
            Node::Negate(inner) => match self.run(inner)? {
                V::Int(n) => Ok(V::Int(n.checked_neg().ok_or(EvalFault::Overflow("-"))?)),
                _ => Err(misfit()),
            },
            Node::If(when, then, otherwise) => {
                if self.bool(when)? {
                    self.run(then)
                } else {
                    self.run(otherwise)
                }
            }
            Node::Arithmetic(op, left, right) => {
                let (left, right) = (self.run(left)?, self.run(right)?);
                if let (V::List(a), V::List(b)) = (&left, &right) {
                    self.spend(a.len() + b.len())?;
                }
                if let (V::Text(a), V::Text(b)) = (&left, &right) {
                    self.spend((a.len() + b.len()) / 64)?;
                }
                Ok(arithmetic(*op, left, right)?)
            }
            Node::Index(list, place) => {
                let items = self.list(list)?;
                match self.run(place)? {
                    V::Int(at) => {
                        let found = usize::try_from(at).ok().and_then(|at| items.into_items().into_iter().nth(at));
                        Ok(found.ok_or(EvalFault::NoSuchPlace(at))?)
                    }
                    _ => Err(misfit()),
                }
            }
            Node::List(items) => {
                items.iter().map(|item| self.run(item)).collect::<Result<_, _>>().map(|items| V::List(List::Made(items)))
            }
            Node::Size(inner) => {
                let size = match self.run(inner)? {
                    V::Text(text) => text.chars().count(),
                    V::List(items) => items.len(),
                    _ => return Err(misfit()),
                };
                Ok(V::Int(i64::try_from(size).map_err(|_| EvalFault::Overflow("size"))?))
            }
            Node::Fold(fold) => self.fold(fold),
            // Each of the others is a condition by its kind.
            _ => Err(misfit()),
        }
    }

    fn fact(&mut self, name: &'static str, kind: FactType, place: usize) -> Result<Operand<'a>, Fault> {
        let value = self.facts.lent(place, name).unwrap_or_else(|| Cow::Owned(kind.zero()));
        if !of_type(&value, kind) {
            return Err(Box::new(EvalFault::WrongType { name: name.to_owned(), expected: kind.as_str() }));
        }
        if let Value::List(items) = &*value {
            self.spend(items.len())?;
        }
        Ok(match value {
            Cow::Borrowed(value) => Operand::Ready(value),
            Cow::Owned(value) => Operand::Made(taken(value)),
        })
    }

    /// `&&` (decided by false) and `||` (decided by true): the deciding term wins over an error of another.
    fn absorbing(&mut self, terms: &'a [Node], decides: bool) -> Result<bool, Fault> {
        let mut failed = None;
        for term in terms {
            match self.bool(term) {
                Ok(truth) if truth == decides => return Ok(decides),
                Ok(_) => {}
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        failed.map_or(Ok(!decides), Err)
    }

    fn fold(&mut self, fold: &'a Fold) -> Answer<'a> {
        let items = self.list(&fold.range)?;
        let depth = self.locals.len();
        let init = self.run(&fold.init);
        self.locals.push(init);
        for item in items.into_items() {
            self.locals.truncate(depth + 1);
            self.locals.push(Ok(item));
            if !self.bool(&fold.go_on)? {
                break;
            }
            let next = self.run(&fold.step);
            if next.as_ref().is_err_and(|fault| **fault == EvalFault::TooMuchWork) {
                return next;
            }
            if let Some(slot) = self.locals.get_mut(depth) {
                *slot = next;
            }
        }
        self.locals.truncate(depth + 1);
        let result = self.run(&fold.result);
        self.locals.truncate(depth);
        result
    }
}

/// How much of a value a comparison may look at.
fn length(value: &Value) -> usize {
    match value {
        Value::List(items) => items.len(),
        Value::Bool(_) | Value::Int(_) | Value::Text(_) | Value::Duration(_) | Value::Time(_) => 0,
    }
}

/// The order of two values of one type that have one, without a copy.
fn quick_order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn order(left: &V<'_>, right: &V<'_>) -> Option<Ordering> {
    match (left, right) {
        (V::Bool(a), V::Bool(b)) => Some(a.cmp(b)),
        (V::Int(a), V::Int(b)) => Some(a.cmp(b)),
        (V::Text(a), V::Text(b)) => Some(a.cmp(b)),
        (V::Duration(a), V::Duration(b)) => Some(a.cmp(b)),
        (V::Time(a), V::Time(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// The first instant of the year 1, in nanoseconds: what is before it is no time in CEL.
const FIRST_INSTANT: i128 = -62_135_596_800_000_000_000;
/// The longest length of time in CEL, in seconds: about ten thousand years.
const LONGEST: u64 = 315_576_000_000;

/// Whether a time is one that CEL knows.
pub(super) fn is_time(at: &Timestamp) -> bool {
    at.as_nanosecond() >= FIRST_INSTANT
}

/// Whether a length of time is one that CEL knows.
pub(super) fn is_length(length: &SignedDuration) -> bool {
    length.unsigned_abs().as_secs() <= LONGEST
}

pub(super) fn arithmetic<'a>(op: Arithmetic, left: V<'a>, right: V<'a>) -> Result<V<'a>, EvalFault> {
    let over = EvalFault::Overflow(op.as_str());
    match (left, right) {
        (V::Int(_), V::Int(0)) if matches!(op, Arithmetic::Divide | Arithmetic::Remainder) => Err(EvalFault::DivisionByZero),
        (V::Int(a), V::Int(b)) => match op {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Subtract => a.checked_sub(b),
            Arithmetic::Multiply => a.checked_mul(b),
            Arithmetic::Divide => a.checked_div(b),
            Arithmetic::Remainder => a.checked_rem(b),
        }
        .map(V::Int)
        .ok_or(over),
        (V::Text(a), V::Text(b)) if op == Arithmetic::Add => Ok(V::Text(Cow::Owned(a.into_owned() + &b))),
        (V::List(a), V::List(b)) if op == Arithmetic::Add => {
            let mut items = a.into_items();
            items.extend(b.into_items());
            Ok(V::List(List::Made(items)))
        }
        (V::Duration(a), V::Duration(b)) => match op {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Subtract => a.checked_sub(b),
            Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => return Err(EvalFault::Misfit),
        }
        .filter(is_length)
        .map(V::Duration)
        .ok_or(over),
        (V::Time(at), V::Duration(by)) => match op {
            Arithmetic::Add => at.checked_add(by),
            Arithmetic::Subtract => at.checked_sub(by),
            Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => return Err(EvalFault::Misfit),
        }
        .ok()
        .filter(is_time)
        .map(V::Time)
        .ok_or(over),
        (V::Duration(by), V::Time(at)) if op == Arithmetic::Add => at.checked_add(by).map(V::Time).map_err(|_| over),
        (V::Time(a), V::Time(b)) if op == Arithmetic::Subtract => Ok(V::Duration(a.duration_since(b))),
        _ => Err(EvalFault::Misfit),
    }
}
