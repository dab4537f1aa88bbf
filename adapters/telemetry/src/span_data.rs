//! The port's spans in OpenTelemetry's words. Sends nothing.

use std::time::{Duration, UNIX_EPOCH};

use jari_ports::{Field, Span, SpanId, SpanKind};
use opentelemetry::trace::{
    Link, SpanContext, SpanId as OtelSpanId, SpanKind as OtelSpanKind, Status, TraceFlags, TraceId,
    TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

/// Who made the spans: the same for all.
#[derive(Debug)]
pub(crate) struct Scope(InstrumentationScope);

impl Scope {
    pub(crate) fn new(version: &'static str) -> Self {
        Scope(InstrumentationScope::builder("jari").with_version(version).build())
    }

    pub(crate) fn span_data(&self, span: Span) -> SpanData {
        let start_time = UNIX_EPOCH + Duration::from_micros(span.began_us);
        let mut links = SpanLinks::default();
        links.links = span.links.into_iter().map(|id| Link::with_context(context(id))).collect();
        SpanData {
            span_context: context(span.id),
            parent_span_id: span
                .parent
                .map_or(OtelSpanId::INVALID, |parent| OtelSpanId::from_bytes(parent.span)),
            parent_span_is_remote: span.parent.is_some_and(|parent| parent.remote),
            span_kind: match span.kind {
                SpanKind::Server => OtelSpanKind::Server,
                SpanKind::Internal => OtelSpanKind::Internal,
            },
            name: span.name,
            start_time,
            end_time: start_time + span.took,
            attributes: span.fields.into_iter().map(attribute).collect(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            // What went wrong is in the fields; a text of its own would only repeat it.
            status: if span.failed { Status::error("") } else { Status::Unset },
            instrumentation_scope: self.0.clone(),
        }
    }
}

fn context(id: SpanId) -> SpanContext {
    SpanContext::new(
        TraceId::from_bytes(id.trace),
        OtelSpanId::from_bytes(id.span),
        TraceFlags::SAMPLED,
        false,
        TraceState::NONE,
    )
}

fn attribute((key, field): (&'static str, Field)) -> KeyValue {
    let value = match field {
        Field::Text(text) => Value::String(text.into()),
        Field::Number(number) => Value::I64(number),
    };
    KeyValue::new(key, value)
}
