use super::*;
use serde_json::json;

fn site() -> Site {
    Site { host: "github.com".to_owned() }
}

/// A line as a shell would split it; words in single quotes hold blanks.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut any) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                any = true;
            }
            ' ' if !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => word.push(c),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}

fn call_with(line: &str, files: &[(&str, &str)]) -> Result<Call, String> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let called = classify(&words(line), &site(), &files);
    if let Err(why) = &called {
        assert!(!why.contains('\n') && why.chars().count() < 500, "one line: {why}");
    }
    called
}

fn call(line: &str) -> Result<Call, String> {
    call_with(line, &[])
}

fn write(line: &str, files: &[(&str, &str)]) -> (Target, Value, AnswerForm) {
    match call_with(line, files) {
        Ok(Call::Write { target, arguments, form }) => {
            let checked = crate::tools::check_arguments("github_post", &arguments);
            assert!(checked.is_ok(), "{line}: {checked:?}");
            (target, arguments, form)
        }
        other => panic!("{line}: {other:?}"),
    }
}

fn on(repo: Option<&str>, number: Option<u64>) -> Target {
    Target { repo: repo.map(str::to_owned), number }
}

#[test]
fn a_review_is_understood_in_every_way_that_gh_has_for_it() {
    // GH-PUB-23
    let approve = json!({ "shape": "review", "event": "APPROVE", "text": "Fine." });
    let mine = on(None, None);
    for (line, target) in [
        ("pr review --approve --body Fine.", mine.clone()),
        ("pr review -a -b Fine.", mine.clone()),
        ("pr review -ab Fine.", mine.clone()),
        ("pr review -abFine.", mine.clone()),
        ("pr review -ab=Fine.", mine.clone()),
        ("pr review --approve=true --body=Fine.", mine.clone()),
        ("pr review --approve --comment=false --body=Fine.", mine),
        ("pr review 7 -a -b Fine.", on(None, Some(7))),
        ("pr review -a -b Fine. 7", on(None, Some(7))),
        ("pr review -a -b Fine. -- #7", on(None, Some(7))),
        ("pr review 7 -a -b Fine. -R acme/api", on(Some("acme/api"), Some(7))),
        ("pr -R acme/api review 7 -a -b Fine.", on(Some("acme/api"), Some(7))),
        ("pr --repo=acme/api review 7 -a -b Fine.", on(Some("acme/api"), Some(7))),
        ("pr review 7 -a -b Fine. -R github.com/acme/api", on(Some("acme/api"), Some(7))),
        ("pr review 7 -a -b Fine. -R https://github.com/acme/api.git", on(Some("acme/api"), Some(7))),
        ("pr review https://github.com/acme/api/pull/7 -a -b Fine.", on(Some("acme/api"), Some(7))),
        ("pr review https://github.com/acme/api/pull/7/files#diff -a -b Fine.", on(Some("acme/api"), Some(7))),
    ] {
        assert_eq!(write(line, &[]), (target, approve.clone(), AnswerForm::Address), "{line}");
    }
    let (_, arguments, _) = write("pr review -r -F notes.md", &[("notes.md", "Not yet.\n\nSee `a`.\n")]);
    assert_eq!(arguments, json!({ "shape": "review", "event": "REQUEST_CHANGES", "text": "Not yet.\n\nSee `a`.\n" }));
    let (_, arguments, _) = write("pr review -c --body-file -", &[("-", "From the pipe.")]);
    assert_eq!(arguments, json!({ "shape": "review", "event": "COMMENT", "text": "From the pipe." }));
    let (_, arguments, _) = write("pr review --approve", &[]);
    assert_eq!(arguments["text"], "", "an approval needs no words");
}

#[test]
fn a_comment_is_understood_and_no_other_comment_is_changed() {
    // GH-PUB-23, GH-PUB-24
    for (line, target) in [
        ("pr comment -b 'Two words'", on(None, None)),
        ("pr comment 7 --body 'Two words' -R acme/api", on(Some("acme/api"), Some(7))),
        ("pr comment https://github.com/acme/api/pull/7 -F notes", on(Some("acme/api"), Some(7))),
        ("pr comment -F - 7", on(None, Some(7))),
    ] {
        let (got, arguments, form) = write(line, &[("notes", "Two words"), ("-", "Two words")]);
        assert_eq!(
            (got, arguments, form),
            (target, json!({ "shape": "comment", "text": "Two words" }), AnswerForm::Address),
            "{line}"
        );
    }
    for flag in ["--edit-last", "--delete-last --yes", "--web", "-e", "--create-if-none"] {
        let refused = call(&format!("pr comment 7 -b x {flag}")).unwrap_err();
        assert!(refused.contains("changes none"), "{flag}: {refused}");
    }
    for line in ["pr comment", "pr comment -b ''", "pr comment -b a -F b", "pr comment 7 8 -b x", "pr comment -b"] {
        assert!(call(line).is_err(), "{line}");
    }
}

