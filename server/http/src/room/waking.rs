//! Wakes a room that nobody is in, before a gate lets somebody walk in: its clock and its bucket stand where its last tick
//! left them, and that may be long ago.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::RoomRuntime;

/// All who come at once wait for one tick; a store that does not answer is not asked for each of them.
const AGAIN: Duration = Duration::from_millis(500);
/// A gate waits so long for it: who then finds the bucket empty waits in line for the next tick.
const PATIENCE: Duration = Duration::from_millis(500);

impl RoomRuntime {
    /// Ticks the room once if nobody is in it; then the replica knows of it.
    pub(crate) async fn wake(&self) {
        if !self.is_idle() {
            return;
        }
        let mut last = self.woken.lock().await;
        if !self.is_idle() || last.is_some_and(|at: Instant| at.elapsed() < AGAIN) {
            return;
        }
        *last = Some(Instant::now());
        let ticked = async {
            if self.operations.admit().await.is_ok() {
                self.reach(self.operations.mark()).await;
            }
        };
        _ = timeout(PATIENCE, ticked).await;
    }

    fn is_idle(&self) -> bool {
        self.read(|live| live.ledger().is_idle())
    }
}
