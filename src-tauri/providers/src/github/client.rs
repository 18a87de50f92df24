//! The only place that talks to GitHub. It sees status, headers and the whole body of every answer; it repeats nothing by itself;
//! it holds the limits, the pace of writes and the number of reads.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use octocrab::Octocrab;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, Semaphore};
use tokio::time::Instant;
use url::Url;
use wloop_core::github::ReadFault;

use super::address::{Addresses, addresses};
use super::error::{ConfigFault, Loss, transport, words};
use super::graphql::{self, Envelope};
use super::limits::{self, Class, Clocks, Limits};
use crate::port::{ProviderHealth, Quota};

/// Our clock, given from outside.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
/// A random share from 0 to 1, given from outside; a fifth of it lengthens a wait.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Reads in flight at most (GH-SYNC-39).
const READS: usize = 4;
/// Redirects of a read at most (GH-SYNC-41).
const REDIRECTS: usize = 3;
/// Time for name, connection and TLS together. Below both limits of a call, so that a host that does not answer a connection is
/// known as one that got nothing.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of an answer at most.
const BODY_LIMIT: usize = 64 * 1024 * 1024;
/// Pages of one list at most; a list that never ends is a fault of the other side.
const PAGES: usize = 300;
/// Notes kept for health.
const NOTES: usize = 20;

/// How to reach GitHub and as whom.
#[derive(Clone)]
pub struct GithubConfig {
    /// Where REST paths start.
    pub api_url: String,
    /// The web address, where it does not follow from `api_url`.
    pub web_url: Option<String>,
    /// The token; never shown.
    pub token: SecretString,
    /// Our clock.
    pub now: Clock,
    /// Spreads waits after limits.
    pub jitter: Jitter,
    /// The least time between two writes (GH-SYNC-39).
    pub write_pause: Duration,
    /// The time limit of a read, its whole answer included.
    pub read_limit: Duration,
    /// The time limit of a write, its whole answer included.
    pub write_limit: Duration,
}

impl GithubConfig {
    /// The constants of the specification: 20 s for a read, 30 s for a write, 1 s between writes; a fixed half as jitter.
    #[must_use]
    pub fn new(api_url: String, token: SecretString, now: Clock) -> Self {
        Self {
            api_url,
            web_url: None,
            token,
            now,
            jitter: Arc::new(|| 0.5),
            write_pause: Duration::from_secs(1),
            read_limit: Duration::from_secs(20),
            write_limit: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for GithubConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubConfig")
            .field("web_url", &self.web_url)
            .field("write_pause", &self.write_pause)
            .finish_non_exhaustive()
    }
}

/// A complete answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// GitHub's clock at the answer (GH-SYNC-46).
    pub(crate) at: Timestamp,
    /// GitHub's clock minus ours.
    pub(crate) skew_ms: i64,
}

impl Answer {
    pub(crate) fn words(&self) -> String {
        words(&self.body, self.status.as_u16())
    }

