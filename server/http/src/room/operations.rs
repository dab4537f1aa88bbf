//! The store's operations on one room, each with the room's newest mark. Batches nothing, decides nothing.

use std::sync::Arc;
use std::time::Duration;

use jari_line::{
    AdmitNow, AdmitNowOutcome, AdmitOutcome, Change, ChangeOutcome, EndOutcome, ExtendOutcome,
    JoinOutcome, LeaveOutcome, Load, PassOutcome, Past, ReattachOutcome, Receipt, RecoverOutcome,
    RedeemOutcome, RestoreOutcome, RevokeOutcome, SeenBits, Settings, SignalOutcome, Source,
    Telling, Ticket,
};
use jari_ports::{Reply, StoreError};
use jari_units::limits::ATTEND_EVERY;
use jari_units::{Incarnation, Mark, Millis, PassId, SubjectKey};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::recovery;
use crate::losses::{Defined, Losses};
use crate::store_calls::StoreCalls;
use crate::store_health::StoreHealth;

/// A node that attended does not say so again before this: half of what the store records at most, so that each record is
/// made in its time.
const ATTEND_REST: Duration = Duration::from_millis(ATTEND_EVERY.0 / 2);

/// A join's outcome and the incarnation its numbers belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub outcome: JoinOutcome,
    pub incarnation: Incarnation,
}

#[derive(Debug)]
pub(crate) struct Operations {
    pub(crate) room: Defined,
    pub(crate) calls: Arc<StoreCalls>,
    /// Of what holds this room.
    pub(crate) health: Arc<StoreHealth>,
    losses: Arc<Losses>,
    marks: Mutex<Marks>,
    /// An answer showed that the store has less than this node has seen.
    lost: Notify,
    /// In which incarnation this node has attended last, and when.
    attended: Mutex<Option<(Incarnation, Instant)>>,
}

#[derive(Debug, Default)]
struct Marks {
    /// The newest that any answer or event told.
    newest: Mark,
    /// The newest of the incarnations before its own.
    before: Mark,
}

impl Operations {
    pub(crate) fn new(
        room: Defined,
        calls: Arc<StoreCalls>,
        health: Arc<StoreHealth>,
        losses: Arc<Losses>,
    ) -> Self {
        let (marks, lost, attended) = Default::default();
        Operations { room, calls, health, losses, marks, lost, attended }
    }

    pub(crate) fn mark(&self) -> Mark {
        self.marks.lock().newest
    }

    /// Takes in what the store told of itself. Whether that is of a newer history than any before.
    pub(crate) fn note(&self, told: Mark) -> bool {
        let mut marks = self.marks.lock();
        if told.is_behind(&marks.newest) {
            return false;
        }
        let newer = told.incarnation > marks.newest.incarnation;
        if newer {
            marks.before = marks.newest;
        }
        marks.newest = told;
        newer
    }

    /// The highest mark that was answered before the present incarnation; the replica that stood at `replica` may lag
    /// behind it.
    pub(crate) fn seen_before(&self, replica: Mark) -> Mark {
        let before = self.marks.lock().before;
        if replica.is_behind(&before) { before } else { replica }
    }

    /// Waits until an answer shows that history was lost, or that the room began anew.
    pub(crate) async fn lost(&self) {
        self.lost.notified().await;
    }

    /// Whoever follows the room is to read it again.
    pub(crate) fn read_again(&self) {
        self.lost.notify_one();
    }

    pub(crate) async fn recover(
        &self,
        settings: &Settings,
        past: Past,
    ) -> Result<RecoverOutcome, StoreError> {
        let with = (&*self.calls, &*self.losses);
        recovery::recover(with, &self.room, settings.clone(), past).await
    }

    async fn run<T>(
        &self,
        operation: &'static str,
        call: impl Future<Output = Result<Reply<T>, StoreError>>,
    ) -> Result<Reply<T>, StoreError> {
        let answer = self.calls.run_on(&self.health, operation, call).await;
        match &answer {
            Ok(reply) => {
                // Another node has had it recovered. A feed may never say so: what it follows is over.
                if self.note(reply.mark) {
                    self.read_again();
                }
            }
            Err(StoreError::LostHistory(_) | StoreError::UnknownRoom(_)) => self.read_again(),
            Err(StoreError::UnknownGroup(_)) => self.losses.note(),
            Err(StoreError::Unavailable(_) | StoreError::Silent(_)) => {}
        }
        answer
    }

    pub(crate) async fn join(&self, subjects: Vec<SubjectKey>) -> Result<Vec<Joined>, StoreError> {
        let call = self.calls.store.join(&self.room.id, self.mark(), subjects);
        let reply = self.run("join", call).await?;
        let incarnation = reply.mark.incarnation;
        Ok(reply.outcome.into_iter().map(|outcome| Joined { outcome, incarnation }).collect())
    }

    /// A call for one person.
    pub(crate) async fn join_alone(&self, subject: SubjectKey) -> Result<Joined, StoreError> {
        let joined = self.join(vec![subject]).await?;
        Ok(joined.into_iter().next().expect("a store answers each of a batch"))
    }

