//! Natural batching: while one store call is in flight the next batch gathers. Never waits for a batch to fill.

use std::future::Future;

use jari_ports::StoreError;
use jari_units::limits::JOIN_BATCH_MAX;
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::trace::{self, OpenSpan, Within};

/// Callers waiting for a batch at most. At a store's slowest healthy pace (100 batches a second) the last of them
/// waits 160 ms; more than that is overload and is told so at once.
const QUEUE_MAX: usize = 16 * JOIN_BATCH_MAX;

/// Why one of a batch has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    /// 503 `overloaded`.
    #[error("too many calls wait for the store")]
    Overloaded,
    /// The room is gone.
    #[error("the room was deleted")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}

struct Waiting<In, Out> {
    item: In,
    /// The caller's span, where it is traced.
    caller: Option<Within>,
    answer: oneshot::Sender<Result<Out, BatchError>>,
}

/// Gathers single calls and sends them to the store together, in order of arrival.
pub(crate) struct Batcher<In, Out> {
    name: &'static str,
    queue: mpsc::Sender<Waiting<In, Out>>,
}

impl<In, Out> std::fmt::Debug for Batcher<In, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batcher {{ {}, waiting: {} }}", self.name, self.waiting())
    }
}

impl<In: Send + 'static, Out: Send + 'static> Batcher<In, Out> {
    /// Starts one whose batches `call` carries; it must answer each of a batch, in order. Ends with `stop`. The operation's
    /// `name` is for traces.
    pub(crate) fn start<Call, Answer>(
        name: &'static str,
        stop: CancellationToken,
        call: Call,
    ) -> Self
    where
        Call: Fn(Vec<In>) -> Answer + Send + Sync + 'static,
        Answer: Future<Output = Result<Vec<Out>, StoreError>> + Send + 'static,
    {
        let (queue, mut waiting) = mpsc::channel(QUEUE_MAX);
        tokio::spawn(async move {
            let work = async {
                let mut batch = Vec::with_capacity(JOIN_BATCH_MAX);
                while waiting.recv_many(&mut batch, JOIN_BATCH_MAX).await > 0 {
                    carry(name, &mut batch, &call).await;
                }
            };
            stop.run_until_cancelled(work).await;
        });
        Batcher { name, queue }
    }

    /// Sends one call with the next batch.
    ///
    /// # Errors
    /// [`BatchError`]; after `Store(Unavailable)` the outcome is unknown.
    pub(crate) async fn ask(&self, item: In) -> Result<Out, BatchError> {
        let (answer, answered) = oneshot::channel();
        let caller = trace::within();
        let _wait = caller.as_ref().map(|caller| caller.child(format!("wait for {}", self.name)));
        self.queue.try_send(Waiting { item, caller, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => BatchError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => BatchError::Stopped,
        })?;
        answered.await.unwrap_or(Err(BatchError::Stopped))
    }
}

/// What the metrics ask of a batcher, whatever it carries.
pub(super) trait Queue {
    fn name(&self) -> &'static str;
    /// Callers whose batch is not under way yet.
    fn waiting(&self) -> usize;
}

impl<In, Out> Queue for Batcher<In, Out> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn waiting(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }
}

async fn carry<In, Out, Call, Answer>(
    name: &'static str,
    batch: &mut Vec<Waiting<In, Out>>,
    call: &Call,
) where
    Call: Fn(Vec<In>) -> Answer,
    Answer: Future<Output = Result<Vec<Out>, StoreError>>,
{
    let callers: Vec<Within> = batch.iter_mut().filter_map(|one| one.caller.take()).collect();
    let span = span_of(name, batch.len(), &callers);
    let (items, answers): (Vec<_>, Vec<_>) =
        batch.drain(..).map(|waiting| (waiting.item, waiting.answer)).unzip();
    let outcome = trace::work(span.as_ref().map(OpenSpan::within), call(items)).await;
    drop(span);
    // A caller that has gone away has no use for its answer.
    match outcome {
        Ok(outcomes) => {
            assert_eq!(outcomes.len(), answers.len(), "a store answers each of a batch");
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                _ = answer.send(Ok(outcome));
            }
        }
        Err(error) => {
            for answer in answers {
                _ = answer.send(Err(BatchError::Store(error.clone())));
            }
        }
    }
}

