//! Traced calls: a span a call, and spans below it for what the call waited for. Where spans go is the port's business.
//!
//! Whether a call is traced is decided before anything is made for it, so one that is not costs a comparison. The
//! span that a task works for travels in a task-local; a call that is not traced has none, and everything below asks
//! for it in vain.

mod layer;
mod sampler;
mod traceparent;

use std::borrow::Cow;
use std::sync::Arc;

use jari_ports::{Clock, Entropy, Field, Parent, Span, SpanId, SpanKind, Traces};
use jari_units::{RoomId, Timestamp};
use tokio::time::Instant;

pub(crate) use layer::TraceLayer;
pub use sampler::SampleRatio;
use sampler::Sampler;

/// Callers that one span names at most; it tells their number in any case.
const LINKS_MAX: usize = 32;

/// Where spans go and which calls have any: handed in by the app.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    pub to: Arc<dyn Traces>,
    pub ratio: SampleRatio,
}

/// Begins traces.
#[derive(Debug)]
pub(crate) struct Tracer {
    to: Arc<dyn Traces>,
    clock: Arc<dyn Clock>,
    sampler: Sampler,
}

/// A span under way, for what is done within it. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Within(Arc<Tracing>);

#[derive(Debug)]
struct Tracing {
    tracer: Arc<Tracer>,
    id: SpanId,
    base: Base,
}

/// When the trace's first span began here, by both clocks: spans below it are told by the steady one.
#[derive(Clone, Copy, Debug)]
struct Base {
    wall: Timestamp,
    steady: Instant,
}

/// A span under way; kept when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    within: Within,
    began: Instant,
    parent: Option<Parent>,
    name: Cow<'static, str>,
    kind: SpanKind,
    failed: bool,
    fields: Vec<(&'static str, Field)>,
    links: Vec<SpanId>,
}

tokio::task_local! {
    static WITHIN: Within;
}

/// The span that this task works for, where it works for a traced call.
pub(crate) fn within() -> Option<Within> {
    WITHIN.try_with(Clone::clone).ok()
}

/// Works for the span of `within`, or for none.
pub(crate) async fn work<F: Future>(within: Option<Within>, future: F) -> F::Output {
    match within {
        Some(within) => WITHIN.scope(within, future).await,
        None => future.await,
    }
}

impl Tracer {
    pub(crate) fn new(options: TraceOptions, clock: Arc<dyn Clock>, entropy: &dyn Entropy) -> Self {
        let TraceOptions { to, ratio } = options;
        Tracer { to, clock, sampler: Sampler::new(ratio, entropy) }
    }

    /// A trace that begins here with no caller, where it is this one's turn.
    pub(crate) fn begin(self: &Arc<Self>, name: &'static str) -> Option<OpenSpan> {
        let trace = self.sampler.own()?;
        Some(self.open(trace, None, Cow::Borrowed(name), SpanKind::Internal))
    }

    fn open(
        self: &Arc<Self>,
        trace: [u8; 16],
        parent: Option<Parent>,
        name: Cow<'static, str>,
        kind: SpanKind,
    ) -> OpenSpan {
        let id = SpanId { trace, span: self.sampler.span_id() };
        let base = Base { wall: self.clock.now(), steady: Instant::now() };
        let within = Within(Arc::new(Tracing { tracer: self.clone(), id, base }));
        OpenSpan::new(within, parent, name, kind)
    }
}

impl Within {
    /// Begins a span below.
    pub(crate) fn child(&self, name: impl Into<Cow<'static, str>>) -> OpenSpan {
        let Tracing { tracer, id, base } = &*self.0;
        let below = SpanId { trace: id.trace, span: tracer.sampler.span_id() };
        let within = Within(Arc::new(Tracing { tracer: tracer.clone(), id: below, base: *base }));
        let parent = Parent { span: id.span, remote: false };
        OpenSpan::new(within, Some(parent), name.into(), SpanKind::Internal)
    }

    /// Begins the span of a batch: below this one, with links to the `others` it works for too.
    pub(crate) fn batch(&self, name: String, others: &[Within]) -> OpenSpan {
        let mut span = self.child(name);
        span.links = others.iter().take(LINKS_MAX).map(|other| other.0.id).collect();
        span
    }
}

impl OpenSpan {
    fn new(
        within: Within,
        parent: Option<Parent>,
        name: Cow<'static, str>,
        kind: SpanKind,
    ) -> Self {
        let began = Instant::now();
        let (fields, links) = (Vec::new(), Vec::new());
        OpenSpan { within, began, parent, name, kind, failed: false, fields, links }
    }

