//! The checker: from the parser's tree to a typed one, with every name, type and literal settled (CEL-01, CEL-02).
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the parser's many nodes and pairs of types, the few that are known are named"
)]

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SourceInfo, operators};
use cel::parser::Parser;
use jiff::{SignedDuration, Timestamp};

use super::PredicateFault;
use super::eval::{arithmetic, is_length, is_time, lend};
use super::scan;
use super::tree::{Arithmetic, Comparison, Fold, Node, TextTest, Ty};
use crate::rules::registry::{KNOWN, Known, Scope, known, nearest, place};
use crate::rules::steps::MARKS;
use crate::rules::value::Value;

/// How deep the checked tree may be: what recurses over it stays within a small stack.
const MAX_DEPTH: usize = 128;
/// How deep list macros may nest: nothing bounds their cost but their lists.
const MAX_FOLDS: usize = 2;
/// The bound on a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 256 * 1024;

/// A checked expression with its type and its reads.
pub(super) struct Lowered {
    pub(super) node: Node,
    pub(super) ty: Ty,
    pub(super) reads: BTreeSet<String>,
    pub(super) marks: BTreeSet<String>,
}

/// Parses and checks; `own` are the marks that workflows leave, beside those that a provider declares.
pub(super) fn lower(text: &str, scope: Scope, own: &[String]) -> Result<Lowered, PredicateFault> {
    if text.trim().is_empty() {
        return Err(PredicateFault { position: 1, what: "the expression is empty".to_owned(), help: String::new() });
    }
    scan::bounds(text)?;
    let (tree, source) = Parser::new().parse_with_source_info(text).map_err(|faults| {
        let first = faults.errors.into_iter().next();
        let position = first.as_ref().map_or(1, |fault| from_line_and_column(text, fault.pos));
        PredicateFault {
            position,
            what: first.map_or_else(String::new, |fault| fault.msg.to_lowercase().replace('\n', " ")),
            help: "see the CEL language definition".to_owned(),
        }
    })?;
    let mut checker =
        Checker { scope, own, source, reads: BTreeSet::new(), marks: BTreeSet::new(), locals: Vec::new(), depth: 0, folds: 0 };
    let (node, ty) = checker.node(&tree)?;
    Ok(Lowered { node, ty, reads: checker.reads, marks: checker.marks })
}

/// The parser counts lines from 1 and columns from 0 or 1; the character in the whole text is what can be shown.
fn from_line_and_column(text: &str, (line, column): (isize, isize)) -> usize {
    let before: usize =
        text.split_inclusive('\n').take(usize::try_from(line).unwrap_or(1).saturating_sub(1)).map(|l| l.chars().count()).sum();
    (before + usize::try_from(column).unwrap_or(0)).max(1)
}

type Checked = Result<(Node, Ty), PredicateFault>;

struct Checker<'a> {
    scope: Scope,
    own: &'a [String],
    source: SourceInfo,
    reads: BTreeSet<String>,
    marks: BTreeSet<String>,
    locals: Vec<(String, Ty)>,
    depth: usize,
    folds: usize,
}

