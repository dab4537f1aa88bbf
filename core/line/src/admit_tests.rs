//! Table tests of the tick.

use jari_units::{Mark, Millis, PassId, Timestamp};

use super::*;
use crate::join::tests::{key, room_with, subjects};
use crate::{Change, ClosedNext, PacerKind, SeenBits, Settings, Standing};

const START: Timestamp = Timestamp(1_000_000);

struct Play {
    room: Room,
    now: Timestamp,
}

impl Play {
    fn new(settings: Settings) -> Self {
        Play { room: room_with(settings), now: START }
    }

    fn join(&mut self, count: u64) {
        self.room.join(Mark::NONE, &subjects(1..=count)).expect("no mark");
    }

    fn tick_after(&mut self, span: Millis) -> AdmitOutcome {
        self.now = self.now + span;
        self.room.admit(Mark::NONE, self.now, None).expect("no mark").outcome
    }

    fn tick(&mut self) -> AdmitOutcome {
        self.tick_after(Millis(1_000))
    }

    /// Ticks for `span` while the places in `seen` keep polling.
    fn live_on(&mut self, span: Millis, seen: &[u64]) {
        let bits = SeenBits::pack(&seen.iter().collect());
        for _ in 0..span.0 / 1_000 {
            for bits in &bits {
                self.room.seen(Mark::NONE, bits).expect("no mark");
            }
            self.tick();
        }
    }

    fn standing(&self, seq: u64) -> Standing {
        self.room.ledger().standing(self.room.mark().incarnation, seq)
    }

    fn pass(&self, seq: u64) -> PassId {
        self.room.ledger().grant_of(seq).expect("a live pass").id
    }

    fn change(&mut self, change: Change) {
        self.room.change(Mark::NONE, change).expect("no mark");
    }
}

fn settings() -> Settings {
    Settings { capacity: 10, rate_milli: 2_000, burst: 2, ..Settings::default() }
}

/// Q4: the bucket bounds the rate, whatever the rhythm of the ticks.
#[test]
fn admissions_keep_to_rate_times_line_time_plus_burst() {
    let mut play = Play::new(settings());
    play.join(100);
    let called: Vec<u64> = [1_000, 0, 500, 500, 250, 3_000]
        .into_iter()
        .map(|span| play.tick_after(Millis(span)).called)
        .collect();
    assert_eq!(called, [2, 0, 1, 1, 0, 2], "2/s, at most 2 saved up");
}

/// Q4: live passes never exceed capacity, and a freed slot is used at the next tick.
#[test]
fn admissions_keep_to_capacity() {
    let mut play =
        Play::new(Settings { capacity: 3, rate_milli: 100_000, burst: 100, ..settings() });
    play.join(10);
    assert_eq!(play.tick().called, 3);
    assert_eq!(play.tick().called, 0);
    let pass = play.pass(2);
    play.room.end_pass(Mark::NONE, &[pass]).expect("no mark");
    assert_eq!(play.tick().called, 1);
    assert!(matches!(play.standing(4), Standing::Admitted(_)));
}

/// An operator's brake: a rate of nothing lets nobody in, not even what the bucket has saved up.
#[test]
fn a_rate_of_nothing_admits_nobody() {
    let mut play = Play::new(Settings { rate_milli: 0, burst: 100, ..settings() });
    play.join(5);
    assert_eq!([play.tick().called, play.tick().called], [0, 0]);
    play.change(Change::Settings(Box::new(settings())));
    assert_eq!(play.tick().called, 2, "and the saved up burst is cut to the new one");
}

#[test]
fn per_tick_and_the_quota_bound_a_tick() {
    let wide = Settings { capacity: 100, rate_milli: 100_000, burst: 100, ..settings() };
    let mut play = Play::new(Settings { per_tick: 4, admit_total: Some(6), ..wide });
    play.join(10);
    let called: Vec<u64> = (0..3).map(|_| play.tick().called).collect();
    assert_eq!(called, [4, 2, 0]);
    assert_eq!(play.room.ledger().phase(), Phase::SoldOut);
}

