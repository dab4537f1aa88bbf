//! One connection, from its first byte to its end: TLS where the listener has it, then HTTP, then perhaps an event stream
//! that leaves it. Accepts nothing and knows no route.

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::head_timer::HeadTimer;
use crate::serve::Routes;
use crate::state::AppState;
use crate::stream_hub::Connected;
use crate::take_over::{LeavableIo, WayOut};
use crate::timed_io::TimedIo;

/// How a listener's connections speak, and how many of all there may be it leaves alone.
#[derive(Clone, Default)]
pub(crate) struct Speech {
    /// Whether they may leave HTTP for another protocol.
    pub(crate) switches: bool,
    pub(crate) tls: Option<TlsAcceptor>,
    /// Connections that it leaves to other listeners.
    pub(crate) spared: usize,
}

/// What one connection is served with.
pub(crate) struct Visit<R> {
    pub(crate) state: AppState,
    pub(crate) routes: R,
    pub(crate) builder: Builder<TokioExecutor>,
    pub(crate) speech: Speech,
    pub(crate) peer: SocketAddr,
    /// Where event streams live that have left HTTP.
    pub(crate) home: Handle,
}

impl<R: Routes> Visit<R> {
    pub(crate) async fn serve(self, socket: TcpStream, connected: Connected, watcher: Watcher) {
        let Visit { state, routes, mut builder, speech, peer, home } = self;
        builder.http1().timer(HeadTimer::default());
        let deadlines = state.options.deadlines;
        let io = TimedIo::new(socket, deadlines.head, deadlines.write_stall);
        let Some(tls) = speech.tls else {
            let way_out = WayOut::default();
            let service = service(routes, peer, way_out.clone());
            let io = LeavableIo::new(io, way_out.clone());
            speak(&builder, io, service, watcher, speech.switches).await;
            if let Some(left) = way_out.left() {
                let _home = home.enter();
                state.stream_hub.take(left, connected);
            }
            return;
        };
        // A peer that speaks no TLS, or too slowly, has asked for nothing yet.
        let Ok(Ok(io)) = timeout(deadlines.head, tls.accept(io)).await else { return };
        // What is encrypted cannot leave: nobody else could go on with its keys.
        let service = service(routes, peer, WayOut::closed());
        speak(&builder, io, service, watcher, speech.switches).await;
    }
}

/// Speaks HTTP, to the connection's end.
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
