//! Tests of modes: who walks in, when a room begins to queue and stops, and what `off` and `shadow` leave alone.

use jari_units::{Mark, Millis, SubjectKey, Timestamp};

use super::*;
use crate::join::tests::{key, room_with, subjects};
use crate::{Change, ClosedNext, JoinOutcome, Load, PacerKind, Room, SITE, Signal, Standing};

const START: Timestamp = Timestamp(1_000_000);

struct Play {
    room: Room,
    now: Timestamp,
    next: u64,
}

impl Play {
    fn new(settings: Settings) -> Self {
        Play { room: room_with(settings), now: START, next: 1 }
    }

    /// So many newcomers in one batch: how many got a pass, and how many a place in line.
    fn come(&mut self, count: u64) -> (usize, usize) {
        let people = subjects(self.next..=self.next + count - 1);
        self.next += count;
        let outcomes = self.room.join(Mark::NONE, &people).expect("no mark").outcome;
        let walked = outcomes.iter().filter(|o| matches!(o, JoinOutcome::Allowed(_))).count();
        let queued = outcomes.iter().filter(|o| matches!(o, JoinOutcome::Joined { .. })).count();
        (walked, queued)
    }

    fn tick_after(&mut self, ms: u64) -> u64 {
        self.now = self.now + Millis(ms);
        self.room.admit(Mark::NONE, self.now, None).expect("no mark").outcome.called
    }

    fn tick(&mut self) -> u64 {
        self.tick_after(1_000)
    }

    fn change(&mut self, change: Change) {
        self.room.change(Mark::NONE, change).expect("no mark");
    }

    fn set(&mut self, settings: Settings) {
        self.change(Change::Settings(Box::new(settings)));
    }

    fn why(&self) -> Option<Busy> {
        self.room.ledger().queueing().map(|queueing| queueing.why)
    }
}

fn auto() -> Settings {
    let auto = AutoQueue {
        at_live: Some(10),
        at_arrivals_per_s: Some(6),
        quiet_for: Millis::from_secs(5),
    };
    Settings {
        mode: Mode::Auto,
        auto,
        capacity: 12,
        rate_milli: 20_000,
        burst: 20,
        ..Settings::default()
    }
}

#[test]
fn newcomers_walk_in_while_it_is_quiet() {
    let mut play = Play::new(auto());
    for _ in 0..3 {
        assert_eq!(play.come(2), (2, 0));
        assert_eq!(play.tick(), 0);
        assert_eq!(play.why(), None);
    }
    let ledger = play.room.ledger();
    assert_eq!((ledger.passes().live(), ledger.waiting()), (6, 0));
    assert_eq!(ledger.totals().admitted, 6);
}

/// Many at once: as many as a second may bring walk in, the others are in line at once, in order of coming.
#[test]
fn a_burst_queues_at_once_and_the_room_says_so_with_the_next_tick() {
    let mut play = Play::new(auto());
    assert_eq!(play.come(9), (6, 3));
    assert_eq!(play.come(1), (0, 1), "nobody overtakes who waits");
    assert_eq!(play.tick(), 4, "within the capacity");
    assert_eq!(play.why(), Some(Busy::Live), "ten are inside");
    assert_eq!(play.come(1), (0, 1));
}

#[test]
fn each_reason_begins_to_queue() {
    let mut play = Play::new(auto());
    for _ in 0..5 {
        play.come(2);
        play.tick();
    }
    assert_eq!(play.why(), Some(Busy::Live));
    assert_eq!(play.come(1), (0, 1));

    let mut play = Play::new(Settings { capacity: 1_000, ..auto() });
    play.come(3);
    play.tick_after(500);
    assert_eq!(play.why(), None, "three in half a second are not yet six in one");
    play.come(3);
    play.tick_after(400);
    assert_eq!(play.why(), Some(Busy::Arrivals));

    let rate = Settings { rate_milli: 1_000, burst: 1, ..auto() };
    let mut play = Play::new(rate);
    assert_eq!(play.come(4), (1, 3), "no more than the bucket holds");
    play.tick();
    assert_eq!(play.why(), Some(Busy::Line));
}

