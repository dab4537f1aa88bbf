//! Passes that are none: forged, altered, of another room, used up, borrowed. In the header and as the cookie.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jari_api::{PlaceStatus, PlaceView};
use jari_pass::{KeyRing, PassToken, RingKey};
use jari_testkit::{Answer, FakeSite, TestApp, Visitor, eventually};
use jari_units::{Millis, PassId, SubjectKey, Timestamp};
use reqwest::Method;
use serde_json::json;

use crate::stage;

const ROOM: &str = "site";
const WANTED: &str = "/tickets/1";

/// What is answered to a browser of nobody's that shows `token` as a pass, in each place where a pass is looked for.
async fn shown(app: &TestApp, token: &str) -> Vec<Answer> {
    let shown = [
        ("authorization", format!("Bearer {token}")),
        ("cookie", format!("jari_pass_{ROOM}={token}")),
        ("cookie", format!("__Host-jari_pass_{ROOM}={token}; jari_pass_{ROOM}={token}")),
    ];
    let mut answers = Vec::new();
    for (name, value) in shown {
        let stranger = Visitor::new(app.site_url()).request(Method::GET, WANTED);
        let answer = stranger.header(name, value).send().await.expect("the server answers");
        answers.push(Answer::read(answer).await);
    }
    answers
}

/// That nobody gets through with it, for one of these reasons.
async fn is_refused(app: &TestApp, what: &str, token: &str, reasons: &[&str]) {
    for answer in shown(app, token).await {
        let problem = answer.problem(428, "pass_required");
        let reason = problem.fields["reason"].as_str().expect("a word");
        assert!(reasons.contains(&reason), "{what}: {reason}");
    }
}

/// A good pass as a site's visitor holds it.
async fn a_pass(app: &TestApp) -> (Visitor, PlaceView, String) {
    let visitor = Visitor::new(app.site_url());
    let mut place = visitor.enter(ROOM).await;
    let token = place.pass.take().expect("a pass").token;
    (visitor, place, token)
}

fn bytes(token: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(token).expect("base64")
}

fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A pass for whoever wants one, by a ring of somebody's own.
fn by_another_ring() -> String {
    let keys = vec![RingKey { id: 1, secret: [7; 32], signs: true }];
    let ring = KeyRing::new(keys, [8; 32]).expect("one signs");
    let expires_at = Timestamp(u64::MAX / 2);
    ring.sign(&PassToken {
        room: ROOM.parse().expect("an id"),
        pass: PassId { incarnation: 1, seq: 1, grant: 1 },
        subject: SubjectKey([1; 16]),
        issued_at: Timestamp(0),
        expires_at,
    })
}

/// Every way that we know of to make a pass of one's own out of a good one, and what each is refused for.
fn forgeries(token: &str) -> Vec<(&'static str, String, &'static [&'static str])> {
    // {"alg":"none","typ":"JWT"} . {"room":"site","seq":1} . no signature
    const ALG_NONE: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJyb29tIjoic2l0ZSIsInNlcSI6MX0.";
    const MALFORMED: &[&str] = &["malformed"];
    const UNSIGNED: &[&str] = &["bad_signature"];
    // A cut may fall between two bytes or within one.
    const CUT: &[&str] = &["malformed", "bad_signature"];
    let good = bytes(token);
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        text(&bytes)
    };
    vec![
        ("alg none", ALG_NONE.to_owned(), MALFORMED),
        ("by another ring", by_another_ring(), UNSIGNED),
        ("of another version", changed(0, 2), MALFORMED),
        ("of another kind", changed(1, 1), &["wrong_kind"]),
        ("a key that there is not", changed(2, good[2].wrapping_add(1)), UNSIGNED),
        ("another key, whatever it signs", changed(2, 0), UNSIGNED),
        ("without its signature", text(&good[..good.len() - 32]), UNSIGNED),
        (
            "with a signature of zeros",
            text(&[&good[..good.len() - 32], &[0; 32]].concat()),
            UNSIGNED,
        ),
        ("cut short by one", token[..token.len() - 1].to_owned(), CUT),
        ("cut short by half", token[..token.len() / 2].to_owned(), CUT),
        ("with something behind", format!("{token}AAAA"), UNSIGNED),
        ("far too long", format!("{token}{}", "A".repeat(4_000)), MALFORMED),
        ("nothing", "A".to_owned(), MALFORMED),
    ]
}

