//! Which lines of a pull request's diff a comment may stand on, and what becomes of the comments that stand elsewhere (GH-PUB-18).

use std::collections::{BTreeMap, BTreeSet};

use super::{InlineComment, Side};

/// The lines of one file's patch that GitHub takes a comment on, kept by hunk because a range may not leave its hunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines {
    hunks: Vec<Hunk>,
}

/// One hunk's lines: an unchanged one stands on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Hunk {
    left: BTreeSet<u64>,
    right: BTreeSet<u64>,
}

impl Hunk {
    fn side(&self, side: Side) -> &BTreeSet<u64> {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }
}

impl Lines {
    /// Reads a patch as GitHub gives it for one file. A hunk that breaks off, or that holds what no patch holds, counts as far as
    /// it was readable: a line that is not known for certain is no place for a comment.
    #[must_use]
    pub fn parse(patch: &str) -> Self {
        let mut hunks = Vec::new();
        let mut lines = patch.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).peekable();
        while let Some(line) = lines.next() {
            let Some(header) = Header::parse(line) else {
                continue;
            };
            let mut hunk = Hunk::default();
            let mut left = Span::new(header.left);
            let mut right = Span::new(header.right);
            while left.more() || right.more() {
                let Some(line) = lines.next_if(|line| belongs(line)) else {
                    break;
                };
                let done = match line.bytes().next() {
                    Some(b'+') => right.step().map(|n| hunk.right.insert(n)),
                    Some(b'-') => left.step().map(|n| hunk.left.insert(n)),
                    Some(b'\\') => Some(true),
                    // An unchanged empty line may have lost its leading blank on the way.
                    _ => left.step().zip(right.step()).map(|(l, r)| hunk.left.insert(l) | hunk.right.insert(r)),
                };
                if done.is_none() {
                    break;
                }
            }
            hunks.push(hunk);
        }
        Self { hunks }
    }

    /// Whether a comment may stand on `line`, and start at `start` where it covers several: both in one hunk, in this order.
    #[must_use]
    pub fn holds(&self, side: Side, line: u64, start: Option<u64>) -> bool {
        self.hunks.iter().any(|hunk| {
            let lines = hunk.side(side);
            lines.contains(&line) && start.is_none_or(|start| start <= line && lines.contains(&start))
        })
    }

    /// Every line of a side that takes a comment, ascending within each hunk.
    pub fn lines(&self, side: Side) -> impl Iterator<Item = u64> + '_ {
        self.hunks.iter().flat_map(move |hunk| hunk.side(side).iter().copied())
    }
}

/// Whether a line can be part of a hunk at all.
fn belongs(line: &str) -> bool {
    matches!(line.bytes().next(), None | Some(b' ' | b'+' | b'-' | b'\\'))
}

/// The lines of one side that a hunk's header announces and that were not met yet.
struct Span {
    next: u64,
    left: u64,
}

impl Span {
    fn new((first, count): (u64, u64)) -> Self {
        Self { next: first, left: count }
    }

    fn more(&self) -> bool {
        self.left > 0
    }

    /// The next line's number; `None` once the announced ones are used up.
    fn step(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let line = self.next;
        self.next = line.checked_add(1)?;
        Some(line)
    }
}

/// `@@ -first,count +first,count @@`; a count that is left out is one.
struct Header {
    left: (u64, u64),
    right: (u64, u64),
}

impl Header {
    fn parse(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (left, right) = ranges.split_once(" +")?;
        Some(Self { left: range(left)?, right: range(right)? })
    }
}

fn range(text: &str) -> Option<(u64, u64)> {
    let number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
    match text.split_once(',') {
        Some((first, count)) => Some((number(first)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

/// A review's comments, told apart by whether GitHub takes them where they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placed {
    /// Those on lines of the diff, in the order given.
    pub inline: Vec<InlineComment>,
    /// Those elsewhere, in the order given: they go into the body (`fold_into_body`).
    pub moved: Vec<InlineComment>,
}

/// Sorts comments by the pinned diff: `files` holds each changed file with its patch, `None` where GitHub gives none (GH-PUB-18).
/// A range of one line loses its start, which GitHub would refuse and which says nothing.
#[must_use]
pub fn place(comments: Vec<InlineComment>, files: &[(String, Option<String>)]) -> Placed {
    let wanted: BTreeSet<&str> = comments.iter().map(|comment| comment.path.as_str()).collect();
    let diff: BTreeMap<&str, Lines> = files
        .iter()
        .filter(|(path, _)| wanted.contains(path.as_str()))
        .filter_map(|(path, patch)| Some((path.as_str(), Lines::parse(patch.as_deref()?))))
        .collect();
    let mut fits = Vec::with_capacity(comments.len());
    for comment in &comments {
        fits.push(
            diff.get(comment.path.as_str()).is_some_and(|lines| lines.holds(comment.side, comment.line, comment.start_line)),
        );
    }
    let mut placed = Placed::default();
    for (mut comment, fits) in comments.into_iter().zip(fits) {
        if fits {
            comment.start_line = comment.start_line.filter(|start| *start != comment.line);
            placed.inline.push(comment);
        } else {
            placed.moved.push(comment);
        }
    }
    placed
}

/// `path:line`, or `path:first-last` for a range: the heading a moved comment stands under, and its name in results.
#[must_use]
pub fn spot(comment: &InlineComment) -> String {
    match comment.start_line.filter(|start| *start != comment.line) {
        Some(start) => format!("{}:{start}-{}", comment.path, comment.line),
        None => format!("{}:{}", comment.path, comment.line),
    }
}

/// The body with the comments that could not stand inline below it, each under its place (GH-PUB-18).
#[must_use]
pub fn fold_into_body(body: &str, moved: &[InlineComment]) -> String {
    let mut whole = body.trim_end().to_owned();
    for comment in moved {
        if !whole.is_empty() {
            whole.push_str("\n\n");
        }
        whole.push_str(&code_span(&spot(comment)));
        if comment.side == Side::Left {
            whole.push_str(" (before the change)");
        }
        whole.push_str("\n\n");
        whole.push_str(comment.body.trim());
    }
    whole
}

/// A text as a Markdown code span, whatever backticks it holds.
fn code_span(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let text = text.replace(['\n', '\r'], " ");
    if longest == 0 { format!("{fence}{text}{fence}") } else { format!("{fence} {text} {fence}") }
}

#[cfg(test)]
#[path = "tests_diff.rs"]
mod tests;
