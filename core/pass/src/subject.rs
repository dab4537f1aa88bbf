//! The tenant's name for a person, checked once. Not the key a person is stored under: that is `SubjectKey`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Bytes in a tenant's name for a person: longer than any user id or e-mail address in use (254), short enough that an
/// entry token fits one cookie or header line.
pub const SUBJECT_MAX_BYTES: usize = 256;

/// Why a text cannot name a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a subject has 1 to {SUBJECT_MAX_BYTES} bytes")]
pub struct SubjectError;

/// How a tenant names a person: 1 to [`SUBJECT_MAX_BYTES`] bytes of UTF-8. Personal data: `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Subject(String);

impl Subject {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl TryFrom<String> for Subject {
    type Error = SubjectError;
    fn try_from(text: String) -> Result<Self, SubjectError> {
        if (1..=SUBJECT_MAX_BYTES).contains(&text.len()) {
            Ok(Subject(text))
        } else {
            Err(SubjectError)
        }
    }
}

impl FromStr for Subject {
    type Err = SubjectError;
    fn from_str(text: &str) -> Result<Self, SubjectError> {
        if text.len() > SUBJECT_MAX_BYTES {
            return Err(SubjectError);
        }
        text.to_owned().try_into()
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_has_1_to_256_bytes_and_is_never_shown() {
        for (text, good) in [
            (String::new(), false),
            ("u".into(), true),
            ("가".repeat(85), true),
            ("u".repeat(256), true),
            ("가".repeat(86), false),
            ("u".repeat(257), false),
        ] {
            assert_eq!(text.parse::<Subject>().is_ok(), good, "{} bytes", text.len());
            assert_eq!(Subject::try_from(text.clone()).is_ok(), good, "{} bytes", text.len());
        }
        let kim = "kim@example.org".parse::<Subject>().expect("15 bytes");
        assert!(!format!("{kim:?}").contains("kim"));
    }
}
