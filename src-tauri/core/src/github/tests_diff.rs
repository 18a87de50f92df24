use proptest::prelude::*;

use super::*;

const PATCH: &str =
    "@@ -1,4 +1,5 @@ fn main()\n one\n-two\n+zwei\n+drei\n four\n five\n@@ -20 +21,0 @@\n-gone\n\\ No newline at end of file";

fn on(path: &str, side: Side, line: u64, start_line: Option<u64>) -> InlineComment {
    InlineComment { path: path.into(), line, start_line, side, body: format!("about {line}") }
}

fn of(lines: &Lines, side: Side) -> Vec<u64> {
    lines.lines(side).collect()
}

#[test]
fn a_patch_names_its_lines() {
    // GH-PUB-18
    let lines = Lines::parse(PATCH);
    assert_eq!(of(&lines, Side::Right), [1, 2, 3, 4, 5]);
    assert_eq!(of(&lines, Side::Left), [1, 2, 3, 4, 20]);
}

#[test]
fn text_that_is_no_patch_names_none() {
    // GH-PUB-18
    for text in
        ["", "one\n+two", "@@", "@@ -x +y @@\n+a", "@@ -1,2 +1,2\n+a", "@@ -1 +99999999999999999999 @@\n+a", "@@ -,1 +1 @@\n+a"]
    {
        assert_eq!(Lines::parse(text).hunks, [], "{text}");
    }
}

#[test]
fn a_hunk_counts_as_far_as_it_goes() {
    // GH-PUB-18
    let cut_off = Lines::parse("@@ -5,9 +5,9 @@\n a\n+b");
    assert_eq!(of(&cut_off, Side::Right), [5, 6]);
    let too_long = Lines::parse("@@ -5,1 +5,1 @@\n a\n+b\n c");
    assert_eq!(of(&too_long, Side::Right), [5]);
    let stripped = Lines::parse("@@ -1,3 +1,3 @@\n a\n\n c\n");
    assert_eq!(of(&stripped, Side::Right), [1, 2, 3]);
    let other_ends = Lines::parse("@@ -1,2 +1,2 @@\r\n a\r\n\r\n");
    assert_eq!(of(&other_ends, Side::Right), [1, 2]);
}

#[test]
fn comments_outside_the_diff_move_into_the_body() {
    // GH-PUB-18
    let files =
        [("src/a.rs".to_owned(), Some(PATCH.to_owned())), ("logo.png".to_owned(), None), ("b".to_owned(), Some(String::new()))];
    let inline =
        vec![on("src/a.rs", Side::Right, 3, None), on("src/a.rs", Side::Left, 20, None), on("src/a.rs", Side::Right, 5, Some(2))];
    let moved = vec![
        on("src/a.rs", Side::Right, 6, None),
        on("src/a.rs", Side::Left, 21, None),
        on("src/a.rs", Side::Right, 0, None),
        on("logo.png", Side::Right, 1, None),
        on("b", Side::Right, 1, None),
        on("src/other.rs", Side::Right, 1, None),
        // A range that starts outside, leaves its hunk, or runs backwards.
        on("src/a.rs", Side::Right, 1, Some(0)),
        on("src/a.rs", Side::Left, 20, Some(2)),
        on("src/a.rs", Side::Right, 2, Some(5)),
    ];
    let mixed: Vec<InlineComment> = moved.iter().chain(&inline).cloned().collect();
    assert_eq!(place(mixed, &files), Placed { inline, moved });
}

#[test]
fn a_range_of_one_line_is_a_line() {
    // GH-PUB-18
    let files = [("a".to_owned(), Some(PATCH.to_owned()))];
    let placed = place(vec![on("a", Side::Right, 3, Some(3))], &files);
    assert_eq!(placed.inline, [on("a", Side::Right, 3, None)]);
}

#[test]
fn a_moved_comment_stands_under_its_place() {
    // GH-PUB-18
    let moved = [on("src/a.rs", Side::Right, 9, None), on("b`c", Side::Left, 4, Some(2))];
    let body = fold_into_body("Mostly fine.\n", &moved);
    assert_eq!(body, "Mostly fine.\n\n`src/a.rs:9`\n\nabout 9\n\n`` b`c:2-4 `` (before the change)\n\nabout 4");
    assert_eq!(fold_into_body("", &moved[..1]), "`src/a.rs:9`\n\nabout 9");
    assert_eq!(fold_into_body("as it is", &[]), "as it is");
}

/// A hunk's lines by their first character, and where it starts on both sides.
fn hunk() -> impl Strategy<Value = (u64, u64, Vec<char>)> {
    (1_u64..500, 1_u64..500, prop::collection::vec(prop::sample::select(vec![' ', '+', '-']), 1..20))
}

fn written(left: u64, right: u64, kinds: &[char]) -> String {
    let count = |other: char| kinds.iter().filter(|kind| **kind != other).count();
    let mut patch = format!("@@ -{left},{} +{right},{} @@ fn x() @@\n", count('+'), count('-'));
    for kind in kinds {
        patch.push_str(&format!("{kind}@@ -1 +1 @@ text\n"));
    }
    patch
}

fn any_comment() -> impl Strategy<Value = InlineComment> {
    let side = prop::sample::select(vec![Side::Left, Side::Right]);
    let path = prop::sample::select(vec!["a", "b", "c"]);
    (path, 0_u64..60, prop::option::of(0_u64..60), side).prop_map(|(path, line, start, side)| on(path, side, line, start))
}

proptest! {
    #[test]
    fn what_a_patch_shows_is_what_it_takes((left, right, kinds) in hunk()) {
        // GH-PUB-18
        let lines = Lines::parse(&written(left, right, &kinds));
        let (mut l, mut r) = (left, right);
        let (mut on_left, mut on_right) = (vec![], vec![]);
        for kind in kinds {
            if kind != '+' { on_left.push(l); l += 1; }
            if kind != '-' { on_right.push(r); r += 1; }
        }
        prop_assert_eq!(of(&lines, Side::Left), on_left);
        prop_assert_eq!(of(&lines, Side::Right), on_right);
    }

    #[test]
    fn no_comment_is_lost_or_sent_outside(
        comments in prop::collection::vec(any_comment(), 0..12),
        (left, right, kinds) in hunk(),
    ) {
        // GH-PUB-18
        let patch = written(left % 40, right % 40, &kinds);
        let lines = Lines::parse(&patch);
        let files = [("a".to_owned(), Some(patch)), ("b".to_owned(), None)];
        let placed = place(comments.clone(), &files);
        for comment in &placed.inline {
            prop_assert!(comment.path == "a" && lines.holds(comment.side, comment.line, comment.start_line));
            prop_assert!(comment.start_line.is_none_or(|start| start < comment.line));
        }
        prop_assert_eq!(placed.inline.len() + placed.moved.len(), comments.len());
        let moved: Vec<_> = comments.iter().filter(|comment| placed.moved.contains(comment)).cloned().collect();
        prop_assert_eq!(&moved, &placed.moved);
        let body = fold_into_body("body", &placed.moved);
        for comment in &placed.moved {
            let heading = format!("`{}`", spot(comment));
            prop_assert!(body.contains(&heading) && body.contains(&comment.body));
        }
    }

    #[test]
    fn parsing_takes_anything(text in "(@@ -[0-9]{0,20},?[0-9]{0,3} \\+[0-9]{0,20} @@\n|[ +@\\\\-]?.{0,5}\n){0,12}") {
        // GH-PUB-18
        let lines = Lines::parse(&text);
        prop_assert!(lines.lines(Side::Right).count() <= text.lines().count());
    }
}
