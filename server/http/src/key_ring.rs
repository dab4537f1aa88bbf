//! The ring of signing keys, as control holds them. Signs and opens nothing itself.

use jari_pass::{KeyRing, RingError, RingKey};
use jari_ports::{SigningKey, SigningKeyState};
use thiserror::Error;

/// Keys people in the stores; signs nothing and never rotates.
pub const SUBJECT_KEY: u8 = 0;

/// Why control's keys make no ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyRingError {
    #[error("the signing keys in the records cannot be used: {0}; restore a backup of the records")]
    Ring(#[from] RingError),
    #[error("the records have no subject key; restore a backup of the records")]
    NoSubjectKey,
}

/// The ring of these keys.
///
/// # Errors
/// [`KeyRingError`]
pub fn key_ring(keys: &[SigningKey]) -> Result<KeyRing, KeyRingError> {
    let subject = keys.iter().find(|key| key.id == SUBJECT_KEY);
    let subject = subject.ok_or(KeyRingError::NoSubjectKey)?.secret;
    let ring = keys.iter().filter(|key| key.id != SUBJECT_KEY).map(|key| RingKey {
        id: key.id,
        secret: key.secret,
        signs: key.state == SigningKeyState::Active,
    });
    Ok(KeyRing::new(ring.collect(), subject)?)
}
