//! The OTLP client: which collector, as whom, and with which patience. Queues nothing.

use std::time::Duration;

use jari_ports::Span;
use opentelemetry::KeyValue;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use thiserror::Error;
use url::Url;

use crate::span_data::Scope;

/// A request to the collector, with its repetitions where it is busy, takes no longer.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Where a collector takes traces, below its address (OTLP/HTTP).
const TRACES_PATH: &str = "v1/traces";

/// Whom spans are sent to, and as whose.
#[derive(Clone, Debug)]
pub struct CollectorOptions {
    /// The collector's address, without the path of a signal.
    pub endpoint: Url,
    pub service_name: String,
    pub service_version: &'static str,
    /// Tells this process from others of the service.
    pub instance: String,
}

/// Why nothing can be sent.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("no HTTP client for traces: {0}")]
    Client(#[from] reqwest::Error),
    #[error("no exporter of traces: {0}")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
}

#[derive(Debug)]
pub(crate) struct Exporter {
    exporter: SpanExporter,
    scope: Scope,
}

impl Exporter {
    pub(crate) fn new(options: &CollectorOptions) -> Result<Self, StartError> {
        let client = reqwest::Client::builder().timeout(EXPORT_TIMEOUT).build()?;
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(traces_url(&options.endpoint))
            .with_timeout(EXPORT_TIMEOUT)
            .build()?;
        exporter.set_resource(&resource(options));
        Ok(Exporter { exporter, scope: Scope::new(options.service_version) })
    }

    /// Sends a batch and empties it.
    ///
    /// # Errors
    /// Why the collector does not have it.
    pub(crate) async fn send(&self, batch: &mut Vec<Span>) -> Result<(), String> {
        let spans = batch.drain(..).map(|span| self.scope.span_data(span)).collect();
        self.exporter.export(spans).await.map_err(|error| error.to_string())
    }
}

fn traces_url(endpoint: &Url) -> String {
    format!("{}/{TRACES_PATH}", endpoint.as_str().trim_end_matches('/'))
}

fn resource(options: &CollectorOptions) -> Resource {
    Resource::builder_empty()
        .with_service_name(options.service_name.clone())
        .with_attribute(KeyValue::new("service.version", options.service_version))
        .with_attribute(KeyValue::new("service.instance.id", options.instance.clone()))
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signals_path_comes_after_the_collectors_own() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://collector.example/otlp/", "https://collector.example/otlp/v1/traces"),
        ] {
            assert_eq!(traces_url(&endpoint.parse().expect("a URL")), url);
        }
    }
}
