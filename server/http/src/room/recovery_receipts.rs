//! Receipts that people show: handed on to a store that lost history, or has a place without its owner. Checks no
//! signature: the caller did.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jari_line::{Past, ReattachOutcome, Receipt};
use jari_ports::StoreError;
use jari_units::Mark;

use super::{BatchError, RoomRuntime};

impl RoomRuntime {
    /// Hands a receipt on where the store may learn something by it; then the replica knows of it. `None`: nothing was to
    /// be learned.
    ///
    /// # Errors
    /// [`BatchError`]; show it again.
    pub async fn show(&self, receipt: Receipt) -> Result<Option<ReattachOutcome>, BatchError> {
        if !self.read(|live| live.ledger().wants(&receipt)) {
            return Ok(None);
        }
        let (outcome, mark) = self.receipts.ask(receipt).await?;
        self.reach(mark).await;
        Ok(Some(outcome))
    }

    /// A token names history that this replica has not reached. Where it does not get there, the store is asked whether it
    /// knows that much; if not, it has lost it. One such question at a time.
    pub(crate) fn suspect(self: &Arc<Self>, mark: Mark) {
        if self.suspecting.swap(true, Ordering::AcqRel) {
            return;
        }
        let runtime = self.clone();
        let asking = async move {
            if !runtime.reach(mark).await {
                runtime.ask_for(mark).await;
            }
            runtime.suspecting.store(false, Ordering::Release);
        };
        tokio::spawn(self.stop.clone().run_until_cancelled_owned(asking));
    }

    async fn ask_for(&self, mark: Mark) {
        let operations = self.operations();
        let Err(StoreError::LostHistory(_)) = operations.attend(mark).await else {
            return;
        };
        let past = Past { mark, origin: None };
        match operations.recover(&self.settings(), past).await {
            Ok(_) => operations.read_again(),
            Err(error) => {
                let room = self.id();
                tracing::warn!(%room, %error, "room {room} lost history and cannot be recovered yet: {error}");
            }
        }
    }
}
