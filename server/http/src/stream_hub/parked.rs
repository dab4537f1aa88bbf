//! One stream without a task: its socket, what it was told and what it still owes its reader. Never waits; who reads too
//! slowly owes at most the rest of one frame, and the newest line and place after it. Makes no frame.

use std::io;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use jari_api::PlaceStatus;
use jari_units::Incarnation;
use tokio::net::TcpStream;

use crate::event_frames::HEARTBEAT;
use crate::event_stream::HEARTBEAT_EVERY;
use crate::room::Listening;

/// Frames that the system keeps for a slow reader: some seconds of lines, where it would let it grow to megabytes.
const SEND_BUFFER_BYTES: usize = 16 * 1024;
/// What a peer says on a stream means nothing; so much of it is thrown away at a time.
const UNHEARD_BYTES: usize = 256;

/// The stream is over: its peer has gone, or all is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Over;

/// A stream that holds `Kept` for as long as it is open.
#[derive(Debug)]
pub(super) struct Parked<Kept> {
    socket: TcpStream,
    pub(super) place: Listening,
    pub(super) incarnation: Incarnation,
    /// What it was told last.
    pub(super) status: PlaceStatus,
    /// When the exact place is due, in time since the writer's start.
    pub(super) place_at: Duration,
    /// What the peer has not taken yet of a frame that was begun.
    rest: Bytes,
    /// Due once the rest is taken: made then, so that it is the newest.
    pub(super) owes: Owed,
    /// It is in its writer's list of those behind.
    pub(super) queued: bool,
    /// Nothing comes after the rest.
    closing: bool,
    /// When the peer last took a byte, or began to owe that.
    taken_at: Duration,
    _kept: Kept,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owed {
    pub(super) line: bool,
    pub(super) place: bool,
}

impl<Kept> Parked<Kept> {
    pub(super) fn new(
        socket: TcpStream,
        place: Listening,
        incarnation: Incarnation,
        status: PlaceStatus,
        kept: Kept,
    ) -> Self {
        Parked {
            socket,
            place,
            incarnation,
            status,
            place_at: Duration::ZERO,
            rest: Bytes::new(),
            owes: Owed::default(),
            queued: false,
            closing: false,
            taken_at: Duration::ZERO,
            _kept: kept,
        }
    }

    /// Bounds what the system keeps for it. How long it hopes for a peer that has vanished is set since it was accepted.
    pub(super) fn prepare(&self) {
        // hyper waited here for its next request: while the socket knows that waker, the memory of the connection's task,
        // two kilobytes, is kept though it has ended. Where bytes have come, they have woken and so dropped it.
        _ = self.socket.poll_read_ready(&mut Context::from_waker(Waker::noop()));
        let socket = socket2::SockRef::from(&self.socket);
        // Where the system refuses, the stream costs more and is served all the same.
        _ = socket.set_send_buffer_size(SEND_BUFFER_BYTES);
    }

