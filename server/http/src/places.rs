//! What a visitor can do with a place: join, ask, leave. Shared by the API and the pages; knows no body and no route.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use jari_api::{Code, PlaceView};
use jari_line::{JoinOutcome, Mode, PassGrant, Standing};
use jari_pass::PlaceToken;
use jari_ports::{Handover, RoomDefinition};
use jari_units::limits::TICK;
use jari_units::{Incarnation, Mark, Seq};

use crate::cookies::CookieKind;
use crate::identity::{self, Joiner, PLACE_COOKIE_TTL, ROOM_VISITOR_TTL};
use crate::leaving;
use crate::newcomers::{self, Newcomer};
use crate::original_url;
use crate::place_view::{self, Seen};
use crate::problem_response::Refusal;
use crate::receipts;
use crate::room::{Joined, RoomRuntime};
use crate::state::AppState;

/// A place as told, with the cookies that go with it.
#[derive(Debug)]
pub(crate) struct Told {
    pub view: PlaceView,
    pub cookies: Vec<HeaderValue>,
    /// Whether the place or pass is new.
    pub created: bool,
}

/// What a join shows beside its headers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown<'a> {
    pub entry_token: Option<&'a str>,
    /// The solution of a challenge.
    pub solution: Option<&'a str>,
}

/// Gives whoever asks a place in the room, or finds the one they have.
///
/// # Errors
/// Everything under "Visitors" in the wire's reference.
pub(crate) async fn join(
    state: &AppState,
    room: &str,
    headers: &HeaderMap,
    shown: Shown<'_>,
    address: IpAddr,
) -> Result<Told, Refusal> {
    let entry = state.room_entry(room)?;
    let definition = entry.definition();
    if definition.settings.mode == Mode::Off {
        let target = goes_on(state, &definition, headers, None);
        return Err(Refusal::new(Code::NotNeeded).with("target_url", target));
    }
    let joiner = identity::joiner(state, &definition, headers, shown.entry_token)?;
    state.join_limiter.join(address)?;
    let runtime = entry.runtime().await?;
    // Whoever has a place that the store has lost shows it first, and then finds it.
    let place = identity::receipt(state, &definition.id, headers).ok();
    let place = place.filter(|place| place.subject == joiner.subject);
    if let Some(place) = &place {
        know(&runtime, place).await?;
        receipts::show(state, &definition, &runtime, headers, place).await?;
    }
    let whose = (joiner.subject, place.as_ref());
    let joined = if newcomers::is_known(state, &definition, &runtime, headers, whose) {
        state.tenant_limits.join(&definition.tenant)?;
        runtime.join(joiner.subject).await?
    } else {
        let newcomer = Newcomer { subject: joiner.subject, solution: shown.solution, address };
        newcomers::join(state, &definition, &runtime, &newcomer).await?
    };
    let told = tell_joined(state, &definition, &runtime, joiner, &joined)?;
    Ok(lead_back(state, &definition, headers, told))
}

/// Whoever was on the way to somewhere goes there with the pass.
fn lead_back(state: &AppState, room: &RoomDefinition, headers: &HeaderMap, mut told: Told) -> Told {
    let back = original_url::remembered(state, room, headers);
    if let (Some(go_to), Some(back)) = (&mut told.view.go_to, &back) {
        go_to.clone_from(back);
    }
    let Some(pass) = &mut told.view.pass else { return told };
    if room.handover == Handover::Token {
        // Which knows the way back too, and makes the token when it is needed.
        pass.target_url = leaving::door(state, room);
    } else if let Some(back) = back {
        pass.target_url = back;
    }
    told
}

/// Where to go instead of waiting, in a room that holds nobody up now; `wanted` as for [`leaving::address`].
#[must_use]
pub(crate) fn goes_on(
    state: &AppState,
    room: &RoomDefinition,
    headers: &HeaderMap,
    wanted: Option<&str>,
) -> Option<String> {
    let holds = !matches!(room.settings.mode, Mode::Off | Mode::Shadow);
    let back = || original_url::wanted(state, room, headers, wanted);
    (!holds).then(|| back().unwrap_or_else(|| room.target_url.clone()))
}

