//! `GET /rooms/{room}/go`: the way out of the room's page, for who has a pass. A plain link: it works without scripts, and
//! makes the one-time token at the moment of leaving, not before.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::{CACHE_CONTROL, REFERRER_POLICY};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::Root;
use super::language::Language;
use super::room_handler::missing;
use super::security::protect;
use crate::query::Query;
use crate::request::RoomName;
use crate::state::AppState;
use crate::{leaving, places};

#[derive(Debug, Deserialize)]
pub(super) struct GoQuery {
    /// Where this tab's visitor wanted to go: of several tabs each has its own, and the cookie is of all.
    #[serde(rename = "return")]
    back: Option<String>,
}

/// Sends on whoever has a pass, or whom the room holds up no longer; everybody else goes to the room's page, which says how they
/// stand.
pub(super) async fn go(
    State(state): State<AppState>,
    Extension(Root(root)): Extension<Root>,
    RoomName(room): RoomName,
    Query(query): Query<GoQuery>,
    headers: HeaderMap,
) -> Response {
    let language = Language::choose(None, &headers);
    let Ok(entry) = state.room_entry(&room) else { return missing(root, language) };
    let wanted = query.back.as_deref();
    let to = match leaving::address(&state, &entry, &headers, wanted).await {
        Ok(address) => address,
        Err(_) => {
            let room = entry.definition();
            let goes_on = places::goes_on(&state, &room, &headers, wanted);
            goes_on.unwrap_or_else(|| format!("{root}/rooms/{}", room.id))
        }
    };
    let mut response = protect(Redirect::to(&to).into_response());
    let told = response.headers_mut();
    told.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // The token is in the next page's address: no page behind it may learn it from this one.
    told.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