#[test]
fn where_the_tenant_admits_by_hand_the_tick_admits_nobody() {
    let mut play = Play::new(Settings { pacer: PacerKind::Manual, ..settings() });
    play.join(5);
    assert_eq!(play.tick().called, 0, "though the bucket was full from the start");
}

#[test]
fn nobody_is_admitted_unless_the_room_is_open() {
    let changes: [(Change, Change); 3] = [
        (Change::Pause, Change::Resume),
        (Change::Close(ClosedNext::default()), Change::Open),
        (Change::SoldOut(true), Change::SoldOut(false)),
    ];
    for (stop, go) in changes {
        let mut play = Play::new(settings());
        play.join(1);
        play.change(stop.clone());
        assert_eq!(play.tick().called, 0, "{stop:?}");
        play.change(go);
        assert_eq!(play.tick().called, 1, "after {stop:?}");
    }
    let opens_at = Some(START + Millis(2_000));
    let early = Settings { opens_at, joins_from: Some(START), ..settings() };
    let mut play = Play::new(early);
    play.join(1);
    assert_eq!([play.tick().called, play.tick().called], [0, 1]);
}

/// Silence caused by us is not absence: after an outage of 15 minutes all clocks of silence stand still.
#[test]
fn a_late_tick_starts_a_lull_and_punishes_nobody() {
    let mut play = Play::new(Settings { capacity: 1_000, rate_milli: 0, ..settings() });
    play.join(1_000);
    let first = Settings { capacity: 1_000, rate_milli: 2_000, burst: 2, ..settings() };
    play.tick();
    play.change(Change::Settings(Box::new(first)));
    let before = *play.room.ledger().clocks();
    let outcome = play.tick_after(Millis::from_mins(15));
    assert!(outcome.lull_began);
    let after = *play.room.ledger().clocks();
    assert_eq!((after.line_ms, after.silence_ms), (before.line_ms, before.silence_ms));
    for _ in 0..90 {
        play.tick();
    }
    assert_eq!(play.room.ledger().absent(), 0, "nobody became absent because of the outage");
    let lull_over = play.room.ledger().clocks().silence_ms;
    assert!(lull_over <= before.silence_ms + Millis(1_000), "silence stood still in the lull");
    assert!(
        play.room.ledger().clocks().line_ms > before.line_ms + Millis(80_000),
        "the line moved"
    );
}

#[test]
fn time_while_nobody_was_here_is_nobodys_silence() {
    let mut play = Play::new(settings());
    play.tick();
    play.now = play.now + Millis::from_mins(60);
    play.join(1);
    let outcome = play.tick();
    assert_eq!((outcome.called, outcome.lull_began), (1, false));
    assert!(
        matches!(play.standing(1), Standing::Admitted(grant) if grant.remaining > Millis(110_000))
    );
}

/// A place is present for one to two windows after it was last heard from.
#[test]
fn the_unseen_become_absent_and_return_to_the_front() {
    let mut play = Play::new(Settings { capacity: 1, rate_milli: 100_000, ..settings() });
    play.join(4);
    play.tick();
    let inside = play.pass(1);
    play.room.claim(Mark::NONE, &[inside]).expect("no mark");
    // Place 1 is inside; 3 and 4 keep polling, 2 falls silent.
    play.live_on(Millis::from_secs(181), &[3, 4]);
    play.room.end_pass(Mark::NONE, &[inside]).expect("no mark");
    play.tick();
    assert!(matches!(play.standing(3), Standing::Admitted(_)), "2 was passed over");
    assert_eq!(play.standing(2), Standing::Absent { returned: false });
    play.live_on(Millis(1_000), &[2, 4]);
    assert_eq!(play.standing(2), Standing::Absent { returned: true });
    let pass = play.pass(3);
    play.room.end_pass(Mark::NONE, &[pass]).expect("no mark");
    play.tick();
    assert!(matches!(play.standing(2), Standing::Admitted(_)), "before 4");
    assert_eq!(play.standing(4), Standing::InLine { position: 1 });
    let totals = play.room.ledger().totals();
    assert_eq!(
        (totals.absent, totals.returned),
        (1, 1),
        "away at their turn, and called after all"
    );
}

