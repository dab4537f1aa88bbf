//! What a loss of the store may cost, over random lives, losses, replicas and receipts, on the pure core.
//!
//! No acknowledged place is lost that a replica or a fresh receipt knows of; what ended stays ended; no number has two
//! people; the order and both caps hold; and it makes no difference who tells first, or how often.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jari_conformance::history::{self, Known, START, Step, by_name, people};
use jari_line::{
    AdmitNow, Dump, JoinOutcome, Loss, Past, Receipt, RecoverOutcome, RestoreOutcome, Room,
    RoomEvent, SeqSet, Settings, Standing, StoreClock, Telling, Ticket,
};
use jari_units::{Mark, Millis, Seq, SubjectKey, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

const STEPS: usize = 160;
const CASES: u32 = 500;
/// Replicas that may be left.
const REPLICAS: usize = 3;

type Checked = Result<(), TestCaseError>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(TestCaseError::fail(format!($($message)+)));
        }
    };
}

/// What is lost, and who is left to tell. Picks are resolved against the history.
#[derive(Clone, Debug)]
struct Disaster {
    /// The store falls back to this moment; `None`: nothing is left of it.
    store: Option<u16>,
    replicas: Vec<u16>,
    /// Who shows a receipt, by person.
    shown: Vec<bool>,
    /// Receipts of earlier moments: (moment, person).
    old: Vec<(u16, u8)>,
    order: u64,
}

fn disaster() -> impl Strategy<Value = Disaster> {
    let replicas = prop::collection::vec(any::<u16>(), 0..=REPLICAS);
    let shown = prop::collection::vec(prop::bool::weighted(0.6), usize::from(history::PEOPLE));
    let old = prop::collection::vec((any::<u16>(), 0..history::PEOPLE), 0..6);
    let store = prop::option::weighted(0.6, any::<u16>());
    (store, replicas, shown, old, any::<u64>()).prop_map(|(store, replicas, shown, old, order)| {
        Disaster { store, replicas, shown, old, order }
    })
}

/// One history, and the room after each of its steps.
struct Past1 {
    moments: Vec<Room>,
    wall: Timestamp,
}

fn live(settings: &Settings, steps: &[Step]) -> Past1 {
    let mut room = Room::create(settings.clone(), START, 0).outcome;
    let (mut clock, mut wall, mut known) = (StoreClock::resume(START), START, Known::default());
    let mut moments = vec![room.clone()];
    for step in steps {
        let mark = room.mark();
        match step {
            Step::Join(who) => _ = room.join(mark, &people(who)),
            Step::JoinCrowd(count) => _ = room.join(mark, &known.crowd(*count)),
            Step::Leave(who) => _ = room.leave(mark, &people(who)),
            Step::Seen(offset, by) => _ = room.seen(mark, &known.seen(*offset, *by)),
            Step::Admit(ms) => {
                wall = wall + Millis(u64::from(*ms));
                _ = room.admit(mark, clock.read(wall), None);
            }
            Step::AdmitCount(count) => {
                _ = room.admit_now(mark, &AdmitNow::Count(u64::from(*count)));
            }
            Step::AdmitSubjects(who) => _ = room.admit_now(mark, &by_name(who)),
            Step::Claim(picks) => _ = room.claim(mark, &known.passes(picks)),
            Step::Touch(picks) => _ = room.touch(mark, &known.passes(picks)),
            Step::Redeem(pick, no, by) => {
                let pass = known.passes(&[*pick])[0];
                let ticket = Ticket { pass, no: u64::from(*no), nonce: [*by; 16] };
                _ = room.redeem(mark, &ticket);
            }
            Step::EndPass(picks) => _ = room.end_pass(mark, &known.passes(picks)),
            Step::Revoke(who) => _ = room.revoke(mark, &people(who)),
            Step::Change(change) => _ = room.change(mark, change.as_ref().clone()),
            Step::Extend(..) | Step::AdmitAfterStepBack(_) | Step::Signal(..) | Step::Restart => {}
        }
        let dump = room.dump();
        known.next_seq = dump.next_seq;
        for (seq, pass) in dump.passes {
            let incarnation = dump.mark.incarnation;
            known.note(jari_units::PassId { incarnation, seq, grant: pass.grant });
        }
        moments.push(room.clone());
    }
    Past1 { moments, wall }
}

impl Past1 {
    fn at(&self, pick: u16) -> usize {
        usize::from(pick) % self.moments.len()
    }

    fn end(&self) -> &Room {
        self.moments.last().expect("it begins with one")
    }
}

