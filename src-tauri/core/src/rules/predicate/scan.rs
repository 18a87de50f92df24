//! What is refused before a parser sees it: the parser recurses on the caller's stack, so its input is bounded first (CEL-06).

use super::PredicateFault;

/// The longest expression, in bytes.
pub(super) const MAX_BYTES: usize = 8 * 1024;
/// How deep brackets may nest.
pub(super) const MAX_NESTING: usize = 24;
/// How many `!` or `-` may follow one another.
pub(super) const MAX_UNARY: usize = 16;
/// How many operators, selections, indexes and commas there may be.
pub(super) const MAX_OPERATORS: usize = 400;

fn fault(position: usize, what: String) -> PredicateFault {
    PredicateFault { position, what, help: "split it, or shorten it".to_owned() }
}

/// Checks the bounds, quotes and comments aside.
pub(super) fn bounds(text: &str) -> Result<(), PredicateFault> {
    if text.len() > MAX_BYTES {
        return Err(fault(1, format!("the expression has {} bytes; at most {MAX_BYTES} are read", text.len())));
    }
    let chars: Vec<char> = text.chars().collect();
    let (mut nesting, mut unary, mut operators) = (0_usize, 0_usize, 0_usize);
    let mut word_start = None;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        if c.is_alphanumeric() || c == '_' {
            word_start.get_or_insert(at);
            unary = 0;
            at += 1;
            continue;
        }
        let prefix: String = word_start.take().and_then(|from| chars.get(from..at)).unwrap_or_default().iter().collect();
        match c {
            '"' | '\'' => {
                let raw = prefix.len() <= 2 && prefix.contains(['r', 'R']);
                at = end_of_string(&chars, at, raw);
                unary = 0;
                continue;
            }
            '/' if chars.get(at + 1) == Some(&'/') => {
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
                continue;
            }
            '(' | '[' | '{' => {
                nesting += 1;
                operators += 1;
                if nesting > MAX_NESTING {
                    return Err(fault(at + 1, format!("brackets nest deeper than {MAX_NESTING}")));
                }
            }
            ')' | ']' | '}' => nesting = nesting.saturating_sub(1),
            '!' | '-' => {
                unary += 1;
                operators += 1;
                if unary > MAX_UNARY {
                    return Err(fault(at + 1, format!("more than {MAX_UNARY} signs in a row")));
                }
            }
            c if c.is_whitespace() => {}
            _ => operators += 1,
        }
        if !matches!(c, '!' | '-') && !c.is_whitespace() {
            unary = 0;
        }
        if operators > MAX_OPERATORS {
            return Err(fault(at + 1, format!("more than {MAX_OPERATORS} operators")));
        }
        at += 1;
    }
    Ok(())
}

/// The terms of the top-level `&&` as they were written, without the brackets around them (CEL-08). The text is one that parses.
pub(super) fn terms(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.trim().chars().collect();
    let mut found = Vec::new();
    take_terms(&chars, &mut found);
    found
}

fn take_terms(chars: &[char], found: &mut Vec<String>) {
    let cuts = Cuts::of(chars);
    if cuts.whole_in_brackets {
        if let Some(inner) = chars.get(1..chars.len().saturating_sub(1)) {
            take_terms(trimmed(inner), found);
        }
    } else if cuts.looser || cuts.ands.is_empty() {
        found.push(chars.iter().collect());
    } else {
        let mut from = 0;
        for at in cuts.ands.into_iter().chain([chars.len()]) {
            take_terms(trimmed(chars.get(from..at).unwrap_or_default()), found);
            from = at + 2;
        }
    }
}

fn trimmed(chars: &[char]) -> &[char] {
    let from = chars.iter().position(|c| !c.is_whitespace()).unwrap_or(chars.len());
    let to = chars.iter().rposition(|c| !c.is_whitespace()).map_or(from, |at| at + 1);
    chars.get(from..to).unwrap_or_default()
}

/// What stands outside of all brackets and quotes.
struct Cuts {
    /// The places of `&&`.
    ands: Vec<usize>,
    /// Whether there is something that binds looser: `||` or `?:`.
    looser: bool,
    /// Whether one pair of brackets holds everything.
    whole_in_brackets: bool,
}

impl Cuts {
    fn of(chars: &[char]) -> Self {
        let mut cuts = Self { ands: Vec::new(), looser: false, whole_in_brackets: chars.first() == Some(&'(') };
        let (mut depth, mut at) = (0_usize, 0_usize);
        let mut word_start = None;
        while let Some(&c) = chars.get(at) {
            if c.is_alphanumeric() || c == '_' {
                word_start.get_or_insert(at);
                at += 1;
                continue;
            }
            let prefix: String = word_start.take().and_then(|from| chars.get(from..at)).unwrap_or_default().iter().collect();
            match c {
                '"' | '\'' => {
                    at = end_of_string(chars, at, prefix.len() <= 2 && prefix.contains(['r', 'R']));
                    continue;
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => {
                    depth = depth.saturating_sub(1);
                    cuts.whole_in_brackets &= depth > 0 || at + 1 == chars.len();
                }
                '&' if depth == 0 && chars.get(at + 1) == Some(&'&') => {
                    cuts.ands.push(at);
                    at += 1;
                }
                '|' | '?' if depth == 0 => cuts.looser = true,
                _ => {}
            }
            at += 1;
        }
        cuts
    }
}

/// The place after a string literal that begins at `at`; the end where it is not closed.
fn end_of_string(chars: &[char], at: usize, raw: bool) -> usize {
    let quote = chars.get(at).copied();
    let triple = chars.get(at + 1).copied() == quote && chars.get(at + 2).copied() == quote;
    let mut here = at + if triple { 3 } else { 1 };
    while let Some(&c) = chars.get(here) {
        if c == '\\' && !raw {
            here += 2;
        } else if Some(c) == quote && !triple {
            return here + 1;
        } else if Some(c) == quote && chars.get(here + 1).copied() == quote && chars.get(here + 2).copied() == quote {
            return here + 3;
        } else {
            here += 1;
        }
    }
    here
}
