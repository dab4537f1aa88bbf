//! Where a request that the gate refused wanted to go, and the room's address that leads back there. Which addresses may be
//! led to is judged in `jari_gate`; here are the places that such an address comes from and goes to.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use http::{HeaderMap, HeaderValue};
use jari_gate::{ADDRESS_MAX_BYTES, Destination, Destinations, Origin, Pattern};
use jari_ports::{Handover, RoomDefinition, Tenant};
use jari_units::RoomId;
use url::{Url, form_urlencoded};

use crate::cookies::CookieKind;
use crate::directory::RoomDirectory;
use crate::header_text::address;
use crate::identity::PLACE_COOKIE_TTL;
use crate::options::HttpOptions;
use crate::protect::PREFIX;
use crate::state::AppState;

/// What the way back is called in the address of a room's page.
const RETURN: &str = "return";

/// Headers in which proxies say what was asked for: nginx's two by custom, Traefik's and Caddy's.
const HEADERS: [&str; 3] = ["x-original-url", "x-original-uri", "x-forwarded-uri"];

/// What is Jari's own on the site's origin: a way back into it would lead in a circle.
static OWN: LazyLock<Pattern> = LazyLock::new(|| {
    format!("{PREFIX}/*").parse().expect("a folder in plain letters is a pattern")
});

/// Where the pages of all rooms are, where no site is before them.
const ROOMS_FOLDER: &str = "/rooms/";
static ROOMS: LazyLock<Pattern> = LazyLock::new(|| {
    format!("{ROOMS_FOLDER}*").parse().expect("a folder in plain letters is a pattern")
});
/// What the end of a room's door is called, which leads on at once.
const DOOR: &str = "/go";

/// Where the visitors of a room may be led back to.
#[derive(Debug)]
pub(crate) struct WaysBack<'a> {
    /// `None`: the room and the site are on one origin.
    target: Option<Url>,
    origins: Vec<Origin>,
    tenant: Option<Arc<Tenant>>,
    /// Where the room's own pages are met, unless a site is before them: the origin, and the folder on it.
    room: Option<(Origin, Pattern)>,
    /// All rooms.
    rooms: Option<&'a RoomDirectory>,
}

impl<'a> WaysBack<'a> {
    pub(crate) fn of(state: &'a AppState, room: &RoomDefinition) -> Self {
        let ways = WaysBack::new(&state.options, room, state.tenants.get(&room.tenant));
        WaysBack { rooms: Some(&state.rooms), ..ways }
    }

    fn new(options: &HttpOptions, room: &RoomDefinition, tenant: Option<Arc<Tenant>>) -> Self {
        let target = Url::parse(&room.target_url).ok();
        let there = target.as_ref().and_then(|url| Origin::of(url).ok());
        let here = Origin::of(options.visited_url()).ok();
        let before_a_site = options.protect.is_some();
        // The site is elsewhere and never asks the gate: what is here is Jari's alone.
        let redirects = room.handover == Handover::Token && !before_a_site && target.is_some();
        let visited = here.clone().filter(|_| !redirects);
        let folder = format!("/rooms/{}/*", room.id).parse().ok();
        WaysBack {
            target,
            origins: there.into_iter().chain(visited).collect(),
            tenant,
            room: here.zip(folder).filter(|_| !before_a_site),
            rooms: None,
        }
    }

    /// The address to lead to, if it may be: a path is meant on the site.
    pub(crate) fn to(&self, told: &str) -> Option<String> {
        let registered = self.tenant.as_ref().map_or(&[][..], |tenant| &tenant.return_urls);
        let origins = self.origins.clone();
        let to = Destinations { origins, registered }.judge(told)?;
        if self.is_ours(&to) && to.is_within(&OWN) || self.is_in_a_circle(&to) {
            return None;
        }
        match (to, &self.target) {
            (Destination::Url(url), _) => Some(url.into()),
            (Destination::Path(path), None) => Some(path),
            (Destination::Path(path), Some(target)) => {
                let url = target.join(&path).ok()?;
                (url.origin() == target.origin()).then(|| url.into())
            }
        }
    }

    /// Whether it is on an origin on which visitors could meet Jari.
    fn is_ours(&self, to: &Destination) -> bool {
        match to {
            Destination::Path(_) => true,
            Destination::Url(url) => {
                Origin::of(url).is_ok_and(|origin| self.origins.contains(&origin))
            }
        }
    }

