//! Streams that left the HTTP stack: each room with some has one writer, which serves all of them from one task. An idle
//! stream is a socket and a few numbers. Which streams come here, `take_over` says.

mod parked;
mod writer;

use std::sync::{Arc, Weak};

use bytes::Bytes;
use jari_units::{Incarnation, RoomId, Seq};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::call_log::StreamLog;
use crate::event_stream::StreamedRoom;
use crate::metrics::Counted;
use crate::room::RoomRuntime;
use crate::stream_slots::StreamSlot;
use crate::take_over::Left;
use writer::Writer;

/// A stream that the handler let in.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) room: StreamedRoom,
    pub(crate) incarnation: Incarnation,
    pub(crate) seq: Seq,
    pub(crate) kept: Kept,
}

/// What a stream holds for as long as it is open.
#[derive(Debug)]
pub(crate) struct Kept {
    _slot: StreamSlot,
    _log: StreamLog,
}

impl Kept {
    pub(crate) fn new(slot: StreamSlot, log: StreamLog) -> Self {
        Kept { _slot: slot, _log: log }
    }
}

/// What a connection holds for as long as it is open, in the HTTP stack or after it.
#[derive(Debug)]
pub(crate) struct Connected {
    _slot: OwnedSemaphorePermit,
    _counted: Counted,
}

impl Connected {
    pub(crate) fn new(slot: OwnedSemaphorePermit, counted: Counted) -> Self {
        Connected { _slot: slot, _counted: counted }
    }
}

/// A stream on its way to its room's writer.
#[derive(Debug)]
struct Arrival {
    socket: tokio::net::TcpStream,
    head: Bytes,
    incarnation: Incarnation,
    seq: Seq,
    kept: (Kept, Connected),
}

/// The writers of this node's rooms.
#[derive(Debug, Default)]
pub(crate) struct StreamHub {
    writers: Mutex<FxHashMap<RoomId, WriterOf>>,
}

/// Unbounded: what is on its way holds a connection's slot, and of those there is a limit.
#[derive(Debug)]
struct WriterOf {
    runtime: Weak<RoomRuntime>,
    arrivals: mpsc::UnboundedSender<Arrival>,
}

impl StreamHub {
    /// Serves a stream from now on.
    pub(crate) fn take(&self, left: Left, connected: Connected) {
        let Left { socket, head, accepted } = left;
        let Accepted { room, incarnation, seq, kept } = accepted;
        let arrival = Arrival { socket, head, incarnation, seq, kept: (kept, connected) };
        // Where the writer has just ended with its room, the stream breaks off and its reader asks again.
        _ = self.writer(room).send(arrival);
    }

    fn writer(&self, room: StreamedRoom) -> mpsc::UnboundedSender<Arrival> {
        let mut writers = self.writers.lock();
        if let Some(writer) = writers.get(room.runtime.id())
            && std::ptr::eq(writer.runtime.as_ptr(), Arc::as_ptr(&room.runtime))
        {
            return writer.arrivals.clone();
        }
        // Those of deleted rooms have ended.
        writers.retain(|_, writer| !writer.arrivals.is_closed());
        let (arrivals, arriving) = mpsc::unbounded_channel();
        let runtime = Arc::downgrade(&room.runtime);
        let writer = WriterOf { runtime, arrivals: arrivals.clone() };
        writers.insert(room.runtime.id().clone(), writer);
        tokio::spawn(Writer::new(room, arriving).run());
        arrivals
    }
}
