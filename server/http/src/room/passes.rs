//! What a site does with passes, straight to the store: its calls are batches already. What the gate does gathers in the
//! room's own batches.

use jari_line::{EndOutcome, ExtendOutcome, PassOutcome, RedeemOutcome, Ticket};
use jari_ports::StoreError;
use jari_units::{Millis, PassId};

use super::RoomRuntime;

impl RoomRuntime {
    /// Slides the ends of passes, at most `JOIN_BATCH_MAX`.
    ///
    /// # Errors
    /// The store's.
    pub async fn touch_together(
        &self,
        passes: Vec<PassId>,
    ) -> Result<Vec<PassOutcome>, StoreError> {
        let history = self.history();
        let outcomes = self.operations().touch(passes).await?;
        self.still_in(history)?;
        Ok(outcomes)
    }

    /// Redeems a one-time token; then the replica knows of it, so that the next one is above it.
    ///
    /// # Errors
    /// The store's.
    pub async fn redeem(&self, ticket: Ticket) -> Result<RedeemOutcome, StoreError> {
        let history = self.history();
        let reply = self.operations().redeem(ticket).await?;
        self.still_in(history)?;
        self.settled(reply).await
    }

    /// Keeps a pass while its owner pays.
    ///
    /// # Errors
    /// The store's.
    pub async fn extend_for_payment(
        &self,
        pass: PassId,
        span: Millis,
    ) -> Result<ExtendOutcome, StoreError> {
        let history = self.history();
        let reply = self.operations().extend_for_payment(pass, span).await?;
        self.still_in(history)?;
        self.settled(reply).await
    }

    /// Ends passes, at most `JOIN_BATCH_MAX`; then the replica knows of it.
    ///
    /// # Errors
    /// The store's.
    pub async fn end_passes(&self, passes: Vec<PassId>) -> Result<Vec<EndOutcome>, StoreError> {
        let history = self.history();
        let reply = self.operations().end_pass(passes).await?;
        self.still_in(history)?;
        self.settled(reply).await
    }
}
