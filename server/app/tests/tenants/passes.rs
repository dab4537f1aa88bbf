//! Verify, touch, extend and end: what a site does for those who are inside, and nothing for anybody else's.

use jari_api::VerifiedPass;
use jari_testkit::{TestApp, eventually};
use jari_units::Millis;
use serde_json::{Value, json};

use crate::{admitted, handing_over, landed, leave_for_the_site, polled, reason, rival, verify};

#[tokio::test]
async fn issue_5_a_pass_is_touched_extended_and_ended_by_its_handle() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, pass) = landed(&app, &site, &room).await;
    assert_eq!((pass.room.as_str(), pass.seq), (room.as_str(), 1));
    let gate = visitor.gate(&room).await.expect(204);
    assert_eq!(gate.header("jari-subject"), Some(pass.subject.as_str()), "one name everywhere");

    let unknown = "nowhere.1.2.1";
    let body = json!({"passes": [pass.pass, unknown, "nonsense"]});
    let told: Value = site.post("/v1/passes/touch", &body).await.expect(200).json();
    let statuses: Vec<_> =
        told["passes"].as_array().expect("a list").iter().map(|it| &it["status"]).collect();
    assert_eq!(statuses, ["live", "unknown", "unknown"], "{told}");
    assert_eq!(told["passes"][0]["pass"], pass.pass);
    assert!(told["passes"][0]["remaining_ms"].as_u64() > Some(590_000), "{told}");

    let paying = json!({"pass": pass.pass, "span_ms": 900_000});
    let told: Value = site.post("/v1/passes/extend", &paying).await.expect(200).json();
    assert_eq!(told["extended"], true);
    assert!(told["remaining_ms"].as_u64() > Some(890_000), "{told}");

    let body = json!({"passes": [pass.pass, pass.pass, unknown]});
    let told: Value = site.post("/v1/passes/end", &body).await.expect(200).json();
    let ends = |told: &Value| -> Vec<Value> {
        told["passes"].as_array().expect("a list").iter().map(|it| it["status"].clone()).collect()
    };
    assert_eq!(ends(&told), ["ended", "ended", "unknown"]);
    let again: Value = site.post("/v1/passes/end", &body).await.expect(200).json();
    assert_eq!(ends(&again), ["ended", "ended", "unknown"], "it is idempotent");
    assert_eq!(reason(&visitor.gate(&room).await), "ended");
    assert_eq!(reason(&site.post("/v1/passes/extend", &paying).await), "ended");
    let told: Value = site.post("/v1/passes/touch", &body).await.expect(200).json();
    assert_eq!(ends(&told), ["ended", "ended", "unknown"]);
    assert_eq!(app.operator().stats(&room).await.live, 0);
    app.stop().await;
}

/// An app without a browser holds the pass token itself; its site checks it, as often as it is good.
#[tokio::test]
async fn issue_5_a_pass_token_is_verified_as_often_as_it_is_good() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let visitor = app.visitor();
    let token = admitted(&visitor, &room).await.pass.expect("a pass").token;
    let body = json!({"token": token, "room": room});
    let first: VerifiedPass = site.post("/v1/passes/verify", &body).await.expect(200).json();
    let again: VerifiedPass = site.post("/v1/passes/verify", &body).await.expect(200).json();
    assert_eq!(first.pass, again.pass);
    assert_eq!(app.operator().stats(&room).await.claimed, 1, "the first use claims it");
    // It names the pass in the other calls too.
    let told: Value =
        site.post("/v1/passes/touch", &json!({"passes": [token]})).await.expect(200).json();
    assert_eq!(told["passes"][0]["status"], "live");
    site.post("/v1/passes/end", &json!({"passes": [token]})).await.expect(200);
    assert_eq!(reason(&site.post("/v1/passes/verify", &body).await), "ended");
    app.stop().await;
}

