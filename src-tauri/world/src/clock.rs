//! The one place that reads the wall clock; a test may hold it still.

use jiff::Timestamp;

/// GitHub's clock: whole seconds, as its answers show them.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    held: Option<Timestamp>,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the world's clock, the one place here that reads it")]
    pub(crate) fn now(&self) -> Timestamp {
        let now = self.held.unwrap_or_else(Timestamp::now);
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    pub(crate) fn hold(&mut self, at: Option<Timestamp>) {
        self.held = at;
    }
}

/// `2026-03-01T09:30:00Z`, as REST and GraphQL write times.
pub(crate) fn iso(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `Sun, 01 Mar 2026 09:30:00 GMT`, as the `Date` header writes it.
pub(crate) fn http_date(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}