#[test]
fn it_stops_once_it_was_quiet_for_long_enough() {
    let mut play = Play::new(auto());
    play.come(6);
    play.tick();
    assert_eq!(play.why(), Some(Busy::Arrivals));
    for second in 1..5 {
        play.tick();
        assert_eq!(play.why(), Some(Busy::Arrivals), "{second} s of quiet");
    }
    assert_eq!(play.come(1), (0, 1), "who comes meanwhile waits for the tick");
    assert_eq!(play.tick(), 1);
    assert_eq!(play.why(), None);
    assert_eq!(play.come(1), (1, 0));
}

/// Walk-ins are admissions: they empty the bucket, and ticks have the rest of it.
#[test]
fn walk_ins_are_of_the_bucket() {
    let auto = AutoQueue { at_live: None, at_arrivals_per_s: Some(100), ..AutoQueue::default() };
    let mut play =
        Play::new(Settings { capacity: 100, rate_milli: 2_000, burst: 5, auto, ..self::auto() });
    assert_eq!(play.come(8), (5, 3));
    assert_eq!(play.room.dump().bucket, 0);
    assert_eq!(play.tick(), 2, "the rate of a second");
}

#[test]
fn nobody_walks_past_a_closed_door() {
    let closed = Change::Close(ClosedNext::default());
    for (name, change) in [
        ("paused", Change::Pause),
        ("closed", closed),
        ("sold out", Change::SoldOut(true)),
        ("nothing left", Change::AdmitTotal(Some(0))),
    ] {
        let mut play = Play::new(auto());
        play.change(change);
        assert_eq!(play.come(1).0, 0, "{name}");
    }
    for (name, settings) in [
        ("on", Settings { mode: Mode::On, ..auto() }),
        ("shadow", Settings { mode: Mode::Shadow, ..auto() }),
        ("no rate", Settings { rate_milli: 0, ..auto() }),
        ("by hand", Settings { pacer: PacerKind::Manual, ..auto() }),
        ("no capacity", Settings { capacity: 0, ..auto() }),
        ("not open", Settings { opens_at: Some(START + Millis(1)), ..auto() }),
    ] {
        assert_eq!(Play::new(settings).come(1).0, 0, "{name}");
    }
}

/// Who was passed over and comes back is first in turn, before any newcomer.
#[test]
fn who_returned_is_not_overtaken() {
    let mut play = Play::new(Settings { mode: Mode::On, capacity: 100, ..auto() });
    play.come(1);
    // Not heard from for two windows, then called.
    play.change(Change::Pause);
    for _ in 0..46 {
        play.tick_after(4_000);
    }
    play.change(Change::Resume);
    play.come(1);
    play.tick();
    let incarnation = play.room.mark().incarnation;
    let standing = play.room.ledger().standing(incarnation, 1);
    assert_eq!(standing, Standing::Absent { returned: false });
    play.set(Settings { capacity: 100, ..auto() });
    assert_eq!(play.come(1), (1, 0), "who is away holds nobody up");
    let bits = crate::SeenBits::pack(&[1].iter().collect());
    play.room.seen(Mark::NONE, &bits[0]).expect("no mark");
    assert_eq!(play.come(1), (0, 1));
    assert_eq!(play.tick(), 2);
}

#[test]
fn an_empty_room_does_not_queue() {
    let mut play = Play::new(auto());
    play.come(6);
    play.tick();
    assert!(play.why().is_some());
    let people = subjects(1..=6);
    play.room.leave(Mark::NONE, &people).expect("no mark");
    assert_eq!(play.why(), None);
    play.tick();
    assert_eq!(play.room.ledger().flow().auto.queueing, None, "nor is it what comes next");
    assert_eq!(play.come(1), (1, 0));
    assert_eq!(play.come(1), (1, 0));
}

