//! The one-time token: made at the moment of leaving, good once, and gone with its pass.

use jari_api::{KeySet, VerifiedPass};
use jari_testkit::{TestApp, eventually, location};
use jari_units::Millis;
use serde_json::{Value, json};

use crate::{a_token, admitted, handing_over, leave_for_the_site, reason, verify};

/// What a token says, without a look at its signature.
fn claims(token: &str) -> (Value, Value) {
    use base64::Engine as _;
    let part = |text: &str| {
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).expect("base64");
        serde_json::from_slice(&bytes).expect("JSON")
    };
    let mut parts = token.split('.');
    (part(parts.next().expect("a head")), part(parts.next().expect("claims")))
}

#[tokio::test]
async fn issue_5_a_token_says_who_for_whom_and_until_when() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, token) = a_token(&app, &room).await;
    let (head, said) = claims(&token);
    assert_eq!((&head["alg"], &head["typ"]), (&json!("EdDSA"), &json!("jari-pass+jwt")));
    let keys: KeySet = app.visitor().get("/.well-known/jwks.json").await.expect(200).json();
    assert_eq!(keys.keys.len(), 1, "made with the room");
    assert_eq!(head["kid"], keys.keys[0].kid);
    assert_eq!(said["iss"], app.url().as_str().trim_end_matches('/'));
    assert_eq!((&said["aud"], &said["room"]), (&json!("default"), &json!(room)));
    let lives = said["exp"].as_u64().zip(said["iat"].as_u64()).map(|(exp, iat)| exp - iat);
    assert!(lives.is_some_and(|lives| (1..=60).contains(&lives)), "{said}");
    let verified: VerifiedPass = verify(&site, &token, "a-first-look").await.expect(200).json();
    assert_eq!((&said["pass"], &said["sub"]), (&json!(verified.pass), &json!(verified.subject)));
    let other = leave_for_the_site(&visitor, &room).await;
    let (_, later) = claims(&other);
    assert_ne!(said["jti"], later["jti"], "each token is another");
    assert_eq!((&said["pass"], &said["sub"]), (&later["pass"], &later["sub"]), "of the same pass");
    let cached = app.visitor().get("/.well-known/jwks.json").await;
    assert_eq!(cached.header("cache-control"), Some("public, max-age=300"));
    app.stop().await;
}

/// The way back is kept in a cookie for days: to the door itself it would be a circle that the browser gives up on each time.
#[tokio::test]
async fn issue_5_no_link_locks_a_visitor_out_by_a_way_back_to_the_door() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let visitor = app.visitor();
    admitted(&visitor, &room).await;
    let own = app.url();
    for back in ["rooms/room/go", "rooms/room", "rooms/room/go?a=b", "rooms/other/go", "admin"] {
        let back = own.join(back).expect("a path");
        let mut page = own.join("/rooms/room").expect("a path");
        page.query_pairs_mut().append_pair("return", back.as_str());
        visitor.get(page.as_str()).await.expect(200);
        let to = location(&visitor.get("/rooms/room/go").await.expect(303));
        assert!(to.as_str().starts_with("https://shop.example/sale?jari_pass="), "{back}: {to}");
    }
    app.stop().await;
}

/// Q5: one landing a token, however often and by whomever it is shown; a site's own repeated call is the same landing.
#[tokio::test]
async fn issue_5_a_token_lands_once() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, token) = a_token(&app, &room).await;
    let first: VerifiedPass = verify(&site, &token, "landing-1").await.expect(200).json();
    assert_eq!(app.operator().stats(&room).await.claimed, 1, "to land is to claim");
    let again: VerifiedPass = verify(&site, &token, "landing-1").await.expect(200).json();
    assert_eq!((&first.pass, &first.subject), (&again.pass, &again.subject));
    for nonce in ["landing-2", "landing-1 ", "LANDING-1"] {
        assert_eq!(reason(&verify(&site, &token, nonce).await), "used", "{nonce:?}");
    }
    // Whoever comes by the room again gets another token, which is good; the one before is not, by any call.
    let second = leave_for_the_site(&visitor, &room).await;
    let landed: VerifiedPass = verify(&site, &second, "landing-3").await.expect(200).json();
    assert_eq!(landed.pass, first.pass, "it is one pass");
    assert_eq!(reason(&verify(&site, &token, "landing-1").await), "used");
    // A restart forgets nothing.
    let key = site.key().to_owned();
    let app = app.restart().await;
    let site = jari_testkit::Integrator::new(app.url(), &key);
    assert_eq!(reason(&verify(&site, &second, "landing-4").await), "used");
    verify(&site, &second, "landing-3").await.expect(200);
    app.stop().await;
}

