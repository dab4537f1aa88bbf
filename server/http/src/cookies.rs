//! The cookies of the wire: their names, how they are read and written. What is in them is the tokens' business.

use http::HeaderMap;
use http::header::{COOKIE, HeaderName, HeaderValue};
use jari_units::{Millis, RoomId};

use crate::header_text::visible;

/// Cookies of one name that are looked at: each costs a check of its signature, and a browser has two or three at most.
const SAME_NAME_MAX: usize = 8;

/// A cookie of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieKind<'a> {
    /// An anonymous identity, for all rooms.
    Visitor,
    /// The identity that an entry token proved, for one room.
    RoomVisitor(&'a RoomId),
    Place(&'a RoomId),
    Pass(&'a RoomId),
    /// Where the visitor wanted to go when they were sent to the room.
    Back(&'a RoomId),
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
            CookieKind::Back(room) => format!("{prefix}jari_back_{room}"),
        }
    }

    /// Its values in a request, as the browser ordered them. There may be several: without TLS another site of the same
    /// domain can set one of this name too, and only the signature tells which is ours.
    pub(crate) fn read(self, headers: &HeaderMap, secure: bool) -> impl Iterator<Item = &str> {
        let name = self.name(secure);
        // The site's own cookies are on the same line, with whatever its scripts have written into them.
        let pairs = headers
            .get_all(COOKIE)
            .into_iter()
            .flat_map(|line| line.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii));
        let values =
            pairs.filter_map(move |pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
        values.filter_map(visible).take(SAME_NAME_MAX)
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

/// Which header of the gate's answer has this `Set-Cookie` value alone: proxies exist that hand on one cookie of several, or
/// all as one. Of each there is one at most.
#[must_use]
pub(crate) fn apart(set_cookie: &HeaderValue) -> Option<HeaderName> {
    let value = set_cookie.as_bytes();
    let name = value.strip_prefix(b"__Host-").unwrap_or(value);
    let of = [
        (&b"jari_pass_"[..], "jari-set-pass"),
        (b"jari_place_", "jari-set-place"),
        (b"jari_visitor", "jari-set-visitor"),
    ];
    let found = of.into_iter().find(|(begins, _)| name.starts_with(begins));
    found.map(|(_, header)| HeaderName::from_static(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cookie_of_the_gate_has_a_header_of_its_own() {
        let room: RoomId = "shop".parse().expect("an id");
        for secure in [false, true] {
            let apart = |cookie: CookieKind<'_>| apart(&cookie.set("v", Millis::ZERO, secure));
            for (cookie, want) in [
                (CookieKind::Pass(&room), "jari-set-pass"),
                (CookieKind::Place(&room), "jari-set-place"),
                (CookieKind::Visitor, "jari-set-visitor"),
            ] {
                assert_eq!(apart(cookie), Some(HeaderName::from_static(want)));
            }
            assert_eq!(apart(CookieKind::Back(&room)), None);
        }
    }

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        let room: RoomId = "shop".parse().expect("an id");
        let mut headers = HeaderMap::new();
        headers.append(
            COOKIE,
            HeaderValue::from_static("a=1; jari_place_shop-2=x; jari_place_shop=y"),
        );
        headers.append(COOKIE, HeaderValue::from_static("__Host-jari_place_shop=z"));
        let read = |cookie: CookieKind<'_>, secure| {
            cookie.read(&headers, secure).map(str::to_owned).collect::<Vec<_>>()
        };
        let place = CookieKind::Place(&room);
        assert_eq!(read(place, false), ["y"]);
        assert_eq!(read(place, true), ["z"]);
        assert!(read(CookieKind::Pass(&room), false).is_empty());
        assert!(read(CookieKind::Visitor, false).is_empty());
    }

    /// Scripts of a site may set any text, which browsers send as it is.
    #[test]
    fn a_cookie_that_is_no_ascii_hides_none_beside_it() {
        for line in [
            "name=홍길동; jari_visitor=a; b=c; jari_visitor=b".as_bytes(),
            b"n=\xe9;jari_visitor=a;jari_visitor=\xff; jari_visitor=b",
            b"jari_visitor=a; jari_visitor=b; \xff",
        ] {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, HeaderValue::from_bytes(line).expect("a value"));
            let read: Vec<_> = CookieKind::Visitor.read(&headers, false).collect();
            assert_eq!(read, ["a", "b"], "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn all_of_one_name_are_read_in_order_but_not_without_end() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("jari_visitor=a; jari_visitor=b"));
        let flood = "jari_visitor=c;".repeat(1_000);
        headers.append(COOKIE, HeaderValue::from_str(&flood).expect("visible text"));
        let read: Vec<_> = CookieKind::Visitor.read(&headers, false).collect();
        assert_eq!((&read[..3], read.len()), (&["a", "b", "c"][..], SAME_NAME_MAX));
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
