//! The OpenAPI document: what is served, printed and committed is the same, and it knows every route.

use jari_testkit::{Process, TestApp};
use serde_json::Value;

use crate::JARI;

#[tokio::test]
async fn the_committed_document_is_what_the_program_prints() {
    let mut process = Process::command(JARI, &["openapi"]).spawn();
    assert!(process.wait().await.success(), "{}", process.output());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
    let committed = std::fs::read_to_string(file).expect("docs/reference/openapi.json is there");
    let (printed, committed): (Value, Value) = (
        serde_json::from_str(&process.stdout()).expect("it prints JSON"),
        serde_json::from_str(&committed).expect("the file is JSON"),
    );
    assert_eq!(
        printed, committed,
        "run `cargo xtask openapi` and commit docs/reference/openapi.json"
    );
}

#[tokio::test]
async fn the_served_document_is_the_printed_one() {
    let app = TestApp::start().await;
    let served: Value = app.visitor().get("/openapi.json").await.expect(200).json();
    let printed = serde_json::to_value(jari_http::openapi()).expect("JSON");
    assert_eq!(served, printed);
    let paths = served["paths"].as_object().expect("paths");
    for path in ["/v1/rooms/{room}/places", "/v1/admin/rooms/{room}/sold-out", "/v1/admin/audit"] {
        assert!(paths.contains_key(path), "{path}");
    }
    app.stop().await;
}
