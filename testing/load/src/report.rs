//! What a load run found, as text and JSON. Runs nothing.

use std::collections::BTreeMap;
use std::fmt;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::process::Usage;

/// Latencies are kept from 1 us to a minute, to three digits.
const LATENCY_MAX_US: u64 = 60_000_000;

/// An empty histogram of microseconds.
pub(crate) fn latencies() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_MAX_US, 3).expect("the bounds and digits are allowed")
}

/// A finished run. Only answers with the wanted status count as `ok` and are in the percentiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) connections: usize,
    pub(crate) seconds: f64,
    pub(crate) ok: u64,
    pub(crate) per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    /// Other statuses, and `transport` for answers that did not come.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Of the server's process during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ServerUse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ServerUse {
    /// Cores kept busy on average.
    pub(crate) cores: f64,
    pub(crate) cpu_us_per_ok: f64,
    pub(crate) rss_mb_before: f64,
    pub(crate) rss_mb_after: f64,
}

impl Report {
    pub(crate) fn new(
        connections: usize,
        seconds: f64,
        latencies: &Histogram<u64>,
        errors: BTreeMap<String, u64>,
    ) -> Self {
        let at = |quantile| latencies.value_at_quantile(quantile) as f64 / 1_000.0;
        Report {
            connections,
            seconds,
            ok: latencies.len(),
            per_s: latencies.len() as f64 / seconds,
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: at(1.0),
            errors,
            server: None,
        }
    }

    pub(crate) fn with_server(mut self, before: Option<Usage>, after: Option<Usage>) -> Self {
        self.server = before.zip(after).map(|(before, after)| ServerUse {
            cores: (after.cpu_s - before.cpu_s) / self.seconds,
            cpu_us_per_ok: (after.cpu_s - before.cpu_s) * 1e6 / self.ok.max(1) as f64,
            rss_mb_before: before.rss_mb,
            rss_mb_after: after.rss_mb,
        });
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { connections, seconds, ok, per_s, .. } = self;
        writeln!(f, "{ok} answers in {seconds:.2} s on {connections} connections")?;
        writeln!(f, "throughput  {per_s:.0}/s")?;
        let Report { p50_ms, p95_ms, p99_ms, max_ms, .. } = self;
        writeln!(
            f,
            "latency     p50 {p50_ms:.2} ms, p95 {p95_ms:.2} ms, p99 {p99_ms:.2} ms, max {max_ms:.2} ms"
        )?;
        let errors: u64 = self.errors.values().sum();
        write!(f, "errors      {errors}")?;
        for (what, count) in &self.errors {
            write!(f, " ({what}: {count})")?;
        }
        if let Some(ServerUse { cores, cpu_us_per_ok, rss_mb_before, rss_mb_after }) = self.server {
            write!(f, "\nserver      {cores:.2} cores, {cpu_us_per_ok:.1} us of CPU an answer, ")?;
            write!(f, "{rss_mb_before:.0} -> {rss_mb_after:.0} MB resident")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_only_good_answers_and_names_the_others() {
        let mut kept = latencies();
        (1..=100).for_each(|ms| kept.record(ms * 1_000).expect("in range"));
        let errors = BTreeMap::from([("503".to_owned(), 3), ("transport".to_owned(), 1)]);
        let used = |cpu_s, rss_mb| Some(Usage { cpu_s, rss_mb });
        let report =
            Report::new(4, 2.0, &kept, errors).with_server(used(1.0, 10.0), used(2.0, 12.0));
        assert_eq!((report.ok, report.per_s), (100, 50.0));
        assert!((report.p50_ms - 50.0).abs() < 0.1 && (report.p99_ms - 99.0).abs() < 0.1);
        let server = report.server.expect("both were there");
        assert_eq!((server.cores, server.cpu_us_per_ok), (0.5, 10_000.0));
        let text = report.to_string();
        assert!(text.contains("errors      4 (503: 3) (transport: 1)"), "{text}");
        assert!(report.clone().with_server(None, used(2.0, 12.0)).server.is_none());
    }
}