#[tokio::test]
async fn issue_5_of_many_that_show_one_token_at_once_one_lands() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (_, token) = a_token(&app, &room).await;
    let calls = (0..40).map(|n| {
        let (site, token) = (site.clone(), token.clone());
        async move { verify(&site, &token, &format!("landing-{n:04}")).await.status.as_u16() }
    });
    let answers = futures_util::future::join_all(calls).await;
    let landed = answers.iter().filter(|status| **status == 200).count();
    assert_eq!((landed, answers.len()), (1, 40), "{answers:?}");
    assert!(answers.iter().all(|status| [200, 428].contains(status)), "{answers:?}");
    app.stop().await;
}

#[tokio::test]
async fn issue_5_a_token_ends_after_a_minute_by_the_lines_clock_and_with_its_pass() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, token) = a_token(&app, &room).await;
    let other = leave_for_the_site(&visitor, &room).await;
    for _ in 0..16 {
        app.clock().advance(Millis(4_000));
        let now = app.operator().stats(&room).await.now;
        eventually("the room ticked", async || {
            (app.operator().stats(&room).await.now > now).then_some(())
        })
        .await;
    }
    assert_eq!(reason(&verify(&site, &token, "landing-1").await), "expired");
    let fresh = leave_for_the_site(&visitor, &room).await;
    visitor.leave(&room).await.expect(204);
    assert_eq!(reason(&verify(&site, &fresh, "landing-1").await), "ended");
    assert_eq!(reason(&verify(&site, &other, "landing-1").await), "expired");
    app.stop().await;
}

/// The way out is a plain link, for browsers without scripts too; who has no pass gets to the room's page by it.
#[tokio::test]
async fn issue_5_the_way_out_is_a_link_that_leads_back_to_where_one_wanted_to_go() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let visitor = app.visitor();
    let page = location_path(&visitor.get("/rooms/room/go").await.expect(303));
    assert_eq!(page, "/rooms/room");
    let told = "/rooms/room?return=https%3A%2F%2Fshop.example%2Fcart%3Fitem%3D1%23top";
    visitor.get(told).await.expect(200);
    let place = admitted(&visitor, &room).await;
    let door = place.pass.expect("a pass").target_url;
    assert_eq!(door, "/rooms/room/go");
    let plain = visitor.get("/rooms/room/plain").await.expect(200).text();
    assert!(plain.contains("href=\"/rooms/room/go\""), "{plain}");
    let answer = visitor.get(&door).await.expect(303);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    let to = location(&answer);
    let start = "https://shop.example/cart?item=1&jari_pass=";
    assert!(to.as_str().starts_with(start) && to.fragment() == Some("top"), "{to}");
    // Elsewhere nobody is sent, whatever the page was called with.
    let lost = app.visitor();
    lost.get("/rooms/room?return=https%3A%2F%2Fevil.example%2F").await.expect(200);
    admitted(&lost, &room).await;
    let to = location(&lost.get("/rooms/room/go").await.expect(303));
    assert!(to.as_str().starts_with("https://shop.example/sale?jari_pass="), "{to}");
    app.stop().await;
}

