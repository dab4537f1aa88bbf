//! Bad tokens: each is told by a clear code, and none changes anything.

use jari_api::{PlaceStatus, PlaceView};
use jari_pass::{KeyRing, PlaceToken, RingKey, VisitorToken};
use jari_testkit::{Answer, TestApp, Visitor};
use jari_units::{Millis, SubjectKey, Timestamp};
use reqwest::Method;

use crate::still;

async fn with_bearer(visitor: &Visitor, method: Method, path: &str, token: &str) -> Answer {
    let request = visitor.request(method, path).bearer_auth(token);
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

/// The same token with one character of its signature changed.
fn tampered(token: &str) -> String {
    let mut bytes = token.as_bytes().to_vec();
    let at = bytes.len() - 10;
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).expect("ASCII")
}

fn foreign_place(room: &str) -> String {
    let keys = vec![RingKey { id: 1, secret: [7; 32], signs: true }];
    let ring = KeyRing::new(keys, [8; 32]).expect("one signs");
    ring.sign(&PlaceToken {
        room: room.parse().expect("an id"),
        incarnation: 1,
        seq: 1,
        subject: SubjectKey([0; 16]),
        issued_at: Timestamp(0),
        as_of: Timestamp(0),
    })
}

#[tokio::test]
async fn bad_place_tokens_are_told_apart_and_change_nothing() {
    // {"alg":"none","typ":"JWT"} . {"room":"room","seq":1} . no signature
    const ALG_NONE: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJyb29tIjoicm9vbSIsInNlcSI6MX0.";
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let other = app
        .create_room(|room| {
            still(room);
            room.room = "other".to_owned();
        })
        .await;
    let owner = app.visitor();
    let place = owner.wait_in(&room).await.place_token.expect("the receipt");
    let elsewhere = owner.join(&other).await.expect(201).json::<PlaceView>();
    let elsewhere = elsewhere.place_token.expect("the receipt");
    let visitor_token = owner.identify().await.visitor_token;

    let path = format!("/v1/rooms/{room}/places/me");
    let long = "A".repeat(4_000);
    let (changed, foreign) = (tampered(&place), foreign_place(&room));
    let stranger = app.visitor();
    for (token, reason) in [
        ("rubbish", "malformed"),
        (long.as_str(), "malformed"),
        (ALG_NONE, "malformed"),
        (changed.as_str(), "bad_signature"),
        (foreign.as_str(), "bad_signature"),
        (elsewhere.as_str(), "wrong_room"),
        (visitor_token.as_str(), "wrong_kind"),
    ] {
        for method in [Method::GET, Method::DELETE] {
            let answer = with_bearer(&stranger, method, &path, token).await;
            let problem = answer.problem(401, "invalid_token");
            assert_eq!(problem.fields["reason"], reason, "{token}");
        }
    }
    stranger.poll(&room).await.problem(401, "place_required");
    stranger.leave(&room).await.problem(401, "place_required");
    let kept: PlaceView = owner.poll(&room).await.expect(200).json();
    assert_eq!((kept.seq, kept.status), (1, PlaceStatus::Waiting));
}

#[tokio::test]
async fn bad_identities_join_nothing() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let visitor = app.visitor();
    let good = visitor.identify().await.visitor_token;
    let keys = vec![RingKey { id: 1, secret: [7; 32], signs: true }];
    let ring = KeyRing::new(keys, [8; 32]).expect("one signs");
    let expires_at = Timestamp(u64::MAX / 2);
    let forged =
        ring.sign(&VisitorToken { id: [1; 16], room: None, issued_at: Timestamp(0), expires_at });
    let changed = tampered(&good);
    let path = format!("/v1/rooms/{room}/places");
    for (token, reason) in [
        ("x", "malformed"),
        (changed.as_str(), "bad_signature"),
        (forged.as_str(), "bad_signature"),
        (app.admin_key(), "malformed"),
    ] {
        let answer = with_bearer(&app.visitor(), Method::POST, &path, token).await;
        assert_eq!(answer.problem(401, "invalid_token").fields["reason"], reason);
    }
    // An identity of last month.
    app.clock().advance(Millis(31 * 24 * 3_600_000));
    let answer = with_bearer(&app.visitor(), Method::POST, &path, &good).await;
    assert_eq!(answer.problem(401, "invalid_token").fields["reason"], "expired");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
}
