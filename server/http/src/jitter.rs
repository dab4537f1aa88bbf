//! Cheap numbers that spread people out. Seeded from entropy, but predictable: never for keys, ids or secrets.

use std::sync::atomic::{AtomicU64, Ordering};

use jari_ports::Entropy;

/// A source of spread that any number of threads may ask without waiting for each other.
#[derive(Debug)]
pub struct Jitter(AtomicU64);

impl Jitter {
    #[must_use]
    pub fn new(entropy: &dyn Entropy) -> Self {
        let mut seed = [0; 8];
        entropy.fill(&mut seed);
        Jitter(AtomicU64::new(u64::from_le_bytes(seed)))
    }

    /// The next number: SplitMix64 (Steele, Lea, Flood 2014), whose state is a counter.
    pub fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn next_u32(&self) -> u32 {
        (self.next() >> 32) as u32
    }

    /// A number below `end`; 0 where `end` is 0.
    pub fn below(&self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Entropy of tests: always the same bytes.
    #[derive(Debug)]
    pub(crate) struct Fixed(pub u8);

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn numbers_spread_over_the_whole_range() {
        let jitter = Jitter::new(&Fixed(7));
        let mut seen = [0u32; 10];
        (0..10_000).for_each(|_| seen[jitter.below(10) as usize] += 1);
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!(jitter.below(0), 0);
    }
}
