//! More people than a balancer's defaults allow, and as few connections as its pool has.

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use jari_servers::BalancerKind;
use reqwest::Client;
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};

use crate::configured::NodeAddress;
use crate::house::{House, ROOM};
use crate::page::{Net, Page};

/// Above Envoy's default of 1,024 connections, and of as many requests.
const STREAMS: usize = 1_200;
const AT_ONCE: usize = 32;
/// Longer than any balancer here lets a silent stream be: they live on by what the node sends.
const QUIET: Duration = Duration::from_secs(9);
const PATIENCE: Duration = Duration::from_secs(60);

type Bytes = BoxStream<'static, String>;

async fn open(net: &Net) -> Bytes {
    let bytes = Page::join(net.clone()).await.plain_stream().await.bytes_stream().map(|chunk| {
        String::from_utf8_lossy(&chunk.expect("a stream does not break off")).into_owned()
    });
    bytes.boxed()
}

/// Reads until `word` has come; how much came.
async fn until(bytes: &mut Bytes, word: &str) -> String {
    let mut text = String::new();
    while !text.contains(word) {
        text.push_str(&bytes.next().await.expect("the stream goes on"));
    }
    text
}

/// Everybody hears at once what an operator says.
async fn announce(house: &House, streams: &mut [Bytes]) {
    let said = json!({"text": "now-everybody-hears"});
    let _ = house.operator().steer(ROOM, "announce", said).await.expect(200);
    let began = Instant::now();
    let hearing = stream::iter(streams).map(|bytes| until(bytes, "now-everybody-hears"));
    let all = hearing.buffer_unordered(STREAMS).collect::<Vec<_>>();
    let all = timeout(PATIENCE, all).await.expect("everybody hears it");
    crate::report(format_args!(
        "{} of {STREAMS} streams heard it within {:?}",
        all.len(),
        began.elapsed()
    ));
    assert_eq!(all.len(), STREAMS);
}

/// Nothing is to be told any more, as the store has gone: only that the nodes live.
async fn quiet(streams: &mut [Bytes]) {
    let quiet_until = Instant::now() + QUIET;
    let reading = stream::iter(streams).map(async |bytes| {
        let mut beats = 0;
        while let Ok(text) = timeout_at(quiet_until, bytes.next()).await {
            beats += text.expect("the stream goes on").matches(":\n\n").count();
        }
        beats
    });
    let beats: Vec<usize> = reading.buffer_unordered(STREAMS).collect().await;
    let (least, most) = (beats.iter().min(), beats.iter().max());
    crate::report(format_args!(
        "{least:?} to {most:?} comments on each stream in {QUIET:?} without the store"
    ));
    assert!(least >= Some(&1), "somebody heard nothing");
}

async fn everybody_streams(kind: BalancerKind) {
    rlimit::increase_nofile_limit(u64::MAX).expect("this process may open more files");
    let mut house = House::start(kind).await;
    let net = Net::new(house.url());
    let opening = stream::iter(0..STREAMS).map(|_| open(&net));
    let mut streams: Vec<Bytes> = opening.buffer_unordered(AT_ONCE).collect().await;
    let mut open = 0.0;
    for nth in 0..house.addresses.len() {
        open += house.metric(nth, "jari_streams").await;
    }
    assert!(open >= STREAMS as f64, "{open} streams are open");
    announce(&house, &mut streams).await;
    house.lose_store();
    quiet(&mut streams).await;
    if kind == BalancerKind::Envoy {
        let turned_away = house.balanced.envoy_stats("cluster.jari.*overflow").await;
        assert!(turned_away.contains("upstream_cx_overflow: 0"), "{turned_away}");
        assert!(turned_away.contains("upstream_rq_pending_overflow: 0"), "{turned_away}");
        let active = house.balanced.envoy_stats("cluster.jari.upstream_cx_active").await;
        let active = active.trim().rsplit(' ').next().and_then(|count| count.parse().ok());
        assert!(active.is_some_and(|active: usize| active >= STREAMS), "{active:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_envoy_more_than_1024_people_stream() {
    everybody_streams(BalancerKind::Envoy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_nginx_more_than_1024_people_stream() {
    everybody_streams(BalancerKind::Nginx).await;
}

const CALLS: usize = 10_000;
const CALLERS: usize = 64;
/// What nginx's workers keep: `keepalive 256` each, of two. Envoy keeps what was needed at once.
const POOL: usize = 2 * 256;

/// Connections to these ports: open ones, and those of the last minute that are over, which wait on the side that ended them.
fn connections_to(nodes: &[NodeAddress]) -> usize {
    /// `TIME_WAIT` in Linux's table.
    const OVER: &str = "06";
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux shows its connections");
    let ports: Vec<_> = nodes.iter().map(|node| format!(":{:04X}", node.public.port())).collect();
    let is_node = |address: &str| ports.iter().any(|port| address.ends_with(port));
    let connections = table.lines().skip(1).filter(|line| {
        let columns: Vec<&str> = line.split_whitespace().take(4).collect();
        matches!(columns[..], [_, from, to, state] if is_node(to) || state == OVER && is_node(from))
    });
    connections.count()
}

/// The lesson of the system that this one replaces: a connection for each call, and no port was left after some thousands.
async fn few_connections(kind: BalancerKind) {
    let house = House::start(kind).await;
    let before = connections_to(&house.addresses);
    let client = Client::builder().no_proxy().http1_only().build().expect("a client");
    let url = house.url().join(&format!("/v1/rooms/{ROOM}")).expect("a path");
    let began = Instant::now();
    let calls = stream::iter(0..CALLS).map(async |_| {
        let answer = client.get(url.clone()).send().await.expect("an answer");
        let status = answer.status();
        answer.bytes().await.expect("a body");
        status
    });
    let answered = calls.buffer_unordered(CALLERS);
    let good = answered.filter(|status| std::future::ready(status.is_success())).count().await;
    let took = began.elapsed();
    let after = connections_to(&house.addresses);
    crate::report(format_args!(
        "{kind:?}: {good} calls in {took:?}; {before} connections to nodes before, {after} after"
    ));
    assert_eq!(good, CALLS);
    assert!(after < POOL, "{after} connections to the nodes, with those that are over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_nginx_10000_calls_need_few_connections() {
    few_connections(BalancerKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_behind_envoy_10000_calls_need_few_connections() {
    few_connections(BalancerKind::Envoy).await;
}