    pub(super) fn is_behind(&self) -> bool {
        !self.rest.is_empty()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Sends a line that anybody's newer one replaces.
    pub(super) fn line(&mut self, frame: &Bytes, now: Duration) -> Result<(), Over> {
        if self.closing {
            return Ok(());
        }
        if self.is_behind() {
            self.owes.line = true;
            return Ok(());
        }
        self.owes.line = false;
        self.say(frame.clone(), now)
    }

    /// Sends bytes that must all arrive; after what is begun already.
    pub(super) fn say(&mut self, bytes: Bytes, now: Duration) -> Result<(), Over> {
        if self.is_behind() {
            let mut rest = BytesMut::with_capacity(self.rest.len() + bytes.len());
            rest.extend_from_slice(&self.rest);
            rest.extend_from_slice(&bytes);
            self.rest = rest.freeze();
            return Ok(());
        }
        self.rest = bytes;
        self.taken_at = now;
        self.push(now).map(|_| ())
    }

    /// The last that is said: then it closes.
    pub(super) fn close_with(&mut self, last: Bytes, now: Duration) -> Result<(), Over> {
        self.closing = true;
        self.owes = Owed::default();
        self.say(last, now)?;
        if self.is_behind() { Ok(()) } else { Err(Over) }
    }

    /// Sends what the peer takes of the rest. Whether it took all.
    ///
    /// # Errors
    /// [`Over`] where the peer has gone, took nothing for `stall`, or took the last.
    pub(super) fn catch_up(&mut self, now: Duration, stall: Duration) -> Result<bool, Over> {
        let all = self.push(now)?;
        if all && self.closing {
            return Err(Over);
        }
        if !all && now.saturating_sub(self.taken_at) >= stall {
            return Err(Over);
        }
        Ok(all)
    }

    fn push(&mut self, now: Duration) -> Result<bool, Over> {
        while !self.rest.is_empty() {
            match self.socket.try_write(&self.rest) {
                Ok(0) => return Err(Over),
                Ok(taken) => {
                    self.rest = self.rest.slice(taken..);
                    self.taken_at = now;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Over),
            }
        }
        Ok(true)
    }

    /// Looks whether the peer still listens. A peer that has ended its side has gone, as hyper takes it too.
    pub(super) fn look(&self) -> Result<(), Over> {
        match self.socket.try_read(&mut [0; UNHEARD_BYTES]) {
            Ok(0) => Err(Over),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(Over),
        }
    }

    /// Shows that it lives, where nothing else was said for long.
    pub(super) fn beat(&mut self, now: Duration) -> Result<(), Over> {
        let quiet = now.saturating_sub(self.taken_at) >= HEARTBEAT_EVERY;
        if quiet && !self.is_behind() { self.say(HEARTBEAT, now) } else { Ok(()) }
    }
}

impl<Kept> Drop for Parked<Kept> {
    fn drop(&mut self) {
        // What is unread at a close would make it a reset, and the last frames could be lost with it.
        while self.closing && matches!(self.socket.try_read(&mut [0; UNHEARD_BYTES]), Ok(1..)) {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;
    use crate::room::{Hub, Woken};

    const STALL: Duration = Duration::from_secs(30);
    /// Frames after which any socket on loopback is full: 16 MB.
    const FULL: usize = 16 * 1024;

    /// A parked stream and its reader, who takes little that it does not read.
    async fn pair() -> (Parked<()>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let reader = TcpSocket::new_v4().expect("a socket");
        reader.set_recv_buffer_size(4_096).expect("it may be small");
        let reader = reader.connect(listener.local_addr().expect("bound"));
        let (reader, accepted) = tokio::join!(reader, listener.accept());
        let (socket, _) = accepted.expect("a connection");
        let place = Arc::new(Hub::default()).listen(1, 0, &Arc::new(Woken::default()));
        let parked = Parked::new(socket, place, 1, PlaceStatus::Waiting, ());
        parked.prepare();
        parked.socket.writable().await.expect("it is new");
        (parked, reader.expect("connected"))
    }

    fn line(nth: usize) -> Bytes {
        Bytes::from(format!("<{nth:01022}>"))
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[tokio::test]
    async fn issue_3_who_does_not_read_costs_one_frame_and_is_dropped() {
        let (mut stream, _reader) = pair().await;
        let mut sent = 0;
        while !stream.is_behind() {
            stream.line(&line(sent), seconds(1)).expect("it is open");
            sent += 1;
            assert!(sent * 1_024 < 256 * 1_024, "the system keeps too much: {sent} frames");
        }
        for nth in 0..FULL {
            stream.line(&line(nth), seconds(2)).expect("it is given time");
        }
        assert!(stream.rest.len() <= 1_024 && stream.owes.line, "{stream:?}");
        assert_eq!(stream.catch_up(seconds(30), STALL), Ok(false));
        assert_eq!(stream.catch_up(seconds(31), STALL), Err(Over));
    }

    #[tokio::test]
    async fn issue_3_a_slow_reader_gets_whole_frames_and_the_newest() {
        let (mut stream, mut reader) = pair().await;
        let mut sent = 0;
        while !stream.is_behind() {
            stream.line(&line(sent), seconds(1)).expect("it is open");
            sent += 1;
        }
        stream.line(&line(sent + 1), seconds(1)).expect("it is open");
        let mut text = String::new();
        let mut bytes = vec![0; 65_536];
        while !stream.catch_up(seconds(20), STALL).expect("it reads") {
            let count = reader.read(&mut bytes).await.expect("it is open");
            text.push_str(std::str::from_utf8(&bytes[..count]).expect("ASCII"));
        }
        assert_eq!(std::mem::take(&mut stream.owes), Owed { line: true, place: false });
        stream.line(&line(sent + 2), seconds(21)).expect("it is open");
        assert_eq!(stream.close_with(line(sent + 3), seconds(21)), Err(Over));
        drop(stream);
        reader.read_to_string(&mut text).await.expect("no reset");
        let told: Vec<usize> = text
            .split_terminator('>')
            .map(|frame| frame.trim_start_matches('<').parse().expect("whole"))
            .collect();
        let wanted: Vec<usize> = (0..sent).chain([sent + 2, sent + 3]).collect();
        assert_eq!(told, wanted, "what was not begun is left out");
    }

    #[tokio::test]
    async fn issue_3_a_quiet_stream_beats_and_a_closed_one_is_noticed() {
        let (mut stream, mut reader) = pair().await;
        for (second, beats) in [(2, false), (3, true), (5, false), (6, true)] {
            stream.beat(seconds(second)).expect("it is open");
            assert_eq!(stream.taken_at == seconds(second), beats, "{second}");
        }
        assert_eq!(stream.look(), Ok(()));
        let mut beats = [0; 6];
        reader.read_exact(&mut beats).await.expect("it is open");
        assert_eq!(&beats, b":\n\n:\n\n");
        drop(reader);
        stream.socket.readable().await.expect("it is registered");
        assert_eq!(stream.look(), Err(Over));
    }
}
