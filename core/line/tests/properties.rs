//! Q1 to Q6 and both caps over long random histories with a moving clock, on the pure core.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jari_conformance::history::{self, Known, START, Step, by_name, people};
use jari_line::{
    AdmitNow, AdmitNowOutcome, Dump, Event, JoinOutcome, PassOutcome, RedeemOutcome, Replica, Room,
    RoomEvent, Settings, Standing, StoreClock, Ticket, WalkedIn,
};
use jari_units::{Millis, PassId, Seq, SubjectKey, Timestamp, limits};
use proptest::test_runner::TestCaseError;

const STEPS: usize = 500;
const CASES: u32 = 400;

/// One history being lived, with everything that was ever seen of it.
struct Life {
    room: Room,
    /// Fed only by events.
    replica: Replica,
    /// Rebuilt only from events (A5).
    journal: Vec<Arc<RoomEvent>>,
    clock: StoreClock,
    wall: Timestamp,
    known: Known,
    granted: BTreeSet<PassId>,
    gone: BTreeSet<PassId>,
    /// Which call each one-time token landed by.
    landed: BTreeMap<(PassId, u8), u8>,
    given: BTreeSet<Seq>,
    /// Places that were ever absent with their first pass still to come, and those of them that got it.
    passed_over: BTreeSet<Seq>,
    returned: u64,
    first_passes: u64,
    positions: HashMap<Seq, u64>,
    /// Millionths of admissions that rate x line time + burst allow, and that ticks used.
    allowed: u64,
    used: u64,
    initial_burst: u64,
    walked: u64,
}

type Checked = Result<(), TestCaseError>;

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(TestCaseError::fail(format!($($message)+)));
        }
    };
}

impl Life {
    fn new(settings: Settings) -> Life {
        let burst = settings.burst;
        let created = Room::create(settings, START, 0);
        Life {
            replica: Replica::new(created.outcome.read()),
            room: created.outcome,
            journal: vec![created.event.expect("creation is an event")],
            clock: StoreClock::resume(START),
            wall: START,
            known: Known::default(),
            granted: BTreeSet::new(),
            gone: BTreeSet::new(),
            landed: BTreeMap::new(),
            given: BTreeSet::new(),
            passed_over: BTreeSet::new(),
            returned: 0,
            first_passes: 0,
            positions: HashMap::new(),
            allowed: burst * 1_000_000,
            used: 0,
            initial_burst: burst,
            walked: 0,
        }
    }

    fn play(&mut self, step: &Step) -> Checked {
        let before = self.room.dump();
        let mark = self.room.mark();
        let event = match step {
            Step::Join(who) => {
                let done = self.room.join(mark, &people(who)).expect("own mark");
                self.note_joins(&done.outcome)?;
                done.event
            }
            Step::JoinCrowd(count) => {
                let crowd = self.known.crowd(*count);
                let done = self.room.join(mark, &crowd).expect("own mark");
                self.note_joins(&done.outcome)?;
                done.event
            }
            Step::Leave(who) => self.room.leave(mark, &people(who)).expect("own mark").event,
            Step::Seen(offset, by) => {
                self.room.seen(mark, &self.known.seen(*offset, *by)).expect("own mark").event
            }
            Step::Admit(ms) => {
                self.wall = self.wall + Millis(u64::from(*ms));
                self.tick(&before)?
            }
            Step::AdmitAfterStepBack(ms) => {
                self.wall = Timestamp(self.wall.0 - u64::from(*ms));
                let event = self.tick(&before)?;
                ensure!(self.room.dump().clocks.now >= before.clocks.now, "time ran backwards");
                event
            }
            Step::AdmitCount(count) => self.admit_count(u64::from(*count), &before)?,
            Step::AdmitSubjects(who) => {
                self.room.admit_now(mark, &by_name(who)).expect("own mark").event
            }
            Step::Claim(picks) => {
                let passes = self.known.passes(picks);
                let done = self.room.claim(mark, &passes).expect("own mark");
                self.check_uses(&before, &passes, &done.outcome)?;
                done.event
            }
            Step::Touch(picks) => {
                let passes = self.known.passes(picks);
                let done = self.room.touch(mark, &passes).expect("own mark");
                self.check_uses(&before, &passes, &done.outcome)?;
                done.event
            }
            Step::Extend(pick, ms) => {
                let pass = self.known.passes(&[*pick])[0];
                let span = Millis(u64::from(*ms));
                self.room.extend_for_payment(mark, pass, span).expect("own mark").event
            }
            Step::Redeem(pick, no, by) => self.redeem(*pick, *no, *by)?,
            Step::EndPass(picks) => {
                self.room.end_pass(mark, &self.known.passes(picks)).expect("own mark").event
            }
            Step::Revoke(who) => self.room.revoke(mark, &people(who)).expect("own mark").event,
            Step::Change(change) => {
                self.room.change(mark, change.as_ref().clone()).expect("own mark").event
            }
            Step::Signal(source, load, ms) => {
                let span = Millis(u64::from(*ms));
                self.room.signal(mark, u64::from(*source), *load, span).expect("own mark").event
            }
            Step::Restart => None,
        };
        if let Some(event) = event {
            self.note(event, &before)?;
        }
        self.check(&before)
    }

