//! Streams through a real nginx (issue 3), as installations run it: `proxy_buffering off`, HTTP/1.0 and 1.1 to us.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use jari_testkit::{TestApp, eventually};
use serde_json::json;

use crate::raw_stream::Raw;
use crate::still;

/// Where Debian puts it; `cargo xtask test` installs it.
const NGINX: &str = "/usr/sbin/nginx";

/// An nginx in front of a server; ended when it is dropped.
struct Nginx {
    child: Child,
    address: SocketAddr,
}

impl Nginx {
    async fn before(app: &TestApp, version: &str) -> Nginx {
        // Another test could take the port in between; nginx would say so and this one fail, which has not been seen.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.expect("a free port");
        let folder = app.temp_dir().join(format!("nginx-{}", address.port()));
        std::fs::create_dir_all(folder.join("logs")).expect("a folder");
        let upstream = app.url();
        let upstream = upstream.as_str().trim_end_matches('/');
        let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind};"))
            .concat();
        let config = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr;\n\
             events {{ worker_connections 64; }}\n\
             http {{ access_log off; {places}\n\
             server {{ listen {address}; location / {{ proxy_pass {upstream};\n\
             proxy_http_version {version}; proxy_set_header Connection \"\";\n\
             proxy_buffering off; }} }} }}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config).expect("it can be written");
        let child = Command::new(NGINX)
            .arg("-p")
            .arg(&folder)
            .args(["-c", "nginx.conf"])
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is installed; `cargo xtask test --only tools` does it");
        let nginx = Nginx { child, address };
        let listens = async || tokio::net::TcpStream::connect(address).await.ok();
        eventually("nginx listens", listens).await;
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[tokio::test]
async fn issue_3_streams_pass_a_real_nginx() {
    let app = TestApp::start().await;
    let room = app.create_room(still).await;
    for version in ["1.0", "1.1"] {
        let nginx = Nginx::before(&app, version).await;
        let token = app.visitor().wait_in(&room).await.place_token.expect("a receipt");
        let mut raw = Raw::connect_to(nginx.address).await;
        let ask = format!(
            "GET /v1/rooms/{room}/events HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        raw.send(&ask).await;
        let head = raw.until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        raw.until("event: place\n").await;
        raw.until("event: line\n").await;
        let admit = json!({"count": 1});
        let _ = app.operator().steer(&room, "admit", admit).await.expect(200);
        raw.until("event: admitted\n").await;
    }
}
