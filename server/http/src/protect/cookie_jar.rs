//! Jari's cookies and the site's live on one origin: the site does not see ours, and cannot set them. Signs nothing.

use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};

/// All of Jari's cookies begin so, behind a browser's own prefix or not.
const OURS: &[u8] = b"jari_";
const PREFIXES: [&[u8]; 2] = [b"__host-", b"__secure-"];

/// Whether a name is Jari's. In any case of letters: not every reader of cookies tells them apart.
fn is_ours(name: &[u8]) -> bool {
    let bare = PREFIXES.iter().find_map(|prefix| after(name, prefix)).unwrap_or(name);
    after(bare, OURS).is_some()
}

/// What follows a prefix, in any case of letters.
fn after<'a>(name: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    let (begin, rest) = name.split_at_checked(prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// The name of a cookie as a browser would send it. One without a name, `=jari_x=y`, comes back as `jari_x=y`.
fn name(pair: &[u8]) -> &[u8] {
    let pair = pair.trim_ascii();
    let pair = match pair {
        [b'=', rest @ ..] => rest.trim_ascii(),
        _ => pair,
    };
    pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii()
}

/// Takes Jari's cookies out of a request, and makes one line of the others: HTTP/2 splits them, HTTP/1.1 has one.
pub(super) fn hide(headers: &mut HeaderMap) {
    if !headers.contains_key(COOKIE) {
        return;
    }
    let mut kept: Vec<u8> = Vec::new();
    for line in headers.get_all(COOKIE) {
        let pairs = line.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        for pair in pairs.filter(|pair| !pair.is_empty() && !is_ours(name(pair))) {
            if !kept.is_empty() {
                kept.extend_from_slice(b"; ");
            }
            kept.extend_from_slice(pair);
        }
    }
    headers.remove(COOKIE);
    // Parts of values are values.
    if let (false, Ok(line)) = (kept.is_empty(), HeaderValue::from_bytes(&kept)) {
        headers.insert(COOKIE, line);
    }
}

/// Takes out of an answer what would set or erase a cookie of Jari's.
pub(super) fn guard(headers: &mut HeaderMap) {
    if !headers.contains_key(SET_COOKIE) {
        return;
    }
    let told: Vec<_> = headers.get_all(SET_COOKIE).iter().cloned().collect();
    headers.remove(SET_COOKIE);
    for cookie in told {
        let pair = cookie.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        if !is_ours(name(pair)) {
            headers.append(SET_COOKIE, cookie);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(headers: &HeaderMap, name: &http::HeaderName) -> Vec<String> {
        let values = headers.get_all(name).iter();
        values.map(|value| value.to_str().expect("ASCII").to_owned()).collect()
    }

    #[test]
    fn the_site_sees_its_own_cookies_only() {
        let mut headers = HeaderMap::new();
        for line in [
            "a=1; jari_pass_shop=x;JARI_visitor=y",
            "__Host-jari_place_shop=z; b=\"2\"",
            "jari_lang",
        ] {
            headers.append(COOKIE, HeaderValue::from_static(line));
        }
        hide(&mut headers);
        assert_eq!(values(&headers, &COOKIE), ["a=1; b=\"2\""]);
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_static("jari_visitor=x"));
        hide(&mut headers);
        assert!(headers.is_empty());
    }

    #[test]
    fn the_site_sets_its_own_cookies_only() {
        let mut headers = HeaderMap::new();
        for cookie in [
            "sid=1; Path=/",
            "jari_pass_shop=evil; Path=/",
            " JARI_place_shop = evil",
            "__Host-jari_visitor=evil; Secure; Path=/",
            "=jari_visitor=evil",
            "jari_lang",
            "xjari_a=1",
        ] {
            headers.append(SET_COOKIE, HeaderValue::from_static(cookie));
        }
        guard(&mut headers);
        assert_eq!(values(&headers, &SET_COOKIE), ["sid=1; Path=/", "xjari_a=1"]);
    }
}
