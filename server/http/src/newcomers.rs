//! What stands between somebody unknown and a place: a challenge where the room has one, and the limits of where they come
//! from. Who has a place or a pass meets neither. Gives no place itself.

use std::net::IpAddr;

use http::HeaderMap;
use jari_line::{JoinOutcome, Mode, Phase, Standing};
use jari_pass::PlaceToken;
use jari_ports::{Identity, RoomDefinition};
use jari_units::{Incarnation, Seq, SubjectKey};

use crate::challenge;
use crate::identity;
use crate::problem_response::Refusal;
use crate::room::{Joined, RoomRuntime};
use crate::state::AppState;

/// Somebody who is to get a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer<'a> {
    pub subject: SubjectKey,
    /// Of a challenge.
    pub solution: Option<&'a str>,
    pub address: IpAddr,
}

/// Whether newcomers of a room do some work first. A shadow holds nobody up.
#[must_use]
pub(crate) fn work(room: &RoomDefinition) -> bool {
    room.challenge.is_on() && room.settings.mode != Mode::Shadow
}

/// Whether the request shows a place or a pass of this very person that has not ended, as far as this node knows.
#[must_use]
pub(crate) fn is_known(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    headers: &HeaderMap,
    (subject, place): (SubjectKey, Option<&PlaceToken>),
) -> bool {
    let lives = |incarnation: Incarnation, seq: Seq| {
        runtime.read(|live| live.ledger().standing(incarnation, seq)) != Standing::Ended
    };
    place.is_some_and(|place| lives(place.incarnation, place.seq))
        || identity::pass(state, &room.id, headers).is_ok_and(|token| {
            token.subject == subject && lives(token.pass.incarnation, token.pass.seq)
        })
}

/// Joins somebody new. Whom an entry token names, the tenant vouches for.
///
/// # Errors
/// 403 `challenge_required`, 429 `too_many_newcomers`; 410 where the room gives nobody a place, which makes the work a waste;
/// 503.
pub(crate) async fn join(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    newcomer: &Newcomer<'_>,
) -> Result<Joined, Refusal> {
    let Newcomer { subject, address, .. } = *newcomer;
    if room.identity != Identity::Anonymous {
        state.tenant_limits.join(&room.tenant)?;
        return Ok(runtime.join(subject).await?);
    }
    // Before the limit: who is only told of the work has taken nothing.
    if work(room) {
        challenge::check(state, room, subject, newcomer.solution)
            .map_err(|refusal| gives_none(runtime).unwrap_or(refusal))?;
    }
    state.tenant_limits.join(&room.tenant)?;
    state.join_limiter.newcomer(address)?;
    let joined = runtime.join(subject).await;
    if !joined.as_ref().is_ok_and(|joined| is_new(&joined.outcome)) {
        state.join_limiter.no_newcomer(address);
    }
    Ok(joined?)
}

/// Whether a join gave a place or a pass that was not there before.
#[must_use]
pub(crate) fn is_new(outcome: &JoinOutcome) -> bool {
    matches!(outcome, JoinOutcome::Joined { .. } | JoinOutcome::Allowed(_))
}

/// What everybody is told who wants to join a room that is over. Before the opening there is time for the work.
fn gives_none(runtime: &RoomRuntime) -> Option<Refusal> {
    match runtime.read(|live| live.ledger().phase()) {
        Phase::Closed(next) => Refusal::of_join(&JoinOutcome::Closed(next)),
        Phase::SoldOut => Refusal::of_join(&JoinOutcome::SoldOut),
        Phase::NotOpen { .. } | Phase::Open | Phase::Paused | Phase::Off => None,
    }
}
