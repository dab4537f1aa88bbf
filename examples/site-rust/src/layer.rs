//! The layer: whoever has a session goes on to the site, a one-time token becomes a session, everybody else goes to the
//! room. Knows no page.

use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::future::BoxFuture;
use http::header::{CACHE_CONTROL, COOKIE, HeaderValue, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode, Uri};
use tower::{Layer, Service};
use url::Url;

use crate::jari::{Jari, Refused};
use crate::sessions::Sessions;

const COOKIE_NAME: &str = "site_session";
/// What Jari calls the token in the address that it sends people to.
const TOKEN: &str = "jari_pass";

/// Who is inside; the layer puts it into the request's extensions.
#[derive(Clone, Debug)]
pub struct Person {
    pub pass: String,
    pub subject: String,
}

#[derive(Clone, Debug)]
pub struct PassLayer {
    jari: Arc<Jari>,
    sessions: Arc<Sessions>,
    /// Where this site is reached.
    own: Url,
}

#[derive(Clone, Debug)]
pub struct PassService<S> {
    layer: PassLayer,
    inner: S,
}

impl<S> Layer<S> for PassLayer {
    type Service = PassService<S>;
    fn layer(&self, inner: S) -> PassService<S> {
        PassService { layer: self.clone(), inner }
    }
}

impl<S> Service<Request<Body>> for PassService<S>
where
    S: Service<Request<Body>, Response = Response> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let layer = self.layer.clone();
        // The one that was found ready is the one that is used.
        let ready = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, ready);
        Box::pin(async move {
            // Its body is the site's, and cannot be looked at from two threads.
            let (uri, headers) = (request.uri().clone(), request.headers().clone());
            match layer.judge(&uri, &headers).await {
                Ok(person) => {
                    request.extensions_mut().insert(person);
                    inner.call(request).await
                }
                Err(answer) => Ok(*answer),
            }
        })
    }
}

impl PassLayer {
    #[must_use]
    pub fn new(jari: Arc<Jari>, sessions: Arc<Sessions>, own: Url) -> Self {
        PassLayer { jari, sessions, own }
    }

    /// Who asks, or what they are told instead of the page.
    async fn judge(&self, uri: &Uri, headers: &HeaderMap) -> Result<Person, Box<Response>> {
        let asked = uri.path_and_query().map_or("/", |asked| asked.as_str());
        let mut here = self.own.clone();
        let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
        here.set_path(path);
        here.set_query(Some(query).filter(|query| !query.is_empty()));
        let known = session(headers).and_then(|id| self.sessions.find(id));
        let Some(token) = take_token(&mut here) else {
            return known.ok_or_else(|| Box::new(self.to_room(&here)));
        };
        Err(Box::new(self.land(&token, &here, known.is_some()).await))
    }

    /// A landing: the token becomes a session, and goes from the address, so that it is neither bookmarked nor sent on.
    async fn land(&self, token: &str, here: &Url, is_known: bool) -> Response {
        match self.jari.verify(token).await {
            Ok(verified) => {
                let tls = if self.own.scheme() == "https" { "; Secure" } else { "" };
                let id = self.sessions.begin(verified);
                let cookie = format!("{COOKIE_NAME}={id}; Path=/; HttpOnly; SameSite=Lax{tls}");
                let mut answer = away(here);
                let cookie = HeaderValue::try_from(cookie).expect("hex digits and words");
                answer.headers_mut().insert(SET_COOKIE, cookie);
                answer
            }
            // An old link, opened by someone who is inside: they stay.
            Err(Refused::NoPass(_)) if is_known => away(here),
            Err(Refused::NoPass(_)) => self.to_room(here),
            Err(Refused::Unknown(_)) => {
                let text =
                    "One moment, please: the waiting room cannot be asked. Load this page again.";
                (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "2")], text).into_response()
            }
        }
    }

    fn to_room(&self, here: &Url) -> Response {
        away(&self.jari.room_page(here))
    }
}

fn away(to: &Url) -> Response {
    let mut answer = Redirect::to(to.as_str()).into_response();
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}

/// Takes the token out of an address.
fn take_token(url: &mut Url) -> Option<String> {
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    let token = pairs.iter().find(|(name, _)| name == TOKEN)?.1.clone();
    let others: Vec<_> = pairs.into_iter().filter(|(name, _)| name != TOKEN).collect();
    url.set_query(None);
    if !others.is_empty() {
        url.query_pairs_mut().extend_pairs(others);
    }
    Some(token)
}

fn session(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).into_iter();
    // Each for itself: other cookies of the site may have letters in them that are no ASCII.
    let mut pairs = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    pairs.find_map(|pair| {
        std::str::from_utf8(pair).ok()?.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('=')
    })
}
