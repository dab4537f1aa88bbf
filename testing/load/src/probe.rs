//! A thread that asks how places stand every few milliseconds, over a connection of its own: the longest answer is the
//! longest stall that anybody could have met. Blocking, so that no other work of this process delays it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::time::{Duration, Instant};

use crate::found::{Found, ms, note};
use crate::prepare::Person;
use crate::target::Target;

/// Between two polls: a stall shows with at most so much of it missing.
const EVERY: Duration = Duration::from_millis(5);
/// A poll that takes longer is an error.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// An answer's head and body are far below this.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;

/// Polls until it is told to stop.
#[derive(Debug)]
pub(crate) struct Probe {
    stop: Arc<AtomicBool>,
    /// The longest answer since it was last taken, microseconds.
    worst_us: Arc<AtomicU64>,
    thread: JoinHandle<Found>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Probed {
    pub(crate) polls: u64,
    pub(crate) errors: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
}

impl Probe {
    /// Polls these places in turn; enough of them that each is asked for no faster than the room directs.
    pub(crate) fn start(target: Target, people: Vec<Person>) -> Result<Probe> {
        let socket = TcpStream::connect(target.0).context("the probe cannot connect")?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(ANSWER_MAX))?;
        let (stop, worst_us) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (stopped, worst) = (stop.clone(), worst_us.clone());
        let poll = move || poll(socket, target, &people, &stopped, &worst);
        let thread = std::thread::Builder::new().name("probe".to_owned()).spawn(poll)?;
        Ok(Probe { stop, worst_us, thread })
    }

    /// The longest answer since this was last called.
    pub(crate) fn take_worst_ms(&self) -> f64 {
        self.worst_us.swap(0, Ordering::Relaxed) as f64 / 1_000.0
    }

    pub(crate) fn end(self) -> Probed {
        self.stop.store(true, Ordering::Relaxed);
        let found = self.thread.join().expect("the probe does not panic");
        Probed {
            polls: found.latencies.len(),
            errors: found.errors.values().sum(),
            p50_ms: ms(&found.latencies, 0.5),
            p99_ms: ms(&found.latencies, 0.99),
            max_ms: ms(&found.latencies, 1.0),
        }
    }
}

fn poll(
    mut socket: TcpStream,
    target: Target,
    people: &[Person],
    stop: &AtomicBool,
    worst_us: &AtomicU64,
) -> Found {
    let (mut found, mut due) = (Found::default(), Instant::now());
    for person in people.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        match ask(&mut socket, target, person) {
            Ok(200) => {
                // From when it was due: polls that a stall has held up count as well.
                let took = due.elapsed();
                note(&mut found.latencies, took);
                let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
                worst_us.fetch_max(us, Ordering::Relaxed);
            }
            Ok(status) => found.error(&status.to_string()),
            Err(_) => {
                found.error("transport");
                break;
            }
        }
        due += EVERY;
    }
    found
}

/// Sends one request and reads its whole answer; the status.
fn ask(socket: &mut TcpStream, target: Target, person: &Person) -> Result<u16> {
    let (host, Person { room, token, .. }) = (target.0, person);
    write!(
        socket,
        "GET /v1/rooms/{room}/places/me HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n"
    )?;
    let (mut answer, mut bytes) = (Vec::new(), [0; 4_096]);
    loop {
        match socket.read(&mut bytes) {
            Ok(0) => bail!("closed"),
            Ok(count) => answer.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = whole(&answer)? {
            return Ok(status);
        }
        if answer.len() > ANSWER_BYTES_MAX {
            bail!("an answer without an end");
        }
    }
}

/// The status, where the whole answer has come.
fn whole(answer: &[u8]) -> Result<Option<u16>> {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&answer[..head])?.to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.context("an answer without a length")?.trim().parse()?;
    if answer.len() < head + 4 + length {
        return Ok(None);
    }
    let status = text.split(' ').nth(1).context("an answer without a status")?;
    Ok(Some(status.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        for end in 0..text.len() {
            assert_eq!(whole(&text[..end]).expect("no error"), None, "{end}");
        }
        assert_eq!(whole(text).expect("no error"), Some(200));
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
