//! Days and working hours of a place (FACT-11). The zone comes in resolved: looking it up reads files.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// The days of the week as the configuration writes them, in order.
pub const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Days beyond this are counted by whole weeks: no threshold is that long, and a sweep of thousands of old units stays short.
const DAY_BY_DAY: i64 = 92;

/// Where the person is and when they work: `time.zone`, `time.working_days`, `time.working_hours`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    zone: TimeZone,
    /// Monday first.
    working: [bool; 7],
    /// Minutes of the day.
    from: i64,
    to: i64,
}

impl Default for Calendar {
    /// Monday to Friday, nine to six, in UTC.
    fn default() -> Self {
        Self { zone: TimeZone::UTC, working: [true, true, true, true, true, false, false], from: 9 * 60, to: 18 * 60 }
    }
}

impl Calendar {
    /// A calendar of checked settings; hours that are none are those of the default.
    #[must_use]
    pub fn new(zone: TimeZone, days: &[String], hours: &str) -> Self {
        let default = Self::default();
        let minutes = |clock: &str| {
            let (hour, minute) = clock.split_once(':')?;
            Some(hour.parse::<i64>().ok()? * 60 + minute.parse::<i64>().ok()?)
        };
        let parsed = hours.split_once('-').and_then(|(from, to)| minutes(from).zip(minutes(to)));
        let (from, to) = parsed.unwrap_or((default.from, default.to));
        Self { zone, working: DAYS.map(|day| days.iter().any(|known| known == day)), from, to }
    }

    /// The local date of an instant.
    #[must_use]
    pub fn date(&self, at: Timestamp) -> Date {
        self.zone.to_datetime(at).date()
    }

    /// How many times the local date changed from one instant to a later one: 23:50 to 00:10 is 1. Never below zero.
    #[must_use]
    pub fn dates_between(&self, from: Timestamp, to: Timestamp) -> i64 {
        days_between(self.date(from), self.date(to)).max(0)
    }

    /// How much of the time from one instant to a later one lay in working hours. An hour that a change of the clock leaves out or
    /// repeats is counted as it passed.
    #[must_use]
    pub fn working_time(&self, from: Timestamp, to: Timestamp) -> SignedDuration {
        let mut total = SignedDuration::ZERO;
        let (mut day, last) = (self.date(from), self.date(to));
        let weeks = (days_between(day, last) - DAY_BY_DAY) / 7;
        if weeks > 0 {
            let week = i64::try_from(self.working.iter().filter(|works| **works).count()).unwrap_or(0) * (self.to - self.from);
            total += SignedDuration::from_mins(week.saturating_mul(weeks));
            // A date out of range ends the count.
            let Ok(later) = day.checked_add(weeks.weeks()) else { return total };
            day = later;
        }
        while day <= last {
            if self.works(day)
                && let (Some(opens), Some(closes)) = (self.instant(day, self.from), self.instant(day, self.to))
            {
                let (starts, ends) = (opens.max(from), closes.min(to));
                total += ends.duration_since(starts).max(SignedDuration::ZERO);
            }
            let Ok(next) = day.tomorrow() else { break };
            day = next;
        }
        total
    }

    fn works(&self, day: Date) -> bool {
        usize::try_from(day.weekday().to_monday_zero_offset()).is_ok_and(|at| self.working.get(at) == Some(&true))
    }

    fn instant(&self, day: Date, minute: i64) -> Option<Timestamp> {
        let (hour, minute) = (i8::try_from(minute / 60).ok()?, i8::try_from(minute % 60).ok()?);
        let local = day.at(hour, minute, 0, 0);
        self.zone.to_ambiguous_timestamp(local).compatible().ok()
    }
}

fn days_between(from: Date, to: Date) -> i64 {
    from.duration_until(to).as_hours() / 24
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn of(zone: TimeZone) -> Calendar {
        Calendar::new(zone, &DAYS[..5].iter().map(|day| (*day).to_owned()).collect::<Vec<_>>(), "09:00-18:00")
    }

    /// Berlin's rules, spelt out: the test needs no database of zones.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    #[test]
    fn a_date_changes_at_local_midnight() {
        // GH-FACT-20, FACT-11
        let east = of(TimeZone::fixed(jiff::tz::offset(3)));
        assert_eq!(east.dates_between(at("2026-11-30T20:50:00Z"), at("2026-11-30T21:10:00Z")), 1, "23:50 to 00:10");
        assert_eq!(east.dates_between(at("2026-11-29T21:10:00Z"), at("2026-11-30T20:50:00Z")), 0, "one long day");
        assert_eq!(east.dates_between(at("2026-12-02T00:00:00Z"), at("2026-11-30T00:00:00Z")), 0, "never below zero");
        // A day of 23 hours is a day, and one of 25 as well.
        assert_eq!(of(berlin()).dates_between(at("2026-03-28T22:30:00Z"), at("2026-03-29T22:30:00Z")), 2);
        assert_eq!(of(berlin()).dates_between(at("2026-10-24T22:30:00Z"), at("2026-10-25T22:30:00Z")), 0);
    }

    #[test]
    fn working_time_leaves_out_nights_and_free_days() {
        // GH-FACT-14, FACT-11
        let calendar = of(berlin());
        let hours = SignedDuration::from_hours;
        // Friday 17:00 to Monday 10:00, over the change to summer time.
        assert_eq!(calendar.working_time(at("2026-03-27T16:00:00Z"), at("2026-03-30T08:00:00Z")), hours(2));
        assert_eq!(calendar.working_time(at("2026-11-28T00:00:00Z"), at("2026-11-29T20:00:00Z")), hours(0), "a weekend");
        assert_eq!(calendar.working_time(at("2026-11-30T12:00:00Z"), at("2026-11-30T11:00:00Z")), hours(0));
        // Long spans count whole weeks, as counting each day would.
        let day_by_day = |from: Timestamp, days: i64| {
            (0..days)
                .map(|n| from + hours(24 * n))
                .fold(SignedDuration::ZERO, |sum, day| sum + calendar.working_time(day, day + hours(24)))
        };
        let from = at("2025-01-03T00:00:00Z");
        assert_eq!(calendar.working_time(from, from + hours(24 * 400)), day_by_day(from, 400));
    }
}
