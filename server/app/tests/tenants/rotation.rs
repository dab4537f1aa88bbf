//! Keys that are replaced while they are in use: API keys and the keys of tokens. Nobody is refused in the overlap, and
//! everybody after it.

use jari_api::KeySet;
use jari_testkit::{Integrator, Operator, TestApp, eventually};
use jari_units::Millis;
use serde_json::{Value, json};

use crate::{a_token, handing_over, leave_for_the_site, reason, verify};

async fn kids(app: &TestApp) -> Vec<String> {
    let keys: KeySet = app.visitor().get("/.well-known/jwks.json").await.expect(200).json();
    keys.keys.into_iter().map(|key| key.kid).collect()
}

fn kid(token: &str) -> String {
    use base64::Engine as _;
    let head = token.split('.').next().expect("a head");
    let head = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(head).expect("base64");
    let head: Value = serde_json::from_slice(&head).expect("JSON");
    head["kid"].as_str().expect("a kid").to_owned()
}

/// Moves the clock in steps that no room takes for an outage.
async fn pass_time(app: &TestApp, room: &str, span: Millis) {
    for _ in 0..span.0.div_ceil(4_000) {
        app.clock().advance(Millis(4_000));
        let now = app.operator().stats(room).await.now;
        eventually("the room ticked", async || {
            (app.operator().stats(room).await.now >= now).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn issue_5_a_new_site_key_is_shown_before_it_signs_and_the_old_one_ends_after_the_overlap() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, before) = a_token(&app, &room).await;
    let old = kid(&before);
    assert_eq!(kids(&app).await, std::slice::from_ref(&old));
    let path = "/v1/admin/tenants/default/site-keys";
    let rotate = format!("{path}/rotate");
    let told: Value =
        app.operator().post(&rotate, &json!({"overlap_ms": 120_000})).await.expect(200).json();
    let keys = told["keys"].as_array().expect("a list");
    let new = keys[1]["id"].as_str().expect("an id").to_owned();
    assert!(keys[0]["ends_at"].is_string() && keys[1].get("ends_at").is_none(), "{told}");
    assert!(!told.to_string().contains("seed"), "{told}");
    assert_eq!(kids(&app).await, [old.clone(), new.clone()], "both are shown at once");
    let during = leave_for_the_site(&visitor, &room).await;
    assert_eq!(kid(&during), old, "the new one does not sign yet");
    verify(&site, &during, "landing-01").await.expect(200);
    // Half of the overlap is over: the new one signs, what the old one signed is good.
    app.clock().advance(Millis(60_000));
    let after = leave_for_the_site(&visitor, &room).await;
    assert_eq!(kid(&after), new);
    app.clock().advance(Millis(60_000));
    assert_eq!(kids(&app).await, std::slice::from_ref(&new));
    assert_eq!(reason(&verify(&site, &before, "landing-02").await), "bad_signature");
    let listed: Value = app.operator().get(path).await.expect(200).json();
    assert_eq!(listed["keys"].as_array().map(Vec::len), Some(2), "ended ones are listed");
    app.stop().await;
}

#[tokio::test]
async fn issue_5_a_site_key_in_wrong_hands_ends_at_once() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, stolen) = a_token(&app, &room).await;
    let rotate = "/v1/admin/tenants/default/site-keys/rotate";
    app.operator().post(rotate, &json!({"overlap_ms": 0})).await.expect(200);
    assert_eq!(reason(&verify(&site, &stolen, "landing-01").await), "bad_signature");
    let fresh = leave_for_the_site(&visitor, &room).await;
    assert_eq!(kids(&app).await, [kid(&fresh)]);
    verify(&site, &fresh, "landing-02").await.expect(200);
    let trail: Value =
        app.operator().get("/v1/admin/audit?target=tenant:default").await.expect(200).json();
    let actions: Vec<_> =
        trail["entries"].as_array().expect("a list").iter().map(|it| &it["action"]).collect();
    assert_eq!(actions, ["site-key.rotate", "site-key.create"]);
    // Rotations by mistake, over and over, do not fill the key set.
    let mut made = 0;
    let refused = loop {
        let answer = app.operator().post(rotate, &json!({})).await;
        if answer.status != 200 {
            break answer;
        }
        made += 1;
        assert!(made < 50, "there is no end");
    };
    assert_eq!(refused.problem(422, "invalid_field").fields["field"], "overlap_ms");
    assert_eq!(kids(&app).await.len(), 8);
    app.operator()
        .post("/v1/admin/tenants/nobody/site-keys/rotate", &json!({}))
        .await
        .problem(404, "unknown_tenant");
    let too_long = json!({"overlap_ms": 31_u64 * 24 * 3_600_000});
    app.operator().post(rotate, &too_long).await.problem(422, "invalid_field");
    app.stop().await;
}

