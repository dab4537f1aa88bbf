//! Streams through a real nginx (issue 3) by as little of a configuration as installations have: `proxy_buffering off`,
//! HTTP/1.0 and 1.1 to us. The configuration for several nodes, in `deploy/nginx`, has its own tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use jari_servers::{Balancer, BalancerKind, lasting_port};
use jari_testkit::TestApp;
use serde_json::json;

use crate::raw_stream::Raw;
use crate::{move_line, still};

/// An nginx in front of a server, and where it listens.
fn nginx(app: &TestApp, version: &str) -> (Balancer, SocketAddr) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, lasting_port()));
    let upstream = app.url();
    let upstream = upstream.as_str().trim_end_matches('/');
    let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {kind};"))
        .concat();
    let config = format!(
        "pid nginx.pid; error_log stderr;\n\
         events {{ worker_connections 64; }}\n\
         http {{ access_log off; {places}\n\
         server {{ listen {address}; location / {{ proxy_pass {upstream};\n\
         proxy_http_version {version}; proxy_set_header Connection \"\";\n\
         proxy_buffering off; }} }} }}\n"
    );
    let kind = BalancerKind::Nginx;
    let write = |folder: &Path| {
        std::fs::write(folder.join(kind.main_file()), config).expect("it can be written");
    };
    (Balancer::start(kind, address.port(), write), address)
}

#[tokio::test]
async fn issue_3_streams_pass_a_real_nginx() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    for version in ["1.0", "1.1"] {
        let (_nginx, address) = nginx(&app, version);
        let token = app.visitor().wait_in(&room).await.place_token.expect("a receipt");
        let mut raw = Raw::connect_to(address).await;
        let ask = format!(
            "GET /v1/rooms/{room}/events HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        raw.send(&ask).await;
        let head = raw.until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        raw.until("event: place\n").await;
        move_line(&app, &room).await;
        raw.until("event: line\n").await;
        let admit = json!({"count": 1});
        let _ = app.operator().steer(&room, "admit", admit).await.expect(200);
        raw.until("event: admitted\n").await;
    }
}
