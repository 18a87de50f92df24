//! GitHub: a token that is wrong or gone, an address where no GitHub answers, and a repository that is not given.

use serde_json::json;
use wloop_api::client::GateFilter;
use wloop_api::types::ProviderHealth;
use wloop_tests::{REPO, Stage, TOKEN, until};
use wloop_world::{Fault, FaultKind, Match};

use super::{doctor, does_not_start, edit_config, health, held_item, no_turn};

/// Waits for the provider to be in that state.
async fn provider(stage: &Stage, state: &str) -> ProviderHealth {
    until(&format!("the provider to be `{state}`"), || async {
        let health = stage.client().health().await.map_err(|e| e.to_string())?;
        let provider = health.providers.into_iter().next().ok_or("none")?;
        if provider.state == state { Ok(provider) } else { Err(format!("{provider:?}")) }
    })
    .await
}

#[tokio::test]
async fn a_token_that_is_taken_back_signs_out_and_loses_nothing() {
    // GH-SYNC-43, RUN-02
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    stage.world.revoke_token(TOKEN);
    let signed_out = provider(&stage, "signed out").await;
    let error = signed_out.error.unwrap();
    assert!(error.contains("token"), "{error}");
    assert!(error.contains("plugins.github.token"), "it says where to mend it: {error}");
    assert_eq!(signed_out.watched, 1, "what is known is kept");
    let asked = stage.world.calls().len();
    assert_eq!(stage.gate(&gate.id).await, gate);
    let status = stage.wloop(&["status"]).output().await.unwrap();
    assert!(status.status.success());
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("signed out"), "{status}");
    // A decision still works; what it released waits for the token.
    stage.resolve(&gate.id, "run_now").await;
    stage.stop().await;
    let later: Vec<String> = stage.world.calls().iter().skip(asked).map(|c| format!("{} {}", c.method, c.path)).collect();
    assert_eq!(later, Vec::<String>::new(), "a 401 stops all calls");
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("does not accept the token") && found.contains("plugins.github.token"), "{found}");
    // Another token and a start: it goes on where it was.
    stage.world.add_token(wloop_tests::ME, "ghp_a_new_one_of_the_person");
    edit_config(&stage, |text| text.replace(TOKEN, "ghp_a_new_one_of_the_person"));
    stage.start_again().await;
    stage.turn(number, &["recorded"]).await;
    provider(&stage, "ok").await;
}

#[tokio::test]
async fn a_token_that_was_never_right_is_told_and_the_daemon_stays_up() {
    // GH-SYNC-43
    let mut stage = Stage::new().await;
    stage.write_home();
    edit_config(&stage, |text| text.replace(TOKEN, "ghp_of_nobody"));
    stage.start_again().await;
    let error = provider(&stage, "signed out").await.error.unwrap();
    assert!(error.contains("plugins.github.token"), "{error}");
    assert!(!health(&stage).await.ok);
    let (found, attention) = doctor(&stage).await;
    assert!(attention && found.contains("does not accept the token"), "{found}");
    assert!(!format!("{found}{}{error}", stage.log()).contains("ghp_of_nobody"), "no word holds the token");
}

#[tokio::test]
async fn a_source_that_gives_no_token_is_named() {
    // EVT-14
    let mut stage = Stage::new().await;
    for (source, words) in [
        ("env:WLOOP_TESTS_NO_SUCH_NAME", vec!["plugins.github.token", "`WLOOP_TESTS_NO_SUCH_NAME`", "not set"]),
        ("cmd:false", vec!["`false`", "run it by hand"]),
        ("cmd:no-such-program-here auth token", vec!["`no-such-program-here auth token`", "could not be run"]),
        ("cmd:echo", vec!["empty token"]),
        ("cmd:echo two words", vec!["blanks"]),
        ("keychain:", vec!["keychain", "env:NAME"]),
    ] {
        stage.write_home();
        edit_config(&stage, |text| text.replace(TOKEN, source));
        let said = does_not_start(&mut stage).await;
        assert_eq!(said.trim().lines().count(), 1, "{source}: {said}");
        let (found, attention) = doctor(&stage).await;
        assert!(attention, "{source}: {found}");
        for word in words {
            assert!(said.contains(word), "{source}: `{word}` in {said}");
            assert!(found.contains(word), "{source}: `{word}` in {found}");
        }
    }
}

#[tokio::test]
async fn a_command_that_never_tells_the_token_is_given_up() {
    // GH-SYNC-43
    let mut stage = Stage::new().await;
    stage.write_home();
    edit_config(&stage, |text| text.replace(TOKEN, "cmd:sleep 3600"));
    let said = does_not_start(&mut stage).await;
    assert!(said.contains("`sleep 3600`") && said.contains("20 s") && said.contains("by hand"), "{said}");
}

/// A server that is no GitHub: it answers everything with a page. Its address.
async fn page_server() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
                let mut bytes = vec![0; 16 * 1024];
                while stream.read(&mut bytes).await.is_ok_and(|n| n > 0) {
                    let page = "<html><body>Welcome to the guest network</body></html>";
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", page.len());
                    if stream.write_all(format!("{head}{page}").as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn an_address_where_nobody_or_no_github_answers_is_told_and_tried_again() {
    // RUN-02
    let mut stage = Stage::new().await;
    let right = stage.world.api_url();
    for (address, words) in [("http://127.0.0.1:1".to_owned(), "cannot be reached"), (page_server().await, "cannot be used")] {
        stage.write_home();
        edit_config(&stage, |text| text.replace(&right, &address));
        stage.start_again().await;
        // The last error of the address before may still be told until the first read of this one.
        let error = until(&format!("an error with `{words}`"), || async {
            let failing = provider(&stage, "failing").await;
            let error = failing.error.unwrap_or_default();
            if error.contains(words) { Ok(error) } else { Err(error) }
        })
        .await;
        assert_eq!(provider(&stage, "failing").await.address.as_deref(), Some(address.as_str()));
        assert!(!error.contains("<html>"), "a page is not repeated: {error}");
        let output = stage.wloop(&["status"]).output().await.unwrap();
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains(words), "{output:?}");
        let (found, attention) = doctor(&stage).await;
        assert!(attention && found.contains(words) && found.contains("plugins.github.api_url"), "{found}");
        stage.stop().await;
    }
    stage.write_home();
    stage.start_again().await;
    provider(&stage, "ok").await;
    let number = stage.pull("Guard the sum");
    stage.open_gate("plan", number).await;
}

#[tokio::test]
async fn a_repository_that_cannot_be_cloned_holds_its_round_with_the_reason() {
    // WS-02
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let refuse = |count: usize| {
        for _ in 0..count {
            stage.world.push_fault(Fault {
                on: Match::new("", &format!("/{REPO}.git/**")),
                kind: FaultKind::Status(403, json!({ "message": "Forbidden" })),
            });
        }
    };
    refuse(2);
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let item = held_item(&stage, number, REPO).await;
    assert!(!item.reason.contains(TOKEN), "{}", item.reason);
    no_turn(&stage, number).await;
    let shown = stage.client().gates(&GateFilter { unit: Some(stage.unit(number)), ..GateFilter::default() }).await.unwrap();
    assert_eq!(shown.len(), 1, "the decision was kept, and is not asked again");
    stage.world.clear_faults();
    // A round that rested is looked at anew at a start, and else after its rest.
    stage.stop().await;
    stage.start_again().await;
    stage.turn(number, &["recorded"]).await;
}
