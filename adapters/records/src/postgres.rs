//! Opening a database on a PostgreSQL server: waiting for it, its session settings, its schema, and the pool.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyConnection, AnyPool, ConnectOptions, Connection, Row};
use tokio::time::{Instant, timeout};

use crate::Records;
use crate::cause::Cause;
use crate::failure::OpenError;
use crate::open::{ACQUIRE_TIMEOUT, CONNECTIONS_MAX};
use crate::pool::Calls;
use crate::schema::{self, Dialect};
use crate::server_address::ServerAddress;

/// Longest for one try to connect: a silent address must not use up the whole wait.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Pauses between tries double from the first to the last of these, and are up to twice as long by chance, so that nodes
/// that were started together do not ask in step.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// It is said again in the log after so long: who starts a node looks at its last lines.
const SAY_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Hears what is waited for.
type Told<'a> = &'a (dyn Fn(&str) + Sync);

/// Longest for the schema, another node's migration included, which is waited for.
const MIGRATION_MAX: Duration = Duration::from_secs(60);

/// Quiet about tables that exist; tables are never locked for long by a migration that itself waits.
const BEFORE_MIGRATION: &str = "SET client_min_messages = warning";

/// What each connection is told. A statement ends on the server before the call that asked for it gives up; a session
/// whose process died within a transaction lets go of its locks; what is answered is on the disk, whatever the server's
/// own default; and the isolation is the one that the queries are written for.
const SESSION: &str = "SET client_min_messages = warning; \
     SET statement_timeout = '5s'; \
     SET lock_timeout = '5s'; \
     SET idle_in_transaction_session_timeout = '10s'; \
     SELECT set_config('synchronous_commit', 'on', false) \
         WHERE current_setting('synchronous_commit') = 'off'; \
     SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// What a connection that only reads is told.
const READING: &str = "SET client_min_messages = warning; \
     SET statement_timeout = '60s'; \
     SET default_transaction_read_only = on";

impl Records {
    pub(crate) async fn open_server(
        address: &ServerAddress,
        wait: Duration,
        told: Told<'_>,
    ) -> Result<Records, OpenError> {
        sqlx::any::install_default_drivers();
        let place = address.place();
        // The first connection stands alone, so that its errors are told and not retried by the pool.
        let mut first = reach(address, wait, told).await?;
        let prepared = timeout(MIGRATION_MAX, prepare(&mut first, place)).await;
        let silent = || {
            let cause = Cause::Unreachable(format!("no schema within {MIGRATION_MAX:?}"));
            OpenError::Database { place: place.to_owned(), cause }
        };
        prepared.map_err(|_| silent())??;
        // What remains is a goodbye: the records are fine without it.
        let _ = timeout(CONNECT_MAX, first.close()).await;
        Ok(Records { pool: pool(address), place: place.to_owned(), calls: Calls::default() })
    }
}

/// One connection that only reads; a standby will do.
pub(crate) async fn connect_to_read(
    address: &ServerAddress,
    wait: Duration,
) -> Result<AnyConnection, OpenError> {
    sqlx::any::install_default_drivers();
    let place = address.place();
    let told = |error: sqlx::Error| OpenError::database(&place, &error);
    let mut conn = reach(address, wait, &|_| {}).await?;
    sqlx::raw_sql(READING).execute(&mut conn).await.map_err(told)?;
    refuse_foreign(&mut conn, place).await?;
    Ok(conn)
}

/// Connects, again and again while the cause may pass by itself.
async fn reach(
    address: &ServerAddress,
    wait: Duration,
    told: Told<'_>,
) -> Result<AnyConnection, OpenError> {
    let (place, until) = (address.place(), Instant::now() + wait);
    let chance = RandomState::new();
    let mut pause = PAUSE_MIN;
    let mut said: Option<Instant> = None;
    for tries in 1.. {
        let cause = match timeout(CONNECT_MAX, options(address).connect()).await {
            Ok(Ok(conn)) => return Ok(conn),
            Ok(Err(error)) => Cause::from(&error),
            Err(_) => Cause::Unreachable(format!("no answer within {CONNECT_MAX:?}")),
        };
        let spread = pause.mul_f64(1.0 + (chance.hash_one(tries) >> 40) as f64 / 16_777_216.0);
        if !cause.may_pass() || Instant::now() + spread > until {
            return Err(OpenError::Database { place: place.to_owned(), cause });
        }
        told(&format!("waits up to {wait:?} for the records at {place}: {cause}"));
        if said.is_none_or(|said| said.elapsed() >= SAY_AGAIN_AFTER) {
            tracing::warn!(%place, %cause, "waiting up to {wait:?} for the records at {place}: {cause}");
            said = Some(Instant::now());
        }
        tokio::time::sleep(spread).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
    unreachable!("the loop ends by a connection or an error")
}

async fn prepare(conn: &mut AnyConnection, place: &str) -> Result<(), OpenError> {
    let told = |error: sqlx::Error| OpenError::database(&place, &error);
    sqlx::raw_sql(BEFORE_MIGRATION).execute(&mut *conn).await.map_err(told)?;
    refuse_foreign(conn, place).await?;
    let migrated = schema::migrate(conn, Dialect::Postgres, schema::NEWEST).await;
    migrated.map_err(|error| OpenError::migration(&place, &error, schema::NEWEST))
}

/// Refuses a database that another program uses, or that cannot hold Korean.
async fn refuse_foreign(conn: &mut AnyConnection, place: &str) -> Result<(), OpenError> {
    let found = "SELECT COUNT(*) AS tables, \
                 COALESCE(SUM(CASE WHEN table_name = '_sqlx_migrations' THEN 1 ELSE 0 END), 0) AS ours, \
                 current_setting('server_encoding') AS encoding \
                 FROM information_schema.tables WHERE table_schema = current_schema()";
    let told = |error: sqlx::Error| OpenError::database(&place, &error);
    let row = sqlx::query(found).fetch_one(conn).await.map_err(told)?;
    let (tables, ours): (i64, i64) =
        (row.try_get("tables").map_err(told)?, row.try_get("ours").map_err(told)?);
    let encoding: String = row.try_get("encoding").map_err(told)?;
    if tables > 0 && ours == 0 {
        return Err(OpenError::Foreign(place.to_owned()));
    }
    if encoding != "UTF8" {
        return Err(OpenError::Encoding { place: place.to_owned(), encoding });
    }
    Ok(())
}

fn pool(address: &ServerAddress) -> AnyPool {
    AnyPoolOptions::new()
        .max_connections(CONNECTIONS_MAX)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .after_connect(|conn, _| {
            Box::pin(async move { sqlx::raw_sql(SESSION).execute(conn).await.map(|_| ()) })
        })
        .connect_lazy_with(options(address))
}

fn options(address: &ServerAddress) -> AnyConnectOptions {
    AnyConnectOptions::from_url(address.url()).expect("a URL is all that these options check")
}
