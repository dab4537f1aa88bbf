//! The people of one connection, each with the moment when they ask next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use anyhow::Result;
use http::{Method, StatusCode};
use serde::Deserialize;
use tokio::time::{Duration, Instant, sleep_until};

use crate::connection::Connection;
use crate::found::{Found, note};
use crate::prepare::Person;

/// Who was not answered as they should be asks again after this.
const AFTER_AN_ERROR: Duration = Duration::from_secs(1);

/// What an answer tells of a place.
#[derive(Deserialize)]
struct View {
    status: String,
    poll_after_ms: Option<u64>,
    place_token: Option<String>,
}

/// Somebody, and what they do next.
#[derive(Debug)]
pub(super) struct Who {
    person: Person,
    has_joined: bool,
}

impl Who {
    pub(super) fn waiting(person: Person) -> Who {
        Who { person, has_joined: true }
    }

    /// Has an identity only.
    pub(super) fn newcomer(person: Person) -> Who {
        Who { person, has_joined: false }
    }
}

/// Ordered by its time alone, the earliest on top of a heap.
#[derive(Debug)]
struct Turn {
    due: Instant,
    who: Who,
}

impl PartialEq for Turn {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Turn {}

impl PartialOrd for Turn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    fn cmp(&self, other: &Self) -> Ordering {
        other.due.cmp(&self.due)
    }
}

/// What the people of one connection heard, or of all.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Polls, from when each was due.
    pub(super) polls: Found,
    pub(super) joins: Found,
    pub(super) admitted: u64,
    pub(super) ended: u64,
    /// The sum of the pauses that answers told.
    pub(super) told_ms: u64,
}

impl Heard {
    pub(super) fn add(&mut self, other: &Heard) -> Result<()> {
        self.polls.add(&other.polls)?;
        self.joins.add(&other.joins)?;
        self.admitted += other.admitted;
        self.ended += other.ended;
        self.told_ms += other.told_ms;
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    connection: Connection,
    turns: BinaryHeap<Turn>,
    heard: Heard,
}

impl Queue {
    pub(super) fn new(connection: Connection) -> Queue {
        Queue { connection, turns: BinaryHeap::new(), heard: Heard::default() }
    }

    pub(super) fn push(&mut self, due: Instant, who: Who) {
        self.turns.push(Turn { due, who });
    }

    /// Asks for everybody whose turn comes before `until`, in order of time.
    pub(super) async fn carry_out(mut self, until: Instant) -> Heard {
        while let Some(Turn { due, who }) = self.turns.pop().filter(|turn| turn.due < until) {
            sleep_until(due).await;
            if !self.take(due, who).await {
                break;
            }
        }
        self.heard
    }

    /// One turn; whether the connection goes on.
    async fn take(&mut self, due: Instant, mut who: Who) -> bool {
        let Person { room, token, .. } = &who.person;
        let (method, path, wanted) = if who.has_joined {
            (Method::GET, format!("/v1/rooms/{room}/places/me"), StatusCode::OK)
        } else {
            (Method::POST, format!("/v1/rooms/{room}/places"), StatusCode::CREATED)
        };
        let found = if who.has_joined { &mut self.heard.polls } else { &mut self.heard.joins };
        note(&mut found.late, due.elapsed());
        let (status, body) = match self.connection.ask(method, &path, Some(token)).await {
            Ok(answer) => answer,
            Err(_) => {
                found.error("transport");
                return false;
            }
        };
        let view = serde_json::from_slice::<View>(&body).ok().filter(|_| status == wanted);
        let Some(view) = view else {
            found.error(status.as_str());
            self.push(Instant::now() + AFTER_AN_ERROR, who);
            return true;
        };
        note(&mut found.latencies, due.elapsed());
        who.has_joined = true;
        if let Some(token) = view.place_token {
            who.person.token = token;
        }
        match (view.status.as_str(), view.poll_after_ms) {
            ("admitted", _) => self.heard.admitted += 1,
            ("waiting" | "next" | "absent", Some(after_ms)) => {
                self.heard.told_ms += after_ms;
                self.push(Instant::now() + Duration::from_millis(after_ms), who);
            }
            _ => self.heard.ended += 1,
        }
        true
    }
}
