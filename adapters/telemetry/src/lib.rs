//! Traces to an OpenTelemetry collector: OTLP over HTTP, as protobuf. Decides nothing about which calls are traced, and
//! keeps no metrics: those are scraped.
//!
//! Spans go through a bounded queue to one task. A collector that is slow or gone costs spans, counted, and never a call's
//! time.

mod exporter;
mod queue;
mod span_data;

pub use exporter::{CollectorOptions, StartError};
pub use queue::{Collector, SpanCounts};
