//! What a site does with the passes of those who are inside: verify, touch, extend, end. By names only: which rooms a caller
//! may name is its API key's tenant, and of others it learns nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use jari_api::{
    Code, ExtendAnswer, ExtendRequest, PassState, PassStatus, VerifiedPass, VerifyRequest,
};
use jari_line::{
    EndOutcome, ExtendOutcome, PassGrant, PassOutcome, RedeemOutcome, Standing, Ticket,
};
use jari_pass::{PassHandle, PassToken};
use jari_ports::Handover;
use jari_units::limits::PAYMENT_EXTENSION_MAX;
use jari_units::{Millis, PassId, RoomId};
use serde_json::json;

use crate::api_keys::Caller;
use crate::directory::RoomEntry;
use crate::gate;
use crate::handlers::admin::trail::{Step, ordered};
use crate::identity::open_expired;
use crate::place_view::acknowledged_end;
use crate::problem_response::{Refusal, token_reason};
use crate::room::RoomRuntime;
use crate::site_token::{self, subject_text};
use crate::state::AppState;

/// Passes in one call: a store call takes 512, and the answer stays below 100 KB.
pub(crate) const PASSES_MAX: usize = 500;
const _: () = assert!(PASSES_MAX <= jari_units::limits::JOIN_BATCH_MAX);

/// Bytes of a site's nonce: at least what nobody guesses, at most what a header line holds.
const NONCE_BYTES: std::ops::RangeInclusive<usize> = 8..=128;

/// How soon whoever has no pass may ask the room.
const POLL_AFTER: Millis = Millis(2_000);

/// Looks at what a visitor showed: a one-time token lands once; a pass token is looked at as often as it is good, and lands
/// nobody in a room that hands tokens over. Either is a use.
///
/// # Errors
/// 428 `pass_required` with the reason, 404 `unknown_pass`, 422, 503.
pub(crate) async fn verify(
    state: &AppState,
    caller: &Caller,
    request: &VerifyRequest,
) -> Result<VerifiedPass, Refusal> {
    let wanted = request.room.as_deref().map(|room| own_room(state, caller, room)).transpose()?;
    let wanted = wanted.as_deref();
    // A pass token has no dot, a JWT has two.
    if request.token.contains('.') {
        return land(state, caller, request, wanted).await;
    }
    let token: PassToken = open_expired(&state.keys(), &request.token)
        .map_err(|error| refused(state, wanted, token_reason(error)))?;
    let entry = own_pass(state, caller, &token.room).ok_or_else(unknown)?;
    in_room(state, wanted, &token.room)?;
    // It is good as often as it is shown: as a landing, an address with it in would be good for everybody.
    if request.nonce.is_some() && entry.definition().handover == Handover::Token {
        let problem =
            "a visitor lands by a one-time token here; a pass token is looked at without a nonce";
        return Err(refused(state, Some(&entry), "wrong_kind").detail(problem));
    }
    let runtime = entry.runtime().await?;
    let live = gate::use_pass(state, &runtime, &token).await?;
    let live = live.ok_or_else(|| refused(state, Some(&entry), gate::ENDED))?;
    let subject = subject_text(token.subject);
    Ok(verified(token.room, live.grant, live.expires_at, subject))
}

/// A one-time token.
async fn land(
    state: &AppState,
    caller: &Caller,
    request: &VerifyRequest,
    wanted: Option<&RoomEntry>,
) -> Result<VerifiedPass, Refusal> {
    let opened = site_token::open(state, caller, &request.token)
        .map_err(|reason| refused(state, wanted, reason))?;
    let nonce = nonce(request)?;
    let room = opened.handle.room;
    in_room(state, wanted, &room)?;
    let entry =
        own_pass(state, caller, &room).ok_or_else(|| refused(state, wanted, gate::ENDED))?;
    let no_pass = |reason| refused(state, Some(&entry), reason);
    let runtime = entry.runtime().await?;
    if runtime.read(|live| live.ledger().clocks().now) >= opened.expires_at {
        return Err(no_pass("expired"));
    }
    let ticket = Ticket { pass: opened.handle.pass, no: opened.no, nonce };
    match runtime.redeem(ticket).await? {
        RedeemOutcome::Redeemed(grant) => {
            let now = state.clock.now();
            let end = runtime.read(|live| acknowledged_end(live, grant.remaining, now));
            Ok(verified(room, grant, end, opened.subject))
        }
        RedeemOutcome::Used => Err(no_pass("used")),
        RedeemOutcome::Ended if is_recovering(&runtime, ticket.pass) => {
            Err(Refusal::new(Code::Recovering))
        }
        RedeemOutcome::Ended => Err(no_pass(gate::ENDED)),
    }
}

