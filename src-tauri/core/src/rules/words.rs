//! Words that a person wrote with facts in them: one-line labels over facts, and longer texts over a context (PROF-08, INT-09).
//! A fact's text is data: it is put in, never read as a template.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value as Tv;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::registry::{KNOWN, Scope, known, nearest};
use super::value::{Facts, Value};

/// Why a template has no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct WordsFault {
    /// The line of the template, from 1, where known.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl WordsFault {
    fn of(error: &minijinja::Error) -> Self {
        let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
        Self { line: error.line(), what: format!("{}{detail}", error.kind()) }
    }
}

fn environment<'a>() -> Environment<'a> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_recursion_limit(64);
    environment
}

/// Renders a one-line template over facts: `{{ Facts["pr.slug"] }}`, or `{{ pr.slug }}` by its root. The result is one line: line
/// breaks become spaces, other control characters are made visible.
///
/// # Errors
/// [`WordsFault`] for a template that does not compile or names what is no fact.
pub fn render_line(template: &str, facts: &dyn Facts) -> Result<String, WordsFault> {
    let mut by_name = BTreeMap::new();
    for name in fact_names(template) {
        let value = facts.fact(&name).or_else(|| known(&name).map(|row| row.kind.zero()));
        if let Some(value) = value {
            by_name.insert(name, to_template(&value));
        }
    }
    let mut context = nest(&by_name);
    context.insert("Facts".to_owned(), Tv::from(by_name));
    render(template, Tv::from(context)).map(|text| one_line(&text))
}

/// Renders a text over a context; an undefined name is an error (INT-09).
///
/// # Errors
/// [`WordsFault`] for a template that does not compile or names something undefined.
pub fn render_text(template: &str, context: minijinja::Value) -> Result<String, WordsFault> {
    let mut environment = environment();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build().map_err(|error| WordsFault::of(&error))?;
    environment.set_syntax(syntax);
    environment.render_str(template, context).map_err(|error| WordsFault::of(&error))
}

fn render(template: &str, context: Tv) -> Result<String, WordsFault> {
    environment().render_str(template, context).map_err(|error| WordsFault::of(&error))
}

/// Checks that a template compiles (LANG-10).
///
/// # Errors
/// [`WordsFault`] with the line.
pub fn check_text(template: &str) -> Result<(), WordsFault> {
    environment().template_from_str(template).map(|_| ()).map_err(|error| WordsFault::of(&error))
}

/// Checks a one-line template: it compiles, and every fact it names may be read in this scope.
///
/// # Errors
/// [`WordsFault`] with the nearest known name.
pub fn check_line(template: &str, scope: Scope) -> Result<(), WordsFault> {
    check_text(template)?;
    let readable = |name: &str| known(name).is_some_and(|row| scope.admits(row));
    for name in fact_names(template) {
        if !readable(&name) {
            let names = KNOWN.iter().map(|row| row.name).filter(|name| readable(name));
            let near = nearest(&name, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let what = if known(&name).is_some() { "a fact that cannot be read here" } else { "an unknown fact" };
            return Err(WordsFault { line: None, what: format!("`{name}` is {what}{near}") });
        }
    }
    Ok(())
}

/// The dotted names that stand inside the template's tags, quoted or not.
fn fact_names(template: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut rest = template;
    while let Some(open) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let inside = rest.get(open + 2..).unwrap_or_default();
        let end = inside.find("}}").into_iter().chain(inside.find("%}")).min().unwrap_or(inside.len());
        let (tag, after) = inside.split_at(end);
        let words = tag.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        names.extend(words.filter(|word| is_dotted(word)).map(str::to_owned));
        rest = after;
    }
    names
}

fn is_dotted(word: &str) -> bool {
    let part = |part: &str| part.starts_with(|c: char| c.is_ascii_lowercase());
    word.contains('.') && word.split('.').all(part)
}

fn to_template(value: &Value) -> Tv {
    match value {
        Value::Bool(b) => Tv::from(*b),
        Value::Int(n) => Tv::from(*n),
        Value::Text(text) => Tv::from(text.as_str()),
        Value::List(items) => Tv::from_iter(items.iter().map(String::as_str)),
        Value::Duration(duration) => Tv::from(format!("{duration:#}")),
        Value::Time(time) => Tv::from(time.to_string()),
    }
}

/// The facts as nested maps under their roots. No fact's name is the beginning of another's.
fn nest(facts: &BTreeMap<String, Tv>) -> BTreeMap<String, Tv> {
    let mut below: BTreeMap<String, BTreeMap<String, Tv>> = BTreeMap::new();
    let mut here = BTreeMap::new();
    for (name, value) in facts {
        match name.split_once('.') {
            Some((root, rest)) => {
                below.entry(root.to_owned()).or_default().insert(rest.to_owned(), value.clone());
            }
            None => {
                here.insert(name.clone(), value.clone());
            }
        }
    }
    for (root, facts) in below {
        here.insert(root, Tv::from(nest(&facts)));
    }
    here
}

/// One line of a text: line breaks and tabs as spaces, other control characters and direction marks made visible.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            c if c.is_control() || is_direction_mark(c) => line.extend(c.escape_unicode()),
            c => line.push(c),
        }
    }
    line
}

fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
