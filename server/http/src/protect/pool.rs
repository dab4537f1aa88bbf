//! A worker's connections to the site, plain or over TLS, that are kept between requests, in hyper-util's cache: the one used
//! last is used next. Sends no request.

use std::fmt;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::BoxError;
use futures_util::future::{BoxFuture, Either};
use http::Uri;
use hyper::client::conn::http1;
use hyper_rustls::{
    DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, MaybeHttpsStream,
    ResolveServerName,
};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::pool::cache;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tower::Service;
use tower::timeout::Timeout;

use super::connection::{Connection, StillOpen};
use super::open_count::Counted;
use super::options::{UpstreamLimits, UpstreamTls};

/// Connections that nobody uses are looked after so often: those that the site has closed go.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// A connection that nobody used for so many looks is closed: after 50 s, before sites commonly close it, which is 60 s and
/// more.
const LOOKS_MAX: u32 = 10;

/// Opens what goes to the site, within a limit.
type Connector = Timeout<HttpsConnector<HttpConnector>>;

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum NoConnection {
    Unreachable(BoxError),
    /// Not even a name was found in time.
    Slow,
}

/// A connection that goes back to the pool when it is dropped, where another request can use it.
pub(super) trait Lent: Send {
    fn connection(&mut self) -> &mut Connection;
}

pub(super) type Taken = Result<Box<dyn Lent>, NoConnection>;
/// At once where one is kept.
type Taking = Either<Ready<Taken>, BoxFuture<'static, Taken>>;

pub(super) struct Pool {
    /// The cache's types have no names outside of hyper-util.
    kept: Box<dyn Fn() -> Option<Box<dyn Lent>> + Send + Sync>,
    open: Box<dyn Fn(Counted) -> Taking + Send + Sync>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Pool {
    /// Of connections to `site`, over TLS where its scheme is https. One may take `limits.response` to be there, with finding
    /// the site's name.
    pub(super) fn new(site: Uri, limits: UpstreamLimits, tls: UpstreamTls) -> Pool {
        let limit = limits.response;
        let connector = connector(&site, limits.connect, tls);
        let next = Arc::new(Mutex::new(None));
        let open = Open { connector, site, next: next.clone() };
        let cache = cache::builder().executor(TokioExecutor::new()).build(open);
        let cache = Arc::new(Mutex::new(cache));
        let looked_after = Arc::downgrade(&cache);
        tokio::spawn(async move {
            loop {
                sleep(LOOK_EVERY).await;
                let Some(cache) = looked_after.upgrade() else { return };
                cache.lock().retain(is_worth_keeping);
            }
        });
        let all = cache.clone();
        let kept = move || {
            let mut cache = all.lock();
            if cache.is_empty() {
                return None;
            }
            // Polled once without anybody to wake: one that is kept is there at once.
            let nobody = &mut Context::from_waker(Waker::noop());
            _ = cache.poll_ready(nobody);
            match Pin::new(&mut cache.call(())).poll(nobody) {
                Poll::Ready(Ok(cached)) => Some(lend_kept(cached, |cached| cached.inner_mut())),
                Poll::Ready(Err(_)) | Poll::Pending => None,
            }
        };
        let open = move |counted| -> Taking {
            let nobody = &mut Context::from_waker(Waker::noop());
            let mut taking = {
                let mut cache = cache.lock();
                *next.lock() = Some(counted);
                // It is ready always: with a kept connection or for a new one.
                _ = cache.poll_ready(nobody);
                let taking = cache.call(());
                // One came back just now, and none is opened.
                *next.lock() = None;
                taking
            };
            if let Poll::Ready(taken) = Pin::new(&mut taking).poll(nobody) {
                let taken = taken.map(|cached| lend_kept(cached, |cached| cached.inner_mut()));
                return Either::Left(ready(taken.map_err(NoConnection::Unreachable)));
            }
            Either::Right(Box::pin(async move {
                let taken = timeout(limit, taking).await.map_err(|_| NoConnection::Slow)?;
                let cached = taken.map_err(NoConnection::Unreachable)?;
                Ok(lend(cached, |cached| cached.inner_mut()))
            }))
        };
        Pool { kept: Box::new(kept), open: Box::new(open) }
    }

    /// The kept connection that was used last.
    pub(super) fn kept(&self) -> Option<Box<dyn Lent>> {
        (self.kept)()
    }

    /// A new connection, or one that is given back before that is open: then the new one is kept for whoever is next.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn open(&self, counted: Counted) -> Taken {
        (self.open)(counted).await
    }
}