/// The cookie that keeps the way back is one for all tabs; each says at the door what it was called for.
#[tokio::test]
async fn issue_5_each_tab_lands_on_the_page_that_it_asked_for() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let visitor = app.visitor();
    for page in ["/first?a=1", "/second"] {
        let mut called = app.url().join("/rooms/room").expect("a path");
        called.query_pairs_mut().append_pair("return", page);
        visitor.get(called.as_str()).await.expect(200);
    }
    admitted(&visitor, &room).await;
    let lands = async |told: &str| {
        let mut door = app.url().join("/rooms/room/go").expect("a path");
        door.query_pairs_mut().append_pair("return", told);
        location(&visitor.get(door.as_str()).await.expect(303)).to_string()
    };
    for (told, page) in [
        ("/first?a=1", "/first?a=1&"),
        ("/second", "/second?"),
        ("https://shop.example/third", "/third?"),
        // What may not be led to leads to where the cookie says, as before.
        ("https://evil.example/", "/second?"),
        ("//evil.example/", "/second?"),
        ("https://shop.example@evil.example/", "/second?"),
        ("javascript:alert(1)", "/second?"),
        ("https://shop.example/x\r\nset-cookie: a=b", "/second?"),
        ("", "/second?"),
    ] {
        let to = lands(told).await;
        let start = format!("https://shop.example{page}jari_pass=");
        assert!(to.starts_with(&start), "{told}: {to}");
    }
    visitor.get("/rooms/room/go?return=/a&return=/b").await.problem(400, "bad_request");
    // Who has no pass gets none by it, and the room's page leads nowhere else.
    let stranger = app.visitor();
    let to = stranger.get("/rooms/room/go?return=%2Ffirst").await.expect(303);
    assert_eq!(location_path(&to), "/rooms/room");
    // Nobody is held up: the same door leads on, without a token for who has no pass.
    app.operator().set(&room, json!({"mode": "off"})).await;
    let to = location(&stranger.get("/rooms/room/go?return=%2Ffirst").await.expect(303));
    assert_eq!(to.as_str(), "https://shop.example/first");
    app.stop().await;
}

/// A room whose gate is on the site's own host hands no token over.
#[tokio::test]
async fn issue_5_a_room_hands_a_token_over_only_where_it_is_told_to() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            handing_over(room);
            room.handover = jari_api::admin::Handover::Cookie;
        })
        .await;
    let keys: KeySet = app.visitor().get("/.well-known/jwks.json").await.expect(200).json();
    assert!(keys.keys.is_empty(), "nothing is signed for anybody");
    let visitor = app.visitor();
    let place = admitted(&visitor, &room).await;
    assert_eq!(place.pass.expect("a pass").target_url, "https://shop.example/sale");
    let to = location(&visitor.get("/rooms/room/go").await.expect(303));
    assert_eq!(to.as_str(), "https://shop.example/sale");
    let change = json!({"handover": "token"});
    app.operator().patch("/v1/admin/rooms/room", &change).await.expect(200);
    assert!(!leave_for_the_site(&visitor, &room).await.is_empty(), "it has a key now");
    app.stop().await;
}

/// In a room that wants to know who somebody is, a place's receipt alone gets no token.
#[tokio::test]
async fn issue_5_a_receipt_alone_gets_no_token_in_an_entry_room() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            handing_over(room);
            room.identity = jari_api::Identity::Entry;
        })
        .await;
    let site = app.integrator().await;
    let owner = app.visitor();
    let place: jari_api::PlaceView =
        owner.join_with(&room, &site.entry(&room, "user-1").await).await.expect(201).json();
    let receipt = place.place_token.expect("a receipt");
    eventually("the owner is admitted", async || {
        let answer = owner.poll(&room).await;
        let place = (answer.status == 200).then(|| answer.json::<jari_api::PlaceView>())?;
        place.pass.map(drop)
    })
    .await;
    let thief = app.visitor();
    let request = thief.request(reqwest::Method::GET, "/rooms/room/go").bearer_auth(&receipt);
    let answer = request.send().await.expect("an answer");
    let to = answer.headers()["location"].to_str().expect("text").to_owned();
    assert_eq!((answer.status().as_u16(), to.as_str()), (303, "/rooms/room"));
    assert!(!leave_for_the_site(&owner, &room).await.is_empty());
    app.stop().await;
}

fn location_path(answer: &jari_testkit::Answer) -> String {
    answer.header("location").expect("it leads somewhere").to_owned()
}