    fn note(&mut self, event: Arc<RoomEvent>, before: &Dump) -> Checked {
        if let Event::WalkedIn(walked_in) = &event.event {
            self.check_walk_in(walked_in, before)?;
        }
        self.replica.apply(&event).map_err(|gap| TestCaseError::fail(gap.to_string()))?;
        self.journal.push(event);
        Ok(())
    }

    /// Q5: a one-time token lands by one call only, whatever else is shown.
    fn redeem(
        &mut self,
        pick: u8,
        no: u8,
        by: u8,
    ) -> Result<Option<Arc<RoomEvent>>, TestCaseError> {
        let pass = self.known.passes(&[pick])[0];
        let ticket = Ticket { pass, no: u64::from(no), nonce: [by; 16] };
        let done = self.room.redeem(self.room.mark(), &ticket).expect("own mark");
        if matches!(done.outcome, RedeemOutcome::Redeemed(_)) {
            let first = *self.landed.entry((pass, no)).or_insert(by);
            ensure!(first == by, "Q5: token {no} of {pass:?} landed by {first} and {by}");
        }
        Ok(done.event)
    }

    /// Q3: numbers are given once and rise.
    fn note_joins(&mut self, outcomes: &[JoinOutcome]) -> Checked {
        for outcome in outcomes {
            if let JoinOutcome::Joined { seq } = outcome {
                ensure!(self.given.last().is_none_or(|last| last < seq), "Q3: {seq} not above all");
                self.given.insert(*seq);
            }
        }
        Ok(())
    }

    /// Q4: walking in keeps to rate and capacity as a tick does. Q8: and overtakes nobody who waits.
    fn check_walk_in(&mut self, event: &WalkedIn, before: &Dump) -> Checked {
        self.walked += event.walked;
        self.used += event.walked * 1_000_000;
        ensure!(self.used <= self.allowed, "Q4: {} used of {} allowed", self.used, self.allowed);
        let live = before.passes.len() as u64;
        ensure!(live + event.walked <= before.settings.capacity, "Q4: walked in over the capacity");
        let present = before.cur.union(&before.prev).intersection(&before.w);
        ensure!(present.is_empty(), "Q8: {present:?} wait, present, while others walk in");
        Ok(())
    }

    /// Q4: a tick keeps to rate x line time + burst and to capacity, and calls in order.
    fn tick(&mut self, before: &Dump) -> Result<Option<Arc<RoomEvent>>, TestCaseError> {
        let now = self.clock.read(self.wall);
        let done = self.room.admit(self.room.mark(), now, None).expect("own mark");
        let after = self.room.dump();
        let line = after.clocks.line_ms - before.clocks.line_ms;
        self.allowed += after.pacer.rate_milli * line.0;
        self.used += done.outcome.called * 1_000_000;
        ensure!(self.used <= self.allowed, "Q4: {} used of {} allowed", self.used, self.allowed);
        ensure!(
            done.outcome.called == 0 || after.passes.len() as u64 <= after.settings.capacity,
            "Q4: {} live over a capacity of {}",
            after.passes.len(),
            after.settings.capacity
        );
        ensure!(done.outcome.called <= after.settings.per_tick, "more than per_tick");
        self.check_leases(&after)?;
        if let Some(tick) = done.event.as_ref().and_then(|event| event.event.tick())
            && let Some(calls) = &tick.calls
        {
            check_order(&after, &calls.seqs, before.serving)?;
        }
        Ok(done.event)
    }

