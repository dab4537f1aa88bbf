//! A site that is down or slow: a clear page, nobody loses anything, and it goes on when the site is back.

use std::sync::Arc;

use jari_testkit::{FakeSite, TestApp, eventually};
use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::time::timeout;

use crate::switching::LONG;
use crate::{admitted, ask, browser, go, stage};

#[tokio::test]
async fn a_site_that_is_down_costs_nobody_their_pass() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    let place = admitted(&visitor).await;
    let _ = go(&visitor, "/tickets/1").await.expect(200);
    let addr = site.addr();
    drop(site);
    eventually("the site is gone", async || {
        (ask(visitor.request(Method::GET, "/tickets/1")).await.status == 502).then_some(())
    })
    .await;
    let page = go(&visitor, "/tickets/1").await.expect(502);
    assert_eq!(
        (page.header("retry-after"), page.header("cache-control")),
        (Some("5"), Some("no-store"))
    );
    let text = page.text();
    assert!(
        text.contains("The site does not answer")
            && text.contains("http-equiv=\"refresh\" content=\"5\""),
        "{text}"
    );
    let request = visitor
        .request(Method::GET, "/tickets/1")
        .header("accept", "text/html")
        .header("accept-language", "ko");
    assert!(ask(request).await.expect(502).text().contains("사이트가 응답하지 않습니다"));
    let problem =
        ask(visitor.request(Method::GET, "/tickets/1")).await.problem(502, "site_unavailable");
    assert_eq!(problem.fields["poll_after_ms"], 5_000);
    // Who has none is led to the room as before: the line does not depend on the site.
    let _ = go(&browser(&app), "/tickets/1").await.expect(303);
    let site = FakeSite::start_at(addr).await;
    let _ = go(&visitor, "/tickets/1").await.expect(200);
    assert_eq!(site.last_seen().header("jari-seq"), Some(place.seq.to_string()));
}

#[tokio::test]
async fn a_site_that_takes_too_long_is_given_up() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.response_timeout_ms", 3_000)
        .start()
        .await;
    ask(browser(&app).request(Method::GET, "/never")).await.problem(504, "site_timeout");
    let _ = go(&browser(&app), "/about").await.expect(200);
}

/// What is answered slower than calls of Jari's own may take is no fault.
#[tokio::test]
async fn the_deadline_of_the_api_is_not_the_sites() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("http.request_timeout_ms", 100)
        .set("protect.response_timeout_ms", 1_500)
        .start()
        .await;
    ask(browser(&app).request(Method::GET, "/never")).await.problem(504, "site_timeout");
}

/// The log says why.
#[tokio::test]
async fn an_answer_with_too_many_headers_is_none() {
    for (count, status) in [(90, 200), (101, 502)] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let upstream = format!("http://{}", listener.local_addr().expect("bound"));
        let site = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.expect("a connection");
            _ = socket.read(&mut [0; 4_096]).await;
            let headers: String = (2..=count).map(|no| format!("X-{no}: a\r\n")).collect();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n{headers}\r\nok");
            socket.write_all(answer.as_bytes()).await.expect("it is open");
            _ = socket.read(&mut [0; 1]).await;
        });
        let app = TestApp::builder()
            .set("protect.upstream", upstream)
            .set("protect.path", "/tickets/*")
            .start()
            .await;
        let answer = ask(browser(&app).request(Method::POST, "/about")).await;
        assert_eq!(answer.status, status, "{count}: {}", answer.text());
        let _ = app.stop().await;
        site.abort();
    }
}

/// When a site ends its first connection, which has answered once.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// While nobody uses it.
    Idle,
    /// Just when it is used again.
    InUse,
}

/// Reads what it is asked on one connection after the other. `ended` is waited at before the first one ends, and after it.
async fn site_that_ends(listener: TcpListener, end: End, ended: Arc<Barrier>) -> Vec<String> {
    let mut asked = Vec::new();
    for answers in [1, usize::MAX] {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        let mut text = String::new();
        for no in 0_usize.. {
            if no == answers && end == End::Idle {
                ended.wait().await;
                break;
            }
            while !text.contains("\r\n\r\n") {
                let mut bytes = [0; 1_024];
                match socket.read(&mut bytes).await {
                    Ok(count @ 1..) => text.push_str(&String::from_utf8_lossy(&bytes[..count])),
                    _ => return asked,
                }
            }
            asked.push(text.lines().next().unwrap_or_default().to_owned());
            text.clear();
            if no == answers {
                break;
            }
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            socket.write_all(answer.as_bytes()).await.expect("it is open");
        }
        drop(socket);
        if end == End::Idle {
            ended.wait().await;
        }
    }
    asked
}

/// The statuses of these requests one after the other, and what the site was asked.
async fn asked_in_turn(end: End, requests: &[(Method, &str)]) -> (Vec<u16>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let upstream = format!("http://{}", listener.local_addr().expect("bound"));
    let ended = Arc::new(Barrier::new(2));
    let asked = tokio::spawn(site_that_ends(listener, end, ended.clone()));
    let app = TestApp::builder()
        .set("protect.upstream", upstream)
        .set("protect.path", "/tickets/*")
        .start()
        .await;
    let visitor = browser(&app);
    let mut statuses = Vec::new();
    for (method, path) in requests {
        statuses.push(ask(visitor.request(method.clone(), path)).await.status.as_u16());
        if statuses.len() == 1 && end == End::Idle {
            ended.wait().await;
            ended.wait().await;
        }
    }
    let _ = app.stop().await;
    let asked = timeout(LONG, asked).await.expect("it is asked on two connections");
    (statuses, asked.expect("no panic"))
}

/// The site closes a connection just when it is used again: what may be asked twice is, and nothing else.
#[tokio::test]
async fn a_kept_connection_that_the_site_has_closed_is_no_failure() {
    let gets = ["/one", "/two", "/three"].map(|path| (Method::GET, path));
    let (statuses, asked) = asked_in_turn(End::InUse, &gets).await;
    assert_eq!(statuses, [200; 3]);
    let want = ["/one", "/two", "/two", "/three"].map(|path| format!("GET {path} HTTP/1.1"));
    assert_eq!(asked, want);
}

/// An order is not placed twice: its sender is told that nobody knows what came of it.
#[tokio::test]
async fn what_may_not_be_asked_twice_is_asked_once() {
    let requests = [(Method::GET, "/one"), (Method::POST, "/two"), (Method::GET, "/three")];
    let (statuses, asked) = asked_in_turn(End::InUse, &requests).await;
    assert_eq!(statuses, [200, 502, 200]);
    assert_eq!(asked, ["GET /one HTTP/1.1", "POST /two HTTP/1.1", "GET /three HTTP/1.1"]);
}

/// Nothing of it was sent, so that anything may be asked on another one.
#[tokio::test]
async fn a_connection_that_ended_while_nobody_used_it_costs_nobody_a_request() {
    let requests = [(Method::GET, "/one"), (Method::POST, "/two")];
    let (statuses, asked) = asked_in_turn(End::Idle, &requests).await;
    assert_eq!(statuses, [200; 2]);
    assert_eq!(asked, ["GET /one HTTP/1.1", "POST /two HTTP/1.1"]);
}