/// The batch's span, below the first of those of its callers that are traced.
fn span_of(name: &'static str, calls: usize, callers: &[Within]) -> Option<OpenSpan> {
    let (first, others) = callers.split_first()?;
    let mut span = first.batch(format!("batch {name}"), others);
    span.number("jari.batch.calls", calls as u64);
    span.number("jari.batch.traced", callers.len() as u64);
    Some(span)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::join_all;
    use parking_lot::Mutex;
    use tokio::sync::Semaphore;

    use super::*;

    /// A store that answers each number with its double, once it is let to.
    fn doubling(gate: Arc<Semaphore>, sizes: Arc<Mutex<Vec<usize>>>) -> Batcher<u64, u64> {
        Batcher::start("double", CancellationToken::new(), move |items: Vec<u64>| {
            let (gate, sizes) = (gate.clone(), sizes.clone());
            async move {
                sizes.lock().push(items.len());
                gate.acquire().await.expect("open").forget();
                Ok(items.into_iter().map(|item| item * 2).collect())
            }
        })
    }

    #[tokio::test]
    async fn what_comes_during_a_call_travels_in_the_next() {
        let (gate, sizes) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(Vec::new())));
        let batcher = Arc::new(doubling(gate.clone(), sizes.clone()));
        let first = tokio::spawn({
            let batcher = batcher.clone();
            async move { batcher.ask(1).await }
        });
        while sizes.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        let rest = join_all((2..=1_001).map(|n| batcher.ask(n)));
        gate.add_permits(10);
        let answers = rest.await;
        assert_eq!(first.await.expect("no panic"), Ok(2));
        assert_eq!(answers, (2..=1_001).map(|n| Ok(n * 2)).collect::<Vec<_>>());
        assert_eq!(*sizes.lock(), [1, 512, 488]);
    }

    #[tokio::test]
    async fn a_failed_call_fails_all_of_its_batch_and_no_other() {
        let call = |items: Vec<u64>| async move {
            match items[0] {
                0 => Err(StoreError::Unavailable("down".into())),
                _ => Ok(items),
            }
        };
        let failing = Batcher::start("fail", CancellationToken::new(), call);
        let failed = failing.ask(0).await;
        assert_eq!(failed, Err(BatchError::Store(StoreError::Unavailable("down".into()))));
        assert_eq!(failing.ask(7).await, Ok(7));
    }

    #[tokio::test]
    async fn more_than_the_queue_holds_is_refused_at_once() {
        let (gate, sizes) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(Vec::new())));
        let batcher = doubling(gate, sizes);
        let asks = (0..QUEUE_MAX as u64 + 1).map(|n| Box::pin(batcher.ask(n)));
        let mut asks = futures_util::stream::FuturesUnordered::from_iter(asks);
        let answer = futures_util::StreamExt::next(&mut asks).await;
        assert_eq!(answer, Some(Err(BatchError::Overloaded)));
    }

    #[tokio::test]
    async fn the_span_of_a_batch_hangs_below_its_first_traced_caller() {
        let (tracer, kept) = crate::trace::tests::tracer(1.0);
        let (gate, sizes) = (Arc::new(Semaphore::new(10)), Arc::new(Mutex::new(Vec::new())));
        let batcher = doubling(gate, sizes);
        let calls: Vec<_> = (0..2).filter_map(|_| tracer.begin("call")).collect();
        let traced = calls.iter().map(|call| trace::work(Some(call.within()), batcher.ask(1)));
        let (traced, untraced) = tokio::join!(join_all(traced), batcher.ask(3));
        assert_eq!((traced, untraced), (vec![Ok(2), Ok(2)], Ok(6)));
        let spans = kept.0.lock();
        let batches: Vec<_> = spans.iter().filter(|span| span.name == "batch double").collect();
        let [batch] = batches.as_slice() else { panic!("{spans:?}") };
        assert_eq!(batch.fields[0], ("jari.batch.calls", jari_ports::Field::Number(3)));
        assert_eq!(batch.fields[1], ("jari.batch.traced", jari_ports::Field::Number(2)));
        assert_eq!(batch.links.len(), 1);
        assert_ne!(batch.links[0].trace, batch.id.trace, "another call's");
        assert_eq!(spans.iter().filter(|span| span.name == "wait for double").count(), 2);
    }

    #[tokio::test]
    async fn a_stopped_room_answers_its_waiters() {
        let stop = CancellationToken::new();
        let batcher = Batcher::start("hang", stop.clone(), |items: Vec<u64>| async move {
            std::future::pending::<()>().await;
            Ok(items)
        });
        let asked = batcher.ask(1);
        stop.cancel();
        assert_eq!(asked.await, Err(BatchError::Stopped));
    }
}
