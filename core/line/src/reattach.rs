//! reattach: people show the receipts of their places and passes, so that a room that lost history knows whose they are.
//! A receipt never makes anything but what it names.

use jari_units::{Incarnation, Mark, Millis, Seq, SubjectKey, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::descent::Recovery;
use crate::ledger::Ledger;
use crate::recover::above_all;
use crate::{Done, Event, LostHistory, Pass, PassGrant, Room, SeqSet};

/// A place token or pass cookie whose signature and end were found good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub subject: SubjectKey,
    pub incarnation: Incarnation,
    pub seq: Seq,
    /// When a store last confirmed the place, by the store's clock.
    pub as_of: Timestamp,
    /// A pass's cookie: which grant.
    pub pass: Option<u8>,
}

/// Outcomes in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReattachOutcome {
    Blocked,
    /// Has a live pass.
    Admitted(PassGrant),
    /// Has a place already: the receipt's, or one that counts more.
    Waiting {
        seq: Seq,
    },
    Absent {
        seq: Seq,
    },
    /// The receipt's place, attached to its owner just now.
    Restored {
        seq: Seq,
    },
    /// It names nothing that lives here.
    Ended,
}

/// What receipts changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reattached {
    pub people: Vec<(SubjectKey, Seq)>,
    /// Places that nobody else told of.
    pub waiting: SeqSet,
    /// Passes that nobody else told of, by grant.
    pub first_passes: SeqSet,
    pub second_passes: SeqSet,
    /// Places that their owner had given up for the one that counts.
    pub ended: SeqSet,
    /// Newer confirmations of places.
    pub receipts: Vec<(Seq, Timestamp)>,
    pub shown: SeqSet,
    pub oldest: Option<Incarnation>,
    pub top: Seq,
    pub next_seq: Seq,
}

/// One batch: what it has decided so far.
#[derive(Default)]
struct Batch {
    out: Reattached,
    attached: FxHashSet<Seq>,
    here: FxHashMap<SubjectKey, Seq>,
    confirmed: FxHashMap<Seq, Timestamp>,
}

impl Room {
    /// Attaches places to the people who show their receipts; at most `JOIN_BATCH_MAX`. Idempotent.
    ///
    /// Outside a recovery only a live place without an owner can be attached. In its window a number that nobody has
    /// told of comes back as well: as a place, or as the pass that a cookie names.
    ///
    /// # Errors
    /// [`LostHistory`] where the caller's mark is ahead of the room.
    pub fn reattach(
        &mut self,
        mark: Mark,
        receipts: &[Receipt],
    ) -> Result<Done<Vec<ReattachOutcome>>, LostHistory> {
        self.guard(mark)?;
        let told = self.ledger.descent.recovery.as_ref();
        let (top, next_seq) = (told.map_or(0, |told| told.top), self.ledger.next_seq);
        let mut batch = Batch {
            out: Reattached { top, next_seq, ..Reattached::default() },
            ..Batch::default()
        };
        let judged: Vec<_> =
            receipts.iter().map(|receipt| self.reattach_one(receipt, &mut batch)).collect();
        batch.out.receipts = batch.confirmed.into_iter().collect();
        batch.out.receipts.sort_unstable();
        let event = batch.out.says_more(top).then(|| Event::Reattached(Box::new(batch.out)));
        let done = self.commit((), event);
        let outcome = judged.iter().map(|judged| self.tell(judged)).collect();
        Ok(Done { outcome, mark: done.mark, event: done.event })
    }

    /// Whose place counts after this receipt, and whether it was attached by it; `None`: no place.
    fn reattach_one(&self, receipt: &Receipt, batch: &mut Batch) -> Judged {
        let (ledger, subject, seq) = (&self.ledger, receipt.subject, receipt.seq);
        let free = ledger.is_free(receipt, batch);
        let has = batch.here.get(&subject).copied().or_else(|| self.live_seq(&subject));
        let has = has.filter(|seq| !batch.out.ended.contains(*seq));
        if self.subjects.blocked.contains(&subject) {
            if free && ledger.is_live(seq) {
                batch.out.ended.insert(seq);
            }
            return Judged::Blocked;
        }
        let place = match has {
            Some(has) if has == seq && ledger.names(receipt) => {
                ledger.confirm(receipt, batch);
                Some(has)
            }
            Some(has) if free && ledger.keeps(has, seq, batch) => {
                batch.out.ended.insert(seq);
                Some(has)
            }
            Some(has) if !free => Some(has),
            None if !free => None,
            earlier => {
                batch.end(earlier);
                ledger.attach(receipt, batch);
                return Judged::Place { seq, attached: true };
            }
        };
        place.map_or(Judged::Nothing, |seq| Judged::Place { seq, attached: false })
    }

    fn tell(&self, judged: &Judged) -> ReattachOutcome {
        let Judged::Place { seq, attached } = *judged else {
            let blocked = matches!(judged, Judged::Blocked);
            return if blocked { ReattachOutcome::Blocked } else { ReattachOutcome::Ended };
        };
        match self.ledger.grant_of(seq) {
            Some(grant) => ReattachOutcome::Admitted(grant),
            // Given up for a better one later in the batch.
            None if !self.ledger.w.contains(seq) => ReattachOutcome::Ended,
            None if attached => ReattachOutcome::Restored { seq },
            None if self.ledger.was_called(seq) => ReattachOutcome::Absent { seq },
            None => ReattachOutcome::Waiting { seq },
        }
    }
}

enum Judged {
    Blocked,
    Nothing,
    Place { seq: Seq, attached: bool },
}

