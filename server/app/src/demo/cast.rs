//! What the whole simulated crowd shares, and the run of all its people. What one of them does is in `person`.

use std::sync::Arc;

use jari_crowd::Crowd;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::line_client::{LineClient, No};
use super::person;
use super::tally::{Fate, Tally};

/// Streams that the crowd holds at once: each costs two open files here, since both ends are in this process.
pub(super) const STREAMS_MAX: usize = 200;

/// Nobody stays longer: a demo that is forgotten in a terminal falls quiet.
const LIFE_MAX: Duration = Duration::from_secs(3_600);

pub(super) struct Cast {
    pub(super) line: LineClient,
    pub(super) tally: Tally,
    pub(super) streams: Arc<Semaphore>,
    pub(super) opens: Instant,
}

impl Cast {
    pub(super) fn new(line: LineClient, opens: Instant) -> Arc<Cast> {
        let streams = Arc::new(Semaphore::new(STREAMS_MAX));
        Arc::new(Cast { line, tally: Tally::default(), streams, opens })
    }

    pub(super) fn note(&self, no: &No) {
        match no {
            No::NotOpen => self.tally.refused("not_open"),
            No::Later { code, .. } | No::Refused(code) => self.tally.refused(code),
            No::Lost => self.tally.refused("nothing (no answer in time)"),
        }
    }
}

/// Lets the crowd come, from `starts` on, and waits until the last of them has gone. Dropping it stops everybody.
pub(super) async fn play(cast: Arc<Cast>, crowd: Crowd, starts: Instant) {
    let mut people = JoinSet::new();
    for person in crowd.in_order_of_arrival() {
        sleep_until(starts + Duration::from_millis(person.arrives_after.0)).await;
        cast.tally.note(Fate::Arrived);
        people.spawn(timeout(LIFE_MAX, person::live(cast.clone(), person)));
        while people.try_join_next().is_some() {}
    }
    while people.join_next().await.is_some() {}
}
