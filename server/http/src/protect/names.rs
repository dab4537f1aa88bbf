//! Which headers are whose: what only this proxy may say to the site, what belongs to one connection.

use std::collections::HashSet;

use http::header::CONNECTION;
use http::{HeaderMap, HeaderName};

use crate::header_text::elements;

/// Everything that begins so is Jari's: who has which pass, tokens of visitors.
const OURS: &str = "jari-";
/// Written anew from what is known of the client.
const FORWARDED: [&str; 2] = ["forwarded", "x-forwarded-"];
/// Other names under which sites look for the client's address; left to trusted proxies.
const ADDRESS: [&str; 6] = [
    "x-real-ip",
    "x-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "x-cluster-client-ip",
    "fastly-client-ip",
];
/// With these, frameworks let a client ask for another path than the one that was judged.
const OTHER_PATH: [&str; 4] =
    ["x-original-url", "x-original-uri", "x-rewrite-url", "x-original-path"];
/// Of one connection (RFC 9110, 7.6.1), and what would change how a message ends.
const HOP: [&str; 11] = [
    "connection",
    "proxy-connection",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "proxy-authenticate",
    "proxy-authorization",
    "expect",
];

/// To CGI and WSGI `Jari_Room` and `Jari-Room` are one variable, and so are `Content_Length` and the true one: names with
/// anything but letters, digits and hyphens go no further. nginx does the same unless it is told otherwise.
fn is_odd(name: &str) -> bool {
    !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether a client's header is dropped before the site sees it.
fn is_dropped(name: &HeaderName, from_trusted: bool) -> bool {
    let name = name.as_str();
    is_odd(name)
        || name.starts_with(OURS)
        || FORWARDED.iter().any(|begin| name.starts_with(begin))
        || OTHER_PATH.contains(&name)
        || HOP.contains(&name)
        || !from_trusted && ADDRESS.contains(&name)
}

/// Removes what no client may say to the site. `from_trusted`: a proxy that is trusted sent it.
pub(super) fn remove_claims(headers: &mut HeaderMap, from_trusted: bool) {
    remove_named(headers);
    remove_where(headers, |name| is_dropped(name, from_trusted));
}

pub(super) fn remove_where(headers: &mut HeaderMap, is_out: impl Fn(&HeaderName) -> bool) {
    let out: Vec<_> = headers.keys().filter(|name| is_out(name)).cloned().collect();
    for name in out {
        headers.remove(name);
    }
}

/// Removes what belongs to the site's own connection, and what only this proxy may say to a visitor.
pub(super) fn remove_hops(headers: &mut HeaderMap) {
    remove_named(headers);
    remove_where(headers, |name| HOP.contains(&name.as_str()));
}

/// What `Connection` names: all but what frames or addresses a message, which no client may take away.
fn remove_named(headers: &mut HeaderMap) {
    const KEPT: [&str; 4] = ["host", "content-length", "cookie", "authorization"];
    if !headers.contains_key(CONNECTION) {
        return;
    }
    let named: HashSet<HeaderName> =
        elements(headers, CONNECTION, b',').filter_map(|name| name?.parse().ok()).collect();
    for name in named.iter().filter(|name| !KEPT.contains(&name.as_str())) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(names: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in names {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn no_client_can_say_what_only_the_gate_knows() {
        for name in [
            "jari-subject",
            "jari_subject",
            "jari-room",
            "jari.room",
            "jari-visitor",
            "x-forwarded-for",
            "x_forwarded_for",
            "x-forwarded-host",
            "forwarded",
            "x-original-url",
            "x_rewrite_url",
            "x-forwarded-prefix",
            "transfer-encoding",
            "transfer_encoding",
            "content_length",
            "proxy-authorization",
            "te",
            "expect",
            "http2-settings",
        ] {
            for trusted in [true, false] {
                let mut headers = headers(&[(name, "x"), ("accept", "*/*")]);
                remove_claims(&mut headers, trusted);
                assert_eq!(headers.len(), 1, "{name}");
            }
        }
    }

    #[test]
    fn addresses_are_taken_from_trusted_proxies_only() {
        for (trusted, left) in [(true, 1), (false, 0)] {
            let mut headers = headers(&[("x-real-ip", "1.2.3.4")]);
            remove_claims(&mut headers, trusted);
            assert_eq!(headers.len(), left);
        }
    }

    #[test]
    fn what_connection_names_goes_but_for_what_holds_a_message_together() {
        let mut headers = headers(&[
            ("connection", "close, x-hop, Host"),
            ("connection", "content-length, cookie"),
            ("x-hop", "1"),
            ("host", "a"),
            ("content-length", "1"),
            ("cookie", "a=b"),
        ]);
        remove_claims(&mut headers, false);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "cookie", "host"]);
    }
}
