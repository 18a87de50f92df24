use super::*;

fn refused(tool: &str, arguments: Value) -> Refusal {
    check_arguments(tool, &arguments).unwrap_err()
}

/// The smallest right calls, to which the cases below add one wrong thing.
fn with(tool: &str, key: &str, value: Value) -> Value {
    let mut base = match tool {
        "task_read" => json!({}),
        "github_draft" => json!({ "text": "t" }),
        "draft_withdraw" => json!({ "draft": "d", "reason": "r" }),
        "record" => json!({ "verdict": "nothing", "summary": "s" }),
        _ => json!({ "shape": "review", "text": "t", "event": "COMMENT" }),
    };
    base[key] = value;
    base
}

#[test]
fn right_calls_are_read() {
    // MCP-04
    let head = "a".repeat(40);
    let call = check_arguments(
        "github_post",
        &json!({ "shape": "review", "text": "t", "event": "REQUEST_CHANGES", "head": head, "key": "k", "thread": null, "comments": [
            { "path": "a.rs", "line": 3, "body": "b" }, { "path": "a.rs", "line": 3, "start_line": 3, "side": "LEFT", "body": "b" },
            { "path": "a.rs", "line": 3, "start_line": 1, "body": "b" } ] }),
    )
    .unwrap();
    let ToolCall::GithubPost { wish: PostWish::Review { event, comments }, text, head: given, key } = call else { panic!() };
    assert_eq!((event, text.as_str(), given, key.as_deref()), (ReviewEvent::RequestChanges, "t", Some(head), Some("k")));
    assert_eq!(comments.iter().map(|c| c.start_line).collect::<Vec<_>>(), [None, None, Some(1)]);
    assert_eq!(comments.iter().map(|c| c.side).collect::<Vec<_>>(), [Side::Right, Side::Left, Side::Right]);

    let wish = |arguments: Value| {
        let ToolCall::GithubPost { wish, .. } = check_arguments("github_post", &arguments).unwrap() else { panic!() };
        wish
    };
    assert_eq!(wish(json!({ "shape": "comment", "text": "t" })), PostWish::Comment);
    let reply = wish(json!({ "shape": "reply", "text": "t", "in_reply_to": 7 }));
    assert_eq!(reply.into_shape(|_| None), Some(Shape::Reply { in_reply_to: 7 }));
    let reply = wish(json!({ "shape": "reply", "text": "t", "thread": "T1" }));
    assert_eq!(reply.clone().into_shape(|t| (t == "T1").then_some(9)), Some(Shape::Reply { in_reply_to: 9 }));
    assert_eq!(reply.into_shape(|_| None), None);
    wish(json!({ "shape": "review", "text": "", "event": "APPROVE" }));

    assert_eq!(
        check_arguments("task_read", &json!({ "include": ["material", "brief", "brief"] })).unwrap(),
        ToolCall::TaskRead { include: vec![Part::Brief, Part::Material] }
    );
    let ToolCall::TaskRead { include } = check_arguments("task_read", &json!({})).unwrap() else { panic!() };
    assert_eq!(include.len(), 5);
    let record = json!({ "verdict": "published", "summary": "s", "of": { "the": "intent" } });
    assert_eq!(
        check_arguments("record", &record).unwrap(),
        ToolCall::Record { verdict: "published".to_owned(), summary: "s".to_owned(), object: record }
    );
}

#[test]
fn every_wrong_argument_is_named() {
    // MCP-04
    let comment = |key: &str, value: Value| {
        let mut comment = json!({ "path": "a", "line": 2, "body": "b" });
        comment[key] = value;
        json!([comment])
    };
    let cases: Vec<(&str, Value, &str)> = vec![
        ("task_read", with("task_read", "all", json!(true)), "`all`"),
        ("task_read", with("task_read", "include", json!("brief")), "`include`"),
        ("task_read", with("task_read", "include", json!(["brief", "secrets"])), "`include[1]`"),
        ("record", json!({ "summary": "s" }), "`verdict`"),
        ("record", json!({ "verdict": "asked", "summary": 4 }), "`summary`"),
        ("record", json!({ "verdict": " ", "summary": "s" }), "`verdict`"),
        ("github_post", json!({ "text": "t" }), "`shape`"),
        ("github_post", json!({ "shape": "comment" }), "`text`"),
        ("github_post", json!({ "shape": "comment", "text": " \n" }), "`text`"),
        ("github_post", json!({ "shape": "essay", "text": "t" }), "`shape`"),
        ("github_post", json!({ "shape": "review", "text": "t" }), "`event`"),
        ("github_post", json!({ "shape": "review", "text": "", "event": "COMMENT" }), "`text`"),
        ("github_post", json!({ "shape": "comment", "text": "t", "event": "APPROVE" }), "`event`"),
        ("github_post", json!({ "shape": "comment", "text": "t", "comments": [] }), "`comments`"),
        ("github_post", json!({ "shape": "reply", "text": "t" }), "`in_reply_to`"),
        ("github_post", json!({ "shape": "reply", "text": "t", "in_reply_to": 1, "thread": "T" }), "`thread`"),
        ("github_post", json!({ "shape": "reply", "text": "t", "in_reply_to": -1 }), "`in_reply_to`"),
        ("github_post", json!({ "shape": "reply", "text": "t", "in_reply_to": 1.5 }), "`in_reply_to`"),
        ("github_post", with("github_post", "event", json!("approve")), "`event`"),
        ("github_post", with("github_post", "unit", json!("o/r#1")), "`unit`"),
        ("github_post", with("github_post", "head", json!("abc")), "`head`"),
        ("github_post", with("github_post", "head", json!("A".repeat(40))), "`head`"),
        ("github_post", with("github_post", "key", json!("")), "`key`"),
        ("github_post", with("github_post", "key", json!("k".repeat(65))), "`key`"),
        ("github_post", with("github_post", "comments", json!([7])), "`comments[0]`"),
        ("github_post", with("github_post", "comments", comment("line", json!(0))), "`comments[0].line`"),
        ("github_post", with("github_post", "comments", comment("line", json!("2"))), "`comments[0].line`"),
        ("github_post", with("github_post", "comments", comment("start_line", json!(3))), "`comments[0].start_line`"),
        ("github_post", with("github_post", "comments", comment("side", json!("UP"))), "`comments[0].side`"),
        ("github_post", with("github_post", "comments", comment("path", json!(null))), "`comments[0].path`"),
        ("github_post", with("github_post", "comments", comment("body", json!(""))), "`comments[0].body`"),
        ("github_post", with("github_post", "comments", comment("position", json!(1))), "`comments[0].position`"),
    ];
    for (tool, arguments, named) in cases {
        let refusal = refused(tool, arguments.clone());
        assert_eq!(refusal.code, RefusalCode::Invalid, "{arguments}");
        assert!(refusal.message.starts_with(named), "{arguments}: {refusal}");
        assert!(!refusal.hint.is_empty());
    }
    assert_eq!(refused("record", json!([1])).code, RefusalCode::Invalid);
    assert_eq!(refused("gate_resolve", json!({})).code, RefusalCode::NotFound);
}

