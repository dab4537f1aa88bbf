//! Numbers that only the app can see, of adapters: read at the scrape. Names none of them.

use std::borrow::Cow;
use std::fmt::{self, Debug};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::families::Families;

/// A metric that the app hands in, with its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// With its unit; `_total` is added to a counter's.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: MetricKind,
    /// By at most one label: name, value and number. An empty name is no label.
    pub samples: Vec<(&'static str, Cow<'static, str>, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
}

impl Metric {
    /// A gauge without labels.
    #[must_use]
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        let samples = vec![("", Cow::Borrowed(""), value)];
        Metric { name, help, kind: MetricKind::Gauge, samples }
    }

    /// A counter without labels.
    #[must_use]
    pub fn counter(name: &'static str, help: &'static str, value: f64) -> Self {
        Metric { kind: MetricKind::Counter, ..Metric::gauge(name, help, value) }
    }

    /// The same by `label`.
    #[must_use]
    pub fn by(self, label: &'static str, values: &[(&'static str, f64)]) -> Self {
        let samples = values.iter().map(|(of, value)| (label, Cow::Borrowed(*of), *value));
        Metric { samples: samples.collect(), ..self }
    }
}

/// Reads some metrics.
pub trait MetricSource: Debug + Send + Sync + 'static {
    fn read(&self) -> Vec<Metric>;
}

#[derive(Debug)]
pub(super) struct Sourced(pub(super) Box<dyn MetricSource>);

impl Collector for Sourced {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        for Metric { name, help, kind, samples } in self.0.read() {
            let samples = samples.into_iter().map(|(label, of, value)| {
                let labels = if label.is_empty() { Vec::new() } else { vec![(label, of)] };
                (labels, value)
            });
            match kind {
                MetricKind::Counter => families.counters_f64((name, help), samples)?,
                MetricKind::Gauge => families.gauges((name, help), samples)?,
            }
        }
        Ok(())
    }
}