impl Checker<'_> {
    fn fault(&self, id: u64, what: impl Into<String>, help: impl Into<String>) -> PredicateFault {
        let bytes = self.source.offset_for(id).map_or(0, |(start, _)| start as usize);
        let before = self.source.source.get(..bytes).unwrap_or_default();
        let position = before.chars().count() + 1;
        PredicateFault { position, what: what.into(), help: help.into() }
    }

    fn node(&mut self, tree: &IdedExpr) -> Checked {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.fault(tree.id, format!("the expression is deeper than {MAX_DEPTH}"), "split it"));
        }
        let checked = self.any(tree);
        self.depth -= 1;
        checked
    }

    fn any(&mut self, tree: &IdedExpr) -> Checked {
        match &tree.expr {
            Expr::Literal(literal) => self.literal(tree.id, literal),
            Expr::Ident(name) => {
                if let Some(slot) = self.locals.iter().rposition(|(local, _)| local == name) {
                    let ty = self.locals.get(slot).map_or(Ty::Any, |(_, ty)| ty.clone());
                    return Ok((Node::Local(slot), ty));
                }
                self.name(tree)
            }
            Expr::Select(select) if select.test => {
                // `has` of a known fact is true: one without a value reads as its type's zero. It counts as a read.
                let base = self.path(&select.operand).ok_or_else(|| self.fault(tree.id, "`has` takes a fact's name", ""))?;
                self.fact(tree.id, &format!("{base}.{}", select.field))?;
                Ok((Node::Const(Value::Bool(true)), Ty::Bool))
            }
            Expr::Select(_) => self.name(tree),
            Expr::Call(call) => self.call(tree, call),
            Expr::List(list) => {
                let mut item_ty = Ty::Any;
                let mut items = Vec::with_capacity(list.elements.len());
                for element in &list.elements {
                    let (node, ty) = self.node(element)?;
                    item_ty = item_ty.unify(&ty).ok_or_else(|| {
                        self.fault(element.id, format!("the list holds {ty} beside {item_ty}"), "one type in one list")
                    })?;
                    items.push(node);
                }
                Ok((constant_texts(&items).unwrap_or(Node::List(items)), Ty::List(Box::new(item_ty))))
            }
            Expr::Comprehension(fold) => self.fold(tree.id, fold),
            Expr::Map(_) | Expr::Struct(_) => Err(self.fault(tree.id, "maps and messages are not known here", "use a list")),
            Expr::Unspecified => Err(self.fault(tree.id, "the expression has a gap", "")),
        }
    }

    fn literal(&self, id: u64, literal: &LiteralValue) -> Checked {
        match literal {
            LiteralValue::Boolean(b) => Ok((Node::Const(Value::Bool(*b.inner())), Ty::Bool)),
            LiteralValue::Int(n) => Ok((Node::Const(Value::Int(*n.inner())), Ty::Int)),
            LiteralValue::String(s) => Ok((Node::Const(Value::Text(s.inner().to_owned())), Ty::Text)),
            LiteralValue::Double(_) | LiteralValue::UInt(_) => {
                Err(self.fault(id, "only whole numbers are known here", "write it as an int, such as `3`"))
            }
            LiteralValue::Bytes(_) | LiteralValue::Null => {
                Err(self.fault(id, "bytes and null are not known here", "a fact without a value reads as its type's zero"))
            }
        }
    }

    /// The dotted name that an identifier, selections and literal indexes on it spell.
    fn path(&self, tree: &IdedExpr) -> Option<String> {
        match &tree.expr {
            Expr::Ident(name) => (!self.locals.iter().any(|(local, _)| local == name)).then(|| name.clone()),
            Expr::Select(select) if !select.test => Some(format!("{}.{}", self.path(&select.operand)?, select.field)),
            Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
                [base, key] => match &key.expr {
                    Expr::Literal(LiteralValue::String(key)) => Some(format!("{}.{}", self.path(base)?, key.inner())),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// The node at which the path begins: its position is what a message shows.
    fn root(tree: &IdedExpr) -> u64 {
        match &tree.expr {
            Expr::Select(select) => Self::root(&select.operand),
            Expr::Call(call) if call.func_name == operators::INDEX => call.args.first().map_or(tree.id, Self::root),
            _ => tree.id,
        }
    }

    fn name(&mut self, tree: &IdedExpr) -> Checked {
        match self.path(tree) {
            Some(name) if name == "now" => Ok((Node::Now, Ty::Time)),
            Some(name) => self.fact(Self::root(tree), &name),
            None => Err(self.fault(tree.id, "a field of something that has none", "only facts have dotted names")),
        }
    }

    fn fact(&mut self, at: u64, name: &str) -> Checked {
        if let Some((its_place, row)) = place(name).and_then(|place| Some((place, KNOWN.get(place)?))) {
            if !self.scope.admits(row) {
                return Err(self.out_of_reach(at, row));
            }
            self.reads.insert(name.to_owned());
            return Ok((Node::Fact(row.name, row.kind, its_place), Ty::of(row.kind)));
        }
        let readable = KNOWN.iter().filter(|row| self.scope.admits(row)).map(|row| row.name);
        let below = format!("{name}.");
        if let Some(row) = KNOWN.iter().find(|row| row.name.starts_with(&below)) {
            return Err(self.fault(at, format!("`{name}` alone is no fact"), format!("name one, such as `{}`", row.name)));
        }
        let help = match nearest(name, readable) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`wloop workflows facts` lists those a rule can read".to_owned(),
        };
        Err(self.fault(at, format!("unknown fact `{name}`"), help))
    }

    /// A fact that exists and cannot be read here: of another provider's units, or of another place.
    fn out_of_reach(&self, at: u64, row: &Known) -> PredicateFault {
        let what = format!("`{}` cannot be read in {}", row.name, self.scope.as_str());
        let help = match (row.provider(), self.scope) {
            (Some(of), Scope::Workflow(here) | Scope::DraftsWithdraw(here) | Scope::Rule(Some(here))) if of != here => {
                format!("it is a fact of `{}`, and here those of `{}` are read", of.as_str(), here.as_str())
            }
            _ => {
                let open = row.slots.iter().map(|slot| format!("`{}`", slot.as_str())).collect::<Vec<_>>().join(", ");
                format!("it is open in {open}")
            }
        };
        self.fault(at, what, help)
    }

    fn call(&mut self, tree: &IdedExpr, call: &CallExpr) -> Checked {
        let args: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        let name = call.func_name.as_str();
        match (name, args.as_slice()) {
            (operators::LOGICAL_AND, [a, b]) => self.bools(tree.id, "&&", a, b).map(|(a, b)| (Node::all(a, b), Ty::Bool)),
            (operators::LOGICAL_OR, [a, b]) => self.bools(tree.id, "||", a, b).map(|(a, b)| (Node::any(a, b), Ty::Bool)),
            (operators::LOGICAL_NOT, [a]) => Ok((Node::Not(self.expect(a, &Ty::Bool, "`!`")?), Ty::Bool)),
            (operators::NOT_STRICTLY_FALSE, [a]) => {
                Ok((Node::NotStrictlyFalse(self.expect(a, &Ty::Bool, "a list macro")?), Ty::Bool))
            }
            (operators::NEGATE, [a]) => Ok((Node::Negate(self.expect(a, &Ty::Int, "`-`")?), Ty::Int)),
            (operators::CONDITIONAL, [when, then, otherwise]) => {
                let when = self.expect(when, &Ty::Bool, "`?:`")?;
                let ((then, a), (otherwise, b)) = (self.node(then)?, self.node(otherwise)?);
                let ty = a
                    .unify(&b)
                    .ok_or_else(|| self.fault(tree.id, format!("`?:` gives {a} or {b}"), "both answers need one type"))?;
                Ok((Node::If(when, Box::new(then), Box::new(otherwise)), ty))
            }
            (operators::EQUALS | operators::NOT_EQUALS, [a, b]) => {
                let ((a, left), (b, right)) = (self.node(a)?, self.node(b)?);
                let sign = if name == operators::EQUALS { "==" } else { "!=" };
                if left.unify(&right).is_none() {
                    return Err(self.no_operator(tree.id, sign, &left, &right));
                }
                let equal = Node::Equal(Box::new(a), Box::new(b));
                Ok((if name == operators::EQUALS { equal } else { Node::Not(Box::new(equal)) }, Ty::Bool))
            }
            (operators::LESS, [a, b]) => self.compare(tree.id, Comparison::Less, "<", a, b),
            (operators::LESS_EQUALS, [a, b]) => self.compare(tree.id, Comparison::LessOrEqual, "<=", a, b),
            (operators::GREATER, [a, b]) => self.compare(tree.id, Comparison::Greater, ">", a, b),
            (operators::GREATER_EQUALS, [a, b]) => self.compare(tree.id, Comparison::GreaterOrEqual, ">=", a, b),
            (operators::IN, [item, list]) => {
                let ((item, left), (list, right)) = (self.node(item)?, self.node(list)?);
                match &right {
                    Ty::List(of) if of.unify(&left).is_some() => Ok((Node::In(Box::new(item), Box::new(list)), Ty::Bool)),
                    _ => Err(self.no_operator(tree.id, "in", &left, &right)),
                }
            }
            (operators::ADD, [a, b]) => self.arithmetic(tree.id, Arithmetic::Add, a, b),
            (operators::SUBSTRACT, [a, b]) => self.arithmetic(tree.id, Arithmetic::Subtract, a, b),
            (operators::MULTIPLY, [a, b]) => self.arithmetic(tree.id, Arithmetic::Multiply, a, b),
            (operators::DIVIDE, [a, b]) => self.arithmetic(tree.id, Arithmetic::Divide, a, b),
            (operators::MODULO, [a, b]) => self.arithmetic(tree.id, Arithmetic::Remainder, a, b),
            (operators::INDEX, [list, place]) => self.index(tree, list, place),
            ("size", [of]) => match self.node(of)? {
                (node, Ty::Text | Ty::List(_)) => Ok((Node::Size(Box::new(node)), Ty::Int)),
                (_, ty) => Err(self.fault(of.id, format!("`size` of {} {ty}", ty.article()), "expected a string or a list")),
            },
            ("startsWith", [text, part]) => self.text_test(TextTest::StartsWith, name, text, part),
            ("endsWith", [text, part]) => self.text_test(TextTest::EndsWith, name, text, part),
            ("contains", [text, part]) => self.text_test(TextTest::Contains, name, text, part),
            ("matches", [text, pattern]) => self.matches(text, pattern),
            ("duration", [of]) => self.duration(of),
            ("timestamp", [of]) => self.timestamp(of),
            ("handled", [mark, value]) => self.handled(mark, value),
            ("handled" | "size" | "startsWith" | "endsWith" | "contains" | "matches" | "duration" | "timestamp", wrong) => {
                Err(self.fault(tree.id, format!("`{name}` does not take {} arguments", wrong.len()), ""))
            }
            (unknown, _) => Err(self.unknown_function(tree.id, unknown)),
        }
    }

    fn unknown_function(&self, id: u64, name: &str) -> PredicateFault {
        const FUNCTIONS: [&str; 14] = [
            "handled",
            "size",
            "startsWith",
            "endsWith",
            "contains",
            "matches",
            "duration",
            "timestamp",
            "has",
            "exists",
            "all",
            "exists_one",
            "filter",
            "map",
        ];
        let help = match nearest(name, FUNCTIONS) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known are {}", FUNCTIONS.join(", ")),
        };
        self.fault(id, format!("unknown function `{name}`"), help)
    }

    fn no_operator(&self, id: u64, sign: &str, left: &Ty, right: &Ty) -> PredicateFault {
        self.fault(id, format!("no operator {left} {sign} {right}"), "both sides need fitting types")
    }

    fn expect(&mut self, tree: &IdedExpr, wanted: &Ty, of: &str) -> Result<Box<Node>, PredicateFault> {
        let (node, ty) = self.node(tree)?;
        if ty.unify(wanted).is_none() {
            return Err(self.fault(
                Self::root(tree),
                format!("{of} of {} {ty}", ty.article()),
                format!("expected {} {wanted}", wanted.article()),
            ));
        }
        Ok(Box::new(node))
    }

    fn bools(&mut self, id: u64, sign: &str, a: &IdedExpr, b: &IdedExpr) -> Result<(Node, Node), PredicateFault> {
        let ((a, left), (b, right)) = (self.node(a)?, self.node(b)?);
        if left.unify(&Ty::Bool).is_none() || right.unify(&Ty::Bool).is_none() {
            return Err(self.no_operator(id, sign, &left, &right));
        }
        Ok((a, b))
    }

    fn compare(&mut self, id: u64, how: Comparison, sign: &str, a: &IdedExpr, b: &IdedExpr) -> Checked {
        let ((a, left), (b, right)) = (self.node(a)?, self.node(b)?);
        if left != right || matches!(left, Ty::List(_) | Ty::Any) {
            return Err(self.no_operator(id, sign, &left, &right));
        }
        Ok((Node::Compare(how, Box::new(a), Box::new(b)), Ty::Bool))
    }

    fn arithmetic(&mut self, id: u64, op: Arithmetic, a: &IdedExpr, b: &IdedExpr) -> Checked {
        let ((a, left), (b, right)) = (self.node(a)?, self.node(b)?);
        let ty = match (&left, op, &right) {
            (Ty::Int, _, Ty::Int) => Some(Ty::Int),
            (Ty::Text, Arithmetic::Add, Ty::Text) => Some(Ty::Text),
            (Ty::List(_), Arithmetic::Add, Ty::List(_)) => left.unify(&right),
            (Ty::Duration, Arithmetic::Add | Arithmetic::Subtract, Ty::Duration) => Some(Ty::Duration),
            (Ty::Time, Arithmetic::Add | Arithmetic::Subtract, Ty::Duration) => Some(Ty::Time),
            (Ty::Duration, Arithmetic::Add, Ty::Time) => Some(Ty::Time),
            (Ty::Time, Arithmetic::Subtract, Ty::Time) => Some(Ty::Duration),
            _ => None,
        };
        let Some(ty) = ty else { return Err(self.no_operator(id, op.as_str(), &left, &right)) };
        let divides = matches!(op, Arithmetic::Divide | Arithmetic::Remainder);
        match (&a, &b) {
            // What can be known at load is said at load (CEL-06).
            (Node::Const(left), Node::Const(right)) => arithmetic(op, lend(left), lend(right))
                .map(|value| (Node::Const(value.into_value()), ty))
                .map_err(|fault| self.fault(id, fault.to_string(), "")),
            (_, Node::Const(Value::Int(0))) if divides => Err(self.fault(id, "a division by zero", "")),
            _ => Ok((Node::Arithmetic(op, Box::new(a), Box::new(b)), ty)),
        }
    }

    fn index(&mut self, tree: &IdedExpr, list: &IdedExpr, place: &IdedExpr) -> Checked {
        if let Some(name) = self.path(tree) {
            return self.fact(Self::root(tree), &name);
        }
        if let Some(name) = self.path(list)
            && known(&name).is_none()
            && KNOWN.iter().any(|row| row.name.starts_with(&format!("{name}.")))
        {
            return Err(self.fault(tree.id, format!("`{name}` with a computed key"), "write the fact's whole name"));
        }
        let (list, ty) = self.node(list)?;
        let Ty::List(item) = ty else { return Err(self.fault(tree.id, format!("an index into {ty}"), "expected a list")) };
        let place = self.expect(place, &Ty::Int, "an index")?;
        Ok((Node::Index(Box::new(list), place), *item))
    }

    fn text_test(&mut self, test: TextTest, name: &str, text: &IdedExpr, part: &IdedExpr) -> Checked {
        let of = format!("`{name}`");
        let (text, part) = (self.expect(text, &Ty::Text, &of)?, self.expect(part, &Ty::Text, &of)?);
        Ok((Node::TextTest(test, text, part), Ty::Bool))
    }

    fn matches(&mut self, text: &IdedExpr, pattern: &IdedExpr) -> Checked {
        let text = self.expect(text, &Ty::Text, "`matches`")?;
        let Expr::Literal(LiteralValue::String(literal)) = &pattern.expr else {
            return Err(self.fault(pattern.id, "`matches` with a computed pattern", "write the pattern as a literal"));
        };
        let compiled =
            regex::RegexBuilder::new(literal.inner()).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build().map_err(
                |why| {
                    let why = why.to_string();
                    let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                    self.fault(
                        pattern.id,
                        format!("the pattern cannot be used: {last}"),
                        "RE2 syntax, without look-around or back-references",
                    )
                },
            )?;
        Ok((Node::Matches(text, compiled), Ty::Bool))
    }

    /// Whether a mark on the unit covers a value (CEL-04).
    fn handled(&mut self, mark: &IdedExpr, value: &IdedExpr) -> Checked {
        let Expr::Literal(LiteralValue::String(name)) = &mark.expr else {
            return Err(self.fault(mark.id, "`handled` with a computed mark", "write the mark as a literal"));
        };
        let name = name.inner();
        let Scope::Workflow(here) = self.scope else {
            return Err(self.fault(mark.id, "marks are for the conditions of workflows", ""));
        };
        let declared = MARKS.iter().find(|row| row.name == name && row.serves == here);
        if declared.is_none() && !self.own.iter().any(|own| own == name) {
            let known: Vec<&str> = MARKS
                .iter()
                .filter(|row| row.serves == here)
                .map(|row| row.name)
                .chain(self.own.iter().map(String::as_str))
                .collect();
            let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            return Err(self.fault(mark.id, format!("unknown mark `{name}`"), format!("{near}known are {list}")));
        }
        let (node, ty) = self.node(value)?;
        let fits = match declared {
            Some(row) => ty == Ty::of(row.covers),
            // A workflow's own mark covers the keys it has dealt with.
            None => matches!(ty, Ty::Text | Ty::Int | Ty::Bool | Ty::Time),
        };
        if !fits {
            let wanted = declared.map_or_else(|| "a part of its key".to_owned(), |row| Ty::of(row.covers).to_string());
            return Err(self.fault(Self::root(value), format!("the mark `{name}` covers no {ty}"), format!("expected {wanted}")));
        }
        self.marks.insert(name.to_owned());
        Ok((Node::Handled(name.to_owned(), Box::new(node)), Ty::Bool))
    }

    fn duration(&self, of: &IdedExpr) -> Checked {
        let Expr::Literal(LiteralValue::String(text)) = &of.expr else {
            return Err(self.fault(of.id, "`duration` takes a literal", "such as `duration(\"24h\")`"));
        };
        cel_duration(text.inner())
            .filter(is_length)
            .map(|d| (Node::Const(Value::Duration(d)), Ty::Duration))
            .ok_or_else(|| self.fault(of.id, format!("`{}` is no duration", text.inner()), "such as `24h`, `1h30m`, `45s`"))
    }

    fn timestamp(&self, of: &IdedExpr) -> Checked {
        let (at, shown) = match &of.expr {
            Expr::Literal(LiteralValue::Int(seconds)) => {
                (Timestamp::from_second(*seconds.inner()).ok(), seconds.inner().to_string())
            }
            Expr::Literal(LiteralValue::String(text)) => (text.inner().parse::<Timestamp>().ok(), text.inner().to_owned()),
            _ => return Err(self.fault(of.id, "`timestamp` takes a literal", "RFC 3339, or Unix seconds as `timestamp(0)`")),
        };
        at.filter(is_time)
            .map(|at| (Node::Const(Value::Time(at)), Ty::Time))
            .ok_or_else(|| self.fault(of.id, format!("`{shown}` is no time"), "RFC 3339, or Unix seconds"))
    }

    fn fold(&mut self, id: u64, fold: &ComprehensionExpr) -> Checked {
        if fold.iter_var2.is_some() {
            return Err(self.fault(id, "a list macro with two variables", "use one"));
        }
        let (range, ty) = self.node(&fold.iter_range)?;
        let Ty::List(item) = ty else { return Err(self.fault(id, format!("a list macro on {ty}"), "expected a list")) };
        if self.folds == MAX_FOLDS {
            return Err(self.fault(id, format!("list macros nest deeper than {MAX_FOLDS}"), ""));
        }
        self.folds += 1;
        let (init, accu) = self.node(&fold.accu_init)?;
        let depth = self.locals.len();
        self.locals.push((fold.accu_var.clone(), accu.clone()));
        self.locals.push((fold.iter_var.clone(), *item));
        let go_on = self.expect(&fold.loop_cond, &Ty::Bool, "a list macro")?;
        let (step, stepped) = self.node(&fold.loop_step)?;
        let settled = accu
            .unify(&stepped)
            .ok_or_else(|| self.fault(fold.loop_step.id, format!("a list macro with {stepped}"), format!("expected {accu}")))?;
        self.locals.truncate(depth);
        self.locals.push((fold.accu_var.clone(), settled));
        let (result, ty) = self.node(&fold.result)?;
        self.locals.truncate(depth);
        self.folds -= 1;
        Ok((Node::Fold(Box::new(Fold { range, init, go_on: *go_on, step, result })), ty))
    }
}

