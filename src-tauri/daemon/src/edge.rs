//! The edges of the daemon: the one place that reads the system's clock and draws random numbers, and the crash points of the tests.

use jiff::{Timestamp, Unit};
use rand::{Rng as _, SeedableRng as _};
use wloop_core::id::IdSource;

/// Now, to the millisecond, as the ledger stores it.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the daemon's clock")]
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// Ids from a cryptographic generator: the system's randomness, or a seed that a test owns.
#[derive(Debug)]
pub struct Ids(rand::rngs::StdRng);

impl Ids {
    /// From the system's randomness.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the daemon's random source")]
    pub fn random() -> Self {
        Self(rand::rngs::StdRng::from_rng(&mut rand::rng()))
    }

    /// From a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(rand::rngs::StdRng::seed_from_u64(seed))
    }
}

impl IdSource for Ids {
    fn next_bits(&mut self) -> u128 {
        (u128::from(self.0.next_u64()) << 64) | u128::from(self.0.next_u64())
    }
}

/// Ends the process at a crash point, as a power cut would, when a test has armed it (`FAILPOINTS=K7=return`). A release build has
/// no such points.
macro_rules! crash_point {
    ($name:literal) => {
        // The macro returns from the function it stands in, which is this one.
        (|| fail::fail_point!($name, |_| crate::edge::die()))();
    };
}
pub(crate) use crash_point;

/// Whether a test has planted this bug (`FAILPOINTS=late_reject=return`), so that the simulator can show that it finds it. Never in a
/// release build.
macro_rules! planted {
    ($name:literal) => {
        // The macro returns from the function it stands in, which is this one.
        (|| {
            fail::fail_point!($name, |_| true);
            false
        })()
    };
}
pub(crate) use planted;

/// Ends this process without a word to anybody.
#[cfg_attr(not(feature = "failpoints"), expect(dead_code, reason = "only crash points die"))]
pub(crate) fn die() {
    let me = rustix::process::getpid();
    // A process that cannot kill itself goes on, and the test that armed the point says so.
    let _killed = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    std::process::abort();
}

/// One line on standard error.
#[expect(clippy::print_stderr, reason = "the daemon in the foreground and `wloop mcp` speak to whoever started them")]
pub(crate) fn complain(words: &str) {
    eprintln!("wloop: {words}");
}
