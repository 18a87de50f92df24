use proptest::prelude::*;

use super::*;
use crate::github::AccountKind;

const VIEWER: &str = "U_viewer";

fn post(n: u8) -> PostId {
    format!("{n:032x}").parse().unwrap()
}

fn author(id: &str) -> Account {
    Account { id: id.into(), login: "ana".into(), kind: AccountKind::User }
}

fn unit() -> UnitRef {
    UnitRef::github("PR_1")
}

fn review(event: ReviewEvent) -> Shape {
    Shape::Review { event, comments: vec![] }
}

fn reply(to: u64) -> Shape {
    Shape::Reply { in_reply_to: to }
}

/// A started review turn that may publish reviews and replies, with nothing posted.
fn turn() -> TurnView {
    TurnView {
        unit: unit(),
        state: "started".into(),
        publish: vec!["review".into(), "reply".into()],
        threads: Some(vec![11, 12]),
        posts: vec![],
        open_gate: None,
        by_hand: false,
        review_before: None,
    }
}

fn made(n: u8, shape: &Shape, text: &str, delivery: Delivery) -> TurnPost {
    let (name, goal, hash) = (shape.name().to_owned(), target(shape), text_hash(shape, text));
    TurnPost { id: post(n), shape: name, target: goal, text_hash: hash, delivery, url: format!("https://github.test/{n}") }
}

fn ask(turn: &TurnView, shape: &Shape, text: &str) -> Result<Allowed, Denied> {
    allowed(Some(turn), &Asked { unit: &unit(), shape, text })
}

#[track_caller]
fn refused(turn: &TurnView, shape: &Shape, code: Code, word: &str) {
    let denied = ask(turn, shape, "text").unwrap_err();
    assert_eq!(denied.code, code, "{denied:?}");
    assert!(denied.message.contains(word) && !denied.hint.is_empty(), "{denied:?}");
}

#[test]
fn the_marker_stands_alone_at_the_end() {
    // GH-PUB-03
    let id = "0000000000000000000000000000000a";
    assert_eq!(compose("Fine.\n\n", "", post(10)).unwrap(), format!("Fine.\n\n<!-- wloop:{id} -->"));
    assert_eq!(compose("Fine.", "by wloop\n", post(10)).unwrap(), format!("Fine.\n\nby wloop\n\n<!-- wloop:{id} -->"));
    assert_eq!(compose(" \n", "by wloop", post(10)).unwrap(), format!("<!-- wloop:{id} -->"));
    assert_eq!(compose("    code", "", post(10)).unwrap(), format!("    code\n\n<!-- wloop:{id} -->"));
}

#[test]
fn a_marker_is_read_from_the_last_line_only() {
    // GH-PUB-03, GH-PUB-29
    let mark = marker(post(7));
    for body in [mark.clone(), format!("text\r\n\r\n{mark}\r\n"), format!("text\n{mark}\n\n")] {
        assert_eq!(marker_of(&body), Some(post(7)), "{body:?}");
    }
    for body in [
        String::new(),
        format!("{mark}\ntext"),
        format!("> {mark}"),
        format!("text {mark}"),
        mark.replace("wloop:", "wloop: "),
        mark.replace("00000", "0000g"),
        mark.replace("wloop:0", "wloop:"),
    ] {
        assert_eq!(marker_of(&body), None, "{body:?}");
    }
}

#[test]
fn signature_and_marker_count_towards_the_limit() {
    // GH-PUB-04
    let room = TEXT_LIMIT - marker(post(1)).chars().count() - 2 - "sign".len() - 2;
    // Characters, not bytes.
    let fits = "ü".repeat(room);
    assert_eq!(compose(&fits, "sign", post(1)).unwrap().chars().count(), TEXT_LIMIT);
    let fault = compose(&format!("{fits}ü"), "sign", post(1)).unwrap_err();
    assert_eq!(fault, TextFault::TooLong { length: TEXT_LIMIT + 1 });
    assert!(fault.to_string().contains("65537") && fault.to_string().contains("65536"));
}

