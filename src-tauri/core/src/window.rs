//! The approval window (spec 5.3): a deadline by the wall clock that sleep and a clock set back cannot stretch.

use jiff::{SignedDuration, Timestamp};

/// The deadline of a window that opens now (WIN-19).
#[must_use]
pub fn deadline(opened_at: Timestamp, length: SignedDuration) -> Timestamp {
    opened_at.checked_add(length).unwrap_or(Timestamp::MAX)
}

/// Whether a window is over. A clock that was set back never stretches it past its length: what has passed on the running
/// clock since it was first seen counts too.
#[must_use]
pub fn is_over(deadline: Timestamp, now: Timestamp) -> bool {
    now >= deadline
}

/// The deadline to keep after the wall clock jumped back by `back`: moved along with it, so that the window keeps what was left
/// of it and no more.
#[must_use]
pub fn after_clock_set_back(deadline: Timestamp, back: SignedDuration) -> Timestamp {
    deadline.checked_sub(back).unwrap_or(Timestamp::MIN)
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
    fn a_deadline_is_absolute_and_a_late_one_is_over() {
        // WIN-19, WIN-25, F11
        let opened: Timestamp = "2026-11-30T18:58:00Z".parse().unwrap();
        let end = deadline(opened, SignedDuration::from_secs(120));
        assert!(!is_over(end, opened + SignedDuration::from_secs(119)));
        assert!(is_over(end, end));
        let woken: Timestamp = "2026-12-01T08:15:00Z".parse().unwrap();
        assert!(is_over(end, woken));
        assert_eq!(lateness(end, woken), SignedDuration::from_mins(13 * 60 + 15));
    }

    #[test]
    fn a_clock_set_back_does_not_stretch_a_window() {
        // WIN-19
        let opened: Timestamp = "2026-11-30T10:00:00Z".parse().unwrap();
        let end = deadline(opened, SignedDuration::from_secs(60));
        // After 20 s the clock is set back by an hour: 40 s are left, not an hour and 40 s.
        let moved = after_clock_set_back(end, SignedDuration::from_hours(1));
        let now: Timestamp = "2026-11-30T09:00:20Z".parse().unwrap();
        assert_eq!(moved.duration_since(now), SignedDuration::from_secs(40));
    }
}
