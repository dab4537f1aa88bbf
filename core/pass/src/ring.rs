//! The key ring: signs with the newest key, opens with any, and keys people. Where keys come from is not its business.

use std::fmt;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jari_units::{RoomId, SubjectKey, Timestamp};
use thiserror::Error;

use crate::payload::{HEAD_BYTES, Payload, Reader, TAG_BYTES, TOKEN_BYTES_MAX, Writer};

/// Characters of the longest token; anything longer is refused before it is looked at.
pub const TOKEN_MAX_LEN: usize = TOKEN_BYTES_MAX / 3 * 4;

/// The layout this build writes and reads. A newer build reads this one too before it writes its own.
const VERSION: u8 = 1;

/// Keeps derived secrets apart from tokens, which begin with the byte of their version.
const SECRET_DOMAIN: &[u8] = b"jari/secret/v1\0";

/// Keeps subject keys apart from anything else ever made with the same secret.
const SUBJECT_DOMAIN: &[u8] = b"jari/subject/v1\0";

/// A key as control data has it. Id 0 is not for tokens: control keeps the subject secret under it.
#[derive(Clone, PartialEq, Eq)]
pub struct RingKey {
    pub id: u8,
    pub secret: [u8; 32],
    /// Whether it may sign; a retiring key only verifies.
    pub signs: bool,
}

impl fmt::Debug for RingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RingKey {{ id: {}, signs: {}, secret: redacted }}", self.id, self.signs)
    }
}

/// Why keys make no ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    #[error("no key of the ring may sign")]
    NoSigner,
    #[error("two keys of the ring have the id {0}")]
    DuplicateId(u8),
    #[error("key id 0 is the subject secret's; it signs no tokens")]
    ReservedId,
}

/// Why a token was not opened, in order of precedence. Nothing inside is believed before its signature is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// Too long, too short, not base64url, or (behind a good signature) not the kind's layout.
    #[error("the token is malformed")]
    Malformed,
    #[error("the token has a version that this server does not read")]
    UnknownVersion,
    #[error("the token is of another kind")]
    WrongKind,
    #[error("the token was signed with a key that this server does not have")]
    UnknownKey,
    #[error("the token's signature is wrong")]
    BadSignature,
    #[error("the token has expired")]
    Expired,
}

/// A token that the ring can sign and open. Only this crate's tokens are: their layouts are one list.
pub trait Token: Payload {
    /// The second byte; given once, never reused.
    const KIND: u8;

    /// From this moment on the token is expired; `None`: never.
    fn expires_at(&self) -> Option<Timestamp>;
}

fn derived(key: &hmac::Key, purpose: &str) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    context.update(SECRET_DOMAIN);
    context.update(purpose.as_bytes());
    context.sign().as_ref().try_into().expect("an HMAC-SHA256 has 32 bytes")
}

/// Signs and opens tokens.
pub struct KeyRing {
    /// A few keys: searching them in order beats any map.
    keys: Vec<(u8, hmac::Key)>,
    /// Index in `keys`.
    signer: usize,
    subject: hmac::Key,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u8> = self.keys.iter().map(|(id, _)| *id).collect();
        write!(f, "KeyRing {{ ids: {ids:?}, signer: {}, secrets: redacted }}", ids[self.signer])
    }
}

impl KeyRing {
    /// A ring of `keys`: the highest id that may sign signs, all verify.
    ///
    /// # Errors
    /// [`RingError`] where no key may sign, or an id is 0 or there twice.
    pub fn new(keys: Vec<RingKey>, subject_secret: [u8; 32]) -> Result<KeyRing, RingError> {
        let mut keys = keys;
        keys.sort_by_key(|key| key.id);
        if keys.first().is_some_and(|key| key.id == 0) {
            return Err(RingError::ReservedId);
        }
        if let Some(pair) = keys.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(RingError::DuplicateId(pair[0].id));
        }
        let signer = keys.iter().rposition(|key| key.signs).ok_or(RingError::NoSigner)?;
        let made = |secret: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, secret);
        Ok(KeyRing {
            keys: keys.iter().map(|key| (key.id, made(&key.secret))).collect(),
            signer,
            subject: made(&subject_secret),
        })
    }

    /// What a person is stored under in a room: the first 16 bytes of an HMAC, so that no store or log holds who they
    /// are and the same person has unrelated keys in two rooms.
    #[must_use]
    pub fn subject_key(&self, room: &RoomId, subject: &[u8]) -> SubjectKey {
        let room = room.as_str().as_bytes();
        let mut context = hmac::Context::with_key(&self.subject);
        context.update(SUBJECT_DOMAIN);
        // A room id holds no zero byte, so the pair cannot be cut in two ways.
        context.update(room);
        context.update(&[0]);
        context.update(subject);
        let tag = context.sign();
        let (key, _) = tag.as_ref().split_first_chunk().expect("an HMAC-SHA256 has 32 bytes");
        SubjectKey(*key)
    }

    /// A secret for what another format than this crate's signs, made of the key that signs now: it rotates as the key does.
    /// The byte is the key's id, for [`secret_of`](KeyRing::secret_of).
    #[must_use]
    pub fn secret_for(&self, purpose: &str) -> (u8, [u8; 32]) {
        let (id, key) = &self.keys[self.signer];
        (*id, derived(key, purpose))
    }

    /// The secret for `purpose` that the key `id` made; `None` where the ring has no such key.
    #[must_use]
    pub fn secret_of(&self, id: u8, purpose: &str) -> Option<[u8; 32]> {
        let (_, key) = self.keys.iter().find(|(known, _)| *known == id)?;
        Some(derived(key, purpose))
    }

    /// Signs a token. The same token and ring give the same text.
    #[must_use]
    pub fn sign<T: Token>(&self, token: &T) -> String {
        let (id, key) = &self.keys[self.signer];
        let mut out = Writer::new();
        out.raw(&[VERSION, T::KIND, *id]);
        token.write(&mut out);
        let tag = hmac::sign(key, out.written());
        out.raw(tag.as_ref());
        URL_SAFE_NO_PAD.encode(out.written())
    }

    /// Opens a token of kind `T` at the time `now`; a token whose end is `now` is expired.
    ///
    /// # Errors
    /// [`TokenError`], the first that applies in its order.
    pub fn open<T: Token>(&self, text: &str, now: Timestamp) -> Result<T, TokenError> {
        if text.len() > TOKEN_MAX_LEN {
            return Err(TokenError::Malformed);
        }
        let mut bytes = [0; TOKEN_BYTES_MAX];
        let decoded = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        let token = &bytes[..decoded.map_err(|_| TokenError::Malformed)?];
        let (signed, tag) = token.split_last_chunk::<TAG_BYTES>().ok_or(TokenError::Malformed)?;
        let ([version, kind, id], payload) =
            signed.split_first_chunk::<HEAD_BYTES>().ok_or(TokenError::Malformed)?;
        if *version != VERSION {
            return Err(TokenError::UnknownVersion);
        }
        if *kind != T::KIND {
            return Err(TokenError::WrongKind);
        }
        let found = self.keys.iter().find(|(known, _)| known == id);
        let (_, key) = found.ok_or(TokenError::UnknownKey)?;
        hmac::verify(key, signed, tag).map_err(|_| TokenError::BadSignature)?;
        let mut fields = Reader::new(payload);
        let opened = T::read(&mut fields).ok_or(TokenError::Malformed)?;
        if !fields.is_empty() {
            return Err(TokenError::Malformed);
        }
        match opened.expires_at() {
            Some(end) if end <= now => Err(TokenError::Expired),
            _ => Ok(opened),
        }
    }
}
