//! The public listener: accepts connections within the cap, speaks HTTP/1.1 and HTTP/2 on them, and drains. Knows no
//! route.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
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
use crate::take_over::{LeavableIo, WayOut};
use crate::timed_io::TimedIo;
use crate::turned_away::TurnedAway;

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

/// Serves a protected site, whose visitors may also switch to WebSockets; all else as [`serve_routes`].
///
/// # Errors
/// As [`serve_routes`].
pub async fn serve_site(
    state: AppState,
    listener: TcpListener,
    options: ProtectOptions,
    tls: Option<TlsAcceptor>,
) -> io::Result<()> {
    let routes = SiteRoutes::new(state.clone(), options);
    let spared = state.options.connections.spared_by_site();
    serve_until_drained(state, listener, routes, Speech { switches: true, tls, spared }).await
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
    serve_until_drained(state.clone(), listener, (state, routes), Speech::default()).await
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

/// How a listener's connections speak, and how many of all there may be it leaves alone.
#[derive(Clone, Default)]
struct Speech {
    /// Whether they may leave HTTP for another protocol.
    switches: bool,
    tls: Option<TlsAcceptor>,
    /// Connections that it leaves to other listeners.
    spared: usize,
}

async fn serve_until_drained(
    state: AppState,
    listener: TcpListener,
    routes: impl Routes,
    speech: Speech,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    let server = Server::new(&state, routes, speech);
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

struct Server<R> {
    routes: R,
    builder: Arc<Builder<TokioExecutor>>,
    slots: Arc<Semaphore>,
    turned_away: TurnedAway,
    max: usize,
    speech: Speech,
}

impl<R: Routes> Server<R> {
    fn new(state: &AppState, routes: R, speech: Speech) -> Self {
        Server {
            routes,
            builder: Arc::new(builder(&state.options, speech.switches)),
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

    fn start(
        &self,
        state: &AppState,
        socket: TcpStream,
        peer: SocketAddr,
        slot: OwnedSemaphorePermit,
        watcher: Watcher,
    ) {
        let deadlines = state.options.deadlines;
        tune(&socket, deadlines.write_stall);
        let io = TimedIo::new(socket, deadlines.head, deadlines.write_stall);
        let connected = Connected::new(slot, state.metrics.connection_opened());
        let (state, routes) = (state.clone(), self.routes.clone());
        let (builder, speech) = (self.builder.clone(), self.speech.clone());
        tokio::spawn(async move {
            let Some(tls) = speech.tls else {
                let way_out = WayOut::default();
                let service = service(routes, peer, way_out.clone());
                let io = LeavableIo::new(io, way_out.clone());
                speak(&builder, io, service, watcher, speech.switches).await;
                if let Some(left) = way_out.left() {
                    state.stream_hub.take(left, connected);
                }
                return;
            };
            // A peer that speaks no TLS, or too slowly, has asked for nothing yet.
            let Ok(Ok(io)) = timeout(deadlines.head, tls.accept(io)).await else { return };
            // What is encrypted cannot leave: nobody else could go on with its keys.
            let service = service(routes, peer, WayOut::closed());
            speak(&builder, io, service, watcher, speech.switches).await;
        });
    }
}

/// One connection, to its end.
async fn speak(
    builder: &Builder<TokioExecutor>,
    io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: impl HttpService,
    watcher: Watcher,
    switches: bool,
) {
    let io = TokioIo::new(io);
    let served = if switches {
        let connection = builder.serve_connection_with_upgrades(io, service);
        watcher.watch(connection.into_owned()).await
    } else {
        let connection = builder.serve_connection(io, service);
        watcher.watch(connection.into_owned()).await
    };
    // A peer that breaks off or speaks no HTTP is its own problem, and nobody's to read about.
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended: {error}");
    }
}

/// Routes as one connection meets them.
trait HttpService:
    Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send + 'static>
    + Send
    + 'static
{
}

impl<S> HttpService for S where
    S: Service<Request<Incoming>, Response = Response, Error = Infallible, Future: Send + 'static>
        + Send
        + 'static
{
}

fn service(routes: impl Routes, peer: SocketAddr, way_out: WayOut) -> impl HttpService {
    service_fn(move |request| {
        let answer = routes.clone().answer(request, peer, way_out.clone());
        async move { Ok(answer.await) }
    })
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
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(deadlines.head)
        .max_buf_size(limits.head_max_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams_max)
        .max_header_list_size(u32::try_from(limits.head_max_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PING);
    if switches {
        builder.http2().enable_connect_protocol();
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
