//! Where an admitted visitor lands: what the room's page was called with, where it is ours or the tenant has registered it.

use jari_api::{PlaceStatus, PlaceView};
use jari_testkit::{TestApp, Visitor, eventually};
use reqwest::Url;
use serde_json::json;

use crate::open;

/// Where somebody lands who came to the room's page with this way back.
async fn landed(app: &TestApp, room: &str, back: &str) -> String {
    let visitor = app.visitor();
    let mut page = Url::parse("http://a/rooms/").expect("a URL").join(room).expect("a path");
    page.query_pairs_mut().append_pair("return", back);
    let page = &page[url::Position::BeforePath..];
    visitor.get(page).await.expect(200);
    visitor.wait_in(room).await;
    let pass = eventually("the visitor is admitted", async || {
        let answer = visitor.poll(room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(place.pass)?
    })
    .await;
    pass.target_url
}

async fn dropped(app: &TestApp) -> String {
    let text = Visitor::new(app.ops_url()).get("/metrics").await.text();
    let line = text.lines().find(|line| line.starts_with("jari_returns_dropped_total"));
    line.and_then(|line| line.rsplit(' ').next()).expect("it is counted").to_owned()
}

#[tokio::test]
async fn issue_5_visitors_land_where_the_tenant_allows_and_nowhere_else() {
    let app = TestApp::start().await;
    let path = "/v1/admin/tenants/opera";
    let body = json!({"name": "Opera", "return_urls": ["https://tickets.example/sale", "http://localhost:3000"]});
    app.operator().put(path, &body).await.expect(200);
    app.create_room(|room| {
        open(room);
        room.room = "aida".to_owned();
        room.tenant = Some("opera".to_owned());
        room.target_url = "https://opera.example/aida".to_owned();
    })
    .await;
    for back in [
        "https://tickets.example/sale/7?seat=1",
        "https://opera.example/elsewhere",
        "http://localhost:3000/x",
    ] {
        assert_eq!(landed(&app, "aida", back).await, back);
    }
    assert_eq!(landed(&app, "aida", "/cart").await, "https://opera.example/cart");
    assert_eq!(dropped(&app).await, "0");
    for back in [
        "https://tickets.example/sales",
        "https://tickets.example/sale/../x",
        "http://tickets.example/sale",
        "https://opera.example@evil.example/",
        "//evil.example",
        "https:evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
    ] {
        assert_eq!(landed(&app, "aida", back).await, "https://opera.example/aida", "{back}");
    }
    assert_eq!(dropped(&app).await, "8");
    // Another tenant's rooms know nothing of it, and what is no longer registered is dropped.
    app.create_room(|room| {
        open(room);
        room.room = "other".to_owned();
    })
    .await;
    let back = "https://tickets.example/sale/7";
    assert_eq!(landed(&app, "other", back).await, "/target");
    app.operator().put(path, &json!({"name": "Opera"})).await.expect(200);
    assert_eq!(landed(&app, "aida", back).await, "https://opera.example/aida");
    app.stop().await;
}

/// Two rooms whose ways back lead to each other's pages would lead on and on, and by themselves where nobody is held up.
#[tokio::test]
async fn issue_5_no_ways_back_lead_in_a_circle_over_the_pages_of_two_rooms() {
    let app = TestApp::start().await;
    for name in ["one", "two"] {
        app.create_room(|room| {
            open(room);
            room.room = name.to_owned();
        })
        .await;
    }
    let own = app.url();
    for (room, back) in [
        ("one", "/rooms/two"),
        ("two", "/rooms/one"),
        ("one", "/rooms/two?return=%2Frooms%2Fone"),
        ("one", "/rooms/two/plain"),
        ("one", "/rooms/t%77o"),
        ("one", "/x/../rooms/two"),
        ("two", own.join("/rooms/one").expect("a path").as_str()),
    ] {
        assert_eq!(landed(&app, room, back).await, "/target", "{room}: {back}");
    }
    assert_eq!(dropped(&app).await, "7");
    // What is no room of Jari's may be a page of the site, which is on the same host.
    for back in ["/rooms/12", "/rooms/twofold?x=/rooms/two", "/x?y=/rooms/two"] {
        assert_eq!(landed(&app, "one", back).await, back);
    }
    app.stop().await;
}
