//! An entry's hash, as bytes and as the hex that people copy.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// SHA-256 has so many bytes.
const BYTES: usize = 32;

/// The hash of an entry and, through it, of all before it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct EntryHash(pub [u8; BYTES]);

impl EntryHash {
    /// What the first entry names as the one before it.
    pub const NONE: EntryHash = EntryHash([0; BYTES]);
}

/// Why a text is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a hash is 64 digits in hex")]
pub struct HashError;

impl fmt::Display for EntryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EntryHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for EntryHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        // `from_str_radix` takes a sign, which is none of hex's digits.
        if text.len() != BYTES * 2 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(HashError);
        }
        let mut bytes = [0; BYTES];
        for (at, byte) in bytes.iter_mut().enumerate() {
            let digits = &text[at * 2..at * 2 + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| HashError)?;
        }
        Ok(EntryHash(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is() {
        let hash = EntryHash(std::array::from_fn(|at| at as u8 * 8));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!(hash.to_string().to_uppercase().parse(), Ok(hash));
        let digits = "0".repeat(63);
        let (sign, wide) = (format!("+{digits}"), format!("{}0", "가".repeat(21)));
        for text in ["", "0", &digits, &sign, &wide, &"g".repeat(64), &"0".repeat(66)] {
            assert_eq!(text.parse::<EntryHash>(), Err(HashError), "{text}");
        }
    }
}
