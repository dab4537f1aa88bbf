//! An example site behind a Jari room on another host: the layer that lets in whoever has a session, and the pages behind it.
//! In memory and on one machine: a real site keeps sessions where all its servers see them.

mod jari;
mod layer;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Extension, State};
use axum::response::Html;
use axum::routing::{get, post};

pub use jari::{Jari, Refused, Verified};
pub use layer::{PassLayer, PassService, Person};
pub use sessions::Sessions;
use url::Url;

/// What the site is told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where Jari is.
    pub jari: Url,
    /// A key of the tenant whose room it is; never sent to a browser.
    pub key: String,
    pub room: String,
    /// Where visitors reach this site: what the room's `target_url` begins with.
    pub own: Url,
    /// How often the passes of those who were here are touched, all in one call.
    pub touch_every: Duration,
}

/// The site: its pages behind the layer, and the task that touches passes.
pub fn site(settings: &Settings) -> Router {
    let jari = Arc::new(Jari::new(settings));
    let sessions = Arc::new(Sessions::default());
    tokio::spawn(sessions.clone().keep_touching(jari.clone(), settings.touch_every));
    let layer = PassLayer::new(jari.clone(), sessions.clone(), settings.own.clone());
    Router::new()
        .route("/", get(page))
        .route("/tickets", get(page))
        .route("/done", post(done))
        .with_state((jari, sessions))
        // Around everything: a page that is added tomorrow is behind it too.
        .layer(layer)
}

type Parts = (Arc<Jari>, Arc<Sessions>);

async fn page(Extension(person): Extension<Person>) -> Html<String> {
    // 32 hex digits: nothing to escape.
    Html(format!(
        "<!doctype html><html lang=\"en\"><title>Show</title><h1>You are inside</h1>\
         <p>To the room you are {}.</p>\
         <form method=\"post\" action=\"/done\"><button>I am done</button></form></html>",
        person.subject
    ))
}

/// Whoever is done makes room for the next. Paid, cancelled, signed out: whatever "done" is on your site.
async fn done(
    State((jari, sessions)): State<Parts>,
    Extension(person): Extension<Person>,
) -> Html<&'static str> {
    sessions.forget(&person.pass);
    // Where this fails, the pass ends by itself, since nobody touches it any more.
    let _ = jari.end(vec![person.pass]).await;
    Html("<!doctype html><html lang=\"en\"><title>Show</title><h1>Thank you</h1></html>")
}
