//! Whether the store answers for one room, where nothing else asks it: a room that nobody uses makes no calls, and a gate has
//! to know. Decides nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jari_ports::StoreError;
use jari_units::Mark;
use tokio::time::sleep;

use super::RoomEntry;

/// Between two questions while it does not answer.
const ASK_EVERY: Duration = Duration::from_secs(1);

impl RoomEntry {
    /// For how long the store has not answered for this room; `None` where it did, or nobody knows.
    #[must_use]
    pub fn down_for(&self) -> Option<Duration> {
        self.health.down_for().filter(|_| self.health.is_known())
    }

    /// For how long it has refused every call on this room; `None` where it did not, or nobody knows.
    #[must_use]
    pub fn refusing_for(&self) -> Option<Duration> {
        self.health.refusing_for().filter(|_| self.health.is_known())
    }

    /// Whether anybody heard lately how the store answers for this room.
    #[must_use]
    pub(crate) fn is_known(&self) -> bool {
        self.health.is_known()
    }

    /// Asks what holds this room for a sign that it answers and takes writes; changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn reach(&self) -> Result<(), StoreError> {
        let id = self.definition().id.clone();
        self.calls.run_on(&self.health, "reach", self.calls.store.reach(&id)).await
    }

    /// Makes known how the store answers for this room: asks where nobody did lately, and goes on until there is an answer.
    /// Does not wait for it.
    pub(crate) fn watch(self: &Arc<Self>) {
        let answers = self.health.is_known() && self.health.down_for().is_none();
        if answers || self.watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let entry = self.clone();
        let asking = async move {
            while !entry.answers().await {
                sleep(ASK_EVERY).await;
            }
            entry.watched.store(false, Ordering::Release);
        };
        tokio::spawn(self.stop.clone().run_until_cancelled_owned(asking));
    }

    async fn answers(&self) -> bool {
        let id = self.definition().id.clone();
        let nobody = self.calls.store.join(&id, Mark::NONE, Vec::new());
        // Any answer is one, also that there is no such room.
        _ = self.calls.run_on(&self.health, "find", nobody).await;
        self.health.down_for().is_none()
    }
}
