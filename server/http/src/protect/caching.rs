//! A guarded answer is for whoever has the pass: no cache between may give it to others, with the pass's cookie in it.

use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::names::remove_where;
use crate::header_text::parts;

/// Where sites tell caches in between alone, of which nginx believes the second more than `Cache-Control`; they mean an
/// answer for everybody.
const FOR_SHARED: [&str; 4] =
    ["surrogate-control", "x-accel-expires", "edge-control", "x-litespeed-cache-control"];
/// RFC 9213, and each network's own before it.
const FOR_NETWORKS: &str = "cdn-cache-control";
const PRIVATE: HeaderValue = HeaderValue::from_static("private");

/// Makes what the site said of caching true for the visitor's own cache only.
pub(super) fn keep_private(headers: &mut HeaderMap) {
    remove_where(headers, is_for_shared);
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
    // `private="set-cookie"` leaves the rest to everybody.
    let shared = ["public", "s-maxage", "private", "proxy-revalidate"];
    let is_shared = |one: &str| shared.iter().any(|name| named(one, name));
    // Beside one of those it may stand within quotes.
    let is_stored = !directives.iter().any(|one| named(one, "no-store"));
    if !is_stored && !directives.iter().any(|one| is_shared(one)) {
        return;
    }
    directives.retain(|one| !is_shared(one));
    directives.insert(0, "private");
    let value = HeaderValue::from_str(&directives.join(", "));
    headers.insert(CACHE_CONTROL, value.unwrap_or(PRIVATE));
}

fn is_for_shared(name: &HeaderName) -> bool {
    FOR_SHARED.contains(&name.as_str()) || name.as_str().ends_with(FOR_NETWORKS)
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
            (&["public, x=\"a, no-store, b\""], "private, x=\"a, no-store, b\""),
            (&["public, no-store"], "private, no-store"),
        ] {
            let mut headers = HeaderMap::new();
            for name in [
                "cdn-cache-control",
                "vercel-cdn-cache-control",
                "surrogate-control",
                "x-accel-expires",
                "edge-control",
                "x-litespeed-cache-control",
            ] {
                headers.insert(name, HeaderValue::from_static("max-age=60"));
            }
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
