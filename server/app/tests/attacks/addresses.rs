//! Hosts named twice, differently or not at all.

use jari_testkit::{FakeSite, TestApp};

use crate::raw::{exchange, status};
use crate::stage;

fn with_hosts(target: &str, hosts: &[&str]) -> Vec<u8> {
    let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
    format!("GET {target} HTTP/1.1\r\n{hosts}Accept: application/json\r\nConnection: close\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn issue_5_attack_a_host_that_two_servers_could_read_differently_is_refused() {
    let (site, app) = stage().await;
    for (target, hosts) in [
        ("/about", &["a.example", "a.example"][..]),
        ("/about", &["a.example", "b.example"]),
        ("/about", &[]),
        ("/about", &[""]),
        ("/about", &["a.example, b.example"]),
        ("/about", &["a.example@b.example"]),
        ("/about", &["a.example/x"]),
        ("/about", &["a.example:80:80"]),
        ("http://a.example/about", &["b.example"]),
        ("http://a.example@b.example/about", &["b.example"]),
        ("ftp://a.example/about", &["a.example"]),
        ("*", &["a.example"]),
    ] {
        let answer = exchange(&app, &with_hosts(target, hosts)).await;
        assert_eq!(status(&answer), 400, "{target} {hosts:?}: {answer}");
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    let answer = exchange(&app, &with_hosts("http://a.example/about", &["a.example"])).await;
    assert_eq!(status(&answer), 200, "{answer}");
    let seen = site.last_seen();
    assert_eq!(
        (seen.target.as_str(), seen.header("host").as_deref()),
        ("/about", Some("a.example"))
    );
}

#[tokio::test]
async fn issue_5_attack_a_host_that_no_rule_names_reaches_nothing() {
    let site = FakeSite::start().await;
    let rules =
        "[[protect.rules]]\nhost = \"shop.example\"\npath = \"/tickets/*\"\nroom = \"shop\"";
    let app = TestApp::builder().protect(&site).file(rules).start().await;
    for (host, want) in [
        ("shop.example", 428),
        ("SHOP.example", 428),
        ("shop.example.", 428),
        ("shop.example:8080", 428),
        ("other.example", 421),
        ("127.0.0.1", 421),
        ("shop.example.evil.example", 421),
    ] {
        let answer = exchange(&app, &with_hosts("/tickets/1", &[host])).await;
        assert_eq!(status(&answer), want, "{host}: {answer}");
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    let answer = exchange(&app, &with_hosts("/about", &["shop.example"])).await;
    assert_eq!(status(&answer), 200, "{answer}");
}
