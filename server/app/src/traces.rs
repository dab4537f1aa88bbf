//! From the configuration to the collector of traces. Nothing is made where none is configured.

use std::fmt::Write as _;
use std::sync::Arc;

use jari_config::Telemetry;
use jari_http::SampleRatio;
use jari_ports::Entropy;
use jari_telemetry::{Collector, CollectorOptions, StartError};

/// Bytes of the name that tells processes of one service apart.
const INSTANCE_BYTES: usize = 8;

/// The collector that is configured, if any. Its task runs on the present runtime.
pub(crate) fn collector(
    telemetry: &Telemetry,
    entropy: &dyn Entropy,
) -> Result<Option<Arc<Collector>>, StartError> {
    let Some(endpoint) = telemetry.otlp_endpoint.clone() else { return Ok(None) };
    let options = CollectorOptions {
        endpoint,
        service_name: telemetry.service_name.clone(),
        service_version: env!("CARGO_PKG_VERSION"),
        instance: instance(entropy),
    };
    Collector::start(&options).map(|collector| Some(Arc::new(collector)))
}

pub(crate) fn ratio(telemetry: &Telemetry) -> SampleRatio {
    SampleRatio::of(telemetry.sample_ratio.share())
}

fn instance(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; INSTANCE_BYTES];
    entropy.fill(&mut bytes);
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}
