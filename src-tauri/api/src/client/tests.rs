//! The client against a small server on a Unix socket that answers what a test wrote down. The daemon's own answers are proved
//! by the journeys; here it is what the client does with answers, silences and breaks.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::{Client, ClientError, target};
use crate::types::Resolve;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A socket of this test's own; the folder goes with the value.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let name = format!("wloop-api-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("s")
    }

    /// Answers the connections in order with the given texts; each request's head is sent on.
    fn serve(&self, answers: Vec<String>) -> mpsc::UnboundedReceiver<String> {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let (heads, received) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                heads.send(read_head(&mut stream).await).unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            // Dropping the listener makes further connections fail, as a daemon that is gone does.
        });
        received
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

async fn read_head(stream: &mut UnixStream) -> String {
    let mut text = String::new();
    let mut buffer = [0_u8; 4096];
    while !text.contains("\r\n\r\n") {
        let count = stream.read(&mut buffer).await.unwrap();
        assert_ne!(count, 0, "the request ended early: {text}");
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn stream_of(ids: &[i64]) -> String {
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: hello\n\n".to_owned();
    for id in ids {
        text.push_str(&format!("id: {id}\ndata: {}\n\n", event(*id)));
    }
    text
}

fn event(id: i64) -> String {
    format!(
        "{{\"id\":{id},\"at\":\"2026-01-05T10:00:00Z\",\"kind\":\"gate_opened\",\"class\":\"moved\",\"key\":\"plan\",\
         \"data\":null,\"actor\":\"daemon\"}}"
    )
}

// interfaces.md, HTTP API: a key is one percent-encoded segment
#[test]
fn varying_parts_become_one_segment_each() {
    assert_eq!(target("/api/gates/{id}/{intent}", &["a/b", "run now"], &[]), "/api/gates/a%2Fb/run%20now");
    assert_eq!(
        target("/api/gates", &[], &[("unit", "acme/api#12".to_owned()), ("status", "open".to_owned())]),
        "/api/gates?unit=acme%2Fapi%2312&status=open"
    );
}

#[tokio::test]
async fn a_missing_daemon_is_unreachable_and_names_the_socket() {
    let place = Place::new();
    let error = Client::connect(place.socket(), None).status().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains(place.socket().to_str().unwrap()), "{error}");
}

#[tokio::test]
async fn a_silent_daemon_is_given_up_after_the_limit() {
    let place = Place::new();
    let _listener = UnixListener::bind(place.socket()).unwrap();
    let client = Client::connect(place.socket(), None).with_limit(Duration::from_millis(30));
    let error = client.status().await.unwrap_err();
    let ClientError::Unreachable { cause, .. } = error else { panic!("{error:?}") };
    assert_eq!(cause.kind(), std::io::ErrorKind::TimedOut);
}

// RES-21, API-02
#[tokio::test]
async fn a_call_carries_host_session_and_body() {
    let place = Place::new();
    let mut heads = place.serve(vec![answer(
        "409 Conflict",
        r#"{"type":"not_open","title":"not open","status":409,"detail":"the gate is already approved"}"#,
    )]);
    let client = Client::connect(place.socket(), Some("s-1".to_owned()));
    let body = Resolve { text: Some("look at the test".to_owned()), draft_text: None };
    let error = client.resolve("abcd", "guide", &body).await.unwrap_err();
    let ClientError::Problem(problem) = &error else { panic!("{error:?}") };
    assert_eq!((problem.status, problem.kind.as_str()), (409, "not_open"));
    assert_eq!(error.to_string(), "the gate is already approved");

    let head = heads.recv().await.unwrap();
    assert!(head.starts_with("POST /api/gates/abcd/guide HTTP/1.1\r\n"), "{head}");
    let lower = head.to_lowercase();
    assert!(lower.contains("\r\nhost: wloop\r\n") && lower.contains("\r\nwloop-session: s-1\r\n"), "{head}");
    assert!(head.contains(r#"{"text":"look at the test"}"#), "{head}");
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_unusable() {
    let place = Place::new();
    let _heads = place.serve(vec![answer("200 OK", "<html>"), answer("502 Bad Gateway", "oops")]);
    let client = Client::connect(place.socket(), None);
    for _ in 0..2 {
        let error = client.plan().await.unwrap_err();
        assert!(matches!(error, ClientError::Unusable(_)), "{error:?}");
    }
}

// EVT-13
#[tokio::test]
async fn the_stream_goes_on_from_the_last_id_and_repeats_nothing() {
    let place = Place::new();
    let mut heads = place.serve(vec![stream_of(&[5, 6]), stream_of(&[6, 7])]);
    let mut events = Client::connect(place.socket(), None).follow(Some(4)).with_patience(Duration::from_millis(50));
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(events.next().await.unwrap().id);
    }
    assert_eq!(seen, [5, 6, 7]);
    assert!(heads.recv().await.unwrap().starts_with("GET /api/events?since=4 "));
    assert!(heads.recv().await.unwrap().starts_with("GET /api/events?since=6 "));
    let error = events.next().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    assert_eq!(events.last(), Some(7));
}

// EVT-13: a server that takes every connection and ends it at once is given up as one that is gone
#[tokio::test]
async fn a_stream_that_never_holds_is_given_up() {
    let place = Place::new();
    let _heads = place.serve(vec![stream_of(&[]); 200]);
    let mut events = Client::connect(place.socket(), None).follow(Some(0)).with_patience(Duration::from_millis(250));
    let ended = tokio::time::timeout(Duration::from_secs(20), events.next()).await.expect("it goes on for ever");
    assert!(matches!(ended, Err(ClientError::Unreachable { .. })), "{ended:?}");
}

// EVT-02, EVT-13: without an id the stream starts at what is newest
#[tokio::test]
async fn the_newest_event_is_found_whatever_ids_there_are() {
    for ids in [vec![], vec![1], vec![7], (1..=1_000).collect(), (1..=40).map(|n| n * n * 3).collect::<Vec<i64>>()] {
        let place = Place::new();
        let listener = UnixListener::bind(place.socket()).unwrap();
        let newest = ids.last().copied().unwrap_or(0);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let head = read_head(&mut stream).await;
                let since: i64 = head.split("since=").nth(1).unwrap().split('&').next().unwrap().parse().unwrap();
                let first = ids.iter().find(|id| **id > since);
                let body = first.map_or("[]".to_owned(), |id| format!("[{}]", event(*id)));
                stream.write_all(answer("200 OK", &body).as_bytes()).await.unwrap();
            }
        });
        assert_eq!(Client::connect(place.socket(), None).newest_event().await.unwrap(), newest);
    }
}
