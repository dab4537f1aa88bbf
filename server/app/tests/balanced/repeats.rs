//! Which calls a balancer repeats at another node when one breaks off without an answer: those that may be done twice, and
//! none that must not. And that it asks nodes again once all of them were bad.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jari_servers::BalancerKind;
use reqwest::{Client, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::configured::{Balanced, NODES, NodeAddress};

/// What stands where a node should: it takes each call whole, counts it, and breaks off unless it is well. It is never
/// ready.
#[derive(Clone, Debug, Default)]
struct Breaking {
    calls: Arc<AtomicUsize>,
    well: Arc<AtomicBool>,
}

impl Breaking {
    async fn nodes(&self) -> [NodeAddress; NODES] {
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let address = listener.local_addr().expect("it is bound");
            nodes.push(NodeAddress { public: address, ops: address });
            tokio::spawn(self.clone().break_off(listener));
        }
        nodes.try_into().expect("as many as wanted")
    }

    async fn break_off(self, listener: TcpListener) {
        while let Ok((mut socket, _)) = listener.accept().await {
            let (mut head, mut bytes) = (Vec::new(), [0; 4_096]);
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match socket.read(&mut bytes).await {
                    Ok(0) | Err(_) => break,
                    Ok(count) => head.extend_from_slice(&bytes[..count]),
                }
            }
            // Health checks are no calls.
            let is_call = !head.is_empty() && !head.starts_with(b"GET /readyz");
            self.calls.fetch_add(usize::from(is_call), Ordering::SeqCst);
            if is_call && self.well.load(Ordering::SeqCst) {
                // Whoever does not wait for it has gone.
                let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
                _ = socket.write_all(answer).await;
            }
        }
    }
}

/// How often a call arrives at nodes of which each breaks it off.
async fn arrivals(kind: BalancerKind, method: Method, path: &str) -> usize {
    let breaking = Breaking::default();
    let balanced = Balanced::start(kind, &breaking.nodes().await);
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(60)).build();
    let client = client.expect("an HTTP client can be made");
    let url = balanced.url().join(path).expect("a path");
    let mut request = client.request(method.clone(), url);
    if matches!(method, Method::POST | Method::PATCH) {
        request = request.body("{}");
    }
    let answer = request.send().await;
    let status = answer.expect("the balancer answers").status();
    assert!(status.is_server_error(), "{method} {path}: {status}\n{}", balanced.log());
    breaking.calls.load(Ordering::SeqCst)
}

async fn table(kind: BalancerKind) {
    for (method, path) in [
        (Method::POST, "/v1/visitors"),
        (Method::POST, "/v1/rooms/shop/places"),
        (Method::POST, "/rooms/shop/plain/join"),
        (Method::GET, "/v1/rooms/shop/places/me"),
        (Method::DELETE, "/v1/rooms/shop/places/me"),
        (Method::GET, "/v1/rooms/shop/events"),
        (Method::GET, "/v1/gate/shop"),
        (Method::GET, "/rooms/shop"),
    ] {
        let count = arrivals(kind, method.clone(), path).await;
        assert!((2..=NODES).contains(&count), "{kind:?}: {method} {path} may be repeated: {count}");
    }
    for (method, path) in [
        (Method::POST, "/v1/rooms/shop/admit"),
        (Method::POST, "/v1/admin/rooms/shop/admit"),
        (Method::POST, "/v1/admin/keys"),
        (Method::PATCH, "/v1/admin/rooms/shop"),
    ] {
        let count = arrivals(kind, method.clone(), path).await;
        assert_eq!(count, 1, "{kind:?}: {method} {path} must not be repeated");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_nginx_repeats_what_may_be_done_twice_and_nothing_else() {
    table(BalancerKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_envoy_repeats_what_may_be_done_twice_and_nothing_else() {
    table(BalancerKind::Envoy).await;
}

/// All nodes were slow or away for a moment: the first that is well again serves, and nobody is told "no node" meanwhile.
async fn all_were_bad(kind: BalancerKind) {
    let breaking = Breaking::default();
    let balanced = Balanced::start(kind, &breaking.nodes().await);
    let client = Client::builder().no_proxy().timeout(Duration::from_secs(60)).build();
    let client = client.expect("an HTTP client can be made");
    let url = balanced.url().join("/v1/rooms/shop").expect("a path");
    let call = async || client.get(url.clone()).send().await.expect("an answer").status();
    for nth in 0..12 {
        let before = breaking.calls.load(Ordering::SeqCst);
        assert!(call().await.is_server_error());
        assert!(breaking.calls.load(Ordering::SeqCst) > before, "call {nth} asked no node");
    }
    breaking.well.store(true, Ordering::SeqCst);
    for _ in 0..6 {
        assert_eq!(call().await, 204, "{}", balanced.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_nginx_asks_nodes_though_all_were_bad_a_moment_ago() {
    all_were_bad(BalancerKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_envoy_asks_nodes_though_all_were_bad_a_moment_ago() {
    all_were_bad(BalancerKind::Envoy).await;
}
