//! Every address of the server, in one list. Decides nothing.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get};
use http::Uri;
use jari_api::Code;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::call_log::{CallLog, log_call};
use crate::elsewhere::{api_of, pages_of};
use crate::guard;
use crate::handlers::{
    admin, admit, challenge, entries, events, gate, join, key_set, passes, place, room, signal,
    steer, visitors,
};
use crate::pages;
use crate::problem_response::Refusal;
use crate::protect::PREFIX;
use crate::roles::{Role, Roles};
use crate::state::AppState;
use crate::trace::TraceLayer;

/// The public listener's router: what this node's roles serve, and for the rest where it is served.
pub fn router(state: AppState) -> Router {
    let roles = state.options.roles;
    let (api, openapi) = api(roles).split_for_parts();
    let document = serde_json::to_vec(&openapi).expect("an OpenAPI document is JSON");
    let document = bytes::Bytes::from(document);
    let routes = api
        .merge(pages_of(Role::Web, roles, pages::routes()))
        .nest(PREFIX, pages_of(Role::Web, roles, beside_a_site()))
        .route("/openapi.json", get(move || openapi_json(document.clone())));
    layered(routes, state)
}

/// Routes behind the layers that every call passes. Public so that a bench can put handlers that do nothing behind the
/// same: the difference is what Jari's own handlers cost.
pub fn layered(routes: Router<AppState>, state: AppState) -> Router {
    let tracer = state.tracer.clone();
    let router = routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        // Bodies have their own limit, with a problem of its own.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(state.clone(), guard::within_limits))
        .layer(from_fn_with_state(CallLog::new(state.clone()), log_call));
    // A server that traces nothing has no layer to pass.
    let router = match tracer {
        Some(tracer) => router.layer(TraceLayer::new(state.clone(), tracer)),
        None => router,
    };
    router.with_state(state)
}

/// What `/openapi.json` shows.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    api(Roles::ALL).into_openapi()
}

fn api(roles: Roles) -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(about()).merge(api_of(Role::Web, roles, web())).merge(api_of(
        Role::Gate,
        roles,
        gate(),
    ))
}

fn gate() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(gate::check))
        .route("/v1/gate/{room}/", any(gate::check_below))
        .route("/v1/gate/{room}/{*original}", any(gate::check_below))
}

/// What a person needs to wait: all of the API that is served on a protected site's own origin.
fn visitors() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(visitors::create))
        .routes(routes!(challenge::show))
        .routes(routes!(join::join))
        .routes(routes!(place::ask, place::leave))
        .routes(routes!(room::show))
        .routes(routes!(events::open))
}

fn web() -> OpenApiRouter<AppState> {
    visitors()
        // Tenants
        .routes(routes!(entries::create))
        .routes(routes!(signal::signal))
        .routes(routes!(passes::verify))
        .routes(routes!(passes::touch))
        .routes(routes!(key_set::show))
        // Operators
        .routes(routes!(admin::live::events))
        .routes(routes!(admin::live::history))
        .merge(changes())
}

/// What operators and tenants change: carried out whole, whoever goes away meanwhile.
fn changes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        // Tenants
        .routes(routes!(admit::admit))
        .routes(routes!(steer::announce))
        .routes(routes!(steer::sold_out))
        .routes(routes!(passes::extend))
        .routes(routes!(passes::end))
        // Operators
        .routes(routes!(admin::rooms::list, admin::rooms::create))
        .routes(routes!(admin::rooms::read, admin::rooms::change, admin::rooms::delete))
        .routes(routes!(admin::control::pause))
        .routes(routes!(admin::control::resume))
        .routes(routes!(admin::control::open))
        .routes(routes!(admin::control::close))
        .routes(routes!(admin::control::announce))
        .routes(routes!(admin::control::sold_out))
        .routes(routes!(admin::control::admit))
        .routes(routes!(admin::control::block))
        .routes(routes!(admin::control::unblock))
        .routes(routes!(admin::control::allow))
        .routes(routes!(admin::control::disallow))
        .routes(routes!(admin::control::revoke))
        .routes(routes!(admin::stats::of_room))
        .routes(routes!(admin::stats::of_all))
        .routes(routes!(admin::groups::list))
        .routes(routes!(admin::groups::read, admin::groups::put, admin::groups::delete))
        .routes(routes!(admin::tenants::list))
        .routes(routes!(admin::tenants::read, admin::tenants::put, admin::tenants::delete))
        .routes(routes!(admin::keys::list, admin::keys::create))
        .routes(routes!(admin::keys::revoke))
        .routes(routes!(admin::keys::rotate))
        .routes(routes!(admin::site_keys::list))
        .routes(routes!(admin::site_keys::rotate))
        .routes(routes!(admin::site_keys::end))
        .routes(routes!(admin::audit::list))
        .route_layer(from_fn(guard::to_its_end))
}

/// What a person needs to wait, as on a protected site's own origin: for proxies before a site that hand on one folder.
pub(crate) fn beside_a_site() -> Router<AppState> {
    visitors().split_for_parts().0.merge(pages::visitor_routes(PREFIX))
}

fn about() -> utoipa::openapi::OpenApi {
    let info = utoipa::openapi::InfoBuilder::new()
        .title("Jari")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("A virtual waiting room."))
        .build();
    utoipa::openapi::OpenApiBuilder::new().info(info).build()
}

async fn openapi_json(document: bytes::Bytes) -> Response {
    let headers = [(http::header::CONTENT_TYPE, "application/json")];
    axum::response::IntoResponse::into_response((headers, document))
}

async fn not_found(uri: Uri) -> Refusal {
    Refusal::new(Code::NotFound).detail(format!("there is nothing at {}", uri.path()))
}

async fn method_not_allowed() -> Refusal {
    Refusal::new(Code::MethodNotAllowed)
}
