//! What a rush found, named as the waiting service's report names it. Runs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use tokio::time::Instant;

use super::World;
use super::allow::Call;
use super::notices::{Noticed, Notices};
use crate::found::{Counts, latencies, ms, note};
use crate::process::Usage;

/// A point of the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Sample {
    pub(super) at_s: f64,
    pub(super) open: u64,
    pub(super) registered: u64,
    pub(super) notified: u64,
    /// The room's newest event that a stream has told of.
    pub(super) event: u64,
}

/// One call to admit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Allowed {
    at_s: f64,
    called: u64,
    /// From when it was due to its answer.
    answer_ms: f64,
    notice_p95_ms: f64,
    notice_max_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RushReport {
    seconds: f64,
    pub(super) arrivals: u64,
    /// Arrivals that could not begin in time.
    pub(super) dropped: u64,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) registered: u64,
    register_p95_ms: f64,
    pub(super) streams_opened: u64,
    pub(super) peak_connections: u64,
    first_byte_p95_ms: f64,
    pub(super) allow_calls: usize,
    allow_p95_ms: f64,
    pub(super) admitted: u64,
    pub(super) notified: u64,
    /// Admitted less notified.
    pub(super) lost: i64,
    pub(super) out_of_order: u64,
    /// From the allow call being sent to the notice at the client.
    notice_p50_ms: f64,
    notice_p95_ms: f64,
    notice_p99_ms: f64,
    notice_max_ms: f64,
    /// Of the room, between the first and the last that a stream told of: batches of joins, ticks and calls. None of
    /// them is made for a waiter.
    events_published: u64,
    /// While people only waited and were admitted, after the last arrival: the same for any crowd.
    #[serde(skip_serializing_if = "Option::is_none")]
    events_per_s_after_arrivals: Option<f64>,
    server_cores: Option<f64>,
    server_rss_mb: Option<f64>,
    notice_counts: Counts,
    calls: Vec<Allowed>,
    timeline: Vec<Sample>,
}

impl RushReport {
    pub(super) fn new(
        world: &World,
        calls: &[Call],
        noticed: Vec<Noticed>,
        timeline: Vec<Sample>,
        (started, arrivals_s): (Instant, f64),
    ) -> RushReport {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &world.counts;
        let (registered, first_bytes) = (world.registered.lock(), world.first_bytes.lock());
        let mut allowing = latencies();
        calls.iter().for_each(|call| note(&mut allowing, call.answered - call.due));
        let notified = noticed.len() as u64;
        let notices = Notices::new(calls, noticed);
        let admitted: u64 = calls.iter().map(|call| call.called).sum();
        let mut errors = registered.errors.clone();
        errors.extend(first_bytes.errors.clone());
        RushReport {
            seconds: started.elapsed().as_secs_f64(),
            arrivals: of(&counts.arrived),
            dropped: registered.dropped,
            errors,
            registered: of(&counts.registered),
            register_p95_ms: ms(&registered.latencies, 0.95),
            streams_opened: of(&counts.opened),
            peak_connections: of(&counts.peak),
            first_byte_p95_ms: ms(&first_bytes.latencies, 0.95),
            allow_calls: calls.len(),
            allow_p95_ms: ms(&allowing, 0.95),
            admitted,
            notified,
            lost: admitted.cast_signed() - notified.cast_signed(),
            out_of_order: notices.out_of_order,
            notice_p50_ms: ms(&notices.latencies, 0.5),
            notice_p95_ms: ms(&notices.latencies, 0.95),
            notice_p99_ms: ms(&notices.latencies, 0.99),
            notice_max_ms: ms(&notices.latencies, 1.0),
            events_published: of(&counts.last_event).saturating_sub(of(&counts.first_event)),
            events_per_s_after_arrivals: events_per_s(&timeline, arrivals_s),
            server_cores: None,
            server_rss_mb: None,
            notice_counts: Counts::of(&notices.latencies),
            calls: allowed(calls, &notices, started),
            timeline,
        }
    }

    pub(super) fn with_server(mut self, before: Option<Usage>, after: Option<Usage>) -> Self {
        self.server_rss_mb = after.map(|after| after.rss_mb);
        let used = before.zip(after).map(|(before, after)| after.cpu_s - before.cpu_s);
        self.server_cores = used.map(|cpu_s| cpu_s / self.seconds);
        self
    }
}

/// From the first point after the last arrival to the last point.
fn events_per_s(timeline: &[Sample], arrivals_s: f64) -> Option<f64> {
    let from = timeline.iter().find(|sample| sample.at_s >= arrivals_s)?;
    let last = timeline.last().filter(|last| last.at_s > from.at_s)?;
    Some(last.event.saturating_sub(from.event) as f64 / (last.at_s - from.at_s))
}

fn allowed(calls: &[Call], notices: &Notices, started: Instant) -> Vec<Allowed> {
    let of_call = |(call, own): (&Call, &_)| Allowed {
        at_s: (call.sent - started).as_secs_f64(),
        called: call.called,
        answer_ms: (call.answered - call.due).as_secs_f64() * 1_000.0,
        notice_p95_ms: ms(own, 0.95),
        notice_max_ms: ms(own, 1.0),
    };
    calls.iter().zip(&notices.by_call).map(of_call).collect()
}

impl fmt::Display for RushReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RushReport { arrivals, dropped, registered, streams_opened, errors, .. } = self;
        writeln!(f, "{arrivals} arrivals, {dropped} dropped, {registered} registered")?;
        writeln!(
            f,
            "streams     {streams_opened} opened, {} at the peak, first byte p95 {:.1} ms",
            self.peak_connections, self.first_byte_p95_ms
        )?;
        writeln!(f, "allow       {} calls, p95 {:.1} ms", self.allow_calls, self.allow_p95_ms)?;
        let RushReport { admitted, notified, lost, out_of_order, .. } = self;
        write!(f, "admitted    {admitted}, notified {notified}, lost {lost}")?;
        writeln!(f, "{}", if *out_of_order > 0 { ", out of order" } else { "" })?;
        writeln!(
            f,
            "notice      p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, max {:.1} ms, from the call being sent",
            self.notice_p50_ms, self.notice_p95_ms, self.notice_p99_ms, self.notice_max_ms
        )?;
        write!(f, "events      {} published; errors {errors:?}", self.events_published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_where_nobody_arrives_any_more() {
        let at = |at_s, event| Sample { at_s, open: 9, registered: 9, notified: 0, event };
        let timeline = [at(0.0, 1), at(1.0, 400), at(2.0, 500), at(4.0, 506)];
        assert_eq!(events_per_s(&timeline, 1.5), Some(3.0));
        assert_eq!(events_per_s(&timeline, 4.0), None, "no time is left to count in");
        assert_eq!(events_per_s(&[], 0.0), None);
    }
}
