//! WebSockets: once both sides have agreed, bytes go through as they come. Nothing else may switch protocols: an `h2c`
//! that a site accepts would be a way past the gate.

use std::io;
use std::time::Duration;

use http::header::{CONNECTION, SEC_WEBSOCKET_KEY, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Version};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::sleep;

use super::pulse::Pulse;
use super::upstream::Exchange;
use crate::gate::Holding;
use crate::state::AppState;

/// Bytes on their way in one direction at most.
const BUFFER_BYTES: usize = 8 * 1024;

/// Whether a request asks for a WebSocket (RFC 6455, 4.1).
pub(super) fn is_websocket(parts: &Parts) -> bool {
    let Parts { method, version, headers, .. } = parts;
    if (method, *version) != (&Method::GET, Version::HTTP_11) {
        return false;
    }
    let words = |name| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(str::trim)
    };
    let mut protocols = words(UPGRADE);
    let websocket = protocols.next().is_some_and(|word| word.eq_ignore_ascii_case("websocket"));
    let alone = protocols.next().is_none();
    let switches = words(CONNECTION).any(|word| word.eq_ignore_ascii_case("upgrade"));
    websocket && alone && switches && headers.contains_key(SEC_WEBSOCKET_KEY)
}

/// What the answer that switches says of its connection.
pub(super) fn tell_switch(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
}

/// Joins the two sides until one ends, nothing moves for `idle`, the gate would let `holding` pass no more, or the server
/// drains. `exchange` holds the site's connection until it has switched, and counts it meanwhile.
pub(super) async fn join(
    visitor: OnUpgrade,
    site: OnUpgrade,
    idle: Duration,
    mut exchange: Exchange,
    state: AppState,
    holding: Option<Holding>,
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
        // Its browser comes back by itself, to another node.
        () = state.drain.begun() => {}
        () = sent_out(&state, holding, &pulse) => {}
    }
    drop(exchange);
}

/// Until who holds the tunnel may stay no longer; for ever where no gate is before it.
async fn sent_out(state: &AppState, holding: Option<Holding>, pulse: &Pulse) {
    let Some(mut holding) = holding else { return std::future::pending().await };
    let mut moved = pulse.last();
    loop {
        sleep(holding.look_after(state)).await;
        let last = pulse.last();
        let used = std::mem::replace(&mut moved, last) != last;
        // Apart: its future is for stores that do not answer.
        if !Box::pin(holding.goes_on(state, used)).await {
            tracing::debug!("a tunnel ends with its pass");
            return;
        }
    }
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
            assert_eq!(is_websocket(&parts), want, "{method} {upgrade} {connection} {key}");
        }
    }
}
