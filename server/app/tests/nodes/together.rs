//! What one node changes, the other serves: rooms, groups, API keys, signing keys.

use std::time::Duration;

use jari::SystemClock;
use jari_pass::{KeyRing, RingKey, VisitorToken};
use jari_ports::{AuditEntry, Clock, Control, SigningKey, SigningKeyState};
use jari_records::Records;
use jari_testkit::{Integrator, Operator, TestApp, Visitor, eventually};
use serde_json::{Value, json};

use crate::{node, pair, server, whole};

async fn shown(node: &TestApp, room: &str) -> u16 {
    node.visitor().get(&format!("/v1/rooms/{room}")).await.status.as_u16()
}

#[tokio::test]
async fn issue_4_a_room_of_one_node_is_served_changed_and_gone_on_the_other() {
    let (_server, database) = server();
    let (first, second) = pair(&database).await;
    let id = first.create_room(|room| room.identity = jari_api::Identity::Entry).await;
    eventually("the room is there", async || (shown(&second, &id).await == 200).then_some(()))
        .await;
    whole(&second, &second.operator(), &id).await;
    // An entry token of one node opens a place on the other: they have the same keys.
    let entry = first.integrator().await.entry(&id, "somebody").await;
    let visitor = second.visitor();
    visitor.join_with(&id, &entry).await.expect(201);

    first.operator().set(&id, json!({"rate_per_s": 3})).await;
    eventually("the other line has the new rate", async || {
        let rate = second.operator().stats(&id).await.rate_per_s;
        ((rate - 3.0).abs() < 0.1).then_some(())
    })
    .await;

    let mut stream = visitor.events(&id).await;
    first.operator().delete(&format!("/v1/admin/rooms/{id}")).await.expect(204);
    eventually("the room is gone", async || (shown(&second, &id).await == 404).then_some(())).await;
    while stream.next().await.is_some() {}
    second.operator().get(&format!("/v1/admin/rooms/{id}")).await.problem(404, "unknown_room");

    // Made again on the node that did not delete it.
    second.create_room(|room| room.identity = jari_api::Identity::Anonymous).await;
    eventually("the new room is there", async || (shown(&first, &id).await == 200).then_some(()))
        .await;
    let made: Value = first.operator().get(&format!("/v1/admin/rooms/{id}")).await.json();
    assert_eq!((&made["identity"], &made["version"]), (&json!("anonymous"), &json!(1)));
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn issue_4_a_key_of_one_node_opens_the_other_until_it_is_revoked_there() {
    let (_server, database) = server();
    let (first, second) = pair(&database).await;
    let id = first.create_room(|room| room.identity = jari_api::Identity::Entry).await;
    let site = first.integrator().await;
    let there = Integrator::new(second.url(), site.key());
    let path = format!("/v1/rooms/{id}/entries");
    let ask =
        async |site: &Integrator| site.post(&path, &json!({"subject": "a"})).await.status.as_u16();
    eventually("the other node takes the key", async || (ask(&there).await == 201).then_some(()))
        .await;
    let key_id = site.key().split('_').nth(1).expect("an id");
    second.operator().delete(&format!("/v1/admin/keys/{key_id}")).await.expect(204);
    assert_eq!(ask(&there).await, 401, "where it was revoked, at once");
    eventually("the first node refuses it", async || (ask(&site).await == 401).then_some(())).await;
    first.stop().await;
    second.stop().await;
}

/// A signing key that is added in the records signs on every node soon after, and what the older one signed still opens.
#[tokio::test]
async fn issue_4_an_added_signing_key_signs_on_every_node() {
    let (_server, database) = server();
    let (first, second) = pair(&database).await;
    let id = first.create_room(|room| room.settings.capacity = 0).await;
    let older = first.visitor();
    older.wait_in(&id).await;
    let (key, secret) = (2, [7; 32]);
    let records = Records::open(&database, Duration::ZERO).await.expect("they are there");
    let (state, created_at) = (SigningKeyState::Active, SystemClock.now());
    let added = SigningKey { id: key, secret, state, created_at };
    records.add_signing_key(added, AuditEntry::default()).await.expect("a new id");
    records.close().await;
    let only = vec![RingKey { id: key, secret, signs: true }];
    let only = KeyRing::new(only, [0; 32]).expect("one signs");
    for node in [&first, &second] {
        eventually("the new key signs", async || {
            let token = node.visitor().identify().await.visitor_token;
            only.open::<VisitorToken>(&token, SystemClock.now()).ok()
        })
        .await;
    }
    older.poll(&id).await.expect(200);
    first.stop().await;
    second.stop().await;
}

/// An operator's change begins with what control holds, not with what this node has heard of.
#[tokio::test]
async fn issue_4_changes_on_two_nodes_in_turn_build_on_each_other_without_a_wait() {
    let (_server, database) = server();
    let (first, second) = pair(&database).await;
    let id = first.create_room(|_| {}).await;
    let path = format!("/v1/admin/rooms/{id}");
    let limits = json!({"capacity": 5, "rate_per_s": 100, "burst": 100});
    second.operator().set(&id, json!({"capacity": 71})).await;
    first.operator().set(&id, json!({"rate_per_s": 17})).await;
    second.operator().put("/v1/admin/groups/both", &limits).await.expect(200);
    first.operator().patch(&path, &json!({"group": "both"})).await.expect(200);
    second.operator().delete("/v1/admin/groups/both").await.problem(409, "group_in_use");
    second.operator().patch(&path, &json!({"group": null})).await.expect(200);
    second.operator().delete("/v1/admin/groups/both").await.expect(204);
    let room: Value = second.operator().get(&path).await.expect(200).json();
    assert_eq!(room["settings"]["capacity"], 71);
    assert_eq!(room["settings"]["rate_per_s"].as_f64(), Some(17.0));
    assert_eq!(room["version"], 5);
    first.stop().await;
    second.stop().await;
}

/// Of nodes that start together for the first time one makes the admin key, and all have the same signing keys.
#[tokio::test(flavor = "multi_thread")]
async fn issue_4_nodes_that_start_together_for_the_first_time_are_one_installation() {
    const NONE: &str = "jari_none";
    let (_server, database) = server();
    let start = || node(&database).admin_key(NONE).start();
    let (first, second, third) = tokio::join!(start(), start(), start());
    let nodes = [first, second, third];
    let keys: Vec<_> = nodes.iter().map(TestApp::admin_key).filter(|key| *key != NONE).collect();
    let [key] = keys[..] else { panic!("one first key: {keys:?}") };
    let operator = |node: &TestApp| Operator::new(node.url(), key);
    let room = json!({
        "room": "shop", "identity": "anonymous", "title": {"ko": "a", "en": "a"}, "target_url": "/",
    });
    for node in &nodes {
        let operator = operator(node);
        eventually("every node knows the key", async || {
            (operator.get("/v1/admin/rooms").await.status == 200).then_some(())
        })
        .await;
    }
    operator(&nodes[0]).post("/v1/admin/rooms", &room).await.expect(201);
    let identity = nodes[0].visitor().request(reqwest::Method::POST, "/v1/visitors").send().await;
    let identity = identity.expect("an answer");
    let cookie = identity.headers()["set-cookie"].to_str().expect("a text");
    let cookie = cookie.split(';').next().expect("a pair");
    for node in &nodes {
        eventually("the room is there", async || (shown(node, "shop").await == 200).then_some(()))
            .await;
        whole(node, &operator(node), "shop").await;
        let place = Visitor::new(node.url());
        let path = "/v1/rooms/shop/places";
        let joined = place.request(reqwest::Method::POST, path).header("cookie", cookie);
        assert_eq!(joined.send().await.expect("an answer").status(), 201, "who it is, is known");
    }
    for node in nodes {
        node.stop().await;
    }
}