/// In an address it would be good for whoever the address is handed to, as often as they like.
#[tokio::test]
async fn issue_5_a_pass_token_is_no_landing_where_tokens_are_handed_over() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let visitor = app.visitor();
    let token = admitted(&visitor, &room).await.pass.expect("a pass").token;
    for nonce in ["landing-1", "landing-1", "landing-2", "", "a"] {
        assert_eq!(reason(&verify(&site, &token, nonce).await), "wrong_kind", "{nonce:?}");
    }
    assert_eq!(app.operator().stats(&room).await.claimed, 0, "it was no use");
    let refused = verify(&site, &token, "landing-1").await.problem(428, "pass_required");
    assert!(refused.detail.contains("without a nonce"), "{refused:?}");
    // To others it is no more known than before.
    let (_, theirs) = rival(&app, "theirs").await;
    verify(&theirs, &token, "landing-1").await.problem(404, "unknown_pass");
    // The way that is meant for browsers leads in, and the handle of it is good for all that follows.
    let one_time = leave_for_the_site(&visitor, &room).await;
    let pass: VerifiedPass = verify(&site, &one_time, "landing-1").await.expect(200).json();
    let touched: Value =
        site.post("/v1/passes/touch", &json!({"passes": [pass.pass]})).await.expect(200).json();
    assert_eq!(touched["passes"][0]["status"], "live");
    let paying = json!({"pass": pass.pass, "span_ms": 60_000});
    site.post("/v1/passes/extend", &paying).await.expect(200);
    site.post("/v1/passes/end", &json!({"passes": [pass.pass]})).await.expect(200);
    // Where nothing is handed over there is no landing, and a nonce does no harm.
    let open = app
        .create_room(|room| {
            room.room = "open".to_owned();
            room.settings.rate_per_s = 1_000.0;
        })
        .await;
    let token = admitted(&app.visitor(), &open).await.pass.expect("a pass").token;
    verify(&site, &token, "landing-1").await.expect(200);
    app.stop().await;
}

/// Touches are what keeps people inside: 21 s, of a pass that lasts ten.
#[tokio::test]
async fn issue_5_touches_in_batches_keep_passes_alive_and_silence_ends_them() {
    let app = TestApp::start().await;
    let room = app
        .create_room(|room| {
            handing_over(room);
            room.settings.pass_ttl_ms = 10_000;
            room.settings.claim_window_ms = 10_000;
        })
        .await;
    let site = app.integrator().await;
    let mut passes = Vec::new();
    for _ in 0..3 {
        passes.push(landed(&app, &site, &room).await.1.pass);
    }
    let (kept, left) = passes.split_at(2);
    for _ in 0..7 {
        app.clock().advance(Millis(3_000));
        let now = app.operator().stats(&room).await.now;
        eventually("the room ticked", async || {
            (app.operator().stats(&room).await.now > now).then_some(())
        })
        .await;
        let body = json!({"passes": kept});
        let told: Value = site.post("/v1/passes/touch", &body).await.expect(200).json();
        for pass in told["passes"].as_array().expect("a list") {
            assert_eq!(pass["status"], "live", "{told}");
        }
    }
    let told: Value =
        site.post("/v1/passes/touch", &json!({"passes": left})).await.expect(200).json();
    assert_eq!(told["passes"][0]["status"], "ended", "{told}");
    app.stop().await;
}

#[tokio::test]
async fn issue_5_another_tenants_passes_are_as_unknown_as_none() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (their_room, theirs) = rival(&app, "rival").await;
    let (visitor, pass) = landed(&app, &site, &room).await;
    let token = polled(&visitor, &room).await.pass.expect("a pass").token;
    let nowhere = pass.pass.replace(&room, "nowhere");
    for name in [pass.pass.as_str(), nowhere.as_str(), token.as_str()] {
        let body = json!({"passes": [name]});
        for call in ["touch", "end"] {
            let told: Value =
                theirs.post(&format!("/v1/passes/{call}"), &body).await.expect(200).json();
            assert_eq!(told, json!({"passes": [{"pass": name, "status": "unknown"}]}));
        }
        let paying = json!({"pass": name, "span_ms": 1_000});
        let refused = theirs.post("/v1/passes/extend", &paying).await;
        let problem = refused.problem(404, "unknown_pass");
        assert!(problem.fields.is_empty() && problem.detail.is_empty(), "{}", refused.text());
    }
    let refused = theirs.post("/v1/passes/verify", &json!({"token": token})).await;
    refused.problem(404, "unknown_pass");
    let body = json!({"token": token, "room": room});
    theirs.post("/v1/passes/verify", &body).await.problem(403, "api_key_scope");
    visitor.gate(&room).await.expect(204);
    assert_eq!(app.operator().stats(&room).await.live, 1, "nothing was ended");
    // An operator's key acts for every tenant; the tenant's own for itself.
    let (_, pass) = landed(&app, &theirs, &their_room).await;
    let body = json!({"passes": [pass.pass]});
    let told: Value = app.operator().post("/v1/passes/touch", &body).await.expect(200).json();
    assert_eq!(told["passes"][0]["status"], "live");
    app.stop().await;
}

