//! Proof of work before a join, in ALTCHA's format (proof-of-work v2), so that its widget and libraries can do the work:
//! made and checked without a store call and without memory. What a solution is good for is decided in `jari_pass`.
//!
//! The challenge is deterministic: this server picks the counter, shows the first half of the key that it leads to, and
//! signs the whole key. So the work is at most what was picked, and checking it is a signature, however hard the room made it.

use std::collections::BTreeMap;

use altcha::{
    Challenge as Made, ChallengeParameters, CreateChallengeOptions, HmacAlgorithm, Payload,
};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jari_api::Code;
use jari_pass::{KeyRing, Solved, Unsolved};
use jari_ports::{Entropy, RoomDefinition};
use jari_units::{Millis, RoomId, SubjectKey, Timestamp};
use serde_json::Value;

use crate::problem_response::Refusal;
use crate::site_token::subject_text;
use crate::state::AppState;

/// WebCrypto has it, so an honest browser is not far behind a program.
const ALGORITHM: &str = "PBKDF2/SHA-256";
/// Rounds of one try. Making a challenge costs this server as many, below a tenth of a millisecond: no more than the request
/// itself.
const ROUNDS: u32 = 100;
/// Bytes of the key, of which half are shown: 128 bits, so that nothing but the counter leads to them.
const KEY_BYTES: usize = 32;
/// From the challenge to the join: the hardest work on a slow phone, and the wait for the opening. Who collects solutions
/// beforehand has so long for it.
pub(crate) const TTL: Millis = Millis::from_mins(10);
/// Characters of a solution: some 900 as the challenge is made here, and room for what a widget adds.
const SOLUTION_MAX_LEN: usize = 4_096;

const FOR_PARAMETERS: &str = "challenge/parameters";
const FOR_KEY: &str = "challenge/key";

/// What a challenge's `data` says.
const KEY_ID: &str = "key";
const ROOM: &str = "room";
const VISITOR: &str = "visitor";
const DIFFICULTY: &str = "difficulty";

/// A challenge for `visitor`, who wants to join `room`.
#[must_use]
pub(crate) fn make(state: &AppState, room: &RoomDefinition, visitor: SubjectKey) -> Made {
    state.metrics.challenged("made");
    let expires_at = state.clock.now() + TTL;
    let difficulty = room.challenge.difficulty;
    let about = About { room: &room.id, visitor, difficulty, expires_at };
    made(&state.keys(), &*state.entropy, &about)
}

/// Whether `solution` lets `visitor` join `room`.
///
/// # Errors
/// 403 `challenge_required` with the reason.
pub(crate) fn check(
    state: &AppState,
    room: &RoomDefinition,
    visitor: SubjectKey,
    solution: Option<&str>,
) -> Result<(), Refusal> {
    let now = state.clock.now();
    let judged = solution
        .ok_or(Unsolved::Missing)
        .and_then(|text| solved(&state.keys(), text))
        .and_then(|solved| room.challenge.judge(&solved, &room.id, visitor, now));
    state.metrics.challenged(judged.map_or_else(reason, |()| "solved"));
    judged.map_err(|why| {
        let detail = format!("{why}: GET /v1/rooms/{}/challenge", room.id);
        Refusal::new(Code::ChallengeRequired).with("reason", reason(why)).detail(detail)
    })
}

/// The `reason` on the wire; also what it is counted as.
fn reason(why: Unsolved) -> &'static str {
    match why {
        Unsolved::Missing => "missing",
        Unsolved::Malformed => "malformed",
        Unsolved::Forged => "bad_signature",
        Unsolved::Wrong => "unsolved",
        Unsolved::Expired => "expired",
        Unsolved::OtherRoom => "wrong_room",
        Unsolved::OtherVisitor => "wrong_visitor",
        Unsolved::TooEasy => "too_easy",
    }
}

/// What a challenge is made of.
struct About<'a> {
    room: &'a RoomId,
    visitor: SubjectKey,
    difficulty: u32,
    expires_at: Timestamp,
}

/// The two secrets of a signing key: one signs what is shown, the other the key that is to be found.
struct Secrets {
    parameters: String,
    key: String,
}

impl Secrets {
    fn of(ring: &KeyRing, id: u8) -> Option<Secrets> {
        let of = |purpose| ring.secret_of(id, purpose).map(hex::encode);
        Some(Secrets { parameters: of(FOR_PARAMETERS)?, key: of(FOR_KEY)? })
    }
}

