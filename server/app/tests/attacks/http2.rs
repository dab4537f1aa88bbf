//! The same attacks over HTTP/2, where a request's address stands in fields of its own.

use jari_testkit::spellings::{IN_OTHER_LETTERS, SPELLINGS};

use crate::raw_http2::{Field, asked, get};
use crate::stage;

/// Ended for what it is, or refused; never let through.
fn is_refusal(status: u16) -> bool {
    matches!(status, 0 | 400 | 428)
}

#[tokio::test]
async fn issue_5_attack_no_spelling_of_a_guarded_path_reaches_the_site_over_http2() {
    let (site, app) = stage().await;
    for target in SPELLINGS.iter().chain(&IN_OTHER_LETTERS) {
        for target in [
            (*target).to_owned(),
            format!("{target}?x=/about"),
            // Absolute form is for HTTP/1; here it is no path.
            format!("http://shop.example{target}"),
        ] {
            let status = asked(&app, &get(&target, &[]), None).await;
            assert!(is_refusal(status), "{target}: {status}");
        }
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    // That nothing came was the gate's doing: the site is there, and what is guarded is refused in words.
    assert_eq!(asked(&app, &get("/tickets/1", &[]), None).await, 428);
    for target in ["/about?a=%2f..", "/%61bout"] {
        assert_eq!(asked(&app, &get(target, &[]), None).await, 200, "{target}");
    }
    assert_eq!(site.seen().len(), 2);
}

/// A GET of an open page with these in place of its address.
fn addressed<'a>(address: &[Field<'a>]) -> Vec<Field<'a>> {
    let of_address = |name: &str| [":authority", "host", ":scheme", ":path"].contains(&name);
    let kept = get("/about", &[]).into_iter().filter(|(name, _)| {
        !of_address(name)
            || matches!(*name, ":scheme" | ":path") && !address.iter().any(|(of, _)| of == name)
    });
    let (pseudo, plain): (Vec<_>, Vec<_>) =
        kept.chain(address.iter().copied()).partition(|(name, _)| name.starts_with(':'));
    pseudo.into_iter().chain(plain).collect()
}

#[tokio::test]
async fn issue_5_attack_a_host_that_is_named_in_two_ways_over_http2_is_refused() {
    let (site, app) = stage().await;
    for address in [
        &[(":authority", "a.example"), ("host", "b.example")][..],
        &[(":authority", "a.example"), ("host", "a.example"), ("host", "b.example")],
        &[("host", "a.example"), ("host", "a.example")],
        &[(":authority", "a.example"), (":authority", "b.example")],
        &[(":authority", "")],
        &[],
        &[("host", "")],
        &[(":authority", "a.example@b.example")],
        &[(":authority", "a.example/x")],
        &[(":authority", "a.example:80:80")],
        &[(":authority", "a.example, b.example")],
        &[(":authority", "a.example"), (":scheme", "ftp")],
        &[(":authority", "a.example"), (":path", "*")],
        &[(":authority", "a.example"), (":path", "")],
        &[(":authority", "a.example"), (":path", "about")],
        &[(":authority", "a.example"), (":path", "/about"), (":path", "/tickets/1")],
    ] {
        let status = asked(&app, &addressed(address), None).await;
        assert!(matches!(status, 0 | 400), "{address:?}: {status}");
    }
    assert!(site.seen().is_empty(), "{:?}", site.seen());
    for address in [
        &[(":authority", "a.example")][..],
        &[("host", "a.example")],
        &[(":authority", "a.example"), ("host", "A.example")],
    ] {
        assert_eq!(asked(&app, &addressed(address), None).await, 200, "{address:?}");
        let seen = site.last_seen();
        assert_eq!(seen.header("host").as_deref(), Some("a.example"), "{address:?}");
    }
}

