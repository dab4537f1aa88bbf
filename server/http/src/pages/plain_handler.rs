//! `/rooms/{room}/plain`: the page without scripts, and the forms it sends. What it says is decided in `plain.rs`.

use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::{Extension, Form};
use http::{HeaderMap, HeaderValue, StatusCode};
use jari_api::{Code, PlaceView};
use jari_ports::{Identity, RoomDefinition};
use serde::Deserialize;

use super::Root;
use super::frame::Frame;
use super::language::Language;
use super::plain::{self, Scene};
use super::room_handler::{PageQuery, as_page, missing};
use super::security::{protect, same_origin};
use crate::answers::with_cookies;
use crate::identity::visitor_cookie_where_missing;
use crate::places::{self, Shown};
use crate::problem_response::Refusal;
use crate::query::Query;
use crate::request::{ClientAddress, RoomName};
use crate::state::AppState;

#[derive(Debug, Default, Deserialize)]
pub(super) struct JoinForm {
    #[serde(default)]
    entry: Option<String>,
}

/// How the place stands; looking is being present.
pub(super) async fn show(
    State(state): State<AppState>,
    Extension(Root(root)): Extension<Root>,
    RoomName(room): RoomName,
    Query(query): Query<PageQuery>,
    headers: HeaderMap,
) -> Response {
    let language = query.language(&headers);
    let Ok(entry) = state.room_entry(&room) else { return missing(root, language) };
    let definition = entry.definition();
    let (place, refusal, mut cookies) = match places::ask(&state, &room, &headers).await {
        Ok(told) => (Some(told.view), None, told.cookies),
        Err(refused) => (None, Some(refused.code()), Vec::new()),
    };
    if definition.identity == Identity::Anonymous {
        cookies.extend(visitor_cookie_where_missing(&state, &headers));
    }
    cookies.extend(query.chosen(language, &state));
    let go_to = places::goes_on(&state, &definition, &headers, None);
    let seen = Seen { language, place, refusal, go_to, entry: query.entry };
    with_cookies(draw(&state, (&definition, root), seen).await, cookies)
}

/// Joins, and shows the place; a refusal is told on the page.
pub(super) async fn join(
    State(state): State<AppState>,
    Extension(Root(root)): Extension<Root>,
    RoomName(room): RoomName,
    ClientAddress(address): ClientAddress,
    headers: HeaderMap,
    form: Result<Form<JoinForm>, FormRejection>,
) -> Response {
    if !same_origin(&headers, state.options.visited_url()) {
        return from_elsewhere();
    }
    let language = Language::choose(None, &headers);
    let Ok(entry) = state.room_entry(&room) else { return missing(root, language) };
    let definition = entry.definition();
    let form = match form {
        Ok(Form(form)) => form,
        Err(error) => {
            return Refusal::new(Code::BadRequest).detail(error.body_text()).into_response();
        }
    };
    let shown = Shown { entry_token: form.entry.as_deref(), solution: None };
    match places::join(&state, &room, &headers, shown, address).await {
        Ok(told) => back((&definition, root), told.cookies),
        Err(refused) => {
            let seen = Seen {
                language,
                place: None,
                refusal: Some(join_refusal(&refused)),
                go_to: places::goes_on(&state, &definition, &headers, None),
                entry: form.entry,
            };
            draw(&state, (&definition, root), seen).await
        }
    }
}

/// Leaves, and shows that. A place that cannot be found is left already.
pub(super) async fn leave(
    State(state): State<AppState>,
    Extension(Root(root)): Extension<Root>,
    RoomName(room): RoomName,
    headers: HeaderMap,
) -> Response {
    if !same_origin(&headers, state.options.visited_url()) {
        return from_elsewhere();
    }
    let language = Language::choose(None, &headers);
    let Ok(entry) = state.room_entry(&room) else { return missing(root, language) };
    let definition = entry.definition();
    match places::leave(&state, &room, &headers).await {
        Ok(cookies) => back((&definition, root), cookies),
        Err(refused) => {
            let (refusal, go_to) =
                (Some(refused.code()), places::goes_on(&state, &definition, &headers, None));
            let seen = Seen { language, place: None, refusal, go_to, entry: None };
            draw(&state, (&definition, root), seen).await
        }
    }
}

struct Seen {
    language: Language,
    place: Option<PlaceView>,
    refusal: Option<Code>,
    go_to: Option<String>,
    entry: Option<String>,
}

async fn draw(
    state: &AppState,
    (definition, root): (&RoomDefinition, &'static str),
    seen: Seen,
) -> Response {
    let line = match &seen.place {
        Some(place) => Some(place.line.clone()),
        None => line_of(state, definition).await,
    };
    let frame = Frame::new(definition, root);
    let scene = Scene {
        language: seen.language,
        frame: &frame,
        place: seen.place.as_ref(),
        line: line.as_deref(),
        refusal: seen.refusal,
        go_to: seen.go_to.as_deref(),
        entry: seen.entry.as_deref(),
        now: state.clock.now(),
    };
    as_page(plain::render(&scene).into_response())
}

async fn line_of(
    state: &AppState,
    definition: &RoomDefinition,
) -> Option<std::sync::Arc<jari_api::LineView>> {
    let entry = state.rooms.get(&definition.id)?;
    let runtime = entry.runtime().await.ok()?;
    Some(runtime.read(|live| live.line().clone()))
}

/// A join asks for an identity, so a bad token is a bad identity there, not a lost receipt.
fn join_refusal(refused: &Refusal) -> Code {
    match refused.code() {
        Code::InvalidToken => Code::IdentityRequired,
        code => code,
    }
}

fn back(
    (definition, root): (&RoomDefinition, &'static str),
    cookies: Vec<HeaderValue>,
) -> Response {
    let redirect = Redirect::to(&Frame::new(definition, root).plain_href()).into_response();
    protect(with_cookies(redirect, cookies))
}

fn from_elsewhere() -> Response {
    protect(StatusCode::FORBIDDEN.into_response())
}