#[test]
fn off_keeps_places_and_calls_nobody() {
    let on = Settings { mode: Mode::On, capacity: 100, ..auto() };
    let mut play = Play::new(on.clone());
    play.come(3);
    play.set(Settings { mode: Mode::Off, ..on.clone() });
    let outcome = play.room.join(Mark::NONE, &[key(1), key(99)]).expect("no mark").outcome;
    assert_eq!(outcome, [JoinOutcome::Waiting { seq: 1 }, JoinOutcome::Off]);
    assert_eq!((play.tick(), play.room.ledger().waiting()), (0, 3));
    assert_eq!(play.room.ledger().phase(), Phase::Off);
    play.set(on);
    assert_eq!(play.tick(), 3);
}

#[test]
fn what_a_room_was_busy_with_before_it_was_auto_does_not_count() {
    let mut play = Play::new(Settings { mode: Mode::On, capacity: 1_000, ..auto() });
    play.come(200);
    for _ in 0..12 {
        play.tick();
    }
    let auto = AutoQueue { at_live: Some(900), ..auto().auto };
    play.set(Settings { capacity: 1_000, auto, ..self::auto() });
    assert_eq!(play.come(1), (1, 0));
    play.tick();
    assert_eq!(play.why(), None);
    play.set(Settings { mode: Mode::On, capacity: 1_000, ..self::auto() });
    assert_eq!(play.room.ledger().flow().auto, Auto::default());
}

/// 5,000 people within a second at a quiet room: never more inside than its capacity, and it queues at once.
#[test]
fn a_burst_of_5000_never_exceeds_the_capacity() {
    let auto = AutoQueue::default();
    let settings = Settings { capacity: 100, rate_milli: 50_000, burst: 50, auto, ..self::auto() };
    let mut play = Play::new(settings);
    let mut walked = 0;
    for _ in 0..50 {
        walked += play.come(100).0;
        play.tick_after(20);
        assert!(play.room.ledger().passes().live() <= 100);
    }
    assert!(walked <= 50, "{walked} walked in before it queued");
    assert!(play.why().is_some());
    for _ in 0..60 {
        play.tick();
        assert!(play.room.ledger().passes().live() <= 100);
    }
    assert_eq!(play.room.ledger().waiting(), 4_900);
}

/// One pacer's whole life: it finds the highest rate that the site takes, and keeps near it.
#[test]
fn the_signal_pacer_finds_what_the_site_takes() {
    let pacer = PacerKind::Signal(Signal { ceiling: 500, ..Signal::default() });
    let settings = Settings { pacer, capacity: 1_000_000, burst: 500, ..Settings::default() };
    let mut play = Play::new(settings);
    play.come(1);
    let (mut rates, takes) = (Vec::new(), 120);
    for _ in 0..180 {
        let rate = play.room.ledger().rate_milli() / 1_000;
        let load = if rate > takes { Load::Overloaded } else { Load::Ok };
        play.room.signal(Mark::NONE, SITE, load, Millis(3_000)).expect("no mark");
        play.tick();
        rates.push(rate);
    }
    let settled = &rates[60..];
    assert!(settled.iter().all(|rate| (takes / 2..=takes + 10).contains(rate)), "{rates:?}");
    let mean = settled.iter().sum::<u64>() / settled.len() as u64;
    assert!(mean > takes * 3 / 5, "a mean of {mean}: {rates:?}");
}

/// A subject is whoever it is: two batches are as good as one.
#[test]
fn a_repeated_join_finds_the_pass_that_walking_in_gave() {
    let mut play = Play::new(auto());
    let twice: [SubjectKey; 2] = [key(1), key(1)];
    let outcome = play.room.join(Mark::NONE, &twice).expect("no mark").outcome;
    assert!(
        matches!(outcome[..], [JoinOutcome::Allowed(a), JoinOutcome::Admitted(b)] if a == b),
        "{outcome:?}"
    );
    let again = play.room.join(Mark::NONE, &[key(1)]).expect("no mark").outcome;
    assert!(matches!(again[..], [JoinOutcome::Admitted(_)]));
    assert_eq!(play.room.ledger().passes().live(), 1);
}
