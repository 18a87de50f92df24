//! One file of a diff: its patch, and which of its lines may carry a comment.

use crate::model::Side;

/// A file as `git diff` and `GET …/files` show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    pub(crate) path: String,
    pub(crate) previous: Option<String>,
    /// `added`, `removed`, `modified` or `renamed`.
    pub(crate) status: &'static str,
    pub(crate) sha: Option<String>,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    /// From the first `@@` on; none for a binary file or a rename without a change.
    pub(crate) patch: Option<String>,
}

/// A line of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchLine {
    /// The number of lines below the first `@@`.
    pub(crate) position: u64,
    /// Its number in the base, when it is there.
    pub(crate) left: Option<u64>,
    /// Its number in the head, when it is there.
    pub(crate) right: Option<u64>,
    /// Which hunk it is in, from 0.
    pub(crate) hunk: usize,
    /// The line with its first character.
    pub(crate) text: String,
}

impl PatchLine {
    pub(crate) fn number(&self, side: Side) -> Option<u64> {
        match side {
            Side::Left => self.left,
            Side::Right => self.right,
        }
    }
}

impl FileDiff {
    /// The lines of the patch without its `@@` lines.
    pub(crate) fn lines(&self) -> Vec<PatchLine> {
        let mut lines = Vec::new();
        let (mut left, mut right) = (0, 0);
        let mut hunk = None;
        for (position, text) in self.patch.as_deref().unwrap_or_default().lines().enumerate() {
            if let Some((from, to)) = hunk_starts(text) {
                (left, right) = (from, to);
                hunk = Some(hunk.map_or(0, |hunk: usize| hunk + 1));
                continue;
            }
            let (in_left, in_right) = match text.as_bytes().first() {
                Some(b'+') => (false, true),
                Some(b'-') => (true, false),
                Some(b'\\') => (false, false),
                Some(_) | None => (true, true),
            };
            lines.push(PatchLine {
                position: u64::try_from(position).unwrap_or(u64::MAX),
                left: in_left.then_some(left),
                right: in_right.then_some(right),
                hunk: hunk.unwrap_or(0),
                text: text.to_owned(),
            });
            left += u64::from(in_left);
            right += u64::from(in_right);
        }
        lines
    }

    pub(crate) fn line(&self, side: Side, number: u64) -> Option<PatchLine> {
        self.lines().into_iter().find(|line| line.number(side) == Some(number))
    }

    pub(crate) fn at_position(&self, position: u64) -> Option<PatchLine> {
        self.lines().into_iter().find(|line| line.position == position)
    }

    /// The patch up to a position, from the `@@` of its hunk, as `diff_hunk` shows it.
    pub(crate) fn hunk_up_to(&self, position: u64) -> String {
        let mut kept: Vec<&str> = Vec::new();
        for (at, text) in self.patch.as_deref().unwrap_or_default().lines().enumerate() {
            if hunk_starts(text).is_some() {
                kept.clear();
            }
            kept.push(text);
            if u64::try_from(at).is_ok_and(|at| at == position) {
                break;
            }
        }
        kept.join("\n")
    }
}

/// The first line numbers of `@@ -a,b +c,d @@`.
fn hunk_starts(text: &str) -> Option<(u64, u64)> {
    let rest = text.strip_prefix("@@ -")?;
    let (left, rest) = rest.split_once(" +")?;
    let (right, _) = rest.split_once(" @@")?;
    let first = |range: &str| range.split(',').next().and_then(|number| number.parse().ok());
    Some((first(left)?, first(right)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(patch: &str) -> FileDiff {
        FileDiff {
            path: "a".to_owned(),
            previous: None,
            status: "modified",
            sha: None,
            additions: 1,
            deletions: 1,
            patch: Some(patch.to_owned()),
        }
    }

    #[test]
    fn lines_of_both_sides_are_numbered() {
        let file = file("@@ -3,3 +3,3 @@ fn a()\n one\n-two\n+zwei\n three\n@@ -20 +20,2 @@\n x\n+y");
        assert_eq!(file.line(Side::Left, 4).map(|line| line.text), Some("-two".to_owned()));
        assert_eq!(file.line(Side::Right, 4).map(|line| line.text), Some("+zwei".to_owned()));
        assert_eq!(file.line(Side::Right, 21).map(|line| (line.position, line.hunk)), Some((7, 1)));
        assert_eq!(file.line(Side::Right, 10), None, "a line between the hunks is not in the diff");
        assert_eq!(file.hunk_up_to(7), "@@ -20 +20,2 @@\n x\n+y");
        assert_eq!(file.hunk_up_to(2), "@@ -3,3 +3,3 @@ fn a()\n one\n-two");
    }
}
