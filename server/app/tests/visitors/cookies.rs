//! Several cookies of one name: one that is not ours, planted by another site of the same domain, hides none that is.

use jari_api::PlaceView;
use jari_testkit::{Answer, TestApp, Visitor, eventually};
use reqwest::Method;
use reqwest::header::HeaderValue;

use crate::open;

/// A call of a browser that holds nothing but `cookies`.
async fn with_cookies(
    app: &TestApp,
    method: Method,
    path: &str,
    cookies: impl AsRef<[u8]>,
) -> Answer {
    let bare: Visitor = app.visitor();
    let cookies = HeaderValue::from_bytes(cookies.as_ref()).expect("a value");
    let response = bare.request(method, path).header("cookie", cookies).send().await;
    let response = response.expect("the server answers");
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.bytes().await.expect("the whole answer").to_vec();
    Answer { status, headers, body }
}

#[tokio::test]
async fn a_planted_cookie_hides_no_identity_no_place_and_no_pass() {
    let app = TestApp::start().await;
    let room = app.create_room(open).await;
    let visitor = app.visitor();
    let identity = visitor.identify().await.visitor_token;
    let place: PlaceView = visitor.join(&room).await.expect(201).json();
    let receipt = place.place_token.expect("a receipt");
    let pass = eventually("the visitor is admitted", async || {
        let answer = visitor.poll(&room).await;
        let place = (answer.status == 200).then(|| answer.json::<PlaceView>())?;
        Some(place.pass?.token)
    })
    .await;

    let (places, me) = (format!("/v1/rooms/{room}/places"), format!("/v1/rooms/{room}/places/me"));
    let gate = format!("/v1/gate/{room}");
    for (method, path, name, token, good) in [
        (Method::POST, &places, "jari_visitor".to_owned(), &identity, 200),
        (Method::GET, &me, format!("jari_place_{room}"), &receipt, 200),
        (Method::GET, &gate, format!("jari_pass_{room}"), &pass, 204),
    ] {
        // A cookie of the site's own in letters that are no ASCII hides none either.
        let korean = with_cookies(&app, method.clone(), path, format!("a=홍길동; {name}={token}"));
        let _ = korean.await.expect(good);
        let bytes = [b"a=\xff; ", format!("{name}={token}").as_bytes()].concat();
        let _ = with_cookies(&app, method.clone(), path, bytes).await.expect(good);
        let planted = format!("{name}=planted; {name}={receipt}x; {name}={token}");
        let _ = with_cookies(&app, method.clone(), path, &planted).await.expect(good);
        let none = with_cookies(&app, method, path, &format!("{name}=planted")).await;
        let problem: serde_json::Value = none.json();
        assert_eq!(problem["reason"], "malformed", "{path}");
    }
    app.stop().await;
}
