//! Predicates and expressions in CEL: parsed and type-checked once, evaluated many times (CEL-01). The `cel` crate parses; names,
//! types and literals are settled here, so that nothing which loads can fail for want of a name or a type.

mod eval;
mod lower;
mod scan;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use self::eval::Evaluation;
use self::tree::{Node, Ty};
use super::registry::{FactType, Scope};
use super::value::{Facts, Frame, Value};
use crate::gate::GateKind;

/// Why an expression does not load (CEL-02).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at character {position}: {what}{}{help}", if help.is_empty() { "" } else { "; " })]
pub struct PredicateFault {
    /// The character in the expression, from 1.
    pub position: usize,
    /// What is wrong.
    pub what: String,
    /// What was expected, or the nearest known name; empty where there is nothing to add.
    pub help: String,
}

/// Why an expression that loaded has no value (CEL-07).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalFault {
    /// A whole number grew beyond 64 bits.
    #[error("the result of `{0}` is beyond the numbers and times that can be told")]
    Overflow(&'static str),
    /// A division by zero.
    #[error("a division by zero")]
    DivisionByZero,
    /// A place that the list does not have.
    #[error("the list has no place {0}")]
    NoSuchPlace(i64),
    /// A fact came with another type than the registry says.
    #[error("the fact `{name}` is no {expected}")]
    WrongType {
        /// The fact.
        name: String,
        /// The registry's type.
        expected: &'static str,
    },
    /// A value of another type than the checker settled: a fault of the checker.
    #[error("the expression met a value of another type than it was checked for")]
    Misfit,
    /// The bound on the work of one evaluation.
    #[error("the expression needs more work than one evaluation may do; shorten its lists")]
    TooMuchWork,
}

/// A term of the top-level `&&` with what it came to (CEL-08).
#[derive(Debug, Clone, PartialEq)]
pub struct TermTold {
    /// The term as it was written.
    pub text: String,
    /// Whether it holds, or why that cannot be told.
    pub holds: Result<bool, EvalFault>,
    /// The facts it reads, with their values.
    pub facts: BTreeMap<String, Value>,
}

#[derive(Debug)]
struct Inner {
    text: String,
    node: Node,
    reads: BTreeSet<String>,
    marks: BTreeSet<String>,
    kinds: BTreeSet<GateKind>,
}

/// A checked expression of type bool.
#[derive(Debug, Clone)]
pub struct Predicate(Arc<Inner>);

impl PartialEq for Predicate {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Predicate {
    /// Checks a predicate that may read any fact of the registry.
    ///
    /// # Errors
    /// [`PredicateFault`] with the position (CEL-02).
    pub fn parse(text: &str) -> Result<Self, PredicateFault> {
        Self::parse_in(text, Scope::Anything)
    }

    /// Checks a predicate that may read what the scope opens.
    ///
    /// # Errors
    /// [`PredicateFault`] with the position (CEL-02).
    pub fn parse_in(text: &str, scope: Scope) -> Result<Self, PredicateFault> {
        Self::parse_among(text, scope, &[])
    }

    /// The same beside workflows of these names, whose marks it may ask for (CEL-04).
    ///
    /// # Errors
    /// [`PredicateFault`] with the position (CEL-02).
    pub fn parse_among(text: &str, scope: Scope, workflows: &[String]) -> Result<Self, PredicateFault> {
        let lowered = lower::lower(text, scope, workflows)?;
        if lowered.ty != Ty::Bool {
            return Err(PredicateFault {
                position: 1,
                what: format!("the expression is {} {}", lowered.ty.article(), lowered.ty),
                help: "a condition is a bool, such as a comparison".to_owned(),
            });
        }
        let kinds = reached_kinds(&lowered.node);
        Ok(Self(Arc::new(Inner { text: text.to_owned(), node: lowered.node, reads: lowered.reads, marks: lowered.marks, kinds })))
    }

    /// The text as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The dotted names of the facts it reads.
    #[must_use]
    pub fn reads(&self) -> &BTreeSet<String> {
        &self.0.reads
    }

    /// The marks it asks for.
    #[must_use]
    pub fn marks(&self) -> &BTreeSet<String> {
        &self.0.marks
    }

    /// The text that a term of the top-level `&&` pins the fact to, as `fact == "text"` or the other way round (CEL-05, APPR-54).
    #[must_use]
    pub fn pinned(&self, fact: &str) -> Option<&str> {
        self.0.node.terms().into_iter().find_map(|term| term.pins(fact))
    }

    /// Whether it reads the clock.
    #[must_use]
    pub fn reads_now(&self) -> bool {
        self.0.node.reads_now()
    }

