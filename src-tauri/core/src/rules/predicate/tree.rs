//! The checked tree and its types.
#![expect(clippy::wildcard_enum_match_arm, reason = "the nodes that matter to a question are named, all others answer alike")]

use std::fmt;

use crate::rules::registry::FactType;
use crate::rules::value::Value;

/// A static type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ty {
    Bool,
    Int,
    Text,
    Duration,
    Time,
    List(Box<Ty>),
    /// The element of an empty list.
    Any,
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Text => f.write_str("string"),
            Self::Duration => f.write_str("duration"),
            Self::Time => f.write_str("timestamp"),
            Self::List(item) if **item == Self::Any => f.write_str("list"),
            Self::List(item) => write!(f, "list of {item}"),
            Self::Any => f.write_str("value"),
        }
    }
}

impl Ty {
    pub(super) fn of(kind: FactType) -> Self {
        match kind {
            FactType::Bool => Self::Bool,
            FactType::Int => Self::Int,
            FactType::Text => Self::Text,
            FactType::List => Self::List(Box::new(Self::Text)),
            FactType::Duration => Self::Duration,
            FactType::Time => Self::Time,
        }
    }

    /// The type's name with its article.
    pub(super) fn article(&self) -> &'static str {
        if *self == Self::Int { "an" } else { "a" }
    }

    /// The type as a fact may have it.
    pub(super) fn fact_type(&self) -> Option<FactType> {
        match self {
            Self::Bool => Some(FactType::Bool),
            Self::Int => Some(FactType::Int),
            Self::Text => Some(FactType::Text),
            Self::Duration => Some(FactType::Duration),
            Self::Time => Some(FactType::Time),
            Self::List(item) => matches!(**item, Self::Text | Self::Any).then_some(FactType::List),
            Self::Any => None,
        }
    }

    pub(super) fn unify(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, ty) | (ty, Self::Any) => Some(ty.clone()),
            (Self::List(a), Self::List(b)) => a.unify(b).map(|item| Self::List(Box::new(item))),
            (a, b) => (a == b).then(|| a.clone()),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
}

/// A list macro.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) range: Node,
    pub(super) init: Node,
    pub(super) go_on: Node,
    pub(super) step: Node,
    pub(super) result: Node,
}

pub(super) type Child = Box<Node>;

/// A checked expression.
#[derive(Debug)]
pub(super) enum Node {
    Const(Value),
    /// A fact by its name, its type and its place in the registry.
    Fact(&'static str, FactType, usize),
    Local(usize),
    Now,
    Not(Child),
    Negate(Child),
    /// Every one; what stands inside another chain of the same kind was taken into it.
    And(Vec<Node>),
    /// Any one, likewise.
    Or(Vec<Node>),
    If(Child, Child, Child),
    Equal(Child, Child),
    Compare(Comparison, Child, Child),
    In(Child, Child),
    Arithmetic(Arithmetic, Child, Child),
    Index(Child, Child),
    List(Vec<Node>),
    Size(Child),
    TextTest(TextTest, Child, Child),
    Matches(Child, regex::Regex),
    /// Whether a mark of the unit covers a value.
    Handled(String, Child),
    NotStrictlyFalse(Child),
    Fold(Box<Fold>),
}

impl Node {
    /// Both, as one chain.
    pub(super) fn all(left: Self, right: Self) -> Self {
        let mut terms = Vec::new();
        for side in [left, right] {
            match side {
                Self::And(inner) => terms.extend(inner),
                other => terms.push(other),
            }
        }
        Self::And(terms)
    }

    /// Either, as one chain.
    pub(super) fn any(left: Self, right: Self) -> Self {
        let mut terms = Vec::new();
        for side in [left, right] {
            match side {
                Self::Or(inner) => terms.extend(inner),
                other => terms.push(other),
            }
        }
        Self::Or(terms)
    }

    /// The terms of the top-level `&&`, whatever its parentheses (CEL-05).
    pub(super) fn terms(&self) -> Vec<&Node> {
        match self {
            Self::And(terms) => terms.iter().collect(),
            _ => vec![self],
        }
    }

    /// Whether it reads this fact, no other, and no clock.
    pub(super) fn reads_only(&self, name: &str) -> bool {
        let mut read = false;
        let mut other = false;
        self.each(&mut |node| match node {
            Self::Fact(fact, ..) if *fact == name => read = true,
            Self::Fact(..) | Self::Now | Self::Handled(..) => other = true,
            _ => {}
        });
        read && !other
    }

    /// The text to which this term pins a fact.
    pub(super) fn pins(&self, fact: &str) -> Option<&str> {
        let Self::Equal(left, right) = self else { return None };
        match (&**left, &**right) {
            (Self::Fact(name, ..), Self::Const(Value::Text(text))) | (Self::Const(Value::Text(text)), Self::Fact(name, ..))
                if *name == fact =>
            {
                Some(text)
            }
            _ => None,
        }
    }

    /// The facts that it reads.
    pub(super) fn facts(&self) -> Vec<(&'static str, FactType)> {
        let mut found = Vec::new();
        self.each(&mut |node| {
            if let Self::Fact(name, kind, _) = node {
                found.push((*name, *kind));
            }
        });
        found
    }

    /// Whether it reads the clock.
    pub(super) fn reads_now(&self) -> bool {
        let mut found = false;
        self.each(&mut |node| found |= matches!(node, Self::Now));
        found
    }

    fn each<'a>(&'a self, seen: &mut dyn FnMut(&'a Node)) {
        seen(self);
        match self {
            Self::Const(_) | Self::Fact(..) | Self::Local(_) | Self::Now => {}
            Self::Not(a)
            | Self::Negate(a)
            | Self::Size(a)
            | Self::Matches(a, _)
            | Self::Handled(_, a)
            | Self::NotStrictlyFalse(a) => a.each(seen),
            Self::Equal(a, b)
            | Self::Compare(_, a, b)
            | Self::In(a, b)
            | Self::Arithmetic(_, a, b)
            | Self::Index(a, b)
            | Self::TextTest(_, a, b) => {
                a.each(seen);
                b.each(seen);
            }
            Self::If(a, b, c) => {
                a.each(seen);
                b.each(seen);
                c.each(seen);
            }
            Self::List(items) | Self::And(items) | Self::Or(items) => items.iter().for_each(|item| item.each(seen)),
            Self::Fold(fold) => {
                for part in [&fold.range, &fold.init, &fold.go_on, &fold.step, &fold.result] {
                    part.each(seen);
                }
            }
        }
    }
}
