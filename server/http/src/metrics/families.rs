//! Writing families of samples, in whichever text format is asked for. Knows no metric.

use std::borrow::Cow;
use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::latency::Snapshot;

/// Labels of one sample.
pub(super) type Labels = Vec<(&'static str, Cow<'static, str>)>;

/// Beyond it not every whole number is one of these: 2^53.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

pub(super) struct Families<'a>(pub(super) DescriptorEncoder<'a>);

impl Families<'_> {
    /// A family of gauges; its name ends in its unit. Nothing is written where there is no sample.
    pub(super) fn gauges(
        &mut self,
        (name, help): (&str, &str),
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, samples, |sample, value| match whole(value) {
            Some(value) => sample.encode_gauge(&value),
            None => sample.encode_gauge(&value),
        })
    }

    /// A family of counters; `_total` is added to its name.
    pub(super) fn counters(
        &mut self,
        (name, help): (&str, &str),
        samples: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, samples, |sample, value| {
            sample.encode_counter::<NoLabelSet, _, f64>(&value, None)
        })
    }

    /// As [`Families::counters`], of seconds.
    pub(super) fn counters_f64(
        &mut self,
        (name, help): (&str, &str),
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, samples, |sample, value| match whole(value) {
            Some(value) => sample.encode_counter::<NoLabelSet, _, f64>(&value.unsigned_abs(), None),
            None => sample.encode_counter::<NoLabelSet, _, f64>(&value, None),
        })
    }

    pub(super) fn histograms(
        &mut self,
        (name, help): (&str, &str),
        samples: impl IntoIterator<Item = (Labels, Snapshot)>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Histogram, samples, |sample, value| {
            sample.encode_histogram::<NoLabelSet>(value.sum_s, value.count(), &value.buckets, None)
        })
    }

    fn family<T>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        samples: impl IntoIterator<Item = (Labels, T)>,
        write: impl Fn(&mut MetricEncoder<'_>, T) -> fmt::Result,
    ) -> fmt::Result {
        let mut samples = samples.into_iter().peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in samples {
            if labels.is_empty() {
                write(&mut family, value)?;
            } else {
                write(&mut family.encode_family(&labels)?, value)?;
            }
        }
        Ok(())
    }
}

/// Counts of things are written without a fraction.
fn whole(value: f64) -> Option<i64> {
    let exact = value.fract() == 0.0 && value.abs() < EXACT_BELOW;
    exact.then_some(value as i64)
}
