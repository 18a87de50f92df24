//! The approval window (spec 5.3): a deadline by the wall clock that sleep and a clock set back cannot stretch.

use jiff::{SignedDuration, Timestamp};

/// The deadline of a window that opens now (WIN-19).
#[must_use]
pub fn deadline(opened_at: Timestamp, length: SignedDuration) -> Timestamp {
    opened_at.checked_add(length).unwrap_or(Timestamp::MAX)
}

/// How late a window was acted on; zero when it was in time (F11).
#[must_use]
pub fn lateness(deadline: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(deadline).max(SignedDuration::ZERO)
}

/// What a clock may gain on the running time without anything having happened.
const DRIFT: SignedDuration = SignedDuration::from_secs(5);

/// Whether the machine slept, or its clock was set forwards, between two looks: the wall clock went on for `wall`, and the clock that
/// stands still in sleep for `running` (GH-SYNC-18). A clock that was set back is no sleep.
#[must_use]
pub fn slept(wall: SignedDuration, running: std::time::Duration) -> bool {
    let running = SignedDuration::try_from(running).unwrap_or(SignedDuration::MAX);
    wall.saturating_sub(running) > DRIFT
}

/// How late a window may be acted on and still count as acted on in time (spec 5.5, decisions).
pub const BOUND: SignedDuration = SignedDuration::from_secs(30);

/// A length of time as people say it: `45 s`, `12 min`, `13 h 15 min`.
#[must_use]
pub fn words(length: SignedDuration) -> String {
    match length.as_secs() {
        secs @ ..60 => format!("{} s", secs.max(0)),
        secs @ 60..3_600 => format!("{} min", secs / 60),
        secs => format!("{} h {:02} min", secs / 3_600, secs % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_a_gap_between_the_clocks() {
        // GH-SYNC-18
        let running = std::time::Duration::from_secs;
        assert!(slept(SignedDuration::from_secs(46), running(40)));
        assert!(!slept(SignedDuration::from_secs(45), running(40)), "a drift is no sleep");
        assert!(slept(SignedDuration::from_hours(13), running(0)));
        assert!(!slept(SignedDuration::from_hours(-1), running(40)), "a clock that was set back is no sleep");
        assert!(!slept(SignedDuration::MIN, std::time::Duration::MAX));
    }

    #[test]
    fn a_deadline_is_absolute_and_its_lateness_is_told() {
        // WIN-19, WIN-25, F11
        let opened: Timestamp = "2026-11-30T18:58:00Z".parse().unwrap();
        let end = deadline(opened, SignedDuration::from_secs(120));
        assert_eq!(end, "2026-11-30T19:00:00Z".parse().unwrap());
        let woken: Timestamp = "2026-12-01T08:15:00Z".parse().unwrap();
        assert_eq!(lateness(end, woken), SignedDuration::from_mins(13 * 60 + 15));
        assert_eq!(words(lateness(end, woken)), "13 h 15 min");
        assert_eq!(lateness(end, opened), SignedDuration::ZERO);
        assert_eq!(
            (words(SignedDuration::from_secs(45)), words(SignedDuration::from_secs(790))),
            ("45 s".into(), "13 min".into())
        );
    }
}
