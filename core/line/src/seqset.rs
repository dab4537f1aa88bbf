//! A set of place numbers with rank, and presence bits as the wire and Redis carry them.

use std::ops::RangeInclusive;

use jari_units::Seq;
use jari_units::limits::SEEN_MAX_BYTES;
use roaring::{RoaringBitmap, RoaringTreemap};
use serde::{Deserialize, Serialize};

/// A compressed set of place numbers; ranks and ranges cost the number of its blocks, not of its members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeqSet(RoaringTreemap);

impl SeqSet {
    pub fn insert(&mut self, seq: Seq) -> bool {
        self.0.insert(seq)
    }

    pub fn remove(&mut self, seq: Seq) -> bool {
        self.0.remove(seq)
    }

    pub fn insert_range(&mut self, range: RangeInclusive<Seq>) {
        self.0.insert_range(range);
    }

    #[must_use]
    pub fn contains(&self, seq: Seq) -> bool {
        self.0.contains(seq)
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn min(&self) -> Option<Seq> {
        self.0.min()
    }

    #[must_use]
    pub fn max(&self) -> Option<Seq> {
        self.0.max()
    }

    /// Members up to and with `seq`.
    #[must_use]
    pub fn rank(&self, seq: Seq) -> u64 {
        self.0.rank(seq)
    }

    /// Members above `low`, up to and with `high`.
    #[must_use]
    pub fn count_between(&self, low: Seq, high: Seq) -> u64 {
        if high <= low { 0 } else { self.rank(high) - self.rank(low) }
    }

    /// The lowest member above `seq`.
    #[must_use]
    pub fn next_after(&self, seq: Seq) -> Option<Seq> {
        self.0.select(self.rank(seq))
    }

    pub fn iter(&self) -> impl Iterator<Item = Seq> + '_ {
        self.0.iter()
    }

    /// Members from `first` on, ascending.
    pub fn iter_from(&self, first: Seq) -> impl Iterator<Item = Seq> + '_ {
        let mut members = self.0.iter();
        members.advance_to(first);
        members
    }

    /// Members within `range`, as a set.
    #[must_use]
    pub fn within(&self, range: RangeInclusive<Seq>) -> SeqSet {
        let mut mask = SeqSet::default();
        mask.insert_range(range);
        SeqSet(&self.0 & &mask.0)
    }

    #[must_use]
    pub fn union(&self, other: &SeqSet) -> SeqSet {
        SeqSet(&self.0 | &other.0)
    }

    #[must_use]
    pub fn intersection(&self, other: &SeqSet) -> SeqSet {
        SeqSet(&self.0 & &other.0)
    }

    #[must_use]
    pub fn difference(&self, other: &SeqSet) -> SeqSet {
        SeqSet(&self.0 - &other.0)
    }

    pub fn add_all(&mut self, other: &SeqSet) {
        self.0 |= &other.0;
    }

    pub fn remove_all(&mut self, other: &SeqSet) {
        self.0 -= &other.0;
    }
}

impl Extend<Seq> for SeqSet {
    fn extend<I: IntoIterator<Item = Seq>>(&mut self, members: I) {
        self.0.extend(members);
    }
}

impl FromIterator<Seq> for SeqSet {
    fn from_iter<I: IntoIterator<Item = Seq>>(members: I) -> Self {
        SeqSet(members.into_iter().collect())
    }
}

impl<'a> FromIterator<&'a Seq> for SeqSet {
    fn from_iter<I: IntoIterator<Item = &'a Seq>>(members: I) -> Self {
        members.into_iter().copied().collect()
    }
}

/// Presence of many places at once: one bit a place, most significant bit first, as Redis SETBIT counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenBits {
    first: Seq,
    bytes: Vec<u8>,
}

impl SeenBits {
    /// Bits for the places from `first` on. `None` where `first` is not a multiple of 8 or there are more than
    /// `SEEN_MAX_BYTES` bytes.
    #[must_use]
    pub fn new(first: Seq, bytes: Vec<u8>) -> Option<Self> {
        (first.is_multiple_of(8) && bytes.len() <= SEEN_MAX_BYTES)
            .then_some(SeenBits { first, bytes })
    }

    /// The fewest calls that carry all of `seqs`.
    #[must_use]
    pub fn pack(seqs: &SeqSet) -> Vec<SeenBits> {
        let mut calls: Vec<SeenBits> = Vec::new();
        for seq in seqs.iter() {
            let fits =
                calls.last().is_some_and(|last| (seq - last.first) / 8 < SEEN_MAX_BYTES as u64);
            if !fits {
                calls.push(SeenBits { first: seq & !7, bytes: Vec::new() });
            }
            let bits = calls.last_mut().expect("one was pushed where none fitted");
            let at = (seq - bits.first) as usize;
            if bits.bytes.len() <= at / 8 {
                bits.bytes.resize(at / 8 + 1, 0);
            }
            bits.bytes[at / 8] |= 0x80 >> (at % 8);
        }
        calls
    }

    #[must_use]
    pub fn first(&self) -> Seq {
        self.first
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The places whose bit is set. Costs the bytes, not the members.
    #[must_use]
    pub fn to_set(&self) -> SeqSet {
        let reversed: Vec<u8> = self.bytes.iter().map(|byte| byte.reverse_bits()).collect();
        // The bitmap counts in 32 bits: the part of the bytes that lies beyond goes to the next one.
        let low = self.first as u32;
        let here = ((1 << 32) - u64::from(low)) / 8;
        let (now, next) = reversed.split_at(reversed.len().min(here as usize));
        let high = (self.first >> 32) as u32;
        let parts = [
            (high, RoaringBitmap::from_lsb0_bytes(low, now)),
            (high + 1, RoaringBitmap::from_lsb0_bytes(0, next)),
        ];
        SeqSet(parts.into_iter().filter(|(_, part)| !part.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seen_bits_count_from_the_most_significant() {
        let bits = SeenBits::new(8, vec![0b1000_0001, 0b0100_0000]).expect("aligned");
        assert_eq!(bits.to_set(), [8, 15, 17].into_iter().collect());
        let far = SeenBits::new((1 << 32) - 8, vec![1, 0b1100_0000]).expect("aligned");
        assert_eq!(far.to_set(), [(1 << 32) - 1, 1 << 32, (1 << 32) + 1].into_iter().collect());
        assert_eq!(SeenBits::new(4, vec![]), None);
        assert_eq!(SeenBits::new(0, vec![0; SEEN_MAX_BYTES + 1]), None);
    }

    #[test]
    fn packing_and_unpacking_agree_across_calls() {
        let far = SEEN_MAX_BYTES as u64 * 8;
        let seqs: SeqSet = [1, 7, 8, 300, far + 7, far + 8, 3 * far].into_iter().collect();
        let calls = SeenBits::pack(&seqs);
        assert_eq!(calls.len(), 3);
        let mut back = SeqSet::default();
        calls.iter().for_each(|bits| back.add_all(&bits.to_set()));
        assert_eq!(back, seqs);
    }

    #[test]
    fn ranks_and_neighbours() {
        let set: SeqSet = [2, 5, 9].into_iter().collect();
        assert_eq!(set.count_between(2, 9), 2);
        assert_eq!(set.count_between(9, 2), 0);
        assert_eq!(set.next_after(0), Some(2));
        assert_eq!(set.next_after(2), Some(5));
        assert_eq!(set.next_after(9), None);
        assert_eq!(set.iter_from(3).collect::<Vec<_>>(), vec![5, 9]);
        assert_eq!(set.within(3..=9), [5, 9].into_iter().collect());
    }
}