#[tokio::test]
async fn issue_5_calls_on_passes_are_held_to_their_bounds() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (_, pass) = landed(&app, &site, &room).await;
    let many: Vec<String> = (0..501).map(|seq| format!("{room}.1.{seq}.1")).collect();
    for (path, body, field) in [
        ("touch", json!({"passes": []}), "passes"),
        ("touch", json!({"passes": many}), "passes"),
        ("end", json!({"passes": many}), "passes"),
        ("extend", json!({"pass": pass.pass, "span_ms": 0}), "span_ms"),
        ("extend", json!({"pass": pass.pass, "span_ms": 900_001}), "span_ms"),
    ] {
        let problem = site.post(&format!("/v1/passes/{path}"), &body).await;
        assert_eq!(problem.problem(422, "invalid_field").fields["field"], field, "{path}");
    }
    let all: Value =
        site.post("/v1/passes/touch", &json!({"passes": many[..500]})).await.expect(200).json();
    assert_eq!(all["passes"].as_array().map(Vec::len), Some(500));
    for (path, body) in
        [("touch", json!({"passes": [pass.pass]})), ("verify", json!({"token": "x"}))]
    {
        let path = format!("/v1/passes/{path}");
        let client = reqwest::Client::new();
        let url = app.url().join(&path).expect("a path");
        let answer = client.post(url).json(&body).send().await.expect("an answer");
        assert_eq!(answer.status(), 401, "{path}");
    }
    app.stop().await;
}

/// Ends are in the audit trail, by handle and never by token; looks and touches are counted and not in it.
#[tokio::test]
async fn issue_5_ends_and_orders_of_a_tenant_are_in_the_trail_and_looks_are_counted() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, pass) = landed(&app, &site, &room).await;
    let token = polled(&visitor, &room).await.pass.expect("a pass").token;
    let body = json!({"passes": [token]});
    site.post("/v1/passes/touch", &body).await.expect(200);
    site.post("/v1/passes/end", &body).await.expect(200);
    let orders =
        [("announce", json!({"text": "Almost there."})), ("sold-out", json!({"sold_out": true}))];
    for (order, body) in &orders {
        let path = format!("/v1/rooms/{room}/{order}");
        let told: Value = site.post(&path, body).await.expect(200).json();
        assert_eq!(told["changed"], true, "{order}");
        let told: Value = site.post(&path, body).await.expect(200).json();
        assert_eq!(told["changed"], false, "{order} again");
    }
    let view: Value = app.visitor().get(&format!("/v1/rooms/{room}")).await.expect(200).json();
    assert_eq!(view["line"]["state"], "sold_out", "{view}");
    let trail: Value =
        app.operator().get(&format!("/v1/admin/audit?target=room:{room}")).await.expect(200).json();
    let entries = trail["entries"].as_array().expect("a list");
    let actions: Vec<_> = entries.iter().rev().map(|it| it["action"].as_str().unwrap()).collect();
    let want = [
        "room.create",
        "pass.end",
        "room.announce",
        "room.announce",
        "room.sold-out",
        "room.sold-out",
    ];
    assert_eq!(actions, want);
    let ended = &entries[entries.len() - 2];
    assert_eq!(ended["after"], json!({"passes": [pass.pass]}));
    assert!(!trail.to_string().contains(&token), "no token is in the trail");
    let metrics = app.visitor().get(app.ops_url().join("/metrics").expect("a path").as_str()).await;
    for line in [
        r#"jari_site_passes_total{call="verify",outcome="live"} 1"#,
        r#"jari_site_passes_total{call="touch",outcome="live"} 1"#,
        r#"jari_site_passes_total{call="end",outcome="ended"} 1"#,
    ] {
        assert!(metrics.text().contains(line), "{line} is not in {}", metrics.text());
    }
    verify(&site, "nonsense", "a-first-look").await.problem(428, "pass_required");
    app.stop().await;
}
