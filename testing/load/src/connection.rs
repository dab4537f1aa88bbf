//! One keep-alive HTTP/1.1 connection that sends a request at a time. Counts and times nothing.

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};

use crate::target::Target;

/// An answer that takes longer counts as an error: nobody waits longer for a page.
const ANSWER_MAX: Duration = Duration::from_secs(10);

pub(crate) struct Connection {
    send: SendRequest<Empty<Bytes>>,
    host: String,
}

impl Connection {
    pub(crate) async fn open(target: Target) -> Result<Connection> {
        let stream = TcpStream::connect(target.0)
            .await
            .with_context(|| format!("nothing answers at {}", target.0))?;
        stream.set_nodelay(true)?;
        let (send, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Its error comes back through `send` as well; the task ends with the connection.
        tokio::spawn(connection);
        Ok(Connection { send, host: target.0.to_string() })
    }

    /// POSTs without a body and reads the whole answer.
    pub(crate) async fn post(
        &mut self,
        path: &str,
        bearer: Option<&str>,
    ) -> Result<(StatusCode, Bytes)> {
        let mut request = Request::post(path)
            .header(http::header::HOST, &self.host)
            .header(http::header::CONTENT_LENGTH, "0");
        if let Some(token) = bearer {
            request = request.header(http::header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Empty::new())?;
        timeout(ANSWER_MAX, self.exchange(request)).await.context("no answer in time")?
    }

    async fn exchange(&mut self, request: Request<Empty<Bytes>>) -> Result<(StatusCode, Bytes)> {
        self.send.ready().await?;
        let answer = self.send.send_request(request).await?;
        let status = answer.status();
        Ok((status, answer.into_body().collect().await?.to_bytes()))
    }
}
