//! Limits: how a refusal for a limit is told from any other, and what may go when (GH-SYNC-34, GH-SYNC-36, GH-SYNC-37).

use std::collections::{BTreeMap, BTreeSet};

use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};

use crate::port::Quota;

/// The first wait after a secondary limit that names no time, in seconds.
const SECONDARY_WAIT: i64 = 60;
/// The longest such wait, in seconds.
const SECONDARY_MAX: i64 = 15 * 60;
/// No quota window lasts longer; a later reset is a fault of the answer, in seconds.
const WINDOW_MAX: i64 = 2 * 60 * 60;
/// Stands for every resource in the set of what has to be tried first.
const EVERYTHING: &str = "*";

/// The class of a refusal for a limit, by the letters of GH-SYNC-36.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// (a): everything waits for these seconds.
    RetryAfter(i64),
    /// (b): everything waits for a time of ours.
    Secondary,
    /// (c) and (d): one resource waits for its reset, by GitHub's clock.
    Primary(Option<Timestamp>),
}

/// Tells a limit by status, headers and words; `None` is no limit (e).
pub(crate) fn classify(status: u16, headers: &HeaderMap, words: &str, github_now: Timestamp) -> Option<Class> {
    if !matches!(status, 403 | 429) {
        return None;
    }
    if let Some(seconds) = retry_after(headers, github_now) {
        return Some(Class::RetryAfter(seconds));
    }
    let words = words.to_ascii_lowercase();
    if words.contains("secondary rate limit") || words.contains("abuse detection") {
        return Some(Class::Secondary);
    }
    if number(headers, "x-ratelimit-remaining") == Some(0) {
        return Some(Class::Primary(reset(headers)));
    }
    (status == 429).then_some(Class::Secondary)
}

fn retry_after(headers: &HeaderMap, github_now: Timestamp) -> Option<i64> {
    let text = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?.trim();
    match text.parse::<i64>() {
        Ok(seconds) => Some(seconds.clamp(0, WINDOW_MAX * 12)),
        Err(_) => http_date(text).map(|at| at.duration_since(github_now).as_secs().clamp(0, WINDOW_MAX * 12)),
    }
}

/// The instant of an HTTP date.
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp())
}

fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

fn reset(headers: &HeaderMap) -> Option<Timestamp> {
    Timestamp::from_second(number(headers, "x-ratelimit-reset")?).ok()
}

/// The quota that the headers of a REST answer tell.
pub(crate) fn quota(headers: &HeaderMap, resource: &str) -> Option<Quota> {
    let named = headers.get("x-ratelimit-resource").and_then(|v| v.to_str().ok()).unwrap_or(resource);
    Some(Quota {
        resource: named.to_owned(),
        limit: u64::try_from(number(headers, "x-ratelimit-limit")?).ok()?,
        remaining: u64::try_from(number(headers, "x-ratelimit-remaining")?).ok()?,
        reset: reset(headers)?,
    })
}

/// What waits until when, all by our clock.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    everything: Option<(Timestamp, String)>,
    resources: BTreeMap<String, (Timestamp, String)>,
    /// Limits whose wait may be over but after which no request has succeeded yet.
    unproven: BTreeSet<String>,
    /// Secondary limits in a row.
    repeats: u32,
    quotas: BTreeMap<String, Quota>,
}

impl Limits {
    /// Until when a request of this resource may not go, and why.
    pub(crate) fn blocked(&self, resource: &str, now: Timestamp) -> Option<(Timestamp, String)> {
        [self.everything.as_ref(), self.resources.get(resource)]
            .into_iter()
            .flatten()
            .filter(|(until, _)| *until > now)
            .max_by_key(|(until, _)| *until)
            .cloned()
    }

    /// Whether one request has to go first, alone (GH-SYNC-37).
    pub(crate) fn unproven(&self, resource: &str) -> bool {
        self.unproven.contains(EVERYTHING) || self.unproven.contains(resource)
    }

    /// Notes an answer that is no limit.
    pub(crate) fn passed(&mut self, resource: &str) {
        self.repeats = 0;
        self.unproven.remove(EVERYTHING);
        self.unproven.remove(resource);
    }

    /// Notes a limit and answers until when it holds. `jitter` is the share added, 0 to 0.2.
    pub(crate) fn hit(&mut self, class: Class, resource: &str, why: &str, clock: Clocks, jitter: f64) -> Timestamp {
        let until = match class {
            Class::RetryAfter(seconds) => after(clock.ours, seconds, jitter),
            Class::Secondary => {
                let doubled = SECONDARY_WAIT.saturating_mul(1_i64 << self.repeats.min(8));
                self.repeats = self.repeats.saturating_add(1);
                after(clock.ours, doubled.min(SECONDARY_MAX), jitter)
            }
            Class::Primary(reset) => {
                let fallback = || self.quotas.get(resource).filter(|q| q.remaining == 0).map(|q| q.reset);
                let ours = reset.or_else(fallback).map(|at| shift(at, -clock.skew_ms));
                let most = after(clock.ours, WINDOW_MAX, 0.0);
                ours.filter(|at| *at > clock.ours).unwrap_or_else(|| after(clock.ours, SECONDARY_WAIT, jitter)).min(most)
            }
        };
        match class {
            Class::RetryAfter(_) | Class::Secondary => {
                let longest = self.everything.as_ref().map_or(until, |(at, _)| until.max(*at));
                self.everything = Some((longest, why.to_owned()));
                self.unproven.insert(EVERYTHING.to_owned());
                longest
            }
            Class::Primary(_) => {
                self.resources.insert(resource.to_owned(), (until, why.to_owned()));
                self.unproven.insert(resource.to_owned());
                until
            }
        }
    }

