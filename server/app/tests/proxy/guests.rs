//! Whoever keeps the site busy, without a pass by slow uploads or with one: others still get through.

use std::time::Duration;

use jari_testkit::{FakeSite, TestApp, eventually};
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::{admitted, ask, browser};

/// Requests that may be at the site at once, of which one pass, or one address without, may hold half: the least there is.
const UPSTREAM_MAX: usize = 16;
const SHARE: usize = 8;
const UPLOADS: usize = 20;

/// Uploads 300 bytes a second until the server answers; the answer's status.
async fn dribble(addr: std::net::SocketAddr) -> u16 {
    let socket = TcpStream::connect(addr).await.expect("it listens");
    let (mut from, mut to) = tokio::io::split(socket);
    let head = "POST /upload HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\nConnection: close\r\nContent-Length: 1000000\r\n\r\n";
    to.write_all(head.as_bytes()).await.expect("it is open");
    let send = async {
        while to.write_all(&[b'x'; 300]).await.is_ok() {
            // 300 B/s: below what an upload must bring.
            sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut status = [0; 12];
    tokio::select! {
        read = from.read_exact(&mut status) => read.expect("an answer"),
        () = send => unreachable!("it goes on until there is an answer"),
    };
    let status = String::from_utf8_lossy(&status).into_owned();
    status.strip_prefix("HTTP/1.1 ").and_then(|code| code.parse().ok()).expect("a status")
}

#[tokio::test]
async fn issue_5_attack_slow_uploads_without_a_pass_leave_the_site_to_others_and_are_given_up() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.max_upstream", UPSTREAM_MAX)
        .start()
        .await;
    let visitor = browser(&app);
    admitted(&visitor).await;
    let addr = app.site_url().socket_addrs(|| None).expect("an address")[0];
    let uploads: Vec<_> = (0..UPLOADS).map(|_| tokio::spawn(dribble(addr))).collect();
    eventually("as many as may are at the site", async || {
        (site.seen().len() >= SHARE).then_some(())
    })
    .await;
    // From the same address.
    ask(browser(&app).request(Method::GET, "/about")).await.problem(503, "site_busy");
    let _ = ask(visitor.request(Method::GET, "/tickets/1")).await.expect(200);
    let mut statuses = Vec::new();
    for upload in uploads {
        statuses.push(upload.await.expect("an answer"));
    }
    let count = |status| statuses.iter().filter(|it| **it == status).count();
    assert_eq!((count(408), count(503)), (SHARE, UPLOADS - SHARE), "{statuses:?}");
    let _ = ask(browser(&app).request(Method::GET, "/about")).await.expect(200);
}

#[tokio::test]
async fn issue_5_attack_one_pass_keeps_no_more_of_the_site_busy_than_its_share() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.max_upstream", UPSTREAM_MAX)
        .start()
        .await;
    let (greedy, other) = (browser(&app), browser(&app));
    admitted(&greedy).await;
    admitted(&other).await;
    let held: Vec<_> = (0..UPLOADS)
        .map(|_| tokio::spawn(greedy.request(Method::GET, "/tickets/never").send()))
        .collect();
    eventually("as many as may are at the site", async || {
        (site.seen().len() >= SHARE).then_some(())
    })
    .await;
    ask(greedy.request(Method::GET, "/tickets/1")).await.problem(503, "site_busy");
    let _ = ask(other.request(Method::GET, "/tickets/1")).await.expect(200);
    assert_eq!(site.seen().len(), SHARE + 1);
    held.iter().for_each(tokio::task::JoinHandle::abort);
}
