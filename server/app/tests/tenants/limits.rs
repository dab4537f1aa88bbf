//! What a tenant may ask for in a minute: its own visitors and servers are told so, others notice nothing.

use jari_api::Identity;
use jari_api::admin::ModeName;
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

/// The gate of such a room joins people itself, and is held to what its tenant may ask for as any join.
#[tokio::test]
async fn issue_5_a_tenants_joins_are_held_to_its_limit_at_the_gate_as_well() {
    for (mode, passes_beyond) in [(ModeName::Auto, false), (ModeName::Shadow, true)] {
        let app = TestApp::start().await;
        let room = app.create_room(|room| room.settings.mode = mode).await;
        let (their_room, _) = rival(&app, "rival").await;
        app.operator().set(&their_room, json!({"mode": mode})).await;
        let limits = json!({"name": "own", "joins_per_minute": 3});
        app.operator().put("/v1/admin/tenants/default", &limits).await.expect(200);
        let known = app.visitor();
        known.gate(&room).await.expect(204);
        for _ in 0..2 {
            app.visitor().gate(&room).await.expect(204);
        }
        for _ in 0..5 {
            let answer = app.visitor().gate(&room).await;
            if passes_beyond {
                answer.expect(204);
            } else {
                // Led to the room, which says when to try again.
                answer.problem(428, "pass_required");
            }
        }
        assert_eq!(app.operator().stats(&room).await.joined_total, 3, "{mode:?}");
        let visitor = app.visitor();
        visitor.identify().await;
        visitor.join(&room).await.problem(429, "tenant_limit");
        // Who is inside joins no more, and another tenant's people come in as before.
        known.gate(&room).await.expect(204);
        for _ in 0..5 {
            app.visitor().gate(&their_room).await.expect(204);
        }
        assert_eq!(app.operator().stats(&their_room).await.joined_total, 5, "{mode:?}");
        app.stop().await;
    }
}
