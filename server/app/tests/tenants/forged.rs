//! Attacks on one-time tokens: forged, altered, borrowed. Each is refused, and leaves the real token as good as it was.

use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jari_api::KeySet;
use jari_testkit::TestApp;
use serde_json::{Value, json};

use crate::{a_token, handing_over, polled, reason, rival, verify};

/// A token in its parts.
struct Parts {
    head: Value,
    claims: Value,
    signature: String,
}

fn take_apart(token: &str) -> Parts {
    let parts: Vec<&str> = token.split('.').collect();
    let read = |text: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(text).expect("base64");
        serde_json::from_slice(&bytes).expect("JSON")
    };
    let [head, claims, signature] = parts[..] else { panic!("{token}") };
    Parts { head: read(head), claims: read(claims), signature: signature.to_owned() }
}

fn unsigned(head: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(head), part(claims))
}

fn signed(head: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let text = unsigned(head, claims);
    let signature = URL_SAFE_NO_PAD.encode(sign(text.as_bytes()));
    format!("{text}.{signature}")
}

fn with(value: &Value, field: &str, new: Value) -> Value {
    let mut changed = value.clone();
    changed[field] = new;
    changed
}

fn without(value: &Value, field: &str) -> Value {
    let mut changed = value.clone();
    changed.as_object_mut().expect("an object").remove(field);
    changed
}

/// Every way that we know of to make a token of one's own, or of somebody else's.
fn forgeries(token: &str, public: &[u8], their_kid: &str) -> Vec<(&'static str, String)> {
    let Parts { head, claims, signature } = take_apart(token);
    let own = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a key");
    let by_own = |text: &[u8]| own.sign(text).as_ref().to_vec();
    let by_public = |text: &[u8]| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, public);
        hmac::sign(&key, text).as_ref().to_vec()
    };
    let none = with(&head, "alg", json!("none"));
    let longer = with(&claims, "exp", json!(u64::MAX / 2_000));
    let embedded = with(&head, "jwk", json!({"kty": "OKP", "crv": "Ed25519", "x": "own"}));
    let (text, _) = token.rsplit_once('.').expect("a signature");
    vec![
        ("alg none, without a signature", format!("{}.", unsigned(&none, &claims))),
        ("alg none, with the old one", format!("{}.{signature}", unsigned(&none, &claims))),
        ("alg None", format!("{}.", unsigned(&with(&head, "alg", json!("None")), &claims))),
        ("no alg", format!("{}.{signature}", unsigned(&without(&head, "alg"), &claims))),
        (
            "the public key as a shared secret",
            signed(&with(&head, "alg", json!("HS256")), &claims, by_public),
        ),
        (
            "RS256",
            format!("{}.{signature}", unsigned(&with(&head, "alg", json!("RS256")), &claims)),
        ),
        ("another key under our kid", signed(&head, &claims, by_own)),
        ("another key, brought along", signed(&embedded, &claims, by_own)),
        ("an unknown kid", signed(&with(&head, "kid", json!("0000000000000000")), &claims, by_own)),
        (
            "another tenant's kid",
            format!("{}.{signature}", unsigned(&with(&head, "kid", json!(their_kid)), &claims)),
        ),
        ("no kid", format!("{}.{signature}", unsigned(&without(&head, "kid"), &claims))),
        ("a kid that is a path", signed(&with(&head, "kid", json!("../../keys")), &claims, by_own)),
        ("a later end", format!("{}.{signature}", unsigned(&head, &longer))),
        ("another pass", {
            let other = with(&claims, "pass", json!("room.1.1.1"));
            format!("{}.{signature}", unsigned(&head, &other))
        }),
        ("without its signature", format!("{text}.")),
        ("in two parts", text.to_owned()),
        ("in four parts", format!("{token}.{signature}")),
        ("cut short by one", token[..token.len() - 1].to_owned()),
        ("cut short by half", token[..token.len() / 2].to_owned()),
        ("with a space behind", format!("{token} ")),
        ("far too long", format!("{token}{}", "A".repeat(100_000))),
        ("nothing", ".".to_owned()),
        ("three times nothing", "..".to_owned()),
    ]
}

