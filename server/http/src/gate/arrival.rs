//! Who comes to a gate without a good pass, where the room's mode lets the gate itself join them: an `auto` room lets
//! newcomers walk in, a `shadow` room counts what would have become of them and lets everybody pass.

use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use jari_line::{JoinOutcome, PassGrant, PassOutcome, Standing};
use jari_pass::{PlaceToken, VisitorToken};
use jari_ports::{Identity, RoomDefinition};
use jari_units::SubjectKey;
use jari_units::limits::TICK;
use tokio::time::timeout;

use super::{POLL_AFTER, Passage, acknowledged, refused, renew, use_pass};
use crate::cookies::CookieKind;
use crate::directory::RoomEntry;
use crate::identity::{self, Joiner, VISITOR_TTL};
use crate::metrics::Would;
use crate::newcomers;
use crate::place_view::sign_pass;
use crate::places;
use crate::problem_response::Refusal;
use crate::room::{BatchError, Joined, RoomRuntime};
use crate::state::AppState;

/// A `shadow` gate holds a request up for no longer than this, whatever the store does.
const SHADOW_WAIT: Duration = Duration::from_millis(250);

/// What a newcomer's join at the gate came to.
enum Arrived {
    Inside(Joined, PassGrant),
    InLine(Joined),
    Outside,
}

/// A newcomer, and the cookie that makes their browser known from now on.
struct Newcomer {
    subject: SubjectKey,
    cookie: Option<HeaderValue>,
}

/// Lets who has no good pass, for `reason`, into an `auto` room that does not queue; else they are refused as in any room.
///
/// # Errors
/// 503 where the store answers neither yes nor no.
pub(super) async fn walk_in(
    state: &AppState,
    entry: &RoomEntry,
    headers: &HeaderMap,
    address: IpAddr,
    reason: &'static str,
) -> Result<Passage, Refusal> {
    let room = entry.definition();
    // Who an entry token names is known only on the room's page, and that page does the work that a room may ask for.
    if room.identity != Identity::Anonymous || room.challenge.is_on() {
        return Ok(refused(reason));
    }
    let runtime = match entry.runtime().await {
        Ok(runtime) => runtime,
        Err(error) if error.is_away() => return Ok(refused(reason)),
        Err(error) => return Err(error.into()),
    };
    runtime.wake().await;
    if runtime.read(|live| live.ledger().walk_ins()) == 0 {
        return Ok(refused(reason));
    }
    let newcomer = newcomer(state, &room, headers);
    match join(state, &room, &runtime, newcomer.subject, address).await {
        Ok(Arrived::Inside(joined, grant)) => {
            let id = grant.id;
            let live = acknowledged(state, &runtime, grant);
            let cookies = cookies(state, &room, &runtime, &newcomer, &joined)?;
            let (subject, expires_at) = (newcomer.subject, live.expires_at);
            Ok(Passage::Admitted { pass: id, subject, expires_at, cookies })
        }
        // The room has begun to queue meanwhile: their place is theirs.
        Ok(Arrived::InLine(joined)) => {
            let cookies = cookies(state, &room, &runtime, &newcomer, &joined)?;
            Ok(Passage::Refused { reason, poll_after: POLL_AFTER, cookies })
        }
        Ok(Arrived::Outside) => Ok(refused(reason)),
        Err(BatchError::Store(error)) if error.is_away() => Ok(refused(reason)),
        Err(error) => Err(error.into()),
    }
}

/// Lets a request pass and notes what the gate would have done if the room were on.
pub(super) async fn shadow(
    state: &AppState,
    entry: &RoomEntry,
    headers: &HeaderMap,
    address: IpAddr,
) -> Passage {
    let room = entry.definition();
    let judged = timeout(SHADOW_WAIT, judge(state, entry, &room, headers, address)).await;
    let (would, cookies) = judged.unwrap_or((Would::Unknown, Vec::new()));
    state.metrics.shadowed(room.id.as_str(), would);
    Passage::Unchecked { why: "shadow", cookies }
}

