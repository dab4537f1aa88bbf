//! The recovery window's end: who was not vouched for has ended, and the line goes on in order of number.

use jari_units::{Millis, Seq};
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;
use crate::{SeqSet, Tick};

/// The tick that ends a recovery; it calls nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    pub tick: Tick,
    /// Places and passes that nobody fresh vouched for.
    pub ended: SeqSet,
    /// Passes in use: they run from here again.
    pub used: SeqSet,
}

impl Ledger {
    /// What ends with the window, if it is over at this tick. A lull follows, so that nobody is absent because of it.
    pub(crate) fn settling(&self, tick: &Tick) -> Option<Settled> {
        let told = self.descent.recovery.as_ref()?;
        if !self.recovered_at(tick) {
            return None;
        }
        let ended = self.stale(told);
        let used = told.shown.intersection(&self.inside()).difference(&ended);
        let lull_until = tick.now + self.settings.presence_window;
        Some(Settled { tick: Tick { lull_until, ..tick.clone() }, ended, used })
    }

    pub(crate) fn settled(&mut self, settled: &Settled) {
        self.ticked(&settled.tick);
        self.forget(&settled.ended);
        let now = self.clocks.silence_ms;
        for seq in settled.used.iter() {
            let Some(mut pass) = self.passes.remove(seq) else {
                continue;
            };
            // Zero where only its cookie was known.
            if pass.granted_at == Millis::ZERO {
                pass.granted_at = now;
            }
            pass.claimed_at = pass.claimed_at.filter(|at| *at > Millis::ZERO).or(Some(now));
            pass.deadline = pass.deadline.max(now + self.settings.pass_ttl);
            self.passes.put(seq, pass);
        }
        // Whoever was called while away has all of their grace again: nobody could be heard meanwhile.
        self.marks.clear();
        self.marks.push_back((now, self.serving));
        self.settle_lineage();
        self.clocks.was_idle = self.is_idle();
    }

    /// Where nobody knew the room's origin, the oldest receipt that counted tells it.
    fn settle_lineage(&mut self) {
        let Some(told) = self.descent.recovery.take() else {
            return;
        };
        let lineage = &mut self.descent.lineage;
        lineage.origin = lineage.origin.or(told.oldest).or(Some(self.incarnation));
    }

    /// Ended places are nobody's.
    pub(crate) fn detach(&mut self, seqs: &SeqSet) {
        self.descent.unattached.remove_all(seqs);
    }

    /// A pass was used while the room recovers: it runs on from the window's end.
    pub(crate) fn used(&mut self, seqs: &SeqSet) {
        if let Some(told) = &mut self.descent.recovery {
            told.shown.add_all(seqs);
        }
    }

    /// The first number that this incarnation gives.
    #[must_use]
    pub fn first_own(&self) -> Seq {
        self.descent.lineage.begins.last().map_or(1, |(_, first)| *first)
    }
}
