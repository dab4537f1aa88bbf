//! Whose notice belongs to which call, and how long it took. A call admits the lowest numbers, so people in order of
//! their numbers go with the calls in order of time.

use hdrhistogram::Histogram;
use tokio::time::Instant;

use super::allow::Call;
use crate::found::{latencies, note};

/// A notice that came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noticed {
    pub(super) seq: u64,
    /// When the stream was asked for: who was called before it cannot hear of it sooner.
    pub(super) asked: Instant,
    pub(super) at: Instant,
}

/// The notices of all calls.
#[derive(Debug)]
pub(super) struct Notices {
    /// From a call being sent to the notice at the client.
    pub(super) latencies: Histogram<u64>,
    /// The same for each call.
    pub(super) by_call: Vec<Histogram<u64>>,
    /// Notices that came before the call they are held to belong to: the order was not as expected.
    pub(super) out_of_order: u64,
}

impl Notices {
    pub(super) fn new(calls: &[Call], mut noticed: Vec<Noticed>) -> Notices {
        noticed.sort_by_key(|one| one.seq);
        let (mut all, mut by_call, mut out_of_order) = (latencies(), Vec::new(), 0);
        let mut noticed = noticed.into_iter();
        for call in calls {
            let mut own = latencies();
            for one in noticed.by_ref().take(usize::try_from(call.called).unwrap_or(usize::MAX)) {
                let from = call.sent.max(one.asked);
                out_of_order += u64::from(one.at < call.sent);
                let took = one.at.saturating_duration_since(from);
                note(&mut own, took);
                note(&mut all, took);
            }
            by_call.push(own);
        }
        Notices { latencies: all, by_call, out_of_order }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Duration;

    use super::*;
    use crate::found::ms;

    #[test]
    fn notices_go_with_the_calls_that_admitted_them() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let call =
            |from, called| Call { due: at(from), sent: at(from), answered: at(from), called };
        let calls = [call(1_000, 2), call(2_000, 0), call(3_000, 3)];
        let noticed = |seq, asked, came| Noticed { seq, asked: at(asked), at: at(came) };
        // Told in any order. The last of the first call took longer than a second; the last of all opened its stream late.
        let people = vec![
            noticed(5, 3_400, 3_410),
            noticed(1, 0, 1_010),
            noticed(4, 0, 3_030),
            noticed(2, 0, 2_500),
            noticed(3, 0, 3_020),
        ];
        let notices = Notices::new(&calls, people);
        assert_eq!((notices.latencies.len(), notices.out_of_order), (5, 0));
        let longest: Vec<f64> = notices.by_call.iter().map(|call| ms(call, 1.0).round()).collect();
        assert_eq!(longest[0], 1_500.0);
        assert_eq!((notices.by_call[1].len(), longest[2]), (0, 30.0));
        let early = Notices::new(&calls, vec![noticed(1, 0, 900)]);
        assert_eq!(early.out_of_order, 1);
    }
}
