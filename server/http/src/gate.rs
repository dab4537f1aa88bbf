//! The gate's decision: who passes, who is sent to the line. Knows no route; the reverse proxy asks the same.

mod arrival;
mod holding;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use jari_api::{Code, Utc};
use jari_line::{LostHistory, Mode, PassGrant, PassOutcome, ReattachOutcome, Standing};
use jari_pass::PassToken;
use jari_ports::{OnStoreFailure, RoomDefinition, StoreError};
use jari_units::limits::TICK;
use jari_units::{Millis, PassId, RoomId, SubjectKey, Timestamp};
use tokio::time::timeout;

pub(crate) use holding::{Holding, LOOK_EVERY};

use crate::cookies::CookieKind;
use crate::directory::RoomEntry;
use crate::header_text::in_one_piece;
use crate::identity;
use crate::metrics::Would;
use crate::place_view::{acknowledged_end, sign_pass};
use crate::problem_response::Refusal;
use crate::receipts;
use crate::room::{BatchError, RoomRuntime};
use crate::site_token::subject_text;
use crate::state::AppState;

/// The `reason` of a pass that was good and is no more.
pub(crate) const ENDED: &str = "ended";

/// A room may open its gate to all only after the store has refused everything for this long: never for slowness.
const FAIL_OPEN_AFTER: Duration = Duration::from_secs(5);
/// A request waits so long for its pass's end to slide; then it passes with the end it had.
const SLIDE_WAIT: Duration = Duration::from_millis(500);
/// A renewed cookie is sent only where it moves the end by at least this.
const RENEWAL_MIN: Millis = Millis::from_secs(5);
/// How soon someone without a pass may ask again.
const POLL_AFTER: Millis = Millis(2_000);

/// What the gate decided.
#[derive(Debug)]
pub(crate) enum Passage {
    Admitted {
        pass: PassId,
        /// Whose it is: the room's own name for them, which tells nothing outside.
        subject: SubjectKey,
        /// The end that the store has acknowledged.
        expires_at: Timestamp,
        /// The pass cookie with its new end; all there are of who has just walked in.
        cookies: Vec<HeaderValue>,
    },
    /// Everybody passes: the store is down and that is the room's policy, or its mode says so.
    Unchecked { why: &'static str, cookies: Vec<HeaderValue> },
    Refused {
        reason: &'static str,
        poll_after: Millis,
        /// Of who got a place in line with this very request.
        cookies: Vec<HeaderValue>,
    },
}

impl Passage {
    /// Tells the protected site whose pass it is, in headers that only the gate writes.
    pub(crate) fn tell_site(&self, room: &RoomId, headers: &mut HeaderMap) {
        const ROOM: HeaderName = HeaderName::from_static("jari-room");
        const SEQ: HeaderName = HeaderName::from_static("jari-seq");
        const SUBJECT: HeaderName = HeaderName::from_static("jari-subject");
        const PASS_EXPIRES: HeaderName = HeaderName::from_static("jari-pass-expires");
        const UNCHECKED: HeaderName = HeaderName::from_static("jari-unchecked");
        match self {
            Passage::Admitted { pass, subject, expires_at, .. } => {
                let (subject, end) = (subject_text(*subject), Utc(*expires_at).to_string());
                let told = in_one_piece([room.as_str(), &subject, &end]);
                for (name, text) in [ROOM, SUBJECT, PASS_EXPIRES].into_iter().zip(told) {
                    let text = HeaderValue::from_maybe_shared(text);
                    headers.insert(name, text.expect("ids and times are ASCII"));
                }
                headers.insert(SEQ, HeaderValue::from(pass.seq));
            }
            Passage::Unchecked { why, .. } => {
                headers.insert(UNCHECKED, HeaderValue::from_static(why));
            }
            Passage::Refused { .. } => {}
        }
    }

    /// What the visitor's browser is to keep.
    pub(crate) fn into_cookies(self) -> Vec<HeaderValue> {
        match self {
            Passage::Admitted { cookies, .. }
            | Passage::Unchecked { cookies, .. }
            | Passage::Refused { cookies, .. } => cookies,
        }
    }
}

/// A live pass, as the replica or the store just said.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) grant: PassGrant,
    /// The end that the store has acknowledged.
    pub(crate) expires_at: Timestamp,
}

