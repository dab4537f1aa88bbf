//! Names in the paths of operators' and tenants' calls that are none. The calls are the OpenAPI document's own, so a new one
//! is in it by itself.

use jari_testkit::{Answer, TestApp};

use crate::isolation::{body, keyed};

#[tokio::test]
async fn issue_5_a_name_that_is_no_utf_8_is_a_problem_as_any_other_in_every_call() {
    let app = TestApp::start().await;
    let names = ["room", "group", "tenant", "id"].map(|name| (name, "%ff"));
    let calls = keyed(&app, &names).await;
    let named: Vec<_> = calls.into_iter().filter(|call| call.path.contains("%ff")).collect();
    assert!(named.len() > 20, "{}", named.len());
    for call in named {
        let request = app.operator().request(call.method.clone(), &call.path);
        let request = match body(&call) {
            Some(body) => request.json(&body),
            None => request,
        };
        let answer = Answer::read(request.send().await.expect("an answer")).await;
        let want =
            if call.path.contains("rooms/") { (404, "unknown_room") } else { (400, "bad_request") };
        println!("{} {}", call.method, call.path);
        answer.problem(want.0, want.1);
    }
    app.stop().await;
}
