//! What began under a pass and goes on when it ends: WebSockets and event streams end with it, downloads come to their end.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{TestApp, Visitor};
use reqwest::Method;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::switching::{LONG, PASS_TTL, PASS_TTL_MS, echo, ends, pass, switch};
use crate::{ROOM, admitted, ask, browser, stage};

/// A pass that was ended is over with the next look at it, which is a tick's length away; the rest is for a busy machine.
const ENDED_WITHIN: Duration = Duration::from_secs(4);

/// Pieces of the download: it goes on for 8 s, which is several looks at the pass.
const PIECES: usize = 400;

type Pieces = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// Asks for something that does not come at once; the pieces of it.
async fn begun(visitor: &Visitor, path: &str) -> Pieces {
    let answer = visitor.request(Method::GET, path).send().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    Box::pin(answer.bytes_stream())
}

async fn next(pieces: &mut Pieces) -> Option<usize> {
    let piece = timeout(LONG, pieces.next()).await.expect("it comes, or ends")?;
    Some(piece.expect("it does not break off").len())
}

async fn leave(visitor: &Visitor) {
    let leave = visitor.request(Method::DELETE, "/.jari/v1/rooms/site/places/me");
    let left = ask(leave).await;
    assert!(left.status.is_success(), "{}", left.text());
}

#[tokio::test]
async fn issue_5_a_websocket_ends_within_a_tick_when_the_site_ends_its_pass() {
    let (_site, app) = stage().await;
    let tenant = app.integrator().await;
    let token = pass(&browser(&app)).await;
    let (mut socket, head) = switch(&app, Some(&token)).await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    echo(&mut socket).await;
    tenant.post("/v1/passes/end", &json!({"passes": [token]})).await.expect(200);
    let ended_at = Instant::now();
    ends(socket).await;
    assert!(ended_at.elapsed() < ENDED_WITHIN, "{:?}", ended_at.elapsed());
    // And nothing more is opened with it.
    let (_, head) = switch(&app, Some(&token)).await;
    assert!(head.starts_with("http/1.1 428"), "{head}");
}

#[tokio::test]
async fn issue_5_an_event_stream_ends_with_its_pass_and_a_download_does_not() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    admitted(&visitor).await;
    let mut events = begun(&visitor, "/tickets/ticks").await;
    let mut download = begun(&visitor, &format!("/tickets/drip?{PIECES}")).await;
    assert!(next(&mut events).await.is_some());
    let mut bytes = next(&mut download).await.expect("a first piece");
    leave(&visitor).await;
    let ended_at = Instant::now();
    // An end, and not a fault, so that its page asks again.
    while next(&mut events).await.is_some() {
        assert!(ended_at.elapsed() < LONG, "it goes on");
    }
    while let Some(more) = next(&mut download).await {
        bytes += more;
    }
    assert_eq!(bytes, PIECES);
    let before = site.seen().len();
    ask(visitor.request(Method::GET, "/tickets/ticks")).await.problem(428, "pass_required");
    assert_eq!(site.seen().len(), before);
}

async fn short_passes(app: &TestApp) -> Visitor {
    // A pass that is used never ends before the window in which to claim it.
    let settings = json!({"pass_ttl_ms": PASS_TTL_MS, "claim_window_ms": PASS_TTL_MS});
    app.operator().set(ROOM, settings).await;
    let visitor = browser(app);
    admitted(&visitor).await;
    visitor
}

async fn status(visitor: &Visitor) -> PlaceStatus {
    let place: PlaceView = visitor.get("/.jari/v1/rooms/site/places/me").await.expect(200).json();
    place.status
}

#[tokio::test]
async fn issue_5_what_comes_in_an_event_stream_is_use_of_its_pass() {
    let (_site, app) = stage().await;
    let visitor = short_passes(&app).await;
    let mut events = begun(&visitor, "/tickets/ticks").await;
    let start = Instant::now();
    while start.elapsed() < 2 * PASS_TTL {
        assert!(next(&mut events).await.is_some());
    }
    assert_eq!(status(&visitor).await, PlaceStatus::Admitted);
    // What is open to all has no pass that could end.
    let mut open = begun(&visitor, "/ticks").await;
    leave(&visitor).await;
    while next(&mut events).await.is_some() {}
    assert!(next(&mut open).await.is_some());
}

#[tokio::test]
async fn issue_5_an_event_stream_in_which_nothing_comes_ends_with_its_pass() {
    let (_site, app) = stage().await;
    let visitor = short_passes(&app).await;
    // Three events, and then silence.
    let mut events = begun(&visitor, "/tickets/events").await;
    while next(&mut events).await.is_some() {}
    assert_eq!(status(&visitor).await, PlaceStatus::Ended);
}

/// Its page comes back by itself, to another node: nobody waits for it.
#[tokio::test]
async fn issue_5_an_event_stream_of_the_sites_does_not_hold_up_a_stop() {
    let (_site, app) = stage().await;
    let mut events = begun(&browser(&app), "/ticks").await;
    assert!(next(&mut events).await.is_some());
    let start = Instant::now();
    let ended = async { while next(&mut events).await.is_some() {} };
    let (_folder, ()) = tokio::join!(app.stop(), ended);
    assert!(start.elapsed() < ENDED_WITHIN, "{:?}", start.elapsed());
}