/// The receipts that people hold of their places and passes in `room`.
fn receipts(room: &Room) -> Vec<Receipt> {
    let dump = room.dump();
    let passes: BTreeMap<Seq, u8> =
        dump.passes.iter().map(|(seq, pass)| (*seq, pass.grant)).collect();
    let (incarnation, as_of) = (dump.mark.incarnation, dump.clocks.now);
    let receipt = |(subject, seq): (SubjectKey, Seq)| Receipt {
        subject,
        incarnation,
        seq,
        as_of,
        pass: passes.get(&seq).copied(),
    };
    dump.subjects.into_iter().map(receipt).collect()
}

/// One thing told while the room recovers.
#[derive(Clone, Debug)]
enum Word {
    Telling(usize, Box<Telling>),
    Receipt(Receipt),
}

/// A loss and all that is told after it.
struct Recovery {
    room: Room,
    words: Vec<Word>,
    receipts: Vec<Receipt>,
    journal: Vec<Arc<RoomEvent>>,
    wall: Timestamp,
}

fn lose(past: &Past1, disaster: &Disaster) -> Recovery {
    let end = past.end();
    let loss = Loss::Seen(Past { mark: end.mark(), origin: Some(end.ledger().origin()) });
    let settings = end.ledger().settings().clone();
    let wall = past.wall + Millis(1);
    let mut journal = Vec::new();
    let room = match disaster.store {
        Some(pick) => {
            let mut room = past.moments[past.at(pick)].clone();
            let before = room.mark();
            let done = room.recover(&loss, settings, wall);
            if done.outcome == RecoverOutcome::NothingLost {
                assert_eq!(before, end.mark());
                let done = room.recover(&Loss::Declared, Settings::default(), wall);
                journal.extend(done.event);
            }
            journal.extend(done.event);
            room
        }
        None => {
            let done = Room::recover_lost(&loss, settings, wall, 0);
            journal.extend(done.event);
            done.outcome
        }
    };
    let mut words = Vec::new();
    for (node, pick) in disaster.replicas.iter().enumerate() {
        let replica = &past.moments[past.at(*pick)];
        let tellings = replica.ledger().tellings(replica.mark());
        words.extend(tellings.map(|telling| Word::Telling(node, Box::new(telling))));
    }
    let persons: Vec<SubjectKey> = (0..history::PEOPLE)
        .filter(|who| disaster.shown[usize::from(*who)])
        .map(history::person)
        .collect();
    let mut shown: Vec<Receipt> =
        receipts(end).into_iter().filter(|receipt| persons.contains(&receipt.subject)).collect();
    for (pick, who) in &disaster.old {
        let moment = receipts(&past.moments[past.at(*pick)]);
        let theirs = |receipt: &&Receipt| receipt.subject == history::person(*who);
        // A cookie's end has passed by now as often as not; only places are shown late.
        shown.extend(moment.iter().find(theirs).map(|old| Receipt { pass: None, ..*old }));
    }
    words.extend(shown.iter().map(|receipt| Word::Receipt(*receipt)));
    Recovery { room, words, receipts: shown, journal, wall }
}

impl Recovery {
    fn hear(&mut self, word: &Word) -> Checked {
        let event = match word {
            Word::Telling(node, telling) => {
                let done = self.room.restore(self.room.mark(), *node as u64, telling);
                let done = done.expect("own mark");
                ensure!(done.outcome == RestoreOutcome::Merged, "{:?}", done.outcome);
                done.event
            }
            Word::Receipt(receipt) => {
                self.room.reattach(self.room.mark(), &[*receipt]).expect("own mark").event
            }
        };
        self.journal.extend(event);
        Ok(())
    }

    fn tick(&mut self) {
        self.wall = self.wall + Millis(1_000);
        let done = self.room.admit(self.room.mark(), self.wall, None).expect("own mark");
        self.journal.extend(done.event);
    }

    fn finish(&mut self) -> Checked {
        let mut ticks = 0;
        let admitted = self.room.ledger().totals().admitted;
        while self.room.ledger().is_recovering() {
            ensure!(ticks <= 30, "the window does not end");
            self.tick();
            ticks += 1;
        }
        ensure!(self.room.ledger().totals().admitted == admitted, "admitted in the window");
        Ok(())
    }

    fn hear_everyone(&mut self) {
        let bits = jari_line::SeenBits::pack(&self.room.dump().w);
        for bits in bits {
            let done = self.room.seen(self.room.mark(), &bits).expect("own mark");
            self.journal.extend(done.event);
        }
    }
}

