//! One connection on which a node hears that rooms have new events. Only wakes: the events themselves are read from the
//! room's stream, so that a lost word costs time and never an event.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use redis::{PushInfo, PushKind, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Duration, timeout};

use crate::address::Address;
use crate::breaker::pause_after;
use crate::connect::Connection;
use crate::limits::{CALL_DEADLINE, CONNECT_DEADLINE, PING_EVERY};

/// The channels listened to, and how many listen to each.
type Channels = Arc<Mutex<HashMap<String, watch::Sender<()>>>>;

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

/// Hears of one room's events.
#[derive(Debug)]
pub(crate) struct Listener {
    channel: String,
    woken: watch::Receiver<()>,
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
            let sender = watch::Sender::new(());
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
    /// What comes from now on wakes the next [`wait`](Listener::wait).
    pub(crate) fn look(&mut self) {
        self.woken.borrow_and_update();
    }

    /// Waits until the room may have new events, at most so long.
    pub(crate) async fn wait(&mut self, at_most: Duration) {
        // The sender lives in the list for as long as any listener does.
        let _woken_or_late = timeout(at_most, self.woken.changed()).await;
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
        for channel in wanted {
            if let Err(why) = self.subscribe(&mut connection, &channel).await {
                return End::Lost(why);
            }
        }
        *failures = 0;
        loop {
            let lost = tokio::select! {
                order = orders.recv() => match order {
                    None => return End::Unwanted,
                    Some(order) => self.follow(&mut connection, order).await,
                },
                push = pushes.recv() => match push {
                    None => Err("it was closed".to_owned()),
                    Some(push) => self.take(&mut connection, push).await,
                },
                () = tokio::time::sleep(PING_EVERY) => ping(&mut connection).await,
            };
            if let Err(why) = lost {
                return End::Lost(why);
            }
        }
    }

    async fn follow(&self, connection: &mut Connection, order: Order) -> Result<(), String> {
        match order {
            Order::Listen(channel) => self.subscribe(connection, &channel).await,
            Order::Leave(channel) => {
                // Somebody may have come again since.
                if self.channels.lock().contains_key(&channel) {
                    return Ok(());
                }
                within(connection.unsubscribe(&channel)).await
            }
        }
    }

    /// Subscribes, and then wakes: what happened before the server knew of us is only found by looking.
    async fn subscribe(&self, connection: &mut Connection, channel: &str) -> Result<(), String> {
        within(connection.subscribe(channel)).await?;
        self.wake(channel);
        Ok(())
    }

    async fn take(&self, connection: &mut Connection, push: PushInfo) -> Result<(), String> {
        let channel = push.data.first().and_then(text_of);
        match (push.kind, channel) {
            (PushKind::SMessage, Some(channel)) => self.wake(channel),
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
        if let Some(sender) = self.channels.lock().get(channel) {
            sender.send_replace(());
        }
    }

    fn wake_all(&self) {
        self.channels.lock().values().for_each(|sender| {
            sender.send_replace(());
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

async fn within(call: impl Future<Output = redis::RedisResult<()>>) -> Result<(), String> {
    match timeout(CALL_DEADLINE, call).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("it did not answer in time".to_owned()),
    }
}

/// A connection that died without a word is found out.
async fn ping(connection: &mut Connection) -> Result<(), String> {
    within(redis::cmd("PING").exec_async(connection)).await
}
