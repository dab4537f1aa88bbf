//! A wire between a node and its store that can be held up: what was sent meanwhile arrives later, whoever has hung up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

/// Pieces of what is held up at most: more than a node sends in the seconds of a test.
const HELD_MAX: usize = 4_096;

pub(crate) struct Proxy {
    port: u16,
    held: watch::Sender<bool>,
    /// The other way: what the server sends.
    deaf: watch::Sender<bool>,
    kept: Arc<AtomicUsize>,
}

impl Proxy {
    /// A wire to the server at `to`.
    pub(crate) async fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (held, kept) = (watch::Sender::new(false), Arc::new(AtomicUsize::new(0)));
        let deaf = watch::Sender::new(false);
        let (gates, count) = ([held.subscribe(), deaf.subscribe()], kept.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, to, gates.clone(), count.clone()));
            }
        });
        Proxy { port, held, deaf, kept }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// From now on nothing arrives.
    pub(crate) fn hold(&self) {
        self.kept.store(0, Ordering::SeqCst);
        self.held.send_replace(true);
    }

    /// From now on nothing arrives on either side: a network that is gone.
    pub(crate) fn cut(&self) {
        self.deaf.send_replace(true);
        self.hold();
    }

    /// All that was sent meanwhile arrives. How many bytes that is.
    pub(crate) fn release(&self) -> usize {
        self.deaf.send_replace(false);
        self.held.send_replace(false);
        self.kept.load(Ordering::SeqCst)
    }
}

async fn carry(
    client: TcpStream,
    to: u16,
    [gate, back]: [watch::Receiver<bool>; 2],
    kept: Arc<AtomicUsize>,
) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let ((mut from_client, to_client), (mut from_server, to_server)) =
        (client.into_split(), server.into_split());
    let (pieces, taken) = mpsc::channel(HELD_MAX);
    let watching = gate.clone();
    tokio::spawn(deliver(taken, gate, to_server));
    let (answers, answered) = mpsc::channel(HELD_MAX);
    tokio::spawn(deliver(answered, back.clone(), to_client));
    tokio::spawn(
        async move { take(&mut from_server, &answers, &back, &AtomicUsize::new(0)).await },
    );
    take(&mut from_client, &pieces, &watching, &kept).await;
}

/// Takes what one side sends, until it hangs up.
async fn take(
    from: &mut OwnedReadHalf,
    pieces: &mpsc::Sender<Vec<u8>>,
    gate: &watch::Receiver<bool>,
    kept: &AtomicUsize,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if *gate.borrow() {
            kept.fetch_add(length, Ordering::SeqCst);
        }
        if pieces.send(buffer[..length].to_vec()).await.is_err() {
            return;
        }
    }
}

/// Hands it on, once it may.
async fn deliver(
    mut pieces: mpsc::Receiver<Vec<u8>>,
    mut gate: watch::Receiver<bool>,
    mut to: OwnedWriteHalf,
) {
    while let Some(piece) = pieces.recv().await {
        if gate.wait_for(|held| !held).await.is_err() || to.write_all(&piece).await.is_err() {
            return;
        }
    }
}