#[test]
fn what_is_too_long_is_refused_with_its_number() {
    // MCP-08
    let cases = [
        ("github_post", json!({ "shape": "comment", "text": "ä".repeat(GITHUB_TEXT + 1) }), "65001"),
        (
            "github_post",
            with("github_post", "comments", json!([{ "path": "a", "line": 1, "body": "x".repeat(65_002) }])),
            "65002",
        ),
        ("record", with("record", "draft", json!({ "event": "COMMENT", "body": "x".repeat(65_003) })), "65003"),
        ("record", with("record", "findings", json!("x".repeat(RECORD_BYTES))), "262144"),
    ];
    for (tool, arguments, number) in cases {
        let refusal = refused(tool, arguments);
        assert_eq!(refusal.code, RefusalCode::Limit);
        assert!(refusal.message.contains(number), "{refusal}");
    }
    let longest = json!({ "shape": "comment", "text": "ä".repeat(GITHUB_TEXT), });
    assert!(check_arguments("github_post", &longest).is_ok(), "characters count, not bytes");
}

#[test]
fn a_draft_has_a_text_and_says_why_and_where() {
    // MCP-04, MCP-08, MCP-14, MCP-16
    let full =
        json!({ "text": "t", "unit": "acme/api#2", "purpose": " nudge ", "effects": ["pr.nudged", "pr.nudged"], "key": "k" });
    let ToolCall::GithubDraft { wish, key } = check_arguments("github_draft", &full).unwrap() else { panic!() };
    let expected = DraftWish {
        text: "t".into(),
        unit: Some("acme/api#2".into()),
        purpose: Some("nudge".into()),
        effects: vec!["pr.nudged".into()],
    };
    assert_eq!((wish, key.as_deref()), (expected, Some("k")));
    for (key, value) in [
        ("text", json!(" ")),
        ("unit", json!("")),
        ("effects", json!("pr.nudged")),
        ("effects", json!([1])),
        ("purpose", json!(3)),
    ] {
        let refusal = refused("github_draft", with("github_draft", key, value));
        assert!(refusal.code == RefusalCode::Invalid && refusal.message.contains(key), "{refusal}");
    }
    for (key, value, number) in [("text", "ä".repeat(65_001), "65001"), ("purpose", "x".repeat(41), "41")] {
        let refusal = refused("github_draft", with("github_draft", key, json!(value)));
        assert!(refusal.code == RefusalCode::Limit && refusal.message.contains(number), "{refusal}");
    }
    let ToolCall::DraftWithdraw { draft, reason } =
        check_arguments("draft_withdraw", &with("draft_withdraw", "draft", json!("d1"))).unwrap()
    else {
        panic!()
    };
    assert_eq!((draft.as_str(), reason.as_str()), ("d1", "r"));
}

#[test]
fn schemas_name_exactly_the_arguments_that_are_taken() {
    // MCP-02, MCP-04
    for tool in tools() {
        let properties = tool.schema["properties"].as_object().unwrap();
        for key in properties.keys() {
            if let Err(refusal) = check_arguments(tool.name, &with(tool.name, key, json!(null))) {
                assert!(!refusal.message.contains("is not known"), "{}: {refusal}", tool.name);
            }
        }
        let stray = check_arguments(tool.name, &with(tool.name, "stray", json!(1)));
        assert_eq!(stray.is_err(), tool.schema["additionalProperties"] == false, "{}", tool.name);
        for key in tool.schema.get("required").and_then(Value::as_array).unwrap_or(&Vec::new()) {
            let missing = with(tool.name, key.as_str().unwrap(), json!(null));
            assert_eq!(refused(tool.name, missing).message, format!("{} is missing", key.to_string().replace('"', "`")));
        }
    }
}
