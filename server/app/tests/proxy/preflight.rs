//! CORS before a site: a browser that asks beforehand sends no credentials, so it is let through where the tenant lists the
//! page's origin, as a bare question.

use jari_testkit::{Answer, TestApp};
use reqwest::Method;
use serde_json::json;

use crate::{ask, browser, stage};

const LISTED: &str = "https://app.example";

async fn list(app: &TestApp) {
    let body = json!({"name": "Default", "cors_origins": [LISTED]});
    app.operator().put("/v1/admin/tenants/default", &body).await.expect(200);
}

async fn preflight(app: &TestApp, origin: &str, more: &[(&str, &str)]) -> Answer {
    let mut request =
        browser(app).request(Method::OPTIONS, "/tickets/1?a=b").header("origin", origin);
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    ask(request).await
}

#[tokio::test]
async fn issue_5_a_bare_preflight_of_a_listed_page_reaches_the_site() {
    let (site, app) = stage().await;
    let asks = ("access-control-request-method", "POST");
    preflight(&app, LISTED, &[asks]).await.problem(428, "pass_required");
    list(&app).await;
    let smuggled = [
        asks,
        ("cookie", "sid=1; jari_pass_site=x"),
        ("authorization", "Bearer x"),
        ("x-http-method-override", "GET"),
        ("x-original-url", "/tickets/2"),
        ("jari-subject", "00ff"),
    ];
    let _ = preflight(&app, LISTED, &smuggled).await.expect(200);
    let seen = site.last_seen();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("OPTIONS", "/tickets/1?a=b"));
    assert_eq!(seen.header("origin").as_deref(), Some(LISTED));
    assert_eq!(seen.header("access-control-request-method").as_deref(), Some("POST"));
    for gone in
        ["cookie", "authorization", "x-http-method-override", "x-original-url", "content-length"]
    {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert!(!seen.headers.keys().any(|name| name.as_str().starts_with("jari-")), "{seen:?}");
}

#[tokio::test]
async fn issue_5_nothing_else_passes_for_a_preflight() {
    let (site, app) = stage().await;
    list(&app).await;
    let asks = ("access-control-request-method", "POST");
    for (origin, more) in [
        ("https://evil.example", &[asks][..]),
        ("null", &[asks]),
        ("http://app.example", &[asks]),
        // An OPTIONS of its own.
        (LISTED, &[]),
    ] {
        preflight(&app, origin, more).await.problem(428, "pass_required");
    }
    // One that brings a body, and what it announces.
    let request = browser(&app).request(Method::OPTIONS, "/tickets/1").header("origin", LISTED);
    ask(request.header(asks.0, asks.1).body("x")).await.problem(428, "pass_required");
    let request = browser(&app).request(Method::POST, "/tickets/1").header("origin", LISTED);
    let refused = ask(request.header(asks.0, asks.1)).await;
    refused.problem(428, "pass_required");
    // The listed page may read why.
    assert_eq!(refused.header("access-control-allow-origin"), Some(LISTED));
    assert!(site.seen().is_empty(), "{:?}", site.seen());
}
