//! Flags as `gh` reads them: long ones with their value behind `=` or in the next word, short ones in a row, the last with its value
//! behind it or in the next word, and `--` before words that are none.

/// One flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flag {
    pub(super) long: &'static str,
    pub(super) short: Option<char>,
    pub(super) value: bool,
}

pub(super) const fn takes(long: &'static str, short: Option<char>) -> Flag {
    Flag { long, short, value: true }
}

pub(super) const fn plain(long: &'static str, short: Option<char>) -> Flag {
    Flag { long, short, value: false }
}

/// The flags of `gh api`.
pub(super) const API: [Flag; 16] = [
    takes("method", Some('X')),
    takes("raw-field", Some('f')),
    takes("field", Some('F')),
    takes("input", None),
    takes("header", Some('H')),
    takes("jq", Some('q')),
    takes("template", Some('t')),
    takes("preview", Some('p')),
    takes("hostname", None),
    takes("cache", None),
    plain("include", Some('i')),
    plain("paginate", None),
    plain("silent", None),
    plain("slurp", None),
    plain("verbose", None),
    plain("allow-escape-sequences", None),
];

/// The words of a call, sorted out.
#[derive(Debug, Default)]
pub(super) struct Given<'a> {
    /// Each flag with its value (`true` for one that takes none), in order.
    pub(super) flags: Vec<(&'static str, &'a str)>,
    /// The words that are no flags.
    pub(super) free: Vec<&'a str>,
}

impl<'a> Given<'a> {
    pub(super) fn has(&self, long: &str) -> bool {
        self.flags.iter().any(|(name, _)| *name == long)
    }

    pub(super) fn last(&self, long: &str) -> Option<&'a str> {
        self.flags.iter().rev().find(|(name, _)| *name == long).map(|(_, value)| *value)
    }
}

/// Sorts words out by a table.
///
/// # Errors
/// The first word that the table does not know, or a value that is missing.
pub(super) fn scan<'a>(words: &[&'a str], table: &[Flag]) -> Result<Given<'a>, String> {
    let mut given = Given::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--" {
            given.free.extend(words.by_ref());
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let flag = table.iter().find(|flag| flag.long == name);
            let flag = flag.ok_or_else(|| format!("`--{name}` is not taken here; leave it out"))?;
            match (flag.value, value) {
                (true, Some(value)) => given.flags.push((flag.long, value)),
                (true, None) => {
                    let value = words.next().ok_or_else(|| format!("`--{name}` needs a value"))?;
                    given.flags.push((flag.long, value));
                }
                (false, None | Some("true")) => given.flags.push((flag.long, "true")),
                (false, Some("false")) => {}
                (false, Some(other)) => return Err(format!("`--{name}` takes no value such as `{other}`")),
            }
        } else if word.len() > 1 && word.starts_with('-') {
            let mut rest = word.get(1..).unwrap_or_default();
            while let Some(letter) = rest.chars().next() {
                rest = rest.get(letter.len_utf8()..).unwrap_or_default();
                let flag = table.iter().find(|flag| flag.short == Some(letter));
                let flag = flag.ok_or_else(|| format!("`-{letter}` is not taken here; leave it out"))?;
                if !flag.value {
                    given.flags.push((flag.long, "true"));
                    continue;
                }
                let value = if rest.is_empty() {
                    words.next().copied().ok_or_else(|| format!("`-{letter}` needs a value"))?
                } else {
                    rest.strip_prefix('=').unwrap_or(rest)
                };
                given.flags.push((flag.long, value));
                break;
            }
        } else {
            given.free.push(word);
        }
    }
    Ok(given)
}

/// `-R` between a group and its command, as in `gh pr -R o/r review`: taken out, and what follows.
pub(super) fn leading_repo<'w, 'a>(words: &'w [&'a str]) -> (Vec<&'a str>, &'w [&'a str]) {
    match words {
        [flag @ ("-R" | "--repo"), value, rest @ ..] => (vec![*flag, *value], rest),
        [flag, rest @ ..] if flag.starts_with("--repo=") || (flag.starts_with("-R") && flag.len() > 2) => (vec![*flag], rest),
        rest => (Vec::new(), rest),
    }
}
