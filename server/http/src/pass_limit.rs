//! Requests per pass at the gate: a pass that many programs share is no person's. In memory, and on each node by itself.

use jari_api::Code;
use jari_pass::PassToken;
use jari_ports::Entropy;

use crate::options::PassLimit;
use crate::problem_response::Refusal;
use crate::rate_cells::{PER_SECOND, Pace, RateCells};

#[derive(Debug)]
pub(crate) struct PassLimiter(RateCells);

impl PassLimiter {
    #[must_use]
    pub(crate) fn new(limit: PassLimit, entropy: &dyn Entropy) -> Self {
        let PassLimit { per_s, burst } = limit;
        PassLimiter(RateCells::new(Pace { count: per_s, span: PER_SECOND, burst }, entropy))
    }

    /// Counts a request with this pass.
    ///
    /// # Errors
    /// 429 `too_many_requests`; this one does not count.
    pub(crate) fn request(&self, token: &PassToken) -> Result<(), Refusal> {
        let pass = (token.room.as_str(), token.pass.incarnation, token.pass.seq);
        let counted = self.0.count(pass);
        counted.map_err(|after| Refusal::new(Code::TooManyRequests).poll_after(after))
    }
}

#[cfg(test)]
mod tests {
    use jari_units::{PassId, SubjectKey, Timestamp};

    use super::*;
    use crate::jitter::tests::Fixed;

    fn pass(seq: u64, room: &str) -> PassToken {
        PassToken {
            room: room.parse().expect("an id"),
            pass: PassId { incarnation: 1, seq, grant: 1 },
            subject: SubjectKey([1; 16]),
            issued_at: Timestamp(0),
            expires_at: Timestamp(1_000),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_pass_has_its_own_pace() {
        let limiter = PassLimiter::new(PassLimit { per_s: 5, burst: 20 }, &Fixed(3));
        let taken = |pass: &PassToken| (0..99).filter(|_| limiter.request(pass).is_ok()).count();
        let one = pass(1, "shop");
        assert_eq!(taken(&one), 20);
        // A renewed cookie, and a second chance, are the same person's.
        let renewed = PassToken { expires_at: Timestamp(9_000), ..one.clone() };
        assert_eq!(taken(&renewed), 0);
        assert_eq!((taken(&pass(2, "shop")), taken(&pass(1, "show"))), (20, 20));
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert_eq!(taken(&one), 5);
        let off = PassLimiter::new(PassLimit { per_s: 0, burst: 1 }, &Fixed(3));
        assert!((0..10_000).all(|_| off.request(&one).is_ok()));
    }
}
