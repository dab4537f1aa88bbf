//! Whose turn it is: the returned first, then the present in order, and where the frontier stands afterwards.

use jari_units::{Seq, limits};

use crate::SeqSet;

/// What calling looks at.
pub(crate) struct Look<'a> {
    /// In line or absent.
    pub waiting: &'a SeqSet,
    /// The part of it that was heard from.
    pub present: &'a SeqSet,
    /// The part of it above the frontier that was called before: they count as returned, not as in line.
    pub again: &'a SeqSet,
    pub serving: Seq,
    pub next_seq: Seq,
    pub in_lull: bool,
}

/// Whom a call would bring in.
#[derive(Debug, PartialEq)]
pub(crate) struct Turn {
    pub seqs: SeqSet,
    pub serving: Seq,
    /// Places the frontier passes: called or absent.
    pub passed: u64,
    /// The part of them that was not heard from.
    pub unseen: u64,
}

/// Calls up to `free` places.
pub(crate) fn call(look: &Look<'_>, free: u64) -> Turn {
    let returned =
        look.present.within(0..=look.serving).union(&look.present.intersection(look.again));
    let ahead = look.present.difference(&returned);
    let line = look.waiting.difference(look.again);

    let mut seqs: SeqSet = returned.iter().take_at_most(free);
    let left = free - seqs.len();
    let mut serving = look.serving;
    if left > 0 {
        let next: SeqSet = ahead.iter().take_at_most(left);
        serving = match next.max() {
            Some(last) if next.len() == left => last,
            // Everybody present was called: trailing ghosts leave the line.
            _ => look.next_seq - 1,
        };
        seqs.add_all(&next);
        if look.in_lull {
            // The frontier stops before the first unseen place: skipped, not passed.
            let unseen = line.difference(&ahead).next_after(look.serving);
            serving = serving.min(unseen.map_or(Seq::MAX, |first| first - 1));
        }
    }
    let passed = line.count_between(look.serving, serving);
    let unseen = passed - ahead.count_between(look.serving, serving);
    Turn { seqs, serving, passed, unseen }
}

impl Turn {
    /// Most of a large step unseen: an outage rather than no-shows.
    pub(crate) fn is_mass_absence(&self) -> bool {
        self.passed >= limits::MASS_ABSENCE_MIN && self.unseen * 2 > self.passed
    }
}

trait TakeAtMost {
    fn take_at_most(self, count: u64) -> SeqSet;
}

impl<I: Iterator<Item = Seq>> TakeAtMost for I {
    fn take_at_most(self, count: u64) -> SeqSet {
        self.take(usize::try_from(count).unwrap_or(usize::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(seqs: &[Seq]) -> SeqSet {
        seqs.iter().collect()
    }

    /// (waiting, present, serving, in_lull, free) -> (called, frontier, passed, unseen), with next_seq 11.
    #[test]
    fn turns() {
        type Case<'a> = (&'a [Seq], &'a [Seq], Seq, bool, u64, (&'a [Seq], Seq, u64, u64));
        let cases: &[Case<'_>] = &[
            // Nothing free: nobody called, the frontier stays.
            (&[1, 2], &[1, 2], 0, false, 0, (&[], 0, 0, 0)),
            // In order; the frontier is the last called.
            (&[1, 2, 3], &[1, 2, 3], 0, false, 2, (&[1, 2], 2, 2, 0)),
            // The unseen before the last called are passed.
            (&[1, 2, 3], &[3], 0, false, 1, (&[3], 3, 3, 2)),
            // Room for all: trailing ghosts leave too.
            (&[1, 2, 3], &[1], 0, false, 5, (&[1], 10, 3, 2)),
            // The returned come first, by number; the frontier does not move for them alone.
            (&[2, 4, 7, 8], &[2, 4, 7, 8], 5, false, 2, (&[2, 4], 5, 0, 0)),
            (&[2, 7, 8], &[2, 7, 8], 5, false, 2, (&[2, 7], 7, 1, 0)),
            // A lull: the present are called, the frontier stops before the first unseen.
            (&[1, 2, 3, 4], &[1, 3, 4], 0, true, 2, (&[1, 3], 1, 1, 0)),
            (&[2, 3], &[3], 1, true, 5, (&[3], 1, 0, 0)),
            (&[2, 3], &[2, 3], 1, true, 5, (&[2, 3], 10, 2, 0)),
        ];
        for (waiting, present, serving, in_lull, free, want) in cases {
            let look = Look {
                waiting: &set(waiting),
                present: &set(present),
                again: &SeqSet::default(),
                serving: *serving,
                next_seq: 11,
                in_lull: *in_lull,
            };
            let turn = call(&look, *free);
            let want = Turn { seqs: set(want.0), serving: want.1, passed: want.2, unseen: want.3 };
            assert_eq!(turn, want, "{waiting:?} {present:?} {serving} {in_lull} {free}");
        }
    }

    /// Someone called above the frontier who did not come is first when back, and no longer counted in line.
    #[test]
    fn called_above_the_frontier_before() {
        let look = Look {
            waiting: &set(&[3, 4, 5, 6]),
            present: &set(&[3, 5, 6]),
            again: &set(&[4, 6]),
            serving: 2,
            next_seq: 7,
            in_lull: true,
        };
        let one = call(&look, 1);
        assert_eq!(one, Turn { seqs: set(&[6]), serving: 2, passed: 0, unseen: 0 });
        let all = call(&look, 9);
        assert_eq!(all, Turn { seqs: set(&[3, 5, 6]), serving: 6, passed: 2, unseen: 0 });
    }
}
