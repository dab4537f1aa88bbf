//! What the server counts and measures, in Prometheus names with units. Decides nothing; its own listener is in `ops`.
//!
//! Handlers and tasks note what happened through the methods here; gauges of rooms are computed at the scrape from the
//! replicas, so that nothing on a visitor's path keeps them.

mod process;
mod rooms;

use std::time::Duration;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

pub use rooms::RoomCounts;

/// The scrape's media type.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// From a cached answer to the request deadline.
const CALL_BUCKETS_S: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 2.5, 10.0];
/// From an operation in memory to a disk that stalls.
const STORE_BUCKETS_S: [f64; 11] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1.0, 5.0];

/// Every number that `/metrics` shows, but those of rooms.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<CallLabels, Histogram>,
    in_flight: Family<RouteLabel, Gauge>,
    refused: Family<RefusedLabels, Counter>,
    store: Family<OperationLabels, Histogram>,
    tick: Histogram,
    streams: Gauge,
    connections: Gauge,
    connections_refused: Counter,
    passed_unchecked: Family<RoomLabel, Counter>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RoomLabel {
    room: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RefusedLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OperationLabels {
    operation: &'static str,
    outcome: StoreOutcome,
}

/// Whether the store answered.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
enum StoreOutcome {
    Answered,
    Failed,
}

/// Counts one more of something for as long as it lives.
#[derive(Debug)]
pub struct Counted(Gauge);

impl Counted {
    fn new(gauge: Gauge) -> Self {
        gauge.inc();
        Counted(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Metrics {
            registry: Registry::default(),
            calls: Family::new_with_constructor(|| Histogram::new(CALL_BUCKETS_S)),
            in_flight: Family::default(),
            refused: Family::default(),
            store: Family::new_with_constructor(|| Histogram::new(STORE_BUCKETS_S)),
            tick: Histogram::new(STORE_BUCKETS_S),
            streams: Gauge::default(),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            passed_unchecked: Family::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register_collector(Box::new(process::Process));
        let help = "From the head of a request to the head of its answer";
        registry.register_with_unit("jari_call_duration", help, Unit::Seconds, self.calls.clone());
        let help = "From the call of a line store's operation to its answer";
        registry.register_with_unit("jari_store_duration", help, Unit::Seconds, self.store.clone());
        let help = "One tick of one room";
        registry.register_with_unit("jari_tick_duration", help, Unit::Seconds, self.tick.clone());
        let help = "Requests being worked on";
        registry.register("jari_calls_in_flight", help, self.in_flight.clone());
        registry.register("jari_refused", "Calls refused, by the code told", self.refused.clone());
        registry.register("jari_streams", "Event streams open", self.streams.clone());
        registry.register("jari_connections", "Connections open", self.connections.clone());
        let help = "Connections closed at once because the limit was reached";
        registry.register("jari_connections_refused", help, self.connections_refused.clone());
        let help = "Requests that the gate let pass unchecked while the store was down";
        registry.register("jari_gate_unchecked", help, self.passed_unchecked.clone());
    }

    /// A request of `route` (its template, never the path) begins; it is in flight while the answer lives.
    #[must_use]
    pub fn call_started(&self, route: &str) -> Counted {
        let label = RouteLabel { route: route.to_owned() };
        Counted::new(self.in_flight.get_or_create_owned(&label))
    }

    /// A request was answered.
    pub fn call_ended(&self, method: &http::Method, route: &str, status: u16, took: Duration) {
        let labels = CallLabels { method: method_label(method), route: route.to_owned(), status };
        self.calls.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// A call was refused with this problem code.
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&RefusedLabels { reason }).inc();
    }

    /// A store's operation came back.
    pub fn store_answered(&self, operation: &'static str, answered: bool, took: Duration) {
        let outcome = if answered { StoreOutcome::Answered } else { StoreOutcome::Failed };
        let labels = OperationLabels { operation, outcome };
        self.store.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// One room's tick is done.
    pub fn ticked(&self, took: Duration) {
        self.tick.observe(took.as_secs_f64());
    }

    /// An event stream is open while the answer lives.
    #[must_use]
    pub fn stream_opened(&self) -> Counted {
        Counted::new(self.streams.clone())
    }

    /// A connection is open while the answer lives.
    #[must_use]
    pub fn connection_opened(&self) -> Counted {
        Counted::new(self.connections.clone())
    }

    /// A connection was turned away.
    pub fn connection_refused(&self) {
        self.connections_refused.inc();
    }

    /// The gate of `room` let a request pass without a look at it.
    pub fn passed_unchecked(&self, room: &str) {
        self.passed_unchecked.get_or_create(&RoomLabel { room: room.to_owned() }).inc();
    }

    /// Everything, with the counts of `rooms`, as OpenMetrics text.
    #[must_use]
    pub fn scrape(&self, rooms: &[RoomCounts]) -> String {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)
            .and_then(|()| encode_registry(&mut text, &rooms::registry(rooms)))
            .and_then(|()| encode_eof(&mut text))
            .expect("writing to a string does not fail");
        text
    }
}

/// A request's method is the client's text: any other than these would make a label of it.
pub(crate) fn method_label(method: &http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrape_shows_what_was_noted_under_names_with_units() {
        let metrics = Metrics::new();
        let route = "/v1/rooms/{room}/places";
        let in_flight = metrics.call_started(route);
        metrics.call_ended(&http::Method::POST, route, 201, Duration::from_millis(3));
        metrics.refused("too_fast");
        metrics.store_answered("join", true, Duration::from_micros(300));
        metrics.ticked(Duration::from_micros(80));
        let _stream = metrics.stream_opened();
        let text = metrics.scrape(&[]);
        for line in [
            r#"jari_call_duration_seconds_count{method="POST",route="/v1/rooms/{room}/places",status="201"} 1"#,
            r#"jari_calls_in_flight{route="/v1/rooms/{room}/places"} 1"#,
            r#"jari_refused_total{reason="too_fast"} 1"#,
            r#"jari_store_duration_seconds_count{operation="join",outcome="Answered"} 1"#,
            "jari_tick_duration_seconds_count 1",
            "jari_streams 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        drop(in_flight);
        let line = r#"jari_calls_in_flight{route="/v1/rooms/{room}/places"} 0"#;
        assert!(metrics.scrape(&[]).contains(line));
    }

    #[test]
    fn a_clients_own_method_makes_no_label() {
        let method = http::Method::from_bytes(b"SECRET").expect("a token");
        assert_eq!(method_label(&method), "other");
    }
}
