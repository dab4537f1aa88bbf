//! Rooms in the store that control does not know: what a deletion left behind, or another installation's, which uses the same
//! store and prefix by a slip. Nobody's line is deleted while anybody serves it.

use std::sync::atomic::Ordering;

use jari_ports::StoreError;
use jari_units::limits::NODE_FRESH;
use jari_units::{Millis, RoomId};
use thiserror::Error;

use super::RoomDirectory;

/// Rooms that a warning names: enough to know whose they are.
const NAMED_MAX: usize = 5;

/// Why a new room cannot be made in the store.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// 409 `line_in_use`.
    #[error(
        "the store has a line of room {room} that these records do not know, and it was served {} s ago; another installation uses the same store: set store.key_prefix to something of your own, or delete the room there. What a failed deletion left can be made anew after {} s",
        ago.0 / 1_000,
        NODE_FRESH.0 / 1_000
    )]
    Served { room: RoomId, ago: Millis },
}

/// Whether a line that control does not know may go, which was last `served` so long ago. One that this node's operator
/// `doomed` may at once.
///
/// # Errors
/// [`PrepareError::Served`].
pub(super) fn check(
    room: &RoomId,
    served: Option<Millis>,
    doomed: bool,
) -> Result<(), PrepareError> {
    match served {
        // As for a recovery: a node that was not heard of for so long is gone.
        Some(ago) if !doomed && ago < NODE_FRESH => {
            Err(PrepareError::Served { room: room.clone(), ago })
        }
        _ => Ok(()),
    }
}

impl RoomDirectory {
    /// Says so, once, where the store has rooms that control does not know; what does not answer now is asked again. Only a
    /// warning: a store that fails says so elsewhere.
    pub(super) async fn warn_of_strangers(&self) {
        if self.strangers_known.load(Ordering::Acquire) {
            return;
        }
        let Ok(there) = self.calls.run("rooms", self.calls.store.rooms()).await else { return };
        let here: Vec<_> = there.into_iter().filter(|id| self.get(id).is_none()).collect();
        // Another node may have made some since this one asked.
        let Ok(strangers) = self.losses.undefined(here).await else { return };
        self.strangers_known.store(true, Ordering::Release);
        if strangers.is_empty() {
            return;
        }
        let names: Vec<_> = strangers.iter().take(NAMED_MAX).map(RoomId::as_str).collect();
        let (count, names) = (strangers.len(), names.join(", "));
        tracing::warn!(
            count,
            "the line store holds {count} rooms that these records do not know ({names}): another installation uses the same store and store.key_prefix, or these are not the records that the lines belong to (records.url), or a deletion was cut short"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_served_is_nobodys_leftover() {
        let room = "shop".parse().expect("an id");
        let may_go = |served, doomed| check(&room, served, doomed).is_ok();
        let (fresh, old) = (Some(Millis(NODE_FRESH.0 - 1)), Some(NODE_FRESH));
        assert!(!may_go(Some(Millis(0)), false) && !may_go(fresh, false));
        assert!(may_go(old, false), "nobody serves it any more");
        assert!(may_go(None, false), "nobody ever did");
        assert!(may_go(fresh, true), "this installation deleted it");
        let told = check(&room, Some(Millis(2_500)), false).expect_err("served").to_string();
        assert!(told.contains("shop") && told.contains("2 s ago"), "{told}");
        assert!(told.contains("store.key_prefix"), "{told}");
    }
}
