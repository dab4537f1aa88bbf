//! What the server acknowledged, and every contradiction to it that was met. Sends nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jari_api::{PlaceStatus, PlaceView};
use parking_lot::Mutex;

/// Whether something was done: told is acknowledged, sent may or may not have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Not,
    Sent,
    Told,
}

/// One person and what it was told.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) visitor_token: String,
    /// The highest place acknowledged to anybody before this one asked for its own.
    pub(crate) behind: u64,
    /// 0 until told.
    pub(crate) seq: u64,
    pub(crate) place_token: String,
    pub(crate) left: Word,
    pub(crate) admitted: bool,
    pub(crate) claimed: bool,
    pub(crate) pass: Option<String>,
    /// As last seen while the line stood still.
    pub(crate) status: Option<PlaceStatus>,
    /// Left, and found to have left after a restart: nothing more can happen to it.
    pub(crate) settled: bool,
}

impl Person {
    pub(crate) fn new(visitor_token: String, behind: u64) -> Self {
        Person {
            visitor_token,
            behind,
            seq: 0,
            place_token: String::new(),
            left: Word::Not,
            admitted: false,
            claimed: false,
            pass: None,
            status: None,
            settled: false,
        }
    }
}

/// How much was acknowledged, and how often it was compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) joins: u64,
    pub(crate) leaves: u64,
    pub(crate) admissions: u64,
    pub(crate) claims: u64,
    /// Joins without an answer, asked again; and those of them that had been made.
    pub(crate) repeated: u64,
    pub(crate) found: u64,
    pub(crate) compared: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Truth(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    highest: AtomicU64,
    owners: Mutex<HashMap<u64, String>>,
    told: Mutex<Told>,
    losses: Mutex<Vec<String>>,
    order: Mutex<Vec<String>>,
    caps: Mutex<Vec<String>>,
}

impl Truth {
    pub(crate) fn new() -> Self {
        Truth::default()
    }

    pub(crate) fn highest(&self) -> u64 {
        self.0.highest.load(Ordering::SeqCst)
    }

    pub(crate) fn told(&self) -> Told {
        *self.0.told.lock()
    }

    pub(crate) fn count(&self, add: impl FnOnce(&mut Told)) {
        add(&mut self.0.told.lock());
    }

    /// An acknowledged join: the place is nobody else's, and behind all that were acknowledged before it was asked for.
    pub(crate) fn joined(&self, person: &mut Person, view: &PlaceView) {
        person.seq = view.seq;
        person.place_token = view.place_token.clone().unwrap_or_default();
        self.count(|told| told.joins += 1);
        if view.seq <= person.behind {
            let behind = person.behind;
            self.0.order.lock().push(format!("{} after {behind} was acknowledged", view.seq));
        }
        let before = self.0.owners.lock().insert(view.seq, person.visitor_token.clone());
        if before.is_some_and(|owner| owner != person.visitor_token) {
            self.0.order.lock().push(format!("{} was given twice", view.seq));
        }
        self.0.highest.fetch_max(view.seq, Ordering::SeqCst);
        self.stands(person, view);
    }

    /// Any answer about a place: it contradicts nothing that was told before.
    pub(crate) fn stands(&self, person: &mut Person, view: &PlaceView) {
        self.count(|told| told.compared += 1);
        let place = person.seq;
        if view.seq != place {
            self.lost(format!("place {place} has become {}", view.seq));
        }
        let status = view.status;
        match status {
            PlaceStatus::Ended if person.left == Word::Not => {
                self.lost(format!("place {place} is gone and nobody left it"));
            }
            PlaceStatus::Ended => {}
            _ if person.left == Word::Told => {
                self.lost(format!("place {place} left and is {status:?} again"));
            }
            PlaceStatus::Absent | PlaceStatus::Next => {
                self.lost(format!("place {place} became {status:?} by a downtime"));
            }
            PlaceStatus::Waiting if person.admitted => {
                self.lost(format!("place {place} was admitted and waits again"));
            }
            PlaceStatus::Waiting => {}
            PlaceStatus::Admitted => self.is_admitted(person, view),
        }
        person.status = Some(status);
    }

    fn is_admitted(&self, person: &mut Person, view: &PlaceView) {
        if !person.admitted {
            person.admitted = true;
            self.count(|told| told.admissions += 1);
        }
        if let Some(pass) = &view.pass {
            if person.claimed && !pass.claimed {
                self.lost(format!("place {} claimed its pass and has not", person.seq));
            }
            person.pass = Some(pass.token.clone());
        }
    }

    /// While the line stands still: everybody admitted is ahead of everybody who waits.
    pub(crate) fn check_order(&self, people: &[Person]) {
        let with = |status| people.iter().filter(move |person| person.status == Some(status));
        let last_in = with(PlaceStatus::Admitted).map(|person| person.seq).max();
        let first_out = with(PlaceStatus::Waiting).map(|person| person.seq).min();
        if let (Some(inside), Some(outside)) = (last_in, first_out)
            && inside > outside
        {
            self.0.order.lock().push(format!("{inside} is inside and {outside} waits"));
        }
    }

    pub(crate) fn lost(&self, what: String) {
        self.0.losses.lock().push(what);
    }

    pub(crate) fn cap_broken(&self, what: String) {
        self.0.caps.lock().push(what);
    }

    pub(crate) fn losses(&self) -> Vec<String> {
        self.0.losses.lock().clone()
    }

    pub(crate) fn order_violations(&self) -> Vec<String> {
        self.0.order.lock().clone()
    }

    pub(crate) fn cap_violations(&self) -> Vec<String> {
        self.0.caps.lock().clone()
    }
}
