//! Who has which place: the index by subject, the block list and the allow list.
//!
//! The index is an extendible hash table of small buckets, each shared by `Arc`. So a checkpoint's copy copies nothing,
//! the first join after it copies one bucket, and growth splits one bucket at a time: with a million people neither
//! stalls the line (256 shards that double together, or are copied together, cost 50 to 130 ms).

use std::collections::BTreeSet;
use std::sync::Arc;

use jari_units::{Seq, SubjectKey};
use serde::{Deserialize, Serialize};

/// People in one bucket, then it splits: 1.5 KB to copy or to move at once.
const BUCKET_MAX: usize = 64;

/// Bits of the directory at most (64 MB of it). Beyond that, which is beyond half a billion people, buckets only grow.
const DEPTH_MAX: u32 = 24;

/// Share of the index that one tick clears of ended places: all of it in about four minutes.
const PRUNE_SHARE: usize = 256;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Subjects {
    index: Index,
    pub(crate) blocked: Arc<BTreeSet<SubjectKey>>,
    pub(crate) allowed: Arc<BTreeSet<SubjectKey>>,
    /// The bucket that the next tick clears first.
    prune_next: usize,
}

impl Subjects {
    pub(crate) fn seq(&self, subject: &SubjectKey) -> Option<Seq> {
        self.index.get(subject)
    }

    pub(crate) fn set(&mut self, subject: SubjectKey, seq: Seq) {
        self.index.set(subject, seq);
    }

