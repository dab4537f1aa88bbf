//! `GET /.well-known/jwks.json`: the public keys with which a site checks one-time tokens by itself.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use jari_api::KeySet;
use jari_pass::SHOWN_BEFORE;

use crate::state::AppState;

/// Sites may keep the set so long: a new key is shown for twice as long before it signs.
const KEPT_S: u64 = SHOWN_BEFORE.0 / 2 / 1_000;

/// The key set, of all tenants: `aud` says whose a token is.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "sites", responses((status = 200, body = KeySet)))]
pub(crate) async fn show(State(state): State<AppState>) -> Response {
    let set = state.site_keys.key_set(state.clock.now());
    let body = serde_json::to_vec(&set).expect("keys are text");
    let kept = HeaderValue::try_from(format!("public, max-age={KEPT_S}"));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/jwk-set+json")),
        (CACHE_CONTROL, kept.expect("words and digits")),
    ];
    (headers, body).into_response()
}