impl Batch {
    /// A place that its owner has given up; one that this batch made was never told to anybody.
    fn end(&mut self, earlier: Option<Seq>) {
        let Some(seq) = earlier else {
            return;
        };
        for made in [&mut self.out.waiting, &mut self.out.first_passes, &mut self.out.second_passes]
        {
            made.remove(seq);
        }
        self.out.people.retain(|(_, place)| *place != seq);
        self.confirmed.remove(&seq);
        self.out.ended.insert(seq);
    }
}

impl Reattached {
    fn says_more(&self, top: Seq) -> bool {
        !self.people.is_empty()
            || !self.ended.is_empty()
            || !self.first_passes.is_empty()
            || !self.second_passes.is_empty()
            || !self.receipts.is_empty()
            || !self.shown.is_empty()
            || self.top > top
    }
}

impl Ledger {
    /// The receipt's number may be attached: a live place without an owner, or one that nobody has told of yet.
    fn is_free(&self, receipt: &Receipt, batch: &Batch) -> bool {
        let seq = receipt.seq;
        if batch.attached.contains(&seq) || batch.out.ended.contains(seq) {
            return false;
        }
        if self.descent.unattached.contains(seq) {
            return self.names(receipt);
        }
        let lost = |told: &Recovery| !told.known.contains(seq) && !self.is_live(seq);
        self.descent.recovery.as_ref().is_some_and(lost)
            && self.may_be_ours(receipt.incarnation, seq)
    }

    /// The receipt's number means the same place here.
    pub(crate) fn names(&self, receipt: &Receipt) -> bool {
        let (incarnation, seq) = (receipt.incarnation, receipt.seq);
        self.is_ours(incarnation, seq) || self.is_recovering() && self.may_be_ours(incarnation, seq)
    }

    /// Whether someone who has the place `has` keeps it against the receipt of `seq`.
    fn keeps(&self, has: Seq, seq: Seq, batch: &Batch) -> bool {
        let recovering = self.is_recovering();
        let first_own = if recovering { batch.out.next_seq } else { self.first_own() };
        if has < first_own {
            // Two numbers of one history: the older had ended when the newer was given.
            return has > seq;
        }
        // Given since the loss, without knowing of the older number, which is the better place; only inside is better.
        self.passes.get(has).is_some()
    }

    fn attach(&self, receipt: &Receipt, batch: &mut Batch) {
        let seq = receipt.seq;
        batch.attached.insert(seq);
        batch.here.insert(receipt.subject, seq);
        batch.out.people.push((receipt.subject, seq));
        if !self.is_live(seq) {
            if receipt.pass.is_none() {
                batch.out.waiting.insert(seq);
            }
            batch.out.top = batch.out.top.max(seq + 1);
            batch.out.next_seq = batch.out.next_seq.max(above_all(seq + 1));
        }
        self.confirm(receipt, batch);
    }

    /// Notes what a receipt shows of a place that is its owner's, while the room recovers.
    fn confirm(&self, receipt: &Receipt, batch: &mut Batch) {
        let Some(told) = &self.descent.recovery else {
            return;
        };
        let (seq, incarnation) = (receipt.seq, receipt.incarnation);
        if incarnation < self.incarnation && told.oldest.is_none_or(|oldest| incarnation < oldest) {
            batch.out.oldest =
                Some(batch.out.oldest.map_or(incarnation, |old| old.min(incarnation)));
        }
        let Some(grant) = receipt.pass else {
            // Nothing was confirmed after the loss, whatever a node's clock says.
            let as_of = receipt.as_of.min(told.began);
            let known = told.receipts.get(&seq).max(batch.confirmed.get(&seq));
            if known.is_none_or(|known| as_of > *known) {
                batch.confirmed.insert(seq, as_of);
            }
            return;
        };
        if !told.shown.contains(seq) {
            batch.out.shown.insert(seq);
        }
        let step = self.passes.get(seq).map_or(0, |pass| pass.grant);
        let passed = self.once.contains(seq) && grant == 1;
        if grant > step && !passed {
            let passes = match grant {
                1 => &mut batch.out.first_passes,
                _ => &mut batch.out.second_passes,
            };
            passes.insert(seq);
        }
    }

    pub(crate) fn reattached(&mut self, event: &Reattached) {
        self.forget(&event.ended);
        let attached = event.people.iter().map(|(_, seq)| *seq);
        self.descent.unattached.remove_all(&attached.collect());
        self.w.add_all(&event.waiting);
        self.once.add_all(&event.second_passes);
        for (grant, seqs) in [(1, &event.first_passes), (2, &event.second_passes)] {
            for bits in [&mut self.w, &mut self.cur, &mut self.prev] {
                bits.remove_all(seqs);
            }
            seqs.iter().for_each(|seq| self.pass_shown(seq, grant));
        }
        // Whoever shows a receipt is here.
        let shown = event.receipts.iter().map(|(seq, _)| *seq);
        let shown = shown.chain(event.people.iter().map(|(_, seq)| *seq)).chain(event.shown.iter());
        self.cur.extend(shown.filter(|seq| self.w.contains(*seq)));
        self.raise(event.top, event.next_seq);
        if let Some(told) = &mut self.descent.recovery {
            told.known.add_all(&event.ended);
            told.shown.add_all(&event.shown);
            told.receipts.extend(event.receipts.iter().copied());
            told.oldest = match (told.oldest, event.oldest) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
        }
    }

    /// A pass that only its cookie knows of so far. Its times are settled with the window's end: until then any replica's
    /// word on them counts.
    fn pass_shown(&mut self, seq: Seq, grant: u8) {
        let none = Millis::ZERO;
        let (deadline, granted_at, claimed_at) = (none, none, Some(none));
        let (paying_since, landed) = (None, None);
        let pass = Pass { grant, deadline, granted_at, claimed_at, paying_since, landed };
        self.passes.put(seq, pass);
    }
}

#[cfg(test)]
#[path = "reattach_tests.rs"]
mod tests;
