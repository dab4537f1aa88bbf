//! The balancer's outer side: TLS and HTTP/2, the way from http to https, and who a visitor is to the nodes behind.

use std::net::IpAddr;

use jari_api::VisitorCreated;
use jari_servers::BalancerKind;
use reqwest::{Client, ClientBuilder, Method, Version};

use crate::configured::NODES;
use crate::house::{House, ROOM};

fn client(from: &str) -> ClientBuilder {
    let address: IpAddr = from.parse().expect("an address");
    let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    // The certificate is the test's own.
    client.local_address(address).tls_danger_accept_invalid_certs(true)
}

async fn tls_and_redirect(house: &House) {
    let client = client("127.0.0.1").build().expect("a client");
    let page = format!("/rooms/{ROOM}");
    let https = house.balanced.https().join(&page).expect("a path");
    let answer = client.get(https).send().await.expect("an answer over TLS");
    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
    let http = house.balanced.http().join(&format!("{page}?entry=a")).expect("a path");
    let sent = client.get(http).send().await.expect("an answer");
    assert_eq!(sent.status(), 308);
    let location = sent.headers()["location"].to_str().expect("an address");
    assert!(
        location.starts_with("https://127.0.0.1") && location.ends_with("?entry=a"),
        "{location}"
    );
}

/// How many of some joins are taken from somebody who claims to be somebody else each time.
async fn joins_taken(house: &House, from: &str, joins: u8) -> usize {
    let client = client(from).build().expect("a client");
    let call = |method, path: &str| client.request(method, house.url().join(path).expect("a path"));
    let mut taken = 0;
    for nth in 0..joins {
        let visitor = call(Method::POST, "/v1/visitors").send().await.expect("an answer");
        let visitor: VisitorCreated = visitor.json().await.expect("an identity");
        let join = call(Method::POST, &format!("/v1/rooms/{ROOM}/places"));
        let join = join.bearer_auth(visitor.visitor_token);
        let join = join.header("x-forwarded-for", format!("203.0.113.{nth}"));
        let status = join.send().await.expect("an answer").status().as_u16();
        assert!(status == 201 || status == 429, "{status}");
        taken += usize::from(status == 201);
    }
    taken
}

async fn outside(kind: BalancerKind) {
    // Each node lets an address join once, and again after a minute.
    let limits =
        [("JARI__HTTP__JOIN_LIMIT_PER_MINUTE", "1"), ("JARI__HTTP__JOIN_LIMIT_BURST", "1")];
    let house = House::with(kind, false, &limits).await;
    tls_and_redirect(&house).await;
    // The balancer itself, and so whom the nodes believe, is 127.0.0.1.
    assert_eq!(joins_taken(&house, "127.0.0.2", 12).await, NODES, "one address, whatever it says");
    assert_eq!(joins_taken(&house, "127.0.0.3", 12).await, NODES, "another address is another");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_nginx_speaks_tls_and_tells_who_is_asking() {
    outside(BalancerKind::Nginx).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_4_envoy_speaks_tls_and_tells_who_is_asking() {
    outside(BalancerKind::Envoy).await;
}
