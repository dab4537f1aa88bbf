//! Random histories in which the store loses what it had: falls back, is wiped, is told and shown, and lost again.
//! After each step store and core are equal.

use std::cell::Cell;
use std::sync::Arc;

use jari_line::{
    Ledger, Loss, Past, Receipt, RecoverOutcome, Room, RoomEvent, Settings, StoreClock,
};
use jari_units::{Mark, NodeId, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::Losing;
use crate::history::{self, Step, person};
use crate::oracle::{BlockOn, Checked, Pair, differ, failed, same};
use crate::stores::Size;

/// Replicas that nodes keep in a history.
const REPLICAS_MAX: usize = 6;
/// Receipts that people keep in a history: the newest ones are shown most.
const RECEIPTS_MAX: usize = 200;

/// One step. Picks are resolved against what the history has seen so far.
#[derive(Clone, Debug)]
pub enum LossStep {
    Live(Step),
    /// The store's data is copied: what a later fall back leaves.
    Keep,
    /// The store falls back to its copy, and someone who has seen more says so.
    FallBack,
    /// The store is emptied. Who comes first knows its past, or nothing.
    Wipe(bool),
    /// An operator says that older files were put in place.
    Declare,
    /// A node's replica stands here.
    Replica,
    /// A replica tells one of its parts: (replica, part, node).
    Tell(u8, u8, u8),
    /// People show receipts; now and then somebody else's.
    Show(Vec<u8>),
    Attend(u8),
    /// Ticks, one a second: enough of them end a window.
    Ticks(u8),
}

/// The node that notices losses.
const CALLER: NodeId = 1;

/// How much a run covered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    pub histories: u32,
    pub steps: usize,
    pub recoveries: u64,
    pub settled: u64,
    pub told: u64,
    pub shown: u64,
}

fn step() -> impl Strategy<Value = LossStep> {
    prop_oneof![
        80 => history::step().prop_map(LossStep::Live),
        3 => Just(LossStep::Keep),
        2 => Just(LossStep::FallBack),
        1 => any::<bool>().prop_map(LossStep::Wipe),
        1 => Just(LossStep::Declare),
        4 => Just(LossStep::Replica),
        16 => (any::<u8>(), any::<u8>(), 0u8..4).prop_map(|(replica, part, node)| LossStep::Tell(replica, part, node)),
        10 => prop::collection::vec(any::<u8>(), 1..8).prop_map(LossStep::Show),
        3 => (0u8..4).prop_map(LossStep::Attend),
        3 => (5u8..40).prop_map(LossStep::Ticks),
    ]
}

/// The first settings and `steps` steps.
fn histories(steps: usize) -> impl Strategy<Value = (Settings, Vec<LossStep>)> {
    (history::settings(), prop::collection::vec(step(), steps / 2..steps))
}

/// As [`crate::oracle::steps_in_all`].
#[must_use]
pub fn steps_in_all(size: Size) -> usize {
    history::drawn(size, &histories(size.steps_max), |(_, steps)| steps.len())
}

/// Plays `cases` histories of up to `steps` steps, each on a fresh store from `start`.
///
/// # Panics
/// With the seed and the shortest failing history, where store and core differ.
pub fn check_histories(
    name: &str,
    (cases, steps): (u32, usize),
    seed: Option<String>,
    start: &dyn Fn() -> Box<dyn Losing>,
    block_on: BlockOn<'_>,
) -> Covered {
    let name = &format!("{name}, losses");
    let mut runner = history::runner(name, cases, seed);
    let covered = Cell::new(Covered::default());
    let outcome = runner.run(&histories(steps), |(settings, steps)| {
        let mut harness = start();
        let seen = Cell::new(covered.get());
        block_on(Box::pin(async {
            let mut losses = Losses::new(harness.as_mut(), settings, seen.get()).await?;
            for step in &steps {
                losses.play(step).await?;
            }
            seen.set(losses.covered);
            Ok(())
        }))?;
        let mut after = seen.get();
        after.histories += 1;
        after.steps += steps.len();
        covered.set(after);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{name}: store and core differ: {failure}");
    }
    history::announce(&format!("{name}: {:?}", covered.get()));
    covered.get()
}

/// A store that loses things, the core beside it, and what nodes and people have kept.
struct Losses<'a> {
    pair: Pair<'a, dyn Losing + 'a>,
    kept: Option<(Room, StoreClock)>,
    replicas: Vec<(Ledger, Mark)>,
    receipts: Vec<Receipt>,
    covered: Covered,
}

