//! Who is asking: reads tokens from headers and cookies and says what they prove. Gives no place and no pass.

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderValue};
use jari_api::Code;
use jari_pass::{
    EntryToken, KeyRing, PassToken, PlaceToken, StreamKey, Subject, Token, TokenError, VisitorToken,
};
use jari_ports::{Identity, RoomDefinition};
use jari_units::{Millis, RoomId, SubjectKey, Timestamp};

use crate::cookies::CookieKind;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// An anonymous identity lasts longer than any presale.
pub(crate) const VISITOR_TTL: Millis = Millis(30 * 24 * 3_600_000);
/// A room visitor token lasts as long as the longest wait: a room that opens next week.
pub(crate) const ROOM_VISITOR_TTL: Millis = Millis(8 * 24 * 3_600_000);
/// How long a browser keeps a place's receipt after the last answer that renewed it.
pub(crate) const PLACE_COOKIE_TTL: Millis = ROOM_VISITOR_TTL;
/// From the tenant's call to its user's join: a page load, with time to spare.
pub(crate) const ENTRY_TTL: Millis = Millis::from_mins(10);

/// Where a client without cookies shows its room visitor token; `Authorization` holds its place token.
pub(crate) const VISITOR_HEADER: &str = "jari-visitor";

/// The credentials of `Authorization: Bearer`; the scheme's case does not matter (RFC 9110, 11.1).
#[must_use]
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok().and_then(crate::api_keys::bearer)
}

/// The bearer, else the cookies: who sends a bearer means it.
fn shown<'a>(
    headers: &'a HeaderMap,
    cookie: CookieKind<'_>,
    secure: bool,
) -> impl Iterator<Item = &'a str> {
    let bearer = bearer(headers);
    let cookies = cookie.read(headers, secure).filter(move |_| bearer.is_none());
    bearer.into_iter().chain(cookies)
}

/// The first of the texts that `open` takes, else why it did not take the first one; `None` where there is no text.
fn first_good<'a, T, E>(
    texts: impl Iterator<Item = &'a str>,
    open: impl Fn(&'a str) -> Result<T, E>,
) -> Option<Result<T, E>> {
    let mut refused = None;
    for text in texts {
        match open(text) {
            Ok(good) => return Some(Ok(good)),
            Err(error) => _ = refused.get_or_insert(error),
        }
    }
    refused.map(Err)
}

/// An identity in a room, and the room visitor token that should be kept from now on.
#[derive(Debug)]
pub(crate) struct Joiner {
    pub subject: SubjectKey,
    pub room_visitor: Option<String>,
}

/// The key of a person whom Jari gave the anonymous identity `id`.
#[must_use]
pub(crate) fn visitor_subject(keys: &KeyRing, room: &RoomId, id: &[u8; 16]) -> SubjectKey {
    keys.subject_key(room, &[b"v".as_slice(), id].concat())
}

/// The key of a person whom the tenant names so.
#[must_use]
pub(crate) fn entry_subject(keys: &KeyRing, room: &RoomId, subject: &Subject) -> SubjectKey {
    keys.subject_key(room, &[b"e", subject.as_bytes()].concat())
}

/// A fresh anonymous identity: the token and its end.
#[must_use]
pub(crate) fn new_visitor(state: &AppState) -> (String, Timestamp) {
    let expires_at = state.clock.now() + VISITOR_TTL;
    (new_visitor_with_id(state).0, expires_at)
}

/// A fresh anonymous identity: the token and the id in it.
#[must_use]
pub(crate) fn new_visitor_with_id(state: &AppState) -> (String, [u8; 16]) {
    let mut id = [0; 16];
    state.entropy.fill(&mut id);
    let now = state.clock.now();
    let token = VisitorToken { id, room: None, issued_at: now, expires_at: now + VISITOR_TTL };
    (state.keys().sign(&token), id)
}

/// The cookie of a fresh anonymous identity, for a browser that shows no good one.
#[must_use]
pub(crate) fn visitor_cookie_where_missing(
    state: &AppState,
    headers: &HeaderMap,
) -> Option<HeaderValue> {
    let secure = state.options.secure();
    let known = CookieKind::Visitor
        .read(headers, secure)
        .any(|text| state.keys().open::<VisitorToken>(text, state.clock.now()).is_ok());
    (!known).then(|| CookieKind::Visitor.set(&new_visitor(state).0, VISITOR_TTL, secure))
}

