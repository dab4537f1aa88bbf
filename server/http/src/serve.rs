//! The public listener: accepts connections within the cap, deals them out to who serves them, and drains. Knows no route.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::client_address::Peer;
use crate::options::HttpOptions;
use crate::protect::{ProtectOptions, SiteRoutes};
use crate::router::router;
use crate::state::AppState;
use crate::stream_hub::Connected;
use crate::take_over::WayOut;
use crate::turned_away::TurnedAway;
use crate::visit::{Speech, Visit};
use crate::workers::Workers;

/// After a failed accept (files or memory run out): long enough for connections to end, short enough not to be noticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// An HTTP/2 connection that says nothing is asked whether it lives, and has as long again to answer.
const HTTP2_PING: Duration = Duration::from_secs(20);

/// Serves the product's own routes; all else as [`serve_routes`].
///
/// # Errors
/// As [`serve_routes`].
pub async fn serve(state: AppState, listener: TcpListener) -> io::Result<()> {
    let routes = router(state.clone());
    serve_routes(state, listener, routes).await
}

/// Serves a protected site, whose visitors may also switch to WebSockets, by `workers`; all else as [`serve_routes`].
///
/// # Errors
/// As [`serve_routes`].
pub async fn serve_site(
    state: AppState,
    listener: TcpListener,
    (options, tls): (ProtectOptions, Option<TlsAcceptor>),
    workers: Arc<Workers>,
) -> io::Result<()> {
    let runtimes = workers.runtimes();
    let routes = SiteRoutes::new(state.clone(), options, runtimes.len()).into_iter();
    let lanes =
        routes.zip(runtimes).map(|(routes, worker)| Lane { routes, worker: worker.clone() });
    let spared = state.options.connections.spared_by_site();
    let speech = Speech { switches: true, tls, spared };
    serve_until_drained(state, listener, lanes.collect(), speech).await
}

/// Serves until the drain has begun and ended: streams are told to come back, requests in flight finish, and what is
/// left at the drain's deadline is cut. Then everything gathered in memory is sent to the store.
///
/// # Errors
/// Where the listener cannot say its address: it is broken.
pub async fn serve_routes(
    state: AppState,
    listener: TcpListener,
    routes: Router,
) -> io::Result<()> {
    let lane = Lane { routes: (state.clone(), routes), worker: Handle::current() };
    serve_until_drained(state, listener, vec![lane], Speech::default()).await
}

/// What a listener's requests are answered with.
pub(crate) trait Routes: Clone + Send + Sync + 'static {
    /// Answers a request of the connection from `peer`, which may leave HTTP by `way_out`.
    fn answer(
        self,
        request: Request<Incoming>,
        peer: SocketAddr,
        way_out: WayOut,
    ) -> impl Future<Output = Response> + Send + 'static;
}

/// The routes of a router, behind its layers.
impl Routes for (AppState, Router) {
    async fn answer(
        self,
        mut request: Request<Incoming>,
        peer: SocketAddr,
        way_out: WayOut,
    ) -> Response {
        let (state, routes) = self;
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(way_out.clone());
        let response = routes.oneshot(request.map(Body::new)).await;
        way_out.leave(response.unwrap_or_else(|never| match never {}), state.clock.now())
    }
}

async fn serve_until_drained(
    state: AppState,
    listener: TcpListener,
    lanes: Vec<Lane<impl Routes>>,
    speech: Speech,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    let server = Server::new(&state, lanes, speech);
    let graceful = GracefulShutdown::new();
    tokio::select! {
        () = state.drain.begun() => {}
        () = server.accept(&state, &listener, &graceful) => {}
    }
    drop(listener);
    let deadline = state.options.deadlines.drain;
    let open = server.open();
    tracing::info!(%address, open, "no new connections on {address}; {open} are open");
    if timeout(deadline, server.drained(graceful)).await.is_err() {
        tracing::warn!(%address, "connections on {address} outlived the drain of {deadline:?}");
    }
    state.rooms.flush().await;
    Ok(())
}

/// A runtime that serves connections, and what it answers their requests with.
struct Lane<R> {
    routes: R,
    worker: Handle,
}

struct Server<R> {
    /// Connections are dealt out to them in turn.
    lanes: Vec<Lane<R>>,
    accepted: AtomicUsize,
    /// The runtime that accepts.
    home: Handle,
    builder: Builder<TokioExecutor>,
    slots: Arc<Semaphore>,
    turned_away: TurnedAway,
    max: usize,
    speech: Speech,
}