    /// Takes over a wait that an earlier start was asked for.
    pub(crate) fn keep_quiet(&mut self, until: Timestamp) {
        if self.everything.as_ref().is_none_or(|(known, _)| *known < until) {
            self.everything = Some((until, "asked for before the daemon was started again".to_owned()));
        }
        self.unproven.insert(EVERYTHING.to_owned());
    }

    /// Keeps the last quota of its resource.
    pub(crate) fn keep(&mut self, quota: Quota) {
        self.quotas.insert(quota.resource.clone(), quota);
    }

    /// The last quota of each resource.
    pub(crate) fn quotas(&self) -> Vec<Quota> {
        self.quotas.values().cloned().collect()
    }

    /// Until when nothing at all may go.
    pub(crate) fn waiting_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.everything.as_ref().map(|(until, _)| *until).filter(|until| *until > now)
    }

    /// The resources whose quota is spent, each with when it is there again.
    pub(crate) fn spent_until(&self, now: Timestamp) -> Vec<(String, Timestamp)> {
        self.resources.iter().filter(|(_, (until, _))| *until > now).map(|(name, (until, _))| (name.clone(), *until)).collect()
    }
}

/// The two clocks at the moment of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    pub(crate) ours: Timestamp,
    /// GitHub's minus ours.
    pub(crate) skew_ms: i64,
}

/// `at` moved by milliseconds; stays where it is at the ends of time.
pub(crate) fn shift(at: Timestamp, ms: i64) -> Timestamp {
    at.checked_add(SignedDuration::from_millis(ms)).unwrap_or(at)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a wait of at most a day in milliseconds")]
fn after(now: Timestamp, seconds: i64, jitter: f64) -> Timestamp {
    let ms = (seconds as f64) * 1000.0 * (1.0 + jitter.clamp(0.0, 0.2));
    shift(now, ms as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (http::HeaderName::from_static(k), v.parse().unwrap())).collect()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const WORDS: &str = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";

    #[test]
    fn each_class_is_told_from_the_others() {
        // GH-SYNC-36
        let now = at(1_000);
        let zero = headers(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1900")]);
        assert_eq!(classify(403, &headers(&[("retry-after", "30")]), WORDS, now), Some(Class::RetryAfter(30)));
        assert_eq!(
            classify(429, &headers(&[("retry-after", "Thu, 01 Jan 1970 00:17:10 GMT")]), "", now),
            Some(Class::RetryAfter(30))
        );
        assert_eq!(classify(403, &HeaderMap::new(), WORDS, now), Some(Class::Secondary));
        assert_eq!(classify(403, &zero, "API rate limit exceeded", now), Some(Class::Primary(Some(at(1_900)))));
        assert_eq!(classify(429, &HeaderMap::new(), "", now), Some(Class::Secondary));
        let left = headers(&[("x-ratelimit-remaining", "10"), ("x-ratelimit-reset", "1900")]);
        assert_eq!(classify(403, &left, "Resource not accessible by personal access token", now), None);
        assert_eq!(classify(404, &zero, WORDS, now), None);
    }

    #[test]
    fn a_secondary_limit_doubles_to_a_quarter_of_an_hour_and_starts_anew_after_a_success() {
        // F33, GH-SYNC-36
        let mut limits = Limits::default();
        let clock = Clocks { ours: at(0), skew_ms: 0 };
        let waits: Vec<i64> = (0..6).map(|_| limits.hit(Class::Secondary, "core", "w", clock, 0.0).as_second()).collect();
        assert_eq!(waits, [60, 120, 240, 480, 900, 900]);
        limits.passed("core");
        let mut again = Limits::default();
        again.hit(Class::Secondary, "core", "w", clock, 0.0);
        again.passed("core");
        assert_eq!(again.hit(Class::Secondary, "core", "w", clock, 0.2).as_second(), 72);
    }

    #[test]
    fn a_quota_stops_its_resource_and_a_named_wait_stops_everything() {
        // GH-SYNC-36, GH-SYNC-37
        let clock = Clocks { ours: at(1_000), skew_ms: 10_000 };
        let mut limits = Limits::default();
        limits.hit(Class::Primary(Some(at(1_300))), "graphql", "spent", clock, 0.0);
        // GitHub's clock is ten seconds ahead: its 1300 is our 1290.
        assert_eq!(limits.blocked("graphql", at(1_289)), Some((at(1_290), "spent".to_owned())));
        assert_eq!(limits.blocked("graphql", at(1_290)), None);
        assert!(limits.unproven("graphql") && !limits.unproven("core"));
        assert_eq!(limits.blocked("core", at(1_001)), None);
        limits.hit(Class::RetryAfter(30), "core", "slow", clock, 0.2);
        assert_eq!(limits.blocked("search", at(1_035)).map(|(until, _)| until), Some(at(1_036)));
        assert_eq!(limits.waiting_until(at(1_035)), Some(at(1_036)));
        assert!(limits.unproven("search"));
        limits.passed("search");
        assert!(!limits.unproven("search") && limits.unproven("graphql"));
    }

    #[test]
    fn an_absurd_reset_does_not_stop_for_ever() {
        // GH-SYNC-36
        let clock = Clocks { ours: at(1_000), skew_ms: 0 };
        let mut limits = Limits::default();
        let until = limits.hit(Class::Primary(Some(at(1_507_651_200))), "core", "spent", clock, 0.0);
        assert_eq!(until, at(1_000 + WINDOW_MAX));
        let past = limits.hit(Class::Primary(Some(at(5))), "core", "spent", clock, 0.0);
        assert_eq!(past, at(1_060));
    }
}
