//! Going away: one signal for readiness, streams and the listener. Stops nothing by itself.

use tokio_util::sync::CancellationToken;

/// Begun once, when the server is told to stop.
#[derive(Clone, Debug, Default)]
pub struct Drain(CancellationToken);

impl Drain {
    pub fn begin(&self) {
        self.0.cancel();
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until it begins.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }
}
