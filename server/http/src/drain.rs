//! Going away: one signal for readiness, and after it one for streams and the listener. Stops nothing by itself.

use tokio_util::sync::CancellationToken;

/// Announced, then begun, each once, when the server is told to stop.
#[derive(Clone, Debug, Default)]
pub struct Drain {
    announced: CancellationToken,
    begun: CancellationToken,
}

impl Drain {
    /// From now on readiness says no, and everything is served as before: balancers that ask send people elsewhere.
    pub fn announce(&self) {
        self.announced.cancel();
    }

    pub fn begin(&self) {
        self.announced.cancel();
        self.begun.cancel();
    }

    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.announced.is_cancelled()
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun.is_cancelled()
    }

    /// Waits until it begins.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }
}
