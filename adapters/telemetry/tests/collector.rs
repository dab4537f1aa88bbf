//! Spans on their way to a collector that takes them, one that says nothing, and one that is not there.

use std::time::Duration;

use jari_ports::{Field, Parent, Span, SpanId, SpanKind, Traces};
use jari_telemetry::{Collector, CollectorOptions, SpanCounts};
use jari_testkit::{FakeCollector, eventually};
use tokio::time::Instant;

/// Far above what sending on loopback takes, far below the exporter's own patience.
const SOON: Duration = Duration::from_secs(3);

fn options(endpoint: &url::Url) -> CollectorOptions {
    CollectorOptions {
        endpoint: endpoint.clone(),
        service_name: "a test".to_owned(),
        service_version: "1.2.3",
        instance: "me".to_owned(),
    }
}

fn span(number: u8) -> Span {
    Span {
        id: SpanId { trace: [7; 16], span: [number; 8] },
        parent: Some(Parent { span: [9; 8], remote: true }),
        name: "GET /v1/rooms/{room}".into(),
        kind: SpanKind::Server,
        began_us: 1_796_029_200_000_001,
        took: Duration::from_micros(250),
        failed: number == 1,
        fields: vec![
            ("jari.room", Field::Text("shop".into())),
            ("http.response.status_code", Field::Number(503)),
        ],
        links: vec![SpanId { trace: [5; 16], span: [6; 8] }],
    }
}

#[tokio::test]
async fn what_waits_is_sent_before_the_shutdown_ends_and_arrives_as_it_was() {
    let fake = FakeCollector::start().await;
    let collector = Collector::start(&options(fake.endpoint())).expect("a collector");
    collector.keep(span(1));
    for _ in 0..1_299 {
        collector.keep(span(2));
    }
    collector.shutdown(SOON).await;
    let spans = fake.spans();
    assert_eq!((spans.len(), collector.counts().sent), (1_300, 1_300));
    let first = &spans[0];
    assert_eq!(
        (first.trace.as_str(), first.id.as_str()),
        ("07".repeat(16).as_str(), "01".repeat(8).as_str())
    );
    assert_eq!(first.parent, "09".repeat(8));
    assert_eq!(first.name, "GET /v1/rooms/{room}");
    assert_eq!(
        (first.began_ns, first.ended_ns),
        (1_796_029_200_000_001_000, 1_796_029_200_000_251_000)
    );
    assert_eq!((first.is_server, first.failed, spans[1].failed), (true, true, false));
    assert_eq!(first.fields["jari.room"], "shop");
    assert_eq!(first.fields["http.response.status_code"], "503");
    assert_eq!(first.links, ["05".repeat(16)]);
    for (key, value) in
        [("service.name", "a test"), ("service.version", "1.2.3"), ("service.instance.id", "me")]
    {
        assert_eq!(first.resource[key], value);
    }
    collector.keep(span(3));
    assert_eq!(collector.counts().dropped, 1, "nothing is taken after the shutdown");
}

#[tokio::test]
async fn a_collector_that_says_nothing_costs_spans_and_no_time() {
    let fake = FakeCollector::silent().await;
    let collector = Collector::start(&options(fake.endpoint())).expect("a collector");
    let begun = Instant::now();
    for _ in 0..30_000 {
        collector.keep(span(2));
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let counts = collector.counts();
    // All but what the queue and the batch under way hold.
    assert!(counts.dropped > 20_000, "{counts:?}");
    assert_eq!((counts.sent, counts.failed), (0, 0));
    let begun = Instant::now();
    collector.shutdown(Duration::from_millis(100)).await;
    assert!(begun.elapsed() < SOON, "a shutdown waits no longer than it was told");
}

#[tokio::test]
async fn a_collector_that_is_not_there_is_counted() {
    // Bound and let go: nobody listens there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let endpoint = format!("http://{}", gone.expect("a free port")).parse().expect("a URL");
    let collector = Collector::start(&options(&endpoint)).expect("a collector");
    collector.keep(span(2));
    collector.shutdown(SOON).await;
    let failed = async || (collector.counts().failed == 1).then_some(());
    eventually("the span counts as failed", failed).await;
    assert_eq!(collector.counts(), SpanCounts { sent: 0, dropped: 0, failed: 1 });
}
