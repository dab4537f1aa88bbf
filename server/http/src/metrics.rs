//! What the server counts and measures, in Prometheus names with units. Decides nothing; its own listener is in `ops`.
//!
//! Handlers and tasks note what happened through the methods here, each of which takes no lock; gauges of rooms are
//! computed at the scrape from the replicas, so that nothing on a visitor's path keeps them.

mod calls;
mod cgroup;
mod families;
mod latency;
mod numbers;
mod others;
mod process;
mod resolved;
mod room_events;
mod rooms;
mod source;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;

use crate::protect::Reason;
use crate::roles::{Role, Roles};
use jari_ports::StoreError;
use numbers::Numbers;
use others::Others;
pub(crate) use room_events::{RoomEvents, dwells};
pub use rooms::RoomCounts;
use rooms::Rooms;
use source::Sourced;
pub use source::{Metric, MetricKind, MetricSource};

/// Every number that `/metrics` shows, but those of rooms.
#[derive(Debug)]
pub struct Metrics {
    numbers: Arc<Numbers>,
    registry: Registry,
    /// Scrapes alone take this lock.
    others: Mutex<Others>,
}

/// In which of the two text formats a scrape is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    OpenMetrics,
    /// Of Prometheus before it, version 0.0.4: what simpler readers know.
    Classic,
}

/// What is read off the server's state at a scrape.
#[derive(Debug)]
pub struct Observed {
    /// In order of id.
    pub rooms: Vec<RoomCounts>,
    /// For how long the store has answered nothing.
    pub store_down: Duration,
    /// For how long it has refused everything, which is what may open a gate.
    pub store_refusing: Duration,
    /// Rooms whose part of the store answers nothing, as far as anybody asked lately.
    pub rooms_away: usize,
    pub draining: bool,
    pub roles: Roles,
    /// Bundles of rooms that this node ticks, and admitters there are.
    pub leases: (u32, usize),
    pub connections_max: usize,
    pub streams_max: u64,
}

/// A frame of a stream whose way is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The line, told to all.
    Line,
    /// A place whose status changed: admitted, ended, absent, next.
    Place,
}

/// How a call of the store came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreOutcome {
    /// It said something, be it that it has no such room.
    Answered,
    /// No connection was to be had, or the store said that it cannot.
    Refused,
    /// Nothing was said within the deadline.
    Silent,
}

/// What a gate would have done, had the room's mode let it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Would {
    /// Nobody looked: the room is off.
    Off,
    Pass,
    /// Sent to the line, or kept there.
    Wait,
    /// Turned away: the room is full or closed, or the limit of joins is reached.
    Refuse,
    /// The store did not answer in time.
    Unknown,
}

impl Would {
    const ALL: [Would; 5] = [Would::Off, Would::Pass, Would::Wait, Would::Refuse, Would::Unknown];

    fn as_str(self) -> &'static str {
        match self {
            Would::Off => "off",
            Would::Pass => "pass",
            Would::Wait => "wait",
            Would::Refuse => "refuse",
            Would::Unknown => "unknown",
        }
    }
}

/// Something that is kept ready for the next who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// The bytes of a room's public view.
    RoomView,
    /// A room's page, rendered and compressed.
    RoomPage,
}

/// Counts one more of something for as long as it lives.
#[derive(Debug)]
pub struct Counted(Arc<AtomicI64>);