#[test]
fn the_api_s_three_writes_are_understood_by_fields_and_by_input() {
    // GH-PUB-23, GH-PUB-01
    let (target, arguments, form) = write("api repos/acme/api/issues/7/comments -f body='Two words'", &[]);
    assert_eq!((target, form), (on(Some("acme/api"), Some(7)), AnswerForm::Json));
    assert_eq!(arguments, json!({ "shape": "comment", "text": "Two words" }));
    for line in [
        "api -X POST /repos/{owner}/{repo}/issues/7/comments --raw-field body=x",
        "api --method post repos/:owner/:repo/issues/7/comments/ -F body=x -H 'Accept: application/vnd.github+json'",
        "api repos/{owner}/{repo}/issues/7/comments -F body=@file",
        "api repos/{owner}/{repo}/issues/7/comments -F body=@-",
    ] {
        let (target, arguments, _) = write(line, &[("file", "x"), ("-", "x")]);
        assert_eq!((target, arguments), (on(None, Some(7)), json!({ "shape": "comment", "text": "x" })), "{line}");
    }
    let head = "a".repeat(40);
    let line = format!(
        "api repos/acme/api/pulls/7/reviews -f event=COMMENT -f body=See -f commit_id={head} -f comments[][path]=a.rs -F comments[][line]=3 \
         -f comments[][body]=one -f comments[][path]=b.rs -F comments[][line]=9 -F comments[][start_line]=7 -f comments[][side]=LEFT \
         -f comments[][body]=two"
    );
    let wanted = json!({ "shape": "review", "event": "COMMENT", "text": "See", "head": head, "comments": [
        { "path": "a.rs", "line": 3, "body": "one" },
        { "path": "b.rs", "line": 9, "start_line": 7, "side": "LEFT", "body": "two" },
    ] });
    assert_eq!(write(&line, &[]).1, wanted);
    let body = json!({ "event": "COMMENT", "body": "See", "commit_id": head, "comments": [
        { "path": "a.rs", "line": 3, "body": "one" },
        { "path": "b.rs", "line": 9, "start_line": 7, "side": "LEFT", "start_side": "LEFT", "body": "two" },
    ] })
    .to_string();
    for (line, name) in [
        ("api repos/acme/api/pulls/7/reviews --input -", "-"),
        ("api repos/acme/api/pulls/7/reviews --method=POST --input=review.json", "review.json"),
    ] {
        assert_eq!(write(line, &[(name, &body)]).1, wanted, "{line}");
    }
    let reply = json!({ "shape": "reply", "in_reply_to": 55, "text": "Done" });
    assert_eq!(write("api repos/acme/api/pulls/7/comments/55/replies -f body=Done", &[]).1, reply);
    assert_eq!(write("api repos/acme/api/pulls/7/comments -f body=Done -F in_reply_to=55", &[]).1, reply);
}

#[test]
fn the_answer_of_a_write_is_given_in_the_form_that_was_asked_for() {
    // GH-PUB-23
    let form = |flags: &str| {
        call(&format!("api repos/acme/api/issues/7/comments -f body=x {flags}")).map(|call| match call {
            Call::Write { form, .. } => form,
            other @ (Call::Read(_) | Call::Help) => panic!("{other:?}"),
        })
    };
    assert_eq!(form(""), Ok(AnswerForm::Json));
    assert_eq!(form("--silent"), Ok(AnswerForm::Silent));
    assert_eq!(form("-q .html_url"), Ok(AnswerForm::Member("html_url".to_owned())));
    assert_eq!(form("--jq ."), Ok(AnswerForm::Json));
    for odd in ["--jq '.user.login'", "--jq env", "-t x", "--paginate", "-i", "-H 'X-HTTP-Method-Override: DELETE'"] {
        assert!(form(odd).is_err(), "{odd}: refused before anything is written");
    }
}

