//! The daily caps on rounds that start by themselves (WIN-27 to WIN-30, ROUND-24, WF-10), and the local day they are counted by.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::words::words;

/// Which cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cap {
    /// `plugins.github.rounds.per_day`: all pull requests together.
    PerDay,
    /// `plugins.github.rounds.per_pull_request`: one pull request.
    PerPullRequest,
    /// `limits.per_day` of a workflow: that workflow.
    Workflow,
}

words!(Cap { PerDay = "per_day", PerPullRequest = "per_pull_request", Workflow = "workflow" });

impl Cap {
    /// The key that sets it, as people find it.
    #[must_use]
    pub fn key(self, workflow: &str) -> String {
        match self {
            Self::PerDay => "plugins.github.rounds.per_day".to_owned(),
            Self::PerPullRequest => "plugins.github.rounds.per_pull_request".to_owned(),
            Self::Workflow => format!("limits.per_day of the workflow {workflow}"),
        }
    }
}

/// What the caps allow in one local day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// On all pull requests together.
    pub per_day: u32,
    /// On one.
    pub per_pull_request: u32,
    /// Of one workflow; `None` where it sets none.
    pub workflow: Option<u32>,
}

/// Automatic rounds that were given to an agent since the local day began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Given {
    /// On all pull requests together.
    pub everywhere: u64,
    /// On this one.
    pub here: u64,
    /// Of this workflow.
    pub workflow: u64,
}

/// The cap that holds one more automatic round, with its limit; the narrowest first, since it tells most.
#[must_use]
pub fn holding(limits: Limits, given: Given) -> Option<(Cap, u32)> {
    let full = |limit: u32, given: u64| given >= u64::from(limit);
    if full(limits.per_pull_request, given.here) {
        return Some((Cap::PerPullRequest, limits.per_pull_request));
    }
    if let Some(limit) = limits.workflow.filter(|limit| full(*limit, given.workflow)) {
        return Some((Cap::Workflow, limit));
    }
    full(limits.per_day, given.everywhere).then_some((Cap::PerDay, limits.per_day))
}

/// Why a round is held, in words that name the cap (ROUND-24).
#[must_use]
pub fn reason(cap: Cap, limit: u32, workflow: &str) -> String {
    let many = match limit {
        0 => "no round starts by itself".to_owned(),
        1 => "1 round a day starts by itself".to_owned(),
        n => format!("{n} rounds a day start by themselves"),
    };
    let of = match cap {
        Cap::PerDay => "",
        Cap::PerPullRequest => " on one pull request",
        Cap::Workflow => " of this workflow",
    };
    format!("held by the daily cap: {many}{of} (`{}`)", cap.key(workflow))
}

/// The local day of an instant.
#[must_use]
pub fn day(now: Timestamp, zone: &TimeZone) -> Date {
    now.to_zoned_datetime(zone.clone()).date()
}

/// When a local day began; where its midnight does not exist, the first instant that does.
#[must_use]
pub fn began(day: Date, zone: &TimeZone) -> Timestamp {
    zone.to_ambiguous_zoned_datetime(day.to_datetime(jiff::civil::Time::midnight()))
        .compatible()
        .map_or(Timestamp::UNIX_EPOCH, |zoned| zoned.timestamp())
}

/// When the local day after this one begins.
#[must_use]
pub fn ends(day: Date, zone: &TimeZone) -> Timestamp {
    match day.tomorrow() {
        Ok(next) => began(next, zone),
        Err(_) => began(day, zone).checked_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { per_day: 30, per_pull_request: 6, workflow: Some(20) };

    #[test]
    fn a_cap_holds_the_round_after_its_last_and_says_which_it_is() {
        // ROUND-24, WIN-27
        let given = |everywhere, here, workflow| Given { everywhere, here, workflow };
        assert_eq!(holding(LIMITS, given(29, 5, 19)), None);
        assert_eq!(holding(LIMITS, given(30, 5, 19)), Some((Cap::PerDay, 30)));
        assert_eq!(holding(LIMITS, given(30, 6, 19)), Some((Cap::PerPullRequest, 6)));
        assert_eq!(holding(LIMITS, given(29, 5, 20)), Some((Cap::Workflow, 20)));
        assert_eq!(holding(Limits { workflow: None, ..LIMITS }, given(29, 5, 900)), None);
        assert_eq!(holding(Limits { per_day: 0, ..LIMITS }, Given::default()), Some((Cap::PerDay, 0)));
        let words: Vec<String> = Cap::ALL.iter().map(|(cap, _)| reason(*cap, 3, "review")).collect();
        assert!(words[0].contains("`plugins.github.rounds.per_day`"), "{words:?}");
        assert!(words[1].contains("on one pull request (`plugins.github.rounds.per_pull_request`)"), "{words:?}");
        assert!(words[2].contains("`limits.per_day of the workflow review`"), "{words:?}");
    }

    #[test]
    fn a_day_is_the_local_one_whatever_the_clocks_do() {
        // WIN-27, ROUND-24, F23
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let zone = jiff::tz::TimeZone::posix("EST5EDT,M3.2.0,M11.1.0").unwrap();
        let spring = day(at("2027-03-14T12:00:00Z"), &zone);
        assert_eq!(spring.to_string(), "2027-03-14");
        assert_eq!(began(spring, &zone), at("2027-03-14T05:00:00Z"));
        assert_eq!(ends(spring, &zone), at("2027-03-15T04:00:00Z"), "a day of 23 hours");
        assert_eq!(day(at("2027-03-14T04:59:59Z"), &zone).to_string(), "2027-03-13", "late at night it is yesterday there");
    }
}
