//! What a tenant's sites rely on: its API on passes, one-time tokens, keys that are replaced, limits. And what its rivals and
//! forgers do not get.

mod forged;
mod landing;
mod limits;
mod nodes;
mod passes;
mod rotation;

use jari_api::admin::{Handover, RoomBody};
use jari_api::{PlaceStatus, PlaceView, VerifiedPass};
use jari_testkit::{Answer, Integrator, TestApp, Visitor, eventually, location};
use serde_json::{Value, json};

/// Whoever joins is admitted by the next tick, and goes to the site with a token.
fn handing_over(room: &mut RoomBody) {
    room.settings.rate_per_s = 1_000.0;
    room.handover = Handover::Token;
    room.target_url = "https://shop.example/sale".to_owned();
}

/// Somebody new, with a pass.
async fn admitted(visitor: &Visitor, room: &str) -> PlaceView {
    visitor.wait_in(room).await;
    polled(visitor, room).await
}

/// How the place of somebody stands who is admitted, or will be.
async fn polled(visitor: &Visitor, room: &str) -> PlaceView {
    eventually("the visitor is admitted", async || {
        let answer = visitor.poll(room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        (place.status == PlaceStatus::Admitted).then_some(place)
    })
    .await
}

/// A one-time token of somebody who is admitted.
async fn leave_for_the_site(visitor: &Visitor, room: &str) -> String {
    let answer = visitor.get(&format!("/rooms/{room}/go")).await.expect(303);
    let to = location(&answer);
    let token = to.query_pairs().find(|(name, _)| name == "jari_pass");
    token.unwrap_or_else(|| panic!("no token in {to}")).1.into_owned()
}

async fn a_token(app: &TestApp, room: &str) -> (Visitor, String) {
    let visitor = app.visitor();
    admitted(&visitor, room).await;
    let token = leave_for_the_site(&visitor, room).await;
    (visitor, token)
}

async fn verify(site: &Integrator, token: &str, nonce: &str) -> Answer {
    site.post("/v1/passes/verify", &json!({"token": token, "nonce": nonce})).await
}

/// A person inside, as their site knows them.
async fn landed(app: &TestApp, site: &Integrator, room: &str) -> (Visitor, VerifiedPass) {
    let (visitor, token) = a_token(app, room).await;
    let pass = verify(site, &token, "a-first-look").await.expect(200).json();
    (visitor, pass)
}

fn reason(answer: &Answer) -> Value {
    answer.problem(428, "pass_required").fields["reason"].clone()
}

/// A tenant with a room of its own, and a key of its.
async fn rival(app: &TestApp, tenant: &str) -> (String, Integrator) {
    app.create_tenant(tenant).await;
    let room = app
        .create_room(|room| {
            handing_over(room);
            room.room = format!("{tenant}-room");
            room.tenant = Some(tenant.to_owned());
        })
        .await;
    let body = json!({"name": tenant, "scope": "tenant", "tenant": tenant});
    let made: Value = app.operator().post("/v1/admin/keys", &body).await.expect(201).json();
    (room, Integrator::new(app.url(), made["key"].as_str().expect("a key")))
}
