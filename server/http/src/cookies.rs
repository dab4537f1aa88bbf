//! The cookies of the wire: their names, how they are read and written. What is in them is the tokens' business.

use http::HeaderMap;
use http::header::{COOKIE, HeaderValue};
use jari_units::{Millis, RoomId};

/// A cookie of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieKind<'a> {
    /// An anonymous identity, for all rooms.
    Visitor,
    /// The identity that an entry token proved, for one room.
    RoomVisitor(&'a RoomId),
    Place(&'a RoomId),
    Pass(&'a RoomId),
}

impl CookieKind<'_> {
    /// Under TLS the name begins with `__Host-`: browsers then take it only from this very host, over TLS.
    #[must_use]
    pub(crate) fn name(self, secure: bool) -> String {
        let prefix = if secure { "__Host-" } else { "" };
        match self {
            CookieKind::Visitor => format!("{prefix}jari_visitor"),
            CookieKind::RoomVisitor(room) => format!("{prefix}jari_visitor_{room}"),
            CookieKind::Place(room) => format!("{prefix}jari_place_{room}"),
            CookieKind::Pass(room) => format!("{prefix}jari_pass_{room}"),
        }
    }

    /// Its value in a request.
    #[must_use]
    pub(crate) fn read(self, headers: &HeaderMap, secure: bool) -> Option<&str> {
        let name = self.name(secure);
        let lines = headers.get_all(COOKIE).into_iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';'));
        pairs.find_map(|pair| pair.trim().strip_prefix(&*name)?.strip_prefix('='))
    }

    /// A `Set-Cookie` value that a browser keeps for `max_age`.
    #[must_use]
    pub(crate) fn set(self, value: &str, max_age: Millis, secure: bool) -> HeaderValue {
        let (name, seconds) = (self.name(secure), max_age.0 / 1_000);
        let tls = if secure { "; Secure" } else { "" };
        let text =
            format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={seconds}{tls}");
        HeaderValue::try_from(text).expect("names and tokens are visible ASCII without ';'")
    }

    /// A `Set-Cookie` value that makes a browser forget it.
    #[must_use]
    pub(crate) fn forget(self, secure: bool) -> HeaderValue {
        self.set("", Millis::ZERO, secure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let room: RoomId = "shop".parse().expect("an id");
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=1; jari_place_shop-2=x; jari_place_shop=y"),
        );
        headers.append(COOKIE, HeaderValue::from_static("__Host-jari_place_shop=z"));
        let place = CookieKind::Place(&room);
        assert_eq!(place.read(&headers, false), Some("y"));
        assert_eq!(place.read(&headers, true), Some("z"));
        assert_eq!(CookieKind::Pass(&room).read(&headers, false), None);
        assert_eq!(CookieKind::Visitor.read(&headers, false), None);
    }

    #[test]
    fn cookies_are_written_as_the_wire_says() {
        let room: RoomId = "shop".parse().expect("an id");
        let written = [
            CookieKind::Visitor.set("v", Millis::from_mins(1), false),
            CookieKind::RoomVisitor(&room).set("v", Millis(1_999), true),
            CookieKind::Pass(&room).forget(true),
        ];
        insta::assert_debug_snapshot!(written);
    }
}
