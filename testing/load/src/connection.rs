//! One keep-alive HTTP/1.1 connection that sends a request at a time. Counts and times nothing.

use anyhow::{Context, Result};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST};
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::time::{Duration, timeout};

use crate::dial::Sources;
use crate::target::Target;

/// An answer that takes longer counts as an error: nobody waits longer for a page.
const ANSWER_MAX: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Connection {
    send: SendRequest<Full<Bytes>>,
    host: String,
}

impl Connection {
    pub(crate) async fn open(target: Target, from: Sources, nth: usize) -> Result<Connection> {
        let stream = from.dial(target, nth).await?;
        let (send, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Its error comes back through `send` as well; the task ends with the connection.
        tokio::spawn(connection);
        Ok(Connection { send, host: target.0.to_string() })
    }

    /// Whether the server has not closed it, as far as is known here.
    pub(crate) fn is_open(&self) -> bool {
        !self.send.is_closed()
    }

    /// Asks without a body and reads the whole answer.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        bearer: Option<&str>,
    ) -> Result<(StatusCode, Bytes)> {
        self.send(method, path, bearer, Bytes::new()).await
    }

    /// POSTs without a body.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        bearer: Option<&str>,
    ) -> Result<(StatusCode, Bytes)> {
        self.send(Method::POST, path, bearer, Bytes::new()).await
    }

    /// Sends JSON, or nothing, and reads the whole answer.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        bearer: Option<&str>,
        json: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let request = self.request(method, path, bearer.map(by_bearer), json)?;
        let answer = self.answered(request).await?;
        Ok((answer.status(), answer.into_body()))
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        shown: Option<(HeaderName, String)>,
        json: Bytes,
    ) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, &self.host);
        if let Some((name, text)) = shown {
            request = request.header(name, text);
        }
        if !json.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        Ok(request.body(Full::new(json))?)
    }

    /// Asks without a body and reads the whole answer, with its head.
    pub(crate) async fn answer(
        &mut self,
        method: Method,
        path: &str,
        bearer: Option<&str>,
    ) -> Result<Response<Bytes>> {
        let request = self.request(method, path, bearer.map(by_bearer), Bytes::new())?;
        self.answered(request).await
    }

    /// Asks for a page as a browser does that has this cookie.
    pub(crate) async fn visit(&mut self, path: &str, cookie: String) -> Result<Response<Bytes>> {
        let request = self.request(Method::GET, path, Some((COOKIE, cookie)), Bytes::new())?;
        self.answered(request).await
    }

    async fn answered(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>> {
        timeout(ANSWER_MAX, self.exchange(request)).await.context("no answer in time")?
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>> {
        self.send.ready().await?;
        let (head, body) = self.send.send_request(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }
}

fn by_bearer(token: &str) -> (HeaderName, String) {
    (AUTHORIZATION, format!("Bearer {token}"))
}
