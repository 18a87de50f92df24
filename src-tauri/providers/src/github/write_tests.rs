use http::{HeaderMap, StatusCode};
use wloop_core::github::{RepoName, ReviewEvent};
use wloop_core::id::PostId;

use super::*;

fn order(shape: Shape) -> PostOrder {
    PostOrder {
        post: "000000000000000000000000000000ab".parse::<PostId>().unwrap(),
        repo: "acme/web".parse::<RepoName>().unwrap(),
        number: 7,
        head: "h1".to_owned(),
        shape,
        body: "text\n\n<!-- wloop:000000000000000000000000000000ab -->".to_owned(),
        viewer: "U_me".to_owned(),
        started_at: "2026-05-04T10:00:00.750Z".parse().unwrap(),
        skew_ms: 0,
    }
}

fn review() -> PostOrder {
    order(Shape::Review { event: ReviewEvent::Comment, comments: Vec::new() })
}

fn answer(status: u16, body: &str) -> Result<Answer, Loss> {
    Ok(Answer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: body.as_bytes().to_vec(),
        at: Timestamp::UNIX_EPOCH,
        skew_ms: 0,
    })
}

fn refusal(order: &PostOrder, status: u16, body: &str) -> (Refusal, String) {
    let found = outcome(order, answer(status, body));
    let SendOutcome::Refused { kind, why } = found else { panic!("{found:?}") };
    (kind, why)
}

#[test]
fn there_are_three_shapes_of_a_write() {
    // GH-PUB-01, GH-PUB-16
    assert_eq!(path(&order(Shape::Comment)).join("/"), "repos/acme/web/issues/7/comments");
    assert_eq!(path(&review()).join("/"), "repos/acme/web/pulls/7/reviews");
    assert_eq!(path(&order(Shape::Reply { in_reply_to: 99 })).join("/"), "repos/acme/web/pulls/7/comments/99/replies");
    let inline =
        |start_line| InlineComment { path: "a.rs".to_owned(), line: 5, start_line, side: Side::Right, body: "x".to_owned() };
    let full =
        order(Shape::Review { event: ReviewEvent::Approve, comments: vec![inline(Some(3)), inline(Some(5)), inline(None)] });
    let sent = body(&full);
    assert_eq!((sent["commit_id"].as_str(), sent["event"].as_str()), (Some("h1"), Some("APPROVE")));
    assert_eq!(
        sent["comments"][0],
        json!({"path": "a.rs", "line": 5, "side": "RIGHT", "start_line": 3, "start_side": "RIGHT", "body": "x"})
    );
    // A range of one line is a line.
    assert_eq!(sent["comments"][1], sent["comments"][2]);
}

#[test]
fn a_look_up_starts_earlier_whichever_clock_is_ahead() {
    // GH-PUB-07, GH-SYNC-45
    let mut late = order(Shape::Comment);
    assert_eq!(since(&late, 0), "2026-05-04T09:59:00Z");
    late.skew_ms = 120_000;
    assert_eq!(since(&late, 0), "2026-05-04T09:57:00Z");
    late.skew_ms = -120_000;
    assert_eq!(since(&late, 5), "2026-05-04T09:57:00Z");
    assert_eq!(since(&late, 240_000), "2026-05-04T09:55:00Z");
    let paths = [order(Shape::Comment), order(Shape::Reply { in_reply_to: 99 }), review()].map(|o| {
        let (path, narrowed) = look_up_path(&o);
        (path.join("/"), narrowed)
    });
    assert_eq!(
        paths,
        [
            ("repos/acme/web/issues/7/comments".to_owned(), true),
            ("repos/acme/web/pulls/7/comments".to_owned(), true),
            ("repos/acme/web/pulls/7/reviews".to_owned(), false),
        ]
    );
}

