//! Chains the entries that older versions wrote: the part of a migration that no SQL can do. Runs between two steps of the
//! schema; an interrupted one goes on where it was.

use sqlx::migrate::MigrateError;
use sqlx::{AnyConnection, Connection, Row};

use jari_audit::AuditEntry;
use jari_units::Timestamp;

use crate::audit::{append, entry, insert, last_hash};
use crate::column::number;
use crate::schema::{CHAINED, Dialect};

/// Entries in one transaction: some hundred milliseconds' work, so that a start that is interrupted loses little.
const BATCH: i64 = 1_000;

const STEP: &str = "SELECT COALESCE(MAX(version), 0) AS step FROM _sqlx_migrations";

const LAST_NO: &str = "SELECT COALESCE(MAX(no), 0) AS no FROM audit";

const OLDER: &str = "SELECT no, at, actor, action, target, was, is_now FROM audit_unchained \
                     WHERE no > $1 ORDER BY no LIMIT $2";

const LAST_OLDER: &str = "SELECT COALESCE(MAX(no), 0) AS no FROM audit_unchained";

/// Copies the old table into the chain, as it is and under the same numbers, and says so in an entry: what happened to the
/// trail before that moment, no hash can tell.
pub(crate) async fn chain_older(
    conn: &mut AnyConnection,
    dialect: Dialect,
) -> Result<(), MigrateError> {
    if one(conn, STEP, "step").await? >= CHAINED {
        return Ok(());
    }
    while copy_batch(conn).await? > 0 {}
    let (last, older) = (one(conn, LAST_NO, "no").await?, one(conn, LAST_OLDER, "no").await?);
    if older > 0 && last == older {
        let mut tx = conn.begin().await?;
        let at = now(&mut tx, dialect).await?;
        append(&mut tx, note(at, older)).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn copy_batch(conn: &mut AnyConnection) -> Result<usize, sqlx::Error> {
    let mut tx = conn.begin().await?;
    let last = one(&mut tx, LAST_NO, "no").await?;
    let rows = sqlx::query(OLDER).bind(last).bind(BATCH).fetch_all(&mut *tx).await?;
    let mut prev = last_hash(&mut tx).await?;
    for row in &rows {
        prev = insert(&mut tx, prev, entry(row)?).await?;
    }
    tx.commit().await?;
    Ok(rows.len())
}

fn note(at: Timestamp, up_to: i64) -> AuditEntry {
    AuditEntry {
        no: 0,
        at,
        actor: "system".to_owned(),
        action: "audit.chain".to_owned(),
        target: "audit".to_owned(),
        before: String::new(),
        after: format!(r#"{{"chained_afterwards_up_to":{up_to}}}"#),
    }
}

async fn one(
    conn: &mut AnyConnection,
    query: &'static str,
    name: &str,
) -> Result<i64, sqlx::Error> {
    sqlx::query(query).fetch_one(conn).await?.try_get(name)
}

/// The database's time: a migration has no other clock.
async fn now(conn: &mut AnyConnection, dialect: Dialect) -> Result<Timestamp, sqlx::Error> {
    let query = match dialect {
        Dialect::Sqlite => "SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000 AS at",
        Dialect::Postgres => "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM now()) * 1000) AS BIGINT) AS at",
    };
    let row = sqlx::query(query).fetch_one(conn).await?;
    number(&row, "at").map(Timestamp)
}

#[cfg(test)]
#[path = "chaining_tests.rs"]
mod tests;