    /// Whether it can hold for a gate of this kind: false where its top-level terms over `gate.kind` exclude the kind (APPR-14).
    #[must_use]
    pub fn reaches(&self, kind: GateKind) -> bool {
        self.0.kinds.contains(&kind)
    }

    /// Each term of the top-level `&&` with what it comes to (CEL-08).
    #[must_use]
    pub fn told(&self, facts: &dyn Facts, now: Timestamp) -> Vec<TermTold> {
        let (mut nodes, mut texts) = (self.0.node.terms(), scan::terms(&self.0.text));
        if nodes.len() != texts.len() {
            (nodes, texts) = (vec![&self.0.node], vec![self.0.text.trim().to_owned()]);
        }
        let told = |(node, text): (&Node, String)| {
            let read = node.facts().into_iter();
            TermTold {
                text,
                holds: Evaluation::new(facts, now).holds(node),
                facts: read.map(|(name, kind)| (name.to_owned(), facts.fact(name).unwrap_or_else(|| kind.zero()))).collect(),
            }
        };
        nodes.into_iter().zip(texts).map(told).collect()
    }

    /// Whether it holds. A known fact without a value reads as its type's zero (FACT-05).
    ///
    /// # Errors
    /// [`EvalFault`]: overflow, division by zero and the like; the predicate then counts as false (CEL-07).
    pub fn holds(&self, facts: &dyn Facts, now: Timestamp) -> Result<bool, EvalFault> {
        Evaluation::new(facts, now).holds(&self.0.node)
    }
}

/// A checked expression of any type that a fact may have: a part of a key, an argument of a step.
#[derive(Debug, Clone)]
pub struct Expression {
    inner: Arc<Inner>,
    kind: FactType,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.inner.text == other.inner.text
    }
}

impl Expression {
    /// Checks an expression that may read any fact of the registry.
    ///
    /// # Errors
    /// [`PredicateFault`] with the position.
    pub fn parse(text: &str) -> Result<Self, PredicateFault> {
        Self::parse_in(text, Scope::Anything)
    }

    /// Checks an expression that may read what the scope opens.
    ///
    /// # Errors
    /// [`PredicateFault`] with the position.
    pub fn parse_in(text: &str, scope: Scope) -> Result<Self, PredicateFault> {
        Self::parse_among(text, scope, &[])
    }

    /// The same beside workflows of these names, whose marks it may ask for (CEL-04).
    ///
    /// # Errors
    /// [`PredicateFault`] with the position.
    pub fn parse_among(text: &str, scope: Scope, workflows: &[String]) -> Result<Self, PredicateFault> {
        let lowered = lower::lower(text, scope, workflows)?;
        let kind = lowered.ty.fact_type().ok_or_else(|| PredicateFault {
            position: 1,
            what: format!("the expression is {} {}", lowered.ty.article(), lowered.ty),
            help: "expected a bool, an int, a string, a list of strings, a duration or a timestamp".to_owned(),
        })?;
        let inner = Inner {
            text: text.to_owned(),
            node: lowered.node,
            reads: lowered.reads,
            marks: lowered.marks,
            kinds: BTreeSet::new(),
        };
        Ok(Self { inner: Arc::new(inner), kind })
    }

    /// The text as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The type of its value.
    #[must_use]
    pub fn kind(&self) -> FactType {
        self.kind
    }

    /// The dotted names of the facts it reads.
    #[must_use]
    pub fn reads(&self) -> &BTreeSet<String> {
        &self.inner.reads
    }

    /// The marks it asks for.
    #[must_use]
    pub fn marks(&self) -> &BTreeSet<String> {
        &self.inner.marks
    }

    /// Its value.
    ///
    /// # Errors
    /// [`EvalFault`]: overflow, division by zero and the like.
    pub fn evaluate(&self, facts: &dyn Facts, now: Timestamp) -> Result<Value, EvalFault> {
        Evaluation::new(facts, now).value(&self.inner.node)
    }
}

/// The kinds for which every top-level term that reads `gate.kind` alone holds.
fn reached_kinds(node: &Node) -> BTreeSet<GateKind> {
    let pins: Vec<&Node> = node.terms().into_iter().filter(|term| term.reads_only("gate.kind")).collect();
    GateKind::ALL
        .iter()
        .map(|(kind, _)| *kind)
        .filter(|kind| {
            let frame = Frame::from([("gate.kind", Value::Text(kind.as_str().to_owned()))]);
            pins.iter().all(|pin| Evaluation::new(&frame, Timestamp::UNIX_EPOCH).holds(pin) != Ok(false))
        })
        .collect()
}
