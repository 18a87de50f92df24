//! The HTTP server: connections, accounts, faults, and the headers every answer has.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::answer::{Answer, Asked, Content};
use crate::clock::http_date;
use crate::faults::FaultKind;
use crate::model::{AccountIx, State};
use crate::refused::put;
use crate::world::World;
use crate::{control, graphql, rest, smart_http, web};

/// The largest body that is read.
const BODY_LIMIT: usize = 64 * 1024 * 1024;
/// How often the address is tried to be held, and the pause between.
const SHUT_TRIES: u32 = 400;
const SHUT_PAUSE: Duration = Duration::from_millis(10);

type Body = BoxBody<Bytes, io::Error>;

/// Closes the connection without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection is closed on purpose")]
struct Closed;

/// The address while the server listens on it, and while it only holds it, so that nobody is let in and nobody else takes it.
enum Door {
    Open(TcpListener),
    Shut(TcpSocket),
}

impl Door {
    async fn accept(&self) -> io::Result<TcpStream> {
        match self {
            Self::Open(listener) => listener.accept().await.map(|(stream, _)| stream),
            Self::Shut(_) => std::future::pending().await,
        }
    }

    async fn shut(self) -> io::Result<Self> {
        match self {
            Self::Open(listener) => {
                let address = listener.local_addr()?;
                drop(listener);
                let mut tries = 0;
                loop {
                    let socket = TcpSocket::new_v4()?;
                    socket.set_reuseaddr(true)?;
                    match socket.bind(address) {
                        Ok(()) => return Ok(Self::Shut(socket)),
                        // A process that is just being spawned elsewhere holds a copy of the listener until it becomes its program.
                        Err(fault) if fault.kind() == io::ErrorKind::AddrInUse && tries < SHUT_TRIES => {
                            tries += 1;
                            tokio::time::sleep(SHUT_PAUSE).await;
                        }
                        Err(fault) => return Err(fault),
                    }
                }
            }
            shut @ Self::Shut(_) => Ok(shut),
        }
    }

    fn open(self) -> io::Result<Self> {
        match self {
            Self::Shut(socket) => Ok(Self::Open(socket.listen(1_024)?)),
            open @ Self::Open(_) => Ok(open),
        }
    }
}

