//! What a load found: latencies, errors, what was never sent. Several are added up, also over processes.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tokio::time::Duration;

/// Latencies are kept from 1 us to a minute, to three digits.
const LATENCY_MAX_US: u64 = 60_000_000;

/// An empty histogram of microseconds.
pub(crate) fn latencies() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_MAX_US, 3).expect("the bounds and digits are allowed")
}

/// Notes a time; what is longer than a minute counts as a minute.
pub(crate) fn note(into: &mut Histogram<u64>, took: Duration) {
    into.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
}

/// A quantile in milliseconds.
pub(crate) fn ms(of: &Histogram<u64>, quantile: f64) -> f64 {
    of.value_at_quantile(quantile) as f64 / 1_000.0
}

#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) latencies: Histogram<u64>,
    /// How long after they were due requests left this process: the generator's own delay.
    pub(crate) late: Histogram<u64>,
    pub(crate) errors: BTreeMap<String, u64>,
    /// Due, and never sent, because nothing was free to send it in time.
    pub(crate) dropped: u64,
}

impl Default for Found {
    fn default() -> Self {
        Found { latencies: latencies(), late: latencies(), errors: BTreeMap::new(), dropped: 0 }
    }
}

impl Found {
    pub(crate) fn error(&mut self, what: &str) {
        *self.errors.entry(what.to_owned()).or_default() += 1;
    }

    pub(crate) fn add(&mut self, other: &Found) -> Result<()> {
        self.latencies.add(&other.latencies)?;
        self.late.add(&other.late)?;
        for (what, count) in &other.errors {
            *self.errors.entry(what.clone()).or_default() += count;
        }
        self.dropped += other.dropped;
        Ok(())
    }
}

/// A histogram as JSON: each value (microseconds) with how often it came. Nothing of it is lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts(pub(crate) Vec<(u64, u64)>);

impl Counts {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Counts {
        let values = histogram.iter_recorded();
        Counts(values.map(|v| (v.value_iterated_to(), v.count_at_value())).collect())
    }

    pub(crate) fn add_to(&self, histogram: &mut Histogram<u64>) -> Result<()> {
        for (value, count) in &self.0 {
            ensure!(*value <= LATENCY_MAX_US * 2, "{value} us is no latency");
            histogram.saturating_record_n(*value, *count);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_of_several_processes_add_up_to_the_one() {
        let (mut whole, mut merged) = (latencies(), latencies());
        for part in 0..4u64 {
            let mut own = latencies();
            for n in 0..5_000u64 {
                // Spread over seven decades, with repeats.
                let us = (n * 7_919 + part) % 10u64.pow(1 + (n % 7) as u32) + 1;
                own.record(us).expect("in range");
                whole.record(us).expect("in range");
            }
            let sent = serde_json::to_string(&Counts::of(&own)).expect("JSON");
            let came: Counts = serde_json::from_str(&sent).expect("the same");
            came.add_to(&mut merged).expect("latencies");
        }
        assert_eq!(merged.len(), 20_000);
        for quantile in [0.0, 0.1, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let (one, other) =
                (merged.value_at_quantile(quantile), whole.value_at_quantile(quantile));
            assert_eq!(one, other, "{quantile}");
        }
    }

    #[test]
    fn findings_add_up() {
        let mut all = Found::default();
        for n in 1..=3u64 {
            let mut one = Found { dropped: n, ..Found::default() };
            note(&mut one.latencies, Duration::from_millis(n));
            one.error("503");
            all.add(&one).expect("the same bounds");
        }
        assert_eq!((all.latencies.len(), all.dropped, all.errors["503"]), (3, 6, 3));
        note(&mut all.latencies, Duration::from_secs(600));
        assert!(ms(&all.latencies, 1.0) >= 60_000.0, "counted, not lost");
    }
}