/// Who joins. `entry` is the entry token of the body, if any.
///
/// # Errors
/// 401 `identity_required` or `invalid_token`.
pub(crate) fn joiner(
    state: &AppState,
    room: &RoomDefinition,
    headers: &HeaderMap,
    entry: Option<&str>,
) -> Result<Joiner, Refusal> {
    match room.identity {
        Identity::Anonymous => anonymous(state, &room.id, headers),
        Identity::Entry => by_entry(state, &room.id, headers, entry),
    }
}

fn anonymous(state: &AppState, room: &RoomId, headers: &HeaderMap) -> Result<Joiner, Refusal> {
    let shown = shown(headers, CookieKind::Visitor, state.options.secure());
    let open = |text| {
        let visitor: VisitorToken = state.keys().open(text, state.clock.now())?;
        let everywhere = visitor.room.is_none();
        everywhere.then_some(visitor).ok_or_else(|| Refusal::invalid_token("wrong_room"))
    };
    let visitor =
        first_good(shown, open).unwrap_or_else(|| Err(Refusal::new(Code::IdentityRequired)))?;
    let subject = visitor_subject(&state.keys(), room, &visitor.id);
    Ok(Joiner { subject, room_visitor: None })
}

fn by_entry(
    state: &AppState,
    room: &RoomId,
    headers: &HeaderMap,
    entry: Option<&str>,
) -> Result<Joiner, Refusal> {
    let known = room_visitor(state, room, headers);
    let Some(text) = entry.or_else(|| bearer(headers)) else {
        let subject = known?.ok_or_else(|| Refusal::new(Code::IdentityRequired))?;
        return Ok(Joiner { subject, room_visitor: None });
    };
    match entry_token(state, room, text) {
        Ok(token) => {
            let subject = entry_subject(&state.keys(), room, &token.subject);
            let room_visitor = Some(sign_room_visitor(state, room, subject));
            Ok(Joiner { subject, room_visitor })
        }
        Err(refusal) => {
            // A page that is loaded again still carries the entry token of its address; it may be the visitor token
            // itself that came as the bearer.
            let good = match known {
                Ok(Some(subject)) => Some(subject),
                _ => open_room_visitor(state, room, text).ok(),
            };
            // One that has expired still says whom the tenant meant: not whoever used this browser before.
            let meant = open_expired::<EntryToken>(&state.keys(), text).ok();
            let meant = meant.map(|token| entry_subject(&state.keys(), room, &token.subject));
            let good = good.filter(|subject| meant.is_none_or(|meant| meant == *subject));
            let subject = good.ok_or(refusal)?;
            Ok(Joiner { subject, room_visitor: None })
        }
    }
}

fn entry_token(state: &AppState, room: &RoomId, text: &str) -> Result<EntryToken, Refusal> {
    let token: EntryToken = state.keys().open(text, state.clock.now())?;
    in_room(&token.room, room).map(|()| token)
}

/// The token that proves `subject` in `room` from now on.
fn sign_room_visitor(state: &AppState, room: &RoomId, subject: SubjectKey) -> String {
    let now = state.clock.now();
    let (id, room, expires_at) = (subject.0, Some(room.clone()), now + ROOM_VISITOR_TTL);
    state.keys().sign(&VisitorToken { id, room, issued_at: now, expires_at })
}

fn open_room_visitor(state: &AppState, room: &RoomId, text: &str) -> Result<SubjectKey, Refusal> {
    let token: VisitorToken = state.keys().open(text, state.clock.now())?;
    match &token.room {
        Some(of) if of == room => Ok(SubjectKey(token.id)),
        _ => Err(Refusal::invalid_token("wrong_room")),
    }
}

/// The identity that the room visitor token proves, by header or cookie.
fn room_visitor(
    state: &AppState,
    room: &RoomId,
    headers: &HeaderMap,
) -> Result<Option<SubjectKey>, Refusal> {
    let by_header = headers.get(VISITOR_HEADER).and_then(|value| value.to_str().ok());
    let by_cookie = CookieKind::RoomVisitor(room).read(headers, state.options.secure());
    let by_cookie = by_cookie.filter(|_| by_header.is_none());
    let shown = by_header.into_iter().chain(by_cookie);
    first_good(shown, |text| open_room_visitor(state, room, text)).transpose()
}

/// Whether the request proves more than that it holds the place's receipt: in `entry` rooms only that gets a pass.
#[must_use]
pub(crate) fn proves_subject(
    state: &AppState,
    room: &RoomDefinition,
    headers: &HeaderMap,
    subject: SubjectKey,
) -> bool {
    match room.identity {
        Identity::Anonymous => true,
        Identity::Entry => {
            matches!(room_visitor(state, &room.id, headers), Ok(Some(proved)) if proved == subject)
        }
    }
}