fn made(ring: &KeyRing, entropy: &dyn Entropy, about: &About<'_>) -> Made {
    let (id, parameters) = ring.secret_for(FOR_PARAMETERS);
    let (_, key) = ring.secret_for(FOR_KEY);
    let data = [
        (KEY_ID, Value::from(id)),
        (ROOM, Value::from(about.room.as_str())),
        (VISITOR, Value::from(subject_text(about.visitor))),
        (DIFFICULTY, Value::from(about.difficulty)),
    ];
    let seconds = i64::try_from(about.expires_at.0 / 1_000).unwrap_or(i64::MAX);
    altcha::create_challenge(CreateChallengeOptions {
        algorithm: ALGORITHM.to_owned(),
        cost: ROUNDS,
        key_length: KEY_BYTES,
        counter: Some(counter(entropy, about.difficulty)),
        data: Some(data.map(|(name, value)| (name.to_owned(), value)).into()),
        expires_at: Some(seconds),
        hmac_signature_secret: Some(hex::encode(parameters)),
        hmac_key_signature_secret: Some(hex::encode(key)),
        ..CreateChallengeOptions::default()
    })
    .expect("the algorithm is one that the crate has, and a secret may have any length")
}

/// From 1 to `difficulty`, each as likely: who knew a lower bound would begin there.
fn counter(entropy: &dyn Entropy, difficulty: u32) -> u32 {
    let mut bytes = [0; 4];
    entropy.fill(&mut bytes);
    let share = (u64::from(u32::from_le_bytes(bytes)) * u64::from(difficulty)) >> 32;
    u32::try_from(share).expect("a share of a u32") + 1
}

/// What a solution's challenge was made for. Bounded whatever is sent: two signatures, and never the work itself.
fn solved(ring: &KeyRing, text: &str) -> Result<Solved, Unsolved> {
    if text.len() > SOLUTION_MAX_LEN {
        return Err(Unsolved::Malformed);
    }
    let json = STANDARD.decode(text).map_err(|_| Unsolved::Malformed)?;
    let shown: Payload = serde_json::from_slice(&json).map_err(|_| Unsolved::Malformed)?;
    let Made { parameters, signature } = shown.challenge;
    let id = number(&parameters, KEY_ID).and_then(|id| u8::try_from(id).ok());
    let secrets = id.and_then(|id| Secrets::of(ring, id)).ok_or(Unsolved::Forged)?;
    let signature = signature.as_deref().unwrap_or_default();
    // Signing anew with the key that was found gives the same signature only where it is the key that was signed.
    let key = hex::decode(&shown.solution.derived_key).unwrap_or_default();
    if !is_signature(&parameters, Some(&key), &secrets, signature) {
        let ours = is_signature(&parameters, None, &secrets, signature);
        return Err(if ours { Unsolved::Wrong } else { Unsolved::Forged });
    }
    read(&parameters).ok_or(Unsolved::Malformed)
}

/// Whether this server signed these parameters, with `key` as the one to be found where it is given.
fn is_signature(
    parameters: &ChallengeParameters,
    key: Option<&[u8]>,
    secrets: &Secrets,
    signature: &str,
) -> bool {
    let mut parameters = parameters.clone();
    let signed = altcha::sign_challenge(
        &HmacAlgorithm::Sha256,
        &mut parameters,
        key,
        &secrets.parameters,
        key.map(|_| &*secrets.key),
    );
    let signed = signed.ok().and_then(|signed| signed.signature).unwrap_or_default();
    verify_slices_are_equal(signed.as_bytes(), signature.as_bytes()).is_ok()
}

/// What signed parameters say.
fn read(parameters: &ChallengeParameters) -> Option<Solved> {
    let visitor = data(parameters)?.get(VISITOR)?.as_str()?;
    let mut key = [0; 16];
    hex::decode_to_slice(visitor, &mut key).ok()?;
    let seconds = u64::try_from(parameters.expires_at?).ok()?;
    Some(Solved {
        room: data(parameters)?.get(ROOM)?.as_str()?.to_owned(),
        visitor: SubjectKey(key),
        difficulty: u32::try_from(number(parameters, DIFFICULTY)?).ok()?,
        expires_at: Timestamp(seconds.checked_mul(1_000)?),
    })
}

fn data(parameters: &ChallengeParameters) -> Option<&BTreeMap<String, Value>> {
    parameters.data.as_ref()
}

fn number(parameters: &ChallengeParameters, name: &str) -> Option<u64> {
    data(parameters)?.get(name)?.as_u64()
}

#[cfg(test)]
#[path = "challenge_tests.rs"]
mod tests;
