//! restore: what a node's replica knows is merged into a room that recovers. In any order, any number of times, it
//! comes to the same: each place takes the furthest step that anybody tells of, and to have ended is the furthest.

use jari_units::{Incarnation, Mark, NodeId, Seq};
use serde::{Deserialize, Serialize};

use crate::descent::{Lineage, Recovery};
use crate::ledger::Ledger;
use crate::recover::above_all;
use crate::telling::{Head, Part, Telling};
use crate::{Done, Event, LostHistory, Pass, Room, SeqSet};

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreOutcome {
    /// The room does not recover, or not any more: what it was not told in time has ended.
    Late,
    /// The replica is of another life of the room, or of this very history: it has nothing to add.
    Foreign,
    Merged,
}

/// What a telling changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Restored {
    pub known: SeqSet,
    /// Places and passes that were thought to live.
    pub ended: SeqSet,
    /// Places that wait from here on; a pass of theirs had run out.
    pub waiting: SeqSet,
    pub once: SeqSet,
    /// Passes as they are from here on.
    pub passes: Vec<(Seq, Pass)>,
    /// A newer one than any before.
    pub head: Option<Box<Head>>,
    pub top: Seq,
    pub next_seq: Seq,
    /// The node has told everything.
    pub done: Option<NodeId>,
}

impl Room {
    /// Merges a telling. Outcomes: late | foreign | merged.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn restore(
        &mut self,
        mark: Mark,
        node: NodeId,
        telling: &Telling,
    ) -> Result<Done<RestoreOutcome>, LostHistory> {
        self.guard(mark)?;
        let ledger = &self.ledger;
        let Some(told) = &ledger.descent.recovery else {
            return Ok(self.commit(RestoreOutcome::Late, None));
        };
        if !ledger.is_of_this_life(&telling.head) {
            return Ok(self.commit(RestoreOutcome::Foreign, None));
        }
        let mut restored = ledger.merge(told, &telling.part);
        let newer = (telling.head.mark.incarnation, telling.head.mark.event_no) > told.told;
        restored.head = newer.then(|| Box::new(telling.head.clone()));
        restored.top = told.top.max(telling.seen.next_seq).max(telling.head.mark.next_seq);
        restored.next_seq = ledger.next_seq.max(above_all(restored.top));
        let awaited = told.awaited.as_ref().is_some_and(|nodes| nodes.contains(&node));
        restored.done = (telling.done && awaited).then_some(node);
        let event = restored.says_more(told).then(|| Event::Restored(Box::new(restored)));
        Ok(self.commit(RestoreOutcome::Merged, event))
    }
}

impl Restored {
    fn says_more(&self, told: &Recovery) -> bool {
        let places = [&self.known, &self.ended, &self.waiting, &self.once];
        places.iter().any(|set| !set.is_empty())
            || !self.passes.is_empty()
            || self.head.is_some()
            || self.done.is_some()
            || self.top > told.top
    }
}

impl Ledger {
    /// Histories of one life overlap: the replica's reaches into the one that this room goes on from.
    fn is_of_this_life(&self, head: &Head) -> bool {
        let Lineage { origin, begins } = &self.descent.lineage;
        let first = origin.map_or(Incarnation::MIN, |origin| origin);
        // Its newest incarnation before this one: anything up to it may be gone on from.
        let parent = begins.iter().rev().nth(1).map_or(first, |(began, _)| *began);
        let unknown = origin.is_none();
        let older = head.mark.incarnation < self.incarnation;
        older && head.mark.incarnation >= first && (unknown || head.origin() <= parent.max(first))
    }

    /// What `part` adds to what has been told. Costs the part's blocks and passes, not its places.
    fn merge(&self, told: &Recovery, part: &Part) -> Restored {
        let inside_there: SeqSet = part.passes.iter().map(|(seq, _)| *seq).collect();
        let alive = part.waiting.union(&inside_there);
        let here = self.inside_among(&part.known.union(&alive));
        let live_here = self.w.union(&here);
        let ended = part.known.difference(&alive).intersection(&live_here);
        let dead = alive.intersection(&told.known).difference(&live_here);

        let mut waiting = part.waiting.difference(&self.w).difference(&dead);
        for seq in waiting.intersection(&here).iter() {
            // A pass here is a step further than a place there, unless it has run out there for the first time.
            let ran_out = part.once.contains(seq);
            if !ran_out || self.passes.get(seq).is_none_or(|pass| pass.grant != 1) {
                waiting.remove(seq);
            }
        }
        let mut passes = Vec::new();
        for (seq, pass) in part.passes.iter().filter(|(seq, _)| !dead.contains(*seq)) {
            let after = match self.passes.get(*seq) {
                Some(here) => merged_pass(here, pass),
                None if self.once.contains(*seq) && pass.grant == 1 => continue,
                None => *pass,
            };
            let here = self.passes.get(*seq).map(|here| Pass { landed: None, ..*here });
            if here != Some(after) {
                passes.push((*seq, after));
            }
        }
        let known = part.known.difference(&told.known);
        let once = part.once.difference(&self.once).difference(&dead);
        Restored { known, ended, waiting, once, passes, ..Restored::default() }
    }

