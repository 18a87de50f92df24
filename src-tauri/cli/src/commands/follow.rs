//! What `--follow` stands on: the event stream read beside other things that happen.

use std::time::Duration;

use tokio::sync::mpsc;
use wloop_api::client::{Client, ClientError};
use wloop_api::types::Event;

use crate::failure::Failure;

/// How long a daemon may be away, as for a start, before a follower says so.
const PATIENCE: Duration = Duration::from_secs(15);

/// Events as they come, readable in a `select!` without losing any.
#[derive(Debug)]
pub(crate) struct Stream {
    events: mpsc::UnboundedReceiver<Result<Event, ClientError>>,
}

impl Stream {
    /// Connects, so that nothing that happens after this call is missed, and reads on in the background: after the event
    /// `since`, or from now on.
    pub(crate) async fn open(client: &Client, since: Option<i64>) -> Result<Self, Failure> {
        let mut events = client.follow(since).with_patience(PATIENCE);
        events.open().await?;
        let (sender, receiver) = mpsc::unbounded_channel();
        drop(tokio::spawn(async move {
            loop {
                let event = events.next().await;
                let failed = event.is_err();
                if sender.send(event).is_err() || failed {
                    break;
                }
            }
        }));
        Ok(Self { events: receiver })
    }

    /// The next event. After an error there is none any more.
    pub(crate) async fn next(&mut self) -> Result<Event, Failure> {
        match self.events.recv().await {
            Some(event) => Ok(event?),
            None => Err(Failure::Refused("the event stream ended; start the command again".to_owned())),
        }
    }

    /// Takes what is there already, so that a burst of events leads to one look at the state.
    pub(crate) fn drain(&mut self) -> Result<Vec<Event>, Failure> {
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            events.push(event?);
        }
        Ok(events)
    }
}