    /// Whether it is the room itself, the door of any, or another room's page, whose own way back could lead here: with the ways
    /// back in cookies that would go on again and again.
    fn is_in_a_circle(&self, to: &Destination) -> bool {
        let Some((here, folder)) = &self.room else { return false };
        let (origin, path) = match to {
            Destination::Url(url) => (Origin::of(url).ok(), url.path()),
            Destination::Path(path) => {
                let on = self.target.as_ref().map(Origin::of);
                let path = path.split(['?', '#']).next().unwrap_or_default();
                (on.map_or(Some(here.clone()), Result::ok), path)
            }
        };
        let is_door = || path.ends_with(DOOR) && to.is_within(&ROOMS);
        let is_here = || to.is_within(folder) || is_door() || self.is_a_room(to);
        origin.as_ref() == Some(here) && is_here()
    }

    /// Whether somebody reads it as a page of a room that there is. Else below that folder may be a site that asks at the gate.
    fn is_a_room(&self, to: &Destination) -> bool {
        let Some(rooms) = self.rooms else { return false };
        let named = to.named_below(ROOMS_FOLDER);
        named.iter().any(|name| name.parse().is_ok_and(|id: RoomId| rooms.get(&id).is_some()))
    }

    /// The address to lead to, if it may be; where not, that is counted.
    fn kept(&self, state: &AppState, told: &str) -> Option<String> {
        let to = self.to(told);
        if to.is_none() {
            state.metrics.return_dropped();
        }
        to
    }
}

/// What was asked for, as a proxy that asks the gate says it.
#[must_use]
pub(crate) fn original(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut told = HEADERS.iter().filter_map(|name| address(headers.get(*name)?));
    told.find(|text| !text.is_empty())
}

/// The page to wait on, with the way back where it may be gone. On the site's own origin it is below one folder, which a
/// proxy before the site hands on.
#[must_use]
pub(crate) fn room_url(state: &AppState, room: &RoomDefinition, original: Option<&str>) -> String {
    let page = state.options.link(&format!("{PREFIX}/rooms/{}", room.id));
    let kept = original.filter(|told| WaysBack::of(state, room).kept(state, told).is_some());
    room_page(&page, kept)
}

