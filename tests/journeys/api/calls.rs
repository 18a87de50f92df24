//! What a call names and how often it takes effect: ids, calls that are repeated, and the plan's commands.

use serde_json::json;
use wloop_api::client::ClientError;
use wloop_api::types::{Discard, PlanAction, PlanRequest, Resolve, TurnRequest};
use wloop_core::id::GateId;
use wloop_tests::raw::RawRequest;
use wloop_tests::{ME, Stage, refused, until};
use wloop_world::{Fault, FaultKind};

use super::{ask, post, socket};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_may_be_shortened_as_long_as_one_object_has_it() {
    // API-01, RES-16
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let gate = stage.open_gate("plan", number).await;
    for length in [4, 6, 12, 31, 32] {
        assert_eq!(stage.gate(&gate.id[..length]).await.id, gate.id);
    }
    assert_eq!(gate.short, gate.id[..6]);
    assert_eq!(refused(stage.client().gate(&gate.id[..3]).await).status, 404);
    stage.stop().await;
    // Another gate whose id begins with the same ten digits.
    let mut twin: String = gate.id[..10].to_owned();
    twin.push_str(if gate.id[10..11] == *"0" { "1" } else { "0" });
    twin.push_str(&gate.id[11..]);
    let mut store = wloop_store::Store::open(&stage.home().join("state.db"), gate.opened_at).unwrap();
    let row = store.reader().unwrap().read(|reads| reads.gate(gate.id.parse().unwrap())).unwrap().unwrap();
    let mut other = row.clone();
    other.gate.id = twin.parse::<GateId>().unwrap();
    store.write(|tx| tx.insert_gate(&other)).unwrap();
    drop(store);
    stage.start_again().await;
    for request in [
        RawRequest::get(&format!("/api/gates/{}", &gate.id[..8])),
        RawRequest::post(&format!("/api/gates/{}/skip", &gate.id[..6]), &json!({})),
    ] {
        let answer = ask(&stage, &request);
        assert_eq!((answer.status, answer.body["field"].as_str()), (422, Some("id")), "{:?}", answer.body);
        let detail = answer.body["detail"].as_str().unwrap();
        assert!(detail.contains(&gate.id[..12]) && detail.contains(&twin[..12]), "{detail}");
    }
    let now = stage.gate(&gate.id[..11]).await;
    assert_eq!((now.id.as_str(), now.status.as_str(), now.short.as_str()), (gate.id.as_str(), "open", &gate.id[..11]));
}

