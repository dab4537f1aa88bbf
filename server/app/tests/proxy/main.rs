//! What a protected site is for: who has a pass goes through as if nobody were between, everybody else is led to the room
//! and back. Attacks are in the test program `attacks`.

mod bodies;
mod certificates;
mod command_line;
mod connections;
mod guests;
mod http2_tunnels;
mod https_site;
mod modes;
mod outage;
mod passing;
mod preflight;
mod staying;
mod switching;
mod tls;
mod waiting;

use jari_api::PlaceView;
use jari_testkit::{Answer, FakeSite, TestApp, Visitor};
use reqwest::Method;

/// The room that a site without a named one gets.
const ROOM: &str = "site";

/// A site of which everything below `/tickets` needs a pass.
async fn stage() -> (FakeSite, TestApp) {
    let site = FakeSite::start().await;
    let app = TestApp::builder().protect(&site).set("protect.path", "/tickets/*").start().await;
    (site, app)
}

/// Somebody with a browser on the site's origin.
fn browser(app: &TestApp) -> Visitor {
    Visitor::new(app.site_url())
}

/// Goes to a page as a browser does.
async fn go(visitor: &Visitor, path: &str) -> Answer {
    let request = visitor.request(Method::GET, path);
    ask(request.header("accept", "text/html,*/*;q=0.8").header("accept-language", "en")).await
}

async fn ask(request: reqwest::RequestBuilder) -> Answer {
    Answer::read(request.send().await.expect("the server answers")).await
}

/// Joins the room on the site's own origin, as its page does, and waits for the pass.
async fn admitted(visitor: &Visitor) -> PlaceView {
    visitor.enter(ROOM).await
}