/// A room's page, with the way back: an address on the site that was asked for.
#[must_use]
pub(crate) fn room_page(page: &str, original: Option<&str>) -> String {
    match original.filter(|original| original.len() <= ADDRESS_MAX_BYTES) {
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
pub(crate) fn remember(state: &AppState, room: &RoomDefinition, told: &str) -> Option<HeaderValue> {
    WaysBack::of(state, room).kept(state, told)?;
    Some(cookie(room, told, state.options.secure()))
}

fn cookie(room: &RoomDefinition, told: &str, secure: bool) -> HeaderValue {
    let text: String = form_urlencoded::byte_serialize(told.as_bytes()).collect();
    CookieKind::Back(&room.id).set(&text, PLACE_COOKIE_TTL, secure)
}

/// Where an admitted visitor wanted to go: as the address says that their tab has, else as the cookie of all tabs says. Either is
/// judged.
#[must_use]
pub(crate) fn wanted(
    state: &AppState,
    room: &RoomDefinition,
    headers: &HeaderMap,
    told: Option<&str>,
) -> Option<String> {
    let asked = told.and_then(|told| WaysBack::of(state, room).kept(state, told));
    asked.or_else(|| remembered(state, room, headers))
}

/// Where an admitted visitor wanted to go, as the cookie says: it is theirs, so it is judged like any address from
/// outside.
#[must_use]
pub(crate) fn remembered(
    state: &AppState,
    room: &RoomDefinition,
    headers: &HeaderMap,
) -> Option<String> {
    let told: Vec<_> = told(room, headers, state.options.secure()).collect();
    // Most visitors bring none: then nothing is put together.
    let ways = (!told.is_empty()).then(|| WaysBack::of(state, room))?;
    told.iter().find_map(|told| ways.to(told))
}

fn told(room: &RoomDefinition, headers: &HeaderMap, secure: bool) -> impl Iterator<Item = String> {
    let read = |text| Some(form_urlencoded::parse(str::as_bytes(text)).next()?.0.into_owned());
    CookieKind::Back(&room.id).read(headers, secure).filter_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            challenge: jari_ports::Challenge::default(),
            settings: jari_line::Settings::default(),
            version: 1,
            created_at: jari_units::Timestamp(1),
        }
    }

    fn ways(target_url: &str) -> WaysBack<'static> {
        let options = HttpOptions::new("https://wait.example".parse().expect("a URL"));
        let tenant = Tenant {
            id: "default".parse().expect("an id"),
            name: String::new(),
            rooms_max: 1,
            limits: jari_ports::TenantLimits::default(),
            return_urls: vec!["https://partner.example/back".parse().expect("a return URL")],
            cors_origins: Vec::new(),
            version: 1,
        };
        WaysBack::new(&options, &room(target_url), Some(Arc::new(tenant)))
    }

    #[test]
    fn an_address_leads_to_the_site_to_this_server_or_where_the_tenant_says() {
        for (told, on_here, on_there) in [
            ("/cart?item=1", Some("/cart?item=1"), Some("https://shop.example/cart?item=1")),
            ("/예매", Some("/예매"), Some("https://shop.example/%EC%98%88%EB%A7%A4")),
            ("https://shop.example/cart", None, Some("https://shop.example/cart")),
            (
                "https://wait.example/x",
                Some("https://wait.example/x"),
                Some("https://wait.example/x"),
            ),
            (
                "https://partner.example/back/1",
                Some("https://partner.example/back/1"),
                Some("https://partner.example/back/1"),
            ),
            ("https://partner.example/other", None, None),
            ("//evil.example/", None, None),
            ("https://evil.example/", None, None),
            ("javascript:alert(1)", None, None),
        ] {
            assert_eq!(ways("/").to(told).as_deref(), on_here, "{told}");
            let there = ways("https://shop.example/sale").to(told);
            assert_eq!(there.as_deref(), on_there, "{told}");
        }
    }

    #[test]
    fn no_way_back_leads_to_the_room_itself_or_through_a_door() {
        for (told, here) in [
            ("/rooms/shop", true),
            ("/rooms/shop/go", true),
            ("/rooms/shop/go?a=b", true),
            ("/rooms/other/go", true),
            ("https://wait.example/rooms/shop?return=/x", true),
            ("https://wait.example:443/rooms/other/go", true),
            ("/x/../rooms/shop/go", true),
            ("/%72ooms/sho%70/go", true),
            ("/rooms/shopping", false),
            ("/rooms/12", false),
            ("/cart?x=/rooms/shop/go", false),
            ("/go", false),
        ] {
            assert_eq!(ways("/").to(told).is_none(), here, "{told}");
            // On the site's own host such a path is the site's.
            if told.starts_with('/') && !told.contains("..") {
                assert!(ways("https://shop.example/sale").to(told).is_some(), "{told}");
            }
        }
    }

    /// In redirect mode the site never asks the gate: nothing on Jari's own origin is a page to land on.
    #[test]
    fn jari_s_own_origin_is_no_site_in_redirect_mode() {
        let ways = |target_url: &str| {
            let options = HttpOptions::new("https://wait.example".parse().expect("a URL"));
            let room = RoomDefinition { handover: Handover::Token, ..room(target_url) };
            WaysBack::new(&options, &room, None)
        };
        for told in ["https://wait.example/x", "https://wait.example/admin"] {
            assert_eq!(ways("https://shop.example/sale").to(told), None);
            assert_eq!(ways("https://wait.example/sale").to(told).as_deref(), Some(told));
        }
        let cart = ways("https://shop.example/sale").to("/cart");
        assert_eq!(cart.as_deref(), Some("https://shop.example/cart"));
    }

    #[test]
    fn what_a_cookie_keeps_is_read_as_it_was() {
        let room = room("/");
        for text in ["/예매?a=1&b=%20;c", "https://shop.example/a,b", "//evil.example/"] {
            let set = cookie(&room, text, false);
            let set = set.to_str().expect("visible text").to_owned();
            let pair = set.split(';').next().expect("a pair");
            let mut headers = HeaderMap::new();
            headers.insert(http::header::COOKIE, pair.parse().expect("visible text"));
            assert_eq!(told(&room, &headers, false).collect::<Vec<_>>(), [text]);
        }
    }

    #[test]
    fn a_room_s_page_carries_the_way_back_unless_it_is_too_long() {
        let page = |original: &str| room_page("/.jari/rooms/shop", Some(original));
        assert_eq!(page("/a?b=c&d"), "/.jari/rooms/shop?return=%2Fa%3Fb%3Dc%26d");
        assert_eq!(page(&format!("/{}", "a".repeat(ADDRESS_MAX_BYTES))), "/.jari/rooms/shop");
    }
}
