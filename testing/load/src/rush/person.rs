//! One arrival: an identity, a place, a stream, and the wait for its notice.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, timeout};

use super::World;
use super::notices::Noticed;
use crate::found::note;
use crate::prepare::{Place, place, visitor};
use crate::stream_reader::{Event, Reader, listen};
use crate::streams::request;

/// A stream that says nothing for so long has failed.
const FIRST_MAX: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 4_096;

/// Counts one less when it goes, also where the run is over before its time.
struct OneLess<'a>(&'a AtomicU64);

impl Drop for OneLess<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lives from the arrival to the notice.
pub(super) async fn live(world: Arc<World>, nth: u64, due: Instant) {
    let _living = OneLess(&world.counts.living);
    let place = match register(&world, nth).await {
        Ok(place) => place,
        Err(error) => return world.registered.lock().error(&format!("join: {error:#}")),
    };
    {
        let mut registered = world.registered.lock();
        note(&mut registered.latencies, due.elapsed());
    }
    world.counts.registered.fetch_add(1, Ordering::Relaxed);
    if let Err(error) = wait(&world, nth, &place).await {
        let mut found = world.first_bytes.lock();
        found.error(&format!("stream: {error}"));
    }
}

/// Over a kept connection, as a browser's would be; none is opened for each. With several servers it may be another one
/// than the stream's: nobody is bound to one.
async fn register(world: &World, nth: u64) -> Result<Place> {
    let (mut connection, _permit) = world.registering.take(&world.aim, nth as usize).await?;
    let token = visitor(&mut connection).await?;
    let place = place(&mut connection, &world.places, &token).await?;
    world.registering.give_back(connection);
    Ok(place)
}

async fn wait(world: &World, nth: u64, place: &Place) -> Result<()> {
    let asked = Instant::now();
    let opened = timeout(FIRST_MAX, open(world, nth, &place.place_token));
    let (socket, mut reader, first) = opened.await.context("nothing came in time")??;
    {
        let mut first_bytes = world.first_bytes.lock();
        note(&mut first_bytes.latencies, asked.elapsed());
    }
    let counts = &world.counts;
    counts.opened.fetch_add(1, Ordering::Relaxed);
    let open = counts.open.fetch_add(1, Ordering::Relaxed) + 1;
    counts.peak.fetch_max(open, Ordering::Relaxed);
    let _open = OneLess(&counts.open);
    let mut noticed = None;
    let mut tell = |event: Event<'_>, now| {
        world.note_event(event);
        if event.name == "admitted" {
            noticed = Some(now);
        }
        event.name != "admitted" && event.name != "ended"
    };
    let mut waiting = true;
    let now = Instant::now();
    reader.read(&first, |event| waiting &= tell(event, now));
    if waiting {
        listen(&socket, &mut reader, tell).await;
    }
    let at = noticed.context("ended without a notice")?;
    world.noticed.lock().push(Noticed { seq: place.seq, asked, at });
    counts.notified.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Asks for a stream and waits for its first bytes behind the head.
async fn open(world: &World, nth: u64, token: &str) -> Result<(TcpStream, Reader, Vec<u8>)> {
    let nth = nth as usize;
    let mut socket = world.aim.from.dial(world.aim.target(nth), nth).await?;
    socket.write_all(request(&world.aim, nth, token, false).as_bytes()).await?;
    let (mut reader, mut bytes) = (Reader::default(), [0; READ_BYTES]);
    let mut came = Vec::new();
    loop {
        let count = socket.read(&mut bytes).await?;
        ensure!(count > 0, "it ended at once");
        came.extend_from_slice(&bytes[..count]);
        // The head apart, so that the events are read where the notice is waited for.
        if let Some(end) = came.windows(4).position(|four| four == b"\r\n\r\n") {
            let events = came.split_off(end + 4);
            reader.read(&came, |_| ());
            if !reader.head().starts_with("HTTP/1.1 200") {
                bail!("answered {}", reader.head().lines().next().unwrap_or_default());
            }
            return Ok((socket, reader, events));
        }
        ensure!(came.len() < READ_BYTES, "a head without an end");
    }
}

impl World {
    /// The number of the room's event that a frame tells of is behind the dash of its id.
    fn note_event(&self, event: Event<'_>) {
        let number = event.id.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
        if let Some(number) = number {
            self.counts.first_event.fetch_min(number, Ordering::Relaxed);
            self.counts.last_event.fetch_max(number, Ordering::Relaxed);
        }
    }
}
