//! The record of events, which every client follows.

use serde_json::Value;
use wloop_api::client::{Client, UnitFilter};
use wloop_api::types::Event;
use wloop_tests::Stage;
use wloop_tests::raw::RawRequest;

use super::ask;

/// Reads live events from a connection of its own until `enough`, then breaks it off.
async fn live(client: &Client, since: i64, enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let mut events = client.follow(Some(since));
    let mut got = Vec::new();
    while !enough(&got) {
        got.push(tokio::time::timeout(wloop_tests::PATIENCE, events.next()).await.expect("an event comes").unwrap());
    }
    got
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_record_is_followed_from_any_id_over_breaks_and_restarts_each_event_once() {
    // EVT-02, EVT-13
    let mut stage = Stage::new().await;
    let number = stage.pull("Guard the sum");
    stage.start().await;
    let client = stage.client();
    // One that follows all the way, across a restart of the daemon, and one that breaks off after every third event.
    let steady = tokio::spawn({
        let client = client.clone();
        async move { live(&client, 0, |got| got.iter().any(|e| e.kind == "turn_recorded")).await }
    });
    let mut parts = live(&client, 0, |got| got.len() >= 3).await;
    stage.open_gate("plan", number).await;
    stage.stop().await;
    stage.start_again().await;
    let gate = stage.open_gate("plan", number).await;
    stage.resolve(&gate.id, "run_now").await;
    while !parts.iter().any(|e| e.kind == "turn_recorded") {
        let since = parts.last().unwrap().id;
        let some = |got: &[Event]| got.len() >= 3 || got.iter().any(|e| e.kind == "turn_recorded");
        parts.extend(live(&client, since, some).await);
    }
    let steady = steady.await.unwrap();
    let last = steady.last().unwrap().id;
    let all: Vec<Event> = client.events(0).await.unwrap().into_iter().filter(|e| e.id <= last).collect();
    assert_eq!(steady, all, "the one that followed all the way");
    assert_eq!(parts, all, "the one that broke off");
    assert!(all.windows(2).all(|pair| pair[0].id < pair[1].id), "ids grow");
    // Any id is a cursor, also over the plain list and the header of a browser's reconnect.
    let middle = all[all.len() / 2].id;
    let rest: Vec<i64> = client.events(middle).await.unwrap().iter().map(|e| e.id).filter(|id| *id <= last).collect();
    assert_eq!(rest, all.iter().map(|e| e.id).filter(|id| *id > middle).collect::<Vec<_>>());
    let answer = ask(&stage, &RawRequest::get("/api/events?since=0&limit=1").header("Last-Event-ID", &middle.to_string()));
    assert_eq!(answer.body[0]["id"].as_i64(), rest.first().copied());
    // The command line's `--follow` prints what the API says.
    let mut child = stage.wloop(&["events", "--follow", "--since", "1", "--all", "--json"]).spawn().unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stdout.take().unwrap()));
    for event in all.iter().filter(|e| e.id > 1) {
        let line = tokio::time::timeout(wloop_tests::PATIENCE, lines.next_line()).await.expect("a line comes").unwrap().unwrap();
        let printed: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(printed["id"], event.id, "{line}");
    }
    child.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_has_its_event_with_who_did_it_and_old_ones_stay_as_they_were() {
    // EVT-01, EVT-03, EVT-04
    let mut stage = Stage::new().await;
    stage.window = "1s".to_owned();
    let alone = stage.pull("Nobody looks");
    stage.start().await;
    stage.turn(alone, &["recorded"]).await;
    let early = stage.client().events(0).await.unwrap();
    stage.stop().await;
    stage.window = "600s".to_owned();
    stage.start().await;
    let risky = stage.risky_pull("Drop a column");
    let gate = stage.open_gate("plan", risky).await;
    stage.resolve(&gate.id, "run_now").await;
    let held = stage.open_gate("post", risky).await;
    stage.resolve(&held.id, "publish").await;
    stage.post(risky, &["sent"]).await;
    let events = stage.client().events(0).await.unwrap();
    assert_eq!(events[..early.len()], early[..], "what was recorded is never changed");
    let actors = ["person", "session", "rule", "window", "workflow", "daemon", "provider"];
    for event in &events {
        assert!(actors.contains(&event.actor.as_str()), "{event:?}");
        let kind = wloop_core::event::EventKind::from_word(&event.kind).expect("a known kind");
        assert_eq!(event.class, kind.class().as_str());
        if event.actor == "session" || event.actor == "workflow" || event.actor == "rule" {
            assert!(event.actor_ref.as_ref().is_some_and(|r| !r.is_empty()), "{event:?} says which");
        }
        assert_eq!(event.via_session, None);
    }
    let decided = |gate: &str| events.iter().find(|e| e.kind == "gate_decided" && e.gate.as_deref() == Some(gate)).unwrap();
    let turns = stage.client().turns(&UnitFilter { state: None, unit: Some(stage.unit(alone)) }).await.unwrap();
    assert_eq!(decided(turns[0].gate.as_ref().unwrap()).actor, "window");
    assert_eq!(decided(&gate.id).actor, "person");
    assert_eq!(decided(&held.id).actor, "person");
    // Each step of the round has left its line.
    let unit = events.iter().find(|e| e.gate.as_deref() == Some(gate.id.as_str())).unwrap().unit.clone();
    let story: Vec<&str> = events.iter().filter(|e| e.unit == unit).map(|e| e.kind.as_str()).collect();
    for kind in
        ["round_planned", "gate_opened", "gate_decided", "turn_starting", "turn_sent", "turn_started", "turn_asked", "post_sent"]
    {
        assert!(story.contains(&kind), "{kind} in {story:?}");
    }
    let posted = events.iter().filter(|e| e.class == "posted" && e.unit == unit).count();
    assert!(posted >= 1, "what left in the person's name is of class `posted`");
}