    pub(crate) fn json(&self) -> Result<Value, ReadFault> {
        serde_json::from_slice(&self.body)
            .map_err(|error| ReadFault::Unusable(format!("status {} with a body that is no json: {error}", self.status.as_u16())))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// All pages of a REST list.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) items: Vec<Value>,
}

#[derive(Debug, Default)]
struct State {
    limits: Limits,
    skew_ms: Option<i64>,
    last_error: Option<(Timestamp, String)>,
    last_success: Option<Timestamp>,
    signed_out: Option<String>,
    skipped: Vec<String>,
    notes: Vec<String>,
}

pub(crate) struct Client {
    http: Octocrab,
    pub(crate) addresses: Addresses,
    pub(crate) api: Url,
    graphql: Url,
    now: Clock,
    jitter: Jitter,
    write_pause: Duration,
    read_limit: Duration,
    write_limit: Duration,
    reads: Semaphore,
    /// When the last write ended; held for the time of a write, so that they go one at a time.
    writes: AsyncMutex<Option<Instant>>,
    /// Held by the one request that goes first after a wait.
    first: Arc<AsyncMutex<()>>,
    state: Mutex<State>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(config: GithubConfig) -> Result<Self, ConfigFault> {
        let addresses = addresses(&config.api_url, config.web_url.as_deref())?;
        let token = config.token.expose_secret();
        // The library below panics on a token that is no header value.
        if token.trim().is_empty() || http::HeaderValue::from_str(token).is_err() {
            return Err(ConfigFault::Token);
        }
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(ConfigFault::NoRuntime);
        }
        let broken = |error: &dyn fmt::Display| ConfigFault::Client(error.to_string());
        let api = Url::parse(&addresses.api).map_err(|e| broken(&e))?;
        let graphql = Url::parse(&addresses.graphql).map_err(|e| broken(&e))?;
        // The base is the bare host, because the library puts the path of its base before every path that does not start with
        // it, and the GraphQL address of an Enterprise Server does not start with the REST one.
        let mut origin = api.clone();
        origin.set_path("");
        let http = Octocrab::builder()
            .base_uri(origin.as_str())
            .and_then(|builder| builder.upload_uri(origin.as_str()))
            .map_err(|e| broken(&e))?
            .set_connect_timeout(Some(CONNECT_LIMIT.min(config.read_limit / 2)))
            .personal_token(config.token.clone())
            .build()
            .map_err(|e| broken(&e))?;
        Ok(Self {
            http,
            addresses,
            api,
            graphql,
            now: config.now,
            jitter: config.jitter,
            write_pause: config.write_pause,
            read_limit: config.read_limit,
            write_limit: config.write_limit,
            reads: Semaphore::new(READS),
            writes: AsyncMutex::new(None),
            first: Arc::new(AsyncMutex::new(())),
            state: Mutex::new(State::default()),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No holder of this lock calls out, so a poisoned one still holds a whole state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(url: &Url) -> String {
        match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => url.to_string(),
        }
    }

    /// A REST address; each segment is escaped.
    pub(crate) fn rest(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.api.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// A read over REST; a status outside 200 to 299 is a fault.
    pub(crate) async fn get(&self, url: Url) -> Result<Answer, ReadFault> {
        let answer = self.read(Method::GET, url, None, resource_of).await?;
        self.usable(answer)
    }

    fn usable(&self, answer: Answer) -> Result<Answer, ReadFault> {
        let fault = match answer.status.as_u16() {
            200..=299 => return Ok(answer),
            403 | 404 | 410 => ReadFault::NotFound(answer.words()),
            status => ReadFault::Unusable(format!("status {status}: {}", answer.words())),
        };
        self.failed(&fault.to_string());
        Err(fault)
    }

    /// All pages of a REST list, or a fault.
    pub(crate) async fn list(&self, segments: &[&str], query: &[(&str, &str)]) -> Result<Listing, ReadFault> {
        let page_of = |number: usize| {
            let number = number.to_string();
            let mut pairs = query.to_vec();
            pairs.extend([("per_page", "100"), ("page", number.as_str())]);
            self.rest(segments, &pairs)
        };
        let mut url = page_of(1);
        let mut items = Vec::new();
        for number in 1..=PAGES {
            let answer = self.get(url.clone()).await?;
            let Value::Array(page) = answer.json()? else {
                return Err(ReadFault::Unusable("a list was expected".to_owned()));
            };
            let full = page.len() >= 100;
            items.extend(page);
            url = match next_page(&answer, &url)? {
                Some(next) => next,
                // A server that sends no links at all is asked until a page is not full.
                None if full && answer.header("link").is_none() => page_of(number + 1),
                None => return Ok(Listing { items }),
            };
        }
        Err(ReadFault::Unusable(format!("a list of more than {PAGES} pages")))
    }

    /// One GraphQL read. Data and errors both come back (GH-SYNC-24).
    pub(crate) async fn query(&self, document: &str, variables: Value) -> Result<(Envelope, Answer), ReadFault> {
        let body = serde_json::json!({ "query": document, "variables": variables });
        let answer = self.read(Method::POST, self.graphql.clone(), Some(&body), |_| "graphql").await?;
        let answer = self.usable(answer)?;
        let envelope = graphql::envelope(answer.json()?).inspect_err(|fault| self.failed(&fault.to_string()))?;
        if let Some(quota) = envelope.quota() {
            self.state().limits.keep(quota);
        }
        Ok((envelope, answer))
    }

    /// A write: one request, never repeated, never redirected. Waits for the pause after the write before it.
    pub(crate) async fn write(&self, url: Url, body: &Value) -> Result<Answer, Loss> {
        let mut last = self.writes.lock().await;
        if let Some(ended) = *last {
            tokio::time::sleep_until(ended + self.write_pause).await;
        }
        let result = self.exchange(&Method::POST, &url, Some(body), resource_of(&url), self.write_limit).await;
        if !matches!(result, Err(Loss::NotSent(_))) {
            *last = Some(Instant::now());
        }
        result
    }

    async fn read(
        &self,
        method: Method,
        mut url: Url,
        body: Option<&Value>,
        resource: fn(&Url) -> &'static str,
    ) -> Result<Answer, ReadFault> {
        // Never closed, so that this always is a permit.
        let _permit = self.reads.acquire().await.ok();
        for _ in 0..=REDIRECTS {
            let answer = self.exchange(&method, &url, body, resource(&url), self.read_limit).await?;
            // Only these two keep the method and the body of what is not a GET.
            let follow = match answer.status.as_u16() {
                301 | 302 => method == Method::GET,
                307 | 308 => true,
                _ => return Ok(answer),
            };
            let target = answer.header("location").and_then(|to| url.join(to).ok());
            match target {
                Some(target) if follow && target.origin() == url.origin() => url = target,
                _ => return Err(ReadFault::Unusable(format!("`{}` sends the read to another place", Self::host(&url)))),
            }
        }
        Err(ReadFault::Unusable(format!("`{}` redirects more than {REDIRECTS} times", Self::host(&url))))
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        resource: &'static str,
        limit: Duration,
    ) -> Result<Answer, Loss> {
        let pass = self.pass(resource).await?;
        let result = match tokio::time::timeout(limit, self.once(method, url, body)).await {
            Ok(result) => result,
            Err(_) => Err(Loss::Lost(format!("`{}` did not answer within {} s", Self::host(url), limit.as_secs()))),
        };
        let judged = result.and_then(|answer| self.judge(answer, resource));
        if let Err(loss) = &judged {
            match loss {
                Loss::SignedOut(why) | Loss::Wait { why, .. } | Loss::NotSent(why) | Loss::Lost(why) => self.failed(why),
            }
        }
        drop(pass);
        judged
    }

    /// Lets a request go, or says why not. After a wait one request goes first, alone (GH-SYNC-37).
    async fn pass(&self, resource: &str) -> Result<Option<OwnedMutexGuard<()>>, Loss> {
        if !self.free(resource)? {
            return Ok(None);
        }
        let guard = Arc::clone(&self.first).lock_owned().await;
        // While this one waited, another went first.
        Ok(self.free(resource)?.then_some(guard))
    }

    /// Whether a request has to go alone; a fault while nothing may go.
    fn free(&self, resource: &str) -> Result<bool, Loss> {
        let now = (self.now)();
        let state = self.state();
        if let Some(why) = &state.signed_out {
            return Err(Loss::SignedOut(why.clone()));
        }
        if let Some((until, why)) = state.limits.blocked(resource, now) {
            return Err(Loss::Wait { until, why });
        }
        Ok(state.limits.unproven(resource))
    }

    async fn once(&self, method: &Method, url: &Url, body: Option<&Value>) -> Result<Answer, Loss> {
        let host = Self::host(url);
        let request = http::Request::builder()
            .method(method.clone())
            .uri(url.as_str())
            .header(header::USER_AGENT, concat!("wloop/", env!("CARGO_PKG_VERSION")))
            .header(header::ACCEPT, "application/vnd.github+json");
        let request = self.http.build_request(request, body).map_err(|error| Loss::NotSent(error.to_string()))?;
        let before = (self.now)();
        let response = self.http.execute(request).await.map_err(|error| transport(&error, &host))?;
        let after = (self.now)();
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, BODY_LIMIT).collect().await.map_err(|error| {
            // The status came, so that the request had arrived.
            match transport(error.as_ref(), &host) {
                Loss::NotSent(why) | Loss::Lost(why) => Loss::Lost(format!("the answer was cut off: {why}")),
                other @ (Loss::SignedOut(_) | Loss::Wait { .. }) => other,
            }
        })?;
        let told = parts.headers.get(header::DATE).and_then(|v| v.to_str().ok()).and_then(limits::http_date);
        let skew_ms = told.map_or_else(|| self.state().skew_ms.unwrap_or(0), |date| skew(date, before, after));
        Ok(Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes().to_vec(),
            at: told.unwrap_or_else(|| limits::shift(after, skew_ms)),
            skew_ms,
        })
    }

