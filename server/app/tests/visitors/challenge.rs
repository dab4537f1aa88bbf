//! Proof of work before a join: who is asked, what a solution opens, and what every other one is answered. The work is done
//! by the format's own crate, as another client of it would.

use altcha::{Challenge, Payload, Solution, SolveChallengeOptions, solve_challenge};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jari_api::admin::{ChallengeKind, ModeName, PacerBody, RoomBody};
use jari_api::{Identity, PlaceView};
use jari_testkit::{Answer, TestApp, Visitor, eventually};
use jari_units::Millis;
use reqwest::Method;
use serde_json::json;

use crate::{open, still};

/// Work of a few milliseconds.
fn asks(room: &mut RoomBody) {
    still(room);
    room.challenge = ChallengeKind::ProofOfWork;
    room.challenge_difficulty = 100;
}

/// The same, and whoever has done it is let in at once.
fn asks_and_admits(room: &mut RoomBody) {
    asks(room);
    room.settings.pacer = PacerBody::Fixed;
    open(room);
}

async fn challenge(visitor: &Visitor, room: &str) -> Challenge {
    let answer = visitor.get(&format!("/v1/rooms/{room}/challenge")).await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

fn solve(challenge: &Challenge) -> Payload {
    let solution = solve_challenge(SolveChallengeOptions::new(challenge)).expect("it can be read");
    let solution = solution.expect("a hundred tries are done in time");
    Payload { challenge: challenge.clone(), solution }
}

async fn join_with(visitor: &Visitor, room: &str, payload: &Payload) -> Answer {
    let text = STANDARD.encode(serde_json::to_vec(payload).expect("it is plain JSON"));
    join_showing(visitor, room, &text).await
}

async fn join_showing(visitor: &Visitor, room: &str, altcha: &str) -> Answer {
    let path = format!("/v1/rooms/{room}/places");
    let request = visitor.request(Method::POST, &path).json(&json!({"altcha": altcha}));
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

async fn somebody(app: &TestApp) -> Visitor {
    let visitor = app.visitor();
    visitor.identify().await;
    visitor
}

/// The reason that a join is refused for.
fn reason(answer: &Answer) -> String {
    let problem = answer.problem(403, "challenge_required");
    problem.fields["reason"].as_str().expect("a reason").to_owned()
}

#[tokio::test]
async fn issue_5_a_newcomer_does_the_work_once_and_never_again_while_the_place_lives() {
    let app = TestApp::start().await;
    let room = app.create_room(asks).await;
    let visitor = app.visitor();
    let identity = visitor.identify().await.visitor_token;
    assert_eq!(reason(&visitor.join(&room).await), "missing");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
    let solved = solve(&challenge(&visitor, &room).await);
    let place: PlaceView = join_with(&visitor, &room, &solved).await.expect(201).json();
    // A reload, a second tab, a lost answer: the receipt is enough.
    let again: PlaceView = visitor.join(&room).await.expect(200).json();
    assert_eq!(again.seq, place.seq);
    visitor.poll(&room).await.expect(200);
    visitor.leave(&room).await.expect(204);
    assert_eq!(reason(&visitor.join(&room).await), "missing", "a new place is new work");
    let kept = ("place", place.place_token.expect("a receipt"));
    assert_eq!(
        reason(&join_with_cookies(&app, &room, &identity, kept).await),
        "missing",
        "also for who kept the receipt"
    );
    // Good for this identity until it ends: it gives nobody a second place.
    let second: PlaceView = join_with(&visitor, &room, &solved).await.expect(201).json();
    assert_eq!((second.seq, app.operator().stats(&room).await.waiting), (place.seq + 1, 1));
}

#[tokio::test]
async fn issue_5_whoever_is_inside_joins_by_the_pass_alone() {
    let app = TestApp::start().await;
    let room = app.create_room(asks_and_admits).await;
    let visitor = app.visitor();
    let identity = visitor.identify().await.visitor_token;
    let solved = solve(&challenge(&visitor, &room).await);
    join_with(&visitor, &room, &solved).await.expect(201);
    let pass = eventually("the visitor is admitted", async || {
        let answer = visitor.poll(&room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        place.pass.map(|pass| pass.token)
    })
    .await;
    // The same person without the place's receipt: identity and pass are left of the cookies.
    let _ = join_with_cookies(&app, &room, &identity, ("pass", pass.clone())).await.expect(200);
    // It says nothing of anybody else, whoever may have it.
    let other = app.visitor().identify().await.visitor_token;
    let borrowed = join_with_cookies(&app, &room, &other, ("pass", pass)).await;
    assert_eq!(reason(&borrowed), "missing");
}

/// Joins with these cookies alone: an identity, and a token of this kind.
async fn join_with_cookies(
    app: &TestApp,
    room: &str,
    identity: &str,
    (kind, token): (&str, String),
) -> Answer {
    let path = format!("/v1/rooms/{room}/places");
    let cookies = format!("jari_visitor={identity}; jari_{kind}_{room}={token}");
    let request = app.visitor().request(Method::POST, &path).header("cookie", cookies);
    Answer::read(request.send().await.expect("the server answers")).await
}

#[tokio::test]
async fn issue_5_a_solution_opens_nothing_for_anybody_else_elsewhere_or_later() {
    let app = TestApp::start().await;
    let room = app.create_room(asks).await;
    let other = app
        .create_room(|room| {
            asks(room);
            room.room = "other".to_owned();
        })
        .await;
    let visitor = somebody(&app).await;
    let challenge = challenge(&visitor, &room).await;
    let solved = solve(&challenge);
    let refused =
        async |room: &str, payload: &Payload| reason(&join_with(&visitor, room, payload).await);
    assert_eq!(refused(&other, &solved).await, "wrong_room");
    assert_eq!(reason(&join_with(&somebody(&app).await, &room, &solved).await), "wrong_visitor");
    let mut forged = solved.clone();
    forged.challenge.parameters.expires_at = Some(i64::MAX);
    assert_eq!(refused(&room, &forged).await, "bad_signature");
    let mut unsigned = solved.clone();
    unsigned.challenge.signature = None;
    assert_eq!(refused(&room, &unsigned).await, "bad_signature");
    let solution = Solution { derived_key: "00".repeat(32), ..solved.solution.clone() };
    let unsolved = Payload { challenge, solution };
    assert_eq!(refused(&room, &unsolved).await, "unsolved");
    for noise in ["", "e30=", "not base64", &"A".repeat(10_000)] {
        assert_eq!(reason(&join_showing(&visitor, &room, noise).await), "malformed", "{noise}");
    }
    let harder = json!({"challenge_difficulty": 101});
    app.operator().patch(&format!("/v1/admin/rooms/{room}"), &harder).await.expect(200);
    assert_eq!(refused(&room, &solved).await, "too_easy");
    let easier = json!({"challenge_difficulty": 100});
    app.operator().patch(&format!("/v1/admin/rooms/{room}"), &easier).await.expect(200);
    app.clock().advance(Millis::from_mins(10));
    assert_eq!(refused(&room, &solved).await, "expired");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0, "none of it gave a place");
    let fresh = solve(&self::challenge(&visitor, &room).await);
    join_with(&visitor, &room, &fresh).await.expect(201);
}

#[tokio::test]
async fn issue_5_a_challenge_outlives_a_restart_and_is_for_who_is_known() {
    let app = TestApp::start().await;
    let room = app.create_room(asks).await;
    let path = format!("/v1/rooms/{room}/challenge");
    app.visitor().get(&path).await.problem(401, "identity_required");
    app.visitor().get("/v1/rooms/none/challenge").await.problem(404, "unknown_room");
    let visitor = somebody(&app).await;
    let solved = solve(&challenge(&visitor, &room).await);
    let app = app.restart().await;
    let visitor = visitor.sent_to(app.url());
    join_with(&visitor, &room, &solved).await.expect(201);
    let off = json!({"challenge": "off"});
    app.operator().patch(&format!("/v1/admin/rooms/{room}"), &off).await.expect(200);
    visitor.get(&path).await.problem(404, "not_found");
    app.visitor().wait_in(&room).await;
}

#[tokio::test]
async fn issue_5_a_challenge_is_set_within_bounds_in_anonymous_rooms_and_is_in_the_trail() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    let operator = app.operator();
    let path = format!("/v1/admin/rooms/{room}");
    for (change, field) in [
        (json!({"challenge_difficulty": 99}), "challenge_difficulty"),
        (json!({"challenge_difficulty": 1_000_001}), "challenge_difficulty"),
    ] {
        let problem = operator.patch(&path, &change).await.problem(422, "invalid_field");
        assert_eq!(problem.fields["field"], field);
    }
    operator.patch(&path, &json!({"challenge": "captcha"})).await.problem(400, "malformed_body");
    let on = json!({"challenge": "proof_of_work", "challenge_difficulty": 20_000});
    let told: serde_json::Value = operator.patch(&path, &on).await.expect(200).json();
    assert_eq!(
        (&told["challenge"], &told["challenge_difficulty"]),
        (&json!("proof_of_work"), &json!(20_000))
    );
    let trail: serde_json::Value =
        operator.get(&format!("/v1/admin/audit?target=room:{room}")).await.expect(200).json();
    let newest = &trail["entries"][0];
    let after = (&newest["before"]["challenge"], &newest["after"]["challenge"]);
    assert_eq!(after, (&json!("off"), &json!("proof_of_work")), "{newest}");
    let default = json!({"challenge": null, "challenge_difficulty": null});
    let told: serde_json::Value = operator.patch(&path, &default).await.expect(200).json();
    assert_eq!(
        (&told["challenge"], &told["challenge_difficulty"]),
        (&json!("off"), &json!(10_000))
    );
    // Who comes with an entry token is vouched for: a setting without an effect is refused.
    let members = app
        .create_room(|room| {
            room.room = "members".to_owned();
            room.identity = Identity::Entry;
        })
        .await;
    let on = json!({"challenge": "proof_of_work"});
    let refused = operator.patch(&format!("/v1/admin/rooms/{members}"), &on).await;
    assert_eq!(refused.problem(422, "invalid_field").fields["field"], "challenge");
    let entry = app.integrator().await.entry(&members, "kim").await;
    app.visitor().join_with(&members, &entry).await.expect(201);
}

/// The gate itself joins nobody who has not done the work; a room that holds nobody up asks for none.
#[tokio::test]
async fn issue_5_an_auto_room_sends_newcomers_to_the_page_that_does_the_work() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            asks_and_admits(room);
            room.settings.mode = ModeName::Auto;
        })
        .await;
    let visitor = somebody(&app).await;
    visitor.gate(&room).await.problem(428, "pass_required");
    assert_eq!(app.operator().stats(&room).await.joined_total, 0);
    let solved = solve(&challenge(&visitor, &room).await);
    let place: PlaceView = join_with(&visitor, &room, &solved).await.expect(201).json();
    assert!(place.pass.is_some(), "it is quiet: no wait");
    visitor.gate(&room).await.expect(204);
    app.operator().set(&room, json!({"mode": "shadow"})).await;
    let place: PlaceView = app.visitor().wait_in(&room).await;
    assert!(place.go_to.is_some(), "{place:?}");
}

/// Nobody works for a place that nobody gets; for an opening they do, beforehand.
#[tokio::test]
async fn issue_5_a_room_that_is_over_says_so_before_it_asks_for_work() {
    let app = TestApp::start().await;
    let room = app.create_room(asks).await;
    let visitor = somebody(&app).await;
    let close = json!({"message": "see you tomorrow"});
    app.operator().steer(&room, "close", close).await.expect(200);
    let problem = eventually("the closing is known here", async || {
        let answer = visitor.join(&room).await;
        (answer.status == 410).then(|| answer.problem(410, "room_closed"))
    })
    .await;
    assert_eq!(problem.fields["message"], "see you tomorrow");
    let solved = solve(&challenge(&visitor, &room).await);
    join_with(&visitor, &room, &solved).await.problem(410, "room_closed");
    let opening = app
        .create_room(|room| {
            asks(room);
            room.room = "opening".to_owned();
            room.settings.opens_at = Some(jari_api::Utc(jari_units::Timestamp(4_000_000_000_000)));
        })
        .await;
    assert_eq!(reason(&visitor.join(&opening).await), "missing");
    let solved = solve(&challenge(&visitor, &opening).await);
    join_with(&visitor, &opening, &solved).await.problem(409, "not_open");
}
