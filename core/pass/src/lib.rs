//! Signed tokens and the key ring that signs and opens them. Reads no clock, makes no randomness, knows no HTTP.
//!
//! A token is base64url without padding of `[version][kind][key id][payload][HMAC-SHA256 tag]`. The payload's layout
//! is written by hand in `tokens.rs` and fixed per version, so that old and new nodes read each other's tokens during a
//! rolling upgrade. A token tells who signed it and what was true then; whether a place or pass still lives, only the
//! room knows. A pass has a name for sites too (`handle.rs`), and a tenant has keys whose times are decided here; the tokens
//! that those sign are not this crate's: they are JSON. Nor is a challenge's format; what a solved one opens is decided in
//! `challenge.rs`.

mod challenge;
mod handle;
mod payload;
mod ring;
#[cfg(test)]
mod ring_tests;
mod site_keys;
mod subject;
mod tokens;

pub use challenge::{
    Challenge, ChallengeKind, DIFFICULTY_DEFAULT, DIFFICULTY_MAX, DIFFICULTY_MIN, DifficultyError,
    Solved, Unsolved,
};
pub use handle::{HANDLE_MAX_LEN, HandleError, PassHandle};
pub use ring::{KeyRing, RingError, RingKey, TOKEN_MAX_LEN, Token, TokenError};
pub use site_keys::{KeyTimes, SHOWN_BEFORE, rotation, signer};
pub use subject::{SUBJECT_MAX_BYTES, Subject, SubjectError};
pub use tokens::{EntryToken, PassToken, PlaceToken, StreamKey, VisitorToken};
