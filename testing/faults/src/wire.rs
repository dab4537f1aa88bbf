//! A wire between a node and a server: bytes carried over loopback that can be held, slowed, refused, and led elsewhere.
//! Knows nothing of what it carries.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

/// Bytes read at once.
const CHUNK: usize = 16 * 1024;
/// Chunks under way on one direction of one connection; more wait in the sockets, as on a real wire.
const CHUNKS_MAX: usize = 256;

/// A port that cannot be taken again at once is tried again after this.
const BIND_AGAIN: Duration = Duration::from_millis(20);

/// What the wire does with what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Open,
    /// Nothing arrives and nothing is refused: a network that lost its route. What was sent arrives later.
    Held,
    /// Nobody listens: a machine whose process is gone.
    Refusing,
}

#[derive(Debug)]
struct Control {
    target: AtomicU16,
    flow: watch::Sender<Flow>,
    /// Rises when all connections are to end.
    cuts: watch::Sender<u64>,
    /// How long a byte takes in one direction, milliseconds.
    one_way_ms: AtomicU64,
}

/// One wire; gone with all it carries when it is dropped.
#[derive(Debug)]
pub(crate) struct Wire {
    port: u16,
    control: Arc<Control>,
    accepting: JoinHandle<()>,
}

impl Wire {
    /// # Errors
    /// Where loopback has no port.
    pub(crate) async fn to(target: u16) -> io::Result<Wire> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let control = Arc::new(Control {
            target: AtomicU16::new(target),
            flow: watch::Sender::new(Flow::Open),
            cuts: watch::Sender::new(0),
            one_way_ms: AtomicU64::new(0),
        });
        let accepting = tokio::spawn(accept_and_refuse(listener, port, control.clone()));
        Ok(Wire { port, control, accepting })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing arrives.
    pub(crate) fn hold(&self) {
        self.control.flow.send_replace(Flow::Held);
    }

    /// From now on nobody listens, and connections end.
    pub(crate) fn refuse(&self) {
        self.control.flow.send_replace(Flow::Refusing);
        self.cut();
    }

    /// Whole again; what was held arrives.
    pub(crate) fn open(&self) {
        self.control.flow.send_replace(Flow::Open);
    }

    /// Every byte takes this long in one direction.
    pub(crate) fn slow(&self, one_way: Duration) {
        let ms = u64::try_from(one_way.as_millis()).expect("a fault takes no ages");
        self.control.one_way_ms.store(ms, Ordering::Relaxed);
    }

    /// Leads to another server, as an address that moves; connections to the old one end.
    pub(crate) fn lead_to(&self, target: u16) {
        self.control.target.store(target, Ordering::SeqCst);
        self.cut();
    }

