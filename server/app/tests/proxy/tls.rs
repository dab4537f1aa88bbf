//! TLS of the site's own listener, from files.

use std::path::Path;
use std::process::Command;

use jari_api::{PlaceView, VisitorCreated};
use jari_testkit::{FakeSite, TestApp};
use reqwest::{Certificate, Client, Version};

use crate::ask;

/// Makes a certificate for 127.0.0.1 and gives it as PEM.
fn certificate(folder: &Path) -> Vec<u8> {
    let (key, cert) = (folder.join("key.pem"), folder.join("cert.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=a test",
        ])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .output();
    assert!(made.expect("openssl is there").status.success(), "openssl makes a certificate");
    std::fs::read(cert).expect("it was written")
}

#[tokio::test]
async fn visitors_meet_the_sites_certificate_and_both_versions_of_http() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pem = certificate(folder.path());
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.tls_cert", folder.path().join("cert.pem").display())
        .set("protect.tls_key", folder.path().join("key.pem").display())
        .start()
        .await;
    let url = |path: &str| {
        let port = app.site_url().port().expect("a port");
        format!("https://127.0.0.1:{port}{path}")
    };
    let client = || {
        let cert = Certificate::from_pem(&pem).expect("a certificate");
        Client::builder().tls_certs_only([cert]).redirect(reqwest::redirect::Policy::none())
    };
    for (client, version) in
        [(client(), Version::HTTP_2), (client().http1_only(), Version::HTTP_11)]
    {
        let client = client.build().expect("a client");
        let answer = client.get(url("/about")).send().await.expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
        assert_eq!(site.last_seen().header("x-forwarded-proto").as_deref(), Some("https"));
        let page = client.get(url("/.jari/rooms/site")).send().await.expect("an answer");
        let cookies: Vec<_> = page.headers().get_all("set-cookie").iter().collect();
        let text = format!("{cookies:?}");
        assert!(text.contains("__Host-jari_visitor=") && text.contains("; Secure"), "{text}");
        // Over TLS a stream cannot leave the HTTP stack, and is a stream all the same.
        let post = |path: &str| client.post(url(path));
        let made = ask(post("/.jari/v1/visitors")).await.expect(201);
        let visitor = made.json::<VisitorCreated>().visitor_token;
        let joined = post("/.jari/v1/rooms/site/places").bearer_auth(visitor);
        let place = ask(joined).await.json::<PlaceView>().place_token.expect("a receipt");
        let events = client.get(url("/.jari/v1/rooms/site/events")).bearer_auth(place);
        let mut events = events.send().await.expect("an answer");
        assert_eq!(events.headers()["content-type"], "text/event-stream");
        assert!(events.chunk().await.expect("it goes on").is_some());
    }
    // Who speaks no TLS is not served, and holds nobody up.
    assert!(
        Client::new().get(app.site_url().join("/about").expect("a path")).send().await.is_err()
    );
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_told_before_anything_is_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    certificate(folder.path());
    let site = FakeSite::start().await;
    let start = |cert: &str, key: &str| {
        TestApp::builder()
            .protect(&site)
            .set("protect.tls_cert", folder.path().join(cert).display())
            .set("protect.tls_key", folder.path().join(key).display())
            .try_start()
    };
    for (cert, key, told) in [
        ("none.pem", "key.pem", "protect.tls_cert"),
        ("cert.pem", "none.pem", "protect.tls_key"),
        ("cert.pem", "cert.pem", "protect.tls_key"),
    ] {
        let error = start(cert, key).await.expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}
