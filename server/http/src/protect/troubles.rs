//! Tells the operator why the site gives no answer: each is counted, and a line of the log is written now and then, for a site
//! that is down is asked by everybody. Decides nothing.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::metrics::Metrics;

/// Lines of the log for the same reason are at least so far apart.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Why there is no answer, as far as lines of the log are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Unreachable,
    /// It shows no certificate that proves that it is the site.
    Certificate,
    /// It speaks no TLS, or none that is good enough.
    Tls,
    Broken,
    /// What came is no HTTP, or has too large a head.
    NotHttp,
    Slow,
}

impl Reason {
    pub(crate) const ALL: [Reason; 6] = [
        Reason::Unreachable,
        Reason::Certificate,
        Reason::Tls,
        Reason::Broken,
        Reason::NotHttp,
        Reason::Slow,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Reason::Unreachable => "unreachable",
            Reason::Certificate => "certificate",
            Reason::Tls => "tls",
            Reason::Broken => "broken",
            Reason::NotHttp => "not_http",
            Reason::Slow => "slow",
        }
    }
}

#[derive(Debug)]
pub(super) struct Troubles {
    told: [Mutex<Told>; Reason::ALL.len()],
    metrics: Arc<Metrics>,
}

#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    left_out: u64,
}

impl Troubles {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Troubles { told: Default::default(), metrics }
    }

    /// A request got no answer.
    pub(super) fn note(&self, reason: Reason, why: &str) {
        self.metrics.site_failed(reason);
        let Some(left_out) = self.due(reason) else { return };
        let reason = reason.as_str();
        tracing::warn!(
            reason,
            why,
            left_out,
            "the site gave no answer ({reason}): {why}; {left_out} more like it since the last such line"
        );
    }

    /// How many were left out since the last line, where another is due.
    fn due(&self, reason: Reason) -> Option<u64> {
        let mut told = self.told[reason as usize].lock();
        if told.last.is_some_and(|last| last.elapsed() < LINE_EVERY) {
            told.left_out += 1;
            return None;
        }
        told.last = Some(Instant::now());
        Some(std::mem::take(&mut told.left_out))
    }
}

impl Reason {
    /// Why there is no connection: TLS is told apart, since somebody has to mend that.
    pub(super) fn of_connect(error: &(dyn Error + 'static)) -> Reason {
        match of_tls(error) {
            Some(rustls::Error::InvalidCertificate(_)) => Reason::Certificate,
            Some(_) => Reason::Tls,
            None => Reason::Unreachable,
        }
    }
}

/// What TLS says, however deep it lies. An error of I/O does not name the one in it as its cause.
fn of_tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(within) => of_tls(within),
        None => of_tls(error.source()?),
    }
}

/// An error with what caused it: the outer one alone says little.
pub(super) fn in_full(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error| (**error).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_told_now_and_then_with_how_many_were_left_out() {
        let troubles = Troubles::new(Arc::default());
        assert_eq!(troubles.due(Reason::Broken), Some(0));
        for _ in 0..3 {
            assert_eq!(troubles.due(Reason::Broken), None);
        }
        assert_eq!(troubles.due(Reason::Slow), Some(0), "another reason is told at once");
        tokio::time::advance(LINE_EVERY).await;
        assert_eq!(troubles.due(Reason::Broken), Some(3));
        assert_eq!(troubles.due(Reason::Broken), None);
    }

    #[test]
    fn a_bad_certificate_is_told_from_a_site_that_is_away() {
        let bad = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let of_io = |error: rustls::Error| io::Error::other(io::Error::other(error));
        for (error, want) in [
            (of_io(bad), Reason::Certificate),
            (of_io(rustls::Error::HandshakeNotComplete), Reason::Tls),
            (
                io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused)),
                Reason::Unreachable,
            ),
        ] {
            assert_eq!(Reason::of_connect(&error), want, "{error}");
        }
    }
}
