//! What was acknowledged to people, and every contradiction to it. Sends nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use jari_api::{PlaceStatus, PlaceView};
use parking_lot::Mutex;

use crate::found::{Found, Kind};

/// Whether something was done: told is acknowledged, sent may or may not have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Word {
    #[default]
    Not,
    Sent,
    Told,
}

/// What one person was told of their place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// 0 until a place is acknowledged.
    pub(crate) seq: u64,
    /// The highest number acknowledged to anybody before this person first asked for one.
    behind: Option<u64>,
    pub(crate) left: Word,
    pub(crate) admitted: bool,
    pub(crate) status: Option<PlaceStatus>,
    pub(crate) position: Option<u64>,
    /// The last position told by each node.
    told_by: HashMap<usize, u64>,
    /// The lowest told by any: what a page shows.
    lowest: Option<u64>,
    /// How often it was told how the place stands.
    pub(crate) told: u64,
    /// Something acknowledged to this person is gone.
    pub(crate) lost: bool,
}

/// What everybody was told together.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    pub(crate) found: Found,
    highest: AtomicU64,
    owners: Mutex<HashMap<u64, usize>>,
    given: AtomicU64,
    admissions: AtomicU64,
    /// Admitted as far as they were told, and not leaving: at most so many as there is room for.
    inside: AtomicU64,
    capacity: u64,
}

impl Truth {
    pub(crate) fn new(capacity: u64) -> Truth {
        Truth { capacity, ..Truth::default() }
    }

    /// Somebody is about to ask for a place; the first time counts, for a lost answer may have given it.
    pub(crate) fn asks(&self, place: &mut Place) {
        place.behind.get_or_insert_with(|| self.highest.load(Ordering::SeqCst));
    }

    /// An acknowledged join: the number is nobody else's, and behind all that were acknowledged before.
    pub(crate) fn joined(&self, who: usize, place: &mut Place, view: &PlaceView, node: usize) {
        if place.seq == 0 {
            place.seq = view.seq;
            self.given.fetch_add(1, Ordering::SeqCst);
            if let Some(behind) = place.behind.filter(|behind| view.seq <= *behind) {
                let text = format!("{} was given after {behind} had been acknowledged", view.seq);
                self.found.note(Kind::Order, text);
            }
            let before = self.owners.lock().insert(view.seq, who);
            if before.is_some_and(|owner| owner != who) {
                self.found.note(Kind::Order, format!("number {} has two people", view.seq));
            }
            self.highest.fetch_max(view.seq, Ordering::SeqCst);
        }
        self.stands(place, view, node);
    }

    /// Any answer about a place: it contradicts nothing that was told before.
    pub(crate) fn stands(&self, place: &mut Place, view: &PlaceView, node: usize) {
        let seq = place.seq;
        place.told += 1;
        if view.seq != seq {
            self.lost(place, format!("place {seq} has become {}", view.seq));
        }
        match view.status {
            PlaceStatus::Ended if place.left == Word::Not => {
                self.lost(place, format!("place {seq} is gone and nobody left it"));
            }
            PlaceStatus::Ended => {}
            status if place.left == Word::Told => {
                self.found.note(Kind::Order, format!("place {seq} had left and is {status:?}"));
            }
            PlaceStatus::Absent | PlaceStatus::Next => {
                self.found.note(Kind::Absent, format!("place {seq} is {:?}", view.status));
            }
            PlaceStatus::Waiting if place.admitted => {
                self.lost(place, format!("place {seq} was inside and waits again"));
            }
            PlaceStatus::Waiting => self.is_at(place, view.position, node),
            PlaceStatus::Admitted => self.is_inside(place),
        }
        (place.status, place.position) = (Some(view.status), view.position);
    }

    /// A node never shows a person a worse position than before. Of two nodes one may be a moment behind: a page shows the
    /// better one; that both come to agree is looked at in the quiet.
    fn is_at(&self, place: &mut Place, position: Option<u64>, node: usize) {
        let Some(position) = position else { return };
        let before = place.told_by.insert(node, position);
        if let Some(before) = before.filter(|before| position > *before) {
            let seq = place.seq;
            let text = format!("place {seq} was {before}. in line and is {position}.");
            self.found.note(Kind::Order, text);
        }
        place.lowest = Some(place.lowest.map_or(position, |lowest| lowest.min(position)));
    }

    fn is_inside(&self, place: &mut Place) {
        if place.admitted || place.left != Word::Not {
            return;
        }
        place.admitted = true;
        self.admissions.fetch_add(1, Ordering::SeqCst);
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        if inside > self.capacity {
            let text =
                format!("{inside} people were told that they are inside, of {}", self.capacity);
            self.found.note(Kind::Cap, text);
        }
    }

