//! The link to the servers: one shared connection made when needed, a deadline on every call, the breaker.

use std::time::Duration;

use parking_lot::Mutex;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::address::Address;
use crate::breaker::Breaker;
use crate::connect::Connection;
use crate::error::Failure;
use crate::limits::{BARRED_TOLD_EVERY, CALL_DEADLINE, CALLS_MAX, CONNECT_DEADLINE};
use crate::scripts::{Call, Scripts};

#[derive(Debug)]
pub(crate) struct Link {
    address: Address,
    scripts: Scripts,
    breaker: Mutex<Breaker>,
    /// Who may call now: a rush waits here, where no deadline runs, and is not taken for a server that does not answer.
    places: Semaphore,
    /// With its number, so that a lost one is thrown away once. Locked while connecting: one caller connects for all.
    connection: tokio::sync::Mutex<(u64, Option<Connection>)>,
    barred_told: Mutex<Option<Instant>>,
}

impl Link {
    pub(crate) fn new(address: Address, scripts: Scripts) -> Self {
        let connection = tokio::sync::Mutex::new((0, None));
        let places = Semaphore::new(CALLS_MAX);
        let (breaker, barred_told) = Default::default();
        Link { address, scripts, breaker, places, connection, barred_told }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Runs a script by its hash, and sends it whole to a server that does not know it.
    pub(crate) async fn run(&self, call: &Call<'_>) -> Result<Value, Failure> {
        let (number, mut connection, _place) = self.ready().await?;
        let answer = within(CALL_DEADLINE, self.run_on(&mut connection, call)).await;
        self.settled(number, call.script, answer).await
    }

    async fn run_on(&self, connection: &mut Connection, call: &Call<'_>) -> RedisResult<Value> {
        match self.scripts.by_hash(call).query_async(connection).await {
            Err(error) if is_unknown_script(&error) => {
                self.scripts.by_text(call).query_async(connection).await
            }
            answer => answer,
        }
    }

    /// Connects, unless it is connected, and is answered. A server that wants a password says so only then.
    pub(crate) async fn greet(&self) -> Result<(), Failure> {
        self.command(&redis::cmd("PING")).await.map(|_| ())
    }

    /// The last call was answered.
    pub(crate) fn is_well(&self) -> bool {
        self.breaker.lock().is_well()
    }

    /// There is a connection, as far as can be told without waiting.
    pub(crate) fn is_connected(&self) -> bool {
        self.connection.try_lock().is_ok_and(|held| held.1.is_some())
    }

    pub(crate) async fn command(&self, command: &Cmd) -> Result<Value, Failure> {
        let (number, mut connection, _place) = self.ready().await?;
        let answer = within(CALL_DEADLINE, command.query_async(&mut connection)).await;
        let name = command.args_iter().next();
        let name = match &name {
            Some(redis::Arg::Simple(name)) => String::from_utf8_lossy(name),
            _ => "a command".into(),
        };
        self.settled(number, &name, answer).await
    }

    /// A connection with its number, unless the breaker is open.
    async fn ready(&self) -> Result<(u64, Connection, SemaphorePermit<'_>), Failure> {
        let place = self.places.acquire().await.expect("the semaphore is never closed");
        let refusal = self.breaker.lock().refusal(Instant::now());
        if let Some((refusal, silent)) = refusal {
            let text = format!("{:?} does not answer: {refusal}", self.address);
            let refused = Failure::silence(text);
            return Err(Failure { connection_lost: false, silent, ..refused });
        }
        let (number, connection) = self.connected().await?;
        Ok((number, connection, place))
    }

    async fn settled<T>(
        &self,
        number: u64,
        what: &str,
        answer: Result<T, Failure>,
    ) -> Result<T, Failure> {
        match answer {
            Ok(answer) => {
                self.breaker.lock().succeeded();
                Ok(answer)
            }
            Err(failure) => {
                self.tell_barred(what, &failure);
                self.failed(&failure, Some(number), false).await;
                Err(self.naming_the_server(&failure))
            }
        }
    }

    async fn connected(&self) -> Result<(u64, Connection), Failure> {
        let mut held = self.connection.lock().await;
        if let (number, Some(connection)) = &*held {
            return Ok((*number, connection.clone()));
        }
        let made = within(CONNECT_DEADLINE, Connection::make(&self.address, None)).await;
        match made {
            Ok(connection) => {
                tracing::info!(store = ?self.address, "connected to {:?}", self.address);
                *held = (held.0 + 1, Some(connection.clone()));
                Ok((held.0, connection))
            }
            Err(failure) => {
                drop(held);
                self.failed(&Failure { unanswered: true, ..failure.clone() }, None, true).await;
                Err(self.naming_the_server(&failure))
            }
        }
    }

    /// Notes a failure: throws the connection away where it is of no more use, and tells the breaker.
    async fn failed(&self, failure: &Failure, number: Option<u64>, connecting: bool) {
        if failure.unanswered {
            self.breaker.lock().failed(Instant::now(), failure, connecting);
        } else {
            self.breaker.lock().succeeded();
        }
        if failure.connection_lost && number.is_some() {
            let mut held = self.connection.lock().await;
            if Some(held.0) == number && held.1.take().is_some() {
                let why = &failure.text;
                tracing::warn!(store = ?self.address, "lost the connection to {:?}: {why}", self.address);
            }
        }
    }

    /// Says now and then what the server does not let this node do: no waiting mends that.
    fn tell_barred(&self, what: &str, failure: &Failure) {
        if !failure.barred {
            return;
        }
        let now = Instant::now();
        let mut told = self.barred_told.lock();
        if told.is_none_or(|at| now.duration_since(at) >= BARRED_TOLD_EVERY) {
            *told = Some(now);
            let why = &failure.text;
            tracing::warn!(store = ?self.address, "{:?} refused {what}: {why}", self.address);
        }
    }

    fn naming_the_server(&self, failure: &Failure) -> Failure {
        Failure { text: format!("{:?}: {}", self.address, failure.text), ..*failure }
    }
}

async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = RedisResult<T>>,
) -> Result<T, Failure> {
    match timeout(deadline, call).await {
        Ok(answer) => answer.map_err(Failure::from),
        Err(_) => {
            let ms = deadline.as_millis();
            Err(Failure::silence(format!("it did not answer within {ms} ms")))
        }
    }
}

fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}