#[tokio::test]
async fn issue_5_attack_forged_altered_and_borrowed_tokens_are_refused() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    rival(&app, "rival").await;
    let (visitor, token) = a_token(&app, &room).await;
    let keys: KeySet = app.visitor().get("/.well-known/jwks.json").await.expect(200).json();
    let own_kid = take_apart(&token).head["kid"].clone();
    let own = keys.keys.iter().find(|key| json!(key.kid) == own_kid).expect("its key");
    let theirs = keys.keys.iter().find(|key| json!(key.kid) != own_kid).expect("the rival's");
    let public = URL_SAFE_NO_PAD.decode(&own.x).expect("base64");
    for (what, forged) in forgeries(&token, &public, &theirs.kid) {
        let answer = verify(&site, &forged, "attack-0001").await;
        let reason = reason(&answer);
        let known = ["malformed", "bad_signature", "wrong_kind"];
        assert!(known.iter().any(|word| reason == *word), "{what}: {reason}");
        assert!(!answer.text().contains("eyJ"), "{what}: nothing of the token is told");
    }
    // Other tokens of ours are no tokens for sites.
    let place = polled(&visitor, &room).await;
    for other in [place.place_token, place.stream_key].into_iter().flatten() {
        assert_eq!(reason(&verify(&site, &other, "attack-0001").await), "wrong_kind");
    }
    assert_eq!(app.operator().stats(&room).await.claimed, 0, "nobody got in by any of it");
    verify(&site, &token, "the-real-one").await.expect(200);
    app.stop().await;
}

/// Every 5th character changed to its neighbour: no bit of a token is free.
#[tokio::test]
async fn issue_5_attack_a_token_with_a_changed_bit_is_refused() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (_, token) = a_token(&app, &room).await;
    // The last character of a 64-byte signature has four bits that mean nothing; its neighbours have none.
    for at in (0..token.len() - 1).step_by(5).filter(|at| token.as_bytes()[*at] != b'.') {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        if bytes == token.as_bytes() {
            continue;
        }
        let changed = String::from_utf8(bytes).expect("ASCII");
        let answer = verify(&site, &changed, "attack-0001").await;
        assert_eq!(answer.status.as_u16(), 428, "character {at}: {}", answer.text());
    }
    assert_eq!(app.operator().stats(&room).await.claimed, 0);
    verify(&site, &token, "the-real-one").await.expect(200);
    app.stop().await;
}

#[tokio::test]
async fn issue_5_attack_a_token_of_another_room_or_tenant_opens_nothing() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let other = app
        .create_room(|room| {
            handing_over(room);
            room.room = "other".to_owned();
        })
        .await;
    let site = app.integrator().await;
    let (their_room, theirs) = rival(&app, "rival").await;
    let (_, token) = a_token(&app, &room).await;
    let named = |room: &str| json!({"token": token, "nonce": "attack-0001", "room": room});
    let refused = site.post("/v1/passes/verify", &named(&other)).await;
    assert_eq!(reason(&refused), "wrong_room");
    let url = refused.problem(428, "pass_required").fields["room_url"].clone();
    assert_eq!(url, app.url().join("/rooms/other").expect("a path").as_str());
    assert_eq!(
        reason(&theirs.post("/v1/passes/verify", &named(&their_room)).await),
        "bad_signature"
    );
    let blind = verify(&theirs, &token, "attack-0001").await;
    assert_eq!(reason(&blind), "bad_signature");
    let problem = blind.problem(428, "pass_required");
    let told: Vec<_> = problem.fields.keys().map(String::as_str).collect();
    assert_eq!(told, ["poll_after_ms", "reason"], "{}", blind.text());
    // The other way round as well, and none of it has used the token up.
    let (_, their_token) = a_token(&app, &their_room).await;
    assert_eq!(reason(&verify(&site, &their_token, "attack-0001").await), "bad_signature");
    site.post("/v1/passes/verify", &named(&room)).await.expect(200);
    verify(&theirs, &their_token, "the-real-one").await.expect(200);
    app.stop().await;
}

#[tokio::test]
async fn issue_5_attack_a_one_time_token_without_a_nonce_is_not_used_up() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (_, token) = a_token(&app, &room).await;
    for body in [
        json!({"token": token}),
        json!({"token": token, "nonce": ""}),
        json!({"token": token, "nonce": "1234567"}),
        json!({"token": token, "nonce": "n".repeat(129)}),
    ] {
        let problem = site.post("/v1/passes/verify", &body).await.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], "nonce");
    }
    verify(&site, &token, "12345678").await.expect(200);
    app.stop().await;
}
