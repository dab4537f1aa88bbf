//! The last minutes of every room, a point a second, in memory. Bounded over all rooms; a quiet second takes no room.

use std::collections::{BTreeMap, VecDeque};

use jari_api::admin::{RoomHistory, SecondView};
use jari_line::Totals;
use jari_units::{RoomId, Timestamp};

/// How far back a room's past is kept: what an operator who has just come wants to see of an opening.
const KEPT_S: u32 = 15 * 60;
/// Points over all rooms: 256 rooms that are busy in every second of it, 11 MB. With more, each keeps a shorter past.
const POINTS_MAX: usize = 256 * KEPT_S as usize;

/// A look that many seconds after the last one is the next.
const JITTER_S: u32 = 2;

/// One second of a room: counts at its end, and what happened in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Second {
    pub(super) waiting: u32,
    pub(super) live: u32,
    pub(super) rate_milli: u32,
    pub(super) did: SecondView,
}

/// What has happened in a room, ever: seconds are the differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) totals: Totals,
    pub(super) turned_away: u64,
}

#[derive(Debug, Default)]
struct Past {
    points: VecDeque<(u32, Second)>,
    sums: Sums,
    /// The totals are those of a room that knew them.
    whole: bool,
    last: Second,
    mass_absence_at: Option<Timestamp>,
}

/// All rooms' pasts.
#[derive(Debug, Default)]
pub(super) struct Book {
    rooms: BTreeMap<RoomId, Past>,
    now_s: u32,
}

/// A room as it is looked at.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) room: RoomId,
    /// It was made while this node was counting: all that ever happened in it happened since.
    pub(super) new: bool,
    /// It lost its history and has not been told of it yet: its sums say nothing.
    pub(super) recovering: bool,
    pub(super) waiting: u64,
    pub(super) live: u64,
    pub(super) rate_milli: u64,
    pub(super) sums: Sums,
}

impl Book {
    /// Notes the second that ends at `now_s` (of the feed's own count) and at `now`.
    pub(super) fn note(&mut self, now_s: u32, now: Timestamp, looks: Vec<Look>) {
        // Looks come a second apart, give or take: one that jitters over a second's edge leaves no hole and makes no
        // double, and a clock that steps back stops nothing. Only a time that was really missed is left out.
        self.now_s = if now_s <= self.now_s + JITTER_S { self.now_s + 1 } else { now_s };
        let mut old = std::mem::take(&mut self.rooms);
        let keep = (POINTS_MAX / looks.len().max(1)).min(KEPT_S as usize);
        for look in looks {
            let mut past = old.remove(&look.room).unwrap_or_else(|| Past::new(&look));
            past.note(self.now_s, now, &look);
            past.forget(self.now_s, keep);
            self.rooms.insert(look.room, past);
        }
    }

    /// The second that was noted last.
    pub(super) fn now_s(&self) -> u32 {
        self.now_s
    }

    pub(super) fn last(&self, room: &RoomId) -> (SecondView, Option<Timestamp>) {
        let past = self.rooms.get(room);
        past.map_or_else(Default::default, |past| (past.last.did, past.mass_absence_at))
    }

    /// One room's past or all of them, each step summed up. Rooms without one are left out.
    pub(super) fn told(&self, room: Option<&RoomId>, step_s: u32) -> Vec<RoomHistory> {
        let pasts = self.rooms.iter().filter(|(id, _)| room.is_none_or(|room| room == *id));
        pasts.map(|(id, past)| past.told(id, step_s)).collect()
    }
}

impl Past {
    /// What happened before this node counted is not of the first second.
    fn new(look: &Look) -> Self {
        let sums = if look.new { Sums::default() } else { look.sums };
        Past { sums, whole: look.new || !look.recovering, ..Past::default() }
    }

    /// The sums before and after a look. What a room counted before a loss comes back at once, and did not happen again then.
    fn step(&mut self, look: &Look) -> (Sums, Sums) {
        let (mut before, mut after) = (self.sums, look.sums);
        if look.recovering {
            after.totals = before.totals;
        } else if !std::mem::replace(&mut self.whole, true) {
            before.totals = after.totals;
        }
        self.sums = after;
        (before, after)
    }

