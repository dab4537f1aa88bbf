//! Over TLS at the proxy, as on the Internet: every address that leads somewhere is https, and every cookie is for it alone.

use jari_servers::BalancerKind;
use jari_testkit::Answer;
use reqwest::Method;

use crate::stage::{ROOM, Stage, ask, go, wait};
use crate::with_each_proxy;

/// The cookies of an answer, of which there are some, and each is for https and this host alone.
fn cookies(answer: &Answer) -> Vec<String> {
    let set = answer.headers.get_all("set-cookie").iter();
    let set: Vec<_> =
        set.map(|cookie| String::from_utf8_lossy(cookie.as_bytes()).into_owned()).collect();
    assert!(!set.is_empty(), "{answer:?}");
    for cookie in &set {
        assert!(cookie.starts_with("__Host-jari_") && cookie.contains("; Secure"), "{cookie}");
    }
    set
}

async fn issue_5_over_tls_the_way_back_and_the_cookies_are_for_https(kind: BalancerKind) {
    let stage = Stage::over_tls(kind).await;
    let visitor = stage.visitor();
    let wanted = "/tickets/7?seat=a%2Fb";
    let answer = go(&visitor, wanted).await.expect(303);
    let room = answer.header("location").expect("the way to the room").to_owned();
    let want = "/.jari/rooms/shop?return=%2Ftickets%2F7%3Fseat%3Da%252Fb";
    assert_eq!(room, stage.url().join(want).expect("a path").as_str());
    assert!(room.starts_with("https://"), "{room}");
    cookies(&go(&visitor, &room).await.expect(200));
    let program = ask(visitor.request(Method::GET, wanted)).await.problem(428, "pass_required");
    let told = program.fields["room_url"].as_str().expect("an address");
    assert!(told.starts_with(stage.url().as_str()), "{told}");
    let pass = wait(&visitor).await.pass.expect("a pass");
    assert_eq!(pass.target_url, wanted);
    assert!(stage.site.seen().is_empty());
    // What a client says of its own way counts for nothing.
    let request = visitor.request(Method::GET, wanted).header("x-forwarded-proto", "http");
    let landed = ask(request).await.expect(200);
    let renewed = cookies(&landed);
    assert!(renewed[0].starts_with(&format!("__Host-jari_pass_{ROOM}=")), "{renewed:?}");
    let seen = stage.site.last_seen();
    assert_eq!((seen.target.as_str(), seen.header("jari-room").as_deref()), (wanted, Some(ROOM)));
    assert_eq!(seen.header("x-forwarded-proto").as_deref(), Some("https"));
}

/// Whoever comes without TLS is sent to the same address over it, before anything else is asked.
async fn issue_5_without_tls_everybody_is_sent_to_https(kind: BalancerKind) {
    let stage = Stage::over_tls(kind).await;
    let wanted = stage.plain_url().join("/tickets/7?seat=a%2Fb").expect("a path");
    let sent = go(&stage.visitor(), wanted.as_str()).await;
    assert!(matches!(sent.status.as_u16(), 301 | 308), "{sent:?}");
    let to = sent.header("location").expect("an address");
    assert!(to.starts_with("https://127.0.0.1"), "{to}");
    assert!(to.ends_with("/tickets/7?seat=a%2Fb"), "{to}");
    assert!(stage.site.seen().is_empty());
}

with_each_proxy! {
    issue_5_over_tls_the_way_back_and_the_cookies_are_for_https
    issue_5_without_tls_everybody_is_sent_to_https
}
