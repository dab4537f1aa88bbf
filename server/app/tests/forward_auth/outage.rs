//! Jari does not answer: closed, with a page, unless the operator has opened it; what needs no pass goes on.

use jari_servers::BalancerKind;
use reqwest::Method;

use crate::configured::WithoutJari;
use crate::stage::{Stage, ask, go};
use crate::with_each_proxy;

async fn without_jari_what_is_guarded_is_closed(kind: BalancerKind) {
    let mut stage = Stage::start(kind).await;
    let (visitor, _) = stage.admitted().await;
    let _ = go(&visitor, "/tickets/1").await.expect(200);
    let seen = stage.site.seen().len();
    stage.lose_jari().await;
    let answer = go(&visitor, "/tickets/1").await;
    let posted = ask(visitor.request(Method::POST, "/tickets/1").body("x")).await;
    if kind == BalancerKind::Traefik {
        // It has no page of its own for it.
        let _ = (answer.expect(500), posted.expect(500));
    } else {
        let _ = (answer.clone().expect(503), posted.expect(503));
        let html = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        let told = |text| answer.text().contains(text);
        assert!(html && told("Please try again") && told("순서"), "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_eq!(stage.site.seen().len(), seen, "{:?}", stage.site.seen());
    let _ = go(&visitor, "/about").await.expect(200);
}

async fn without_jari_it_is_open_where_that_was_said(kind: BalancerKind) {
    let mut stage = Stage::with(kind, WithoutJari::Open).await;
    // Not while Jari answers.
    let _ = go(&stage.visitor(), "/tickets/1").await.expect(303);
    stage.lose_jari().await;
    let request =
        stage.visitor().request(Method::GET, "/tickets/1").header("Jari-Subject", "forged");
    let _ = ask(request).await.expect(200);
    let seen = stage.site.last_seen();
    assert!(!seen.headers.keys().any(|name| name.as_str().starts_with("jari-")), "{seen:?}");
}

with_each_proxy! {
    without_jari_what_is_guarded_is_closed
}

#[tokio::test]
async fn nginx_may_be_opened() {
    without_jari_it_is_open_where_that_was_said(BalancerKind::Nginx).await;
}

#[tokio::test]
async fn envoy_may_be_opened() {
    without_jari_it_is_open_where_that_was_said(BalancerKind::Envoy).await;
}

/// Traefik has no such setting.
#[tokio::test]
async fn caddy_may_be_opened() {
    without_jari_it_is_open_where_that_was_said(BalancerKind::Caddy).await;
}
