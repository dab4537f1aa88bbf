//! A pass's name between Jari and a site: what a site keeps in its own session. It proves nothing: whoever calls with it
//! shows an API key, and only the key's own rooms know it.

use std::fmt;
use std::str::FromStr;

use jari_units::{PassId, RoomId};
use thiserror::Error;

/// Characters of the longest handle: a room's id, two numbers of up to 20 digits, a grant, and the dots.
pub const HANDLE_MAX_LEN: usize = jari_units::limits::ID_MAX_LEN + 2 * 21 + 4;

/// Why a text names no pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a pass is named <room>.<history>.<place>.<grant>")]
pub struct HandleError;

/// `<room>.<incarnation>.<seq>.<grant>`; one text for each pass, the same for as long as the pass lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PassHandle {
    pub room: RoomId,
    pub pass: PassId,
}

impl fmt::Display for PassHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PassId { incarnation, seq, grant } = self.pass;
        write!(f, "{}.{incarnation}.{seq}.{grant}", self.room)
    }
}

impl FromStr for PassHandle {
    type Err = HandleError;
    fn from_str(text: &str) -> Result<Self, HandleError> {
        let read = || {
            let mut parts = text.split('.');
            let room = parts.next()?.parse().ok()?;
            let pass = PassId {
                incarnation: parts.next()?.parse().ok()?,
                seq: parts.next()?.parse().ok()?,
                grant: parts.next()?.parse().ok()?,
            };
            parts.next().is_none().then_some(PassHandle { room, pass })
        };
        let handle = if text.len() <= HANDLE_MAX_LEN { read() } else { None };
        // One text each: no sign, no zeros in front.
        handle.filter(|handle| handle.to_string() == text).ok_or(HandleError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_has_one_name_and_it_reads_back() {
        let longest = "r".repeat(jari_units::limits::ID_MAX_LEN);
        for room in ["shop", longest.as_str()] {
            let pass = PassId { incarnation: u64::MAX, seq: u64::MAX, grant: 255 };
            let handle = PassHandle { room: room.parse().expect("an id"), pass };
            let text = handle.to_string();
            assert!(text.len() <= HANDLE_MAX_LEN);
            assert_eq!(text.parse(), Ok(handle));
        }
        for text in [
            "",
            "shop",
            "shop.1.2",
            "shop.1.2.3.4",
            "shop.+1.2.3",
            "shop.01.2.3",
            "shop.1.2.256",
            "shop.1.-2.3",
            "Shop.1.2.3",
            "shop.1.2.3 ",
            ".1.2.3",
            "shop.1..3",
            "shop.18446744073709551616.2.3",
        ] {
            assert_eq!(text.parse::<PassHandle>(), Err(HandleError), "{text:?}");
        }
    }
}
