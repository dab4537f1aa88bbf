//! Where a request that the gate refused wanted to go, and the room's address that leads back there. An address from
//! outside is kept only where it leads to the protected site: anything else would be an open redirect.

use http::HeaderMap;
use jari_ports::RoomDefinition;
use url::{Url, form_urlencoded};

use crate::options::HttpOptions;

/// Longer addresses are not carried along; the room's own target is used.
const ORIGINAL_MAX_BYTES: usize = 2_000;

/// Headers in which proxies say what was asked for: nginx's two by custom, Traefik's and Caddy's.
const HEADERS: [&str; 3] = ["x-original-url", "x-original-uri", "x-forwarded-uri"];

/// The page to wait on, with the way back where it is known.
#[must_use]
pub(crate) fn room_url(
    options: &HttpOptions,
    room: &RoomDefinition,
    headers: &HeaderMap,
) -> String {
    let page = options.link(&format!("/rooms/{}", room.id));
    match original(room, headers) {
        Some(original) => {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("return", &original)
                .finish();
            format!("{page}?{query}")
        }
        None => page,
    }
}

fn original(room: &RoomDefinition, headers: &HeaderMap) -> Option<String> {
    let mut told = HEADERS.iter().filter_map(|name| headers.get(*name)?.to_str().ok());
    let told = told.find(|text| !text.is_empty() && text.len() <= ORIGINAL_MAX_BYTES)?;
    is_kept(&room.target_url, told).then(|| told.to_owned())
}

/// Whether an address is a path, or on the target's origin.
#[must_use]
pub(crate) fn is_kept(target_url: &str, address: &str) -> bool {
    let control = address.chars().any(|c| c.is_control() || c == '\\');
    // "//host" and "/\host" are addresses of another host to a browser.
    let path = address.starts_with('/') && !address.starts_with("//");
    let same_origin = || {
        let origin = |text: &str| {
            let url = Url::parse(text).ok()?;
            let plain = url.username().is_empty() && url.password().is_none();
            (plain && matches!(url.scheme(), "http" | "https")).then(|| url.origin())
        };
        origin(address).is_some_and(|to| Some(to) == origin(target_url))
    };
    !control && (path || same_origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_leads_away_from_the_protected_site() {
        let target = "https://shop.example/sale";
        for (address, kept) in [
            ("/cart?item=1", true),
            ("https://shop.example/cart", true),
            ("https://shop.example:443/cart", true),
            ("//evil.example/", false),
            ("/\\evil.example/", false),
            ("/\t/evil.example/", false),
            ("http://shop.example/cart", false),
            ("https://shop.example.evil.example/", false),
            ("https://shop.example@evil.example/", false),
            ("https://user@shop.example/", false),
            ("javascript:alert(1)", false),
            ("cart", false),
            ("", false),
        ] {
            assert_eq!(is_kept(target, address), kept, "{address:?}");
        }
        assert!(!is_kept("/inside", "https://shop.example/"), "a path has no origin");
    }
}
