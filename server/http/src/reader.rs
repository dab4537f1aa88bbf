//! Who reads an answer that is no page of the site's: a person gets a page or is sent on, a program a problem. Decides
//! nothing.

use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCEPT, ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_TYPE, COOKIE, LOCATION, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use jari_api::{Code, PROBLEM_JSON};
use jari_ports::RoomDefinition;
use jari_units::Millis;

use crate::answers::with_cookies;
use crate::cookies::CookieKind;
use crate::gate;
use crate::pages::site_page;
use crate::problem_response::Refusal;
use crate::protect::PREFIX;

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// A person who goes from page to page, not a program.
    person: bool,
    /// Loading the page again asks for the same.
    reloads: bool,
    /// For the page's language only.
    language: Option<HeaderValue>,
    cookie: Option<HeaderValue>,
}

/// A room's page: as a person is sent there, and as a program is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) location: &'a str,
    pub(crate) room_url: &'a str,
}

impl Reader {
    pub(crate) fn of(method: &Method, from: &HeaderMap) -> Self {
        let text = |name| from.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let person = match text(&SEC_FETCH_MODE) {
            Some(mode) => mode == "navigate",
            None => text(&ACCEPT).is_some_and(|accept| accept.contains("text/html")),
        };
        let reloads = matches!(*method, Method::GET | Method::HEAD);
        // Most are never refused: a clone is two counters.
        let of_person = |name| person.then(|| from.get(name).cloned()).flatten();
        let (language, cookie) = (of_person(ACCEPT_LANGUAGE), of_person(COOKIE));
        Reader { person, reloads, language, cookie }
    }

    /// The headers that tell the language.
    fn headers(&self) -> HeaderMap {
        let told = [(ACCEPT_LANGUAGE, &self.language), (COOKIE, &self.cookie)];
        told.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect()
    }

    /// A refusal in the form that the reader takes.
    pub(crate) fn refused(&self, refusal: Refusal) -> Response {
        self.shown(refusal.into_response())
    }

    /// An answer in the form that the reader takes: a refusal is a page for a person, all else stays as it is.
    pub(crate) fn shown(&self, answer: Response) -> Response {
        let is_problem = answer.headers().get(CONTENT_TYPE).is_some_and(|it| it == PROBLEM_JSON);
        let code = answer.extensions().get::<Code>().copied();
        let Some(code) = code.filter(|_| self.person && is_problem) else { return answer };
        let problem = answer;
        let retry_after = problem.headers().get(RETRY_AFTER).cloned();
        let again = retry_after.as_ref().filter(|_| self.reloads);
        let again = again.and_then(|value| value.to_str().ok()?.parse().ok());
        let mut page = site_page::show(code, PREFIX, again, &self.headers());
        *page.status_mut() = problem.status();
        page.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(value) = retry_after {
            page.headers_mut().insert(RETRY_AFTER, value);
        }
        page.extensions_mut().insert(code);
        page
    }

    /// The way to the room, where a pass is needed and none is good.
    pub(crate) fn sent_to_room(
        &self,
        room: &RoomDefinition,
        page: Page<'_>,
        (reason, poll_after): (&'static str, Millis),
        secure: bool,
    ) -> Response {
        // A browser need not show a dead pass again.
        let dead = matches!(reason, gate::ENDED | "expired" | "bad_signature");
        let forget = dead.then(|| CookieKind::Pass(&room.id).forget(secure));
        let response = if self.person {
            to_page(page.location)
        } else {
            Refusal::new(Code::PassRequired)
                .with("reason", reason)
                .with("room_url", page.room_url)
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
