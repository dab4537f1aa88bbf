//! One connection on which a node hears that rooms have new events, and that the index of due rooms changed. What is
//! new stands elsewhere too and is read there, so that a lost word costs time and never an event.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use parking_lot::Mutex;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Duration, interval, timeout};

use crate::address::Address;
use crate::breaker::pause_after;
use crate::connect::Connection;
use crate::limits::{CALL_DEADLINE, CONNECT_DEADLINE, PARALLEL, PING_EVERY};

/// What came last on a channel; nothing where it is only to be looked at.
type Word = Option<Arc<[u8]>>;

/// The channels listened to, and how many listen to each.
type Channels = Arc<Mutex<HashMap<String, watch::Sender<Word>>>>;

#[derive(Debug)]
enum Order {
    Listen(String),
    Leave(String),
}

/// Hands out listeners. Dropping it and them ends the connection.
#[derive(Debug)]
pub(crate) struct Wakes {
    channels: Channels,
    orders: UnboundedSender<Order>,
}

/// Hears of one channel: a room's events, or the index.
#[derive(Debug)]
pub(crate) struct Listener {
    channel: String,
    woken: watch::Receiver<Word>,
    channels: Channels,
    orders: UnboundedSender<Order>,
}

impl Wakes {
    /// Starts the task that holds the connection; it connects when the first listener comes.
    pub(crate) fn start(address: Address, runtime: &tokio::runtime::Handle) -> Wakes {
        let (orders, received) = unbounded_channel();
        let channels = Channels::default();
        let task = Task { address, channels: Arc::clone(&channels) };
        runtime.spawn(task.run(received));
        Wakes { channels, orders }
    }

    pub(crate) fn listen(&self, channel: &str) -> Listener {
        let mut channels = self.channels.lock();
        let known = channels.get(channel);
        let woken = known.map(watch::Sender::subscribe).unwrap_or_else(|| {
            let sender = watch::Sender::new(None);
            let woken = sender.subscribe();
            channels.insert(channel.to_owned(), sender);
            // Not received once the task has ended with the runtime: nobody waits then.
            let _ = self.orders.send(Order::Listen(channel.to_owned()));
            woken
        });
        let (channels, orders) = (Arc::clone(&self.channels), self.orders.clone());
        Listener { channel: channel.to_owned(), woken, channels, orders }
    }
}

impl Listener {
    /// What came last. What comes from now on wakes the next [`wait`](Listener::wait).
    pub(crate) fn look(&mut self) -> Word {
        self.woken.borrow_and_update().clone()
    }

    /// Something has come since the last [`look`](Listener::look).
    pub(crate) fn has_news(&self) -> bool {
        // The sender lives in the list for as long as any listener does.
        self.woken.has_changed().unwrap_or(true)
    }

    /// Waits until something comes, at most so long. Whether it did.
    pub(crate) async fn wait(&mut self, at_most: Duration) -> bool {
        timeout(at_most, self.woken.changed()).await.is_ok()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut channels = self.channels.lock();
        let last = channels.get(&self.channel).is_some_and(|sender| sender.receiver_count() == 1);
        if last {
            channels.remove(&self.channel);
            let _ = self.orders.send(Order::Leave(self.channel.clone()));
        }
    }
}

struct Task {
    address: Address,
    channels: Channels,
}

/// Why a connection was given up.
enum End {
    /// Nobody can listen any more.
    Unwanted,
    Lost(String),
}

impl Task {
    async fn run(self, mut orders: UnboundedReceiver<Order>) {
        let mut failures = 0;
        // An order is only a hint that the list changed: a new connection subscribes to the whole list.
        while orders.recv().await.is_some() {
            loop {
                if self.channels.lock().is_empty() {
                    break;
                }
                match self.connected(&mut orders, &mut failures).await {
                    End::Unwanted => return,
                    End::Lost(why) => {
                        tracing::warn!(store = ?self.address, "the connection that hears of events was lost: {why}");
                        // Events that came meanwhile are found by those who look.
                        self.wake_all();
                        tokio::time::sleep(pause_after(failures)).await;
                        failures += 1;
                    }
                }
            }
        }
    }

    /// Holds one connection until it is lost.
    async fn connected(&self, orders: &mut UnboundedReceiver<Order>, failures: &mut u32) -> End {
        let (sender, mut pushes) = unbounded_channel();
        let made = timeout(CONNECT_DEADLINE, Connection::make(&self.address, Some(sender))).await;
        let mut connection = match made {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return End::Lost(error.to_string()),
            Err(_) => return End::Lost("it did not answer in time".into()),
        };
        let wanted: Vec<String> = self.channels.lock().keys().cloned().collect();
        let mut missing = match self.subscribe_each(&connection, wanted).await {
            Ok(missing) => missing,
            Err(why) => return End::Lost(why),
        };
        *failures = 0;
        let mut tries = interval(PING_EVERY);
        loop {
            let lost = tokio::select! {
                order = orders.recv() => match order {
                    None => return End::Unwanted,
                    Some(order) => self.follow(&mut connection, order, &mut missing).await,
                },
                push = pushes.recv() => match push {
                    None => Err("it was closed".to_owned()),
                    Some(push) => self.take(&mut connection, push).await,
                },
                _ = tries.tick(), if !missing.is_empty() => {
                    self.try_again(&connection, &mut missing).await
                },
                () = tokio::time::sleep(PING_EVERY) => self.ping(&mut connection).await,
            };
            if let Err(why) = lost {
                return End::Lost(why);
            }
        }
    }

