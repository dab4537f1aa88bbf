//! A site that the room protects: asks the gate over HTTP with the visitor's own cookies, as any site would. Sells
//! nothing, and knows nothing of Jari but two calls.

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use jari_api::Utc;
use jari_ports::Clock as _;
use reqwest::Client;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpListener;
use tokio::time::Duration;

use super::shop_page;
use crate::SystemClock;

/// A site must not hang with its waiting room.
const GATE_MAX: Duration = Duration::from_secs(3);

/// Scripts are not needed; the style comes from here.
const CSP: &str =
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'";

/// Says whose place it is and until when; the gate sends both with a 204.
const SEQ: &str = "jari-seq";
const PASS_EXPIRES: &str = "jari-pass-expires";

/// Where the shop asks, and where it sends people who have no pass.
#[derive(Clone)]
pub(super) struct Shop {
    http: Client,
    gate: String,
    place: String,
    room_page: String,
}

impl Shop {
    /// # Errors
    /// Where no HTTP client can be started.
    pub(super) fn new(server: &str, public: &str, room: &str) -> Result<Shop> {
        let redirects = reqwest::redirect::Policy::none();
        let http = Client::builder().no_proxy().redirect(redirects).timeout(GATE_MAX).build()?;
        Ok(Shop {
            http,
            gate: format!("{server}/v1/gate/{room}"),
            place: format!("{server}/v1/rooms/{room}/places/me"),
            room_page: format!("{public}/rooms/{room}"),
        })
    }

    /// Routes of the site.
    pub(super) fn routes(self) -> Router {
        Router::new()
            .route("/", get(tickets))
            .route("/done", post(done))
            .route("/style.css", get(style))
            .with_state(self)
    }

    /// Asks Jari in the visitor's name.
    async fn ask(
        &self,
        request: reqwest::RequestBuilder,
        visitor: &HeaderMap,
    ) -> reqwest::Result<reqwest::Response> {
        let cookies = visitor.get(header::COOKIE).cloned();
        let cookies = cookies.unwrap_or(HeaderValue::from_static(""));
        request
            .header(header::COOKIE, cookies)
            .header(header::ACCEPT, "application/json")
            .send()
            .await
    }
}

/// A listener beside Jari's, on the same address: cookies know hosts, not ports. On the port wanted, so that a page that
/// is open outlives a restart, or on a free one where another program has that.
pub(super) async fn listen(ip: IpAddr, wanted: u16) -> Result<(TcpListener, SocketAddr)> {
    let listener = match TcpListener::bind((ip, wanted)).await {
        Ok(listener) => listener,
        Err(_) => {
            TcpListener::bind((ip, 0)).await.context("no free port for the protected page")?
        }
    };
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

/// The protected page: for who has a pass; others go to the room.
async fn tickets(State(shop): State<Shop>, visitor: HeaderMap) -> Response {
    let Ok(answer) = shop.ask(shop.http.get(&shop.gate), &visitor).await else {
        return (StatusCode::BAD_GATEWAY, "the waiting room does not answer").into_response();
    };
    if answer.status() != StatusCode::NO_CONTENT {
        return Redirect::to(&shop.room_page).into_response();
    }
    let told =
        |name| answer.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let expires =
        told(PASS_EXPIRES).and_then(|text| serde_json::from_value::<Utc>(text.into()).ok());
    let left = expires.map(|end| end.0.since(SystemClock.now()));
    let seq = told(SEQ).and_then(|text| text.parse().ok());
    let mut response = page(&shop_page::tickets(korean(&visitor), seq, left));
    // The renewed pass cookie travels through the site to the browser.
    for cookie in answer.headers().get_all(header::SET_COOKIE) {
        response.headers_mut().append(header::SET_COOKIE, cookie.clone());
    }
    response
}

/// The visitor is done: the pass goes back, and somebody else comes in.
async fn done(State(shop): State<Shop>, visitor: HeaderMap) -> Response {
    match shop.ask(shop.http.delete(&shop.place), &visitor).await {
        Ok(answer) if answer.status().is_success() => {
            page(&shop_page::thanks(korean(&visitor), &shop.room_page))
        }
        _ => (StatusCode::BAD_GATEWAY, "the waiting room does not answer").into_response(),
    }
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], shop_page::STYLE)
}

fn page(html: &str) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::VARY, "Accept-Language"),
    ];
    (headers, Html(html.to_owned())).into_response()
}

/// Whether Korean comes before English in what the browser asks for; a demo needs no more of RFC 9110 than the order.
fn korean(visitor: &HeaderMap) -> bool {
    let languages = visitor.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    let mut wanted = languages.unwrap_or_default().split(',').map(str::trim);
    wanted
        .find(|tag| tag.starts_with("ko") || tag.starts_with("en"))
        .is_some_and(|tag| tag.starts_with("ko"))
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;

    /// A gate that lets in who carries the cookie `pass=good`, and takes any leave.
    async fn gate(visitor: HeaderMap, method: Method) -> Response {
        let good = visitor.get(header::COOKIE).is_some_and(|cookie| cookie == "pass=good");
        let told = [
            ("jari-seq", "7"),
            ("jari-pass-expires", "2099-01-01T00:00:00.000Z"),
            ("set-cookie", "pass=new"),
        ];
        match (method, good) {
            (Method::DELETE, _) => StatusCode::NO_CONTENT.into_response(),
            (_, true) => (StatusCode::NO_CONTENT, told).into_response(),
            (_, false) => StatusCode::PRECONDITION_REQUIRED.into_response(),
        }
    }

    async fn serve(routes: Router) -> String {
        let (listener, addr) = listen([127, 0, 0, 1].into(), 0).await.expect("a free port");
        tokio::spawn(async { axum::serve(listener, routes).await });
        format!("http://{addr}")
    }

    async fn shop() -> (String, Client) {
        let jari = serve(Router::new().fallback(gate)).await;
        let shop = Shop::new(&jari, "http://wait.example", "demo").expect("a client");
        let redirects = reqwest::redirect::Policy::none();
        let browser = Client::builder().no_proxy().redirect(redirects).build().expect("a client");
        (serve(shop.routes()).await, browser)
    }

    #[tokio::test]
    async fn without_a_pass_one_is_sent_to_the_room() {
        let (shop, browser) = shop().await;
        for cookie in ["", "pass=bad"] {
            let answer = browser.get(&shop).header("cookie", cookie).send().await.expect("answers");
            assert_eq!(answer.status(), StatusCode::SEE_OTHER);
            assert_eq!(answer.headers()["location"], "http://wait.example/rooms/demo");
        }
    }

    #[tokio::test]
    async fn with_a_pass_one_sees_the_page_and_gets_the_renewed_cookie() {
        let (shop, browser) = shop().await;
        for (language, want) in [("en", "No. 7"), ("ko-KR,ko;q=0.9,en;q=0.8", "7번")] {
            let request = browser
                .get(&shop)
                .header("cookie", "pass=good")
                .header("accept-language", language);
            let answer = request.send().await.expect("answers");
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.headers()["set-cookie"], "pass=new");
            let html = answer.text().await.expect("text");
            assert!(html.contains(want) && !html.contains('{'), "{html}");
        }
        let thanks =
            browser.post(format!("{shop}/done")).header("cookie", "pass=good").send().await;
        assert_eq!(thanks.expect("answers").status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_waiting_room_that_is_down_lets_nobody_in() {
        let shop =
            Shop::new("http://127.0.0.1:1", "http://wait.example", "demo").expect("a client");
        let answer = reqwest::get(serve(shop.routes()).await).await.expect("answers");
        assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    }
}
