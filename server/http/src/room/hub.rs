//! The room's open streams: who to wake for what, and the newest line frame for all. Writes to no socket.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jari_line::{Event, SeqSet, Tick};
use jari_units::Seq;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Streams by place and by a number of their own: one person may have several.
type Streams = BTreeMap<(Seq, u64), Ear>;

/// How a stream is woken.
#[derive(Clone, Debug)]
enum Ear {
    /// It has a task.
    Task(Arc<Notify>),
    /// A writer serves it among many, under this number.
    Writer(u32, Arc<Woken>),
}

/// Whom a writer is to look at.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    wakes: Mutex<Option<Wakes>>,
    some: Notify,
}

/// Streams to look at; more than once where they were woken so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wakes {
    pub(crate) streams: Vec<u32>,
    /// When the first of the events that they are woken for was applied.
    pub(crate) since: Instant,
}

/// A `line` frame and when the event that it tells of was applied.
#[derive(Clone, Debug)]
pub(crate) struct LineFrame {
    pub(crate) bytes: Bytes,
    pub(crate) applied_at: Instant,
}

#[derive(Debug)]
pub(crate) struct Hub {
    streams: Mutex<Streams>,
    next_id: AtomicU64,
    /// The newest `line` frame, encoded once. A stream that could not send one in time sends the next instead.
    frames: watch::Sender<LineFrame>,
}

/// A place that is listened for; the hub forgets it when this is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    hub: Arc<Hub>,
    seq: Seq,
    id: u64,
}

/// One open stream with a task of its own.
#[derive(Debug)]
pub struct Subscription {
    _listening: Listening,
    woken: Arc<Notify>,
    /// Only its own stream waits on it, so the lock is never waited for.
    frames: tokio::sync::Mutex<watch::Receiver<LineFrame>>,
}

impl Default for Hub {
    fn default() -> Self {
        let none = LineFrame { bytes: Bytes::new(), applied_at: Instant::now() };
        let (frames, _) = watch::channel(none);
        Hub { streams: Mutex::default(), next_id: AtomicU64::new(0), frames }
    }
}

impl Hub {
    pub(crate) fn subscribe(self: &Arc<Self>, seq: Seq) -> Subscription {
        let woken = Arc::new(Notify::new());
        let listening = self.add(seq, Ear::Task(woken.clone()));
        let frames = tokio::sync::Mutex::new(self.frames.subscribe());
        Subscription { _listening: listening, woken, frames }
    }

    /// Listens for a stream that `woken`'s writer serves as its number `nth`.
    pub(crate) fn listen(self: &Arc<Self>, seq: Seq, nth: u32, woken: &Arc<Woken>) -> Listening {
        self.add(seq, Ear::Writer(nth, woken.clone()))
    }

    /// The newest line frame, for a writer.
    pub(crate) fn frames(&self) -> watch::Receiver<LineFrame> {
        self.frames.subscribe()
    }

    fn add(self: &Arc<Self>, seq: Seq, ear: Ear) -> Listening {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.streams.lock().insert((seq, id), ear);
        Listening { hub: self.clone(), seq, id }
    }

    /// Places with a stream: they count as heard from.
    pub(crate) fn streaming(&self) -> SeqSet {
        self.streams.lock().keys().map(|(seq, _)| *seq).collect()
    }

    pub(crate) fn has_streams(&self) -> bool {
        !self.streams.lock().is_empty()
    }

    /// The newest frame for everybody.
    pub(crate) fn publish(&self, frame: LineFrame) {
        self.frames.send_replace(frame);
    }

    /// Wakes the streams whose place an event may have changed. `serving` is the frontier before and after it.
    pub(crate) fn wake_for(&self, event: &Event, serving: (Seq, Seq), at: Instant) {
        let streams = self.streams.lock();
        if streams.is_empty() {
            return;
        }
        // Passed by the frontier: called or absent.
        if serving.1 > serving.0 {
            of_places(&streams, serving.0 + 1..=serving.1).for_each(|(_, ear)| ear.wake(at));
        }
        for seqs in changed_places(event) {
            wake_places(&streams, seqs, at);
        }
        if let Event::Seen { seqs } = event {
            // Of the waiting nothing changes; the absent are next in turn now.
            let absent = of_places(&streams, 0..=serving.1);
            absent.filter(|((seq, _), _)| seqs.contains(*seq)).for_each(|(_, ear)| ear.wake(at));
        }
    }

    /// Wakes everybody: the room was read anew.
    pub(crate) fn wake_all(&self, at: Instant) {
        self.streams.lock().values().for_each(|ear| ear.wake(at));
    }
}

fn of_places(
    streams: &Streams,
    seqs: std::ops::RangeInclusive<Seq>,
) -> impl Iterator<Item = (&(Seq, u64), &Ear)> {
    streams.range((*seqs.start(), 0)..=(*seqs.end(), u64::MAX))
}

/// Places whose status an event changes, besides those that the frontier passed.
fn changed_places(event: &Event) -> Vec<&SeqSet> {
    match event {
        Event::Joined { granted, .. } => vec![granted],
        Event::Ended { seqs, .. } => vec![seqs],
        Event::Called(calls) => vec![&calls.seqs],
        Event::Changed { ended, granted, .. } => vec![ended, granted],
        Event::WalkedIn(walked_in) => vec![&walked_in.granted],
        Event::Ticked(tick) => changed_by_tick(tick),
        Event::Flowed(flowed) => changed_by_tick(&flowed.tick),
        Event::Restored(restored) => vec![&restored.ended],
        Event::Reattached(shown) => {
            vec![&shown.first_passes, &shown.second_passes, &shown.ended]
        }
        Event::Created { .. }
        | Event::Seen { .. }
        | Event::Touched { .. }
        | Event::Extended { .. }
        | Event::Lulled { .. }
        | Event::Recovering(_)
        | Event::Settled(_)
        | Event::Attended { .. }
        | Event::Signalled(_)
        | Event::Redeemed { .. } => Vec::new(),
    }
}

