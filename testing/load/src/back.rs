//! Waits until a server that was started again answers for old places as it did: how long people were without it.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant, sleep};

use crate::aim::Aim;
use crate::connection::Connection;
use crate::prepare::{Person, read_people};

/// Between two tries.
const RETRY: Duration = Duration::from_millis(10);
/// Places asked for, spread over the line from its first to its last.
const ASKED: usize = 50;

#[derive(Args, Clone, Debug)]
pub(crate) struct BackArgs {
    #[command(flatten)]
    aim: Aim,
    /// Places as `grow` has written them
    #[arg(long, value_name = "FILE")]
    places: PathBuf,
    /// Give up after so long
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct BackReport {
    /// From this program's start to the first right answer.
    first_ms: f64,
    /// And to the last of all that were asked for.
    all_ms: f64,
    asked: usize,
}

/// What of a place's view tells that it is the same place.
#[derive(Deserialize)]
struct View {
    status: String,
    seq: u64,
    position: Option<u64>,
}

pub(crate) fn run(args: &BackArgs) -> Result<()> {
    args.aim.run(load(args))
}

pub(crate) async fn load(args: &BackArgs) -> Result<BackReport> {
    let started = Instant::now();
    let people = read_people(&[&args.places])?;
    ensure!(!people.is_empty(), "there are no places to ask for");
    let until = started + Duration::from_secs(args.seconds);
    let last = people.len() - 1;
    let asked = ASKED.min(people.len());
    let mut first_ms = None;
    for nth in 0..asked {
        let person = &people[nth * last / asked.saturating_sub(1).max(1)];
        while let Err(error) = ask(&args.aim, person).await {
            let late = Instant::now() >= until;
            ensure!(!late, "no right answer in {} s; the last one: {error:#}", args.seconds);
            sleep(RETRY).await;
        }
        first_ms.get_or_insert(started.elapsed().as_secs_f64() * 1_000.0);
    }
    let all_ms = started.elapsed().as_secs_f64() * 1_000.0;
    Ok(BackReport { first_ms: first_ms.context("nobody was asked for")?, all_ms, asked })
}

/// Whether the place is answered for, under its old number and still in line.
async fn ask(aim: &Aim, person: &Person) -> Result<()> {
    let mut connection = Connection::open(aim.target(0), aim.from, 0).await?;
    let path = format!("/v1/rooms/{}/places/me", person.room);
    let (status, body) = connection.ask(Method::GET, &path, Some(&person.token)).await?;
    ensure!(status == StatusCode::OK, "answered {status}");
    let view: View = serde_json::from_slice(&body)?;
    let View { status, seq, position } = view;
    let place = person.seq;
    ensure!(seq == place && status == "waiting", "place {place} is {seq}, {status}");
    // Nobody was before it who is not now.
    ensure!(position.is_some_and(|it| (1..=seq).contains(&it)), "place {place} is at {position:?}");
    Ok(())
}

impl fmt::Display for BackReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BackReport { first_ms, all_ms, asked } = self;
        write!(f, "first right answer after {first_ms:.0} ms, {asked} after {all_ms:.0} ms")
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tokio::net::TcpListener;

    use super::*;
    use crate::prepare::write_people;
    use crate::target::Target;

    async fn load_against(view: &'static str, seq: u64) -> Result<BackReport> {
        let folder = tempfile::tempdir().expect("a folder");
        let places = folder.path().join("places");
        let person = Person { room: "bench".into(), token: "t".to_owned(), seq };
        write_people(&places, &[person]).expect("written");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        let routes = Router::new().route("/v1/rooms/{room}/places/me", get(async move || view));
        tokio::spawn(async { axum::serve(listener, routes).await });
        load(&BackArgs { aim: Aim::at(url), places, seconds: 1 }).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_the_same_place_is_a_right_answer() {
        let right = r#"{"status":"waiting","seq":7,"position":5}"#;
        assert_eq!(load_against(right, 7).await.expect("right").asked, 1);
        for (view, seq) in [
            (right, 8),
            (r#"{"status":"ended","seq":7}"#, 7),
            (r#"{"status":"waiting","seq":7,"position":9}"#, 7),
            ("nonsense", 7),
        ] {
            assert!(load_against(view, seq).await.is_err(), "{view} for {seq}");
        }
    }
}