#[test]
fn markers_in_a_proposed_text_are_removed() {
    // GH-PUB-05
    let mark = marker(post(3));
    let cases = [
        (format!("a\n\n{mark}"), "a\n\n"),
        (format!("a{mark}b{mark}c"), "abc"),
        ("a<!--wloop:whatever-->b".to_owned(), "ab"),
        // One inside another, so that removing the inner would leave a marker.
        (format!("<!-- wl{mark}oop:{} -->x", post(4)), "x"),
        (format!("<!-{mark}- wloop:{} -->x", post(4)), "x"),
    ];
    for (text, left) in cases {
        assert_eq!(strip_markers(&text), left, "{text}");
    }
    for kept in ["<!-- note -->", "wloop: it", "<!-- wloop", "-->", "<!-->", "a <!-- b --> wloop: --> c", "<!-- wloop:\n-->"] {
        assert_eq!(strip_markers(kept), kept);
    }
    let whole = compose(&format!("see {mark}"), &mark, post(1)).unwrap();
    assert_eq!(whole, format!("see\n\n{}", marker(post(1))));
}

#[test]
fn a_text_that_says_nothing_is_refused() {
    // GH-PUB-14
    let silent = marker(post(1));
    for shape in [Shape::Comment, reply(1), review(ReviewEvent::Comment)] {
        assert_eq!(refuse_empty(&shape, &silent), Err(TextFault::Empty { shape: shape.name() }));
        assert_eq!(refuse_empty(&shape, "word"), Ok(()));
    }
    assert_eq!(refuse_empty(&review(ReviewEvent::Approve), ""), Ok(()));
    let inline = InlineComment { path: "a".into(), line: 1, start_line: None, side: Side::Right, body: "b".into() };
    let inline = Shape::Review { event: ReviewEvent::Comment, comments: vec![inline] };
    assert_eq!(refuse_empty(&inline, ""), Ok(()));
}

#[test]
fn mentions_are_counted_as_github_does() {
    // GH-PUB-15
    let cases: [(&str, &[&str]); 21] = [
        ("@ana and @Bo-2, also (@cy).", &["ana", "Bo-2", "cy"]),
        ("@acme/core please", &["@acme/core"]),
        ("@ana @ANA @ana", &["ana"]),
        ("mail a@b.example, x_@y, @-z, @", &[]),
        ("@host.example is none, @ana. is, @bo... is", &["ana", "bo"]),
        ("@acme/ alone", &[]),
        ("https://x.test/@ana", &[]),
        ("@ana@bo", &["ana"]),
        ("`@ana` ``@bo ` @cy`` @dee", &["dee"]),
        ("`unclosed @ana", &["ana"]),
        ("\\`@ana`", &["ana"]),
        ("`a\n\n@ana`", &["ana"]),
        ("`two\n@ana lines`", &[]),
        ("```\n@ana\n```\n@bo", &["bo"]),
        ("~~~~ rust\n@ana\n~~~\n@cy\n~~~~\n@bo", &["bo"]),
        ("```\n@ana never closed", &[]),
        ("``` @ana ```", &[]),
        ("text\n\n    @code\n\n@bo", &["bo"]),
        ("text\n    @ana goes on", &["ana"]),
        ("- item\n\n    @ana in the item", &["ana"]),
        ("> @ana wrote", &["ana"]),
    ];
    for (text, expected) in cases {
        assert_eq!(mentions(text), expected, "{text}");
    }
}

#[test]
fn a_post_of_ours_is_known_by_id_then_marker_never_by_author() {
    // GH-PUB-05, GH-PUB-29
    let viewer = author(VIEWER);
    let stranger = author("U_other");
    let body = format!("text\n\n{}", marker(post(5)));
    let sent = |id: &str| (id == "IC_sent").then(|| post(9));
    let own = |id: &str, author: Option<&Account>, body: &str| own_post(id, author, body, &viewer, sent);
    assert_eq!(own("IC_sent", None, "edited since"), Some(post(9)));
    assert_eq!(own("IC_new", Some(&viewer), &body), Some(post(5)));
    assert_eq!(own("IC_new", Some(&viewer), "typed by hand"), None);
    assert_eq!(own("IC_new", Some(&stranger), &body), None);
    assert_eq!(own("IC_new", None, &body), None);
}

