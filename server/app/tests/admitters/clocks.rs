//! Nodes whose clocks are minutes off, by Debian's libfaketime: the store's clock is everybody's.

use jari_servers::fake_clock;
use jari_testkit::{ProcessBuilder, eventually};
use serde_json::json;

use crate::nodes::{Site, holds, lasting};
use crate::watch::{Watch, subject};

/// With its clock off by so much, and its sense of time gone by as ever.
fn off(node: ProcessBuilder, by: &str) -> ProcessBuilder {
    let node = node.env("LD_PRELOAD", fake_clock());
    node.env("FAKETIME", by)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
}

/// Q4, T1. One admitter is five minutes ahead, the other five behind: rooms of both admit what is allowed, and open when it
/// is time, though it is nobody's time there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_admitters_with_clocks_ten_minutes_apart_admit_and_open_by_the_stores() {
    const NAMES: [&str; 6] = ["off-1", "off-2", "off-3", "off-4", "off-5", "off-6"];
    let mut site = Site::new();
    let ahead = site.start(off(site.builder(), "+300s")).await;
    let behind = site.start(off(site.builder(), "-300s")).await;
    let pair = [&ahead, &behind];
    for node in pair {
        holds(node, 32).await;
    }
    let mut watches = Vec::new();
    for (nth, room) in NAMES.iter().enumerate() {
        site.make_room(pair[nth % 2], room, lasting(20, 5), None).await;
        let watch = Watch::begin(&site.redis.url(), room).await;
        watch.crowd(1..=40).await;
        watches.push(watch);
    }
    for node in pair {
        let answer = node.visitor().identify().await;
        assert!(!answer.visitor_token.is_empty(), "people are served there too");
    }
    open_in_time(&site, pair).await;
    for watch in &watches {
        watch.until_admitted(20).await;
    }
    // Their leases pass on as ever.
    ahead.pause().await;
    holds(&behind, 64).await;
    for watch in &watches {
        watch.goes_on(2).await;
    }
    ahead.resume().await;
    for node in pair {
        holds(node, 32).await;
    }
    for watch in &watches {
        watch.goes_on(2).await;
        watch.check().await;
        assert_eq!(watch.admitted(), 20);
    }
}

/// Rooms in which nobody is, of both nodes, open a little later by the store's clock.
async fn open_in_time(site: &Site, pair: [&jari_testkit::Process; 2]) {
    const NAMES: [&str; 4] = ["opens-1", "opens-2", "opens-3", "opens-4"];
    let seconds: u64 = site.redis.ask_list("TIME")[0].parse().expect("seconds");
    let opens_at = jari_api::Utc(jari_units::Timestamp((seconds + 4) * 1_000)).to_string();
    let mut watches = Vec::new();
    for (nth, room) in NAMES.iter().enumerate() {
        let mut settings = lasting(20, 5);
        settings["opens_at"] = json!(opens_at);
        site.make_room(pair[nth % 2], room, settings, None).await;
        watches.push(Watch::begin(&site.redis.url(), room).await);
    }
    for watch in &watches {
        eventually("it opens, and not in five minutes", async || watch.joins(subject(1)).await)
            .await;
        let opened = watch.ticks().first().expect("opening is a tick").now;
        assert!(opened.0 >= (seconds + 4) * 1_000, "{}: early, at {opened:?}", watch.room);
        watch.until_admitted(1).await;
        watch.check().await;
    }
}
