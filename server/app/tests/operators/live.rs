//! What operators watch: the stream of all rooms and the rooms' last minutes.

use jari_api::admin::{LiveFrame, RoomLive};
use jari_testkit::{Operator, TestApp, eventually};
use serde_json::json;

/// As the server: so many operators may watch one node.
const OPERATORS_MAX: usize = 64;

fn room<'a>(frame: &'a LiveFrame, id: &str) -> Option<&'a RoomLive> {
    frame.rooms.iter().find(|room| room.stats.room == id)
}

#[tokio::test]
async fn the_stream_tells_all_rooms_at_once_and_as_they_change() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let limits = json!({"capacity": 9, "rate_per_s": 5, "burst": 5});
    operator.put("/v1/admin/groups/both", &limits).await.expect(200);
    for id in ["a", "b"] {
        app.create_room(|room| {
            room.room = id.to_owned();
            room.group = Some("both".to_owned());
            room.settings.capacity = 2;
        })
        .await;
    }
    let people = [app.visitor(), app.visitor(), app.visitor()];
    people[0].wait_in("a").await;
    let mut live = operator.watch().await;
    assert_eq!(live.headers["content-type"], "text/event-stream");
    assert_eq!(live.headers["cache-control"], "no-store");
    // A room that nobody used yet comes a moment later: it is read because an operator watches.
    let admitted = |frame: &LiveFrame| {
        room(frame, "b").is_some() && room(frame, "a").is_some_and(|room| room.stats.live == 1)
    };
    let frame = live.until("stats", admitted).await;
    let (a, group) = (room(&frame, "a").expect("just seen"), &frame.groups[0]);
    assert_eq!((a.capacity, a.group.as_deref(), a.version), (2, Some("both"), 1));
    assert_eq!((group.live, group.capacity, group.rooms.len()), (1, 9, 2));

    // What one operator does, all others see.
    let before = frame.changes;
    let mut other = app.operator().watch().await;
    operator.steer("b", "announce", json!({"text": "Soon."})).await.expect(200);
    operator.steer("b", "pause", json!({})).await.expect(200);
    people[1].wait_in("b").await;
    people[2].wait_in("b").await;
    let told = |frame: &LiveFrame| {
        room(frame, "b").is_some_and(|room| room.paused && room.stats.waiting == 2)
    };
    let frame = other.until("stats", told).await;
    let b = room(&frame, "b").expect("just seen");
    assert_eq!(b.notice.as_ref().map(|notice| notice.text.as_str()), Some("Soon."));
    assert_eq!((frame.changes, frame.operators), (before + 2, 2));
    assert_eq!(frame.groups[0].waiting, 2);
    app.stop().await;
}