    fn note(&mut self, now_s: u32, now: Timestamp, look: &Look) {
        let (before, after) = self.step(look);
        if after.totals.mass_absences > before.totals.mass_absences {
            self.mass_absence_at = Some(now);
        }
        let second = Second {
            waiting: fit(look.waiting),
            live: fit(look.live),
            rate_milli: fit(look.rate_milli),
            did: did(&before, &after),
        };
        let quiet = second.did == SecondView::default()
            && Second { did: second.did, ..self.last } == second;
        self.last = second;
        if !quiet || self.points.is_empty() {
            self.points.push_back((now_s, second));
        }
    }

    fn forget(&mut self, now_s: u32, keep: usize) {
        // The newest of those too old stays: it says how the room was when the past begins.
        while self.points.len() > keep
            || self.points.get(1).is_some_and(|(at, _)| *at + KEPT_S < now_s)
        {
            self.points.pop_front();
        }
    }

    fn told(&self, room: &RoomId, step_s: u32) -> RoomHistory {
        let mut told = RoomHistory { room: room.to_string(), ..RoomHistory::default() };
        let mut points = self.points.iter().peekable();
        while let Some((at, second)) = points.next() {
            let end = at.div_ceil(step_s) * step_s;
            let (mut last, mut sum) = (*at, *second);
            while let Some((at, next)) = points.next_if(|(at, _)| *at <= end) {
                last = *at;
                sum = Second { did: added(&sum.did, &next.did), ..*next };
            }
            push(&mut told, last, &sum);
        }
        told
    }
}

