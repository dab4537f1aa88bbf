//! WebSockets over HTTP/2 (RFC 8441), as browsers ask for them over TLS; to the site they are as over HTTP/1.1.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use hyper::ext::Protocol;
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use jari_testkit::{FakeSite, TestApp, Visitor};
use reqwest::Certificate;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::certificates::Authority;
use crate::switching::{LONG, echoes_much};
use crate::{admitted, ask};

/// A protected site on a listener with TLS, and one connection to it by HTTP/2.
struct Stage {
    site: FakeSite,
    app: TestApp,
    visitor: Visitor,
    connection: SendRequest<Empty<Bytes>>,
}

async fn stage() -> Stage {
    let authority = Authority::new();
    let signed = authority.sign("IP:127.0.0.1");
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.tls_cert", signed.cert.display())
        .set("protect.tls_key", signed.key.display())
        .start()
        .await;
    let trusted = Certificate::from_pem(&authority.pem()).expect("a certificate");
    let client = reqwest::Client::builder().tls_certs_only([trusted]).cookie_store(true);
    let mut url = app.site_url();
    url.set_scheme("https").expect("both are of the web");
    let visitor = Visitor::with(client.build().expect("a client"), url);
    let connection = connected(&app, &authority).await;
    Stage { site, app, visitor, connection }
}

async fn connected(app: &TestApp, authority: &Authority) -> SendRequest<Empty<Bytes>> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der()).expect("an authority");
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("there are some")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let addr = app.site_url().socket_addrs(|| None).expect("an address")[0];
    let tcp = TcpStream::connect(addr).await.expect("it listens");
    let name = ServerName::from(addr.ip());
    let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.expect("it is trusted");
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(tls));
    let (mut connection, driver) = shaken.await.expect("HTTP/2 is spoken");
    tokio::spawn(driver);
    // What the server takes is known once it has said something.
    let about = Request::get("https://127.0.0.1/about").body(Empty::new()).expect("a request");
    let answer = connection.send_request(about).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    connection
}

impl Stage {
    async fn connect(
        &mut self,
        path: &str,
        protocol: Option<&'static str>,
        pass: Option<&str>,
    ) -> Response<Incoming> {
        let uri = match protocol {
            Some(_) => format!("https://127.0.0.1{path}"),
            None => "10.0.0.1:22".to_owned(),
        };
        let mut request = Request::builder().method(Method::CONNECT).uri(uri);
        request = request.header("sec-websocket-version", "13");
        if let Some(protocol) = protocol {
            request = request.extension(Protocol::from_static(protocol));
        }
        if let Some(pass) = pass {
            request = request.header("cookie", format!("__Host-jari_pass_site={pass}"));
        }
        let request = request.body(Empty::new()).expect("a request");
        self.connection.send_request(request).await.expect("an answer")
    }

    async fn tunnel(&mut self, pass: &str) -> TokioIo<Upgraded> {
        let answer = self.connect("/tickets/socket", Some("websocket"), Some(pass)).await;
        assert_eq!(answer.status(), 200);
        for gone in ["connection", "upgrade", "sec-websocket-accept"] {
            assert!(!answer.headers().contains_key(gone), "{answer:?}");
        }
        TokioIo::new(hyper::upgrade::on(answer).await.expect("a tunnel"))
    }
}

#[tokio::test]
async fn issue_5_a_websocket_over_http2_echoes_through_and_needs_a_pass() {
    let mut stage = stage().await;
    let asked = stage.site.seen().len();
    let refused = stage.connect("/tickets/socket", Some("websocket"), None).await;
    assert_eq!(refused.status(), 428);
    let refused = stage.connect("/tickets/socket", Some("websocket"), Some("rubbish")).await;
    assert_eq!(refused.status(), 428);
    assert_eq!(stage.site.seen().len(), asked);
    let token = admitted(&stage.visitor).await.pass.expect("a pass").token;
    let (mut from, mut to) = tokio::io::split(stage.tunnel(&token).await);
    let seen = stage.site.last_seen();
    assert_eq!((seen.method.as_str(), seen.target.as_str()), ("GET", "/tickets/socket"));
    for (name, value) in [
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("x-forwarded-proto", "https"),
        ("jari-room", "site"),
        ("via", "2 jari"),
    ] {
        assert_eq!(seen.header(name).as_deref(), Some(value), "{seen:?}");
    }
    assert_eq!(
        seen.header("sec-websocket-key").map(|key| key.len()),
        Some(24),
        "16 bytes in base64"
    );
    echoes_much(&mut from, &mut to).await;
    // Beside it, on the same connection, everything goes on; and it ends with its pass, as over HTTP/1.1.
    let leave = stage.visitor.request(Method::DELETE, "/.jari/v1/rooms/site/places/me");
    let left = ask(leave).await;
    assert!(left.status.is_success(), "{}", left.text());
    let end = timeout(LONG, from.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let refused = stage.connect("/tickets/socket", Some("websocket"), Some(&token)).await;
    assert_eq!(refused.status(), 428);
}

/// The rules of paths are the same, and nothing but a WebSocket is connected to.
#[tokio::test]
async fn issue_5_attack_connect_over_http2_leads_nowhere_but_to_the_sites_websockets() {
    let mut stage = stage().await;
    let token = admitted(&stage.visitor).await.pass.expect("a pass").token;
    let asked = stage.site.seen().len();
    for (path, protocol, want) in [
        ("/tickets/socket", Some("connect-udp"), 405),
        ("/about", Some("h2c"), 405),
        ("", None, 405),
        ("/x/%2e%2e/tickets/socket", Some("websocket"), 400),
        ("//a/tickets/socket", Some("websocket"), 428),
        ("/%74ickets/socket", Some("websocket"), 428),
    ] {
        let answer = stage.connect(path, protocol, None).await;
        assert_eq!(answer.status(), want, "{path} {protocol:?}");
    }
    assert_eq!(stage.site.seen().len(), asked);
    // Where there is no WebSocket, a page must not be taken for the beginning of one.
    let answer = stage.connect("/tickets/1", Some("websocket"), Some(&token)).await;
    assert_eq!(answer.status(), 502);
    // A site that goes away does not wait for who is in a tunnel.
    let mut tunnel = stage.tunnel(&token).await;
    let _folder = stage.app.stop().await;
    let end = timeout(LONG, tunnel.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
}