    /// Q6: no pass outlives its deadline, but for those beyond one tick's bound.
    fn check_leases(&self, after: &Dump) -> Checked {
        let overdue = after
            .passes
            .iter()
            .filter(|(_, pass)| pass.deadline <= after.clocks.silence_ms)
            .count();
        ensure!(overdue == 0 || after.passes.len() > limits::EXPIRE_MAX, "Q6: {overdue} overdue");
        Ok(())
    }

    fn admit_count(
        &mut self,
        count: u64,
        before: &Dump,
    ) -> Result<Option<Arc<RoomEvent>>, TestCaseError> {
        let done =
            self.room.admit_now(self.room.mark(), &AdmitNow::Count(count)).expect("own mark");
        let after = self.room.dump();
        if let AdmitNowOutcome::Called(called) = done.outcome {
            ensure!(called <= count, "called {called} of {count}");
            ensure!(
                called == 0 || after.passes.len() as u64 <= after.settings.capacity,
                "Q4: admitting by count exceeded capacity"
            );
        }
        ensure!(after.bucket == before.bucket, "admitting by count is beside the bucket");
        Ok(done.event)
    }

    /// Q5: exactly the live passes answer to a use.
    fn check_uses(&self, before: &Dump, ids: &[PassId], outcomes: &[PassOutcome]) -> Checked {
        let live: BTreeMap<Seq, u8> =
            before.passes.iter().map(|(seq, pass)| (*seq, pass.grant)).collect();
        for (id, outcome) in ids.iter().zip(outcomes) {
            let exact =
                id.incarnation == before.mark.incarnation && live.get(&id.seq) == Some(&id.grant);
            let told = matches!(outcome, PassOutcome::Live(_));
            ensure!(exact == told, "Q5: {id:?} answered {outcome:?}");
        }
        Ok(())
    }

    fn check(&mut self, before: &Dump) -> Checked {
        let after = self.room.dump();
        self.known.next_seq = after.next_seq;
        ensure!(after.serving >= before.serving, "the frontier moved back");
        ensure!(after.next_seq >= before.next_seq, "numbers moved back");
        ensure!(after.bucket <= self.bucket_bound(&after), "the bucket overflowed");
        self.check_places(&after)?;
        self.check_passes(&after)?;
        self.check_totals(&after)?;
        self.check_positions(&after)?;
        ensure!(self.replica.ledger() == self.room.ledger(), "A5: the replica differs");
        Ok(())
    }

    fn bucket_bound(&self, after: &Dump) -> u64 {
        after.settings.burst.max(self.initial_burst) * 1_000_000
    }

    /// Q1: one live place a subject, and every live place has its subject.
    fn check_places(&self, after: &Dump) -> Checked {
        let owners: BTreeMap<Seq, SubjectKey> =
            after.subjects.iter().map(|(key, seq)| (*seq, *key)).collect();
        ensure!(owners.len() == after.subjects.len(), "Q3: two people on one number");
        let live = after.w.iter().chain(after.passes.iter().map(|(seq, _)| *seq));
        for seq in live {
            ensure!(owners.contains_key(&seq), "place {seq} lost its owner");
        }
        let waits_inside = after.passes.iter().any(|(seq, _)| after.w.contains(*seq));
        ensure!(!waits_inside, "Q1: a place waits and is inside at once");
        Ok(())
    }