    /// For what is done within it.
    pub(crate) fn within(&self) -> Within {
        self.within.clone()
    }

    pub(crate) fn text(&mut self, key: &'static str, value: impl Into<Cow<'static, str>>) {
        self.fields.push((key, Field::Text(value.into())));
    }

    pub(crate) fn number(&mut self, key: &'static str, value: u64) {
        self.fields.push((key, Field::Number(i64::try_from(value).unwrap_or(i64::MAX))));
    }

    pub(crate) fn room(&mut self, room: &RoomId) {
        self.text("jari.room", room.to_string());
    }

    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }
}

impl Drop for OpenSpan {
    /// Also where the work was given up halfway: that a caller went away is worth knowing.
    fn drop(&mut self) {
        let Tracing { tracer, id, base } = &*self.within.0;
        let since_base = self.began.saturating_duration_since(base.steady);
        let since_base = u64::try_from(since_base.as_micros()).unwrap_or(u64::MAX);
        tracer.to.keep(Span {
            id: *id,
            parent: self.parent,
            name: std::mem::take(&mut self.name),
            kind: self.kind,
            began_us: base.wall.0.saturating_mul(1_000).saturating_add(since_base),
            took: self.began.elapsed(),
            failed: self.failed,
            fields: std::mem::take(&mut self.fields),
            links: std::mem::take(&mut self.links),
        });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::jitter::tests::Fixed;

    /// Keeps spans in memory.
    #[derive(Debug, Default)]
    pub(crate) struct Kept(pub(crate) Mutex<Vec<Span>>);

    impl Traces for Kept {
        fn keep(&self, span: Span) {
            self.0.lock().push(span);
        }
    }

    #[derive(Debug)]
    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            Timestamp(1_796_029_200_000)
        }
    }

    pub(crate) fn tracer(ratio: f64) -> (Arc<Tracer>, Arc<Kept>) {
        let kept = Arc::new(Kept::default());
        let options = TraceOptions { to: kept.clone(), ratio: SampleRatio::of(ratio) };
        (Arc::new(Tracer::new(options, Arc::new(Noon), &Fixed(3))), kept)
    }

    #[tokio::test(start_paused = true)]
    async fn spans_below_tell_their_parent_and_when_they_were() {
        let (tracer, kept) = tracer(1.0);
        let mut root = tracer.begin("tick").expect("all are traced");
        root.number("jari.called", 7);
        work(Some(root.within()), async {
            tokio::time::advance(std::time::Duration::from_millis(5)).await;
            let mut below = within().expect("this task works for it").child("store admit");
            tokio::time::advance(std::time::Duration::from_millis(2)).await;
            below.fail();
        })
        .await;
        assert!(within().is_none());
        drop(root);
        let spans = kept.0.lock();
        let [below, root] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!((root.parent, root.failed, root.began_us), (None, false, 1_796_029_200_000_000));
        assert_eq!(below.parent, Some(Parent { span: root.id.span, remote: false }));
        assert_eq!(below.id.trace, root.id.trace);
        assert_eq!(below.began_us - root.began_us, 5_000);
        assert_eq!((below.took.as_millis(), root.took.as_millis()), (2, 7));
        assert!(below.failed);
        assert_eq!(root.fields, [("jari.called", Field::Number(7))]);
    }

    #[test]
    fn a_batch_links_to_so_many_of_its_callers() {
        let (tracer, kept) = tracer(1.0);
        let callers: Vec<_> = (0..40).filter_map(|_| tracer.begin("call")).collect();
        let callers: Vec<_> = callers.iter().map(OpenSpan::within).collect();
        drop(callers[0].batch("batch join".to_owned(), &callers[1..]));
        let batch = kept.0.lock().iter().find(|span| span.name == "batch join").cloned();
        let batch = batch.expect("it was kept");
        assert_eq!(batch.id.trace, callers[0].0.id.trace);
        let linked: Vec<_> = callers[1..=LINKS_MAX].iter().map(|caller| caller.0.id).collect();
        assert_eq!(batch.links, linked);
    }

    #[test]
    fn with_ratio_zero_nothing_begins() {
        let (tracer, _) = tracer(0.0);
        assert!((0..1_000).all(|_| tracer.begin("tick").is_none()));
    }
}
