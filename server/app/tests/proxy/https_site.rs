//! A site that speaks https only: asked over TLS by its name, and not at all where it cannot prove who it is.

use std::net::SocketAddr;
use std::sync::Arc;

use jari_testkit::{FakeSite, TestApp, TestAppBuilder, Visitor};
use parking_lot::Mutex;
use reqwest::Method;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Authority, Signed};
use crate::switching::{echo, pass, switch};
use crate::{ask, browser, go};

/// TLS before a site that has none.
struct Front {
    addr: SocketAddr,
    /// Names that it was asked by (SNI), with each connection.
    names: Arc<Mutex<Vec<Option<String>>>>,
}

impl Front {
    async fn before(site: &FakeSite, signed: &Signed) -> Front {
        let certs = CertificateDer::pem_file_iter(&signed.cert).expect("a file");
        let certs = certs.collect::<Result<Vec<_>, _>>().expect("certificates");
        let key = PrivateKeyDer::from_pem_file(&signed.key).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are some")
            .with_no_client_auth()
            .with_single_cert(certs, key)
            .expect("a pair");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let (addr, behind) = (listener.local_addr().expect("bound"), site.addr());
        let names = Arc::<Mutex<Vec<_>>>::default();
        let noted = names.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, noted) = (acceptor.clone(), noted.clone());
                tokio::spawn(async move {
                    // Who does not take the certificate goes away again.
                    let Ok(mut tls) = acceptor.accept(socket).await else { return };
                    noted.lock().push(tls.get_ref().1.server_name().map(str::to_owned));
                    let mut site = TcpStream::connect(behind).await.expect("it listens");
                    _ = tokio::io::copy_bidirectional(&mut tls, &mut site).await;
                });
            }
        });
        Front { addr, names }
    }
}

/// A Jari before the site that is at `upstream`, whose certificate `authority` has to have signed.
fn asking(upstream: &str, authority: &Authority) -> TestAppBuilder {
    TestApp::builder()
        .set("protect.upstream", upstream)
        .set("protect.path", "/tickets/*")
        .set("protect.ca_file", authority.file().display())
}

#[tokio::test]
async fn issue_5_a_site_that_speaks_https_is_asked_by_its_name() {
    let authority = Authority::new();
    let site = FakeSite::start().await;
    let front = Front::before(&site, &authority.sign("DNS:localhost")).await;
    let upstream = format!("https://localhost:{}", front.addr.port());
    let app = asking(&upstream, &authority).start().await;
    let visitor = browser(&app);
    let _ = ask(visitor.request(Method::GET, "/tickets/1")).await.problem(428, "pass_required");
    assert!(site.seen().is_empty());
    for _ in 0..3 {
        let answer = ask(visitor.request(Method::POST, "/upload").body("x".repeat(100_000))).await;
        assert_eq!(answer.expect(200).text(), "100000");
    }
    assert_eq!(*front.names.lock(), [Some("localhost".to_owned())], "one connection is kept");
    // The visitor's host, not the site's: that is between the two.
    let host = site.last_seen().header("host").expect("a host");
    assert_eq!(host, app.site_url().authority());
    let (mut socket, head) = switch(&app, Some(&pass(&visitor).await)).await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    echo(&mut socket).await;
}

/// A site that is found by its address, and has a certificate of its public name.
#[tokio::test]
async fn issue_5_a_sites_certificate_may_be_of_another_name_where_that_is_said() {
    let authority = Authority::new();
    let site = FakeSite::start().await;
    let front = Front::before(&site, &authority.sign("DNS:shop.example")).await;
    let upstream = format!("https://{}", front.addr);
    let app = asking(&upstream, &authority).set("protect.server_name", "shop.example");
    let app = app.start().await;
    let _ = go(&browser(&app), "/about").await.expect(200);
    assert_eq!(*front.names.lock(), [Some("shop.example".to_owned())]);
}

async fn failures(app: &TestApp, reason: &str) -> u64 {
    let text = Visitor::new(app.ops_url()).get("/metrics").await.text();
    let name = format!("jari_site_failures_total{{reason=\"{reason}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.and_then(|count| count.parse().ok()).expect("it is counted")
}

/// That what is asked reaches nobody, and the operator is told why.
async fn is_not_asked(app: &TestApp, what: &str, reason: &str) {
    let _ = ask(browser(app).request(Method::GET, "/about")).await.problem(502, "site_unavailable");
    let page = go(&browser(app), "/about").await.expect(502).text();
    assert!(page.contains("<html"), "{page}");
    assert!(failures(app, reason).await >= 2, "{what}");
}

#[tokio::test]
async fn issue_5_attack_a_site_that_cannot_prove_who_it_is_is_not_asked() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (what, signed) in [
        ("signed by somebody else", other.sign("IP:127.0.0.1")),
        ("of another name", authority.sign("DNS:shop.example,IP:127.0.0.2")),
        ("run out", authority.sign_too_late("IP:127.0.0.1")),
    ] {
        let site = FakeSite::start().await;
        let front = Front::before(&site, &signed).await;
        let app = asking(&format!("https://{}", front.addr), &authority).start().await;
        is_not_asked(&app, what, "certificate").await;
        assert!(site.seen().is_empty(), "{what}: {:?}", site.seen());
    }
}

/// Neither side speaks in the clear where the other was to speak TLS.
#[tokio::test]
async fn issue_5_attack_nothing_is_said_in_the_clear_to_a_site_that_is_https() {
    let authority = Authority::new();
    let site = FakeSite::start().await;
    let app = asking(&format!("https://{}", site.addr()), &authority).start().await;
    is_not_asked(&app, "a plain site", "tls").await;
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    // And the other way round: a site that was to be plain.
    let front = Front::before(&site, &authority.sign("IP:127.0.0.1")).await;
    let app = TestApp::builder().set("protect.upstream", format!("http://{}", front.addr));
    let app = app.set("protect.path", "/tickets/*").start().await;
    let _ =
        ask(browser(&app).request(Method::GET, "/about")).await.problem(502, "site_unavailable");
    assert!(site.seen().is_empty() && front.names.lock().is_empty());
}

#[tokio::test]
async fn issue_5_authorities_that_cannot_be_read_end_the_start() {
    let authority = Authority::new();
    let key = authority.sign("DNS:a.example").key;
    let start = |file: &std::path::Path, name: &str| {
        TestApp::builder()
            .set("protect.upstream", "https://127.0.0.1:9")
            .set("protect.ca_file", file.display())
            .set("protect.server_name", name)
            .try_start()
    };
    let none = authority.file().with_extension("none");
    for (file, name, told) in [
        (&none, "", "protect.ca_file"),
        (&key, "", "protect.ca_file"),
        (&authority.file(), "a b", "protect.server_name"),
    ] {
        let error = start(file, name).await.expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}
