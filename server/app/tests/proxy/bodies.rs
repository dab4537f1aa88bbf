//! Large bodies go through piece by piece.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use jari_testkit::{FakeSite, TestApp};
use reqwest::{Body, Method};

use crate::{ask, browser, stage};

const LARGE: usize = 50 * 1_024 * 1_024;
const PIECE: usize = 64 * 1_024;
/// Server, site and client live in this one process; gathering a body just once would take more.
const GROWTH_MAX: usize = 40 * 1_024 * 1_024;

/// Bytes of this process in memory.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize =
        pages.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count");
    pages * 4_096
}

#[tokio::test]
async fn bodies_of_50_mb_stream_both_ways_in_bounded_memory() {
    let (_site, app) = stage().await;
    let visitor = browser(&app);
    let mut most = 0;
    let before = resident();
    let pieces = stream::iter(0..LARGE / PIECE).map(|_| Ok::<_, std::io::Error>(vec![b'x'; PIECE]));
    let request = visitor.request(Method::POST, "/upload").body(Body::wrap_stream(pieces));
    let counted = request.send().await.expect("an answer").text().await.expect("a count");
    assert_eq!(counted, LARGE.to_string());
    most = most.max(resident());
    let request = visitor.request(Method::GET, &format!("/download?{LARGE}"));
    let mut pieces = request.send().await.expect("an answer").bytes_stream();
    let mut count = 0;
    while let Some(piece) = pieces.next().await {
        count += piece.expect("it goes on").len();
        most = most.max(resident());
    }
    assert_eq!(count, LARGE);
    let growth = most.saturating_sub(before);
    println!("100 MB went through; memory grew by {} KB", growth / 1_024);
    assert!(growth < GROWTH_MAX, "{growth} bytes");
}

/// The deadline is for an answer: who sends a film over a slow line is not told that the site is slow.
#[tokio::test]
async fn an_upload_may_take_longer_than_an_answer() {
    const ANSWER_MS: u64 = 1_500;
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.response_timeout_ms", ANSWER_MS)
        .start()
        .await;
    // Twice as long in all, and never silent for a fifth of it.
    let pieces = stream::iter(0..10).then(async |_| {
        tokio::time::sleep(Duration::from_millis(ANSWER_MS / 5)).await;
        Ok::<_, std::io::Error>(vec![b'x'; PIECE])
    });
    let request = browser(&app).request(Method::POST, "/upload").body(Body::wrap_stream(pieces));
    assert_eq!(ask(request).await.expect(200).text(), (10 * PIECE).to_string());
}
