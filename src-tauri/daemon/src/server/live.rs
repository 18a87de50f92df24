//! The live stream of events: each once, in order, going on from a given id (EVT-13).

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use wloop_core::id::UnitRef;

use super::Shared;
use crate::view;

/// Events that are read at once.
const PAGE: usize = 200;

/// Every event after `since`, then each new one as it is committed.
pub(crate) fn stream(shared: Shared, since: i64, unit: Option<UnitRef>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let news = shared.outside.hub.events();
    let start = State { shared, news, cursor: since, unit, ready: Vec::new().into_iter() };
    let stream = futures_util::stream::unfold(start, |mut state| async move {
        loop {
            if let Some(event) = state.ready.next() {
                return Some((Ok(event), state));
            }
            // Marked as seen before the read, so that what is committed meanwhile wakes it again.
            let newest = *state.news.borrow_and_update();
            if newest > state.cursor {
                state.fill();
                // Events of other units move the cursor as well.
                if state.ready.len() == 0 {
                    state.cursor = state.cursor.max(newest);
                }
                continue;
            }
            tokio::select! {
                changed = state.news.changed() => changed.ok()?,
                // A drained daemon lets its listeners go.
                () = state.shared.outside.stopping.cancelled() => return None,
            }
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(30)))
}

struct State {
    shared: Shared,
    news: tokio::sync::watch::Receiver<i64>,
    cursor: i64,
    unit: Option<UnitRef>,
    ready: std::vec::IntoIter<Event>,
}

impl State {
    fn fill(&mut self) {
        let read = self.shared.outside.hub.read(|reads| {
            let rows = reads.events_after(self.cursor, PAGE, self.unit.as_ref())?;
            rows.iter().map(|row| view::event(reads, row)).collect::<Result<Vec<_>, _>>()
        });
        match read {
            Ok(events) => {
                if let Some(last) = events.last() {
                    self.cursor = last.id;
                }
                let ready: Vec<Event> = events
                    .iter()
                    .filter_map(|event| {
                        let data = serde_json::to_string(event).ok()?;
                        Some(Event::default().id(event.id.to_string()).event(event.kind.as_str()).data(data))
                    })
                    .collect();
                self.ready = ready.into_iter();
            }
            Err(fault) => tracing::error!(%fault, "the record could not be read"),
        }
    }
}
