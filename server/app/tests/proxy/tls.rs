//! TLS of the site's own listener, from files.

use std::path::Path;

use jari_api::{PlaceView, VisitorCreated};
use jari_testkit::{FakeSite, Process, TestApp, Visitor, eventually};
use reqwest::{Certificate, Client, ClientBuilder, Version};

use crate::ask;
use crate::certificates::{Authority, Signed};

/// A browser that takes this authority's word and nobody else's.
fn client(authority: &Authority) -> ClientBuilder {
    let authority = Certificate::from_pem(&authority.pem()).expect("a certificate");
    Client::builder().tls_certs_only([authority]).redirect(reqwest::redirect::Policy::none())
}

async fn served_with(site: &FakeSite, signed: &Signed) -> TestApp {
    TestApp::builder()
        .protect(site)
        .set("protect.path", "/tickets/*")
        .set("protect.tls_cert", signed.cert.display())
        .set("protect.tls_key", signed.key.display())
        .start()
        .await
}

fn url(app: &TestApp, path: &str) -> String {
    format!("https://127.0.0.1:{}{path}", app.site_url().port().expect("a port"))
}

#[tokio::test]
async fn visitors_meet_the_sites_certificate_and_both_versions_of_http() {
    let authority = Authority::new();
    let site = FakeSite::start().await;
    let app = served_with(&site, &authority.sign("IP:127.0.0.1")).await;
    let url = |path: &str| url(&app, path);
    for (client, version) in
        [(client(&authority), Version::HTTP_2), (client(&authority).http1_only(), Version::HTTP_11)]
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
    replace(folder.path(), &Authority::new().sign("IP:127.0.0.1"));
    std::fs::write(folder.path().join("long.pem"), vec![b'-'; 1_100_000]).expect("it is ours");
    std::fs::write(folder.path().join("empty.pem"), "").expect("it is ours");
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
        ("empty.pem", "key.pem", "protect.tls_cert"),
        ("long.pem", "key.pem", "longer than 1 MiB"),
        ("cert.pem", "none.pem", "protect.tls_key"),
        ("cert.pem", "cert.pem", "protect.tls_key"),
    ] {
        let error = start(cert, key).await.expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// Puts a certificate and its key where others may have been, one after the other, as programs that renew do.
fn replace(folder: &Path, by: &Signed) -> Signed {
    let place = |name: &str| folder.join(name);
    let files = Signed { cert: place("cert.pem"), key: place("key.pem") };
    for (from, to) in [(&by.cert, &files.cert), (&by.key, &files.key)] {
        std::fs::copy(from, to).expect("the folder is ours");
    }
    files
}

/// What somebody gets who comes anew; 0 where they do not take the certificate.
async fn newcomer(app: &TestApp, authority: &Authority) -> u16 {
    let client = client(authority).build().expect("a client");
    let answer = client.get(url(app, "/about")).send().await;
    answer.map_or(0, |answer| answer.status().as_u16())
}

async fn renewals(app: &TestApp, outcome: &str) -> u64 {
    let text = Visitor::new(app.ops_url()).get("/metrics").await.text();
    let name = format!("jari_certificate_renewals_total{{outcome=\"{outcome}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&name));
    line.and_then(|count| count.parse().ok()).expect("it is counted")
}

#[tokio::test]
async fn issue_5_a_renewed_certificate_is_shown_while_connections_go_on() {
    let (old, new) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let signed = replace(folder.path(), &old.sign("IP:127.0.0.1"));
    let site = FakeSite::start().await;
    let app = served_with(&site, &signed).await;
    let before = client(&old).build().expect("a client");
    let goes_on = async || {
        let answer = before.get(url(&app, "/about")).send().await.expect("its connection is kept");
        assert_eq!(answer.status(), 200);
    };
    goes_on().await;
    assert_eq!(newcomer(&app, &new).await, 0);
    replace(folder.path(), &new.sign("IP:127.0.0.1"));
    eventually("newcomers meet the new certificate", async || {
        (newcomer(&app, &new).await == 200).then_some(())
    })
    .await;
    // Who came before trusts the old one alone, and would not come again.
    assert_eq!(newcomer(&app, &old).await, 0);
    goes_on().await;
    assert_eq!((renewals(&app, "taken").await, renewals(&app, "refused").await), (1, 0));
    // Half a renewal that stays half, and then no file at all: what is shown goes on.
    let other = new.sign("IP:127.0.0.1");
    for (broken, count) in [(Some(&other.cert), 1), (None, 2)] {
        match broken {
            Some(cert) => _ = std::fs::copy(cert, &signed.cert).expect("the folder is ours"),
            None => std::fs::remove_file(&signed.cert).expect("it is there"),
        }
        eventually("it is told that it cannot be used", async || {
            (renewals(&app, "refused").await == count).then_some(())
        })
        .await;
        assert_eq!(newcomer(&app, &new).await, 200);
    }
    goes_on().await;
    assert_eq!(renewals(&app, "taken").await, 1);
}

/// A service is told to read again what it has read, and says what came of it.
#[tokio::test]
async fn issue_5_a_certificate_is_read_again_at_once_when_the_process_is_told_to() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let signed = replace(folder.path(), &authority.sign("IP:127.0.0.1"));
    let process = Process::serve(env!("CARGO_BIN_EXE_jari"), &folder.path().join("data"))
        .arg("--protect")
        .arg("http://127.0.0.1:9")
        .arg("--protect-listen")
        .arg("127.0.0.1:0")
        .env("JARI__PROTECT__TLS_CERT", &signed.cert)
        .env("JARI__PROTECT__TLS_KEY", &signed.key)
        .start()
        .await;
    process.wait_for_key().await;
    let said = process.stdout();
    assert!(said.contains("protecting http://127.0.0.1:9 on https://127.0.0.1:"), "{said}");
    // As it is, it is taken once more: nobody but who asked for it would see a difference.
    process.hang_up().await;
    eventually("it is taken", async || {
        process.stderr().contains("are shown the certificate").then_some(())
    })
    .await;
    std::fs::write(&signed.cert, "rubbish").expect("the folder is ours");
    process.hang_up().await;
    eventually("it is refused", async || {
        process.stderr().contains("the one before is still shown").then_some(())
    })
    .await;
    process.visitor().identify().await;
}