/// Decides whether a request from `address` passes.
///
/// # Errors
/// 503 `store_unavailable` or `recovering` where the room lets nobody pass while the store is down, or has lost the pass; 429
/// `too_many_requests` where the pass is used more than a person could.
pub(crate) async fn check(
    state: &AppState,
    entry: &Arc<RoomEntry>,
    headers: &HeaderMap,
    address: IpAddr,
) -> Result<Passage, Refusal> {
    let room = entry.definition();
    match room.settings.mode {
        Mode::Off => {
            state.metrics.shadowed(room.id.as_str(), Would::Off);
            Ok(Passage::Unchecked { why: "off", cookies: Vec::new() })
        }
        // Apart, as below: most rooms are on, and their futures should not be larger for the others.
        Mode::Shadow => Ok(Box::pin(arrival::shadow(state, entry, headers, address)).await),
        Mode::On => checked(state, entry, headers).await,
        Mode::Auto => match checked(state, entry, headers).await? {
            Passage::Refused { reason, .. } => {
                Box::pin(arrival::walk_in(state, entry, headers, address, reason)).await
            }
            passage => Ok(passage),
        },
    }
}

/// As a room decides that is on.
async fn checked(
    state: &AppState,
    entry: &Arc<RoomEntry>,
    headers: &HeaderMap,
) -> Result<Passage, Refusal> {
    let room = entry.definition();
    if let Some(passage) = on_store_failure(state, entry, &room)? {
        return Ok(passage);
    }
    let token = match identity::pass(state, &room.id, headers) {
        Ok(token) => token,
        Err(reason) => return Ok(refused(reason)),
    };
    state.pass_limiter.request(&token)?;
    let runtime = match entry.runtime().await {
        Ok(runtime) => runtime,
        // This node never saw the room: only the token's word is left.
        Err(error) if error.is_away() => return without_store(state, &room, &token),
        Err(error) => return Err(error.into()),
    };
    match use_pass(state, &runtime, &token).await {
        Ok(Some(live)) => {
            let cookies = renew(state, &room, &token, &live).into_iter().collect();
            let (pass, subject, expires_at) = (token.pass, token.subject, live.expires_at);
            Ok(Passage::Admitted { pass, subject, expires_at, cookies })
        }
        Ok(None) => Ok(refused(ENDED)),
        Err(BatchError::Store(error)) if error.is_away() => without_store(state, &room, &token),
        // What the store knew of the pass is lost, and is being put together again.
        Err(BatchError::Store(StoreError::LostHistory(_) | StoreError::UnknownRoom(_))) => {
            while_recovering(state, &room, &token)
        }
        Err(error) => Err(error.into()),
    }
}

fn refused(reason: &'static str) -> Passage {
    Passage::Refused { reason, poll_after: POLL_AFTER, cookies: Vec::new() }
}

fn store_unavailable() -> Passage {
    Passage::Unchecked { why: "store_unavailable", cookies: Vec::new() }
}

/// The room's policy, where the store is known to be down: all of it, or what holds this room.
fn on_store_failure(
    state: &AppState,
    entry: &Arc<RoomEntry>,
    room: &RoomDefinition,
) -> Result<Option<Passage>, Refusal> {
    let health = &state.store_health;
    if room.on_store_failure != OnStoreFailure::Wait {
        entry.watch();
    }
    let refusing = health.refusing_for().max(entry.refusing_for());
    match room.on_store_failure {
        OnStoreFailure::Refuse if health.down_for().or(entry.down_for()).is_some() => {
            Err(Refusal::new(Code::StoreUnavailable))
        }
        OnStoreFailure::Pass if refusing >= Some(FAIL_OPEN_AFTER) => {
            state.metrics.passed_unchecked(room.id.as_str());
            Ok(Some(store_unavailable()))
        }
        _ => Ok(None),
    }
}

/// Without the store and without a replica that knows the pass: its own end decides.
fn without_store(
    state: &AppState,
    room: &RoomDefinition,
    token: &PassToken,
) -> Result<Passage, Refusal> {
    if room.on_store_failure == OnStoreFailure::Refuse {
        return Err(Refusal::new(Code::StoreUnavailable));
    }
    if token.expires_at <= state.clock.now() {
        return Ok(refused("expired"));
    }
    let PassToken { pass, subject, expires_at, .. } = *token;
    Ok(Passage::Admitted { pass, subject, expires_at, cookies: Vec::new() })
}

/// The room lost history and nobody knows yet how the pass stands: not 428, which would send its owner away.
fn while_recovering(
    state: &AppState,
    room: &RoomDefinition,
    token: &PassToken,
) -> Result<Passage, Refusal> {
    let good = token.expires_at > state.clock.now();
    match room.on_store_failure {
        OnStoreFailure::Wait | OnStoreFailure::Pass if good => without_store(state, room, token),
        OnStoreFailure::Pass => {
            state.metrics.passed_unchecked(room.id.as_str());
            Ok(store_unavailable())
        }
        OnStoreFailure::Wait | OnStoreFailure::Refuse => Err(Refusal::new(Code::Recovering)),
    }
}