    /// Takes quota, clock, limits and a refused token from an answer.
    fn judge(&self, answer: Answer, resource: &'static str) -> Result<Answer, Loss> {
        let (now, share) = ((self.now)(), self.share());
        let status = answer.status.as_u16();
        let limit = graphql_limit(&answer, resource).or_else(|| {
            let why = if status < 400 { return None } else { answer.words() };
            limits::classify(status, &answer.headers, &why, answer.at).map(|class| (class, why))
        });
        let mut state = self.state();
        state.skew_ms = Some(answer.skew_ms);
        if let Some(quota) = limits::quota(&answer.headers, resource) {
            state.limits.keep(quota);
        }
        if status == 401 {
            let why = answer.words();
            state.signed_out = Some(why.clone());
            return Err(Loss::SignedOut(why));
        }
        if let Some((class, why)) = limit {
            let clock = Clocks { ours: now, skew_ms: answer.skew_ms };
            let until = state.limits.hit(class, resource, &why, clock, share);
            return Err(Loss::Wait { until, why });
        }
        if status < 500 {
            state.limits.passed(resource);
        }
        if status < 400 {
            state.last_success = Some(now);
        }
        Ok(answer)
    }

    fn share(&self) -> f64 {
        (self.jitter)().clamp(0.0, 1.0) * 0.2
    }