/// Q6: an unclaimed pass ends; its owner may return once, and only once.
#[test]
fn an_unclaimed_pass_has_one_second_chance() {
    let mut play = Play::new(Settings { capacity: 1, ..settings() });
    play.join(2);
    play.tick();
    let first = play.pass(1);
    play.live_on(Millis::from_secs(120), &[2]);
    assert_eq!(play.standing(1), Standing::Absent { returned: false });
    assert!(matches!(play.standing(2), Standing::Admitted(_)));
    let claimed = play.pass(2);
    play.room.claim(Mark::NONE, &[claimed]).expect("no mark");
    play.room.end_pass(Mark::NONE, &[claimed]).expect("no mark");
    play.live_on(Millis(1_000), &[1]);
    let second = play.pass(1);
    assert_eq!((first.grant, second.grant), (1, 2));
    play.live_on(Millis::from_secs(121), &[]);
    assert_eq!(play.standing(1), Standing::Ended);
    let totals = play.room.ledger().totals();
    assert_eq!((totals.admitted, totals.no_shows), (2, 2), "of one place both passes ran out");
    assert_eq!((totals.absent, totals.returned), (0, 0), "nobody was away at their turn");
}

/// Whoever was passed over returns once, whatever becomes of the pass.
#[test]
fn a_second_chance_is_no_second_return() {
    let mut play = Play::new(Settings { capacity: 1, ..settings() });
    play.join(2);
    play.change(Change::Pause);
    play.live_on(Millis::from_secs(181), &[2]);
    play.change(Change::Resume);
    play.tick();
    let taken = play.pass(2);
    play.room.claim(Mark::NONE, &[taken]).expect("no mark");
    play.room.end_pass(Mark::NONE, &[taken]).expect("no mark");
    // Place 1 returns, lets its pass run out, and is called again.
    play.live_on(Millis::from_secs(1), &[1]);
    let first = play.pass(1);
    play.live_on(Millis::from_secs(121), &[1]);
    let second = play.pass(1);
    assert_eq!((first.grant, second.grant), (1, 2));
    let totals = play.room.ledger().totals();
    assert_eq!((totals.absent, totals.returned, totals.no_shows), (1, 1, 1));
}

#[test]
fn a_claimed_pass_ends_with_its_last_use() {
    let (pass_ttl, claim_window) = (Millis::from_secs(10), Millis::from_secs(5));
    let mut play = Play::new(Settings { pass_ttl, claim_window, ..settings() });
    play.join(1);
    play.tick();
    let pass = play.pass(1);
    play.room.claim(Mark::NONE, &[pass]).expect("no mark");
    play.live_on(Millis::from_secs(9), &[]);
    assert!(matches!(play.standing(1), Standing::Admitted(_)));
    play.live_on(Millis::from_secs(1), &[]);
    assert_eq!(play.standing(1), Standing::Ended, "deadline <= now is expired");
    assert_eq!(play.room.ledger().totals().dwell_ms, 10_000);
}

