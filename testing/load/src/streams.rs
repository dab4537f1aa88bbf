//! The load of streams: places first, then a stream for each, then listening. What the streams said, `heard` counts.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::heard::{Heard, Reader, StreamsReport};
use crate::prepare::places;
use crate::process;
use crate::target::Target;

/// Keep-alive connections that prepare the places.
const PREPARING: usize = 64;
/// Connects in flight: a listener's queue must not overflow, which costs a connect a second.
const CONNECTING: usize = 100;
/// A stream that says nothing for so long after it was asked for has failed.
const FIRST_MAX: Duration = Duration::from_secs(20);
/// Source addresses, each with its own ports: 127.0.0.2 and on.
const SOURCES: u8 = 8;
/// After the last place and after the last connect, before memory is read: what they needed is given back.
const SETTLE: Duration = Duration::from_secs(3);
const READ_BYTES: usize = 4_096;

#[derive(Args, Debug, Clone)]
pub(crate) struct StreamsArgs {
    /// The server, on loopback: http://127.0.0.1:8080
    #[arg(long)]
    url: Target,
    /// The room to wait in; open, without a join limit, with streams for as many
    #[arg(long, default_value = "bench")]
    room: String,
    /// Streams, each of a place of its own; a process opens at most 20,000 files
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=19_500))]
    streams: u32,
    /// How long to listen
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=300))]
    seconds: u64,
    /// Threads of this generator; on a small machine each one is taken from the server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    threads: u8,
    /// The server's process, to report its memory
    #[arg(long)]
    pid: Option<u32>,
    /// Ask with a body: such streams stay in the server's HTTP stack, for comparison
    #[arg(long)]
    stay: bool,
    /// Write the report here too, as JSON
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

/// Prepares, connects, listens, prints the report.
pub(crate) fn run(args: &StreamsArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(args.threads.into())
        .enable_all()
        .build()?;
    let report = runtime.block_on(load(args))?;
    // Thousands of readers are not waited for.
    runtime.shutdown_background();
    writeln!(std::io::stdout(), "{report}")?;
    if let Some(path) = &args.json {
        let text = serde_json::to_vec_pretty(&report)?;
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

pub(crate) async fn load(args: &StreamsArgs) -> Result<StreamsReport> {
    let tokens = places(args.url, args.streams as usize, PREPARING, &args.room).await?;
    sleep(SETTLE).await;
    let before = args.pid.and_then(process::usage);
    let heard = Arc::new(Mutex::new(Heard::default()));
    let started = Instant::now();
    let failed = connect_all(args, tokens, &heard).await?;
    let connect_s = started.elapsed().as_secs_f64();
    sleep(SETTLE).await;
    let after = args.pid.and_then(process::usage);
    heard.lock().begin();
    sleep(Duration::from_secs(args.seconds)).await;
    let done = args.pid.and_then(process::usage);
    let memory = before.zip(after).map(|(before, after)| (before.rss_mb, after.rss_mb));
    let cpu_s = after.zip(done).map(|(after, done)| done.cpu_s - after.cpu_s);
    let streams = args.streams as usize - failed;
    Ok(heard.lock().report(streams, failed, connect_s, memory, cpu_s))
}

/// Opens all and waits for the first frame of each; the readers go on by themselves. How many failed.
async fn connect_all(
    args: &StreamsArgs,
    tokens: Vec<String>,
    heard: &Arc<Mutex<Heard>>,
) -> Result<usize> {
    let slots = Arc::new(Semaphore::new(CONNECTING));
    let mut connects = JoinSet::new();
    for (nth, token) in tokens.into_iter().enumerate() {
        let slot = slots.clone().acquire_owned().await?;
        let (target, heard) = (args.url, heard.clone());
        let request = request(args, &token);
        connects.spawn(async move {
            let _slot = slot;
            let opened = timeout(FIRST_MAX, open(target, nth, request)).await;
            let (socket, reader) = opened.context("nothing came in time")??;
            tokio::spawn(listen(socket, reader, heard));
            anyhow::Ok(())
        });
    }
    let mut failed = 0;
    while let Some(done) = connects.join_next().await {
        if let Err(error) = done? {
            ensure!(failed < 100, "too many streams fail, the last one so: {error:#}");
            failed += 1;
        }
    }
    Ok(failed)
}

fn request(args: &StreamsArgs, token: &str) -> String {
    let (room, host) = (&args.room, args.url.0);
    let body = if args.stay { "content-length: 2\r\n\r\n{}" } else { "\r\n" };
    format!(
        "GET /v1/rooms/{room}/events HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n\
         authorization: Bearer {token}\r\n{body}"
    )
}

async fn open(target: Target, nth: usize, request: String) -> Result<(TcpStream, Reader)> {
    let socket = if target.0.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if target.0.is_ipv4() {
        let last = 2 + u8::try_from(nth % usize::from(SOURCES)).unwrap_or_default();
        let source = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        socket.bind(SocketAddr::new(source, 0)).context("no free port at a source address")?;
    }
    let mut socket = socket.connect(target.0).await.context("cannot connect")?;
    socket.write_all(request.as_bytes()).await?;
    let (mut reader, mut bytes) = (Reader::default(), [0; READ_BYTES]);
    loop {
        let count = socket.read(&mut bytes).await?;
        if count == 0 {
            bail!("it ended: {}", reader.head());
        }
        reader.read(&bytes[..count], |_| ());
        if !reader.head().is_empty() && !reader.head().starts_with("HTTP/1.1 200") {
            bail!("it was answered: {}", reader.head());
        }
        if reader.has_begun() {
            return Ok((socket, reader));
        }
    }
}

async fn listen(socket: TcpStream, mut reader: Reader, heard: Arc<Mutex<Heard>>) {
    loop {
        // The buffer is not kept while waiting: it would be most of this process's memory.
        if socket.readable().await.is_err() {
            break;
        }
        let mut bytes = [0; READ_BYTES];
        match socket.try_read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                let now = Instant::now();
                reader.read(&bytes[..count], |id| heard.lock().line(id, now));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    heard.lock().ended();
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::{get, post};
    use http::StatusCode;
    use tokio::net::TcpListener;

    use super::*;

    /// What a stream tells and then ends, and the arguments for five of them.
    async fn args(status: StatusCode, events: &'static str) -> StreamsArgs {
        let routes = Router::new()
            .route("/v1/visitors", post(async || (StatusCode::CREATED, r#"{"visitor_token":"x"}"#)))
            .route(
                "/v1/rooms/{room}/places",
                post(async || (StatusCode::CREATED, r#"{"place_token":"y"}"#)),
            )
            .route("/v1/rooms/{room}/events", get(async move || (status, events)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, routes).await });
        StreamsArgs {
            url,
            room: "bench".to_owned(),
            streams: 5,
            seconds: 1,
            threads: 1,
            pid: Some(std::process::id()),
            stay: false,
            json: None,
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn streams_are_opened_and_counted() {
        let args = args(StatusCode::OK, "id: 1-1\nevent: place\ndata: {}\n\n").await;
        let report = load(&args).await.expect("it runs");
        assert_eq!((report.streams, report.failed, report.lines), (5, 0, 0), "{report}");
        assert!(report.connects_per_s > 1.0 && report.bytes_per_stream.is_some(), "{report}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn refused_streams_have_failed() {
        let mut args = args(StatusCode::SERVICE_UNAVAILABLE, "").await;
        let report = load(&args).await.expect("it runs");
        assert_eq!((report.streams, report.failed), (0, 5), "{report}");
        args.room = "no/such".to_owned();
        assert!(load(&args).await.is_err(), "no place can be prepared");
    }
}