async fn judge(
    state: &AppState,
    entry: &RoomEntry,
    room: &RoomDefinition,
    headers: &HeaderMap,
    address: IpAddr,
) -> (Would, Vec<HeaderValue>) {
    let unknown = (Would::Unknown, Vec::new());
    let Ok(runtime) = entry.runtime().await else { return unknown };
    if let Ok(token) = identity::pass(state, &room.id, headers) {
        match use_pass(state, &runtime, &token).await {
            Ok(Some(live)) => {
                return (Would::Pass, renew(state, room, &token, &live).into_iter().collect());
            }
            Ok(None) => {}
            Err(_) => return unknown,
        }
    }
    if let Some(place) = place(state, room, headers) {
        match runtime.read(|live| live.ledger().standing(place.incarnation, place.seq)) {
            Standing::InLine { .. } => {
                runtime.note_seen(place.seq, false);
                return (Would::Wait, Vec::new());
            }
            Standing::Absent { returned } => {
                runtime.note_seen(place.seq, !returned);
                return (Would::Wait, Vec::new());
            }
            Standing::Recovering => return (Would::Wait, Vec::new()),
            Standing::Admitted(grant) => {
                let grant = claimed(&runtime, grant).await;
                return (
                    Would::Pass,
                    vec![pass_cookie(state, room, &runtime, place.subject, grant)],
                );
            }
            Standing::Ended => {}
        }
    }
    if room.identity != Identity::Anonymous {
        return (Would::Wait, Vec::new());
    }
    runtime.wake().await;
    let newcomer = newcomer(state, room, headers);
    let told = |joined: &Joined| cookies(state, room, &runtime, &newcomer, joined);
    match join(state, room, &runtime, newcomer.subject, address).await {
        Ok(Arrived::Inside(joined, _)) => (Would::Pass, told(&joined).unwrap_or_default()),
        Ok(Arrived::InLine(joined)) => (Would::Wait, told(&joined).unwrap_or_default()),
        Ok(Arrived::Outside) => (Would::Refuse, Vec::new()),
        Err(_) => unknown,
    }
}

/// Joins within the limits of the newcomer's address and network and of the room's tenant; whoever got a pass uses it with
/// this very request. Beyond a limit they are led to the room, whose join says when to try again.
async fn join(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    subject: SubjectKey,
    address: IpAddr,
) -> Result<Arrived, BatchError> {
    let limiter = &state.join_limiter;
    if limiter.join(address).and_then(|()| limiter.newcomer(address)).is_err() {
        return Ok(Arrived::Outside);
    }
    if state.tenant_limits.join(&room.tenant).is_err() {
        limiter.no_newcomer(address);
        return Ok(Arrived::Outside);
    }
    let joined = runtime.join(subject).await;
    if !joined.as_ref().is_ok_and(|joined| newcomers::is_new(&joined.outcome)) {
        limiter.no_newcomer(address);
    }
    let joined = joined?;
    Ok(match joined.outcome {
        JoinOutcome::Allowed(grant) | JoinOutcome::Admitted(grant) => {
            let grant = claimed(runtime, grant).await;
            let outcome = JoinOutcome::Admitted(grant);
            Arrived::Inside(Joined { outcome, ..joined }, grant)
        }
        JoinOutcome::Joined { .. } | JoinOutcome::Waiting { .. } | JoinOutcome::Absent { .. } => {
            Arrived::InLine(joined)
        }
        _ => Arrived::Outside,
    })
}

/// The grant after its first use; as it was where the store did not answer that.
async fn claimed(runtime: &RoomRuntime, grant: PassGrant) -> PassGrant {
    if grant.claimed {
        return grant;
    }
    match runtime.claim(grant.id).await {
        Ok(PassOutcome::Live(claimed)) => claimed,
        Ok(PassOutcome::Ended) | Err(_) => grant,
    }
}

/// Whose browser it is by its cookie, or a new one's. A bearer at a gate is the site's own business.
fn newcomer(state: &AppState, room: &RoomDefinition, headers: &HeaderMap) -> Newcomer {
    let (keys, now, secure) = (state.keys(), state.clock.now(), state.options.secure());
    let known = CookieKind::Visitor.read(headers, secure).find_map(|text| {
        keys.open::<VisitorToken>(text, now).ok().filter(|token| token.room.is_none())
    });
    if let Some(visitor) = known {
        let subject = identity::visitor_subject(&keys, &room.id, &visitor.id);
        return Newcomer { subject, cookie: None };
    }
    let (token, id) = identity::new_visitor_with_id(state);
    let subject = identity::visitor_subject(&keys, &room.id, &id);
    Newcomer { subject, cookie: Some(CookieKind::Visitor.set(&token, VISITOR_TTL, secure)) }
}

fn place(state: &AppState, room: &RoomDefinition, headers: &HeaderMap) -> Option<PlaceToken> {
    let shown = CookieKind::Place(&room.id).read(headers, state.options.secure());
    let open = |text| state.keys().open::<PlaceToken>(text, state.clock.now()).ok();
    shown.filter_map(open).find(|token| token.room == room.id)
}

/// The cookies of a join: the pass if there is one, where they stand, and who they are. In this order: a proxy that hands on
/// the first alone then hands on what lets them in again.
fn cookies(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    newcomer: &Newcomer,
    joined: &Joined,
) -> Result<Vec<HeaderValue>, Refusal> {
    let joiner = Joiner { subject: newcomer.subject, room_visitor: None };
    let told = places::tell_joined(state, room, runtime, joiner, joined)?;
    Ok(told.cookies.into_iter().rev().chain(newcomer.cookie.clone()).collect())
}

fn pass_cookie(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    subject: SubjectKey,
    grant: PassGrant,
) -> HeaderValue {
    let live = acknowledged(state, runtime, grant);
    let text = sign_pass(state, room, subject, grant, live.expires_at);
    // The store's word is up to a tick old.
    let max_age = grant.remaining.saturating_sub(TICK);
    CookieKind::Pass(&room.id).set(&text, max_age, state.options.secure())
}