/// Slides the ends of passes in use.
///
/// # Errors
/// 422 for too many, 503.
pub(crate) async fn touch(
    state: &AppState,
    caller: &Caller,
    names: Vec<String>,
) -> Result<Vec<PassState>, Refusal> {
    let mut states = States::new(state, caller, names)?;
    for (entry, named) in states.by_room() {
        let runtime = entry.runtime().await?;
        let ids = named.iter().map(|(_, pass)| *pass).collect();
        let outcomes = runtime.touch_together(ids).await?;
        for ((at, pass), outcome) in named.into_iter().zip(outcomes) {
            match outcome {
                PassOutcome::Live(grant) => states.live(state, &runtime, at, grant),
                PassOutcome::Ended => states.gone(&runtime, (at, pass), PassStatus::Ended),
            }
        }
    }
    Ok(states.states)
}

/// Ends passes: their owners are done. In the audit trail, as an operator's revocation is.
///
/// # Errors
/// 422 for too many, 503.
pub(crate) async fn end(
    state: &AppState,
    caller: &Caller,
    names: Vec<String>,
) -> Result<Vec<PassState>, Refusal> {
    let mut states = States::new(state, caller, names)?;
    for (entry, named) in states.by_room() {
        let runtime = entry.runtime().await?;
        let ids: Vec<PassId> = named.iter().map(|(_, pass)| *pass).collect();
        let room = entry.definition().id.clone();
        // By handles: a name in the call may be a token.
        let handles = ids.iter().map(|pass| PassHandle { room: room.clone(), pass: *pass });
        let told = json!({"passes": handles.map(|it| it.to_string()).collect::<Vec<_>>()});
        let act = async { Ok::<_, Refusal>(runtime.end_passes(ids).await?) };
        let what = ("pass.end", format!("room:{room}"));
        let outcomes = ordered(state, caller, what, Step::made(told), act).await?;
        for (named, outcome) in named.into_iter().zip(outcomes) {
            match outcome {
                EndOutcome::Ended => states.states[named.0].status = PassStatus::Ended,
                EndOutcome::Unknown => states.gone(&runtime, named, PassStatus::Ended),
            }
        }
    }
    Ok(states.states)
}

/// Keeps a pass while its owner pays.
///
/// # Errors
/// 404 `unknown_pass`, 428 `pass_required` where it has ended, 422, 503.
pub(crate) async fn extend(
    state: &AppState,
    caller: &Caller,
    request: &ExtendRequest,
) -> Result<ExtendAnswer, Refusal> {
    if !(1..=PAYMENT_EXTENSION_MAX.0).contains(&request.span_ms) {
        let problem = format!("is not in 1..={}", PAYMENT_EXTENSION_MAX.0);
        return Err(Refusal::new(Code::InvalidField).with("field", "span_ms").detail(problem));
    }
    let (entry, pass) = named(state, caller, &request.pass).ok_or_else(unknown)?;
    let runtime = entry.runtime().await?;
    let (grant, extended) = match runtime.extend_for_payment(pass, Millis(request.span_ms)).await? {
        ExtendOutcome::Extended(grant) => (grant, true),
        ExtendOutcome::LimitReached(grant) => (grant, false),
        ExtendOutcome::Ended if is_recovering(&runtime, pass) => {
            return Err(Refusal::new(Code::Recovering));
        }
        ExtendOutcome::Ended => return Err(refused(state, Some(&entry), gate::ENDED)),
    };
    let now = state.clock.now();
    let end = runtime.read(|live| acknowledged_end(live, grant.remaining, now));
    let (pass, remaining_ms) = (request.pass.clone(), grant.remaining.0);
    Ok(ExtendAnswer { pass, extended, expires_at: end.into(), remaining_ms })
}

/// The passes of a call that are in one room, each with its place in the call.
type InRoom = (Arc<RoomEntry>, Vec<(usize, PassId)>);

/// The states of a call's passes, unknown until they are found.
struct States {
    states: Vec<PassState>,
    found: BTreeMap<RoomId, InRoom>,
}