/// Tells a join's outcome.
///
/// # Errors
/// What a join that gave no place is answered.
pub(crate) fn tell_joined(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    joiner: Joiner,
    joined: &Joined,
) -> Result<Told, Refusal> {
    let (seq, grant, created) = match &joined.outcome {
        JoinOutcome::Admitted(grant) => (grant.id.seq, Some(*grant), false),
        JoinOutcome::Allowed(grant) => (grant.id.seq, Some(*grant), true),
        JoinOutcome::Waiting { seq } | JoinOutcome::Absent { seq } => (*seq, None, false),
        JoinOutcome::Joined { seq } => (*seq, None, true),
        refused => {
            let refusal = Refusal::of_join(refused).expect("every outcome without a place is one");
            return Err(refusal);
        }
    };
    let now = state.clock.now();
    let place = PlaceToken {
        room: room.id.clone(),
        incarnation: joined.incarnation,
        seq,
        subject: joiner.subject,
        issued_at: now,
        // By the store's clock only: after a loss, tokens are compared by it, and this node's may be minutes off.
        as_of: runtime.read(|live| live.ledger().confirmed_at()),
    };
    let mut told = tell(state, room, runtime, place, Some(grant), true)?;
    told.created = created;
    if let Some(token) = joiner.room_visitor {
        let cookie = CookieKind::RoomVisitor(&room.id);
        told.cookies.push(cookie.set(&token, ROOM_VISITOR_TTL, state.options.secure()));
        told.view.visitor_token = Some(token);
    }
    Ok(told)
}

/// Tells whoever asks how their place stands; asking is being present.
///
/// # Errors
/// 401 `place_required` or `invalid_token`, 404, 429 `too_fast`, 503.
pub(crate) async fn ask(
    state: &AppState,
    room: &str,
    headers: &HeaderMap,
) -> Result<Told, Refusal> {
    let (definition, runtime, place) = find(state, room, headers).await?;
    receipts::show(state, &definition, &runtime, headers, &place).await?;
    let proves = identity::proves_subject(state, &definition, headers, place.subject);
    let told = tell(state, &definition, &runtime, place, None, proves)?;
    Ok(lead_back(state, &definition, headers, told))
}

/// Ends the place or pass of whoever asks. Repeated, it finds nothing to end and is well.
///
/// # Errors
/// 401, 404, 503.
pub(crate) async fn leave(
    state: &AppState,
    room: &str,
    headers: &HeaderMap,
) -> Result<Vec<HeaderValue>, Refusal> {
    let (definition, runtime, place) = find(state, room, headers).await?;
    if !identity::proves_subject(state, &definition, headers, place.subject) {
        return Err(Refusal::new(Code::IdentityRequired));
    }
    // Who leaves while the room recovers leaves the place that they had.
    receipts::show(state, &definition, &runtime, headers, &place).await?;
    // An old receipt must not end a newer place of the same person.
    let standing = runtime.read(|live| live.ledger().standing(place.incarnation, place.seq));
    if standing != Standing::Ended {
        runtime.leave(place.subject, place.seq).await?;
    }
    let secure = state.options.secure();
    let cookies = [CookieKind::Place(&definition.id), CookieKind::Pass(&definition.id)];
    Ok(cookies.map(|cookie| cookie.forget(secure)).into())
}

/// The room and the receipt that the request shows.
async fn find(
    state: &AppState,
    room: &str,
    headers: &HeaderMap,
) -> Result<(Arc<RoomDefinition>, Arc<RoomRuntime>, PlaceToken), Refusal> {
    let entry = state.room_entry(room)?;
    let definition = entry.definition();
    let place = identity::receipt(state, &definition.id, headers)?;
    let runtime = entry.runtime().await?;
    know(&runtime, &place).await?;
    Ok((definition, runtime, place))
}

/// As [`know_incarnation`]. A receipt of a number that the store has not given shows that it lost history.
async fn know(runtime: &Arc<RoomRuntime>, place: &PlaceToken) -> Result<(), Refusal> {
    let PlaceToken { incarnation, seq, .. } = *place;
    let beyond = runtime.read(|live| {
        let mark = live.ledger().mark();
        incarnation > mark.incarnation || incarnation == mark.incarnation && seq >= mark.next_seq
    });
    if beyond {
        runtime.suspect(Mark { incarnation, event_no: 0, next_seq: seq + 1 });
    }
    know_incarnation(runtime, incarnation).await
}