/// Found in wrong hands while its overlap runs: it ends, and whoever signs goes on.
#[tokio::test]
async fn issue_5_a_replaced_site_key_is_ended_before_its_overlap_is_over_and_the_one_in_use_never()
{
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let site = app.integrator().await;
    let (visitor, stolen) = a_token(&app, &room).await;
    let path = "/v1/admin/tenants/default/site-keys";
    let rotate = format!("{path}/rotate");
    let told: Value =
        app.operator().post(&rotate, &json!({"overlap_ms": 120_000})).await.expect(200).json();
    let keys = told["keys"].as_array().expect("a list");
    let id = |at: usize| keys[at]["id"].as_str().expect("an id").to_owned();
    let signs = |told: &Value| [told["keys"][0]["signs"].clone(), told["keys"][1]["signs"].clone()];
    assert_eq!(signs(&told), [json!(true), json!(false)], "the old one, until sites know the new");
    let (old, new) = (format!("{path}/{}", id(0)), format!("{path}/{}", id(1)));
    let in_use = app.operator().delete(&new).await.problem(422, "invalid_field");
    assert_eq!(in_use.fields["field"], "id");
    app.operator().delete(&format!("{path}/0000")).await.problem(404, "unknown_key");
    let elsewhere = old.replace("default", "nobody");
    app.operator().delete(&elsewhere).await.problem(404, "unknown_tenant");
    Operator::new(app.url(), site.key()).delete(&old).await.problem(403, "api_key_scope");
    verify(&site, &stolen, "landing-01").await.expect(200);
    for _ in 0..2 {
        app.operator().delete(&old).await.expect(204);
    }
    assert_eq!(kids(&app).await, [id(1)]);
    assert_eq!(reason(&verify(&site, &stolen, "landing-01").await), "bad_signature");
    let fresh = leave_for_the_site(&visitor, &room).await;
    assert_eq!(kid(&fresh), id(1), "before its time, as it is the only one");
    verify(&site, &fresh, "landing-02").await.expect(200);
    let listed: Value = app.operator().get(path).await.expect(200).json();
    assert_eq!(signs(&listed), [json!(false), json!(true)]);
    let trail: Value = app
        .operator()
        .get("/v1/admin/audit?target=tenant:default&limit=1")
        .await
        .expect(200)
        .json();
    assert_eq!(trail["entries"][0]["action"], "site-key.end");
    app.stop().await;
}

/// Both keys are good in the overlap, from the site's side; then the old one has ended by itself.
#[tokio::test]
async fn issue_5_an_api_key_is_rotated_with_an_overlap_and_the_old_one_ends_by_itself() {
    let app = TestApp::start().await;
    let room = app.create_room(handing_over).await;
    let old = app.integrator().await;
    let id = old.key().split('_').nth(1).expect("its id").to_owned();
    let rotate = format!("/v1/admin/keys/{id}/rotate");
    let made: Value =
        app.operator().post(&rotate, &json!({"overlap_ms": 60_000})).await.expect(201).json();
    let new = Integrator::new(app.url(), made["key"].as_str().expect("a key"));
    let entry = json!({"text": "hello"});
    let path = format!("/v1/rooms/{room}/announce");
    for site in [&old, &new] {
        site.post(&path, &entry).await.expect(200);
        Operator::new(app.url(), site.key())
            .get("/v1/admin/keys")
            .await
            .problem(403, "api_key_scope");
    }
    let listed: Value = app.operator().get("/v1/admin/keys").await.expect(200).json();
    let keys = listed["keys"].as_array().expect("a list");
    let find = |id: &str| keys.iter().find(|key| key["id"] == id).expect("a key");
    assert!(find(&id)["expires_at"].is_string(), "{listed}");
    let successor = find(made["id"].as_str().expect("an id"));
    assert!(successor.get("expires_at").is_none());
    for same in ["tenant", "scope", "name"] {
        assert_eq!(find(&id)[same], successor[same], "{same}");
    }
    pass_time(&app, &room, Millis(60_000)).await;
    old.post(&path, &entry).await.problem(401, "api_key_invalid");
    new.post(&path, &entry).await.expect(200);
    app.operator().post(&rotate, &json!({})).await.problem(404, "unknown_key");
    app.operator()
        .post("/v1/admin/keys/000000000000/rotate", &json!({}))
        .await
        .problem(404, "unknown_key");
    app.stop().await;
}

#[tokio::test]
async fn issue_5_rotation_is_the_operators_and_never_locks_them_out() {
    let app = TestApp::start().await;
    app.create_room(handing_over).await;
    let site = app.integrator().await;
    let own = app.admin_key().split('_').nth(1).expect("its id").to_owned();
    let tenant = Operator::new(app.url(), site.key());
    for path in [
        format!("/v1/admin/keys/{own}/rotate"),
        "/v1/admin/tenants/default/site-keys/rotate".to_owned(),
    ] {
        tenant.post(&path, &json!({})).await.problem(403, "api_key_scope");
    }
    tenant.get("/v1/admin/tenants/default/site-keys").await.problem(403, "api_key_scope");
    let rotate = format!("/v1/admin/keys/{own}/rotate");
    let at_once = app.operator().post(&rotate, &json!({"overlap_ms": 0})).await;
    assert_eq!(at_once.problem(422, "invalid_field").fields["field"], "overlap_ms");
    let made: Value = app.operator().post(&rotate, &json!({})).await.expect(201).json();
    let next = Operator::new(app.url(), made["key"].as_str().expect("a key"));
    next.get("/v1/admin/rooms").await.expect(200);
    app.operator().get("/v1/admin/rooms").await.expect(200);
    app.stop().await;
}