fn is_worth_keeping(connection: &mut Connection) -> bool {
    connection.looks += 1;
    // What the site has sent meanwhile is its end.
    connection.drive(&mut Context::from_waker(Waker::noop()));
    connection.looks < LOOKS_MAX && connection.is_free()
}

/// Connections as the site's address says: where that is https, no other is made.
fn connector(site: &Uri, limit: Duration, tls: UpstreamTls) -> Connector {
    let UpstreamTls { config, name } = tls;
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(limit));
    connector.set_nodelay(true);
    connector.enforce_http(false);
    let names: Arc<dyn ResolveServerName + Send + Sync> = match name {
        Some(name) => Arc::new(FixedServerNameResolver::new(name)),
        None => Arc::new(DefaultServerNameResolver::default()),
    };
    let is_https = site.scheme_str() == Some("https");
    let connector = HttpsConnector::new(connector, config, is_https, names);
    Timeout::new(connector, limit.saturating_mul(2))
}

/// Opens connections.
struct Open {
    connector: Connector,
    site: Uri,
    /// What the next one is counted by.
    next: Arc<Mutex<Option<Counted>>>,
}

impl Service<()> for Open {
    type Response = Connection;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Connection, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.connector.poll_ready(cx)
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let Some(counted) = self.next.lock().take() else {
            // The cache was asked for one that it keeps, and another thread was quicker.
            return Box::pin(ready(Err("no more may be open".into())));
        };
        let opening = self.connector.call(self.site.clone());
        Box::pin(async move {
            let stream: MaybeHttpsStream<TokioIo<TcpStream>> = opening.await?;
            // Heads and small pieces: they are sent sooner as one than gathered by the kernel.
            let (sender, io) = http1::Builder::new().writev(false).handshake(stream).await?;
            Ok(Connection::new(sender, Box::pin(io.with_upgrades()), counted))
        })
    }
}

struct Loan<C: Service<StillOpen>> {
    cached: C,
    open: fn(&mut C) -> &mut Connection,
}

fn lend<C>(cached: C, open: fn(&mut C) -> &mut Connection) -> Box<dyn Lent>
where
    C: Service<StillOpen> + Send + 'static,
{
    let mut loan = Loan { cached, open };
    loan.connection().looks = 0;
    Box::new(loan)
}

/// Of one that lay in the cache, whether or not anything was asked there: the site may have closed it meanwhile.
fn lend_kept<C>(cached: C, open: fn(&mut C) -> &mut Connection) -> Box<dyn Lent>
where
    C: Service<StillOpen> + Send + 'static,
{
    let mut lent = lend(cached, open);
    lent.connection().is_kept = true;
    lent
}

impl<C: Service<StillOpen> + Send> Lent for Loan<C> {
    fn connection(&mut self) -> &mut Connection {
        (self.open)(&mut self.cached)
    }
}

impl<C: Service<StillOpen>> Drop for Loan<C> {
    fn drop(&mut self) {
        let connection = (self.open)(&mut self.cached);
        if !connection.is_free() {
            // Somebody went away in the middle: what comes of the answer is nobody's.
            connection.close();
        }
        // The cache keeps what does not say otherwise here.
        _ = self.cached.poll_ready(&mut Context::from_waker(Waker::noop()));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use http::Request;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::protect::body::Upload;
    use crate::protect::open_count::OpenCount;

    const LIMIT: Duration = Duration::from_secs(10);

    /// A site, its address, and limits for it.
    pub(in crate::protect) async fn listener(max: usize) -> (TcpListener, Uri, UpstreamLimits) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let address = format!("http://{address}/").parse().expect("a URI");
        let limits = UpstreamLimits { connect: LIMIT, response: LIMIT, idle: LIMIT, max };
        (listener, address, limits)
    }

