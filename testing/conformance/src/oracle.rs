//! Seeded random histories played on a store and on the pure core side by side: equal answers and equal dumps, always.

use std::cell::Cell;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jari_line::{
    Done, JoinOutcome, LostHistory, PassGrant, Room, RoomEvent, Settings, StoreClock, Ticket,
    Totals,
};
use jari_ports::{EventFeed, LineStore, Reply, StoreError};
use jari_units::{Mark, Millis, RoomId, Timestamp};
use proptest::test_runner::TestCaseError;

use crate::Harness;
use crate::history::{self, Known, START, Step, by_name, people};
use crate::stores::Size;

/// How much a run covered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    pub histories: u32,
    pub steps: usize,
    pub admitted: u64,
    pub restarts: usize,
    pub mass_absences: u64,
}

pub(crate) type Checked = Result<(), TestCaseError>;

/// Runs one future to its end: the store's tests bring their own runtime.
pub type BlockOn<'a> = &'a dyn Fn(Pin<Box<dyn Future<Output = Checked> + '_>>) -> Checked;

/// Plays `cases` histories of up to `steps` steps, each on a fresh store from `start`.
///
/// # Panics
/// With the seed and the shortest failing history, where store and core differ.
pub fn check_histories(
    name: &str,
    (cases, steps): (u32, usize),
    seed: Option<String>,
    start: &dyn Fn() -> Box<dyn Harness>,
    block_on: BlockOn<'_>,
) -> Covered {
    let mut runner = history::runner(name, cases, seed);
    let covered = Cell::new(Covered::default());
    let outcome = runner.run(&history::history(steps), |(settings, steps)| {
        let mut harness = start();
        let totals = Cell::new(Totals::default());
        block_on(Box::pin(async {
            let mut pair = Pair::new(harness.as_mut(), settings).await?;
            for step in &steps {
                pair.play(step).await?;
            }
            totals.set(*pair.room.ledger().totals());
            Ok(())
        }))?;
        let before = covered.get();
        let restarts = steps.iter().filter(|step| matches!(step, Step::Restart)).count();
        covered.set(Covered {
            histories: before.histories + 1,
            steps: before.steps + steps.len(),
            admitted: before.admitted + totals.get().admitted,
            restarts: before.restarts + restarts,
            mass_absences: before.mass_absences + totals.get().mass_absences,
        });
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{name}: store and core differ: {failure}");
    }
    history::announce(&format!("{name}: {:?}", covered.get()));
    covered.get()
}

/// How many steps the histories of this size have with the seed that is used where none is asked for: drawn, not played.
#[must_use]
pub fn steps_in_all(size: Size) -> usize {
    history::drawn(size, &history::history(size.steps_max), |(_, steps)| steps.len())
}

/// A store and the core that it must equal.
pub(crate) struct Pair<'a, H: Harness + ?Sized> {
    pub(crate) harness: &'a mut H,
    pub(crate) id: RoomId,
    pub(crate) room: Room,
    pub(crate) clock: StoreClock,
    pub(crate) wall: Timestamp,
    pub(crate) known: Known,
    pub(crate) feed: Box<dyn EventFeed>,
}

pub(crate) fn differ(what: &str, store: &impl Debug, core: &impl Debug) -> TestCaseError {
    TestCaseError::fail(format!("{what}\n store: {store:?}\n core:  {core:?}"))
}

pub(crate) fn failed(error: &StoreError) -> TestCaseError {
    TestCaseError::fail(format!("the store failed: {error}"))
}

impl<'a, H: Harness + ?Sized> Pair<'a, H> {
    pub(crate) async fn new(harness: &'a mut H, settings: Settings) -> Result<Self, TestCaseError> {
        let id: RoomId = "oracle".parse().expect("an id");
        harness.clock().set(START);
        let store = harness.store();
        let created = store.create(&id, settings.clone()).await.map_err(|error| failed(&error))?;
        // The incarnation is the store's to choose; all else must be equal from here on.
        let above = created.mark.incarnation - 1;
        let room = Room::create(settings, START, above).outcome;
        let feed = store.subscribe(&id, created.mark.event_no).await;
        let feed = feed.map_err(|error| failed(&error))?;
        let clock = StoreClock::resume(START);
        Ok(Pair { harness, id, room, clock, wall: START, known: Known::default(), feed })
    }

    pub(crate) fn store(&self) -> Arc<dyn LineStore> {
        self.harness.store()
    }

    /// Plays a step and holds the states equal.
    pub(crate) async fn play(&mut self, step: &Step) -> Checked {
        self.step(step).await?;
        self.compare().await
    }

    /// Plays a step: equal answers and events.
    async fn step(&mut self, step: &Step) -> Checked {
        let (store, id, mark) = (self.store(), self.id.clone(), self.room.mark());
        let event = match step {
            Step::Join(who) => {
                let theirs = store.join(&id, mark, people(who)).await;
                let ours = self.room.join(mark, &people(who));
                let done = same("join", theirs, ours)?;
                done.outcome.iter().filter_map(pass_of).for_each(|grant| self.known.note(grant.id));
                done.event
            }
            Step::JoinCrowd(count) => {
                let crowd = self.known.crowd(*count);
                let theirs = store.join(&id, mark, crowd.clone()).await;
                same("join", theirs, self.room.join(mark, &crowd))?.event
            }
            Step::Leave(who) => {
                let theirs = store.leave(&id, mark, people(who)).await;
                same("leave", theirs, self.room.leave(mark, &people(who)))?.event
            }
            Step::Seen(offset, by) => {
                let bits = self.known.seen(*offset, *by);
                let theirs = store.seen(&id, mark, bits.clone()).await;
                same("seen", theirs, self.room.seen(mark, &bits))?.event
            }
            Step::Admit(ms) => {
                self.wall = self.wall + Millis(u64::from(*ms));
                self.admit().await?
            }
            Step::AdmitAfterStepBack(ms) => {
                self.wall = Timestamp(self.wall.0 - u64::from(*ms));
                self.admit().await?
            }
            Step::AdmitCount(count) => {
                let whom = jari_line::AdmitNow::Count(u64::from(*count));
                let theirs = store.admit_now(&id, mark, whom.clone()).await;
                same("admit_now by count", theirs, self.room.admit_now(mark, &whom))?.event
            }
            Step::AdmitSubjects(who) => {
                let theirs = store.admit_now(&id, mark, by_name(who)).await;
                let ours = self.room.admit_now(mark, &by_name(who));
                same("admit_now by subject", theirs, ours)?.event
            }
            Step::Claim(_)
            | Step::Touch(_)
            | Step::Extend(..)
            | Step::Redeem(..)
            | Step::EndPass(_) => self.play_on_passes(step).await?,
            Step::Revoke(who) => {
                let theirs = store.revoke(&id, mark, people(who)).await;
                same("revoke", theirs, self.room.revoke(mark, &people(who)))?.event
            }
            Step::Change(change) => {
                let theirs = store.change(&id, mark, change.as_ref().clone()).await;
                let ours = self.room.change(mark, change.as_ref().clone());
                same("change", theirs, ours)?.event
            }
            Step::Signal(source, load, ms) => {
                let (source, span) = (u64::from(*source), Millis(u64::from(*ms)));
                let theirs = store.signal(&id, mark, source, *load, span).await;
                same("signal", theirs, self.room.signal(mark, source, *load, span))?.event
            }
            Step::Restart => {
                self.restart().await?;
                None
            }
        };
        self.published(event).await
    }

    async fn play_on_passes(
        &mut self,
        step: &Step,
    ) -> Result<Option<Arc<RoomEvent>>, TestCaseError> {
        let (store, id, mark) = (self.store(), self.id.clone(), self.room.mark());
        Ok(match step {
            Step::Claim(picks) => {
                let passes = self.known.passes(picks);
                let theirs = store.claim(&id, mark, passes.clone()).await;
                same("claim", theirs, self.room.claim(mark, &passes))?.event
            }
            Step::Touch(picks) => {
                let passes = self.known.passes(picks);
                let theirs = store.touch(&id, mark, passes.clone()).await;
                same("touch", theirs, self.room.touch(mark, &passes))?.event
            }
            Step::Extend(pick, ms) => {
                let (pass, span) = (self.known.passes(&[*pick])[0], Millis(u64::from(*ms)));
                let theirs = store.extend_for_payment(&id, mark, pass, span).await;
                let ours = self.room.extend_for_payment(mark, pass, span);
                same("extend_for_payment", theirs, ours)?.event
            }
            Step::Redeem(pick, no, by) => {
                let pass = self.known.passes(&[*pick])[0];
                let ticket = Ticket { pass, no: u64::from(*no), nonce: [*by; 16] };
                let theirs = store.redeem(&id, mark, ticket).await;
                same("redeem", theirs, self.room.redeem(mark, &ticket))?.event
            }
            Step::EndPass(picks) => {
                let passes = self.known.passes(picks);
                let theirs = store.end_pass(&id, mark, passes.clone()).await;
                same("end_pass", theirs, self.room.end_pass(mark, &passes))?.event
            }
            other => unreachable!("{other:?} is not about passes"),
        })
    }

    async fn admit(&mut self) -> Result<Option<Arc<RoomEvent>>, TestCaseError> {
        self.harness.clock().set(self.wall);
        let mark = self.room.mark();
        let theirs = self.store().admit(&self.id, mark).await;
        let ours = self.room.admit(mark, self.clock.read(self.wall), None);
        Ok(same("admit", theirs, ours)?.event)
    }

    async fn restart(&mut self) -> Checked {
        self.harness.restart().await;
        if !self.harness.clock_survives_restart() {
            self.clock = StoreClock::resume(self.room.ledger().clocks().now);
        }
        let after = self.room.mark().event_no;
        let feed = self.store().subscribe(&self.id, after).await;
        self.feed = feed.map_err(|error| failed(&error))?;
        Ok(())
    }

    /// The event that the store published is the core's.
    pub(crate) async fn published(&mut self, event: Option<Arc<RoomEvent>>) -> Checked {
        let Some(event) = event else {
            return Ok(());
        };
        let published = self.feed.next().await;
        if published.as_deref() == Ok(&*event) {
            Ok(())
        } else {
            Err(differ("event", &published, &event))
        }
    }

    /// Equal state.
    pub(crate) async fn compare(&mut self) -> Checked {
        let theirs = self.store().dump(&self.id).await.map_err(|error| failed(&error))?;
        let ours = self.room.dump();
        if theirs.outcome != ours {
            return Err(differ("dump", &theirs.outcome, &ours));
        }
        for (seq, pass) in ours.passes {
            let incarnation = ours.mark.incarnation;
            self.known.note(jari_units::PassId { incarnation, seq, grant: pass.grant });
        }
        self.known.next_seq = ours.next_seq;
        Ok(())
    }
}

/// A crowd of 70,000 that nearly all leaves: an alarm, a lull, the frontier past everybody, and absences that end slice by
/// slice. Histories of hundreds of steps are too small for it.
///
/// # Panics
/// Where store and core differ.
pub fn check_large_room(name: &str, start: &dyn Fn() -> Box<dyn Harness>, block_on: BlockOn<'_>) {
    let secs = Millis::from_secs;
    let settings = Settings {
        absence_grace: secs(30),
        presence_window: secs(10),
        claim_window: secs(20),
        ..Settings::default()
    };
    let mut harness = start();
    let played = block_on(Box::pin(async {
        let mut pair = Pair::new(harness.as_mut(), settings).await?;
        for _ in 0..137 {
            pair.step(&Step::JoinCrowd(512)).await?;
        }
        let phases = [(6, 4_000), (8, 2_000), (3, 1_000), (30, 1_000), (20, 3_000)];
        for (first, (ticks, ms)) in (40..).zip(phases) {
            for _ in 0..ticks {
                pair.step(&Step::Join(vec![1, 2, 3, 4, 5])).await?;
                pair.step(&Step::Admit(ms)).await?;
            }
            // A few return, others each time, and whoever was called does not come.
            pair.step(&Step::Seen(first, 250)).await?;
            pair.compare().await?;
        }
        let totals = pair.room.ledger().totals();
        let all = totals.mass_absences > 0 && totals.absence_ended > 60_000 && totals.returned > 0;
        if all { Ok(()) } else { Err(TestCaseError::fail(format!("too little: {totals:?}"))) }
    }));
    if let Err(failure) = played {
        panic!("{name}: {failure}");
    }
}

/// The pass in a join's answer.
fn pass_of(outcome: &JoinOutcome) -> Option<&PassGrant> {
    match outcome {
        JoinOutcome::Admitted(grant) | JoinOutcome::Allowed(grant) => Some(grant),
        _ => None,
    }
}

pub(crate) fn same<T: Debug + PartialEq>(
    what: &str,
    store: Result<Reply<T>, StoreError>,
    core: Result<Done<T>, LostHistory>,
) -> Result<Done<T>, TestCaseError> {
    let store = store.map_err(|error| failed(&error))?;
    let core =
        core.map_err(|lost| TestCaseError::fail(format!("the core lost history: {lost}")))?;
    let theirs: (&T, Mark) = (&store.outcome, store.mark);
    let ours = (&core.outcome, core.mark);
    if theirs == ours { Ok(core) } else { Err(differ(what, &theirs, &ours)) }
}
