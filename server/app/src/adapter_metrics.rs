//! What the adapters count of themselves, as metrics. The only place that knows both.

use std::sync::Arc;

use jari_embedded::StoreStats;
use jari_http::metrics::{Metric, MetricSource};
use jari_records::{PoolStats, Records};
use jari_telemetry::{Collector, SpanCounts};

use crate::lines::Lines;

/// The adapters of one server.
#[derive(Debug)]
pub(crate) struct AdapterMetrics {
    pub(crate) lines: Lines,
    pub(crate) records: Records,
    pub(crate) collector: Option<Arc<Collector>>,
}

impl MetricSource for AdapterMetrics {
    fn read(&self) -> Vec<Metric> {
        let mut metrics = self.lines.stats().map(|stats| of_store(&stats)).unwrap_or_default();
        metrics.extend(of_pool(&self.records.pool_stats()));
        metrics.extend(self.collector.as_ref().map(|collector| of_spans(&collector.counts())));
        metrics
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn of_store(stats: &StoreStats) -> Vec<Metric> {
    let checkpoints =
        [("written", stats.checkpoints as f64), ("failed", stats.checkpoints_failed as f64)];
    vec![
        Metric::gauge(
            "jari_store_queue_calls",
            "Calls that the store has taken and not answered",
            stats.queued as f64,
        ),
        Metric::counter(
            "jari_journal_commits",
            "Commits to the journal, each a sync of the disk",
            stats.commits as f64,
        ),
        Metric::counter("jari_journal_events", "Events in those commits", stats.events as f64),
        Metric::counter(
            "jari_journal_commit_seconds",
            "Time in commits; by jari_journal_commits it is the mean",
            seconds(stats.commit_us),
        ),
        Metric::gauge(
            "jari_journal_commit_max_seconds",
            "The longest commit since the start",
            seconds(stats.commit_max_us),
        ),
        Metric::counter(
            "jari_journal_failures",
            "Commits that the disk refused",
            stats.failures as f64,
        ),
        Metric::gauge(
            "jari_journal_lag_events",
            "Events that no checkpoint covers: what a restart replays",
            stats.ahead.events as f64,
        ),
        Metric::gauge("jari_journal_lag_bytes", "Bytes of those events", stats.ahead.bytes as f64),
        Metric::counter("jari_checkpoints", "Checkpoints, by how they ended", 0.0)
            .by("outcome", &checkpoints),
    ]
}

fn of_pool(pool: &PoolStats) -> Vec<Metric> {
    const POOL: &str = "records";
    let by_pool =
        |name, help, value: u64| Metric::gauge(name, help, 0.0).by("pool", &[(POOL, value as f64)]);
    vec![
        by_pool("jari_pool_used_connections", "Connections in use", pool.used),
        by_pool("jari_pool_idle_connections", "Connections open and free", pool.idle),
        by_pool("jari_pool_max_connections", "Connections at most", pool.max),
        by_pool("jari_pool_waiting_calls", "Calls that wait for a connection", pool.waiting),
    ]
}

fn of_spans(spans: &SpanCounts) -> Metric {
    let outcomes = [
        ("sent", spans.sent as f64),
        ("dropped", spans.dropped as f64),
        ("failed", spans.failed as f64),
    ];
    let help =
        "Spans by what became of them: sent, dropped for want of room, failed at the collector";
    Metric::counter("jari_trace_spans", help, 0.0).by("outcome", &outcomes)
}
