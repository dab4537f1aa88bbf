//! One of the burst: asks for a page, and is let in or waits for the turn; then looks at the page and leaves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::{Duration, Instant, sleep};

use super::World;
use crate::cookies::token;
use crate::prepare::Created;

/// Where a protected site has Jari's own pages.
const JARI: &str = "/.jari/v1";

/// What a place's owner is told.
#[derive(Deserialize)]
struct View {
    status: String,
    poll_after_ms: Option<u64>,
    place_token: Option<String>,
    pass: Option<Pass>,
}

#[derive(Deserialize)]
struct Pass {
    token: String,
}

/// Lives from the arrival to the end of the visit.
pub(super) async fn live(world: Arc<World>, nth: usize, due: Instant, hold_ms: u64) {
    let person = Person { world: &world, nth, page: format!("/tickets/held/{hold_ms}") };
    if let Err(error) = person.come(due).await {
        world.refusals.lock().error(&format!("{error:#}"));
    }
}

struct Person<'a> {
    world: &'a World,
    nth: usize,
    page: String,
}

impl Person<'_> {
    async fn come(&self, due: Instant) -> Result<()> {
        let answer = self.ask(Method::GET, &self.page, None).await.context("the page")?;
        let of = |cookie| token(answer.headers(), cookie).map(str::to_owned);
        match answer.status() {
            StatusCode::OK => {
                self.world.counts.walked_in.fetch_add(1, Ordering::Relaxed);
                let place = of("jari_place_").context("let in without a place")?;
                self.leave(&place).await
            }
            StatusCode::PRECONDITION_REQUIRED => {
                self.world.refused(due);
                // Who came in the very moment in which it filled has a place already.
                let visitor = match of("jari_visitor") {
                    Some(visitor) => visitor,
                    None => self.identity().await?,
                };
                self.wait(&visitor).await
            }
            other => bail!("the page was answered {other}"),
        }
    }

    async fn identity(&self) -> Result<String> {
        let answer = self.ask(Method::POST, &format!("{JARI}/visitors"), None).await;
        let Created { visitor_token } = told(&answer.context("an identity")?)?;
        Ok(visitor_token)
    }

    /// As the room's page does: joins, asks again when it was told to, and goes in.
    async fn wait(&self, visitor: &str) -> Result<()> {
        let places = format!("{JARI}/rooms/{}/places", self.world.aim.room);
        let joined = self.ask(Method::POST, &places, Some(visitor)).await.context("the join")?;
        let mut view: View = told(&joined)?;
        let mut place = view.place_token.take().context("a join without a receipt")?;
        loop {
            if let Some(Pass { token }) = &view.pass {
                return self.go_in(token, &place).await;
            }
            ensure!(
                matches!(view.status.as_str(), "waiting" | "next" | "absent"),
                "the place is {}",
                view.status
            );
            let after_ms = view.poll_after_ms.context("not told when to ask again")?;
            sleep(Duration::from_millis(after_ms)).await;
            let me = format!("{places}/me");
            let asked = self.ask(Method::GET, &me, Some(&place)).await.context("a poll")?;
            view = told(&asked)?;
            if let Some(renewed) = view.place_token.take() {
                place = renewed;
            }
        }
    }

    async fn go_in(&self, pass: &str, place: &str) -> Result<()> {
        let answer = self.ask(Method::GET, &self.page, Some(pass)).await.context("the page")?;
        ensure!(answer.status() == StatusCode::OK, "with a pass: {}", answer.status());
        self.world.counts.went_in.fetch_add(1, Ordering::Relaxed);
        self.leave(place).await
    }

    /// Makes room for the next.
    async fn leave(&self, place: &str) -> Result<()> {
        let me = format!("{JARI}/rooms/{}/places/me", self.world.aim.room);
        let answer = self.ask(Method::DELETE, &me, Some(place)).await.context("the leave")?;
        ensure!(answer.status() == StatusCode::NO_CONTENT, "a leave: {}", answer.status());
        Ok(())
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        bearer: Option<&str>,
    ) -> Result<Response<Bytes>> {
        let World { pool, aim, .. } = self.world;
        let (mut connection, _permit) = pool.take(aim, self.nth).await?;
        let answer = connection.answer(method, path, bearer).await?;
        pool.give_back(connection);
        Ok(answer)
    }
}

fn told<T: DeserializeOwned>(answer: &Response<Bytes>) -> Result<T> {
    ensure!(answer.status().is_success(), "answered {}", answer.status());
    Ok(serde_json::from_slice(answer.body())?)
}
