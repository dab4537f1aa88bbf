//! Connections to the site are kept and counted: many requests, few connections, and none left waiting to be forgotten.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jari_testkit::{FakeSite, TestApp};

use crate::browser;

const REQUESTS: usize = 10_000;
const WORKERS: usize = 16;
const UPSTREAM_MAX: usize = 24;

/// Connections to `addr` in each state of /proc/net/tcp; 06 is TIME_WAIT.
fn connections_to(addr: SocketAddr, state: &str) -> usize {
    let port = format!(":{:04X}", addr.port());
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux");
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| {
        row.len() > 3 && row[3] == state && (row[1].ends_with(&port) || row[2].ends_with(&port))
    })
    .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_take_no_more_connections_than_allowed() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.max_upstream", UPSTREAM_MAX)
        .start()
        .await;
    let left = Arc::new(AtomicUsize::new(REQUESTS));
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let (visitor, left) = (browser(&app), left.clone());
        workers.push(tokio::spawn(async move {
            while left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .is_ok()
            {
                let answer = visitor.get("/about").await;
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
        }));
    }
    for worker in workers {
        worker.await.expect("every request was answered");
    }
    let (opened, waiting) = (site.connections(), connections_to(site.addr(), "06"));
    println!(
        "{REQUESTS} requests: {opened} connections opened to the site, {waiting} in TIME_WAIT"
    );
    assert_eq!(site.seen().len(), REQUESTS);
    assert!(opened <= UPSTREAM_MAX, "{opened} connections");
    assert!(waiting <= UPSTREAM_MAX, "{waiting} in TIME_WAIT");
}

#[tokio::test]
async fn whoever_finds_the_site_full_is_told_to_come_back() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.max_upstream", 1)
        .start()
        .await;
    let visitor = browser(&app);
    let first = tokio::spawn({
        let visitor = visitor.clone();
        async move { visitor.get("/never").await }
    });
    jari_testkit::eventually("the first is at the site", async || {
        (!site.seen().is_empty()).then_some(())
    })
    .await;
    let problem = visitor.get("/about").await.problem(503, "site_busy");
    assert!(problem.fields.contains_key("poll_after_ms"));
    assert_eq!(site.seen().len(), 1);
    first.abort();
    jari_testkit::eventually("the site is free again", async || {
        (visitor.get("/about").await.status == 200).then_some(())
    })
    .await;
}