    /// Forgets ended places in a share of the buckets. Nobody can tell: an ended place and an unknown one are the same
    /// answer.
    pub(crate) fn prune(&mut self, is_live: impl Fn(Seq) -> bool) {
        let buckets = &mut self.index.buckets;
        for _ in 0..buckets.len().div_ceil(PRUNE_SHARE) {
            self.prune_next = (self.prune_next + 1) % buckets.len();
            let bucket = &mut buckets[self.prune_next];
            if bucket.places.iter().any(|(_, seq)| !is_live(*seq)) {
                let places = &mut Arc::make_mut(bucket).places;
                places.retain(|(_, seq)| is_live(*seq));
                places.shrink_to_fit();
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SubjectKey, Seq)> + '_ {
        self.index.buckets.iter().flat_map(|bucket| bucket.places.iter().copied())
    }
}

/// Slots are numbered by the first `depth` bits of a key's hash; a bucket with fewer bits has several slots in a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Index {
    depth: u32,
    /// The bucket of each slot.
    directory: Vec<u32>,
    buckets: Vec<Arc<Bucket>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bucket {
    /// Bits of the hash that all keys here share.
    depth: u32,
    /// In order of key.
    places: Vec<(SubjectKey, Seq)>,
}

impl Default for Index {
    fn default() -> Self {
        Index { depth: 0, directory: vec![0], buckets: vec![Arc::default()] }
    }
}

/// Spreads keys whose bytes are not uniform already. Part of the stored format: never to be changed.
fn hash(key: &SubjectKey) -> u64 {
    let [a, b, c, d, e, f, g, h, rest @ ..] = key.0;
    let (low, high) = (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes(rest));
    let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The first `bits` bits.
fn first_bits(hash: u64, bits: u32) -> usize {
    hash.checked_shr(u64::BITS - bits).unwrap_or(0) as usize
}

impl Index {
    fn bucket_of(&self, hash: u64) -> usize {
        self.directory[first_bits(hash, self.depth)] as usize
    }

    fn get(&self, key: &SubjectKey) -> Option<Seq> {
        let places = &self.buckets[self.bucket_of(hash(key))].places;
        let at = places.binary_search_by_key(key, |(key, _)| *key).ok()?;
        Some(places[at].1)
    }

    fn set(&mut self, key: SubjectKey, seq: Seq) {
        let hash = hash(&key);
        loop {
            let number = self.bucket_of(hash);
            let bucket = Arc::make_mut(&mut self.buckets[number]);
            match bucket.places.binary_search_by_key(&key, |(key, _)| *key) {
                Ok(at) => return bucket.places[at].1 = seq,
                Err(_) if bucket.places.len() >= BUCKET_MAX && bucket.depth < DEPTH_MAX => {
                    self.split(number, hash);
                }
                Err(at) => return bucket.places.insert(at, (key, seq)),
            }
        }
    }

    /// Splits the bucket of `hash` by its next bit.
    fn split(&mut self, number: usize, hash_in_it: u64) {
        let shared = self.buckets[number].depth;
        if shared == self.depth {
            self.directory = self.directory.iter().flat_map(|bucket| [*bucket, *bucket]).collect();
            self.depth += 1;
        }
        let bucket = Arc::make_mut(&mut self.buckets[number]);
        let next_bit = |key: &SubjectKey| first_bits(hash(key), shared + 1) & 1 == 1;
        let (upper, lower) =
            std::mem::take(&mut bucket.places).into_iter().partition(|(key, _)| next_bit(key));
        *bucket = Bucket { depth: shared + 1, places: lower };
        let slots = 1 << (self.depth - shared);
        let first = first_bits(hash_in_it, shared) * slots;
        let new = u32::try_from(self.buckets.len()).expect("fewer buckets than slots");
        self.directory[first + slots / 2..first + slots].fill(new);
        self.buckets.push(Arc::new(Bucket { depth: shared + 1, places: upper }));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn key(number: u64) -> SubjectKey {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        SubjectKey(bytes)
    }

    fn shared_buckets(one: &Subjects, other: &Subjects) -> usize {
        let pairs = one.index.buckets.iter().zip(&other.index.buckets);
        pairs.filter(|(one, other)| Arc::ptr_eq(one, other)).count()
    }

    /// Q1: whatever its size, the index finds everybody it was told of, under the newest number.
    #[test]
    fn a_large_index_finds_everybody() {
        let mut subjects = Subjects::default();
        for number in 0..50_000 {
            subjects.set(key(number), number);
            subjects.set(key(number / 2), number);
        }
        assert_eq!(subjects.iter().count(), 50_000);
        for number in 0..25_000 {
            assert_eq!(subjects.seq(&key(number)), Some(2 * number + 1));
        }
        assert_eq!(subjects.seq(&key(50_000)), None);
        let index = &subjects.index;
        assert!(index.buckets.iter().all(|bucket| bucket.places.len() <= BUCKET_MAX));
        assert!(index.buckets.len() < 2_000, "keys spread over {} buckets", index.buckets.len());
    }

    /// What a checkpoint holds on to costs the next join one bucket.
    #[test]
    fn a_copy_shares_all_but_what_changes() {
        let mut subjects = Subjects::default();
        for number in 0..10_000 {
            subjects.set(key(number), number);
        }
        let copy = subjects.clone();
        let all = copy.index.buckets.len();
        assert_eq!(shared_buckets(&subjects, &copy), all);
        subjects.set(key(5), 77);
        assert_eq!(shared_buckets(&subjects, &copy), all - 1);
        assert_eq!((copy.seq(&key(5)), subjects.seq(&key(5))), (Some(5), Some(77)));
    }

    #[test]
    fn every_bucket_is_cleared_in_turn() {
        let mut subjects = Subjects::default();
        for number in 0..100_000 {
            subjects.set(key(number), number);
        }
        for _ in 0..PRUNE_SHARE {
            subjects.prune(|seq| seq % 10 == 0);
        }
        assert_eq!(subjects.iter().count(), 10_000);
        assert_eq!((subjects.seq(&key(70)), subjects.seq(&key(71))), (Some(70), None));
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u64..400, 0u64..1_000, prop::bool::weighted(0.02)), 0..3_000)) {
            let (mut subjects, mut map) = (Subjects::default(), BTreeMap::new());
            for (number, seq, forget) in steps {
                subjects.set(key(number), seq);
                map.insert(key(number), seq);
                if forget {
                    for _ in 0..subjects.index.buckets.len() {
                        subjects.prune(|seq| seq < 500);
                    }
                    map.retain(|_, seq| *seq < 500);
                }
            }
            prop_assert_eq!(subjects.iter().collect::<BTreeMap<_, _>>(), map);
        }
    }
}