    /// Q5: a pass lives once; one that ended never lives again.
    fn check_passes(&mut self, after: &Dump) -> Checked {
        let incarnation = after.mark.incarnation;
        let live: BTreeSet<PassId> = after
            .passes
            .iter()
            .map(|(seq, pass)| PassId { incarnation, seq: *seq, grant: pass.grant })
            .collect();
        for pass in live.difference(&self.granted).filter(|pass| pass.grant == 1) {
            self.first_passes += 1;
            self.returned += u64::from(self.passed_over.contains(&pass.seq));
        }
        for pass in &live {
            ensure!(!self.gone.contains(pass), "Q5: {pass:?} ended and lives again");
            ensure!(pass.grant <= 2, "a third grant");
            self.known.note(*pass);
        }
        self.gone.extend(self.granted.difference(&live));
        self.granted.extend(live);
        Ok(())
    }

    /// What operators are told was counted is what was seen to happen.
    fn check_totals(&mut self, after: &Dump) -> Checked {
        let passed = after.w.iter().take_while(|seq| *seq <= after.serving);
        self.passed_over.extend(passed.filter(|seq| !after.once.contains(*seq)));
        let totals = &after.totals;
        let (told, seen) =
            ((totals.absent, totals.returned), (self.passed_over.len() as u64, self.returned));
        ensure!(told == seen, "absent and returned are told as {told:?} and were {seen:?}");
        let first = self.first_passes;
        ensure!(totals.admitted == first, "{} admitted, {first} first passes", totals.admitted);
        let ended = (totals.stays, totals.dwells + totals.no_shows);
        let gone = self.gone.len() as u64;
        ensure!(ended == (gone, gone), "{gone} passes ended, told as {ended:?}");
        ensure!(totals.joined == after.next_seq - 1, "{} joined", totals.joined);
        Ok(())
    }

    /// Q2: a person's position never grows.
    fn check_positions(&mut self, after: &Dump) -> Checked {
        for seq in after.w.iter() {
            let standing = self.room.ledger().standing(after.mark.incarnation, seq);
            if let Standing::InLine { position } = standing {
                let last = self.positions.insert(seq, position);
                ensure!(
                    last.is_none_or(|last| position <= last),
                    "Q2: place {seq} went from {last:?} to {position}"
                );
            }
        }
        Ok(())
    }

    /// A5: replaying the journal from empty gives the present state, byte for byte.
    fn check_replay(&self) -> Checked {
        let mut again =
            Room::from_created(&self.journal[0]).expect("a journal begins with creation");
        for event in &self.journal[1..] {
            again.apply(event).map_err(|gap| TestCaseError::fail(gap.to_string()))?;
        }
        ensure!(again.dump() == self.room.dump(), "A5: replay differs");
        Ok(())
    }
}

/// Q8: nobody present is overtaken by someone called behind them for the first time.
fn check_order(after: &Dump, called: &jari_line::SeqSet, serving_before: Seq) -> Checked {
    let first_calls =
        called.iter().filter(|seq| *seq > serving_before && !after.once.contains(*seq));
    let Some(last_called) = first_calls.max() else { return Ok(()) };
    let present = after.cur.union(&after.prev).intersection(&after.w);
    let overtaken = present.min().filter(|seq| *seq < last_called);
    ensure!(overtaken.is_none(), "Q8: {overtaken:?} waits, present, behind {last_called}");
    Ok(())
}

#[test]
fn q1_to_q6_hold_over_long_histories() {
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is its one input")]
    let seed = std::env::var("JARI_SEED").ok();
    let mut runner = history::runner("core/line properties", CASES, seed);
    let lived = std::cell::Cell::new((0usize, 0usize, 0u64, 0u64));
    let outcome = runner.run(&history::history(STEPS), |(settings, steps)| {
        let mut life = Life::new(settings);
        for step in &steps {
            life.play(step)?;
        }
        let (all, events, admitted, walked) = lived.get();
        let totals = life.room.dump().totals;
        let (events, admitted) = (events + life.journal.len(), admitted + totals.admitted);
        lived.set((all + steps.len(), events, admitted, walked + life.walked));
        life.check_replay()
    });
    let (steps, events, admitted, walked) = lived.get();
    println!("{steps} steps, {events} events, {admitted} admissions, {walked} walked in");
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    assert!(admitted > 1_000, "the histories admit people");
    assert!(walked > 100, "and let some walk in");
}
