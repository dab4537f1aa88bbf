//! Too much, and too slowly: nobody holds what others need.

use jari_testkit::{FakeSite, TestApp, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::raw::{exchange, get, read_to_end, site_addr, status};
use crate::raw_http2::asked_in_vain;
use crate::stage;

#[tokio::test]
async fn issue_5_attack_a_head_that_is_too_large_is_refused_and_reaches_nobody() {
    let (site, app) = stage().await;
    let one = format!("X-A: {}\r\n", "a".repeat(64 * 1_024));
    let many: String = (0..500).map(|no| format!("X-{no}: a\r\n")).collect();
    for headers in [one, many] {
        let answer = exchange(&app, &get("/about", &headers)).await;
        assert_eq!(status(&answer), 431, "{answer}");
    }
    let long = format!("/{}", "a".repeat(16 * 1_024));
    let answer = exchange(&app, &get(&long, "")).await;
    assert!(matches!(status(&answer), 400 | 414), "{answer}");
    let odd = format!("/{}", "%2f".repeat(1_000));
    assert_eq!(status(&exchange(&app, &get(&odd, "")).await), 400);
    assert!(site.seen().is_empty(), "{:?}", site.seen());
}

#[tokio::test]
async fn issue_5_attack_heads_that_never_end_are_given_up_and_hold_nobody_up() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("http.header_read_timeout_ms", 3_000)
        .start()
        .await;
    let mut slow = Vec::new();
    for no in 0..30 {
        let mut socket = TcpStream::connect(site_addr(&app)).await.expect("it listens");
        let begun = if no % 2 == 0 { "GET /about HTTP/1.1\r\nHost: a\r\nX-A: " } else { "GE" };
        socket.write_all(begun.as_bytes()).await.expect("it is open");
        slow.push(socket);
    }
    assert_eq!(status(&exchange(&app, &get("/about", "")).await), 200);
    for mut socket in slow {
        let answer = read_to_end(&mut socket).await;
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    assert_eq!(site.seen().len(), 1);
}

/// All connections that the site's listener gives are held by who says nothing: operators are served all the same.
#[tokio::test]
async fn issue_5_attack_connections_held_at_the_site_lock_no_operator_out() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("http.max_connections", 40)
        .set("http.stream_max", 10)
        .start()
        .await;
    let mut held = Vec::new();
    for _ in 0..80 {
        let mut socket = TcpStream::connect(site_addr(&app)).await.expect("it listens");
        // Who is turned away may be so before it has said anything.
        let _ = socket.write_all(b"GET /about HTTP/1.1\r\nHost: a\r\n").await;
        held.push(socket);
    }
    eventually("the site's listener takes no more", async || {
        (status(&exchange(&app, &get("/about", "")).await) == 503).then_some(())
    })
    .await;
    for _ in 0..3 {
        let operator = app.operator();
        operator.get("/v1/admin/stats").await.expect(200);
        app.visitor().get("/openapi.json").await.expect(200);
    }
    drop(held);
    eventually("the site is served again", async || {
        (status(&exchange(&app, &get("/about", "")).await) == 200).then_some(())
    })
    .await;
}

/// A body that stops coming holds one of few connections to the site.
#[tokio::test]
async fn issue_5_attack_bodies_that_never_end_let_go_of_the_site() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.response_timeout_ms", 1_000)
        .set("protect.max_upstream", 2)
        .start()
        .await;
    let mut slow = Vec::new();
    for _ in 0..2 {
        let mut socket = TcpStream::connect(site_addr(&app)).await.expect("it listens");
        let begun = "POST /upload HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nConnection: close\r\nContent-Length: 100\r\n\r\nabc";
        socket.write_all(begun.as_bytes()).await.expect("it is open");
        slow.push(socket);
    }
    for mut socket in slow {
        let answer = read_to_end(&mut socket).await;
        assert!(matches!(status(&answer), 408 | 504), "{answer}");
    }
    eventually("the site can be reached again", async || {
        (status(&exchange(&app, &get("/about", "")).await) == 200).then_some(())
    })
    .await;
}

/// Over HTTP/2 such a reader holds no connection up, and nobody is asked for the next piece.
#[tokio::test]
async fn issue_5_attack_readers_who_take_nothing_let_go_of_the_site() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.idle_timeout_ms", 5_000)
        .set("protect.max_upstream", 2)
        .start()
        .await;
    let pages = ["/download?500000", "/events"];
    let readers = pages.map(|page| asked_in_vain(&app, page));
    let readers = futures_util::future::join_all(readers).await;
    let others = async || status(&exchange(&app, &get("/about", "")).await);
    assert_eq!(others().await, 503, "the site is busy with them");
    eventually("the site can be reached again", async || (others().await == 200).then_some(()))
        .await;
    for reader in readers {
        assert!(!reader.is_finished(), "their connections are open");
        reader.abort();
    }
}

#[tokio::test]
async fn issue_5_attack_a_body_in_chunks_that_are_none_is_a_bad_request() {
    let (_site, app) = stage().await;
    for chunks in ["zz\r\nabc\r\n0\r\n\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "10000000000000000\r\n"] {
        let request = format!(
            "POST /upload HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n{chunks}"
        );
        let answer = exchange(&app, request.as_bytes()).await;
        assert_eq!(status(&answer), 400, "{answer}");
        assert!(answer.contains("bad_request"), "{answer}");
    }
}

/// Without a pass nobody makes the server read a body, or a site.
#[tokio::test]
async fn issue_5_attack_a_body_without_a_pass_is_not_taken() {
    let (site, app) = stage().await;
    let head = "POST /tickets/buy HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000000000\r\n\r\n";
    let answer = exchange(&app, head.as_bytes()).await;
    assert_eq!(status(&answer), 428, "{answer}");
    assert!(!answer.contains("100 Continue"), "{answer}");
    assert!(site.seen().is_empty());
}
