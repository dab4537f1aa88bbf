//! The load of streams: places first, then a stream for each, then listening. What the streams said, `heard` counts.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep, timeout};

use crate::aim::Aim;
use crate::heard::{Heard, StreamsReport};
use crate::prepare::Preparing;
use crate::start_signal::StartSignal;
use crate::stream_reader::{Reader, listen};

/// Keep-alive connections that prepare the places.
const PREPARING: usize = 64;
/// Connects in flight: a listener's queue must not overflow, which costs a connect a second.
const CONNECTING: usize = 100;
/// A stream that says nothing for so long after it was asked for has failed.
const FIRST_MAX: Duration = Duration::from_secs(20);
const READ_BYTES: usize = 4_096;

#[derive(Args, Debug, Clone)]
pub(crate) struct StreamsArgs {
    #[command(flatten)]
    aim: Aim,
    /// Streams, each of a place of its own; a process opens at most 20,000 files
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=19_500))]
    streams: u32,
    /// How long to listen
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=300))]
    seconds: u64,
    /// Pause after the last place and after the last connect, before memory is read: what they needed is given back
    #[arg(long, default_value_t = 3_000, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    settle_ms: u64,
    #[command(flatten)]
    start: StartSignal,
    /// Ask with a body: such streams stay in the server's HTTP stack, for comparison
    #[arg(long)]
    stay: bool,
}

/// Prepares, connects, listens, prints the report.
pub(crate) fn run(args: &StreamsArgs) -> Result<()> {
    args.aim.run(load(args))
}

pub(crate) async fn load(args: &StreamsArgs) -> Result<StreamsReport> {
    let settle = Duration::from_millis(args.settle_ms);
    let preparing = Preparing {
        targets: &args.aim.urls,
        from: args.aim.from,
        connections: PREPARING,
        people: args.streams as usize,
        room: &args.aim.room,
    };
    let people = preparing.places().await?;
    let tokens = people.into_iter().map(|person| person.token).collect();
    sleep(settle).await;
    let before = args.aim.server_usage();
    let heard = Arc::new(Mutex::new(Heard::default()));
    let started = Instant::now();
    let failed = connect_all(args, tokens, &heard).await?;
    let connect_s = started.elapsed().as_secs_f64();
    sleep(settle).await;
    let after = args.aim.server_usage();
    args.start.wait().await?;
    heard.lock().begin();
    let listening = args.aim.server_usage();
    sleep(Duration::from_secs(args.seconds)).await;
    let done = args.aim.server_usage();
    let memory = before.zip(after).map(|(before, after)| (before.rss_mb, after.rss_mb));
    let cpu_s = listening.zip(done).map(|(before, done)| done.cpu_s - before.cpu_s);
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
        let (aim, heard) = (args.aim.clone(), heard.clone());
        let request = request(&aim, nth, &token, args.stay);
        connects.spawn(async move {
            let _slot = slot;
            let opened = timeout(FIRST_MAX, open(&aim, nth, request)).await;
            let (socket, reader) = opened.context("nothing came in time")??;
            tokio::spawn(hear(socket, reader, heard));
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

/// The request for a stream of this place, on the connection with this number.
pub(crate) fn request(aim: &Aim, nth: usize, token: &str, stay: bool) -> String {
    let (room, host) = (&aim.room, aim.target(nth).0);
    let body = if stay { "content-length: 2\r\n\r\n{}" } else { "\r\n" };
    format!(
        "GET /v1/rooms/{room}/events HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n\
         authorization: Bearer {token}\r\n{body}"
    )
}

async fn open(aim: &Aim, nth: usize, request: String) -> Result<(TcpStream, Reader)> {
    let mut socket = aim.from.dial(aim.target(nth), nth).await?;
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

async fn hear(socket: TcpStream, mut reader: Reader, heard: Arc<Mutex<Heard>>) {
    listen(&socket, &mut reader, |event, now| {
        if event.name == "line" {
            heard.lock().line(event.id, now);
        }
        true
    })
    .await;
    heard.lock().ended();
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::{get, post};
    use http::StatusCode;
    use tokio::net::TcpListener;

    use super::*;
    use crate::target::Target;

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
            aim: Aim::at(url),
            streams: 5,
            seconds: 1,
            settle_ms: 10,
            start: StartSignal::default(),
            stay: false,
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
        args.aim.room = "no/such".to_owned();
        assert!(load(&args).await.is_err(), "no place can be prepared");
    }
}