#[test]
fn only_the_viewers_own_marker_on_the_last_line_is_the_post() {
    // GH-PUB-05, GH-PUB-07
    let order = order(Shape::Comment);
    let item = |node: Option<&str>, text: &str| -> RestPost {
        let user = node.map(|id| json!({"login": "x", "node_id": id, "type": "User"}));
        serde_json::from_value(json!({"id": 1, "node_id": "IC", "html_url": "u", "body": text, "user": user})).unwrap()
    };
    let text = order.body.clone();
    assert!(is_post(&item(Some("U_me"), &text), &order));
    assert!(is_post(&item(Some("U_me"), &format!("{}\r\n", text.replace('\n', "\r\n"))), &order));
    assert!(is_post(&item(Some("U_me"), &marker(&order)), &order));
    assert!(!is_post(&item(Some("U_other"), &text), &order));
    assert!(!is_post(&item(None, &text), &order));
    assert!(!is_post(&item(Some("U_me"), &format!("> {}\n\nwhat is this?", marker(&order))), &order));
    assert!(!is_post(&item(Some("U_me"), &format!("> {}", marker(&order))), &order));
    assert!(!is_post(&item(Some("U_me"), "text\n\n<!-- wloop:000000000000000000000000000000ac -->"), &order));
}

#[test]
fn a_final_refusal_is_told_from_a_doubt() {
    // GH-PUB-06, GH-PUB-10, GH-PUB-12, GH-PUB-13, GH-PUB-14
    let comment = order(Shape::Comment);
    let words = r#"{"message":"Unable to create comment because issue is locked."}"#;
    for (status, kind) in [
        (301, Refusal::Gone),
        (307, Refusal::Gone),
        (403, Refusal::Forbidden),
        (404, Refusal::Gone),
        (410, Refusal::Gone),
        (422, Refusal::Invalid),
        (400, Refusal::Invalid),
    ] {
        let (found, why) = refusal(&comment, status, words);
        assert_eq!(found, kind, "{status}");
        assert!(status < 400 || why.starts_with("Unable to create comment"), "{why}");
    }
    for (status, text) in
        [(500, ""), (502, "<html>"), (504, "{}"), (201, "{\"id\":"), (201, "{}"), (204, ""), (202, "{}"), (408, "{}")]
    {
        assert!(matches!(outcome(&comment, answer(status, text)), SendOutcome::Doubt { .. }), "{status} {text}");
    }
    let sent = r#"{"id": 12, "node_id": "IC_12", "html_url": "https://github.com/x", "user": null}"#;
    let remote = RemotePost { node_id: "IC_12".to_owned(), database_id: 12, url: "https://github.com/x".to_owned() };
    assert_eq!(outcome(&comment, answer(201, sent)), SendOutcome::Sent(remote));
    assert!(matches!(outcome(&comment, Err(Loss::NotSent(String::new()))), SendOutcome::NotReached { .. }));
    assert!(matches!(outcome(&comment, Err(Loss::Lost(String::new()))), SendOutcome::Doubt { .. }));
    let out = outcome(&comment, Err(Loss::SignedOut("Bad credentials".to_owned())));
    assert!(matches!(out, SendOutcome::Refused { kind: Refusal::SignedOut, why } if why.contains("sign in")));
}

#[test]
fn a_review_that_meets_a_pending_one_says_so() {
    // GH-PUB-20
    let words = r#"{"message":"Unprocessable Entity","errors":["User can only have one pending review per pull request"]}"#;
    let (kind, why) = refusal(&review(), 422, words);
    assert_eq!(kind, Refusal::PendingReview);
    assert!(why.contains("submit or discard"), "{why}");
    assert_eq!(refusal(&order(Shape::Comment), 422, words).0, Refusal::Invalid);
    let recorded = std::fs::read_to_string(format!("{}/fixtures/errors.json", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    let (kind, why) = refusal(&review(), 422, &recorded[0]["response"].to_string());
    assert_eq!((kind, why.as_str()), (Refusal::Invalid, "Validation Failed; Label.color: invalid"));
}