#[tokio::test]
async fn issue_5_attack_forged_and_altered_passes_reach_no_site() {
    let (site, app) = stage().await;
    let (visitor, place, token) = a_pass(&app).await;
    for (what, forged, reasons) in forgeries(&token) {
        is_refused(&app, what, &forged, reasons).await;
    }
    // Whose it is, which room, which number, until when: no byte of it is free.
    let good = bytes(&token);
    for at in (0..good.len()).step_by(3) {
        let mut changed = good.clone();
        changed[at] ^= 1 << (at % 8);
        let reasons: &[&str] = match at {
            0 => &["malformed"],
            _ => &["bad_signature"],
        };
        is_refused(&app, &format!("byte {at}"), &text(&changed), reasons).await;
    }
    // Other tokens of ours are no passes, nor are keys of people who may do more.
    let receipt = place.place_token.expect("a receipt");
    let mut tokens = vec![receipt, app.visitor().identify().await.visitor_token];
    tokens.extend(place.stream_key);
    for other in &tokens {
        is_refused(&app, "another token", other, &["wrong_kind"]).await;
    }
    for key in [app.admin_key(), app.integrator().await.key()] {
        is_refused(&app, "an API key", key, &["malformed"]).await;
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    assert_eq!(app.operator().stats(ROOM).await.claimed, 0, "nobody used the pass by any of it");
    visitor.get(WANTED).await.expect(200);
    assert_eq!(site.seen().len(), 1);
}

/// Who was let into `room` on the product's own listener.
async fn pass_of(app: &TestApp, room: &str) -> String {
    let visitor = app.visitor();
    visitor.wait_in(room).await;
    eventually("the visitor is admitted", async || {
        let answer = visitor.poll(room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(place.pass?.token)
    })
    .await
}

#[tokio::test]
async fn issue_5_attack_passes_of_other_rooms_and_tenants_reach_no_site() {
    let (site, app) = stage().await;
    app.create_tenant("rival").await;
    // As long as the site's own room: what names it could be written over.
    for (room, tenant) in [("shop", None), ("cafe", Some("rival"))] {
        app.create_room(|body| {
            body.room = room.to_owned();
            body.tenant = tenant.map(str::to_owned);
            body.settings.rate_per_s = 1_000.0;
        })
        .await;
        let pass = pass_of(&app, room).await;
        is_refused(&app, room, &pass, &["wrong_room"]).await;
        let mut renamed = bytes(&pass);
        let named = |bytes: &[u8]| bytes == room.as_bytes();
        let at = renamed.windows(ROOM.len()).position(named).expect("the room's name");
        renamed[at..at + ROOM.len()].copy_from_slice(ROOM.as_bytes());
        is_refused(&app, room, &text(&renamed), &["bad_signature"]).await;
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
}

#[tokio::test]
async fn issue_5_attack_a_pass_that_was_given_back_is_not_used_again() {
    let (site, app) = stage().await;
    let (visitor, _, token) = a_pass(&app).await;
    for answer in shown(&app, &token).await {
        let _ = answer.expect(200);
    }
    let before = site.seen().len();
    let leave = visitor.request(Method::DELETE, "/.jari/v1/rooms/site/places/me");
    let left = leave.send().await.expect("the server answers");
    assert!(left.status().is_success(), "{left:?}");
    is_refused(&app, "given back", &token, &["ended"]).await;
    // By its own cookies as well, and however often.
    for _ in 0..3 {
        visitor.get(WANTED).await.problem(428, "pass_required");
    }
    assert_eq!(site.seen().len(), before);
}

#[tokio::test]
async fn issue_5_attack_a_pass_that_has_run_out_reaches_no_site() {
    const TTL_MS: u64 = 5_000;
    let (site, app) = stage().await;
    // A pass that is used never ends before the window in which to claim it.
    let settings = json!({"pass_ttl_ms": TTL_MS, "claim_window_ms": TTL_MS});
    app.operator().set(ROOM, settings).await;
    let (visitor, _, token) = a_pass(&app).await;
    visitor.get(WANTED).await.expect(200);
    while app.operator().stats(ROOM).await.live > 0 {
        // In steps that the room does not take for an outage. Once nobody is inside it ticks no more.
        app.clock().advance(Millis(TTL_MS / 2));
        let now = app.operator().stats(ROOM).await.now;
        eventually("the room ticked", async || {
            let stats = app.operator().stats(ROOM).await;
            (stats.now > now || stats.live == 0).then_some(())
        })
        .await;
    }
    is_refused(&app, "run out", &token, &["ended", "expired"]).await;
    assert_eq!(site.seen().len(), 1);
}

fn told(site: &FakeSite, name: &str) -> Option<String> {
    site.last_seen().header(name)
}

/// A pass that its owner hands on is still the owner's: one person inside, told to the site by their name, and out with them.
#[tokio::test]
async fn issue_5_attack_a_borrowed_pass_stays_its_owners() {
    let (site, app) = stage().await;
    let (owner, _, token) = a_pass(&app).await;
    owner.get(WANTED).await.expect(200);
    let (subject, seq) = (told(&site, "jari-subject"), told(&site, "jari-seq"));
    assert!(subject.is_some() && seq.is_some(), "{:?}", site.last_seen());
    // Somebody with an identity and a place of their own.
    app.operator().set(ROOM, json!({"capacity": 1})).await;
    let borrower = Visitor::new(app.site_url());
    for path in ["/.jari/v1/visitors", "/.jari/v1/rooms/site/places"] {
        let sent = borrower.request(Method::POST, path).send().await.expect("the server answers");
        assert!(sent.status().is_success(), "{path}: {sent:?}");
    }
    let borrowed = || {
        let request = borrower.request(Method::GET, WANTED).bearer_auth(&token);
        request.header("jari-subject", "00ff").header("jari-seq", "2")
    };
    let answer = borrowed().send().await.expect("the server answers");
    assert_eq!(answer.status(), 200);
    assert_eq!((told(&site, "jari-subject"), told(&site, "jari-seq")), (subject, seq));
    assert_eq!(app.operator().stats(ROOM).await.live, 1);
    let before = site.seen().len();
    let leave = owner.request(Method::DELETE, "/.jari/v1/rooms/site/places/me");
    assert!(leave.send().await.expect("the server answers").status().is_success());
    let answer = Answer::read(borrowed().send().await.expect("the server answers")).await;
    assert_eq!(answer.problem(428, "pass_required").fields["reason"], "ended");
    assert_eq!(site.seen().len(), before);
}
