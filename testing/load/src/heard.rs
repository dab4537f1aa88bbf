//! What many event streams said: how long after the first of them each heard the same line. Opens no stream.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use tokio::time::Instant;

use crate::found::{Counts, latencies, ms};

/// What all streams heard since it began.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    listening: bool,
    lines: HashMap<String, Line>,
    ended: u64,
}

#[derive(Debug)]
struct Line {
    first: Instant,
    last: Instant,
    /// Of each receipt after the first, microseconds.
    after_us: Vec<u32>,
}

impl Heard {
    /// What came before is not counted.
    pub(crate) fn begin(&mut self) {
        self.listening = true;
        self.lines.clear();
        self.ended = 0;
    }

    pub(crate) fn line(&mut self, id: &str, now: Instant) {
        if !self.listening {
            return;
        }
        if let Some(line) = self.lines.get_mut(id) {
            // Threads may tell in another order than they heard.
            let after = now.saturating_duration_since(line.first).as_micros();
            line.after_us.push(u32::try_from(after).unwrap_or(u32::MAX));
            line.last = line.last.max(now);
            return;
        }
        let line = Line { first: now, last: now, after_us: vec![0] };
        self.lines.insert(id.to_owned(), line);
    }

    pub(crate) fn ended(&mut self) {
        self.ended += 1;
    }

    pub(crate) fn report(
        &self,
        streams: usize,
        failed: usize,
        connect_s: f64,
        memory_mb: Option<(f64, f64)>,
        cpu_s: Option<f64>,
    ) -> StreamsReport {
        let (mut each, mut all) = (latencies(), latencies());
        // A line that was on its way at the begin or at the end is not whole.
        let whole: Vec<&Line> =
            self.lines.values().filter(|line| line.after_us.len() >= streams).collect();
        for line in &whole {
            line.after_us.iter().for_each(|us| each.saturating_record(u64::from(*us)));
            let spread = line.last.saturating_duration_since(line.first).as_micros();
            all.saturating_record(u64::try_from(spread).unwrap_or(u64::MAX));
        }
        StreamsReport {
            streams,
            failed,
            ended: self.ended,
            connects_per_s: streams as f64 / connect_s,
            bytes_per_stream: memory_mb
                .map(|(before, after)| (after - before) * 1_048_576.0 / streams.max(1) as f64),
            memory_mb,
            lines: self.lines.len(),
            whole_lines: whole.len(),
            each_p50_ms: ms(&each, 0.5),
            each_p99_ms: ms(&each, 0.99),
            all_p50_ms: ms(&all, 0.5),
            all_p99_ms: ms(&all, 0.99),
            server_cpu_s: cpu_s,
            each_counts: Counts::of(&each),
        }
    }
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StreamsReport {
    pub(crate) streams: usize,
    pub(crate) failed: usize,
    /// Streams that ended while they were listened to.
    pub(crate) ended: u64,
    pub(crate) connects_per_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_per_stream: Option<f64>,
    /// The server's, before the streams and with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<(f64, f64)>,
    pub(crate) lines: usize,
    /// Lines that every stream heard: only these are in the times.
    pub(crate) whole_lines: usize,
    /// From the first receipt of a line to every other.
    pub(crate) each_p50_ms: f64,
    pub(crate) each_p99_ms: f64,
    /// From the first receipt of a line to the last.
    pub(crate) all_p50_ms: f64,
    pub(crate) all_p99_ms: f64,
    /// While it was listened to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server_cpu_s: Option<f64>,
    /// Every receipt after the first, for a picture.
    pub(crate) each_counts: Counts,
}

impl fmt::Display for StreamsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StreamsReport { streams, failed, ended, connects_per_s, .. } = self;
        writeln!(f, "{streams} streams, {failed} failed, {ended} ended early")?;
        writeln!(f, "connects    {connects_per_s:.0}/s to the first frame")?;
        if let (Some((before, after)), Some(each)) = (self.memory_mb, self.bytes_per_stream) {
            writeln!(f, "memory      {each:.0} bytes a stream ({before:.1} -> {after:.1} MB)")?;
        }
        let StreamsReport { lines, whole_lines, each_p50_ms, each_p99_ms, .. } = self;
        writeln!(f, "lines       {lines}, heard by all {whole_lines}")?;
        writeln!(f, "first-each  p50 {each_p50_ms:.1} ms, p99 {each_p99_ms:.1} ms")?;
        write!(f, "first-last  p50 {:.1} ms, p99 {:.1} ms", self.all_p50_ms, self.all_p99_ms)?;
        if let Some(cpu_s) = self.server_cpu_s {
            write!(f, "\nserver      {cpu_s:.2} s of CPU while listening")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Duration;

    use super::*;

    #[test]
    fn only_lines_that_all_heard_are_timed() {
        let (mut heard, start) = (Heard::default(), Instant::now());
        heard.line("1-0", start);
        heard.begin();
        for (id, after_ms) in [("1-1", 0), ("1-1", 4), ("1-1", 10), ("1-2", 20), ("1-2", 990)] {
            heard.line(id, start + Duration::from_millis(after_ms));
        }
        let report = heard.report(3, 1, 0.5, Some((10.0, 13.0)), None);
        assert_eq!((report.lines, report.whole_lines, report.connects_per_s), (2, 1, 6.0));
        assert_eq!(report.bytes_per_stream, Some(1_048_576.0));
        assert!((report.each_p50_ms - 4.0).abs() < 0.1, "{report}");
        assert!((report.all_p99_ms - 10.0).abs() < 0.1, "{report}");
    }
}
