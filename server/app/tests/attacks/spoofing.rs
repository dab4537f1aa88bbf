//! What a client says of itself that only the gate or a trusted proxy may say.

use jari_testkit::{FakeSite, TestApp};

use crate::raw::{exchange, get, status};
use crate::stage;

/// Claims in every spelling that a site could take for the true one.
const CLAIMS: &str = "Jari-Room: site\r\nJARI-SUBJECT: 00ff\r\nJari_Subject: 00ff\r\nJari_Room: site\r\njari.seq: 1\r\n\
    Jari-Pass-Expires: 2099-01-01T00:00:00Z\r\nJari-Unchecked: x\r\nX-Forwarded-For: 10.9.9.9\r\nX_Forwarded_For: 10.9.9.9\r\n\
    X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /x\r\nForwarded: for=10.9.9.9\r\n\
    X-Real-IP: 10.9.9.9\r\nTrue-Client-IP: 10.9.9.9\r\nX-Original-URL: /tickets/1\r\nX-Rewrite-URL: /tickets/1\r\n\
    X-Keep: kept\r\n";

#[tokio::test]
async fn issue_5_attack_what_only_the_gate_may_say_does_not_reach_the_site() {
    let (site, app) = stage().await;
    let answer = exchange(&app, &get("/about", CLAIMS)).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let seen = site.last_seen();
    let names: Vec<_> = seen.headers.keys().map(|name| name.as_str().to_owned()).collect();
    assert!(
        !names.iter().any(|name| name.starts_with("jari") || name.contains(['_', '.'])),
        "{names:?}"
    );
    for gone in
        ["x-original-url", "x-rewrite-url", "x-forwarded-prefix", "x-real-ip", "true-client-ip"]
    {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert_eq!(seen.header("x-keep").as_deref(), Some("kept"));
    assert_eq!(seen.header("x-forwarded-for").as_deref(), Some("127.0.0.1"));
    assert_eq!(seen.header("x-forwarded-host").as_deref(), Some("shop.example"));
    assert_eq!(seen.header("x-forwarded-proto").as_deref(), Some("http"));
    assert_eq!(
        seen.header("forwarded").as_deref(),
        Some("for=127.0.0.1;host=\"shop.example\";proto=http")
    );
    assert_eq!(seen.header("via").as_deref(), Some("1.1 jari"));
    // And none of it opens the gate, or leads elsewhere after it.
    let answer = exchange(&app, &get("/tickets/1", CLAIMS)).await;
    assert_eq!(status(&answer), 428, "{answer}");
    assert!(!answer.contains("evil.example"), "{answer}");
    assert_eq!(site.seen().len(), 1);
}

#[tokio::test]
async fn issue_5_attack_a_trusted_proxy_says_who_asks() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("http.trusted_proxies", "127.0.0.1")
        .start()
        .await;
    let told = "X-Forwarded-For: 10.9.9.9, 203.0.113.7\r\nX-Forwarded-Proto: https\r\nJari-Subject: 00ff\r\n";
    let answer = exchange(&app, &get("/about", told)).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let seen = site.last_seen();
    // The first of the list is what anybody could have written.
    assert_eq!(seen.header("x-forwarded-for").as_deref(), Some("203.0.113.7"));
    assert_eq!(seen.header("x-forwarded-proto").as_deref(), Some("https"));
    assert_eq!(seen.header("jari-subject"), None);
}

/// `Connection` may name a header to be dropped on the way: not one that holds the message together, nor one of ours.
#[tokio::test]
async fn issue_5_attack_no_client_has_headers_dropped_that_matter() {
    let (site, app) = stage().await;
    let head = "POST /upload HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 3\r\nX-Hop: 1\r\n\
        Connection: close, X-Hop, Host, Content-Length, X-Forwarded-For, Jari-Subject\r\n\r\nabc";
    let answer = exchange(&app, head.as_bytes()).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let seen = site.last_seen();
    assert_eq!(seen.header("x-hop"), None);
    assert_eq!(seen.header("host").as_deref(), Some("shop.example"));
    assert_eq!(seen.header("content-length").as_deref(), Some("3"));
    assert_eq!(seen.header("x-forwarded-for").as_deref(), Some("127.0.0.1"));
}

#[tokio::test]
async fn issue_5_attack_a_site_behind_itself_ends_the_round() {
    let (site, app) = stage().await;
    let answer = exchange(&app, &get("/about", &"Via: 1.1 jari\r\n".repeat(8))).await;
    assert_eq!(status(&answer), 508, "{answer}");
    assert!(site.seen().is_empty());
    let answer = exchange(&app, &get("/about", "Via: 1.1 other, 1.1 jari\r\n")).await;
    assert_eq!(status(&answer), 200, "{answer}");
}
