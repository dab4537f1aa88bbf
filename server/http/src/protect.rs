//! The reverse proxy: a site behind this server, whose guarded paths need a pass. Everything of Jari's own that a visitor
//! needs is below one reserved path of the site's origin; operators and tenants are served elsewhere.

mod addressed;
mod body;
mod caching;
mod connection;
mod cookie_jar;
mod events;
mod names;
mod onward;
mod open_count;
mod options;
mod own;
mod pass_on;
mod pool;
mod pools;
mod pulse;
mod slots;
mod stay;
mod taken;
mod told;
mod troubles;
mod tunnel;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Uri};
use hyper::body::{Body as _, Incoming};
use tokio::runtime::Handle;
use tokio_util::context::TokioContext;

pub use options::{HostHeader, ProtectOptions, UpstreamLimits, UpstreamTls};
use own::Whose;
use pass_on::Asked;
pub(crate) use troubles::Reason;
use upstream::Upstream;

use crate::call_log::{Call, CallLog};
use crate::serve::Routes;
use crate::state::AppState;
use crate::take_over::WayOut;

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
    /// Where rooms, their tasks and their streams live: not with whichever worker came upon them first.
    home: Handle,
}

/// What a site's listener answers with: Jari's own routes below [`PREFIX`], the site everywhere else. No router and no layers
/// are on the way to the site, which has one handler.
#[derive(Clone, Debug)]
pub(crate) struct SiteRoutes(Arc<Lane>);

/// One worker's. Each request counts itself here: what is counted by all is dear to all.
#[derive(Debug)]
struct Lane {
    shared: Arc<Shared>,
    worker: usize,
}

#[derive(Debug)]
struct Shared {
    state: AppState,
    own: Router,
    site: Site,
    log: CallLog,
}

impl SiteRoutes {
    /// For so many workers, one each.
    ///
    /// # Panics
    /// Where the upstream has no host, which no http or https URL lacks, and outside of a runtime.
    pub(crate) fn new(state: AppState, options: ProtectOptions, workers: usize) -> Vec<Self> {
        let own = own::router(state.clone());
        let url = &options.upstream;
        let port = url.port_or_known_default().unwrap_or(80);
        let authority = format!("{}:{port}", url.host_str().unwrap_or_default());
        let authority: Authority = authority.parse().expect("an http URL has a host");
        let mut address = http::uri::Parts::default();
        address.scheme = Some(if options.is_https() { Scheme::HTTPS } else { Scheme::HTTP });
        address.authority = Some(authority.clone());
        address.path_and_query = Some(PathAndQuery::from_static("/"));
        let address = Uri::from_parts(address).expect("scheme, authority and path make a URI");
        let upstream = Upstream::new(&address, &options, state.metrics.clone(), workers);
        let site = Site { options, authority, upstream, home: Handle::current() };
        let log = CallLog::new(state.clone());
        let shared = Arc::new(Shared { state, own, site, log });
        let lane = |worker| SiteRoutes(Arc::new(Lane { shared: shared.clone(), worker }));
        (0..workers).map(lane).collect()
    }
}

impl Routes for SiteRoutes {
    async fn answer(
        self,
        request: Request<Incoming>,
        peer: SocketAddr,
        way_out: WayOut,
    ) -> Response {
        let Lane { shared, worker } = &*self.0;
        let Shared { state, own, site, log } = &**shared;
        let request = match own::whose(request) {
            // Apart: it is the smaller part, and its future the larger one.
            Whose::Ours(request) => {
                let answer = Box::pin((state.clone(), own.clone()).answer(request, peer, way_out));
                return TokioContext::new(answer, site.home.clone()).await;
            }
            Whose::Site(request) => request,
        };
        let call = Call::begin(log, &request, ROUTE, None);
        let (parts, body) = request.into_parts();
        // An empty one is made without memory.
        let body = if body.is_end_stream() { Body::empty() } else { Body::new(body) };
        let asked = Asked { parts, body, peer: peer.ip(), worker: *worker };
        let answer = pass_on::pass_on(state, site, asked).await;
        call.end(answer)
    }
}
