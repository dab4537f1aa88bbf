//! A site, a proxy before it, and Jari beside them; and people who come through the proxy.

use std::net::SocketAddr;
use std::time::Duration;

use jari_api::PlaceView;
use jari_servers::{Balancer, BalancerKind, lasting_port};
use jari_testkit::{Answer, FakeSite, TestApp, Visitor, eventually};
use reqwest::{Client, Method, RequestBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use crate::configured::{Places, WithoutJari, start};

/// Longest that a test waits for bytes, on a machine however busy.
const BYTES_MAX: Duration = Duration::from_secs(60);

/// The room that the examples name.
pub(crate) const ROOM: &str = "shop";

pub(crate) struct Stage {
    pub(crate) site: FakeSite,
    /// `None` once it is gone.
    app: Option<TestApp>,
    proxy: Balancer,
    places: Places,
    tls: bool,
}

impl Stage {
    pub(crate) async fn start(kind: BalancerKind) -> Stage {
        Stage::with(kind, WithoutJari::Closed).await
    }

    pub(crate) async fn with(kind: BalancerKind, without: WithoutJari) -> Stage {
        Stage::of(kind, without, false).await
    }

    /// Whose visitors come over https, and are known by that address to Jari.
    pub(crate) async fn over_tls(kind: BalancerKind) -> Stage {
        Stage::of(kind, WithoutJari::Closed, true).await
    }

    async fn of(kind: BalancerKind, without: WithoutJari, tls: bool) -> Stage {
        let site = FakeSite::start().await;
        let [here, https, http] = std::array::from_fn(|_| lasting_port());
        let public_url = origin(if tls { ("https", https) } else { ("http", here) });
        let app = TestApp::builder()
            .set("http.public_url", public_url.as_str().trim_end_matches('/'))
            .set("http.trusted_proxies", "127.0.0.1")
            .start()
            .await;
        app.create_room(|room| {
            room.room = ROOM.to_owned();
            room.target_url = "/tickets/".to_owned();
            room.settings.rate_per_s = 1_000.0;
        })
        .await;
        let jari = app.url().socket_addrs(|| None).expect("an address")[0];
        let places = Places { here, https, http, jari, site: site.addr() };
        let proxy = start(kind, places, without);
        let stage = Stage { site, app: Some(app), proxy, places, tls };
        let view = format!("/.jari/v1/rooms/{ROOM}");
        // Some proxies listen before they have read what to do.
        eventually("the proxy knows its routes", async || {
            // Over TLS it may end the connection until then.
            let answer = stage.visitor().request(Method::GET, &view).send().await.ok()?;
            (answer.status() == 200).then_some(())
        })
        .await;
        stage
    }

    pub(crate) fn app(&self) -> &TestApp {
        self.app.as_ref().expect("it is there")
    }

    /// Jari is gone, and nothing comes in its place.
    pub(crate) async fn lose_jari(&mut self) {
        let _folder = self.app.take().expect("it is there").stop().await;
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.places.here).into()
    }

    /// The site's origin.
    pub(crate) fn url(&self) -> Url {
        let Places { here, https, .. } = self.places;
        origin(if self.tls { ("https", https) } else { ("http", here) })
    }

    /// From where people who type no scheme are sent on.
    pub(crate) fn plain_url(&self) -> Url {
        origin(("http", self.places.http))
    }

    /// Somebody with a browser on the site's origin. The proxy's certificate is the test's own.
    pub(crate) fn visitor(&self) -> Visitor {
        let client = Client::builder()
            .cookie_store(true)
            .redirect(reqwest::redirect::Policy::none())
            .tls_danger_accept_invalid_certs(true);
        Visitor::with(client.build().expect("a client"), self.url())
    }

    /// Somebody who was let in.
    pub(crate) async fn admitted(&self) -> (Visitor, PlaceView) {
        let visitor = self.visitor();
        let place = wait(&visitor).await;
        (visitor, place)
    }

    /// Sends a request byte by byte, and reads until the proxy closes.
    pub(crate) async fn exchange(&self, request: &str) -> String {
        let mut socket = TcpStream::connect(self.addr()).await.expect("it listens");
        _ = socket.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let read = timeout(BYTES_MAX, socket.read_to_end(&mut answer)).await;
        // A reset is an end as well.
        _ = read.unwrap_or_else(|_| {
            panic!("no end of the answer to {request:?}:\n{}", self.proxy.log())
        });
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn origin((scheme, port): (&str, u16)) -> Url {
    Url::parse(&format!("{scheme}://127.0.0.1:{port}/")).expect("an address makes a URL")
}

/// Joins the room below the site's own folder, as its page does, and waits for the pass.
pub(crate) async fn wait(visitor: &Visitor) -> PlaceView {
    visitor.enter(ROOM).await
}

/// Goes to a page as a browser does.
pub(crate) async fn go(visitor: &Visitor, path: &str) -> Answer {
    ask(navigation(visitor.request(Method::GET, path))).await
}

/// Makes a request one of a person who goes from page to page.
pub(crate) fn navigation(request: RequestBuilder) -> RequestBuilder {
    let request = request.header("accept", "text/html,*/*;q=0.8").header("accept-language", "en");
    request.header("sec-fetch-mode", "navigate")
}

pub(crate) async fn ask(request: RequestBuilder) -> Answer {
    Answer::read(request.send().await.expect("the proxy answers")).await
}

/// The status of an answer; 0 where there is none.
pub(crate) fn status(answer: &str) -> u16 {
    let status = answer.split_once(' ').and_then(|(_, rest)| rest.get(..3));
    status.and_then(|status| status.parse().ok()).unwrap_or(0)
}
