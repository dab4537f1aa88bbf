//! What a browser shows: a room's page, its version without scripts, the files both load, and the operator's page.
//! Decides nothing about places: it asks the same functions as the API.

mod admin;
mod assets;
mod bundle;
mod encoded;
mod frame;
mod go_handler;
mod language;
mod plain;
mod plain_handler;
mod room_handler;
mod scripted;
mod security;
pub(crate) mod site_page;
mod template;
mod words;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::protect::PREFIX;
use crate::state::AppState;

/// Bytes of a form: one entry token with room to spare.
const FORM_MAX_BYTES: usize = 4_096;

/// What programs call; all else is asked for by people.
const OF_PROGRAMS: [&str; 3] = ["/v1/", "/.well-known/", "/openapi.json"];

/// Whether a person asks for what is at `path`, also where there is nothing.
#[must_use]
pub(crate) fn is_page(path: &str) -> bool {
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    !OF_PROGRAMS.iter().any(|begin| path.starts_with(begin))
}

/// The pages' addresses. Compresses their files, which takes a moment, so that no visitor has to wait for it.
pub(crate) fn routes() -> Router<AppState> {
    visitor_routes("")
        .route("/admin", get(admin::show))
        .route("/admin/", get(admin::show))
        .route("/admin/licenses.txt", get(admin::licenses))
        .route("/admin/assets/{file}", get(admin::asset))
}

/// The pages of visitors, whose own links begin with `root`: "" or a path without a slash at its end.
pub(crate) fn visitor_routes(root: &'static str) -> Router<AppState> {
    assets::prepare();
    Router::new()
        .route("/rooms/{room}", get(room_handler::show))
        .route("/rooms/{room}/go", get(go_handler::go))
        .route("/rooms/{room}/plain", get(plain_handler::show))
        .route("/rooms/{room}/plain/join", post(plain_handler::join))
        .route("/rooms/{room}/plain/leave", post(plain_handler::leave))
        .route("/assets/{hash}/{file}", get(assets::get))
        .layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
        .layer(Extension(Arc::new(scripted::ReadyPages::below(root))))
        .layer(Extension(Root(root)))
}

/// What the addresses of this server begin with where a page is shown.
#[derive(Clone, Copy, Debug)]
struct Root(&'static str);
