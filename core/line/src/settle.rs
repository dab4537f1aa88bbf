//! The recovery window's end: who was not vouched for has ended, and the line goes on in order of number.

use jari_units::{Millis, Seq};
use serde::{Deserialize, Serialize};

use crate::ledger::Ledger;
use crate::{Pass, SeqSet, Tick};

/// The tick that ends a recovery; it calls nobody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    pub tick: Tick,
    /// Places and passes that nobody fresh vouched for.
    pub ended: SeqSet,
    /// Passes in use, and when they end unless used again.
    pub used: SeqSet,
    pub used_until: Millis,
    /// No other pass ends before: its owner could not use it meanwhile.
    pub floor: Millis,
}

fn settled_pass(pass: Pass, used: bool, settled: &Settled, now: Millis) -> Pass {
    let deadline = pass.deadline.max(if used { settled.used_until } else { settled.floor });
    // Zero where only its cookie was known.
    let unknown = used && pass.granted_at == Millis::ZERO;
    let granted_at = if unknown { now } else { pass.granted_at };
    let claimed_at = pass.claimed_at.filter(|at| *at > Millis::ZERO || !used);
    Pass { deadline, granted_at, claimed_at: claimed_at.or(used.then_some(now)), ..pass }
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
        let used_until = tick.silence_ms + self.settings.pass_ttl;
        let floor = tick.silence_ms + self.settings.claim_window;
        let tick = Tick { lull_until, ..tick.clone() };
        Some(Settled { tick, ended, used, used_until, floor })
    }

    pub(crate) fn settled(&mut self, settled: &Settled) {
        self.ticked(&settled.tick);
        self.forget(&settled.ended);
        let now = self.clocks.silence_ms;
        let used = |seq: Seq| settled.used.contains(seq);
        let concerned = self.passes.iter();
        let concerned = concerned.filter(|(seq, pass)| used(*seq) || pass.deadline < settled.floor);
        let concerned: Vec<_> = concerned.map(|(seq, pass)| (seq, *pass)).collect();
        for (seq, pass) in concerned {
            self.passes.put(seq, settled_pass(pass, used(seq), settled, now));
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
