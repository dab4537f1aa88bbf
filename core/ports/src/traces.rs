//! Spans: what took how long within one traced call, for whoever keeps them. Which calls are traced is the caller's choice.

use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

/// Names a span of a trace, as W3C Trace Context does. Neither part is all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

/// A span that has ended. Never holds a secret, a token, a subject or a client's own text.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub id: SpanId,
    pub parent: Option<Parent>,
    /// Few different ones: a route's template, an operation; never a path.
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    /// Microseconds since the Unix epoch, UTC.
    pub began_us: u64,
    pub took: Duration,
    /// Something went wrong here, as opposed to: the caller was refused.
    pub failed: bool,
    pub fields: Vec<(&'static str, Field)>,
    /// Spans of other calls that this one worked for too.
    pub links: Vec<SpanId>,
}

/// Where a span hangs in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub span: [u8; 8],
    /// It is another process's.
    pub remote: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A call that was answered.
    Server,
    /// Work inside.
    Internal,
}

/// A value told beside a span.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Text(Cow<'static, str>),
    Number(i64),
}

/// Takes ended spans.
pub trait Traces: Send + Sync + Debug {
    /// Takes one. Never waits: what cannot be kept now is dropped, and counted by whoever implements this.
    fn keep(&self, span: Span);
}
