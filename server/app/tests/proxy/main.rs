//! What a protected site is for: who has a pass goes through as if nobody were between, everybody else is led to the room
//! and back. Attacks are in the test program `attacks`.

mod bodies;
mod command_line;
mod connections;
mod guests;
mod modes;
mod outage;
mod passing;
mod preflight;
mod switching;
mod tls;
mod waiting;

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{Answer, FakeSite, TestApp, Visitor, eventually};
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
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

/// Joins the room on the site's own origin, as its page does, and waits for the pass.
async fn admitted(visitor: &Visitor) -> PlaceView {
    let _ = ask(visitor.request(Method::POST, "/.jari/v1/visitors")).await.expect(201);
    let joined = ask(visitor.request(Method::POST, "/.jari/v1/rooms/site/places")).await;
    assert!(joined.status.is_success(), "{}", joined.text());
    eventually("the visitor is admitted", async || {
        let answer = visitor.get("/.jari/v1/rooms/site/places/me").await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(place)
    })
    .await
}