    pub(crate) async fn leave(
        &self,
        subjects: Vec<SubjectKey>,
    ) -> Result<Vec<(LeaveOutcome, Mark)>, StoreError> {
        let call = self.calls.store.leave(&self.room.id, self.mark(), subjects);
        let reply = self.run("leave", call).await?;
        Ok(reply.outcome.into_iter().map(|outcome| (outcome, reply.mark)).collect())
    }

    pub(crate) async fn claim(&self, passes: Vec<PassId>) -> Result<Vec<PassOutcome>, StoreError> {
        let call = self.calls.store.claim(&self.room.id, self.mark(), passes);
        Ok(self.run("claim", call).await?.outcome)
    }

    pub(crate) async fn touch(&self, passes: Vec<PassId>) -> Result<Vec<PassOutcome>, StoreError> {
        let call = self.calls.store.touch(&self.room.id, self.mark(), passes);
        Ok(self.run("touch", call).await?.outcome)
    }

    pub(crate) async fn redeem(&self, ticket: Ticket) -> Result<Reply<RedeemOutcome>, StoreError> {
        self.run("redeem", self.calls.store.redeem(&self.room.id, self.mark(), ticket)).await
    }

    pub(crate) async fn extend_for_payment(
        &self,
        pass: PassId,
        span: Millis,
    ) -> Result<Reply<ExtendOutcome>, StoreError> {
        let call = self.calls.store.extend_for_payment(&self.room.id, self.mark(), pass, span);
        self.run("extend_for_payment", call).await
    }

    pub(crate) async fn end_pass(
        &self,
        passes: Vec<PassId>,
    ) -> Result<Reply<Vec<EndOutcome>>, StoreError> {
        self.run("end_pass", self.calls.store.end_pass(&self.room.id, self.mark(), passes)).await
    }

    pub(crate) async fn seen(&self, bits: SeenBits) -> Result<(), StoreError> {
        let call = self.calls.store.seen(&self.room.id, self.mark(), bits);
        self.run("seen", call).await.map(|_| ())
    }

    /// Says that this node serves the room, which has reached `mark` as far as it knows.
    pub(crate) async fn attend(&self, mark: Mark) -> Result<(), StoreError> {
        let call = self.calls.store.attend(&self.room.id, mark, self.losses.node);
        self.run("attend", call).await.map(|_| ())
    }

    /// This node's number: the source of what it measures.
    pub(crate) fn node(&self) -> Source {
        self.losses.node
    }

    pub(crate) async fn signal(
        &self,
        source: Source,
        load: Load,
        span: Millis,
    ) -> Result<Reply<SignalOutcome>, StoreError> {
        let call = self.calls.store.signal(&self.room.id, self.mark(), source, load, span);
        self.run("signal", call).await
    }

    /// The same, where it is time: the store records it seldom anyway.
    pub(crate) async fn attend_in_turn(&self) -> Result<(), StoreError> {
        let mark = self.mark();
        let rests = |(incarnation, at): &(Incarnation, Instant)| {
            *incarnation == mark.incarnation && at.elapsed() < ATTEND_REST
        };
        if self.attended.lock().as_ref().is_some_and(rests) {
            return Ok(());
        }
        self.attend(mark).await?;
        *self.attended.lock() = Some((mark.incarnation, Instant::now()));
        Ok(())
    }

    pub(crate) async fn restore(&self, telling: Telling) -> Result<RestoreOutcome, StoreError> {
        let call = self.calls.store.restore(&self.room.id, self.mark(), self.losses.node, telling);
        Ok(self.run("restore", call).await?.outcome)
    }

    pub(crate) async fn reattach(
        &self,
        receipts: Vec<Receipt>,
    ) -> Result<Vec<(ReattachOutcome, Mark)>, StoreError> {
        let call = self.calls.store.reattach(&self.room.id, self.mark(), receipts);
        let reply = self.run("reattach", call).await?;
        Ok(reply.outcome.into_iter().map(|outcome| (outcome, reply.mark)).collect())
    }

    pub(crate) async fn admit(&self) -> Result<AdmitOutcome, StoreError> {
        let call = self.calls.store.admit(&self.room.id, self.mark());
        let outcome = self.run("admit", call).await?.outcome;
        if outcome.without_group {
            self.losses.note();
        }
        if outcome.unlisted > 0 {
            let (room, people) = (&self.room.id, outcome.unlisted);
            self.calls.metrics().unlisted(people);
            tracing::error!(
                %room,
                people,
                "room {room}: the store has lost {people} of the people blocked or allowed by name: name them again                  (`jari audit --target room:{room}` has who they are)"
            );
        }
        Ok(outcome)
    }

    pub(crate) async fn admit_now(
        &self,
        whom: AdmitNow,
    ) -> Result<Reply<AdmitNowOutcome>, StoreError> {
        self.run("admit_now", self.calls.store.admit_now(&self.room.id, self.mark(), whom)).await
    }

    pub(crate) async fn change(&self, change: Change) -> Result<Reply<ChangeOutcome>, StoreError> {
        self.run("change", self.calls.store.change(&self.room.id, self.mark(), change)).await
    }

    pub(crate) async fn revoke(
        &self,
        subjects: Vec<SubjectKey>,
    ) -> Result<Reply<Vec<RevokeOutcome>>, StoreError> {
        self.run("revoke", self.calls.store.revoke(&self.room.id, self.mark(), subjects)).await
    }
}