impl<'a> Losses<'a> {
    async fn new(
        harness: &'a mut (dyn Losing + 'a),
        settings: Settings,
        covered: Covered,
    ) -> Result<Self, TestCaseError> {
        let pair = Pair::new(harness, settings).await?;
        let (kept, replicas, receipts) = (None, Vec::new(), Vec::new());
        Ok(Losses { pair, kept, replicas, receipts, covered })
    }

    async fn play(&mut self, step: &LossStep) -> Checked {
        let recovering = self.pair.room.ledger().is_recovering();
        match step {
            LossStep::Live(step) => self.pair.play(step).await?,
            LossStep::Keep => {
                self.pair.harness.keep().await;
                self.kept = Some((self.pair.room.clone(), self.pair.clock));
            }
            LossStep::FallBack => self.fall_back().await?,
            LossStep::Wipe(known) => self.wipe(*known).await?,
            LossStep::Declare => {
                self.recover(Loss::Declared, Some(self.pair.room.clone())).await?;
            }
            LossStep::Replica => {
                let room = &self.pair.room;
                self.replicas.push((room.read(), room.mark()));
                if self.replicas.len() > REPLICAS_MAX {
                    self.replicas.remove(0);
                }
            }
            LossStep::Tell(replica, part, node) => self.tell(*replica, *part, *node).await?,
            LossStep::Show(picks) => self.show(picks).await?,
            LossStep::Ticks(count) => {
                for _ in 0..*count {
                    self.pair.play(&Step::Admit(1_000)).await?;
                }
            }
            LossStep::Attend(node) => {
                let (id, mark, node) = (&self.pair.id, self.pair.room.mark(), NodeId::from(*node));
                let theirs = self.pair.store().attend(id, mark, node).await;
                let event = same("attend", theirs, self.pair.room.attend(mark, node))?.event;
                self.pair.published(event).await?;
                self.pair.compare().await?;
            }
        }
        let settled = recovering && !self.pair.room.ledger().is_recovering();
        self.covered.settled += u64::from(settled);
        self.keep_receipts();
        Ok(())
    }

    fn past(&self) -> Past {
        let ledger = self.pair.room.ledger();
        Past { mark: ledger.mark(), origin: Some(ledger.origin()) }
    }

    /// The store starts again on older data, and so does its clock.
    async fn fall_back(&mut self) -> Checked {
        let Some((kept, clock)) = self.kept.clone() else { return Ok(()) };
        let past = self.past();
        self.pair.harness.fall_back().await;
        self.pair.clock = if self.pair.harness.clock_survives_restart() {
            clock
        } else {
            StoreClock::resume(kept.ledger().clocks().now)
        };
        self.recover(Loss::Seen(past), Some(kept)).await
    }

    async fn wipe(&mut self, known: bool) -> Checked {
        let past = if known { self.past() } else { Past::default() };
        self.pair.harness.wipe().await;
        self.kept = None;
        self.pair.clock = StoreClock::resume(Timestamp::default());
        self.recover(Loss::Seen(past), None).await
    }

    /// `left`: what the store has of the room.
    async fn recover(&mut self, loss: Loss, left: Option<Room>) -> Checked {
        let settings = self.pair.room.ledger().settings().clone();
        self.pair.harness.clock().set(self.pair.wall);
        let (store, id) = (self.pair.store(), self.pair.id.clone());
        let theirs = store.recover(&id, settings.clone(), loss, CALLER).await;
        let theirs = theirs.map_err(|error| failed(&error))?;
        let now = self.pair.clock.read(self.pair.wall);
        let (outcome, event): (RecoverOutcome, Option<Arc<RoomEvent>>) = match left {
            Some(mut room) => {
                let done = room.recover(&loss, settings, now);
                self.pair.room = room;
                (done.outcome, done.event)
            }
            None => {
                let done = Room::recover_lost(&loss, settings, now, 0);
                self.pair.room = done.outcome;
                (RecoverOutcome::Began, done.event)
            }
        };
        let ours = (outcome, self.pair.room.mark());
        if (theirs.outcome, theirs.mark) != ours {
            return Err(differ("recover", &theirs, &ours));
        }
        let began = outcome == RecoverOutcome::Began;
        self.covered.recoveries += u64::from(began);
        // A history's events are followed from its first one on.
        let after = if began { 0 } else { self.pair.room.mark().event_no };
        let feed = store.subscribe(&id, after).await;
        self.pair.feed = feed.map_err(|error| failed(&error))?;
        self.pair.published(event).await?;
        self.pair.compare().await
    }

    async fn tell(&mut self, replica: u8, part: u8, node: u8) -> Checked {
        let Some(nth) = usize::from(replica).checked_rem(self.replicas.len()) else {
            return Ok(());
        };
        let (ledger, seen) = &self.replicas[nth];
        let tellings: Vec<_> = ledger.tellings(*seen).collect();
        let telling = tellings[usize::from(part) % tellings.len()].clone();
        let (id, mark, node) = (&self.pair.id, self.pair.room.mark(), NodeId::from(node));
        let theirs = self.pair.store().restore(id, mark, node, telling.clone()).await;
        let event = same("restore", theirs, self.pair.room.restore(mark, node, &telling))?.event;
        self.covered.told += u64::from(event.is_some());
        self.pair.published(event).await?;
        self.pair.compare().await
    }

    async fn show(&mut self, picks: &[u8]) -> Checked {
        if self.receipts.is_empty() {
            return Ok(());
        }
        let shown: Vec<Receipt> =
            picks.iter().map(|pick| self.receipt(usize::from(*pick))).collect();
        let (id, mark) = (&self.pair.id, self.pair.room.mark());
        let theirs = self.pair.store().reattach(id, mark, shown.clone()).await;
        let event = same("reattach", theirs, self.pair.room.reattach(mark, &shown))?.event;
        self.covered.shown += u64::from(event.is_some());
        self.pair.published(event).await?;
        self.pair.compare().await
    }

    /// The newest first; now and then with another's name on it, which no good signature could have.
    fn receipt(&self, pick: usize) -> Receipt {
        let nth = self.receipts.len() - 1 - pick % self.receipts.len();
        let receipt = self.receipts[nth];
        let forged = Receipt { subject: person(pick as u8 % history::PEOPLE), ..receipt };
        if pick.is_multiple_of(23) { forged } else { receipt }
    }

    /// What the people here are holding now.
    fn keep_receipts(&mut self) {
        let dump = self.pair.room.dump();
        for (subject, seq) in &dump.subjects {
            let pass = dump.passes.iter().find(|(inside, _)| inside == seq);
            let receipt = Receipt {
                subject: *subject,
                incarnation: dump.mark.incarnation,
                seq: *seq,
                as_of: dump.clocks.now,
                pass: pass.map(|(_, pass)| pass.grant),
            };
            let same_place = |old: &Receipt| Receipt { as_of: receipt.as_of, ..*old } == receipt;
            match self.receipts.iter_mut().find(|old| same_place(old)) {
                Some(old) => old.as_of = receipt.as_of,
                None => self.receipts.push(receipt),
            }
        }
        let surplus = self.receipts.len().saturating_sub(RECEIPTS_MAX);
        self.receipts.drain(..surplus);
    }
}