/// The receipt of a place.
///
/// # Errors
/// 401 `place_required` or `invalid_token`.
pub(crate) fn receipt(
    state: &AppState,
    room: &RoomId,
    headers: &HeaderMap,
) -> Result<PlaceToken, Refusal> {
    let shown = shown(headers, CookieKind::Place(room), state.options.secure());
    let open = |text| {
        let token: PlaceToken = state.keys().open(text, state.clock.now())?;
        in_room(&token.room, room).map(|()| token)
    };
    first_good(shown, open).unwrap_or_else(|| Err(Refusal::new(Code::PlaceRequired)))
}

/// A stream key of this room; that it is used once is not checked here.
///
/// # Errors
/// 401 `invalid_token`.
pub(crate) fn stream_key(
    state: &AppState,
    room: &RoomId,
    text: &str,
) -> Result<StreamKey, Refusal> {
    let key: StreamKey = state.keys().open(text, state.clock.now())?;
    in_room(&key.room, room).map(|()| key)
}

/// A pass of this room. Its own end does not count here: the room knows better, and a clock may have been set.
///
/// # Errors
/// The `reason` of 428 `pass_required`.
pub(crate) fn pass(
    state: &AppState,
    room: &RoomId,
    headers: &HeaderMap,
) -> Result<PassToken, &'static str> {
    let open = |text: &str| {
        let token: PassToken =
            open_expired(&state.keys(), text).map_err(crate::problem_response::token_reason)?;
        if token.room == *room { Ok(token) } else { Err("wrong_room") }
    };
    let by_bearer = bearer(headers).map(open);
    if let Some(Ok(token)) = by_bearer {
        return Ok(token);
    }
    // A proxy passes on the protected site's own bearer as well: it must not hide the pass in the cookie.
    let cookies = CookieKind::Pass(room).read(headers, state.options.secure());
    first_good(cookies, open).or(by_bearer).unwrap_or(Err("missing"))
}

/// Opens a token whose own end does not count.
pub(crate) fn open_expired<T: Token>(keys: &KeyRing, text: &str) -> Result<T, TokenError> {
    // At the beginning of time nothing has expired.
    keys.open(text, Timestamp(0))
}

fn in_room(of: &RoomId, room: &RoomId) -> Result<(), Refusal> {
    if of == room { Ok(()) } else { Err(Refusal::invalid_token("wrong_room")) }
}

/// The key of whom an operator or tenant names: the tenant's name for them, or in anonymous rooms the visitor's id in
/// hex.
///
/// # Errors
/// 422 `invalid_field`.
pub(crate) fn named_subject(
    keys: &KeyRing,
    room: &RoomDefinition,
    name: &str,
) -> Result<SubjectKey, Refusal> {
    let refuse = |why: &str| Refusal::new(Code::InvalidField).with("field", "subject").detail(why);
    match room.identity {
        Identity::Entry => {
            let subject: Subject =
                name.parse().map_err(|_| refuse("a subject has 1 to 256 bytes"))?;
            Ok(entry_subject(keys, &room.id, &subject))
        }
        Identity::Anonymous => {
            let id = visitor_id(name).ok_or_else(|| {
                refuse("in an anonymous room a subject is a visitor's id: 32 hex digits")
            })?;
            Ok(visitor_subject(keys, &room.id, &id))
        }
    }
}

fn visitor_id(text: &str) -> Option<[u8; 16]> {
    let hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| hex)?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_is_read_whatever_its_case_and_nothing_else_is() {
        let read = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(value));
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(read("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(read("bearer  abc ").as_deref(), Some("abc"));
        assert_eq!(read("Basic abc"), None);
        assert_eq!(read("Bearer"), None);
    }

    #[test]
    fn the_two_kinds_of_subject_never_meet() {
        let keys = vec![jari_pass::RingKey { id: 1, secret: [1; 32], signs: true }];
        let ring = KeyRing::new(keys, [2; 32]).expect("one signs");
        let room: RoomId = "shop".parse().expect("an id");
        let same: Subject = "aaaaaaaaaaaaaaaa".parse().expect("a subject");
        let visitor = visitor_subject(&ring, &room, b"aaaaaaaaaaaaaaaa");
        assert_ne!(visitor, entry_subject(&ring, &room, &same));
    }

    #[test]
    fn visitor_ids_are_32_hex_digits() {
        assert_eq!(visitor_id("000000000000000000000000000000ff").map(|id| id[15]), Some(255));
        for bad in
            ["", "ff", "+00000000000000000000000000000ff", "0000000000000000000000000000000g"]
        {
            assert_eq!(visitor_id(bad), None, "{bad}");
        }
    }
}
