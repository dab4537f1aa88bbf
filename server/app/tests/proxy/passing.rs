//! With a pass: what the site and the visitor see of each other.

use jari_testkit::{FakeSite, TestApp};
use reqwest::Method;

use crate::{admitted, ask, browser, go, stage};

#[tokio::test]
async fn the_site_is_told_whose_pass_it_was_and_sees_no_token() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    let place = admitted(&visitor).await;
    let token = place.pass.expect("a pass").token;
    let request = visitor
        .request(Method::GET, "/tickets/1")
        .header("jari-subject", "00ff")
        .header("jari-visitor", "x");
    let answer = ask(request).await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("private"), "no cache between may keep it");
    // Its first use claims the pass, whose new end comes with the site's answer.
    assert!(
        answer.header("set-cookie").is_some_and(|cookie| cookie.starts_with("jari_pass_site=")),
        "{answer:?}"
    );
    let seen = site.last_seen();
    assert_eq!(seen.header("jari-room").as_deref(), Some("site"));
    assert_eq!(seen.header("jari-seq"), Some(place.seq.to_string()));
    let subject = seen.header("jari-subject").expect("a subject");
    assert!(
        subject.len() == 32 && subject.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{subject}"
    );
    assert!(seen.header("jari-pass-expires").is_some());
    assert_eq!((seen.header("cookie"), seen.header("jari-visitor")), (None, None));
    // The same person is the same to the site, another is another.
    let _ = go(&visitor, "/tickets/2").await.expect(200);
    assert_eq!(site.last_seen().header("jari-subject"), Some(subject.clone()));
    let other = browser(&app);
    admitted(&other).await;
    let _ = go(&other, "/tickets/2").await.expect(200);
    assert_ne!(site.last_seen().header("jari-subject"), Some(subject.clone()));
    // A client without cookies shows the pass itself, which is nothing for the site; its own bearer is.
    let bare = reqwest::Client::new();
    let url = app.site_url().join("/tickets/3").expect("a path");
    let _ = ask(bare.get(url.clone()).bearer_auth(&token)).await.expect(200);
    let seen = site.last_seen();
    assert_eq!((seen.header("authorization"), seen.header("jari-subject")), (None, Some(subject)));
    let request = visitor.request(Method::GET, "/tickets/3").bearer_auth("the-sites-own");
    let _ = ask(request).await.expect(200);
    assert_eq!(site.last_seen().header("authorization").as_deref(), Some("Bearer the-sites-own"));
}

#[tokio::test]
async fn cookies_of_the_site_and_of_the_room_do_not_meet() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    admitted(&visitor).await;
    let answer = ask(visitor.request(Method::GET, "/tickets/cookies")).await.expect(200);
    let set: Vec<_> = answer
        .headers
        .get_all("set-cookie")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    assert!(
        set.contains(&"sid=1; Path=/") && !set.iter().any(|cookie| cookie.contains("stolen")),
        "{set:?}"
    );
    let _ = ask(visitor.request(Method::GET, "/tickets/1")).await.expect(200);
    assert_eq!(site.last_seen().header("cookie").as_deref(), Some("sid=1"));
}

#[tokio::test]
async fn what_is_excluded_or_not_guarded_needs_no_pass() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.exclude", "/assets/*,/favicon.ico")
        .start()
        .await;
    let visitor = browser(&app);
    for path in ["/assets/a.css", "/favicon.ico"] {
        let answer = go(&visitor, path).await.expect(200);
        assert_eq!(answer.header("cache-control"), None, "what is open is the site's to say");
        assert_eq!(site.last_seen().header("jari-room"), None);
    }
    let _ = go(&visitor, "/").await.expect(303);
}

#[tokio::test]
async fn the_site_may_be_asked_by_its_own_name() {
    let site = FakeSite::start().await;
    let app = TestApp::builder()
        .protect(&site)
        .set("protect.path", "/tickets/*")
        .set("protect.host_header", "upstream")
        .start()
        .await;
    let answer = ask(browser(&app).request(Method::GET, "/away")).await.expect(302);
    let home = app.site_url().join("/home?%ED%91%9C").expect("a path");
    assert_eq!(
        answer.header("location"),
        Some(home.as_str()),
        "visitors cannot go to the upstream"
    );
    let seen = site.last_seen();
    assert_eq!(seen.header("host"), Some(site.addr().to_string()));
    let here = app.site_url();
    let here = format!("{}:{}", here.host_str().expect("a host"), here.port().expect("a port"));
    assert_eq!(seen.header("x-forwarded-host"), Some(here));
}

#[tokio::test]
async fn a_pass_that_is_given_back_ends_at_the_site_too() {
    let (site, app) = stage().await;
    let visitor = browser(&app);
    admitted(&visitor).await;
    let _ = go(&visitor, "/tickets/1").await.expect(200);
    let _ =
        ask(visitor.request(Method::DELETE, "/.jari/v1/rooms/site/places/me")).await.expect(204);
    let _ = go(&visitor, "/tickets/1").await.expect(303);
    assert_eq!(site.seen().len(), 1);
}

/// HTTP/2 from the visitor, HTTP/1.1 to the site.
#[tokio::test]
async fn visitors_may_speak_http_2() {
    let (site, app) = stage().await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().expect("a client");
    let url = |path: &str| app.site_url().join(path).expect("a path");
    let answer = client.get(url("/about")).header("cookie", "a=1").send().await.expect("an answer");
    assert_eq!((answer.status().as_u16(), answer.version()), (200, reqwest::Version::HTTP_2));
    let seen = site.last_seen();
    assert_eq!(seen.header("via").as_deref(), Some("2 jari"));
    assert!(seen.header("host").is_some_and(|host| host.starts_with("127.0.0.1:")), "{seen:?}");
    let answer = client.get(url("/tickets/1")).send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 428);
    let answer = client.get(url("/.jari/v1/rooms/site")).send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 200);
    let answer =
        client.post(url("/upload")).body(vec![b'x'; 1_000_000]).send().await.expect("an answer");
    assert_eq!(answer.text().await.expect("a count"), "1000000");
}
