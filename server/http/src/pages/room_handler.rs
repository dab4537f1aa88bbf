//! `GET /rooms/{room}`: the visitor's page, the same for everybody in the room; its script asks for the place.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, SET_COOKIE, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use jari_ports::Identity;
use serde::Deserialize;

use super::language::Language;
use super::scripted::{ReadyPages, missing_page};
use super::security::protect;
use crate::answers::with_cookies;
use crate::identity::visitor_cookie_where_missing;
use crate::metrics::Cache;
use crate::original_url;
use crate::query::Query;
use crate::request::RoomName;
use crate::state::AppState;

/// What the addresses of pages may carry.
#[derive(Debug, Deserialize)]
pub(super) struct PageQuery {
    /// The language chosen with the page's switch.
    lang: Option<String>,
    /// An entry token; the visitor's page takes it from the address itself.
    pub(super) entry: Option<String>,
    /// Where the visitor wanted to go.
    #[serde(rename = "return")]
    back: Option<String>,
}

impl PageQuery {
    pub(super) fn language(&self, headers: &HeaderMap) -> Language {
        Language::choose(self.lang.as_deref(), headers)
    }

    /// The cookie that remembers a choice made just now.
    pub(super) fn chosen(&self, language: Language, state: &AppState) -> Option<HeaderValue> {
        self.lang.as_ref().map(|_| language.cookie(state.options.secure()))
    }
}

pub(super) async fn show(
    State(state): State<AppState>,
    Extension(pages): Extension<Arc<ReadyPages>>,
    RoomName(room): RoomName,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> Response {
    let language = query.language(&headers);
    let Ok(entry) = state.room_entry(&room) else { return missing(pages.root(), language) };
    let definition = entry.definition();
    let (page, ready) = pages.get(&definition, language);
    state.metrics.cache_asked(Cache::RoomPage, ready);
    let mut response = page.response(&headers);
    // The identity comes before the join, so that a join whose answer is lost does not make a second place.
    if definition.identity == Identity::Anonymous
        && let Some(cookie) = visitor_cookie_where_missing(&state, &headers)
    {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    let back = query.back.as_deref();
    let back = back.and_then(|told| original_url::remember(&state, &definition, told));
    let chosen = query.chosen(language, &state);
    as_page(with_cookies(response, chosen.into_iter().chain(back).collect()))
}

/// The answer for a room that is not there.
pub(super) fn missing(root: &str, language: Language) -> Response {
    as_page((StatusCode::NOT_FOUND, missing_page(root, language)).into_response())
}

/// Adds what every page carries. Kept by browsers for going back, never by anybody in between, and never unasked.
pub(super) fn as_page(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding, accept-language, cookie"));
    protect(response)
}
