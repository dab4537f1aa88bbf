//! Draws from the seeded generator: chances and the few distributions a crowd needs. Takes no entropy from the system.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use jari_units::Millis;

/// One person's dice. Every person has a stream of their own, so that nobody's plan hangs on how many others there are.
#[derive(Debug)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Dice(rng)
    }

    /// Evenly in [0, 1), from the 53 bits that an `f64` holds exactly.
    pub(crate) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.0.next_u64() >> 11) as f64;
        bits / (1_u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Exponential with this mean: something that is as likely to happen now as it was before.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Log-normal: half of the draws are below `median`; two thirds lie within a factor of e^`sigma` of it.
    pub(crate) fn log_normal(&mut self, median: f64, sigma: f64) -> f64 {
        // Box and Muller (1958); the second normal is thrown away: one draw must not depend on the one before.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        median * (sigma * normal).exp()
    }
}

/// Seconds as a span; negative and absurd ones are cut.
pub(crate) fn span(secs: f64) -> Millis {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    let ms = (secs * 1_000.0).round() as u64;
    Millis(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 20_000;

    fn draws(mut draw: impl FnMut(&mut Dice) -> f64) -> Vec<f64> {
        let mut dice = Dice::new(1, 0);
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw(&mut dice)).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    fn mean(drawn: &[f64]) -> f64 {
        drawn.iter().sum::<f64>() / drawn.len() as f64
    }

    #[test]
    fn distributions_have_their_shape() {
        let even = draws(Dice::unit);
        assert!(even[0] >= 0.0 && even[DRAWS - 1] < 1.0);
        assert!((mean(&even) - 0.5).abs() < 0.01, "{}", mean(&even));
        let memoryless = draws(|dice| dice.exponential(30.0));
        assert!((mean(&memoryless) - 30.0).abs() < 1.0, "{}", mean(&memoryless));
        assert!((memoryless[DRAWS / 2] - 30.0 * 2.0_f64.ln()).abs() < 1.0);
        let skewed = draws(|dice| dice.log_normal(60.0, 0.5));
        assert!((skewed[DRAWS / 2] - 60.0).abs() < 1.5, "{}", skewed[DRAWS / 2]);
        let one_sigma = skewed[DRAWS * 841 / 1_000] / 60.0;
        assert!((one_sigma - 0.5_f64.exp()).abs() < 0.06, "{one_sigma}");
    }

    #[test]
    fn streams_of_a_seed_are_unlike() {
        let first = |seed, stream| Dice::new(seed, stream).unit().to_bits();
        assert_eq!(first(1, 1), first(1, 1));
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }

    #[test]
    fn spans_never_wrap() {
        for (secs, want) in [(0.0, 0), (-5.0, 0), (1.2345, 1_235), (f64::NAN, 0)] {
            assert_eq!(span(secs), Millis(want), "{secs}");
        }
        assert_eq!(span(f64::INFINITY), Millis(u64::MAX));
    }
}