/// Everything but how many events it took.
fn same_but_events(dump: Dump) -> Dump {
    Dump { mark: Mark { event_no: 0, ..dump.mark }, ..dump }
}

fn inside(dump: &Dump) -> BTreeSet<Seq> {
    dump.passes.iter().map(|(seq, _)| *seq).collect()
}

fn live_places(dump: &Dump) -> BTreeSet<Seq> {
    dump.w.iter().chain(inside(dump)).collect()
}

/// A cheap shuffle: the order is all that matters.
fn shuffled(words: &[Word], seed: u64) -> Vec<Word> {
    let mix = |n: usize| (n as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    let mut keyed: Vec<_> = words.iter().enumerate().map(|(n, word)| (mix(n), word)).collect();
    // Some are told twice.
    let again: Vec<_> = keyed.iter().filter(|(key, _)| key % 3 == 0).copied().collect();
    keyed.extend(again.into_iter().map(|(key, word)| (key.rotate_left(17), word)));
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, word)| word.clone()).collect()
}

/// Q1, Q3, and that the loss cost no more than it had to.
fn check_places(past: &Past1, disaster: &Disaster, recovery: &Recovery) -> Checked {
    let (truth, after) = (past.end().dump(), recovery.room.dump());
    let alive = live_places(&after);
    let was_alive = live_places(&truth);
    let tellers = disaster.replicas.iter().chain(disaster.store.as_ref());
    let tellers: Vec<&Room> = tellers.map(|pick| &past.moments[past.at(*pick)]).collect();

    let owners: BTreeMap<Seq, SubjectKey> =
        after.subjects.iter().map(|(key, seq)| (*seq, *key)).collect();
    ensure!(owners.len() == after.subjects.len(), "Q3: two people on one number");
    let subjects: BTreeSet<_> = owners.values().collect();
    ensure!(subjects.len() == owners.len(), "Q1: one person on two numbers");
    let owned: BTreeMap<Seq, SubjectKey> = truth.subjects.iter().map(|(k, s)| (*s, *k)).collect();
    for (seq, owner) in &owners {
        let was = owned.get(seq);
        ensure!(was.is_none_or(|was| was == owner), "Q3: {seq} went to somebody else");
    }

    for teller in &tellers {
        let dump = teller.dump();
        let ended = (1..dump.next_seq).filter(|seq| !live_places(&dump).contains(seq));
        for seq in ended {
            ensure!(!alive.contains(&seq), "{seq} had ended, as a teller knew, and lives again");
        }
    }

    let told_at = tellers.iter().map(|room| room.ledger().clocks().now).max();
    let shown_at = recovery.receipts.iter().filter(|receipt| receipt.pass.is_none());
    let newest = shown_at.map(|receipt| receipt.as_of).chain(told_at).max();
    let fresh_for = Millis(2 * after.settings.presence_window.0);
    let word_is_fresh = told_at.map(|at| at + fresh_for) >= newest;
    let shows = |seq: Seq, receipt: &Receipt| {
        let fresh = receipt.pass.is_some() || Some(receipt.as_of + fresh_for) >= newest;
        receipt.seq == seq && fresh
    };
    let shown = |seq| recovery.receipts.iter().any(|receipt| shows(seq, receipt));
    let told = |room: &Room, seq| live_places(&room.dump()).contains(&seq);
    let newest_teller = tellers.iter().max_by_key(|room| room.mark().event_no);
    for seq in was_alive {
        let told = word_is_fresh && newest_teller.is_some_and(|room| told(room, seq));
        let lost = (shown(seq) || told) && !alive.contains(&seq);
        ensure!(!lost, "place {seq} was lost: shown {}, told {told}", shown(seq));
    }
    for seq in alive {
        let told = word_is_fresh && tellers.iter().any(|room| told(room, seq));
        ensure!(shown(seq) || told, "nobody fresh vouches for {seq}");
    }
    ensure!(after.next_seq >= truth.next_seq, "numbers could be given again");
    Ok(())
}