/// Sends a request and never reads its answer; it is lost once what is given back is dropped.
fn send_unheard(stage: &Stage, request: &RawRequest) -> Unheard {
    use std::io::Write as _;
    let mut stream = std::os::unix::net::UnixStream::connect(socket(stage)).unwrap();
    let (method, target, body) = (&request.method, &request.target, &request.body);
    write!(stream, "{method} {target} HTTP/1.1\r\nHost: wloop\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    Unheard(stream)
}

struct Unheard(std::os::unix::net::UnixStream);

impl Drop for Unheard {
    fn drop(&mut self) {
        drop(self.0.shutdown(std::net::Shutdown::Both));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_repeated_after_a_lost_answer_does_nothing_twice() {
    // API-10, API-05, RES-16, RES-17
    let mut stage = Stage::new().await;
    let (first, second, third) = (stage.pull("Guard the sum"), stage.pull("Name the sum"), stage.pull("Not now"));
    stage.start().await;
    let gate = stage.open_gate("plan", first).await;
    let lost = RawRequest::post(&format!("/api/gates/{}/run_now", gate.id), &json!({}));
    let unheard = send_unheard(&stage, &lost);
    stage.turn(first, &["recorded"]).await;
    drop(unheard);
    let again = ask(&stage, &lost);
    assert_eq!((again.status, again.body["gate"]["status"].as_str()), (409, Some("approved")), "{:?}", again.body);

    // Many at once: one takes effect, and each other hears how it ended.
    let gate = stage.open_gate("plan", second).await;
    let calls = ["run_now", "skip", "run_now", "skip", "run_now", "skip"].map(|intent| {
        let (client, id) = (stage.client(), gate.id.clone());
        tokio::spawn(async move { client.resolve(&id, intent, &Resolve::default()).await })
    });
    let mut taken = Vec::new();
    for call in calls {
        match call.await.unwrap() {
            Ok(gate) => taken.push(gate.closed.unwrap().intent.unwrap()),
            Err(ClientError::Problem(problem)) => {
                assert_eq!(problem.status, 409);
                assert_ne!(problem.gate.unwrap().status, "open");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(taken.len(), 1);
    let closed = stage.gate(&gate.id).await.closed.unwrap();
    assert_eq!(closed.intent.as_deref(), Some(taken[0].as_str()));

    // The plan's route, and a guidance that found nothing to guide.
    let gate = stage.open_gate("plan", third).await;
    let dismiss = RawRequest::post("/api/plan", &json!({ "unit": stage.unit(third), "action": "dismiss" }));
    let unheard = send_unheard(&stage, &dismiss);
    until("the plan's dismissal", || async {
        (stage.gate(&gate.id).await.status == "rejected").then_some(()).ok_or_else(|| "open".into())
    })
    .await;
    drop(unheard);
    assert_eq!(ask(&stage, &dismiss).status, 409);
    for _ in 0..2 {
        let late = post(&stage, &format!("/api/gates/{}/guide", gate.id), &json!({ "text": "look at the sum" }));
        assert_eq!((late.status, late.body["gate"]["status"].as_str()), (409, Some("rejected")));
    }
    let events = stage.client().events(0).await.unwrap();
    let of = |kind: &str, gate: &str| events.iter().filter(|e| e.kind == kind && e.gate.as_deref() == Some(gate)).count();
    assert_eq!(of("guidance_kept", &gate.id), 1);
    for gate in stage.client().gates(&wloop_api::client::GateFilter::default()).await.unwrap() {
        assert_eq!(of("gate_decided", &gate.id), usize::from(gate.closed.is_some()), "{} {}", gate.kind, gate.words);
    }
    assert_eq!(stage.my_reviews(first).len(), 1);
    let seconds = usize::from(taken[0] == "run_now");
    if seconds == 1 {
        stage.turn(second, &["recorded"]).await;
    }
    stage.stop().await;
    assert_eq!(stage.my_reviews(second).len(), seconds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_is_settled_once_and_a_round_by_hand_is_started_once() {
    // API-10
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let refusal = json!({ "message": "Validation Failed" });
    stage.world.push_fault(Fault::new("POST", "/repos/*/*/pulls/*/reviews", FaultKind::Status(422, refusal)));
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    let failed = stage.post(number, &["failed"]).await;
    stage.turn(number, &["failed"]).await;
    let client = stage.client();
    let reason = Discard { reason: Some("no".to_owned()) };
    assert_eq!(client.post_discard(&failed.id, &reason).await.unwrap().state, "dropped");
    let again = refused(client.post_discard(&failed.id, &reason).await);
    assert_eq!(again.status, 409);
    assert!(again.detail.contains("dropped"), "{}", again.detail);
    for refused in [refused(client.post_retry(&failed.id).await), refused(client.post_sent(&failed.id).await)] {
        assert_eq!(refused.status, 409, "{}", refused.detail);
    }
    assert_eq!(stage.events().await.iter().filter(|(kind, _)| kind == "post_settled").count(), 1);

    stage.agent_word = "slow-before-post".to_owned();
    stage.stop().await;
    stage.start().await;
    let wanted = TurnRequest { unit: stage.unit(number), intent: "review".to_owned(), stage: None, guidance: None };
    client.start_turn(&wanted).await.unwrap();
    let again = refused(client.start_turn(&wanted).await);
    assert_eq!(again.status, 409, "{}", again.detail);
    let turn = stage.turn(number, &["started"]).await;
    assert_eq!(refused(client.start_turn(&wanted).await).status, 409);
    client.cancel_turn(&turn.id).await.unwrap();
    stage.turn(number, &["dismissed"]).await;
    let again = refused(client.cancel_turn(&turn.id).await);
    assert!(again.status == 409 && again.detail.contains("dismissed"), "{}", again.detail);
    stage.stop().await;
    assert_eq!(stage.my_reviews(number).len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_plan_s_commands_act_on_the_pull_request_they_name_alone() {
    // CLI-18, API-05
    let mut stage = Stage::new().await;
    let (number, other) = (stage.pull("Guard the sum"), stage.pull("Name the sum"));
    stage.start().await;
    let (gate, beside) = (stage.open_gate("plan", number).await, stage.open_gate("plan", other).await);
    let before = stage.events().await;
    let stranger = stage.world.pull_url(wloop_tests::REPO, 999);
    for unit in [stranger.as_str(), "https://github.example/acme/api/pull/1", "acme/other#1", "nonsense"] {
        let output = stage.wloop(&["plan", "dismiss", unit]).output().await.unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains(unit) && words.trim().lines().count() == 1, "{words}");
        for action in [PlanAction::Apply, PlanAction::Dismiss] {
            let wanted = PlanRequest { unit: unit.to_owned(), action, guidance: None };
            assert!([404, 422].contains(&refused(stage.client().decide_plan(&wanted).await).status), "{unit}");
        }
    }
    assert_eq!(stage.events().await, before, "nothing changed");
    let address = stage.world.pull_url(wloop_tests::REPO, number);
    let output = stage.wloop(&["plan", "dismiss", &address]).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stage.gate(&gate.id).await.status, "rejected");
    assert_eq!(stage.gate(&beside.id).await.status, "open");
    let apply = PlanRequest { unit: stage.world.pull_url(wloop_tests::REPO, other), action: PlanAction::Apply, guidance: None };
    let answer = stage.client().decide_plan(&apply).await.unwrap();
    assert_eq!(answer.gates.iter().map(|g| g.id.as_str()).collect::<Vec<_>>(), [beside.id.as_str()]);
    stage.turn(other, &["recorded"]).await;
    assert_eq!(stage.world.reviews(wloop_tests::REPO, number).iter().filter(|r| r.author == ME).count(), 0);
}
