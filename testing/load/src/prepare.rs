//! People made before a load's clock runs, over a few keep-alive connections, each as any visitor comes to be.

use std::sync::Arc;

use anyhow::{Result, ensure};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::connection::Connection;
use crate::target::Target;

#[derive(Deserialize)]
struct Created {
    visitor_token: String,
}

#[derive(Deserialize)]
struct Place {
    place_token: String,
}

/// The visitor tokens of `people` fresh identities.
pub(crate) async fn identities(
    target: Target,
    people: usize,
    connections: usize,
) -> Result<Vec<String>> {
    prepare(target, people, connections, None).await
}

/// The place tokens of `people` who have joined `room`.
pub(crate) async fn places(
    target: Target,
    people: usize,
    connections: usize,
    room: &str,
) -> Result<Vec<String>> {
    let path = format!("/v1/rooms/{room}/places");
    prepare(target, people, connections, Some(path.into())).await
}

async fn prepare(
    target: Target,
    people: usize,
    connections: usize,
    join: Option<Arc<str>>,
) -> Result<Vec<String>> {
    let mut tasks = JoinSet::new();
    for nth in 0..connections {
        let share = people / connections + usize::from(nth < people % connections);
        let join = join.clone();
        tasks.spawn(async move {
            let mut connection = Connection::open(target).await?;
            let mut tokens = Vec::with_capacity(share);
            for _ in 0..share {
                let Created { visitor_token } = made(&mut connection, "/v1/visitors", None).await?;
                tokens.push(match &join {
                    None => visitor_token,
                    Some(path) => {
                        let place: Place =
                            made(&mut connection, path, Some(&visitor_token)).await?;
                        place.place_token
                    }
                });
            }
            anyhow::Ok(tokens)
        });
    }
    let mut all = Vec::with_capacity(people);
    while let Some(done) = tasks.join_next().await {
        all.append(&mut done??);
    }
    Ok(all)
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
