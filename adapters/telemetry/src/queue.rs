//! The queue between those who trace and the one task that sends. Full, it drops; it never makes anybody wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use jari_ports::{Span, Traces};
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, Receiver, Sender, error::TrySendError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::exporter::{CollectorOptions, Exporter, StartError};

/// Spans that wait to be sent: about 4 MB, a second of a busy node that traces one call in ten.
const QUEUE_MAX: usize = 8_192;
/// Spans in one request: some 200 KB, far below any collector's limit.
const BATCH_MAX: usize = 512;
/// How long the first span of a batch waits for others.
const GATHER: Duration = Duration::from_secs(1);
/// Between two lines in the log about spans that were lost.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Spans since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpanCounts {
    /// The collector has them.
    pub sent: u64,
    /// The queue was full.
    pub dropped: u64,
    /// The collector could not be reached, or refused.
    pub failed: u64,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// A collector that spans are sent to.
#[derive(Debug)]
pub struct Collector {
    queue: Sender<Span>,
    counts: Arc<Counts>,
    closing: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Traces for Collector {
    fn keep(&self, span: Span) {
        // Closed: what ends after the shutdown is as lost as what finds no room.
        if let Err(TrySendError::Full(_) | TrySendError::Closed(_)) = self.queue.try_send(span) {
            self.counts.dropped.fetch_add(1, Relaxed);
        }
    }
}

impl Collector {
    /// Starts to send, on the present runtime. Whether the collector can be reached shows later, in [`Collector::counts`] and
    /// the log.
    ///
    /// # Errors
    /// Where the options make no client.
    pub fn start(options: &CollectorOptions) -> Result<Self, StartError> {
        let exporter = Exporter::new(options)?;
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let (closing, closed) = watch::channel(false);
        let counts = Arc::<Counts>::default();
        let sender = Sending { exporter, waiting, closed, counts: counts.clone(), warned: None };
        let task = Mutex::new(Some(tokio::spawn(sender.run())));
        Ok(Collector { queue, counts, closing, task })
    }

    #[must_use]
    pub fn counts(&self) -> SpanCounts {
        self.counts.read()
    }

    /// Sends what waits, for at most `within`; spans that come later are dropped.
    pub async fn shutdown(&self, within: Duration) {
        self.closing.send_replace(true);
        let task = self.task.lock().take();
        if let Some(mut task) = task
            && timeout(within, &mut task).await.is_err()
        {
            task.abort();
            tracing::warn!("the last spans were not sent within {within:?}");
        }
    }
}

impl Counts {
    fn read(&self) -> SpanCounts {
        let Counts { sent, dropped, failed } = self;
        SpanCounts {
            sent: sent.load(Relaxed),
            dropped: dropped.load(Relaxed),
            failed: failed.load(Relaxed),
        }
    }
}

/// The task that sends.
struct Sending {
    exporter: Exporter,
    waiting: Receiver<Span>,
    closed: watch::Receiver<bool>,
    counts: Arc<Counts>,
    /// When the log was last told of losses, and how many there had been.
    warned: Option<(Instant, u64)>,
}

impl Sending {
    async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while self.gather(&mut batch).await {
            let count = batch.len() as u64;
            let sent = self.exporter.send(&mut batch).await;
            let counter = if sent.is_ok() { &self.counts.sent } else { &self.counts.failed };
            counter.fetch_add(count, Relaxed);
            self.warn_of_losses(sent.err().as_deref());
        }
    }

    /// Fills `batch`; `false` where everything was sent and nothing more comes.
    async fn gather(&mut self, batch: &mut Vec<Span>) -> bool {
        let Sending { waiting, closed, .. } = self;
        tokio::select! {
            count = waiting.recv_many(batch, BATCH_MAX) => if count == 0 { return false },
            _ = closed.wait_for(|closed| *closed) => waiting.close(),
        }
        let others = async {
            while batch.len() < BATCH_MAX {
                let room = BATCH_MAX - batch.len();
                if waiting.recv_many(batch, room).await == 0 {
                    return;
                }
            }
        };
        // Once closed, the channel gives what is left without a wait.
        tokio::select! {
            biased;
            () = others => {}
            () = sleep(GATHER) => {}
            _ = closed.wait_for(|closed| *closed), if !*closed.borrow() => {}
        }
        // What a closing cut short is gathered by the next turn.
        !batch.is_empty() || !waiting.is_closed()
    }

    fn warn_of_losses(&mut self, error: Option<&str>) {
        let SpanCounts { dropped, failed, .. } = self.counts.read();
        let lost = dropped + failed;
        let (at, before) = self.warned.map_or((None, 0), |(at, before)| (Some(at), before));
        if lost == before || at.is_some_and(|at| at.elapsed() < WARN_EVERY) {
            return;
        }
        self.warned = Some((Instant::now(), lost));
        let (lost, error) = (lost - before, error.unwrap_or("they came faster than it takes them"));
        tracing::warn!(lost, error, "{lost} spans did not reach the collector: {error}");
    }
}
