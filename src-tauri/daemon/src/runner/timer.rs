//! The one timer: armed for the next instant that something falls due, with its reason, and armed anew when that changes, when the
//! machine wakes from sleep and when the clock is set.

use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use wloop_core::window::slept;

use crate::hub::Hub;
use crate::input::{Input, Observation};

/// An instant that is already past is not asked for again before this.
const AGAIN: Duration = Duration::from_millis(500);

/// Ticks the engine whenever something falls due by time alone.
pub(super) async fn run(hub: Hub, stop: CancellationToken) {
    let mut pending = hub.pending();
    let mut clock = wall::Clock::new();
    let mut last = (hub.now(), tokio::time::Instant::now());
    loop {
        let this = (hub.now(), tokio::time::Instant::now());
        if slept(this.0.duration_since(last.0), this.1.duration_since(last.1)) {
            tell_woke(&hub).await;
        }
        last = this;
        let wake = pending.borrow_and_update().wake.clone();
        let at = wake.as_ref().map(|w| w.at);
        let due = async {
            match at {
                Some(at) if at > hub.now() => clock.until(at, &hub).await,
                Some(_) => tokio::time::sleep(AGAIN).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {
                tracing::debug!(reason = wake.map(|w| w.reason), "the timer ends");
                if let Err(fault) = hub.ask(Input::Tick).await {
                    tracing::error!(%fault, "a tick could not be written");
                    tokio::time::sleep(AGAIN).await;
                }
            }
            changed = pending.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = stop.cancelled() => return,
        }
    }
}

/// The machine slept, or its clock was set forwards: what was read before is old (GH-SYNC-18).
async fn tell_woke(hub: &Hub) {
    tracing::info!("the clock jumped ahead; github is read again");
    if let Err(fault) = hub.ask(Input::Observed(Observation::SweepSoon)).await {
        tracing::error!(%fault, "a sweep after waking could not be asked for");
    }
}

/// Waiting on the wall clock. The system wakes it also after sleep and when somebody sets the clock.
#[cfg(target_os = "linux")]
mod wall {
    use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};
    use tokio::io::unix::AsyncFd;

    use super::{Hub, Timestamp};

    pub(super) struct Clock(Option<AsyncFd<std::os::fd::OwnedFd>>);

    impl Clock {
        #[expect(deprecated, reason = "an owned descriptor is safe to register, and this crate has no unsafe code")]
        pub(super) fn new() -> Self {
            let timer = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
            Self(timer.ok().and_then(|timer| AsyncFd::new(timer).ok()))
        }

        /// Waits until the wall clock shows `at`, or was set.
        pub(super) async fn until(&mut self, at: Timestamp, hub: &Hub) {
            let armed = self.0.as_ref().is_some_and(|timer| {
                let value = Timespec { tv_sec: at.as_second(), tv_nsec: at.subsec_nanosecond().into() };
                let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
                let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
                timerfd_settime(timer, flags, &spec).is_ok()
            });
            match (&self.0, armed) {
                (Some(timer), true) => {
                    if let Ok(mut ready) = timer.readable().await {
                        let mut ticks = [0u8; 8];
                        // A clock that was set answers with an error, which is a wake-up like any other.
                        let _ticks = rustix::io::read(timer, &mut ticks);
                        ready.clear_ready();
                    }
                }
                _ => super::nap(at, hub).await,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod wall {
    use super::{Hub, Timestamp};

    pub(super) struct Clock;

    impl Clock {
        pub(super) fn new() -> Self {
            Self
        }

        pub(super) async fn until(&mut self, at: Timestamp, hub: &Hub) {
            super::nap(at, hub).await;
        }
    }
}

/// Waits in naps that are short enough to notice sleep and a set clock within the bound for windows.
async fn nap(at: Timestamp, hub: &Hub) {
    const NAP: Duration = Duration::from_secs(4);
    loop {
        let left = Duration::try_from(at.duration_since(hub.now())).unwrap_or(Duration::ZERO);
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(NAP)).await;
    }
}