/// "Ended" is said only of a history that this replica knows: a receipt of a newer one waits for it.
///
/// # Errors
/// 503 `recovering` where the replica does not get there.
pub(crate) async fn know_incarnation(
    runtime: &RoomRuntime,
    incarnation: Incarnation,
) -> Result<(), Refusal> {
    let known = runtime.read(|live| live.ledger().mark().incarnation);
    if incarnation <= known {
        return Ok(());
    }
    let first = Mark { incarnation, event_no: 0, next_seq: 0 };
    // Apart: it is rare, and would make every poll's future larger.
    if Box::pin(runtime.reach(first)).await { Ok(()) } else { Err(Refusal::new(Code::Recovering)) }
}

/// Makes the answer. `joined`: the store has just answered a join, with this pass if it gave or found one.
fn tell(
    state: &AppState,
    room: &RoomDefinition,
    runtime: &RoomRuntime,
    mut place: PlaceToken,
    joined: Option<Option<PassGrant>>,
    proves_subject: bool,
) -> Result<Told, Refusal> {
    let now = state.clock.now();
    let (mut seen, end) = runtime.read(|live| {
        let seen = place_view::see(state, room, live, place.incarnation, place.seq);
        let grant = grant_of(seen.standing, joined);
        (seen, grant.map(|grant| place_view::acknowledged_end(live, grant.remaining, now)))
    });
    let grant = grant_of(seen.standing, joined);
    if seen.standing == Standing::Recovering && grant.is_none() {
        // No view and no newer token: what it would confirm is not known.
        return Err(Refusal::new(Code::Recovering).poll_after(seen.directed));
    }
    if joined.is_none() {
        hear(runtime, &seen, place.seq)?;
    }
    if grant.is_some() {
        // The join's answer may be ahead of the replica, which then still shows the place in line.
        seen.view.admit();
    }
    let secure = state.options.secure();
    let mut cookies = Vec::with_capacity(3);
    if seen.view.status != jari_api::PlaceStatus::Ended {
        place.as_of = place.as_of.max(seen.as_of);
        place.incarnation = seen.incarnation.unwrap_or(place.incarnation);
        let token = state.keys().sign(&place);
        cookies.push(CookieKind::Place(&room.id).set(&token, PLACE_COOKIE_TTL, secure));
        seen.view.place_token = Some(token);
        if seen.view.stream {
            seen.view.stream_key = Some(place_view::sign_stream_key(state, &place));
        }
    }
    if let (Some(grant), Some(end), true) = (grant, end, proves_subject) {
        let pass = place_view::pass_view(state, room, place.subject, grant, end);
        // The store's word is up to a tick old.
        let max_age = grant.remaining.saturating_sub(TICK);
        cookies.push(CookieKind::Pass(&room.id).set(&pass.token, max_age, secure));
        seen.view.pass = Some(pass);
    }
    Ok(Told { view: seen.view, cookies, created: false })
}

fn grant_of(standing: Standing, joined: Option<Option<PassGrant>>) -> Option<PassGrant> {
    match standing {
        Standing::Admitted(grant) => Some(grant),
        _ => joined.flatten(),
    }
}

/// A poll: held to its pace, and noted as a sign of life where that counts.
fn hear(runtime: &RoomRuntime, seen: &Seen, seq: Seq) -> Result<(), Refusal> {
    if matches!(seen.standing, Standing::Ended) {
        return Ok(());
    }
    runtime
        .pace(seq, seen.directed)
        .map_err(|after| Refusal::new(Code::TooFast).poll_after(after.max(seen.directed)))?;
    match seen.standing {
        Standing::InLine { .. } => runtime.note_seen(seq, false),
        Standing::Absent { returned } => runtime.note_seen(seq, !returned),
        Standing::Admitted(_) | Standing::Ended | Standing::Recovering => {}
    }
    Ok(())
}
