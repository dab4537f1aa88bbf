//! The path of a request, read in every way that matters. Which room it belongs to is the rules' business.

use thiserror::Error;

use crate::readings::{Reading, readings};
use crate::spelling::normal;

/// Bytes of a path at most. Browsers and proxies take 8,000 for sure (RFC 9110, 4.1).
const PATH_MAX_BYTES: usize = 8_192;
/// Bytes of a path that is spelled in an unusual way: it has many readings, each compared with every rule.
const ODD_PATH_MAX_BYTES: usize = 2_048;
/// Readings of a plain path.
const PLAIN_READINGS: usize = 2;

/// A path that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    normal: String,
    readings: Vec<Reading>,
}

/// Why a path cannot be judged: two servers could read it differently, and no browser sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unclear {
    #[error("the path does not begin with '/'")]
    NoSlash,
    #[error("the path is too long")]
    TooLong,
    #[error("the path is encoded in a way that cannot be read with certainty")]
    Encoding,
    #[error("the path has a control character in it")]
    Control,
    #[error("the path has '.' or '..' in it")]
    Dots,
    #[error("the path can be read in too many ways")]
    TooMany,
    #[error("the path reads as one of two rooms")]
    TwoRooms,
}

impl Target {
    /// Reads a path as it stands in the request: encoded, without the query.
    ///
    /// # Errors
    /// Why it is refused: 400.
    pub fn read(path: &str) -> Result<Target, Unclear> {
        if !path.starts_with('/') {
            return Err(Unclear::NoSlash);
        }
        if path.len() > PATH_MAX_BYTES {
            return Err(Unclear::TooLong);
        }
        let normal = normal(path).map_err(|_| Unclear::Encoding)?;
        let plain =
            path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_~.".contains(&byte));
        if !plain && path.len() > ODD_PATH_MAX_BYTES {
            return Err(Unclear::TooLong);
        }
        let readings = readings(&normal)?;
        debug_assert!(readings.len() >= PLAIN_READINGS, "each text is read in both letters");
        Ok(Target { normal, readings })
    }

    /// The spelling to send on.
    #[must_use]
    pub fn as_sent(&self) -> &str {
        &self.normal
    }

    pub(crate) fn readings(&self) -> &[Reading] {
        &self.readings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_bounded() {
        let path = |byte: &str, count: usize| format!("/{}", byte.repeat(count));
        assert!(Target::read(&path("a", PATH_MAX_BYTES - 1)).is_ok());
        assert_eq!(Target::read(&path("a", PATH_MAX_BYTES)), Err(Unclear::TooLong));
        assert!(Target::read(&path("%EC%98%88", 200)).is_ok());
        assert_eq!(Target::read(&path("%2F", 700)), Err(Unclear::TooLong));
        assert_eq!(Target::read("*"), Err(Unclear::NoSlash));
        assert_eq!(Target::read(""), Err(Unclear::NoSlash));
    }
}