#[test]
fn every_other_write_is_refused_in_one_line_that_says_what_is_allowed() {
    // GH-PUB-24
    for line in [
        "pr merge 7",
        "pr close 7",
        "pr reopen 7",
        "pr edit 7 --title x",
        "pr ready 7",
        "pr create",
        "pr checkout 7",
        "pr lock 7",
        "pr update-branch 7",
        "issue create",
        "issue comment 7 -b x",
        "issue close 7",
        "issue edit 7",
        "issue transfer 7 a/b",
        "release create v1",
        "release upload v1 x",
        "release download v1",
        "release delete v1",
        "repo create x",
        "repo delete x",
        "repo clone x",
        "repo fork x",
        "repo edit",
        "run rerun 1",
        "run cancel 1",
        "run download 1",
        "workflow run x",
        "workflow disable x",
        "secret set X",
        "secret list",
        "variable set X",
        "label create x",
        "gist create x",
        "ssh-key add x",
        "gpg-key add x",
        "cache delete 1",
        "codespace ssh",
        "config set editor x",
        "config get editor",
        "alias set x '!sh'",
        "alias list",
        "extension install a/b",
        "extension exec x",
        "browse",
        "attestation download x",
        "project item-add 1",
        "copilot explain x",
        "api -X PUT repos/acme/api/pulls/7/merge",
        "api -XPUT repos/acme/api/pulls/7/merge",
        "api --method DELETE repos/acme/api/issues/comments/1",
        "api --method=patch repos/acme/api/pulls/7 -f state=closed",
        "api -X get repos/acme/api -X PATCH",
        "api repos/acme/api/issues -f title=x",
        "api repos/acme/api/issues/7/labels -f labels[]=x",
        "api repos/acme/api/pulls/7/requested_reviewers -f reviewers[]=x",
        "api repos/acme/api/pulls/7/reviews/1/events -f event=APPROVE",
        "api repos/acme/api/pulls/7/reviews/1/dismissals -f message=x",
        "api repos/acme/api/issues/7/comments/../../8/comments -f body=x",
        "api repos/acme/api/issues/7%2f..%2f8/comments -f body=x",
        "api repos/acme/../other/issues/7/comments -f body=x",
        "api repos/acme/api/issues/x/comments -f body=x",
        "api user/repos -f name=x",
        "api -X HEAD user",
        "api -X '' user",
    ] {
        let refused = call(line).unwrap_err();
        let teaches = refused.contains(ALLOWED) || refused.contains("OWNER/REPO") || refused.contains("is not taken here");
        assert!(teaches, "{line}: {refused}");
    }
}

#[test]
fn a_write_that_is_not_whole_is_refused_before_it_is_made() {
    // GH-PUB-24
    let input = |body: &str| call_with("api repos/acme/api/pulls/7/reviews --input -", &[("-", body)]).unwrap_err();
    assert!(input("{\"body\":\"x\"}").contains("needs an `event`"), "a pending review is never made");
    assert!(input("[]").contains("no JSON object") && input("{").contains("no JSON"));
    let comment = |more: &str| input(&format!("{{\"event\":\"COMMENT\",\"comments\":[{more}]}}"));
    assert!(comment("{\"path\":\"a\",\"position\":1,\"body\":\"x\"}").contains("`line` and `side`"));
    assert!(
        comment("{\"path\":\"a\",\"line\":1,\"side\":\"RIGHT\",\"start_side\":\"LEFT\",\"body\":\"x\"}").contains("choose one")
    );
    assert!(comment("7").contains("must be an object"));
    for (line, words) in [
        ("pr review", "one of `--approve`"),
        ("pr review -a -r", "one of `--approve`"),
        ("pr review -r", "needs a `--body`"),
        ("pr review -c -b ' '", "needs a `--body`"),
        ("pr review -a my-branch", "by its number"),
        ("pr review -a -7", "`-7` is not taken"),
        ("pr review --approve=maybe", "takes no value"),
        ("pr review -a --web", "`--web` is not taken"),
        ("pr review -a -R acme", "OWNER/REPO"),
        ("pr review -a -R evil.example/acme/api", "another host"),
        ("pr review -a -R https://evil.example/acme/api", "another host"),
        ("pr review -a https://evil.example/acme/api/pull/7", "another host"),
        ("pr review -a https://github.com/acme/api/issues/7", "no address of a pull request"),
        ("pr review -a https://github.com/acme/api/pull/7 -R acme/web", "another repository"),
        ("pr review -a -F missing", "cannot be read"),
        ("api repos/acme/api/issues/7/comments -f body", "has no `=`"),
        ("api repos/acme/api/issues/7/comments -f body=x -f odd=1", "`odd` is not taken"),
        ("api repos/acme/api/issues/7/comments -F body=1", "must be a text"),
        ("api repos/acme/api/issues/7/comments -f body[x]=1", "must be a text"),
        ("api repos/acme/api/issues/7/comments -f body=x --input f", "not by both"),
        ("api repos/acme/api/issues/7/comments?x=1 -f body=x", "takes no query"),
        ("api repos/acme/api/pulls/7/comments -f body=x -f path=a -F line=1", "goes into a review"),
        ("api repos/{owner}/api/issues/7/comments -f body=x", "half a placeholder"),
        ("api", "one endpoint"),
        ("api a b", "one endpoint"),
        ("--repo acme/api pr view", "is not known here"),
    ] {
        let refused = call_with(line, &[("f", "{}")]).unwrap_err();
        assert!(refused.contains(words), "{line}: {refused}");
    }
    assert!(classify(&["api".to_owned(), "a\0b".to_owned()], &site(), &BTreeMap::new()).is_err());
}

