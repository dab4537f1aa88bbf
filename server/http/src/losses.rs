//! What every room of this node needs to have a loss of the store repaired: who this node is, and whether control still
//! defines a room that the store does not have. Repairs nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jari_ports::{Control, ControlError, RoomDefinition, StoreError};
use jari_units::{NodeId, RoomId, Timestamp};

use crate::jitter::Jitter;

#[derive(Debug)]
pub struct Losses {
    /// Drawn at the node's start; never 0, which is a site's own word ([`jari_line::SITE`]).
    pub(crate) node: NodeId,
    control: Arc<dyn Control>,
    /// A store that lost a room may have lost its groups too.
    groups: AtomicBool,
}

/// Which room: one that was deleted and made again under the same name is another.
#[derive(Clone, Debug)]
pub(crate) struct Defined {
    pub(crate) id: RoomId,
    pub(crate) created_at: Timestamp,
}

impl From<&RoomDefinition> for Defined {
    fn from(room: &RoomDefinition) -> Self {
        Defined { id: room.id.clone(), created_at: room.created_at }
    }
}

impl Losses {
    #[must_use]
    pub fn new(jitter: &Jitter, control: Arc<dyn Control>) -> Self {
        Losses { node: jitter.next().max(1), control, groups: AtomicBool::new(false) }
    }

    pub(crate) fn note(&self) {
        self.groups.store(true, Ordering::Release);
    }

    /// Whether anything was lost since the last call.
    pub(crate) fn take(&self) -> bool {
        self.groups.swap(false, Ordering::AcqRel)
    }

    /// Whether control defines a room of this name. What a store has of one that it does not is left over.
    ///
    /// # Errors
    /// `Unavailable` where control does not answer.
    pub(crate) async fn is_defined(&self, room: &RoomId) -> Result<bool, StoreError> {
        let rooms = self.control.rooms().await.map_err(|error| unavailable(&error))?;
        Ok(rooms.iter().any(|defined| defined.id == *room))
    }

    /// Those of `rooms` that control does not define.
    ///
    /// # Errors
    /// `Unavailable` where control does not answer.
    pub(crate) async fn undefined(&self, rooms: Vec<RoomId>) -> Result<Vec<RoomId>, StoreError> {
        if rooms.is_empty() {
            return Ok(rooms);
        }
        let defined = self.control.rooms().await.map_err(|error| unavailable(&error))?;
        let defined: HashSet<_> = defined.into_iter().map(|room| room.id).collect();
        Ok(rooms.into_iter().filter(|room| !defined.contains(room)).collect())
    }

    /// Only a room that control defines may be recovered: one that another node has just deleted would be made anew.
    ///
    /// # Errors
    /// `Unavailable` where control does not answer, `UnknownRoom` where it does not define the room.
    pub(crate) async fn check(&self, room: &Defined) -> Result<(), StoreError> {
        let rooms = self.control.rooms().await.map_err(|error| unavailable(&error))?;
        let same = |defined: &RoomDefinition| {
            (&defined.id, defined.created_at) == (&room.id, room.created_at)
        };
        let defined = rooms.iter().any(same);
        defined.then_some(()).ok_or_else(|| StoreError::UnknownRoom(room.id.clone()))
    }
}

fn unavailable(error: &ControlError) -> StoreError {
    StoreError::Unavailable(format!("control does not say whether it defines the room: {error}"))
}