/// What could become a second request once it is written down as HTTP/1 for the site.
#[tokio::test]
async fn issue_5_attack_no_request_hides_in_another_over_http2() {
    const HIDDEN: &str = "GET /tickets/1 HTTP/1.1\r\nHost: shop.example\r\n\r\n";
    let (site, app) = stage().await;
    let within = format!("a\r\n\r\n{HIDDEN}");
    let path = format!("/about HTTP/1.1\r\nHost: shop.example\r\n\r\n{HIDDEN}");
    let name = format!("x: y\r\n\r\n{HIDDEN}");
    let body = format!("0\r\n\r\n{HIDDEN}");
    let attacks: [(&str, Vec<Field<'_>>); 12] = [
        ("chunks", vec![("transfer-encoding", "chunked")]),
        ("chunks in capitals", vec![("Transfer-Encoding", "chunked")]),
        ("no length where there is a body", vec![("content-length", "0")]),
        ("two lengths", vec![("content-length", "0"), ("content-length", "7")]),
        ("a length that is none", vec![("content-length", "+0")]),
        ("a line in a value", vec![("x-a", within.as_str())]),
        ("a line in a name", vec![(name.as_str(), "a")]),
        ("a name with a colon", vec![("x-a: b\r\nx-c", "a")]),
        ("a connection's own", vec![("connection", "upgrade"), ("upgrade", "h2c")]),
        ("another kept alive", vec![("keep-alive", "timeout=5"), ("proxy-connection", "a")]),
        ("trailers", vec![("te", "gzip")]),
        ("an odd name", vec![("content_length", "0"), ("transfer_encoding", "chunked")]),
    ];
    for (what, more) in attacks {
        let mut fields = get("/about", &more);
        fields[0] = (":method", "POST");
        let status = asked(&app, &fields, Some(body.as_bytes())).await;
        assert!(matches!(status, 0 | 200 | 400 | 408), "{what}: {status}");
    }
    for (pseudo, value) in [(":path", path.as_str()), (":method", "GET /tickets/1 HTTP/1.1\r\nX:")]
    {
        let at = if pseudo == ":path" { 2 } else { 0 };
        let mut fields = get("/about", &[]);
        fields[at] = (pseudo, value);
        let status = asked(&app, &fields, None).await;
        assert!(matches!(status, 0 | 400), "{pseudo}: {status}");
    }
    assert!(!site.seen().is_empty(), "what is left of a request that hides nothing is let through");
    for seen in site.seen() {
        assert_eq!((seen.method.as_str(), seen.target.as_str()), ("POST", "/about"), "{seen:?}");
        let framed = [seen.header("content-length"), seen.header("transfer-encoding")];
        assert!(framed.iter().flatten().count() <= 1, "{seen:?}");
    }
    // What stands for another method, and ways that lead elsewhere.
    for (method, want) in [("TRACE", 405), ("CONNECT", 0)] {
        let mut fields = get("/about", &[]);
        fields[0] = (":method", method);
        assert_eq!(asked(&app, &fields, None).await, want, "{method}");
    }
    let tunnel = [(":method", "CONNECT"), (":authority", "10.0.0.1:22")];
    assert_eq!(asked(&app, &tunnel, None).await, 405);
}

/// What only the gate may say, whatever carries it.
#[tokio::test]
async fn issue_5_attack_what_only_the_gate_may_say_does_not_reach_the_site_over_http2() {
    let (site, app) = stage().await;
    let claims = [
        ("jari-subject", "00ff"),
        ("jari_subject", "00ff"),
        ("jari-room", "site"),
        ("x-forwarded-for", "10.9.9.9"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "for=10.9.9.9"),
        ("x-original-url", "/tickets/1"),
        ("x-real-ip", "10.9.9.9"),
        ("x-keep", "kept"),
    ];
    assert_eq!(asked(&app, &get("/about", &claims), None).await, 200);
    let seen = site.last_seen();
    assert_eq!(seen.header("x-keep").as_deref(), Some("kept"));
    assert_eq!(seen.header("x-forwarded-for").as_deref(), Some("127.0.0.1"));
    assert_eq!(seen.header("x-forwarded-proto").as_deref(), Some("http"));
    for gone in ["jari-subject", "jari_subject", "jari-room", "x-original-url", "x-real-ip"] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert_eq!(asked(&app, &get("/tickets/1", &claims), None).await, 428);
    assert_eq!(site.seen().len(), 1);
}
