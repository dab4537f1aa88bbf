//! The checkpoint thread: writes rooms to the checkpoint file beside the writer, one at a time. Decides not when.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread::JoinHandle;

use jari_line::Room;
use jari_units::{EventNo, Incarnation, RoomId};
use tokio::sync::mpsc::UnboundedSender;

use crate::OpenError;
use crate::checkpoints::Checkpoints;
use crate::job::Message;

/// What the writer asks for, done in order.
#[derive(Debug)]
enum Order {
    Write(RoomId, Box<Room>),
    Forget(RoomId, Incarnation),
}

/// What became of a write.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) room: RoomId,
    pub(crate) incarnation: Incarnation,
    pub(crate) event_no: EventNo,
    /// The checkpoint's bytes.
    pub(crate) outcome: Result<u64, OpenError>,
}

/// The writer's handle on the thread; dropping it lets the thread finish what was ordered and ends it.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(crate) fn start(
        dir: PathBuf,
        done: UnboundedSender<Message>,
    ) -> Result<Checkpointer, OpenError> {
        let (orders, received) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("jari-checkpoint".into())
            .spawn(move || work(&dir, &received, &done))
            .map_err(|source| OpenError::Threads { source })?;
        Ok(Checkpointer { orders: Some(orders), thread: Some(thread) })
    }

    /// Asks for a checkpoint of a room; the answer comes to the writer as [`Message::Written`].
    pub(crate) fn write(&self, id: &RoomId, room: Room) {
        self.order(Order::Write(id.clone(), Box::new(room)));
    }

    /// Asks to remove the checkpoints of a deleted room.
    pub(crate) fn forget(&self, id: &RoomId, incarnation: Incarnation) {
        self.order(Order::Forget(id.clone(), incarnation));
    }

    fn order(&self, order: Order) {
        // The thread ends only with this handle; were it gone, the journal alone would carry the store.
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(dir: &std::path::Path, orders: &mpsc::Receiver<Order>, done: &UnboundedSender<Message>) {
    let mut file: Option<Checkpoints> = None;
    while let Ok(order) = orders.recv() {
        match order {
            Order::Write(room, state) => {
                let mark = state.mark();
                let outcome = open(&mut file, dir).and_then(|file| file.write(&room, &state));
                if outcome.is_err() {
                    // Opened anew next time: whatever this connection believes may be what failed.
                    file = None;
                }
                let (incarnation, event_no) = (mark.incarnation, mark.event_no);
                let written = Written { room, incarnation, event_no, outcome };
                // Nobody hears it when the store is closing; the next start finds the checkpoint by itself.
                let _ = done.send(Message::Written(written));
            }
            Order::Forget(room, incarnation) => {
                let forgotten =
                    open(&mut file, dir).and_then(|file| file.forget(&room, incarnation));
                if let Err(error) = forgotten {
                    file = None;
                    tracing::warn!(%room, %error, "the checkpoint of deleted room {room} stays until the next start: {error}");
                }
            }
        }
    }
}

fn open<'a>(
    file: &'a mut Option<Checkpoints>,
    dir: &std::path::Path,
) -> Result<&'a Checkpoints, OpenError> {
    let opened = match file.take() {
        Some(opened) => opened,
        None => Checkpoints::open(dir)?,
    };
    Ok(file.insert(opened))
}