#[test]
fn an_own_pull_request_takes_comments_only() {
    // GH-PUB-21
    use ReviewEvent::{Approve, Comment, RequestChanges};
    for (event, mine, expected) in [
        (Approve, true, (Comment, true)),
        (RequestChanges, true, (Comment, true)),
        (Comment, true, (Comment, false)),
        (Approve, false, (Approve, false)),
        (RequestChanges, false, (RequestChanges, false)),
        (Comment, false, (Comment, false)),
    ] {
        assert_eq!(limit_event(event, mine), expected);
    }
}

#[test]
fn a_write_needs_a_started_turn_on_its_unit() {
    // GH-PUB-25
    assert_eq!(ask(&turn(), &review(ReviewEvent::Approve), "text"), Ok(Allowed::New));
    let denied = allowed(None, &Asked { unit: &unit(), shape: &Shape::Comment, text: "text" }).unwrap_err();
    assert_eq!(denied.code, Code::NotInTurn);
    refused(&TurnView { state: "asked".into(), ..turn() }, &reply(11), Code::TurnState, "`asked`");
    refused(&TurnView { unit: UnitRef::github("PR_2"), ..turn() }, &reply(11), Code::UnitScope, "PR_1");
    refused(&turn(), &Shape::Comment, Code::Refused, "`comment`");
    refused(&TurnView { publish: vec![], ..turn() }, &reply(11), Code::Refused, "`reply`");
    refused(&TurnView { open_gate: Some("may it?".into()), ..turn() }, &reply(11), Code::Refused, "may it?");
}

#[test]
fn a_turn_makes_one_review_one_comment_and_its_replies() {
    // GH-PUB-22
    let verdict = review(ReviewEvent::Approve);
    let reviewed = TurnView { posts: vec![made(1, &verdict, "first", Delivery::new(PostState::Sent))], ..turn() };
    refused(&reviewed, &verdict, Code::Already, "https://github.test/1");
    assert_eq!(ask(&reviewed, &reply(11), "text"), Ok(Allowed::New));
    refused(&turn(), &reply(13), Code::Refused, "`13`");
    assert_eq!(ask(&TurnView { threads: None, ..turn() }, &reply(13), "text"), Ok(Allowed::New));
    let commented = TurnView {
        publish: vec!["comment".into(), "reply".into()],
        posts: vec![
            made(1, &Shape::Comment, "first", Delivery::new(PostState::Sending)),
            made(2, &reply(11), "a", Delivery::new(PostState::Sent)),
        ],
        ..turn()
    };
    refused(&commented, &Shape::Comment, Code::Already, "comment");
    assert_eq!(ask(&commented, &reply(11), "another"), Ok(Allowed::New));
}

#[test]
fn a_post_that_did_not_go_leaves_its_place_free() {
    // GH-PUB-22, GH-PUB-25
    let verdict = review(ReviewEvent::Approve);
    let after = |maybe_posted| TurnView {
        posts: vec![made(1, &verdict, "first", Delivery { state: PostState::Failed, maybe_posted })],
        ..turn()
    };
    assert_eq!(ask(&after(false), &verdict, "text"), Ok(Allowed::New));
    refused(&after(true), &verdict, Code::Already, "review");
}

