//! Two operators on two nodes at the same moment: no update is lost, and control, both memories and both lines agree when
//! it is over.

use jari_testkit::{Operator, TestApp, eventually};
use serde_json::{Value, json};

use crate::{pair, server};

const ROUNDS: u64 = 15;

/// Raises a setting by one, as one who reads, thinks and writes with the version that was read; again where another came
/// first. Gives how often another did.
async fn raise(operator: &Operator, path: &str, setting: &str) -> u64 {
    let mut refused = 0;
    loop {
        let room: Value = operator.get(path).await.expect(200).json();
        let next = room["settings"][setting].as_f64().expect("a number") as u64 + 1;
        let patch = operator.request(reqwest::Method::PATCH, path);
        let patch = patch.header("if-match", room["version"].to_string());
        let answer = patch.json(&json!({"settings": {setting: next}})).send().await;
        match answer.expect("an answer").status().as_u16() {
            200 => return refused,
            409 | 412 => refused += 1,
            other => panic!("{other}"),
        }
    }
}

async fn raise_often(node: &TestApp, path: &str) -> u64 {
    let operator = node.operator();
    let mut refused = 0;
    for _ in 0..ROUNDS {
        refused += raise(&operator, path, "capacity").await;
        refused += raise(&operator, path, "rate_per_s").await;
    }
    refused
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_two_operators_at_once_lose_no_update() {
    let (_server, database) = server();
    let (first, second) = pair(&database).await;
    let id = first
        .create_room(|room| {
            room.settings.capacity = 100;
            room.settings.rate_per_s = 100.0;
        })
        .await;
    let path = format!("/v1/admin/rooms/{id}");
    eventually("both nodes know the room", async || {
        (second.operator().get(&path).await.status == 200).then_some(())
    })
    .await;
    let (a, b) = tokio::join!(raise_often(&first, &path), raise_often(&second, &path));
    println!("{} of {} tries came second and were told so", a + b, a + b + 4 * ROUNDS);

    let want = (100 + 2 * ROUNDS) as f64;
    for node in [&first, &second] {
        eventually("memory and line have every update", async || {
            let room: Value = node.operator().get(&path).await.expect(200).json();
            let settings = &room["settings"];
            let numbers = ["capacity", "rate_per_s"].map(|name| settings[name].as_f64());
            let rate = node.operator().stats(&id).await.rate_per_s;
            let line = (rate - want).abs() < 0.1;
            let versions = room["version"] == json!(1 + 4 * ROUNDS);
            (numbers == [Some(want); 2] && line && versions).then_some(())
        })
        .await;
    }
    // Each update that was acknowledged has its entry, and nothing else has.
    let trail = format!("/v1/admin/audit?limit=200&target=room:{id}");
    let trail: Value = first.operator().get(&trail).await.expect(200).json();
    let entries = trail["entries"].as_array().expect("a list");
    assert_eq!(entries.len() as u64, 1 + 4 * ROUNDS);
    first.stop().await;
    second.stop().await;
}
