//! The reverse proxy: a site behind this server, whose guarded paths need a pass. Everything of Jari's own that a visitor
//! needs is below one reserved path of the site's origin; operators and tenants are served elsewhere.

mod addressed;
mod body;
mod caching;
mod cookie_jar;
mod events;
mod names;
mod onward;
mod options;
mod own;
mod pass_on;
mod pulse;
mod slots;
mod stay;
mod told;
mod troubles;
mod tunnel;
mod upstream;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use http::uri::{Authority, Scheme};
use tower::ServiceExt as _;

pub use options::{HostHeader, ProtectOptions, UpstreamLimits, UpstreamTls};
use own::Whose;
pub(crate) use troubles::Reason;
use upstream::Upstream;

use crate::call_log::{CallLog, RouteName, log_call};
use crate::state::AppState;

/// Below this the site's origin is Jari's: pages, their files, and the visitors' part of the API.
pub const PREFIX: &str = "/.jari";

/// How calls that go to the site are named in the log and the metrics: their paths are the site's own.
const ROUTE: &str = "site";

/// A site and the way to it.
#[derive(Debug)]
struct Site {
    options: ProtectOptions,
    authority: Authority,
    upstream: Upstream,
}

impl Site {
    /// How the upstream is spoken to.
    fn scheme(&self) -> Scheme {
        if self.options.is_https() { Scheme::HTTPS } else { Scheme::HTTP }
    }
}

/// The routes of a site's listener: Jari's own below [`PREFIX`], the site's everywhere else.
///
/// # Panics
/// Where the upstream has no host, which no http or https URL lacks.
pub fn site_router(state: AppState, options: ProtectOptions) -> Router {
    let own = own::router(state.clone());
    let url = &options.upstream;
    let port = url.port_or_known_default().unwrap_or(80);
    let authority = format!("{}:{port}", url.host_str().unwrap_or_default());
    let authority = authority.parse().expect("an http URL has a host");
    let upstream = Upstream::new(&options, state.metrics.clone());
    let site = Arc::new(Site { options, authority, upstream });
    let log = CallLog::new(state.clone());
    let site = Router::new()
        .fallback(pass_on::pass_on)
        .with_state((state, site))
        .layer(from_fn_with_state(log, log_call))
        .layer(from_fn(async |mut request: Request, next: axum::middleware::Next| {
            request.extensions_mut().insert(RouteName(ROUTE));
            next.run(request).await
        }));
    Router::new().fallback(move |request: Request| {
        let (own, site) = (own.clone(), site.clone());
        async move { dispatch(own, site, request).await }
    })
}

async fn dispatch(own: Router, site: Router, request: Request) -> Response {
    let answered = match own::whose(request) {
        Whose::Ours(request) => own.oneshot(request).await,
        Whose::Site(request) => site.oneshot(request).await,
    };
    answered.unwrap_or_else(|never| match never {})
}
