//! Keep-alive connections that many people share, as many requests at once as the pool allows. Knows no request.

use anyhow::{Context, Result};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::aim::Aim;
use crate::connection::Connection;

#[derive(Debug)]
pub(crate) struct Pool {
    idle: Mutex<Vec<Connection>>,
    at_once: Semaphore,
}

impl Pool {
    pub(crate) fn new(at_once: usize) -> Pool {
        Pool { idle: Mutex::default(), at_once: Semaphore::new(at_once) }
    }

    /// A connection for the person with this number, once one may be had; with what holds its place in the pool. One that
    /// is not given back is closed.
    pub(crate) async fn take(
        &self,
        aim: &Aim,
        nth: usize,
    ) -> Result<(Connection, SemaphorePermit<'_>)> {
        let permit = self.at_once.acquire().await.context("never closed")?;
        let connection = match self.idle() {
            Some(connection) => connection,
            None => Connection::open(aim.target(nth), aim.from, nth).await?,
        };
        Ok((connection, permit))
    }

    pub(crate) fn give_back(&self, connection: Connection) {
        self.idle.lock().push(connection);
    }

    /// The connection used last that is still open: one that stood idle for long was closed by the server, and a browser
    /// would not use it either.
    fn idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        std::iter::from_fn(|| idle.pop()).find(Connection::is_open)
    }
}
