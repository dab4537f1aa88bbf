//! What a load asks for: each person once to join, or in turn how their place stands, whether their pass is good, a page of
//! a protected site. Knows no clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use http::{Method, StatusCode};

use crate::aim::Aim;
use crate::connection::Connection;
use crate::cookies::PassCookie;
use crate::prepare::{Person, Preparing, read_people};

/// Keep-alive connections that prepare people.
const PREPARING: usize = 64;
/// Pages of a protected site that are asked for.
const PAGES: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Each person joins, once
    Joins,
    /// People who have joined ask in turn how their place stands
    Polls,
    /// People with a pass show it at the gate in turn
    Gate,
    /// People with a pass ask for pages of a protected site in turn
    Site,
}

/// Whom a load is about.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct People {
    /// People to prepare before the clock runs; joins end when all have joined
    #[arg(long, default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1..=2_000_000))]
    pub(crate) people: u32,
    /// Of polls: people who have joined already, as `grow` writes them, in place of preparing some. Of checks and pages: people
    /// with a pass, as `passes` writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) places: Vec<std::path::PathBuf>,
}

/// Requests, handed out one by one.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    what: What,
    people: Arc<Vec<Person>>,
    /// Of pages: what each person's browser keeps.
    cookies: Arc<Vec<PassCookie>>,
    next: Arc<AtomicUsize>,
    /// So many requests at most.
    limit: usize,
}

impl People {
    /// People with an identity, who have not joined.
    pub(crate) async fn newcomers(&self, aim: &Aim) -> Result<Vec<Person>> {
        self.preparing(aim).identities().await
    }

    /// People who have joined.
    pub(crate) async fn waiting(&self, aim: &Aim) -> Result<Vec<Person>> {
        if self.places.is_empty() {
            self.preparing(aim).places().await
        } else {
            read_people(&self.places)
        }
    }

    /// People who were let in.
    fn with_pass(&self) -> Result<Vec<Person>> {
        ensure!(!self.places.is_empty(), "give --places with what `passes` has written");
        read_people(&self.places)
    }

    fn preparing<'a>(&self, aim: &'a Aim) -> Preparing<'a> {
        Preparing {
            targets: &aim.urls,
            from: aim.from,
            connections: PREPARING,
            people: self.people as usize,
            room: &aim.room,
        }
    }
}

impl Asking {
    /// Prepares whom it takes.
    pub(crate) async fn prepare(what: What, aim: &Aim, people: &People) -> Result<Asking> {
        let people = match what {
            What::Joins => people.newcomers(aim).await?,
            What::Polls => people.waiting(aim).await?,
            What::Gate | What::Site => people.with_pass()?,
        };
        ensure!(!people.is_empty(), "there is nobody to ask for");
        let browsers = if what == What::Site { &*people } else { &[] };
        let cookie = |person: &Person| PassCookie::new(&person.room, &person.token);
        let cookies = Arc::new(browsers.iter().map(cookie).collect());
        let (people, next) = (Arc::new(people), Arc::default());
        Ok(Asking { what, people, cookies, next, limit: usize::MAX })
    }

    /// The same, which ends after so many requests.
    pub(crate) fn limited(self, limit: Option<usize>) -> Asking {
        Asking { limit: limit.unwrap_or(usize::MAX), ..self }
    }

    /// Sends the next request, timed by the caller: whether it was answered as it should be, or what came instead.
    /// `None` when everybody has joined, or there were as many as wanted.
    pub(crate) async fn next(&self, connection: &mut Connection) -> Option<Result<(), Wrong>> {
        // Only a hand-out of numbers: nothing else is ordered by it.
        let nth = self.next.fetch_add(1, Ordering::Relaxed);
        if nth >= self.limit {
            return None;
        }
        let person = match self.what {
            What::Joins => self.people.get(nth)?,
            What::Polls | What::Gate | What::Site => &self.people[nth % self.people.len()],
        };
        let room = &person.room;
        let (method, path, wanted) = match self.what {
            What::Joins => (Method::POST, format!("/v1/rooms/{room}/places"), StatusCode::CREATED),
            What::Polls => (Method::GET, format!("/v1/rooms/{room}/places/me"), StatusCode::OK),
            What::Gate => (Method::GET, format!("/v1/gate/{room}"), StatusCode::NO_CONTENT),
            What::Site => {
                let cookie = &self.cookies[nth % self.cookies.len()];
                return Some(visit(connection, nth % PAGES, cookie).await);
            }
        };
        let asked = connection.ask(method, &path, Some(&person.token)).await;
        Some(judged(asked.ok().map(|(status, _)| status), wanted))
    }
}

/// `None`: no answer came.
fn judged(answered: Option<StatusCode>, wanted: StatusCode) -> Result<(), Wrong> {
    match answered {
        Some(status) if status == wanted => Ok(()),
        Some(status) => Err(Wrong::Status(status.as_u16())),
        None => Err(Wrong::Transport),
    }
}

/// One page, as a browser asks for it and keeps what comes.
async fn visit(connection: &mut Connection, page: usize, cookie: &PassCookie) -> Result<(), Wrong> {
    let answer = connection.visit(&format!("/tickets/{page}"), cookie.sent()).await;
    if let Ok(answer) = &answer {
        cookie.keep(answer.headers());
    }
    judged(answer.ok().map(|answer| answer.status()), StatusCode::OK)
}

/// What came in place of the wanted answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Status(u16),
    /// No answer: the connection is of no more use.
    Transport,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wrong::Status(status) => write!(f, "{status}"),
            Wrong::Transport => write!(f, "transport"),
        }
    }
}
