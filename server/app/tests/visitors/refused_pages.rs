//! What a browser shows where a page could not be: a page in the visitor's language. Programs get the problem.

use jari_testkit::{Answer, TestApp};
use reqwest::Method;
use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE};

/// As a browser goes from page to page.
async fn go(app: &TestApp, path: &str, language: &str) -> Answer {
    let request = app.visitor().request(Method::GET, path);
    let request =
        request.header(ACCEPT, "text/html,*/*;q=0.8").header("sec-fetch-mode", "navigate");
    let answer = request.header(ACCEPT_LANGUAGE, language).send().await;
    Answer::read(answer.expect("an answer")).await
}

#[tokio::test]
async fn issue_5_a_browser_that_asks_for_a_page_wrongly_is_answered_by_a_page() {
    let app = TestApp::start().await;
    let room = app.create_room(|_| {}).await;
    let pages = [format!("/rooms/{room}"), format!("/rooms/{room}/plain")];
    let pages = pages.iter().flat_map(|page| [page.clone(), format!("/.jari{page}")]);
    for page in pages {
        for query in ["return=/a&return=/b", "lang=ko&lang=en", "entry=a&entry=b"] {
            let path = format!("{page}?{query}");
            for (language, words) in
                [("ko", "이 주소는 열 수 없습니다"), ("en", "This address cannot be opened")]
            {
                let answer = go(&app, &path, language).await.expect(400);
                assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
                let told = answer.header("content-security-policy").expect("it is protected");
                assert!(told.starts_with("default-src 'none'"), "{told}");
                assert_eq!(answer.header("cache-control"), Some("no-store"));
                let text = answer.text();
                assert!(text.contains(words) && !text.contains("refresh"), "{path}: {text}");
            }
            app.visitor().get(&path).await.problem(400, "bad_request");
        }
    }
    for (path, status, words) in [
        ("/rooms/none", 404, "There is no such waiting room"),
        ("/rooms/%ff", 404, "There is no such waiting room"),
        ("/rooms/%ff/go", 404, "There is no such waiting room"),
        ("/rooms/a/b/c", 404, "This address cannot be opened"),
        ("/", 404, "This address cannot be opened"),
    ] {
        let text = go(&app, path, "en").await.expect(status).text();
        assert!(text.contains("<!doctype html>") && text.contains(words), "{path}: {text}");
    }
    // A developer who looks at the API reads it as it is.
    go(&app, "/v1/rooms/none", "en").await.problem(404, "unknown_room");
    go(&app, "/v1/none", "en").await.problem(404, "not_found");
    app.stop().await;
}
