//! Live passes by place, ordered by when they end. A deadline is on the room's silence clock.

use std::collections::{BTreeMap, BTreeSet};

use jari_units::{Millis, PassId, Seq};
use serde::{Deserialize, Serialize};

use crate::SeqSet;

/// A one-time token that was redeemed: which of its pass's, and by which call of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    /// Rises with each token of a pass.
    pub no: u64,
    pub nonce: [u8; 16],
}

/// A live pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// 1, or 2 for a place's second chance.
    pub grant: u8,
    /// Ended when `deadline <= silence_ms`, at the next tick.
    pub deadline: Millis,
    pub granted_at: Millis,
    /// When it was first used; `None` while unclaimed.
    pub claimed_at: Option<Millis>,
    /// When its owner first said "paying now".
    pub paying_since: Option<Millis>,
    /// The newest one-time token of it that was redeemed. Apart from the rest in stored copies, whose layout is older
    /// ([`Room::land`](crate::Room::land)).
    #[serde(skip)]
    pub landed: Option<Landing>,
}

/// A pass as told to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassGrant {
    pub id: PassId,
    /// How long it is still good for if nobody uses it; a lull only lengthens it.
    pub remaining: Millis,
    pub claimed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Passes {
    by_seq: BTreeMap<Seq, Pass>,
    unclaimed: BTreeSet<(Millis, Seq)>,
    claimed: BTreeSet<(Millis, Seq)>,
    /// Sum of `granted_at` over all: tells how long they have been live together.
    granted_sum: u64,
}

impl Passes {
    #[must_use]
    pub fn get(&self, seq: Seq) -> Option<&Pass> {
        self.by_seq.get(&seq)
    }

    /// All live passes: unclaimed and claimed.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.by_seq.len() as u64
    }

    #[must_use]
    pub fn claimed_count(&self) -> u64 {
        self.claimed.len() as u64
    }

    pub fn iter(&self) -> impl Iterator<Item = (Seq, &Pass)> {
        self.by_seq.iter().map(|(seq, pass)| (*seq, pass))
    }

    /// Passes of the places from `first` to before `end`, by place.
    pub(crate) fn within(&self, first: Seq, end: Seq) -> impl Iterator<Item = (Seq, &Pass)> {
        self.by_seq.range(first..end).map(|(seq, pass)| (*seq, pass))
    }

    pub(crate) fn put(&mut self, seq: Seq, pass: Pass) {
        self.remove(seq);
        self.due_of(&pass).insert((pass.deadline, seq));
        self.granted_sum += pass.granted_at.0;
        self.by_seq.insert(seq, pass);
    }

    /// Notes the token that was redeemed; nothing where the pass is gone.
    pub(crate) fn land(&mut self, seq: Seq, landing: Landing) {
        if let Some(pass) = self.by_seq.get_mut(&seq) {
            pass.landed = Some(landing);
        }
    }

    /// As if no token had been redeemed.
    pub(crate) fn forget_landings(&mut self) {
        self.by_seq.values_mut().for_each(|pass| pass.landed = None);
    }

    pub(crate) fn remove(&mut self, seq: Seq) -> Option<Pass> {
        let pass = self.by_seq.remove(&seq)?;
        self.due_of(&pass).remove(&(pass.deadline, seq));
        self.granted_sum -= pass.granted_at.0;
        Some(pass)
    }

    /// How long all live passes have been live, added up.
    pub(crate) fn live_ms(&self, silence_ms: Millis) -> u64 {
        (silence_ms.0 * self.live()).saturating_sub(self.granted_sum)
    }

    fn due_of(&mut self, pass: &Pass) -> &mut BTreeSet<(Millis, Seq)> {
        if pass.claimed_at.is_some() { &mut self.claimed } else { &mut self.unclaimed }
    }

    /// The first `max` unclaimed and the first `max` claimed passes with `deadline <= silence_ms`, by (deadline, seq).
    pub(crate) fn due(&self, silence_ms: Millis, max: usize) -> (SeqSet, SeqSet) {
        let first = |set: &BTreeSet<(Millis, Seq)>| {
            set.range(..=(silence_ms, Seq::MAX)).take(max).map(|(_, seq)| *seq).collect()
        };
        (first(&self.unclaimed), first(&self.claimed))
    }
}
