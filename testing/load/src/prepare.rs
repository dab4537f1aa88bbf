//! People made before a load's clock runs, over a few keep-alive connections, each as any visitor comes to be; and the
//! file in which one run hands them to the next.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::dial::Sources;
use crate::target::{Target, in_turn};

/// People in one file at most: 2,000,000 tokens are some 400 MB.
const PEOPLE_MAX: usize = 2_000_000;

#[derive(Deserialize)]
pub(crate) struct Created {
    pub(crate) visitor_token: String,
}

#[derive(Deserialize)]
pub(crate) struct Place {
    pub(crate) place_token: String,
    #[serde(default)]
    pub(crate) seq: u64,
}

/// Somebody with a token for a room: of a visitor who has not joined yet, or of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) room: Arc<str>,
    pub(crate) token: String,
    /// The place's number; 0 before the join, or where it was not told.
    pub(crate) seq: u64,
}

/// Whom to make, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preparing<'a> {
    pub(crate) targets: &'a [Target],
    pub(crate) from: Sources,
    pub(crate) connections: usize,
    pub(crate) people: usize,
    pub(crate) room: &'a str,
}

impl Preparing<'_> {
    /// People who have an identity and have not joined.
    pub(crate) async fn identities(self) -> Result<Vec<Person>> {
        self.make(false).await
    }

    /// People who have joined, with the tokens of their places.
    pub(crate) async fn places(self) -> Result<Vec<Person>> {
        self.make(true).await
    }

    async fn make(self, join: bool) -> Result<Vec<Person>> {
        let room: Arc<str> = self.room.into();
        let path: Arc<str> = format!("/v1/rooms/{room}/places").into();
        let mut tasks = JoinSet::new();
        for nth in 0..self.connections {
            let share =
                self.people / self.connections + usize::from(nth < self.people % self.connections);
            let (path, room) = (path.clone(), room.clone());
            let (target, from) = (in_turn(self.targets, nth), self.from);
            tasks.spawn(async move {
                let mut connection = Connection::open(target, from, nth).await?;
                let mut made = Vec::with_capacity(share);
                for _ in 0..share {
                    let (mut token, mut seq) = (visitor(&mut connection).await?, 0);
                    if join {
                        let place = place(&mut connection, &path, &token).await?;
                        (token, seq) = (place.place_token, place.seq);
                    }
                    made.push(Person { room: room.clone(), token, seq });
                }
                anyhow::Ok(made)
            });
        }
        let mut all = Vec::with_capacity(self.people);
        while let Some(done) = tasks.join_next().await {
            all.append(&mut done??);
        }
        Ok(all)
    }
}

/// A fresh identity's token.
pub(crate) async fn visitor(connection: &mut Connection) -> Result<String> {
    let Created { visitor_token } = made(connection, "/v1/visitors", None).await?;
    Ok(visitor_token)
}

/// A place for whoever has this token.
pub(crate) async fn place(connection: &mut Connection, path: &str, token: &str) -> Result<Place> {
    made(connection, path, Some(token)).await
}

/// What a POST has made.
async fn made<T: DeserializeOwned>(
    connection: &mut Connection,
    path: &str,
    token: Option<&str>,
) -> Result<T> {
    let (status, body) = connection.post(path, token).await?;
    ensure!(status == StatusCode::CREATED, "POST {path} was answered {status}");
    Ok(serde_json::from_slice(&body)?)
}

/// Writes a line for each: the room, the token and the number.
pub(crate) fn write_people(path: &Path, people: &[Person]) -> Result<()> {
    let mut text = String::new();
    for person in people {
        writeln!(text, "{} {} {}", person.room, person.token, person.seq)?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Reads what [`write_people`] has written, from as many files as there are. They come in turn from each file, so that
/// people of several rooms are mixed.
pub(crate) fn read_people(paths: &[impl AsRef<Path>]) -> Result<Vec<Person>> {
    let mut files = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut people: Vec<Person> = Vec::new();
        for line in text.lines() {
            let mut words = line.split(' ');
            let mut word = || words.next().context("a line without room, token and number");
            let (room, token, seq) = (word()?, word()?, word()?.parse()?);
            let room = match people.last().filter(|last| &*last.room == room) {
                Some(last) => last.room.clone(),
                None => room.into(),
            };
            people.push(Person { room, token: token.to_owned(), seq });
        }
        files.push(people.into_iter());
    }
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(files.iter_mut().filter_map(Iterator::next));
        ensure!(all.len() <= PEOPLE_MAX, "more than {PEOPLE_MAX} people");
        if all.len() == before {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(room: &str, count: usize) -> Vec<Person> {
        let person = |n| Person { room: room.into(), token: format!("t{n}"), seq: n as u64 };
        (0..count).map(person).collect()
    }

    #[test]
    fn files_are_read_back_in_turn() {
        let dir = tempfile::tempdir().expect("a folder");
        let (one, other) = (dir.path().join("a"), dir.path().join("b"));
        write_people(&one, &people("a", 3)).expect("written");
        write_people(&other, &people("b", 2)).expect("written");
        let read = read_people(&[&one, &other]).expect("readable");
        let names: Vec<String> =
            read.iter().map(|p| format!("{}{}{}", p.room, p.token, p.seq)).collect();
        assert_eq!(names, ["at00", "bt00", "at11", "bt11", "at22"]);
        std::fs::write(&one, "nonsense\n").expect("written");
        assert!(read_people(&[&one]).is_err());
        assert!(read_people(&[dir.path().join("none")]).is_err());
    }
}
