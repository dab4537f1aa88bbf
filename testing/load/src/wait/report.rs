//! What people who waited found. Runs nothing.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::queue::Heard;
use crate::found::ms;
use crate::process::Usage;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WaitReport {
    pub(super) seconds: f64,
    /// Who waited from the first.
    pub(super) people: usize,
    pub(super) joined: u64,
    /// Who was told so; they ask no more.
    pub(super) admitted: u64,
    pub(super) ended: u64,
    pub(super) polls: u64,
    polls_per_s: f64,
    poll_p50_ms: f64,
    poll_p99_ms: f64,
    poll_max_ms: f64,
    /// How long after they were due polls left: this generator's own delay, and the server's where an answer was slow.
    late_p99_ms: f64,
    join_p99_ms: f64,
    /// The mean pause that answers told.
    pub(super) told_ms: f64,
    pub(super) errors: BTreeMap<String, u64>,
    server_cores: Option<f64>,
}

impl WaitReport {
    pub(super) fn new(people: usize, seconds: f64, heard: &Heard) -> WaitReport {
        let (polls, joins) = (&heard.polls.latencies, &heard.joins.latencies);
        let of = |what: &str, found: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
            found.iter().map(|(error, count)| (format!("{what} {error}"), *count)).collect()
        };
        let mut errors = of("poll", &heard.polls.errors);
        errors.extend(of("join", &heard.joins.errors));
        let told = (polls.len() + joins.len()).saturating_sub(heard.admitted + heard.ended);
        WaitReport {
            seconds,
            people,
            joined: joins.len(),
            admitted: heard.admitted,
            ended: heard.ended,
            polls: polls.len(),
            polls_per_s: polls.len() as f64 / seconds,
            poll_p50_ms: ms(polls, 0.5),
            poll_p99_ms: ms(polls, 0.99),
            poll_max_ms: ms(polls, 1.0),
            late_p99_ms: ms(&heard.polls.late, 0.99),
            join_p99_ms: ms(joins, 0.99),
            told_ms: heard.told_ms as f64 / told.max(1) as f64,
            errors: errors.into_iter().collect(),
            server_cores: None,
        }
    }

    pub(super) fn with_server(mut self, before: Option<Usage>, after: Option<Usage>) -> Self {
        let used = before.zip(after).map(|(before, after)| after.cpu_s - before.cpu_s);
        self.server_cores = used.map(|cpu_s| cpu_s / self.seconds);
        self
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitReport { people, joined, admitted, ended, seconds, .. } = self;
        writeln!(
            f,
            "{people} waited, {joined} joined, {admitted} admitted, {ended} ended in {seconds:.1} s"
        )?;
        let WaitReport { polls, polls_per_s, told_ms, .. } = self;
        writeln!(f, "polls       {polls} ({polls_per_s:.0}/s), told to pause {told_ms:.0} ms")?;
        let WaitReport { poll_p50_ms, poll_p99_ms, poll_max_ms, late_p99_ms, .. } = self;
        writeln!(
            f,
            "latency     p50 {poll_p50_ms:.2} ms, p99 {poll_p99_ms:.2} ms, max {poll_max_ms:.2} ms; sent late by {late_p99_ms:.2} ms at p99"
        )?;
        write!(f, "joins       p99 {:.2} ms; errors {:?}", self.join_p99_ms, self.errors)
    }
}