/// A tick that would find most of the called unseen calls nobody and alarms; the next calls the present.
#[test]
fn mass_absence_calls_nobody_and_alarms_once() {
    let wide = Settings { capacity: 1_000, rate_milli: 1, burst: 200, ..settings() };
    let mut play = Play::new(wide);
    play.join(300);
    play.change(Change::Pause);
    play.live_on(Millis::from_secs(181), &[250, 260, 270]);
    play.change(Change::Resume);
    let alarm = play.tick();
    assert!(alarm.mass_absence && alarm.called == 0, "{alarm:?}");
    assert_eq!(play.room.ledger().absent(), 0);
    let next = play.tick();
    assert_eq!((next.called, next.mass_absence), (3, false));
    assert_eq!(play.room.ledger().serving(), 0, "in the lull nobody is passed");
    // The lull is over after one window, and the guard keeps it from starting again.
    play.live_on(Millis::from_secs(91), &[]);
    assert_eq!(play.room.ledger().totals().mass_absences, 1);
    assert_eq!(play.room.ledger().absent(), 297);
}

#[test]
fn an_absence_ends_with_its_grace_and_not_before() {
    let grace = Millis::from_mins(10);
    let mut play = Play::new(Settings { capacity: 1, absence_grace: grace, ..settings() });
    play.join(3);
    play.change(Change::Pause);
    play.live_on(Millis::from_secs(181), &[3]);
    play.change(Change::Resume);
    play.tick();
    assert!(matches!(play.standing(3), Standing::Admitted(_)));
    let pass = play.pass(3);
    play.room.claim(Mark::NONE, &[pass]).expect("no mark");
    play.live_on(grace - Millis(1_000), &[2]);
    assert_eq!(play.standing(1), Standing::Absent { returned: false });
    assert!(matches!(
        play.standing(2),
        Standing::Absent { returned: true } | Standing::Admitted(_)
    ));
    play.live_on(Millis(2_000), &[2]);
    assert_eq!(play.standing(1), Standing::Ended);
    assert_ne!(play.standing(2), Standing::Ended, "who came back in time is not swept");
}

#[test]
fn a_grouped_room_admits_only_within_a_fresh_grant() {
    let wide =
        Settings { capacity: 100, rate_milli: 100_000, burst: 100, grouped: true, ..settings() };
    let mut play = Play::new(wide);
    play.join(50);
    assert_eq!(play.tick().called, 0, "no grant, nobody");
    let mut with = |grant_no, tokens, live_quota| {
        let grant = GroupGrant { grant_no, tokens, live_quota };
        play.now = play.now + Millis(1_000);
        play.room.admit(Mark::NONE, play.now, Some(grant)).expect("no mark").outcome.called
    };
    assert_eq!(with(1, 5, 100), 5);
    assert_eq!(with(1, 5, 100), 0, "a grant is used once");
    assert_eq!(with(2, 50, 7), 2, "the quota binds live passes");
}

#[test]
fn someone_called_in_a_lull_who_does_not_come_moves_nobody_back() {
    let mut play = Play::new(Settings { capacity: 2, rate_milli: 100_000, burst: 5, ..settings() });
    play.change(Change::Pause);
    play.join(4);
    // 2, 3 and 4 keep polling; 1 is not heard from. An outage starts a lull.
    play.live_on(Millis::from_secs(181), &[2, 3, 4]);
    play.change(Change::Resume);
    play.tick_after(Millis::from_secs(30));
    assert!(matches!(play.standing(3), Standing::Admitted(_)), "called above the frontier");
    assert_eq!(play.room.ledger().serving(), 0);
    assert_eq!(play.standing(4), Standing::InLine { position: 2 });
    let live: Vec<PassId> = vec![play.pass(2)];
    play.room.claim(Mark::NONE, &live).expect("no mark");
    // Pass 3 runs out unclaimed while the room is paused: 4 stays where it was (Q2).
    play.change(Change::Pause);
    play.live_on(Millis::from_secs(230), &[1, 4]);
    assert_eq!(play.standing(3), Standing::Absent { returned: false });
    assert_eq!(play.standing(4), Standing::InLine { position: 2 });
    let twice = play.room.join(Mark::NONE, &[key(3)]).expect("no mark").outcome.remove(0);
    assert_eq!(twice, crate::JoinOutcome::Absent { seq: 3 });
}