    async fn follow(
        &self,
        connection: &mut Connection,
        order: Order,
        missing: &mut Vec<String>,
    ) -> Result<(), String> {
        match order {
            Order::Listen(channel) => {
                missing.extend(self.subscribe_each(connection, vec![channel]).await?);
                Ok(())
            }
            Order::Leave(channel) => {
                // Somebody may have come again since.
                if self.channels.lock().contains_key(&channel) {
                    return Ok(());
                }
                missing.retain(|other| *other != channel);
                let left = within(connection.unsubscribe(&channel)).await;
                // Of a Cluster that shard alone may be gone, and with it what it would have told.
                if connection.is_cluster() { Ok(()) } else { left }
            }
        }
    }

    /// Subscribes to each of these, and tells which could not be had: of a Cluster one shard may be away, and what the others
    /// tell is heard all the same.
    async fn subscribe_each(
        &self,
        connection: &Connection,
        channels: Vec<String>,
    ) -> Result<Vec<String>, String> {
        let subscribing = channels.into_iter().map(|channel| {
            let mut connection = connection.clone();
            async move { (self.subscribe(&mut connection, &channel).await, channel) }
        });
        let mut subscribing = stream::iter(subscribing).buffer_unordered(PARALLEL);
        let mut missing = Vec::new();
        while let Some((subscribed, channel)) = subscribing.next().await {
            match subscribed {
                Err(why) if !connection.is_cluster() => return Err(why),
                Err(_) => missing.push(channel),
                Ok(()) => {}
            }
        }
        Ok(missing)
    }

    /// One of those that could not be had, and all the others where it can be by now.
    async fn try_again(
        &self,
        connection: &Connection,
        missing: &mut Vec<String>,
    ) -> Result<(), String> {
        let Some(one) = missing.pop() else { return Ok(()) };
        let still = self.subscribe_each(connection, vec![one]).await?;
        let rest = if still.is_empty() { std::mem::take(missing) } else { Vec::new() };
        missing.extend(still);
        missing.extend(self.subscribe_each(connection, rest).await?);
        Ok(())
    }

    /// Subscribes, and then wakes: what happened before the server knew of us is only found by looking.
    async fn subscribe(&self, connection: &mut Connection, channel: &str) -> Result<(), String> {
        within(connection.subscribe(channel)).await?;
        self.wake(channel);
        Ok(())
    }

    /// A connection that died without a word is found out.
    async fn ping(&self, connection: &mut Connection) -> Result<(), String> {
        match within(redis::cmd("PING").exec_async(connection)).await {
            // It asks all its servers, and mends by itself the connections to those that are there.
            Err(_) if connection.is_cluster() => {
                self.wake_all();
                Ok(())
            }
            answered => answered,
        }
    }

    async fn take(&self, connection: &mut Connection, push: PushInfo) -> Result<(), String> {
        let channel = push.data.first().and_then(text_of);
        match (push.kind, channel) {
            (PushKind::SMessage, Some(channel)) => self.tell(channel, bytes_of(push.data.get(1))),
            // A Cluster moved the slot: the room's events come from another server now.
            (PushKind::SUnsubscribe, Some(channel))
                if self.channels.lock().contains_key(channel) =>
            {
                return self.subscribe(connection, channel).await;
            }
            (PushKind::Disconnection, _) => match connection {
                Connection::Server(_) => return Err("it was closed".to_owned()),
                // It connects and subscribes again by itself.
                Connection::Cluster(_) => self.wake_all(),
            },
            _ => {}
        }
        Ok(())
    }

    fn wake(&self, channel: &str) {
        self.tell(channel, None);
    }

    fn tell(&self, channel: &str, word: Word) {
        if let Some(sender) = self.channels.lock().get(channel) {
            sender.send_replace(word);
        }
    }

    fn wake_all(&self) {
        self.channels.lock().values().for_each(|sender| {
            sender.send_replace(None);
        });
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

fn bytes_of(value: Option<&Value>) -> Word {
    match value {
        Some(Value::BulkString(bytes)) => Some(bytes.as_slice().into()),
        _ => None,
    }
}

async fn within(call: impl Future<Output = redis::RedisResult<()>>) -> Result<(), String> {
    match timeout(CALL_DEADLINE, call).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("it did not answer in time".to_owned()),
    }
}
