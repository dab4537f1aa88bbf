//! The example sites of other languages before something that is no Jari: whatever it answers, and whatever is asked of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::post;
use jari_testkit::{Process, ProcessBuilder, Visitor, eventually, location};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use crate::{express, python};

/// Takes every token, and answers a call to touch as something between might: with pages and what is no object first.
struct Between {
    url: String,
    touched: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Between {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Between {
    async fn start() -> Between {
        let touched = Arc::new(AtomicUsize::new(0));
        let counted = touched.clone();
        let touch = async move || -> Response {
            match counted.fetch_add(1, Ordering::SeqCst) {
                0 => (StatusCode::BAD_GATEWAY, Html("<h1>Bad gateway</h1>")).into_response(),
                1 => Html("<h1>Who are you?</h1>").into_response(),
                2 => axum::Json(json!([])).into_response(),
                3 => axum::Json(json!({"passes": 5})).into_response(),
                _ => axum::Json(json!({"passes": []})).into_response(),
            }
        };
        let verified = async || axum::Json(json!({"pass": "show.1.1.1", "subject": "s"}));
        let routes = Router::new()
            .route("/v1/passes/verify", post(verified))
            .route("/v1/passes/touch", post(touch));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let task = tokio::spawn(async move {
            axum::serve(listener, routes).await.expect("it serves until it is dropped");
        });
        Between { url, touched, task }
    }
}

/// The site of `command`, and where it listens.
async fn site(command: ProcessBuilder, jari: &str) -> (Process, Url) {
    let process = command
        .env("JARI_URL", jari)
        .env("JARI_KEY", "jari_0_x")
        .env("JARI_ROOM", "show")
        .env("PORT", "0")
        .env("TOUCH_EVERY_MS", "50")
        .spawn();
    let url = eventually("the site listens", async || {
        let said = process.output();
        said.lines().find_map(|line| line.strip_prefix("listening on ")?.parse().ok())
    });
    let url = url.await;
    (process, url)
}

/// Asks for a target byte by byte; where the answer leads to.
async fn led_to(site: &Url, target: &str) -> Option<String> {
    let addr = site.socket_addrs(|| None).expect("an address")[0];
    let mut socket = TcpStream::connect(addr).await.expect("it listens");
    let head = format!("GET {target} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await.expect("it is open");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1."), "{target}: {answer}");
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(name, _)| name.eq_ignore_ascii_case("location")).map(|(_, to)| to.to_owned())
}

async fn leads_to_no_other_host(command: ProcessBuilder) {
    let between = Between::start().await;
    let (_process, url) = site(command, &between.url).await;
    let to = led_to(&url, "/tickets?jari_pass=x&a=b").await.expect("the page without the token");
    assert_eq!(to, url.join("/tickets?a=b").expect("a path").as_str());
    for target in [
        "//evil.example/x?jari_pass=x",
        "///evil.example/x?jari_pass=x",
        "/\\evil.example/x?jari_pass=x",
        "http://evil.example/x?jari_pass=x",
        "@evil.example/x?jari_pass=x",
    ] {
        let Some(to) = led_to(&url, target).await else { continue };
        let to = url.join(&to).expect("an address");
        assert_eq!(to.origin(), url.origin(), "{target} leads to {to}");
    }
}

async fn goes_on_touching_whatever_is_answered(command: ProcessBuilder) {
    let between = Between::start().await;
    let (process, url) = site(command, &between.url).await;
    let visitor = Visitor::new(url.clone());
    let landed = visitor.get("/?jari_pass=x").await.expect(303);
    assert_eq!(location(&landed).origin(), url.origin());
    eventually("passes are touched after all that", async || {
        visitor.get("/").await.expect(200);
        (between.touched.load(Ordering::SeqCst) > 6).then_some(())
    })
    .await;
    drop(process);
}

#[tokio::test]
async fn issue_5_the_express_site_leads_to_no_other_host() {
    leads_to_no_other_host(express()).await;
}

#[tokio::test]
async fn issue_5_the_python_site_leads_to_no_other_host() {
    leads_to_no_other_host(python()).await;
}

#[tokio::test]
async fn issue_5_the_express_site_goes_on_touching_whatever_is_answered() {
    goes_on_touching_whatever_is_answered(express()).await;
}

#[tokio::test]
async fn issue_5_the_python_site_goes_on_touching_whatever_is_answered() {
    goes_on_touching_whatever_is_answered(python()).await;
}