impl<R: Routes> Server<R> {
    fn new(state: &AppState, lanes: Vec<Lane<R>>, speech: Speech) -> Self {
        Server {
            lanes,
            accepted: AtomicUsize::new(0),
            home: Handle::current(),
            builder: builder(&state.options, speech.switches),
            slots: state.connection_slots.clone(),
            turned_away: TurnedAway::default(),
            max: state.options.connections.max,
            speech,
        }
    }

    fn open(&self) -> usize {
        self.max - self.slots.available_permits()
    }

    /// Until no connection is open, neither in the HTTP stack nor in the stream hub.
    async fn drained(&self, graceful: GracefulShutdown) {
        graceful.shutdown().await;
        let all = u32::try_from(self.max).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        _ = self.slots.acquire_many(all).await;
    }

    /// A slot for a connection, where one is left for this listener.
    fn slot(&self) -> Option<OwnedSemaphorePermit> {
        // Two that are accepted at once may both be the last: one more or less is no matter.
        if self.slots.available_permits() <= self.speech.spared {
            return None;
        }
        self.slots.clone().try_acquire_owned().ok()
    }

    async fn accept(&self, state: &AppState, listener: &TcpListener, graceful: &GracefulShutdown) {
        loop {
            match listener.accept().await {
                Ok((socket, peer)) => match self.slot() {
                    Some(slot) => self.start(state, socket, peer, slot, graceful.watcher()),
                    None => {
                        state.metrics.connection_refused();
                        self.turned_away.turn_away(socket);
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Serves a connection in the next lane.
    fn start(
        &self,
        state: &AppState,
        socket: TcpStream,
        peer: SocketAddr,
        slot: OwnedSemaphorePermit,
        watcher: Watcher,
    ) {
        let number = self.accepted.fetch_add(1, Ordering::Relaxed);
        let Lane { routes, worker } = &self.lanes[number % self.lanes.len()];
        tune(&socket, state.options.deadlines.write_stall);
        let connected = Connected::new(slot, state.metrics.connection_opened());
        let visit = Visit {
            state: state.clone(),
            routes: routes.clone(),
            builder: self.builder.clone(),
            speech: self.speech.clone(),
            peer,
            home: self.home.clone(),
        };
        if worker.id() == self.home.id() {
            worker.spawn(visit.serve(socket, connected, watcher));
            return;
        }
        // A socket wakes the runtime in which it was made.
        let Ok(socket) = socket.into_std() else { return };
        worker.spawn(async move {
            if let Ok(socket) = TcpStream::from_std(socket) {
                visit.serve(socket, connected, watcher).await;
            }
        });
    }
}

/// What a socket cannot do is no reason to turn its client away.
fn tune(socket: &TcpStream, write_stall: Duration) {
    // Answers are small and whole: waiting to fill a packet only delays them.
    _ = socket.set_nodelay(true);
    // A phone that vanished acknowledges nothing, and small frames go into the kernel's buffer for a quarter of an hour
    // before a write ever waits; its stream would count as heard from for as long.
    #[cfg(target_os = "linux")]
    {
        _ = socket2::SockRef::from(socket).set_tcp_user_timeout(Some(write_stall));
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = write_stall;
    }
}

/// `switches`: connections may leave HTTP, which over HTTP/2 a single stream does (RFC 8441).
fn builder(options: &HttpOptions, switches: bool) -> Builder<TokioExecutor> {
    let (limits, deadlines) = (options.connections, options.deadlines);
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(deadlines.head).max_buf_size(limits.head_max_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams_max)
        .max_header_list_size(u32::try_from(limits.head_max_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING);
    if switches {
        builder.http2().enable_connect_protocol();
        // A site's pages come in pieces that are at hand: sent sooner as one than gathered by the kernel.
        builder.http1().writev(false);
    }
    builder
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_that_vanishes_is_given_up_within_the_write_stall() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (peer, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (_peer, (socket, _)) = (peer.expect("connected"), accepted.expect("accepted"));
        let limit = Duration::from_secs(30);
        tune(&socket, limit);
        let told = socket2::SockRef::from(&socket).tcp_user_timeout().expect("an option of Linux");
        assert_eq!(told, Some(limit));
    }
}
