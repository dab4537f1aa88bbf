//! What a load of requests found, as text and JSON. Runs nothing.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::found::{Counts, Found, ms};
use crate::process::Usage;

/// A finished run. Only answers with the wanted status count as `ok` and are in the percentiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Of an open loop: how its requests left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) open: Option<OpenLoop>,
    /// Of the server's process during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ServerUse>,
    /// Every latency, so that reports of several processes can be added up.
    pub(crate) counts: Counts,
}

/// An open loop sends by the clock: latencies count from the moment a request was due, whether or not it could be sent
/// then, so that a server that stalls cannot hide behind requests that were never made (coordinated omission).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenLoop {
    /// Due, and not sent, because nothing was free to send it in time.
    pub(crate) dropped: u64,
    /// How long after they were due requests left: the generator's own delay, and the server's where all connections
    /// waited for it.
    pub(crate) late_p99_ms: f64,
    pub(crate) late_counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServerUse {
    /// Cores kept busy on average.
    pub(crate) cores: f64,
    pub(crate) cpu_us_per_ok: f64,
    pub(crate) rss_mb_before: f64,
    pub(crate) rss_mb_after: f64,
}

impl Report {
    pub(crate) fn new(connections: usize, seconds: f64, found: &Found) -> Self {
        let latencies = &found.latencies;
        Report {
            connections,
            seconds,
            ok: latencies.len(),
            per_s: latencies.len() as f64 / seconds,
            p50_ms: ms(latencies, 0.5),
            p95_ms: ms(latencies, 0.95),
            p99_ms: ms(latencies, 0.99),
            max_ms: ms(latencies, 1.0),
            errors: found.errors.clone(),
            open: None,
            server: None,
            counts: Counts::of(latencies),
        }
    }

    /// The report of an open loop.
    pub(crate) fn open_loop(connections: usize, seconds: f64, found: &Found) -> Self {
        let open = OpenLoop {
            dropped: found.dropped,
            late_p99_ms: ms(&found.late, 0.99),
            late_counts: Counts::of(&found.late),
        };
        Report { open: Some(open), ..Report::new(connections, seconds, found) }
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

    /// One report of what several processes did at the same time.
    pub(crate) fn merge(parts: &[Report]) -> Result<Report> {
        let (mut all, mut connections, mut seconds) = (Found::default(), 0, 0.0f64);
        for part in parts {
            part.counts.add_to(&mut all.latencies)?;
            for (what, count) in &part.errors {
                *all.errors.entry(what.clone()).or_default() += count;
            }
            if let Some(open) = &part.open {
                open.late_counts.add_to(&mut all.late)?;
                all.dropped += open.dropped;
            }
            connections += part.connections;
            seconds = seconds.max(part.seconds);
        }
        Ok(Report::open_loop(connections, seconds, &all))
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
        if let Some(OpenLoop { dropped, late_p99_ms, .. }) = &self.open {
            writeln!(f, "            from when each was due (open loop: no coordinated omission)")?;
            writeln!(f, "dropped     {dropped}; sent late by {late_p99_ms:.2} ms at p99")?;
        }
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
    use tokio::time::Duration;

    use super::*;
    use crate::found::note;

    fn found(from_ms: u64, to_ms: u64) -> Found {
        let mut found = Found { dropped: 2, ..Found::default() };
        (from_ms..=to_ms).for_each(|ms| note(&mut found.latencies, Duration::from_millis(ms)));
        (0..3).for_each(|_| found.error("503"));
        found.error("transport");
        found
    }

    #[test]
    fn a_report_counts_only_good_answers_and_names_the_others() {
        let used = |cpu_s, rss_mb| Some(Usage { cpu_s, rss_mb });
        let report =
            Report::new(4, 2.0, &found(1, 100)).with_server(used(1.0, 10.0), used(2.0, 12.0));
        assert_eq!((report.ok, report.per_s), (100, 50.0));
        assert!((report.p50_ms - 50.0).abs() < 0.1 && (report.p99_ms - 99.0).abs() < 0.1);
        let server = report.server.expect("both were there");
        assert_eq!((server.cores, server.cpu_us_per_ok), (0.5, 10_000.0));
        let text = report.to_string();
        assert!(text.contains("errors      4 (503: 3) (transport: 1)"), "{text}");
        assert!(report.clone().with_server(None, used(2.0, 12.0)).server.is_none());
    }

    #[test]
    fn reports_of_processes_become_one_with_the_percentiles_of_all() {
        let parts =
            [(1, 50), (51, 100)].map(|(from, to)| Report::open_loop(8, 2.0, &found(from, to)));
        let sent = serde_json::to_string(&parts).expect("JSON");
        let came: Vec<Report> = serde_json::from_str(&sent).expect("the same");
        let merged = Report::merge(&came).expect("they add up");
        let whole = Report::open_loop(16, 2.0, &found(1, 100));
        assert_eq!(merged.counts, whole.counts);
        assert_eq!((merged.p99_ms, merged.max_ms), (whole.p99_ms, whole.max_ms));
        assert_eq!((merged.connections, merged.per_s), (16, 50.0));
        assert_eq!(merged.errors["503"], 6);
        assert_eq!(merged.open.expect("an open loop").dropped, 4);
    }
}
