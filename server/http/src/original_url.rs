//! Where a request that the gate refused wanted to go, and the room's address that leads back there. An address from
//! outside is kept only where it leads to the protected site: anything else would be an open redirect.

use http::{HeaderMap, HeaderValue};
use jari_ports::RoomDefinition;
use url::{Url, form_urlencoded};

use crate::cookies::CookieKind;
use crate::identity::PLACE_COOKIE_TTL;
use crate::options::HttpOptions;

/// What the way back is called in the address of a room's page.
const RETURN: &str = "return";

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
    room_page(&page, original(room, headers).as_deref())
}

/// A room's page, with the way back: an address on the site that was asked for.
#[must_use]
pub(crate) fn room_page(page: &str, original: Option<&str>) -> String {
    match original.filter(|original| original.len() <= ORIGINAL_MAX_BYTES) {
        Some(original) => {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair(RETURN, original)
                .finish();
            format!("{page}?{query}")
        }
        None => page.to_owned(),
    }
}

/// The cookie that remembers the way back that a room's page was called with, where it is one.
#[must_use]
pub(crate) fn remember(room: &RoomDefinition, told: &str, secure: bool) -> Option<HeaderValue> {
    let kept = told.len() <= ORIGINAL_MAX_BYTES && is_kept(&room.target_url, told);
    let text = || form_urlencoded::byte_serialize(told.as_bytes()).collect::<String>();
    kept.then(|| CookieKind::Back(&room.id).set(&text(), PLACE_COOKIE_TTL, secure))
}

/// Where an admitted visitor wanted to go, as the cookie says: it is theirs, so it is checked like any address from
/// outside. A path is meant on the protected site.
#[must_use]
pub(crate) fn remembered(
    room: &RoomDefinition,
    headers: &HeaderMap,
    secure: bool,
) -> Option<String> {
    let read = |text| Some(form_urlencoded::parse(str::as_bytes(text)).next()?.0.into_owned());
    let mut told = CookieKind::Back(&room.id).read(headers, secure).filter_map(read);
    let back = told.find(|back| is_kept(&room.target_url, back))?;
    match Url::parse(&room.target_url) {
        Ok(target) => {
            let url = target.join(&back).ok()?;
            (url.origin() == target.origin()).then(|| url.into())
        }
        // The room and the site are on one origin.
        Err(_) => Some(back),
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

    fn room(target_url: &str) -> RoomDefinition {
        RoomDefinition {
            id: "shop".parse().expect("an id"),
            tenant: "default".parse().expect("an id"),
            group: None,
            identity: jari_ports::Identity::Anonymous,
            title_ko: String::new(),
            title_en: "Shop".to_owned(),
            target_url: target_url.to_owned(),
            on_store_failure: jari_ports::OnStoreFailure::Wait,
            handover: jari_ports::Handover::Cookie,
            settings: jari_line::Settings::default(),
            version: 1,
            created_at: jari_units::Timestamp(1),
        }
    }

    #[test]
    fn what_a_page_was_called_with_is_remembered_where_it_leads_to_the_site() {
        let cookie = |text: &str| {
            let mut headers = HeaderMap::new();
            let text = HeaderValue::from_str(text).expect("visible text");
            headers.insert(http::header::COOKIE, text);
            headers
        };
        let there_and_back = |room: &RoomDefinition, told: &str| {
            let set = remember(room, told, false)?;
            let set = set.to_str().expect("visible text").to_owned();
            let pair = set.split(';').next().expect("a pair");
            remembered(room, &cookie(pair), false)
        };
        let (here, there) = (room("/"), room("https://shop.example/sale"));
        for (told, on_here, on_there) in [
            (
                "/예매?a=1&b=%20;c",
                Some("/예매?a=1&b=%20;c"),
                Some("https://shop.example/%EC%98%88%EB%A7%A4?a=1&b=%20;c"),
            ),
            ("https://shop.example/cart", None, Some("https://shop.example/cart")),
            ("//evil.example/", None, None),
            ("https://evil.example/", None, None),
        ] {
            assert_eq!(there_and_back(&here, told).as_deref(), on_here, "{told}");
            assert_eq!(there_and_back(&there, told).as_deref(), on_there, "{told}");
        }
        // A cookie that somebody else has set.
        for told in [
            "//evil.example/",
            "https%3A%2F%2Fevil.example%2F",
            "%2F%2Fevil.example",
            "javascript%3Aalert(1)",
        ] {
            assert_eq!(
                remembered(&here, &cookie(&format!("jari_back_shop={told}")), false),
                None,
                "{told}"
            );
            assert_eq!(
                remembered(&there, &cookie(&format!("jari_back_shop={told}")), false),
                None,
                "{told}"
            );
        }
    }
}
