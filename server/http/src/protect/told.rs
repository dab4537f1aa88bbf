//! What a visitor is told who is not let through, or whose answer did not come: a page for people, a problem for programs.

use axum::response::{IntoResponse as _, Response};
use http::header::{ACCEPT, CACHE_CONTROL, LOCATION, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use jari_api::Code;
use jari_units::Millis;

use super::addressed::Addressed;
use super::upstream::Failed;
use super::{PREFIX, Site};
use crate::answers::with_cookies;
use crate::cookies::CookieKind;
use crate::directory::RoomEntry;
use crate::gate;
use crate::original_url::room_page;
use crate::pages::site_page;
use crate::problem_response::Refusal;
use crate::state::AppState;

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
/// How soon to look again for a site that does not answer: it is being restarted, or it is not.
const LOOK_AGAIN: Millis = Millis(5_000);

/// Who reads the answer.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// A person who goes from page to page, not a program.
    person: bool,
    /// Loading the page again asks for the same.
    reloads: bool,
    /// For the language only.
    headers: HeaderMap,
}

impl Reader {
    pub(super) fn of(parts: &Parts) -> Self {
        let text =
            |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let person = match text(&SEC_FETCH_MODE) {
            Some(mode) => mode == "navigate",
            None => text(&ACCEPT).is_some_and(|accept| accept.contains("text/html")),
        };
        let reloads = matches!(parts.method, Method::GET | Method::HEAD);
        let mut headers = HeaderMap::new();
        for name in [http::header::ACCEPT_LANGUAGE, http::header::COOKIE] {
            if let Some(value) = parts.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        Reader { person, reloads, headers }
    }

    /// A refusal in the form that the reader takes.
    pub(super) fn refused(&self, refusal: Refusal) -> Response {
        let code = refusal.code();
        let problem = refusal.into_response();
        if !self.person {
            return problem;
        }
        let retry_after = problem.headers().get(RETRY_AFTER).cloned();
        let again = retry_after.as_ref().filter(|_| self.reloads);
        let again = again.and_then(|value| value.to_str().ok()?.parse().ok());
        let mut page = site_page::show(code, PREFIX, again, &self.headers);
        *page.status_mut() = problem.status();
        page.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(value) = retry_after {
            page.headers_mut().insert(RETRY_AFTER, value);
        }
        page.extensions_mut().insert(code);
        page
    }

    /// The way to the room, where a pass is needed and none is good.
    pub(super) fn sent_to_room(
        &self,
        state: &AppState,
        site: &Site,
        entry: &RoomEntry,
        addressed: &Addressed,
        (reason, poll_after): (&'static str, Millis),
    ) -> Response {
        let room = entry.definition();
        let page =
            room_page(&format!("{PREFIX}/rooms/{}", room.id), Some(&addressed.path_and_query));
        // A browser need not show a dead pass again.
        let dead = matches!(reason, gate::ENDED | "expired" | "bad_signature");
        let forget = dead.then(|| CookieKind::Pass(&room.id).forget(state.options.secure()));
        let response = if self.person {
            to_page(&page)
        } else {
            let origin = site.options.public_url.as_str().trim_end_matches('/');
            Refusal::new(Code::PassRequired)
                .with("reason", reason)
                .with("room_url", format!("{origin}{page}"))
                .poll_after(poll_after)
                .into_response()
        };
        with_cookies(response, forget.into_iter().collect())
    }
}

fn to_page(page: &str) -> Response {
    let location = HeaderValue::from_str(page);
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(LOCATION, location.expect("an id and what was encoded for a query are ASCII"));
    response.extensions_mut().insert(Code::PassRequired);
    response
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Busy => Refusal::new(Code::SiteBusy),
            Failed::Unreachable | Failed::Broken => {
                Refusal::new(Code::SiteUnavailable).poll_after(LOOK_AGAIN)
            }
            Failed::Slow => Refusal::new(Code::SiteTimeout).poll_after(LOOK_AGAIN),
            Failed::Upload => Refusal::new(Code::RequestTimeout),
        }
    }
}
