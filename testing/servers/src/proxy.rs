//! A connection's way to a server, made longer: what goes through comes out in order, so much later. Knows no protocol.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Bytes taken at once.
const CHUNK: usize = 64 * 1024;

/// A port that leads to a server. Dropping it closes the port; connections live as long as their ends.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    to: SocketAddr,
    /// Each way.
    delay_ms: AtomicU64,
    closed: AtomicBool,
}

impl Proxy {
    /// A way to the server at `port` of the loopback address.
    ///
    /// # Panics
    /// Where loopback has no free port.
    #[must_use]
    pub fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            to: (Ipv4Addr::LOCALHOST, port).into(),
            delay_ms: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if serving.closed.load(Ordering::SeqCst) {
                    return;
                }
                // A server that is not there refuses: the client is told by its connection's end.
                if let Ok(server) = TcpStream::connect(serving.to) {
                    join(&client, &server, &serving);
                    join(&server, &client, &serving);
                }
            }
        });
        Proxy { address, shared }
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// What is sent from now on takes so long, each way.
    pub fn delay(&self, each_way: Duration) {
        self.shared.delay_ms.store(each_way.as_millis() as u64, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

/// Carries what comes from one end to the other, until one of them ends.
fn join(from: &TcpStream, to: &TcpStream, shared: &Arc<Shared>) {
    let (Ok(mut from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
    let (sender, due) = channel();
    std::thread::spawn(move || deliver(to, &due));
    let shared = shared.clone();
    std::thread::spawn(move || {
        let mut chunk = vec![0; CHUNK];
        while let Ok(bytes @ 1..) = from.read(&mut chunk) {
            let delay = Duration::from_millis(shared.delay_ms.load(Ordering::SeqCst));
            #[expect(clippy::disallowed_methods, reason = "a delay of a real connection")]
            let at = Instant::now() + delay;
            if sender.send((at, chunk[..bytes].to_vec())).is_err() {
                return;
            }
        }
    });
}

fn deliver(mut to: TcpStream, due: &Receiver<(Instant, Vec<u8>)>) {
    while let Ok((at, bytes)) = due.recv() {
        #[expect(clippy::disallowed_methods, reason = "a delay of a real connection")]
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