    fn failed(&self, why: &str) {
        let at = (self.now)();
        self.state().last_error = Some((at, why.to_owned()));
    }

    /// Keeps what could not be converted.
    pub(crate) fn note(&self, notes: Vec<String>) {
        let mut state = self.state();
        for note in notes {
            if !state.notes.contains(&note) {
                state.notes.push(note);
            }
        }
        let surplus = state.notes.len().saturating_sub(NOTES);
        state.notes.drain(..surplus);
    }

    /// Keeps what an inventory left out.
    pub(crate) fn skipped(&self, skipped: Vec<String>) {
        self.state().skipped = skipped;
    }

    /// The last measured skew.
    pub(crate) fn skew_ms(&self) -> i64 {
        self.state().skew_ms.unwrap_or(0)
    }

    pub(crate) fn try_again(&self) {
        self.state().signed_out = None;
    }

    pub(crate) fn keep_quiet(&self, until: Timestamp) {
        self.state().limits.keep_quiet(until);
    }

    pub(crate) fn health(&self) -> ProviderHealth {
        let now = (self.now)();
        let state = self.state();
        let quotas: Vec<Quota> = state.limits.quotas();
        ProviderHealth {
            quotas,
            skew_ms: state.skew_ms,
            last_error: state.last_error.clone(),
            last_success: state.last_success,
            signed_out: state.signed_out.clone(),
            waiting_until: state.limits.waiting_until(now),
            spent_until: state.limits.spent_until(now),
            skipped: state.skipped.clone(),
            notes: state.notes.clone(),
        }
    }
}

/// A limit that comes as a success (GH-SYNC-36 d).
fn graphql_limit(answer: &Answer, resource: &str) -> Option<(Class, String)> {
    let hint = b"RATE_LIMITED";
    if resource != "graphql" || !answer.status.is_success() || !answer.body.windows(hint.len()).any(|part| part == hint) {
        return None;
    }
    let why = graphql::envelope(answer.json().ok()?).ok()?.rate_limited()?;
    let reset = limits::quota(&answer.headers, resource).filter(|q| q.remaining == 0).map(|q| q.reset);
    Some((Class::Primary(reset), why))
}

/// The quota a REST path counts against.
fn resource_of(url: &Url) -> &'static str {
    if url.path_segments().is_some_and(|mut parts| parts.any(|part| part == "search")) { "search" } else { "core" }
}

