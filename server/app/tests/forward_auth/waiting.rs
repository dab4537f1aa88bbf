//! Without a pass: the way to the room and back.

use jari_servers::BalancerKind;
use reqwest::Method;

use crate::stage::{ROOM, Stage, ask, go, navigation, wait};
use crate::with_each_proxy;

async fn a_browser_is_led_to_the_room_and_lands_where_it_wanted(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let visitor = stage.visitor();
    let answer = go(&visitor, "/tickets/7?seat=a%2Fb&refused=403").await.expect(303);
    assert_eq!(answer.header("cache-control"), Some("no-store"), "nobody keeps the gate's answers");
    let room = answer.header("location").expect("the way to the room").to_owned();
    let want = "/.jari/rooms/shop?return=%2Ftickets%2F7%3Fseat%3Da%252Fb%26refused%3D403";
    assert_eq!(room, stage.url().join(want).expect("a path").as_str());
    let page = go(&visitor, &room).await.expect(200).text();
    assert!(page.contains("data-root=\"/.jari\""), "{page}");
    for part in page.split('"').filter(|part| part.starts_with("/.jari/assets/")) {
        let _ = go(&visitor, part).await.expect(200);
    }
    let pass = wait(&visitor).await.pass.expect("a pass");
    assert_eq!(pass.target_url, "/tickets/7?seat=a%2Fb&refused=403");
    assert!(stage.site.seen().is_empty(), "nothing of this is the site's business");
    assert_eq!(go(&visitor, &pass.target_url).await.expect(200).text(), "the site's /tickets/7");
    assert_eq!(stage.site.last_seen().target, pass.target_url);
    // What one visitor was answered is no answer for another.
    let _ = go(&stage.visitor(), &pass.target_url).await.expect(303);
    assert_eq!(stage.site.seen().len(), 1);
}

async fn a_program_is_told_in_json(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let visitor = stage.visitor();
    for method in [Method::GET, Method::POST, Method::DELETE] {
        let mut request = visitor.request(method.clone(), "/tickets/7").header("accept", "*/*");
        if method == Method::POST {
            request = request.body("x".repeat(10_000));
        }
        let answer = ask(request).await;
        let problem = answer.problem(428, "pass_required");
        assert_eq!(problem.fields["reason"], "missing", "{method}");
        let url = problem.fields["room_url"].as_str().expect("an address");
        let room = stage.url().join("/.jari/rooms/shop").expect("a path");
        assert!(url.starts_with(room.as_str()) && url.contains("return=%2Ftickets%2F7"), "{url}");
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
    }
    assert!(stage.site.seen().is_empty());
    // A room that is not there closes what it guards.
    let _ = stage.app().operator().delete(&format!("/v1/admin/rooms/{ROOM}")).await.expect(204);
    let answer = ask(visitor.request(Method::GET, "/tickets/7")).await;
    answer.problem(404, "unknown_room");
}

/// Whoever has left is led to the room again, and not to the site.
async fn a_pass_that_was_given_back_opens_nothing(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    let (visitor, _) = stage.admitted().await;
    let _ = go(&visitor, "/tickets/1").await.expect(200);
    let leave = visitor.request(Method::DELETE, "/.jari/v1/rooms/shop/places/me");
    let _ = ask(leave).await.expect(204);
    let answer = go(&visitor, "/tickets/1").await.expect(303);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(stage.site.seen().len(), 1);
}

/// What a client says of where it wanted to go counts for nothing, and no answer leads elsewhere.
async fn issue_5_attack_no_client_tells_the_gate_another_address(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    for (name, value) in [
        ("x-original-url", "https://evil.example/"),
        ("x-original-uri", "/elsewhere"),
        ("x-forwarded-uri", "/elsewhere"),
        ("x-rewrite-url", "/elsewhere"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-method", "OPTIONS"),
        ("host", "evil.example"),
    ] {
        let request = stage.visitor().request(Method::GET, "/tickets/7").header(name, value);
        let answer = ask(navigation(request)).await.expect(303);
        let location = answer.header("location").expect("the way to the room");
        let want = stage.url().join("/.jari/rooms/shop?return=%2Ftickets%2F7").expect("a path");
        assert_eq!(location, want.as_str(), "{name}: {value}");
    }
    assert!(stage.site.seen().is_empty());
}

/// `/.jari/` leads to what a visitor needs, and to nothing of operators, tenants and the gate.
async fn the_reserved_folder_has_nothing_of_operators(kind: BalancerKind) {
    let stage = Stage::start(kind).await;
    for path in [
        "/.jari/v1/admin/rooms",
        "/.jari/admin",
        "/.jari/v1/gate/shop",
        "/.jari/v1/rooms/shop/entries",
        "/.jari/v1/rooms/shop/admit",
        "/.jari/openapi.json",
        "/.jari-gate/ask",
        "/.jari-gate/refused",
    ] {
        let request = stage.visitor().request(Method::GET, path).header("accept", "*/*");
        let answer = ask(request.bearer_auth(stage.app().admin_key())).await;
        // What is not below the folder is the site's, where the proxy has not kept it to itself.
        let of_the_site =
            path.starts_with("/.jari-gate") && answer.text().starts_with("the site's");
        assert!(of_the_site || matches!(answer.status.as_u16(), 404 | 405), "{path}: {answer:?}");
    }
    assert!(stage.site.seen().iter().all(|seen| seen.target.starts_with("/.jari-gate")));
}

with_each_proxy! {
    a_browser_is_led_to_the_room_and_lands_where_it_wanted
    a_program_is_told_in_json
    a_pass_that_was_given_back_opens_nothing
    issue_5_attack_no_client_tells_the_gate_another_address
    the_reserved_folder_has_nothing_of_operators
}
