//! Evaluation of a checked expression against facts.
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of any other type than checked is one failure")]

use jiff::{SignedDuration, Timestamp};

use super::EvalFault;
use super::tree::{Arithmetic, Comparison, Fold, Node, TextTest};
use crate::rules::registry::FactType;
use crate::rules::value::{Facts, Value};

/// How many nodes one evaluation may visit, list elements that are copied included.
const WORK: u32 = 500_000;

/// A value while evaluating: as [`Value`], with lists of anything.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum V {
    Bool(bool),
    Int(i64),
    Text(String),
    Duration(SignedDuration),
    Time(Timestamp),
    List(Vec<V>),
}

impl V {
    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Bool(b) => Value::Bool(b),
            Self::Int(n) => Value::Int(n),
            Self::Text(t) => Value::Text(t),
            Self::Duration(d) => Value::Duration(d),
            Self::Time(t) => Value::Time(t),
            // The checker lets only lists of texts out.
            Self::List(items) => Value::List(
                items
                    .into_iter()
                    .filter_map(|item| match item {
                        Self::Text(text) => Some(text),
                        Self::Bool(_) | Self::Int(_) | Self::Duration(_) | Self::Time(_) | Self::List(_) => None,
                    })
                    .collect(),
            ),
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

fn from_value(value: Value) -> V {
    match value {
        Value::Bool(b) => V::Bool(b),
        Value::Int(n) => V::Int(n),
        Value::Text(t) => V::Text(t),
        Value::List(l) => V::List(l.into_iter().map(V::Text).collect()),
        Value::Duration(d) => V::Duration(d),
        Value::Time(t) => V::Time(t),
    }
}

/// One evaluation.
pub(super) struct Evaluation<'a> {
    facts: &'a dyn Facts,
    now: Timestamp,
    work: u32,
    locals: Vec<Result<V, EvalFault>>,
}

type Answer = Result<V, EvalFault>;

/// A checked tree holds no such pair of types; the answer is a failure, never a panic.
const MISFIT: EvalFault = EvalFault::Misfit;

impl<'a> Evaluation<'a> {
    pub(super) fn new(facts: &'a dyn Facts, now: Timestamp) -> Self {
        Self { facts, now, work: WORK, locals: Vec::new() }
    }

    fn spend(&mut self, amount: usize) -> Result<(), EvalFault> {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        self.work = self.work.checked_sub(amount).ok_or(EvalFault::TooMuchWork)?;
        Ok(())
    }

    /// A condition.
    pub(super) fn bool(&mut self, node: &Node) -> Result<bool, EvalFault> {
        match self.run(node)? {
            V::Bool(b) => Ok(b),
            _ => Err(MISFIT),
        }
    }

    fn list(&mut self, node: &Node) -> Result<Vec<V>, EvalFault> {
        match self.run(node)? {
            V::List(items) => {
                self.spend(items.len())?;
                Ok(items)
            }
            _ => Err(MISFIT),
        }
    }

    fn text(&mut self, node: &Node) -> Result<String, EvalFault> {
        match self.run(node)? {
            V::Text(text) => {
                self.spend(text.len() / 64)?;
                Ok(text)
            }
            _ => Err(MISFIT),
        }
    }

