//! Health and metrics, on their own listener.

use jari_testkit::{TestApp, Visitor, eventually};

/// Every sample of an OpenMetrics text: its name with labels, and its value.
fn samples(text: &str) -> Vec<(String, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a sample is a name and a value");
            let value = value.parse().unwrap_or_else(|_| panic!("no number in {line:?}"));
            (name.to_owned(), value)
        })
        .collect()
}

#[tokio::test]
async fn a_scrape_parses_and_counts_what_happened() {
    let app = TestApp::start().await;
    let id = app.create_room(|room| room.settings.pacer = jari_api::admin::PacerBody::Manual).await;
    app.operator().set(&id, serde_json::json!({"capacity": 0})).await;
    let visitor = app.visitor();
    visitor.wait_in(&id).await;
    visitor.get("/v1/rooms/none").await.problem(404, "unknown_room");
    let ops = Visitor::new(app.ops_url());
    let waiting = format!("jari_waiting{{room=\"{id}\"}}");
    let text = eventually("a tick was counted", async || {
        let text = ops.get("/metrics").await.expect(200).text();
        text.contains("jari_tick_duration_seconds_count").then_some(text)
    })
    .await;
    assert!(text.ends_with("# EOF\n"), "OpenMetrics ends with its mark");
    let samples = samples(&text);
    let value = |name: &str| {
        let found = samples.iter().find(|(sample, _)| sample == name);
        found.unwrap_or_else(|| panic!("{name} is not in\n{text}")).1
    };
    assert_eq!(value(&waiting), 1.0);
    assert_eq!(value(&format!("jari_joined_total{{room=\"{id}\"}}")), 1.0);
    assert_eq!(value("jari_refused_total{reason=\"unknown_room\"}"), 1.0);
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_open_fds") > 3.0);
    let route = "method=\"POST\",route=\"/v1/rooms/{room}/places\",status=\"201\"";
    assert_eq!(value(&format!("jari_call_duration_seconds_count{{{route}}}")), 1.0);
    assert!(!text.contains("/v1/rooms/none"), "a raw path is a label");
    app.stop().await;
}

#[tokio::test]
async fn health_is_told_apart_from_readiness() {
    let app = TestApp::start().await;
    let ops = Visitor::new(app.ops_url());
    ops.get("/healthz").await.expect(200);
    assert_eq!(ops.get("/readyz").await.expect(200).text(), "ready\n");
    app.visitor().get("/metrics").await.problem(404, "not_found");
    app.stop().await;
}
