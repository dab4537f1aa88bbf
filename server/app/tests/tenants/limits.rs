//! What a tenant may ask for in a minute: its own visitors and servers are told so, others notice nothing.

use jari_api::Identity;
use jari_testkit::TestApp;
use serde_json::{Value, json};

use crate::{handing_over, rival};

#[tokio::test]
async fn issue_5_a_tenants_joins_and_entries_are_held_to_its_own_limits() {
    let app = TestApp::start().await;
    let (their_room, theirs) = rival(&app, "rival").await;
    let room = app
        .create_room(|room| {
            handing_over(room);
            room.identity = Identity::Entry;
        })
        .await;
    let site = app.integrator().await;
    let limits = json!({"name": "own", "joins_per_minute": 3, "entries_per_minute": 4});
    let set: Value =
        app.operator().put("/v1/admin/tenants/default", &limits).await.expect(200).json();
    assert_eq!((&set["joins_per_minute"], &set["entries_per_minute"]), (&json!(3), &json!(4)));
    let entries = format!("/v1/rooms/{room}/entries");
    let mut tokens = Vec::new();
    for n in 0..4 {
        tokens.push(site.entry(&room, &format!("user-{n}")).await);
    }
    let refused = site.post(&entries, &json!({"subject": "user-9"})).await;
    refused.problem(429, "tenant_limit");
    let after: u64 = refused.header("retry-after").expect("when").parse().expect("seconds");
    assert!((1..=15).contains(&after), "{after} s");
    for (n, token) in tokens.iter().enumerate() {
        let answer = app.visitor().join_with(&room, token).await;
        if n < 3 {
            answer.expect(201);
        } else {
            answer.problem(429, "tenant_limit");
        }
    }
    // Another tenant's people come in as before.
    for _ in 0..10 {
        app.visitor().wait_in(&their_room).await;
    }
    theirs
        .post(&format!("/v1/rooms/{their_room}/announce"), &json!({"text": "hi"}))
        .await
        .expect(200);
    // No limit again: at once, for who was refused too.
    app.operator().put("/v1/admin/tenants/default", &json!({"name": "own"})).await.expect(200);
    site.entry(&room, "user-9").await;
    app.visitor().join_with(&room, &tokens[3]).await.expect(201);
    app.stop().await;
}