    /// The part of `seqs` that is inside.
    fn inside_among(&self, seqs: &SeqSet) -> SeqSet {
        let (Some(first), Some(last)) = (seqs.min(), seqs.max()) else {
            return SeqSet::default();
        };
        let inside = self.passes.within(first, last + 1).map(|(seq, _)| seq);
        inside.filter(|seq| seqs.contains(*seq)).collect()
    }

    pub(crate) fn restored(&mut self, restored: &Restored) {
        let inside: SeqSet = restored.passes.iter().map(|(seq, _)| *seq).collect();
        let told = restored.waiting.union(&inside);
        let new = told.difference(&self.w).difference(&self.inside_among(&told));
        self.forget(&restored.ended);
        for seq in restored.waiting.iter() {
            self.passes.remove(seq);
        }
        self.w.add_all(&restored.waiting);
        let shown = |seq: &Seq| {
            let told = self.descent.recovery.as_ref();
            told.is_some_and(|told| told.receipts.contains_key(seq) || told.shown.contains(*seq))
        };
        self.cur.extend(restored.waiting.iter().filter(shown));
        self.once.add_all(&restored.once);
        for bits in [&mut self.w, &mut self.cur, &mut self.prev] {
            bits.remove_all(&inside);
        }
        for (seq, pass) in &restored.passes {
            // What was redeemed since the loss stays so.
            let here = self.passes.get(*seq).filter(|here| here.grant == pass.grant);
            let landed = here.and_then(|here| here.landed);
            self.passes.put(*seq, Pass { landed, ..*pass });
        }
        self.descent.unattached.add_all(&new);
        self.raise(restored.top, restored.next_seq);
        if let Some(told) = &mut self.descent.recovery {
            told.known.add_all(&restored.known);
            if let (Some(node), Some(awaited)) = (restored.done, &mut told.awaited) {
                awaited.remove(&node);
            }
        }
        if let Some(head) = &restored.head {
            self.take_head(head);
        }
    }

    /// Places that never were, as far as counts go: they ended in a history that is not this one.
    pub(crate) fn forget(&mut self, seqs: &SeqSet) {
        for bits in [&mut self.w, &mut self.cur, &mut self.prev, &mut self.once] {
            bits.remove_all(seqs);
        }
        self.descent.unattached.remove_all(seqs);
        for seq in seqs.iter() {
            self.passes.remove(seq);
        }
    }

    /// The room as a whole as the newest replica has it. The bucket stays: it fills by this history's time only.
    fn take_head(&mut self, head: &Head) {
        self.serving = head.serving;
        self.served = head.served;
        let operated = self.descent.recovery.as_ref().is_some_and(|told| told.operated);
        if !operated {
            self.control = head.control.clone();
        }
        self.totals = head.totals;
        self.pacer = head.pacer;
        self.clocks.line_ms = self.clocks.line_ms.max(head.line_ms);
        self.clocks.silence_ms = self.clocks.silence_ms.max(head.silence_ms);
        self.clocks.window_start = self.clocks.silence_ms;
        let own = self.descent.lineage.begins.pop();
        self.descent.lineage =
            Lineage { origin: Some(head.origin()), begins: head.lineage.begins.clone() };
        if let Some((incarnation, first)) = own {
            self.descent.lineage.begin(incarnation, first);
        }
        if let Some(told) = &mut self.descent.recovery {
            told.told = (head.mark.incarnation, head.mark.event_no);
            told.told_at = told.told_at.max(head.now);
        }
    }
}

/// Two tellings of one place's pass: the second grant is the later one; of one grant, whatever happened to it counts.
fn merged_pass(one: &Pass, other: &Pass) -> Pass {
    if one.grant != other.grant {
        let later = if one.grant > other.grant { one } else { other };
        return Pass { landed: None, ..*later };
    }
    Pass {
        grant: one.grant,
        deadline: one.deadline.max(other.deadline),
        granted_at: one.granted_at.max(other.granted_at),
        claimed_at: one.claimed_at.max(other.claimed_at),
        paying_since: one.paying_since.max(other.paying_since),
        // No telling speaks of it: tokens of before the loss are not good after it.
        landed: None,
    }
}

#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
