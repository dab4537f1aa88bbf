//! What people and operators are told while a room recovers: on a stream, on the pages, by the numbers.

use jari_line::Settings;
use jari_ports::OnStoreFailure;
use jari_testkit::{SseStream, eventually};
use reqwest::header::COOKIE;

use crate::site::{Node, ROOM, Site};

async fn text(url: url::Url) -> (u16, String) {
    let answer = reqwest::get(url).await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("a text"))
}

async fn recovering_rooms(node: &Node) -> String {
    let (status, numbers) = text(node.ops.join("metrics").expect("a path")).await;
    assert_eq!(status, 200);
    let line = numbers.lines().find(|line| line.starts_with("jari_rooms_recovering"));
    line.expect("it is always there").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_4_streams_pages_and_numbers_tell_of_a_recovery_and_the_node_stays_ready() {
    let settings = Settings { capacity: 0, ..Settings::default() };
    let site = Site::new(settings, OnStoreFailure::Wait).await;
    let node = site.node().await;
    let mut person = site.person();
    assert_eq!(person.join(&node.url).await.0, 201);
    let events = node.url.join(&format!("/v1/rooms/{ROOM}/events")).expect("a path");
    let request = person.client.get(events).header(COOKIE, person.all_cookies());
    let mut stream = SseStream::open(request).await;
    assert_eq!(recovering_rooms(&node).await, "jari_rooms_recovering 0");

    site.store.fall_back();
    site.noticed_by(&node).await;
    loop {
        let event = stream.next().await.expect("the stream goes on");
        if event.event == "line" && event.json()["state"] == "recovering" {
            break;
        }
    }
    assert_eq!(recovering_rooms(&node).await, "jari_rooms_recovering 1");
    assert_eq!(text(node.ops.join("readyz").expect("a path")).await.0, 200, "it can serve");
    let plain = node.url.join(&format!("/rooms/{ROOM}/plain")).expect("a path");
    let page = person.client.get(plain).header(COOKIE, person.all_cookies());
    let page = page.header("accept-language", "en").send().await.expect("a page");
    let page = page.text().await.expect("a text");
    assert!(page.contains("We are putting the line in order again"), "{page}");
    assert!(page.contains("Your place is kept"), "{page}");

    site.recovered().await;
    eventually("the numbers say that it is over", async || {
        (recovering_rooms(&node).await == "jari_rooms_recovering 0").then_some(())
    })
    .await;
}
