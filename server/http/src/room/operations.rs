//! The store's operations on one room, each with the room's newest mark. Batches nothing, decides nothing.

use std::sync::Arc;

use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, JoinOutcome, LeaveOutcome,
    PassOutcome, RevokeOutcome, SeenBits,
};
use jari_ports::{Reply, StoreError};
use jari_units::{Incarnation, Mark, PassId, RoomId, SubjectKey};
use parking_lot::Mutex;

use crate::store_calls::StoreCalls;

/// A join's outcome and the incarnation its numbers belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub outcome: JoinOutcome,
    pub incarnation: Incarnation,
}

#[derive(Debug)]
pub(crate) struct Operations {
    pub(crate) room: RoomId,
    pub(crate) calls: Arc<StoreCalls>,
    /// The newest mark that any answer or event told.
    mark: Mutex<Mark>,
}

impl Operations {
    pub(crate) fn new(room: RoomId, calls: Arc<StoreCalls>) -> Self {
        Operations { room, calls, mark: Mutex::new(Mark::NONE) }
    }

    pub(crate) fn mark(&self) -> Mark {
        *self.mark.lock()
    }

    /// Takes in what the store told of itself.
    pub(crate) fn note(&self, told: Mark) {
        let mut mark = self.mark.lock();
        if !told.is_behind(&mark) {
            *mark = told;
        }
    }

    async fn run<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<Reply<T>, StoreError>>,
    ) -> Result<Reply<T>, StoreError> {
        let reply = self.calls.run(operation, call).await?;
        self.note(reply.mark);
        Ok(reply)
    }

    pub(crate) async fn join(&self, subjects: Vec<SubjectKey>) -> Result<Vec<Joined>, StoreError> {
        let call = self.calls.store.join(&self.room, self.mark(), subjects);
        let reply = self.run("join", call).await?;
        let incarnation = reply.mark.incarnation;
        Ok(reply.outcome.into_iter().map(|outcome| Joined { outcome, incarnation }).collect())
    }

    pub(crate) async fn leave(
        &self,
        subjects: Vec<SubjectKey>,
    ) -> Result<Vec<(LeaveOutcome, Mark)>, StoreError> {
        let call = self.calls.store.leave(&self.room, self.mark(), subjects);
        let reply = self.run("leave", call).await?;
        Ok(reply.outcome.into_iter().map(|outcome| (outcome, reply.mark)).collect())
    }

    pub(crate) async fn claim(&self, passes: Vec<PassId>) -> Result<Vec<PassOutcome>, StoreError> {
        let call = self.calls.store.claim(&self.room, self.mark(), passes);
        Ok(self.run("claim", call).await?.outcome)
    }

    pub(crate) async fn touch(&self, passes: Vec<PassId>) -> Result<Vec<PassOutcome>, StoreError> {
        let call = self.calls.store.touch(&self.room, self.mark(), passes);
        Ok(self.run("touch", call).await?.outcome)
    }

    pub(crate) async fn seen(&self, bits: SeenBits) -> Result<(), StoreError> {
        let call = self.calls.store.seen(&self.room, self.mark(), bits);
        self.run("seen", call).await.map(|_| ())
    }

    pub(crate) async fn admit(&self) -> Result<AdmitOutcome, StoreError> {
        let call = self.calls.store.admit(&self.room, self.mark());
        Ok(self.run("admit", call).await?.outcome)
    }

    pub(crate) async fn admit_now(
        &self,
        whom: AdmitNow,
    ) -> Result<Reply<AdmitNowOutcome>, StoreError> {
        self.run("admit_now", self.calls.store.admit_now(&self.room, self.mark(), whom)).await
    }

    pub(crate) async fn change(&self, change: Change) -> Result<Reply<ChangeOutcome>, StoreError> {
        self.run("change", self.calls.store.change(&self.room, self.mark(), change)).await
    }

    pub(crate) async fn revoke(
        &self,
        subjects: Vec<SubjectKey>,
    ) -> Result<Reply<Vec<RevokeOutcome>>, StoreError> {
        self.run("revoke", self.calls.store.revoke(&self.room, self.mark(), subjects)).await
    }
}
