//! A room that somebody counts on before any operator made it: made once, by whichever node comes first.

use jari_ports::{AuditEntry, ControlError, RoomDefinition};

use crate::state::{AppState, StartError};

/// Makes the room where there is none of its name; answers whether it did. A room that is there stays as it is.
///
/// # Errors
/// Where control or the store does not answer.
pub async fn ensure_room(
    state: &AppState,
    room: RoomDefinition,
    entry: AuditEntry,
) -> Result<bool, StartError> {
    let mut turn = state.turn().await?;
    if state.rooms.get(&room.id).is_some() {
        return Ok(false);
    }
    state.rooms.prepare(&room).await?;
    let made = RoomDefinition { version: room.version + 1, ..room.clone() };
    match state.control.put_room(room, entry).await {
        Ok(_) => {}
        // Another node was quicker; its room comes with the watch.
        Err(ControlError::Conflict(_)) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    turn.wrote();
    state.rooms.upsert(made).await?;
    Ok(true)
}