    pub(super) fn run(&mut self, node: &Node) -> Answer {
        self.spend(1)?;
        match node {
            Node::Const(value) => Ok(value.clone()),
            Node::Fact(name, kind) => self.fact(name, *kind),
            Node::Local(slot) => self.locals.get(*slot).cloned().unwrap_or(Err(MISFIT)),
            Node::Now => Ok(V::Time(self.now)),
            Node::Not(inner) => Ok(V::Bool(!self.bool(inner)?)),
            Node::Negate(inner) => match self.run(inner)? {
                V::Int(n) => n.checked_neg().map(V::Int).ok_or(EvalFault::Overflow("-")),
                _ => Err(MISFIT),
            },
            Node::And(left, right) => self.absorbing(left, right, false),
            Node::Or(left, right) => self.absorbing(left, right, true),
            Node::If(when, then, otherwise) => {
                if self.bool(when)? {
                    self.run(then)
                } else {
                    self.run(otherwise)
                }
            }
            Node::Equal(left, right) => Ok(V::Bool(self.run(left)? == self.run(right)?)),
            Node::Compare(how, left, right) => {
                let (left, right) = (self.run(left)?, self.run(right)?);
                let order = order(&left, &right).ok_or(MISFIT)?;
                Ok(V::Bool(match how {
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                }))
            }
            Node::In(item, list) => {
                let item = self.run(item)?;
                Ok(V::Bool(self.list(list)?.contains(&item)))
            }
            Node::Arithmetic(op, left, right) => {
                let (left, right) = (self.run(left)?, self.run(right)?);
                if let (V::List(a), V::List(b)) = (&left, &right) {
                    self.spend(a.len() + b.len())?;
                }
                if let (V::Text(a), V::Text(b)) = (&left, &right) {
                    self.spend((a.len() + b.len()) / 64)?;
                }
                arithmetic(*op, left, right)
            }
            Node::Index(list, place) => {
                let items = self.list(list)?;
                match self.run(place)? {
                    V::Int(at) => {
                        usize::try_from(at).ok().and_then(|at| items.into_iter().nth(at)).ok_or(EvalFault::NoSuchPlace(at))
                    }
                    _ => Err(MISFIT),
                }
            }
            Node::List(items) => items.iter().map(|item| self.run(item)).collect::<Result<_, _>>().map(V::List),
            Node::Size(inner) => {
                let size = match self.run(inner)? {
                    V::Text(text) => text.chars().count(),
                    V::List(items) => items.len(),
                    _ => return Err(MISFIT),
                };
                i64::try_from(size).map(V::Int).map_err(|_| EvalFault::Overflow("size"))
            }
            Node::TextTest(test, text, part) => {
                let (text, part) = (self.text(text)?, self.text(part)?);
                Ok(V::Bool(match test {
                    TextTest::StartsWith => text.starts_with(&part),
                    TextTest::EndsWith => text.ends_with(&part),
                    TextTest::Contains => text.contains(&part),
                }))
            }
            Node::Matches(text, pattern) => Ok(V::Bool(pattern.is_match(&self.text(text)?))),
            Node::NotStrictlyFalse(inner) => Ok(V::Bool(self.bool(inner).unwrap_or(true))),
            Node::Fold(fold) => self.fold(fold),
        }
    }

    fn fact(&mut self, name: &str, kind: FactType) -> Answer {
        let value = self.facts.fact(name).unwrap_or_else(|| kind.zero());
        if !of_type(&value, kind) {
            return Err(EvalFault::WrongType { name: name.to_owned(), expected: kind.as_str() });
        }
        if let Value::List(items) = &value {
            self.spend(items.len())?;
        }
        Ok(from_value(value))
    }

    /// `&&` (decided by false) and `||` (decided by true): the deciding side wins over an error of the other.
    fn absorbing(&mut self, left: &Node, right: &Node, decides: bool) -> Answer {
        let left = self.bool(left);
        if left == Ok(decides) {
            return Ok(V::Bool(decides));
        }
        let right = self.bool(right);
        if right == Ok(decides) {
            return Ok(V::Bool(decides));
        }
        left?;
        right.map(V::Bool)
    }

    fn fold(&mut self, fold: &Fold) -> Answer {
        let items = self.list(&fold.range)?;
        let depth = self.locals.len();
        let init = self.run(&fold.init);
        self.locals.push(init);
        for item in items {
            self.locals.truncate(depth + 1);
            self.locals.push(Ok(item));
            if !self.bool(&fold.go_on)? {
                break;
            }
            let next = self.run(&fold.step);
            if next == Err(EvalFault::TooMuchWork) {
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

fn order(left: &V, right: &V) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (V::Bool(a), V::Bool(b)) => Some(a.cmp(b)),
        (V::Int(a), V::Int(b)) => Some(a.cmp(b)),
        (V::Text(a), V::Text(b)) => Some(a.cmp(b)),
        (V::Duration(a), V::Duration(b)) => Some(a.cmp(b)),
        (V::Time(a), V::Time(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

pub(super) fn arithmetic(op: Arithmetic, left: V, right: V) -> Answer {
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
        (V::Text(a), V::Text(b)) if op == Arithmetic::Add => Ok(V::Text(a + &b)),
        (V::List(mut a), V::List(b)) if op == Arithmetic::Add => {
            a.extend(b);
            Ok(V::List(a))
        }
        (V::Duration(a), V::Duration(b)) => match op {
            Arithmetic::Add => a.checked_add(b),
            Arithmetic::Subtract => a.checked_sub(b),
            Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => return Err(MISFIT),
        }
        .map(V::Duration)
        .ok_or(over),
        (V::Time(at), V::Duration(by)) => match op {
            Arithmetic::Add => at.checked_add(by),
            Arithmetic::Subtract => at.checked_sub(by),
            Arithmetic::Multiply | Arithmetic::Divide | Arithmetic::Remainder => return Err(MISFIT),
        }
        .map(V::Time)
        .map_err(|_| over),
        (V::Duration(by), V::Time(at)) if op == Arithmetic::Add => at.checked_add(by).map(V::Time).map_err(|_| over),
        (V::Time(a), V::Time(b)) if op == Arithmetic::Subtract => Ok(V::Duration(a.duration_since(b))),
        _ => Err(MISFIT),
    }
}
