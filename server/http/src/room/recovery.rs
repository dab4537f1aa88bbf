//! A room that lost history is brought back: the node that notices asks the store for a recovery, reads the room, tells
//! what its older replica knew. What counts, the store decides. Hands on no receipts.

use std::sync::Arc;
use std::time::Duration;

use jari_line::{Loss, LostHistory, Past, RecoverOutcome, RestoreOutcome, Settings};
use jari_ports::StoreError;
use jari_units::{Incarnation, Mark};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::operations::Operations;
use super::{Live, RoomRuntime};
use crate::losses::{Defined, Losses};
use crate::store_calls::StoreCalls;

/// Between two tries to tell a store that does not answer: short against the window, at most twice it.
const RETRY: Duration = Duration::from_millis(500);

/// Opens a recovery of a room that is defined in control.
///
/// # Errors
/// The store's; `UnknownRoom` where control does not define the room any more.
pub(crate) async fn recover(
    (calls, losses): (&StoreCalls, &Losses),
    room: &Defined,
    settings: Settings,
    past: Past,
) -> Result<RecoverOutcome, StoreError> {
    losses.check(room).await?;
    let id = &room.id;
    let recover = calls.store.recover(id, settings, Loss::Seen(past), losses.node);
    let outcome = calls.run("recover", recover).await?.outcome;
    match outcome {
        RecoverOutcome::Began => {
            losses.note();
            tracing::error!(room = %id, "room {id}: the store lost history; the line is being put together again");
        }
        RecoverOutcome::UnderWay => {
            losses.note();
            tracing::warn!(room = %id, "room {id}: the store lost history; a recovery is under way");
        }
        RecoverOutcome::Asking => {
            tracing::info!(room = %id, "room {id}: another copy of the store answers; all nodes are asked whether it lacks anything");
        }
        RecoverOutcome::NothingLost => {}
    }
    Ok(outcome)
}

/// Reads a room. Where the store has less of it than this node has seen, or nothing, a recovery begins first. `past` is
/// that of the replica.
///
/// # Errors
/// The store's; `LostHistory` while nodes are asked whether anything was lost. Read again until it says something else.
pub(super) async fn read(
    operations: &Operations,
    settings: &Settings,
    past: Past,
) -> Result<Live, StoreError> {
    let (calls, room) = (&operations.calls, &operations.room.id);
    let seen = operations.mark();
    let read = async || calls.run_on(&operations.health, "read", calls.store.read(room)).await;
    let reply = match read().await {
        Ok(reply) if !reply.mark.is_behind(&seen) => reply,
        Ok(_) | Err(StoreError::UnknownRoom(_) | StoreError::LostHistory(_)) => {
            operations.recover(settings, Past { mark: seen, ..past }).await?;
            read().await?
        }
        Err(error) => return Err(error),
    };
    if reply.mark.is_behind(&seen) {
        return Err(LostHistory { store: reply.mark, caller: seen }.into());
    }
    operations.note(reply.mark);
    Ok(Live::new(reply.outcome))
}

/// How far the replica's room goes back, as far as it knows.
pub(super) fn past(live: &Live) -> Past {
    let ledger = live.ledger();
    let lineage = &ledger.descent().lineage;
    let origin = if ledger.is_recovering() { lineage.origin } else { Some(ledger.origin()) };
    Past { mark: ledger.mark(), origin }
}

/// The replica of before a loss, for as long as the window is open.
#[derive(Debug, Default)]
pub(super) struct Recovery(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    older: Option<Arc<Live>>,
    /// The recovery that it is, or was, told to.
    told: Incarnation,
}

impl Recovery {
    /// The room was read anew: as `new`, which recovers or not. What is to be told to it, and was not yet.
    pub(super) fn replaced(&self, old: Live, new: Mark, recovering: bool) -> Option<Arc<Live>> {
        let mut kept = self.0.lock();
        if !recovering {
            kept.older = None;
            return None;
        }
        if old.ledger().mark().incarnation == new.incarnation {
            return None;
        }
        // Lost again in the window: the first replica is the one that knows.
        let older = kept.older.get_or_insert_with(|| Arc::new(old)).clone();
        let first = std::mem::replace(&mut kept.told, new.incarnation) != new.incarnation;
        first.then_some(older)
    }

    /// The window is over.
    pub(super) fn ended(&self) {
        self.0.lock().older = None;
    }
}

/// Tells the store all that `older` knew. Repeats what failed, and ends where nothing more can come of it.
pub(super) async fn tell(runtime: Arc<RoomRuntime>, older: Arc<Live>) {
    let (operations, room) = (runtime.operations(), runtime.id());
    let seen = operations.seen_before(older.ledger().mark());
    let mut tellings = older.ledger().tellings(seen);
    let mut next = tellings.next();
    let mut told = 0;
    while let Some(telling) = &next {
        match operations.restore(telling.clone()).await {
            Ok(RestoreOutcome::Merged) => {
                told += 1;
                next = tellings.next();
            }
            Ok(outcome @ (RestoreOutcome::Late | RestoreOutcome::Foreign)) => {
                tracing::warn!(%room, "room {room}: what this node knew came to nothing: {outcome:?}");
                return;
            }
            // Lost again; whoever reads the room next tells that recovery.
            Err(StoreError::LostHistory(_) | StoreError::UnknownRoom(_)) => return,
            Err(error) => {
                tracing::debug!(%room, %error, "room {room}: telling what was known is tried again: {error}");
                let spread = runtime.jitter().below(RETRY.as_millis() as u64);
                sleep(RETRY + Duration::from_millis(spread)).await;
            }
        }
    }
    tracing::info!(%room, told, "room {room}: the store was told what this node knew, in {told} parts");
}