impl Counted {
    fn new(count: Arc<AtomicI64>) -> Self {
        count.fetch_add(1, Relaxed);
        Counted(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl StoreOutcome {
    /// What an answer of the store counts as.
    #[must_use]
    pub fn of<T>(answer: &Result<T, StoreError>) -> Self {
        match answer {
            Err(StoreError::Unavailable(_)) => StoreOutcome::Refused,
            Err(StoreError::Silent(_)) => StoreOutcome::Silent,
            _ => StoreOutcome::Answered,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            StoreOutcome::Answered => "answered",
            StoreOutcome::Refused => "refused",
            StoreOutcome::Silent => "silent",
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl TextFormat {
    /// What a client that sends this `Accept` gets: a browser, or `curl`, something that everybody reads.
    #[must_use]
    pub fn of(accept: Option<&str>) -> Self {
        match accept {
            Some(accept) if accept.contains("application/openmetrics-text") => {
                TextFormat::OpenMetrics
            }
            _ => TextFormat::Classic,
        }
    }

    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            TextFormat::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            TextFormat::Classic => prometheus_text::CONTENT_TYPE,
        }
    }
}

impl Metrics {
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let numbers = Arc::<Numbers>::default();
        registry.register_collector(Box::new(process::Process));
        registry.register_collector(Box::new(numbers.clone()));
        Metrics { numbers, registry, others: Mutex::default() }
    }

    /// Shows the metrics of `source` too.
    #[must_use]
    pub fn with(mut self, source: impl MetricSource) -> Self {
        self.registry.register_collector(Box::new(Sourced(Box::new(source))));
        self
    }

    /// A request of `route` (its template, never the path) begins; it is in flight while the answer lives.
    #[must_use]
    pub fn call_started(&self, route: &str) -> Counted {
        Counted::new(self.numbers.calls.under_way(route))
    }

    /// A request was answered.
    pub fn call_ended(&self, method: &http::Method, route: &str, status: u16, took: Duration) {
        self.numbers.calls.answered(method_label(method), route, status, took);
    }

    /// A call was refused with this problem code.
    pub fn refused(&self, reason: &'static str) {
        self.numbers.refused(reason);
    }

    /// A store's operation came back.
    pub fn store_answered(&self, operation: &'static str, outcome: StoreOutcome, took: Duration) {
        self.numbers.store_answered(operation, outcome, took);
    }

    /// One room's tick is done.
    pub fn ticked(&self, took: Duration) {
        self.numbers.tick.note(took);
    }

    /// An event stream is open while the answer lives.
    #[must_use]
    pub fn stream_opened(&self) -> Counted {
        Counted::new(self.numbers.streams.clone())
    }

    /// A frame was written to so many streams, so long after the event that it tells of was applied here.
    pub(crate) fn told(&self, notice: Notice, took: Duration, streams: u64) {
        if streams > 0 {
            self.numbers.told(notice).note_many(took, streams);
        }
    }

    /// Something kept ready was asked for.
    pub(crate) fn cache_asked(&self, cache: Cache, hit: bool) {
        self.numbers.cache(cache, hit).fetch_add(1, Relaxed);
    }

    /// A connection is open while the answer lives.
    #[must_use]
    pub fn connection_opened(&self) -> Counted {
        Counted::new(self.numbers.connections.clone())
    }

    /// A connection was turned away.
    pub fn connection_refused(&self) {
        self.numbers.connections_refused.fetch_add(1, Relaxed);
    }

    /// The gate of `room` let a request pass without a look at it.
    pub fn passed_unchecked(&self, room: &str) {
        self.numbers.passed_unchecked(room);
    }

    /// The gate of `room` let a request pass, as the room's mode wants it; it would else have done this.
    pub(crate) fn shadowed(&self, room: &str, would: Would) {
        self.numbers.shadowed(room, would);
    }

    /// A site asked about so many passes, with this outcome.
    pub(crate) fn site_asked(&self, call: &'static str, outcome: &str, passes: u64) {
        if passes > 0 {
            self.numbers.site_asked(call, outcome, passes);
        }
    }

    /// The store has lost so many people of the lists by name.
    pub(crate) fn unlisted(&self, people: u64) {
        self.numbers.unlisted.fetch_add(people, Relaxed);
    }

    /// A challenge was made, or a solution looked at.
    pub(crate) fn challenged(&self, outcome: &'static str) {
        self.numbers.challenged(outcome);
    }

    /// An address to lead a visitor back to was none that anybody has allowed.
    pub fn return_dropped(&self) {
        self.numbers.returns_dropped.fetch_add(1, Relaxed);
    }

    /// The protected site gave no answer to a request.
    pub(crate) fn site_failed(&self, reason: Reason) {
        self.numbers.site_failures(reason).fetch_add(1, Relaxed);
    }

    /// The certificate of the site's listener has changed: the new one is shown from now on, or could not be used.
    pub fn certificate_renewed(&self, taken: bool) {
        self.numbers.certificates(taken).fetch_add(1, Relaxed);
    }

    /// Everything, with what was observed, as text.
    #[must_use]
    pub fn scrape(&self, format: TextFormat, observed: Observed) -> String {
        let mut now = Registry::default();
        let node = observed.node();
        let rooms = Rooms::new(observed.rooms, &mut self.others.lock());
        now.register_collector(Box::new(Sourced(Box::new(node))));
        now.register_collector(Box::new(rooms));
        let mut text = String::new();
        write(&mut text, format, [&self.registry, &now])
            .expect("writing to a string does not fail");
        text
    }
}

fn write(out: &mut String, format: TextFormat, registries: [&Registry; 2]) -> fmt::Result {
    match format {
        TextFormat::OpenMetrics => {
            registries.iter().try_for_each(|registry| text::encode_registry(out, registry))?;
            text::encode_eof(out)
        }
        TextFormat::Classic => {
            registries.iter().try_for_each(|registry| prometheus_text::encode(out, registry))
        }
    }
}

/// What was observed of the node as a whole.
#[derive(Debug)]
struct Node(Vec<Metric>);

impl MetricSource for Node {
    fn read(&self) -> Vec<Metric> {
        self.0.clone()
    }
}

impl Observed {
    fn node(&self) -> Node {
        let gauges = [
            ("jari_rooms", "Rooms at work on this node", self.rooms.len() as f64),
            (
                "jari_store_down_seconds",
                "For how long the line store has answered nothing",
                self.store_down.as_secs_f64(),
            ),
            (
                "jari_store_refusing_seconds",
                "For how long the line store has refused every call; it may be down without, if it is silent",
                self.store_refusing.as_secs_f64(),
            ),
            (
                "jari_rooms_away",
                "Rooms for which the line store answers nothing, as far as anybody asked lately",
                self.rooms_away as f64,
            ),
            ("jari_draining", "1 while the server goes away", f64::from(u8::from(self.draining))),
            ("jari_connections_max", "Connections at most", self.connections_max as f64),
            ("jari_streams_max", "Event streams at most", self.streams_max as f64),
            (
                "jari_leases",
                "Bundles of rooms that this node ticks, of 64 in all",
                f64::from(self.leases.0),
            ),
            (
                "jari_admitters",
                "Nodes that tick rooms, as this one heard when it renewed its leases",
                self.leases.1 as f64,
            ),
        ];
        let mut metrics: Vec<_> =
            gauges.map(|(name, help, value)| Metric::gauge(name, help, value)).into();
        let roles =
            Role::ALL.map(|role| (role.as_str(), f64::from(u8::from(self.roles.has(role)))));
        let help = "1 for what this node serves";
        metrics.push(Metric::gauge("jari_node_role", help, 0.0).by("role", &roles));
        Node(metrics)
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

    fn scrape(metrics: &Metrics, format: TextFormat) -> String {
        let observed = Observed {
            rooms: Vec::new(),
            store_down: Duration::from_millis(1_500),
            store_refusing: Duration::from_millis(500),
            rooms_away: 3,
            draining: false,
            roles: [Role::Web, Role::Admitter].into_iter().collect(),
            leases: (32, 2),
            connections_max: 100,
            streams_max: 50,
        };
        metrics.scrape(format, observed)
    }

    #[test]
    fn a_scrape_shows_what_was_noted_under_names_with_units() {
        let metrics = Metrics::new();
        let route = "/v1/rooms/{room}/places";
        let in_flight = metrics.call_started(route);
        metrics.call_ended(&http::Method::POST, route, 201, Duration::from_millis(3));
        metrics.refused("too_fast");
        metrics.store_answered("join", StoreOutcome::Answered, Duration::from_micros(300));
        metrics.store_answered("seen", StoreOutcome::Silent, Duration::from_secs(2));
        metrics.ticked(Duration::from_micros(80));
        metrics.told(Notice::Line, Duration::from_millis(30), 1_000);
        metrics.cache_asked(Cache::RoomView, true);
        metrics.passed_unchecked("shop");
        metrics.shadowed("shop", Would::Off);
        metrics.shadowed("shop", Would::Wait);
        let _stream = metrics.stream_opened();
        let text = scrape(&metrics, TextFormat::OpenMetrics);
        for line in [
            r#"jari_call_duration_seconds_count{method="POST",route="/v1/rooms/{room}/places",status="201"} 1"#,
            r#"jari_calls_in_flight{route="/v1/rooms/{room}/places"} 1"#,
            r#"jari_refused_total{reason="too_fast"} 1"#,
            r#"jari_refused_total{reason="room_full"} 0"#,
            r#"jari_store_duration_seconds_count{operation="join",outcome="answered"} 1"#,
            r#"jari_store_duration_seconds_count{operation="seen",outcome="silent"} 1"#,
            r#"jari_notice_latency_seconds_count{frame="line"} 1000"#,
            r#"jari_cache_requests_total{cache="room_view",outcome="hit"} 1"#,
            r#"jari_gate_unchecked_total{room="shop"} 1"#,
            r#"jari_gate_off_total{room="shop"} 1"#,
            r#"jari_gate_shadow_total{room="shop",would="wait"} 1"#,
            "jari_tick_duration_seconds_count 1",
            "jari_streams 1",
            "jari_store_down_seconds 1.5",
            "jari_store_refusing_seconds 0.5",
            "jari_rooms_away 3",
            r#"jari_node_role{role="gate"} 0"#,
            r#"jari_node_role{role="admitter"} 1"#,
            "jari_leases 32",
            "jari_admitters 2",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        drop(in_flight);
        let line = r#"jari_calls_in_flight{route="/v1/rooms/{room}/places"} 0"#;
        assert!(scrape(&metrics, TextFormat::OpenMetrics).contains(line));
    }

    #[test]
    fn simpler_readers_get_the_classic_text() {
        let text = scrape(&Metrics::new(), TextFormat::Classic);
        assert!(text.contains("# TYPE jari_refused_total counter\n"), "{text}");
        assert!(!text.contains("# EOF"));
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";
        assert_eq!(TextFormat::of(Some(prometheus)), TextFormat::OpenMetrics);
        assert_eq!(TextFormat::of(Some("*/*")), TextFormat::Classic);
        assert_eq!(TextFormat::of(None), TextFormat::Classic);
    }

    #[test]
    fn a_clients_own_method_makes_no_label() {
        let method = http::Method::from_bytes(b"SECRET").expect("a token");
        assert_eq!(method_label(&method), "other");
    }
}