fn passes(line: &str) -> Vec<String> {
    match call(line) {
        Ok(Call::Read(argv)) => argv,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn what_only_reads_is_passed_on_as_it_was_understood() {
    // GH-PUB-24
    for (line, argv) in [
        ("--version", "--version"),
        ("pr view 7 --json title,body -q .title", "pr view --json=title,body --jq=.title -- 7"),
        ("pr view 7 -cR acme/api", "pr view --comments --repo=acme/api -- 7"),
        ("pr -R github.com/acme/api diff 7 --name-only", "pr diff --repo=acme/api --name-only -- 7"),
        ("pr view https://github.com/acme/api/pull/7", "pr view -- https://github.com/acme/api/pull/7"),
        ("pr checks 7 --required", "pr checks --required -- 7"),
        ("pr list -s all -L5 --search 'is:open author:ines'", "pr list --state=all --limit=5 --search=is:open author:ines"),
        ("issue view 3 --comments", "issue view --comments -- 3"),
        ("run view 1 --log-failed -R acme/api", "run view --log-failed --repo=acme/api -- 1"),
        ("search code 'fn main' --owner acme", "search code --owner=acme -- fn main"),
        ("repo view github.com/acme/api", "repo view -- acme/api"),
        ("release view v1", "release view -- v1"),
        (
            "api repos/acme/api/pulls/7/files --paginate -q .[].filename",
            "api --method=GET --paginate --jq=.[].filename -- repos/acme/api/pulls/7/files",
        ),
        (
            "api -X GET /search/issues -f q=x -F per_page=5",
            "api --method=GET --raw-field=q=x --field=per_page=5 -- search/issues",
        ),
        ("api user -H 'Accept: application/json' -i", "api --method=GET --header=Accept: application/json --include -- user"),
        ("api graphql -f query='query { viewer { login } }'", "api --raw-field=query=query { viewer { login } } -- graphql"),
        ("api graphql -f query='{ a }' -F n=3 -q .data", "api --raw-field=query={ a } --field=n=3 --jq=.data -- graphql"),
    ] {
        assert_eq!(passes(line).join(" "), argv, "{line}");
    }
    for line in ["", "help", "--help", "pr", "pr --help", "pr merge --help", "api --help"] {
        assert_eq!(call(line), Ok(Call::Help), "{line}");
    }
}

#[test]
fn a_reader_that_would_write_or_tell_the_token_does_not_pass() {
    // GH-PUB-24
    for line in [
        "auth token",
        "auth status --show-token",
        "auth login",
        "pr view 7 -q env.GH_TOKEN --json title",
        "pr view 7 -qenv.GH_TOKEN --json title",
        "pr view 7 --json title --jq '$ENV | tostring | @base64'",
        "pr view -cq env --json title 7",
        "api user -q '$ENV.GH_TOKEN'",
        "api user --jq='[.login, (env|keys)]'",
        "api graphql -f query='{ a }' -q env",
        "pr view 7 --web",
        "pr checks 7 --watch",
        "pr view https://evil.example/acme/api/pull/7",
        "pr view http://github.com@evil.example/acme/api/pull/7",
        "pr view git@evil.example:acme/api",
        "pr view 7 -R evil.example/acme/api",
        "pr view 7 -R https://evil.example/acme/api",
        "repo view evil.example/acme/api",
        "repo view --acme/api",
        "api https://evil.example/user",
        "api //evil.example/user",
        "api user --hostname evil.example",
        "api user --cache 1h",
        "api user --verbose",
        "api user -H 'Authorization: x'",
        "api user -H 'X-HTTP-Method-Override: PATCH'",
        "api user -H 'Accept: a\r\nX-Y: z'",
        "api -X GET search/issues -F q=@/etc/passwd",
        "api -X GET user --input x",
        "api -X GET user -X POST -f a=b",
        "api user -f a=b",
        "api graphql",
        "api graphql -X GET -f query='{ a }'",
        "api graphql --input q.json",
        "api graphql -F query=@q.graphql",
        "api graphql -f query='{ a }' -F x=@/etc/passwd",
        "api graphql -f query='{ a }' -f query='mutation { b }'",
        "api graphql -f query='mutation { mergePullRequest(input: {}) { clientMutationId } }'",
        "api graphql -f query='query A { a } mutation B { b }' -f operationName=B",
        "api graphql -f query='# query\nmutation { b }'",
        "api graphql -f query='  mutation{b}'",
        "api graphql -f query='subscription { b }'",
        "api graphql -f query='query { a(x: \"\\\\\") } mutation { b }'",
        "api graphql -f query='query { a(x: \"\"\" \\\"\"\" \"\"\") } mutation { b }'",
        "api graphql -f query='query { a(x: \"open) } mutation'",
        "api graphql -f query[]=x",
        "api /graphql -f query='mutation { b }'",
        "api GraphQL/ -f query='mutation { b }'",
        "api graphql?x -f query='mutation { b }'",
    ] {
        assert!(call(line).is_err(), "{line}: {:?}", call(line));
    }
    assert!(call("auth token").unwrap_err().contains("`gh auth` is refused"));
    // Nor in a text or a remark: programs differ in where those end.
    for query in [
        "query { a(x: \"mutation\") }",
        "# no mutation\n{ a }",
        "query Q{viewer{login}} #\r\"\"\"\nmutation M{b} #\r\"\"\"",
        "query Q($a:[String]=[\"\"\"a\\\"\"\"\" x\"]){viewer{login}} mutation M{b} #\"\"\"",
    ] {
        assert!(!read::reads_only(query), "{query}");
    }
    assert!(read::reads_only("query { viewer { login } }"));
}

#[test]
fn the_files_of_a_call_are_named_for_the_program_at_the_agent_s_side() {
    // GH-PUB-23
    for (line, named) in [
        ("pr review -r -F notes.md", vec!["notes.md"]),
        ("pr comment --body-file -", vec!["-"]),
        ("api repos/acme/api/pulls/7/reviews --input review.json", vec!["review.json"]),
        ("api repos/acme/api/issues/7/comments -F body=@text", vec!["text"]),
        ("pr view 7", vec![]),
        ("api graphql -F query=@/etc/passwd", vec![]),
        ("pr merge -F /etc/passwd", vec![]),
    ] {
        assert_eq!(files(&words(line)), named, "{line}");
    }
}

#[test]
fn an_answer_has_the_fields_that_are_known() {
    // GH-PUB-23
    let posted = Posted {
        api: "https://api.github.com",
        repo: "acme/api",
        number: 7,
        database_id: 99,
        node_id: "PRR_1",
        url: "https://github.com/acme/api/pull/7#pullrequestreview-99",
        body: "Fine.",
        login: "sam",
        login_id: "U_1",
        state: "APPROVED",
        head: "aaaa",
        in_reply_to: Some(5),
        at: "2026-01-01T00:00:00Z",
    };
    let review = answer_json("review", &posted);
    assert_eq!((&review["id"], &review["state"], &review["commit_id"]), (&json!(99), &json!("APPROVED"), &json!("aaaa")));
    assert_eq!(review["user"]["html_url"], "https://github.com/sam");
    assert_eq!(review["pull_request_url"], "https://api.github.com/repos/acme/api/pulls/7");
    let comment = answer_json("comment", &posted);
    assert_eq!(comment["issue_url"], "https://api.github.com/repos/acme/api/issues/7");
    assert!(comment.get("state").is_none());
    assert_eq!(answer_json("reply", &posted)["in_reply_to_id"], 5);
}
