//! An OpenTelemetry collector for tests: takes OTLP over HTTP as protobuf, as the standard has it, and keeps what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as SpanStatus;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use parking_lot::Mutex;
use prost::Message;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

/// The one media type of binary OTLP.
const PROTOBUF: &str = "application/x-protobuf";

/// A span as a collector is told it. Ids are hex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldSpan {
    pub trace: String,
    pub id: String,
    /// Empty where it has none.
    pub parent: String,
    pub name: String,
    pub is_server: bool,
    pub failed: bool,
    pub began_ns: u64,
    pub ended_ns: u64,
    pub fields: BTreeMap<String, String>,
    /// Traces of the linked spans.
    pub links: Vec<String>,
    /// Of the process.
    pub resource: BTreeMap<String, String>,
}

/// Ends when it is dropped.
#[derive(Debug)]
pub struct FakeCollector {
    endpoint: Url,
    told: Arc<Mutex<Vec<ToldSpan>>>,
    task: JoinHandle<()>,
}

impl FakeCollector {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// Where there is no port.
    pub async fn start() -> Self {
        let told = Arc::<Mutex<Vec<ToldSpan>>>::default();
        let router = Router::new().route("/v1/traces", post(take)).with_state(told.clone());
        let (listener, endpoint) = listen().await;
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a loopback listener does not break");
        });
        FakeCollector { endpoint, told, task }
    }

    /// Starts one that takes connections and says nothing on them.
    ///
    /// # Panics
    /// Where there is no port.
    pub async fn silent() -> Self {
        let (listener, endpoint) = listen().await;
        let task = tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((socket, _)) = listener.accept().await {
                kept.push(socket);
            }
        });
        FakeCollector { endpoint, told: Arc::default(), task }
    }

    #[must_use]
    pub fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// Every span so far, in order of arrival.
    #[must_use]
    pub fn spans(&self) -> Vec<ToldSpan> {
        self.told.lock().clone()
    }
}

impl Drop for FakeCollector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen() -> (TcpListener, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    (listener, Url::parse(&format!("http://{address}")).expect("an address makes a URL"))
}

async fn take(
    State(told): State<Arc<Mutex<Vec<ToldSpan>>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != PROTOBUF) {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let Ok(request) = ExportTraceServiceRequest::decode(body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    told.lock().extend(request.resource_spans.into_iter().flat_map(spans));
    let answer = ExportTraceServiceResponse::default().encode_to_vec();
    ([(CONTENT_TYPE, PROTOBUF)], answer).into_response()
}

fn spans(of: ResourceSpans) -> Vec<ToldSpan> {
    let resource = fields(of.resource.map(|resource| resource.attributes).unwrap_or_default());
    let spans = of.scope_spans.into_iter().flat_map(|scope| scope.spans);
    spans.map(|span| ToldSpan { resource: resource.clone(), ..told(span) }).collect()
}

fn told(span: Span) -> ToldSpan {
    ToldSpan {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        is_server: span.kind() == opentelemetry_proto::tonic::trace::v1::span::SpanKind::Server,
        failed: span.status.as_ref().is_some_and(|status| status.code() == SpanStatus::Error),
        name: span.name,
        began_ns: span.start_time_unix_nano,
        ended_ns: span.end_time_unix_nano,
        fields: fields(span.attributes),
        links: span.links.iter().map(|link| hex(&link.trace_id)).collect(),
        resource: BTreeMap::new(),
    }
}

fn fields(attributes: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Option<Value>| match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pairs = attributes.into_iter();
    pairs.map(|pair| (pair.key, text(pair.value.and_then(|value| value.value)))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
