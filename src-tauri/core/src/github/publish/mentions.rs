//! Whom a text mentions, as GitHub would count it (GH-PUB-15).

use std::collections::{BTreeMap, BTreeSet};

/// The accounts and teams a text mentions, each once, in the order they first appear: a login bare, a team as `@org/team`. Code
/// spans and code blocks do not mention. In doubt a name is listed: a list that is too long surprises less than a ping.
#[must_use]
pub fn mentions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut met = BTreeSet::new();
    for paragraph in paragraphs(text) {
        for name in names(&without_spans(&paragraph)) {
            if met.insert(name.to_ascii_lowercase()) {
                found.push(name);
            }
        }
    }
    found
}

/// An open fence.
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// The text without its code blocks, cut at blank lines and blocks: a code span does not reach beyond these.
fn paragraphs(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = String::new();
    let mut fence: Option<Fence> = None;
    let mut in_list = false;
    let mut after_blank = true;
    for line in text.lines() {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = width(line, content);
        let blank = content.trim().is_empty();
        if let Some(within) = &fence {
            let left_item = in_list && !blank && within.indent > 0 && indent < within.indent;
            if closes(within, content, indent) {
                fence = None;
                continue;
            }
            if !left_item {
                continue;
            }
            fence = None;
        }
        if blank {
            all.push(std::mem::take(&mut open));
            after_blank = true;
            continue;
        }
        if indent < 4 {
            let item = is_item(content);
            if item || (after_blank && indent == 0) {
                in_list = item;
            }
            if let Some(opened) = opens(content, indent) {
                all.push(std::mem::take(&mut open));
                fence = Some(opened);
                after_blank = true;
                continue;
            }
        } else if after_blank && !in_list {
            // An indented block: it lasts until a line that is not indented, so `after_blank` stays.
            continue;
        }
        after_blank = false;
        open.push_str(content);
        open.push('\n');
    }
    all.push(open);
    all
}

/// The columns before the content, a tab reaching to the next multiple of four.
fn width(line: &str, content: &str) -> usize {
    let lead = line.get(..line.len() - content.len()).unwrap_or_default();
    lead.chars().fold(0, |column, c| if c == '\t' { column / 4 * 4 + 4 } else { column + 1 })
}

fn opens(content: &str, indent: usize) -> Option<Fence> {
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = content.chars().take_while(|c| *c == mark).count();
    let info = content.get(length..).unwrap_or_default();
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { mark, length, indent })
}

fn closes(fence: &Fence, content: &str, indent: usize) -> bool {
    let length = content.chars().take_while(|c| *c == fence.mark).count();
    indent < fence.indent + 4 && length >= fence.length && content.get(length..).is_some_and(|rest| rest.trim().is_empty())
}

fn is_item(content: &str) -> bool {
    let after = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if after.len() == content.len() { ['-', '*', '+'].as_slice() } else { ['.', ')'].as_slice() };
    after.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// A paragraph with each code span replaced by a blank.
fn without_spans(paragraph: &str) -> String {
    let bytes = paragraph.as_bytes();
    let mut runs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = run(bytes, at);
        if length > 0 {
            runs.entry(length).or_default().push(at);
        }
        at += length.max(1);
    }
    let mut plain = String::with_capacity(paragraph.len());
    let mut at = 0;
    let mut kept = 0;
    while at < bytes.len() {
        // An escaped backtick opens nothing.
        if bytes.get(at) == Some(&b'\\') {
            at += 1 + usize::from(bytes.get(at + 1).is_some_and(u8::is_ascii));
            continue;
        }
        let length = run(bytes, at);
        if length == 0 {
            at += 1;
            continue;
        }
        let closing = runs.get(&length).and_then(|starts| starts.get(starts.partition_point(|start| *start < at + length)));
        match closing {
            Some(end) => {
                plain.push_str(paragraph.get(kept..at).unwrap_or_default());
                plain.push(' ');
                at = end + length;
                kept = at;
            }
            None => at += length,
        }
    }
    plain.push_str(paragraph.get(kept..).unwrap_or_default());
    plain
}

/// How many backticks stand at this place.
fn run(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).map_or(0, |rest| rest.iter().take_while(|b| **b == b'`').count())
}

/// The names behind the at-signs of a text without code.
fn names(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = "";
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('@') {
        let glued = head.chars().next_back().or_else(|| before.chars().next_back());
        let address = head.rsplit(char::is_whitespace).next().is_some_and(|word| word.contains("://"));
        before = "@";
        rest = tail;
        if address || glued.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            continue;
        }
        found.extend(name(tail));
    }
    found
}

/// The login or team a text starts with.
fn name(text: &str) -> Option<String> {
    let login = word(text)?;
    let after = text.get(login.len()..).unwrap_or_default();
    if let Some(slash) = after.strip_prefix('/') {
        return word(slash).map(|team| format!("@{login}/{team}"));
    }
    // A dot inside, as in a host name, makes it no login; dots that end it do not.
    let dots = after.trim_start_matches('.');
    let inner = dots.len() < after.len() && dots.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (!inner).then(|| login.to_owned())
}

/// Letters, digits, hyphens and underscores (logins that an enterprise manages hold one), from a letter or digit on.
fn word(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))).unwrap_or(text.len());
    let word = text.get(..end)?;
    word.starts_with(|c: char| c.is_ascii_alphanumeric()).then_some(word)
}
