//! Limit groups: set, listed with their rooms, and not deleted under a room.

use jari_testkit::{TestApp, eventually};
use serde_json::{Value, json};

#[tokio::test]
async fn a_group_is_set_used_and_deleted_when_nobody_is_in_it() {
    let app = TestApp::start().await;
    let operator = app.operator();
    let limits = json!({"capacity": 10, "rate_per_s": 2.5, "burst": 3});
    let made: Value = operator.put("/v1/admin/groups/checkout", &limits).await.expect(200).json();
    assert_eq!((&made["rate_per_s"], &made["version"]), (&json!(2.5), &json!(1)));
    let id = app.create_room(|room| room.group = Some("checkout".to_owned())).await;
    let read: Value = operator.get("/v1/admin/groups/checkout").await.expect(200).json();
    assert_eq!(read["rooms"], json!([id]));
    operator.delete("/v1/admin/groups/checkout").await.problem(409, "group_in_use");

    let patch = json!({"group": null});
    operator.patch(&format!("/v1/admin/rooms/{id}"), &patch).await.expect(200);
    operator.delete("/v1/admin/groups/checkout").await.expect(204);
    operator.get("/v1/admin/groups/checkout").await.problem(404, "unknown_group");
    operator
        .put("/v1/admin/groups/a", &json!({"capacity": 1, "rate_per_s": 1, "burst": 0}))
        .await
        .problem(422, "invalid_field");
    app.stop().await;
}

#[tokio::test]
async fn rooms_of_a_group_share_its_capacity() {
    let app = TestApp::start().await;
    let limits = json!({"capacity": 3, "rate_per_s": 100, "burst": 100});
    app.operator().put("/v1/admin/groups/both", &limits).await.expect(200);
    for id in ["a", "b"] {
        app.create_room(|room| {
            room.room = id.to_owned();
            room.group = Some("both".to_owned());
        })
        .await;
    }
    let mut people = Vec::new();
    for n in 0..8 {
        let visitor = app.visitor();
        visitor.wait_in(if n % 2 == 0 { "a" } else { "b" }).await;
        people.push(visitor);
    }
    let live = async || {
        let (a, b) = (app.operator().stats("a").await, app.operator().stats("b").await);
        a.live + b.live
    };
    eventually("the group is full", async || (live().await == 3).then_some(())).await;
    // Two more ticks of each room would let more in, were the capacity not shared.
    let ticked = app.operator().stats("a").await.now;
    eventually("two more ticks", async || {
        let now = app.operator().stats("a").await.now;
        assert!(live().await <= 3, "both rooms together stay within the group's capacity");
        (now.0.since(ticked.0).0 >= 2_000).then_some(())
    })
    .await;
    app.stop().await;
}

/// Q6 over rooms: a room that everybody has left keeps nothing of the group's capacity.
#[tokio::test]
async fn what_an_empty_room_was_lent_comes_back() {
    let app = TestApp::start().await;
    let limits = json!({"capacity": 3, "rate_per_s": 100, "burst": 100});
    app.operator().put("/v1/admin/groups/both", &limits).await.expect(200);
    for id in ["a", "b"] {
        app.create_room(|room| {
            room.room = id.to_owned();
            room.group = Some("both".to_owned());
        })
        .await;
    }
    let wait_in = async |id: &str| {
        let visitor = app.visitor();
        visitor.wait_in(id).await;
        visitor
    };
    let inside = [wait_in("a").await, wait_in("a").await, wait_in("a").await];
    let live = async |id: &str| app.operator().stats(id).await.live;
    eventually("a has all", async || (live("a").await == 3).then_some(())).await;
    for visitor in &inside {
        visitor.leave("a").await.expect(204);
    }
    let _next = [wait_in("b").await, wait_in("b").await, wait_in("b").await];
    eventually("b has all", async || (live("b").await == 3).then_some(())).await;
    app.stop().await;
}
