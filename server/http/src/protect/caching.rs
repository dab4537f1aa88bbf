//! A guarded answer is for whoever has the pass: no cache between may give it to others, with the pass's cookie in it.

use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::header_text::parts;

/// Where sites tell caches in between alone; they mean an answer for everybody.
const FOR_SHARED: [HeaderName; 3] = [
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("cloudflare-cdn-cache-control"),
];
const PRIVATE: HeaderValue = HeaderValue::from_static("private");

/// Makes what the site said of caching true for the visitor's own cache only.
pub(super) fn keep_private(headers: &mut HeaderMap) {
    for name in FOR_SHARED {
        headers.remove(name);
    }
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, PRIVATE);
        return;
    }
    let said: Vec<_> = headers.get_all(CACHE_CONTROL).iter().cloned().collect();
    let directives = said.iter().flat_map(|line| parts(line, b',')).flatten();
    let mut directives: Vec<_> = directives.filter(|one| !one.is_empty()).collect();
    let named = |one: &str, name: &str| {
        let of = one.split('=').next().unwrap_or_default().trim();
        of.eq_ignore_ascii_case(name)
    };
    if directives.iter().any(|one| named(one, "no-store")) {
        return;
    }
    // `private="set-cookie"` leaves the rest to everybody.
    let shared = ["public", "s-maxage", "private", "proxy-revalidate"];
    directives.retain(|one| !shared.iter().any(|name| named(one, name)));
    directives.insert(0, "private");
    let value = HeaderValue::from_str(&directives.join(", "));
    headers.insert(CACHE_CONTROL, value.unwrap_or(PRIVATE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_shared_cache_keeps_a_guarded_answer() {
        for (said, want) in [
            (&[][..], "private"),
            (&["public, max-age=60"], "private, max-age=60"),
            (
                &["max-age=60, S-MaxAge=600", "must-revalidate"],
                "private, max-age=60, must-revalidate",
            ),
            (&["private=\"set-cookie\", max-age=1"], "private, max-age=1"),
            (&["no-store"], "no-store"),
            (&["no-cache"], "private, no-cache"),
            // What is no text is left out alone.
            (&["x=홍, no-cache"], "private, no-cache"),
            (&["no-store, x=홍"], "no-store, x=홍"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("cdn-cache-control", HeaderValue::from_static("max-age=60"));
            for line in said {
                headers.append(
                    CACHE_CONTROL,
                    HeaderValue::from_bytes(line.as_bytes()).expect("a value"),
                );
            }
            keep_private(&mut headers);
            assert_eq!((headers.len(), headers[CACHE_CONTROL].as_bytes()), (1, want.as_bytes()));
        }
    }
}
