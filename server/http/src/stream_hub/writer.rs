//! The task that serves one room's parked streams: what is due to whom, and when. Sockets are `parked`'s.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use jari_api::PlaceStatus;
use tokio::sync::{mpsc, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::parked::{Over, Owed, Parked};
use super::{Arrival, Connected, Kept};
use crate::event_stream::StreamedRoom;
use crate::metrics::Notice;
use crate::room::{LineFrame, Wakes, Woken};

/// How often slow readers are tried again and a share of the streams is looked after.
const PULSE: Duration = Duration::from_millis(100);
/// Every stream is looked after once in so many pulses: a closed one is noticed within a second.
const PULSES_PER_ROUND: usize = 10;
/// Frames written before others get a turn: about half a millisecond of a core.
const TURN: usize = 64;

type Stream = Parked<(Kept, Connected)>;

pub(super) struct Writer {
    room: StreamedRoom,
    arriving: mpsc::UnboundedReceiver<Arrival>,
    frames: watch::Receiver<LineFrame>,
    woken: Arc<Woken>,
    started: Instant,
    streams: Vec<Option<Stream>>,
    free: Vec<u32>,
    /// Who owes something.
    behind: Vec<u32>,
    newest: LineFrame,
    /// How far the newest line has come; `None` where it has been told to all.
    telling: Option<usize>,
    /// How far the round of looking after all has come.
    looked_after: usize,
    /// The server goes away: whoever still comes is sent on at once.
    draining: bool,
}

enum Next {
    Drain,
    Deleted,
    Woken(Wakes),
    Arrived(Option<Arrival>),
    Line,
    Tell,
    Pulse,
}

impl Writer {
    pub(super) fn new(room: StreamedRoom, arriving: mpsc::UnboundedReceiver<Arrival>) -> Self {
        Writer {
            newest: room.runtime.hub().frames().borrow().clone(),
            frames: room.runtime.hub().frames(),
            room,
            arriving,
            woken: Arc::default(),
            started: Instant::now(),
            streams: Vec::new(),
            free: Vec::new(),
            behind: Vec::new(),
            telling: None,
            looked_after: 0,
            draining: false,
        }
    }

    /// Serves until the room is deleted or the server has stopped.
    pub(super) async fn run(mut self) {
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let has_streams = self.free.len() < self.streams.len();
            let next = tokio::select! {
                biased;
                () = self.room.state.drain.begun(), if !self.draining => Next::Drain,
                () = self.room.runtime.deleted() => Next::Deleted,
                woken = self.woken.wait() => Next::Woken(woken),
                // Before the next line, so that a busy arrival does not wait for a whole one.
                arrival = self.arriving.recv() => Next::Arrived(arrival),
                _ = self.frames.changed(), if self.telling.is_none() => Next::Line,
                _ = pulse.tick(), if has_streams => Next::Pulse,
                () = yield_now(), if self.telling.is_some() => Next::Tell,
            };
            match next {
                Next::Drain => self.send_away().await,
                Next::Deleted => return self.end(),
                Next::Woken(wakes) => self.tell_places(wakes).await,
                Next::Arrived(Some(arrival)) => self.arrive(arrival),
                Next::Arrived(None) => return,
                Next::Line => {
                    self.newest = self.frames.borrow_and_update().clone();
                    self.telling = Some(0);
                }
                Next::Tell => self.tell_line(),
                Next::Pulse => self.pulse(),
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn arrive(&mut self, arrival: Arrival) {
        let Arrival { socket, head, incarnation, seq, kept } = arrival;
        let nth = self.free.pop().unwrap_or_else(|| {
            self.streams.push(None);
            u32::try_from(self.streams.len() - 1).expect("sockets are fewer than 2^32")
        });
        // Listened for before the place is read: a change in between is not missed.
        let place = self.room.runtime.listen(seq, nth, &self.woken);
        let seen = self.room.place(incarnation, seq);
        let mut stream = Parked::new(socket, place, incarnation, seen.status(), kept);
        stream.prepare();
        let now = self.now();
        stream.place_at = now + self.room.place_after();
        let mut first = BytesMut::from(head);
        first.extend_from_slice(&seen.frame());
        first.extend_from_slice(&seen.news().unwrap_or_default());
        let said = if self.draining {
            first.extend_from_slice(&self.room.reconnect());
            stream.close_with(first.freeze(), now)
        } else if seen.status() == PlaceStatus::Ended {
            stream.close_with(first.freeze(), now)
        } else {
            stream.say(first.freeze(), now)
        };
        self.streams[nth as usize] = Some(stream);
        self.settle(nth, said);
    }

    /// After something was said to a stream: it is over, or owes, or is well.
    fn settle(&mut self, nth: u32, said: Result<(), Over>) {
        let Some(slot) = self.streams.get_mut(nth as usize) else { return };
        let Some(stream) = slot else { return };
        if said.is_err() {
            *slot = None;
            self.free.push(nth);
        } else if stream.is_behind() && !stream.queued {
            stream.queued = true;
            self.behind.push(nth);
        }
    }

    fn stream(&mut self, nth: u32) -> Option<&mut Stream> {
        self.streams.get_mut(nth as usize)?.as_mut()
    }

    /// Tells the newest line to the next few.
    fn tell_line(&mut self) {
        let (from, now) = (self.telling.unwrap_or_default(), self.now());
        let until = (from + TURN).min(self.streams.len());
        let mut told = 0;
        for nth in from..until {
            if let Some(stream) = &mut self.streams[nth] {
                let said = stream.line(&self.newest.bytes, now);
                told += u64::from(said.is_ok() && !stream.is_behind());
                self.settle(nth as u32, said);
            }
        }
        // Once a turn is exact enough: a turn is half a millisecond. Who reads too slowly makes no measurement.
        let took = self.newest.applied_at.elapsed();
        self.room.state.metrics.told(Notice::Line, took, told);
        self.telling = (until < self.streams.len()).then_some(until);
    }

    async fn tell_places(&mut self, wakes: Wakes) {
        for some in wakes.streams.chunks(TURN) {
            let told = some.iter().filter(|nth| self.tell_place(**nth, false)).count();
            self.room.state.metrics.told(Notice::Place, wakes.since.elapsed(), told as u64);
            yield_now().await;
        }
    }

    /// Tells the place where `exact` or where its status has changed; ends the stream with it where that is its end. Whether
    /// a changed status was told.
    fn tell_place(&mut self, nth: u32, exact: bool) -> bool {
        let now = self.now();
        let (room, slot) = (&self.room, self.streams.get_mut(nth as usize));
        let Some(stream) = slot.and_then(Option::as_mut).filter(|stream| !stream.is_closing())
        else {
            return false;
        };
        if stream.is_behind() {
            stream.owes.place = true;
            return false;
        }
        let seen = room.place(stream.incarnation, stream.place.seq());
        let changed = seen.status() != stream.status;
        if !exact && !changed {
            return false;
        }
        stream.status = seen.status();
        stream.place_at = now + room.place_after();
        let mut frames = BytesMut::from(seen.frame());
        if let Some(news) = seen.news().filter(|_| changed) {
            frames.extend_from_slice(&news);
        }
        let said = if seen.status() == PlaceStatus::Ended {
            stream.close_with(frames.freeze(), now)
        } else {
            stream.say(frames.freeze(), now)
        };
        self.settle(nth, said);
        changed
    }

    /// Tries slow readers again, and looks after the next share of all.
    fn pulse(&mut self) {
        for nth in std::mem::take(&mut self.behind) {
            self.catch_up(nth);
        }
        let share = self.streams.len().div_ceil(PULSES_PER_ROUND);
        let until = (self.looked_after + share).min(self.streams.len());
        for nth in self.looked_after..until {
            self.look_after(nth as u32);
        }
        self.looked_after = if until < self.streams.len() { until } else { 0 };
    }

    fn catch_up(&mut self, nth: u32) {
        let (now, stall) = (self.now(), self.room.state.options.deadlines.write_stall);
        let Some(stream) = self.stream(nth) else { return };
        stream.queued = false;
        let caught_up = stream.catch_up(now, stall);
        let owes = stream.owes;
        if caught_up == Ok(true) && owes != Owed::default() {
            stream.owes = Owed::default();
            if owes.place {
                self.tell_place(nth, true);
            }
            let newest = self.newest.bytes.clone();
            if let Some(stream) = self.stream(nth).filter(|_| owes.line) {
                let said = stream.line(&newest, now);
                self.settle(nth, said);
            }
            return;
        }
        self.settle(nth, caught_up.map(|_| ()));
    }

    fn look_after(&mut self, nth: u32) {
        let now = self.now();
        let Some(stream) = self.stream(nth) else { return };
        let place_is_due = stream.place_at <= now;
        let said = stream.look().and_then(|()| stream.beat(now));
        self.settle(nth, said);
        if place_is_due {
            self.tell_place(nth, true);
        }
    }

    /// The server goes away: everybody is told to come back, spread out.
    async fn send_away(&mut self) {
        self.draining = true;
        for nth in 0..self.streams.len() {
            let (now, last) = (self.now(), self.room.reconnect());
            if let Some(stream) = self.stream(nth as u32).filter(|stream| !stream.is_closing()) {
                let said = stream.close_with(last, now);
                self.settle(nth as u32, said);
            }
            if nth % TURN == 0 {
                yield_now().await;
            }
        }
    }

    /// The room is no more. Who is too slow for it finds that out by asking again.
    fn end(mut self) {
        let (now, last) = (self.now(), self.room.ended());
        for stream in self.streams.iter_mut().flatten().filter(|stream| !stream.is_closing()) {
            _ = stream.close_with(last.clone(), now);
        }
    }
}