pub(crate) async fn serve(world: Arc<World>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    let mut door = Door::Open(listener);
    let mut wanted = world.wanted_shut.subscribe();
    // It may have been wished before this task ran.
    wanted.mark_changed();
    loop {
        tokio::select! {
            () = world.stop.cancelled() => break,
            changed = wanted.changed() => {
                let shut = *wanted.borrow_and_update();
                let moved = if shut { door.shut().await } else { door.open() };
                door = match moved {
                    Ok(door) => door,
                    Err(error) => {
                        tracing::error!(%error, "the address could not be shut or opened");
                        // Whoever waits for it goes on, and finds a server that has ended.
                        world.shut.send_replace(shut);
                        break;
                    }
                };
                if shut {
                    connections.shutdown().await;
                }
                world.shut.send_replace(shut);
                if changed.is_err() {
                    break;
                }
            }
            accepted = door.accept() => match accepted {
                Ok(stream) => {
                    connections.spawn(connection(Arc::clone(&world), stream));
                }
                Err(error) => tracing::warn!(%error, "a connection could not be accepted"),
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
    connections.shutdown().await;
}

async fn connection(world: Arc<World>, stream: TcpStream) {
    // An answer is small and is waited for: it goes at once.
    drop(stream.set_nodelay(true));
    let service = service_fn(move |request| {
        let world = Arc::clone(&world);
        async move { handle(world, request).await }
    });
    let ended = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn handle(world: Arc<World>, request: Request<Incoming>) -> Result<Response<Body>, Closed> {
    let releases = world.releases.subscribe();
    let asked = read(request).await?;
    if asked.path.starts_with("/_world/") {
        let answer = tokio::task::spawn_blocking({
            let world = Arc::clone(&world);
            move || control::answer(&world, &asked)
        })
        .await
        .unwrap_or_else(|_| Answer::error(500, "the control face failed"));
        return Ok(respond(&world, 0, answer));
    }
    let (number, fault) = world.arrived(&asked);
    let dropped = || {
        world.ended(number, None);
        Err(Closed)
    };
    match fault {
        Some(FaultKind::Status(status, body)) => return Ok(respond(&world, number, Answer::json(status, body))),
        Some(FaultKind::Answer { status, headers, body }) => {
            let answer = Answer { headers, ..Answer::json(status, body) };
            return Ok(respond(&world, number, answer));
        }
        Some(FaultKind::Dropped) => return dropped(),
        Some(FaultKind::Hang) => {
            world.until_released(releases).await;
            return dropped();
        }
        Some(
            FaultKind::ActedThen502
            | FaultKind::ActedThenDropped
            | FaultKind::ActedThenHang
            | FaultKind::Truncated
            | FaultKind::Garbled
            | FaultKind::Changed(_)
            | FaultKind::Delay,
        )
        | None => {}
    }
    let delayed = (fault == Some(FaultKind::Delay)).then(|| releases.clone());
    // By itself, so that a caller who goes away does not undo or prevent the act.
    let acting = tokio::spawn({
        let world = Arc::clone(&world);
        async move {
            if let Some(releases) = delayed {
                world.until_released(releases).await;
            }
            act(&world, number, asked).await
        }
    });
    let answer = acting.await.unwrap_or_else(|_| Answer::error(500, "the small GitHub failed"));
    match fault {
        Some(FaultKind::ActedThen502) => Ok(respond(
            &world,
            number,
            Answer::text(502, "text/html; charset=utf-8", "<html><title>Unicorn!</title></html>".to_owned()),
        )),
        Some(FaultKind::ActedThenDropped) => dropped(),
        Some(FaultKind::ActedThenHang) => {
            world.until_released(releases).await;
            Ok(respond(&world, number, answer))
        }
        Some(FaultKind::Truncated) => Ok(truncated(respond(&world, number, answer)).await),
        Some(FaultKind::Garbled) => {
            let text = "{\"id\": 12, <!-- half a page".to_owned();
            let content = Answer::text(answer.status, "application/json; charset=utf-8", text).content;
            Ok(respond(&world, number, Answer { content, ..answer }))
        }
        Some(FaultKind::Changed(changes)) => {
            let mut answer = answer;
            if let Content::Json(body) = &mut answer.content {
                for (place, value) in changes {
                    put(body, &place, value);
                }
            }
            Ok(respond(&world, number, answer))
        }
        Some(FaultKind::Delay | FaultKind::Dropped | FaultKind::Hang | FaultKind::Status(..) | FaultKind::Answer { .. })
        | None => Ok(respond(&world, number, answer)),
    }
}

async fn read(request: Request<Incoming>) -> Result<Asked, Closed> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_LIMIT).collect().await.map_err(|_| Closed)?.to_bytes();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    Ok(Asked {
        method: head.method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers,
        body: body.to_vec(),
    })
}

async fn act(world: &Arc<World>, number: u64, asked: Asked) -> Answer {
    let answer = if smart_http::is_git(&asked.path) {
        smart_http::answer(world, &asked).await
    } else {
        let world = Arc::clone(world);
        tokio::task::spawn_blocking(move || route(&world, &asked))
            .await
            .unwrap_or_else(|_| Answer::error(500, "the small GitHub failed"))
    };
    world.carried_out(number, answer.status < 400, answer.value());
    answer
}

fn route(world: &World, asked: &Asked) -> Answer {
    let mut state = world.state();
    let first = asked.path.split('/').nth(1).unwrap_or_default();
    if matches!(asked.path.as_str(), "/graphql" | "/api/graphql") {
        return match authenticate(&state, asked) {
            Err(answer) => answer,
            Ok(viewer) => {
                let mut answer = graphql::answer(&mut state, &world.base, viewer, asked);
                answer.resource = Some("graphql");
                answer
            }
        };
    }
    if !matches!(first, "repos" | "repositories" | "user" | "users" | "search" | "rate_limit" | "notifications") {
        return web::answer(&state, &world.base, asked);
    }
    let viewer = match authenticate(&state, asked) {
        Ok(viewer) => viewer,
        Err(answer) => return answer,
    };
    let resource = if first == "search" { "search" } else { "core" };
    let counted = first != "rate_limit";
    if counted && !state.spend(resource) {
        let login = state.login(viewer);
        let mut answer = Answer::error(403, &format!("API rate limit exceeded for user {login}."));
        answer.resource = Some(resource);
        return answer;
    }
    let mut answer = conditional(asked, rest::answer(&mut state, &world.base, viewer, asked));
    if answer.status == 304 && counted {
        state.refund(resource);
    }
    answer.resource = Some(resource);
    answer
}

/// Gives a good read its `ETag`, and nothing else when the caller has it already.
fn conditional(asked: &Asked, answer: Answer) -> Answer {
    if asked.method != "GET" || answer.status != 200 {
        return answer;
    }
    let mut hasher = DefaultHasher::new();
    answer.bytes().1.hash(&mut hasher);
    let etag = format!("W/\"{:016x}\"", hasher.finish());
    let known = asked.header("if-none-match").is_some_and(|held| held.split(", ").any(|held| held == etag));
    let answer = if known { Answer { status: 304, content: Content::Empty, ..answer } } else { answer };
    answer.with("etag", &etag)
}

/// Whose token it is, or GitHub's answer to none or a wrong one.
pub(crate) fn authenticate(state: &State, asked: &Asked) -> Result<AccountIx, Answer> {
    let Some(given) = asked.header("authorization") else {
        return Err(Answer::error(401, "Requires authentication"));
    };
    token(given)
        .and_then(|token| state.tokens.get(&token).copied())
        .filter(|ix| state.live(*ix).is_some())
        .ok_or_else(|| Answer::error(401, "Bad credentials"))
}

/// The token of `Bearer T`, `token T`, or the password of `Basic`.
fn token(header: &str) -> Option<String> {
    let (scheme, rest) = header.split_once(' ')?;
    match scheme.to_lowercase().as_str() {
        "bearer" | "token" => Some(rest.trim().to_owned()),
        "basic" => {
            let text = String::from_utf8(decode_base64(rest.trim())?).ok()?;
            let (user, password) = text.split_once(':')?;
            // A token may stand in either place, as with GitHub.
            Some(if password.is_empty() || password == "x-oauth-basic" { user } else { password }.to_owned())
        }
        _ => None,
    }
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).unwrap_or(0));
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

/// Writes the answer with the headers that each of GitHub's has, and ends the record of the call.
fn respond(world: &World, number: u64, answer: Answer) -> Response<Body> {
    let resource = answer.resource.unwrap_or("core");
    let (now, quota, seed) = {
        let state = world.state();
        (state.now(), state.quota(resource), state.seed)
    };
    let (kind, bytes) = answer.bytes();
    let mut response = Response::new(Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed());
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = vec![
        ("date".to_owned(), http_date(now)),
        ("server".to_owned(), "github.com".to_owned()),
        ("x-github-request-id".to_owned(), format!("{:04X}:{:06X}:{:08X}", seed & 0xffff, number, number * 7_919)),
        ("x-github-media-type".to_owned(), "github.v3; format=json".to_owned()),
        ("x-oauth-scopes".to_owned(), "read:org, repo".to_owned()),
        ("x-ratelimit-limit".to_owned(), quota.limit.to_string()),
        ("x-ratelimit-remaining".to_owned(), quota.remaining().to_string()),
        ("x-ratelimit-used".to_owned(), quota.used.to_string()),
        ("x-ratelimit-reset".to_owned(), quota.reset.to_string()),
        ("x-ratelimit-resource".to_owned(), resource.to_owned()),
    ];
    headers.extend(kind.map(|kind| ("content-type".to_owned(), kind.to_owned())));
    headers.extend(answer.headers);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    if number > 0 {
        world.ended(number, Some(answer.status));
    }
    response
}

/// The same answer, broken off after half of its body.
async fn truncated(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    head.headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    let half = bytes.slice(..bytes.len() / 2);
    let parts = futures_util::stream::once(std::future::ready(Ok(Frame::data(half)))).chain(futures_util::stream::once(async {
        // Lets the first half leave before the connection does.
        tokio::task::yield_now().await;
        Err(io::Error::other("broken off on purpose"))
    }));
    Response::from_parts(head, BodyExt::boxed(StreamBody::new(parts)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_each_scheme() {
        assert_eq!(token("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token("token abc").as_deref(), Some("abc"));
        assert_eq!(token("Basic eDphYmM=").as_deref(), Some("abc"));
        assert_eq!(token("Basic YWJjOg==").as_deref(), Some("abc"));
        assert_eq!(token("Basic ***"), None);
        assert_eq!(token("abc"), None);
    }
}
