//! People who were let in: they join, come back until it is their turn, use their pass once, and what they hold is written
//! where later runs find it. Measures nothing.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, ensure};
use clap::Args;
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant, sleep};

use crate::aim::Aim;
use crate::connection::Connection;
use crate::prepare::{Person, visitor, write_people};

/// Between two looks of somebody whose turn has not come: a room lets people in once a second.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Nobody waits longer for a turn; the room is not open then.
const TURN_MAX: Duration = Duration::from_secs(60);

#[derive(Args, Clone, Debug)]
pub(crate) struct PassesArgs {
    #[command(flatten)]
    aim: Aim,
    /// How many are let in; a room lets in 200 a second at most
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=5_000))]
    people: u32,
    /// Where the passes are written
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PassesReport {
    people: usize,
    seconds: f64,
}

#[derive(Deserialize)]
struct View {
    seq: u64,
    pass: Option<Pass>,
}

#[derive(Deserialize)]
struct Pass {
    token: String,
}

pub(crate) fn run(args: &PassesArgs) -> Result<()> {
    args.aim.run(load(args))
}

async fn load(args: &PassesArgs) -> Result<PassesReport> {
    let started = Instant::now();
    let aim = &args.aim;
    let mut connection = Connection::open(aim.target(0), aim.from, 0).await?;
    let mut waiting = Vec::new();
    for _ in 0..args.people {
        waiting.push(visitor(&mut connection).await?);
    }
    let (room, mut people): (Arc<str>, _) = (aim.room.as_str().into(), Vec::new());
    while !waiting.is_empty() {
        ensure!(started.elapsed() < TURN_MAX, "{} people were not let in", waiting.len());
        let mut still = Vec::new();
        for visitor in waiting {
            match turn(&mut connection, &room, &visitor).await? {
                Some(person) => people.push(person),
                None => still.push(visitor),
            }
        }
        waiting = still;
        if !waiting.is_empty() {
            sleep(LOOK_AGAIN).await;
        }
    }
    write_people(&args.out, &people)?;
    Ok(PassesReport { people: people.len(), seconds: started.elapsed().as_secs_f64() })
}

/// Joins, or joins again, which finds the place; with the pass, once it is there and was used.
async fn turn(
    connection: &mut Connection,
    room: &Arc<str>,
    visitor: &str,
) -> Result<Option<Person>> {
    let path = format!("/v1/rooms/{room}/places");
    let (status, body) = connection.post(&path, Some(visitor)).await?;
    ensure!(status.is_success(), "POST {path} was answered {status}");
    let View { seq, pass } = serde_json::from_slice(&body)?;
    let Some(Pass { token }) = pass else { return Ok(None) };
    let gate = format!("/v1/gate/{room}");
    let (status, _) = connection.ask(Method::GET, &gate, Some(&token)).await?;
    ensure!(status == StatusCode::NO_CONTENT, "GET {gate} was answered {status}");
    Ok(Some(Person { room: room.clone(), token, seq }))
}

impl fmt::Display for PassesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} people were let in within {:.1} s", self.people, self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use axum::Router;
    use axum::routing::{get, post};
    use tokio::net::TcpListener;

    use super::*;
    use crate::prepare::read_people;
    use crate::target::Target;

    #[tokio::test]
    async fn everybody_comes_back_until_there_is_a_pass_and_uses_it() {
        let (asked, used) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (asks, uses) = (asked.clone(), used.clone());
        let visitor = async || (StatusCode::CREATED, r#"{"visitor_token":"x"}"#);
        let place = async move || match asks.fetch_add(1, Ordering::Relaxed) {
            0..4 => r#"{"seq":7}"#,
            _ => r#"{"seq":7,"pass":{"token":"t"}}"#,
        };
        let gate = async move || {
            uses.fetch_add(1, Ordering::Relaxed);
            StatusCode::NO_CONTENT
        };
        let routes = Router::new()
            .route("/v1/visitors", post(visitor))
            .route("/v1/rooms/{room}/places", post(place))
            .route("/v1/gate/{room}", get(gate));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = Target(listener.local_addr().expect("bound"));
        tokio::spawn(async { axum::serve(listener, routes).await });
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("passes");
        let args = PassesArgs { aim: Aim::at(url), people: 3, out: out.clone() };
        assert_eq!(load(&args).await.expect("they are let in").people, 3);
        let people = read_people(&[&out]).expect("readable");
        assert!(people.iter().all(|person| (&*person.token, person.seq) == ("t", 7)), "{people:?}");
        // Two rounds: the first four looks found no pass.
        assert_eq!((asked.load(Ordering::Relaxed), used.load(Ordering::Relaxed)), (7, 3));
    }
}