/// GitHub's clock minus ours. Its `Date` has whole seconds and was written between our two readings, so that anything within
/// those bounds is no difference.
fn skew(date: Timestamp, before: Timestamp, after: Timestamp) -> i64 {
    let (first, last) = (date.as_millisecond(), date.as_millisecond() + 999);
    if first > after.as_millisecond() {
        first - after.as_millisecond()
    } else if last < before.as_millisecond() {
        last - before.as_millisecond()
    } else {
        0
    }
}

/// The address of the next page, which must lie on the same host: the token goes to no other (GH-SYNC-41).
fn next_page(answer: &Answer, from: &Url) -> Result<Option<Url>, ReadFault> {
    let Some(links) = answer.header("link") else { return Ok(None) };
    let next = links.split(',').find_map(|link| {
        let (target, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        rest.split(';').any(|part| part.trim() == r#"rel="next""#).then_some(target)
    });
    let Some(next) = next else { return Ok(None) };
    match from.join(next) {
        Ok(url) if url.origin() == from.origin() => Ok(Some(url)),
        _ => Err(ReadFault::Unusable("the next page lies on another host".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_clock_difference_is_measured_within_the_bounds_of_a_whole_second() {
        // GH-SYNC-45
        let date = at("2026-05-04T10:00:00Z");
        assert_eq!(skew(date, at("2026-05-04T10:00:00.900Z"), at("2026-05-04T10:00:01.100Z")), 0);
        assert_eq!(skew(date, at("2026-05-04T09:58:00Z"), at("2026-05-04T09:58:01Z")), 119_000);
        assert_eq!(skew(date, at("2026-05-04T10:05:00.999Z"), at("2026-05-04T10:05:02Z")), -300_000);
    }

    #[test]
    fn a_next_page_on_another_host_is_refused() {
        // GH-SYNC-41
        let page = |link: &str| Answer {
            status: StatusCode::OK,
            headers: std::iter::once((header::LINK, link.parse().unwrap())).collect(),
            body: Vec::new(),
            at: at("2026-05-04T10:00:00Z"),
            skew_ms: 0,
        };
        let from: Url = "https://api.github.com/x?page=1".parse().unwrap();
        let good = r#"<https://api.github.com/x?page=1>; rel="prev", <https://api.github.com/x?page=3>; rel="next""#;
        assert_eq!(next_page(&page(good), &from).unwrap().unwrap().as_str(), "https://api.github.com/x?page=3");
        assert_eq!(next_page(&page(r#"<https://api.github.com/x?page=1>; rel="first""#), &from), Ok(None));
        assert!(next_page(&page(r#"<https://evil.example/x?page=3>; rel="next""#), &from).is_err());
    }

    #[tokio::test]
    async fn the_token_shows_nowhere_and_a_bad_one_is_refused() {
        // GH-SYNC-41
        let config = |token: &str| {
            GithubConfig::new("https://api.github.com".to_owned(), token.to_owned().into(), Arc::new(|| Timestamp::UNIX_EPOCH))
        };
        let client = Client::new(config("gho_secret")).unwrap();
        assert!(!format!("{client:?}{:?}", config("gho_secret")).contains("gho_secret"));
        for wrong in ["", "  ", "a\nb"] {
            assert_eq!(Client::new(config(wrong)).unwrap_err(), ConfigFault::Token);
        }
    }

    #[tokio::test]
    async fn a_rest_address_escapes_its_segments() {
        // GH-PUB-01
        let mut config = GithubConfig::new(
            "https://git.example.org/api/v3".to_owned(),
            "t".to_owned().into(),
            Arc::new(|| Timestamp::UNIX_EPOCH),
        );
        config.web_url = Some("https://git.example.org".to_owned());
        let client = Client::new(config).unwrap();
        assert_eq!(
            client.rest(&["repos", "a/b", "c?d"], &[("since", "2026-01-01T00:00:00Z")]).as_str(),
            "https://git.example.org/api/v3/repos/a%2Fb/c%3Fd?since=2026-01-01T00%3A00%3A00Z"
        );
    }
}
