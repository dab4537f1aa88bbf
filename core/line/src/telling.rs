//! A telling: what a node's replica knows of a room, in parts small enough for one call each.

use jari_units::{Incarnation, Mark, Millis, Seq, Timestamp, limits};
use serde::{Deserialize, Serialize};

use crate::descent::Lineage;
use crate::ledger::{Control, Ledger};
use crate::{PacerState, Pass, SeqSet, Totals};

/// One call's worth of what a replica knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Telling {
    pub head: Head,
    /// The highest mark that the node has been answered with: its replica may lag behind it.
    pub seen: Mark,
    pub part: Part,
    /// The node has told everything.
    pub done: bool,
}

/// Where a replica stood, and the numbers of the room as a whole: those of the newest replica count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub mark: Mark,
    pub lineage: Lineage,
    pub now: Timestamp,
    pub line_ms: Millis,
    pub silence_ms: Millis,
    pub serving: Seq,
    pub served: u64,
    pub pacer: PacerState,
    pub control: Control,
    pub totals: Totals,
}

/// What a replica knows of some numbers: those of `known` that neither wait nor are inside have ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub known: SeqSet,
    /// In line or absent.
    pub waiting: SeqSet,
    /// Those of them, and of the passes, that are on their second chance.
    pub once: SeqSet,
    pub passes: Vec<(Seq, Pass)>,
}

impl Head {
    pub(crate) fn origin(&self) -> Incarnation {
        self.lineage.origin.unwrap_or(self.mark.incarnation)
    }
}

impl Ledger {
    /// What this copy knows of the room, as calls of `restore`: each at most `RESTORE_NUMBERS_MAX` numbers and
    /// `RESTORE_PASSES_MAX` passes. `seen` is the highest mark that this node was answered with.
    pub fn tellings(&self, seen: Mark) -> impl Iterator<Item = Telling> + '_ {
        let mut next = 1;
        let head = self.head();
        std::iter::from_fn(move || {
            if next > self.next_seq {
                return None;
            }
            let part = self.part(&mut next);
            // A room that gave no number yet still has a head to tell.
            let done = next >= self.next_seq;
            if done {
                next = Seq::MAX;
            }
            Some(Telling { head: head.clone(), seen, part, done })
        })
    }

    fn head(&self) -> Head {
        Head {
            mark: self.mark(),
            lineage: self.descent.lineage.clone(),
            now: self.clocks.now,
            line_ms: self.clocks.line_ms,
            silence_ms: self.clocks.silence_ms,
            serving: self.serving,
            served: self.served,
            pacer: self.pacer,
            control: self.control.clone(),
            totals: self.totals,
        }
    }

    /// The numbers from `next` on that fit in one call; `next` moves behind them.
    fn part(&self, next: &mut Seq) -> Part {
        let first = *next;
        let mut end = (first + limits::RESTORE_NUMBERS_MAX).min(self.next_seq);
        let mut inside = self.passes.within(first, end);
        if let Some((seq, _)) = inside.nth(limits::RESTORE_PASSES_MAX) {
            end = seq;
        }
        *next = end;
        if first >= end {
            return Part::default();
        }
        let mut known = SeqSet::default();
        known.insert_range(first..=end - 1);
        if let Some(recovery) = &self.descent.recovery {
            known = known.intersection(&recovery.known);
        }
        let told = |(seq, pass): (Seq, &Pass)| (seq, Pass { landed: None, ..*pass });
        Part {
            known,
            waiting: self.w.within(first..=end - 1),
            once: self.once.within(first..=end - 1),
            passes: self.passes.within(first, end).map(told).collect(),
        }
    }
}
