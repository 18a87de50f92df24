//! Sessions: whether one acts for the person (RES-06 to RES-10), and whether one may be closed (SES-10). Both are decided from what
//! is known of the session alone; what cannot be known makes it unattended.

use jiff::{SignedDuration, Timestamp};

/// How long after a prompt of theirs the person counts as active in a session (SES-05).
pub const ACTIVE: SignedDuration = SignedDuration::from_mins(15);

/// What decides whether a session is driven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Typing {
    /// Whether the loop started it.
    pub managed: bool,
    /// Whether it can be known that the person typed into it (SES-04).
    pub prompt_knowable: bool,
    /// The number of the loop's newest prompt; prompts of a session are numbered in the order in which they were typed.
    pub by_loop: Option<i64>,
    /// The number of the person's newest prompt.
    pub by_person: Option<i64>,
    /// Whether a turn of the loop's is on its way in it.
    pub turn_runs: bool,
    /// Whether it is closed.
    pub closed: bool,
}

/// Whether a session acts for the person. It does when the loop never typed into it, or the person did since, and never while a turn of
/// the loop's runs in it, whoever typed last (RES-06 to RES-10). A session that the loop started and that nobody typed into yet is the
/// loop's.
#[must_use]
pub fn driven(typing: &Typing) -> bool {
    let since = match (typing.by_loop, typing.by_person) {
        (None, None) => !typing.managed,
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (Some(by_loop), Some(by_person)) => by_person > by_loop,
    };
    typing.prompt_knowable && !typing.turn_runs && !typing.closed && since
}

/// What decides whether a session may be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Whether it is closed already.
    pub closed: bool,
    /// Whether a turn is on its way in it.
    pub turn_runs: bool,
    /// Whether its agent works, or waits for permission.
    pub works: bool,
    /// When the person last typed into it.
    pub person_typed: Option<Timestamp>,
    /// Now.
    pub now: Timestamp,
}

/// Why a session may not be closed (SES-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StaysOpen {
    /// It is closed.
    #[error("it is closed already")]
    Closed,
    /// A turn runs in it.
    #[error("a turn runs in it; `wloop turn cancel` stops one")]
    TurnRuns,
    /// Its agent works.
    #[error("its agent works; wait until it is done")]
    Works,
    /// The person uses it.
    #[error("you typed into it less than 15 minutes ago; end it where you use it")]
    PersonActive,
}

/// Whether a session may be closed; the first reason against it otherwise (SES-10).
///
/// # Errors
/// The first guard that holds it open.
pub fn may_close(session: &Closing) -> Result<(), StaysOpen> {
    let active = session.person_typed.is_some_and(|at| session.now.duration_since(at) < ACTIVE);
    match session {
        Closing { closed: true, .. } => Err(StaysOpen::Closed),
        Closing { turn_runs: true, .. } => Err(StaysOpen::TurnRuns),
        Closing { works: true, .. } => Err(StaysOpen::Works),
        _ if active => Err(StaysOpen::PersonActive),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session of an agent's own, which reports prompts.
    const HOOKED: Typing =
        Typing { managed: false, prompt_knowable: true, by_loop: None, by_person: None, turn_runs: false, closed: false };
    /// A session of the loop's, after its turn.
    const WORKER: Typing = Typing { managed: true, by_loop: Some(5), ..HOOKED };

    #[test]
    fn a_session_that_the_loop_never_typed_into_is_driven_as_long_as_it_runs_no_turn() {
        // RES-06, RES-10
        assert!(driven(&HOOKED));
        assert!(driven(&Typing { by_person: Some(1), ..HOOKED }));
        assert!(!driven(&Typing { turn_runs: true, ..HOOKED }));
        assert!(!driven(&Typing { closed: true, ..HOOKED }));
    }

    #[test]
    fn the_person_s_newer_prompt_makes_a_worker_driven_until_the_loop_types_again() {
        // RES-07, RES-09
        assert!(!driven(&WORKER));
        assert!(!driven(&Typing { by_person: Some(4), ..WORKER }), "an older prompt");
        assert!(driven(&Typing { by_person: Some(6), ..WORKER }));
        assert!(!driven(&Typing { by_person: Some(6), by_loop: Some(7), ..WORKER }), "the loop typed its next turn");
    }

    #[test]
    fn while_a_turn_runs_nobody_drives_whoever_typed_last() {
        // RES-08
        assert!(!driven(&Typing { by_person: Some(6), turn_runs: true, ..WORKER }));
        assert!(!driven(&Typing { managed: true, turn_runs: true, ..HOOKED }));
    }

    #[test]
    fn what_cannot_be_known_is_not_driven() {
        // SES-04
        assert!(!driven(&Typing { prompt_knowable: false, ..HOOKED }));
        assert!(!driven(&Typing { prompt_knowable: false, by_person: Some(6), ..WORKER }));
        // A session of the loop's whose prompt was never given is nobody else's.
        assert!(!driven(&Typing { managed: true, ..HOOKED }));
    }

    #[test]
    fn a_session_in_use_is_not_closed() {
        // SES-10
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1);
        let idle = Closing { closed: false, turn_runs: false, works: false, person_typed: None, now };
        let ago = |minutes| Some(now - SignedDuration::from_mins(minutes));
        assert_eq!(may_close(&idle), Ok(()));
        assert_eq!(may_close(&Closing { person_typed: ago(15), ..idle }), Ok(()));
        assert_eq!(may_close(&Closing { person_typed: ago(14), ..idle }), Err(StaysOpen::PersonActive));
        assert_eq!(may_close(&Closing { works: true, ..idle }), Err(StaysOpen::Works));
        assert_eq!(may_close(&Closing { turn_runs: true, works: true, ..idle }), Err(StaysOpen::TurnRuns));
        assert_eq!(may_close(&Closing { closed: true, turn_runs: true, ..idle }), Err(StaysOpen::Closed));
    }
}
