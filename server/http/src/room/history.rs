//! Calls on single places and passes that a room which lost history could answer wrongly: until it has been told what this
//! node knows, it knows nothing of them, and would have the end of what nobody ended acknowledged. Their answers count where
//! the room was in one history from before the call to after it.

use jari_line::{LeaveOutcome, LostHistory, PassOutcome};
use jari_ports::StoreError;
use jari_units::{Incarnation, Mark, PassId, Seq, SubjectKey};

use super::RoomRuntime;
use super::batcher::BatchError;

impl RoomRuntime {
    /// Ends a subject's place or pass, whose number is `seq`; then the replica knows of it.
    ///
    /// # Errors
    /// [`BatchError`].
    pub async fn leave(&self, subject: SubjectKey, seq: Seq) -> Result<LeaveOutcome, BatchError> {
        let history = self.history();
        let (outcome, mark) = self.leaves.ask(subject).await?;
        self.still_in(history)?;
        if outcome != LeaveOutcome::Unknown {
            self.goodbyes.note(seq, mark, *self.reached.borrow());
        }
        self.reach(mark).await;
        Ok(outcome)
    }

    /// First use of a pass.
    ///
    /// # Errors
    /// [`BatchError`].
    pub async fn claim(&self, pass: PassId) -> Result<PassOutcome, BatchError> {
        let history = self.history();
        let outcome = self.claims.ask(pass).await?;
        self.still_in(history)?;
        Ok(outcome)
    }

    /// Slides a pass's end at once; where that can wait, [`RoomRuntime::note_use`].
    ///
    /// # Errors
    /// [`BatchError`].
    pub async fn touch(&self, pass: PassId) -> Result<PassOutcome, BatchError> {
        let history = self.history();
        let outcome = self.touches.ask(pass).await?;
        self.still_in(history)?;
        Ok(outcome)
    }

    /// The one that the replica is of.
    pub(super) fn history(&self) -> Incarnation {
        self.reached.borrow().incarnation
    }

    /// # Errors
    /// `LostHistory` where any answer by now was of another history.
    pub(super) fn still_in(&self, history: Incarnation) -> Result<(), StoreError> {
        let store = self.operations.mark();
        if store.incarnation == history {
            return Ok(());
        }
        let caller = Mark { incarnation: history, ..store };
        Err(LostHistory { store, caller }.into())
    }
}