#[test]
fn the_same_write_again_answers_with_the_first() {
    // GH-PUB-26
    let verdict = review(ReviewEvent::Approve);
    for delivery in [
        Delivery::new(PostState::Sending),
        Delivery::new(PostState::Sent),
        Delivery { state: PostState::Failed, maybe_posted: true },
    ] {
        let turn = TurnView {
            posts: vec![made(1, &reply(11), "a", Delivery::new(PostState::Sent)), made(2, &verdict, "text", delivery)],
            review_before: Some("https://github.test/2".into()),
            ..turn()
        };
        assert_eq!(ask(&turn, &verdict, "text\n"), Ok(Allowed::Repeat(post(2))));
        assert_eq!(ask(&turn, &reply(11), "a"), Ok(Allowed::Repeat(post(1))));
        assert_eq!(ask(&turn, &reply(12), "a"), Ok(Allowed::New), "another thread is another write");
        let denied = ask(&turn, &review(ReviewEvent::Comment), "text").unwrap_err();
        assert_eq!(denied.code, Code::Already, "another event is another review");
    }
}

#[test]
fn a_head_is_reviewed_once_for_each_request() {
    // ROUND-13
    let verdict = review(ReviewEvent::Approve);
    let before = TurnView { review_before: Some("https://github.test/r1".into()), ..turn() };
    refused(&before, &verdict, Code::Already, "https://github.test/r1");
    assert_eq!(ask(&before, &reply(11), "text"), Ok(Allowed::New));
    assert_eq!(ask(&TurnView { by_hand: true, ..before }, &verdict, "text"), Ok(Allowed::New));
}

#[test]
fn a_turn_makes_forty_posts_at_most() {
    // MCP-08
    let posts = |n: u8| (0..n).map(|i| made(i, &reply(11), &i.to_string(), Delivery::new(PostState::Sent))).collect();
    assert_eq!(ask(&TurnView { posts: posts(39), ..turn() }, &reply(11), "text"), Ok(Allowed::New));
    refused(&TurnView { posts: posts(40), ..turn() }, &reply(11), Code::Limit, "40");
}

#[test]
fn the_hash_of_a_review_holds_all_of_it() {
    // GH-PUB-26
    let inline = InlineComment { path: "a".into(), line: 2, start_line: None, side: Side::Right, body: "b".into() };
    let with = |comments: Vec<InlineComment>| Shape::Review { event: ReviewEvent::Comment, comments };
    let mut hashes: Vec<String> = [
        with(vec![]),
        with(vec![inline.clone()]),
        with(vec![InlineComment { path: "b".into(), ..inline.clone() }]),
        with(vec![InlineComment { line: 3, ..inline.clone() }]),
        with(vec![InlineComment { start_line: Some(1), ..inline.clone() }]),
        with(vec![InlineComment { side: Side::Left, ..inline.clone() }]),
        with(vec![InlineComment { body: "c".into(), ..inline.clone() }]),
        with(vec![inline.clone(), inline]),
        review(ReviewEvent::Approve),
    ]
    .iter()
    .map(|shape| text_hash(shape, "text"))
    .collect();
    let all = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), all);
}

proptest! {
    #[test]
    fn no_marker_survives(pieces in prop::collection::vec(prop::sample::select(vec![
        "<!--", "-->", " ", "wloop:", "<!-- wloop:", "0000000000000000000000000000000b", " -->", "\n", "-", "<!", "x",
    ]), 0..24)) {
        // GH-PUB-05
        let text = pieces.concat();
        let stripped = strip_markers(&text);
        prop_assert!(!stripped.contains(&marker(post(11))));
        prop_assert_eq!(&strip_markers(&stripped), &stripped);
        let whole = compose(&text, "", post(1)).unwrap();
        prop_assert_eq!(marker_of(&whole), Some(post(1)));
        prop_assert!(!whole.contains(&marker(post(11))));
    }

    #[test]
    fn mentions_take_anything(text in "([`~]{1,4}|@[a-z]{0,3}|/|\\\\|\n| {1,5}|\t|- |é|\\.){0,30}") {
        // GH-PUB-15
        for name in mentions(&text) {
            prop_assert!(text.contains(name.trim_start_matches('@')));
        }
    }

    #[test]
    fn a_mention_in_plain_words_is_never_missed(before in "([a-z][a-z ]{0,9})?", after in "[ ,;!?)][a-z ]{0,9}") {
        // GH-PUB-15
        prop_assert_eq!(mentions(&format!("{before} @ana-1{after}")), vec!["ana-1"]);
    }
}