    /// Somebody is about to give up their place or pass.
    pub(crate) fn leaves(&self, place: &mut Place) {
        if place.left == Word::Not {
            place.left = Word::Sent;
            if place.admitted {
                self.inside.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    pub(crate) fn has_left(&self, place: &mut Place) {
        place.left = Word::Told;
    }

    pub(crate) fn lost(&self, place: &mut Place, text: String) {
        place.lost = true;
        self.found.note(Kind::Kept, text);
    }

    /// How many were given a number, ever.
    pub(crate) fn given(&self) -> u64 {
        self.given.load(Ordering::SeqCst)
    }

    /// How many were told that they are inside, ever.
    pub(crate) fn admissions(&self) -> u64 {
        self.admissions.load(Ordering::SeqCst)
    }

    /// While the line stands still and everybody has just been told: everybody inside is ahead of everybody who waits,
    /// people stand in order of number, and nobody further back than they were ever shown.
    pub(crate) fn in_order(&self, places: &[&Place]) {
        let with = |status| {
            places.iter().copied().filter(move |place: &&Place| place.status == Some(status))
        };
        let last_in = with(PlaceStatus::Admitted).map(|place| place.seq).max();
        let first_out = with(PlaceStatus::Waiting).map(|place| place.seq).min();
        if let (Some(inside), Some(outside)) = (last_in, first_out)
            && inside > outside
        {
            let text = format!("{inside} is inside and {outside} waits");
            self.found.note(Kind::Order, text);
        }
        let mut waiting: Vec<&Place> = with(PlaceStatus::Waiting).collect();
        waiting.sort_unstable_by_key(|place| place.seq);
        for pair in waiting.windows(2) {
            if pair[0].position >= pair[1].position {
                let text = format!(
                    "{} is {:?}. in line and {} is {:?}.",
                    pair[0].seq, pair[0].position, pair[1].seq, pair[1].position
                );
                self.found.note(Kind::Order, text);
            }
        }
        for place in waiting {
            let grew = place.lowest.zip(place.position).filter(|(lowest, now)| now > lowest);
            if let Some((lowest, now)) = grew {
                let seq = place.seq;
                let text = format!("place {seq} was shown as {lowest}. in line and is {now}.");
                self.found.note(Kind::Order, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn view(status: &str, seq: u64, position: Option<u64>) -> PlaceView {
        let line =
            json!({"state": "open", "serving": 0, "served": 0, "waiting": 0, "rate_per_s": 1.0});
        let view = json!({"room": "r", "status": status, "seq": seq, "position": position,
            "line": line, "server_time": "2026-12-01T00:00:00Z"});
        serde_json::from_value(view).unwrap()
    }

    fn joined(truth: &Truth, who: usize, seq: u64) -> Place {
        let mut place = Place::default();
        truth.asks(&mut place);
        truth.joined(who, &mut place, &view("waiting", seq, Some(seq)), 0);
        place
    }

    fn count(truth: &Truth, kind: Kind) -> u64 {
        truth.found.of(kind).count
    }

    #[test]
    fn a_number_given_twice_or_out_of_order_is_found() {
        let truth = Truth::new(10);
        joined(&truth, 1, 1);
        joined(&truth, 2, 2);
        assert_eq!(count(&truth, Kind::Order), 0);
        joined(&truth, 3, 2);
        assert_eq!(count(&truth, Kind::Order), 2, "twice, and not behind the last");
    }

    #[test]
    fn a_place_that_ends_without_a_reason_is_lost_and_one_that_left_must_not_come_back() {
        let truth = Truth::new(10);
        let (mut kept, mut left) = (joined(&truth, 1, 1), joined(&truth, 2, 2));
        truth.leaves(&mut left);
        truth.has_left(&mut left);
        truth.stands(&mut left, &view("ended", 2, None), 0);
        assert_eq!((count(&truth, Kind::Kept), count(&truth, Kind::Order)), (0, 0));
        truth.stands(&mut left, &view("waiting", 2, Some(1)), 0);
        assert_eq!(count(&truth, Kind::Order), 1);
        truth.stands(&mut kept, &view("ended", 1, None), 0);
        assert!(kept.lost && count(&truth, Kind::Kept) == 1);
        truth.stands(&mut kept, &view("next", 1, None), 0);
        assert_eq!(count(&truth, Kind::Absent), 1);
    }

    #[test]
    fn a_position_that_grows_on_one_node_is_found_and_on_another_only_in_the_quiet() {
        let truth = Truth::new(10);
        let mut place = joined(&truth, 1, 5);
        truth.stands(&mut place, &view("waiting", 5, Some(3)), 0);
        truth.stands(&mut place, &view("waiting", 5, Some(4)), 1);
        assert_eq!(count(&truth, Kind::Order), 0, "the other node is a moment behind");
        truth.in_order(&[&place]);
        assert_eq!(count(&truth, Kind::Order), 1, "in the quiet nobody is behind");
        truth.stands(&mut place, &view("waiting", 5, Some(4)), 0);
        assert_eq!(count(&truth, Kind::Order), 2);
    }

    #[test]
    fn more_inside_than_there_is_room_for_is_found_whatever_the_server_says() {
        let truth = Truth::new(1);
        let (mut first, mut second) = (joined(&truth, 1, 1), joined(&truth, 2, 2));
        truth.stands(&mut first, &view("admitted", 1, None), 0);
        truth.leaves(&mut first);
        truth.stands(&mut second, &view("admitted", 2, None), 0);
        assert_eq!((count(&truth, Kind::Cap), truth.admissions()), (0, 2));
        let mut third = joined(&truth, 3, 3);
        truth.stands(&mut third, &view("admitted", 3, None), 0);
        assert_eq!(count(&truth, Kind::Cap), 1);
    }

    #[test]
    fn a_call_out_of_order_is_found_in_the_quiet() {
        let truth = Truth::new(10);
        let (first, mut second) = (joined(&truth, 1, 1), joined(&truth, 2, 2));
        truth.in_order(&[&first, &second]);
        assert_eq!(count(&truth, Kind::Order), 0);
        truth.stands(&mut second, &view("admitted", 2, None), 0);
        truth.in_order(&[&first, &second]);
        assert_eq!(count(&truth, Kind::Order), 1);
    }
}
