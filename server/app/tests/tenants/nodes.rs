//! Two nodes on one Redis and the same records: a token is made at one and shown at the other, and lands once.

use jari_api::VerifiedPass;
use jari_servers::{Kind, Server};
use jari_testkit::{Integrator, TestApp, eventually};
use serde_json::{Value, json};

use crate::{a_token, handing_over, leave_for_the_site, reason, verify};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_5_a_token_lands_once_whichever_node_it_is_shown_to() {
    let redis = Server::start(Kind::Redis);
    let one = TestApp::builder().set("store.url", redis.url()).start().await;
    let room = one.create_room(handing_over).await;
    let site = one.integrator().await;
    let two = one.try_second().await.expect("a second node starts beside the first");
    let there = Integrator::new(two.url(), site.key());
    let (visitor, token) = a_token(&one, &room).await;
    // A node whose clock is five minutes off agrees: the line's own clock counts (A4).
    two.clock().step(5 * 60_000);
    let landed: VerifiedPass = verify(&there, &token, "landing-01").await.expect(200).json();
    assert_eq!(reason(&verify(&site, &token, "landing-02").await), "used");
    verify(&site, &token, "landing-01").await.expect(200);
    two.clock().step(-5 * 60_000);
    // The next token comes from the other node.
    let elsewhere = visitor.sent_to(two.url());
    let second = leave_for_the_site(&elsewhere, &room).await;
    verify(&site, &second, "landing-03").await.expect(200);
    for (node, nonce) in [(&site, "landing-04"), (&there, "landing-05")] {
        assert_eq!(reason(&verify(node, &second, nonce).await), "used");
    }
    let body = json!({"passes": [landed.pass]});
    let told: Value = there.post("/v1/passes/touch", &body).await.expect(200).json();
    assert_eq!(told["passes"][0]["status"], "live");
    // A key that was rotated at one node signs at the other within a breath.
    let rotate = "/v1/admin/tenants/default/site-keys/rotate";
    one.operator().post(rotate, &json!({"overlap_ms": 0})).await.expect(200);
    eventually("the other node knows the new key", async || {
        let third = leave_for_the_site(&elsewhere, &room).await;
        (verify(&site, &third, "landing-06").await.status == 200).then_some(())
    })
    .await;
    let told: Value = site.post("/v1/passes/end", &body).await.expect(200).json();
    assert_eq!(told["passes"][0]["status"], "ended");
    one.stop().await;
    two.stop().await;
}