    async fn site() -> (TcpListener, Pool) {
        let (listener, address, limits) = listener(1).await;
        (listener, Pool::new(address, limits, UpstreamTls::default()))
    }

    /// As a worker without others takes one.
    async fn take(pool: &Pool) -> Box<dyn Lent> {
        if let Some(kept) = pool.kept() {
            return kept;
        }
        let counted = Arc::new(OpenCount::new(1)).one_more().expect("there may be one");
        pool.open(counted).await.expect("open")
    }

    /// Asks on a connection, and answers with the beginning of a body of two bytes.
    pub(in crate::protect) async fn ask(
        lent: &mut Box<dyn Lent>,
        site: &mut TcpStream,
        body: &str,
    ) -> http::Response<hyper::body::Incoming> {
        let request = Request::builder().uri("/").header("host", "a").body(Upload::none());
        let request = request.expect("a request");
        let answer = async {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(site.read_u8().await.expect("a request"));
            }
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}");
            site.write_all(answer.as_bytes()).await.expect("it reads");
        };
        let (answered, ()) = tokio::join!(lent.connection().ask(request, None, LIMIT), answer);
        let answered = answered.expect("an answer");
        assert_eq!(answered.status(), 200);
        answered
    }

    #[tokio::test]
    async fn a_connection_serves_one_request_after_the_other() {
        let (listener, pool) = site().await;
        let mut lent = take(&pool).await;
        let (mut socket, _) = listener.accept().await.expect("it came");
        for _ in 0..3 {
            drop(ask(&mut lent, &mut socket, "ab").await);
            drop(lent);
            lent = take(&pool).await;
            assert!(lent.connection().is_kept);
        }
    }

    /// A crowd's beginning would else throw away a connection for each request that was quicker served by another.
    #[tokio::test]
    async fn one_that_was_not_waited_for_is_kept_for_the_next() {
        let (listener, pool) = site().await;
        let mut lent = take(&pool).await;
        let (mut socket, _) = listener.accept().await.expect("it came");
        drop(ask(&mut lent, &mut socket, "ab").await);
        let counted = Arc::new(OpenCount::new(1)).one_more().expect("there may be one");
        let mut opening = Box::pin(pool.open(counted));
        assert!(futures_util::poll!(&mut opening).is_pending());
        drop(lent);
        let mut lent = opening.await.expect("the first one");
        assert!(lent.connection().is_kept);
        let opened = async {
            loop {
                match pool.kept() {
                    Some(lent) => break lent,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        let mut opened = timeout(LIMIT, opened).await.expect("it is kept");
        assert!(opened.connection().is_kept, "the site may have closed it before it was asked");
        let (mut socket, _) = listener.accept().await.expect("it came");
        drop(ask(&mut opened, &mut socket, "ab").await);
    }

    #[tokio::test]
    async fn who_goes_away_in_the_middle_closes_the_connection() {
        let (listener, pool) = site().await;
        let mut lent = take(&pool).await;
        let (mut socket, _) = listener.accept().await.expect("it came");
        // As in a download, the body is still there when the connection is given back.
        let answer = ask(&mut lent, &mut socket, "a").await;
        drop(lent);
        assert!(!take(&pool).await.connection().is_kept, "of half an answer");
        drop(answer);
        let end = timeout(LIMIT, socket.read(&mut [0; 1])).await.expect("closed in time");
        assert!(end.is_ok_and(|count| count == 0));
    }

    #[tokio::test]
    async fn what_the_site_has_closed_or_nobody_uses_is_not_worth_keeping() {
        let (listener, pool) = site().await;
        let mut lent = take(&pool).await;
        let (mut socket, _) = listener.accept().await.expect("it came");
        drop(ask(&mut lent, &mut socket, "ab").await);
        let looks = (0..LOOKS_MAX).map(|_| is_worth_keeping(lent.connection()));
        assert_eq!(looks.filter(|worth| *worth).count(), LOOKS_MAX as usize - 1);
        drop(lent);
        let mut lent = take(&pool).await;
        assert!(lent.connection().is_kept && is_worth_keeping(lent.connection()), "used again");
        drop(socket);
        timeout(LIMIT, lent.connection().ended()).await.expect("it hears of the end");
        assert!(!is_worth_keeping(lent.connection()));
    }
}
