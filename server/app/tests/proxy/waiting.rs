//! The way to the room and back, on one origin.

use jari_api::Identity;
use reqwest::Method;

use crate::{ROOM, admitted, ask, browser, go, stage};

#[tokio::test]
async fn a_browser_is_led_to_the_room_and_lands_where_it_wanted() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    let answer = go(&visitor, "/tickets/7?seat=a%2Fb").await.expect(303);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let room = answer.header("location").expect("the way to the room").to_owned();
    assert_eq!(room, "/.jari/rooms/site?return=%2Ftickets%2F7%3Fseat%3Da%252Fb");
    let page = go(&visitor, &room).await.expect(200).text();
    // All that the page loads and asks for is below the reserved path.
    assert!(page.contains("data-root=\"/.jari\"") && page.contains("\"/.jari/assets/"), "{page}");
    assert!(
        !page.contains("\"/assets/")
            && !page.contains("\"/rooms/")
            && page.contains("/.jari/rooms/site/plain"),
        "{page}"
    );
    for part in page.split('"').filter(|part| part.starts_with("/.jari/assets/")) {
        let _ = go(&visitor, part).await.expect(200);
    }
    let pass = admitted(&visitor).await.pass.expect("a pass");
    assert_eq!(pass.target_url, "/tickets/7?seat=a%2Fb");
    let plain = go(&visitor, "/.jari/rooms/site/plain").await.expect(200).text();
    assert!(plain.contains("href=\"/tickets/7?seat=a%2Fb\""), "{plain}");
    assert!(site.seen().is_empty(), "nothing of this is the site's business");
    assert_eq!(go(&visitor, &pass.target_url).await.expect(200).text(), "the site's /tickets/7");
    assert_eq!(site.last_seen().target, "/tickets/7?seat=a%2Fb");
}

#[tokio::test]
async fn issue_5_attack_no_way_back_leads_away_from_the_site() {
    let (_site, app) = stage().await;
    for told in [
        "https%3A%2F%2Fevil.example%2F",
        "%2F%2Fevil.example",
        "%2F%5Cevil.example",
        "javascript%3Aalert(1)",
        // Jari's own pages: a way back there leads in a circle.
        "%2F.jari%2Frooms%2Fsite",
        "%2F.JARI%2Frooms%2Fsite",
        "%2F%252ejari%2Frooms%2Fsite",
        "%2Fx%2F..%2F.jari%2Frooms%2Fsite",
    ] {
        let visitor = browser(&app);
        let page = go(&visitor, &format!("/.jari/rooms/site?return={told}")).await.expect(200);
        let cookies: Vec<_> = page.headers.get_all("set-cookie").iter().collect();
        assert!(!format!("{cookies:?}").contains("jari_back_"), "{told}: {cookies:?}");
        // Nor where somebody else has set the cookie.
        let forged = format!("jari_back_site={told}");
        let _ = ask(visitor.request(Method::POST, "/.jari/v1/visitors")).await.expect(201);
        let request = visitor.request(Method::POST, "/.jari/v1/rooms/site/places");
        let joined = ask(request).await;
        assert!(joined.status.is_success(), "{}", joined.text());
        let pass = admitted(&visitor).await.pass.expect("a pass");
        assert_eq!(pass.target_url, "/tickets/");
        let token = format!(
            "Bearer {}",
            joined.json::<jari_api::PlaceView>().place_token.expect("a receipt")
        );
        let request = reqwest::Client::new()
            .get(app.site_url().join("/.jari/v1/rooms/site/places/me").expect("a path"));
        let asked = ask(request.header("authorization", token).header("cookie", forged)).await;
        assert!(
            !asked.text().contains("evil")
                && !asked.text().contains("javascript")
                && !asked.text().to_lowercase().contains("jari/rooms"),
            "{}",
            asked.text()
        );
    }
}

#[tokio::test]
async fn a_program_is_told_in_json() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    for request in [
        visitor.request(Method::GET, "/tickets/7"),
        visitor.request(Method::POST, "/tickets/7").body("x"),
        visitor
            .request(Method::GET, "/tickets/7")
            .header("accept", "text/html")
            .header("sec-fetch-mode", "cors"),
    ] {
        let problem = ask(request).await.problem(428, "pass_required");
        let url = problem.fields["room_url"].as_str().expect("an address").to_owned();
        let want = format!("{}.jari/rooms/site?return=%2Ftickets%2F7", app.site_url());
        assert_eq!((problem.fields["reason"].as_str(), url), (Some("missing"), want));
        assert!(problem.fields.contains_key("poll_after_ms"));
    }
    assert!(site.seen().is_empty());
}

#[tokio::test]
async fn a_room_that_rules_name_is_made_once_with_the_defaults() {
    let (_site, app) = stage().await;
    let room: serde_json::Value =
        app.operator().get("/v1/admin/rooms/site").await.expect(200).json();
    assert_eq!(room["identity"], serde_json::to_value(Identity::Anonymous).expect("JSON"));
    assert_eq!(
        (room["target_url"].as_str(), room["settings"]["capacity"].as_u64()),
        (Some("/tickets/"), Some(5_000))
    );
    app.operator().set(ROOM, serde_json::json!({"capacity": 7})).await;
    let app = app.restart().await;
    let room: serde_json::Value =
        app.operator().get("/v1/admin/rooms/site").await.expect(200).json();
    assert_eq!(
        room["settings"]["capacity"].as_u64(),
        Some(7),
        "a room that is there stays as it is"
    );
}

/// A room that is deleted closes what it guarded: nothing is open by accident.
#[tokio::test]
async fn without_its_room_a_path_is_closed() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    admitted(&visitor).await;
    let _ = app.operator().delete("/v1/admin/rooms/site").await.expect(204);
    ask(visitor.request(Method::GET, "/tickets/1")).await.problem(404, "unknown_room");
    let page = go(&visitor, "/tickets/1").await.expect(404).text();
    assert!(page.contains("This page is closed") && !page.contains("are kept"), "{page}");
    assert!(site.seen().is_empty());
}