/// Uses the pass. `None`: it has ended.
pub(crate) async fn use_pass(
    state: &AppState,
    runtime: &RoomRuntime,
    token: &PassToken,
) -> Result<Option<Live>, BatchError> {
    let id = token.pass;
    let now = state.clock.now();
    let ttl = runtime.read(|live| live.ledger().settings().pass_ttl);
    let Some(live) = known(runtime, id, now) else {
        if runtime.read(|live| live.ledger().is_recovering()) {
            return Box::pin(show(state, runtime, token)).await;
        }
        // Ended, or newer than this replica: the store knows.
        return claim(state, runtime, id).await;
    };
    if !runtime.is_following() && token.expires_at <= now {
        // Nobody has confirmed this pass lately, and its own end has come.
        return claim(state, runtime, id).await;
    }
    if !live.grant.claimed {
        return match claim(state, runtime, id).await {
            // The claim clock stands still while the store is away: its owner has come in time.
            // Or has lost it, which is not its owner's doing.
            Err(BatchError::Store(
                StoreError::Unavailable(_)
                | StoreError::Silent(_)
                | StoreError::LostHistory(_)
                | StoreError::UnknownRoom(_),
            )) => {
                runtime.note_use(id);
                Ok(Some(live))
            }
            other => other,
        };
    }
    if live.grant.remaining.0 > ttl.0 / 2 {
        runtime.note_use(id);
        return Ok(Some(live));
    }
    // So near its end the slide is not left to the next flush: a browser would drop the cookie in between.
    match timeout(SLIDE_WAIT, runtime.touch(id)).await {
        Ok(Ok(PassOutcome::Live(grant))) => Ok(Some(acknowledged(state, runtime, grant))),
        Ok(Ok(PassOutcome::Ended)) => Ok(None),
        Ok(Err(_)) | Err(_) => {
            runtime.note_use(id);
            Ok(Some(live))
        }
    }
}

/// A pass that this replica does not know, while the room recovers: its cookie brings it back, unless it has ended.
async fn show(
    state: &AppState,
    runtime: &RoomRuntime,
    token: &PassToken,
) -> Result<Option<Live>, BatchError> {
    let (ended, mark) = runtime.read(|live| {
        let ledger = live.ledger();
        let standing = ledger.standing(token.pass.incarnation, token.pass.seq);
        (standing == Standing::Ended, ledger.mark())
    });
    if ended {
        return Ok(None);
    }
    let shown = match receipts::of_pass(token, state.clock.now()) {
        Some(receipt) => runtime.show(receipt).await?,
        None => None,
    };
    match shown {
        Some(ReattachOutcome::Admitted(grant)) if grant.id.seq == token.pass.seq => {
            Ok(Some(acknowledged(state, runtime, grant)))
        }
        Some(_) => Ok(None),
        None => Err(StoreError::from(LostHistory { store: mark, caller: mark }).into()),
    }
}

/// The pass as the replica knows it.
fn known(runtime: &RoomRuntime, id: PassId, now: Timestamp) -> Option<Live> {
    runtime.read(|live| {
        let ledger = live.ledger();
        ledger.pass(id)?;
        let grant = ledger.grant_of(id.seq)?;
        Some(Live { grant, expires_at: acknowledged_end(live, grant.remaining, now) })
    })
}

async fn claim(
    state: &AppState,
    runtime: &RoomRuntime,
    id: PassId,
) -> Result<Option<Live>, BatchError> {
    match runtime.claim(id).await? {
        PassOutcome::Live(grant) => Ok(Some(acknowledged(state, runtime, grant))),
        PassOutcome::Ended => Ok(None),
    }
}

fn acknowledged(state: &AppState, runtime: &RoomRuntime, grant: PassGrant) -> Live {
    let now = state.clock.now();
    let expires_at = runtime.read(|live| acknowledged_end(live, grant.remaining, now));
    Live { grant, expires_at }
}

fn renew(
    state: &AppState,
    room: &RoomDefinition,
    token: &PassToken,
    live: &Live,
) -> Option<HeaderValue> {
    if live.expires_at.since(token.expires_at) < RENEWAL_MIN {
        return None;
    }
    let text = sign_pass(state, room, token.subject, live.grant, live.expires_at);
    // The store's word is up to a tick old.
    let max_age = live.grant.remaining.saturating_sub(TICK);
    Some(CookieKind::Pass(&room.id).set(&text, max_age, state.options.secure()))
}
