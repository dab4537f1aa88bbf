//! With a pass: what the site and the visitor see of each other.

use jari_servers::BalancerKind;
use reqwest::{Method, RequestBuilder};

use crate::stage::{Stage, ask, go};
use crate::with_each_proxy;

/// What only the gate may say, in every spelling that a site could take for it.
fn with_claims(mut request: RequestBuilder) -> RequestBuilder {
    for name in [
        "Jari-Room",
        "JARI-SEQ",
        "Jari-Subject",
        "Jari-Pass-Expires",
        "Jari-Unchecked",
        "Jari_Subject",
        "jari_unchecked",
        "X-Original-URL",
        "X-Rewrite-URL",
    ] {
        request = request.header(name, "forged");
    }
    request
}

async fn the_site_is_told_whose_pass_it_was_and_by_nobody_else(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (visitor, place) = stage.admitted().await;
    let request = with_claims(visitor.request(Method::GET, "/tickets/1?a=b"));
    let answer = ask(request).await.expect(200);
    // Its first use claims the pass, whose new end comes with the site's answer.
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    assert!(format!("{cookies:?}").contains("jari_pass_shop="), "{answer:?}");
    let kept = answer.headers.get_all("cache-control").iter().collect::<Vec<_>>();
    assert!(format!("{kept:?}").contains("private"), "no cache between may keep it: {answer:?}");
    let seen = stage.site.last_seen();
    assert_eq!(seen.target, "/tickets/1?a=b");
    assert_eq!(seen.header("jari-room").as_deref(), Some("shop"));
    assert_eq!(seen.header("jari-seq"), Some(place.seq.to_string()));
    let subject = seen.header("jari-subject").expect("a subject");
    assert!(
        subject.len() == 32 && subject.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{subject}"
    );
    assert!(seen.header("jari-pass-expires").is_some_and(|at| at.starts_with("20")), "{seen:?}");
    assert_eq!(seen.header("jari-unchecked"), None, "{seen:?}");
    assert!(!format!("{:?}", seen.headers).contains("forged"), "{seen:?}");
    // A second time nothing is renewed, and no cookie comes.
    let answer = go(&visitor, "/tickets/2").await.expect(200);
    assert_eq!(answer.header("set-cookie"), None, "{answer:?}");
    assert_eq!(stage.site.last_seen().header("jari-subject"), Some(subject));
    // On what needs no pass nobody says anything.
    let _ = ask(with_claims(visitor.request(Method::GET, "/about"))).await.expect(200);
    let seen = stage.site.last_seen();
    assert!(!format!("{:?}", seen.headers).contains("forged"), "{seen:?}");
    assert!(!seen.headers.keys().any(|name| name.as_str().starts_with("jari")), "{seen:?}");
}

async fn what_a_visitor_sends_arrives_whole(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (visitor, _) = stage.admitted().await;
    let request = visitor.request(Method::POST, "/tickets/upload").body("x".repeat(300_000));
    assert_eq!(ask(request).await.expect(200).text(), "300000");
    assert_eq!(stage.site.last_seen().method, "POST");
    let answer = go(&visitor, "/tickets/download?500000").await.expect(200);
    assert_eq!(answer.body.len(), 500_000);
    // The site's own cookies and refusals are its own.
    let answer = go(&visitor, "/tickets/cookies").await.expect(200);
    assert!(format!("{:?}", answer.headers).contains("sid=1"), "{answer:?}");
}

/// Each check is one call, and no other comes of a request with a pass.
async fn a_check_is_one_call(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (visitor, _) = stage.admitted().await;
    let _ = go(&visitor, "/tickets/1").await.expect(200);
    let calls = async || {
        let text = jari_testkit::Visitor::new(stage.app().ops_url()).get("/metrics").await.text();
        let gate = text.lines().filter(|line| {
            line.starts_with("jari_call_duration_seconds_count") && line.contains("/v1/gate/")
        });
        gate.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
    };
    let before = calls().await;
    for _ in 0..10 {
        let _ = go(&visitor, "/tickets/1").await.expect(200);
    }
    assert_eq!(calls().await - before, 10.0);
}

with_each_proxy! {
    the_site_is_told_whose_pass_it_was_and_by_nobody_else
    what_a_visitor_sends_arrives_whole
    a_check_is_one_call
}