/// Q2, Q4, Q8 in the time after: caps, order and positions, while latecomers show their receipts and newcomers join.
fn check_time_after(recovery: &mut Recovery, late: &[Receipt]) -> Checked {
    let first_new = recovery.room.mark().next_seq;
    let mut positions: BTreeMap<Seq, u64> = BTreeMap::new();
    let (mut bucket_from, mut line_calls) = (recovery.room.dump(), 0);
    let mut last_called = 0;
    for round in 0..40u8 {
        recovery.hear_everyone();
        let newcomer = [history::person(history::PEOPLE + round)];
        let joined = recovery.room.join(recovery.room.mark(), &newcomer).expect("own mark");
        if let [JoinOutcome::Joined { seq }] = joined.outcome[..] {
            ensure!(seq >= first_new, "Q3: {seq} is a number of the lost history");
        }
        recovery.journal.extend(joined.event);
        if let Some(receipt) = late.get(usize::from(round)) {
            recovery.hear(&Word::Receipt(*receipt))?;
        }
        let before = recovery.room.dump();
        recovery.tick();
        let after = recovery.room.dump();
        let called: SeqSet = after
            .passes
            .iter()
            .map(|(seq, _)| *seq)
            .filter(|seq| before.w.contains(*seq))
            .collect();
        ensure!(
            called.is_empty() || after.passes.len() as u64 <= after.settings.capacity,
            "Q4: over capacity"
        );
        line_calls += called.len();
        let first_calls =
            called.iter().filter(|seq| *seq > before.serving && !before.once.contains(*seq));
        for seq in first_calls {
            ensure!(seq > last_called, "Q8: {seq} after {last_called}");
            last_called = seq;
        }
        let standing = |seq| recovery.room.ledger().standing(after.mark.incarnation, seq);
        for seq in after.w.iter() {
            if let Standing::InLine { position } = standing(seq) {
                let last = positions.insert(seq, position);
                ensure!(
                    last.is_none_or(|last| position <= last),
                    "Q2: {seq} from {last:?} to {position}"
                );
            }
        }
        if after.settings != bucket_from.settings {
            (bucket_from, line_calls) = (after, 0);
        }
    }
    let settings = &bucket_from.settings;
    let rate = match settings.pacer {
        jari_line::PacerKind::Fixed => settings.rate_milli,
        jari_line::PacerKind::Aimd(aimd) => aimd.ceiling * 1_000,
        jari_line::PacerKind::Manual => 0,
        jari_line::PacerKind::Signal(signal) => signal.ceiling * 1_000,
    };
    let allowed = bucket_from.bucket + rate * 41_000;
    ensure!(line_calls * 1_000_000 <= allowed, "Q4: {line_calls} called, {allowed} allowed");
    Ok(())
}

/// A5: the room that fell back, and then the events: the same state again.
fn check_replay(past: &Past1, disaster: &Disaster, recovery: &Recovery) -> Checked {
    let mut events = recovery.journal.iter();
    let mut again = match disaster.store {
        Some(pick) => past.moments[past.at(pick)].clone(),
        None => Room::from_created(events.next().expect("a beginning")).expect("from nothing"),
    };
    for event in events {
        again.apply(event).map_err(|gap| TestCaseError::fail(gap.to_string()))?;
    }
    ensure!(again.dump() == recovery.room.dump(), "A5: replay differs");
    Ok(())
}

fn check(settings: &Settings, steps: &[Step], disaster: &Disaster) -> Result<u64, TestCaseError> {
    let past = live(settings, steps);
    let mut recovery = lose(&past, disaster);
    for word in recovery.words.clone() {
        recovery.hear(&word)?;
    }
    ensure!(
        recovery.room.dump().totals.admitted <= past.end().dump().totals.admitted,
        "admitted in the window"
    );
    recovery.finish()?;

    let mut other = lose(&past, disaster);
    for word in shuffled(&other.words, disaster.order) {
        other.hear(&word)?;
    }
    other.finish()?;
    let (one, two) = (same_but_events(recovery.room.dump()), same_but_events(other.room.dump()));
    ensure!(one == two, "told in another order:\n {one:?}\n {two:?}");

    check_places(&past, disaster, &recovery)?;
    let alive = live_places(&recovery.room.dump()).len() as u64;
    let late = receipts(past.end());
    check_time_after(&mut recovery, &late)?;
    check_replay(&past, disaster, &recovery)?;
    Ok(alive)
}

#[test]
fn a_loss_costs_nobody_a_place_that_anybody_knows_of() {
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is its one input")]
    let seed = std::env::var("JARI_SEED").ok();
    let mut runner = history::runner("core/line recoveries", CASES, seed);
    let kept = std::cell::Cell::new(0);
    let lives = (history::history(STEPS), disaster());
    let outcome = runner.run(&lives, |((settings, steps), disaster)| {
        kept.set(kept.get() + check(&settings, &steps, &disaster)?);
        Ok(())
    });
    println!("{} places kept", kept.get());
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(kept.get() > 1_000, "the recoveries bring places back");
}