fn changed_by_tick(tick: &Tick) -> Vec<&SeqSet> {
    let calls = tick.calls.as_ref().map(|calls| &calls.seqs);
    [&tick.expired, &tick.second_chance, &tick.swept].into_iter().chain(calls).collect()
}

/// Walks the smaller of the two sets.
fn wake_places(streams: &Streams, seqs: &SeqSet, at: Instant) {
    if seqs.len() < streams.len() as u64 {
        let concerned = seqs.iter().flat_map(|seq| of_places(streams, seq..=seq));
        concerned.for_each(|(_, ear)| ear.wake(at));
    } else {
        let concerned = streams.iter().filter(|((seq, _), _)| seqs.contains(*seq));
        concerned.for_each(|(_, ear)| ear.wake(at));
    }
}

impl Ear {
    fn wake(&self, at: Instant) {
        match self {
            Ear::Task(woken) => woken.notify_one(),
            Ear::Writer(nth, woken) => {
                let mut wakes = woken.wakes.lock();
                let none = || Wakes { streams: Vec::new(), since: at };
                wakes.get_or_insert_with(none).streams.push(*nth);
                drop(wakes);
                woken.some.notify_one();
            }
        }
    }
}

impl Woken {
    /// Waits until there is somebody, and gives all there are.
    pub(crate) async fn wait(&self) -> Wakes {
        loop {
            if let Some(wakes) = self.wakes.lock().take() {
                return wakes;
            }
            self.some.notified().await;
        }
    }
}

impl Listening {
    pub(crate) fn seq(&self) -> Seq {
        self.seq
    }
}

impl Subscription {
    /// Waits until this place may have changed; a change between two waits is not missed.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// Waits for the next line frame; those that were not waited for coalesce to the newest.
    pub(crate) async fn frame(&self) -> LineFrame {
        let mut frames = self.frames.lock().await;
        // The hub lives as long as this subscription: the channel cannot close.
        _ = frames.changed().await;
        frames.borrow_and_update().clone()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.hub.streams.lock().remove(&(self.seq, self.id));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use jari_line::{Calls, EndReason};

    use super::*;

    fn woken(streams: &[Subscription]) -> Vec<Seq> {
        streams
            .iter()
            .filter(|stream| stream.woken().now_or_never().is_some())
            .map(|stream| stream._listening.seq)
            .collect()
    }

    #[test]
    fn only_the_concerned_are_woken() {
        let hub = Arc::new(Hub::default());
        let streams: Vec<_> = [1, 2, 3, 40, 40].map(|seq| hub.subscribe(seq)).into_iter().collect();
        let set = |seqs: &[Seq]| seqs.iter().collect::<SeqSet>();

        hub.wake_for(
            &Event::Ended { seqs: set(&[40, 9]), reason: EndReason::Left },
            (0, 0),
            Instant::now(),
        );
        assert_eq!(woken(&streams), [40, 40]);
        let calls = Calls { serving: 2, served: 2, seqs: set(&[2]), ..Calls::default() };
        hub.wake_for(&Event::Called(calls), (0, 2), Instant::now());
        assert_eq!(woken(&streams), [1, 2], "1 was passed, 2 was called");
        hub.wake_for(&Event::Seen { seqs: set(&[1, 3]) }, (2, 2), Instant::now());
        assert_eq!(woken(&streams), [1], "3 waits as before");
        hub.wake_all(Instant::now());
        assert_eq!(woken(&streams).len(), 5);
        assert_eq!(woken(&streams), Vec::<Seq>::new(), "once each");
    }

    #[test]
    fn a_dropped_stream_is_forgotten_and_its_twin_is_not() {
        let hub = Arc::new(Hub::default());
        let (first, second) = (hub.subscribe(5), hub.subscribe(5));
        drop(first);
        assert_eq!(hub.streaming(), [5].into_iter().collect());
        assert!(hub.has_streams());
        drop(second);
        assert!(hub.streaming().is_empty() && !hub.has_streams());
    }

    #[tokio::test]
    async fn a_writer_hears_whom_to_look_at() {
        let (hub, woken) = (Arc::new(Hub::default()), Arc::new(Woken::default()));
        let _streams = [(5, 0), (5, 1), (6, 2)].map(|(seq, nth)| hub.listen(seq, nth, &woken));
        assert_eq!(woken.wait().now_or_never(), None);
        let seqs = [5].into_iter().collect();
        hub.wake_for(&Event::Ended { seqs, reason: EndReason::Left }, (0, 0), Instant::now());
        assert_eq!(woken.wait().await.streams, [0, 1]);
        hub.wake_all(Instant::now());
        assert_eq!(woken.wait().await.streams, [0, 1, 2]);
        assert_eq!(woken.wait().now_or_never(), None);
    }

    #[test]
    fn unsent_frames_coalesce_to_the_newest() {
        let hub = Arc::new(Hub::default());
        let stream = hub.subscribe(1);
        for frame in ["a", "b", "c"] {
            let bytes = Bytes::from_static(frame.as_bytes());
            hub.publish(LineFrame { bytes, applied_at: Instant::now() });
        }
        let newest = stream.frame().now_or_never().expect("one is there");
        assert_eq!(newest.bytes, "c");
        assert!(stream.frame().now_or_never().is_none());
    }
}
