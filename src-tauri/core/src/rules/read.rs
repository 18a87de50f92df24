//! Reading a TOML file that a person wrote: every fault with its position, and every key that nobody asked for refused (PROF-05).

#![expect(clippy::wildcard_enum_match_arm, reason = "of the types of TOML values, the one that is wanted is named")]

use std::cell::RefCell;
use std::collections::BTreeSet;

use jiff::SignedDuration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Fault;
use super::predicate::{Predicate, PredicateFault};
use super::registry::{Scope, nearest};

/// One file being read.
pub(crate) struct Source<'t> {
    file: &'t str,
    text: &'t str,
    /// The workflows beside this file, whose marks its conditions may ask for.
    workflows: &'t [String],
    faults: RefCell<Vec<Fault>>,
}

/// Reads a file with `body`; any fault on the way makes the whole answer the list of faults.
pub(crate) fn read<T>(file: &str, text: &str, body: impl FnOnce(&Table<'_>) -> Option<T>) -> Result<T, Vec<Fault>> {
    read_beside(file, text, &[], body)
}

/// The same for a file that stands beside workflows of these names.
pub(crate) fn read_beside<T>(
    file: &str,
    text: &str,
    workflows: &[String],
    body: impl FnOnce(&Table<'_>) -> Option<T>,
) -> Result<T, Vec<Fault>> {
    let source = Source { file, text, workflows, faults: RefCell::new(Vec::new()) };
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors
            .iter()
            .map(|error| Fault {
                file: file.to_owned(),
                at: error.span().map(|span| source.position(span.start)),
                // A key that stands there twice is worth its name; elsewhere the place says more than a piece of broken text.
                key: error
                    .span()
                    .filter(|_| error.message() == "duplicate key")
                    .and_then(|span| text.get(span))
                    .unwrap_or_default()
                    .to_owned(),
                what: error.message().to_lowercase(),
                help: String::new(),
            })
            .collect());
    }
    let root = Table::new(&source, String::new(), document.span().start, document.get_ref());
    let value = body(&root);
    root.finish();
    drop(root);
    let faults = source.faults.into_inner();
    match value {
        Some(value) if faults.is_empty() => Ok(value),
        Some(_) | None if !faults.is_empty() => Err(faults),
        Some(_) | None => Err(vec![Fault {
            file: file.to_owned(),
            at: None,
            key: String::new(),
            what: "the file cannot be used".to_owned(),
            help: String::new(),
        }]),
    }
}

impl Source<'_> {
    /// Line and column, from 1, in characters.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

/// A text with where it stands.
pub(crate) struct Text {
    pub(crate) value: String,
    /// The byte of the file at which its first character stands, where the quotes hold it letter by letter.
    start: usize,
    exact: bool,
}

/// A table being read; it remembers which keys were asked for.
pub(crate) struct Table<'s> {
    source: &'s Source<'s>,
    path: String,
    at: usize,
    table: &'s DeTable<'s>,
    asked: RefCell<BTreeSet<String>>,
}

impl<'s> Table<'s> {
    fn new(source: &'s Source<'s>, path: String, at: usize, table: &'s DeTable<'s>) -> Self {
        Self { source, path, at, table, asked: RefCell::new(BTreeSet::new()) }
    }

    fn path_of(&self, key: &str) -> String {
        let plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let key = if plain { key.to_owned() } else { format!("\"{key}\"") };
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    fn push(&self, offset: usize, key: String, what: String, help: String) {
        let at = Some(self.source.position(offset));
        self.source.faults.borrow_mut().push(Fault { file: self.source.file.to_owned(), at, key, what, help });
    }

    /// A fault of one key, at its value where it has one.
    pub(crate) fn fault(&self, key: &str, what: impl Into<String>, help: impl Into<String>) {
        let offset = self.table.get(key).map_or(self.at, |value| value.span().start);
        self.push(offset, self.path_of(key), what.into(), help.into());
    }

    /// A fault of the table itself.
    pub(crate) fn own_fault(&self, what: impl Into<String>, help: impl Into<String>) {
        self.push(self.at, self.path.clone(), what.into(), help.into());
    }

    fn raw(&self, key: &str) -> Option<&'s Spanned<DeValue<'s>>> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.table.get(key)
    }

