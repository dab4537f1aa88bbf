//! Names of rooms, limit groups and tenants, and the key a person is stored under. Makes no ids up: that takes entropy.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::limits::ID_MAX_LEN;

/// Why a text is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum IdError {
    #[error("an id has 1 to {ID_MAX_LEN} characters")]
    Length,
    #[error("an id has only lower-case letters a-z, digits and '-'")]
    Character,
}

fn check(text: &str) -> Result<(), IdError> {
    if text.is_empty() || text.len() > ID_MAX_LEN {
        return Err(IdError::Length);
    }
    if text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        Ok(())
    } else {
        Err(IdError::Character)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                check(text)?;
                Ok($name(text.into()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }
    };
}

text_id! {
    /// A waiting room's id, unique in the installation: `[a-z0-9-]{1,64}`.
    RoomId
}
text_id! {
    /// A limit group's id: `[a-z0-9-]{1,64}`.
    GroupId
}
text_id! {
    /// A tenant's id: `[a-z0-9-]{1,64}`.
    TenantId
}

/// What a person is stored under: 16 bytes of an HMAC of the subject, so that stores and logs hold no identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SubjectKey(pub [u8; 16]);

impl fmt::Debug for SubjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Four bytes tell people apart in a log without being the key.
        let [a, b, c, d, ..] = self.0;
        write!(f, "subject:{a:02x}{b:02x}{c:02x}{d:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ids_are_checked() {
        let long = "a".repeat(ID_MAX_LEN + 1);
        for (text, want) in [
            ("shop", Ok(())),
            ("a-1", Ok(())),
            ("", Err(IdError::Length)),
            (long.as_str(), Err(IdError::Length)),
            ("Shop", Err(IdError::Character)),
            ("a/b", Err(IdError::Character)),
            ("자리", Err(IdError::Character)),
        ] {
            assert_eq!(text.parse::<RoomId>().map(|_| ()), want, "{text:?}");
        }
    }
}
