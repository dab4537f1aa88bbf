//! The receipts that a request shows, for a room that lost history: its place token, its pass cookie. Which count, the
//! store decides.

use http::HeaderMap;
use jari_line::{ReattachOutcome, Receipt};
use jari_pass::{PassToken, PlaceToken};
use jari_ports::RoomDefinition;
use jari_units::Timestamp;

use crate::identity;
use crate::room::{BatchError, RoomRuntime};
use crate::state::AppState;

pub(crate) fn of_place(place: &PlaceToken) -> Receipt {
    Receipt {
        subject: place.subject,
        incarnation: place.incarnation,
        seq: place.seq,
        as_of: place.as_of,
        pass: None,
    }
}

/// `None` where the pass has run out by its own end.
pub(crate) fn of_pass(token: &PassToken, now: Timestamp) -> Option<Receipt> {
    let receipt = Receipt {
        subject: token.subject,
        incarnation: token.pass.incarnation,
        seq: token.pass.seq,
        as_of: token.issued_at,
        pass: Some(token.pass.grant),
    };
    (token.expires_at > now).then_some(receipt)
}

/// Hands on what a request shows of `place` and its pass, where the store may learn something by it. A poll of a room that
/// lost nothing looks once at the replica.
///
/// # Errors
/// The store's; they matter only while the room recovers.
pub(crate) async fn show(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    headers: &HeaderMap,
    place: &PlaceToken,
) -> Result<(), BatchError> {
    let (recovering, unattached) = runtime.read(|live| {
        let ledger = live.ledger();
        (ledger.is_recovering(), ledger.is_unattached(place.seq))
    });
    if !recovering && !unattached {
        return Ok(());
    }
    // Apart: it is rare, and would make every poll's future larger.
    let shown = Box::pin(show_all(state, room, runtime, headers, place)).await;
    // Once the window is over, memory knows enough to answer.
    if recovering { shown } else { Ok(()) }
}

async fn show_all(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    headers: &HeaderMap,
    place: &PlaceToken,
) -> Result<(), BatchError> {
    let shown = runtime.show(of_place(place)).await?;
    if shown == Some(ReattachOutcome::Blocked) {
        return Ok(());
    }
    let pass = identity::pass(state, &room.id, headers).ok();
    if let Some(receipt) = pass.and_then(|token| of_pass(&token, state.clock.now())) {
        runtime.show(receipt).await?;
    }
    Ok(())
}