    fn wrong(&self, key: &str, value: &DeValue<'_>, expected: &str) {
        self.fault(key, format!("found {}", article(value.type_str())), format!("expected {expected}"));
    }

    /// Whether the key is given.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.raw(key).is_some()
    }

    /// Whether the key holds a list.
    pub(crate) fn is_list(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|value| value.get_ref().is_array())
    }

    /// Accepts the key with whatever it holds.
    pub(crate) fn anything(&self, key: &str) {
        self.raw(key);
    }

    /// A text with its place.
    pub(crate) fn placed(&self, key: &str) -> Option<Text> {
        let value = self.raw(key)?;
        let Some(text) = value.get_ref().as_str() else {
            self.wrong(key, value.get_ref(), "a text");
            return None;
        };
        let span = value.span();
        let exact = self.source.text.get(span.start + 1..(span.end.max(1)) - 1) == Some(text);
        Some(Text { value: text.to_owned(), start: span.start + usize::from(exact), exact })
    }

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.placed(key).map(|text| text.value)
    }

    /// A text that must be there and not be blank.
    pub(crate) fn required(&self, key: &str) -> Option<String> {
        match self.text(key) {
            Some(text) if text.trim().is_empty() => {
                self.fault(key, "it is blank", "write a few words");
                None
            }
            Some(text) => Some(text),
            None => {
                if !self.has(key) {
                    self.own_fault(format!("`{key}` is missing"), format!("add `{key} = \"...\"`"));
                }
                None
            }
        }
    }

    /// A truth.
    pub(crate) fn bool(&self, key: &str) -> Option<bool> {
        let value = self.raw(key)?;
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong(key, value.get_ref(), "true or false");
        }
        found
    }

    /// A whole number that is not negative and fits.
    pub(crate) fn count(&self, key: &str) -> Option<u32> {
        let value = self.raw(key)?;
        let Some(number) = value.get_ref().as_integer() else {
            self.wrong(key, value.get_ref(), "a whole number");
            return None;
        };
        let digits = number.as_str().replace('_', "");
        let found = u32::from_str_radix(&digits, number.radix()).ok();
        if found.is_none() {
            self.fault(key, format!("`{digits}` is out of range"), format!("expected 0 to {}", u32::MAX));
        }
        found
    }

    /// A length of time.
    pub(crate) fn duration(&self, key: &str) -> Option<SignedDuration> {
        let text = self.text(key)?;
        let found = parse_duration(&text);
        if found.is_none() {
            self.fault(key, format!("`{text}` is no length of time"), "such as `60s`, `1h30m` or `2d`");
        }
        found
    }

    /// A length of time of at least a second.
    pub(crate) fn window(&self, key: &str) -> Option<SignedDuration> {
        let found = self.duration(key)?;
        if found.is_zero() {
            self.fault(key, "it is no time at all", "at least `1s`");
            return None;
        }
        Some(found)
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let value = self.raw(key)?;
        let found: Option<Vec<String>> = value
            .get_ref()
            .as_array()
            .and_then(|items| items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect());
        if found.is_none() {
            self.wrong(key, value.get_ref(), "a list of texts");
        }
        found
    }

    /// One word of a closed list.
    pub(crate) fn word<T: Clone>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(key)?;
        let found = one_of(&text, words);
        if found.is_none() {
            self.unknown_word(key, &text, words.iter().map(|(word, _)| *word));
        }
        found
    }

    /// A list of words of a closed list.
    pub(crate) fn words<T: Clone>(&self, key: &str, words: &[(&str, T)]) -> Option<Vec<T>> {
        let texts = self.texts(key)?;
        let mut found = Vec::with_capacity(texts.len());
        for text in texts {
            match one_of(&text, words) {
                Some(value) => found.push(value),
                None => self.unknown_word(key, &text, words.iter().map(|(word, _)| *word)),
            }
        }
        Some(found)
    }

    /// The fault of a word that is not in the list.
    pub(crate) fn unknown_word<'w>(&self, key: &str, given: &str, words: impl Iterator<Item = &'w str> + Clone) {
        let known = words.clone().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let near = nearest(given, words).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        self.fault(key, format!("unknown value `{given}`"), format!("{near}known are {known}"));
    }

    /// A table below this one.
    pub(crate) fn table(&self, key: &str) -> Option<Table<'s>> {
        let value = self.raw(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Table::new(self.source, self.path_of(key), value.span().start, table)),
            other => {
                self.wrong(key, other, "a table");
                None
            }
        }
    }

    /// A list of tables below this one.
    pub(crate) fn tables(&self, key: &str) -> Option<Vec<Table<'s>>> {
        let value = self.raw(key)?;
        let Some(items) = value.get_ref().as_array() else {
            self.wrong(key, value.get_ref(), "a list of tables");
            return None;
        };
        let mut tables = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", self.path_of(key));
            match item.get_ref() {
                DeValue::Table(table) => tables.push(Table::new(self.source, path, item.span().start, table)),
                other => {
                    self.push(
                        item.span().start,
                        path,
                        format!("found {}", article(other.type_str())),
                        "expected a table".to_owned(),
                    );
                }
            }
        }
        Some(tables)
    }

    /// The keys that were not asked for by name, each with its table: for tables whose keys are names a person chose.
    pub(crate) fn rest(&self) -> Vec<(String, Table<'s>)> {
        let asked = self.asked.borrow().clone();
        self.keys()
            .into_iter()
            .filter(|name| !asked.contains(name))
            .filter_map(|name| self.table(&name).map(|table| (name, table)))
            .collect()
    }

    /// Every key, in the file's or alphabetical order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.table.keys().map(|key| key.get_ref().to_string()).collect()
    }

    /// A predicate over what the scope opens.
    pub(crate) fn predicate(&self, key: &str, scope: Scope) -> Option<Predicate> {
        let text = self.placed(key)?;
        Predicate::parse_among(&text.value, scope, self.source.workflows)
            .map_err(|fault| self.expression_fault(key, &text, 0, &fault))
            .ok()
    }

    /// The workflows beside this file.
    pub(crate) fn workflows(&self) -> &'s [String] {
        self.source.workflows
    }

    /// A fault inside an expression that stands in a text, `skip` characters after the text's begin.
    pub(crate) fn expression_fault(&self, key: &str, text: &Text, skip: usize, fault: &PredicateFault) {
        let inside = skip + fault.position.saturating_sub(1);
        let bytes: usize = text.value.chars().take(inside).map(char::len_utf8).sum();
        let offset = if text.exact { text.start + bytes } else { text.start };
        let what = format!("at character {} of the expression: {}", fault.position, fault.what);
        self.push(offset, self.path_of(key), what, fault.help.clone());
    }

    /// Refuses every key that was not asked for, with the nearest one that was.
    pub(crate) fn finish(&self) {
        let asked = self.asked.borrow();
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if asked.contains(name) {
                continue;
            }
            let help = match nearest(name, asked.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here are {}", asked.iter().map(|k| format!("`{k}`")).collect::<Vec<_>>().join(", ")),
            };
            self.push(key.span().start, self.path_of(name), format!("unknown key `{name}`"), help);
        }
    }
}

fn one_of<T: Clone>(given: &str, words: &[(&str, T)]) -> Option<T> {
    words.iter().find(|(word, _)| *word == given).map(|(_, value)| value.clone())
}

/// A length of time as configuration and profile write it: one or more of `<number>` with `d`, `h`, `m` or `s`; no sign.
#[must_use]
pub(crate) fn parse_duration(text: &str) -> Option<SignedDuration> {
    let mut total: i64 = 0;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let seconds: i64 = match tail.chars().next()? {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(seconds)?)?;
        rest = tail.get(1..)?;
    }
    // A century is more than any window needs, and far from the ends of time.
    (total <= 100 * 366 * 86_400).then(|| SignedDuration::from_secs(total))
}

/// A type's name with its article.
pub(crate) fn article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {word}")
}
