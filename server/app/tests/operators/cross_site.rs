//! Cross-site request forgery (CSRF): whatever a page of another site has an operator's browser send, no call that takes an
//! API key does it. The list is the OpenAPI document's own, so a new call is in it by itself. The same with the operator's
//! page open in a real browser: `testing/browser/admin-csrf.test.mjs`.

use jari_testkit::{TestApp, Visitor};
use reqwest::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    CONTENT_TYPE, COOKIE, HeaderMap, ORIGIN, SET_COOKIE, WWW_AUTHENTICATE,
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::isolation::{Keyed, body, everything, keyed, two_tenants};

/// Of somebody who knows the server's address and nothing else.
const STRANGER: &str = "https://evil.example";
/// Whose pages may call the visitors' API from browsers: no more than that.
const LISTED: &str = "https://app.example";

/// What is known about a call that is forged: what would be its body, and the operator's key as a browser could hold it.
struct Forged<'a> {
    text: &'a str,
    key: &'a str,
}

type Forge = fn(RequestBuilder, &Forged<'_>) -> RequestBuilder;

/// Each as a page can have it sent, with the key wherever a browser would send it along by itself.
const FORGED: [(&str, Forge); 6] = [
    ("a form", |request, Forged { key, .. }| {
        request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(format!("authorization=Bearer+{key}&key={key}"))
    }),
    ("text that is JSON", |request, Forged { text, .. }| {
        request.header(CONTENT_TYPE, "text/plain").body(text.to_string())
    }),
    ("JSON without a type", |request, Forged { text, .. }| request.body(text.to_string())),
    ("JSON", |request, Forged { text, .. }| {
        request.header(CONTENT_TYPE, "application/json").body(text.to_string())
    }),
    ("a cookie with the key", |request, Forged { text, key }| {
        let cookie = format!("authorization=Bearer {key}; jari_key={key}; jari_admin={key}");
        request
            .header(COOKIE, cookie)
            .header(CONTENT_TYPE, "application/json")
            .body(text.to_string())
    }),
    ("a password that the browser keeps", |request, Forged { text, key }| {
        let request = request.basic_auth("operator", Some(key));
        request.header(CONTENT_TYPE, "application/json").body(text.to_string())
    }),
];

/// Nothing that would let a page read the answer, call again, or act by a cookie from now on.
fn assert_gives_nothing(headers: &HeaderMap, told: &str) {
    let given =
        [ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_HEADERS];
    for name in given.iter().chain([&SET_COOKIE]) {
        assert!(!headers.contains_key(name), "{name} in the answer to {told}: {headers:?}");
    }
    let asks = headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let basic = asks.is_some_and(|asks| asks.to_ascii_lowercase().contains("basic"));
    assert!(!basic, "a browser would keep a password for good after {told}");
}

/// Sends a call in every forged way, from both pages; the key is in the address as well.
async fn forge(browser: &Visitor, call: &Keyed, method: &Method, key: &str) {
    let text = body(call).unwrap_or_else(|| json!({})).to_string();
    let path = format!("{}?key={key}&access_token={key}&_method={}", call.path, call.method);
    for origin in [STRANGER, LISTED] {
        for (name, forge) in FORGED {
            let request = browser.request(method.clone(), &path).header(ORIGIN, origin);
            let request = request.header("sec-fetch-site", "cross-site");
            let sent = forge(request, &Forged { text: &text, key }).send().await;
            let answer = sent.expect("an answer");
            let told = format!("{name} by {method} {} from {origin}", call.path);
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            let answered = answer.text().await.expect("a body");
            let refused = match status {
                401 => answered.contains("api_key_required"),
                // A form can only POST, and the call is by another method.
                405 => *method != call.method,
                _ => false,
            };
            assert!(refused, "{told}: {status} {answered}");
            assert_gives_nothing(&headers, &told);
        }
    }
}

#[tokio::test]
async fn issue_5_attack_csrf_no_page_of_another_site_changes_anything_with_an_operators_browser() {
    let app = TestApp::start().await;
    let operator = app.operator();
    two_tenants(&app).await;
    let listing = json!({"name": "theirs", "cors_origins": [LISTED]});
    operator.put("/v1/admin/tenants/theirs", &listing).await.expect(200);
    let own = app.admin_key().split('_').nth(1).expect("its id").to_owned();
    let names = [("room", "theirs"), ("group", "both"), ("tenant", "theirs"), ("id", &*own)];
    let calls = keyed(&app, &names).await;
    let changing: Vec<_> = calls.iter().filter(|call| call.method != Method::GET).collect();
    assert!(changing.len() >= 25, "{} calls", changing.len());

    // The operator's browser: it has the page, and a visitor's cookies as well.
    let browser = app.visitor();
    let page = browser.get("/admin").await.expect(200);
    assert_gives_nothing(&page.headers, "the page");
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.contains("frame-ancestors 'none'"), "nobody can lay it under clicks: {policy}");
    browser.identify().await;
    let before = everything(&operator).await;
    for call in &changing {
        forge(&browser, call, &call.method, app.admin_key()).await;
        if call.method != Method::POST {
            forge(&browser, call, &Method::POST, app.admin_key()).await;
        }
        for origin in [STRANGER, LISTED] {
            let asking = browser.request(Method::OPTIONS, &call.path).header(ORIGIN, origin);
            let asking = asking
                .header("access-control-request-method", call.method.as_str())
                .header("access-control-request-headers", "authorization, content-type");
            let answer = asking.send().await.expect("an answer");
            assert_gives_nothing(answer.headers(), &format!("a preflight of {}", call.path));
        }
    }
    assert_eq!(everything(&operator).await, before, "nothing changed");

    // What the page itself sends is taken, and gives the browser nothing that it would send by itself.
    let renamed = operator.put("/v1/admin/tenants/theirs", &json!({"name": "Renamed"})).await;
    assert_gives_nothing(&renamed.headers, "a change");
    assert_eq!(renamed.expect(200).json::<Value>()["name"], "Renamed");
    app.stop().await;
}