/// Counts of the line are below 2^32 by its own bounds; a sum of spans may not be.
fn fit(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What happened between two looks. A room that began anew counts from 0 again, which is no negative second.
fn did(before: &Sums, after: &Sums) -> SecondView {
    let (old, new) = (&before.totals, &after.totals);
    let more = |old: u64, new: u64| fit(new.saturating_sub(old));
    SecondView {
        joined: more(old.joined, new.joined),
        admitted: more(old.admitted, new.admitted),
        claimed: more(old.claimed, new.claimed),
        no_shows: more(old.no_shows, new.no_shows),
        left: more(old.left, new.left),
        refused: more(before.turned_away, after.turned_away),
        dwells: more(old.dwells, new.dwells),
        dwell_ms: more(old.dwell_ms, new.dwell_ms),
    }
}

fn added(a: &SecondView, b: &SecondView) -> SecondView {
    SecondView {
        joined: a.joined.saturating_add(b.joined),
        admitted: a.admitted.saturating_add(b.admitted),
        claimed: a.claimed.saturating_add(b.claimed),
        no_shows: a.no_shows.saturating_add(b.no_shows),
        left: a.left.saturating_add(b.left),
        refused: a.refused.saturating_add(b.refused),
        dwells: a.dwells.saturating_add(b.dwells),
        dwell_ms: a.dwell_ms.saturating_add(b.dwell_ms),
    }
}

fn push(told: &mut RoomHistory, second: u32, sum: &Second) {
    told.second.push(second);
    told.waiting.push(sum.waiting);
    told.live.push(sum.live);
    told.rate_milli.push(sum.rate_milli);
    told.joined.push(sum.did.joined);
    told.admitted.push(sum.did.admitted);
    told.claimed.push(sum.did.claimed);
    told.no_shows.push(sum.did.no_shows);
    told.left.push(sum.did.left);
    told.refused.push(sum.did.refused);
    told.dwells.push(sum.did.dwells);
    told.dwell_ms.push(sum.did.dwell_ms);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(room: &str, waiting: u64, admitted: u64) -> Look {
        let totals = Totals { admitted, ..Totals::default() };
        let sums = Sums { totals, turned_away: 0 };
        Look {
            room: room.parse().expect("an id"),
            new: false,
            recovering: false,
            waiting,
            live: 0,
            rate_milli: 1_000,
            sums,
        }
    }

    fn note(book: &mut Book, now_s: u32, look: Look) {
        book.note(now_s, Timestamp(u64::from(now_s) * 1_000), vec![look]);
    }

    #[test]
    fn seconds_are_differences_and_quiet_ones_take_no_room() {
        let mut book = Book::default();
        for (second, waiting, admitted) in
            [(1, 9, 100), (2, 7, 102), (3, 7, 102), (4, 7, 102), (5, 6, 103)]
        {
            note(&mut book, second, look("a", waiting, admitted));
        }
        let told = &book.told(None, 1)[0];
        assert_eq!(told.second, [1, 2, 5], "the third and fourth were quiet");
        assert_eq!((&*told.waiting, &*told.admitted), (&[9, 7, 6][..], &[0, 2, 1][..]));
        let told = &book.told(None, 4)[0];
        assert_eq!((&*told.second, &*told.admitted), (&[2, 5][..], &[2, 1][..]));
        assert_eq!(told.waiting, [7, 6], "as it was at the step's end");
    }

    #[test]
    fn the_past_is_bounded_by_age_and_over_all_rooms() {
        let mut book = Book::default();
        for second in 1..=2_000 {
            note(&mut book, second, look("a", u64::from(second), 0));
        }
        let told = &book.told(None, 1)[0];
        assert_eq!(told.second.last(), Some(&2_000));
        assert!(told.second.len() <= KEPT_S as usize, "{}", told.second.len());

        let rooms = 1_000;
        let looks = |n: u64| (0..rooms).map(|room| look(&format!("r{room}"), n, n)).collect();
        for second in 2_001..2_400 {
            book.note(second, Timestamp(0), looks(u64::from(second)));
        }
        let told = book.told(None, 1);
        assert_eq!(told.len(), rooms, "a room that is gone is forgotten");
        assert!(told.iter().map(|room| room.second.len()).sum::<usize>() <= POINTS_MAX);
    }

    #[test]
    fn a_room_that_began_anew_and_a_clock_that_went_back_make_no_negative_second() {
        let mut book = Book::default();
        note(&mut book, 10, look("a", 5, 100));
        note(&mut book, 3, look("a", 1, 0));
        let told = &book.told(None, 1)[0];
        assert_eq!((&*told.second, &*told.admitted), (&[10, 11][..], &[0, 0][..]));
    }

    #[test]
    fn what_a_room_is_told_of_after_a_loss_did_not_happen_again() {
        let lost = |refused| {
            let mut look = Look { recovering: true, ..look("a", 0, 0) };
            look.sums.turned_away = refused;
            look
        };
        let whole = |admitted, alarms| {
            let mut look = look("a", 5, admitted);
            (look.sums.totals.mass_absences, look.sums.turned_away) = (alarms, 3);
            look
        };
        // Looked at before the loss, and first looked at in the window.
        for (first, admitted) in [(Some(whole(100, 2)), 4), (None, 0)] {
            let mut book = Book::default();
            let looks = [lost(3), lost(3), whole(104, 2)];
            for (second, look) in (1..).zip(first.into_iter().chain(looks)) {
                note(&mut book, second, look);
            }
            let told = &book.told(None, 1)[0];
            assert_eq!(told.admitted.iter().sum::<u32>(), admitted);
            assert_eq!(book.last(&"a".parse().expect("an id")).1, None, "no new alarm");
        }
        let mut book = Book::default();
        note(&mut book, 1, lost(3));
        note(&mut book, 2, lost(5));
        assert_eq!(book.told(None, 1)[0].refused, [0, 2], "refusals are counted all the time");
    }

    #[test]
    fn a_room_made_since_counts_from_its_first_second() {
        let mut book = Book::default();
        note(&mut book, 1, Look { new: true, ..look("a", 0, 9) });
        assert_eq!(book.told(None, 1)[0].admitted, [9]);
    }

    #[test]
    fn a_mass_absence_is_dated() {
        let mut book = Book::default();
        note(&mut book, 1, look("a", 5, 0));
        let mut absent = look("a", 5, 0);
        absent.sums.totals.mass_absences = 1;
        note(&mut book, 2, absent);
        let room = "a".parse().expect("an id");
        assert_eq!(book.last(&room).1, Some(Timestamp(2_000)));
        assert_eq!(book.told(Some(&"b".parse().expect("an id")), 1), []);
    }

    #[test]
    fn a_point_is_as_small_as_its_limit_says() {
        assert!(size_of::<(u32, Second)>() * POINTS_MAX < 11_500_000);
    }
}
