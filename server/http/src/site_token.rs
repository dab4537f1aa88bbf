//! The one-time token that an admitted person takes to a site: a JWT signed with EdDSA. Whether it was used already, the
//! line knows; this only signs, and opens what was signed.

use jari_pass::PassHandle;
use jari_ports::RoomDefinition;
use jari_units::limits::SEQ_MAX;
use jari_units::{Millis, SubjectKey, Timestamp};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};

use crate::api_keys::Caller;
use crate::problem_response::Refusal;
use crate::state::AppState;

/// From the room's page to the site's: a redirect and a page load, with time to spare. Never above a minute: until then a
/// site that only checks the signature cannot tell a token that was used.
const TTL: Millis = Millis::from_secs(60);

/// What kind of token it is (RFC 8725, 3.11): nothing else that these keys may ever sign is taken for one.
const TYPE: &str = "jari-pass+jwt";

/// Bytes of a token that is looked at: ours have some 600.
const MAX_LEN: usize = 2_048;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Claims {
    /// Where this Jari is reached.
    iss: String,
    /// The tenant.
    aud: String,
    /// The room's own name for the person.
    sub: String,
    room: String,
    /// The pass's handle.
    pass: String,
    /// The handle, and which of the pass's tokens it is.
    jti: String,
    iat: u64,
    exp: u64,
}

/// A token that is about to be signed.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) handle: PassHandle,
    pub(crate) no: u64,
    pub(crate) subject: SubjectKey,
    /// The line's time: nodes' own clocks may be minutes apart.
    pub(crate) now: Timestamp,
    /// The pass's own end.
    pub(crate) until: Timestamp,
}

/// A token whose signature was good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) handle: PassHandle,
    pub(crate) no: u64,
    pub(crate) subject: String,
    /// By the line's clock.
    pub(crate) expires_at: Timestamp,
}

/// The room's own name for a person, as sites are told it.
#[must_use]
pub(crate) fn subject_text(subject: SubjectKey) -> String {
    let mut digits = vec![0; 2 * subject.0.len()];
    hex::encode_to_slice(subject.0, &mut digits).expect("two digits a byte");
    String::from_utf8(digits).expect("digits are ASCII")
}

/// # Errors
/// 500 where the tenant has no key, which the room's making sees to.
pub(crate) fn sign(
    state: &AppState,
    room: &RoomDefinition,
    leaving: &Leaving,
) -> Result<String, Refusal> {
    let Some(key) = state.site_keys.signer(&room.tenant, state.clock.now()) else {
        tracing::error!(room = %room.id, tenant = %room.tenant, "room {} hands tokens over, and tenant {} has no site key: rotate them", room.id, room.tenant);
        return Err(Refusal::new(jari_api::Code::Internal));
    };
    let mut header = Header::new(Algorithm::EdDSA);
    header.typ = Some(TYPE.to_owned());
    header.kid = Some(key.id.clone());
    let (handle, ends) = (leaving.handle.to_string(), leaving.until.min(leaving.now + TTL));
    let claims = Claims {
        iss: state.options.link("").trim_end_matches('/').to_owned(),
        aud: room.tenant.to_string(),
        sub: subject_text(leaving.subject),
        room: room.id.to_string(),
        jti: format!("{handle}.{}", leaving.no),
        pass: handle,
        iat: leaving.now.0 / 1_000,
        // Whole seconds, never later than meant.
        exp: ends.0 / 1_000,
    };
    encode(&header, &claims, &key.signing).map_err(|error| Refusal::internal(&error))
}

/// Opens a token for the caller, by the keys of its own tenant alone. Its end is not looked at: that is the line's time.
///
/// # Errors
/// The `reason` of 428 `pass_required`. Nothing inside is believed before the signature is good.
pub(crate) fn open(state: &AppState, caller: &Caller, text: &str) -> Result<Opened, &'static str> {
    if text.len() > MAX_LEN {
        return Err("malformed");
    }
    let header = decode_header(text).map_err(|error| reason(&error))?;
    let id = header.kid.as_deref().ok_or("malformed")?;
    let key = state.site_keys.find(id, state.clock.now()).ok_or("bad_signature")?;
    // Another tenant's key is as unknown as one that there is none of.
    caller.require_tenant(&key.tenant).map_err(|_| "bad_signature")?;
    let mut validation = Validation::new(Algorithm::EdDSA);
    validation.required_spec_claims.clear();
    (validation.validate_exp, validation.validate_aud) = (false, false);
    let token =
        decode::<Claims>(text, &key.checking, &validation).map_err(|error| reason(&error))?;
    let claims = token.claims;
    if token.header.typ.as_deref() != Some(TYPE) || claims.aud != key.tenant.as_str() {
        return Err("wrong_kind");
    }
    read(claims).ok_or("malformed")
}

fn read(claims: Claims) -> Option<Opened> {
    let handle: PassHandle = claims.pass.parse().ok()?;
    let no = claims.jti.strip_prefix(&claims.pass)?.strip_prefix('.')?;
    let no = no.parse().ok().filter(|no| *no <= SEQ_MAX)?;
    let expires_at = Timestamp(claims.exp.checked_mul(1_000)?);
    (handle.room.as_str() == claims.room).then_some(Opened {
        handle,
        no,
        subject: claims.sub,
        expires_at,
    })
}

fn reason(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => "bad_signature",
        _ => "malformed",
    }
}
