//! Which calls are traced: a share of our own, and those whose callers ask for it, up to a limit. Makes no span.

use std::sync::atomic::{AtomicU64, Ordering};

use jari_ports::Entropy;
use tokio::time::Instant;

use super::traceparent::Traceparent;
use crate::jitter::Jitter;

/// Calls per second that are traced because their callers say so: enough for a person who looks for something, too few for
/// a stranger to make us work. Beyond it they have the same chance as others.
const ASKED_FOR_PER_S_MAX: u64 = 50;

/// The share of calls that are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRatio {
    /// Of 2^63: what OpenTelemetry's own ratio sampler compares the trace id's lower half with.
    below: u64,
}

impl SampleRatio {
    /// From 0 (none) to 1 (all); what lies outside is taken to the nearer end.
    #[must_use]
    pub fn of(ratio: f64) -> Self {
        // NaN becomes 0.
        let below = (ratio.clamp(0.0, 1.0) * (1u64 << 63) as f64) as u64;
        SampleRatio { below }
    }

    fn takes(self, low: u64) -> bool {
        low >> 1 < self.below
    }
}

#[derive(Debug)]
pub(super) struct Sampler {
    ratio: SampleRatio,
    ids: Jitter,
    epoch: Instant,
    /// The second since `epoch` in the upper half, calls traced in it on demand in the lower.
    asked_for: AtomicU64,
}

impl Sampler {
    pub(super) fn new(ratio: SampleRatio, entropy: &dyn Entropy) -> Self {
        let ids = Jitter::new(entropy);
        Sampler { ratio, ids, epoch: Instant::now(), asked_for: AtomicU64::new(0) }
    }

    /// A new trace's id, where it is this one's turn.
    pub(super) fn own(&self) -> Option<[u8; 16]> {
        let low = self.ids.next();
        self.ratio.takes(low).then(|| {
            let mut trace = [0; 16];
            trace[..8].copy_from_slice(&self.ids.next().to_be_bytes());
            // Not zero, whatever the numbers say.
            trace[8..].copy_from_slice(&(low | 1).to_be_bytes());
            trace
        })
    }

    /// Whether a call goes on its caller's trace.
    pub(super) fn takes(&self, caller: &Traceparent) -> bool {
        let low = caller.trace[8..].try_into().expect("eight of sixteen bytes");
        caller.sampled && (self.ratio.takes(u64::from_be_bytes(low)) || self.may_ask())
    }

    pub(super) fn span_id(&self) -> [u8; 8] {
        (self.ids.next() | 1).to_be_bytes()
    }

    fn may_ask(&self) -> bool {
        let second = self.epoch.elapsed().as_secs() << 32;
        let one_more = |seen: u64| {
            let count = if seen & !0xffff_ffff == second { seen & 0xffff_ffff } else { 0 };
            (count < ASKED_FOR_PER_S_MAX).then_some(second | (count + 1))
        };
        self.asked_for.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::jitter::tests::Fixed;

    fn sampler(ratio: f64) -> Sampler {
        Sampler::new(SampleRatio::of(ratio), &Fixed(7))
    }

    fn asking(sampled: bool) -> Traceparent {
        Traceparent { trace: [0xff; 16], span: [1; 8], sampled }
    }

    #[tokio::test(start_paused = true)]
    async fn the_share_is_what_was_asked_for() {
        for (ratio, from, to) in [
            (0.0, 0, 0),
            (0.1, 9_000, 11_000),
            (1.0, 100_000, 100_000),
            (f64::NAN, 0, 0),
            (7.0, 100_000, 100_000),
        ] {
            let sampler = sampler(ratio);
            let taken = (0..100_000).filter(|_| sampler.own().is_some()).count();
            assert!((from..=to).contains(&taken), "{ratio}: {taken}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn callers_are_heard_up_to_a_limit_a_second() {
        let sampler = sampler(0.0);
        assert!(!sampler.takes(&asking(false)));
        let taken = || (0..1_000).filter(|_| sampler.takes(&asking(true))).count() as u64;
        assert_eq!((taken(), taken()), (ASKED_FOR_PER_S_MAX, 0));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(taken(), ASKED_FOR_PER_S_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn with_all_traced_no_caller_is_turned_down_but_who_says_no() {
        let sampler = sampler(1.0);
        assert!((0..1_000).all(|_| sampler.takes(&asking(true))));
        assert!(!sampler.takes(&asking(false)));
    }
}
