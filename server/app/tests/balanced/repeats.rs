//! Which calls a balancer repeats at another node when one breaks off without an answer: those that may be done twice, and
//! none that must not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jari_servers::BalancerKind;
use reqwest::{Client, Method};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::configured::{Balanced, NODES, NodeAddress};

/// What stands where a node should: it takes each call whole, counts it, and breaks off.
#[derive(Clone, Debug, Default)]
struct Breaking {
    calls: Arc<AtomicUsize>,
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
