//! A site to be protected: keeps what reached it, and does on some paths what sites do. Checks no pass, which is the point.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, SEC_WEBSOCKET_ACCEPT, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use futures_util::{StreamExt, stream};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use url::Url;

/// Bytes of a piece of a long answer.
const PIECE_BYTES: usize = 64 * 1_024;
/// Between the events of a stream.
const EVENT_EVERY: Duration = Duration::from_millis(20);

/// A request as the site saw it.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    pub method: String,
    /// Path and query as they were sent.
    pub target: String,
    pub headers: HeaderMap,
}

impl SeenRequest {
    /// All values of a header, joined by `|`; `None` where there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.get_all(name).iter();
        let texts: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        (!texts.is_empty()).then(|| texts.join("|"))
    }
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Vec<SeenRequest>>,
    connections: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

/// A request that is being worked on.
struct Working(Arc<Shared>);

impl Working {
    fn new(shared: &Arc<Shared>) -> Self {
        let now = shared.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_at_once.fetch_max(now, Ordering::SeqCst);
        Working(shared.clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Ends when it is dropped.
#[derive(Debug)]
pub struct FakeSite {
    addr: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl FakeSite {
    /// Starts one on a free port.
    pub async fn start() -> FakeSite {
        FakeSite::start_at("127.0.0.1:0".parse().expect("an address")).await
    }

    /// Starts one on this port, as a site that comes back.
    ///
    /// # Panics
    /// Where the port is taken.
    pub async fn start_at(addr: SocketAddr) -> FakeSite {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("an option");
        socket.bind(addr).expect("the port is free");
        let listener: TcpListener = socket.listen(1_024).expect("it listens");
        let addr = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared::default());
        let routes = Router::new().fallback(answer).with_state(shared.clone());
        let counted = shared.clone();
        let listener = listener.tap_io(move |_| {
            counted.connections.fetch_add(1, Ordering::Relaxed);
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, routes).await.expect("it serves until it is dropped");
        });
        FakeSite { addr, shared, task }
    }

    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    #[must_use]
    pub fn url(&self) -> Url {
        Url::parse(&format!("http://{}/", self.addr)).expect("an address makes a URL")
    }

    /// Everything that reached it, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.shared.seen.lock().clone()
    }

    /// What reached it last.
    ///
    /// # Panics
    /// Where nothing did.
    #[must_use]
    pub fn last_seen(&self) -> SeenRequest {
        self.shared.seen.lock().last().cloned().expect("something reached the site")
    }

    /// Requests that it ever worked on at once.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.shared.most_at_once.load(Ordering::SeqCst)
    }

    /// Connections that were opened to it.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for FakeSite {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let _working = Working::new(&shared);
    let seen = SeenRequest {
        method: request.method().to_string(),
        target: request.uri().to_string(),
        headers: request.headers().clone(),
    };
    let (path, query) = (request.uri().path().to_owned(), request.uri().query().map(str::to_owned));
    shared.seen.lock().push(seen);
    match path.rsplit('/').next().unwrap_or_default() {
        "upload" => upload(request).await,
        "download" => download(query.as_deref()),
        "socket" => socket(request, HeaderValue::from_static("websocket")),
        "switch" => match request.headers().get(UPGRADE).cloned() {
            Some(protocol) => socket(request, protocol),
            None => "as it was".into_response(),
        },
        "events" => events(Some(3)),
        "ticks" => events(None),
        "drip" => drip(query.as_deref()),
        "never" => std::future::pending().await,
        "cookies" => cookies(),
        "hold" => hold(query.as_deref()).await,
        "fail" => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        // As sites do that write an address by hand: with letters that are no ASCII.
        "away" => (StatusCode::FOUND, [("location", format!("http://{}/home?표", host(&request)))])
            .into_response(),
        _ => format!("the site's {path}").into_response(),
    }
}

fn host(request: &Request) -> String {
    let host = request.headers().get("host").and_then(|value| value.to_str().ok());
    host.unwrap_or_default().to_owned()
}

/// Says how many bytes came.
async fn upload(request: Request) -> Response {
    let mut pieces = request.into_body().into_data_stream();
    let mut count = 0;
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => count += piece.len(),
            Err(_) => return StatusCode::BAD_REQUEST.into_response(),
        }
    }
    count.to_string().into_response()
}

/// Answers after as many milliseconds as the query says.
async fn hold(query: Option<&str>) -> Response {
    let ms = query.and_then(|query| query.parse().ok()).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "held".into_response()
}

/// As many bytes as the query says.
fn download(query: Option<&str>) -> Response {
    let count: usize = query.and_then(|query| query.parse().ok()).unwrap_or(0);
    let pieces = count.div_ceil(PIECE_BYTES);
    let piece = move |no: usize| {
        let len = PIECE_BYTES.min(count - no * PIECE_BYTES);
        Ok::<_, std::convert::Infallible>(Bytes::from(vec![b'x'; len]))
    };
    Body::from_stream(stream::iter(0..pieces).map(piece)).into_response()
}

/// Switches, and then sends back whatever comes. The frames of RFC 6455 are for the two ends.
fn socket(mut request: Request, protocol: HeaderValue) -> Response {
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let mut io = TokioIo::new(upgraded);
        let mut buffer = [0; 1_024];
        while let Ok(count @ 1..) = io.read(&mut buffer).await {
            if io.write_all(&buffer[..count]).await.is_err() {
                return;
            }
        }
    });
    // The answer to the key, as each site gives one; nobody here checks it.
    let accept = HeaderValue::from_static("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    let connection = (CONNECTION, HeaderValue::from_static("upgrade"));
    let headers = [connection, (UPGRADE, protocol), (SEC_WEBSOCKET_ACCEPT, accept)];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

/// So many events, one after the other, and then silence; or one after the other for ever.
fn events(count: Option<usize>) -> Response {
    let events = stream::unfold(0, move |no| async move {
        if Some(no) == count {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(EVENT_EVERY).await;
        Some((Ok::<_, std::convert::Infallible>(format!("data: {no}\n\n")), no + 1))
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

/// A download that takes its time: as many bytes as the query says, one after the other.
fn drip(query: Option<&str>) -> Response {
    let count: usize = query.and_then(|query| query.parse().ok()).unwrap_or(0);
    let bytes = stream::unfold(0, move |no| async move {
        tokio::time::sleep(EVENT_EVERY).await;
        (no < count).then(|| (Ok::<_, std::convert::Infallible>(Bytes::from_static(b"x")), no + 1))
    });
    ([(CONTENT_TYPE, "application/octet-stream")], Body::from_stream(bytes)).into_response()
}

/// Cookies of its own, and such as it must not set.
fn cookies() -> Response {
    let mut response = "cookies".into_response();
    for cookie in ["sid=1; Path=/", "jari_pass_site=stolen; Path=/", "jari_visitor=stolen; Path=/"]
    {
        response.headers_mut().append("set-cookie", cookie.parse().expect("a value"));
    }
    response
}
