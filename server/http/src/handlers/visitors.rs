//! `POST /v1/visitors`: a fresh anonymous identity.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use jari_api::VisitorCreated;

use crate::answers::{json, with_cookies};
use crate::cookies::CookieKind;
use crate::identity::{VISITOR_TTL, new_visitor};
use crate::state::AppState;

/// Gives a visitor an anonymous identity, as a token and as a cookie.
#[utoipa::path(post, path = "/v1/visitors", tag = "visitors",
    responses((status = 201, body = VisitorCreated)))]
pub(crate) async fn create(State(state): State<AppState>) -> Response {
    let (visitor_token, expires_at) = new_visitor(&state);
    let cookie = CookieKind::Visitor.set(&visitor_token, VISITOR_TTL, state.options.secure());
    let body = VisitorCreated { visitor_token, expires_at: expires_at.into() };
    with_cookies(json(StatusCode::CREATED, &body), vec![cookie])
}