/// A duration as CEL writes it: numbers, with a fraction if wanted, each with `h`, `m`, `s`, `ms`, `us` or `ns`; a sign before all.
fn cel_duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let (unit, nanos) = [
            ("ms", 1_000_000),
            ("us", 1_000),
            ("ns", 1),
            ("h", 3_600_000_000_000),
            ("m", 60_000_000_000),
            ("s", 1_000_000_000_i128),
        ]
        .into_iter()
        .find(|(unit, _)| tail.starts_with(unit))?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || fraction.len() > 18 {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(nanos)?)?;
        if !fraction.is_empty() {
            let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            total = total.checked_add(fraction.parse::<i128>().ok()?.checked_mul(nanos)? / scale)?;
        }
        rest = tail.get(unit.len()..)?;
    }
    let total = if negative { -total } else { total };
    let seconds = i64::try_from(total / 1_000_000_000).ok()?;
    let nanos = i32::try_from(total % 1_000_000_000).ok()?;
    Some(SignedDuration::new(seconds, nanos))
}

/// A list of text literals, made once and not in each evaluation.
fn constant_texts(items: &[Node]) -> Option<Node> {
    let texts = items.iter().map(|item| match item {
        Node::Const(Value::Text(text)) => Some(text.clone()),
        _ => None,
    });
    let texts = texts.collect::<Option<Vec<String>>>().filter(|texts| !texts.is_empty())?;
    Some(Node::Const(Value::List(texts)))
}