impl States {
    fn new(state: &AppState, caller: &Caller, names: Vec<String>) -> Result<Self, Refusal> {
        if !(1..=PASSES_MAX).contains(&names.len()) {
            let problem = format!("has 1 to {PASSES_MAX} entries");
            return Err(Refusal::new(Code::InvalidField).with("field", "passes").detail(problem));
        }
        let mut found = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            if let Some((entry, pass)) = named(state, caller, name) {
                let room = entry.definition().id.clone();
                let (_, named): &mut (_, Vec<_>) =
                    found.entry(room).or_insert_with(|| (entry, Vec::new()));
                named.push((at, pass));
            }
        }
        let unknown = |pass| PassState {
            pass,
            status: PassStatus::Unknown,
            expires_at: None,
            remaining_ms: None,
        };
        Ok(States { states: names.into_iter().map(unknown).collect(), found })
    }

    /// The passes that were found, one store call's worth a room.
    fn by_room(&mut self) -> Vec<InRoom> {
        std::mem::take(&mut self.found).into_values().collect()
    }

    fn live(&mut self, state: &AppState, runtime: &RoomRuntime, at: usize, grant: PassGrant) {
        let now = state.clock.now();
        let end = runtime.read(|live| acknowledged_end(live, grant.remaining, now));
        let told = &mut self.states[at];
        told.status = PassStatus::Live;
        (told.expires_at, told.remaining_ms) = (Some(end.into()), Some(grant.remaining.0));
    }

    /// A pass that the store does not know; while it recovers, it may still be told of it.
    fn gone(&mut self, runtime: &RoomRuntime, (at, pass): (usize, PassId), else_told: PassStatus) {
        let recovering = is_recovering(runtime, pass);
        self.states[at].status = if recovering { PassStatus::Recovering } else { else_told };
    }
}

/// The pass that `name` names in a room of the caller's.
fn named(state: &AppState, caller: &Caller, name: &str) -> Option<(Arc<RoomEntry>, PassId)> {
    let (room, pass) = match name.parse::<PassHandle>() {
        Ok(handle) => (handle.room, handle.pass),
        Err(_) => {
            let token: PassToken = open_expired(&state.keys(), name).ok()?;
            (token.room, token.pass)
        }
    };
    own_pass(state, caller, &room).map(|entry| (entry, pass))
}

fn own_pass(state: &AppState, caller: &Caller, room: &RoomId) -> Option<Arc<RoomEntry>> {
    let entry = state.rooms.get(room)?;
    caller.require_tenant(&entry.definition().tenant).ok()?;
    Some(entry)
}

fn own_room(state: &AppState, caller: &Caller, room: &str) -> Result<Arc<RoomEntry>, Refusal> {
    let entry = state.room_entry(room)?;
    caller.require_tenant(&entry.definition().tenant)?;
    Ok(entry)
}

/// A token of one room opens no other: refused before it is used.
fn in_room(state: &AppState, wanted: Option<&RoomEntry>, room: &RoomId) -> Result<(), Refusal> {
    match wanted {
        Some(entry) if entry.definition().id != *room => Err(refused(state, wanted, "wrong_room")),
        _ => Ok(()),
    }
}

fn is_recovering(runtime: &RoomRuntime, pass: PassId) -> bool {
    runtime.read(|live| live.ledger().standing(pass.incarnation, pass.seq) == Standing::Recovering)
}

fn nonce(request: &VerifyRequest) -> Result<[u8; 16], Refusal> {
    let given = request.nonce.as_deref().filter(|nonce| NONCE_BYTES.contains(&nonce.len()));
    let given = given.ok_or_else(|| {
        let problem = "a one-time token needs a nonce of 8 to 128 bytes";
        Refusal::new(Code::InvalidField).with("field", "nonce").detail(problem)
    })?;
    let hash = digest(&SHA256, given.as_bytes());
    let (first, _) = hash.as_ref().split_first_chunk().expect("SHA-256 has 32 bytes");
    Ok(*first)
}

fn unknown() -> Refusal {
    Refusal::new(Code::UnknownPass)
}

/// No pass, and where to get one where that is known.
fn refused(state: &AppState, room: Option<&RoomEntry>, reason: &'static str) -> Refusal {
    let refusal = Refusal::new(Code::PassRequired).with("reason", reason).poll_after(POLL_AFTER);
    match room {
        Some(entry) => {
            let page = format!("/rooms/{}", entry.definition().id);
            refusal.with("room_url", state.options.link(&page))
        }
        None => refusal,
    }
}

fn verified(
    room: RoomId,
    grant: PassGrant,
    end: jari_units::Timestamp,
    subject: String,
) -> VerifiedPass {
    let handle = PassHandle { room, pass: grant.id };
    VerifiedPass {
        pass: handle.to_string(),
        room: handle.room.to_string(),
        subject,
        seq: grant.id.seq,
        expires_at: end.into(),
        remaining_ms: grant.remaining.0,
    }
}
