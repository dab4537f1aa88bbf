//! Where people are: the nodes' addresses, the room, what is known of everybody. Starts nothing.

use std::time::Duration;

use jari_api::PlaceStatus;
use tokio::time::Instant;
use url::Url;

use crate::person::{Answer, Person};
use crate::seen::{Call, NO_ANSWER, Seen};
use crate::truth::{Truth, Word};

/// When nobody said when to come back: as the page does, about so long.
const COME_BACK: Duration = Duration::from_secs(1);
/// As long as nobody is told otherwise, who is inside shows the pass this often.
const BETWEEN_CLICKS: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) room: String,
    doors: Vec<Url>,
    pub(crate) truth: Truth,
    pub(crate) seen: Seen,
    /// Held for writing, everybody stands still.
    pub(crate) going: tokio::sync::RwLock<()>,
}

impl Scene {
    pub(crate) fn new(room: &str, doors: Vec<Url>, truth: Truth) -> Scene {
        Scene {
            room: room.to_owned(),
            doors,
            truth,
            seen: Seen::default(),
            going: tokio::sync::RwLock::new(()),
        }
    }

    pub(crate) fn doors(&self) -> usize {
        self.doors.len()
    }

    fn door(&self, person: &Person) -> Url {
        self.doors[person.door % self.doors.len()].clone()
    }

    /// Gets a person an identity, at another node the next time where this one does not answer.
    pub(crate) async fn identify(&self, person: &mut Person) -> bool {
        let known = person.identify(&self.door(person)).await;
        if !known {
            person.turn(self.doors());
        }
        known
    }

    /// One call of a person and what follows from it. When to go on, where that was said.
    pub(crate) async fn call(&self, person: &mut Person, call: Call) -> Option<Duration> {
        let (node, sent) = (self.door(person), Instant::now());
        match call {
            Call::Join => self.truth.asks(&mut person.place),
            Call::Leave => self.truth.leaves(&mut person.place),
            Call::Poll | Call::Gate => {}
        }
        match person.ask(call, &node, &self.room).await {
            Answer::Served(view) => {
                self.seen.served(person.id, call);
                self.served(person, call, view.as_deref())
            }
            Answer::Refused { code, after } => {
                // Asking too fast is the crowd's own doing; the answer comes with the next try.
                if code != "429 too_fast" {
                    self.seen.refused(person.id, call, &code, sent);
                }
                self.refused(person, call, &code);
                Some(after.unwrap_or(COME_BACK))
            }
            Answer::Nothing => {
                self.seen.refused(person.id, call, NO_ANSWER, sent);
                person.turn(self.doors());
                Some(COME_BACK)
            }
        }
    }

    fn served(
        &self,
        person: &mut Person,
        call: Call,
        view: Option<&jari_api::PlaceView>,
    ) -> Option<Duration> {
        let node = person.door;
        match (call, view) {
            (Call::Join, Some(view)) => self.truth.joined(person.id, &mut person.place, view, node),
            (Call::Poll, Some(view)) => self.truth.stands(&mut person.place, view, node),
            (Call::Leave, _) => {
                self.truth.has_left(&mut person.place);
                self.seen.gone(person.id);
            }
            (Call::Gate, _) => return Some(BETWEEN_CLICKS),
            (Call::Join | Call::Poll, None) => {
                let text = format!("{} was answered without a place", call.name());
                self.truth.lost(&mut person.place, text);
            }
        }
        view.and_then(|view| view.poll_after_ms).map(Duration::from_millis)
    }

    /// A pass that was never given back is good: 428 sends its owner away.
    fn refused(&self, person: &mut Person, call: Call, code: &str) {
        let inside = person.place.admitted && person.place.left == Word::Not;
        let sent_away = call == Call::Gate && code.starts_with("428") && inside;
        let forgotten = code.starts_with("401") || code.starts_with("404");
        if sent_away || forgotten {
            let seq = person.place.seq;
            let text = format!("{} of place {seq} was answered {code}", call.name());
            self.truth.lost(&mut person.place, text);
        }
    }

    /// Whether the person is inside as far as they know.
    pub(crate) fn is_inside(person: &Person) -> bool {
        person.place.status == Some(PlaceStatus::Admitted)
    }
}
