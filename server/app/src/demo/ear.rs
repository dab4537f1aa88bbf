//! How one simulated page hears from its line: by stream or by polls. Decides nothing about what it hears.

use std::sync::Arc;
use std::time::Duration;

use jari_api::{PlaceStatus, PlaceView, Reconnect};
use jari_crowd::Device;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};

use super::cast::Cast;
use super::event_stream::EventStream;
use super::line_client::No;
use super::tally::Fate;

/// Asked again after this where the server directs nothing: its own longest interval.
const POLL_DEFAULT: Duration = Duration::from_secs(10);

pub(super) struct Ear {
    cast: Arc<Cast>,
    how: How,
}

enum How {
    Poll { due: Instant },
    Stream { events: EventStream, _permit: OwnedSemaphorePermit },
}

/// What was heard.
pub(super) enum Heard {
    Place(Box<PlaceView>),
    /// No answer for now; the ear goes on by itself.
    Nothing,
    /// The server knows this token no more.
    Refused,
}

impl Ear {
    /// Listens on after `view` was told: by stream where the device can, the room offers it and one is free.
    pub(super) async fn open(
        cast: &Arc<Cast>,
        device: Device,
        view: &PlaceView,
        place: &str,
    ) -> Self {
        let poll = How::Poll { due: Instant::now() + directed(view) };
        let mut ear = Ear { cast: cast.clone(), how: poll };
        if device == Device::Stream && view.stream {
            ear.try_stream(place).await;
        }
        ear
    }

    async fn try_stream(&mut self, place: &str) {
        let Ok(permit) = self.cast.streams.clone().try_acquire_owned() else { return };
        match self.cast.line.events(place).await {
            Ok(answer) => {
                self.cast.tally.note(Fate::Streamed);
                self.how = How::Stream { events: EventStream::new(answer), _permit: permit };
            }
            Err(no) => self.after(&no),
        }
    }

    /// Waits for the next news. May be dropped while it waits.
    pub(super) async fn hear(&mut self, place: &str) -> Heard {
        match &mut self.how {
            How::Poll { due } => {
                sleep_until(*due).await;
                self.ask(place).await
            }
            How::Stream { events, .. } => {
                let frame = events.next().await;
                let frame = frame.as_ref().map(|frame| (frame.event.as_str(), frame.data.as_str()));
                match frame {
                    Some(("place", data)) => match serde_json::from_str::<PlaceView>(data) {
                        // A stream carries no tokens: the pass is fetched.
                        Ok(view) if view.status != PlaceStatus::Admitted => {
                            Heard::Place(Box::new(view))
                        }
                        _ => self.ask(place).await,
                    },
                    // The pass, or what else has become of the place, is told by the place itself.
                    Some(("admitted" | "ended", _)) => self.ask(place).await,
                    Some(("reconnect", data)) => {
                        let back =
                            serde_json::from_str::<Reconnect>(data).map_or(1_000, |at| at.after_ms);
                        self.poll_in(Duration::from_millis(back));
                        Heard::Nothing
                    }
                    Some(_) => Heard::Nothing,
                    None => {
                        self.poll_in(Duration::ZERO);
                        Heard::Nothing
                    }
                }
            }
        }
    }

    async fn ask(&mut self, place: &str) -> Heard {
        match self.cast.line.place(place).await {
            Ok(view) => {
                if let How::Poll { due } = &mut self.how {
                    *due = Instant::now() + directed(&view);
                }
                Heard::Place(Box::new(view))
            }
            Err(no) => {
                self.after(&no);
                match no {
                    No::Refused(_) => Heard::Refused,
                    _ => Heard::Nothing,
                }
            }
        }
    }

    /// Goes on by polls after a call that did not do: when the server says.
    fn after(&mut self, no: &No) {
        self.cast.note(no);
        match no {
            No::Later { after, .. } => self.poll_in(*after),
            No::NotOpen | No::Refused(_) | No::Lost => self.poll_in(Duration::from_secs(1)),
        }
    }

    fn poll_in(&mut self, after: Duration) {
        self.how = How::Poll { due: Instant::now() + after };
    }
}

fn directed(view: &PlaceView) -> Duration {
    view.poll_after_ms.map_or(POLL_DEFAULT, Duration::from_millis)
}