#[tokio::test]
async fn only_operators_may_watch() {
    let app = TestApp::start().await;
    let site = app.integrator().await;
    for path in ["/v1/admin/stats/events", "/v1/admin/stats/history"] {
        app.visitor().get(path).await.problem(401, "api_key_required");
        let tenant = Operator::new(app.url(), site.key());
        tenant.get(path).await.problem(403, "api_key_scope");
        let stranger = Operator::new(app.url(), "jari_000000000000_00");
        stranger.get(path).await.problem(401, "api_key_invalid");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_stream_ends_with_its_key() {
    let app = TestApp::start().await;
    let body = json!({"name": "for a day", "scope": "admin"});
    let made = app.operator().post("/v1/admin/keys", &body).await.expect(201);
    let made: jari_api::admin::ApiKeyCreated = made.json();
    let mut live = Operator::new(app.url(), &made.key).watch().await;
    live.next_of("stats").await;
    app.operator().delete(&format!("/v1/admin/keys/{}", made.id)).await.expect(204);
    let ended = async { while live.next().await.is_some() {} };
    tokio::time::timeout(std::time::Duration::from_secs(10), ended).await.expect("within seconds");
    app.stop().await;
}

#[tokio::test]
async fn so_many_may_watch_and_a_seat_that_is_left_is_free() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let mut seats = Vec::new();
    for _ in 0..OPERATORS_MAX {
        seats.push(operator.watch().await);
    }
    let refused = operator.get("/v1/admin/stats/events").await;
    let problem = refused.problem(503, "stream_refused");
    assert!(problem.fields["poll_after_ms"].as_u64().is_some_and(|after| after >= 1_000));
    let full = |frame: &LiveFrame| frame.operators == OPERATORS_MAX as u64;
    seats[0].until("stats", full).await;
    drop(seats.pop());
    let freed = |frame: &LiveFrame| frame.operators < OPERATORS_MAX as u64;
    seats[0].until("stats", freed).await;
    let _free = operator.watch().await;
    app.stop().await;
}

#[tokio::test]
async fn a_server_that_goes_away_says_so_and_counts_anew_when_it_is_back() {
    let app = TestApp::start().await;
    app.create_room(|_| {}).await;
    let mut live = app.operator().watch().await;
    let first: LiveFrame = live.until("stats", |_| true).await;
    let (app, told) = tokio::join!(app.restart(), live.next_of("reconnect"));
    assert!(told.json()["after_ms"].as_u64().is_some_and(|after| after < 5_000), "{told:?}");
    assert_eq!(live.next().await, None);
    let again: LiveFrame = app.operator().watch().await.until("stats", |_| true).await;
    assert!(again.counting_since > first.counting_since);
    app.stop().await;
}

#[tokio::test]
async fn the_past_holds_what_happened_and_refusals_are_told_by_code() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let id = app.create_room(|room| room.settings.rate_per_s = 100.0).await;
    let people: Vec<_> = (0..3).map(|_| app.visitor()).collect();
    for visitor in &people {
        visitor.wait_in(&id).await;
    }
    eventually("all are admitted and told so", async || {
        let past = operator.past(&id).await?;
        (past.admitted.iter().sum::<u32>() == 3).then_some(())
    })
    .await;
    for visitor in &people {
        visitor.poll(&id).await.expect(200);
        visitor.gate(&id).await.expect(204);
        visitor.leave(&id).await.expect(204);
    }
    operator.steer(&id, "close", json!({})).await.expect(200);
    let late = app.visitor();
    late.identify().await;
    late.join(&id).await.problem(410, "room_closed");
    late.gate(&id).await.problem(428, "pass_required");
    // An operator's own mistakes are nobody's refusal.
    operator.steer(&id, "block", json!({"subjects": []})).await.problem(422, "invalid_field");

    let mut live = operator.watch().await;
    let refused = |frame: &LiveFrame| {
        room(frame, &id).is_some_and(|room| room.refused.contains_key("pass_required"))
    };
    let frame = live.until("stats", refused).await;
    let told = &room(&frame, &id).expect("just seen").refused;
    let want = [("pass_required".to_owned(), 1), ("room_closed".to_owned(), 1)];
    assert_eq!(told.clone().into_iter().collect::<Vec<_>>(), want);
    let past = eventually("the past has the end of it", async || {
        let past = operator.past(&id).await?;
        (past.refused.iter().sum::<u32>() == 1).then_some(past)
    })
    .await;
    let sum = |column: &[u32]| column.iter().sum::<u32>();
    assert_eq!(
        (sum(&past.joined), sum(&past.claimed), sum(&past.dwells), sum(&past.no_shows)),
        (3, 3, 3, 0)
    );
    assert_eq!(past.live.last(), Some(&0));
    assert!(past.second.is_sorted() && past.second.len() == past.dwell_ms.len());
    app.stop().await;
}

#[tokio::test]
async fn steps_of_the_past_are_bounded_and_unknown_rooms_told() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let id = app.create_room(|_| {}).await;
    let path = |query: &str| format!("/v1/admin/stats/history{query}");
    for bad in ["?step_s=1", "?step_s=61", "?room=room&step_s=0"] {
        operator.get(&path(bad)).await.problem(422, "invalid_field");
    }
    operator.get(&path("?room=nowhere")).await.problem(404, "unknown_room");
    operator.get(&path("?rooms=a")).await.problem(400, "bad_request");
    eventually("the room was looked at", async || {
        let told: serde_json::Value = operator.get(&path("")).await.expect(200).json();
        (told["step_s"] == 15 && told["rooms"][0]["room"] == json!(id)).then_some(())
    })
    .await;
    app.stop().await;
}