    /// Ends all connections, with what they had under way.
    pub(crate) fn cut(&self) {
        self.control.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

impl Control {
    async fn opened(&self) {
        let mut flow = self.flow.subscribe();
        // The sender lives as long as this borrow.
        let _never_closed = flow.wait_for(|flow| *flow == Flow::Open).await;
    }
}

/// Listens while it is not refusing; then the port is closed, and taken again afterwards.
async fn accept_and_refuse(listener: TcpListener, port: u16, control: Arc<Control>) {
    let mut listener = Some(listener);
    let mut flow = control.flow.subscribe();
    loop {
        let refusing = *flow.borrow_and_update() == Flow::Refusing;
        if refusing {
            listener = None;
        } else if listener.is_none() {
            listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.ok();
        }
        tokio::select! {
            () = accept(listener.as_ref(), &control) => {}
            changed = flow.changed() => if changed.is_err() { return },
            // Somebody else may have the port for a moment.
            () = sleep(BIND_AGAIN), if !refusing && listener.is_none() => {}
        }
    }
}

async fn accept(listener: Option<&TcpListener>, control: &Arc<Control>) {
    let Some(listener) = listener else { return std::future::pending().await };
    while let Ok((near, _)) = listener.accept().await {
        tokio::spawn(carry(near, control.clone()));
    }
}

async fn carry(near: TcpStream, control: Arc<Control>) {
    let mut cuts = control.cuts.subscribe();
    // Accepted in the moment before nobody listened: its cut may be over by now.
    if *control.flow.borrow() == Flow::Refusing {
        return;
    }
    tokio::select! {
        // Either end may go at any time: that ends the connection and nothing else.
        _ended = both_ways(near, &control) => {}
        _cut = cuts.changed() => {}
    }
}

async fn both_ways(near: TcpStream, control: &Control) -> io::Result<()> {
    control.opened().await;
    let target = control.target.load(Ordering::SeqCst);
    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
    tokio::try_join!(one_way(from_near, to_far, control), one_way(from_far, to_near, control))?;
    Ok(())
}

async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    control: &Control,
) -> io::Result<()> {
    let (sent, mut under_way) = mpsc::channel::<(Instant, Vec<u8>)>(CHUNKS_MAX);
    let read = async move {
        loop {
            let mut chunk = vec![0; CHUNK];
            let length = from.read(&mut chunk).await?;
            if length == 0 {
                return Ok(());
            }
            chunk.truncate(length);
            let takes = Duration::from_millis(control.one_way_ms.load(Ordering::Relaxed));
            if sent.send((Instant::now() + takes, chunk)).await.is_err() {
                return Ok(());
            }
        }
    };
    let write = async move {
        while let Some((due, chunk)) = under_way.recv().await {
            sleep_until(due).await;
            control.opened().await;
            to.write_all(&chunk).await?;
        }
        to.shutdown().await
    };
    tokio::try_join!(read, write)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends back what it is sent, with its name before it.
    async fn echo(name: u8) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).await.is_ok() {
                        stream.write_all(&[name, byte[0]]).await.unwrap();
                    }
                });
            }
        });
        port
    }

    async fn ask(stream: &mut TcpStream, byte: u8) -> io::Result<[u8; 2]> {
        let mut answer = [0; 2];
        stream.write_all(&[byte]).await?;
        stream.read_exact(&mut answer).await?;
        Ok(answer)
    }

    async fn connect(wire: &Wire) -> TcpStream {
        TcpStream::connect((Ipv4Addr::LOCALHOST, wire.port())).await.unwrap()
    }

    #[tokio::test]
    async fn a_held_wire_keeps_what_it_was_given_until_it_is_open() {
        let wire = Wire::to(echo(b'a').await).await.unwrap();
        let mut stream = connect(&wire).await;
        assert_eq!(ask(&mut stream, b'1').await.unwrap(), *b"a1");
        wire.hold();
        let held = tokio::time::timeout(Duration::from_millis(200), ask(&mut stream, b'2')).await;
        assert!(held.is_err(), "{held:?}");
        wire.open();
        let mut answer = [0; 2];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, *b"a2");
    }

    #[tokio::test]
    async fn a_wire_that_leads_elsewhere_has_cut_its_connections() {
        let wire = Wire::to(echo(b'a').await).await.unwrap();
        let mut stream = connect(&wire).await;
        assert_eq!(ask(&mut stream, b'1').await.unwrap(), *b"a1");
        wire.lead_to(echo(b'b').await);
        assert!(ask(&mut stream, b'2').await.is_err());
        assert_eq!(ask(&mut connect(&wire).await, b'3').await.unwrap(), *b"b3");
    }

    #[tokio::test]
    async fn a_refusing_wire_has_no_listener_and_an_open_one_has_it_again() {
        let wire = Wire::to(echo(b'a').await).await.unwrap();
        let mut stream = connect(&wire).await;
        wire.refuse();
        assert!(ask(&mut stream, b'1').await.is_err());
        let connect = async || TcpStream::connect((Ipv4Addr::LOCALHOST, wire.port())).await;
        while connect().await.is_ok() {}
        wire.open();
        let answer = async {
            loop {
                if let Ok(mut stream) = connect().await {
                    return ask(&mut stream, b'2').await;
                }
                sleep(BIND_AGAIN).await;
            }
        };
        assert_eq!(answer.await.unwrap(), *b"a2");
    }

    #[tokio::test]
    async fn a_slow_wire_takes_its_time_both_ways() {
        let wire = Wire::to(echo(b'a').await).await.unwrap();
        wire.slow(Duration::from_millis(100));
        let (mut stream, start) = (connect(&wire).await, Instant::now());
        assert_eq!(ask(&mut stream, b'1').await.unwrap(), *b"a1");
        assert!(start.elapsed() >= Duration::from_millis(200), "{:?}", start.elapsed());
    }
}
