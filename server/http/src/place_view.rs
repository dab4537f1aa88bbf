//! One person's place as they are told it, from the replica. Signs tokens, but checks none and asks no store.

use jari_api::{EstimateView, NoEstimate, PassView, PlaceStatus, PlaceView};
use jari_line::{Mode, PassGrant, Standing, poll_interval};
use jari_pass::{PassToken, PlaceToken, StreamKey};
use jari_ports::RoomDefinition;
use jari_units::{Incarnation, Millis, Seq, SubjectKey, Timestamp};

use crate::room::Live;
use crate::state::AppState;
use crate::stream_keys::STREAM_KEY_TTL;

/// A view without tokens, and what it was made from.
#[derive(Debug)]
pub(crate) struct Seen {
    pub view: PlaceView,
    pub standing: Standing,
    /// How often this place should ask.
    pub directed: Millis,
    /// When the store last confirmed all this.
    pub as_of: Timestamp,
    /// The incarnation that confirmed it, which new tokens name; `None` while it may still turn out otherwise.
    pub incarnation: Option<Incarnation>,
}

/// While a room recovers, everybody asks once, spread over so much more: their receipts are what brings the line back.
/// Nobody is told anything new before the window's end.
const ASK_WHILE_RECOVERING: Millis = Millis(4_000);

/// How a place stands in `live`.
#[must_use]
pub(crate) fn see(
    state: &AppState,
    room: &RoomDefinition,
    live: &Live,
    incarnation: Incarnation,
    seq: Seq,
) -> Seen {
    let ledger = live.ledger();
    let standing = ledger.standing(incarnation, seq);
    let (status, position) = status(standing);
    let waiting = ledger.waiting();
    let directed = directed(live, standing, state.jitter.next_u32());
    // Nobody is held up in these: who waits goes on, and keeps the place.
    let goes_on =
        matches!(room.settings.mode, Mode::Off | Mode::Shadow) && status != PlaceStatus::Ended;
    let estimate = position.map(|position| live.replica().estimate(position));
    let view = PlaceView {
        room: room.id.to_string(),
        status,
        seq,
        position,
        // A place that this replica has not heard of yet is behind all that it knows.
        behind: position.map(|position| waiting.saturating_sub(position)),
        line: live.line().clone(),
        estimate: estimate
            .and_then(Result::ok)
            .map(|range| EstimateView { low_ms: range.low.0, high_ms: range.high.0 }),
        no_estimate: estimate.and_then(Result::err).map(no_estimate),
        poll_after_ms: (status != PlaceStatus::Ended).then_some(directed.0),
        stream: status != PlaceStatus::Ended && state.stream_slots.offers(position, waiting),
        place_token: None,
        stream_key: None,
        visitor_token: None,
        pass: None,
        go_to: goes_on.then(|| room.target_url.clone()),
        server_time: state.clock.now().into(),
    };
    let incarnation = (!ledger.is_recovering()).then(|| ledger.mark().incarnation);
    Seen { view, standing, directed, as_of: ledger.confirmed_at(), incarnation }
}

fn status(standing: Standing) -> (PlaceStatus, Option<u64>) {
    match standing {
        Standing::Admitted(_) => (PlaceStatus::Admitted, None),
        Standing::InLine { position } => (PlaceStatus::Waiting, Some(position)),
        Standing::Absent { returned: true } => (PlaceStatus::Next, None),
        Standing::Absent { returned: false } => (PlaceStatus::Absent, None),
        Standing::Ended => (PlaceStatus::Ended, None),
        // It may live; its position is not known before everybody has told what they know.
        Standing::Recovering => (PlaceStatus::Waiting, None),
    }
}

fn directed(live: &Live, standing: Standing, jitter: u32) -> Millis {
    let ledger = live.ledger();
    let ahead = match standing {
        Standing::InLine { position } => position - 1,
        // Their turn comes with a tick or two.
        Standing::Absent { .. } => 0,
        Standing::Recovering => {
            let spread = (u64::from(jitter) * ASK_WHILE_RECOVERING.0) >> u32::BITS;
            return ASK_WHILE_RECOVERING + Millis(spread);
        }
        // Nothing will change but by their own hand, or by the end of the pass.
        Standing::Admitted(_) | Standing::Ended => u64::MAX,
    };
    // A standing line is not polled hard, but whoever is next in turn still is.
    let rate = if ahead == 0 { ledger.rate_milli().max(1) } else { ledger.rate_milli() };
    poll_interval(ahead, rate, ledger.settings(), jitter)
}

fn no_estimate(why: jari_line::NoEstimate) -> NoEstimate {
    match why {
        jari_line::NoEstimate::NotOpen => NoEstimate::NotOpen,
        jari_line::NoEstimate::Paused => NoEstimate::Paused,
        jari_line::NoEstimate::Closed => NoEstimate::Closed,
        jari_line::NoEstimate::Unknown => NoEstimate::Unknown,
    }
}

/// The end of a pass that the store has acknowledged, told by whichever clock is behind: never later than true.
#[must_use]
pub(crate) fn acknowledged_end(live: &Live, remaining: Millis, now: Timestamp) -> Timestamp {
    live.ledger().clocks().now.min(now) + remaining
}

/// The pass of an admitted place, for who may have it.
#[must_use]
pub(crate) fn pass_view(
    state: &AppState,
    room: &RoomDefinition,
    subject: SubjectKey,
    grant: PassGrant,
    expires_at: Timestamp,
) -> PassView {
    PassView {
        token: sign_pass(state, room, subject, grant, expires_at),
        expires_at: expires_at.into(),
        remaining_ms: grant.remaining.0,
        claimed: grant.claimed,
        target_url: room.target_url.clone(),
    }
}

/// The pass as a token.
#[must_use]
pub(crate) fn sign_pass(
    state: &AppState,
    room: &RoomDefinition,
    subject: SubjectKey,
    grant: PassGrant,
    expires_at: Timestamp,
) -> String {
    state.keys().sign(&PassToken {
        room: room.id.clone(),
        pass: grant.id,
        subject,
        issued_at: state.clock.now(),
        expires_at,
    })
}

/// A key that opens one stream of this place.
#[must_use]
pub(crate) fn sign_stream_key(state: &AppState, place: &PlaceToken) -> String {
    state.keys().sign(&StreamKey {
        room: place.room.clone(),
        incarnation: place.incarnation,
        seq: place.seq,
        subject: place.subject,
        expires_at: state.clock.now() + STREAM_KEY_TTL,
        // It must differ from others, not be hard to guess: the signature is.
        nonce: state.jitter.next(),
    })
}
