//! WebSockets: once both sides have agreed, bytes go through as they come. Nothing else may switch protocols: an `h2c`
//! that a site accepts would be a way past the gate. Over HTTP/2 they are asked for in another way (RFC 8441); to the site
//! they are asked for as over HTTP/1.1, and judged as that.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use hyper::ext::Protocol;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use jari_ports::Entropy;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::pulse::Pulse;
use super::stay::{self, Staying};
use super::upstream::Exchange;
use crate::header_text::elements;
use crate::state::AppState;

/// Bytes on their way in one direction at most.
const BUFFER_BYTES: usize = 8 * 1024;

/// Bytes of the random part of a handshake (RFC 6455, 4.1).
const KEY_BYTES: usize = 16;

/// The protocol that HTTP/1.1 switches to, and HTTP/2 connects to.
const WEBSOCKET: &str = "websocket";

/// Marks a request that came as HTTP/2's extended CONNECT.
#[derive(Clone, Copy, Debug)]
struct ByConnect;

/// Writes a request for a WebSocket over HTTP/2 as one over HTTP/1.1; all else stays as it is.
pub(super) fn as_upgrade(parts: &mut Parts, entropy: &dyn Entropy) {
    let protocol = parts.extensions.remove::<Protocol>();
    let websocket = protocol.is_some_and(|to| to.as_str().eq_ignore_ascii_case(WEBSOCKET));
    if parts.method != Method::CONNECT || !websocket {
        return;
    }
    let mut key = [0; KEY_BYTES];
    entropy.fill(&mut key);
    let key = HeaderValue::try_from(STANDARD.encode(key)).expect("base64 is ASCII");
    parts.method = Method::GET;
    parts.extensions.insert(ByConnect);
    parts.headers.insert(SEC_WEBSOCKET_KEY, key);
    tell_switch(&mut parts.headers);
}

/// How a visitor is told that the site has switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    Switched,
    Connected,
}

/// Whether and how a request asks for a WebSocket (RFC 6455, 4.1).
pub(super) fn asked(parts: &Parts) -> Option<Agreement> {
    let Parts { method, version, headers, extensions, .. } = parts;
    let agreement = match extensions.get::<ByConnect>() {
        Some(ByConnect) => Agreement::Connected,
        None if *version == Version::HTTP_11 => Agreement::Switched,
        None => return None,
    };
    let is = |word: Option<&str>, what| word.is_some_and(|word| word.eq_ignore_ascii_case(what));
    let mut protocols = elements(headers, UPGRADE, b',');
    let websocket = protocols.next().is_some_and(|word| is(word, WEBSOCKET));
    let alone = protocols.next().is_none();
    let switches = elements(headers, CONNECTION, b',').any(|word| is(word, "upgrade"));
    let whole = websocket && alone && switches && headers.contains_key(SEC_WEBSOCKET_KEY);
    (whole && method == Method::GET).then_some(agreement)
}

impl Agreement {
    /// Tells that the site has switched, on the head of its answer.
    pub(super) fn tell(self, head: &mut http::response::Parts) {
        match self {
            Agreement::Switched => tell_switch(&mut head.headers),
            Agreement::Connected => {
                head.status = StatusCode::OK;
                // The answer to a key that the visitor has not sent.
                head.headers.remove(SEC_WEBSOCKET_ACCEPT);
            }
        }
    }
}

/// What a message that switches says of its connection.
pub(super) fn tell_switch(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(WEBSOCKET));
}

/// Joins the two sides until one ends, nothing moves for `idle`, or its owner may stay no longer. `exchange` holds the site's
/// connection until it has switched, and counts it meanwhile.
pub(super) async fn join(
    visitor: OnUpgrade,
    site: OnUpgrade,
    idle: Duration,
    mut exchange: Exchange,
    state: AppState,
    staying: Option<Staying>,
) {
    let switched = async {
        exchange.ended().await;
        site.await
    };
    let (Ok(visitor), Ok(site)) = tokio::join!(visitor, switched) else { return };
    let pulse = Pulse::new();
    tokio::select! {
        ended = both_ways(visitor, site, &pulse) => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a tunnel broke: {error}");
            }
        }
        () = pulse.stopped(idle) => {}
        () = stay::over(state, staying, pulse.clone()) => {}
    }
    drop(exchange);
}

async fn both_ways(visitor: Upgraded, site: Upgraded, pulse: &Pulse) -> io::Result<()> {
    let (visitor_in, visitor_out) = tokio::io::split(TokioIo::new(visitor));
    let (site_in, site_out) = tokio::io::split(TokioIo::new(site));
    tokio::try_join!(pump(visitor_in, site_out, pulse), pump(site_in, visitor_out, pulse))?;
    Ok(())
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    pulse: &Pulse,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        pulse.beat();
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_websocket_switches() {
        for (method, upgrade, connection, key, want) in [
            ("GET", "websocket", "Upgrade", true, true),
            ("GET", "WebSocket", "keep-alive, upgrade", true, true),
            ("GET", "websocket", "keep-alive", true, false),
            ("GET", "websocket", "upgrade", false, false),
            ("POST", "websocket", "upgrade", true, false),
            ("GET", "h2c", "Upgrade, HTTP2-Settings", true, false),
            ("GET", "h2c, websocket", "upgrade", true, false),
            ("GET", "websocket, h2c", "upgrade", true, false),
        ] {
            let mut request = http::Request::builder().method(method);
            request = request.header(UPGRADE, upgrade).header(CONNECTION, connection);
            if key {
                request = request.header(SEC_WEBSOCKET_KEY, "x");
            }
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            let told = asked(&parts) == Some(Agreement::Switched);
            assert_eq!(told, want, "{method} {upgrade} {connection} {key}");
        }
    }

    #[derive(Debug)]
    struct Fixed;

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(1);
        }
    }

    fn connect(method: Method, protocol: Option<&'static str>) -> Parts {
        let request = http::Request::builder().method(method).version(Version::HTTP_2);
        let (mut parts, ()) = request.body(()).expect("a request").into_parts();
        if let Some(protocol) = protocol {
            parts.extensions.insert(Protocol::from_static(protocol));
        }
        parts
    }

    /// RFC 8441, 5: the same handshake, but for its method and its key.
    #[test]
    fn over_http2_a_websocket_is_connected_to() {
        for (method, protocol, want) in [
            (Method::CONNECT, Some("websocket"), Some(Agreement::Connected)),
            (Method::CONNECT, Some("WebSocket"), Some(Agreement::Connected)),
            (Method::CONNECT, Some("connect-udp"), None),
            (Method::CONNECT, None, None),
            (Method::GET, Some("websocket"), None),
            (Method::GET, None, None),
        ] {
            let mut parts = connect(method.clone(), protocol);
            as_upgrade(&mut parts, &Fixed);
            assert_eq!(asked(&parts), want, "{method} {protocol:?}");
            let key = want.map(|_| "AQEBAQEBAQEBAQEBAQEBAQ==");
            let told = parts.headers.get(SEC_WEBSOCKET_KEY).map(|key| key.to_str().expect("ASCII"));
            assert_eq!(told, key);
            assert_eq!(parts.method, if want.is_some() { Method::GET } else { method });
        }
        // A header alone makes no WebSocket of what came over HTTP/2.
        let mut parts = connect(Method::GET, None);
        tell_switch(&mut parts.headers);
        parts.headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static("x"));
        assert_eq!(asked(&parts), None);
    }
}
